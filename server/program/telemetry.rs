//! The program's output about itself: log lines on standard error, counters at `/metrics`. Acts of
//! a mind are not logged here: the event log has them.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use parking_lot::RwLock;
use secrecy::{ExposeSecret, SecretString};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::settings::{Invalid, Log, LogFormat};
use thinkd_mcp::wire;
use thinkd_model::openai;
use thinkd_words::secret::masked;
use thinkd_words::unseen::replaced;

mod repeats;

use repeats::Repeats;

/// Directives that keep frames out of the log: the library of sockets writes whole frames at
/// `trace`, and a first frame holds a key or a token.
const FRAMES: &str = "tungstenite=info,tokio_tungstenite=info";

/// Lines that wait to be written; more are dropped, and counted.
const LINES: usize = 4096;
/// Longest wait for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Lines are written by a thread of their own. A full disk, or a pipe that is not read any more,
/// costs lines, never the work that they are about.
pub fn start_log(log: &Log, secrets: Vec<SecretString>) -> Result<Logging, Invalid> {
    let levels: Targets = format!("{},{},{FRAMES},{}", openai::QUIET, wire::QUIET, log.level)
        .parse()
        .map_err(|error| Invalid::new(format!("log.level {:?}: {error}", log.level)))?;
    let hidden = Hidden::default();
    hidden.hide(secrets);
    // No colours from the formatter: then every control character in a line came from outside, and is escaped.
    let (queue, waiting) = sync_channel(LINES);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        // It would print, and panic where that fails.
        .log_internal_errors(false)
        .with_writer(Careful {
            hidden: hidden.clone(),
            queue: queue.clone(),
        });
    let started = match log.format {
        LogFormat::Pretty => tracing_subscriber::registry()
            .with(levels)
            .with(lines)
            .try_init(),
        LogFormat::Json => tracing_subscriber::registry()
            .with(levels)
            .with(lines.json().flatten_event(true))
            .try_init(),
    };
    // A second start in one process (tests) keeps the first one's log.
    let _ = started;
    let writing = thread::Builder::new()
        .name("log".into())
        .spawn(move || write_lines(&waiting));
    writing.map_err(|error| Invalid::new(format!("the log cannot be started: {error}")))?;
    Ok(Logging { hidden, queue })
}

/// A message to the thread that writes.
enum Line {
    Text(Vec<u8>),
    /// All lines before it are written.
    Written(SyncSender<()>),
}

/// Writes the lines of the queue. A line that cannot be written is lost silently: there is nowhere
/// to report it.
fn write_lines(waiting: &Receiver<Line>) {
    let mut repeats = Repeats::new(Instant::now());
    let write = |text: &[u8]| drop(io::stderr().lock().write_all(text));
    loop {
        let line = match repeats.rest() {
            Some(rest) => waiting.recv_timeout(rest),
            None => waiting.recv().map_err(RecvTimeoutError::from),
        };
        let now = Instant::now();
        repeats.due(now).iter().for_each(|text| write(text));
        match line {
            Ok(Line::Text(text)) => repeats.take(text, now).iter().for_each(|text| write(text)),
            Ok(Line::Written(asked)) => {
                repeats.rest_of_all(now).iter().for_each(|text| write(text));
                // Nobody may wait any more.
                let _ = asked.try_send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The log. Dropping it waits until the queued lines are written; not for long.
pub struct Logging {
    /// The secrets that are hidden from it.
    pub hidden: Hidden,
    queue: SyncSender<Line>,
}

impl Drop for Logging {
    fn drop(&mut self) {
        let (asked, written) = sync_channel(1);
        if self.queue.try_send(Line::Written(asked)).is_ok() {
            // Whoever reads the log may have stopped to.
            let _ = written.recv_timeout(LAST_LINES);
        }
    }
}

/// The secrets that no line of the log shows.
// A plain lock: held to copy or replace the handle.
#[derive(Clone, Default)]
pub struct Hidden(Arc<RwLock<Arc<[SecretString]>>>);

impl Hidden {
    /// Hides these from now on, and no others.
    pub fn hide(&self, secrets: Vec<SecretString>) {
        // Short ones would hit innocent words; whoever has such a secret has none.
        let secrets = secrets
            .into_iter()
            .filter(|secret| secret.expose_secret().len() >= 4)
            .collect();
        *self.0.write() = secrets;
    }

    fn all(&self) -> Arc<[SecretString]> {
        self.0.read().clone()
    }
}

/// Bounds of the histograms, in seconds.
const SECONDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
];

/// Starts counting.
pub fn start_metrics() -> anyhow::Result<PrometheusHandle> {
    let handle = PrometheusBuilder::new()
        .set_buckets(&SECONDS)?
        .install_recorder()?;
    Ok(handle)
}

/// Folds the samples of histograms, for as long as the program runs: `/metrics` may never be read.
pub async fn keep_metrics_small(handle: PrometheusHandle) {
    let mut every = tokio::time::interval(Duration::from_secs(5));
    loop {
        every.tick().await;
        handle.run_upkeep();
    }
}

/// Has lines written, without secrets and without control characters.
struct Careful {
    hidden: Hidden,
    queue: SyncSender<Line>,
}

impl<'a> MakeWriter<'a> for Careful {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &Careful {
    // The formatter hands over whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut text = masked(
            &escaped(String::from_utf8_lossy(line).trim_end_matches('\n')),
            &self.hidden.all(),
        );
        text.push('\n');
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Line::Text(text.into_bytes())) {
            metrics::counter!("thinkd_log_lines_dropped_total").increment(1);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the text with its line breaks and its invisible characters written out (`\n`, `\u{1b}`,
/// `\u{200b}`): it cannot steer a terminal, forge a line or hide a word.
pub fn escaped(text: &str) -> String {
    let seen = replaced(text, |c| c.escape_default().to_string());
    let seen = seen.replace('\n', "\\n").replace('\r', "\\r");
    seen.replace('\t', "\\t")
}
