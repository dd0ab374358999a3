//! Who may come in, and whose mind they open: the one decision for sockets and HTTP.
//! How credentials stand in a header or a frame is read here too; what follows when they are wrong is not.

use axum::http::{HeaderMap, header};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use super::problem::{Problem, Slug};
use crate::words::id::Space;
use crate::words::principal::{Principal, Role};

/// A configured key (`[[keys]]`).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The secret.
    #[serde(serialize_with = "redacted")]
    pub key: SecretString,
    /// The space that it opens.
    #[serde(default)]
    pub space: Space,
    /// What its holder may do there: `viewer` (read everything, `debug` and prompt views too), `member` (also talk; create, end and
    /// cancel threads and runs), `operator` (also change submodules) or `admin` (also see what concerns all spaces: `/metrics`, all of
    /// `/metadata`).
    #[serde(default)]
    pub role: Role,
}

/// Writes a secret as what is not one: for printing a configuration.
pub fn redacted<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if secret.expose_secret().is_empty() { "" } else { "(redacted)" })
}

/// What a client showed.
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

/// Why somebody may not come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// Nothing was shown.
    Missing,
    /// What was shown cannot be read.
    Malformed,
    /// What was shown opens nothing.
    Wrong,
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Self {
        let detail = match denied {
            Denied::Missing => "credentials are missing; send the header Authorization: Bearer <key>",
            Denied::Malformed => "the Authorization header is malformed; it is Bearer <key> or <user>:<token>",
            Denied::Wrong => "the credentials are wrong; no key or token of this server is like that",
        };
        Problem::new(Slug::Unauthenticated, detail)
    }
}

/// A user's name, if it is one: 1 to 255 bytes without NUL. Whoever shows it to a model or a person makes it fit there.
pub fn user_name(text: &str) -> Option<&str> {
    let text = text.trim();
    let fits = !text.is_empty() && text.len() <= 255 && !text.contains('\0');
    fits.then_some(text)
}

impl<'a> Shown<'a> {
    /// What the `Authorization` header shows.
    pub fn in_headers(headers: &'a HeaderMap) -> Self {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let Some(value) = values.next() else { return Self::Nothing };
        let text = std::str::from_utf8(value.as_bytes()).ok().filter(|_| values.next().is_none());
        let Some(text) = text.map(str::trim) else { return Self::Malformed };
        match text.split_once(' ') {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") && !secret.trim().is_empty() => {
                Self::Secret(secret.trim())
            }
            _ => Self::in_text(text),
        }
    }

    /// What the plain text `<user>:<token>` shows.
    pub fn in_text(text: &'a str) -> Self {
        let Some((user, secret)) = text.split_once(':') else { return Self::Malformed };
        match user_name(user) {
            Some(user) if !secret.is_empty() => Self::Named(user, secret),
            _ => Self::Malformed,
        }
    }
}

/// The configured credentials, as hashes.
pub struct Auth {
    keys: Vec<([u8; 32], Space, Role)>,
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

impl Auth {
    /// The credentials of a configuration. Refuses what could not be kept as promised.
    pub fn new(token: Option<&SecretString>, keys: &[Key]) -> Result<Self, String> {
        let named = keys.iter().map(|key| (&key.key, key.space.clone(), key.role));
        // Where nobody else can be the admin, the token is.
        let role = if keys.is_empty() { Role::Admin } else { Role::Operator };
        let all: Vec<_> = token.map(|token| (token, Space::default(), role)).into_iter().chain(named).collect();
        if all.iter().any(|(secret, ..)| secret.expose_secret().trim().is_empty()) {
            return Err("a token or key is empty: give it a value or leave it out".into());
        }
        // As an operator finds them: a secret itself is never shown.
        let name = |at: usize| match (at.checked_sub(usize::from(token.is_some())), &all[at].1) {
            (Some(number), space) => format!("entry {} of [[keys]] (space {space})", number + 1),
            (None, _) => "token (THINKD_TOKEN)".to_owned(),
        };
        let blank = |(secret, ..): &(&SecretString, _, _)| secret.expose_secret().trim() != secret.expose_secret();
        if let Some(at) = all.iter().position(blank) {
            let which = name(at);
            return Err(format!("{which} begins or ends with a blank, which a header does not keep: remove the blank"));
        }
        let hashed =
            |(secret, space, role): &(&SecretString, Space, Role)| (hash(secret.expose_secret()), space.clone(), *role);
        let keys: Vec<_> = all.iter().map(hashed).collect();
        for (at, (hash, ..)) in keys.iter().enumerate() {
            if let Some(first) = keys[..at].iter().position(|(other, ..)| other == hash) {
                let (first, second) = (name(first), name(at));
                return Err(format!(
                    "{first} and {second} hold the same secret: nobody could say who shows it; give one of them another"
                ));
            }
        }
        Ok(Self { keys })
    }

    /// Whether credentials are needed at all.
    pub fn is_open(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many keys there are; they are numbered from 0.
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// The one decision: who somebody is by what they showed.
    pub fn decide(&self, shown: Shown<'_>) -> Result<Principal, Denied> {
        let user = match shown {
            Shown::Named(user, _) => Some(user.to_owned()),
            _ => None,
        };
        if self.is_open() {
            // Then the server listens on loopback only.
            return Ok(Principal { space: Space::default(), user, key: None, role: Role::Admin });
        }
        let secret = match shown {
            Shown::Nothing => return Err(Denied::Missing),
            Shown::Malformed => return Err(Denied::Malformed),
            Shown::Secret(secret) | Shown::Named(_, secret) => secret,
        };
        let key = self.find(secret).ok_or(Denied::Wrong)?;
        let (_, space, role) = self.keys.get(key as usize).ok_or(Denied::Wrong)?;
        Ok(Principal { space: space.clone(), user, key: Some(key), role: *role })
    }

    /// Which key it is. Looks at all of them, however early one fits: time says nothing.
    fn find(&self, secret: &str) -> Option<u32> {
        let given = hash(secret);
        let mut found = u32::MAX;
        for (index, (known, ..)) in (0u32..).zip(&self.keys) {
            found.conditional_assign(&index, known.ct_eq(&given));
        }
        (found != u32::MAX).then_some(found)
    }
}
