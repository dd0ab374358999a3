//! Tools that a client of the door for chat completions offers and runs itself: a call parks, its
//! result comes with a later request, and for the client it is one exchange.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::door::chat::{Client, pieces, words_of};
use kit::door::tools::{act, setup};
use kit::media::PNG;
use kit::*;

/// A tool as clients offer it.
fn tool(name: &str) -> Value {
    json!({ "type": "function", "function": {
        "name": name,
        "description": format!("Says the {name}."),
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] },
    } })
}

fn weather() -> Value {
    json!({ "tools": [tool("weather")] })
}

/// A client with calls to run.
struct Called {
    client: Client,
    thread: String,
    message: Value,
}

impl Called {
    /// Says something that has tools called.
    async fn by(app: &App, client: Client, words: &str, tools: Value) -> Self {
        let mut client = client.adds("user", words);
        let (status, body, thread) = client.send(app, tools).await;
        assert_eq!(status, 200, "{body}");
        let choice = &body["choices"][0];
        assert_eq!(choice["finish_reason"], "tool_calls", "{body}");
        let message = choice["message"].clone();
        client.messages.push(message.clone());
        Self {
            client,
            thread,
            message,
        }
    }

    fn id(&self, call: usize) -> String {
        let id = self.message["tool_calls"][call]["id"].as_str();
        id.unwrap().to_owned()
    }

    /// Adds the result of a call.
    fn gives(mut self, call: usize, text: &str) -> Self {
        let result = json!({ "role": "tool", "tool_call_id": self.id(call), "content": text });
        self.client.messages.push(result);
        self
    }

    /// Returns the answer that goes on.
    async fn answer(&self, app: &App) -> String {
        let (status, body, thread) = self.client.send(app, weather()).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["choices"][0]["finish_reason"], "stop", "{body}");
        assert_eq!(thread, self.thread);
        let text = body["choices"][0]["message"]["content"].as_str();
        text.unwrap().to_owned()
    }
}

/// The number of events of all threads.
async fn stored(app: &App) -> usize {
    app.log().await.len()
}

on_both!(a_call_is_run_by_the_client_and_comes_back, |medium| {
    let (stub, setup) = setup(medium).await;
    let app = setup.voices(&["owl"]).start().await;
    let called = Called::by(&app, Client::new(), "weather", weather()).await;
    let threads = app.pages("/threads?").await.len();
    let call = &called.message["tool_calls"][0];
    assert_eq!(called.message["content"], Value::Null);
    assert_eq!(call["type"], "function");
    assert_eq!(call["function"]["name"], "weather");
    let arguments = call["function"]["arguments"].as_str().unwrap();
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    assert_eq!(arguments, json!({ "city": "Bern" }));
    let asked = stub.nth(0, decision).await;
    assert!(asked.tools().contains(&"weather".to_owned()));
    let parked = app.log().await;
    assert_eq!(with(&parked, &["client-call"]).len(), 1);
    assert!(with(&parked, &["result", "tool:weather"]).is_empty());
    // Nothing works on it meanwhile.
    let row = app
        .get(&format!("/threads/{}", called.thread))
        .await
        .expect(200);
    assert_eq!(row["status"], "idle", "{row}");

    let mut called = called.gives(0, "4 degrees");
    assert_eq!(called.answer(&app).await, "got: 4 degrees");
    let log = app.log().await;
    in_order(
        &log,
        &[
            &["input"],
            &["client-call"],
            &["result", "tool:weather"],
            &["client-results"],
            &["response"],
        ],
    );
    assert_eq!(stub.count(|it| it.is_comment()), 1, "voices hear it once");
    // The next message goes on in the same thread, also without the tools.
    called.client = called.client.adds("assistant", "got: 4 degrees");
    called.client = called.client.adds("user", "thanks");
    let (status, body, thread) = called.client.send(&app, json!({})).await;
    assert_eq!((status, &thread), (200, &called.thread), "{body}");
    assert_eq!(body["choices"][0]["message"]["content"], "ok: thanks");
    let last = stub.nth(2, decision).await;
    assert!(!last.tools().contains(&"weather".to_owned()));
    assert!(last.says("4 degrees"), "the exchange is in the log");
    assert_eq!(app.pages("/threads?").await.len(), threads);
});

