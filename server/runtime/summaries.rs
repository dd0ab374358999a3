//! Summaries as a kind of work: events that leave the view of a conversation's decision are summed
//! up beside it. That is done under a lease of the space's own, so that no reply waits for it. The
//! thread of the summaries has no mailbox: due summaries wake it. Each call leaves its record in
//! the conversation, with its summary. A summary that fails is given up until more has left the
//! view.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;
use uuid::Uuid;

use crate::append::append_told;
use crate::ground::Ground;
use crate::mailbox::each_after;
use crate::refused::Refused;
use crate::work::{Claim, Looked, Work, looked};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::summary::{Summaries as Said, Summary};
use thinkd_log::error::StoreError;
use thinkd_log::query::Show;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::call::{Ended, Summing, TurnPlace, Until};
use thinkd_mind::turn::stop::Stop;
use thinkd_mind::turn_writer::{Lost, TurnWriter};
use thinkd_model::provider::Answer;
use thinkd_tasks::lock::lock;
use thinkd_tasks::share::Place;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{self, Seq, Space, ThreadId};

/// Conversations of a space that are summed up at a time.
const AT_ONCE: usize = 4;
/// Most summaries of one conversation that are made in one go; the rest is due with its next turn.
const STEPS_MAX: usize = 24;
/// So often is a model asked for a summary.
const TRIES: u32 = 3;
/// Pause between a failed call and the next one; four times as long after each.
const PAUSE: Duration = Duration::from_millis(250);
/// Conversations with a known last request; with more, an append finds it out.
const ASKED_MAX: usize = 4096;

/// See the module; cheap to clone.
#[derive(Clone)]
pub struct Summaries {
    ground: Ground,
    // A plain mutex: held for a look, never across an await.
    asked: Arc<Mutex<HashMap<(Space, ThreadId), Uuid>>>,
}

#[async_trait]
impl Work for Summaries {
    fn owns(&self, thread: &ThreadId) -> bool {
        thread.is_of_summaries()
    }

    async fn place(&self, _: &Space, _: &ThreadId) -> Option<Place> {
        None
    }

    /// Returns false: it ends by itself, as its calls have limits. The turn of a conversation is
    /// cancelled without it.
    async fn cancel(&self, _: &Space, _: &ThreadRow, _: Option<&str>) -> Result<bool, Refused> {
        Ok(false)
    }

    fn is_whole_thread(&self) -> bool {
        true
    }

    /// After each turn of a conversation it is looked whether its view is about to lose something.
    fn sees(&self, space: &Space, event: &Event) {
        let ends_turn = matches!(event.fact(), Fact::TurnEnded(_)) && !event.thread.is_of_runs();
        if !ends_turn || !self.ground.mind.client.sums_up() {
            return;
        }
        let this = self.clone();
        let space = space.clone();
        let thread = event.thread.clone();
        self.ground.mind.beside.spawn(async move {
            if let Err(error) = this.ask(&space, &thread).await {
                tracing::warn!(%space, %thread, %error, "it was not looked whether there is something to sum up; it is after the next turn");
            }
        });
    }

    async fn work(&self, claim: Claim) -> Result<Looked, StoreError> {
        let Claim {
            row, fence, stop, ..
        } = claim;
        let space = fence.space.clone();
        let writer = TurnWriter::new(self.ground.store.clone(), fence, None);
        let (due, seen) = self.due(&space, &row).await?;
        let one = |(thread, target): (ThreadId, u64)| {
            let space = &space;
            let writer = &writer;
            let stop = &stop;
            async move { self.sum_up(space, &thread, target, writer, stop).await }
        };
        let all = stream::iter(due).map(one).buffered(AT_ONCE);
        if let Err(lost) = all.try_collect::<()>().await {
            return looked(Err(lost));
        }
        let rested = Said::Rested(seen).encode(&row.thread);
        looked(writer.close(vec![rested]).await.map(|_| Status::Idle))
    }
}

impl Summaries {
    /// Returns the summaries of this server.
    pub fn new(ground: &Ground) -> Self {
        Self {
            ground: ground.clone(),
            asked: Arc::default(),
        }
    }

    /// Returns the conversation's place. The event from outside that its last turn goes back to
    /// pays.
    fn place(&self, space: &Space, row: &ThreadRow) -> TurnPlace {
        let thread = &row.thread;
        let root = row.state.root;
        let purse = self.ground.quotas.open(space, thread, root, false);
        TurnPlace {
            space: space.clone(),
            thread: thread.clone(),
            turn: 0,
            purse,
        }
    }

