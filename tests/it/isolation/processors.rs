//! Processors are shared: the work of one space does not stand before the work of another one.

use super::*;

/// Returns true if work of a space has waited for a processor, by the metrics that the operator
/// sees.
async fn waited(app: &App) -> bool {
    app.request("GET", "/metrics")
        .bearer_auth("the-key-of-c-0123456789")
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap()
        .contains(r#"thinkd_limit_total{limit="processors"}"#)
}

/// A has threads that are answered at once, twenty in a round; returns true once some of that had to
/// wait for a processor. On a busy machine two are seldom at work at the same moment.
async fn crowd(medium: Medium, share: f64, rounds: usize) -> bool {
    let stub = Stub::start().await;
    let app = tenants(medium, &stub)
        .env("THINKD_TEST_LIMITS__SPACE_SHARE", share)
        .start_bare()
        .await;
    let a = a(&app);
    for round in 0..rounds {
        let threads =
            (0..20).map(|n| async move { a.say(&format!("thread-{round}-{n}"), "hello").await });
        futures_util::future::join_all(threads).await;
        stub.some(20 * (round + 1), any).await;
        if waited(&app).await {
            break;
        }
    }
    assert_eq!(b(&app).chat("are you there?").await, "ok: are you there?");
    waited(&app).await
}

on_both!(
    turns_and_requests_of_a_space_take_turns_at_the_processors,
    |medium| {
        assert!(crowd(medium, 0.5, 100).await);
    }
);

/// Control: where a space may have everything, nothing of it waits.
#[tokio::test]
async fn without_a_share_nothing_waits_for_a_processor() {
    assert!(!crowd(Medium::sqlite(), 1.0, 10).await);
}
