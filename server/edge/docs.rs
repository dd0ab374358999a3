//! The contracts, served: the documents (`/openapi.json`, `/asyncapi.yaml`) and pages that show them (`/docs`, `/docs/asyncapi`), whole in
//! the binary, for a browser without a network. Each door makes its own document.

use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::http::openapi;
use super::websocket::asyncapi;

/// What the pages may load: files of this server, nothing inline but styles (Swagger UI sets some), no code made from text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file that the pages load: its name, its type, its bytes. Those named `.gz` are sent as they lie here.
type Asset = (&'static str, &'static str, &'static [u8]);

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

const SMALL: [Asset; 4] = [
    ("openapi.js", JAVASCRIPT, include_bytes!("docs/openapi.js")),
    (
        "asyncapi.js",
        JAVASCRIPT,
        include_bytes!("docs/asyncapi.js"),
    ),
    ("asyncapi.css", STYLE, include_bytes!("docs/asyncapi.css")),
    ("page.css", STYLE, include_bytes!("docs/page.css")),
];

const COMPRESSED: [Asset; 2] = [
    (
        "swagger-ui.js",
        JAVASCRIPT,
        include_bytes!("docs/swagger-ui.js.gz"),
    ),
    (
        "swagger-ui.css",
        STYLE,
        include_bytes!("docs/swagger-ui.css.gz"),
    ),
];

/// The contracts, written when somebody first asks for them: it took a quarter of a start.
static OPENAPI: LazyLock<String> = LazyLock::new(openapi::document);
static ASYNCAPI: LazyLock<String> = LazyLock::new(asyncapi::document);
/// The AsyncAPI document for its page, which reads no YAML.
static ASYNCAPI_JSON: LazyLock<String> = LazyLock::new(|| asyncapi::value().to_string());

/// The documents, the pages and what they load.
pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let mut router = Router::new()
        .route(
            "/openapi.json",
            get(|| async {
                (
                    [(header::CONTENT_TYPE, "application/json")],
                    OPENAPI.as_str(),
                )
            }),
        )
        .route(
            "/asyncapi.yaml",
            get(|| async {
                (
                    [(header::CONTENT_TYPE, "application/yaml")],
                    ASYNCAPI.as_str(),
                )
            }),
        )
        .route(
            "/docs",
            get(|| async { page(include_str!("docs/openapi.html")) }),
        )
        .route(
            "/docs/asyncapi",
            get(|| async { page(include_str!("docs/asyncapi.html")) }),
        )
        .route(
            "/docs/assets/asyncapi.json",
            get(|| async { file("application/json", ASYNCAPI_JSON.as_str()) }),
        );
    for (name, kind, bytes) in SMALL {
        router = router.route(
            &format!("/docs/assets/{name}"),
            get(move || async move { file(kind, bytes) }),
        );
    }
    for (name, kind, bytes) in COMPRESSED {
        let answer = move || async move {
            ([(header::CONTENT_ENCODING, "gzip")], file(kind, bytes)).into_response()
        };
        router = router.route(&format!("/docs/assets/{name}"), get(answer));
    }
    router
}

fn page(html: &'static str) -> Response {
    (
        [(header::CONTENT_SECURITY_POLICY, POLICY)],
        file("text/html; charset=utf-8", html),
    )
        .into_response()
}

fn file(kind: &'static str, body: impl IntoResponse) -> Response {
    let headers: [(HeaderName, &str); 2] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "max-age=3600"), // an upgrade of the server is seen within the hour
    ];
    (StatusCode::OK, headers, body).into_response()
}
