//! Pipelines in the server: started over HTTP, every node an event, taken up where they were. Every `on_sqlite!` is two
//! `#[tokio::test]`s, one a database.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use kit::*;

mod limits;
mod own;
mod resume;
mod trial;

fn summing(request: &Request) -> bool {
    request.module == "pipeline:summary"
}

fn counting(request: &Request) -> bool {
    request.module == "pipeline:steps" || request.module == "pipeline:wide"
}

/// `step 3` of a request for that.
fn step(request: &Request) -> String {
    request
        .last()
        .lines()
        .last()
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// A stub that answers `did step 3` to `step 3`.
async fn stub() -> Stub {
    let stub = Stub::start().await;
    stub.on_each(counting, |request| text(&format!("did {}", step(request))));
    stub
}

async fn perform(app: &App, pipeline: &str, input: Value) -> Value {
    let answer = app
        .post(
            &format!("/pipelines/{pipeline}?wait=15"),
            json!({ "input": input }),
        )
        .await;
    assert_eq!(
        answer.status,
        200,
        "{}\n{}",
        answer.text,
        story(&app.log().await)
    );
    answer.body
}

/// Starts a run and does not wait: its path.
async fn begin(app: &App, pipeline: &str, input: Value) -> String {
    let run = app
        .post(&format!("/pipelines/{pipeline}"), json!({ "input": input }))
        .await
        .expect(202);
    assert_eq!(run["status"], "running");
    format!("/pipelines/{pipeline}/runs/{}", run["id"].as_str().unwrap())
}

/// Waits until a run has ended: it as it is then.
async fn ended(app: &App, path: &str) -> Value {
    app.until_some("the end of the run", async || {
        let run = app.get(path).await.expect(200);
        (run["status"] != "running").then_some(run)
    })
    .await
}

async fn events_of(app: &App, run: &Value) -> Vec<Value> {
    app.pages(&format!(
        "/events?order=asc&thread={}&",
        run["thread"].as_str().unwrap()
    ))
    .await
}

/// Returns the events, as one line an event: `node started step 2`.
fn steps(events: &[Value]) -> Vec<String> {
    let line = |event: &Value| {
        let what: Vec<&str> = tags(event)
            .into_iter()
            .filter(|tag| !tag.starts_with("pipeline:"))
            .collect();
        let payload = &event["payload"];
        let words = [payload["node"].as_str(), payload["place"].as_str()];
        [what, words.into_iter().flatten().collect()]
            .concat()
            .join(" ")
    };
    events.iter().map(line).collect()
}

on_sqlite!(
    d2_02_a_pipeline_is_run_over_http_and_its_result_fetched,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let long = "lorem ipsum ".repeat(1500);
        stub.on(|r| summing(r) && r.says("digests"), text("all of it"));
        stub.on_each(summing, {
            let gate = gate.clone();
            move |request| {
                text(if request.says("first words") {
                    "the beginning"
                } else {
                    "the rest"
                })
                .held(&gate)
            }
        });
        let app = App::start(medium, &stub).await;
        app.tell(&format!("first words {long}")).await;
        app.tell(&format!("second words {long}")).await;
        let started = app
            .post(
                "/pipelines/summary",
                json!({ "input": { "thread": "main" } }),
            )
            .await;
        let place = started.header("location").to_owned();
        let started = started.expect(202);
        assert_eq!(started["status"], "running");
        assert_eq!(
            place,
            format!(
                "/pipelines/summary/runs/{}",
                started["id"].as_str().unwrap()
            )
        );
        // The parts are digested at the same time: none is answered before the last is asked.
        let asked = stub.some(2, summing).await;
        let thread = started["thread"].as_str().unwrap();
        assert!(
            asked
                .iter()
                .all(|r| r.thread == thread && r.tools().is_empty()),
            "{asked:?}"
        );
        assert_eq!(app.get(&place).await.expect(200)["status"], "running");
        assert_eq!(
            app.get(&format!("/threads/{thread}")).await.expect(200)["status"],
            "thinking"
        );
        gate.open();
        let run = ended(&app, &place).await;
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!(run["output"]["summary"], "all of it");
        let joined = stub.request(|r| summing(r) && r.says("digests")).await;
        assert!(
            joined.last().contains("the beginning") && joined.last().contains("the rest"),
            "{joined:?}"
        );
        let row = app.get(&format!("/threads/{thread}")).await.expect(200);
        assert_eq!(
            (&row["status"], &row["kind"], &row["budget"]["model_calls"]),
            (
                &json!("done"),
                &json!("pipeline"),
                &json!(stub.count(summing))
            )
        );
        // Every call of the model left its record, from which it is made again, byte for byte.
        let records = app
            .pages("/events?tags=debug&tags=call:pipeline:summary&")
            .await;
        let records: Vec<&Value> = records
            .iter()
            .filter(|event| event["thread"] == *thread)
            .collect();
        assert_eq!(records.len(), stub.count(summing));
        for record in records {
            let view = app
                .get(&format!(
                    "/prompt-views/{}",
                    record["event_id"].as_str().unwrap()
                ))
                .await
                .expect(200);
            assert_eq!(
                (&view["exact"], &view["module"]),
                (&json!(true), &json!("pipeline:summary")),
                "{view}"
            );
        }
        envelope::check_log(&app.log().await);
    }
);

