//! The door for clients of OpenAI's responses: a response is the turn about a message, read from the
//! log: as a whole, in events, later, on another server.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use futures_util::future::join_all;
use serde_json::{Value, json};

use kit::door::responses::*;
use kit::door::{inputs, send};
use kit::*;

mod cancels;
mod items;
mod refusals;
mod streams;
mod tools;
mod tree;

on_both!(
    a_response_is_the_turn_about_a_message_and_is_found_by_its_id,
    |medium| {
        let (stub, _, mut app) = echo(medium).await;
        let more = json!({ "instructions": "Speak like a pirate.", "metadata": { "topic": "sea" }, "user": "ann" });
        let first = create(&app, "one", more).await;
        assert_eq!(
            (&first["object"], &first["status"]),
            (&json!("response"), &json!("completed"))
        );
        assert_eq!(text_of(&first), "ok: one");
        assert_eq!(first["output"][0]["role"], "assistant");
        assert_eq!(first["instructions"], "Speak like a pirate.");
        assert_eq!(first["metadata"], json!({ "topic": "sea" }));
        assert_eq!(
            (&first["model"], &first["user"]),
            (&json!("thinkd"), &json!("ann"))
        );
        assert_eq!(first["usage"]["input_tokens"], 7, "{first}");
        assert_eq!(first["usage"]["input_tokens_details"]["cached_tokens"], 2);
        assert_eq!(first["usage"]["output_tokens"], 3);
        assert_eq!(first["usage"]["total_tokens"], 10);
        assert_eq!(first["previous_response_id"], Value::Null);
        assert!(stub.nth(0, decision).await.says("Speak like a pirate."));
        assert_eq!(get(&app, &first).await, first);
        // The id is the message's.
        let thread = thread_of(&app, &first).await;
        let event = &app
            .pages(&format!("/events?thread={thread}&tags=input&"))
            .await[0];
        let simple = event["event_id"].as_str().unwrap().replace('-', "");
        assert_eq!(id(&first), format!("resp_{simple}"));
        // It is there after a restart, too, and on another server.
        app.restart().await;
        assert_eq!(get(&app, &first).await, first);
        if app.is_postgres() {
            let other = app.beside().await;
            assert_eq!(get(&other, &first).await, first);
        }
        // A message of a native client is a response as well.
        app.tell("native").await;
        let native = &app.pages("/events?thread=main&tags=input&").await[0];
        let native = json!({ "id": format!("resp_{}", native["event_id"].as_str().unwrap().replace('-', "")) });
        let native = get(&app, &native).await;
        assert_eq!(
            (text_of(&native), &native["model"]),
            ("ok: native", &json!("thinkd/main"))
        );
        // What is no message of anybody's is not there.
        let reply = &app.pages("/events?thread=main&tags=response&").await[0];
        for unknown in [
            format!(
                "resp_{}",
                reply["event_id"].as_str().unwrap().replace('-', "")
            ),
            format!("resp_{}", "0".repeat(32)),
            "resp_1".into(),
            id(&first).replace("resp_", "msg_"),
            "%00".into(),
        ] {
            for (method, end) in [
                ("GET", ""),
                ("GET", "?stream=true"),
                ("POST", "/cancel"),
                ("GET", "/input_items"),
                ("DELETE", ""),
            ] {
                let (status, body) =
                    send(app.request(method, &format!("{PATH}/{unknown}{end}"))).await;
                assert_eq!(
                    (status, &body["error"]["code"]),
                    (404, &json!("not-found")),
                    "{method} {unknown}{end}: {body}"
                );
            }
        }
    }
);

on_both!(a_response_in_the_background_is_asked_for_later, |medium| {
    let (stub, gate, app) = echo(medium).await;
    let begun = create(&app, "slow one", json!({ "background": true })).await;
    assert!(
        ["queued", "in_progress"].contains(&begun["status"].as_str().unwrap()),
        "{begun}"
    );
    assert_eq!(
        (&begun["output"], &begun["usage"]),
        (&json!([]), &Value::Null)
    );
    stub.nth(1, decision).await;
    let now = get(&app, &begun).await;
    assert_eq!(now["status"], "in_progress");
    assert_eq!(now["background"], true);
    // Nothing goes on behind it before it is over.
    let error = refused(&app, &body("two", behind(&begun)), 409).await;
    assert_eq!(
        (&error["code"], &error["param"]),
        (&json!("busy"), &json!("previous_response_id"))
    );
    // On another server it is the same.
    let other = match app.is_postgres() {
        true => Some(app.beside().await),
        false => None,
    };
    if let Some(other) = &other {
        assert_eq!(get(other, &begun).await["status"], "in_progress");
    }
    gate.open();
    let done = until(&app, &begun, "completed").await;
    assert_eq!(text_of(&done), "ok: slow one");
    let two = create(other.as_ref().unwrap_or(&app), "two", behind(&begun)).await;
    assert_eq!(text_of(&two), "ok: two");
    assert_eq!(thread_of(&app, &two).await, thread_of(&app, &begun).await);
});

#[tokio::test]
async fn keys_and_roles_open_a_response_as_they_open_its_thread() {
    let stub = Stub::start().await;
    let keys = "[[keys]]\nkey = \"key-of-ann-0123456789\"\nspace = \"a\"\n[[keys]]\nkey = \"key-of-bob-0123456789\"\nspace = \"a\"\n[[keys]]\nkey = \"key-of-eve-0123456789\"\nspace = \"b\"\n[[keys]]\nkey = \"key-to-look-0123456789\"\nspace = \"a\"\nrole = \"viewer\"\n";
    stub.on_each(decision, |request| {
        reply(&format!("ok: {}", request.last_user()))
    });
    let setup = Setup::new(Medium::sqlite(), &stub)
        .voices(&[])
        .file("thinkd.toml", keys);
    let mut app = setup.start_bare().await;
    let error = refused(&app, &body("hi", json!({})), 401).await;
    assert_eq!(error["code"], "invalid_api_key");
    app.authorize("Bearer key-of-ann-0123456789");
    let one = create(&app, "one", json!({})).await;
    // One that looks reads all, and says nothing.
    app.authorize("Bearer key-to-look-0123456789");
    assert_eq!(get(&app, &one).await, one);
    assert_eq!(replayed(&app, &one, None).await.last()["response"], one);
    let error = refused(&app, &body("hi", behind(&one)), 403).await;
    assert_eq!(error["type"], "permission_error");
    let path = format!("{PATH}/{}", id(&one));
    for (method, path) in [("POST", format!("{path}/cancel")), ("DELETE", path.clone())] {
        assert_eq!(send(app.request(method, &path)).await.0, 403);
    }
    // Another key of the space goes on in it, as in its thread.
    app.authorize("Bearer key-of-bob-0123456789");
    let two = create(&app, "two", behind(&one)).await;
    assert_eq!(thread_of(&app, &two).await, thread_of(&app, &one).await);
    // In another space there is no such response.
    app.authorize("Bearer key-of-eve-0123456789");
    for (method, end) in [
        ("GET", ""),
        ("GET", "?stream=true"),
        ("GET", "/input_items"),
        ("POST", "/cancel"),
        ("DELETE", ""),
    ] {
        assert_eq!(
            send(app.request(method, &format!("{path}{end}"))).await.0,
            404
        );
    }
    let error = refused(&app, &body("hi", behind(&one)), 404).await;
    assert_eq!(error["param"], "previous_response_id");
}

#[tokio::test]
async fn a_door_that_is_off_is_not_there() {
    refused(&door::closed().await, &body("hi", json!({})), 404).await;
}
