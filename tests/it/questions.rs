//! Questions to people: `ask_user` parks its call, and the answer is its result, through any door.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use futures_util::future::join_all;
use serde_json::{Value, json};
use thinkd_event::draft::DEPTH_MAX;

use kit::faults::pause;
use kit::*;

fn asks(more: Value) -> Answer {
    let mut arguments = json!({ "question": "Which colour?", "choices": null, "schema": null, "who": null, "expires_s": null });
    arguments
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    call("ask_user", arguments)
}

/// Has a question asked; the turn ends. The question's id.
async fn asked(app: &App, stub: &Stub, thread: &str, more: Value) -> String {
    stub.script(at(thread), [asks(more)]);
    app.tell_in(thread, "paint it").await;
    let open = app.pages(&format!("/questions?thread={thread}&")).await;
    open.last().unwrap_or_else(|| panic!("nothing is asked"))["question_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn answer(app: &App, id: &str, body: Value) -> Reply {
    app.post(&format!("/questions/{id}"), body).await
}

/// The result of the question of a thread, as soon as it is there; exactly one.
async fn result(app: &App, thread: &str) -> Value {
    app.until_some("a result", async || {
        let log = app.public_log().await;
        let results = with(&log, &["result", "tool:ask_user"]);
        let mut own = results.iter().filter(|event| event["thread"] == *thread);
        if let Some(first) = own.next() {
            assert_eq!(own.next(), None, "two results:\n{}", story(&log));
            return Some((*first).clone());
        }
        None
    })
    .await
}

on_both!(
    an_answer_is_the_result_of_the_call_that_asked_and_wakes_its_thread,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let id = asked(&app, &stub, "a", json!({})).await;
        let log = app.public_log().await;
        in_order(
            &log,
            &[
                &["action", "tool:ask_user"],
                &["question", "user"],
                &["turn", "ended"],
            ],
        );
        assert!(with(&log, &["result"]).is_empty(), "{}", story(&log));
        stub.script(at("a"), [reply("Blue it is.")]);
        let mut socket = app.socket().await;
        socket.follow(0, json!({ "thread": "a" })).await;
        answer(&app, &id, json!({ "text": "blue" }))
            .await
            .expect(204);
        socket.event("the reply", |e| has(e, "response")).await;
        assert_eq!(result(&app, "a").await["payload"]["output"], "blue");
        let log = app.public_log().await;
        in_order(
            &log,
            &[
                &["answer", "overrules"],
                &["result", "tool:ask_user"],
                &["turn", "started", "turn:2"],
                &["response"],
            ],
        );
        assert!(stub.nth(1, at("a")).await.says("blue"));
        assert_eq!(app.pages("/questions?").await, Vec::<Value>::new());
        let problem = answer(&app, &id, json!({ "text": "red" }))
            .await
            .expect_problem(409, "already-settled");
        assert!(
            problem["detail"].as_str().unwrap().contains("answered"),
            "{problem}"
        );
        answer(
            &app,
            &thinkd_words::id::fresh().to_string(),
            json!({ "text": "red" }),
        )
        .await
        .expect_problem(404, "not-found");
        answer(&app, &id, json!({}))
            .await
            .expect_problem(400, "empty-input");
    }
);

// A client that knows no `answer` frame answers by the next message, if there is one question that it can answer: one turn.
on_both!(the_next_message_answers_the_only_open_question, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    asked(&app, &stub, "a", json!({ "choices": ["red", "blue"] })).await;
    stub.script(at("a"), [reply("Choose."), reply("Blue it is.")]);
    let event_id = thinkd_words::id::fresh().to_string();
    let said_so = json!({ "type": "message", "thread": "a", "text": "blue", "event_id": event_id });
    // What cannot be the answer is a message; what is perceived is none.
    app.tell_in("a", "what else is there?").await;
    assert_eq!(app.pages("/questions?").await.len(), 1);
    let mut socket = app.socket().await;
    socket.follow(0, json!({ "thread": "a" })).await;
    let ack = socket.ask(said_so.clone()).await;
    assert_eq!(ack["events"].as_array().unwrap().len(), 1, "{ack}");
    socket
        .event("the reply", |e| {
            has(e, "response") && said(e) == "Blue it is."
        })
        .await;
    let log = app.public_log().await;
    let input = one(&log, &["input", "answer"]);
    assert_eq!(said(input), "blue");
    assert_eq!(result(&app, "a").await["payload"]["output"], "blue");
    assert_eq!(
        with(&log, &["turn", "started"]).len(),
        3,
        "one turn for it:\n{}",
        story(&log)
    );
    // The same again is known, although no question is open any more.
    assert_eq!(socket.ask(said_so).await["status"], "duplicate");
    assert_eq!(app.pages("/questions?").await, Vec::<Value>::new());
});

