//! Subthreads: their names, their depth, their work beside their parents, and the tree they make.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

fn spawn(label: &str) -> Answer {
    call(
        "spawn_thread",
        json!({ "label": label, "prompt": null, "payload": null }),
    )
}

/// The ids that were confirmed in a thread, in order.
fn assigned<'a>(log: &'a [Value], thread: &str) -> Vec<&'a str> {
    let spawned = told(log, thread, &["thread-spawned"]);
    spawned
        .iter()
        .map(|e| e["payload"]["assigned_id"].as_str().unwrap())
        .collect()
}

// D3.33 D3.34 D3.35 T3.06 T3.07: ids are the server's: a label that is taken gets a number, none gets a short one of its own.
on_sqlite!(t3_06_labels_are_wishes_and_ids_never_collide, |medium| {
    let stub = Stub::start().await;
    let spawn = |label: Value| json!({ "label": label, "prompt": null, "payload": "begin" });
    let research = || spawn(json!("research"));
    stub.script(
        at("p"),
        [
            call("spawn_thread", research())
                .and("spawn_thread", research())
                .and("spawn_thread", spawn(Value::Null))
                .and("spawn_thread", spawn(json!("parent")))
                .and("spawn_thread", spawn(json!("p.research"))),
            call(
                "send",
                json!({ "to": ["research", "research-2"], "text": "for both" }),
            )
            .and("wait", json!({ "from": null, "timeout_s": null })),
        ],
    );
    stub.on(Request::is_decision, asleep());
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    app.say_in("p", "make them").await;
    turn_over(&mut socket, "p", 1).await;
    let log = app.public_log().await;
    let ids = assigned(&log, "p");
    assert_eq!(
        (ids[0], ids[1], ids[3]),
        ("p.research", "p.research-2", "p.parent-2"),
        "{}",
        story(&log)
    );
    let drawn = ids[2].strip_prefix("p.").unwrap();
    assert!(
        drawn.starts_with("t-") && drawn.len() <= 16,
        "a short one: {drawn}"
    );
    assert_eq!(ids.len(), 4);
    // D3.33: an id of its own making is refused, visibly.
    let error = one(&log, &["system-thread-error"]);
    assert_eq!(
        (&error["payload"]["code"], &error["payload"]["unknown_id"]),
        (&json!("invalid_label"), &json!("p.research"))
    );
    for id in &ids {
        turn_over(&mut socket, id, 1).await;
    }
    turn_over(&mut socket, "p.research", 2).await;
    turn_over(&mut socket, "p.research-2", 2).await;
    let log = app.public_log().await;
    for id in ["p.research", "p.research-2"] {
        assert_eq!(
            mail(&log, id),
            [("p", "begin"), ("p", "for both")],
            "{}",
            story(&log)
        );
    }
    // Over the API just the same, and at the same time.
    let create = || {
        app.post(
            "/threads",
            json!({ "label": "research", "parent": "p", "kind": "process" }),
        )
    };
    let made = tokio::join!(create(), create(), create());
    let mut made: Vec<String> = [made.0, made.1, made.2]
        .map(|reply| reply.expect(201)["id"].as_str().unwrap().to_owned())
        .into();
    made.sort();
    assert_eq!(made, ["p.research-3", "p.research-4", "p.research-5"]);
    rows_are_what_the_log_says(&mut app).await;
});

