//! Missions as a kind of work: a thread with the mission as its only turn. After a crash one server
//! takes it up again, as with runs of pipelines, and goes on where it was. The course of a mission
//! is in `missions/flow.rs`, its beginning and its end are here.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde_json::json;

use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::estimate::Records;
use thinkd_event::fact::run::{Held, RunKey, RunOutcome};
use thinkd_event::mission::Wanted;
use thinkd_log::appended::Append;
use thinkd_log::error::{StoreError, Stored};
use thinkd_log::query::{Query, Show};
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::stop::Why;
use thinkd_mind::turn_writer::{Lost, TurnWriter};
use thinkd_pipelines::ledger::{self, Ledger, Values};
use thinkd_pipelines::past::Past;
use thinkd_pipelines::registry;
use thinkd_runtime::ground::Ground;
use thinkd_runtime::mailbox::each_after;
use thinkd_runtime::refused::Refused;
use thinkd_runtime::work::{Claim, Looked, Work, looked};
use thinkd_tasks::share::{Place, Places};
use thinkd_tools::knowledge::Search;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{self, Space, ThreadId};

use super::board::{Board, Tasks};
use super::desk::{Asker, Desk, Parts};
use super::flow::mission;
use super::journal::Journal;
use super::journal::left;
use super::people::follow;
use super::reporting::what_there_is;
use super::resting::Rest;

/// Most times that a mission is taken up again: one that ends its server each time must not do so
/// for ever.
const RESUMES_MAX: u64 = 256;
/// Most events that are stored at once when a mission leaves tasks behind.
const LEFT_AT_ONCE: usize = 500;

/// See the module.
pub struct Missions {
    pub(super) ground: Ground,
    knowledge: Option<Arc<Search>>,
    places: Places,
}

#[async_trait]
impl Work for Missions {
    fn owns(&self, thread: &ThreadId) -> bool {
        thread.mission().is_some()
    }

    async fn place(&self, space: &Space, _: &ThreadId) -> Option<Place> {
        Some(self.places.take(space).await)
    }

    /// A mission is cancelled by an event, which the server heeds that works on it. One
    /// that has ended stays as it is.
    async fn cancel(
        &self,
        space: &Space,
        row: &ThreadRow,
        user: Option<&str>,
    ) -> Result<bool, Refused> {
        let thread = &row.thread;
        if row.status.is_final() || !thread.is_of_mission() {
            return Ok(false);
        }
        let ground = &self.ground;
        let cancel = key(thread)?.cancel(user);
        let append = Append::free(space, vec![cancel]);
        ground.store.append(append).await?;
        let running = (space.clone(), thread.clone());
        ground.running.stop(&running, Why::Cancel);
        ground.waker.wake(space, thread, None);
        Ok(true)
    }

    fn is_whole_thread(&self) -> bool {
        true
    }

    /// Wakes a mission that a tool began: it is stored with the other events of its turn.
    fn sees(&self, space: &Space, event: &Event) {
        if event.thread.is_of_mission() && event.begins_run().is_some() {
            self.ground.waker.wake(space, &event.thread, None);
        }
    }

    async fn work(&self, claim: Claim) -> Stored<Looked> {
        self.take_mission(claim).await
    }
}

/// Returns the run that a mission is.
pub(super) fn key(thread: &ThreadId) -> Result<RunKey, Refused> {
    let key = thread.mission().map(RunKey::of_mission);
    key.ok_or_else(|| Refused::NotFound(format!("mission {thread}")))
}

impl Missions {
    /// Returns missions of this server.
    pub fn new(ground: &Ground) -> Self {
        let options = &ground.options;
        let most = options.mission.at_once;
        let knowledge = &options.memory.knowledge;
        let is_there = knowledge.url.is_some();
        Self {
            places: Places::new("mission.at_once", most, options.space_share),
            knowledge: is_there.then(|| Arc::new(Search::new(knowledge))),
            ground: ground.clone(),
        }
    }

