//! What code that models write may take, and how its workers are started: the same program as the server, by a command that is not listed.

use std::time::Duration;

use runner::pool;
use runner::request::Limits;
use serde::{Deserialize, Serialize};

/// The tool that runs code.
pub const RUN_CODE: &str = "run_code";

/// The command of the program that makes it a worker.
pub const WORKER: &str = "code-worker";

/// How long a worker waits for more code, then it ends.
const IDLE: Duration = Duration::from_secs(60);

/// What code may take.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Whether there is the tool `run_code`.
    pub enabled: bool,
    /// How long one run may compute; after twice that and two seconds it is stopped in any case. The wait for a free worker counts towards
    /// `tools.timeout_ms` alone.
    pub time_ms: u64,
    /// Most bytes of memory that the values of one run may have.
    pub memory_bytes: u64,
    /// Most bytes that one run may print, and most bytes of its value.
    pub output_bytes: u64,
    /// Most worker processes at a time; idle ones end after a minute.
    pub workers: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { enabled: true, time_ms: 5000, memory_bytes: 64 << 20, output_bytes: 1 << 20, workers: 2 }
    }
}

impl Options {
    /// What the pool of workers is to know.
    pub fn pool(&self) -> pool::Options {
        pool::Options {
            program: pool::Options::this_program(),
            arguments: vec![WORKER.into()],
            workers: self.workers as usize,
            limits: Limits {
                time: Duration::from_millis(self.time_ms),
                memory_bytes: self.memory_bytes,
                output_bytes: self.output_bytes,
            },
            idle: IDLE,
        }
    }

    /// Says what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let Self { time_ms, memory_bytes, output_bytes, workers, .. } = self;
        let ranges = [
            ("time_ms", *time_ms, 1..=600_000),
            // An engine needs a quarter of a megabyte before it has read anything.
            ("memory_bytes", *memory_bytes, 1 << 20..=4 << 30),
            ("output_bytes", *output_bytes, 1..=64 << 20),
            ("workers", u64::from(*workers), 1..=1024),
        ];
        match ranges.iter().find(|(_, value, range)| !range.contains(value)) {
            Some((key, value, range)) => {
                Err(format!("tools.code.{key} is {value}: from {} to {}", range.start(), range.end()))
            }
            None => Ok(()),
        }
    }
}
