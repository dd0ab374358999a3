//! Submodules: their definition, the entries that they are shown, the wait for them, and the
//! outcome of their texts.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::time::Duration;

use serde_json::{Value, json};

use kit::*;

mod follow_up;
mod removed;

// D4.09 D4.27 D4.30
on_sqlite!(
    d4_09_d4_27_a_name_and_a_prompt_make_a_voice_that_speaks_in_the_next_turn,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        app.tell("nobody comments").await;
        assert_eq!(stub.count(Request::is_voice), 0);
        let body = json!({ "name": "owl", "prompt": "You are the owl. Hoot about what is dark." });
        let made = app.post("/submodules", body.clone()).await.expect(201);
        assert_eq!(
            (&made["name"], &made["prompt"]),
            (&body["name"], &body["prompt"])
        );
        app.tell("it is night").await;
        let asked = stub.request(voice("owl")).await;
        assert!(
            asked.says("Hoot about what is dark."),
            "its prompt: {asked:?}"
        );
        assert!(asked.says("it is night"), "the new event: {asked:?}");
        let log = app.public_log().await;
        assert_eq!(said(one(&log, &["submodule:owl"])), "owl: noted.");
        // Nothing but a name and a prompt makes one.
        for extra in ["model", "weight", "threshold"] {
            let mut body = json!({ "name": "cat", "prompt": "Purr." });
            body[extra] = json!(1);
            app.post("/submodules", body)
                .await
                .expect_problem(400, "unknown-member");
        }
        let listed = app.get("/submodules").await.expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    }
);

// D4.28
on_sqlite!(
    d4_28_voices_come_change_and_go_without_a_restart_and_stay_over_one,
    |medium| {
        let stub = Stub::start().await;
        let mut app = Setup::new(medium, &stub)
            .voices(&["stays", "goes"])
            .start()
            .await;
        app.tell("one").await;
        assert_eq!(stub.count(Request::is_comment), 2);
        app.delete("/submodules/goes").await.expect(204);
        app.patch(
            "/submodules/stays",
            json!({ "prompt": "You say the opposite." }),
        )
        .await
        .expect(200);
        app.tell("two").await;
        let asked = stub
            .request(|r| r.is_comment() && r.last_user() == "two")
            .await;
        assert!(
            asked.says("You say the opposite.") && asked.voice() == "stays",
            "{asked:?}"
        );
        app.restart().await;
        app.tell("three").await;
        let asked = stub.all(|r| r.is_comment() && r.last_user() == "three");
        assert_eq!(
            asked
                .iter()
                .map(|r| r.voice().to_owned())
                .collect::<Vec<_>>(),
            ["stays"],
            "voices survive a restart"
        );
        assert!(asked[0].says("You say the opposite."));
        app.get("/submodules/goes").await;
        app.delete("/submodules/goes")
            .await
            .expect_problem(404, "not-found");
        let log = app.public_log().await;
        assert!(
            with(&log, &["state", "set:submodule"]).len() >= 4,
            "each change is an event: {}",
            story(&log)
        );
    }
);

