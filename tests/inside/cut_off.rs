//! Calls that are cut off: however a turn ends, each of its actions has exactly one result, in the log and in the next view. Every
//! `on_both!` is two `#[tokio::test]`s, one a database. All other logs are looked at by `support/oracle.rs`.

use serde_json::{Value, json};
use thinkd::event::draft::Draft;
use thinkd::event::process::Ending;
use thinkd::log::appended::Append;
use thinkd::mind::turn::{Below, ending};
use thinkd::words::id::{Space, ThreadId};
use thinkd::words::time;

use kit::*;

mod storm;

/// A server of tools with one that pays and one that only looks, both of which hang.
async fn tools() -> ToolServer {
    let mut look = tool("look", "Looks.");
    look["annotations"] = json!({ "readOnlyHint": true });
    let server = ToolServer::start(vec![tool("pay", "Pays."), look]).await;
    server.does("pay", Does::Hangs);
    server.does("look", Does::Hangs);
    server
}

fn setup(medium: Medium, stub: &Stub, server: &ToolServer) -> Setup {
    let file = format!(
        "[tools.mcp.it]\nurl = \"{}\"\nbelieve_annotations = true\n",
        server.url()
    );
    Setup::new(medium, stub)
        .file("thinkd.toml", &file)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 200)
}

/// Starts a server, and waits until it knows the tools: a decision made before is not offered them.
async fn started(medium: Medium, stub: &Stub, server: &ToolServer) -> App {
    let app = setup(medium, stub, server).start().await;
    knows_tools(&app).await;
    app
}

async fn knows_tools(app: &App) {
    polled("the tools of a server", async || {
        app.get("/tools").await.text.contains("mcp__it__pay")
    })
    .await;
}

fn calls(name: &str) -> Answer {
    call(&format!("mcp__it__{name}"), json!({ "text": "a" }))
}

/// Waits for the first result of a call.
async fn result(app: &App, call_id: &str) -> Value {
    app.until_some(&format!("the result of {call_id}"), async || {
        let log = app.public_log().await;
        let found = with(&log, &["result"])
            .into_iter()
            .find(|it| it["payload"]["call_id"] == call_id);
        found.cloned()
    })
    .await
}

/// Waits until the turn of this number has ended; how.
async fn ended(app: &App, thread: &str, turn: u64) -> String {
    app.until_some(&format!("the end of turn {turn} of {thread}"), async || {
        let log = app.public_log().await;
        let tag = format!("turn:{turn}");
        let found = with(&log, &["turn", "ended", &tag])
            .into_iter()
            .find(|it| it["thread"] == thread);
        if let Some(found) = found {
            return Some(found["payload"]["outcome"].as_str().unwrap().to_owned());
        }
        None
    })
    .await
}

/// Fails unless the log has one result of this call, of this kind, with these words.
async fn has_one(app: &App, call_id: &str, kind: &str, words: &str) {
    let log = app.public_log().await;
    let results: Vec<_> = with(&log, &["result"])
        .into_iter()
        .filter(|it| it["payload"]["call_id"] == call_id && !has(it, "response"))
        .collect();
    assert_eq!(results.len(), 1, "{}", story(&log));
    assert_eq!(results[0]["payload"]["kind"], kind, "{}", results[0]);
    assert!(said(results[0]).contains(words), "{}", results[0]);
}

on_both!(a_call_that_a_cancel_cuts_off_has_one_result, |medium| {
    let server = tools().await;
    let stub = Stub::start().await;
    stub.script(decision, [calls("pay"), reply("I see.")]);
    let app = started(medium, &stub, &server).await;
    app.say_in("c", "pay").await;
    server.hears("tools/call", 1).await;
    app.post("/threads/c/cancel", json!({})).await.expect(200);
    assert_eq!(ended(&app, "c", 1).await, "cancelled");
    has_one(
        &app,
        "c1.0.0",
        "outcome_unknown",
        "the turn was cancelled while",
    )
    .await;
    app.tell_in("c", "and?").await;
    let view = stub.nth(1, decision).await.text();
    assert!(
        view.contains("the turn was cancelled while mcp__it__pay ran"),
        "{view}"
    );
    has_one(&app, "c1.0.0", "outcome_unknown", "not known").await;
});

