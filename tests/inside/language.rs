//! The thinking language, seen from outside: a model that writes elements instead of calling tools.
//! `language/` tests the reading of texts. Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

/// The texts of a thread's events with these tags, in order.
fn texts<'a>(log: &'a [Value], thread: &str, tags: &[&str]) -> Vec<&'a str> {
    with(log, tags)
        .into_iter()
        .filter(|e| e["thread"] == thread)
        .map(said)
        .collect()
}

// D3.05 D3.06 D3.07 D3.08 D3.09 D3.30 T3.01: its own element goes on in the same thread; the final one ends it with one answer.
on_sqlite!(t3_01_two_messages_to_itself_and_then_the_answer, |medium| {
    let stub = Stub::start().await;
    stub.script(
        at("researcher"),
        [
            text("<researcher><thought>Outlining steps…</thought><state-note/></researcher>"),
            text("<researcher><thought>Second thought.</thought><connect name=\"friend\" thread=\"friend\" description=\"x\"/></researcher>"),
            text("I am done: <reply>The answer &amp; nothing else.</reply>"),
        ],
    );
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    app.process("friend", json!({})).await;
    let conversation = app
        .conversation(json!({ "label": "researcher", "language": "xml", "submodules": [] }))
        .await;
    assert_eq!(conversation, "researcher");
    let mut socket = app.socket().await;
    app.say_in("researcher", "What is it?").await;
    let answer = socket.response().await;
    assert_eq!(said(&answer), "The answer & nothing else.");
    socket
        .event("its turn's end", |e| {
            e["thread"] == "researcher" && has(e, "ended") && seq(e) > seq(&answer)
        })
        .await;
    let requests = stub.all(at("researcher"));
    assert_eq!(
        requests.len(),
        3,
        "k messages to itself and a final answer: k + 1 calls"
    );
    assert!(requests[2].says("Outlining steps…") && requests[2].says("Second thought."));
    assert!(
        requests.iter().all(|r| r.tools().is_empty()),
        "no tools are offered: {:?}",
        requests[0].tools()
    );
    assert!(
        requests[0].says("<researcher>"),
        "it is told its own element"
    );
    let log = app.public_log().await;
    assert_eq!(texts(&log, "researcher", &["response"]).len(), 1);
    assert_eq!(
        texts(&log, "researcher", &["thought"])[0],
        "<thought>Outlining steps…</thought><state-note/>"
    );
    // D0.09: what was written and what it was read as are both there; T3.23: text around elements is kept.
    assert!(
        texts(&log, "researcher", &["decision"])
            .contains(&"I am done: <reply>The answer &amp; nothing else.</reply>")
    );
    assert_eq!(
        app.get("/threads/researcher").await.expect(200)["contacts"][0]["thread"],
        "friend",
        "D3.07: {}",
        story(&log)
    );
});

// D0.10 D3.37 T3.22 T3.23: several elements in one answer are as many acts, in order, from the thread that wrote them.
on_sqlite!(
    t3_22_three_elements_in_one_answer_are_three_acts,
    |medium| {
        let stub = Stub::start().await;
        let answer = "First a word to everybody.\n<send to=\"a, b\">one</send> and\n<send to=\"a\" >two &lt;b&gt;</send><wait/>";
        stub.script(at("p"), [text(answer)]);
        stub.on(any, text("<wait/>"));
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        for thread in ["a", "b"] {
            app.process(thread, json!({ "language": "xml" })).await;
        }
        let contact =
            |thread: &str| json!({ "name": thread, "thread": thread, "description": "listens" });
        app.process(
            "p",
            json!({ "language": "auto", "contacts": [contact("a"), contact("b")] }),
        )
        .await;
        app.say_in("p", "go").await;
        for thread in ["a", "b"] {
            socket
                .event("handled", |e| e["thread"] == thread && has(e, "ended"))
                .await;
        }
        let log = app.public_log().await;
        assert_eq!(texts(&log, "a", &["message"]), ["one", "two <b>"]);
        assert_eq!(texts(&log, "b", &["message"]), ["one"]);
        assert!(
            with(&log, &["message"])
                .iter()
                .all(|e| e["payload"]["from"] == "p" && has(e, "from:p"))
        );
        assert_eq!(texts(&log, "p", &["action"]).len(), 3, "{}", story(&log));
        assert_eq!(texts(&log, "p", &["decision"])[0], answer);
        assert!(
            !stub.request(at("p")).await.tools().is_empty(),
            "either way: tools are offered"
        );
    }
);

