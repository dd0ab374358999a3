//! Who may come in, and whose mind they open: the one decision for sockets and HTTP.
//! How credentials stand in a header or a frame is read here too; what follows when they are wrong is not.

use axum::http::{HeaderMap, header};

use super::keys::{Found, Keys};
use super::problem::{Problem, Slug};
use crate::words::id::Space;
use crate::words::principal::{Principal, Role};

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

/// The one decision: who somebody is by what they showed.
pub fn decide(keys: &Keys, shown: Shown<'_>) -> Result<Principal, Denied> {
    let user = match shown {
        Shown::Named(user, _) => Some(user.to_owned()),
        _ => None,
    };
    if keys.is_open() {
        // Then the server listens on loopback only.
        return Ok(Principal { space: Space::default(), user, key: None, role: Role::Admin });
    }
    let secret = match shown {
        Shown::Nothing => return Err(Denied::Missing),
        Shown::Malformed => return Err(Denied::Malformed),
        Shown::Secret(secret) | Shown::Named(_, secret) => secret,
    };
    let Found { number, space, role } = keys.find(secret).ok_or(Denied::Wrong)?;
    Ok(Principal { space, user, key: Some(number), role })
}
