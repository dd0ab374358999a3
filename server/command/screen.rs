//! Where a chat appears: a terminal, with a reply that grows above the line being typed, or plain lines.
//! Everything shown came from outside: control characters are written out.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustyline::ExternalPrinter;
use tokio::sync::mpsc;
use unicode_width::UnicodeWidthChar as _;

use super::keyboard::Keyboard;
use super::say;
use crate::telemetry::escaped;

/// How words look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As they are.
    Plain,
    /// Beside the point: thoughts, notices.
    Faint,
    /// Something is wrong.
    Alarm,
}

/// Where a chat appears.
pub enum Screen {
    /// Lines; replies when they are whole.
    Plain,
    /// A terminal whose last line is being typed.
    Terminal(Terminal),
}

/// A terminal.
pub struct Terminal {
    // Printing waits for the line editor, so a thread of its own does it.
    printer: mpsc::Sender<String>,
    keyboard: Arc<Keyboard>,
    colours: bool,
    /// The last row of the reply that grows, and how many lines had been entered when it was drawn.
    row: String,
    drawn: Option<u64>,
}

/// Prints that may wait for the line editor.
const WAITING: usize = 64;

impl Screen {
    /// A terminal. Colours only where they are wanted.
    pub fn terminal(mut printer: impl ExternalPrinter + Send + 'static, keyboard: Arc<Keyboard>) -> Self {
        let (sender, mut receiver) = mpsc::channel::<String>(WAITING);
        std::thread::spawn(move || {
            while let Some(text) = receiver.blocking_recv() {
                if printer.print(text).is_err() {
                    break;
                }
            }
        });
        let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self::Terminal(Terminal { printer: sender, keyboard, colours, row: String::new(), drawn: None })
    }

    /// Shows lines of their own.
    pub async fn line(&mut self, style: Style, text: &str) -> io::Result<()> {
        match self {
            Self::Plain if style == Style::Plain => say(safe(text)),
            Self::Plain => writeln!(io::stderr().lock(), "{}", safe(text)),
            Self::Terminal(terminal) => terminal.line(style, text).await,
        }
    }

    /// Shows more of a reply. On plain output nothing: replies come whole there.
    pub async fn grow(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Plain => Ok(()),
            Self::Terminal(terminal) => terminal.grow(text).await,
        }
    }

    /// Whether replies are shown as they grow.
    pub fn grows(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// The growing reply is over.
    pub fn end(&mut self) {
        if let Self::Terminal(terminal) = self {
            terminal.row.clear();
            terminal.drawn = None;
        }
    }
}

impl Terminal {
    async fn line(&mut self, style: Style, text: &str) -> io::Result<()> {
        // A row of a reply that stood here stays; what follows of it begins anew below.
        self.row.clear();
        self.drawn = None;
        let text = safe(text);
        self.print(match (self.colours, style) {
            (true, Style::Faint) => format!("\x1b[2m{text}\x1b[0m\n"),
            (true, Style::Alarm) => format!("\x1b[31m{text}\x1b[0m\n"),
            _ => format!("{text}\n"),
        })
        .await
    }

    async fn grow(&mut self, text: &str) -> io::Result<()> {
        let entered = self.keyboard.entered.load(Ordering::SeqCst);
        let mut drawing = String::new();
        match self.drawn {
            // The row is right above the line being typed: draw it again, longer.
            Some(then) if then == entered => drawing.push_str("\x1b[A\r\x1b[2K"),
            Some(_) => self.row.clear(),
            None => {}
        }
        self.row.push_str(&safe(text));
        let width = self.keyboard.width.load(Ordering::SeqCst).saturating_sub(1).max(20);
        while let Some(end) = row_end(&self.row, width) {
            drawing.push_str(self.row[..end].trim_end());
            drawing.push('\n');
            self.row.drain(..end);
        }
        drawing.push_str(&self.row);
        drawing.push('\n');
        self.drawn = Some(entered);
        self.print(drawing).await
    }

    async fn print(&self, text: String) -> io::Result<()> {
        self.printer.send(text).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

/// Where the first row of the text ends, if it does: after a line break, or before the word that does not fit.
fn row_end(text: &str, width: usize) -> Option<usize> {
    let mut taken = 0;
    let mut word = 0;
    for (at, c) in text.char_indices() {
        if c == '\n' {
            return Some(at + 1);
        }
        taken += c.width().unwrap_or(0);
        if taken > width {
            return Some(if word > 0 { word } else { at.max(1) });
        }
        if c == ' ' {
            word = at + 1;
        }
    }
    None
}

/// The text without anything that could steer a terminal; its lines stay lines.
fn safe(text: &str) -> String {
    let lines: Vec<String> = text.replace('\t', "    ").split('\n').map(escaped).collect();
    lines.join("\n")
}
