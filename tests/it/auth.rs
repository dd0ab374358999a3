//! Access on the socket and over HTTP, and the answers to those without it.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use kit::*;

const TOKEN: &str = "correct-horse-battery";

async fn guarded(medium: Medium, stub: &Stub) -> App {
    Setup::new(medium, stub)
        .env("THINKD_TOKEN", TOKEN)
        .start()
        .await
}

fn url(app: &App) -> String {
    format!("ws://{}/ws", app.address)
}

// T4.01 D4.01
on_sqlite!(
    t4_01_d4_01_all_ways_of_authenticating_are_accepted,
    |medium| {
        let stub = Stub::start().await;
        let app = guarded(medium, &stub).await;
        let header = format!("Bearer {TOKEN}");
        let mut by_header = Socket::connect_with(&url(&app), &[("authorization", &header)]).await;
        by_header.of_type("hello").await;
        let mut by_frame = Socket::connect(&url(&app)).await;
        by_frame
            .send(json!({ "type": "auth", "token": TOKEN }))
            .await;
        by_frame.of_type("hello").await;
        let mut by_words = Socket::connect(&url(&app)).await;
        by_words.send_text(&format!("tester:{TOKEN}")).await;
        by_words.of_type("hello").await;
        for socket in [&mut by_header, &mut by_frame, &mut by_words] {
            assert_eq!(socket.say("hello").await["type"], "ack");
            socket.turn_ended().await;
        }
        let log = http::send(
            app.request("GET", "/events")
                .header("authorization", &header),
        )
        .await
        .body["items"]
            .clone();
        let log = log.as_array().unwrap();
        let user = with(log, &["input"])
            .into_iter()
            .filter_map(|event| event["payload"]["user"].as_str())
            .collect::<Vec<_>>();
        assert!(
            user.contains(&"tester"),
            "the name goes into the event: {log:?}"
        );
        let messages = http::send(
            app.request("GET", "/messages")
                .header("authorization", format!("tester:{TOKEN}")),
        )
        .await;
        assert_eq!(messages.status, 200, "{}", messages.text);
        assert_eq!(
            http::send(
                app.request("GET", "/events")
                    .header("authorization", header)
            )
            .await
            .status,
            200
        );
    }
);

// T4.02
on_sqlite!(
    t4_02_wrong_and_unreadable_credentials_are_closed_with_a_code,
    |medium| {
        let stub = Stub::start().await;
        let app = guarded(medium, &stub).await;
        let frame = json!({ "type": "auth", "token": "wrong" }).to_string();
        let message = json!({ "type": "message", "text": "let me in" }).to_string();
        for first in [
            "tester:wrong",
            &format!(":{TOKEN}"),
            "no colon",
            &frame,
            &message,
            "{",
            "",
        ] {
            let mut socket = Socket::connect(&url(&app)).await;
            socket.send_text(first).await;
            assert_eq!(
                socket.closed().await,
                Some(4401),
                "{first:?}: {:?}",
                socket.seen
            );
            assert!(
                socket.seen.iter().all(|frame| frame["type"] == "problem"),
                "{first:?}: {:?}",
                socket.seen
            );
        }
        let mut socket = Socket::connect(&url(&app)).await;
        socket.send_message(Message::binary(vec![1, 2, 3])).await;
        let code = socket.closed().await;
        assert!(code == Some(1003) || code == Some(4401), "{code:?}");
        let log = http::send(
            app.request("GET", "/events?tags=input")
                .header("authorization", format!("Bearer {TOKEN}")),
        )
        .await;
        assert_eq!(
            log.body["items"],
            json!([]),
            "something of it was processed"
        );
        assert!(stub.requests().is_empty());
    }
);