// With two open questions a message answers none, and what is perceived never does.
on_both!(
    of_two_questions_a_message_answers_none_and_nothing_perceived_is_an_answer,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let second = json!({ "question": "How big?", "choices": null, "schema": null, "who": null, "expires_s": null });
        stub.script(
            at("a"),
            [
                asks(json!({})).and("ask_user", second),
                reply("Of which?"),
                reply("Thanks."),
                reply("Hm."),
            ],
        );
        app.tell_in("a", "paint it").await;
        app.tell_in("a", "blue").await;
        let open = app.pages("/questions?").await;
        assert_eq!(open.len(), 2, "{open:?}");
        let mut socket = app.socket().await;
        socket.follow(0, json!({ "thread": "a" })).await;
        answer(
            &app,
            open[0]["question_id"].as_str().unwrap(),
            json!({ "text": "blue" }),
        )
        .await
        .expect(204);
        socket
            .event("thanks", |e| has(e, "response") && said(e) == "Thanks.")
            .await;
        socket
            .ask(json!({ "type": "sensory", "thread": "a", "text": "huge" }))
            .await;
        socket
            .event("a reply", |e| has(e, "response") && said(e) == "Hm.")
            .await;
        assert_eq!(
            app.pages("/questions?").await.len(),
            1,
            "what is perceived is no answer"
        );
    }
);

// The schema, the choices and who may answer are held to; the question stays open.
on_both!(
    an_answer_fits_what_is_asked_and_comes_from_who_may_answer,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer", "minimum": 1 } }, "required": ["n"] });
        let id = asked(&app, &stub, "a", json!({ "schema": schema.to_string() })).await;
        for wrong in [
            json!({ "text": "many" }),
            json!({ "value": { "n": 0 } }),
            json!({ "value": [] }),
        ] {
            answer(&app, &id, wrong)
                .await
                .expect_problem(422, "invalid-arguments");
        }
        answer(&app, &id, json!({ "value": { "n": 3 } }))
            .await
            .expect(204);
        assert_eq!(
            result(&app, "a").await["payload"]["output"],
            json!({ "n": 3 })
        );
        let id = asked(&app, &stub, "b", json!({ "choices": ["red", "blue"] })).await;
        answer(&app, &id, json!({ "text": "green" }))
            .await
            .expect_problem(422, "invalid-arguments");
        let mut socket = app.socket().await;
        assert_eq!(
            socket
                .ask(json!({ "type": "answer", "question": id, "text": "red" }))
                .await["type"],
            "ack"
        );
        let id = asked(&app, &stub, "c", json!({ "who": ["ada"] })).await;
        answer(&app, &id, json!({ "text": "red" }))
            .await
            .expect_problem(403, "forbidden");
        let by = |name: &str| {
            app.request("POST", &format!("/questions/{id}"))
                .header("authorization", format!("{name}:none"))
        };
        http::send(by("bob").json(&json!({ "text": "red" })))
            .await
            .expect_problem(403, "forbidden");
        assert_eq!(app.pages("/questions?thread=c&").await.len(), 1);
        http::send(by("ada").json(&json!({ "text": "red" })))
            .await
            .expect(204);
        assert_eq!(result(&app, "c").await["payload"]["output"], "red");
        let log = app.public_log().await;
        let given = with(&log, &["answer"])
            .into_iter()
            .find(|it| it["thread"] == "c")
            .unwrap();
        assert_eq!(given["payload"]["by"], "ada");
        // What is around a choice is nothing; how deep an answer may be has a limit.
        let id = asked(&app, &stub, "d", json!({ "choices": ["red", "blue"] })).await;
        answer(&app, &id, json!({ "text": " red\n" }))
            .await
            .expect(204);
        let id = asked(&app, &stub, "e", json!({ "schema": "{}" })).await;
        let deep = (0..DEPTH_MAX - 2).fold(json!(1), |inside, _| json!([inside]));
        let problem = answer(&app, &id, json!({ "value": deep }))
            .await
            .expect_problem(422, "invalid-arguments");
        assert!(
            problem["detail"].as_str().unwrap().contains("deep"),
            "{problem}"
        );
    }
);

// By the next message answers who may: the words of another stay a message, and so does a picture.
on_both!(
    a_message_answers_only_from_who_may_and_only_in_words,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        asked(&app, &stub, "a", json!({ "who": ["ada"] })).await;
        let say = async |name: &str, body: Value| {
            let request = app
                .request("POST", "/threads/a/messages?wait=15")
                .header("authorization", format!("{name}:none"));
            http::send(request.json(&body)).await.expect(200)
        };
        say("bob", json!({ "text": "red" })).await;
        say(
            "ada",
            json!({ "audio": [{ "data": kit::media::WAV, "mimeType": "audio/wav" }] }),
        )
        .await;
        assert_eq!(app.pages("/questions?").await.len(), 1, "it is open");
        say("ada", json!({ "text": "red" })).await;
        assert_eq!(app.pages("/questions?").await, Vec::<Value>::new());
        assert_eq!(result(&app, "a").await["payload"]["output"], "red");
    }
);

