//! Query parameters, read strictly: nothing unknown, nothing twice, nothing out of range is let pass.

use std::ops::RangeInclusive;

use axum::extract::FromRequestParts;
use axum::http::request;
use uuid::Uuid;

use crate::ids;
use crate::problem::{Problem, Slug};
use thinkd_event::envelope::{Modality, Source};
use thinkd_log::words::asked;
use thinkd_words::id::{INTEGER_MAX, Seq, ThreadId};
use thinkd_words::time::Timestamp;

/// Longest `q`, in characters.
pub const WORDS_MAX: usize = 1024;

/// The parameters of a request, each to be taken by name; one that is left over is unknown.
pub struct Params(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut request::Parts, _: &S) -> Result<Self, Problem> {
        Self::parse(parts.uri.query().unwrap_or_default())
    }
}

/// A request without parameters: any is refused.
pub struct NoParams;

impl<S: Sync> FromRequestParts<S> for NoParams {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut request::Parts, _: &S) -> Result<Self, Problem> {
        let params = Params::parse(parts.uri.query().unwrap_or_default())?;
        params.end().map(|()| Self)
    }
}

impl Params {
    /// The parameters of a query string.
    pub fn parse(query: &str) -> Result<Self, Problem> {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        };
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        pairs.map(pair).collect::<Result<_, _>>().map(Self)
    }

    /// All values of a parameter that may be repeated.
    pub fn all(&mut self, name: &str) -> Vec<String> {
        let taken = self.0.extract_if(.., |(known, _)| known == name);
        taken.map(|(_, value)| value).collect()
    }

    /// The value of a parameter that stands at most once.
    pub fn one(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let mut values = self.all(name).into_iter();
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(Problem::parameter(name, "stands here twice")),
            (value, None) => Ok(value),
        }
    }

    /// A whole number within a range.
    pub fn integer(
        &mut self,
        name: &str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Problem> {
        let least = range.start();
        let most = range.end();
        let is_not = format!("no whole number from {least} to {most}");
        let within = |text: &str| text.parse().ok().filter(|value| range.contains(value));
        self.read(name, &is_not, |text| {
            within(text).filter(|_| is_number(text))
        })
    }

    /// Returns a value that is read from a text; `is_not` says in the refusal why the text has no
    /// value.
    fn read<T>(
        &mut self,
        name: &str,
        is_not: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.one(name)? else {
            return Ok(None);
        };
        let wrong = || Problem::parameter(name, format!("{:?} is {is_not}", cut(&text)));
        read(&text).map(Some).ok_or_else(wrong)
    }

    /// `limit`: 1 to 500, 50 when absent.
    pub fn limit(&mut self) -> Result<u32, Problem> {
        let limit = self.integer("limit", 1..=500)?.unwrap_or(50);
        Ok(u32::try_from(limit).unwrap_or(50))
    }

    /// A seq.
    pub fn seq(&mut self, name: &str) -> Result<Option<Seq>, Problem> {
        self.integer(name, 0..=INTEGER_MAX)
    }

    /// `epoch`: the incarnation of the log that a position belongs to.
    pub fn epoch(&mut self) -> Result<Option<Uuid>, Problem> {
        let epoch = self.one("epoch")?.map(|text| ids::uuid(&text, ""));
        epoch
            .transpose()
            .map_err(|problem| Problem::parameter("epoch", problem.detail))
    }

    /// A cursor into the log: a seq. A number that none can be is a problem of its own, as on the socket.
    pub fn cursor(&mut self, name: &str) -> Result<Option<Seq>, Problem> {
        let is_seq = |value: &str| value.parse().is_ok_and(|seq: Seq| seq <= INTEGER_MAX);
        let given = self.0.iter().find(|(known, _)| known == name);
        match given.filter(|(_, value)| is_number(value) && !is_seq(value)) {
            Some(_) => Err(Problem::new(Slug::InvalidCursor, ids::CURSOR)),
            None => self.seq(name),
        }
    }

    /// A moment, with any offset.
    pub fn moment(&mut self, name: &str) -> Result<Option<Timestamp>, Problem> {
        // An offset's `+` that nobody encoded arrives as a space.
        let moment = |text: &str| {
            Timestamp::parse(text).or_else(|| Timestamp::parse(&text.replace(' ', "+")))
        };
        self.read(name, "no RFC 3339 time with an offset", moment)
    }

    /// `true` or `false`.
    pub fn flag(&mut self, name: &str) -> Result<bool, Problem> {
        let flag = self.read(name, "neither true nor false", |text| text.parse().ok());
        Ok(flag?.unwrap_or(false))
    }

    /// One of some words.
    pub fn word<T>(
        &mut self,
        name: &str,
        words: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        self.read(name, &format!("none of {words}"), parse)
    }

    /// `source`.
    pub fn source(&mut self) -> Result<Option<Source>, Problem> {
        self.word("source", "user, tool, system, internal", Source::parse)
    }

    /// `modality`.
    pub fn modality(&mut self) -> Result<Option<Modality>, Problem> {
        self.word("modality", "text, image, audio, state", Modality::parse)
    }

    /// `thread`.
    pub fn thread(&mut self) -> Result<Option<ThreadId>, Problem> {
        let text = self.one("thread")?;
        Ok(text.map(|text| ThreadId::parse(&text)).transpose()?)
    }

    /// Returns a text with something in it, not longer than words may be. `empty` is the refusal of
    /// a text without anything.
    pub fn text(&mut self, name: &str, empty: &str) -> Result<Option<String>, Problem> {
        let text = self.one(name)?;
        match &text {
            Some(text) if text.trim().is_empty() => Err(Problem::parameter(name, empty)),
            Some(text) if text.chars().count() > WORDS_MAX => {
                let detail = format!("has at most {WORDS_MAX} characters");
                Err(Problem::parameter(name, detail))
            }
            _ => Ok(text),
        }
    }

    /// `q`: a question. One without a word is a question, too: nothing is found.
    pub fn question(&mut self) -> Result<Option<String>, Problem> {
        self.text("q", "has no words")
    }

    /// `q`: words to look for.
    pub fn words(&mut self) -> Result<Option<String>, Problem> {
        let words = self.question()?;
        match &words {
            Some(text) if asked(text).is_empty() => Err(Problem::parameter(
                "q",
                "has nothing that can be looked for: no letter, no digit, no emoji (punctuation and \
                 marks without a letter are not in the index)",
            )),
            _ => Ok(words),
        }
    }

    /// Refuses the parameters that were not taken.
    pub fn end(self) -> Result<(), Problem> {
        match self.0.first() {
            Some((name, _)) => Err(Problem::parameter(&cut(name), "it is not known here")),
            None => Ok(()),
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Returns the percent-decoded text; refuses wrong percent-encoding, text that is not UTF-8, and
/// NUL.
fn decode(text: &str) -> Result<String, Problem> {
    let detail = "the query is not valid UTF-8 in percent-encoding";
    let invalid = || Problem::new(Slug::InvalidParameter, detail);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = rest.next().zip(rest.next());
                digits.and_then(hex).ok_or_else(invalid)?
            }
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).map_err(|_| invalid())?;
    if text.contains('\0') {
        let detail = "a parameter has a NUL in it";
        return Err(Problem::new(Slug::NulNotAllowed, detail));
    }
    Ok(text)
}

fn hex((high, low): (u8, u8)) -> Option<u8> {
    let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16)?).ok();
    Some(digit(high)? << 4 | digit(low)?)
}
