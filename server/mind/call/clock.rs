//! The clock of a space's views: which zones people have set, and by which events. The log is asked
//! once for each change.

use std::sync::Arc;

use serde_json::Value;

use super::ModelClient;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::{Change, Set};
use thinkd_log::error::StoreError;
use thinkd_log::query::{Order, Query, Show};
use thinkd_model::cache::Cache;
use thinkd_thread::history::Clock;
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::setting::Setting;

/// Most spaces with a clock that is kept; with more they are read again.
const KEPT_MAX: usize = 1024;
/// Changes of settings that are read at a time.
const PAGE: u32 = 500;

/// Clocks by space.
pub(super) type Clocks = Cache<Space, Arc<Clock>, KEPT_MAX>;

impl ModelClient {
    /// The clock of a space. Where the changes of its zone cannot be read now, it knows the last one.
    pub async fn clock(&self, space: &Space) -> Result<Arc<Clock>, StoreError> {
        let mut rows = self.store.settings(space).await?.into_iter();
        let Some(set) = rows.find(|row| row.key == Setting::TimeZone.as_str()) else {
            return Ok(Arc::default());
        };
        if let Some(clock) = self.clocks.get(space).filter(|it| it.seq() == set.seq) {
            return Ok(clock);
        }
        let Ok(changes) = self.zones(space, set.seq).await else {
            let last = set.value.as_str().map(|name| (set.seq, name.to_owned()));
            return Ok(Arc::new(Clock::of(last)));
        };
        let clock = Arc::new(Clock::of(changes));
        self.clocks.insert(space.clone(), clock.clone());
        Ok(clock)
    }

    /// The zones that were set up to an event, oldest first.
    async fn zones(&self, space: &Space, last: Seq) -> Result<Vec<(Seq, String)>, StoreError> {
        let mut query = Query {
            thread: Some(ThreadId::default()),
            tags: vec!["set:setting".to_owned()],
            before: Some(last + 1),
            after: Some(0),
            order: Order::Ascending,
            show: Show::All,
            limit: PAGE,
            ..Query::default()
        };
        let mut zones = Vec::new();
        loop {
            let page = self.store.events(space, &query).await?;
            zones.extend(page.iter().filter_map(zone_set));
            if page.len() < PAGE as usize {
                return Ok(zones);
            }
            query.after = page.last().map(|event| event.seq);
        }
    }
}

/// The zone that an event sets.
fn zone_set(event: &Event) -> Option<(Seq, String)> {
    let Fact::Set(Set {
        key,
        change: Change::Setting(setting),
        ..
    }) = event.fact()
    else {
        return None;
    };
    let Value::String(name) = setting.value else {
        return None;
    };
    (key == Setting::TimeZone.as_str()).then_some((event.seq, name))
}
