//! Sources of settings: file, environment, flags; each a layer over the ones before. Errors name
//! their source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use figment::error::Actual;
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};

use super::values::{is_secret, may_be_secret, nearest};
use super::{Invalid, Settings, invalid, removed};
use thinkd_edge::keys::Key;
use thinkd_words::decode;
use thinkd_words::text::unmarked;

/// The flags that configure; the same for every command.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Flags {
    /// Read this file instead of thinkd.toml
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS:PORT", global = true)]
    listen: Option<String>,
    /// Use this database: sqlite://FILE or postgres://…
    #[arg(long, value_name = "URL", global = true)]
    pub(super) database: Option<String>,
    /// Set any key, for example turn.max_rounds=3; may be repeated
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    pub(super) set: Vec<String>,
    /// True if `listen` is the address of a replica.
    #[arg(skip)]
    is_replica: bool,
}

impl Flags {
    /// The same for `thinkd replica`, which listens at an address of its own.
    pub fn of_replica(self) -> Self {
        Self {
            is_replica: true,
            ..self
        }
    }
}

/// The environment, as far as it was given.
pub type Environment = BTreeMap<String, String>;

/// Returns this process's environment, without entries that are not UTF-8.
pub fn environment() -> Environment {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The sources of settings.
#[derive(Debug, Clone)]
pub struct Loading {
    flags: Flags,
    environment: Environment,
    pub(super) removed: Vec<String>,
}

impl Loading {
    /// Reads them again.
    pub fn again(&self) -> Result<Settings, Invalid> {
        Ok(Settings::load(&self.flags, &self.environment)?.settings)
    }

    /// Returns the path of the configuration file, existing or not.
    pub fn file(&self) -> PathBuf {
        named_file(&self.flags, &self.environment).unwrap_or_else(|| PathBuf::from(FILE))
    }
}

/// Settings and where those that are not defaults come from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings in force.
    pub settings: Settings,
    /// Key and source.
    pub sources: Vec<(String, String)>,
}

impl Settings {
    /// Reads file, environment and flags. `check` checks their sum, for processes that serve.
    pub fn load(flags: &Flags, environment: &Environment) -> Result<Loaded, Invalid> {
        let mut figment = Figment::new();
        let mut removed = Vec::new();
        for mut layer in layers(flags, environment)? {
            let Layer { source, data } = &mut layer;
            removed.extend(removed::take(data, source, flags.is_replica));
            figment = figment.merge(layer);
        }
        #[cfg(any(debug_assertions, feature = "fixed"))]
        for (name, key, value) in removed::of_tests(environment) {
            let value = read(&key, value);
            figment = figment.merge(Layer::key(variable(name), &key, value));
        }
        figment = share_endpoint(figment);
        // Lossy: an environment has texts only, and "3" is to be a number where one is wanted.
        let mut settings: Self = figment
            .extract_lossy()
            .map_err(|error| explain(&figment, &error))?;
        settings.models.of_the_shell = of_the_shell(&figment);
        settings.forget_direct(flags);
        settings.follow();
        settings.loading = Some(Loading {
            flags: flags.clone(),
            environment: environment.clone(),
            removed,
        });
        Ok(Loaded {
            settings,
            sources: sources(&figment),
        })
    }
}

// --- layers: what each source says, as one dictionary with the source's name

pub(super) struct Layer {
    source: String,
    data: Dict,
}

impl Layer {
    pub(super) fn key(source: String, path: &str, value: Value) -> Self {
        Self {
            source,
            data: nest(path, value),
        }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.source.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Map::from([(Profile::Default, self.data.clone())]))
    }
}

fn nest(path: &str, value: Value) -> Dict {
    match path.split_once('.') {
        Some((first, rest)) => Dict::from([(first.to_owned(), Value::from(nest(rest, value)))]),
        None => Dict::from([(path.to_owned(), value)]),
    }
}