    /// Begins a mission. Returns its thread after the commit.
    pub async fn start(
        &self,
        space: &Space,
        wanted: Wanted,
        user: Option<&str>,
    ) -> Result<ThreadRow, Refused> {
        let key = RunKey::of_mission(id::announced());
        let started = key.started(&Held::Here(json!(wanted)), user);
        self.ground.begin(space, started, "mission").await?;
        let thread = key.thread();
        self.ground.waker.wake(space, &thread, None);
        self.ground.known_thread(space, &thread).await
    }

    /// Does a mission's turn: from where its log leaves off to its end, or until it is left.
    async fn take_mission(&self, claim: Claim) -> Stored<Looked> {
        let row = claim.row;
        let fence = claim.fence;
        let stop = claim.stop;
        let store = &self.ground.store;
        let space = fence.space.clone();
        // Followed first, then read: what people change is in one of the two.
        let follower = store.feed().follow(&space, Some(&row.thread));
        let mut past = Past::default();
        let mut root = None;
        let head = each_after(&**store, &space, &row, Show::Public, |event| {
            past.apply(&event);
            root.get_or_insert(event.seq);
            true
        })
        .await?;
        let (Some(root), Some((key, Held::Here(input)))) = (root, past.started.clone()) else {
            tracing::error!(thread = %row.thread, "a mission without a beginning is left alone");
            return Ok(Looked::Nothing);
        };
        let Ok(wanted) = serde_json::from_value::<Wanted>(input) else {
            tracing::error!(thread = %row.thread, "a mission whose beginning this build cannot read is left alone");
            return Ok(Looked::Nothing);
        };
        let tasks = store.tasks(&space, &row.thread, None, None).await?;
        let records = Records::of(&store.events(&space, &Query::of_verdicts()).await?);
        let writer = TurnWriter::new(store.clone(), fence, None);
        let writer = writer.rooted(Some(root)).caused(wanted.root);
        let values = Values {
            store: store.clone(),
            space: space.clone(),
            event_bytes: self.ground.options.tool_limits.output_bytes,
        };
        let limits = registry::Limits::default();
        let ledger = Ledger::new(key.clone(), writer, values, limits, &past);
        let quotas = &self.ground.quotas;
        let budget = &wanted.budget;
        let asker = Asker {
            purse: quotas.of_mission(&space, root, wanted.root, budget),
            stop: stop.token().clone(),
            window: AtomicUsize::new(self.ground.mind.client.view_bytes()),
            spent: OnceLock::new(),
        };
        let desk = Arc::new(Parts {
            ground: self.ground.clone(),
            knowledge: self.knowledge.clone(),
            space,
            journal: Journal {
                ledger: ledger.clone(),
                mission: row.thread.clone(),
            },
            row,
            wanted,
            asker,
            tasks: Tasks::new(Board::of(tasks), self.ground.options.mission.width),
            records: Mutex::new(records),
            rest: Rest::default(),
        });
        if claim.attempts.are_used_up() {
            let text = "the mission is given up: the log did not take what it led to, and would not another time";
            let failure = Failure::new(FailureKind::Store, text);
            return looked(close(&key, &desk, RunOutcome::Failed(failure)).await);
        }
        let outcome = tokio::select! {
            // What ends a mission from outside must not look like its own end.
            biased;
            why = stop.stopped() => match why {
                Why::Leave | Why::Interrupt => return looked(Err(Lost::Stale)),
                Why::Cancel | Why::CancelWithAbove => RunOutcome::Cancelled,
            },
            lost = ledger.lost() => return looked(Err(lost)),
            stands = desk.rest.all_wait_for_people() => return park(&key, &desk, stands).await,
            never = follow(&desk, follower, head) => match never {},
            outcome = work(&key, &past, &desk) => outcome,
        };
        looked(close(&key, &desk, outcome).await)
    }
}

