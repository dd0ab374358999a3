//! Turns that fail: visibly, and so that the thread waits, instead of failing again.

use serde_json::json;

use super::Turns;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::TurnOutcome;
use thinkd_event::process::Waiting;
use thinkd_log::error::StoreError;
use thinkd_log::status::Status;
use thinkd_mind::call::TurnPlace;
use thinkd_mind::turn::{stuck, why};
use thinkd_mind::turn_writer::{Lost, TurnWriter};
use thinkd_thread::settings::Settings;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{Seq, Space, ThreadId};

/// A turn at its end.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    pub writer: &'a TurnWriter,
    pub place: &'a TurnPlace,
    /// The last event that it has handled.
    pub up_to: Seq,
}

/// Returns the failure of a turn that panicked: the panic is contained, and the thread goes on with
/// the next input.
pub(super) fn broke_down(why: &str) -> Failure {
    Failure::new(FailureKind::Internal, format!("the turn broke down: {why}"))
}

/// Returns the failure that ends a chain of messages to itself.
pub(super) fn talks_to_itself(limit: u64) -> Failure {
    let text = format!(
        "the thread has sent itself more than {limit} messages in a row (budget.self_messages); it waits for something from outside"
    );
    Failure::new(FailureKind::Budget, text)
        .with(json!({ "limit": limit, "key": "budget.self_messages" }))
}

/// Returns the failure of a turn that the store does not take.
pub(super) fn given_up() -> Failure {
    let text = "the turn is given up: the log did not take what it led to, and would not if models were asked again";
    Failure::new(FailureKind::Store, text)
}

impl Turns {
    /// Fails the turn, and lets the thread wait for any input: it would only fail again. The
    /// threads that depend on it are told.
    pub(super) async fn fall_silent(
        &self,
        end: End<'_>,
        failure: &Failure,
        mut drafts: Vec<Draft>,
    ) -> Result<Status, Lost> {
        let TurnPlace {
            space,
            thread,
            turn,
            ..
        } = end.place;
        drafts.extend(self.left_behind(space, thread).await?);
        drafts.push(Draft::failure(thread, Some(*turn), &Who::Core, failure));
        drafts.extend(stuck(&self.ground.store, space, thread, &failure.text).await?);
        let waiting = Waiting {
            reason: Some(failure.text.clone()),
            ..Waiting::for_anybody()
        };
        let ended = Draft::turn_ended(thread, *turn, TurnOutcome::Failed, end.up_to);
        drafts.push(ended.with("wait", serde_json::to_value(waiting).unwrap_or_default()));
        self.close(end, drafts).await?;
        Ok(Status::Waiting)
    }

    /// Stores the last events of a turn, and sees to their requests to others.
    pub(super) async fn close(&self, end: End<'_>, drafts: Vec<Draft>) -> Result<(), Lost> {
        for shown in end.writer.close(drafts).await? {
            self.tell(&end.place.space, &shown.event);
        }
        Ok(())
    }

    /// Returns the results of the calls that a turn which fails has begun.
    async fn left_behind(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<Vec<Draft>, StoreError> {
        let Some(row) = self.ground.store.thread(space, thread).await? else {
            return Ok(Vec::new());
        };
        let settings = Settings::of(&row.settings);
        let Some((turn, _)) = self.open_turn(space, &row, &settings).await? else {
            return Ok(Vec::new());
        };
        let tools = self.ground.mind.tools.of(&settings);
        tools.prepare(space).await?;
        Ok(turn.cut_off(thread, &tools.now(space), why(TurnOutcome::Failed)))
    }
}
