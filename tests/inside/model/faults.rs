//! Faults and their treatment: refusals, broken and endless answers, waits; when a call is tried
//! again, and when it is abandoned.

use super::provider::{Provider, Say};
use super::*;

/// Failures, with the number of tries and the words about each. Each provider answers well
/// afterwards, which is reached only where another try is worth it: the control of both.
#[tokio::test]
async fn refusals_are_told_apart() {
    let said = r#"{"error":{"message":"the provider's words","type":"odd","code":null}}"#;
    let cases = [
        (
            "400 Bad Request",
            false,
            "answered 400 Bad Request: the provider's words",
        ),
        ("401 Unauthorized", false, "(check api_key)"),
        ("403 Forbidden", false, "(check api_key)"),
        ("404 Not Found", false, "(check base_url and model)"),
        ("408 Request Timeout", true, "answered 408"),
        ("409 Conflict", true, "answered 409"),
        ("413 Payload Too Large", false, "answered 413"),
        ("429 Too Many Requests", true, "answered 429"),
        ("500 Internal Server Error", true, "answered 500"),
        ("503 Service Unavailable", true, "answered 503"),
        ("529 Overloaded", true, "answered 529"),
    ];
    let good = || Say::plain(message(json!({ "content": "hi" })).to_string());
    for (status, passing, expected) in cases {
        let bad = || Say::status(status, &[], said);
        let recovers = Provider::says([bad(), good()]).await;
        let model = OpenAi::new(Options {
            stream: false,
            ..options(&recovers.url())
        })
        .unwrap();
        assert_eq!(
            ask(&model, &request("hello")).await.1.is_ok(),
            passing,
            "{status}"
        );
        let stays = Provider::says([bad()]).await;
        for stream in [true, false] {
            let model = OpenAi::new(Options {
                stream,
                ..options(&stays.url())
            })
            .unwrap();
            let failure = failure(&model).await;
            assert!(failure.text.contains(expected), "{failure}");
            assert!(
                failure
                    .text
                    .starts_with(&format!("model m-1 at {} ", stays.url())),
                "{failure}"
            );
            assert_eq!(
                (failure.kind, failure.retryable),
                (FailureKind::Model, passing),
                "{failure}"
            );
            assert_eq!(
                failure.detail["status"],
                status[..3].parse::<u16>().unwrap()
            );
            assert_eq!(
                failure.text.contains("(tried 3 times)"),
                passing,
                "{failure}"
            );
        }
        assert_eq!(stays.asked().len(), if passing { 6 } else { 2 }, "{status}");
    }
}

