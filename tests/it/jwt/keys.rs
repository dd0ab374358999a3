//! The issuer's keys: fetched once for many, never lost, changed without a restart, and used for a while when the issuer is away.

use futures_util::future::join_all;

use super::*;

const ADMIN: &str = "[[keys]]\nkey = \"the-key-of-the-admin\"\nrole = \"admin\"\n";

async fn metrics(app: &App) -> String {
    ask(app, "the-key-of-the-admin", "GET", "/metrics", None)
        .await
        .text
}

/// Many clients that come while the issuer has not answered yet wait for one fetch.
#[tokio::test]
async fn keys_are_fetched_once_for_all_who_wait() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    issuer.behave(Manner::Hangs);
    let setup = issuer
        .setup(Medium::sqlite(), &stub)
        .env("THINKD_TEST_JWT__FETCH_MS", 30_000);
    let app = setup.start_bare().await;
    let token = signer.token(&issuer.claims("ada", "ours", "member"));
    let waiting = join_all((0..40).map(|_| status(&app, &token)));
    let answers = async {
        issuer.is_fetched(1).await;
        // Time for another fetch, which no event would tell from none.
        tokio::time::sleep(ms(300)).await;
        issuer.behave(Manner::Answers);
    };
    let (statuses, ()) = tokio::join!(waiting, answers);
    assert_eq!(statuses, [200; 40]);
    assert_eq!(issuer.fetches(), 1);
}

/// Tokens of unknown keys cause one fetch in a time and evict nothing. No client with a good token
/// waits for the fetch, even a slow one.
#[tokio::test]
async fn unknown_keys_cost_good_tokens_nothing() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    let setup = issuer
        .setup(Medium::sqlite(), &stub)
        .file("thinkd.toml", ADMIN);
    let app = setup
        .env("THINKD_TEST_JWT__REFETCH_MS", 1000)
        .env("THINKD_TEST_JWT__FETCH_MS", 30_000)
        .start_bare()
        .await;
    let claims = issuer.claims("ada", "ours", "member");
    let good = signer.token(&claims);
    assert_eq!(status(&app, &good).await, 200);
    let random = |n: usize| {
        signer.token_with(
            &json!({ "alg": "ES256", "kid": format!("random-{n}") }),
            &claims,
        )
    };
    let begin = std::time::Instant::now();
    let mut n = 0;
    while begin.elapsed() < ms(3500) {
        let tokens: Vec<String> = (n..n + 20).map(random).collect();
        n += 20;
        assert!(
            join_all(tokens.iter().map(|token| status(&app, token)))
                .await
                .iter()
                .all(|status| *status == 401)
        );
        assert_eq!(status(&app, &good).await, 200);
    }
    let most = 1 + begin.elapsed().as_millis() as usize / 1000 + 1;
    assert!(
        (2..=most).contains(&issuer.fetches()),
        "{} fetches for {n} unknown keys, not 2 to {most}",
        issuer.fetches()
    );
    // The issuer hangs: who shows an unknown key waits, who shows a good token does not.
    // The time in which unknown keys cause one fetch is over.
    tokio::time::sleep(ms(1000)).await;
    issuer.behave(Manner::Hangs);
    let before = issuer.fetches();
    let unknown = random(n);
    let stranger = status(&app, &unknown);
    let others = async {
        issuer.is_fetched(before + 1).await;
        for _ in 0..20 {
            assert_eq!(status(&app, &good).await, 200);
        }
        let mut socket = socket_of(&app, &good).await;
        socket.say("hello").await;
        assert_eq!(issuer.fetches(), before + 1);
        issuer.behave(Manner::Answers);
    };
    let (stranger, ()) = tokio::join!(stranger, others);
    assert_eq!(stranger, 401);
    let metrics = metrics(&app).await;
    assert!(
        metrics.contains("thinkd_jwt_refused_total{reason=\"unknown_key\"}"),
        "{metrics}"
    );
}

