//! Failures: every failure is an event that a person can read, in the thread it concerns, and the
//! mind goes on.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

/// The only failure in the log, which must be of this kind and of the decision, and name something.
fn failure<'a>(log: &'a [Value], kind: &str, word: &str) -> &'a Value {
    let failure = one(log, &["failure"]);
    assert!(has(failure, kind) && has(failure, "decision"), "{failure}");
    assert_eq!(failure["payload"]["kind"], kind);
    assert!(
        failure["payload"]["retryable"].is_boolean() && said(failure).contains(word),
        "{failure}"
    );
    assert_eq!(failure["source"], "system");
    failure
}

// D4.57: a model that answers with an error.
on_sqlite!(
    d4_57_a_model_error_is_an_event_and_the_turn_ends,
    |medium| {
        let stub = Stub::start().await;
        stub.on(|r| r.says("break") && !r.says("mend"), status(400));
        let app = App::start(medium, &stub).await;
        assert!(app.tell("break").await.is_empty(), "nothing is made up");
        let log = app.public_log().await;
        failure(&log, "model", "400");
        assert_eq!(
            one(&log, &["turn", "ended"])["payload"]["outcome"],
            "failed"
        );
        in_order(&log, &[&["input"], &["failure"], &["turn", "ended"]]);
        assert_eq!(app.get("/threads/main").await.expect(200)["status"], "idle");
        assert_eq!(
            said(&app.tell("mend").await[0]),
            "ok: mend",
            "the mind goes on"
        );
        assert!(
            stub.requests()
                .last()
                .unwrap()
                .entries()
                .iter()
                .any(|entry| entry.who.starts_with("failure")),
            "and knows what happened"
        );
    }
);

// D4.57: a passing error is tried again, with the pause the provider asks for, and leaves no failure.
on_sqlite!(
    d4_57_a_passing_error_is_tried_again_after_the_pause_asked_for,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [status(429).header("retry-after", "1"), status(503)],
        );
        let app = App::start(medium, &stub).await;
        assert_eq!(said(&app.tell("hello").await[0]), "ok: hello");
        let asked = stub.all(decision);
        assert_eq!(asked.len(), 3);
        assert!(
            asked[1].at - asked[0].at >= ms(990),
            "Retry-After was not honoured: {:?}",
            asked[1].at - asked[0].at
        );
        assert!(with(&app.public_log().await, &["failure"]).is_empty());
        assert!(
            asked.iter().all(|request| request.bytes == asked[0].bytes),
            "the same request"
        );
    }
);

// D4.57: time-outs.
on_sqlite!(
    d4_57_a_decision_that_takes_too_long_is_ended_and_said,
    |medium| {
        let stub = Stub::start().await;
        stub.script(decision, [reply("never").never()]);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TURN__DECISION_TIMEOUT_MS", 300)
            .start()
            .await;
        assert!(app.tell("hello").await.is_empty());
        failure(&app.public_log().await, "timeout", " ms");
        stub.request(decision).await.closed().await;
        assert_eq!(said(&app.tell("again").await[0]), "ok: again");
        assert_eq!(
            with(&app.public_log().await, &["failure"]).len(),
            1,
            "control: in time, no failure"
        );
    }
);

// D4.57: answers that cannot be read, in every way a provider manages.
on_sqlite!(
    d4_57_unreadable_answers_are_failures_not_crashes,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub)
            .env("THINKD_MODELS__LOW__STREAM", false)
            .start()
            .await;
        let unreadable = [
            raw("<html>Bad gateway</html>"),
            raw(""),
            raw("{}"),
            raw("[1,2,3]"),
            raw("{\"choices\":[]}"),
            raw(vec![0xff, 0xfe, 0x00]),
            raw("{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":null}}]}"),
        ];
        for (n, answer) in unreadable.into_iter().enumerate() {
            let thread = format!("t{n}");
            stub.clear();
            let bad = thread.clone();
            stub.on(move |r| r.thread == bad, answer);
            assert!(app.tell_in(&thread, "hello").await.is_empty());
            let log = app
                .pages(&format!("/events?order=asc&thread={thread}&"))
                .await;
            assert!(
                !with(&log, &["failure"]).is_empty(),
                "answer {n} went unnoticed:\n{}",
                story(&log)
            );
            envelope::check_turns(&log, &thread);
        }
        stub.clear();
        assert_eq!(said(&app.tell("hello").await[0]), "ok: hello");
    }
);

