//! What is configured: defaults < `thinkd.toml` < environment < flags. The only reader of that file and of the environment.
//! Every key has an environment name, `THINKD_` and its path joined by `__`. A key nobody knows refuses to start.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::edge::limits::ms;
use crate::edge::{self, Key, Role};
use crate::history;
use crate::id::Name;
use crate::model::openai;
use crate::runtime;
use crate::turn;

/// All that can be configured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where the server listens. Beyond loopback only with a token or keys.
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// `sqlite://FILE` or `postgres://…`.
    #[serde(serialize_with = "without_password")]
    pub database: SecretString,
    /// One secret that opens the space `default`.
    #[serde(serialize_with = "redacted", skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretString>,
    /// Names this server answers to, besides loopback and the address it listens on.
    #[serde(deserialize_with = "list")]
    pub hosts: Vec<String>,
    /// A folder of prompts that replace the embedded ones of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PathBuf>,
    /// Secrets that open the spaces they name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Key>,
    /// Which models answer.
    pub models: Models,
    /// What a turn may take.
    pub turn: turn::Options,
    /// How much of the log a prompt view holds.
    pub history: history::Options,
    /// What tools may take.
    pub tools: Tools,
    /// What ends a mind that does not end by itself.
    pub budget: turn::Budget,
    /// How threads are given to servers.
    pub runtime: Running,
    /// How much, how many, how long.
    pub limits: edge::Limits,
    /// What is written to standard error.
    pub log: Log,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 2953)),
            database: "sqlite://thinkd.db".into(),
            token: None,
            hosts: Vec::new(),
            prompts: None,
            keys: Vec::new(),
            models: Models::default(),
            turn: turn::Options::default(),
            history: history::Options::default(),
            tools: Tools::default(),
            budget: turn::Budget::default(),
            runtime: Running::default(),
            limits: edge::Limits::default(),
            log: Log::default(),
        }
    }
}

/// `[models]`: an endpoint that all share, tiers, and models of single modules. Nothing configured: the offline model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Models {
    /// The endpoint of every model that names none itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The key of that endpoint. Never sent to any other.
    #[serde(serialize_with = "redacted", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretString>,
    /// The ordinary model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<openai::Options>,
    /// The better one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<openai::Options>,
    /// The one that turns text into vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding: Option<openai::Options>,
    /// Models of single modules: `decision`, `submodule:<name>`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub modules: BTreeMap<String, openai::Options>,
}

/// `[tools]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// How long one tool call may take.
    pub timeout_ms: u64,
}

impl Default for Tools {
    fn default() -> Self {
        Self { timeout_ms: 30_000 }
    }
}

/// `[runtime]`: how threads are given to servers, and given up.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Running {
    /// How long a thread stays with a server that says nothing more.
    pub lease_ms: u64,
    /// How often to look for threads that wait and nobody runs.
    pub scan_ms: u64,
    /// How long turns that run may take to end when the server is told to stop.
    pub grace_ms: u64,
    /// Whether a new space begins with the built-in voices (`prompts/submodules`).
    pub default_submodules: bool,
}

impl Default for Running {
    fn default() -> Self {
        Self { lease_ms: 10_000, scan_ms: 3_000, grace_ms: 10_000, default_submodules: true }
    }
}

/// `[log]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// Lines for people or JSON for machines.
    pub format: LogFormat,
    /// What is worth a line: `info`, `debug`, `thinkd=debug,warn`, …
    pub level: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Pretty, level: "info".into() }
    }
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line for people.
    Pretty,
    /// A JSON object a line.
    Json,
}

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
    database: Option<String>,
    /// Set any key, for example turn.max_rounds=3; may be repeated
    #[arg(long, value_name = "KEY=VALUE", global = true)]
    set: Vec<String>,
}

/// What is wrong with the configuration, in a sentence that names it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

impl Invalid {
    /// Says what is wrong.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

fn invalid<T>(text: impl Into<String>) -> Result<T, Invalid> {
    Err(Invalid(text.into()))
}

/// The environment, as far as it was given.
pub type Environment = BTreeMap<String, String>;

/// This process's environment, without what is not UTF-8.
pub fn environment() -> Environment {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Settings and where those that are not defaults come from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What is in force.
    pub settings: Settings,
    /// Key and source.
    pub sources: Vec<(String, String)>,
}

impl Settings {
    /// Reads file, environment and flags. What they say together is checked by `check`, for those who serve.
    pub fn load(flags: &Flags, environment: &Environment) -> Result<Loaded, Invalid> {
        let mut figment = Figment::new();
        for layer in layers(flags, environment)? {
            figment = figment.merge(layer);
        }
        figment = share_endpoint(figment);
        // Lossy: an environment has texts only, and "3" is to be a number where one is wanted.
        let settings = figment.extract_lossy().map_err(|error| explain(&figment, &error))?;
        Ok(Loaded { settings, sources: sources(&figment) })
    }

