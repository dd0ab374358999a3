//! The end of a thread: its events, and one for each thread that knows it, append by append where
//! they are many. A timer of the thread carries the rest that does not fit into the first append
//! (`event/rest.rs`), so that any server can go on with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::Fact;
use thinkd_event::fact::told::{News, Told};
use thinkd_event::process::Ending;
use thinkd_event::rest::Rest;
use thinkd_event::timer::Purpose;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::timers::TimerRow;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_thread::settings::Settings;
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::time::Timestamp;

use word::Word;

mod word;

/// Most events that are appended together where threads end: no other append waits for more of
/// them.
const AT_ONCE: usize = 256;
/// The same, of rows.
const ROWS: u32 = 256;
/// Most knowers of threads that are read together.
const PAGE: u32 = 1024;
/// Most threads below one that are looked through for a gathering.
const MANY: u32 = 10_000;
/// The microseconds for which a server has the rest of an end (10 s). It shows after each append
/// that it goes on; when it has not for so long, another server may.
const TAKEN_MICROS: i64 = 10_000_000;

/// Why a thread ends that is below one that ended.
pub const PARENT_ENDED: &str = "parent-ended";

/// The fate of the threads below one that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// They end with it.
    End,
    /// They live on, below the nearest living thread above.
    Stay,
}

/// Returns the events with which a thread ends: its own, and one for its parent, for each thread
/// that waits for it, and for each with it among its contacts. Threads below it end with it, or are
/// told, and get another parent. Nothing, if it has ended already.
///
/// Events without room are left to `rest_of_end`. The thread has ended, so nothing is made below it
/// any more. Each thread that lives there, or knows it, has its turn, even if this server stops.
pub async fn ending(
    store: &Arc<dyn Store>,
    space: &Space,
    end: &Ending<'_>,
    below: Below,
    now: Timestamp,
) -> Result<Vec<Draft>, StoreError> {
    let ends = Ends { store, space, now };
    ends.ending_within(end, below, AT_ONCE).await
}

/// The space in which threads end, and the time.
#[derive(Clone, Copy)]
struct Ends<'a> {
    store: &'a Arc<dyn Store>,
    space: &'a Space,
    now: Timestamp,
}

impl<'a> Ends<'a> {
    /// Returns the events with which a thread ends; for those that have no room, a timer.
    async fn ending_within(
        self,
        end: &Ending<'_>,
        below: Below,
        room: usize,
    ) -> Result<Vec<Draft>, StoreError> {
        let Some(row) = self.living_row(end.thread).await? else {
            return Ok(Vec::new());
        };
        let gone = (below == Below::End).then_some(end.thread);
        let word = self.word(&row, end, gone);
        let mut around = self.around(std::slice::from_ref(&row)).await?;
        // One place is the timer's.
        let room = room.saturating_sub(1);
        let (mut drafts, tell) = word.first(&mut around, room).await?;
        let mut rest = Rest {
            tell,
            last: end.last.to_owned(),
            ..Rest::default()
        };
        let room = room.saturating_sub(drafts.len());
        match below {
            Below::End => match self.all_below(end.thread, room).await? {
                Some(more) => drafts.extend(more),
                None => rest.below = true,
            },
            Below::Stay => {
                let told = drafts.iter().map(|draft| draft.thread.clone()).collect();
                let (more, are_all) = word.adopt(&told, room).await?;
                drafts.extend(more);
                rest.children = !are_all;
            }
        }
        Ok(self.with_rest(drafts, end.thread, &rest))
    }

    /// The word of an end that was not told yet.
    fn word(self, row: &'a ThreadRow, end: &'a Ending<'a>, gone: Option<&'a ThreadId>) -> Word<'a> {
        Word {
            ends: self,
            row,
            end,
            gone,
            again: false,
        }
    }

    /// Returns these, and the timer that stands for the rest, if there is one: then threads that
    /// were told are not told again.
    fn with_rest(self, drafts: Vec<Draft>, thread: &ThreadId, rest: &Rest) -> Vec<Draft> {
        if rest.is_nothing() {
            return drafts;
        }
        let timer = Draft::rest_of_end(thread, Some((taken(self.now), rest)));
        let drafts = drafts.into_iter().map(|draft| once(thread, draft));
        drafts.chain([timer]).collect()
    }

    /// The ends of all threads below one that ends, if there is room for so many events.
    async fn all_below(
        self,
        above: &ThreadId,
        room: usize,
    ) -> Result<Option<Vec<Draft>>, StoreError> {
        let rows = self
            .store
            .descendants(self.space, above, None, ROWS)
            .await?;
        let mut drafts = Vec::new();
        if rows.len() > room {
            return Ok(None);
        }
        let mut around = self.around(&rows).await?;
        for row in &rows {
            if !around.knows(&row.thread) {
                return Ok(None);
            }
            let end = end_of(row);
            let word = self.word(row, &end, Some(above));
            let (more, tell) = word.first(&mut around, room).await?;
            drafts.extend(more);
            if tell.is_some() || drafts.len() > room {
                return Ok(None);
            }
        }
        Ok(Some(drafts))
    }

    /// The ends of some threads below one that has ended; nothing: none lives there any more.
    async fn some_below(self, above: &ThreadId) -> Result<Vec<Draft>, StoreError> {
        let rows = self
            .store
            .descendants(self.space, above, None, ROWS)
            .await?;
        let mut around = self.around(&rows).await?;
        let mut drafts: Vec<Draft> = Vec::new();
        let known = rows.iter().take_while(|row| around.knows(&row.thread));
        for row in &rows[..known.count()] {
            // Two places are the timers'.
            let room = (AT_ONCE - 2).saturating_sub(drafts.len());
            let end = end_of(row);
            let word = self.word(row, &end, Some(above));
            let (more, tell) = word.first(&mut around, room).await?;
            // One that very many know comes first in an append, and what is left of its end is its own.
            if !drafts.is_empty() && (tell.is_some() || more.len() > room) {
                break;
            }
            let is_last = tell.is_some();
            let rest = Rest {
                tell,
                ..Rest::default()
            };
            drafts.extend(self.with_rest(more, &row.thread, &rest));
            if is_last {
                break;
            }
        }
        Ok(drafts)
    }

    async fn living_row(self, thread: &ThreadId) -> Result<Option<ThreadRow>, StoreError> {
        let row = self.store.thread(self.space, thread).await?;
        Ok(row.filter(|row| !row.status.is_final()))
    }
}

