//! Trials as a kind of work: what is claimed becomes a statement of the world model only if it survives one. The trials of a space are done under
//! one lease, that of a thread of their own, beside all conversations; what they leave in the log belongs to the thread that claimed. How one
//! statement is tried is in `trials/bench.rs`.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex as StdMutex};

use async_trait::async_trait;
use tokio::sync::Mutex;

use crate::event::condition::{Condition, Room};
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::set::{Change, Timer};
use crate::event::fact::statement::Trials as Said;
use crate::event::statement::{Claim, Instrument, Judged, Outcome, Status};
use crate::event::trial::Rules;
use crate::log::appended::{Append, Appended};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::statements::StatementRow;
use crate::log::status::Status as ThreadStatus;
use crate::log::thread_row::ThreadRow;
use crate::mind::call::TurnPlace;
use crate::mind::turn::driver::Mind;
use crate::mind::turn_writer::TurnWriter;
use crate::recall::finder::Recall;
use crate::runtime::ground::{Ground, Waker};
use crate::runtime::memory;
use crate::runtime::refused::Refused;
use crate::runtime::work::{Claim as Leased, Looked, Work, looked};
use crate::tasks::share::Place;
use crate::tasks::under_way::UnderWay;
use crate::thread::quota::Quotas;
use crate::tools::code::runner::Runner;
use crate::tools::word::held;
use crate::words::id::{self, Seq, Space, ThreadId};
use crate::words::time;
use allowance::Allowance;
use asking::Asker;
use bench::Bench;
use knowledge::Base;

mod allowance;
mod asking;
mod bench;
mod code;
mod contesting;
mod entities;
mod ground;
mod joining;
mod knowledge;
mod merging;
mod people;
mod renewing;
mod retesting;
mod retracting;
mod said;
mod settling;
mod story;
mod telling;

/// Most statements that are looked at for one question of the rules.
const REACH: u32 = 1000;
/// So often is a statement begun in one go that is overtaken each time.
const OVERTAKEN_MAX: u32 = 5;
/// So often is something tried again that was overtaken.
const TRIES: usize = 16;
/// The timer of the trials.
const RETRY: &str = "retry";

