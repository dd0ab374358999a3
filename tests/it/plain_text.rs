//! Plain words of a conversation's decision: they are its answer, unless `turn.plain_text` says otherwise.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::written::{FORMS, is_marked};
use kit::*;

const PLAIN_TEXT: &str = "THINKD_TURN__PLAIN_TEXT";

fn texts(responses: &[Value]) -> Vec<&str> {
    responses.iter().map(said).collect()
}

/// Returns the words of the decision that reached no recipient.
fn thinking(log: &[Value]) -> Vec<&str> {
    let own = with(log, &["decision"]);
    own.into_iter()
        .filter(|event| !has(event, "action") && !has(event, "failure"))
        .map(said)
        .collect()
}

on_sqlite!(plain_words_are_the_reply, |medium| {
    let stub = Stub::start().await;
    stub.script(decision, [text("\n Good day. — 🌱\nHow are you? \n")]);
    let app = App::start(medium, &stub).await;
    let responses = app.tell("hello").await;
    assert_eq!(texts(&responses), ["Good day. — 🌱\nHow are you?"]);
    assert_eq!(stub.count(decision), 1, "one call");
    let log = app.public_log().await;
    let action = one(&log, &["decision", "action", "tool:reply"]);
    assert_eq!(action["payload"]["from"], "text");
    assert_eq!(
        action["payload"]["arguments"],
        json!({ "text": "Good day. — 🌱\nHow are you?" })
    );
    let response = one(&log, &["response"]);
    assert_eq!(action["payload"]["call_id"], response["payload"]["call_id"]);
    assert_eq!(thinking(&log), [""; 0], "said once: {}", story(&log));
    assert!(with(&log, &["failure"]).is_empty(), "{}", story(&log));
    assert_eq!(one(&log, &["turn", "ended"])["payload"]["outcome"], "done");
    let all = app.log().await;
    let record = one(&all, &["call:decision"]);
    assert_eq!(record["payload"]["calls"][0]["from"], "text");
    // The next prompt has it as any reply, and a call by tool has no such member.
    app.tell("well").await;
    let second = stub.nth(1, decision).await;
    assert!(second.says("How are you?"), "{second:?}");
    let log = app.public_log().await;
    let actions = with(&log, &["action", "tool:reply"]);
    assert_eq!(actions[1]["payload"]["from"], Value::Null);
    envelope::check_log(&app.log().await);
    envelope::check_turns(&log, "main");
});

on_sqlite!(
    words_after_a_reply_and_beside_calls_stay_thinking,
    |medium| {
        let stub = Stub::start().await;
        let look = || call("state_get", json!({ "key": "x" }));
        stub.script(
            decision,
            [
                reply("Here it is.").and("state_get", json!({ "key": "x" })),
                text("Done."),
            ],
        );
        let app = App::start(medium, &stub).await;
        let responses = app.tell("one").await;
        assert_eq!(texts(&responses), ["Here it is."], "no second answer");
        let log = app.public_log().await;
        assert_eq!(thinking(&log), ["Done."]);
        assert_eq!(one(&log, &["turn", "ended"])["payload"]["outcome"], "done");
        assert_eq!(stub.count(decision), 2);
        // Words beside a call are thinking; the words that end the turn are its answer.
        stub.script(
            decision,
            [look().saying("I look."), text("Nothing is kept.")],
        );
        assert_eq!(texts(&app.tell("two").await), ["Nothing is kept."]);
        assert_eq!(thinking(&app.public_log().await), ["Done.", "I look."]);
        // So is an answer that is nothing, after a reply; before one it is asked for again, and the words that come are the answer.
        stub.script(
            decision,
            [
                reply("Yes.").and("state_get", json!({ "key": "x" })),
                text(""),
            ],
        );
        assert_eq!(texts(&app.tell("three").await), ["Yes."]);
        stub.script(decision, [text(""), text("Here.")]);
        assert_eq!(texts(&app.tell("four").await), ["Here."]);
        assert!(stub.all(decision).last().unwrap().is_repair());
        assert!(with(&app.public_log().await, &["failure"]).is_empty());
    }
);

#[tokio::test]
async fn the_words_of_a_process_stay_thinking() {
    let stub = Stub::start().await;
    stub.script(
        at("p"),
        [
            text("Hm."),
            call("wait", json!({ "from": null, "timeout": null })),
        ],
    );
    let app = App::start(Medium::sqlite(), &stub).await;
    let mut socket = app.socket().await;
    app.process("p", json!({})).await;
    app.say_in("p", "go").await;
    stub.nth(1, at("p")).await;
    socket.turn_ended().await;
    let log = app.public_log().await;
    assert!(with(&log, &["response"]).is_empty(), "{}", story(&log));
    assert!(thinking(&log).contains(&"Hm."), "{}", story(&log));
}

