//! The fact of an input that was taken back while it waited: no turn is about it, and models are not shown it any more. It wakes nobody.

use serde_json::json;

use super::Kind;
use super::family::{Byline, Family, Role};
use super::input;
use crate::event::draft::{Draft, InputKind, tags};
use crate::event::envelope::{Modality, Source, Visibility};
use crate::event::raw::Raw;
use crate::event::spec::{Spec, TEXT};
use crate::words::id::{Seq, ThreadId};

/// The first tag.
pub const TAG: &str = "withdrawn";

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdrawn<'a> {
    /// The first part of the input.
    pub from: Seq,
    /// The last one, which woke the thread: the input itself, where it is one event.
    pub input: Seq,
    /// Who took it back, when known.
    pub user: Option<&'a str>,
}

pub(super) const WITHDRAWN: Spec = Spec {
    name: "withdrawn",
    about: "An input that waited was taken back before a turn had it: no turn is about it, and models are not shown it any more.",
    tags: &["withdrawn"],
    members: &[
        TEXT,
        ("input", "number", "the seq of the input: of its last part"),
        (
            "from?",
            "number",
            "the seq of its first part, if it has several",
        ),
        ("user?", "string", "who took it back, when known"),
    ],
    open: false,
};

impl<'a> Withdrawn<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let input = raw.seq("input")?;
        Some(Self {
            from: raw.seq("from").unwrap_or(input),
            input,
            user: raw.text("user"),
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self { from, input, user } = self;
        let payload = json!({ "text": format!("#{input} was taken back before it was read"), "input": input });
        let draft = Draft::new(thread, Source::User, Modality::Text, tags([TAG]), payload);
        draft
            .payload_some("from", (from < input).then_some(from))
            .payload_some("user", user)
    }
}

impl<'a> Family<'a> for Withdrawn<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::Withdrawn)
    }

    fn visibility(&self) -> Visibility {
        Visibility::Heard
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Aside
    }

    fn changes_thread(&self) -> bool {
        true
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        input::byline(InputKind::Message, self.user)
    }

    fn label(&self) -> Option<String> {
        Some(self.user.unwrap_or("user").to_owned())
    }
}

/// One of each, for the documents and the tests.
pub(super) fn examples(thread: &ThreadId) -> Vec<Draft> {
    let whole = Withdrawn {
        from: 42,
        input: 42,
        user: None,
    };
    let parts = Withdrawn {
        from: 41,
        input: 42,
        user: Some("ada"),
    };
    [whole, parts].map(|it| it.encode(thread)).into()
}
