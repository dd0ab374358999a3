//! Tool calls that wait for a person (D4.58, D4.60). The server is this test binary, started once
//! more, with a tool that notes its starts in a file: a start in the file has happened outside.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::io::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use thinkd::pipelines::registry;
use thinkd::program::app;
use thinkd::program::settings::{Flags, Settings, environment};
use thinkd::tools::catalogue::{DECISIONS, built_in};
use thinkd::tools::tool::{CallSite, Effect, Output, Typed};
use thinkd::words::failure::Failure;

use kit::app::command;
use kit::*;

mod bound;
mod races;

const NAME: &str = "approvals::a_server_with_a_tool_that_pays";

/// Passes when it is run as a test; is a server when it is started as one.
#[test]
fn a_server_with_a_tool_that_pays() {
    if std::env::var_os("THINKD_TEST_PAY").is_none() {
        return;
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = Settings::load(&Flags::default(), &environment())
        .unwrap()
        .settings;
    app::serve(
        &settings,
        registry::built_in(),
        &built_in().with(DECISIONS, |_| Pay),
    )
    .unwrap();
}

/// Pays: writes a line to the file `paid`. While there is a file `slow` it goes on after that.
struct Pay;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Payment {
    to: String,
    amount: u64,
}

impl Typed for Pay {
    type Input = Payment;
    const NAME: &'static str = "pay";
    const PROMPT: &'static str = "---\nabout: pay\n---\nPay somebody.\n\n## amount\n\n## to\n";
    const EFFECT: Effect = Effect::Outside;

    async fn call(
        &self,
        Payment { to, amount }: Payment,
        site: &CallSite,
    ) -> Result<Output, Failure> {
        let mut paid = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open("paid")
            .unwrap();
        writeln!(paid, "{} {} {to} {amount}", site.thread, site.call_id).unwrap();
        polled("the end of a slow payment", async || {
            !std::fs::exists("slow").unwrap()
        })
        .await;
        Ok(Output::value(json!({ "paid": amount })))
    }
}

/// Returns a server with a tool `pay` that waits for a person.
fn setup(medium: Medium, stub: &Stub) -> Setup {
    let setup = Setup::new(medium, stub)
        .env("THINKD_TEST_PAY", 1)
        .file("thinkd.toml", "[tools]\napproval = [\"pay\"]\n");
    setup
        .voices(&[])
        .program(std::env::current_exe().unwrap())
        .arguments(&[NAME, "--exact", "--nocapture"])
}

fn paid(app: &App) -> Vec<String> {
    let file: PathBuf = app.folder().join("paid");
    std::fs::read_to_string(file)
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn pays(amount: u64) -> Answer {
    call("pay", json!({ "to": "bob", "amount": amount }))
}

/// Has a payment proposed; the turn ends, and the call waits. Its approval's id.
async fn proposed(app: &App, stub: &Stub, thread: &str, amount: u64) -> String {
    stub.script(at(thread), [pays(amount), reply("I have asked.")]);
    app.tell_in(thread, "pay bob").await;
    let open = app.pages(&format!("/approvals?thread={thread}&")).await;
    let of = open.iter().find(|it| it["arguments"]["amount"] == amount);
    of.unwrap_or_else(|| panic!("nothing waits: {open:?}"))["approval_id"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn say(app: &App, id: &str, body: Value) -> Reply {
    app.post(&format!("/approvals/{id}"), body).await
}

/// The result of the call behind an approval, as soon as it is there; exactly one.
async fn result(app: &App, thread: &str) -> Value {
    app.until_some("a result", async || {
        let log = app.public_log().await;
        let results = with(&log, &["result", "tool:pay"]);
        let mut own = results.iter().filter(|event| event["thread"] == *thread);
        if let Some(first) = own.next() {
            assert_eq!(own.next(), None, "two results:\n{}", story(&log));
            return Some((*first).clone());
        }
        None
    })
    .await
}

// D4.58 D4.60: the tool starts when a person has said yes, not before; the turn does not wait, and the result wakes the thread: at once, for
// the server looks for threads that wait longer than the test does.
on_both!(
    d4_58_a_marked_tool_waits_for_a_person_and_its_result_comes_with_the_verdict,
    |medium| {
        let stub = Stub::start().await;
        let app = setup(medium, &stub)
            .env("THINKD_TEST_RUNTIME__SCAN_MS", 60_000)
            .start()
            .await;
        let id = proposed(&app, &stub, "a", 12).await;
        assert_eq!(
            paid(&app),
            Vec::<String>::new(),
            "it ran before anybody said anything"
        );
        let log = app.public_log().await;
        in_order(
            &log,
            &[
                &["action", "tool:pay"],
                &["approval", "pending", "tool:pay"],
                &["turn", "ended"],
            ],
        );
        let pending = one(&log, &["approval", "pending"]);
        assert_eq!(pending["event_id"], json!(id));
        assert!(
            with(&log, &["result", "tool:pay"]).is_empty(),
            "{}",
            story(&log)
        );
        let second = stub.nth(1, at("a")).await;
        assert!(
            second.seqs().contains(&seq(pending)) && second.says("waits for a person"),
            "{}",
            second.text()
        );
        stub.script(at("a"), [reply("It is paid.")]);
        let mut socket = app.socket().await;
        socket.follow(0, json!({ "thread": "a" })).await;
        assert_eq!(
            say(
                &app,
                &id,
                json!({ "verdict": "approve", "reason": "go on" })
            )
            .await
            .expect(200)["status"],
            "granted"
        );
        assert_eq!(
            said(
                &socket
                    .event("the reply", |e| has(e, "response")
                        && said(e) == "It is paid.")
                    .await
            ),
            "It is paid."
        );
        assert_eq!(paid(&app), ["a c1.0.0 bob 12"]);
        let log = app.public_log().await;
        let steps: [&[&str]; 4] = [
            &["approval", "granted", "overrules"],
            &["turn", "started", "turn:2"],
            &["approval", "started"],
            &["result", "tool:pay"],
        ];
        in_order(&log, &steps);
        let granted = one(&log, &["approval", "granted"]);
        let result = one(&log, &["result", "tool:pay"]);
        assert_eq!(
            (&granted["payload"]["reason"], &granted["payload"]["by"]),
            (&json!("go on"), &json!("admin"))
        );
        assert_eq!(granted["source"], "user");
        assert_eq!(
            (
                &result["payload"]["output"],
                &result["payload"]["approval_id"]
            ),
            (&json!({ "paid": 12 }), &json!(id))
        );
        assert_eq!(app.pages("/approvals?").await, Vec::<Value>::new());
    }
);

// T4.54: the first verdict wins; what there never was is not found; another space's is not there.
on_both!(t4_54_the_first_verdict_is_the_only_one, |medium| {
    let stub = Stub::start().await;
    let app = setup(medium, &stub).start().await;
    let id = proposed(&app, &stub, "a", 1).await;
    say(
        &app,
        &id,
        json!({ "verdict": "reject", "reason": "too dear" }),
    )
    .await
    .expect(200);
    for body in [
        json!({ "verdict": "approve" }),
        json!({ "verdict": "deny" }),
        json!({ "verdict": "respond", "text": "no" }),
    ] {
        let problem = say(&app, &id, body)
            .await
            .expect_problem(409, "already-settled");
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("denied by admin"),
            "{problem}"
        );
    }
    let refused = result(&app, "a").await;
    assert!(
        has(&refused, "failure") && said(&refused).contains("too dear"),
        "{refused}"
    );
    assert_eq!(paid(&app), Vec::<String>::new());
    let unknown = thinkd::words::id::fresh();
    say(&app, &unknown.to_string(), json!({ "verdict": "approve" }))
        .await
        .expect_problem(404, "not-found");
    say(&app, "x", json!({ "verdict": "approve" }))
        .await
        .expect_problem(400, "invalid-id");
    let granted = proposed(&app, &stub, "b", 2).await;
    say(&app, &granted, json!({ "verdict": "grant" }))
        .await
        .expect(200);
    say(&app, &granted, json!({ "verdict": "grant" }))
        .await
        .expect_problem(409, "already-settled");
    result(&app, "b").await;
    assert_eq!(paid(&app).len(), 1);
});

// What a person writes instead of the proposed arguments is what runs, and the record has both.
on_both!(edited_arguments_are_checked_and_are_what_runs, |medium| {
    let stub = Stub::start().await;
    let app = setup(medium, &stub).start().await;
    let id = proposed(&app, &stub, "a", 12).await;
    for wrong in [
        json!({ "to": "bob" }),
        json!({ "to": "bob", "amount": "ten" }),
        json!({ "to": "bob", "amount": 1, "x": 1 }),
    ] {
        let body = json!({ "verdict": "edit", "arguments": wrong });
        say(&app, &id, body)
            .await
            .expect_problem(422, "invalid-arguments");
    }
    say(&app, &id, json!({ "verdict": "edit" }))
        .await
        .expect_problem(400, "invalid-frame");
    say(&app, &id, json!({ "verdict": "approve", "arguments": {} }))
        .await
        .expect_problem(400, "invalid-frame");
    say(&app, &id, json!({ "verdict": "respond" }))
        .await
        .expect_problem(400, "empty-input");
    say(&app, &id, json!({ "verdict": "reject", "text": "no" }))
        .await
        .expect_problem(400, "invalid-frame");
    say(&app, &id, json!({ "verdict": "perhaps" }))
        .await
        .expect_problem(400, "invalid-frame");
    assert_eq!(app.pages("/approvals?").await.len(), 1, "it stays open");
    say(
        &app,
        &id,
        json!({ "verdict": "edit", "arguments": { "amount": 3, "to": "ann" } }),
    )
    .await
    .expect(200);
    assert_eq!(
        result(&app, "a").await["payload"]["output"],
        json!({ "paid": 3 })
    );
    assert_eq!(paid(&app), ["a c1.0.0 ann 3"]);
    let log = app.public_log().await;
    assert_eq!(
        one(&log, &["approval", "pending"])["payload"]["arguments"]["amount"],
        12
    );
    let granted = one(&log, &["approval", "granted"]);
    assert_eq!(
        (
            &granted["payload"]["arguments"]["amount"],
            &granted["payload"]["edited"]
        ),
        (&json!(3), &json!(true))
    );
});

// A person may answer in the tool's place.
on_both!(what_a_person_responds_is_the_result, |medium| {
    let stub = Stub::start().await;
    let app = setup(medium, &stub).start().await;
    let id = proposed(&app, &stub, "a", 12).await;
    stub.script(at("a"), [reply("I see.")]);
    let mut socket = app.socket().await;
    socket.follow(0, json!({ "thread": "a" })).await;
    let taken = socket
        .ask(json!({ "type": "respond", "approval": id, "text": "Bob has left." }))
        .await;
    assert_eq!(taken["type"], "ack", "{taken}");
    socket
        .event("the reply", |e| has(e, "response") && said(e) == "I see.")
        .await;
    let came = result(&app, "a").await;
    assert_eq!(
        (&came["payload"]["output"], has(&came, "failure")),
        (&json!("Bob has left."), false)
    );
    assert_eq!(paid(&app), Vec::<String>::new());
    assert!(stub.all(at("a")).last().unwrap().says("Bob has left."));
});

// The frames of the socket: `approve` with arguments is an edit, `deny` a rejection.
on_both!(frames_say_yes_and_no, |medium| {
    let stub = Stub::start().await;
    let app = setup(medium, &stub).start().await;
    let yes = proposed(&app, &stub, "a", 1).await;
    let no = proposed(&app, &stub, "b", 2).await;
    let mut socket = app.socket().await;
    let wrong = json!({ "type": "approve", "approval": yes, "arguments": { "to": 1 } });
    assert_eq!(
        socket.ask(wrong).await["problem"]["type"],
        "/problems/invalid-arguments"
    );
    let arguments = json!({ "to": "ann", "amount": 7 });
    let taken = socket
        .ask(json!({ "type": "approve", "approval": yes, "arguments": arguments }))
        .await;
    assert_eq!(taken["type"], "ack", "{taken}");
    assert_eq!(
        socket
            .ask(json!({ "type": "deny", "approval": no, "reason": "no" }))
            .await["type"],
        "ack"
    );
    assert_eq!(
        socket.ask(json!({ "type": "deny", "approval": no })).await["problem"]["type"],
        "/problems/already-settled"
    );
    assert_eq!(
        result(&app, "a").await["payload"]["output"],
        json!({ "paid": 7 })
    );
    assert!(has(&result(&app, "b").await, "failure"));
    assert_eq!(paid(&app), ["a c1.0.0 ann 7"]);
});

// Nobody says anything: it counts as rejected, and the thread is told, however seldom the server looks.
on_both!(a_call_that_nobody_settles_expires, |medium| {
    let stub = Stub::start().await;
    let quick = setup(medium, &stub)
        .env("THINKD_TEST_TOOLS__APPROVAL_MS", 1000)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 60_000);
    let app = quick.start().await;
    stub.script(
        at("a"),
        [pays(12), reply("I have asked."), reply("Too bad.")],
    );
    app.tell_in("a", "pay bob").await;
    // By the log: it may come while a socket is only opened.
    app.until("the reply", async || {
        with(&app.public_log().await, &["response"])
            .iter()
            .any(|it| said(it) == "Too bad.")
    })
    .await;
    let gone = result(&app, "a").await;
    assert!(
        has(&gone, "failure") && said(&gone).contains("in time"),
        "{gone}"
    );
    let log = app.public_log().await;
    in_order(
        &log,
        &[
            &["approval", "pending"],
            &["approval", "expired", "overrules"],
            &["result", "tool:pay"],
            &["turn", "started", "turn:2"],
        ],
    );
    assert_eq!(
        one(&log, &["approval", "expired"])["source"],
        "system",
        "no person said that"
    );
    let id = one(&log, &["approval", "pending"])["event_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let problem = say(&app, &id, json!({ "verdict": "approve" }))
        .await
        .expect_problem(409, "already-settled");
    assert!(
        problem["detail"].as_str().unwrap().contains("expired"),
        "{problem}"
    );
    assert_eq!(paid(&app), Vec::<String>::new());
});

// What waits is there after a restart, and is settled once.
on_both!(what_waits_survives_a_kill, |medium| {
    let stub = Stub::start().await;
    let mut app = setup(medium, &stub).start().await;
    let id = proposed(&app, &stub, "a", 12).await;
    let before = app.pages("/approvals?").await;
    app.kill();
    app.start_again().await;
    assert_eq!(app.pages("/approvals?").await, before);
    say(&app, &id, json!({ "verdict": "approve" }))
        .await
        .expect(200);
    result(&app, "a").await;
    assert_eq!(paid(&app).len(), 1);
});

// A call that has started may have happened: after a crash it is not run again, and its caller is told so.
on_both!(
    a_granted_call_that_a_crash_cut_off_is_not_run_again,
    |medium| {
        let stub = Stub::start().await;
        let mut app = setup(medium, &stub).start().await;
        let id = proposed(&app, &stub, "a", 12).await;
        std::fs::write(app.folder().join("slow"), "").unwrap();
        say(&app, &id, json!({ "verdict": "approve" }))
            .await
            .expect(200);
        polled("its start", async || !paid(&app).is_empty()).await;
        app.kill();
        std::fs::remove_file(app.folder().join("slow")).unwrap();
        app.start_again().await;
        let came = result(&app, "a").await;
        assert_eq!(came["payload"]["kind"], "outcome_unknown", "{came}");
        assert_eq!(paid(&app).len(), 1);
        say(&app, &id, json!({ "verdict": "approve" }))
            .await
            .expect_problem(409, "already-settled");
    }
);

// The end of a thread, and a cancel, withdraw what waits: it has its result, and nobody is woken.
on_both!(
    the_end_of_a_thread_and_a_cancel_withdraw_what_waits,
    |medium| {
        let stub = Stub::start().await;
        let app = setup(medium, &stub).start().await;
        let ended = proposed(&app, &stub, "a", 1).await;
        let cancelled = proposed(&app, &stub, "b", 2).await;
        app.post("/threads/a/end", json!({})).await.expect(200);
        assert_eq!(
            app.post("/threads/b/cancel", json!({})).await.expect(200)["cancelled"],
            true
        );
        for (thread, id) in [("a", &ended), ("b", &cancelled)] {
            let came = result(&app, thread).await;
            assert!(
                has(&came, "failure") && said(&came).contains("not run"),
                "{came}"
            );
            let problem = say(&app, id, json!({ "verdict": "approve" }))
                .await
                .expect_problem(409, "already-settled");
            assert!(
                problem["detail"].as_str().unwrap().contains("withdrawn"),
                "{problem}"
            );
        }
        assert_eq!(app.pages("/approvals?").await, Vec::<Value>::new());
        assert_eq!(
            stub.count(at("a")) + stub.count(at("b")),
            4,
            "withdrawing asks no model"
        );
        assert_eq!(paid(&app), Vec::<String>::new());
    }
);

// The gate is at the tool: whoever calls it meets it. A voice may not propose; arguments that would be refused are put before nobody.
on_both!(
    only_the_decision_proposes_and_only_what_could_run,
    |medium| {
        let stub = Stub::start().await;
        let app = setup(medium, &stub).start().await;
        stub.script(at("a"), [call("pay", json!({ "to": "bob" })), reply("Oh.")]);
        app.tell_in("a", "pay bob").await;
        let came = result(&app, "a").await;
        assert!(
            has(&came, "failure") && said(&came).contains("amount"),
            "{came}"
        );
        assert_eq!(app.pages("/approvals?").await, Vec::<Value>::new());
    }
);

// How much may wait has a limit, which a model is told of.
on_both!(a_thread_has_so_many_requests_open_and_no_more, |medium| {
    let stub = Stub::start().await;
    let app = setup(medium, &stub)
        .env("THINKD_TEST_TOOLS__OPEN_REQUESTS", 2)
        .start()
        .await;
    let three = pays(1)
        .and("pay", json!({ "to": "bob", "amount": 2 }))
        .and("pay", json!({ "to": "bob", "amount": 3 }));
    stub.script(at("a"), [three, reply("Oh.")]);
    app.tell_in("a", "pay bob").await;
    assert_eq!(app.pages("/approvals?").await.len(), 2);
    let came = result(&app, "a").await;
    assert!(said(&came).contains("wait for people already"), "{came}");
});

// A message is never a verdict.
on_both!(a_message_is_no_verdict, |medium| {
    let stub = Stub::start().await;
    let app = setup(medium, &stub).start().await;
    let id = proposed(&app, &stub, "a", 12).await;
    stub.script(at("a"), [reply("I wait.")]);
    app.tell_in("a", &format!("approve {id}")).await;
    assert_eq!(app.pages("/approvals?").await.len(), 1);
    assert_eq!(paid(&app), Vec::<String>::new());
});

// Rows are a projection: `thinkd rebuild` makes the same.
on_both!(requests_are_rebuilt_from_the_log, |medium| {
    let stub = Stub::start().await;
    let mut app = setup(medium, &stub).start().await;
    for (number, verdict) in ["approve", "reject", "none", "none"]
        .into_iter()
        .enumerate()
    {
        let thread = format!("t{number}");
        let id = proposed(&app, &stub, &thread, number as u64).await;
        if verdict != "none" {
            say(&app, &id, json!({ "verdict": verdict }))
                .await
                .expect(200);
            result(&app, &thread).await;
        }
    }
    let before = app.pages("/approvals?").await;
    assert_eq!(before.len(), 2);
    app.stop().await;
    for again in [&["rebuild", "--check"][..], &["rebuild"]] {
        let (ok, said) = command(&app, again).await;
        assert!(ok, "{said}");
    }
    app.start_again().await;
    assert_eq!(app.pages("/approvals?").await, before);
});

// What an approved call means to do is done, whatever becomes of the turn that runs it: the approval is used up.
on_both!(
    an_approved_message_is_sent_although_its_turn_fails,
    |medium| {
        let stub = Stub::start().await;
        let setup = Setup::new(medium, &stub)
            .voices(&[])
            .file("thinkd.toml", "[tools]\napproval = [\"send\"]\n");
        let app = setup.start().await;
        let bob = json!({ "label": "bob", "kind": "process", "prompt": "Listen." });
        app.post("/threads", bob).await.expect(201);
        let contacts = json!([{ "name": "bob", "thread": "bob", "description": "listens" }]);
        app.post(
            "/threads",
            json!({ "label": "ann", "kind": "conversation", "contacts": contacts }),
        )
        .await
        .expect(201);
        stub.script(
            at("ann"),
            [
                call("send", json!({ "to": ["bob"], "text": "pay 12" })),
                status(400),
            ],
        );
        stub.on(
            at("bob"),
            call("wait", json!({ "from": null, "timeout_s": null })),
        );
        app.post(
            "/threads/ann/messages?wait=15",
            json!({ "text": "tell bob" }),
        )
        .await;
        let open = app.pages("/approvals?").await;
        say(
            &app,
            open[0]["approval_id"].as_str().unwrap(),
            json!({ "verdict": "approve" }),
        )
        .await
        .expect(200);
        let asked = stub.request(at("bob")).await;
        assert!(asked.says("pay 12"), "{}", asked.text());
        let failed = |e: &Value| {
            e["thread"] == "ann" && has(e, "ended") && e["payload"]["outcome"] == "failed"
        };
        let log = app
            .until_some("the end of a turn that failed", async || {
                let log = app.public_log().await;
                log.iter().any(failed).then_some(log)
            })
            .await;
        assert_eq!(with(&log, &["message"]).len(), 1, "once:\n{}", story(&log));
        assert_eq!(
            with(&log, &["result", "tool:send"]).len(),
            1,
            "{}",
            story(&log)
        );
    }
);
