//! The recipients that a thread can send to, when a change of them takes effect, and the threads
//! that are told of an end.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// One turn of `p` that connects to `e` and writes to it, and is then held in its second round.
async fn connect_and_send(medium: Medium, commit: &str) -> (Stub, App, Socket, Gate) {
    let stub = Stub::start().await;
    let gate = Gate::new();
    let connect = json!({ "name": "friend", "thread": "e", "description": "knows\neverything" });
    let first = call("connect", connect).and("send", json!({ "to": ["friend"], "text": "hello" }));
    stub.script(
        at("p"),
        [
            first.and("view_contacts", json!({})),
            asleep().held(&gate),
            asleep(),
        ],
    );
    stub.on(at("e"), asleep());
    let app = App::start(medium, &stub).await;
    let socket = app.socket().await;
    processes(&app, &["e"]).await;
    app.process("p", json!({ "commit": commit })).await;
    app.say_in("p", "write to e").await;
    let second = stub.nth(1, at("p")).await;
    let viewed = second
        .entries()
        .into_iter()
        .find(|entry| entry.who.starts_with("result view_contacts"))
        .unwrap();
    assert!(
        viewed.text.contains("friend") && viewed.text.contains("knows"),
        "pending or not, it counts: {viewed:?}"
    );
    (stub, app, socket, gate)
}

// D0.25 T0.17 D0.17: in immediate mode a contact counts, and a message is delivered, in the middle of the step.
on_sqlite!(
    t0_17_immediately_what_is_said_is_done_within_the_step,
    |medium| {
        let (stub, mut app, mut socket, gate) = connect_and_send(medium, "immediate").await;
        turn_over(&mut socket, "e", 1).await;
        let log = app.public_log().await;
        assert_eq!(mail(&log, "e"), [("p", "hello")], "{}", story(&log));
        assert_eq!(
            told(&log, "p", &["turn", "ended"]).len(),
            0,
            "the step is still under way: {}",
            story(&log)
        );
        let contacts = app.get("/threads/p").await.expect(200)["contacts"].clone();
        assert_eq!(
            contacts,
            json!([{ "name": "friend", "thread": "e", "description": "knows\neverything" }])
        );
        let second = stub.nth(1, at("p")).await;
        assert!(
            second.last().contains("- friend (e): knows everything"),
            "{}",
            second.last()
        );
        gate.open();
        turn_over(&mut socket, "p", 1).await;
        let log = app.public_log().await;
        assert_eq!(
            mail(&log, "e").len(),
            1,
            "not once more with the end: {}",
            story(&log)
        );
        assert_eq!(told(&log, "p", &["set:contact"]).len(), 1);
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D0.17 D0.23 D0.40 T0.18: deferred, a contact that is only intended counts for what the step says; all of it happens with its end.
on_sqlite!(
    t0_18_deferred_a_pending_contact_counts_and_all_takes_effect_at_the_end,
    |medium| {
        let (stub, mut app, mut socket, gate) = connect_and_send(medium, "deferred").await;
        let log = app.public_log().await;
        assert_eq!(mail(&log, "e"), [], "{}", story(&log));
        assert_eq!(
            app.get("/threads/p").await.expect(200)["contacts"],
            json!([])
        );
        gate.open();
        let ended = turn_over(&mut socket, "p", 1).await;
        turn_over(&mut socket, "e", 1).await;
        let log = app.public_log().await;
        assert_eq!(mail(&log, "e"), [("p", "hello")], "{}", story(&log));
        let effects: Vec<i64> = log
            .iter()
            .filter(|e| has(e, "message") || has(e, "set:contact"))
            .map(seq)
            .collect();
        assert_eq!(
            effects,
            [seq(&ended) - 2, seq(&ended) - 1],
            "one append with the end: {}",
            story(&log)
        );
        // D0.40: what a contact is good for is in front of the model from then on, a line each.
        app.say_in("p", "again").await;
        let third = stub.nth(2, at("p")).await;
        assert!(
            third.last().contains("- friend (e): knows everything"),
            "{}",
            third.last()
        );
        assert!(!stub.nth(0, at("p")).await.last().contains("friend"));
        rows_are_what_the_log_says(&mut app).await;
    }
);

// T0.15: a round that fails in between changes nothing: delivered with the end, and once.
on_sqlite!(
    t0_15_a_message_is_delivered_once_at_the_end_whatever_a_later_round_did,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(
            at("p"),
            [
                call("send", json!({ "to": ["c"], "text": "one" }))
                    .and("state_get", json!({ "kee": 1 })),
                call("no_such_tool", json!({})),
                asleep().held(&gate),
            ],
        );
        stub.on(at("c"), asleep());
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["c"]).await;
        app.process("p", json!({ "contacts": [contact("c")] }))
            .await;
        app.say_in("p", "go").await;
        let third = stub.nth(2, at("p")).await;
        assert!(
            third.says("no_such_tool") && third.says("state_get"),
            "it is told of both failures: {third:?}"
        );
        let log = app.public_log().await;
        assert_eq!(
            with(&log, &["result", "failure"]).len(),
            2,
            "{}",
            story(&log)
        );
        assert_eq!(mail(&log, "c"), [], "{}", story(&log));
        gate.open();
        let ended = turn_over(&mut socket, "p", 1).await;
        turn_over(&mut socket, "c", 1).await;
        let log = app.public_log().await;
        assert_eq!(mail(&log, "c"), [("p", "one")], "{}", story(&log));
        assert!(
            with(&log, &["turn", "started"]).len() == 2
                && seq(one(&log, &["message"])) < seq(&ended)
        );
    }
);

