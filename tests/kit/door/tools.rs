//! A decision that calls tools of its client.

use serde_json::json;

use crate::*;

/// The results that the view shows behind its last message.
pub fn results(request: &Request) -> Vec<String> {
    let entries = request.entries();
    let user = entries.iter().rposition(|it| it.who.starts_with("user"));
    let behind = entries[user.unwrap_or(0)..].iter();
    let results = behind.filter(|it| it.who.starts_with("result "));
    results.map(|it| it.text.clone()).collect()
}

/// A decision that calls tools of its client, and tells their results.
pub fn act(request: &Request) -> Answer {
    let results = results(request);
    let bern = json!({ "city": "Bern" });
    let rome = json!({ "city": "Rome" });
    match request.last_user().as_str() {
        _ if !results.is_empty() => reply(&format!("got: {}", results.join(" | "))),
        "weather" => call("weather", bern),
        "both" => call("weather", bern).and("weather", rome),
        "look" => reply("Let me look.").and("weather", bern),
        "time" => call("time", bern),
        "clash" => call("client__reply", bern),
        "broken" => call_raw("weather", "Bern, please"),
        other => reply(&format!("ok: {other}")),
    }
}

pub async fn setup(medium: Medium) -> (Stub, Setup) {
    let stub = Stub::start().await;
    stub.on_each(decision, act);
    let setup = Setup::new(medium, &stub).voices(&[]);
    (stub, setup)
}