/// A new key counts from the first token that it has signed; one that is withdrawn closes the sockets and streams of its tokens. Those
/// of keys that stay do: the control.
#[tokio::test]
async fn keys_rotate_without_a_restart() {
    let stub = Stub::start().await;
    let old = Signer::rsa("old", "RS256");
    let stays = Signer::p256("stays");
    let new = Signer::ed25519("new");
    let issuer = Issuer::start(&[&old, &stays]).await;
    let app = issuer
        .setup(Medium::sqlite(), &stub)
        .env("THINKD_TEST_JWT__REFETCH_MS", 50)
        .start_bare()
        .await;
    let claims = issuer.claims("ada", "ours", "member");
    // An unknown key causes a fetch, but not too soon after another one.
    let fetched_for = async |token: &str| {
        let before = issuer.fetches();
        polled("a fetch for an unknown key", async || {
            status(&app, token).await;
            issuer.fetches() > before
        })
        .await;
    };
    let mut of_old = socket_of(&app, &old.token(&claims)).await;
    let mut of_stays = socket_of(&app, &stays.token(&claims)).await;
    let mut stream = app
        .request("GET", "/events/stream")
        .bearer_auth(old.token(&claims))
        .send()
        .await
        .unwrap();
    issuer.publish(&[&old, &stays, &new]);
    fetched_for(&new.token(&claims)).await;
    assert_eq!(
        status(&app, &new.token(&claims)).await,
        200,
        "a new key counts at once"
    );
    assert_eq!(
        of_old.ask(json!({ "type": "ping" })).await["type"],
        "ack",
        "what is still there stays"
    );
    issuer.publish(&[&stays, &new]);
    let unknown = Signer::p256("unknown").token(&claims);
    fetched_for(&unknown).await;
    assert_eq!(status(&app, &unknown).await, 401);
    assert_eq!(of_old.closed().await, Some(4401));
    within("the end of the stream", async {
        while let Ok(Some(_)) = stream.chunk().await {}
    })
    .await;
    assert_eq!(status(&app, &old.token(&claims)).await, 401);
    assert_eq!(of_stays.ask(json!({ "type": "ping" })).await["type"], "ack");
    // A key that is replaced under the same name is another key.
    let imposter = Signer::p256("stays");
    issuer.publish(&[&imposter, &new]);
    fetched_for(&unknown).await;
    assert_eq!(of_stays.closed().await, Some(4401));
    assert_eq!(status(&app, &stays.token(&claims)).await, 401);
    assert_eq!(status(&app, &imposter.token(&claims)).await, 200);
}

/// An answer that is no document of keys changes nothing: the keys that were there stay, and the
/// operator is told.
#[tokio::test]
async fn documents_that_cannot_be_read_change_nothing() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    let setup = issuer
        .setup(Medium::sqlite(), &stub)
        .file("thinkd.toml", ADMIN);
    let app = setup
        .env("THINKD_TEST_JWT__REFETCH_MS", 50)
        .env("THINKD_TEST_JWT__REFRESH_MS", 50)
        .env("THINKD_TEST_JWT__FETCH_MS", 300)
        .start_bare()
        .await;
    let good = signer.token(&issuer.claims("ada", "ours", "member"));
    assert_eq!(status(&app, &good).await, 200);
    let mut socket = socket_of(&app, &good).await;
    let mut weak = Signer::rsa("weak", "RS256").jwk();
    weak["n"] = json!(base64url([0xC1; 128]));
    let of = |keys: Vec<Value>| Manner::Says(200, json!({ "keys": keys }).to_string());
    let mut encrypts = signer.jwk();
    encrypts["use"] = json!("enc");
    let mut symmetric = signer.jwk();
    symmetric["alg"] = json!("HS256");
    for (manner, says) in [
        (Manner::Says(500, "down".into()), "500"),
        (Manner::Says(302, String::new()), "302"),
        (Manner::Says(200, "<html>".into()), "no JWKS document"),
        (Manner::Says(200, "[".repeat(100_000)), "no JWKS document"),
        (
            Manner::Says(200, "{\"keys\":{}}".into()),
            "no JWKS document",
        ),
        (of(vec![]), "none of its 0 keys"),
        (
            of(vec![
                json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "one", "alg": "HS256" }),
            ]),
            "none of its 1 keys",
        ),
        (of(vec![weak]), "none of its 1 keys"),
        (of(vec![encrypts]), "none of its 1 keys"),
        (of(vec![symmetric]), "none of its 1 keys"),
        (of(vec![signer.jwk(); 101]), "101 keys"),
        (Manner::Says(200, " ".repeat(300 << 10)), "bytes"),
        (Manner::Hangs, "300 ms"),
    ] {
        issuer.behave(manner.clone());
        app.until_says(says).await;
        polled("the gauge", async || {
            metrics(&app).await.contains("thinkd_jwks_stale 1")
        })
        .await;
        assert_eq!(status(&app, &good).await, 200, "{manner:?}");
        issuer.behave(Manner::Answers);
        polled("the gauge", async || {
            metrics(&app).await.contains("thinkd_jwks_stale 0")
        })
        .await;
    }
    assert_eq!(
        socket.ask(json!({ "type": "ping" })).await["type"],
        "ack",
        "nobody had to go"
    );
    // Among others one that is of no use is left out.
    issuer.publish_raw(vec![
        json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "two" }),
        json!(7),
        signer.jwk(),
    ]);
    let fetched = issuer.fetches();
    issuer.is_fetched(fetched + 2).await;
    assert_eq!(status(&app, &good).await, 200);
}

