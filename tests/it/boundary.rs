//! The socket's frames: the frames that clients send and get, and the part of them that is stored.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::media::*;
use kit::*;

// D4.01: greets, takes text, perceptions and images, answers; acknowledges after storing.
on_sqlite!(
    d4_01_a_client_of_the_published_protocol_is_served,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        for path in ["/ws", "/"] {
            let mut socket = Socket::connect(&format!("ws://{}{path}", app.address)).await;
            let hello = socket.next().await.unwrap();
            assert_eq!(
                (&hello["type"], &hello["protocol"], &hello["space"]),
                (&json!("hello"), &json!("thinkd.v1"), &json!("default"))
            );
            assert!(
                hello["head"].is_i64() && hello["version"].is_string(),
                "{hello}"
            );
            assert!(
                uuid::Uuid::parse_str(hello["epoch"].as_str().unwrap()).is_ok(),
                "{hello}"
            );
            assert!(
                hello["limits"]["frame_bytes"].as_u64().unwrap() >= 1 << 20,
                "{hello}"
            );
            let ack = socket.say("hello").await;
            let event = &ack["events"][0];
            assert!(
                event["event_id"].is_string() && event["thread"] == "main" && event["seq"].is_i64(),
                "{ack}"
            );
            let stored = app.event(event["event_id"].as_str().unwrap()).await;
            assert_eq!(seq(&stored), seq(event), "acknowledged is stored");
            assert_eq!(said(&socket.response().await), "ok: hello");
            socket.turn_ended().await;
            socket.send(json!({ "type": "sensory", "text": "it is getting dark", "images": [{ "data": PNG, "mimeType": "image/png" }] })).await;
            socket.of_type("ack").await;
            socket.response().await;
            socket.turn_ended().await;
            socket.close().await;
        }
    }
);

// D4.12 D4.03: what a client sends is translated once, at the boundary; the content is the same.
on_sqlite!(
    d4_12_frame_and_event_differ_in_shape_and_agree_in_content,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        let id = thinkd_words::id::fresh().to_string();
        let text = "Grüße, \"Welt\"\n\t🌍 — nothing \\u is changed";
        let frame = json!({ "type": "message", "thread": "main", "event_id": id, "text": text });
        socket.ask(frame.clone()).await;
        let event = app.event(&id).await;
        assert_eq!(said(&event), text);
        assert_eq!(
            (&event["source"], &event["modality"], &event["thread"]),
            (&json!("user"), &json!("text"), &json!("main"))
        );
        assert_eq!(tags(&event), ["input", "type:message"]);
        assert_ne!(event, frame);
        // Shown live and read later it is the same event, and so are those made inside.
        socket.turn_ended().await;
        for live in socket.events() {
            assert_eq!(app.event(live["event_id"].as_str().unwrap()).await, live);
            assert_eq!(envelope::faults(&live), Vec::<String>::new(), "{live}");
        }
    }
);

// T4.04
on_sqlite!(t4_04_a_frame_without_a_type_is_a_message, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    socket.send(json!({ "text": "hello" })).await;
    assert_eq!(said(&socket.response().await), "ok: hello");
    assert_eq!(
        tags(&socket.tagged("input").await),
        ["input", "type:message"]
    );
});

// T4.05 T4.06
on_sqlite!(t4_05_t4_06_perceptions_are_words_or_media, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    socket
        .ask(json!({ "type": "sensory", "text": "a door opens" }))
        .await;
    let words = socket.tagged("type:sensory").await;
    assert_eq!(
        (tags(&words), &words["modality"], said(&words)),
        (
            vec!["input", "type:sensory"],
            &json!("text"),
            "a door opens"
        )
    );
    socket.response().await;
    socket
        .ask(json!({ "type": "sensory", "images": [{ "data": PNG, "mimeType": "image/png" }] }))
        .await;
    let image = socket.tagged("type:sensory").await;
    assert_eq!(
        (&image["modality"], &image["payload"]["mime"]),
        (&json!("image"), &json!("image/png"))
    );
    socket.response().await;
});

// T4.07
on_sqlite!(
    t4_07_an_empty_input_is_refused_and_starts_no_turn,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        let empty = [
            json!({ "type": "message" }),
            json!({ "text": "" }),
            json!({ "text": " \t\n " }),
            json!({ "type": "sensory", "images": [] }),
        ];
        for frame in empty {
            let answer = socket.ask(frame.clone()).await;
            assert_eq!(
                answer["problem"]["type"], "/problems/empty-input",
                "{frame}: {answer}"
            );
        }
        assert_eq!(said(&socket.chat("still here").await), "ok: still here");
        assert_eq!(stub.requests().len(), 1, "only the last one was a turn");
    }
);

