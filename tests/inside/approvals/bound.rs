//! The call that a verdict is bound to, and its fate while it runs: another tool, a crash, a cancel, newer words, a limit.

use serde_json::{Value, json};

use super::{paid, pays, proposed, result, say, setup};
use kit::*;

const PROMPT: &str = "---\nabout: pay\n---\nPay somebody.\n\n## amount\n\n## to\n";

/// Has its payments be slow: each waits while there is a file `slow`.
fn slow(app: &App, is: bool) {
    let file = app.folder().join("slow");
    if is {
        std::fs::write(file, "").unwrap()
    } else {
        std::fs::remove_file(file).unwrap()
    }
}

async fn has_paid(app: &App) {
    polled("a payment", async || !paid(app).is_empty()).await;
}

async fn approve(app: &App, id: &str) {
    say(app, id, json!({ "verdict": "approve" }))
        .await
        .expect(200);
}

/// The number of the turn in which a thread's granted call started.
fn started_in(log: &[Value], thread: &str) -> Value {
    let started = with(log, &["approval", "started"])
        .into_iter()
        .find(|it| it["thread"] == thread);
    started.map_or(Value::Null, |it| it["payload"]["turn"].clone())
}

// What a person has seen of a tool is part of what they say yes to.
on_both!(what_was_approved_of_another_tool_is_not_run, |medium| {
    let stub = Stub::start().await;
    stub.on(voice("owl"), text("Hm."));
    let setup = setup(medium, &stub)
        .file("prompts/tools/pay.md", PROMPT)
        .env("THINKD_PROMPTS", "prompts");
    let mut app = setup.voices(&["owl"]).start().await;
    let busy = async |app: &App, thread: &str, amount: u64| {
        let id = proposed(app, &stub, thread, amount).await;
        stub.script(at(thread), [reply("busy").never()]);
        app.say_in(thread, "are you there?").await;
        // What a voice said is stored, and with it that the turn has begun: the verdict waits for the next one.
        stub.nth(2, at(thread)).await;
        approve(app, &id).await;
    };
    busy(&app, "control", 3).await;
    app.restart().await;
    result(&app, "control").await;
    assert_eq!(
        paid(&app),
        ["control c1.0.0 bob 3"],
        "the same tool runs after a restart"
    );
    let log = app.public_log().await;
    assert_eq!(
        started_in(&log, "control"),
        3,
        "in the turn that has its verdict:\n{}",
        story(&log)
    );
    let open = proposed(&app, &stub, "a", 1).await;
    busy(&app, "b", 2).await;
    app.kill();
    std::fs::write(
        app.folder().join("prompts/tools/pay.md"),
        PROMPT.replace("somebody", "anybody at all"),
    )
    .unwrap();
    app.start_again().await;
    let refused = result(&app, "b").await;
    assert_eq!(
        refused["payload"]["problem"]["detail"]["reason"], "tool_changed",
        "{refused}"
    );
    say(&app, &open, json!({ "verdict": "approve" }))
        .await
        .expect_problem(409, "tool-changed");
    say(
        &app,
        &open,
        json!({ "verdict": "edit", "arguments": { "to": "ann", "amount": 1 } }),
    )
    .await
    .expect_problem(409, "tool-changed");
    assert_eq!(app.pages("/approvals?").await.len(), 1, "it stays open");
    say(&app, &open, json!({ "verdict": "reject" }))
        .await
        .expect(200);
    assert_eq!(paid(&app).len(), 1);
});

// The call has its result, and the turn that ran it has not ended: who takes that up does not run it again.
on_both!(
    a_granted_call_with_a_result_is_over_although_its_turn_is_not,
    |medium| {
        let stub = Stub::start().await;
        let mut app = setup(medium, &stub).start().await;
        let id = proposed(&app, &stub, "a", 12).await;
        stub.script(at("a"), [reply("thinking").never(), reply("It is paid.")]);
        approve(&app, &id).await;
        stub.nth(2, at("a")).await;
        app.restart().await;
        app.until("the reply", async || {
            with(&app.public_log().await, &["response"])
                .iter()
                .any(|it| said(it) == "It is paid.")
        })
        .await;
        result(&app, "a").await;
        assert_eq!(paid(&app).len(), 1);
    }
);

// A turn that is told to stop does not leave anybody in doubt about what it ran: the result says so, and stands in the turn.
on_both!(
    a_granted_call_that_a_cancel_cut_off_has_its_result_in_its_turn,
    |medium| {
        let stub = Stub::start().await;
        let app = setup(medium, &stub).start().await;
        let id = proposed(&app, &stub, "a", 12).await;
        slow(&app, true);
        approve(&app, &id).await;
        has_paid(&app).await;
        app.post("/threads/a/cancel", json!({})).await.expect(200);
        let came = result(&app, "a").await;
        assert_eq!(came["payload"]["kind"], "outcome_unknown", "{came}");
        assert!(
            said(&came).contains("the turn was cancelled while pay ran"),
            "{came}"
        );
        let log = app
            .until_some("the end of the turn", async || {
                let log = app.public_log().await;
                let is_over = with(&log, &["turn", "ended"]).len() == 2;
                is_over.then_some(log)
            })
            .await;
        let over = with(&log, &["turn", "ended"])[1];
        assert!(
            over["payload"]["outcome"] == "cancelled" && seq(over) > seq(&came),
            "{}",
            story(&log)
        );
        say(&app, &id, json!({ "verdict": "approve" }))
            .await
            .expect_problem(409, "already-settled");
        assert_eq!(paid(&app).len(), 1);
    }
);

