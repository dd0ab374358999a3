//! Messages that join the turn that runs: its next call of the decision sees them, once, in the log and over every crash; without a
//! further call they wait like any other. Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};
use thinkd_words::id::fresh;

use kit::one as only;
use kit::*;

mod door;

/// Says something with an effect of its own on the running turn; its id and its seq.
async fn say_as(app: &App, policy: &str, text: &str) -> (String, i64) {
    let id = fresh().to_string();
    let said = json!({ "text": text, "policy": policy, "event_id": id });
    let ack = app.post("/threads/main/messages", said).await.expect(202);
    (id, ack["events"][0]["seq"].as_i64().unwrap())
}

async fn steer(app: &App, text: &str) -> (String, i64) {
    say_as(app, "steer", text).await
}

/// A round that brings something back, so that another one follows.
fn look() -> Answer {
    call("state_get", json!({ "key": "nothing" }))
}

async fn at_rest(app: &App) {
    app.until("rest", async || {
        let row = app.get("/threads/main").await.expect(200);
        row["status"] == "idle" && row["queued"] == 0
    })
    .await;
}

fn batches(log: &[Value]) -> Vec<Value> {
    let started = with(log, &["turn", "started"]).into_iter();
    started.map(|it| it["payload"]["batch"].clone()).collect()
}

/// The log is whole, each message has had one turn, and rows and views are as it says.
async fn is_true(app: &mut App) {
    let log = app.log().await;
    envelope::check_log(&log);
    envelope::check_turns(&log, "main");
    for call in with(&log, &["call:decision"]) {
        let id = call["event_id"].as_str().unwrap();
        let view = app.get(&format!("/prompt-views/{id}")).await.expect(200);
        assert_eq!(view["exact"], true, "{view}");
    }
    app.stop().await;
    let (code, words) = app::ran(
        &app.folder(),
        &[("DATABASE_URL", app.database())],
        &["rebuild", "--check"],
    )
    .await;
    assert_eq!(code, Some(0), "{words}");
}

on_both!(
    the_next_call_of_the_running_turn_sees_it_and_no_turn_of_its_own_follows,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(decision, [look().held(&gate), reply("Both.")]);
        let mut app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        let one = app.say_in("main", "one").await["events"][0]["seq"].clone();
        stub.request(decision).await;
        let (_, two) = steer(&app, "two").await;
        let (_, three) = steer(&app, "three").await;
        assert_eq!(app.get("/threads/main").await.expect(200)["queued"], 2);
        gate.open();
        socket.turn_ended().await;
        let asked = stub.nth(1, decision).await;
        let about = vec![one.as_i64().unwrap(), two, three];
        assert_eq!(asked.batch(), about, "{}", asked.text());
        assert!(asked.says("two") && !asked.says("its own turn"));
        // All that the first call was shown stands at the beginning of the second.
        let first = stub.nth(0, decision).await.last();
        let (shown, _) = first.rsplit_once("To be decided now").unwrap();
        assert!(
            asked.last().starts_with(shown.trim_end()),
            "{}",
            asked.text()
        );
        at_rest(&app).await;
        let log = app.log().await;
        let steered = &only(&log, &["turn", "steered"])["payload"];
        assert_eq!(
            (
                &steered["turn"],
                &steered["round"],
                &steered["inputs"],
                &steered["handled"]
            ),
            (
                &json!(1),
                &json!(1),
                &json!([[two, two], [three, three]]),
                &json!(three)
            )
        );
        assert_eq!(only(&log, &["turn", "ended"])["payload"]["handled"], three);
        assert_eq!(stub.count(decision), 2);
        let turns = app.get("/threads/main/turns").await.expect(200);
        assert_eq!(turns["items"][0]["joined"], json!([two, three]));
        is_true(&mut app).await;
    }
);