// A mind that nobody has furnished yet begins with the voices that are built in: once.
on_sqlite!(a_new_space_begins_with_the_default_voices, |medium| {
    let stub = Stub::start().await;
    // An empty variable is as good as none: this is the default.
    let setup = Setup::new(medium, &stub).env("THINKD_RUNTIME__DEFAULT_SUBMODULES", "");
    let mut app = setup.start_bare().await;
    let names = async |app: &App| {
        let rows = app.get("/submodules").await.expect(200)["items"]
            .as_array()
            .unwrap()
            .clone();
        assert!(
            rows.iter().all(|row| row["prompt"]
                .as_str()
                .is_some_and(|prompt| prompt.len() > 40)),
            "{rows:?}"
        );
        rows.iter()
            .map(|row| row["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&app).await, ["critic", "understanding"]);
    app.tell("hello").await;
    assert_eq!(stub.count(Request::is_comment), 2);
    app.delete("/submodules/critic").await.expect(204);
    app.restart().await;
    assert_eq!(
        names(&app).await,
        ["understanding"],
        "what was removed does not come back"
    );
    assert_eq!(
        with(&app.public_log().await, &["state", "set:submodule"]).len(),
        3
    );
    assert_eq!(
        stub.count(Request::is_follow_up),
        0,
        "neither is asked after the decision"
    );
    // A space that has voices keeps those that it has.
    let others = ["critic", "memory", "understanding", "warmth"];
    let mut old = Setup::new(Medium::sqlite(), &stub)
        .voices(&others)
        .start()
        .await;
    old.set_env("THINKD_RUNTIME__DEFAULT_SUBMODULES", "true");
    old.restart().await;
    assert_eq!(names(&old).await, others);
    // Control: switched off, a mind begins with none.
    let bare = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_RUNTIME__DEFAULT_SUBMODULES", false)
        .start_bare()
        .await;
    assert!(names(&bare).await.is_empty());
});

// Whoever tries the README without a model sees that a voice was added, and what for.
on_sqlite!(
    without_a_model_any_voice_shows_what_its_prompt_asks_for,
    |medium| {
        let app = Setup::offline(medium).start_bare().await;
        let wishes = [
            ("owl", "Say what is wise"),
            ("cynic", "Doubt it"),
            ("poet", "Rhyme"),
            ("b", "Count sheep"),
            ("zz", "Buzz"),
        ];
        for (name, wish) in wishes {
            let prompt = format!("You are the {name}. {wish}, in one sentence. Then stop.");
            app.post("/submodules", json!({ "name": name, "prompt": prompt }))
                .await
                .expect(201);
        }
        let answer = app.tell("hello").await;
        let log = app.public_log().await;
        for (name, wish) in wishes {
            let remark = said(one(&log, &[&format!("submodule:{name}")]));
            assert!(
                remark.contains(wish) && !remark.contains("Then stop"),
                "{name}: {remark}"
            );
            assert!(
                said(&answer[0]).contains(wish),
                "the reply weighs it: {}",
                said(&answer[0])
            );
        }
        // A prompt that is nothing but a name is its own task; another one changes the remark.
        app.patch("/submodules/owl", json!({ "prompt": "You are the owl" }))
            .await
            .expect(200);
        app.tell("again").await;
        let log = app.public_log().await;
        let last = with(&log, &["submodule:owl"]).pop().unwrap();
        assert!(said(last).contains("You are the owl"), "{last}");
    }
);

// T4.56
on_sqlite!(
    t4_56_a_second_voice_of_a_name_an_empty_prompt_and_odd_names_are_refused,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&["owl"]).start().await;
        let before = app.get("/submodules").await.expect(200);
        let long = "x".repeat(33);
        for (name, prompt) in [
            ("owl", "Again."),
            ("cat", ""),
            ("cat", " \n "),
            ("", "Hm."),
            ("Cat", "Hm."),
            ("c at", "Hm."),
            ("käse", "Hm."),
            (&long, "Hm."),
            ("a.b", "Hm."),
        ] {
            let refused = app
                .post("/submodules", json!({ "name": name, "prompt": prompt }))
                .await;
            assert!(
                (400..500).contains(&refused.status) && !refused.slug().is_empty(),
                "{name:?} {prompt:?}: {}",
                refused.text
            );
            assert!(
                !refused.body["detail"]
                    .as_str()
                    .unwrap_or_default()
                    .is_empty(),
                "it says why: {}",
                refused.text
            );
        }
        assert_eq!(
            app.get("/submodules").await.expect(200),
            before,
            "nothing changed"
        );
    }
);

// D4.31
on_sqlite!(d4_31_a_voice_can_query_the_history, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    app.tell("the password is swordfish").await;
    let query = json!({ "latest": 5, "since": null, "tags": ["input"], "text": "swordfish" });
    stub.script(
        |r| r.is_comment() && r.says("what was it"),
        [
            call("query_events", query),
            text("It was swordfish, you said."),
        ],
    );
    app.tell("what was it?").await;
    let after = stub
        .nth(1, |r| {
            r.voice() == "a" && r.is_comment() && r.says("what was it")
        })
        .await;
    let log = app.public_log().await;
    let result = one(&log, &["result", "tool:query_events", "submodule:a"]);
    assert!(
        result["payload"]["output"]
            .to_string()
            .contains("the password is swordfish"),
        "{result}"
    );
    assert!(
        after.says("tool calls so far") && after.text().matches("swordfish").count() >= 2,
        "the result is in its next request: {after:?}"
    );
    in_order(
        &log,
        &[&["action", "submodule:a"], &["result", "submodule:a"]],
    );
    assert!(
        log.iter()
            .any(|event| has(event, "submodule:a") && said(event) == "It was swordfish, you said.")
    );
});

