//! The door for clients of OpenAI's chat completions: a client sends the whole conversation with
//! each message, and talks in a thread of the server nonetheless.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use futures_util::future::join_all;
use serde_json::{Value, json};

use kit::door::chat::*;
use kit::door::inputs;
use kit::media::PNG;
use kit::*;

mod in_a_row;
mod open_webui;
mod retries;

/// A server with a decision that repeats the last message.
async fn echo(medium: Medium) -> (Stub, App) {
    let stub = Stub::start().await;
    stub.on_each(decision, |request| {
        reply(&format!("ok: {}", request.last_user())).usage(7, 3, 2)
    });
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    (stub, app)
}

async fn threads(app: &App) -> usize {
    app.pages("/threads?").await.len()
}

on_both!(
    a_conversation_that_is_sent_whole_goes_on_in_one_thread,
    |medium| {
        let (stub, app) = echo(medium).await;
        let mut client = Client::new().adds("system", "Speak like a pirate.");
        let first = client.says(&app, "one").await;
        assert_eq!(first.text, "ok: one");
        assert_eq!(first.body["object"], "chat.completion");
        assert_eq!(first.body["choices"][0]["finish_reason"], "stop");
        assert_eq!(first.body["usage"]["prompt_tokens"], 7, "{}", first.body);
        assert_eq!(first.body["usage"]["completion_tokens"], 3);
        assert_eq!(first.body["usage"]["total_tokens"], 10);
        let second = client.says(&app, "two").await;
        assert_eq!(
            (second.text.as_str(), &second.thread),
            ("ok: two", &first.thread)
        );
        assert_eq!(inputs(&app, &first.thread).await, ["one", "two"]);
        assert!(stub.nth(1, decision).await.says("Speak like a pirate."));
        // Native clients see the same thread, and their words do not part the conversation.
        app.tell_in(&first.thread, "from elsewhere").await;
        let third = client.says(&app, "three").await;
        assert_eq!(third.thread, first.thread);
        assert!(stub.nth(3, decision).await.says("from elsewhere"));
        assert_eq!(threads(&app).await, 1);
    }
);

on_both!(
    fifty_people_who_say_the_same_with_one_key_have_fifty_threads,
    |medium| {
        let (_stub, app) = echo(medium).await;
        let talk = async |number: usize| {
            let mut client = Client::new();
            let first = client.says(&app, "hi").await;
            let secret = format!("secret {number}");
            let second = client.says(&app, &secret).await;
            let third = client.says(&app, "and again").await;
            assert_eq!(second.thread, third.thread);
            let log = inputs(&app, &third.thread).await;
            assert_eq!(log, ["hi", &secret, "and again"], "nobody else's words");
            assert_eq!(first.text, "ok: hi");
            third.thread
        };
        let mut used = join_all((0..50).map(talk)).await;
        used.sort();
        used.dedup();
        assert_eq!(used.len(), 50);
    }
);

on_both!(
    the_same_again_is_another_answer_and_another_word_a_branch,
    |medium| {
        let (_stub, app) = echo(medium).await;
        let mut client = Client::new();
        client.says(&app, "one").await;
        let before = client.clone();
        let two = client.says(&app, "two").await;
        client.says(&app, "three").await;

        // Regenerated: the same list again.
        let mut again = before.clone();
        let other = again.says(&app, "two").await;
        assert_ne!(other.thread, two.thread);
        assert_eq!(inputs(&app, &other.thread).await, ["one", "two"]);
        let row = app
            .get(&format!("/threads/{}", other.thread))
            .await
            .expect(200);
        assert_eq!(row["forked_from"]["thread"], two.thread.as_str());
        // Edited: other words at the same place.
        let mut edited = before.clone();
        let edit = edited.says(&app, "deux").await;
        assert_eq!(inputs(&app, &edit.thread).await, ["one", "deux"]);
        // Each branch goes on where it is, and what was said stays.
        let on = edited.says(&app, "trois").await;
        assert_eq!(on.thread, edit.thread);
        assert_eq!(client.says(&app, "four").await.thread, two.thread);
        assert_eq!(
            inputs(&app, &two.thread).await,
            ["one", "two", "three", "four"]
        );
        assert_eq!(threads(&app).await, 3);
    }
);

