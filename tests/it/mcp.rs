//! Tools of other servers, which speak MCP: offered, called, bounded; and the harm that a hostile
//! one can do.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

mod answers;
mod approve;
mod asks;
mod hostile;
mod instructions;
mod launcher;
mod listed;
mod lists;
mod lost;
mod neighbours;
mod numbers;
mod parts;
mod program;
mod progress;
mod reads;
mod real;
mod schemas;
mod secrets;
mod sessions;
mod trust;
mod unreached;

/// Returns a server that has the tools of this tool server, which is called `it`.
fn setup(medium: Medium, stub: &Stub, server: &ToolServer, more: &str) -> Setup {
    Setup::new(medium, stub).file(
        "thinkd.toml",
        &format!("{more}\n[tools.mcp.it]\nurl = \"{}\"\n", server.url()),
    )
}

/// The same, where tools that it lists later are taken.
fn trusting(medium: Medium, stub: &Stub, server: &ToolServer) -> Setup {
    setup(medium, stub, server, "").env("THINKD_TOOLS__MCP__IT__NEW_TOOLS", "trust")
}

/// The tools of other servers that a request offers.
fn outside(request: &Request) -> Vec<String> {
    request
        .tools()
        .into_iter()
        .filter(|name| name.starts_with("mcp__"))
        .collect()
}

/// Returns when a turn, from this one on, offers the tools `a` and `b`.
async fn offers_both(app: &App, stub: &Stub, first: usize) {
    within("the new tool", async {
        for turn in first.. {
            app.tell("more").await;
            if outside(&*stub.nth(turn, decision).await) == ["mcp__it__a", "mcp__it__b"] {
                return;
            }
        }
    })
    .await;
}

/// Returns the keys of the events that settle the descriptions of tools for models.
fn pins(log: &[Value]) -> Vec<&str> {
    with(log, &["set:pin"])
        .iter()
        .filter_map(|event| event["payload"]["key"].as_str())
        .collect()
}

fn arguments(text: &str) -> Value {
    json!({ "text": text })
}

on_sqlite!(
    t1_01_a_tool_of_another_server_is_offered_called_and_recorded_as_any_other,
    |medium| {
        let server = ToolServer::start(vec![tool("zeta", "Last."), tool("say", "Say it.")]).await;
        server.does("say", Does::Answers(words("hello\n")));
        let stub = Stub::start().await;
        stub.script(
            decision,
            [
                call("mcp__it__say", arguments("hello")),
                reply("It said hello."),
            ],
        );
        let app = setup(medium, &stub, &server, "").start().await;
        let mut followers = Followers::start(&app).await;
        assert_eq!(said(&app.tell("greet").await[0]), "It said hello.");
        let request = stub.nth(0, decision).await;
        assert_eq!(
            outside(&request),
            ["mcp__it__say", "mcp__it__zeta"],
            "by name"
        );
        let told = request.body["tools"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["function"]["name"] == "mcp__it__say");
        let told = &told.unwrap()["function"];
        assert_eq!(told["description"], "(the server it says:) Say it.");
        assert!(
            told.get("strict").is_none(),
            "its schema is not ours to vouch for: {told}"
        );
        let log = app.public_log().await;
        assert_eq!(
            one(&log, &["action", "tool:mcp__it__say"])["payload"]["arguments"],
            arguments("hello")
        );
        let result = one(&log, &["result", "tool:mcp__it__say"]);
        assert_eq!(result["payload"]["output"], "hello\n", "{}", story(&log));
        assert_eq!(pins(&log), ["mcp__it__say", "mcp__it__zeta"]);
        let heard = server.hears("tools/call", 1).await;
        assert_eq!(
            (&heard["params"]["name"], &heard["params"]["arguments"]),
            (&json!("say"), &arguments("hello"))
        );
        followers.have_seen_all(&app).await;
        // The next request begins as this one did: the order of tools is theirs, not that of their coming.
        assert_eq!(
            stub.nth(1, decision).await.body["tools"],
            request.body["tools"]
        );
    }
);

on_sqlite!(
    t1_02_a_tool_that_fails_says_so_and_nothing_breaks,
    |medium| {
        let server = ToolServer::start(vec![tool("say", "Say it.")]).await;
        let error =
            json!({ "content": [{ "type": "text", "text": "no voice today" }], "isError": true });
        server.does("say", Does::Answers(error));
        let stub = Stub::start().await;
        let wrong = call("mcp__it__say", json!({ "text": { "a": 7 } }));
        stub.script(
            decision,
            [
                call("mcp__it__say", arguments("a")),
                wrong,
                reply("It cannot."),
            ],
        );
        let app = setup(medium, &stub, &server, "").start().await;
        assert_eq!(said(&app.tell("greet").await[0]), "It cannot.");
        let log = app.public_log().await;
        let results = with(&log, &["result", "failure"]);
        assert!(
            said(results[0]).contains("mcp__it__say failed: no voice today"),
            "{}",
            story(&log)
        );
        assert!(
            said(results[1]).contains("are not valid"),
            "{}",
            story(&log)
        );
        assert_eq!(
            server.heard("tools/call").len(),
            1,
            "arguments that do not fit are never sent"
        );
    }
);

