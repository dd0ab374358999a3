//! Requests that come again: by the count of OpenAI's own clients, and at once behind a hang-up.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::sync::{Arc, Mutex};

use super::*;

const RETRY: &str = "x-stainless-retry-count";

/// A server with a decision that waits for the gate before it answers `slow`.
async fn slow(medium: Medium) -> (Stub, Gate, App) {
    let stub = Stub::start().await;
    let gate = Gate::new();
    let held = gate.clone();
    stub.on_each(decision, move |request| {
        let last = request.last_user();
        let answer = reply(&format!("ok: {last}"));
        match last.as_str() {
            "slow" => answer.held(&held),
            _ => answer,
        }
    });
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    (stub, gate, app)
}

on_both!(
    a_retry_in_a_named_thread_is_the_answer_of_the_same_turn,
    |medium| {
        let (stub, app) = echo(medium).await;
        let mut client = Client::of("main");
        let first = client.says(&app, "one").await;
        let mut retry = Client::of("main").header(RETRY, "1");
        assert_eq!(retry.says(&app, "one").await.text, first.text);
        assert_eq!(stub.count(decision), 1);
        assert_eq!(inputs(&app, "main").await, ["one"]);
        // Without a thread it may be another person's first message.
        let own = Client::new().says(&app, "one").await.thread;
        let mut other = Client::new().header(RETRY, "1");
        assert_ne!(other.says(&app, "one").await.thread, own);
    }
);

on_both!(
    a_retry_at_once_behind_a_hang_up_has_a_whole_answer,
    |medium| {
        let stub = Stub::start().await;
        let gate = Arc::new(Mutex::new(Gate::new()));
        let held = gate.clone();
        stub.on_each(decision, move |request| {
            let last = request.last_user();
            let answer = reply(&format!("ok: {last}"));
            match last.starts_with("slow") {
                true => answer.held(&held.lock().unwrap()),
                false => answer,
            }
        });
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let mut client = Client::new();
        client.says(&app, "one").await;
        // So long behind the hang-up: before the server has seen it, while it stops the turn, and after.
        for wait in [0, 1, 2, 4, 8, 30] {
            let client = client.clone().adds("user", format!("slow {wait}"));
            let asked = stub.count(decision);
            let first = tokio::spawn(client.request(&app, json!({})).send());
            stub.nth(asked, decision).await;
            first.abort();
            // A moment of the race: no event tells of it.
            tokio::time::sleep(ms(wait)).await;
            let again = client.header(RETRY, "1").request(&app, json!({}));
            let again = tokio::spawn(again.send());
            // The turn of the first connection has ended, and another one asks the model; or it has not.
            let _ = tokio::time::timeout(ms(500), stub.nth(asked + 1, decision)).await;
            gate.lock().unwrap().open();
            let answer = within("the retry", again).await.unwrap().unwrap();
            let status = answer.status();
            let body: Value = answer.json().await.unwrap();
            assert_eq!(status, 200, "{wait} ms behind the hang-up: {body}");
            let choice = &body["choices"][0];
            assert_eq!(choice["message"]["content"], format!("ok: slow {wait}"));
            assert_eq!(choice["finish_reason"], "stop", "{wait} ms: {body}");
            *gate.lock().unwrap() = Gate::new();
        }
    }
);

on_both!(
    a_message_that_was_taken_back_by_a_hang_up_can_be_said_again,
    |medium| {
        let (stub, gate, app) = slow(medium).await;
        let mut client = Client::new();
        let thread = client.says(&app, "one").await.thread;
        app.post(
            &format!("/threads/{thread}/messages"),
            json!({ "text": "slow" }),
        )
        .await
        .expect(202);
        stub.nth(1, decision).await;
        let two = client.clone().adds("user", "two");
        let first = tokio::spawn(two.request(&app, json!({})).send());
        let said = async || inputs(&app, &thread).await.len();
        app.until("the message", async || said().await == 3).await;
        first.abort();
        app.until("the end of the message", async || {
            !with(&app.log().await, &["withdrawn"]).is_empty()
        })
        .await;
        let retry = two.clone().header(RETRY, "1");
        let again = tokio::spawn(retry.request(&app, json!({})).send());
        gate.open();
        let answer = within("the retry", again).await.unwrap().unwrap();
        let there = answer.headers()["x-thinkd-thread"].clone();
        assert_eq!(there, thread.as_str(), "it is said again there");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(
            body["choices"][0]["message"]["content"], "ok: two",
            "{body}"
        );
        // Words behind it tell it, too: no turn has had it.
        let more = two.adds("user", "three").asks(&app).await;
        let told = inputs(&app, &more.thread).await;
        assert_eq!(told.last().unwrap(), "two\n\nthree", "{told:?}");
    }
);

