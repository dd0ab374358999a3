//! All settings, with their defaults and the forbidden combinations. Their sources are in
//! `program/settings/sources.rs`: defaults < `thinkd.toml` < environment < flags. With an unknown
//! key the program does not start. Long because all keys stand in one type, and their checks stand
//! beside it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use figment::value::Dict;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;

pub use crate::program::settings::tools::Tools;
use thinkd_edge::context;
use thinkd_edge::doors::Doors;
use thinkd_edge::jwt::options::JwtOptions;
use thinkd_edge::keys::{self, Key};
use thinkd_edge::limits::{self, ms};
use thinkd_event::mood;
use thinkd_log::options::{CONNECTIONS, CONNECTIONS_MIN, Options};
use thinkd_mind::decision;
use thinkd_mind::turn::options::TurnOptions;
use thinkd_model::endpoint;
use thinkd_model::prompt::Prompts;
use thinkd_pipelines::registry::{self, Pipelines};
use thinkd_runtime::{memory, mission, options, schedule};
use thinkd_tasks::supervisor::Supervisor;
use thinkd_thread::history;
use thinkd_tools::approval::matches;
use thinkd_tools::catalogue::{Catalogue, Chosen, DECISIONS};
use thinkd_tools::code;
use thinkd_tools::supplies;
use thinkd_words::budget::Budget;
use thinkd_words::defaults::with_defaults;
use thinkd_words::id::{Name, Space};
use thinkd_words::secret::{self, optional_url, redacted};

mod features;
mod removed;
mod sources;
mod tools;
mod values;

pub use features::of_feature;
use features::{secrets_of_features, without_secrets};
pub use sources::{Environment, Flags, Loaded, Loading, environment};
use values::{address, database_url, list, without_password};

with_defaults! {
    /// All that can be configured.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Settings {
        /// Address and port of the server. Beyond loopback it starts only with a token or keys.
        #[serde(deserialize_with = "address")]
        pub listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 2953)),
        /// `sqlite://FILE` or `postgres://USER:PASSWORD@HOST/NAME`.
        #[serde(serialize_with = "without_password")]
        pub database: SecretString = "sqlite://thinkd.db".into(),
        /// Postgres itself, where `database` leads to a pooler: three connections of each server go here,
        /// for the log, its index and news of other servers; migrations, backups and restores, too.
        #[serde(
            serialize_with = "database_url",
            skip_serializing_if = "Option::is_none"
        )]
        pub database_direct: Option<SecretString> = None,
        /// A secret that opens the space `default` as its `operator`, and as `admin` while there
        /// are no `[[keys]]`; without both no client needs a secret.
        #[serde(serialize_with = "redacted", skip_serializing_if = "Option::is_none")]
        pub token: Option<SecretString> = None,
        /// Names the server answers to besides loopback and its own address; pages in browsers must come from one of them. A whole
        /// origin of any scheme (`tauri://localhost`, `https://mind.example`) allows exactly its pages.
        #[serde(deserialize_with = "list")]
        pub hosts: Vec<String> = Vec::new(),
        /// A folder with files that replace the built-in prompts of the same name; absent: only
        /// built-in prompts.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub prompts: Option<PathBuf> = None,
        /// Secrets that open the spaces they name. They are read again on SIGHUP and when the file
        /// changes. A client that came in by a key that is gone, or has another role or space, is
        /// disconnected.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub keys: Vec<Key> = Vec::new(),
        /// Files with more `[[keys]]` and nothing else, followed like those; a list, or a text with commas.
        #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
        pub keys_file: Vec<PathBuf> = Vec::new(),
        /// The issuer of the bearer tokens (JWT) that are taken beside keys, and the claims of the
        /// tokens. Off until `issuer`, `audience` and `jwks_url` are set.
        pub jwt: JwtOptions = JwtOptions::default(),
        /// Doors for clients of other protocols, on the same threads.
        pub doors: Doors = Doors::default(),
        /// The models that answer. Without any, the built-in offline model does.
        pub models: Models = Models::default(),
        /// The settings of turns.
        pub turn: TurnOptions = TurnOptions::default(),
        /// The part of the log that a prompt holds.
        pub history: history::Options = history::Options::default(),
        /// The tools, and the time that they may take.
        pub tools: Tools = Tools::default(),
        /// The limits that end a mind that does not end by itself.
        pub budget: Budget = Budget::default(),
        /// The limits of a run of a pipeline.
        pub pipelines: registry::Limits = registry::Limits::default(),
        /// The settings of missions, and the resources that one may use up.
        pub mission: mission::Options = mission::Options::default(),
        /// The certificate of `thinkd replica`, which listens at `listen` (`127.0.0.1:2954` where nothing says it) and runs code for
        /// clients that show its `token`.
        pub replica: Replica = Replica::default(),
        /// The settings of the trials of a statement before it is held to be so.
        pub memory: memory::Options = memory::Options::default(),
        /// The settings of moods: of the words that models are told of them, and of their movement.
        pub mood: mood::Options = mood::Options::default(),
        /// The settings by which threads are given to servers, and given up.
        pub runtime: Running = Running::default(),
        /// Bytes, counts and milliseconds that protect the server and its tenants.
        pub limits: limits::Limits = limits::Limits::default(),
        /// The lines that the server writes to standard error.
        pub log: Log = Log::default(),
        /// The settings of features that a program of one's own has, a table each: `[features.<name>]`.
        #[serde(
            serialize_with = "without_secrets",
            skip_serializing_if = "BTreeMap::is_empty"
        )]
        pub features: BTreeMap<String, Dict> = BTreeMap::new(),
        /// The sources that all of it was read from; none: it was made by a program.
        #[serde(skip)]
        pub loading: Option<Loading> = None,
    }
}

