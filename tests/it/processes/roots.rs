//! The cost of one message from outside, however many threads it sets going: calls, tokens and
//! threads below one root.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::collections::BTreeMap;

use super::*;

/// Waits until no thread thinks or has anything left to think about.
async fn at_rest(app: &App) {
    let mut socket = app.socket().await;
    let thinks = |thread: &Value| thread["status"] == "thinking";
    within("rest", async {
        // One that rests may be woken by the last act of another: no frame comes for a while, either.
        loop {
            while let Ok(Some(_)) = tokio::time::timeout(ms(150), socket.next()).await {}
            if !app.pages("/threads?").await.iter().any(thinks) {
                return;
            }
        }
    })
    .await;
}

/// Makes two more like the thread that calls it.
fn multiplies() -> Answer {
    let items =
        json!({ "items": ["go on", "go on"], "prompt": null, "gather": false, "timeout_s": null });
    call("fan_out", items)
}

/// The failures that name this budget.
fn named<'a>(log: &'a [Value], words: &str) -> Vec<&'a Value> {
    log.iter()
        .filter(|event| has(event, "failure") && said(event).contains(words))
        .collect()
}

// Whoever pays for the calls: a message that sets ever more threads going costs what its root may, and no call more. The
// control is the next message, which has a budget of its own.
on_both!(
    one_message_costs_no_more_calls_than_its_root_may,
    |medium| {
        let stub = Stub::start().await;
        stub.on(Request::is_decision, multiplies());
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__ROOT__MODEL_CALLS", 40)
            .start()
            .await;
        for calls in [40, 80] {
            app.say_in("main", "go").await;
            at_rest(&app).await;
            assert_eq!(stub.count(Request::is_decision), calls);
        }
        let log = app.public_log().await;
        assert!(
            !named(&log, "(budget.root.model_calls)").is_empty(),
            "{}",
            story(&log)
        );
        // Whose calls they are stands in the log: every turn says to which event it goes back.
        let inputs: Vec<i64> = with(&log, &["input"]).into_iter().map(seq).collect();
        for started in with(&log, &["turn", "started"]) {
            assert!(
                started["payload"]["root"]
                    .as_i64()
                    .is_some_and(|root| inputs.contains(&root)),
                "{started}"
            );
        }
        rows_are_what_the_log_says(&mut app).await;
    }
);

// Two servers know the sum from the log: what both let through at the same moment is all there may be too much.
#[tokio::test]
async fn two_servers_share_the_budget_of_a_root_postgres() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    stub.on(Request::is_decision, multiplies());
    let setup = Setup::new(medium, &stub)
        .env("THINKD_BUDGET__ROOT__MODEL_CALLS", 12)
        .env("THINKD_TEST_BUDGET__ROOT__THREADS", 8);
    let app = setup
        .env("THINKD_TEST_RUNTIME__WORKERS", 3)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 100)
        .start()
        .await;
    let _other = app.beside().await;
    app.say_in("main", "go").await;
    at_rest(&app).await;
    let calls = stub.count(Request::is_decision);
    assert!((12..=17).contains(&calls), "{calls} calls");
}

