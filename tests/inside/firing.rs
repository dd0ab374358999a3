//! The firing of schedules without a server: rows as they may stand in the log, and several servers
//! that fire the same one.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use thinkd::event::draft::Draft;
use thinkd::event::fact::set::{Change, Thread};
use thinkd::event::schedule::{Overlap, Schedule};
use thinkd::log::appended::Append;
use thinkd::log::kernel::Store;
use thinkd::log::projections::schedules::ScheduleRow;
use thinkd::log::query::{Order, Query};
use thinkd::model::offline::Offline;
use thinkd::model::prompt::Prompts;
use thinkd::recall::finder::Recall;
use thinkd::runtime::firing::Firing;
use thinkd::runtime::ground::Ground;
use thinkd::runtime::options::Options;
use thinkd::runtime::turns::input::Inbox;
use thinkd::thread::history;
use thinkd::tools::catalogue::{self, Chosen};
use thinkd::tools::supplies::Supplies;
use thinkd::words::id::{Name, Space, ThreadId};
use thinkd::words::recurrence::When;
use thinkd::words::time::{Timestamp, now};

use kit::*;

const MINUTE: i64 = 60_000_000;

struct Bench {
    store: Arc<dyn Store>,
    firing: Firing,
}

fn thread(name: &str) -> ThreadId {
    ThreadId::parse(name).unwrap()
}

/// Every minute since the beginning of 2026.
fn minutes() -> serde_json::Value {
    json!({ "kind": "every", "seconds": 60, "start": "2026-01-01T00:00:00Z" })
}

/// A schedule of every minute that was due so many minutes ago.
fn due(name: &str, ago: i64) -> Schedule {
    Schedule {
        thread: thread(name),
        event: Name::parse("ring").unwrap(),
        payload: Default::default(),
        when: serde_json::from_value::<When>(minutes()).unwrap(),
        overlap: Overlap::Queue,
        catch_up_s: 3600.0,
        note: String::new(),
        paused: false,
        due: Some(Timestamp::from_micros(
            (now().micros() / MINUTE - ago) * MINUTE,
        )),
        through: None,
        last: None,
        set: None,
        root: None,
    }
}

impl Bench {
    async fn on(medium: &Medium) -> Self {
        let store = stored::open(medium).await;
        let prompts = Arc::new(Prompts::load(None).unwrap());
        let options = Options::default();
        let options = Options {
            default_submodules: false,
            ..options
        };
        let budget = Arc::new(options.budget.clone());
        let limits = options.tool_limits;
        let supplies = Supplies {
            mission: thinkd::runtime::mission::Options::default().budget(),
            store: store.clone(),
            prompts,
            budget,
            approvals: Arc::default(),
            limits,
            recall: Arc::new(Recall::new(store.clone(), Default::default(), 1.0)),
            code: Default::default(),
        };
        let tools = Arc::new(
            catalogue::built_in()
                .tools(&supplies, &Chosen::default())
                .unwrap(),
        );
        let model = Arc::new(Offline::new());
        let ground = Ground::new(supplies, tools, model, history::Options::default(), options);
        let firing = Firing {
            store: store.clone(),
            inbox: Inbox::new(&ground),
            quotas: ground.quotas.clone(),
        };
        Self { store, firing }
    }

    async fn append(&self, draft: Draft) {
        self.store
            .append(Append::free(&Space::default(), vec![draft]))
            .await
            .unwrap();
    }

    async fn set(&self, name: &str, schedule: Schedule) -> ScheduleRow {
        self.append(Draft::set(
            &ThreadId::default(),
            name,
            Change::Schedule(Some(Box::new(schedule))),
        ))
        .await;
        self.row(name).await.unwrap()
    }

    async fn row(&self, name: &str) -> Option<ScheduleRow> {
        self.store
            .schedule(&Space::default(), &Name::parse(name).unwrap())
            .await
            .unwrap()
    }

    async fn fire(&self, row: &ScheduleRow) {
        self.firing
            .fire(&Space::default(), std::slice::from_ref(row))
            .await
            .unwrap();
    }

    /// The events of the firings of a schedule: their threads, and their first two tags.
    async fn fired(&self, name: &str) -> Vec<(String, String)> {
        let query = Query {
            tags: vec![format!("schedule:{name}")],
            order: Order::Ascending,
            limit: 100,
            ..Query::default()
        };
        let events = self.store.events(&Space::default(), &query).await.unwrap();
        events
            .iter()
            .map(|event| (event.thread.to_string(), event.meta.tags[..2].join(" ")))
            .collect()
    }
}

fn events(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter()
        .map(|(thread, tags)| ((*thread).to_owned(), (*tags).to_owned()))
        .collect()
}

