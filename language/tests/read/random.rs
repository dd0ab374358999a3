//! Random texts: no panic and no more than the bounds. Well-formed text is read as it was meant.

use proptest::prelude::*;

use super::*;

/// Pieces that mean something, and some that nearly do.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "<",
        ">",
        "</",
        "/>",
        "\"",
        "'",
        "=",
        " ",
        "\n",
        "\n\n",
        "`",
        "```",
        "```xml\n",
        "\n```\n",
        "~~~",
        "> ",
        "&",
        "&lt;",
        "&#",
        ";",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "“",
        "”",
        "„",
        "«",
        "»",
        "x",
        "é",
        "1",
        ",",
        "xmlns",
        "m:",
        "\u{0}",
        "\u{feff}",
        "<send",
        "<send to='a'>",
        "</send>",
        "to",
        " to=\"b\"",
        "<reply>",
        "</reply>",
        "<wait/>",
        "<wait>",
        "<terminate/>",
        "<researcher>",
        "</researcher>",
        "<thought>",
        "</thought>",
        "<todo-until condition='c'>",
        "</todo-until>",
        "<step done='x'>",
        "<step>",
        "</step>",
        "<spawn-thread",
        "<spawn-thread>",
        "</spawn-thread>",
        "<initial-payload>",
        "</initial-payload>",
        "<fan-out>",
        "<item>",
        "</item>",
        "</fan-out>",
        "<clear-context keep='",
        "<set-timer after=5>",
        "</set-timer>",
        " done",
        " keep=3",
    ];
    prop_oneof![30 => proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

/// A reading of which nothing is wrong.
fn sound(text: &str, own: &str) -> Result<(), TestCaseError> {
    let reading = read(text, own);
    prop_assert!(reading.calls.len() <= CALLS_MAX && reading.unreadable.len() <= UNREADABLE_MAX);
    for call in &reading.calls {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        prop_assert!(arguments.is_object() && !call.name.is_empty());
    }
    prop_assert!(
        reading
            .unreadable
            .iter()
            .all(|said| !said.is_empty() && said.chars().count() < 600)
    );
    prop_assert_eq!(
        &reading,
        &read(text, own),
        "the same text is the same reading"
    );
    if !text.contains('<') {
        prop_assert!(reading.calls.is_empty() && reading.unreadable.is_empty());
        prop_assert_eq!(reading.words, !text.trim().is_empty());
    }
    Ok(())
}

/// As anyone writes a text into XML.
fn escape(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;");
    // White space at the ends is not kept unless it is written as a reference.
    let edge = |c: char| c.is_whitespace();
    let inside = text.trim_matches(edge);
    let code = |space: &str| {
        space
            .chars()
            .map(|c| format!("&#{};", c as u32))
            .collect::<String>()
    };
    let begin = text.find(inside).unwrap();
    if inside.is_empty() {
        code(&text)
    } else {
        code(&text[..begin]) + inside + &code(&text[begin + inside.len()..])
    }
}

/// Words as models write them: of all kinds, with text like markup.
fn words() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => "[a-zäß中,.!?() ]{1,12}",
        1 => proptest::sample::select(vec![
            "`", "```", "```\n", "\n", "\n\n", "\n> ", "\"", "'", "“", "„", "<", ">", "&", "&lt;", "]]>", "<![CDATA[", "</send>", "<wait/>", "<!--", "~~~\n", "=",
        ]).prop_map(str::to_owned),
    ];
    proptest::collection::vec(part, 1..6)
        .prop_map(|parts| parts.concat())
        .prop_filter("words", |words| {
            !words.trim().is_empty() && !words.contains(['\u{0b}', '\u{0c}', '\u{85}'])
        })
}

/// A call, and how it is written.
fn written() -> impl Strategy<Value = (String, (String, Value))> {
    let name = "[a-z][a-z0-9_-]{0,8}";
    let steps = proptest::collection::vec((words(), any::<bool>()), 1..4);
    prop_oneof![
        (proptest::collection::vec(name, 1..3), words()).prop_map(|(to, text)| {
            (
                format!("<send to=\"{}\">{}</send>", to.join(", "), escape(&text)),
                call("send", json!({ "to": to, "text": text })),
            )
        }),
        words().prop_map(|text| (
            format!("<reply>{}</reply>", escape(&text)),
            call("reply", json!({ "text": text }))
        )),
        (words(), steps).prop_map(|(condition, steps)| {
            let condition = condition.trim().to_owned();
            let step = |(text, done): &(String, bool)| {
                format!("<step done=\"{done}\">{}</step>", escape(text))
            };
            let text = format!(
                "<todo-until condition=\"{}\">{}</todo-until>",
                escape(&condition),
                steps.iter().map(step).collect::<String>()
            );
            let steps: Vec<_> = steps
                .iter()
                .map(|(text, done)| json!({ "text": text, "done": done }))
                .collect();
            (
                text,
                call("plan", json!({ "condition": condition, "steps": steps })),
            )
        }),
        any::<u32>().prop_map(|keep| (
            format!("<clear-context keep=\"{keep}\"/>"),
            call("clear_context", json!({ "keep": keep }))
        )),
        (name, any::<u16>()).prop_map(|(from, after)| {
            (
                format!("<wait from=\"{from}\" timeout=\"{after}\"/>"),
                call("wait", json!({ "from": from, "timeout_s": after })),
            )
        }),
        words().prop_map(|text| {
            let reason = text.trim().to_owned();
            (
                format!("<terminate reason=\"{}\"/>", escape(&reason)),
                call("terminate", json!({ "reason": reason })),
            )
        }),
        (any::<u16>(), words()).prop_map(|(after, note)| {
            (
                format!("<set-timer after=\"{after}\">{}</set-timer>", escape(&note)),
                call("set_timer", json!({ "after_s": after, "note": note })),
            )
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn d3_38_any_text_is_survived(text in any::<String>(), own in "[a-z0-9_-]{0,12}") {
        sound(&text, &own)?;
    }

    #[test]
    fn d3_38_any_mixture_of_pieces_is_survived(pieces in proptest::collection::vec(piece(), 0..40)) {
        sound(&pieces.concat(), "researcher")?;
    }

    #[test]
    fn a_text_without_known_names_has_no_calls(text in "[<>/=\"'`~a-f \n&;!-]{0,80}") {
        prop_assert_eq!(read(&text, "researcher").calls, vec![]);
    }

    #[test]
    fn what_is_written_properly_is_read_as_it_was_meant(
        all in proptest::collection::vec((written(), "[a-zé,. \n]{0,10}"), 0..8),
    ) {
        let text: String = all.iter().map(|((text, _), around)| format!("{text}{around}")).collect();
        let expected: Vec<_> = all.iter().map(|((_, call), _)| call.clone()).collect();
        let reading = read(&text, "researcher");
        prop_assert_eq!(named(&reading), expected, "{}", &text);
        prop_assert_eq!(reading.unreadable, Vec::<String>::new(), "{}", &text);
        prop_assert_eq!(reading.words, all.iter().any(|(_, around)| !around.trim().is_empty()));
    }
}
