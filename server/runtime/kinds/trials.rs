//! Trials as a kind of work: what is claimed becomes a statement of the world model only if it
//! survives one. The trials of a space are done under one lease, that of a thread of their own,
//! beside all conversations; what they leave in the log belongs to the thread that claimed. How one
//! statement is tried is in `trials/trying.rs`.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::Mutex as AsyncMutex;

use crate::event::condition::{Condition, Room};
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::statement::{Claim, Instrument, Status};
use crate::event::trial::Rules;
use crate::log::error::StoreError;
use crate::log::thread_row::ThreadRow;
use crate::mind::turn_writer::TurnWriter;
use crate::runtime::ground::Ground;
use crate::runtime::memory;
use crate::runtime::refused::Refused;
use crate::runtime::work::{Claim as Leased, Looked, Work, looked};
use crate::tasks::share::Place;
use crate::tools::word::{Held, held};
use crate::words::id::{self, Seq, Space, ThreadId};
use crate::words::time::Timestamp;
use allowance::Allowance;
use bench::Bench;
use journal::{Journal, under};
use knowledge::Base;

mod allowance;
mod asking;
mod bench;
mod code;
mod contesting;
mod entities;
mod ground;
mod joining;
mod journal;
mod knowledge;
mod merging;
mod people;
mod renewing;
mod retesting;
mod said;
mod settling;
mod telling;
mod trying;

/// Most statements that are looked at for one question of the rules.
const REACH: u32 = 1000;
/// So often is something tried again that was overtaken.
const TRIES: usize = 16;

/// See the module.
pub struct Trials {
    ground: Ground,
    knowledge: Option<Base>,
    allowance: Allowance,
    // A plain mutex: held for a look, never across an await.
    kept: Mutex<HashMap<Space, Kept>>,
}

/// Memory of a space beside its log.
#[derive(Default)]
struct Kept {
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
        self.look_for_late(space, event);
    }

    async fn work(&self, claim: Leased) -> Result<Looked, StoreError> {
        self.try_all(claim).await
    }
}

impl Trials {
    /// The trials of this server.
    pub fn new(ground: &Ground) -> Self {
        let memory = &ground.options.memory;
        Self {
            ground: ground.clone(),
            knowledge: Base::of(&memory.knowledge),
            allowance: Allowance::new(memory.calls_per_hour),
            kept: Mutex::default(),
        }
    }

    fn memory(&self) -> &memory::Options {
        &self.ground.options.memory
    }

    fn journal<'a>(&'a self, space: &'a Space) -> Journal<'a> {
        Journal {
            store: &self.ground.store,
            space,
            waker: &self.ground.waker,
        }
    }

    fn kept<T>(&self, space: &Space, of: impl FnOnce(&mut Kept) -> T) -> T {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
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
        if claim.source.word
            && let Some(id) = self.hold(space, thread, &claim).await?
        {
            return Ok((id, Status::Surviving));
        }
        let (journal, limit) = (self.journal(space), self.memory().waiting);
        let refused = || Refused::TooMany {
            what: "claims of a space that wait for their trial (memory.waiting); claim again when some have had theirs",
            limit,
        };
        let room = journal.store.room_for_claim(space, limit).await?;
        if room == Room::None {
            return Err(refused());
        }
        let id = id::fresh();
        let mut claimed = Draft::claimed(thread, id, claim);
        let is_scarce = room == Room::Scarce;
        under(
            &mut claimed,
            is_scarce.then_some(Condition::FewerWaiting(limit)),
        );
        match journal.append(claimed.into()).await {
            Err(StoreError::Unmet(Condition::FewerWaiting(_))) => Err(refused()),
            appended => Ok(appended.map(|()| (id.to_string(), Status::Proposed))?),
        }
    }

    /// Holds a person's word about themselves, and returns its id; none: it is claimed like
    /// anything else.
    async fn hold(
        &self,
        space: &Space,
        thread: &ThreadId,
        claim: &Claim,
    ) -> Result<Option<String>, Refused> {
        for _ in 0..TRIES {
            let (journal, place) = (self.journal(space), (space, thread));
            let held = held(&**journal.store, place, id::fresh(), claim).await?;
            let Some(Held { id, drafts }) = held else {
                return Ok(None);
            };
            if drafts.is_empty() || journal.is_appended(drafts).await? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// What the log has of a statement, the oldest first.
    pub async fn events(&self, space: &Space, id: &str) -> Result<Vec<Event>, Refused> {
        Ok(self.journal(space).story(id).await?)
    }

    /// The instruments that this server has for any statement.
    fn instruments(&self) -> BTreeSet<Instrument> {
        let knowledge = self.knowledge.as_ref().map(|_| Instrument::Knowledge);
        let code = self.ground.code.is_enabled().then_some(Instrument::Code);
        let all = [knowledge, code, Some(Instrument::Reflection)];
        all.into_iter().flatten().collect()
    }

    fn rules(&self) -> Rules {
        let memory = self.memory();
        let retry_ms = i64::try_from(memory.retry_ms).unwrap_or(i64::MAX);
        Rules {
            available: self.instruments(),
            two_of_three: memory.two_of_three,
            require_experiment: memory.require_experiment,
            tries: memory.tries,
            retry_micros: retry_ms.saturating_mul(1000),
        }
    }

    /// Tries what is due until nothing is, then rests until something is claimed, answered or due
    /// again.
    async fn try_all(&self, leased: Leased) -> Result<Looked, StoreError> {
        let Leased {
            row, fence, stop, ..
        } = leased;
        let space = fence.space.clone();
        let bench = Bench {
            trials: self,
            journal: self.journal(&space),
            row,
            stop: &stop,
            writer: TurnWriter::new(self.ground.store.clone(), fence, None),
            settling: AsyncMutex::new(()),
            asking: AsyncMutex::new(()),
        };
        self.allowance.count(bench.journal).await?;
        looked(bench.try_all().await)
    }
}