// T0.15 D0.23: a turn that fails, is cancelled or ended from outside delivers nothing; what was said immediately stays said.
on_sqlite!(
    t0_15_a_turn_that_does_not_end_well_delivers_nothing,
    |medium| {
        let stub = Stub::start().await;
        let first = || {
            call("send", json!({ "to": ["c"], "text": "one" }))
                .and(
                    "connect",
                    json!({ "name": "d", "thread": "d", "description": "d" }),
                )
                .and("view_contacts", json!({}))
        };
        stub.script(at("fails"), [first(), status(400)]);
        stub.script(at("at-once"), [first(), status(400)]);
        stub.script(at("stopped"), [first(), text("never").never()]);
        stub.script(at("ended"), [first(), text("never").never()]);
        stub.on(at("c"), asleep());
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["c", "d"]).await;
        for name in ["fails", "stopped", "ended", "at-once"] {
            let commit = if name == "at-once" {
                "immediate"
            } else {
                "deferred"
            };
            app.process(
                name,
                json!({ "contacts": [contact("c")], "commit": commit }),
            )
            .await;
            app.say_in(name, "go").await;
            stub.nth(1, at(name)).await;
        }
        app.post("/threads/stopped/cancel", json!({}))
            .await
            .expect(200);
        app.post("/threads/ended/end", json!({})).await.expect(200);
        for name in ["fails", "stopped", "ended", "at-once"] {
            turn_over(&mut socket, name, 1).await;
        }
        let log = app.public_log().await;
        assert_eq!(mail(&log, "c"), [("at-once", "one")], "{}", story(&log));
        for (name, contacts, state) in [
            ("fails", 1, "waiting"),
            ("stopped", 1, "waiting"),
            ("ended", 1, "stopped"),
            ("at-once", 2, "waiting"),
        ] {
            let thread = app.get(&format!("/threads/{name}")).await.expect(200);
            assert_eq!(
                thread["contacts"].as_array().unwrap().len(),
                contacts,
                "{thread}"
            );
            assert_eq!(
                thread["status"], state,
                "it does not try again by itself: {thread}"
            );
            assert!(thread["reason"].is_string(), "and says why: {thread}");
            assert_eq!(stub.count(at(name)), 2);
        }
        // It is alive.
        stub.on(at("fails"), asleep());
        app.say_in("fails", "once more").await;
        turn_over(&mut socket, "fails", 2).await;
        rows_are_what_the_log_says(&mut app).await;
    }
);