#[tokio::test]
async fn plain_words_may_be_refused() {
    let stub = Stub::start().await;
    stub.script(decision, [text("Talk.")]);
    let app = Setup::new(Medium::sqlite(), &stub)
        .env(PLAIN_TEXT, "refuse")
        .start()
        .await;
    assert!(app.tell("hello").await.is_empty());
    assert_eq!(stub.count(decision), 1, "at once");
    let log = app.public_log().await;
    let failure = said(one(&log, &["failure", "interpreter"])).to_owned();
    assert!(failure.contains("turn.plain_text"), "{failure}");
    assert_eq!(thinking(&log), ["Talk."]);
    assert_eq!(texts(&app.tell("and now?").await), ["ok: and now?"]);
}

// Advice names nothing that is set already.
#[tokio::test]
async fn a_decision_that_stays_mute_is_told_what_is_not_set_yet() {
    for (set, says, not) in [
        (
            &[(PLAIN_TEXT, "ask-again")][..],
            &["turn.plain_text", "turn.language"][..],
            &[][..],
        ),
        (
            &[(PLAIN_TEXT, "ask-again"), ("THINKD_TURN__LANGUAGE", "auto")],
            &["turn.plain_text"],
            &["turn.language"],
        ),
        (
            &[],
            &["neither words nor a tool call"],
            &["turn.plain_text", "turn.language"],
        ),
    ] {
        let stub = Stub::start().await;
        let words = if set.is_empty() { "" } else { "Talk." };
        stub.script(decision, [text(words), text(words)]);
        let setup = Setup::new(Medium::sqlite(), &stub);
        let setup = set
            .iter()
            .fold(setup, |setup, (name, value)| setup.env(name, value));
        let app = setup.start().await;
        assert!(app.tell("hello").await.is_empty());
        let log = app.public_log().await;
        let failure = said(one(&log, &["failure", "interpreter"])).to_owned();
        for part in says {
            assert!(failure.contains(part), "{part}: {failure}");
        }
        for part in not {
            assert!(!failure.contains(part), "{part}: {failure}");
        }
    }
}

// A thread that speaks the thinking language: words without an element are its answer, too.
#[tokio::test]
async fn words_without_elements_are_the_reply_of_a_thread_that_knows_elements() {
    let stub = Stub::start().await;
    stub.script(at("xml"), [text("Good day.")]);
    stub.script(at("auto"), [text("I could say so."), text("Good day.")]);
    stub.script(at("mute"), [text("Good evening."), text("")]);
    let app = App::start(Medium::sqlite(), &stub).await;
    for (thread, language, says) in [
        ("xml", "xml", "Good day."),
        ("auto", "auto", "Good day."),
        ("mute", "auto", "Good evening."),
    ] {
        app.conversation(json!({ "label": thread, "language": language }))
            .await;
        assert_eq!(texts(&app.tell_in(thread, "hello").await), [says]);
    }
    assert_eq!(stub.count(at("xml")), 1);
    assert!(stub.all(at("auto"))[1].says("One example of each."));
}

/// Asks with streamed answers; the socket sees each delta.
async fn streaming(medium: Medium, stub: &Stub) -> (App, Socket) {
    let app = Setup::new(medium, stub)
        .env("THINKD_MODELS__LOW__STREAM", true)
        .start()
        .await;
    let socket = app.socket().await;
    (app, socket)
}

fn deltas(socket: &Socket) -> Vec<&Value> {
    let all = socket.seen.iter();
    all.filter(|frame| frame["type"] == "delta").collect()
}