with_defaults! {
    /// `[replica]`: the process `thinkd replica`, which runs code for servers on other machines
    /// (`tools.code.replica`).
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Replica {
        /// Its certificate, a file in PEM; with one it speaks TLS.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub cert_file: Option<PathBuf> = None,
        /// The key of that certificate, a file in PEM.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub key_file: Option<PathBuf> = None,
    }
}

/// `[models]`: an endpoint that all share, tiers, and models of single modules. Nothing configured: the offline model.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Models {
    /// The endpoint of every model that names none itself; absent: `https://api.openai.com/v1`.
    #[serde(
        serialize_with = "optional_url",
        skip_serializing_if = "Option::is_none"
    )]
    pub base_url: Option<String>,
    /// The key of that endpoint; never sent to another endpoint.
    #[serde(serialize_with = "redacted", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretString>,
    /// The model of the lower tier, which is the ordinary one; absent: the high one, or the offline model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<endpoint::Options>,
    /// The model of the higher tier; absent: the low one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<endpoint::Options>,
    /// The model for vectors, by which recall finds texts that mean the same in other words;
    /// absent: recall goes by words and names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding: Option<endpoint::Options>,
    /// Models of single modules: `decision`, `trial`, `summary`, `submodule:<name>`, `pipeline:<name>`, `mission:<node>`; absent: the model of the tier.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub modules: BTreeMap<String, endpoint::Options>,
    /// The variables of the shell that set `base_url` and `api_key`, where nothing else does.
    #[serde(skip)]
    pub of_the_shell: Vec<String>,
}

with_defaults! {
    /// `[runtime]`: how threads are given to servers, and given up.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Running {
        /// The time that running turns may take to end at shutdown.
        pub grace_ms: u64 = 10_000,
        /// True if a new space begins with the built-in voices (`prompts/submodules`).
        pub default_submodules: bool = true,
        /// Most connections to Postgres that one server has, at least 6.
        pub connections: u32 = CONNECTIONS,
        /// Order of threads when more are to run: `breadth-first` or `depth-first`.
        pub scheduling: schedule::Scheduling = schedule::Scheduling::default(),
    }
    fixed {
        /// Most turns that run at a time.
        pub workers: u32 = 1024,
        /// Time that a thread stays with a server that says nothing more; then another server takes it up.
        pub lease_ms: u64 = 10_000,
        /// The interval at which a server looks for threads that wait and that no server runs.
        pub scan_ms: u64 = 3_000,
        /// The time that a commit may take before it counts as failed, and the log is asked whether
        /// it was made.
        pub commit_ms: u64 = 30_000,
    }
}

