//! Claims of answers about the world are tried before they count, like any other claim.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;
use kit::claims::{derives, deriving, holds, judged as tried, reflecting, statement};

const FACT: &str = "The library opens at nine.";

fn resting_on(facts: &[&str]) -> Answer {
    call(
        "solve",
        json!({ "thought": "it is so", "answer": "go at nine", "program": null, "search": null, "facts": facts }),
    )
}

async fn held(app: &App) -> Vec<Value> {
    app.pages("/world-model?status=surviving&").await
}

// A fact of an answer is a hypothesis before that is judged; two tries that rest on it claim it once; it is knowledge when it has come through its trial.
on_sqlite!(
    d1_34_a_fact_that_an_answer_rests_on_is_a_hypothesis_first,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(deriving, derives(None, &["one"]).held(&gate));
        stub.on(reflecting, holds());
        stub.on(
            node("solve"),
            resting_on(&[FACT, " the library  opens at nine. ", ""]),
        );
        stub.script(node("judge"), [judged(false, "when is that?")]);
        otherwise(&stub);
        let mut app = App::start(medium, &stub).await;
        let mission = begin(&app, "when to go to the library", json!({})).await;
        assert_eq!(
            ended(&app, &mission).await["status"],
            "done",
            "it waits for no trial"
        );
        let log = app.log().await;
        let claimed = one(&log, &["statement", "claimed"]);
        assert_eq!(claimed["thread"], json!(format!("{mission}.t1")));
        let verdicts = with(&log, &["task", "judged"]);
        assert_eq!(verdicts.len(), 2);
        assert!(
            seq(claimed) < seq(verdicts[0]),
            "it is claimed before the answer is judged"
        );
        let id = claimed["event_id"].as_str().unwrap().to_owned();
        let it = statement(&app, &id).await;
        assert_eq!(
            (&it["text"], &it["status"]),
            (&json!(FACT), &json!("proposed"))
        );
        assert_eq!(held(&app).await, Vec::<Value>::new());
        gate.open();
        tried(&app, &id, 0, "surviving").await;
        assert_eq!(held(&app).await.len(), 1);
        envelope::check_log(&app.log().await);
        app.restart().await;
        rows_are_what_the_log_says(&mut app).await;
    }
);

// Of hostile answers no more is claimed than there is room for, and what is refused is said.
on_sqlite!(facts_without_end_are_refused_by_name, |medium| {
    let stub = Stub::start().await;
    let long = "long ".repeat(1000);
    let mut facts = vec![long.as_str()];
    let numbered: Vec<String> = (0..50).map(|n| format!("The number {n} is one.")).collect();
    facts.extend(numbered.iter().map(String::as_str));
    stub.on(node("solve"), resting_on(&facts));
    stub.on(deriving, derives(None, &["one"]).never());
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_MEMORY__WAITING", 3)
        .start()
        .await;
    let mission = begin(&app, "count", json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let log = app.log().await;
    assert_eq!(with(&log, &["statement", "claimed"]).len(), 3);
    let refused: Vec<&str> = with(&log, &["task", "refused"])
        .into_iter()
        .map(said)
        .collect();
    for why in [
        "2000 characters",
        "wait for their trial already",
        "8 facts at most",
    ] {
        assert!(
            refused.iter().any(|it| it.contains(why)),
            "{why}: {refused:?}"
        );
    }
});

// Answers of tasks side by side: what they claim at the same time does not pass together what there is room for.
on_sqlite!(
    facts_of_answers_at_once_do_not_pass_memory_waiting_together,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let names = ["a", "b", "c", "d", "e", "f"];
        stub.on(node("decompose"), tasks(&names.map(|name| (name, &[][..]))));
        for name in names {
            let facts = [
                format!("The first of {name} is odd."),
                format!("The second of {name} is odd."),
            ];
            stub.on(
                about("solve", name),
                resting_on(&[&facts[0], &facts[1]]).held(&gate),
            );
        }
        stub.on(deriving, derives(None, &["one"]).never());
        otherwise(&stub);
        let setup = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__WAITING", 3)
            .env("THINKD_MISSION__WIDTH", 6);
        let app = setup.start().await;
        let mission = begin(&app, "six things", json!({})).await;
        stub.some(6, node("solve")).await;
        gate.open();
        assert_eq!(ended(&app, &mission).await["status"], "done");
        let log = app.log().await;
        assert_eq!(with(&log, &["statement", "claimed"]).len(), 3);
        let refused = with(&log, &["task", "refused"]);
        assert_eq!(
            refused
                .iter()
                .filter(|it| said(it).contains("wait for their trial already"))
                .count(),
            9,
            "each is named"
        );
    }
);
