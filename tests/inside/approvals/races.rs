//! Several clients that settle one call at the same time, and a server that is killed meanwhile. No
//! call starts without a verdict, none starts twice, and every call has exactly one result in the
//! end.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::collections::HashMap;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{paid, pays, setup};
use kit::*;

/// Races on each database.
const RACES: usize = 500;
/// So many calls are raced for between two kills.
const AT_ONCE: usize = 25;

/// Has a thread propose a payment. On a busy machine all connections to the database may be, and it is said again.
async fn tell(app: &App, thread: &str) {
    let said = json!({ "text": "pay now", "event_id": thinkd::words::id::fresh() });
    polled("a proposal", async || {
        app.post(&format!("/threads/{thread}/messages?wait=30"), said.clone())
            .await
            .status
            != 503
    })
    .await;
}

async fn settle(app: &App, thread: &str, id: &str, how: usize) -> Option<u16> {
    let say = |body: Value| app.request("POST", &format!("/approvals/{id}")).json(&body);
    let request = match how {
        0 => say(json!({ "verdict": "approve" })),
        1 => say(json!({ "verdict": "edit", "arguments": { "to": "ann", "amount": 1_000 } })),
        2 => say(json!({ "verdict": "reject" })),
        3 => say(json!({ "verdict": "respond", "text": "done elsewhere" })),
        4 => app.request("POST", &format!("/threads/{thread}/cancel")),
        _ => app.request("POST", &format!("/threads/{thread}/end")),
    };
    // The server may be killed meanwhile.
    request
        .send()
        .await
        .ok()
        .map(|reply| reply.status().as_u16())
}

on_both!(
    d4_60_of_five_hundred_races_none_starts_without_a_verdict_or_twice,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(
            |r| r.is_decision(),
            |r| {
                if r.last_user().contains("pay now") && !r.says("waits for a person") {
                    pays(1)
                } else {
                    reply("So be it.")
                }
            },
        );
        let mut app = setup(medium, &stub)
            .env("THINKD_TEST_TOOLS__APPROVAL_MS", 60_000)
            .start()
            .await;
        let mut threads: HashMap<String, String> = HashMap::new();
        for round in 0..RACES / AT_ONCE {
            let names: Vec<String> = (0..AT_ONCE)
                .map(|number| format!("r{round}-{number}"))
                .collect();
            join_all(names.iter().map(|thread| tell(&app, thread))).await;
            let open = app.pages("/approvals?").await;
            let of = |thread: &String| {
                let own = open
                    .iter()
                    .find(|it| it["thread"] == **thread)
                    .unwrap_or_else(|| panic!("{thread} has none"));
                (
                    thread.clone(),
                    own["approval_id"].as_str().unwrap().to_owned(),
                )
            };
            let fresh: Vec<(String, String)> = names.iter().map(of).collect();
            let race = fresh.iter().enumerate().flat_map(|(number, (thread, id))| {
                // Three at once for each, another three every time.
                // In a third of them all who come say yes: there a call starts.
                let how = move |step: usize| {
                    if number % 3 == 0 {
                        step % 2
                    } else {
                        (number * 5 + step * 2 + round) % 6
                    }
                };
                (0..3).map(move |step| (thread, id, how(step)))
            });
            let app_ref = &app;
            let racing = join_all(race.map(|(thread, id, how)| settle(app_ref, thread, id, how)));
            if round % 2 == 0 {
                racing.await;
            } else {
                let _ = tokio::time::timeout(ms(5 + 7 * (round as u64 % 5)), racing).await;
                app.kill();
                app.start_again().await;
            }
            threads.extend(fresh);
        }
        // Whatever nobody came to before a kill is said now.
        for it in app.pages("/approvals?").await {
            let id = it["approval_id"].as_str().unwrap();
            app.post(&format!("/approvals/{id}"), json!({ "verdict": "reject" }))
                .await;
        }
        let log = app
            .until_some("a result of every call", async || {
                let log = app.log().await;
                let results = with(&log, &["result", "tool:pay"]).len();
                (results >= threads.len()).then_some(log)
            })
            .await;
        // The first word is the thread.
        let mut starts: HashMap<String, usize> = HashMap::new();
        for line in paid(&app) {
            *starts
                .entry(line.split(' ').next().unwrap().to_owned())
                .or_default() += 1;
        }
        let mut by_thread: HashMap<String, Vec<Value>> = HashMap::new();
        for event in log {
            by_thread
                .entry(event["thread"].as_str().unwrap().to_owned())
                .or_default()
                .push(event);
        }
        let mut granted = 0;
        let mut started = 0;
        for thread in threads.keys() {
            let events = &by_thread[thread];
            let of = |tags: &[&str]| with(events, tags).len();
            assert_eq!(
                of(&["result", "tool:pay"]),
                1,
                "{thread}:\n{}",
                story(events)
            );
            let verdicts = ["granted", "answered", "denied", "expired", "withdrawn"];
            let said: usize = verdicts.iter().map(|word| of(&["approval", word])).sum();
            assert_eq!(said, 1, "{thread}:\n{}", story(events));
            let begun = of(&["approval", "started"]);
            assert!(
                begun <= of(&["approval", "granted"]),
                "{thread}:\n{}",
                story(events)
            );
            let ran = starts.get(thread).copied().unwrap_or(0);
            assert!(
                ran <= begun,
                "{thread} started {ran} times, {begun} are written down:\n{}",
                story(events)
            );
            granted += of(&["approval", "granted"]);
            started += begun;
        }
        assert!(
            granted > 50 && started > 50,
            "{granted} were granted, {started} started: the races were none"
        );
    }
);
