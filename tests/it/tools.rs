//! Tool calls: each an action and a result in the log; every way of getting one wrong is told to the caller.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::collections::HashSet;

use serde_json::json;

use kit::*;

// `[tools] conversation`: a decision is offered these and no others, and cannot call others either.
on_sqlite!(a_conversation_has_the_tools_that_are_configured, |medium| {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [
            call(
                "state_put",
                json!({ "key": "k", "content": "c", "related_keys": [] }),
            ),
            reply("No."),
        ],
    );
    let setup = Setup::new(medium, &stub).voices(&["a"]);
    let app = setup
        .file(
            "thinkd.toml",
            "[tools]\nconversation = [\"think\", \"reply\"]\n",
        )
        .start()
        .await;
    assert_eq!(said(&app.tell("remember").await[0]), "No.");
    let offered = |request: std::sync::Arc<Request>| {
        let tools = request.body["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(offered(stub.request(decision).await), ["reply", "think"]);
    assert!(
        offered(stub.request(Request::is_comment).await).contains(&"state_put".to_owned()),
        "voices have their own"
    );
    let log = app.public_log().await;
    assert!(
        said(one(&log, &["result", "failure"])).contains("there is no tool"),
        "{}",
        story(&log)
    );
    assert!(with(&log, &["set:entry"]).is_empty());
});

// T4.48 D4.10 D4.49 D4.57: four ways to go wrong, four results, all shown to the next decision.
on_sqlite!(
    t4_48_every_failed_call_has_a_result_of_its_own_that_the_decision_reads,
    |medium| {
        let stub = Stub::start().await;
        let mut wrong = call("fly", json!({ "to": "the moon" }))
            .and("state_get", json!({ "kee": 1 }))
            .and("ask", json!({ "submodule": "ghost", "question": "?" }));
        wrong = wrong.and(
            "ask",
            json!({ "submodule": "hangs", "question": "Are you there?" }),
        );
        stub.script(
            decision,
            [
                wrong,
                call_raw("state_get", "{\"key\": \"unfinished"),
                reply("I see."),
            ],
        );
        stub.on(|r| r.is_question(), text("never").never());
        let setup = Setup::new(medium, &stub)
            .voices(&["hangs"])
            .env("THINKD_TOOLS__TIMEOUT_MS", 1000);
        let app = setup
            .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 1000)
            .start()
            .await;
        assert_eq!(said(&app.tell("try it").await[0]), "I see.");
        let log = app.public_log().await;
        let told = |tool: &str, word: &str| {
            let found = with(&log, &["failure", tool]);
            let hit = found.iter().find(|event| said(event).contains(word));
            (*hit.unwrap_or_else(|| panic!("no failure of {tool} says {word:?}:\n{}", story(&log))))
                .clone()
        };
        let failures = [
            told("tool:fly", "fly"),
            told("tool:state_get", "kee"),
            told("tool:ask", "ghost"),
        ];
        let second = stub.nth(1, decision).await;
        for failure in &failures {
            assert!(
                has(failure, "result") && failure["source"] == "tool",
                "{failure}"
            );
            assert!(
                failure["payload"]["problem"]["kind"].is_string(),
                "{failure}"
            );
            assert!(
                second.seqs().contains(&seq(failure)),
                "the next decision is not told of {failure}"
            );
        }
        let hung: Vec<_> = log
            .iter()
            .filter(|e| has(e, "failure") && has(e, "timeout"))
            .collect();
        assert!(
            !hung.is_empty() && hung.iter().any(|event| second.seqs().contains(&seq(event))),
            "{}",
            story(&log)
        );
        let texts: HashSet<&str> = failures.iter().map(said).collect();
        assert_eq!(texts.len(), 3, "each says something else: {texts:?}");
        let unreadable = with(&log, &["failure", "tool:state_get"]);
        assert_eq!(
            unreadable.len(),
            2,
            "broken JSON is one too: {}",
            story(&log)
        );
        assert!(
            stub.nth(2, decision)
                .await
                .seqs()
                .contains(&seq(unreadable[1]))
        );
        // D4.49: each action has its result, and the other way round.
        let ids = |tag: &str| {
            with(&log, &[tag])
                .iter()
                .map(|e| e["payload"]["call_id"].to_string())
                .collect::<HashSet<_>>()
        };
        assert_eq!(
            ids("action")
                .difference(&ids("result"))
                .filter(|id| *id != "null")
                .count(),
            0,
            "{}",
            story(&log)
        );
        // Control: the same calls, right, leave no failure.
        stub.clear();
        stub.script(decision, [call("state_get", json!({ "key": "x" }))]);
        let before = with(&log, &["failure"]).len();
        app.tell("again").await;
        assert_eq!(with(&app.public_log().await, &["failure"]).len(), before);
    }
);

