//! Clients of OpenAI's protocol with messages that join the running turn, and the refusals of that door.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::*;

const PATH: &str = "/v1/chat/completions";

fn user(words: &str) -> Value {
    json!({ "role": "user", "content": words })
}

fn assistant(words: &str) -> Value {
    json!({ "role": "assistant", "content": words })
}

fn joins(model: &str, messages: &[Value]) -> Value {
    json!({ "model": model, "messages": messages, "metadata": { "thinkd_policy": "steer" } })
}

async fn inputs(app: &App, many: usize) -> Vec<Value> {
    app.until_some("the messages", async || {
        let log = app.public_log().await;
        let inputs = with(&log, &["input"]);
        (inputs.len() >= many).then(|| inputs.into_iter().cloned().collect())
    })
    .await
}

/// Two messages of a client of this model, the second one for the turn of the first.
async fn talks(medium: Medium, model: &str) {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(decision, [look().held(&gate), reply("Both."), reply("On.")]);
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    let one = json!({ "model": model, "messages": [user("one")] });
    let two = joins(model, &[user("one"), user("two")]);
    let says = async {
        stub.request(decision).await;
        let opens = async {
            let inputs = inputs(&app, 2).await;
            assert_eq!(said(&inputs[1]), "two");
            gate.open();
        };
        tokio::join!(app.post(PATH, two), opens).0
    };
    let (first, second) = tokio::join!(app.post(PATH, one), says);
    let thread = first.header("x-thinkd-thread").to_owned();
    assert_eq!(second.header("x-thinkd-thread"), thread);
    for answer in [first, second] {
        let body = answer.expect(200);
        assert_eq!(body["choices"][0]["message"]["content"], "Both.", "{body}");
    }
    let three = [user("one"), user("two"), assistant("Both."), user("three")];
    let on = json!({ "model": model, "messages": three });
    let on = app.post(PATH, on).await;
    assert_eq!(on.header("x-thinkd-thread"), thread);
    on.expect(200);
    let log = app.log().await;
    only(&log, &["turn", "steered"]);
    assert_eq!(batches(&log).len(), 2, "{}", story(&log));
    let told: Vec<&str> = with(&log, &["input"]).into_iter().map(said).collect();
    assert_eq!(told, ["one", "two", "three"]);
}

on_both!(
    a_message_of_such_a_client_joins_the_turn_of_the_one_before,
    |medium| {
        talks(medium, "thinkd").await;
    }
);

on_both!(in_a_named_thread_too, |medium| {
    talks(medium, "thinkd/main").await;
});

type Sent = JoinHandle<reqwest::Result<reqwest::Response>>;

/// Two clients at one turn, which the message of the second is to join.
struct Two {
    app: App,
    stub: Stub,
    first: Sent,
    second: Sent,
}

impl Two {
    /// Returns them when both messages are stored, and the model is at the first of these rounds.
    async fn wait(medium: Medium, rounds: [Answer; 2]) -> Self {
        let stub = Stub::start().await;
        stub.script(decision, rounds);
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let send = |body: &Value| tokio::spawn(app.request("POST", PATH).json(body).send());
        let first = send(&json!({ "model": "thinkd/main", "messages": [user("one")] }));
        stub.request(decision).await;
        let second = send(&joins("thinkd/main", &[user("one"), user("two")]));
        inputs(&app, 2).await;
        Self {
            app,
            stub,
            first,
            second,
        }
    }
}

/// Time for the server to see a hang-up: it stores nothing, so no event tells of it.
async fn hung_up() {
    tokio::time::sleep(ms(200)).await;
}

on_both!(the_last_client_that_waits_for_a_turn_stops_it, |medium| {
    let gates = [Gate::new(), Gate::new()];
    let rounds = [look().held(&gates[0]), reply("Both.").held(&gates[1])];
    let Two {
        app,
        stub,
        first,
        second,
    } = Two::wait(medium, rounds).await;
    gates[0].open();
    let asked = stub.nth(1, decision).await;
    second.abort();
    // The first one waits still.
    hung_up().await;
    assert!(with(&app.log().await, &["turn", "ended"]).is_empty());
    first.abort();
    asked.closed().await;
    app.until("the end", async || {
        !with(&app.log().await, &["turn", "ended"]).is_empty()
    })
    .await;
    assert_eq!(
        only(&app.log().await, &["turn", "ended"])["payload"]["outcome"],
        "cancelled"
    );
});

