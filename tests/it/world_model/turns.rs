//! Recall by turns themselves: before any module thinks, once a turn, within a size and a time,
//! marked, and never as a new fact.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

/// The events of recalls in a log.
fn recalls(log: &[Value]) -> Vec<&Value> {
    with(log, &["recall"])
}

/// A server with turns that recall at most so many tokens.
fn recalling(medium: Medium, stub: &Stub, tokens: u32) -> Setup {
    Setup::new(medium, stub).env("THINKD_MEMORY__RECALL_IN_TURNS", tokens)
}

/// A stub of which every claim survives.
async fn trusting() -> Stub {
    let stub = agreeable().await;
    stub.on(deriving, derives(None, &["something follows"]));
    stub
}

/// The tokens of a text, as the server estimates them.
fn tokens(text: &str) -> usize {
    let plain = text.chars().filter(char::is_ascii).count();
    plain.div_ceil(4) + text.chars().count() - plain
}

/// Fifty statements, of which none is about quokkas, and two that are.
async fn fifty_and_two(app: &App) -> Vec<String> {
    let things = [
        "river", "kettle", "violin", "glacier", "ledger", "orchard", "harbour", "lantern",
        "saddle", "bakery",
    ];
    let mut ids = Vec::new();
    for colour in ["green", "brown", "grey", "white", "black"] {
        for thing in things {
            ids.push(
                claim(
                    app,
                    &format!("The {thing} by the old road is {colour} in winter."),
                )
                .await,
            );
        }
    }
    ids.push(claim(app, "Quokkas sleep in the shade at noon.").await);
    ids.push(claim(app, "A quokka eats leaves.").await);
    for id in &ids {
        judged(app, id, 0, "surviving").await;
    }
    ids.split_off(50)
}

