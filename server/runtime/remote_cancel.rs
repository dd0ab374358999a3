//! Remote cancel: events that other servers store about a thread stop its work here: a cancel, the
//! end of the thread, input that interrupts, input that is taken back before anything of its turn is
//! stored. A request to this server stops the work directly.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::run::{RunFact, RunNews};
use thinkd_log::error::StoreError;
use thinkd_log::feed::{Follower, Tail};
use thinkd_log::kernel::Store;
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::shown::Shown;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::stop::{Stop, Why};
use thinkd_thread::settings::{Policy, Settings};
use thinkd_words::id::{Seq, Space};

/// Events looked at, or read, at a time.
const STEP: u32 = 64;
/// Rest when the log cannot be read.
const REST: Duration = Duration::from_secs(1);

/// See the module.
pub struct RemoteCancel {
    /// The store, which other servers write to, too.
    pub store: Arc<dyn Store>,
    /// The effect of input on a running turn, where the thread does not say.
    pub policy: Policy,
}

impl RemoteCancel {
    /// Stops work when the log says so. `told` follows the thread since before its row was read.
    pub async fn stop(
        &self,
        space: &Space,
        row: &ThreadRow,
        mut told: Follower,
        stop: &Stop,
    ) -> Infallible {
        let policy = Settings::of(&row.settings).policy.unwrap_or(self.policy);
        let mut seen = row.head;
        loop {
            match self.since(space, row, &told, seen).await {
                Ok(events) if events.is_empty() => told.changed().await,
                Ok(events) => {
                    for shown in events {
                        seen = shown.event.seq;
                        if let Some(why) = reason(&shown.event, row, policy) {
                            stop.stop(why);
                        }
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, %space, thread = %row.thread, "what other servers say of the turn cannot be read");
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }

    async fn since(
        &self,
        space: &Space,
        row: &ThreadRow,
        told: &Follower,
        seen: Seq,
    ) -> Result<Vec<Arc<Shown>>, StoreError> {
        if let Tail::Events(events) = told.after(seen, STEP as usize) {
            return Ok(events);
        }
        let query = Query {
            thread: Some(row.thread.clone()),
            after: Some(seen),
            show: Show::Public,
            order: Order::Ascending,
            limit: STEP,
            ..Query::default()
        };
        let events = self.store.events(space, &query).await?;
        // The text is not asked for here.
        let shown = |event| {
            Arc::new(Shown {
                event,
                json: "".into(),
            })
        };
        Ok(events.into_iter().map(shown).collect())
    }
}

/// Returns why the turn at hand must stop, if the event says so.
fn reason(event: &Event, row: &ThreadRow, policy: Policy) -> Option<Why> {
    if event.thread != row.thread {
        return None;
    }
    let what = match event.fact() {
        Fact::Run(RunFact { what, .. }) => Some(what),
        _ => None,
    };
    if matches!(what, Some(RunNews::Paused { .. })) {
        return Some(Why::Leave);
    }
    let cancels_run = matches!(what, Some(RunNews::Cancel { .. }));
    if let Fact::TurnCancel(cancel) = event.fact()
        && cancel.with_above
        && cancel.turn == row.turn_at_hand()
    {
        return Some(Why::CancelWithAbove);
    }
    if cancels_run || event.cancels(row.turn_at_hand()) || event.ends_thread() {
        return Some(Why::Cancel);
    }
    // The turn about it cannot be stored any more: the thread goes on with what else waits.
    if let Fact::Withdrawn(taken) = event.fact()
        && row.status != Status::Thinking
        && taken.input <= row.head
        && row.waits(taken.input)
    {
        return Some(Why::Interrupt);
    }
    // What people say to a mission is what it waits for.
    let own = match event.fact() {
        Fact::Input(input) => input.policy.and_then(Policy::parse),
        _ => None,
    };
    let policy = own.unwrap_or(policy);
    let interrupts = policy == Policy::Interrupt && row.thread.mission().is_none();
    (interrupts && event.wakes() && event.is_from_outside()).then_some(Why::Interrupt)
}
