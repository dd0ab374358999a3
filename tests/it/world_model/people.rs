//! The instrument user: people are asked about the claims of others, and their answer is the
//! reading.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

mod again;

fn knowable(text: &str, question: &str) -> Answer {
    testable(text, &[("question", question)])
}

const OPEN: &str = "The library opens at nine.";

/// A server and its stub, where people can say whether it is so, and reflection says that it is.
async fn setup(medium: Medium) -> (Stub, Setup) {
    let stub = agreeable().await;
    stub.on(
        deriving,
        knowable(
            "the door is open at half past nine",
            "Is the library open at half past nine?",
        ),
    );
    let setup = Setup::new(medium, &stub).env("THINKD_TEST_MEMORY__RETRY_MS", 1);
    (stub, setup)
}

/// Claims something in a name.
async fn claim_as(app: &App, name: &str, text: &str) -> String {
    let request = app
        .request("POST", "/world-model")
        .header("authorization", format!("{name}:none"));
    let said = http::send(request.json(&json!({ "statement": text })))
        .await
        .expect(202);
    said["id"].as_str().unwrap().to_owned()
}

async fn answer_as(app: &App, name: &str, id: &str, text: &str) -> Reply {
    let request = app
        .request("POST", &format!("/questions/{id}"))
        .header("authorization", format!("{name}:none"));
    http::send(request.json(&json!({ "text": text }))).await
}

/// The one question that is open, as soon as it is.
async fn question(app: &App) -> Value {
    app.until_some("a question", async || app.pages("/questions?").await.pop())
        .await
}

async fn away(app: &App, is: bool) {
    let body = json!({ "settings": { "user_away": is } });
    http::send(app.request("PUT", "/settings").json(&body))
        .await
        .expect(200);
}

fn id_of(question: &Value) -> &str {
    question["question_id"].as_str().unwrap()
}

on_sqlite!(
    d1_48_people_are_asked_over_the_socket_and_their_answer_decides,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let mut app = setup.start().await;
        let mut socket = app.socket().await;
        socket.follow(0, json!({ "thread": "main" })).await;
        let id = claim_as(&app, "ann", OPEN).await;
        // The question comes by the socket to whoever follows the thread that claims.
        let asked = socket
            .event("the question", |event| has(event, "question"))
            .await;
        // Whoever is asked sees what is claimed: the question alone could be of anything.
        let text = "Is the library open at half past nine?\n\nIt tests this claim: \"The library opens at nine.\"";
        assert_eq!(asked["payload"]["text"], text);
        assert_eq!(
            asked["payload"]["choices"],
            json!(["yes", "no", "I do not know"])
        );
        assert_eq!(asked["payload"]["statement"], json!(id));
        let open = question(&app).await;
        assert_eq!(
            (&open["thread"], &open["statement"]),
            (&json!("main"), &json!(id))
        );
        let it = statement(&app, &id).await;
        assert_eq!(
            (&it["status"], &it["due_at"]),
            (&json!("proposed"), &open["expires_at"]),
            "{it}"
        );
        // What is no choice is refused, and the question stays open.
        for wrong in ["maybe", "yes and no", "yesno: x"] {
            answer_as(&app, "bob", id_of(&open), wrong)
                .await
                .expect_problem(422, "invalid-arguments");
        }
        answer_as(&app, "bob", id_of(&open), "Yes: I was there at ten.")
            .await
            .expect(204);
        judged(&app, &id, 0, "surviving").await;
        let it = statement(&app, &id).await;
        assert_eq!(
            (&it["tested_by"], &it["reflection_only"]),
            (&json!(["user"]), &json!(false))
        );
        let readings = it["predictions"][0]["readings"].as_array().unwrap().clone();
        let answers: Vec<&Value> = readings.iter().map(|reading| &reading["answer"]).collect();
        assert_eq!(answers, ["asked", "yes"]);
        assert_eq!(
            (&readings[1]["note"], &readings[1]["source"]),
            (
                &json!("bob says yes: I was there at ten."),
                &open["question_id"]
            )
        );
        assert_eq!(readings[1]["quote"], "Yes: I was there at ten.");
        // Nothing of it wakes the conversation, or stands in its view; nobody else can answer it.
        answer_as(&app, "cid", id_of(&open), "no")
            .await
            .expect_problem(409, "already-settled");
        assert_eq!((stub.count(decision), stub.count(reflecting)), (0, 0));
        stub.script(decision, [reply("Good day.")]);
        app.tell("hello").await;
        let view = stub.all(decision)[0].text();
        assert!(
            !view.contains("half past nine") && !view.contains("I was there"),
            "{view}"
        );
        envelope::check_log(&app.log().await);
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_48_a_no_of_people_falsifies_and_who_does_not_know_decides_nothing,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let app = setup.env("THINKD_TEST_MEMORY__TRIES", 1).start().await;
        let id = claim_as(&app, "ann", OPEN).await;
        answer_as(
            &app,
            "bob",
            id_of(&question(&app).await),
            "no\nIt was locked.",
        )
        .await
        .expect(204);
        judged(&app, &id, 0, "falsified").await;
        let reason = statement(&app, &id).await["reason"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            reason.contains("was refuted by user: bob says no: It was locked."),
            "{reason}"
        );
        let id = claim_as(&app, "ann", "The library opens on Sundays.").await;
        answer_as(&app, "bob", id_of(&question(&app).await), "i do not know")
            .await
            .expect(204);
        judged(&app, &id, 0, "proposed").await;
        assert!(
            statement(&app, &id).await["reason"]
                .as_str()
                .unwrap()
                .contains("bob does not know")
        );
        assert_eq!(
            stub.count(reflecting),
            0,
            "reflection decides only where no other instrument could"
        );
    }
);

