//! Bearer tokens of an issuer (JWT): the tokens that are accepted through every door, and those
//! that are refused. Rotation of the issuer's keys is in `jwt/keys.rs`, and the end of a token in
//! `jwt/ends.rs`.

use serde_json::{Value, json};

use kit::issuer::{AUDIENCE, base64url, in_seconds, unsigned};
use kit::*;

mod ends;
mod keys;

async fn ask(app: &App, token: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
    let request = app.request(method, path).bearer_auth(token);
    http::send(match body {
        Some(body) => request.json(&body),
        None => request,
    })
    .await
}

async fn status(app: &App, token: &str) -> u16 {
    ask(app, token, "GET", "/metadata", None).await.status
}

fn socket_url(app: &App) -> String {
    app.url("/ws").replace("http", "ws")
}

/// Returns a socket with this token in its first frame.
async fn shows(app: &App, token: &str) -> Socket {
    let mut socket = Socket::connect(&socket_url(app)).await;
    socket.send(json!({ "type": "auth", "token": token })).await;
    socket
}

/// A socket that is in.
async fn socket_of(app: &App, token: &str) -> Socket {
    let mut socket = shows(app, token).await;
    socket.of_type("hello").await;
    socket
}

/// A token of any kind of key opens every door. Its user stands in the log, not the name that a
/// client gives itself.
#[tokio::test]
async fn a_token_opens_every_door() {
    let stub = Stub::start().await;
    let signers = [
        Signer::rsa("by-rsa", "RS256"),
        Signer::rsa("by-rsa-pss", "PS256"),
        Signer::p256("by-p256"),
        Signer::p384("by-p384"),
        Signer::ed25519("by-ed25519"),
    ];
    let issuer = Issuer::start(&signers.each_ref()).await;
    let app = issuer.setup(Medium::sqlite(), &stub).start_bare().await;
    for (signer, user) in signers.iter().zip(["ada", "bea", "cleo", "dora", "emmy"]) {
        let token = signer.token(&issuer.claims(user, "ours", "member"));
        let metadata = ask(&app, &token, "GET", "/metadata", None)
            .await
            .expect(200);
        assert_eq!(metadata["space"], "ours");
        let stream = app
            .request("GET", "/events/stream")
            .bearer_auth(&token)
            .send()
            .await
            .unwrap();
        assert_eq!(stream.status(), 200);
        let header = format!("Bearer {token}");
        let mut by_header =
            Socket::connect_with(&socket_url(&app), &[("authorization", &header)]).await;
        by_header.of_type("hello").await;
        let mut by_frame = socket_of(&app, &token).await;
        let mut by_words = Socket::connect(&socket_url(&app)).await;
        by_words.send_text(&format!("mallory:{token}")).await;
        by_words.of_type("hello").await;
        for socket in [&mut by_header, &mut by_frame, &mut by_words] {
            socket.say("hello").await;
            let input = socket.tagged("input").await;
            assert_eq!(input["payload"]["user"], user);
        }
    }
    // All of it with one look at the issuer.
    assert_eq!(issuer.fetches(), 1);
}

