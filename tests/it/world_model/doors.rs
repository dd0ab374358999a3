//! The doors: refusals by name, the contents of a list, the statements held as of an event, and the
//! tool.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

on_sqlite!(
    d1_03_there_is_no_other_way_in_and_bad_claims_are_named,
    |medium| {
        let stub = agreeable().await;
        let app = App::start(medium, &stub).await;
        let remember = async |body: Value| app.post("/world-model", body).await;
        remember(json!({ "statement": "x".repeat(100_000) }))
            .await
            .expect_problem(400, "text-too-large");
        remember(json!({ "statement": "x".repeat(2001) }))
            .await
            .expect_problem(400, "text-too-large");
        remember(json!({ "statement": " \n " }))
            .await
            .expect_problem(400, "empty-input");
        remember(json!({ "statement": "a\u{0}b" }))
            .await
            .expect_problem(400, "nul-not-allowed");
        // Nobody says over HTTP what it is: a claim has no such members.
        for member in ["status", "triple", "predictions", "verdict", "valid_from"] {
            let mut body = json!({ "statement": "It is so." });
            body[member] = json!("surviving");
            remember(body).await.expect_problem(400, "unknown-member");
        }
        remember(json!({ "statement": "It is so.", "derived_from": ["nobody"] }))
            .await
            .expect_problem(404, "not-found");
        remember(json!({ "statement": "It is so.", "thread": "nobody" }))
            .await
            .expect_problem(404, "not-found");
        for method in ["PUT", "PATCH", "DELETE"] {
            let reply = http::send(
                app.request(method, "/world-model")
                    .json(&json!({ "status": "surviving" })),
            )
            .await;
            assert_eq!(reply.status, 405, "{method}");
        }
        let retract = async |id: &str, body: Value| {
            app.post(&format!("/world-model/{id}/retract"), body).await
        };
        let none = "0193b6c2-7c2e-7aaa-8000-0123456789ab";
        retract(none, json!({ "reason": "x" }))
            .await
            .expect_problem(404, "not-found");
        retract(none, json!({ "reason": "" }))
            .await
            .expect_problem(400, "empty-input");
        app.get(&format!("/world-model/{none}"))
            .await
            .expect_problem(404, "not-found");
        app.get("/world-model/nobody")
            .await
            .expect_problem(400, "invalid-id");
        app.get("/world-model?status=true")
            .await
            .expect_problem(400, "invalid-parameter");
        app.get("/world-model?at=yesterday")
            .await
            .expect_problem(400, "invalid-parameter");
        app.get("/world-model?entity=")
            .await
            .expect_problem(400, "invalid-parameter");
        assert!(
            held(&app, "limit=10").await.is_empty(),
            "nothing came of all that"
        );
        assert_eq!(stub.count(trial), 0);
        // The thread of the trials takes no messages, and nobody ends it.
        app.post("/threads/runs.trials/messages", json!({ "text": "hi" }))
            .await
            .expect_problem(422, "unprocessable");
    }
);

on_sqlite!(
    the_list_is_paged_and_filtered_and_says_what_was_held_as_of_an_event,
    |medium| {
        let stub = agreeable().await;
        let moves = [
            ("A is at B.", "B", Some("2001")),
            ("A is at C.", "C", Some("2005")),
            ("D is at B.", "B", None),
        ];
        for (text, place, from) in moves {
            let subject = &text[..1];
            let mut of = derived(
                Some([subject, "is at", place]),
                true,
                &[&format!("{text} 1")],
            );
            of["valid_from"] = json!(from);
            stub.on(deriving_from(text), call("derive", of));
        }
        stub.on(deriving, derives(None, &["one"]));
        let app = App::start(medium, &stub).await;
        for (text, word) in [
            ("A is at B.", "surviving"),
            ("D is at B.", "surviving"),
            ("A is at C.", "contested"),
        ] {
            tried(&app, text, word).await;
        }
        for at in 0..7 {
            tried(&app, &format!("Number {at}."), "surviving").await;
        }
        assert_eq!(held(&app, "limit=3").await.len(), 10, "in pages of three");
        assert_eq!(held(&app, "entity=a").await, ["A is at B.", "A is at C."]);
        assert_eq!(
            held(&app, "entity=B").await,
            ["A is at B.", "D is at B."],
            "as object, too"
        );
        assert_eq!(held(&app, "relation=IS+AT&limit=2").await.len(), 3);
        assert_eq!(held(&app, "text=number+4").await, ["Number 4."]);
        assert_eq!(
            held(&app, "status=contested").await,
            ["A is at B.", "A is at C."]
        );
        // The current value: the newest that is valid then, by code.
        assert_eq!(
            held(&app, "entity=A&relation=is+at&at=2003-01-01T00:00:00Z").await,
            ["A is at B."]
        );
        assert_eq!(
            held(&app, "entity=A&relation=is+at&at=2007-01-01T00:00:00Z").await,
            ["A is at C."]
        );
        assert!(
            held(&app, "entity=A&relation=is+at&at=1999-01-01T00:00:00Z")
                .await
                .is_empty()
        );
        // What was held before the last claim was judged.
        let third = app.get("/world-model?entity=C").await.expect(200)["items"][0].clone();
        let before = seq(&judged(&app, third["id"].as_str().unwrap(), 0, "contested").await) - 2;
        assert_eq!(
            held(&app, &format!("status=surviving&as_of={before}")).await,
            ["A is at B.", "D is at B."]
        );
        assert_eq!(
            held(&app, &format!("status=proposed&as_of={before}")).await,
            ["A is at C."]
        );
        assert!(held(&app, "as_of=0").await.is_empty());
        let cursor = app.get("/world-model?limit=1").await.expect(200)["next"]
            .as_str()
            .unwrap()
            .to_owned();
        app.get(&format!("/world-model?limit=1&entity=A&cursor={cursor}"))
            .await
            .expect_problem(400, "invalid-cursor");
    }
);

