//! Reflection: the setting `reflection_s` sets a schedule, which tells the thread `reflection` at
//! that pace to think for itself. Its claims about the world go through trials like any other
//! claim. Without the setting there is no schedule, and nothing is written.

use serde_json::Value;

use super::handle::Runtime;
use super::refused::Refused;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::Change;
use thinkd_event::schedule::{Overlap, Schedule};
use thinkd_words::id::{Name, ThreadId};
use thinkd_words::recurrence::{RecurrenceKind, When};
use thinkd_words::time::{self, Timestamp};

/// The schedule, the thread that it goes to, and its trigger.
const REFLECTION: &str = "reflection";

impl Runtime {
    /// Returns the change of the schedule by a value of the setting.
    pub(super) fn reflection(&self, value: &Value) -> Result<Draft, Refused> {
        let reflecting = |seconds| self.reflecting(seconds, time::now());
        let schedule = value.as_f64().map(reflecting).transpose()?;
        Ok(Draft::set(
            &ThreadId::default(),
            REFLECTION,
            Change::Schedule(schedule.map(Box::new)),
        ))
    }

    fn reflecting(&self, seconds: f64, now: Timestamp) -> Result<Schedule, Refused> {
        let invalid =
            |error: thinkd_words::id::InvalidId| Refused::Unprocessable(error.to_string());
        let prompts = self.0.ground.mind.client.prompts();
        let text = prompts.reflection.source().as_str();
        let schedule = Schedule {
            thread: ThreadId::parse(REFLECTION).map_err(invalid)?,
            event: Name::parse(REFLECTION).map_err(invalid)?,
            payload: [("text".to_owned(), text.into())].into_iter().collect(),
            when: When {
                kind: RecurrenceKind::Every,
                seconds: Some(seconds),
                ..When::default()
            }
            .starting(now),
            // Reflections do not pile up, and one that was missed is not made up for.
            overlap: Overlap::Skip,
            catch_up_s: seconds.max(1.0),
            note: "set by the setting reflection_s".into(),
            paused: false,
            due: None,
            through: None,
            last: None,
            set: Some(now),
            root: None,
        };
        let due = self.first_due(&schedule, now)?;
        Ok(Schedule { due, ..schedule })
    }
}
