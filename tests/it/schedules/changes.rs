//! Changes of schedules beside their firings, and the parts that a change leaves alone.

use futures_util::future::join_all;
use serde_json::{Value, json};
use thinkd_words::time::{Timestamp, now};

use super::{due, every, fired, hm, quick, ran, runs, set, without_gap};
use kit::*;

fn micros(time: &Value) -> i64 {
    Timestamp::parse(time.as_str().unwrap_or_else(|| panic!("no time: {time}")))
        .unwrap()
        .micros()
}

// A change that read the schedule before it fired does not set it back, and none is lost.
on_both!(
    a_change_beside_firings_loses_and_doubles_no_due_time,
    |medium| {
        let stub = Stub::start().await;
        hm(&stub);
        let app = quick(medium, &stub).start().await;
        set(
            &app,
            "often",
            every(0.05),
            json!({ "thread": "bell", "overlap": "queue" }),
        )
        .await;
        for round in 0..12 {
            let note = |at: usize| json!({ "note": format!("{round} {at}") });
            let changed = join_all((0..4).map(|at| app.patch("/schedules/often", note(at)))).await;
            changed.into_iter().for_each(|it| drop(it.expect(200)));
        }
        ran(&app, "often", 5).await;
        app.delete("/schedules/often").await.expect(204);
        let log = app.public_log().await;
        without_gap(&due(&fired(&log, "often")), 0.05);
    }
);

// An earlier run in the thread that it went to is under way for ever; where it goes to now, there is none.
on_both!(
    a_schedule_that_is_moved_does_not_wait_for_a_run_in_its_old_thread,
    |medium| {
        let stub = Stub::start().await;
        stub.script(at("bell"), [reply("long").never()]);
        hm(&stub);
        let app = quick(medium, &stub).start().await;
        app.tell_in("gong", "hello").await;
        set(&app, "often", every(0.1), json!({ "thread": "bell" })).await;
        stub.request(at("bell")).await;
        app.patch("/schedules/often", json!({ "thread": "gong" }))
            .await
            .expect(200);
        let log = ran(&app, "often", 2).await;
        assert_eq!(runs(&log, "often")[1]["thread"], "gong");
    }
);

// An interval without a start begins when it is set, and keeps that.
#[tokio::test]
async fn an_interval_without_a_start_is_anchored_when_it_is_set() {
    let stub = Stub::start().await;
    let app = quick(Medium::sqlite(), &stub).start().await;
    let before = now().micros();
    let made = set(
        &app,
        "hourly",
        json!({ "kind": "every", "seconds": 3600 }),
        json!({}),
    )
    .await;
    assert!(
        (before..=now().micros()).contains(&micros(&made["when"]["start"])),
        "{made}"
    );
    assert_eq!(
        micros(&made["next"]) - micros(&made["when"]["start"]),
        3_600_000_000
    );
    let before = now().micros();
    let change = json!({ "when": { "kind": "every", "seconds": 7200 } });
    let changed = app.patch("/schedules/hourly", change).await.expect(200);
    assert!(
        (before..=now().micros()).contains(&micros(&changed["when"]["start"])),
        "{changed}"
    );
    assert_eq!(
        micros(&changed["next"]) - micros(&changed["when"]["start"]),
        7_200_000_000
    );
}

// What a mind may set for itself has limits, and it is told of each.
#[tokio::test]
async fn a_mind_is_told_which_schedules_it_cannot_have() {
    let stub = Stub::start().await;
    let create = |name: &str, more: Value| {
        let mut arguments = json!({ "action": "create", "name": name, "text": null, "kind": "every", "at": null,
            "seconds": 3600, "time": null, "zone": null, "days": null, "day": null });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        call("schedule", arguments)
    };
    let past = json!({ "kind": "once", "seconds": null, "at": "2020-01-01T00:00:00Z" });
    stub.script(
        at("main"),
        [
            create("quick", json!({ "seconds": 0.5 })),
            create("past", past),
            create("one", json!({})),
            create("two", json!({})),
            reply("done"),
        ],
    );
    let file = "[tools]\nconversation = [\"reply\", \"schedule\"]\n";
    let app = quick(Medium::sqlite(), &stub)
        .env("THINKD_TEST_BUDGET__TIMER_MS", 1000)
        .env("THINKD_TEST_BUDGET__SCHEDULES", 1)
        .file("thinkd.toml", file)
        .start()
        .await;
    app.tell("go").await;
    let log = app.public_log().await;
    let results = with(&log, &["result", "tool:schedule"]);
    assert_eq!(results.len(), 4, "{}", story(&log));
    for (result, says) in results.iter().zip([
        "lie between two",
        "nothing of this is to come",
        "next",
        "schedules already",
    ]) {
        assert!(
            result["payload"].to_string().contains(says),
            "{says}: {result}"
        );
    }
    assert_eq!(app.pages("/schedules?").await.len(), 1);
}
