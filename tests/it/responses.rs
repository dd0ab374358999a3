//! The door for clients of OpenAI's responses: a response is the turn about a message, read from the
//! log: as a whole, in events, later, on another server.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use base64::Engine as _;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::boundary::PNG;
use crate::support::*;

pub const PATH: &str = "/v1/responses";

/// The events of a stream so far.
#[derive(Debug, Default, Clone)]
pub struct Stream {
    text: String,
}

impl Stream {
    pub fn events(&self) -> Vec<Value> {
        let whole = self.text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        let lines = whole.lines();
        let lines = lines.filter_map(|line| line.strip_prefix("data: "));
        lines.map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    pub fn names(&self) -> Vec<String> {
        let named = |event: &Value| event["type"].as_str().unwrap().to_owned();
        self.events().iter().map(named).collect()
    }

    pub fn numbers(&self) -> Vec<u64> {
        let number = |event: &Value| event["sequence_number"].as_u64().unwrap();
        self.events().iter().map(number).collect()
    }

    pub fn words(&self) -> String {
        let events = self.events();
        let words = events.iter().filter_map(|it| it["delta"].as_str());
        words.collect()
    }

    pub fn last(&self) -> Value {
        self.events().pop().unwrap()
    }

    /// Reads on until the text so far has this in it.
    async fn until(&mut self, response: &mut reqwest::Response, text: &str) {
        within(&format!("{text} in the stream"), async {
            while !self.text.contains(text) {
                let chunk = response.chunk().await.unwrap().unwrap();
                self.text.push_str(&String::from_utf8_lossy(&chunk));
            }
        })
        .await;
    }

    /// Reads a stream to its end.
    pub async fn whole(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let text = within("the stream", response.text()).await.unwrap();
        Self { text }
    }
}

fn body(input: impl Into<Value>, more: Value) -> Value {
    let mut body = json!({ "model": "thinkd", "input": input.into() });
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    body
}

pub async fn send(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = within("the answer of the door", request.send())
        .await
        .unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

pub async fn create(app: &App, input: impl Into<Value>, more: Value) -> Value {
    let (status, response) = send(app.request("POST", PATH).json(&body(input, more))).await;
    assert_eq!(status, 200, "{response}");
    response
}

pub async fn stream(app: &App, input: impl Into<Value>, mut more: Value) -> reqwest::Response {
    more["stream"] = true.into();
    let request = app.request("POST", PATH).json(&body(input, more));
    within("the head of a stream", request.send())
        .await
        .unwrap()
}

pub async fn get(app: &App, response: &Value) -> Value {
    let path = format!("{PATH}/{}", id(response));
    let (status, response) = send(app.request("GET", &path)).await;
    assert_eq!(status, 200, "{response}");
    response
}

pub async fn replayed(app: &App, response: &Value, after: Option<u64>) -> Stream {
    let after = after.map_or(String::new(), |after| format!("&starting_after={after}"));
    let path = format!("{PATH}/{}?stream=true{after}", id(response));
    let sent = app.request("GET", &path).send();
    Stream::whole(within("the head of a stream", sent).await.unwrap()).await
}

pub async fn cancel(app: &App, response: &Value) -> Value {
    let path = format!("{PATH}/{}/cancel", id(response));
    let (status, response) = send(app.request("POST", &path)).await;
    assert_eq!(status, 200, "{response}");
    response
}

/// Asks until the response is in this state.
pub async fn until(app: &App, response: &Value, status: &str) -> Value {
    within(&format!("a response that is {status}"), async {
        loop {
            let now = get(app, response).await;
            if now["status"] == status {
                return now;
            }
            tokio::time::sleep(ms(10)).await;
        }
    })
    .await
}

/// A response that is not over. Its turn is stored with its first result.
async fn unfinished(app: &App, response: &Value) -> Value {
    let now = get(app, response).await;
    let status = now["status"].as_str().unwrap();
    assert!(["queued", "in_progress"].contains(&status), "{now}");
    now
}

pub async fn refused(app: &App, body: &Value, status: u16) -> Value {
    let (got, answer) = send(app.request("POST", PATH).json(body)).await;
    assert_eq!(got, status, "{body} {answer}");
    let error = &answer["error"];
    assert!(
        error["message"].is_string() && error["type"].is_string(),
        "{answer}"
    );
    error.clone()
}

pub fn id(response: &Value) -> &str {
    response["id"].as_str().unwrap()
}

pub fn text_of(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

pub fn behind(response: &Value) -> Value {
    json!({ "previous_response_id": id(response) })
}

/// The thread of a response.
pub async fn thread_of(app: &App, response: &Value) -> String {
    let path = format!("{PATH}/{}", id(response));
    let sent = app.request("GET", &path).send().await.unwrap();
    let thread = sent.headers()["x-thinkd-thread"].to_str().unwrap();
    thread.to_owned()
}

pub async fn inputs(app: &App, thread: &str) -> Vec<String> {
    let events = app
        .pages(&format!("/events?thread={thread}&order=asc&tags=input&"))
        .await;
    events.iter().map(|event| said(event).to_owned()).collect()
}

/// A server with a decision that repeats the last message; of one that begins with `slow` it looks
/// something up, and then waits for the gate.
async fn echo(medium: Medium) -> (Stub, Gate, App) {
    let (stub, gate) = (Stub::start().await, Gate::new());
    let held = gate.clone();
    stub.on_each(decision, move |request| {
        let last = request.last_user();
        let answer = reply(&format!("ok: {last}")).usage(7, 3, 2);
        let entries = request.entries();
        let said = entries.iter().rposition(|it| it.who.starts_with("user"));
        let mut behind = entries[said.unwrap_or(0)..].iter();
        match last.starts_with("slow") {
            true if behind.any(|it| it.who.starts_with("result ")) => answer.held(&held),
            true => call("state_get", json!({ "key": "nothing" })),
            false => answer,
        }
    });
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    (stub, gate, app)
}

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

on_both!(
    a_stream_has_the_events_that_clients_need_and_the_same_numbers_ever_after,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let answer = reply("The sea is wide and deep.").usage(5, 6, 0);
        stub.on(decision, answer.paused(6, &gate));
        let mut app = Setup::new(medium, &stub).voices(&[]).start().await;
        let mut response = stream(&app, "the sea?", json!({})).await;
        // The beginning is there while the model still answers.
        let mut live = Stream::default();
        live.until(&mut response, "response.output_text.delta")
            .await;
        gate.open();
        live.until(&mut response, "response.completed").await;
        live.text
            .push_str(&within("the end", response.text()).await.unwrap());
        let mut names = live.names();
        names.dedup();
        let all = [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ];
        assert_eq!(names, all);
        assert!(
            live.numbers().is_sorted_by(|a, b| a < b),
            "{:?}",
            live.numbers()
        );
        assert_eq!(live.words(), "The sea is wide and deep.");
        assert!(live.names().len() > all.len(), "it came in pieces");
        let events = live.events();
        let whole = &live.last()["response"];
        assert_eq!(
            (text_of(whole), &whole["usage"]["total_tokens"]),
            ("The sea is wide and deep.", &json!(11))
        );
        assert_eq!(get(&app, whole).await, *whole);
        for event in &events[2..events.len() - 1] {
            let item = event["item_id"].as_str().or(event["item"]["id"].as_str());
            assert_eq!(item, whole["output"][0]["id"].as_str(), "{event}");
        }
        // Each stream of it is the same, but for the pieces of the text.
        for _ in 0..2 {
            let again = replayed(&app, whole, None).await;
            let mut names = again.names();
            names.dedup();
            assert_eq!(names, all);
            assert_eq!(again.last(), live.last());
            assert_eq!(again.words(), live.words());
            let after = |stream: &Stream, number: u64| {
                let events = stream.events();
                events
                    .into_iter()
                    .find(|it| it["sequence_number"] == number)
            };
            for number in live.numbers() {
                // The words behind any number are the ones that the client does not have.
                let rest = replayed(&app, whole, Some(number)).await;
                let before: String = events
                    .iter()
                    .filter(|it| it["sequence_number"].as_u64() <= Some(number))
                    .filter_map(|it| it["delta"].as_str())
                    .collect();
                assert_eq!(before + &rest.words(), live.words(), "behind {number}");
                assert!(rest.numbers().iter().all(|it| *it > number));
                if let (Some(here), Some(there)) = (after(&again, number), after(&live, number)) {
                    assert_eq!(here["type"], there["type"]);
                }
            }
            app.kill();
            app.start_again().await;
        }
        let last = live.numbers().pop();
        assert_eq!(replayed(&app, whole, last).await.text, "");
    }
);

on_both!(
    a_stream_that_was_cut_goes_on_where_it_was_also_after_a_crash,
    |medium| {
        let stub = Stub::start().await;
        let gates = [Gate::new(), Gate::new()];
        let held = gates.clone();
        stub.on_each(decision, move |request| {
            let gate = &held[usize::from(request.last_user().ends_with("crash"))];
            reply("The sea is wide and deep, and full of fish.").paused(6, gate)
        });
        let mut app = Setup::new(medium, &stub).voices(&[]).start().await;
        for (is_killed, gate) in [false, true].into_iter().zip(gates) {
            let words = if is_killed {
                "the sea, and a crash"
            } else {
                "the sea?"
            };
            let mut response = stream(&app, words, json!({ "background": true })).await;
            let mut live = Stream::default();
            live.until(&mut response, "response.output_text.delta")
                .await;
            drop(response);
            let seen = live.events();
            let created = &seen[0]["response"];
            assert_eq!(created["background"], true);
            let last = live.numbers().pop().unwrap();
            assert_eq!(unfinished(&app, created).await["output"], json!([]));
            if is_killed {
                app.kill();
                gate.open();
                app.start_again().await;
            }
            let path = format!("{PATH}/{}?stream=true&starting_after={last}", id(created));
            let sent = app.request("GET", &path).send();
            let response = within("the head", sent).await.unwrap();
            gate.open();
            let rest = Stream::whole(response).await;
            assert_eq!(
                live.words() + &rest.words(),
                "The sea is wide and deep, and full of fish."
            );
            assert!(rest.numbers().iter().all(|it| *it > last));
            assert_eq!(rest.last()["type"], "response.completed");
            assert_eq!(get(&app, created).await, rest.last()["response"]);
            assert_eq!(inputs(&app, &thread_of(&app, created).await).await, [words]);
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

on_both!(a_response_is_cancelled_in_each_phase, |medium| {
    let (stub, gate, app) = echo(medium).await;
    let shared = app.conversation(json!({ "label": "shared" })).await;
    let model = format!("thinkd/{shared}");
    let background = json!({ "background": true, "model": model });
    let running = create(&app, "slow one", background.clone()).await;
    stub.nth(1, decision).await;
    let waits = create(&app, "slow two", background.clone()).await;
    assert_eq!(get(&app, &waits).await["status"], "queued");
    // One that waits is taken back, and the turn before it goes on.
    let stopped = cancel(&app, &waits).await;
    assert_eq!(
        (&stopped["status"], &stopped["output"]),
        (&json!("cancelled"), &json!([]))
    );
    assert_eq!(get(&app, &running).await["status"], "in_progress");
    let error = refused(&app, &body("on", behind(&waits)), 422).await;
    assert_eq!(error["param"], "previous_response_id");
    // One that runs is stopped, from any server. The same again changes nothing.
    let other = match app.is_postgres() {
        true => Some(app.beside().await),
        false => None,
    };
    let stopped = cancel(other.as_ref().unwrap_or(&app), &running).await;
    assert_eq!(stopped["status"], "cancelled");
    assert_eq!(cancel(&app, &running).await, stopped);
    let last = replayed(&app, &running, None).await.last();
    assert_eq!(
        (&last["type"], &last["response"]),
        (&json!("response.incomplete"), &stopped)
    );
    // One that is over stays as it is.
    gate.open();
    let done = create(&app, "three", json!({ "model": model })).await;
    assert_eq!(cancel(&app, &done).await, done);
    let ended = app
        .pages(&format!("/events?thread={shared}&tags=ended&order=asc&"))
        .await;
    let outcomes: Vec<_> = ended
        .iter()
        .map(|it| it["payload"]["outcome"].as_str().unwrap())
        .collect();
    // A turn about nothing may stand between them, where the message was taken back.
    let ends = (outcomes[0], outcomes[outcomes.len() - 1]);
    assert_eq!((ends, stub.count(decision)), (("cancelled", "done"), 3));
    // The client goes on behind a cancelled one.
    let next = create(&app, "four", behind(&running)).await;
    assert_eq!(text_of(&next), "ok: four");
});

on_both!(
    a_client_that_hangs_up_stops_its_turn_unless_it_asked_for_the_background,
    |medium| {
        let (stub, gate, app) = echo(medium).await;
        for (nth, (is_streamed, is_background)) in [(false, false), (true, false), (true, true)]
            .into_iter()
            .enumerate()
        {
            let label = format!("stop-{nth}");
            let thread = app.conversation(json!({ "label": label })).await;
            let more = json!({ "stream": is_streamed, "background": is_background, "model": format!("thinkd/{thread}") });
            let sent = app.request("POST", PATH).json(&body("slow", more)).send();
            let sent = tokio::spawn(async move {
                // A stream is there at once, and is held.
                let response = sent.await;
                std::future::pending::<()>().await;
                drop(response);
            });
            stub.nth(2 * nth + 1, decision).await;
            let event = &app
                .pages(&format!("/events?thread={thread}&tags=input&"))
                .await[0];
            let response = json!({ "id": format!("resp_{}", event["event_id"].as_str().unwrap().replace('-', "")) });
            sent.abort();
            match is_background {
                false => assert_eq!(
                    until(&app, &response, "cancelled").await["output"],
                    json!([])
                ),
                true => {
                    // The other one's end has been seen: this one's would be, too.
                    assert_eq!(get(&app, &response).await["status"], "in_progress");
                    gate.open();
                    assert_eq!(
                        text_of(&until(&app, &response, "completed").await),
                        "ok: slow"
                    );
                }
            }
        }
    }
);

on_both!(responses_are_a_tree_and_its_branches_are_forks, |medium| {
    let (_stub, _, app) = echo(medium).await;
    let one = create(&app, "one", json!({})).await;
    let two = create(&app, "two", behind(&one)).await;
    let three = create(&app, "three", behind(&two)).await;
    let thread = thread_of(&app, &one).await;
    assert_eq!(inputs(&app, &thread).await, ["one", "two", "three"]);
    assert_eq!(three["previous_response_id"], two["id"]);
    // Behind an earlier one is a branch, also with the same words.
    let deux = create(&app, "deux", behind(&one)).await;
    let again = create(&app, "two", behind(&one)).await;
    let (branch, other) = (thread_of(&app, &deux).await, thread_of(&app, &again).await);
    assert!(branch != thread && other != thread && branch != other);
    let row = app.get(&format!("/threads/{branch}")).await.expect(200);
    assert_eq!(row["forked_from"]["thread"], thread.as_str());
    assert_eq!(inputs(&app, &branch).await, ["one", "deux"]);
    // A branch goes on, and has branches.
    let trois = create(&app, "trois", behind(&deux)).await;
    assert_eq!(thread_of(&app, &trois).await, branch);
    let quatre = create(&app, "quatre", behind(&deux)).await;
    let fork = thread_of(&app, &quatre).await;
    assert_eq!(inputs(&app, &fork).await, ["one", "deux", "quatre"]);
    assert_eq!(inputs(&app, &thread).await, ["one", "two", "three"]);
    // A native client's word is a turn behind the last one: so is the branch.
    app.tell_in(&thread, "from elsewhere").await;
    let four = create(&app, "four", behind(&three)).await;
    assert_ne!(thread_of(&app, &four).await, thread);
    // Many at once: one goes on in the thread, and each other one is a branch.
    let last = create(&app, "last", json!({})).await;
    let mut all = join_all((0..6).map(async |number: usize| {
        let response = create(&app, format!("at once {}", number / 2), behind(&last)).await;
        thread_of(&app, &response).await
    }))
    .await;
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6);
    assert!(all.contains(&thread_of(&app, &last).await));
    // A thread that has ended goes on in a fork.
    let end = format!("/threads/{branch}/end");
    app.post(&end, json!({})).await.expect(200);
    let five = create(&app, "five", behind(&trois)).await;
    assert_eq!(text_of(&five), "ok: five");
    assert_ne!(thread_of(&app, &five).await, branch);
    assert_eq!(text_of(&get(&app, &trois).await), "ok: trois");
    for unknown in [
        "resp_1".to_owned(),
        format!("resp_{}", "0".repeat(32)),
        "x".repeat(1000),
    ] {
        let error = refused(
            &app,
            &body("six", json!({ "previous_response_id": unknown })),
            404,
        )
        .await;
        assert_eq!(
            (&error["code"], &error["param"]),
            (&json!("not-found"), &json!("previous_response_id"))
        );
    }
});

on_both!(a_request_that_comes_again_makes_no_second_turn, |medium| {
    let (stub, gate, app) = echo(medium).await;
    let keyed = |input: &str, more: Value, key: &str| {
        app.request("POST", PATH)
            .json(&body(input, more))
            .header("idempotency-key", key)
    };
    // By the client's key, also at once, in the background, and in a branch.
    let all = join_all((0..4).map(|_| send(keyed("one", json!({}), "k-1")))).await;
    let one = all[0].1.clone();
    assert!(
        all.iter().all(|(status, it)| *status == 200 && *it == one),
        "{all:?}"
    );
    assert_eq!(stub.count(decision), 1);
    let later = json!({ "background": true });
    let (_, begun) = send(keyed("slow", later.clone(), "k-2")).await;
    stub.nth(2, decision).await;
    let (_, again) = send(keyed("slow", later, "k-2")).await;
    assert_eq!(again["id"], begun["id"]);
    gate.open();
    until(&app, &begun, "completed").await;
    create(&app, "two", behind(&one)).await;
    let branches = join_all((0..3).map(|_| send(keyed("branch", behind(&one), "k-3")))).await;
    assert!(
        branches
            .iter()
            .all(|(_, it)| it["id"] == branches[0].1["id"]),
        "{branches:?}"
    );
    let (status, error) = send(keyed("other words", json!({}), "k-1")).await;
    assert_eq!(
        (status, &error["error"]["code"]),
        (409, &json!("event-conflict"))
    );
    // By the count of tries that OpenAI's own clients send.
    let three = create(&app, "three", behind(&one)).await;
    let retry = app
        .request("POST", PATH)
        .json(&body("three", behind(&one)))
        .header("x-stainless-retry-count", "1");
    assert_eq!(send(retry).await.1["id"], three["id"]);
    assert_eq!(stub.count(decision), 6);
});

on_both!(
    a_client_that_sends_the_whole_conversation_goes_on_in_one_thread,
    |medium| {
        let (_stub, _, app) = echo(medium).await;
        let user = |text: &str| json!({ "role": "user", "content": [{ "type": "input_text", "text": text }] });
        let one = create(
            &app,
            json!([{ "role": "developer", "content": "Be brief." }, user("one")]),
            json!({}),
        )
        .await;
        // The answer as its item.
        let mut talk = vec![
            json!({ "role": "developer", "content": "Be brief." }),
            user("one"),
            one["output"][0].clone(),
            user("two"),
        ];
        let two = create(&app, json!(talk), json!({})).await;
        let thread = thread_of(&app, &one).await;
        assert_eq!(thread_of(&app, &two).await, thread);
        // And by its id.
        talk[2] = json!({ "type": "item_reference", "id": one["output"][0]["id"] });
        talk.push(json!({ "type": "item_reference", "id": two["output"][0]["id"] }));
        talk.push(user("three"));
        let three = create(&app, json!(talk), json!({})).await;
        assert_eq!(thread_of(&app, &three).await, thread);
        assert_eq!(inputs(&app, &thread).await, ["one", "two", "three"]);
        // A client of chat completions finds the same conversation.
        let messages = json!([
            { "role": "system", "content": "Be brief." }, { "role": "user", "content": "one" }, { "role": "assistant", "content": "ok: one" },
            { "role": "user", "content": "two" }, { "role": "assistant", "content": "ok: two" },
            { "role": "user", "content": "three" }, { "role": "assistant", "content": "ok: three" }, { "role": "user", "content": "four" },
        ]);
        let chat = json!({ "model": "thinkd", "messages": messages });
        let sent = app
            .request("POST", "/v1/chat/completions")
            .json(&chat)
            .send()
            .await
            .unwrap();
        assert_eq!(sent.headers()["x-thinkd-thread"], thread.as_str());
        let unknown = json!([user("one"), { "type": "item_reference", "id": format!("msg_{}", "0".repeat(32)) }, user("two")]);
        let error = refused(&app, &body(unknown, json!({})), 404).await;
        assert_eq!(error["param"], "input[1]");
    }
);

on_both!(
    the_messages_that_a_response_was_asked_with_are_its_input_items,
    |medium| {
        let (stub, _, app) = echo(medium).await;
        let png = base64::engine::general_purpose::STANDARD
            .decode(PNG)
            .unwrap();
        let blob = app
            .request("POST", "/blobs")
            .header("content-type", "image/png")
            .body(png)
            .send()
            .await
            .unwrap();
        let blob: Value = blob.json().await.unwrap();
        let blob = blob["blob"].as_str().unwrap().to_owned();
        let input = json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "eins" },
            { "role": "user", "content": [
                { "type": "input_text", "text": "zwei – ü" },
                { "type": "input_image", "image_url": format!("data:image/png;base64,{PNG}"), "detail": "auto" },
                { "type": "input_text", "text": "drei" },
            ] },
            { "role": "user", "content": [{ "type": "input_image", "file_id": blob }] },
        ]);
        let more = json!({ "text": { "format": { "type": "json_schema", "name": "n", "schema": { "type": "object" } } } });
        let response = create(&app, input, more).await;
        assert!(stub.nth(0, decision).await.body.to_string().contains(PNG));
        let items = async |query: &str| {
            let path = format!("{PATH}/{}/input_items{query}", id(&response));
            let (status, page) = send(app.request("GET", &path)).await;
            assert_eq!(status, 200, "{page}");
            page
        };
        let page = items("?order=asc").await;
        let all = page["data"].as_array().unwrap();
        assert_eq!((all.len(), &page["has_more"]), (3, &json!(false)));
        assert_eq!(
            all[0]["content"],
            json!([{ "type": "input_text", "text": "eins" }])
        );
        let image = json!({ "type": "input_image", "detail": "auto", "file_id": blob });
        assert_eq!(
            all[1]["content"],
            json!([{ "type": "input_text", "text": "zwei – ü" }, image, { "type": "input_text", "text": "drei" }])
        );
        assert_eq!(all[2]["content"], json!([image]));
        assert!(
            all.iter()
                .all(|it| it["role"] == "user" && it["type"] == "message")
        );
        // Pages, in both orders.
        let newest = items("").await;
        assert_eq!(newest["data"][0], all[2]);
        let first = items("?order=asc&limit=2").await;
        assert_eq!(
            (&first["has_more"], &first["last_id"]),
            (&json!(true), &all[1]["id"])
        );
        let second = items(&format!(
            "?order=asc&limit=2&after={}",
            first["last_id"].as_str().unwrap()
        ))
        .await;
        assert_eq!(
            (&second["data"], &second["has_more"]),
            (&json!([all[2]]), &json!(false))
        );
        let behind = items(&format!("?after={}", all[0]["id"].as_str().unwrap())).await;
        assert_eq!(
            (&behind["data"], &behind["first_id"]),
            (&json!([]), &Value::Null)
        );
        // Of a message that says its instructions, the client's own words.
        let told = create(
            &app,
            "vier",
            json!({ "previous_response_id": id(&response), "instructions": "Be long." }),
        )
        .await;
        assert!(
            inputs(&app, &thread_of(&app, &told).await)
                .await
                .last()
                .unwrap()
                .starts_with("(Instructions of the client: Be long.)")
        );
        assert_eq!(told["instructions"], "Be long.");
        let path = format!("{PATH}/{}/input_items", id(&told));
        let (_, page) = send(app.request("GET", &path)).await;
        assert_eq!(
            page["data"][0]["content"],
            json!([{ "type": "input_text", "text": "vier" }])
        );
        for query in [
            "limit=0",
            "limit=101",
            "order=up",
            "after=msg_1",
            "before=x",
            "limit=2&limit=3",
        ] {
            let path = format!("{PATH}/{}/input_items?{query}", id(&response));
            let (status, body) = send(app.request("GET", &path)).await;
            assert_eq!(
                (status, &body["error"]["code"]),
                (400, &json!("invalid-parameter")),
                "{query}"
            );
        }
    }
);

on_both!(
    a_turn_that_failed_is_an_error_an_event_and_a_state,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, status(401));
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        // A client that waits has an error, which it does not repeat.
        let error = refused(&app, &body("hi", json!({})), 424).await;
        assert_eq!(
            (&error["code"], &error["type"]),
            (&json!("turn-failed"), &json!("server_error"))
        );
        let named = error["message"].as_str().unwrap();
        let (_, named) = named.rsplit_once("(response ").unwrap();
        let failed = get(&app, &json!({ "id": named.trim_end_matches(')') })).await;
        assert_eq!(
            (&failed["status"], &failed["error"]["code"]),
            (&json!("failed"), &json!("server_error"))
        );
        assert_eq!(
            (&failed["output"], &failed["completed_at"]),
            (&json!([]), &Value::Null)
        );
        let last = Stream::whole(stream(&app, "hi", json!({})).await)
            .await
            .last();
        assert_eq!(
            (&last["type"], &last["response"]["status"]),
            (&json!("response.failed"), &json!("failed"))
        );
        let begun = create(&app, "hi", json!({ "background": true })).await;
        let later = until(&app, &begun, "failed").await;
        assert!(
            later["error"]["message"]
                .as_str()
                .unwrap()
                .contains("the turn about the message failed")
        );
        // A turn that says nothing is an answer without an item.
        stub.clear();
        stub.on(
            decision,
            call("do_nothing", json!({ "reason": "nothing to say" })),
        );
        let silent = create(&app, "hm", json!({})).await;
        assert_eq!(
            (&silent["status"], &silent["output"]),
            (&json!("completed"), &json!([]))
        );
        let names = Stream::whole(stream(&app, "hm", json!({})).await)
            .await
            .names();
        assert_eq!(
            names,
            [
                "response.created",
                "response.in_progress",
                "response.completed"
            ]
        );
    }
);

