//! A person's word: a statement about themselves is held on it at once, another one that they tell a mind to keep is recalled with
//! it, and both are marked wherever they are shown. Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

const ALLERGIC: &str = "Clara is allergic to peanuts.";
const BERGEN: &str = "Clara lives in Bergen.";
const WIFI: &str = "The wifi password is under the clock.";

/// Says something in a name, and waits until it is handled.
async fn tell_as(app: &App, name: &str, text: &str) {
    let request = app
        .request("POST", "/threads/main/messages?wait=15")
        .header("authorization", format!("{name}:none"));
    http::send(request.json(&json!({ "text": text })))
        .await
        .expect(200);
}

/// Claims something over HTTP in a name.
async fn claim_as(app: &App, name: &str, text: &str) -> Value {
    let request = app
        .request("POST", "/world-model")
        .header("authorization", format!("{name}:none"));
    http::send(request.json(&json!({ "statement": text })))
        .await
        .expect(202)
}

fn remembers(statement: &str, quote: &str, replaces: Option<&str>) -> Answer {
    let arguments = json!({
        "statement": statement, "quote": quote, "derived_from": null, "replaces": replaces,
    });
    call("remember", arguments)
}

/// The hits of a question, best first.
async fn found(app: &App, question: &str) -> Vec<Value> {
    let path = format!("/recall?q={}", question.replace(' ', "+"));
    let found = app.get(&path).await.expect(200);
    found["items"].as_array().unwrap().clone()
}

/// The text, the status and the mark of each.
fn marks(items: &[Value]) -> Vec<[&str; 3]> {
    let of = |item| ["text", "status", "label"].map(|member| text_of(item, member));
    items.iter().map(of).collect()
}

fn text_of<'a>(item: &'a Value, member: &str) -> &'a str {
    item[member].as_str().unwrap_or_default()
}

/// Trials of any other claim come to nothing: it stays proposed.
fn knows_no_more(stub: &Stub) {
    stub.on(deriving, derives(None, &["somebody says so"]));
    stub.on(reflecting, reflects("unknown", "nobody can know that"));
}

/// The block that a turn recalled, as a decision was shown it.
fn block(request: &Request) -> String {
    let entries = request.entries().into_iter();
    let mut blocks = entries.filter(|entry| entry.who == "recalled");
    blocks.next_back().expect("it is shown").text
}

fn last_decision(stub: &Stub) -> std::sync::Arc<Request> {
    stub.all(decision).pop().unwrap()
}

on_sqlite!(
    what_a_person_says_of_themselves_is_held_at_once_and_known_in_the_next_turn,
    |medium| {
        let stub = Stub::start().await;
        let quote = "I am allergic to peanuts";
        stub.script(
            decision,
            [
                remembers(ALLERGIC, quote, None),
                reply("I will keep that in mind."),
                reply("You are."),
            ],
        );
        // As it comes: nothing is configured.
        let mut app = App::start(medium, &stub).await;
        tell_as(&app, "clara", "I am allergic to peanuts, just so you know.").await;
        let log = app.public_log().await;
        let claimed = with(&log, &["statement", "claimed"])[0];
        let held = with(&log, &["judged", "surviving"])[0];
        assert_eq!(seq(held), seq(claimed) + 1, "in the same append");
        assert_eq!(held["payload"]["judged"]["reason"], "said by clara");
        assert!(with(&log, &["recall"]).is_empty(), "nothing was held then");
        assert!(with(&log, &["trials"]).is_empty(), "{}", kit::story(&log));
        // Marked in every view.
        let id = claimed["payload"]["statement"].as_str().unwrap();
        let it = statement(&app, id).await;
        let mark = json!("said by clara");
        let none = json!([]);
        assert_eq!((&it["label"], &it["tested_by"]), (&mark, &none), "{it}");
        assert_eq!(
            (&it["said_by"], &it["due_at"]),
            (&json!("clara"), &Value::Null)
        );
        let list = app.get("/world-model?status=surviving").await.expect(200);
        assert_eq!(list["items"][0]["said_by"], "clara");
        let items = found(&app, "peanuts").await;
        assert_eq!(marks(&items), [[ALLERGIC, "surviving", "said by clara"]]);
        assert_eq!(items[0]["said_by"], "clara");
        tell_as(&app, "clara", "Am I allergic to peanuts?").await;
        let shown = block(&last_decision(&stub));
        assert!(
            shown.contains("- Clara is allergic to peanuts. (said by clara)"),
            "{shown}"
        );
        assert_eq!(stub.count(trial), 0, "it costs no call");
        envelope::check_log(&app.log().await);
        rows_are_what_the_log_says(&mut app).await;
        app.restart().await;
        assert_eq!(found(&app, "peanuts").await[0]["said_by"], "clara");
    }
);

