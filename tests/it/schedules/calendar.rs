//! When something is due, as pure functions: at clock changes, at the ends of months, over whole weeks, for any schedule.

use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde_json::{Value, json};
use thinkd_words::recurrence::{Due, NAMED, Recurrence, Times, When};
use thinkd_words::time::Timestamp;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;
const DAY: i64 = 24 * HOUR;
/// Zones that change their clocks by an hour, by half an hour, at midnight, over the date line, and never.
const ZONES: [&str; 8] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Africa/Cairo",
    "Pacific/Apia",
    "Asia/Kolkata",
    "UTC",
];

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap_or_else(|| panic!("{text}"))
}

fn of(when: Value) -> Recurrence {
    serde_json::from_value::<When>(when)
        .unwrap()
        .read()
        .unwrap()
}

fn daily(time: &str, zone: &str) -> Recurrence {
    of(json!({ "kind": "daily", "time": time, "zone": zone }))
}

/// So many due times after a moment, to the second.
fn next(recurrence: &Recurrence, after: &str, count: usize) -> Vec<String> {
    let mut all = vec![at(after)];
    for _ in 0..count {
        all.push(recurrence.next(*all.last().unwrap()).unwrap());
    }
    all[1..]
        .iter()
        .map(|moment| format!("{}Z", &moment.to_string()[..19]))
        .collect()
}

#[test]
fn a_day_has_one_due_time_where_clocks_go_forward_over_it_and_it_is_the_first_moment_after() {
    let berlin = daily("02:30", "Europe/Berlin");
    let around = [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-30T00:30:00Z",
    ];
    assert_eq!(next(&berlin, "2026-03-27T12:00:00Z", 3), around);
    let new_york = daily("02:30", "America/New_York");
    let around = [
        "2026-03-07T07:30:00Z",
        "2026-03-08T07:00:00Z",
        "2026-03-09T06:30:00Z",
    ];
    assert_eq!(next(&new_york, "2026-03-06T12:00:00Z", 3), around);
    // By half an hour.
    let lord_howe = daily("02:15", "Australia/Lord_Howe");
    let around = [
        "2026-10-02T15:45:00Z",
        "2026-10-03T15:30:00Z",
        "2026-10-04T15:15:00Z",
    ];
    assert_eq!(next(&lord_howe, "2026-10-02T12:00:00Z", 3), around);
}

#[test]
fn a_day_has_one_due_time_where_clocks_go_back_over_it_and_it_is_the_first() {
    let berlin = daily("02:30", "Europe/Berlin");
    let around = [
        "2026-10-24T00:30:00Z",
        "2026-10-25T00:30:00Z",
        "2026-10-26T01:30:00Z",
    ];
    assert_eq!(next(&berlin, "2026-10-23T12:00:00Z", 3), around);
    let new_york = daily("01:30", "America/New_York");
    let around = [
        "2026-10-31T05:30:00Z",
        "2026-11-01T05:30:00Z",
        "2026-11-02T06:30:00Z",
    ];
    assert_eq!(next(&new_york, "2026-10-30T12:00:00Z", 3), around);
    let lord_howe = daily("01:45", "Australia/Lord_Howe");
    let around = [
        "2026-04-03T14:45:00Z",
        "2026-04-04T14:45:00Z",
        "2026-04-05T15:15:00Z",
    ];
    assert_eq!(next(&lord_howe, "2026-04-03T12:00:00Z", 3), around);
}

// Samoa went over the date line: there was no 30th of December 2011.
#[test]
fn a_day_that_a_zone_left_out_has_no_due_time() {
    let around = [
        "2011-12-28T19:00:00Z",
        "2011-12-29T19:00:00Z",
        "2011-12-30T19:00:00Z",
        "2011-12-31T19:00:00Z",
    ];
    assert_eq!(
        next(&daily("09:00", "Pacific/Apia"), "2011-12-28T12:00:00Z", 4),
        around
    );
}

#[test]
fn weeks_and_months_have_their_days() {
    let weekly = of(
        json!({ "kind": "weekly", "days": ["friday", "monday"], "time": "23:59:59", "zone": "UTC" }),
    );
    let days = [
        "2026-11-23T23:59:59Z",
        "2026-11-27T23:59:59Z",
        "2026-11-30T23:59:59Z",
    ];
    assert_eq!(next(&weekly, "2026-11-23T12:00:00Z", 3), days);
    let last = of(json!({ "kind": "monthly", "day": "last", "time": "00:00", "zone": "UTC" }));
    let days = [
        "2028-01-31T00:00:00Z",
        "2028-02-29T00:00:00Z",
        "2028-03-31T00:00:00Z",
        "2028-04-30T00:00:00Z",
    ];
    assert_eq!(next(&last, "2028-01-01T00:00:00Z", 4), days);
    let monthly =
        of(json!({ "kind": "monthly", "day": 28, "time": "09:00", "zone": "Europe/Berlin" }));
    assert_eq!(
        next(&monthly, "2027-02-01T00:00:00Z", 2),
        ["2027-02-28T08:00:00Z", "2027-03-28T07:00:00Z"]
    );
}

