//! Several subthreads for one purpose, and the watches of a thread.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

fn asleep() -> Answer {
    call("wait", json!({ "from": null, "timeout_s": null }))
}

fn ends(reason: &str) -> Answer {
    call("terminate", json!({ "reason": reason }))
}

fn fan_out(items: &[&str], gather: bool) -> Answer {
    call(
        "fan_out",
        json!({ "items": items, "prompt": "Do your part.", "gather": gather, "timeout_s": null }),
    )
}

/// Requests of the subthreads of `main`, each of which works on this text.
fn part(text: &'static str) -> impl Fn(&Request) -> bool + Send + Clone {
    move |r| r.is_decision() && r.thread.starts_with("main.") && r.says(text)
}

// T3.54: five items, two fail, results out of order: told once, complete, by index.
on_sqlite!(
    t3_54_results_of_a_fan_out_are_gathered_by_index_with_failures,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("main"),
            [
                fan_out(&["item a", "item b", "item c", "item d", "item e"], true),
                reply("Sent out."),
                reply("All back."),
            ],
        );
        let gate = Gate::new();
        stub.script(part("item a"), [ends("A").held(&gate)]);
        stub.on(
            part("item b"),
            text("<send").and("terminate", json!({ "reasn": 1 })),
        );
        stub.script(part("item c"), [ends("C")]);
        stub.on(part("item d"), status(400));
        stub.script(part("item e"), [ends("E")]);
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.say_in("main", "go").await;
        assert_eq!(said(&socket.response().await), "Sent out.");
        // Two do not end well, each in its way; nobody has to end them.
        for index in [1, 2, 3, 4] {
            let told = if index % 2 == 0 {
                "thread-ended"
            } else {
                "thread-stuck"
            };
            socket
                .event("what a part came to", |e| {
                    e["thread"] == "main"
                        && has(e, told)
                        && e["payload"]["gather"]["index"] == index
                })
                .await;
        }
        assert_eq!(
            stub.count(at("main")),
            2,
            "no part by itself wakes the parent"
        );
        gate.open();
        assert_eq!(said(&socket.response().await), "All back.");
        let log = app.public_log().await;
        let gathered = one(&log, &["gathered"]);
        let results: Vec<(i64, bool, &str)> = gathered["payload"]["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| {
                (
                    r["index"].as_i64().unwrap(),
                    r["ok"].as_bool().unwrap(),
                    r["text"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            [results[0], results[2], results[4]],
            [(0, true, "A"), (2, true, "C"), (4, true, "E")]
        );
        assert!(
            results[1].2.contains("turn.max_rounds") && results[3].2.contains("400"),
            "{results:?}"
        );
        assert!(!results[1].1 && !results[3].1, "{results:?}");
        assert_eq!(
            (
                &gathered["payload"]["total"],
                &gathered["payload"]["successful"]
            ),
            (&json!(5), &json!(3))
        );
        assert!(
            stub.nth(2, at("main"))
                .await
                .seqs()
                .contains(&seq(gathered))
        );
        assert_eq!(stub.count(at("main")), 3);
        assert_eq!(
            app.get("/threads/main").await.expect(200)["budget"]["subthreads"],
            2,
            "two are there, and stuck"
        );
    }
);

// A gathered thread was sent out for one answer: whose turn ends in plain text has given it, whatever it looked up before.
on_sqlite!(
    a_gathered_thread_that_answers_in_plain_text_is_done_with_that,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("main"),
            [
                fan_out(&["item a", "item b", "item c"], true),
                reply("Sent out."),
                reply("All back."),
            ],
        );
        stub.script(part("item a"), [text("The answer is A.")]);
        stub.script(
            part("item b"),
            [call("view_contacts", json!({})), text("The answer is B.")],
        );
        // The control: a thought is no answer, nor are words beside a call.
        stub.script(
            part("item c"),
            [
                call("think", json!({ "thought": "hm" })).saying("Let me think."),
                text("It is C."),
            ],
        );
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.say_in("main", "go").await;
        assert_eq!(said(&socket.response().await), "Sent out.");
        assert_eq!(said(&socket.response().await), "All back.");
        let log = app.public_log().await;
        let gathered = one(&log, &["gathered"]);
        let texts: Vec<&str> = gathered["payload"]["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["text"].as_str().unwrap())
            .collect();
        assert_eq!(
            texts,
            ["The answer is A.", "The answer is B.", "It is C."],
            "{}",
            story(&log)
        );
        assert_eq!(gathered["payload"]["successful"], 3);
        assert_eq!(
            stub.count(|r| r.thread.starts_with("main.")),
            1 + 2 + 2,
            "none is asked again"
        );
        let children = app
            .pages("/threads?")
            .await
            .into_iter()
            .filter(|t| t["id"] != "main");
        assert!(
            children
                .map(|t| t["status"].clone())
                .all(|status| status == "done")
        );
    }
);

