//! The end of a thread on which very many depend: they are told append by append, each once,
//! through any death of the server.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thinkd_event::draft::Draft;
use thinkd_log::appended::Append;
use thinkd_log::kernel::Store;
use thinkd_words::id::{Name, Space, ThreadId};

use super::subtrees::refuse;
use super::*;

const MANY: usize = 600;
/// Most events of one append.
const AT_ONCE: usize = 256;

fn id(thread: &str) -> ThreadId {
    ThreadId::parse(thread).unwrap()
}

fn holder(n: usize) -> String {
    format!("h{n:04}")
}

fn waits_for(whom: &str) -> Answer {
    call("wait", json!({ "from": whom, "timeout_s": null }))
}

/// Makes processes that wait for another process, each with this contact besides, `friend`: their
/// messages wake none of them.
async fn quiet(medium: &Medium, ids: impl Iterator<Item = String>, friend: Option<&str>) {
    let ids: Vec<String> = ids.collect();
    stored::processes(medium, ids.iter().cloned().chain(["other".to_owned()])).await;
    let name = |name: &str| Name::parse(name).unwrap();
    let wait = json!({ "waiting": { "from": "other", "outside": true }, "seen": 1_000_000 });
    let store = stored::open(medium).await;
    for ids in ids.chunks(100) {
        let mut drafts = Vec::new();
        for it in ids {
            drafts.push(Draft::contact(&id(it), &name("other"), &id("other"), ""));
            drafts.extend(
                friend.map(|friend| Draft::contact(&id(it), &name("friend"), &id(friend), "")),
            );
            drafts.push(Draft::changed(&id(it), "wait", it, wait.clone()));
        }
        store
            .append(Append::free(&Space::default(), drafts))
            .await
            .unwrap();
    }
    store.close().await;
}

/// So many that have a thread as a contact; that one, and those above it.
async fn held(medium: &Medium, thread: &str, many: usize) {
    let held = id(thread);
    let above = held
        .ancestors()
        .map(|it| it.to_string())
        .chain([thread.to_owned()]);
    stored::processes(medium, above).await;
    quiet(medium, (0..many).map(holder), Some(thread)).await;
}

/// Behind the back of the servers: a thread waits for another from now on, with any messages in its
/// mailbox.
async fn begins_to_wait(store: &Arc<dyn Store>, thread: &str, from: &str) {
    let change = json!({ "waiting": { "from": from, "name": "friend" }, "seen": 1_000_000 });
    stored::append(store, Draft::changed(&id(thread), "wait", thread, change)).await;
}