on_sqlite!(
    where_nobody_has_a_name_the_word_of_the_user_counts_as_it_comes,
    |medium| {
        let stub = Stub::start().await;
        let said = "The user is allergic to peanuts.";
        stub.script(
            decision,
            [
                remembers(said, "I am allergic to peanuts", None),
                reply("I will keep that in mind."),
                call(
                    "recall",
                    json!({ "query": "peanuts", "limit": null, "in": null }),
                ),
                reply("You are."),
            ],
        );
        let app = App::start(medium, &stub).await;
        app.tell("I am allergic to peanuts").await;
        assert_eq!(
            marks(&found(&app, "peanuts").await),
            [[said, "surviving", "said by the user"]]
        );
        app.tell("What about peanuts?").await;
        let log = app.public_log().await;
        let told = &with(&log, &["result", "tool:recall"])[0]["payload"]["output"];
        let hit = &told["recalled"][0];
        assert_eq!(
            (&hit["said_by"], &hit["label"]),
            (&json!("the user"), &json!("said by the user")),
            "{told}"
        );
        assert_eq!(stub.count(trial), 0);
        // Over HTTP, too, in their own words; but what is no word of theirs is tried.
        let own = app.post(
            "/world-model",
            json!({ "statement": "My dog is called Rex." }),
        );
        assert_eq!(own.await.expect(202)["status"], "surviving");
        let other = app.post("/world-model", json!({ "statement": "Mynah birds talk." }));
        assert_eq!(other.await.expect(202)["status"], "proposed");
    }
);