// "Every day" is not "every 24 hours", and an interval does not drift: it is anchored.
#[test]
fn an_interval_is_anchored_at_its_start() {
    let start = "2026-03-28T01:30:00.250000Z";
    let every = of(json!({ "kind": "every", "seconds": 86400, "start": start }));
    assert_eq!(
        every.next(at("2026-01-01T00:00:00Z")),
        Some(at(start)),
        "none before"
    );
    assert_eq!(
        every.next(at(start)),
        Some(at("2026-03-29T01:30:00.250000Z"))
    );
    assert_eq!(
        every.next(at("2026-03-31T01:30:00.249999Z")),
        Some(at("2026-03-31T01:30:00.250000Z"))
    );
    assert_eq!(
        every.next(at("2026-03-31T01:30:00.250000Z")),
        Some(at("2026-04-01T01:30:00.250000Z"))
    );
}

#[test]
fn a_server_that_was_away_catches_up_in_one_run_and_names_what_it_missed() {
    let hourly = of(json!({ "kind": "every", "seconds": 3600, "start": "2026-11-01T00:00:00Z" }));
    let since = at("2026-11-10T00:00:00Z");
    // For an hour and a half.
    let due = hourly.due(since, at("2026-11-10T01:30:00Z"), DAY);
    let run = due.run.unwrap();
    assert_eq!((due.missed, run.count, run.named.len()), (None, 2, 2));
    assert_eq!(due.next, Some(at("2026-11-10T02:00:00Z")));
    // For a week: the last day is caught up with.
    let due = hourly.due(since, at("2026-11-17T00:30:00Z"), DAY);
    let missed = due.missed.unwrap();
    let run = due.run.unwrap();
    assert_eq!(
        (missed.first, missed.last, missed.count),
        (since, at("2026-11-16T00:00:00Z"), 145)
    );
    assert_eq!(
        (run.first, run.last, run.count),
        (at("2026-11-16T01:00:00Z"), at("2026-11-17T00:00:00Z"), 24)
    );
    assert_eq!(due.next, Some(at("2026-11-17T01:00:00Z")));
    // Once, and too late.
    let once = of(json!({ "kind": "once", "at": "2026-11-10T00:00:00Z" }));
    let due = once.due(since, at("2026-11-17T00:00:00Z"), DAY);
    assert_eq!(
        (due.missed.unwrap().count, due.run, due.next),
        (1, None, None)
    );
}

// The oldest due time that is caught up with is in the run alone.
#[test]
fn the_edge_of_the_window_is_caught_up_with_and_not_missed() {
    let hourly = of(json!({ "kind": "every", "seconds": 3600, "start": "2026-11-01T00:00:00Z" }));
    let since = at("2026-11-10T00:00:00Z");
    let now = at("2026-11-10T05:00:00Z");
    let due = hourly.due(since, now, 2 * HOUR);
    let missed = due.missed.unwrap();
    let run = due.run.unwrap();
    assert_eq!((missed.last, missed.count), (at("2026-11-10T02:00:00Z"), 3));
    assert_eq!(
        (run.first, run.last, run.count),
        (at("2026-11-10T03:00:00Z"), now, 3)
    );
}

// The rules of a zone changed with the build: what was promised by the old ones is kept, and what follows goes by the new ones.
#[test]
fn a_due_time_that_its_zone_does_not_have_any_more_is_kept() {
    let berlin = daily("09:00", "Europe/Berlin");
    let since = at("2026-11-10T07:00:00Z");
    let due = berlin.due(since, at("2026-11-10T07:00:01Z"), DAY);
    let run = due.run.unwrap();
    assert_eq!((run.first, run.count, run.named), (since, 1, vec![since]));
    assert_eq!(
        (due.missed, due.next),
        (None, Some(at("2026-11-10T08:00:00Z")))
    );
}

