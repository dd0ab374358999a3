//! The end of a thread: its events, and one for each thread that knows it, append by append where they are many. A timer of the thread carries
//! what does not fit into the first append (`event/rest.rs`), so that any server can go on with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::fact::Fact;
use crate::event::fact::told::{News, Told};
use crate::event::process::Ending;
use crate::event::rest::Rest;
use crate::event::timer::Purpose;
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::timers::TimerRow;
use crate::log::status::Status;
use crate::log::thread_row::ThreadRow;
use crate::thread::settings::Settings;
use crate::words::id::{Space, ThreadId};
use crate::words::time::Timestamp;

use word::{Around, Knowing, Word};

mod word;

/// Most events that are appended together where threads end: nobody else's append waits for more of them.
const AT_ONCE: usize = 256;
/// The same, of rows.
const ROWS: u32 = 256;
/// Most of those who know threads that are read together.
const PAGE: u32 = 1024;
/// Most threads below one whose gathering is looked through.
const MANY: u32 = 10_000;
/// Whoever does the rest of an end shows after each append that it does. When it has not for so long (10 s), somebody else may.
const TAKEN_MICROS: i64 = 10_000_000;

/// Why a thread ends that is below one that ended.
pub const PARENT_ENDED: &str = "parent-ended";

/// What becomes of the threads below one that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    /// They end with it.
    End,
    /// They live on, below the nearest living thread above.
    Stay,
}

/// The events with which a thread ends: its own, and one for its parent, whoever waits for it and each thread that has it among
/// its contacts. Those below it end with it, or are told, and get another parent. Nothing, if it has ended already. What there is no
/// room for is left to `rest_of_end`: the thread has ended, so nothing is made below it any more, and whoever lives there, or knows it,
/// has its turn, whatever becomes of this server.
pub async fn ending(
    store: &Arc<dyn Store>,
    space: &Space,
    end: &Ending<'_>,
    below: Below,
    now: Timestamp,
) -> Result<Vec<Draft>, StoreError> {
    ending_within(store, space, end, below, AT_ONCE, now).await
}

