//! Trials that are cut off by `kill -9`: recorded steps are not done again, and every claim comes
//! to its end.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

on_sqlite!(
    a_trial_that_was_killed_goes_on_and_repeats_nothing_that_is_recorded,
    |medium| {
        let stub = Stub::start().await;
        stub.on(deriving, derives(None, &["one", "two", "three"]));
        stub.script(reflecting_on("two"), [text("never").never()]);
        stub.on(reflecting, holds());
        let mut app = App::start(medium, &stub).await;
        let id = claim(&app, "It is so.").await;
        stub.request(reflecting_on("two")).await;
        app.restart().await;
        judged(&app, &id, 0, "surviving").await;
        assert_eq!(
            steps(&story_of(&app, &id).await),
            [
                "claimed",
                "derived",
                "read yes",
                "read yes",
                "read yes",
                "judged surviving"
            ]
        );
        let asked = ["one", "two", "three"].map(|text| stub.count(reflecting_on(text)));
        assert_eq!(
            (stub.count(deriving), asked),
            (1, [1, 2, 1]),
            "only what was cut off is asked again"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(ten_kills_lose_no_claim_and_judge_each_once, |medium| {
    let stub = Stub::start().await;
    stub.on_each(deriving, |request| {
        derives(None, &["one", "two"]).after(ms(request.index as u64 % 11))
    });
    stub.on_each(reflecting, |request| {
        holds().after(ms(request.index as u64 % 7))
    });
    let mut app = App::start(medium, &stub).await;
    let mut ids = Vec::new();
    for kill in 0..10u64 {
        // Whichever comes to its second reading first never gets it: each kill falls into the middle of a trial.
        let before = stub.count(reflecting_on("two"));
        stub.script(reflecting_on("two"), [text("never").never()]);
        for at in 0..3 {
            ids.push(claim(&app, &format!("Claim {kill}/{at}.")).await);
        }
        stub.nth(before, reflecting_on("two")).await;
        faults::sometime(ms(kill * 23 % 71)).await;
        app.restart().await;
    }
    for id in &ids {
        judged(&app, id, 0, "surviving").await;
        let expected = [
            "claimed",
            "derived",
            "read yes",
            "read yes",
            "judged surviving",
        ];
        assert_eq!(
            steps(&story_of(&app, id).await),
            expected,
            "each step is recorded once"
        );
    }
    // Every call that is recorded was made for one step: none is recorded twice.
    let log = app.log().await;
    let mut records: BTreeMap<String, usize> = BTreeMap::new();
    for record in with(&log, &["debug", "call:trial"]) {
        *records
            .entry(record["payload"]["statement"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    assert!(
        ids.iter().all(|id| records.get(id) == Some(&3)),
        "{records:?}"
    );
    envelope::check_log(&log);
    rows_are_what_the_log_says(&mut app).await;
});

#[tokio::test]
async fn of_two_servers_one_tries_and_when_it_dies_the_other_goes_on() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    stub.on(deriving, derives(None, &["one", "two"]));
    stub.script(reflecting_on("two"), [text("never").never()]);
    stub.on(reflecting, holds());
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TEST_RUNTIME__LEASE_MS", 600)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 200)
        .start()
        .await;
    let other = app.beside().await;
    let id = claim(&app, "It is so.").await;
    stub.request(reflecting_on("two")).await;
    app.kill();
    judged(&other, &id, 0, "surviving").await;
    assert_eq!(
        (stub.count(deriving), stub.count(reflecting_on("one"))),
        (1, 1)
    );
    let verdict = json!([
        "claimed",
        "derived",
        "read yes",
        "read yes",
        "judged surviving"
    ]);
    assert_eq!(json!(steps(&story_of(&other, &id).await)), verdict);
}
