//! The launcher: a small process between the server and a program of tools, the same binary once more. It sees the server end, however that
//! ends, and then ends the program with all that it started; orphans of the program are its own, and it reaps them.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};
use tokio::runtime::{self, Runtime};
use tokio::signal::unix::{SignalKind, signal};

/// The hidden command of the server's binary that is the launcher.
pub const LAUNCHER: &str = "tool-launcher";
/// The exit code of a launcher that found no such program, as shells have it.
pub const NOT_FOUND: u8 = 127;
/// The exit code of a launcher that may not run the program, likewise.
pub const NOT_RUN: u8 = 126;
/// The exit code of a program that a signal ended, less its number, likewise.
const SIGNALLED: i32 = 128;
/// The pause between two looks for processes that are left.
const PAUSE: Duration = Duration::from_millis(10);

/// Runs a program with the standard input and output of this process, until it ends or the server does. Its exit code is the program's.
///
/// The lifeline is standard error: the server holds its other end for as long as it wants the program.
pub fn main(program: &OsString, arguments: &[OsString]) -> ExitCode {
    confine();
    // Held to the end: what a signal to all of a group, or a program, would end is what ends the program.
    let _caught = catch_signals();
    let started = Command::new(program).args(arguments).spawn();
    let leader = match started {
        Ok(child) => Pid::from_child(&child),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return NOT_FOUND.into(),
        Err(_) => return NOT_RUN.into(),
    };
    // Only the program holds them: where it closes one, the server sees that.
    let _ = let_go();
    thread::spawn(move || {
        server_ended();
        let _ = kill_process(leader, Signal::KILL);
    });
    let status = ended(leader);
    end_all();
    as_status(status)
}

/// Signals that would end this process, and end nothing: the program has its own, and gets them as if there were no launcher.
const CAUGHT: [Signal; 10] = [
    Signal::TERM,
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::ABORT,
    Signal::XCPU,
    Signal::TSTP,
];

/// Catches those signals while the returned value is held. Caught signals, unlike ignored ones, are
/// not handed down to the program.
fn catch_signals() -> io::Result<(Runtime, Vec<tokio::signal::unix::Signal>)> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let entered = runtime.enter();
    let signals = CAUGHT
        .into_iter()
        .filter_map(|kind| signal(SignalKind::from_raw(kind.as_raw())).ok());
    let signals = signals.collect();
    drop(entered);
    Ok((runtime, signals))
}

/// Gives up the capabilities that the program is not to inherit, and takes its orphans.
#[cfg(target_os = "linux")]
fn confine() {
    // A kernel that does not let one of these go leaves the program as it would be without a launcher.
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
    let _ = runner::cage::give_up_capabilities();
}

#[cfg(not(target_os = "linux"))]
fn confine() {}

fn let_go() -> io::Result<()> {
    let nothing = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok(())
}

/// Returns when no process holds the other end of standard error any more.
fn server_ended() {
    let stderr = rustix::stdio::stderr();
    loop {
        let mut end = [PollFd::new(&stderr, PollFlags::empty())];
        match poll(&mut end, None) {
            Ok(_) if end[0].revents().is_empty() => {}
            Ok(_) => return,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Waits for the program, and reaps its orphans meanwhile.
fn ended(leader: Pid) -> ExitStatus {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == leader => {
                return ExitStatus::from_raw(status.as_raw());
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return ExitStatus::default(),
        }
    }
}

/// Kills all processes that are left. Children of a killed process become children of this one,
/// until there are none.
fn end_all() {
    loop {
        for child in children() {
            let _ = kill_process(child, Signal::KILL);
        }
        match wait(WaitOptions::NOHANG) {
            Ok(None) => thread::sleep(PAUSE),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Returns the children of this process; elsewhere than on Linux none.
fn children() -> Vec<Pid> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let of_task = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    of_task
        .flat_map(|text| {
            let pids = text.split_whitespace().map(str::parse::<i32>);
            pids.filter_map(|pid| Pid::from_raw(pid.ok()?))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Ends this process as the program ended: by the same signal, where it was one.
fn as_status(status: ExitStatus) -> ExitCode {
    // One that is caught here has its code instead.
    let signal = status.signal().and_then(Signal::from_named_raw);
    if let Some(signal) = signal.filter(|it| !CAUGHT.contains(it)) {
        let _ = kill_process(getpid(), signal);
        thread::sleep(PAUSE);
    }
    let code = status
        .code()
        .or(status.signal().map(|signal| SIGNALLED + signal));
    let code = code.and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