async fn ending_within(
    store: &Arc<dyn Store>,
    space: &Space,
    end: &Ending<'_>,
    below: Below,
    room: usize,
    now: Timestamp,
) -> Result<Vec<Draft>, StoreError> {
    let Some(row) = living_row(store, space, end.thread).await? else {
        return Ok(Vec::new());
    };
    let gone = (below == Below::End).then_some(end.thread);
    let word = Word {
        store,
        space,
        row: &row,
        end,
        gone,
        again: false,
    };
    let mut around = Around::read(store, space, std::slice::from_ref(&row)).await?;
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
        Below::End => match all_below(store, space, end.thread, room).await? {
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
    Ok(with_rest(drafts, end.thread, &rest, now))
}

/// These, and the timer that stands for the rest, if there is one: then whoever was told is not told again.
fn with_rest(drafts: Vec<Draft>, thread: &ThreadId, rest: &Rest, now: Timestamp) -> Vec<Draft> {
    if rest.is_nothing() {
        return drafts;
    }
    let timer = Draft::rest_of_end(thread, Some((taken(now), rest)));
    drafts
        .into_iter()
        .map(|draft| once(thread, draft))
        .chain([timer])
        .collect()
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

/// What comes next where a thread has ended and not all that follows is done: some of those below it end, those above first, so that
/// nothing is made below them, or get another parent; or some who know it are told. The timer that stands for the rest moves on with
/// every append, and goes with the last: of several who do this one does it.
pub async fn rest_of_end(
    store: &Arc<dyn Store>,
    space: &Space,
    timer: &TimerRow,
    now: Timestamp,
) -> Result<Vec<Draft>, StoreError> {
    let thread = &timer.thread;
    let mut rest = Rest::of(&timer.note);
    let mut drafts = Vec::new();
    if rest.below {
        drafts = some_below(store, space, thread, now).await?;
        rest.below = !drafts.is_empty();
    }
    if let Some(row) = store
        .thread(space, thread)
        .await?
        .filter(|_| drafts.is_empty())
    {
        let (reason, last) = (
            row.state.reason.as_deref().unwrap_or_default(),
            rest.last.clone(),
        );
        let end = Ending {
            thread,
            status: row.status.as_str(),
            reason,
            last: &last,
        };
        // Who was to go with it has.
        let word = Word {
            store,
            space,
            row: &row,
            end: &end,
            gone: None,
            again: true,
        };
        if rest.children {
            let (some, are_all) = word.adopt(&BTreeSet::new(), AT_ONCE - 1).await?;
            (drafts, rest.children) = (some, !are_all);
        }
        if let Some(after) = rest.tell.take_if(|_| drafts.is_empty()) {
            let knowing = Knowing::read(store, space, thread, &after).await?;
            (drafts, rest.tell) = word
                .tell(knowing, &mut BTreeSet::new(), after, AT_ONCE - 1)
                .await?;
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

/// Until when nobody else does the rest of an end.
pub fn taken(now: Timestamp) -> Timestamp {
    Timestamp::from_micros(now.micros() + TAKEN_MICROS)
}

/// How a thread ends that is below one that ended.
fn end_of(row: &ThreadRow) -> Ending<'_> {
    Ending {
        thread: &row.thread,
        status: Status::Stopped.as_str(),
        reason: PARENT_ENDED,
        last: "",
    }
}

/// The ends of all threads below one that ends, if there is room for so many events.
async fn all_below(
    store: &Arc<dyn Store>,
    space: &Space,
    above: &ThreadId,
    room: usize,
) -> Result<Option<Vec<Draft>>, StoreError> {
    let rows = store.descendants(space, above, None, ROWS).await?;
    let mut drafts = Vec::new();
    if rows.len() > room {
        return Ok(None);
    }
    let mut around = Around::read(store, space, &rows).await?;
    for row in &rows {
        if !around.knows(&row.thread) {
            return Ok(None);
        }
        let word = Word {
            store,
            space,
            row,
            end: &end_of(row),
            gone: Some(above),
            again: false,
        };
        let (more, tell) = word.first(&mut around, room).await?;
        drafts.extend(more);
        if tell.is_some() || drafts.len() > room {
            return Ok(None);
        }
    }
    Ok(Some(drafts))
}

/// The ends of some threads below one that has ended; nothing: none lives there any more.
async fn some_below(
    store: &Arc<dyn Store>,
    space: &Space,
    above: &ThreadId,
    now: Timestamp,
) -> Result<Vec<Draft>, StoreError> {
    let rows = store.descendants(space, above, None, ROWS).await?;
    let mut around = Around::read(store, space, &rows).await?;
    let mut drafts: Vec<Draft> = Vec::new();
    for row in rows
        .iter()
        .take_while(|row| around.knows(&row.thread))
        .cloned()
        .collect::<Vec<_>>()
    {
        // Two places are the timers'.
        let room = (AT_ONCE - 2).saturating_sub(drafts.len());
        let word = Word {
            store,
            space,
            row: &row,
            end: &end_of(&row),
            gone: Some(above),
            again: false,
        };
        let (more, tell) = word.first(&mut around, room).await?;
        // One that very many know comes first in an append, and what is left of its end is its own.
        if !drafts.is_empty() && (tell.is_some() || more.len() > room) {
            break;
        }
        let is_last = tell.is_some();
        drafts.extend(with_rest(
            more,
            &row.thread,
            &Rest {
                tell,
                ..Rest::default()
            },
            now,
        ));
        if is_last {
            break;
        }
    }
    Ok(drafts)
}

async fn living_row(
    store: &Arc<dyn Store>,
    space: &Space,
    thread: &ThreadId,
) -> Result<Option<ThreadRow>, StoreError> {
    Ok(store
        .thread(space, thread)
        .await?
        .filter(|row| !row.status.is_final()))
}

/// The subthreads of a gathering that are still at work end with its time.
pub async fn dismissed(
    store: &Arc<dyn Store>,
    space: &Space,
    parent: &ThreadId,
    gathering: &str,
    now: Timestamp,
) -> Result<Vec<Draft>, StoreError> {
    let reason = format!("the time for {gathering} was up");
    let mut drafts: Vec<Draft> = Vec::new();
    for row in store.descendants(space, parent, None, MANY).await? {
        let gathered = Settings::of(&row.settings).gathered;
        if row.thread.parent().as_ref() == Some(parent)
            && gathered.is_some_and(|it| it.id == gathering)
        {
            let status = Status::Stopped.as_str();
            let end = Ending {
                thread: &row.thread,
                status,
                reason: &reason,
                last: "",
            };
            let room = AT_ONCE.saturating_sub(drafts.len());
            drafts.extend(ending_within(store, space, &end, Below::End, room, now).await?);
        }
    }
    Ok(drafts)
}
