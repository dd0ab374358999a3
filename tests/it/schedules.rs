//! Schedules: each due time in exactly one run or one event that says why there is none, on any
//! number of servers, through any fault.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::Change;
use thinkd_event::schedule::Schedule;
use thinkd_words::id::{Name, ThreadId};
use thinkd_words::time::{Timestamp, now};

use kit::app::rows_are_what_the_log_says;
use kit::*;

mod calendar;
mod changes;

/// Returns a server on which schedules may be quick. It looks for schedules that other servers have
/// set so seldom that a test would notice.
fn quick(medium: Medium, stub: &Stub) -> Setup {
    Setup::new(medium, stub)
        .env("THINKD_TEST_LIMITS__SCHEDULE_INTERVAL_MS", 20)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 10_000)
        .env("THINKD_TEST_RUNTIME__LEASE_MS", 1500)
}

fn every(seconds: f64) -> Value {
    json!({ "kind": "every", "seconds": seconds, "start": "2026-01-01T00:00:00Z" })
}

async fn set(app: &App, name: &str, when: Value, more: Value) -> Value {
    let mut body = json!({ "name": name, "when": when });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().cloned().unwrap_or_default());
    app.post("/schedules", body).await.expect(201)
}

/// The events of a schedule's firings, in order.
fn fired<'a>(log: &'a [Value], name: &str) -> Vec<&'a Value> {
    let tag = format!("schedule:{name}");
    log.iter().filter(|event| has(event, &tag)).collect()
}

fn runs<'a>(log: &'a [Value], name: &str) -> Vec<&'a Value> {
    fired(log, name)
        .into_iter()
        .filter(|event| has(event, "input"))
        .collect()
}

