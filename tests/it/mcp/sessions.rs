//! Restarted servers do not know the session of the client: the client connects again, however the server reports that. Every `on_sqlite!` is two
//! `#[tokio::test]`s, one a database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};

use super::*;

/// A response: status, content type and body.
type Form = (u16, &'static str, &'static str);

/// Responses to an unknown session: that of the specification, and those of common server libraries.
const FORMS: [(&str, Form); 4] = [
    ("right", (404, "text/plain", "no such session")),
    (
        "words",
        (
            400,
            "text/plain",
            "Bad Request: No valid session ID provided",
        ),
    ),
    (
        "nobody",
        (
            400,
            "application/json",
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#,
        ),
    ),
    (
        "other",
        (
            400,
            "application/json",
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Invalid session ID"}}"#,
        ),
    ),
];

/// A server with one session, which answers requests of any other with its form.
#[derive(Clone)]
struct Keeper {
    form: Form,
    session: Arc<AtomicUsize>,
    called: Arc<AtomicUsize>,
}

impl Keeper {
    /// Returns the server and its address.
    async fn start(form: Form) -> (Self, String) {
        let keeper = Self {
            form,
            session: Arc::default(),
            called: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = axum::Router::new().route("/mcp", axum::routing::post(asked));
        let router = router.with_state(keeper.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (keeper, url)
    }

    /// Forgets the session, as a restart does.
    fn restarts(&self) {
        self.session.fetch_add(1, SeqCst);
    }
}

async fn asked(
    State(keeper): State<Keeper>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> Response {
    let session = keeper.session.load(SeqCst).to_string();
    let method = message["method"].as_str().unwrap();
    let given = headers.get("mcp-session-id");
    if method != "initialize" && given.is_none_or(|given| *given != *session) {
        let (status, kind, words) = keeper.form;
        let status = StatusCode::from_u16(status).unwrap();
        return (status, [("content-type", kind)], words).into_response();
    }
    let result = match method {
        _ if message["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "keeper", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [tool("say", "Says.")] }),
        "tools/call" => {
            keeper.called.fetch_add(1, SeqCst);
            words("said")
        }
        _ => json!({}),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    ([("mcp-session-id", session)], Json(answer)).into_response()
}

on_sqlite!(
    t1_04_a_restarted_server_is_connected_again_however_it_reports_the_lost_session,
    |medium| {
        let stub = Stub::start().await;
        let mut toml = String::new();
        let mut keepers = Vec::new();
        for (name, form) in FORMS {
            let (keeper, url) = Keeper::start(form).await;
            toml += &format!("[tools.mcp.{name}]\nurl = \"{url}\"\n");
            keepers.push((name, keeper));
        }
        let setup = Setup::new(medium, &stub).file("thinkd.toml", &toml);
        let app = setup.start().await;
        let says = async |name: &str| {
            let tool = format!("mcp__{name}__say");
            stub.script(decision, [call(&tool, arguments("a")), reply("Tried.")]);
            app.tell("try").await;
            let log = app.public_log().await;
            let results = with(&log, &["result", &format!("tool:{tool}")]);
            results.last().unwrap()["payload"].clone()
        };
        for (name, keeper) in keepers {
            assert_eq!(says(name).await["output"], "said", "{name}");
            keeper.restarts();
            let result = says(name).await;
            assert!(
                result["problem"].is_object(),
                "it is told, and not sent twice: {name}: {result}"
            );
            within("its coming back", async {
                while says(name).await["output"] != "said" {}
            })
            .await;
            assert_eq!(
                keeper.called.load(SeqCst),
                2,
                "{name}: nothing is called twice"
            );
        }
    }
);