on_both!(
    one_message_makes_no_more_threads_than_its_root_may,
    |medium| {
        let stub = Stub::start().await;
        stub.on(Request::is_decision, multiplies());
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_BUDGET__ROOT__THREADS", 5)
            .start()
            .await;
        app.say_in("main", "go").await;
        at_rest(&app).await;
        // Two at a time, all of them or none.
        assert_eq!(app.pages("/threads?").await.len(), 1 + 4);
        let log = app.public_log().await;
        assert!(
            !named(&log, "go back to the same event").is_empty(),
            "{}",
            story(&log)
        );
        app.say_in("main", "again").await;
        at_rest(&app).await;
        assert_eq!(app.pages("/threads?").await.len(), 1 + 4 + 4);
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_both!(
    one_message_uses_no_more_tokens_than_its_root_may,
    |medium| {
        let stub = Stub::start().await;
        stub.on(at("p"), text("And on.").usage(80, 20, 0));
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__ROOT__TOKENS", 950)
            .start()
            .await;
        processes(&app, &["p"]).await;
        app.say_in("p", "go").await;
        at_rest(&app).await;
        assert_eq!(
            stub.count(at("p")),
            10,
            "the tenth was let through with 900 used"
        );
        assert_eq!(
            named(&app.public_log().await, "(budget.root.tokens)").len(),
            1
        );
        let thread = app.get("/threads/p").await.expect(200);
        assert!(
            thread["reason"]
                .as_str()
                .unwrap()
                .contains("budget.root.tokens"),
            "{thread}"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// Twenty conversations at once, each with voices: the space's budget holds before every call, not only before every turn.
on_both!(a_space_makes_no_more_calls_than_it_may, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(Request::is_comment, text("Hm.").held(&gate));
    let setup = Setup::new(medium, &stub)
        .voices(&["a", "b", "c"])
        .env("THINKD_BUDGET__SPACE_MODEL_CALLS", 40);
    let mut app = setup.start().await;
    for number in 0..20 {
        app.say_in(&format!("talk-{number}"), "hello").await;
    }
    stub.some(40, |_| true).await;
    gate.open();
    at_rest(&app).await;
    app.say_in("talk-0", "and now?").await;
    at_rest(&app).await;
    assert_eq!(stub.count(|_| true), 40);
    assert!(!named(&app.public_log().await, "(budget.space_model_calls)").is_empty());
    rows_are_what_the_log_says(&mut app).await;
});

// A thread that the clock wakes for ever, by its timers or by the limit of its waits: it draws on the root that set them, over
// restarts, and then those who depend on it are told.
on_both!(
    a_loop_by_the_clock_ends_with_the_budget_of_its_root,
    |medium| {
        let stub = Stub::start().await;
        let spawn = |label: &str| json!({ "label": label, "prompt": null, "payload": "tick" });
        let nobody = |timeout: Value| json!({ "from": null, "timeout_s": timeout });
        stub.script(
            at("main"),
            [
                call("spawn_thread", spawn("timer")),
                reply("One."),
                call("spawn_thread", spawn("limit")),
            ],
        );
        stub.on(at("main"), reply("So be it."));
        let tick = json!({ "after_s": 0, "note": "again" });
        stub.on(
            at("main.timer"),
            call("set_timer", tick).and("wait", nobody(Value::Null)),
        );
        stub.on(at("main.limit"), call("wait", nobody(json!(0))));
        let setup = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__ROOT__MODEL_CALLS", 12)
            .env("THINKD_TEST_BUDGET__TIMER_MS", 20);
        let mut app = setup.start().await;
        for (round, label) in [(1, "timer"), (2, "limit")] {
            let thread = format!("main.{label}");
            let before = stub.count(Request::is_decision);
            let mut socket = app.socket().await;
            app.say_in("main", "go").await;
            stub.nth(2, at(&thread)).await;
            if round == 1 {
                app.restart().await;
                socket = app.socket().await;
                socket
                    .subscribe(json!({ "type": "subscribe", "after": 0 }))
                    .await;
            }
            let told = |e: &Value| {
                e["thread"] == "main"
                    && has(e, "thread-stuck")
                    && e["payload"]["id"] == json!(thread)
            };
            let stuck = socket.event("word of it", told).await;
            assert!(said(&stuck).contains("budget.root.model_calls"), "{stuck}");
            // Long enough for many more ticks.
            let ended =
                |e: &Value| e["thread"] == json!(thread) && has(e, "ended") && seq(e) > seq(&stuck);
            let last = socket.event("its last turn's end", ended).await;
            silent_after(&mut socket, &thread, &last, ms(300)).await;
            // A call that a restart cut off has been made, and left no record.
            let calls = stub.count(Request::is_decision) - before;
            assert!((12..=13).contains(&calls), "{calls}");
        }
        rows_are_what_the_log_says(&mut app).await;
    }
);

// Whatever came since: a turn that a timer wakes draws on the root of the turn that set it, not on the thread's last one.
on_both!(a_timer_draws_on_the_root_that_set_it, |medium| {
    let stub = Stub::start().await;
    let nobody = json!({ "from": null, "timeout_s": null });
    stub.script(
        at("p"),
        [call("set_timer", json!({ "after_s": 3600, "note": "later" })).and("wait", nobody)],
    );
    stub.on(at("p"), asleep());
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 50)
        .start()
        .await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    let mut roots = Vec::new();
    for (turn, text) in [(1, "set it"), (2, "something else")] {
        roots.push(app.say_in("p", text).await["events"][0]["seq"].clone());
        turn_over(&mut socket, "p", turn).await;
    }
    stored::execute(app.database(), "update timers set due = 0").await;
    turn_over(&mut socket, "p", 3).await;
    let log = app.public_log().await;
    let begun: Vec<&Value> = with(&log, &["turn", "started"])
        .into_iter()
        .map(|e| &e["payload"]["root"])
        .collect();
    assert_eq!(begun, [&roots[0], &roots[1], &roots[0]], "{}", story(&log));
});

/// Returns the number of calls in the name of each root, by the log.
async fn calls_by_root(app: &App) -> BTreeMap<i64, usize> {
    let mut calls = BTreeMap::new();
    for record in app.log().await {
        let tags = record["meta"]["tags"].as_array().unwrap();
        let is_call = tags
            .iter()
            .any(|tag| tag.as_str().unwrap().starts_with("call:"));
        if is_call && record["payload"]["outcome"] != "refused" {
            *calls
                .entry(record["payload"]["root"].as_i64().unwrap())
                .or_default() += 1;
        }
    }
    calls
}

// A message that a thread sleeps through, because it waits for somebody else, costs nothing before its turn: what is done meanwhile
// draws on the root that it goes back to, and so does the thread.
on_both!(
    what_is_slept_through_has_one_budget_and_that_is_its_own,
    |medium| {
        let stub = Stub::start().await;
        let steps = json!({ "steps": ["step one", "step two"], "prompt": null, "timeout_s": null });
        let waits = call("wait", json!({ "from": "friend", "timeout_s": null }));
        let sub =
            |text: &'static str| move |r: &Request| r.thread.starts_with("p.") && r.says(text);
        let gate = Gate::new();
        stub.script(at("p"), [call("sequence", steps), waits]);
        stub.script(
            sub("step one"),
            [call("terminate", json!({ "reason": "1" })).held(&gate)],
        );
        stub.on(
            sub("step two"),
            call("think", json!({ "thought": "And on." })),
        );
        stub.on(at("p"), text("And on."));
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__ROOT__MODEL_CALLS", 6)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["friend"]).await;
        app.process("p", json!({ "contacts": [contact("friend")] }))
            .await;
        let first = seq(&app.say_in("p", "go").await["events"][0]);
        turn_over(&mut socket, "p", 1).await;
        let second = seq(&app.say_in("p", "meanwhile").await["events"][0]);
        gate.open();
        // It makes room for the second step, and does nothing else.
        turn_over(&mut socket, "p", 2).await;
        // That one thinks on until its root has nothing left, which ends the sequence and the wait.
        at_rest(&app).await;
        let log = app.public_log().await;
        assert_eq!(
            calls_by_root(&app).await,
            BTreeMap::from([(first, 6), (second, 6)]),
            "{}",
            story(&log)
        );
        let begun = told(&log, "p", &["turn", "started"]);
        let roots: Vec<&Value> = begun
            .iter()
            .take(3)
            .map(|event| &event["payload"]["root"])
            .collect();
        assert_eq!(
            roots,
            [&json!(first), &json!(first), &json!(second)],
            "{}",
            story(&log)
        );
        assert_eq!(stub.count(Request::is_decision), 12);
        rows_are_what_the_log_says(&mut app).await;
    }
);

// The steps of a sequence are threads like all others: no more of them than the root may have, whoever begins them.
on_both!(
    the_steps_of_a_sequence_count_as_threads_of_their_root,
    |medium| {
        let stub = Stub::start().await;
        let steps =
            json!({ "steps": ["one", "two", "three", "four"], "prompt": null, "timeout_s": null });
        stub.script(at("p"), [call("sequence", steps), asleep()]);
        stub.on(at("p"), asleep());
        stub.on(any, call("terminate", json!({ "reason": "done" })));
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_BUDGET__ROOT__THREADS", 2)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.say_in("p", "go").await;
        let told = socket
            .event("word of it", |e| e["thread"] == "p" && has(e, "gathered"))
            .await;
        assert_eq!(
            (&told["payload"]["successful"], &told["payload"]["missing"]),
            (&json!(2), &json!(2)),
            "{told}"
        );
        at_rest(&app).await;
        assert!(!named(&app.public_log().await, "go back to the same event").is_empty());
        rows_are_what_the_log_says(&mut app).await;
    }
);

// A schedule that a turn made draws on what that turn went back to. Once that is spent, it says so once and pauses, as many
// runs as it would have had; for a person who resumes it, it runs again.
on_both!(
    a_schedule_of_a_spent_message_pauses_and_says_so_once,
    |medium| {
        let stub = Stub::start().await;
        let often = json!({
            "action": "create", "name": "often", "text": "go", "kind": "every", "at": null, "seconds": 0.02,
            "time": null, "zone": null, "days": null, "day": null,
        });
        stub.script(
            Request::is_decision,
            [call("schedule", often), reply("Done.")],
        );
        stub.on(Request::is_decision, reply("Ran."));
        let mut app = Setup::new(medium, &stub)
            .file("thinkd.toml", "[tools]\nconversation = [\"*\"]\n")
            .env("THINKD_BUDGET__ROOT__MODEL_CALLS", 4)
            .env("THINKD_TEST_BUDGET__TIMER_MS", 10)
            .env("THINKD_TEST_LIMITS__SCHEDULE_INTERVAL_MS", 10)
            .start()
            .await;
        app.tell("often").await;
        let paused = async |app: &App| {
            app.until_some("the pause of the schedule", async || {
                let often = app.get("/schedules/often").await.expect(200);
                (often["paused"] == true).then_some(often)
            })
            .await
        };
        let often = paused(&app).await;
        assert!(
            often["note"].to_string().contains("budget.root."),
            "{often}"
        );
        at_rest(&app).await;
        assert_eq!(stub.count(Request::is_decision), 4);
        let log = app.public_log().await;
        let skipped = with(&log, &["schedule:often", "skipped"]);
        let told = skipped
            .iter()
            .filter(|event| said(event).contains("budget.root."))
            .count();
        assert_eq!(told, 1, "{}", story(&log));
        assert!(
            named(&log, "(budget.root.model_calls)").len() <= 1,
            "{}",
            story(&log)
        );
        // Ten due times later nothing was added: of a due time that is skipped in silence nothing tells.
        tokio::time::sleep(ms(200)).await;
        assert_eq!(app.public_log().await.len(), log.len());
        app.patch("/schedules/often", json!({ "paused": false }))
            .await
            .expect(200);
        stub.nth(4, Request::is_decision).await;
        app.delete("/schedules/often").await.expect(204);
        rows_are_what_the_log_says(&mut app).await;
    }
);
