//! The streams of responses: live, cut and gone on with, and after a crash.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use super::*;

on_both!(
    a_stream_has_the_events_that_clients_need_and_the_same_numbers_ever_after,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let answer = reply("The sea is wide and deep.").usage(5, 6, 0);
        stub.on(decision, answer.paused(6, &gate));
        let mut app = Setup::new(medium, &stub).voices(&[]).start().await;
        let mut response = stream(&app, "the sea?", json!({})).await;
        // The beginning is there while the model still answers.
        let mut live = Stream::default();
        live.until(&mut response, "response.output_text.delta")
            .await;
        gate.open();
        live.until(&mut response, "response.completed").await;
        live.text
            .push_str(&within("the end", response.text()).await.unwrap());
        let mut names = live.names();
        names.dedup();
        let all = [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ];
        assert_eq!(names, all);
        assert!(
            live.numbers().is_sorted_by(|a, b| a < b),
            "{:?}",
            live.numbers()
        );
        assert_eq!(live.words(), "The sea is wide and deep.");
        assert!(live.names().len() > all.len(), "it came in pieces");
        let events = live.events();
        let whole = &live.last()["response"];
        assert_eq!(
            (text_of(whole), &whole["usage"]["total_tokens"]),
            ("The sea is wide and deep.", &json!(11))
        );
        assert_eq!(get(&app, whole).await, *whole);
        for event in &events[2..events.len() - 1] {
            let item = event["item_id"].as_str().or(event["item"]["id"].as_str());
            assert_eq!(item, whole["output"][0]["id"].as_str(), "{event}");
        }
        // Each stream of it is the same, but for the pieces of the text.
        for _ in 0..2 {
            let again = replayed(&app, whole, None).await;
            let mut names = again.names();
            names.dedup();
            assert_eq!(names, all);
            assert_eq!(again.last(), live.last());
            assert_eq!(again.words(), live.words());
            let after = |stream: &Stream, number: u64| {
                let events = stream.events();
                events
                    .into_iter()
                    .find(|it| it["sequence_number"] == number)
            };
            for number in live.numbers() {
                // The words behind any number are the ones that the client does not have.
                let rest = replayed(&app, whole, Some(number)).await;
                let before: String = events
                    .iter()
                    .filter(|it| it["sequence_number"].as_u64() <= Some(number))
                    .filter_map(|it| it["delta"].as_str())
                    .collect();
                assert_eq!(before + &rest.words(), live.words(), "behind {number}");
                assert!(rest.numbers().iter().all(|it| *it > number));
                if let (Some(here), Some(there)) = (after(&again, number), after(&live, number)) {
                    assert_eq!(here["type"], there["type"]);
                }
            }
            app.kill();
            app.start_again().await;
        }
        let last = live.numbers().pop();
        assert_eq!(replayed(&app, whole, last).await.text, "");
    }
);

on_both!(
    a_stream_that_was_cut_goes_on_where_it_was_also_after_a_crash,
    |medium| {
        let stub = Stub::start().await;
        let gates = [Gate::new(), Gate::new()];
        let held = gates.clone();
        stub.on_each(decision, move |request| {
            let gate = &held[usize::from(request.last_user().ends_with("crash"))];
            reply("The sea is wide and deep, and full of fish.").paused(6, gate)
        });
        let mut app = Setup::new(medium, &stub).voices(&[]).start().await;
        for (is_killed, gate) in [false, true].into_iter().zip(gates) {
            let words = if is_killed {
                "the sea, and a crash"
            } else {
                "the sea?"
            };
            let mut response = stream(&app, words, json!({ "background": true })).await;
            let mut live = Stream::default();
            live.until(&mut response, "response.output_text.delta")
                .await;
            drop(response);
            let seen = live.events();
            let created = &seen[0]["response"];
            assert_eq!(created["background"], true);
            let last = live.numbers().pop().unwrap();
            assert_eq!(unfinished(&app, created).await["output"], json!([]));
            if is_killed {
                app.kill();
                gate.open();
                app.start_again().await;
            }
            let path = format!("{PATH}/{}?stream=true&starting_after={last}", id(created));
            let sent = app.request("GET", &path).send();
            let response = within("the head", sent).await.unwrap();
            gate.open();
            let rest = Stream::whole(response).await;
            assert_eq!(
                live.words() + &rest.words(),
                "The sea is wide and deep, and full of fish."
            );
            assert!(rest.numbers().iter().all(|it| *it > last));
            assert_eq!(rest.last()["type"], "response.completed");
            assert_eq!(get(&app, created).await, rest.last()["response"]);
            assert_eq!(inputs(&app, &thread_of(&app, created).await).await, [words]);
        }
    }
);

