//! Waiting: for anybody, for one thread or its end, for so long at most; never for ever, and never
//! past a message that has come already.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

use thinkd_event::draft::Draft;
use thinkd_words::id::ThreadId;

fn wait_for(from: &str, seconds: f64) -> Answer {
    call("wait", json!({ "from": from, "timeout_s": seconds }))
}

// D0.12 D0.24: what comes next is in the log as it was decided, and comes then: at once, or when the one who is named writes.
on_sqlite!(d0_24_the_next_step_begins_when_the_step_said, |medium| {
    let stub = Stub::start().await;
    stub.script(
        at("p"),
        [text("Let me think."), wait_for("b", 60.0), asleep()],
    );
    stub.script(
        at("b"),
        [call("send", json!({ "to": "p", "text": "here" }))
            .and("wait", json!({ "from": null, "timeout_s": null }))],
    );
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["b"]).await;
    app.process("p", json!({ "contacts": [contact("b")] }))
        .await;
    app.post(
        "/threads",
        json!({ "label": "c", "kind": "process", "contacts": [contact("p")] }),
    )
    .await
    .expect(201);
    app.say_in("p", "go").await;
    let first = turn_over(&mut socket, "p", 1).await;
    let second = turn_over(&mut socket, "p", 2).await;
    assert_eq!(first["payload"]["wait"], Value::Null, "it goes on");
    let waits = &second["payload"]["wait"];
    assert_eq!(
        (&waits["from"], &waits["name"]),
        (&json!("b"), &json!("b")),
        "{second}"
    );
    assert!(waits["until"].is_string(), "{second}");
    let log = app.public_log().await;
    let thought = one(&log, &["thought"]);
    assert_eq!(
        seq(thought),
        seq(&first) - 1,
        "the reason for the second step: {}",
        story(&log)
    );
    let thread = app.get("/threads/p").await.expect(200);
    assert_eq!(
        (&thread["status"], &thread["waiting_for"]),
        (&json!("waiting"), &json!("b"))
    );
    assert_eq!(thread["waiting_until"], waits["until"]);
    app.say_in("b", "write").await;
    // b knows nobody called p: it is told so, and connects.
    turn_over(&mut socket, "b", 1).await;
    stub.clear();
    let connect = call(
        "connect",
        json!({ "name": "p", "thread": "p", "description": "p" }),
    );
    stub.script(
        at("b"),
        [connect
            .and("send", json!({ "to": ["p"], "text": "here" }))
            .and("wait", json!({ "from": null, "timeout_s": null }))],
    );
    stub.on(at("p"), asleep());
    app.say_in("b", "write again").await;
    turn_over(&mut socket, "p", 3).await;
    assert_eq!(
        app.get("/threads/p").await.expect(200)["waiting_for"],
        Value::Null
    );
});

// A wait has an end of its own: its time passes, also while no server runs.
on_sqlite!(a_wait_with_a_time_limit_ends_by_itself, |medium| {
    let stub = Stub::start().await;
    stub.script(at("p"), [wait_for("b", 1.0), wait_for("b", 1.5), asleep()]);
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["b"]).await;
    app.process("p", json!({ "contacts": [contact("b")] }))
        .await;
    app.say_in("p", "go").await;
    turn_over(&mut socket, "p", 2).await;
    let log = app.public_log().await;
    let timer = one(&log, &["timer"]);
    assert!(
        said(timer).contains("nothing came from b in time"),
        "{timer}"
    );
    assert!(
        stub.nth(1, at("p")).await.batch().contains(&seq(timer)),
        "the reason to go on"
    );
    app.kill();
    // The time of the wait runs out while no server is there.
    tokio::time::sleep(ms(1600)).await;
    app.start_again().await;
    let mut socket = app.socket().await;
    socket
        .subscribe(json!({ "type": "subscribe", "after": 0 }))
        .await;
    turn_over(&mut socket, "p", 3).await;
    let log = app.public_log().await;
    assert_eq!(
        told(&log, "p", &["timer"]).len(),
        2,
        "once each: {}",
        story(&log)
    );
    assert_eq!(app.get("/threads/p").await.expect(200)["status"], "waiting");
    rows_are_what_the_log_says(&mut app).await;
});