on_both!(
    a_stream_comes_in_pieces_and_ends_as_clients_expect,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let answer = reply("The sea is wide and deep.")
            .usage(5, 6, 0)
            .paused(3, &gate);
        stub.on(decision, answer);
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let client = Client::new().adds("user", "the sea?");
        let usage = json!({ "stream": true, "stream_options": { "include_usage": true } });
        let sent = client.request(&app, usage).send();
        // The beginning is there while the model still answers.
        let mut response = within("the head", sent).await.unwrap();
        let first = within("a piece", response.chunk()).await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&first).contains(r#""role":"assistant""#));
        gate.open();
        let (pieces, done) = pieces(response).await;
        assert!(done);
        assert_eq!(words_of(&pieces), "The sea is wide and deep.");
        let usage = &pieces[pieces.len() - 1];
        assert_eq!(
            (&usage["choices"], &usage["usage"]["total_tokens"]),
            (&json!([]), &json!(11))
        );
        assert_eq!(
            pieces[pieces.len() - 2]["choices"][0]["finish_reason"],
            "stop"
        );
        let ids: std::collections::BTreeSet<_> =
            pieces.iter().map(|it| it["id"].as_str()).collect();
        assert_eq!(ids.len(), 1);
    }
);

on_both!(
    a_client_that_hangs_up_stops_its_turn_and_no_other,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let held = gate.clone();
        stub.on_each(decision, move |request| {
            let answer = reply(&format!("ok: {}", request.last_user()));
            if request.last_user() == "quick" {
                answer
            } else {
                answer.held(&held)
            }
        });
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        for stream in [false, true] {
            let label = format!("stop-{stream}");
            let thread = app.conversation(json!({ "label": label })).await;
            let client = Client::of(&thread).adds("user", "slow");
            let sent = client.request(&app, json!({ "stream": stream })).send();
            let asked = stub.all(decision).len();
            let sent = tokio::spawn(async move {
                // A stream is there at once, and is held.
                let response = sent.await;
                std::future::pending::<()>().await;
                drop(response);
            });
            stub.nth(asked, decision).await;
            sent.abort();
            let over = app.since(0);
            let _ = over.await;
            within("the end of the turn", async {
                loop {
                    let events = app
                        .pages(&format!("/events?thread={thread}&tags=ended&"))
                        .await;
                    if let Some(ended) = events.first() {
                        assert_eq!(ended["payload"]["outcome"], "cancelled");
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            })
            .await;
        }
        // One whose message waits behind another's turn takes it back, and that turn goes on.
        let other = app.say_in("shared", "slow").await;
        stub.nth(2, decision).await;
        let client = Client::of("shared").adds("user", "never mind");
        let sent = client.request(&app, json!({})).send();
        let sent = tokio::spawn(sent);
        within("the message", async {
            while inputs(&app, "shared").await.len() < 2 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        sent.abort();
        within("its end", async {
            while app
                .pages("/events?thread=shared&tags=withdrawn&")
                .await
                .is_empty()
            {
                tokio::task::yield_now().await;
            }
        })
        .await;
        gate.open();
        let after = app.tell_in("shared", "quick").await;
        assert_eq!(said(after.last().unwrap()), "ok: quick");
        assert!(seq(&after[0]) > other["events"][0]["seq"].as_i64().unwrap());
        let ended = app
            .pages("/events?thread=shared&tags=ended&order=asc&")
            .await;
        assert_eq!(ended[0]["payload"]["outcome"], "done");
    }
);

on_both!(a_request_that_comes_again_makes_no_second_turn, |medium| {
    let (stub, app) = echo(medium).await;
    // By the client's id of the message, also the first one, and at once.
    let client = Client::new()
        .adds("user", "one")
        .header("idempotency-key", "k-1");
    let answers = join_all((0..4).map(|_| client.asks(&app))).await;
    let thread = &answers[0].thread;
    assert!(
        answers
            .iter()
            .all(|it| it.text == "ok: one" && it.thread == *thread)
    );
    assert_eq!(stub.count(decision), 1);
    let other = client.clone().adds("user", "more");
    let error = other.is_refused(&app, json!({}), 409).await;
    assert_eq!(error["code"], "event-conflict");
    // By the count of tries that OpenAI's own clients send.
    let mut talk = Client::new();
    talk.says(&app, "two").await;
    let before = talk.clone();
    let three = talk.says(&app, "three").await;
    let retry = before
        .adds("user", "three")
        .header("x-stainless-retry-count", "1");
    let again = retry.asks(&app).await;
    assert_eq!((&again.text, &again.thread), (&three.text, &three.thread));
    assert_eq!(stub.count(decision), 3);
});

on_both!(a_thousand_repeated_messages_are_told_once, |medium| {
    let (_stub, app) = echo(medium).await;
    let mut client = Client::new();
    let long = "w".repeat(100);
    for number in 0..6 {
        client.says(&app, &format!("{number} {long}")).await;
    }
    let thread = client.says(&app, "last").await.thread;
    assert_eq!(inputs(&app, &thread).await.len(), 7);
    // Of a conversation that the log does not have, the client's words are told before the message.
    let mut foreign = Client::new();
    for number in 0..500 {
        foreign = foreign
            .adds("user", format!("q{number}"))
            .adds("assistant", format!("a{number}"));
    }
    let first = foreign.says(&app, "what was that?").await;
    let told = inputs(&app, &first.thread).await;
    assert!(
        told[0].contains("> user: q499\n> assistant: a499") && told[0].ends_with("what was that?")
    );
    let second = foreign.says(&app, "and now?").await;
    assert_eq!(second.thread, first.thread);
    assert_eq!(inputs(&app, &second.thread).await[1], "and now?");
});

on_both!(
    words_in_the_place_of_an_answer_that_was_cut_off_are_told_in_the_same_thread,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(decision, |request| match request.last_user().as_str() {
            "fail" => status(401),
            said => reply(&format!("ok: {said}")),
        });
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let mut client = Client::new();
        let first = client.says(&app, "one").await;
        let failing = client.clone().adds("user", "fail");
        let failed = failing.request(&app, json!({})).send().await.unwrap();
        assert_eq!(failed.status(), 424);
        // A chat page that was stopped says so; another one asks another model.
        let next = failing
            .adds("assistant", "Task manually stopped.")
            .adds("user", "go on")
            .asks(&app)
            .await;
        assert_eq!(next.thread, first.thread);
        let told = inputs(&app, &first.thread).await;
        assert_eq!(told[..2], ["one", "fail"]);
        assert!(told[2].contains("> assistant: Task manually stopped."));
        assert!(told[2].ends_with("go on") && !told[2].contains("ok: one"));
    }
);

on_both!(
    a_list_that_contradicts_the_log_is_a_fork_with_what_the_client_says,
    |medium| {
        let (_stub, app) = echo(medium).await;
        let mut client = Client::new();
        let first = client.says(&app, "one").await;
        let second = Client::new()
            .adds("user", "one")
            .adds("assistant", "ok: one")
            .adds("user", "two")
            .adds("assistant", "the client changed this answer")
            .adds("user", "three")
            .asks(&app)
            .await;
        let row = app
            .get(&format!("/threads/{}", second.thread))
            .await
            .expect(200);
        assert_eq!(row["forked_from"]["thread"], first.thread.as_str());
        let told = inputs(&app, &second.thread).await;
        assert_eq!(told[0], "one");
        assert!(told[1].contains("the client changed this answer") && told[1].ends_with("three"));
        assert!(
            !told[1].contains("ok: one"),
            "the log has this already: {}",
            told[1]
        );
        // A list that begins with the assistant, as of a page with a greeting.
        let greeted = Client::new()
            .adds("assistant", "Welcome!")
            .adds("user", "hi")
            .asks(&app)
            .await;
        assert!(inputs(&app, &greeted.thread).await[0].contains("> assistant: Welcome!"));
    }
);

on_both!(
    several_kinds_of_clients_talk_in_one_named_thread,
    |medium| {
        let (stub, app) = echo(medium).await;
        app.tell("native").await;
        let mut client = Client::of("main").adds("system", "Be brief.");
        let one = client.says(&app, "one").await;
        assert_eq!(one.thread, "main");
        app.tell("native again").await;
        let two = client.says(&app, "two").await;
        assert_eq!(two.thread, "main");
        let told = inputs(&app, "main").await;
        let last = ["native again", "two"];
        assert_eq!((told.len(), &told[2..]), (4, &last.map(str::to_owned)[..]));
        assert!(told[1].contains("Be brief.") && told[1].ends_with("one"));
        assert!(stub.nth(3, decision).await.says("native again"));
        // A client that sends the last message alone speaks there, too.
        assert_eq!(
            Client::of("main")
                .adds("user", "alone")
                .asks(&app)
                .await
                .thread,
            "main"
        );
        // One that knows an answer from elsewhere is no contradiction.
        let knows = Client::of("main")
            .adds("user", "x")
            .adds("assistant", "ok: native");
        assert_eq!(knows.adds("user", "so?").asks(&app).await.thread, "main");
        // The same again is another answer, and so a fork.
        let mut again = Client::of("main")
            .adds("system", "Be brief.")
            .adds("user", "one");
        again = again.adds("assistant", one.text);
        let fork = again.says(&app, "two").await;
        assert_ne!(fork.thread, "main");
    }
);

on_both!(
    a_question_and_a_waiting_call_are_told_and_answered_by_the_next_message,
    |medium| {
        let stub = Stub::start().await;
        let asks = json!({ "question": "Red or blue?", "choices": ["red", "blue"], "schema": null, "who": null, "expires_s": null });
        stub.script(decision, [call("ask_user", asks), reply("Blue it is.")]);
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let mut client = Client::new();
        let asked = client.says(&app, "paint it").await;
        assert_eq!(asked.text, "Red or blue?\n- red\n- blue");
        let done = client.says(&app, "blue").await;
        assert_eq!(
            (done.text.as_str(), &done.thread),
            ("Blue it is.", &asked.thread)
        );
        assert_eq!(app.pages("/events?tags=answer&").await.len(), 1);
    }
);

on_both!(
    a_side_call_is_answered_outside_of_the_log_and_counted,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, reply("Fine."));
        stub.on(any, text("A Title").usage(20, 4, 0));
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let mut client = Client::new();
        client.says(&app, "how are you?").await;
        let before = app.public_log().await.len();
        let marked = Client::new()
            .header("x-openwebui-task", "title_generation")
            .adds("user", "Name this chat.");
        assert_eq!(marked.asks(&app).await.text, "A Title");
        let worded = Client::new().adds("user", "### Task:\nGenerate tags for: secret words");
        let response = worded
            .request(&app, json!({ "stream": true }))
            .send()
            .await
            .unwrap();
        let (pieces, done) = pieces(response).await;
        assert!(done && words_of(&pieces) == "A Title");
        assert_eq!(app.public_log().await.len(), before);
        assert!(
            !app.log()
                .await
                .iter()
                .any(|event| event.to_string().contains("secret words"))
        );
        let usage = app.get("/usage?by=purpose").await.expect(200);
        assert!(usage.to_string().contains("\"side\""), "{usage}");
    }
);

