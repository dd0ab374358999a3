//! Turns as a kind of work: from a thread's row to its turn, begun or taken up, and its result. The
//! batch of a turn is in `turns/batch.rs`, the additions to its beginning in `turns/settling.rs`,
//! its failures in `turns/failing.rs`, input from outside in `turns/input.rs`.

use std::sync::Arc;

use async_trait::async_trait;

use crate::ground::Ground;
use crate::mailbox::each_after;
use crate::refused::Refused;
use crate::schedule::Schedule;
use crate::work::{Claim, Looked, Prepared, Work, looked};
use batch::{is_unused, opening, root};
use client::goes_on;
use failing::{End, broke_down, given_up, talks_to_itself};
use input::Inbox;
use settling::Settled;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::{self, Change};
use thinkd_event::fact::turn::Ended;
use thinkd_event::gather::Gather;
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_log::fence::Fence;
use thinkd_log::query::Show;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::call::TurnPlace;
use thinkd_mind::submodule::Heard;
use thinkd_mind::turn::Turn;
use thinkd_mind::turn::driver::{Driver, Mail};
use thinkd_mind::turn::granted::Granted;
use thinkd_mind::turn::recalling::asks;
use thinkd_mind::turn::stop::Why;
use thinkd_mind::turn_writer::{Lost, TurnWriter};
use thinkd_tasks::share::Place;
use thinkd_thread::settings::Settings;
use thinkd_tools::toolbox::client::offered;
use thinkd_words::failure::Who;
use thinkd_words::id::{Name, Seq, Space, ThreadId};
use thinkd_words::time::now;

mod batch;
mod client;
mod failing;
pub mod input;
mod settling;

/// Turns of conversations and processes.
pub struct Turns {
    ground: Ground,
    schedule: Schedule,
    /// Takes in input from outside.
    pub inbox: Inbox,
}

#[async_trait]
impl Work for Turns {
    /// Runs of pipelines have threads of their own; all others are for turns.
    fn owns(&self, thread: &ThreadId) -> bool {
        !thread.is_of_runs()
    }

    async fn place(&self, space: &Space, thread: &ThreadId) -> Option<Place> {
        Some(self.schedule.place(space, thread).await)
    }

    async fn prepare(&self, space: &Space) -> Result<Prepared, StoreError> {
        Ok(Prepared {
            submodules: self.ground.store.submodules(space).await?,
        })
    }

    async fn postpone(&self, row: &ThreadRow, fence: &Fence) -> Result<Option<Looked>, StoreError> {
        match self.is_awaited(&fence.space, row).await? {
            true => Ok(None),
            false => self.wait_on(row, fence.clone()).await.map(Some),
        }
    }

    async fn cancel(
        &self,
        space: &Space,
        row: &ThreadRow,
        _: Option<&str>,
    ) -> Result<bool, Refused> {
        self.cancel_turn(space, row, Why::Cancel).await
    }

    async fn cancel_with_above(&self, space: &Space, row: &ThreadRow) -> Result<bool, Refused> {
        self.cancel_turn(space, row, Why::CancelWithAbove).await
    }

    async fn work(&self, claim: Claim) -> Result<Looked, StoreError> {
        self.take_turn(claim).await
    }
}

impl Turns {
    /// Returns turns of these minds.
    pub fn new(ground: &Ground) -> Self {
        let options = &ground.options;
        Self {
            ground: ground.clone(),
            schedule: Schedule::new(options.workers, options.space_share, options.scheduling),
            inbox: Inbox::new(ground),
        }
    }

    async fn cancel_turn(&self, space: &Space, row: &ThreadRow, why: Why) -> Result<bool, Refused> {
        let Ground { store, running, .. } = &self.ground;
        let key = (space.clone(), row.thread.clone());
        if running.stop(&key, why) {
            return Ok(true);
        }
        if row.woken <= row.handled || row.status.is_final() {
            return Ok(false);
        }
        if !store.is_shared() {
            return Ok(running.cancel(&key, row.head));
        }
        let turn = row.turn_at_hand();
        let cancel = match why {
            Why::CancelWithAbove => Draft::cancel_with_above(&row.thread, turn),
            _ => Draft::cancel(&row.thread, turn),
        };
        store.append(Append::free(space, vec![cancel])).await?;
        Ok(true)
    }