on_both!(
    without_a_further_call_it_waits_for_a_turn_of_its_own,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(
            decision,
            [
                reply("First.").held(&gate),
                reply("Second."),
                reply("Third."),
            ],
        );
        let mut app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.say_in("main", "one").await;
        stub.request(decision).await;
        let (_, two) = steer(&app, "two").await;
        gate.open();
        socket.turn_ended().await;
        socket.turn_ended().await;
        // Nothing runs: it begins a turn.
        let said = json!({ "text": "three", "policy": "steer" });
        at_rest(&app).await;
        let ack = app.post("/threads/main/messages", said).await.expect(202);
        assert_eq!(ack["status"], "started");
        socket.turn_ended().await;
        let log = app.log().await;
        assert_eq!(
            batches(&log)[1..],
            [json!([two]), json!([ack["events"][0]["seq"]])]
        );
        assert!(
            with(&log, &["turn", "steered"]).is_empty(),
            "{}",
            story(&log)
        );
        is_true(&mut app).await;
    }
);

on_both!(
    messages_before_it_keep_their_turn_and_it_has_none_twice,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let answers = [
            look().held(&gate),
            reply("Three."),
            reply("Two."),
            reply("Four."),
        ];
        stub.script(decision, answers);
        let mut app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        let one = app.say_in("main", "one").await["events"][0]["seq"].clone();
        stub.request(decision).await;
        let (_, two) = say_as(&app, "enqueue", "two").await;
        let (_, three) = steer(&app, "three").await;
        gate.open();
        socket.turn_ended().await;
        socket.turn_ended().await;
        at_rest(&app).await;
        let asked = stub.nth(1, decision).await;
        assert_eq!(asked.batch(), [one.as_i64().unwrap(), three]);
        assert!(
            asked.says(&format!("its own turn: #{two}.")),
            "{}",
            asked.text()
        );
        let asked = stub.nth(2, decision).await;
        assert_eq!(asked.batch(), [two], "{}", asked.text());
        assert!(!asked.says("its own turn"), "{}", asked.text());
        let four = app.say_in("main", "four").await["events"][0]["seq"].clone();
        socket.turn_ended().await;
        at_rest(&app).await;
        let log = app.log().await;
        let begun: Vec<Value> = batches(&log)
            .into_iter()
            .filter(|it| *it != json!([]))
            .collect();
        assert_eq!(
            begun,
            [json!([one]), json!([two]), json!([four])],
            "{}",
            story(&log)
        );
        assert_eq!(stub.count(decision), 4);
        is_true(&mut app).await;
    }
);

on_both!(it_is_taken_back_until_a_turn_has_seen_it, |medium| {
    let stub = Stub::start().await;
    let gates = [Gate::new(), Gate::new()];
    let answers = [
        look().held(&gates[0]),
        look().held(&gates[1]),
        reply("Done."),
    ];
    stub.script(decision, answers);
    let mut app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.say_in("main", "one").await;
    stub.request(decision).await;
    let (id, _) = steer(&app, "the password is swordfish").await;
    app.delete(&format!("/threads/main/inputs/{id}"))
        .await
        .expect(204);
    let (seen, two) = steer(&app, "two").await;
    gates[0].open();
    let asked = stub.nth(1, decision).await;
    assert!(
        asked.says("two") && !asked.says("swordfish"),
        "{}",
        asked.text()
    );
    let seen = format!("/threads/main/inputs/{seen}");
    app.delete(&seen).await.expect_problem(409, "input-taken");
    gates[1].open();
    socket.turn_ended().await;
    app.delete(&seen).await.expect_problem(409, "input-taken");
    let log = app.log().await;
    assert_eq!(
        only(&log, &["turn", "steered"])["payload"]["inputs"],
        json!([[two, two]])
    );
    is_true(&mut app).await;
});

on_both!(a_kill_neither_loses_it_nor_shows_it_twice, |medium| {
    let stub = Stub::start().await;
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let held = |at: usize| look().held(&gates[at]);
    // The first call is cut off by a kill, and so is the call that sees the message.
    stub.script(decision, [held(0), held(1), held(2), reply("Both.")]);
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TEST_RUNTIME__LEASE_MS", 400)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 50)
        .start()
        .await;
    let one = app.say_in("main", "one").await["events"][0]["seq"].clone();
    let one = one.as_i64().unwrap();
    stub.request(decision).await;
    let (_, two) = steer(&app, "two").await;
    app.restart().await;
    let asked = stub.nth(1, decision).await;
    assert_eq!(asked.batch(), [one, two], "{}", asked.text());
    app.restart().await;
    let asked = stub.nth(2, decision).await;
    assert_eq!(asked.batch(), [one, two], "{}", asked.text());
    gates[2].open();
    app.until("the reply", async || {
        !with(&app.log().await, &["response"]).is_empty()
    })
    .await;
    at_rest(&app).await;
    let log = app.log().await;
    // As long as nothing of the turn was stored, both are in its batch.
    let joined = with(&log, &["turn", "steered"]);
    let batch = batches(&log);
    assert_eq!(batch.len(), 1, "{}", story(&log));
    match joined.as_slice() {
        [] => assert_eq!(batch[0], json!([one, two])),
        [joined] => assert_eq!(joined["payload"]["inputs"], json!([[two, two]])),
        _ => panic!("{}", story(&log)),
    }
    is_true(&mut app).await;
});

