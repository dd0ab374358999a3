//! Estimates of routes are learned from the outcomes of earlier ones, and are shown with their past
//! accuracy.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

/// Returns the expected outcomes of the tries of a mission, from its verdicts.
async fn expected(app: &App, mission: &str) -> Vec<Value> {
    let events = app
        .pages(&format!(
            "/events?order=asc&thread={mission}&subtree=true&tags=task&"
        ))
        .await;
    with(&events, &["task", "judged"])
        .iter()
        .map(|it| it["payload"]["expected"].clone())
        .collect()
}

// D1.53: what came of tries with a framework is learned by itself.
on_sqlite!(d1_53_estimates_are_learned_by_framework, |medium| {
    let stub = Stub::start().await;
    stub.on(
        node("decompose"),
        tasks(&[("ordering the talks so that none clash", &[])]),
    );
    stub.on(
        node("apply"),
        call(
            "apply",
            json!({ "thought": "", "framework": null, "input": null, "answer": "by length" }),
        ),
    );
    stub.on_each(node("judge"), |request| {
        judged(!request.says("by length"), "they clash")
    });
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let new = json!({ "name": "order", "purpose": "ordering talks so that none of them clash", "knowledge": ["By length."] });
    let id = app.post("/frameworks", new).await.expect(201)["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let kind = format!("framework {id}");
    let failed = json!({ "with": false, "worked": false, "task": "the talks of yesterday" });
    for learned in [0.9, 0.9 * 10.0 / 11.0] {
        // Whatever came of it, the next one is done with it.
        for _ in 0..3 {
            app.post(&format!("/frameworks/{id}/outcomes"), failed.clone())
                .await
                .expect(200);
        }
        let mission = begin(&app, "Plan a day of talks.", json!({})).await;
        ended(&app, &mission).await;
        let [with, without] = &expected(&app, &mission).await[..] else {
            panic!("two tries")
        };
        assert_eq!((&with["kind"], &with["said"]), (&json!(kind), &json!(0.9)));
        assert!(
            (with["learned"].as_f64().unwrap() - learned).abs() < 1e-9,
            "{with}, not {learned}"
        );
        assert_eq!(without["kind"], "whole");
        let memory = app
            .get(&format!("/threads/{mission}/memory"))
            .await
            .expect(200);
        let of = |kind: &str| {
            memory["estimates"]
                .as_array()
                .unwrap()
                .iter()
                .find(|it| it["kind"] == kind)
                .unwrap()
                .clone()
        };
        assert_eq!(
            (&of(&kind)["worked"], &of("whole")["worked"]),
            (&json!(0), &of("whole")["tried"])
        );
        assert!(of(&kind)["brier_said"].as_f64().unwrap() > 0.8, "{memory}");
    }
});

// D1.53, D1.54: what models always say works, and never does, is tried after what works.
on_sqlite!(
    d1_54_estimates_are_learned_from_what_came_of_earlier_routes,
    |medium| {
        let stub = Stub::start().await;
        let names: Vec<String> = (0..12).map(|n| format!("old {n}")).collect();
        let old: Vec<(&str, &[i64])> = names
            .iter()
            .map(|name| (name.as_str(), &[] as &[i64]))
            .collect();
        stub.on(
            about("decompose", "new"),
            tasks(&[("left", &[]), ("right", &[])]),
        );
        stub.on(
            |request: &Request| {
                node("decompose")(request) && request.last().contains("Task to be split")
            },
            tasks(&[]),
        );
        stub.on(
            |request: &Request| {
                node("decompose")(request) && request.last().contains("twelve old things")
            },
            tasks(&old),
        );
        stub.on(node("decompose"), tasks(&[("new", &[])]));
        stub.on(
            |request: &Request| {
                node("judge")(request)
                    && task_of(request)["name"]
                        .as_str()
                        .unwrap()
                        .starts_with("old")
            },
            judged(false, "it is wrong"),
        );
        let mut split = ways(&[("straight", 0.9)]);
        (split["split"], split["split_estimate"]) = (json!(true), json!(0.6));
        stub.on(about("consider", "new"), call("consider", split));
        otherwise(&stub);
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_MISSION__WIDTH", 1)
            .start()
            .await;
        let first = begin(&app, "twelve old things", json!({ "value": "low" })).await;
        ended(&app, &first).await;
        let memory = app
            .get(&format!("/threads/{first}/memory"))
            .await
            .expect(200);
        let whole = &memory["estimates"][0];
        assert_eq!(
            (&whole["kind"], &whole["tried"], &whole["worked"]),
            (&json!("whole"), &json!(12), &json!(0)),
            "{memory}"
        );
        let score = |name: &str| whole[name].as_f64().unwrap();
        assert!(
            (score("brier_said") - 0.81).abs() < 1e-9 && score("brier") < 0.5,
            "{whole}"
        );
        // Also by a server that was not there when it was learned.
        assert!(app.stop().await.success());
        app.start_again().await;
        let second = begin(&app, "a new thing", json!({ "value": "low" })).await;
        ended(&app, &second).await;
        let tasks = list(&app, &second).await;
        let routes = named(&tasks, "new")["routes"].as_array().unwrap().clone();
        let chance = |at: usize| {
            (
                routes[at]["estimate"].as_f64(),
                routes[at]["learned"].as_f64(),
            )
        };
        assert_eq!(
            (chance(0), chance(1)),
            ((Some(0.9), Some(9.0 / 22.0)), (Some(0.6), None))
        );
        let of_new = |request: &&std::sync::Arc<Request>| task_of(request)["name"] == "new";
        let tried: Vec<Value> = stub
            .all(node("solve"))
            .iter()
            .filter(of_new)
            .map(|it| told(it, "Route: ")["name"].clone())
            .collect();
        assert_eq!(tried, ["split"], "0.6 is more than 9/22");
        let memory = app
            .get(&format!("/threads/{second}/memory"))
            .await
            .expect(200);
        let kinds: Vec<&Value> = memory["estimates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["kind"])
            .collect();
        assert_eq!(kinds, ["split", "whole"]);
        rows_are_what_the_log_says(&mut app).await;
    }
);