// What is gathered is told to whom it is for, whoever that waits for; a step that only makes room for the next wakes nobody, and
// leaves alone what else waits.
on_sqlite!(
    what_is_gathered_wakes_a_parent_that_waits_for_somebody_else,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let waits = || call("wait", json!({ "from": "b", "timeout_s": 100 }));
        let items =
            json!({ "items": ["item a"], "prompt": null, "gather": true, "timeout_s": null });
        let late = json!({ "items": ["item l"], "prompt": null, "gather": true, "timeout_s": 1.5 });
        let steps = json!({ "steps": ["step one", "step two"], "prompt": null, "timeout_s": null });
        stub.script(at("all"), [call("fan_out", items), waits(), asleep()]);
        stub.script(at("late"), [call("fan_out", late), waits(), asleep()]);
        stub.script(at("steps"), [call("sequence", steps), waits(), asleep()]);
        let sub = |text: &'static str| move |r: &Request| r.thread.contains('.') && r.says(text);
        stub.script(sub("item a"), [ends("A").held(&gate)]);
        stub.on(sub("item l"), asleep().never());
        stub.script(sub("step two"), [ends("2")]);
        stub.script(sub("step one"), [ends("1").held(&gate)]);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_BUDGET__TIMER_MS", 1)
            .start()
            .await;
        let mut socket = app.socket().await;
        app.process("b", json!({})).await;
        for thread in ["late", "all", "steps"] {
            let contacts = json!([{ "name": "b", "thread": "b", "description": "b" }]);
            app.process(thread, json!({ "contacts": contacts })).await;
            app.say_in(thread, "go").await;
            socket
                .event("its wait", |e| {
                    e["thread"] == thread && has(e, "turn") && has(e, "ended")
                })
                .await;
        }
        let other = app.say_in("steps", "not awaited").await["events"][0]["seq"]
            .as_i64()
            .unwrap();
        gate.open();
        for thread in ["all", "late", "steps"] {
            let told = |e: &Value| e["thread"] == thread && has(e, "gathered");
            let told = socket.event("the report", told).await;
            let request = stub.nth(2, at(thread)).await;
            assert!(
                request.seqs().contains(&seq(&told)),
                "{thread}: {request:?}"
            );
            socket
                .event("its turn's end", |e| {
                    e["thread"] == thread && has(e, "ended") && seq(e) > seq(&told)
                })
                .await;
            assert_eq!(stub.count(at(thread)), 3, "a step in between asks no model");
        }
        let last = stub.nth(2, at("steps")).await;
        assert!(
            last.batch().contains(&other),
            "what waited is in the batch of the turn that was one: {last:?}"
        );
    }
);

// A parent that waits for one of those it gathers is woken by that one.
on_sqlite!(
    a_parent_that_waits_for_one_of_those_it_gathers_is_woken_by_it,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let items = json!({ "items": ["item a", "item b"], "prompt": null, "gather": true, "timeout_s": null });
        stub.script(at("p"), [call("fan_out", items)]);
        stub.script(
            at("p"),
            [
                call("wait", json!({ "from": "g-c1-0-0-0", "timeout_s": 100 })),
                asleep(),
                asleep(),
            ],
        );
        let sub =
            |text: &'static str| move |r: &Request| r.thread.starts_with("p.") && r.says(text);
        stub.script(sub("item a"), [ends("A").held(&gate)]);
        stub.on(sub("item b"), asleep().never());
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.process("p", json!({})).await;
        app.say_in("p", "go").await;
        socket
            .event("the wait", |e| {
                e["thread"] == "p" && has(e, "turn") && has(e, "ended")
            })
            .await;
        let waiting = app.get("/threads/p").await.expect(200);
        assert_eq!(waiting["waiting_for"], "p.g-c1-0-0-0", "{waiting}");
        gate.open();
        socket
            .event("the next turn", |e| {
                e["thread"] == "p" && e["payload"]["turn"] == 2 && has(e, "ended")
            })
            .await;
        let log = app.public_log().await;
        let part = one(&log, &["thread-ended"]);
        assert_eq!(
            part["payload"]["gather"]["index"], 0,
            "it is a part all the same: {part}"
        );
        assert!(stub.nth(2, at("p")).await.batch().contains(&seq(part)));
    }
);