// T0.20 D0.17: contacts are taken away with the step's end; what is none cannot be.
on_sqlite!(
    t0_20_a_contact_is_removed_and_one_that_is_none_is_an_error,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("p"),
            [
                call("disconnect", json!({ "name": "nobody" })),
                call("disconnect", json!({ "name": "c" }))
                    .and("send", json!({ "to": ["c"], "text": "too late" })),
                asleep(),
                call("send", json!({ "to": ["c"], "text": "later still" })),
                asleep(),
            ],
        );
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["c", "d"]).await;
        app.process("p", json!({ "contacts": [contact("c"), contact("d")] }))
            .await;
        app.say_in("p", "go").await;
        let second = stub.nth(1, at("p")).await;
        let failed = second
            .entries()
            .into_iter()
            .find(|entry| {
                entry.who.starts_with("result disconnect ") && entry.who.ends_with(" failed")
            })
            .unwrap();
        assert!(failed.text.contains("\"nobody\""), "{failed:?}");
        assert!(
            second.last().contains("- c (c)") && second.last().contains("- d (d)"),
            "nothing else changed"
        );
        turn_over(&mut socket, "p", 1).await;
        let contacts = app.get("/threads/p").await.expect(200)["contacts"].clone();
        assert_eq!(contacts, json!([contact("d")]));
        app.say_in("p", "try it").await;
        turn_over(&mut socket, "p", 2).await;
        let log = app.public_log().await;
        assert_eq!(mail(&log, "c"), [], "{}", story(&log));
        let errors = told(&log, "p", &["system-thread-error"]);
        let given: Vec<&str> = errors
            .iter()
            .map(|e| e["payload"]["unknown_id"].as_str().unwrap())
            .collect();
        assert_eq!(
            given,
            ["nobody", "c", "c"],
            "removed in the same step counts, too: {}",
            story(&log)
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D0.41 T3.29: whoever is no contact is not reached, and not told apart from what does not exist; the thread may try again.
on_sqlite!(
    t3_29_whom_a_thread_may_not_reach_does_not_exist_for_it,
    |medium| {
        let stub = Stub::start().await;
        let hello = |to: &str| call("send", json!({ "to": [to], "text": "hello" }));
        stub.script(
            at("p"),
            [
                hello("stranger").and("wait", json!({ "from": "stranger", "timeout_s": 5 })),
                hello("fictional").and("wait", json!({ "from": "fictional", "timeout_s": 5 })),
                hello("helper"),
                asleep(),
            ],
        );
        stub.on(at("helper"), asleep());
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["stranger", "helper"]).await;
        app.process("p", json!({ "contacts": [contact("helper")] }))
            .await;
        app.say_in("p", "go").await;
        turn_over(&mut socket, "p", 1).await;
        let log = app.public_log().await;
        assert_eq!(mail(&log, "stranger"), []);
        assert_eq!(mail(&log, "helper"), [("p", "hello")], "{}", story(&log));
        let failed: Vec<&str> = with(&log, &["result", "failure"])
            .into_iter()
            .map(said)
            .collect();
        assert_eq!(failed.len(), 4, "{}", story(&log));
        for (there, not) in [(0, 2), (1, 3)] {
            assert_eq!(
                failed[there].replace("stranger", "fictional"),
                failed[not],
                "the same words"
            );
        }
        let errors = with(&log, &["system-thread-error"]);
        assert_eq!(
            said(errors[0]).replace("stranger", "fictional"),
            said(errors[2])
        );
        assert!(
            app.get("/threads/fictional").await.status == 404,
            "nothing is created by sending"
        );
    }
);