// D4.57: a connection that breaks in the middle of an answer.
on_sqlite!(
    d4_57_an_answer_that_breaks_off_is_a_failure_or_asked_again,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            |r| r.thread == "cut",
            reply("This will break off in the middle.").cut(5),
        );
        let app = Setup::new(medium, &stub)
            .env("THINKD_MODELS__LOW__STREAM", true)
            .start()
            .await;
        let mut socket = app.socket().await;
        socket.say_in("cut", "hello").await;
        let end = socket.turn_ended().await;
        assert_eq!(end["payload"]["outcome"], "failed");
        let log = app.public_log().await;
        assert!(has(one(&log, &["failure"]), "model"), "{}", story(&log));
        let whole = with(&log, &["response"])
            .into_iter()
            .filter(|event| !has(event, "partial"))
            .count();
        assert_eq!(
            whole,
            0,
            "half an answer passes for a whole one: {}",
            story(&log)
        );
        // What was shown is closed by what became of it.
        if socket.seen.iter().any(|frame| frame["type"] == "delta") {
            let outcome = socket.of_type("delta_end").await["outcome"].clone();
            assert_eq!(
                outcome == "partial",
                !with(&log, &["response", "partial"]).is_empty(),
                "{outcome}"
            );
        }
        assert_eq!(said(&app.tell("hello").await[0]), "ok: hello");
    }
);

// D4.57: nobody there at all.
on_sqlite!(d4_57_an_unreachable_model_is_said, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        .start()
        .await;
    assert!(app.tell("hello").await.is_empty());
    failure(&app.public_log().await, "model", "127.0.0.1:9");
});

// D4.57: bad input and lost clients leave a trace for those who look, not more than one a second.
on_sqlite!(
    d4_57_refused_frames_and_lost_clients_are_events_for_those_who_look,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut watcher = app.socket().await;
        watcher.follow(0, json!({ "tags": ["debug"] })).await;
        let mut clumsy = app.socket().await;
        for _ in 0..20 {
            clumsy.send_text("{\"type\":\"nonsense\"}").await;
            clumsy.problem().await;
        }
        let event = watcher.tagged("client").await;
        assert_eq!(tags(&event), ["debug", "failure", "client"]);
        assert!(
            event["payload"].to_string().contains("unknown-type")
                || said(&event).contains("nonsense"),
            "{event}"
        );
        let seen = app.pages("/events?tags=debug&").await.len();
        assert!(seen <= 3, "{seen} events for 20 frames in a moment");
        assert!(
            with(&app.public_log().await, &["client"]).is_empty(),
            "hidden unless asked for"
        );
        // A client that vanishes without saying goodbye.
        drop(clumsy);
        let lost = watcher
            .event("a lost client", |e| {
                has(e, "client") && !e["payload"].to_string().contains("unknown-type")
            })
            .await;
        assert!(!said(&lost).is_empty(), "{lost}");
    }
);

// Limits of inputs: too much waits, and the client is told to come back.
on_sqlite!(
    too_many_waiting_inputs_are_refused_until_some_are_handled,
    |medium| {
        let stub = Stub::start().await;
        let held = Gate::new();
        stub.script(decision, [reply("at last").held(&held)]);
        let app = Setup::new(medium, &stub)
            .env("THINKD_LIMITS__WAITING_INPUTS", 5)
            .start()
            .await;
        app.post("/threads/main/messages", json!({ "text": "first" }))
            .await
            .expect(202);
        stub.request(decision).await;
        let mut refused = None;
        for n in 0..7 {
            let answer = app
                .post("/threads/main/messages", json!({ "text": format!("{n}") }))
                .await;
            if answer.status != 202 {
                refused = Some(answer);
                break;
            }
        }
        let refused = refused.expect("seven inputs wait where five may");
        assert!(
            !refused.header("retry-after").is_empty(),
            "{:?}",
            refused.headers
        );
        refused.expect_problem(429, "queue-full");
        held.open();
        let answered = app.until_some("room in the queue", async || {
            let again = json!({ "text": "again" });
            let answered = app.post("/threads/main/messages?wait=15", again).await;
            (answered.status != 429).then_some(answered)
        });
        answered.await.expect(200);
        envelope::check_turns(&app.public_log().await, "main");
    }
);

