//! The text for a model, alone: the events that a view holds and their written form (D4.47, T4.51,
//! T4.52), and replies read while they arrive.

use proptest::prelude::*;
use serde_json::json;
use thinkd::event::draft::{Draft, InputKind, Part, When};
use thinkd::event::envelope::{Event, Modality};
use thinkd::event::fact::calls::Call;
use thinkd::mind::decision::arriving::Arriving;
use thinkd::model::prompt::{Prompts, Template};
use thinkd::thread::history::{Block, Lengths, cut, transcript};
use thinkd::words::failure::Who;
use thinkd::words::id::{Name, ThreadId, fresh};

const LENGTHS: Lengths = Lengths::of(256 << 10, 4000);

fn event(seq: i64, draft: Draft) -> Event {
    Event {
        seq,
        ..draft.preview()
    }
}

fn said(seq: i64, text: &str) -> Event {
    let drafts = Draft::input(
        &ThreadId::default(),
        InputKind::Message,
        vec![Part::Text(text.into())],
        None,
        fresh(),
    );
    event(seq, drafts.into_iter().next().unwrap())
}

fn text(blocks: &[Block]) -> String {
    let text = |block: &Block| match block {
        Block::Text(text) => text.clone(),
        Block::Blob { sha256, .. } => format!("<{sha256}>"),
    };
    blocks.iter().map(text).collect()
}

fn write(events: &[Event]) -> String {
    text(&transcript(
        events,
        0,
        4,
        LENGTHS,
        &Prompts::load(None).unwrap(),
    ))
}

proptest! {
    #[test]
    fn d4_47_a_view_keeps_at_least_n_and_less_than_a_block_more(count in 0u64..3000, keep in 0u64..200, block in 0u64..64) {
        let left = count - cut(count, keep, block);
        prop_assert!(left >= keep.min(count));
        prop_assert!(left < keep + block.max(1) || count <= keep);
        prop_assert_eq!(cut(count, keep, block) % block.max(1), 0);
        // Growing history never brings back what was left out.
        prop_assert!(cut(count + 1, keep, block) >= cut(count, keep, block));
    }

    #[test]
    fn t4_51_a_block_of_one_cuts_exactly(count in 0u64..3000, keep in 0u64..200) {
        prop_assert_eq!(count - cut(count, keep, 1), count.min(keep));
    }

    #[test]
    fn what_was_written_is_a_prefix_of_what_is_written_next(texts in prop::collection::vec(".{0,40}", 1..12)) {
        let events: Vec<Event> = texts.iter().zip(1..).map(|(text, seq)| said(seq, text)).collect();
        for n in 1..events.len() {
            prop_assert!(write(&events).starts_with(&write(&events[..n])));
        }
    }

    #[test]
    fn no_text_passes_for_another_entry(text in "[\\n\\r#0-9 a-z:\\[\\]]{0,60}") {
        let written = write(&[said(1, &text), said(2, "x")]);
        let entries = written.split(['\n', '\r']).filter(|line| line.starts_with('#')).count();
        prop_assert_eq!(entries, 2, "{}", written);
    }

    #[test]
    fn a_reply_is_read_while_it_arrives(text in "\\PC{0,40}|[\\n\\t\"\\\\é😀\u{1}]{0,12}", cuts in prop::collection::vec(0usize..200, 0..8), ascii: bool) {
        let mut json = json!({ "text": text }).to_string();
        if ascii {
            json = escaped(&json);
        }
        let mut arriving = Arriving::default();
        let mut places: Vec<usize> = cuts.into_iter().filter(|at| *at < json.len() && json.is_char_boundary(*at)).collect();
        places.push(json.len());
        places.sort_unstable();
        let mut from = 0;
        let mut read = String::new();
        for to in places {
            read.push_str(&arriving.push(&json[from..to]));
            from = to;
        }
        prop_assert_eq!(read, text);
    }
}

/// The same JSON with every character beyond ASCII as `\uXXXX`, in pairs where it takes two.
fn escaped(json: &str) -> String {
    let mut units = [0; 2];
    let mut escape = |c: char| -> String {
        if c.is_ascii() {
            c.to_string()
        } else {
            c.encode_utf16(&mut units)
                .iter()
                .map(|u| format!("\\u{u:04x}"))
                .collect()
        }
    };
    json.chars().map(&mut escape).collect()
}

