//! Following the log: live, from a position, over lost connections and restarts; nothing missing, nothing twice.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

fn seqs(events: &[Value]) -> Vec<i64> {
    events.iter().map(seq).collect()
}

// T4.14 D4.06
on_both!(
    t4_14_d4_06_a_client_that_comes_back_gets_exactly_what_it_missed,
    |medium| {
        let stub = Stub::start().await;
        let mut app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        let mut socket = app.socket().await;
        socket.chat("one").await;
        socket.turn_ended().await;
        let last = seq(socket.events().last().unwrap());
        drop(socket);
        app.tell("two").await;
        app.tell("three").await;
        let missed = app.since(last).await;
        assert!(missed.len() > 6);
        let mut socket = app.socket().await;
        assert_eq!(socket.follow(last, json!({})).await, missed);
        // It is live now.
        assert_eq!(said(&socket.chat("four").await), "ok: four");
        socket.turn_ended().await;
        let missed = app.since(last).await;
        drop(socket);
        app.restart().await;
        let mut socket = app.socket().await;
        assert_eq!(
            socket.follow(last, json!({})).await[..missed.len()],
            missed,
            "the same after kill -9"
        );
        // The same by query, by position and by time.
        let ts = missed[0]["ts"].as_str().unwrap();
        let by_time = app.pages(&format!("/events?order=asc&since={ts}&")).await;
        assert_eq!(
            by_time[by_time.len() - app.since(last).await.len()..],
            app.since(last).await
        );
    }
);

// `after: 0` is everything; filters apply to what is replayed as to what is live.
on_both!(
    a_subscription_is_filtered_by_thread_subtree_and_tags,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        app.tell("one").await;
        app.tell_in("other", "two").await;
        let all = app.public_log().await;
        let keep = |fits: &dyn Fn(&Value) -> bool| {
            all.iter().filter(|e| fits(e)).cloned().collect::<Vec<_>>()
        };
        let mut socket = app.socket().await;
        let chat = |e: &Value| has(e, "input") || has(e, "response");
        assert_eq!(
            socket
                .follow(0, json!({ "tags": ["input", "response"] }))
                .await,
            keep(&chat)
        );
        assert_eq!(
            socket
                .follow(0, json!({ "tags": ["INPUT"], "thread": "other" }))
                .await,
            keep(&|e| has(e, "input") && e["thread"] == "other")
        );
        assert_eq!(
            socket
                .follow(0, json!({ "thread": "main", "subtree": true }))
                .await,
            keep(&|e| e["thread"] == "main")
        );
        let from = seq(&all[all.len() / 2]);
        assert_eq!(
            socket
                .follow(from, json!({ "tags": ["input", "response"] }))
                .await,
            keep(&|e| seq(e) > from && chat(e))
        );
        // Live, a filtered subscription stays filtered, and its cursor advances by ping.
        assert_eq!(
            socket
                .follow(from, json!({ "thread": "other", "tags": ["response"] }))
                .await
                .len(),
            1
        );
        let mark = socket.seen.len();
        app.tell("not for this one").await;
        app.tell_in("other", "for this one").await;
        assert_eq!(said(&socket.response().await), "ok: for this one");
        let live: Vec<&Value> = socket.seen[mark..]
            .iter()
            .filter(|f| f["type"] == "event")
            .collect();
        assert!(
            live.iter()
                .all(|f| f["event"]["thread"] == "other" && has(&f["event"], "response")),
            "{live:?}"
        );
        socket.send(json!({ "type": "ping" })).await;
        let head = seq(app.since(0).await.last().unwrap());
        assert!(socket.of_type("pong").await["after"].as_i64().unwrap() >= head - 40);
        // Unsubscribed, nothing comes but answers.
        socket.ask(json!({ "type": "unsubscribe" })).await;
        let mark = socket.seen.len();
        app.tell_in("other", "unheard").await;
        socket.send(json!({ "type": "ping" })).await;
        socket.of_type("pong").await;
        assert!(
            socket.seen[mark..]
                .iter()
                .all(|frame| frame["type"] != "event"),
            "{:?}",
            &socket.seen[mark..]
        );
    }
);

// Without `subscribe` a socket follows the whole space live, `debug` aside.
on_both!(
    without_subscribing_a_socket_follows_everything_live_but_debug,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        app.tell("before it came").await;
        let begin = seq(app.log().await.last().unwrap());
        let mut socket = app.socket().await;
        socket.say_in("other", "hello").await;
        socket.turn_ended().await;
        let seen: Vec<Value> = socket
            .events()
            .into_iter()
            .filter(|e| seq(e) > begin)
            .collect();
        let log = app.since(begin).await;
        assert_eq!(seen, log[..seen.len()]);
        assert!(seen.iter().all(|event| !has(event, "debug")));
        // Asked for, debug is shown.
        let replayed = socket.follow(begin, json!({ "tags": ["debug"] })).await;
        assert!(
            replayed.iter().any(|event| has(event, "call:decision")),
            "{}",
            story(&replayed)
        );
    }
);