/// The due times that events name, one by one.
fn due(events: &[&Value]) -> Vec<Timestamp> {
    let named = events.iter().flat_map(|event| {
        event["payload"]["schedule"]["due"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    });
    named
        .map(|time| Timestamp::parse(time.as_str().unwrap()).unwrap())
        .collect()
}

/// Asserts that due times are those of an interval, none left out and none twice.
#[track_caller]
fn without_gap(due: &[Timestamp], seconds: f64) {
    let step = (seconds * 1e6) as i64;
    assert!(
        due.windows(2)
            .all(|pair| pair[1].micros() - pair[0].micros() == step),
        "{due:?}"
    );
    assert!(due.iter().all(|time| time.micros() % step == 0), "{due:?}");
}

/// Waits until a schedule has run so often.
async fn ran(app: &App, name: &str, count: usize) -> Vec<Value> {
    app.until_some(&format!("run {count} of {name}"), async || {
        let log = app.public_log().await;
        let runs = runs(&log, name).len();
        (runs >= count).then_some(log)
    })
    .await
}

fn hm(stub: &Stub) {
    stub.on(any, reply("hm"));
}

// T4.70: once for every due time, anchored, across a restart; and no more when it is removed.
on_both!(
    t4_70_a_schedule_fires_once_per_due_time_also_across_a_restart,
    |medium| {
        let stub = Stub::start().await;
        hm(&stub);
        let mut app = quick(medium, &stub).start().await;
        let brings = json!({ "thread": "bell", "event": "ring", "payload": { "text": "Ding.", "loud": 3 }, "overlap": "queue" });
        let made = set(&app, "bell", every(0.2), brings).await;
        assert_eq!(
            (&made["name"], &made["event"], &made["overlap"]),
            (&json!("bell"), &json!("ring"), &json!("queue"))
        );
        assert!(made["next"].is_string() && made["last"].is_null(), "{made}");
        let log = ran(&app, "bell", 3).await;
        let first = runs(&log, "bell")[0];
        assert_eq!(
            tags(first),
            ["input", "type:trigger", "trigger:ring", "schedule:bell"]
        );
        assert_eq!(
            (said(first), &first["payload"]["loud"], &first["thread"]),
            ("Ding.", &json!(3), &json!("bell"))
        );
        assert_eq!(
            first["payload"]["schedule"]["next"],
            stamp_after(first, 0.2)
        );
        app.kill();
        // Due times pass while no server is there.
        tokio::time::sleep(ms(700)).await;
        app.start_again().await;
        let before = runs(&log, "bell").len();
        let log = ran(&app, "bell", before + 4).await;
        let events = runs(&log, "bell");
        without_gap(&due(&events), 0.2);
        let caught_up = events
            .iter()
            .find(|event| event["payload"]["schedule"]["count"].as_u64() > Some(2));
        assert!(
            caught_up.is_some(),
            "what was missed is one run that names it: {}",
            story(&log)
        );
        assert!(
            stub.requests().iter().any(|request| request.says("Ding.")),
            "the mind reads it"
        );
        let last = app.get("/schedules/bell").await.expect(200)["last"]
            .as_i64()
            .unwrap();
        assert!(
            runs(&app.public_log().await, "bell")
                .iter()
                .any(|event| seq(event) == last)
        );
        app.delete("/schedules/bell").await.expect(204);
        let mut socket = app.socket().await;
        socket
            .quiet(ms(500), |frame| has(&frame["event"], "schedule:bell"))
            .await;
        app.get("/schedules/bell")
            .await
            .expect_problem(404, "not-found");
        app.delete("/schedules/bell")
            .await
            .expect_problem(404, "not-found");
        rows_are_what_the_log_says(&mut app).await;
    }
);

// Many are due at one moment, and are paused, changed and removed while they fire.
on_both!(t4_70_no_change_swallows_a_due_time, |medium| {
    let stub = Stub::start().await;
    hm(&stub);
    let app = quick(medium, &stub).start().await;
    let names: Vec<String> = (0..60).map(|n| format!("bell-{n}")).collect();
    join_all(
        names
            .iter()
            .map(|name| set(&app, name, every(0.5), json!({}))),
    )
    .await;
    let step = 500_000;
    let next = (now().micros() / step + 2) * step;
    // The changes come at the moment at which all are due.
    tokio::time::sleep(Duration::from_micros(
        (next - now().micros()).try_into().unwrap(),
    ))
    .await;
    let changed = join_all(names.iter().enumerate().map(async |(n, name)| {
        let path = format!("/schedules/{name}");
        let asked = now();
        match n % 3 {
            0 => app.delete(&path).await.expect(204),
            1 => app
                .patch(&path, json!({ "paused": true }))
                .await
                .expect(200),
            _ => app
                .patch(
                    &path,
                    json!({ "when": { "kind": "every", "seconds": 3600 } }),
                )
                .await
                .expect(200),
        };
        (name, asked)
    }))
    .await;
    let log = app.public_log().await;
    for (name, asked) in changed {
        let due = due(&fired(&log, name));
        without_gap(&due, 0.5);
        let last = due.last().map_or(0, |last| last.micros());
        assert!(
            last + step > asked.micros(),
            "{name}: {last}, asked at {asked:?}:\n{}",
            story(&log)
        );
    }
});

// A moment that comes while its schedule is created is no reason to say that there is no such schedule.
on_both!(
    t4_70_a_schedule_for_this_very_moment_is_created_and_fires,
    |medium| {
        let stub = Stub::start().await;
        hm(&stub);
        let app = quick(medium, &stub).start().await;
        for n in 0..40 {
            let at = Timestamp::from_micros(now().micros() + 1000 + 100 * n);
            let body = json!({ "name": format!("once-{n}"), "when": { "kind": "once", "at": at.to_string() } });
            let reply = app.post("/schedules", body).await;
            if reply.status == 422 {
                continue;
            }
            assert_eq!(reply.expect(201)["name"], format!("once-{n}"));
            ran(&app, &format!("once-{n}"), 1).await;
        }
    }
);

/// The due time behind the last one of a firing.
fn stamp_after(event: &Value, seconds: f64) -> String {
    let last = *due(&[event]).last().unwrap();
    Timestamp::from_micros(last.micros() + (seconds * 1e6) as i64).to_string()
}

// The server looks every ten seconds: it is the schedule that wakes it.
on_both!(
    a_quick_schedule_is_not_late_however_seldom_the_server_looks,
    |medium| {
        let stub = Stub::start().await;
        hm(&stub);
        let app = quick(medium, &stub).start().await;
        let began = std::time::Instant::now();
        for name in ["a", "b"] {
            set(
                &app,
                name,
                every(0.05),
                json!({ "thread": name, "overlap": "queue" }),
            )
            .await;
        }
        for name in ["a", "b"] {
            let log = ran(&app, name, 10).await;
            without_gap(&due(&runs(&log, name)), 0.05);
        }
        assert!(
            began.elapsed() < ms(9000),
            "{:?}: it was found by looking",
            began.elapsed()
        );
    }
);

// What is due once is gone when it was.
on_both!(once_is_once, |medium| {
    let stub = Stub::start().await;
    hm(&stub);
    let mut app = quick(medium, &stub).start().await;
    let at = Timestamp::from_micros(now().micros() + 400_000).to_string();
    let made = set(&app, "soon", json!({ "kind": "once", "at": at }), json!({})).await;
    assert_eq!(
        (&made["next"], &made["thread"], &made["event"]),
        (&json!(at), &json!("main"), &json!("soon"))
    );
    let log = ran(&app, "soon", 1).await;
    let run = runs(&log, "soon")[0];
    assert_eq!(
        run["payload"]["schedule"],
        json!({ "name": "soon", "first": at, "last": at, "count": 1, "due": [at], "next": null })
    );
    assert!(
        Timestamp::parse(run["ts"].as_str().unwrap()).unwrap() >= Timestamp::parse(&at).unwrap(),
        "not before its time"
    );
    app.get("/schedules/soon")
        .await
        .expect_problem(404, "not-found");
    app.restart().await;
    // The control: another one runs after the restart.
    let at = Timestamp::from_micros(now().micros() + 200_000).to_string();
    set(
        &app,
        "later",
        json!({ "kind": "once", "at": at }),
        json!({}),
    )
    .await;
    let log = ran(&app, "later", 1).await;
    assert_eq!(runs(&log, "soon").len(), 1);
    rows_are_what_the_log_says(&mut app).await;
});

// Any number of servers: each due time is fired by one of them.
#[tokio::test]
async fn two_servers_fire_each_due_time_once() {
    let stub = Stub::start().await;
    hm(&stub);
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let mut a = quick(medium, &stub)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 50)
        .start()
        .await;
    let mut b = a.beside().await;
    let names: Vec<String> = (0..8).map(|it| format!("s{it}")).collect();
    for name in &names {
        set(
            &a,
            name,
            every(0.1),
            json!({ "thread": name, "overlap": "queue" }),
        )
        .await;
    }
    for name in &names {
        ran(&b, name, 12).await;
    }
    for name in &names {
        a.delete(&format!("/schedules/{name}")).await.expect(204);
    }
    let log = a.public_log().await;
    for name in &names {
        without_gap(&due(&runs(&log, name)), 0.1);
    }
    // The control: a log in which one due time was fired twice is not taken for right.
    let mut twice = due(&runs(&log, "s0"));
    twice.insert(1, twice[0]);
    assert!(std::panic::catch_unwind(|| without_gap(&twice, 0.1)).is_err());
    b.kill();
    rows_are_what_the_log_says(&mut a).await;
}

