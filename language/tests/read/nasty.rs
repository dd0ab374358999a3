//! Texts made to be slow or large: four times the text costs about four times the time, and never much.

use std::time::{Duration, Instant};

use super::*;

fn time(text: &str) -> Duration {
    let begin = Instant::now();
    let reading = read(text, "researcher");
    assert!(reading.calls.len() <= CALLS_MAX && reading.unreadable.len() <= UNREADABLE_MAX);
    begin.elapsed()
}

/// Returns true if four times as much of it takes far more than four times as long. The machine may
/// be busy: each of five tries has to.
fn explodes(begin: &str, pattern: &str, end: &str) -> bool {
    (0..5).all(|_| {
        let [small, large] =
            [1 << 14, 1 << 16].map(|size| time(&(begin.to_owned() + &text(pattern, end, size))));
        large > 8 * small.max(Duration::from_millis(10))
    })
}

/// A text of about this many bytes: a pattern again and again, with an end.
fn text(pattern: &str, end: &str, size: usize) -> String {
    pattern.repeat((size.saturating_sub(end.len()) / pattern.len()).max(1)) + end
}

#[test]
fn nasty_texts_take_no_longer_than_others() {
    let patterns = [
        "<",
        "</",
        "<send ",
        "<send <",
        "</send ",
        "</send>",
        "<send>",
        "<send/>",
        "<send to=",
        "<send to=\"",
        "<send to='\"",
        "<send a='<send b=\"",
        "<send a=\"'\" b='\"",
        "<send to=“",
        "a ",
        "a=\"\" ",
        "<a:",
        "a:",
        "-",
        "<researcher>",
        "<researcher><send to='a'>",
        "</researcher>",
        "<todo-until condition='c'>",
        "<todo-until condition='c'><step>",
        "<step>",
        "<step done='1'>x",
        "<initial-payload>",
        "<spawn-thread><initial-payload>",
        "`",
        "` ",
        "`` ` ",
        "`<send>",
        "`</send>",
        "```",
        "```\n",
        "```a\n",
        "````a\n```\n",
        "~~~",
        "~~~\n",
        "~~~a\n",
        "~~~-\n",
        "`\n",
        "`\n\n",
        "\"",
        "\"a",
        " \"a",
        "\"<",
        "=\"<",
        "\" =\"",
        "“",
        "„<",
        "«a",
        "'<wait/>",
        ">",
        "> ",
        ">\n",
        "> `\n",
        "> \"\n",
        " ",
        "\n",
        "\t \n",
        "  `  ",
        "  >",
        "<!--",
        "<!-- ",
        "<!-- -->",
        "<![CDATA[",
        "<![CDATA[]]>",
        "]]>",
        "&",
        "&amp;",
        "&#",
        "&#1;",
        "<send to='a'>&",
        "é",
        "\u{201c}\u{1f600}",
        "<wait>",
        "<wait from=\"x\" ",
        "<thought>",
        "<thought></send>",
        "<item>",
        "<fan-out><item>",
        "\0",
    ];
    let ends = ["", "</send>a \"```\n</step></todo-until></researcher>-->"];
    for pattern in patterns {
        for end in ends {
            for begin in ["", "<researcher><send to='a'>"] {
                assert!(
                    !explodes(begin, pattern, end),
                    "{begin} {pattern:?} {end:?}"
                );
            }
        }
    }
}

#[test]
fn nothing_is_too_deep() {
    for name in [
        "send",
        "researcher",
        "todo-until",
        "step",
        "thought",
        "wait",
    ] {
        let n = TEXT_MAX / (2 * name.len() + 5);
        let deep = format!("<{name}>").repeat(n) + &format!("</{name}>").repeat(n);
        let reading = read(&deep, "researcher");
        assert!(reading.calls.len() <= CALLS_MAX, "{name}");
    }
}
