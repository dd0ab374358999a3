//! What the program says about itself: log lines on standard error, counters at `/metrics`.
//! What a mind does is not logged here: that is the event log.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use secrecy::{ExposeSecret, SecretString};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::model::openai::QUIET;
use crate::settings::{Invalid, Log, LogFormat};

/// Starts logging. A level that cannot be read is the caller's configuration error.
pub fn start_log(log: &Log, secrets: Vec<SecretString>) -> Result<(), Invalid> {
    let filter = EnvFilter::try_new(format!("{QUIET},{}", log.level))
        .map_err(|error| Invalid::new(format!("log.level {:?}: {error}", log.level)))?;
    // Short ones would hit innocent words; whoever has such a secret has none.
    let secrets = secrets.into_iter().filter(|secret| secret.expose_secret().len() >= 4).collect();
    // No colours from the formatter: then every control character in a line came from outside, and is escaped.
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Careful(secrets));
    let started = match log.format {
        LogFormat::Pretty => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    // A second start in one process (tests) keeps the first one's log.
    let _ = started;
    Ok(())
}

/// Bounds of the histograms, in seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// Starts counting.
pub fn start_metrics() -> anyhow::Result<PrometheusHandle> {
    let handle = PrometheusBuilder::new().set_buckets(&SECONDS)?.install_recorder()?;
    Ok(handle)
}

/// Folds what histograms have gathered, for as long as the program runs: nobody may ever ask for `/metrics`.
pub async fn keep_metrics_small(handle: PrometheusHandle) {
    let mut every = tokio::time::interval(Duration::from_secs(5));
    loop {
        every.tick().await;
        handle.run_upkeep();
    }
}

/// Writes lines to standard error, without secrets and without control characters.
#[derive(Clone)]
struct Careful(Arc<[SecretString]>);

impl<'a> MakeWriter<'a> for Careful {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &Careful {
    // The formatter hands over whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut text = escaped(String::from_utf8_lossy(line).trim_end_matches('\n'));
        for secret in self.0.iter() {
            text = text.replace(secret.expose_secret(), "(redacted)");
        }
        text.push('\n');
        io::stderr().lock().write_all(text.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// The text with its control characters written out (`\n`, `\u{1b}`), so that it cannot steer a terminal or forge a line.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_bidi(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    safe
}

/// Characters that reorder what is shown around them.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}
