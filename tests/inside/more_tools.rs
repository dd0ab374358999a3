//! Descriptions of tools for a model: little, the same bytes every time, and more where it asks for
//! more.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::sync::Arc;

use serde_json::{Value, json};
use thinkd::model::prompt::Prompts;
use thinkd::tools::catalogue;

use kit::app::command;
use kit::*;

/// The most bytes that the list of tools of a call has.
const LIST_MAX: usize = 6000;

/// The tools that a request offers, as they were sent.
fn offered(request: &Arc<Request>) -> Vec<Value> {
    request.body["tools"].as_array().unwrap().clone()
}

/// Returns the names of tools that `more_tools` can open.
fn further(request: &Arc<Request>) -> Vec<String> {
    let more = offered(request)
        .into_iter()
        .find(|tool| tool["function"]["name"] == "more_tools");
    let names = more
        .map(|tool| tool["function"]["parameters"]["properties"]["names"]["items"]["enum"].clone());
    serde_json::from_value(names.unwrap_or_else(|| json!([]))).unwrap()
}

fn open(names: &[&str]) -> Answer {
    call("more_tools", json!({ "names": names }))
}

fn timer() -> Value {
    json!({ "after_s": 3600, "note": "later" })
}

/// Returns the opened tools in the log, by thread.
fn opened(log: &[Value]) -> Vec<(&str, Value)> {
    let opened = with(log, &["set:tools"]).into_iter();
    opened
        .map(|event| {
            (
                event["thread"].as_str().unwrap(),
                event["payload"]["change"]["open"].clone(),
            )
        })
        .collect()
}

// What every call of a decision is told of tools is short, and every tool is there or can be had.
#[tokio::test]
async fn the_tools_of_a_conversation_and_of_a_process_take_six_kilobytes_and_none_is_out_of_reach()
{
    let stub = Stub::start().await;
    stub.on(at("p"), call("terminate", json!({ "reason": "done" })));
    let app = App::start(Medium::sqlite(), &stub).await;
    let mut socket = app.socket().await;
    app.tell("hello").await;
    app.process("p", json!({})).await;
    app.say_in("p", "hello").await;
    socket
        .event("its end", |e| {
            has(e, "set:thread") && e["payload"]["change"]["status"] == "done"
        })
        .await;
    let tools = catalogue::built_in();
    // These are there where they are named.
    let of_conversations = tools.of_conversations().into_iter();
    let of_conversations: Vec<&str> = of_conversations
        .filter(|name| !["terminate", "schedule"].contains(name))
        .collect();
    let of_processes: Vec<&str> = tools
        .of_processes()
        .into_iter()
        .filter(|name| *name != "schedule")
        .collect();
    for (thread, all) in [("main", of_conversations), ("p", of_processes)] {
        let request = stub.request(at(thread)).await;
        let bytes = request.body["tools"].to_string().len();
        println!("the tools of {thread}: {bytes} bytes");
        assert!(bytes <= LIST_MAX, "{thread}: {bytes} bytes of tools");
        let mut reach = request.tools();
        reach.retain(|name| name != "more_tools");
        assert!(reach.len() > 10, "the control: most are at hand: {reach:?}");
        reach.extend(further(&request));
        reach.sort();
        let mut all: Vec<String> = all.into_iter().map(str::to_owned).collect();
        all.sort();
        assert_eq!(reach, all, "{thread}");
    }
}