    /// Refuses what would start but not be safe, or not do what was meant.
    pub fn check(&self) -> Result<(), Invalid> {
        if !self.listen.ip().is_loopback() && self.token.is_none() && self.keys.is_empty() {
            let address = self.listen;
            return invalid(format!(
                "listen = {address} is reachable from outside, but nobody would need a key: set token (THINKD_TOKEN) or \
                 [[keys]], or listen on 127.0.0.1"
            ));
        }
        if let Some(key) = self.keys.iter().find(|key| key.role != Role::Operator) {
            let space = key.space.as_str();
            return invalid(format!(
                "[[keys]] of the space {space} has a role other than operator: roles are not enforced yet, and a key must \
                 not do more than it says; remove it or make it operator"
            ));
        }
        self.edge().check().map_err(Invalid)?;
        let at_least_one = [
            ("turn.max_rounds", self.turn.max_rounds),
            ("history.decision", self.history.decision),
            ("history.block", self.history.block),
            ("runtime.lease_ms", self.runtime.lease_ms),
            ("runtime.scan_ms", self.runtime.scan_ms),
        ];
        if let Some((key, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return invalid(format!("{key} = 0 would stop everything: it must be at least 1"));
        }
        self.models.check()
    }

    /// What the runtime is to know.
    pub fn runtime(&self) -> runtime::Options {
        runtime::Options {
            turn: self.turn.clone(),
            budget: self.budget.clone(),
            tool_timeout: ms(self.tools.timeout_ms),
            queue_max: self.limits.waiting_inputs,
            submodules_max: self.limits.submodules,
            default_submodules: self.runtime.default_submodules,
            lease: ms(self.runtime.lease_ms),
            scan: ms(self.runtime.scan_ms),
        }
    }

    /// What the boundary is to know.
    pub fn edge(&self) -> edge::Options {
        edge::Options {
            token: self.token.clone(),
            keys: self.keys.clone(),
            hosts: self.hosts.clone(),
            limits: self.limits.clone(),
        }
    }

    /// All configured secrets, to be kept out of what is written.
    pub fn secrets(&self) -> Vec<SecretString> {
        let password = password(self.database.expose_secret()).map(SecretString::from);
        let keys = self.keys.iter().map(|key| key.key.clone());
        let api_keys = self.models.all().filter_map(|model| model.api_key.clone());
        [self.token.clone(), self.models.api_key.clone(), password]
            .into_iter()
            .flatten()
            .chain(keys)
            .chain(api_keys)
            .collect()
    }

    /// The settings as TOML, secrets redacted, with a comment a key that is not a default.
    pub fn to_toml(&self, sources: &[(String, String)]) -> String {
        let mut text = String::from("# What is in force. Secrets are not shown.\n");
        for (key, source) in sources {
            let _ = writeln!(text, "#   {key}: {source}");
        }
        // Our own types have nothing that TOML cannot say.
        text + "\n" + &toml::to_string(self).unwrap_or_else(|error| format!("# cannot be shown: {error}\n"))
    }
}

impl Models {
    fn all(&self) -> impl Iterator<Item = &openai::Options> {
        [&self.low, &self.high, &self.embedding].into_iter().flatten().chain(self.modules.values())
    }

