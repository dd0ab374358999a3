//! The closing of a turn carries out its intents: it delivers messages and changes contacts, and the thread goes on, waits or ends. All of it is
//! one append with the turn's end.

use std::sync::Arc;

use super::Turn;
use super::dependents::{out_of_reach, stuck};
use super::ends::{Below, ending};
use crate::event::draft::Draft;
use crate::event::envelope::TurnOutcome;
use crate::event::intent::Intent;
use crate::event::process::{Ending, ErrorCode, Waiting};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::status::Status;
use crate::mind::call::TurnPlace;
use crate::model::prompt::Prompts;
use crate::thread::settings::{Commit, Settings};
use crate::tools::contacts::contacts_after;
use crate::words::budget::Budget;
use crate::words::failure::{Who, self_messages};
use crate::words::id::ThreadId;
use crate::words::time::Timestamp;

/// See the module.
pub(super) struct Closing<'a> {
    pub store: &'a Arc<dyn Store>,
    pub prompts: &'a Prompts,
    pub place: &'a TurnPlace,
    pub settings: &'a Settings,
    pub budget: &'a Budget,
    pub now: Timestamp,
    /// The thread above.
    pub parent: Option<&'a ThreadId>,
}

impl Closing<'_> {
    /// The events that go with the turn's end, and for whom the thread waits then.
    pub async fn drafts(
        &self,
        turn: &Turn,
        outcome: TurnOutcome,
    ) -> Result<(Vec<Draft>, Option<Waiting>), StoreError> {
        if outcome != TurnOutcome::Done {
            return self.cut_short(turn, outcome).await;
        }
        let mut drafts = Vec::new();
        if self.settings.commit == Commit::Deferred {
            for intent in turn.intents() {
                self.carry_out(intent, &mut drafts).await?;
            }
        }
        let end = turn.intents().iter().find_map(|intent| match intent {
            Intent::Terminate { reason } => Some(reason),
            _ => None,
        });
        if let Some(reason) = end {
            let last = turn.replies().last().unwrap_or(reason);
            drafts.extend(self.done(reason, last).await?);
            return Ok((drafts, None));
        }
        let after = turn
            .intents()
            .iter()
            .rev()
            .find(|it| matches!(it, Intent::Wait { .. } | Intent::GoOn));
        if let Some(Intent::Wait { from, name, ms }) = after {
            if let Some(from) = from
                && !self.reaches(turn.intents(), from).await?
            {
                let whom = name.as_deref().unwrap_or(from.as_str());
                drafts.push(out_of_reach(
                    &self.place.thread,
                    Some(self.place.turn),
                    whom,
                ));
                return Ok((drafts, None));
            }
            let until = ms.map(|ms| {
                Timestamp::from_micros(self.now.micros().saturating_add_unsigned(ms * 1000))
            });
            let waiting = Waiting {
                from: from.clone(),
                name: name.clone(),
                outside: !self.settings.is_process(),
                until,
                reason: None,
            };
            drafts.extend(Draft::wait_limit(&self.place.thread, &waiting, self.now));
            return Ok((drafts, Some(waiting)));
        }
        if !self.settings.is_process() || turn.has_thought() {
            return Ok((drafts, None));
        }
        if let Some(words) = turn
            .last_words()
            .filter(|_| self.settings.gathered.is_some() && after.is_none())
        {
            // Sent out for one answer, it has given it.
            drafts.extend(self.done("answered", words).await?);
            return Ok((drafts, None));
        }
        let (more, waiting) = self.go_on().await?;
        drafts.extend(more);
        Ok((drafts, waiting))
    }

    /// The thread ends by its own choice.
    async fn done(&self, reason: &str, last: &str) -> Result<Vec<Draft>, StoreError> {
        let TurnPlace { space, thread, .. } = self.place;
        let end = Ending {
            thread,
            status: Status::Done.as_str(),
            reason,
            last,
        };
        ending(self.store, space, &end, Below::End, self.now).await
    }

    /// Whether the thread that it means to wait for is still one that it knows when this turn ends.
    async fn reaches(&self, intents: &[Intent], from: &ThreadId) -> Result<bool, StoreError> {
        // It was one when it was named.
        let changed = intents
            .iter()
            .any(|it| matches!(it, Intent::Connect { .. } | Intent::Disconnect { .. }));
        if !changed || self.parent == Some(from) {
            return Ok(true);
        }
        let TurnPlace { space, thread, .. } = self.place;
        let contacts = contacts_after(self.store, space, thread, intents).await?;
        Ok(contacts.values().any(|contact| contact.target == *from))
    }

    /// Nothing that was only intended happens. A process whose turn failed does not try again by itself.
    async fn cut_short(
        &self,
        turn: &Turn,
        outcome: TurnOutcome,
    ) -> Result<(Vec<Draft>, Option<Waiting>), StoreError> {
        if outcome == TurnOutcome::Interrupted {
            return Ok((Vec::new(), None));
        }
        let reason = match turn.failure() {
            Some(failure) => format!("its last turn failed: {failure}"),
            None => format!("its last turn was {outcome}"),
        };
        let drafts = stuck(self.store, &self.place.space, &self.place.thread, &reason).await?;
        let waits = self.settings.is_process();
        Ok((
            drafts,
            waits.then(|| Waiting {
                reason: Some(reason),
                ..Waiting::for_anybody()
            }),
        ))
    }

    /// The next step, at once; or, when the thread has been on its own for too long, the failure that says so.
    async fn go_on(&self) -> Result<(Vec<Draft>, Option<Waiting>), StoreError> {
        let TurnPlace {
            space,
            thread,
            turn,
            ..
        } = self.place;
        let row = self.store.thread_lately(space, thread).await?;
        let limit = self.budget.self_messages;
        if row.is_none_or(|row| u64::from(row.self_messages) < limit) {
            return Ok((
                vec![Draft::thought(
                    thread,
                    *turn,
                    self.prompts.process_continue.source().as_str(),
                )],
                None,
            ));
        }
        let failure = self_messages(limit);
        let mut drafts = vec![Draft::failure(thread, Some(*turn), &Who::Core, &failure)];
        drafts.extend(stuck(self.store, space, thread, &failure.text).await?);
        Ok((
            drafts,
            Some(Waiting {
                reason: Some(failure.text),
                ..Waiting::for_anybody()
            }),
        ))
    }

    async fn carry_out(&self, intent: &Intent, drafts: &mut Vec<Draft>) -> Result<(), StoreError> {
        let TurnPlace {
            space,
            thread,
            turn,
            ..
        } = self.place;
        match intent {
            Intent::Send { to, text } => {
                for to in to {
                    let row = self.store.thread(space, to).await?;
                    drafts.push(match row {
                        Some(row) if !row.status.is_final() => Draft::message(to, thread, text),
                        // It ended since it was accepted. The sender hears of it in a turn of its own.
                        _ => undelivered(thread, *turn, to),
                    });
                }
            }
            other => drafts.extend(other.carried_out(thread)),
        }
        Ok(())
    }
}

fn undelivered(thread: &ThreadId, turn: u64, to: &ThreadId) -> Draft {
    let text = "the thread ended before the message was delivered";
    Draft::thread_error(
        thread,
        Some(turn),
        to.as_str(),
        ErrorCode::Undelivered,
        text,
    )
    .overruling()
}
