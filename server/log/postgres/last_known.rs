//! The last event that a server has stored or read. A database that lacks it holds another log of
//! the same epoch: of a standby that lagged when it was promoted, of an older copy that was put
//! back, or of a former primary.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use crate::error::StoreError;
use thinkd_event::envelope::Event;
use thinkd_words::id::{Seq, Space};
use thinkd_words::time::Timestamp;

/// The time that an address may lead to the wrong Postgres: while it moves, both may answer.
const SETTLES: Duration = Duration::from_secs(5);

/// The pause between two looks over connections that are open.
const LOOKED: Duration = Duration::from_secs(5);

/// The last event that a server knows.
#[derive(Default)]
pub(super) struct LastKnown(Mutex<State>);

#[derive(Default)]
struct State {
    event: Option<Met>,
    /// The time since which connections lead to a database that lacks it.
    lacking: Option<Instant>,
    looked: Option<Instant>,
}

#[derive(Clone)]
struct Met {
    space: Space,
    seq: Seq,
    id: Uuid,
    ts: Timestamp,
}

impl LastKnown {
    /// Takes note of an event that is in the log: the newest one stays, and none is taken while the
    /// database lacks it.
    pub fn met(&self, space: &Space, event: &Event) {
        self.with(|state| {
            let known = state.event.as_ref();
            let is_newer = known.is_none_or(|known| known.ts <= event.ts);
            if is_newer && state.lacking.is_none() {
                state.event = Some(Met {
                    space: space.clone(),
                    seq: event.seq,
                    id: event.event_id,
                    ts: event.ts,
                });
            }
        });
    }

    /// Returns whether to look again.
    pub fn is_due(&self) -> bool {
        self.with(|state| state.looked.is_none_or(|at| at.elapsed() > LOOKED))
    }

    /// Takes note of a look that found all of it.
    pub fn looked(&self) {
        self.with(|state| state.looked = Some(Instant::now()));
    }

    /// Makes sure that the database has the event. Fails while it lacks it; for longer than an
    /// address needs to settle, gives the log a new epoch, so that cursors into the lost end are
    /// refused, and returns the reason for which the server has to end.
    pub async fn is_in(
        &self,
        connection: &mut PgConnection,
        epoch: Uuid,
    ) -> Result<Option<String>, StoreError> {
        let Some(lacks) = self.lacks(connection).await? else {
            self.with(|state| state.lacking = None);
            return Ok(None);
        };
        let since = self.with(|state| *state.lacking.get_or_insert_with(Instant::now));
        if since.elapsed() < SETTLES {
            return Err(StoreError::Unavailable(lacks));
        }
        let renew = sqlx::query("update log set epoch = $1 where epoch = $2")
            .bind(thinkd_words::id::fresh())
            .bind(epoch);
        if let Err(error) = renew.execute(connection).await {
            tracing::warn!(%error, "cursors into the lost end of the log may be taken");
        }
        Ok(Some(lacks))
    }

    /// Returns how a database is known to lack the event; none: it has it.
    pub async fn lacks(&self, connection: &mut PgConnection) -> Result<Option<String>, StoreError> {
        let Some(known) = self.with(|state| state.event.clone()) else {
            return Ok(None);
        };
        let Met { space, seq, id, .. } = known;
        let text = "select coalesce((select head from spaces where space = $1), 0), \
             exists (select from events where space = $1 and seq = $2 and event_id = $3)";
        let (head, is_there): (Seq, bool) = sqlx::query_as(text)
            .bind(space.as_str())
            .bind(seq)
            .bind(id)
            .fetch_one(&mut *connection)
            .await?;
        if is_there {
            return Ok(None);
        }
        let lacks = format!(
            "the database lacks event {seq} of space {space}, which this server knows: its log ends at \
             {head}, or another event stands there. It is a standby that lagged, an older copy, or a \
             former primary"
        );
        Ok(Some(lacks))
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        // A panic while this short lock was held left nothing half done.
        change(&mut self.0.lock())
    }
}