// T4.15
on_sqlite!(
    t4_15_http_without_with_unreadable_and_with_wrong_credentials_are_told_apart,
    |medium| {
        let stub = Stub::start().await;
        let app = guarded(medium, &stub).await;
        let ask = |header: Option<&'static str>| {
            let request = reqwest::Client::get(&http::client(), app.url("/events"));
            http::send(match header {
                Some(header) => request.header("authorization", header),
                None => request,
            })
        };
        let mut texts = Vec::new();
        for header in [None, Some("nonsense"), Some("Bearer wrong")] {
            let answer = ask(header).await;
            texts.push(
                answer.clone().expect_problem(401, "unauthenticated")["detail"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            );
            assert!(!answer.header("www-authenticate").is_empty(), "{header:?}");
            assert!(!answer.text.contains(TOKEN));
        }
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), 3, "three different texts: {texts:?}");
        for path in [
            "/messages",
            "/threads",
            "/state",
            "/submodules",
            "/prompt-views/x",
            "/metrics",
        ] {
            let answer = reqwest::Client::get(&http::client(), app.url(path));
            assert_eq!(http::send(answer).await.status, 401, "{path}");
        }
        for path in ["/livez", "/readyz"] {
            assert_eq!(
                http::send(reqwest::Client::get(&http::client(), app.url(path)))
                    .await
                    .status,
                200,
                "{path} needs none"
            );
        }
    }
);

// D4.01: the older frames, for clients of the older protocol, until they subscribe.
on_sqlite!(d4_01_an_older_client_gets_the_older_frames, |medium| {
    let stub = Stub::start().await;
    let app = guarded(medium, &stub).await;
    let mut socket = Socket::connect(&url(&app)).await;
    socket.send_text(&format!("tester:{TOKEN}")).await;
    socket.of_type("hello").await;
    socket
        .send(json!({ "type": "message", "text": "hello" }))
        .await;
    let answer = socket.of_type("response").await;
    assert_eq!(
        (&answer["role"], &answer["chat"]),
        (&json!("assistant"), &json!(["ok: hello"])),
        "{answer}"
    );
    assert!(
        answer["timestamp"].is_i64() && answer.get("user").is_some(),
        "{answer}"
    );
    socket.send_text("{\"type\":\"nonsense\"}").await;
    let problem = socket.of_type("response").await;
    assert_eq!(problem["role"], "system", "{problem}");
    // After its first subscribe it is a client like any other.
    socket.ask(json!({ "type": "subscribe" })).await;
    socket.turn_ended().await;
    socket.response().await;
    let before = socket.seen.len();
    assert_eq!(said(&socket.chat("again").await), "ok: again");
    socket.turn_ended().await;
    assert!(
        socket.seen[before..]
            .iter()
            .all(|frame| frame["type"] != "response"),
        "{:?}",
        &socket.seen[before..]
    );
});

// Also where nobody needs a token: what a client says first is what it speaks.
on_sqlite!(
    d4_01_an_older_client_gets_the_older_frames_without_a_configured_token,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.raw_socket().await;
        socket.of_type("hello").await;
        socket.send_text("tester:whatever").await;
        socket
            .send(json!({ "type": "message", "text": "hello" }))
            .await;
        let answer = socket.of_type("response").await;
        let expected = (&json!("assistant"), &json!("tester"), &json!(["ok: hello"]));
        assert_eq!(
            (&answer["role"], &answer["user"], &answer["chat"]),
            expected,
            "{answer}"
        );
        socket.ask(json!({ "type": "subscribe" })).await;
        socket.turn_ended().await;
        let before = socket.seen.len();
        socket.chat("again").await;
        socket.turn_ended().await;
        assert!(
            socket.seen[before..]
                .iter()
                .all(|frame| frame["type"] != "response"),
            "{:?}",
            &socket.seen[before..]
        );
        // Control: who does not name itself gets no older frames.
        let mut other = app.socket().await;
        other.chat("hello").await;
        other.turn_ended().await;
        assert!(
            other.seen.iter().all(|frame| frame["type"] != "response"),
            "{:?}",
            other.seen
        );
    }
);

