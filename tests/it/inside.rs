//! Observation of a mind from outside: `debug` events beside the others, the parts at work, the
//! outcomes of a thread's turns.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

/// The frames that a turn brings, up to its end.
async fn frames_of_a_turn(socket: &mut Socket) -> Vec<Value> {
    let mut frames = Vec::new();
    loop {
        let frame = socket.next().await.unwrap();
        let is_end = frame["type"] == "status" && frame["status"] == "idle";
        frames.push(frame);
        if is_end {
            return frames;
        }
    }
}

fn of_type<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames
        .iter()
        .filter(|frame| frame["type"] == kind)
        .collect()
}

// The records of model calls stand where they belong, in the socket, in the stream and in pages; who does not ask sees none.
on_both!(
    debug_events_stand_beside_the_others_where_they_are_asked_for,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub)
            .voices(&["owl"])
            .env("THINKD_TURN__FOLLOW_UP", false)
            .start()
            .await;
        app.tell("hello").await;
        let log = app.log().await;
        let all: Vec<i64> = log.iter().map(seq).collect();
        let public: Vec<i64> = log
            .iter()
            .filter(|event| !has(event, "debug"))
            .map(seq)
            .collect();
        assert!(all.len() > public.len(), "{}", story(&log));

        for (debug, expected) in [
            ("&debug=true", &all),
            ("&debug=false", &public),
            ("", &public),
        ] {
            let page = app
                .get(&format!("/events?order=asc&limit=500{debug}"))
                .await
                .expect(200);
            assert_eq!(
                page["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(seq)
                    .collect::<Vec<_>>(),
                *expected,
                "{debug}"
            );
        }
        // A filter by tags is one, with `debug` or without.
        let page = app.get("/events?tags=input&debug=true").await.expect(200);
        assert!(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .all(|event| has(event, "input")),
            "{page}"
        );
        app.get("/events?debug=yes")
            .await
            .expect_problem(400, "invalid-parameter");

        for (debug, expected) in [(true, &all), (false, &public)] {
            let mut socket = app.socket().await;
            socket
                .send(json!({ "type": "subscribe", "after": 0, "debug": debug }))
                .await;
            let mut seen = Vec::new();
            loop {
                let frame = socket.next().await.unwrap();
                match frame["type"].as_str() {
                    Some("event") => seen.push(seq(&frame["event"])),
                    Some("caught_up") => break,
                    _ => {}
                }
            }
            assert_eq!(seen, *expected, "debug: {debug}");
        }
    }
);

// Who watches sees each turn and each call begin, with how long it may take, and end, also where it fails; others hear nothing of it.
on_both!(
    who_is_at_work_is_told_to_those_who_ask_for_debug,
    |medium| {
        let stub = Stub::start().await;
        stub.on(voice("broken"), status(400));
        let setup = Setup::new(medium, &stub)
            .voices(&["owl", "broken"])
            .env("THINKD_TURN__FOLLOW_UP", false);
        let app = setup
            .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 15_000)
            .start()
            .await;
        let mut watching = app.socket().await;
        watching
            .ask(json!({ "type": "subscribe", "debug": true }))
            .await;
        let mut others = app.socket().await;
        others.ask(json!({ "type": "subscribe" })).await;

        app.tell("hello").await;
        let frames = frames_of_a_turn(&mut watching).await;
        let work = of_type(&frames, "work");
        let phases = |module: Option<&str>| -> Vec<&str> {
            let of = work
                .iter()
                .filter(|frame| frame["module"].as_str() == module && frame["turn"] == 1);
            of.map(|frame| frame["phase"].as_str().unwrap()).collect()
        };
        for module in [
            None,
            Some("submodule:owl"),
            Some("submodule:broken"),
            Some("decision"),
        ] {
            assert_eq!(phases(module), ["started", "ended"], "{module:?}: {work:?}");
        }
        let turn = work.iter().find(|frame| frame["module"].is_null()).unwrap();
        assert_eq!(
            (&turn["limit_ms"], &turn["thread"]),
            (&json!(15_000), &json!("main"))
        );
        let call = work
            .iter()
            .find(|frame| frame["module"] == "decision")
            .unwrap();
        assert_eq!(
            (&call["purpose"], &call["round"]),
            (&json!("decide"), &json!(0))
        );
        // The turn frames its calls.
        let places: Vec<usize> = (0..work.len())
            .filter(|index| work[*index]["module"].is_null())
            .collect();
        assert_eq!(places, [0, work.len() - 1], "{work:?}");

        let frames = frames_of_a_turn(&mut others).await;
        assert!(of_type(&frames, "work").is_empty(), "{frames:?}");
        // What the hint said, the log keeps: how long the voices were waited for.
        let log = app.public_log().await;
        assert_eq!(
            one(&log, &["turn", "started"])["payload"]["deadline_ms"],
            15_000
        );
    }
);