// An earlier run that has its turn: what is due is left out, and an event says so. With `queue` it waits.
on_both!(runs_overlap_only_where_they_may, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(at("skips"), [reply("long").held(&gate)]);
    stub.script(at("queues"), [reply("long").held(&gate)]);
    hm(&stub);
    let mut app = quick(medium, &stub).start().await;
    set(&app, "skips", every(0.1), json!({ "thread": "skips" })).await;
    set(
        &app,
        "queues",
        every(0.1),
        json!({ "thread": "queues", "overlap": "queue" }),
    )
    .await;
    stub.request(at("skips")).await;
    stub.request(at("queues")).await;
    let log = ran(&app, "queues", 5).await;
    assert_eq!(runs(&log, "skips").len(), 1, "{}", story(&log));
    let skipped = with(&log, &["schedule", "skipped", "schedule:skips"]);
    assert!(
        skipped.len() >= 3 && said(skipped[0]).contains("an earlier run is under way"),
        "{}",
        story(&log)
    );
    assert_eq!(skipped[0]["modality"], "state");
    // Out of turn it does not overlap, either.
    app.post("/schedules/skips/run", json!({}))
        .await
        .expect_problem(409, "busy");
    app.post("/schedules/queues/run", json!({}))
        .await
        .expect(202);
    gate.open();
    let log = ran(&app, "skips", 3).await;
    without_gap(&due(&fired(&log, "skips")), 0.1);
    assert_eq!(
        with(&log, &["skipped", "schedule:queues"]).len(),
        0,
        "{}",
        story(&log)
    );
    rows_are_what_the_log_says(&mut app).await;
});