// A page may be of another port, of a name below localhost, of a program's own scheme; only who was named is let in.
#[tokio::test]
async fn pages_of_named_origins_may_speak_to_the_server_and_no_others() {
    let stub = Stub::start().await;
    let hosts =
        "named.example, tauri://localhost, https://whole.example, http://ported.example:8080";
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_HOSTS", hosts)
        .start()
        .await;
    let rows = [
        ("http://localhost:5173", true),
        ("http://tauri.localhost", true),
        ("https://a.b.localhost:8443", true),
        ("http://localhost.evil.example", false),
        ("http://evillocalhost", false),
        ("tauri://localhost", true),
        ("TAURI://localhost", true),
        ("tauri://localhost:1", false),
        ("tauri://other", false),
        ("other://localhost", false),
        ("http://named.example", true),
        ("https://named.example:8443", true),
        ("tauri://named.example", false),
        ("https://whole.example", true),
        ("https://whole.example:443", true),
        ("http://whole.example", false),
        ("https://whole.example:8443", false),
        ("http://ported.example:8080", true),
        ("http://ported.example", false),
        ("null", false),
        ("*", false),
    ];
    for (origin, allowed) in rows {
        let answer = http::send(app.request("GET", "/events").header("origin", origin)).await;
        assert_eq!(
            answer.status,
            if allowed { 200 } else { 403 },
            "{origin}: {}",
            answer.text
        );
        let echoed = answer.header("access-control-allow-origin");
        assert_eq!(echoed, if allowed { origin } else { "" }, "{origin}");
        let socket = http::send(app.request("GET", "/ws").header("origin", origin)).await;
        assert_eq!(
            socket.status,
            if allowed { 426 } else { 403 },
            "{origin} on the socket"
        );
    }
    for (host, answers) in [
        ("a.localhost", 200),
        ("named.example", 200),
        ("whole.example:443", 200),
        ("other", 421),
        ("localhost.evil.example", 421),
    ] {
        assert_eq!(
            http::send(app.request("GET", "/events").header("host", host))
                .await
                .status,
            answers,
            "{host}"
        );
    }
}

// Without credentials configured everybody on this machine is welcome, and may say a name.
on_sqlite!(
    without_configured_credentials_a_name_is_enough_and_not_needed,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.raw_socket().await;
        socket.of_type("hello").await;
        socket.send_text("ada:whatever").await;
        socket.send(json!({ "text": "hello" })).await;
        assert_eq!(socket.tagged("input").await["payload"]["user"], "ada");
        socket.response().await;
        let refused =
            http::send(app.request("GET", "/events").header("host", "evil.example")).await;
        refused.expect(421);
        let refused = http::send(
            app.request("GET", "/events")
                .header("origin", "http://evil.example"),
        )
        .await;
        refused.expect(403);
    }
);

// What is said about the server and all of its spaces is for who runs it; a key of a space sees its own.
on_sqlite!(totals_of_all_spaces_are_for_an_admin_only, |medium| {
    let stub = Stub::start().await;
    let keys = "[[keys]]\nkey = \"the-admin-s-key\"\nrole = \"admin\"\n\
        [[keys]]\nkey = \"a-tenant-s-key\"\nspace = \"tenant\"\n";
    let app = Setup::new(medium, &stub)
        .file("thinkd.toml", keys)
        .env("THINKD_TOKEN", TOKEN)
        .start_bare()
        .await;
    let ask =
        async |key: &str, path: &str| http::send(app.request("GET", path).bearer_auth(key)).await;
    // The single token, too, is an operator only, once there are keys.
    for (key, space) in [("a-tenant-s-key", "tenant"), (TOKEN, "default")] {
        let refused = ask(key, "/metrics").await.expect_problem(403, "forbidden");
        assert!(
            refused["detail"].as_str().unwrap().contains("admin"),
            "{refused}"
        );
        let own = ask(key, "/metadata").await.expect(200);
        assert_eq!(
            (&own["space"], own["head"].is_i64()),
            (&json!(space), true),
            "{own}"
        );
        for secret in ["database", "model"] {
            assert!(
                own.get(secret).is_none(),
                "{secret} was told to {space}: {own}"
            );
        }
    }
    assert!(
        ask("the-admin-s-key", "/metrics")
            .await
            .text
            .contains("thinkd_http_requests_total")
    );
    let all = ask("the-admin-s-key", "/metadata").await.expect(200);
    assert!(
        all["database"].is_string() && all["model"].is_string(),
        "{all}"
    );
    // An admin is an operator, too.
    let voice = json!({ "name": "x", "prompt": "Say x." });
    http::send(
        app.request("POST", "/submodules")
            .bearer_auth("the-admin-s-key")
            .json(&voice),
    )
    .await
    .expect(201);
});