on_both!(
    a_conversation_whose_thread_has_ended_goes_on_in_a_fork,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(decision, |request| {
            reply(&format!("ok: {}", request.last_user()))
        });
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let one = json!({ "model": "thinkd", "messages": [user("one")] });
        let thread = app
            .post(PATH, one)
            .await
            .header("x-thinkd-thread")
            .to_owned();
        app.post(&format!("/threads/{thread}/end"), json!({}))
            .await
            .expect(200);
        let two = [user("one"), assistant("ok: one"), user("two")];
        let said =
            |model: &str, messages: &[Value]| json!({ "model": model, "messages": messages });
        let on = app.post(PATH, said("thinkd", &two)).await;
        let fork = on.header("x-thinkd-thread").to_owned();
        assert_ne!(fork, thread);
        on.expect(200);
        assert!(stub.nth(1, decision).await.says("ok: one"));
        let three = [&two[..], &[assistant("ok: two"), user("three")]].concat();
        let on = app.post(PATH, said("thinkd", &three)).await;
        assert_eq!(on.header("x-thinkd-thread"), fork);
        // Who names the thread is told.
        let named = app
            .post(PATH, said(&format!("thinkd/{thread}"), &[user("x")]))
            .await;
        assert_eq!(
            (named.status, named.expect(409)["error"]["code"].clone()),
            (409, json!("thread-ended"))
        );
    }
);

on_both!(refusals_name_what_is_wrong_and_make_no_thread, |medium| {
    let stub = Stub::start().await;
    stub.script(decision, [status(401)]);
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    app.post("/threads", json!({ "label": "research" }))
        .await
        .expect(201);
    let said = |model: &str| json!({ "model": model, "messages": [user("x")] });
    let slip = app.post(PATH, said("thinkd/reserach")).await;
    let error = slip.expect(404)["error"].clone();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("there is thinkd/research"),
        "{error}"
    );
    assert_eq!(error["param"], "model");
    app.get("/v1/models/thinkd/reserach").await.expect(404);
    app.get("/threads/reserach").await.expect(404);
    let wrong = json!({ "model": "thinkd", "messages": [user("x")], "metadata": { "thinkd_policy": "hurry" } });
    let error = app.post(PATH, wrong).await.expect(400)["error"].clone();
    assert_eq!(error["param"], "metadata.thinkd_policy", "{error}");
    // A turn that failed is told with its thread.
    let failed = app.post(PATH, said("thinkd")).await;
    assert!(!failed.header("x-thinkd-thread").is_empty());
    failed.expect(424);
});

on_both!(two_clients_of_one_turn_part_behind_it, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(decision, [look().held(&gate), reply("Both.")]);
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    let send = |body: Value| tokio::spawn(app.request("POST", PATH).json(&body).send());
    let first = send(json!({ "model": "thinkd", "messages": [user("one")] }));
    stub.request(decision).await;
    let second = send(joins("thinkd", &[user("one"), user("two")]));
    inputs(&app, 2).await;
    gate.open();
    for answer in [first, second] {
        let answer = within("the answer", answer).await.unwrap().unwrap();
        assert_eq!(answer.status(), 200);
    }
    stub.on_each(decision, |request| {
        reply(&format!("ok: {}", request.last_user()))
    });
    let says = async |before: &[&str], words: &str| {
        let mut messages: Vec<Value> = before.iter().map(|it| user(it)).collect();
        messages.extend([assistant("Both."), user(words)]);
        let body = json!({ "model": "thinkd", "messages": messages });
        let answer = app.post(PATH, body).await;
        let thread = answer.header("x-thinkd-thread").to_owned();
        answer.expect(200);
        thread
    };
    let own = says(&["one"], "of the first").await;
    let other = says(&["one", "two"], "of the second").await;
    assert_ne!(own, other, "each has a thread of its own from here");
    let seen = stub.nth(0, at(&other)).await;
    assert!(seen.says("of the second") && !seen.says("of the first"));
});

on_both!(a_policy_holds_where_the_messages_name_the_turn, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    let held = gate.clone();
    stub.on_each(decision, move |request| {
        let answer = reply(&format!("ok: {}", request.last_user()));
        match request.last_user().as_str() {
            "slow" => answer.held(&held),
            _ => answer,
        }
    });
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    let past = [user("one"), assistant("ok: one")];
    let one = json!({ "model": "thinkd", "messages": [user("one")] });
    let thread = app
        .post(PATH, one)
        .await
        .header("x-thinkd-thread")
        .to_owned();
    let slow = [&past[..], &[user("slow")]].concat();
    let sent = json!({ "model": "thinkd", "messages": slow });
    let slow_answer = tokio::spawn(app.request("POST", PATH).json(&sent).send());
    stub.nth(1, decision).await;
    let more = [&slow[..], &[user("more")]].concat();
    let with_policy = |policy: &str| json!({ "model": "thinkd", "messages": more, "metadata": { "thinkd_policy": policy } });
    let before = app.log().await.len();
    let refused = app.post(PATH, with_policy("reject")).await;
    assert_eq!(
        (refused.status, &refused.body["error"]["code"]),
        (409, &json!("busy"))
    );
    assert_eq!(app.log().await.len(), before, "nothing is stored");
    // Without a policy of its own it waits for its turn, as with `enqueue`.
    let waits = json!({ "model": "thinkd", "messages": more });
    let waits = tokio::spawn(app.request("POST", PATH).json(&waits).send());
    inputs(&app, 3).await;
    gate.open();
    for (answer, words) in [(slow_answer, "ok: slow"), (waits, "ok: more")] {
        let answer = within("the answer", answer).await.unwrap().unwrap();
        assert_eq!(answer.headers()["x-thinkd-thread"], thread.as_str());
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["choices"][0]["message"]["content"], words, "{body}");
    }
    let told: Vec<String> = inputs(&app, 3)
        .await
        .iter()
        .map(|it| said(it).to_owned())
        .collect();
    assert_eq!(told, ["one", "slow", "more"], "each message is told once");
});

