//! The test kit: a scripted model server, the real program on a database of its own, clients for its
//! socket and its HTTP.
//! Helpers wait for events, never for time to pass, and give up after `PATIENCE` with a sentence
//! that names the awaited event.
#![allow(
    missing_docs,
    clippy::new_without_default,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests say what is wrong by panicking, helpers included, and print what helps"
)]

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;

pub mod answer;
pub mod app;
pub mod claims;
pub mod cluster;
pub mod command;
pub mod db;
pub mod door;
pub mod envelope;
pub mod facts;
pub mod faults;
pub mod followers;
pub mod generated;
pub mod hello;
pub mod http;
pub mod imports;
pub mod issuer;
pub mod media;
pub mod oracle;
pub mod planted;
pub mod planted_frameworks;
pub mod planted_missions;
pub mod pooler;
pub mod prefix;
pub mod schema;
pub mod socket;
pub mod store_faults;
pub mod stored;
pub mod stub;
pub mod tool_server;
pub mod views;
pub mod waiting;
pub mod watchdog;
pub mod worlds;
pub mod written;

pub use answer::{Answer, Gate, call, call_raw, raw, raw_parts, reply, status, text};
pub use app::{App, Setup};
pub use cluster::{Cluster, Relay};
pub use db::Medium;
pub use followers::Followers;
pub use http::Reply;
pub use issuer::{Issuer, Manner, Signer};
pub use socket::Socket;
pub use stub::{Entry, Fate, Request, Stub, any, at, decision, voice};
pub use tool_server::{Does, Then, ToolServer, tool, words};
pub use waiting::{polled, polled_some};

/// The root of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns the path of the program that is tested: `target/debug/thinkd`, beside this process.
///
/// Panics if one of its sources is newer: a test would show an earlier program.
pub fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        let here = std::env::current_exe().unwrap();
        let path = here.ancestors().nth(2).unwrap().join("thinkd");
        let newer = newer_sources(&path);
        assert!(
            newer.is_empty(),
            "{} is older than {newer:?}: build it with `cargo test --workspace --no-run`",
            path.display()
        );
        path.to_str().unwrap().to_owned()
    });
    &PROGRAM
}

/// Returns the sources that changed after a program was built, from the list that cargo leaves beside it.
fn newer_sources(program: &Path) -> Vec<PathBuf> {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified());
    let built = changed(program).unwrap_or_else(|error| {
        panic!(
            "no program at {} ({error}): `cargo test --workspace --no-run`",
            program.display()
        )
    });
    let list = std::fs::read_to_string(program.with_extension("d")).unwrap_or_default();
    let (_, sources) = list.split_once(": ").unwrap_or_default();
    let sources = sources.split_whitespace().map(PathBuf::from);
    sources
        .filter(|source| changed(source).is_ok_and(|at| at > built))
        .collect()
}

/// The longest time that anything may take before a test calls it missing. It is long: the machine
/// may be busy. Nothing that passes waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the future's value, or panics with the name of the value that did not come.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come within {PATIENCE:?}"),
    }
}

/// Milliseconds, shortly.
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Returns whether an event has the tag.
pub fn has(event: &Value, tag: &str) -> bool {
    event["meta"]["tags"]
        .as_array()
        .is_some_and(|tags| tags.iter().any(|t| t == tag))
}

/// An event's tags.
pub fn tags(event: &Value) -> Vec<&str> {
    event["meta"]["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// An event's position.
pub fn seq(event: &Value) -> i64 {
    event["seq"]
        .as_i64()
        .unwrap_or_else(|| panic!("no seq: {event}"))
}

/// Returns the text of an event; empty without one.
pub fn said(event: &Value) -> &str {
    event["payload"]["text"].as_str().unwrap_or_default()
}

/// The events with all of the tags, in order.
pub fn with<'a>(events: &'a [Value], wanted: &[&str]) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| wanted.iter().all(|tag| has(event, tag)))
        .collect()
}

/// The only event with all of the tags.
#[track_caller]
pub fn one<'a>(events: &'a [Value], wanted: &[&str]) -> &'a Value {
    match with(events, wanted)[..] {
        [event] => event,
        ref found => panic!(
            "{} events are tagged {wanted:?}, not one:\n{}",
            found.len(),
            story(events)
        ),
    }
}

/// Asserts that there is exactly one event for each set of tags, and that they come in this order.
#[track_caller]
pub fn in_order(events: &[Value], steps: &[&[&str]]) {
    let found: Vec<i64> = steps.iter().map(|tags| seq(one(events, tags))).collect();
    assert!(
        found.is_sorted(),
        "{steps:?} are at {found:?}:\n{}",
        story(events)
    );
}

/// The log as lines a person can read: position, thread, source, tags, text.
pub fn story(events: &[Value]) -> String {
    let line = |event: &Value| {
        let thread = event["thread"].as_str().unwrap_or("?");
        let source = event["source"].as_str().unwrap_or("?");
        format!(
            "{:>5} {thread} {source} [{}] {}\n",
            event["seq"],
            tags(event).join(" "),
            said(event)
        )
    };
    events.iter().map(line).collect()
}

/// Two tests, one a database: `on_both!(d4_37_what_is_promised, |medium| { …async code with `medium: Medium`… });`
/// makes `d4_37_what_is_promised::sqlite` and `…::postgres`. For the store, turns, crashes, forks and requests.
#[macro_export]
macro_rules! on_both {
    ($name:ident, |$medium:ident| $body:block) => {
        $crate::on_both!([], $name, |$medium| $body);
    };
    ([$(#[$by_night:meta])?], $name:ident, |$medium:ident| $body:block) => {
        mod $name {
            #[allow(unused_imports, reason = "whatever the file uses")]
            use super::*;

            async fn run($medium: $crate::Medium) $body

            #[tokio::test]
            async fn sqlite() {
                run($crate::Medium::sqlite()).await;
            }

            #[tokio::test]
            $(#[$by_night])?
            async fn postgres() {
                if let Some(medium) = $crate::Medium::migrated().await {
                    run(medium).await;
                }
            }
        }
    };
}

/// The same two tests of logic that asks little of a store; the one on Postgres runs by `.ci/run --all` alone.
#[macro_export]
macro_rules! on_sqlite {
    ($name:ident, |$medium:ident| $body:block) => {
        $crate::on_both!([#[ignore = "by .ci/run --all"]], $name, |$medium| $body);
    };
}
