//! The limits of code that models write, and the start of its workers: the same program as the
//! server, by a command that is not listed. Their place, in this process's care or on another
//! machine, is in `code/workers.rs`.

use std::time::Duration;

use ::runner::pool;
use ::runner::request::Limits;
use serde::{Deserialize, Serialize};

use thinkd_words::defaults::with_defaults;

pub mod runner;
pub mod workers;

/// The tool that runs code.
pub const RUN_CODE: &str = "run_code";

/// The command of the program that makes it a worker.
pub const WORKER: &str = "code-worker";

/// The time that a worker waits for more code, then it ends.
const IDLE: Duration = Duration::from_secs(60);

with_defaults! {
    /// The limits of code.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Options {
        /// True if there is the tool `run_code`, and trials of statements may run code.
        pub enabled: bool = true,
        /// Another machine that runs the code: a table with the `url` where `thinkd replica` listens and its `token`; `ca_file` and `domain`
        /// where its certificate is not from a public authority, or has another name.
        pub replica: workers::Remote = workers::Remote::default(),
        /// True if code computes only when nothing else on the machine wants a processor. Off, it
        /// competes with the server, for machines that are never idle.
        pub background: bool = true,
    }
    fixed {
        /// The time that one run may compute; after twice that and two seconds it is stopped in any
        /// case. The wait for a free worker counts towards `tools.timeout_ms` alone.
        pub time_ms: u64 = 5000,
        /// Most bytes of memory that the values of one run may have.
        pub memory_bytes: u64 = 64 << 20,
        /// Most bytes that one run may print, and most bytes of its value.
        pub output_bytes: u64 = 1 << 20,
        /// Most worker processes at a time; idle ones end after a minute.
        pub workers: u32 = 2,
    }
}

impl Options {
    /// Returns the options of the pool of workers.
    pub fn pool(&self) -> pool::Options {
        pool(self.limits(), self.workers)
    }

    /// Returns the limits of one run.
    pub fn limits(&self) -> Limits {
        let Self {
            time_ms,
            memory_bytes,
            output_bytes,
            background,
            ..
        } = *self;
        Limits {
            time: Duration::from_millis(time_ms),
            memory_bytes,
            output_bytes,
            background,
        }
    }

    /// Checks the options. The error says the fault.
    pub fn check(&self) -> Result<(), String> {
        match self.time_ms {
            1..=600_000 => self.replica.check(),
            time_ms => Err(format!("code runs for {time_ms} ms: from 1 to 600000")),
        }
    }
}

/// A pool of workers of this program.
fn pool(limits: Limits, workers: u32) -> pool::Options {
    let program = pool::Options::this_program();
    let arguments = vec![WORKER.into()];
    pool::Options {
        program,
        arguments,
        workers: workers as usize,
        limits,
        idle: IDLE,
    }
}
