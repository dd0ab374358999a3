//! Tools of one's own, as any user of thinkd as a library adds them, and tools that come and go
//! while the server runs. The server is this test binary, started once more.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use thinkd::model::provider::ToolSpec;
use thinkd::pipelines::registry;
use thinkd::program::app;
use thinkd::program::settings::{Flags, Settings, environment};
use thinkd::tools::catalogue::DECISIONS;
use thinkd::tools::tool::{CallSite, Effect, Output, Spec, Tool};
use thinkd::words::failure::Failure;
use thinkd::words::id::Space;
use thinkd::words::text::Json;

use kit::*;

#[path = "../../examples/own_tool.rs"]
#[expect(dead_code, reason = "its `main` is the server's below")]
mod own_tool;

const NAME: &str = "own_tools::a_server_with_tools_of_its_own";

/// Passes when it is run as a test; is a server when it is started as one.
#[test]
fn a_server_with_tools_of_its_own() {
    if std::env::var_os("THINKD_TEST_TOOLS").is_none() {
        return;
    }
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = Settings::load(&Flags::default(), &environment())
        .unwrap()
        .settings;
    // Not in the order of their names; and one that has the name of a tool of the server.
    let tools = ["radio", "lamp", "drill", "reply", "door"].map(Plugged::tool);
    let plugged = move |_: &Space| {
        tools
            .iter()
            .filter(|tool| socket_of(Path::new("."), tool.spec().name()).exists())
            .cloned()
            .collect()
    };
    app::serve(
        &settings,
        registry::built_in(),
        &own_tool::tools().with_source(DECISIONS, plugged),
    )
    .unwrap();
}

/// A tool of a server of tools: it is there as long as its file is.
struct Plugged(Spec);

impl Plugged {
    fn tool(name: &str) -> Arc<dyn Tool> {
        let parameters = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
        let description = format!("Use the {name}.");
        let told = ToolSpec {
            name: name.to_owned(),
            description,
            parameters: Json::of(&parameters),
            is_strict: true,
        };
        // What the door leads to is written with what was called before it.
        Arc::new(Self(Spec::new(
            told,
            if name == "door" {
                Effect::Events
            } else {
                Effect::Outside
            },
        )))
    }
}

#[async_trait]
impl Tool for Plugged {
    fn spec(&self) -> &Spec {
        &self.0
    }

    async fn call(&self, _: Value, _: &CallSite) -> Result<Output, Failure> {
        if self.0.name() == "drill" {
            std::future::pending::<()>().await;
        }
        if self.0.name() == "door" {
            // Meanwhile somebody makes a subthread of the same parent over HTTP.
            let url = std::fs::read_to_string(socket_of(Path::new("."), "door")).unwrap();
            let body = json!({ "label": "b", "parent": "p", "kind": "process" });
            reqwest::Client::new()
                .post(url)
                .json(&body)
                .send()
                .await
                .unwrap();
        }
        Ok(Output::value(json!("it is on")))
    }
}

fn socket_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.plugged"))
}

fn plug(app: &App, name: &str) {
    std::fs::write(socket_of(&app.folder(), name), "").unwrap();
}

fn unplug(app: &App, name: &str) {
    std::fs::remove_file(socket_of(&app.folder(), name)).unwrap();
}

fn setup(medium: Medium, stub: &Stub) -> Setup {
    let setup = Setup::new(medium, stub).env("THINKD_TEST_TOOLS", 1);
    setup
        .program(std::env::current_exe().unwrap())
        .arguments(&[NAME, "--exact", "--nocapture"])
}

/// The tools that a request offers, as they were sent.
fn offered(request: &Arc<Request>) -> Vec<Value> {
    request.body["tools"].as_array().unwrap().clone()
}

#[test]
fn the_page_on_adding_a_tool_shows_the_example_that_is_run_here() {
    let page = include_str!("../../docs/add-a-tool.md");
    let example = include_str!("../../examples/own_tool.rs");
    assert!(
        page.contains(&format!("```rust\n{example}```\n")),
        "docs/add-a-tool.md does not show examples/own_tool.rs"
    );
}

on_sqlite!(
    a_tool_of_ones_own_is_offered_run_and_recorded_as_any_other,
    |medium| {
        let stub = Stub::start().await;
        let asks = |thing: &str| json!({ "thing": thing });
        let twice = call("where_is", asks("lamp")).and("where_is", asks("moon"));
        stub.script(
            decision,
            [
                twice,
                call("where_is", json!({ "thin": 1 })),
                reply("In the attic."),
            ],
        );
        let app = setup(medium, &stub).start().await;
        assert_eq!(
            said(&app.tell("where is the lamp?").await[0]),
            "In the attic."
        );
        let request = stub.request(decision).await;
        let told = offered(&request)
            .into_iter()
            .find(|tool| tool["function"]["name"] == "where_is")
            .unwrap();
        assert_eq!(
            told["function"]["description"],
            "Look up where a thing is kept."
        );
        let thing = json!({ "type": "string", "description": "One word, in the singular." });
        assert_eq!(
            told["function"]["parameters"]["properties"],
            json!({ "thing": thing })
        );
        let log = app.public_log().await;
        assert_eq!(
            with(&log, &["action", "tool:where_is"]).len(),
            3,
            "{}",
            story(&log)
        );
        let results = with(&log, &["result", "tool:where_is"]);
        assert_eq!(
            results[0]["payload"]["output"],
            json!({ "place": "attic" }),
            "{}",
            story(&log)
        );
        for (result, word) in results[1..].iter().zip(["the moon", "not valid"]) {
            assert!(
                has(result, "failure") && said(result).contains(word),
                "{result}"
            );
        }
    }
);

