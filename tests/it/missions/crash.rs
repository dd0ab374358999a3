//! Missions that are cut off by `kill -9`: recorded calls are not made again, and the answer is the
//! same.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

/// A mission with a split, a failure and tasks side by side.
fn script(stub: &Stub, slow: u64) {
    let answers = move |request: &Request| -> Answer {
        let task = task_of(request)["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let answer = match (request.module.as_str(), task.as_str()) {
            ("mission:decompose", "") => {
                tasks(&[("a", &[]), ("b", &[]), ("c", &[1, 2]), ("d", &[])])
            }
            ("mission:decompose", name) => {
                let names = [format!("{name} one"), format!("{name} two")];
                tasks(&[(&names[0], &[]), (&names[1], &[1])])
            }
            ("mission:consider", "b") => {
                let mut split = ways(&[("straight", 0.2)]);
                (split["split"], split["split_estimate"]) = (json!(true), json!(0.9));
                call("consider", split)
            }
            ("mission:consider", _) => considered(&[("straight", 0.9), ("around", 0.4)]),
            ("mission:solve", name) => solved(&format!(
                "did {name} by {}",
                told(request, "Route: ")["name"]
            )),
            ("mission:judge", "d") => judged(request.says("around"), "the straight way is wrong"),
            ("mission:judge", _) => judged(true, "fine"),
            ("mission:answer", _) => answered(&format!("from {}", told(request, "Tasks: "))),
            other => panic!("nobody asks {other:?}"),
        };
        answer.after(ms(request.index as u64 * 7 % slow.max(1)))
    };
    stub.on_each(of_missions, answers);
}

/// Returns the number of times each call was made, by its prompt.
fn asked(stub: &Stub) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for request in stub.all(of_missions) {
        *asked.entry(request.prompt_bytes()).or_default() += 1;
    }
    asked
}

const WIDTH: usize = 2;

async fn uninterrupted(medium: &Medium) -> (usize, String) {
    let stub = Stub::start().await;
    script(&stub, 1);
    let own = if medium.is_postgres() {
        Medium::postgres().await.unwrap()
    } else {
        Medium::sqlite()
    };
    let app = Setup::new(own, &stub)
        .env("THINKD_MISSION__WIDTH", WIDTH)
        .start()
        .await;
    let mission = begin(&app, "four things", json!({})).await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    assert!(
        asked(&stub).values().all(|times| *times == 1),
        "control: nothing is asked twice"
    );
    let events = app
        .pages(&format!("/events?order=asc&thread={mission}&"))
        .await;
    assert!(with(&events, &["run", "resumed"]).is_empty());
    (
        stub.count(of_missions),
        replies(&app, &mission).await.swap_remove(0),
    )
}

on_both!(
    missions_that_are_killed_go_on_and_repeat_nothing_recorded,
    |medium| {
        let (calls, answer) = uninterrupted(&medium).await;
        let stub = Stub::start().await;
        script(&stub, 9);
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_MISSION__WIDTH", WIDTH)
            .start()
            .await;
        let mut resumed = 0;
        for kill in 0..calls {
            let before = stub.count(of_missions);
            let mission = begin(&app, "four things", json!({})).await;
            // Somewhere behind the call with this number: before its answer, before its record, or after that.
            stub.some(before + 1 + kill, of_missions).await;
            faults::sometime(ms(kill as u64 * 5 % 13)).await;
            app.restart().await;
            let thread = ended(&app, &mission).await;
            assert_eq!(thread["status"], "done", "{}", story(&app.log().await));
            assert_eq!(
                replies(&app, &mission).await,
                std::slice::from_ref(&answer),
                "killed behind call {kill}"
            );
            let made = stub.count(of_missions) - before;
            assert!(
                made <= calls + WIDTH,
                "{made} calls, {calls} without a kill; killed behind call {kill}"
            );
            let events = app
                .pages(&format!("/events?order=asc&thread={mission}&"))
                .await;
            resumed += with(&events, &["run", "resumed"]).len();
            let finished: Vec<&str> = with(&events, &["node", "finished"])
                .iter()
                .map(|it| it["payload"]["place"].as_str().unwrap())
                .collect();
            let mut once = finished.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(
                once.len(),
                finished.len(),
                "each node is recorded once: {finished:?}"
            );
            let tasks = list(&app, &mission).await;
            let ids: Vec<u64> = tasks
                .iter()
                .map(|it| it["id"].as_str().unwrap()[1..].parse().unwrap())
                .collect();
            assert!(ids.is_sorted() && ids.len() == 6, "D1.12: {ids:?}");
        }
        println!("{calls} kills of a mission of {calls} calls: {resumed} were taken up again");
        assert!(
            resumed > calls / 2,
            "the kills fell into missions: {resumed} of {calls}"
        );
        envelope::check_log(&app.log().await);
        rows_are_what_the_log_says(&mut app).await;
    }
);

