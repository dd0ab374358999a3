//! Tool calls that a model wrote as text, read or left as text: the reader alone, without a server.

use kit::written::{FORMS, is_marked};
use proptest::prelude::*;
use serde_json::{Value, json};
use thinkd::model::provider::{ToolCall, ToolSpec};
use thinkd::model::written::{Found, TEXT_MAX, apart, find, read};
use thinkd::words::marks::{Place, marks as marks_of};
use thinkd::words::text::Json;

/// The tools that are offered: one with a text, one with other types.
fn offered() -> Vec<ToolSpec> {
    let tool = |name: &str, properties: Value| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: Json::of(&json!({ "type": "object", "properties": properties })),
        is_strict: true,
    };
    vec![
        tool("reply", json!({ "text": { "type": "string" } })),
        tool(
            "set_timer",
            json!({
                "after": { "type": "integer" },
                "exact": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
                "note": { "type": ["string", "null"] },
                "days": { "type": "array", "items": { "type": "integer" } },
            }),
        ),
    ]
}

fn calls(text: &str) -> Option<Vec<(String, Value)>> {
    let said = |call: ToolCall| (call.name, serde_json::from_str(&call.arguments).unwrap());
    Some(
        read(text, &offered(), "main")?
            .into_iter()
            .map(said)
            .collect(),
    )
}

fn hi() -> (String, Value) {
    ("reply".to_owned(), json!({ "text": "hi" }))
}

#[test]
fn each_form_is_read() {
    for (name, text) in FORMS {
        assert_eq!(calls(text), Some(vec![hi()]), "{name}: {text}");
        let thought = format!("<think>\nThey say hello: {text}\n</think>\n\n");
        let whole = format!("\n {thought}{text}\n");
        let (_, words) = apart(&whole);
        assert_eq!(
            calls(words),
            Some(vec![hi()]),
            "{name}, after thinking: {text}"
        );
    }
}

// Some user asks the model to repeat a call: in a sentence, a quotation or a code block it is text.
#[test]
fn a_call_that_is_spoken_of_is_text() {
    for (name, text) in FORMS {
        for spoken in [
            format!("You would write {text}"),
            format!("{text}\n\nThat is how one replies."),
            format!("“{text}”"),
            format!("\"{text}\""),
            format!("`{text}`"),
            format!("```\n{text}\n```"),
            format!("```json\n{text}\n```"),
            format!("```xml\n{text}\n```\n"),
            format!("~~~\n{text}\n~~~"),
            format!("> {text}"),
            format!("- {text}"),
        ] {
            assert_eq!(calls(&spoken), None, "{name}: {spoken}");
        }
    }
}

/// The words before the calls that a text ends with.
fn before(text: &str) -> Option<String> {
    match find(text, &offered(), "main") {
        Found::Calls(before, calls) => {
            assert!(calls.iter().all(|call| call.name == "reply"), "{text}");
            Some(before.to_owned())
        }
        _ => None,
    }
}

#[test]
fn a_paragraph_of_plain_sentences_may_stand_before_a_call() {
    let marked = FORMS.iter().map(|(_, call)| *call);
    let marked = marked.filter(|call| is_marked(call) || call.starts_with('`'));
    let begins = ["functools", "<|channel|>analysis"];
    for call in marked.filter(|call| !begins.iter().any(|it| call.starts_with(it))) {
        for (words, gap) in [
            ("Let me think.", " \n"),
            ("Let me think.", "\n\n\n"),
            ("Let me think.", "\r\n\r\n"),
            ("Sure.", ""),
            ("好的。", "\n"),
            ("मैं देखता हूँ।", "\n"),
            ("Sure! 😊", "\n"),
            ("One.\nTwo, and\nthree.\nFour…", "\n"),
            ("I'll use `set_timer`, it's well-known.", "\n"),
            ("It costs 3.50 euros.", "\n"),
        ] {
            let text = format!("{words}{gap}{call}");
            assert_eq!(before(&text).as_deref(), Some(words), "{text}");
        }
    }
    let action = "Action: reply\nAction Input: {\"text\": \"hi\"}";
    for (words, end) in [
        ("", ""),
        ("Thought: I greet", "\nObservation:"),
        ("I greet.", "\n"),
    ] {
        let text = format!("{words}\n{action}{end}");
        assert_eq!(before(&text).as_deref(), Some(words), "{text}");
    }
}

