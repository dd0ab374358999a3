//! Corrections of statements that were never held, that come late, are many, or are of entries that
//! a summary stands for.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use thinkd::event::draft::Draft;
use thinkd::event::fact::calls::Call;
use thinkd::log::appended::Append;
use thinkd::model::provider::ToolSpec;
use thinkd::pipelines::registry;
use thinkd::program::app;
use thinkd::program::settings::{Flags, Settings, environment};
use thinkd::tools::catalogue::{self, DECISIONS};
use thinkd::tools::tool::{CallSite, Effect, Output, Spec, Tool};
use thinkd::words::failure::{Failure, Who};
use thinkd::words::id::{Space, ThreadId};
use thinkd::words::text::Json;

use super::corrections::{all_told, corrected, is_exact, remembering, retract, said_and_held};
use super::*;

const DOUBTED: &str = "The tower has no stairs.";

/// Starts a server with minds that remember and recall, and a stub that refutes one claim.
async fn doubting(medium: Medium) -> (App, Stub) {
    let stub = Stub::start().await;
    stub.on(
        deriving_from(DOUBTED),
        derives(None, &["nobody can climb it"]),
    );
    stub.on(
        reflecting_on("nobody can climb it"),
        reflects("refuted", "people climb it every day"),
    );
    stub.on(reflecting, holds());
    stub.on(deriving, derives(None, &["something follows"]));
    let app = Setup::new(medium, &stub)
        .env("THINKD_TOOLS__CONVERSATION", "reply,remember,recall")
        .start()
        .await;
    (app, stub)
}

/// Says something in a thread that its mind remembers. Returns the claim and the position of the
/// input.
async fn remembered(app: &App, stub: &Stub, thread: &str, text: &str) -> (String, i64) {
    let arguments = json!({ "statement": text, "quote": text, "derived_from": null });
    stub.script(at(thread), [call("remember", arguments), reply("noted")]);
    app.tell_in(thread, text).await;
    let log = app.public_log().await;
    let of_thread = |it: &&&Value| it["thread"] == thread && it["payload"]["text"] == text;
    let last = |tags: &[&str]| (*with(&log, tags).iter().rfind(of_thread).unwrap()).clone();
    let claimed = last(&["statement", "claimed"]);
    (
        claimed["payload"]["statement"].as_str().unwrap().to_owned(),
        seq(&last(&["input"])),
    )
}

/// The threads of corrections, in order.
fn threads(told: &[Value]) -> Vec<&str> {
    let mut threads: Vec<&str> = told
        .iter()
        .map(|event| event["thread"].as_str().unwrap())
        .collect();
    threads.sort_unstable();
    threads
}

