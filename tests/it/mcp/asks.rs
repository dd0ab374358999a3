//! Servers that ask while they work: people, in the queue of all questions, for as long as the call runs; and models, which is refused.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

fn form(message: &str) -> (&'static str, Value) {
    let size = json!({ "type": "integer", "minimum": 1, "maximum": 9 });
    let schema = json!({ "type": "object", "properties": { "size": size }, "required": ["size"] });
    (
        "elicitation/create",
        json!({ "message": message, "requestedSchema": schema }),
    )
}

/// The questions that are open, as soon as there are so many.
async fn open(app: &App, count: usize) -> Vec<Value> {
    app.until_some("the questions", async || {
        let open = app.pages("/questions?").await;
        (open.len() == count).then_some(open)
    })
    .await
}

async fn answer(app: &App, question: &Value, body: Value) -> Reply {
    app.post(
        &format!("/questions/{}", question["question_id"].as_str().unwrap()),
        body,
    )
    .await
}

async fn go_away(app: &App) {
    let body = json!({ "settings": { "user_away": true } });
    http::send(app.request("PUT", "/settings").json(&body))
        .await
        .expect(200);
}

/// Returns the answer that the server got, from line `nth` of the call's result.
fn told(log: &[Value], nth: usize) -> Value {
    let result = one(log, &["result", "tool:mcp__it__ask"]);
    let words = result["payload"]["output"]
        .as_str()
        .unwrap_or_else(|| panic!("{}", story(log)));
    serde_json::from_str(words.lines().nth(nth).unwrap()).unwrap()
}

/// A server with the tool `ask`, which asks these.
async fn asking(requests: Vec<(&'static str, Value)>) -> ToolServer {
    let server = ToolServer::start(vec![tool("ask", "Asks.")]).await;
    server.does("ask", Does::Asks(requests));
    server
}

async fn asked() -> Stub {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [call("mcp__it__ask", arguments("a")), reply("Known.")],
    );
    stub
}