// D0.11: talking about an element is not writing one.
on_sqlite!(d0_11_what_is_quoted_is_not_done, |medium| {
    let stub = Stub::start().await;
    let quoted = "I could write \"<terminate/>\" or `<terminate/>`, as in\n```xml\n<terminate reason=\"x\"/>\n```\n> <terminate/>\n<wait/>";
    stub.script(
        at("p"),
        [text(quoted), text("<terminate>Enough.</terminate>")],
    );
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.process("p", json!({ "language": "xml" })).await;
    app.say_in("p", "go").await;
    socket.event("its turn", |e| has(e, "ended")).await;
    assert_eq!(app.get("/threads/p").await.expect(200)["status"], "waiting");
    app.say_in("p", "now really").await;
    socket
        .event("its end", |e| {
            has(e, "set:thread") && e["payload"]["change"]["status"] == "done"
        })
        .await;
    assert_eq!(app.get("/threads/p").await.expect(200)["reason"], "Enough.");
});

// D0.13 D3.38 T0.11: an answer that cannot be read does nothing, is said to be so, and the process goes on at once.
on_sqlite!(
    t0_11_an_unreadable_answer_comes_back_as_an_error,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("p"),
            [
                text("<send>hello</send>"),
                text("<send to=\"a\">hello</send><wait/>"),
            ],
        );
        stub.on(at("a"), text("<wait/>"));
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.process("a", json!({ "language": "xml" })).await;
        let contact = json!({ "name": "a", "thread": "a", "description": "listens" });
        app.process("p", json!({ "language": "xml", "contacts": [contact] }))
            .await;
        app.say_in("p", "go").await;
        socket
            .event("the message", |e| e["thread"] == "a" && has(e, "message"))
            .await;
        let log = app.public_log().await;
        let error = one(&log, &["failure", "interpreter"]);
        assert!(
            said(error).contains("send") && said(error).contains("to"),
            "{error}"
        );
        let second = stub.nth(1, at("p")).await;
        assert!(
            second.seqs().contains(&seq(error)),
            "the next prompt has it"
        );
        assert_eq!(with(&log, &["message"]).len(), 1);
        assert_eq!(
            with(&log, &["turn", "started"])
                .iter()
                .filter(|e| e["thread"] == "p")
                .count(),
            1,
            "it did not wait"
        );
    }
);

// T3.52 and the budget of unreadable answers: the third in a row fails a process, and whoever knew it hears of it; a conversation lives.
on_sqlite!(
    a_process_that_cannot_be_understood_fails_and_a_conversation_does_not,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("main"),
            [
                call(
                    "spawn_thread",
                    json!({ "label": "child", "prompt": null, "payload": "go" }),
                ),
                reply("Made."),
            ],
        );
        stub.script(at("main"), [reply("It failed.")]);
        stub.on(at("main.child"), text("<clear-context keep=\"-1\"/>"));
        stub.script(
            at("talk"),
            [
                text("<set-timer after=\"soon\"/>"),
                text("<set-timer after=\"x\"/>"),
                text("<set-timer/>"),
                text("<reply>Fine.</reply>"),
            ],
        );
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.say_in("main", "make one").await;
        assert_eq!(said(&socket.response().await), "Made.");
        assert_eq!(said(&socket.response().await), "It failed.");
        assert_eq!(stub.count(at("main.child")), 3);
        let child = app.get("/threads/main.child").await.expect(200);
        assert_eq!(child["status"], "failed");
        assert!(
            child["reason"]
                .as_str()
                .unwrap()
                .contains("budget.unreadable"),
            "{child}"
        );
        let log = app.public_log().await;
        assert_eq!(one(&log, &["thread-ended"])["payload"]["status"], "failed");
        app.conversation(json!({ "label": "talk", "language": "xml" }))
            .await;
        app.say_in("talk", "hello").await;
        socket
            .event("the failed turn", |e| {
                e["thread"] == "talk" && has(e, "ended")
            })
            .await;
        assert_eq!(stub.count(at("talk")), 3);
        app.say_in("talk", "again").await;
        assert_eq!(said(&socket.response().await), "Fine.");
    }
);