/// Returns the number of times each thread was told of the end of this one.
fn words(log: &[Value], of: &str) -> BTreeMap<String, usize> {
    let mut words = BTreeMap::new();
    for event in with(log, &["thread-ended"])
        .iter()
        .filter(|event| event["payload"]["id"] == of)
    {
        *words
            .entry(event["thread"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    words
}

/// The most of these events that one commit has: those of one commit have one time.
fn at_once<'a>(events: impl Iterator<Item = &'a Value>) -> usize {
    let mut commits: BTreeMap<&str, usize> = BTreeMap::new();
    events.for_each(|event| *commits.entry(event["ts"].as_str().unwrap()).or_default() += 1);
    commits.into_values().max().unwrap()
}

fn of_the_end(event: &&Value) -> bool {
    has(event, "thread-ended")
        || (has(event, "set:thread") && event["payload"]["change"].get("settings").is_none())
}

/// The log, when so many have been told.
async fn when_told(app: &App, of: &str, many: usize) -> Vec<Value> {
    let mut socket = app.socket().await;
    socket
        .subscribe(json!({ "type": "subscribe", "after": 0, "tags": ["thread-ended"] }))
        .await;
    let mut told = BTreeSet::new();
    while told.len() < many {
        let word = socket
            .event("word to all", |event| event["payload"]["id"] == of)
            .await;
        told.insert(word["thread"].as_str().unwrap().to_owned());
    }
    app.public_log().await
}

/// Returns the number of threads told so far.
fn told_in(socket: &Socket, of: &str) -> usize {
    words(&socket.events(), of).len()
}

async fn nobody_waits_for(app: &App, thread: &str) {
    app.until("the end of all waits", async || {
        !app.pages("/threads?")
            .await
            .iter()
            .any(|row| row["waiting_for"] == thread)
    })
    .await;
}

fn turns(log: &[Value], thread: &str) -> usize {
    told(log, thread, &["turn", "started"]).len()
}

/// A thread ends, or the one above it. The store refuses an append in the middle; the server is
/// killed, and another life goes on.
async fn all_are_told_across_a_crash(medium: Medium, thread: &str, ends: &str) {
    const WAITING: [usize; 3] = [3, 400, 599];
    let stub = Stub::start().await;
    held(&medium, thread, MANY).await;
    for n in WAITING {
        stub.script(at(&holder(n)), [waits_for("friend")]);
    }
    stub.on(Request::is_decision, asleep());
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 100)
        .start()
        .await;
    let mut socket = app.socket().await;
    for n in WAITING {
        app.say_in(&holder(n), "go").await;
        turn_over(&mut socket, &holder(n), 1).await;
    }
    refuse(&app, Some(&holder(300))).await;
    app.post(&format!("/threads/{ends}/end"), json!({}))
        .await
        .expect(200);
    let row = app.get(&format!("/threads/{thread}")).await.expect(200);
    assert_eq!(row["status"], "stopped", "{row}");
    // Those who wait for it are told first, wherever they stand.
    for n in WAITING {
        turn_over(&mut socket, &holder(n), 2).await;
    }
    let before = told_in(&socket, thread);
    assert!(
        before < MANY,
        "control: {before} were told before the end of the first server"
    );
    app.kill();
    refuse(&app, None).await;
    // Meanwhile somebody else (another server) had two begin to wait for it: one that was told, and one that was not.
    let store = stored::open_at(app.database()).await;
    begins_to_wait(&store, &holder(100), thread).await;
    begins_to_wait(&store, &holder(550), thread).await;
    store.close().await;
    drop(store);
    stored::execute(app.database(), "update timers set due = 0").await;
    app.start_again().await;
    nobody_waits_for(&app, thread).await;
    let log = when_told(&app, thread, MANY).await;
    let mut socket = app.socket().await;
    socket
        .subscribe(json!({ "type": "subscribe", "after": 0 }))
        .await;
    for n in [100, 550] {
        turn_over(&mut socket, &holder(n), 1).await;
    }
    for (who, times) in words(&log, thread) {
        assert_eq!(times, if who == holder(100) { 2 } else { 1 }, "{who}");
    }
    let most = at_once(log.iter().filter(of_the_end));
    assert!(most <= AT_ONCE, "{most} events in a commit");
    for n in WAITING {
        assert_eq!(turns(&log, &holder(n)), 2, "woken once");
    }
    let timers = app.get(&format!("/threads/{thread}")).await.expect(200)["timers"].clone();
    assert_eq!(timers, json!([]));
    rows_are_what_the_log_says(&mut app).await;
}

on_sqlite!(
    a_thread_that_very_many_know_ends_append_by_append_across_a_crash,
    |medium| {
        all_are_told_across_a_crash(medium, "p", "p").await;
    }
);

on_sqlite!(so_does_one_below_a_thread_that_is_ended, |medium| {
    all_are_told_across_a_crash(medium, "top.p", "top").await;
});

// One that ends itself: its turn's end is short, too, and all hear what it said last.
on_sqlite!(
    a_thread_that_very_many_know_ends_itself_append_by_append,
    |medium| {
        const MANY: usize = 400;
        let stub = Stub::start().await;
        held(&medium, "p", MANY).await;
        stub.on(at("p"), call("terminate", json!({ "reason": "enough" })));
        stub.on(Request::is_decision, asleep());
        let mut app = App::start(medium, &stub).await;
        app.say_in("p", "go").await;
        let log = when_told(&app, "p", MANY).await;
        assert!(words(&log, "p").into_values().all(|times| times == 1));
        let of_it = || {
            log.iter()
                .filter(|event| of_the_end(event) || (event["thread"] == "p" && has(event, "turn")))
        };
        assert!(
            at_once(of_it()) <= AT_ONCE + 2,
            "{} events in a commit",
            at_once(of_it())
        );
        assert!(
            with(&log, &["thread-ended"])
                .iter()
                .all(|event| event["payload"]["content"] == "enough")
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// Whoever leaves very many threads behind leaves them to the one above append by append.
on_sqlite!(
    very_many_threads_get_another_parent_append_by_append_across_a_crash,
    |medium| {
        let stub = Stub::start().await;
        let child = |n: usize| format!("top.p.c{n:04}");
        let top = ["top".to_owned(), "top.p".into(), "top.p.c0000.deep".into()];
        stored::processes(&medium, top).await;
        quiet(&medium, (0..MANY).map(child), None).await;
        stub.script(at(&child(500)), [waits_for("parent")]);
        stub.on(Request::is_decision, asleep());
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_RUNTIME__SCAN_MS", 100)
            .start()
            .await;
        let mut socket = app.socket().await;
        app.say_in(&child(500), "go").await;
        turn_over(&mut socket, &child(500), 1).await;
        refuse(&app, Some(&child(300))).await;
        app.post("/threads/top.p/end?subtree=false", json!({}))
            .await
            .expect(200);
        turn_over(&mut socket, &child(500), 2).await;
        let before = told_in(&socket, "top.p");
        assert!(
            before < MANY,
            "control: {before} were told before the end of the first server"
        );
        app.kill();
        refuse(&app, None).await;
        stored::execute(app.database(), "update timers set due = 0").await;
        app.start_again().await;
        // Its children and its parent.
        let log = when_told(&app, "top.p", MANY + 1).await;
        assert!(
            words(&log, "top.p").into_values().all(|times| times == 1),
            "{:?}",
            words(&log, "top.p")
        );
        assert!(at_once(log.iter().filter(of_the_end)) <= AT_ONCE);
        assert_eq!(turns(&log, &child(500)), 2, "woken once");
        let rows = app.pages("/threads?subtree=top&").await;
        let parents = |parent: &str| rows.iter().filter(|row| row["parent"] == parent).count();
        assert_eq!(
            (parents("top"), parents("top.p"), parents(&child(0))),
            (MANY + 1, 0, 1)
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);
