//! A socket and a stream do not outlive their token, and know when it ends.

use super::*;

fn ending(issuer: &Issuer, user: &str, seconds: f64) -> Value {
    let mut claims = issuer.claims(user, "ours", "member");
    claims["exp"] = json!(in_seconds(seconds));
    claims
}

/// When a frame says that a token ends, in seconds since 1970.
fn at(frame: &Value) -> f64 {
    let text = frame["at"]
        .as_str()
        .unwrap_or_else(|| panic!("no time: {frame}"));
    thinkd_words::time::Timestamp::parse(text).unwrap().micros() as f64 / 1e6
}

/// The frame `expiring` comes before the end, with its time, and then the socket is closed. A
/// socket with a token that lasts stays open: the control.
#[tokio::test]
async fn a_socket_ends_with_its_token() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    let app = issuer
        .setup(Medium::sqlite(), &stub)
        .env("THINKD_TEST_JWT__EXPIRING_MS", 1500)
        .start_bare()
        .await;
    let mut lasting = socket_of(&app, &signer.token(&issuer.claims("bea", "ours", "member"))).await;
    let end = in_seconds(3.0);
    let mut claims = issuer.claims("ada", "ours", "member");
    claims["exp"] = json!(end);
    let token = signer.token(&claims);
    let mut by_frame = socket_of(&app, &token).await;
    let header = format!("Bearer {token}");
    let mut by_header =
        Socket::connect_with(&socket_url(&app), &[("authorization", &header)]).await;
    by_header.of_type("hello").await;
    for socket in [&mut by_frame, &mut by_header] {
        let expiring = socket.of_type("expiring").await;
        let now = in_seconds(0.0);
        assert!(
            (at(&expiring) - end).abs() < 0.001,
            "{expiring} is not {end}"
        );
        assert!(end - 1.6 < now && now < end, "told at {now} of {end}");
    }
    for socket in [&mut by_frame, &mut by_header] {
        assert_eq!(socket.closed().await, Some(4401));
        assert!(in_seconds(0.0) >= end, "closed too early");
        assert_eq!(
            socket
                .seen
                .iter()
                .filter(|frame| frame["type"] == "expiring")
                .count(),
            1
        );
    }
    assert!(
        in_seconds(0.0) < end + 2.0,
        "closed {} s late",
        in_seconds(0.0) - end
    );
    assert_eq!(lasting.ask(json!({ "type": "ping" })).await["type"], "ack");
    assert!(lasting.seen.iter().all(|frame| frame["type"] != "expiring"));
    // With less left than the time of the warning it comes at once; also within the leeway behind the end.
    for seconds in [1.0, -20.0] {
        let mut socket = socket_of(&app, &signer.token(&ending(&issuer, "ada", seconds))).await;
        let expected = in_seconds(seconds) + if seconds < 0.0 { 60.0 } else { 0.0 };
        if seconds > 0.0 {
            let expiring = socket.of_type("expiring").await;
            assert!(
                (at(&expiring) - expected).abs() < 1.0,
                "{expiring} is not {expected}"
            );
        } else {
            assert_eq!(socket.ask(json!({ "type": "ping" })).await["type"], "ack");
        }
    }
}

/// A later token of the same user lets the socket go on; those of others, and of other roles and spaces, do not.
#[tokio::test]
async fn a_later_token_of_the_same_user_extends_a_socket() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    let setup = issuer
        .setup(Medium::sqlite(), &stub)
        .env("THINKD_TEST_JWT__EXPIRING_MS", 60_000);
    let key = "[[keys]]\nkey = \"a-static-key\"\nspace = \"ours\"\nrole = \"member\"\n";
    let app = setup.file("thinkd.toml", key).start_bare().await;
    let end = in_seconds(4.0);
    let mut socket = socket_of(&app, &signer.token(&ending(&issuer, "ada", 4.0))).await;
    socket.of_type("expiring").await;
    let mut other = socket_of(&app, &signer.token(&ending(&issuer, "bea", 4.0))).await;
    for (token, slug) in [
        (
            signer.token(&issuer.claims("mallory", "ours", "member")),
            "forbidden",
        ),
        (
            signer.token(&issuer.claims("ada", "ours", "admin")),
            "forbidden",
        ),
        (
            signer.token(&issuer.claims("ada", "theirs", "member")),
            "forbidden",
        ),
        (
            signer.token(&ending(&issuer, "ada", -100.0)),
            "unauthenticated",
        ),
        ("a-static-key".to_owned(), "forbidden"),
        ("nonsense".to_owned(), "unauthenticated"),
    ] {
        for socket in [&mut socket, &mut other] {
            let answer = socket.ask(json!({ "type": "auth", "token": token })).await;
            if slug == "forbidden" || answer["type"] == "problem" {
                assert_eq!(
                    answer["problem"]["type"],
                    format!("/problems/{slug}"),
                    "{answer}"
                );
            }
        }
    }
    let later = signer.token(&ending(&issuer, "ada", 3600.0));
    assert_eq!(
        socket.ask(json!({ "type": "auth", "token": later })).await["type"],
        "ack"
    );
    // The other one, which showed what is not its own, ends: the control. What was told before is told again for the later token only when it is due.
    assert_eq!(other.closed().await, Some(4401));
    assert!(in_seconds(0.0) >= end - 0.5);
    assert_eq!(socket.ask(json!({ "type": "ping" })).await["type"], "ack");
    socket.say("still here").await;
    assert_eq!(socket.tagged("input").await["payload"]["user"], "ada");
}

/// A stream of server-sent events is told, and ends, likewise.
#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let stub = Stub::start().await;
    let signer = Signer::ed25519("one");
    let issuer = Issuer::start(&[&signer]).await;
    let app = issuer
        .setup(Medium::sqlite(), &stub)
        .env("THINKD_TEST_JWT__EXPIRING_MS", 1000)
        .start_bare()
        .await;
    let end = in_seconds(2.5);
    let mut claims = issuer.claims("ada", "ours", "member");
    claims["exp"] = json!(end);
    let token = signer.token(&claims);
    let mut stream = app
        .request("GET", "/events/stream")
        .bearer_auth(&token)
        .send()
        .await
        .unwrap();
    let mut text = String::new();
    within("the end of the stream", async {
        while let Ok(Some(chunk)) = stream.chunk().await {
            text.push_str(&String::from_utf8_lossy(&chunk));
        }
    })
    .await;
    let late = in_seconds(0.0) - end;
    assert!(
        (0.0..2.0).contains(&late),
        "it ended {late} s after its token"
    );
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with(':'))
        .collect();
    let [event, data] = lines[..] else {
        panic!("{text}")
    };
    assert_eq!(event, "event: expiring");
    let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(data["type"], "expiring");
    assert!((at(&data) - end).abs() < 0.001, "{data} is not {end}");
}
