//! The server's side: a pool of worker processes. They are started on demand and end when idle; one
//! that was killed, broke or was stopped in the middle is replaced by a fresh one.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use crate::frame::{self, FromWorker, REQUEST_MAX, ToWorker};
use crate::request::{Answer, Error, Language, Limits, Reason, Request, Thrown};

/// Time limit for the start of a worker.
const START: Duration = Duration::from_secs(10);

/// Time beyond twice the limit of a run, by the clock on the wall; then its worker is killed, whether it does not look at its own
/// clock or the machine is too busy to let it compute.
const GRACE: Duration = Duration::from_secs(2);

/// Options of a pool.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program that is a worker when it is started with `arguments`.
    pub program: PathBuf,
    /// Arguments that make it a worker.
    pub arguments: Vec<OsString>,
    /// Most workers at a time.
    pub workers: usize,
    /// Limits of each run.
    pub limits: Limits,
    /// Idle time of a worker before it ends.
    pub idle: Duration,
}

impl Options {
    /// The program that runs, also after its file was replaced by another version: that would be another worker.
    pub fn this_program() -> PathBuf {
        let own = PathBuf::from("/proc/self/exe");
        if own.exists() {
            own
        } else {
            std::env::current_exe().unwrap_or(own)
        }
    }
}

/// A pool of workers; cheap to clone.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    options: Options,
    places: Semaphore,
    // A plain mutex: held for a look, never across an await.
    idle: Mutex<Vec<Idle>>,
    is_swept: AtomicBool,
    is_warned: AtomicBool,
}

/// A worker that waits, for whom it worked last, and since when.
struct Idle {
    worker: Worker,
    tenant: String,
    since: Instant,
}

impl Pool {
    /// Makes one; no worker is started yet.
    pub fn new(options: Options) -> Self {
        let places = Semaphore::new(options.workers.max(1));
        Self(Arc::new(Inner {
            options,
            places,
            idle: Mutex::default(),
            is_swept: AtomicBool::default(),
            is_warned: AtomicBool::default(),
        }))
    }

    /// Runs it as soon as a worker is free. A worker is used again only for the same tenant, and only after runs that ended by themselves.
    ///
    /// # Errors
    /// Where the run was stopped, or no worker can be started.
    pub async fn run(&self, tenant: &str, request: Request) -> Result<Answer, Error> {
        let Ok(_place) = self.0.places.acquire().await else {
            return Err(Error::Unavailable("the pool is closed".to_owned()));
        };
        let mut worker = self.worker(tenant).await?;
        let answer = worker.run(request, &self.0.options.limits).await?;
        self.keep(Idle {
            worker,
            tenant: tenant.to_owned(),
            since: Instant::now(),
        });
        Ok(answer)
    }

    /// Starts a worker and returns the rights that the kernel did not let it give up.
    ///
    /// # Errors
    /// Where none can be started.
    pub async fn probe(&self) -> Result<Vec<String>, Error> {
        Worker::start(&self.0.options).await.map(|(_, kept)| kept)
    }

    /// Returns the number of idle workers.
    pub fn idle(&self) -> usize {
        self.0.lock().len()
    }

    /// One that waits and is well, or a fresh one.
    async fn worker(&self, tenant: &str) -> Result<Worker, Error> {
        while let Some(mut worker) = self.0.take(tenant) {
            if worker.is_ready().await.is_ok() {
                return Ok(worker);
            }
        }
        let (worker, kept) = Worker::start(&self.0.options).await?;
        if !kept.is_empty() && !self.0.is_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                kept = kept.join(", "),
                "code runs with less protection than there is elsewhere"
            );
        }
        Ok(worker)
    }

    fn keep(&self, idle: Idle) {
        self.0.lock().push(idle);
        if !self.0.is_swept.swap(true, Ordering::AcqRel) {
            tokio::spawn(sweep(Arc::clone(&self.0)));
        }
    }
}