// The list of tools begins with the same bytes whatever is connected, and ends with what is, in an order of its own.
on_sqlite!(
    tools_come_and_go_between_decisions_and_one_that_is_gone_fails_its_call,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let gone = call("lamp", json!({})).held(&gate);
        stub.script(
            decision,
            [
                reply("one"),
                call("lamp", json!({})),
                reply("two"),
                gone,
                reply("three"),
                reply("four"),
            ],
        );
        let app = setup(medium, &stub).start().await;
        plug(&app, "reply");
        app.tell("first").await;
        let bare = offered(&stub.nth(0, decision).await);
        let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
        assert_eq!(
            bare.iter().filter(|tool| name(tool) == "reply").count(),
            1,
            "nobody takes a name of the server's"
        );
        plug(&app, "radio");
        plug(&app, "lamp");
        assert_eq!(said(&app.tell("second").await[0]), "two");
        let both = offered(&stub.nth(1, decision).await);
        assert_eq!(both[..bare.len()], bare);
        assert_eq!(
            both[bare.len()..].iter().map(name).collect::<Vec<_>>(),
            ["lamp", "radio"]
        );
        // It goes after the model was told of it, and before the model calls it.
        let mut socket = app.socket().await;
        socket.say("third").await;
        stub.nth(3, decision).await;
        unplug(&app, "lamp");
        gate.open();
        assert_eq!(said(&socket.response().await), "three");
        let log = app.public_log().await;
        let results = with(&log, &["result", "tool:lamp"]);
        assert_eq!(said(results[0]), "it is on", "{}", story(&log));
        assert!(
            has(results[1], "failure") && said(results[1]).contains("there is no tool \"lamp\""),
            "{}",
            story(&log)
        );
        let radio = offered(&stub.nth(4, decision).await);
        assert_eq!(
            radio[bare.len()..].iter().map(name).collect::<Vec<_>>(),
            ["radio"]
        );
        plug(&app, "lamp");
        app.tell("fourth").await;
        assert_eq!(
            offered(&stub.nth(5, decision).await),
            both,
            "the same bytes as when they came the other way round"
        );
    }
);

// A call that was begun may have happened, also where its tool is not there any more to be asked what it does.
on_sqlite!(
    a_call_that_a_crash_cut_off_is_not_forgotten_with_its_tool,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [call("drill", json!({})), reply("I cannot tell.")],
        );
        let mut app = setup(medium, &stub).start().await;
        plug(&app, "drill");
        let mut socket = app.socket().await;
        socket.say("drill a hole").await;
        socket
            .event("the call", |event| {
                has(event, "action") && has(event, "tool:drill")
            })
            .await;
        app.kill();
        unplug(&app, "drill");
        app.start_again().await;
        let mut socket = app.socket().await;
        let replayed = socket.follow(0, json!({})).await;
        // It may have come before anybody followed.
        let is_reply = |event: &Value| has(event, "response");
        if !replayed.iter().any(is_reply) {
            socket.event("the reply", is_reply).await;
        }
        let log = app.public_log().await;
        let result = one(&log, &["result", "tool:drill"]);
        assert_eq!(
            result["payload"]["problem"]["kind"],
            "outcome_unknown",
            "{}",
            story(&log)
        );
        assert_eq!(said(one(&log, &["response"])), "I cannot tell.");
    }
);

// The limit is checked where nobody overtakes: what a turn makes and what is made over HTTP meanwhile are counted together.
on_sqlite!(
    the_limit_of_subthreads_holds_for_a_turn_that_http_overtakes,
    |medium| {
        let stub = Stub::start().await;
        let spawn = json!({ "label": "a", "prompt": null, "payload": null });
        let wait = json!({ "from": null, "timeout_s": null });
        let refused =
            |request: &Request| request.thread == "p" && request.says("budget.subthreads");
        stub.on(refused, call("wait", wait.clone()));
        stub.script(
            at("p"),
            [
                call("spawn_thread", spawn).and("door", json!({})),
                call("wait", wait),
            ],
        );
        let app = setup(medium, &stub)
            .env("THINKD_BUDGET__SUBTHREADS", 1)
            .start()
            .await;
        std::fs::write(socket_of(&app.folder(), "door"), app.url("/threads")).unwrap();
        let mut socket = app.socket().await;
        app.process("p", json!({})).await;
        app.say_in("p", "make one").await;
        socket
            .event("the end of the turn", |e| {
                e["thread"] == "p" && has(e, "turn") && has(e, "ended")
            })
            .await;
        let log = app.public_log().await;
        let made: Vec<&str> = with(&log, &["thread-spawned"])
            .iter()
            .filter_map(|e| e["payload"]["assigned_id"].as_str())
            .collect();
        assert_eq!(made, ["p.b"], "{}", story(&log));
        assert_eq!(
            app.get("/threads/p").await.expect(200)["budget"]["subthreads"],
            1
        );
        app.get("/threads/p.a")
            .await
            .expect_problem(404, "not-found");
        assert_eq!(
            one(&log, &["system-thread-error"])["payload"]["code"],
            "subthread_limit",
            "the model is told"
        );
    }
);
