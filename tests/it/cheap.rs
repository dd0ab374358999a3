//! The cost of a conversation as it comes: calls and prompt tokens at default settings, as the offline model counts them.

use serde_json::{Value, json};

use kit::hello::SAID;
use kit::*;

/// The most that the first "hello" may cost, and the sixteenth turn.
const CALLS_MAX: usize = 5;
const HELLO_TOKENS_MAX: u64 = 4_000;
const SIXTEENTH_TOKENS_MAX: u64 = 12_000;

/// Purposes and prompt tokens of a turn's calls.
fn calls(log: &[Value], turn: usize) -> Vec<(&str, u64)> {
    let call = |event: &'_ &Value| {
        let payload = &event["payload"];
        payload["turn"] == turn && payload["usage"].is_object()
    };
    let cost = |event: &'_ Value| event["payload"]["usage"]["input_tokens"].as_u64().unwrap();
    log.iter()
        .filter(call)
        .map(|event| (event["payload"]["purpose"].as_str().unwrap(), cost(event)))
        .collect()
}

fn tokens(calls: &[(&str, u64)]) -> u64 {
    calls.iter().map(|(_, tokens)| tokens).sum()
}

// What is sent does not depend on the database: one will do.
#[tokio::test]
async fn a_hello_takes_at_most_five_calls_and_4000_tokens() {
    let app = Setup::offline(Medium::sqlite())
        .env("THINKD_RUNTIME__DEFAULT_SUBMODULES", "")
        .start_bare()
        .await;
    for text in SAID {
        app.tell(text).await;
    }
    let log = app.log().await;
    let first = calls(&log, 1);
    let last = calls(&log, SAID.len());
    println!("the first turn: {first:?}; the sixteenth: {last:?}");
    assert!(
        first.iter().any(|(purpose, _)| *purpose == "turn"),
        "the control: voices comment: {first:?}"
    );
    assert!(first.len() <= CALLS_MAX && last.len() <= CALLS_MAX);
    assert!(tokens(&first) <= HELLO_TOKENS_MAX, "{first:?}");
    assert!(tokens(&last) <= SIXTEENTH_TOKENS_MAX, "{last:?}");
    // It is not paid for by what is shown: all that was said is there.
    let mut decisions = log
        .iter()
        .filter(|event| event["payload"]["purpose"] == "decide");
    let id = decisions.next_back().unwrap()["event_id"].as_str().unwrap();
    let view = app.get(&format!("/prompt-views/{id}")).await.expect(200);
    assert_eq!(view["exact"], true, "{view}");
    let shown = view["request"]["messages"].to_string();
    for text in SAID {
        assert!(shown.contains(text), "{text} is not in {shown}");
    }
}

// What a turn recalls by itself is paid for only where something is held, and no more than may be.
#[tokio::test]
async fn a_turn_that_recalls_costs_no_more_tokens_than_each_call_may_be_shown() {
    const SHOWN: u64 = 300;
    let mut costs = Vec::new();
    for (held, recalls) in [(true, SHOWN), (true, 0), (false, SHOWN), (false, 0)] {
        let app = Setup::offline(Medium::sqlite())
            .env("THINKD_RUNTIME__DEFAULT_SUBMODULES", "")
            .env("THINKD_MEMORY__RECALL_IN_TURNS", recalls)
            .start_bare()
            .await;
        if held {
            let word = json!({ "statement": "The user is allergic to peanuts." });
            app.post("/world-model", word).await.expect(202);
        }
        app.tell("Am I allergic to peanuts?").await;
        let log = app.log().await;
        let first = calls(&log, 1);
        costs.push((first.len() as u64, tokens(&first)));
    }
    let [on, off, bare, bare_off] = costs[..] else {
        unreachable!()
    };
    println!(
        "a turn that recalls one statement: {on:?} calls and tokens; with recall off {off:?}; where nothing is held {bare:?}"
    );
    assert!(on.1 > off.1 && on.1 <= off.1 + on.0 * SHOWN, "{costs:?}");
    assert_eq!(bare, bare_off, "where nothing is held nothing is shown");
}
