//! The word of a thread's end: the threads that know the one that ended, and the events that tell
//! each of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ends, PAGE, ROWS};
use crate::turn::dependents::counted;
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::{Change, Thread};
use thinkd_event::process::Ending;
use thinkd_event::timer::Purpose;
use thinkd_log::error::StoreError;
use thinkd_log::projections::contacts::ContactRow;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_words::id::ThreadId;

/// The threads that know others, by the ids of these others, as many as are read together.
#[derive(Default)]
pub struct Knowers {
    pub by_thread: BTreeMap<ThreadId, Vec<ThreadId>>,
    /// Of this one there may be more, and of those behind it nothing is known.
    pub cut: Option<ThreadId>,
}

impl Knowers {
    pub fn from_pairs(pairs: Vec<(ThreadId, ThreadId)>, limit: u32) -> Self {
        let cut = pairs
            .last()
            .filter(|_| pairs.len() >= limit as usize)
            .map(|(of, _)| of.clone());
        let mut by_thread: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (of, who) in pairs {
            by_thread.entry(of).or_default().push(who);
        }
        Self { by_thread, cut }
    }

    pub fn knows(&self, thread: &ThreadId) -> bool {
        self.cut.as_ref().is_none_or(|cut| thread <= cut)
    }

    /// Returns the knowers of one thread, and whether there may be more.
    pub fn take(&mut self, thread: &ThreadId) -> (Vec<ThreadId>, bool) {
        let knowers = self.by_thread.remove(thread).unwrap_or_default();
        (knowers, self.cut.as_ref() == Some(thread))
    }
}

/// The threads that wait for a thread, and those that have it as a contact, in the order of their
/// ids; and whether there may be more.
pub struct Knowing {
    pub waiting: (Vec<ThreadId>, bool),
    pub holders: (Vec<ThreadId>, bool),
}

/// The timers and knowers of threads that end, by their ids: read for many at once.
#[derive(Default)]
pub struct Around {
    /// The names of their timers.
    pub timers: BTreeMap<ThreadId, Vec<String>>,
    pub waiting: Knowers,
    pub holders: Knowers,
}

impl Ends<'_> {
    /// Returns the knowers of one thread: its waiters, and its holders behind `after`.
    pub async fn knowing(self, thread: &ThreadId, after: &str) -> Result<Knowing, StoreError> {
        let Self { store, space, .. } = self;
        let waiting = store.awaiting(space, thread..=thread, ROWS).await?;
        let holders = store.referrers(space, thread..=thread, after, PAGE);
        let holders = holders.await?;
        Ok(Knowing {
            waiting: Knowers::from_pairs(waiting, ROWS).take(thread),
            holders: Knowers::from_pairs(holders, PAGE).take(thread),
        })
    }

    /// Returns the surroundings of these threads, which stand in the order of their ids.
    pub async fn around(self, rows: &[ThreadRow]) -> Result<Around, StoreError> {
        let Self { store, space, .. } = self;
        let mut around = Around::default();
        if let [first, ..] = rows
            && let [.., last] = rows
        {
            let all = &first.thread..=&last.thread;
            for timer in store.timers(space, all.clone()).await? {
                let timers = around.timers.entry(timer.thread).or_default();
                timers.push(timer.name);
            }
            let holders = store.referrers(space, all.clone(), "", PAGE).await?;
            let waiting = store.awaiting(space, all, PAGE).await?;
            around.holders = Knowers::from_pairs(holders, PAGE);
            around.waiting = Knowers::from_pairs(waiting, PAGE);
        }
        Ok(around)
    }
}

impl Around {
    /// Returns true if the knowers of this thread were read: always so of the first.
    pub fn knows(&self, thread: &ThreadId) -> bool {
        self.waiting.knows(thread) && self.holders.knows(thread)
    }
}

/// The word of a thread's end, for the threads that know it, but not for those that are gone with
/// it.
pub struct Word<'a> {
    pub ends: Ends<'a>,
    pub row: &'a ThreadRow,
    pub end: &'a Ending<'a>,
    /// This one ends, too, and all within it.
    pub gone: Option<&'a ThreadId>,
    /// The thread has ended in an earlier append: some were told.
    pub again: bool,
}