// Words are shown while they arrive only if it is known of the model that its words are its answer.
on_sqlite!(
    words_are_streamed_once_a_model_is_known_to_answer_so,
    |medium| {
        let stub = Stub::start().await;
        let half = Gate::new();
        let words = " Words enough for many pieces — 🌍 and then some. ";
        stub.script(
            decision,
            [text(words), text(words), text(words).paused(7, &half)],
        );
        let (_app, mut socket) = streaming(medium, &stub).await;
        for _ in 0..2 {
            socket.say("speak").await;
            socket.turn_ended().await;
            assert!(deltas(&socket).is_empty(), "nothing is known of it yet");
        }
        socket.say("speak").await;
        let first = socket.of_type("delta").await;
        assert_eq!(first["at"], 0);
        half.open();
        let response = socket.event("the third", |event| {
            has(event, "response") && event["payload"]["turn"] == 3
        });
        let response = response.await;
        assert_eq!(said(&response), words.trim());
        let end = socket.of_type("delta_end").await;
        assert_eq!(
            (&end["event_id"], &end["outcome"]),
            (&response["event_id"], &json!("stored"))
        );
        let mut shown = String::new();
        for delta in deltas(&socket) {
            assert_eq!(delta["event_id"], response["event_id"]);
            assert_eq!(delta["at"], json!(shown.chars().count()));
            shown.push_str(delta["text"].as_str().unwrap());
        }
        assert_eq!(shown, words.trim());
    }
);

// Thinking is shown to nobody. A model that was known to answer in words, and then thinks aloud, takes back what it showed, is
// believed no more, and nothing of it is stored as a reply.
on_sqlite!(what_turns_out_to_be_thinking_is_never_an_answer, |medium| {
    let stub = Stub::start().await;
    let look = || call("state_get", json!({ "key": "x" })).saying("SECRET THOUGHT, long enough.");
    stub.script(decision, [look(), text("An answer."), text("One more.")]);
    let (app, mut socket) = streaming(medium, &stub).await;
    for _ in 0..2 {
        socket.say("speak").await;
        socket.turn_ended().await;
    }
    assert!(deltas(&socket).is_empty(), "{:?}", deltas(&socket));
    stub.script(decision, [look(), reply("Now."), look(), reply("Then.")]);
    socket.say("and now?").await;
    let end = socket.of_type("delta_end").await;
    assert_eq!(end["outcome"], "discarded");
    let discarded = end["event_id"].clone();
    socket.turn_ended().await;
    let shown = deltas(&socket).len();
    assert!(deltas(&socket).iter().any(|it| it["event_id"] == discarded));
    socket.say("and then?").await;
    socket.turn_ended().await;
    let later = deltas(&socket).split_off(shown);
    assert!(
        later
            .iter()
            .all(|it| !it["text"].to_string().contains("SECRET")),
        "{later:?}"
    );
    let log = app.public_log().await;
    for response in with(&log, &["response"]) {
        assert_ne!(response["event_id"], discarded);
        assert!(!said(response).contains("SECRET"), "{response}");
    }
    assert_eq!(thinking(&log), ["SECRET THOUGHT, long enough."; 3]);
});

// A call that was written as text is shown to nobody while it arrives, whatever is known of the model.
#[tokio::test]
async fn a_call_that_arrives_as_text_is_not_shown() {
    let stub = Stub::start().await;
    let (_app, mut socket) = streaming(Medium::sqlite(), &stub).await;
    stub.script(decision, [text("One answer."), text("One more.")]);
    stub.script(decision, FORMS.map(|(_, written)| text(written)));
    for turn in 1..=FORMS.len() + 2 {
        socket.say("speak").await;
        let ended = socket.turn_ended().await;
        assert_eq!(ended["payload"]["outcome"], "done", "{turn}");
    }
    assert!(deltas(&socket).is_empty(), "{:?}", deltas(&socket));
    let events = socket.events();
    let replies: Vec<&str> = with(&events, &["response"]).into_iter().map(said).collect();
    assert_eq!(replies[2..], ["hi"; FORMS.len()]);
}

on_sqlite!(tool_calls_that_are_written_as_text_are_made, |medium| {
    let stub = Stub::start().await;
    let look =
        "<tool_call>\n{\"name\": \"state_get\", \"arguments\": {\"key\": \"x\"}}\n</tool_call>";
    let thought = format!("<think>I look first.</think>\n{look}");
    stub.script(decision, [text(&thought), text(FORMS[0].1)]);
    let app = App::start(medium, &stub).await;
    assert_eq!(texts(&app.tell("go").await), ["hi"]);
    let log = app.public_log().await;
    let actions = with(&log, &["action"]);
    let made: Vec<_> = actions
        .iter()
        .map(|it| {
            (
                it["payload"]["tool"].as_str().unwrap(),
                it["payload"]["from"].as_str(),
            )
        })
        .collect();
    assert_eq!(made, [("state_get", Some("text")), ("reply", Some("text"))]);
    assert_eq!(
        one(&log, &["result", "tool:state_get"])["payload"]["turn"],
        1
    );
    // Thinking in tags is for nobody.
    assert_eq!(thinking(&log), Vec::<&str>::new());
    envelope::check_log(&app.log().await);
    envelope::check_turns(&log, "main");
});

