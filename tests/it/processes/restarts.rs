//! `kill -9` around and in the middle of turns: the next act of a thread, and its messages, are the
//! same as without it.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use super::*;

/// Returns a server with leases that do not last long after it.
fn quick(medium: Medium, stub: &Stub) -> Setup {
    Setup::new(medium, stub)
        .env("THINKD_TEST_RUNTIME__LEASE_MS", 600)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 100)
}

/// The thread's last two requests are the same, byte for byte: the first was cut off by a crash.
fn asked_again(stub: &Stub, thread: &str, nth: usize) -> std::sync::Arc<Request> {
    let requests = stub.all(at(thread));
    let before = &requests[nth];
    let after = &requests[nth + 1];
    assert_eq!(before.body, after.body, "a restart changes nothing");
    after.clone()
}

// D3.27: a restart between two messages to itself changes nothing in the request that follows; plan, contacts and clearing included.
on_both!(
    d3_27_a_restart_between_two_messages_to_itself_changes_nothing,
    |medium| {
        let stub = Stub::start().await;
        let plan = json!({ "condition": "all read", "steps": [{ "text": "read", "done": false }] });
        let first = call("plan", plan)
            .and(
                "connect",
                json!({ "name": "c", "thread": "c", "description": "c" }),
            )
            .and("clear_context", json!({ "keep": 2 }))
            .saying("Let me see.");
        // Cut off while the second step is asked for; then while the third is.
        stub.script(
            at("p"),
            [
                first,
                text("never").never(),
                text("Go on."),
                text("never").never(),
                asleep(),
            ],
        );
        let mut app = quick(medium, &stub).start().await;
        processes(&app, &["c", "p"]).await;
        app.say_in("p", "read all").await;
        for nth in [1, 3] {
            stub.nth(nth, at("p")).await;
            app.restart().await;
            stub.nth(nth + 1, at("p")).await;
            let again = asked_again(&stub, "p", nth);
            assert!(again.last().contains("- c (c)"), "{again:?}");
        }
        let mut socket = app.socket().await;
        socket
            .subscribe(json!({ "type": "subscribe", "after": 0 }))
            .await;
        turn_over(&mut socket, "p", 3).await;
        assert_eq!(stub.count(at("p")), 5);
        let log = app.log().await;
        envelope::check_log(&log);
        envelope::check_turns(&log, "p");
        assert_eq!(
            told(&log, "p", &["turn", "started"]).len(),
            3,
            "{}",
            story(&log)
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D3.27: a crash in the middle of a turn, between its rounds: what it did is done once, what it intends it still intends.
on_both!(
    d3_27_a_crash_in_the_middle_of_a_turn_keeps_what_it_intends,
    |medium| {
        let stub = Stub::start().await;
        let first = call("send", json!({ "to": ["c"], "text": "hello" }))
            .and(
                "spawn_thread",
                json!({ "label": "sub", "prompt": null, "payload": "begin" }),
            )
            .and("set_timer", json!({ "after_s": 1000, "note": "later" }))
            .and("wait", json!({ "from": "c", "timeout_s": 500 }))
            .and("view_contacts", json!({}));
        stub.script(
            at("p"),
            [
                first,
                text("never").never(),
                call(
                    "connect",
                    json!({ "name": "me", "thread": "p", "description": "me" }),
                ),
            ],
        );
        stub.on(|r: &Request| r.thread != "p", asleep());
        let mut app = quick(medium, &stub).start().await;
        processes(&app, &["c"]).await;
        app.process("p", json!({ "contacts": [contact("c")] }))
            .await;
        app.say_in("p", "go").await;
        stub.nth(1, at("p")).await;
        app.restart().await;
        let mut socket = app.socket().await;
        socket
            .subscribe(json!({ "type": "subscribe", "after": 0 }))
            .await;
        turn_over(&mut socket, "p", 1).await;
        turn_over(&mut socket, "c", 1).await;
        asked_again(&stub, "p", 1);
        let log = app.log().await;
        envelope::check_log(&log);
        assert_eq!(mail(&log, "c"), [("p", "hello")], "{}", story(&log));
        assert_eq!(mail(&log, "p.sub"), [("p", "begin")]);
        for once in [
            &["thread-spawned"][..],
            &["timer-set"],
            &["turn", "started", "turn:1"],
            &["result", "tool:send"],
        ] {
            assert_eq!(told(&log, "p", once).len(), 1, "{once:?}: {}", story(&log));
        }
        let thread = app.get("/threads/p").await.expect(200);
        assert_eq!(
            (&thread["waiting_for"], &thread["status"]),
            (&json!("c"), &json!("waiting"))
        );
        let names: Vec<&str> = thread["contacts"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|c| c["name"].as_str())
            .collect();
        assert_eq!(names, ["c", "me", "sub"]);
        rows_are_what_the_log_says(&mut app).await;
    }
);

// The mailbox over a crash: what a turn took stays its own; what came during it and while no server ran is the next one's, in order.
on_both!(a_crash_leaves_every_message_in_its_batch, |medium| {
    let stub = Stub::start().await;
    stub.script(
        at("p"),
        [call("view_contacts", json!({})), asleep().never()],
    );
    stub.on(at("p"), asleep());
    let mut app = quick(medium, &stub).start().await;
    processes(&app, &["p"]).await;
    app.say_in("p", "one").await;
    stub.nth(1, at("p")).await;
    for text in ["two", "three"] {
        app.say_in("p", text).await;
    }
    app.kill();
    app.start_again().await;
    let mut socket = app.socket().await;
    socket
        .subscribe(json!({ "type": "subscribe", "after": 0 }))
        .await;
    turn_over(&mut socket, "p", 2).await;
    asked_again(&stub, "p", 1);
    let log = app.log().await;
    let inputs: Vec<i64> = with(&log, &["input"]).into_iter().map(seq).collect();
    let batches: Vec<Value> = told(&log, "p", &["started"])
        .iter()
        .map(|e| e["payload"]["batch"].clone())
        .collect();
    assert_eq!(
        batches,
        [json!(inputs[..1]), json!(inputs[1..])],
        "{}",
        story(&log)
    );
    assert_eq!(stub.nth(3, at("p")).await.batch(), inputs[1..]);
    envelope::check_turns(&log, "p");
    rows_are_what_the_log_says(&mut app).await;
});

// A thread that waits for one waits for that one after a restart, too; its plan, its timer and what it may use up are there.
on_both!(d3_27_a_waiting_thread_waits_on_over_a_restart, |medium| {
    let stub = Stub::start().await;
    let plan = json!({ "condition": "x", "steps": [{ "text": "y", "done": true }] });
    let first = call("plan", plan).and("wait", json!({ "from": "b", "timeout_s": 500 }));
    stub.script(at("p"), [text("Hm."), first, asleep()]);
    stub.on(
        at("b"),
        call("send", json!({ "to": ["p"], "text": "now" }))
            .and("wait", json!({ "from": null, "timeout_s": null })),
    );
    let mut app = quick(medium, &stub).start().await;
    let mut socket = app.socket().await;
    processes(&app, &["b"]).await;
    app.process("p", json!({ "contacts": [contact("b")] }))
        .await;
    app.say_in("p", "go").await;
    turn_over(&mut socket, "p", 2).await;
    app.say_in("p", "not awaited").await;
    let before = app.get("/threads/p").await.expect(200);
    app.restart().await;
    assert_eq!(
        app.get("/threads/p").await.expect(200),
        before,
        "nothing has changed"
    );
    let mut socket = app.socket().await;
    // b is given p as a contact by a model that was told of it.
    stub.clear();
    let connect = call(
        "connect",
        json!({ "name": "p", "thread": "p", "description": "p" }),
    );
    stub.script(
        at("b"),
        [connect
            .and("send", json!({ "to": ["p"], "text": "now" }))
            .and("wait", json!({ "from": null, "timeout_s": null }))],
    );
    stub.on(at("p"), asleep());
    app.say_in("b", "write").await;
    turn_over(&mut socket, "p", 3).await;
    let last = stub.nth(2, at("p")).await;
    let heard: Vec<String> = last
        .entries()
        .into_iter()
        .filter(|entry| last.batch().contains(&entry.seq))
        .map(|entry| entry.text)
        .collect();
    assert_eq!(heard, ["not awaited", "now"]);
    rows_are_what_the_log_says(&mut app).await;
});

// C14: a server that dies between the end of a turn and the look whether its wait is of any use leaves that to the next one.
on_both!(
    waits_that_nobody_looked_at_are_looked_at_once_after_a_start,
    |medium| {
        use thinkd_event::draft::Draft;
        use thinkd_log::appended::Append;
        use thinkd_words::id::{Space, ThreadId};
        let stub = Stub::start().await;
        stub.on(Request::is_decision, asleep());
        let mut app = quick(medium, &stub).start().await;
        processes(&app, &["a", "b", "c", "gone", "late", "lost", "fine"]).await;
        for (thread, whom) in [("a", "b"), ("b", "a"), ("late", "gone"), ("fine", "c")] {
            let answer = call(
                "connect",
                json!({ "name": whom, "thread": whom, "description": "it" }),
            );
            stub.clear();
            stub.script(
                at(thread),
                [answer.and("wait", json!({ "from": null, "timeout_s": null }))],
            );
            stub.on(Request::is_decision, asleep());
            let mut socket = app.socket().await;
            app.say_in(thread, "connect").await;
            turn_over(&mut socket, thread, 1).await;
        }
        app.post("/threads/gone/end", json!({})).await.expect(200);
        let mut socket = app.socket().await;
        socket
            .subscribe(json!({ "type": "subscribe", "after": 0 }))
            .await;
        turn_over(&mut socket, "late", 2).await;
        assert!(app.stop().await.success());
        // As such a server would have left it.
        let options = thinkd_log::options::Options::default();
        let store = thinkd_log::store::open(
            app.database(),
            options,
            thinkd_log::thread_row::ThreadRow::apply,
        )
        .await
        .unwrap();
        for (thread, whom) in [
            ("a", "b"),
            ("b", "a"),
            ("late", "gone"),
            ("lost", "c"),
            ("fine", "c"),
        ] {
            let waiting = json!({ "from": whom, "name": whom });
            let thread = ThreadId::parse(thread).unwrap();
            let change = json!({ "waiting": waiting, "seen": 1_000_000 });
            let wait = Draft::changed(&thread, "wait", thread.as_str(), change);
            store
                .append(Append::free(&Space::default(), vec![wait]))
                .await
                .unwrap();
        }
        store.close().await;
        drop(store);
        app.start_again().await;
        let mut socket = app.socket().await;
        socket
            .subscribe(json!({ "type": "subscribe", "after": 0 }))
            .await;
        turn_over(&mut socket, "lost", 1).await;
        turn_over(&mut socket, "late", 3).await;
        socket
            .event("the circle", |e| e["payload"]["code"] == "wait_cycle")
            .await;
        let log = app.public_log().await;
        let circles = log
            .iter()
            .filter(|e| e["payload"]["code"] == "wait_cycle")
            .count();
        assert_eq!(circles, 1, "one link is enough: {}", story(&log));
        assert_eq!(
            told(&log, "late", &["thread-ended"]).len(),
            2,
            "{}",
            story(&log)
        );
        assert_eq!(
            told(&log, "lost", &["system-thread-error"])[0]["payload"]["unknown_id"],
            "c"
        );
        assert_eq!(
            app.get("/threads/fine").await.expect(200)["waiting_for"],
            "c",
            "the control"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);