// A call is found by its id: two of one thread never have the same, whoever makes them, in whichever turn.
on_sqlite!(
    the_id_of_a_call_is_its_own_in_its_thread_and_tells_its_turn,
    |medium| {
        let stub = Stub::start().await;
        let put = || {
            call(
                "state_put",
                json!({ "key": "k", "content": "c", "related_keys": [] }),
            )
        };
        let asks = || {
            put().and(
                "ask",
                json!({ "submodule": "a", "question": "What do you think?" }),
            )
        };
        let asks = || asks().and("ask", json!({ "submodule": "a", "question": "And now?" }));
        let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        let mine = |log: &[serde_json::Value]| with(log, &["action", "submodule:a"]).len();
        for turn in 1..3 {
            stub.clear();
            stub.script(decision, [asks(), put(), reply("Done.")]);
            // The voice looks things up whenever it is asked: about what is new, twice by the decision, and about what was decided.
            for kind in [
                Request::is_comment as fn(&Request) -> bool,
                Request::is_question,
                Request::is_follow_up,
            ] {
                stub.script(kind, [put(), text("I see."), put(), text("I see.")]);
            }
            app.tell("hello").await;
            app.until("the follow-up", async || {
                mine(&app.public_log().await) >= 4 * turn
            })
            .await;
        }
        let log = app.public_log().await;
        let actions = with(&log, &["action"]);
        let ids: HashSet<&str> = actions
            .iter()
            .map(|event| event["payload"]["call_id"].as_str().unwrap())
            .collect();
        assert_eq!(ids.len(), actions.len(), "{}", story(&log));
        for action in &actions {
            let id = &action["payload"]["call_id"];
            let turn = &action["payload"]["turn"];
            let results = with(&log, &["result"])
                .into_iter()
                .filter(|event| event["payload"]["call_id"] == *id);
            let turns: Vec<_> = results
                .map(|event| event["payload"]["turn"].clone())
                .collect();
            assert!(
                turn.is_u64() && turns == [turn.clone()],
                "{id}: {turns:?} {}",
                story(&log)
            );
        }
        for event in log
            .iter()
            .filter(|event| !event["payload"]["call_id"].is_null())
        {
            assert!(
                event["payload"]["turn"].is_u64(),
                "of which turn is {event}?"
            );
        }
    }
);

// D4.48 D4.49: several calls in one answer run in their order, each with its result.
on_sqlite!(d4_48_d4_49_calls_of_one_answer_run_in_order, |medium| {
    let stub = Stub::start().await;
    let put = |n: i32| json!({ "key": format!("k{n}"), "content": format!("content {n}"), "related_keys": [] });
    let several = call("state_put", put(1))
        .and("state_put", put(2))
        .and("state_get", json!({ "key": "k1" }))
        .and("state_get", json!({ "key": "k2" }));
    stub.script(
        decision,
        [several, reply("one").and("reply", json!({ "text": "two" }))],
    );
    let app = App::start(medium, &stub).await;
    let responses = app.tell("go").await;
    assert_eq!(
        responses.iter().map(said).collect::<Vec<_>>(),
        ["one", "two"]
    );
    let log = app.public_log().await;
    let actions: Vec<&str> = with(&log, &["decision", "action"])
        .iter()
        .filter_map(|e| e["payload"]["tool"].as_str())
        .collect();
    assert_eq!(
        actions,
        [
            "state_put",
            "state_put",
            "state_get",
            "state_get",
            "reply",
            "reply"
        ]
    );
    for action in with(&log, &["decision", "action"]) {
        let of_call: Vec<_> = log
            .iter()
            .filter(|e| e["payload"]["call_id"] == action["payload"]["call_id"] && has(e, "result"))
            .collect();
        assert_eq!(of_call.len(), 1, "{action}");
        assert!(seq(of_call[0]) > seq(action));
        assert_eq!(
            (
                &of_call[0]["source"],
                of_call[0]["payload"]["tool"].as_str()
            ),
            (&json!("tool"), action["payload"]["tool"].as_str())
        );
    }
    let second = stub.nth(1, decision).await;
    assert!(
        second.says("content 1") && second.says("content 2"),
        "results are in the next request"
    );
    let asked = with(&log, &["result", "tool:state_get"]);
    assert!(
        asked
            .iter()
            .all(|event| event["payload"]["duration_ms"].is_u64()),
        "{asked:?}"
    );
});