    /// Returns the outcomes of this server's calls of a submodule.
    pub fn heard(&self, space: &Space, name: &Name) -> Heard {
        self.ground.mind.tally.heard(space, name)
    }

    /// Returns whether something in the mailbox ends the thread's wait, if it waits at all.
    async fn is_awaited(&self, space: &Space, row: &ThreadRow) -> Result<bool, StoreError> {
        let waiting = row.state.waiting.as_ref();
        let Some(waiting) = waiting.filter(|waiting| waiting.from.is_some()) else {
            return Ok(true);
        };
        if row.status == Status::Thinking {
            return Ok(true);
        }
        let mut awaited = false;
        each_after(&*self.ground.store, space, row, Show::Visible, |event| {
            if row.is_settled(event.seq) {
                return true;
            }
            let gather = event
                .part()
                .and_then(|part| row.state.gathers.get(&part.id));
            awaited |= event.waking().is_some_and(|waking| waiting.admits(&waking))
                || gather.is_some_and(Gather::is_ready);
            !awaited
        })
        .await?;
        Ok(awaited)
    }

    /// Lets the thread sleep on: the mailbox does not have the input that it waits for. If
    /// something came meanwhile, it is looked at again.
    async fn wait_on(&self, row: &ThreadRow, fence: Fence) -> Result<Looked, StoreError> {
        let Ground {
            store,
            running,
            options,
            ..
        } = &self.ground;
        let key = (fence.space.clone(), row.thread.clone());
        let wait = set::Wait {
            waiting: row.state.waiting.clone(),
            seen: Some(row.head),
        };
        let draft = Draft::set(&row.thread, row.thread.as_str(), Change::Wait(wait));
        let writer = TurnWriter::new(store.clone(), fence, None);
        let slept = looked(writer.close(vec![draft]).await.map(|_| Status::Waiting))?;
        let queued = running.queued(&key.0, row, options.queue_max).await?;
        running.show(&key, Status::Waiting, queued).await;
        Ok(slept)
    }

