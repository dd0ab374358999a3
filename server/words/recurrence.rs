//! Recurrence: the moments at which something is due, once, every so many seconds, or on days at a
//! local time. Pure: the time is an argument. The rules of time zones come with the program, so
//! that every server of a build has the same ones, regardless of those installed on its machine.
//! Long because the rules of the calendar are one table: the next due time, the missed ones, and
//! the refused values, for each kind.

use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time::Timestamp;

/// Most due times that are named one by one; of more the latest are.
pub const NAMED: usize = 100;
/// Days after which a search for the next one is given up: no month is without its day.
const DAYS: usize = 500;
/// The longest interval, in seconds.
const SECONDS_MAX: f64 = 3_155_760_000.0;

/// When something is due, as it is written: `kind` says which of the other members there are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The kind of recurrence.
    pub kind: RecurrenceKind,
    /// `once`: the moment, with any offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "2026-12-01T09:00:00+01:00")]
    pub at: Option<String>,
    /// `every`: how many seconds lie between two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 3600)]
    pub seconds: Option<f64>,
    /// `every`: one of the moments; all others are whole intervals away from it. When absent: the moment when this is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// `daily`, `weekly`, `monthly`: the local time, `HH:MM` or `HH:MM:SS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "09:00")]
    pub time: Option<String>,
    /// `daily`, `weekly`, `monthly`: the time zone, as IANA calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    pub zone: Option<String>,
    /// `weekly`: the days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<Vec<Weekday>>,
    /// `monthly`: the day, 1 to 28, or `last`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Day>,
}

/// A day of a month, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Day {
    /// The day of this number.
    Number(u64),
    /// `last`.
    Word(String),
}

/// Kinds of recurrence.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RecurrenceKind {
    /// At one moment.
    #[default]
    Once,
    /// At equal intervals.
    Every,
    /// Every day.
    Daily,
    /// On some days of the week.
    Weekly,
    /// On a day of the month.
    Monthly,
}

/// Days of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "everybody knows them")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

/// A member that cannot be as it is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The member.
    pub member: &'static str,
    /// The fault, and the right form.
    pub detail: String,
    /// True if the fault is in its form; the form does not say which time zones there are.
    pub of_form: bool,
}

fn wrong<T>(member: &'static str, detail: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong {
        member,
        detail: detail.into(),
        of_form: true,
    })
}

/// When something is due.
#[derive(Debug, Clone, PartialEq)]
pub enum Recurrence {
    /// At this moment.
    Once(Timestamp),
    /// At moments that are so many microseconds apart, one of which is `start`.
    Every {
        /// One of them.
        start: Timestamp,
        /// The time between two, in microseconds.
        micros: i64,
    },
    /// On days, at a local time.
    Local {
        /// The days.
        days: Days,
        /// The local time.
        time: Time,
        /// The time zone of the local time.
        zone: TimeZone,
    },
}

/// The days of a recurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Days {
    /// All.
    All,
    /// These of a week.
    OfWeek(Vec<Weekday>),
    /// This one of a month.
    OfMonth(i8),
    /// The last one of a month.
    LastOfMonth,
}

/// Due times in a row, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    /// The first.
    pub first: Timestamp,
    /// The last.
    pub last: Timestamp,
    /// The number of due times.
    pub count: u64,
    /// The latest of them, in order; all, if they are not very many.
    pub named: Vec<Timestamp>,
}

/// The due times that have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The due times that are too old to be caught up with.
    pub missed: Option<Times>,
    /// The due times of one run.
    pub run: Option<Times>,
    /// When it is due next.
    pub next: Option<Timestamp>,
}

impl When {
    /// The same, with a start where it needs one and has none.
    #[must_use]
    pub fn starting(mut self, now: Timestamp) -> Self {
        if self.kind == RecurrenceKind::Every && self.start.is_none() {
            self.start = Some(now.to_string());
        }
        self
    }

    /// The same with a start that is past, if it had begun at that moment: whole intervals earlier.
    #[must_use]
    pub fn begun(mut self, at: Timestamp, now: Timestamp) -> Self {
        if let Ok(Recurrence::Every { start, micros }) = self.read()
            && start <= at
            && start > now
        {
            let ahead = start.micros().saturating_sub(now.micros());
            let back = (ahead / micros + 1).saturating_mul(micros);
            self.start = Some(Timestamp::from_micros(start.micros() - back).to_string());
        }
        self
    }

    /// The recurrence that this describes, or all that is wrong with it.
    pub fn read(&self) -> Result<Recurrence, Vec<Wrong>> {
        let mut wrongs = self.strangers();
        let read = match self.kind {
            RecurrenceKind::Once => self
                .moment("at", self.at.as_deref())
                .map(Recurrence::Once)
                .map_err(|it| vec![it]),
            RecurrenceKind::Every => both(self.interval(), self.first(), |micros, start| {
                Recurrence::Every { start, micros }
            }),
            RecurrenceKind::Daily => self.local(Ok(Days::All)),
            RecurrenceKind::Weekly => self.local(self.days()),
            RecurrenceKind::Monthly => self.local(self.day()),
        };
        match read {
            Ok(recurrence) if wrongs.is_empty() => Ok(recurrence),
            Ok(_) => Err(wrongs),
            Err(more) => {
                wrongs.extend(more);
                Err(wrongs)
            }
        }
    }