// D1.34: a fact that is claimed while a mind works is a hypothesis first.
on_sqlite!(
    a_mind_remembers_by_a_tool_that_answers_at_once_and_the_conversation_goes_on,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(deriving, derives(None, &["one"]).held(&gate));
        stub.on(reflecting, holds());
        // The words that it rests on stand in what was said, or it is not claimed.
        let claim = |quote: Option<&str>| json!({ "statement": "The library opens at nine.", "quote": quote, "derived_from": null });
        let wrong = call("remember", claim(Some("it opens at ten")));
        stub.script(
            decision,
            [
                wrong,
                call("remember", claim(Some("library  opens at nine"))),
                reply("Noted."),
            ],
        );
        let app = Setup::new(medium, &stub)
            .env("THINKD_TOOLS__CONVERSATION", "reply,remember")
            .start()
            .await;
        assert_eq!(
            said(&app.tell("the library opens at nine").await[0]),
            "Noted.",
            "while the trial has not begun"
        );
        let log = app.public_log().await;
        let results = with(&log, &["result", "tool:remember"]);
        assert!(
            said(results[0]).contains("do not stand in the last") && has(results[0], "failure"),
            "{}",
            results[0]
        );
        let result = results[1];
        let id = result["payload"]["output"]["statement"]
            .as_str()
            .unwrap()
            .to_owned();
        let input = seq(one(&log, &["input"]));
        let it = statement(&app, &id).await;
        assert_eq!(
            (&it["status"], &it["thread"]),
            (&json!("proposed"), &json!("main"))
        );
        assert_eq!(
            it["sources"][0]["seqs"],
            json!([input]),
            "it came from what the user said: {it}"
        );
        assert_eq!(it["sources"][0]["quote"], "library  opens at nine");
        gate.open();
        judged(&app, &id, 0, "surviving").await;
        assert_eq!(stub.count(decision), 3, "the verdict wakes nobody");
        // Nothing of a trial is in a view of the conversation.
        app.tell("and now?").await;
        let view = stub.all(decision).last().unwrap().text();
        assert!(
            !view.contains("surviving") && !view.contains("predictions"),
            "{view}"
        );
    }
);

