//! Those who depend on a thread, and what they are told: when it ends, and when it cannot go on. Its parent, whoever waits for
//! it, and, of its end, whoever has it as a contact and those below it. The events are appended together with what they tell of.

use crate::log::store;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::gather::Part as GatherPart;
use crate::event::process::{ENDING, Ending, ErrorCode};
use crate::log::store::{Status, Store, ThreadRow};
use crate::thread::settings::Settings;
use crate::words::id::{Space, ThreadId};
use crate::words::time::Timestamp;

/// Most threads that have one thread as a contact and are told of it.
const MANY: u32 = 10_000;
/// Most events that are appended together where threads end: nobody else's append waits for more of them.
const AT_ONCE: usize = 256;
/// The same, of rows.
const ROWS: u32 = 256;
/// Whoever ends what is below a thread shows after each append that it does. When it has not for so long (10 s), somebody else may.
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

/// The thread is stuck: its turn failed for good, or a budget put it to sleep. The events that tell those who depend on it: its
/// parent, for which it is a failed part if it was gathered, and whoever waits for it. To be appended with what puts it to sleep.
pub async fn stuck(
    store: &Arc<dyn Store>,
    space: &Space,
    thread: &ThreadId,
    reason: &str,
) -> Result<Vec<Draft>, store::Error> {
    // Of one that has ended they know already.
    let Some(row) = living_row(store, space, thread).await? else { return Ok(Vec::new()) };
    // The others are told one by one, after the append.
    let waiting = store.awaiting(space, thread..=thread, ROWS).await?;
    let mut told: Vec<ThreadId> = waiting.into_iter().map(|(_, who)| who).collect();
    // Who talks with a conversation sees it fail; a process has nobody but its parent.
    told.extend(row.parent().filter(|_| Settings::of(&row.settings).is_process()));
    let mut drafts = Vec::new();
    for holder in living(store, space, told, thread).await? {
        let draft = Draft::stuck(&holder.thread, thread, reason);
        drafts.push(counted(draft, &row, &holder, false, reason));
    }
    Ok(drafts)
}

/// The events with which a thread ends: its own, and one for its parent, whoever waits for it and each thread that has it among
/// its contacts. Those below it end with it, or are told, and get another parent. Nothing, if it has ended already.
pub async fn ending(
    store: &Arc<dyn Store>,
    space: &Space,
    ending: &Ending<'_>,
    below: Below,
    now: Timestamp,
) -> Result<Vec<Draft>, store::Error> {
    match below {
        Below::End => ending_within(store, space, ending, AT_ONCE, now).await,
        Below::Stay => {
            let Some(row) = living_row(store, space, ending.thread).await? else { return Ok(Vec::new()) };
            let rows = store.below(space, ending.thread, MANY).await?;
            let (orphans, mut adopted) = adopt(store, space, &row, &rows).await?;
            let mut around = Around::of(store, space, std::slice::from_ref(&row)).await?;
            around.told.entry(row.thread.clone()).or_default().extend(orphans);
            let mut drafts = one(store, space, &row, ending, None, &mut around).await?;
            drafts.append(&mut adopted);
            Ok(drafts)
        }
    }
}

/// The same, with those below it as far as there is room for so many events. If that is not all of them, a timer of the thread
/// stands for the rest (`ending_below`): it has ended, so nothing is made below it any more, and whoever lives there ends, too, whatever
/// becomes of this server.
async fn ending_within(
    store: &Arc<dyn Store>,
    space: &Space,
    ending: &Ending<'_>,
    room: usize,
    now: Timestamp,
) -> Result<Vec<Draft>, store::Error> {
    let thread = ending.thread;
    let Some(row) = living_row(store, space, thread).await? else { return Ok(Vec::new()) };
    let mut around = Around::of(store, space, std::slice::from_ref(&row)).await?;
    let mut drafts = one(store, space, &row, ending, Some(thread), &mut around).await?;
    let rows = store.below(space, thread, ROWS).await?;
    let room = room.saturating_sub(drafts.len());
    if rows.len() <= room
        && let Some(more) = ends(store, space, thread, &rows, room).await?
    {
        drafts.extend(more);
    } else {
        drafts.push(Draft::ends_below(thread, Some(taken(now))));
    }
    Ok(drafts)
}