/// Tokens with named forgeries: each is refused at every door, and no answer says more than the one
/// to a wrong key.
#[tokio::test]
async fn forged_tokens_are_refused_at_every_door() {
    let stub = Stub::start().await;
    let rsa = Signer::rsa("rsa", "RS256");
    let p256 = Signer::p256("p256");
    let stranger = Signer::p256("stranger");
    let issuer = Issuer::start(&[&rsa, &p256]).await;
    let app = issuer
        .setup(Medium::sqlite(), &stub)
        .env("THINKD_TEST_JWT__REFETCH_MS", 60_000)
        .start_bare()
        .await;
    let claims = issuer.claims("ada", "ours", "admin");
    let good = p256.token(&claims);
    let changed = |member: &str, value: Value| {
        let mut header = p256.header();
        header[member] = value;
        header
    };
    let rsa_public = rsa.jwk();
    let modulus = rsa_public["n"].as_str().unwrap();
    let hs256 = |secret: &[u8], kid: &str| {
        let signed = unsigned(
            &json!({ "alg": "HS256", "typ": "JWT", "kid": kid }),
            &claims,
        );
        let tag = ring::hmac::sign(
            &ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret),
            signed.as_bytes(),
        );
        format!("{signed}.{}", base64url(tag))
    };
    let none = |alg: &str| format!("{}.", unsigned(&changed("alg", json!(alg)), &claims));
    let mut tampered = claims.clone();
    tampered["space"] = json!("theirs");
    let signature = good.rsplit('.').next().unwrap();
    let attacks = [
        ("none", none("none")),
        ("None", none("None")),
        (
            "nOnE with the signature of a good one",
            none("nOnE") + signature,
        ),
        (
            "HS256 with the public modulus as the secret",
            hs256(modulus.as_bytes(), "rsa"),
        ),
        (
            "HS256 with the public key as the secret",
            hs256(rsa_public.to_string().as_bytes(), "rsa"),
        ),
        ("HS256 with no secret", hs256(b"", "p256")),
        (
            "RS256 in the header of a P-256 key",
            p256.token_with(&changed("alg", json!("RS256")), &claims),
        ),
        (
            "ES256 in the header of an RSA key",
            rsa.token_with(&json!({ "alg": "ES256", "kid": "rsa" }), &claims),
        ),
        (
            "RS512 in the header of an RS256 key",
            rsa.token_with(&json!({ "alg": "RS512", "kid": "rsa" }), &claims),
        ),
        ("PS256 in the header of an RS256 key", {
            Signer::rsa("rsa", "PS256")
                .token_with(&json!({ "alg": "PS256", "kid": "rsa" }), &claims)
        }),
        (
            "another key by the name of ours",
            stranger.token_with(&p256.header(), &claims),
        ),
        ("a key that the token brings along", {
            let mut header = changed("jwk", stranger.jwk());
            header["kid"] = json!("stranger");
            stranger.token_with(&header, &claims)
        }),
        (
            "a key that the token brings along under the name of ours",
            { stranger.token_with(&changed("jwk", stranger.jwk()), &claims) },
        ),
        ("keys from where the token says", {
            let mut header = changed("jku", json!(format!("{}/jwks", issuer.url)));
            header["kid"] = json!("stranger");
            stranger.token_with(&header, &claims)
        }),
        (
            "a certificate that the token brings along",
            stranger.token_with(&changed("x5c", json!(["MIIB"])), &claims),
        ),
        (
            "a critical header",
            p256.token_with(&changed("crit", json!(["exp"])), &claims),
        ),
        (
            "an empty list of critical headers",
            p256.token_with(&changed("crit", json!([])), &claims),
        ),
        (
            "a kid that is a path",
            p256.token_with(&changed("kid", json!("../../../../etc/passwd")), &claims),
        ),
        (
            "a kid that is SQL",
            p256.token_with(
                &changed("kid", json!("x' UNION SELECT 'secret' --")),
                &claims,
            ),
        ),
        (
            "a kid of lines",
            p256.token_with(
                &changed("kid", json!("p256\r\nERROR forged \u{1b}[31m")),
                &claims,
            ),
        ),
        (
            "a kid that is no text",
            p256.token_with(&changed("kid", json!(["p256"])), &claims),
        ),
        (
            "no kid where there are several keys",
            p256.token_with(&json!({ "alg": "ES256" }), &claims),
        ),
        (
            "other claims under the same signature",
            format!("{}.{signature}", unsigned(&p256.header(), &tampered)),
        ),
        (
            "no signature",
            format!("{}.", unsigned(&p256.header(), &claims)),
        ),
        (
            "a signature of zeros",
            format!(
                "{}.{}",
                unsigned(&p256.header(), &claims),
                base64url([0; 64])
            ),
        ),
        ("claims that are no object", p256.token(&json!([1, 2]))),
        ("three parts of nothing", "..".to_owned()),
        ("three parts that are no base64", "a!.b?.c*".to_owned()),
        (
            "a giant",
            p256.token(&json!({ "iss": issuer.url, "pad": "x".repeat(14_000) })) + &"A".repeat(400),
        ),
    ];
    assert_eq!(status(&app, &good).await, 200, "the control");
    let wrong = ask(&app, "no-key-at-all", "GET", "/metadata", None)
        .await
        .expect_problem(401, "unauthenticated");
    for (name, token) in &attacks {
        if token.len() < 15_000 {
            let refused = ask(&app, token, "GET", "/metadata", None).await;
            assert_eq!(
                refused.clone().expect_problem(401, "unauthenticated")["detail"],
                wrong["detail"],
                "{name}"
            );
            assert_eq!(
                refused.header("www-authenticate"),
                "Bearer realm=\"thinkd\"",
                "{name}"
            );
            let stream = app
                .request("GET", "/events/stream")
                .bearer_auth(token)
                .send()
                .await
                .unwrap();
            assert_eq!(stream.status(), 401, "{name}");
            let upgrade = app
                .request("GET", "/ws")
                .bearer_auth(token)
                .header("upgrade", "websocket");
            let upgrade = upgrade
                .header("connection", "upgrade")
                .header("sec-websocket-version", "13");
            let upgrade = upgrade
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
                .send()
                .await
                .unwrap();
            assert_eq!(upgrade.status(), 401, "{name}");
        }
        let mut socket = shows(&app, token).await;
        assert_eq!(socket.closed().await, Some(4401), "{name}");
        let mut socket = Socket::connect(&socket_url(&app)).await;
        socket.send_text(&format!("ada:{token}")).await;
        assert_eq!(socket.closed().await, Some(4401), "{name}");
    }
    assert_eq!(
        status(&app, &good).await,
        200,
        "the control, after all of it"
    );
    assert_eq!(
        issuer.fetches(),
        1,
        "nothing of it made anybody ask the issuer again so soon"
    );
}