// T4.65
#[tokio::test]
async fn t4_65_a_missing_or_empty_prompt_and_unknown_settings_refuse_to_start_by_name() {
    let stub = Stub::start().await;
    let refuses = async |setup: Setup, word: &str| {
        let output = tokio::task::spawn_blocking(move || setup.command().output().unwrap());
        let output = within("the refusal to start", output).await.unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(word), "it does not name {word}: {text}");
    };
    let empty = Setup::new(Medium::sqlite(), &stub)
        .file("prompts/decision.md", " \n")
        .env("THINKD_PROMPTS", "prompts");
    refuses(empty, "decision").await;
    refuses(
        Setup::new(Medium::sqlite(), &stub).env("THINKD_PROMPTS", "no-such-folder"),
        "no-such-folder",
    )
    .await;
    refuses(
        Setup::new(Medium::sqlite(), &stub).env("THINKD_TURN__NO_SUCH_KEY", 1),
        "no_such_key",
    )
    .await;
    refuses(
        Setup::new(Medium::sqlite(), &stub).file("thinkd.toml", "[turn]\nmoods = 3\n"),
        "moods",
    )
    .await;
    refuses(
        Setup::offline(Medium::sqlite()).env("THINKD_MODELS__API_KEY", "key"),
        "model",
    )
    .await;
    refuses(
        Setup::offline(Medium::sqlite()).env("THINKD_LISTEN", "0.0.0.0:0"),
        "token",
    )
    .await;
    // A shell has a key for other programs, too: here it is left alone, and that is said in one line.
    let app = Setup::offline(Medium::sqlite())
        .env("OPENAI_API_KEY", "canary")
        .start()
        .await;
    let output = app.output();
    let answer = app.tell("hello").await;
    let told = output
        .lines()
        .filter(|line| line.contains("OPENAI_API_KEY"));
    let told: Vec<&str> = told.collect();
    assert!(
        told.len() == 1 && told[0].contains("offline") && told[0].contains("THINKD_MODEL"),
        "{output}"
    );
    assert!(!output.contains("canary"), "{output}");
    assert!(said(&answer[0]).contains("offline model"), "{answer:?}");
    // Control: with a prompt in it, the folder is used.
    let folder = Setup::new(Medium::sqlite(), &stub).env("THINKD_PROMPTS", "prompts");
    let original = include_str!("../../prompts/decision.md");
    let app = folder
        .file(
            "prompts/decision.md",
            &format!("{original}\nSpeak like a pirate.\n"),
        )
        .start()
        .await;
    app.tell("hello").await;
    assert!(stub.request(decision).await.says("Speak like a pirate."));
}

// Who waits over HTTP is told what became of it: how its turn ended, and what failed, as the log has it.
on_sqlite!(
    who_waits_for_an_answer_is_told_why_there_is_none,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(
            |r| r.thread == "main" && r.says("break") && !r.says("mend"),
            status(400),
        );
        stub.on(at("held"), reply("too late").held(&gate));
        let app = App::start(medium, &stub).await;
        let broken = json!({ "text": "break", "event_id": "6f1c1f0e-7f5b-4b8e-9a53-0d8d2f4f1a11" });
        let answer = app
            .post("/threads/main/messages?wait=15", broken.clone())
            .await
            .expect(200);
        let log = app.public_log().await;
        assert_eq!(
            (&answer["responses"], &answer["outcome"]),
            (&json!([]), &json!("failed")),
            "{answer}"
        );
        assert_eq!(
            answer["failures"],
            json!([failure(&log, "model", "400")]),
            "as the log has it"
        );
        let again = app
            .post("/threads/main/messages?wait=15", broken)
            .await
            .expect(200);
        assert_eq!(again["status"], "duplicate");
        assert_eq!(
            (&again["outcome"], &again["failures"]),
            (&answer["outcome"], &answer["failures"]),
            "asked later, the same"
        );

        let wait = |text: &str| {
            app.request("POST", "/threads/held/messages?wait=15")
                .json(&json!({ "text": text }))
        };
        let first = tokio::spawn(http::send(wait("go")));
        stub.request(at("held")).await;
        app.post("/threads/held/cancel", json!({}))
            .await
            .expect(200);
        let first = first.await.unwrap().expect(200);
        assert_eq!(
            (&first["outcome"], &first["failures"]),
            (&json!("cancelled"), &Value::Null),
            "{first}"
        );
        let second = tokio::spawn(http::send(wait("and then")));
        stub.nth(1, at("held")).await;
        let third = tokio::spawn(http::send(wait("and at last")));
        app.until("the third in the mailbox", async || {
            app.get("/threads/held").await.expect(200)["queued"] == 1
        })
        .await;
        app.post("/threads/held/end", json!({})).await.expect(200);
        second.await.unwrap().expect(200);
        assert_eq!(
            third.await.unwrap().expect(200)["outcome"],
            "ended",
            "no turn came to it"
        );

        let well = app
            .post("/threads/main/messages?wait=15", json!({ "text": "mend" }))
            .await
            .expect(200);
        assert_eq!(said(&well["responses"][0]), "ok: mend", "control");
        assert_eq!(
            (&well["outcome"], &well["failures"]),
            (&json!("done"), &Value::Null),
            "control: {well}"
        );
    }
);
