//! The command line: commands, their settings, and exit codes. Each command is a file below;
//! serving is `app`.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use super::app;
use super::feature::{self, Feature, Parts};
use super::output::{complain, complain_as_is, print, say};
use super::settings::{self, Flags, Invalid, Loaded, Settings};
use thinkd_edge::http::openapi;
use thinkd_edge::websocket::asyncapi;
use thinkd_event::catalogue::{self, Facts};
use thinkd_log::projections;
use thinkd_mcp::launcher;
use thinkd_pipelines::registry::Pipelines;
use thinkd_tools::catalogue::Catalogue;
use thinkd_tools::code;

mod chat;
pub mod client;
mod doctor;
mod events;
mod fork;
mod help;
mod inbox;
mod key;
mod keyboard;
mod markdown;
mod memory;
mod mission;
mod paint;
mod recall;
mod reembed;
mod replica;
mod rows;
mod safe;
mod screen;
mod store;
mod typing;
mod waiting;
mod wire;
mod words;

/// A server for agents that think in the open.
#[derive(Debug, Parser)]
#[command(name = "thinkd", version, about)]
struct Line {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server (the default)
    Serve,
    /// Talk to an agent from this terminal, or through a pipe
    Chat(chat::Options),
    /// Show the event log of a running server
    Events(events::Options),
    /// List what waits for a person, show it, approve, reject or answer it
    Inbox(inbox::Options),
    /// Go on from any point of a thread of a running server, in a new thread
    Fork(fork::Options),
    /// Run a mission on a running server: a task that it splits into checked subtasks
    Mission(mission::Options),
    /// Search the memory of a running server
    Recall(recall::Options),
    /// Audit the memory of a running server
    Memory {
        #[command(subcommand)]
        command: memory::Command,
    },
    /// Try the configuration, the database, the feed, the models and the clock, and say what to change
    Doctor(doctor::Options),
    /// Ask the configured server whether it is ready (for containers)
    Healthcheck,
    /// Rebuild all derived tables from the event log
    Rebuild {
        /// Only say what would differ
        #[arg(long)]
        check: bool,
    },
    /// Update the tables; needed only if the database role of the server may not change them
    Migrate,
    /// Embed all statements again, after a change of the embedding model
    Reembed,
    /// Copy the event log into a new file; the server may run meanwhile
    Backup {
        /// The file to make
        file: PathBuf,
    },
    /// Fill an empty database from a backup; the event log gets a new epoch
    Restore {
        /// The backup
        file: PathBuf,
    },
    /// Print the configuration in force, secrets redacted
    Config,
    /// Run code for servers on other machines
    Replica,
    /// Make a key for a client
    Key {
        #[command(subcommand)]
        command: key::Command,
    },
    /// Run code that is handed over by a server (`tools/code.rs` starts it so)
    #[command(name = code::WORKER, hide = true)]
    CodeWorker,
    /// Run a program of `tools.mcp`, and end it with the server (`mcp/child.rs` starts it so)
    #[command(name = launcher::LAUNCHER, hide = true)]
    ToolLauncher {
        program: OsString,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Print the contract of the HTTP interface (OpenAPI, JSON)
    Openapi,
    /// Print the contract of the socket (AsyncAPI, YAML)
    Asyncapi,
    /// Print all kinds of events with their members (Markdown)
    Facts {
        /// As types for clients instead
        #[arg(long)]
        typescript: bool,
    },
}

/// Hides the environment, memory and descriptors of this process from other processes of its user.
#[cfg(target_os = "linux")]
fn hide() -> std::io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

#[cfg(not(target_os = "linux"))]
fn hide() -> std::io::Result<()> {
    Ok(())
}

/// Reads the command line and runs its command; a server it starts has these pipelines and these
/// tools.
pub fn run(pipelines: Pipelines, tools: Catalogue) -> ExitCode {
    Program::new(pipelines, tools).run()
}

/// The program: its command line, and a server with these pipelines, tools and features.
pub struct Program {
    pipelines: Pipelines,
    tools: Catalogue,
    features: Vec<Feature>,
}

impl Program {
    /// Returns a program without features.
    pub fn new(pipelines: Pipelines, tools: Catalogue) -> Self {
        Self {
            pipelines,
            tools,
            features: Vec::new(),
        }
    }

    /// Returns the same, with a feature more.
    #[must_use]
    pub fn with(mut self, feature: Feature) -> Self {
        self.features.push(feature);
        self
    }

    /// Reads the command line and runs its command.
    pub fn run(self) -> ExitCode {
        self.run_line(std::env::args_os())
    }

    /// Runs the command of a line whose first word names the program.
    pub fn run_line(self, line: impl IntoIterator<Item = OsString>) -> ExitCode {
        // Before a secret is read.
        if let Err(error) = hide() {
            complain(&format!("other programs can read this one: {error}"));
        }
        if let Err(error) = feature::check(&self.features, &Line::command()) {
            complain(&error.to_string());
            return ExitCode::from(2);
        }
        let matches = match self.line().try_get_matches_from(line) {
            Ok(matches) => matches,
            Err(error) if error.kind() == ErrorKind::ValueValidation => {
                // The library has no words of its own for it.
                let said = error.render().to_string();
                let said = said.replace(
                    "invalid digit found in string",
                    "a whole number is expected",
                );
                complain_as_is(&said);
                return ExitCode::from(2);
            }
            Err(error) => error.exit(),
        };
        let own = matches.subcommand().and_then(|(name, options)| {
            let feature = self.features.iter().find(|feature| feature.name == name)?;
            Some((feature.command?, options.clone()))
        });
        let ran = match own {
            Some((command, options)) => self.run_own(command, options, &matches),
            None => match Line::from_arg_matches(&matches) {
                // Before anything else: these have no settings.
                Ok(Line {
                    command: Some(Command::ToolLauncher { program, arguments }),
                    ..
                }) => return launcher::main(&program, &arguments),
                Ok(Line {
                    command: Some(Command::CodeWorker),
                    ..
                }) => {
                    return match runner::worker::main() {
                        Ok(_) => ExitCode::SUCCESS,
                        Err(_) => ExitCode::FAILURE,
                    };
                }
                Ok(line) => self.dispatch(line),
                Err(error) => error.exit(),
            },
        };
        match ran {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
            Err(error) => {
                complain(&format!("{error:#}"));
                match error.is::<Invalid>() {
                    true => ExitCode::from(2),
                    false => ExitCode::FAILURE,
                }
            }
        }
    }