on_both!(two_calls_stream_behind_the_words_before_them, |medium| {
    let (stub, setup) = setup(medium).await;
    let both = |request: &Request| request.last_user() == "both";
    let answer = reply("Let me look.")
        .and("weather", json!({ "city": "Bern" }))
        .and("weather", json!({ "city": "Rome" }));
    stub.clear();
    stub.script(move |it| decision(it) && both(it), [answer]);
    stub.on_each(decision, act);
    let app = setup.start().await;
    let client = Client::new().adds("user", "both");
    let mut stream = weather();
    stream["stream"] = true.into();
    let sent = client.request(&app, stream.clone()).send();
    let response = within("the stream", sent).await.unwrap();
    let (all, done) = pieces(response).await;
    assert!(done);
    assert_eq!(words_of(&all), "Let me look.");
    let mut calls = vec![(String::new(), String::new(), String::new()); 2];
    for piece in &all {
        let deltas = piece["choices"][0]["delta"]["tool_calls"].as_array();
        for delta in deltas.into_iter().flatten() {
            let index = usize::try_from(delta["index"].as_u64().unwrap()).unwrap();
            let text = |place: &str| delta.pointer(place).and_then(Value::as_str).unwrap_or("");
            calls[index].0.push_str(text("/id"));
            calls[index].1.push_str(text("/function/name"));
            calls[index].2.push_str(text("/function/arguments"));
        }
    }
    assert_eq!(
        all.last().unwrap()["choices"][0]["finish_reason"],
        "tool_calls"
    );
    let cities: Vec<Value> = calls
        .iter()
        .map(|it| serde_json::from_str(&it.2).unwrap())
        .collect();
    assert_eq!(
        cities,
        [json!({ "city": "Bern" }), json!({ "city": "Rome" })]
    );
    assert_ne!(calls[0].0, calls[1].0);
    let made: Vec<Value> = calls
        .iter()
        .map(|(id, name, arguments)| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }))
        .collect();
    let mut client = client;
    client
        .messages
        .push(json!({ "role": "assistant", "content": "Let me look.", "tool_calls": made }));
    for (at, text) in [(1, "20 degrees"), (0, "4 degrees")] {
        client
            .messages
            .push(json!({ "role": "tool", "tool_call_id": calls[at].0, "content": text }));
    }
    let sent = client.request(&app, stream).send();
    let response = within("the stream", sent).await.unwrap();
    let (all, done) = pieces(response).await;
    assert!(done);
    assert_eq!(words_of(&all), "got: 4 degrees | 20 degrees");
    assert_eq!(all.last().unwrap()["choices"][0]["finish_reason"], "stop");
    // A client that keeps the words alone finds its thread, too.
    let client = Client::new()
        .adds("user", "both")
        .adds("assistant", "got: 4 degrees | 20 degrees")
        .adds("user", "more");
    let (status, body, _) = client.send(&app, json!({})).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(app.pages("/threads?").await.len(), 1);
});

on_both!(a_call_without_its_result_fails_and_each_has_one, |medium| {
    let (stub, setup) = setup(medium).await;
    let app = setup.start().await;
    let called = Called::by(&app, Client::new(), "both", weather()).await;
    let called = called.gives(1, "20 degrees");
    let answer = called.answer(&app).await;
    assert!(
        answer.contains("went on without it") && answer.contains("20 degrees"),
        "{answer}"
    );
    let asked = stub.count(decision);
    let before = stored(&app).await;
    // The same again, another result, and the one that was left out: the stored answer.
    assert_eq!(called.answer(&app).await, answer);
    let mut other = called.client.clone();
    other.messages.last_mut().unwrap()["content"] = "30 degrees".into();
    let mut late = called.client.clone();
    late.messages.last_mut().unwrap()["tool_call_id"] = called.id(0).into();
    for client in [other, late] {
        let (status, body, _) = client.send(&app, weather()).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["choices"][0]["message"]["content"], answer.as_str());
    }
    assert_eq!((stub.count(decision), stored(&app).await), (asked, before));
    let log = app.log().await;
    assert_eq!(with(&log, &["result", "tool:weather"]).len(), 2);
});

