//! The cage itself, without an engine inside: a process that has entered it tries directly the acts
//! that code might reach by a hole in the engine. The process is this test binary, started once
//! more.

use std::fs::File;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};
use std::time::Duration;

use runner::cage;
use runner::request::Limits;

use super::{runs, workers};
use kit::db::Folder;
use kit::*;

const NAME: &str = "code::cage::a_process_that_tries";

/// The error of a system call that the filter does not know.
const SIGSYS: i32 = 31;

const ATTEMPTS: [&str; 10] = [
    "read a file",
    "write a file",
    "look at the parent",
    "connect",
    "listen",
    "send",
    "unix",
    "start a process",
    "start a thread",
    "take another name",
];

/// Passes when it is run as a test; tries one thing when it is started for that.
#[test]
fn a_process_that_tries() {
    let Ok(attempt) = std::env::var("TRY") else {
        return;
    };
    let path = std::env::var("AT").unwrap();
    let limits = Limits {
        time: Duration::from_secs(1),
        memory_bytes: 16 << 20,
        output_bytes: 1 << 16,
        background: true,
    };
    if std::env::var_os("CAGED").is_some() {
        let kept = cage::enter(&limits);
        assert!(kept.is_empty(), "kept {kept:?}");
    }
    let came = match attempt.as_str() {
        "read a file" => File::open(&path).map(drop),
        "write a file" => std::fs::write(format!("{path}.new"), "x"),
        "look at the parent" => File::open(format!(
            "/proc/{}/environ",
            std::os::unix::process::parent_id()
        ))
        .map(drop),
        "connect" => TcpStream::connect(&path).map(drop),
        "listen" => TcpListener::bind("127.0.0.1:0").map(drop),
        "send" => UdpSocket::bind("127.0.0.1:0").map(drop),
        "unix" => UnixStream::pair().map(drop),
        "start a process" => Command::new("true").status().map(drop),
        "start a thread" => std::thread::Builder::new().spawn(|| ()).map(drop),
        "take memory" => Vec::<u8>::new()
            .try_reserve(512 << 20)
            .map_err(std::io::Error::other),
        // What the program's allocator does with memory that it maps, on one of many runs.
        "name memory" => {
            rustix::process::set_virtual_memory_region_name(&[], Some(c"mine")).or_else(|error| {
                match error {
                    rustix::io::Errno::INVAL => Ok(()), // a kernel without such names
                    error => Err(error.into()),
                }
            })
        }
        "take another name" => rustix::thread::set_name(c"other").map_err(Into::into),
        "compute" => {
            assert_eq!((0..1000_u64).sum::<u64>(), 499_500);
            Ok(())
        }
        other => panic!("nobody knows how to {other}"),
    };
    match came {
        Ok(()) => println!("it worked"),
        Err(error) => println!("refused: {error}"),
    }
}

fn tries(attempt: &str, at: &str, caged: bool) -> (Option<i32>, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([NAME, "--exact", "--nocapture", "--test-threads=1"])
        .env_clear()
        .env("TRY", attempt)
        .env("AT", at);
    if caged {
        command.env("CAGED", "1");
    }
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.signal(), said)
}

#[test]
fn whoever_is_in_the_cage_gets_at_no_file_socket_process_or_memory() {
    let folder = Folder::new();
    let file = folder.path().join("secret");
    std::fs::write(&file, "secret").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    for attempt in ATTEMPTS {
        let at = if attempt == "connect" {
            address.as_str()
        } else {
            file.to_str().unwrap()
        };
        let (signal, said) = tries(attempt, at, true);
        assert!(
            signal == Some(SIGSYS) && !said.contains("it worked"),
            "{attempt}: {signal:?} {said}"
        );
        let (signal, said) = tries(attempt, at, false);
        assert!(
            signal.is_none() && said.contains("it worked"),
            "the control: {attempt}: {signal:?} {said}"
        );
    }
    assert!(tries("take memory", "", true).1.contains("refused"));
    assert!(
        tries("take memory", "", false).1.contains("it worked"),
        "the control"
    );
    for harmless in ["compute", "name memory"] {
        let (signal, said) = tries(harmless, "", true);
        assert!(
            signal.is_none() && said.contains("it worked"),
            "{harmless}: {signal:?} {said}"
        );
    }
}

/// The capabilities of a process, by name: `CapBnd` and its like.
fn capabilities(process: &str) -> Vec<(String, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let lines = status.lines().filter_map(|line| line.split_once(":\t"));
    let all: Vec<(String, u64)> = lines
        .filter(|(name, _)| name.starts_with("Cap"))
        .map(|(name, set)| (name.to_owned(), u64::from_str_radix(set, 16).unwrap()))
        .collect();
    assert_eq!(all.len(), 5, "{status}");
    all
}

// Behind the filter of system calls a second wall: a worker of root's server may do nothing that root may.
#[tokio::test]
async fn a_worker_has_no_capability_and_can_get_none() {
    let stub = Stub::start().await;
    stub.script(decision, [runs("1 + 1"), reply("2.")]);
    let app = App::start(Medium::sqlite(), &stub).await;
    assert_eq!(said(&app.tell("add").await[0]), "2.");
    let [pid] = workers(app.pid())[..] else {
        panic!("no worker is left");
    };
    // Who starts without any cannot take any from what could be had by starting a program, and starts none.
    let has_some = capabilities("self")
        .iter()
        .any(|(name, set)| name == "CapPrm" && *set != 0);
    for (name, set) in capabilities(&pid.to_string()) {
        assert!(
            set == 0 || (name == "CapBnd" && !has_some),
            "{name}: {set:x}"
        );
    }
}
