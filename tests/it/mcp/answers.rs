//! Bad answers over HTTP, and their effect on the other calls: none.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// Two turns in which calls run: the answer of `wait` comes whole, the answer of `flow` is a stream
/// that is open. The gate lets them end.
struct UnderWay {
    gate: Gate,
    turns: Vec<tokio::task::JoinHandle<Reply>>,
}

impl UnderWay {
    async fn begin(app: &App, stub: &Stub, server: &ToolServer) -> Self {
        let gate = Gate::new();
        server.does("wait", Does::Waits(gate.clone(), words("waited")));
        server.does("flow", Does::Streams(gate.clone(), words("flowed")));
        let mut turns = Vec::new();
        for name in ["wait", "flow"] {
            stub.script(
                in_thread(name),
                [
                    call(&format!("mcp__it__{name}"), arguments("a")),
                    reply("It came."),
                ],
            );
            turns.push(followers::telling(app, name, "go"));
        }
        server.hears("tools/call", 2).await;
        Self { gate, turns }
    }

    async fn end_well(self, app: &App) {
        self.gate.open();
        for turn in self.turns {
            turn.await.unwrap();
        }
        let log = app.public_log().await;
        for (name, output) in [("wait", "waited"), ("flow", "flowed")] {
            let result = one(&log, &["result", &format!("tool:mcp__it__{name}")]);
            assert_eq!(result["payload"]["output"], output, "{}", story(&log));
        }
        assert!(
            with(&log, &["failure", "tool:mcp__it"]).is_empty(),
            "nobody is told that it is away: {}",
            story(&log)
        );
    }
}

fn in_thread(thread: &'static str) -> impl Fn(&Request) -> bool + Send + Sync + 'static {
    move |request| decision(request) && request.thread == thread
}

async fn three_tools() -> ToolServer {
    ToolServer::start(
        ["wait", "flow", "say"]
            .map(|name| tool(name, "Does it."))
            .into(),
    )
    .await
}

/// Returns the result of a call of `say` in another thread.
async fn beside(app: &App, stub: &Stub) -> Value {
    stub.script(
        in_thread("beside"),
        [call("mcp__it__say", arguments("a")), reply("Tried.")],
    );
    app.tell_in("beside", "try").await;
    let log = app.public_log().await;
    (*with(&log, &["result", "tool:mcp__it__say"])
        .last()
        .unwrap_or_else(|| panic!("{}", story(&log))))
    .clone()
}

on_sqlite!(t1_04_a_bad_status_fails_its_call_alone, |medium| {
    let server = three_tools().await;
    let stub = Stub::start().await;
    let app = setup(medium, &stub, &server, "").start().await;
    let under_way = UnderWay::begin(&app, &stub, &server).await;
    let unknown = [202, 400, 405, 500, 502, 503, 504].map(|status| (status, "outcome_unknown"));
    let refused = [401, 403, 429].map(|status| (status, "tool"));
    let all: Vec<_> = unknown.into_iter().chain(refused).collect();
    for (status, kind) in &all {
        server.does("say", Does::Fails(*status));
        let result = beside(&app, &stub).await;
        assert_eq!(
            result["payload"]["problem"]["kind"], *kind,
            "{status}: {result}"
        );
        assert!(said(&result).contains(&status.to_string()), "{result}");
    }
    // An error that names nobody may mean that the session is gone; one who answers otherwise knows it.
    let nobody = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"not today"}}"#;
    server.does("say", Does::Says("application/json", nobody.to_owned()));
    let result = beside(&app, &stub).await;
    assert_eq!(result["payload"]["problem"]["kind"], "tool", "{result}");
    server.does("say", Does::Answers(words("said")));
    assert_eq!(beside(&app, &stub).await["payload"]["output"], "said");
    under_way.end_well(&app).await;
    assert_eq!(
        server.heard("tools/call").len(),
        2 + all.len() + 2,
        "nothing is called twice"
    );
    assert_eq!(
        server.heard("initialize").len(),
        1,
        "it is the same connection"
    );
});