// The time limit goes with the wait: neither one that was answered in time nor a thread that has ended is called late.
on_sqlite!(a_wait_that_is_over_takes_its_time_limit_along, |medium| {
    let stub = Stub::start().await;
    stub.script(
        at("p"),
        [
            call("wait", json!({ "from": null, "timeout_s": 1.0 })),
            asleep(),
        ],
    );
    stub.script(
        at("gone"),
        [call("wait", json!({ "from": null, "timeout_s": 1.0 }))],
    );
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["p", "gone"]).await;
    for thread in ["p", "gone"] {
        app.say_in(thread, "go").await;
        turn_over(&mut socket, thread, 1).await;
    }
    app.say_in("p", "in time").await;
    app.post("/threads/gone/end", json!({})).await.expect(200);
    turn_over(&mut socket, "p", 2).await;
    socket
        .quiet(ms(1300), |frame| has(&frame["event"], "timer"))
        .await;
    let log = app.public_log().await;
    assert_eq!(with(&log, &["timer"]).len(), 0, "{}", story(&log));
    assert_eq!(
        app.get("/threads/gone").await.expect(200)["status"],
        "stopped"
    );
    rows_are_what_the_log_says(&mut app).await;
});

// Whoever waits for a thread is woken by its end, with the reason.
on_sqlite!(a_wait_for_a_thread_ends_with_that_thread, |medium| {
    let stub = Stub::start().await;
    stub.script(at("p"), [wait_for("b", 60.0), asleep()]);
    stub.on(
        at("b"),
        call("terminate", json!({ "reason": "nothing to say" })),
    );
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["b"]).await;
    app.process("p", json!({ "contacts": [contact("b")] }))
        .await;
    app.say_in("p", "go").await;
    turn_over(&mut socket, "p", 1).await;
    app.say_in("p", "not awaited").await;
    app.say_in("b", "end").await;
    turn_over(&mut socket, "p", 2).await;
    let second = stub.nth(1, at("p")).await;
    let heard: Vec<String> = second
        .entries()
        .into_iter()
        .filter(|e| second.batch().contains(&e.seq))
        .map(|e| e.text)
        .collect();
    assert_eq!(heard.len(), 2, "{second:?}");
    assert_eq!(heard[0], "not awaited");
    assert!(heard[1].contains("reason=\"nothing to say\""), "{heard:?}");
});

// A thread that ends before the wait for it begins is not waited for.
on_sqlite!(
    a_wait_for_a_contact_that_ends_within_the_same_step_is_no_trap,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let first = call(
            "connect",
            json!({ "name": "b", "thread": "b", "description": "b" }),
        );
        let first = first
            .and("wait", json!({ "from": "b", "timeout_s": null }))
            .and("view_contacts", json!({}));
        // Told of the end, it says nothing more of waiting.
        stub.script(
            at("p"),
            [first, call("state_get", json!({ "key": "k" })).held(&gate)],
        );
        stub.script(
            at("p"),
            [
                call("do_nothing", json!({ "reason": "all said" })),
                asleep(),
            ],
        );
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["b", "p"]).await;
        app.say_in("p", "go").await;
        stub.nth(1, at("p")).await;
        app.post("/threads/b/end", json!({})).await.expect(200);
        gate.open();
        turn_over(&mut socket, "p", 2).await;
        assert!(
            stub.nth(3, at("p")).await.says("b"),
            "it heard that b is gone"
        );
    }
);

