//! The filter of a list of threads, and the search for the threads it admits.

use super::params::Params;
use super::thread::{Kind, shown_status};
use crate::problem::Problem;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_session::handle::Session;
use thinkd_words::id::ThreadId;

const STATUSES: &str = "idle, thinking, waiting, done, failed, stopped";
const KINDS: &str = "conversation, process, pipeline, mission";

/// The conditions of a list of threads: all are to be met.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Filter {
    status: Option<Status>,
    kind: Option<Kind>,
    parent: Option<ThreadId>,
    subtree: Option<ThreadId>,
    forked_from: Option<ThreadId>,
    stuck: Option<bool>,
}

impl Filter {
    /// `status`, `kind`, `parent`, `subtree`, `forked_from`, `stuck`.
    pub fn take(params: &mut Params) -> Result<Self, Problem> {
        let id = |text: Option<String>| text.map(|text| ThreadId::parse(&text)).transpose();
        Ok(Self {
            status: params.word("status", STATUSES, Status::parse)?,
            kind: params.word("kind", KINDS, Kind::parse)?,
            parent: id(params.one("parent")?)?,
            subtree: id(params.one("subtree")?)?,
            forked_from: id(params.one("forked_from")?)?,
            stuck: params.word("stuck", "true, false", |word| word.parse().ok())?,
        })
    }

    /// Returns the first id, in the order of ids, that can be among them.
    pub fn begin(&self) -> Option<&ThreadId> {
        self.parent.iter().chain(&self.subtree).max()
    }

    /// Returns the text that a cursor is bound to.
    pub fn bound(&self) -> String {
        if *self == Self::default() {
            String::new()
        } else {
            format!(" {self:?}")
        }
    }

    /// Returns true if no thread from this one on can be among them.
    pub fn is_past(&self, thread: &ThreadId) -> bool {
        // Bytewise, everything that begins with "x." lies between "x." and "x/".
        let past = |root: &ThreadId| thread.as_str() >= format!("{root}/").as_str();
        self.parent.iter().chain(&self.subtree).any(past)
    }

    /// Returns true if a thread is among them.
    pub fn admits(&self, row: &ThreadRow) -> bool {
        self.status.is_none_or(|status| shown_status(row) == status)
            && self.kind.is_none_or(|kind| Kind::of_row(row) == kind)
            && (self.parent.as_ref()).is_none_or(|parent| row.parent().as_ref() == Some(parent))
            && (self.subtree.as_ref()).is_none_or(|root| row.thread.is_within(root))
            && (self.forked_from.as_ref()).is_none_or(|from| is_fork_of(row, from))
            && self.stuck.is_none_or(|stuck| is_stuck(row) == stuck)
    }
}

fn is_fork_of(row: &ThreadRow, from: &ThreadId) -> bool {
    let fork = row.state.fork.as_ref();
    fork.is_some_and(|fork| fork.from == *from)
}

/// Returns true if a thread waits because it cannot go on, not because it wants to.
fn is_stuck(row: &ThreadRow) -> bool {
    let waiting = row.state.waiting.as_ref();
    shown_status(row) == Status::Waiting && waiting.is_some_and(|it| it.reason.is_some())
}

/// Threads that are asked for, after a position, and the position to go on from, if there may be more. It is not looked at more of
/// them than these pages hold: a filter that few meet would have one request read them all.
pub async fn listed(
    session: &Session,
    mut after: Option<ThreadId>,
    filter: &Filter,
    limit: u32,
) -> Result<(Vec<ThreadRow>, Option<ThreadId>), Problem> {
    // Rows read at a time, and how often.
    const PAGE: u32 = 501;
    const PAGES: u32 = 4;
    let mut rows = Vec::new();
    let most = limit as usize;
    let at_once = match *filter == Filter::default() {
        true => limit + 1,
        false => PAGE,
    };
    if let (None, Some(first)) = (&after, filter.begin()) {
        let first_row = session.thread(first).await?;
        rows.extend(first_row.filter(|row| filter.admits(row)));
        after = Some(first.clone());
    }
    for _ in 0..PAGES {
        let page = session.threads(after.as_ref(), at_once).await?;
        let is_last = page.len() < at_once as usize
            || page.last().is_some_and(|row| filter.is_past(&row.thread));
        after = page.last().map(|row| row.thread.clone()).or(after);
        rows.extend(page.into_iter().filter(|row| filter.admits(row)));
        if rows.len() > most {
            rows.truncate(most);
            after = rows.last().map(|row| row.thread.clone());
            return Ok((rows, after));
        }
        if is_last {
            return Ok((rows, None));
        }
    }
    Ok((rows, after))
}