with_defaults! {
    /// `[log]`.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Log {
        /// Lines for people (`pretty`) or JSON objects (`json`).
        pub format: LogFormat = LogFormat::Pretty,
        /// The lines that are written: `info`, `debug`, `thinkd=debug,warn`, `thinkd_log=debug` for one crate, … A release has none of level `trace`.
        pub level: String = "info".into(),
    }
}

impl Log {
    /// A word alone is a level. A mistyped one would be read as the name of a part of the program, and silence all others.
    fn check(&self) -> Result<(), Invalid> {
        let is_known =
            |part: &&str| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok();
        match self.level.split(',').find(|part| !is_known(part)) {
            None => Ok(()),
            Some(word) => invalid(format!(
                "log.level = {:?}: {word:?} is no level: use error, warn, info, debug, trace or off, and thinkd_log=debug for a part of the program",
                self.level
            )),
        }
    }
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line for people.
    Pretty,
    /// A JSON object a line.
    Json,
}

/// An error in the configuration, in a sentence that names it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

impl Invalid {
    /// Makes the error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// The databases there are.
const KINDS: &str = "use sqlite://FILE or postgres://USER:PASSWORD@HOST/DATABASE";

fn invalid<T>(text: impl Into<String>) -> Result<T, Invalid> {
    Err(Invalid(text.into()))
}

impl Settings {
    /// Sets the numbers that follow from a key.
    fn follow(&mut self) {
        let it = &mut self.limits;
        let usual = limits::Limits::default();
        if it.text_bytes != usual.text_bytes {
            it.unauthenticated_frame_bytes = it.text_bytes.max(1024);
            it.tool_output_bytes = it.text_bytes;
            it.header_bytes = it.header_bytes.max(it.text_bytes / 4);
            it.url_bytes = it.url_bytes.max(it.text_bytes / 8);
        }
        if it.frame_bytes != usual.frame_bytes {
            it.body_bytes = it.frame_bytes / 8;
        }
        if it.frames_per_second != usual.frames_per_second {
            it.requests_per_second = it.frames_per_second.saturating_mul(5);
        }
        if it.sockets != usual.sockets {
            it.connections = it.connections.max(it.sockets / 10);
            it.unauthenticated = it.unauthenticated.max(it.sockets / 10);
        }
        let root = &self.budget.root;
        self.mission.model_calls = root.model_calls.div_ceil(6).saturating_mul(5);
        self.mission.tokens = root.tokens;
        let named = [&mut self.models.low, &mut self.models.high];
        let modules = &mut self.models.modules;
        let named = named.into_iter().chain([&mut self.models.embedding]);
        for model in named.flatten().chain(modules.values_mut()) {
            let part = model.timeout_ms / 5;
            model.first_piece_timeout_ms = model.first_piece_timeout_ms.max(part * 2);
            model.between_pieces_timeout_ms = model.between_pieces_timeout_ms.max(part);
        }
    }