    /// Members that are of another kind.
    fn strangers(&self) -> Vec<Wrong> {
        let own: &[&str] = match self.kind {
            RecurrenceKind::Once => &["at"],
            RecurrenceKind::Every => &["seconds", "start"],
            RecurrenceKind::Daily => &["time", "zone"],
            RecurrenceKind::Weekly => &["time", "zone", "days"],
            RecurrenceKind::Monthly => &["time", "zone", "day"],
        };
        let there = [
            ("at", self.at.is_some()),
            ("seconds", self.seconds.is_some()),
            ("start", self.start.is_some()),
            ("time", self.time.is_some()),
            ("zone", self.zone.is_some()),
            ("days", self.days.is_some()),
            ("day", self.day.is_some()),
        ];
        let strange = there
            .into_iter()
            .filter(|(member, is_there)| *is_there && !own.contains(member));
        let detail = format!("this kind of recurrence takes {}", own.join(", "));
        strange
            .map(|(member, _)| Wrong {
                member,
                detail: detail.clone(),
                of_form: true,
            })
            .collect()
    }

    fn moment(&self, member: &'static str, text: Option<&str>) -> Result<Timestamp, Wrong> {
        let Some(text) = text else {
            return wrong(member, format!("{member} is missing: an RFC 3339 time"));
        };
        match Timestamp::parse(text) {
            Some(moment) => Ok(moment),
            None => wrong(
                member,
                "an RFC 3339 time with an offset is expected here, as 2026-12-01T09:00:00+01:00",
            ),
        }
    }

    fn first(&self) -> Result<Timestamp, Wrong> {
        match self.start.as_deref() {
            // Whoever sets it says so: `starting`.
            None => Ok(Timestamp::from_micros(0)),
            start => self.moment("start", start),
        }
    }

    fn interval(&self) -> Result<i64, Wrong> {
        let Some(seconds) = self.seconds else {
            return wrong("seconds", "seconds is missing: how many lie between two");
        };
        if !(0.001..=SECONDS_MAX).contains(&seconds) {
            return wrong(
                "seconds",
                format!(
                    "every {seconds} seconds cannot be: a number from 0.001 to a hundred years is expected"
                ),
            );
        }
        Ok((seconds * 1000.0).round() as i64 * 1000)
    }

    fn days(&self) -> Result<Days, Wrong> {
        match self.days.as_deref() {
            None | Some([]) => wrong("days", "days is missing: a list of monday, tuesday, …"),
            Some(days) if days.len() > 7 => {
                wrong("days", "a week has seven days: each is named once")
            }
            Some(days) => Ok(Days::OfWeek(days.to_vec())),
        }
    }

    fn day(&self) -> Result<Days, Wrong> {
        let number = match &self.day {
            None => return wrong("day", "day is missing: 1 to 28, or \"last\""),
            Some(Day::Word(word)) if word == "last" => return Ok(Days::LastOfMonth),
            Some(Day::Word(_)) => 0,
            Some(Day::Number(number)) => *number,
        };
        match i8::try_from(number) {
            Ok(day @ 1..=28) => Ok(Days::OfMonth(day)),
            Ok(29..=31) => wrong(
                "day",
                format!(
                    "not every month has a day {number}: write \"last\" for the last day of every month"
                ),
            ),
            _ => wrong(
                "day",
                "a day of every month is expected here: 1 to 28, or \"last\"",
            ),
        }
    }

    fn local(&self, days: Result<Days, Wrong>) -> Result<Recurrence, Vec<Wrong>> {
        let place = both(self.time(), self.zone(), |time, zone| (time, zone));
        match (days, place) {
            (Ok(days), Ok((time, zone))) => Ok(Recurrence::Local { days, time, zone }),
            (days, place) => Err(days
                .err()
                .into_iter()
                .chain(place.err().into_iter().flatten())
                .collect()),
        }
    }

    fn time(&self) -> Result<Time, Wrong> {
        let Some(text) = self.time.as_deref() else {
            return wrong("time", "time is missing: HH:MM or HH:MM:SS");
        };
        let is_number =
            |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        let number = |part: &str| part.parse::<i8>().ok().filter(|_| is_number(part));
        let parts: Option<Vec<i8>> = text.split(':').map(number).collect();
        let time = parts.and_then(|parts| match parts[..] {
            [hour, minute] => Time::new(hour, minute, 0, 0).ok(),
            [hour, minute, second] => Time::new(hour, minute, second, 0).ok(),
            _ => None,
        });
        time.map_or_else(
            || {
                wrong(
                    "time",
                    "a local time is expected here, HH:MM or HH:MM:SS, as 09:00",
                )
            },
            Ok,
        )
    }

