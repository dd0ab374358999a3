//! Prompts of missions fit the window that conversations have (`history.bytes`), and name the parts
//! left out.

use serde_json::{Value, json};

use super::*;
use kit::views::{all_exact, too_long};

const BYTES: usize = 32_768;
/// The number of tasks: their answers are longer than five prompts.
const PARTS: i64 = 10;

/// A program that prints 20,000 characters, of which 16,000 are kept.
fn long(request: &Request) -> Answer {
    let name = task_of(request)["name"].as_str().unwrap_or("?").to_owned();
    let program = format!("'<{name}>' + '1 häh\\n'.repeat(3400)");
    call(
        "solve",
        json!({ "thought": "it is long", "answer": null, "program": program }),
    )
}

/// Tasks with such answers, and one that needs all of them.
fn many(stub: &Stub) {
    let names: Vec<String> = (1..=PARTS).map(|at| format!("part {at}")).collect();
    let all: Vec<i64> = (1..=PARTS).collect();
    let mut list: Vec<(&str, &[i64])> = names.iter().map(|it| (it.as_str(), &[][..])).collect();
    list.push(("join", &all));
    stub.on(node("decompose"), tasks(&list));
    stub.on_each(
        |request| node("solve")(request) && task_of(request)["name"] != "join",
        long,
    );
    stub.on(about("solve", "join"), solved("joined"));
    stub.on_each(node("answer"), |request| {
        let tasks = told(request, "Tasks: ");
        let of = |task: &Value| task["id"].as_str().unwrap_or("?").to_owned();
        let ids: Vec<String> = tasks.as_array().unwrap().iter().map(of).collect();
        answered(&format!("[{}]", ids.join(" ")))
    });
}

fn size(request: &Request) -> usize {
    request.text().len()
}

async fn of_bytes(stub: &Stub, bytes: usize) -> App {
    Setup::new(Medium::sqlite(), stub)
        .env("THINKD_HISTORY__BYTES", bytes)
        .env("THINKD_TOOLS__CODE__ENABLED", true)
        .start()
        .await
}

#[tokio::test]
async fn no_prompt_of_a_mission_is_larger_than_a_view_may_be() {
    let stub = Stub::start().await;
    many(&stub);
    otherwise(&stub);
    let app = of_bytes(&stub, BYTES).await;
    let mission = begin(&app, "many things", json!({})).await;
    let thread = ended(&app, &mission).await;
    assert_eq!(
        (&thread["status"], &thread["outcome"]),
        (&json!("done"), &json!("complete"))
    );
    for request in stub.all(of_missions) {
        let size = size(&request);
        assert!(size <= BYTES, "{}: {size} bytes", request.module);
    }
    let join = stub.request(about("solve", "join")).await;
    let before = task_of(&join)["before"].as_array().unwrap().clone();
    assert_eq!(before.len() as i64, PARTS, "each has its share");
    for (at, it) in (1..).zip(&before) {
        let answer = it["answer"].as_str().unwrap();
        assert!(
            answer.starts_with(&format!("<part {at}>1 häh")),
            "the beginning: {answer}"
        );
        assert!(
            answer.contains(" characters are left out here"),
            "it says so: {answer}"
        );
        assert!(answer.len() > 900, "and it is a share: {}", answer.len());
    }
    assert!(size(&join) > BYTES * 3 / 4, "no more is cut than has to be");
    // The final answer is made in parts that lose nothing: each task stands in one, whole.
    let asked = stub.all(node("answer"));
    assert!(asked.len() > 5 && asked.len() < 12, "{} parts", asked.len());
    let shown: String = asked.iter().map(|it| it.text()).collect();
    assert!(!shown.contains("characters are left out here"));
    let reply = replies(&app, &mission).await[0].clone();
    let ids: Vec<String> = (1..=PARTS + 1).map(|at| format!("t{at}")).collect();
    let of_reply: Vec<&str> = reply
        .split(|c: char| !c.is_alphanumeric())
        .filter(|it| !it.is_empty())
        .collect();
    assert_eq!(of_reply, ids, "{reply}");
    assert!(reply.len() < 64_000);
    all_exact(&app).await;
}

