//! Questions that people are asked again, and questions that they are not: doubts of statements
//! that something else has carried, questions that no person can answer, two no's.

use thinkd_event::draft::Draft;
use thinkd_event::fact::statement::Trials;
use thinkd_event::statement::Judged;
use thinkd_event::trial::News;
use thinkd_log::appended::Append;
use thinkd_words::id::Space;
use thinkd_words::time;

use super::*;

/// Returns a stub and a setup for *A is at B* to be carried by code, and doubted where people can
/// say more: *A is at C* is refused.
async fn doubting(medium: Medium) -> (Stub, Setup) {
    let stub = Stub::start().await;
    let edge = |place: &'static str, by: &[(&str, &str)]| {
        let mut of = derived(
            Some(["A", "is at", place]),
            true,
            &[&format!("A is met at {place}")],
        );
        by.iter()
            .for_each(|(member, what)| of["predictions"][0][*member] = json!(what));
        call("derive", of)
    };
    stub.on(
        deriving_from("A is at B."),
        edge(
            "B",
            &[("code", "1 + 1 === 2"), ("question", "Is A met at B?")],
        ),
    );
    stub.on(deriving_from("A is at C."), edge("C", &[]));
    stub.on(reflecting, reflects("refuted", "nobody has seen it"));
    let setup = Setup::new(medium, &stub);
    (stub, setup)
}

/// Has *A is at B* doubted; its id, and the question to people.
async fn doubted(app: &App) -> (String, Value) {
    let id = claim_as(app, "ann", "A is at B.").await;
    judged(app, &id, 0, "surviving").await;
    tried(app, "A is at C.", "falsified").await;
    let asked = question(app).await;
    assert_eq!(asked["statement"], json!(id));
    (id, asked)
}

const DOUBTED: [&str; 6] = [
    "claimed",
    "derived",
    "read yes",
    "judged surviving",
    "judged surviving",
    "read asked",
];

