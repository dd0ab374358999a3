//! Limits on numbers, decided where no race can pass them: inside the append.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

/// Requests sent at the same time: how many were answered with each status, and the bodies.
async fn at_once(requests: Vec<reqwest::RequestBuilder>) -> Vec<Reply> {
    let sent: Vec<_> = requests
        .into_iter()
        .map(|request| tokio::spawn(http::send(request)))
        .collect();
    let mut replies = Vec::new();
    for reply in sent {
        replies.push(reply.await.unwrap());
    }
    replies
}

fn with_status(replies: &[Reply], status: u16) -> Vec<&Value> {
    replies
        .iter()
        .filter(|reply| reply.status == status)
        .map(|reply| &reply.body)
        .collect()
}

/// This server, and another one on the same database where there can be one.
async fn doors(medium: Medium, stub: &Stub, name: &str, value: u32) -> (App, Option<App>) {
    let shared = medium.is_shared();
    let app = Setup::new(medium, stub).env(name, value).start().await;
    let beside = if shared {
        Some(app.beside().await)
    } else {
        None
    };
    (app, beside)
}

fn posts(
    app: &App,
    beside: Option<&App>,
    path: &str,
    bodies: &[Value],
) -> Vec<reqwest::RequestBuilder> {
    let door = |number: usize| beside.filter(|_| number % 2 == 1).unwrap_or(app);
    bodies
        .iter()
        .enumerate()
        .map(|(number, body)| door(number).request("POST", path).json(body))
        .collect()
}

on_sqlite!(
    of_parallel_creates_of_one_submodule_one_wins_and_the_others_are_told,
    |medium| {
        let stub = Stub::start().await;
        let (app, beside) = doors(medium, &stub, "THINKD_LIMITS__SUBMODULES", 32).await;
        for round in 0..5 {
            let name = format!("voice-{round}");
            let bodies: Vec<Value> = (0..6)
                .map(|n| json!({ "name": name, "prompt": format!("prompt {n}") }))
                .collect();
            let replies = at_once(posts(&app, beside.as_ref(), "/submodules", &bodies)).await;
            let made = with_status(&replies, 201);
            assert_eq!(
                (made.len(), with_status(&replies, 422).len()),
                (1, 5),
                "{replies:?}"
            );
            // What it was told is what there is.
            let found = app.get("/submodules").await.expect(200);
            let found = found["items"]
                .as_array()
                .unwrap()
                .iter()
                .find(|voice| voice["name"] == json!(name))
                .unwrap();
            assert_eq!(found["prompt"], made[0]["prompt"]);
        }
        assert_eq!(
            with(&app.public_log().await, &["set:submodule"]).len(),
            5,
            "one event each"
        );
        // Removed at the same time: one removes it.
        let removes = |app: &App| app.request("DELETE", "/submodules/voice-0");
        let removes = (0..4)
            .map(|n| removes(beside.as_ref().filter(|_| n % 2 == 1).unwrap_or(&app)))
            .collect();
        let replies = at_once(removes).await;
        assert_eq!(
            (
                with_status(&replies, 204).len(),
                with_status(&replies, 404).len()
            ),
            (1, 3),
            "{replies:?}"
        );
    }
);

on_sqlite!(
    the_limit_of_submodules_holds_when_they_are_created_at_the_same_time,
    |medium| {
        let stub = Stub::start().await;
        let (app, beside) = doors(medium, &stub, "THINKD_LIMITS__SUBMODULES", 4).await;
        let bodies: Vec<Value> = (0..12)
            .map(|n| json!({ "name": format!("v{n}"), "prompt": "p" }))
            .collect();
        let replies = at_once(posts(&app, beside.as_ref(), "/submodules", &bodies)).await;
        assert_eq!(
            (
                with_status(&replies, 201).len(),
                with_status(&replies, 422).len()
            ),
            (4, 8),
            "{replies:?}"
        );
        assert_eq!(
            app.get("/submodules").await.expect(200)["items"]
                .as_array()
                .unwrap()
                .len(),
            4
        );
    }
);

// Who asks for an end again, or at another server, finds it ended: its parent hears of it once, and has one subthread less.
on_sqlite!(
    a_thread_that_is_ended_from_many_sides_at_once_ends_once,
    |medium| {
        let stub = Stub::start().await;
        let (app, beside) = doors(medium, &stub, "THINKD_BUDGET__SUBTHREADS", 6).await;
        app.process("p", json!({})).await;
        for label in ["kept", "a", "b", "c"] {
            app.post(
                "/threads",
                json!({ "label": label, "parent": "p", "kind": "process" }),
            )
            .await
            .expect(201);
        }
        for label in ["a", "b", "c"] {
            let ends = posts(
                &app,
                beside.as_ref(),
                &format!("/threads/p.{label}/end"),
                &vec![json!({}); 6],
            );
            at_once(ends).await;
            let log = app.public_log().await;
            let told = with(&log, &["thread-ended"])
                .into_iter()
                .filter(|e| e["payload"]["id"] == format!("p.{label}"));
            assert_eq!(told.count(), 1, "{label}");
        }
        assert_eq!(
            app.get("/threads/p").await.expect(200)["budget"]["subthreads"],
            1
        );
    }
);