// T3.16 T3.18 T3.19 T3.21 D3.23: plans as models write them; of two in one message the last counts, both are in the log.
on_sqlite!(t3_18_a_plan_is_kept_as_written_and_as_data, |medium| {
    let stub = Stub::start().await;
    let plan = "<todo-until condition=\"all sources checked\">\n<step done=\"TRUE\">Search web</step>\n<step done=\"1\">Sort</step>\n<step>Analyze</step>\n</todo-until>";
    let both = format!("<todo-until condition=\"first\"><step>a</step></todo-until>{plan}<wait/>");
    stub.script(
        at("p"),
        [
            text(&both),
            text("<todo-until condition=\"c\"><step done=\"maybe\">a</step></todo-until>"),
            text("<wait/>"),
        ],
    );
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.process("p", json!({ "language": "xml" })).await;
    app.say_in("p", "plan").await;
    socket.event("its turn", |e| has(e, "ended")).await;
    let steps = |thread: &Value| {
        let steps = thread["plan"]["steps"].as_array().unwrap().iter();
        steps
            .map(|s| {
                (
                    s["text"].as_str().unwrap().to_owned(),
                    s["done"].as_bool().unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    let thread = app.get("/threads/p").await.expect(200);
    assert_eq!(thread["plan"]["condition"], "all sources checked");
    let expected = [("Search web", true), ("Sort", true), ("Analyze", false)]
        .map(|(text, done)| (text.to_owned(), done));
    assert_eq!(steps(&thread), expected);
    let log = app.public_log().await;
    assert_eq!(with(&log, &["set:plan"]).len(), 2);
    assert!(
        texts(&log, "p", &["decision"])[0].contains(plan),
        "as written: {}",
        story(&log)
    );
    app.say_in("p", "again").await;
    let error = socket
        .event("what cannot be read", |e| has(e, "interpreter"))
        .await;
    assert!(
        said(&error).contains("maybe"),
        "never silently dropped: {error}"
    );
});

// An XML bomb is text: nothing is expanded, nothing hangs.
on_sqlite!(an_xml_bomb_is_only_text, |medium| {
    let stub = Stub::start().await;
    let entities: String = (1..20)
        .map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10)))
        .collect();
    let bomb = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY l0 \"ha\">{entities}]><send to=\"a\">&l19;</send><wait/>"
    );
    stub.script(at("p"), [text(&bomb)]);
    stub.on(at("a"), text("<wait/>"));
    let app = Setup::new(medium, &stub).start().await;
    let mut socket = app.socket().await;
    app.process("a", json!({})).await;
    let contact = json!({ "name": "a", "thread": "a", "description": "listens" });
    app.process("p", json!({ "language": "xml", "contacts": [contact] }))
        .await;
    app.say_in("p", "go").await;
    let message = socket
        .event("the message", |e| e["thread"] == "a" && has(e, "message"))
        .await;
    assert_eq!(said(&message), "&l19;");
});

// Sub-steps for a model that cannot call tools: the same actions as elements.
on_sqlite!(
    d0_26_a_model_without_tools_fills_a_step_by_elements,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("p"),
            [
                text("<send to=\"a\">hello</send><sends-done/>"),
                text("<focus>wait</focus>"),
                text("<set-wait wait=\"true\" from=\"a\"/>"),
                text("<note>Nobody else is needed.</note><contacts-done/>"),
            ],
        );
        stub.on(at("a"), text("<wait/>"));
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.process("a", json!({ "language": "xml" })).await;
        let contact = json!({ "name": "a", "thread": "a", "description": "listens" });
        app.process(
            "p",
            json!({ "language": "xml", "substeps": true, "contacts": [contact] }),
        )
        .await;
        app.say_in("p", "go").await;
        socket
            .event("its turn", |e| e["thread"] == "p" && has(e, "ended"))
            .await;
        let log = app.public_log().await;
        assert_eq!(texts(&log, "a", &["message"]), ["hello"]);
        assert!(with(&log, &["failure"]).is_empty(), "{}", story(&log));
        let thread = app.get("/threads/p").await.expect(200);
        assert_eq!(
            (&thread["status"], &thread["waiting_for"]),
            (&json!("waiting"), &json!("a"))
        );
    }
);

/// Returns true if the request teaches the language.
fn is_taught(request: &Request) -> bool {
    request.says("One example of each.")
}

