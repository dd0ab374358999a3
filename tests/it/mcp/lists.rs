//! Lists of tools that cannot be read, or not to their end: the part that was read counts, and the
//! other part is named.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// Returns servers with lists that are not taken whole, by name, and the expected words about each.
async fn servers() -> Vec<(&'static str, ToolServer, &'static str)> {
    let a = || tool("a", "A.");
    let and = move |next: Value| json!({ "tools": [a()], "nextCursor": next });
    let mut all = Vec::new();
    let mut add = async |name, page: tool_server::Pages, says| {
        let server = ToolServer::start(Vec::new()).await;
        server.lists(page);
        all.push((name, server, says));
    };
    add(
        "number",
        Box::new(move |_| and(json!(7))),
        "what is behind page 1 (its cursor is no text)",
    )
    .await;
    add(
        "again",
        Box::new(move |_| and(json!("x"))),
        "what is behind page 2 (its cursor was there before)",
    )
    .await;
    let next = |cursor: Option<&str>| json!(format!("{}x", cursor.unwrap_or_default()));
    let endless = move |cursor: Option<&str>| json!({ "tools": [tool(&format!("a{}", cursor.unwrap_or_default()), "A.")], "nextCursor": next(cursor) });
    add(
        "endless",
        Box::new(endless),
        "what is behind page 32 (more pages are not read)",
    )
    .await;
    let broken = move |cursor: Option<&str>| {
        if cursor.is_none() {
            and(json!("x"))
        } else {
            json!({ "tools": 7 })
        }
    };
    add("broken", Box::new(broken), "page 2 and what is behind it (").await;
    let odd = move |_: Option<&str>| json!({ "tools": [7, a(), null, tool("b", "B."), tool("a", "Another.")] });
    add(
        "odd",
        Box::new(odd),
        "2 on page 1 that are no objects (the first is number 1); \"a\" again (the first of a name is taken)",
    )
    .await;
    let many = |_: Option<&str>| json!({ "tools": (0..300).map(|n| tool(&format!("a{n}"), "A.")).collect::<Vec<_>>() });
    add("many", Box::new(many), "those behind the first 256").await;
    // Every page is as long as a message may be, almost.
    let long = move |cursor: Option<&str>| {
        let filling = tool("filling", &"x".repeat(7_000_000));
        json!({ "tools": [a(), filling], "nextCursor": next(cursor) })
    };
    add(
        "long",
        Box::new(long),
        "page 2 and what is behind it (the list has more than 8388608 bytes)",
    )
    .await;
    all
}

fn toml(servers: &[(&str, ToolServer, &str)]) -> String {
    let one = |(name, server, _): &(&str, ToolServer, &str)| {
        format!("[tools.mcp.{name}]\nurl = \"{}\"\n", server.url())
    };
    servers.iter().map(one).collect()
}

on_sqlite!(
    t1_01_what_of_a_list_is_not_taken_is_named_and_the_rest_is_taken,
    |medium| {
        let servers = servers().await;
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let app = Setup::new(medium, &stub)
            .file("thinkd.toml", &toml(&servers))
            .start()
            .await;
        let tools = within("all servers", async {
            loop {
                app.tell("more").await;
                let tools = app.get("/tools").await.expect(200);
                if tools["servers"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|it| it["connected"] == true)
                {
                    return tools;
                }
            }
        })
        .await;
        app.tell("one more").await;
        let offered = outside(stub.all(decision).last().unwrap());
        let of = |server: &str| {
            offered
                .iter()
                .filter(|name| name.starts_with(&format!("mcp__{server}__")))
                .count()
        };
        for (name, server, says) in &servers {
            let shown = tools["servers"]
                .as_array()
                .unwrap()
                .iter()
                .find(|it| it["name"] == *name)
                .unwrap();
            assert!(
                shown["why"].as_str().is_some_and(|why| why.contains(says)),
                "{says}: {shown}"
            );
            // A line may write a quotation mark with a backslash.
            app.until_says(says.split('"').max_by_key(|part| part.len()).unwrap())
                .await;
            let count = match *name {
                "endless" => 32,
                "odd" => 2,
                _ => 1,
            };
            // A request has at most 128 tools: a server of many has the places that are left.
            match *name {
                "many" => assert!((1..128).contains(&of(name)), "{offered:?}"),
                _ => assert_eq!(of(name), count, "{name}: {offered:?}"),
            }
            let lists = if *name == "endless" {
                32
            } else {
                server.heard("tools/list").len().min(2)
            };
            assert_eq!(server.heard("tools/list").len(), lists, "{name}");
        }
        let told = with(&app.public_log().await, &["set:pin"])
            .iter()
            .find(|it| it["payload"]["key"] == "mcp__odd__a")
            .unwrap()["payload"]
            .clone();
        assert_eq!(
            told["change"]["description"], "A.",
            "the first counts: {told}"
        );
    }
);

#[tokio::test]
async fn t1_01_the_doctor_says_what_of_a_list_is_not_taken() {
    let servers = servers().await;
    let stub = Stub::start().await;
    let worst = ToolServer::start(Vec::new()).await;
    worst.answers("tools/list", json!({ "tools": 7 }));
    let toml = format!(
        "{}[tools.mcp.worst]\nurl = \"{}\"\n",
        toml(&servers),
        worst.url()
    );
    let setup = Setup::new(Medium::sqlite(), &stub)
        .file("thinkd.toml", &toml)
        .arguments(&["doctor", "--json"]);
    let mut command = tokio::process::Command::from(setup.command());
    let output = within("the doctor", command.output()).await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    for (_, _, says) in &servers {
        assert!(said.contains(&says.replace('"', "\\\"")), "{says}: {said}");
    }
    assert!(said.contains("page 1 of its list of tools"), "{said}");
}

