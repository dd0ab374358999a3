//! What the log knows of a run when it is taken up: a fold over its thread's events. Pure.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use crate::event::envelope::{Event, tag};
use crate::event::run::{Held, RunKey};
use crate::words::time::Timestamp;

/// A run so far.
#[derive(Debug, Default)]
pub struct Past {
    /// Which run, and its input.
    pub started: Option<(RunKey, Held)>,
    /// Whether it was worked on before.
    pub begun: bool,
    /// Whether somebody wants it to end.
    pub cancel: bool,
    /// How often it was taken up again.
    pub resumed: u64,
    /// How many nodes were started.
    pub nodes: u64,
    /// By place: the event that has the node's value, or says that it came to none.
    pub records: HashMap<String, Uuid>,
    /// The first and the last sign of work since it was last taken up.
    work: Option<(Timestamp, Timestamp)>,
    /// Microseconds of work before that.
    spent: i64,
}

impl Past {
    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        match () {
            () if event.has(tag::RUN) && event.has(tag::STARTED) => {
                let input = Held::of(&event.payload, "input").unwrap_or(Held::Here(Value::Null));
                self.started = RunKey::begun_by(event).map(|key| (key, input));
                return;
            }
            () if event.has(tag::RUN) && event.has(tag::CANCEL) => {
                self.cancel = true;
                return;
            }
            () if event.has(tag::RUN) && event.has(tag::RESUMED) => {
                self.resumed += 1;
                self.spent += self.worked();
                self.work = None;
            }
            () if event.has(tag::NODE) && event.has(tag::STARTED) => self.nodes += 1,
            () if event.has(tag::NODE) && (event.has(tag::FINISHED) || event.has(tag::ABANDONED)) => self.record(event),
            () => {}
        }
        self.begun = true;
        self.work = Some((self.work.map_or(event.ts, |(since, _)| since), event.ts));
    }

    fn record(&mut self, event: &Event) {
        if event.payload.contains_key("transient") {
            return;
        }
        let place = event.payload.get("place").and_then(Value::as_str).unwrap_or_default();
        // The last one counts: it is what later nodes saw.
        self.records.insert(place.to_owned(), event.event_id);
    }

    fn worked(&self) -> i64 {
        self.work.map_or(0, |(since, last)| last.micros() - since.micros())
    }

    /// How long it was worked on, as far as its events tell.
    pub fn spent(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.spent + self.worked()).unwrap_or(0))
    }
}