    /// Refuses a configuration that would start but not be safe, or not do its intended work.
    pub fn check(&self) -> Result<(), Invalid> {
        let needs_none = self.token.is_none() && self.keys.is_empty() && !self.jwt.is_on();
        if !self.listen.ip().is_loopback() && needs_none {
            let address = self.listen;
            return invalid(format!(
                "listen = {address} is reachable from outside, but nobody would need a key: set token (THINKD_TOKEN), \
                 [[keys]] or [jwt], or listen on 127.0.0.1"
            ));
        }
        if !self.listen.ip().is_loopback() {
            keys::check_lengths(self.token.as_ref(), &self.keys).map_err(Invalid)?;
        }
        self.edge().check().map_err(Invalid)?;
        self.log.check()?;
        self.mood.check().map_err(Invalid)?;
        self.tools.code.check().map_err(Invalid)?;
        self.memory
            .knowledge
            .check(self.tools.mcp.keys())
            .map_err(Invalid)?;
        self.check_database()?;
        let at_least_one = [
            ("turn.max_rounds", self.turn.max_rounds),
            ("history.decision", self.history.decision),
            ("history.block", self.history.block),
            ("memory.calls_per_hour", self.memory.calls_per_hour),
            ("memory.recall_bytes", self.memory.recall_bytes as u64),
            ("mission.width", self.mission.width.into()),
            ("budget.root.model_calls", self.budget.root.model_calls),
            ("budget.root.tokens", self.budget.root.tokens),
        ];
        if let Some((key, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return invalid(format!(
                "{key} = 0 would stop everything: it must be at least 1"
            ));
        }
        let connections = self.runtime.connections;
        let least = CONNECTIONS_MIN;
        if connections < least {
            return invalid(format!(
                "runtime.connections = {connections} is one of each kind too few: it must be at least {least}"
            ));
        }
        let bytes = self.history.bytes;
        let least = history::BYTES_MIN;
        if bytes < least {
            return invalid(format!(
                "history.bytes = {bytes} has no room for what a turn is about: it must be at least {least}"
            ));
        }
        self.models.check(self.listen.ip().is_loopback())
    }

    /// Refuses all that a server does not start with, its tools and prompts included. Returns the prompts.
    pub fn check_all(&self, tools: &Catalogue) -> Result<Prompts, Invalid> {
        self.check()?;
        let prompts =
            Prompts::load(self.prompts.as_deref()).map_err(|error| Invalid(error.to_string()))?;
        self.check_tools(&prompts, &self.switched_on(tools))?;
        Ok(prompts)
    }

    /// Refuses a database of a kind that is not known. Quotes nothing of its URL but the kind: the rest may hold a secret.
    pub fn check_database(&self) -> Result<(), Invalid> {
        let is_postgres = |url: &SecretString| {
            let scheme = url.expose_secret().split_once(':').map(|(kind, _)| kind);
            matches!(scheme, Some("postgres" | "postgresql"))
        };
        if let Some(direct) = &self.database_direct
            && !(is_postgres(direct) && is_postgres(&self.database))
        {
            return invalid(
                "database_direct (DATABASE_DIRECT_URL) is Postgres itself, beside a database that is a \
                 pooler before it: both are postgres://USER:PASSWORD@HOST/NAME"
                    .to_owned(),
            );
        }
        let known = ["sqlite", "postgres", "postgresql"];
        match self.database.expose_secret().split_once(':') {
            Some((kind, _)) if known.contains(&kind) => Ok(()),
            Some((kind, _))
                if kind.len() <= 20
                    && kind
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+') =>
            {
                invalid(format!(
                    "database = {kind}:… is of no kind that is known here; {KINDS}"
                ))
            }
            _ => invalid(format!(
                "database (DATABASE_URL) is no URL of a database; {KINDS}"
            )),
        }
    }

    /// Forgets the direct address of the environment or the file where a flag names another database.
    fn forget_direct(&mut self, flags: &Flags) {
        let is_set = flags.set.iter().any(|it| it.starts_with("database_direct"));
        if flags.database.is_some() && !is_set {
            self.database_direct = None;
        }
    }

    /// The address of the database itself, not of a pooler before it.
    pub fn direct(&self) -> &str {
        self.database_direct
            .as_ref()
            .unwrap_or(&self.database)
            .expose_secret()
    }

    /// The tools of a program without those that are switched off.
    pub fn switched_on(&self, tools: &Catalogue) -> Catalogue {
        if self.tools.code.enabled {
            tools.clone()
        } else {
            tools.clone().without(code::RUN_CODE)
        }
    }

    /// Refuses tools that do not exist or say nothing of themselves, and a conversation that could not answer.
    pub fn check_tools(&self, prompts: &Prompts, tools: &Catalogue) -> Result<(), Invalid> {
        self.tools.check_servers().map_err(Invalid::new)?;
        let mut tools = tools.clone();
        if !self.tools.mcp.is_empty() {
            tools = tools.with_source(DECISIONS, |_: &Space| Vec::new());
        }
        tools
            .check(prompts, &self.chosen_tools())
            .map_err(Invalid::new)?;
        self.tools.check_approvals(&tools).map_err(Invalid::new)?;
        let Some(names) = &self.tools.conversation else {
            return Ok(());
        };
        if !names.iter().any(|name| matches(name, decision::REPLY)) {
            return invalid(
                "tools.conversation needs reply: without it nothing that is decided reaches anybody",
            );
        }
        Ok(())
    }

    /// The same with the keys of the files that `keys_file` names, as a server has them. Files that cannot be read are an error.
    pub fn with_key_files(mut self) -> Result<Self, Invalid> {
        for file in &self.keys_file {
            self.keys.extend(sources::key_file(file)?);
        }
        Ok(self)
    }

    /// Returns the limits of one tool call.
    pub fn tool_limits(&self) -> supplies::Limits {
        supplies::Limits {
            time: ms(self.tools.timeout_ms),
            output_bytes: self.limits.tool_output_bytes,
            filter_tags: self.limits.filter_tags,
            text_bytes: self.limits.text_bytes,
            threads: self.limits.threads,
            schedules: self.limits.schedules,
            frameworks: self.limits.frameworks,
            schedule_interval: ms(self.limits.schedule_interval_ms),
            submodules: self.limits.submodules,
            claims: self.memory.waiting,
        }
    }

    /// The tools that are chosen by name.
    pub fn chosen_tools(&self) -> Chosen {
        Chosen {
            conversation: self.tools.conversation.clone(),
            process: self.tools.process.clone(),
        }
    }

    /// Returns the options of the runtime; the pipelines are the program's.
    pub fn runtime(&self, pipelines: Pipelines, supervisor: &Supervisor) -> options::Options {
        options::Options {
            turn: self.turn.clone(),
            budget: self.budget.clone(),
            workers: self.runtime.workers,
            scheduling: self.runtime.scheduling,
            space_share: self.edge().space_share(),
            tool_limits: self.tool_limits(),
            queue_max: self.limits.waiting_inputs,
            default_submodules: self.runtime.default_submodules,
            pipelines,
            pipeline_limits: self.pipelines.clone(),
            mission: self.mission.clone(),
            memory: self.memory.clone(),
            mood: self.mood.clone(),
            lease: ms(self.runtime.lease_ms),
            scan: ms(self.runtime.scan_ms),
            supervisor: supervisor.clone(),
        }
    }

    /// Returns the options of recall.
    pub fn recall(&self) -> thinkd_recall::options::Options {
        let memory = &self.memory;
        thinkd_recall::options::Options {
            bytes: memory.recall_bytes,
            idle: ms(memory.recall_idle_ms),
            tokens: memory.recall_tokens,
            question_prefix: memory.question_prefix.clone(),
            statement_prefix: memory.statement_prefix.clone(),
            wait: ms(memory.vectors_wait_ms),
            exact: memory.exact_vectors,
        }
    }

    /// Returns the options of the store.
    pub fn store(&self, supervisor: &Supervisor) -> Options {
        Options {
            direct: self.database_direct.clone(),
            space_share: self.edge().space_share(),
            read: ms(self.limits.read_ms),
            commit: ms(self.runtime.commit_ms),
            connections: self.runtime.connections,
            supervisor: supervisor.clone(),
            ..Options::default()
        }
    }

    /// Returns the options of the boundary.
    pub fn edge(&self) -> context::Options {
        context::Options {
            token: self.token.clone(),
            keys: self.keys.clone(),
            keys_may_come: !self.keys_file.is_empty(),
            jwt: self.jwt.clone(),
            hosts: self.hosts.clone(),
            doors: self.doors.clone(),
            limits: self.limits.clone(),
        }
    }

    /// Returns all configured secrets, to be kept out of the log.
    pub fn secrets(&self) -> Vec<SecretString> {
        let keys = self.keys.iter().filter_map(|key| key.key.clone());
        let api_keys = self.models.all().filter_map(|model| model.api_key.clone());
        let addresses = self
            .models
            .all()
            .map(|model| model.base_url.as_str())
            .chain(self.models.base_url.as_deref());
        let addresses = addresses.chain(self.jwt.jwks_url.as_deref());
        let in_addresses = addresses
            .chain([self.database.expose_secret(), self.direct()])
            .flat_map(secret::in_url);
        let tokens = [&self.token, &self.tools.code.replica.token];
        (tokens.into_iter().chain([&self.models.api_key]))
            .filter_map(Clone::clone)
            .chain(keys)
            .chain(api_keys)
            .chain(in_addresses)
            .chain(
                self.tools
                    .mcp
                    .values()
                    .flat_map(thinkd_mcp::options::Options::secrets),
            )
            .chain(self.memory.knowledge.secrets())
            .chain(secrets_of_features(&self.features))
            .collect()
    }

    /// Returns the warning of the keys that are no settings any more; none: none is set.
    pub fn warning(&self) -> Option<String> {
        let list = self.loading.as_ref()?.removed.join("; ");
        (!list.is_empty()).then(|| format!("no settings any more, and read over: {list}"))
    }

    /// The settings as TOML, secrets redacted, with a comment a key that is not a default.
    pub fn to_toml(&self, sources: &[(String, String)]) -> String {
        let mut text = String::from("# What is in force. Secrets are not shown.\n");
        for (key, source) in sources {
            let _ = writeln!(text, "#   {key}: {source}");
        }
        if let Some(warning) = self.warning() {
            let _ = writeln!(text, "# {warning}");
        }
        // Our own types have nothing that TOML cannot say.
        text + "\n"
            + &toml::to_string(self).map_or_else(
                |error| format!("# cannot be shown: {error}\n"),
                |text| removed::without(&text),
            )
    }
}

impl Models {
    fn all(&self) -> impl Iterator<Item = &endpoint::Options> {
        [&self.low, &self.high, &self.embedding]
            .into_iter()
            .flatten()
            .chain(self.modules.values())
    }