// D4.32 D4.34 D4.42
on_sqlite!(d4_32_d4_34_a_voice_can_keep_and_look_up_notes, |medium| {
    let stub = Stub::start().await;
    let put =
        json!({ "key": "ada", "content": "Ada likes prime numbers", "related_keys": ["people"] });
    stub.script(voice("a"), [call("state_put", put), text("")]);
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    app.tell("I am Ada and I like primes").await;
    let kept = app.get("/state/ada").await.expect(200);
    assert_eq!(
        (&kept["key"], &kept["content"]),
        (&json!("ada"), &json!("Ada likes prime numbers"))
    );
    let log = app.public_log().await;
    in_order(
        &log,
        &[
            &["action", "tool:state_put", "submodule:a"],
            &["result", "tool:state_put", "submodule:a"],
        ],
    );
    assert_eq!(
        one(&log, &["state", "set:entry"])["payload"]["key"],
        "ada",
        "the change is an event"
    );

    stub.clear();
    let get = call("state_search", json!({ "query": "prime", "limit": null }));
    stub.script(
        |r| r.is_comment() && r.says("who am I"),
        [get, text("Ada, I think.")],
    );
    app.tell("who am I?").await;
    let after = stub.nth(1, |r| r.is_comment() && r.says("who am I")).await;
    assert!(after.says("Ada likes prime numbers"), "{after:?}");
});

// D4.33: none (T4.34), one, or several.
on_sqlite!(d4_33_a_voice_may_say_several_things, |medium| {
    let stub = Stub::start().await;
    let look = call("state_get", json!({ "key": "x" })).saying("First thing.");
    stub.script(voice("a"), [look, text("Second thing.")]);
    let app = Setup::new(medium, &stub).voices(&["a", "b"]).start().await;
    app.tell("speak").await;
    let log = app.public_log().await;
    let texts: Vec<&str> = with(&log, &["submodule:a"])
        .into_iter()
        .filter(|e| tags(e) == ["submodule:a"])
        .map(said)
        .collect();
    assert_eq!(texts, ["First thing.", "Second thing."], "{}", story(&log));
    assert_eq!(with(&log, &["submodule:b"]).len(), 1);
});

// D4.35
on_sqlite!(
    d4_35_what_looks_like_a_score_is_text_and_ranks_nothing,
    |medium| {
        let stub = Stub::start().await;
        stub.on(|r| r.is_comment() && r.voice() == "a", text("0.97"));
        stub.on(
            |r| r.is_comment() && r.voice() == "b",
            text("{\"score\": 0.1}"),
        );
        let app = Setup::new(medium, &stub).voices(&["a", "b"]).start().await;
        app.tell("how good is this?").await;
        let log = app.public_log().await;
        for (name, text) in [("a", "0.97"), ("b", "{\"score\": 0.1}")] {
            let output = one(&log, &[&format!("submodule:{name}")]);
            assert_eq!(
                output["payload"],
                json!({ "text": text, "turn": 1 }),
                "text, the turn's number, and nothing else"
            );
        }
        let asked = stub.request(decision).await;
        let outputs: Vec<i64> = asked
            .entries()
            .iter()
            .filter(|entry| entry.who.starts_with("voice"))
            .map(|e| e.seq)
            .collect();
        assert!(
            outputs.len() == 2 && outputs.is_sorted(),
            "in the log's order: {asked:?}"
        );
    }
);

/// Returns a body without the parts that differ from place to place: positions, times, the thread.
fn normal(request: &Request) -> String {
    request
        .body
        .to_string()
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .collect()
}

