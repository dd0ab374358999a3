//! Missions as a kind of work: a thread whose only turn is the mission. It is taken up again after a crash by one server, as runs of pipelines are, and
//! there goes on where it was. How a mission goes is `missions/flow.rs`; here is how one begins, and how it ends.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use unhurried::NodeExecutionError;

use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::estimate::{Records, VERDICTS};
use crate::event::fact::run::{Held, RunKey, RunOutcome};
use crate::event::fact::task::VERDICT;
use crate::event::mission::Wanted;
use crate::log::appended::{Append, Appended};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::query::{Query, Show};
use crate::log::status::Status;
use crate::log::thread_row::ThreadRow;
use crate::mind::turn::driver::Mind;
use crate::mind::turn::stop::Why;
use crate::mind::turn_writer::{Lost, TurnWriter};
use crate::pipelines::ledger::{self, Ledger, Values};
use crate::pipelines::past::Past;
use crate::pipelines::registry;
use crate::recall::finder::Recall;
use crate::runtime::ground::{Ground, Waker};
use crate::runtime::mailbox::each_after;
use crate::runtime::mission::Options;
use crate::runtime::options;
use crate::runtime::refused::{Refused, too_many_threads};
use crate::runtime::running::Running;
use crate::runtime::work::{Claim, Looked, Work, looked};
use crate::tasks::share::{Place, Places};
use crate::thread::quota::Quotas;
use crate::tools::approval::Rules;
use crate::tools::catalogue::mission_plan::MissionPlan;
use crate::tools::code::runner::Runner;
use crate::tools::gate::version_of;
use crate::tools::knowledge::Search;
use crate::tools::tool::Typed as _;
use crate::words::failure::{Failure, FailureKind};
use crate::words::id::{self, Seq, Space, ThreadId};
use board::Board;
use desk::Desk;
use resting::Rest;

mod agreeing;
mod approving;
mod asking;
mod board;
mod calling;
mod checking;
mod claiming;
mod closing;
mod desk;
mod editing;
mod fitting;
mod flow;
mod instructing;
mod making;
mod people;
mod planning;
mod reporting;
mod resting;
mod said;
mod sketching;
mod solving;
mod steps;
mod using;

/// How often a mission is taken up again: one that ends its server each time must not do so for ever.
const RESUMES_MAX: u64 = 256;
/// Most events that are stored at once when a mission leaves tasks behind.
const LEFT_AT_ONCE: usize = 500;

/// See the module.
pub struct Missions {
    store: Arc<dyn Store>,
    mind: Mind,
    options: Arc<options::Options>,
    quotas: Arc<Quotas>,
    running: Running,
    waker: Waker,
    code: Arc<Runner>,
    knowledge: Option<Arc<Search>>,
    recall: Arc<Recall>,
    approvals: Arc<Rules>,
    places: Places,
}

/// What the log has of a mission.
#[derive(Default)]
struct Begun {
    past: Past,
    /// The event that it began with.
    root: Seq,
    /// The last one that was read.
    head: Seq,
}

/// What the work on a mission came to.
enum CameTo {
    /// Its end, and its answer.
    End(RunOutcome, Option<String>),
    /// All of it waits for people, as long as this is so.
    Rest(Vec<Condition>),
}

#[async_trait]
impl Work for Missions {
    fn owns(&self, thread: &ThreadId) -> bool {
        thread.mission().is_some()
    }

    async fn place(&self, space: &Space, _: &ThreadId) -> Option<Place> {
        Some(self.places.take(space).await)
    }

    /// A mission is cancelled by an event, which the server heeds that works on it. One that has ended stays as it is.
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
        let key = key(thread).ok_or_else(|| Refused::NotFound(format!("mission {thread}")))?;
        self.store
            .append(Append::free(space, vec![key.cancel(user)]))
            .await?;
        self.running
            .stop(&(space.clone(), thread.clone()), Why::Cancel);
        self.waker.wake(space, thread, None);
        Ok(true)
    }

    fn is_whole_thread(&self) -> bool {
        true
    }

    /// A mission that a tool began is stored with what else its turn did.
    fn sees(&self, space: &Space, event: &Event) {
        if event.thread.is_of_mission() && event.begins_run().is_some() {
            self.waker.wake(space, &event.thread, None);
        }
    }

    async fn work(&self, claim: Claim) -> Result<Looked, StoreError> {
        self.take_mission(claim).await
    }
}

/// The run that a mission is.
fn key(thread: &ThreadId) -> Option<RunKey> {
    thread.mission().map(RunKey::of_mission)
}

impl Missions {
    /// Missions of this server.
    pub fn new(ground: &Ground) -> Self {
        let Ground {
            store,
            mind,
            options,
            quotas,
            running,
            waker,
            code,
            recall,
            approvals,
            ..
        } = ground.clone();
        let places = Places::new(
            "mission.at_once",
            options.mission.at_once,
            options.space_share,
        );
        let knowledge = options
            .memory
            .knowledge
            .url
            .is_some()
            .then(|| Arc::new(Search::new(&options.memory.knowledge)));
        Self {
            store,
            mind,
            options,
            quotas,
            running,
            waker,
            code,
            knowledge,
            recall,
            approvals,
            places,
        }
    }