on_sqlite!(
    t1_04_a_session_that_is_gone_is_begun_anew_and_what_runs_keeps_its_answers,
    |medium| {
        let server = three_tools().await;
        let stub = Stub::start().await;
        let app = setup(medium, &stub, &server, "").start().await;
        let under_way = UnderWay::begin(&app, &stub, &server).await;
        server.does("say", Does::Forgets);
        let result = beside(&app, &stub).await;
        assert_eq!(
            result["payload"]["problem"]["kind"], "outcome_unknown",
            "{result}"
        );
        server.hears("initialize", 2).await;
        server.does("say", Does::Answers(words("said")));
        let result = beside(&app, &stub).await;
        assert_eq!(
            result["payload"]["output"], "said",
            "who comes meanwhile waits: {result}"
        );
        under_way.end_well(&app).await;
        assert_eq!(
            server.heard("tools/call").len(),
            4,
            "nothing is called twice"
        );
    }
);

// The file of headers is read again where the server refuses those of before.
on_sqlite!(t1_04_a_key_that_is_another_one_now_is_taken_up, |medium| {
    let server = ToolServer::start(vec![tool("say", "Says.")]).await;
    server.wants("one");
    let stub = Stub::start().await;
    let toml = format!(
        "[tools.mcp.it]\nurl = \"{}\"\nsecrets_file = \"keys\"\n",
        server.url()
    );
    let app = Setup::new(medium, &stub)
        .file("thinkd.toml", &toml)
        .file("keys", "X-Key: one\n")
        .start()
        .await;
    assert_eq!(beside(&app, &stub).await["payload"]["output"], "done");
    server.wants("two");
    std::fs::write(app.folder().join("keys"), "X-Key: two\n").unwrap();
    let result = beside(&app, &stub).await;
    assert!(
        result["payload"]["problem"]["kind"] == "tool" && said(&result).contains("401"),
        "{result}"
    );
    server.hears("initialize", 2).await;
    assert_eq!(beside(&app, &stub).await["payload"]["output"], "done");
});

on_sqlite!(
    t1_02_an_answer_counts_for_the_request_that_it_names,
    |medium| {
        let server = ToolServer::start(vec![tool("say", "Says.")]).await;
        let forged = json!({ "jsonrpc": "2.0", "id": 4242, "result": words("forged") });
        let nobody = json!({ "jsonrpc": "2.0", "error": { "code": -32600, "message": "whose?" } });
        let stub = Stub::start().await;
        let app = setup(medium, &stub, &server, "").start().await;
        server.does(
            "say",
            Does::Sends(vec![forged.clone(), nobody.clone()], words("right")),
        );
        let result = beside(&app, &stub).await;
        assert_eq!(
            result["payload"]["output"], "right",
            "it is read on: {result}"
        );
        // One that is all of an answer leaves nothing to wait for.
        for (answer, kind) in [(forged, "outcome_unknown"), (nobody, "tool")] {
            server.does("say", Does::Says("application/json", answer.to_string()));
            let result = beside(&app, &stub).await;
            assert_eq!(result["payload"]["problem"]["kind"], kind, "{result}");
            assert!(
                result["payload"]["duration_ms"].as_u64().unwrap() < 10_000,
                "not at its limit: {result}"
            );
        }
    }
);

on_sqlite!(
    t1_04_an_answer_that_cannot_be_used_leaves_open_what_was_done,
    |medium| {
        let mut looks = tool("look", "Looks.");
        looks["annotations"] = json!({ "readOnlyHint": true });
        let server = ToolServer::start(vec![tool("say", "Says."), looks]).await;
        let stub = Stub::start().await;
        let both = call("mcp__it__say", arguments("a")).and("mcp__it__look", arguments("a"));
        stub.script(decision, [both, reply("Tried.")]);
        let setup = setup(medium, &stub, &server, "")
            .env("THINKD_TOOLS__MCP__IT__BELIEVE_ANNOTATIONS", true);
        let app = setup.start().await;
        for name in ["say", "look"] {
            server.does(name, Does::Answers(Value::Null));
        }
        app.tell("try").await;
        let log = app.public_log().await;
        for (name, kind) in [("say", "outcome_unknown"), ("look", "tool")] {
            let result = one(&log, &["result", &format!("tool:mcp__it__{name}")]);
            assert_eq!(
                result["payload"]["problem"]["kind"],
                kind,
                "{}",
                story(&log)
            );
        }
    }
);