on_both!(
    what_is_refused_is_said_in_this_protocols_words_and_stores_nothing,
    |medium| {
        let (_stub, app) = echo(medium).await;
        app.tell("so that the space is there").await;
        let before = app.log().await.len();
        let hi = || Client::new().adds("user", "hi");
        let none = json!({});
        let model = |model: &str| Client {
            model: model.to_owned(),
            ..hi()
        };
        for (client, more, status, code, param) in [
        (model("gpt-4o"), none.clone(), 404, "not-found", "model"),
        (model("thinkd/..bad"), none.clone(), 404, "not-found", "model"),
        (Client::new(), none.clone(), 400, "empty-input", "messages"),
        (Client::new().adds("user", "  "), none.clone(), 400, "empty-input", "messages[0]"),
        (hi().adds("assistant", "ho"), none.clone(), 400, "empty-input", "messages[1]"),
        (hi().adds("king", "ho"), none.clone(), 400, "invalid-frame", "messages[1].role"),
        (hi().adds("tool", "4"), none.clone(), 400, "invalid-frame", "messages[1].tool_call_id"),
        (hi().adds("user", json!(4)), none.clone(), 400, "invalid-frame", "messages[1].content"),
        (hi(), json!({ "messages": 4 }), 400, "invalid-frame", "messages"),
        (hi(), json!({ "n": 2 }), 422, "unprocessable", "n"),
        (hi(), json!({ "stream": "yes" }), 400, "invalid-frame", "stream"),
        (hi(), json!({ "functions": [{ "name": "f" }] }), 422, "unprocessable", "functions"),
        (hi(), json!({ "tools": [{ "type": "custom", "custom": { "name": "f" } }] }), 422, "unprocessable", "tools[0].type"),
        (hi(), json!({ "response_format": { "type": "yaml" } }), 400, "invalid-frame", "response_format"),
        (Client::new().adds("user", json!([{ "type": "image_url", "image_url": { "url": "http://10.0.0.1/x.png" } }])), none.clone(), 400, "invalid-frame", "messages[0].content[0]"),
        (Client::new().adds("user", "x".repeat(70_000)), none.clone(), 400, "text-too-large", "messages"),
    ] {
        let error = client.is_refused(&app, more, status).await;
        assert_eq!((&error["code"], &error["param"]), (&json!(code), &json!(param)), "{error}");
        assert_eq!(error["type"], "invalid_request_error");
    }
        for (method, path, status) in [
            ("POST", "/v1/embeddings", 404),
            ("GET", PATH, 405),
            ("GET", "/v1/models/gpt-4o", 404),
        ] {
            let response = app.request(method, path).send().await.unwrap();
            assert_eq!(response.status().as_u16(), status);
            let body: Value = response.json().await.unwrap();
            assert!(body["error"]["message"].is_string(), "{path}: {body}");
        }
        let broken = app
            .request("POST", PATH)
            .header("content-type", "application/json")
            .body("{");
        let body: Value = broken.send().await.unwrap().json().await.unwrap();
        assert_eq!(body["error"]["code"], "malformed-json");
        // The last one that is taken: the members that sampling has elsewhere.
        let (status, ..) = hi().send(&app, json!({ "temperature": 0.2, "top_p": 1, "max_tokens": 9, "seed": 4, "tool_choice": "none", "logit_bias": {} })).await;
        assert_eq!(status, 200);
        let log = app.log().await;
        let stored = with(&log[before..], &["input"]);
        assert_eq!(stored.len(), 1, "{}", story(&log));
    }
);

