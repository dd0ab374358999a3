//! The inputs of a turn are shown to each voice and the decision, regardless of the number of
//! inputs that wait, their age, and later inputs.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::views::{all_exact, size, too_long};
use kit::*;

/// Entries after the log: the question, the positions that it is about, a voice's own prompt.
const TAIL: usize = 4096;

/// So many messages, long and short ones, come while a turn hangs. The model takes prompts with `takes` bytes of the log.
async fn flooded(medium: Medium, bytes: usize, takes: usize) -> (App, Stub) {
    const MESSAGES: usize = 150;
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(decision, [reply("first").held(&gate)]);
    let fits = move |request: &Request| size(&request.last()) <= takes + TAIL;
    stub.on(move |request| !fits(request), too_long());
    stub.on(decision, reply("heard"));
    stub.on(any, text("hm"));
    let setup = Setup::new(medium, &stub)
        .voices(&["critic"])
        .env("THINKD_HISTORY__BYTES", bytes);
    let app = setup
        .env("THINKD_LIMITS__WAITING_INPUTS", 1000)
        .start()
        .await;
    let mut socket = app.socket().await;
    app.say_in("main", "begin").await;
    stub.request(decision).await;
    let mut sent = Vec::new();
    for n in 0..MESSAGES {
        let words = "words ".repeat(if n % 10 == 0 { 800 } else { 60 });
        sent.push(seq(&app
            .say_in("main", &format!("message {n} {words}"))
            .await["events"][0]));
    }
    gate.open();
    let last = |e: &Value| {
        has(e, "turn")
            && has(e, "ended")
            && e["payload"]["handled"].as_i64() >= sent.last().copied()
    };
    socket.event("the end of the last turn", last).await;
    let log = app.log().await;
    let decided: Vec<_> = stub
        .all(decision)
        .into_iter()
        .filter(|it| fits(it))
        .skip(1)
        .collect();
    assert_eq!(
        with(&log, &["response"]).len(),
        decided.len() + 1,
        "a reply for every batch: {}",
        story(&log)
    );
    let heard: Vec<_> = stub
        .all(Request::is_comment)
        .into_iter()
        .filter(|it| fits(it))
        .skip(1)
        .collect();
    for requests in [&decided, &heard] {
        let batches: Vec<i64> = requests
            .iter()
            .flat_map(|request| request.batch())
            .collect();
        assert_eq!(batches, sent, "each is new once, in order");
        for request in requests.iter() {
            let batch = request.batch();
            let shown = request.seqs();
            assert!(
                batch.iter().all(|seq| shown.contains(seq)),
                "{batch:?} in {shown:?}"
            );
        }
        for n in 0..MESSAGES {
            assert!(
                requests
                    .iter()
                    .any(|request| request.says(&format!("message {n} words"))),
                "message {n}"
            );
        }
    }
    (app, stub)
}

on_sqlite!(
    however_many_messages_wait_each_is_shown_in_a_prompt_of_its_size,
    |medium| {
        let (app, _stub) = flooded(medium, 16_384, 16_384).await;
        assert_eq!(
            with(&app.log().await, &["failure", "model"]),
            Vec::<&Value>::new()
        );
        all_exact(&app).await;
    }
);

// What is configured is more than the model takes: half of it holds the batch, too.
on_sqlite!(
    however_many_messages_wait_each_is_shown_in_half_a_prompt,
    |medium| {
        let (app, _stub) = flooded(medium, 32_768, 16_384).await;
        let log = app.log().await;
        let told = with(&log, &["failure", "model"]);
        assert!(
            !told.is_empty()
                && told
                    .iter()
                    .all(|event| said(event).contains("more than its model takes")),
            "{}",
            story(&log)
        );
        all_exact(&app).await;
    }
);

// A turn that does much: what it is about is there to its end, and so is the newest that it did.
on_sqlite!(
    a_turn_that_does_much_sees_what_it_is_about_and_what_it_did_last,
    |medium| {
        const ROUNDS: usize = 12;
        let stub = Stub::start().await;
        let gate = Gate::new();
        let notes = |round: usize| {
            let note = |n: usize| {
                let content = format!("round {round}, note {n}: {}", "on and on ".repeat(35));
                json!({ "key": format!("key-{round}-{n}"), "content": content, "related_keys": [] })
            };
            (1..5).fold(call("state_put", note(0)), |answer, n| {
                answer.and("state_put", note(n))
            })
        };
        stub.script(decision, [reply("first").held(&gate)]);
        stub.on(|request| size(&request.last()) > 8192 + TAIL, too_long());
        stub.script(decision, (0..ROUNDS).map(notes).chain([reply("done")]));
        let setup = Setup::new(medium, &stub).env("THINKD_HISTORY__BYTES", 8192);
        let setup = setup
            .env("THINKD_TURN__MAX_ROUNDS", 30)
            .env("THINKD_TURN__MAX_TOOL_CALLS", 200);
        let app = setup.env("THINKD_BUDGET__MODEL_CALLS", 60).start().await;
        let mut socket = app.socket().await;
        app.say_in("main", "begin").await;
        stub.request(decision).await;
        for n in 0..5 {
            app.say_in("main", &format!("message {n} {}", "words ".repeat(300)))
                .await;
        }
        gate.open();
        socket
            .event("the reply", |e| has(e, "response") && said(e) == "done")
            .await;
        let asked = stub.all(decision);
        assert_eq!(asked.len(), ROUNDS + 2, "{}", story(&app.log().await));
        for (round, request) in asked.iter().enumerate().skip(1) {
            assert!(
                (0..5).all(|n| request.says(&format!("message {n} words"))),
                "round {round}: {request:?}"
            );
            let newest = round
                .checked_sub(2)
                .is_none_or(|before| request.says(&format!("round {before}, note 4")));
            assert!(newest, "round {round}: {request:?}");
        }
        let last = asked.last().unwrap();
        assert!(
            last.says("round 11, note 4") && !last.says("round 0, note 0"),
            "{last:?}"
        );
        assert_eq!(
            last.last().matches("entries are left out").count(),
            1,
            "and it says so: {last:?}"
        );
        assert_eq!(
            with(&app.log().await, &["failure", "model"]),
            Vec::<&Value>::new()
        );
        all_exact(&app).await;
    }
);