// A clock that goes back makes nothing due that was due before.
#[test]
fn a_clock_that_is_set_back_makes_nothing_due_again() {
    let every = of(json!({ "kind": "every", "seconds": 60, "start": "2026-11-10T00:00:00Z" }));
    let since = at("2026-11-10T12:00:00Z");
    let due = every.due(since, at("2026-11-10T11:00:00Z"), DAY);
    assert_eq!(
        (due.missed, due.run, due.next),
        (None, None, Some(at("2026-11-10T12:01:00Z")))
    );
}

fn moments() -> impl Strategy<Value = Timestamp> {
    let from = at("2005-01-01T00:00:00Z").micros();
    let to = at("2045-01-01T00:00:00Z").micros();
    (from..to).prop_map(Timestamp::from_micros)
}

fn recurrences() -> impl Strategy<Value = Recurrence> {
    let zone = prop::sample::select(&ZONES[..]);
    let time = (0..24u32, 0..60u32, 0..60u32).prop_map(|(h, m, s)| format!("{h:02}:{m:02}:{s:02}"));
    let days = prop::sample::subsequence(
        vec![
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "saturday",
            "sunday",
        ],
        1..=7,
    );
    let local =
        (zone, time, days, 1..=29u32, 0..3u32).prop_map(
            |(zone, time, days, day, kind)| match kind {
                0 => json!({ "kind": "daily", "time": time, "zone": zone }),
                1 => json!({ "kind": "weekly", "time": time, "zone": zone, "days": days }),
                _ if day == 29 => {
                    json!({ "kind": "monthly", "time": time, "zone": zone, "day": "last" })
                }
                _ => json!({ "kind": "monthly", "time": time, "zone": zone, "day": day }),
            },
        );
    let every = (moments(), 1..10_000_000u32).prop_map(|(start, milliseconds)| {
        let seconds = f64::from(milliseconds) / 1000.0;
        json!({ "kind": "every", "seconds": seconds, "start": start.to_string() })
    });
    let once = moments().prop_map(|at| json!({ "kind": "once", "at": at.to_string() }));
    prop_oneof![3 => local, 2 => every, 1 => once].prop_map(of)
}

/// All due times from one moment to another, one after the other.
fn walked(recurrence: &Recurrence, from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
    let first = recurrence.next(Timestamp::from_micros(from.micros() - 1));
    std::iter::successors(first, |last| recurrence.next(*last))
        .take_while(|moment| *moment <= to)
        .collect()
}