fn layers(flags: &Flags, environment: &Environment) -> Result<Vec<Layer>, Invalid> {
    let named = named_file(flags, environment);
    let of_replica = || Layer::key("default".to_owned(), "listen", REPLICA.into());
    let mut layers: Vec<Layer> = flags.is_replica.then(of_replica).into_iter().collect();
    layers.extend(file(named.as_deref())?);
    layers.extend(variables(environment)?);
    let flag = |name: &str, key: &str, value: &Option<String>| {
        value
            .as_ref()
            .map(|value| Layer::key(format!("the flag --{name}"), key, read(key, value)))
    };
    layers.extend(flag("listen", "listen", &flags.listen));
    layers.extend(flag("database", "database", &flags.database));
    for assignment in &flags.set {
        let Some((key, value)) = assignment.split_once('=') else {
            return invalid("--set takes KEY=VALUE, for example --set turn.max_rounds=3");
        };
        layers.push(Layer::key(
            format!("the flag --set {key}"),
            key,
            read(key, value),
        ));
    }
    Ok(layers)
}

fn named_file(flags: &Flags, environment: &Environment) -> Option<PathBuf> {
    flags
        .config
        .clone()
        .or_else(|| environment.get("THINKD_CONFIG").map(PathBuf::from))
}

/// The address of `thinkd replica`, where nothing says it.
const REPLICA: &str = "127.0.0.1:2954";

/// The configuration file, where none is named.
const FILE: &str = "thinkd.toml";

/// The file; `named` must be there, `thinkd.toml` need not.
fn file(named: Option<&Path>) -> Result<Option<Layer>, Invalid> {
    let path = named.unwrap_or(Path::new(FILE));
    let source = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => {
            return invalid(format!(
                "the configuration file {source} cannot be read: {error}"
            ));
        }
    };
    // Not the error's own text: it quotes the line, which may hold a secret.
    let table: toml::Table = toml::from_str(&text).map_err(|error| {
        Invalid(format!(
            "{source}, line {}: {}",
            line_of(&text, &error),
            error.message()
        ))
    })?;
    let data = Value::serialize(table)
        .ok()
        .and_then(|value| value.into_dict())
        .unwrap_or_default();
    Ok(Some(Layer { source, data }))
}

/// The line that an error is about, from 1.
fn line_of(text: &str, error: &toml::de::Error) -> usize {
    error.span().map_or(1, |span| {
        text[..span.start.min(text.len())].matches('\n').count() + 1
    })
}

/// The keys of a file that has nothing else.
pub(super) fn key_file(path: &Path) -> Result<Vec<Key>, Invalid> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        keys: Vec<Key>,
    }
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Invalid(format!("the file of keys {shown} cannot be read: {error}")))?;
    // Nothing that stands there is said: any of it may be a secret in the wrong place.
    let file: File = toml::from_str(&text).map_err(|error| {
        let line = line_of(&text, &error);
        Invalid(format!("{shown}, line {line}: a file of keys has tables [[keys]] with key or sha256, space and role, and nothing else"))
    })?;
    Ok(file
        .keys
        .into_iter()
        .map(|key| Key {
            file: Some(path.to_owned()),
            ..key
        })
        .collect())
}

/// Environment names that are shorter than the rule makes them.
const ALIASES: [(&str, &str); 7] = [
    ("DATABASE_URL", "database"),
    ("DATABASE_DIRECT_URL", "database_direct"),
    ("THINKD_MODEL", "models.low.model"),
    ("THINKD_MODEL_HIGH", "models.high.model"),
    ("THINKD_MODEL_EMBEDDING", "models.embedding.model"),
    ("OPENAI_BASE_URL", "models.base_url"),
    ("OPENAI_API_KEY", "models.api_key"),
];

/// Variables that a shell has for other programs, too: alone they choose no model.
const OF_THE_SHELL: [&str; 2] = ["OPENAI_BASE_URL", "OPENAI_API_KEY"];