// Nobody answers: the call has failed, and its thread is told. A schema that is none is refused at once.
on_both!(a_question_expires_and_a_schema_is_checked, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    // On a busy machine the second may be over before anybody sees the question open.
    stub.script(at("a"), [asks(json!({ "expires_s": 1 }))]);
    app.say_in("a", "paint it").await;
    let gone = result(&app, "a").await;
    assert!(has(&gone, "failure") && has(&gone, "timeout"), "{gone}");
    assert!(
        stub.nth(1, at("a")).await.says("nobody answered in time"),
        "its thread is told"
    );
    let log = app.public_log().await;
    in_order(
        &log,
        &[
            &["question", "user"],
            &["answer", "expired"],
            &["result", "tool:ask_user"],
        ],
    );
    stub.script(
        at("b"),
        [
            asks(json!({ "schema": "{\"type\": \"colour\"}" })),
            reply("Oh."),
        ],
    );
    app.tell_in("b", "paint it").await;
    assert!(said(&result(&app, "b").await).contains("schema"));
    let twice = json!({ "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/b" }, { "$ref": "#/$defs/b" }] }, "b": {} }, "$ref": "#/$defs/a" });
    stub.script(
        at("c"),
        [asks(json!({ "schema": twice.to_string() })), reply("Oh.")],
    );
    app.tell_in("c", "paint it").await;
    assert!(said(&result(&app, "c").await).contains("$ref"));
    assert_eq!(app.pages("/questions?").await, Vec::<Value>::new());
});

// The server stands still while questions expire: what is said then is a message, whether the end was written down before it or not.
on_both!(
    a_message_behind_the_end_of_a_question_is_no_answer,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let threads: Vec<String> = (0..16).map(|n| format!("t{n}")).collect();
        stub.on(decision, asks(json!({ "expires_s": 2 })));
        join_all(threads.iter().map(|thread| app.tell_in(thread, "paint it"))).await;
        stub.clear();
        let (said, _) = tokio::join!(
            join_all(threads.iter().map(async |thread| {
                // Behind the time of the questions, while the server stands still.
                tokio::time::sleep(ms(2200)).await;
                app.say_in(thread, "blue").await
            })),
            pause(&app, ms(2500))
        );
        assert_eq!(said.len(), threads.len());
        for thread in &threads {
            let gone = result(&app, thread).await;
            assert!(has(&gone, "failure") && has(&gone, "timeout"), "{gone}");
        }
    }
);

// The end of its thread withdraws a question; after a kill it is still open.
on_both!(
    a_question_survives_a_kill_and_ends_with_its_thread,
    |medium| {
        let stub = Stub::start().await;
        let mut app = Setup::new(medium, &stub).voices(&[]).start().await;
        let id = asked(&app, &stub, "a", json!({})).await;
        app.kill();
        app.start_again().await;
        assert_eq!(app.pages("/questions?").await.len(), 1);
        app.post("/threads/a/end", json!({})).await.expect(200);
        assert!(has(&result(&app, "a").await, "failure"));
        answer(&app, &id, json!({ "text": "blue" }))
            .await
            .expect_problem(409, "already-settled");
    }
);

// D1.60, T1.28: while people are away nobody is asked, what is open is answered at once, and a call that waits for a yes goes on waiting.
on_both!(
    d1_60_while_people_are_away_no_question_reaches_them_and_no_call_is_granted,
    |medium| {
        let stub = Stub::start().await;
        let setup = Setup::new(medium, &stub)
            .voices(&[])
            .file("thinkd.toml", "[tools]\napproval = [\"state_put\"]\n");
        let mut app = setup.start().await;
        asked(&app, &stub, "a", json!({})).await;
        let put = json!({ "key": "k", "content": "c", "related_keys": [] });
        stub.script(at("b"), [call("state_put", put), reply("I have asked.")]);
        app.tell_in("b", "put it").await;
        let away = async |app: &App, is: bool| {
            let body = json!({ "settings": { "user_away": is } });
            http::send(app.request("PUT", "/settings").json(&body))
                .await
                .expect(200);
        };
        stub.script(at("a"), [reply("Then I choose.")]);
        let mut socket = app.socket().await;
        socket.follow(0, json!({ "thread": "a" })).await;
        away(&app, true).await;
        socket
            .event("the reply", |e| {
                has(e, "response") && said(e) == "Then I choose."
            })
            .await;
        let log = app.public_log().await;
        in_order(
            &log,
            &[
                &["question", "user"],
                &["answer", "away"],
                &["result", "tool:ask_user"],
            ],
        );
        assert_eq!(result(&app, "a").await["payload"]["output"], "away");
        // A new one is not asked, and whoever would have asked is told.
        stub.script(at("c"), [asks(json!({})), reply("I do without.")]);
        assert_eq!(
            said(&app.tell_in("c", "paint it").await[0]),
            "I do without."
        );
        let told = result(&app, "c").await;
        assert!(
            has(&told, "failure") && said(&told).contains("away"),
            "{told}"
        );
        assert_eq!(app.pages("/questions?").await, Vec::<Value>::new());
        assert_eq!(
            app.pages("/approvals?").await.len(),
            1,
            "an approval is never granted by it"
        );
        app.restart().await;
        assert_eq!(app.pages("/approvals?").await.len(), 1);
        // Back again, without a restart.
        away(&app, false).await;
        asked(&app, &stub, "d", json!({})).await;
    }
);