on_both!(
    what_is_refused_is_said_in_this_protocols_words_and_stores_nothing,
    |medium| {
        let (_stub, _, app) = echo(medium).await;
        let known = create(&app, "so that the space is there", json!({})).await;
        let before = app.log().await.len();
        let hi = |more: Value| body("hi", more);
        let item = |item: Value| body(json!([item]), json!({}));
        let said =
            |content: Value| body(json!([{ "role": "user", "content": content }]), json!({}));
        let huge = "x".repeat(70_000);
        for (body, status, code, param) in [
            (hi(json!({ "model": "gpt-4o" })), 404, "not-found", "model"),
            (
                hi(json!({ "model": "thinkd/..bad" })),
                404,
                "not-found",
                "model",
            ),
            (hi(json!({ "model": 4 })), 400, "invalid-frame", "model"),
            (json!({ "input": "hi" }), 400, "invalid-frame", "model"),
            (json!({ "model": "thinkd" }), 400, "empty-input", "input"),
            (hi(json!({ "input": 4 })), 400, "invalid-frame", "input"),
            (hi(json!({ "input": " " })), 400, "empty-input", "input"),
            (hi(json!({ "input": [] })), 400, "empty-input", "input"),
            (hi(json!({ "input": huge })), 400, "text-too-large", "input"),
            (
                hi(json!({ "input": [4] })),
                400,
                "invalid-frame",
                "input[0]",
            ),
            (
                item(json!({ "role": "king", "content": "hi" })),
                400,
                "invalid-frame",
                "input[0].role",
            ),
            (
                item(json!({ "role": "assistant", "content": "hi" })),
                400,
                "empty-input",
                "input",
            ),
            (
                item(json!({ "type": "function_call_output", "call_id": "c", "output": "4" })),
                400,
                "invalid-frame",
                "input[0].call_id",
            ),
            (
                item(json!({ "type": "function_call_output", "output": "4" })),
                400,
                "invalid-frame",
                "input[0].call_id",
            ),
            (
                item(
                    json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" }),
                ),
                400,
                "empty-input",
                "input",
            ),
            (
                item(json!({ "type": "custom_tool_call_output", "call_id": "c" })),
                422,
                "unprocessable",
                "input[0]",
            ),
            (
                item(json!({ "type": "computer_call_output" })),
                422,
                "unprocessable",
                "input[0]",
            ),
            (
                item(json!({ "type": "item_reference" })),
                400,
                "invalid-frame",
                "input[0]",
            ),
            (
                item(json!({ "type": "item_reference", "id": "msg_1" })),
                404,
                "not-found",
                "input[0]",
            ),
            (said(json!(4)), 400, "invalid-frame", "input[0].content"),
            (
                said(json!([{ "type": "input_image", "image_url": "http://10.0.0.1/x.png" }])),
                400,
                "invalid-frame",
                "input[0].content[0]",
            ),
            (
                said(json!([{ "type": "input_image" }])),
                400,
                "invalid-frame",
                "input[0].content[0]",
            ),
            (
                said(json!([{ "type": "input_file", "file_id": "f" }])),
                400,
                "invalid-frame",
                "input[0].content[0]",
            ),
            (
                hi(json!({ "instructions": 4 })),
                400,
                "invalid-frame",
                "instructions",
            ),
            (
                hi(json!({ "instructions": huge })),
                400,
                "text-too-large",
                "input",
            ),
            (
                hi(json!({ "stream": "yes" })),
                400,
                "invalid-frame",
                "stream",
            ),
            (
                hi(json!({ "background": 1 })),
                400,
                "invalid-frame",
                "background",
            ),
            (hi(json!({ "store": false })), 422, "unprocessable", "store"),
            (hi(json!({ "store": "no" })), 400, "invalid-frame", "store"),
            (
                hi(json!({ "metadata": [] })),
                400,
                "invalid-frame",
                "metadata",
            ),
            (
                hi(json!({ "metadata": { "a": 4 } })),
                400,
                "invalid-frame",
                "metadata",
            ),
            (
                hi(json!({ "metadata": { "a": "x".repeat(513) } })),
                400,
                "invalid-frame",
                "metadata",
            ),
            (
                hi(json!({ "metadata": { "x".repeat(65): "a" } })),
                400,
                "invalid-frame",
                "metadata",
            ),
            (
                hi(
                    json!({ "metadata": Value::Object((0..17).map(|it| (it.to_string(), json!("x"))).collect()) }),
                ),
                400,
                "invalid-frame",
                "metadata",
            ),
            (hi(json!({ "user": 4 })), 400, "invalid-frame", "user"),
            (
                hi(json!({ "user": "x".repeat(513) })),
                400,
                "text-too-large",
                "user",
            ),
            (
                hi(json!({ "previous_response_id": 4 })),
                400,
                "invalid-frame",
                "previous_response_id",
            ),
            (
                hi(json!({ "previous_response_id": id(&known).replace("resp_", "") })),
                404,
                "not-found",
                "previous_response_id",
            ),
            (hi(json!({ "text": "json" })), 400, "invalid-frame", "text"),
            (
                hi(json!({ "text": { "format": { "type": "yaml" } } })),
                400,
                "invalid-frame",
                "text.format",
            ),
            (
                hi(json!({ "text": { "format": {} } })),
                400,
                "invalid-frame",
                "text.format",
            ),
            (
                hi(json!({ "text": { "format": { "type": "json_schema", "name": "n" } } })),
                400,
                "invalid-frame",
                "text.format",
            ),
            (
                hi(json!({ "tools": [{ "type": "function", "name": "a b" }] })),
                400,
                "invalid-frame",
                "tools[0].name",
            ),
            (
                hi(json!({ "tools": [{ "type": "function", "function": { "name": "f" } }] })),
                400,
                "invalid-frame",
                "tools[0]",
            ),
            (
                hi(json!({ "tool_choice": { "type": "function", "name": "f" } })),
                400,
                "invalid-frame",
                "tool_choice",
            ),
            (
                hi(json!({ "tools": [{ "type": "custom", "name": "f" }] })),
                422,
                "unprocessable",
                "tools[0]",
            ),
            (
                hi(json!({ "tools": [{ "type": "web_search" }] })),
                422,
                "unprocessable",
                "tools[0]",
            ),
            (hi(json!({ "tools": "all" })), 400, "invalid-frame", "tools"),
            (
                hi(json!({ "top_logprobs": 2 })),
                422,
                "unprocessable",
                "top_logprobs",
            ),
            (
                hi(json!({ "include": ["message.output_text.logprobs"] })),
                422,
                "unprocessable",
                "include",
            ),
            (
                hi(json!({ "conversation": "conv_1" })),
                422,
                "unprocessable",
                "conversation",
            ),
            (
                hi(json!({ "prompt": { "id": "pmpt_1" } })),
                422,
                "unprocessable",
                "prompt",
            ),
        ] {
            let error = refused(&app, &body, status).await;
            assert_eq!(
                (&error["code"], &error["param"]),
                (&json!(code), &json!(param)),
                "{error}"
            );
            assert_eq!(error["type"], "invalid_request_error");
        }
        let of_known = |end: &str| format!("{PATH}/{}{end}", id(&known));
        for (method, path, status) in [
            ("GET", PATH.to_owned(), 405),
            ("POST", of_known(""), 405),
            ("GET", of_known("/cancel"), 405),
            ("DELETE", of_known(""), 422),
            ("GET", of_known("?starting_after=3"), 400),
            ("GET", of_known("?stream=yes"), 400),
            ("GET", of_known("?stream=true&starting_after=-1"), 400),
            (
                "GET",
                of_known("?stream=true&starting_after=99999999999999999999"),
                400,
            ),
            ("GET", of_known("?colour=red"), 400),
            ("GET", of_known("/output_items"), 404),
        ] {
            let (got, body) = send(app.request(method, &path)).await;
            assert_eq!(got, status, "{method} {path}: {body}");
            assert!(body["error"]["message"].is_string(), "{path}: {body}");
        }
        let broken = app
            .request("POST", PATH)
            .header("content-type", "application/json")
            .body("{");
        assert_eq!(send(broken).await.1["error"]["code"], "malformed-json");
        let log = app.log().await;
        assert_eq!(with(&log[before..], &["input"]).len(), 0, "{}", story(&log));
        // The last one that is taken: the members that are read over.
        let taken = create(&app, "hi", json!({
            "temperature": 0.2, "top_p": 1, "max_output_tokens": 9, "reasoning": { "effort": "low" }, "truncation": "auto", "parallel_tool_calls": true,
            "include": ["reasoning.encrypted_content"], "service_tier": "auto", "store": true, "tools": [], "tool_choice": "auto", "colour": "red",
            "text": { "format": { "type": "text" }, "verbosity": "low" }, "conversation": null, "stream_options": { "include_obfuscation": false },
        })).await;
        assert_eq!(text_of(&taken), "ok: hi");
        let log = app.log().await;
        assert_eq!(with(&log[before..], &["input"]).len(), 1, "{}", story(&log));
    }
);

#[tokio::test]
async fn keys_and_roles_open_a_response_as_they_open_its_thread() {
    let (stub, keys) = (
        Stub::start().await,
        "[[keys]]\nkey = \"key-of-ann-0123456789\"\nspace = \"a\"\n[[keys]]\nkey = \"key-of-bob-0123456789\"\nspace = \"a\"\n[[keys]]\nkey = \"key-of-eve-0123456789\"\nspace = \"b\"\n[[keys]]\nkey = \"key-to-look-0123456789\"\nspace = \"a\"\nrole = \"viewer\"\n",
    );
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
    let stub = Stub::start().await;
    let setup = Setup::new(Medium::sqlite(), &stub).voices(&[]);
    let app = setup.env("THINKD_DOORS__OPENAI", "false").start().await;
    refused(&app, &body("hi", json!({})), 404).await;
}
