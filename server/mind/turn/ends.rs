//! How a thread ends: the events of that, told to those who know it, append by append where they are many. What does not fit into
//! the first append stands in the note of a timer of the thread (`Rest`), so that whoever finds it due goes on with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::dependents::counted;
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::fact::Fact;
use crate::event::fact::set::{Change, Thread};
use crate::event::fact::told::{News, Told};
use crate::event::process::Ending;
use crate::event::rest::{ENDING, Rest};
use crate::log::projections::timers::TimerRow;
use crate::log::store::{self, Status, Store, ThreadRow};
use crate::thread::settings::Settings;
use crate::words::id::{Space, ThreadId};
use crate::words::time::Timestamp;

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
) -> Result<Vec<Draft>, store::Error> {
    ending_within(store, space, end, below, AT_ONCE, now).await
}

async fn ending_within(
    store: &Arc<dyn Store>,
    space: &Space,
    end: &Ending<'_>,
    below: Below,
    room: usize,
    now: Timestamp,
) -> Result<Vec<Draft>, store::Error> {
    let Some(row) = living_row(store, space, end.thread).await? else { return Ok(Vec::new()) };
    let gone = (below == Below::End).then_some(end.thread);
    let word = Word { store, space, row: &row, end, gone, again: false };
    let mut around = Around::of(store, space, std::slice::from_ref(&row)).await?;
    // One place is the timer's.
    let room = room.saturating_sub(1);
    let (mut drafts, tell) = word.first(&mut around, room).await?;
    let mut rest = Rest { tell, last: end.last.to_owned(), ..Rest::default() };
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
    drafts.into_iter().map(|draft| once(thread, draft)).chain([timer]).collect()
}

