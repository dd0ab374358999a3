//! The fact of an input that was taken back: models are not shown it any more, nor the turn that
//! was about it, where there was one. It wakes nobody.

use serde_json::{Value, json};

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
    /// The first and the last turn that was about it, which are hidden with it; none: it waited.
    pub turns: Option<(u64, u64)>,
}

pub(super) const WITHDRAWN: Spec = Spec {
    name: "withdrawn",
    about: "An input was taken back: models are not shown it any more, nor the turn that was about it. The log keeps both.",
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
        (
            "turns?",
            "number[]",
            "the first and the last turn that was about it: their events are hidden with it; absent: it waited for its turn",
        ),
    ],
    open: false,
};

impl<'a> Withdrawn<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let input = raw.seq("input")?;
        let turn = |at: usize| raw.get("turns")?.get(at).and_then(Value::as_u64);
        Some(Self {
            from: raw.seq("from").unwrap_or(input),
            input,
            user: raw.text("user"),
            turns: turn(0).zip(turn(1)),
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            from,
            input,
            user,
            turns,
        } = self;
        let text = match turns {
            None => format!("#{input} was taken back before it was read"),
            Some(_) => format!("#{input} was taken back, with what came of it"),
        };
        let payload = json!({ "text": text, "input": input });
        let draft = Draft::new(thread, Source::User, Modality::Text, tags([TAG]), payload);
        draft
            .payload_some("from", (from < input).then_some(from))
            .payload_some("user", user)
            .payload_some("turns", turns.map(|(first, last)| json!([first, last])))
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
        turns: None,
    };
    let with_turn = Withdrawn {
        turns: Some((7, 7)),
        ..whole
    };
    let parts = Withdrawn {
        from: 41,
        input: 42,
        user: Some("ada"),
        turns: None,
    };
    [whole, parts, with_turn].map(|it| it.encode(thread)).into()
}
