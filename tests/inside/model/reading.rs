//! Reading of answers: every form that some server gives them.

use serde_json::{Value, json};
use thinkd::model::provider::ToolCall;

use super::provider::Say;
use super::*;

#[tokio::test]
async fn contents_are_read_in_every_form() {
    assert_eq!(read(message(json!({ "content": "hi" }))).await.text, "hi");
    assert_eq!(read(message(json!({ "content": null }))).await.text, "");
    assert_eq!(read(message(json!({}))).await.text, "");
    let parts = json!([{ "type": "text", "text": "h" }, { "type": "output_text", "text": "i" }, { "type": "odd" }]);
    assert_eq!(read(message(json!({ "content": parts }))).await.text, "hi");
    assert_eq!(
        read(message(json!({ "content": null, "refusal": "no" })))
            .await
            .text,
        "no"
    );
    assert_eq!(
        read(json!({ "choices": [{ "text": "hi" }] })).await.text,
        "hi"
    );
    let odd = json!({ "id": 7, "object": [], "odd": { "deep": [1] }, "usage": null, "choices": [
        { "index": 1, "message": { "content": "the other" } },
        { "index": 0, "odd": 1, "message": { "content": "hi", "odd": {}, "audio": null }, "finish_reason": null },
    ] });
    let answer = read(odd).await;
    assert_eq!(
        (answer.text.as_str(), answer.finish.as_str(), answer.usage),
        ("hi", "", Usage::default())
    );
}

