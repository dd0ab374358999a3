//! The memory that is kept for recall: spaces share it, unused parts go, and questions about
//! another time are counted, too.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

const KEYS: &str = "[[keys]]\nkey = \"the-key-of-the-admin\"\nrole = \"admin\"\n\
    [[keys]]\nkey = \"the-key-of-little\"\nspace = \"little\"\nrole = \"operator\"\n\
    [[keys]]\nkey = \"the-key-of-much\"\nspace = \"much\"\nrole = \"operator\"\n";

/// Recalls in a space, by words that statements in all of them have.
async fn recall(app: &mut App, space: &str, more: &str) -> Reply {
    app.authorize(&format!("Bearer the-key-of-{space}"));
    app.get(&format!("/recall?q=telescope+comet{more}")).await
}

/// A metric without labels; 0 where it was never set.
async fn metric(app: &mut App, name: &str) -> f64 {
    app.authorize("Bearer the-key-of-the-admin");
    let text = app.get("/metrics").await.text;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

/// A server with one statement in a space and many in another one, and how many bytes the first takes and both take.
async fn little_and_much(medium: Medium) -> (App, f64, f64) {
    let stub = agreeable().await;
    stub.on(deriving, derives(None, &["something follows"]));
    let mut app = Setup::new(medium, &stub)
        .file("thinkd.toml", KEYS)
        .start_bare()
        .await;
    app.authorize("Bearer the-key-of-much");
    for at in 0..8 {
        tried(
            &app,
            &format!("The telescope number {at} points at a comet."),
            "surviving",
        )
        .await;
    }
    app.authorize("Bearer the-key-of-little");
    tried(&app, "The telescope points at a comet.", "surviving").await;
    recall(&mut app, "little", "").await.expect(200);
    let little = metric(&mut app, "thinkd_recall_bytes").await;
    recall(&mut app, "much", "").await.expect(200);
    let both = metric(&mut app, "thinkd_recall_bytes").await;
    (app, little, both)
}

on_sqlite!(
    a_space_with_much_takes_no_memory_from_one_with_little_and_has_it_when_that_sleeps,
    |medium| {
        let (mut app, little, both) = little_and_much(medium).await;
        assert!(little > 500.0 && both > 3.0 * little, "{little} of {both}");
        // Each has room alone, and both together have not.
        app.set_env("THINKD_MEMORY__RECALL_BYTES", both as u64 - 10);
        app.restart().await;
        recall(&mut app, "little", "").await.expect(200);
        let problem = recall(&mut app, "much", "")
            .await
            .expect_problem(422, "unprocessable");
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("memory.recall_bytes"),
            "{problem}"
        );
        let loads = metric(&mut app, "thinkd_recall_loads_total").await;
        for _ in 0..3 {
            assert_eq!(
                recall(&mut app, "little", "").await.expect(200)["items"]
                    .as_array()
                    .unwrap()
                    .len(),
                1
            );
            recall(&mut app, "much", "")
                .await
                .expect_problem(422, "unprocessable");
        }
        assert_eq!(
            metric(&mut app, "thinkd_recall_loads_total").await,
            loads,
            "nothing was read again"
        );
        assert_eq!(metric(&mut app, "thinkd_recall_bytes").await, little);
        // What nobody uses goes: there is room for the other one, and in the end nothing is there.
        app.set_env("THINKD_TEST_MEMORY__RECALL_IDLE_MS", 400);
        app.restart().await;
        recall(&mut app, "little", "").await.expect(200);
        polled("room", async || {
            recall(&mut app, "much", "").await.status == 200
        })
        .await;
        assert!(metric(&mut app, "thinkd_recall_bytes").await > 0.0);
        polled("sleep", async || {
            metric(&mut app, "thinkd_recall_bytes").await <= 0.0
        })
        .await;
        recall(&mut app, "little", "").await.expect(200);
    }
);

on_sqlite!(
    a_question_about_another_time_has_no_more_memory_than_one_about_now,
    |medium| {
        let (mut app, little, both) = little_and_much(medium).await;
        assert_eq!(
            recall(&mut app, "much", "&as_of=1000000&limit=50")
                .await
                .expect(200)["items"]
                .as_array()
                .unwrap()
                .len(),
            8
        );
        assert_eq!(
            metric(&mut app, "thinkd_recall_bytes").await,
            both,
            "it is given back"
        );
        app.set_env("THINKD_MEMORY__RECALL_BYTES", (both - little) as u64 / 2);
        app.restart().await;
        for time in ["&as_of=1000000", "&at=2020-01-01T00:00:00Z"] {
            let problem = recall(&mut app, "much", time)
                .await
                .expect_problem(422, "unprocessable");
            assert!(
                problem["detail"]
                    .as_str()
                    .unwrap()
                    .contains("memory.recall_bytes"),
                "{problem}"
            );
            recall(&mut app, "little", time).await.expect(200);
        }
        assert_eq!(metric(&mut app, "thinkd_recall_bytes").await, 0.0);
    }
);
