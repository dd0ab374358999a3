//! Events that leave the view of a conversation's decision are summed up in the background (D4.59):
//! summaries stand for the events, which stay. The model of these tests sums up by naming the
//! positions that it was shown, so that a request tells the events that each part stands for.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::app::rows_are_what_the_log_says;
use kit::*;

mod beside;
mod faults;
mod older;

/// Requests for a summary.
fn summing(request: &Request) -> bool {
    request.module == "summary"
}

/// Requests for a summary of summaries.
fn joining(request: &Request) -> bool {
    summing(request) && request.says("Below are digests")
}

/// Requests for a summary of events.
fn digesting(request: &Request) -> bool {
    summing(request) && !joining(request)
}

/// The positions that the summaries in a request name, in order.
fn stood_for(request: &Request) -> Vec<i64> {
    let text = request.text();
    let named = text
        .lines()
        .filter_map(|line| Some(line.strip_prefix('#')?.split_once(" [summary]: read ")?.1));
    named
        .flat_map(|seqs| {
            seqs.split(',')
                .map(|seq| seq.parse().unwrap())
                .collect::<Vec<_>>()
        })
        .collect()
}

fn read(request: &Request) -> Answer {
    let seqs = if joining(request) {
        stood_for(request)
    } else {
        request.seqs()
    };
    text(&format!(
        "read {}",
        seqs.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(",")
    ))
}

/// A stub that sums up so.
async fn summarist() -> Stub {
    let stub = Stub::start().await;
    stub.on_each(summing, read);
    stub
}

/// A server that sums up: views hold 30 events at least, and are cut every 30. A turn without voices has three.
fn sums_up(medium: Medium, stub: &Stub) -> Setup {
    Setup::new(medium, stub)
        .env("THINKD_HISTORY__SUMMARIES", true)
        .env("THINKD_HISTORY__DECISION", 30)
        .env("THINKD_HISTORY__BLOCK", 30)
        .env("THINKD_HISTORY__SUBMODULE", 30)
        .env("THINKD_TEST_HISTORY__SUBMODULE_BLOCK", 30)
}

/// Returns the positions of the events that a decision may see in a thread.
fn visible(log: &[Value], thread: &str) -> Vec<i64> {
    let is_shown = |event: &&Value| {
        event["thread"] == thread && event["modality"] != "state" && !has(event, "debug")
    };
    log.iter().filter(is_shown).map(seq).collect()
}

/// The summaries in a log, in order.
fn summaries<'a>(log: &'a [Value], thread: &str) -> Vec<&'a Value> {
    with(log, &["summary"])
        .into_iter()
        .filter(|event| event["thread"] == thread)
        .collect()
}

/// Waits until so many of the first visible events of a thread are summed up; the log then.
async fn summed_up(app: &App, thread: &str, events: u64) -> Vec<Value> {
    let what = format!("a summary of the first {events} events of {thread}");
    app.until_some(&what, async || {
        let log = app.public_log().await;
        let end = |event: &&Value| {
            event["payload"]["position"].as_u64().unwrap()
                + event["payload"]["events"].as_u64().unwrap()
        };
        let last = summaries(&log, thread).iter().map(end).max();
        (last.unwrap_or(0) >= events).then_some(log)
    })
    .await
}

/// Says so many things, one after another.
async fn talk(app: &App, range: std::ops::Range<usize>) {
    for at in range {
        app.tell(&format!("message {at}")).await;
    }
}

/// Each recorded call of this module is made again from the log as it was sent.
async fn views_are_exact(app: &App, call: &str) -> usize {
    let log = app.log().await;
    let records = with(&log, &["debug", call]);
    for record in &records {
        let view = app
            .get(&format!(
                "/prompt-views/{}",
                record["event_id"].as_str().unwrap()
            ))
            .await
            .expect(200);
        assert_eq!(view["exact"], true, "{record}\n{view}");
    }
    records.len()
}