on_both!(
    a_kill_between_taking_it_in_and_the_call_changes_nothing,
    |medium| {
        let stub = Stub::start().await;
        let gates = [Gate::new(), Gate::new()];
        stub.script(
            decision,
            [
                look().held(&gates[0]),
                look().held(&gates[1]),
                reply("Both."),
            ],
        );
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TEST_RUNTIME__LEASE_MS", 400)
            .env("THINKD_TEST_RUNTIME__SCAN_MS", 50)
            .start()
            .await;
        app.say_in("main", "one").await;
        stub.request(decision).await;
        let (_, two) = steer(&app, "two").await;
        gates[0].open();
        stub.nth(1, decision).await;
        app.restart().await;
        let asked = stub.nth(2, decision).await;
        assert!(asked.batch().contains(&two), "{}", asked.text());
        at_rest(&app).await;
        let log = app.log().await;
        assert_eq!(only(&log, &["turn", "steered"])["payload"]["round"], 1);
        assert_eq!(batches(&log).len(), 1, "{}", story(&log));
        is_true(&mut app).await;
    }
);

on_both!(an_interrupt_leaves_what_joined_to_the_next_turn, |medium| {
    let stub = Stub::start().await;
    let gates = [Gate::new(), Gate::new()];
    stub.script(
        decision,
        [
            look().held(&gates[0]),
            look().held(&gates[1]),
            reply("All."),
        ],
    );
    let mut app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    let one = app.say_in("main", "one").await["events"][0]["seq"].clone();
    stub.request(decision).await;
    let (_, two) = steer(&app, "two").await;
    gates[0].open();
    stub.nth(1, decision).await;
    let (_, three) = say_as(&app, "interrupt", "three").await;
    socket.turn_ended().await;
    socket.turn_ended().await;
    let log = app.log().await;
    assert_eq!(
        batches(&log)[1],
        json!([one, two, three]),
        "{}",
        story(&log)
    );
    is_true(&mut app).await;
});

on_both!(a_thread_whose_policy_it_is_takes_messages_so, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(
        decision,
        [look().held(&gate), reply("Both."), reply("Day.")],
    );
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    let thread = app.conversation(json!({ "policy": "steer" })).await;
    app.say_in(&thread, "one").await;
    stub.request(decision).await;
    let two = app.say_in(&thread, "two").await["events"][0]["seq"].clone();
    let path = format!("/threads/{thread}/messages");
    let refused = json!({ "text": "three", "policy": "reject" });
    app.post(&path, refused).await.expect_problem(409, "busy");
    // A trigger has a turn of its own.
    socket
        .ask(json!({ "type": "trigger", "event": "day", "thread": thread }))
        .await;
    gate.open();
    socket.turn_ended().await;
    socket.turn_ended().await;
    let log = app.log().await;
    assert_eq!(
        only(&log, &["turn", "steered"])["payload"]["inputs"],
        json!([[two, two]])
    );
    assert_eq!(batches(&log).len(), 2, "{}", story(&log));
    let wrong = json!({ "text": "x", "policy": "hurry" });
    app.post(&path, wrong)
        .await
        .expect_problem(400, "invalid-frame");
});