    /// Asks for the due summaries of a conversation, once for the same.
    async fn ask(&self, space: &Space, thread: &ThreadId) -> Result<(), StoreError> {
        let Ground {
            store, mind, waker, ..
        } = &self.ground;
        let Some(row) = store.thread_lately(space, thread).await? else {
            return Ok(());
        };
        let place = self.place(space, &row);
        let Some(due) = mind.client.to_sum_up(&place, &row).await? else {
            return Ok(());
        };
        let id = id::about(&format!(
            "summaries of {thread} from {:?} to {}",
            due.from, due.target
        ));
        let key = (space.clone(), thread.clone());
        {
            let mut asked = lock(&self.asked);
            if asked.len() >= ASKED_MAX {
                asked.clear();
            }
            if asked.insert(key, id) == Some(id) {
                return Ok(());
            }
        }
        let said = Said::Due {
            thread: thread.clone(),
            target: due.target,
        };
        let draft = said.encode(&ThreadId::of_summaries()).with_id(id);
        let on_stored = waker.on_stored();
        let appended = append_told(&**store, &on_stored, space, vec![draft]);
        appended.await.map(drop)
    }

    /// Returns the first events that are due, by conversation; and the last event of its own that
    /// says so.
    async fn due(
        &self,
        space: &Space,
        row: &ThreadRow,
    ) -> Result<(BTreeMap<ThreadId, u64>, Seq), StoreError> {
        let mut due = BTreeMap::new();
        let seen = each_after(&*self.ground.store, space, row, Show::Public, |event| {
            if let Fact::Summaries(Said::Due { thread, target }) = event.fact() {
                let most: &mut u64 = due.entry(thread).or_default();
                *most = target.max(*most);
            }
            true
        })
        .await?;
        Ok((due, seen.min(row.woken)))
    }

    /// Sums up the first events of a conversation, piece by piece, and joins summaries that have
    /// become too many.
    async fn sum_up(
        &self,
        space: &Space,
        thread: &ThreadId,
        target: u64,
        writer: &TurnWriter,
        stop: &Stop,
    ) -> Result<(), Lost> {
        for _ in 0..STEPS_MAX {
            let row = self.ground.store.thread(space, thread).await?;
            let Some(row) = row.filter(|row| !row.status.is_final()) else {
                return Ok(());
            };
            let place = self.place(space, &row);
            let Some(summing) = self
                .ground
                .mind
                .client
                .summing(&place, &row, target)
                .await?
            else {
                return Ok(());
            };
            if !self.make(&place, &summing, writer, stop).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Makes one summary, or finds that its piece has to be smaller. False: it was given up, which
    /// is said.
    async fn make(
        &self,
        place: &TurnPlace,
        summing: &Summing,
        writer: &TurnWriter,
        stop: &Stop,
    ) -> Result<bool, Lost> {
        let mind = &self.ground.mind;
        let mut pause = PAUSE;
        for attempt in 1..=TRIES {
            let view = &summing.view;
            let question = &summing.question;
            let ready = mind.client.prepare(place, view, question).await?;
            let until = Until::ms(mind.options.decision_timeout_ms);
            let ended = mind.client.ask(&ready, until, stop.token(), |_| {}).await;
            let id = id::fresh();
            let record = ready.record(place, &ended, json!({})).with_id(id);
            let record = record.rooted(place.purse.root());
            let failure = match &ended {
                Ended::Stopped => return Err(Lost::Stale),
                Ended::Failed(failure) => failure.clone(),
                Ended::Answered(answer) => match said(answer, summing.chars) {
                    Ok(text) => {
                        let summary = Summary {
                            text,
                            covers: summing.covers.clone(),
                            joins: summing.joins.clone(),
                            call: id,
                        };
                        let summary = summary.encode(&place.thread);
                        writer.write(vec![record, summary]).await?;
                        return Ok(true);
                    }
                    Err(failure) => failure,
                },
            };
            if failure.is_too_long() && mind.client.halves_pieces(place, summing) {
                writer.write(vec![record]).await?;
                return Ok(true);
            }
            if attempt == TRIES || !failure.retryable {
                let given_up = given_up(place, summing, failure);
                writer.write(vec![record, given_up]).await?;
                return Ok(false);
            }
            writer.write(vec![record]).await?;
            tokio::select! {
                _ = stop.stopped() => return Err(Lost::Stale),
                () = tokio::time::sleep(pause) => pause *= 4,
            }
        }
        Ok(false)
    }
}

/// Returns the summary that an answer is, if it is one.
fn said(answer: &Answer, chars: usize) -> Result<&str, Failure> {
    let text = answer.whole_words()?.trim();
    let count = text.chars().count();
    let wrong = |what: String| Err(Failure::new(FailureKind::Model, what).retryable());
    match count {
        0 => wrong("the model answered nothing where a summary was asked for".into()),
        _ if count > chars => wrong(format!(
            "a summary has at most {chars} characters; this one has {count}"
        )),
        _ => Ok(text),
    }
}

/// Returns the event of a summary that was given up: the view names the events left out, as it does
/// without summaries.
fn given_up(place: &TurnPlace, summing: &Summing, failure: Failure) -> Draft {
    let thread = &place.thread;
    let covers = &summing.covers;
    let text = format!(
        "events #{} to #{} of {thread} were not summed up; it is tried again when more has left the view of its decision: {}",
        covers.from, covers.to, failure.text
    );
    let detail =
        json!({ "thread": thread, "from": covers.from, "to": covers.to, "cause": failure.detail });
    let failure = Failure { text, ..failure }.with(detail);
    Draft::failure(&ThreadId::of_summaries(), None, &Who::Summary, &failure)
}
