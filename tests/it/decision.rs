//! The decision: its prompt, its model, and the record of both in the log.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

/// The positions of the events that a decision may see: neither `debug` nor of modality `state`.
fn visible(log: &[Value]) -> Vec<i64> {
    log.iter()
        .filter(|event| event["modality"] != "state" && !has(event, "debug"))
        .map(seq)
        .collect()
}

// T4.51 D4.47: the newest five, whatever else is in the log; `block` 1 is exact.
on_sqlite!(
    t4_51_d4_47_the_decision_sees_exactly_the_newest_events,
    |medium| {
        let stub = Stub::start().await;
        let setup = Setup::new(medium, &stub)
            .voices(&["a"])
            .env("THINKD_HISTORY__DECISION", 5);
        let app = setup.env("THINKD_HISTORY__BLOCK", 1).start().await;
        for n in 0..25 {
            app.tell(&format!("number {n}")).await;
        }
        let log = app.public_log().await;
        assert!(visible(&log).len() >= 100, "{}", visible(&log).len());
        for (n, asked) in stub.all(decision).iter().enumerate() {
            let seen = asked.seqs();
            let before: Vec<i64> = visible(&log)
                .into_iter()
                .filter(|seq| *seq <= *seen.last().unwrap())
                .collect();
            let expected = &before[before.len().saturating_sub(5)..];
            assert_eq!(seen, expected, "decision number {n}: {asked:?}");
            assert!(asked.says(&format!("number {n}")), "{asked:?}");
        }
        assert!(
            stub.all(decision)[24].says("left out"),
            "it says that something was left out"
        );
    }
);

// T4.51 D4.47: history is cut in blocks, so that what was sent stays a prefix of what is sent.
on_sqlite!(t4_51_histories_are_cut_in_blocks, |medium| {
    let stub = Stub::start().await;
    let setup = Setup::new(medium, &stub)
        .env("THINKD_HISTORY__DECISION", 6)
        .env("THINKD_HISTORY__BLOCK", 4);
    let app = setup.start().await;
    for n in 0..12 {
        app.tell(&format!("number {n}")).await;
    }
    let log = app.public_log().await;
    let asked = stub.all(decision);
    let mut cuts = Vec::new();
    for request in &asked {
        let seen = request.seqs();
        let before: Vec<i64> = visible(&log)
            .into_iter()
            .filter(|seq| *seq <= *seen.last().unwrap())
            .collect();
        let omitted = before.len() - seen.len();
        assert_eq!(seen, before[omitted..], "a hole in the view");
        assert_eq!(omitted % 4, 0, "cut inside a block");
        assert!(
            omitted == 0 || (6..10).contains(&seen.len()),
            "6 to 9 events, not {}",
            seen.len()
        );
        cuts.push(omitted);
    }
    assert!(cuts.is_sorted() && *cuts.last().unwrap() > 0, "{cuts:?}");
    assert!(
        cuts.windows(2)
            .any(|pair| pair[0] == pair[1] && pair[0] > 0),
        "the cut moves with every turn: {cuts:?}"
    );
});

// T4.51 D4.47
on_sqlite!(
    t4_51_a_time_window_holds_the_events_of_that_time,
    |medium| {
        let stub = Stub::start().await;
        let setup = Setup::new(medium, &stub)
            .env("THINKD_HISTORY__WINDOW_S", 1)
            .env("THINKD_HISTORY__BLOCK", 1);
        let app = setup.start().await;
        app.tell("long ago").await;
        app.tell("also long ago").await;
        // Time itself is what is tested.
        tokio::time::sleep(ms(1300)).await;
        app.tell("now").await;
        let asked = stub.nth(2, decision).await;
        assert!(asked.says("now") && !asked.says("long ago"), "{asked:?}");
        assert!(
            stub.nth(1, decision).await.says(": long ago"),
            "control: within the window both are there"
        );
    }
);

// D4.46: what voices are sent does not grow with the log.
on_sqlite!(
    d4_46_what_a_voice_is_sent_does_not_grow_with_the_log,
    |medium| {
        let stub = Stub::start().await;
        let setup = Setup::new(medium, &stub)
            .voices(&["a"])
            .env("THINKD_HISTORY__SUBMODULE", 8);
        let app = setup
            .env("THINKD_HISTORY__BLOCK", 4)
            .env("THINKD_HISTORY__DECISION", 8)
            .start()
            .await;
        for n in 10..50 {
            app.tell(&format!("number {n}")).await;
        }
        let sizes: Vec<usize> = stub
            .all(Request::is_comment)
            .iter()
            .map(|request| request.text().len())
            .collect();
        let early = sizes[8..16].iter().max().unwrap();
        let late = sizes[32..40].iter().max().unwrap();
        assert!(
            late * 4 < early * 5,
            "{early} bytes after 10 turns, {late} after 40"
        );
        assert!(
            stub.nth(0, Request::is_comment).await.says("number 10"),
            "each contains the new event"
        );
    }
);

// T4.52
on_sqlite!(
    t4_52_a_large_tool_output_is_shortened_in_views_and_whole_in_the_store,
    |medium| {
        let stub = Stub::start().await;
        let long: String = (0..2000).map(|n| format!("fact {n}; ")).collect();
        stub.script(
            decision,
            [
                call(
                    "state_put",
                    json!({ "key": "long", "content": long, "related_keys": [] }),
                ),
                call("state_get", json!({ "key": "long" })),
                reply("read"),
            ],
        );
        let app = App::start(medium, &stub).await;
        assert_eq!(said(&app.tell("read it").await[0]), "read");
        let log = app.public_log().await;
        let result = one(&log, &["result", "tool:state_get"]);
        assert!(
            result["payload"]["output"]
                .to_string()
                .contains("fact 1999;"),
            "whole in the store"
        );
        let asked = stub.nth(2, decision).await;
        assert!(
            asked.says("shortened") && asked.says("fact 10;") && !asked.says("fact 1999;"),
            "{}",
            asked.text().len()
        );
        assert!(asked.text().len() < 20_000, "{}", asked.text().len());
    }
);

