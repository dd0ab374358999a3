//! Settles requests to people that no turn takes up any more, because their thread has ended or their turn was cancelled or failed: at
//! once, after a start, and every ten minutes.

use std::time::Duration;

use serde_json::Value;

use super::Requests;
use thinkd_event::condition::RequestState;
use thinkd_event::request::{Parked, Settled};
use thinkd_log::error::StoreError;
use thinkd_log::projections::requests::RequestRow;
use thinkd_words::id::{Space, ThreadId};

/// Time between two looks at all requests.
const EVERY: Duration = Duration::from_secs(600);

impl Requests {
    /// Settles the requests that no turn will come to any more. These are all of a thread that has
    /// ended, except those of trials, and granted calls left by a turn that was cancelled or
    /// failed.
    pub async fn tidy(&self, space: &Space, thread: &ThreadId) -> Result<(), StoreError> {
        let rows = self.store.requests_of(space, thread).await?;
        if rows.is_empty() {
            return Ok(());
        }
        let Some(owner) = self.store.thread(space, thread).await? else {
            return Ok(());
        };
        let has_ended = owner.status.is_final();
        for row in rows {
            match row.state {
                RequestState::Approval | RequestState::Question | RequestState::Client
                    if has_ended && !row.is_of_trial() =>
                {
                    let withdrawn = Settled::Withdrawn {
                        reason: "the thread has ended",
                    };
                    self.settle(space, &row, withdrawn).await?;
                }
                RequestState::Granted | RequestState::Started
                    if has_ended || row.seq <= owner.handled =>
                {
                    let why = match has_ended {
                        true => "the thread ended",
                        false => "its turn was over",
                    };
                    self.abandon(space, &row, why).await?;
                }
                RequestState::Approval
                | RequestState::Question
                | RequestState::Client
                | RequestState::Granted
                | RequestState::Started => {}
            }
        }
        Ok(())
    }

    /// The result of a granted call that no turn will write.
    async fn abandon(&self, space: &Space, row: &RequestRow, why: &str) -> Result<(), StoreError> {
        let Ok(event_id) = row.id.parse() else {
            return Ok(());
        };
        let asked = self.store.event(space, event_id).await?;
        let asked = asked.map(|event| Value::Object(event.payload));
        if let Some(parked) = asked.and_then(|asked| Parked::of(&row.id, &asked)) {
            let abandoned = parked.abandoned(&row.thread, row.state, why);
            self.unless_settled(space, vec![abandoned]).await?;
        }
        Ok(())
    }

    /// Tidies after a start, and from time to time. The end of a thread or a turn, here or at
    /// another server, may have been cut off before its requests were settled.
    pub async fn keep_tidy(self) {
        loop {
            self.tidy_all().await;
            tokio::select! {
                () = self.all.cancelled() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    async fn tidy_all(&self) {
        let spaces = match self.store.spaces_with_requests().await {
            Ok(spaces) => spaces,
            Err(error) => {
                tracing::warn!(%error, "requests to people that nobody will come to could not be looked for");
                return;
            }
        };
        for space in spaces {
            if let Err(error) = self.tidy_space(&space).await {
                tracing::warn!(%error, %space, "requests to people that nobody will come to could not be settled");
            }
            if self.all.is_cancelled() {
                return;
            }
        }
    }

    async fn tidy_space(&self, space: &Space) -> Result<(), StoreError> {
        if self.store.is_user_away(space).await? {
            self.answer_away(space).await?;
        }
        for thread in self.store.threads_with_requests(space).await? {
            self.tidy(space, &thread).await?;
        }
        Ok(())
    }
}
