//! A turn, end to end: one input through all five steps, the causes of its end, and the fate of
//! input that comes meanwhile.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

// D4.04 D4.10 D4.38 D4.45 D4.48 D4.49 D4.52 D4.53 D4.54 D4.55 T4.33: input, outputs, decision, action, result, response, in this order.
on_both!(
    d4_04_t4_33_one_message_leaves_every_step_in_the_log,
    |medium| {
        let stub = Stub::start().await;
        let held = Gate::new();
        stub.on(
            decision,
            reply("All is well.")
                .saying("They ask how it goes.")
                .held(&held),
        );
        let app = Setup::new(medium, &stub)
            .voices(&["a", "b", "c"])
            .start()
            .await;
        let mut socket = app.socket().await;
        let ack = socket.say("how does it go?").await;
        assert_eq!(ack["status"], "started");
        let input = seq(&ack["events"][0]);

        let asked = stub.request(decision).await;
        // D4.54: what the voices said is in the log before the decision is asked.
        let before = app.since(input - 1).await;
        for name in ["a", "b", "c"] {
            let output = one(&before, &[&format!("submodule:{name}")]);
            assert_eq!(said(output), format!("{name}: noted."));
            assert!(
                asked.seqs().contains(&seq(output)),
                "the decision does not see {name}: {asked:?}"
            );
        }
        let comments = stub.all(Request::is_comment);
        assert_eq!(
            comments.len(),
            3,
            "three voices, one message, three requests"
        );
        assert!(
            comments
                .iter()
                .all(|request| request.says("how does it go?")),
            "each is shown the message"
        );
        assert!(
            comments.iter().all(|request| !request.says(": noted.")),
            "none is shown what another said"
        );

        held.open();
        let response = socket.response().await;
        assert_eq!(said(&response), "All is well.");
        socket.turn_ended().await;
        assert_eq!(stub.count(decision), 1, "nothing came back: one round");
        let log = app.since(input - 1).await;
        let action = ["decision", "action", "tool:reply"];
        in_order(
            &log,
            &[
                &["input", "type:message"],
                &["turn", "started"],
                &["submodule:a"],
                &action,
                &["response"],
                &["turn", "ended"],
            ],
        );
        in_order(&log, &[&["turn", "started"], &["submodule:b"], &action]);
        in_order(&log, &[&["turn", "started"], &["submodule:c"], &action]);
        let words: Vec<&Value> = with(&log, &["decision"])
            .into_iter()
            .filter(|e| !has(e, "action"))
            .collect();
        assert_eq!(
            said(words[0]),
            "They ask how it goes.",
            "the decision's own text is its rationale"
        );
        let action = one(&log, &action);
        assert_eq!(
            action["payload"]["arguments"],
            json!({ "text": "All is well." })
        );
        assert_eq!(
            action["payload"]["call_id"], response["payload"]["call_id"],
            "the response is the result of that call"
        );
        assert_eq!(one(&log, &["turn", "ended"])["payload"]["outcome"], "done");
        envelope::check_log(&app.log().await);
        envelope::check_turns(&log, "main");
    }
);

/// Returns the events of a session without the members that differ from run to run.
fn shape(log: &[Value]) -> Vec<Value> {
    let line = |event: &Value| {
        let payload = [
            "text",
            "turn",
            "tool",
            "arguments",
            "output",
            "outcome",
            "kind",
        ]
        .map(|k| event["payload"][k].clone());
        json!([
            event["source"],
            event["modality"],
            tags(event),
            payload,
            event["thread"]
        ])
    };
    log.iter().map(line).collect()
}