on_sqlite!(
    d1_45_a_doubt_that_people_leave_is_not_read_by_what_carried_the_statement,
    |medium| {
        let (stub, setup) = doubting(medium).await;
        let mut app = setup.env("THINKD_TEST_MEMORY__TRIES", 1).start().await;
        let (id, _) = doubted(&app).await;
        away(&app, true).await;
        judged(&app, &id, 2, "surviving").await;
        let expected = [&DOUBTED[..], &["read none", "judged surviving"]].concat();
        assert_eq!(steps(&story_of(&app, &id).await), expected);
        let it = statement(&app, &id).await;
        assert_eq!(
            (&it["tested_by"], &it["survived"], &it["due_at"]),
            (&json!(["code"]), &json!(1), &Value::Null),
            "it ends as it was: {it}"
        );
        assert!(
            it["reason"].as_str().unwrap().contains("people are away"),
            "{it}"
        );
        assert_eq!(
            stub.count(reflecting),
            1,
            "reflection does not take their place"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_45_a_doubt_waits_for_people_who_went_and_is_theirs_when_they_are_back,
    |medium| {
        let (_stub, setup) = doubting(medium).await;
        let mut app = setup
            .env("THINKD_TEST_MEMORY__RETRY_MS", 1000)
            .start()
            .await;
        let (id, first) = doubted(&app).await;
        away(&app, true).await;
        judged(&app, &id, 2, "surviving").await;
        assert!(statement(&app, &id).await["due_at"].is_string());
        away(&app, false).await;
        let asked = question(&app).await;
        assert!(
            asked["statement"] == json!(id) && asked["question_id"] != first["question_id"],
            "{asked}"
        );
        answer_as(&app, "bob", id_of(&asked), "no: it is not there")
            .await
            .expect(204);
        judged(&app, &id, 0, "falsified").await;
        let by_code = story_of(&app, &id)
            .await
            .iter()
            .filter(|it| it["payload"]["reading"]["instrument"] == "code")
            .count();
        assert_eq!(by_code, 1);
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_45_what_is_held_is_left_as_it_is_where_its_test_was_begun_with_an_instrument_that_is_gone,
    |medium| {
        let stub = agreeable().await;
        let by = |means: &'static str| {
            testable("it is so", &[("code", "1 + 1 === 2"), (means, "Is it so?")])
        };
        stub.on(deriving_from("It is doubted."), by("question"));
        stub.on(deriving_from("It is old."), by("search"));
        stub.on(deriving, knowable("it is so", "Is it so?"));
        let setup = Setup::new(medium, &stub).env("THINKD_TEST_MEMORY__TRIES", 1);
        let mut app = setup.env("THINKD_TEST_MEMORY__QUESTIONS", 0).start().await;
        let mut ids = Vec::new();
        let mut tested = Vec::new();
        for text in ["It is doubted.", "It is old.", "It is thought."] {
            let id = claim_as(&app, "ann", text).await;
            judged(&app, &id, 0, "surviving").await;
            tested.push(statement(&app, &id).await["tested_at"].clone());
            ids.push(id);
        }
        // The words of a server that had people and a search.
        assert!(app.stop().await.success());
        let store = stored::open_at(app.database()).await;
        for (id, retest) in ids.iter().zip([0, 1, 0]) {
            let row = store
                .statement(&Space::default(), id)
                .await
                .unwrap()
                .unwrap();
            let judged = Judged {
                due: Some(time::now()),
                tried: false,
                retest,
                ..row.judged.clone().unwrap()
            };
            let word = Draft::statement(&row.thread, &row.id, News::Judged(judged));
            store
                .append(Append::free(
                    &Space::default(),
                    vec![word, Draft::trials(Trials::Due)],
                ))
                .await
                .unwrap();
        }
        store.close().await;
        drop(store);
        app.start_again().await;
        for ((id, by), tested) in ids.iter().zip(["code", "code", "reflection"]).zip(tested) {
            let reason = said(&judged(&app, id, 2, "surviving").await).to_owned();
            assert!(
                reason.contains("nothing is there now that can test it and has not carried it"),
                "{reason}"
            );
            let steps = steps(&story_of(&app, id).await);
            let is_read = |step: &&String| step.starts_with("read");
            assert_eq!(
                (steps.len(), steps.iter().filter(is_read).count()),
                (6, 1),
                "{steps:?}"
            );
            let it = statement(&app, id).await;
            let is = (
                &it["tested_by"],
                &it["survived"],
                &it["due_at"],
                &it["tested_at"],
            );
            assert_eq!(is, (&json!([by]), &json!(1), &Value::Null, &tested), "{it}");
        }
        assert_eq!(stub.count(reflecting), 1);
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_48_what_people_do_not_know_they_are_asked_once_until_somebody_brings_something_new,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let mut app = setup.env("THINKD_MEMORY__TWO_OF_THREE", true).start().await;
        let id = claim_as(&app, "ann", OPEN).await;
        answer_as(&app, "bob", id_of(&question(&app).await), "I do not know")
            .await
            .expect(204);
        // All tries that there are.
        judged(&app, &id, 2, "proposed").await;
        let it = statement(&app, &id).await;
        assert_eq!(
            (&it["status"], &it["due_at"]),
            (&json!("proposed"), &Value::Null),
            "{it}"
        );
        let asked = async || with(&app.public_log().await, &["question"]).len();
        assert_eq!((asked().await, stub.count(reflecting)), (1, 0), "{it}");
        // What brings nothing new has it tried again, and nobody asked.
        let again = claim_as(&app, "ann", OPEN).await;
        judged(&app, &again, 0, "joined").await;
        judged(&app, &id, 6, "proposed").await;
        assert_eq!((asked().await, stub.count(reflecting)), (1, 0));
        // Somebody else claims it, too.
        let other = claim_as(&app, "cid", OPEN).await;
        judged(&app, &other, 0, "joined").await;
        for name in ["bob", "dan"] {
            answer_as(&app, name, id_of(&question(&app).await), "yes")
                .await
                .expect(204);
        }
        judged(&app, &id, 0, "surviving").await;
        assert_eq!((asked().await, stub.count(reflecting)), (3, 0));
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_48_of_two_noes_the_one_that_says_since_when_ends_it,
    |medium| {
        let stub = agreeable().await;
        let moved = |subject: &'static str| {
            let mut of = derived(Some([subject, "is at", "B"]), true, &["it is met at B"]);
            (of["valid_from"], of["predictions"][0]["question"]) =
                (json!("2001"), json!("Is it met at B?"));
            call("derive", of)
        };
        for subject in ["A", "D", "E"] {
            stub.on(
                deriving_from(&format!("{subject} is at B.")),
                moved(subject),
            );
        }
        let app = Setup::new(medium, &stub)
            .env("THINKD_MEMORY__TWO_OF_THREE", true)
            .start()
            .await;
        let later = "no: since 2024-03 it is C";
        let plain = "no: it is otherwise";
        let cases = [
            ("A", [later, plain], "ended"),
            ("D", [plain, later], "ended"),
            ("E", [plain, plain], "falsified"),
        ];
        for (subject, said, word) in cases {
            let id = claim_as(&app, "ann", &format!("{subject} is at B.")).await;
            for (name, text) in ["bob", "cid"].into_iter().zip(said) {
                answer_as(&app, name, id_of(&question(&app).await), text)
                    .await
                    .expect(204);
            }
            judged(&app, &id, 0, word).await;
            let it = statement(&app, &id).await;
            let to = if word == "ended" {
                json!("2024-03-01T00:00:00.000000Z")
            } else {
                Value::Null
            };
            assert_eq!(it["valid_to"], to, "{it}");
            let reason = it["reason"].as_str().unwrap();
            assert_eq!(
                reason.contains("since 2024-03 it is C"),
                word == "ended",
                "{reason}"
            );
        }
    }
);
