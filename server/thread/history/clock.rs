//! The clock of views says in which zone it shows a time. A space may set its zone; an entry has
//! the zone that was set when its event was stored. So it is always written the same way, and a new
//! zone changes nothing that models have seen.

use std::fmt::Write as _;

use jiff::tz::TimeZone;

use thinkd_event::envelope::Event;
use thinkd_words::id::Seq;
use thinkd_words::time::zone;

/// The last renderer that named no zone in entries; those before it named none either.
const UNNAMED: u64 = 3;

/// The clock of a space that has set no zone.
pub(super) static UTC: Clock = Clock {
    changes: Vec::new(),
    is_unnamed: false,
};

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    /// The zones that were set, by the events that set them.
    changes: Vec<(Seq, TimeZone)>,
    /// Entries name no zone, as early renderers wrote them.
    is_unnamed: bool,
}

impl Clock {
    /// The clock of a space in which these zones were set, oldest first. A name that this build does
    /// not know stands for UTC.
    pub fn of(changes: impl IntoIterator<Item = (Seq, String)>) -> Self {
        let zone = |(seq, name): (Seq, String)| (seq, zone(&name).unwrap_or(TimeZone::UTC));
        Self {
            changes: changes.into_iter().map(zone).collect(),
            is_unnamed: false,
        }
    }

    /// The event that set the zone last; 0: none has.
    pub fn seq(&self) -> Seq {
        self.changes.last().map_or(0, |(seq, _)| *seq)
    }

    /// The clock as it was for a call of this renderer that knew of changes up to this one.
    pub fn of_record(&self, renderer: u64, seq: Seq) -> Self {
        let known = self.changes.partition_point(|(at, _)| *at <= seq);
        Self {
            changes: self.changes[..known].to_vec(),
            is_unnamed: renderer <= UNNAMED,
        }
    }

    /// The time of an event to the minute, and its zone: `2026-11-21 04:25 UTC`.
    pub(super) fn time(&self, event: &Event) -> String {
        let set = self.changes.partition_point(|(at, _)| *at < event.seq);
        let zone = set.checked_sub(1).map(|at| &self.changes[at].1);
        let local = zone.and_then(|zone| {
            let name = zone.iana_name()?;
            let moment = jiff::Timestamp::from_microsecond(event.ts.micros()).ok()?;
            Some((zone.to_datetime(moment), name))
        });
        let mut time = String::with_capacity(24);
        // Writing to a String cannot fail.
        if let Some((local, name)) = local.filter(|_| !self.is_unnamed) {
            let year = local.year();
            let month = local.month();
            let day = local.day();
            let _ = write!(time, "{year:04}-{month:02}-{day:02}");
            let _ = write!(time, " {:02}:{:02} {name}", local.hour(), local.minute());
            return time;
        }
        let utc = event.ts.to_string();
        let date = utc.get(..10).unwrap_or_default();
        let minute = utc.get(11..16).unwrap_or_default();
        let _ = write!(time, "{date} {minute}");
        if !self.is_unnamed {
            time.push_str(" UTC");
        }
        time
    }
}
