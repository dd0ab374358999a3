//! Exact tasks: tries that know nothing of each other, until enough come to the same; tries are pooled over the tasks of a mission.

use serde_json::{Value, json};

use super::*;
use kit::planted_missions::Planted;

/// Exact tasks by name.
fn exact(names: &[&str]) -> Answer {
    let task = |name: &&str| json!({ "name": name, "description": format!("do {name}"), "requires": [], "value": null, "brought_by": [], "exact": true });
    call(
        "decompose",
        json!({ "tasks": names.iter().map(task).collect::<Vec<_>>() }),
    )
}

/// Returns the first verdict on a task.
async fn judged(app: &App, task: i64) -> Value {
    let log = app.log().await;
    let of_task = |it: &&Value| it["payload"]["task"] == json!(task);
    with(&log, &["task", "judged"])
        .into_iter()
        .find(of_task)
        .cloned()
        .unwrap()["payload"]
        .clone()
}

// Without being considered and without a judge; each try is asked for in other words, and told of no other.
on_sqlite!(
    d1_36_tries_that_know_nothing_of_each_other_decide_what_is_exact,
    |medium| {
        let stub = Stub::start().await;
        stub.on(node("decompose"), exact(&["clear", "contested"]));
        stub.script(
            about("solve", "contested"),
            ["12 owls", "13 owls", "12  Owls", "12 owls"].map(solved),
        );
        otherwise(&stub);
        let mut app = App::start(medium, &stub).await;
        let mission = begin(&app, "two numbers", json!({})).await;
        assert_eq!(ended(&app, &mission).await["status"], "done");
        assert_eq!(stub.count(node("consider")) + stub.count(node("judge")), 0);
        let tasks = list(&app, &mission).await;
        let clear = named(&tasks, "clear");
        let contested = named(&tasks, "contested");
        assert_eq!(
            (&clear["answer"], &contested["answer"]),
            (&json!("did clear"), &json!("12 owls"))
        );
        assert_eq!(clear["check"]["by"], "agreement");
        assert_eq!(
            stub.count(about("solve", "clear")),
            2,
            "two that agree at once"
        );
        let tries = stub.all(about("solve", "contested"));
        assert_eq!(tries.len(), 4, "two agree, but one differs: three have to");
        let routes: Vec<Value> = tries.iter().map(|it| told(it, "Route: ")).collect();
        assert_eq!(
            routes.iter().map(|it| &it["attempt"]).collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
        assert_ne!(routes[0]["how"], routes[1]["how"], "two ways");
        assert!(
            tries
                .iter()
                .all(|it| told(it, "Earlier tries: ") == json!([]))
        );
        let verdict = judged(&app, 2).await;
        assert_eq!(
            (&verdict["by"], &verdict["passes"]),
            (&json!("agreement"), &json!(true))
        );
        assert!(
            verdict["why"]
                .as_str()
                .unwrap()
                .starts_with("3 of 4 tries came to it (4"),
            "with its figures: {verdict}"
        );
        let story = story_of(&app, &mission).await;
        let of_one: Vec<&str> = story
            .iter()
            .filter_map(|line| line.strip_prefix("t1 "))
            .collect();
        assert_eq!(
            of_one,
            [
                "made", "began", "split", "asked", "routes", "checked", "tried", "tried", "judged",
                "over"
            ]
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// What one leaves is another's; nobody takes what others need. A try each for t1 and t2 is sure: 1 + 2·3 + 1 calls, and two more to share.
on_sqlite!(
    d1_59_tries_are_pooled_over_the_tasks_of_a_mission,
    |medium| {
        let stub = Stub::start().await;
        let count = std::sync::atomic::AtomicU32::new(0);
        stub.on(node("decompose"), exact(&["hard", "easy", "clear"]));
        stub.on_each(about("solve", "hard"), move |_| {
            solved(
                &count
                    .fetch_add(1, std::sync::atomic::Ordering::Relaxed)
                    .to_string(),
            )
        });
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_MISSION__WIDTH", 1)
            .env("THINKD_TEST_MISSION__DEPTH", 1)
            .start()
            .await;
        let mission = begin(
            &app,
            "three numbers",
            json!({ "budget": { "model_calls": 10 } }),
        )
        .await;
        assert_eq!(ended(&app, &mission).await["status"], "done");
        assert_eq!(
            stub.count(about("solve", "hard")),
            4,
            "no more than leave two each for the others, and the answer"
        );
        assert_eq!(stub.count(of_missions), 10);
        let tasks = list(&app, &mission).await;
        let statuses: Vec<&str> = tasks
            .iter()
            .map(|it| it["status"].as_str().unwrap())
            .collect();
        assert_eq!(
            statuses,
            [
                "failed_with_current_available_instruments",
                "closed",
                "closed"
            ]
        );
        let verdict = judged(&app, 1).await;
        assert_eq!(
            verdict["why"],
            "no two of 4 tries agree (5 calls are left; 2 tasks to come, 0 more under way)"
        );
    }
);

/// A task that is checked by agreement, and tries that say these in turn: those of the ordinary model, then those of the high tier.
async fn disagreeing(medium: Medium, high: [&str; 2]) -> (App, Stub, String) {
    let stub = Stub::start().await;
    let mut way = ways(&[("this way", 0.9), ("that way", 0.4)]);
    way["check"] = json!("agreement");
    stub.on(node("consider"), call("consider", way));
    stub.script(
        |request: &Request| node("solve")(request) && request.model() == "stub-high",
        high.map(solved),
    );
    let count = std::sync::atomic::AtomicU32::new(101);
    stub.on_each(node("solve"), move |_| {
        let at = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        solved(&at.to_string())
    });
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_MODEL_HIGH", "stub-high")
        .env("THINKD_TEST_MISSION__DEPTH", 1)
        .start()
        .await;
    let mission = begin(&app, "one number", json!({})).await;
    ended(&app, &mission).await;
    (app, stub, mission)
}

// A planner may choose it for a task that it considers; where tries never agree, the high tier is held to the same check.
on_sqlite!(
    d1_57_what_no_two_tries_agree_on_the_high_tier_has_to_say_twice,
    |medium| {
        let (mut app, stub, mission) = disagreeing(medium, ["113", " 113"]).await;
        let tries = stub.all(node("solve"));
        assert_eq!(tries.len(), 14, "twelve, and two of the high tier");
        let routes: Vec<Value> = tries.iter().map(|it| told(it, "Route: ")).collect();
        let ways: Vec<&Value> = routes.iter().take(3).map(|it| &it["name"]).collect();
        assert_eq!(ways, ["this way", "that way", "this way"]);
        let attempts: Vec<&Value> = routes.iter().map(|it| &it["attempt"]).collect();
        assert_eq!(attempts, Vec::from_iter(1..=14), "no two in the same words");
        for high in &tries[12..] {
            assert_eq!(high.model(), "stub-high");
            assert_eq!(told(high, "Earlier tries: "), json!([]), "it is told none");
        }
        assert_eq!(stub.count(node("judge")), 0);
        let task = list(&app, &mission).await[0].clone();
        assert_eq!(
            (&task["status"], &task["answer"]),
            (&json!("closed"), &json!("113"))
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    what_the_high_tier_says_as_a_try_before_did_passes_at_once,
    |medium| {
        let (mut app, stub, mission) = disagreeing(medium, ["105", "105"]).await;
        assert_eq!(stub.count(node("solve")), 13, "the first agrees already");
        assert_eq!(list(&app, &mission).await[0]["answer"], "105");
        rows_are_what_the_log_says(&mut app).await;
    }
);

#[tokio::test]
async fn what_the_high_tier_says_once_passes_by_no_rubric() {
    let (app, stub, mission) = disagreeing(Medium::sqlite(), ["113", "114"]).await;
    assert_eq!(stub.count(node("judge")), 0, "nobody judges it");
    let task = list(&app, &mission).await[0].clone();
    assert_eq!(
        (&task["status"], &task["answer"]),
        (
            &json!("failed_with_current_available_instruments"),
            &Value::Null
        )
    );
    assert_eq!(
        task["reason"],
        "no answer passed its check by 14 tries: no other try came to it"
    );
    let log = app.log().await;
    let verdicts = with(&log, &["task", "judged"]);
    assert!(
        verdicts
            .iter()
            .all(|it| it["payload"]["by"] == "agreement" && it["payload"]["passes"] == false),
        "{verdicts:#?}"
    );
}

// An answer made with a framework is a try like others: another one has to come to it.
#[tokio::test]
async fn the_answer_of_a_framework_is_held_to_agreement_as_well() {
    for (made, tries, answer) in [("did whole", 1, "did whole"), ("7 owls", 3, "did whole")] {
        let stub = Stub::start().await;
        stub.on(node("decompose"), exact(&["whole"]));
        let apply = json!({ "thought": "so", "framework": null, "input": null, "answer": made });
        stub.on(node("apply"), call("apply", apply));
        otherwise(&stub);
        let app = App::start(Medium::sqlite(), &stub).await;
        let new = json!({ "name": "whole", "purpose": "whole do whole", "knowledge": ["Count."] });
        let id = app.post("/frameworks", new).await.expect(201)["id"].clone();
        let id = id.as_str().unwrap();
        super::frameworks::failed_without(&app, id).await;
        let mission = begin(&app, "one number", json!({})).await;
        ended(&app, &mission).await;
        assert_eq!(stub.count(node("apply")), 1);
        assert_eq!(
            (stub.count(node("solve")), stub.count(node("judge"))),
            (tries, 0)
        );
        assert_eq!(list(&app, &mission).await[0]["answer"], answer);
        let tally = &super::frameworks::framework(&app, id).await["tally"]["with"];
        let worked = u64::from(made == answer);
        assert_eq!(*tally, json!({ "tried": 1, "worked": worked }));
    }
}

// The bench in small: where a whole attempt succeeds in less than one of a thousand, with 4n + 2 calls.
#[tokio::test]
async fn a_planted_mission_is_done_that_no_whole_attempt_does() {
    let stub = Stub::start().await;
    stub.on_each(of_missions, |request| {
        let (tool, arguments) = Planted::said(&request.module, &request.last()).unwrap();
        call(tool, arguments)
    });
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TEST_MISSION__DEPTH", 1)
        .start()
        .await;
    let planted = |world| Planted {
        steps: 20,
        chance: 0.7,
        judge_error: 0.2,
        repeat: 0.0,
        world,
        run: 1,
    };
    assert!(planted(1).whole() < 0.001);
    let mut done = 0;
    for planted in (1..=4).map(planted) {
        let budget = json!({ "budget": { "model_calls": planted.calls() } });
        let mission = begin(&app, &planted.to_string(), budget).await;
        ended(&app, &mission).await;
        done += usize::from(planted.answers(&replies(&app, &mission).await[0]));
    }
    assert!(done >= 3, "{done} of 4");
    assert_eq!(stub.count(node("judge")), 0);
    let rate = |way: fn(&Planted) -> bool| (1..=200).filter(|world| way(&planted(*world))).count();
    let others = [
        Planted::direct,
        Planted::best_of_n,
        Planted::majority,
        Planted::split_at_once,
    ]
    .map(rate);
    assert!(others.iter().all(|rate| *rate <= 20), "of 200: {others:?}");
}