on_both!(
    a_turn_that_failed_is_an_error_that_clients_do_not_repeat,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, status(401));
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let client = Client::new().adds("user", "hi");
        let response = client.request(&app, json!({})).send().await.unwrap();
        // Clients repeat what fails with 408, 409, 429 and from 500 on.
        assert_eq!(response.status(), 424);
        let body: Value = response.json().await.unwrap();
        assert_eq!(
            (&body["error"]["code"], &body["error"]["type"]),
            (&json!("turn-failed"), &json!("server_error"))
        );
        let response = client
            .request(&app, json!({ "stream": true }))
            .send()
            .await
            .unwrap();
        let (pieces, done) = pieces(response).await;
        assert!(done);
        assert_eq!(pieces.last().unwrap()["error"]["code"], "turn-failed");
    }
);

on_both!(images_go_with_the_message, |medium| {
    let (stub, app) = echo(medium).await;
    let content = json!([{ "type": "text", "text": "what is it?" }, { "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{PNG}") } }]);
    let said = Client::new().adds("user", content.clone()).asks(&app).await;
    let parts = app
        .pages(&format!(
            "/events?thread={}&tags=input&order=asc&",
            said.thread
        ))
        .await;
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[1]["modality"], "image");
    let asked = stub.nth(0, decision).await;
    assert!(asked.body.to_string().contains(PNG));
    // Sent again with the rest of the conversation, it is known.
    let next = Client::new()
        .adds("user", content)
        .adds("assistant", said.text)
        .adds("user", "sure?");
    assert_eq!(next.asks(&app).await.thread, said.thread);
});

