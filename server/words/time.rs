//! Timestamps as the log writes them. They order nothing; order is `seq`.

use std::fmt;

use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::well_known::{Rfc2822, Rfc3339};
use time::macros::format_description;
use time::{Duration, OffsetDateTime, UtcOffset};

/// Clocks of servers differ by so many microseconds at most; one that was further ahead was wrong.
pub const SKEW: i64 = 5_000_000;

/// A timestamp in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `micros` microseconds after 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// The moment so many microseconds later, or the last one there is.
    pub const fn after(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// Whole seconds since 1970.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// The moment written as RFC 3339 with any offset and any number of fractional digits (cut to microseconds).
    pub fn parse(text: &str) -> Option<Self> {
        // One that lies beyond the year 9999 elsewhere could not be written down again.
        let moment = OffsetDateTime::parse(text, &Rfc3339)
            .ok()?
            .checked_to_offset(UtcOffset::UTC)?;
        i64::try_from(moment.unix_timestamp_nanos().div_euclid(1000))
            .ok()
            .map(Self)
    }

    /// The moment as HTTP's headers write it, to the second.
    pub fn parse_http(text: &str) -> Option<Self> {
        // RFC 2822's form but for the name of its zone.
        let moment = OffsetDateTime::parse(&text.replace("GMT", "+0000"), &Rfc2822).ok()?;
        moment.unix_timestamp().checked_mul(1_000_000).map(Self)
    }
}

impl fmt::Display for Timestamp {
    /// `2026-11-21T04:25:00.123456Z`: always six fractional digits and `Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FORMAT: &[time::format_description::BorrowedFormatItem<'_>] = format_description!(
            "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z"
        );
        let moment = OffsetDateTime::UNIX_EPOCH
            .checked_add(Duration::microseconds(self.0))
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
            .to_offset(UtcOffset::UTC);
        f.write_str(&moment.format(FORMAT).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 time"))
    }
}

/// The time zone of this name in the IANA database, which is built in; its names are read without
/// regard to case.
pub fn zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok().filter(|zone| !zone.is_unknown())
}

/// Reads the wall clock. Only drivers and the store call this: pure code gets the time as an argument.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the wall clock is read"
)]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
