//! A feature is a part of one's own in a server, as one value: the kinds of its events, its tables,
//! its tools, its addresses, its settings and its command. `docs/add-a-feature.md` shows one.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use clap::ArgMatches;
use figment::value::Dict;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use utoipa::openapi::OpenApi;

use super::settings::{Invalid, Settings, of_feature};
use thinkd_edge::context::Edge;
use thinkd_edge::http::openapi;
use thinkd_event::catalogue::Facts;
use thinkd_event::fact::Kind;
use thinkd_log::projections::Projection;
use thinkd_tools::catalogue::Catalogue;

/// See the module.
#[derive(Clone)]
pub struct Feature {
    /// Its name: of its settings (`[features.<name>]`), of its command, and the first part of its
    /// addresses (`/<name>/…`).
    pub name: &'static str,
    /// The kinds of its events, for the catalogue.
    pub facts: fn() -> Facts,
    /// Its tables, which the log fills.
    pub projections: &'static [&'static Projection],
    /// Makes the parts that depend on its settings, before a tokio runtime runs. An error is a
    /// sentence for the operator.
    pub parts: fn(&Options) -> Result<Parts, String>,
    /// Its command, if it has one.
    pub command: Option<Command>,
}

/// The parts of a feature that depend on its settings.
#[derive(Default)]
pub struct Parts {
    /// Its tools: [`Catalogue::default`] with each of them.
    pub tools: Catalogue,
    /// Its addresses, for clients with credentials, as they are below `/<name>`: `/` is that itself.
    pub routes: Router<Arc<Edge>>,
    /// The description of its addresses in the contract.
    pub document: OpenApi,
}

/// A command of the program.
#[derive(Clone, Copy)]
pub struct Command {
    /// Its options; it has the feature's name.
    pub options: fn(clap::Command) -> clap::Command,
    /// Runs it.
    pub run: fn(ArgMatches, Settings) -> BoxFuture<'static, anyhow::Result<()>>,
}

/// The settings of a feature, as they were found: its table in `thinkd.toml`, its variables
/// (`THINKD_FEATURES__<NAME>__<KEY>`), its flags.
pub struct Options<'s> {
    name: &'static str,
    found: Option<&'s Dict>,
}

impl<'s> Options<'s> {
    /// Returns the settings of the feature with this name.
    pub fn of(name: &'static str, settings: &'s Settings) -> Self {
        let found = settings.features.get(name);
        Self { name, found }
    }

    /// Returns them as a type of the feature's own; with `#[serde(default, deny_unknown_fields)]`
    /// it has defaults and refuses a mistyped key. Secrets, by their key (`token`, `password`, …) or
    /// their form, are in no log line and not in `thinkd config`; of `token`, `key` and `api_key` no
    /// error shows the value, and `…_FILE` names a file.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        let read = match self.found {
            Some(found) => of_feature(self.name, found),
            None => of_feature(self.name, &Dict::new()),
        };
        read.map_err(|error| error.to_string())
    }
}

/// Refuses a name that is none, that two features have, or that the kernel has for a command, an
/// address or a kind of event.
pub fn check(features: &[Feature], kernel: &clap::Command) -> Result<(), Invalid> {
    let mut taken: BTreeSet<String> = ["ws", "docs", "console"].map(str::to_owned).into();
    if !features.is_empty() {
        let contract = openapi::contract();
        let paths = contract["paths"].as_object().into_iter().flatten();
        taken.extend(paths.filter_map(|(path, _)| path.split('/').nth(1).map(str::to_owned)));
        taken.extend(kernel.get_subcommands().map(|it| it.get_name().to_owned()));
        let first = |kind: Kind| kind.spec().tags.first().copied().unwrap_or_default();
        let tags = Kind::all()
            .into_iter()
            .flat_map(|kind| first(kind).split('|'));
        taken.extend(tags.map(str::to_owned));
    }
    for Feature { name, .. } in features {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        // Two of `_` part the names in a variable.
        let is_parted = name.contains("__") || name.ends_with('_');
        if name.is_empty() || !name.chars().all(is_letter) || is_parted {
            return invalid(format!(
                "{name:?} is no name of a feature: use letters a to z, digits, and single _ between them"
            ));
        }
        if !taken.insert((*name).to_owned()) {
            return invalid(format!(
                "the name of the feature {name} is taken: choose another one"
            ));
        }
    }
    Ok(())
}

fn invalid<T>(text: String) -> Result<T, Invalid> {
    Err(Invalid::new(text))
}

/// Refuses settings of a feature that the program does not have.
pub fn check_settings(features: &[Feature], settings: &Settings) -> Result<(), Invalid> {
    let names: Vec<&str> = features.iter().map(|feature| feature.name).collect();
    let mut found = settings.features.keys();
    let Some(name) = found.find(|name| !names.contains(&name.as_str())) else {
        return Ok(());
    };
    let there_are = match names.is_empty() {
        true => "it has none".to_owned(),
        false => format!("it has {}", names.join(", ")),
    };
    invalid(format!(
        "features.{name}: this program has no such feature; {there_are}"
    ))
}

/// Makes the parts of all features, as one. An error where settings are invalid, or where the
/// contract has the name of a schema already.
pub fn parts(features: &[Feature], settings: &Settings) -> Result<Parts, Invalid> {
    let mut all = Parts::default();
    if features.is_empty() {
        return Ok(all);
    }
    let contract = openapi::contract();
    let schemas = contract["components"]["schemas"].as_object();
    let mut schemas: BTreeSet<String> = schemas
        .into_iter()
        .flatten()
        .map(|it| it.0.clone())
        .collect();
    for Feature { name, parts, .. } in features {
        let Parts {
            tools,
            routes,
            document,
        } = parts(&Options::of(name, settings)).map_err(Invalid::new)?;
        let root = format!("/{name}");
        let is_below = |path: &&String| {
            (path.strip_prefix(&root)).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(path) = document.paths.paths.keys().find(|path| !is_below(path)) {
            return invalid(format!(
                "the address {path} of the feature {name} is not below {root}"
            ));
        }
        let own = document.components.iter().flat_map(|it| it.schemas.keys());
        for schema in own {
            if !schemas.insert(schema.clone()) {
                return invalid(format!(
                    "the feature {name} has a schema {schema}, and so has the contract: give it \
                     another name with #[schema(as = …)]"
                ));
            }
        }
        all.tools = all.tools.and(tools);
        all.routes = all.routes.nest(&root, routes);
        all.document.merge(document);
    }
    Ok(all)
}