#[test]
fn arguments_of_another_shape_give_nothing_before_they_are_whole() {
    for arguments in [
        "{\"txt\":\"no\"}",
        "[\"text\"]",
        "text",
        "{\"text\":17}",
        "{\"other\":1,\"text\":\"late\"}",
    ] {
        assert_eq!(Arriving::default().push(arguments), "", "{arguments}");
    }
}

#[test]
fn t4_52_a_long_result_is_shortened_with_a_mark_and_a_long_message_is_not() {
    let long = "x".repeat(9000);
    let call = Call {
        turn: 1,
        by: &Who::Decision,
        tool: "query_events",
        call_id: "c0.0",
    };
    let result = event(
        7,
        Draft::result(&ThreadId::default(), &call, json!(long), 3),
    );
    let written = write(&[result]);
    assert!(
        written.len() < 4300 && written.contains("4000 of 9000 characters; #7"),
        "{}",
        &written[3900..]
    );
    assert!(write(&[said(8, &long)]).contains(&long));
}

#[test]
fn every_kind_of_event_says_who_and_what() {
    let thread = ThreadId::default();
    let name = Name::parse("critic").unwrap();
    let call = Call {
        turn: 1,
        by: &Who::Decision,
        tool: "state_get",
        call_id: "c0.0",
    };
    let written = write(&[
        said(1, "hi\nthere"),
        event(
            2,
            Draft::submodule_said(&thread, 1, &name, When::Late, "hm"),
        ),
        event(
            3,
            Draft::action(
                &thread,
                1,
                &Who::Decision,
                "state_get",
                "c0.0",
                &json!({ "key": "k" }),
            ),
        ),
        event(
            4,
            Draft::result(&thread, &call, json!({ "found": false }), 1),
        ),
        event(5, Draft::question(&thread, 1, &name, "why?")),
        event(6, Draft::thought(&thread, 1, "so")),
        event(7, Draft::no_action(&thread, 1, "enough")),
        event(8, Draft::reply(&thread, 1, "c1.0", "hello", true)),
    ]);
    let lines: Vec<&str> = written
        .lines()
        .map(|line| line.split("] ").last().unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "user: hi",
            "    there",
            "voice critic (late): hm",
            "call state_get c0.0: {\"key\":\"k\"}",
            "result state_get c0.0: {\"found\":false}",
            "question to critic: why?",
            "thought: so",
            "no action: enough",
            "reply (cut off): hello",
        ]
    );
}

#[test]
fn only_the_newest_media_are_shown() {
    let image = |seq: i64| {
        let media = Part::Media {
            modality: Modality::Image,
            blob: format!("{seq:064}"),
            mime: "image/png".into(),
            bytes: 9,
        };
        event(
            seq,
            Draft::input(
                &ThreadId::default(),
                InputKind::Message,
                vec![media],
                None,
                fresh(),
            )
            .remove(0),
        )
    };
    let events: Vec<Event> = (1..=6).map(image).collect();
    let blocks = transcript(&events, 0, 2, LENGTHS, &Prompts::load(None).unwrap());
    let shown: Vec<_> = blocks
        .iter()
        .filter(|block| matches!(block, Block::Blob { .. }))
        .collect();
    assert_eq!(shown.len(), 2);
    assert!(text(&blocks).contains("#1 [1970-01-01 00:00 UTC] user: (image/png, 9 bytes)"));
    assert!(
        text(&blocks).contains(&format!("<{:064}>", 5))
            && text(&blocks).contains(&format!("<{:064}>", 6))
    );
}

#[test]
fn a_template_fills_what_it_names_and_keeps_the_rest() {
    let template = Template::parse("a {{x}} b {{ y }} {c} {{");
    assert_eq!(
        template.fill(&[("x", "{{y}}"), ("y", "2")]),
        "a {{y}} b 2 {c} {{"
    );
    assert_eq!(Template::parse(template.source().as_str()), template);
}