// Where nobody else could be the admin, whoever comes in is.
on_sqlite!(a_single_token_and_an_open_loopback_are_admins, |medium| {
    let stub = Stub::start().await;
    let mut app = guarded(medium, &stub).await;
    let shown = app.request("GET", "/metrics").bearer_auth(TOKEN);
    assert!(
        http::send(shown)
            .await
            .text
            .contains("thinkd_http_requests_total")
    );
    app.kill();
    app.set_env("THINKD_TOKEN", "");
    app.start_again().await;
    assert!(
        app.get("/metrics")
            .await
            .text
            .contains("thinkd_http_requests_total")
    );
    assert!(app.get("/metadata").await.expect(200)["database"].is_string());
});

/// Answers to one request with a wrong key from this address of the machine; how long it took.
async fn guessed(app: &App, from: [u8; 4]) -> Duration {
    let client = reqwest::Client::builder().local_address(std::net::IpAddr::from(from));
    let begin = Instant::now();
    let asked = client.build().unwrap().get(app.url("/metadata"));
    let reply = http::send(asked.bearer_auth("a-wrong-key-of-a-guesser")).await;
    reply.expect_problem(401, "unauthenticated");
    begin.elapsed()
}

// Whoever guesses waits, at every door; whoever has a key never does, from the same address neither.
#[tokio::test]
async fn wrong_keys_are_slowed_per_address_and_good_ones_never() {
    let stub = Stub::start().await;
    let app = guarded(Medium::sqlite(), &stub).await;
    let guesser = [127, 0, 0, 1];
    let other = [127, 0, 0, 2];
    let begin = Instant::now();
    let guesses = futures_util::future::join_all((0..60).map(|_| guessed(&app, guesser)));
    let quick = async {
        // Others have guessed by now, and the first that are held are held on, which is known by time alone.
        tokio::time::sleep(ms(1_000)).await;
        for _ in 0..20 {
            let begin = Instant::now();
            let asked = app.request("GET", "/metadata").bearer_auth(TOKEN);
            http::send(asked).await.expect(200);
            let mut socket = Socket::connect(&url(&app)).await;
            socket.send(json!({ "type": "auth", "token": TOKEN })).await;
            socket.of_type("hello").await;
            assert!(begin.elapsed() < ms(1_000), "{:?}", begin.elapsed());
        }
        assert!(guessed(&app, other).await < ms(1_000));
    };
    let (took, ()) = tokio::join!(guesses, quick);
    let at_once = took.iter().filter(|took| **took < ms(100)).count();
    assert!(at_once <= 20, "{at_once} of 60");
    assert!(begin.elapsed() > ms(3_500), "{:?}", begin.elapsed());
    // The address waits at the other doors, too: as a socket's header, its first frame, and another frame of who is in.
    let begin = Instant::now();
    let mut socket = Socket::connect(&url(&app)).await;
    socket
        .send(json!({ "type": "auth", "token": "a-wrong-key-of-a-guesser" }))
        .await;
    assert_eq!(socket.closed().await, Some(4401));
    let mut socket =
        Socket::connect_with(&url(&app), &[("authorization", &format!("Bearer {TOKEN}"))]).await;
    socket.of_type("hello").await;
    for _ in 0..30 {
        let answer = socket
            .ask(json!({ "type": "auth", "token": "a-wrong-key-of-a-guesser" }))
            .await;
        assert_eq!(answer["problem"]["status"], 401, "{answer}");
    }
    let full = app
        .request("GET", "/readyz?full=true")
        .bearer_auth("a-wrong-key-of-a-guesser");
    http::send(full)
        .await
        .expect_problem(401, "unauthenticated");
    assert!(begin.elapsed() > ms(2_500), "{:?}", begin.elapsed());
}