/// Gives the lease back until people have said something, unless they have meanwhile.
async fn park(key: &RunKey, desk: &Desk, stands: Vec<Condition>) -> Stored<Looked> {
    let parked = stands.into_iter().fold(key.parked(), Draft::only_if);
    match desk.journal.ledger.close(vec![parked]).await {
        Ok(()) => Ok(Looked::Worked(Status::Waiting)),
        Err(Lost::Store(StoreError::Unmet(_))) => {
            let mission = &desk.journal.mission;
            desk.ground.waker.wake(&desk.space, mission, None);
            Ok(Looked::Nothing)
        }
        Err(lost) => looked(Err(lost)),
    }
}

/// Ends a mission: writes the ends of the tasks that it leaves behind, then the answer, and its own
/// end.
async fn close(key: &RunKey, desk: &Desk, outcome: RunOutcome) -> Result<Status, Lost> {
    let (status, why, answer) = match &outcome {
        RunOutcome::Done(Held::Here(done)) => (Status::Done, None, done["answer"].as_str()),
        RunOutcome::Done(_) => (Status::Done, None, None),
        RunOutcome::Failed(failure) => (Status::Failed, Some(failure.text.as_str()), None),
        RunOutcome::Cancelled => (Status::Stopped, Some("the mission was cancelled"), None),
    };
    let (left, counts, text) = {
        let board = desk.tasks.board();
        let left = why.map(|why| left(&key.thread, &board, why));
        let plain = || what_there_is(&board, why, |_| true);
        let text = answer.map_or_else(plain, str::to_owned);
        (left.unwrap_or_default(), board.counts(), text)
    };
    for some in left.chunks(LEFT_AT_ONCE) {
        desk.journal.ledger.say(some.to_vec()).await?;
    }
    let reply = (!text.is_empty()).then(|| Draft::answered(&key.thread, &text));
    let by = desk.wanted.by.as_ref();
    let told = by.map(|by| Draft::message(by, &key.thread, &text).rooted(desk.wanted.root));
    let ended = key.ended(&outcome, Some(counts));
    let last = reply.into_iter().chain(told).chain(ended).collect();
    desk.journal.ledger.close(last).await?;
    if let Some(by) = by {
        desk.ground.waker.wake(&desk.space, by, None);
    }
    let labels = [("outcome", outcome.as_str().to_owned())];
    metrics::counter!("thinkd_missions_total", &labels).increment(1);
    Ok(status)
}

/// Works on a mission until it has an outcome.
async fn work(key: &RunKey, past: &Past, desk: &Desk) -> RunOutcome {
    if past.cancel {
        return RunOutcome::Cancelled;
    }
    let failed = |kind, text: String| RunOutcome::Failed(Failure::new(kind, text));
    if past.resumed >= RESUMES_MAX {
        let text =
            format!("the mission was taken up again {RESUMES_MAX} times and never came to its end");
        return failed(FailureKind::Budget, text);
    }
    let ledger = &desk.journal.ledger;
    if past.begun {
        ledger.write(key.resumed(past.resumed + 1)).await;
    }
    let most = desk.wanted.budget.time_ms;
    let left = Duration::from_millis(most).saturating_sub(past.spent());
    let run = ledger.hooked_without_starts();
    let worked = AssertUnwindSafe(run.scope(mission(desk.clone()))).catch_unwind();
    match tokio::time::timeout(left, worked).await {
        Ok(Ok(Ok(Ok(answer)))) => RunOutcome::Done(Held::Here(json!({ "answer": answer }))),
        Ok(Ok(Ok(Err(failure)))) => RunOutcome::Failed(failure),
        Ok(Ok(Err(error))) => RunOutcome::Failed(ledger::failure(&error)),
        Ok(Err(_)) => {
            let text = "the mission met a defect of this server".to_owned();
            failed(FailureKind::Internal, text)
        }
        Err(_) => {
            let text = format!("the mission was worked on for its {most} ms");
            failed(FailureKind::Budget, text)
        }
    }
}