    fn zone(&self) -> Result<TimeZone, Wrong> {
        let Some(name) = self.zone.as_deref() else {
            return wrong("zone", "zone is missing, as Europe/Berlin");
        };
        let known = super::time::zone(name);
        let name: String = name.chars().take(40).collect();
        let detail = format!(
            "there is no time zone {name:?}; zones have names of the IANA database, as Europe/Berlin or UTC"
        );
        known.ok_or(Wrong {
            member: "zone",
            detail,
            of_form: false,
        })
    }
}

/// Of two, or all that is wrong with them.
fn both<A, B, C>(
    one: Result<A, Wrong>,
    other: Result<B, Wrong>,
    of: impl Fn(A, B) -> C,
) -> Result<C, Vec<Wrong>> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok(of(one, other)),
        (one, other) => Err(one.err().into_iter().chain(other.err()).collect()),
    }
}

impl Recurrence {
    /// The first due time after a moment; none where there is none before the year 9999 ends.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Once(at) => Some(*at).filter(|at| *at > after),
            Self::Every { start, micros } => {
                let since = after.micros().checked_sub(start.micros())?;
                let steps = if since < 0 { 0 } else { since / micros + 1 };
                let next = steps.checked_mul(*micros)?.checked_add(start.micros())?;
                moment(next).map(|_| Timestamp::from_micros(next))
            }
            Self::Local { days, time, zone } => {
                let today = zone.to_datetime(moment(after.micros())?).date();
                // What falls into a gap at the end of yesterday comes today.
                let mut date = today.yesterday().unwrap_or(today);
                for _ in 0..DAYS {
                    if days.has(date)
                        && let Some(at) = instant(date, *time, zone).filter(|at| *at > after)
                    {
                        return Some(at);
                    }
                    date = date.tomorrow().ok()?;
                }
                None
            }
        }
    }

    /// The due times from one moment to another, both included.
    pub fn times(&self, from: Timestamp, to: Timestamp) -> Option<Times> {
        let first = self
            .next(Timestamp::from_micros(from.micros().checked_sub(1)?))
            .filter(|first| *first <= to)?;
        if let Self::Every { micros, .. } = self {
            let more = (to.micros() - first.micros()) / micros;
            let at = |index: i64| Timestamp::from_micros(first.micros() + index * micros);
            let named = (0.max(more + 1 - NAMED as i64)..=more).map(at).collect();
            return Some(Times {
                first,
                last: at(more),
                count: more.unsigned_abs() + 1,
                named,
            });
        }
        let mut times = Times {
            first,
            last: first,
            count: 1,
            named: vec![first],
        };
        while let Some(next) = self.next(times.last).filter(|next| *next <= to) {
            times.last = next;
            times.count += 1;
            times.named.push(next);
            if times.named.len() >= 2 * NAMED {
                times.named.drain(..NAMED);
            }
        }
        times.named.drain(..times.named.len().saturating_sub(NAMED));
        Some(times)
    }

    /// Returns the times due since `since`, a due time: those that lie back further than `catch_up`
    /// microseconds are missed.
    pub fn due(&self, since: Timestamp, now: Timestamp, catch_up: i64) -> Due {
        let edge = Timestamp::from_micros(now.micros().saturating_sub(catch_up));
        let before = Timestamp::from_micros(edge.micros().saturating_sub(1));
        let missed = self.times(since, before);
        let run = self.times(since.max(edge), now);
        // The rules of a zone may have changed with the build: a time that they do not have any more was promised all the same.
        let is_promised = missed.is_none() && run.is_none() && since <= now;
        let promised = || Times {
            first: since,
            last: since,
            count: 1,
            named: vec![since],
        };
        let run = run.or_else(|| is_promised.then(promised));
        Due {
            missed,
            run,
            next: self.next(now.max(since)),
        }
    }
}

impl Days {
    fn has(&self, date: Date) -> bool {
        match self {
            Self::All => true,
            Self::OfWeek(days) => days
                .iter()
                .any(|day| *day as i8 == date.weekday().to_monday_zero_offset()),
            Self::OfMonth(day) => date.day() == *day,
            Self::LastOfMonth => date == date.last_of_month(),
        }
    }
}

fn moment(micros: i64) -> Option<jiff::Timestamp> {
    jiff::Timestamp::from_microsecond(micros).ok()
}

/// The moment of a local time on a day, exactly one: where clocks go back, the first; where they go forward over it, the first one after. None
/// on a day that a zone has left out, and beyond the calendar.
fn instant(date: Date, time: Time, zone: &TimeZone) -> Option<Timestamp> {
    let local = date.to_datetime(time);
    let at = match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(local).ok()?,
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(local).ok()?,
        AmbiguousOffset::Gap { before, after } => {
            let change = zone
                .following(after.to_timestamp(local).ok()?)
                .next()?
                .timestamp();
            let begin = before.to_datetime(change);
            let end = after.to_datetime(change);
            let has_begun = begin.date() == date && begin.time() != Time::midnight();
            (has_begun || end.date() == date).then_some(change)?
        }
    };
    Some(Timestamp::from_micros(at.as_microsecond()))
}