// What a subthread is called, how deep it may lie and how many there may be does not depend on who makes it.
on_sqlite!(
    a_subthread_is_made_by_the_same_rules_over_http_and_by_a_tool,
    |medium| {
        let stub = Stub::start().await;
        let long = "l".repeat(32);
        let labels = [
            "main",
            "runs",
            "worker",
            "worker",
            "gone",
            &long,
            &long,
            "last",
            "one-too-many",
        ];
        for label in labels {
            stub.script(at("by-tool"), [spawn(label)]);
        }
        stub.script(at("by-tool.main"), [spawn("deeper"), asleep()]);
        stub.on(Request::is_decision, asleep());
        let settings = [
            ("THINKD_BUDGET__DEPTH", 2),
            ("THINKD_BUDGET__SUBTHREADS", 8),
        ];
        let setup = settings
            .iter()
            .fold(Setup::new(medium, &stub), |setup, (name, value)| {
                setup.env(name, value)
            });
        let mut app = setup.start().await;
        let mut socket = app.socket().await;
        processes(&app, &["over-http", "by-tool"]).await;
        // An id that was used up by somebody who has ended.
        for parent in ["over-http", "by-tool"] {
            let gone = json!({ "label": "gone", "parent": parent, "kind": "process" });
            app.post("/threads", gone).await.expect(201);
            app.post(&format!("/threads/{parent}.gone/end"), json!({}))
                .await
                .expect(200);
        }
        let mut over_http = Vec::new();
        for label in labels {
            let body = json!({ "label": label, "parent": "over-http", "kind": "process" });
            let reply = app.post("/threads", body).await;
            over_http.extend(reply.body["id"].as_str().map(str::to_owned));
            if label == "one-too-many" {
                assert!(
                    reply
                        .expect_problem(422, "unprocessable")
                        .to_string()
                        .contains("budget.subthreads")
                );
            }
        }
        app.say_in("by-tool", "make them").await;
        let refused = socket
            .event("the refusal", |e| has(e, "system-thread-error"))
            .await;
        assert_eq!(refused["payload"]["code"], "subthread_limit");
        let log = app.public_log().await;
        let by_tool: Vec<String> = assigned(&log, "by-tool")
            .into_iter()
            .map(str::to_owned)
            .collect();
        let made = |ids: &[String], parent: &str| -> Vec<String> {
            ids.iter()
                .map(|id| id.strip_prefix(&format!("{parent}.")).unwrap().to_owned())
                .collect()
        };
        let expected = [
            "main",
            "runs",
            "worker",
            "worker-2",
            "gone-2",
            &long,
            &format!("{}-2", &long[..28]),
            "last",
        ];
        assert_eq!(made(&over_http, "over-http"), expected);
        // The first that it was told of was made over HTTP.
        assert_eq!(made(&by_tool[1..], "by-tool"), expected, "{}", story(&log));
        // Deeper than is configured.
        let deeper = json!({ "label": "deeper", "parent": "over-http.main", "kind": "process" });
        let problem = app
            .post("/threads", deeper)
            .await
            .expect_problem(422, "unprocessable");
        assert!(
            problem["detail"].as_str().unwrap().contains("budget.depth"),
            "{problem}"
        );
        app.say_in("by-tool.main", "go deeper").await;
        let refused = socket
            .event("the refusal", |e| {
                e["thread"] == "by-tool.main" && has(e, "system-thread-error")
            })
            .await;
        assert_eq!(refused["payload"]["code"], "depth_limit");
        // A thread that has ended makes none.
        app.post("/threads/over-http/end", json!({}))
            .await
            .expect(200);
        let late = json!({ "label": "late", "parent": "over-http", "kind": "process" });
        app.post("/threads", late)
            .await
            .expect_problem(409, "thread-ended");
        rows_are_what_the_log_says(&mut app).await;
    }
);

