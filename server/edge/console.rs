//! The console: the files of `console/dist`, whole in the binary, at `/console/`. They hold no data and need no credentials; what the page
//! shows it asks of the documented doors. Which files there are stands in `console/files.rs`, which `console/refresh.mjs` writes.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

use super::problem::{Problem, Slug};

mod files;

/// Where it is.
pub const PLACE: &str = "/console/";

/// What the page may do: load files of this server and speak to it, nothing else. `svelte-trusted-html` is the policy by which its
/// framework makes elements of the templates that are compiled into its script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; \
                      font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
                      require-trusted-types-for 'script'; trusted-types svelte-trusted-html";

/// A file of the page: its name below `/console/`, its bytes, and the same compressed, where that is shorter.
type Source = (&'static str, &'static [u8], Option<&'static [u8]>);

/// What is sent for a name.
struct File {
    kind: &'static str,
    plain: Variant,
    gzip: Option<Variant>,
}

/// Bytes and the tag by which a browser knows whether it has them.
struct Variant {
    bytes: &'static [u8],
    tag: String,
}

static FILES: LazyLock<HashMap<&'static str, File>> = LazyLock::new(|| {
    let file = |(name, plain, gzip): &Source| {
        (*name, File { kind: kind(name), plain: Variant::new(plain), gzip: gzip.map(Variant::new) })
    };
    files::FILES.iter().map(file).collect()
});

impl Variant {
    fn new(bytes: &'static [u8]) -> Self {
        let digest = Sha256::digest(bytes);
        let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { bytes, tag: format!("\"{hex}\"") }
    }
}

/// Whether this build has a console.
pub fn is_there() -> bool {
    files::FILES.iter().any(|(name, ..)| *name == "index.html")
}

/// Its addresses.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/console", get(|| async { Redirect::to(PLACE) }))
        .route(PLACE, get(|headers: HeaderMap| async move { answer("index.html", &headers) }))
        .route(
            "/console/{*name}",
            get(|Path(name): Path<String>, headers: HeaderMap| async move { answer(&name, &headers) }),
        )
}

fn answer(name: &str, headers: &HeaderMap) -> Response {
    let Some(file) = FILES.get(name) else {
        return Problem::new(Slug::NotFound, "the console has no such file; it begins at /console/").into_response();
    };
    let (variant, is_gzip) = match &file.gzip {
        Some(gzip) if takes_gzip(headers) => (gzip, true),
        _ => (&file.plain, false),
    };
    let mut response = if knows(headers, &variant.tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, file.kind)], variant.bytes).into_response()
    };
    let answers = response.headers_mut();
    answers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    answers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    answers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    // Names stay from version to version: a browser asks each time, and is told that it has the bytes already.
    answers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&variant.tag) {
        answers.insert(header::ETAG, tag);
    }
    if file.gzip.is_some() {
        answers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
    if is_gzip {
        answers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// The words of a header that may stand there several times, each without what follows its `;`.
fn words(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = (&str, &str)> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|word| word.trim().split_once(';').unwrap_or((word.trim(), "")))
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let refused =
        |weight: &str| weight.trim().strip_prefix("q=").is_some_and(|q| q.trim_matches(['0', '.']).is_empty());
    words(headers, header::ACCEPT_ENCODING).any(|(word, weight)| word.trim() == "gzip" && !refused(weight))
}

fn knows(headers: &HeaderMap, tag: &str) -> bool {
    words(headers, header::IF_NONE_MATCH).any(|(word, _)| word == "*" || word.trim_start_matches("W/") == tag)
}

/// The media type by the name's ending.
fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
