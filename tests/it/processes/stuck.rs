//! A thread that cannot go on tells those that depend on it: its parent, any thread that waits for
//! it, the gathering it is part of.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

fn spawn(label: &str) -> Answer {
    call(
        "spawn_thread",
        json!({ "label": label, "prompt": null, "payload": "begin" }),
    )
}

fn wait_for(from: &str) -> (&'static str, Value) {
    ("wait", json!({ "from": from, "timeout_s": null }))
}

fn contact_of(name: &str) -> Value {
    json!({ "contacts": [contact(name)] })
}

/// Returns the messages to a thread about another one that is stuck: its id and why.
fn stuck_in<'a>(log: &'a [Value], thread: &str) -> Vec<(&'a str, &'a str)> {
    let told = told(log, thread, &["thread-stuck"]);
    told.iter()
        .map(|e| {
            (
                e["payload"]["id"].as_str().unwrap(),
                e["payload"]["reason"].as_str().unwrap(),
            )
        })
        .collect()
}

// D3.15: a parent that waits for anybody sees its child's failure, in the log and in its next view; once, also over a crash.
on_sqlite!(
    d3_15_a_parent_is_told_that_the_turn_of_its_child_failed,
    |medium| {
        let stub = Stub::start().await;
        let name = "wait";
        let anybody = json!({ "from": null, "timeout_s": null });
        stub.script(at("p"), [spawn("sub"), call(name, anybody), asleep()]);
        stub.script(at("p.sub"), [text("never").never(), status(400)]);
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_RUNTIME__LEASE_MS", 600)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.say_in("p", "go").await;
        turn_over(&mut socket, "p", 1).await;
        stub.request(at("p.sub")).await;
        app.restart().await;
        let mut socket = app.socket().await;
        socket
            .subscribe(json!({ "type": "subscribe", "after": 0 }))
            .await;
        let stuck = socket
            .event("word of it", |e| {
                e["thread"] == "p" && has(e, "thread-stuck")
            })
            .await;
        assert_eq!(stuck["source"], "system");
        assert_eq!(
            (&stuck["payload"]["id"], &stuck["payload"]["from"]),
            (&json!("p.sub"), &json!("p.sub"))
        );
        assert!(
            said(&stuck).starts_with("<thread-stuck id=\"p.sub\" reason="),
            "{stuck}"
        );
        turn_over(&mut socket, "p", 2).await;
        let second = stub.nth(2, at("p")).await;
        assert!(
            second.batch().contains(&seq(&stuck)),
            "it is what the step is about: {second:?}"
        );
        assert!(
            second.says("`thread-stuck`"),
            "its prompt says what that means"
        );
        let log = app.public_log().await;
        let failure = told(&log, "p.sub", &["failure", "model"])[0];
        assert!(
            stuck["payload"]["reason"]
                .as_str()
                .unwrap()
                .contains(said(failure)),
            "{stuck}"
        );
        assert_eq!(stuck_in(&log, "p").len(), 1, "{}", story(&log));
        let child = app.get("/threads/p.sub").await.expect(200);
        assert_eq!(child["status"], "waiting", "it may be helped: {child}");
        rows_are_what_the_log_says(&mut app).await;
    }
);

// A parent that waits for this child by name, and a peer that waits for a contact, are woken by its failure.
on_sqlite!(
    whoever_waits_for_a_thread_is_woken_when_its_turn_fails,
    |medium| {
        let stub = Stub::start().await;
        let (name, sub) = wait_for("sub");
        stub.script(at("p"), [spawn("sub"), call(name, sub), asleep()]);
        stub.on(at("p.sub"), status(400));
        stub.script(at("peer"), [call(name, wait_for("b").1), asleep()]);
        stub.script(at("listener"), [call(name, wait_for("talk").1), asleep()]);
        stub.on(at("b"), status(400));
        stub.on(at("talk"), status(400));
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p", "b"]).await;
        app.conversation(json!({ "label": "talk" })).await;
        app.process("peer", contact_of("b")).await;
        app.process("listener", contact_of("talk")).await;
        for (waits, whom) in [("peer", "b"), ("listener", "talk")] {
            app.say_in(waits, "wait").await;
            turn_over(&mut socket, waits, 1).await;
            app.say_in(whom, "work").await;
            turn_over(&mut socket, waits, 2).await;
        }
        app.say_in("p", "go").await;
        turn_over(&mut socket, "p", 2).await;
        let log = app.public_log().await;
        for (thread, of) in [("p", "p.sub"), ("peer", "b"), ("listener", "talk")] {
            let told = stuck_in(&log, thread);
            assert_eq!(
                told.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
                [of],
                "{thread}: {}",
                story(&log)
            );
        }
        rows_are_what_the_log_says(&mut app).await;
    }
);