// No lost wake-up: what came while the step that decides to wait was under way ends the wait before it begins.
on_sqlite!(
    a_message_that_comes_while_a_thread_decides_to_wait_wakes_it,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(at("any"), [asleep().held(&gate), asleep()]);
        stub.script(at("one"), [wait_for("b", 60.0).held(&gate), asleep()]);
        let hello = call("send", json!({ "to": ["any", "one"], "text": "hello" }));
        stub.script(
            at("b"),
            [hello.and("wait", json!({ "from": null, "timeout_s": null }))],
        );
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["any"]).await;
        app.process("b", json!({ "contacts": [contact("any")] }))
            .await;
        app.process("one", json!({ "contacts": [contact("b")] }))
            .await;
        stub.clear();
        stub.script(at("any"), [asleep().held(&gate), asleep()]);
        stub.script(at("one"), [wait_for("b", 60.0).held(&gate), asleep()]);
        let hello = call(
            "connect",
            json!({ "name": "one", "thread": "one", "description": "one" }),
        )
        .and("send", json!({ "to": ["any", "one"], "text": "hello" }))
        .and("wait", json!({ "from": null, "timeout_s": null }));
        stub.script(at("b"), [hello]);
        for thread in ["any", "one"] {
            app.say_in(thread, "go").await;
            stub.request(at(thread)).await;
        }
        app.say_in("b", "write").await;
        turn_over(&mut socket, "b", 1).await;
        gate.open();
        for thread in ["any", "one"] {
            turn_over(&mut socket, thread, 2).await;
            let second = stub.nth(1, at(thread)).await;
            let message = second
                .entries()
                .into_iter()
                .find(|entry| entry.text == "hello")
                .unwrap();
            assert_eq!(second.batch(), [message.seq], "{second:?}");
        }
        assert_eq!(
            app.get("/threads/one").await.expect(200)["waiting_for"],
            Value::Null
        );
    }
);

// Threads that wait for one another are told so, by whoever closes the circle, and it is broken.
on_sqlite!(threads_that_wait_in_a_circle_are_told_and_go_on, |medium| {
    let stub = Stub::start().await;
    let next = [("a", "b"), ("b", "c"), ("c", "a")];
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["a", "b", "c"]).await;
    for (thread, whom) in next {
        let connect = call(
            "connect",
            json!({ "name": whom, "thread": whom, "description": "next" }),
        );
        stub.script(
            at(thread),
            [
                connect.and("wait", json!({ "from": whom, "timeout_s": null })),
                asleep(),
            ],
        );
        app.say_in(thread, "wait").await;
        turn_over(&mut socket, thread, 1).await;
    }
    turn_over(&mut socket, "c", 2).await;
    let log = app.public_log().await;
    let error = one(&log, &["system-thread-error"]);
    assert_eq!(
        (&error["thread"], &error["payload"]["code"]),
        (&json!("c"), &json!("wait_cycle"))
    );
    assert!(said(error).contains("c for a for b for c"), "{error}");
    assert!(stub.nth(1, at("c")).await.batch().contains(&seq(error)));
    let states: Vec<Value> = app
        .pages("/threads?")
        .await
        .iter()
        .map(|row| row["waiting_for"].clone())
        .collect();
    assert_eq!(
        states,
        [json!("b"), json!("c"), Value::Null],
        "one link is enough"
    );
    rows_are_what_the_log_says(&mut app).await;
});

// D0.06: who says both ends; nothing wakes it any more.
on_sqlite!(terminate_beats_wait, |medium| {
    let stub = Stub::start().await;
    let both = call("terminate", json!({ "reason": "enough" }))
        .and("wait", json!({ "from": null, "timeout_s": 1.0 }));
    stub.on(at("p"), both);
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    app.say_in("p", "go").await;
    let over = turn_over(&mut socket, "p", 1).await;
    assert_eq!(app.get("/threads/p").await.expect(200)["status"], "done");
    silent_after(&mut socket, "p", &over, ms(1200)).await;
    assert_eq!(stub.count(at("p")), 1);
});

