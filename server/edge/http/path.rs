//! Ids in addresses, read strictly: an id that cannot be one is refused as such, before it is
//! looked for. The contract gives the bound of each by the name of its parameter (`bounds.rs`).

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request;
use uuid::Uuid;

use crate::problem::{Problem, Slug};
use crate::{ids, media};
use thinkd_event::mission::TaskId;
use thinkd_words::id::{Name, ThreadId};

/// Longest name of a tool, by the rule of the providers of models.
pub const TOOL_MAX: usize = 64;
/// Most digits of a task's number.
pub const TASK_DIGITS: usize = 9;

/// The ids in an address: one, or two.
pub struct Path<T>(pub T);

/// An id that may stand in an address.
pub trait Id: Sized {
    /// The id, or why the text is none.
    fn read(text: &str) -> Result<Self, Problem>;
}

impl Id for ThreadId {
    fn read(text: &str) -> Result<Self, Problem> {
        Ok(Self::parse(text)?)
    }
}

impl Id for Name {
    fn read(text: &str) -> Result<Self, Problem> {
        Ok(Self::parse(text)?)
    }
}

impl Id for Uuid {
    fn read(text: &str) -> Result<Self, Problem> {
        ids::uuid(text, "")
    }
}

impl Id for TaskId {
    fn read(text: &str) -> Result<Self, Problem> {
        let digits = text.strip_prefix('t').unwrap_or_default();
        let fits = (1..=TASK_DIGITS).contains(&digits.len());
        if !fits || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let detail = "a task's id is t and its number: t7";
            return Err(Problem::new(Slug::InvalidId, detail));
        }
        Self::parse(text).ok_or_else(|| Problem::new(Slug::NotFound, "there is no such task"))
    }
}

/// The hash of a blob.
pub struct Sha256(pub String);

impl Id for Sha256 {
    fn read(text: &str) -> Result<Self, Problem> {
        if media::is_sha256(text) {
            return Ok(Self(text.to_owned()));
        }
        let detail = "a blob's id is 64 hex digits in lower case";
        Err(Problem::new(Slug::InvalidId, detail))
    }
}

/// The key of a note: any text.
pub struct Key(pub String);

impl Id for Key {
    fn read(text: &str) -> Result<Self, Problem> {
        if text.contains('\0') {
            return Err(Problem::new(Slug::NulNotAllowed, "a key has no NUL in it"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// The name of a tool, this server's or another's.
pub struct ToolName(pub String);

impl Id for ToolName {
    fn read(text: &str) -> Result<Self, Problem> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if (1..=TOOL_MAX).contains(&text.len()) && text.bytes().all(plain) {
            return Ok(Self(text.to_owned()));
        }
        let detail = "a tool's name is 1 to 64 of a-z, A-Z, 0-9, _ and -";
        Err(Problem::new(Slug::InvalidId, detail))
    }
}

/// The texts that stand in an address in the place of its parameters.
async fn given(parts: &mut request::Parts) -> Result<RawPathParams, Problem> {
    let detail = "the address is not valid UTF-8 in percent-encoding";
    let given = RawPathParams::from_request_parts(parts, &()).await;
    given.map_err(|_| Problem::new(Slug::InvalidParameter, detail))
}

fn next<'a, T: Id>(given: &mut impl Iterator<Item = (&'a str, &'a str)>) -> Result<T, Problem> {
    T::read(given.next().map_or("", |(_, text)| text))
}

impl<T: Id, S: Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut request::Parts, _: &S) -> Result<Self, Problem> {
        let given = given(parts).await?;
        Ok(Self(next(&mut given.iter())?))
    }
}

impl<A: Id, B: Id, S: Sync> FromRequestParts<S> for Path<(A, B)> {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut request::Parts, _: &S) -> Result<Self, Problem> {
        let given = given(parts).await?;
        let mut given = given.iter();
        Ok(Self((next(&mut given)?, next(&mut given)?)))
    }
}