// Pause, with a note; resume; run now.
on_both!(a_schedule_is_paused_resumed_and_run_out_of_turn, |medium| {
    let stub = Stub::start().await;
    hm(&stub);
    let mut app = quick(medium, &stub).start().await;
    set(
        &app,
        "often",
        every(0.1),
        json!({ "overlap": "queue", "note": "to look around" }),
    )
    .await;
    ran(&app, "often", 1).await;
    let paused = app
        .patch(
            "/schedules/often",
            json!({ "paused": true, "note": "on holiday" }),
        )
        .await
        .expect(200);
    assert_eq!(
        (&paused["paused"], &paused["note"], &paused["next"]),
        (&json!(true), &json!("on holiday"), &Value::Null)
    );
    let count = runs(&app.public_log().await, "often").len();
    let mut socket = app.socket().await;
    socket
        .quiet(ms(400), |frame| has(&frame["event"], "schedule:often"))
        .await;
    let ack = app
        .post("/schedules/often/run", json!({}))
        .await
        .expect(202);
    assert_eq!(ack["events"][0]["thread"], "main");
    let log = app.public_log().await;
    let run = runs(&log, "often")[count];
    assert_eq!(
        run["payload"]["schedule"],
        json!({ "name": "often", "now": true })
    );
    let still = app.get("/schedules/often").await.expect(200);
    assert_eq!(
        (&still["next"], &still["last"]),
        (&Value::Null, &run["seq"])
    );
    let since = now();
    let resumed = app
        .patch("/schedules/often", json!({ "paused": false, "note": "" }))
        .await
        .expect(200);
    assert!(
        Timestamp::parse(resumed["next"].as_str().unwrap()).unwrap() > since,
        "{resumed}"
    );
    let log = ran(&app, "often", count + 3).await;
    let after: Vec<Timestamp> = due(&runs(&log, "often")[count + 1..]);
    without_gap(&after, 0.1);
    assert!(after[0] > since, "what was due meanwhile is left out");
    assert_eq!(
        with(&log, &["schedule", "missed"]).len(),
        0,
        "{}",
        story(&log)
    );
    rows_are_what_the_log_says(&mut app).await;
});