// What is made below a thread while that ends is refused, or ends with it: nothing lives on that nobody would end.
on_sqlite!(
    nothing_lives_on_below_a_thread_that_was_ended_meanwhile,
    |medium| {
        let stub = Stub::start().await;
        let (app, beside) = doors(medium, &stub, "THINKD_BUDGET__SUBTHREADS", 20).await;
        for round in 0..4 {
            let parent = format!("p{round}");
            app.process(&parent, json!({})).await;
            let bodies: Vec<Value> = (0..8)
                .map(|n| json!({ "label": format!("c{n}"), "parent": parent, "kind": "process" }))
                .collect();
            let mut requests = posts(&app, beside.as_ref(), "/threads", &bodies);
            requests.insert(
                4,
                app.request("POST", &format!("/threads/{parent}/end"))
                    .json(&json!({})),
            );
            at_once(requests).await;
            let below = app.pages(&format!("/threads?parent={parent}&")).await;
            let alive = below
                .iter()
                .filter(|row| row["status"] != "stopped")
                .count();
            assert_eq!(alive, 0, "{below:?}");
        }
    }
);

on_sqlite!(
    the_limit_of_subthreads_holds_when_they_are_created_at_the_same_time,
    |medium| {
        let stub = Stub::start().await;
        let (app, beside) = doors(medium, &stub, "THINKD_BUDGET__SUBTHREADS", 3).await;
        app.process("p", json!({})).await;
        let bodies: Vec<Value> = (0..12)
            .map(|n| json!({ "label": format!("c{n}"), "parent": "p", "kind": "process" }))
            .collect();
        let replies = at_once(posts(&app, beside.as_ref(), "/threads", &bodies)).await;
        assert_eq!(
            (
                with_status(&replies, 201).len(),
                with_status(&replies, 422).len()
            ),
            (3, 9),
            "{replies:?}"
        );
    }
);

on_sqlite!(the_limit_of_contacts_holds_at_creation, |medium| {
    let stub = Stub::start().await;
    let (app, _) = doors(medium, &stub, "THINKD_TEST_BUDGET__CONTACTS", 3).await;
    app.process("helper", json!({})).await;
    let contacts = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|n| json!({ "name": format!("c{n}"), "thread": "helper", "description": "helps" }))
            .collect()
    };
    let create = |count: usize| {
        app.post(
            "/threads",
            json!({ "kind": "process", "contacts": contacts(count) }),
        )
    };
    let refused = create(4).await.expect_problem(422, "unprocessable");
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("contacts of a thread"),
        "{refused}"
    );
    let made = create(3).await.expect(201);
    assert_eq!(
        made["contacts"].as_array().unwrap().len(),
        3,
        "control: as many as there may be"
    );
});

// The limit of threads counts those that have not ended, whoever makes them and through whichever server.
on_sqlite!(
    the_limit_of_threads_of_a_space_holds_at_every_door,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            |request| request.thread == "p" && request.is_decision(),
            call("wait", json!({ "from": null, "timeout_s": null })),
        );
        let (app, beside) = doors(medium, &stub, "THINKD_TEST_LIMITS__THREADS", 5).await;
        app.process("p", json!({})).await;
        let bodies: Vec<Value> = (0..12)
            .map(|n| json!({ "label": format!("c{n}"), "kind": "conversation" }))
            .collect();
        let replies = at_once(posts(&app, beside.as_ref(), "/threads", &bodies)).await;
        assert_eq!(
            (
                with_status(&replies, 201).len(),
                with_status(&replies, 422).len()
            ),
            (4, 8),
            "{replies:?}"
        );
        let told = with_status(&replies, 422)[0]["detail"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(told.contains("threads in a space"), "{told}");
        // A first message makes a conversation, too; one that is there takes messages as ever.
        let refused = app
            .post("/threads/new/messages", json!({ "text": "hi" }))
            .await
            .expect_problem(422, "unprocessable");
        assert!(
            refused["detail"]
                .as_str()
                .unwrap()
                .contains("threads in a space"),
            "{refused}"
        );
        app.get("/threads/new")
            .await
            .expect_problem(404, "not-found");
        let there = with_status(&replies, 201)[0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(said(&app.tell_in(&there, "hi").await[0]), "ok: hi");
        // A pipeline's run is a thread; and a mind may make none either.
        app.post(
            "/pipelines/summary",
            json!({ "input": { "thread": there } }),
        )
        .await
        .expect_problem(422, "unprocessable");
        stub.clear();
        stub.script(
            at(&there),
            [
                call("spawn_thread", json!({ "label": "x", "payload": "work" })),
                reply("done"),
            ],
        );
        assert_eq!(said(&app.tell_in(&there, "spawn").await[0]), "done");
        let log = app.log().await;
        assert!(
            log.iter()
                .any(|event| event.to_string().contains("threads") && has(event, "failure")),
            "{}",
            story(&log)
        );
        // One that ends makes room for one more.
        app.post(&format!("/threads/{there}/end"), json!({}))
            .await
            .expect(200);
        app.post("/threads/new/messages", json!({ "text": "hi" }))
            .await
            .expect(202);
        app.post("/threads/newer/messages", json!({ "text": "hi" }))
            .await
            .expect_problem(422, "unprocessable");
    }
);

