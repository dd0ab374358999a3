//! Responses that are cancelled, by a request or by a client that hangs up.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use super::*;

on_both!(a_response_is_cancelled_in_each_phase, |medium| {
    let (stub, gate, app) = echo(medium).await;
    let shared = app.conversation(json!({ "label": "shared" })).await;
    let model = format!("thinkd/{shared}");
    let background = json!({ "background": true, "model": model });
    let running = create(&app, "slow one", background.clone()).await;
    stub.nth(1, decision).await;
    let waits = create(&app, "slow two", background.clone()).await;
    assert_eq!(get(&app, &waits).await["status"], "queued");
    // One that waits is taken back, and the turn before it goes on.
    let stopped = cancel(&app, &waits).await;
    assert_eq!(
        (&stopped["status"], &stopped["output"]),
        (&json!("cancelled"), &json!([]))
    );
    assert_eq!(get(&app, &running).await["status"], "in_progress");
    // One that runs is stopped, from any server. The same again changes nothing.
    let other = match app.is_postgres() {
        true => Some(app.beside().await),
        false => None,
    };
    let stopped = cancel(other.as_ref().unwrap_or(&app), &running).await;
    assert_eq!(stopped["status"], "cancelled");
    assert_eq!(cancel(&app, &running).await, stopped);
    let last = replayed(&app, &running, None).await.last();
    assert_eq!(
        (&last["type"], &last["response"]),
        (&json!("response.incomplete"), &stopped)
    );
    // One that is over stays as it is.
    gate.open();
    let done = create(&app, "three", json!({ "model": model })).await;
    assert_eq!(cancel(&app, &done).await, done);
    let ended = app
        .pages(&format!("/events?thread={shared}&tags=ended&order=asc&"))
        .await;
    let outcomes: Vec<_> = ended
        .iter()
        .map(|it| it["payload"]["outcome"].as_str().unwrap())
        .collect();
    // A turn about nothing may stand between them, where the message was taken back.
    let ends = (outcomes[0], outcomes[outcomes.len() - 1]);
    assert_eq!((ends, stub.count(decision)), (("cancelled", "done"), 3));
    // The client goes on behind a cancelled one.
    let next = create(&app, "four", behind(&running)).await;
    assert_eq!(text_of(&next), "ok: four");
});

on_both!(behind_one_taken_back_stands_the_turn_that_ran, |medium| {
    let (stub, gate, app) = echo(medium).await;
    let shared = app.conversation(json!({ "label": "shared" })).await;
    let background = json!({ "background": true, "model": format!("thinkd/{shared}") });
    let running = create(&app, "slow one", background.clone()).await;
    stub.nth(1, decision).await;
    let waits = create(&app, "slow two", background.clone()).await;
    let path = format!("{PATH}/{}/cancel", id(&waits));
    let sent = app.request("POST", &path).send().await.unwrap();
    assert_eq!(sent.headers()["x-thinkd-thread"], shared.as_str());
    // While that turn runs, a message waits behind it.
    let mut on = behind(&waits);
    on["background"] = true.into();
    let on = create(&app, "on", on).await;
    // Of two one does: the other one would hear it.
    let error = refused(&app, &body("beside", behind(&waits)), 409).await;
    assert_eq!(
        (&error["code"], &error["param"]),
        (&json!("busy"), &json!("previous_response_id"))
    );
    gate.open();
    assert_eq!(text_of(&until(&app, &on, "completed").await), "ok: on");
    assert_eq!(thread_of(&app, &on).await, shared);
    assert_eq!(get(&app, &running).await["status"], "completed");
    // Later, it is a branch with that turn.
    let branch = create(&app, "branch", behind(&waits)).await;
    let fork = thread_of(&app, &branch).await;
    assert_ne!(fork, shared);
    let asked = stub.nth(0, at(&fork)).await;
    assert!(asked.says("ok: slow one") && !asked.says("ok: on"));
});

