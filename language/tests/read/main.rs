//! The thinking language: calls in a text. Nothing here needs a server.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests say what is wrong by panicking, and print what helps"
)]

mod nasty;
mod quoted;
mod random;

use serde_json::{Value, json};
use thinking_language::{CALLS_MAX, Reading, TEXT_MAX, UNREADABLE_MAX, read};

/// Returns the calls of a text in a thread called `researcher`.
fn calls(text: &str) -> Vec<(String, Value)> {
    named(&read(text, "researcher"))
}

fn named(reading: &Reading) -> Vec<(String, Value)> {
    let argument = |text: &str| serde_json::from_str(text).unwrap();
    reading
        .calls
        .iter()
        .map(|call| (call.name.clone(), argument(&call.arguments)))
        .collect()
}

/// The calls of a text that has nothing unreadable.
fn clean(text: &str) -> Vec<(String, Value)> {
    let reading = read(text, "researcher");
    assert_eq!(reading.unreadable, Vec::<String>::new(), "{text}");
    named(&reading)
}

/// Returns the calls of a text, and asserts that its reports have all of these words.
fn noted(text: &str, said: &[&str]) -> Vec<(String, Value)> {
    let reading = read(text, "researcher");
    let notes = reading.unreadable.join("\n");
    assert!(!notes.is_empty(), "{text}: nothing was said of it");
    said.iter().for_each(|words| {
        assert!(
            notes.contains(words),
            "{text}: {words:?} is not in {notes:?}"
        )
    });
    named(&reading)
}

fn call(name: &str, arguments: Value) -> (String, Value) {
    (name.to_owned(), arguments)
}

fn send(to: &[&str], text: &str) -> (String, Value) {
    call("send", json!({ "to": to, "text": text }))
}