/// See the module.
pub struct Trials {
    store: Arc<dyn Store>,
    mind: Mind,
    quotas: Arc<Quotas>,
    waker: Waker,
    memory: memory::Options,
    code: Arc<Runner>,
    knowledge: Base,
    allowance: Allowance,
    // A plain mutex: held for a look, never across an await.
    looked: StdMutex<HashMap<Space, renewing::Looked>>,
    resting: StdMutex<HashMap<Space, retesting::Resting>>,
    recall: Arc<Recall>,
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
        let Ground {
            store,
            mind,
            options,
            quotas,
            code,
            waker,
            recall,
            ..
        } = ground.clone();
        let allowance = Allowance::new(options.memory.calls_per_hour);
        let knowledge = Base::of(&options.memory.knowledge);
        Self {
            store,
            mind,
            quotas,
            waker,
            memory: options.memory.clone(),
            code,
            knowledge,
            allowance,
            looked: StdMutex::default(),
            resting: StdMutex::default(),
            recall,
        }
    }

    /// Somebody claims something in a thread. Returns the statement's id and its status after the commit, before any trial: a
    /// person's word about themselves is held.
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
        let limit = self.memory.waiting;
        let refused = || Refused::TooMany {
            what: "claims of a space that wait for their trial (memory.waiting); claim again when some have had theirs",
            limit,
        };
        let room = self.store.room_for_claim(space, limit).await?;
        if room == Room::None {
            return Err(refused());
        }
        let id = id::fresh();
        let [mut claimed, told] = Draft::claimed(thread, id, claim);
        claimed
            .conditions
            .extend((room == Room::Scarce).then_some(Condition::FewerWaiting(limit)));
        match self.append(space, vec![claimed, told]).await {
            Err(StoreError::Unmet(Condition::FewerWaiting(_))) => Err(refused()),
            appended => Ok(appended.map(|()| (id.to_string(), Status::Proposed))?),
        }
    }

    /// Holds a person's word about themselves, and returns its id; none: it is claimed like anything else.
    async fn hold(
        &self,
        space: &Space,
        thread: &ThreadId,
        claim: &Claim,
    ) -> Result<Option<String>, Refused> {
        for _ in 0..TRIES {
            let place = (space, thread);
            let Some(held) = held(&*self.store, place, id::fresh(), claim).await? else {
                return Ok(None);
            };
            if held.drafts.is_empty() {
                return Ok(Some(held.id));
            }
            match self.append(space, held.drafts).await {
                Err(StoreError::Unmet(_)) => {}
                appended => return Ok(appended.map(|()| Some(held.id))?),
            }
        }
        Ok(None)
    }

    /// What the log has of a statement, the oldest first.
    pub async fn events(&self, space: &Space, id: &str) -> Result<Vec<Event>, Refused> {
        Ok(story::story(&*self.store, space, id).await?)
    }

    async fn append(&self, space: &Space, drafts: Vec<Draft>) -> Result<(), StoreError> {
        let placed = match self.store.append(Append::free(space, drafts)).await? {
            Appended::Stored(placed) => placed,
            Appended::Stale => Vec::new(),
        };
        let on_stored = self.waker.on_stored();
        placed
            .iter()
            .for_each(|placed| on_stored(space, &placed.shown.event));
        Ok(())
    }

    /// The instruments that this server has for any statement.
    fn instruments(&self) -> BTreeSet<Instrument> {
        let knowledge = self.knowledge.is_there().then_some(Instrument::Knowledge);
        let code = self.code.is_enabled().then_some(Instrument::Code);
        knowledge
            .into_iter()
            .chain(code)
            .chain([Instrument::Reflection])
            .collect()
    }

    fn rules(&self) -> Rules {
        let memory::Options {
            tries,
            retry_ms,
            two_of_three,
            require_experiment,
            ..
        } = self.memory;
        Rules {
            available: self.instruments(),
            two_of_three,
            require_experiment,
            tries,
            retry_micros: i64::try_from(retry_ms)
                .unwrap_or(i64::MAX)
                .saturating_mul(1000),
        }
    }

    /// Tries what is due until nothing is, then rests until something is claimed, answered or due again.
    async fn try_all(
        &self,
        Leased {
            row, fence, stop, ..
        }: Leased,
    ) -> Result<Looked, StoreError> {
        let space = fence.space.clone();
        let thread = row.thread.clone();
        let named = row.state.told.unwrap_or(row.handled);
        let mut told = named;
        let purse = self.quotas.open(&space, &thread, None, false);
        let bench = Bench {
            trials: self,
            asker: Asker {
                client: &self.mind.client,
                place: TurnPlace {
                    space: space.clone(),
                    thread: thread.clone(),
                    turn: 0,
                    purse,
                },
                row,
                stop: &stop,
                answer_ms: self.memory.answer_ms,
            },
            writer: TurnWriter::new(self.store.clone(), fence.clone(), None),
            fence,
            settling: Mutex::new(()),
            asking: Mutex::new(()),
        };
        self.allowance.count(&*self.store, &space).await?;
        let mut follower = self.store.feed().follow(&space, Some(&thread));
        let (mut under_way, mut begun) = (UnderWay::default(), HashMap::<String, u32>::new());
        let mut busy: Vec<String> = Vec::new();
        let at_once = self.memory.trials_at_once as usize;
        loop {
            let limit = u32::try_from(at_once + begun.len())
                .unwrap_or(u32::MAX)
                .min(REACH);
            let look = async {
                // Read before the rows: what is claimed behind it wakes the thread again.
                let woken = bench::woken(self.store.thread(&space, &thread).await?.as_ref());
                let told = bench.tell(told).await?;
                Ok((
                    woken,
                    told,
                    self.store
                        .statements_due(&space, time::now(), limit)
                        .await?,
                ))
            };
            let (woken, due);
            (woken, told, due) = match under_way.beside(look).await {
                Ok(seen) => seen,
                Err(lost) => return looked(Err(lost)),
            };
            // What was begun and is due no more has come to its end.
            begun.retain(|id, _| busy.contains(id) || due.iter().any(|row| row.id == *id));
            for row in due {
                let times = begun.get(&row.id).copied().unwrap_or(0);
                let is_free = self.allowance.free_at(&space, time::now()).is_none();
                if is_free
                    && busy.len() < at_once
                    && !busy.contains(&row.id)
                    && times < OVERTAKEN_MAX
                {
                    begun.insert(row.id.clone(), times + 1);
                    busy.push(row.id.clone());
                    let bench = &bench;
                    under_way.push(async move { (row.id.clone(), bench.try_one(row).await) });
                }
            }
            if under_way.is_empty() && self.allowance.free_at(&space, time::now()).is_none() {
                match bench.renew().await {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(lost) => return looked(Err(lost)),
                }
                match bench.retest().await {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(lost) => return looked(Err(lost)),
                }
            }
            if under_way.is_empty() {
                told = match bench.tell_late(told, named).await {
                    Ok(told) => told,
                    Err(lost) => return looked(Err(lost)),
                };
                return looked(
                    bench
                        .writer
                        .close(self.rest(&space, &thread, woken, told).await?)
                        .await
                        .map(|_| ThreadStatus::Idle),
                );
            }
            tokio::select! {
                biased;
                _ = stop.stopped() => return Ok(Looked::Nothing),
                ended = under_way.next() => {
                    if let Some((id, ended)) = ended {
                        busy.retain(|it| *it != id);
                        if let Err(lost) = ended {
                            return looked(Err(lost));
                        }
                    }
                }
                () = follower.changed(), if busy.len() < at_once => {}
            }
        }
    }

    /// What is said when nothing is due: up to where all is done, and when something is due again.
    async fn rest(
        &self,
        space: &Space,
        thread: &ThreadId,
        woken: Seq,
        told: Seq,
    ) -> Result<Vec<Draft>, StoreError> {
        let now = time::now();
        let soon = now.after(self.rules().retry_micros.max(1_000_000));
        // What is due and was overtaken again and again waits, too.
        let overtaken = !self.store.statements_due(space, now, 1).await?.is_empty();
        let free = self.allowance.free_at(space, now);
        let next = if free.is_some() {
            free
        } else if overtaken {
            Some(soon)
        } else {
            let retest = self.next_retest(space).filter(|next| *next > now);
            self.store
                .next_statement_due(space, now)
                .await?
                .into_iter()
                .chain(retest)
                .min()
        };
        let note = "statements are to be tried again".to_owned();
        let timer = next.map(|due| {
            let set = Some(now);
            Draft::set(thread, RETRY, Change::Timer(Some(Timer { due, note, set })))
        });
        let spent = match free {
            Some(until) if !allowance::is_said(&*self.store, space, now).await? => {
                Some(Draft::trials(Said::Spent(until)))
            }
            _ => None,
        };
        Ok(timer
            .into_iter()
            .chain(spent)
            .chain([Draft::trials(Said::Rested {
                handled: woken,
                told: Some(told),
            })])
            .collect())
    }
}

/// What something that becomes of a statement is stored under: that it is as it was looked at.
fn stands(row: &StatementRow) -> Condition {
    Condition::StatementAt {
        id: row.id.clone(),
        changed: row.changed,
    }
}

/// A word on a statement without a trial: all but this stays as it is.
fn word(row: &StatementRow, outcome: Outcome, reason: String) -> Judged {
    let before = row.judged.as_ref();
    let is_held = matches!(outcome, Outcome::Is(status) if status.is_held());
    Judged {
        outcome,
        reason,
        valid: row.valid,
        carried: before
            .filter(|_| is_held)
            .map(|judged| judged.carried.clone())
            .unwrap_or_default(),
        survived: before.map_or(0, |judged| judged.survived),
        tries: 0,
        breaks: 0,
        reopened: before.map_or(0, |judged| judged.reopened),
        // A trial of what is held goes on beside it.
        due: row.due.filter(|_| is_held && row.status.is_held()),
        others: Vec::new(),
        by: None,
        tried: false,
        available: before
            .map(|judged| judged.available.clone())
            .unwrap_or_default(),
        testable: before.and_then(|judged| judged.testable.clone()),
        retest: 0,
    }
}