on_sqlite!(
    t1_02_what_a_server_asks_is_a_question_to_people_and_the_answer_goes_back,
    |medium| {
        let server = asking(vec![form("Which size?")]).await;
        let stub = asked().await;
        let app = setup(medium, &stub, &server, "").start().await;
        let mut socket = app.socket().await;
        socket.say("go").await;
        let question = open(&app, 1).await.remove(0);
        assert_eq!(
            (&question["thread"], &question["server"]),
            (&json!("main"), &json!("it"))
        );
        let text = question["text"].as_str().unwrap();
        assert_eq!(text, "The server it asks, for mcp__it__ask: Which size?");
        answer(&app, &question, json!({ "value": { "size": 10 } }))
            .await
            .expect_problem(422, "invalid-arguments");
        // A message is a message: what is typed by chance is nothing for others.
        socket.say(r#"{"size": 3}"#).await;
        assert_eq!(open(&app, 1).await.len(), 1);
        answer(&app, &question, json!({ "value": { "size": 4 } }))
            .await
            .expect(204);
        socket
            .event("the reply", |event| has(event, "response"))
            .await;
        let log = app.public_log().await;
        assert_eq!(
            told(&log, 0),
            json!({ "action": "accept", "content": { "size": 4 } })
        );
        in_order(
            &log,
            &[
                &["action", "tool:mcp__it__ask"],
                &["question", "user"],
                &["answer"],
                &["result", "tool:mcp__it__ask"],
            ],
        );
        let answered = one(&log, &["answer"]);
        assert_eq!(
            (&answered["payload"]["server"], has(answered, "overrules")),
            (&json!("it"), false),
            "it wakes nobody"
        );
        assert_eq!(app.pages("/questions?").await, Vec::<Value>::new());
        assert!(
            stub.nth(1, decision).await.says("Which size?"),
            "the mind knows what was asked in its name"
        );
    }
);

on_sqlite!(t1_02_a_question_of_a_server_ends_with_its_call, |medium| {
    let server = asking(vec![form("Which size?")]).await;
    let stub = asked().await;
    let setup = setup(medium, &stub, &server, "").env("THINKD_TOOLS__MCP__IT__TIMEOUT_MS", 700);
    let app = setup.start().await;
    app.tell("go").await;
    let log = app.public_log().await;
    let result = one(&log, &["result", "failure"]);
    assert_eq!(
        result["payload"]["problem"]["kind"],
        "timeout",
        "{}",
        story(&log)
    );
    open(&app, 0).await;
    let log = app.public_log().await;
    let answered = one(&log, &["answer"]);
    assert!(
        has(answered, "expired") || has(answered, "withdrawn"),
        "{answered}"
    );
    assert_eq!(
        with(&log, &["result", "tool:mcp__it__ask"]).len(),
        1,
        "it is no result: {}",
        story(&log)
    );
    let asked = server.hears("tools/call", 1).await["id"].clone();
    let told = server.told(&format!("ask-{asked}-0")).await;
    assert_eq!(told["result"]["action"], "cancel", "{told}");
});

// Who does not wait for the answer leaves nobody with a question.
on_sqlite!(
    t1_02_a_question_is_withdrawn_when_its_call_is_answered_before_it,
    |medium| {
        let server = ToolServer::start(vec![tool("ask", "Asks.")]).await;
        let (method, params) = form("Which size?");
        let request =
            json!({ "jsonrpc": "2.0", "id": "early", "method": method, "params": params });
        server.does("ask", Does::Sends(vec![request], words("done")));
        let stub = asked().await;
        let app = setup(medium, &stub, &server, "").start().await;
        app.tell("go").await;
        app.until("the end of the question", async || {
            with(&app.public_log().await, &["question", "user"]).len()
                == with(&app.public_log().await, &["answer"]).len()
        })
        .await;
        open(&app, 0).await;
        let log = app.public_log().await;
        let is_withdrawn = |event: &&Value| has(event, "withdrawn");
        assert!(
            with(&log, &["answer"]).iter().all(is_withdrawn),
            "{}",
            story(&log)
        );
        assert_eq!(
            one(&log, &["result", "tool:mcp__it__ask"])["payload"]["output"],
            "done"
        );
    }
);

on_sqlite!(
    t1_02_nobody_is_asked_what_is_no_form_or_while_people_are_away,
    |medium| {
        let url = json!({ "mode": "url", "message": "Log in.", "url": "https://evil.example", "elicitationId": "1" });
        let hidden = form("Which size?\u{e0041}");
        let long = form(&"x".repeat(5000));
        let server = asking(vec![("elicitation/create", url), hidden, long]).await;
        let stub = asked().await;
        let app = setup(medium, &stub, &server, "").start().await;
        app.tell("go").await;
        let log = app.public_log().await;
        for nth in 0..3 {
            assert_eq!(
                told(&log, nth),
                json!({ "action": "decline" }),
                "{}",
                story(&log)
            );
        }
        let declined = with(&log, &["failure", "tool:mcp__it__ask"]);
        assert_eq!(declined.len(), 3, "{}", story(&log));
        assert!(
            declined
                .iter()
                .all(|event| said(event).contains("the server it asked")),
            "{}",
            story(&log)
        );
        go_away(&app).await;
        server.does("ask", Does::Asks(vec![form("Which size?")]));
        stub.script(
            decision,
            [call("mcp__it__ask", arguments("b")), reply("Away.")],
        );
        app.tell("again").await;
        let log = app.public_log().await;
        let last = with(&log, &["failure", "tool:mcp__it__ask"]).pop().unwrap();
        assert!(said(last).contains("people are away"), "{}", story(&log));
        assert!(
            with(&log, &["question", "user"]).is_empty(),
            "{}",
            story(&log)
        );
    }
);

on_sqlite!(
    t1_02_people_who_go_away_leave_no_question_of_a_server_open,
    |medium| {
        let server = asking(vec![form("Which size?")]).await;
        let stub = asked().await;
        let app = setup(medium, &stub, &server, "").start().await;
        let mut socket = app.socket().await;
        socket.say("go").await;
        open(&app, 1).await;
        go_away(&app).await;
        socket
            .event("the reply", |event| has(event, "response"))
            .await;
        assert_eq!(
            told(&app.public_log().await, 0),
            json!({ "action": "decline" })
        );
    }
);

on_sqlite!(
    t1_02_a_question_reaches_the_thread_whose_call_it_is_about,
    |medium| {
        let server = asking(vec![form("Which size?")]).await;
        let stub = Stub::start().await;
        for thread in ["a", "b"] {
            stub.script(
                at(thread),
                [call("mcp__it__ask", arguments(thread)), reply(thread)],
            );
        }
        let app = setup(medium, &stub, &server, "").start().await;
        let mut socket = app.socket().await;
        for thread in ["a", "b"] {
            socket.say_in(thread, "go").await;
        }
        let questions = open(&app, 2).await;
        // Beside both nobody can tell whose call it is about.
        let beside = json!({ "jsonrpc": "2.0", "id": "beside", "method": "elicitation/create", "params": form("Whose?").1 });
        server.says(&beside);
        assert_eq!(
            server.told("beside").await["result"],
            json!({ "action": "decline" })
        );
        for question in &questions {
            let size = if question["thread"] == "a" { 1 } else { 2 };
            answer(&app, question, json!({ "value": { "size": size } }))
                .await
                .expect(204);
        }
        for (thread, size) in [("a", 1), ("b", 2)] {
            let result = app
                .until_some("the result", async || {
                    let log = app.public_log().await;
                    let results = with(&log, &["result", "tool:mcp__it__ask"]);
                    results
                        .iter()
                        .find(|event| event["thread"] == thread)
                        .map(|it| (*it).clone())
                })
                .await;
            assert!(
                said(&result).contains(&format!(r#""size":{size}"#)),
                "{result}"
            );
        }
    }
);

// Some servers ask beside the stream of the call: while it is the only one, that says whose it is.
on_sqlite!(
    t1_02_a_question_beside_the_only_call_is_about_that_call,
    |medium| {
        let server = ToolServer::start(vec![tool("ask", "Asks.")]).await;
        let gate = Gate::new();
        server.does("ask", Does::Waits(gate.clone(), words("done")));
        let stub = asked().await;
        let app = setup(medium, &stub, &server, "").start().await;
        let mut socket = app.socket().await;
        socket.say("go").await;
        server.hears("tools/call", 1).await;
        server
        .says(&json!({ "jsonrpc": "2.0", "id": "beside", "method": "elicitation/create", "params": form("Which?").1 }));
        let question = open(&app, 1).await.remove(0);
        answer(&app, &question, json!({ "value": { "size": 5 } }))
            .await
            .expect(204);
        assert_eq!(
            server.told("beside").await["result"],
            json!({ "action": "accept", "content": { "size": 5 } })
        );
        // Nobody asks for what was not asked for by anybody.
        gate.open();
        socket
            .event("the reply", |event| has(event, "response"))
            .await;
        server
        .says(&json!({ "jsonrpc": "2.0", "id": "later", "method": "elicitation/create", "params": form("Which?").1 }));
        assert_eq!(
            server.told("later").await["result"],
            json!({ "action": "decline" })
        );
    }
);

on_sqlite!(
    t1_04_a_crash_leaves_no_question_of_a_server_open,
    |medium| {
        let server = asking(vec![form("Which size?")]).await;
        let stub = asked().await;
        let setup =
            setup(medium, &stub, &server, "").env("THINKD_TOOLS__MCP__IT__TIMEOUT_MS", 3000);
        let mut app = setup.start().await;
        let mut socket = app.socket().await;
        socket.say("go").await;
        open(&app, 1).await;
        app.kill();
        app.start_again().await;
        let mut socket = app.socket().await;
        socket.follow(0, json!({})).await;
        socket
            .event("the reply", |event| has(event, "response"))
            .await;
        let log = app.public_log().await;
        let result = one(&log, &["result", "tool:mcp__it__ask"]);
        assert_eq!(
            result["payload"]["problem"]["kind"],
            "outcome_unknown",
            "{}",
            story(&log)
        );
        open(&app, 0).await;
        let log = app.public_log().await;
        assert_eq!(
            with(&log, &["turn", "started"]).len(),
            1,
            "its end wakes nobody: {}",
            story(&log)
        );
    }
);

on_sqlite!(
    t1_02_a_server_that_wants_a_model_is_refused_and_its_call_goes_on,
    |medium| {
        let words =
            json!({ "role": "user", "content": { "type": "text", "text": "Say something." } });
        let wants = (
            "sampling/createMessage",
            json!({ "messages": [words], "maxTokens": 100 }),
        );
        let server = asking(vec![wants, ("roots/list", json!({}))]).await;
        let stub = asked().await;
        let app = setup(medium, &stub, &server, "").start().await;
        assert_eq!(said(&app.tell("go").await[0]), "Known.");
        let log = app.public_log().await;
        assert_eq!(told(&log, 0)["code"], -32601, "{}", story(&log));
        assert_eq!(told(&log, 1), json!({ "roots": [] }), "{}", story(&log));
        assert_eq!(stub.requests().len(), 2, "no model is asked for it");
    }
);

on_sqlite!(t1_02_one_call_asks_no_more_than_so_often, |medium| {
    let server = asking(vec![form("Which size?"); 9]).await;
    let stub = asked().await;
    let app = setup(medium, &stub, &server, "").start().await;
    let mut socket = app.socket().await;
    socket.say("go").await;
    for _ in 0..8 {
        let question = open(&app, 1).await.remove(0);
        answer(&app, &question, json!({ "value": { "size": 1 } }))
            .await
            .expect(204);
    }
    socket
        .event("the reply", |event| has(event, "response"))
        .await;
    assert_eq!(
        told(&app.public_log().await, 8),
        json!({ "action": "decline" })
    );
});