// T4.08
on_sqlite!(
    t4_08_what_cannot_be_read_is_a_problem_and_the_connection_lives,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let head = app.public_log().await.len();
        let mut socket = app.socket().await;
        for (frame, slug) in [
            ("{\"type\":\"dance\"}", "unknown-type"),
            ("{\"type\":\"message\",\"text\":", "malformed-json"),
            ("hello there", "malformed-json"),
            ("[{\"text\":\"hi\"}]", "invalid-frame"),
            ("{\"text\":\"hi\",\"mood\":1}", "unknown-member"),
            ("{\"text\":5}", "invalid-frame"),
            ("{\"text\":\"hi\",\"thread\":\"No Such!\"}", "invalid-id"),
        ] {
            socket.send_text(frame).await;
            let problem = socket.problem().await;
            assert_eq!(
                problem["type"],
                format!("/problems/{slug}"),
                "{frame}: {problem}"
            );
            assert!(
                problem["status"].is_u64()
                    && problem["title"].is_string()
                    && problem["detail"].is_string(),
                "{problem}"
            );
        }
        assert_eq!(app.public_log().await.len(), head, "something was stored");
        assert!(stub.requests().is_empty());
        assert_eq!(said(&socket.chat("still here").await), "ok: still here");
    }
);

// T4.10 D4.05: one event a part, in the order text, images, audio; the last one has the given id and wakes the thread.
on_sqlite!(
    t4_10_words_two_images_and_a_sound_are_four_events_in_order,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        let id = thinkd_words::id::fresh().to_string();
        let image = |data: &str| json!({ "data": data, "mimeType": "image/png" });
        let frame = json!({
            "type": "message", "event_id": id, "audio": [{ "data": WAV, "mimeType": "audio/wav" }],
            "images": [image(PNG), image(PNG_2)], "text": "look and listen",
        });
        let ack = socket.ask(frame.clone()).await;
        socket.turn_ended().await;
        let events = ack["events"].as_array().unwrap();
        let seqs: Vec<i64> = events.iter().map(seq).collect();
        assert_eq!(
            seqs,
            (seqs[0]..seqs[0] + 4).collect::<Vec<_>>(),
            "one append: {ack}"
        );
        assert_eq!(events[3]["event_id"], json!(id));
        let log = app.since(seqs[0] - 1).await;
        let kinds: Vec<&str> = log[..4]
            .iter()
            .filter_map(|event| event["modality"].as_str())
            .collect();
        assert_eq!(kinds, ["text", "image", "image", "audio"]);
        assert_ne!(log[1]["payload"]["blob"], log[2]["payload"]["blob"]);
        assert!(log[..4].iter().all(|event| has(event, "input")));
        assert_eq!(
            with(&log, &["turn", "started"]).len(),
            1,
            "one turn for all of it"
        );
        // Sent again, nothing is stored, and the first addresses come back.
        let again = socket.ask(frame).await;
        assert_eq!(
            (&again["status"], &again["events"]),
            (&json!("duplicate"), &ack["events"])
        );
        assert_eq!(
            app.since(seqs[3])
                .await
                .iter()
                .filter(|event| has(event, "input"))
                .count(),
            0
        );
    }
);

// T4.11
on_sqlite!(
    t4_11_two_clients_of_one_user_both_see_the_answer,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut first = app.socket().await;
        let mut second = app.socket().await;
        first.say("hello").await;
        let one = first.response().await;
        let two = second.response().await;
        assert_eq!(one, two);
        first.turn_ended().await;
        second.turn_ended().await;
        assert_eq!(first.events(), second.events(), "both follow the same log");
    }
);

