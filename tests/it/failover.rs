//! A database that moves, is read-only for a while, or falls silent: messages are taken again within
//! ten seconds, nothing acknowledged is lost, followers miss nothing, and the server ends when told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use kit::*;

/// The time within which messages are taken again.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);

/// A client that says one thing after the other, each as often as it takes.
pub(crate) struct Load {
    client: JoinHandle<Vec<Said>>,
    is_over: Arc<AtomicBool>,
    so_far: watch::Receiver<SoFar>,
}

/// The outcomes of a load so far.
#[derive(Clone, Copy, Default)]
struct SoFar {
    said: usize,
    refused: usize,
}

/// A message that was acknowledged.
pub(crate) struct Said {
    pub id: String,
    at: Instant,
    refusals: usize,
}

impl Load {
    pub fn start(app: &App, thread: &str) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (counts, so_far) = watch::channel(SoFar::default());
        let over = is_over.clone();
        let url = app.url(&format!("/threads/{thread}/messages"));
        let client = tokio::spawn(async move {
            let client = reqwest::Client::new();
            let mut all = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let id = thinkd_words::id::fresh().to_string();
                let body = json!({ "text": format!("message {id}"), "event_id": id });
                let mut refusals = 0;
                loop {
                    let sent = client.post(&url).json(&body).send().await.unwrap();
                    if sent.status() == 202 {
                        break;
                    }
                    assert_eq!(sent.status(), 503, "{:?}", sent.text().await);
                    refusals += 1;
                    counts.send_modify(|so_far| so_far.refused += 1);
                    // The pace of a client that tries again.
                    tokio::time::sleep(ms(50)).await;
                }
                let at = Instant::now();
                all.push(Said { id, at, refusals });
                counts.send_modify(|so_far| so_far.said += 1);
                // The pace of the load: turns answer it meanwhile.
                tokio::time::sleep(ms(20)).await;
            }
            all
        });
        Self {
            client,
            is_over,
            so_far,
        }
    }

    async fn until(&self, what: &str, is_so: impl Fn(SoFar, SoFar) -> bool) {
        let mut so_far = self.so_far.clone();
        let now = *so_far.borrow();
        let came = so_far.wait_for(|so_far| is_so(*so_far, now));
        within(what, came).await.map(drop).unwrap();
    }

    /// Waits until so many more were said.
    pub async fn has_said(&self, more: usize) {
        let is_so = |so_far: SoFar, now: SoFar| so_far.said >= now.said + more;
        self.until("messages that are taken", is_so).await;
    }

    /// Waits until so many more were refused.
    async fn is_refused(&self, more: usize) {
        let is_so = |so_far: SoFar, now: SoFar| so_far.refused >= now.refused + more;
        self.until("messages that are refused", is_so).await;
    }

    pub async fn end(self) -> Vec<Said> {
        self.is_over.store(true, Ordering::Relaxed);
        within("the last message of the load", self.client)
            .await
            .unwrap()
    }
}

/// Starts a server on this address, and something is said.
async fn server(url: String, stub: &Stub) -> App {
    let app = Setup::new(Medium::of(url), stub).start().await;
    assert_eq!(said(&app.tell("hello").await[0]), "ok: hello");
    app
}

/// Asserts that each acknowledged message is in the log once, and that messages were taken again in
/// time.
async fn is_whole(app: &App, loads: Vec<Vec<Said>>, since: Instant) {
    let log = app.public_log().await;
    for all in &loads {
        for said in all {
            let is_it = |event: &&Value| event["event_id"] == said.id.as_str();
            assert_eq!(log.iter().filter(is_it).count(), 1, "{} is lost", said.id);
        }
        let again = all.iter().find(|said| said.at > since).unwrap();
        let taken = again.at - since;
        println!(
            "taken again after {taken:?}, {} messages, none lost",
            all.len()
        );
        assert!(taken < TAKEN_WITHIN, "taken again after {taken:?}");
    }
    let refused: usize = loads.iter().flatten().map(|said| said.refusals).sum();
    assert!(refused > 0, "the control: nothing was refused");
    envelope::check_log(&app.log().await);
}

// A failover: the former primary lives on, and only reads.
#[tokio::test]
async fn a_database_that_moved_is_written_again_and_nothing_is_lost_or_missed() {
    let Some(former) = Cluster::start().await else {
        return;
    };
    let standby = former.standby().await;
    let stub = Stub::start().await;
    let relay = Relay::to(&former);
    let app = server(relay.url(), &stub).await;
    let beside = server(relay.url(), &stub).await;
    let mut followers = Followers::start(&app).await;
    let mut others = Followers::start(&beside).await;
    let loads = [Load::start(&app, "main"), Load::start(&beside, "main")];
    for load in &loads {
        load.has_said(5).await;
    }
    former.sets("default_transaction_read_only = on").await;
    for load in &loads {
        load.is_refused(5).await;
    }
    standby.promote().await;
    relay.leads_to(&standby);
    let since = Instant::now();
    for load in &loads {
        load.has_said(20).await;
    }
    let mut taken = Vec::new();
    for load in loads {
        taken.push(load.end().await);
    }
    is_whole(&app, taken, since).await;
    followers.have_seen_all(&app).await;
    others.have_seen_all(&app).await;
    assert_eq!(app.get("/readyz").await.status, 200);
    assert_eq!(said(&beside.tell("after it").await[0]), "ok: after it");
    // What is said at one is heard at the other at once: both listen to the new one.
    let mut socket = beside.socket().await;
    let begun = Instant::now();
    app.say_in("main", "to the other").await;
    socket
        .event("the message", |event| said_text(event) == "to the other")
        .await;
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
}

