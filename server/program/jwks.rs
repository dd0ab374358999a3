//! Fetches the public keys of the issuer of tokens, as long as the server lives. `edge/jwt.rs`
//! documents the times and the use of the keys.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::{Client, StatusCode};

use thinkd_edge::jwt::Tokens;
use thinkd_model::http::client;

/// Most bytes of a document of keys.
const DOCUMENT_MAX: usize = 256 << 10;
/// Longest time for reaching the issuer.
const CONNECT: Duration = Duration::from_secs(3);

/// Follows the keys of the issuer for as long as the server lives.
pub fn follow(tokens: Arc<Tokens>) -> anyhow::Result<impl Future<Output = ()>> {
    // An issuer that sends us elsewhere is not asked there: whoever we trust is configured.
    let http = client(tokens.address())
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(0)
        .build()?;
    Ok(async move { tokens.keep(|| fetch(&http, tokens.address())).await })
}

/// Returns the document, in at most `DOCUMENT_MAX` bytes; the caller limits the time.
async fn fetch(http: &Client, address: &str) -> Result<Bytes, String> {
    // Without the address, which may have something in its query.
    let words = |error: reqwest::Error| cause(&error.without_url());
    let mut answer = http
        .get(address)
        .header("accept", "application/json")
        .send()
        .await
        .map_err(words)?;
    if answer.status() != StatusCode::OK {
        return Err(format!("it answers {}", answer.status()));
    }
    let mut document = BytesMut::new();
    while let Some(chunk) = answer.chunk().await.map_err(words)? {
        document.extend_from_slice(&chunk);
        if document.len() > DOCUMENT_MAX {
            return Err(format!(
                "its document of keys has more than {DOCUMENT_MAX} bytes"
            ));
        }
    }
    Ok(document.freeze())
}

/// Returns the innermost error, which names the cause.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    format!("it cannot be reached: {cause}")
}
