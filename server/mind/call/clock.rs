//! The clock of a space's views: which zones people have set, and by which events. The log is asked
//! once for each change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::ModelClient;
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::set::{Change, Set};
use crate::log::error::StoreError;
use crate::log::query::{Order, Query, Show};
use crate::thread::history::Clock;
use crate::words::id::{Seq, Space, ThreadId};
use crate::words::setting::Setting;

/// Spaces whose clocks are kept; with more they are read again.
const KEPT_MAX: usize = 1024;
/// Changes of settings that are read at a time.
const PAGE: u32 = 500;

/// Clocks by space. A plain mutex: held for look-ups, never across an await.
#[derive(Default)]
pub(super) struct Clocks(Mutex<HashMap<Space, Arc<Clock>>>);

impl ModelClient {
    /// The clock of a space. Where the changes of its zone cannot be read now, it knows the last one.
    pub async fn clock(&self, space: &Space) -> Result<Arc<Clock>, StoreError> {
        let rows = self.store.settings(space).await?;
        let set = rows
            .into_iter()
            .find(|row| row.key == Setting::TimeZone.as_str());
        let Some(set) = set else {
            return Ok(Arc::default());
        };
        if let Some(clock) = self.kept_clock(space).filter(|it| it.seq() == set.seq) {
            return Ok(clock);
        }
        let Ok(changes) = self.zones(space, set.seq).await else {
            let last = set.value.as_str().map(|name| (set.seq, name.to_owned()));
            return Ok(Arc::new(Clock::of(last)));
        };
        let clock = Arc::new(Clock::of(changes));
        let mut kept = self.clocks.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(space.clone(), clock.clone());
        Ok(clock)
    }

    fn kept_clock(&self, space: &Space) -> Option<Arc<Clock>> {
        let kept = self.clocks.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(space).cloned()
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
