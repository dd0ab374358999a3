//! Helpers of all benches: arguments, medians, the CPU and memory of a process.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

/// The arguments of the command line.
pub struct Arguments {
    /// Only these parts; none: all.
    pub parts: Vec<String>,
    /// Rounds of every comparison.
    pub rounds: usize,
    /// Of the turns only those cases: `b-64-0` is shape b, 64 conversations, 0 ms.
    pub case: Option<String>,
    /// Seconds of a measured block.
    pub secs: f64,
    /// Events of the largest log.
    pub events: usize,
    /// Turns over which memory should stay flat.
    pub turns: usize,
    /// Threads that sleep.
    pub threads: usize,
    /// Claims of a planted world.
    pub claims: usize,
    /// Planted worlds.
    pub seeds: u64,
}

impl Arguments {
    pub fn read() -> Self {
        let all: Vec<String> = std::env::args().skip(1).collect();
        let value = |name: &str| {
            let at = all.iter().position(|argument| argument == name);
            at.and_then(|at| all.get(at + 1))
        };
        let number = |name: &str, default: f64| {
            value(name).map_or(default, |text| text.parse().expect("a number"))
        };
        let is_value =
            |at: usize| at > 0 && all[at - 1].starts_with("--") && all[at - 1] != "--bench";
        let parts = (0..all.len()).filter(|at| !all[*at].starts_with("--") && !is_value(*at));
        Self {
            case: value("--case").cloned(),
            rounds: number("--rounds", 5.0) as usize,
            secs: number("--secs", 2.0),
            events: number("--events", 1_000_000.0) as usize,
            turns: number("--turns", 10_000.0) as usize,
            threads: number("--threads", 100_000.0) as usize,
            claims: number("--claims", 5000.0) as usize,
            seeds: number("--seeds", 7.0) as u64,
            parts: parts.map(|at| all[at].clone()).collect(),
        }
    }
}

/// A client's runtime: one thread, as a client has.
pub fn client() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// The middle one; NaN of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    at(&mut Vec::from_iter(values), 0.5)
}

/// The value below which a share of all lies.
pub fn at(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n => values[((n - 1) as f64 * share).round() as usize],
    }
}

/// Milliseconds.
pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Milliseconds since then.
pub fn since(begin: Instant) -> f64 {
    ms(begin.elapsed())
}

/// Use of the machine by a process, from /proc.
#[derive(Clone, Copy)]
pub struct Usage {
    /// Milliseconds on a processor, in steps of ten.
    pub cpu_ms: f64,
    /// Resident memory.
    pub kib: f64,
    /// Open descriptors.
    pub descriptors: usize,
}

impl Usage {
    pub fn of(pid: u32) -> Self {
        let read =
            |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let stat = read("stat");
        let status = read("status");
        // Behind the name, which may have spaces: state, …, utime and stime in hundredths of a second.
        let ticks: f64 = stat.rsplit(')').next().map_or(0.0, |rest| {
            rest.split_whitespace()
                .skip(11)
                .take(2)
                .filter_map(|n| n.parse::<f64>().ok())
                .sum()
        });
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap_or_default();
        let kib = resident
            .split_whitespace()
            .next()
            .and_then(|n| n.parse().ok())
            .unwrap_or(0.0);
        let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        Self {
            cpu_ms: ticks * 10.0,
            kib,
            descriptors,
        }
    }

    /// Returns the computing time of its threads, in microseconds: finer than `cpu_ms`, and without
    /// those that have ended.
    pub fn computed_us(pid: u32) -> f64 {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
            .unwrap()
            .flatten();
        let of = |path: std::path::PathBuf| -> Option<f64> {
            let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok()
        };
        tasks.filter_map(|task| of(task.path())).sum::<f64>() / 1000.0
    }

    /// When the process has nothing left to do (a search index that trails belongs to the work, too); waits 10 s at most.
    pub async fn quiet(pid: u32) -> Self {
        let begin = Instant::now();
        let mut last = Self::of(pid);
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = Self::of(pid);
            if now.cpu_ms - last.cpu_ms < 10.0 || begin.elapsed() > Duration::from_secs(10) {
                return now;
            }
            last = now;
        }
    }
}
