//! An issuer of tokens on loopback: it publishes keys that a test chooses, answers, fails or hangs,
//! and counts the fetches.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{Medium, Setup, Stub, within};

/// The audience of the tokens.
pub const AUDIENCE: &str = "thinkd-test";

/// A key that signs tokens.
pub struct Signer {
    kid: String,
    alg: &'static str,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

/// Bytes as tokens write them.
pub fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    /// The one RSA key there is: ring makes none. It is for tests alone.
    pub fn rsa(kid: &str, alg: &'static str) -> Self {
        let text: String = include_str!("issuer_rsa.txt").split_whitespace().collect();
        let pair = RsaKeyPair::from_der(&STANDARD.decode(text).unwrap()).unwrap();
        Self {
            kid: kid.into(),
            alg,
            pair: Pair::Rsa(pair),
        }
    }

    /// A new key of P-256.
    pub fn p256(kid: &str) -> Self {
        Self {
            kid: kid.into(),
            alg: "ES256",
            pair: Pair::Ec(ec(&ECDSA_P256_SHA256_FIXED_SIGNING)),
        }
    }

    /// A new key of P-384.
    pub fn p384(kid: &str) -> Self {
        Self {
            kid: kid.into(),
            alg: "ES384",
            pair: Pair::Ec(ec(&ECDSA_P384_SHA384_FIXED_SIGNING)),
        }
    }

    /// A new key of Ed25519.
    pub fn ed25519(kid: &str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self {
            kid: kid.into(),
            alg: "EdDSA",
            pair: Pair::Ed(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()),
        }
    }

    /// Its public half, as a JWKS document has it.
    pub fn jwk(&self) -> Value {
        let mut jwk = match &self.pair {
            Pair::Rsa(pair) => {
                let parts = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": base64url(parts.n), "e": base64url(parts.e) })
            }
            Pair::Ec(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({ "kty": "EC", "crv": curve, "x": base64url(x), "y": base64url(y) })
            }
            Pair::Ed(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": base64url(pair.public_key()) })
            }
        };
        jwk["kid"] = json!(self.kid);
        jwk["alg"] = json!(self.alg);
        jwk["use"] = json!("sig");
        jwk
    }

    /// The header of its tokens.
    pub fn header(&self) -> Value {
        json!({ "alg": self.alg, "typ": "JWT", "kid": self.kid })
    }

    /// A token that says this.
    pub fn token(&self, claims: &Value) -> String {
        self.token_with(&self.header(), claims)
    }

    /// A token with a header of one's own.
    pub fn token_with(&self, header: &Value, claims: &Value) -> String {
        let signed = unsigned(header, claims);
        let signature = self.sign(signed.as_bytes());
        format!("{signed}.{}", base64url(signature))
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let padding: &'static dyn ring::signature::RsaEncoding = if self.alg == "PS256" {
                    &RSA_PSS_SHA256
                } else {
                    &RSA_PKCS1_SHA256
                };
                pair.sign(padding, &random, message, &mut signature)
                    .unwrap();
                signature
            }
            Pair::Ec(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Pair::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }
}

fn ec(algorithm: &'static EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap()
}

/// Returns the part of a token that is signed.
pub fn unsigned(header: &Value, claims: &Value) -> String {
    format!(
        "{}.{}",
        base64url(header.to_string()),
        base64url(claims.to_string())
    )
}

/// Seconds since 1970, and so many more.
pub fn in_seconds(more: f64) -> f64 {
    thinkd_words::time::now().micros() as f64 / 1e6 + more
}

/// The way in which an issuer answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Manner {
    /// With its keys.
    Answers,
    /// With this.
    Says(u16, String),
    /// Not at all.
    Hangs,
}

/// An issuer that runs.
pub struct Issuer {
    /// The `iss` of its tokens.
    pub url: String,
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    keys: Mutex<Vec<Value>>,
    manner: watch::Sender<Manner>,
    fetches: watch::Sender<usize>,
}

impl Issuer {
    /// One that publishes these keys.
    pub async fn start(keys: &[&Signer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            keys: Mutex::default(),
            manner: watch::Sender::new(Manner::Answers),
            fetches: watch::Sender::new(0),
        });
        let router = Router::new()
            .route("/jwks", get(answer))
            .with_state(shared.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() })
            .abort_handle();
        let issuer = Self { url, shared, task };
        issuer.publish(keys);
        issuer
    }

    /// Its keys are these now.
    pub fn publish(&self, keys: &[&Signer]) {
        self.publish_raw(keys.iter().map(|key| key.jwk()).collect());
    }

    /// Its keys are these now, as they are written.
    pub fn publish_raw(&self, keys: Vec<Value>) {
        *self
            .shared
            .keys
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// Answers in this way from now on, also to requests that wait.
    pub fn behave(&self, manner: Manner) {
        self.shared.manner.send_replace(manner);
    }

    /// Returns the number of times that its keys were fetched.
    pub fn fetches(&self) -> usize {
        *self.shared.fetches.borrow()
    }

    /// Waits until its keys were fetched so often.
    pub async fn is_fetched(&self, count: usize) {
        let mut fetches = self.shared.fetches.subscribe();
        let fetched = fetches.wait_for(|fetches| *fetches >= count);
        within("a fetch of the keys", fetched)
            .await
            .map(drop)
            .unwrap();
    }

    /// A server that takes its tokens.
    pub fn setup(&self, medium: Medium, stub: &Stub) -> Setup {
        Setup::new(medium, stub)
            .env("THINKD_JWT__ISSUER", &self.url)
            .env("THINKD_JWT__AUDIENCE", AUDIENCE)
            .env("THINKD_JWT__JWKS_URL", format!("{}/jwks", self.url))
    }

    /// Returns the claims of a user's token that is in order, for an hour.
    pub fn claims(&self, user: &str, space: &str, role: &str) -> Value {
        json!({
            "iss": self.url, "aud": AUDIENCE, "sub": user, "space": space, "role": role,
            "exp": in_seconds(3600.0).floor(),
        })
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>) -> Response {
    shared.fetches.send_modify(|fetches| *fetches += 1);
    let mut manner = shared.manner.subscribe();
    let manner = manner
        .wait_for(|manner| *manner != Manner::Hangs)
        .await
        .unwrap()
        .clone();
    match manner {
        Manner::Says(status, text) => (
            StatusCode::from_u16(status).unwrap(),
            [("location", "/elsewhere")],
            text,
        )
            .into_response(),
        _ => {
            let keys = shared
                .keys
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            axum::Json(json!({ "keys": keys })).into_response()
        }
    }
}