    fn check(&self) -> Result<(), Invalid> {
        if let Some(name) = self.modules.keys().find(|name| !is_module(name)) {
            return invalid(format!("[models.modules.{name:?}]: a module is decision or submodule:<name>"));
        }
        let has_model = self.low.is_some() || self.high.is_some() || !self.modules.is_empty();
        if has_model || (self.base_url.is_none() && self.api_key.is_none()) {
            return Ok(());
        }
        invalid(
            "an endpoint or a key is configured (OPENAI_BASE_URL, OPENAI_API_KEY), but no model: set THINKD_MODEL \
             (models.low.model), or unset them to use the built-in offline model",
        )
    }
}

fn is_module(name: &str) -> bool {
    name == "decision" || name.strip_prefix("submodule:").is_some_and(|name| Name::parse(name).is_ok())
}

// --- layers: what each source says, as one dictionary with the source's name

struct Layer {
    source: String,
    data: Dict,
}

impl Layer {
    fn key(source: String, path: &str, value: Value) -> Self {
        Self { source, data: nest(path, value) }
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
    let named = flags.config.clone().or_else(|| environment.get("THINKD_CONFIG").map(PathBuf::from));
    let mut layers: Vec<Layer> = file(named.as_deref())?.into_iter().collect();
    layers.extend(variables(environment)?);
    let flag = |name: &str, value: &Option<String>| {
        value.as_ref().map(|value| Layer::key(format!("the flag --{name}"), name, read(name, value)))
    };
    layers.extend(flag("listen", &flags.listen));
    layers.extend(flag("database", &flags.database));
    for assignment in &flags.set {
        let Some((key, value)) = assignment.split_once('=') else {
            return invalid("--set takes KEY=VALUE, for example --set turn.max_rounds=3");
        };
        layers.push(Layer::key(format!("the flag --set {key}"), key, read(key, value)));
    }
    Ok(layers)
}

/// The file; `named` must be there, `thinkd.toml` need not.
fn file(named: Option<&Path>) -> Result<Option<Layer>, Invalid> {
    let path = named.unwrap_or(Path::new("thinkd.toml"));
    let source = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return invalid(format!("the configuration file {source} cannot be read: {error}")),
    };
    let table: toml::Table = toml::from_str(&text).map_err(|error| {
        // Not the error's own text: it quotes the line, which may hold a secret.
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Invalid(format!("{source}, line {line}: {}", error.message()))
    })?;
    let data = Value::serialize(table).ok().and_then(|value| value.into_dict()).unwrap_or_default();
    Ok(Some(Layer { source, data }))
}

/// Environment names that are shorter than the rule makes them.
const ALIASES: [(&str, &str); 6] = [
    ("DATABASE_URL", "database"),
    ("THINKD_MODEL", "models.low.model"),
    ("THINKD_MODEL_HIGH", "models.high.model"),
    ("THINKD_MODEL_EMBEDDING", "models.embedding.model"),
    ("OPENAI_BASE_URL", "models.base_url"),
    ("OPENAI_API_KEY", "models.api_key"),
];

/// Names that are not settings of the server: the clients' and the tests' own.
const OTHERS: [&str; 3] = ["THINKD_CONFIG", "THINKD_URL", "THINKD_USER"];

/// Keys that hold secrets: texts whatever they look like, never quoted in an error, and with a `…_FILE` variant.
const SECRETS: [&str; 4] = ["token", "database", "api_key", "key"];

fn is_secret(path: &str) -> bool {
    SECRETS.contains(&path.rsplit('.').next().unwrap_or(path))
}

/// The key that a variable sets, if it is one of ours.
fn key_of(variable: &str) -> Option<String> {
    if let Some((_, key)) = ALIASES.iter().find(|(alias, _)| *alias == variable) {
        return Some((*key).to_owned());
    }
    let rest = variable.strip_prefix("THINKD_")?;
    // What Kubernetes sets for a service of our name, and what belongs to the tests.
    let foreign = ["SERVICE_HOST", "SERVICE_PORT", "PORT", "TEST"]
        .iter()
        .any(|word| rest.strip_prefix(word).is_some_and(|more| more.is_empty() || more.starts_with('_')));
    (!foreign && !OTHERS.contains(&variable)).then(|| rest.to_lowercase().replace("__", "."))
}

/// One layer a variable that is set to something: an empty one counts as not set, as compose files leave it.
fn variables(environment: &Environment) -> Result<Vec<Layer>, Invalid> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut layers = Vec::new();
    for (variable, value) in environment.iter().filter(|(_, value)| !value.is_empty()) {
        let Some((key, value)) = variable_says(variable, value)? else { continue };
        if let Some(other) = seen.insert(key.clone(), variable) {
            return invalid(format!("{other} and {variable} both set {key}: leave one"));
        }
        layers.push(Layer::key(format!("the environment variable {variable}"), &key, value));
    }
    Ok(layers)
}

fn variable_says(variable: &str, value: &str) -> Result<Option<(String, Value)>, Invalid> {
    let from_file = variable.strip_suffix("_FILE").and_then(key_of).filter(|key| is_secret(key));
    if let Some(key) = from_file {
        let secret = std::fs::read_to_string(value)
            .map_err(|error| Invalid(format!("{variable} names {value}, which cannot be read: {error}")))?;
        return Ok(Some((key, Value::from(secret.trim_end_matches(['\r', '\n'])))));
    }
    Ok(key_of(variable).map(|key| {
        let value = read(&key, value);
        (key, value)
    }))
}

/// A text as a value: a list or table in TOML's words, else the text itself.
fn read(key: &str, text: &str) -> Value {
    let is_compound = !is_secret(key) && text.starts_with(['[', '{']);
    let compound = || toml::from_str::<toml::Table>(&format!("value = {text}")).ok()?.remove("value");
    // What only looks like a list stays a text.
    is_compound.then(compound).flatten().and_then(|value| Value::serialize(value).ok()).unwrap_or_else(|| text.into())
}

/// Gives the shared endpoint and its key to those models that name no endpoint themselves. A model with an endpoint of its own
/// gets neither: a key goes where it was meant to go.
fn share_endpoint(mut figment: Figment) -> Figment {
    let modules = figment.find_value("models.modules").ok().and_then(Value::into_dict).unwrap_or_default();
    let modules = modules.keys().map(|name| format!("models.modules.{name}"));
    let tiers = ["models.low", "models.high", "models.embedding"].map(str::to_owned);
    for model in tiers.into_iter().chain(modules) {
        if !figment.contains(&model) || figment.contains(&format!("{model}.base_url")) {
            continue;
        }
        for key in ["base_url", "api_key"] {
            if let Ok(value) = figment.find_value(&format!("models.{key}")) {
                // `join`: a key of its own stays.
                figment = figment.join(Layer::key(format!("models.{key}"), &format!("{model}.{key}"), value));
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
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
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
    figment.get_metadata(tag).map_or("default".into(), |metadata| metadata.name.to_string())
}

fn explain(figment: &Figment, error: &figment::Error) -> Invalid {
    use figment::error::Kind;
    let path = error.path.join(".");
    if let Kind::UnknownField(_, expected) = &error.kind {
        let known = expected.join(", ");
        let from =
            figment.find_value(&path).map_or(String::new(), |value| format!(" ({})", first_source(figment, &value)));
        return Invalid(format!("there is no setting {path}{from}; known here: {known}"));
    }
    let from = match figment.find_value(&path) {
        Ok(value) => format!(" ({})", first_source(figment, &value)),
        Err(_) => error.metadata.as_ref().map_or(String::new(), |metadata| format!(" ({})", metadata.name)),
    };
    if let Kind::MissingField(field) = &error.kind {
        return Invalid(format!("the setting {path}.{field} is missing{from}"));
    }
    let what = if is_secret(&path) { "must be a text".to_owned() } else { error.kind.to_string() };
    Invalid(format!("the setting {path} is not valid{from}: {what}"))
}

fn first_source(figment: &Figment, value: &Value) -> String {
    match value {
        Value::Dict(_, dict) if !dict.is_empty() => {
            dict.values().next().map_or_else(String::new, |v| first_source(figment, v))
        }
        _ => source(figment, value),
    }
}

// --- how single values are read and written

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        serde::de::Error::custom(format!("{text:?} is no address and port, such as 127.0.0.1:2953 or [::1]:2953"))
    })
}

/// A list, or a text with commas.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        List(Vec<String>),
        Text(String),
    }
    Ok(match Given::deserialize(deserializer)? {
        Given::List(items) => items,
        Given::Text(text) => {
            text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
        }
    })
}

fn redacted<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => edge::auth::redacted(secret, serializer),
        None => serializer.serialize_none(),
    }
}

fn password(url: &str) -> Option<&str> {
    let credentials = url.split_once("://")?.1.split('/').next()?.rsplit_once('@')?.0;
    credentials.split_once(':').map(|(_, password)| password).filter(|password| !password.is_empty())
}

/// A database's URL for people: its password, if it has one, is not shown.
pub fn shown_url(url: &str) -> String {
    let url = match password(url) {
        Some(password) => url.replacen(&format!(":{password}@"), ":(redacted)@", 1),
        None => url.to_owned(),
    };
    // A password may stand among the parameters, too.
    match url.split_once('?') {
        Some((address, parameters)) if parameters.contains("password=") => format!("{address}?(redacted)"),
        _ => url,
    }
}

fn without_password<S: Serializer>(url: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown_url(url.expose_secret()))
}