#[test]
fn a_call_behind_other_words_is_text() {
    let action = "Action: reply\nAction Input: {\"text\": \"hi\"}";
    for call in FORMS.iter().map(|(_, call)| *call).chain([action]) {
        for spoken in [
            format!("To reply you write\n{call}"),
            format!("To reply you write {call}"),
            format!("It looks so:\n\n{call}"),
            format!("Like this.\n\n    {call}"),
            format!("He said: “Like this.” {call}"),
            format!("> Like this.\n> {call}"),
            format!("> Like this.\n{call}"),
            format!("Like this.\n```\n{call}\n```"),
            format!("Like this.\n`{call}`"),
            format!("Like this.\n{call}\nThat is all."),
            format!("Let me think\n\n{call}"),
            format!("Such as e.g. {call}"),
            format!("It is → this.\n{call}"),
            format!("The call (as I know it.\n{call}"),
            format!("**Let me think.**\n{call}"),
            format!("Je dis « hi ».\n{call}"),
            format!("3. Look.\n{call}"),
            format!("  Look.\n  {call}"),
            format!("One.\n\nTwo.\n{call}"),
            format!("**Example:**\n\n{call}"),
            format!("_For example:_\n\n{call}"),
            format!("`example:`\n\n{call}"),
            format!("Example: 👇\n\n{call}"),
            format!("【例：】\n\n{call}"),
            format!("Such as,\n\n{call}"),
            format!("例えば、\n\n{call}"),
            format!("I show —\n\n{call}"),
            format!("Er sagte: „Zahle.\n\n{call}"),
            format!("»Zahle.\n\n{call}"),
            format!("『払え。\n\n{call}"),
            format!("《付款。\n\n{call}"),
            format!("He wrote `call.\n\n{call}"),
            format!("<pre>Look.\n\n{call}"),
            format!("<!-- Look.\n\n{call}"),
            format!("1. {call}"),
            format!("**1.** {call}"),
            format!("1. Hermes.\n{call}"),
            format!("• Look.\n{call}"),
            format!("I see.\n<think>Should I?\n\n{call}"),
            format!("Hi.<|im_end|>\n<|im_start|>user\nRun this.\n{call}"),
        ] {
            assert_eq!(before(&spoken), None, "{spoken}");
        }
    }
    for sign in ('!'..='~').filter(|sign| !sign.is_alphanumeric() && !".,!?'-_%".contains(*sign)) {
        let spoken = format!("Look {sign} here.\n{}", FORMS[0].1);
        assert_eq!(before(&spoken), None, "{spoken}");
    }
    for words in [
        "Calls have a mark. <tool_call> is its name",
        "Calls have a mark. <tool_call> works.",
        "Action: call your doctor.",
        "I wait. Action: launch\nAction Input: {}",
        "Action: reply\nAction Input: {\"text\": \"hi\"}\nObservation: done\nFinal Answer: hi",
        "```tool_code\nlaunch()\n```",
        "```tool_code\nprint(\"hi\")\n```",
    ] {
        let found = find(words, &offered(), "main");
        assert!(matches!(found, Found::Words), "{words}: {found:?}");
    }
}

#[test]
fn a_call_of_a_tool_that_was_not_offered_is_text() {
    for (name, text) in FORMS {
        let other = text.replace("reply", "launch");
        assert_eq!(calls(&other), None, "{name}: {other}");
        // The elements of the thinking language are written in either case.
        let near = text.replace("reply", "Reply");
        let guessed = calls(&near).filter(|_| name != "the thinking language");
        assert_eq!(guessed, None, "no name is guessed: {name}: {near}");
        assert_eq!(read(text, &[], "main"), None, "no tools: {name}");
        let both = format!("{text}\n{other}");
        assert_eq!(calls(&both), None, "{name}: {both}");
    }
}

// A value that was cut off is never completed: of a beginning only whole calls are read.
#[test]
fn the_beginning_of_a_call_is_none() {
    let arguments = json!({ "text": "hi" });
    for (name, text) in FORMS {
        for (end, _) in text.char_indices() {
            let Some(read) = calls(&text[..end]) else {
                continue;
            };
            for (_, read) in read {
                assert_eq!(read, arguments, "{name}: {}", &text[..end]);
            }
        }
    }
}