on_both!(two_requests_with_one_result_have_one_answer, |medium| {
    let (stub, setup) = setup(medium).await;
    let app = setup.start().await;
    let called = Called::by(&app, Client::new(), "weather", weather()).await;
    let called = called.gives(0, "4 degrees");
    let (one, other) = tokio::join!(called.answer(&app), called.answer(&app));
    assert_eq!((&*one, &*other), ("got: 4 degrees", "got: 4 degrees"));
    assert_eq!(stub.count(decision), 2);
    let log = app.log().await;
    assert_eq!(with(&log, &["client-results"]).len(), 1);
});

on_both!(
    a_call_that_waits_too_long_fails_and_the_turn_goes_on,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let setup = setup.env("THINKD_DOORS__CLIENT_TOOL_MS", 50);
        let app = setup.start().await;
        let called = Called::by(&app, Client::new(), "both", weather()).await;
        let asked = stub.nth(1, decision).await;
        assert!(asked.says("gave no result of weather in time"));
        assert!(
            !asked.tools().contains(&"weather".to_owned()),
            "no client is there"
        );
        let called = called.gives(0, "4 degrees").gives(1, "20 degrees");
        let answer = called.answer(&app).await;
        assert!(answer.contains("in time"), "{answer}");
        let log = app.log().await;
        assert_eq!(with(&log, &["client-results", "expired"]).len(), 1);
        assert_eq!(with(&log, &["result", "failure", "tool:weather"]).len(), 2);
        assert_eq!(stub.count(decision), 2);
    }
);

on_both!(results_of_calls_that_nobody_made_are_refused, |medium| {
    let (stub, setup) = setup(medium).await;
    let app = setup.start().await;
    let called = Called::by(&app, Client::new(), "weather", weather()).await;
    let other = Called::by(&app, Client::new(), "both", weather()).await;
    let before = stored(&app).await;
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "4" });
    let foreign = format!("call_{}", "0".repeat(32));
    let twice = vec![result(&called.id(0)), result(&called.id(0))];
    let mixed = vec![result(&called.id(0)), result(&other.id(0))];
    for (results, wrong) in [
        (vec![result("call_abc")], 0),
        (vec![result(&foreign)], 0),
        (vec![result(&called.id(0)), result(&foreign)], 1),
        (twice, 1),
        (mixed, 1),
    ] {
        let mut client = called.client.clone();
        client.messages.extend(results);
        let error = client.is_refused(&app, weather(), 400).await;
        assert_eq!(
            error["param"],
            format!("messages[{}].tool_call_id", 2 + wrong),
            "{error}"
        );
        assert_eq!(error["type"], "invalid_request_error");
    }
    // Words beside them change nothing.
    for (id, place) in [("call_abc", 2), (&foreign, 2)] {
        let mut client = called.client.clone();
        client.messages.push(result(id));
        client = client.adds("user", "thanks");
        let error = client.is_refused(&app, weather(), 400).await;
        assert_eq!(
            error["param"],
            format!("messages[{place}].tool_call_id"),
            "{error}"
        );
    }
    // Another client of the space knows the id, and does not answer for this one.
    let mut stranger = called.client.clone();
    stranger.user = Some("mallory");
    stranger.messages.push(result(&called.id(0)));
    let error = stranger.is_refused(&app, weather(), 400).await;
    assert_eq!(error["param"], "messages[2].tool_call_id");
    assert_eq!((stored(&app).await, stub.count(decision)), (before, 2));
    assert_eq!(
        called.gives(0, "4 degrees").answer(&app).await,
        "got: 4 degrees"
    );
});

on_both!(
    calls_of_another_server_are_told_with_their_conversation,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let app = setup.start().await;
        let made = json!([{ "id": "call_abc", "type": "function", "function": { "name": "weather", "arguments": "{}" } }]);
        let mut client = Client::new().adds("user", "Is it cold?");
        client
            .messages
            .push(json!({ "role": "assistant", "content": null, "tool_calls": made }));
        client
            .messages
            .push(json!({ "role": "tool", "tool_call_id": "call_abc", "content": "4 degrees" }));
        client = client.adds("user", "And now?");
        let (status, body, _) = client.send(&app, json!({})).await;
        assert_eq!(status, 200, "{body}");
        let asked = stub.nth(0, decision).await;
        assert!(asked.says("calls weather: {}") && asked.says("tool: 4 degrees"));
    }
);