// With few calls left the parts are as many as there are calls, and say what they leave out.
#[tokio::test]
async fn the_answer_takes_no_more_parts_than_there_are_calls_for() {
    let stub = Stub::start().await;
    many(&stub);
    otherwise(&stub);
    let app = of_bytes(&stub, BYTES).await;
    // A plan, three for each task, and two for the answer.
    let budget = json!({ "budget": { "model_calls": 1 + (PARTS + 1) * 3 + 2 } });
    let mission = begin(&app, "many things", budget).await;
    let thread = ended(&app, &mission).await;
    assert_eq!(thread["outcome"], "complete", "{thread}");
    let asked = stub.all(node("answer"));
    assert_eq!(asked.len(), 2);
    for request in &asked {
        assert!(size(request) <= BYTES, "{}", size(request));
        assert!(request.says("characters are left out here"));
    }
}

// A model with a smaller window than is configured: what it refuses is asked in half, and later prompts are small at once.
#[tokio::test]
async fn what_a_model_refuses_for_its_length_is_asked_in_half() {
    const WINDOW: usize = 24_000;
    let stub = Stub::start().await;
    stub.on(|request| size(request) > WINDOW, too_long());
    many(&stub);
    otherwise(&stub);
    let app = of_bytes(&stub, BYTES).await;
    let mission = begin(&app, "many things", json!({})).await;
    let thread = ended(&app, &mission).await;
    assert_eq!(thread["outcome"], "complete", "{thread}");
    let large = stub.all(|request: &Request| of_missions(request) && size(request) > WINDOW);
    assert!(
        (1..=4).contains(&large.len()),
        "{} were refused",
        large.len()
    );
    all_exact(&app).await;
}

// Where no model says the answer, what the server lists is no longer than an answer may be.
#[tokio::test]
async fn a_list_of_what_there_is_is_bounded_and_has_all_tasks() {
    let stub = Stub::start().await;
    stub.on(node("answer"), text("I cannot."));
    many(&stub);
    otherwise(&stub);
    let app = of_bytes(&stub, BYTES).await;
    let mission = begin(&app, "many things", json!({})).await;
    ended(&app, &mission).await;
    let reply = replies(&app, &mission).await[0].clone();
    assert!(reply.chars().count() <= 64_000, "{}", reply.len());
    for at in 1..=PARTS {
        assert!(reply.contains(&format!("t{at} part {at}: <part {at}>")));
    }
    assert!(reply.contains("characters are left out here"));
}

// What came of earlier tries has its share, too, and the task itself is never cut for it.
#[tokio::test]
async fn tries_before_are_shortened_and_the_task_is_not() {
    let stub = Stub::start().await;
    let bytes = 16_384;
    let wanted = "w".repeat(3_000);
    let what = "d".repeat(3_000);
    let task = json!({ "name": "whole", "description": what, "requires": [], "value": null, "brought_by": [] });
    stub.on(
        node("decompose"),
        call("decompose", json!({ "tasks": [task] })),
    );
    stub.on(
        node("consider"),
        considered(&[("a", 0.9), ("b", 0.8), ("c", 0.7)]),
    );
    stub.on_each(node("solve"), long);
    stub.on(node("judge"), judged(false, "it is too long"));
    otherwise(&stub);
    let app = of_bytes(&stub, bytes).await;
    let mission = begin(&app, &wanted, json!({})).await;
    ended(&app, &mission).await;
    for request in stub.all(of_missions) {
        let size = size(&request);
        assert!(size <= bytes, "{}: {size}", request.module);
    }
    let third = stub.nth(2, node("solve")).await;
    assert_eq!(told(&third, "Mission: "), json!(wanted));
    assert_eq!(task_of(&third)["description"], json!(what));
    let tries = told(&third, "Earlier tries: ");
    for it in tries.as_array().unwrap() {
        let answer = it["answer"].as_str().unwrap();
        assert!(answer.contains("characters are left out here"), "{answer}");
        assert_eq!(it["why"], "it is too long");
    }
}