// Who asks for more tools has them from the next call on, for good: behind the others, which stay as they are, byte for byte.
on_sqlite!(
    a_tool_that_was_opened_stands_last_and_stays_open_over_turns_restarts_and_rebuilds,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [
                open(&["set_timer", "plan"]),
                reply("one"),
                reply("two"),
                open(&["watch", "plan"]),
            ],
        );
        let mut app = App::start(medium, &stub).await;
        assert_eq!(said(&app.tell("first").await[0]), "one");
        let before = offered(&stub.nth(0, decision).await);
        let names = |request: &Arc<Request>| request.tools().split_off(before.len());
        let asked = stub.nth(1, decision).await;
        assert_eq!(
            names(&asked),
            ["set_timer", "plan"],
            "in the same turn, in the order in which they were asked for"
        );
        assert_eq!(offered(&asked)[..before.len()], before);
        let log = app.public_log().await;
        assert_eq!(
            opened(&log),
            [("main", json!(["set_timer", "plan"]))],
            "{}",
            story(&log)
        );
        let result = one(&log, &["result", "tool:more_tools"]);
        assert!(
            said(result).contains("next call") && said(result).contains("set_timer, plan"),
            "{result}"
        );
        app.tell("second").await;
        let second = offered(&stub.nth(2, decision).await);
        assert_eq!(second, offered(&asked), "the same bytes in the next turn");
        // More of them come behind those; what is open already stays where it is.
        app.tell("third").await;
        assert_eq!(
            names(&stub.nth(4, decision).await),
            ["set_timer", "plan", "watch"]
        );
        app.tell_in("other", "hello").await;
        assert_eq!(
            offered(&stub.request(at("other")).await),
            before,
            "another thread has opened none"
        );
        let third = offered(&stub.nth(4, decision).await);
        let made = stub.count(at("main"))..;
        for (calls, again) in made.zip([&[][..], &["rebuild", "--check"], &["rebuild"]]) {
            assert!(app.stop().await.success());
            if !again.is_empty() {
                let (ok, said) = command(&app, again).await;
                assert!(ok, "{said}");
            }
            app.start_again().await;
            app.tell("again").await;
            assert_eq!(
                offered(&stub.nth(calls, at("main")).await),
                third,
                "after {again:?}"
            );
        }
        // What a call was offered is part of what can be made again.
        let record = app
            .log()
            .await
            .into_iter()
            .rfind(|e| has(e, "call:decision"))
            .unwrap();
        let view = app
            .get(&format!(
                "/prompt-views/{}",
                record["event_id"].as_str().unwrap()
            ))
            .await
            .expect(200);
        assert_eq!(
            (&view["exact"], view["request"]["tools"].as_array().unwrap()),
            (&json!(true), &third)
        );
    }
);

// A model that knows a tool by name may call it unasked: it works, and is open from then on, also where the call was wrong.
on_sqlite!(
    a_tool_that_is_called_unopened_works_and_is_open_from_then_on,
    |medium| {
        let stub = Stub::start().await;
        let twice = call("set_timer", timer())
            .and("set_timer", timer())
            .and("reply", json!({ "text": "Set." }));
        stub.script(
            at("main"),
            [
                twice,
                reply("one"),
                call("plan", json!({ "steps": [] })),
                reply("two"),
            ],
        );
        stub.script(
            at("x"),
            [text(
                "<set-timer after=\"3600\">later</set-timer><reply>Set.</reply>",
            )],
        );
        let app = App::start(medium, &stub).await;
        assert_eq!(said(&app.tell("remind me").await[0]), "Set.");
        let log = app.public_log().await;
        assert_eq!(with(&log, &["timer-set"]).len(), 2, "{}", story(&log));
        assert!(with(&log, &["failure"]).is_empty(), "{}", story(&log));
        assert_eq!(
            opened(&log),
            [("main", json!(["set_timer"]))],
            "once: {}",
            story(&log)
        );
        app.tell("go on").await;
        let first = stub.nth(0, at("main")).await;
        let second = stub.nth(1, at("main")).await;
        assert_eq!(second.tools()[first.tools().len()..], ["set_timer"]);
        app.tell("and a plan").await;
        let fourth = stub.nth(3, at("main")).await;
        assert!(
            fourth.says("the arguments of plan are not valid"),
            "{fourth:?}"
        );
        assert_eq!(
            fourth.tools()[first.tools().len()..],
            ["set_timer", "plan"],
            "now it is told how it is called"
        );
        // In the thinking language no tools are offered: all have an element, and nothing is to be opened.
        app.conversation(json!({ "label": "x", "language": "xml" }))
            .await;
        assert_eq!(said(&app.tell_in("x", "remind me").await[0]), "Set.");
        let log = app.public_log().await;
        assert_eq!(with(&log, &["timer-set"]).len(), 3);
        assert!(
            opened(&log).iter().all(|(thread, _)| *thread == "main"),
            "{}",
            story(&log)
        );
    }
);

