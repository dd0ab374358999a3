//! The dashboard for Grafana: it shows metrics that a server has.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use kit::imports::sources;
use kit::*;

/// Metrics that this test does not bring about: of trouble, and of recall.
const OTHERS: [&str; 9] = [
    "thinkd_feed_behind_events",
    "thinkd_jwks_stale",
    "thinkd_keys_stale",
    "thinkd_log_faults",
    "thinkd_mcp_lost_total",
    "thinkd_model_busy_total",
    "thinkd_places_awaited",
    "thinkd_recall_bytes",
    "thinkd_spaces_unserved",
];

/// Returns names of metrics in a text, without the suffixes that Prometheus adds to histograms.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_of_name(c))
        .filter(|word| word.starts_with("thinkd_") && *word != "thinkd_")
        .map(|word| {
            ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| word.strip_suffix(end))
                .unwrap_or(word)
                .to_owned()
        })
        .collect()
}

/// All queries of a dashboard.
fn queries(of: &Value) -> Vec<&str> {
    match of {
        Value::Object(members) => {
            let own = ["expr", "definition"]
                .iter()
                .filter_map(|it| members.get(*it)?.as_str());
            own.chain(members.values().flat_map(queries)).collect()
        }
        Value::Array(items) => items.iter().flat_map(queries).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn the_dashboard_shows_what_a_server_measures() {
    let file = Path::new(kit::ROOT).join("examples/grafana.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let shown = metrics(&queries(&dashboard).join(" "));
    assert!(shown.len() > 15, "{shown:?}");
    let stub = Stub::start().await;
    stub.script(decision, [status(500)]);
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&["critic"])
        .env("THINKD_TEST_LIMITS__BODY_BYTES", 10_000)
        .start()
        .await;
    app.tell("hello").await;
    let _socket = app.socket().await;
    app.get("/threads/nobody")
        .await
        .expect_problem(404, "not-found");
    let large = serde_json::json!({ "text": "x".repeat(20_000) });
    assert_eq!(app.post("/threads/main/messages", large).await.status, 413);
    let served = metrics(&app.get("/metrics").await.text);
    let written: String = sources().into_values().collect();
    for name in &shown {
        let is_known = OTHERS.contains(&name.as_str()) && written.contains(name.as_str());
        assert!(
            is_known || served.contains(name),
            "{name} is none of {served:?}"
        );
    }
    let ids: Vec<u64> = dashboard["panels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len());
}
