//! Outcomes of missions beside their status, with their tasks counted, and the reason where one failed.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;
use kit::command::{err, out, thinkd};

fn counts(solved: u64, failed: u64, left: u64) -> Value {
    json!({ "solved": solved, "failed": failed, "left": left })
}

/// The outcome, its counts and the reason, as the thread, the list of threads and the event of its end say them.
async fn came_to(app: &App, mission: &str) -> (String, Value, String) {
    let thread = ended(app, mission).await;
    let listed = app.pages("/threads?kind=mission&").await;
    let listed = listed.iter().find(|it| it["id"] == mission).unwrap();
    for member in ["outcome", "tasks", "status", "reason"] {
        assert_eq!(listed[member], thread[member], "{member}");
    }
    let events = app
        .pages(&format!("/events?order=asc&thread={mission}&"))
        .await;
    let end = &one(&events, &["run", "ended"])["payload"];
    assert_eq!(
        (&end["came_to"], &end["tasks"]),
        (&thread["outcome"], &thread["tasks"])
    );
    let text = |member: &str| thread[member].as_str().unwrap_or_default().to_owned();
    (text("outcome"), thread["tasks"].clone(), text("reason"))
}

on_sqlite!(
    a_mission_says_beside_its_status_what_came_of_its_tasks,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(
            node("decompose"),
            [
                tasks(&[("list", &[])]),
                tasks(&[("list", &[]), ("order", &[]), ("print", &[])]),
                tasks(&[("order", &[])]),
                tasks(&[("list", &[]), ("wait", &[1]), ("never", &[2])]),
                tasks(&[("a", &[]), ("b", &[1]), ("c", &[2])]),
            ],
        );
        stub.on(about("solve", "order"), text("I cannot."));
        stub.on(about("solve", "wait"), solved("late").held(&gate));
        otherwise(&stub);
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MISSION__DEPTH", 1)
            .start()
            .await;
        let mut came = Vec::new();
        for _ in 0..3 {
            let mission = begin(&app, "some things", json!({})).await;
            came.push(came_to(&app, &mission).await);
        }
        let nothing = String::new();
        assert_eq!(
            came,
            [
                ("complete".into(), counts(1, 0, 0), nothing.clone()),
                ("partial".into(), counts(2, 1, 0), nothing.clone()),
                ("failed".into(), counts(0, 1, 0), nothing.clone()),
            ]
        );
        let mission = begin(&app, "three things", json!({})).await;
        stub.request(about("solve", "wait")).await;
        let thread = app.get(&format!("/threads/{mission}")).await.expect(200);
        assert_eq!(
            (&thread["outcome"], &thread["tasks"]),
            (&Value::Null, &Value::Null),
            "under way"
        );
        app.post(&format!("/threads/{mission}/cancel"), json!({}))
            .await
            .expect(200);
        assert_eq!(
            came_to(&app, &mission).await,
            ("stopped".into(), counts(1, 0, 2), nothing)
        );
        // The budget: decompose; consider, solve and judge of a; consider of b.
        let few = json!({ "budget": { "model_calls": 5 } });
        let mission = begin(&app, "three things", few).await;
        let (outcome, tasks, reason) = came_to(&app, &mission).await;
        assert_eq!(
            (outcome.as_str(), tasks),
            ("partial", counts(1, 0, 2)),
            "{reason}"
        );
        assert!(reason.contains("5 model calls"), "{reason}");
        let none = json!({ "budget": { "model_calls": 1 } });
        let mission = begin(&app, "one thing", none).await;
        let (outcome, _, reason) = came_to(&app, &mission).await;
        assert_eq!(outcome, "failed");
        assert!(reason.contains("1 model call"), "{reason}");
        envelope::check_log(&app.log().await);
        rows_are_what_the_log_says(&mut app).await;
    }
);