// D4.16: idempotency: the client's id is the event's id, however often it is sent.
on_sqlite!(
    an_event_sent_again_is_a_duplicate_and_with_other_content_a_conflict,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        let id = thinkd_words::id::fresh().to_string();
        let first = socket.ask(json!({ "text": "once", "event_id": id })).await;
        assert_eq!(
            (&first["status"], &first["events"][0]["event_id"]),
            (&json!("started"), &json!(id))
        );
        socket.turn_ended().await;
        for _ in 0..3 {
            let again = socket.ask(json!({ "text": "once", "event_id": id })).await;
            assert_eq!(
                (&again["status"], &again["events"]),
                (&json!("duplicate"), &first["events"])
            );
        }
        let again = app
            .post(
                "/threads/main/messages",
                json!({ "text": "once", "event_id": id }),
            )
            .await;
        assert_eq!(
            (&again.body["status"], &again.body["events"]),
            (&json!("duplicate"), &first["events"]),
            "the same over HTTP"
        );
        let other = socket
            .ask(json!({ "text": "something else", "event_id": id }))
            .await;
        assert_eq!(
            other["problem"]["type"], "/problems/event-conflict",
            "{other}"
        );
        let elsewhere = socket
            .ask(json!({ "text": "once", "event_id": id, "thread": "other" }))
            .await;
        assert_eq!(
            elsewhere["problem"]["type"], "/problems/event-conflict",
            "{elsewhere}"
        );
        app.post(
            "/threads/main/messages",
            json!({ "text": "else", "event_id": id }),
        )
        .await
        .expect_problem(409, "event-conflict");
        assert_eq!(with(&app.public_log().await, &["input"]).len(), 1);
        assert_eq!(stub.requests().len(), 1, "one turn");
        let bad = socket
            .ask(json!({ "text": "x", "event_id": "not-a-uuid" }))
            .await;
        assert_eq!(bad["type"], "problem", "{bad}");
    }
);

// T4.69
on_sqlite!(t4_69_a_trigger_is_one_event_with_its_name, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    let ack = socket
        .ask(json!({ "type": "trigger", "event": "daily_review", "payload": { "day": 3, "why": "it is late" } }))
        .await;
    assert_eq!(ack["events"].as_array().unwrap().len(), 1, "{ack}");
    let event = socket.tagged("trigger:daily_review").await;
    assert_eq!(
        tags(&event),
        ["input", "type:trigger", "trigger:daily_review"]
    );
    assert_eq!(
        (&event["source"], &event["payload"]["day"]),
        (&json!("system"), &json!(3))
    );
    socket.turn_ended().await;
    assert!(
        stub.request(decision).await.says("it is late"),
        "the decision sees what came with it"
    );
    for frame in [
        json!({ "type": "trigger" }),
        json!({ "type": "trigger", "event": "" }),
        json!({ "type": "trigger", "event": "Bad Name" }),
    ] {
        let answer = socket.ask(frame.clone()).await;
        assert_eq!(answer["type"], "problem", "{frame}: {answer}");
    }
    assert_eq!(stub.requests().len(), 1);
});

// Every frame with an id is answered once, with that id.
on_sqlite!(every_frame_with_an_id_is_answered_under_it, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    socket.chat("hello").await;
    for frame in [
        json!({ "type": "unsubscribe" }),
        json!({ "type": "subscribe" }),
        json!({ "type": "cancel", "thread": "main" }),
    ] {
        let answer = socket.ask(frame.clone()).await;
        let expected = (&json!("ack"), &json!("ok"), &json!([]));
        assert_eq!(
            (&answer["type"], &answer["status"], &answer["events"]),
            expected,
            "{frame}: {answer}"
        );
    }
    socket.send(json!({ "type": "ping" })).await;
    assert!(socket.of_type("pong").await["after"].is_i64());
    let bad = socket
        .ask(json!({ "type": "answer", "question": "none", "text": "x", "extra": 1 }))
        .await;
    assert_eq!(bad["type"], "problem");
});

// Status is told as it changes.
on_sqlite!(a_threads_status_is_told_as_it_changes, |medium| {
    let stub = Stub::start().await;
    let held = Gate::new();
    stub.script(decision, [reply("done").held(&held)]);
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    socket.say("go").await;
    let thinking = socket
        .wait("status thinking", |f| {
            f["type"] == "status" && f["status"] == "thinking"
        })
        .await;
    assert_eq!(thinking["thread"], "main");
    stub.request(decision).await;
    let row = app.get("/threads/main").await.expect(200);
    assert_eq!(
        (&row["id"], &row["status"]),
        (&json!("main"), &json!("thinking")),
        "{row}"
    );
    held.open();
    socket
        .wait("status idle", |f| {
            f["type"] == "status" && f["status"] == "idle"
        })
        .await;
    socket.turn_ended().await;
    assert_eq!(app.get("/threads/main").await.expect(200)["status"], "idle");
});