    /// The sentence for variables of the shell that are set for no model; none where a model is chosen.
    pub fn unused(&self) -> Option<String> {
        let names = self.of_the_shell.join(" and ");
        let is_set = if self.of_the_shell.len() > 1 {
            "are set"
        } else {
            "is set"
        };
        (!self.has_model() && !names.is_empty())
            .then(|| format!("{names} {is_set}, but no model: set THINKD_MODEL to use one"))
    }

    /// True if a model is configured; without one the built-in offline model answers.
    pub fn has_model(&self) -> bool {
        self.low.is_some() || self.high.is_some() || !self.modules.is_empty()
    }

    fn check(&self, is_loopback: bool) -> Result<(), Invalid> {
        if let Some(name) = self.modules.keys().find(|name| !is_module(name)) {
            return invalid(format!(
                "[models.modules.{name:?}]: a module is decision, trial, summary, submodule:<name>, pipeline:<name> or mission:<node>"
            ));
        }
        let shared = self.base_url.as_deref();
        for url in shared.into_iter().chain(self.all().map(|it| &*it.base_url)) {
            if endpoint::base(url).is_none() {
                return invalid(format!(
                    "base_url of a model (OPENAI_BASE_URL) must be an http:// or https:// address, such as {}",
                    endpoint::Options::new("").base_url
                ));
            }
        }
        // A shell has these for other programs. Beyond loopback somebody set up a server: there they are half a model.
        let is_ambient = is_loopback && !self.of_the_shell.is_empty();
        let has_none = self.base_url.is_none() && self.api_key.is_none();
        if self.has_model() || has_none || is_ambient {
            return Ok(());
        }
        invalid(
            "an endpoint or a key is configured (OPENAI_BASE_URL, OPENAI_API_KEY), but no model: set THINKD_MODEL \
             (models.low.model), or unset them to use the built-in offline model",
        )
    }
}

fn is_module(name: &str) -> bool {
    let named = ["submodule:", "pipeline:", "mission:"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    matches!(name, "decision" | "trial" | "summary")
        || named.is_some_and(|name| Name::parse(name).is_ok())
}
