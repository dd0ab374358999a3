//! The budget of a mission: one budget for all its tasks, and a typed end with the results so far.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

// T1.13, D1.59: the call after the last one is refused, and the mission ends with that.
on_sqlite!(
    t1_13_the_call_that_is_one_too_many_is_refused_and_ends_the_mission,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            node("decompose"),
            tasks(&[("a", &[]), ("b", &[1]), ("c", &[2])]),
        );
        otherwise(&stub);
        let mut app = App::start(medium, &stub).await;
        // Decompose; consider, solve and judge of a; consider of b.
        let mission = begin(
            &app,
            "three things",
            json!({ "budget": { "model_calls": 5 } }),
        )
        .await;
        let thread = ended(&app, &mission).await;
        assert_eq!(thread["status"], "failed");
        assert_eq!(stub.count(of_missions), 5);
        let events = app
            .pages(&format!("/events?order=asc&thread={mission}&"))
            .await;
        let ended = one(&events, &["run", "ended"]);
        assert_eq!(ended["payload"]["failure"]["kind"], "budget", "{ended}");
        let tasks = list(&app, &mission).await;
        let statuses: Vec<&str> = tasks
            .iter()
            .map(|it| it["status"].as_str().unwrap())
            .collect();
        let failed = "failed_with_current_available_instruments";
        assert_eq!(statuses, ["closed", failed, failed]);
        assert!(
            tasks[2]["reason"]
                .as_str()
                .unwrap()
                .contains("5 model calls"),
            "{tasks:#?}"
        );
        let reply = &replies(&app, &mission).await[0];
        assert!(
            reply.contains("did a") && reply.contains("5 model calls"),
            "what was achieved: {reply}"
        );
        let log = app.log().await;
        assert!(
            with(&log, &["debug"])
                .iter()
                .any(|it| it["payload"]["outcome"] == "refused")
        );
        envelope::check_log(&log);
        rows_are_what_the_log_says(&mut app).await;
    }
);

// With an exhausted budget no high tier is asked, and the figures say why.
on_sqlite!(
    d1_59_a_retry_that_others_would_pay_for_is_not_made,
    |medium| {
        let stub = Stub::start().await;
        stub.on(node("decompose"), tasks(&[("a", &[]), ("b", &[1])]));
        stub.on(about("judge", "a"), judged(false, "it is thin"));
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_MODEL_HIGH", "stub-high")
            .env("THINKD_TEST_MISSION__DEPTH", 1)
            .start()
            .await;
        let mission = begin(
            &app,
            "two things",
            json!({ "budget": { "model_calls": 8 } }),
        )
        .await;
        ended(&app, &mission).await;
        let log = app.log().await;
        let retry = one(&log, &["task", "retry"]);
        assert_eq!(retry["payload"]["made"], false);
        assert_eq!(
            retry["payload"]["figures"],
            json!({ "calls_left": 4, "tasks_left": 2 })
        );
        assert!(
            stub.all(of_missions)
                .iter()
                .all(|it| it.model() != "stub-high")
        );
    }
);

on_sqlite!(time_and_tokens_end_a_mission_as_calls_do, |medium| {
    let stub = Stub::start().await;
    stub.on(node("decompose"), tasks(&[("a", &[]), ("b", &[1])]));
    stub.on(about("solve", "b"), text("never").never());
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    // The stub says 110 tokens of each call.
    for (budget, word) in [
        (json!({ "time_ms": 1500 }), "1500 ms"),
        (json!({ "tokens": 300 }), "300 tokens"),
    ] {
        let mission = begin(&app, "two things", json!({ "budget": budget })).await;
        let thread = ended(&app, &mission).await;
        assert_eq!(thread["status"], "failed");
        let reply = &replies(&app, &mission).await[0];
        assert!(reply.contains(word), "{reply}");
        let tasks = list(&app, &mission).await;
        assert!(
            tasks
                .iter()
                .all(|it| it["status"] != "open" && it["status"] != "in_progress"),
            "{tasks:#?}"
        );
    }
    // More than is configured is as much as is configured.
    let mission = begin(&app, "x", json!({ "budget": { "model_calls": 1_000_000 } })).await;
    let thread = app.get(&format!("/threads/{mission}")).await.expect(200);
    assert_eq!(thread["mission"]["budget"]["model_calls"], 500);
    assert_eq!(
        app.post(&format!("/threads/{mission}/end"), json!({}))
            .await
            .status,
        200
    );
    assert_eq!(ended(&app, &mission).await["status"], "stopped");
    let open: Vec<Value> = list(&app, &mission)
        .await
        .into_iter()
        .filter(|it| it["status"] == "open")
        .collect();
    assert!(open.is_empty(), "{open:#?}");
});