// What a limit of tokens leaves is asked for again, and never shown.
#[test]
fn a_call_that_is_cut_is_broken_and_a_sentence_about_one_is_words() {
    let whole =
        "<tool_call>\n{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}\n</tool_call>";
    for cut in [
        "<function=reply>\n<parameter=text>\nhi\n</parameter>\n<parameter=n>\n5",
        &format!("{whole}\n<tool_call>\n{{\"name\": \"rep"),
        &format!("{whole}\n<tool_call>\n{{\"name\": \"reply\", \"arguments\": {{\"text\": \"h"),
        "{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}",
        "[reply(text=\"hi\")",
        "[TOOL_CALLS][{\"name\": \"reply\", \"arguments\": {\"text\": \"h",
    ] {
        let found = find(cut, &offered(), "main");
        assert!(matches!(found, Found::Broken), "{cut}: {found:?}");
    }
    for words in [
        "[TOOL_CALLS][{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}}] is what I never write.",
        "<|python_tag|>{\"name\": \"reply\", \"parameters\": {\"text\": \"hi\"}} is what I never write.",
        "[reply(text=\"hi\")] is what I never write.",
        &format!("{whole} is what I never write."),
    ] {
        let found = find(words, &offered(), "main");
        assert!(matches!(found, Found::Words), "{words}: {found:?}");
    }
}

// The namespace of elements is that of the calls, not of elements that an argument speaks of.
#[test]
fn an_argument_that_speaks_of_elements_is_as_it_was_written() {
    let said = "See <m:invoke name=\"x\"> in <m:calls>.";
    let arguments = json!({ "text": said });
    let text = json!({ "name": "reply", "arguments": arguments }).to_string();
    let found = calls(&text).unwrap();
    assert_eq!(found, [("reply".to_owned(), arguments)]);
}

#[test]
fn several_calls_keep_their_order() {
    let timer = (
        "set_timer".to_owned(),
        json!({ "after": 60, "exact": true, "note": "60", "days": [1, 2] }),
    );
    let json_of = |(name, arguments): &(String, Value)| {
        json!({ "name": name, "arguments": arguments }).to_string()
    };
    let hi = json_of(&hi());
    let later = json_of(&timer);
    let all = [
        format!("<tool_call>{hi}</tool_call>\n<tool_call>{later}</tool_call>"),
        format!("<tool_call>{hi}\n{later}</tool_call>"),
        format!("[TOOL_CALLS] [{hi}, {later}]"),
        format!("{hi}; {later}"),
        format!("{hi}\n{later}"),
        "[reply(text=\"hi\"), set_timer(after=60, exact=True, note='60', days=[1, 2])]".to_owned(),
        "<function=reply><parameter=text>hi</parameter></function>\n<function=set_timer>\n<parameter=after>\n60\n</parameter>\n\
         <parameter=exact>True</parameter><parameter=note>60</parameter><parameter=days>[1, 2]</parameter></function>"
            .to_owned(),
        "<tool_call>reply\n<arg_key>text</arg_key><arg_value>hi</arg_value></tool_call><tool_call>set_timer<arg_key>after</arg_key>\
         <arg_value>60</arg_value><arg_key>exact</arg_key><arg_value>true</arg_value><arg_key>note</arg_key><arg_value>60</arg_value>\
         <arg_key>days</arg_key><arg_value>[1, 2]</arg_value></tool_call>"
            .to_owned(),
    ];
    for text in all {
        let read = calls(&text);
        assert_eq!(read, Some(vec![self::hi(), timer.clone()]), "{text}");
    }
}

#[test]
fn a_text_becomes_a_type_of_the_schema_and_no_other() {
    for (key, text, expected) in [
        ("after", "60", json!(60)),
        ("after", "6.5", json!("6.5")),
        ("after", "soon", json!("soon")),
        ("after", "\"60\"", json!("\"60\"")),
        ("exact", "false", json!(false)),
        ("exact", "null", json!(null)),
        ("exact", "1", json!("1")),
        ("note", "null", json!(null)),
        ("note", "{\"a\": 1}", json!("{\"a\": 1}")),
        (
            "note",
            "ends </parameter> not yet",
            json!("ends </parameter> not yet"),
        ),
        ("days", "[1]", json!([1])),
        ("days", "{}", json!("{}")),
        ("unknown", "1", json!("1")),
    ] {
        let text =
            format!("<function=set_timer>\n<parameter={key}>\n{text}\n</parameter>\n</function>");
        let expected = vec![("set_timer".to_owned(), json!({ key: expected }))];
        assert_eq!(calls(&text), Some(expected), "{text}");
    }
}

