//! Thinking in sub-steps: one prompt for each thing that is still to be decided, and the state of the step in the log.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

fn nothing(tool: &str) -> Answer {
    call(tool, json!({}))
}

fn set_wait(wait: bool) -> Answer {
    call(
        "set_wait",
        json!({ "wait": wait, "from": null, "timeout_s": null }),
    )
}

/// The states of the steps of a thread, as its log tells them.
fn states(log: &[Value], thread: &str) -> Vec<Value> {
    let state = |event: &Value| {
        let started = has(event, "started").then(|| event["payload"]["step"].clone());
        started.or_else(|| has(event, "set:step").then(|| event["payload"]["change"].clone()))
    };
    log.iter()
        .filter(|event| event["thread"] == thread)
        .filter_map(state)
        .collect()
}

// D0.18 D0.19 D0.20 D0.21 D0.22 D0.26 D0.27 D0.28 D0.30 D0.32 D0.33 D0.34 T0.19.
on_sqlite!(
    d0_22_a_step_is_complete_when_every_field_is_filled,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("p"),
            [
                call("send", json!({ "to": ["friend"], "text": "one" })),
                call("send", json!({ "to": ["friend"], "text": "two" })),
                nothing("sends_done"),
                call(
                    "connect",
                    json!({ "name": "other", "thread": "other", "description": "new here" }),
                ),
                nothing("contacts_done"),
                set_wait(true),
            ],
        );
        stub.on(
            at("friend"),
            call("wait", json!({ "from": null, "timeout_s": null })),
        );
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.process("friend", json!({})).await;
        app.process("other", json!({})).await;
        let contact =
            json!({ "name": "friend", "thread": "friend", "description": "likes to be told" });
        app.process("p", json!({ "substeps": true, "contacts": [contact] }))
            .await;
        app.say_in("p", "begin").await;
        socket
            .event("the step's end", |e| e["thread"] == "p" && has(e, "ended"))
            .await;
        let requests = stub.all(at("p"));
        assert_eq!(requests.len(), 6, "several calls under one step number");
        let log = app.public_log().await;
        let p: Vec<Value> = log.iter().filter(|e| e["thread"] == "p").cloned().collect();
        assert_eq!(with(&p, &["turn", "started"]).len(), 1);
        // The state, from nothing to everything; each action changes the field it is about and no other.
        let states = states(&log, "p");
        assert_eq!(
            states[0],
            json!({ "operation": null, "sends": [], "sends_done": false, "connect": [], "disconnect": [],
            "contacts_done": false, "wait": null })
        );
        let changed: Vec<Vec<&str>> = states
            .windows(2)
            .map(|pair| {
                pair[0]
                    .as_object()
                    .unwrap()
                    .keys()
                    .filter(|key| pair[0][*key] != pair[1][*key])
                    .map(String::as_str)
                    .collect()
            })
            .collect();
        assert_eq!(
            changed,
            [
                ["sends"],
                ["sends"],
                ["sends_done"],
                ["connect"],
                ["contacts_done"],
                ["wait"]
            ]
        );
        assert_eq!(states[6]["sends"].as_array().unwrap().len(), 2);
        assert_eq!(states[6]["wait"], json!({ "wait": true, "from": null }));
        // Each prompt asks for what is missing; a report of the last action is in it, and the contacts with what they are.
        let asks: Vec<(bool, bool, bool)> = requests
            .iter()
            .map(|r| {
                (
                    r.last().contains("Which messages"),
                    r.last().contains("add or remove"),
                    r.last().contains("What comes after"),
                )
            })
            .collect();
        let sends = (true, false, false);
        let contacts = (false, true, false);
        let wait = (false, false, true);
        assert_eq!(asks, [sends, sends, sends, contacts, contacts, wait]);
        assert!(
            requests[0].last().contains("likes to be told"),
            "D0.40: {}",
            requests[0].last()
        );
        for (request, tool) in
            requests[1..]
                .iter()
                .zip(["send", "send", "sends_done", "connect", "contacts_done"])
        {
            let report = request
                .entries()
                .into_iter()
                .rfind(|e| e.who.starts_with("result"))
                .unwrap();
            assert!(
                report.who.contains(&format!("result {tool} ")),
                "{report:?}"
            );
        }
        // What was decided happens with the end, once.
        let told: Vec<&str> = log
            .iter()
            .filter(|e| e["thread"] == "friend" && has(e, "message"))
            .map(said)
            .collect();
        assert_eq!(told, ["one", "two"]);
        let thread = app.get("/threads/p").await.expect(200);
        assert_eq!(thread["contacts"].as_array().unwrap().len(), 2);
        assert_eq!(thread["status"], "waiting");
    }
);

// D0.29 D0.31 T0.19 T0.20: an error leaves the state as it was and is in the next prompt; the current operation chooses the prompt.
on_sqlite!(d0_29_an_error_changes_nothing_and_is_shown, |medium| {
    let stub = Stub::start().await;
    stub.script(
        at("p"),
        [
            call("send", json!({ "to": ["nobody"], "text": "hello?" })),
            call("focus", json!({ "operation": "contacts" })),
            call("disconnect", json!({ "name": "nobody" })),
            nothing("contacts_done"),
            nothing("sends_done"),
            set_wait(false),
            call("terminate", json!({ "reason": "enough" })),
        ],
    );
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.process("p", json!({ "substeps": true })).await;
    app.say_in("p", "begin").await;
    socket
        .event("its end", |e| {
            e["thread"] == "p" && has(e, "ended") && e["payload"]["turn"] == 2
        })
        .await;
    let requests = stub.all(at("p"));
    let log = app.public_log().await;
    let states = states(&log, "p");
    assert_eq!(
        states[1]["operation"],
        "contacts",
        "the first action changed nothing: {}",
        story(&log)
    );
    let errors = with(&log, &["result", "failure"]);
    assert_eq!(errors.len(), 2, "{}", story(&log));
    for (error, request) in errors.iter().zip([&requests[1], &requests[3]]) {
        assert!(request.seqs().contains(&seq(error)), "{request:?}");
    }
    assert!(
        requests[2].last().contains("add or remove")
            && !requests[2].last().contains("Which messages")
    );
    assert!(
        requests[4].last().contains("Which messages"),
        "what is open is asked for: {}",
        requests[4].last()
    );
    // Going on was chosen: the next step began by itself, with nothing decided; and it may end the thread.
    let second = states
        .iter()
        .rposition(|state| state["sends_done"] == false)
        .unwrap();
    assert_eq!(states[second], states[0]);
    assert_eq!(app.get("/threads/p").await.expect(200)["status"], "done");
});