on_both!(a_call_that_only_looks_is_said_to_be_cancelled, |medium| {
    let server = tools().await;
    let stub = Stub::start().await;
    stub.script(decision, [calls("look")]);
    let app = started(medium, &stub, &server).await;
    app.say_in("c", "look").await;
    server.hears("tools/call", 1).await;
    app.post("/threads/c/cancel", json!({})).await.expect(200);
    assert_eq!(ended(&app, "c", 1).await, "cancelled");
    has_one(&app, "c1.0.0", "cancelled", "it changed nothing").await;
});

on_both!(a_call_that_newer_input_cuts_off_has_one_result, |medium| {
    let server = tools().await;
    let stub = Stub::start().await;
    stub.script(decision, [calls("pay"), reply("I see.")]);
    let app = started(medium, &stub, &server).await;
    app.conversation(json!({ "label": "c", "policy": "interrupt" }))
        .await;
    app.say_in("c", "pay").await;
    server.hears("tools/call", 1).await;
    app.tell_in("c", "no, wait").await;
    assert_eq!(ended(&app, "c", 1).await, "interrupted");
    has_one(
        &app,
        "c1.0.0",
        "outcome_unknown",
        "newer input interrupted the turn",
    )
    .await;
    let view = stub.nth(1, decision).await.text();
    assert!(
        view.contains("newer input interrupted the turn while"),
        "{view}"
    );
});

on_both!(
    a_call_of_a_thread_that_ends_above_it_has_one_result,
    |medium| {
        let server = tools().await;
        let stub = Stub::start().await;
        stub.script(at("boss.hand"), [calls("pay")]);
        let app = started(medium, &stub, &server).await;
        app.process("boss", json!({ "prompt": "Lead." })).await;
        let made =
            json!({ "kind": "process", "label": "hand", "parent": "boss", "prompt": "Pay." });
        app.post("/threads", made).await.expect(201);
        app.say_in("boss.hand", "pay").await;
        server.hears("tools/call", 1).await;
        app.post("/threads/boss/end", json!({})).await;
        assert_eq!(ended(&app, "boss.hand", 1).await, "cancelled");
        has_one(&app, "c1.0.0", "outcome_unknown", "the turn was cancelled").await;
    }
);

// The thread ends while nobody runs it: whoever looks next ends its turn.
on_both!(a_turn_that_its_thread_has_not_outlived_is_ended, |medium| {
    let server = tools().await;
    let stub = Stub::start().await;
    stub.script(at("c"), [calls("pay")]);
    let mut app = started(medium, &stub, &server).await;
    app.conversation(json!({ "label": "c" })).await;
    app.say_in("c", "pay").await;
    server.hears("tools/call", 1).await;
    app.kill();
    end_without_server(app.database(), "c").await;
    app.start_again().await;
    assert_eq!(ended(&app, "c", 1).await, "cancelled");
    has_one(&app, "c1.0.0", "outcome_unknown", "the turn was cancelled").await;
    let row = app.get("/threads/c").await.expect(200);
    assert_eq!(row["status"], "stopped", "{row}");
    assert_eq!(server.heard("tools/call").len(), 1);
});

/// The end of a thread, as another server would store it.
async fn end_without_server(url: &str, thread: &str) {
    let store = stored::open_at(url).await;
    let end = Ending {
        thread: &ThreadId::parse(thread).unwrap(),
        status: "stopped",
        reason: "enough",
        last: "",
    };
    let space = Space::default();
    let now = time::now();
    let drafts = ending(&store, &space, &end, Below::End, now).await.unwrap();
    store.append(Append::free(&space, drafts)).await.unwrap();
    store.close().await;
}

// Calls behind the one that a crash cut off are recorded before they run, as any other is.
on_both!(a_call_that_two_crashes_meet_is_made_once, |medium| {
    let server = tools().await;
    let stub = Stub::start().await;
    let pays_twice = calls("pay").and("mcp__it__pay", json!({ "text": "b" }));
    stub.script(decision, [pays_twice, reply("I see.")]);
    let mut app = started(medium, &stub, &server).await;
    app.say_in("c", "pay").await;
    server.hears("tools/call", 1).await;
    app.restart().await;
    server.hears("tools/call", 2).await;
    app.restart().await;
    result(&app, "c1.0.1").await;
    assert_eq!(ended(&app, "c", 1).await, "done");
    for id in ["c1.0.0", "c1.0.1"] {
        has_one(&app, id, "outcome_unknown", "the server stopped while").await;
    }
    assert_eq!(server.heard("tools/call").len(), 2);
});