// A position that cannot be right is a problem, never a silent hole.
on_both!(a_cursor_ahead_or_of_another_epoch_is_refused, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    app.tell("hello").await;
    let mut socket = app.raw_socket().await;
    let hello = socket.of_type("hello").await;
    let ahead = socket
        .ask(json!({ "type": "subscribe", "after": 1_000_000 }))
        .await;
    assert_eq!(
        ahead["problem"]["type"], "/problems/cursor-ahead",
        "{ahead}"
    );
    let other = socket
        .ask(json!({ "type": "subscribe", "after": 0, "epoch": uuid::Uuid::nil() }))
        .await;
    assert_eq!(
        other["problem"]["type"], "/problems/epoch-changed",
        "{other}"
    );
    let right = socket
        .ask(json!({ "type": "subscribe", "after": 0, "epoch": hello["epoch"] }))
        .await;
    assert_eq!(right["type"], "ack", "{right}");
    let caught_up = socket.of_type("caught_up").await;
    assert_eq!(
        (&caught_up["id"], caught_up["after"].is_i64()),
        (&right["id"], true),
        "{caught_up}"
    );
    for bad in [json!(-1), json!("x"), json!(1.5)] {
        assert_eq!(
            socket
                .ask(json!({ "type": "subscribe", "after": bad }))
                .await["type"],
            "problem",
            "{bad}"
        );
    }
});

// The promise itself: a reader that loses its connection again and again, while events are made and the server is killed in between,
// has in the end every event once and in order.
on_both!(
    a_reader_that_is_cut_off_again_and_again_has_every_event_once,
    |medium| {
        let stub = Stub::start().await;
        let mut app = Setup::new(medium, &stub).voices(&["a", "b"]).start().await;
        let mut mine: Vec<Value> = Vec::new();
        for round in 0..9 {
            let mut reader = app.socket().await;
            let after = mine.last().map_or(0, seq);
            reader
                .subscribe(json!({ "type": "subscribe", "after": after }))
                .await;
            let mut writer = app.socket().await;
            for n in 0..3 {
                writer
                    .say_in(&format!("t{n}"), &format!("{round}.{n}"))
                    .await;
            }
            // Cut at another point each time.
            for _ in 0..5 + round {
                let frame = reader.next().await.unwrap();
                if frame["type"] == "event" {
                    mine.push(frame["event"].clone());
                }
            }
            drop(reader);
            if round % 4 == 3 {
                app.restart().await;
            }
        }
        let mut reader = app.socket().await;
        app.until("idle threads", async || {
            !app.pages("/threads?")
                .await
                .iter()
                .any(|row| row["status"] == "thinking")
        })
        .await;
        let after = seq(mine.last().unwrap());
        mine.extend(reader.follow(after, json!({})).await);
        let all = app.public_log().await;
        assert_eq!(seqs(&mine), seqs(&all)[..mine.len()], "gaps or repeats");
        assert_eq!(mine, all[..mine.len()]);
        envelope::check_log(&app.log().await);
    }
);

// A slow reader delays itself only.
on_both!(a_reader_that_does_not_read_delays_nobody, |medium| {
    let stub = Stub::start().await;
    stub.on(decision, reply("yes"));
    let app = App::start(medium, &stub).await;
    let mut asleep = app.socket().await;
    asleep.ask(json!({ "type": "subscribe", "after": 0 })).await;
    let mut awake = app.socket().await;
    let long = "x".repeat(60_000);
    for n in 0..40 {
        // A thread each: views stay small, the log does not.
        awake.say_in(&format!("t{n}"), &long).await;
        assert_eq!(said(&awake.response().await), "yes");
        awake.turn_ended().await;
    }
    // Awake again, it has everything, in order.
    let end = app.public_log().await.pop().unwrap();
    let mut last = 0;
    while last < seq(&end) {
        let frame = asleep
            .next()
            .await
            .expect("the server gave up on a slow reader");
        if frame["type"] == "event" {
            assert!(seq(&frame["event"]) > last, "out of order");
            last = seq(&frame["event"]);
        }
    }
});

// SIGTERM: sockets are told, what runs is taken up again by the next start.
on_both!(
    a_server_that_is_stopped_tells_its_clients_and_goes_on_where_it_was,
    |medium| {
        let stub = Stub::start().await;
        stub.script(decision, [reply("never").never()]);
        let mut app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        let mut socket = app.socket().await;
        socket.say("hello").await;
        stub.request(decision).await;
        app.terminate();
        assert_eq!(socket.closed().await, Some(1001), "drain: reconnect");
        assert!(app.ended().await.success());
        app.start_again().await;
        let mut socket = app.socket().await;
        socket.follow(0, json!({})).await;
        app.until("the turn's end", async || {
            !with(&app.public_log().await, &["turn", "ended"]).is_empty()
        })
        .await;
        let log = app.public_log().await;
        assert_eq!(said(one(&log, &["response"])), "ok: hello");
        assert_eq!(
            stub.count(Request::is_comment),
            1,
            "what is recorded is not asked again"
        );
        envelope::check_turns(&log, "main");
    }
);

// A subscription that asks for nothing more is answered, too: with where it begins.
on_both!(
    who_subscribes_without_an_id_is_told_where_it_begins,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        app.tell("before").await;
        let head = seq(app.log().await.last().unwrap());
        let mut socket = app.socket().await;
        socket
            .send(json!({ "type": "subscribe", "tags": ["response"] }))
            .await;
        let caught_up = socket.of_type("caught_up").await;
        assert_eq!(caught_up, json!({ "type": "caught_up", "after": head }));
        assert_eq!(said(&socket.chat("after").await), "ok: after");
        // Controls: who gave an id has an ack, and no more than that; who asked for what was before has that first.
        let before = socket.seen.len();
        socket.ask(json!({ "type": "subscribe", "id": "s" })).await;
        assert_eq!(said(&socket.chat("again").await), "ok: again");
        assert!(
            socket.seen[before..]
                .iter()
                .all(|frame| frame["type"] != "caught_up"),
            "{:?}",
            &socket.seen[before..]
        );
        socket
            .send(json!({ "type": "subscribe", "after": 0, "tags": ["response"] }))
            .await;
        assert_eq!(said(&socket.response().await), "ok: before");
    }
);
