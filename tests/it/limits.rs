//! How many there may be, decided where it cannot be overtaken: inside the append. Every `on_both!` is two `#[tokio::test]`s, one
//! a database.

use serde_json::{Value, json};

use crate::support::*;

/// Requests sent at the same time: how many were answered with each status, and the bodies.
async fn at_once(requests: Vec<reqwest::RequestBuilder>) -> Vec<Reply> {
    let sent: Vec<_> = requests.into_iter().map(|request| tokio::spawn(http::send(request))).collect();
    let mut replies = Vec::new();
    for reply in sent {
        replies.push(reply.await.unwrap());
    }
    replies
}

fn with_status(replies: &[Reply], status: u16) -> Vec<&Value> {
    replies.iter().filter(|reply| reply.status == status).map(|reply| &reply.body).collect()
}

/// This server, and another one on the same database where there can be one.
async fn doors(medium: Medium, stub: &Stub, name: &str, value: u32) -> (App, Option<App>) {
    let shared = medium.is_shared();
    let app = Setup::new(medium, stub).env(name, value).start().await;
    let beside = if shared { Some(app.beside().await) } else { None };
    (app, beside)
}

fn posts(app: &App, beside: Option<&App>, path: &str, bodies: &[Value]) -> Vec<reqwest::RequestBuilder> {
    let door = |number: usize| beside.filter(|_| number % 2 == 1).unwrap_or(app);
    bodies.iter().enumerate().map(|(number, body)| door(number).request("POST", path).json(body)).collect()
}

on_both!(of_parallel_creates_of_one_submodule_one_wins_and_the_others_are_told, |medium| {
    let stub = Stub::start().await;
    let (app, beside) = doors(medium, &stub, "THINKD_LIMITS__SUBMODULES", 32).await;
    for round in 0..5 {
        let name = format!("voice-{round}");
        let bodies: Vec<Value> = (0..6).map(|n| json!({ "name": name, "prompt": format!("prompt {n}") })).collect();
        let replies = at_once(posts(&app, beside.as_ref(), "/submodules", &bodies)).await;
        let made = with_status(&replies, 201);
        assert_eq!((made.len(), with_status(&replies, 422).len()), (1, 5), "{replies:?}");
        // What it was told is what there is.
        let found = app.get("/submodules").await.expect(200);
        let found = found["items"].as_array().unwrap().iter().find(|voice| voice["name"] == json!(name)).unwrap();
        assert_eq!(found["prompt"], made[0]["prompt"]);
    }
    assert_eq!(with(&app.public_log().await, &["set:submodule"]).len(), 5, "one event each");
    // Removed at the same time: one removes it.
    let removes = |app: &App| app.request("DELETE", "/submodules/voice-0");
    let removes = (0..4).map(|n| removes(beside.as_ref().filter(|_| n % 2 == 1).unwrap_or(&app))).collect();
    let replies = at_once(removes).await;
    assert_eq!((with_status(&replies, 204).len(), with_status(&replies, 404).len()), (1, 3), "{replies:?}");
});

on_both!(the_limit_of_submodules_holds_when_they_are_created_at_the_same_time, |medium| {
    let stub = Stub::start().await;
    let (app, beside) = doors(medium, &stub, "THINKD_LIMITS__SUBMODULES", 4).await;
    let bodies: Vec<Value> = (0..12).map(|n| json!({ "name": format!("v{n}"), "prompt": "p" })).collect();
    let replies = at_once(posts(&app, beside.as_ref(), "/submodules", &bodies)).await;
    assert_eq!((with_status(&replies, 201).len(), with_status(&replies, 422).len()), (4, 8), "{replies:?}");
    assert_eq!(app.get("/submodules").await.expect(200)["items"].as_array().unwrap().len(), 4);
});

// Who asks for an end again, or at another server, finds it ended: its parent hears of it once, and has one subthread less.
on_both!(a_thread_that_is_ended_from_many_sides_at_once_ends_once, |medium| {
    let stub = Stub::start().await;
    let (app, beside) = doors(medium, &stub, "THINKD_BUDGET__SUBTHREADS", 6).await;
    app.process("p", json!({})).await;
    for label in ["kept", "a", "b", "c"] {
        app.post("/threads", json!({ "label": label, "parent": "p", "kind": "process" })).await.expect(201);
    }
    for label in ["a", "b", "c"] {
        let ends = posts(&app, beside.as_ref(), &format!("/threads/p.{label}/end"), &vec![json!({}); 6]);
        at_once(ends).await;
        let log = app.public_log().await;
        let told = with(&log, &["thread-ended"]).into_iter().filter(|e| e["payload"]["id"] == format!("p.{label}"));
        assert_eq!(told.count(), 1, "{label}");
    }
    assert_eq!(app.get("/threads/p").await.expect(200)["budget"]["subthreads"], 1);
});