on_both!(results_and_words_that_come_again_are_told_again, |medium| {
    let (stub, setup) = setup(medium).await;
    let app = setup.start().await;
    let called = Called::by(&app, Client::new(), "weather", weather()).await;
    let called = called.gives(0, "4 degrees");
    for (words, is_first) in [
        ("and now?", true),
        ("and now?", false),
        ("and then?", false),
    ] {
        let client = called.client.clone().adds("user", words);
        let (status, body, thread) = client.send(&app, weather()).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(thread == called.thread, is_first, "{words}");
        let asked = stub.nth(0, at(&thread)).await;
        let asked = match is_first {
            true => stub.nth(1, decision).await,
            false => asked,
        };
        assert!(asked.says("4 degrees") && asked.says(words), "{words}");
    }
});

on_both!(a_picture_in_a_result_is_kept_and_told, |medium| {
    let (stub, setup) = setup(medium).await;
    let app = setup.start().await;
    let mut called = Called::by(&app, Client::new(), "weather", weather()).await;
    let url = format!("data:image/png;base64,{PNG}");
    let parts = json!([{ "type": "text", "text": "a map" }, { "type": "image_url", "image_url": { "url": url } }]);
    let result = json!({ "role": "tool", "tool_call_id": called.id(0), "content": parts });
    called.client.messages.push(result);
    let answer = called.answer(&app).await;
    let log = app.log().await;
    let output = &with(&log, &["result", "tool:weather"])[0]["payload"]["output"];
    assert_eq!(output["text"], "a map", "{output}");
    let media = &output["media"][0];
    assert_eq!(media["mime"], "image/png", "{output}");
    let blob = media["blob"].as_str().unwrap();
    assert!(answer.contains(blob), "{answer}");
    app.get(&format!("/blobs/{blob}")).await;
    // One that is no picture is refused with its place, and nothing is stored.
    let mut called = Called::by(&app, Client::new(), "weather", weather()).await;
    let before = stored(&app).await;
    let broken =
        json!([{ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }]);
    let result = json!({ "role": "tool", "tool_call_id": called.id(0), "content": broken });
    called.client.messages.push(result);
    let error = called.client.is_refused(&app, weather(), 400).await;
    assert_eq!(error["param"], "messages[2]", "{error}");
    assert_eq!((stored(&app).await, stub.count(decision)), (before, 3));
});

on_both!(a_parked_call_survives_the_death_of_the_server, |medium| {
    let (_stub, setup) = setup(medium).await;
    let mut app = setup.start().await;
    let called = Called::by(&app, Client::new(), "weather", weather()).await;
    app.restart().await;
    let called = called.gives(0, "4 degrees");
    assert_eq!(called.answer(&app).await, "got: 4 degrees");
    app.restart().await;
    assert_eq!(
        called.answer(&app).await,
        "got: 4 degrees",
        "the stored one"
    );
});

/// On Postgres: a server that did not make the call takes its result.
#[tokio::test]
async fn another_server_takes_the_result() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let (_stub, setup) = setup(medium).await;
    let app = setup.start().await;
    let other = app.beside().await;
    let called = Called::by(&app, Client::new(), "weather", weather()).await;
    let called = called.gives(0, "4 degrees");
    assert_eq!(called.answer(&other).await, "got: 4 degrees");
    assert_eq!(called.answer(&app).await, "got: 4 degrees");
}