    /// How missions go here.
    pub fn options(&self) -> &Options {
        &self.options.mission
    }

    /// Begins a mission. Returns its thread after the commit.
    pub async fn start(
        &self,
        space: &Space,
        wanted: Wanted,
        user: Option<&str>,
    ) -> Result<ThreadRow, Refused> {
        let key = RunKey::of_mission(id::announced());
        let thread = key.thread();
        let started = key
            .started(&Held::Here(json!(wanted)), user)
            .only_if(self.options.room_in_space());
        match self.store.append(Append::free(space, vec![started])).await {
            Ok(Appended::Stored(_)) => {}
            Ok(Appended::Stale) => {
                return Err(Refused::Unprocessable(
                    "the mission was dropped by the store".into(),
                ));
            }
            Err(StoreError::Unmet(_)) => {
                return Err(too_many_threads(self.options.tool_limits.threads));
            }
            Err(error) => return Err(error.into()),
        }
        self.waker.wake(space, &thread, None);
        let row = self.store.thread(space, &thread).await?;
        row.ok_or_else(|| Refused::NotFound(format!("thread {thread}")))
    }

    /// A mission's turn: from where its log leaves off to its end, or until it is left.
    async fn take_mission(
        &self,
        Claim {
            row,
            fence,
            stop,
            attempts,
            ..
        }: Claim,
    ) -> Result<Looked, StoreError> {
        // Followed first, then read: what people change is in one of the two.
        let follower = self.store.feed().follow(&fence.space, Some(&row.thread));
        let begun = self.begun(&fence.space, &row).await?;
        let Some((key, Held::Here(input))) = begun.past.started.clone() else {
            tracing::error!(thread = %row.thread, "a mission without a beginning is left alone");
            return Ok(Looked::Nothing);
        };
        let Ok(wanted) = serde_json::from_value::<Wanted>(input) else {
            tracing::error!(thread = %row.thread, "a mission whose beginning this build cannot read is left alone");
            return Ok(Looked::Nothing);
        };
        let space = fence.space.clone();
        let tasks = self.store.tasks(&space, &row.thread, None, None).await?;
        let verdicts = Query {
            tags: VERDICT.map(str::to_owned).into(),
            limit: VERDICTS,
            ..Query::default()
        };
        let records = Records::of(&self.store.events(&space, &verdicts).await?);
        let writer = TurnWriter::new(self.store.clone(), fence, None)
            .rooted(Some(begun.root))
            .caused(wanted.root);
        let event_bytes = self.options.tool_limits.output_bytes;
        let values = Values {
            store: self.store.clone(),
            space: space.clone(),
            event_bytes,
        };
        let ledger = Ledger::new(
            key.clone(),
            writer,
            values,
            registry::Limits::default(),
            &begun.past,
        );
        let options = self.options.mission.clone();
        let budget = &wanted.budget;
        let toolbox = self.mind.tools.mission.now(&space);
        let plan = toolbox.get(MissionPlan::NAME);
        let desk = Desk::new(desk::Parts {
            ledger: ledger.clone(),
            client: self.mind.client.clone(),
            tools: self.mind.tools.clone(),
            purse: self
                .quotas
                .of_mission(&space, begun.root, wanted.root, budget),
            space,
            row,
            places: Arc::new(Semaphore::new(options.width as usize)),
            options,
            code: self.code.clone(),
            knowledge: self.knowledge.clone(),
            recall: self.recall.clone(),
            frameworks_max: self.options.tool_limits.frameworks,
            claims_max: self.options.tool_limits.claims,
            answer_ms: self.mind.options.decision_timeout_ms,
            stop: stop.token().clone(),
            board: Mutex::new(Board::of(tasks)),
            records: Mutex::new(records),
            spent: OnceLock::new(),
            waker: self.waker.clone(),
            edits: watch::Sender::new(0),
            chosen: Mutex::default(),
            window: AtomicUsize::new(self.mind.client.view_bytes()),
            rest: Rest::default(),
            approvals: self.approvals.clone(),
            plan_version: plan.map(|tool| version_of(tool.spec())).unwrap_or_default(),
            event_bytes,
            wanted,
        });
        if attempts.are_used_up() {
            let text = "the mission is given up: the log did not take what it led to, and would not another time";
            let outcome = RunOutcome::Failed(Failure::new(FailureKind::Store, text));
            return looked(self.close(&key, &desk, &ledger, outcome, None).await);
        }
        let came_to = tokio::select! {
            // What ends a mission from outside must not look like its own end.
            biased;
            why = stop.stopped() => match why {
                Why::Leave | Why::Interrupt => Err(Lost::Stale),
                Why::Cancel => Ok(CameTo::End(RunOutcome::Cancelled, None)),
            },
            lost = ledger.lost() => Err(lost),
            stands = desk.rest().all_wait_for_people() => Ok(CameTo::Rest(stands)),
            never = desk.follow(follower, begun.head) => match never {},
            (outcome, answer) = work(&key, &begun.past, &desk, &ledger) => Ok(CameTo::End(outcome, answer)),
        };
        match came_to {
            Ok(CameTo::End(outcome, answer)) => {
                looked(self.close(&key, &desk, &ledger, outcome, answer).await)
            }
            Ok(CameTo::Rest(stands)) => self.park(&key, &desk, &ledger, stands).await,
            Err(lost) => looked(Err(lost)),
        }
    }

