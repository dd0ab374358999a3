//! The facts of statements: the claim, its derivation, the readings of instruments and the verdict;
//! and the times when the trials of a space have work. All are of modality `state`, so that no
//! model is shown them.

use thinkd_facts::Fact;
use uuid::Uuid;

use super::Fact;
use crate::draft::Draft;
use crate::statement::{Claim, Source};
use crate::trial::News;
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::time::Timestamp;

/// The first tag.
pub const TAG: &str = "statement";
/// The first tag of events of the trials of a space about themselves.
pub const TRIALS: &str = "trials";

/// The tag of a word that has a held statement tested again for its age and use.
pub const RETEST: &str = "retest";

/// Something that was said of a statement.
#[derive(Debug, Clone, PartialEq, Fact)]
#[fact(tags("statement", "<kind>", "statement:<id>" = statement), plain,
       visibility = State, role = Aside, label = "world model")]
pub struct StatementFact<'a> {
    /// The statement: the id of the event that claimed it.
    pub statement: &'a str,
    /// The news of it.
    #[fact(kinds)]
    pub what: Said,
}

/// See `StatementFact`.
#[derive(Debug, Clone, PartialEq, Fact)]
pub enum Said {
    /// Its trial is a fold of these.
    #[fact(others)]
    News(Box<News>),
    /// A statement was claimed again: no new one comes of it, and it has one source more.
    #[fact(name = "statement-sourced", tags("sourced"), text = "claimed again")]
    Sourced(
        /// All its sources: by, seqs, quote, word.
        #[fact(name = "sources", json, kind = "object[]")]
        Vec<Source>,
    ),
    /// A statement is derived from these now: one of those that it named is part of another one, or
    /// it was claimed on other ground.
    #[fact(name = "statement-grounded", tags("grounded"), text = ground(premises))]
    Grounded(
        /// The statements that it is derived from: all of them.
        #[fact(name = "premises", bound = premises, json, kind = "string[]")]
        Vec<String>,
    ),
}

fn ground(premises: &[String]) -> &'static str {
    match premises {
        [] => "derived from nothing now",
        _ => "derived from others now",
    }
}

/// The trials of a space say this of themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Fact)]
#[fact(tags("trials", "<kind>"), plain,
       visibility = State, role = Aside, changes_thread = true, label = "world model")]
pub enum Trials {
    /// There is something for the trials of the space to do.
    #[fact(name = "trials-due", tags("due"), text = "there is something to try")]
    Due,
    /// The trials of the space have done all that was due, or wait for people or for a time.
    #[fact(
        name = "trials-rested",
        tags("rested"),
        text = "what was due is done, or waits"
    )]
    Rested {
        /// Up to this event.
        handled: Seq,
        /// Up to this event threads are told the outcomes of statements.
        ///
        /// None: by a server that told no thread.
        told: Option<Seq>,
    },
    /// The trials of the space have made as many calls to models in an hour as they may
    /// (`memory.calls_per_hour`): the rest waits. At most once an hour.
    #[fact(name = "trials-spent", tags("spent"), text = spent(*until))]
    Spent(
        /// When there is a call again (RFC 3339).
        #[fact(name = "until", bound = until)]
        Timestamp,
    ),
}

fn spent(until: Timestamp) -> String {
    format!(
        "as many calls were made in an hour as may be (memory.calls_per_hour): trials wait until {until}"
    )
}

impl<'a> Fact<'a> {
    /// Returns the news of a statement, with its id first.
    pub fn news(&self) -> Option<(&'a str, &News)> {
        match self {
            Self::Statement(StatementFact {
                statement,
                what: Said::News(news),
            }) => Some((statement, news)),
            _ => None,
        }
    }
}

impl Draft {
    /// Something was said of a statement.
    pub fn statement(thread: &ThreadId, statement: &str, news: News) -> Self {
        Self::said(thread, statement, Said::News(Box::new(news)))
    }

    fn said(thread: &ThreadId, statement: &str, what: Said) -> Self {
        StatementFact { statement, what }.encode(thread)
    }

    /// Something is claimed in a thread, and is to be tried.
    pub fn claimed(thread: &ThreadId, id: Uuid, claim: Claim) -> [Self; 2] {
        let draft = Self::statement(thread, &id.to_string(), News::Claimed(claim)).with_id(id);
        [draft, Self::trials(Trials::Due)]
    }

    /// A statement was claimed again.
    pub fn statement_sourced(thread: &ThreadId, statement: &str, sources: Vec<Source>) -> Self {
        Self::said(thread, statement, Said::Sourced(sources))
    }

    /// A statement is derived from these now.
    pub fn statement_grounded(thread: &ThreadId, statement: &str, premises: Vec<String>) -> Self {
        Self::said(thread, statement, Said::Grounded(premises))
    }

    /// An event of the trials of a space about themselves.
    pub fn trials(what: Trials) -> Self {
        what.encode(&ThreadId::of_trials())
    }
}