// Items beyond the limit of subthreads: as many idle ones are put aside, each once; and no voice speaks in subthreads.
on_sqlite!(
    a_fan_out_puts_as_many_aside_as_it_needs_room_for,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("main"),
            [fan_out(&["item a", "item b"], false), reply("One.")],
        );
        stub.script(
            at("main"),
            [fan_out(&["item c", "item d"], false), reply("Two.")],
        );
        stub.on(part("item"), asleep());
        let setup = Setup::new(medium, &stub)
            .voices(&["a"])
            .env("THINKD_BUDGET__SUBTHREADS", 2);
        let app = setup.start().await;
        let mut socket = app.socket().await;
        app.say_in("main", "go").await;
        socket.response().await;
        for _ in 0..2 {
            socket
                .event("asleep", |e| {
                    e["thread"].as_str().unwrap().starts_with("main.") && has(e, "ended")
                })
                .await;
        }
        app.say_in("main", "more").await;
        assert_eq!(said(&socket.response().await), "Two.");
        for _ in 0..2 {
            socket
                .event("asleep", |e| {
                    e["thread"].as_str().unwrap().starts_with("main.") && has(e, "ended")
                })
                .await;
        }
        let log = app.public_log().await;
        let aside = with(&log, &["thread-archived"]);
        assert_eq!(aside.len(), 2, "{}", story(&log));
        assert_ne!(aside[0]["payload"]["id"], aside[1]["payload"]["id"]);
        assert_eq!(
            app.get("/threads/main").await.expect(200)["budget"]["subthreads"],
            2
        );
        assert_eq!(
            stub.count(|r| r.is_voice() && r.thread.starts_with("main.")),
            0,
            "a process hears no voice unless listed"
        );
        assert!(
            stub.count(Request::is_voice) > 0,
            "the control: the conversation does"
        );
    }
);

// T3.55 T3.56: nothing to send is refused by name; without gathering the count comes at once and each end by itself.
on_sqlite!(
    t3_56_a_fan_out_without_gathering_says_at_once_how_many,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("main"),
            [
                fan_out(&[], true),
                fan_out(&["item a", "item b"], false),
                reply("Done."),
            ],
        );
        stub.on(at("main"), call("do_nothing", json!({ "reason": "heard" })));
        stub.on(part("item"), ends("ok"));
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.say_in("main", "go").await;
        assert_eq!(said(&socket.response().await), "Done.");
        for _ in 0..2 {
            socket
                .event("an end", |e| {
                    e["thread"] == "main" && has(e, "thread-ended")
                })
                .await;
        }
        let log = app.public_log().await;
        assert!(
            said(one(&log, &["failure", "tool:fan_out"])).contains("needs items"),
            "{}",
            story(&log)
        );
        let results = with(&log, &["result", "tool:fan_out"]);
        assert_eq!(
            results[1]["payload"]["output"]["dispatched"],
            2,
            "{}",
            story(&log)
        );
        assert_eq!(with(&log, &["gathered"]).len(), 0);
    }
);

// T3.54: what does not come back in time is missing, and the rest is told.
on_sqlite!(what_is_gathered_has_a_time_limit, |medium| {
    let stub = Stub::start().await;
    let out =
        json!({ "items": ["item a", "item b"], "prompt": null, "gather": true, "timeout_s": 3.0 });
    stub.script(
        at("main"),
        [
            call("fan_out", out),
            reply("Sent out."),
            reply("In time or not."),
        ],
    );
    stub.script(part("item a"), [ends("A")]);
    stub.on(part("item b"), asleep());
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_BUDGET__TIMER_MS", 1)
        .start()
        .await;
    let mut socket = app.socket().await;
    app.say_in("main", "go").await;
    socket.response().await;
    assert_eq!(said(&socket.response().await), "In time or not.");
    let log = app.public_log().await;
    let gathered = one(&log, &["gathered"]);
    assert_eq!(
        (
            &gathered["payload"]["successful"],
            &gathered["payload"]["missing"]
        ),
        (&json!(1), &json!(1)),
        "{gathered}"
    );
    // Who did not come back has nobody to work for any more.
    let threads = app.pages("/threads?").await;
    let late = threads
        .iter()
        .find(|t| t["id"].as_str().unwrap().ends_with("-1"))
        .unwrap();
    assert_eq!(late["status"], "stopped", "{late}");
    assert!(
        late["reason"].as_str().unwrap().contains("was up"),
        "{late}"
    );
    assert_eq!(
        app.get("/threads/main").await.expect(200)["budget"]["subthreads"],
        0
    );
    assert_eq!(
        stub.count(at("main")),
        3,
        "that it was ended wakes nobody: {}",
        story(&log)
    );
});

