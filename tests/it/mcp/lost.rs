//! Servers that hang, die, flood, and come back; and a thinkd that is killed while one works.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

on_sqlite!(
    t1_03_a_tool_that_hangs_is_given_up_at_its_limit_and_told_so,
    |medium| {
        let server = ToolServer::start(vec![tool("hang", "Hangs.")]).await;
        server.does("hang", Does::Hangs);
        let stub = Stub::start().await;
        stub.script(
            decision,
            [call("mcp__it__hang", arguments("a")), reply("It hangs.")],
        );
        let setup = setup(medium, &stub, &server, "").env("THINKD_TOOLS__MCP__IT__TIMEOUT_MS", 300);
        let app = setup.start().await;
        assert_eq!(said(&app.tell("hang").await[0]), "It hangs.");
        let log = app.public_log().await;
        let result = one(&log, &["result", "failure"]);
        assert_eq!(
            result["payload"]["problem"]["kind"],
            "timeout",
            "{}",
            story(&log)
        );
        assert!(
            said(result).contains("300 ms") && said(result).contains("not known"),
            "{}",
            said(result)
        );
        assert!(
            result["payload"]["duration_ms"].as_u64().unwrap() < 3000,
            "{result}"
        );
        let called = server.hears("tools/call", 1).await;
        let cancelled = server.hears("notifications/cancelled", 1).await;
        assert_eq!(cancelled["params"]["requestId"], called["id"]);
    }
);

on_sqlite!(
    t1_04_a_server_that_is_away_is_another_failure_than_one_that_fails_and_it_comes_back,
    |medium| {
        let server = ToolServer::start(vec![tool("say", "Say it.")]).await;
        let stub = Stub::start().await;
        let say = || call("mcp__it__say", arguments("a"));
        stub.script(decision, [reply("ready"), say(), reply("It is away.")]);
        let app = setup(medium, &stub, &server, "").start().await;
        app.tell("one").await;
        server.goes();
        assert_eq!(said(&app.tell("two").await[0]), "It is away.");
        let log = app.public_log().await;
        let result = one(&log, &["result", "failure"]);
        let kind = result["payload"]["problem"]["kind"].as_str().unwrap();
        let reason = &result["payload"]["problem"]["detail"]["reason"];
        assert!(
            kind == "outcome_unknown" || reason == "server_away",
            "{}",
            story(&log)
        );
        server.comes_back();
        let mut tries = 0;
        loop {
            stub.script(decision, [say(), reply("tried")]);
            app.tell("again").await;
            if !server.heard("tools/call").is_empty() {
                break;
            }
            tries += 1;
            assert!(tries < 100, "it did not come back: {}", app.output());
        }
        let log = app.public_log().await;
        assert!(
            !with(&log, &["failure", "tool:mcp__it"]).is_empty(),
            "that it was away is told: {}",
            story(&log)
        );
    }
);

on_sqlite!(
    t1_04_an_answer_that_cannot_be_read_fails_its_call_alone,
    |medium| {
        let mut looks = tool("look", "Looks.");
        looks["annotations"] = json!({ "readOnlyHint": true });
        let server =
            ToolServer::start(vec![tool("wait", "Waits."), tool("say", "Says."), looks]).await;
        let gate = Gate::new();
        server.does("wait", Does::Waits(gate.clone(), words("waited")));
        let stub = Stub::start().await;
        let wants = |thread: &'static str| {
            move |request: &Request| decision(request) && request.thread == thread
        };
        stub.script(
            wants("main"),
            [call("mcp__it__wait", arguments("a")), reply("It waited.")],
        );
        let setup = setup(medium, &stub, &server, "")
            .env("THINKD_TOOLS__MCP__IT__BELIEVE_ANNOTATIONS", true);
        let app = setup.start().await;
        let waiting = followers::telling(&app, "main", "wait");
        server.hears("tools/call", 1).await;
        let junk = [
            ("application/json", "{\"jsonrpc\":\"2.0\",\"id\":"),
            ("text/html", "<html>Something went wrong.</html>"),
            ("application/json", "{}"),
            ("text/event-stream", "event: message\ndata: <html>\n\n"),
        ];
        let mut called = 1;
        for (kind, bytes) in junk {
            for name in ["say", "look"] {
                server.does(name, Does::Says(kind, bytes.to_owned()));
                stub.script(
                    wants("beside"),
                    [
                        call(&format!("mcp__it__{name}"), arguments("a")),
                        reply("Tried."),
                    ],
                );
                app.tell_in("beside", "try").await;
                called += 1;
                let log = app.public_log().await;
                let result = with(&log, &["result", &format!("tool:mcp__it__{name}")])
                    .pop()
                    .unwrap()
                    .clone();
                let problem = &result["payload"]["problem"];
                assert!(
                    said(&result).contains("no answer that can be used"),
                    "{kind}: {}",
                    story(&log)
                );
                let wanted = if name == "say" {
                    "outcome_unknown"
                } else {
                    "tool"
                };
                assert_eq!(problem["kind"], wanted, "{kind}: {result}");
                assert_eq!(
                    server.heard("tools/call").len(),
                    called,
                    "it is not called again"
                );
            }
        }
        gate.open();
        waiting.await.unwrap();
        let log = app.public_log().await;
        assert_eq!(
            one(&log, &["result", "tool:mcp__it__wait"])["payload"]["output"],
            "waited",
            "{}",
            story(&log)
        );
        assert_eq!(
            server.heard("initialize").len(),
            1,
            "it is the same connection"
        );
    }
);