on_sqlite!(
    what_a_person_tells_a_mind_to_keep_is_recalled_marked_below_what_survived,
    |medium| {
        let stub = Stub::start().await;
        let router = "The wifi router is in the hall.";
        let fridge = "The wifi password is on the fridge.";
        for (said, prediction, answer) in [
            (router, "it blinks there", "holds"),
            (fridge, "a note is on the fridge", "refuted"),
        ] {
            stub.on(deriving_from(said), derives(None, &[prediction]));
            stub.on(reflecting_on(prediction), reflects(answer, "it is seen"));
        }
        knows_no_more(&stub);
        stub.script(
            decision,
            [
                remembers(WIFI, "the wifi password is under the clock", None),
                reply("noted"),
                remembers(fridge, "the wifi password is on the fridge", None),
                reply("noted"),
                reply("Under the clock, says Clara."),
            ],
        );
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__TRIES", 1)
            .start()
            .await;
        tried(&app, router, "surviving").await;
        let keep = "Remember that the wifi password is under the clock.";
        tell_as(&app, "clara", keep).await;
        let log = app.public_log().await;
        let claimed = with(&log, &["statement", "claimed"]).pop().unwrap();
        let id = claimed["payload"]["statement"].as_str().unwrap().to_owned();
        let question = "Where is the wifi router and the wifi password";
        let expected = [
            [
                router,
                "surviving",
                "a hypothesis that no test has refuted so far; reflection only",
            ],
            [WIFI, "proposed", "said by clara, not tested"],
        ];
        assert_eq!(marks(&found(&app, question).await), expected);
        // Without an outcome it stays so; refuted it goes.
        judged(&app, &id, 0, "proposed").await;
        assert_eq!(marks(&found(&app, question).await), expected);
        tell_as(&app, "clara", "And the wifi password is on the fridge.").await;
        let log = app.public_log().await;
        let refuted = with(&log, &["statement", "claimed"]).pop().unwrap();
        judged(
            &app,
            refuted["payload"]["statement"].as_str().unwrap(),
            0,
            "falsified",
        )
        .await;
        assert_eq!(marks(&found(&app, question).await), expected);
        // It is shown to others, but not as known.
        tell_as(&app, "bob", "Where is the wifi password?").await;
        let shown = block(&last_decision(&stub));
        let line = "- The wifi password is under the clock. (said by clara, not tested)";
        assert!(shown.contains(line), "{shown}");
        assert_eq!(held(&app, "status=surviving").await, [router]);
        assert_eq!(statement(&app, &id).await["said_by"], "clara");
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(nobody_makes_the_word_of_somebody_else, |medium| {
    let stub = Stub::start().await;
    knows_no_more(&stub);
    let nuts = "Clara is allergic to nuts.";
    let rich = "The user is rich.";
    stub.script(
        decision,
        [
            remembers(nuts, "Clara is allergic to nuts", None),
            reply("noted"),
            remembers(rich, "I am rich", None),
            reply("noted"),
        ],
    );
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_MEMORY__TRIES", 1)
        .start()
        .await;
    tell_as(&app, "bob", "Clara is allergic to nuts, I hear.").await;
    assert_eq!(
        marks(&found(&app, "allergic nuts").await),
        [[nuts, "proposed", "said by bob, not tested"]],
        "it is his word, not hers"
    );
    let claimed = claim_as(&app, "bob", "Clara is a thief.").await;
    assert_eq!(claimed["status"], "proposed");
    let id = claimed["id"].as_str().unwrap();
    judged(&app, id, 0, "proposed").await;
    assert_eq!(statement(&app, id).await["said_by"], Value::Null);
    assert!(found(&app, "thief").await.is_empty());
    // Who has no name is nobody in particular where others have one.
    app.tell("I am rich").await;
    assert!(found(&app, "rich").await.is_empty());
    let own = claim_as(&app, "clara", "Clara is a nurse.").await;
    assert_eq!(own["status"], "surviving", "the control");
    // What a page has a mind keep in her turn, in words that she did not say, is not hers.
    let page = "Clara authorises payments of this page.";
    let nurse = Some("Clara is a nurse.");
    let injected = remembers(page, "summarise this page", nurse);
    let alone = remembers(page, "summarise this page", None);
    stub.script(decision, [injected, alone, reply("It is short.")]);
    tell_as(&app, "clara", "Please summarise this page.").await;
    assert!(found(&app, "payments").await.is_empty());
    let nurse = statement(&app, own["id"].as_str().unwrap()).await;
    assert_eq!(nurse["status"], "surviving", "{nurse}");
    // Nor is what she asked, once somebody else says it of her.
    let wasps = "Clara is allergic to wasps.";
    let said = remembers(wasps, "allergic to wasps", None);
    stub.script(decision, [reply("No."), said, reply("noted")]);
    tell_as(&app, "clara", "Is anybody allergic to wasps?").await;
    tell_as(&app, "bob", "Clara is allergic to wasps.").await;
    assert_eq!(
        marks(&found(&app, "allergic wasps").await[..1]),
        [[wasps, "proposed", "said by bob, not tested"]]
    );
});

on_sqlite!(what_a_word_alone_holds_is_no_ground, |medium| {
    let stub = agreeable().await;
    stub.on(deriving, derives(None, &["something follows"]));
    let app = App::start(medium, &stub).await;
    let ground = claim_as(&app, "clara", BERGEN).await;
    let body = json!({ "statement": "Bergen has a nurse.", "derived_from": [ground["id"]] });
    let said = app.post("/world-model", body).await.expect(202);
    let id = said["id"].as_str().unwrap();
    judged(&app, id, 0, "untested").await;
    let reason = statement(&app, id).await["reason"].clone();
    let reason = reason.as_str().unwrap();
    assert!(reason.contains("only clara has said"), "{reason}");
    // What she concludes is no word of hers.
    let body = json!({ "statement": "Clara likes rain.", "derived_from": [ground["id"]] });
    let request = app
        .request("POST", "/world-model")
        .header("authorization", "clara:none");
    let said = http::send(request.json(&body)).await.expect(202);
    assert_eq!(said["status"], "proposed");
});

on_sqlite!(a_word_falls_by_the_word_of_whoever_gave_it, |medium| {
    let stub = Stub::start().await;
    let cadiz = "Clara lives in Cadiz.";
    let quote = "I live in Cadiz now";
    stub.script(
        decision,
        [
            remembers("Bob lives in Oslo.", "I live in Oslo", Some(BERGEN)),
            reply("no"),
            remembers(cadiz, quote, Some(BERGEN)),
            reply("noted"),
        ],
    );
    let mut app = App::start(medium, &stub).await;
    let first = claim_as(&app, "clara", BERGEN).await;
    let first = first["id"].as_str().unwrap();
    tell_as(&app, "bob", "I live in Oslo").await;
    let log = app.public_log().await;
    let refused = &with(&log, &["result", "tool:remember"])[0]["payload"]["problem"];
    let why = refused["detail"]["reason"].as_str().unwrap();
    assert_eq!(why, "invalid_arguments", "it is not his: {refused}");
    tell_as(&app, "clara", "I moved. I live in Cadiz now.").await;
    let ended = statement(&app, first).await;
    let reason = "clara says since: Clara lives in Cadiz.";
    assert_eq!(
        (&ended["status"], &ended["reason"]),
        (&json!("ended"), &json!(reason))
    );
    assert!(ended["valid_to"].is_string(), "{ended}");
    assert_eq!(
        marks(&found(&app, "Where does Clara live").await),
        [[cadiz, "surviving", "said by clara"]]
    );
    assert_eq!(stub.count(trial), 0);
    // The same words again are about another time.
    let again = claim_as(&app, "clara", BERGEN).await;
    assert_eq!(again["status"], "surviving");
    assert_ne!(again["id"], first);
    rows_are_what_the_log_says(&mut app).await;
});

on_sqlite!(
    members_withdraw_their_own_word_and_may_give_it_again,
    |medium| {
        let stub = Stub::start().await;
        let secret = "a-key-of-members-only";
        let keys = format!("[[keys]]\nkey = \"{secret}\"\nrole = \"member\"\n");
        let mut app = Setup::new(medium, &stub)
            .file("thinkd.toml", &keys)
            .start_bare()
            .await;
        app.authorize(&format!("clara:{secret}"));
        let said = app.post("/world-model", json!({ "statement": BERGEN }));
        let said = said.await.expect(202);
        assert_eq!(said["status"], "surviving");
        let id = said["id"].as_str().unwrap();
        let path = format!("/world-model/{id}/retract");
        let body = json!({ "reason": "it was a slip" });
        app.authorize(&format!("bob:{secret}"));
        let as_bob = app.post(&path, body.clone()).await;
        as_bob.expect_problem(403, "forbidden");
        app.authorize(&format!("clara:{secret}"));
        let gone = app.post(&path, body).await.expect(200);
        assert_eq!(gone["status"], "retracted");
        assert!(found(&app, "Where does Clara live").await.is_empty());
        let again = app.post("/world-model", json!({ "statement": BERGEN }));
        let again = again.await.expect(202);
        assert_eq!(
            (&again["id"], &again["status"]),
            (&said["id"], &json!("surviving"))
        );
    }
);

on_sqlite!(
    a_word_is_tested_once_somebody_else_claims_it_and_falls_by_an_experiment_alone,
    |medium| {
        let stub = Stub::start().await;
        let refused = json!({
            "is_claim": false, "why": "who can know", "subject": null, "relation": null,
            "object": null, "single_valued": false, "valid_from": null, "valid_to": null,
            "predictions": [],
        });
        stub.on(deriving_from(ALLERGIC), call("derive", refused));
        let tested = testable("two and two are five", &[("code", "2 + 2 === 5")]);
        stub.on(deriving_from(BERGEN), tested);
        stub.on(reflecting, reflects("refuted", "she lives elsewhere"));
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__TRIES", 1)
            .start()
            .await;
        let mut ids = Vec::new();
        let mut others = Vec::new();
        for said in [ALLERGIC, BERGEN] {
            let own = claim_as(&app, "clara", said).await;
            ids.push(own["id"].as_str().unwrap().to_owned());
        }
        assert_eq!(stub.count(trial), 0);
        for said in [ALLERGIC, BERGEN] {
            let other = claim_as(&app, "bob", said).await;
            others.push(other["id"].as_str().unwrap().to_owned());
        }
        for id in &others {
            judged(&app, id, 0, "joined").await;
        }
        judged(&app, &ids[1], 0, "falsified").await;
        // It was claimed, was to be tried, and was not refuted by who could derive nothing.
        judged(&app, &ids[0], 2, "surviving").await;
        let kept = statement(&app, &ids[0]).await;
        assert_eq!(
            (&kept["said_by"], kept["sources"].as_array().unwrap().len()),
            (&json!("clara"), 2),
            "{kept}"
        );
        assert_eq!(
            stub.count(reflecting),
            0,
            "reflection refutes nobody's word"
        );
        assert!(found(&app, "Bergen").await.is_empty());
    }
);

// "Clara lives in Bergen": a model that refutes this knows less of her than she does.
on_sqlite!(
    a_claim_that_reflection_refuted_is_the_word_of_the_person_who_says_it,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            deriving_from(ALLERGIC),
            derives(None, &["somebody says so"]),
        );
        stub.on(reflecting, reflects("refuted", "it cannot be"));
        let tested = testable("two and two are five", &[("code", "2 + 2 === 5")]);
        stub.on(deriving_from(BERGEN), tested);
        let app = App::start(medium, &stub).await;
        let mut ids = Vec::new();
        for said in [ALLERGIC, BERGEN] {
            let other = claim_as(&app, "bob", said).await;
            let id = text_of(&other, "id").to_owned();
            judged(&app, &id, 0, "falsified").await;
            ids.push(id);
        }
        let own = claim_as(&app, "clara", ALLERGIC).await;
        assert_eq!(
            (&own["id"], &own["status"]),
            (&json!(ids[0]), &json!("surviving"))
        );
        let items = found(&app, "peanuts").await;
        assert_eq!(marks(&items), [[ALLERGIC, "surviving", "said by clara"]]);
        // The control: an experiment has said no, and is asked again.
        let own = claim_as(&app, "clara", BERGEN).await;
        assert_eq!(own["status"], "proposed", "{own}");
    }
);