on_sqlite!(
    d1_48_whoever_claims_it_does_not_test_it_and_the_question_stays_open,
    |medium| {
        let (_stub, setup) = setup(medium).await;
        let app = setup.start().await;
        let id = claim_as(&app, "ann", OPEN).await;
        let open = question(&app).await;
        let problem = answer_as(&app, "ann", id_of(&open), "yes")
            .await
            .expect_problem(403, "forbidden");
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("ann claims this"),
            "{problem}"
        );
        // Of somebody without a name nobody knows whether it is she.
        let body = json!({ "text": "yes" });
        app.post(&format!("/questions/{}", id_of(&open)), body)
            .await
            .expect_problem(403, "forbidden");
        // Who claims it, too, meanwhile, is no other one any more.
        let again = claim_as(&app, "bob", OPEN).await;
        judged(&app, &again, 0, "joined").await;
        answer_as(&app, "bob", id_of(&open), "yes")
            .await
            .expect_problem(403, "forbidden");
        assert_eq!(app.pages("/questions?").await.len(), 1);
        answer_as(&app, "cid", id_of(&open), "yes")
            .await
            .expect(204);
        judged(&app, &id, 0, "surviving").await;
    }
);

on_sqlite!(d1_48_where_nobody_could_answer_nobody_is_asked, |medium| {
    let (stub, setup) = setup(medium).await;
    let app = setup.start().await;
    // Claimed without a name.
    let id = tried(&app, OPEN, "surviving").await;
    assert_eq!(
        statement(&app, &id).await["tested_by"],
        json!(["reflection"])
    );
    assert!(with(&app.public_log().await, &["question"]).is_empty());
    assert_eq!(stub.count(reflecting), 1);
});

on_sqlite!(
    t1_28_while_people_are_away_nobody_is_asked_and_another_instrument_is_used,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let app = setup.start().await;
        away(&app, true).await;
        let id = claim_as(&app, "ann", OPEN).await;
        judged(&app, &id, 0, "surviving").await;
        assert!(with(&app.public_log().await, &["question"]).is_empty());
        assert_eq!(
            statement(&app, &id).await["tested_by"],
            json!(["reflection"])
        );
        // Else people would be asked of this one, too, now that they are there (D1.42).
        app.post(
            &format!("/world-model/{id}/retract"),
            json!({ "reason": "in jest" }),
        )
        .await
        .expect(200);
        // They go while they are asked: the question is over, and something else is asked.
        away(&app, false).await;
        let id = claim_as(&app, "ann", "The library closes at five.").await;
        question(&app).await;
        away(&app, true).await;
        judged(&app, &id, 0, "surviving").await;
        let expected = [
            "claimed",
            "derived",
            "read asked",
            "read none",
            "read yes",
            "judged surviving",
        ];
        assert_eq!(steps(&story_of(&app, &id).await), expected);
        assert_eq!(
            statement(&app, &id).await["tested_by"],
            json!(["reflection"])
        );
        assert_eq!(app.pages("/questions?").await, Vec::<Value>::new());
        assert_eq!(stub.count(reflecting), 2);
    }
);