// A change of what is said leaves alone when it is due; a change of when does not.
on_both!(a_change_changes_what_it_names, |medium| {
    let stub = Stub::start().await;
    hm(&stub);
    let mut app = quick(medium, &stub).start().await;
    let when = json!({ "kind": "daily", "time": "09:00", "zone": "Europe/Berlin" });
    let made = set(
        &app,
        "day",
        when.clone(),
        json!({ "catch_up_s": 60, "payload": { "text": "Up!" } }),
    )
    .await;
    let change = json!({ "note": "gently", "overlap": "queue", "payload": { "text": "Up." }, "event": "wake", "thread": "bed" });
    let changed = app.patch("/schedules/day", change).await.expect(200);
    assert_eq!((&changed["next"], &changed["when"]), (&made["next"], &when));
    assert_eq!(
        (
            &changed["event"],
            &changed["thread"],
            &changed["catch_up_s"]
        ),
        (&json!("wake"), &json!("bed"), &json!(60.0))
    );
    let when =
        json!({ "kind": "monthly", "day": "last", "time": "23:30", "zone": "Australia/Lord_Howe" });
    let changed = app
        .patch("/schedules/day", json!({ "when": when }))
        .await
        .expect(200);
    assert_eq!(
        (&changed["when"], &changed["note"]),
        (&when, &json!("gently"))
    );
    assert_ne!(changed["next"], made["next"]);
    assert_eq!(
        app.get("/schedules?thread=bed").await.expect(200)["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        app.get("/schedules?thread=main").await.expect(200)["items"],
        json!([])
    );
    set(&app, "another", every(1000.0), json!({})).await;
    let names: Vec<Value> = app
        .pages("/schedules?")
        .await
        .iter()
        .map(|it| it["name"].clone())
        .collect();
    assert_eq!(names, ["another", "day"]);
    let page = app.get("/schedules?limit=1").await.expect(200);
    let rest = app
        .get(&format!(
            "/schedules?limit=1&cursor={}",
            page["next"].as_str().unwrap()
        ))
        .await
        .expect(200);
    assert_eq!(
        (&rest["items"][0]["name"], &rest["next"]),
        (&json!("day"), &Value::Null)
    );
    rows_are_what_the_log_says(&mut app).await;
});

/// Rewrites a schedule in the log of a server that is away.
async fn rewritten(medium: &Medium, name: &str, change: impl Fn(Schedule) -> Schedule) -> Schedule {
    let store = stored::open(medium).await;
    let row = store
        .schedule(&Default::default(), &Name::parse(name).unwrap())
        .await
        .unwrap()
        .unwrap();
    let schedule = change(row.schedule);
    let set = Change::Schedule(Some(Box::new(schedule.clone())));
    stored::append(&store, Draft::set(&ThreadId::default(), name, set)).await;
    store.close().await;
    schedule
}

/// Sets back when a schedule was due.
async fn set_back(medium: &Medium, name: &str, by: i64) -> Timestamp {
    let back = |time: Timestamp| Timestamp::from_micros(time.micros() - by);
    rewritten(medium, name, |schedule| Schedule {
        due: schedule.due.map(back),
        ..schedule
    })
    .await
    .due
    .unwrap()
}

// A server away for an hour, and for a week: one run names all that is caught up with, one event what is too old for that.
on_both!(
    a_server_that_was_away_catches_up_with_a_day_and_names_the_rest,
    |medium| {
        let stub = Stub::start().await;
        hm(&stub);
        let again = medium.again();
        let mut app = quick(medium, &stub).start().await;
        let minute = 60_000_000;
        for name in ["hour", "week", "short"] {
            let catch_up = if name == "short" { 120 } else { 86_400 };
            set(
                &app,
                name,
                every(60.0),
                json!({ "thread": name, "catch_up_s": catch_up }),
            )
            .await;
        }
        assert!(app.stop().await.success());
        let since = [
            set_back(&again, "hour", 60 * minute).await,
            set_back(&again, "week", 7 * 24 * 60 * minute).await,
        ];
        let short = set_back(&again, "short", 60 * minute).await;
        app.start_again().await;
        for name in ["hour", "week", "short"] {
            ran(&app, name, 1).await;
        }
        let log = app.public_log().await;
        let hour = &runs(&log, "hour")[0]["payload"]["schedule"];
        assert_eq!(hour["first"], since[0].to_string());
        assert!(
            (60..=62).contains(&hour["count"].as_u64().unwrap()),
            "{hour}"
        );
        assert_eq!(
            hour["due"].as_array().unwrap().len() as u64,
            hour["count"].as_u64().unwrap(),
            "all are named"
        );
        for (name, since, caught_up) in [("week", since[1], 1440), ("short", short, 2)] {
            let missed = one(&log, &["schedule", "missed", &format!("schedule:{name}")]);
            let run = runs(&log, name)[0];
            let gone = &missed["payload"]["schedule"];
            let came = &run["payload"]["schedule"];
            assert_eq!(gone["first"], since.to_string(), "{missed}");
            assert!(
                (caught_up..=caught_up + 1).contains(&came["count"].as_u64().unwrap()),
                "{came}"
            );
            let time = |value: &Value| Timestamp::parse(value.as_str().unwrap()).unwrap().micros();
            assert_eq!(
                time(&came["first"]),
                time(&gone["last"]) + minute,
                "each in exactly one: {gone} {came}"
            );
            let all = (time(&came["last"]) - since.micros()) / minute + 1;
            assert_eq!(
                gone["count"].as_i64().unwrap() + came["count"].as_i64().unwrap(),
                all
            );
            let named = came["due"].as_array().unwrap();
            assert!(
                named.len() <= 100 && named.last() == Some(&came["last"]),
                "{came}"
            );
            assert!(said(missed).contains("missed"), "{missed}");
        }
        rows_are_what_the_log_says(&mut app).await;
    }
);

// A thread that has ended takes nothing: the schedule pauses itself, which an event says; it goes on where it is given another thread.
on_both!(a_schedule_whose_thread_has_ended_pauses_itself, |medium| {
    let stub = Stub::start().await;
    hm(&stub);
    let mut app = quick(medium, &stub).start().await;
    set(&app, "bell", every(0.1), json!({ "thread": "bell" })).await;
    ran(&app, "bell", 1).await;
    app.post("/threads/bell/end", json!({})).await.expect(200);
    let paused = app
        .until_some("the pause", async || {
            let schedule = app.get("/schedules/bell").await.expect(200);
            (schedule["paused"] == true).then_some(schedule)
        })
        .await;
    assert!(
        paused["note"].as_str().unwrap().contains("bell has ended"),
        "{paused}"
    );
    assert_eq!(paused["next"], Value::Null);
    let log = app.public_log().await;
    // Before it there may be one that did not run beside the run under way.
    let skipped = with(&log, &["schedule", "skipped", "schedule:bell"]);
    let why = skipped.last().unwrap();
    assert!(said(why).contains("pauses itself"), "{why}");
    without_gap(&due(&fired(&log, "bell")), 0.1);
    app.post("/schedules/bell/run", json!({}))
        .await
        .expect_problem(409, "thread-ended");
    app.patch(
        "/schedules/bell",
        json!({ "thread": "bell", "paused": false }),
    )
    .await
    .expect_problem(409, "thread-ended");
    app.patch(
        "/schedules/bell",
        json!({ "thread": "gong", "paused": false }),
    )
    .await
    .expect(200);
    let count = runs(&log, "bell").len();
    let log = ran(&app, "bell", count + 2).await;
    assert_eq!(runs(&log, "bell").last().unwrap()["thread"], "gong");
    rows_are_what_the_log_says(&mut app).await;
});

// What was seen to is not due again where clocks differ a little. A due time that lies further ahead was seen to by a wrong clock, and
// was not reached yet: it comes.
on_both!(a_clock_that_is_set_back_fires_nothing_twice, |medium| {
    let stub = Stub::start().await;
    hm(&stub);
    let again = medium.again();
    let mut app = quick(medium, &stub).start().await;
    set(&app, "bell", every(1.0), json!({ "paused": true })).await;
    let next = |schedule: &Value| Timestamp::parse(schedule["next"].as_str().unwrap()).unwrap();
    for ahead in [3, 3600] {
        assert!(app.stop().await.success());
        // As if it had fired until then, before the clock was set.
        let through = Timestamp::from_micros((now().micros() / 1_000_000 + ahead) * 1_000_000);
        let paused = |schedule| Schedule {
            through: Some(through),
            paused: true,
            due: None,
            ..schedule
        };
        rewritten(&again, "bell", paused).await;
        app.start_again().await;
        for change in [json!({ "paused": false }), json!({ "when": every(0.5) })] {
            let changed = app.patch("/schedules/bell", change).await.expect(200);
            if ahead == 3 {
                assert!(next(&changed) > through, "{changed}");
            } else {
                assert!(next(&changed) < now().after(10_000_000), "{changed}");
            }
        }
    }
});

// Schedules that are due at once, and a server that is killed in the midst of them, again and again.
on_both!(no_due_time_is_lost_or_doubled_by_kills, |medium| {
    let stub = Stub::start().await;
    hm(&stub);
    let mut app = quick(medium, &stub).start().await;
    let names: Vec<String> = (0..8).map(|it| format!("s{it}")).collect();
    for name in &names {
        set(
            &app,
            name,
            every(0.2),
            json!({ "thread": name, "overlap": "queue" }),
        )
        .await;
    }
    for _ in 0..4 {
        faults::sometime(ms(150)).await;
        app.restart().await;
    }
    for name in &names {
        ran(&app, name, 2).await;
        app.delete(&format!("/schedules/{name}")).await.expect(204);
    }
    let log = app.public_log().await;
    for name in &names {
        without_gap(&due(&fired(&log, name)), 0.2);
    }
    let threads: BTreeSet<&str> = log
        .iter()
        .filter(|it| has(it, "type:trigger"))
        .filter_map(|it| it["thread"].as_str())
        .collect();
    assert_eq!(threads.len(), names.len());
    rows_are_what_the_log_says(&mut app).await;
});

#[tokio::test]
async fn what_cannot_be_scheduled_is_a_problem_with_a_name() {
    let stub = Stub::start().await;
    hm(&stub);
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TEST_LIMITS__SCHEDULES", 2)
        .start()
        .await;
    let ok = json!({ "kind": "every", "seconds": 3600 });
    set(&app, "there", ok.clone(), json!({})).await;
    // A kind that is none has no members that could be missing.
    let hourly = json!({ "name": "x", "when": { "kind": "hourly" } });
    let refused = app.post("/schedules", hourly).await;
    let refused = refused.expect_problem(400, "invalid-frame");
    let pointers: Vec<_> = refused["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["pointer"])
        .collect();
    assert_eq!(pointers, ["/when/kind"], "{refused}");
    let daily = |zone: &str| json!({ "kind": "daily", "time": "09:00", "zone": zone });
    let of = |when: Value| json!({ "name": "x", "when": when });
    let with = |member: &str, value: Value| json!({ "name": "x", "when": ok, member: value });
    let long = "x".repeat(17_000);
    for (body, status, slug, pointer) in [
        (
            of(json!({ "kind": "once", "at": "2020-01-01T00:00:00Z" })),
            422,
            "unprocessable",
            "",
        ),
        (
            of(json!({ "kind": "once", "at": "soon" })),
            400,
            "invalid-frame",
            "/when/at",
        ),
        (
            of(daily("Mars/Olympus")),
            422,
            "unprocessable",
            "/when/zone",
        ),
        (of(daily("")), 422, "unprocessable", "/when/zone"),
        (
            of(json!({ "kind": "every", "seconds": 0 })),
            400,
            "invalid-frame",
            "/when/seconds",
        ),
        (
            of(json!({ "kind": "every", "seconds": 0.5 })),
            422,
            "unprocessable",
            "",
        ),
        (
            of(json!({ "kind": "every", "seconds": "1" })),
            400,
            "invalid-frame",
            "/when/seconds",
        ),
        (
            of(json!({ "kind": "monthly", "day": 31, "time": "09:00", "zone": "UTC" })),
            400,
            "invalid-frame",
            "/when/day",
        ),
        (
            of(json!({ "kind": "hourly" })),
            400,
            "invalid-frame",
            "/when/kind",
        ),
        (
            of(json!({ "kind": "every", "seconds": 60, "jitter": 1 })),
            400,
            "unknown-member",
            "/when/jitter",
        ),
        (of(Value::Null), 400, "invalid-frame", "/when"),
        (json!({ "name": "x" }), 400, "invalid-frame", "/when"),
        (
            json!({ "name": "Odd Name", "when": ok }),
            400,
            "invalid-id",
            "/name",
        ),
        (
            json!({ "name": "there", "when": ok }),
            422,
            "unprocessable",
            "",
        ),
        (
            with("cron", json!("* * * * *")),
            400,
            "unknown-member",
            "/cron",
        ),
        (with("thread", json!("a..b")), 400, "invalid-id", "/thread"),
        (with("thread", json!("nobody.here")), 404, "not-found", ""),
        (with("thread", json!("runs.x")), 422, "unprocessable", ""),
        (
            with("event", json!("Odd Name")),
            400,
            "invalid-id",
            "/event",
        ),
        (
            with("overlap", json!("cancel")),
            400,
            "invalid-frame",
            "/overlap",
        ),
        (
            with("catch_up_s", json!(0)),
            400,
            "invalid-frame",
            "/catch_up_s",
        ),
        (
            with("note", json!("x".repeat(1001))),
            400,
            "text-too-large",
            "/note",
        ),
        (
            with("payload", json!({ "text": long })),
            413,
            "too-large",
            "/payload",
        ),
        (
            with("payload", json!({ "schedule": {} })),
            400,
            "invalid-frame",
            "/payload/schedule",
        ),
        (
            with("payload", json!({ "text": 1 })),
            400,
            "invalid-frame",
            "/payload/text",
        ),
    ] {
        let answer = app.post("/schedules", body.clone()).await;
        assert_eq!(
            (answer.status, answer.slug()),
            (status, slug),
            "{body}: {}",
            answer.text
        );
        if !pointer.is_empty() {
            assert!(
                answer.text.contains(&format!("{pointer:?}")),
                "{body}: {}",
                answer.text
            );
        }
    }
    let day = app
        .post(
            "/schedules",
            of(json!({ "kind": "monthly", "day": 30, "time": "09:00", "zone": "UTC" })),
        )
        .await;
    assert!(day.text.contains("last"), "the offer: {}", day.text);
    set(&app, "second", ok.clone(), json!({})).await;
    let third = app
        .post("/schedules", json!({ "name": "third", "when": ok }))
        .await
        .expect_problem(422, "unprocessable");
    assert!(
        third["detail"]
            .as_str()
            .unwrap()
            .contains("at most 2 schedules"),
        "{third}"
    );
    for (body, status, slug) in [
        (json!({ "paused": "yes" }), 400, "invalid-frame"),
        (json!({ "name": "x" }), 400, "unknown-member"),
        (
            json!({ "when": { "kind": "once", "at": "2020-01-01T00:00:00Z" } }),
            422,
            "unprocessable",
        ),
        (
            json!({ "when": { "kind": "every", "seconds": 0 } }),
            400,
            "invalid-frame",
        ),
    ] {
        let answer = app.patch("/schedules/there", body.clone()).await;
        assert_eq!(
            (answer.status, answer.slug()),
            (status, slug),
            "{body}: {}",
            answer.text
        );
    }
    app.patch("/schedules/nobody", json!({ "note": "" }))
        .await
        .expect_problem(404, "not-found");
    app.post("/schedules/nobody/run", json!({}))
        .await
        .expect_problem(404, "not-found");
    app.get("/schedules/Odd%20Name")
        .await
        .expect_problem(400, "invalid-id");
    app.get("/schedules?cursor=AAAAAAAAAAAAAAAAAAAA")
        .await
        .expect_problem(400, "invalid-cursor");
    app.get("/schedules?due=1")
        .await
        .expect_problem(400, "invalid-parameter");
    assert_eq!(
        app.pages("/schedules?").await.len(),
        2,
        "nothing of all that was stored"
    );
}

// A trigger of a client is never taken for one of a schedule, whatever it says of itself.
on_both!(a_client_cannot_move_a_schedule, |medium| {
    let stub = Stub::start().await;
    hm(&stub);
    let app = quick(medium, &stub).start().await;
    let before = set(&app, "bell", every(3600.0), json!({})).await;
    let mut socket = app.socket().await;
    let at = "2026-01-01T00:00:00Z";
    let forged =
        json!({ "name": "bell", "first": at, "last": at, "count": 1, "due": [at], "next": null });
    socket
        .ask(json!({ "type": "trigger", "event": "bell", "payload": { "schedule": forged } }))
        .await;
    socket.turn_ended().await;
    assert_eq!(app.get("/schedules/bell").await.expect(200), before);
});

// A mind that is given the tool sets, sees and removes what wakes it, in its own thread; others it neither sees nor removes.
on_both!(
    a_mind_schedules_itself_where_it_is_given_the_tool,
    |medium| {
        let stub = Stub::start().await;
        let act = |action: &str, name: Value, more: Value| {
            let mut arguments = json!({ "action": action, "name": name, "text": null, "kind": null, "at": null, "seconds": null,
            "time": null, "zone": null, "days": null, "day": null });
            arguments
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().cloned().unwrap_or_default());
            call("schedule", arguments)
        };
        let often = json!({ "kind": "every", "seconds": 0.2, "text": "Look around." });
        stub.script(
            |request: &Request| request.last_user() == "go",
            [
                act("create", json!("mine"), often.clone()),
                act("list", Value::Null, json!({})),
                act("create", json!("theirs"), often.clone()),
                act("remove", json!("theirs"), json!({})),
                act(
                    "create",
                    json!("odd"),
                    json!({ "kind": "monthly", "day": "31", "time": "09:00", "zone": "UTC" }),
                ),
                reply("done"),
            ],
        );
        stub.on(
            |request: &Request| request.last_user() == "stop",
            act("remove", json!("mine"), json!({})).and("reply", json!({ "text": "gone" })),
        );
        hm(&stub);
        let tools = "[tools]\nconversation = [\"reply\", \"schedule\"]\n[turn]\nmax_rounds = 10\n";
        let mut app = quick(medium, &stub)
            .file("thinkd.toml", tools)
            .env("THINKD_TEST_BUDGET__TIMER_MS", 100)
            .start()
            .await;
        set(&app, "theirs", every(3600.0), json!({ "thread": "other" })).await;
        app.tell_in("main", "go").await;
        let log = ran(&app, "mine", 2).await;
        let results: Vec<String> = with(&log, &["result", "tool:schedule"])
            .iter()
            .map(|it| it["payload"].to_string())
            .collect();
        assert_eq!(results.len(), 5, "{}", story(&log));
        for (result, says) in results.iter().zip([
            "next",
            "Look around.",
            "exists already",
            "no schedule theirs",
            "last",
        ]) {
            assert!(result.contains(says), "{says}: {result}");
        }
        assert!(!results[1].contains("theirs"), "{}", results[1]);
        let run = runs(&log, "mine")[0];
        assert_eq!(
            (said(run), &run["thread"]),
            ("Look around.", &json!("main"))
        );
        without_gap_in_steps(&due(&fired(&log, "mine")), 200_000);
        app.tell_in("main", "stop").await;
        app.until("its end", async || {
            app.get("/schedules/mine").await.status == 404
        })
        .await;
        app.get("/schedules/theirs").await.expect(200);
        rows_are_what_the_log_says(&mut app).await;
    }
);

/// Asserts that due times are so many microseconds apart.
#[track_caller]
fn without_gap_in_steps(due: &[Timestamp], step: i64) {
    assert!(
        due.windows(2)
            .all(|pair| pair[1].micros() - pair[0].micros() == step),
        "{due:?}"
    );
}

// Nobody has the tool who was not given it.
#[tokio::test]
async fn no_mind_has_the_tool_unless_it_is_named() {
    let stub = Stub::start().await;
    hm(&stub);
    let app = App::start(Medium::sqlite(), &stub).await;
    app.process("p", json!({})).await;
    app.tell_in("main", "hello").await;
    app.say_in("p", "hello").await;
    for thread in ["main", "p"] {
        let tools = stub.request(at(thread)).await.tools();
        assert!(
            !tools.contains(&"schedule".to_owned()),
            "{thread}: {tools:?}"
        );
    }
}