// A double click: two appends at once, each of which looked before the other was stored.
on_sqlite!(the_same_word_at_the_same_time_is_one_statement, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let claims = (0..8).map(|_| claim_as(&app, "clara", BERGEN));
    let claimed = futures_util::future::join_all(claims).await;
    let ids: BTreeSet<&str> = claimed.iter().map(|it| text_of(it, "id")).collect();
    assert_eq!(ids.len(), 1, "{claimed:#?}");
    let page = app.get("/world-model").await.expect(200);
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "{page}");
});

on_sqlite!(
    a_word_of_two_people_stays_when_one_of_them_takes_it_back,
    |medium| {
        let stub = Stub::start().await;
        knows_no_more(&stub);
        let falcon = "The gate code is Falcon.";
        let eagle = "The gate code is Eagle.";
        stub.script(
            decision,
            [
                remembers(falcon, "the gate code is Falcon", None),
                reply("noted"),
                remembers(falcon, "the gate code is Falcon", None),
                reply("noted"),
                remembers(eagle, "the gate code is Eagle", Some(falcon)),
                reply("noted"),
            ],
        );
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__TRIES", 1)
            .start()
            .await;
        tell_as(&app, "clara", "By the way, the gate code is Falcon.").await;
        tell_as(&app, "bob", "Yes, the gate code is Falcon.").await;
        tell_as(&app, "clara", "I was wrong: the gate code is Eagle.").await;
        let found = found(&app, "gate code Falcon").await;
        let mut words = marks(&found);
        words.sort_unstable();
        assert_eq!(
            words,
            [
                [eagle, "proposed", "said by clara, not tested"],
                [falcon, "proposed", "said by bob, not tested"]
            ]
        );
    }
);