// A standby that lagged: what was acknowledged last is not there. No server goes on with what it
// knows of the log before, and cursors into the lost end are refused.
#[tokio::test]
async fn a_server_ends_where_its_database_lost_the_end_of_the_log() {
    let Some(former) = Cluster::start().await else {
        return;
    };
    let standby = former.standby().await;
    let stub = Stub::start().await;
    let relay = Relay::to(&former);
    let mut app = server(relay.url(), &stub).await;
    let mut beside = server(relay.url(), &stub).await;
    former.sets("synchronous_standby_names = ''").await;
    standby.promote().await;
    let lost = app.tell("the lost words").await;
    let cursor = format!("{}&epoch={}", seq(&lost[0]), epoch(&app).await);
    relay.moves_to(&standby);
    for app in [&mut app, &mut beside] {
        app.ended().await;
        let said = app.output();
        assert!(said.contains("start the server again"), "{said}");
    }
    let said = format!("{}{}", app.output(), beside.output());
    assert!(said.contains("lacks event"), "{said}");
    let again = Setup::new(Medium::of(relay.url()), &stub).start().await;
    assert_eq!(said_text(&again.tell("anew").await[0]), "ok: anew");
    assert!(!stub.all(decision).last().unwrap().says("the lost words"));
    let after = again.get(&format!("/events?after={cursor}")).await;
    assert!(after.status >= 400, "{}", after.status);
    envelope::check_log(&again.log().await);
}

async fn epoch(app: &App) -> String {
    let metadata = app.get("/metadata").await.expect(200);
    metadata["epoch"].as_str().unwrap().to_owned()
}

// The former primary falls silent with its connections open, one of them in a commit.
#[tokio::test]
async fn a_failover_that_leaves_connections_half_open_costs_no_limit_of_a_commit() {
    let Some(former) = Cluster::start().await else {
        return;
    };
    let standby = former.standby().await;
    let stub = Stub::start().await;
    let relay = Relay::to(&former);
    let app = server(relay.url(), &stub).await;
    let mut followers = Followers::start(&app).await;
    let load = Load::start(&app, "main");
    load.has_said(5).await;
    relay.falls_silent();
    // A silence is of no event: long enough for a commit to begin in it.
    tokio::time::sleep(ms(300)).await;
    standby.promote().await;
    relay.leads_to(&standby);
    let since = Instant::now();
    load.has_said(20).await;
    let taken = load.end().await;
    let again = taken
        .iter()
        .find(|said| said.at > since)
        .map(|said| said.at - since);
    println!("taken again after {again:?}");
    assert!(again.is_some_and(|took| took < TAKEN_WITHIN), "{again:?}");
    followers.have_seen_all(&app).await;
    envelope::check_log(&app.log().await);
}

fn said_text(event: &Value) -> &str {
    event["payload"]["text"].as_str().unwrap_or_default()
}

// A window of read-only, as during an upgrade of a managed database.
#[tokio::test]
async fn a_database_that_was_read_only_for_a_while_is_written_again() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let stub = Stub::start().await;
    let relay = Relay::to(&cluster);
    let app = server(relay.url(), &stub).await;
    let mut followers = Followers::start(&app).await;
    let load = Load::start(&app, "main");
    load.has_said(5).await;
    cluster.sets("default_transaction_read_only = on").await;
    load.is_refused(10).await;
    assert_eq!(app.get("/readyz").await.status, 503);
    assert!(
        !app.public_log().await.is_empty(),
        "what is there can be read"
    );
    cluster.sets("default_transaction_read_only = off").await;
    let since = Instant::now();
    load.has_said(20).await;
    is_whole(&app, vec![load.end().await], since).await;
    followers.have_seen_all(&app).await;
}

#[tokio::test]
async fn a_server_whose_database_is_silent_ends_within_its_limits() {
    let Some(cluster) = Cluster::start().await else {
        return;
    };
    let relay = Relay::to(&cluster);
    ends_beside_a_silent_database(&relay, relay.url()).await;
}

// Over TLS a connection is closed with a goodbye, which the other side is to answer.
#[tokio::test]
async fn a_server_whose_database_is_silent_over_tls_ends_within_its_limits() {
    let Some(cluster) = Cluster::start_with_tls().await else {
        return;
    };
    let relay = Relay::to(&cluster);
    ends_beside_a_silent_database(&relay, relay.url_with("require")).await;
}

async fn ends_beside_a_silent_database(relay: &Relay, url: String) {
    let stub = Stub::start().await;
    let setup = Setup::new(Medium::of(url), &stub)
        .env("THINKD_RUNTIME__GRACE_MS", 500)
        .env("THINKD_TEST_LIMITS__DRAIN_MS", 500);
    let mut app = setup.start().await;
    let mut socket = app.socket().await;
    socket.say("hello").await;
    socket.turn_ended().await;
    relay.falls_silent();
    let begun = Instant::now();
    app.terminate();
    app.ended().await;
    let took = begun.elapsed();
    println!("gone after {took:?}");
    assert!(took < Duration::from_secs(6), "gone after {took:?}");
}
