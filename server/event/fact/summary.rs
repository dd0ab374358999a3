//! The facts of summaries, which stand for the past of a conversation in the views of its decision;
//! and the times when the summaries of a space have work. All are of modality `state`, so that no
//! model is shown them as entries; views show them in the place of the events they sum up.

use thinkd_facts::Fact;
use uuid::Uuid;

use crate::summary::Covers;
use thinkd_words::id::{Seq, ThreadId};

/// The first tag.
pub const TAG: &str = "summary";
/// The first tag of events of the summaries of a space about themselves.
pub const SUMMARIES: &str = "summaries";

/// A summary stands for older events in the requests of the decision; the events stay (`history.summaries`).
#[derive(Debug, Clone, PartialEq, Fact)]
#[fact(name = "summary", tags("summary"), plain,
       visibility = State, role = Aside, changes_thread = true, label = "summary")]
pub struct Summary<'a> {
    /// Its words.
    pub text: &'a str,
    /// The events that it stands for.
    #[fact(flat)]
    pub covers: Covers,
    /// The summaries that it was made from, and takes the place of.
    #[fact(optional)]
    pub joins: Vec<Seq>,
    /// The record of the call that made it.
    pub call: Uuid,
}

/// The summaries of a space say this of themselves.
#[derive(Debug, Clone, PartialEq, Eq, Fact)]
#[fact(tags("summaries", "<kind>"), plain,
       visibility = State, role = Aside, changes_thread = true, label = "summaries")]
pub enum Summaries {
    /// Events have left the view of a conversation's decision, or are about to: they are to be summed up.
    #[fact(
        name = "summaries-due",
        tags("due"),
        text = "there is something to sum up"
    )]
    Due {
        /// The thread.
        #[fact(name = "of")]
        thread: ThreadId,
        /// So many of its first events that a decision may see.
        target: u64,
    },
    /// The summaries of the space that were due are made, or were given up.
    #[fact(
        name = "summaries-rested",
        tags("rested"),
        text = "what was due is done, or given up"
    )]
    Rested(
        /// Up to this event.
        #[fact(name = "handled")]
        Seq,
    ),
}