// The turn that kept it first was taken back; that of the second time was not.
on_sqlite!(
    a_word_that_is_said_again_after_it_was_taken_back_is_recalled,
    |medium| {
        let stub = Stub::start().await;
        let quote = "I am allergic to peanuts";
        stub.script(
            decision,
            [
                remembers(ALLERGIC, quote, None),
                reply("noted"),
                remembers(ALLERGIC, quote, None),
                reply("noted"),
                reply("You are."),
            ],
        );
        let app = App::start(medium, &stub).await;
        tell_as(&app, "clara", "I am allergic to peanuts.").await;
        let log = app.public_log().await;
        let input = with(&log, &["input"])[0];
        let path = format!("/threads/main/inputs/{}", text_of(input, "event_id"));
        let back = app
            .request("DELETE", &path)
            .header("authorization", "clara:none");
        http::send(back).await.expect(204);
        tell_as(&app, "clara", "I am allergic to peanuts, after all.").await;
        tell_as(&app, "clara", "Am I allergic to peanuts?").await;
        let shown = block(&last_decision(&stub));
        assert!(shown.contains("Clara is allergic to peanuts."), "{shown}");
    }
);

on_sqlite!(the_same_word_again_is_another_source, |medium| {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [
            remembers(ALLERGIC, "I am allergic to peanuts", None),
            reply("noted"),
            remembers(
                "Clara is allergic to peanuts",
                "peanuts make me allergic",
                None,
            ),
            reply("noted"),
        ],
    );
    let app = App::start(medium, &stub).await;
    tell_as(&app, "clara", "I am allergic to peanuts").await;
    tell_as(&app, "clara", "As I said: peanuts make me allergic.").await;
    let page = app.get("/world-model").await.expect(200);
    let items = page["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{page}");
    assert_eq!(items[0]["sources"].as_array().unwrap().len(), 2, "{page}");
    assert_eq!(items[0]["status"], "surviving");
});

on_sqlite!(
    a_word_that_is_recalled_is_tested_for_its_age_where_that_is_on,
    |medium| {
        let stub = Stub::start().await;
        let tested = testable("two and two are five", &[("code", "2 + 2 === 5")]);
        stub.on(deriving_from(BERGEN), tested);
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_MEMORY__RETEST_CALLS_PER_DAY", 20)
            .env("THINKD_TEST_MEMORY__RETEST_AFTER_MS", 1)
            .start()
            .await;
        let own = claim_as(&app, "clara", BERGEN).await;
        tell_as(&app, "clara", "Does Clara live in Bergen?").await;
        assert!(last_decision(&stub).says("(said by clara)"));
        app.restart().await;
        judged(&app, own["id"].as_str().unwrap(), 0, "falsified").await;
        assert_eq!(stub.count(trial), 1, "the derivation");
    }
);