// Some user asks the model to repeat a call: it is text, in each form.
#[tokio::test]
async fn a_call_that_a_user_asked_to_see_is_text() {
    let stub = Stub::start().await;
    let answers: Vec<String> = FORMS
        .iter()
        .flat_map(|(_, call)| {
            // Behind no mark of calls it is JSON, or an element, of which nobody knows more.
            let other = (!is_marked(call)).then(|| call.replace("reply", "get_weather"));
            let spoken = [
                format!("You would write: {call}"),
                format!("```\n{call}\n```"),
                format!("“{call}”"),
            ];
            spoken.into_iter().chain(other)
        })
        .collect();
    stub.script(decision, answers.iter().map(|answer| text(answer)));
    let app = App::start(Medium::sqlite(), &stub).await;
    for answer in &answers {
        // Marks of a chat template are no words.
        let ends = [
            "<|im_end|>",
            "<|eom_id|>",
            "<|eot_id|>",
            "<｜end▁of▁sentence｜>",
            "</s>",
        ];
        let told = ends
            .iter()
            .fold(answer.as_str(), |text, mark| text.trim_end_matches(mark));
        assert_eq!(texts(&app.tell("Please repeat it.").await), [told]);
    }
}

// A mark of calls is no word for a user: the model is told which tools there are.
#[tokio::test]
async fn a_call_of_an_invented_tool_behind_a_mark_is_not_shown() {
    let stub = Stub::start().await;
    let calls = FORMS.iter().map(|(_, call)| *call);
    let calls = calls.filter(|call| is_marked(call));
    let answers: Vec<String> = calls
        .map(|call| call.replace("reply", "get_weather"))
        .collect();
    let script = answers.iter().flat_map(|answer| [text(answer), text("hi")]);
    stub.script(decision, script);
    let app = App::start(Medium::sqlite(), &stub).await;
    for answer in &answers {
        assert_eq!(texts(&app.tell("hello").await), ["hi"], "{answer}");
    }
    let told = stub.all(decision).pop().unwrap();
    assert!(told.says("there is no tool"), "{}", told.text());
}

// Budgets are those of any call.
#[tokio::test]
async fn written_calls_draw_on_the_budget_of_calls() {
    let stub = Stub::start().await;
    let look = "<tool_call>{\"name\": \"state_get\", \"arguments\": {\"key\": \"x\"}}</tool_call>";
    stub.script(decision, [text(&look.repeat(5))]);
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TURN__MAX_TOOL_CALLS", 2)
        .start()
        .await;
    app.tell("go").await;
    let log = app.public_log().await;
    let results = with(&log, &["result", "tool:state_get"]);
    assert_eq!(results.len(), 3, "{}", story(&log));
    assert!(said(results[2]).contains("turn.max_tool_calls"));
}

// A turn that only looks things up is asked for its reply in the last round.
on_sqlite!(the_last_round_is_for_the_reply, |medium| {
    let stub = Stub::start().await;
    stub.on(
        |request| request.is_decision() && request.tools() != ["reply"],
        call("state_get", json!({ "key": "x" })),
    );
    let app = App::start(medium, &stub).await;
    assert_eq!(texts(&app.tell("go").await), ["ok: go"]);
    assert_eq!(stub.count(decision), 6);
    let last = stub.nth(5, decision).await;
    assert!(last.says("the user has no answer yet"), "{last:?}");
    assert!(with(&app.public_log().await, &["failure"]).is_empty());
});