/// What comes next where a thread has ended and those below it have not all: the ends of some of them, those above first, so that
/// nothing is made below them. The timer that stands for the rest moves on with every append, and goes with the last: of several
/// who do this one does it.
pub async fn ending_below(
    store: &Arc<dyn Store>,
    space: &Space,
    thread: &ThreadId,
    due: Timestamp,
    now: Timestamp,
) -> Result<Vec<Draft>, store::Error> {
    let rows = store.below(space, thread, ROWS).await?;
    let until = (!rows.is_empty()).then(|| taken(now));
    let ours = Condition::TimerStands { name: ENDING.to_owned(), due };
    let mut drafts = vec![Draft::ends_below(thread, until).only_if(ours)];
    let mut around = Around::of(store, space, &rows).await?;
    for row in &rows {
        let more = one(store, space, row, &end_of(row), Some(thread), &mut around).await?;
        if drafts.len() > 1 && drafts.len() + more.len() > AT_ONCE {
            break;
        }
        drafts.extend(more);
    }
    Ok(drafts)
}

/// Until when nobody else ends what is below a thread.
pub fn taken(now: Timestamp) -> Timestamp {
    Timestamp::from_micros(now.micros() + TAKEN_MICROS)
}

/// How a thread ends that is below one that ended.
fn end_of(row: &ThreadRow) -> Ending<'_> {
    Ending { thread: &row.thread, status: Status::Stopped.as_str(), reason: PARENT_ENDED, last: "" }
}

/// The ends of all these threads below one that ends, if there is room for so many events.
async fn ends(
    store: &Arc<dyn Store>,
    space: &Space,
    above: &ThreadId,
    rows: &[ThreadRow],
    room: usize,
) -> Result<Option<Vec<Draft>>, store::Error> {
    let mut drafts = Vec::new();
    let mut around = Around::of(store, space, rows).await?;
    for row in rows {
        drafts.extend(one(store, space, row, &end_of(row), Some(above), &mut around).await?);
        if drafts.len() > room {
            return Ok(None);
        }
    }
    Ok(Some(drafts))
}

async fn living_row(
    store: &Arc<dyn Store>,
    space: &Space,
    thread: &ThreadId,
) -> Result<Option<ThreadRow>, store::Error> {
    Ok(store.thread(space, thread).await?.filter(|row| !row.status.is_final()))
}

/// What there is around threads that end, by their ids: read for many at once.
struct Around {
    /// The names of their timers.
    timers: BTreeMap<ThreadId, Vec<String>>,
    /// Who has them as contacts, or waits for them.
    told: BTreeMap<ThreadId, Vec<ThreadId>>,
}

impl Around {
    /// Of these, in the order of their ids.
    async fn of(store: &Arc<dyn Store>, space: &Space, rows: &[ThreadRow]) -> Result<Self, store::Error> {
        let (mut timers, mut told): (BTreeMap<_, Vec<_>>, BTreeMap<_, Vec<_>>) = Default::default();
        if let [first, ..] = rows
            && let [.., last] = rows
        {
            let all = &first.thread..=&last.thread;
            for timer in store.timers(space, all.clone()).await? {
                timers.entry(timer.thread).or_default().push(timer.name);
            }
            let most = MANY.saturating_mul(u32::try_from(rows.len()).unwrap_or(u32::MAX));
            let mut those = store.holders(space, all.clone(), most).await?;
            // Others who wait are told one by one, after the append.
            those.extend(store.awaiting(space, all, ROWS).await?);
            those.into_iter().for_each(|(of, who)| told.entry(of).or_default().push(who));
        }
        Ok(Self { timers, told })
    }
}

/// The end of one thread, told to all but those that are gone with it: within this one.
async fn one(
    store: &Arc<dyn Store>,
    space: &Space,
    row: &ThreadRow,
    ending: &Ending<'_>,
    gone: Option<&ThreadId>,
    around: &mut Around,
) -> Result<Vec<Draft>, store::Error> {
    let thread = ending.thread;
    let mut change = json!({ "status": ending.status, "reason": ending.reason });
    if !row.standing.watches.is_empty() {
        change["watches_removed"] = row.standing.watches.len().into();
    }
    // Of two who end it one does, and tells of it.
    let mut drafts = vec![Draft::changed(thread, "thread", thread.as_str(), change).only_if(Condition::NotEnded)];
    // Whoever has ended is not to be woken any more.
    let timers = around.timers.remove(thread).unwrap_or_default();
    drafts.extend(timers.iter().map(|name| Draft::changed(thread, "timer", name, Value::Null)));
    let mut told = around.told.remove(thread).unwrap_or_default();
    told.extend(row.parent());
    told.retain(|thread| !gone.is_some_and(|above| thread.is_within(above)));
    let last = if ending.last.is_empty() { ending.reason } else { ending.last };
    for holder in living(store, space, told, thread).await? {
        let told = Draft::ended(&holder.thread, ending);
        let told = counted(told, row, &holder, ending.status == Status::Done.as_str(), last);
        drafts.push(if row.standing.archived { told.with("archived", true) } else { told });
        if Some(&holder.thread) == row.parent().as_ref() {
            // It was made a contact with its beginning; one that makes many has not all of them for ever.
            let contacts = store.contacts(space, &holder.thread).await?;
            let contacts = contacts.into_iter().filter(|contact| contact.target == *thread);
            drafts.extend(contacts.map(|it| Draft::changed(&holder.thread, "contact", it.name.as_str(), Value::Null)));
        }
    }
    Ok(drafts)
}

