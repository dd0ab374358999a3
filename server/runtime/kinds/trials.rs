//! Trials as a kind of work: what is claimed becomes a statement of the world model only if it
//! survives one. The trials of a space are done under one lease, that of a thread of their own,
//! beside all conversations; what they leave in the log belongs to the thread that claimed. How one
//! statement is tried is in `trials/trying.rs`.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::Mutex as AsyncMutex;

use crate::ground::Ground;
use crate::refused::Refused;
use crate::work::{Claim as Leased, Looked, Work, looked};
use allowance::Calls;
use bench::Bench;
use journal::Journal;
use merges::contest_by_merges;
use retesting::{has_something_to_renew, has_something_to_retest};
use telling::{has_something_to_tell, look_for_late};
use thinkd_event::condition::Condition;
use thinkd_event::envelope::Event;
use thinkd_event::statement::{Claim, Instrument, Status};
use thinkd_log::error::StoreError;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn_writer::TurnWriter;
use thinkd_tasks::share::Place;
use thinkd_tools::knowledge::Search;
use thinkd_tools::word::{Held, held, waiting};
use thinkd_words::id::{self, Seq, Space, ThreadId};
use thinkd_words::time::Timestamp;
use working::try_all;

mod allowance;
mod asking;
mod bench;
mod code;
mod contesting;
mod ground;
mod joining;
mod journal;
mod knowledge;
pub mod merges;
mod people;
mod retesting;
mod rules;
mod said;
pub mod settling;
mod telling;
mod trying;
mod working;

/// Most statements that are looked at for one question of the rules.
const REACH: u32 = 1000;
/// So often is something tried again that was overtaken.
const TRIES: usize = 16;
/// Calls are remembered of so many spaces at most; those of others are read again.
const SPACES_MAX: usize = 1024;

/// See the module.
pub struct Trials {
    ground: Ground,
    /// The knowledge base, where it is an address.
    search: Option<Search>,
    // A plain mutex: held for a look, never across an await.
    kept: Mutex<HashMap<Space, Kept>>,
}

/// Memory of a space beside its log.
#[derive(Default)]
struct Kept {
    /// The calls to models of the last hour.
    calls: Calls,
    /// With these instruments it was looked through for what they can test, up to there; none: to
    /// its end.
    looked: (BTreeSet<Instrument>, Option<Seq>),
    /// Nobody looks for what is to be tested again before this time.
    not_before: Option<Timestamp>,
    /// When the trials want to be woken for that; none: there is nothing.
    next_retest: Option<Timestamp>,
}

#[async_trait]
impl Work for Trials {
    fn owns(&self, thread: &ThreadId) -> bool {
        thread.is_of_trials()
    }

    async fn place(&self, _: &Space, _: &ThreadId) -> Option<Place> {
        None
    }

    /// A trial ends by itself: its models, its instruments and its readings have limits.
    async fn cancel(&self, _: &Space, _: &ThreadRow, _: Option<&str>) -> Result<bool, Refused> {
        Ok(false)
    }

    fn is_whole_thread(&self) -> bool {
        true
    }

    fn sees(&self, space: &Space, event: &Event) {
        look_for_late(&self.ground, space, event);
    }

    /// Tries what is due until nothing is, then rests until something is claimed, answered or due
    /// again.
    async fn work(&self, leased: Leased) -> Result<Looked, StoreError> {
        let space = leased.fence.space.clone();
        let bench = Bench {
            trials: self,
            journal: self.journal(&space),
            row: leased.row,
            stop: &leased.stop,
            writer: TurnWriter::new(self.ground.store.clone(), leased.fence, None),
            settling: AsyncMutex::new(()),
            asking: AsyncMutex::new(()),
        };
        let most = bench.journal.memory().calls_per_hour;
        let mut calls = self.kept(&space, |kept| kept.calls.clone());
        calls.count(bench.journal, most).await?;
        self.kept(&space, |kept| kept.calls = calls);
        looked(try_all(&bench).await)
    }
}

