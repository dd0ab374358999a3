//! Requests for responses that are refused.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use super::*;

on_both!(
    what_is_refused_is_said_in_this_protocols_words_and_stores_nothing,
    |medium| {
        let (_stub, _, app) = echo(medium).await;
        let known = create(&app, "so that the space is there", json!({})).await;
        let before = app.log().await.len();
        let hi = |more: Value| body("hi", more);
        let item = |item: Value| body(json!([item]), json!({}));
        let said =
            |content: Value| body(json!([{ "role": "user", "content": content }]), json!({}));
        let huge = "x".repeat(70_000);
        for (body, status, code, param) in [
            (hi(json!({ "model": "gpt-4o" })), 404, "not-found", "model"),
            (
                hi(json!({ "model": "thinkd/..bad" })),
                404,
                "not-found",
                "model",
            ),
            (hi(json!({ "model": 4 })), 400, "invalid-frame", "model"),
            (json!({ "input": "hi" }), 400, "invalid-frame", "model"),
            (json!({ "model": "thinkd" }), 400, "empty-input", "input"),
            (hi(json!({ "input": 4 })), 400, "invalid-frame", "input"),
            (hi(json!({ "input": " " })), 400, "empty-input", "input"),
            (hi(json!({ "input": [] })), 400, "empty-input", "input"),
            (hi(json!({ "input": huge })), 400, "text-too-large", "input"),
            (
                hi(json!({ "input": [4] })),
                400,
                "invalid-frame",
                "input[0]",
            ),
            (
                item(json!({ "role": "king", "content": "hi" })),
                400,
                "invalid-frame",
                "input[0].role",
            ),
            (
                item(json!({ "role": "assistant", "content": "hi" })),
                400,
                "empty-input",
                "input",
            ),
            (
                item(json!({ "type": "function_call_output", "call_id": "c", "output": "4" })),
                400,
                "invalid-frame",
                "input[0].call_id",
            ),
            (
                item(json!({ "type": "function_call_output", "output": "4" })),
                400,
                "invalid-frame",
                "input[0].call_id",
            ),
            (
                item(
                    json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" }),
                ),
                400,
                "empty-input",
                "input",
            ),
            (
                item(json!({ "type": "custom_tool_call_output", "call_id": "c" })),
                422,
                "unprocessable",
                "input[0]",
            ),
            (
                item(json!({ "type": "computer_call_output" })),
                422,
                "unprocessable",
                "input[0]",
            ),
            (
                item(json!({ "type": "item_reference" })),
                400,
                "invalid-frame",
                "input[0]",
            ),
            (
                item(json!({ "type": "item_reference", "id": "msg_1" })),
                404,
                "not-found",
                "input[0]",
            ),
            (said(json!(4)), 400, "invalid-frame", "input[0].content"),
            (
                said(json!([{ "type": "input_image", "image_url": "http://10.0.0.1/x.png" }])),
                400,
                "invalid-frame",
                "input[0].content[0]",
            ),
            (
                said(json!([{ "type": "input_image" }])),
                400,
                "invalid-frame",
                "input[0].content[0]",
            ),
            (
                said(json!([{ "type": "input_file", "file_id": "f" }])),
                400,
                "invalid-frame",
                "input[0].content[0]",
            ),
            (
                hi(json!({ "instructions": 4 })),
                400,
                "invalid-frame",
                "instructions",
            ),
            (
                hi(json!({ "instructions": huge })),
                400,
                "text-too-large",
                "input",
            ),
            (
                hi(json!({ "stream": "yes" })),
                400,
                "invalid-frame",
                "stream",
            ),
            (
                hi(json!({ "background": 1 })),
                400,
                "invalid-frame",
                "background",
            ),
            (hi(json!({ "store": false })), 422, "unprocessable", "store"),
            (hi(json!({ "store": "no" })), 400, "invalid-frame", "store"),
            (
                hi(json!({ "metadata": [] })),
                400,
                "invalid-frame",
                "metadata",
            ),
            (
                hi(json!({ "metadata": { "a": 4 } })),
                400,
                "invalid-frame",
                "metadata",
            ),
            (
                hi(json!({ "metadata": { "a": "x".repeat(513) } })),
                400,
                "invalid-frame",
                "metadata",
            ),
            (
                hi(json!({ "metadata": { "x".repeat(65): "a" } })),
                400,
                "invalid-frame",
                "metadata",
            ),
            (
                hi(
                    json!({ "metadata": Value::Object((0..17).map(|it| (it.to_string(), json!("x"))).collect()) }),
                ),
                400,
                "invalid-frame",
                "metadata",
            ),
            (hi(json!({ "user": 4 })), 400, "invalid-frame", "user"),
            (
                hi(json!({ "user": "x".repeat(513) })),
                400,
                "text-too-large",
                "user",
            ),
            (
                hi(json!({ "previous_response_id": 4 })),
                400,
                "invalid-frame",
                "previous_response_id",
            ),
            (
                hi(json!({ "previous_response_id": id(&known).replace("resp_", "") })),
                404,
                "not-found",
                "previous_response_id",
            ),
            (hi(json!({ "text": "json" })), 400, "invalid-frame", "text"),
            (
                hi(json!({ "text": { "format": { "type": "yaml" } } })),
                400,
                "invalid-frame",
                "text.format",
            ),
            (
                hi(json!({ "text": { "format": {} } })),
                400,
                "invalid-frame",
                "text.format",
            ),
            (
                hi(json!({ "text": { "format": { "type": "json_schema", "name": "n" } } })),
                400,
                "invalid-frame",
                "text.format",
            ),
            (
                hi(json!({ "tools": [{ "type": "function", "name": "a b" }] })),
                400,
                "invalid-frame",
                "tools[0].name",
            ),
            (
                hi(json!({ "tools": [{ "type": "function", "function": { "name": "f" } }] })),
                400,
                "invalid-frame",
                "tools[0]",
            ),
            (
                hi(json!({ "tool_choice": { "type": "function", "name": "f" } })),
                400,
                "invalid-frame",
                "tool_choice",
            ),
            (
                hi(json!({ "tools": [{ "type": "custom", "name": "f" }] })),
                422,
                "unprocessable",
                "tools[0]",
            ),
            (
                hi(json!({ "tools": [{ "type": "web_search" }] })),
                422,
                "unprocessable",
                "tools[0]",
            ),
            (hi(json!({ "tools": "all" })), 400, "invalid-frame", "tools"),
            (
                hi(json!({ "top_logprobs": 2 })),
                422,
                "unprocessable",
                "top_logprobs",
            ),
            (
                hi(json!({ "include": ["message.output_text.logprobs"] })),
                422,
                "unprocessable",
                "include",
            ),
            (
                hi(json!({ "conversation": "conv_1" })),
                422,
                "unprocessable",
                "conversation",
            ),
            (
                hi(json!({ "prompt": { "id": "pmpt_1" } })),
                422,
                "unprocessable",
                "prompt",
            ),
        ] {
            let error = refused(&app, &body, status).await;
            assert_eq!(
                (&error["code"], &error["param"]),
                (&json!(code), &json!(param)),
                "{error}"
            );
            assert_eq!(error["type"], "invalid_request_error");
        }
        let of_known = |end: &str| format!("{PATH}/{}{end}", id(&known));
        for (method, path, status) in [
            ("GET", PATH.to_owned(), 405),
            ("POST", of_known(""), 405),
            ("GET", of_known("/cancel"), 405),
            ("DELETE", of_known(""), 422),
            ("GET", of_known("?starting_after=3"), 400),
            ("GET", of_known("?stream=yes"), 400),
            ("GET", of_known("?stream=true&starting_after=-1"), 400),
            (
                "GET",
                of_known("?stream=true&starting_after=99999999999999999999"),
                400,
            ),
            ("GET", of_known("?colour=red"), 400),
            ("GET", of_known("/output_items"), 404),
        ] {
            let (got, body) = send(app.request(method, &path)).await;
            assert_eq!(got, status, "{method} {path}: {body}");
            assert!(body["error"]["message"].is_string(), "{path}: {body}");
        }
        let broken = app
            .request("POST", PATH)
            .header("content-type", "application/json")
            .body("{");
        assert_eq!(send(broken).await.1["error"]["code"], "malformed-json");
        let log = app.log().await;
        assert_eq!(with(&log[before..], &["input"]).len(), 0, "{}", story(&log));
        // The last one that is taken: the members that are read over.
        let taken = create(&app, "hi", json!({
            "temperature": 0.2, "top_p": 1, "max_output_tokens": 9, "reasoning": { "effort": "low" }, "truncation": "auto", "parallel_tool_calls": true,
            "include": ["reasoning.encrypted_content"], "service_tier": "auto", "store": true, "tools": [], "tool_choice": "auto", "colour": "red",
            "text": { "format": { "type": "text" }, "verbosity": "low" }, "conversation": null, "stream_options": { "include_obfuscation": false },
        })).await;
        assert_eq!(text_of(&taken), "ok: hi");
        let log = app.log().await;
        assert_eq!(with(&log[before..], &["input"]).len(), 1, "{}", story(&log));
    }
);
