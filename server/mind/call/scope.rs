//! The scope of a call: which events of a thread its view is about, and which are not for it.

use thinkd_event::unshown::{LeftOut, Unshown};
use thinkd_log::query::Show;
use thinkd_log::thread_row::ThreadRow;
use thinkd_thread::history::Entry;
use thinkd_words::id::Seq;

/// Part of the log that a call is to see.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope {
    /// Events that its reader may see.
    pub show: Show,
    /// Nothing that came to the thread after this.
    pub until: Option<Seq>,
    /// Events that the turn is about, from the first to the last: of these nothing is left out, only
    /// shortened, however old it is.
    pub about: Option<(Seq, Seq)>,
}

impl Scope {
    /// All that a decision may see.
    pub fn visible() -> Self {
        Self {
            show: Show::Visible,
            ..Self::default()
        }
    }

    /// The ends of a batch.
    pub fn about(batch: &[Seq]) -> Option<(Seq, Seq)> {
        Some((*batch.first()?, *batch.last()?))
    }

    /// True if an entry came too late for the call.
    fn hides(&self, entry: &Entry) -> bool {
        entry.arrives && self.until.is_some_and(|until| entry.seq > until)
    }
}

/// The parts that a model does not take, apart from their length.
#[derive(Debug, Clone, Default)]
pub struct Untaken {
    /// The kinds of media that are left out.
    pub kinds: Vec<String>,
    /// The parts that it has refused in this call.
    pub left_out: Vec<LeftOut>,
}

/// The entries that are not for a call: those that came too late for it, and those that were taken
/// back.
#[derive(Clone, Copy)]
pub(super) struct Hides<'a> {
    /// The scope.
    pub scope: Scope,
    /// The inputs that were taken back.
    pub unshown: &'a Unshown,
    /// The thread's row: inputs that joined a turn have not come too late for it.
    pub row: &'a ThreadRow,
}

impl Hides<'_> {
    /// Returns whether an entry is not for the call.
    pub fn hides(&self, entry: &Entry) -> bool {
        let is_late = self.scope.hides(entry) && !self.row.is_steered(entry.seq);
        is_late || entry.is_back(self.unshown)
    }
}
