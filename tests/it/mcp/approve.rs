//! Calls and tools of other servers that wait for a person. Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// A tool that its server marks as only reading.
fn reading(name: &str) -> Value {
    let mut reading = tool(name, "Reads.");
    reading["annotations"] = json!({ "readOnlyHint": true });
    reading
}

/// The tools of the server as people see them, once they are as this says.
async fn shown(app: &App, name: &str, state: &str) -> Value {
    polled_some(&format!("{name} as {state}"), async || {
        let all = app.get("/tools").await.expect(200);
        let items = all["items"].as_array().unwrap();
        let is_so = |it: &&Value| it["name"] == name && it["state"] == state;
        items.iter().find(is_so).cloned()
    })
    .await
}

on_sqlite!(
    t1_01_tools_that_are_listed_later_wait_and_one_act_approves_them,
    |medium| {
        let server = ToolServer::start(vec![tool("a", "A.")]).await;
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let mut app = setup(medium, &stub, &server, "").start().await;
        app.tell("one").await;
        server.changes(vec![
            tool("a", "A."),
            tool("b", "Tell all."),
            tool("c", "C."),
        ]);
        server.hears("tools/list", 2).await;
        let b = shown(&app, "mcp__it__b", "changed").await;
        let c = shown(&app, "mcp__it__c", "changed").await;
        assert!(b["diff"].as_str().unwrap().contains("+Tell all."), "{b}");
        // Also after a restart.
        app.restart().await;
        app.tell("two").await;
        let request = stub.nth(1, decision).await;
        assert_eq!(outside(&request), ["mcp__it__a"]);
        assert!(!request.text().contains("Tell all"), "{}", request.text());
        let log = app.public_log().await;
        let told = one(&log, &["failure", "tool:mcp__it__b"]);
        assert!(said(told).contains("has to approve it"), "{told}");
        // All of them, or none.
        let named = |it: &Value, sha256: &Value| json!({ "name": it["name"], "sha256": sha256 });
        let wrong = [named(&b, &b["sha256"]), named(&c, &b["sha256"])];
        app.post("/tools/approve", json!({ "tools": wrong }))
            .await
            .expect_problem(409, "tool-changed");
        assert_eq!(pins(&app.public_log().await), ["mcp__it__a"]);
        // Two hashes of one tool: one of them is wrong, in either order.
        for hashes in [[&b, &c], [&c, &b]] {
            let twice = hashes.map(|of| named(&b, &of["sha256"]));
            app.post("/tools/approve", json!({ "tools": twice }))
                .await
                .expect_problem(409, "tool-changed");
        }
        let both = [named(&b, &b["sha256"]), named(&c, &c["sha256"])];
        let approved = app.post("/tools/approve", json!({ "tools": both })).await;
        assert_eq!(
            approved.expect(200)["names"],
            json!(["mcp__it__b", "mcp__it__c"])
        );
        app.tell("three").await;
        assert_eq!(
            outside(&*stub.nth(2, decision).await),
            ["mcp__it__a", "mcp__it__b", "mcp__it__c"]
        );
        let log = app.public_log().await;
        assert_eq!(pins(&log).len(), 3, "{}", story(&log));
    }
);

#[tokio::test]
async fn an_approval_of_several_tools_names_what_is_wrong_with_it() {
    let server = ToolServer::start(vec![tool("a", "A.")]).await;
    let stub = Stub::start().await;
    let app = setup(Medium::sqlite(), &stub, &server, "").start().await;
    let sha256 = "0".repeat(64);
    let many: Vec<Value> = (0..257)
        .map(|at| json!({ "name": format!("t{at}"), "sha256": sha256 }))
        .collect();
    for wrong in [
        json!({ "tools": [] }),
        json!({ "tools": many }),
        json!({ "tools": [{ "name": "a b", "sha256": sha256 }] }),
        json!({ "tools": [{ "name": "a", "sha256": "0" }] }),
    ] {
        let answer = app.post("/tools/approve", wrong.clone()).await;
        assert_eq!(answer.status, 400, "{wrong}");
    }
}

on_sqlite!(
    t1_01_a_name_that_looks_like_one_that_is_denied_or_marked_is_so_too,
    |medium| {
        let names = [
            "Move_file",
            "m\u{43e}ve_file",
            "m\u{f3}ve_file",
            "remove_file",
            "s\u{435}nd_mail",
        ];
        let server = ToolServer::start(names.map(|name| tool(name, "It.")).into()).await;
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let rules = "[tools]\napproval = [\"mcp__it__send_*\"]\n";
        let deny = json!(["move_*"]);
        let setup = setup(medium, &stub, &server, rules).env("THINKD_TOOLS__MCP__IT__DENY", deny);
        let app = setup.start().await;
        app.tell("one").await;
        let offered = outside(&*stub.nth(0, decision).await);
        assert_eq!(offered.len(), 2, "{offered:?}");
        let send = offered
            .iter()
            .find(|name| name.starts_with("mcp__it__s_nd_mail_"));
        let send = send.unwrap_or_else(|| panic!("{offered:?}"));
        assert_eq!(shown(&app, send, "ready").await["needs_approval"], true);
        let other = shown(&app, "mcp__it__remove_file", "ready").await;
        assert_eq!(other["needs_approval"], false);
    }
);

