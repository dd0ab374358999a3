//! The fact of an input that was taken back: models are not shown it any more, nor the turn that
//! was about it, where there was one. Wakes no thread.

use serde_json::{Value, json};
use thinkd_facts::Fact;

use super::family::{Byline, Family};
use super::input;
use crate::draft::InputKind;
use crate::raw::Raw;
use thinkd_words::id::Seq;

/// The first tag.
pub const TAG: &str = "withdrawn";

/// An input was taken back: models are not shown it any more, nor the turn that was about it. The log keeps both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Fact)]
#[fact(name = "withdrawn", tags("withdrawn"), source = User, modality = Text,
       visibility = Heard, role = Aside, changes_thread = true, text = self.text())]
pub struct Withdrawn<'a> {
    /// The seq of the input: of its last part.
    ///
    /// It woke the thread, and is the input itself, where that is one event.
    pub input: Seq,
    /// The seq of its first part, if it has several.
    #[fact(kind = "number", missing, read = raw.seq("from").or_else(|| raw.seq("input"))?,
           write = (from < input).then_some(from))]
    pub from: Seq,
    /// The user that took it back, when known.
    pub user: Option<&'a str>,
    /// The first and the last turn that was about it: their events are hidden with it; absent: it waited for its turn.
    #[fact(kind = "number[]", read = turns(raw),
           write = turns.map(|(first, last)| json!([first, last])))]
    pub turns: Option<(u64, u64)>,
}

fn turns(raw: Raw<'_>) -> Option<(u64, u64)> {
    let turn = |at: usize| raw.get("turns")?.get(at).and_then(Value::as_u64);
    turn(0).zip(turn(1))
}

impl Withdrawn<'_> {
    fn text(&self) -> String {
        let Self { input, turns, .. } = self;
        match turns {
            None => format!("#{input} was taken back before it was read"),
            Some(_) => format!("#{input} was taken back, with what came of it"),
        }
    }
}

impl<'a> Family<'a> for Withdrawn<'a> {
    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        input::byline(InputKind::Message, self.user)
    }

    fn label(&self) -> Option<String> {
        Some(self.user.unwrap_or("user").to_owned())
    }
}