    async fn take_turn(&self, claim: Claim) -> Result<Looked, StoreError> {
        let Claim {
            row,
            fence,
            stop,
            prepared,
            attempts,
        } = claim;
        let row = &row;
        let space = fence.space.clone();
        let thread = row.thread.clone();
        let settings = Settings::of(&row.settings);
        let mut submodules = prepared.submodules;
        submodules.retain(|submodule| settings.hears(&submodule.name));
        let mut settled = Settled {
            news: true,
            ..Settled::default()
        };
        let Ground {
            store,
            mind,
            options,
            quotas,
            ..
        } = &self.ground;
        let budget = &options.budget;
        let options = &options.turn;
        let (mut turn, offered, opening, batch, purse) =
            match self.open_turn(&fence.space, row, &settings).await? {
                Some((turn, offered)) => (
                    turn,
                    offered,
                    None,
                    Vec::new(),
                    quotas.open(&space, &thread, row.state.root, false),
                ),
                None if row.status.is_final() => return Ok(Looked::Nothing),
                None => {
                    let number = row.turn + 1;
                    let batch = self.batch(&fence.space, row, number).await?;
                    if goes_on(&batch.events) {
                        submodules.clear();
                    }
                    let names = submodules.iter().map(|submodule| submodule.name.clone());
                    let names: Vec<Name> = names.collect();
                    let seqs: Vec<Seq> = batch.events.iter().map(|event| event.seq).collect();
                    let opening = opening(row, (&settings, options), number, &seqs, &names);
                    settled = self.settle(&fence.space, row, number, &batch).await?;
                    // What is slept through has its turn later, and what it may cost is whole until then.
                    let root = match settled.news {
                        true => root(row, &batch.events),
                        false => row.state.root,
                    };
                    let is_new = attempts.are_none() && is_unused(row, root, &seqs);
                    let purse = quotas.open(&space, &thread, root, is_new);
                    let granted = batch.events.iter().filter_map(Granted::by).collect();
                    let granted = self.not_run(&space, row, granted).await?;
                    let recalls = mind.recalling.is_on() && batch.events.iter().any(asks);
                    let turn =
                        Turn::new(number, seqs, names, options, budget).for_thread(&settings);
                    let of_thought = batch.events.first().is_some_and(Event::is_thought);
                    let turn = turn.granting(granted).recalling(recalls);
                    let mut turn = turn.of_thought(of_thought);
                    batch.cancel.iter().for_each(|event| turn.apply(event));
                    let offered = batch.events.iter().rev().find_map(offered);
                    (turn, offered, Some(opening), batch.events, purse)
                }
            };
        let place = TurnPlace {
            space,
            thread,
            turn: turn.number(),
            purse,
        };
        let key = (place.space.clone(), place.thread.clone());
        let up_to = turn.up_to();
        self.ground.running.takes(&key, up_to);
        let begins = opening.is_some();
        let writer = TurnWriter::new(store.clone(), fence, opening);
        let writer = Arc::new(writer.rooted(place.purse.root()));
        let end = End {
            writer: &writer,
            place: &place,
            up_to,
        };
        if !settled.news {
            // What the thread does not wait for waits on.
            let up_to = match batch.as_slice() {
                // All that waited was taken back.
                [] => row.woken,
                batch if batch.iter().any(Event::wakes) => row.handled,
                _ => up_to,
            };
            let end = End { up_to, ..end };
            return looked(self.slept_through(end, row, settled.drafts).await);
        }
        let self_messages = budget.self_messages;
        if begins
            && batch.iter().all(Event::is_from_itself)
            && u64::from(row.self_messages) > self_messages
        {
            let failure = talks_to_itself(self_messages);
            return looked(self.fall_silent(end, &failure, Vec::new()).await);
        }
        if begins {
            place.purse.read().await?;
            if let Some(spent) = place.purse.spent() {
                // What came back and whose time was up is settled nonetheless: nothing would come to tell of it again.
                return looked(self.fall_silent(end, &spent, settled.drafts).await);
            }
        }
        if attempts.are_used_up() {
            return looked(self.fall_silent(end, &given_up(), Vec::new()).await);
        }
        if begins && row.state.archived {
            settled
                .drafts
                .extend(Draft::resumed(&place.thread, row.parent().as_ref()));
        }
        let client = self.client_tools(&place.space, offered, &settings).await?;
        let client = client.unwrap_or_else(|failure| {
            let thread = &place.thread;
            let turn = Some(place.turn);
            let told = Draft::failure(thread, turn, &Who::Core, &failure);
            settled.drafts.push(told);
            None
        });
        if !settled.drafts.is_empty() {
            // Before a model is asked: it is to be told.
            match writer.write(settled.drafts).await {
                Ok(stored) => stored.iter().for_each(|shown| {
                    turn.apply(&shown.event);
                    place.purse.stored(&shown.event, &place.thread);
                    self.tell(&place.space, &shown.event);
                }),
                Err(lost) => return looked(Err(lost)),
            }
        }
        let driver = Driver {
            mind: mind.clone(),
            writer: writer.clone(),
            place: place.clone(),
            turn,
            submodules,
            settings,
            client,
            offered_at: 0,
            parent: row.parent(),
            stop,
            status: Status::Idle,
            mood: row.state.mood.unwrap_or_default(),
            points: row.state.points,
            mail: Mail::default(),
        };
        let run = mind.processors.of(&place.space, driver.run());
        looked(match tokio::spawn(run).await {
            Ok(ended) => ended.and_then(|ended| ended.ok_or(Lost::Stale)),
            Err(broke) => {
                let failure = broke_down(&broke.to_string());
                self.fall_silent(end, &failure, Vec::new()).await
            }
        })
    }

    /// A turn in which there was nothing to think about: a step has ended, and the next has begun.
    async fn slept_through(
        &self,
        end: End<'_>,
        row: &ThreadRow,
        mut drafts: Vec<Draft>,
    ) -> Result<Status, Lost> {
        let waiting = row.state.waiting.as_ref();
        let ended = Ended {
            turn: end.place.turn,
            outcome: Some(TurnOutcome::Done),
            handled: Some(end.up_to),
            wait: waiting.cloned(),
            seen: Some(row.head),
            mood: None,
        };
        // The turn's beginning ended the limit of the wait that goes on.
        drafts.extend(waiting.and_then(|waiting| Draft::wait_limit(&row.thread, waiting, now())));
        drafts.push(Fact::TurnEnded(ended).encode(&end.place.thread));
        self.close(end, drafts).await?;
        Ok(match waiting {
            Some(_) => Status::Waiting,
            None => Status::Idle,
        })
    }

    /// Passes a stored event on, so that the work that it asks of others is done.
    fn tell(&self, space: &Space, event: &Event) {
        (self.ground.mind.on_stored)(space, event);
    }
}
