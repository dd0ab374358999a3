//! How long a run was worked on, as far as its events tell: a fold over them. While it rests, and between the last sign of work of one server and
//! the first of another that takes it up, it is not worked on.

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

/// What an event of a run says of work on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// It is worked on.
    Works,
    /// It is worked on again, after its server ended.
    TakenUp,
    /// It rests from now on.
    Rests,
}

impl Sign {
    /// What an event says; none: somebody else than who works on it has said something.
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
    /// Takes in what an event says.
    pub fn take(&mut self, sign: Sign, at: Timestamp) {
        if sign != Sign::Works {
            self.before += self.in_span();
            self.span = None;
        }
        if sign != Sign::Rests {
            self.span = Some((self.span.map_or(at, |(since, _)| since), at));
        }
    }

    /// How long it was worked on.
    pub fn spent(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.before + self.in_span()).unwrap_or(0))
    }

    fn in_span(&self) -> i64 {
        self.span
            .map_or(0, |(since, last)| last.micros() - since.micros())
    }
}