on_both!(
    a_fork_in_its_place_goes_back_before_the_turn_that_saw_it,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let answers = [
            reply("Zero."),
            look().held(&gate),
            reply("Both."),
            reply("Forked."),
        ];
        stub.script(decision, answers);
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.say_in("main", "nought").await;
        socket.turn_ended().await;
        app.say_in("main", "one").await;
        stub.nth(1, decision).await;
        let (id, _) = steer(&app, "two, and a half").await;
        gate.open();
        socket.turn_ended().await;
        let wish = json!({ "instead_of": id, "message": { "text": "three" } });
        let made = app.post("/threads/main/fork", wish).await.expect(201);
        let asked = stub.nth(3, decision).await;
        assert!(asked.says("one") && asked.says("three"), "{}", asked.text());
        assert!(
            !asked.says("and a half") && !asked.says("Both."),
            "{}",
            asked.text()
        );
        // Up to the end of the turn the fork has both.
        let thread = made["thread"].as_str().unwrap().to_owned();
        socket.turn_ended().await;
        let whole = app.post("/threads/main/fork", json!({})).await.expect(201);
        let path = format!(
            "/events?thread={}&tags=input",
            whole["thread"].as_str().unwrap()
        );
        assert!(app.get(&path).await.text.contains("and a half"));
        let forked = app
            .get(&format!("/events?thread={thread}&tags=input"))
            .await;
        assert!(!forked.text.contains("and a half"), "{}", forked.text);
    }
);

#[tokio::test]
async fn it_reaches_a_turn_that_another_server_runs() {
    let Some(medium) = Medium::migrated().await else {
        return;
    };
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(decision, [look().held(&gate), reply("Both.")]);
    let mut a = Setup::new(medium, &stub).start().await;
    let b = a.beside().await;
    let mut socket = a.socket().await;
    a.say_in("main", "one").await;
    stub.request(decision).await;
    let (_, two) = steer(&b, "two").await;
    gate.open();
    socket.turn_ended().await;
    let asked = stub.nth(1, decision).await;
    assert!(asked.batch().contains(&two), "{}", asked.text());
    drop(b);
    is_true(&mut a).await;
}

on_both!(
    voices_comment_on_what_joins_before_the_decision_sees_it,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(decision, [look().held(&gate), reply("Both.")]);
        stub.on_each(voice("critic"), |request| {
            text(&format!("on {:?}", request.batch()))
        });
        let mut app = Setup::new(medium, &stub).voices(&["critic"]).start().await;
        let mut socket = app.socket().await;
        let one = app.say_in("main", "one").await["events"][0]["seq"].clone();
        stub.request(decision).await;
        let (_, two) = steer(&app, "two").await;
        gate.open();
        socket.turn_ended().await;
        let asked = stub.nth(1, decision).await;
        assert!(asked.says(&format!("on [{one}]")), "{}", asked.text());
        assert!(asked.says(&format!("on [{two}]")), "{}", asked.text());
        is_true(&mut app).await;
    }
);

#[tokio::test]
async fn another_server_takes_over_a_turn_that_a_message_has_joined() {
    let Some(medium) = Medium::migrated().await else {
        return;
    };
    let stub = Stub::start().await;
    let gate = Gate::new();
    // The first call ends, the second has the message and is cut off by the kill.
    stub.script(
        decision,
        [look().held(&gate), look().never(), reply("Both.")],
    );
    let mut a = Setup::new(medium, &stub)
        .env("THINKD_TEST_RUNTIME__LEASE_MS", 400)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 50)
        .start()
        .await;
    let mut b = a.beside().await;
    a.say_in("main", "one").await;
    stub.request(decision).await;
    let (_, two) = steer(&a, "two").await;
    gate.open();
    assert!(stub.nth(1, decision).await.batch().contains(&two));
    a.kill();
    let asked = stub.nth(2, decision).await;
    assert!(asked.batch().contains(&two), "{}", asked.text());
    assert_eq!(
        asked.entries().iter().filter(|it| it.text == "two").count(),
        1
    );
    at_rest(&b).await;
    let log = b.log().await;
    let joined = with(&log, &["turn", "steered"]);
    assert_eq!(joined.len(), 1, "{}", story(&log));
    assert_eq!(joined[0]["payload"]["inputs"], json!([[two, two]]));
    let said_two = with(&log, &["input"])
        .into_iter()
        .filter(|it| said(it) == "two");
    assert_eq!(
        (said_two.count(), batches(&log).len()),
        (1, 1),
        "{}",
        story(&log)
    );
    assert_eq!(with(&log, &["response"]).len(), 1);
    is_true(&mut b).await;
}