// D4.36
on_sqlite!(
    d4_36_removing_one_voice_alters_no_other_voices_request,
    |medium| {
        let stub = Stub::start().await;
        // The mood is that of a thread, and there are two of them.
        let setup = Setup::new(medium, &stub)
            .voices(&["a", "b", "c"])
            .env("THINKD_MOOD__STEP", 0);
        let app = setup.start().await;
        let with_all = app
            .conversation(json!({ "submodules": ["a", "b", "c"] }))
            .await;
        let without_c = app.conversation(json!({ "submodules": ["a", "b"] })).await;
        for thread in [&with_all, &without_c] {
            app.tell_in(thread, "first").await;
            app.tell_in(thread, "second").await;
        }
        for name in ["a", "b"] {
            let asked = |thread: &str| {
                let all = stub.all(|r| r.voice() == name && r.is_comment() && r.thread == thread);
                all.iter().map(|r| normal(r)).collect::<Vec<_>>()
            };
            assert_eq!(asked(&with_all).len(), 2);
            assert_eq!(
                asked(&with_all),
                asked(&without_c),
                "{name} is shown something of c"
            );
        }
        assert_eq!(stub.count(|r| r.voice() == "c" && r.thread == without_c), 0);
        // Control: the decision's request does change.
        let decisions = |thread: &str| {
            stub.all(|r| r.is_decision() && r.thread == thread)
                .iter()
                .map(|r| normal(r))
                .collect::<Vec<_>>()
        };
        assert_ne!(decisions(&with_all), decisions(&without_c));
    }
);

/// Time between the first request of a voice and the decision's, in turn `nth`.
async fn collection(stub: &Stub, nth: usize) -> Duration {
    let decided = stub.nth(nth, decision).await;
    let word = format!("turn number {nth}");
    let first = stub.all(|r| r.is_comment() && r.last_user() == word);
    decided.at - first.iter().map(|request| request.at).min().unwrap()
}

// D4.37 D4.38 D4.53 T4.36: one of three hangs: its deadline and no more.
on_sqlite!(
    d4_37_t4_36_a_hanging_voice_costs_its_deadline_and_no_more,
    |medium| {
        let stub = Stub::start().await;
        stub.on(voice("hangs"), text("never").never());
        let setup = Setup::new(medium, &stub).voices(&["a", "b", "hangs"]);
        let app = setup
            .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 300)
            .env("THINKD_TURN__LATE_TIMEOUT_MS", 500)
            .start()
            .await;
        let mut shortest = Duration::MAX;
        for nth in 0..4 {
            let begin = std::time::Instant::now();
            assert_eq!(
                app.tell(&format!("turn number {nth}")).await.len(),
                1,
                "it is answered without the third"
            );
            let waited = stub.nth(nth, decision).await.at - begin;
            assert!(
                waited >= ms(300),
                "the decision was asked after {waited:?}: before the deadline, with a voice missing"
            );
            shortest = shortest.min(collection(&stub, nth).await);
        }
        assert!(
            shortest < ms(600),
            "the decision waited {shortest:?} for a deadline of 300 ms"
        );
        let log = app.public_log().await;
        let in_time = |log: &[Value]| {
            with(log, &["failure"])
                .into_iter()
                .filter(|e| !has(e, "late") && !has(e, "follow-up"))
                .cloned()
                .collect::<Vec<_>>()
        };
        let failures = in_time(&log);
        assert!(
            failures
                .iter()
                .all(|event| has(event, "timeout") && has(event, "submodule:hangs")),
            "{}",
            story(&log)
        );
        assert_eq!(failures.len(), 4, "{}", story(&log));
        assert!(
            said(&failures[0]).contains("300"),
            "it names the limit: {}",
            said(&failures[0])
        );
        assert_eq!(failures[0]["payload"]["kind"], "timeout");
        let asked = stub.request(decision).await;
        assert!(
            asked.says("a: noted.")
                && asked.says("b: noted.")
                && asked.seqs().contains(&seq(&failures[0])),
            "{asked:?}"
        );
        // Its call is cancelled in the end.
        stub.request(voice("hangs")).await.closed().await;
        // Control: without it nobody waits.
        app.delete("/submodules/hangs").await.expect(204);
        app.tell("turn number 4").await;
        let took = collection(&stub, 4).await;
        assert!(took < ms(295), "{took:?} although nobody hangs");
        assert_eq!(in_time(&app.public_log().await).len(), 4);
    }
);

// D4.37 T4.39: all at once: three calls of 200 ms take about 200 ms.
on_sqlite!(t4_39_voices_run_at_the_same_time, |medium| {
    let stub = Stub::start().await;
    stub.on(Request::is_comment, text("slowly").after(ms(200)));
    let app = Setup::new(medium, &stub)
        .voices(&["a", "b", "c"])
        .start()
        .await;
    let mut shortest = Duration::MAX;
    for nth in 0..3 {
        app.tell(&format!("turn number {nth}")).await;
        let took = collection(&stub, nth).await;
        assert!(
            took >= ms(195),
            "the decision was asked after {took:?}, before the voices had spoken"
        );
        shortest = shortest.min(took);
    }
    assert!(
        shortest < ms(450),
        "three voices of 200 ms took {shortest:?}"
    );
});

