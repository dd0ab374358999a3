//! The program of a server of tools. It starts with an environment of its own, and a bounded part
//! of its standard error is logged. It ends with its connection, and so does all that it started.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use runner::pool;
use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::launcher;
use super::options::Options;
use thinkd_words::veil::Veil;

/// The variables of this server's environment that a program gets: the folders of programs, and its
/// home.
const GIVEN: [&str; 2] = ["PATH", "HOME"];
/// Longest line that is logged, in bytes; the rest of it is left out.
const LINE_MAX: usize = 1000;
/// Most lines that are logged in a while; the rest is counted.
const LINES_MAX: u32 = 20;
/// The time that a program may take to leave by itself.
const LEAVE: Duration = Duration::from_secs(1);
/// The interval for the count of lines.
const WHILE: Duration = Duration::from_secs(10);

/// A program that runs.
pub struct Program {
    /// Its standard output.
    pub output: ChildStdout,
    /// Its standard input.
    pub input: ChildStdin,
    /// The program, and the processes that it starts.
    pub group: Group,
}

/// A program and the processes that it started, which end when this is dropped: its launcher ends
/// them. If the launcher is dead, their process group is killed, and a process that has left the
/// group escapes.
pub struct Group {
    leader: Child,
    id: Option<Pid>,
    /// The end of standard error for which the launcher stays.
    lifeline: AbortHandle,
}

impl Group {
    /// Waits until the program ends. The processes that it leaves behind end with this.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.leader.wait().await
    }

    /// Returns why the program of this name could not be started, if it ended for that reason.
    pub async fn was_not_started(mut self, program: &str) -> Option<String> {
        let code = timeout(LEAVE, self.wait()).await.ok()?.ok()?.code()?;
        let why = match u8::try_from(code).ok()? {
            launcher::NOT_FOUND => "there is no such program",
            launcher::NOT_RUN => "it may not be run",
            _ => return None,
        };
        Some(format!("{program} cannot be started: {why}"))
    }

    /// Ends the program. Its input has ended already; if the program does not leave by itself, it
    /// is killed.
    pub async fn end(mut self) {
        if timeout(LEAVE, self.leader.wait()).await.is_err() {
            self.lifeline.abort();
            // A program may have stopped it.
            let _ = self.id.map(|id| kill_process_group(id, Signal::CONT));
            let _ = timeout(LEAVE, self.leader.wait()).await;
        }
        self.kill();
        let _ = self.leader.wait().await;
    }

    fn kill(&mut self) {
        if let Some(id) = self.id.take() {
            // It may be gone, all of it.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.lifeline.abort();
        if matches!(self.leader.try_wait(), Ok(Some(_))) {
            self.kill();
        }
    }
}

/// Starts the program of a server. Its standard error is logged under the veil.
pub fn start(name: &str, options: &Options, veil: Arc<Veil>) -> Result<Program, String> {
    let program = options.command.as_deref().unwrap_or_default();
    let env = options.whole_env()?;
    let mut command = Command::new(pool::Options::this_program());
    command.args([launcher::LAUNCHER, "--", program]);
    command.args(&options.args).env_clear();
    let given = |name| Some((name, std::env::var_os(name)?));
    command.envs(GIVEN.into_iter().filter_map(given));
    command.envs(env.iter().map(|(name, it)| (name, it.expose_secret())));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A group of its own, with its launcher: what a terminal sends to the server (Ctrl-C) is not for it; it ends when its input does.
    command.process_group(0);
    let mut leader = command
        .spawn()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    let id = leader
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let stdin = leader.stdin.take();
    let stdout = leader.stdout.take();
    let (Some(input), Some(output), Some(words)) = (stdin, stdout, leader.stderr.take()) else {
        return Err(format!("{program} was started without pipes"));
    };
    let said = Said::new(name, "on standard error", veil);
    let lifeline = tokio::spawn(log(words, said)).abort_handle();
    let group = Group {
        leader,
        id,
        lifeline,
    };
    Ok(Program {
        output,
        input,
        group,
    })
}

/// Logs the standard error of a program. All of it is read, or the program would stand still.
async fn log(words: ChildStderr, mut said: Said) {
    let mut words = BufReader::new(words);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut words)
            .take(LINE_MAX as u64)
            .read_until(b'\n', &mut line)
            .await
        {
            Ok(0) | Err(_) => break,
            Ok(_) => said.line(&line),
        }
    }
}

/// Logs the words of a program for people: some lines in an interval, the beginning of each,
/// without its secrets.
pub struct Said {
    server: String,
    /// The stream of the lines, in words.
    place: &'static str,
    veil: Arc<Veil>,
    since: Instant,
    lines: u32,
    left_out: u64,
}

impl Said {
    /// Returns a log without lines.
    pub fn new(server: &str, place: &'static str, veil: Arc<Veil>) -> Self {
        Self {
            server: server.to_owned(),
            place,
            veil,
            since: Instant::now(),
            lines: 0,
            left_out: 0,
        }
    }

    /// Logs a line of the program, or counts it if there were too many.
    pub fn line(&mut self, line: &[u8]) {
        let Self { server, place, .. } = self;
        if self.since.elapsed() > WHILE {
            if self.left_out > 0 {
                tracing::info!(
                    server,
                    place,
                    self.left_out,
                    "a server of tools said more than is logged"
                );
            }
            (self.since, self.lines, self.left_out) = (Instant::now(), 0, 0);
        }
        self.lines += 1;
        if self.lines > LINES_MAX {
            self.left_out += 1;
            return;
        }
        let line = &line[..line.len().min(LINE_MAX)];
        let said = self.veil.over(String::from_utf8_lossy(line).trim_end());
        tracing::info!(server, place, said, "a server of tools says something");
    }
}
