//! The input of a chat: lines typed in a terminal, or coming through a pipe, read in a thread of
//! its own.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::sync::mpsc;

use super::screen::Screen;
use super::typing::Keyboard;
use crate::program::output::say;
use thinkd_words::text::unmarked;

/// The typed or piped input, and the permission to read the next line. Between the two the terminal
/// is as it was.
pub struct Hands {
    /// The input.
    pub typed: mpsc::Receiver<Typed>,
    next: SyncSender<()>,
}

impl Hands {
    /// Permits reading the next line: the last one is dealt with.
    pub fn go_on(&self) {
        // A reader that is gone reads no more lines.
        let _ = self.next.try_send(());
    }
}

/// An act of a person.
pub enum Typed {
    /// Says or commands something.
    Line(String),
    /// Presses Ctrl-C.
    Interrupt,
    /// Leaves, or the pipe ends.
    End,
}

/// Reads typed or piped input in a thread of its own.
pub fn start(greeting: &str) -> anyhow::Result<(Screen, Hands)> {
    let (sender, typed) = mpsc::channel(1);
    let (next, may_read) = std::sync::mpsc::sync_channel(1);
    let hands = Hands { typed, next };
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        std::thread::spawn(move || read(&sender, &may_read, pipe()));
        return Ok((Screen::Plain, hands));
    }
    let mut editor = DefaultEditor::new()?;
    let printer = editor.create_external_printer()?;
    let keyboard = Arc::new(Keyboard::default());
    keyboard.measure(&mut editor);
    let screen = Screen::terminal(printer, keyboard.clone());
    say(greeting)?;
    std::thread::spawn(move || read(&sender, &may_read, terminal(editor, keyboard)));
    Ok((screen, hands))
}

/// Hands over line after line, each when the one before has been dealt with.
fn read(sender: &mpsc::Sender<Typed>, may_read: &Receiver<()>, mut line: impl FnMut() -> Typed) {
    loop {
        let typed = line();
        let is_end = matches!(typed, Typed::End);
        if sender.blocking_send(typed).is_err() || is_end || may_read.recv().is_err() {
            return;
        }
    }
}

fn pipe() -> impl FnMut() -> Typed {
    let mut lines = std::io::stdin()
        .lines()
        .map_while(Result::ok)
        .map(|line| unmarked(&line).to_owned())
        .filter(|line| !line.trim().is_empty());
    move || lines.next().map_or(Typed::End, Typed::Line)
}

fn terminal(mut editor: DefaultEditor, keyboard: Arc<Keyboard>) -> impl FnMut() -> Typed {
    move || {
        keyboard.measure(&mut editor);
        let line = editor.readline("> ");
        keyboard.entered.fetch_add(1, Ordering::SeqCst);
        match line {
            Ok(line) => {
                // A history that cannot be kept is no reason to stop.
                let _ = editor.add_history_entry(&line);
                Typed::Line(line)
            }
            Err(ReadlineError::Interrupted) => Typed::Interrupt,
            Err(_) => Typed::End,
        }
    }
}