on_both!(
    a_client_that_hangs_up_stops_its_turn_unless_it_asked_for_the_background,
    |medium| {
        let (stub, gate, app) = echo(medium).await;
        for (nth, (is_streamed, is_background)) in [(false, false), (true, false), (true, true)]
            .into_iter()
            .enumerate()
        {
            let label = format!("stop-{nth}");
            let thread = app.conversation(json!({ "label": label })).await;
            let more = json!({ "stream": is_streamed, "background": is_background, "model": format!("thinkd/{thread}") });
            let sent = app.request("POST", PATH).json(&body("slow", more)).send();
            let sent = tokio::spawn(async move {
                // A stream is there at once, and is held.
                let response = sent.await;
                std::future::pending::<()>().await;
                drop(response);
            });
            stub.nth(2 * nth + 1, decision).await;
            let event = &app
                .pages(&format!("/events?thread={thread}&tags=input&"))
                .await[0];
            let response = json!({ "id": format!("resp_{}", event["event_id"].as_str().unwrap().replace('-', "")) });
            sent.abort();
            match is_background {
                false => assert_eq!(
                    until(&app, &response, "cancelled").await["output"],
                    json!([])
                ),
                true => {
                    // The other one's end has been seen: this one's would be, too.
                    assert_eq!(get(&app, &response).await["status"], "in_progress");
                    gate.open();
                    assert_eq!(
                        text_of(&until(&app, &response, "completed").await),
                        "ok: slow"
                    );
                }
            }
        }
    }
);

#[tokio::test]
async fn a_turn_that_has_stored_nothing_is_stopped_from_another_server() {
    let Some(medium) = Medium::migrated().await else {
        return;
    };
    let stub = Stub::start().await;
    let gate = Gate::new();
    let held = gate.clone();
    stub.on_each(decision, move |request| match &*request.last_user() {
        "slow" => reply("Too late.").held(&held),
        said => reply(&format!("ok: {said}")),
    });
    let a = Setup::new(medium, &stub).voices(&[]).start().await;
    let b = a.beside().await;
    let begun = create(&a, "slow", json!({ "background": true })).await;
    let asked = stub.request(decision).await;
    assert_eq!(get(&b, &begun).await["status"], "in_progress");
    let stopped = cancel(&b, &begun).await;
    assert_eq!(stopped["status"], "cancelled");
    // The model is not waited for any more, and all servers say the same.
    asked.closed().await;
    for app in [&a, &b] {
        assert_eq!(get(app, &begun).await, stopped);
        assert_eq!(cancel(app, &begun).await, stopped);
    }
    // The conversation goes on, in its thread.
    let on = create(&b, "on", behind(&begun)).await;
    assert_eq!(text_of(&on), "ok: on");
    assert_eq!(thread_of(&b, &on).await, thread_of(&a, &begun).await);
}

/// A stub that holds replies to "slow" behind their first words.
async fn in_the_middle(medium: Medium) -> (Stub, Gate, App) {
    let stub = Stub::start().await;
    let gate = Gate::new();
    let held = gate.clone();
    stub.on_each(decision, move |request| {
        match request.last_user().as_str() {
            "slow" => reply("The sea is wide and deep.").paused(6, &held),
            _ => reply("ok"),
        }
    });
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    (stub, gate, app)
}

on_both!(
    the_end_of_its_thread_cancels_a_response_with_the_words_so_far,
    |medium| {
        let (_stub, _gate, app) = in_the_middle(medium).await;
        let mut response = stream(&app, "slow", json!({})).await;
        let mut live = Stream::default();
        live.until(&mut response, "response.output_text.delta")
            .await;
        let begun = live.events()[0]["response"].clone();
        let thread = thread_of(&app, &begun).await;
        app.post(&format!("/threads/{thread}/end"), json!({}))
            .await
            .expect(200);
        live.until(&mut response, "response.incomplete").await;
        let whole = get(&app, &begun).await;
        assert_eq!(whole["status"], "cancelled", "{whole}");
        let words = text_of(&whole);
        assert!(
            !words.is_empty() && "The sea is wide and deep.".starts_with(words),
            "{words}"
        );
        assert_eq!(live.words(), words);
    }
);

on_both!(
    a_client_that_follows_a_response_keeps_its_turn_when_the_first_one_goes,
    |medium| {
        let (_stub, gate, app) = in_the_middle(medium).await;
        let mut first = stream(&app, "slow", json!({})).await;
        let mut live = Stream::default();
        live.until(&mut first, "response.output_text.delta").await;
        let begun = live.events()[0]["response"].clone();
        let path = format!("{PATH}/{}?stream=true", id(&begun));
        let mut follower = app.request("GET", &path).send().await.unwrap();
        let mut followed = Stream::default();
        followed.until(&mut follower, "response.in_progress").await;
        drop(first);
        // A turn elsewhere takes longer than the server needs to see that the client has gone.
        app.tell_in("elsewhere", "hello").await;
        gate.open();
        followed.until(&mut follower, "response.completed").await;
        assert_eq!(followed.words(), "The sea is wide and deep.");
    }
);
