//! The ground of a statement: none is held while something that it is derived from, at any depth,
//! is withdrawn, in spite of any events in between.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;

/// Claims something that is derived from these; its id.
async fn claim_on(app: &App, text: &str, ground: &[&str]) -> String {
    let body = json!({ "statement": text, "derived_from": ground });
    app.post("/world-model", body).await.expect(202)["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The same, and waits for its trial.
async fn tried_on(app: &App, text: &str, ground: &[&str], word: &str) -> String {
    let id = claim_on(app, text, ground).await;
    judged(app, &id, 0, word).await;
    id
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

/// Every statement of the space by its id.
async fn all(app: &App) -> BTreeMap<String, Value> {
    let items = app.pages("/world-model?").await;
    items
        .into_iter()
        .map(|item| (item["id"].as_str().unwrap().to_owned(), item))
        .collect()
}

/// Returns the statements that are held although something that they are derived from, at any
/// depth, is withdrawn or no statement.
async fn groundless(app: &App) -> Vec<Value> {
    let all = all(app).await;
    let is_held =
        |item: &Value| ["surviving", "contested"].contains(&item["status"].as_str().unwrap());
    let is_lost = |id: &str| {
        let mut next = vec![id.to_owned()];
        let mut seen = Vec::new();
        while let Some(id) = next.pop() {
            for premise in all[&id]["derived_from"].as_array().unwrap() {
                let premise = premise.as_str().unwrap().to_owned();
                let Some(it) = all.get(&premise) else {
                    return true;
                };
                if ["falsified", "retracted", "untested"].contains(&it["status"].as_str().unwrap())
                {
                    return true;
                }
                if !seen.contains(&premise) {
                    seen.push(premise.clone());
                    next.push(premise);
                }
            }
        }
        false
    };
    all.iter()
        .filter(|(id, item)| is_held(item) && is_lost(id))
        .map(|(_, item)| item.clone())
        .collect()
}

/// Returns the texts that a question finds.
async fn recalled(app: &App, words: &str) -> Vec<String> {
    let found = app.get(&format!("/recall?q={words}")).await.expect(200);
    found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Of all else a prediction is derived, and nothing is known against any.
fn agree(stub: &Stub) {
    stub.on(deriving, derives(None, &["something follows"]));
    stub.on(reflecting, holds());
}

on_sqlite!(
    what_is_on_trial_while_its_ground_is_withdrawn_does_not_survive,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(
            deriving_from("The roof holds."),
            derives(None, &["the roof"]),
        );
        stub.on(reflecting_on("the roof"), holds().held(&gate));
        agree(&stub);
        let mut app = App::start(medium, &stub).await;
        let ground = tried(&app, "The wall stands.", "surviving").await;
        let roof = claim_on(&app, "The roof holds.", &[&ground]).await;
        stub.request(reflecting_on("the roof")).await;
        retract(&app, &ground).await;
        gate.open();
        let word = judged(&app, &roof, 0, "untested").await;
        assert!(said(&word).contains(&ground), "{word}");
        assert!(recalled(&app, "the+roof+holds").await.is_empty());
        // Nor does what stands on that, or on something that was withdrawn before.
        tried_on(&app, "The tiles lie.", &[&roof], "untested").await;
        tried_on(&app, "The gutter runs.", &[&ground], "untested").await;
        assert_eq!(groundless(&app).await, Vec::<Value>::new());
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    what_is_held_on_a_proposal_falls_with_it_at_any_depth,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let mut no_claim = derived(None, false, &[]);
        (no_claim["is_claim"], no_claim["why"]) = (json!(false), json!("an order"));
        stub.on(
            deriving_from("Build a wall!"),
            call("derive", no_claim).held(&gate),
        );
        for (text, prediction) in [
            ("The wall stands.", "the wall"),
            ("The door is shut.", "the door"),
        ] {
            stub.on(deriving_from(text), derives(None, &[prediction]));
        }
        stub.on(
            reflecting_on("the wall"),
            reflects("refuted", "it fell").held(&gate),
        );
        stub.on(
            reflecting_on("the door"),
            reflects("unknown", "nobody looked"),
        );
        agree(&stub);
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__TRIES", 1)
            .start()
            .await;
        let wall = claim(&app, "The wall stands.").await;
        let order = claim(&app, "Build a wall!").await;
        let mut ids = Vec::new();
        for (at, ground) in [&wall, &order].into_iter().enumerate() {
            // Between what falls and what is held there is something that nobody could decide.
            let door = tried_on(&app, &format!("Door {at}."), &[ground], "surviving").await;
            let undecided = tried_on(
                &app,
                "The door is shut.",
                &[&door],
                if at == 0 { "proposed" } else { "joined" },
            )
            .await;
            ids.push(door);
            if at == 0 {
                ids.push(tried_on(&app, "The room is warm.", &[&undecided], "surviving").await);
            }
        }
        assert!(
            recalled(&app, "the+room+is+warm")
                .await
                .contains(&"The room is warm.".to_owned())
        );
        gate.open();
        judged(&app, &wall, 0, "falsified").await;
        judged(&app, &order, 0, "refused").await;
        for id in &ids {
            assert_eq!(status(&app, id).await, "untested");
        }
        assert!(recalled(&app, "the+room+is+warm").await.is_empty());
        assert_eq!(groundless(&app).await, Vec::<Value>::new());
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    what_is_derived_from_a_claim_follows_it_into_the_statement_that_it_is_part_of,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let edge = ["France", "has capital", "Paris"];
        stub.on(
            deriving_from("Paris is the capital of France."),
            derives(Some(edge), &["one"]),
        );
        stub.on(
            deriving_from("The capital of France is Paris."),
            derives(Some(edge), &["two"]).held(&gate),
        );
        let wrong = ["France", "has king", "Louis"];
        stub.on(
            deriving_from("Louis is king of France."),
            derives(Some(wrong), &["three"]),
        );
        stub.on(
            deriving_from("The king of France is Louis."),
            derives(Some(wrong), &["four"]).held(&gate),
        );
        stub.on(
            reflecting_on("three"),
            reflects("refuted", "there is no king"),
        );
        agree(&stub);
        let mut app = App::start(medium, &stub).await;
        let first = tried(&app, "Paris is the capital of France.", "surviving").await;
        let king = tried(&app, "Louis is king of France.", "falsified").await;
        let again = claim(&app, "The capital of France is Paris.").await;
        let king_again = claim(&app, "The king of France is Louis.").await;
        let stands = tried_on(
            &app,
            "The president lives in Paris.",
            &[&again],
            "surviving",
        )
        .await;
        let on_king = tried_on(&app, "The king reigns.", &[&king_again], "surviving").await;
        gate.open();
        judged(&app, &again, 0, "joined").await;
        judged(&app, &king_again, 0, "joined").await;
        let it = statement(&app, &stands).await;
        assert_eq!(
            (&it["status"], &it["derived_from"]),
            (&json!("surviving"), &json!([first])),
            "{it}"
        );
        let it = statement(&app, &on_king).await;
        assert_eq!(
            (&it["status"], &it["derived_from"]),
            (&json!("untested"), &json!([king])),
            "{it}"
        );
        retract(&app, &first).await;
        assert_eq!(status(&app, &stands).await, "untested");
        assert_eq!(groundless(&app).await, Vec::<Value>::new());
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    what_has_lost_its_ground_is_tried_again_only_on_ground_that_stands,
    |medium| {
        let stub = Stub::start().await;
        agree(&stub);
        let app = App::start(medium, &stub).await;
        let ground = tried(&app, "The wall stands.", "surviving").await;
        let roof = tried_on(&app, "The roof holds.", &[&ground], "surviving").await;
        retract(&app, &ground).await;
        assert_eq!(status(&app, &roof).await, "untested");
        // On the same ground it is not even tried.
        let calls = stub.count(trial);
        tried_on(&app, "The roof holds.", &[&ground], "joined").await;
        tried(&app, "Somebody else.", "surviving").await;
        assert_eq!(
            (stub.count(trial), status(&app, &roof).await.as_str()),
            (calls + 2, "untested")
        );
        // Without any, or on other ground, it is another thing.
        let other = tried(&app, "The pillar stands.", "surviving").await;
        tried_on(&app, "The roof holds.", &[&other], "joined").await;
        judged(&app, &roof, 1, "surviving").await;
        assert_eq!(statement(&app, &roof).await["derived_from"], json!([other]));
        retract(&app, &other).await;
        assert_eq!(status(&app, &roof).await, "untested");
        tried(&app, "The roof holds.", "joined").await;
        judged(&app, &roof, 2, "surviving").await;
        assert_eq!(statement(&app, &roof).await["derived_from"], json!([]));
    }
);

on_sqlite!(
    a_question_about_what_has_lost_its_ground_is_withdrawn_with_it,
    |medium| {
        let stub = agreeable().await;
        stub.on(
            deriving_from("The wall stands."),
            derives(None, &["the wall"]),
        );
        stub.on(deriving, testable("it is so", &[("question", "Is it so?")]));
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__QUESTIONS", 1)
            .start()
            .await;
        let claim_as = async |text: &str, ground: Value| {
            let request = app
                .request("POST", "/world-model")
                .header("authorization", "ann:none");
            let said =
                http::send(request.json(&json!({ "statement": text, "derived_from": ground })))
                    .await
                    .expect(202);
            said["id"].as_str().unwrap().to_owned()
        };
        let answer = async |question: &Value, text: &str| {
            let path = format!("/questions/{}", question["question_id"].as_str().unwrap());
            http::send(
                app.request("POST", &path)
                    .header("authorization", "bob:none")
                    .json(&json!({ "text": text })),
            )
            .await
        };
        let question = async |of: &str| {
            app.until_some("the question", async || {
                app.pages("/questions?")
                    .await
                    .into_iter()
                    .find(|it| it["statement"] == of)
            })
            .await
        };
        let ground = tried(&app, "The wall stands.", "surviving").await;
        let busy = claim_as("The sky is blue.", json!([])).await;
        let first = question(&busy).await;
        // People are busy: it is held by reflection alone, and people are asked as soon as they have room.
        let roof = claim_as("The roof holds.", json!([ground])).await;
        judged(&app, &roof, 0, "surviving").await;
        answer(&first, "yes").await.expect(204);
        let asked = question(&roof).await;
        retract(&app, &ground).await;
        assert_eq!(status(&app, &roof).await, "untested");
        // With the withdrawal, not some time behind it: no crash can come between.
        assert_eq!(app.pages("/questions?").await, Vec::<Value>::new());
        answer(&asked, "yes")
            .await
            .expect_problem(409, "already-settled");
        tried(&app, "The wall stands, again.", "surviving").await;
        assert_eq!(status(&app, &roof).await, "untested");
        let log = app.public_log().await;
        let place = |tags: &[&str]| seq(with(&log, tags).last().unwrap());
        let tag = format!("statement:{roof}");
        assert_eq!(
            place(&["judged", &tag, "untested"]) - place(&["read", &tag, "none"]),
            2,
            "{}",
            kit::story(&log)
        );
    }
);

on_sqlite!(
    whatever_is_withdrawn_while_others_are_tried_nothing_is_held_on_it,
    |medium| {
        let stub = Stub::start().await;
        agree(&stub);
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_MEMORY__CALLS_PER_HOUR", 100_000)
            .env("THINKD_TEST_MEMORY__TRIALS_AT_ONCE", 16)
            .start()
            .await;
        for round in 0..6_usize {
            let ground = tried(&app, &format!("Ground {round}."), "surviving").await;
            let mut last = ground.clone();
            let mut ids = Vec::new();
            for at in 0..12 {
                let on = if at % 3 == 0 { &ground } else { &last };
                last = claim_on(&app, &format!("Step {round}/{at}."), &[on]).await;
                ids.push(last.clone());
            }
            // Some are held by now, some are on trial.
            judged(&app, &ids[round * 2], 0, "surviving").await;
            if round % 2 == 0 {
                retract(&app, &ground).await;
            } else {
                let path = format!("/world-model/{ground}/retract");
                let retracting = tokio::spawn(
                    app.request("POST", &path)
                        .json(&json!({ "reason": "a slip" }))
                        .send(),
                );
                faults::sometime(ms(round as u64 * 3)).await;
                app.restart().await;
                drop(retracting.await);
                let again = app.post(&path, json!({ "reason": "a slip" })).await;
                assert!([200, 409].contains(&again.status), "{}", again.text);
            }
            assert_eq!(groundless(&app).await, Vec::<Value>::new(), "round {round}");
        }
        app.until("the last trials", async || {
            held(&app, "status=proposed").await.is_empty()
        })
        .await;
        assert_eq!(groundless(&app).await, Vec::<Value>::new());
        assert_eq!(held(&app, "status=untested&limit=500").await.len(), 72);
        rows_are_what_the_log_says(&mut app).await;
    }
);
