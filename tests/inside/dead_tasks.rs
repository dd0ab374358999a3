//! A task in the background that dies ends its server, with its name: without it the server would only look alive. The server here is
//! this test binary, started once more, with a log that panics where it is told to: so any task can be made to.

use std::fmt::{Debug, Write};

use serde_json::json;
use thinkd::pipelines::registry;
use thinkd::program::app;
use thinkd::program::settings::{Flags, Settings, environment};
use thinkd::tools::catalogue;
use tracing::field::{Field, Visit};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use kit::store_faults::{can_fail, fail};
use kit::*;

const NAME: &str = "dead_tasks::a_server_whose_tasks_can_be_made_to_panic";
const PANICS_ON: &str = "THINKD_TEST_PANICS_ON";

/// Panics when something is logged that says this.
struct Panics(String);

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}

impl<S: tracing::Subscriber> Layer<S> for Panics {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        assert!(!message.0.contains(&self.0), "as it was told to");
    }
}

/// Passes when it is run as a test; is a server when it is started as one.
#[test]
fn a_server_whose_tasks_can_be_made_to_panic() {
    let Ok(message) = std::env::var(PANICS_ON) else {
        return;
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    tracing_subscriber::registry()
        .with(LevelFilter::WARN)
        .with(Panics(message))
        .init();
    let settings = Settings::load(&Flags::default(), &environment())
        .unwrap()
        .settings;
    if let Err(error) = app::serve(&settings, registry::built_in(), &catalogue::built_in()) {
        eprintln!("it ended: {error:#}");
        std::process::exit(1);
    }
}

/// The server ends, and says that it is for this task.
async fn dies(medium: Medium, panics_on: &str, task: &str) {
    let stub = Stub::start().await;
    stub.on(
        |r| r.is_decision() && r.says("for ever"),
        reply("never").never(),
    );
    let mut app = Setup::new(medium, &stub)
        .env(PANICS_ON, panics_on)
        .env("THINKD_TEST_RUNTIME__LEASE_MS", 900)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 200)
        .program(std::env::current_exe().unwrap())
        .arguments(&[NAME, "--exact", "--nocapture"])
        .start()
        .await;
    let mut socket = app.socket().await;
    assert_eq!(
        said(&socket.chat("hello").await),
        "ok: hello",
        "control: nothing has died"
    );
    socket.say_in("busy", "for ever").await;
    stub.request(|r| r.is_decision() && r.says("for ever"))
        .await;
    println!("making {task} panic");
    fail(&app).await;
    // Whatever comes of it.
    let post = app
        .request("POST", "/threads/main/messages")
        .json(&json!({ "text": "now" }));
    let _ = post.send().await;
    assert_eq!(app.ended().await.code(), Some(1), "{task}");
    app.until_says(&format!("{task} panicked: as it was told to"))
        .await;
}

#[tokio::test]
async fn d4_57_the_first_task_that_dies_ends_the_server_with_its_name() {
    let logs = [
        (
            "could not look for waiting threads",
            "the search for threads that wait",
        ),
        ("leases could not be renewed", "the renewal of leases"),
        ("timers that are due could not be looked for", "the timers"),
        (
            "not listening to other servers",
            "listening to other servers",
        ),
        (
            "what followers were not told of cannot be read",
            "telling followers what they missed",
        ),
    ];
    for (panics_on, task) in logs {
        let Some(medium) = Medium::postgres().await else {
            return;
        };
        dies(medium, panics_on, task).await;
    }
}

// Where the disk is full threads can still be read, so that something comes to the writer.
#[tokio::test]
async fn d4_57_a_writer_that_dies_ends_the_server_with_its_name() {
    let medium = Medium::sqlite();
    if can_fail(&medium) {
        dies(medium, "appends failed", "the writer of the log").await;
    }
}
