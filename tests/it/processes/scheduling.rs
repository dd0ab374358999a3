//! The order of turns when fewer turns may run than threads have something to do.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use super::*;

/// Waits until so many threads wait for the place of a turn.
async fn stand_in_line(app: &App, count: usize) {
    let line = format!("thinkd_places_awaited{{of=\"turns\"}} {count}\n");
    polled("a line before the turns", async || {
        app.get("/metrics").await.text.contains(&line)
    })
    .await;
}

/// With one place for turns, taken by `busy`: returns the threads that are asked next, in order,
/// when that is free.
async fn order(medium: Medium, scheduling: Option<&str>) -> Vec<String> {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(at("busy"), [asleep().held(&gate)]);
    stub.on(Request::is_decision, asleep());
    let setup = Setup::new(medium, &stub).env("THINKD_TEST_RUNTIME__WORKERS", 1);
    let setup = match scheduling {
        Some(scheduling) => setup.env("THINKD_RUNTIME__SCHEDULING", scheduling),
        None => setup,
    };
    let app = setup.start().await;
    let mut socket = app.socket().await;
    processes(&app, &["busy", "a", "z"]).await;
    for (parent, label) in [("a", "b"), ("a.b", "c"), ("z", "y")] {
        app.post(
            "/threads",
            json!({ "label": label, "parent": parent, "kind": "process" }),
        )
        .await
        .expect(201);
    }
    app.say_in("busy", "go").await;
    stub.request(at("busy")).await;
    let threads = ["a.b.c", "z.y", "z", "a.b", "a"];
    for (before, thread) in threads.into_iter().enumerate() {
        app.say_in(thread, "go").await;
        // Its runner stands in line before the next one is woken.
        stand_in_line(&app, before + 1).await;
    }
    assert_eq!(stub.count(any), 1, "one at a time");
    gate.open();
    for thread in threads {
        turn_over(&mut socket, thread, 1).await;
    }
    stub.requests()[1..]
        .iter()
        .map(|request| request.thread.clone())
        .collect()
}

// D3.36: threads before their subthreads, unless configured otherwise; among equals whoever came first.
on_sqlite!(d3_36_breadth_first_is_the_default, |medium| {
    assert_eq!(order(medium, None).await, ["z", "a", "z.y", "a.b", "a.b.c"]);
});

// D3.36
on_sqlite!(d3_36_depth_first_when_configured, |medium| {
    assert_eq!(
        order(medium, Some("depth-first")).await,
        ["a.b.c", "z.y", "a.b", "z", "a"]
    );
});

// D3.36: a thread that goes on and on does not keep others from having their turn.
on_sqlite!(
    d3_36_a_thread_with_much_to_do_takes_turns_with_others,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(at("much"), [text("And on.").held(&gate)]);
        stub.script(at("much"), (0..8).map(|_| text("And on.")));
        stub.script(at("other"), (0..3).map(|_| text("Hm.")));
        stub.on(Request::is_decision, asleep());
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_RUNTIME__WORKERS", 1)
            .start()
            .await;
        let mut socket = app.socket().await;
        processes(&app, &["much", "other"]).await;
        app.say_in("much", "go").await;
        stub.request(at("much")).await;
        app.say_in("other", "go").await;
        stand_in_line(&app, 1).await;
        gate.open();
        turn_over(&mut socket, "much", 10).await;
        turn_over(&mut socket, "other", 4).await;
        let order: Vec<String> = stub
            .requests()
            .iter()
            .map(|request| request.thread.clone())
            .collect();
        let last = order.iter().rposition(|thread| thread == "other").unwrap();
        assert!(last <= 9, "turn about: {order:?}");
    }
);