on_sqlite!(t1_01_pictures_are_blobs_and_json_stays_json, |medium| {
    let server = ToolServer::start(vec![tool("draw", "Draw it."), tool("count", "Count.")]).await;
    let picture = json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" });
    let script = json!({ "type": "image", "data": "PHNjcmlwdD4=", "mimeType": "text/html" });
    let text = json!({ "type": "text", "text": "here" });
    let progress = json!({ "progressToken": 0, "progress": 1, "total": 2 });
    let progress =
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress });
    server.does(
        "draw",
        Does::Sends(
            vec![progress],
            json!({ "content": [text, picture, script] }),
        ),
    );
    let counted = json!({ "n": 3 });
    server.does(
        "count",
        Does::Answers(json!({ "content": [{ "type": "text", "text": "{\"n\": 3}" }], "structuredContent": counted })),
    );
    let stub = Stub::start().await;
    let both = call("mcp__it__draw", arguments("a")).and("mcp__it__count", arguments("a"));
    stub.script(decision, [both, reply("Drawn.")]);
    let app = setup(medium, &stub, &server, "").start().await;
    app.tell("draw").await;
    let log = app.public_log().await;
    let output = &one(&log, &["result", "tool:mcp__it__draw"])["payload"]["output"];
    assert_eq!(output["text"], "here", "{}", story(&log));
    let media = output["media"].as_array().unwrap();
    assert_eq!(
        (&media[0]["mime"], &media[0]["bytes"]),
        (&json!("image/png"), &json!(8))
    );
    assert_eq!(
        media[1]["mime"], "application/octet-stream",
        "what a browser would run is called nothing"
    );
    let blob = app
        .request(
            "GET",
            &format!("/blobs/{}", media[0]["blob"].as_str().unwrap()),
        )
        .send()
        .await
        .unwrap();
    assert_eq!(blob.bytes().await.unwrap().as_ref(), b"\x89PNG\r\n\x1a\n");
    assert_eq!(
        one(&log, &["result", "tool:mcp__it__count"])["payload"]["output"],
        counted
    );
});

on_sqlite!(
    t1_01_what_is_allowed_denied_and_marked_goes_by_patterns,
    |medium| {
        let tools = ["read", "write", "delete_all"].map(|name| tool(name, "Does it."));
        let server = ToolServer::start(tools.into()).await;
        let stub = Stub::start().await;
        stub.script(
            decision,
            [
                call("mcp__it__write", arguments("a")),
                reply("Asked."),
                reply("Done."),
            ],
        );
        let more = format!(
            "[tools]\napproval = [\"mcp__it__w*\"]\n[tools.mcp.other]\nurl = \"{}\"\nallow = [\"r*\", \"write\"]\ndeny = [\"wr*\"]\n",
            server.url()
        );
        let app = setup(medium, &stub, &server, &more).start().await;
        app.tell("write").await;
        let offered = outside(&*stub.nth(0, decision).await);
        assert_eq!(
            offered,
            [
                "mcp__it__delete_all",
                "mcp__it__read",
                "mcp__it__write",
                "mcp__other__read"
            ]
        );
        assert!(
            server.heard("tools/call").is_empty(),
            "it waits for a person"
        );
        let open = app.get("/approvals").await.expect(200);
        let id = open["items"][0]["approval_id"]
            .as_str()
            .or(open["items"][0]["id"].as_str())
            .unwrap()
            .to_owned();
        app.post(&format!("/approvals/{id}"), json!({ "verdict": "grant" }))
            .await
            .expect(200);
        server.hears("tools/call", 1).await;
    }
);

on_sqlite!(
    t1_01_changes_of_the_list_arrive_without_a_restart,
    |medium| {
        let server = ToolServer::start(vec![tool("a", "A.")]).await;
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let app = trusting(medium, &stub, &server).start().await;
        app.tell("one").await;
        assert_eq!(outside(&*stub.nth(0, decision).await), ["mcp__it__a"]);
        server.changes(vec![tool("a", "A."), tool("b", "B.")]);
        server.hears("tools/list", 2).await;
        offers_both(&app, &stub, 1).await;
    }
);