// A claim comes from the event in which its quote stands; without one the mind has concluded it.
on_sqlite!(d1_34_a_claim_comes_from_where_its_quote_stands, |medium| {
    let stub = agreeable().await;
    let claim = |statement: &str, quote: Option<&str>| {
        let arguments = json!({ "statement": statement, "quote": quote, "derived_from": null });
        call("remember", arguments)
    };
    let app = Setup::new(medium, &stub)
        .env(
            "THINKD_TOOLS__CONVERSATION",
            "reply,remember,state_get,state_put",
        )
        .start()
        .await;
    let note = json!({ "key": "tower", "content": "Seen from afar: the tower is at Kello.", "related_keys": [] });
    stub.script(decision, [call("state_put", note), reply("Noted.")]);
    app.tell_in("notes", "Note what you have seen.").await;
    stub.script(
        decision,
        [
            call("state_get", json!({ "key": "tower" })),
            claim("The tower is at Kello.", Some("the tower is at  Kello")),
            claim("Towers are seen from afar.", None),
            reply("Noted."),
        ],
    );
    app.tell("Look it up.").await;
    // Words that stand in every talk are nobody's statement.
    stub.script(
        decision,
        [claim("The way.", None), reply("And the hill is at Bodo.")],
    );
    app.tell("By the way, the mill is at Tarn.").await;
    // Words of the mind, and words that say nothing of the statement, are nobody's.
    stub.script(
        decision,
        [
            claim("The hill is at Bodo.", Some("the hill is at Bodo")),
            claim("The mill is at Tarn.", Some("at")),
            claim("The mill is at Tarn.", Some("mill is at Ta")),
            claim("The mill is at Tarn.", Some("the mill is at Tarn")),
            reply("Noted."),
        ],
    );
    app.tell("Is it true that the mill is at Tarn?").await;
    let log = app.public_log().await;
    let source = async |statement: &str| {
        let claimed = with(&log, &["statement", "claimed"]);
        let claimed = claimed.iter().find(|it| it["payload"]["text"] == statement);
        let id = claimed.unwrap()["payload"]["statement"]
            .as_str()
            .unwrap()
            .to_owned();
        let source = self::statement(&app, &id).await["sources"][0].clone();
        (source["by"]["kind"].clone(), source["seqs"].clone())
    };
    let inputs = with(&log, &["input"]).into_iter();
    let inputs: Vec<i64> = inputs
        .filter(|it| it["thread"] == "main")
        .map(seq)
        .collect();
    let of_tool = ["action", "result"].map(|tag| seq(one(&log, &[tag, "tool:state_get"])));
    assert_eq!(
        source("The tower is at Kello.").await,
        (json!("mind"), json!(of_tool))
    );
    // The same over HTTP: the call comes with the result.
    let body = json!({
        "statement": "The tower is at Kello, they say.", "quote": "the tower is at Kello", "seq": of_tool[1],
    });
    let claimed = app.post("/world-model", body).await.expect(202);
    let claimed = statement(&app, claimed["id"].as_str().unwrap()).await;
    assert_eq!(claimed["sources"][0]["seqs"], json!(of_tool));
    let concluded = source("Towers are seen from afar.").await;
    assert_eq!(concluded, (json!("mind"), json!([inputs[0]])));
    assert_eq!(source("The way.").await.0, "mind");
    let said = source("The mill is at Tarn.").await;
    assert_eq!(said, (json!("user"), json!([inputs[1], inputs[2]])));
    let refused = with(&log, &["result", "tool:remember", "failure"]);
    let reason = |it: &Value| it["payload"]["problem"]["detail"]["reason"].clone();
    assert_eq!(refused.len(), 3);
    assert!(refused.iter().all(|it| reason(it) == "quote-not-found"));
});

// An address that takes a quote on trust would let anybody invent one.
on_sqlite!(
    d1_34_a_quote_over_http_is_checked_where_its_event_is_named,
    |medium| {
        let stub = agreeable().await;
        stub.on(decision, reply("So the mill is at Tarn."));
        let app = App::start(medium, &stub).await;
        app.tell("I hear the mill  is at Tarn.").await;
        let log = app.public_log().await;
        let said = seq(one(&log, &["input"]));
        let replied = seq(one(&log, &["response"]));
        let claim = async |quote: Value, seq: Value| {
            let body = json!({ "statement": "The mill is at Tarn.", "quote": quote, "seq": seq });
            app.post("/world-model", body).await
        };
        let quote = "the mill is at Tarn";
        let checked = claim(json!(quote), json!(said)).await.expect(202);
        assert_eq!(checked["quote"], "checked");
        let source = statement(&app, checked["id"].as_str().unwrap()).await["sources"][0].clone();
        assert_eq!(
            (&source["quote"], &source["seqs"]),
            (&json!(quote), &json!([said]))
        );
        let unchecked = claim(json!("as the sign has it"), Value::Null).await;
        assert_eq!(unchecked.expect(202)["quote"], "unchecked");
        let none = claim(Value::Null, Value::Null).await.expect(202);
        assert!(none.get("quote").is_none(), "{none}");
        // Words that say nothing of it, other words, words of the mind, and an event that is not there.
        let refused = claim(json!("at"), json!(said)).await.expect(422);
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains("says nothing"), "{detail}");
        for (quote, seq) in [
            ("the mill is at Kello", said),
            (quote, replied),
            (quote, said + 1_000_000),
        ] {
            let refused = claim(json!(quote), json!(seq)).await.expect(422);
            let detail = refused["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains(&format!("event {seq}")), "{detail}");
        }
        for (quote, seq) in [(Value::Null, json!(said)), (json!(quote), json!(0))] {
            let refused = claim(quote, seq).await.expect(400);
            assert_eq!(refused["errors"][0]["pointer"], "/seq", "{refused}");
        }
    }
);
