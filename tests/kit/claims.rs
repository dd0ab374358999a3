//! Claims and their trials: a model's answers, requests of trials, waiting for verdicts.

use serde_json::{Value, json};

use crate::{Answer, App, Request, Stub, call, tags, with};

/// Requests of trials.
pub fn trial(request: &Request) -> bool {
    request.module == "trial"
}

/// Requests that derive predictions.
pub fn deriving(request: &Request) -> bool {
    trial(request) && request.tools() == ["derive"]
}

/// Requests that look for a counterexample.
pub fn reflecting(request: &Request) -> bool {
    trial(request) && request.tools() == ["reflect"]
}

/// Requests that look for a counterexample to this.
pub fn reflecting_on(prediction: &str) -> impl Fn(&Request) -> bool + Send + use<> {
    let prediction = format!("Prediction: {}", json!(prediction));
    move |request| reflecting(request) && request.says(&prediction)
}

/// Requests that derive predictions of this.
pub fn deriving_from(statement: &str) -> impl Fn(&Request) -> bool + Send + use<> {
    let statement = format!("Claim: {}", json!(statement));
    move |request| deriving(request) && request.says(&statement)
}

pub fn prediction(text: &str) -> Value {
    json!({
        "text": text, "fails_if": format!("not so: {text}"), "search": null, "code": null, "question": null,
        "subject": null, "relation": null, "object": null,
    })
}

/// A derivation of these predictions, about an edge or none.
pub fn derived(triple: Option<[&str; 3]>, single: bool, predictions: &[&str]) -> Value {
    let name = |at: usize| triple.map(|triple| triple[at]);
    json!({
        "is_claim": true, "why": null, "subject": name(0), "relation": name(1), "object": name(2),
        "single_valued": single, "valid_from": null, "valid_to": null,
        "predictions": predictions.iter().map(|text| prediction(text)).collect::<Vec<_>>(),
    })
}

/// A derivation of one prediction, about no edge, that these can test: `code`, `search`, `question`.
pub fn testable(text: &str, by: &[(&str, &str)]) -> Answer {
    let mut all = derived(None, true, &[text]);
    by.iter()
        .for_each(|(member, what)| all["predictions"][0][*member] = json!(what));
    call("derive", all)
}

pub fn derives(triple: Option<[&str; 3]>, predictions: &[&str]) -> Answer {
    call("derive", derived(triple, true, predictions))
}

pub fn reflects(answer: &str, reason: &str) -> Answer {
    call(
        "reflect",
        json!({ "answer": answer, "reason": reason, "later_object": null, "later_from": null }),
    )
}

pub fn holds() -> Answer {
    reflects("holds", "it is well known")
}

/// A stub that knows nothing against anything.
pub async fn agreeable() -> Stub {
    let stub = Stub::start().await;
    stub.on(reflecting, holds());
    stub
}

/// Claims something; its id.
pub async fn claim(app: &App, statement: &str) -> String {
    let said = app
        .post("/world-model", json!({ "statement": statement }))
        .await
        .expect(202);
    assert_eq!(said["status"], "proposed", "it answers before any trial");
    said["id"].as_str().unwrap().to_owned()
}

pub async fn statement(app: &App, id: &str) -> Value {
    app.get(&format!("/world-model/{id}")).await.expect(200)
}

/// All events of a statement, in order.
pub async fn story_of(app: &App, id: &str) -> Vec<Value> {
    app.pages(&format!("/events?order=asc&tags=statement:{id}&"))
        .await
}

/// Waits for a word on a statement, the `nth` (from 0) with these tags.
pub async fn judged(app: &App, id: &str, nth: usize, word: &str) -> Value {
    let what = format!("{word} of {id}");
    app.until_some(&what, async || {
        with(&story_of(app, id).await, &["judged", word])
            .get(nth)
            .map(|it| (*it).clone())
    })
    .await
}

/// Claims something and waits for its trial.
pub async fn tried(app: &App, text: &str, word: &str) -> String {
    let id = claim(app, text).await;
    judged(app, &id, 0, word).await;
    id
}

/// The second tags of a statement's events, in order, with the last one where there is one.
pub fn steps(story: &[Value]) -> Vec<String> {
    story
        .iter()
        .map(|event| [&tags(event)[1..2], &tags(event)[3..]].concat().join(" "))
        .collect()
}

/// The texts of all statements that are asked for, page by page.
pub async fn held(app: &App, query: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = app
            .get(&format!("/world-model?{query}{cursor}"))
            .await
            .expect(200);
        texts.extend(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["text"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_str() else {
            return texts;
        };
        cursor = format!("&cursor={next}");
    }
}
