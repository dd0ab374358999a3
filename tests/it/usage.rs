//! Costs and parts of a mind: sums over calls, figures and versions of voices, the pieces of a
//! prompt view, the descriptions of tools.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

/// The records of model calls in the log.
fn records(log: &[Value]) -> Vec<&Value> {
    log.iter()
        .filter(|event| has(event, "debug") && event["payload"]["module"].is_string())
        .collect()
}

fn sum(records: &[&Value], of: impl Fn(&Value) -> &Value) -> u64 {
    records
        .iter()
        .map(|record| of(&record["payload"]).as_u64().unwrap_or(0))
        .sum()
}

fn input(payload: &Value) -> &Value {
    &payload["usage"]["input_tokens"]
}

// Every call is in one sum, whatever the calls are told apart by, and in one step.
on_sqlite!(usage_adds_up_to_the_records_in_the_log, |medium| {
    let stub = Stub::start().await;
    stub.on(voice("broken"), status(400));
    stub.on(decision, reply("so").usage(900, 20, 300));
    let setup = Setup::new(medium, &stub)
        .voices(&["owl", "broken"])
        .env("THINKD_TURN__FOLLOW_UP", false);
    let app = setup.start().await;
    for thread in ["main", "main", "garden"] {
        app.tell_in(thread, "hello").await;
    }
    let log = app.log().await;
    let all = records(&log);
    for (by, key) in [
        ("module", "module"),
        ("thread", "thread"),
        ("model", "model"),
        ("purpose", "purpose"),
    ] {
        let usage = app
            .get(&format!("/usage?by={by}&step_s=3600"))
            .await
            .expect(200);
        let items = usage["items"].as_array().unwrap();
        assert!(
            !items.is_empty() && usage["cut"].is_null() && usage["rest"]["calls"] == 0,
            "{usage}"
        );
        for item in items {
            let is_of = |record: &&&Value| match key {
                "thread" => record["thread"] == item["key"],
                _ => record["payload"][key] == item["key"],
            };
            let of: Vec<&Value> = all.iter().filter(is_of).copied().collect();
            assert_eq!(item["calls"], of.len(), "{item}");
            assert_eq!(
                item["failed"],
                of.iter()
                    .filter(|it| it["payload"]["outcome"] != "answered")
                    .count(),
                "{item}"
            );
            assert_eq!(
                item["tokens"]["input"].as_u64().unwrap_or(0),
                sum(&of, input),
                "{item}"
            );
            assert_eq!(
                item["ms"],
                sum(&of, |payload| &payload["duration_ms"]),
                "{item}"
            );
        }
        let calls = |list: &Value| -> u64 {
            list.as_array()
                .unwrap()
                .iter()
                .map(|it| it["calls"].as_u64().unwrap())
                .sum()
        };
        assert_eq!(
            (calls(&usage["items"]), calls(&usage["steps"])),
            (all.len() as u64, all.len() as u64),
            "{usage}"
        );
    }
    let decision = app.get("/usage").await.expect(200)["items"][0].clone();
    assert_eq!(
        (&decision["key"], &decision["tokens"]["cached"]),
        (&json!("decision"), &json!(900)),
        "{decision}"
    );
    // A span is one: what is not in it is in the other.
    let middle = all[all.len() / 2]["ts"].as_str().unwrap().to_owned();
    let calls = async |span: &str| {
        let usage = app
            .get(&format!("/usage?{span}={middle}"))
            .await
            .expect(200);
        usage["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["calls"].as_u64().unwrap())
            .sum::<u64>()
    };
    let before = calls("before_ts").await;
    let since = calls("since").await;
    assert!(
        before > 0 && since > 0 && before + since == all.len() as u64,
        "{before} + {since} of {}",
        all.len()
    );
    app.get("/usage?by=mood")
        .await
        .expect_problem(400, "invalid-parameter");
    app.get("/usage?step_s=0")
        .await
        .expect_problem(400, "invalid-parameter");
});

// A voice by what became of it, each turn once, and all that it was, also once it is gone.
on_sqlite!(a_voice_has_figures_and_versions, |medium| {
    let stub = Stub::start().await;
    stub.on(voice("mute"), text("PASS").usage(50, 5, 0));
    stub.on(voice("broken"), status(400));
    let setup = Setup::new(medium, &stub)
        .voices(&["broken", "mute", "owl"])
        .env("THINKD_TURN__FOLLOW_UP", false);
    let app = setup.start().await;
    for thread in ["main", "main", "garden"] {
        app.tell_in(thread, "hello").await;
    }
    for (name, outcome) in [("owl", "spoke"), ("mute", "passed"), ("broken", "failed")] {
        let figures = app
            .get(&format!("/submodules/{name}/figures"))
            .await
            .expect(200);
        assert_eq!(
            (&figures["asked"], &figures[outcome]),
            (&json!(3), &json!(3)),
            "{name}: {figures}"
        );
        let binned: u64 = figures["times"]
            .as_array()
            .unwrap()
            .iter()
            .map(|bin| bin["turns"].as_u64().unwrap())
            .sum();
        assert_eq!(binned, 3, "{figures}");
        assert!(
            figures["p50_ms"].as_u64() <= figures["p95_ms"].as_u64() && figures["p50_ms"].is_u64(),
            "{figures}"
        );
    }
    assert_eq!(
        app.get("/submodules/mute/figures").await.expect(200)["tokens"]["input"],
        150
    );
    let none = app
        .get("/submodules/owl/figures?since=2100-01-01T00:00:00Z")
        .await
        .expect(200);
    assert_eq!(
        (&none["asked"], &none["p95_ms"], &none["tokens"]["input"]),
        (&json!(0), &Value::Null, &Value::Null)
    );

    app.patch("/submodules/owl", json!({ "prompt": "Hoot twice." }))
        .await
        .expect(200);
    app.delete("/submodules/owl").await.expect(204);
    let versions = app.get("/submodules/owl/versions").await.expect(200);
    let prompts: Vec<&Value> = versions["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| &version["prompt"])
        .collect();
    assert_eq!(prompts.len(), 3, "{versions}");
    assert!(
        prompts[0].is_null() && prompts[1] == "Hoot twice." && prompts[2].is_string(),
        "{versions}"
    );
    let log = app.log().await;
    let event = log
        .iter()
        .find(|event| seq(event) == versions["items"][1]["seq"].as_i64().unwrap())
        .unwrap();
    assert_eq!(event["payload"]["change"]["prompt"], "Hoot twice.");
    assert_eq!(
        app.get("/submodules/owl/figures").await.expect(200)["asked"],
        3,
        "of one that is gone, too"
    );
    for of in ["figures", "versions"] {
        app.get(&format!("/submodules/nobody/{of}"))
            .await
            .expect_problem(404, "not-found");
    }
});

// The pieces of a view are those of its request: the texts that are in it, the events that it shows, and together the tokens counted.
on_sqlite!(a_prompt_view_says_what_it_is_made_of, |medium| {
    let stub = Stub::start().await;
    stub.on(decision, reply("so").usage(1000, 20, 300));
    let app = Setup::new(medium, &stub)
        .voices(&["owl"])
        .env("THINKD_TURN__FOLLOW_UP", false)
        .start()
        .await;
    app.tell("one").await;
    app.tell("two").await;
    let log = app.log().await;
    for module in ["decision", "submodule:owl"] {
        let record = *records(&log)
            .iter()
            .rfind(|record| record["payload"]["module"] == module)
            .unwrap();
        let view = app
            .get(&format!(
                "/prompt-views/{}",
                record["event_id"].as_str().unwrap()
            ))
            .await
            .expect(200);
        let sections = view["sections"].as_array().unwrap();
        let of = |kind: &str| {
            sections
                .iter()
                .filter(|section| section["kind"] == kind)
                .collect::<Vec<_>>()
        };
        let seqs: Vec<i64> = of("event")
            .iter()
            .map(|section| section["seq"].as_i64().unwrap())
            .collect();
        let seen = record["payload"]["view"].clone();
        assert_eq!(
            seqs.len() as u64,
            seen["events"].as_u64().unwrap(),
            "{view:#}"
        );
        assert_eq!(
            (seqs.first().copied(), seqs.last().copied()),
            (seen["from"].as_i64(), seen["up_to"].as_i64())
        );
        assert_eq!(
            (of("system").len(), of("tools").len(), of("task").len()),
            (1, 1, 1),
            "{view:#}"
        );
        assert_eq!(
            of("prompt").len(),
            usize::from(module != "decision"),
            "{view:#}"
        );
        let tokens: u64 = sections
            .iter()
            .map(|section| section["tokens_estimated"].as_u64().unwrap())
            .sum();
        let counted = view["usage"]["input_tokens"].as_u64().unwrap();
        assert!(
            tokens <= counted && tokens + sections.len() as u64 >= counted,
            "{tokens} of {counted}"
        );
        let bytes: u64 = sections
            .iter()
            .map(|section| section["bytes"].as_u64().unwrap())
            .sum();
        let request = view["request"].to_string().len() as u64;
        assert!(
            bytes > request / 2 && bytes <= request * 2,
            "{bytes} of a request of {request}"
        );
    }
});

// From what is said of a tool a person can tell what a call would do, and a page can make a form.
#[tokio::test]
async fn tools_say_what_they_are_for_and_what_they_take() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    app.tell("hello").await;
    let tools = app.get("/tools").await.expect(200);
    let request = stub.request(decision).await;
    let told = request.body["tools"].as_array().unwrap();
    let items = tools["items"].as_array().unwrap();
    assert!(!told.is_empty() && items.len() >= told.len(), "{tools}");
    for tool in told {
        let function = &tool["function"];
        let item = items
            .iter()
            .find(|item| item["name"] == function["name"])
            .unwrap();
        assert_eq!(item["description"], function["description"]);
        assert_eq!(
            item["schema"]["properties"].is_object(),
            function["parameters"]["properties"].is_object()
        );
        assert!(
            ["events", "repeatable", "outside"].contains(&item["effect"].as_str().unwrap()),
            "{item}"
        );
    }
}