/// A tool that may do anything, and one that is believed to only read.
async fn say_and_look(medium: Medium, stub: &Stub) -> (ToolServer, App) {
    let mut looks = tool("look", "Looks.");
    looks["annotations"] = json!({ "readOnlyHint": true });
    let server = ToolServer::start(vec![tool("say", "Says."), looks]).await;
    let setup =
        setup(medium, stub, &server, "").env("THINKD_TOOLS__MCP__IT__BELIEVE_ANNOTATIONS", true);
    (server, setup.start().await)
}

/// Returns the result of each of the two tools, as (kind, retryable, reason), where both do that.
async fn of_both(
    app: &App,
    stub: &Stub,
    server: &ToolServer,
    does: &Does,
) -> [(String, bool, Value); 2] {
    let mut all = Vec::new();
    for name in ["say", "look"] {
        server.does(name, does.clone());
        stub.script(
            decision,
            [
                call(&format!("mcp__it__{name}"), arguments("a")),
                reply("Tried."),
            ],
        );
        app.tell("try").await;
        let log = app.public_log().await;
        let result = (*with(&log, &["result", &format!("tool:mcp__it__{name}")])
            .last()
            .unwrap())
        .clone();
        let problem = &result["payload"]["problem"];
        let kind = problem["kind"]
            .as_str()
            .unwrap_or_else(|| panic!("{}", story(&log)))
            .to_owned();
        assert!(
            result["payload"]["duration_ms"].as_u64().unwrap() < 10_000,
            "not at its limit: {result}"
        );
        all.push((
            kind,
            problem["retryable"] == true,
            problem["detail"]["reason"].clone(),
        ));
    }
    all.try_into().unwrap()
}

on_sqlite!(
    t1_04_an_answer_that_breaks_off_is_lost_in_a_stream_as_it_is_as_a_whole,
    |medium| {
        let stub = Stub::start().await;
        let (server, app) = say_and_look(medium, &stub).await;
        let half = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"hal"#;
        let mut calls = 0;
        for (kind, bytes) in [
            ("application/json", half.to_owned()),
            ("text/event-stream", format!("event: message\ndata: {half}")),
            ("text/event-stream", ": it comes\n\n".to_owned()),
        ] {
            let [say, look] = of_both(
                &app,
                &stub,
                &server,
                &Does::Begins(kind, bytes.clone(), Then::Breaks),
            )
            .await;
            assert_eq!(
                say,
                ("outcome_unknown".to_owned(), false, Value::Null),
                "{kind}: {bytes}"
            );
            assert_eq!(
                look,
                ("tool".to_owned(), true, json!("server_away")),
                "{kind}: {bytes}"
            );
            calls += 2;
            assert_eq!(
                server.heard("tools/call").len(),
                calls,
                "it is not called again"
            );
        }
        assert_eq!(
            server.heard("initialize").len(),
            1,
            "it is the same connection"
        );
    }
);

// Nothing has to come behind it, and the stream may stay open.
on_sqlite!(
    t1_04_an_answer_in_a_stream_that_is_no_message_fails_its_call_at_once,
    |medium| {
        let stub = Stub::start().await;
        let (server, app) = say_and_look(medium, &stub).await;
        for odd in [
            r#"{"jsonrpc":"2.0","id":ID}"#,
            r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"error":{"code":1,"message":"both"}}"#,
            r#"{"id":ID,"result":{"content":[]}}"#,
        ] {
            let bytes = format!("event: message\ndata: {odd}\n\n");
            let does = Does::Begins("text/event-stream", bytes, Then::Stays);
            let [say, look] = of_both(&app, &stub, &server, &does).await;
            assert_eq!(
                (say.0.as_str(), look.0.as_str()),
                ("outcome_unknown", "tool"),
                "{odd}"
            );
            assert!(!say.1 && !look.1, "{odd}");
        }
    }
);