async fn session(medium: Medium, stream: bool) -> Vec<Value> {
    let stub = Stub::start().await;
    let get = call("state_get", json!({ "key": "none" })).saying("I look first.");
    stub.script(
        decision,
        [
            get,
            reply("Nothing is kept. — 🌱 ünïcode"),
            text("I only say this."),
            reply("Repaired."),
        ],
    );
    stub.script(
        decision,
        [
            call("think", json!({ "thought": "Go on." })),
            call("do_nothing", json!({ "reason": "Enough." })),
        ],
    );
    let app = Setup::new(medium, &stub)
        .voices(&["a"])
        .env("THINKD_TURN__PLAIN_TEXT", "ask-again")
        .env("THINKD_MODELS__LOW__STREAM", stream)
        .start()
        .await;
    let begin = seq(app.public_log().await.last().unwrap());
    for text in ["one", "two", "three"] {
        app.tell(text).await;
    }
    assert!(
        stub.requests()
            .iter()
            .all(|request| request.streams() == stream),
        "asked for the other mode"
    );
    app.since(begin).await
}

// D4.08 T4.63
on_both!(
    d4_08_t4_63_streamed_and_plain_answers_leave_the_same_events,
    |medium| {
        let plain = session(medium, false).await;
        let streamed = session(Medium::sqlite(), true).await;
        let numbers = |log: &[Value]| {
            shape(log)
                .into_iter()
                .map(|line| line.to_string().replace("batch", ""))
                .collect::<Vec<_>>()
        };
        assert_eq!(with(&plain, &["response"]).len(), 2, "{}", story(&plain));
        assert_eq!(
            numbers(&plain),
            numbers(&streamed),
            "\n{}\n{}",
            story(&plain),
            story(&streamed)
        );
    }
);

// D4.08 D4.51: pieces are hints; the response arrives whole, under the id they were announced with.
on_both!(
    d4_08_a_streamed_reply_is_shown_as_it_comes_and_stored_whole,
    |medium| {
        let words =
            "Grüße! This reply is long enough to come in many pieces — 🌍 «etc.» \n\"quoted\"";
        let stub = Stub::start().await;
        let half = Gate::new();
        stub.on(decision, reply(words).paused(9, &half));
        let app = Setup::new(medium, &stub)
            .env("THINKD_MODELS__LOW__STREAM", true)
            .start()
            .await;
        let mut socket = app.socket().await;
        socket.say("speak").await;
        let first = socket.of_type("delta").await;
        assert_eq!(
            (&first["at"], &first["thread"]),
            (&json!(0), &json!("main"))
        );
        assert!(
            with(&socket.events(), &["response"]).is_empty(),
            "stored before it was whole"
        );
        half.open();
        let response = socket.response().await;
        assert_eq!(said(&response), words);
        let end = socket.of_type("delta_end").await;
        assert_eq!(
            (&end["event_id"], &end["outcome"]),
            (&response["event_id"], &json!("stored"))
        );
        let mut shown = String::new();
        for delta in socket.seen.iter().filter(|frame| frame["type"] == "delta") {
            assert_eq!(delta["event_id"], response["event_id"]);
            assert_eq!(
                delta["at"],
                json!(shown.chars().count()),
                "offsets count Unicode scalars"
            );
            shown.push_str(delta["text"].as_str().unwrap());
        }
        assert_eq!(shown, words);
    }
);

// T4.34
on_both!(
    t4_34_d4_33_a_voice_that_says_nothing_leaves_no_event,
    |medium| {
        let stub = Stub::start().await;
        stub.on(voice("a"), text(""))
            .on(voice("b"), text("PASS"))
            .on(voice("c"), text("  \n"));
        let app = Setup::new(medium, &stub)
            .voices(&["a", "b", "c", "d"])
            .start()
            .await;
        assert_eq!(said(&app.tell("hello").await[0]), "ok: hello");
        let log = app.public_log().await;
        let spoke: Vec<&Value> = log
            .iter()
            .filter(|e| tags(e).iter().any(|tag| tag.starts_with("submodule:")))
            .collect();
        assert_eq!(spoke.len(), 1, "{}", story(&log));
        assert!(has(spoke[0], "submodule:d"));
    }
);