/// Of two calls to a server that is configured so, this many wait for a person.
async fn waits(medium: Medium, approve: &str, waiting: usize) {
    let server = ToolServer::start(vec![reading("read"), tool("write", "Writes.")]).await;
    let stub = Stub::start().await;
    let both = call("mcp__it__read", arguments("a")).and("mcp__it__write", arguments("a"));
    stub.script(decision, [both, reply("done")]);
    stub.on(decision, reply("yes"));
    let app = setup(medium, &stub, &server, "")
        .env("THINKD_TOOLS__MCP_APPROVE", approve)
        .start()
        .await;
    app.tell("one").await;
    let heard = server.heard("tools/call");
    let called: Vec<&Value> = heard.iter().map(|it| &it["params"]["name"]).collect();
    assert_eq!(called.len(), 2 - waiting, "{called:?}");
    assert_eq!(app.pages("/approvals?").await.len(), waiting);
    let shown = app.get("/tools").await.expect(200)["servers"][0].clone();
    assert_eq!(shown["approve"], approve, "{shown}");
    assert_eq!(shown["unseen"].as_array().unwrap().len(), 2 - waiting);
}

on_sqlite!(t1_01_no_call_waits_unless_said, |medium| {
    waits(medium, "none", 0).await;
});

on_sqlite!(t1_01_calls_wait_that_do_more_than_read, |medium| {
    waits(medium, "writes", 1).await;
});

on_sqlite!(t1_01_each_call_waits, |medium| {
    waits(medium, "all", 2).await;
});

// The mark lets calls run, so that it belongs to what was approved.
on_sqlite!(
    t1_01_a_tool_that_is_marked_as_reading_later_waits_for_a_person,
    |medium| {
        let server = ToolServer::start(vec![tool("a", "Reads.")]).await;
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let mut app = setup(medium, &stub, &server, "")
            .env("THINKD_TOOLS__MCP__IT__APPROVE", "writes")
            .start()
            .await;
        app.tell("one").await;
        let mut marked = reading("a");
        marked["description"] = "Reads.".into();
        server.changes(vec![marked]);
        let a = shown(&app, "mcp__it__a", "changed").await;
        let why = a["why"].as_str().unwrap();
        assert!(why.contains("run without a person"), "{a}");
        app.tell("two").await;
        assert!(outside(&*stub.nth(1, decision).await).is_empty());
        // Once it was approved, a rule that needs no mark takes it as it is.
        let sha256 = json!({ "sha256": a["sha256"] });
        app.post("/tools/mcp__it__a/approve", sha256)
            .await
            .expect(200);
        for approve in ["all", "none"] {
            app.set_env("THINKD_TOOLS__MCP__IT__APPROVE", approve);
            app.restart().await;
            shown(&app, "mcp__it__a", "ready").await;
        }
    }
);

#[tokio::test]
async fn t1_01_a_start_beyond_loopback_and_doctor_say_which_calls_run_unseen() {
    let server = ToolServer::start(vec![reading("read"), tool("write", "Writes.")]).await;
    let stub = Stub::start().await;
    let says = async |env: &[(&str, &str)]| {
        let setup = setup(Medium::sqlite(), &stub, &server, "")
            .env("THINKD_LISTEN", "0.0.0.0:0")
            .env("THINKD_TOKEN", "a-token-of-this-test");
        let setup = env
            .iter()
            .fold(setup, |setup, (name, value)| setup.env(name, *value));
        let all: Vec<(&str, &str)> = setup.environment().collect();
        let (_, doctor) = app::ran(setup.folder(), &all, &["doctor"]).await;
        (setup.start().await.output(), doctor)
    };
    let unseen = "run without a person";
    let (start, doctor) = says(&[]).await;
    assert!(start.contains(unseen) && start.contains("it"), "{start}");
    assert!(
        doctor.contains("calls run without a person: mcp__it__read, mcp__it__write"),
        "{doctor}"
    );
    let (start, doctor) = says(&[("THINKD_TOOLS__MCP_APPROVE", "writes")]).await;
    assert!(!start.contains(unseen), "{start}");
    assert!(
        doctor.contains("calls run without a person: mcp__it__read\n"),
        "{doctor}"
    );
    let (start, doctor) = says(&[("THINKD_TOOLS__APPROVAL", "[\"mcp__*\"]")]).await;
    assert!(
        !start.contains(unseen) && !doctor.contains(unseen),
        "{start}{doctor}"
    );
}