on_sqlite!(
    t1_01_a_changed_list_that_cannot_be_read_leaves_the_one_before,
    |medium| {
        let server = ToolServer::start(vec![tool("a", "A.")]).await;
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let app = trusting(medium, &stub, &server).start().await;
        app.tell("one").await;
        assert_eq!(outside(&*stub.nth(0, decision).await), ["mcp__it__a"]);
        server.answers("tools/list", json!({ "tools": 7 }));
        server.says_changed();
        polled("a word on it", async || {
            let shown = app.get("/tools").await.expect(200)["servers"][0].clone();
            let why = shown["why"].as_str().unwrap_or_default();
            let is_told = why.contains("its list could not be read again");
            assert!(!is_told || shown["connected"] == true, "{shown}");
            is_told
        })
        .await;
        app.tell("two").await;
        assert_eq!(outside(&*stub.nth(1, decision).await), ["mcp__it__a"]);
        // It is read again without being told to.
        server.answers(
            "tools/list",
            json!({ "tools": [tool("a", "A."), tool("b", "B.")] }),
        );
        offers_both(&app, &stub, 2).await;
        assert_eq!(
            app.get("/tools").await.expect(200)["servers"][0]["why"],
            Value::Null
        );
        assert_eq!(
            server.heard("initialize").len(),
            1,
            "it is the same connection"
        );
        app.until_says("its list could not be read again").await;
    }
);

// What changes is heard of over a stream that is opened where there is no session, too.
on_sqlite!(
    t1_01_a_server_without_sessions_is_heard_when_its_list_changes,
    |medium| {
        let server = ToolServer::start(vec![tool("a", "A.")]).await;
        server.has_no_sessions(&json!({ "listChanged": true }));
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let app = trusting(medium, &stub, &server).start().await;
        app.tell("one").await;
        assert_eq!(outside(&*stub.nth(0, decision).await), ["mcp__it__a"]);
        assert_eq!(server.hears("GET", 1).await["session"], Value::Null);
        server.changes(vec![tool("a", "A."), tool("b", "B.")]);
        server.hears("tools/list", 2).await;
        offers_both(&app, &stub, 1).await;
        let sessions = server
            .headers()
            .iter()
            .filter(|headers| headers.contains_key("mcp-session-id"))
            .count();
        assert_eq!(sessions, 0, "it is told of no session");
    }
);

// Nothing tells of a change whose stream could not be opened, or was cut: the list of a server that is used does not get old all the same.
on_sqlite!(
    t1_01_a_change_that_nothing_told_of_is_seen_while_the_server_is_used,
    |medium| {
        let server = ToolServer::start(vec![tool("a", "A.")]).await;
        server.is_followed_by(503, "");
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let toml = format!(
            "[tools.mcp.it]\nurl = \"{}\"\nnew_tools = \"trust\"\n",
            server.url()
        );
        let app = Setup::new(medium, &stub)
            .file("thinkd.toml", &toml)
            .env("THINKD_TEST_TOOLS__MCP__IT__LIST_MS", 200)
            .start()
            .await;
        app.tell("one").await;
        assert_eq!(outside(&*stub.nth(0, decision).await), ["mcp__it__a"]);
        server.answers(
            "tools/list",
            json!({ "tools": [tool("a", "A."), tool("b", "B.")] }),
        );
        offers_both(&app, &stub, 1).await;
        assert_eq!(
            server.heard("initialize").len(),
            1,
            "it is the same connection"
        );
    }
);

on_sqlite!(
    t1_01_a_server_that_has_nothing_to_follow_is_served_without,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [
                call("mcp__silent__say", arguments("a")),
                call("mcp__same__say", arguments("a")),
                reply("Said."),
            ],
        );
        let silent = ToolServer::start(vec![tool("say", "Says.")]).await;
        silent.has_no_sessions(&json!({ "listChanged": true }));
        silent.is_followed_by(405, "");
        let same = ToolServer::start(vec![tool("say", "Says.")]).await;
        same.has_no_sessions(&json!({}));
        let toml = format!(
            "[tools.mcp.silent]\nurl = \"{}\"\n[tools.mcp.same]\nurl = \"{}\"\n",
            silent.url(),
            same.url()
        );
        let app = Setup::new(medium, &stub)
            .file("thinkd.toml", &toml)
            .start()
            .await;
        app.tell("say").await;
        let log = app.public_log().await;
        for name in ["silent", "same"] {
            let result = one(&log, &["result", &format!("tool:mcp__{name}__say")]);
            assert_eq!(result["payload"]["output"], "done", "{}", story(&log));
        }
        silent.hears("GET", 1).await;
        assert_eq!(
            app.get("/tools").await.expect(200)["servers"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|it| it["connected"] == true)
                .count(),
            2
        );
        assert_eq!((silent.heard("GET").len(), same.heard("GET").len()), (1, 0));
        assert!(
            with(&app.public_log().await, &["failure"]).is_empty(),
            "{}",
            story(&log)
        );
    }
);