/// Tokens that the issuer did sign, with claims that this server does not accept: refused, and by
/// name.
#[tokio::test]
async fn tokens_that_are_not_for_this_server_are_refused_by_name() {
    let stub = Stub::start().await;
    let signer = Signer::ed25519("one");
    let issuer = Issuer::start(&[&signer]).await;
    let app = issuer.setup(Medium::sqlite(), &stub).start_bare().await;
    let claims = issuer.claims("ada", "ours", "member");
    let with = |member: &str, value: Value| {
        let mut claims = claims.clone();
        claims[member] = value;
        claims
    };
    let without = |member: &str| {
        let mut claims = claims.clone();
        claims.as_object_mut().unwrap().remove(member);
        claims
    };
    let cases = [
        (with("exp", json!(in_seconds(-61.5).floor())), "expired"),
        (with("exp", json!(-1)), "\"exp\""),
        (with("exp", json!("tomorrow")), "\"exp\""),
        (without("exp"), "\"exp\""),
        (with("nbf", json!(in_seconds(90.0).floor())), "nbf"),
        (with("nbf", json!("yesterday")), "\"nbf\""),
        (with("iss", json!("https://other.example")), "issuer"),
        (
            with("iss", json!([issuer.url, "https://other.example"])),
            "issuer",
        ),
        (with("iss", json!(format!("{}/", issuer.url))), "issuer"),
        (without("iss"), "\"iss\""),
        (with("aud", json!("another-server")), "audience"),
        (with("aud", json!([])), "audience"),
        (with("aud", json!(AUDIENCE.to_uppercase())), "audience"),
        (without("aud"), "\"aud\""),
        (without("sub"), "\"sub\""),
        (with("sub", json!(7)), "\"sub\""),
        (with("sub", json!("ada\nERROR forged")), "\"sub\""),
        (with("sub", json!("x".repeat(256))), "\"sub\""),
        // Another user than the one without the blank, to the issuer.
        (with("sub", json!(" ada")), "\"sub\""),
        (with("sub", json!("ada\u{a0}")), "\"sub\""),
        // What turns text around would show another name.
        (with("sub", json!("ada\u{202e}nimda")), "\"sub\""),
        // Nobody sees that these are others.
        (with("sub", json!("ada\u{200b}")), "\"sub\""),
        (with("sub", json!("a\u{ad}da")), "\"sub\""),
        (without("space"), "\"space\""),
        (with("space", json!("../theirs")), "names no space"),
        (with("space", json!(["ours"])), "names no space"),
        (without("role"), "\"role\""),
        (with("role", json!("king")), "names no role"),
        (with("role", json!("Admin")), "names no role"),
        (with("role", json!(["king", "queen"])), "names no role"),
        (with("role", json!({ "admin": true })), "names no role"),
    ];
    for (claims, says) in cases {
        let token = signer.token(&claims);
        let problem = ask(&app, &token, "GET", "/metadata", None)
            .await
            .expect_problem(401, "unauthenticated");
        assert!(
            problem["detail"].as_str().unwrap().contains(says),
            "{says:?} for {claims}: {problem}"
        );
        assert_eq!(
            shows(&app, &token).await.closed().await,
            Some(4401),
            "{says:?} for {claims}"
        );
    }
    let told = app
        .output()
        .matches("a token of the issuer was refused")
        .count();
    assert!(
        (1..=3).contains(&told),
        "the operator is told, and the log not filled: {told} lines"
    );
    // Within what clocks may differ; several audiences; no `kid` where there is one key; a role in a list.
    let accepted = [
        with("exp", json!(in_seconds(-30.0).floor())),
        with("exp", json!(in_seconds(90.5))),
        with("exp", json!(1e300_f64.min(1e18))),
        with("nbf", json!(in_seconds(30.0).floor())),
        with("aud", json!(["another-server", AUDIENCE])),
        with("role", json!(["offline_access", "viewer", "member"])),
    ];
    for claims in accepted {
        assert_eq!(status(&app, &signer.token(&claims)).await, 200, "{claims}");
        socket_of(&app, &signer.token(&claims)).await;
    }
    let nameless = signer.token_with(&json!({ "alg": "EdDSA" }), &claims);
    assert_eq!(status(&app, &nameless).await, 200);
}

