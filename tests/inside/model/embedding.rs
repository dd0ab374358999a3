//! A model for vectors: its requests, and the parts of its answers that are taken.

use thinkd::model::embedding::{Embedder as _, Embeddings};

use super::provider::{Provider, Say};
use super::*;

fn embeddings(url: &str) -> Embeddings {
    Embeddings::new(Options {
        api_key: Some("key-of-the-test".into()),
        ..options(url)
    })
    .unwrap()
}

fn vector(index: usize, numbers: &str) -> String {
    format!(r#"{{"object":"embedding","index":{index},"embedding":{numbers}}}"#)
}

fn answer(vectors: &[String]) -> Say {
    Say::plain(format!(
        r#"{{"object":"list","data":[{}],"usage":{{}}}}"#,
        vectors.join(",")
    ))
}

fn two() -> [String; 2] {
    ["one".to_owned(), "two".to_owned()]
}

#[tokio::test]
async fn vectors_come_in_the_order_of_their_texts() {
    let provider = Provider::says([answer(&[vector(1, "[0,1]"), vector(0, "[1,0.5]")])]).await;
    let vectors = embeddings(&provider.url()).embed(&two()).await.unwrap();
    assert_eq!(vectors, [[1.0, 0.5], [0.0, 1.0]]);
    let asked = &provider.asked()[0];
    assert!(
        asked.head.starts_with("POST /v1/embeddings "),
        "{}",
        asked.head
    );
    assert!(
        asked
            .head
            .to_lowercase()
            .contains("authorization: bearer key-of-the-test"),
        "{}",
        asked.head
    );
    let body: Value = serde_json::from_slice(&asked.body).unwrap();
    assert_eq!(body, json!({ "model": "m-1", "input": ["one", "two"] }));
}

/// Each bad answer with the words about it; none is asked again, for it would not be better.
#[tokio::test]
async fn an_answer_without_a_vector_of_numbers_for_each_text_is_refused() {
    let good = || vector(0, "[1,0]");
    let cases = [
        (answer(&[good()]), "1 vectors for 2 texts"),
        (answer(&[good(), good()]), "numbered them wrongly"),
        (
            answer(&[good(), vector(7, "[1,0]")]),
            "numbered them wrongly",
        ),
        (answer(&[good(), vector(1, "[1]")]), "of several lengths"),
        (
            answer(&[vector(0, "[]"), vector(1, "[]")]),
            "vectors of 0 numbers",
        ),
        (
            answer(&[good(), vector(1, "[1,null]")]),
            "answered without vectors",
        ),
        (
            answer(&[good(), vector(1, "[1,NaN]")]),
            "answered without vectors",
        ),
        (
            answer(&[good(), vector(1, "[1,1e39]")]),
            "answered without vectors",
        ),
        (Say::plain("{}"), "answered without vectors"),
        (Say::plain("hello"), "answered without vectors"),
        (
            Say::status(
                "307 Temporary Redirect",
                &["location: http://127.0.0.1:1/"],
                "",
            ),
            "moved to http://127.0.0.1:1/",
        ),
        (
            Say::status("401 Unauthorized", &[], "key-of-the-test is no key"),
            "(check api_key)",
        ),
    ];
    for (says, expected) in cases {
        let provider = Provider::says([says]).await;
        let failure = embeddings(&provider.url()).embed(&two()).await.unwrap_err();
        assert!(failure.text.contains(expected), "{expected}: {failure}");
        assert!(
            failure
                .text
                .starts_with(&format!("model m-1 at {} ", provider.url())),
            "{failure}"
        );
        assert!(!failure.text.contains("key-of-the-test"), "{failure}");
        assert_eq!(
            (failure.retryable, provider.asked().len()),
            (false, 1),
            "{failure}"
        );
    }
    let wide = format!("[{}1]", "0,".repeat(8192));
    let provider = Provider::says([answer(&[vector(0, &wide), vector(1, &wide)])]).await;
    let failure = embeddings(&provider.url()).embed(&two()).await.unwrap_err();
    assert!(
        failure.text.contains("vectors of 8193 numbers"),
        "{failure}"
    );
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    let flood = Say::stream(&[&[b' '; 1 << 16]]).again();
    let provider = Provider::says([flood]).await;
    let failure = within("the refusal", embeddings(&provider.url()).embed(&two()))
        .await
        .unwrap_err();
    assert!(
        failure
            .text
            .contains("an answer of more than 25165824 bytes"),
        "{failure}"
    );
    provider.closed().await;
}

#[tokio::test]
async fn a_model_for_vectors_that_stalls_is_given_up_in_time() {
    let provider = Provider::says([answer(&[]).silent()]).await;
    let embeddings = Embeddings::new(Options {
        timeout_ms: 200,
        ..options(&provider.url())
    })
    .unwrap();
    let failure = within("the end of the time", embeddings.embed(&two()))
        .await
        .unwrap_err();
    assert!(
        failure.text.contains("did not answer within 200 ms"),
        "{failure}"
    );
    assert_eq!(
        (failure.kind, failure.retryable),
        (FailureKind::Timeout, true)
    );
    provider.closed().await;
}

#[tokio::test]
async fn what_may_pass_is_asked_again() {
    let busy = Say::status("503 Service Unavailable", &[], "busy");
    let provider = Provider::says([busy, answer(&[vector(0, "[1,0]"), vector(1, "[0,1]")])]).await;
    assert_eq!(
        embeddings(&provider.url())
            .embed(&two())
            .await
            .unwrap()
            .len(),
        2
    );
    assert_eq!(provider.asked().len(), 2);
}