// T4.35
on_both!(t4_35_without_voices_the_decision_runs_at_once, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 60_000)
        .start()
        .await;
    assert_eq!(said(&app.tell("hello").await[0]), "ok: hello");
    assert_eq!(stub.requests().len(), 1);
});

// T4.44
on_both!(
    t4_44_a_decision_to_do_nothing_closes_the_turn_visibly,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            decision,
            call("do_nothing", json!({ "reason": "Nothing was asked." })),
        );
        let app = App::start(medium, &stub).await;
        assert!(app.tell("hm").await.is_empty());
        let log = app.public_log().await;
        assert_eq!(
            said(one(&log, &["decision", "no-action"])),
            "Nothing was asked."
        );
        in_order(
            &log,
            &[&["input"], &["decision", "no-action"], &["turn", "ended"]],
        );
        assert!(
            with(&log, &["response"]).is_empty() && with(&log, &["action"]).is_empty(),
            "{}",
            story(&log)
        );
        assert_eq!(one(&log, &["turn", "ended"])["payload"]["outcome"], "done");
        assert_eq!(stub.count(decision), 1);
    }
);

// T4.41 D4.51: where `turn.plain_text` asks again, talk without the tool reaches nobody; one repair, restricted to `reply`.
on_both!(
    t4_41_d4_51_text_without_a_tool_call_is_repaired_once,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [
                text("I would answer: SECRET DRAFT"),
                reply("Now with the tool."),
            ],
        );
        let app = Setup::new(medium, &stub)
            .env("THINKD_TURN__PLAIN_TEXT", "ask-again")
            .start()
            .await;
        let responses = app.tell("hello").await;
        assert_eq!(
            responses.iter().map(said).collect::<Vec<_>>(),
            ["Now with the tool."]
        );
        let repair = stub.nth(1, decision).await;
        assert!(repair.is_repair(), "{repair:?}");
        assert_eq!(repair.tools(), ["reply"], "it may do nothing else");
        assert_eq!(repair.body["tool_choice"], "required", "nor nothing at all");
        let log = app.public_log().await;
        assert_eq!(
            said(with(&log, &["decision"])[0]),
            "I would answer: SECRET DRAFT",
            "what it said is kept as its own words"
        );
        assert!(with(&log, &["failure"]).is_empty(), "{}", story(&log));
    }
);

// T4.41 D4.51
on_both!(
    t4_41_d4_51_a_second_text_without_a_tool_call_is_a_failure_and_no_reply,
    |medium| {
        let stub = Stub::start().await;
        stub.script(decision, [text("Talk."), text("More talk.")]);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TURN__PLAIN_TEXT", "ask-again")
            .start()
            .await;
        assert!(
            app.tell("hello").await.is_empty(),
            "the user received what no tool sent"
        );
        let log = app.public_log().await;
        let failure = one(&log, &["failure", "decision"]);
        assert!(!said(failure).is_empty());
        assert_eq!(stub.count(decision), 2, "one repair, not more");
        assert!(with(&log, &["response"]).is_empty());
        in_order(&log, &[&["input"], &["failure"], &["turn", "ended"]]);
        // The mind goes on.
        assert_eq!(said(&app.tell("again").await[0]), "ok: again");
    }
);

// D4.49: think is a message to itself: the next turn starts with it.
on_both!(a_thought_starts_the_next_turn, |medium| {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [
            call("think", json!({ "thought": "Count to ten first." })),
            reply("Ten."),
        ],
    );
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    let responses = app.tell("go").await;
    assert_eq!(
        responses.iter().map(said).collect::<Vec<_>>(),
        ["Ten."],
        "?wait waits until the thread is idle"
    );
    let log = app.public_log().await;
    let thought = one(&log, &["decision", "thought"]);
    assert_eq!(said(thought), "Count to ten first.");
    assert!(
        with(&log, &["action", "tool:think"]).is_empty(),
        "a thought is one event: {}",
        story(&log)
    );
    let turns = with(&log, &["turn", "started"]);
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[1]["payload"]["batch"], json!([seq(thought)]));
    assert_eq!(
        stub.count(|r| r.is_comment() && r.says("Count to ten first.")),
        1,
        "the voices hear the thought"
    );
    envelope::check_turns(&log, "main");
});