fn once(ended: &ThreadId, draft: Draft) -> Draft {
    match draft.fact() {
        Fact::Told(Told {
            news: News::Ended { thread, .. },
            ..
        }) if thread == ended.as_str() => draft.once(ended),
        _ => draft,
    }
}

/// Returns the next events where a thread has ended and not all that follows is done. Some of those
/// below it end, those above first, so that nothing is made below them, or get another parent; or
/// some that know it are told. The timer that stands for the rest moves on with every append, and
/// goes with the last: of several servers that do this one does it.
pub async fn rest_of_end(
    store: &Arc<dyn Store>,
    space: &Space,
    timer: &TimerRow,
    now: Timestamp,
) -> Result<Vec<Draft>, StoreError> {
    let thread = &timer.thread;
    let ends = Ends { store, space, now };
    let mut rest = Rest::of(&timer.note);
    let mut drafts = Vec::new();
    if rest.below {
        drafts = ends.some_below(thread).await?;
        rest.below = !drafts.is_empty();
    }
    let row = store.thread(space, thread).await?;
    if let Some(row) = row.filter(|_| drafts.is_empty()) {
        let last = rest.last.clone();
        let end = Ending {
            thread,
            status: row.status.as_str(),
            reason: row.state.reason.as_deref().unwrap_or_default(),
            last: &last,
        };
        // Who was to go with it has.
        let word = Word {
            again: true,
            ..ends.word(&row, &end, None)
        };
        if rest.children {
            let (some, are_all) = word.adopt(&BTreeSet::new(), AT_ONCE - 1).await?;
            (drafts, rest.children) = (some, !are_all);
        }
        if let Some(after) = rest.tell.take_if(|_| drafts.is_empty()) {
            let knowing = ends.knowing(thread, &after).await?;
            let mut told = BTreeSet::new();
            let tell = word.tell(knowing, &mut told, after, AT_ONCE - 1);
            (drafts, rest.tell) = tell.await?;
        }
    }
    let next = (!rest.is_nothing()).then(|| (taken(now), &rest));
    let ours = Condition::TimerStands {
        name: Purpose::Ending.to_string(),
        due: timer.due,
    };
    let timed = Draft::rest_of_end(thread, next).only_if(ours);
    let drafts = std::iter::once(timed).chain(drafts.into_iter().map(|draft| once(thread, draft)));
    // What it leads to draws on the root of whoever ended it.
    Ok(drafts.map(|draft| draft.rooted(timer.root)).collect())
}

/// Returns the time until which no other server does the rest of an end.
pub fn taken(now: Timestamp) -> Timestamp {
    Timestamp::from_micros(now.micros() + TAKEN_MICROS)
}

/// Returns the end of a thread below one that ended.
fn end_of(row: &ThreadRow) -> Ending<'_> {
    Ending {
        thread: &row.thread,
        status: Status::Stopped.as_str(),
        reason: PARENT_ENDED,
        last: "",
    }
}

/// The subthreads of a gathering that are still at work end with its time.
pub async fn dismissed(
    store: &Arc<dyn Store>,
    space: &Space,
    parent: &ThreadId,
    gathering: &str,
    now: Timestamp,
) -> Result<Vec<Draft>, StoreError> {
    let ends = Ends { store, space, now };
    let reason = format!("the time for {gathering} was up");
    let mut drafts: Vec<Draft> = Vec::new();
    for row in store.descendants(space, parent, None, MANY).await? {
        let gathered = Settings::of(&row.settings).gathered;
        if row.thread.parent().as_ref() == Some(parent)
            && gathered.is_some_and(|it| it.id == gathering)
        {
            let end = Ending {
                reason: &reason,
                ..end_of(&row)
            };
            let room = AT_ONCE.saturating_sub(drafts.len());
            drafts.extend(ends.ending_within(&end, Below::End, room).await?);
        }
    }
    Ok(drafts)
}