impl Word<'_> {
    /// Returns the events that tell the threads that know it, as far as there is room, first those
    /// that wait. Also returns the holder behind which it goes on, if these were not all.
    pub async fn first(
        &self,
        around: &mut Around,
        room: usize,
    ) -> Result<(Vec<Draft>, Option<String>), StoreError> {
        let thread = &self.row.thread;
        let watches = self.row.state.watches.len() as u64;
        let change = Thread {
            status: Some(self.end.status),
            reason: Some(self.end.reason),
            watches_removed: (watches > 0).then_some(watches),
            ..Thread::default()
        };
        // Of two who end it one does, and tells of it.
        let mut drafts = vec![Draft::set_thread(thread, change).only_if(Condition::NotEnded)];
        // Whoever has ended is not to be woken any more.
        let timers = around.timers.remove(thread).unwrap_or_default();
        // What ends a request stays, in case that nobody comes to withdraw it.
        let timers = timers
            .iter()
            .filter(|name| !matches!(Purpose::of(name), Purpose::Request(_)));
        drafts.extend(timers.map(|name| Draft::set(thread, name, Change::Timer(None))));
        let mut told = BTreeSet::new();
        if let Some(parent) = self.row.parent() {
            drafts.extend(self.to(&parent).await?);
            told.insert(parent);
        }
        let knowing = Knowing {
            waiting: around.waiting.take(thread),
            holders: around.holders.take(thread),
        };
        let room = room.saturating_sub(drafts.len());
        let (more, tell) = self.tell(knowing, &mut told, String::new(), room).await?;
        drafts.extend(more);
        Ok((drafts, tell))
    }

    /// Tells the threads that know it as far as there is room, first those that wait. And behind
    /// whom it goes on, if these were not all.
    pub async fn tell(
        &self,
        Knowing {
            waiting: (waiting, more_wait),
            holders: (holders, more_hold),
        }: Knowing,
        told: &mut BTreeSet<ThreadId>,
        mut after: String,
        room: usize,
    ) -> Result<(Vec<Draft>, Option<String>), StoreError> {
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
    pub async fn to(&self, holder: &ThreadId) -> Result<Vec<Draft>, StoreError> {
        if *holder == self.row.thread || self.gone.is_some_and(|above| holder.is_within(above)) {
            return Ok(Vec::new());
        }
        match self.ends.living_row(holder).await? {
            Some(holder) => self.to_living(&holder).await,
            None => Ok(Vec::new()),
        }
    }

    pub async fn to_living(&self, holder: &ThreadRow) -> Result<Vec<Draft>, StoreError> {
        let Self { ends, row, end, .. } = self;
        let Ends { store, space, .. } = ends;
        let word = Draft::ended(&holder.thread, end).once(&row.thread);
        if self.again
            && let Some(id) = word.event_id
            && store.event(space, id).await?.is_some()
        {
            return Ok(Vec::new());
        }
        // By its id only where it may come twice: a look for ids costs every end a little.
        let word = Draft {
            event_id: None,
            ..word
        };
        let last = match end.last {
            "" => end.reason,
            last => last,
        };
        let word = counted(word, row, holder, end.status == Status::Done.as_str(), last);
        let mut drafts = vec![match row.state.archived {
            true => word.after_archiving(),
            false => word,
        }];
        if Some(&holder.thread) == row.parent().as_ref() {
            // It was made a contact with its beginning; one that makes many has not all of them for ever.
            let holder = &holder.thread;
            let contacts = store.contacts(space, holder).await?;
            let contacts = contacts.iter().filter(|it| it.target == row.thread);
            let gone =
                |it: &ContactRow| Draft::set(holder, it.name.as_str(), Change::Contact(None));
            drafts.extend(contacts.map(gone));
        }
        Ok(drafts)
    }

    /// The children of the thread, as far as there is room: the events that tell them, unless they are told already, and give them the
    /// nearest living thread above it as their parent. And whether these are all.
    pub async fn adopt(
        &self,
        told: &BTreeSet<ThreadId>,
        room: usize,
    ) -> Result<(Vec<Draft>, bool), StoreError> {
        let Self { ends, row, .. } = self;
        let Ends { store, space, .. } = ends;
        let mut heir = row.parent();
        while let Some(above) = &heir {
            heir = match store.thread(space, above).await? {
                Some(row) if !row.status.is_final() => break,
                Some(row) => row.parent(),
                None => above.parent(),
            };
        }
        let change = Thread {
            parent: Some(heir.as_ref().map(ThreadId::as_str)),
            ..Thread::default()
        };
        let mut drafts = Vec::new();
        let mut after = None;
        loop {
            let page = store.descendants(space, &row.thread, after.as_ref(), ROWS);
            let page = page.await?;
            let is_child = |row_of: &&ThreadRow| row_of.parent().as_ref() == Some(&row.thread);
            for child in page.iter().filter(is_child) {
                if drafts.len() + 2 > room {
                    return Ok((drafts, false));
                }
                if !told.contains(&child.thread) {
                    drafts.extend(self.to_living(child).await?);
                }
                drafts.push(Draft::set_thread(&child.thread, change.clone()));
            }
            let last = page.last().filter(|_| page.len() >= ROWS as usize);
            after = last.map(|last| last.thread.clone());
            if after.is_none() {
                return Ok((drafts, true));
            }
        }
    }
}