on_sqlite!(t1_03_a_server_that_floods_is_cut_off, |medium| {
    let server = ToolServer::start(vec![tool("flood", "Floods.")]).await;
    server.does("flood", Does::Floods);
    let stub = Stub::start().await;
    stub.script(
        decision,
        [call("mcp__it__flood", arguments("a")), reply("It floods.")],
    );
    let app = setup(medium, &stub, &server, "").start().await;
    assert_eq!(said(&app.tell("flood").await[0]), "It floods.");
    let log = app.public_log().await;
    let result = one(&log, &["result", "failure"]);
    assert_eq!(
        result["payload"]["problem"]["kind"],
        "outcome_unknown",
        "before its limit of 30 s: {}",
        story(&log)
    );
    app.until_says("more messages than may be").await;
});

on_sqlite!(
    t1_04_a_call_that_a_crash_cut_off_is_not_run_again,
    |medium| {
        let server = ToolServer::start(vec![tool("pay", "Pays.")]).await;
        server.does("pay", Does::Hangs);
        let stub = Stub::start().await;
        stub.script(
            decision,
            [
                call("mcp__it__pay", arguments("a")),
                reply("I cannot tell."),
            ],
        );
        let mut app = setup(medium, &stub, &server, "").start().await;
        let mut socket = app.socket().await;
        socket.say("pay").await;
        server.hears("tools/call", 1).await;
        app.kill();
        app.start_again().await;
        let mut socket = app.socket().await;
        socket.follow(0, json!({})).await;
        socket
            .event("the reply", |event| has(event, "response"))
            .await;
        let log = app.public_log().await;
        let result = one(&log, &["result", "tool:mcp__it__pay"]);
        assert_eq!(
            result["payload"]["problem"]["kind"],
            "outcome_unknown",
            "{}",
            story(&log)
        );
        assert_eq!(server.heard("tools/call").len(), 1);
    }
);

// Who is believed to only read may be asked again.
on_sqlite!(
    t1_04_a_call_that_only_reads_is_run_again_after_a_crash_where_that_is_believed,
    |medium| {
        let mut look = tool("look", "Looks.");
        look["annotations"] = json!({ "readOnlyHint": true });
        let server = ToolServer::start(vec![look]).await;
        server.does("look", Does::Hangs);
        let stub = Stub::start().await;
        stub.script(
            decision,
            [call("mcp__it__look", arguments("a")), reply("Seen.")],
        );
        let setup = setup(medium, &stub, &server, "")
            .env("THINKD_TOOLS__MCP__IT__BELIEVE_ANNOTATIONS", true);
        let mut app = setup.start().await;
        let mut socket = app.socket().await;
        socket.say("look").await;
        server.hears("tools/call", 1).await;
        app.kill();
        server.does("look", Does::Answers(words("a house")));
        app.start_again().await;
        let mut socket = app.socket().await;
        socket.follow(0, json!({})).await;
        socket
            .event("the reply", |event| has(event, "response"))
            .await;
        let log = app.public_log().await;
        assert_eq!(
            one(&log, &["result", "tool:mcp__it__look"])["payload"]["output"],
            "a house",
            "{}",
            story(&log)
        );
    }
);

on_sqlite!(
    t1_04_a_server_that_was_never_there_delays_nobody_for_long,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, reply("alone"));
        let setup =
            Setup::new(medium, &stub).env("THINKD_TOOLS__MCP__GONE__URL", "http://127.0.0.1:9/mcp");
        let app = setup.start().await;
        assert_eq!(said(&app.tell("one").await[0]), "alone");
        app.tell("two").await;
        let log = app.public_log().await;
        let told = with(&log, &["failure", "tool:mcp__gone"]);
        assert!(
            !told.is_empty() && said(told[0]).contains("gone is away"),
            "{}",
            story(&log)
        );
    }
);

// One that takes every session and knows none a moment later: it is away, whoever waits is told, and it is asked ever more seldom.
on_sqlite!(
    t1_04_a_server_that_forgets_each_session_at_once_is_said_to_be_away,
    |medium| {
        let server = ToolServer::start(vec![tool("say", "Says.")]).await;
        server.does("say", Does::Forgets);
        let stub = Stub::start().await;
        let app = setup(medium, &stub, &server, "").start().await;
        let say = || call("mcp__it__say", arguments("a"));
        let is_away = |it: &Value| it["payload"]["problem"]["detail"]["reason"] == "server_away";
        let mut results: Vec<Value> = Vec::new();
        for _ in 0..20 {
            stub.script(decision, [say(), say(), say(), say(), reply("Tried.")]);
            app.tell("try").await;
            let log = app.public_log().await;
            results = with(&log, &["result", "tool:mcp__it__say"])
                .into_iter()
                .cloned()
                .collect();
            if results.iter().any(is_away) {
                break;
            }
        }
        let away = results
            .iter()
            .find(|it| is_away(it))
            .unwrap_or_else(|| panic!("nobody is told: {}", story(&results)));
        assert!(
            said(away).contains("was not called: the server it is away"),
            "{away}"
        );
        assert!(
            results
                .iter()
                .all(|it| it["payload"]["duration_ms"].as_u64().unwrap() < 10_000),
            "{}",
            story(&results)
        );
        let called = results
            .iter()
            .filter(|it| it["payload"]["problem"]["kind"] == "outcome_unknown")
            .count();
        assert_eq!(
            server.heard("tools/call").len(),
            called,
            "nothing is called twice"
        );
        server.does("say", Does::Answers(words("said")));
        within("its coming back", async {
            loop {
                stub.script(decision, [say(), reply("Tried.")]);
                app.tell("again").await;
                let log = app.public_log().await;
                if with(&log, &["result", "tool:mcp__it__say"]).last().unwrap()["payload"]["output"]
                    == "said"
                {
                    return;
                }
            }
        })
        .await;
    }
);
