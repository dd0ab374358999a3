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
    /// Makes the parts that depend on its settings. An error is a sentence for the operator.
    pub parts: fn(&Options) -> Result<Parts, String>,
    /// Its command, if it has one.
    pub command: Option<Command>,
}

/// The parts of a feature that depend on its settings.
#[derive(Default)]
pub struct Parts {
    /// Its tools: [`Catalogue::default`] with each of them.
    pub tools: Catalogue,
    /// Its addresses, for clients with credentials.
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

impl Options<'_> {
    /// Returns them as a type of the feature's own; with `#[serde(default, deny_unknown_fields)]`
    /// it has defaults and refuses a mistyped key. The values of `token`, `key` and `api_key` are
    /// secrets: no error, no log line and no `thinkd config` shows them, and `…_FILE` names a file.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        let read = match self.found {
            Some(found) => of_feature(self.name, found),
            None => of_feature(self.name, &Dict::new()),
        };
        read.map_err(|error| error.to_string())
    }
}

/// Refuses a name that is none, that two features have, or that the kernel has for a command or an
/// address.
pub fn check(features: &[Feature], kernel: &clap::Command) -> Result<(), Invalid> {
    if features.is_empty() {
        return Ok(());
    }
    let contract = openapi::value();
    let paths = contract["paths"].as_object();
    let addresses = paths.into_iter().flatten().map(|(path, _)| path.as_str());
    let mut taken: BTreeSet<String> = addresses
        .filter_map(|path| path.split('/').nth(1))
        .chain(["ws", "docs", "console"])
        .map(str::to_owned)
        .collect();
    taken.extend(kernel.get_subcommands().map(|it| it.get_name().to_owned()));
    for Feature { name, .. } in features {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(is_letter) {
            let text =
                format!("{name:?} is no name of a feature: use letters a to z, digits and _");
            return Err(Invalid::new(text));
        }
        if !taken.insert((*name).to_owned()) {
            let text = format!("the name of the feature {name} is taken: choose another one");
            return Err(Invalid::new(text));
        }
    }
    Ok(())
}

/// Makes the parts of all features, as one. An error where settings are invalid, or name a feature
/// that the program does not have.
pub fn parts(features: &[Feature], settings: &Settings) -> Result<Parts, Invalid> {
    let names: Vec<&str> = features.iter().map(|feature| feature.name).collect();
    let mut found = settings.features.keys();
    if let Some(name) = found.find(|name| !names.contains(&name.as_str())) {
        let there_are = match names.is_empty() {
            true => "it has none".to_owned(),
            false => format!("it has {}", names.join(", ")),
        };
        return Err(Invalid::new(format!(
            "features.{name}: this program has no such feature; {there_are}"
        )));
    }
    let mut all = Parts::default();
    for feature in features {
        let name = feature.name;
        let options = Options {
            name,
            found: settings.features.get(name),
        };
        let Parts {
            tools,
            routes,
            document,
        } = (feature.parts)(&options).map_err(Invalid::new)?;
        let root = format!("/{name}");
        let is_below = |path: &&String| {
            (path.strip_prefix(&root)).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(path) = document.paths.paths.keys().find(|path| !is_below(path)) {
            let wrong = format!("the address {path} of the feature {name} is not below {root}");
            return Err(Invalid::new(wrong));
        }
        all.tools = all.tools.and(tools);
        all.routes = all.routes.merge(routes);
        all.document.merge(document);
    }
    Ok(all)
}