// Where a model calls no tools, any conversation can be had all the same: it is taught the language when it has called none.
on_sqlite!(
    a_model_that_calls_no_tools_answers_in_any_conversation_if_that_is_configured,
    |medium| {
        let stub = Stub::start().await;
        let answers = || {
            [
                text("I should greet them."),
                text("So: <reply>Good day &amp; welcome.</reply>"),
            ]
        };
        stub.script(decision, answers());
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TURN__LANGUAGE", "auto")
            .env("THINKD_TURN__PLAIN_TEXT", "ask-again")
            .start()
            .await;
        assert_eq!(said(&app.tell("hello").await[0]), "Good day & welcome.");
        let requests = stub.all(decision);
        assert_eq!(requests.len(), 2);
        assert!(
            !requests[0].tools().is_empty() && !is_taught(&requests[0]),
            "first it may call tools"
        );
        assert!(
            requests[1].tools().is_empty() && is_taught(&requests[1]),
            "then it is taught: {:?}",
            requests[1]
        );
        assert!(
            requests[1].is_repair() && !requests[1].last().contains("tool"),
            "{}",
            requests[1].last()
        );
        // One that calls tools never hears of it.
        stub.script(decision, [reply("By a tool.")]);
        assert_eq!(said(&app.tell("and now?").await[0]), "By a tool.");
        assert!(!is_taught(&stub.all(decision)[2]));
        // What an element brings back is answered by elements, too; and so is what could not be read.
        stub.script(
            decision,
            [
                text("Let me see."),
                text("<state-get key=\"x\"/>"),
                text("<reply>Nothing.</reply>"),
            ],
        );
        assert_eq!(said(&app.tell("what is x?").await[0]), "Nothing.");
        stub.script(
            decision,
            [text("<set-timer/>"), text("<reply>In an hour.</reply>")],
        );
        assert_eq!(said(&app.tell("remind me").await[0]), "In an hour.");
        assert!(
            is_taught(stub.all(decision).last().unwrap()),
            "it is taught what it did not know"
        );
        // A thread that says otherwise is asked as it says.
        stub.script(at("strict"), answers());
        app.conversation(json!({ "label": "strict", "language": "tools" }))
            .await;
        assert!(
            app.tell_in("strict", "hello").await.is_empty(),
            "elements are words there"
        );
        // Without tools from the first call on; and, the control, with nothing configured.
        stub.clear();
        stub.script(at("main"), [text("<reply>At once.</reply>")]);
        app.set_env("THINKD_TURN__LANGUAGE", "xml");
        app.restart().await;
        assert_eq!(said(&app.tell("hello").await[0]), "At once.");
        assert!(stub.all(decision).last().unwrap().tools().is_empty());
        stub.script(decision, answers());
        app.set_env("THINKD_TURN__LANGUAGE", "");
        app.restart().await;
        assert!(
            app.tell("hello").await.is_empty(),
            "elements are words by default"
        );
        let log = app.public_log().await;
        let mute = with(&log, &["failure", "interpreter"]);
        assert!(
            said(mute.last().unwrap()).contains("turn.language"),
            "what to do is said: {}",
            story(&log)
        );
    }
);

// A conversation may say so for itself.
on_sqlite!(
    a_conversation_that_goes_either_way_is_taught_when_it_called_no_tool,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            at("either"),
            [
                text("I should greet them."),
                text("<reply>Good day.</reply>"),
            ],
        );
        let app = Setup::new(medium, &stub).start().await;
        app.conversation(json!({ "label": "either", "language": "auto" }))
            .await;
        assert_eq!(said(&app.tell_in("either", "hello").await[0]), "Good day.");
        let requests = stub.all(at("either"));
        assert!(!is_taught(&requests[0]) && is_taught(&requests[1]));
    }
);

#[test]
fn the_prompt_teaches_what_is_read() {
    let text = thinkd::model::prompt::Prompts::load(None)
        .unwrap()
        .language
        .fill(&[("own", "researcher")]);
    let reading = thinking_language::read(&text, "researcher");
    assert_eq!(reading.unreadable, Vec::<String>::new());
    let names: Vec<_> = reading
        .calls
        .iter()
        .map(|call| call.name.as_str())
        .collect();
    let all = "think reply ask_user send spawn_thread connect disconnect ask propose_submodule propose_submodule_removal plan clear_context set_timer watch close_watch fan_out sequence \
               query_events state_put state_get state_search state_delete view_contacts do_nothing wait terminate sends_done contacts_done \
               set_wait focus note";
    assert_eq!(names, all.split_whitespace().collect::<Vec<_>>());
}