/// The role of a token is the role of its client: the rights of every role, and a space that is
/// another's.
#[tokio::test]
async fn a_token_gives_the_rights_of_its_role_in_its_space() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    let app = issuer.setup(Medium::sqlite(), &stub).start_bare().await;
    let roles = ["viewer", "member", "operator", "admin"];
    let theirs = signer.token(&issuer.claims("eve", "theirs", "operator"));
    ask(
        &app,
        &theirs,
        "POST",
        "/threads",
        Some(json!({ "kind": "conversation", "label": "secret" })),
    )
    .await
    .expect(201);
    let mut seen = Vec::new();
    for role in roles {
        let token = signer.token(&issuer.claims(&format!("a-{role}"), "ours", role));
        let say = Some(json!({ "text": "hello" }));
        let shape = Some(json!({ "name": format!("of-{role}"), "prompt": "Say hm." }));
        seen.push([
            ask(&app, &token, "GET", "/events", None).await.status,
            ask(&app, &token, "POST", "/threads/main/messages", say)
                .await
                .status,
            ask(&app, &token, "POST", "/submodules", shape).await.status,
            ask(&app, &token, "GET", "/metrics", None).await.status,
        ]);
        ask(&app, &token, "GET", "/threads/secret", None)
            .await
            .expect_problem(404, "not-found");
        let mut socket = socket_of(&app, &token).await;
        let spoke = socket
            .ask(json!({ "type": "message", "text": "hello" }))
            .await;
        assert_eq!(
            spoke["type"],
            if role == "viewer" { "problem" } else { "ack" },
            "{role}: {spoke}"
        );
    }
    let expected = [
        [200, 403, 403, 403],
        [200, 202, 403, 403],
        [200, 202, 201, 403],
        [200, 202, 201, 200],
    ];
    assert_eq!(seen, expected);
}

