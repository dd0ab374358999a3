//! Things of a thread that stay with it when it is forked, and are told to the fork.

use serde_json::{Value, json};

use super::{ends, fork};
use kit::*;

const STAYS: &str = "left with the other thread, and not yours any more: ";

/// Sends a conversation to the door with a tool of the client's, and returns its answer and thread.
async fn ask(app: &App, messages: &Value) -> (Value, String) {
    let tool = json!({ "type": "function", "function": { "name": "weather", "parameters": { "type": "object" } } });
    let body = json!({ "model": "thinkd", "messages": messages, "tools": [tool] });
    let answer = app.post("/v1/chat/completions", body).await;
    let thread = answer.headers["x-thinkd-thread"]
        .to_str()
        .unwrap()
        .to_owned();
    (answer.expect(200)["choices"][0]["message"].clone(), thread)
}

on_both!(
    a_fork_is_told_that_an_open_call_of_the_client_stays_behind,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(decision, |request| match request.last_user().as_str() {
            "weather" if !request.says("4 degrees") => call("weather", json!({})),
            other => reply(&format!("ok: {other}")),
        });
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let mut messages = json!([{ "role": "user", "content": "weather" }]);
        let (asked, thread) = ask(&app, &messages).await;
        let id = asked["tool_calls"][0]["id"].clone();
        let open = fork(&app, &thread, json!({})).await;
        app.tell_in(&open.thread, "go on").await;

        let result = json!({ "role": "tool", "tool_call_id": id, "content": "4 degrees" });
        messages.as_array_mut().unwrap().extend([asked, result]);
        let (answer, _) = ask(&app, &messages).await;
        assert_eq!(answer["content"], "ok: weather");
        let ends = ends(&app, &thread).await;
        // The place before the result, once that is there; and the one behind it.
        let before = fork(&app, &thread, json!({ "at": ends[0] })).await;
        app.tell_in(&before.thread, "go on").await;
        let behind = fork(&app, &thread, json!({ "at": ends[1] })).await;
        app.tell_in(&behind.thread, "go on").await;
        for (fork, is_told) in [(open, true), (before, true), (behind, false)] {
            let in_fork = at(&fork.thread);
            let seen = stub.nth(0, in_fork).await;
            let stays = format!("{STAYS}calls of the client");
            assert_eq!(seen.says(&stays), is_told, "{}", seen.text());
        }
    }
);

fn question() -> Value {
    json!({ "question": "Which colour?", "choices": null, "schema": null, "who": null, "expires_s": null })
}

on_both!(
    a_fork_is_told_of_a_question_that_was_open_there_and_has_its_answer_since,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(decision, |request| match request.last_user().as_str() {
            "paint it" if !request.says("blue") => call("ask_user", question()),
            other => reply(&format!("ok: {other}")),
        });
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        app.tell("paint it").await;
        let open = ends(&app, "main").await[0];
        let id = app.pages("/questions?").await[0]["question_id"].clone();
        let path = format!("/questions/{}", id.as_str().unwrap());
        app.post(&path, json!({ "text": "blue" })).await.expect(204);
        app.tell("and now").await;
        for (at, is_told) in [
            (open, true),
            (*ends(&app, "main").await.last().unwrap(), false),
        ] {
            let fork = fork(&app, "main", json!({ "at": at })).await;
            app.tell_in(&fork.thread, "go on").await;
            let seen = stub.nth(0, kit::at(&fork.thread)).await;
            assert_eq!(
                seen.says(&format!("{STAYS}questions")),
                is_told,
                "{}",
                seen.text()
            );
        }
    }
);
