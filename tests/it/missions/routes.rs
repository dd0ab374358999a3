//! The order of tries of a task: routes best first, the high tier once more, apart; and the
//! requests that are refused.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

/// The routes by which tasks were tried, in the order of the calls.
fn tried(stub: &Stub) -> Vec<String> {
    let route = |request: &std::sync::Arc<Request>| {
        told(request, "Route: ")["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    stub.all(node("solve")).iter().map(route).collect()
}

// D1.31, D1.52, D1.53, D1.54, D1.55, D1.56, T1.16: 0.9, 0.5, 0.2; the third succeeds.
on_sqlite!(t1_16_routes_are_tried_by_falling_estimate, |medium| {
    let stub = Stub::start().await;
    stub.on(
        node("consider"),
        considered(&[("poor", 0.2), ("best", 0.9), ("fair", 0.5)]),
    );
    stub.script(
        node("judge"),
        [judged(false, "it is wrong"), judged(false, "still wrong")],
    );
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let mission = begin(&app, "one thing", json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    assert_eq!(tried(&stub), ["best", "fair", "poor"]);
    let second = stub.nth(1, node("solve")).await;
    assert!(
        told(&second, "Earlier tries: ")
            .to_string()
            .contains("it is wrong"),
        "{second:?}"
    );
    let tasks = list(&app, &mission).await;
    assert_eq!(tasks[0]["status"], "closed");
    let routes = tasks[0]["routes"].as_array().unwrap();
    assert_eq!(
        routes.iter().map(|it| &it["estimate"]).collect::<Vec<_>>(),
        [&json!(0.2), &json!(0.9), &json!(0.5)]
    );
});

// D1.18, D1.57, T1.33: two tries, the second by the high tier; the rule and its figures are recorded.
on_sqlite!(
    t1_33_what_does_not_convince_is_done_once_more_by_the_high_tier,
    |medium| {
        let stub = Stub::start().await;
        stub.script(node("judge"), [judged(false, "it is thin")]);
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_MODEL_HIGH", "stub-high")
            .start()
            .await;
        let mission = begin(
            &app,
            "one thing",
            json!({ "budget": { "model_calls": 40 } }),
        )
        .await;
        assert_eq!(ended(&app, &mission).await["status"], "done");
        let models: Vec<String> = stub
            .all(node("solve"))
            .iter()
            .map(|it| it.model().to_owned())
            .collect();
        assert_eq!((models.len(), models[1].as_str()), (2, "stub-high"));
        assert_ne!(models[0], "stub-high");
        let log = app.log().await;
        let retry = one(&log, &["task", "retry"]);
        assert_eq!(retry["payload"]["made"], true);
        // Decompose, consider, solve, judge are made.
        assert_eq!(
            retry["payload"]["figures"],
            json!({ "calls_left": 36, "tasks_left": 1 })
        );
    }
);

// D1.20: only the low tier is ever asked.
on_sqlite!(
    d1_20_a_task_of_low_value_never_asks_the_high_tier,
    |medium| {
        let stub = Stub::start().await;
        stub.on(node("judge"), judged(false, "it is thin"));
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_MODEL_HIGH", "stub-high")
            .start()
            .await;
        let mission = begin(&app, "one thing", json!({ "value": "low" })).await;
        assert_eq!(
            ended(&app, &mission).await["status"],
            "done",
            "a mission whose tasks fail has an answer, too"
        );
        assert!(
            stub.all(of_missions)
                .iter()
                .all(|it| it.model() != "stub-high")
        );
        // D1.17: a visible reason.
        let tasks = list(&app, &mission).await;
        assert_eq!(
            tasks[0]["status"],
            "failed_with_current_available_instruments"
        );
        assert!(
            tasks[0]["reason"].as_str().unwrap().contains("it is thin"),
            "{tasks:#?}"
        );
        let last = stub.request(node("answer")).await;
        assert!(
            last.says("failed_with_current_available_instruments"),
            "T1.45: marked as failed: {last:?}"
        );
    }
);

// D1.29, D1.32, D1.51: to split is a route: its parts are done before the next route begins, and the task requires them.
on_sqlite!(
    d1_32_a_route_that_splits_is_gone_to_its_end_before_the_next_one,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            node("decompose"),
            [
                tasks(&[("whole", &[])]),
                tasks(&[("left", &[]), ("right", &[1])]),
            ],
        );
        let mut split = ways(&[("straight", 0.3)]);
        (split["split"], split["split_estimate"]) = (json!(true), json!(0.8));
        stub.on(about("consider", "whole"), call("consider", split));
        stub.script(
            about("judge", "whole"),
            [judged(false, "the parts do not fit")],
        );
        otherwise(&stub);
        let mut app = App::start(medium, &stub).await;
        let mission = begin(&app, "one thing", json!({})).await;
        assert_eq!(ended(&app, &mission).await["status"], "done");
        assert_eq!(tried(&stub), ["straight", "straight", "split", "straight"]);
        let of: Vec<Value> = stub
            .all(node("solve"))
            .iter()
            .map(|it| task_of(it)["name"].clone())
            .collect();
        assert_eq!(of, ["left", "right", "whole", "whole"]);
        let together = stub.nth(2, node("solve")).await;
        assert!(
            together.says("did left") && together.says("did right"),
            "{together:?}"
        );
        let tasks = list(&app, &mission).await;
        let whole = named(&tasks, "whole");
        assert_eq!(whole["tasks_required"], json!(["t2", "t3"]));
        assert_eq!(
            (
                &named(&tasks, "left")["parent"],
                &named(&tasks, "left")["tasks_depending"]
            ),
            (&json!("t1"), &json!(["t1", "t3"]))
        );
        assert_eq!(whole["status"], "closed");
        rows_are_what_the_log_says(&mut app).await;
    }
);

// T1.18, D1.33: at most two levels, whatever the model wants; the refusal says why.
on_sqlite!(t1_18_a_model_that_always_splits_meets_the_depth, |medium| {
    let stub = Stub::start().await;
    let count = std::sync::atomic::AtomicU32::new(0);
    stub.on_each(node("decompose"), move |_| {
        let n = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let names = [format!("a{n}"), format!("b{n}")];
        tasks(&[(&names[0], &[]), (&names[1], &[])])
    });
    let mut split = ways(&[]);
    (split["split"], split["split_estimate"]) = (json!(true), json!(1));
    stub.on(node("consider"), call("consider", split));
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_MISSION__DEPTH", 2)
        .start()
        .await;
    let mission = begin(&app, "one thing", json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let tasks = list(&app, &mission).await;
    assert_eq!(tasks.len(), 6, "two, and two of each");
    let parents: Vec<&Value> = tasks
        .iter()
        .map(|it| &it["parent"])
        .filter(|it| !it.is_null())
        .collect();
    assert!(
        parents
            .iter()
            .all(|it| **it == json!("t1") || **it == json!("t2")),
        "{parents:?}"
    );
    assert!(
        tasks.iter().all(|it| it["status"] == "closed"),
        "done as they are: {tasks:#?}"
    );
    let log = app.log().await;
    let refused = with(&log, &["task", "refused"]);
    assert_eq!(refused.len(), 4);
    assert!(
        refused.iter().all(|it| said(it).contains("deep at most")),
        "{refused:#?}"
    );
});

// A part that is its own ancestor is refused by name.
on_sqlite!(a_task_is_no_part_of_itself, |medium| {
    let stub = Stub::start().await;
    stub.on(node("decompose"), tasks(&[("whole", &[])]));
    stub.on(node("judge"), judged(false, "no"));
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let mission = begin(&app, "one thing", json!({})).await;
    ended(&app, &mission).await;
    let log = app.log().await;
    let refused = with(&log, &["task", "refused"]);
    assert!(
        refused
            .iter()
            .any(|it| said(it).contains("\"whole\"") && said(it).contains("same as t1")),
        "{refused:#?}"
    );
    assert_eq!(list(&app, &mission).await.len(), 1);
});

// One re-planning behind a failed task, then failed with that reason.
on_sqlite!(a_task_behind_a_failed_one_is_planned_anew_once, |medium| {
    let stub = Stub::start().await;
    stub.on(
        node("decompose"),
        tasks(&[("first", &[]), ("needs it", &[1]), ("can do without", &[1])]),
    );
    stub.on(about("judge", "first"), judged(false, "it is wrong"));
    let without = json!({ "possible": true, "description": "do less", "why": "a guess will do" });
    stub.on(about("replan", "can do without"), call("replan", without));
    otherwise(&stub);
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TEST_MISSION__DEPTH", 1)
        .start()
        .await;
    let mission = begin(&app, "three things", json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let tasks = list(&app, &mission).await;
    let needs = named(&tasks, "needs it");
    assert_eq!(needs["status"], "failed_with_current_available_instruments");
    assert!(
        needs["reason"]
            .as_str()
            .unwrap()
            .starts_with("it requires t1, which failed: "),
        "{needs}"
    );
    let without = named(&tasks, "can do without");
    assert_eq!(
        (&without["status"], &without["description"]),
        (&json!("closed"), &json!("do less"))
    );
    assert_eq!(
        (
            &without["tasks_required"],
            &named(&tasks, "first")["tasks_depending"]
        ),
        (&json!([]), &json!(["t2"]))
    );
    assert_eq!(stub.count(node("replan")), 2);
    assert_eq!(stub.count(about("consider", "needs it")), 0);
    rows_are_what_the_log_says(&mut app).await;
});

/// A check by a program, and the answers that it passes.
fn by_program(code: &str) -> Answer {
    let mut way = ways(&[("straight", 0.9)]);
    (way["check"], way["program"]) = (json!("program"), json!(code));
    call("consider", way)
}

// Where a program decides, no model judges; where it decides nothing, one does.
on_sqlite!(d1_36_a_program_decides_before_a_model_does, |medium| {
    let stub = Stub::start().await;
    stub.on(
        node("decompose"),
        tasks(&[
            ("right", &[]),
            ("wrong", &[]),
            ("broken", &[]),
            ("endless", &[]),
        ]),
    );
    stub.on(
        about("consider", "right"),
        by_program("input.answer === 'did right'"),
    );
    stub.on(
        about("consider", "wrong"),
        by_program("input.answer === 'did right'"),
    );
    stub.on(about("consider", "broken"), by_program("nothing.at.all"));
    stub.on(about("consider", "endless"), by_program("while (true) {}"));
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TOOLS__CODE__ENABLED", true)
        .env("THINKD_TEST_TOOLS__CODE__TIME_MS", 200)
        .env("THINKD_TEST_MISSION__DEPTH", 1)
        .start()
        .await;
    let mission = begin(&app, "four things", json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let tasks = list(&app, &mission).await;
    let statuses: Vec<&str> = tasks
        .iter()
        .map(|it| it["status"].as_str().unwrap())
        .collect();
    assert_eq!(
        statuses,
        [
            "closed",
            "failed_with_current_available_instruments",
            "closed",
            "closed"
        ]
    );
    assert_eq!(
        stub.count(about("judge", "right")) + stub.count(about("judge", "wrong")),
        0
    );
    let log = app.log().await;
    let by = |task: i64| {
        let judged = with(&log, &["task", "judged"])
            .into_iter()
            .find(|it| it["payload"]["task"] == json!(task))
            .unwrap();
        judged["payload"]["by"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        [1, 2, 3, 4].map(by),
        ["program", "program", "rubric", "rubric"]
    );
});

// D1.63, D1.64: a program in an answer is run; its error is told, and the next one runs; a bounded number of times.
on_sqlite!(t1_35_a_program_is_repaired_from_its_error, |medium| {
    let stub = Stub::start().await;
    let program = |code: &str| {
        call(
            "solve",
            json!({ "thought": "compute it", "answer": null, "program": code }),
        )
    };
    stub.script(
        node("solve"),
        [program("boom("), program("missing.name"), program("6 * 7")],
    );
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TOOLS__CODE__ENABLED", true)
        .start()
        .await;
    let mission = begin(&app, "compute", json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    assert_eq!(list(&app, &mission).await[0]["answer"], "42");
    let calls = stub.all(node("solve"));
    assert_eq!(calls.len(), 3);
    assert!(
        calls[1].says("boom(") && calls[1].says("SyntaxError"),
        "{:?}",
        calls[1]
    );
    assert!(
        calls[2].says("missing") && calls[2].says("ReferenceError"),
        "{:?}",
        calls[2]
    );
});

// What has to be looked up is searched for in the knowledge base, and asked for again with what it finds; without one, it is said that there is none.
on_sqlite!(an_answer_is_looked_up_before_it_is_given, |medium| {
    let stub = Stub::start().await;
    let searches = call(
        "solve",
        json!({ "thought": "look", "answer": null, "program": null, "search": "the door" }),
    );
    stub.script(
        node("solve"),
        [searches.clone(), solved("at nine"), searches],
    );
    otherwise(&stub);
    let door = axum::Router::new().route(
        "/",
        axum::routing::get(async || {
            axum::Json(json!({ "results": [{ "title": "Hours", "url": "hours", "text": "It opens at nine." }] }))
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, door).await.unwrap() });
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_MEMORY__KNOWLEDGE__URL", url)
        .start()
        .await;
    let mission = begin(&app, "when does it open", json!({})).await;
    ended(&app, &mission).await;
    let again = stub.nth(1, node("solve")).await;
    assert_eq!(
        told(&again, "Earlier tries: "),
        json!([{ "searched": "the door", "found": [{ "title": "Hours", "url": "hours", "text": "It opens at nine." }] }])
    );
    app.kill();
    let app = App::start(
        if app.is_postgres() {
            Medium::postgres().await.unwrap()
        } else {
            Medium::sqlite()
        },
        &stub,
    )
    .await;
    let mission = begin(&app, "when does it open", json!({})).await;
    ended(&app, &mission).await;
    let last = stub.nth(3, node("solve")).await;
    assert!(
        told(&last, "Earlier tries: ")
            .to_string()
            .contains("no knowledge base is configured"),
        "{last:?}"
    );
});

// D1.57: the high tier has more steps.
on_sqlite!(d1_57_the_high_tier_repairs_a_program_oftener, |medium| {
    let stub = Stub::start().await;
    let broken = json!({ "thought": "compute it", "answer": null, "program": "missing.name" });
    stub.on(node("solve"), call("solve", broken));
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_MODEL_HIGH", "stub-high")
        .env("THINKD_TOOLS__CODE__ENABLED", true)
        .env("THINKD_TEST_MISSION__DEPTH", 1)
        .start()
        .await;
    let mission = begin(&app, "one thing", json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let models: Vec<bool> = stub
        .all(node("solve"))
        .iter()
        .map(|it| it.model() == "stub-high")
        .collect();
    assert_eq!(models, [vec![false; 3], vec![true; 6]].concat());
});