fn all(times: &Option<Times>) -> u64 {
    times.as_ref().map_or(0, |times| times.count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn due_times_only_go_forward(recurrence in recurrences(), after in moments()) {
        let mut last = after;
        for _ in 0..40 {
            let Some(next) = recurrence.next(last) else { break };
            prop_assert!(next > last);
            prop_assert_eq!(recurrence.next(Timestamp::from_micros(next.micros() - 1)), Some(next), "nothing lies between");
            last = next;
        }
    }

    // Years, clock changes included. The reader of the calendar is another piece of the library than the one that found the moments.
    #[test]
    fn every_day_has_exactly_one(zone in prop::sample::select(&ZONES[..]), h in 0..24i8, m in 0..60i8, after in moments()) {
        let recurrence = daily(&format!("{h:02}:{m:02}"), zone);
        let tz = TimeZone::get(zone).unwrap();
        let wanted = jiff::civil::time(h, m, 0, 0);
        let local = |moment: Timestamp| tz.to_datetime(jiff::Timestamp::from_microsecond(moment.micros()).unwrap());
        let mut last = recurrence.next(after).unwrap();
        for _ in 0..800 {
            let next = recurrence.next(last).unwrap();
            let before = local(last);
            let now = local(next);
            let tomorrow = before.date().tomorrow().unwrap();
            let left_out = zone == "Pacific/Apia" && tomorrow == jiff::civil::date(2011, 12, 30);
            let expected = if left_out { tomorrow.tomorrow().unwrap() } else { tomorrow };
            prop_assert_eq!(now.date(), expected, "{} after {}", now, before);
            prop_assert!(now.time() >= wanted, "{} is before {}", now, wanted);
            if now.time() != wanted {
                let a_moment_before = local(Timestamp::from_micros(next.micros() - 1));
                prop_assert!(a_moment_before < now.date().to_datetime(wanted), "{} is not the end of a gap", now);
            }
            last = next;
        }
    }

    #[test]
    fn an_interval_never_leaves_its_anchor(start in moments(), seconds in 1..1_000_000i64, after in moments()) {
        let recurrence = of(json!({ "kind": "every", "seconds": seconds, "start": start.to_string() }));
        let next = recurrence.next(after).unwrap();
        prop_assert_eq!((next.micros() - start.micros()) % (seconds * SECOND), 0);
        prop_assert!(next > after && next >= start);
        prop_assert!(next == start || next.micros() - after.micros() <= seconds * SECOND);
    }

    // However long nobody was there: each due time is in the run or among the missed, exactly once, and the next one is to come.
    #[test]
    fn each_due_time_is_caught_up_with_or_missed(
        recurrence in recurrences(),
        from in moments(),
        away in 0..40 * DAY,
        catch_up in 0..3 * DAY,
    ) {
        let Some(since) = recurrence.next(from) else { return Ok(()) };
        // Few enough to walk.
        let away = if let Recurrence::Every { micros, .. } = &recurrence { away.min(micros * 3000) } else { away };
        let now = Timestamp::from_micros(since.micros() + away);
        let expected = walked(&recurrence, since, now);
        let Due { missed, run, next } = recurrence.due(since, now, catch_up);
        prop_assert_eq!(all(&missed) + all(&run), expected.len() as u64);
        let split = all(&missed) as usize;
        for (times, expected) in [(missed, &expected[..split]), (run, &expected[split..])] {
            let Some(times) = times else { continue };
            prop_assert_eq!(Some(&times.first), expected.first());
            prop_assert_eq!(Some(&times.last), expected.last());
            let named = &expected[expected.len().saturating_sub(NAMED)..];
            prop_assert_eq!(&times.named[..], named);
        }
        prop_assert!(expected.iter().take(split).all(|moment| moment.micros() < now.micros() - catch_up));
        prop_assert!(expected.iter().skip(split).all(|moment| moment.micros() >= now.micros() - catch_up));
        prop_assert_eq!(next, recurrence.next(now));
    }
}

#[test]
fn what_cannot_be_is_named_member_by_member() {
    for (when, member, says) in [
        (json!({ "kind": "once" }), "at", "missing"),
        (
            json!({ "kind": "once", "at": "tomorrow" }),
            "at",
            "RFC 3339",
        ),
        (
            json!({ "kind": "every", "seconds": 0 }),
            "seconds",
            "every 0 seconds",
        ),
        (
            json!({ "kind": "every", "seconds": -5 }),
            "seconds",
            "from 0.001",
        ),
        (
            json!({ "kind": "every", "seconds": 1e300 }),
            "seconds",
            "hundred years",
        ),
        (json!({ "kind": "every" }), "seconds", "missing"),
        (
            json!({ "kind": "every", "seconds": 5, "start": "now" }),
            "start",
            "RFC 3339",
        ),
        (
            json!({ "kind": "daily", "time": "09:00" }),
            "zone",
            "missing",
        ),
        (
            json!({ "kind": "daily", "time": "09:00", "zone": "Mars/Olympus" }),
            "zone",
            "no time zone",
        ),
        (
            json!({ "kind": "daily", "time": "9:00", "zone": "UTC" }),
            "time",
            "HH:MM",
        ),
        (
            json!({ "kind": "daily", "time": "24:00", "zone": "UTC" }),
            "time",
            "HH:MM",
        ),
        (
            json!({ "kind": "daily", "time": "09:00", "zone": "UTC", "day": 3 }),
            "day",
            "takes time, zone",
        ),
        (
            json!({ "kind": "weekly", "time": "09:00", "zone": "UTC", "days": [] }),
            "days",
            "missing",
        ),
        (
            json!({ "kind": "monthly", "time": "09:00", "zone": "UTC", "day": 31 }),
            "day",
            "write \"last\"",
        ),
        (
            json!({ "kind": "monthly", "time": "09:00", "zone": "UTC", "day": 29 }),
            "day",
            "write \"last\"",
        ),
        (
            json!({ "kind": "monthly", "time": "09:00", "zone": "UTC", "day": 0 }),
            "day",
            "1 to 28",
        ),
        (
            json!({ "kind": "monthly", "time": "09:00", "zone": "UTC", "day": "first" }),
            "day",
            "1 to 28",
        ),
    ] {
        let wrongs = serde_json::from_value::<When>(when.clone())
            .unwrap()
            .read()
            .unwrap_err();
        assert!(
            wrongs
                .iter()
                .any(|it| it.member == member && it.detail.contains(says)),
            "{when}: {wrongs:?}"
        );
    }
    let all = json!({ "kind": "monthly", "time": "x", "zone": "y", "day": 31, "at": "z" });
    let wrongs = serde_json::from_value::<When>(all)
        .unwrap()
        .read()
        .unwrap_err();
    assert_eq!(wrongs.len(), 4, "all at once: {wrongs:?}");
}