#[tokio::test]
async fn d2_02_pipelines_are_listed_with_what_they_do_and_take() {
    let stub = stub().await;
    let app = own::setup(Medium::sqlite(), &stub).start().await;
    let all = app.pages("/pipelines?").await;
    let names: Vec<&str> = all
        .iter()
        .filter_map(|pipeline| pipeline["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "long", "nameless", "odd", "pause", "race", "steps", "summary", "trial", "wide"
        ]
    );
    let summary = &all[6];
    assert!(summary["about"].as_str().unwrap().contains("thread"));
    assert_eq!(summary["input"]["required"], json!(["thread"]));
    assert_eq!(
        app.get("/metadata").await.expect(200)["pipelines"],
        names.join(", ")
    );
    let mut page = app.get("/pipelines?limit=4").await.expect(200);
    let mut paged = Vec::new();
    while let Some(next) = page["next"].as_str() {
        paged.extend(page["items"].as_array().unwrap().clone());
        page = app
            .get(&format!("/pipelines?limit=4&cursor={next}"))
            .await
            .expect(200);
    }
    paged.extend(page["items"].as_array().unwrap().clone());
    assert_eq!(paged, all);
}

on_sqlite!(
    d2_60_a_run_leaves_its_events_in_a_thread_that_can_be_followed,
    |medium| {
        let stub = stub().await;
        let app = own::setup(medium, &stub).start().await;
        let mut socket = app.socket().await;
        socket
            .subscribe(json!({ "type": "subscribe", "thread": "runs", "subtree": true }))
            .await;
        let run = perform(&app, "steps", json!(2)).await;
        assert_eq!(
            (&run["status"], &run["output"]),
            (&json!("done"), &json!(["did step 1", "did step 2"]))
        );
        let events = events_of(&app, &run).await;
        assert_eq!(
            steps(&events),
            [
                "run started",
                "node started step 1",
                "node finished step 1",
                "node started step 2",
                "node finished step 2",
                "run ended done"
            ]
        );
        assert!(
            events
                .iter()
                .all(|event| event["payload"]["run"] == run["id"] && has(event, "pipeline:steps"))
        );
        assert_eq!(events[0]["payload"]["input"], json!(2));
        assert_eq!(events[4]["payload"]["value"], run["output"]);
        assert_eq!(events[5]["payload"]["output"], run["output"]);
        // Stored, then shown: the socket had the same, and the tags find them.
        socket
            .event("the end of the run", |event| {
                has(event, "run") && has(event, "ended")
            })
            .await;
        let seen: Vec<Value> = socket
            .events()
            .into_iter()
            .filter(|event| has(event, "pipeline:steps"))
            .collect();
        assert_eq!(seen, events);
        assert_eq!(
            app.pages("/events?order=asc&tags=pipeline:steps&").await,
            events
        );
        envelope::check_log(&app.log().await);
    }
);

/// Of each node that started, its place and the places it needs.
fn needs(events: &[Value]) -> BTreeSet<String> {
    let place = |event: &Value| event["payload"]["place"].as_str().unwrap().to_owned();
    let started = with(events, &["node", "started"]);
    started
        .into_iter()
        .map(|event| format!("{} {}", place(event), event["payload"]["needs"]))
        .collect()
}