on_both!(other_words_instead_of_a_result_fail_the_call, |medium| {
    let (stub, setup) = setup(medium).await;
    stub.clear();
    stub.on_each(decision, |request| match request.last_user().as_str() {
        "weather" => call("weather", json!({ "city": "Bern" })),
        other => reply(&format!("ok: {other}")),
    });
    let app = setup.start().await;
    let called = Called::by(&app, Client::new(), "weather", weather()).await;
    let moved = called.client.clone().adds("user", "never mind");
    let (status, body, thread) = moved.send(&app, weather()).await;
    assert_eq!((status, &thread), (200, &called.thread), "{body}");
    assert_eq!(body["choices"][0]["message"]["content"], "ok: never mind");
    let asked = stub.nth(1, decision).await;
    assert!(asked.says("the client said something else: there is no result of weather"));
    // The result is too late: the conversation went on, and nothing is stored.
    let before = stored(&app).await;
    let late = called.gives(0, "4 degrees");
    let error = late.client.is_refused(&app, weather(), 409).await;
    assert_eq!(error["code"], "already-settled");
    assert_eq!(stored(&app).await, before);
    // A result and new words at once: both count.
    let called = Called::by(
        &app,
        Client::new().adds("system", "Be brief."),
        "weather",
        weather(),
    )
    .await;
    let called = called.gives(0, "4 degrees");
    let both = called.client.clone().adds("user", "and Rome?");
    let (status, body, thread) = both.send(&app, weather()).await;
    assert_eq!((status, &thread), (200, &called.thread), "{body}");
    assert!(stub.nth(3, decision).await.says("4 degrees"));
});

