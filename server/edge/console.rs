//! The console: the files of `console/dist`, whole in the binary, at `/console/`. They hold no data
//! and need no credentials; the page asks the documented doors for the data it shows.
//! `console/files.rs` lists the files; `console/refresh.mjs` writes that list.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use super::problem::Problem;
use thinkd_words::text::sha256;

mod files;

/// The console as seen from `/`: a proxy may have put a path before both.
pub const PLACE: &str = "console/";

/// The policy of the page: it may load files of this server and speak to it, nothing else.
/// `svelte-trusted-html` is the policy by which its framework makes elements of the templates that
/// are compiled into its script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; \
                      font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
                      require-trusted-types-for 'script'; trusted-types svelte-trusted-html";

const COOP: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// A file of the page: its name below `/console/`, its bytes, and whether they are compressed, as they are where that is shorter.
type Source = (&'static str, &'static [u8], bool);

/// The file that is sent for a name.
struct File {
    kind: &'static str,
    bytes: &'static [u8],
    /// Every browser unpacks it; a client that does not ask for gzip gets it all the same, as
    /// nothing in here could unpack it.
    is_gzip: bool,
    /// By it a browser knows whether it has the bytes.
    tag: String,
}

static FILES: LazyLock<HashMap<&'static str, File>> = LazyLock::new(|| {
    let file = |(name, bytes, is_gzip): &Source| {
        let file = File {
            kind: kind(name),
            bytes,
            is_gzip: *is_gzip,
            tag: format!("\"{}\"", &sha256(bytes)[..32]),
        };
        (*name, file)
    };
    files::FILES.iter().map(file).collect()
});

/// Returns true if this build has a console.
pub fn is_there() -> bool {
    files::FILES.iter().any(|(name, ..)| *name == "index.html")
}

/// Its addresses.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/console", get(|| async { Redirect::to(PLACE) }))
        .route("/console/", get(|headers: HeaderMap| async move { answer("index.html", &headers) }))
        .route(
            "/console/{*name}",
            get(|Path(name): Path<String>, headers: HeaderMap| async move { answer(&name, &headers) }),
        )
}

fn answer(name: &str, headers: &HeaderMap) -> Response {
    let Some(file) = FILES.get(name) else {
        let detail = "the console has no such file; it begins at /console/";
        return Problem::not_found(detail).into_response();
    };
    let mut response = if knows(headers, &file.tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, file.kind)], file.bytes).into_response()
    };
    let answers = response.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (COOP, "same-origin"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    for (name, value) in fixed {
        answers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&file.tag) {
        answers.insert(header::ETAG, tag);
    }
    if file.is_gzip {
        answers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Returns true if a browser has the bytes with this tag.
fn knows(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut words = texts.flat_map(|text| text.split(',')).map(str::trim);
    words.any(|word| word == "*" || word.trim_start_matches("W/") == tag)
}

/// The media type by the name's ending.
pub(super) fn kind(name: &str) -> &'static str {
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
