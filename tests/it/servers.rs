//! Two servers on one Postgres: a thread is run by one of them, and can be reached through the other.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use thinkd_event::draft::{Draft, InputKind, Part};
use thinkd_words::id::{ThreadId, fresh};

use kit::*;

/// Returns two servers on one database; `None` where there is no Postgres. A lease that is not
/// renewed is over soon.
async fn two(stub: &Stub) -> Option<(App, App)> {
    let medium = Medium::postgres().await?;
    let again = medium.again();
    let start = |medium| {
        Setup::new(medium, stub)
            .env("THINKD_TEST_RUNTIME__LEASE_MS", 1500)
            .start()
    };
    // The first one makes the tables.
    let first = start(medium).await;
    Some((first, start(again).await))
}

#[tokio::test]
async fn a_cancel_reaches_the_server_that_runs_the_turn_down_to_the_providers_connection() {
    let stub = Stub::start().await;
    stub.on(
        |r| r.is_decision() && r.last_user() == "for ever",
        reply("never").never(),
    );
    let Some((a, b)) = two(&stub).await else {
        return;
    };
    let mut on_a = a.socket().await;
    let mut on_b = b.socket().await;
    on_a.say("for ever").await;
    let asked = stub.request(decision).await;
    assert_eq!(
        b.post("/threads/main/cancel", json!({})).await.expect(200),
        json!({ "cancelled": true, "threads": 1 })
    );
    asked.closed().await;
    for socket in [&mut on_a, &mut on_b] {
        assert_eq!(socket.turn_ended().await["payload"]["outcome"], "cancelled");
    }
    // By the socket, too.
    on_a.say_in("other", "for ever").await;
    let asked = stub.nth(1, decision).await;
    on_b.ask(json!({ "type": "cancel", "thread": "other" }))
        .await;
    asked.closed().await;
    assert_eq!(on_b.turn_ended().await["payload"]["outcome"], "cancelled");
    // Controls: nothing to cancel, nothing stored; the next turn is not meant.
    assert_eq!(
        b.post("/threads/main/cancel", json!({})).await.expect(200),
        json!({ "cancelled": false, "threads": 0 })
    );
    assert_eq!(said(&a.tell("once").await[0]), "ok: once");
    let log = b.public_log().await;
    assert_eq!(with(&log, &["cancel"]).len(), 2, "{}", story(&log));
    assert_eq!(stub.count(decision), 3);
    envelope::check_turns(&log, "main");
    envelope::check_turns(&log, "other");
}

#[tokio::test]
async fn ending_a_thread_and_interrupting_reach_the_server_that_runs_it() {
    let stub = Stub::start().await;
    stub.on(
        |r| r.is_decision() && !r.says("instead"),
        reply("never").never(),
    );
    let Some((a, b)) = two(&stub).await else {
        return;
    };
    let mut on_a = a.socket().await;
    let mut on_b = b.socket().await;
    on_a.say_in("talk", "go").await;
    let asked = stub.request(decision).await;
    b.post("/threads/talk/end", json!({})).await.expect(200);
    asked.closed().await;
    assert_eq!(on_b.turn_ended().await["payload"]["outcome"], "cancelled");
    assert_eq!(
        a.get("/threads/talk").await.expect(200)["status"],
        "stopped"
    );

    let thread = a.conversation(json!({ "policy": "interrupt" })).await;
    on_a.say_in(&thread, "go").await;
    let asked = stub.nth(1, decision).await;
    on_b.say_in(&thread, "do this instead").await;
    asked.closed().await;
    assert_eq!(on_b.turn_ended().await["payload"]["outcome"], "interrupted");
    assert_eq!(said(&on_b.response().await), "ok: do this instead");
    assert_eq!(on_b.turn_ended().await["payload"]["outcome"], "done");
    envelope::check_turns(&a.public_log().await, &thread);
}

