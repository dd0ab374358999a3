//! Habits of models that were learned: a person sees them, and the next turn does not pay for them.

use serde_json::{Value, json};

use kit::*;

/// A model that refuses a member of the request.
fn refuses(stub: &Stub, member: &'static str) {
    let says = format!("Unsupported parameter: '{member}' is not supported with this model.");
    let body =
        json!({ "error": { "message": says, "type": "invalid_request_error", "param": member } });
    let refusal = raw(body.to_string()).with_status(400);
    stub.on(move |request| request.body.get(member).is_some(), refusal);
}

fn learned(models: &Value) -> String {
    models["items"][0]["learned"].to_string()
}

/// `GET /models` and the doctor show a habit with the provider's words; the second turn is one request.
#[tokio::test]
async fn a_refused_parameter_is_learned_and_shown() {
    let stub = Stub::start().await;
    refuses(&stub, "temperature");
    let setup = || {
        Setup::new(Medium::sqlite(), &stub)
            .env("THINKD_MODELS__LOW__PARAMETERS", "{ temperature = 0.2 }")
    };
    let app = setup().start().await;
    let before = app.get("/models").await.expect(200);
    assert_eq!(learned(&before), "[]", "{before}");
    app.tell("hello").await;
    let asked = stub.count(decision);
    assert_eq!(asked, 2, "refused once, then answered");
    app.tell("hello again").await;
    assert_eq!(
        stub.count(decision),
        asked + 1,
        "the second turn does not pay"
    );
    let after = app.get("/models").await.expect(200);
    let said = learned(&after);
    assert!(
        said.contains("refuses `temperature`") && said.contains("is not supported"),
        "{after}"
    );
    assert_eq!(
        after["items"][0]["askers"],
        json!(["low", "high"]),
        "{after}"
    );

    // The record of a call names the habit by which it was sent otherwise.
    let record = app
        .log()
        .await
        .into_iter()
        .rev()
        .find(|event| !event["payload"]["adjusted"].is_null());
    let record = record.expect("a record says how its request was adjusted");
    assert_eq!(
        record["payload"]["adjusted"],
        json!([{ "refuses": "temperature" }])
    );
    let id = record["event_id"].as_str().unwrap();
    let view = app.get(&format!("/prompt-views/{id}")).await.expect(200);
    assert_eq!(view["exact"], true, "{view}");
}