// A call that is stopped has ended, too.
#[tokio::test]
async fn work_that_is_stopped_ends() {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(decision, reply("at last").held(&gate));
    let app = App::start(Medium::sqlite(), &stub).await;
    let mut socket = app.socket().await;
    socket
        .ask(json!({ "type": "subscribe", "debug": true }))
        .await;
    socket.say("hello").await;
    let begun = |frame: &Value| {
        frame["type"] == "work" && frame["module"] == "decision" && frame["phase"] == "started"
    };
    socket.wait("the beginning of the call", begun).await;
    app.post("/threads/main/cancel", json!({}))
        .await
        .expect(200);
    for module in [json!("decision"), Value::Null] {
        let ended = |frame: &Value| {
            frame["type"] == "work" && frame["module"] == module && frame["phase"] == "ended"
        };
        socket.wait("the end of the work", ended).await;
    }
}

// The role tells a page which acts it can offer.
#[tokio::test]
async fn hello_says_what_the_credential_may_do() {
    let stub = Stub::start().await;
    let roles = ["viewer", "member", "operator", "admin"];
    let keys: String = roles
        .map(|role| format!("[[keys]]\nkey = \"the-long-key-of-the-{role}\"\nspace = \"default\"\nrole = \"{role}\"\n"))
        .concat();
    let app = Setup::new(Medium::sqlite(), &stub)
        .file("thinkd.toml", &keys)
        .start_bare()
        .await;
    for role in roles {
        let mut socket = Socket::connect(&format!("ws://{}/ws", app.address)).await;
        socket
            .send(json!({ "type": "auth", "token": format!("the-long-key-of-the-{role}") }))
            .await;
        let hello = socket.wait("hello", |frame| frame["type"] == "hello").await;
        assert_eq!(hello["role"], role, "{hello}");
    }
    let open = App::start(Medium::sqlite(), &stub).await;
    let mut socket = Socket::connect(&format!("ws://{}/ws", open.address)).await;
    assert_eq!(
        socket.next().await.unwrap()["role"],
        "admin",
        "where nobody needs a key, everybody may do everything"
    );
}

/// The turns of a thread, page by page.
async fn turns(app: &App, thread: &str, limit: usize) -> Vec<Value> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = app
            .get(&format!("/threads/{thread}/turns?limit={limit}{cursor}"))
            .await
            .expect(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= limit, "{page}");
        all.extend(items.iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

fn outcomes(turn: &Value) -> Vec<(&str, &str)> {
    let voices = turn["voices"].as_array().unwrap().iter();
    voices
        .map(|voice| {
            (
                voice["name"].as_str().unwrap(),
                voice["outcome"].as_str().unwrap_or("nothing yet"),
            )
        })
        .collect()
}

// Each voice by what became of it; counts and places are those of the log, whatever the size of the page.
on_both!(turns_say_what_became_of_voices_and_calls, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(voice("mute"), text("PASS"));
    stub.on(voice("broken"), status(400));
    stub.on(voice("slow"), text("at last").held(&gate));
    let setup = Setup::new(medium, &stub)
        .voices(&["broken", "mute", "owl", "slow"])
        .env("THINKD_TURN__FOLLOW_UP", false);
    let app = setup
        .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 700)
        .start()
        .await;
    app.tell("one").await;
    let running = turns(&app, "main", 50).await;
    let expected = [
        ("broken", "failed"),
        ("mute", "passed"),
        ("owl", "spoke"),
        ("slow", "late"),
    ];
    assert_eq!(outcomes(&running[0]), expected, "{running:#?}");
    let mut socket = app.socket().await;
    socket.ask(json!({ "type": "subscribe", "after": 0 })).await;
    gate.open();
    let late = socket
        .wait("what comes late", |frame| has(&frame["event"], "late"))
        .await;
    app.tell("two").await;
    app.tell("three").await;

    let log = app.log().await;
    let all = turns(&app, "main", 50).await;
    assert_eq!(
        all.iter()
            .map(|turn| turn["turn"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        [3, 2, 1]
    );
    for limit in [1, 2, 3] {
        assert_eq!(turns(&app, "main", limit).await, all, "pages of {limit}");
    }
    let first = &all[2];
    assert_eq!(outcomes(first), expected);
    assert!(
        first["last"].as_i64() >= late["event"]["seq"].as_i64(),
        "what comes late counts: {first}"
    );
    let of = |number: i64| {
        log.iter()
            .filter(move |event| event["payload"]["turn"] == number)
    };
    for (turn, number) in all.iter().zip([3, 2, 1]) {
        assert_eq!(turn["first"].as_i64(), of(number).map(seq).min());
        assert_eq!(
            turn["calls"],
            of(number).filter(|event| has(event, "debug")).count()
        );
        assert_eq!(
            turn["rounds"],
            of(number)
                .filter(|event| has(event, "call:decision"))
                .count()
        );
        assert_eq!(
            (&turn["replies"], &turn["outcome"], &turn["deadline_ms"]),
            (&json!(1), &json!("done"), &json!(700))
        );
        let input: u64 = of(number)
            .filter_map(|event| event["payload"]["usage"]["input_tokens"].as_u64())
            .sum();
        assert_eq!(
            turn["tokens"]["input"].as_u64().unwrap_or(0),
            input,
            "{turn}"
        );
    }
    app.get("/threads/nobody/turns")
        .await
        .expect_problem(404, "not-found");
    app.get("/threads/main/turns?cursor=AAAAAAAAAAAAAAAAAAAAAAAA")
        .await
        .expect_problem(400, "invalid-cursor");
});
