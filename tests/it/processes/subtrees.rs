//! The end of a thread and those below it: they end with it, or live on below another one.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use super::*;

async fn tree(app: &App, children: &[(&str, &str)]) {
    for (parent, label) in children {
        app.post("/threads", json!({ "label": label, "parent": parent, "kind": "process" })).await.expect(201);
    }
}

async fn states(app: &App) -> Vec<[Value; 4]> {
    let row = |row: &Value| [&row["id"], &row["parent"], &row["status"], &row["reason"]].map(Clone::clone);
    app.pages("/threads?").await.iter().map(row).collect()
}

// Whoever ends a thread ends what works for it: turns are stopped down to the provider, and who knew one of them is told.
on_both!(an_end_takes_the_subtree_with_it, |medium| {
    let stub = Stub::start().await;
    stub.on(at("p.a.deep"), asleep().never());
    stub.on(at("p.b"), asleep());
    stub.on(at("friend"), asleep());
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["p", "p-other"]).await;
    tree(&app, &[("p", "a"), ("p.a", "deep"), ("p", "b")]).await;
    app.process("friend", json!({ "contacts": [{ "name": "deep", "thread": "p.a.deep", "description": "" }] })).await;
    app.say_in("p.b", "go").await;
    turn_over(&mut socket, "p.b", 1).await;
    app.say_in("p.a.deep", "go").await;
    let running = stub.request(at("p.a.deep")).await;
    app.post("/threads/p/end", json!({})).await.expect(200);
    running.closed().await;
    turn_over(&mut socket, "friend", 1).await;
    let stopped = |id: &str, parent: Value, reason: &str| [json!(id), parent, json!("stopped"), json!(reason)];
    let all = states(&app).await;
    assert!(all.contains(&stopped("p", Value::Null, "ended from outside")), "{all:?}");
    for (id, parent) in [("p.a", "p"), ("p.a.deep", "p.a"), ("p.b", "p")] {
        assert!(all.contains(&stopped(id, json!(parent), "parent-ended")), "{all:?}");
    }
    assert_eq!(app.get("/threads/p-other").await.expect(200)["status"], "idle", "the control");
    app.post("/threads/p.b/messages", json!({ "text": "hello" })).await.expect_problem(409, "thread-ended");
    let log = app.public_log().await;
    let told = told(&log, "friend", &["thread-ended"]);
    assert_eq!((told.len(), &told[0]["payload"]["reason"]), (1, &json!("parent-ended")), "{}", story(&log));
    let word = with(&log, &["thread-ended"]);
    assert_eq!(word.len(), 1, "none is told that is gone itself: {}", story(&log));
    rows_are_what_the_log_says(&mut app).await;
});

// A thread that ends itself takes those below along, also those that it made in the same step.
on_both!(a_thread_that_ends_itself_takes_its_subtree_along, |medium| {
    let stub = Stub::start().await;
    let spawn = json!({ "label": "new", "prompt": null, "payload": "begin" });
    let ends = call("spawn_thread", spawn).and("terminate", json!({ "reason": "enough" }));
    stub.script(at("p"), [ends, call("do_nothing", json!({ "reason": "all said" }))]);
    stub.on(at("p.new"), asleep().never());
    stub.on(at("p.old"), asleep().never());
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    tree(&app, &[("p", "old")]).await;
    app.say_in("p.old", "work").await;
    let running = stub.request(at("p.old")).await;
    app.say_in("p", "go").await;
    turn_over(&mut socket, "p", 1).await;
    running.closed().await;
    assert_eq!(app.get("/threads/p").await.expect(200)["status"], "done");
    for child in ["p.old", "p.new"] {
        let row = app.get(&format!("/threads/{child}")).await.expect(200);
        assert_eq!((&row["status"], &row["reason"]), (&json!("stopped"), &json!("parent-ended")), "{row}");
    }
    rows_are_what_the_log_says(&mut app).await;
});

// With `subtree=false` they live on below the nearest living thread above: they are told, can write to it, and it hears of them.
on_both!(threads_whose_parent_ended_have_the_nearest_living_one_above, |medium| {
    let stub = Stub::start().await;
    let asks = call("send", json!({ "to": "parent", "text": "are you there" }));
    stub.script(at("p.a.b.c"), [asleep(), asks.and("wait", json!({ "from": "parent", "timeout_s": null }))]);
    stub.on(at("p.a.b.c"), status(400));
    stub.on(Request::is_decision, asleep());
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["p"]).await;
    tree(&app, &[("p", "a"), ("p.a", "b"), ("p.a.b", "c"), ("p.a.b.c", "d")]).await;
    app.post("/threads/p.a.b/end?subtree=false", json!({})).await.expect(200);
    turn_over(&mut socket, "p.a.b.c", 1).await;
    assert_eq!(app.get("/threads/p.a.b.c").await.expect(200)["parent"], "p.a");
    assert_eq!(app.get("/threads/p.a.b.c.d").await.expect(200)["parent"], "p.a.b.c", "it has its own still");
    app.post("/threads/p.a/end?subtree=false", json!({})).await.expect(200);
    turn_over(&mut socket, "p.a.b.c", 2).await;
    assert_eq!(app.get("/threads/p.a.b.c").await.expect(200)["parent"], "p");
    let log = app.public_log().await;
    let ended = told(&log, "p.a.b.c", &["thread-ended"]);
    assert_eq!(ended.iter().map(|e| &e["payload"]["id"]).collect::<Vec<_>>(), ["p.a.b", "p.a"], "{}", story(&log));
    let second = stub.nth(1, at("p.a.b.c")).await;
    assert!(second.last().contains("- parent (p)"), "{}", second.last());
    assert_eq!(mail(&log, "p"), [("p.a.b.c", "are you there")]);
    // It waits for its new parent, and that one waits for nobody: an end of that wakes it, and a failure of its own is told there.
    assert_eq!(app.get("/threads/p.a.b.c").await.expect(200)["waiting_for"], "p");
    let answers = call("connect", json!({ "name": "c", "thread": "p.a.b.c", "description": "" }));
    stub.clear();
    stub.on(at("p.a.b.c"), status(400));
    stub.script(
        at("p"),
        [answers
            .and("send", json!({ "to": "c", "text": "yes" }))
            .and("wait", json!({ "from": "c", "timeout_s": null }))],
    );
    stub.on(Request::is_decision, asleep());
    app.say_in("p", "answer").await;
    socket.event("word of it", |e| e["thread"] == "p" && has(e, "thread-stuck")).await;
    app.post("/threads/p/end?subtree=false", json!({})).await.expect(200);
    assert_eq!(app.get("/threads/p.a.b.c").await.expect(200)["parent"], Value::Null, "there is none any more");
    app.post("/threads/p.a.b.c/end?subtree=maybe", json!({})).await.expect_problem(400, "invalid-parameter");
    rows_are_what_the_log_says(&mut app).await;
});
