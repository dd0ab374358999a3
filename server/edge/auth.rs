//! Authentication decides, for sockets and HTTP alike, which clients may come in and which space
//! they open.
//! The credentials of a header or a frame are read here, too, and refusals are worded here;
//! `guesses.rs` delays the answer to wrong keys.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use tokio_util::sync::CancellationToken;

use super::jwt::claims::Unfit;
use super::jwt::{Refused, Tokens};
use super::keys::Keys;
use super::problem::{Problem, Slug};
use thinkd_words::id::Space;
use thinkd_words::principal::{Credential, Principal, Role};
use thinkd_words::time;

/// The credentials that a client showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'a> {
    /// Nothing.
    Nothing,
    /// Something that is no credential.
    Malformed,
    /// A key or token.
    Secret(&'a str),
    /// A name, and a key or token.
    Named(&'a str, &'a str),
}

/// The reason why a client may not come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// Nothing was shown.
    Missing,
    /// The credentials cannot be read.
    Malformed,
    /// The credentials open nothing.
    Wrong,
    /// A token of the issuer that opens nothing here.
    Unfit(Unfit),
    /// A token that cannot be verified now.
    Away,
}

impl From<Refused> for Denied {
    fn from(refused: Refused) -> Self {
        match refused {
            // As any wrong key: whoever guesses learns nothing.
            Refused::Forged(_) => Self::Wrong,
            Refused::Unfit(unfit) => Self::Unfit(unfit),
            Refused::Away => Self::Away,
        }
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Self {
        let detail = match &denied {
            Denied::Missing => "credentials are missing; send the header Authorization: Bearer <key>".to_owned(),
            Denied::Malformed => {
                "the Authorization header is malformed; it is Bearer <key> or <user>:<token>".to_owned()
            }
            Denied::Wrong => "the credentials are wrong; no key or token of this server is like that".to_owned(),
            Denied::Unfit(unfit) => unfit.to_string(),
            Denied::Away => {
                "the token cannot be verified now: the keys of its issuer cannot be had; try again later".to_owned()
            }
        };
        let slug = match denied {
            Denied::Away => Slug::Unavailable,
            _ => Slug::Unauthenticated,
        };
        Problem::new(slug, detail)
    }
}

impl Denied {
    /// The same as code and reason of a close frame.
    pub fn closing(&self) -> (u16, &'static str) {
        match self {
            Self::Unfit(unfit) => (4401, unfit.reason()),
            Self::Away => {
                let reason = "the keys of the token's issuer cannot be had now; connect again";
                (1001, reason)
            }
            _ => {
                let reason = "unauthenticated: send an auth frame or <user>:<token> first";
                (4401, reason)
            }
        }
    }
}

/// Returns a user's name, if it is one: 1 to 255 bytes without NUL. A caller that shows it to a
/// model or a person makes it fit there.
pub fn user_name(text: &str) -> Option<&str> {
    let text = text.trim();
    let fits = !text.is_empty() && text.len() <= 255 && !text.contains('\0');
    fits.then_some(text)
}

impl<'a> Shown<'a> {
    /// Returns the credentials in the `Authorization` header.
    pub fn in_headers(headers: &'a HeaderMap) -> Self {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let Some(value) = values.next() else {
            return Self::Nothing;
        };
        let text = std::str::from_utf8(value.as_bytes()).ok();
        let text = text.filter(|_| values.next().is_none());
        let Some(text) = text.map(str::trim) else {
            return Self::Malformed;
        };
        match text.split_once(' ') {
            Some((scheme, secret))
                if scheme.eq_ignore_ascii_case("bearer") && !secret.trim().is_empty() =>
            {
                Self::Secret(secret.trim())
            }
            _ => Self::in_text(text),
        }
    }

    /// Returns the credentials in the plain text `<user>:<token>`.
    pub fn in_text(text: &'a str) -> Self {
        let Some((user, secret)) = text.split_once(':') else {
            return Self::Malformed;
        };
        match user_name(user) {
            Some(user) if !secret.is_empty() => Self::Named(user, secret),
            _ => Self::Malformed,
        }
    }
}

/// The authority lets clients in by the keys of this server, and by tokens that its issuer signed.
pub struct Authority {
    /// The keys in force.
    pub keys: Arc<Keys>,
    /// The tokens that are taken, if any are.
    pub tokens: Option<Arc<Tokens>>,
}

impl Authority {
    /// Returns true if no credential is needed. Then the server listens on loopback only.
    pub fn is_open(&self) -> bool {
        self.tokens.is_none() && self.keys.is_open()
    }

    /// Returns the principal of the shown credentials: the one decision. A key is known at once; a
    /// token may have to wait for its issuer's keys.
    pub async fn decide(&self, shown: Shown<'_>) -> Result<Principal, Denied> {
        let user = match shown {
            Shown::Named(user, _) => Some(user.to_owned()),
            _ => None,
        };
        if self.is_open() {
            return Ok(Principal {
                space: Space::default(),
                user,
                credential: Credential::Open,
                role: Role::Admin,
            });
        }
        let secret = match shown {
            Shown::Nothing => return Err(Denied::Missing),
            Shown::Malformed => return Err(Denied::Malformed),
            Shown::Secret(secret) | Shown::Named(_, secret) => secret,
        };
        if let Some(found) = self.keys.find(secret) {
            return Ok(Principal {
                space: found.space,
                user,
                credential: Credential::Key(found.number),
                role: found.role,
            });
        }
        match &self.tokens {
            // The name that somebody gives itself beside a token does not count: the token says who it is.
            Some(tokens) if is_token(secret) => {
                let identified = tokens.identify(secret, time::now()).await;
                identified.map_err(Denied::from)
            }
            _ => Err(Denied::Wrong),
        }
    }

    /// Returns a `CancellationToken` that is cancelled as soon as clients with this credential have
    /// to go, because it is worth nothing any more.
    pub fn revoked(&self, credential: Credential) -> CancellationToken {
        match (credential, &self.tokens) {
            (Credential::Token { key, .. }, Some(tokens)) => tokens.withdrawn(key),
            (Credential::Key(number), _) => self.keys.removed(Some(number)),
            // Without tokens nobody came in by one.
            (Credential::Open | Credential::Token { .. }, _) => self.keys.removed(None),
        }
    }
}

/// Returns true if a secret has the form of a token: three parts.
fn is_token(secret: &str) -> bool {
    secret.bytes().filter(|byte| *byte == b'.').count() == 2
}
