//! A small HTTP client that returns replies as JSON values.

use std::sync::LazyLock;

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{facts, schema, within};

/// The client all tests share the settings of; made anew for each, since its connections belong to one runtime.
pub fn client() -> reqwest::Client {
    static RING: LazyLock<()> = LazyLock::new(|| {
        // Another test binary part may have been first: either is ring.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    LazyLock::force(&RING);
    // A server closes what was idle for ten seconds (limits.header_ms): a test that was busy as long must not use it again.
    let kept = std::time::Duration::from_secs(5);
    reqwest::Client::builder()
        .tcp_nodelay(true)
        .no_proxy()
        .pool_idle_timeout(kept)
        .tls_certs_only([]) // no test speaks TLS through it, and reading the system's costs more than a request
        .build()
        .unwrap()
}

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as text (lossy).
    pub text: String,
    /// The body as JSON; null when it is none.
    pub body: Value,
}

impl Reply {
    /// The last part of a problem's `type`; empty when the answer is no problem.
    pub fn slug(&self) -> &str {
        let is_problem = self
            .header("content-type")
            .starts_with("application/problem+json");
        let slug = self.body["type"]
            .as_str()
            .and_then(|kind| kind.rsplit('/').next());
        slug.filter(|_| is_problem).unwrap_or_default()
    }

    /// A header's value; empty when absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The body, if the status is this; a panic with all of it otherwise.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.body
    }

    /// Panics unless it is this problem with this status.
    #[track_caller]
    pub fn expect_problem(self, status: u16, slug: &str) -> Value {
        assert_eq!((self.status, self.slug()), (status, slug), "{}", self.text);
        self.body
    }
}

/// Sends a request and reads the answer to its end.
pub async fn send(request: reqwest::RequestBuilder) -> Reply {
    let (client, request) = request.build_split();
    let request = request.unwrap();
    let method = request.method().to_string();
    let path = request.url().path().to_owned();
    within(
        &format!("the answer to {method} {}", request.url()),
        async move {
            let response = client.execute(request).await.unwrap();
            let status = response.status().as_u16();
            let headers = response.headers().clone();
            let bytes = response.bytes().await.unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let reply = Reply {
                status,
                headers,
                body: serde_json::from_slice(&bytes).unwrap_or_default(),
                text,
            };
            schema::check_answer(
                &method,
                &path,
                status,
                reply.header("content-type"),
                &reply.body,
            );
            if path == "/events" {
                reply.body["items"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .for_each(facts::check);
            }
            reply
        },
    )
    .await
}