    /// Gives the lease back until people have said something, unless they have meanwhile.
    async fn park(
        &self,
        key: &RunKey,
        desk: &Desk,
        ledger: &Ledger,
        stands: Vec<Condition>,
    ) -> Result<Looked, StoreError> {
        match ledger
            .close(vec![stands.into_iter().fold(key.parked(), Draft::only_if)])
            .await
        {
            Ok(()) => Ok(Looked::Worked(Status::Waiting)),
            Err(Lost::Store(StoreError::Unmet(_))) => {
                self.waker.wake(desk.space(), desk.mission_thread(), None);
                Ok(Looked::Nothing)
            }
            Err(lost) => looked(Err(lost)),
        }
    }

    async fn begun(&self, space: &Space, row: &ThreadRow) -> Result<Begun, StoreError> {
        let mut begun = Begun::default();
        each_after(&*self.store, space, row, Show::Public, |event| {
            begun.past.apply(&event);
            if begun.root == 0 {
                begun.root = event.seq;
            }
            begun.head = event.seq;
            true
        })
        .await?;
        Ok(begun)
    }

    /// Ends a mission: what its tasks did not come to is said of each, then the answer, and the end.
    async fn close(
        &self,
        key: &RunKey,
        desk: &Desk,
        ledger: &Ledger,
        outcome: RunOutcome,
        answer: Option<String>,
    ) -> Result<Status, Lost> {
        let (status, why) = match &outcome {
            RunOutcome::Done(_) => (Status::Done, None),
            RunOutcome::Failed(failure) => (Status::Failed, Some(failure.text.clone())),
            RunOutcome::Cancelled => (
                Status::Stopped,
                Some("the mission was cancelled".to_owned()),
            ),
        };
        let (left, counts, text) = {
            let board = desk.board();
            let left = why
                .as_deref()
                .map_or_else(Vec::new, |why| closing::left(&key.thread, &board, why));
            (
                left,
                board.counts(),
                answer.unwrap_or_else(|| closing::what_there_is(&board, why.as_deref(), |_| true)),
            )
        };
        for some in left.chunks(LEFT_AT_ONCE) {
            ledger.say(some.to_vec()).await?;
        }
        let labels = [("outcome", outcome.as_str().to_owned())];
        let reply = (!text.is_empty()).then(|| Draft::answered(&key.thread, &text));
        let by = desk.wanted().by.as_ref();
        let told = by.map(|by| Draft::message(by, &key.thread, &text).rooted(desk.wanted().root));
        ledger
            .close(
                reply
                    .into_iter()
                    .chain(told)
                    .chain(key.ended(&outcome, Some(counts)))
                    .collect(),
            )
            .await?;
        by.into_iter()
            .for_each(|by| self.waker.wake(desk.space(), by, None));
        metrics::counter!("thinkd_missions_total", &labels).increment(1);
        Ok(status)
    }
}

/// Works on a mission until it has an outcome, and an answer if there is one.
async fn work(
    key: &RunKey,
    past: &Past,
    desk: &Desk,
    ledger: &Ledger,
) -> (RunOutcome, Option<String>) {
    let failed = |kind, text: String| (RunOutcome::Failed(Failure::new(kind, text)), None);
    if past.cancel {
        return (RunOutcome::Cancelled, None);
    }
    if past.resumed >= RESUMES_MAX {
        let text =
            format!("the mission was taken up again {RESUMES_MAX} times and never came to its end");
        return failed(FailureKind::Budget, text);
    }
    if past.begun {
        ledger.write(key.resumed(past.resumed + 1)).await;
    }
    let most = desk.wanted().budget.time_ms;
    let left = Duration::from_millis(most).saturating_sub(past.spent());
    let worked = AssertUnwindSafe(
        ledger
            .hooked_without_starts()
            .scope(flow::mission(desk.clone())),
    )
    .catch_unwind();
    match tokio::time::timeout(left, worked).await {
        Ok(Ok(Ok(outcome))) => done(outcome),
        Ok(Ok(Err(error))) => (RunOutcome::Failed(node_failed(&error)), None),
        Ok(Err(_)) => failed(
            FailureKind::Internal,
            "the mission met a defect of this server".into(),
        ),
        Err(_) => failed(
            FailureKind::Budget,
            format!("the mission was worked on for its {most} ms (mission.time_ms)"),
        ),
    }
}

fn done(outcome: flow::Outcome) -> (RunOutcome, Option<String>) {
    match outcome {
        flow::Outcome::Answer(answer) => (
            RunOutcome::Done(Held::Here(json!({ "answer": answer }))),
            Some(answer),
        ),
        flow::Outcome::Failed(failure) => (RunOutcome::Failed(failure), None),
    }
}

fn node_failed(error: &NodeExecutionError) -> Failure {
    ledger::failure(error)
}