// Arguments that are no JSON, of a reply whose text is beyond doubt; and one that is not, which is shown as far as it came.
on_sqlite!(
    a_reply_whose_arguments_are_broken_is_read_as_far_as_it_is_certain,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        for broken in [
            "{\"text\": \"Good day.\"",
            "{\"text\": \"Good day.\",}",
            "{\"text\": \"Good day.\"}}",
            "Good day.",
            "\"Good day.\"",
            "\"{\\\"text\\\": \\\"Good day.\\\"}\"",
        ] {
            stub.script(decision, [call_raw("reply", broken)]);
            assert_eq!(texts(&app.tell("hello").await), ["Good day."], "{broken}");
        }
        let log = app.public_log().await;
        assert!(with(&log, &["failure"]).is_empty(), "{}", story(&log));
        let before = log.len();
        stub.on(decision, call_raw("reply", "{\"text\": \"Good day, and"));
        let responses = app.tell("hello").await;
        assert_eq!(texts(&responses), ["Good day, and"]);
        assert!(has(&responses[0], "partial"), "{responses:?}");
        let log = app.public_log().await.split_off(before);
        assert_eq!(with(&log, &["response"]).len(), 1, "{}", story(&log));
        assert_eq!(
            one(&log, &["turn", "ended"])["payload"]["outcome"],
            "failed"
        );
        envelope::check_log(&app.log().await);
        for broken in [
            "{\"text\" \"Good day.\"}",
            "{\"text\": \"Good day.\" and so on",
            "{ 'text' = 'Good day.'",
        ] {
            stub.clear();
            stub.on(decision, call_raw("reply", broken));
            assert_eq!(texts(&app.tell("hello").await), ["Good day."], "{broken}");
        }
    }
);

// A voice that looks something up writes its calls as text, too: they are made, and are no remark.
#[tokio::test]
async fn written_calls_of_a_voice_are_made() {
    let stub = Stub::start().await;
    let look = "<tool_call>{\"name\": \"state_get\", \"arguments\": {\"key\": \"x\"}}</tool_call>";
    stub.script(Request::is_comment, [text(look), text("Nothing is kept.")]);
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&["owl"])
        .env("THINKD_TURN__FOLLOW_UP", false)
        .start()
        .await;
    app.tell("hello").await;
    let log = app.public_log().await;
    let action = one(&log, &["submodule:owl", "action", "tool:state_get"]);
    assert_eq!(action["payload"]["from"], "text");
    let remarks = with(&log, &["submodule:owl"]);
    let remarks = remarks
        .into_iter()
        .filter(|event| !has(event, "action") && !has(event, "result"));
    assert_eq!(remarks.map(said).collect::<Vec<_>>(), ["Nothing is kept."]);
}

// A limit of tokens cut the answer: the user gets its words once, marked as cut off, and a failure names the limit.
#[tokio::test]
async fn words_that_a_limit_of_tokens_cut_are_a_reply_that_is_cut_off() {
    let stub = Stub::start().await;
    let cut = |words: &str| {
        let message = json!({ "role": "assistant", "content": words });
        let choice = json!({ "index": 0, "message": message, "finish_reason": "length" });
        raw(json!({ "object": "chat.completion", "choices": [choice] }).to_string())
    };
    stub.on(at("main"), cut("A long story that does not"));
    stub.on(at("x"), cut("<reply>A long story that does not"));
    let app = App::start(Medium::sqlite(), &stub).await;
    app.conversation(json!({ "label": "x", "language": "xml" }))
        .await;
    for thread in ["main", "x"] {
        let responses = app.tell_in(thread, "tell me").await;
        assert_eq!(texts(&responses), ["A long story that does not"]);
        assert!(has(&responses[0], "partial"), "{responses:?}");
        assert_eq!(stub.count(at(thread)), 1);
    }
    let log = app.public_log().await;
    let failures = with(&log, &["failure", "model", "core"]);
    assert_eq!(failures.len(), 2, "{}", story(&log));
    assert!(failures.iter().all(|it| said(it).contains("max_tokens")));
    envelope::check_log(&app.log().await);
}

on_sqlite!(
    a_turn_that_a_thought_began_does_not_repeat_the_reply_before_it,
    |medium| {
        let stub = Stub::start().await;
        let think = call("think", json!({ "thought": "Go on." }));
        let again = think.and("reply", json!({ "text": "I look into it." }));
        stub.script(
            decision,
            [
                again.clone(),
                again,
                reply("Found it."),
                reply("I look into it."),
            ],
        );
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        socket.say("find it").await;
        for _ in 0..3 {
            socket.turn_ended().await;
        }
        let log = app.public_log().await;
        let replies = |log: &[Value]| {
            let responses = with(log, &["response"]);
            Vec::from_iter(responses.iter().map(|it| said(it).to_owned()))
        };
        assert_eq!(replies(&log), ["I look into it.", "Found it."]);
        let told = log
            .iter()
            .filter(|it| it.to_string().contains("not sent again"));
        assert_eq!(told.count(), 1, "{}", story(&log));
        // A message of the user may be answered by the words of before.
        app.tell("again").await;
        assert_eq!(replies(&app.public_log().await).len(), 3);
        envelope::check_log(&app.log().await);
    }
);