on_sqlite!(
    d1_48_an_answer_that_does_not_come_in_time_is_none_and_the_next_instrument_is_read,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let app = setup
            .env("THINKD_TEST_MEMORY__QUESTION_MS", 300)
            .env("THINKD_TEST_MEMORY__TRIES", 1)
            .start()
            .await;
        let id = claim_as(&app, "ann", OPEN).await;
        judged(&app, &id, 0, "surviving").await;
        let it = statement(&app, &id).await;
        let readings = it["predictions"][0]["readings"].as_array().unwrap();
        assert!(
            readings[1]["note"]
                .as_str()
                .unwrap()
                .contains("nobody answered in time"),
            "{it}"
        );
        assert_eq!(
            (&it["tested_by"], &it["reflection_only"]),
            (&json!(["reflection"]), &json!(true))
        );
        let expected = [
            "claimed",
            "derived",
            "read asked",
            "read none",
            "read yes",
            "judged surviving",
        ];
        assert_eq!(steps(&story_of(&app, &id).await), expected);
        assert_eq!(stub.count(reflecting), 1);
        assert_eq!(app.pages("/questions?").await, Vec::<Value>::new());
    }
);

on_sqlite!(
    d1_48_a_kill_between_question_and_answer_asks_once,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let mut app = setup.start().await;
        let id = claim_as(&app, "ann", OPEN).await;
        let before = question(&app).await;
        for _ in 0..2 {
            app.restart().await;
        }
        assert_eq!(question(&app).await, before);
        answer_as(&app, "bob", id_of(&before), "yes")
            .await
            .expect(204);
        judged(&app, &id, 0, "surviving").await;
        let log = app.public_log().await;
        assert_eq!(with(&log, &["question"]).len(), 1, "{}", kit::story(&log));
        let expected = [
            "claimed",
            "derived",
            "read asked",
            "read yes",
            "judged surviving",
        ];
        assert_eq!(steps(&story_of(&app, &id).await), expected);
        assert_eq!(stub.count(deriving), 1);
    }
);

on_sqlite!(
    d1_48_what_is_withdrawn_is_asked_no_more_and_no_more_is_asked_at_a_time_than_may_be,
    |medium| {
        let (_stub, setup) = setup(medium).await;
        let app = setup.env("THINKD_TEST_MEMORY__QUESTIONS", 1).start().await;
        let id = claim_as(&app, "ann", OPEN).await;
        let open = question(&app).await;
        // The next one finds no room, and is tested by something else.
        let other = claim_as(&app, "ann", "The library closes at five.").await;
        judged(&app, &other, 0, "surviving").await;
        assert_eq!(
            statement(&app, &other).await["tested_by"],
            json!(["reflection"])
        );
        // Cancelling the thread is about its turns.
        app.post("/threads/main/cancel", json!({})).await;
        assert_eq!(app.pages("/questions?").await.len(), 1);
        app.post(
            &format!("/world-model/{id}/retract"),
            json!({ "reason": "in jest" }),
        )
        .await
        .expect(200);
        // The other one found people busy: it is their turn now.
        assert_eq!(question(&app).await["statement"], json!(other));
        answer_as(&app, "bob", id_of(&open), "yes")
            .await
            .expect_problem(409, "already-settled");
        // What was said of the question does not bring it back: it was said before.
        let it = statement(&app, &id).await;
        assert_eq!(
            (&it["status"], &it["due_at"]),
            (&json!("retracted"), &Value::Null),
            "{it}"
        );
    }
);

