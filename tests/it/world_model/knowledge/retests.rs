//! Statements that are held are tested again while nothing else is due: by another instrument, the
//! most used first, within a budget of calls a day.

use thinkd_event::draft::Draft;
use thinkd_event::statement::Judged;
use thinkd_event::trial::News;
use thinkd_log::appended::Append;
use thinkd_words::id::Space;

use super::*;

const QUOTE: Option<&str> = Some("Every sum on this page is right");
const PAGE: &str = "Every sum on this page is right, and the number is two.";

/// Sums that code has tested, and that a search can say something of; nothing searches yet.
async fn summed(medium: Medium, count: usize) -> (App, Stub, Vec<String>) {
    let stub = agreeable().await;
    stub.on(
        |request| deriving(request) && request.says("Rest "),
        testable("it is", &[("code", "1 + 1 === 2")]),
    );
    stub.on(
        deriving,
        testable(
            "it can be worked out",
            &[("code", "1 + 1 === 2"), ("search", "sum")],
        ),
    );
    let app = Setup::new(medium, &stub)
        .env("THINKD_MEMORY__RECALL_IN_TURNS", 0)
        .env("THINKD_TOOLS__CONVERSATION", "reply,recall")
        .start()
        .await;
    let mut ids = Vec::new();
    for at in 0..count {
        ids.push(tried(&app, &format!("The sum number {at} is right."), "surviving").await);
    }
    (app, stub, ids)
}

/// Restarts the same server with a search and so many calls a day for statements that are tested
/// already.
async fn retesting(app: &mut App, library: &Library, calls: u64, after_ms: u64) {
    let knowledge = format!("[memory.knowledge]\nurl = \"{}?lang=en\"\n", library.0.url);
    std::fs::write(app.folder().join("thinkd.toml"), knowledge).unwrap();
    app.set_env("THINKD_MEMORY__RETEST_CALLS_PER_DAY", calls);
    app.set_env("THINKD_TEST_MEMORY__RETEST_AFTER_MS", after_ms);
    app.restart().await;
}