// T3.57: steps in order, each told what the one before came to; the first failure ends it.
on_sqlite!(t3_57_a_sequence_stops_at_the_first_failure, |medium| {
    let stub = Stub::start().await;
    let steps = json!({ "steps": ["step one", "step two", "step three"], "prompt": null, "timeout_s": null });
    stub.script(
        at("main"),
        [
            call("sequence", steps),
            reply("Begun."),
            reply("It failed."),
        ],
    );
    stub.script(part("step one"), [ends("first result")]);
    let two = part("step two");
    stub.on(two.clone(), asleep());
    let mut app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.say_in("main", "go").await;
    assert_eq!(said(&socket.response().await), "Begun.");
    let second = stub.request(two).await;
    assert!(second.says("first result"), "{second:?}");
    socket
        .event("its turn", |e| {
            e["thread"] == second.thread.as_str() && has(e, "ended")
        })
        .await;
    // A restart in between changes nothing.
    app.restart().await;
    app.post(&format!("/threads/{}/end", second.thread), json!({}))
        .await
        .expect(200);
    let mut socket = app.socket().await;
    socket
        .subscribe(json!({ "type": "subscribe", "after": 0 }))
        .await;
    socket
        .event("the report", |e| {
            has(e, "response") && said(e) == "It failed."
        })
        .await;
    let log = app.public_log().await;
    let gathered = one(&log, &["gathered"]);
    let payload = &gathered["payload"];
    assert_eq!(
        (
            &payload["total"],
            &payload["successful"],
            &payload["failed_step"]
        ),
        (&json!(3), &json!(1), &json!(2))
    );
    assert_eq!(payload["results"][0]["text"], "first result");
    assert_eq!(stub.count(part("step three")), 0);
    assert_eq!(stub.count(at("main")), 3, "{}", story(&log));
});

// A step whose turn fails is a step that failed: the sequence ends with it, and nobody has to end the thread.
on_sqlite!(a_sequence_stops_at_a_step_that_is_stuck, |medium| {
    let stub = Stub::start().await;
    let steps = json!({ "steps": ["step one", "step two", "step three"], "prompt": null, "timeout_s": null });
    stub.script(
        at("main"),
        [
            call("sequence", steps),
            reply("Begun."),
            reply("It failed."),
        ],
    );
    stub.script(part("step one"), [ends("first result")]);
    stub.on(part("step two"), status(400));
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.say_in("main", "go").await;
    assert_eq!(said(&socket.response().await), "Begun.");
    assert_eq!(said(&socket.response().await), "It failed.");
    let log = app.public_log().await;
    let payload = &one(&log, &["gathered"])["payload"];
    assert_eq!(
        (&payload["successful"], &payload["failed_step"]),
        (&json!(1), &json!(2)),
        "{}",
        story(&log)
    );
    assert_eq!(stub.count(part("step three")), 0);
});

// A thread that somebody makes under the name of a coming step is not taken for it: the step has another name.
on_sqlite!(a_thread_of_a_stranger_is_not_taken_for_a_step, |medium| {
    let stub = Stub::start().await;
    let steps = json!({ "steps": ["step one", "step two"], "prompt": null, "timeout_s": null });
    stub.script(
        at("main"),
        [call("sequence", steps), reply("Begun."), reply("All done.")],
    );
    let first = Gate::new();
    stub.script(part("step one"), [ends("first result").held(&first)]);
    stub.script(part("step two"), [ends("second result")]);
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.say_in("main", "go").await;
    assert_eq!(said(&socket.response().await), "Begun.");
    let one = stub.request(part("step one")).await.thread.clone();
    let label = one
        .strip_prefix("main.")
        .and_then(|label| label.strip_suffix("-0"))
        .unwrap();
    let stranger = json!({ "parent": "main", "label": format!("{label}-1") });
    app.post("/threads", stranger).await.expect(201);
    first.open();
    assert_eq!(said(&socket.response().await), "All done.");
    assert!(stub.request(part("step two")).await.says("first result"));
});

