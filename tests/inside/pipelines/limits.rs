//! Limits of a run: at the limit it works, above it the failure names the limit.

use serde_json::{Value, json};

use super::{begin, counting, ended, events_of, own, perform, step, steps, stub};
use kit::*;

/// Runs at the limit and above it: the failure of the latter.
async fn at_and_above(app: &App, pipeline: &str, at: Value, above: Value) -> Value {
    let done = perform(app, pipeline, at).await;
    assert_eq!(done["status"], "done", "{done}");
    let failed = perform(app, pipeline, above).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    let events = events_of(app, &failed).await;
    assert!(
        !with(&events, &["failure"]).is_empty(),
        "{}",
        story(&events)
    );
    failed["failure"].clone()
}

on_sqlite!(more_nodes_than_a_run_may_start, |medium| {
    let stub = stub().await;
    let app = own::setup(medium, &stub)
        .env("THINKD_TEST_PIPELINES__NODES", 3)
        .start()
        .await;
    let failure = at_and_above(&app, "steps", json!(3), json!(4)).await;
    assert_eq!(
        (&failure["kind"], &failure["detail"]["limit"]),
        (&json!("budget"), &json!(3)),
        "{failure}"
    );
    assert!(
        failure["text"]
            .as_str()
            .unwrap()
            .contains("a run starts at most")
    );
    assert_eq!(
        stub.count(counting),
        6,
        "the fourth node of the second run never ran"
    );
});

// Nodes are counted over all the lives of a run.
on_sqlite!(more_nodes_than_a_run_may_start_in_two_lives, |medium| {
    let stub = Stub::start().await;
    stub.script(
        |r| counting(r) && step(r) == "step 3",
        [text("never").never()],
    );
    stub.on_each(counting, |request| text(&format!("did {}", step(request))));
    let mut app = own::setup(medium, &stub)
        .env("THINKD_TEST_PIPELINES__NODES", 3)
        .start()
        .await;
    let path = begin(&app, "steps", json!(3)).await;
    stub.nth(0, |r| counting(r) && step(r) == "step 3").await;
    app.restart().await;
    let run = ended(&app, &path).await;
    assert_eq!(
        (&run["status"], &run["failure"]["kind"]),
        (&json!("failed"), &json!("budget")),
        "{run}"
    );
});

on_sqlite!(longer_than_a_run_may_take, |medium| {
    let stub = stub().await;
    let app = own::setup(medium, &stub)
        .env("THINKD_TEST_PIPELINES__TIME_MS", 700)
        .start()
        .await;
    let failure = at_and_above(&app, "pause", json!(1), json!(60_000)).await;
    assert_eq!(
        (&failure["kind"], &failure["detail"]["key"]),
        (&json!("timeout"), &json!("pipelines.time_ms"))
    );
});

#[tokio::test]
async fn more_runs_than_a_server_works_on() {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(counting, text("done").held(&gate));
    let app = own::setup(Medium::sqlite(), &stub)
        .env("THINKD_TEST_PIPELINES__AT_ONCE", 2)
        .start()
        .await;
    let first = begin(&app, "steps", json!(1)).await;
    let id = "0193b6c2-7c2e-7aaa-8000-0123456789ab";
    let second = app
        .post("/pipelines/steps", json!({ "input": 1, "event_id": id }))
        .await
        .expect(202);
    let refused = app.post("/pipelines/steps", json!({ "input": 1 })).await;
    assert_eq!(refused.header("retry-after"), "10");
    let refused = refused.expect_problem(429, "too-many-requests");
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("runs of pipelines"),
        "{refused}"
    );
    // What is there already is answered as the first time.
    assert_eq!(
        app.post("/pipelines/steps", json!({ "input": 1, "event_id": id }))
            .await
            .expect(202)["id"],
        second["id"]
    );
    assert!(
        app.get("/metrics")
            .await
            .text
            .contains("thinkd_limit_total{limit=\"pipelines.at_once\"} 1")
    );
    gate.open();
    ended(&app, &first).await;
    let run = perform(&app, "steps", json!(1)).await;
    assert_eq!(run["status"], "done", "{run}");
}

