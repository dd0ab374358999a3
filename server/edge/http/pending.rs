//! The open parts of a thread: timers, watches, gatherings.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use thinkd_event::gather::Gather;
use thinkd_event::process::Watch;
use thinkd_event::timer::Purpose;
use thinkd_log::projections::timers::TimerRow;

/// A timer that is set.
#[derive(Debug, Serialize, ToSchema)]
pub struct Timer {
    /// Its id in the thread.
    pub id: String,
    /// When it fires.
    #[schema(example = "2026-11-21T04:25:00.123456Z")]
    pub due: String,
    /// The matter that it reminds of.
    pub note: String,
}

/// A watch that is open.
#[derive(Debug, Serialize, ToSchema)]
pub struct OpenWatch {
    /// Its id in the thread.
    pub id: String,
    /// The tag that it looks for.
    pub kind: String,
    /// Only from this thread.
    pub from: Option<String>,
    /// The work to be done then.
    pub note: String,
    /// True if the event has come.
    pub raised: bool,
}

/// Subthreads of which the thread waits to have all results back together.
#[derive(Debug, Serialize, ToSchema)]
pub struct Gathering {
    /// Its id in the thread.
    pub id: String,
    /// The number of results that have come back.
    pub back: u64,
    /// Of how many.
    pub of: u64,
    /// When it is over, even if some have not come back.
    #[schema(example = "2026-11-21T04:25:00.123456Z")]
    pub until: Option<String>,
}

/// The timers that a thread has set itself; those that end a wait, a gathering or a request are told with these, and one is the
/// server's.
pub fn timers(rows: &[TimerRow]) -> Vec<Timer> {
    let is_own = |row: &&TimerRow| matches!(Purpose::of(&row.name), Purpose::Own(_));
    let own = rows.iter().filter(is_own);
    own.map(|row| Timer {
        id: row.name.clone(),
        due: row.due.to_string(),
        note: row.note.clone(),
    })
    .collect()
}

/// A thread's watches, as its row has them.
pub fn watches(rows: BTreeMap<String, Watch>) -> Vec<OpenWatch> {
    let shown = |(id, watch): (String, Watch)| OpenWatch {
        id,
        kind: watch.kind,
        from: watch.from.map(|from| from.to_string()),
        note: watch.note,
        raised: watch.raised,
    };
    rows.into_iter().map(shown).collect()
}

/// A thread's gatherings, as its row has them, and their limits, which are timers.
pub fn gatherings(rows: &BTreeMap<String, Gather>, timers: &[TimerRow]) -> Vec<Gathering> {
    let shown = |(id, gather): (&String, &Gather)| {
        let is_limit = |it: &&TimerRow| Purpose::of(&it.name) == Purpose::Gathering(id);
        let limit = timers.iter().find(is_limit);
        let back = gather.results.len() as u64;
        Gathering {
            id: id.clone(),
            back,
            of: gather.total,
            until: limit.map(|timer| timer.due.to_string()),
        }
    };
    rows.iter().map(shown).collect()
}