impl Trials {
    /// The trials of this server.
    pub fn new(ground: &Ground) -> Self {
        let memory = &ground.options.memory;
        let search = memory.knowledge.url.as_ref();
        Self {
            ground: ground.clone(),
            search: search.map(|_| Search::new(&memory.knowledge)),
            kept: Mutex::default(),
        }
    }

    /// Returns the log of a space, on which trials are done and operators act.
    pub fn journal<'a>(&'a self, space: &'a Space) -> Journal<'a> {
        let ground = &self.ground;
        Journal { ground, space }
    }

    fn kept<T>(&self, space: &Space, of: impl FnOnce(&mut Kept) -> T) -> T {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = all.len() % SPACES_MAX == SPACES_MAX - 1;
        if is_full && !all.contains_key(space) {
            all.values_mut()
                .for_each(|kept| kept.calls = Calls::default());
        }
        of(all.entry(space.clone()).or_default())
    }

    /// Somebody claims something in a thread. Returns the statement's id and its status after the
    /// commit, before any trial: a person's word about themselves is held.
    pub async fn claim(
        &self,
        space: &Space,
        thread: &ThreadId,
        claim: Claim,
    ) -> Result<(String, Status), Refused> {
        let journal = self.journal(space);
        if claim.source.word
            && let Some(id) = hold(journal, thread, &claim).await?
        {
            return Ok((id, Status::Surviving));
        }
        let limit = journal.memory().waiting;
        let refused = || Refused::TooMany {
            what: "claims of a space that wait for their trial (memory.waiting); claim again when some have had theirs",
            limit,
        };
        let id = id::fresh();
        let claimed = waiting(journal.store(), (space, thread), (id, claim), limit);
        let claimed = claimed.await?.ok_or_else(refused)?;
        match journal.append(claimed).await {
            Err(StoreError::Unmet(Condition::FewerWaiting(_))) => Err(refused()),
            appended => Ok(appended.map(|()| (id.to_string(), Status::Proposed))?),
        }
    }

    /// Looks through all spaces once, after a start: what a stop has cut off is done, and the trials
    /// are woken where there is something. Whoever had no instrument then may have one now.
    pub async fn look_through(self: Arc<Self>) {
        let spaces = match self.ground.store.spaces_with_statements().await {
            Ok(spaces) => spaces,
            Err(error) => {
                tracing::warn!(%error, "the spaces with statements cannot be read: a start looks for their trials again");
                return;
            }
        };
        for space in spaces {
            let journal = self.journal(&space);
            // Neither look waits for the other to be done without an error.
            if let Err(error) = contest_by_merges(journal).await {
                tracing::warn!(%space, %error, "it was not looked what contradicts what by names that are one: a start looks again");
            }
            if let Err(error) = wake_for_trials(journal).await {
                tracing::warn!(%space, %error, "it was not looked what a new instrument could test: a claim, or a start, has it looked for again");
            }
        }
    }
}

/// Wakes the trials of a space if there is something to test again, to tell or to renew.
async fn wake_for_trials(journal: Journal<'_>) -> Result<(), StoreError> {
    let is_due = has_something_to_retest(journal).await?
        || has_something_to_tell(journal).await?
        || has_something_to_renew(journal).await?;
    if is_due {
        journal.wake().await?;
    }
    Ok(())
}

/// Holds a person's word about themselves, and returns its id; none: it is claimed like anything
/// else.
async fn hold(
    journal: Journal<'_>,
    thread: &ThreadId,
    claim: &Claim,
) -> Result<Option<String>, Refused> {
    for _ in 0..TRIES {
        let place = (journal.space, thread);
        let held = held(journal.store(), place, id::fresh(), claim).await?;
        let Some(Held { id, drafts }) = held else {
            return Ok(None);
        };
        if drafts.is_empty() || journal.is_appended(drafts).await? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