// D0.25 T0.17: with immediate commit a contact added in one sub-step is a recipient in the next.
on_sqlite!(
    d0_25_with_immediate_commit_a_sub_step_sees_what_the_one_before_did,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(
            at("p"),
            [
                call(
                    "connect",
                    json!({ "name": "e", "thread": "e", "description": "new" }),
                ),
                call("send", json!({ "to": ["e"], "text": "hello" })),
                nothing("sends_done").held(&gate),
                nothing("contacts_done"),
                set_wait(true),
            ],
        );
        stub.on(
            at("e"),
            call("wait", json!({ "from": null, "timeout_s": null })),
        );
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.process("e", json!({})).await;
        app.process("p", json!({ "substeps": true, "commit": "immediate" }))
            .await;
        app.say_in("p", "begin").await;
        socket
            .event("the message, before the step's end", |e| {
                e["thread"] == "e" && has(e, "message")
            })
            .await;
        assert_eq!(
            app.get("/threads/p").await.expect(200)["contacts"][0]["thread"],
            "e"
        );
        gate.open();
        socket
            .event("the step's end", |e| e["thread"] == "p" && has(e, "ended"))
            .await;
        let log = app.public_log().await;
        assert_eq!(
            log.iter()
                .filter(|e| e["thread"] == "e" && has(e, "message"))
                .count(),
            1,
            "once: {}",
            story(&log)
        );
    }
);

// D3.27: a step that a crash cuts off goes on where it was, with the same state.
on_sqlite!(a_step_goes_on_after_a_crash, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(
        at("p"),
        [nothing("sends_done"), nothing("contacts_done").held(&gate)],
    );
    let mut app = Setup::new(medium, &stub).start().await;
    app.process("p", json!({ "substeps": true })).await;
    app.say_in("p", "begin").await;
    stub.nth(1, at("p")).await;
    app.kill();
    stub.clear();
    stub.script(at("p"), [nothing("contacts_done"), set_wait(true)]);
    app.start_again().await;
    let mut socket = app.socket().await;
    socket
        .subscribe(json!({ "type": "subscribe", "after": 0 }))
        .await;
    socket
        .event("the step's end", |e| e["thread"] == "p" && has(e, "ended"))
        .await;
    let requests = stub.all(at("p"));
    assert_eq!(requests.len(), 4);
    assert_eq!(
        requests[2].last(),
        requests[1].last(),
        "the same question again"
    );
    let states = states(&app.public_log().await, "p");
    assert_eq!(states.len(), 4, "{states:?}");
});

// D0.18 D0.32: a step has as many answers as its budget of calls allows, one message each if it likes.
on_sqlite!(
    d0_32_a_step_has_as_many_answers_as_its_budget_of_calls,
    |medium| {
        let stub = Stub::start().await;
        let send = |text: String| call("send", json!({ "to": ["friend"], "text": text }));
        stub.script(
            at("p"),
            (0..12).map(|number| send(format!("message {number}"))),
        );
        stub.script(
            at("p"),
            [
                nothing("sends_done"),
                nothing("contacts_done"),
                set_wait(true),
            ],
        );
        // The control: this one never comes to its end, and the budget does.
        stub.on(at("endless"), send("and on".into()));
        stub.on(
            at("friend"),
            call("wait", json!({ "from": null, "timeout_s": null })),
        );
        let setup = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__MODEL_CALLS", 16)
            .env("THINKD_TURN__MAX_TOOL_CALLS", 4);
        let app = setup.start().await;
        let mut socket = app.socket().await;
        app.process("friend", json!({})).await;
        let contact =
            json!({ "name": "friend", "thread": "friend", "description": "likes to be told" });
        for label in ["p", "endless"] {
            app.process(label, json!({ "substeps": true, "contacts": [contact] }))
                .await;
            app.say_in(label, "begin").await;
            let ended = socket
                .event("the step's end", |e| {
                    e["thread"] == label && has(e, "ended")
                })
                .await;
            assert_eq!(
                ended["payload"]["outcome"],
                if label == "p" { "done" } else { "failed" },
                "{ended}"
            );
        }
        assert_eq!((stub.count(at("p")), stub.count(at("endless"))), (15, 16));
        let log = app.public_log().await;
        let told: Vec<&str> = log
            .iter()
            .filter(|e| e["thread"] == "friend" && has(e, "message"))
            .map(said)
            .collect();
        assert_eq!(
            told,
            (0..12)
                .map(|number| format!("message {number}"))
                .collect::<Vec<_>>()
        );
        let limit = one(&log, &["failure", "budget", "decision"]);
        assert!(
            limit["thread"] == "endless" && said(limit).contains("budget.model_calls"),
            "{limit}"
        );
    }
);