// D4.02 T4.32
on_sqlite!(d4_02_t4_32_the_chat_alone_can_be_read_over_http, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    let before = thinkd_words::time::now().seconds() - 1;
    for text in ["one", "two", "three"] {
        app.tell(text).await;
    }
    let all = app.get("/messages").await.expect(200);
    let all = all.as_array().unwrap();
    let chat: Vec<(&str, &str)> = all
        .iter()
        .map(|m| (m["role"].as_str().unwrap(), m["chat"][0].as_str().unwrap()))
        .collect();
    let expected = [
        ("user", "one"),
        ("assistant", "ok: one"),
        ("user", "two"),
        ("assistant", "ok: two"),
        ("user", "three"),
        ("assistant", "ok: three"),
    ];
    assert_eq!(chat, expected, "oldest first, and nothing but the chat");
    assert!(
        all.iter().all(|m| m["timestamp"].as_i64().is_some_and(|t| t > before) && m.get("user").is_some()),
        "{all:?}"
    );
    let newest = app.get("/messages?n=2").await.expect(200);
    assert_eq!(
        newest.as_array().unwrap(),
        &all[4..],
        "the newest two, oldest first"
    );
    assert_eq!(
        app.get(&format!("/messages?before={before}"))
            .await
            .expect(200),
        json!([])
    );
    for bad in ["n=0", "n=abc", "n=-1", "before=abc", "n=2&x=1"] {
        app.get(&format!("/messages?{bad}"))
            .await
            .expect_problem(400, "invalid-parameter");
    }
});

// A message over HTTP.
on_sqlite!(
    a_message_over_http_is_acknowledged_or_waited_for,
    |medium| {
        let stub = Stub::start().await;
        let held = Gate::new();
        stub.script(decision, [reply("late").held(&held)]);
        let app = App::start(medium, &stub).await;
        let ack = app
            .post("/threads/main/messages", json!({ "text": "hello" }))
            .await
            .expect(202);
        assert_eq!(
            (&ack["status"], &ack["events"][0]["thread"]),
            (&json!("started"), &json!("main"))
        );
        let waited = app
            .post("/threads/main/messages?wait=0.2", json!({ "text": "more" }))
            .await;
        assert!(
            waited.status == 202 || waited.status == 400,
            "{}",
            waited.text
        );
        held.open();
        let answer = app
            .post(
                "/threads/main/messages?wait=20",
                json!({ "type": "sensory", "text": "third" }),
            )
            .await
            .expect(200);
        assert_eq!(answer["events"].as_array().unwrap().len(), 1);
        assert!(
            answer["responses"]
                .as_array()
                .unwrap()
                .iter()
                .any(|event| has(event, "response")),
            "{answer}"
        );
        app.post("/threads/main/messages", json!({ "text": "" }))
            .await
            .expect_problem(400, "empty-input");
        app.post("/threads/Not%20Valid/messages", json!({ "text": "x" }))
            .await
            .expect_problem(400, "invalid-id");
        app.post("/threads/nowhere.child/messages", json!({ "text": "x" }))
            .await
            .expect_problem(404, "not-found");
    }
);

// Conversations are created by clients, and are apart from each other.
on_sqlite!(conversations_are_created_listed_and_ended, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let thread = app
        .conversation(json!({ "label": "garden", "prompt": "You speak of gardens only." }))
        .await;
    assert!(thread.contains("garden"), "{thread}");
    let other = app.conversation(json!({ "label": "garden" })).await;
    assert_ne!(thread, other, "the server assigns ids");
    assert_eq!(said(&app.tell_in(&thread, "roses?").await[0]), "ok: roses?");
    assert!(
        stub.request(|r| r.thread == thread)
            .await
            .says("You speak of gardens only.")
    );
    app.tell_in("fresh", "an unused id makes a conversation")
        .await;
    let rows = app.pages("/threads?").await;
    let ids: Vec<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
    assert!(
        [thread.as_str(), &other, "fresh"]
            .iter()
            .all(|id| ids.contains(id)),
        "{ids:?}"
    );
    let row: Value = app.get(&format!("/threads/{thread}")).await.expect(200);
    assert_eq!(
        (&row["kind"], &row["status"]),
        (&json!("conversation"), &json!("idle")),
        "{row}"
    );
    app.get("/threads/nowhere")
        .await
        .expect_problem(404, "not-found");
    let ended = app.post(&format!("/threads/{other}/end"), json!({})).await;
    assert!(ended.status < 300, "{}", ended.text);
    app.post(
        &format!("/threads/{other}/messages"),
        json!({ "text": "x" }),
    )
    .await
    .expect_problem(409, "thread-ended");
});