// Laws: nothing loops for ever: messages to itself are a budget, with a visible end; input from outside renews it.
on_both!(thinking_without_end_is_ended_by_a_budget, |medium| {
    let stub = Stub::start().await;
    stub.on(
        |r| r.is_decision() && !r.says("stop it"),
        call("think", json!({ "thought": "And on." })),
    );
    let app = App::start(medium, &stub).await;
    app.tell("go").await;
    let log = app.public_log().await;
    assert_eq!(with(&log, &["thought"]).len(), 32);
    assert_eq!(
        with(&log, &["turn", "started"]).len(),
        33,
        "one turn for the input, 32 of its own"
    );
    let refused = with(&log, &["result", "tool:think", "failure"]);
    assert!(
        said(refused[0]).contains("32"),
        "it names the limit: {}",
        refused[0]
    );
    assert_eq!(
        refused.len(),
        6,
        "the decision may do something else, until its rounds are used up: {}",
        story(&log)
    );
    assert_eq!(
        with(&log, &["turn", "ended"]).last().unwrap()["payload"]["outcome"],
        "failed"
    );
    assert_eq!(said(&app.tell("stop it").await[0]), "ok: stop it");
    envelope::check_turns(&app.public_log().await, "main");
});

// Several thoughts in one answer are counted one by one, and the decision can still speak.
on_both!(thoughts_of_one_answer_are_counted_one_by_one, |medium| {
    let stub = Stub::start().await;
    let thought = |n: u32| json!({ "thought": format!("Thought {n}.") });
    let three = call("think", thought(1))
        .and("think", thought(2))
        .and("think", thought(3));
    stub.script(decision, [three, reply("Two are enough.")]);
    let app = Setup::new(medium, &stub)
        .env("THINKD_BUDGET__SELF_MESSAGES", 2)
        .start()
        .await;
    assert_eq!(said(&app.tell("go").await[0]), "Two are enough.");
    let log = app.public_log().await;
    assert_eq!(
        with(&log, &["thought"])
            .into_iter()
            .map(said)
            .collect::<Vec<_>>(),
        ["Thought 1.", "Thought 2."]
    );
    one(&log, &["result", "tool:think", "failure"]);
    envelope::check_turns(&log, "main");
});

// T4.49
on_both!(
    t4_49_rounds_end_at_their_limit_with_a_visible_note,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, call("state_get", json!({ "key": "x" })));
        let app = Setup::new(medium, &stub)
            .env("THINKD_TURN__MAX_ROUNDS", 3)
            .start()
            .await;
        assert!(app.tell("go").await.is_empty());
        let log = app.public_log().await;
        assert_eq!(stub.count(decision), 3);
        assert_eq!(
            with(&log, &["action", "tool:state_get"]).len(),
            3,
            "{}",
            story(&log)
        );
        assert_eq!(with(&log, &["result", "tool:state_get"]).len(), 3);
        let failure = one(&log, &["failure", "budget", "decision"]);
        assert!(said(failure).contains('3'), "it names the limit: {failure}");
        in_order(&log, &[&["failure", "budget"], &["turn", "ended"]]);
        // Control: one round fewer, and there is no note.
        stub.clear();
        stub.script(
            decision,
            [
                call("state_get", json!({ "key": "x" })),
                call("state_get", json!({ "key": "x" })),
            ],
        );
        assert_eq!(said(&app.tell("once more").await[0]), "ok: once more");
        assert_eq!(with(&app.public_log().await, &["failure"]).len(), 1);
    }
);