// D4.37: and the outputs are appended as they come, in the order in which they come.
on_sqlite!(d4_37_outputs_are_appended_as_they_come, |medium| {
    let stub = Stub::start().await;
    let slow = Gate::new();
    let slower = Gate::new();
    stub.on(
        |r| r.is_comment() && r.voice() == "a",
        text("last").held(&slower),
    );
    stub.on(
        |r| r.is_comment() && r.voice() == "b",
        text("second").held(&slow),
    );
    stub.on(|r| r.is_comment() && r.voice() == "c", text("first"));
    let app = Setup::new(medium, &stub)
        .voices(&["a", "b", "c"])
        .start()
        .await;
    let mut socket = app.socket().await;
    socket.say("go").await;
    let first = socket.tagged("submodule:c").await;
    slow.open();
    let second = socket.tagged("submodule:b").await;
    assert_eq!(stub.count(decision), 0, "not all have spoken");
    slower.open();
    let third = socket.tagged("submodule:a").await;
    assert!(seq(&first) < seq(&second) && seq(&second) < seq(&third));
    socket.response().await;
});

// T4.37 D4.57
on_sqlite!(
    t4_37_a_voice_whose_model_fails_is_named_and_the_others_are_used,
    |medium| {
        let stub = Stub::start().await;
        stub.on(voice("broken"), status(500));
        let app = Setup::new(medium, &stub)
            .voices(&["a", "b", "broken"])
            .start()
            .await;
        assert_eq!(app.tell("hello").await.len(), 1);
        let log = app.public_log().await;
        let failure = one(&log, &["failure", "model", "submodule:broken"]);
        assert!(said(failure).contains("500"), "{failure}");
        let asked = stub.request(decision).await;
        assert!(asked.says("a: noted.") && asked.says("b: noted."));
        assert!(
            asked.seqs().contains(&seq(failure)),
            "the decision is told: {asked:?}"
        );
    }
);

// D4.37: what comes after the deadline is kept, wakes nobody, and is seen in the next view.
on_sqlite!(
    a_late_output_is_appended_as_late_and_wakes_nobody,
    |medium| {
        let stub = Stub::start().await;
        let held = Gate::new();
        stub.script(voice("slow"), [text("Better late than never.").held(&held)]);
        let setup = Setup::new(medium, &stub)
            .voices(&["slow"])
            .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 100);
        let app = setup
            .env("THINKD_TURN__LATE_TIMEOUT_MS", 60_000)
            .start()
            .await;
        let mut socket = app.socket().await;
        socket.chat("first").await;
        socket.turn_ended().await;
        assert_eq!(stub.count(decision), 1);
        held.open();
        let late = socket.tagged("late").await;
        assert_eq!(
            (said(&late), tags(&late)),
            ("Better late than never.", vec!["submodule:slow", "late"])
        );
        assert_eq!(late["payload"]["turn"], 1);
        assert_eq!(stub.count(decision), 1, "it woke the decision");
        socket.chat("second").await;
        assert!(
            stub.nth(1, decision).await.seqs().contains(&seq(&late)),
            "the next view has it"
        );
        envelope::check_turns(&app.public_log().await, "main");
    }
);

on_sqlite!(an_output_later_than_the_late_limit_is_cut_off, |medium| {
    let stub = Stub::start().await;
    stub.on(|r| r.is_comment(), text("never").never());
    let setup = Setup::new(medium, &stub)
        .voices(&["hangs"])
        .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 50);
    let app = setup.env("THINKD_TURN__LATE_TIMEOUT_MS", 200).start().await;
    app.tell("hello").await;
    stub.request(voice("hangs")).await.closed().await;
    assert!(
        with(&app.public_log().await, &["late", "submodule:hangs"])
            .iter()
            .all(|event| has(event, "failure"))
    );
});