/// Ends idle workers, as long as there are any.
async fn sweep(pool: Arc<Inner>) {
    loop {
        sleep(pool.options.idle).await;
        let mut idle = pool.lock();
        idle.retain(|idle| idle.since.elapsed() < pool.options.idle);
        if idle.is_empty() {
            // Under the lock: who keeps one after this starts another sweep.
            pool.is_swept.store(false, Ordering::Release);
            return;
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one that worked for the tenant last. Those of others make room where there would be too many.
    fn take(&self, tenant: &str) -> Option<Worker> {
        let mut idle = self.lock();
        if let Some(at) = idle.iter().rposition(|idle| idle.tenant == tenant) {
            return Some(idle.remove(at).worker);
        }
        // The caller's place is taken already.
        let most = self.places.available_permits();
        let too_many = idle.len().saturating_sub(most);
        idle.drain(..too_many);
        None
    }
}

/// A worker process; dropping it kills it.
struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Worker {
    async fn start(options: &Options) -> Result<(Self, Vec<String>), Error> {
        let started = timeout(START, Self::started(options)).await;
        let unavailable = |error: io::Error| Error::Unavailable(error.to_string());
        started
            .unwrap_or_else(|_| Err(io::Error::other("it did not start in time")))
            .map_err(unavailable)
    }

    async fn started(options: &Options) -> io::Result<(Self, Vec<String>)> {
        let mut command = Command::new(&options.program);
        // Where the server runs, and by which clock it lives, is not for the code to know.
        command
            .args(&options.arguments)
            .env_clear()
            .env("TZ", "UTC0")
            .current_dir("/")
            .kill_on_drop(true);
        // Where the program's allocator is mimalloc: what it sets aside at the start would count as mapped, and escape the limit of memory.
        command.env("MIMALLOC_ARENA_RESERVE", "4MiB");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        #[cfg(unix)]
        // Its own group: what a terminal sends to the server is the server's to pass on.
        command.arg0("thinkd: code").process_group(0);
        // Starting a process copies what the server has mapped, some milliseconds in which no other task may have to wait.
        let mut child = spawn_blocking(move || command.spawn())
            .await
            .map_err(io::Error::other)??;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a worker without pipes"));
        };
        let mut worker = Self {
            child,
            input,
            output,
        };
        frame::send(&mut worker.input, &ToWorker::Limits(options.limits)).await?;
        let kept = worker.is_ready().await?;
        Ok((worker, kept))
    }

    /// Waits until it can take a request. Where it cannot, no request was lost.
    async fn is_ready(&mut self) -> io::Result<Vec<String>> {
        match timeout(START, frame::receive(&mut self.output, 64 << 10)).await?? {
            FromWorker::Ready { kept } => Ok(kept),
            _ => Err(io::Error::other("a worker that answers nobody")),
        }
    }

    async fn run(&mut self, request: Request, limits: &Limits) -> Result<Answer, Error> {
        let input = request.input.to_string().len();
        if request.code.len().saturating_add(input) > REQUEST_MAX / 2 {
            return Ok(Answer {
                outcome: Err(thrown("the code and its input are too long")),
                printed: String::new(),
            });
        }
        let until = limits.time.saturating_mul(2).saturating_add(GRACE);
        let language = request.language;
        match timeout(until, self.exchange(request, limits)).await {
            Ok(Ok(answer)) => answered(answer),
            Ok(Err(error)) => Err(self.fallen(&error, language, limits).await),
            Err(_) => {
                let detail = format!("it did not end within {} ms", until.as_millis());
                Err(stopped(Reason::Time, detail))
            }
        }
    }

    async fn exchange(&mut self, request: Request, limits: &Limits) -> io::Result<FromWorker> {
        frame::send(&mut self.input, &ToWorker::Run(request)).await?;
        // What is printed and the value, each character escaped.
        let most = usize::try_from(limits.output_bytes)
            .unwrap_or(usize::MAX)
            .saturating_mul(14)
            .saturating_add(64 << 10);
        frame::receive(&mut self.output, most).await
    }

    /// Returns the outcome of a worker that gave no answer.
    async fn fallen(&mut self, error: &io::Error, language: Language, limits: &Limits) -> Error {
        let status = match timeout(GRACE, self.child.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            // It lives, and wrote what is no answer.
            _ => error.to_string(),
        };
        let signal = self.child.try_wait().ok().flatten().and_then(signal_of);
        let (reason, detail) = match signal {
            // Nobody here sent it: the kernel does where memory ends.
            Some(KILL) => (Reason::Memory, "the machine has no memory left".to_owned()),
            // Rust ends a process that way to which the kernel gives no memory any more.
            Some(ABORT) if language == Language::Python => (
                Reason::Memory,
                format!(
                    "it wanted more than about {} bytes of memory",
                    limits.memory_bytes
                ),
            ),
            Some(COMPUTED_TOO_LONG) => (Reason::Time, "it computed for too long".to_owned()),
            _ => (Reason::Crash, format!("its worker broke: {status}")),
        };
        stopped(reason, detail)
    }
}

/// SIGABRT, SIGKILL and SIGXCPU, wherever this runs.
const ABORT: i32 = 6;
const KILL: i32 = 9;
const COMPUTED_TOO_LONG: i32 = 24;

fn signal_of(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    return None;
}

fn answered(answer: FromWorker) -> Result<Answer, Error> {
    match answer {
        FromWorker::Ended { outcome, printed } => {
            let unreadable =
                |error| thrown(&format!("the value cannot be handed on as JSON: {error}"));
            let value = |text: String| serde_json::from_str(&text).map_err(unreadable);
            Ok(Answer {
                outcome: outcome.and_then(value),
                printed,
            })
        }
        FromWorker::Stopped {
            reason,
            detail,
            printed,
        } => Err(Error::Stopped {
            reason,
            detail,
            printed,
        }),
        FromWorker::Ready { .. } => Err(stopped(
            Reason::Crash,
            "its worker said nothing of it".to_owned(),
        )),
    }
}

/// Returns the error of a stopped run; its output is not known.
fn stopped(reason: Reason, detail: String) -> Error {
    Error::Stopped {
        reason,
        detail,
        printed: String::new(),
    }
}

fn thrown(message: &str) -> Thrown {
    Thrown::new(message, None)
}