// D4.10: failures are shown too.
on_sqlite!(failures_are_shown_to_the_decision, |medium| {
    let stub = Stub::start().await;
    stub.on(|r| r.is_comment() && r.says("one"), status(400));
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    app.tell("one").await;
    let asked = stub.request(decision).await;
    let entry = asked
        .entries()
        .into_iter()
        .find(|entry| entry.who.starts_with("failure"))
        .unwrap_or_else(|| panic!("{asked:?}"));
    assert!(
        entry.who.contains('a') && entry.text.contains("400"),
        "{entry:?}"
    );
});

// D4.07
on_sqlite!(
    d4_07_the_model_is_a_setting_also_for_each_module,
    |medium| {
        let stub = Stub::start().await;
        let mut app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        app.tell("one").await;
        assert!(
            stub.requests()
                .iter()
                .all(|request| request.model() == "stub")
        );
        app.set_env("THINKD_MODEL", "another/model-7b:latest");
        app.set_env("THINKD_MODEL_HIGH", "the-dear-one");
        app.restart().await;
        let before = stub.requests().len();
        app.tell("two").await;
        assert!(
            stub.requests()[before..]
                .iter()
                .all(|request| request.model() == "another/model-7b:latest")
        );
        let thread = app.conversation(json!({ "tier": "high" })).await;
        app.tell_in(&thread, "three").await;
        assert_eq!(
            stub.request(|r| r.is_decision() && r.thread == thread)
                .await
                .model(),
            "the-dear-one"
        );
        let authorization = stub.requests()[0].headers["authorization"]
            .to_str()
            .unwrap()
            .to_owned();
        assert_eq!(authorization, "Bearer test");
    }
);

// D4.07: and one module may have a model of its own.
on_sqlite!(d4_07_a_module_may_have_a_model_of_its_own, |medium| {
    let stub = Stub::start().await;
    let setup = Setup::new(medium, &stub).voices(&["a", "b"]);
    let app = setup
        .file(
            "thinkd.toml",
            "[models.modules.\"submodule:a\"]\nmodel = \"tiny\"\n",
        )
        .start()
        .await;
    app.tell("hello").await;
    assert_eq!(stub.request(voice("a")).await.model(), "tiny");
    assert!(
        stub.all(|r| r.voice() != "a")
            .iter()
            .all(|request| request.model() == "stub")
    );
});

// Headers tell a proxy or a stub who asks in which thread.
on_sqlite!(requests_say_who_asks_in_which_thread, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    app.tell_in("garden", "hello").await;
    let mut asked: Vec<(String, String)> = stub
        .requests()
        .iter()
        .map(|r| (r.thread.clone(), r.module.clone()))
        .collect();
    asked.truncate(2);
    let who = |module: &str| ("garden".to_owned(), module.to_owned());
    assert_eq!(asked, [who("submodule:a"), who("decision")]);
    assert!(
        stub.request(decision)
            .await
            .tools()
            .contains(&"reply".to_owned())
    );
    let tools = stub.request(voice("a")).await.tools();
    assert!(
        tools.contains(&"query_events".to_owned()) && !tools.contains(&"reply".to_owned()),
        "{tools:?}"
    );
});

/// The request body in a prompt view, wherever it stands.
fn view_messages(view: &Value) -> &Value {
    [
        &view["request"]["messages"],
        &view["body"]["messages"],
        &view["messages"],
    ]
    .into_iter()
    .find(|messages| messages.is_array())
    .unwrap_or_else(|| panic!("no messages in {view}"))
}

// D4.04 D4.11: exactly what a model call saw can be read afterwards, also after a restart.
on_sqlite!(a_prompt_view_shows_exactly_what_a_call_saw, |medium| {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [call("state_get", json!({ "key": "x" })), reply("seen")],
    );
    let mut app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    app.tell("one").await;
    app.tell("two").await;
    let log = app.log().await;
    let view = async |app: &App, event: &Value| {
        let view = app
            .get(&format!(
                "/prompt-views/{}",
                event["event_id"].as_str().unwrap()
            ))
            .await
            .expect(200);
        assert_eq!(view["exact"], json!(true), "{view}");
        view_messages(&view).clone()
    };
    // Each call's record, in order, is one request.
    let records = with(&log, &["debug", "call:decision"]);
    let asked = stub.all(decision);
    assert_eq!(records.len(), asked.len());
    for (record, request) in records.iter().zip(&asked) {
        assert_eq!(
            view(&app, record).await,
            request.body["messages"],
            "{record}"
        );
    }
    // What a call produced leads to it too.
    let response = with(&log, &["response"])[0];
    assert_eq!(view(&app, response).await, asked[1].body["messages"]);
    let output = with(&log, &["submodule:a"])[0];
    assert_eq!(
        view(&app, output).await,
        stub.request(voice("a")).await.body["messages"]
    );
    app.restart().await;
    app.add_voice("new").await;
    assert_eq!(
        view(&app, response).await,
        asked[1].body["messages"],
        "later, too"
    );
    let input = one(&log[..], &["turn:1", "started"]);
    let none = app
        .get(&format!(
            "/prompt-views/{}",
            input["event_id"].as_str().unwrap()
        ))
        .await;
    assert!((400..500).contains(&none.status), "{}", none.text);
    app.get(&format!("/prompt-views/{}", uuid::Uuid::nil()))
        .await
        .expect_problem(404, "not-found");
});
