//! The fact of a thread that is told that a statement is not held any more, or is held again. Of
//! modality `state`: it wakes no thread, and views say it in a line after the transcript
//! (`thread/history/corrections.rs`).

use serde_json::json;
use thinkd_facts::Fact;

use crate::correction::Correction;
use crate::draft::Draft;
use thinkd_words::id::{self, ThreadId};

/// The first tag.
pub const TAG: &str = "correction";

/// A statement that came from events of this thread, or that they returned, is not held any
/// more, never was, or is held again. Once for each
/// thread and fall, and once more where it came from, or was returned by, further events behind the fall.
#[derive(Debug, Clone, PartialEq, Eq, Fact)]
#[fact(name = "correction", tags("correction", "corrected:<statement>" = it.statement), plain,
       visibility = State, role = Aside, changes_thread = true, label = "world model",
       text = self.text())]
pub struct Corrected(
    /// Statement, says, status, since: the event that says so, was_held: false where it never was held, of: the events of this thread.
    #[fact(name = "correction", bound = it, json)]
    pub Correction,
);

impl Corrected {
    fn text(&self) -> String {
        let Self(it) = self;
        let since = it.since;
        let word = it.status.as_str();
        let says = json!(it.says);
        match (it.status.has_fallen(), it.was_held) {
            (true, true) => format!("no longer held since #{since} ({word}): {says}"),
            (true, false) => format!("never held: {word} in #{since}: {says}"),
            (false, _) => format!("held again since #{since} ({word}): {says}"),
        }
    }
}

impl Draft {
    /// Tells a thread the new status of a statement; stored once, by its id.
    pub fn corrected(thread: &ThreadId, correction: Correction) -> Self {
        let Correction {
            statement, since, ..
        } = &correction;
        let id = id::about(&format!("{statement} since {since} told in {thread}"));
        Corrected(correction).encode(thread).with_id(id)
    }

    /// The same once more, as it came from further events, or these returned it: stored once for the same events.
    pub fn corrected_further(thread: &ThreadId, correction: Correction) -> Self {
        let Correction {
            statement,
            since,
            of,
            ..
        } = &correction;
        let id = id::about(&format!(
            "{statement} since {since} told in {thread} of {of:?}"
        ));
        Corrected(correction).encode(thread).with_id(id)
    }
}