/// The statements of the words that had one tested again, in order.
async fn retests(app: &App) -> Vec<String> {
    let log = app.public_log().await;
    with(&log, &["judged", "retest"])
        .iter()
        .map(|it| it["payload"]["statement"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until nothing is due any more, for the first time after something that happens now.
async fn rested(app: &App, text: &str) {
    let before = with(&app.public_log().await, &["trials", "rested"]).len();
    tried(app, text, "surviving").await;
    app.until("rest", async || {
        with(&app.public_log().await, &["trials", "rested"]).len() != before
    })
    .await;
}

async fn tested_by(app: &App, id: &str) -> Value {
    statement(app, id).await["tested_by"].clone()
}

on_sqlite!(
    what_is_held_is_tested_again_within_a_days_calls_the_most_used_first,
    |medium| {
        let (mut app, stub, ids) = summed(medium, 5).await;
        stub.on(weighing, weighs("supports", QUOTE));
        let library = Library::of(&[("https://sums.example", PAGE)]).await;
        for _ in 0..9 {
            stub.script(
                decision,
                [
                    call("recall", json!({ "query": "the sum number 3", "limit": 1 })),
                    reply("Right."),
                ],
            );
            app.tell("is it right?").await;
        }
        // Off is what it is where nobody says otherwise.
        retesting(&mut app, &library, 0, 1).await;
        rested(&app, "Rest 5.").await;
        assert_eq!((retests(&app).await.len(), library.heard().len()), (0, 0));
        retesting(&mut app, &library, 3, 1).await;
        library.hears(3).await;
        rested(&app, "Rest 6.").await;
        let first = retests(&app).await;
        assert_eq!(first.len(), 3, "as many as a day has calls");
        assert_eq!(
            first[..2],
            [ids[3].clone(), ids[0].clone()],
            "the most used one, then the longest untested"
        );
        for id in &first {
            judged(&app, id, 2, "surviving").await;
            assert_eq!(
                tested_by(&app, id).await,
                json!(["knowledge"]),
                "by another instrument"
            );
        }
        let log = app.public_log().await;
        let why = said(with(&log, &["judged", "retest"])[0]).to_owned();
        assert!(
            why.contains("9 recalls") && why.contains("knowledge has not carried it"),
            "{why}"
        );
        assert_eq!(
            with(&log, &["judged", "retest"])[0]["payload"]["judged"]["retest"],
            1
        );
        // The log counts: nobody makes more calls after a restart, and what was tested of late is left alone.
        app.restart().await;
        rested(&app, "Rest 7.").await;
        retesting(&mut app, &library, 100, 3_600_000).await;
        rested(&app, "Rest 8.").await;
        assert_eq!(retests(&app).await, first);
        assert_eq!(library.heard().len(), 3);
        // The control: with one call more there is one more.
        retesting(&mut app, &library, 4, 1).await;
        app.until("one more", async || retests(&app).await.len() >= 4)
            .await;
        rested(&app, "Rest 9.").await;
        assert_eq!(retests(&app).await.len(), 4);
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    what_another_instrument_refutes_after_a_while_falls_and_what_it_knows_nothing_of_stays,
    |medium| {
        let (mut app, stub, ids) = summed(medium, 2).await;
        let wrong = format!("Claim: {}", json!("The sum number 1 is right."));
        stub.on(
            move |request| weighing(request) && request.says(&wrong),
            weighs("refutes", QUOTE),
        );
        stub.on(weighing, weighs("silent", None));
        let library = Library::of(&[("https://sums.example", PAGE)]).await;
        retesting(&mut app, &library, 2, 1).await;
        for id in &ids {
            app.until("the test", async || {
                with(
                    &app.public_log().await,
                    &["judged", &format!("statement:{id}")],
                )
                .len()
                    >= 3
            })
            .await;
        }
        let is = async |id: &str| statement(&app, id).await;
        let right = is(&ids[0]).await;
        let other = is(&ids[1]).await;
        assert_eq!(
            (&right["status"], &right["tested_by"], &right["due_at"]),
            (&json!("surviving"), &json!(["code"]), &Value::Null)
        );
        assert_eq!(other["status"], "falsified", "{other}");
    }
);

on_sqlite!(
    a_test_that_was_killed_is_gone_on_with_and_is_not_begun_twice,
    |medium| {
        let (mut app, stub, ids) = summed(medium, 1).await;
        stub.on(weighing, weighs("supports", QUOTE));
        let library = Library::start(Answers::Stalls).await;
        retesting(&mut app, &library, 1, 1).await;
        library.hears(1).await;
        app.kill();
        library.does(Answers::Passages(vec![(
            "https://sums.example",
            PAGE.to_owned(),
        )]));
        app.start_again().await;
        judged(&app, &ids[0], 2, "surviving").await;
        assert_eq!(tested_by(&app, &ids[0]).await, json!(["knowledge"]));
        assert_eq!(retests(&app).await, ids);
        rows_are_what_the_log_says(&mut app).await;
    }
);

#[tokio::test]
async fn two_servers_test_each_statement_again_once() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let (mut app, stub, ids) = summed(medium, 4).await;
    stub.on(weighing, weighs("supports", QUOTE));
    let library = Library::of(&[("https://sums.example", PAGE)]).await;
    retesting(&mut app, &library, 4, 1).await;
    let other = app.beside().await;
    for id in &ids {
        judged(&app, id, 2, "surviving").await;
    }
    rested(&other, "Rest 4.").await;
    assert_eq!(retests(&app).await.len(), 4);
    assert_eq!(library.heard().len(), 4);
}

// On SQLite alone: ten thousand events are soon written there, and how they are counted is the same.
#[tokio::test]
async fn a_days_calls_are_counted_however_many_they_are() {
    let (mut app, stub, ids) = summed(Medium::sqlite(), 1).await;
    stub.on(weighing, weighs("supports", QUOTE));
    let library = Library::of(&[("https://sums.example", PAGE)]).await;
    assert!(app.stop().await.success());
    // As many words that something is tested again as a day has calls, but for none.
    let store = stored::open_at(app.database()).await;
    let row = store
        .statement(&Space::default(), &ids[0])
        .await
        .unwrap()
        .unwrap();
    let judged = Judged {
        retest: 1,
        tried: false,
        ..row.judged.clone().unwrap()
    };
    for _ in 0..21 {
        let word = || Draft::statement(&row.thread, &row.id, News::Judged(judged.clone()));
        store
            .append(Append::free(
                &Space::default(),
                (0..500).map(|_| word()).collect(),
            ))
            .await
            .unwrap();
    }
    store.close().await;
    drop(store);
    retesting(&mut app, &library, 10_500, 1).await;
    let id = tried(&app, "Rest 1.", "surviving").await;
    let tried = seq(&super::judged(&app, &id, 0, "surviving").await);
    app.until("rest", async || {
        // The whole log is long.
        let newest = async || {
            app.get("/events?tags=rested&order=desc&limit=1")
                .await
                .expect(200)["items"][0]
                .clone()
        };
        newest().await["seq"].as_i64() >= Some(tried)
    })
    .await;
    assert_eq!(library.heard().len(), 0, "the day's calls are used up");
    // The control: with one call more there is one more.
    retesting(&mut app, &library, 10_501, 1).await;
    library.hears(1).await;
}
