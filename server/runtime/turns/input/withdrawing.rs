//! Takes an input back while it waits, or with its turn until a later one begins (`undoing.rs`):
//! for its author, or for a person that may take back all inputs. The event `withdrawn` and the
//! beginning of a turn (`batch.rs`) are stored under conditions of which one is met.

use uuid::Uuid;

use super::Inbox;
use crate::refused::Refused;
use thinkd_event::condition::Condition;
use thinkd_event::fact::Fact;
use thinkd_event::fact::withdrawn::Withdrawn;
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::EventLog;
use thinkd_log::query::{Order, Query, Show};
use thinkd_words::id::{self, Seq, Space, ThreadId};

/// Parts of an input that are read at a time.
const PAGE: u32 = 50;
/// So often is it looked whether the turn of an input was the last.
const TRIES: usize = 3;

/// The authors of the inputs that a caller may take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose<'a> {
    /// Everybody's, and those of schedules.
    Anybody,
    /// Inputs in this name, or without one.
    Only(Option<&'a str>),
}

impl Inbox {
    /// Takes back an input that waits, or one that the last turn was about. Done again it changes
    /// nothing.
    pub async fn withdraw(
        &self,
        place: (&Space, &ThreadId),
        event_id: Uuid,
        user: Option<&str>,
        whose: Whose<'_>,
    ) -> Result<(), Refused> {
        // A turn about nothing may have been stored meanwhile.
        for _ in 1..TRIES {
            match self.withdraw_now(place, event_id, user, whose).await {
                Err(Refused::Store(StoreError::Unmet(Condition::AtRestAfter(_)))) => {}
                done => return done,
            }
        }
        match self.withdraw_now(place, event_id, user, whose).await {
            Err(Refused::Store(StoreError::Unmet(_))) => Err(taken()),
            done => done,
        }
    }

    async fn withdraw_now(
        &self,
        (space, thread): (&Space, &ThreadId),
        event_id: Uuid,
        user: Option<&str>,
        whose: Whose<'_>,
    ) -> Result<(), Refused> {
        let not_found = || Refused::NotFound(format!("input {event_id} in {thread}"));
        let event = self
            .0
            .store
            .event(space, event_id)
            .await?
            .filter(|event| event.thread == *thread && event.wakes());
        let event = event.ok_or_else(not_found)?;
        let seq = event.seq;
        let fact = event.fact();
        let (said_by, is_scheduled, has_answered) = match &fact {
            Fact::Input(input) => (input.user, false, input.answers.is_some()),
            Fact::Trigger(trigger) => (
                event.payload.get("user").and_then(|user| user.as_str()),
                trigger.schedule.is_some(),
                false,
            ),
            _ => return Err(not_found()),
        };
        if let Whose::Only(name) = whose
            && (name != said_by || is_scheduled)
        {
            let text = "this is not yours to take back: what others said, and what schedules fire, is for a key with role = \"operator\" or above";
            return Err(Refused::NotYours(text.to_owned()));
        }
        // One for each input, whoever takes it back.
        let id = id::about(&format!("{event_id} withdrawn"));
        if self.0.store.event(space, id).await?.is_some() {
            return Ok(());
        }
        if has_answered {
            return Err(Refused::Taken(
                "it has answered a question, and that is done".to_owned(),
            ));
        }
        let row = self
            .0
            .store
            .thread(space, thread)
            .await?
            .ok_or_else(not_found)?;
        if row.status.is_final() {
            return Err(Refused::Ended(thread.clone()));
        }
        let has_turn = self
            .0
            .running
            .has_taken(&(space.clone(), thread.clone()), seq);
        let (turns, condition) = match row.waits(seq) {
            true if has_turn => return Err(taken()),
            true => (None, Condition::Wait(vec![seq])),
            false => {
                let (turns, latest) = self.turns_about(space, &row, seq).await?;
                (Some(turns), Condition::AtRestAfter(latest))
            }
        };
        let from = first_part(&*self.0.store, space, thread, seq).await?;
        let draft = Fact::Withdrawn(Withdrawn {
            from,
            input: seq,
            user,
            turns,
        })
        .encode(thread)
        .with_id(id);
        let draft = draft.only_if(condition).only_if(Condition::NotEnded);
        match self.0.store.append(Append::free(space, vec![draft])).await {
            // Somebody else took it back at the same time.
            Ok(_) | Err(StoreError::Conflict(_)) => Ok(()),
            Err(StoreError::Unmet(Condition::NotEnded)) => Err(Refused::Ended(thread.clone())),
            Err(StoreError::Unmet(Condition::Wait(_))) => Err(taken()),
            Err(error) => Err(error.into()),
        }
    }
}

pub(super) fn taken() -> Refused {
    Refused::Taken("a turn is about it: cancel that turn, or say what you mean now".to_owned())
}

/// Returns the first part of an input: its parts stand before its last one, without a gap.
pub async fn first_part(
    store: &dyn EventLog,
    space: &Space,
    thread: &ThreadId,
    last: Seq,
) -> Result<Seq, StoreError> {
    let mut from = last;
    loop {
        let query = Query {
            thread: Some(thread.clone()),
            show: Show::Visible,
            before: Some(from),
            order: Order::Descending,
            limit: PAGE,
            ..Query::default()
        };
        let before = store.events(space, &query).await?;
        let is_part = |fact: &Fact<'_>| matches!(fact, Fact::Input(input) if input.is_part);
        let parts = (1..)
            .zip(&before)
            .take_while(|(back, event)| event.seq == from - back && is_part(&event.fact()));
        let parts = Seq::try_from(parts.count()).unwrap_or(0);
        from -= parts;
        if parts < Seq::from(PAGE) {
            return Ok(from);
        }
    }
}