// T0.25: what is sent to a thread that has ended fails by name, at once or, when it ended meanwhile, in a step of its own.
on_sqlite!(
    t0_25_a_message_to_a_thread_that_has_ended_is_a_failure_of_the_sender,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let hello = || call("send", json!({ "to": ["c"], "text": "hello" }));
        stub.script(
            at("p"),
            [
                hello().and("view_contacts", json!({})),
                asleep().held(&gate),
                asleep(),
                hello(),
                asleep(),
            ],
        );
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["c"]).await;
        app.process("p", json!({ "contacts": [contact("c")] }))
            .await;
        app.say_in("p", "go").await;
        stub.nth(1, at("p")).await;
        app.post("/threads/c/end", json!({})).await.expect(200);
        gate.open();
        turn_over(&mut socket, "p", 2).await;
        let third = stub.nth(2, at("p")).await;
        assert!(third.says("code=\"undelivered\""), "{third:?}");
        let log = app.public_log().await;
        let error = one(&log, &["system-thread-error"]);
        assert_eq!(
            (&error["payload"]["code"], &error["payload"]["unknown_id"]),
            (&json!("undelivered"), &json!("c"))
        );
        assert!(
            third.batch().contains(&seq(error)),
            "it is a reason to think again"
        );
        app.say_in("p", "try again").await;
        let fifth = stub.nth(4, at("p")).await;
        let failed = fifth
            .entries()
            .into_iter()
            .rfind(|entry| entry.who.starts_with("result send"))
            .unwrap();
        assert!(
            failed.who.ends_with("failed") && failed.text.contains("\"c\""),
            "{failed:?}"
        );
        turn_over(&mut socket, "p", 3).await;
        assert_eq!(mail(&app.public_log().await, "c"), []);
        app.post("/threads/c/messages", json!({ "text": "from outside" }))
            .await
            .expect_problem(409, "thread-ended");
    }
);

