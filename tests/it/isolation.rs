//! One tenant does not slow another: the promises to B while A takes all it can get.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::*;

mod processors;
mod reads;
mod timers;
mod tools;
mod turns;
mod writes;

const TENANTS: &str = "[[keys]]\nkey = \"the-key-of-a-0123456789\"\nspace = \"a\"\nrole = \"operator\"\n\
                       [[keys]]\nkey = \"the-key-of-b-0123456789\"\nspace = \"b\"\nrole = \"operator\"\n\
                       [[keys]]\nkey = \"the-key-of-c-0123456789\"\nspace = \"c\"\nrole = \"admin\"\n";

/// A server with two tenants.
fn tenants(medium: Medium, stub: &Stub) -> Setup {
    Setup::new(medium, stub).file("thinkd.toml", TENANTS)
}

/// One tenant's way to the server.
#[derive(Clone, Copy)]
struct Tenant<'a> {
    app: &'a App,
    name: &'static str,
}

fn a(app: &App) -> Tenant<'_> {
    Tenant { app, name: "a" }
}

fn admin(app: &App) -> Tenant<'_> {
    Tenant { app, name: "c" }
}

fn b(app: &App) -> Tenant<'_> {
    Tenant { app, name: "b" }
}

impl Tenant<'_> {
    fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let key = format!("Bearer the-key-of-{}-0123456789", self.name);
        self.app.request(method, path).header("authorization", key)
    }

    /// A socket of it that has read its `hello`.
    async fn socket(&self) -> Socket {
        let url = format!("ws://{}/ws", self.app.address);
        let key = format!("Bearer the-key-of-{}-0123456789", self.name);
        let mut socket = Socket::connect_with(&url, &[("authorization", &key)]).await;
        socket.of_type("hello").await;
        socket
    }

    async fn get(&self, path: &str) -> Reply {
        http::send(self.request("GET", path)).await
    }

    async fn post(&self, path: &str, body: Value) -> Reply {
        http::send(self.request("POST", path).json(&body)).await
    }

    /// Says something in a thread and does not wait for the answer.
    async fn say(&self, thread: &str, text: &str) -> Value {
        self.post(
            &format!("/threads/{thread}/messages"),
            json!({ "text": text }),
        )
        .await
        .expect(202)
    }

    /// Says something in `main` and waits for the reply.
    async fn chat(&self, text: &str) -> String {
        let answer = self
            .post("/threads/main/messages?wait=15", json!({ "text": text }))
            .await
            .expect(200);
        answer["responses"]
            .as_array()
            .and_then(|all| all.first())
            .map(said)
            .unwrap_or_default()
            .to_owned()
    }
}

/// Waits until so many places of a kind are taken.
async fn taken(app: &App, of: &str, count: u32) {
    places(app, "taken", of, count).await;
}

/// Waits until so many wait for a place of a kind.
async fn awaited(app: &App, of: &str, count: u32) {
    places(app, "awaited", of, count).await;
}

async fn places(app: &App, are: &str, of: &str, count: u32) {
    let line = format!("thinkd_places_{are}{{of=\"{of}\"}} {count}\n");
    polled(&format!("{count} places of {of}"), async || {
        admin(app).get("/metrics").await.text.contains(&line)
    })
    .await;
}
