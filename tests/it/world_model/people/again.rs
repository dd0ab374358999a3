//! What people are asked again: two no's.

use super::*;

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