#[tokio::test]
async fn the_command_prints_the_outcome_and_the_reason() {
    let stub = Stub::start().await;
    stub.script(
        node("decompose"),
        [
            tasks(&[("list", &[]), ("order", &[])]),
            tasks(&[("a", &[])]),
        ],
    );
    stub.on(about("solve", "order"), text("I cannot."));
    otherwise(&stub);
    let app = App::start(Medium::sqlite(), &stub).await;
    let says =
        async |arguments: &[&str]| kit::command::ended(&mut thinkd(&app, arguments), "").await;
    let said = says(&["mission", "two things"]).await;
    let shown = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said.status.code(), Some(1));
    assert!(
        shown.contains("\npartial: 1 of 2 tasks solved, 1 failed\n"),
        "{shown}"
    );
    let shown = out(&says(&["mission", "one thing"]).await);
    assert!(
        shown.contains("\ncomplete: 1 of 1 task solved\n"),
        "{shown}"
    );
    let said = says(&["mission", "--calls", "2", "two things"]).await;
    assert_eq!(said.status.code(), Some(1));
    assert!(err(&said).contains("2 model calls"), "{}", err(&said));
}

// Without any model: the mission, its command and a claim say what is missing, and nothing else is blamed.
on_sqlite!(without_a_model_all_say_that_none_is_configured, |medium| {
    let app = Setup::offline(medium).start().await;
    let mission = begin(&app, "one thing", json!({})).await;
    let (outcome, tasks, reason) = came_to(&app, &mission).await;
    assert_eq!((outcome.as_str(), tasks), ("failed", counts(0, 0, 0)));
    assert!(
        reason.contains("no model is configured") && reason.contains("THINKD_MODEL"),
        "{reason}"
    );
    let reply = replies(&app, &mission).await;
    assert!(reply[0].contains("no model is configured"), "{reply:?}");
    let said = kit::command::ended(&mut thinkd(&app, &["mission", "a thing"]), "").await;
    assert_eq!(said.status.code(), Some(1));
    assert!(
        err(&said).contains("no model is configured"),
        "{}",
        err(&said)
    );
    let printed = String::from_utf8_lossy(&said.stdout);
    let whole = format!("{printed}{}", err(&said));
    assert_eq!(whole.matches("no model").count(), 1, "said once: {whole}");
    let claimed = json!({ "statement": "The mill is at Tarn." });
    let claimed = app.post("/world-model", claimed).await.expect(202);
    let path = format!("/world-model/{}", claimed["id"].as_str().unwrap());
    let statement = app
        .until_some("a word on the claim", async || {
            let statement = app.get(&path).await.expect(200);
            statement["reason"].is_string().then_some(statement)
        })
        .await;
    assert!(
        statement["reason"]
            .as_str()
            .unwrap()
            .contains("no model is configured"),
        "{statement}"
    );
    let log = app.log().await;
    let blamed = |event: &&Value| event.to_string().contains("did not call");
    assert!(!log.iter().any(|it| blamed(&it)), "{}", story(&log));
});

// To split a task that cannot be split is no try.
#[tokio::test]
async fn tries_are_counted_as_they_were_made() {
    let stub = Stub::start().await;
    stub.on(node("solve"), text("I cannot."));
    stub.script(node("decompose"), [tasks(&[("whole", &[])])]);
    stub.on(node("decompose"), text("I cannot."));
    stub.on(
        node("consider"),
        considered(&[("this way", 0.9), ("that way", 0.4)]),
    );
    otherwise(&stub);
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_MODEL_HIGH", "stub-high")
        .start()
        .await;
    for (value, count) in [("low", "2 tries"), ("medium", "3 tries")] {
        let mission = begin(&app, "one thing", json!({ "value": value })).await;
        ended(&app, &mission).await;
        let story = story_of(&app, &mission).await;
        let made = story.iter().filter(|it| *it == "t1 tried").count();
        let task = list(&app, &mission).await[0].clone();
        assert!(
            task["reason"].as_str().unwrap().contains(count)
                && count.starts_with(&made.to_string()),
            "{made}: {task}"
        );
    }
}