// D0.42: whoever has a thread among its contacts, and its parent, hears once how it ended; nobody else does.
on_sqlite!(
    d0_42_an_end_reaches_everybody_who_knew_the_thread,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            at("home.child"),
            call("terminate", json!({ "reason": "all <done>" })),
        );
        stub.on(|request: &Request| request.is_decision(), asleep());
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["home"]).await;
        for label in ["child", "other"] {
            app.post(
                "/threads",
                json!({ "label": label, "parent": "home", "kind": "process" }),
            )
            .await
            .expect(201);
        }
        let knows = |names: &[&str]| {
            let contact = |name: &&str| json!({ "name": name, "thread": format!("home.{name}"), "description": "a child" });
            json!({ "contacts": names.iter().map(contact).collect::<Vec<_>>() })
        };
        app.process("both", knows(&["child", "other"])).await;
        app.process("one", knows(&["child"])).await;
        app.process("stranger", json!({})).await;
        // It has the child under two names, and hears of it once all the same.
        let twice = json!([{ "name": "x", "thread": "home.child", "description": "" },
        { "name": "y", "thread": "home.child", "description": "" }]);
        app.process("twice", json!({ "contacts": twice })).await;
        app.say_in("home.child", "end").await;
        turn_over(&mut socket, "home.child", 1).await;
        app.post("/threads/home.other/end", json!({}))
            .await
            .expect(200);
        turn_over(&mut socket, "one", 1).await;
        socket
            .event("word of the second end", |e| {
                e["thread"] == "both" && e["payload"]["id"] == "home.other"
            })
            .await;
        let log = app.public_log().await;
        let ends = |thread: &str| {
            let ended = told(&log, thread, &["thread-ended"]);
            let fields = |e: &&Value| {
                [
                    &e["payload"]["id"],
                    &e["payload"]["status"],
                    &e["payload"]["reason"],
                ]
                .map(text_of)
            };
            ended.iter().map(fields).collect::<Vec<_>>()
        };
        let child = || ["home.child", "done", "all <done>"].map(str::to_owned);
        let other = || ["home.other", "stopped", "ended from outside"].map(str::to_owned);
        assert_eq!(ends("home"), [child(), other()], "{}", story(&log));
        assert_eq!(ends("both"), [child(), other()]);
        assert_eq!(ends("one"), [child()]);
        assert_eq!(ends("twice"), [child()]);
        assert_eq!((ends("stranger"), ends("home.other")), (vec![], vec![]));
        let heard = stub.request(at("one")).await;
        assert!(
            heard.says("reason=\"all &lt;done&gt;\"") && heard.says("status=\"done\""),
            "{heard:?}"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

// D0.40: what is said of a contact stands in every prompt: a line of bounded length, whoever says it.
on_sqlite!(
    what_is_said_of_a_contact_has_one_length_whoever_says_it,
    |medium| {
        const MOST: usize = 1000;
        let stub = Stub::start().await;
        let long = "knows much\nand more \u{2028}".repeat(500);
        let connect = json!({ "name": "told", "thread": "e", "description": long });
        let spawn = json!({ "label": "child", "prompt": long, "payload": null });
        stub.script(
            at("p"),
            [
                call("connect", connect).and("spawn_thread", spawn),
                asleep(),
            ],
        );
        stub.on(at("p"), asleep());
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["e"]).await;
        let given = json!({ "name": "given", "thread": "e", "description": long });
        let short = json!({ "name": "short", "thread": "e", "description": "x".repeat(MOST) });
        let created = app
            .process("p", json!({ "contacts": [given, short] }))
            .await;
        app.say_in("p", "go").await;
        let ended = turn_over(&mut socket, "p", 1).await;
        assert_eq!(created["contacts"][0]["name"], "given", "{created}");
        let contacts = app.get("/threads/p").await.expect(200)["contacts"].clone();
        let described = |name: &str| {
            let contact = contacts
                .as_array()
                .unwrap()
                .iter()
                .find(|contact| contact["name"] == name);
            contact.unwrap_or_else(|| panic!("no {name}: {contacts}"))["description"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(described("given"), described("told"), "one rule");
        assert_eq!(
            described("given"),
            created["contacts"][0]["description"],
            "who gives it is shown what is kept"
        );
        assert!(described("given").chars().count() == MOST && described("given").ends_with('…'));
        assert!(described("child").chars().count() <= MOST);
        assert_eq!(
            described("short"),
            "x".repeat(MOST),
            "control: as much as there may be"
        );
        let changes = app.public_log().await;
        let changes = with(&changes, &["set:contact"])
            .into_iter()
            .filter(|it| seq(it) < seq(&ended));
        for change in changes {
            let description = change["payload"]["change"]["description"].as_str().unwrap();
            assert!(
                description.chars().count() <= MOST,
                "in the log, too: {change}"
            );
        }
        app.say_in("p", "again").await;
        let asked = stub
            .request(|request| request.thread == "p" && request.says("- told (e): "))
            .await;
        let view = asked.last();
        for name in ["given", "told", "child"] {
            let line = view
                .lines()
                .find(|line| line.starts_with(&format!("- {name} (")))
                .unwrap();
            assert!(
                line.chars().count() < MOST + 100 && !line.contains('\u{2028}'),
                "{line}"
            );
        }
        let list = view
            .split("Your contacts:\n")
            .last()
            .unwrap()
            .split("\n\n")
            .next()
            .unwrap();
        assert!(
            list.lines().all(|line| line.starts_with("- ")),
            "a line each: {list}"
        );
    }
);

// A prompt that a model writes for another thread stands in each of that one's requests: it has the length that clients' have.
on_sqlite!(
    a_prompt_that_a_model_writes_is_as_long_as_a_clients_at_most,
    |medium| {
        let stub = Stub::start().await;
        let prompt = |bytes: usize| "p".repeat(bytes);
        let spawn = |label: &str, bytes| json!({ "label": label, "prompt": prompt(bytes), "payload": null });
        let fan_out =
            json!({ "items": ["a"], "prompt": prompt(2001), "gather": false, "timeout_s": null });
        let steps = json!({ "steps": ["a"], "prompt": prompt(2001), "timeout_s": null });
        let first =
            call("spawn_thread", spawn("large", 2001)).and("spawn_thread", spawn("fits", 2000));
        stub.script(
            at("p"),
            [
                first.and("fan_out", fan_out).and("sequence", steps),
                asleep(),
            ],
        );
        let app = Setup::new(medium, &stub)
            .env("THINKD_LIMITS__TEXT_BYTES", 2000)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        let body = json!({ "kind": "process", "prompt": prompt(2001) });
        app.post("/threads", body)
            .await
            .expect_problem(400, "text-too-large");
        app.say_in("p", "go").await;
        turn_over(&mut socket, "p", 1).await;
        let log = app.public_log().await;
        let refused = with(&log, &["result", "failure"]);
        assert_eq!(refused.len(), 3, "{}", story(&log));
        assert!(
            refused
                .iter()
                .all(|it| said(it).contains("2000 bytes") && said(it).contains("2001")),
            "{refused:?}"
        );
        let threads: Vec<_> = app
            .pages("/threads?")
            .await
            .iter()
            .map(|row| row["id"].clone())
            .collect();
        assert_eq!(threads, ["p", "p.fits"], "the others were not made");
    }
);