on_both!(
    a_page_that_keeps_two_answers_in_order_goes_on_in_its_thread,
    |medium| {
        let (stub, gate, app) = slow(medium).await;
        let mut before = Client::new();
        let thread = before.says(&app, "zero").await.thread;
        let one = before.clone().adds("user", "slow");
        let two = one.clone().adds("user", "more");
        let first = tokio::spawn(one.request(&app, json!({})).send());
        stub.nth(1, decision).await;
        let second = tokio::spawn(two.request(&app, json!({})).send());
        app.until("the second message", async || {
            inputs(&app, &thread).await.len() == 3
        })
        .await;
        gate.open();
        for answer in [first, second] {
            let answer = within("the answer", answer).await.unwrap().unwrap();
            assert_eq!(answer.headers()["x-thinkd-thread"], thread.as_str());
        }
        let mut page = one.adds("assistant", "ok: slow").adds("user", "more");
        page = page.adds("assistant", "ok: more");
        let other = page.clone();
        assert_eq!(page.says(&app, "three").await.thread, thread);
        assert_eq!(page.says(&app, "four").await.thread, thread);
        let all = ["zero", "slow", "more", "three", "four"];
        assert_eq!(inputs(&app, &thread).await, all);
        // Another answer than the log's is told in a fork.
        let mut forked = other;
        forked.messages.last_mut().unwrap()["content"] = "never said".into();
        let fork = forked.says(&app, "five").await;
        assert_ne!(fork.thread, thread);
        let told = inputs(&app, &fork.thread).await;
        assert!(told.last().unwrap().contains("never said"), "{told:?}");
    }
);

on_both!(
    a_named_thread_keeps_a_message_that_was_taken_back_and_came_again,
    |medium| {
        let (stub, gate, app) = slow(medium).await;
        app.say_in("main", "slow").await;
        stub.nth(0, decision).await;
        let two = Client::of("main").adds("user", "two");
        for (header, value) in [("idempotency-key", "k-1"), (RETRY, "1")] {
            let two = two.clone().header(header, value);
            let before = with(&app.log().await, &["withdrawn"]).len();
            let said = inputs(&app, "main").await.len() + 1;
            let first = tokio::spawn(two.request(&app, json!({})).send());
            app.until("the message", async || {
                inputs(&app, "main").await.len() == said
            })
            .await;
            first.abort();
            app.until("the end of the message", async || {
                with(&app.log().await, &["withdrawn"]).len() > before
            })
            .await;
        }
        let again = two.clone().header(RETRY, "1");
        let again = tokio::spawn(again.request(&app, json!({})).send());
        app.until("the message once more", async || {
            inputs(&app, "main").await.len() == 4
        })
        .await;
        gate.open();
        let answer = within("the retry", again).await.unwrap().unwrap();
        assert_eq!(answer.headers()["x-thinkd-thread"], "main");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["choices"][0]["message"]["content"], "ok: two");
        assert_eq!(stub.count(decision), 2);
    }
);

on_both!(
    one_key_says_a_message_of_a_named_thread_once_also_at_once,
    |medium| {
        let (stub, app) = echo(medium).await;
        for round in 0..10 {
            let words = format!("round {round}");
            let client = Client::of("main").adds("user", words.as_str());
            let client = client.header("idempotency-key", &words);
            let all = join_all((0..4).map(|_| client.asks(&app))).await;
            assert!(all.iter().all(|it| it.text == format!("ok: {words}")));
            assert_eq!(inputs(&app, "main").await.len(), round + 1);
        }
        assert_eq!(stub.count(decision), 10);
    }
);

on_both!(
    words_of_a_reply_that_came_to_nothing_are_no_part_of_an_answer,
    |medium| {
        let (stub, app) = echo(medium).await;
        let half = reply("Half of it, and no more.").cut(8);
        stub.script(decision, [half, reply("All of it.")]);
        let answer = Client::of("main").says(&app, "one").await;
        let log = app.log().await;
        let replies: Vec<&str> = with(&log, &["response"]).into_iter().map(said).collect();
        assert_eq!(answer.text, replies.join("\n\n"), "{}", story(&log));
        assert!(!answer.text.contains("Half"), "{}", answer.text);
    }
);
