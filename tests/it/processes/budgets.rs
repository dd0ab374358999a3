//! Expressive but bounded: every loop of threads ends at a limit, visibly, and something from outside sets it going again.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// Returns the budgets that a thread was told to have used up.
fn keys(log: &[Value], thread: &str) -> Vec<String> {
    let failures = told(log, thread, &["failure", "budget"]);
    let key = |e: &&Value| {
        said(e)
            .split_once('(')
            .and_then(|(_, rest)| rest.split(')').next())
            .unwrap_or("?")
            .to_owned()
    };
    failures.iter().map(key).collect()
}

// D3.32 T3.52: a thread that never comes to an end is stopped by the limit of messages to itself, however it sends them.
on_sqlite!(
    t3_52_a_thread_that_never_ends_is_stopped_visibly,
    |medium| {
        let stub = Stub::start().await;
        stub.on(at("words"), text("And on."));
        stub.on(at("thinks"), call("think", json!({ "thought": "and on" })));
        stub.on(at("main"), call("think", json!({ "thought": "and on" })));
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__SELF_MESSAGES", 3)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["words", "thinks"]).await;
        for thread in ["words", "thinks", "main"] {
            app.say_in(thread, "go").await;
            turn_over(&mut socket, thread, 4).await;
        }
        let last = app.public_log().await.pop().unwrap();
        silent_after(&mut socket, "words", &last, ms(300)).await;
        for thread in ["words", "thinks", "main"] {
            let log = app.public_log().await;
            assert_eq!(told(&log, thread, &["thought"]).len(), 3, "{}", story(&log));
            let said_so = |e: &&Value| {
                e["thread"] == thread
                    && has(e, "failure")
                    && said(e).contains("budget.self_messages")
            };
            assert!(log.iter().any(|e| said_so(&e)), "{thread}: {}", story(&log));
            // Where a thought is refused, it may say something else in the same turn: in six rounds at most.
            assert!(stub.count(at(thread)) <= 3 + 6, "{thread}");
        }
        let thread = app.get("/threads/words").await.expect(200);
        assert_eq!(thread["status"], "waiting");
        assert!(
            thread["reason"]
                .as_str()
                .unwrap()
                .contains("budget.self_messages"),
            "{thread}"
        );
        // Something from outside: it may think again.
        app.say_in("words", "more").await;
        turn_over(&mut socket, "words", 8).await;
        let log = app.public_log().await;
        assert_eq!(
            told(&log, "words", &["thought"]).len(),
            6,
            "{}",
            story(&log)
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D3.32 T3.52: a message to itself is one, whatever it is sent with.
on_sqlite!(
    t3_52_a_thread_that_writes_to_itself_for_ever_is_stopped_visibly,
    |medium| {
        let stub = Stub::start().await;
        let again = call("send", json!({ "to": ["self"], "text": "again" }));
        stub.on(
            at("p"),
            again.and("wait", json!({ "from": null, "timeout_s": null })),
        );
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__SELF_MESSAGES", 3)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.say_in("p", "go").await;
        let limit = |e: &Value| {
            e["thread"] == "p" && has(e, "failure") && said(e).contains("budget.self_messages")
        };
        let limit = socket.event("the limit", limit).await;
        let after = |e: &Value| e["thread"] == "p" && has(e, "ended") && seq(e) > seq(&limit);
        let last = socket.event("the end of its turn", after).await;
        silent_after(&mut socket, "p", &last, ms(300)).await;
        assert!(
            (3..=4).contains(&mail(&app.public_log().await, "p").len()),
            "{}",
            story(&app.public_log().await)
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D3.32: nor does making subthreads that end at once go on for ever: each is a message sent, and each end wakes its parent.
on_sqlite!(
    d3_32_a_thread_that_makes_subthreads_for_ever_is_stopped,
    |medium| {
        let stub = Stub::start().await;
        let spawn = json!({ "label": "sub", "prompt": null, "payload": "end" });
        let mut asked = 0;
        // Makes one in each turn, and then sleeps.
        stub.on_each(at("p"), move |_| {
            asked += 1;
            if asked % 2 == 1 {
                call("spawn_thread", spawn.clone())
            } else {
                asleep()
            }
        });
        stub.on(
            |request: &Request| request.thread != "p",
            call("terminate", json!({ "reason": "done" })),
        );
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_BUDGET__SENDS", 3)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.say_in("p", "go").await;
        socket
            .event("the limit", |e| {
                e["thread"] == "p" && has(e, "failure") && said(e).contains("comes from outside")
            })
            .await;
        turn_over(&mut socket, "p", 4).await;
        assert_eq!(
            told(&app.public_log().await, "p", &["thread-spawned"]).len(),
            3
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D3.32: a loop, a branch and a counter, by messages to itself alone.
on_sqlite!(
    d3_32_a_thread_counts_and_branches_by_messages_to_itself,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(at("p"), |request| {
            let batch = request.batch();
            let new = request
                .entries()
                .into_iter()
                .rfind(|entry| batch.contains(&entry.seq))
                .unwrap();
            match new
                .text
                .strip_prefix("count ")
                .and_then(|n| n.parse::<u32>().ok())
            {
                Some(5) => call("terminate", json!({ "reason": "counted to 5" })),
                Some(n) => call("think", json!({ "thought": format!("count {}", n + 1) })),
                None => call("think", json!({ "thought": "count 1" })),
            }
        });
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.say_in("p", "count").await;
        turn_over(&mut socket, "p", 6).await;
        let log = app.public_log().await;
        let counted: Vec<&str> = told(&log, "p", &["thought"])
            .into_iter()
            .map(said)
            .collect();
        assert_eq!(
            counted,
            ["count 1", "count 2", "count 3", "count 4", "count 5"]
        );
        assert_eq!(
            app.get("/threads/p").await.expect(200)["reason"],
            "counted to 5"
        );
    }
);

// D3.32: two threads that write to one another for ever come to their limit of sends; something from outside sets them going again.
on_sqlite!(
    d3_32_two_threads_that_answer_each_other_for_ever_are_stopped,
    |medium| {
        let stub = Stub::start().await;
        let to = |name: &str| {
            let send = call("send", json!({ "to": [name], "text": "your turn" }));
            send.and("wait", json!({ "from": null, "timeout_s": null }))
        };
        stub.on(at("b"), to("a"));
        stub.script(at("a"), (0..3).map(|_| to("b")));
        // Refused, it is asked again in the same turn: it gives up then.
        stub.script(at("a"), [to("b"), asleep()]);
        stub.on(at("a"), to("b"));
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_BUDGET__SENDS", 3)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["a"]).await;
        app.process("b", json!({ "contacts": [contact("a")] }))
            .await;
        // a knows b by what it is told.
        stub.clear();
        let connect = json!({ "name": "b", "thread": "b", "description": "b" });
        stub.script(
            at("a"),
            [call("connect", connect).and("wait", json!({ "from": null, "timeout_s": null }))],
        );
        stub.script(at("a"), (0..3).map(|_| to("b")));
        stub.script(at("a"), [to("b"), asleep()]);
        stub.on(at("a"), to("b"));
        stub.on(at("b"), to("a"));
        app.say_in("a", "connect").await;
        turn_over(&mut socket, "a", 1).await;
        app.say_in("a", "begin").await;
        let refused = socket
            .event("the limit", |e| e["payload"]["code"] == "send_limit")
            .await;
        turn_over(&mut socket, "a", 5).await;
        assert_eq!(refused["thread"], "a", "a began");
        let log = app.public_log().await;
        assert_eq!(mail(&log, "b").len(), 3, "{}", story(&log));
        assert_eq!(
            app.get("/threads/a").await.expect(200)["budget"]["sends"],
            3
        );
        assert!(
            told(&log, "a", &["result", "failure"])
                .iter()
                .any(|e| said(e).contains("comes from outside"))
        );
        app.say_in("a", "again").await;
        socket
            .event("a message more", |e| {
                e["thread"] == "b" && has(e, "message") && seq(e) > seq(&refused)
            })
            .await;
        app.post("/threads/b/end", json!({})).await.expect(200);
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D3.32: so many subthreads at a time; one with nothing to do makes room and is not lost, one at work is not put aside.
on_sqlite!(
    d3_32_an_idle_subthread_makes_room_and_is_not_lost,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let spawn = |label: &str| {
            let arguments = json!({ "label": label, "prompt": null, "payload": "begin" });
            call("spawn_thread", arguments)
        };
        stub.script(
            at("p"),
            [
                spawn("a"),
                asleep(),
                spawn("b"),
                asleep(),
                spawn("c"),
                asleep(),
                spawn("d"),
                asleep(),
            ],
        );
        stub.script(at("p.a"), [asleep()]);
        stub.on(at("p.b"), asleep().held(&gate));
        stub.on(at("p.c"), asleep().held(&gate));
        stub.on(Request::is_decision, asleep());
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__SUBTHREADS", 2)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        for turn in 1..=3 {
            app.say_in("p", "one more").await;
            turn_over(&mut socket, "p", turn).await;
            if turn == 1 {
                turn_over(&mut socket, "p.a", 1).await;
            }
        }
        let log = app.public_log().await;
        let aside = one(&log, &["thread-archived"]);
        assert_eq!(
            (&aside["thread"], &aside["payload"]["id"]),
            (&json!("p"), &json!("p.a")),
            "the idle one"
        );
        let a = app.get("/threads/p.a").await.expect(200);
        assert_eq!(
            (&a["archived"], &a["status"]),
            (&json!(true), &json!("waiting"))
        );
        // The other two are at work: no room.
        app.say_in("p", "one more").await;
        turn_over(&mut socket, "p", 4).await;
        let log = app.public_log().await;
        let refused = one(&log, &["system-thread-error"]);
        assert_eq!(refused["payload"]["code"], "subthread_limit");
        app.get("/threads/p.d")
            .await
            .expect_problem(404, "not-found");
        assert_eq!(
            app.get("/threads/p").await.expect(200)["budget"]["subthreads"],
            2
        );
        app.post(
            "/threads",
            json!({ "label": "e", "parent": "p", "kind": "process" }),
        )
        .await
        .expect(422);
        // What was put aside has its history, takes messages, and its end takes no place away from another.
        app.say_in("p.a", "still there?").await;
        turn_over(&mut socket, "p.a", 2).await;
        assert!(stub.nth(1, at("p.a")).await.says("begin"));
        app.post("/threads/p.a/end", json!({})).await.expect(200);
        assert_eq!(
            app.get("/threads/p").await.expect(200)["budget"]["subthreads"],
            2,
            "b and c"
        );
        gate.open();
        for thread in ["p.b", "p.c"] {
            turn_over(&mut socket, thread, 1).await;
        }
        app.post("/threads/p.b/end", json!({})).await.expect(200);
        assert_eq!(
            app.get("/threads/p").await.expect(200)["budget"]["subthreads"],
            1
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D3.32: so many timers, and so many contacts.
on_sqlite!(d3_32_timers_and_contacts_have_limits, |medium| {
    let stub = Stub::start().await;
    let timer = || json!({ "after_s": 1000, "note": "x" });
    let me = |name: &str| json!({ "name": name, "thread": "p", "description": "me" });
    let four = call("set_timer", timer())
        .and("set_timer", timer())
        .and("set_timer", timer());
    stub.script(
        at("p"),
        [
            four.and("connect", me("x"))
                .and("connect", me("y"))
                .and("connect", me("z"))
                .and("connect", me("x")),
            asleep(),
        ],
    );
    let setup = Setup::new(medium, &stub)
        .env("THINKD_TEST_BUDGET__TIMERS", 2)
        .env("THINKD_TEST_BUDGET__CONTACTS", 2);
    let mut app = setup.start().await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    app.say_in("p", "go").await;
    turn_over(&mut socket, "p", 1).await;
    let log = app.public_log().await;
    assert_eq!(with(&log, &["timer-set"]).len(), 2, "{}", story(&log));
    let failed: Vec<&str> = with(&log, &["result", "failure"])
        .into_iter()
        .map(said)
        .collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(
        failed[0].contains("timers are set already") && failed[1].contains("contacts already"),
        "{failed:?}"
    );
    assert_eq!(
        app.get("/threads/p").await.expect(200)["contacts"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    rows_are_what_the_log_says(&mut app).await;
});

// T3.53: calls and tokens of a thread and of a space are counted; when they are used up, no model is asked any more, visibly.
on_sqlite!(
    t3_53_a_thread_that_has_used_up_its_budget_asks_no_model,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("p"),
            [
                asleep().usage(400, 100, 0),
                asleep().usage(250, 50, 0),
                asleep().usage(100, 100, 0),
            ],
        );
        stub.on(Request::is_decision, asleep());
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__THREAD_TOKENS", 1000)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["p", "q"]).await;
        for (turn, used) in [(1, 500), (2, 800), (3, 1000), (4, 1000)] {
            app.say_in("p", "go").await;
            turn_over(&mut socket, "p", turn).await;
            assert_eq!(
                app.get("/threads/p").await.expect(200)["budget"]["tokens"],
                used
            );
        }
        assert_eq!(
            stub.count(at("p")),
            3,
            "the fourth was refused before the call"
        );
        let log = app.public_log().await;
        assert_eq!(keys(&log, "p"), ["budget.thread_tokens"], "{}", story(&log));
        app.say_in("q", "go").await;
        turn_over(&mut socket, "q", 1).await;
        assert_eq!(stub.count(at("q")), 1, "others go on");
        // A restart does not give it back.
        app.set_env("THINKD_BUDGET__SPACE_MODEL_CALLS", 5);
        app.restart().await;
        let mut socket = app.socket().await;
        app.say_in("p", "go").await;
        turn_over(&mut socket, "p", 5).await;
        app.say_in("q", "go").await;
        turn_over(&mut socket, "q", 2).await;
        assert_eq!((stub.count(at("p")), stub.count(at("q"))), (3, 2));
        // Of the space: the sixth call of all.
        app.say_in("q", "go").await;
        turn_over(&mut socket, "q", 3).await;
        assert_eq!(stub.count(at("q")), 2);
        let log = app.public_log().await;
        assert_eq!(
            keys(&log, "q"),
            ["budget.space_model_calls"],
            "{}",
            story(&log)
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D3.32: calls of a thread in all its life.
on_sqlite!(d3_32_a_thread_has_only_so_many_model_calls, |medium| {
    let stub = Stub::start().await;
    stub.on(at("p"), text("And on."));
    let app = Setup::new(medium, &stub)
        .env("THINKD_BUDGET__THREAD_MODEL_CALLS", 2)
        .start()
        .await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    app.say_in("p", "go").await;
    let last = turn_over(&mut socket, "p", 3).await;
    silent_after(&mut socket, "p", &last, ms(200)).await;
    assert_eq!(stub.count(at("p")), 2);
    assert_eq!(
        keys(&app.public_log().await, "p"),
        ["budget.thread_model_calls"]
    );
    let thread = app.get("/threads/p").await.expect(200);
    assert!(
        thread["reason"]
            .as_str()
            .unwrap()
            .contains("budget.thread_model_calls"),
        "{thread}"
    );
});