/// A server that wrote last to a thread knows it as idle. Later events at another server count for
/// the next message nonetheless.
#[tokio::test]
async fn a_message_meets_the_thread_as_other_servers_left_it() {
    let stub = Stub::start().await;
    stub.on(
        |r| r.is_decision() && r.last_user() == "for ever",
        reply("never").never(),
    );
    let Some((a, b)) = two(&stub).await else {
        return;
    };
    let thread = a.conversation(json!({ "policy": "reject" })).await;
    let mut on_a = a.socket().await;
    let mut on_b = b.socket().await;
    assert_eq!(on_a.say_in(&thread, "one").await["status"], "started");
    on_a.turn_ended().await;
    on_b.turn_ended().await;

    assert_eq!(on_b.say_in(&thread, "for ever").await["status"], "started");
    let path = format!("/threads/{thread}/messages");
    a.post(&path, json!({ "text": "two" }))
        .await
        .expect_problem(409, "busy");
    b.post(&format!("/threads/{thread}/cancel"), json!({}))
        .await
        .expect(200);
    on_a.turn_ended().await;
    assert_eq!(
        on_a.say_in(&thread, "three").await["status"],
        "started",
        "who saw the turn end is not told that it runs"
    );
    on_a.turn_ended().await;

    b.post(&format!("/threads/{thread}/end"), json!({}))
        .await
        .expect(200);
    a.post(&path, json!({ "text": "four" }))
        .await
        .expect_problem(409, "thread-ended");
    let log = a.public_log().await;
    assert!(
        !log.iter().any(|event| ["two", "four"]
            .map(|it| json!(it))
            .contains(&event["payload"]["text"])),
        "{}",
        story(&log)
    );
}

#[tokio::test]
async fn a_cancel_is_heeded_by_whoever_takes_the_turn_up() {
    let stub = Stub::start().await;
    stub.on(decision, reply("never").never());
    let Some((mut a, b)) = two(&stub).await else {
        return;
    };
    a.add_voice("a").await;
    let mut on_a = a.socket().await;
    // One whose voices have spoken, so that it has begun in the log.
    on_a.say_in("begun", "go").await;
    stub.request(decision).await;
    a.kill();
    let mut on_b = b.socket().await;
    on_b.ask(json!({ "type": "cancel", "thread": "begun" }))
        .await;
    let end = on_b.turn_ended().await;
    assert_eq!(
        (&end["thread"], &end["payload"]["outcome"]),
        (&json!("begun"), &json!("cancelled"))
    );
    assert_eq!(
        stub.count(decision),
        1,
        "nothing is asked for a turn that is to be cancelled"
    );
    envelope::check_turns(&b.public_log().await, "begun");
}

/// Neither the end of a lease nor the next search is waited for: both are a minute away.
#[tokio::test]
async fn a_server_that_is_stopped_leaves_its_threads_to_another_at_once() {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(at("cut"), [reply("never").never()]);
    stub.script(at("queued"), [reply("first").held(&gate)]);
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let again = medium.again();
    let start = |medium| {
        let times = [
            ("THINKD_TEST_RUNTIME__LEASE_MS", 60_000),
            ("THINKD_TEST_RUNTIME__SCAN_MS", 60_000),
            ("THINKD_RUNTIME__GRACE_MS", 1500),
        ];
        let setup = Setup::new(medium, &stub);
        times
            .iter()
            .fold(setup, |setup, (of, time)| setup.env(of, time))
            .start()
    };
    let mut a = start(medium).await;
    let b = start(again).await;
    // It is not read any more once the server goes: that waits for it a while, and takes requests until then.
    let mut unread = a.socket().await;
    for thread in ["cut", "queued"] {
        unread.say_in(thread, "go").await;
        stub.request(at(thread)).await;
    }
    unread.say_in("queued", "more").await;
    let mut told = a.socket().await;
    a.terminate();
    assert_eq!(told.closed().await, Some(1001));
    // On connections of their own: those that were there are closed.
    http::send(http::client().get(a.url("/events/stream")))
        .await
        .expect_problem(503, "unavailable");
    let late = http::client()
        .post(a.url("/threads/late/messages"))
        .json(&json!({ "text": "go" }));
    http::send(late).await.expect(202);
    stub.request(at("late")).await;
    gate.open();
    stub.nth(1, at("queued")).await;
    stub.nth(1, at("cut")).await;
    assert!(a.ended().await.success());
    let replies = within("all replies", async {
        loop {
            let log = b.public_log().await;
            if with(&log, &["turn", "ended"]).len() == 4 {
                return with(&log, &["response"])
                    .into_iter()
                    .map(|reply| said(reply).to_owned())
                    .collect::<Vec<_>>();
            }
        }
    });
    assert_eq!(replies.await.len(), 4, "every message is answered once");
}

