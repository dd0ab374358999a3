//! The records that a trial keeps, in spite of events in between: its readings in a long story, its
//! calls when the statement changes meanwhile, its tries in an outage.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use futures_util::future::join_all;
use serde_json::{Value, json};
use thinkd_event::draft::Draft;
use thinkd_event::statement::{Claimant, Source};
use thinkd_log::appended::Append;
use thinkd_words::id::{Space, ThreadId};

use super::*;

/// Claims something with words that it rests on; its id.
async fn claim_quoting(app: &App, text: &str, quote: &str) -> String {
    let body = json!({ "statement": text, "quote": quote });
    app.post("/world-model", body).await.expect(202)["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The records of calls about a statement.
async fn records(app: &App, id: &str) -> Vec<Value> {
    let log = app.log().await;
    let all = with(&log, &["debug", "call:trial"]);
    all.into_iter()
        .filter(|it| it["payload"]["statement"] == id)
        .cloned()
        .collect()
}

on_sqlite!(
    a_statement_that_was_claimed_six_hundred_times_is_still_read_to_its_end,
    |medium| {
        let stub = Stub::start().await;
        stub.on(deriving, derives(None, &["one", "two"]));
        stub.on(reflecting_on("one"), holds());
        stub.script(reflecting_on("two"), [text("never").never()]);
        let mut app = App::start(medium, &stub).await;
        let id = claim(&app, "It is so.").await;
        stub.request(reflecting_on("two")).await;
        app.kill();
        // As a log has it in which each claim, new or not, was another source.
        let store = stored::open_at(app.database()).await;
        let source = Source {
            by: Claimant::Mind,
            seqs: Vec::new(),
            quote: None,
            word: false,
        };
        let again = || Draft::statement_sourced(&ThreadId::default(), &id, vec![source.clone()]);
        for _ in 0..2 {
            let many = (0..300).map(|_| again()).collect();
            store
                .append(Append::free(&Space::default(), many))
                .await
                .unwrap();
        }
        store.close().await;
        drop(store);
        stub.on(
            reflecting_on("two"),
            reflects("refuted", "a counterexample"),
        );
        app.start_again().await;
        judged(&app, &id, 0, "falsified").await;
        assert_eq!(
            (
                stub.count(reflecting_on("one")),
                stub.count(reflecting_on("two"))
            ),
            (1, 2),
            "nothing is read again"
        );
        let it = statement(&app, &id).await;
        assert_eq!(
            it["predictions"][1]["readings"].as_array().unwrap().len(),
            1,
            "the whole trial is shown: {it}"
        );
    }
);

on_sqlite!(
    a_claim_that_brings_nothing_new_leaves_the_statement_as_it_is,
    |medium| {
        let stub = agreeable().await;
        stub.on(deriving, derives(None, &["something follows"]));
        let app = App::start(medium, &stub).await;
        let id = tried(&app, "It is so.", "surviving").await;
        let before = statement(&app, &id).await;
        for _ in 0..3 {
            tried(&app, "it is so", "joined").await;
        }
        assert!(with(&app.public_log().await, &["statement", "sourced"]).is_empty());
        assert_eq!(statement(&app, &id).await, before);
        // The control: other words of somebody are another source.
        let other = claim_quoting(&app, "it is so", "so it is").await;
        judged(&app, &other, 0, "joined").await;
        assert_eq!(
            statement(&app, &id).await["sources"]
                .as_array()
                .unwrap()
                .len(),
            2
        );
    }
);

on_sqlite!(
    a_claim_during_a_call_for_the_same_statement_loses_no_call_and_no_source,
    |medium| {
        let stub = agreeable().await;
        let derive = Gate::new();
        let read = Gate::new();
        stub.on(
            deriving,
            derives(None, &["something follows"]).held(&derive),
        );
        stub.on(reflecting, holds().held(&read));
        let mut app = App::start(medium, &stub).await;
        let id = claim(&app, "It is so.").await;
        stub.request(deriving).await;
        let again = claim_quoting(&app, "it is so", "while it is derived").await;
        judged(&app, &again, 0, "joined").await;
        derive.open();
        stub.request(reflecting).await;
        let again = claim_quoting(&app, "it is so", "while it is read").await;
        judged(&app, &again, 0, "joined").await;
        read.open();
        judged(&app, &id, 0, "surviving").await;
        assert_eq!(
            (stub.count(deriving), stub.count(reflecting)),
            (1, 1),
            "what was asked is not asked again"
        );
        assert_eq!(
            records(&app, &id).await.len(),
            2,
            "each call is recorded once"
        );
        assert_eq!(
            statement(&app, &id).await["sources"]
                .as_array()
                .unwrap()
                .len(),
            3
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    a_call_whose_statement_was_retracted_meanwhile_is_in_the_log,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(deriving, derives(None, &["something follows"]).held(&gate));
        let app = App::start(medium, &stub).await;
        let id = claim(&app, "It is so.").await;
        stub.request(deriving).await;
        app.post(
            &format!("/world-model/{id}/retract"),
            json!({ "reason": "a slip" }),
        )
        .await
        .expect(200);
        gate.open();
        app.until("the record", async || !records(&app, &id).await.is_empty())
            .await;
        assert_eq!(statement(&app, &id).await["status"], "retracted");
        assert_eq!(
            steps(&story_of(&app, &id).await),
            ["claimed", "judged retracted"]
        );
    }
);

on_sqlite!(
    what_breaks_is_no_try_and_the_claim_is_taken_up_when_the_model_is_back,
    |medium| {
        let stub = Stub::start().await;
        stub.script(deriving, (0..3).map(|_| status(500)).collect::<Vec<_>>());
        stub.on(deriving, derives(None, &["one", "two"]));
        stub.script(reflecting_on("one"), [reflects("unknown", "I cannot say")]);
        stub.on(reflecting_on("one"), holds());
        stub.script(
            reflecting_on("two"),
            (0..3).map(|_| status(500)).collect::<Vec<_>>(),
        );
        stub.on(reflecting_on("two"), holds());
        let setup = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__RETRY_MS", 1)
            .env("THINKD_TEST_MEMORY__TRIES", 2);
        let mut app = setup
            .env("THINKD_TEST_MODELS__LOW__RETRIES", 0)
            .start()
            .await;
        let id = claim(&app, "It is so.").await;
        judged(&app, &id, 0, "surviving").await;
        // Three times nothing is derived, three times a reading breaks, and once one has no answer: that is the only try.
        let log = app.public_log().await;
        let tag = format!("statement:{id}");
        let words: Vec<(u64, u64)> = with(&log, &["judged", &tag, "proposed"])
            .iter()
            .map(|it| {
                (
                    it["payload"]["judged"]["tries"].as_u64().unwrap(),
                    it["payload"]["judged"]["breaks"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            words,
            [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (1, 0)]
        );
        assert_eq!(
            (
                stub.count(reflecting_on("one")),
                stub.count(reflecting_on("two"))
            ),
            (2, 4),
            "only what broke is read again"
        );
        assert!(json!(log).to_string().contains("\"broke\":true"));
        assert_eq!(
            records(&app, &id).await.len(),
            stub.count(trial),
            "what failed is recorded, too"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    many_trials_at_once_do_not_wait_for_connections_that_they_hold_themselves,
    |medium| {
        let stub = agreeable().await;
        stub.on(deriving, derives(None, &["It can be seen."]));
        let app = Setup::new(medium, &stub)
            .env("THINKD_RUNTIME__CONNECTIONS", 6)
            .env("THINKD_MEMORY__CALLS_PER_HOUR", 100_000)
            .env("THINKD_TEST_MEMORY__TRIALS_AT_ONCE", 32)
            .start()
            .await;
        for round in 0..3 {
            let claims = (0..32).map(|n| format!("Claim {round}/{n}."));
            let ids = join_all(claims.map(async |text| claim(&app, &text).await)).await;
            for id in ids {
                judged(&app, &id, 0, "surviving").await;
            }
        }
        assert!(
            !app.output().contains("connections are busy"),
            "{}",
            app.output()
        );
    }
);
