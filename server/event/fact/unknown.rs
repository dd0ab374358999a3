//! The answers of a fact that this build does not know, because a newer build wrote it: those of
//! its tags and payload.

use super::family::{Byline, Declared, Family, Piece, Plain, Role};
use super::input::byline;
use crate::draft::{Draft, InputKind};
use crate::envelope::{Source, tag, visibility, wakes};
use crate::raw::Raw;
use thinkd_words::id::ThreadId;

impl Raw<'_> {
    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let tags = self.tags.to_vec();
        let payload = self.payload.clone();
        Draft::new(thread, self.source, self.modality, tags, payload.into())
    }
}

impl Declared for Raw<'_> {
    fn plain(&self) -> Plain {
        let role = match self.submodule() {
            Some(_) => Role::Aside,
            None => Role::Decision,
        };
        Plain {
            kind: None,
            wakes: wakes(self.modality, self.tags),
            ..Plain::new("", visibility(self.modality, self.tags), role)
        }
    }
}

impl<'a> Family<'a> for Raw<'a> {
    // Shown as far as its envelope says who it is from.
    fn byline(&self, raw: Raw<'a>) -> Byline<'a> {
        match self.source {
            Source::User => byline(InputKind::Message, self.text("user")),
            Source::Tool | Source::System | Source::Internal => {
                let first = raw.tags.first().map_or(raw.source.as_str(), String::as_str);
                vec![Piece::Name(first.into())]
            }
        }
    }

    fn submodule(&self) -> Option<&'a str> {
        self.value("submodule:")
            .filter(|_| !self.has(tag::DECISION))
    }

    fn call_id(&self) -> Option<&'a str> {
        self.text("call_id")
    }

    fn is_failure(&self) -> bool {
        self.has(tag::FAILURE) && !self.has(tag::DEBUG)
    }

    fn is_root(&self) -> bool {
        self.has(tag::INPUT) || self.has(tag::ANSWER)
    }

    fn is_from_outside(&self) -> bool {
        self.has(tag::TIMER) || self.is_root()
    }

    fn is_from_others(&self, own: &ThreadId) -> bool {
        self.has(tag::MESSAGE) && self.text("from") != Some(own.as_str())
    }

    fn is_from_itself(&self, _own: &ThreadId) -> bool {
        self.has(tag::THOUGHT) || (self.has(tag::OVERRULES) && !self.has(tag::TIMER))
    }

    fn by(&self) -> Option<&'a str> {
        self.text("from").filter(|_| !self.is_root())
    }

    fn ends_any_wait(&self) -> bool {
        self.has(tag::OVERRULES)
    }
}
