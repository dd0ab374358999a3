//! A cancel that takes the threads below along. Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

const ALL: [&str; 3] = ["main", "main.a", "main.a.b"];

/// A thread with two below it, each with a turn that has its decision held.
async fn at_work(app: &App, stub: &Stub) {
    app.say_in("main", "go").await;
    stub.request(at("main")).await;
    for (label, parent) in [("a", "main"), ("b", "main.a")] {
        let wish = json!({ "kind": "process", "label": label, "parent": parent });
        let made = app.post("/threads", wish).await.expect(201);
        assert_eq!(made["id"], format!("{parent}.{label}"));
    }
    for thread in &ALL[1..] {
        app.say_in(thread, "go").await;
        stub.request(at(thread)).await;
    }
}

async fn outcomes(app: &App, thread: &str) -> Vec<Value> {
    let log = app.log().await;
    let ends = with(&log, &["turn", "ended"]).into_iter();
    let own = ends.filter(|event| event["thread"] == thread);
    own.map(|event| event["payload"]["outcome"].clone())
        .collect()
}

async fn at_rest(app: &App) {
    app.until("rest", async || {
        !app.pages("/threads?")
            .await
            .iter()
            .any(|row| row["status"] == "thinking")
    })
    .await;
}

on_both!(
    with_the_subtree_all_below_stop_and_none_begins_anew,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(decision, reply("Never.").held(&gate));
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        at_work(&app, &stub).await;
        let cancel = async || {
            let body = json!({ "subtree": true });
            app.post("/threads/main/cancel", body).await.expect(200)
        };
        assert_eq!(cancel().await, json!({ "cancelled": true, "threads": 3 }));
        at_rest(&app).await;
        for thread in ALL {
            assert_eq!(outcomes(&app, thread).await, ["cancelled"], "{thread}");
        }
        // The threads above are told, and do not think about it before something else comes.
        let log = app.log().await;
        let told = with(&log, &["thread-stuck"]);
        assert_eq!(told.len(), 2, "{}", story(&log));
        assert!(
            told.iter().all(|event| has(event, "part")),
            "{}",
            story(&log)
        );
        assert_eq!(stub.count(decision), 3);
        // What has stopped is not stopped again.
        app.until("nothing left to cancel", async || {
            cancel().await == json!({ "cancelled": false, "threads": 0 })
        })
        .await;
        envelope::check_turns(&log, "main");
        gate.open();
        app.tell("and now?").await;
        assert!(stub.nth(3, decision).await.says("was cancelled"));
    }
);

on_both!(without_it_those_below_go_on, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(decision, reply("Done.").held(&gate));
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    at_work(&app, &stub).await;
    let answer = app
        .post("/threads/main/cancel", json!({}))
        .await
        .expect(200);
    assert_eq!(answer, json!({ "cancelled": true, "threads": 1 }));
    app.post("/threads/main.a/cancel", json!({ "below": true }))
        .await
        .expect_problem(400, "unknown-member");
    assert!(outcomes(&app, "main.a").await.is_empty());
    // Without a body, as ever.
    let bare = app
        .request("POST", "/threads/main.a/cancel")
        .send()
        .await
        .unwrap();
    assert_eq!(bare.status().as_u16(), 200);
    let mut socket = app.socket().await;
    let frame = json!({ "type": "cancel", "thread": "main.a", "subtree": true, "id": "1" });
    socket.ask(frame).await;
    app.until("the end below", async || {
        !outcomes(&app, "main.a.b").await.is_empty()
    })
    .await;
    gate.open();
});

#[tokio::test]
async fn turns_at_other_servers_stop_too() {
    let Some(medium) = Medium::migrated().await else {
        return;
    };
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(decision, reply("Never.").held(&gate));
    let a = Setup::new(medium, &stub).voices(&[]).start().await;
    let b = a.beside().await;
    at_work(&a, &stub).await;
    let answer = b
        .post("/threads/main/cancel", json!({ "subtree": true }))
        .await;
    assert_eq!(answer.expect(200)["threads"], 3);
    at_rest(&a).await;
    for thread in ALL {
        assert_eq!(outcomes(&a, thread).await, ["cancelled"], "{thread}");
    }
    let log = a.log().await;
    assert_eq!(
        with(&log, &["thread-stuck", "part"]).len(),
        2,
        "{}",
        story(&log)
    );
    assert_eq!(stub.count(decision), 3);
}

#[tokio::test]
async fn one_that_may_only_look_stops_nothing() {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(decision, reply("Done.").held(&gate));
    let keys = "[[keys]]\nkey = \"key-to-talk-0123456789\"\nspace = \"a\"\n[[keys]]\nkey = \"key-to-look-0123456789\"\nspace = \"a\"\nrole = \"viewer\"\n";
    let setup = Setup::new(Medium::sqlite(), &stub).voices(&[]);
    let mut app = setup.file("thinkd.toml", keys).start_bare().await;
    app.authorize("Bearer key-to-talk-0123456789");
    at_work(&app, &stub).await;
    app.authorize("Bearer key-to-look-0123456789");
    for body in [
        json!({ "subtree": true }),
        json!({ "subtree": false }),
        json!({}),
    ] {
        let refused = app.post("/threads/main/cancel", body).await.expect(403);
        assert!(
            refused["type"].as_str().unwrap().ends_with("/forbidden"),
            "{refused}"
        );
    }
    gate.open();
    app.authorize("Bearer key-to-talk-0123456789");
    at_rest(&app).await;
    for thread in ALL {
        let outcomes = outcomes(&app, thread).await;
        assert!(
            outcomes.iter().all(|it| it == "done"),
            "{thread}: {outcomes:?}"
        );
    }
}