/// The variables of the shell that set the shared endpoint or its key; none where any of these is set elsewhere.
fn of_the_shell(figment: &Figment) -> Vec<String> {
    let mut names = Vec::new();
    for key in ["models.base_url", "models.api_key"] {
        let Ok(value) = figment.find_value(key) else {
            continue;
        };
        let from = source(figment, &value);
        match OF_THE_SHELL.iter().find(|name| from == variable(name)) {
            Some(name) => names.push((*name).to_owned()),
            None => return Vec::new(),
        }
    }
    names
}

/// The source of the settings that an environment variable makes.
fn variable(name: &str) -> String {
    format!("the environment variable {name}")
}

/// Names that are not settings of the server: the clients' and the tests' own.
const OTHERS: [&str; 3] = ["THINKD_CONFIG", "THINKD_URL", "THINKD_USER"];

/// The key that a variable sets, if it is one of ours.
fn key_of(variable: &str) -> Option<String> {
    if let Some((_, key)) = ALIASES.iter().find(|(alias, _)| *alias == variable) {
        return Some((*key).to_owned());
    }
    let rest = variable.strip_prefix("THINKD_")?;
    // What Kubernetes sets for a service of our name, and what belongs to the tests.
    let foreign = ["SERVICE_HOST", "SERVICE_PORT", "PORT", "TEST"]
        .iter()
        .any(|word| {
            rest.strip_prefix(word)
                .is_some_and(|more| more.is_empty() || more.starts_with('_'))
        });
    (!foreign && !OTHERS.contains(&variable)).then(|| rest.to_lowercase().replace("__", "."))
}

/// One layer a variable that is set to something: an empty one counts as not set, as compose files leave it.
fn variables(environment: &Environment) -> Result<Vec<Layer>, Invalid> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut layers = Vec::new();
    for (variable, value) in environment.iter().filter(|(_, value)| !value.is_empty()) {
        let Some((key, value)) = variable_says(variable, value)? else {
            continue;
        };
        if let Some(other) = seen.insert(key.clone(), variable) {
            return invalid(format!("{other} and {variable} both set {key}: leave one"));
        }
        layers.push(Layer::key(self::variable(variable), &key, value));
    }
    Ok(layers)
}

fn variable_says(variable: &str, value: &str) -> Result<Option<(String, Value)>, Invalid> {
    let from_file = variable
        .strip_suffix("_FILE")
        .and_then(key_of)
        .filter(|key| is_secret(key));
    if let Some(key) = from_file {
        let secret = std::fs::read_to_string(value).map_err(|error| {
            Invalid(format!(
                "{variable} names {value}, which cannot be read: {error}"
            ))
        })?;
        return Ok(Some((
            key,
            Value::from(unmarked(&secret).trim_end_matches(['\r', '\n'])),
        )));
    }
    Ok(key_of(variable).map(|key| {
        let plain = (!is_secret(&key)).then(|| unmarked(value).trim());
        let value = read(&key, plain.unwrap_or(value));
        (key, value)
    }))
}

/// A text as a value: a list or table in TOML's words, else the text itself.
fn read(key: &str, text: &str) -> Value {
    let is_compound = !is_secret(key) && text.starts_with(['[', '{']);
    let compound = || {
        toml::from_str::<toml::Table>(&format!("value = {text}"))
            .ok()?
            .remove("value")
    };
    // What only looks like a list stays a text.
    is_compound
        .then(compound)
        .flatten()
        .and_then(|value| Value::serialize(value).ok())
        .unwrap_or_else(|| text.into())
}