// Names that mean nothing are named, with those that there are; the others are opened all the same.
on_sqlite!(
    names_of_tools_that_are_not_there_are_refused_with_those_that_are,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [
                open(&["fly", "plan", "reply"]),
                open(&[]),
                call("more_tools", json!({ "name": "plan" })),
                reply("ok"),
            ],
        );
        let app = App::start(medium, &stub).await;
        assert_eq!(said(&app.tell("go").await[0]), "ok");
        let log = app.public_log().await;
        let failed: Vec<&str> = with(&log, &["result", "failure", "tool:more_tools"])
            .into_iter()
            .map(said)
            .collect();
        assert_eq!(failed.len(), 3, "{}", story(&log));
        for (failed, word) in failed
            .iter()
            .zip(["fly, reply", "needs names", "not valid"])
        {
            assert!(failed.contains(word), "{failed}");
        }
        let there = further(&stub.request(decision).await);
        assert!(
            there.len() > 5 && there.iter().all(|name| failed[0].contains(name.as_str())),
            "{}",
            failed[0]
        );
        assert_eq!(opened(&log), [("main", json!(["plan"]))]);
    }
);

// What is configured is offered, all of it, and there is nothing more to be had.
#[tokio::test]
async fn tools_that_are_configured_are_offered_in_full() {
    let stub = Stub::start().await;
    let tools = "[tools]\nconversation = [\"reply\", \"plan\", \"set_timer\"]\nprocess = [\"wait\", \"watch\"]\n";
    stub.script(at("main"), [open(&["watch"]), reply("no")]);
    stub.on(
        at("p"),
        call("wait", json!({ "from": null, "timeout_s": null })),
    );
    let app = Setup::new(Medium::sqlite(), &stub)
        .file("thinkd.toml", tools)
        .start()
        .await;
    app.tell("hello").await;
    let log = app.public_log().await;
    assert!(
        said(one(&log, &["result", "failure"])).contains("there is no tool"),
        "{}",
        story(&log)
    );
    app.process("p", json!({})).await;
    app.say_in("p", "hello").await;
    for (thread, expected) in [
        ("main", ["reply", "set_timer", "plan"].as_slice()),
        ("p", &["wait", "watch"]),
    ] {
        assert_eq!(stub.request(at(thread)).await.tools(), expected);
    }
}

/// Tools that the thinking language has no element for, on purpose: a model that speaks it does
/// without.
const WITHOUT_ELEMENT: [&str; 6] = [
    "fork_thread",
    "start_mission",
    "run_code",
    "remember",
    "recall",
    "schedule",
];

// The thinking language reaches as far as tool calls do: it teaches an element for every tool.
#[test]
fn the_thinking_language_teaches_an_element_for_every_tool() {
    let prompts = Prompts::load(None).unwrap();
    let read = |text: &str| {
        thinking_language::read(text, "main")
            .calls
            .into_iter()
            .map(|call| call.name)
            .collect::<Vec<_>>()
    };
    let taught = read(&prompts.language.fill(&[("own", "main")]));
    let mut untaught = catalogue::built_in().of_processes();
    untaught.retain(|name| !taught.iter().any(|it| it == name));
    assert_eq!(untaught, WITHOUT_ELEMENT, "of {taught:?}");
    assert_eq!(
        read("<more-tools names=\"plan, watch\"/>"),
        ["more_tools"],
        "nothing is to be opened, but it may be said"
    );
}
