//! Models that say nothing, too much, or nonsense: each bounded, recorded, and the mission ends with a clear answer.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

/// Asserts that a mission with this answer to all its calls ends, within so many calls.
async fn ends(
    medium: Medium,
    answer: impl Fn(&Request) -> Answer + Send + 'static,
    most: usize,
) -> (App, String, Value) {
    let stub = Stub::start().await;
    stub.on_each(of_missions, answer);
    let app = App::start(medium, &stub).await;
    let mission = begin(&app, "the one thing", json!({})).await;
    let thread = ended(&app, &mission).await;
    let calls = stub.count(of_missions);
    assert!(calls <= most, "{calls} calls: {:#?}", stub.all(of_missions));
    let replies = replies(&app, &mission).await;
    assert_eq!(replies.len(), 1, "{replies:?}");
    assert!(!replies[0].trim().is_empty());
    envelope::check_log(&app.log().await);
    (app, mission, thread)
}

on_sqlite!(models_that_never_answer_end_in_an_answer, |medium| {
    let (app, mission, thread) = ends(medium, |_| text("hm"), 20).await;
    assert_eq!(thread["status"], "done");
    let tasks = list(&app, &mission).await;
    assert_eq!(
        (tasks.len(), &tasks[0]["description"]),
        (1, &json!("the one thing")),
        "the mission is its only task"
    );
    assert_eq!(
        tasks[0]["status"],
        "failed_with_current_available_instruments"
    );
    assert!(replies(&app, &mission).await[0].contains("failed"));
    // Once asked again, with what was wrong.
    let log = app.log().await;
    assert!(!with(&log, &["task", "refused"]).is_empty());
});

on_sqlite!(
    models_that_answer_something_else_end_in_an_answer,
    |medium| {
        ends(medium, |_| call("launch", json!({ "rockets": 3 })), 20).await;
    }
);

on_sqlite!(answers_that_are_no_json_end_in_an_answer, |medium| {
    ends(
        medium,
        |request| call_raw(request.tools()[0].as_str(), "{\"tasks\": ["),
        20,
    )
    .await;
});

on_sqlite!(providers_that_fail_end_in_an_answer, |medium| {
    let (_, _, thread) = ends(medium, |_| status(400), 20).await;
    assert_eq!(thread["status"], "done");
});

on_sqlite!(
    a_decomposition_with_no_tasks_is_asked_for_once_more,
    |medium| {
        let stub = Stub::start().await;
        stub.script(node("decompose"), [tasks(&[]), tasks(&[("whole", &[])])]);
        otherwise(&stub);
        let app = App::start(medium, &stub).await;
        let mission = begin(&app, "the one thing", json!({})).await;
        assert_eq!(ended(&app, &mission).await["status"], "done");
        let nudged = stub.nth(1, node("decompose")).await;
        assert!(nudged.says("the list of tasks is empty"), "{nudged:?}");
        assert_eq!(list(&app, &mission).await[0]["name"], "whole");
    }
);

// Cut to what there is room for, the mission would be called complete without the others.
on_sqlite!(ten_thousand_tasks_are_asked_for_in_fewer, |medium| {
    let stub = Stub::start().await;
    let names: Vec<String> = (0..10_000).map(|n| format!("n{n}")).collect();
    let list_of: Vec<(&str, &[i64])> = names.iter().map(|name| (name.as_str(), &[][..])).collect();
    stub.on(node("decompose"), tasks(&list_of));
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_MISSION__TASKS", 12)
        .env("THINKD_MODELS__LOW__STREAM", false)
        .start()
        .await;
    let mission = begin(&app, "very much", json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let nudged = stub.nth(1, node("decompose")).await;
    assert!(nudged.says("room for 12: make fewer"), "{nudged:?}");
    assert_eq!(list(&app, &mission).await[0]["name"], "the mission");
    let log = app.log().await;
    assert!(said(one(&log, &["task", "refused"])).contains("there is room for"));
});

on_sqlite!(a_task_that_requires_itself_is_done_all_the_same, |medium| {
    let stub = Stub::start().await;
    stub.on(
        node("decompose"),
        tasks(&[("a", &[1, 2]), ("b", &[1]), ("c", &[77, -1])]),
    );
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let mission = begin(&app, "three things", json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let tasks = list(&app, &mission).await;
    assert!(
        tasks.iter().all(|it| it["status"] == "closed"),
        "{tasks:#?}"
    );
    let log = app.log().await;
    let refused: Vec<&str> = with(&log, &["task", "refused"])
        .into_iter()
        .map(said)
        .collect();
    assert_eq!(refused.len(), 4, "{refused:#?}");
    assert!(
        refused[0].contains("t1 → t1") && refused[1].contains("t2 → t1 → t2"),
        "{refused:#?}"
    );
});

on_sqlite!(
    estimates_that_are_no_chances_are_bounded_and_said,
    |medium| {
        let stub = Stub::start().await;
        let mut way = ways(&[("a", -3.0), ("b", 7.0), ("c", 0.5)]);
        way["routes"][2]["estimate"] = json!("surely");
        stub.on(node("consider"), call("consider", way));
        otherwise(&stub);
        let app = App::start(medium, &stub).await;
        let mission = begin(&app, "one thing", json!({})).await;
        assert_eq!(ended(&app, &mission).await["status"], "done");
        let routes = list(&app, &mission).await[0]["routes"].clone();
        let estimates: Vec<&Value> = routes
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["estimate"])
            .collect();
        assert_eq!(estimates, [&json!(0.0), &json!(1.0), &json!(0.0)]);
        let log = app.log().await;
        assert_eq!(with(&log, &["task", "refused"]).len(), 3);
    }
);

// T1.30, D1.19: what a task of this value may not ask is refused, recorded, and reaches nobody.
on_sqlite!(t1_30_a_task_that_may_not_ask_the_user_does_not, |medium| {
    let stub = Stub::start().await;
    let mut way = ways(&[("straight", 0.9)]);
    way["question"] = json!("Which room do you like?");
    stub.on(node("consider"), call("consider", way));
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    for value in ["low", "medium"] {
        let mission = begin(&app, "one thing", json!({ "value": value })).await;
        assert_eq!(ended(&app, &mission).await["status"], "done");
        let log = app.log().await;
        let refused = with(&log, &["task", "refused"])
            .into_iter()
            .rfind(|it| it["thread"].as_str().unwrap().starts_with(&mission));
        assert!(
            said(refused.unwrap()).contains(&format!("its value is {value}")),
            "{refused:?}"
        );
        assert!(with(&log, &["question", "user"]).is_empty());
    }
});