on_both!(
    a_call_that_is_run_again_after_a_crash_can_be_cancelled,
    |medium| {
        let server = tools().await;
        let stub = Stub::start().await;
        stub.script(decision, [calls("look")]);
        let mut app = started(medium, &stub, &server).await;
        app.say_in("c", "look").await;
        server.hears("tools/call", 1).await;
        app.restart().await;
        server.hears("tools/call", 2).await;
        app.post("/threads/c/cancel", json!({})).await.expect(200);
        assert_eq!(ended(&app, "c", 1).await, "cancelled");
        has_one(&app, "c1.0.0", "cancelled", "the turn was cancelled").await;
    }
);

// Stored while no server runs the turn: the server that takes it up finds the cancel in the fold, and has asked for no tools yet.
on_both!(
    a_cancel_that_is_found_in_the_log_leaves_no_call_behind,
    |medium| {
        let server = tools().await;
        let stub = Stub::start().await;
        stub.script(decision, [calls("pay"), calls("look")]);
        let mut app = started(medium, &stub, &server).await;
        for (at, thread) in ["pay", "look"].into_iter().enumerate() {
            app.say_in(thread, "go").await;
            server.hears("tools/call", at + 1).await;
        }
        app.kill();
        for thread in ["pay", "look"] {
            cancel_without_server(app.database(), thread).await;
        }
        app.start_again().await;
        for (thread, kind) in [("pay", "outcome_unknown"), ("look", "cancelled")] {
            assert_eq!(ended(&app, thread, 1).await, "cancelled");
            let log: Vec<_> = app.public_log().await;
            let of_thread = |it: &&Value| it["thread"] == thread && has(it, "result");
            let results: Vec<_> = log.iter().filter(of_thread).collect();
            assert_eq!(results.len(), 1, "{}", story(&log));
            assert_eq!(results[0]["payload"]["kind"], kind, "{}", results[0]);
            assert!(said(results[0]).contains("the turn was cancelled"));
        }
    }
);

/// The wish that the first turn of a thread be cancelled, as another server would store it.
async fn cancel_without_server(url: &str, thread: &str) {
    let store = stored::open_at(url).await;
    let thread = ThreadId::parse(thread).unwrap();
    stored::append(&store, Draft::cancel(&thread, 1)).await;
    store.close().await;
}

on_both!(a_stopping_server_leaves_a_call_to_the_next_one, |medium| {
    let server = tools().await;
    let stub = Stub::start().await;
    stub.script(decision, [calls("pay"), reply("I see.")]);
    let mut app = setup(medium, &stub, &server)
        .env("THINKD_RUNTIME__GRACE_MS", 50)
        .start()
        .await;
    app.say_in("c", "pay").await;
    server.hears("tools/call", 1).await;
    app.stop().await;
    app.start_again().await;
    assert_eq!(ended(&app, "c", 1).await, "done");
    has_one(
        &app,
        "c1.0.0",
        "outcome_unknown",
        "the server stopped while",
    )
    .await;
    assert_eq!(server.heard("tools/call").len(), 1);
});

// A server that stood still for longer than its lease says nothing more of the turn that another one has.
#[tokio::test]
async fn a_call_whose_lease_was_lost_has_one_result() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let server = tools().await;
    let stub = Stub::start().await;
    let gate = Gate::new();
    server.does("pay", Does::Waits(gate.clone(), words("paid")));
    stub.script(decision, [calls("pay"), reply("I see.")]);
    let app = started(medium, &stub, &server).await;
    app.say_in("c", "pay").await;
    server.hears("tools/call", 1).await;
    // Not before: it has no tools, and might take up the thread.
    let other = app.beside().await;
    signal(&app, "STOP");
    assert_eq!(ended(&other, "c", 1).await, "done");
    signal(&app, "CONT");
    gate.open();
    app.tell_in("d", "are you there?").await;
    has_one(
        &other,
        "c1.0.0",
        "outcome_unknown",
        "the server stopped while",
    )
    .await;
    assert_eq!(server.heard("tools/call").len(), 1);
}

fn signal(app: &App, name: &str) {
    let command = format!("kill -{name} {}", app.pid());
    let sent = std::process::Command::new("sh")
        .args(["-c", &command])
        .status()
        .unwrap();
    assert!(sent.success());
}
