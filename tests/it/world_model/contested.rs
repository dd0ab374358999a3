//! Statements that contradict each other: a word only where a status changes, however many there
//! are; the statements that contradict one are found when it is shown.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

/// A stub that takes "A is at B." for the edge that it says, one place at a time, and knows nothing against any.
async fn places() -> Stub {
    let stub = agreeable().await;
    stub.on_each(deriving, |request| {
        let text = request.text();
        let claim = text
            .split("Claim: \"")
            .nth(1)
            .and_then(|rest| rest.split('.').next())
            .unwrap_or_default()
            .to_owned();
        let (subject, place) = claim.split_once(" is at ").unwrap_or(("nobody", "nowhere"));
        derives(
            Some([subject, "is at", place]),
            &[&format!("{subject} is met at {place}")],
        )
    });
    stub
}

async fn retract(app: &App, id: &str) {
    app.post(
        &format!("/world-model/{id}/retract"),
        json!({ "reason": "a slip" }),
    )
    .await
    .expect(200);
}

async fn status(app: &App, id: &str) -> String {
    statement(app, id).await["status"]
        .as_str()
        .unwrap()
        .to_owned()
}

on_sqlite!(
    of_many_objects_of_a_relation_that_has_one_each_claim_is_a_few_events_and_few_are_shown,
    |medium| {
        const MANY: usize = 40;
        let stub = places().await;
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_MEMORY__CALLS_PER_HOUR", 100_000)
            .start()
            .await;
        let mut ids = Vec::new();
        for at in 0..MANY {
            ids.push(claim(&app, &format!("A is at {at:03}.")).await);
        }
        for id in &ids {
            app.until("a verdict", async || {
                statement(&app, id).await["status"] != "proposed"
            })
            .await;
        }
        assert_eq!(held(&app, "status=contested&limit=500").await.len(), MANY);
        let log = app.public_log().await;
        let words = with(&log, &["statement", "judged"]);
        // One each, and that the first is contested, too.
        assert_eq!(words.len(), MANY + 1);
        let longest = words
            .iter()
            .map(|word| word.to_string().len())
            .max()
            .unwrap();
        assert!(longest < 2000, "{longest} bytes");
        // A few of them are shown, and how many there are.
        let is_bounded = |item: &Value| {
            let against = item["contested_by"].as_array().unwrap();
            against.len() == 8
                && item["contested_by_count"] == MANY - 1
                && item.to_string().len() < 8000
        };
        let it = statement(&app, &ids[20]).await;
        assert!(is_bounded(&it), "{it}");
        let found = app
            .get("/recall?q=where+is+A+017&limit=5")
            .await
            .expect(200);
        let items = found["items"].as_array().unwrap();
        assert!(!items.is_empty() && items.iter().all(is_bounded), "{found}");
        let page = app
            .get("/world-model?status=contested&limit=3")
            .await
            .expect(200);
        assert!(
            page["items"].as_array().unwrap().iter().all(is_bounded),
            "{page}"
        );
        // One that goes is one event; and the last one is contested by nobody.
        let before = seq(app.public_log().await.last().unwrap());
        retract(&app, &ids[3]).await;
        let log = app.public_log().await;
        assert_eq!(
            log.iter()
                .filter(|event| seq(event) > before && has(event, "judged"))
                .count(),
            1
        );
        for id in ids
            .iter()
            .filter(|id| ![&ids[3], &ids[7], &ids[9]].contains(id))
        {
            retract(&app, id).await;
        }
        assert_eq!(
            (status(&app, &ids[7]).await, status(&app, &ids[9]).await),
            ("contested".into(), "contested".into())
        );
        retract(&app, &ids[7]).await;
        assert_eq!(status(&app, &ids[9]).await, "surviving");
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    what_is_tried_anew_is_contested_as_long_as_something_contradicts_it_and_no_longer,
    |medium| {
        let stub = agreeable().await;
        let edge = |place: &'static str, code: Option<&str>| {
            let mut of = derived(
                Some(["Vesna", "is at", place]),
                true,
                &[&format!("Vesna is met at {place}")],
            );
            of["predictions"][0]["code"] = json!(code);
            call("derive", of)
        };
        stub.on(
            deriving_from("Vesna is at B."),
            edge("B", Some("['perhaps'].at(0)")),
        );
        stub.on(deriving_from("Vesna is at C."), edge("C", None));
        let setup = Setup::new(medium, &stub).env("THINKD_TOOLS__CODE__ENABLED", false);
        let mut app = setup.env("THINKD_TEST_MEMORY__TRIES", 1).start().await;
        let one = tried(&app, "Vesna is at B.", "surviving").await;
        let two = tried(&app, "Vesna is at C.", "contested").await;
        app.set_env("THINKD_TOOLS__CODE__ENABLED", true);
        app.restart().await;
        // The first is tried by code, which says nothing.
        app.until("the trial by code", async || {
            let steps = steps(&story_of(&app, &one).await);
            steps.last().is_some_and(|last| last == "judged contested")
                && steps.contains(&"read none".to_owned())
        })
        .await;
        for (id, other) in [(&one, &two), (&two, &one)] {
            let it = statement(&app, id).await;
            assert_eq!(
                (&it["status"], &it["contested_by"]),
                (&json!("contested"), &json!([other])),
                "{it}"
            );
        }
        retract(&app, &one).await;
        assert_eq!(status(&app, &two).await, "surviving");
        let found = app.get("/recall?q=where+is+Vesna").await.expect(200);
        assert_eq!(found["items"][0]["contested_by"], json!([]), "{found}");
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(what_loses_its_ground_contests_nothing_any_more, |medium| {
    let stub = places().await;
    let mut app = App::start(medium, &stub).await;
    let ground = tried(&app, "X is at Y.", "surviving").await;
    let one = tried(&app, "A is at B.", "surviving").await;
    let body = json!({ "statement": "A is at C.", "derived_from": [ground] });
    let two = app.post("/world-model", body).await.expect(202)["id"]
        .as_str()
        .unwrap()
        .to_owned();
    judged(&app, &two, 0, "contested").await;
    retract(&app, &ground).await;
    assert_eq!(
        (status(&app, &one).await, status(&app, &two).await),
        ("surviving".into(), "untested".into())
    );
    rows_are_what_the_log_says(&mut app).await;
});

on_sqlite!(
    of_two_that_are_withdrawn_at_once_each_leaves_the_third_to_nobody,
    |medium| {
        let stub = places().await;
        let app = Setup::new(medium, &stub)
            .env("THINKD_MEMORY__CALLS_PER_HOUR", 100_000)
            .start()
            .await;
        for round in 0..8 {
            let first = tried(&app, &format!("{round} is at B."), "surviving").await;
            let second = tried(&app, &format!("{round} is at C."), "contested").await;
            let third = tried(&app, &format!("{round} is at D."), "contested").await;
            // Over a connection of its own: one that has lain idle may be closed.
            let body = json!({ "reason": "a slip" });
            let other = http::client()
                .post(app.url(&format!("/world-model/{second}/retract")))
                .json(&body)
                .send();
            let (_, other) = tokio::join!(retract(&app, &first), other);
            assert_eq!(other.unwrap().status(), 200);
            assert_eq!(status(&app, &third).await, "surviving", "round {round}");
        }
    }
);