on_sqlite!(
    d1_02_the_prompt_of_a_turn_has_what_is_relevant_nothing_else_and_no_more_than_may_be,
    |medium| {
        let stub = trusting().await;
        let mut app = recalling(medium, &stub, 200)
            .voices(&["critic"])
            .start()
            .await;
        stub.on(voice("critic"), text("PASS"));
        let related = fifty_and_two(&app).await;
        app.tell("What do quokkas and a quokka do all day?").await;
        let request = stub.request(decision).await;
        let entry = request
            .entries()
            .into_iter()
            .find(|entry| entry.who == "recalled")
            .expect("it is shown");
        assert!(
            entry.text.contains("Quokkas sleep in the shade at noon.")
                && entry.text.contains("A quokka eats leaves.")
        );
        assert!(
            !request.says("by the old road"),
            "nothing else is there: {request:?}"
        );
        assert!(
            tokens(&entry.text) <= 200 && entry.text.contains("no test has refuted"),
            "{}",
            entry.text
        );
        let heard = stub.request(|request| request.is_voice()).await;
        assert!(
            heard.says("A quokka eats leaves."),
            "all models of the turn are shown the same: {heard:?}"
        );
        // The call that was recorded is the one that was made.
        let log = app.log().await;
        let record = with(&log, &["debug", "call:decision"])[0];
        let view = app
            .get(&format!(
                "/prompt-views/{}",
                record["event_id"].as_str().unwrap()
            ))
            .await
            .expect(200);
        assert_eq!(view["exact"], true);
        assert!(
            view["request"]
                .to_string()
                .contains("A quokka eats leaves.")
        );
        let marks: Vec<&str> = tags(recalls(&log)[0])
            .iter()
            .skip(1)
            .map(|tag| &tag["recalled:".len()..])
            .collect();
        assert_eq!(marks.len(), 2, "it says which they were");
        assert!(related.iter().all(|id| marks.contains(&id.as_str())));
        // Cut to a size that has room for one.
        app.set_env("THINKD_MEMORY__RECALL_IN_TURNS", 48);
        app.restart().await;
        app.tell("And once more: what do quokkas and a quokka do?")
            .await;
        let log = app.log().await;
        let last = recalls(&log)[1]["payload"]["text"].as_str().unwrap();
        assert!(
            tokens(last) <= 48 && last.contains("uokka") && tags(recalls(&log)[1]).len() == 2,
            "{last}"
        );
        envelope::check_log(&log);
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    a_turn_recalls_nothing_where_that_is_off_and_shows_nothing_where_nothing_is_relevant,
    |medium| {
        let stub = trusting().await;
        let mut app = recalling(medium, &stub, 0).start().await;
        tried(&app, "A quokka eats leaves.", "surviving").await;
        app.tell("What does a quokka eat?").await;
        assert!(recalls(&app.public_log().await).is_empty(), "it is off");
        app.set_env("THINKD_MEMORY__RECALL_IN_TURNS", 200);
        app.restart().await;
        app.tell("Which treaty ended the war of the roses?").await;
        let log = app.public_log().await;
        assert_eq!(
            (recalls(&log).len(), &recalls(&log)[0]["modality"]),
            (1, &json!("state"))
        );
        let asked = stub.nth(1, decision).await;
        assert!(
            asked.entries().iter().all(|entry| entry.who != "recalled"),
            "no view shows it: {asked:?}"
        );
    }
);

on_sqlite!(d1_02_what_has_no_words_recalls_nothing, |medium| {
    let stub = trusting().await;
    let app = recalling(medium, &stub, 200).start().await;
    tried(&app, "Quokkas sleep in the shade at noon.", "surviving").await;
    for question in ["?", "!!!", "\u{200b}", "\u{1f600}", ". .", "\u{2014}"] {
        let found = async |q: &str| {
            let q: String = q.bytes().map(|byte| format!("%{byte:02x}")).collect();
            app.get(&format!("/recall?q={q}")).await.expect(200)["items"]
                .as_array()
                .unwrap()
                .len()
        };
        assert_eq!(found(question).await, 0, "{question}");
        // The control: with a word that is known it is found.
        assert_eq!(found(&format!("quokkas {question}")).await, 1, "{question}");
        app.tell(question).await;
    }
    let shown = stub.all(decision);
    assert_eq!(
        (
            shown.len(),
            shown
                .iter()
                .filter(|request| request.says("Quokkas"))
                .count()
        ),
        (6, 0)
    );
});

on_sqlite!(
    a_recall_that_is_recorded_is_not_made_again_after_a_crash,
    |medium| {
        let stub = trusting().await;
        stub.script(decision, [text("never").never()]);
        let mut app = recalling(medium, &stub, 200).start().await;
        tried(&app, "A quokka eats leaves.", "surviving").await;
        app.say_in("main", "What does a quokka eat?").await;
        stub.request(decision).await;
        app.restart().await;
        let again = stub.nth(1, decision).await;
        assert!(again.says("A quokka eats leaves."));
        app.until("the reply", async || {
            !with(&app.public_log().await, &["response"]).is_empty()
        })
        .await;
        assert_eq!(recalls(&app.public_log().await).len(), 1);
    }
);

on_sqlite!(
    what_cannot_be_recalled_is_said_and_the_turn_goes_on,
    |medium| {
        let stub = trusting().await;
        let mut app = recalling(medium, &stub, 200).start().await;
        tried(&app, "A quokka eats leaves.", "surviving").await;
        app.set_env("THINKD_MEMORY__RECALL_BYTES", 1);
        app.restart().await;
        app.tell("What does a quokka eat?").await;
        let log = app.public_log().await;
        assert_eq!(with(&log, &["response"]).len(), 1);
        let failure = with(&log, &["failure"]);
        assert_eq!(failure.len(), 1);
        assert!(
            failure[0]["payload"]["text"]
                .as_str()
                .unwrap()
                .contains("memory.recall_bytes"),
            "{}",
            failure[0]
        );
    }
);

on_sqlite!(
    what_a_turn_recalled_becomes_no_new_fact_and_is_nobodys_words,
    |medium| {
        let stub = trusting().await;
        let app = recalling(medium, &stub, 200)
            .env("THINKD_TOOLS__CONVERSATION", "reply,remember")
            .start()
            .await;
        let id = tried(&app, "A quokka eats leaves.", "surviving").await;
        let before = statement(&app, &id).await;
        // A mind that takes what it is shown for news, and for what the user said.
        stub.script(
        decision,
        [
            call(
                "remember",
                json!({ "statement": "A quokka eats leaves.", "quote": "A quokka eats leaves.", "derived_from": null }),
            ),
            call("remember", json!({ "statement": "A quokka eats leaves.", "quote": null, "derived_from": null })),
            reply("noted"),
        ],
    );
        app.tell("What does a quokka like?").await;
        let log = app.public_log().await;
        let results = with(&log, &["result", "tool:remember"]);
        assert!(
            stub.request(decision).await.says("- A quokka eats leaves."),
            "it was shown"
        );
        assert_eq!(
            results[0]["payload"]["problem"]["detail"]["reason"], "quote-not-found",
            "{}",
            results[0]
        );
        let again = results[1]["payload"]["output"]["statement"]
            .as_str()
            .unwrap();
        judged(&app, again, 0, "joined").await;
        assert_eq!(
            held(&app, "status=surviving").await,
            ["A quokka eats leaves."]
        );
        assert_eq!(
            statement(&app, &id).await["survived"],
            before["survived"],
            "it is no test that it was said again"
        );
    }
);