on_sqlite!(one_space_leaves_runs_to_others, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(counting, text("done").held(&gate));
    let keys = "[[keys]]\nkey = \"ada\"\nspace = \"ada\"\nrole = \"operator\"\n[[keys]]\nkey = \"bob\"\nspace = \"bob\"\nrole = \"operator\"\n";
    let setup = own::setup(medium, &stub)
        .file("thinkd.toml", keys)
        .env("THINKD_TEST_PIPELINES__AT_ONCE", 4);
    let mut app = setup.start_bare().await;
    app.authorize("Bearer ada");
    let mut paths = Vec::new();
    for _ in 0..3 {
        paths.push(begin(&app, "steps", json!(1)).await);
    }
    let refused = app
        .post("/pipelines/steps", json!({ "input": 1 }))
        .await
        .expect_problem(429, "too-many-requests");
    let detail = refused["detail"].as_str().unwrap();
    assert!(
        detail.contains("3 runs") && detail.contains("of all spaces"),
        "{detail}"
    );
    app.authorize("Bearer bob");
    let path = begin(&app, "steps", json!(1)).await;
    gate.open();
    assert_eq!(
        ended(&app, &path).await["status"],
        "done",
        "one was left for another space"
    );
    app.authorize("Bearer ada");
    for path in &paths {
        assert_eq!(ended(&app, path).await["status"], "done");
    }
});

// More than are worked on at a time were cut off: they wait for their turn, none is lost.
on_sqlite!(runs_that_were_cut_off_wait_for_a_place, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on_each(counting, {
        let gate = gate.clone();
        move |_| text("done").held(&gate)
    });
    let mut app = own::setup(medium, &stub)
        .env("THINKD_TEST_PIPELINES__AT_ONCE", 3)
        .start()
        .await;
    let mut paths = Vec::new();
    for _ in 0..3 {
        paths.push(begin(&app, "steps", json!(1)).await);
    }
    stub.some(3, counting).await;
    app.kill();
    app.set_env("THINKD_TEST_PIPELINES__AT_ONCE", 1);
    app.start_again().await;
    stub.some(4, counting).await;
    app.post("/pipelines/steps", json!({ "input": 1 }))
        .await
        .expect_problem(429, "too-many-requests");
    // One that waits is cancelled without a place.
    let waiting = async {
        for path in &paths {
            let thread = app.get(path).await.expect(200)["thread"]
                .as_str()
                .unwrap()
                .to_owned();
            if !stub.all(counting)[3..]
                .iter()
                .any(|request| request.thread == thread)
            {
                return path.clone();
            }
        }
        panic!("none waits")
    };
    let waiting = waiting.await;
    app.post(&format!("{waiting}/cancel"), json!({}))
        .await
        .expect(202);
    assert_eq!(ended(&app, &waiting).await["status"], "cancelled");
    assert_eq!(stub.count(counting), 4);
    gate.open();
    for path in paths.iter().filter(|path| **path != waiting) {
        assert_eq!(ended(&app, path).await["status"], "done");
    }
});

on_sqlite!(a_large_value_is_a_blob_and_comes_back_whole, |medium| {
    let stub = stub().await;
    let app = own::setup(medium, &stub)
        .env("THINKD_TEST_LIMITS__TOOL_OUTPUT_BYTES", 1000)
        .start()
        .await;
    let small = perform(&app, "long", json!(900)).await;
    assert_eq!(small["output"], "x".repeat(900));
    let large = perform(&app, "long", json!(200_000)).await;
    assert_eq!(
        (&large["status"], &large["output"]),
        (&json!("done"), &Value::Null),
        "{large}"
    );
    let blob = &large["output_blob"];
    assert_eq!(
        (&blob["bytes"], &blob["mime"]),
        (&json!(200_002), &json!("application/json"))
    );
    let whole = app
        .get(&format!("/blobs/{}", blob["blob"].as_str().unwrap()))
        .await;
    assert_eq!(whole.body, json!("x".repeat(200_000)));
    let events = events_of(&app, &large).await;
    assert_eq!(steps(&events).len(), 4);
    assert_eq!(events[2]["payload"]["value_blob"], *blob);
    assert!(events.iter().all(|event| event.to_string().len() < 1000));
    // So large that nothing keeps it: the node fails, and the server goes on.
    let failure = at_and_above(&app, "long", json!(1000), json!(20 << 20)).await;
    assert!(
        failure["text"]
            .as_str()
            .unwrap()
            .contains("at most 16777216 bytes"),
        "{failure}"
    );
});