// D4.39 D4.56: the decision is broadcast once; follow-ups are appended and start no decision.
on_sqlite!(
    d4_39_d4_56_every_voice_hears_the_decision_and_may_follow_up,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            |r| r.is_follow_up() && r.voice() == "a",
            text("That answer was kind."),
        );
        stub.on(|r| r.is_follow_up() && r.voice() == "broken", status(400));
        stub.script(decision, [reply("The decision's own words.")]);
        let app = Setup::new(medium, &stub)
            .voices(&["a", "b", "broken"])
            .start()
            .await;
        let mut socket = app.socket().await;
        socket.say("hello").await;
        let follow_up = socket
            .event("a follow-up", |e| has(e, "follow-up") && !has(e, "failure"))
            .await;
        assert_eq!(
            (said(&follow_up), tags(&follow_up)),
            ("That answer was kind.", vec!["submodule:a", "follow-up"])
        );
        let failed = socket
            .event("a failed follow-up", |e| {
                has(e, "follow-up") && has(e, "failure")
            })
            .await;
        assert!(has(&failed, "submodule:broken"), "{failed}");
        let asked = stub.some(3, Request::is_follow_up).await;
        let mut names: Vec<&str> = asked.iter().map(|r| r.voice()).collect();
        names.sort_unstable();
        assert_eq!(names, ["a", "b", "broken"], "each is told once");
        assert!(
            asked.iter().all(|r| r.says("The decision's own words.")),
            "{asked:?}"
        );
        assert!(
            seq(&follow_up) > 0 && stub.count(decision) == 1,
            "a follow-up starts no decision"
        );
        socket.say("next").await;
        socket
            .event("the next response", |event| said(event) == "ok: next")
            .await;
        assert!(
            stub.nth(1, decision)
                .await
                .seqs()
                .contains(&seq(&follow_up)),
            "the next decision sees it"
        );
        envelope::check_turns(&app.public_log().await, "main");
    }
);

// D4.39: follow-ups obey the same deadline.
on_sqlite!(
    d4_39_a_hanging_follow_up_is_ended_and_delays_nobody,
    |medium| {
        let stub = Stub::start().await;
        stub.on(Request::is_follow_up, text("never").never());
        let setup = Setup::new(medium, &stub)
            .voices(&["a"])
            .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 150);
        let app = setup.env("THINKD_TURN__LATE_TIMEOUT_MS", 300).start().await;
        let mut socket = app.socket().await;
        assert_eq!(said(&socket.chat("one").await), "ok: one");
        assert_eq!(said(&socket.chat("two").await), "ok: two");
        let failure = socket
            .event("a time-out", |e| has(e, "timeout") && has(e, "follow-up"))
            .await;
        assert!(has(&failure, "submodule:a"), "{failure}");
        stub.request(Request::is_follow_up).await.closed().await;
    }
);

// D4.50 T4.45: a question goes to one voice; its answer is appended and the decision asked again.
on_sqlite!(d4_50_t4_45_the_decision_can_ask_one_voice, |medium| {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [
            call(
                "ask",
                json!({ "submodule": "b", "question": "Is it safe?" }),
            ),
            reply("It is safe."),
        ],
    );
    stub.on(|r| r.is_question(), text("As safe as can be."));
    let app = Setup::new(medium, &stub).voices(&["a", "b"]).start().await;
    assert_eq!(said(&app.tell("may I?").await[0]), "It is safe.");
    let asked = stub.all(Request::is_question);
    assert_eq!(
        asked
            .iter()
            .map(|r| r.voice().to_owned())
            .collect::<Vec<_>>(),
        ["b"],
        "only the target is asked"
    );
    assert!(asked[0].says("Is it safe?"), "{asked:?}");
    let log = app.public_log().await;
    let question = one(&log, &["question", "submodule:b"]);
    assert!(has(question, "decision") && said(question) == "Is it safe?");
    let answer = log
        .iter()
        .find(|e| said(e) == "As safe as can be.")
        .unwrap_or_else(|| panic!("no answer:\n{}", story(&log)));
    assert!(seq(answer) > seq(question), "{}", story(&log));
    let second = stub.nth(1, decision).await;
    assert!(
        second.says("As safe as can be.") && second.says("Is it safe?"),
        "{second:?}"
    );
    assert_eq!(stub.count(decision), 2);
});