on_sqlite!(
    a_question_of_a_trial_outlives_the_thread_that_claimed,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let mut app = setup.start().await;
        let thread = app.conversation(json!({})).await;
        let request = app
            .request("POST", "/world-model")
            .header("authorization", "ann:none");
        let said = http::send(request.json(&json!({ "statement": OPEN, "thread": thread })))
            .await
            .expect(202);
        let id = said["id"].as_str().unwrap().to_owned();
        let open = question(&app).await;
        app.post(&format!("/threads/{thread}/end"), json!({})).await;
        // One that is asked when the thread has ended stands as well, and so do both after a start.
        let request = app
            .request("POST", "/world-model")
            .header("authorization", "ann:none");
        let later = json!({ "statement": "The library closes at five.", "thread": thread });
        let later = http::send(request.json(&later)).await.expect(202)["id"]
            .as_str()
            .unwrap()
            .to_owned();
        app.until("two questions", async || {
            app.pages("/questions?").await.len() >= 2
        })
        .await;
        app.restart().await;
        assert_eq!(app.pages("/questions?").await.len(), 2);
        for open in app.pages("/questions?").await {
            answer_as(&app, "bob", id_of(&open), "yes")
                .await
                .expect(204);
        }
        for id in [&id, &later] {
            judged(&app, id, 0, "surviving").await;
            assert_eq!(statement(&app, id).await["tested_by"], json!(["user"]));
        }
        assert_eq!(
            (&open["thread"], stub.count(reflecting)),
            (&json!(thread), 0)
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_48_of_many_claims_at_once_no_more_are_asked_than_may_be_and_the_others_later,
    |medium| {
        let stub = agreeable().await;
        let gate = Gate::new();
        stub.on(deriving, knowable("it is so", "Is it so?").held(&gate));
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__QUESTIONS", 1)
            .start()
            .await;
        let mut ids = Vec::new();
        for at in 0..4 {
            ids.push(claim_as(&app, "ann", &format!("Claim {at}.")).await);
        }
        stub.some(4, deriving).await;
        gate.open();
        app.until("three verdicts", async || {
            with(&app.public_log().await, &["judged", "surviving"]).len() >= 3
        })
        .await;
        assert_eq!(
            with(&app.public_log().await, &["question"]).len(),
            1,
            "all four found room when they looked"
        );
        // Whenever one has answered, the next claim is asked about that found people busy.
        for nth in 1..=4 {
            let open = question(&app).await;
            assert_eq!(with(&app.public_log().await, &["question"]).len(), nth);
            answer_as(&app, "bob", id_of(&open), "yes")
                .await
                .expect(204);
        }
        app.until("four answers", async || {
            held_by(&app, &ids, "user").await >= 4
        })
        .await;
        assert_eq!(
            stub.count(reflecting),
            3,
            "no reading of reflection is repeated"
        );
    }
);

on_sqlite!(
    d1_48_people_say_that_something_else_is_so_since_and_that_ends_it,
    |medium| {
        let stub = agreeable().await;
        let mut of = derived(Some(["A", "is at", "B"]), true, &["A is met at B"]);
        (of["valid_from"], of["predictions"][0]["question"]) =
            (json!("2001"), json!("Is A met at B?"));
        stub.on(deriving, call("derive", of));
        let app = Setup::new(medium, &stub).start().await;
        let id = claim_as(&app, "ann", "A is at B.").await;
        answer_as(
            &app,
            "bob",
            id_of(&question(&app).await),
            "no: since 2024-03 it is C",
        )
        .await
        .expect(204);
        judged(&app, &id, 0, "ended").await;
        assert_eq!(
            statement(&app, &id).await["valid_to"],
            "2024-03-01T00:00:00.000000Z"
        );
        assert_eq!(held(&app, "at=2003-01-01T00:00:00Z").await, ["A is at B."]);
    }
);

on_sqlite!(
    where_a_new_value_is_refused_people_test_the_old_one_that_something_else_had_tested,
    |medium| {
        let stub = Stub::start().await;
        let edge = |subject: &str, place: &str, by: &[(&str, &str)]| {
            let mut of = derived(
                Some([subject, "is at", place]),
                true,
                &[&format!("{subject} is met at {place}")],
            );
            by.iter()
                .for_each(|(member, what)| of["predictions"][0][*member] = json!(what));
            call("derive", of)
        };
        stub.on(
            deriving_from("A is at B."),
            edge(
                "A",
                "B",
                &[("code", "1 + 1 === 2"), ("question", "Is A met at B?")],
            ),
        );
        stub.on(deriving_from("A is at C."), edge("A", "C", &[]));
        stub.on(deriving_from("A is at D."), edge("A", "D", &[]));
        stub.on(deriving_from("E is at C."), edge("E", "C", &[]));
        stub.on(reflecting, reflects("refuted", "nobody has seen it"));
        let app = Setup::new(medium, &stub).start().await;
        let old = claim_as(&app, "ann", "A is at B.").await;
        judged(&app, &old, 0, "surviving").await;
        assert_eq!(statement(&app, &old).await["tested_by"], json!(["code"]));
        // The control: what is about something else doubts nothing.
        tried(&app, "E is at C.", "falsified").await;
        assert_eq!(steps(&story_of(&app, &old).await).len(), 4);
        tried(&app, "A is at C.", "falsified").await;
        let open = question(&app).await;
        assert_eq!(open["statement"], json!(old));
        let reason = statement(&app, &old).await["reason"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            reason.contains("another value of it was refused (C)"),
            "{reason}"
        );
        // While it is tested, another refusal changes nothing.
        tried(&app, "A is at D.", "falsified").await;
        answer_as(&app, "bob", id_of(&open), "yes")
            .await
            .expect(204);
        judged(&app, &old, 2, "surviving").await;
        let it = statement(&app, &old).await;
        assert_eq!(
            (&it["tested_by"], &it["survived"]),
            (&json!(["user"]), &json!(2)),
            "{it}"
        );
        let expected = [
            "claimed",
            "derived",
            "read yes",
            "judged surviving",
            "judged surviving",
            "read asked",
            "read yes",
            "judged surviving",
        ];
        assert_eq!(steps(&story_of(&app, &old).await), expected);
    }
);

/// Returns the number of these that are tested by that instrument alone.
async fn held_by(app: &App, ids: &[String], instrument: &str) -> usize {
    let mut count = 0;
    for id in ids {
        count += usize::from(statement(app, id).await["tested_by"] == json!([instrument]));
    }
    count
}