on_sqlite!(
    what_was_never_held_is_not_said_to_be_held_no_longer,
    |medium| {
        let (mut app, stub) = doubting(medium).await;
        let (id, heard) = remembered(&app, &stub, "main", DOUBTED).await;
        let fell = judged(&app, &id, 0, "falsified").await;
        let correction = corrected(&app, &id, 1).await.remove(0);
        assert_eq!(
            said(&correction),
            format!(
                "never held: falsified in #{}: {}",
                seq(&fell),
                json!(DOUBTED)
            )
        );
        app.tell("And now?").await;
        let asked = stub.all(decision).pop().unwrap();
        let line = format!(
            "#{heard}: never held (falsified in #{}): {}",
            seq(&fell),
            json!(DOUBTED)
        );
        assert!(
            asked.says(&line) && !asked.says("no longer held"),
            "{asked:?}"
        );
        // The control: what was held is said to be held no longer.
        let (held, _) = remembered(&app, &stub, "main", "The library opens at nine.").await;
        judged(&app, &held, 0, "surviving").await;
        retract(&app, &held).await;
        assert!(said(&corrected(&app, &held, 1).await[0]).starts_with("no longer held since #"));
        is_exact(&app).await;
        envelope::check_log(&app.log().await);
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(who_claims_what_has_fallen_is_told_so, |medium| {
    let (mut app, stub) = doubting(medium).await;
    let (id, first) = remembered(&app, &stub, "main", DOUBTED).await;
    let fell = seq(&judged(&app, &id, 0, "falsified").await);
    corrected(&app, &id, 1).await;
    let other = app.conversation(json!({})).await;
    let (again, heard) = remembered(&app, &stub, &other, DOUBTED).await;
    judged(&app, &again, 0, "joined").await;
    let told = corrected(&app, &id, 2).await.remove(1);
    assert_eq!(
        (&told["thread"], &told["payload"]["correction"]["of"]),
        (&json!(other), &json!([heard]))
    );
    assert_eq!(told["payload"]["correction"]["since"], fell);
    // Whoever knows it already is told of the new words, too, and keeps the old ones.
    let (again, second) = remembered(&app, &stub, "main", DOUBTED).await;
    judged(&app, &again, 0, "joined").await;
    let told = corrected(&app, &id, 3).await.remove(2);
    assert_eq!(
        (&told["thread"], &told["payload"]["correction"]["of"]),
        (&json!("main"), &json!([first, second]))
    );
    app.tell("And now?").await;
    let asked = stub.all(at("main")).pop().unwrap();
    for seq in [first, second] {
        assert!(
            asked.says(&format!("#{seq}: never held (falsified in #{fell})")),
            "{asked:?}"
        );
    }
    all_told(&app).await;
    app.restart().await;
    claim(&app, "Something else wakes the trials.").await;
    all_told(&app).await;
    assert_eq!(corrected(&app, &id, 3).await.len(), 3, "each once");
    rows_are_what_the_log_says(&mut app).await;
});

const SERVER: &str = "world_model::told::a_server_with_a_gate";

/// Passes when it is run as a test; is a server when it is started as one.
#[test]
fn a_server_with_a_gate() {
    if std::env::var_os("THINKD_TEST_GATE").is_none() {
        return;
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = Settings::load(&Flags::default(), &environment())
        .unwrap()
        .settings;
    let gate = move |_: &Space| vec![Gated::tool()];
    app::serve(
        &settings,
        registry::built_in(),
        &catalogue::built_in().with_source(DECISIONS, gate),
    )
    .unwrap();
}

/// A tool that waits for a file: the results of the calls before it are written with its own.
struct Gated(Spec);

impl Gated {
    fn tool() -> Arc<dyn Tool> {
        let parameters = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
        let name = "gate".to_owned();
        let parameters = Json::of(&parameters);
        let told = ToolSpec {
            name,
            description: "Wait.".into(),
            parameters,
            is_strict: true,
        };
        Arc::new(Self(Spec::new(told, Effect::Events)))
    }
}

#[async_trait]
impl Tool for Gated {
    fn spec(&self) -> &Spec {
        &self.0
    }

    async fn call(&self, _: Value, _: &CallSite) -> Result<Output, Failure> {
        std::fs::write("entered", "").unwrap();
        polled("the opening of the gate", async || {
            Path::new("open").exists()
        })
        .await;
        Ok(Output::value(json!("open")))
    }
}

on_sqlite!(
    a_recall_that_was_under_way_while_a_statement_fell_is_told,
    |medium| {
        let stub = agreeable().await;
        stub.on(deriving, derives(None, &["something follows"]));
        let setup = Setup::new(medium, &stub)
            .env("THINKD_MEMORY__RECALL_IN_TURNS", 0)
            .env("THINKD_TEST_GATE", 1);
        let setup = setup.env("THINKD_TOOLS__CONVERSATION", "reply,remember,recall,gate");
        let setup = setup.program(std::env::current_exe().unwrap()).arguments(&[
            SERVER,
            "--exact",
            "--nocapture",
        ]);
        let mut app = setup.start().await;
        let (id, _) = said_and_held(&app, &stub, "Alma keeps the keys of the tower.", &[]).await;
        let asks = app.conversation(json!({})).await;
        let query = json!({ "query": "Who keeps the keys of the tower?", "limit": null });
        stub.script(
            at(&asks),
            [call("recall", query).and("gate", json!({})), reply("Alma.")],
        );
        app.say_in(&asks, "Who has the keys?").await;
        polled("the gate", async || app.folder().join("entered").exists()).await;
        retract(&app, &id).await;
        corrected(&app, &id, 1).await;
        all_told(&app).await;
        assert!(
            with(&app.public_log().await, &["result", "tool:recall"]).is_empty(),
            "it is under way"
        );
        std::fs::write(app.folder().join("open"), "").unwrap();
        let told = corrected(&app, &id, 2).await;
        let mut expected = ["main", &asks];
        expected.sort_unstable();
        assert_eq!(threads(&told), expected);
        let log = app.public_log().await;
        let result = one(&log, &["result", "tool:recall"]);
        let fell = one(&log, &["judged", "retracted"]);
        assert!(seq(result) > seq(fell), "it is stored behind the fall");
        let of = told.iter().find(|event| event["thread"] == *asks).unwrap();
        assert_eq!(of["payload"]["correction"]["of"], json!([seq(result)]));
        all_told(&app).await;
        app.tell_in(&asks, "And now?").await;
        let asked = stub.all(at(&asks)).pop().unwrap();
        assert!(
            asked.says(&format!(
                "#{}: no longer held since #{}",
                seq(result),
                seq(fell)
            )),
            "{asked:?}"
        );
        app.restart().await;
        claim(&app, "Something else wakes the trials.").await;
        all_told(&app).await;
        assert_eq!(corrected(&app, &id, 2).await.len(), 2, "each once");
    }
);

/// A result of a recall that returned a statement.
fn returned(thread: &ThreadId, at: usize, id: &str) -> Draft {
    let call_id = format!("c{at}.0.0");
    let call = Call {
        turn: 1,
        by: &Who::Decision,
        tool: "recall",
        call_id: &call_id,
    };
    let output = json!({ "recalled": [{ "statement": id }], "note": "held so far" });
    Draft::result(thread, &call, output, 1).returning(&[id.to_owned()])
}

/// Threads that recalled a statement, so many of them with so many results each; stored beside a server that is down.
async fn recalled_by(app: &App, id: &str, count: usize, times: usize) -> Vec<String> {
    let store = stored::open_at(app.database()).await;
    let names: Vec<String> = (0..count).map(|at| format!("t{at}")).collect();
    for some in names.chunks(100) {
        let threads: Vec<ThreadId> = some
            .iter()
            .map(|name| ThreadId::parse(name).unwrap())
            .collect();
        let made = threads
            .iter()
            .map(|thread| Draft::created(thread, &json!({})));
        let results = threads
            .iter()
            .flat_map(|thread| (0..times).map(move |at| returned(thread, at, id)));
        for drafts in made.chain(results).collect::<Vec<_>>().chunks(500) {
            store
                .append(Append::free(&Space::default(), drafts.to_vec()))
                .await
                .unwrap();
        }
    }
    store.close().await;
    names
}

on_sqlite!(
    all_threads_that_recalled_it_are_told_however_many_they_are,
    |medium| {
        let (mut app, stub) = remembering(medium).await;
        let (id, _) = said_and_held(&app, &stub, "Alma keeps the keys of the tower.", &[]).await;
        all_told(&app).await;
        assert!(app.stop().await.success());
        let mut expected = recalled_by(&app, &id, 150, 1).await;
        expected.push("main".into());
        expected.sort_unstable();
        app.start_again().await;
        retract(&app, &id).await;
        let told = corrected(&app, &id, 151).await;
        all_told(&app).await;
        assert_eq!(threads(&told), expected);
        assert!(with(&app.public_log().await, &["failure"]).is_empty());
    }
);

on_sqlite!(
    a_recall_that_was_stored_behind_a_fall_by_a_server_that_died_is_told_after_a_start,
    |medium| {
        let (mut app, stub) = remembering(medium).await;
        let (id, _) = said_and_held(&app, &stub, "Alma keeps the keys of the tower.", &[]).await;
        retract(&app, &id).await;
        corrected(&app, &id, 1).await;
        all_told(&app).await;
        app.kill();
        recalled_by(&app, &id, 2, 1).await;
        app.start_again().await;
        assert_eq!(
            threads(&corrected(&app, &id, 3).await),
            ["main", "t0", "t1"]
        );
        all_told(&app).await;
        app.restart().await;
        claim(&app, "Something else wakes the trials.").await;
        all_told(&app).await;
        assert_eq!(corrected(&app, &id, 3).await.len(), 3, "each once");
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    of_more_recalls_than_are_looked_at_the_log_says_who_is_not_told,
    |medium| {
        let (mut app, stub) = remembering(medium).await;
        let (id, _) = said_and_held(&app, &stub, "Alma keeps the keys of the tower.", &[]).await;
        all_told(&app).await;
        assert!(app.stop().await.success());
        recalled_by(&app, &id, 5, 401).await;
        app.start_again().await;
        retract(&app, &id).await;
        assert_eq!(corrected(&app, &id, 6).await.len(), 6);
        all_told(&app).await;
        app.restart().await;
        claim(&app, "Something else wakes the trials.").await;
        all_told(&app).await;
        let log = app.public_log().await;
        let failure = one(&log, &["failure", "trial"]);
        let fell = seq(one(&log, &["judged", "retracted"]));
        assert!(
            said(failure).contains(&id) && said(failure).contains("2000"),
            "{failure}"
        );
        assert_eq!(failure["payload"]["detail"]["statement"], id, "{failure}");
        assert_eq!(failure["payload"]["detail"]["since"], fell, "{failure}");
        envelope::check_log(&app.log().await);
    }
);

on_sqlite!(what_a_summary_stands_for_is_corrected_too, |medium| {
    let stub = Stub::start().await;
    stub.on(
        |request| request.module == "summary",
        text("The library opens at nine, says the user."),
    );
    stub.on(reflecting, holds());
    stub.on(deriving, derives(None, &["something follows"]));
    let mut setup =
        Setup::new(medium, &stub).env("THINKD_TOOLS__CONVERSATION", "reply,remember,recall");
    for (key, value) in [("SUMMARIES", "true"), ("DECISION", "30"), ("BLOCK", "30")] {
        setup = setup.env(&format!("THINKD_HISTORY__{key}"), value);
    }
    let mut app = setup.start().await;
    let (id, heard) = said_and_held(&app, &stub, "The library opens at nine.", &[]).await;
    for at in 0..30 {
        app.tell(&format!("message {at}")).await;
    }
    within("a summary", async {
        while !stub.all(decision).pop().unwrap().says("[summary]") {
            app.tell("more").await;
        }
    })
    .await;
    retract(&app, &id).await;
    corrected(&app, &id, 1).await;
    app.tell("When does it open?").await;
    let asked = stub.all(decision).pop().unwrap();
    assert!(
        asked.says("[summary]: The library opens at nine") && !asked.seqs().contains(&heard),
        "{asked:?}"
    );
    assert!(
        asked.says(&format!("#{heard}: no longer held since #")),
        "{asked:?}"
    );
    is_exact(&app).await;
    rows_are_what_the_log_says(&mut app).await;
});