// A thread has at most so many contacts, whoever adds them: over HTTP, by connect, or with a subthread, which is a contact.
on_sqlite!(
    a_subthread_by_a_tool_takes_the_room_of_a_contact,
    |medium| {
        let stub = Stub::start().await;
        stub.script(at("p"), [spawn("a"), spawn("b"), spawn("c"), asleep()]);
        stub.script(
        at("q"),
        [
            call("fan_out", json!({ "items": ["1", "2", "3"], "prompt": null, "gather": false, "timeout_s": null })),
            asleep(),
        ],
    );
        stub.on(Request::is_decision, asleep());
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_BUDGET__CONTACTS", 2)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["p", "q"]).await;
        for thread in ["p", "q"] {
            app.say_in(thread, "make them").await;
            turn_over(&mut socket, thread, 1).await;
        }
        let log = app.public_log().await;
        assert_eq!(
            assigned(&log, "p"),
            ["p.a", "p.b"],
            "control: as many as there may be"
        );
        assert_eq!(
            assigned(&log, "q"),
            [""; 0],
            "all of them or none: {}",
            story(&log)
        );
        for thread in ["p", "q"] {
            let refused = told(&log, thread, &["system-thread-error"]);
            assert_eq!(
                (refused.len(), &refused[0]["payload"]["code"]),
                (1, &json!("subthread_limit"))
            );
            assert!(
                refused[0]["payload"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("contacts already"),
                "{}",
                refused[0]
            );
        }
        // One that ends is a contact no more.
        app.post("/threads/p.a/end", json!({})).await.expect(200);
        stub.clear();
        stub.script(at("p"), [spawn("d"), asleep()]);
        stub.on(Request::is_decision, asleep());
        app.say_in("p", "one more").await;
        socket
            .event("one more", |e| {
                e["thread"] == "p" && e["payload"]["assigned_id"] == "p.d"
            })
            .await;
        rows_are_what_the_log_says(&mut app).await;
    }
);

// T3.09: without a first message it is there, confirmed, and sleeps; nobody asks a model for it.
on_sqlite!(t3_09_a_subthread_without_a_first_message_sleeps, |medium| {
    let stub = Stub::start().await;
    stub.script(at("p"), [spawn("quiet"), asleep()]);
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    app.say_in("p", "make it").await;
    let over = turn_over(&mut socket, "p", 1).await;
    let log = app.public_log().await;
    assert_eq!(assigned(&log, "p"), ["p.quiet"]);
    let thread = app.get("/threads/p.quiet").await.expect(200);
    assert_eq!(
        (&thread["status"], &thread["turn"], &thread["queued"]),
        (&json!("idle"), &json!(0), &json!(0))
    );
    silent_after(&mut socket, "p.quiet", &over, ms(200)).await;
    assert_eq!(stub.count(at("p.quiet")), 0);
    assert!(
        stub.nth(1, at("p"))
            .await
            .last()
            .contains("- quiet (p.quiet)"),
        "it is a contact at once"
    );
    // It works when it is written to.
    stub.on(
        at("p.quiet"),
        call("terminate", json!({ "reason": "done" })),
    );
    app.say_in("p.quiet", "wake up").await;
    turn_over(&mut socket, "p.quiet", 1).await;
});

// T3.11 D3.32: subthreads of subthreads, as deep as is configured; deeper is a visible refusal.
on_sqlite!(t3_11_ids_nest_and_the_depth_is_limited, |medium| {
    let stub = Stub::start().await;
    let spawn = |label: &str| {
        let arguments = json!({ "label": label, "prompt": null, "payload": "go deeper" });
        call("spawn_thread", arguments).and("wait", json!({ "from": null, "timeout_s": null }))
    };
    stub.script(at("p"), [spawn("a"), asleep()]);
    stub.script(at("p.a"), [spawn("b"), asleep()]);
    stub.script(at("p.a.b"), [spawn("c"), asleep()]);
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_BUDGET__DEPTH", 3)
        .start()
        .await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    app.say_in("p", "go").await;
    for thread in ["p", "p.a", "p.a.b"] {
        turn_over(&mut socket, thread, 1).await;
    }
    let log = app.public_log().await;
    assert_eq!(
        (assigned(&log, "p"), assigned(&log, "p.a")),
        (vec!["p.a"], vec!["p.a.b"])
    );
    let error = one(&log, &["system-thread-error"]);
    assert_eq!(
        (&error["thread"], &error["payload"]["code"]),
        (&json!("p.a.b"), &json!("depth_limit"))
    );
    assert!(
        stub.nth(1, at("p.a.b")).await.seqs().contains(&seq(error)),
        "told before the next call"
    );
    assert_eq!(
        app.get("/threads").await.expect(200)["items"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    app.post(
        "/threads",
        json!({ "label": "c", "parent": "p.a.b", "kind": "process" }),
    )
    .await
    .expect(422);
    rows_are_what_the_log_says(&mut app).await;
});

// D3.13 T3.14: neither a parent nor a sibling that is in the middle of a model call keeps a subthread from finishing.
on_sqlite!(
    t3_14_a_subthread_finishes_while_parent_and_sibling_are_blocked,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let spawn = |label: &str| json!({ "label": label, "prompt": null, "payload": "begin" });
        let both = call("spawn_thread", spawn("slow")).and("spawn_thread", spawn("quick"));
        stub.script(at("p"), [both, asleep().held(&gate)]);
        stub.on(at("p.slow"), asleep().held(&gate));
        stub.script(
            at("p.quick"),
            [
                text("one"),
                text("two"),
                call("terminate", json!({ "reason": "three" })),
            ],
        );
        stub.on(at("p"), asleep());
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.say_in("p", "go").await;
        turn_over(&mut socket, "p.quick", 3).await;
        let log = app.public_log().await;
        let over: Vec<&str> = with(&log, &["turn", "ended"])
            .iter()
            .map(|e| e["thread"].as_str().unwrap())
            .collect();
        assert_eq!(
            over,
            ["p.quick"; 3],
            "the others are still at their first: {}",
            story(&log)
        );
        assert_eq!(
            app.get("/threads/p.quick").await.expect(200)["status"],
            "done"
        );
        assert_eq!((stub.count(at("p")), stub.count(at("p.slow"))), (2, 1));
        gate.open();
        turn_over(&mut socket, "p.slow", 1).await;
        turn_over(&mut socket, "p", 2).await;
        assert!(
            stub.nth(2, at("p"))
                .await
                .says("thread-ended id=\"p.quick\""),
            "then it hears of it"
        );
    }
);

// D3.14: a subthread has a history of its own; what its parent says and hears later is not in it, nor the other way round.
on_sqlite!(
    d3_14_a_subthread_thinks_with_a_history_of_its_own,
    |medium| {
        let stub = Stub::start().await;
        let spawn = json!({ "label": "sub", "prompt": "Look for owls.", "payload": "the task" });
        stub.script(
            at("p"),
            [call("spawn_thread", spawn).saying("parents think this")],
        );
        stub.on(Request::is_decision, asleep());
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.say_in("p", "before").await;
        turn_over(&mut socket, "p", 1).await;
        turn_over(&mut socket, "p.sub", 1).await;
        app.say_in("p", "later").await;
        turn_over(&mut socket, "p", 2).await;
        app.say_in("p.sub", "only here").await;
        turn_over(&mut socket, "p.sub", 2).await;
        app.say_in("p", "at last").await;
        turn_over(&mut socket, "p", 3).await;
        let last = stub.nth(1, at("p.sub")).await;
        for (text, is_there) in [
            ("the task", true),
            ("Look for owls.", true),
            ("only here", true),
            ("before", false),
            ("later", false),
            ("parents think this", false),
        ] {
            assert_eq!(last.says(text), is_there, "{text}: {last:?}");
        }
        let above = stub.nth(3, at("p")).await;
        assert!(
            above.says("later") && above.says("parents think this") && !above.says("only here"),
            "{above:?}"
        );
    }
);

// D3.31: which threads there are, below whom, and what they do.
on_sqlite!(d3_31_the_tree_of_threads_can_be_fetched, |medium| {
    let stub = Stub::start().await;
    let wait = json!({ "from": "parent", "timeout_s": 60 });
    stub.on(at("p.a"), call("wait", wait));
    stub.on(
        at("p.a.deep"),
        call("terminate", json!({ "reason": "enough" })),
    );
    stub.on(at("p.b"), asleep().never());
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    for (parent, label) in [("p", "a"), ("p.a", "deep"), ("p", "b"), ("p", "c")] {
        app.post(
            "/threads",
            json!({ "label": label, "parent": parent, "kind": "process" }),
        )
        .await
        .expect(201);
    }
    app.say_in("p.a", "go").await;
    turn_over(&mut socket, "p.a", 1).await;
    app.say_in("p.a.deep", "go").await;
    app.say_in("p.b", "go").await;
    // Its parent hears of that end while it waits for its own parent: it sleeps on.
    socket
        .event("word of it", |e| {
            e["thread"] == "p.a" && has(e, "thread-ended")
        })
        .await;
    stub.request(at("p.b")).await;
    let row = |row: &Value| {
        [
            &row["id"],
            &row["parent"],
            &row["status"],
            &row["waiting_for"],
        ]
        .map(Clone::clone)
    };
    let rows: Vec<[Value; 4]> = app.pages("/threads?").await.iter().map(row).collect();
    let expected = [
        [json!("p"), Value::Null, json!("idle"), Value::Null],
        [json!("p.a"), json!("p"), json!("waiting"), json!("p")],
        [json!("p.a.deep"), json!("p.a"), json!("done"), Value::Null],
        [json!("p.b"), json!("p"), json!("thinking"), Value::Null],
        [json!("p.c"), json!("p"), json!("idle"), Value::Null],
    ];
    assert_eq!(rows, expected);
    assert_eq!(
        app.get("/threads/p").await.expect(200)["budget"]["subthreads"],
        3
    );
    // The history of a tree, too.
    let below = app
        .pages("/events?order=asc&thread=p.a&subtree=true&")
        .await;
    assert!(
        below.iter().any(|e| e["thread"] == "p.a.deep")
            && below.iter().all(|e| e["thread"] != "p.b")
    );
});

// T3.12 D3.16 D3.18 D3.19 D3.15: what is sent to a thread that is not there is told to the sender, with a hint, and makes none.
on_sqlite!(
    t3_12_an_unknown_thread_is_an_error_and_stays_unknown,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("p"),
            [
                call("send", json!({ "to": ["bad"], "text": "hello" })),
                asleep(),
            ],
        );
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        let before = app.pages("/threads?").await.len();
        app.say_in("p", "go").await;
        turn_over(&mut socket, "p", 1).await;
        let log = app.public_log().await;
        let error = one(&log, &["system-thread-error"]);
        let payload = &error["payload"];
        assert_eq!(
            (&error["thread"], &error["source"]),
            (&json!("p"), &json!("system"))
        );
        assert_eq!(
            (&payload["unknown_id"], &payload["code"]),
            (&json!("bad"), &json!("unknown_thread"))
        );
        assert!(
            payload["message"]
                .as_str()
                .unwrap()
                .contains("spawn_thread"),
            "a hint: {error}"
        );
        let element = said(error);
        assert!(
            element.starts_with(
                "<system-thread-error unknown_id=\"bad\" code=\"unknown_thread\" message="
            ),
            "{element}"
        );
        let second = stub.nth(1, at("p")).await;
        let shown = second
            .entries()
            .into_iter()
            .find(|entry| entry.seq == seq(error))
            .unwrap();
        assert_eq!(
            (shown.who.as_str(), shown.text.as_str()),
            ("system", element)
        );
        assert_eq!(app.pages("/threads?").await.len(), before);
        app.get("/threads/bad")
            .await
            .expect_problem(404, "not-found");
    }
);
