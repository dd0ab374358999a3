//! What is asked of people again, and what is not: what nobody knows, two no's.

use super::*;

on_both!(d1_48_what_people_do_not_know_they_are_asked_once_until_somebody_brings_something_new, |medium| {
    let (stub, setup) = setup(medium).await;
    let mut app = setup.env("THINKD_MEMORY__TWO_OF_THREE", true).start().await;
    let id = claim_as(&app, "ann", OPEN).await;
    answer_as(&app, "bob", id_of(&question(&app).await), "I do not know").await.expect(204);
    // All tries that there are.
    judged(&app, &id, 2, "proposed").await;
    let it = statement(&app, &id).await;
    assert_eq!((&it["status"], &it["due_at"]), (&json!("proposed"), &Value::Null), "{it}");
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
        answer_as(&app, name, id_of(&question(&app).await), "yes").await.expect(204);
    }
    judged(&app, &id, 0, "surviving").await;
    assert_eq!((asked().await, stub.count(reflecting)), (3, 0));
    rebuild_finds_nothing_to_mend(&mut app).await;
});

on_both!(d1_48_of_two_noes_the_one_that_says_since_when_ends_it, |medium| {
    let stub = agreeable().await;
    let moved = |subject: &'static str| {
        let mut of = derived(Some([subject, "is at", "B"]), true, &["it is met at B"]);
        (of["valid_from"], of["predictions"][0]["question"]) = (json!("2001"), json!("Is it met at B?"));
        call("derive", of)
    };
    for subject in ["A", "D", "E"] {
        stub.on(deriving_from(&format!("{subject} is at B.")), moved(subject));
    }
    let app = Setup::new(medium, &stub).env("THINKD_MEMORY__TWO_OF_THREE", true).start().await;
    let (later, plain) = ("no: since 2024-03 it is C", "no: it is otherwise");
    let cases = [("A", [later, plain], "ended"), ("D", [plain, later], "ended"), ("E", [plain, plain], "falsified")];
    for (subject, said, word) in cases {
        let id = claim_as(&app, "ann", &format!("{subject} is at B.")).await;
        for (name, text) in ["bob", "cid"].into_iter().zip(said) {
            answer_as(&app, name, id_of(&question(&app).await), text).await.expect(204);
        }
        judged(&app, &id, 0, word).await;
        let it = statement(&app, &id).await;
        let to = if word == "ended" { json!("2024-03-01T00:00:00.000000Z") } else { Value::Null };
        assert_eq!(it["valid_to"], to, "{it}");
        let reason = it["reason"].as_str().unwrap();
        assert_eq!(reason.contains("since 2024-03 it is C"), word == "ended", "{reason}");
    }
});