// Several who saw the same row due: what comes of it, a run or the word that there is none, comes once.
on_both!(of_several_who_fire_the_same_due_time_one_does, |medium| {
    let bench = Bench::on(&medium).await;
    bench
        .append(stored::draft("home", "there", &["state"]))
        .await;
    let once =
        serde_json::from_value(json!({ "kind": "once", "at": "2026-01-01T00:00:00Z" })).unwrap();
    let late = Schedule {
        when: once,
        due: Timestamp::parse("2026-01-01T00:00:00Z"),
        ..due("home", 0)
    };
    let missed = bench.set("missed", late).await;
    let run = bench.set("run", due("home", 0)).await;
    for row in [&run, &missed] {
        join_all((0..4).map(|_| bench.fire(row))).await;
    }
    assert_eq!(
        bench.fired("run").await,
        events(&[("home", "input type:trigger")])
    );
    assert_eq!(
        bench.fired("missed").await,
        events(&[("home", "schedule missed")])
    );
    assert_eq!(bench.row("missed").await, None, "there is no more of it");
    // The same of one that is skipped, for its run waits.
    let skips = Schedule {
        overlap: Overlap::Skip,
        last: bench.row("run").await.unwrap().schedule.last,
        ..due("home", 0)
    };
    let skips = bench.set("skips", skips).await;
    join_all((0..4).map(|_| bench.fire(&skips))).await;
    assert_eq!(
        bench.fired("skips").await,
        events(&[("home", "schedule skipped")])
    );
    bench.store.close().await;
});

// A thread begins with a run: what is only said of a schedule is said in `main` until then.
on_both!(what_was_missed_begins_no_thread, |medium| {
    let bench = Bench::on(&medium).await;
    let once =
        serde_json::from_value(json!({ "kind": "once", "at": "2026-01-01T00:00:00Z" })).unwrap();
    let late = Schedule {
        when: once,
        due: Timestamp::parse("2026-01-01T00:00:00Z"),
        ..due("unused", 0)
    };
    let row = bench.set("late", late).await;
    bench.fire(&row).await;
    assert_eq!(
        bench.fired("late").await,
        events(&[("main", "schedule missed")])
    );
    assert!(
        bench
            .store
            .thread(&Space::default(), &thread("unused"))
            .await
            .unwrap()
            .is_none()
    );
    bench.store.close().await;
});

// What is left out when a schedule pauses itself is seen to, too: when it goes on it does not begin before that.
on_both!(
    a_schedule_that_pauses_itself_keeps_what_was_seen_to,
    |medium| {
        let bench = Bench::on(&medium).await;
        let end = Thread {
            status: Some("stopped"),
            reason: Some("enough"),
            ..Thread::default()
        };
        bench
            .append(stored::draft("gone", "there", &["state"]))
            .await;
        bench.append(Draft::set_thread(&thread("gone"), end)).await;
        let row = bench.set("bell", due("gone", 3)).await;
        bench.fire(&row).await;
        let paused = bench.row("bell").await.unwrap().schedule;
        assert!(
            paused.paused && paused.due.is_none() && paused.note.contains("gone has ended"),
            "{paused:?}"
        );
        let last = row.schedule.due.unwrap().micros() + 3 * MINUTE;
        assert!(
            paused
                .through
                .is_some_and(|through| through.micros() >= last),
            "{paused:?}"
        );
        bench.store.close().await;
    }
);

// A newer server, or an older table of zones: what cannot be read any more is paused, and says why. It is not looked at for ever.
on_both!(a_schedule_in_an_unknown_zone_pauses_itself, |medium| {
    let bench = Bench::on(&medium).await;
    let when = json!({ "kind": "daily", "time": "09:00", "zone": "Mars/Olympus" });
    let row = bench
        .set(
            "far",
            Schedule {
                when: serde_json::from_value(when).unwrap(),
                ..due("main", 1)
            },
        )
        .await;
    bench.fire(&row).await;
    let paused = bench.row("far").await.unwrap().schedule;
    assert!(
        paused.paused && paused.due.is_none() && paused.note.contains("Mars/Olympus"),
        "{paused:?}"
    );
    assert_eq!(bench.fired("far").await, []);
    bench.store.close().await;
});

// The names of one space are nothing in another.
on_both!(schedules_are_of_one_space, |medium| {
    let bench = Bench::on(&medium).await;
    let row = bench.set("bell", due("main", -5)).await;
    let theirs = Space::parse("theirs").unwrap();
    assert_eq!(
        bench.store.schedule(&theirs, &row.name).await.unwrap(),
        None
    );
    assert_eq!(
        bench
            .store
            .schedules(&theirs, None, None, 10)
            .await
            .unwrap(),
        []
    );
    assert_eq!(
        bench
            .store
            .schedules(&Space::default(), None, None, 10)
            .await
            .unwrap(),
        [row]
    );
    bench.store.close().await;
});