// A sequence that goes well: all results, told once.
on_sqlite!(a_sequence_goes_to_its_end, |medium| {
    let stub = Stub::start().await;
    let steps = json!({ "steps": ["step one", "step two"], "prompt": "Go.", "timeout_s": null });
    stub.script(at("p"), [call("sequence", steps), asleep(), asleep()]);
    let sub = |text: &'static str| move |r: &Request| r.thread.starts_with("p.") && r.says(text);
    stub.script(sub("step two"), [ends("2")]);
    stub.script(sub("step one"), [ends("1")]);
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.process("p", json!({})).await;
    app.say_in("p", "go").await;
    let gathered = socket
        .event("the report", |e| e["thread"] == "p" && has(e, "gathered"))
        .await;
    assert_eq!(gathered["payload"]["successful"], 2, "{gathered}");
    assert_eq!(gathered["payload"]["content"], "0: 1\n1: 2");
});

// A step that makes room for the next wakes nobody, and leaves the limit of the wait as it was.
on_sqlite!(
    a_step_in_between_does_not_end_the_limit_of_a_wait,
    |medium| {
        let stub = Stub::start().await;
        let steps = json!({ "steps": ["step one", "step two"], "prompt": null, "timeout_s": null });
        let gate = Gate::new();
        stub.script(
            at("p"),
            [
                call("sequence", steps),
                call("wait", json!({ "from": null, "timeout_s": 1.5 })),
            ],
        );
        stub.on(at("p"), asleep());
        let sub =
            |text: &'static str| move |r: &Request| r.thread.starts_with("p.") && r.says(text);
        stub.on(sub("step two"), asleep());
        stub.script(sub("step one"), [ends("1").held(&gate)]);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_BUDGET__TIMER_MS", 1)
            .start()
            .await;
        let mut socket = app.socket().await;
        app.process("p", json!({})).await;
        app.say_in("p", "go").await;
        socket
            .event("the wait", |e| e["thread"] == "p" && has(e, "ended"))
            .await;
        gate.open();
        let second = stub.request(sub("step two")).await;
        assert_eq!(
            app.get("/threads/p").await.expect(200)["status"],
            "waiting",
            "{second:?}"
        );
        let timer = socket
            .event("the limit", |e| e["thread"] == "p" && has(e, "timer"))
            .await;
        assert_eq!(timer["payload"]["timer"], "wait!");
    }
);

