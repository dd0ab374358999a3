//! A clock that was ahead puts nothing to sleep: timers and schedules of its time go by the right one. Every
//! `on_both!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::faults::with_wrong_clock;
use kit::*;

/// A year, in seconds.
const YEAR: i64 = 365 * 86_400;

/// Waits for an event that comes after the first `before` ones.
async fn comes(app: &App, what: &str, before: usize, is_it: impl Fn(&Value) -> bool) {
    app.until(what, async || app.log().await[before..].iter().any(&is_it))
        .await;
}

async fn schedule(app: &App, name: &str, more: Value) {
    let mut body = json!({ "name": name, "thread": name, "overlap": "queue" });
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    app.post("/schedules", body).await.expect(201);
}

fn every(seconds: u32) -> Value {
    json!({ "kind": "every", "seconds": seconds })
}

/// Tells whether an event is a run of a schedule.
fn ran(name: &str) -> impl Fn(&Value) -> bool {
    let tag = format!("schedule:{name}");
    move |event| has(event, &tag) && has(event, "input")
}

/// Tells whether a thread is told that its timer is due.
fn is_rung(event: &Value) -> bool {
    event["payload"]["timer"].is_string() && !has(event, "state")
}

on_both!(
    what_was_set_by_a_clock_that_was_ahead_is_due_by_the_right_one,
    |medium| {
        let stub = Stub::start().await;
        let timer = call("set_timer", json!({ "after_s": 3.0, "note": "tea" }));
        let asked = |request: &Request| decision(request) && request.says("tea, please");
        stub.script(asked, [timer]);
        let wait = call("wait", json!({ "from": null, "timeout_s": 3.0 }));
        stub.script(at("p"), [wait]);
        stub.on(any, reply("hm"));
        let Some((setup, clock)) = with_wrong_clock(Setup::new(medium, &stub)) else {
            return;
        };
        clock.is_ahead(YEAR);
        let mut app = setup.start().await;
        schedule(&app, "bell", json!({ "when": every(2) })).await;
        // One that did not fire yet, and one that fires on days.
        schedule(&app, "gong", json!({ "when": every(8) })).await;
        let daily = json!({ "kind": "daily", "time": "09:00", "zone": "UTC" });
        schedule(&app, "noon", json!({ "when": daily })).await;
        app.tell("tea, please").await;
        app.process("p", json!({})).await;
        app.say_in("p", "wait a moment").await;
        let waits = |event: &Value| event["thread"] == "p" && has(event, "set:timer");
        comes(&app, "a wait", 0, waits).await;
        comes(&app, "a run by the wrong clock", 0, ran("bell")).await;
        assert!(app.stop().await.success());
        clock.is_ahead(0);
        app.start_again().await;
        let before = app.log().await.len();
        comes(&app, "a run by the right clock", before, ran("bell")).await;
        comes(&app, "the other", before, ran("gong")).await;
        let of_main = |event: &Value| event["thread"] == "main" && is_rung(event);
        comes(&app, "the timer", before, of_main).await;
        let of_wait = |event: &Value| event["thread"] == "p" && is_rung(event);
        comes(&app, "the end of the wait", before, of_wait).await;
        let noon = app.get("/schedules/noon").await.expect(200);
        let due = thinkd_words::time::Timestamp::parse(noon["next"].as_str().unwrap()).unwrap();
        let day = 86_400_000_000;
        assert!(due <= thinkd_words::time::now().after(day), "{noon}");
        app.until_says("the clock was ahead").await;
        kit::app::rows_are_what_the_log_says(&mut app).await;
    }
);

on_both!(
    a_clock_that_jumps_ahead_and_back_does_not_stop_a_schedule,
    |medium| {
        let stub = Stub::start().await;
        stub.on(any, reply("hm"));
        let Some((setup, clock)) = with_wrong_clock(Setup::new(medium, &stub)) else {
            return;
        };
        clock.is_ahead(0);
        let app = setup.start().await;
        schedule(&app, "bell", json!({ "when": every(1) })).await;
        comes(&app, "a run", 0, ran("bell")).await;
        clock.is_ahead(3600);
        let hour = |event: &Value| {
            ran("bell")(event) && event["payload"]["schedule"]["count"].as_u64() > Some(3000)
        };
        comes(&app, "a run of an hour", 0, hour).await;
        clock.is_ahead(0);
        let before = app.log().await.len();
        comes(&app, "a run afterwards", before, ran("bell")).await;
        comes(&app, "another one", before + 1, ran("bell")).await;
    }
);

on_both!(a_claim_is_tried_in_a_log_whose_time_is_ahead, |medium| {
    let stub = Stub::start().await;
    stub.on(any, reply("hm"));
    let Some((setup, clock)) = with_wrong_clock(Setup::new(medium, &stub)) else {
        return;
    };
    clock.is_ahead(YEAR);
    let mut app = setup.start().await;
    app.tell("hello").await;
    assert!(app.stop().await.success());
    clock.is_ahead(0);
    app.start_again().await;
    let claim = json!({ "statement": "Owls see at night." });
    app.post("/world-model", claim).await.expect(202);
    stub.request(|request| request.module == "trial").await;
});

on_both!(a_trial_in_vain_is_made_again_by_the_right_clock, |medium| {
    let stub = Stub::start().await;
    stub.on(|request| request.module == "trial", status(400));
    let Some((setup, clock)) = with_wrong_clock(Setup::new(medium, &stub)) else {
        return;
    };
    clock.is_ahead(YEAR);
    let mut app = setup.start().await;
    let claim = json!({ "statement": "Owls see at night." });
    app.post("/world-model", claim).await.expect(202);
    let in_vain = |event: &Value| event["payload"]["judged"]["breaks"].as_u64() > Some(0);
    comes(&app, "a trial in vain", 0, in_vain).await;
    assert!(app.stop().await.success());
    clock.is_ahead(0);
    let before = stub.requests().len();
    app.start_again().await;
    stub.nth(before, any).await;
});

// The clock of Postgres was ahead when a server that is no more took a lease.
#[tokio::test]
async fn a_lease_that_lasts_for_a_year_keeps_nobody_waiting() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    stub.script(decision, [reply("late").after(ms(60_000))]);
    stub.on(any, reply("here I am"));
    let mut app = App::start(medium, &stub).await;
    app.say_in("main", "hello").await;
    stub.request(decision).await;
    app.kill();
    let text = "update leases set until = until + interval '1 year'";
    stored::execute(app.database(), text).await;
    app.start_again().await;
    comes(&app, "the reply", 0, |event| said(event) == "here I am").await;
}