on_both!(a_client_may_hang_up_in_every_phase, |medium| {
    let (stub, setup) = setup(medium).await;
    let gate = Gate::new();
    let held = gate.clone();
    stub.clear();
    let first = call("weather", json!({ "city": "Bern" }));
    stub.script(decision, [first.clone().never(), first]);
    stub.script(decision, [reply("never heard").held(&held)]);
    stub.on_each(decision, act);
    let app = setup.start().await;
    let hangs_up = async |client: &Client, nth: usize| {
        let sent = tokio::spawn(client.request(&app, weather()).send());
        let asked = stub.nth(nth, decision).await;
        sent.abort();
        asked.closed().await;
    };
    let cancelled = async |count: usize| {
        within("the end of the turn", async {
            loop {
                let log = app.pages("/events?order=asc&tags=ended&").await;
                let is_cut = |it: &&Value| it["payload"]["outcome"] == "cancelled";
                if log.iter().filter(is_cut).count() == count {
                    break;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    };
    // While the model thinks, before any call.
    let phases = app.conversation(json!({ "label": "phases" })).await;
    let client = Client::of(&phases).adds("user", "weather");
    hangs_up(&client, 0).await;
    cancelled(1).await;
    assert!(with(&app.log().await, &["client-call"]).is_empty());
    // Between call and result nobody is connected: a retry of the first request has the same call.
    let more = app.conversation(json!({ "label": "more" })).await;
    let called = Called::by(
        &app,
        Client::of(&more).header("idempotency-key", "k1"),
        "weather",
        weather(),
    )
    .await;
    let mut again = called.client.clone();
    again.messages.pop();
    let (_, body, _) = again.send(&app, weather()).await;
    assert_eq!(body["choices"][0]["message"], called.message, "{body}");
    // While the model thinks about the result: the same request again has a whole answer.
    let called = called.gives(0, "4 degrees");
    hangs_up(&called.client, 2).await;
    cancelled(2).await;
    assert_eq!(called.answer(&app).await, "got: 4 degrees");
    assert_eq!(called.answer(&app).await, "got: 4 degrees");
    let log = app.log().await;
    assert_eq!(
        with(&log, &["result", "tool:weather"]).len(),
        1,
        "{}",
        story(&log)
    );
    assert_eq!(stub.count(decision), 4);
    let mut next = Client::of(&more);
    next.messages = called.client.messages.clone();
    let next = next
        .adds("assistant", "got: 4 degrees")
        .adds("user", "thanks");
    let (status, body, thread) = next.send(&app, json!({})).await;
    assert_eq!((status, thread), (200, called.thread), "{body}");
    assert_eq!(app.pages("/threads?").await.len(), 2);
});

on_both!(a_cancelled_thread_takes_no_results, |medium| {
    let (_stub, setup) = setup(medium).await;
    let app = setup.start().await;
    let called = Called::by(&app, Client::new(), "weather", weather()).await;
    let path = format!("/threads/{}/cancel", called.thread);
    let cancelled = app.post(&path, json!({})).await;
    assert!(cancelled.status < 300, "{}", cancelled.body);
    let called = called.gives(0, "4 degrees");
    let error = called.client.is_refused(&app, weather(), 409).await;
    assert_eq!(error["code"], "already-settled");
});

on_both!(a_name_that_the_server_has_is_told_with_a_prefix, |medium| {
    let (stub, setup) = setup(medium).await;
    let app = setup.start().await;
    let tools = json!({ "tools": [tool("reply")] });
    let called = Called::by(&app, Client::new(), "clash", tools).await;
    assert_eq!(called.message["tool_calls"][0]["function"]["name"], "reply");
    let told = stub.nth(0, decision).await.tools();
    assert_eq!(
        told.iter().filter(|name| name.as_str() == "reply").count(),
        1
    );
    assert!(told.contains(&"client__reply".to_owned()), "{told:?}");
    assert_eq!(
        called.gives(0, "4 degrees").answer(&app).await,
        "got: 4 degrees"
    );
});

on_both!(
    offers_that_are_too_large_or_wrong_are_refused_by_name,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let app = setup.start().await;
        let before = stored(&app).await;
        let many: Vec<Value> = (0..200).map(|number| tool(&format!("t{number}"))).collect();
        let mut huge = tool("huge");
        huge["function"]["parameters"]["description"] = "x".repeat(60_000).into();
        let mut away = tool("away");
        away["function"]["parameters"] = json!({ "$ref": "http://169.254.169.254/" });
        let custom = json!({ "type": "web_search" });
        for (more, status, param) in [
            (json!({ "tools": many }), 400, "tools"),
            (
                json!({ "tools": [tool("a"), huge] }),
                400,
                "tools[1].function.parameters",
            ),
            (
                json!({ "tools": [away] }),
                400,
                "tools[0].function.parameters",
            ),
            (
                json!({ "tools": [tool("a b")] }),
                400,
                "tools[0].function.name",
            ),
            (
                json!({ "tools": [tool("client__a")] }),
                400,
                "tools[0].function.name",
            ),
            (
                json!({ "tools": [tool("a"), tool("a")] }),
                400,
                "tools[1].function.name",
            ),
            (json!({ "tools": [custom] }), 422, "tools[0].type"),
            (
                json!({ "tools": [tool("a")], "tool_choice": { "type": "function", "function": { "name": "b" } } }),
                400,
                "tool_choice",
            ),
            (json!({ "functions": [{ "name": "f" }] }), 422, "functions"),
            (json!({ "function_call": "auto" }), 422, "function_call"),
        ] {
            let client = Client::new().adds("user", "weather");
            let error = client.is_refused(&app, more, status).await;
            assert_eq!(error["param"], param, "{error}");
        }
        // A process has no client: it goes on by itself.
        app.process("worker", json!({ "prompt": "Work." })).await;
        let mut client = Client::of("worker");
        client = client.adds("user", "weather");
        client.is_refused(&app, weather(), 422).await;
        let log = app.log().await;
        assert!(
            with(&log[before..], &["input"]).is_empty(),
            "{}",
            story(&log)
        );
        assert_eq!(stub.count(|it| it.thread != "worker"), 0);
    }
);

on_both!(conversations_do_not_see_one_anothers_tools, |medium| {
    let (stub, setup) = setup(medium).await;
    let app = setup.start().await;
    let time = json!({ "tools": [tool("time")] });
    let (one, other) = tokio::join!(
        Called::by(&app, Client::new(), "weather", weather()),
        Called::by(&app, Client::new(), "time", time),
    );
    for (thread, own, foreign) in [
        (&one.thread, "weather", "time"),
        (&other.thread, "time", "weather"),
    ] {
        let asked = stub.request(at(thread)).await.tools();
        assert!(asked.iter().any(|name| name == own), "{asked:?}");
        assert!(!asked.iter().any(|name| name == foreign), "{asked:?}");
    }
    assert_eq!(
        one.gives(0, "4 degrees").answer(&app).await,
        "got: 4 degrees"
    );
    assert_eq!(other.gives(0, "noon").answer(&app).await, "got: noon");
});

on_both!(a_choice_of_tools_goes_to_the_model, |medium| {
    let (stub, setup) = setup(medium).await;
    let app = setup.start().await;
    let tools = json!([tool("weather"), tool("time")]);
    let with_choice = |choice: Value| json!({ "tools": tools, "tool_choice": choice });
    let called = Called::by(
        &app,
        Client::new(),
        "weather",
        with_choice("required".into()),
    )
    .await;
    let asked = stub.nth(0, decision).await;
    assert_eq!(asked.tools(), ["weather", "time"]);
    assert_eq!(asked.body["tool_choice"], "required");
    assert_eq!(
        called.gives(0, "4 degrees").answer(&app).await,
        "got: 4 degrees"
    );
    let this = json!({ "type": "function", "function": { "name": "time" } });
    Called::by(&app, Client::new(), "time", with_choice(this)).await;
    assert_eq!(stub.nth(2, decision).await.tools(), ["time"]);
    // A record of such a call makes the request again.
    let log = app.log().await;
    for record in with(&log, &["call:decision"]) {
        let path = format!("/prompt-views/{}", record["event_id"].as_str().unwrap());
        assert_eq!(app.get(&path).await.expect(200)["exact"], true, "{record}");
    }
    let none = Client::new().adds("user", "hello");
    let (status, body, _) = none.send(&app, with_choice("none".into())).await;
    assert_eq!(
        (status, &body["choices"][0]["finish_reason"]),
        (200, &json!("stop"))
    );
    assert!(
        !stub
            .nth(3, decision)
            .await
            .tools()
            .contains(&"time".to_owned())
    );
    // One call at a time: of two the first waits.
    let single = json!({ "tools": tools, "parallel_tool_calls": false });
    let called = Called::by(&app, Client::new(), "both", single).await;
    assert_eq!(called.message["tool_calls"].as_array().unwrap().len(), 1);
    let answer = called.gives(0, "4 degrees").answer(&app).await;
    assert!(
        answer.contains("one call at a time") && answer.contains("4 degrees"),
        "{answer}"
    );
});

on_both!(
    a_large_result_is_kept_whole_and_shown_as_far_as_others,
    |medium| {
        let (_stub, setup) = setup(medium).await;
        let app = setup
            .env("THINKD_TEST_LIMITS__TOOL_OUTPUT_BYTES", 2000)
            .start()
            .await;
        let called = Called::by(&app, Client::new(), "weather", weather()).await;
        let called = called.gives(0, &"cold ".repeat(1000));
        assert!(called.answer(&app).await.contains("truncated"));
        let log = app.log().await;
        let result = one(&log, &["result", "tool:weather"]);
        assert_eq!(result["payload"]["output"]["bytes"], 5000, "{result}");
    }
);

on_both!(
    a_call_that_cannot_be_read_goes_back_to_the_model,
    |medium| {
        let (stub, setup) = setup(medium).await;
        let app = setup.start().await;
        let client = Client::new().adds("user", "broken");
        let (status, body, _) = client.send(&app, weather()).await;
        assert_eq!(status, 200, "{body}");
        let text = body["choices"][0]["message"]["content"].as_str().unwrap();
        assert!(text.contains("JSON"), "{text}");
        assert_eq!(stub.count(decision), 2);
        assert!(with(&app.log().await, &["client-call"]).is_empty());
    }
);

on_both!(
    words_in_place_of_a_result_stay_in_their_own_conversation,
    |medium| {
        let (stub, setup) = setup(medium).await;
        stub.clear();
        stub.on_each(decision, |request| match request.last_user().as_str() {
            "weather" => call("weather", json!({ "city": "Bern" })),
            other => reply(&format!("ok: {other}")),
        });
        let app = setup.start().await;
        // Several people with one key who say the same, and have the same calls.
        for number in 0..6 {
            Called::by(&app, Client::new(), "weather", weather()).await;
            let called = Called::by(&app, Client::new(), "weather", weather()).await;
            let words = format!("never mind {number}");
            let moved = called.client.clone().adds("user", words);
            let (status, body, thread) = moved.send(&app, weather()).await;
            assert_eq!((status, &thread), (200, &called.thread), "{body}");
        }
    }
);