/// Gives the shared endpoint and its key to those models that name no endpoint themselves. A model with an endpoint of its own
/// gets neither: a key goes where it was meant to go.
fn share_endpoint(mut figment: Figment) -> Figment {
    let modules = figment
        .find_value("models.modules")
        .ok()
        .and_then(Value::into_dict)
        .unwrap_or_default();
    let modules = modules.keys().map(|name| format!("models.modules.{name}"));
    let tiers = ["models.low", "models.high", "models.embedding"].map(str::to_owned);
    for model in tiers.into_iter().chain(modules) {
        if !figment.contains(&model) || figment.contains(&format!("{model}.base_url")) {
            continue;
        }
        for key in ["base_url", "api_key"] {
            if let Ok(value) = figment.find_value(&format!("models.{key}")) {
                // `join`: a key of its own stays.
                figment = figment.join(Layer::key(
                    format!("models.{key}"),
                    &format!("{model}.{key}"),
                    value,
                ));
            }
        }
    }
    figment
}

// --- saying where things come from, and what is wrong with them

fn sources(figment: &Figment) -> Vec<(String, String)> {
    fn walk(figment: &Figment, path: &str, value: &Value, found: &mut Vec<(String, String)>) {
        match value {
            Value::Dict(_, dict) => {
                for (key, value) in dict {
                    let path = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    walk(figment, &path, value, found);
                }
            }
            _ => found.push((path.to_owned(), source(figment, value))),
        }
    }
    let mut found = Vec::new();
    if let Ok(all) = figment.extract::<Value>() {
        walk(figment, "", &all, &mut found);
    }
    found
}

fn source(figment: &Figment, value: &Value) -> String {
    // A list carries the tag of its items.
    let tag = match value {
        Value::Array(_, items) => items.first().map_or(value.tag(), Value::tag),
        _ => value.tag(),
    };
    figment
        .get_metadata(tag)
        .map_or("default".into(), |metadata| metadata.name.to_string())
}

pub(super) fn explain(figment: &Figment, error: &figment::Error) -> Invalid {
    use figment::error::Kind;
    let path = error.path.join(".");
    if let Kind::UnknownField(_, expected) = &error.kind {
        let known = expected.join(", ");
        let from = figment.find_value(&path).map_or(String::new(), |value| {
            format!(" ({})", first_source(figment, &value))
        });
        let near = match nearest(&path, expected, &ALIASES) {
            Some(name) => format!("did you mean {name}? Known here: "),
            None => "known here: ".to_owned(),
        };
        return Invalid(format!("there is no setting {path}{from}; {near}{known}"));
    }
    let from = match figment.find_value(&path) {
        Ok(value) => format!(" ({})", first_source(figment, &value)),
        Err(_) => error
            .metadata
            .as_ref()
            .map_or(String::new(), |metadata| format!(" ({})", metadata.name)),
    };
    if let Kind::MissingField(field) = &error.kind {
        return Invalid(format!("the setting {path}.{field} is missing{from}"));
    }
    let what = match &error.kind {
        _ if is_secret(&path) => "must be a text".to_owned(),
        _ if may_be_secret(&path) => {
            "it is not what belongs here (and not shown, since it may hold a secret)".to_owned()
        }
        Kind::InvalidType(given, expected) | Kind::InvalidValue(given, expected) => {
            format!(
                "{} is expected, not {}",
                decode::taken(expected),
                shown(given)
            )
        }
        Kind::UnknownVariant(given, expected) => {
            format!("{given:?} is none of {}", expected.join(", "))
        }
        other => decode::plain(other.to_string()),
    };
    Invalid(format!("the setting {path} is not valid{from}: {what}"))
}

/// Returns the given value, as it was written.
fn shown(given: &Actual) -> String {
    match given {
        Actual::Bool(value) => value.to_string(),
        Actual::Unsigned(number) => number.to_string(),
        Actual::Signed(number) => number.to_string(),
        Actual::Float(number) => number.to_string(),
        Actual::Str(text) => format!("{text:?}"),
        Actual::Seq => "a list".to_owned(),
        Actual::Map => "a table".to_owned(),
        _ => "this".to_owned(),
    }
}

fn first_source(figment: &Figment, value: &Value) -> String {
    match value {
        Value::Dict(_, dict) if !dict.is_empty() => dict
            .values()
            .next()
            .map_or_else(String::new, |v| first_source(figment, v)),
        _ => source(figment, value),
    }
}