on_both!(a_message_that_joins_brings_its_tools, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    let bern = || json!({ "city": "Bern" });
    stub.script(
        decision,
        [
            look().held(&gate),
            call("weather", bern()),
            reply("It snows."),
        ],
    );
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    let send = |body: &Value| tokio::spawn(app.request("POST", PATH).json(body).send());
    let first = send(&json!({ "model": "thinkd/main", "messages": [user("one")] }));
    stub.request(decision).await;
    let tool = json!({ "type": "function", "function": { "name": "weather" } });
    let mut two = joins("thinkd/main", &[user("one"), user("two")]);
    two["tools"] = json!([tool]);
    let second = send(&two);
    inputs(&app, 2).await;
    gate.open();
    let mut bodies = Vec::new();
    for answer in [first, second] {
        let answer = within("the answer", answer).await.unwrap().unwrap();
        assert_eq!(answer.status(), 200);
        bodies.push(answer.json::<Value>().await.unwrap());
    }
    let offers = |request: Arc<Request>| request.tools().contains(&"weather".to_owned());
    assert!(!offers(stub.nth(0, decision).await));
    assert!(offers(stub.nth(1, decision).await));
    // The client that offers it is asked to run the call, and the other one is told so in words.
    let called = &bodies[1]["choices"][0];
    assert_eq!(called["finish_reason"], "tool_calls", "{called}");
    let told = &bodies[0]["choices"][0];
    assert_eq!(told["finish_reason"], "stop", "{told}");
    let words = told["message"]["content"].as_str().unwrap();
    assert!(words.contains("`weather` waits for the client"), "{words}");
    assert!(told["message"]["tool_calls"].is_null(), "{told}");
    let mut on = two["messages"].as_array().unwrap().clone();
    on.push(called["message"].clone());
    let id = called["message"]["tool_calls"][0]["id"].clone();
    on.push(json!({ "role": "tool", "tool_call_id": id, "content": "4" }));
    let answer = app
        .post(PATH, json!({ "model": "thinkd/main", "messages": on }))
        .await;
    assert_eq!(
        answer.expect(200)["choices"][0]["message"]["content"],
        "It snows."
    );
    // The other one goes on in the thread.
    let on = [user("one"), assistant(words), user("three")];
    let answer = app
        .post(PATH, json!({ "model": "thinkd/main", "messages": on }))
        .await;
    assert_eq!(answer.header("x-thinkd-thread"), "main");
});

on_both!(a_retry_of_a_message_that_joined_says_it_once, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(decision, [look().held(&gate), reply("Both.")]);
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    let one = json!({ "model": "thinkd", "messages": [user("one")] });
    let two = joins("thinkd", &[user("one"), user("two")]);
    let send = |body: &Value, count: &str| {
        let request = app.request("POST", PATH).json(body);
        tokio::spawn(request.header("x-stainless-retry-count", count).send())
    };
    let first = send(&one, "0");
    stub.request(decision).await;
    let second = send(&two, "0");
    inputs(&app, 2).await;
    let again = send(&two, "1");
    gate.open();
    for answer in [first, second, again] {
        let answer = within("the answer", answer).await.unwrap().unwrap();
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["choices"][0]["message"]["content"], "Both.", "{body}");
    }
    assert_eq!(inputs(&app, 2).await.len(), 2);
});

on_both!(
    a_client_that_hangs_up_leaves_the_turn_to_one_that_is_to_join,
    |medium| {
        let gate = Gate::new();
        let rounds = [look().held(&gate), reply("Both.")];
        let Two {
            app,
            stub: _stub,
            first,
            second,
        } = Two::wait(medium, rounds).await;
        first.abort();
        hung_up().await;
        gate.open();
        let answer = within("the answer", second).await.unwrap().unwrap();
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["choices"][0]["message"]["content"], "Both.", "{body}");
        let log = app.log().await;
        only(&log, &["turn", "steered"]);
        let ended = only(&log, &["turn", "ended"]);
        assert_eq!(ended["payload"]["outcome"], "done");
    }
);