// A list is of one kind, of one thread where it is named, and goes on behind what was shown.
on_both!(
    what_waits_is_listed_by_kind_and_thread_and_in_pages,
    |medium| {
        let stub = Stub::start().await;
        let setup = Setup::new(medium, &stub)
            .voices(&[])
            .file("thinkd.toml", "[tools]\napproval = [\"state_put\"]\n");
        let app = setup.start().await;
        let put = json!({ "key": "k", "content": "c", "related_keys": [] });
        for thread in ["a", "b"] {
            let question = json!({ "question": "?", "choices": null, "schema": null, "who": null, "expires_s": null });
            let calls = call("state_put", put.clone())
                .and("ask_user", question.clone())
                .and("state_put", put.clone());
            stub.script(
                at(thread),
                [calls.and("ask_user", question), reply("I have asked.")],
            );
            app.tell_in(thread, "go on").await;
        }
        for (path, whole) in [
            ("/approvals?", 4),
            ("/questions?", 4),
            ("/approvals?thread=a&", 2),
            ("/questions?thread=b&", 2),
        ] {
            let mut found = Vec::new();
            let mut cursor = String::new();
            for _ in 0..whole {
                let page = app.get(&format!("{path}limit=1{cursor}")).await.expect(200);
                assert_eq!(page["items"].as_array().unwrap().len(), 1, "{path}");
                found.push(page["items"][0].clone());
                cursor = page["next"]
                    .as_str()
                    .map(|next| format!("&cursor={next}"))
                    .unwrap_or_default();
            }
            assert_eq!(cursor, "", "{path}: there is no more");
            assert!(
                found.is_sorted_by(|one, other| seq(one) < seq(other)),
                "{path}: {found:?}"
            );
            let key = if path.contains("approvals") {
                "approval_id"
            } else {
                "question_id"
            };
            let thread = path
                .split("thread=")
                .nth(1)
                .map(|rest| rest.trim_end_matches('&'));
            assert!(
                found
                    .iter()
                    .all(|it| it[key].is_string() && thread.is_none_or(|of| it["thread"] == of)),
                "{path}"
            );
        }
    }
);

// What would be too much to show, to check or to keep open is refused at once, and the mind is told why.
on_both!(questions_have_bounds, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .voices(&[])
        .env("THINKD_TEST_TOOLS__OPEN_REQUESTS", 1)
        .start()
        .await;
    let asks = |more: Value| {
        let mut arguments = json!({ "question": "?", "choices": null, "schema": null, "who": null, "expires_s": null });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        arguments
    };
    let many: Vec<String> = (0..33).map(|number| number.to_string()).collect();
    let deep = (0..33).fold(json!({}), |inside, _| json!({ "not": inside }));
    let wrong = [
        (asks(json!({ "question": " " })), "empty"),
        (asks(json!({ "choices": many })), "at most 32"),
        (asks(json!({ "who": many })), "at most 32"),
        (
            asks(json!({ "schema": json!({ "title": "x".repeat(17_000) }).to_string() })),
            "bytes",
        ),
        (asks(json!({ "schema": deep.to_string() })), "deep"),
        (asks(json!({})), ""),
        (asks(json!({})), "wait for people already"),
    ];
    let all = wrong.iter().fold(text(""), |calls, (arguments, _)| {
        calls.and("ask_user", arguments.clone())
    });
    stub.script(at("a"), [all, reply("I see.")]);
    app.tell_in("a", "ask them").await;
    let log = app.public_log().await;
    let results = with(&log, &["result", "tool:ask_user", "failure"]);
    let whys: Vec<&str> = wrong
        .iter()
        .map(|(_, why)| *why)
        .filter(|why| !why.is_empty())
        .collect();
    assert_eq!(results.len(), whys.len(), "{}", story(&log));
    for (result, why) in results.iter().zip(whys) {
        assert!(said(result).contains(why), "{why}: {}", said(result));
    }
    assert_eq!(app.pages("/questions?").await.len(), 1);
});