// What is made below a thread while that ends is refused, or ends with it: nothing lives on that nobody would end.
on_both!(nothing_lives_on_below_a_thread_that_was_ended_meanwhile, |medium| {
    let stub = Stub::start().await;
    let (app, beside) = doors(medium, &stub, "THINKD_BUDGET__SUBTHREADS", 20).await;
    for round in 0..4 {
        let parent = format!("p{round}");
        app.process(&parent, json!({})).await;
        let bodies: Vec<Value> =
            (0..8).map(|n| json!({ "label": format!("c{n}"), "parent": parent, "kind": "process" })).collect();
        let mut requests = posts(&app, beside.as_ref(), "/threads", &bodies);
        requests.insert(4, app.request("POST", &format!("/threads/{parent}/end")).json(&json!({})));
        at_once(requests).await;
        let below = app.pages(&format!("/threads?parent={parent}&")).await;
        let alive = below.iter().filter(|row| row["status"] != "stopped").count();
        assert_eq!(alive, 0, "{below:?}");
    }
});

on_both!(the_limit_of_subthreads_holds_when_they_are_created_at_the_same_time, |medium| {
    let stub = Stub::start().await;
    let (app, beside) = doors(medium, &stub, "THINKD_BUDGET__SUBTHREADS", 3).await;
    app.process("p", json!({})).await;
    let bodies: Vec<Value> =
        (0..12).map(|n| json!({ "label": format!("c{n}"), "parent": "p", "kind": "process" })).collect();
    let replies = at_once(posts(&app, beside.as_ref(), "/threads", &bodies)).await;
    assert_eq!((with_status(&replies, 201).len(), with_status(&replies, 422).len()), (3, 9), "{replies:?}");
});

on_both!(the_limit_of_contacts_holds_at_creation, |medium| {
    let stub = Stub::start().await;
    let (app, _) = doors(medium, &stub, "THINKD_BUDGET__CONTACTS", 3).await;
    app.process("helper", json!({})).await;
    let contacts = |count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({ "name": format!("c{n}"), "thread": "helper", "description": "helps" })).collect()
    };
    let create = |count: usize| app.post("/threads", json!({ "kind": "process", "contacts": contacts(count) }));
    let refused = create(4).await.expect_problem(422, "unprocessable");
    assert!(refused["detail"].as_str().unwrap().contains("budget.contacts"), "{refused}");
    let made = create(3).await.expect(201);
    assert_eq!(made["contacts"].as_array().unwrap().len(), 3, "control: as many as there may be");
});

// The limit of threads counts those that have not ended, whoever makes them and through whichever server.
on_both!(the_limit_of_threads_of_a_space_holds_at_every_door, |medium| {
    let stub = Stub::start().await;
    stub.on(
        |request| request.thread == "p" && request.is_decision(),
        call("wait", json!({ "from": null, "timeout_s": null })),
    );
    let (app, beside) = doors(medium, &stub, "THINKD_LIMITS__THREADS", 5).await;
    app.process("p", json!({})).await;
    let bodies: Vec<Value> = (0..12).map(|n| json!({ "label": format!("c{n}"), "kind": "conversation" })).collect();
    let replies = at_once(posts(&app, beside.as_ref(), "/threads", &bodies)).await;
    assert_eq!((with_status(&replies, 201).len(), with_status(&replies, 422).len()), (4, 8), "{replies:?}");
    let told = with_status(&replies, 422)[0]["detail"].as_str().unwrap().to_owned();
    assert!(told.contains("limits.threads"), "{told}");
    // A first message makes a conversation, too; one that is there takes messages as ever.
    let refused = app.post("/threads/new/messages", json!({ "text": "hi" })).await.expect_problem(422, "unprocessable");
    assert!(refused["detail"].as_str().unwrap().contains("limits.threads"), "{refused}");
    app.get("/threads/new").await.expect_problem(404, "not-found");
    let there = with_status(&replies, 201)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(said(&app.tell_in(&there, "hi").await[0]), "ok: hi");
    // A pipeline's run is a thread; and a mind may make none either.
    app.post("/pipelines/summary", json!({ "input": { "thread": there } })).await.expect_problem(422, "unprocessable");
    stub.clear();
    stub.script(at(&there), [call("spawn_thread", json!({ "label": "x", "payload": "work" })), reply("done")]);
    assert_eq!(said(&app.tell_in(&there, "spawn").await[0]), "done");
    let log = app.log().await;
    assert!(
        log.iter().any(|event| event.to_string().contains("limits.threads") && has(event, "failure")),
        "{}",
        story(&log)
    );
    // One that ends makes room for one more.
    app.post(&format!("/threads/{there}/end"), json!({})).await.expect(200);
    app.post("/threads/new/messages", json!({ "text": "hi" })).await.expect(202);
    app.post("/threads/newer/messages", json!({ "text": "hi" })).await.expect_problem(422, "unprocessable");
});
