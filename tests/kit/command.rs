//! The program as a command: run to its end, or in a terminal.

use std::process::{Output, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::watch;

use crate::{App, PATIENCE, within};

/// The program, to be run against this server.
pub fn thinkd(app: &App, arguments: &[&str]) -> Command {
    client(app, crate::program(), arguments)
}

pub fn client(app: &App, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("THINKD_URL", format!("http://{}", app.address))
        .env("TERM", "xterm");
    command.current_dir(app.folder()).kill_on_drop(true);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs it to its end, with this on its standard input.
pub async fn ended(command: &mut Command, input: &str) -> Output {
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .await
        .unwrap();
    within("the end of the command", child.wait_with_output())
        .await
        .unwrap()
}

pub fn out(output: &Output) -> String {
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub fn has_script() -> bool {
    let has = std::path::Path::new("/usr/bin/script").exists();
    if !has {
        println!("no script(1) here: the chat was not tried in a terminal");
    }
    has
}

/// Returns text written to a terminal, without its escape sequences.
pub fn plain(written: &str) -> String {
    let mut plain = String::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        rest = &rest[rest.len().min(1)..];
    }
    // The line that is being typed is drawn again with every row above it.
    (plain + rest).replace('\r', "").replace("\n> ", "\n")
}

/// A chat in a terminal of its own (`script` makes one).
pub struct Typist {
    /// The program.
    pub child: Child,
    /// The whole screen. It is read at all times: a program with a full pipe stops.
    screen: watch::Receiver<String>,
    /// The length of the text that was looked at.
    seen: usize,
}

impl Typist {
    /// In a terminal of its own.
    pub fn sit_down(app: &App, arguments: &str) -> Self {
        Self::sit_down_in(app, "", arguments)
    }

    /// In a terminal that is prepared by this before.
    pub fn sit_down_in(app: &App, before: &str, arguments: &str) -> Self {
        let line = format!("{before} {} chat {arguments}", crate::program());
        let mut child = client(app, "script", &["-qec", &line, "/dev/null"])
            .env("SHELL", "/bin/sh")
            .spawn()
            .unwrap();
        let (shown, screen) = watch::channel(String::new());
        tokio::spawn(show(child.stdout.take().unwrap(), shown));
        Self {
            child,
            screen,
            seen: 0,
        }
    }

    pub async fn types(&mut self, keys: &str) {
        self.child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(keys.as_bytes())
            .await
            .unwrap();
    }

    /// Waits until this is on the screen, and forgets the text before it.
    pub async fn sees(&mut self, text: &str) -> String {
        let seen = self.seen;
        let screen = self.screen.wait_for(|screen| screen[seen..].contains(text));
        let Ok(Ok(screen)) = tokio::time::timeout(PATIENCE, screen).await else {
            let shown = self.screen.borrow()[seen..].to_owned();
            panic!("{text:?} did not come on the screen: {shown:?}");
        };
        let at = screen[seen..].find(text).unwrap();
        self.seen = seen + at + text.len();
        screen[seen..self.seen].to_owned()
    }

    /// Returns the seconds that stand behind this text on the screen.
    pub async fn seconds(&mut self, before: &str) -> u64 {
        self.sees(before).await;
        let shown = self.sees(" s").await;
        shown.trim_end_matches(" s").parse().unwrap()
    }
}

/// Shows all that a program prints, to its end.
async fn show(mut output: ChildStdout, shown: watch::Sender<String>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = output.read(&mut buffer).await {
        bytes.extend_from_slice(&buffer[..n]);
        // A character may come in two parts.
        let whole = match std::str::from_utf8(&bytes) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8(bytes.drain(..whole).collect()).unwrap();
        shown.send_modify(|screen| screen.push_str(&text));
    }
}
