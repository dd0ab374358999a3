//! Resources and prompts of servers: listed and read as data, where it is allowed.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

fn reads(more: Value) -> Answer {
    let all = [
        "server",
        "list",
        "cursor",
        "limit",
        "uri",
        "prompt",
        "arguments",
    ];
    let mut arguments: serde_json::Map<_, _> = all
        .iter()
        .map(|key| ((*key).to_owned(), Value::Null))
        .collect();
    arguments.insert("server".into(), "it".into());
    arguments.extend(more.as_object().unwrap().clone());
    call("mcp_read", arguments.into())
}

/// Returns the result of the last call of `mcp_read`.
async fn read(app: &App, stub: &Stub, more: Value) -> Value {
    stub.script(decision, [reads(more), reply("Read.")]);
    app.tell("read").await;
    let log = app.public_log().await;
    with(&log, &["result", "tool:mcp_read"])
        .pop()
        .unwrap_or_else(|| panic!("{}", story(&log)))
        .clone()
}

async fn library() -> ToolServer {
    let server = ToolServer::start(vec![tool("say", "Say it.")]).await;
    let resource = |n: usize| json!({ "uri": format!("note://{n}"), "name": format!("Note {n}"), "description": "x".repeat(1000) });
    let resources: Vec<Value> = (0..5).map(resource).collect();
    server.answers(
        "resources/list",
        json!({ "resources": resources, "nextCursor": "more" }),
    );
    let template = json!({ "uriTemplate": "note://{n}", "name": "Notes" });
    server.answers(
        "resources/templates/list",
        json!({ "resourceTemplates": [template] }),
    );
    let argument = json!({ "name": "topic", "required": true });
    server.answers(
        "prompts/list",
        json!({ "prompts": [{ "name": "poem", "arguments": [argument] }] }),
    );
    let text = json!({ "uri": "note://1", "mimeType": "text/plain", "text": "hello" });
    let bytes = json!({ "uri": "note://1", "mimeType": "image/png", "blob": "iVBORw0KGgo=" });
    server.answers("resources/read", json!({ "contents": [text, bytes] }));
    let message =
        json!({ "role": "user", "content": { "type": "text", "text": "A poem, please." } });
    server.answers("prompts/get", json!({ "messages": [message] }));
    server
}

