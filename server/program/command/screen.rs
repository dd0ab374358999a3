//! The screen of a chat: plain lines, or a terminal. There, growing text (a reply, the row about
//! the work of the mind) stands right above the line being typed and is drawn again as it changes.
//! Everything shown came from outside: control characters are written out.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustyline::ExternalPrinter;
use tokio::sync::mpsc;

use super::markdown;
use super::paint::{self, ALARM, BOLD, FAINT, painted};
use super::rows::{Rows, columns};
use super::safe::safe;
use super::typing::Keyboard;
use crate::program::output::say;
use crate::program::telemetry::escaped;

/// The kind of a shown text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Words of the mind to people: the output, in Markdown.
    Reply,
    /// Words of others to it.
    Input,
    /// Inner events.
    Thought,
    /// Words of the chat itself.
    Notice,
    /// Something is wrong.
    Alarm,
}

/// The text above the line being typed, which is drawn again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Live {
    Nothing,
    Status,
    Reply,
}

/// The display of a chat.
pub enum Screen {
    /// Lines; replies when they are whole.
    Plain,
    /// A terminal, with a last line being typed.
    Terminal(Terminal),
}

/// A terminal.
pub struct Terminal {
    // Printing waits for the line editor, so a thread of its own does it.
    printer: mpsc::Sender<String>,
    keyboard: Arc<Keyboard>,
    colours: bool,
    live: Live,
    /// The rows of it that can be drawn again, how many stand above those, and how many lines had been entered when they were drawn.
    drawn: Vec<String>,
    frozen: usize,
    entered: u64,
    status: Option<String>,
}

/// Prints that may wait for the line editor.
const WAITING: usize = 64;

impl Screen {
    /// A terminal.
    pub fn terminal(
        mut printer: impl ExternalPrinter + Send + 'static,
        keyboard: Arc<Keyboard>,
    ) -> Self {
        let (sender, mut receiver) = mpsc::channel::<String>(WAITING);
        std::thread::spawn(move || {
            while let Some(text) = receiver.blocking_recv() {
                if printer.print(text).is_err() {
                    break;
                }
            }
        });
        Self::Terminal(Terminal {
            printer: sender,
            keyboard,
            colours: paint::is_wanted(),
            live: Live::Nothing,
            drawn: Vec::new(),
            frozen: 0,
            entered: 0,
            status: None,
        })
    }

    /// Shows the words of a speaker (or, without a name, of the chat) in rows of their own.
    pub async fn show(&mut self, manner: Manner, name: &str, text: &str) -> anyhow::Result<()> {
        let named = match name {
            "" => safe(text),
            name => format!("  {}: {}", escaped(name), safe(text)),
        };
        match self {
            Self::Plain if manner == Manner::Reply => Ok(say(safe(text))?),
            Self::Plain => Ok(writeln!(io::stderr().lock(), "{named}")?),
            Self::Terminal(terminal) => {
                let rows = terminal.rows(manner, name, text);
                if manner == Manner::Reply {
                    terminal.status = None;
                }
                terminal.print_rows(rows).await
            }
        }
    }

    /// Shows a reply as far as it has come. On plain output nothing: replies come whole there.
    pub async fn grow(&mut self, name: &str, text: &str) -> anyhow::Result<()> {
        let Self::Terminal(terminal) = self else {
            return Ok(());
        };
        terminal.status = None;
        let rows = terminal.rows(Manner::Reply, name, text);
        terminal.draw(Live::Reply, rows).await
    }

    /// Shows the present work in one row, or takes that row away. A growing reply replaces it.
    pub async fn status(&mut self, text: Option<String>) -> anyhow::Result<()> {
        let Self::Terminal(terminal) = self else {
            return Ok(());
        };
        terminal.status = text;
        if terminal.live == Live::Reply {
            return Ok(());
        }
        let rows = terminal.status_rows();
        let live = match rows.is_empty() {
            true => Live::Nothing,
            false => Live::Status,
        };
        terminal.draw(live, rows).await
    }