// D0.42: whoever waits for its parent is woken by the parent's end.
on_sqlite!(
    d0_42_a_child_that_waits_for_its_parent_is_woken_by_the_end_of_that,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("p.sub"),
            [
                call("wait", json!({ "from": "parent", "timeout_s": null })),
                asleep(),
            ],
        );
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.post(
            "/threads",
            json!({ "label": "sub", "parent": "p", "kind": "process" }),
        )
        .await
        .expect(201);
        app.say_in("p.sub", "go").await;
        turn_over(&mut socket, "p.sub", 1).await;
        app.post("/threads/p/end?subtree=false", json!({}))
            .await
            .expect(200);
        turn_over(&mut socket, "p.sub", 2).await;
        let log = app.public_log().await;
        let ended = told(&log, "p.sub", &["thread-ended"]);
        assert_eq!(ended.len(), 1, "{}", story(&log));
        assert_eq!(ended[0]["payload"]["id"], "p");
        assert!(
            stub.nth(1, at("p.sub"))
                .await
                .batch()
                .contains(&seq(ended[0]))
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// A wait for somebody whom the same step makes unreachable is over, and the thread is told.
on_sqlite!(
    a_wait_for_a_contact_that_the_same_step_removes_is_over,
    |medium| {
        let stub = Stub::start().await;
        let wait = || call("wait", json!({ "from": "b", "timeout_s": null }));
        let gone = wait().and("disconnect", json!({ "name": "b" }));
        let other = wait().and(
            "connect",
            json!({ "name": "b", "thread": "c", "description": "another" }),
        );
        // The control: it knows b by another name, too.
        let twice = wait().and(
            "connect",
            json!({ "name": "b2", "thread": "b", "description": "the same" }),
        );
        let twice = twice.and("disconnect", json!({ "name": "b" }));
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["b", "c"]).await;
        for (thread, commit, first) in [
            ("gone", "deferred", gone.clone()),
            ("soon", "immediate", gone),
            ("other", "deferred", other),
            ("twice", "deferred", twice),
        ] {
            stub.script(at(thread), [first, asleep()]);
            app.process(
                thread,
                json!({ "contacts": [contact("b")], "commit": commit }),
            )
            .await;
            app.say_in(thread, "go").await;
            turn_over(&mut socket, thread, if thread == "twice" { 1 } else { 2 }).await;
            let log = app.public_log().await;
            let errors = told(&log, thread, &["system-thread-error"]);
            if thread == "twice" {
                assert_eq!(errors.len(), 0, "{}", story(&log));
                assert_eq!(
                    app.get("/threads/twice").await.expect(200)["waiting_for"],
                    "b"
                );
            } else {
                assert_eq!(errors.len(), 1, "{thread}: {}", story(&log));
                assert_eq!(errors[0]["payload"]["unknown_id"], "b");
                assert!(
                    stub.nth(1, at(thread))
                        .await
                        .batch()
                        .contains(&seq(errors[0]))
                );
            }
        }
        rows_are_what_the_log_says(&mut app).await;
    }
);

// A server died; what ends the wait came behind the cancel of a message that does not.
#[tokio::test]
async fn a_wait_ends_by_a_message_behind_a_cancel() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let wait = call("wait", json!({ "from": "b", "timeout_s": null }));
    stub.script(at("p"), [wait, asleep()]);
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["b", "y"]).await;
    app.process("p", json!({ "contacts": [contact("b")] }))
        .await;
    app.say_in("p", "go").await;
    turn_over(&mut socket, "p", 1).await;
    app.stop().await;
    let store = stored::open_at(app.database()).await;
    let thread = |id: &str| ThreadId::parse(id).unwrap();
    let message = |from: &str| Draft::message(&thread("p"), &thread(from), &format!("from {from}"));
    for draft in [message("y"), Draft::cancel(&thread("p"), 2), message("b")] {
        stored::append(&store, draft).await;
    }
    store.close().await;
    app.start_again().await;
    let asked = stub.nth(1, at("p")).await;
    assert!(asked.says("from b"), "{asked:?}");
}