#[test]
fn d0_10_t3_22_d3_37_as_many_sends_as_are_written() {
    assert_eq!(
        clean("I have to think about that. 3 < 4, and b <c> is text."),
        []
    );
    assert_eq!(
        clean(r#"<send to="bob">hello</send>"#),
        [send(&["bob"], "hello")]
    );
    let three = r#"<send to="a">one</send><send to="b, c">two</send>
        <send to='a'>three</send>"#;
    assert_eq!(
        clean(three),
        [
            send(&["a"], "one"),
            send(&["b", "c"], "two"),
            send(&["a"], "three")
        ]
    );
}

#[test]
fn t3_23_text_around_payloads_is_kept_apart() {
    let text =
        "Let me see.\n<send to=\"bob\">one</send> and then\n<wait from=\"bob\"/>\nThat is all.";
    assert_eq!(
        clean(text),
        [
            send(&["bob"], "one"),
            call("wait", json!({ "from": "bob", "timeout_s": null }))
        ]
    );
    for (text, words) in [
        ("", false),
        (" \n ", false),
        ("hm", true),
        (" <wait/> \n", false),
        ("<wait/> so", true),
        ("<thought>hm</thought>", true),
        ("<thought> </thought>", false),
        ("<researcher>hm</researcher>", false),
        ("<researcher>hm <wait/> so</researcher>", false),
        ("<researcher>hm <wait/> so</researcher> now", true),
        ("`<wait/>`", true),
    ] {
        assert_eq!(read(text, "researcher").words, words, "{text}");
    }
}

#[test]
fn every_element_becomes_its_call() {
    for (text, expected) in [
        (
            "<reply>yes</reply>",
            call("reply", json!({ "text": "yes" })),
        ),
        (
            r#"<spawn-thread suggested_sub_id="image-analysis"><initial-payload> <a b="1">x &lt; y</a> </initial-payload></spawn-thread>"#,
            call(
                "spawn_thread",
                json!({ "label": "image-analysis", "prompt": null, "payload": r#" <a b="1">x &lt; y</a> "# }),
            ),
        ),
        (
            r#"<spawn-thread label="x" prompt="You count.">count to three</spawn-thread>"#,
            call(
                "spawn_thread",
                json!({ "label": "x", "prompt": "You count.", "payload": "count to three" }),
            ),
        ),
        (
            "<spawn_thread/>",
            call(
                "spawn_thread",
                json!({ "label": null, "prompt": null, "payload": null }),
            ),
        ),
        (
            r#"<connect name="b" thread="main.b" description="knows all"/>"#,
            call(
                "connect",
                json!({ "name": "b", "thread": "main.b", "description": "knows all" }),
            ),
        ),
        (
            r#"<disconnect name="b"/>"#,
            call("disconnect", json!({ "name": "b" })),
        ),
        (
            "<wait/>",
            call("wait", json!({ "from": null, "timeout_s": null })),
        ),
        (
            r#"<wait from="b" timeout_s="1.5">"#,
            call("wait", json!({ "from": "b", "timeout_s": 1.5 })),
        ),
        (
            r#"<wait from=b timeout = 30s></wait>"#,
            call("wait", json!({ "from": "b", "timeout_s": 30 })),
        ),
        (
            r#"<terminate reason="done"/>"#,
            call("terminate", json!({ "reason": "done" })),
        ),
        (
            "<terminate>all is done</terminate>",
            call("terminate", json!({ "reason": "all is done" })),
        ),
        (
            r#"<terminate reason="done">it is 4</terminate>"#,
            call("terminate", json!({ "reason": "done\nit is 4" })),
        ),
        (
            "<terminate/>",
            call("terminate", json!({ "reason": "no reason was given" })),
        ),
        (
            r#"<do-nothing reason="all is well">"#,
            call("do_nothing", json!({ "reason": "all is well" })),
        ),
        (
            r#"<clear-context keep="10"/>"#,
            call("clear_context", json!({ "keep": 10 })),
        ),
        (
            r#"<set-timer after="5" note="tea"/>"#,
            call("set_timer", json!({ "after_s": 5, "note": "tea" })),
        ),
        (
            "<set_timer after_s='5'>tea</set_timer>",
            call("set_timer", json!({ "after_s": 5, "note": "tea" })),
        ),
        (
            r#"<ask submodule="critic">why?</ask>"#,
            call("ask", json!({ "submodule": "critic", "question": "why?" })),
        ),
        (
            r#"<watch from="b" kind="result" note="n"/>"#,
            call(
                "watch",
                json!({ "from": "b", "kind": "result", "note": "n" }),
            ),
        ),
        (
            r#"<close-watch id="w1"/>"#,
            call("close_watch", json!({ "id": "w1" })),
        ),
        (
            r#"<fan-out prompt="p" gather="no"><item>1</item><item>2</item></fan-out>"#,
            call(
                "fan_out",
                json!({ "items": ["1", "2"], "prompt": "p", "gather": false, "timeout_s": null }),
            ),
        ),
        (
            "<fan-out><item>1</item></fan-out>",
            call(
                "fan_out",
                json!({ "items": ["1"], "prompt": null, "gather": true, "timeout_s": null }),
            ),
        ),
        (
            "<sequence timeout=\"5\"><step>1</step></sequence>",
            call(
                "sequence",
                json!({ "steps": ["1"], "prompt": null, "timeout_s": 5 }),
            ),
        ),
        (
            r#"<query-events latest="5" tags="a, b">owls</query-events>"#,
            call(
                "query_events",
                json!({ "latest": 5, "since": null, "tags": ["a", "b"], "text": "owls" }),
            ),
        ),
        (
            r#"<state-put key="k" related="a,b">what</state-put>"#,
            call(
                "state_put",
                json!({ "key": "k", "content": "what", "related_keys": ["a", "b"] }),
            ),
        ),
        (
            r#"<state-put key="k">what</state-put>"#,
            call(
                "state_put",
                json!({ "key": "k", "content": "what", "related_keys": [] }),
            ),
        ),
        (
            r#"<state-get key="k"/>"#,
            call("state_get", json!({ "key": "k" })),
        ),
        (
            r#"<state-delete key="k"/>"#,
            call("state_delete", json!({ "key": "k" })),
        ),
        (
            "<state-search>owls</state-search>",
            call("state_search", json!({ "query": "owls", "limit": null })),
        ),
        ("<view-contacts/>", call("view_contacts", json!({}))),
        (
            r#"<set-wait wait="true" from="b"/>"#,
            call(
                "set_wait",
                json!({ "wait": true, "from": "b", "timeout_s": null }),
            ),
        ),
        (
            "<focus>contacts</focus>",
            call("focus", json!({ "operation": "contacts" })),
        ),
        ("<sends-done/>", call("sends_done", json!({}))),
        ("<contacts-done/>", call("contacts_done", json!({}))),
        ("<note>hm</note>", call("note", json!({ "text": "hm" }))),
        (
            "<researcher> so <b>it</b> is </researcher>",
            call("think", json!({ "thought": " so <b>it</b> is " })),
        ),
    ] {
        assert_eq!(clean(text), [expected], "{text}");
    }
}

#[test]
fn names_are_found_however_they_are_spelt() {
    let wait = [call("wait", json!({ "from": null, "timeout_s": null }))];
    for text in [
        "<wait/>",
        "<WAIT/>",
        "<Wait />",
        "<wait\n/>",
        "<x:wait/>",
        "<wait></wait>",
        "<wait></wait >",
    ] {
        assert_eq!(clean(text), wait, "{text}");
    }
    let spawn = [call("clear_context", json!({ "keep": 1 }))];
    for text in [
        "<clear_context keep=1/>",
        "<Clear-Context KEEP='1'>",
        "<m:clear-context xmlns:m='u' keep = “1” />",
    ] {
        assert_eq!(clean(text), spawn, "{text}");
    }
    for text in [
        "<waits/>",
        "<wait.now/>",
        "<await/>",
        "<a-wait/>",
        "< wait/>",
        "<wait",
        "<wait\u{e9}/>",
        "<wa it/>",
    ] {
        assert_eq!(calls(text), [], "{text}");
    }
}

#[test]
fn d3_07_a_thought_and_the_calls_in_it() {
    let text = r#"<researcher xmlns="https://example.org/researcher/v1">
        <thought>Outlining. <wait/></thought><send to="bob">look <researcher>this</researcher> up</send>
        So it goes on.</researcher><wait/>"#;
    let found = clean(text);
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["think", "send", "wait"]);
    let thought = found[0].1["thought"].as_str().unwrap();
    assert!(
        thought.contains("<thought>Outlining. <wait/></thought>")
            && thought.ends_with("So it goes on."),
        "{thought}"
    );
    assert_eq!(
        found[1],
        send(&["bob"], "look <researcher>this</researcher> up")
    );
}

#[test]
fn only_its_own_name_is_a_thought() {
    assert_eq!(calls("<other>hm</other>"), []);
    assert_eq!(
        named(&read("<my_thread>hm</my-thread>", "my-thread")),
        [call("think", json!({ "thought": "hm" }))]
    );
    assert_eq!(
        named(&read("<send to='a'>x</send>", "send")),
        [send(&["a"], "x")],
        "the language's names come first"
    );
    assert_eq!(named(&read("<>hm</>", "")), []);
    assert_eq!(noted("<researcher/>", &["`thought` is missing"]), []);
}

#[test]
fn t3_18_a_plan_has_its_condition_and_steps() {
    let text = r#"<todo-until condition="all sources checked">
        <step done="true">Search web</step>
        <!-- more may come -->
        <step done="false">Analyze &amp; sum up</step>
    </todo-until>"#;
    let steps = json!([{ "text": "Search web", "done": true }, { "text": "Analyze & sum up", "done": false }]);
    assert_eq!(
        clean(text),
        [call(
            "plan",
            json!({ "condition": "all sources checked", "steps": steps })
        )]
    );
}

#[test]
fn t3_21_done_is_read_leniently_and_never_dropped() {
    let plan = |done: &str| format!("<todo-until condition='c'><step {done}>s</step></todo-until>");
    let done = |found: Vec<(String, Value)>| found[0].1["steps"][0]["done"].clone();
    for yes in [
        "done='TRUE'",
        "done=1",
        "done='yes'",
        "done=\" x \"",
        "done=true",
        "done",
        "DONE='Yes'",
    ] {
        assert_eq!(done(clean(&plan(yes))), json!(true), "{yes}");
    }
    for no in ["", "done='false'", "done='0'", "done='No'", "done=''"] {
        assert_eq!(done(clean(&plan(no))), json!(false), "{no}");
    }
    for wrong in ["done='perhaps'", "done='truely'", "done='2'"] {
        assert_eq!(
            done(noted(&plan(wrong), &["true or false", "not done"])),
            json!(false),
            "{wrong}"
        );
    }
}

#[test]
fn t3_21_a_broken_plan_is_read_as_far_as_it_can_be() {
    let steps = |found: Vec<(String, Value)>| found[0].1["steps"].clone();
    let two = json!([{ "text": "one", "done": true }, { "text": "two", "done": false }]);
    let open = "<todo-until condition='c'><step done='1'>one <step>two</todo-until>";
    assert_eq!(steps(noted(open, &["<step> is not closed"])), two);
    let end = "<todo-until condition='c'><step done='1'>one</step><step>two</step>\n<wait/>";
    let found = noted(end, &["it is not closed"]);
    assert_eq!((found.len(), steps(found)), (2, two.clone()));
    let beside = "<todo-until condition='c'>first <step done='1'>one</step> then <step>two</step></todo-until>";
    assert_eq!(steps(noted(beside, &["“first” stands beside"])), two);
    assert_eq!(
        noted("<todo-until condition='c'></todo-until>", &["no <step>"]),
        []
    );
    assert_eq!(
        noted(
            "<todo-until><step>one</step></todo-until>",
            &["`condition` is missing", "<todo-until condition="]
        ),
        []
    );
    assert_eq!(
        noted(
            "<todo-until condition='c'><step/></todo-until>",
            &["without words", "no <step>"]
        ),
        []
    );
    assert_eq!(
        noted(
            "<step done='1'>one</step>",
            &["inside <todo-until> or <sequence> only"]
        ),
        []
    );
    let twice = "<todo-until condition='a'><step>1</step></todo-until><todo-until condition='b'><step>2</step></todo-until>";
    assert_eq!(
        clean(twice).len(),
        2,
        "both plans; the last one wins elsewhere"
    );
}

#[test]
fn d3_38_what_is_broken_is_read_as_far_as_it_can_be() {
    for (text, expected, said) in [
        (
            "<send to='a'>hello",
            vec![send(&["a"], "hello")],
            "it is not closed",
        ),
        ("<send to='a'>hello</send", vec![send(&["a"], "hello")], ""),
        (
            "<send to='a'>x <send to='b'>y</send>",
            vec![send(&["a"], "x"), send(&["b"], "y")],
            "it is not closed",
        ),
        (
            "<send to='a'>x</reply> so",
            vec![send(&["a"], "x")],
            "it is not closed",
        ),
        (
            "<send to='a'>x <wait></send></wait>",
            vec![send(&["a"], "x <wait>")],
            "it ends something that does not begin",
        ),
        ("</send>", vec![], "it ends something that does not begin"),
        ("<send>x</send>", vec![], "`to` is missing"),
        ("<send to=' , '>x</send>", vec![], "`to` is missing"),
        ("<send to>x</send>", vec![], "it needs a value"),
        ("<send to='a'></send>", vec![], "`text` is missing"),
        ("<send/>", vec![], "`to` is missing"),
        (
            "<send to='a' from='me'>x</send>",
            vec![send(&["a"], "x")],
            "no attribute `from`",
        ),
        (
            "<send to='a' to='b'>x</send>",
            vec![send(&["a"], "x")],
            "`to` is given twice",
        ),
        ("<send to='a", vec![], "not finished"),
        (
            "<send to=\"a>x</send> <send to=\"b\">y</send>",
            vec![send(&["b"], "y")],
            "not finished",
        ),
        (
            "<send to='a' <send to='b'>y</send>",
            vec![send(&["b"], "y")],
            "not finished",
        ),
        ("<send to='a' text='x'/>", vec![send(&["a"], "x")], ""),
        ("<clear-context keep='-1'/>", vec![], "whole number"),
        ("<clear-context keep='ten'/>", vec![], "whole number"),
        ("<clear-context keep='1.5'/>", vec![], "whole number"),
        ("<clear-context/>", vec![], "`keep` is missing"),
        (
            "<set-timer after='-5'>x</set-timer>",
            vec![],
            "number of seconds",
        ),
        (
            "<set-timer after='NaN'>x</set-timer>",
            vec![],
            "number of seconds",
        ),
        (
            "<wait from='b' timeout='soon'/>",
            vec![call("wait", json!({ "from": "b", "timeout_s": null }))],
            "number of seconds",
        ),
        (
            "<researcher>so <wait/>",
            vec![
                call("think", json!({ "thought": "so " })),
                call("wait", json!({ "from": null, "timeout_s": null })),
            ],
            "it is not closed",
        ),
        (
            "<researcher>so <send to='a'>x</researcher> on",
            vec![
                call("think", json!({ "thought": "so <send to='a'>x" })),
                send(&["a"], "x"),
            ],
            "it is not closed",
        ),
        (
            "<thought>so <wait/>",
            vec![call("wait", json!({ "from": null, "timeout_s": null }))],
            "it is not closed",
        ),
        (
            "<spawn-thread><initial-payload>x</spawn-thread>",
            vec![call(
                "spawn_thread",
                json!({ "label": null, "prompt": null, "payload": "x" }),
            )],
            "<initial-payload> is not closed",
        ),
        (
            "<spawn-thread>a<initial-payload>x</initial-payload><initial-payload>y</initial-payload></spawn-thread>",
            vec![call(
                "spawn_thread",
                json!({ "label": null, "prompt": null, "payload": "x" }),
            )],
            "more than one <initial-payload>",
        ),
    ] {
        let found = if said.is_empty() {
            clean(text)
        } else {
            noted(text, &[said])
        };
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn what_is_said_names_the_place_and_the_way() {
    let reading = read(
        "First\n<send\n to='a'>hello there, this is a text that is far too long to be shown",
        "x",
    );
    let expected = "Near “<send to='a'>hello there, this is a text…”: it is not closed; it was read up to the next element. \
                    Write it like this: <send to=\"name, other\">text</send>";
    assert_eq!(reading.unreadable, [expected]);
}

#[test]
fn it_is_bounded() {
    let many = read(&"<wait/>".repeat(CALLS_MAX + 1), "x");
    assert_eq!((many.calls.len(), many.unreadable.len()), (CALLS_MAX, 1));
    assert!(
        many.unreadable[0].contains("more than 64"),
        "{:?}",
        many.unreadable
    );
    assert_eq!(
        read(&"<wait/>".repeat(CALLS_MAX), "x").unreadable,
        Vec::<String>::new()
    );

    let wrong = read(&"</send>".repeat(UNREADABLE_MAX + 1), "x");
    assert_eq!(wrong.unreadable.len(), UNREADABLE_MAX);
    assert!(
        wrong.unreadable[UNREADABLE_MAX - 1].contains("more that could not be read"),
        "{:?}",
        wrong.unreadable
    );

    let long = format!("<send to='a'>{}</send><wait/>", "é".repeat(TEXT_MAX / 2));
    let long = read(&long, "x");
    assert_eq!(long.calls.len(), 1, "what is read of it is used");
    assert!(
        long.unreadable[0].contains("longer than"),
        "{:?}",
        long.unreadable
    );
}
