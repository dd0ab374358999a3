//! Cursors of lists: where the next page begins, bound to the question that the page was of.
//! They are opaque to clients; one that was changed, or belongs to another question, is refused.

use std::fmt::Display;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::Page;
use super::params::Params;
use crate::problem::{Problem, Slug};

const SUM: usize = 12;

fn sum(question: &str, at: &str) -> [u8; SUM] {
    let digest = Sha256::new()
        .chain_update(question)
        .chain_update([0])
        .chain_update(at)
        .finalize();
    std::array::from_fn(|index| digest[index])
}

/// Returns the cursor of the items that follow `at` in the answer to `question`.
pub fn write(question: &str, at: &str) -> String {
    let mut bytes = sum(question, at).to_vec();
    bytes.extend_from_slice(at.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the position of a cursor; refuses one that is none of this question.
pub fn read(question: &str, cursor: &str) -> Result<String, Problem> {
    let wrong = |detail: &str| Problem::new(Slug::InvalidCursor, detail);
    let bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap_or_default();
    let parts = bytes.split_at_checked(SUM);
    let parts = parts.and_then(|(given, at)| Some((given, std::str::from_utf8(at).ok()?)));
    match parts {
        None => Err(wrong("a cursor is the `next` of a page; this one is not")),
        Some((given, at)) if given == sum(question, at) => Ok(at.to_owned()),
        Some(_) => Err(wrong(
            "this cursor belongs to another query: send `next` of a page with the parameters of that page",
        )),
    }
}

/// The page of a list that a request asks for, by `limit` and `cursor`.
pub struct Part {
    /// Most items of the page.
    pub limit: u32,
    cursor: Option<String>,
}

impl Part {
    /// Takes `limit` and `cursor`.
    pub fn take(params: &mut Params) -> Result<Self, Problem> {
        let limit = params.limit()?;
        Self::of_at_most(limit, params)
    }

    /// Takes `cursor`, of pages of another size.
    pub fn of_at_most(limit: u32, params: &mut Params) -> Result<Self, Problem> {
        let cursor = params.one("cursor")?;
        Ok(Self { limit, cursor })
    }

    /// Returns true if it is another page than the first.
    pub fn is_later(&self) -> bool {
        self.cursor.is_some()
    }

    /// Returns the page as a part of the answer to a question.
    pub fn of(self, question: String) -> Result<Asked, Problem> {
        let at = self.cursor.map(|cursor| read(&question, &cursor));
        Ok(Asked {
            at: at.transpose()?,
            limit: self.limit,
            question,
        })
    }
}

/// A page of the answer to a question.
pub struct Asked {
    /// The place behind which it begins; none: it is the first page.
    pub at: Option<String>,
    /// Most items of the page.
    pub limit: u32,
    question: String,
}

impl Asked {
    /// Returns the place behind which it begins; none, too, where the place is not of this kind.
    pub fn behind<T: FromStr>(&self) -> Option<T> {
        self.at.as_deref()?.parse().ok()
    }

    /// Returns the cursor of the page behind a place.
    pub fn next(&self, place: impl Display) -> String {
        write(&self.question, &place.to_string())
    }

    /// Returns the page of rows from its place on; one row more than its limit says that there is another page.
    pub fn page<R, T: From<R>, P: Display>(
        &self,
        rows: impl IntoIterator<Item = R>,
        place: impl Fn(&R) -> P,
    ) -> Page<T> {
        let mut rows = rows.into_iter();
        let page: Vec<R> = rows.by_ref().take(self.limit as usize).collect();
        let last = page.last().filter(|_| rows.next().is_some());
        let next = last.map(|row| self.next(place(row)));
        Page {
            items: page.into_iter().map(T::from).collect(),
            next,
        }
    }
}