/// The next number of a sequence that is the same in every run (Knuth's MMIX).
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// Kills missions once each at a random point: behind a call, and up to 20 ms later.
async fn killed_once(medium: Medium, missions: usize) {
    let (calls, answer) = uninterrupted(&medium).await;
    let stub = Stub::start().await;
    script(&stub, 9);
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_MISSION__WIDTH", WIDTH)
        // On Postgres each kill is waited for by the lease of the server before.
        .env("THINKD_TEST_RUNTIME__LEASE_MS", 1000)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 250)
        .start()
        .await;
    let mut seed = 17;
    let mut resumed = 0;
    let mut most = 0;
    let mut all = 0;
    for mission_no in 0..missions {
        let before = stub.count(of_missions);
        let mission = begin(&app, "four things", json!({})).await;
        stub.some(
            before + 1 + random(&mut seed, calls as u64) as usize,
            of_missions,
        )
        .await;
        faults::sometime(ms(random(&mut seed, 20))).await;
        app.restart().await;
        assert_eq!(ended(&app, &mission).await["status"], "done");
        assert_eq!(
            replies(&app, &mission).await,
            std::slice::from_ref(&answer),
            "mission {mission_no}"
        );
        let made = stub.count(of_missions) - before;
        assert!(
            made <= calls + WIDTH,
            "{made} calls, {calls} without a kill; mission {mission_no}"
        );
        (most, all) = (most.max(made), all + made);
        let events = app
            .pages(&format!("/events?order=asc&thread={mission}&"))
            .await;
        resumed += with(&events, &["run", "resumed"]).len();
    }
    let mean = all as f64 / missions as f64;
    println!(
        "{missions} missions killed once each: {resumed} were taken up again; {calls} calls without a kill, {mean:.2} on average, {most} at most; the same answer"
    );
}

// As the test above, two hundred times and at random points.
#[tokio::test]
#[ignore = "minutes: by .ci/run --all"]
async fn two_hundred_missions_are_killed_once_each_on_sqlite() {
    killed_once(Medium::sqlite(), 200).await;
}

#[tokio::test]
#[ignore = "minutes: by .ci/run --all"]
async fn two_hundred_missions_are_killed_once_each_on_postgres() {
    if let Some(medium) = Medium::postgres().await {
        killed_once(medium, 200).await;
    }
}

/// Scripts a mission with one task, done by a framework that is made for it.
fn makes_a_framework(stub: &Stub) {
    stub.on(node("decompose"), tasks(&[("ordering the talks", &[])]));
    stub.on(node("consider"), considered(&[("straight", 0.9)]));
    stub.on(node("solve"), solved("by hand"));
    stub.on_each(node("judge"), |request| {
        judged(request.says("gap 15"), "it clashes")
    });
    let program = |code: &str| {
        call(
            "framework",
            json!({
                "kind": "program", "why": "it comes again", "name": "order", "purpose": "ordering the talks of a day", "knowledge": [],
                "code": code, "input": "{}", "parameters": [r#"{"gap":15}"#, r#"{"gap":5}"#],
            }),
        )
    };
    let works = "({ answer: `gap ${parameters.gap}`, score: parameters.gap })";
    stub.on_each(node("framework"), move |request| {
        program(if request.says("boom(") {
            works
        } else {
            "boom("
        })
    });
    stub.on(
        node("guideline"),
        call("guideline", json!({ "guideline": "Long gaps." })),
    );
    let runs = json!({ "thought": "run it", "framework": 1, "input": "{}", "answer": null });
    stub.on(node("apply"), call("apply", runs));
    stub.on(node("answer"), answered("done"));
}

// Wherever it is killed, one framework is made of it, what came of it is told once, and what is recorded is not asked again.
on_both!(
    missions_that_are_killed_make_one_framework_and_tell_of_it_once,
    |medium| {
        let stub = Stub::start().await;
        makes_a_framework(&stub);
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_TOOLS__CODE__ENABLED", true)
            .start()
            .await;
        let mut calls = 0;
        for kill in 0.. {
            let before = stub.count(of_missions);
            let mission = begin(&app, "the talks of Monday", json!({ "value": "high" })).await;
            if kill > 0 {
                stub.some(before + kill, of_missions).await;
                faults::sometime(ms(kill as u64 * 5 % 13)).await;
                app.restart().await;
            }
            assert_eq!(ended(&app, &mission).await["status"], "done");
            let made = stub.count(of_missions) - before;
            if kill == 0 {
                // Decompose, consider, solve, judge, solve, judge, framework, framework, guideline, apply, judge, answer.
                assert_eq!(made, 12);
                calls = made;
            }
            assert!(
                made <= calls + 1,
                "{made} calls, {calls} without a kill; killed behind call {kill}"
            );
            let frameworks = app.get("/frameworks").await.expect(200)["items"].clone();
            let [framework] = &frameworks.as_array().unwrap()[..] else {
                panic!("killed behind {kill}: {frameworks}")
            };
            let path = format!("/frameworks/{}", framework["id"].as_str().unwrap());
            // A like task of another mission is done without it; what came of that is told once.
            let like = begin(&app, "the talks of Tuesday", json!({})).await;
            stub.some(before + made + 1 + kill % 6, of_missions).await;
            app.restart().await;
            ended(&app, &like).await;
            let tally = app.get(&path).await.expect(200)["tally"].clone();
            assert_eq!(
                tally,
                json!({ "with": { "tried": 0, "worked": 0 }, "without": { "tried": 1, "worked": 0 } })
            );
            assert_eq!(app.delete(&path).await.status, 204);
            if kill == calls {
                break;
            }
        }
        rows_are_what_the_log_says(&mut app).await;
    }
);
