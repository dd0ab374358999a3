//! A session waits for the outcome of an input or a run: it follows the thread until everything up
//! to it has had its turn.

use std::borrow::Cow;

use super::follow::{Follow, Seen};
use super::handle::{Acted, Session};
use thinkd_event::envelope::{Event, Modality, TurnOutcome, Visibility, tag};
use thinkd_event::fact::Fact;
use thinkd_event::fact::withdrawn::{self, Withdrawn};
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::thread_row::ThreadRow;
use thinkd_runtime::runs::LoggedRun;
use thinkd_words::id::{Seq, ThreadId};

/// The outcome of an input that was waited for.
#[derive(Default)]
pub struct Outcome {
    /// The answers.
    pub responses: Vec<Event>,
    /// The failures meanwhile.
    pub failures: Vec<Event>,
    /// The end of the turn that handled it; none: the thread has ended, and no turn came to it.
    pub turn: Option<TurnOutcome>,
    /// True if it was taken back, and no turn came to it.
    pub withdrawn: bool,
    /// The turn that it joined, if it joined one.
    joined: Option<u64>,
}

impl Outcome {
    /// Takes in an event of the thread that comes after the input at `seq`.
    fn take(&mut self, event: Cow<'_, Event>, seq: Seq) {
        if event.seq <= seq {
            return;
        }
        match event.fact() {
            Fact::TurnEnded(ended)
                if self.turn.is_none()
                    && (self.joined == Some(ended.turn)
                        || ended.handled.is_some_and(|handled| handled >= seq)) =>
            {
                // What was interrupted is gone on with by the next turn.
                self.turn = ended
                    .outcome
                    .filter(|outcome| *outcome != TurnOutcome::Interrupted);
            }
            Fact::TurnSteered(steered) if steered.has(seq) => self.joined = Some(steered.turn),
            Fact::Withdrawn(Withdrawn { input, .. }) if input == seq => self.withdrawn = true,
            Fact::Reply(_) => self.responses.push(event.into_owned()),
            fact if fact.is_failure() => self.failures.push(event.into_owned()),
            _ => {}
        }
    }
}

impl Session {
    /// Follows a thread, to wait for the outcome of an input. Called before the input is stored, so
    /// that nothing is missed.
    pub async fn follow_outcome(&self, thread: &ThreadId) -> Acted<Follow> {
        let filter = Query {
            thread: Some(thread.clone()),
            show: Show::All,
            ..Query::default()
        };
        Ok(self.follow(filter, None).await?.0)
    }

    /// Waits until the thread has handled the input at `seq` and is idle. Returns its outcome, as
    /// it was told. Nothing is searched for, so nothing waits for the index. The thread's row is
    /// looked at only when its turn or itself may be over.
    pub async fn outcome(&self, thread: &ThreadId, seq: Seq, mut follow: Follow) -> Acted<Outcome> {
        let mut outcome = Outcome::default();
        let mut done = None;
        loop {
            let Seen::Events { events, .. } = follow.next().await? else {
                continue;
            };
            let mut turned = false;
            let mut last = 0;
            for told in &events {
                let event = told.event()?;
                last = event.seq;
                turned |= event.visibility() == Visibility::State;
                outcome.take(event, seq);
            }
            if done.is_none() && turned {
                let row = self.thread(thread).await?;
                done = row.filter(|row| is_over(row, seq)).map(|row| row.head);
            }
            // The row may know more than was told so far.
            if done.is_some_and(|head| last >= head) {
                return Ok(outcome);
            }
        }
    }

    /// Returns the same for an input that was stored before the following began: its outcome is
    /// read from the log.
    pub async fn past_outcome(
        &self,
        thread: &ThreadId,
        seq: Seq,
        follow: Follow,
    ) -> Acted<Outcome> {
        self.handled(thread, seq, follow).await?;
        let query = Query {
            thread: Some(thread.clone()),
            tags: vec![
                tag::RESPONSE.into(),
                tag::FAILURE.into(),
                tag::ENDED.into(),
                tag::STEERED.into(),
                withdrawn::TAG.into(),
            ],
            after: Some(seq),
            order: Order::Ascending,
            limit: 500,
            ..Query::default()
        };
        let mut outcome = Outcome::default();
        for event in self.events(&query).await? {
            outcome.take(Cow::Owned(event), seq);
        }
        Ok(outcome)
    }

    /// Waits until a run has come to its end.
    pub async fn run_ended(&self, run: &LoggedRun) -> Acted<()> {
        let thread = run.key.thread();
        let filter = Query {
            thread: Some(thread.clone()),
            modality: Some(Modality::State),
            show: Show::All,
            ..Query::default()
        };
        // Followed first, then looked at: an end that came before is seen, too.
        let follow = self.follow(filter, None).await?.0;
        self.handled(&thread, run.started.seq, follow).await
    }

    /// Waits until the thread has handled the event at `seq` and is idle, or has ended.
    async fn handled(&self, thread: &ThreadId, seq: Seq, mut follow: Follow) -> Acted<()> {
        let is_handled = |row: ThreadRow| is_over(&row, seq);
        while !self.thread(thread).await?.is_some_and(is_handled) {
            while let Seen::CaughtUp | Seen::Hint(_) = follow.next().await? {}
        }
        Ok(())
    }
}

fn is_over(row: &ThreadRow, seq: Seq) -> bool {
    row.status.is_final() || (row.handled >= seq && row.woken <= row.handled)
}