// Model calls are a budget, too: of decision and voices together.
on_both!(
    model_calls_of_a_turn_end_at_their_limit_with_a_visible_note,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            decision,
            call("ask", json!({ "submodule": "a", "question": "And?" })),
        );
        let setup = Setup::new(medium, &stub)
            .voices(&["a"])
            .env("THINKD_BUDGET__MODEL_CALLS", 5);
        let app = setup.env("THINKD_TURN__MAX_ROUNDS", 100).start().await;
        assert!(app.tell("go").await.is_empty());
        let log = app.public_log().await;
        assert!(
            said(one(&log, &["failure", "budget"])).contains("model_calls"),
            "{}",
            story(&log)
        );
        assert!(
            (5..=7).contains(&stub.requests().len()),
            "{} calls",
            stub.requests().len()
        );
        envelope::check_turns(&log, "main");
    }
);

// Tokens are a budget where one is set: those of all calls of the turn, as the provider counts them.
on_both!(
    tokens_of_a_turn_end_at_their_limit_with_a_visible_note,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            |r| !r.says("be brief"),
            call("state_get", json!({ "key": "x" })).usage(100, 10, 0),
        );
        stub.on(|r| r.says("be brief"), reply("Yes.").usage(100, 10, 0));
        let app = Setup::new(medium, &stub)
            .env("THINKD_BUDGET__TOKENS", 300)
            .start()
            .await;
        assert!(app.tell("go").await.is_empty());
        let log = app.public_log().await;
        let failure = one(&log, &["failure", "budget"]);
        assert!(
            said(failure).contains("budget.tokens") && said(failure).contains("300"),
            "{failure}"
        );
        assert_eq!(
            stub.count(decision),
            3,
            "330 tokens are more than 300: {}",
            story(&log)
        );
        assert_eq!(
            with(&log, &["turn", "ended"])[0]["payload"]["outcome"],
            "failed"
        );
        assert_eq!(
            said(&app.tell("be brief").await[0]),
            "Yes.",
            "the next turn has its own"
        );
    }
);

on_both!(
    tool_calls_of_a_turn_end_at_their_limit_with_a_visible_note,
    |medium| {
        let stub = Stub::start().await;
        let five = (1..5).fold(call("state_get", json!({ "key": "0" })), |a, n| {
            a.and("state_get", json!({ "key": format!("{n}") }))
        });
        stub.script(decision, [five, reply("done")]);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TURN__MAX_TOOL_CALLS", 3)
            .start()
            .await;
        app.tell("go").await;
        let log = app.public_log().await;
        let ran = with(&log, &["result", "tool:state_get"])
            .into_iter()
            .filter(|e| !has(e, "failure"))
            .count();
        assert_eq!(ran, 3, "{}", story(&log));
        assert!(
            !with(&log, &["failure", "budget"]).is_empty(),
            "{}",
            story(&log)
        );
        envelope::check_turns(&log, "main");
    }
);

// D4.15 T4.61
on_both!(
    d4_15_t4_61_two_quick_inputs_are_two_turns_one_after_the_other,
    |medium| {
        let stub = Stub::start().await;
        let held = Gate::new();
        stub.script(decision, [reply("to the first").held(&held)]);
        let app = Setup::new(medium, &stub).voices(&["a", "b"]).start().await;
        let mut socket = app.socket().await;
        assert_eq!(socket.say("first").await["status"], "started");
        stub.request(decision).await;
        let ack = socket.say("second").await;
        assert_eq!(ack["status"], "queued");
        assert_eq!(
            stub.count(Request::is_comment),
            2,
            "the second input waits for its turn"
        );
        held.open();
        assert_eq!(said(&socket.response().await), "to the first");
        assert_eq!(said(&socket.response().await), "ok: second");
        socket.turn_ended().await;
        socket.turn_ended().await;
        let log = app.public_log().await;
        let of = |turn: u64, tag: &str| {
            with(&log, &[tag])
                .into_iter()
                .filter(|e| e["payload"]["turn"] == turn)
                .map(seq)
                .collect::<Vec<_>>()
        };
        let decided = of(1, "decision");
        let heard = [of(2, "submodule:a"), of(2, "submodule:b")].concat();
        assert!(decided.iter().max() < heard.iter().min(), "{}", story(&log));
        assert_eq!(
            with(&log, &["turn", "started"])[1]["payload"]["batch"],
            json!([seq(&ack["events"][0])])
        );
        envelope::check_turns(&log, "main");
    }
);

