//! The time that a run was worked on, as far as its events tell: a fold over them. No work is
//! counted while it rests. Nor is any between the last sign of one server and the first of another
//! that takes the run up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fact::Fact;
use super::fact::run::RunNews;
use thinkd_words::time::Timestamp;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Worked {
    /// The first and the last sign of work since it was last taken up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    span: Option<(Timestamp, Timestamp)>,
    /// Microseconds of work before that.
    #[serde(default)]
    before: i64,
}

/// The sign of work, or of rest, in an event of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The run is worked on.
    Works,
    /// The run is worked on again, after its server ended.
    TakenUp,
    /// The run rests from now on.
    Rests,
}

impl Sign {
    /// Reads the sign of a fact; none: the fact is not of the server that works on the run.
    pub fn of(fact: &Fact<'_>) -> Option<Self> {
        let Fact::Run(run) = fact else {
            return Some(Self::Works);
        };
        match run.what {
            RunNews::Started { .. } | RunNews::Cancel { .. } | RunNews::Continued { .. } => None,
            RunNews::Paused { .. } | RunNews::Parked => Some(Self::Rests),
            RunNews::Resumed { .. } => Some(Self::TakenUp),
            RunNews::Ended { .. } => Some(Self::Works),
        }
    }
}

impl Worked {
    /// Takes in the sign of an event.
    pub fn take(&mut self, sign: Sign, at: Timestamp) {
        if sign != Sign::Works {
            self.before += self.in_span();
            self.span = None;
        }
        if sign != Sign::Rests {
            self.span = Some((self.span.map_or(at, |(since, _)| since), at));
        }
    }

    /// Returns the time that it was worked on.
    pub fn spent(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.before + self.in_span()).unwrap_or(0))
    }

    fn in_span(&self) -> i64 {
        self.span
            .map_or(0, |(since, last)| last.micros() - since.micros())
    }
}
