//! The contracts, served: the documents (`/openapi.json`, `/asyncapi.yaml`) and pages that show them (`/docs`, `/docs/asyncapi`), whole in
//! the binary, for a browser without a network. Each door makes its own document.

use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::console::kind;
use super::http::openapi;
use super::websocket::asyncapi;

/// The policy of the pages: they load files of this server, nothing inline, and make no code from text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file that the pages load: its name, its bytes.
type Asset = (&'static str, &'static [u8]);

const ASSETS: [Asset; 4] = [
    ("contract.js", include_bytes!("docs/contract.js")),
    ("openapi.js", include_bytes!("docs/openapi.js")),
    ("asyncapi.js", include_bytes!("docs/asyncapi.js")),
    ("page.css", include_bytes!("docs/page.css")),
];

/// The contracts, written when a client first asks for them: it took a quarter of a start.
static OPENAPI: LazyLock<String> = LazyLock::new(openapi::document);
static ASYNCAPI: LazyLock<String> = LazyLock::new(asyncapi::document);
/// The AsyncAPI document for its page, which reads no YAML.
static ASYNCAPI_JSON: LazyLock<String> = LazyLock::new(|| asyncapi::value().to_string());

/// Returns the routes of the documents, the pages and the files that they load.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let json = || async { document("application/json", &OPENAPI) };
    let yaml = || async { document("application/yaml", &ASYNCAPI) };
    let http = || async { page(include_str!("docs/openapi.html")) };
    let socket = || async { page(include_str!("docs/asyncapi.html")) };
    let frames = || async { file("application/json", ASYNCAPI_JSON.as_str()) };
    let mut router = Router::new()
        .route("/openapi.json", get(json))
        .route("/asyncapi.yaml", get(yaml))
        .route("/docs", get(http))
        .route("/docs/asyncapi", get(socket))
        .route("/docs/assets/asyncapi.json", get(frames));
    for (name, bytes) in ASSETS {
        let answer = move || async move { file(kind(name), bytes) };
        router = router.route(&format!("/docs/assets/{name}"), get(answer));
    }
    router
}

fn document(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}

fn page(html: &'static str) -> Response {
    let page = file("text/html; charset=utf-8", html);
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], page).into_response()
}

fn file(kind: &'static str, body: impl IntoResponse) -> Response {
    let headers: [(HeaderName, &str); 2] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "max-age=3600"), // an upgrade of the server is seen within the hour
    ];
    (StatusCode::OK, headers, body).into_response()
}