#[test]
fn json_that_is_no_call_is_text() {
    for text in [
        "{\"name\": \"reply\"}",
        "{\"name\": \"reply\", \"arguments\": {\"text\": \"hi\"}, \"comment\": \"so\"}",
        "{\"name\": \"reply\", \"arguments\": [\"hi\"]}",
        "{\"name\": \"reply\", \"arguments\": \"hi\"}",
        "{\"name\": \"reply\", \"arguments\": {}, \"parameters\": {}}",
        "{\"type\": \"object\", \"name\": \"reply\", \"parameters\": {}}",
        "{\"name\": \"reply\", \"input\": {\"text\": \"hi\"}}",
        "<tools>{\"name\": \"reply\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}</tools>",
        "[]",
        "{}",
        "<tool_call></tool_call>",
        "[reply(\"hi\")]",
        "[reply(text=hi)]",
        "[reply(text=\"hi\", text=\"ho\")]",
        "reply(text=\"hi\")",
        "<p>hi</p>",
    ] {
        assert_eq!(calls(text), None, "{text}");
    }
}

// It is read on a thread that others need: no text may take the square of its length.
#[test]
fn a_text_of_one_mark_takes_no_time() {
    let marks = [Place::Call, Place::Around, Place::Json].into_iter();
    let marks = marks
        .flat_map(marks_of)
        .chain(["<|a|>", "invoke name=", "<a>"]);
    for mark in marks {
        let text = mark.repeat(TEXT_MAX / 16 / mark.len());
        let begin = std::time::Instant::now();
        let found = find(&text, &offered(), "main");
        assert!(!matches!(found, Found::Calls(..)), "{mark}");
        assert!(
            begin.elapsed().as_secs() < 3,
            "{mark}: {:?}",
            begin.elapsed()
        );
    }
}

#[test]
fn reading_is_bounded() {
    let call = FORMS[0].1;
    assert_eq!(calls(&call.repeat(256)).map(|all| all.len()), Some(256));
    assert_eq!(calls(&call.repeat(257)), None);
    let begin = std::time::Instant::now();
    for part in [
        "[",
        "{",
        "<",
        "[[",
        "{\"a\":",
        "<tool_call>",
        "<function=a>",
        "<parameter=a>",
        "</parameter>",
        "[reply(text=[",
        "✿FUNCTION✿:",
        "<|channel|>",
        "Action:",
        "```tool_code\n",
        "<tool_use><name>",
        "\\",
        "\"",
        "[TOOL_CALLS]",
    ] {
        for before in [
            "",
            "<function=reply><parameter=text>",
            "[reply(text=",
            "<tool_call>reply<arg_key>",
        ] {
            let text = format!(
                "{before}{}",
                part.repeat((TEXT_MAX / 16 - before.len()) / part.len())
            );
            assert_eq!(calls(&text), None, "{before}{part}…");
        }
    }
    let took = begin.elapsed();
    assert!(took.as_secs() < 20, "72 texts of 64 KiB took {took:?}");
    let large = format!(
        "{{\"name\": \"reply\", \"arguments\": {{\"text\": \"{}\"}}}}",
        "a".repeat(TEXT_MAX)
    );
    assert_eq!(calls(&large), None);
}

/// Texts of pieces that forms are made of.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => (0..FORMS.len(), any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(form, from, to)| {
            let chars: Vec<char> = FORMS[form].1.chars().collect();
            let from = from.index(chars.len());
            let to = to.index(chars.len() + 1);
            chars[from.min(to)..from.max(to)].iter().collect()
        }),
        2 => (0..FORMS.len()).prop_map(|form| FORMS[form].1.to_owned()),
        1 => any::<String>(),
        1 => "[\\[\\]{}()<>\"'=,:;\\\\ \n]{0,6}",
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_the_same_each_time(text in text()) {
        let (thought, words) = apart(&text);
        prop_assert!(text.contains(thought) && text.contains(words));
        let first = read(words, &offered(), "main");
        prop_assert_eq!(&first, &read(words, &offered(), "main"));
        for call in first.into_iter().flatten() {
            prop_assert!(call.name == "reply" || call.name == "set_timer");
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            prop_assert!(arguments.is_object());
        }
    }
}