#[tokio::test]
async fn tool_calls_are_read_in_every_form() {
    let read = async |call: Value| read(message(call)).await;
    let usual = json!({ "id": "a", "type": "function", "function": { "name": "reply", "arguments": "{\"text\":\"x\"}" } });
    let answer = read(json!({ "content": null, "tool_calls": [usual] })).await;
    let expected = ToolCall {
        id: "a".into(),
        name: "reply".into(),
        arguments: r#"{"text":"x"}"#.into(),
    };
    assert_eq!(answer.calls, [expected]);

    let object = json!({ "function": { "name": "reply", "arguments": { "text": "x" } } });
    assert_eq!(
        calls(&read(json!({ "tool_calls": [object] })).await),
        [called("reply", r#"{"text":"x"}"#)]
    );
    let flat = json!({ "name": "reply", "arguments": "{}" });
    assert_eq!(
        calls(&read(json!({ "tool_calls": flat })).await),
        [called("reply", "{}")]
    );
    let legacy = json!({ "name": "reply", "arguments": "{}" });
    assert_eq!(
        calls(&read(json!({ "function_call": legacy })).await),
        [called("reply", "{}")]
    );
    let none = json!({ "function": { "name": "reply", "arguments": null } });
    assert_eq!(
        calls(&read(json!({ "tool_calls": [none] })).await),
        [called("reply", "{}")]
    );
    let broken = json!({ "function": { "name": "reply", "arguments": "{not json" } });
    assert_eq!(
        calls(&read(json!({ "tool_calls": [broken] })).await),
        [called("reply", "{not json")]
    );
    let think = |id: &str, arguments: &str| json!({ "id": id, "function": { "name": "think", "arguments": arguments } });
    let one = think("a", r#"{"thought":1}"#);
    let two = think("b", r#"{"thought":2}"#);
    let both = [
        called("think", r#"{"thought":1}"#),
        called("think", r#"{"thought":2}"#),
    ];
    assert_eq!(
        calls(&read(json!({ "tool_calls": [one, two] })).await),
        both
    );
    // A call that is listed twice is one call.
    assert_eq!(
        calls(&read(json!({ "tool_calls": [one, two, one, two] })).await),
        both
    );
    let blank = think("", "{}");
    assert_eq!(
        calls(&read(json!({ "tool_calls": [blank, blank] })).await).len(),
        2
    );
    assert_eq!(
        calls(&read(json!({ "tool_calls": null, "function_call": null, "content": "" })).await),
        []
    );
}

#[tokio::test]
async fn streamed_tool_calls_are_put_together() {
    let part = |part: Value| json!({ "tool_calls": [part] });
    let usual = [
        part(json!({ "index": 0, "id": "a", "function": { "name": "reply", "arguments": "" } })),
        part(json!({ "index": 0, "function": { "arguments": "{\"te" } })),
        part(json!({ "index": 1, "id": "b", "function": { "name": "think", "arguments": "{" } })),
        part(json!({ "index": 0, "function": { "arguments": "xt\":1}" } })),
        part(json!({ "index": 1, "function": { "arguments": "}" } })),
    ];
    assert_eq!(
        calls(&read_deltas(&usual).await),
        [called("reply", r#"{"text":1}"#), called("think", "{}")]
    );
    let unnumbered = [
        part(json!({ "id": "a", "function": { "name": "reply", "arguments": "{" } })),
        part(json!({ "function": { "arguments": "}" } })),
        part(json!({ "id": "b", "function": { "name": "think" } })),
        part(json!({ "id": "b", "function": { "arguments": { "thought": 1 } } })),
    ];
    assert_eq!(
        calls(&read_deltas(&unnumbered).await),
        [called("reply", "{}"), called("think", r#"{"thought":1}"#)]
    );
    let all_zero = [
        part(json!({ "index": 0, "id": "a", "function": { "name": "reply", "arguments": "{}" } })),
        part(json!({ "index": 0, "id": "b", "function": { "name": "think", "arguments": "{}" } })),
    ];
    assert_eq!(
        calls(&read_deltas(&all_zero).await),
        [called("reply", "{}"), called("think", "{}")]
    );
    let legacy = [
        json!({ "function_call": { "name": "reply", "arguments": "{" } }),
        json!({ "function_call": { "arguments": "}" } }),
    ];
    assert_eq!(calls(&read_deltas(&legacy).await), [called("reply", "{}")]);
}

/// A part that begins as all before it may be the whole so far, or a value inside.
#[tokio::test]
async fn parts_that_repeat_the_arguments_are_told_from_values_inside() {
    for (parts, whole) in [
        (&[r#"{"a":"#, r#"{"a":1}}"#][..], r#"{"a":{"a":1}}"#),
        (&[r#"{"a":"#, r#"{"a":1}"#, "}"], r#"{"a":{"a":1}}"#),
        (&[r#"{"a":"#, r#"{"a":"#, "1}}"], r#"{"a":{"a":1}}"#),
        (&[r#"{"a":["#, r#"{"a":[1]}"#, "]}"], r#"{"a":[{"a":[1]}]}"#),
        (&[r#"{"a":"#, r#"{"a":1}"#], r#"{"a":1}"#),
        (
            &[r#"{"a":"#, r#"{"a":1,"#, r#"{"a":1,"b":2}"#],
            r#"{"a":1,"b":2}"#,
        ),
        (
            &[r#"{"a":"#, r#"{"a":{"#, r#"{"a":{"b":2}}"#],
            r#"{"a":{"b":2}}"#,
        ),
        (
            &[r#"{"a":["#, r#"{"a":[1,"#, r#"{"a":[1,2]}"#],
            r#"{"a":[1,2]}"#,
        ),
        (&[r#"{"a":"x"#, r#"{"a":"xy"}"#], r#"{"a":"xy"}"#),
        (&["{", r#"{"a":1}"#], r#"{"a":1}"#),
    ] {
        let part = |(at, arguments): (usize, &&str)| {
            let name = if at == 0 { "reply" } else { "" };
            let function = json!({ "name": name, "arguments": arguments });
            json!({ "tool_calls": [{ "index": 0, "id": "a", "function": function }] })
        };
        let deltas: Vec<Value> = parts.iter().enumerate().map(part).collect();
        let read = read_deltas(&deltas).await;
        assert_eq!(calls(&read), [called("reply", whole)], "{parts:?}");
    }
}

#[tokio::test]
async fn usage_is_read_in_every_form_and_stays_summable() {
    let usage = async |usage: Value| {
        let mut body = message(json!({ "content": "hi" }));
        body["usage"] = usage;
        read(body).await.usage
    };
    let expected = Usage {
        input_tokens: 9,
        output_tokens: 3,
        cached_tokens: 4,
    };
    let details = json!({ "prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": { "cached_tokens": 4 } });
    assert_eq!(usage(details).await, expected);
    assert_eq!(
        usage(json!({ "input_tokens": 9.0, "output_tokens": "3", "prompt_cache_hit_tokens": 4 }))
            .await,
        expected
    );
    assert_eq!(
        usage(json!({ "prompt_tokens": -1, "completion_tokens": [] })).await,
        Usage::default()
    );
    assert!(usage(json!({ "prompt_tokens": 1e300 })).await.input_tokens <= u64::from(u32::MAX));
    assert_eq!(usage(json!("much")).await, Usage::default());
}

#[tokio::test]
async fn a_stream_may_end_without_its_mark_or_without_its_reason_but_not_without_both() {
    let hi = word("hi");
    let whole = answer(&streaming(Say::events(&[&hi, STOP, DONE])).await.1).await;
    let no_mark = answer(&streaming(Say::events(&[&hi, STOP])).await.1).await;
    let no_reason = answer(&streaming(Say::events(&[&hi, DONE])).await.1).await;
    assert_eq!(
        (
            whole.text.as_str(),
            no_mark.text.as_str(),
            no_reason.text.as_str()
        ),
        ("hi", "hi", "hi")
    );
    let neither = failure(&streaming(Say::events(&[&hi])).await.1).await;
    assert!(
        neither.text.contains("broke its answer off before its end"),
        "{neither}"
    );
    assert!(neither.retryable);
    // The reason is enough even when the connection breaks behind it, or stays open for ever.
    assert_eq!(
        answer(&streaming(Say::events(&[&hi, STOP]).cut()).await.1)
            .await
            .text,
        "hi"
    );
    assert_eq!(
        answer(&streaming(Say::events(&[&hi, STOP]).silent()).await.1)
            .await
            .text,
        "hi"
    );
}

#[tokio::test]
async fn a_plain_answer_to_a_streamed_request_is_read() {
    let body = serde_json::to_string_pretty(&message(json!({ "content": "two\nlines" }))).unwrap();
    assert_eq!(
        answer(&streaming(Say::plain(body)).await.1).await.text,
        "two\nlines"
    );
    let error = failure(
        &streaming(Say::plain(r#"{"error":"no such thing"}"#))
            .await
            .1,
    )
    .await;
    assert!(
        error.text.contains("answered with an error: no such thing"),
        "{error}"
    );
}

#[tokio::test]
async fn noise_in_a_stream_is_passed_over() {
    let hi = format!(
        ": a comment\n\nevent: message\nid: 7\ndata:{}\r\n\r\n",
        word("hi")
    );
    let end = format!("retry: 5\n\ndata: {STOP}\n\ndata: [DONE]\n\n");
    let (_provider, model) = streaming(Say::stream(&[hi.as_bytes(), end.as_bytes()])).await;
    assert_eq!(answer(&model).await.text, "hi");
}

#[tokio::test]
async fn letters_may_be_cut_anywhere() {
    let text = format!(
        "data: {}\n\ndata: {STOP}\n\ndata: [DONE]\n\n",
        word("Grüße 你好 🌍")
    );
    let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    let (_provider, model) = streaming(Say::stream(&bytes)).await;
    assert_eq!(answer(&model).await.text, "Grüße 你好 🌍");
}