on_sqlite!(
    d2_60_a_node_says_whose_values_flow_into_it_after_a_crash_too,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            |r| summing(r) && r.says("second words"),
            [text("never").never()],
        );
        stub.on_each(summing, |request| {
            text(if request.says("digests") {
                "all of it"
            } else {
                "a part"
            })
        });
        let mut app = own::setup(medium, &stub).start().await;
        let long = "lorem ipsum ".repeat(1500);
        app.tell(&format!("first words {long}")).await;
        app.tell(&format!("second words {long}")).await;
        let path = begin(&app, "summary", json!({ "thread": "main" })).await;
        app.until("one digest, while the other is made", async || {
            app.pages("/events?tags=finished&").await.len() >= 2
        })
        .await;
        app.restart().await;
        let run = ended(&app, &path).await;
        assert_eq!(run["output"]["summary"], "all of it", "{run}");
        let events = events_of(&app, &run).await;
        // A record has the first name of its node's module: servers of every version read it.
        for record in with(&events, &["node", "finished"]) {
            let module = &record["payload"]["arguments"]["(module)"];
            assert_eq!(module, "thinkd::pipelines::registry::summary", "{record}");
        }
        // What is read is digested in parts, at 2 and so on, and the digests are joined.
        let parts = run["output"]["parts"].as_u64().unwrap();
        let digests: Vec<String> = (2..2 + parts).map(|place| place.to_string()).collect();
        let mut expected = vec![
            "1 null".to_owned(),
            format!("{} {}", parts + 2, json!(digests)),
        ];
        expected.extend(digests.iter().map(|place| format!(r#"{place} ["1"]"#)));
        assert!(
            (2..=7).contains(&parts) && has(&events[events.len() - 1], "done"),
            "{}",
            story(&events)
        );
        assert_eq!(
            needs(&events),
            BTreeSet::from_iter(expected),
            "{}",
            story(&events)
        );
        assert!(steps(&events).contains(&"run resumed".to_owned()));
        // Of many, the first ones are named and the others counted.
        let many = perform(&app, "odd", json!("many_needs")).await;
        assert_eq!(many["output"], "70");
        let events = events_of(&app, &many).await;
        let counted = &with(&events, &["node", "started"]).last().unwrap()["payload"];
        assert_eq!(
            (&counted["node"], &counted["needs"][63]),
            (&json!("counted"), &json!("64"))
        );
        assert_eq!(
            (
                counted["needs"].as_array().unwrap().len(),
                &counted["needs_more"]
            ),
            (64, &json!(6))
        );
        envelope::check_log(&app.log().await);
    }
);

on_sqlite!(
    d2_56_runs_of_one_pipeline_at_the_same_time_are_independent,
    |medium| {
        let stub = stub().await;
        let app = own::setup(medium, &stub).start().await;
        let runs = futures_util::future::join_all(
            (1..=6).map(|count| perform(&app, "steps", json!(count))),
        )
        .await;
        for (run, count) in runs.iter().zip(1..) {
            let expected: Vec<String> = (1..=count).map(|n| format!("did step {n}")).collect();
            assert_eq!(run["output"], json!(expected), "{run}");
            assert_eq!(events_of(&app, run).await.len(), 2 + 2 * count);
        }
    }
);

// C18: building emits nothing; what is read emits.
#[tokio::test]
async fn d2_03_d2_60_nodes_that_are_only_built_leave_nothing() {
    let stub = stub().await;
    let app = own::setup(Medium::sqlite(), &stub).start().await;
    let built = perform(&app, "odd", json!("only_build")).await;
    assert_eq!(built["output"], "built");
    assert_eq!(
        steps(&events_of(&app, &built).await),
        ["run started", "run ended done"]
    );
    let read = perform(&app, "long", json!(1)).await;
    assert_eq!(events_of(&app, &read).await.len(), 4, "what is read does");
}

on_sqlite!(d2_60_what_fails_says_so_and_where, |medium| {
    let stub = stub().await;
    let app = own::setup(medium, &stub).start().await;
    for (oddity, status, nodes, says) in [
        (
            "fail",
            "failed",
            &["failure node pipeline node failed broken 1"][..],
            "it is broken",
        ),
        (
            "fail_inside",
            "failed",
            &["broken 1.1", "around 1"],
            "it is broken",
        ),
        ("panic_in_node", "failed", &["panics 1"], "a node gave up"),
        ("panic", "failed", &[], "panicked"),
        ("no_data", "failed", &["unreadable 1"], "cannot be recorded"),
        ("too_deep", "failed", &["too_deep 1"], "nested deeper"),
        ("fail_and_go_on", "done", &["broken 1"], ""),
        ("transient", "done", &[], ""),
        ("nul", "done", &[], ""),
    ] {
        let run = perform(&app, "odd", json!(oddity)).await;
        let events = events_of(&app, &run).await;
        assert_eq!(run["status"], status, "{oddity}: {}", story(&events));
        let thread = run["thread"].as_str().unwrap();
        let thread = app.get(&format!("/threads/{thread}")).await.expect(200);
        let is_done = status == "done";
        let outcome = if is_done { "complete" } else { "failed" };
        assert_eq!(thread["outcome"], outcome, "{oddity}: {thread}");
        assert_eq!(
            thread["reason"], run["failure"]["text"],
            "{oddity}: {thread}"
        );
        let failed: Vec<String> = steps(
            &with(&events, &["node", "failed"])
                .into_iter()
                .cloned()
                .collect::<Vec<_>>(),
        );
        assert_eq!(failed.len(), nodes.len(), "{oddity}: {}", story(&events));
        for (failed, node) in failed.iter().zip(nodes) {
            assert!(
                failed.ends_with(node.rsplit("failed ").next().unwrap()),
                "{oddity}: {failed}"
            );
        }
        if status == "failed" {
            let text = run["failure"]["text"].as_str().unwrap();
            assert!(text.contains(says), "{oddity}: {text}");
            let said = events
                .iter()
                .filter(|e| has(e, "failure") && !has(e, "node"))
                .count()
                + usize::from(!failed.is_empty());
            assert!(said >= 1, "{oddity}: {}", story(&events));
        }
    }
    // A value comes back as it was, also one that an event could not hold.
    let run = perform(&app, "odd", json!("nul")).await;
    let blob = run["output_blob"]["blob"].as_str().unwrap();
    assert_eq!(app.get(&format!("/blobs/{blob}")).await.body, json!("a\0b"));
    envelope::check_log(&app.log().await);
});

on_sqlite!(a_run_is_cancelled_down_to_the_connection, |medium| {
    let stub = Stub::start().await;
    stub.on(counting, text("never").never());
    let app = own::setup(medium, &stub).start().await;
    for (n, how) in ["own", "thread", "end"].into_iter().enumerate() {
        let path = begin(&app, "steps", json!(3)).await;
        let asked = stub.nth(n, counting).await;
        let thread = app.get(&path).await.expect(200)["thread"]
            .as_str()
            .unwrap()
            .to_owned();
        match how {
            "own" => app
                .post(&format!("{path}/cancel"), json!({}))
                .await
                .expect(202),
            "thread" => app
                .post(&format!("/threads/{thread}/cancel"), json!({}))
                .await
                .expect(200),
            _ => app
                .post(&format!("/threads/{thread}/end"), json!({}))
                .await
                .expect(200),
        };
        let run = ended(&app, &path).await;
        assert_eq!(run["status"], "cancelled", "{how}: {run}");
        asked.closed().await;
        assert_eq!(
            app.get(&format!("/threads/{thread}")).await.expect(200)["status"],
            "stopped"
        );
        // What has ended stays as it is, however often it is cancelled.
        let events = events_of(&app, &run).await.len();
        assert_eq!(
            app.post(&format!("{path}/cancel"), json!({}))
                .await
                .expect(200),
            run,
            "{how}"
        );
        assert_eq!(events_of(&app, &run).await.len(), events);
        // The call that was stopped has its record.
        app.until("the record", async || {
            let records = app
                .pages(&format!("/events?tags=debug&thread={thread}&"))
                .await;
            records
                .iter()
                .any(|event| event["payload"]["outcome"] == "stopped")
        })
        .await;
    }
    let log = app.log().await;
    assert_eq!(with(&log, &["node", "failed"]).len(), 0, "{}", story(&log));
    envelope::check_log(&log);
});

on_sqlite!(runs_are_listed_the_newest_first_and_paged, |medium| {
    let stub = stub().await;
    let app = own::setup(medium, &stub).start().await;
    assert_eq!(
        app.get("/pipelines/steps/runs").await.expect(200),
        json!({ "items": [], "next": null })
    );
    let mut runs = Vec::new();
    for count in 1..=5 {
        runs.insert(0, perform(&app, "steps", json!(count)).await);
        // Of another pipeline.
        perform(&app, "long", json!(count)).await;
    }
    assert_eq!(app.pages("/pipelines/steps/runs?").await, runs);
    assert_eq!(
        app.get("/pipelines/steps/runs").await.expect(200)["next"],
        Value::Null
    );
    let first = app.get("/pipelines/steps/runs?limit=2").await.expect(200);
    assert_eq!(first["items"], json!(runs[..2]));
    // What begins meanwhile does not move the pages; what has not ended is there, and one that fails.
    // The first rule that fits answers: with the old one in place the run would come to its end.
    stub.clear();
    stub.on(counting, text("never").never());
    let path = begin(&app, "steps", json!(1)).await;
    let next = first["next"].as_str().unwrap();
    let second = app
        .get(&format!("/pipelines/steps/runs?limit=2&cursor={next}"))
        .await
        .expect(200);
    assert_eq!(second["items"], json!(runs[2..4]));
    let newest = app.get("/pipelines/steps/runs?limit=1").await.expect(200)["items"][0].clone();
    assert_eq!(
        (
            &newest["status"],
            format!("/pipelines/steps/runs/{}", newest["id"].as_str().unwrap())
        ),
        (&json!("running"), path.clone())
    );
    app.post(&format!("{path}/cancel"), json!({}))
        .await
        .expect(202);
    let cancelled = ended(&app, &path).await;
    assert_eq!(
        app.get("/pipelines/steps/runs?limit=1").await.expect(200)["items"],
        json!([cancelled])
    );
    let failed = perform(&app, "odd", json!("fail")).await;
    assert_eq!(app.pages("/pipelines/odd/runs?").await, [failed]);
    app.get(&format!("/pipelines/odd/runs?cursor={next}"))
        .await
        .expect_problem(400, "invalid-cursor");
    app.get("/pipelines/steps/runs?limit=0")
        .await
        .expect_problem(400, "invalid-parameter");
    app.get("/pipelines/steps/runs?status=done")
        .await
        .expect_problem(400, "invalid-parameter");
    app.get("/pipelines/nothing/runs")
        .await
        .expect_problem(404, "not-found");
    app.get("/pipelines/No%20Name/runs")
        .await
        .expect_problem(400, "invalid-id");
});

on_sqlite!(the_same_run_id_with_another_input_is_a_conflict, |medium| {
    let stub = stub().await;
    let app = own::setup(medium, &stub).start().await;
    let id = thinkd::words::id::fresh().to_string();
    let start = async |count: u32| {
        app.post(
            "/pipelines/steps?wait=15",
            json!({ "input": count, "event_id": id }),
        )
        .await
    };
    let first = start(2).await.expect(200);
    assert_eq!(start(2).await.expect(200), first);
    start(3).await.expect_problem(409, "event-conflict");
});

#[tokio::test]
async fn d2_02_what_cannot_be_run_is_refused_by_name() {
    let stub = stub().await;
    let app = own::setup(Medium::sqlite(), &stub).start().await;
    let before = app.log().await.len();
    let post = async |path: &str, body: &str| {
        let request = app
            .request("POST", path)
            .header("content-type", "application/json")
            .body(body.to_owned());
        http::send(request).await
    };
    let id = "0193b6c2-7c2e-7aaa-8000-0123456789ab";
    for (path, body, status, slug) in [
        ("/pipelines/nothing", r#"{"input":1}"#, 404, "not-found"),
        ("/pipelines/No%20Name", r#"{"input":1}"#, 400, "invalid-id"),
        ("/pipelines/steps", "{", 400, "malformed-json"),
        ("/pipelines/steps", "[1]", 400, "invalid-frame"),
        (
            "/pipelines/steps",
            r#"{"input":"three"}"#,
            400,
            "invalid-frame",
        ),
        ("/pipelines/steps", r#"{"input":-1}"#, 400, "invalid-frame"),
        ("/pipelines/steps", "{}", 400, "invalid-frame"),
        (
            "/pipelines/steps",
            r#"{"input":1,"inputs":2}"#,
            400,
            "unknown-member",
        ),
        (
            "/pipelines/steps",
            r#"{"input":1,"event_id":"7"}"#,
            400,
            "invalid-id",
        ),
        (
            "/pipelines/summary",
            r#"{"input":{"thread":"a\u0000"}}"#,
            400,
            "nul-not-allowed",
        ),
        (
            "/pipelines/summary",
            r#"{"input":{"thread":"main","depth":3}}"#,
            400,
            "invalid-frame",
        ),
        (
            "/pipelines/steps?wait=-1",
            r#"{"input":1}"#,
            400,
            "invalid-parameter",
        ),
        (
            "/pipelines/steps?for=1",
            r#"{"input":1}"#,
            400,
            "invalid-parameter",
        ),
        (
            &format!("/pipelines/steps/runs/{id}/cancel"),
            "",
            404,
            "not-found",
        ),
    ] {
        let problem = post(path, body).await.expect_problem(status, slug);
        if body.contains("\"three\"") {
            assert_eq!(problem["errors"][0]["pointer"], "/input", "{problem}");
        }
    }
    let long = format!(r#"{{"input":{{"thread":"{}"}}}}"#, "x".repeat(70_000));
    post("/pipelines/summary", &long)
        .await
        .expect_problem(400, "text-too-large");
    let huge = format!(r#"{{"input":[{}1]}}"#, "1,".repeat(600_000));
    post("/pipelines/summary", &huge)
        .await
        .expect_problem(413, "too-large");
    app.get(&format!("/pipelines/steps/runs/{id}"))
        .await
        .expect_problem(404, "not-found");
    app.get("/pipelines/steps/runs/7")
        .await
        .expect_problem(400, "invalid-id");
    app.get("/pipelines/steps")
        .await
        .expect_problem(405, "method-not-allowed");
    app.get("/pipelines?q=1")
        .await
        .expect_problem(400, "invalid-parameter");
    assert_eq!(
        app.log().await.len(),
        before,
        "what is refused leaves nothing"
    );
    // Control: the same address, and something right.
    let done = perform(&app, "steps", json!(1)).await;
    assert_eq!(done["status"], "done");
    let other = format!("/pipelines/wide/runs/{}", done["id"].as_str().unwrap());
    app.get(&other).await.expect_problem(404, "not-found");
    // A run takes no messages, and nobody makes a thread that looks like one.
    let thread = done["thread"].as_str().unwrap();
    for thread in [thread, "runs", "runs.mine"] {
        let answer = app
            .post(
                &format!("/threads/{thread}/messages"),
                json!({ "text": "hello" }),
            )
            .await;
        answer.expect_problem(422, "unprocessable");
    }
    assert_eq!(app.conversation(json!({ "label": "runs" })).await, "runs-2");
    let child = json!({ "kind": "conversation", "parent": thread, "label": "child" });
    app.post("/threads", child)
        .await
        .expect_problem(422, "unprocessable");
}

on_sqlite!(
    a_run_that_is_started_twice_under_one_id_is_one_run,
    |medium| {
        let stub = stub().await;
        let app = own::setup(medium, &stub).start().await;
        let body = json!({ "input": 1, "event_id": "0193b6c2-7c2e-7aaa-8000-0123456789ab" });
        let first = app
            .post("/pipelines/steps?wait=20", body.clone())
            .await
            .expect(200);
        let second = app
            .post("/pipelines/steps?wait=20", body.clone())
            .await
            .expect(200);
        assert_eq!(first, second);
        assert_eq!(
            (first["id"].clone(), stub.count(counting)),
            (body["event_id"].clone(), 1)
        );
        let other = json!({ "input": 2, "event_id": body["event_id"] });
        app.post("/pipelines/steps", other)
            .await
            .expect_problem(409, "event-conflict");
    }
);

#[tokio::test]
async fn runs_belong_to_their_space() {
    let stub = stub().await;
    let keys = "[[keys]]\nkey = \"ada\"\nspace = \"ada\"\nrole = \"operator\"\n[[keys]]\nkey = \"bob\"\nspace = \"bob\"\nrole = \"operator\"\n";
    let mut app = own::setup(Medium::sqlite(), &stub)
        .file("thinkd.toml", keys)
        .start()
        .await;
    app.post("/pipelines/steps", json!({ "input": 1 }))
        .await
        .expect_problem(401, "unauthenticated");
    app.get("/pipelines")
        .await
        .expect_problem(401, "unauthenticated");
    app.authorize("Bearer ada");
    let done = perform(&app, "steps", json!(1)).await;
    let path = format!("/pipelines/steps/runs/{}", done["id"].as_str().unwrap());
    app.authorize("Bearer bob");
    app.get(&path).await.expect_problem(404, "not-found");
    app.post(&format!("{path}/cancel"), json!({}))
        .await
        .expect_problem(404, "not-found");
    app.authorize("Bearer ada");
    app.get(&path).await.expect(200);
}