// D4.46: what arrives while the voices speak is in the decision's view, marked, and still has its own turn.
on_both!(d4_46_the_decision_sees_what_arrived_meanwhile, |medium| {
    let stub = Stub::start().await;
    let held = Gate::new();
    stub.script(voice("a"), [text("slowly said").held(&held)]);
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    let mut socket = app.socket().await;
    socket.say("first").await;
    stub.request(voice("a")).await;
    let second = seq(&socket.say("second").await["events"][0]);
    assert_eq!(stub.count(decision), 0, "the decision waits for the voice");
    held.open();
    let asked = stub.request(decision).await;
    assert!(asked.seqs().contains(&second), "{asked:?}");
    assert!(
        asked.last().contains("Arrived meanwhile") && asked.last().contains(&format!("#{second}")),
        "{asked:?}"
    );
    let next = stub.nth(1, decision).await;
    assert!(!next.last().contains("Arrived meanwhile"), "{next:?}");
    socket.turn_ended().await;
    socket.turn_ended().await;
    assert_eq!(with(&app.public_log().await, &["turn", "ended"]).len(), 2);
});

// Several inputs that wait are one batch.
on_both!(what_waits_together_is_handled_in_one_turn, |medium| {
    let stub = Stub::start().await;
    let held = Gate::new();
    stub.script(decision, [reply("first").held(&held)]);
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    socket.say("one").await;
    stub.request(decision).await;
    let mut waiting = Vec::new();
    for text in ["two", "three", "four"] {
        let ack = socket.say(text).await;
        assert_eq!(ack["status"], "queued");
        waiting.push(seq(&ack["events"][0]));
    }
    held.open();
    socket.response().await;
    assert_eq!(said(&socket.response().await), "ok: four");
    socket.turn_ended().await;
    socket.turn_ended().await;
    let log = app.public_log().await;
    let turns = with(&log, &["turn", "started"]);
    assert_eq!(
        turns
            .iter()
            .map(|t| t["payload"]["batch"].clone())
            .collect::<Vec<_>>()[1],
        json!(waiting)
    );
    envelope::check_turns(&log, "main");
});

// D4.61 T4.61
on_both!(
    d4_61_with_policy_interrupt_new_input_replaces_the_running_turn,
    |medium| {
        let stub = Stub::start().await;
        stub.script(decision, [reply("never said").never()]);
        let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        let thread = app.conversation(json!({ "policy": "interrupt" })).await;
        let mut socket = app.socket().await;
        let first = seq(&socket.say_in(&thread, "first").await["events"][0]);
        let asked = stub.request(decision).await;
        let second = seq(&socket.say_in(&thread, "second").await["events"][0]);
        asked.closed().await;
        assert_eq!(said(&socket.response().await), "ok: second");
        let ends = [socket.turn_ended().await, socket.turn_ended().await];
        assert_eq!(
            [
                &ends[0]["payload"]["outcome"],
                &ends[1]["payload"]["outcome"]
            ],
            ["interrupted", "done"]
        );
        let log = app.public_log().await;
        let batches: Vec<Value> = with(&log, &["turn", "started"])
            .iter()
            .map(|t| t["payload"]["batch"].clone())
            .collect();
        assert_eq!(
            batches,
            [json!([first]), json!([first, second])],
            "the next turn has both"
        );
        assert!(
            !with(&log, &["submodule:a"]).is_empty(),
            "what was recorded is kept"
        );
        envelope::check_turns(&log, &thread);
    }
);

