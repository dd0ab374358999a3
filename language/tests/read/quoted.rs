//! Talking about elements is not writing them.

use super::*;

const WAIT: &str = "<wait/>";

#[test]
fn d0_11_talking_about_stopping_is_not_stopping() {
    for text in [
        "I could write `<terminate/>` now.",
        "I could write ``<terminate/> ` `` now.",
        "`<terminate reason=\"x\"/>`",
        "I could write\n```\n<terminate/>\n```\nbut will not.",
        "I could write\n```xml\n<terminate/>\n\n<terminate>x</terminate>\n```\nbut will not.",
        "I could write\n~~~~\n<terminate/>\n~~~\n<terminate/>\n~~~~\nbut will not.",
        "Look: ```xml\n<terminate/>\n``` so.",
        "- ```\n  <terminate/>\n  ```",
        "> <terminate/>",
        "He said:\n  > do <terminate>now</terminate>\nand left.",
        "He said \"<terminate/>\".",
        "He said \"<terminate/>.\" Then he left.",
        "He said \"<terminate reason=\"done\"/>\" and left.",
        "He said \"<terminate reason='done'>now</terminate>\" and left.",
        "He said \"please <terminate/> now\".",
        "He said „<terminate/>“ and left.",
        "He said “<terminate/>” and “please <terminate/>”.",
        "Il dit «<terminate/>», il dit « <terminate/> ».",
        "他说「<terminate/>」",
        "他说\"<terminate/>\"",
        "It is called '<terminate/>'.",
        "It is called ‘<terminate>\nso</terminate>’.",
        "\"<terminate>\nso</terminate>\"",
        "<!-- <terminate/> -->",
        "<![CDATA[ <terminate/> ]]>",
        "<thought>shall I <terminate/> or not?</thought>",
        "<think>shall I <terminate/> or not?</think>",
        "Write `</send>, then <terminate/>`.",
        "He said \"</reply> and <terminate/>\".",
        "So:\n> </send>\n> <terminate/>",
        "&lt;terminate/&gt;",
        "the terminate element, the <terminates/> element",
    ] {
        assert_eq!(clean(text), [], "{text}");
        assert!(read(text, "researcher").words, "{text}");
    }
}

#[test]
fn d0_11_stopping_is_stopping_beside_talk() {
    for text in [
        "<terminate/>",
        "I will not write `<terminate/>`. Or will I? <terminate/>",
        "```\n<terminate/>\n```\n<terminate/>",
        "> <terminate/>\n<terminate/>",
        "He said \"<terminate/>\". <terminate/>",
        "He said \"no\"<terminate/>",
        "A 5\" pipe <terminate/> and a 6\" pipe",
        "He said \"no, and then <terminate/>",
        "It`s done <terminate/>",
        "It`s done\n\n<terminate/> Don`t ask.",
        "a > b <terminate/>",
        "**<terminate/>**",
        "    <terminate/>",
        "- <terminate/>",
    ] {
        let found = clean(text);
        assert_eq!(
            found,
            [call(
                "terminate",
                json!({ "reason": "no reason was given" })
            )],
            "{text}"
        );
    }
}

#[test]
fn quoted_elements_inside_an_element_are_its_words() {
    for words in [
        "write `</reply>` at its end",
        "write `<reply>` first",
        "write \"</reply>\" at its end",
        "so:\n```xml\n<reply>x</reply>\n```\nso",
        "```xml\n<reply>x\n\n</reply>\n```",
        "so:\n> <reply>x</reply>\nso",
        "write <reply>x</reply> so",
        "<wait/> <terminate> </send>",
        "<!-- </reply> -->",
    ] {
        let text = format!("<reply>{words}</reply>{WAIT}");
        let found = clean(&text);
        assert_eq!(
            (found.len(), &found[0]),
            (2, &call("reply", json!({ "text": words }))),
            "{text}"
        );
    }
}

#[test]
fn a_quote_never_hides_the_end_of_its_element() {
    for words in [
        "it`s",
        "a ` b",
        "say \" so",
        "```\ncode",
        "> he said",
        "so\n> he said",
        "``",
        "„so",
        "5\" pipe",
        "~~~\nso",
        "<!-- so",
    ] {
        let text = format!(
            "<send to=\"a\">{words}</send> <send to=\"b\">{words}</send>\n<send to=\"c\">{words}</send>"
        );
        assert_eq!(
            clean(&text),
            [
                send(&["a"], words),
                send(&["b"], words),
                send(&["c"], words)
            ],
            "{text}"
        );
    }
}

#[test]
fn a_whole_answer_in_a_fence_is_not_done_and_that_is_said() {
    assert_eq!(
        noted(
            "```xml\n<send to='a'>x</send>\n```\n",
            &["stands in a code fence"]
        ),
        []
    );
    assert_eq!(
        noted("```xml\n<send to='a'>x</send>", &["stands in a code fence"]),
        []
    );
    assert_eq!(
        noted(
            "So:\n```xml\n<send to='a'>x</send>",
            &["a code fence is not closed"]
        ),
        []
    );
    assert_eq!(noted("So: <!-- <wait/>", &["a comment is not closed"]), []);
    assert_eq!(
        clean("```rust\nfn main() {}\n```"),
        [],
        "the control: no elements in it"
    );
}

#[test]
fn references_are_decoded_once_and_nothing_else_is() {
    for (written, read) in [
        (
            "a &lt; b &amp;&amp; c &gt; d &quot;&apos;",
            "a < b && c > d \"'",
        ),
        ("&#65;&#x42;&#X43;", "ABC"),
        ("&amp;lt; &amp;#65;", "&lt; &#65;"),
        (
            "&nbsp; &lol; & &; &# &#x; &#0; &#8; &#xD800; &#1114112; &#99999999999;",
            "&nbsp; &lol; & &; &# &#x; &#0; &#8; &#xD800; &#1114112; &#99999999999;",
        ),
        (
            "<![CDATA[a &lt; <b> </send>]]> &lt;",
            "a &lt; <b> </send> <",
        ),
        ("&#32; x &#10;", "  x \n"),
        ("<b>x</b>", "<b>x</b>"),
    ] {
        assert_eq!(
            clean(&format!("<send to='a'>{written}</send>")),
            [send(&["a"], read)],
            "{written}"
        );
    }
    assert_eq!(
        clean("<do-nothing reason=\"a &lt; b &amp; &quot;c&quot; <terminate/>\"/>")[0].1["reason"],
        "a < b & \"c\" <terminate/>"
    );
}

#[test]
fn xml_bombs_are_text() {
    let lol = (1..10)
        .map(|n| {
            format!(
                "<!ENTITY lol{n} \"{}\">",
                format!("&lol{};", n - 1).repeat(10)
            )
        })
        .collect::<String>();
    let text = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE lolz [<!ENTITY lol0 \"lol\">{lol}]><send to=\"a\">&lol9;</send>"
    );
    assert_eq!(clean(&text), [send(&["a"], "&lol9;")]);
    let file = "<!DOCTYPE f [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><reply>&x;</reply>";
    assert_eq!(clean(file), [call("reply", json!({ "text": "&x;" }))]);
}
