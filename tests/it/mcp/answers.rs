//! Answers over HTTP that are none, and what they mean for the other calls: nothing. Every `on_both!` is two `#[tokio::test]`s, one a database.

use super::*;

/// Two turns in which calls run: `wait`, whose answer comes whole, and `flow`, whose answer is a stream that is open. The gate lets them end.
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
            stub.script(in_thread(name), [call(&format!("mcp__it__{name}"), arguments("a")), reply("It came.")]);
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
        assert!(with(&log, &["failure", "tool:mcp__it"]).is_empty(), "nobody is told that it is away: {}", story(&log));
    }
}

fn in_thread(thread: &'static str) -> impl Fn(&Request) -> bool + Send + Sync + 'static {
    move |request| decision(request) && request.thread == thread
}

async fn three_tools() -> ToolServer {
    ToolServer::start(["wait", "flow", "say"].map(|name| tool(name, "Does it.")).into()).await
}

/// What a call of `say` in another thread comes to.
async fn beside(app: &App, stub: &Stub) -> Value {
    stub.script(in_thread("beside"), [call("mcp__it__say", arguments("a")), reply("Tried.")]);
    app.tell_in("beside", "try").await;
    let log = app.public_log().await;
    (*with(&log, &["result", "tool:mcp__it__say"]).last().unwrap_or_else(|| panic!("{}", story(&log)))).clone()
}

on_both!(t1_04_a_bad_status_fails_its_call_alone, |medium| {
    let (server, stub) = (three_tools().await, Stub::start().await);
    let app = setup(medium, &stub, &server, "").start().await;
    let under_way = UnderWay::begin(&app, &stub, &server).await;
    let unknown = [202, 400, 405, 500, 502, 503, 504].map(|status| (status, "outcome_unknown"));
    let refused = [401, 403, 429].map(|status| (status, "tool"));
    let all: Vec<_> = unknown.into_iter().chain(refused).collect();
    for (status, kind) in &all {
        server.does("say", Does::Fails(*status));
        let result = beside(&app, &stub).await;
        assert_eq!(result["payload"]["problem"]["kind"], *kind, "{status}: {result}");
        assert!(said(&result).contains(&status.to_string()), "{result}");
    }
    server.does("say", Does::Answers(words("said")));
    assert_eq!(beside(&app, &stub).await["payload"]["output"], "said");
    under_way.end_well(&app).await;
    assert_eq!(server.heard("tools/call").len(), 2 + all.len() + 1, "nothing is called twice");
    assert_eq!(server.heard("initialize").len(), 1, "it is the same connection");
});

on_both!(t1_04_a_session_that_is_gone_is_begun_anew_and_what_runs_keeps_its_answers, |medium| {
    let (server, stub) = (three_tools().await, Stub::start().await);
    let app = setup(medium, &stub, &server, "").start().await;
    let under_way = UnderWay::begin(&app, &stub, &server).await;
    server.does("say", Does::Forgets);
    let result = beside(&app, &stub).await;
    assert_eq!(result["payload"]["problem"]["kind"], "outcome_unknown", "{result}");
    server.hears("initialize", 2).await;
    server.does("say", Does::Answers(words("said")));
    let result = beside(&app, &stub).await;
    assert_eq!(result["payload"]["output"], "said", "who comes meanwhile waits: {result}");
    under_way.end_well(&app).await;
    assert_eq!(server.heard("tools/call").len(), 4, "nothing is called twice");
});

// The file of headers is read again where the server refuses those of before.
on_both!(t1_04_a_key_that_is_another_one_now_is_taken_up, |medium| {
    let server = ToolServer::start(vec![tool("say", "Says.")]).await;
    server.wants("one");
    let stub = Stub::start().await;
    let toml = format!("[tools.mcp.it]\nurl = \"{}\"\nheaders_file = \"keys\"\n", server.url());
    let app = Setup::new(medium, &stub).file("thinkd.toml", &toml).file("keys", "X-Key: one\n").start().await;
    assert_eq!(beside(&app, &stub).await["payload"]["output"], "done");
    server.wants("two");
    std::fs::write(app.folder().join("keys"), "X-Key: two\n").unwrap();
    let result = beside(&app, &stub).await;
    assert!(result["payload"]["problem"]["kind"] == "tool" && said(&result).contains("401"), "{result}");
    server.hears("initialize", 2).await;
    assert_eq!(beside(&app, &stub).await["payload"]["output"], "done");
});

on_both!(t1_02_an_answer_counts_for_the_request_that_it_names, |medium| {
    let server = ToolServer::start(vec![tool("say", "Says.")]).await;
    let forged = json!({ "jsonrpc": "2.0", "id": 4242, "result": words("forged") });
    let nobody = json!({ "jsonrpc": "2.0", "error": { "code": -32600, "message": "whose?" } });
    let stub = Stub::start().await;
    let app = setup(medium, &stub, &server, "").start().await;
    server.does("say", Does::Sends(vec![forged.clone(), nobody.clone()], words("right")));
    let result = beside(&app, &stub).await;
    assert_eq!(result["payload"]["output"], "right", "it is read on: {result}");
    // One that is all of an answer leaves nothing to wait for.
    for (answer, kind) in [(forged, "outcome_unknown"), (nobody, "tool")] {
        server.does("say", Does::Says("application/json", answer.to_string()));
        let result = beside(&app, &stub).await;
        assert_eq!(result["payload"]["problem"]["kind"], kind, "{result}");
        assert!(result["payload"]["duration_ms"].as_u64().unwrap() < 10_000, "not at its limit: {result}");
    }
});

on_both!(t1_04_an_answer_that_cannot_be_used_leaves_open_what_was_done, |medium| {
    let mut looks = tool("look", "Looks.");
    looks["annotations"] = json!({ "readOnlyHint": true });
    let server = ToolServer::start(vec![tool("say", "Says."), looks]).await;
    let stub = Stub::start().await;
    let both = call("mcp__it__say", arguments("a")).and("mcp__it__look", arguments("a"));
    stub.script(decision, [both, reply("Tried.")]);
    let setup = setup(medium, &stub, &server, "").env("THINKD_TOOLS__MCP__IT__BELIEVE_ANNOTATIONS", true);
    let app = setup.start().await;
    for name in ["say", "look"] {
        server.does(name, Does::Answers(Value::Null));
    }
    app.tell("try").await;
    let log = app.public_log().await;
    for (name, kind) in [("say", "outcome_unknown"), ("look", "tool")] {
        let result = one(&log, &["result", &format!("tool:mcp__it__{name}")]);
        assert_eq!(result["payload"]["problem"]["kind"], kind, "{}", story(&log));
    }
});
