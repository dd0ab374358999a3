//! The mailbox: every message is in one batch, a step without messages is about the thread's note
//! to itself, stored messages stay as they are.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use super::*;

// D0.16 T3.35 T0.26: every message is new in exactly one request, in order; a step that nobody wrote for is about its own thought,
// and says nothing of messages.
on_both!(
    d0_16_every_message_is_new_in_exactly_one_request,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(
            at("p"),
            [text("Hm.").held(&gate), text("And on."), asleep(), asleep()],
        );
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        app.say_in("p", "one").await;
        stub.request(at("p")).await;
        let three = tokio::join!(
            app.say_in("p", "x"),
            app.say_in("p", "x"),
            app.say_in("p", "x")
        );
        let mut acked: Vec<i64> = [three.0, three.1, three.2]
            .iter()
            .map(|ack| seq(&ack["events"][0]))
            .collect();
        acked.sort_unstable();
        gate.open();
        turn_over(&mut socket, "p", 3).await;
        let requests = stub.all(at("p"));
        let log = app.public_log().await;
        let thoughts: Vec<i64> = with(&log, &["thought"]).into_iter().map(seq).collect();
        let mut second = acked.clone();
        second.push(thoughts[0]);
        assert_eq!(
            requests[1].batch(),
            second,
            "those that came meanwhile, and why it goes on: {}",
            story(&log)
        );
        assert_eq!(requests[2].batch(), [thoughts[1]], "nobody wrote");
        let about = requests[2]
            .entries()
            .into_iter()
            .find(|entry| entry.seq == thoughts[1])
            .unwrap();
        assert_eq!(about.who, "thought");
        assert!(
            !requests[2].last().contains("message"),
            "no word of messages that are not there: {}",
            requests[2].last()
        );
        app.say_in("p", "last").await;
        turn_over(&mut socket, "p", 4).await;
        let mut batches: Vec<i64> = stub
            .all(at("p"))
            .iter()
            .flat_map(|request| request.batch())
            .collect();
        assert!(batches.is_sorted(), "{batches:?}");
        let woken: Vec<i64> = app
            .public_log()
            .await
            .iter()
            .filter(|e| has(e, "input") || has(e, "thought"))
            .map(seq)
            .collect();
        batches.dedup();
        assert_eq!(batches, woken, "all of them, once each");
    }
);

// T3.36: what a client sees of one message: it is taken, the thread thinks, there is an answer, it rests.
on_both!(t3_36_the_order_of_frames_for_one_message, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    socket.say("hello").await;
    let idle = |frame: &Value| frame["type"] == "status" && frame["status"] == "idle";
    socket.wait("rest", idle).await;
    // Where a thread is, is a hint beside the log: each of the two has an order of its own.
    turn_over(&mut socket, "main", 1).await;
    let states = socket
        .seen
        .iter()
        .filter(|frame| frame["type"] == "status")
        .map(|frame| frame["status"].clone());
    assert_eq!(states.collect::<Vec<_>>(), ["thinking", "idle"]);
    let word = |event: &Value| {
        ["input", "started", "response", "ended"]
            .into_iter()
            .find(|tag| has(event, tag))
    };
    let order: Vec<&str> = socket.events().iter().filter_map(word).collect();
    assert_eq!(order, ["input", "started", "response", "ended"]);
    // A process that waits says so.
    stub.on(at("p"), asleep());
    processes(&app, &["p"]).await;
    app.say_in("p", "hello").await;
    turn_over(&mut socket, "p", 1).await;
    let status = |frame: &Value| {
        frame["type"] == "status" && frame["thread"] == "p" && frame["status"] != "thinking"
    };
    assert_eq!(socket.wait("rest", status).await["status"], "waiting");
});