    /// Returns true if replies are shown as they grow.
    pub fn grows(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// The growing reply is over; it stays where it is.
    pub fn end(&mut self) {
        if let Self::Terminal(terminal) = self
            && terminal.live == Live::Reply
        {
            terminal.leave();
        }
    }
}

impl Terminal {
    fn rows(&self, manner: Manner, name: &str, text: &str) -> Vec<String> {
        let (margin, looks): (&str, &[&'static str]) = match manner {
            Manner::Reply | Manner::Input => ("", &[]),
            Manner::Thought => ("  ", &[FAINT]),
            Manner::Notice => ("", &[FAINT]),
            Manner::Alarm => ("  ", &[ALARM]),
        };
        let colour = match manner {
            Manner::Alarm => ALARM,
            _ => paint::of_name(name),
        };
        let (lead, wide, hang) = match name {
            "" => (String::new(), 0, margin.len()),
            name => {
                let name = escaped(name);
                let wide = margin.len() + columns(&name) + 2;
                let name = painted(self.colours, &[BOLD, colour], &name);
                (format!("{margin}{name}: "), wide, margin.len() + 2)
            }
        };
        let width = self.keyboard.width.load(Ordering::SeqCst).saturating_sub(1);
        let mut rows = Rows::new(width, self.colours, (lead, wide), hang);
        if manner == Manner::Reply {
            return markdown::write(text, rows);
        }
        rows.text(&safe(text), looks);
        rows.finish()
    }

    fn status_rows(&self) -> Vec<String> {
        let painted = |text: &String| painted(self.colours, &[FAINT], &escaped(text));
        self.status.iter().map(painted).collect()
    }

    /// Prints rows that stay. The row about the present work moves below them.
    async fn print_rows(&mut self, rows: Vec<String>) -> anyhow::Result<()> {
        let mut drawing = String::new();
        if self.live == Live::Status && self.is_in_reach() {
            drawing = up(self.drawn.len());
        }
        self.leave();
        drawing.extend(rows.iter().flat_map(|row| [row.as_str(), "\n"]));
        self.print(drawing).await?;
        match self.status_rows() {
            status if status.is_empty() => Ok(()),
            status => self.draw(Live::Status, status).await,
        }
    }

    /// Draws the live rows as they are now, from the first row that has changed.
    async fn draw(&mut self, live: Live, rows: Vec<String>) -> anyhow::Result<()> {
        if !self.is_in_reach() {
            // A line was entered: what stood above it stays. A reply goes on below, with its last row once more, since that was not whole.
            let shown = self.frozen + self.drawn.len();
            let goes_on = self.live == Live::Reply && live == Live::Reply;
            self.leave();
            self.frozen = if goes_on { shown.saturating_sub(1) } else { 0 };
        }
        let rows = rows.get(self.frozen..).unwrap_or_default();
        let both = self.drawn.iter().zip(rows);
        let same = both.take_while(|(old, new)| old == new).count();
        let mut drawing = up(self.drawn.len() - same);
        drawing.extend(rows[same..].iter().flat_map(|row| [row.as_str(), "\n"]));
        (self.live, self.drawn) = (live, rows.to_vec());
        self.entered = self.keyboard.entered.load(Ordering::SeqCst);
        // What has left the screen at its top cannot be drawn again.
        let height = self.keyboard.height.load(Ordering::SeqCst);
        let height = height.saturating_sub(3).max(3);
        let gone = self.drawn.len().saturating_sub(height);
        self.drawn.drain(..gone);
        self.frozen += gone;
        if self.live == Live::Nothing {
            self.leave();
        }
        if drawing.is_empty() {
            return Ok(());
        }
        if !drawing.ends_with('\n') {
            // The line editor ends every print's last row: with this nothing is left of it.
            drawing.push_str("\x1b[A\n");
        }
        self.print(drawing).await
    }

    /// Returns true if the live rows still stand right above the line being typed.
    fn is_in_reach(&self) -> bool {
        self.live != Live::Nothing && self.entered == self.keyboard.entered.load(Ordering::SeqCst)
    }

    fn leave(&mut self) {
        (self.live, self.frozen) = (Live::Nothing, 0);
        self.drawn.clear();
    }

    async fn print(&self, text: String) -> anyhow::Result<()> {
        let sent = self.printer.send(text).await;
        Ok(sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?)
    }
}

/// Returns the codes that move the cursor so many rows up and clear the rows below.
fn up(rows: usize) -> String {
    match rows {
        0 => String::new(),
        rows => format!("\x1b[{rows}A\r\x1b[J"),
    }
}