// D3.40 T3.37 T3.38 T3.39 T3.41 T3.43: raised once, by the right kind from the right thread; reminded until closed.
on_sqlite!(
    d3_40_a_watch_is_raised_once_and_reminded_of_until_it_is_closed,
    |medium| {
        let stub = Stub::start().await;
        let watch = json!({ "kind": "MESSAGE", "from": "b", "note": "read it" });
        stub.script(
            at("p"),
            [call("watch", watch).and("wait", json!({ "from": null, "timeout_s": null }))],
        );
        stub.on(at("p"), asleep());
        for thread in ["b", "c"] {
            let hello = call(
                "send",
                json!({ "to": "p", "text": format!("from {thread}") }),
            );
            stub.on(
                at(thread),
                hello.and("wait", json!({ "from": null, "timeout_s": null })),
            );
        }
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.process("b", json!({})).await;
        app.process("c", json!({})).await;
        let contact =
            |thread: &str| json!({ "name": thread, "thread": thread, "description": "a friend" });
        app.process("p", json!({ "contacts": [contact("b")] }))
            .await;
        app.process("q", json!({ "contacts": [contact("b")] }))
            .await;
        for thread in ["b", "c"] {
            let connect = call(
                "connect",
                json!({ "name": "p", "thread": "p", "description": "watches" }),
            );
            stub.clear();
            stub.script(
                at(thread),
                [connect.and("wait", json!({ "from": null, "timeout_s": null }))],
            );
            app.say_in(thread, "meet p").await;
            socket
                .event("met", |e| e["thread"] == thread && has(e, "ended"))
                .await;
        }
        stub.clear();
        let watch = json!({ "kind": "MESSAGE", "from": "b", "note": "read it" });
        stub.script(
            at("p"),
            [call("watch", watch).and("wait", json!({ "from": null, "timeout_s": null }))],
        );
        stub.on(at("p"), asleep());
        for thread in ["b", "c"] {
            let hello = call(
                "send",
                json!({ "to": "p", "text": format!("from {thread}") }),
            );
            stub.on(
                at(thread),
                hello.and("wait", json!({ "from": null, "timeout_s": null })),
            );
        }
        app.say_in("p", "watch for b").await;
        let set = socket
            .event("the confirmation", |e| has(e, "watch-set"))
            .await;
        assert_eq!(
            (&set["payload"]["kind"], &set["payload"]["from"]),
            (&json!("message"), &json!("b"))
        );
        let mut turn = 1;
        let mut next = async |thread: &str| {
            turn += 1;
            app.say_in(thread, "write").await;
            socket
                .event("p's turn", |e| {
                    e["thread"] == "p" && has(e, "ended") && e["payload"]["turn"] == turn
                })
                .await;
            stub.nth(turn - 1, at("p")).await
        };
        let id = set["payload"]["id"].as_str().unwrap().to_owned();
        let reminds = |request: &Request| {
            request.last().contains("What you watch for has come") && request.last().contains(&id)
        };
        let wrong = next("c").await;
        assert!(!reminds(&wrong), "the wrong thread: {}", wrong.last());
        let right = next("b").await;
        let log = app.public_log().await;
        assert!(
            right.seqs().contains(&seq(one(&log, &["watch-raised"]))),
            "{}",
            story(&log)
        );
        next("b").await;
        let again = next("p").await;
        assert!(
            reminds(&again),
            "reminded, whatever wakes it: {}",
            again.last()
        );
        assert_eq!(
            with(&app.public_log().await, &["watch-raised"]).len(),
            1,
            "raised once"
        );
        // Closing: one that is unknown, then this one.
        stub.clear();
        stub.script(
            at("p"),
            [
                call("close_watch", json!({ "id": "w0" })),
                call("close_watch", json!({ "id": id }))
                    .and("wait", json!({ "from": null, "timeout_s": null })),
                asleep(),
            ],
        );
        app.say_in("p", "close it").await;
        let closed = socket
            .event("the acknowledgement", |e| has(e, "watch-closed"))
            .await;
        assert_eq!(closed["payload"]["raised"], true);
        let log = app.public_log().await;
        assert_eq!(
            one(&log, &["system-thread-error"])["payload"]["code"],
            "unknown_watch"
        );
        socket
            .event("its turn's end", |e| {
                e["thread"] == "p" && has(e, "ended") && seq(e) > seq(&closed)
            })
            .await;
        app.say_in("p", "and now").await;
        let last = stub.nth(7, at("p")).await;
        assert!(
            !last.last().contains("What you watch for"),
            "{}",
            last.last()
        );
    }
);

// T3.42 T3.44: three watches in two threads: those that match are raised, their owners reminded; an end removes and counts them.
on_sqlite!(t3_42_watches_belong_to_their_thread, |medium| {
    let stub = Stub::start().await;
    let watch = |kind: &str| ("watch", json!({ "kind": kind, "from": null, "note": "n" }));
    let wait = ("wait", json!({ "from": null, "timeout_s": null }));
    let calls = |calls: &[(&str, Value)]| {
        calls.iter().fold(text(""), |answer, (tool, arguments)| {
            answer.and(tool, arguments.clone())
        })
    };
    stub.script(
        at("p"),
        [calls(&[watch("input"), watch("timer"), wait.clone()])],
    );
    stub.script(at("q"), [calls(&[watch("input"), wait.clone()])]);
    stub.on(any, asleep());
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    for thread in ["p", "q"] {
        app.process(thread, json!({})).await;
        app.say_in(thread, "watch").await;
        socket
            .event("set", |e| e["thread"] == thread && has(e, "ended"))
            .await;
    }
    app.say_in("p", "now").await;
    let raised = socket.event("raised", |e| has(e, "watch-raised")).await;
    assert_eq!(
        (raised["thread"].as_str(), &raised["payload"]["kind"]),
        (Some("p"), &json!("input"))
    );
    socket
        .event("done", |e| {
            e["thread"] == "p" && has(e, "ended") && seq(e) > seq(&raised)
        })
        .await;
    assert_eq!(with(&app.public_log().await, &["watch-raised"]).len(), 1);
    app.post("/threads/p/end", json!({})).await.expect(200);
    let ended = socket
        .event("the end", |e| {
            e["thread"] == "p"
                && has(e, "set:thread")
                && e["payload"]["change"]["status"] == "stopped"
        })
        .await;
    assert_eq!(ended["payload"]["change"]["watches_removed"], 2);
});