// The documents are served, and there is a page to read them, and nobody needs the network for it.
on_sqlite!(d4_01_the_documents_of_the_protocol_are_served, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let asyncapi = app.get("/asyncapi.yaml").await;
    assert_eq!(asyncapi.status, 200);
    let document: Value = serde_yaml_ng::from_str(&asyncapi.text).unwrap();
    assert!(
        document["asyncapi"].as_str().unwrap().starts_with("3."),
        "{}",
        document["asyncapi"]
    );
    let openapi = app.get("/openapi.json").await.expect(200);
    for path in [
        "/events",
        "/messages",
        "/submodules",
        "/threads/{thread}/messages",
    ] {
        assert!(
            openapi["paths"].get(path).is_some(),
            "{path} is not in the document"
        );
    }
    let docs = app.get("/docs").await;
    assert!(
        docs.status == 200 && docs.text.contains("<html"),
        "{}",
        docs.status
    );
    assert!(
        !docs.text.contains("src=\"http"),
        "it loads something from elsewhere"
    );
    for path in ["/livez", "/readyz", "/metadata", "/metrics"] {
        assert_eq!(app.get(path).await.status, 200, "{path}");
    }
});

// A filter of any size is answered or refused by name: never with silence, or with a store that is said to fail.
on_sqlite!(
    a_filter_with_too_many_tags_is_refused_on_every_door,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        app.tell("hello").await;
        let mut socket = app.socket().await;
        let tags = |count: usize| {
            (0..count - 1)
                .map(|n| format!("t{n}"))
                .chain(["input".to_owned()])
                .collect::<Vec<_>>()
        };
        for count in [33, 167, 400] {
            let query = tags(count).join("&tags=");
            for path in ["/events", "/events/stream"] {
                let refused = app
                    .get(&format!("{path}?tags={query}"))
                    .await
                    .expect_problem(400, "invalid-parameter");
                let detail = refused["detail"].as_str().unwrap();
                assert!(
                    detail.contains("tags") && detail.contains("32"),
                    "{refused}"
                );
            }
            let refused = socket
                .ask(json!({ "type": "subscribe", "after": 0, "tags": tags(count) }))
                .await;
            assert_eq!(
                refused["problem"]["type"], "/problems/invalid-parameter",
                "{refused}"
            );
            assert_eq!(
                refused["problem"]["errors"][0]["pointer"], "/tags",
                "{refused}"
            );
        }
        assert!(
            app.get("/metrics")
                .await
                .text
                .contains("thinkd_limit_total{limit=\"filter_tags\"} 9")
        );
        // As many as are allowed are looked for; who was refused goes on.
        let query = tags(32).join("&tags=");
        assert_eq!(
            app.get(&format!("/events?tags={query}")).await.expect(200)["items"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        assert_eq!(socket.follow(0, json!({ "tags": tags(32) })).await.len(), 1);
        // What is said twice, in whatever case, counts once.
        let query = ["input"; 100]
            .join("&tags=")
            .replace("input&tags=input", "INPUT&tags= Input ");
        assert_eq!(
            app.get(&format!("/events?tags={query}")).await.expect(200)["items"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
    }
);

// And so is a tool's, which tells the model what to do.
on_sqlite!(
    a_mind_that_asks_for_too_many_tags_is_told_how_many_it_may_ask_for,
    |medium| {
        let stub = Stub::start().await;
        let tags = |count: usize| {
            (0..count - 1)
                .map(|n| format!("t{n}"))
                .chain(["input".to_owned()])
                .collect::<Vec<_>>()
        };
        let ask = |count| {
            call(
                "query_events",
                json!({ "latest": 5, "since": null, "tags": tags(count), "text": null }),
            )
        };
        stub.script(decision, [ask(5), ask(4), ask(200), reply("Found.")]);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_LIMITS__FILTER_TAGS", 4)
            .start()
            .await;
        assert_eq!(said(&app.tell("look it up").await[0]), "Found.");
        let log = app.public_log().await;
        let results = with(&log, &["result", "tool:query_events"]);
        let failed: Vec<bool> = results
            .iter()
            .map(|result| has(result, "failure"))
            .collect();
        assert_eq!(failed, [true, false, true], "{}", story(&log));
        for refused in [results[0], results[2]] {
            assert!(said(refused).contains("at most 4 tags"), "{refused}");
            assert_eq!(
                refused["payload"]["problem"]["detail"]["reason"], "invalid_arguments",
                "{refused}"
            );
        }
    }
);
