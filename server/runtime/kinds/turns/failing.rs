//! Turns that fail: visibly, and so that the thread waits, instead of failing again.

use serde_json::json;

use super::Turns;
use crate::event::draft::Draft;
use crate::event::envelope::{Event, TurnOutcome};
use crate::event::process::Waiting;
use crate::log::error::StoreError;
use crate::log::status::Status;
use crate::log::thread_row::ThreadRow;
use crate::mind::call::TurnPlace;
use crate::mind::turn::{stuck, why};
use crate::mind::turn_writer::{Lost, TurnWriter};
use crate::runtime::work::{Looked, looked};
use crate::thread::settings::Settings;
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::id::{Seq, Space, ThreadId};

impl Turns {
    /// A panic in a turn is contained: it becomes a failure, and the thread goes on with what comes next.
    pub(super) async fn broke(
        &self,
        writer: &TurnWriter,
        place: &TurnPlace,
        up_to: Seq,
        why: &str,
    ) -> Result<Option<Status>, Lost> {
        let failure = Failure::new(FailureKind::Internal, format!("the turn broke down: {why}"));
        self.fall_silent(writer, place, up_to, &failure, Vec::new())
            .await
            .map(Some)
    }

    pub(super) fn talks_to_itself(&self, row: &ThreadRow, batch: &[Event]) -> bool {
        batch.iter().all(Event::is_from_itself)
            && u64::from(row.self_messages) > self.options.budget.self_messages
    }

    /// Ends a chain of messages to itself, visibly.
    pub(super) async fn silence(
        &self,
        writer: &TurnWriter,
        place: &TurnPlace,
        up_to: Seq,
    ) -> Result<Looked, StoreError> {
        let limit = self.options.budget.self_messages;
        let text = format!(
            "the thread has sent itself more than {limit} messages in a row (budget.self_messages); it waits for something from outside"
        );
        let failure = Failure::new(FailureKind::Budget, text)
            .with(json!({ "limit": limit, "key": "budget.self_messages" }));
        self.fail(writer, place, up_to, &failure).await
    }

    /// Ends a turn that the store does not take, visibly.
    pub(super) async fn give_up(
        &self,
        writer: &TurnWriter,
        place: &TurnPlace,
        up_to: Seq,
    ) -> Result<Looked, StoreError> {
        let text = "the turn is given up: the log did not take what it led to, and would not if models were asked again";
        self.fail(
            writer,
            place,
            up_to,
            &Failure::new(FailureKind::Store, text),
        )
        .await
    }

    pub(super) async fn fail(
        &self,
        writer: &TurnWriter,
        place: &TurnPlace,
        up_to: Seq,
        failure: &Failure,
    ) -> Result<Looked, StoreError> {
        looked(
            self.fall_silent(writer, place, up_to, failure, Vec::new())
                .await,
        )
    }

    /// The turn fails, and the thread waits for whoever comes: it would only fail again. Those who depend on it are told.
    pub(super) async fn fall_silent(
        &self,
        writer: &TurnWriter,
        place: &TurnPlace,
        up_to: Seq,
        failure: &Failure,
        mut drafts: Vec<Draft>,
    ) -> Result<Status, Lost> {
        let TurnPlace {
            space,
            thread,
            turn,
            ..
        } = place;
        drafts.extend(self.left_behind(space, thread).await?);
        drafts.push(Draft::failure(thread, Some(*turn), &Who::Core, failure));
        drafts.extend(stuck(&self.store, space, thread, &failure.text).await?);
        let waiting = Waiting {
            reason: Some(failure.text.clone()),
            ..Waiting::for_anybody()
        };
        let ended = Draft::turn_ended(thread, *turn, TurnOutcome::Failed, up_to);
        drafts.push(ended.with("wait", serde_json::to_value(waiting).unwrap_or_default()));
        let stored = writer.close(drafts).await?;
        stored
            .iter()
            .for_each(|shown| self.tell(space, &shown.event));
        Ok(Status::Waiting)
    }

    /// The results of the calls that a turn which fails has begun.
    async fn left_behind(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<Vec<Draft>, StoreError> {
        let Some(row) = self.store.thread(space, thread).await? else {
            return Ok(Vec::new());
        };
        let settings = Settings::of(&row.settings);
        let Some(turn) = self.open_turn(space, &row, &settings).await? else {
            return Ok(Vec::new());
        };
        let tools = self.mind.tools.of(&settings);
        tools.prepare(space).await?;
        Ok(turn.cut_off(thread, &tools.now(space), why(TurnOutcome::Failed)))
    }
}
