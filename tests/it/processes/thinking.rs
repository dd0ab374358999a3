//! Thinking in the open: steps, the messages that cause them, and their traces in the log and in
//! the next request.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// Asserts that every request of a thread shows every event of it that a model may see up to the
/// request's batch, in order, and nothing else.
fn shows_all(log: &[Value], requests: &[std::sync::Arc<Request>], thread: &str) {
    let hidden = |e: &Value| e["modality"] == "state" || has(e, "debug");
    let all: Vec<i64> = log
        .iter()
        .filter(|e| e["thread"] == thread && !hidden(e))
        .map(seq)
        .collect();
    for request in requests {
        let seqs = request.seqs();
        assert!(seqs.is_sorted() && !seqs.is_empty());
        assert_eq!(
            seqs,
            all[..seqs.len()],
            "without gaps, from the first: {request:?}"
        );
        assert!(
            request.batch().iter().all(|at| seqs.contains(at)),
            "what it is about is there: {request:?}"
        );
    }
}

// D3.01 D3.02 D3.03 D3.04 D3.08 D3.09 D3.28 D0.03: k messages to itself and an answer are k + 1 calls, each with all that was before;
// then silence. The log has every one of them, and one answer.
on_sqlite!(
    d3_08_iteration_is_messages_to_itself_until_the_answer,
    |medium| {
        let stub = Stub::start().await;
        let think = |text: &str| call("think", json!({ "thought": text }));
        stub.script(
            at("main"),
            [
                think("first, the owls"),
                think("then the mice"),
                think("compare"),
                reply("Owls win."),
            ],
        );
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        app.say_in("main", "Who wins?").await;
        let last = turn_over(&mut socket, "main", 4).await;
        silent_after(&mut socket, "main", &last, ms(200)).await;
        let log = app.log().await;
        let requests = stub.all(at("main"));
        assert_eq!(
            requests.len(),
            4,
            "a call for the question, and one a thought"
        );
        shows_all(&log, &requests, "main");
        assert_eq!(said(one(&log, &["response"])), "Owls win.");
        let thoughts: Vec<&str> = with(&log, &["thought"]).into_iter().map(said).collect();
        assert_eq!(thoughts, ["first, the owls", "then the mice", "compare"]);
        for (request, thought) in requests[1..].iter().zip(&thoughts) {
            let batch = request.batch();
            let about = request
                .entries()
                .into_iter()
                .find(|entry| batch == [entry.seq])
                .unwrap();
            assert_eq!(
                (about.who.as_str(), about.text.as_str()),
                ("thought", *thought),
                "{request:?}"
            );
        }
        // D3.02: nothing is asked without a cause in the log: each turn names the message it is about.
        let causes: Vec<Value> = with(&log, &["turn", "started"])
            .iter()
            .map(|e| e["payload"]["batch"].clone())
            .collect();
        let mut messages: Vec<i64> = with(&log, &["thought"]).into_iter().map(seq).collect();
        messages.insert(0, seq(one(&log, &["input"])));
        assert_eq!(
            causes,
            messages.iter().map(|at| json!([at])).collect::<Vec<_>>()
        );
        assert_eq!(
            with(&log, &["call:decision"]).len(),
            4,
            "every call is on record"
        );
        envelope::check_turns(&log, "main");
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D0.09 D0.12 D3.07: what the model wrote and what was made of it are events each: words, calls, and what comes next.
on_sqlite!(
    d0_09_a_thought_and_what_was_read_out_of_it_are_both_in_the_log,
    |medium| {
        let stub = Stub::start().await;
        let sends = call("send", json!({ "to": ["c", "self"], "text": "hello" }))
            .saying("I had better tell them both.");
        stub.script(at("p"), [sends, asleep().saying("Now I wait."), asleep()]);
        stub.on(at("c"), asleep());
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["c"]).await;
        app.process("p", json!({ "contacts": [contact("c")] }))
            .await;
        app.say_in("p", "go").await;
        let first = turn_over(&mut socket, "p", 1).await;
        let second = turn_over(&mut socket, "p", 2).await;
        let log = app.log().await;
        let of = |turn: i64| {
            let of_turn = log
                .iter()
                .filter(move |e| e["thread"] == "p" && e["payload"]["turn"] == turn);
            of_turn.map(|e| tags(e).join(" ")).collect::<Vec<_>>()
        };
        let expected = [
            "turn started turn:1",
            "debug call:decision",
            "decision",
            "decision action tool:send",
            "result tool:send",
        ];
        assert_eq!(of(1)[..5], expected, "{}", story(&log));
        assert_eq!(
            said(with(&log, &["decision"])[0]),
            "I had better tell them both."
        );
        let action = with(&log, &["action", "tool:send"])[0];
        assert_eq!(
            action["payload"]["arguments"],
            json!({ "to": ["c", "self"], "text": "hello" })
        );
        assert_eq!(
            one(&log, &["result", "tool:send"])["payload"]["output"],
            json!({ "sent": ["c", "self"] })
        );
        assert_eq!(
            (mail(&log, "c"), mail(&log, "p")),
            (vec![("p", "hello")], vec![("p", "hello")])
        );
        // D0.12: going on is a message to itself, waiting is said with the end.
        assert!(
            first["payload"]["wait"].is_null() && second["payload"]["wait"].is_object(),
            "{first} {second}"
        );
        assert!(
            of(2).contains(&"decision action tool:wait".to_owned()),
            "{:?}",
            of(2)
        );
    }
);

// D3.15 D3.16: whatever a thread tries that cannot be, it is told before it is asked again, and lives.
on_sqlite!(d3_16_nothing_that_a_thread_tries_fails_silently, |medium| {
    let stub = Stub::start().await;
    let tries = [
        call("send", json!({ "to": ["nobody"], "text": "x" })),
        call("send", json!({ "to": [], "text": "x" })),
        call("send", json!({ "to": ["self"], "text": " " })),
        call("wait", json!({ "from": "nobody", "timeout_s": 1 })),
        call("wait", json!({ "from": null, "timeout_s": -1 })),
        call(
            "connect",
            json!({ "name": "x", "thread": "nowhere", "description": "" }),
        ),
        call(
            "connect",
            json!({ "name": "self", "thread": "p", "description": "" }),
        ),
        call("disconnect", json!({ "name": "nobody" })),
        call(
            "spawn_thread",
            json!({ "label": "a.b", "prompt": null, "payload": null }),
        ),
        call("clear_context", json!({ "keep": -3 })),
        call("set_timer", json!({ "after_s": -1, "note": "x" })),
        call("plan", json!({ "condition": "x" })),
        call("terminate", json!({})),
        call("no_such_tool", json!({ "x": 1 })),
        call_raw("think", "{\"thought\": \"broken"),
    ];
    let many = tries.len();
    stub.script(at("p"), tries);
    stub.on(at("p"), asleep());
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TURN__MAX_ROUNDS", 100)
        .start()
        .await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    app.say_in("p", "go").await;
    let ended = turn_over(&mut socket, "p", 1).await;
    assert_eq!(ended["payload"]["outcome"], "done", "{ended}");
    let log = app.public_log().await;
    let failures = with(&log, &["result", "failure"]);
    assert_eq!(failures.len(), many, "{}", story(&log));
    let requests = stub.all(at("p"));
    assert_eq!(requests.len(), many + 1);
    for (failure, request) in failures.iter().zip(&requests[1..]) {
        let shown = request
            .entries()
            .into_iter()
            .find(|entry| entry.seq == seq(failure));
        let shown = shown.unwrap_or_else(|| panic!("it is not told of {failure}"));
        assert!(
            shown.who.ends_with("failed") && shown.text.len() > 10,
            "{shown:?}"
        );
    }
    let thread = app.get("/threads/p").await.expect(200);
    assert_eq!(
        (&thread["status"], &thread["contacts"]),
        (&json!("waiting"), &json!([])),
        "alive, and unchanged"
    );
    assert_eq!(app.pages("/threads?").await.len(), 1);
    rows_are_what_the_log_says(&mut app).await;
});

// D3.24 D3.28: what it planned, spawned and was told is in its log, an entry each, in order, and in its next request.
on_sqlite!(
    d3_28_an_export_of_a_thread_has_everything_it_did,
    |medium| {
        let stub = Stub::start().await;
        let plan = json!({ "condition": "found", "steps": [{ "text": "ask", "done": false }] });
        stub.script(
            at("p"),
            [
                call("plan", plan)
                    .and(
                        "spawn_thread",
                        json!({ "label": "sub", "prompt": null, "payload": null }),
                    )
                    .and(
                        "set_timer",
                        json!({ "after_s": 1000, "note": "look again" }),
                    )
                    .and("think", json!({ "thought": "that is all" }))
                    .saying("A plan first."),
                asleep(),
                asleep(),
            ],
        );
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.say_in("p", "find it").await;
        turn_over(&mut socket, "p", 1).await;
        let exported = app.pages("/events?order=asc&thread=p&").await;
        let steps: [&[&str]; 9] = [
            &["input"],
            &["turn", "started"],
            &["set:plan"],
            &["thread-spawned"],
            &["action", "tool:set_timer"],
            &["set:timer"],
            &["timer-set"],
            &["thought"],
            &["turn", "ended"],
        ];
        let told_of: Vec<i64> = steps
            .iter()
            .map(|wanted| {
                seq(with(&exported, wanted)
                    .first()
                    .unwrap_or_else(|| panic!("{wanted:?}: {}", story(&exported))))
            })
            .collect();
        assert!(told_of.is_sorted(), "{told_of:?}: {}", story(&exported));
        turn_over(&mut socket, "p", 2).await;
        let next = stub.all(at("p")).pop().unwrap();
        for text in [
            "A plan first.",
            "\"condition\":\"found\"",
            "thread-spawned",
            "timer-set",
            "that is all",
        ] {
            assert!(next.says(text), "{text}: {next:?}");
        }
        shows_all(&app.log().await, &stub.all(at("p")), "p");
    }
);

// D3.29 D3.30 T3.31 T3.32: tools, threads and itself are reached the same way, and only what says so ends: router, worker with a
// tool, sink, each received once.
on_sqlite!(
    t3_31_a_chain_of_threads_and_a_tool_passes_a_text_on,
    |medium| {
        let stub = Stub::start().await;
        let pass = |to: &str, text: &str| {
            call("send", json!({ "to": [to], "text": text }))
                .and("terminate", json!({ "reason": "passed on" }))
        };
        stub.on(at("router"), pass("worker", "shout: owls"));
        let note = json!({ "key": "upper", "content": "OWLS", "related_keys": [] });
        stub.script(
            at("worker"),
            [
                call("state_put", note),
                call("state_get", json!({ "key": "upper" })),
                pass("sink", "OWLS"),
            ],
        );
        stub.on(
            at("sink"),
            call("terminate", json!({ "reason": "received" })),
        );
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["sink"]).await;
        app.process("worker", json!({ "contacts": [contact("sink")] }))
            .await;
        app.process("router", json!({ "contacts": [contact("worker")] }))
            .await;
        app.say_in("router", "owls").await;
        turn_over(&mut socket, "sink", 1).await;
        let log = app.public_log().await;
        assert_eq!(
            mail(&log, "worker"),
            [("router", "shout: owls")],
            "{}",
            story(&log)
        );
        assert_eq!(mail(&log, "sink"), [("worker", "OWLS")]);
        assert_eq!(
            (
                stub.count(at("router")),
                stub.count(at("worker")),
                stub.count(at("sink"))
            ),
            (1, 3, 1)
        );
        assert!(
            stub.nth(2, at("worker"))
                .await
                .entries()
                .iter()
                .any(|e| e.who.starts_with("result state_get") && e.text.contains("OWLS"))
        );
        // D3.29: a call of a tool and a message to a thread leave the same two events: an action and its result.
        for tool in [
            "tool:state_put",
            "tool:state_get",
            "tool:send",
            "tool:terminate",
        ] {
            let [action, result] =
                ["action", "result"].map(|what| told(&log, "worker", &[what, tool]));
            assert_eq!(
                (action.len(), result.len()),
                (1, 1),
                "{tool}: {}",
                story(&log)
            );
            assert_eq!(
                action[0]["payload"]["call_id"],
                result[0]["payload"]["call_id"]
            );
            assert!(action[0]["payload"]["arguments"].is_object());
        }
    }
);

// T3.34: a model that takes too long is a failure in the log, and the thread takes the next message.
on_sqlite!(
    t3_34_what_takes_too_long_is_a_failure_and_the_thread_lives,
    |medium| {
        let stub = Stub::start().await;
        stub.script(at("p"), [text("never").never(), asleep()]);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TURN__DECISION_TIMEOUT_MS", 200)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.say_in("p", "go").await;
        let ended = turn_over(&mut socket, "p", 1).await;
        assert_eq!(ended["payload"]["outcome"], "failed");
        let log = app.public_log().await;
        let failure = one(&log, &["failure", "timeout"]);
        assert!(said(failure).contains("200 ms"), "{failure}");
        let thread = app.get("/threads/p").await.expect(200);
        assert_eq!(
            thread["status"], "waiting",
            "it does not try again by itself"
        );
        assert!(
            thread["reason"].as_str().unwrap().contains("failed"),
            "{thread}"
        );
        app.say_in("p", "still there?").await;
        turn_over(&mut socket, "p", 2).await;
        assert!(
            stub.nth(1, at("p")).await.seqs().contains(&seq(failure)),
            "and it knows"
        );
    }
);
