//! The examples of docs/missions.md, offline: recorded model answers, real programs in the sandbox, a real search over documents.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::path::Path;

use serde_json::json;

use super::*;

#[path = "../../../examples/recorded.rs"]
#[allow(dead_code, reason = "its `main` is not called here")]
mod recorded;

/// Returns a server with the model and the knowledge base of an example, and the words of its
/// mission.
async fn example(medium: Medium, name: &str) -> (App, String) {
    let folder = Path::new(kit::ROOT).join("examples/missions").join(name);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = recorded::app(&folder);
    tokio::spawn(async move { axum::serve(listener, served).await.unwrap() });
    let setup = Setup::offline(medium)
        .env("THINKD_MODEL", "recorded")
        .env("OPENAI_BASE_URL", format!("http://{address}/v1"))
        .env("OPENAI_API_KEY", "none")
        .env(
            "THINKD_MEMORY__KNOWLEDGE__URL",
            format!("http://{address}/search"),
        )
        .env("THINKD_TOOLS__CODE__ENABLED", true);
    let mission = std::fs::read_to_string(folder.join("mission.txt")).unwrap();
    (setup.start().await, mission.trim().to_owned())
}

async fn said_of(app: &App, mission: &str, tags: &[&str]) -> Vec<Value> {
    let events = app
        .pages(&format!("/events?order=asc&thread={mission}&subtree=true&"))
        .await;
    with(&events, tags).into_iter().cloned().collect()
}

// By hand two talks touch; the program that is made of it finds the order that ends first, and the check is a program, too.
on_sqlite!(the_scheduling_puzzle_is_solved_by_a_framework, |medium| {
    let (app, words) = example(medium, "scheduling").await;
    let mission = begin(&app, &words, json!({ "value": "high" })).await;
    let thread = ended(&app, &mission).await;
    assert_eq!(thread["status"], "done");
    let answer = list(&app, &mission).await[0]["answer"]
        .as_str()
        .unwrap()
        .to_owned();
    let order = [
        "09:00-09:30 mice",
        "09:40-10:40 owls",
        "10:50-12:20 foxes",
        "12:30-13:00 frogs",
        "13:10-13:55 bats",
        "14:05-15:05 bees",
    ];
    assert_eq!(answer.lines().collect::<Vec<_>>(), order);
    let judged = said_of(&app, &mission, &["task", "judged"]).await;
    let judged: Vec<(&str, bool)> = judged
        .iter()
        .map(|it| {
            (
                it["payload"]["by"].as_str().unwrap(),
                it["payload"]["passes"] == true,
            )
        })
        .collect();
    assert_eq!(
        judged,
        [("program", false), ("program", false), ("program", true)]
    );
    let tuned = &said_of(&app, &mission, &["task", "tuned"]).await[0]["payload"];
    let runs: Vec<(&Value, &Value)> = tuned["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["passes"], &it["score"]))
        .collect();
    assert_eq!(
        runs,
        [
            (&json!(true), &json!(-930.0)),
            (&json!(true), &json!(-905.0)),
            (&json!(null), &json!(null))
        ]
    );
    assert_eq!(tuned["best"], 1);
    let framework = &app.get("/frameworks").await.expect(200)["items"][0];
    assert!(
        framework["recipe"]["guideline"]
            .as_str()
            .unwrap()
            .starts_with("Steps of 5 minutes"),
        "{framework}"
    );
    assert!(replies(&app, &mission).await[0].contains("ends at 15:05"));
});

// What the model only remembers does not stand in the documents; what it looks up does.
on_sqlite!(the_research_mission_answers_from_its_documents, |medium| {
    let (app, words) = example(medium, "research").await;
    let mission = begin(&app, &words, json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let tasks = list(&app, &mission).await;
    let answers: Vec<&str> = tasks
        .iter()
        .map(|it| it["answer"].as_str().unwrap())
        .collect();
    assert_eq!(
        answers,
        ["3 October 1891", "Ingrid Falk", "Saturdays and Sundays"]
    );
    let judged = said_of(&app, &mission, &["task", "judged"]).await;
    assert!(
        judged.iter().all(|it| it["payload"]["by"] == "knowledge"),
        "{judged:#?}"
    );
    let wrong: Vec<&Value> = judged
        .iter()
        .filter(|it| it["payload"]["passes"] == false)
        .collect();
    assert_eq!(wrong.len(), 1, "what it remembered: {wrong:?}");
    assert!(
        judged
            .iter()
            .any(|it| said(it).contains("documents/lens.md")),
        "{judged:#?}"
    );
    assert!(replies(&app, &mission).await[0].contains("3 October 1891"));
});