/// Claims may be deep, or of other names, and a missing claim may have a default. Keys go on beside
/// tokens.
#[tokio::test]
async fn claims_have_the_names_that_are_configured() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    let setup = issuer
        .setup(Medium::sqlite(), &stub)
        .env(
            "THINKD_JWT__ROLE_CLAIM",
            "/resource_access/thinkd~1test/roles",
        )
        .env("THINKD_JWT__SPACE_CLAIM", "https://thinkd.example/space")
        .env("THINKD_TEST_JWT__USER_CLAIM", "email")
        .env("THINKD_JWT__DEFAULT_SPACE", "commons")
        .env("THINKD_JWT__DEFAULT_ROLE", "viewer")
        .env("THINKD_TOKEN", "a.static.key");
    let app = setup.start_bare().await;
    let mut claims = issuer.claims("ada", "ignored", "admin");
    claims["email"] = json!("ada@example.org");
    let metadata = ask(&app, &signer.token(&claims), "GET", "/metadata", None)
        .await
        .expect(200);
    assert_eq!(metadata["space"], "commons");
    ask(
        &app,
        &signer.token(&claims),
        "POST",
        "/threads/main/messages",
        Some(json!({ "text": "hi" })),
    )
    .await
    .expect_problem(403, "forbidden");
    claims["resource_access"] = json!({ "thinkd/test": { "roles": ["x", "member"] } });
    claims["https://thinkd.example/space"] = json!("lab");
    let token = signer.token(&claims);
    assert_eq!(
        ask(&app, &token, "GET", "/metadata", None)
            .await
            .expect(200)["space"],
        "lab"
    );
    ask(
        &app,
        &token,
        "POST",
        "/threads/main/messages",
        Some(json!({ "text": "hi" })),
    )
    .await
    .expect(202);
    // A default is for a claim that is not there, not for one that says nonsense.
    claims["resource_access"] = json!({ "thinkd/test": { "roles": ["x"] } });
    ask(&app, &signer.token(&claims), "GET", "/metadata", None)
        .await
        .expect_problem(401, "unauthenticated");
    // A key that looks like a token is a key.
    assert_eq!(
        ask(&app, "a.static.key", "GET", "/metadata", None)
            .await
            .expect(200)["space"],
        "default"
    );
}

/// Each user has limits of its own, as each key has: a user with all its sockets open takes none
/// from others.
#[tokio::test]
async fn limits_of_a_key_are_limits_of_a_user() {
    let stub = Stub::start().await;
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]).await;
    let app = issuer
        .setup(Medium::sqlite(), &stub)
        .env("THINKD_LIMITS__SOCKETS_PER_KEY", 2)
        .start_bare()
        .await;
    let token = |user: &str| signer.token(&issuer.claims(user, "ours", "member"));
    let _kept = [
        socket_of(&app, &token("ada")).await,
        socket_of(&app, &token("ada")).await,
    ];
    assert_eq!(shows(&app, &token("ada")).await.closed().await, Some(4429));
    socket_of(&app, &token("bea")).await;
}

/// A server with an incomplete or unsafe configuration of an issuer does not start, and says why.
#[tokio::test]
async fn an_issuer_that_is_not_safe_does_not_start() {
    let folder = db::Folder::new();
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[("JWKS_URL", "http://issuer.example/jwks")], "https://"),
        (&[("JWKS_URL", "http://127.0.0.1.example/jwks")], "https://"),
        (&[("JWKS_URL", "file:///etc/passwd")], "https://"),
        (
            &[("JWKS_URL", "https://user:secret@issuer.example/jwks")],
            "credentials",
        ),
        (
            &[
                ("JWKS_URL", "https://issuer.example/jwks"),
                ("AUDIENCE", ""),
            ],
            "jwt.audience",
        ),
        (
            &[("JWKS_URL", "https://issuer.example/jwks"), ("ISSUER", " ")],
            "jwt.issuer",
        ),
        (
            &[
                ("JWKS_URL", "https://issuer.example/jwks"),
                ("DEFAULT_ROLE", "king"),
            ],
            "default_role",
        ),
    ];
    for (given, says) in cases {
        let mut all = vec![
            ("THINKD_JWT__ISSUER".to_owned(), "https://issuer.example"),
            ("THINKD_JWT__AUDIENCE".into(), "x"),
        ];
        for (name, value) in given {
            let name = format!("THINKD_JWT__{name}");
            all.retain(|(known, _)| *known != name);
            all.push((name, value));
        }
        let env: Vec<(&str, &str)> = all
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        let (code, said) = app::ran(folder.path(), &env, &["--listen", "127.0.0.1:0"]).await;
        assert_eq!(code, Some(2), "{given:?}: {said}");
        assert!(
            said.contains(says) && !said.contains("secret"),
            "{given:?}: {said}"
        );
    }
}