on_sqlite!(
    t1_01_what_a_server_has_besides_tools_is_listed_and_read,
    |medium| {
        let server = library().await;
        let stub = Stub::start().await;
        let app = setup(medium, &stub, &server, "").start().await;
        let output = |result: &Value| result["payload"]["output"].clone();
        let all = read(&app, &stub, json!({ "server": null })).await;
        assert_eq!(
            output(&all),
            json!({ "servers": [{ "server": "it", "resources": true, "prompts": true }] }),
            "{all}"
        );
        let page = output(&read(&app, &stub, json!({ "list": "resources", "limit": 3 })).await);
        assert_eq!(
            page["resources"].as_array().map(Vec::len),
            Some(3),
            "{page}"
        );
        assert_eq!(
            page["resources"][0]["description"].as_str().map(str::len),
            Some(300),
            "{page}"
        );
        let page = output(
            &read(
                &app,
                &stub,
                json!({ "list": "resources", "limit": 3, "cursor": page["cursor"] }),
            )
            .await,
        );
        let uris: Vec<_> = page["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["uri"].clone())
            .collect();
        assert_eq!(uris, ["note://3", "note://4"], "{page}");
        assert!(
            server
                .heard("resources/list")
                .iter()
                .all(|asked| asked["params"]["cursor"].is_null())
        );
        read(
            &app,
            &stub,
            json!({ "list": "resources", "cursor": page["cursor"] }),
        )
        .await;
        assert_eq!(
            server.hears("resources/list", 3).await["params"]["cursor"],
            "more"
        );
        let templates = output(&read(&app, &stub, json!({ "list": "templates" })).await);
        assert_eq!(templates["templates"][0]["template"], "note://{n}");
        let prompts = output(&read(&app, &stub, json!({ "list": "prompts" })).await);
        assert_eq!(
            prompts["prompts"][0]["arguments"],
            json!([{ "name": "topic", "required": true }]),
            "{prompts}"
        );
        let note = output(&read(&app, &stub, json!({ "uri": "note://1" })).await);
        assert_eq!(
            (&note["text"], &note["media"][0]["mime"]),
            (&json!("hello"), &json!("image/png")),
            "{note}"
        );
        app.get(&format!(
            "/blobs/{}",
            note["media"][0]["blob"].as_str().unwrap()
        ))
        .await;
        let poem = output(
            &read(
                &app,
                &stub,
                json!({ "prompt": "poem", "arguments": "{\"topic\":\"owls\"}" }),
            )
            .await,
        );
        assert_eq!(poem, "user: A poem, please.");
        let asked = server.hears("prompts/get", 1).await;
        assert_eq!(asked["params"]["arguments"], json!({ "topic": "owls" }));
        for (more, says) in [
            (json!({}), "one of list, uri and prompt"),
            (
                json!({ "list": "prompts", "uri": "note://1" }),
                "one of list, uri and prompt",
            ),
            (
                json!({ "server": "other", "list": "prompts" }),
                "there are it",
            ),
            (json!({ "list": "prompts", "cursor": "x" }), "no cursor"),
            (
                json!({ "prompt": "poem", "arguments": "[1]" }),
                "no JSON object",
            ),
        ] {
            let result = read(&app, &stub, more).await;
            assert!(
                has(&result, "failure") && said(&result).contains(says),
                "{says}: {result}"
            );
        }
    }
);

on_sqlite!(
    t1_01_what_may_be_read_goes_by_the_patterns_of_tools,
    |medium| {
        let server = library().await;
        let stub = Stub::start().await;
        let lists = "\n[tools.mcp.it]\nallow = [\"resource:note://*\", \"say\"]\ndeny = [\"resource:note://1\"]\n";
        let toml = format!("{lists}url = \"{}\"\n", server.url());
        let app = Setup::new(medium, &stub)
            .file("thinkd.toml", &toml)
            .start()
            .await;
        let page =
            read(&app, &stub, json!({ "list": "resources" })).await["payload"]["output"].clone();
        assert_eq!(
            page["resources"].as_array().map(Vec::len),
            Some(4),
            "{page}"
        );
        let prompts =
            read(&app, &stub, json!({ "list": "prompts" })).await["payload"]["output"].clone();
        assert_eq!(prompts["prompts"], json!([]));
        for wanted in [
            json!({ "uri": "note://1" }),
            json!({ "uri": "note://2/../1" }),
            json!({ "uri": "note://2/%2E%2e/1" }),
            json!({ "uri": "note://2\\..\\1" }),
            json!({ "uri": "file:///etc/passwd" }),
            json!({ "prompt": "poem" }),
        ] {
            let result = read(&app, &stub, wanted.clone()).await;
            assert_eq!(
                result["payload"]["problem"]["detail"]["reason"], "not_allowed",
                "{wanted}: {result}"
            );
        }
        assert!(
            server.heard("resources/read").is_empty() && server.heard("prompts/get").is_empty()
        );
        assert!(!has(
            &read(&app, &stub, json!({ "uri": "note://2" })).await,
            "failure"
        ));
    }
);

on_sqlite!(
    t1_01_only_who_has_more_than_tools_brings_the_tool_that_reads,
    |medium| {
        let server = ToolServer::start(vec![tool("say", "Say it.")]).await;
        let about = json!({ "name": "stub", "version": "1" });
        server.answers(
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": about }),
    );
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let app = setup(medium, &stub, &server, "").start().await;
        app.tell("one").await;
        let tools = stub.nth(0, decision).await.tools();
        assert!(
            tools.iter().any(|name| name == "mcp__it__say")
                && !tools.iter().any(|name| name == "mcp_read"),
            "{tools:?}"
        );
    }
);

// What another server did when it was asked nobody knows.
on_sqlite!(
    t1_04_a_read_that_a_crash_cut_off_is_not_run_again,
    |medium| {
        let server = library().await;
        let stub = Stub::start().await;
        server.hangs("resources/read");
        stub.script(
            decision,
            [reads(json!({ "uri": "note://2" })), reply("I cannot tell.")],
        );
        let mut app = setup(medium, &stub, &server, "").start().await;
        let mut socket = app.socket().await;
        socket.say("read").await;
        server.hears("resources/read", 1).await;
        app.kill();
        app.start_again().await;
        let mut socket = app.socket().await;
        socket.follow(0, json!({})).await;
        socket
            .event("the reply", |event| has(event, "response"))
            .await;
        let log = app.public_log().await;
        assert_eq!(
            one(&log, &["result", "tool:mcp_read"])["payload"]["problem"]["kind"],
            "outcome_unknown"
        );
        assert_eq!(server.heard("resources/read").len(), 1);
    }
);