on_both!(
    d4_61_with_policy_reject_new_input_is_refused_while_a_turn_runs,
    |medium| {
        let stub = Stub::start().await;
        let held = Gate::new();
        stub.script(decision, [reply("done").held(&held)]);
        let app = App::start(medium, &stub).await;
        let thread = app.conversation(json!({ "policy": "reject" })).await;
        let mut socket = app.socket().await;
        socket.say_in(&thread, "first").await;
        stub.request(decision).await;
        let refused = socket
            .ask(json!({ "type": "message", "thread": thread, "text": "second" }))
            .await;
        assert_eq!(
            (&refused["type"], &refused["problem"]["type"]),
            (&json!("problem"), &json!("/problems/busy")),
            "{refused}"
        );
        held.open();
        socket.turn_ended().await;
        assert!(
            app.public_log()
                .await
                .iter()
                .all(|event| said(event) != "second"),
            "refused, and stored"
        );
        assert_eq!(
            said(&app.tell_in(&thread, "third").await[0]),
            "ok: third",
            "idle again, it takes input"
        );
    }
);

// Parallel across threads: one that hangs delays nobody.
on_both!(threads_do_not_wait_for_each_other, |medium| {
    let stub = Stub::start().await;
    stub.on(|r| r.thread == "stuck", reply("never").never());
    let app = Setup::new(medium, &stub)
        .voices(&["a"])
        .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 60_000)
        .start()
        .await;
    let mut socket = app.socket().await;
    socket.say_in("stuck", "hello?").await;
    stub.request(|r| r.thread == "stuck").await;
    for n in 0..8 {
        let thread = format!("free-{n}");
        assert_eq!(said(&app.tell_in(&thread, "hi").await[0]), "ok: hi");
    }
    // And two that are asked at the same time are answered at the same time.
    let held = Gate::new();
    stub.clear();
    stub.on(decision, reply("together").held(&held));
    socket.say_in("left", "go").await;
    socket.say_in("right", "go").await;
    stub.request(|r| r.is_decision() && r.thread == "left")
        .await;
    stub.request(|r| r.is_decision() && r.thread == "right")
        .await;
    held.open();
    socket.response().await;
    socket.response().await;
});

// Cancel reaches the provider's connection, whoever is being asked.
on_both!(cancel_closes_the_connections_to_the_provider, |medium| {
    let stub = Stub::start().await;
    stub.on(voice("a"), text("never").never())
        .on(decision, reply("never").never());
    let app = Setup::new(medium, &stub)
        .voices(&["a", "b"])
        .env("THINKD_TURN__SUBMODULE_TIMEOUT_MS", 60_000)
        .start()
        .await;
    let mut socket = app.socket().await;
    socket.say("go").await;
    let asked = stub.request(voice("a")).await;
    let ack = socket
        .ask(json!({ "type": "cancel", "thread": "main" }))
        .await;
    assert_eq!(
        (&ack["type"], &ack["status"]),
        (&json!("ack"), &json!("ok")),
        "{ack}"
    );
    asked.closed().await;
    assert_eq!(socket.turn_ended().await["payload"]["outcome"], "cancelled");
    assert_eq!(stub.count(decision), 0, "the turn went on");

    app.delete("/submodules/a").await.expect(204);
    socket.say("again").await;
    let asked = stub.request(decision).await;
    app.post("/threads/main/cancel", json!({})).await;
    asked.closed().await;
    assert_eq!(socket.turn_ended().await["payload"]["outcome"], "cancelled");
    stub.clear();
    assert_eq!(
        said(&socket.chat("third").await),
        "ok: third",
        "the thread lives"
    );
    socket.turn_ended().await;
    envelope::check_turns(&app.public_log().await, "main");
});

// A cancel right behind its message, before anybody has taken the turn up.
on_both!(
    a_cancel_that_comes_before_the_turn_begins_is_not_lost,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, reply("never").never());
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        for n in 0..10 {
            let thread = format!("t{n}");
            socket.say_in(&thread, "go").await;
            socket
                .ask(json!({ "type": "cancel", "thread": thread }))
                .await;
            let end = socket.turn_ended().await;
            assert_eq!(
                (&end["thread"], &end["payload"]["outcome"]),
                (&json!(thread), &json!("cancelled"))
            );
        }
    }
);

