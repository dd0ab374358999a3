//! The state of a run in the log when it is taken up: a fold over its thread's events. Pure.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::run::{Held, NodeNews, RunKey, RunNews, Slot};
use thinkd_event::worked::{Sign, Worked};

/// A run so far.
#[derive(Debug, Default)]
pub struct Past {
    /// The key of the run, and its input.
    pub started: Option<(RunKey, Held)>,
    /// True if it was worked on before.
    pub begun: bool,
    /// True if its end was asked for.
    pub cancel: bool,
    /// Times that it was taken up again, since it rested last.
    pub resumed: u64,
    /// Number of nodes that were started.
    pub nodes: u64,
    /// By place: the event that has the node's value, or says that it came to none.
    pub records: HashMap<String, Uuid>,
    worked: Worked,
}

impl Past {
    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        let fact = event.fact();
        Sign::of(&fact)
            .into_iter()
            .for_each(|sign| self.worked.take(sign, event.ts));
        match fact {
            Fact::Run(run) => match run.what {
                RunNews::Started { input, .. } => {
                    let input = input.map_or(Held::Here(Value::Null), Slot::to_held);
                    self.started = event.begins_run().map(|key| (key, input));
                    return;
                }
                RunNews::Cancel { .. } => {
                    self.cancel = true;
                    return;
                }
                RunNews::Continued { .. } => return,
                RunNews::Paused { .. } | RunNews::Parked => {
                    // What rests has come through: it does not end its server each time.
                    self.resumed = 0;
                    return;
                }
                RunNews::Resumed { .. } => self.resumed += 1,
                RunNews::Ended { .. } => {}
            },
            Fact::Node(node) => match node.what {
                NodeNews::Started { .. } => self.nodes += 1,
                // The last one counts: it is what later nodes saw.
                NodeNews::Recorded { .. } | NodeNews::Abandoned { .. } => {
                    self.records.insert(node.place.to_owned(), event.event_id);
                }
                NodeNews::Passed => {}
            },
            // Signs of work, whatever they say: calls to models, failures of nodes.
            _ => {}
        }
        self.begun = true;
    }

    /// Returns the time for which it was worked on, as far as its events tell.
    pub fn spent(&self) -> Duration {
        self.worked.spent()
    }
}
