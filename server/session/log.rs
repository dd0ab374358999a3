//! A session reads the space's log: pages, single events, the prompt view of a model call; and
//! follows it.

use serde_json::Value;
use uuid::Uuid;

use super::follow::Follow;
use super::handle::{Acted, Session};
use super::pieces::Pieces;
use super::right::Right;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_log::appended::Append;
use thinkd_log::head::Head;
use thinkd_log::query::Query;
use thinkd_log::shown::Written;
use thinkd_words::id::{Seq, ThreadId};

impl Session {
    /// The log's head and epoch.
    pub async fn head(&self) -> Acted<Head> {
        Ok(self.store(Right::Read)?.head(self.space()).await?)
    }

    /// A page of the log.
    pub async fn events(&self, query: &Query) -> Acted<Vec<Event>> {
        Ok(self.store(Right::Read)?.events(self.space(), query).await?)
    }

    /// The same page as JSON, to be passed on: nothing is read that need not be.
    pub async fn written(&self, query: &Query) -> Acted<Vec<Written>> {
        let (store, space) = self.reading()?;
        Ok(store.written(space, query).await?)
    }

    /// One event.
    pub async fn event(&self, event_id: Uuid) -> Acted<Option<Event>> {
        let (store, space) = self.reading()?;
        Ok(store.event(space, event_id).await?)
    }

    /// The prompt view of the model call behind an event.
    pub async fn prompt_view(&self, event_id: Uuid) -> Acted<Value> {
        let (runtime, space) = self.acting(Right::Read)?;
        Ok(runtime.prompt_view(space, event_id).await?)
    }

    /// Follows the events that `filter` asks for, from now on or after a seq. Also returns the
    /// log's head.
    pub async fn follow(&self, filter: Query, after: Option<Seq>) -> Acted<(Follow, Head)> {
        let store = self.store(Right::Read)?;
        Ok(Follow::start(store, self.pages(), self.space(), filter, after).await?)
    }

    /// The pieces of replies that a new connection is sent.
    pub fn pieces(&self) -> Acted<Pieces> {
        let feed = self.store(Right::Read)?.feed().clone();
        Ok(Pieces::new(feed, self.space().clone()))
    }

    /// Notes in the log, as the server and so without a right, that something of this client came to nothing.
    pub async fn note_failure(&self, what: &str, detail: Value) -> Acted<()> {
        let draft = Draft::client_failure(&ThreadId::default(), what, detail);
        self.own_store()
            .append(Append::free(self.space(), vec![draft]))
            .await?;
        Ok(())
    }
}