// A reply cut off is stored as far as it was sent, and says so.
on_both!(
    a_reply_cut_off_by_cancel_is_kept_as_far_as_it_was_shown,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            decision,
            [reply("This will never be said to its end by anybody.").paused(7, &Gate::new())],
        );
        let app = Setup::new(medium, &stub)
            .env("THINKD_MODELS__LOW__STREAM", true)
            .start()
            .await;
        let mut socket = app.socket().await;
        socket.say("go").await;
        let asked = stub.request(decision).await;
        socket.of_type("delta").await;
        socket
            .ask(json!({ "type": "cancel", "thread": "main" }))
            .await;
        asked.closed().await;
        let response = socket.response().await;
        assert!(has(&response, "partial"), "{response}");
        let shown: String = socket
            .seen
            .iter()
            .filter(|f| f["type"] == "delta")
            .filter_map(|f| f["text"].as_str())
            .collect();
        assert_eq!(said(&response), shown);
        assert!(
            !shown.is_empty()
                && "This will never be said to its end by anybody.".starts_with(&shown)
        );
        let end = socket.of_type("delta_end").await;
        assert_eq!(
            (&end["outcome"], &end["event_id"]),
            (&json!("partial"), &response["event_id"])
        );
        assert_eq!(socket.turn_ended().await["payload"]["outcome"], "cancelled");
        // The next view says that it was cut off.
        assert_eq!(said(&socket.chat("and now?").await), "ok: and now?");
        assert!(stub.nth(1, decision).await.says("cut off"));
    }
);

// D4.11: who said what and why can be told from source, tags and text alone.
on_both!(d4_11_the_log_can_be_read_as_a_story, |medium| {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [
            call("state_get", json!({ "key": "name" })).saying("I look up the name first."),
            reply("Hello, Ada."),
        ],
    );
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    app.tell("do you know me?").await;
    let story = story(&app.public_log().await);
    for line in [
        "user [input type:message] do you know me?",
        "internal [submodule:a] a: noted.",
        "internal [decision] I look up the name first.",
        "internal [decision action tool:state_get] state_get {\"key\":\"name\"}",
        "tool [result tool:state_get] ",
        "tool [response result tool:reply] Hello, Ada.",
        "internal [turn ended turn:1] turn 1 ended: done",
    ] {
        assert!(story.contains(line), "{line:?} is not in\n{story}");
    }
});

// A record says when the first piece of an answer came, and when the last; one that nothing came of does not.
on_both!(
    a_record_says_when_the_first_piece_of_the_answer_came,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(voice("broken"), status(400));
        stub.on(
            decision,
            reply("a long answer, bit by bit").paused(6, &gate),
        );
        let app = Setup::new(medium, &stub).voices(&["broken"]).start().await;
        let mut socket = app.socket().await;
        let begun = std::time::Instant::now();
        socket.say("hello").await;
        socket.of_type("delta").await;
        let seen = u64::try_from(begun.elapsed().as_millis()).unwrap();
        // What is measured is time.
        tokio::time::sleep(ms(200)).await;
        gate.open();
        socket.turn_ended().await;
        let log = app.log().await;
        let record = with(&log, &["call:decision"])[0]["payload"].clone();
        let first = record["first_piece_ms"].as_u64().unwrap();
        let whole = record["duration_ms"].as_u64().unwrap();
        assert!(
            first <= seen && whole >= first + 150,
            "{first} of {whole} ms, seen after {seen}"
        );
        let nothing = with(&log, &["call:submodule:broken"])[0]["payload"].clone();
        assert!(
            nothing["duration_ms"].is_u64() && nothing["first_piece_ms"].is_null(),
            "{nothing}"
        );
    }
);