// T3.46 T3.47 T3.50: what is stored is appended, can be looked through, counted, and changed by nobody.
on_both!(t3_47_what_is_stored_stays_as_it_is, |medium| {
    let stub = Stub::start().await;
    stub.on(at("p"), asleep());
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    processes(&app, &["p", "q"]).await;
    let id = thinkd_words::id::fresh().to_string();
    let message = |text: &str| json!({ "text": text, "event_id": id });
    app.post("/threads/p/messages", message("first"))
        .await
        .expect(202);
    turn_over(&mut socket, "p", 1).await;
    app.say_in("p", "second").await;
    turn_over(&mut socket, "p", 2).await;
    let before = app.log().await;
    let path = format!("/events/{id}");
    for method in ["PUT", "PATCH", "DELETE", "POST"] {
        let answer = thinkd_request(&app, method, &path).await;
        assert_eq!(answer, 405, "{method}");
    }
    app.post("/threads/p/messages", message("other"))
        .await
        .expect_problem(409, "event-conflict");
    app.post("/threads/q/messages", message("first"))
        .await
        .expect_problem(409, "event-conflict");
    assert_eq!(
        app.post("/threads/p/messages", message("first")).await.body["status"],
        "duplicate"
    );
    assert_eq!(app.log().await, before, "not a byte has changed");
    // T3.46: by position, by kind, by sender.
    let first = app.event(&id).await;
    assert_eq!(said(&first), "first");
    let at = seq(&first);
    assert_eq!(
        app.pages(&format!(
            "/events?thread=p&after={}&before={}&",
            at - 1,
            at + 1
        ))
        .await,
        [first]
    );
    let inputs = app.pages("/events?thread=p&tags=input&order=asc&").await;
    assert_eq!(
        inputs.iter().map(said).collect::<Vec<_>>(),
        ["first", "second"]
    );
    let by_source = app.pages("/events?thread=p&source=user&order=asc&").await;
    assert_eq!(by_source, inputs);
    // T3.50
    let rows = app.pages("/threads?").await;
    assert_eq!(rows.len(), 2);
    let row = app.get("/threads/p").await.expect(200);
    let of_p: Vec<i64> = before
        .iter()
        .filter(|e| e["thread"] == "p")
        .map(seq)
        .collect();
    assert_eq!(
        (&row["head"], &row["turn"]),
        (&json!(of_p.last()), &json!(2))
    );
    assert_eq!(
        (&row["budget"]["model_calls"], &row["budget"]["tokens"]),
        (&json!(2), &json!(2 * 110))
    );
});

async fn thinkd_request(app: &App, method: &str, path: &str) -> u16 {
    let request = app
        .request(method, path)
        .json(&json!({ "payload": { "text": "forged" } }));
    within("an answer", request.send())
        .await
        .unwrap()
        .status()
        .as_u16()
}

// D0.16 D0.38: more than a view holds, in a process and in a conversation: each is in exactly one batch, in order, and shown in
// that batch's view.
on_both!(
    d0_38_what_a_view_cannot_hold_waits_for_the_next_turn,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        processes(&app, &["p"]).await;
        stub.script(at("p"), [asleep().held(&gate)]);
        stub.script(at("main"), [reply("Begun.").held(&gate)]);
        stub.on(at("p"), asleep());
        stub.on(at("main"), reply("Heard."));
        let images = json!(vec![
            json!({ "data": kit::media::PNG, "mimeType": "image/png" });
            200
        ]);
        let messages = [("p", 12), ("main", 8)];
        for (thread, count) in messages {
            app.say_in(thread, "begin").await;
            stub.request(at(thread)).await;
            for number in 0..count {
                let body = json!({ "text": format!("message {number}"), "images": images });
                app.post(&format!("/threads/{thread}/messages"), body)
                    .await
                    .expect(202);
            }
        }
        gate.open();
        let log = app.pages("/events?order=asc&").await;
        for (thread, count) in messages {
            let sent: Vec<i64> = log
                .iter()
                .filter(|e| e["thread"] == thread && has(e, "input"))
                .map(seq)
                .skip(1)
                .collect();
            assert_eq!(sent.len(), count * 201);
            let all = |e: &Value| {
                e["thread"] == thread && e["payload"]["handled"].as_i64() >= sent.last().copied()
            };
            socket.event("the last turn", all).await;
            let mut heard = Vec::new();
            for request in stub.all(at(thread)).iter().skip(1) {
                let batch = request.batch();
                let shown = request.seqs();
                assert!(
                    batch.iter().all(|seq| shown.contains(seq)),
                    "{thread}: not all of its batch is shown"
                );
                heard.extend(batch);
            }
            assert!(heard == sent, "{thread}: {} of {}", heard.len(), sent.len());
        }
    }
);