// Newer words replace what the mind thinks, not what a person has let run.
on_both!(newer_words_do_not_cut_off_what_a_person_let_run, |medium| {
    let stub = Stub::start().await;
    let app = setup(medium, &stub).start().await;
    app.conversation(json!({ "label": "a", "policy": "interrupt" }))
        .await;
    let id = proposed(&app, &stub, "a", 12).await;
    slow(&app, true);
    approve(&app, &id).await;
    has_paid(&app).await;
    app.say_in("a", "how far are you?").await;
    // The words are there, and the call still runs.
    let log = app.public_log().await;
    assert!(
        with(&log, &["result", "tool:pay"]).is_empty(),
        "{}",
        story(&log)
    );
    slow(&app, false);
    assert_eq!(
        result(&app, "a").await["payload"]["output"],
        json!({ "paid": 12 })
    );
    assert_eq!(paid(&app).len(), 1);
});

// What a person let run is run as any other call is, limits included.
on_both!(a_granted_call_has_no_more_time_than_others, |medium| {
    let stub = Stub::start().await;
    let app = setup(medium, &stub)
        .env("THINKD_TOOLS__TIMEOUT_MS", 1000)
        .start()
        .await;
    let id = proposed(&app, &stub, "a", 12).await;
    slow(&app, true);
    approve(&app, &id).await;
    let came = result(&app, "a").await;
    assert_eq!(came["payload"]["kind"], "timeout", "{came}");
});

// A thread that waits for somebody is told what a person said, whoever it waits for.
on_both!(
    a_verdict_and_an_answer_reach_a_thread_that_waits_for_somebody_else,
    |medium| {
        let stub = Stub::start().await;
        let app = setup(medium, &stub).start().await;
        app.process("bob", json!({ "prompt": "Listen." })).await;
        let contacts = json!([{ "name": "bob", "thread": "bob", "description": "listens" }]);
        let wait = json!({ "from": "bob", "timeout_s": null });
        let asks = json!({ "question": "Which?", "choices": null, "schema": null, "who": null, "expires_s": null });
        stub.script(at("payer"), [pays(12).and("wait", wait.clone())]);
        stub.script(
            at("asker"),
            [call("ask_user", asks).and("wait", wait.clone())],
        );
        for (label, page) in [("payer", "approvals"), ("asker", "questions")] {
            app.process(label, json!({ "prompt": "Go on.", "contacts": contacts }))
                .await;
            stub.on(at(label), call("wait", wait.clone()));
            app.say_in(label, "go on").await;
            app.until("its wait", async || {
                app.get(&format!("/threads/{label}")).await.expect(200)["status"] == "waiting"
            })
            .await;
            assert_eq!(app.pages(&format!("/{page}?")).await.len(), 1, "{label}");
        }
        let approval = app.pages("/approvals?").await[0]["approval_id"]
            .as_str()
            .unwrap()
            .to_owned();
        approve(&app, &approval).await;
        assert_eq!(
            result(&app, "payer").await["payload"]["output"],
            json!({ "paid": 12 })
        );
        let question = app.pages("/questions?").await[0]["question_id"]
            .as_str()
            .unwrap()
            .to_owned();
        app.post(&format!("/questions/{question}"), json!({ "text": "blue" }))
            .await
            .expect(204);
        assert!(stub.nth(1, at("asker")).await.says("blue"));
    }
);

// A call waits for seven days.
#[tokio::test]
async fn a_call_waits_for_a_week() {
    let stub = Stub::start().await;
    let file = "[tools]\napproval = [\"pay\", \"state_put\"]\n";
    let app = setup(Medium::sqlite(), &stub)
        .file("thinkd.toml", file)
        .start()
        .await;
    let put = json!({ "key": "k", "content": "c", "related_keys": [] });
    stub.script(
        at("a"),
        [pays(1).and("state_put", put), reply("I have asked.")],
    );
    app.tell_in("a", "pay bob").await;
    let micros = |text: &Value| {
        thinkd::words::time::Timestamp::parse(text.as_str().unwrap())
            .unwrap()
            .micros()
    };
    for pending in with(&app.public_log().await, &["approval", "pending"]) {
        let waits =
            (micros(&pending["payload"]["expires_at"]) - micros(&pending["ts"])) / 1_000_000;
        let expected: i64 = 7 * 24 * 3600;
        assert!(
            (expected - 30..=expected).contains(&waits),
            "{waits} s of {expected}: {pending}"
        );
    }
    assert_eq!(app.pages("/approvals?").await.len(), 2);
}

// A call may have happened that was begun before anybody marked its tool: it is not proposed anew as if it had not.
on_both!(
    a_call_that_was_begun_before_its_tool_was_marked_is_not_proposed_anew,
    |medium| {
        let stub = Stub::start().await;
        let mut app = setup(medium, &stub).file("thinkd.toml", "").start().await;
        slow(&app, true);
        stub.script(at("a"), [pays(12)]);
        app.say_in("a", "pay bob").await;
        has_paid(&app).await;
        app.kill();
        slow(&app, false);
        std::fs::write(
            app.folder().join("thinkd.toml"),
            "[tools]\napproval = [\"pay\"]\n",
        )
        .unwrap();
        app.start_again().await;
        let came = result(&app, "a").await;
        assert_eq!(came["payload"]["kind"], "outcome_unknown", "{came}");
        assert_eq!(
            (app.pages("/approvals?").await, paid(&app).len()),
            (Vec::<Value>::new(), 1)
        );
    }
);
