//! What a turn's end leads to besides itself: messages are delivered, contacts changed, and then the thread goes on, waits or
//! ends. All of it is one append with the turn's end. And what the end of a thread means to those who knew it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Turn;
use crate::budget::Budget;
use crate::call::Place;
use crate::event::{Draft, Ending, ErrorCode, Intent, TurnOutcome, Waiting};
use crate::failure::{Who, self_messages};
use crate::id::{Space, ThreadId};
use crate::prompt::Prompts;
use crate::store::{self, Status, Store};
use crate::thread::{Commit, Settings};
use crate::time::Timestamp;

/// Most threads that are told of one thread's end.
const HOLDERS_MAX: u32 = 10_000;

/// See the module.
pub(super) struct Closing<'a> {
    pub store: &'a Arc<dyn Store>,
    pub prompts: &'a Prompts,
    pub place: &'a Place,
    pub settings: &'a Settings,
    pub budget: &'a Budget,
    pub now: Timestamp,
}

impl Closing<'_> {
    /// The events that go with the turn's end, and for whom the thread waits then.
    pub async fn of(&self, turn: &Turn, outcome: TurnOutcome) -> Result<(Vec<Draft>, Option<Waiting>), store::Error> {
        if outcome != TurnOutcome::Done {
            // Nothing that was only intended happens. A process whose turn failed does not try again by itself.
            let reason = Some(format!("its last turn was {outcome}"));
            let waits = self.settings.is_process() && outcome != TurnOutcome::Interrupted;
            return Ok((Vec::new(), waits.then(|| Waiting { reason, ..Waiting::for_anybody() })));
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
            let last = turn.reply().unwrap_or(reason);
            let Place { space, thread, .. } = self.place;
            drafts.extend(ending(self.store, space, thread, Status::Done, reason, last).await?);
            return Ok((drafts, None));
        }
        let after = turn.intents().iter().rev().find(|it| matches!(it, Intent::Wait { .. } | Intent::GoOn));
        if let Some(Intent::Wait { from, name, ms }) = after {
            let until = ms.map(|ms| Timestamp::from_micros(self.now.micros().saturating_add_unsigned(ms * 1000)));
            let waiting = Waiting {
                from: from.clone(),
                name: name.clone(),
                outside: !self.settings.is_process(),
                until,
                reason: None,
            };
            drafts.extend(Draft::wait_limit(&self.place.thread, &waiting));
            return Ok((drafts, Some(waiting)));
        }
        if !self.settings.is_process() || turn.has_thought() {
            return Ok((drafts, None));
        }
        let (draft, waiting) = self.go_on().await?;
        drafts.push(draft);
        Ok((drafts, waiting))
    }

    /// The next step, at once; or, when the thread has been on its own for too long, the failure that says so.
    async fn go_on(&self) -> Result<(Draft, Option<Waiting>), store::Error> {
        let Place { space, thread, turn } = self.place;
        let row = self.store.thread(space, thread).await?;
        let limit = self.budget.self_messages;
        if row.is_none_or(|row| u64::from(row.self_messages) < limit) {
            return Ok((Draft::thought(thread, *turn, self.prompts.process_continue.source().as_str()), None));
        }
        let failure = self_messages(limit);
        let waiting = Waiting { reason: Some(failure.text.clone()), ..Waiting::for_anybody() };
        Ok((Draft::failure(thread, Some(*turn), &Who::Core, &failure), Some(waiting)))
    }

    async fn carry_out(&self, intent: &Intent, drafts: &mut Vec<Draft>) -> Result<(), store::Error> {
        let Place { space, thread, turn } = self.place;
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
            Intent::Connect { name, thread: target, description } => {
                let change = json!({ "thread": target, "description": description });
                drafts.push(Draft::changed(thread, "contact", name.as_str(), change));
            }
            Intent::Disconnect { name } => {
                drafts.push(Draft::changed(thread, "contact", name.as_str(), Value::Null));
            }
            _ => {}
        }
        Ok(())
    }
}

fn undelivered(thread: &ThreadId, turn: u64, to: &ThreadId) -> Draft {
    let text = "the thread ended before the message was delivered";
    Draft::thread_error(thread, Some(turn), to.as_str(), ErrorCode::Undelivered, text).overruling()
}

/// The events with which a thread ends: its own, and one for its parent and each thread that has it among its contacts.
pub async fn ending(
    store: &Arc<dyn Store>,
    space: &Space,
    thread: &ThreadId,
    status: Status,
    reason: &str,
    last: &str,
) -> Result<Vec<Draft>, store::Error> {
    let row = store.thread(space, thread).await?;
    let gathered = row.as_ref().and_then(|row| Settings::of(&row.settings).gathered);
    let is_counted = row.as_ref().is_none_or(|row| !row.standing.archived);
    let watches = row.map_or(0, |row| row.standing.watches.len());
    let mut change = json!({ "status": status.as_str(), "reason": reason });
    if watches > 0 {
        change["watches_removed"] = watches.into();
    }
    let mut drafts = vec![Draft::changed(thread, "thread", thread.as_str(), change)];
    // Whoever has ended is not to be woken any more.
    let timers = store.timers(space, thread).await?;
    drafts.extend(timers.iter().map(|timer| Draft::changed(thread, "timer", &timer.name, Value::Null)));
    let mut told = store.holders(space, thread, HOLDERS_MAX).await?;
    told.extend(thread.parent());
    told.sort();
    told.dedup();
    let ending = Ending { thread, status: status.as_str(), reason, last };
    for holder in told.into_iter().filter(|holder| holder != thread) {
        let row = store.thread(space, &holder).await?;
        if row.is_none_or(|row| row.status.is_final()) {
            continue;
        }
        let is_parent = Some(&holder) == thread.parent().as_ref();
        let told = match gathered.as_ref().filter(|_| is_parent) {
            Some(gathered) => Draft::ended_part(&holder, &ending, &gathered.id, gathered.index),
            None => Draft::ended(&holder, &ending),
        };
        drafts.push(if is_counted { told } else { told.with("archived", true) });
        if is_parent {
            // It was made a contact with its beginning; one that makes many has not all of them for ever.
            let contacts =
                store.contacts(space, &holder).await?.into_iter().filter(|contact| contact.target == *thread);
            drafts.extend(contacts.map(|it| Draft::changed(&holder, "contact", it.name.as_str(), Value::Null)));
        }
    }
    Ok(drafts)
}