fn once(ended: &ThreadId, draft: Draft) -> Draft {
    match draft.fact() {
        Fact::Told(Told { news: News::Ended { thread, .. }, .. }) if thread == ended.as_str() => draft.once(ended),
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
) -> Result<Vec<Draft>, store::Error> {
    let thread = &timer.thread;
    let mut rest = Rest::of(&timer.note);
    let mut drafts = Vec::new();
    if rest.below {
        drafts = some_below(store, space, thread, now).await?;
        rest.below = !drafts.is_empty();
    }
    if let Some(row) = store.thread(space, thread).await?.filter(|_| drafts.is_empty()) {
        let (reason, last) = (row.standing.reason.as_deref().unwrap_or_default(), rest.last.clone());
        let end = Ending { thread, status: row.status.as_str(), reason, last: &last };
        // Who was to go with it has.
        let word = Word { store, space, row: &row, end: &end, gone: None, again: true };
        if rest.children {
            let (some, are_all) = word.adopt(&BTreeSet::new(), AT_ONCE - 1).await?;
            (drafts, rest.children) = (some, !are_all);
        }
        if let Some(after) = rest.tell.take_if(|_| drafts.is_empty()) {
            let knowing = Knowing::of(store, space, thread, &after).await?;
            (drafts, rest.tell) = word.tell(knowing, &mut BTreeSet::new(), after, AT_ONCE - 1).await?;
        }
    }
    let next = (!rest.is_nothing()).then(|| (taken(now), &rest));
    let ours = Condition::TimerStands { name: ENDING.to_owned(), due: timer.due };
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
    Ending { thread: &row.thread, status: Status::Stopped.as_str(), reason: PARENT_ENDED, last: "" }
}

/// The ends of all threads below one that ends, if there is room for so many events.
async fn all_below(
    store: &Arc<dyn Store>,
    space: &Space,
    above: &ThreadId,
    room: usize,
) -> Result<Option<Vec<Draft>>, store::Error> {
    let rows = store.descendants(space, above, None, ROWS).await?;
    let mut drafts = Vec::new();
    if rows.len() > room {
        return Ok(None);
    }
    let mut around = Around::of(store, space, &rows).await?;
    for row in &rows {
        if !around.knows(&row.thread) {
            return Ok(None);
        }
        let word = Word { store, space, row, end: &end_of(row), gone: Some(above), again: false };
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
) -> Result<Vec<Draft>, store::Error> {
    let rows = store.descendants(space, above, None, ROWS).await?;
    let mut around = Around::of(store, space, &rows).await?;
    let mut drafts: Vec<Draft> = Vec::new();
    for row in rows.iter().take_while(|row| around.knows(&row.thread)).cloned().collect::<Vec<_>>() {
        // Two places are the timers'.
        let room = (AT_ONCE - 2).saturating_sub(drafts.len());
        let word = Word { store, space, row: &row, end: &end_of(&row), gone: Some(above), again: false };
        let (more, tell) = word.first(&mut around, room).await?;
        // One that very many know comes first in an append, and what is left of its end is its own.
        if !drafts.is_empty() && (tell.is_some() || more.len() > room) {
            break;
        }
        let is_last = tell.is_some();
        drafts.extend(with_rest(more, &row.thread, &Rest { tell, ..Rest::default() }, now));
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
) -> Result<Option<ThreadRow>, store::Error> {
    Ok(store.thread(space, thread).await?.filter(|row| !row.status.is_final()))
}

/// Those who know threads, by these threads' ids, as many as are read together.
#[derive(Default)]
struct Knowers {
    of: BTreeMap<ThreadId, Vec<ThreadId>>,
    /// Of this one there may be more, and of those behind it nothing is known.
    cut: Option<ThreadId>,
}

impl Knowers {
    fn of(pairs: Vec<(ThreadId, ThreadId)>, limit: u32) -> Self {
        let cut = pairs.last().filter(|_| pairs.len() >= limit as usize).map(|(of, _)| of.clone());
        let mut knowers = Self { cut, ..Self::default() };
        pairs.into_iter().for_each(|(of, who)| knowers.of.entry(of).or_default().push(who));
        knowers
    }

    fn knows(&self, thread: &ThreadId) -> bool {
        self.cut.as_ref().is_none_or(|cut| thread <= cut)
    }

    /// Those of one thread, and whether there may be more.
    fn take(&mut self, thread: &ThreadId) -> (Vec<ThreadId>, bool) {
        (self.of.remove(thread).unwrap_or_default(), self.cut.as_ref() == Some(thread))
    }
}

/// Who waits for a thread, and who has it as a contact, in the order of their ids; and whether there may be more.
struct Knowing {
    waiting: (Vec<ThreadId>, bool),
    holders: (Vec<ThreadId>, bool),
}

impl Knowing {
    /// Of one thread, holders behind this one.
    async fn of(store: &Arc<dyn Store>, space: &Space, thread: &ThreadId, after: &str) -> Result<Self, store::Error> {
        let waiting = Knowers::of(store.awaiting(space, thread..=thread, ROWS).await?, ROWS).take(thread);
        let holders = Knowers::of(store.referrers(space, thread..=thread, after, PAGE).await?, PAGE).take(thread);
        Ok(Self { waiting, holders })
    }
}

/// What there is around threads that end, by their ids: read for many at once.
struct Around {
    /// The names of their timers.
    timers: BTreeMap<ThreadId, Vec<String>>,
    waiting: Knowers,
    holders: Knowers,
}

impl Around {
    /// Of these, in the order of their ids.
    async fn of(store: &Arc<dyn Store>, space: &Space, rows: &[ThreadRow]) -> Result<Self, store::Error> {
        let mut timers: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let (mut waiting, mut holders) = (Knowers::default(), Knowers::default());
        if let [first, ..] = rows
            && let [.., last] = rows
        {
            let all = &first.thread..=&last.thread;
            for timer in store.timers(space, all.clone()).await? {
                timers.entry(timer.thread).or_default().push(timer.name);
            }
            holders = Knowers::of(store.referrers(space, all.clone(), "", PAGE).await?, PAGE);
            waiting = Knowers::of(store.awaiting(space, all, PAGE).await?, PAGE);
        }
        Ok(Self { timers, waiting, holders })
    }

    /// Whether that of this thread was read: always so of the first.
    fn knows(&self, thread: &ThreadId) -> bool {
        self.waiting.knows(thread) && self.holders.knows(thread)
    }
}

/// The word of a thread's end, for those who know it, but not for those that are gone with it.
struct Word<'a> {
    store: &'a Arc<dyn Store>,
    space: &'a Space,
    row: &'a ThreadRow,
    end: &'a Ending<'a>,
    /// This one ends, too, and all within it.
    gone: Option<&'a ThreadId>,
    /// It has ended in an earlier append: some were told.
    again: bool,
}

impl Word<'_> {
    /// The end of the thread, told as far as there is room; its parent always is. And behind whom it goes on, if not all were told.
    async fn first(&self, around: &mut Around, room: usize) -> Result<(Vec<Draft>, Option<String>), store::Error> {
        let (thread, end) = (&self.row.thread, self.end);
        let watches = self.row.standing.watches.len() as u64;
        let watches_removed = (watches > 0).then_some(watches);
        let (status, reason) = (Some(end.status), Some(end.reason));
        let change = Thread { status, reason, watches_removed, ..Thread::default() };
        // Of two who end it one does, and tells of it.
        let mut drafts = vec![Draft::set_thread(thread, change).only_if(Condition::NotEnded)];
        // Whoever has ended is not to be woken any more.
        let timers = around.timers.remove(thread).unwrap_or_default();
        drafts.extend(timers.iter().map(|name| Draft::set(thread, name, Change::Timer(None))));
        let mut told = BTreeSet::new();
        if let Some(parent) = self.row.parent() {
            drafts.extend(self.to(&parent).await?);
            told.insert(parent);
        }
        let knowing = Knowing { waiting: around.waiting.take(thread), holders: around.holders.take(thread) };
        let room = room.saturating_sub(drafts.len());
        let (more, tell) = self.tell(knowing, &mut told, String::new(), room).await?;
        drafts.extend(more);
        Ok((drafts, tell))
    }

    /// Tells those who know it as far as there is room, first those who wait. And behind whom it goes on, if these were not all.
    async fn tell(
        &self,
        Knowing { waiting: (waiting, more_wait), holders: (holders, more_hold) }: Knowing,
        told: &mut BTreeSet<ThreadId>,
        mut after: String,
        room: usize,
    ) -> Result<(Vec<Draft>, Option<String>), store::Error> {
        let mut drafts = Vec::new();
        for holder in waiting {
            if drafts.len() >= room {
                return Ok((drafts, Some(after)));
            }
            if told.insert(holder.clone()) {
                drafts.extend(self.to(&holder).await?);
            }
        }
        if more_wait && !drafts.is_empty() {
            return Ok((drafts, Some(after)));
        }
        for holder in holders {
            if drafts.len() >= room {
                return Ok((drafts, Some(after)));
            }
            if told.insert(holder.clone()) {
                drafts.extend(self.to(&holder).await?);
            }
            after = holder.to_string();
        }
        Ok((drafts, more_hold.then_some(after)))
    }

    /// The events that tell one of it: none where that one has ended, or was told.
    async fn to(&self, holder: &ThreadId) -> Result<Vec<Draft>, store::Error> {
        if *holder == self.row.thread || self.gone.is_some_and(|above| holder.is_within(above)) {
            return Ok(Vec::new());
        }
        match living_row(self.store, self.space, holder).await? {
            Some(holder) => self.to_living(&holder).await,
            None => Ok(Vec::new()),
        }
    }

    async fn to_living(&self, holder: &ThreadRow) -> Result<Vec<Draft>, store::Error> {
        let Self { store, space, row, end, .. } = self;
        let word = Draft::ended(&holder.thread, end).once(&row.thread);
        if self.again
            && let Some(id) = word.event_id
            && store.event(space, id).await?.is_some()
        {
            return Ok(Vec::new());
        }
        // By its id only where it may come twice: a look for ids costs every end a little.
        let word = Draft { event_id: None, ..word };
        let last = if end.last.is_empty() { end.reason } else { end.last };
        let word = counted(word, row, holder, end.status == Status::Done.as_str(), last);
        let mut drafts = vec![if row.standing.archived { word.after_archiving() } else { word }];
        if Some(&holder.thread) == row.parent().as_ref() {
            // It was made a contact with its beginning; one that makes many has not all of them for ever.
            let contacts = store.contacts(space, &holder.thread).await?;
            let contacts = contacts.into_iter().filter(|contact| contact.target == row.thread);
            drafts.extend(contacts.map(|it| Draft::set(&holder.thread, it.name.as_str(), Change::Contact(None))));
        }
        Ok(drafts)
    }

    /// The children of the thread, as far as there is room: the events that tell them, unless they are told already, and give them the
    /// nearest living thread above it as their parent. And whether these are all.
    async fn adopt(&self, told: &BTreeSet<ThreadId>, room: usize) -> Result<(Vec<Draft>, bool), store::Error> {
        let Self { store, space, row, .. } = self;
        let mut heir = row.parent();
        while let Some(above) = &heir {
            heir = match store.thread(space, above).await? {
                Some(row) if !row.status.is_final() => break,
                Some(row) => row.parent(),
                None => above.parent(),
            };
        }
        let change = Thread { parent: Some(heir.as_ref().map(ThreadId::as_str)), ..Thread::default() };
        let (mut drafts, mut after) = (Vec::new(), None);
        loop {
            let page = store.descendants(space, &row.thread, after.as_ref(), ROWS).await?;
            for child in page.iter().filter(|child| child.parent().as_ref() == Some(&row.thread)) {
                if drafts.len() + 2 > room {
                    return Ok((drafts, false));
                }
                if !told.contains(&child.thread) {
                    drafts.extend(self.to_living(child).await?);
                }
                drafts.push(Draft::set_thread(&child.thread, change.clone()));
            }
            after = page.last().filter(|_| page.len() >= ROWS as usize).map(|last| last.thread.clone());
            if after.is_none() {
                return Ok((drafts, true));
            }
        }
    }
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
    for row in store.descendants(space, parent, None, MANY).await? {
        let gathered = Settings::of(&row.settings).gathered;
        if row.thread.parent().as_ref() == Some(parent) && gathered.is_some_and(|it| it.id == gathering) {
            let status = Status::Stopped.as_str();
            let end = Ending { thread: &row.thread, status, reason: &reason, last: "" };
            let room = AT_ONCE.saturating_sub(drafts.len());
            drafts.extend(ending_within(store, space, &end, Below::End, room, now).await?);
        }
    }
    Ok(drafts)
}