#[tokio::test]
async fn keys_and_roles_open_the_door_as_they_open_threads() {
    let stub = Stub::start().await;
    let keys = "[[keys]]\nkey = \"key-of-ann-0123456789\"\nspace = \"a\"\n[[keys]]\nkey = \"key-of-bob-0123456789\"\nspace = \"a\"\n[[keys]]\nkey = \"key-to-look-0123456789\"\nspace = \"a\"\nrole = \"viewer\"\n";
    stub.on_each(decision, |request| {
        reply(&format!("ok: {}", request.last_user()))
    });
    let setup = Setup::new(Medium::sqlite(), &stub)
        .voices(&[])
        .file("thinkd.toml", keys);
    let mut app = setup.start_bare().await;
    let client = Client::new().adds("user", "hi");
    let error = client.is_refused(&app, json!({}), 401).await;
    assert_eq!(error["code"], "invalid_api_key");
    app.authorize("Bearer key-to-look-0123456789");
    let error = client.is_refused(&app, json!({}), 403).await;
    assert_eq!(error["type"], "permission_error");
    let models: Value = app
        .request("GET", "/v1/models")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(
        (&models["object"], &models["data"][0]["id"]),
        (&json!("list"), &json!("thinkd"))
    );
    // A conversation is found by the key that began it alone, also by one of the same space.
    app.authorize("Bearer key-of-ann-0123456789");
    let mut ann = Client::new();
    let first = ann.says(&app, "hi").await;
    let copy = ann.clone();
    app.authorize("Bearer key-of-bob-0123456789");
    let stolen = copy.clone().says(&app, "go on").await;
    assert_ne!(stolen.thread, first.thread);
    app.authorize("Bearer key-of-ann-0123456789");
    let other = Client {
        user: Some("zoe"),
        ..copy
    }
    .says(&app, "go on")
    .await;
    assert_ne!(other.thread, first.thread);
    assert_eq!(ann.says(&app, "go on").await.thread, first.thread);
}