/// While the issuer is away its keys count for a while, then no token does, and the operator is told; keys of the server go on, and when
/// the issuer is back so are tokens. Open sockets stay: their tokens were good.
#[tokio::test]
async fn keys_count_for_a_while_when_the_issuer_is_away() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    let setup = issuer
        .setup(Medium::sqlite(), &stub)
        .file("thinkd.toml", ADMIN);
    let setup = setup
        .env("THINKD_TEST_JWT__REFRESH_MS", 100)
        .env("THINKD_TEST_JWT__REFETCH_MS", 100);
    let app = setup
        .env("THINKD_TEST_JWT__STALE_MS", 5000)
        .start_bare()
        .await;
    let good = signer.token(&issuer.claims("ada", "ours", "member"));
    let mut socket = socket_of(&app, &good).await;
    issuer.behave(Manner::Says(503, String::new()));
    let away = std::time::Instant::now();
    polled("the gauge", async || {
        metrics(&app).await.contains("thinkd_jwks_stale 1")
    })
    .await;
    assert_eq!(
        status(&app, &good).await,
        200,
        "keys that were fetched count"
    );
    polled("an unavailable server", async || {
        status(&app, &good).await == 503
    })
    .await;
    assert!(away.elapsed() > ms(4000), "too early");
    let refused = ask(&app, &good, "GET", "/metadata", None).await;
    assert!(!refused.header("retry-after").is_empty());
    refused.expect_problem(503, "unavailable");
    assert_eq!(
        shows(&app, &good).await.closed().await,
        Some(1001),
        "a client that comes again, and asks for no other token"
    );
    app.until_says("no token is taken").await;
    assert_eq!(
        ask(&app, "the-key-of-the-admin", "GET", "/metadata", None)
            .await
            .status,
        200
    );
    assert_eq!(socket.ask(json!({ "type": "ping" })).await["type"], "ack");
    issuer.behave(Manner::Answers);
    polled("tokens count again", async || {
        status(&app, &good).await == 200
    })
    .await;
    assert_eq!(socket.ask(json!({ "type": "ping" })).await["type"], "ack");
}

/// The last key of the server may go where tokens are accepted: a client with no token stays
/// refused.
#[tokio::test]
async fn a_server_without_keys_is_not_open_where_it_takes_tokens() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    let app = issuer
        .setup(Medium::sqlite(), &stub)
        .file("thinkd.toml", ADMIN)
        .start_bare()
        .await;
    let good = signer.token(&issuer.claims("ada", "ours", "member"));
    let mut of_key = socket_of(&app, "the-key-of-the-admin").await;
    let mut of_token = socket_of(&app, &good).await;
    std::fs::write(app.folder().join("thinkd.toml"), "").unwrap();
    assert_eq!(of_key.closed().await, Some(4401));
    assert_eq!(status(&app, "the-key-of-the-admin").await, 401);
    let nobody = http::send(app.request("GET", "/metadata")).await;
    nobody.expect_problem(401, "unauthenticated");
    let mut socket = Socket::connect(&socket_url(&app)).await;
    socket.send_text("ada:whatever").await;
    assert_eq!(socket.closed().await, Some(4401));
    assert_eq!(of_token.ask(json!({ "type": "ping" })).await["type"], "ack");
    assert_eq!(status(&app, &good).await, 200);
}

/// Neither a token nor the text of its header stands in the log, at any length.
#[tokio::test]
async fn no_token_and_no_kid_stands_in_the_log() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    let setup = issuer
        .setup(Medium::sqlite(), &stub)
        .env("THINKD_LOG__LEVEL", "trace");
    let app = setup.start_bare().await;
    let claims = issuer.claims("ada-the-user", "ours", "member");
    let good = signer.token(&claims);
    let kid = "a-kid-of-lines\n2026-11-23T00:00:00Z ERROR forged";
    let forged = signer.token_with(&json!({ "alg": "ES256", "kid": kid }), &claims);
    let mut unfit = claims.clone();
    unfit["role"] = json!("a-role-of-lines\nERROR forged");
    let unfit = signer.token(&unfit);
    for token in [&good, &forged, &unfit] {
        status(&app, token).await;
        let mut socket = shows(&app, token).await;
        if token == &good {
            socket.of_type("hello").await;
            socket.ask(json!({ "type": "auth", "token": forged })).await;
        } else {
            socket.closed().await;
        }
    }
    // The line that must come is there: the control.
    app.until_says("a token of the issuer was refused").await;
    let log = app.output();
    for secret in [&good, &forged, &unfit]
        .into_iter()
        .flat_map(|token| token.split('.'))
        .chain(["a-kid-of-lines", "a-role-of-lines", "ERROR forged"])
    {
        assert!(!log.contains(secret), "{secret} stands in the log:\n{log}");
    }
}