#[tokio::test]
async fn errors_with_a_good_status_are_errors() {
    let cases = [
        (
            json!({ "error": { "message": "no such thing" } }),
            "answered with an error: no such thing",
        ),
        (
            json!({ "error": { "message": "overloaded", "code": 503 } }),
            "answered 503 Service Unavailable: overloaded",
        ),
        (json!({ "error": "no such thing" }), "no such thing"),
        (json!({ "error": { "odd": 1 } }), r#"{"odd":1}"#),
        (
            json!({ "object": "error", "message": "no such thing" }),
            "no such thing",
        ),
        (json!({ "detail": "no such thing" }), "no such thing"),
        (json!({}), "broke its answer off before its first piece"),
        (
            json!({ "choices": [] }),
            "broke its answer off before its first piece",
        ),
        (json!([1, 2]), "broke its answer off before its first piece"),
    ];
    for (body, expected) in cases {
        let body = body.to_string();
        let (_provider, model) = plain(Say::plain(body.clone())).await;
        let in_plain = failure(&model).await;
        let (_provider, model) = streaming(Say::events(&[&body, DONE])).await;
        let in_stream = failure(&model).await;
        let (_provider, model) = streaming(Say::events(&[&word("hi"), &body, DONE])).await;
        let later = ask(&model, &request("hello")).await.1;
        for failure in [&in_plain, &in_stream] {
            assert!(failure.text.contains(expected), "{failure}");
        }
        assert_eq!(
            later.is_err(),
            !expected.contains("first piece"),
            "{later:?}"
        );
    }
    // An error that is none.
    let fine = json!({ "error": null, "choices": [{ "message": { "content": "hi" } }] });
    assert_eq!(read(fine).await.text, "hi");
}

#[tokio::test]
async fn broken_answers_are_failures() {
    let hi = word("hi");
    let whole = format!("data: {hi}\n\ndata: {STOP}\n\ndata: [DONE]\n\n");
    let (_provider, model) = streaming(Say::stream(&[whole.as_bytes()])).await;
    assert_eq!(answer(&model).await.text, "hi", "the control");
    let in_json = &whole.as_bytes()[..whole.find("hi").unwrap()];
    let umlaut = format!("data: {}\n\n", word("ü"));
    let in_letter = &umlaut.as_bytes()[..=umlaut.find('ü').unwrap()];
    let before_mark = format!("data: {hi}\n\n");
    let cases: [(&str, Say, &str); 8] = [
        (
            "cut in JSON",
            Say::stream(&[in_json]).cut(),
            "broke the connection",
        ),
        (
            "ended in JSON",
            Say::stream(&[in_json]),
            "broke its answer off",
        ),
        (
            "cut in a letter",
            Say::stream(&[in_letter]).cut(),
            "broke the connection",
        ),
        (
            "cut before its mark",
            Say::stream(&[before_mark.as_bytes()]).cut(),
            "broke the connection",
        ),
        (
            "no letters",
            Say::stream(&[b"data: \xff\xfe\n\n"]),
            "answered what is no JSON: \u{fffd}",
        ),
        (
            "no JSON",
            Say::events(&["not json", DONE]),
            "answered what is no JSON: not json",
        ),
        (
            "empty",
            Say::stream(&[]),
            "broke its answer off before its first piece",
        ),
        (
            "a page",
            Say::stream(&[b"<html>welcome</html>"]),
            "answered what is no JSON: <html>welcome</html>",
        ),
    ];
    for (what, say, expected) in cases {
        let (provider, model) = streaming(say).await;
        let failure = failure(&model).await;
        assert!(failure.text.contains(expected), "{what}: {failure}");
        assert_eq!(failure.kind, FailureKind::Model, "{what}: {failure}");
        // Not again once a piece had come.
        let tries = if what == "cut before its mark" || !failure.retryable {
            1
        } else {
            3
        };
        assert_eq!(provider.asked().len(), tries, "{what}: {failure}");
    }
    let body = message(json!({ "content": "hi" })).to_string();
    let cases: [(&str, Say, &str, usize); 4] = [
        (
            "cut",
            Say::plain(&body.as_bytes()[..20]).cut(),
            "broke the connection",
            3,
        ),
        (
            "ended early",
            Say::plain(&body.as_bytes()[..20]),
            "answered what is no JSON",
            3,
        ),
        (
            "empty",
            Say::plain(""),
            "broke its answer off before its first piece",
            3,
        ),
        (
            "a page",
            Say::plain("<html>welcome</html>"),
            "answered what is no JSON: <html>welcome</html>",
            1,
        ),
    ];
    for (what, say, expected, tries) in cases {
        let (provider, model) = plain(say).await;
        let failure = failure(&model).await;
        assert!(failure.text.contains(expected), "{what}: {failure}");
        assert_eq!(provider.asked().len(), tries, "{what}: {failure}");
    }
}

#[tokio::test]
async fn answers_have_a_size() {
    let long = |bytes: usize| word(&"x".repeat(bytes));
    let (_provider, model) = streaming(Say::events(&[&long(1 << 20), STOP, DONE])).await;
    assert_eq!(answer(&model).await.text.len(), 1 << 20, "the control");
    let (_provider, model) = streaming(Say::events(&[&long(10 << 20), STOP, DONE])).await;
    let line = failure(&model).await;
    assert!(
        line.text
            .contains("gave an event of more than 2097152 bytes"),
        "{line}"
    );
    let (_provider, model) = streaming(Say::events(&[&long(1 << 20)]).again()).await;
    let endless = failure(&model).await;
    assert!(
        endless
            .text
            .contains("gave an answer of more than 2097152 bytes"),
        "{endless}"
    );
    let call =
        delta(json!({ "tool_calls": [{ "function": { "name": "think", "arguments": "" } }] }));
    let (_provider, model) = streaming(Say::events(&[call.as_str(); 1000]).again()).await;
    let calls = failure(&model).await;
    assert!(
        calls
            .text
            .contains("gave an answer of more than 2097152 bytes"),
        "{calls}"
    );
    let (provider, model) = plain(Say::plain(
        message(json!({ "content": "x".repeat(3 << 20) })).to_string(),
    ))
    .await;
    let whole = failure(&model).await;
    assert_eq!(
        provider.asked().len(),
        1,
        "what is too large is not asked for again"
    );
    assert!(
        whole
            .text
            .contains("gave an answer of more than 2097152 bytes"),
        "{whole}"
    );
    let (_provider, model) = plain(Say::status("500 Oh", &[], "x".repeat(100_000)).again()).await;
    let refusal = failure(&model).await;
    assert!(refusal.text.len() < 500, "{refusal}");
}

#[tokio::test]
async fn every_wait_has_a_limit() {
    let quick = |url: &str| Options {
        first_piece_timeout_ms: 250,
        between_pieces_timeout_ms: 250,
        timeout_ms: 1000,
        retries: 0,
        ..options(url)
    };
    let hi = word("hi");
    let cases = [
        (
            Say::stream(&[]).silent(),
            true,
            "gave no first piece of its answer within 250 ms",
        ),
        (
            Say::stream(&[b": only a comment\n\n"])
                .slowly(ms(20))
                .again(),
            true,
            // A comment is a sign of life.
            "did not finish its answer within 1000 ms",
        ),
        (
            Say::events(&[&hi]).silent(),
            true,
            "gave no more of its answer within 250 ms",
        ),
        (
            Say::events(&[&hi]).slowly(ms(20)).again(),
            true,
            "did not finish its answer within 1000 ms",
        ),
        (
            Say::plain("").silent(),
            false,
            "did not finish its answer within 1000 ms",
        ),
    ];
    for (say, stream, expected) in cases {
        let provider = Provider::says([say]).await;
        let since = Instant::now();
        let failure = failure(
            &OpenAi::new(Options {
                stream,
                ..quick(&provider.url())
            })
            .unwrap(),
        )
        .await;
        assert!(failure.text.contains(expected), "{expected}: {failure}");
        assert_eq!(failure.kind, FailureKind::Timeout, "{failure}");
        assert!(since.elapsed() < ms(20_000), "{:?}", since.elapsed());
        provider.closed().await;
    }
    // The control: as slow, but within its limits.
    let provider = Provider::says([Say::events(&[&hi, &hi, STOP, DONE]).slowly(ms(20))]).await;
    assert_eq!(
        answer(&OpenAi::new(options(&provider.url())).unwrap())
            .await
            .text,
        "hihi"
    );
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let failure = failure(&OpenAi::new(options(&url)).unwrap()).await;
    assert!(
        failure
            .text
            .starts_with(&format!("model m-1 at {url} could not be reached: ")),
        "{failure}"
    );
    assert!(
        failure.text.ends_with("(tried 3 times)") && failure.retryable,
        "{failure}"
    );
    for base_url in ["", "localhost:8080/v1", "file:///etc/passwd"] {
        let failure = OpenAi::new(Options {
            base_url: base_url.to_owned(),
            ..options("")
        })
        .err()
        .unwrap();
        assert!(
            failure
                .text
                .contains("base_url must be an http:// or https:// address"),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let there = Say::status(
        "307 Temporary Redirect",
        &["location: https://elsewhere.example/v1"],
        "",
    );
    let (provider, model) = plain(there).await;
    let failure = failure(&model).await;
    assert!(
        failure
            .text
            .contains("answered 307 Temporary Redirect: moved to https://elsewhere.example/v1"),
        "{failure}"
    );
    assert_eq!(provider.asked().len(), 1);
}

// --- trying again

/// The pauses between the tries of a call that fails with this header and then succeeds.
async fn pauses(header: &str, tuned: Options) -> (Vec<f64>, Result<Answer, Failure>) {
    let busy = Say::status("429 Too Many Requests", &[header], "{}");
    let good = Say::plain(message(json!({ "content": "hi" })).to_string());
    let provider = Provider::says([busy.clone(), busy, good]).await;
    let model = OpenAi::new(Options {
        stream: false,
        base_url: provider.url(),
        ..tuned
    })
    .unwrap();
    let outcome = ask(&model, &request("hello")).await.1;
    let asked = provider.asked();
    (
        asked
            .windows(2)
            .map(|pair| (pair[1].at - pair[0].at).as_secs_f64())
            .collect(),
        outcome,
    )
}

#[tokio::test]
async fn the_provider_says_when_to_try_again() {
    let tuned = || options("");
    let (seconds, millis, garbage) = tokio::join!(
        pauses("retry-after: 1", tuned()),
        pauses("retry-after-ms: 150", tuned()),
        pauses("retry-after: soon", tuned()),
    );
    // At least as long; how much longer is the machine's affair.
    assert!(
        seconds.0.len() == 2 && seconds.0.iter().all(|pause| (1.0..20.0).contains(pause)),
        "{seconds:?}"
    );
    assert!(
        millis.0.len() == 2 && millis.0.iter().all(|pause| (0.15..20.0).contains(pause)),
        "{millis:?}"
    );
    assert!(
        garbage.0.len() == 2 && garbage.0.iter().all(|pause| *pause < 20.0),
        "{garbage:?}"
    );
    assert!(seconds.1.is_ok() && millis.1.is_ok() && garbage.1.is_ok());
}

#[tokio::test]
async fn a_date_to_try_again_at_is_understood() {
    let since = Instant::now();
    let soon = time::OffsetDateTime::from_unix_timestamp(thinkd::words::time::now().seconds() + 3)
        .unwrap();
    let format = time::macros::format_description!(
        "[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT"
    );
    let header = format!("retry-after: {}", soon.format(format).unwrap());
    assert!(pauses(&header, options("")).await.1.is_ok());
    // Written to the second, of which part of one had passed.
    assert!(
        (1.9..20.0).contains(&since.elapsed().as_secs_f64()),
        "{:?}",
        since.elapsed()
    );
    let (past, outcome) = pauses("retry-after: Wed, 21 Oct 2015 07:28:00 GMT", options("")).await;
    assert!(
        outcome.is_ok() && past.iter().all(|pause| *pause < 20.0),
        "{past:?}"
    );
}

#[tokio::test]
async fn pauses_grow_and_never_outlast_the_call() {
    let tuned = Options {
        backoff_ms: 100,
        ..options("")
    };
    let (grown, outcome) = pauses("x-nothing: 1", tuned).await;
    assert!(outcome.is_ok());
    assert!(
        (0.05..20.0).contains(&grown[0]) && (0.1..20.0).contains(&grown[1]),
        "{grown:?}"
    );
    // Asked to wait longer than the call may last, it says so at once.
    let since = Instant::now();
    let (none, outcome) = pauses(
        "retry-after: 3600",
        Options {
            timeout_ms: 50_000,
            ..options("")
        },
    )
    .await;
    let failure = outcome.unwrap_err();
    assert!(none.is_empty() && failure.text.contains("429"), "{failure}");
    assert!(since.elapsed() < ms(20_000));
    // No tries left.
    let (none, outcome) = pauses(
        "retry-after: 0",
        Options {
            retries: 0,
            ..options("")
        },
    )
    .await;
    assert!(none.is_empty() && outcome.is_err());
}

#[tokio::test]
async fn nothing_is_tried_again_once_a_piece_has_come() {
    let hi = word("hi");
    let (provider, model) = streaming(Say::events(&[&hi]).cut()).await;
    let (pieces, outcome) = ask(&model, &request("hello")).await;
    assert_eq!(pieces, [Piece::Text("hi".to_owned())]);
    assert!(outcome.unwrap_err().retryable);
    assert_eq!(provider.asked().len(), 1);
    // The control: the same fault before the first piece.
    let (provider, model) = streaming(Say::events(&[]).cut()).await;
    assert!(ask(&model, &request("hello")).await.1.is_err());
    assert_eq!(provider.asked().len(), 3);
}

// --- letting go

#[tokio::test]
async fn dropping_the_pieces_closes_the_connection() {
    let hi = word("hi");
    for (say, stream, begun) in [
        (Say::events(&[&hi]).silent(), true, true),
        (Say::events(&[]).silent(), true, false),
        (Say::plain("").silent(), false, false),
        (Say::events(&[&hi]).slowly(ms(5)).again(), true, true),
    ] {
        let provider = Provider::says([say]).await;
        let model = OpenAi::new(Options {
            stream,
            ..options(&provider.url())
        })
        .unwrap();
        let mut pieces = model.ask(model.prepare(&request("hello")));
        if begun {
            assert_eq!(
                within("a piece", pieces.next()).await.unwrap().unwrap(),
                Piece::Text("hi".to_owned())
            );
        } else {
            assert!(tokio::time::timeout(ms(200), pieces.next()).await.is_err());
        }
        assert_eq!(provider.connections(), 1);
        drop(pieces);
        provider.closed().await;
    }
}

#[tokio::test]
async fn dropping_the_pieces_ends_a_pause() {
    let busy = Say::status("503 Service Unavailable", &["retry-after: 1"], "");
    let (provider, model) = plain(busy).await;
    let mut pieces = model.ask(model.prepare(&request("hello")));
    assert!(tokio::time::timeout(ms(300), pieces.next()).await.is_err());
    drop(pieces);
    // Longer than the pause that was asked for: nothing tells that no call came.
    tokio::time::sleep(ms(1200)).await;
    assert_eq!(provider.asked().len(), 1);
}

/// A connection serves one call after the other, streamed or plain.
#[tokio::test]
async fn connections_are_used_again() {
    let hi = word("hi");
    let streamed = Say::events(&[&hi, STOP, DONE]).slowly(ms(2));
    let whole = Say::plain(message(json!({ "content": "hi" })).to_string());
    for (say, stream) in [(streamed, true), (whole, false)] {
        let provider = Provider::says([say]).await;
        let model = OpenAi::new(Options {
            stream,
            ..options(&provider.url())
        })
        .unwrap();
        for _ in 0..10 {
            assert_eq!(answer(&model).await.text, "hi");
        }
        // A streamed answer is over before its connection is free again, so that two may take turns.
        let asked = provider.asked().len();
        let connections = provider.connections();
        assert!(
            asked == 10 && connections <= if stream { 3 } else { 1 },
            "{connections}, stream = {stream}"
        );
    }
}