/// What is told of a thread that the holder gathers is a part of that gathering: the holder is not woken by it, and told with the
/// rest what the thread came to, unless it waits for this one.
fn counted(draft: Draft, row: &ThreadRow, holder: &ThreadRow, ok: bool, text: &str) -> Draft {
    let is_gatherer = row.thread.parent().as_ref() == Some(&holder.thread);
    let Some(gathered) = Settings::of(&row.settings).gathered.filter(|_| is_gatherer) else { return draft };
    let is_open = holder.standing.gathers.contains_key(&gathered.id);
    let draft = draft.counted(&GatherPart::of(gathered.id, gathered.index, ok, text));
    match holder.awaits() == Some(&row.thread) {
        true => draft,
        false if is_open => draft.brief().silent(),
        false => draft.silent(),
    }
}

/// The children of a thread that ends, and the events that give them the nearest living thread above it as their parent.
async fn adopt(
    store: &Arc<dyn Store>,
    space: &Space,
    row: &ThreadRow,
    below: &[ThreadRow],
) -> Result<(Vec<ThreadId>, Vec<Draft>), store::Error> {
    let mut heir = row.parent();
    while let Some(above) = &heir {
        heir = match store.thread(space, above).await? {
            Some(row) if !row.status.is_final() => break,
            Some(row) => row.parent(),
            None => above.parent(),
        };
    }
    let children = below.iter().filter(|child| child.parent().as_ref() == Some(&row.thread));
    let children: Vec<ThreadId> = children.map(|child| child.thread.clone()).collect();
    let change = json!({ "parent": heir });
    let drafts = children.iter().map(|child| Draft::changed(child, "thread", child.as_str(), change.clone())).collect();
    Ok((children, drafts))
}

/// The subthreads of a gathering that are still at work end with its time.
pub async fn dismissed(
    store: &Arc<dyn Store>,
    space: &Space,
    parent: &ThreadId,
    gathering: &str,
    now: Timestamp,
) -> Result<Vec<Draft>, store::Error> {
    let reason = format!("the time for {gathering} was up");
    let mut drafts: Vec<Draft> = Vec::new();
    for row in store.below(space, parent, MANY).await? {
        let gathered = Settings::of(&row.settings).gathered;
        if row.thread.parent().as_ref() == Some(parent) && gathered.is_some_and(|it| it.id == gathering) {
            let status = Status::Stopped.as_str();
            let end = Ending { thread: &row.thread, status, reason: &reason, last: "" };
            let room = AT_ONCE.saturating_sub(drafts.len());
            drafts.extend(ending_within(store, space, &end, room, now).await?);
        }
    }
    Ok(drafts)
}

/// A thread waits for one that it cannot reach: nothing would tell it if that one wrote no more.
pub fn out_of_reach(thread: &ThreadId, turn: Option<u64>, whom: &str) -> Draft {
    let text =
        format!("you would wait for {whom}, which is neither a contact of yours nor your parent: the wait is over");
    Draft::thread_error(thread, turn, whom, ErrorCode::UnknownThread, &text).overruling()
}

/// Each of these threads once, without those that have ended and the one that they are to hear of.
async fn living(
    store: &Arc<dyn Store>,
    space: &Space,
    mut threads: Vec<ThreadId>,
    of: &ThreadId,
) -> Result<Vec<ThreadRow>, store::Error> {
    threads.sort();
    threads.dedup();
    let mut living = Vec::new();
    for thread in threads.into_iter().filter(|thread| thread != of) {
        living.extend(store.thread(space, &thread).await?.filter(|row| !row.status.is_final()));
    }
    Ok(living)
}
