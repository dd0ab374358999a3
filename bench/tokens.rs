//! Tokens: 100,000 tokens of made-up keys in a minute, the requests they make the server send to
//! its issuer, and the wait of a client with a good token meanwhile. As a control, the same number
//! of requests show a wrong key, which no issuer is asked about.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use axum::Router;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::figures::{Arguments, at, client, ms};
use crate::process::{self, Folder, Server, Shape};
use crate::stub::Stub;

/// Strange tokens of a block, and how long it takes.
const STRANGE: usize = 100_000;
const BLOCK: Duration = Duration::from_secs(60);
/// Clients that send them.
const CLIENTS: usize = 16;
/// Between two requests with the good token.
const EVERY: Duration = Duration::from_millis(5);

pub fn run(arguments: &Arguments) {
    // `--secs` above a minute would be another promise.
    let share = (arguments.secs / BLOCK.as_secs_f64()).min(1.0);
    let share = if std::env::args().any(|argument| argument == "--secs") {
        share
    } else {
        1.0
    };
    // It has threads of its own, which cannot start inside of others.
    let stub = Stub::start();
    client().block_on(measure(&stub, STRANGE as f64 * share, BLOCK.mul_f64(share)));
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the signed part of a token of an hour.
fn unsigned(issuer: &str, kid: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "a token has a date")]
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let claims = json!({ "iss": issuer, "aud": "bench", "exp": now + 3600, "sub": "ada", "space": "default", "role": "admin" });
    let header = json!({ "alg": "EdDSA", "kid": kid });
    format!(
        "{}.{}",
        encoded(header.to_string()),
        encoded(claims.to_string())
    )
}

async fn measure(stub: &Stub, strange: f64, block: Duration) {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
    let jwk =
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": "one", "x": encoded(pair.public_key()) });
    let fetches = Arc::new(AtomicUsize::new(0));
    let issuer = issuer(jwk, fetches.clone()).await;
    let signed = unsigned(&issuer, "one");
    let good = format!("{signed}.{}", encoded(pair.sign(signed.as_bytes())));

    let folder = Folder::new();
    let settings = [
        format!("jwt.issuer={issuer}"),
        "jwt.audience=bench".to_owned(),
        format!("jwt.jwks_url={issuer}/jwks"),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::thinkd_asking(&folder.file("tokens.db"), &stub.url(), &settings).await;
    assert_eq!(server.shape, Shape::A);
    let url = server.url("/metadata");

    ask(&url, &good, block.min(Duration::from_secs(2))).await;
    let mut alone = ask(&url, &good, block / 3).await;
    let wrong = |_: usize| "a-wrong-key".to_owned();
    let (mut beside_wrong, wrongs) = tokio::join!(
        ask(&url, &good, block),
        strangers(&url, wrong, strange, block)
    );
    let fetched = fetches.load(Ordering::SeqCst);
    let random = thinkd::words::id::fresh();
    let signature = encoded([7; 64]);
    let made_up = |n: usize| {
        format!(
            "{}.{signature}",
            unsigned(&issuer, &format!("{random}-{n}"))
        )
    };
    let (mut beside, unknown) = tokio::join!(
        ask(&url, &good, block),
        strangers(&url, made_up, strange, block)
    );
    let fetched = fetches.load(Ordering::SeqCst) - fetched;

    let say = |what: &str, waited: &mut Vec<f64>| {
        let p50 = at(waited, 0.5);
        let p99 = at(waited, 0.99);
        println!(
            "a good token {what}: p50 {p50:.2} ms, p99 {p99:.2} ms ({} requests)",
            waited.len()
        );
        p99
    };
    say("alone", &mut alone);
    let control = say(&format!("beside {wrongs} wrong keys"), &mut beside_wrong);
    let p99 = say(
        &format!("beside {unknown} tokens of as many keys that there are not"),
        &mut beside,
    );
    println!(
        "p99 {:.2} of the control's; {fetched} fetches of the issuer's keys in {:.0} s (the goal is 7 a minute at most)",
        p99 / control,
        block.as_secs_f64()
    );
}

async fn issuer(jwk: Value, fetches: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = async move || {
        fetches.fetch_add(1, Ordering::SeqCst);
        axum::Json(json!({ "keys": [jwk] }))
    };
    tokio::spawn(
        async move { axum::serve(listener, Router::new().route("/jwks", get(answer))).await },
    );
    url
}

/// Asks at an even pace with one token, and says how long each answer took.
async fn ask(url: &str, token: &str, time: Duration) -> Vec<f64> {
    let http = process::http();
    let begin = Instant::now();
    let mut waited = Vec::new();
    let mut pace = tokio::time::interval(EVERY);
    while begin.elapsed() < time {
        pace.tick().await;
        let asked = Instant::now();
        let answer = http.get(url).bearer_auth(token).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.bytes().await.unwrap();
        waited.push(ms(asked.elapsed()));
    }
    waited
}

/// Sends invalid tokens at an even pace; returns the number of refusals.
async fn strangers(
    url: &str,
    token: impl Fn(usize) -> String,
    count: f64,
    time: Duration,
) -> usize {
    let each = time.mul_f64(CLIENTS as f64 / count);
    let begin = Instant::now();
    let one = async |number: usize| {
        let http = process::http();
        let mut pace = tokio::time::interval(each);
        let mut refused = 0;
        while begin.elapsed() < time {
            pace.tick().await;
            let token = token(number + refused * CLIENTS);
            let answer = http.get(url).bearer_auth(token).send().await.unwrap();
            assert_eq!(answer.status(), 401);
            answer.bytes().await.unwrap();
            refused += 1;
        }
        refused
    };
    join_all((0..CLIENTS).map(one)).await.into_iter().sum()
}