// A window of time hides what is old, but never what is to be decided: the server was down, or a turn took long.
on_sqlite!(what_is_new_is_shown_however_old_it_is, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(decision, [reply("first").held(&gate)]);
    let app = Setup::new(medium, &stub)
        .voices(&["critic"])
        .env("THINKD_HISTORY__WINDOW_S", 1)
        .start()
        .await;
    let mut socket = app.socket().await;
    app.say_in("main", "begin").await;
    stub.request(decision).await;
    let waits = seq(&app.say_in("main", "I am waiting").await["events"][0]);
    // Time itself is what is tested.
    tokio::time::sleep(ms(1300)).await;
    gate.open();
    socket
        .event("its turn", |e| {
            has(e, "ended") && e["payload"]["handled"].as_i64() >= Some(waits)
        })
        .await;
    let new = move |request: &Request| request.batch() == [waits];
    for request in [
        stub.nth(0, move |it| it.is_decision() && new(it)).await,
        stub.nth(0, move |it| it.is_voice() && new(it)).await,
    ] {
        assert!(
            request.seqs().contains(&waits) && request.says("I am waiting"),
            "{request:?}"
        );
        assert!(
            !request.says(": begin"),
            "control: the window holds: {request:?}"
        );
    }
    all_exact(&app).await;
});

// Who waits for one thread is woken by it, however much else has come before.
on_sqlite!(
    a_wait_ends_however_much_waits_before_what_ends_it,
    |medium| {
        let stub = Stub::start().await;
        let asleep = || call("wait", json!({ "from": null, "timeout_s": null }));
        stub.script(
            at("p"),
            [call("wait", json!({ "from": "b", "timeout_s": null }))],
        );
        stub.on(at("p"), asleep());
        let app = Setup::new(medium, &stub)
            .env("THINKD_HISTORY__BYTES", 4096)
            .start()
            .await;
        let mut socket = app.socket().await;
        app.process("b", json!({})).await;
        app.process(
            "p",
            json!({ "contacts": [{ "name": "b", "thread": "b", "description": "b" }] }),
        )
        .await;
        app.say_in("p", "begin").await;
        socket
            .event("the wait", |e| e["thread"] == "p" && has(e, "ended"))
            .await;
        let mut sent = Vec::new();
        for n in 0..40 {
            sent.push(seq(
                &app.say_in("p", &format!("number {n}")).await["events"][0],
            ));
        }
        let connect = call(
            "connect",
            json!({ "name": "p", "thread": "p", "description": "waits for me" }),
        );
        let send = connect.and("send", json!({ "to": "p", "text": "here I am" }));
        stub.script(
            at("b"),
            [send.and("wait", json!({ "from": null, "timeout_s": null }))],
        );
        app.say_in("b", "write to p").await;
        let message = socket
            .event("b's message", |e| e["thread"] == "p" && has(e, "message"))
            .await;
        sent.push(seq(&message));
        let last = |e: &Value| {
            e["thread"] == "p"
                && has(e, "ended")
                && e["payload"]["handled"].as_i64() >= sent.last().copied()
        };
        socket.event("the turn about it", last).await;
        let batches: Vec<i64> = stub
            .all(at("p"))
            .iter()
            .skip(1)
            .flat_map(|request| request.batch())
            .collect();
        assert_eq!(batches, sent, "each once, in order");
        assert!(
            stub.count(at("p")) > 2,
            "control: they are too many for one turn"
        );
        assert!(
            stub.all(at("p"))
                .iter()
                .skip(1)
                .all(|it| it.batch().iter().all(|seq| it.seqs().contains(seq)))
        );
    }
);

// Two messages wait for a place to work at; the first was cancelled before the second was said.
on_sqlite!(a_message_behind_a_cancel_has_a_turn_of_its_own, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(at("busy"), [reply("busy").held(&gate)]);
    stub.on(at("t"), reply("the answer"));
    let setup = Setup::new(medium, &stub).env("THINKD_TEST_RUNTIME__WORKERS", 1);
    let app = setup.start().await;
    app.say_in("busy", "go").await;
    stub.request(at("busy")).await;
    app.say_in("t", "one").await;
    let cancelled = app.post("/threads/t/cancel", json!({})).await;
    assert_eq!(cancelled.expect(200)["cancelled"], true);
    app.say_in("t", "two").await;
    let mut socket = app.socket().await;
    gate.open();
    let over = |e: &Value| e["thread"] == "t" && has(e, "turn") && has(e, "ended");
    let mut outcomes = Vec::new();
    for _ in 0..2 {
        let end = socket.event("the end of a turn", over).await;
        outcomes.push(end["payload"]["outcome"].clone());
    }
    let log = app.public_log().await;
    assert_eq!(outcomes, ["cancelled", "done"], "{}", story(&log));
    let reply = with(&log, &["response"]);
    let of_t: Vec<_> = reply.iter().filter(|it| it["thread"] == "t").collect();
    assert_eq!(of_t.len(), 1, "{}", story(&log));
    assert_eq!(stub.count(at("t")), 1, "the first was never asked");
});