on_sqlite!(
    d4_59_summaries_stand_for_what_left_the_view_and_the_events_stay,
    |medium| {
        let stub = summarist().await;
        let mut app = sums_up(medium, &stub).start().await;
        talk(&app, 0..200).await;
        // Of the 600 events the newest 30 to 59 are shown; the block that leaves next is summed up already.
        let log = summed_up(&app, "main", 600).await;
        app.tell("the last one").await;
        let last = stub.all(decision).pop().unwrap();
        let expected: Vec<i64> = visible(&app.public_log().await, "main");
        let shown = [stood_for(&last), last.seqs()].concat();
        assert_eq!(
            shown,
            expected[..shown.len()],
            "each event stands in one summary or is shown, and none is both"
        );
        assert_eq!(shown.last(), last.batch().last(), "none is left out");
        assert!(
            shown.len() > 600
                && last.seqs().len() < 60
                && !last.says("message 100")
                && !last.says("are left out here;"),
            "{last:?}"
        );
        // The originals are in the log, and can be found there.
        assert!(
            log.iter().any(|event| said(event) == "message 0")
                && log.iter().any(|event| said(event) == "ok: message 0")
        );
        // One call for each block, and one for each eight of these: every event was read once, every summary at most once.
        let digested: Vec<i64> = stub
            .all(digesting)
            .iter()
            .flat_map(|request| request.seqs())
            .collect();
        assert!(expected.starts_with(&digested), "{digested:?}");
        assert_eq!(
            (stub.count(digesting), stub.count(joining)),
            (digested.len() / 30, (digested.len() / 30 - 1) / 8)
        );
        // Summaries are events of the thread, which wake nobody and are no entries; each leads to its call.
        let summary = summaries(&log, "main")[0];
        assert_eq!(
            (&summary["source"], &summary["modality"]),
            (&json!("internal"), &json!("state"))
        );
        let view = app
            .get(&format!(
                "/prompt-views/{}",
                summary["event_id"].as_str().unwrap()
            ))
            .await
            .expect(200);
        assert_eq!(
            (&view["exact"], &view["module"], &view["purpose"]),
            (&json!(true), &json!("summary"), &json!("sum-up"))
        );
        let records = app.log().await;
        let call = records
            .iter()
            .find(|event| event["event_id"] == summary["payload"]["call"])
            .unwrap();
        assert!(has(call, "call:summary") && has(call, "debug"), "{call}");
        assert_eq!(
            views_are_exact(&app, "call:summary").await,
            stub.count(summing)
        );
        let record = with(&records, &["call:decision"]).pop().unwrap();
        let view = app
            .get(&format!(
                "/prompt-views/{}",
                record["event_id"].as_str().unwrap()
            ))
            .await
            .expect(200);
        assert_eq!(view["exact"], true, "{record}");
        assert_eq!(
            view["request"]["messages"], last.body["messages"],
            "byte for byte"
        );
        envelope::check_log(&records);
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(summaries_change_only_when_a_block_leaves, |medium| {
    let stub = summarist().await;
    let app = sums_up(medium, &stub).start().await;
    for turn in 1..=80 {
        talk(&app, turn - 1..turn).await;
        // What leaves next is summed up before it leaves.
        if turn % 10 == 0 {
            summed_up(&app, "main", 3 * turn as u64).await;
        }
    }
    let decisions = stub.all(decision);
    let begins = |request: &Request| (stood_for(request), request.seqs()[0]);
    let changes = decisions
        .windows(2)
        .filter(|two| begins(&two[0]) != begins(&two[1]))
        .count();
    assert_eq!(
        changes, 6,
        "the view of 240 events begins anew for each block of 30 that leaves it, and with it the summaries"
    );
    for request in &decisions {
        assert!(
            !request.says("are left out here;"),
            "no event is missing at any time: {request:?}"
        );
    }
});

on_sqlite!(without_the_setting_nothing_is_summed_up, |medium| {
    let stub = summarist().await;
    let app = sums_up(medium, &stub)
        .env("THINKD_HISTORY__SUMMARIES", false)
        .start()
        .await;
    talk(&app, 0..60).await;
    let last = stub.all(decision).pop().unwrap();
    assert!(
        last.says("120 earlier entries are left out here;"),
        "{last:?}"
    );
    assert_eq!(
        (
            stub.count(summing),
            with(&app.log().await, &["summaries"]).len()
        ),
        (0, 0)
    );
});

on_sqlite!(what_was_cleared_away_is_in_no_summary_either, |medium| {
    let stub = summarist().await;
    let app = sums_up(medium, &stub).start().await;
    talk(&app, 0..40).await;
    summed_up(&app, "main", 120).await;
    stub.script(
        |it: &Request| it.is_decision() && it.last_user() == "forget it",
        [call("clear_context", json!({ "keep": 4 }))],
    );
    app.tell("forget it").await;
    let log = app.public_log().await;
    let cleared = seq(one(&log, &["context-cleared"]));
    let all = visible(&log, "main");
    let kept = all[all.iter().filter(|seq| **seq < cleared).count() - 4];
    talk(&app, 40..41).await;
    let next = stub.all(decision).pop().unwrap();
    assert!(
        stood_for(&next).is_empty() && !next.says("[summary]"),
        "{next:?}"
    );
    // What comes after is summed up again, and nothing of what came before.
    talk(&app, 41..80).await;
    let asked = stub.count(digesting);
    talk(&app, 80..81).await;
    let last = within("a summary after the clearing", async {
        loop {
            talk(&app, 81..82).await;
            let last = stub.all(decision).pop().unwrap();
            if !stood_for(&last).is_empty() {
                return last;
            }
        }
    })
    .await;
    assert!(
        stood_for(&last).iter().all(|seq| *seq >= kept),
        "{kept}: {:?}",
        stood_for(&last)
    );
    let shown = [stood_for(&last), last.seqs()].concat();
    let expected = visible(&app.public_log().await, "main");
    let from = expected.iter().position(|seq| *seq == shown[0]).unwrap();
    assert_eq!(
        shown,
        expected[from..from + shown.len()],
        "without a gap and none twice"
    );
    assert!(asked > 0, "summaries were made");
});