// D4.10: the decision reads the log with a tool.
on_sqlite!(
    d4_10_query_events_finds_by_number_time_tags_and_words,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        for text in ["apples are red", "pears are green", "apples and pears"] {
            app.tell(text).await;
        }
        let all = app.public_log().await;
        let second = with(&all, &["input"])[1]["ts"].as_str().unwrap().to_owned();
        let null = json!(null);
        let asks = [
            (
                json!({ "latest": 3, "since": null, "tags": ["input"], "text": null }),
                vec!["pears are green", "apples and pears"],
            ),
            (
                json!({ "latest": 10, "since": null, "tags": ["input"], "text": "APPLES" }),
                vec!["apples are red", "apples and pears"],
            ),
            (
                json!({ "latest": 10, "since": second, "tags": ["Response"], "text": null }),
                vec!["ok: pears are green", "ok: apples and pears"],
            ),
            (
                json!({ "latest": 10, "since": null, "tags": ["no-such-tag"], "text": null }),
                vec![],
            ),
        ];
        for (query, expected) in asks {
            assert!(query["latest"] != null);
            stub.clear();
            stub.script(
                |r| r.is_decision() && r.says("look it up"),
                [call("query_events", query.clone())],
            );
            // A thread below `main` would be searched too; `main` itself is what is asked here.
            app.tell("look it up").await;
            let log = app.public_log().await;
            let result = with(&log, &["result", "tool:query_events"])
                .pop()
                .unwrap()
                .clone();
            let output = result["payload"]["output"].to_string();
            let found: Vec<bool> = expected.iter().map(|text| output.contains(text)).collect();
            assert!(found.iter().all(|hit| *hit), "{query}: {output}");
            let others = [
                "\"apples are red\"",
                "\"pears are green\"",
                "\"apples and pears\"",
            ];
            let unexpected = others
                .iter()
                .filter(|o| !expected.contains(&o.trim_matches('"')))
                .filter(|o| output.contains(**o));
            assert_eq!(unexpected.count(), 0, "{query}: {output}");
        }
    }
);

// Tools are strict: every property required, nothing else allowed, names as the contract says.
on_sqlite!(tools_are_offered_with_strict_schemas, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    app.tell("hello").await;
    let asked = stub.request(decision).await;
    let tools = asked.tools();
    let contract = [
        "reply",
        "think",
        "ask",
        "do_nothing",
        "query_events",
        "state_get",
        "state_put",
        "state_search",
        "state_delete",
    ];
    for name in contract {
        assert!(
            tools.contains(&name.to_owned()),
            "{name} is not offered: {tools:?}"
        );
    }
    for tool in asked.body["tools"].as_array().unwrap() {
        let name = &tool["function"]["name"];
        let parameters = &tool["function"]["parameters"];
        assert_eq!(parameters["additionalProperties"], json!(false), "{name}");
        let required: HashSet<&str> = parameters["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str())
            .collect();
        let properties: HashSet<&str> = parameters["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, _)| k.as_str())
            .collect();
        assert_eq!(required, properties, "{name}");
        assert!(
            !tool["function"]["description"]
                .as_str()
                .unwrap_or_default()
                .is_empty(),
            "{name}"
        );
    }
    // The same bytes every time, or no provider's cache helps.
    app.tell("again").await;
    assert_eq!(
        stub.nth(1, decision).await.body["tools"],
        asked.body["tools"]
    );
});

// T4.52 A result that is too long for an event is kept whole as a blob; the event says so.
on_sqlite!(
    t4_52_an_output_beyond_the_limit_is_cut_in_its_event_and_whole_as_a_blob,
    |medium| {
        let stub = Stub::start().await;
        let note = format!("begin {} end", "ä".repeat(1000));
        let put = call(
            "state_put",
            json!({ "key": "long", "content": note, "related_keys": [] }),
        );
        stub.script(
            decision,
            [
                put,
                call("state_get", json!({ "key": "long" })),
                reply("Read."),
            ],
        );
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_LIMITS__TOOL_OUTPUT_BYTES", 1000)
            .start()
            .await;
        app.tell("read it").await;
        let log = app.public_log().await;
        let output = |tool: &str| with(&log, &["result", tool])[0]["payload"]["output"].clone();
        // Control: a short one stays as it is.
        assert_eq!(output("tool:state_put"), json!({ "stored": "long" }));
        let long = output("tool:state_get");
        let begin = long["truncated"].as_str().unwrap();
        assert!(
            begin.contains("begin") && begin.len() <= 1000 && !begin.contains(" end"),
            "{long}"
        );
        let whole = app
            .get(&format!("/blobs/{}", long["blob"].as_str().unwrap()))
            .await
            .text;
        assert!(
            whole.contains(&note) && long["bytes"] == whole.len(),
            "{whole}"
        );
    }
);

// Whatever a model writes, the log stays readable: arguments that are nested deeper than readers of JSON go are text.
#[tokio::test]
async fn arguments_that_are_nested_too_deeply_are_refused_and_the_log_stays_readable() {
    let stub = Stub::start().await;
    let nested = |depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    stub.script(
        decision,
        [
            call_raw("state_put", &nested(127)),
            call_raw("state_put", &nested(60)),
            reply("after"),
        ],
    );
    let app = App::start(Medium::sqlite(), &stub).await;
    assert_eq!(said(&app.tell("go").await[0]), "after");
    let log = app.public_log().await;
    let arguments: Vec<_> = with(&log, &["action"])
        .iter()
        .map(|event| &event["payload"]["arguments"])
        .collect();
    assert!(
        arguments[0].is_string() && arguments[1].is_array(),
        "{arguments:?}"
    );
    let failed = with(&log, &["result", "failure"]);
    assert!(
        said(failed[0]).contains("nested deeper than 64"),
        "{}",
        story(&log)
    );
}