// A budget that puts a child to sleep is a reason, too; so is a cancelled turn. A thread that only waits is not stuck.
on_sqlite!(a_child_that_a_budget_puts_to_sleep_is_told_of, |medium| {
    let stub = Stub::start().await;
    let all = spawn("words").and(
        "spawn_thread",
        json!({ "label": "cut", "prompt": null, "payload": "begin" }),
    );
    let all = all.and(
        "spawn_thread",
        json!({ "label": "quiet", "prompt": null, "payload": "begin" }),
    );
    stub.script(at("p"), [all]);
    stub.on(at("p"), asleep());
    stub.on(at("p.words"), text("And on."));
    stub.on(at("p.cut"), asleep().never());
    stub.on(at("p.quiet"), asleep());
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_BUDGET__SELF_MESSAGES", 2)
        .start()
        .await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    app.say_in("p", "go").await;
    let stuck = |id: &'static str| {
        move |e: &Value| e["thread"] == "p" && has(e, "thread-stuck") && e["payload"]["id"] == id
    };
    let words = socket.event("word of the budget", stuck("p.words")).await;
    assert!(said(&words).contains("budget.self_messages"), "{words}");
    stub.request(at("p.cut")).await;
    app.post("/threads/p.cut/cancel", json!({}))
        .await
        .expect(200);
    let cut = socket.event("word of the cancel", stuck("p.cut")).await;
    assert!(said(&cut).contains("cancelled"), "{cut}");
    turn_over(&mut socket, "p.quiet", 1).await;
    let log = app.public_log().await;
    assert!(
        stuck_in(&log, "p").iter().all(|(id, _)| *id != "p.quiet"),
        "{}",
        story(&log)
    );
    let quiet = app.get("/threads/p.quiet").await.expect(200);
    assert_eq!(
        (&quiet["status"], &quiet["reason"]),
        (&json!("waiting"), &Value::Null)
    );
    rows_are_what_the_log_says(&mut app).await;
});

// Calls that a thread may no longer make put it to sleep before a model is asked: its parent hears of that, too.
on_sqlite!(a_child_whose_calls_are_used_up_is_told_of, |medium| {
    let stub = Stub::start().await;
    stub.on(at("main.sub"), text("And on."));
    stub.script(at("main"), [spawn("sub"), reply("It is at work.")]);
    stub.on(at("main"), reply("It is stuck."));
    let app = Setup::new(medium, &stub)
        .env("THINKD_BUDGET__THREAD_MODEL_CALLS", 4)
        .start()
        .await;
    let mut socket = app.socket().await;
    app.say_in("main", "go").await;
    let stuck = socket
        .event("word of it", |e| {
            e["thread"] == "main" && has(e, "thread-stuck")
        })
        .await;
    assert!(
        said(&stuck).contains("budget.thread_model_calls"),
        "{stuck}"
    );
    socket
        .event("what came of it", |e| {
            has(e, "response") && said(e) == "It is stuck."
        })
        .await;
    assert_eq!(stub.count(at("main.sub")), 4);
});

// Who begins to wait for a thread whose last turn has failed already is told so: nothing will happen there by itself.
on_sqlite!(
    whoever_waits_for_a_thread_whose_turn_has_just_failed_is_told,
    |medium| {
        let stub = Stub::start().await;
        let thinks = Gate::new();
        let (name, talk) = wait_for("talk");
        stub.script(at("listener"), [call(name, talk).held(&thinks), asleep()]);
        stub.script(at("talk"), [status(400), reply("Now.")]);
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        app.conversation(json!({ "label": "talk" })).await;
        app.process("listener", contact_of("talk")).await;
        app.say_in("listener", "wait").await;
        stub.request(at("listener")).await;
        app.say_in("talk", "work").await;
        turn_over(&mut socket, "talk", 1).await;
        thinks.open();
        turn_over(&mut socket, "listener", 2).await;
        let log = app.public_log().await;
        let told = stuck_in(&log, "listener");
        assert_eq!(told, [("talk", "its last turn failed")], "{}", story(&log));
        // What comes next is no failure any more.
        app.say_in("talk", "again").await;
        turn_over(&mut socket, "talk", 2).await;
        assert_eq!(stuck_in(&app.public_log().await, "listener").len(), 1);
        rows_are_what_the_log_says(&mut app).await;
    }
);