// OpenAI's own client in a page sends headers of its own.
#[tokio::test]
async fn a_page_of_an_allowed_origin_may_speak_and_no_other() {
    let app = Setup::offline(Medium::sqlite()).start().await;
    let asks = async |origin: &str| {
        let request = app.request("OPTIONS", PATH).header("origin", origin);
        let request = request.header("access-control-request-method", "POST");
        let headers = "authorization,content-type,x-stainless-os,x-stainless-retry-count";
        let request = request.header("access-control-request-headers", headers);
        let answer = request.send().await.unwrap();
        let allowed = |name: &str| {
            answer
                .headers()
                .get(name)
                .map(|it| it.to_str().unwrap().to_owned())
        };
        (
            allowed("access-control-allow-origin"),
            allowed("access-control-allow-headers"),
        )
    };
    let (origin, headers) = asks("http://localhost:5173").await;
    assert_eq!(origin.as_deref(), Some("http://localhost:5173"));
    assert!(headers.unwrap().contains("x-stainless-os"));
    assert_eq!(asks("http://evil.example").await.0, None);
}

#[tokio::test]
async fn comments_are_told_where_that_is_wanted() {
    let stub = Stub::start().await;
    stub.on(voice("critic"), text("Careful."));
    stub.on(decision, reply("Fine."));
    let setup = Setup::new(Medium::sqlite(), &stub).voices(&["critic"]);
    let app = setup.env("THINKD_DOORS__REMARKS", "true").start().await;
    let said = Client::new().adds("user", "hi").asks(&app).await;
    assert_eq!(
        said.body["choices"][0]["message"]["reasoning_content"],
        "critic: Careful.\n"
    );
    assert_eq!(said.text, "Fine.");
}

on_both!(
    a_server_that_is_killed_leaves_the_conversation_to_the_next_one,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let held = gate.clone();
        stub.on_each(decision, move |request| {
            let answer = reply(&format!("ok: {}", request.last_user()));
            if request.last_user() == "two" {
                answer.held(&held)
            } else {
                answer
            }
        });
        let mut app = Setup::new(medium, &stub).voices(&[]).start().await;
        let mut client = Client::new();
        let first = client.says(&app, "one").await;
        let two = client.clone().adds("user", "two");
        let sent = tokio::spawn(two.request(&app, json!({})).send());
        stub.nth(1, decision).await;
        app.kill();
        assert!(sent.await.unwrap().is_err());
        gate.open();
        app.start_again().await;
        // The client's own retry finds the turn, which goes on.
        let retry = two.header("x-stainless-retry-count", "1").asks(&app).await;
        assert_eq!(
            (retry.text.as_str(), &retry.thread),
            ("ok: two", &first.thread)
        );
        assert_eq!(inputs(&app, &first.thread).await, ["one", "two"]);
    }
);

#[tokio::test]
async fn a_door_that_is_off_is_not_there() {
    let app = door::closed().await;
    let client = Client::new().adds("user", "hi");
    client.is_refused(&app, json!({}), 404).await;
}

#[tokio::test]
async fn the_offline_model_answers_a_side_call_in_plain_words() {
    let app = Setup::offline(Medium::sqlite()).start().await;
    let title = Client::new().adds("user", "### Task: a title for this conversation");
    let answer = title.asks(&app).await;
    assert!(!answer.text.contains('<'), "{}", answer.text);
    assert!(!answer.text.is_empty());
}