/// Returns the states of the servers, as any client that may see them gets them; true marks this
/// server.
async fn states(app: &App) -> Vec<(bool, String)> {
    let servers = app.get("/servers").await.expect(200);
    let items = servers["items"].as_array().unwrap().iter();
    items
        .map(|it| {
            (
                it["this"].as_bool().unwrap(),
                it["state"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

async fn sees(app: &App, wanted: &[(bool, &str)]) {
    let wanted: Vec<(bool, String)> = wanted
        .iter()
        .map(|(this, state)| (*this, (*state).to_owned()))
        .collect();
    polled(&format!("{wanted:?}"), async || states(app).await == wanted).await;
}

// Who is there, who works, who was killed, who has left.
#[tokio::test]
async fn every_server_knows_the_others_on_its_log_postgres() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(decision, reply("Done.").held(&gate));
    let mut a = Setup::new(medium, &stub)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 100)
        .start()
        .await;
    sees(&a, &[(true, "ready")]).await;
    let mut b = a.beside().await;
    sees(&a, &[(false, "ready"), (true, "ready")]).await;
    sees(&b, &[(false, "ready"), (true, "ready")]).await;
    let known = a.get("/servers").await.expect(200);
    let ids: Vec<&Value> = known["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_ne!(ids[0], ids[1], "{known}");
    let started = |known: &Value| {
        let of = |it: &Value| (it["id"].to_string(), it["since"].to_string());
        known["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(of)
            .collect::<BTreeMap<_, _>>()
    };
    assert_eq!(
        started(&known),
        started(&b.get("/servers").await.expect(200)),
        "whoever is asked"
    );
    // At work, as the other one sees it: either may take up what one was told.
    b.say_in("main", "hello").await;
    stub.request(decision).await;
    let sees_work = async |app: &App| {
        let servers = app.get("/servers").await.expect(200);
        let works = |it: &Value| (&it["threads"], &it["leases"]) == (&json!(1), &json!(1));
        let mut others = servers["items"].as_array().unwrap().iter();
        others.any(|it| it["this"] == false && works(it))
    };
    polled("the work of the other one", async || {
        sees_work(&a).await || sees_work(&b).await
    })
    .await;
    gate.open();
    b.kill();
    sees(&a, &[(false, "lost"), (true, "ready")]).await;
    b.start_again().await;
    sees(&a, &[(false, "lost"), (false, "ready"), (true, "ready")]).await;
    b.stop().await;
    sees(&a, &[(false, "lost"), (true, "ready")]).await;
    a.stop().await;
}

// A file has one.
#[tokio::test]
async fn a_file_has_one_server() {
    let app = Setup::offline(Medium::sqlite()).start().await;
    sees(&app, &[(true, "ready")]).await;
    let server = app.get("/servers").await.expect(200)["items"][0].clone();
    assert_eq!(
        (&server["threads"], &server["version"]),
        (&json!(0), &json!(env!("CARGO_PKG_VERSION"))),
        "{server}"
    );
    assert!(
        server["name"]
            .as_str()
            .unwrap()
            .ends_with(&format!("/{}", app.pid())),
        "{server}"
    );
    assert!(
        server["since"].as_str() <= server["seen_at"].as_str(),
        "{server}"
    );
}

// A server died between a message and its turn; the cancel reached another one, and then somebody said more.
#[tokio::test]
async fn a_message_behind_a_cancel_is_of_the_next_turn() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    stub.on(decision, reply("the answer"));
    let mut app = Setup::new(medium, &stub).start().await;
    app.stop().await;
    let store = stored::open_at(app.database()).await;
    let thread = ThreadId::parse("t").unwrap();
    let said = |text: &str| {
        let parts = vec![Part::Text(text.to_owned())];
        Draft::input(&thread, InputKind::Message, parts, None, fresh()).remove(0)
    };
    // A cancel that came before anything was said is of no turn.
    let cancel = || Draft::cancel(&thread, 1);
    for draft in [cancel(), said("one"), cancel(), said("two")] {
        stored::append(&store, draft).await;
    }
    store.close().await;
    app.start_again().await;
    let ended = within("two turns", async {
        loop {
            let log = app.public_log().await;
            let ended = with(&log, &["turn", "ended"]);
            if let [first, second] = ended[..] {
                break [first, second].map(|it| it["payload"]["outcome"].clone());
            }
        }
    });
    assert_eq!(ended.await, ["cancelled", "done"]);
    let log = app.public_log().await;
    let begun = with(&log, &["turn", "started"]);
    let batch = |at: usize| begun[at]["payload"]["batch"].as_array().unwrap().len();
    assert_eq!((batch(0), batch(1)), (1, 1), "{}", story(&log));
    assert_eq!(said_in(&log), ["the answer"], "{}", story(&log));
}

fn said_in(log: &[Value]) -> Vec<&str> {
    with(log, &["response"]).into_iter().map(said).collect()
}