    /// The command line, with the commands of features.
    fn line(&self) -> clap::Command {
        let own = self.features.iter().filter_map(|feature| {
            let command = feature.command.as_ref()?;
            Some((command.options)(clap::Command::new(feature.name)))
        });
        help::with_examples(Line::command().subcommands(own))
    }

    /// Runs the command of a feature.
    fn run_own(
        &self,
        command: feature::Command,
        options: ArgMatches,
        matches: &ArgMatches,
    ) -> anyhow::Result<()> {
        use_ring();
        self.add_tables()?;
        let flags = Flags::from_arg_matches(matches)?;
        let Loaded { settings, .. } = self.loaded(&flags)?;
        wait_for((command.run)(options, settings))
    }

    /// The settings; those of a feature that the program does not have are refused.
    fn loaded(&self, flags: &Flags) -> Result<Loaded, Invalid> {
        let loaded = Settings::load(flags, &settings::environment())?;
        feature::check_settings(&self.features, &loaded.settings)?;
        Ok(loaded)
    }

    fn dispatch(self, line: Line) -> anyhow::Result<()> {
        use_ring();
        self.add_tables()?;
        let Line { flags, command } = line;
        let command = command.unwrap_or(Command::Serve);
        let flags = match command {
            Command::Replica => flags.of_replica(),
            _ => flags,
        };
        let parts = |loaded: Loaded| {
            let parts = feature::parts(&self.features, &loaded.settings)?;
            Ok((loaded, parts))
        };
        let loaded = self.loaded(&flags);
        if let Command::Doctor(options) = &command {
            let (loaded, tools) = match loaded.and_then(parts) {
                Ok((loaded, parts)) => (Ok(loaded), self.tools.clone().and(parts.tools)),
                Err(error) => (Err(error), self.tools),
            };
            return wait_for(doctor::run(options, loaded, &tools));
        }
        let loaded = loaded?;
        let (Loaded { settings, sources }, parts) = match command {
            Command::Serve | Command::Config | Command::Openapi => parts(loaded)?,
            _ => (loaded, Parts::default()),
        };
        let tools = self.tools.clone().and(parts.tools);
        openapi::add(parts.document);
        match command {
            // Done: a configuration that cannot be read is a finding, and a worker reads none.
            Command::Doctor(_) | Command::CodeWorker | Command::ToolLauncher { .. } => Ok(()),
            Command::Serve => {
                let settings = settings.with_key_files()?;
                app::serve_with(&settings, self.pipelines, &tools, parts.routes)
            }
            Command::Replica => replica::serve(&settings),
            Command::Config => {
                say(settings.to_toml(&sources).trim_end())?;
                Ok(settings.with_key_files()?.check_all(&tools).map(drop)?)
            }
            Command::Key {
                command: key::Command::New(options),
            } => Ok(print(&key::new(&options))?),
            Command::Chat(options) => wait_for(chat::run(&options, &settings)),
            Command::Events(options) => wait_for(events::run(&options, &settings)),
            Command::Inbox(options) => wait_for(inbox::run(&options, &settings)),
            Command::Fork(options) => wait_for(fork::run(&options, &settings)),
            Command::Mission(options) => wait_for(mission::run(&options, &settings)),
            Command::Recall(options) => wait_for(recall::run(&options, &settings)),
            Command::Memory { command } => wait_for(memory::run(&command, &settings)),
            Command::Healthcheck => wait_for(client::healthcheck(&settings)),
            Command::Rebuild { check } => wait_for(store::rebuild(&settings, check)),
            Command::Migrate => wait_for(store::migrate(&settings)),
            Command::Reembed => wait_for(reembed::run(&settings)),
            Command::Backup { file } => wait_for(store::backup(&settings, &file)),
            Command::Restore { file } => wait_for(store::restore(&settings, &file)),
            Command::Openapi => Ok(print(&openapi::document())?),
            Command::Asyncapi => Ok(print(&asyncapi::document())?),
            Command::Facts { typescript: false } => Ok(print(&catalogue::markdown(&self.facts()))?),
            Command::Facts { typescript: true } => {
                Ok(print(&catalogue::typescript(&self.facts()))?)
            }
        }
    }

    /// Has the log fill the tables of features.
    fn add_tables(&self) -> Result<(), Invalid> {
        let tables = self.features.iter().flat_map(|it| it.projections);
        projections::add(&Vec::from_iter(tables.copied())).map_err(Invalid::new)
    }

    /// The facts of features.
    fn facts(&self) -> Facts {
        let mut all = Facts::default();
        for feature in &self.features {
            let Facts { specs, examples } = (feature.facts)();
            all.specs.extend(specs);
            all.examples.extend(examples);
        }
        all
    }
}

/// TLS has no default of its own here: every client in this process uses this one. It can be set
/// once, and is.
fn use_ring() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Runs a client: one thread is enough.
fn wait_for<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(work);
    // Not waiting for a thread that may read a terminal for ever.
    runtime.shutdown_background();
    outcome
}

/// Returns true if the reader of our output had enough: no failure of ours.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
