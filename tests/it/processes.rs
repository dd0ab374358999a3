//! Threads as processes: they think by themselves, wait, send, end. The promises about mailboxes
//! stand here, too.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::app::rows_are_what_the_log_says;
use kit::*;

mod bad_input;
mod breaths;
mod budgets;
mod contacts;
mod endings;
mod mailbox;
mod property;
mod restarts;
mod roots;
mod scheduling;
mod shown;
mod stuck;
mod subthreads;
mod subtrees;
mod thinking;
mod waiting;

/// Returns a step that only sleeps until a message comes.
fn asleep() -> Answer {
    call("wait", json!({ "from": null, "timeout_s": null }))
}

/// A contact that is called like its thread.
fn contact(thread: &str) -> Value {
    json!({ "name": thread, "thread": thread, "description": format!("{thread} helps with {thread}") })
}

/// Processes without contacts.
async fn processes(app: &App, names: &[&str]) {
    for name in names {
        app.process(name, json!({})).await;
    }
}

/// The end of this turn.
async fn turn_over(socket: &mut Socket, thread: &str, number: u64) -> Value {
    let what = format!("the end of turn {number} of {thread}");
    let is = |e: &Value| {
        e["thread"] == thread && has(e, "turn") && has(e, "ended") && e["payload"]["turn"] == number
    };
    socket.event(&what, is).await
}

/// Nothing happens in a thread after this event, for so long.
async fn silent_after(socket: &mut Socket, thread: &str, last: &Value, time: std::time::Duration) {
    let more = |frame: &Value| frame["type"] == "event" && frame["event"]["thread"] == thread;
    socket
        .quiet(time, |frame| {
            more(frame) && seq(&frame["event"]) > seq(last)
        })
        .await;
}

/// Returns the messages from other threads (or itself) to a thread: the sender, and the text.
fn mail<'a>(log: &'a [Value], thread: &str) -> Vec<(&'a str, &'a str)> {
    let messages = log
        .iter()
        .filter(|e| e["thread"] == thread && has(e, "message"));
    messages
        .map(|e| (e["payload"]["from"].as_str().unwrap_or_default(), said(e)))
        .collect()
}

/// The events of one thread with all of these tags.
fn told<'a>(log: &'a [Value], thread: &str, wanted: &[&str]) -> Vec<&'a Value> {
    with(log, wanted)
        .into_iter()
        .filter(|event| event["thread"] == thread)
        .collect()
}

// D0.01 D0.05 D0.06 D0.07 T0.01: a process goes on by itself until it ends; then its address takes nothing more.
on_sqlite!(
    t0_01_a_process_thinks_step_by_step_until_it_ends,
    |medium| {
        let stub = Stub::start().await;
        let goes_on = || text("Hm.");
        stub.script(
            at("p"),
            [
                goes_on(),
                goes_on(),
                goes_on(),
                call("terminate", json!({ "reason": "all thought" })),
            ],
        );
        let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        let mut socket = app.socket().await;
        let process = app.process("p", json!({})).await;
        assert_eq!(process["status"], "idle");
        app.say_in("p", "think about it").await;
        socket
            .event("the end", |e| {
                e["thread"] == "p"
                    && has(e, "set:thread")
                    && !e["payload"]["change"]["status"].is_null()
            })
            .await;
        socket
            .event("its turn's end", |e| e["thread"] == "p" && has(e, "ended"))
            .await;
        assert_eq!(
            stub.count(at("p")),
            4,
            "one call a step, none after the end"
        );
        assert_eq!(
            stub.count(Request::is_voice),
            0,
            "a process hears no voices unless some are named"
        );
        let thread = app.get("/threads/p").await.expect(200);
        assert_eq!(
            (&thread["status"], &thread["reason"]),
            (&json!("done"), &json!("all thought"))
        );
        app.post("/threads/p/messages", json!({ "text": "one more" }))
            .await
            .expect_problem(409, "thread-ended");
        // D0.03 D3.02: numbered steps, one after the other.
        let log = app.public_log().await;
        let turns: Vec<(i64, bool)> = with(&log, &["turn"])
            .iter()
            .map(|e| (e["payload"]["turn"].as_i64().unwrap(), has(e, "ended")))
            .collect();
        let expected: Vec<(i64, bool)> = (1..=4).flat_map(|n| [(n, false), (n, true)]).collect();
        assert_eq!(turns, expected, "{}", story(&log));
    }
);