on_sqlite!(
    t4_45_asking_without_end_ends_at_the_rounds_limit_and_an_unknown_voice_is_said,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            |r| r.is_decision() && r.says("for ever"),
            call("ask", json!({ "submodule": "a", "question": "Again?" })),
        );
        stub.script(
            |r| r.is_decision() && r.says("nobody"),
            [call(
                "ask",
                json!({ "submodule": "nobody", "question": "Hello?" }),
            )],
        );
        let app = Setup::new(medium, &stub)
            .voices(&["a"])
            .env("THINKD_TURN__MAX_ROUNDS", 3)
            .start()
            .await;
        let thread = app.conversation(json!({})).await;
        app.tell_in(&thread, "ask for ever").await;
        assert!(
            stub.count(Request::is_question) <= 3 && stub.count(decision) == 3,
            "bounded"
        );
        one(&app.public_log().await, &["failure", "budget"]);
        assert_eq!(app.tell("ask nobody").await.len(), 1);
        let log = app.public_log().await;
        let failure = one(&log, &["failure", "tool:ask"]);
        assert!(said(failure).contains("nobody"), "{failure}");
        assert!(
            stub.all(|r| r.is_decision() && r.thread == "main")[1]
                .seqs()
                .contains(&seq(failure)),
            "the decision is told"
        );
    }
);

// A conversation may hear some of the voices only.
on_sqlite!(a_conversation_may_name_the_voices_it_hears, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .voices(&["a", "b", "c"])
        .start()
        .await;
    let thread = app.conversation(json!({ "submodules": ["b"] })).await;
    app.tell_in(&thread, "hello").await;
    let mut asked: Vec<String> = stub
        .all(|r| r.thread == thread && r.is_comment())
        .iter()
        .map(|r| r.voice().to_owned())
        .collect();
    asked.dedup();
    assert_eq!(asked, ["b"]);
    let quiet = app.conversation(json!({ "submodules": [] })).await;
    app.tell_in(&quiet, "hello").await;
    assert_eq!(stub.count(|r| r.thread == quiet), 1);
    let refused = app
        .post(
            "/threads",
            json!({ "kind": "conversation", "submodules": ["nobody"] }),
        )
        .await;
    assert!((400..500).contains(&refused.status), "{}", refused.text);
    let _: Value = refused.body;
});

// D4.62: who speaks, who has nothing to say and who comes too late can be seen, voice by voice.
on_sqlite!(
    d4_62_how_often_a_voice_spoke_passed_and_was_late_is_counted,
    |medium| {
        let stub = Stub::start().await;
        let held = Gate::new();
        stub.on(voice("talks"), text("Something."))
            .on(voice("silent"), text("PASS"));
        stub.on(voice("slow"), text("At last.").held(&held))
            .on(voice("broken"), status(400));
        let setup = Setup::new(medium, &stub).voices(&["talks", "silent", "slow", "broken"]);
        let setup = setup
            .env("THINKD_TURN__FOLLOW_UP", false)
            .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 1500);
        let app = setup.start().await;
        let mut socket = app.socket().await;
        let counts = async |name: &str| {
            let listed = app.get("/submodules").await.expect(200);
            let row = listed["items"]
                .as_array()
                .unwrap()
                .iter()
                .find(|row| row["name"] == name)
                .unwrap()
                .clone();
            ["spoke", "passed", "late", "failed"].map(|key| {
                row["heard"][key]
                    .as_u64()
                    .unwrap_or_else(|| panic!("{row}"))
            })
        };
        for name in ["talks", "silent", "slow", "broken"] {
            assert_eq!(counts(name).await, [0; 4], "nobody was asked yet");
        }
        app.tell("hello").await;
        held.open();
        socket.tagged("late").await;
        app.tell("again").await;
        assert_eq!(counts("talks").await, [2, 0, 0, 0]);
        assert_eq!(counts("silent").await, [0, 2, 0, 0]);
        assert_eq!(counts("slow").await, [1, 0, 1, 0]);
        assert_eq!(counts("broken").await, [0, 0, 0, 2]);
        let metrics = app.get("/metrics").await.text;
        for line in [
            "thinkd_submodule_answers_total{submodule=\"talks\",answer=\"spoke\"} 2",
            "thinkd_submodule_answers_total{submodule=\"silent\",answer=\"passed\"} 2",
            "thinkd_submodule_answers_total{submodule=\"slow\",answer=\"late\"} 1",
            "thinkd_submodule_calls_total{submodule=\"talks\",outcome=\"done\"} 2",
            "thinkd_submodule_tokens_total{submodule=\"talks\",direction=\"output\"}",
        ] {
            assert!(metrics.contains(line), "{line} is not in {metrics}");
        }
    }
);
