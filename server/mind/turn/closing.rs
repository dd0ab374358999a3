//! The closing of a turn carries out its intents: it delivers messages and changes contacts, and the thread goes on, waits or ends. All of it is
//! one append with the turn's end.

use std::sync::Arc;

use super::Turn;
use super::dependents::{out_of_reach, stuck};
use super::ends::{Below, ending};
use crate::call::TurnPlace;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::TurnOutcome;
use thinkd_event::intent::Intent;
use thinkd_event::process::{Ending, ErrorCode, Waiting};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::status::Status;
use thinkd_model::prompt::Prompts;
use thinkd_thread::settings::{Commit, Settings};
use thinkd_tools::contacts::contacts_after;
use thinkd_words::budget::Budget;
use thinkd_words::failure::{Who, self_messages};
use thinkd_words::id::ThreadId;
use thinkd_words::time::Timestamp;

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
    /// True if the threads above were cancelled, too.
    pub with_above: bool,
}

/// The events that go with a turn's end, and for whom the thread waits then.
pub(super) type Closed = (Vec<Draft>, Option<Waiting>);

impl Closing<'_> {
    /// The events that go with the turn's end, and for whom the thread waits then.
    pub async fn drafts(&self, turn: &Turn, outcome: TurnOutcome) -> Result<Closed, StoreError> {
        if outcome != TurnOutcome::Done {
            return self.cut_short(turn, outcome).await;
        }
        let thread = &self.place.thread;
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
        let comes_after = |it: &&Intent| matches!(it, Intent::Wait { .. } | Intent::GoOn);
        let after = turn.intents().iter().rev().find(comes_after);
        if let Some(Intent::Wait { from, name, ms }) = after {
            if let Some(from) = from
                && !self.reaches(turn.intents(), from).await?
            {
                let whom = name.as_deref().unwrap_or(from.as_str());
                drafts.push(out_of_reach(thread, Some(self.place.turn), whom));
                return Ok((drafts, None));
            }
            let now = self.now.micros();
            let until = ms.map(|ms| now.saturating_add_unsigned(ms * 1000));
            let waiting = Waiting {
                from: from.clone(),
                name: name.clone(),
                outside: !self.settings.is_process(),
                until: until.map(Timestamp::from_micros),
                reason: None,
            };
            drafts.extend(Draft::wait_limit(thread, &waiting, self.now));
            return Ok((drafts, Some(waiting)));
        }
        if !self.settings.is_process() || turn.has_thought() {
            return Ok((drafts, None));
        }
        let gives = self.settings.gathered.is_some() && after.is_none();
        if let Some(words) = turn.last_words().filter(|_| gives) {
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

    /// Returns true if the thread that it means to wait for is still one that it knows when this
    /// turn ends.
    async fn reaches(&self, intents: &[Intent], from: &ThreadId) -> Result<bool, StoreError> {
        // It was one when it was named.
        let changes =
            |it: &Intent| matches!(it, Intent::Connect { .. } | Intent::Disconnect { .. });
        let changed = intents.iter().any(changes);
        if !changed || self.parent == Some(from) {
            return Ok(true);
        }
        let TurnPlace { space, thread, .. } = self.place;
        let contacts = contacts_after(self.store, space, thread, intents).await?;
        Ok(contacts.values().any(|contact| contact.target == *from))
    }

    /// Returns the end of a turn that was cut short: none of its intentions happens. A process with
    /// a failed turn does not try again by itself.
    async fn cut_short(&self, turn: &Turn, outcome: TurnOutcome) -> Result<Closed, StoreError> {
        if outcome == TurnOutcome::Interrupted {
            return Ok((Vec::new(), None));
        }
        let reason = match turn.failure() {
            Some(failure) => format!("its last turn failed: {failure}"),
            None => format!("its last turn was {outcome}"),
        };
        let (drafts, waiting) = self.stuck(reason).await?;
        Ok((drafts, waiting.filter(|_| self.settings.is_process())))
    }

    /// The events that tell others that the thread is stuck, for this reason, for which it waits.
    async fn stuck(&self, reason: String) -> Result<Closed, StoreError> {
        let TurnPlace { space, thread, .. } = self.place;
        let mut drafts = stuck(self.store, space, thread, &reason).await?;
        if self.with_above {
            drafts = self.quietly(drafts).await?;
        }
        let waiting = Waiting {
            reason: Some(reason),
            ..Waiting::for_anybody()
        };
        Ok((drafts, Some(waiting)))
    }

    /// Returns the same news, which wake only threads that wait for this one: of the others each
    /// was cancelled, too.
    async fn quietly(&self, drafts: Vec<Draft>) -> Result<Vec<Draft>, StoreError> {
        let TurnPlace { space, thread, .. } = self.place;
        let mut quiet = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let holder = self.store.thread(space, &draft.thread).await?;
            let waits = holder.is_some_and(|row| row.awaits() == Some(thread));
            let is_silent = waits || draft.preview().part().is_some();
            quiet.push(if is_silent { draft } else { draft.silent() });
        }
        Ok(quiet)
    }

    /// The next step, at once; or, when the thread has been on its own for too long, the failure that says so.
    async fn go_on(&self) -> Result<Closed, StoreError> {
        let TurnPlace { space, thread, .. } = self.place;
        let row = self.store.thread_lately(space, thread).await?;
        let limit = self.budget.self_messages;
        if row.is_none_or(|row| u64::from(row.self_messages) < limit) {
            let words = self.prompts.process_continue.source().as_str();
            let thought = Draft::thought(thread, self.place.turn, words);
            return Ok((vec![thought], None));
        }
        let failure = self_messages(limit);
        let told = self.place.failure(&Who::Core, &failure);
        let (others, waiting) = self.stuck(failure.text).await?;
        let drafts = std::iter::once(told).chain(others).collect();
        Ok((drafts, waiting))
    }

    async fn carry_out(&self, intent: &Intent, drafts: &mut Vec<Draft>) -> Result<(), StoreError> {
        let TurnPlace { space, thread, .. } = self.place;
        match intent {
            Intent::Send { to, text } => {
                for to in to {
                    let row = self.store.thread(space, to).await?;
                    drafts.push(match row {
                        Some(row) if !row.status.is_final() => Draft::message(to, thread, text),
                        // It ended since it was accepted. The sender hears of it in a turn of its own.
                        _ => undelivered(thread, self.place.turn, to),
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
    let code = ErrorCode::Undelivered;
    Draft::thread_error(thread, Some(turn), to.as_str(), code, text).overruling()
}