/// An answer with so many calls of one tool, in one piece: in small ones it would take the stub half a minute to send.
fn flood(calls: usize) -> Answer {
    let look = |n: usize| json!({ "key": format!("k{n}") }).to_string();
    let function = |n: usize| json!({ "name": "state_get", "arguments": look(n) });
    let call = |n: usize| json!({ "id": format!("call_{n}"), "type": "function", "function": function(n) });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": Vec::from_iter((0..calls).map(call)) });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "tool_calls" });
    raw(
        json!({ "id": "flood", "object": "chat.completion", "created": 1, "choices": [choice] })
            .to_string()
            .into_bytes(),
    )
}

// What one answer leaves in the log is bounded by what the turn may do, not by what the model writes.
on_sqlite!(
    of_an_answer_with_thousands_of_tool_calls_only_those_the_turn_may_make_are_stored,
    |medium| {
        let stub = Stub::start().await;
        stub.script(decision, [flood(5_000), reply("I shall be brief.")]);
        let app = App::start(medium, &stub).await;
        app.tell("go").await;
        let log = app.log().await;
        assert!(log.len() < 100, "{} events", log.len());
        let results = with(&log, &["result", "tool:state_get"]);
        let refused: Vec<bool> = results
            .iter()
            .map(|event| said(event).contains("turn.max_tool_calls"))
            .collect();
        assert_eq!(
            refused,
            [[false; 32].as_slice(), &[true]].concat(),
            "as many as may run, and the first that may not"
        );
        let told = one(&log, &["failure", "budget", "core"]);
        assert!(
            said(told).contains("5000 tool calls")
                && said(told).contains("4967 of them were left out"),
            "{told}"
        );
        assert!(said(told).contains("turn.max_tool_calls"), "{told}");
        let record = one(&log, &["call:decision"]);
        assert_eq!(
            (
                record["payload"]["calls"].as_array().unwrap().len(),
                &record["payload"]["calls_made"]
            ),
            (33, &json!(5_000))
        );
        assert_eq!(
            one(&log, &["turn", "ended"])["payload"]["outcome"],
            "failed"
        );
        // The next turn is as any other, and its model reads what became of the calls.
        assert_eq!(said(&app.tell("go on").await[0]), "I shall be brief.");
        assert!(
            stub.nth(1, decision)
                .await
                .says("4967 of them were left out")
        );
        // Control: what stays within the limit is neither cut nor told of.
        stub.script(decision, [flood(32)]);
        let before = app.log().await.len();
        app.tell("as many as there may be").await;
        let log = app.log().await.split_off(before);
        assert_eq!(with(&log, &["result", "tool:state_get"]).len(), 32);
        assert!(
            with(&log, &["failure", "core"]).is_empty(),
            "{}",
            story(&log)
        );
        envelope::check_log(&app.log().await);
    }
);

on_sqlite!(
    of_a_voices_answer_with_thousands_of_tool_calls_only_those_it_may_make_are_stored,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            voice("a"),
            [flood(3), flood(5_000), text("That was too much.")],
        );
        let app = Setup::new(medium, &stub)
            .voices(&["a"])
            .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 60_000)
            .start()
            .await;
        assert_eq!(said(&app.tell("go").await[0]), "ok: go");
        let log = app.log().await;
        assert!(log.len() < 110, "{} events", log.len());
        let results = with(&log, &["result", "tool:state_get", "submodule:a"]);
        let refused: Vec<bool> = results
            .iter()
            .map(|event| said(event).contains("turn.max_tool_calls"))
            .collect();
        assert_eq!(
            refused,
            [[false; 32].as_slice(), &[true]].concat(),
            "three of its first answer, and 29 of the second"
        );
        let told = one(&log, &["failure", "budget", "core"]);
        assert!(
            said(told).contains("submodule:a made 5000 tool calls"),
            "{told}"
        );
        assert!(
            said(told).contains("4970 of them were left out")
                && said(told).contains("turn.max_tool_calls"),
            "{told}"
        );
        // It is told, and may still speak.
        assert!(
            stub.nth(2, voice("a"))
                .await
                .says("4970 of them were left out")
        );
        assert!(
            log.iter()
                .any(|event| has(event, "submodule:a") && said(event) == "That was too much."),
            "{}",
            story(&log)
        );
        let records = with(&log, &["call:submodule:a"]);
        let made: Vec<_> = records
            .iter()
            .map(|r| (&r["payload"]["calls"], &r["payload"]["calls_made"]))
            .collect();
        assert_eq!(
            made[..3],
            [
                (&json!(3), &Value::Null),
                (&json!(30), &json!(5_000)),
                (&json!(0), &Value::Null)
            ]
        );
        envelope::check_log(&log);
    }
);