on_both!(
    a_turn_that_failed_is_an_error_an_event_and_a_state,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, status(401));
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        // A client that waits has an error, which it does not repeat.
        let error = refused(&app, &body("hi", json!({})), 424).await;
        assert_eq!(
            (&error["code"], &error["type"]),
            (&json!("turn-failed"), &json!("server_error"))
        );
        let named = error["message"].as_str().unwrap();
        let (_, named) = named.rsplit_once("(response ").unwrap();
        let failed = get(&app, &json!({ "id": named.trim_end_matches(')') })).await;
        assert_eq!(
            (&failed["status"], &failed["error"]["code"]),
            (&json!("failed"), &json!("server_error"))
        );
        assert_eq!(
            (&failed["output"], &failed["completed_at"]),
            (&json!([]), &Value::Null)
        );
        let last = Stream::whole(stream(&app, "hi", json!({})).await)
            .await
            .last();
        assert_eq!(
            (&last["type"], &last["response"]["status"]),
            (&json!("response.failed"), &json!("failed"))
        );
        let begun = create(&app, "hi", json!({ "background": true })).await;
        let later = until(&app, &begun, "failed").await;
        assert!(
            later["error"]["message"]
                .as_str()
                .unwrap()
                .contains("the turn about the message failed")
        );
        // A turn that says nothing is an answer without an item.
        stub.clear();
        stub.on(
            decision,
            call("do_nothing", json!({ "reason": "nothing to say" })),
        );
        let silent = create(&app, "hm", json!({})).await;
        assert_eq!(
            (&silent["status"], &silent["output"]),
            (&json!("completed"), &json!([]))
        );
        let names = Stream::whole(stream(&app, "hm", json!({})).await)
            .await
            .names();
        assert_eq!(
            names,
            [
                "response.created",
                "response.in_progress",
                "response.completed"
            ]
        );
    }
);

on_both!(
    a_second_stream_is_live_before_anything_of_the_turn_is_stored,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(
            decision,
            reply("The sea is wide and deep.").paused(5, &gate),
        );
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let mut first = stream(&app, "the sea?", json!({ "background": true })).await;
        let mut live = Stream::default();
        live.until(&mut first, "response.output_text.delta").await;
        assert_eq!(
            live.names()[..2],
            ["response.created", "response.in_progress"]
        );
        let created = live.events()[0]["response"].clone();
        assert_eq!(get(&app, &created).await["status"], "in_progress");
        let path = format!("{PATH}/{}?stream=true", id(&created));
        let sent = app.request("GET", &path).send();
        let mut second = within("the head of a stream", sent).await.unwrap();
        let mut other = Stream::default();
        other.until(&mut second, "response.output_text.delta").await;
        // A message behind it waits.
        let thread = thread_of(&app, &created).await;
        let more = json!({ "background": true, "model": format!("thinkd/{thread}") });
        let waits = create(&app, "and the hills?", more).await;
        assert_eq!(waits["status"], "queued");
        assert_eq!(get(&app, &waits).await["status"], "queued");
        gate.open();
        live.until(&mut first, "response.completed").await;
        other.until(&mut second, "response.completed").await;
        assert_eq!(live.words(), "The sea is wide and deep.");
        assert_eq!(live.words(), other.words());
        assert_eq!(live.last(), other.last());
        until(&app, &waits, "completed").await;
    }
);

on_both!(
    a_reply_that_was_cut_off_at_its_limit_is_incomplete,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [text("The sea is").finished("length"), reply("It is wide.")],
        );
        let app = Setup::new(medium, &stub).voices(&[]).start().await;
        let cut = create(&app, "the sea?", json!({})).await;
        assert_eq!(cut["status"], "incomplete", "{cut}");
        assert_eq!(
            cut["incomplete_details"],
            json!({ "reason": "max_output_tokens" })
        );
        assert_eq!(
            (text_of(&cut), &cut["output"][0]["status"]),
            ("The sea is", &json!("incomplete"))
        );
        assert_eq!(
            (&cut["error"], &cut["completed_at"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(get(&app, &cut).await, cut);
        let last = replayed(&app, &cut, None).await.last();
        assert_eq!(
            (&last["type"], &last["response"]),
            (&json!("response.incomplete"), &cut)
        );
        let on = create(&app, "go on", behind(&cut)).await;
        assert_eq!(thread_of(&app, &on).await, thread_of(&app, &cut).await);
    }
);