// D0.08 T0.02: while it waits no model is asked; the first message starts the next step.
on_sqlite!(
    t0_02_a_process_that_waits_sleeps_until_a_message_comes,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            at("p"),
            call("wait", json!({ "from": null, "timeout_s": null })),
        );
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.process("p", json!({})).await;
        app.say_in("p", "first").await;
        let first = socket
            .event("the first turn's end", |e| {
                e["thread"] == "p" && has(e, "ended")
            })
            .await;
        assert_eq!(app.get("/threads/p").await.expect(200)["status"], "waiting");
        let later = |e: &Value| e["thread"] == "p" && seq(e) > seq(&first);
        socket
            .quiet(ms(500), |frame| {
                frame["type"] == "event" && later(&frame["event"])
            })
            .await;
        assert_eq!(stub.count(at("p")), 1);
        app.say_in("p", "second").await;
        socket
            .event("the second turn's end", |e| {
                e["thread"] == "p" && has(e, "ended")
            })
            .await;
        let second = stub.nth(1, at("p")).await;
        assert_eq!(second.last_user(), "second");
        assert_eq!(stub.count(at("p")), 2);
    }
);

// D0.02 D0.04 D0.15 D0.23 T0.13 T0.14: sends are delivered once each, in order, with the end of the step; who is not reached is told.
on_sqlite!(
    t0_13_messages_reach_whom_they_can_and_the_rest_is_reported,
    |medium| {
        let stub = Stub::start().await;
        let asleep = || call("wait", json!({ "from": null, "timeout_s": null }));
        stub.script(
            at("p"),
            [
                call("send", json!({ "to": ["a", "gone", "c"], "text": "one" }))
                    .and("send", json!({ "to": "a", "text": "two" }))
                    .and("send", json!({ "to": ["nobody"], "text": "three" })),
                asleep(),
            ],
        );
        for thread in ["a", "b", "c"] {
            stub.on(at(thread), asleep());
        }
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        for thread in ["a", "b", "c"] {
            app.process(thread, json!({})).await;
        }
        let contact = |name: &str, thread: &str| json!({ "name": name, "thread": thread, "description": format!("{name} helps") });
        app.process(
            "p",
            json!({ "contacts": [contact("a", "a"), contact("gone", "b"), contact("c", "c")] }),
        )
        .await;
        app.post("/threads/b/end", json!({})).await.expect(200);
        socket
            .event("word of the end", |e| {
                e["thread"] == "p" && has(e, "thread-ended")
            })
            .await;
        // That woke it already: its first step is the one that sends.
        for thread in ["a", "c"] {
            socket
                .event("the mailbox handled", |e| {
                    e["thread"] == thread && has(e, "ended")
                })
                .await;
        }
        let log = app.public_log().await;
        let to = |thread: &str| {
            let events = log
                .iter()
                .filter(|e| e["thread"] == thread && has(e, "message"));
            events
                .map(|e| (said(e).to_owned(), e["payload"]["from"].clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            to("a"),
            [
                ("one".to_owned(), json!("p")),
                ("two".to_owned(), json!("p"))
            ],
            "{}",
            story(&log)
        );
        assert_eq!(to("c"), [("one".to_owned(), json!("p"))]);
        assert_eq!(to("b"), []);
        let errors = with(&log, &["system-thread-error"]);
        assert_eq!(errors.len(), 2, "{}", story(&log));
        assert_eq!(errors[0]["payload"]["unknown_id"], "gone");
        assert_eq!(errors[1]["payload"]["code"], "unknown_thread");
        // The same words for one that has ended and one that never was.
        assert_eq!(said(errors[0]).replace("gone", "nobody"), said(errors[1]));
        let second = stub.nth(1, at("p")).await;
        assert!(
            errors
                .iter()
                .all(|error| second.seqs().contains(&seq(error))),
            "the next call is told"
        );
        let ended = with(&log, &["turn", "ended"])
            .into_iter()
            .find(|e| e["thread"] == "p")
            .unwrap();
        let sent = log
            .iter()
            .filter(|e| has(e, "message"))
            .map(seq)
            .min()
            .unwrap();
        assert!(
            sent < seq(ended) && seq(ended) - sent <= 4,
            "delivered with the step's end: {}",
            story(&log)
        );
    }
);

// D0.14 T0.07: waiting for one thread, everything else queues; its message wakes, and all are in the next batch, in order.
on_sqlite!(
    t0_07_a_wait_for_one_thread_lets_the_others_queue,
    |medium| {
        let stub = Stub::start().await;
        let asleep = || call("wait", json!({ "from": null, "timeout_s": null }));
        stub.script(
            at("p"),
            [
                call("wait", json!({ "from": "b", "timeout_s": null })),
                asleep(),
            ],
        );
        for thread in ["b", "c"] {
            let hello = call(
                "send",
                json!({ "to": "p", "text": format!("from {thread}") }),
            );
            stub.script(
                at(thread),
                [hello.and("wait", json!({ "from": null, "timeout_s": null }))],
            );
        }
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.process("b", json!({})).await;
        app.process(
            "p",
            json!({ "contacts": [{ "name": "b", "thread": "b", "description": "b" }] }),
        )
        .await;
        for thread in ["b", "c"] {
            let contacts =
                json!({ "contacts": [{ "name": "p", "thread": "p", "description": "waits" }] });
            if thread == "c" {
                app.process("c", contacts).await;
            }
        }
        app.say_in("p", "begin").await;
        socket
            .event("the wait", |e| e["thread"] == "p" && has(e, "ended"))
            .await;
        let waiting = app.get("/threads/p").await.expect(200);
        assert_eq!(
            (&waiting["status"], &waiting["waiting_for"]),
            (&json!("waiting"), &json!("b"))
        );
        app.say_in("c", "write to p").await;
        let message = socket
            .event("c's message", |e| e["thread"] == "p" && has(e, "message"))
            .await;
        app.say_in("p", "from outside").await;
        let starts = |e: &Value| e["thread"] == "p" && has(e, "started") && seq(e) > seq(&message);
        socket.quiet(ms(300), |frame| starts(&frame["event"])).await;
        assert_eq!(stub.count(at("p")), 1, "neither wakes it");
        assert_eq!(app.get("/threads/p").await.expect(200)["queued"], 2);
        // b has p neither as contact nor as parent: it gets it by its own tool.
        stub.clear();
        stub.script(at("p"), [asleep()]);
        let connect = call(
            "connect",
            json!({ "name": "p", "thread": "p", "description": "waits for me" }),
        );
        stub.script(
            at("b"),
            [connect
                .and("send", json!({ "to": "p", "text": "from b" }))
                .and("wait", json!({ "from": null, "timeout_s": null }))],
        );
        app.say_in("b", "write to p").await;
        socket
            .event("the next turn", |e| e["thread"] == "p" && has(e, "ended"))
            .await;
        let second = stub.nth(1, at("p")).await;
        let heard: Vec<String> = second
            .entries()
            .into_iter()
            .filter(|e| second.batch().contains(&e.seq))
            .map(|e| e.text)
            .collect();
        assert_eq!(heard, ["from c", "from outside", "from b"]);
    }
);

// D3.10 D3.11 D3.12 D3.17 D3.22 D3.41 T3.05: a subthread is confirmed at once, works, and tells its parent how it ended.
on_sqlite!(
    t3_05_a_subthread_is_confirmed_and_its_end_reaches_the_parent,
    |medium| {
        let stub = Stub::start().await;
        let spawn = json!({ "label": "research", "prompt": "You look things up.", "payload": "<analyze>x</analyze>" });
        stub.script(
            at("main"),
            [
                call("spawn_thread", spawn),
                reply("It is being looked up."),
                reply("Found: 42."),
            ],
        );
        stub.script(
            at("main.research"),
            [call("terminate", json!({ "reason": "42" }))],
        );
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.say_in("main", "look it up").await;
        let answer = socket.response().await;
        assert_eq!(said(&answer), "It is being looked up.");
        let last = socket.response().await;
        assert_eq!(said(&last), "Found: 42.");
        let log = app.public_log().await;
        let spawned = one(&log, &["thread-spawned"]);
        assert_eq!(spawned["thread"], "main");
        assert_eq!(
            said(spawned),
            "<thread-spawned assigned_id=\"main.research\" parent_id=\"main\" contact=\"research\"/>"
        );
        assert_eq!(
            (
                &spawned["payload"]["assigned_id"],
                &spawned["payload"]["parent_id"]
            ),
            (&json!("main.research"), &json!("main"))
        );
        assert!(
            stub.nth(1, at("main")).await.seqs().contains(&seq(spawned)),
            "told before the next model call"
        );
        let first = log
            .iter()
            .find(|e| e["thread"] == "main.research" && has(e, "message"))
            .unwrap();
        assert_eq!(
            (said(first), &first["payload"]["from"]),
            ("<analyze>x</analyze>", &json!("main"))
        );
        assert!(
            stub.request(at("main.research"))
                .await
                .says("You look things up.")
        );
        let ended = one(&log, &["thread-ended"]);
        assert_eq!(
            (
                ended["thread"].as_str(),
                &ended["payload"]["id"],
                &ended["payload"]["content"]
            ),
            (Some("main"), &json!("main.research"), &json!("42"))
        );
        assert_eq!(
            app.get("/threads/main").await.expect(200)["contacts"],
            json!([]),
            "who has ended is no contact any more"
        );
        let child = app.get("/threads/main.research").await.expect(200);
        assert_eq!(
            (&child["status"], &child["parent"], &child["kind"]),
            (&json!("done"), &json!("main"), &json!("process"))
        );
    }
);

// D3.21: a timer answers at once, and fires once when it is due, also when the server was away.
on_sqlite!(d3_21_a_timer_fires_once_when_it_is_due, |medium| {
    let stub = Stub::start().await;
    let asleep = || call("wait", json!({ "from": null, "timeout_s": null }));
    stub.script(
        at("p"),
        [
            call("set_timer", json!({ "after_s": 0.3, "note": "tea <now>" }))
                .and("wait", json!({ "from": null, "timeout_s": null })),
            asleep(),
        ],
    );
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TEST_BUDGET__TIMER_MS", 1)
        .start()
        .await;
    let mut socket = app.socket().await;
    app.process("p", json!({})).await;
    app.say_in("p", "remind me").await;
    socket
        .event("the confirmation", |e| has(e, "timer-set"))
        .await;
    socket
        .event("the wait", |e| e["thread"] == "p" && has(e, "ended"))
        .await;
    app.kill();
    app.start_again().await;
    let mut socket = app.socket().await;
    socket
        .subscribe(json!({ "type": "subscribe", "after": 0 }))
        .await;
    let timer = socket.event("the timer", |e| has(e, "timer")).await;
    assert_eq!(timer["payload"]["content"], "tea <now>");
    assert!(said(&timer).contains("tea &lt;now&gt;"), "{timer}");
    socket
        .event("the turn it starts", |e| {
            seq(e) > seq(&timer) && has(e, "ended")
        })
        .await;
    socket
        .quiet(ms(300), |frame| {
            has(&frame["event"], "timer") && seq(&frame["event"]) > seq(&timer)
        })
        .await;
    assert_eq!(with(&app.public_log().await, &["timer"]).len(), 1);
});

// D3.20 T3.16: only what is kept is shown from then on; the log has all.
on_sqlite!(t3_16_clearing_keeps_the_newest, |medium| {
    let stub = Stub::start().await;
    let asleep = || call("wait", json!({ "from": null, "timeout_s": null }));
    stub.script(at("p"), (0..10).map(|_| asleep()));
    stub.script(
        at("p"),
        [
            call("clear_context", json!({ "keep": 10 }))
                .and("wait", json!({ "from": null, "timeout_s": null })),
            asleep(),
        ],
    );
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.process("p", json!({})).await;
    for number in 0..12 {
        app.say_in("p", &format!("message {number}")).await;
        socket
            .event("its turn", |e| e["thread"] == "p" && has(e, "ended"))
            .await;
    }
    let log = app.public_log().await;
    let cleared = one(&log, &["context-cleared"]);
    assert_eq!(cleared["payload"]["kept_messages"], 10);
    let last = stub.nth(11, at("p")).await;
    let before: Vec<i64> = last
        .seqs()
        .into_iter()
        .filter(|at| *at < seq(cleared))
        .collect();
    assert_eq!(before.len(), 10, "{last:?}");
    assert!(last.seqs().contains(&seq(cleared)) && !last.says("message 0"));
    assert!(
        log.iter().any(|e| said(e) == "message 0"),
        "the log keeps it"
    );
    // The view can be made again all the same.
    let record = app
        .log()
        .await
        .into_iter()
        .rfind(|e| has(e, "call:decision"))
        .unwrap();
    let view = app
        .get(&format!(
            "/prompt-views/{}",
            record["event_id"].as_str().unwrap()
        ))
        .await
        .expect(200);
    assert_eq!(view["exact"], true);
});

// D3.23 D3.25 D3.26 T3.18 T3.19: a plan is what was last said; clients see it change.
on_sqlite!(t3_18_the_plan_of_a_thread_is_the_last_one, |medium| {
    let stub = Stub::start().await;
    let plan = |done: [bool; 2]| {
        let steps =
            json!([{ "text": "search", "done": done[0] }, { "text": "analyze", "done": done[1] }]);
        call(
            "plan",
            json!({ "condition": "all sources checked", "steps": steps }),
        )
        .and("wait", json!({ "from": null, "timeout_s": null }))
    };
    stub.script(at("p"), [plan([true, false]), plan([true, true])]);
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.process("p", json!({})).await;
    app.say_in("p", "plan").await;
    socket.event("the change", |e| has(e, "set:plan")).await;
    let first = app.get("/threads/p").await.expect(200)["plan"].clone();
    assert_eq!(
        first,
        json!({ "condition": "all sources checked", "complete": false,
        "steps": [{ "text": "search", "done": true }, { "text": "analyze", "done": false }] })
    );
    app.say_in("p", "go on").await;
    socket
        .event("completion", |e| has(e, "plan-complete"))
        .await;
    let second = app.get("/threads/p").await.expect(200);
    assert_eq!(
        (&second["plan"]["complete"], &second["status"]),
        (&json!(true), &json!("waiting")),
        "it stops nobody"
    );
    let request = stub.nth(1, at("p")).await;
    assert!(
        request.says("all sources checked") && request.says("\"done\":false"),
        "it reads its own plan: {request:?}"
    );
    assert_eq!(with(&app.public_log().await, &["set:plan"]).len(), 2);
});

// D0.35 D0.36 D0.37 D0.38 D0.39 T0.05: whatever comes while it thinks waits, in order, for the next step.
on_sqlite!(
    t0_05_a_hundred_messages_during_one_call_are_one_batch,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let asleep = || call("wait", json!({ "from": null, "timeout_s": null }));
        stub.script(at("p"), [asleep().held(&gate), asleep()]);
        let app = Setup::new(medium, &stub)
            .env("THINKD_LIMITS__WAITING_INPUTS", 200)
            .start()
            .await;
        let mut socket = app.socket().await;
        app.process("p", json!({})).await;
        app.say_in("p", "begin").await;
        stub.request(at("p")).await;
        let mut acked = Vec::new();
        for number in 0..100 {
            acked.push(app.say_in("p", &format!("message {number}")).await);
        }
        assert_eq!(
            app.get("/threads/p").await.expect(200)["queued"],
            100,
            "not the one it thinks about"
        );
        assert_eq!(stub.count(at("p")), 1);
        gate.open();
        socket
            .event("the second turn", |e| {
                e["thread"] == "p" && has(e, "ended") && e["payload"]["turn"] == 2
            })
            .await;
        let first = stub.nth(0, at("p")).await;
        let second = stub.nth(1, at("p")).await;
        assert!(!first.says("message 0"));
        let texts: Vec<String> = second
            .entries()
            .into_iter()
            .filter(|e| second.batch().contains(&e.seq))
            .map(|e| e.text)
            .collect();
        assert_eq!(
            texts,
            (0..100)
                .map(|number| format!("message {number}"))
                .collect::<Vec<_>>()
        );
        assert_eq!(app.get("/threads/p").await.expect(200)["queued"], 0);
        assert_eq!(stub.count(at("p")), 2);
    }
);

// The built-in model is a process, too: it says what it is and waits, whichever way it is asked.
on_sqlite!(the_offline_model_answers_and_waits_as_a_process, |medium| {
    let app = Setup::offline(medium).start().await;
    let mut socket = app.socket().await;
    for (label, settings) in [
        ("plain", json!({})),
        ("steps", json!({ "substeps": true })),
        ("xml", json!({ "language": "xml" })),
    ] {
        app.process(label, settings).await;
        app.say_in(label, "hello <you> & me").await;
        let answer = socket.response().await;
        assert!(
            said(&answer).contains("offline model") && said(&answer).contains("hello <you> & me"),
            "{answer}"
        );
        socket
            .event("its turn's end", |e| {
                e["thread"] == label && has(e, "ended")
            })
            .await;
        let thread = app.get(&format!("/threads/{label}")).await.expect(200);
        assert_eq!(
            (&thread["status"], &thread["turn"]),
            (&json!("waiting"), &json!(1)),
            "{thread}"
        );
    }
});
