//! Any bytes from a provider, in any pieces: one outcome, in bounded time, and no word that was not sent.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::provider::{Provider, Say};
use super::{OpenAi, Options, Piece, ask, options, request};

/// A part of an answer.
#[derive(Debug, Clone)]
enum Part {
    Words(&'static str),
    Call(Option<u64>, &'static str, &'static str, &'static str),
    Finish(&'static str),
    Raw(Vec<u8>),
}

fn words() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "b c",
        "Grüße ",
        "<thi",
        "nk>",
        "<think>",
        "</think>",
        "\n",
        " ",
        "```\n",
        "<|im_end|>",
        "[THINK]",
        "[/THINK]",
        "</s>",
        "d",
    ])
}

fn part() -> impl Strategy<Value = Part> {
    let arguments = vec![
        "",
        "{}",
        "{\"text\":",
        "\"e\"",
        "}",
        "{\"text\":\"f\"}",
        "\"{\\\"text\\\"",
        " ",
        "\n",
    ];
    let call = (
        prop::option::of(0..2u64),
        prop::sample::select(vec!["", "x", "y"]),
        prop::sample::select(vec!["", "", "reply", "think"]),
        prop::sample::select(arguments),
    );
    let ends = vec![
        "stop",
        "length",
        "null",
        "",
        "tool_calls",
        "content_filter",
        "error",
        "odd",
    ];
    let raw = vec![
        b"data: \n\n".to_vec(),
        b": ping\n\n".to_vec(),
        b"data: {\"choices\":[]}\n\n".to_vec(),
        b"data: [DONE]\n\n".to_vec(),
        b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\r\n".to_vec(),
        b"event: x\nid: 1\n".to_vec(),
        b"\xef\xbb\xbf".to_vec(),
        b"{\"error\":{\"message\":\"no\"}}\n".to_vec(),
        b"data: {".to_vec(),
        b"\n".to_vec(),
    ];
    prop_oneof![
        4 => words().prop_map(Part::Words),
        4 => call.prop_map(|(index, id, name, arguments)| Part::Call(index, id, name, arguments)),
        1 => prop::sample::select(ends).prop_map(Part::Finish),
        1 => prop::sample::select(raw).prop_map(Part::Raw),
        1 => prop::collection::vec(any::<u8>(), 0..12).prop_map(Part::Raw),
    ]
}

impl Part {
    fn bytes(&self) -> Vec<u8> {
        let chunk = |delta: Value, finish: Value| {
            let chunk =
                json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
            format!("data: {chunk}\n\n").into_bytes()
        };
        match self {
            Self::Words(words) => chunk(json!({ "content": words }), Value::Null),
            Self::Call(index, id, name, arguments) => {
                let call = json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } });
                chunk(json!({ "tool_calls": [call] }), Value::Null)
            }
            Self::Finish(word) => chunk(json!({}), json!(word)),
            Self::Raw(bytes) => bytes.clone(),
        }
    }
}

/// True if the letters of a text stand in another in this order.
fn is_within(text: &str, all: &str) -> bool {
    let mut rest = all.chars();
    text.chars().all(|letter| rest.any(|other| other == letter))
}

/// Cuts bytes at these places, modulo their length.
fn cut(bytes: &[u8], at: &[usize]) -> Vec<Vec<u8>> {
    let mut ends: Vec<usize> = at.iter().map(|at| at % (bytes.len() + 1)).collect();
    ends.extend([0, bytes.len()]);
    ends.sort_unstable();
    ends.windows(2)
        .map(|ends| bytes[ends[0]..ends[1]].to_vec())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// D4.08: nothing that a provider sends is invented, doubled or reordered, and every answer has one outcome.
    #[test]
    fn any_bytes_have_one_outcome_and_no_word_of_their_own(
        parts in prop::collection::vec(part(), 0..14),
        at in prop::collection::vec(any::<usize>(), 0..6),
        is_marked in any::<bool>(),
    ) {
        let mut bytes: Vec<u8> = parts.iter().flat_map(Part::bytes).collect();
        if is_marked {
            bytes.extend(b"data: [DONE]\n\n");
        }
        let said: String = parts.iter().filter_map(|part| match part {
            Part::Words(words) => Some(*words),
            _ => None,
        }).collect();
        let arguments: String = parts.iter().filter_map(|part| match part {
            Part::Call(.., arguments) => Some(*arguments),
            _ => None,
        }).collect();
        let has_raw = parts.iter().any(|part| matches!(part, Part::Raw(_)));
        let pieces = cut(&bytes, &at);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (pieces, outcome) = runtime.block_on(async {
            let parts: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let provider = Provider::says([Say::stream(&parts)]).await;
            let model = OpenAi::new(Options { retries: 0, ..options(&provider.url()) }).unwrap();
            ask(&model, &request("hello")).await
        });
        let (shown, _) = joined_leniently(&pieces);
        if let Ok(answer) = outcome {
            // Bytes between the parts may be words, too.
            if !has_raw {
                prop_assert!(is_within(&answer.text, &said), "{:?} of {:?}", answer.text, said);
                let all: usize = answer.calls.iter().map(|call| call.arguments.len()).sum();
                prop_assert!(all <= arguments.len() + 2 * answer.calls.len(), "{:?}", answer.calls);
            }
            if !answer.text.is_empty() && !said.contains("/") {
                prop_assert_eq!(shown, answer.text);
            }
        }
    }
}

/// The words and arguments that readers were shown.
fn joined_leniently(pieces: &[Piece]) -> (String, String) {
    let mut text = String::new();
    let mut calls = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(more) => text.push_str(more),
            Piece::Call { arguments, .. } => calls.push_str(arguments),
            Piece::End(_) => {}
        }
    }
    (text, calls)
}
