//! Runs that are cut off: by `kill -9`, by a shutdown, by another server's death. Recorded steps
//! are not run again.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{begin, counting, ended, events_of, own, perform, step, steps, stub};
use kit::*;

/// Returns the number of times each step was asked for.
fn asked(stub: &Stub) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for request in stub.all(counting) {
        *asked.entry(step(&request)).or_default() += 1;
    }
    asked
}

on_both!(
    d2_60_a_run_that_was_killed_goes_on_without_repeating_what_is_recorded,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            |r| counting(r) && step(r) == "step 3",
            [text("never").never()],
        );
        stub.on_each(counting, |request| text(&format!("did {}", step(request))));
        let mut app = own::setup(medium, &stub).start().await;
        // Control: a run that nobody kills.
        let whole = perform(&app, "steps", json!(2)).await;
        assert_eq!(
            asked(&stub),
            BTreeMap::from([("step 1".into(), 1), ("step 2".into(), 1)])
        );
        assert!(!steps(&events_of(&app, &whole).await).contains(&"run resumed".to_owned()));
        let path = begin(&app, "steps", json!(4)).await;
        stub.request(|r| counting(r) && step(r) == "step 3").await;
        app.restart().await;
        let run = ended(&app, &path).await;
        assert_eq!(
            run["output"],
            json!(["did step 1", "did step 2", "did step 3", "did step 4"]),
            "{run}"
        );
        let all = [("step 1", 2), ("step 2", 2), ("step 3", 2), ("step 4", 1)];
        assert_eq!(
            asked(&stub),
            all.map(|(step, times)| (step.to_owned(), times)).into(),
            "both runs together"
        );
        let events = events_of(&app, &run).await;
        assert_eq!(
            steps(&events),
            [
                "run started",
                "node started step 1",
                "node finished step 1",
                "node started step 2",
                "node finished step 2",
                "node started step 3",
                "run resumed",
                "node started step 3",
                "node finished step 3",
                "node started step 4",
                "node finished step 4",
                "run ended done"
            ]
        );
        envelope::check_log(&app.log().await);
    }
);

on_both!(
    d2_60_ten_kills_lose_no_run_and_repeat_nothing_recorded,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(counting, |r| {
            text(&format!("did {}", step(r))).after(ms(r.index as u64 % 7))
        });
        let mut app = own::setup(medium, &stub)
            .env("THINKD_TEST_PIPELINES__AT_ONCE", 10)
            .start()
            .await;
        let mut paths = Vec::new();
        for kill in 0..10u64 {
            paths.push(begin(&app, "steps", json!(12)).await);
            faults::sometime(ms(kill * 17 % 61)).await;
            app.restart().await;
        }
        let expected: Vec<String> = (1..=12).map(|n| format!("did step {n}")).collect();
        for path in &paths {
            let run = ended(&app, path).await;
            assert_eq!(run["output"], json!(expected), "{run}");
            let events = events_of(&app, &run).await;
            let finished = steps(
                &with(&events, &["node", "finished"])
                    .into_iter()
                    .cloned()
                    .collect::<Vec<_>>(),
            );
            let each: Vec<String> = (1..=12)
                .map(|n| format!("node finished step {n}"))
                .collect();
            assert_eq!(finished, each, "each node is recorded once, in order");
            // Nothing is started again once it is recorded.
            for place in 1..=12 {
                let started = format!("node started step {place}");
                let finished = format!("node finished step {place}");
                let lines = steps(&events);
                let recorded = lines.iter().position(|line| *line == finished).unwrap();
                assert!(!lines[recorded..].contains(&started), "{}", story(&events));
            }
        }
        let log = app.log().await;
        println!(
            "10 kills: {} runs, {} resumed, all whole",
            paths.len(),
            with(&log, &["run", "resumed"]).len()
        );
        assert!(
            !with(&log, &["run", "resumed"]).is_empty(),
            "no kill fell into a run"
        );
        envelope::check_log(&log);
        // Rows are what the log says, also of runs.
        app.kill();
        let store = thinkd::log::store::open(
            app.database(),
            thinkd::log::options::Options::default(),
            thinkd::log::thread_row::ThreadRow::apply,
        );
        assert_eq!(
            store
                .await
                .unwrap()
                .rebuild(true)
                .await
                .unwrap()
                .differences,
            Vec::<String>::new()
        );
    }
);

on_both!(
    branches_that_were_recorded_are_not_asked_again_after_a_kill,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            |r| counting(r) && step(r) == "part 2",
            [text("never").never()],
        );
        stub.on_each(counting, |request| text(&format!("did {}", step(request))));
        let mut app = own::setup(medium, &stub).start().await;
        let path = begin(&app, "wide", json!(4)).await;
        let mut socket = app.socket().await;
        socket
            .follow(0, json!({ "thread": "runs", "subtree": true }))
            .await;
        for _ in socket
            .events()
            .iter()
            .filter(|e| has(e, "finished"))
            .count()..3
        {
            socket.tagged("finished").await;
        }
        app.restart().await;
        let run = ended(&app, &path).await;
        assert_eq!(
            run["output"],
            json!(["did part 1", "did part 2", "did part 3", "did part 4"]),
            "{run}"
        );
        let all = [("part 1", 1), ("part 2", 2), ("part 3", 1), ("part 4", 1)];
        assert_eq!(
            asked(&stub),
            all.map(|(part, times)| (part.to_owned(), times)).into()
        );
    }
);

/// Returns true for requests of the racing branches: each answer to `the draw` differs.
fn racing(request: &Request) -> bool {
    request.module == "pipeline:race"
}

// Each branch begins with the same question, whose answer is another each time: whoever mixes them up is seen.
on_both!(racing_branches_keep_what_is_theirs_over_kills, |medium| {
    let stub = Stub::start().await;
    let draws = std::sync::atomic::AtomicU32::new(0);
    stub.on_each(racing, move |r| {
        let what = step(r);
        let slow = ms(r.index as u64 * 7 % 23);
        let answer = match what.as_str() {
            "look at the draw" => format!(
                "draw {}",
                draws.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
            ),
            what => what.rsplit(' ').next().unwrap_or_default().to_owned(),
        };
        text(&answer).after(slow)
    });
    let mut app = own::setup(medium, &stub).start().await;
    let mut killed_in_the_middle = 0;
    for round in 0..2_u64 {
        let path = begin(&app, "race", json!(["apples", "pears"])).await;
        let mut recorded = Vec::new();
        for kill in 0..3_u64 {
            // Three questions in the first life are two answers and more; in the later ones some are on their way.
            let enough = stub.count(racing) + 3 - usize::try_from(kill).unwrap();
            tokio::select! {
                _ = stub.some(enough, racing) => {}
                _ = ended(&app, &path) => {}
            }
            faults::sometime(ms((round * 11 + kill * 17) % 13)).await;
            app.restart().await;
            let run = app.get(&path).await.expect(200);
            recorded.push(values(&events_of(&app, &run).await));
        }
        let run = ended(&app, &path).await;
        assert_eq!(run["status"], "done", "{run}");
        let last = values(&events_of(&app, &run).await);
        // What was recorded once stayed as it was, at the place it was recorded at.
        for before in &recorded {
            assert!(
                before.iter().all(|(place, value)| last[place] == *value),
                "{before:?} {last:?}"
            );
            killed_in_the_middle += usize::from(!before.is_empty() && before.len() < last.len());
        }
        for (n, topic) in ["apples", "pears"].into_iter().enumerate() {
            let draw = last[&format!("/{topic}.1")].as_str().unwrap();
            assert_eq!(
                run["output"][n],
                json!(format!("{topic}: {draw}, {topic}")),
                "{last:?}"
            );
        }
        assert_ne!(last["/apples.1"], last["/pears.1"]);
    }
    println!("{killed_in_the_middle} of 6 kills in the middle of two branches");
    assert!(
        killed_in_the_middle > 0,
        "no kill fell between the records of a run"
    );
    envelope::check_log(&app.log().await);
});

// A call that failed has no value to be found by, but its place was its own: whoever stands there after a kill is refused.
on_both!(a_call_that_failed_keeps_its_place_over_a_kill, |medium| {
    let nameless = |request: &Request| request.module == "pipeline:nameless";
    let stub = Stub::start().await;
    // In the first life apples begin, in vain, and pears follow; in the second, pears would begin.
    stub.script(
        move |r| nameless(r) && step(r) == "may pears begin",
        [text("yes").after(ms(800)), text("yes")],
    );
    stub.script(
        move |r| nameless(r) && step(r) == "may apples begin",
        [text("yes"), text("yes").after(ms(800))],
    );
    stub.script(
        move |r| nameless(r) && step(r) == "look at apples",
        [text("no")],
    );
    stub.script(
        move |r| nameless(r) && step(r).starts_with("close"),
        [text("never").never()],
    );
    stub.on_each(nameless, |request| text(&format!("did {}", step(request))));
    let mut app = own::setup(medium, &stub).start().await;
    let path = begin(&app, "nameless", json!(["apples", "pears"])).await;
    stub.request(move |r| nameless(r) && step(r).starts_with("close"))
        .await;
    app.restart().await;
    let run = ended(&app, &path).await;
    let events = events_of(&app, &run).await;
    let abandoned = with(&events, &["node", "abandoned"]);
    assert_eq!(abandoned.len(), 1, "{}", story(&events));
    assert_eq!(
        (
            &abandoned[0]["payload"]["node"],
            &abandoned[0]["payload"]["place"]
        ),
        (&json!("lucky"), &json!("1"))
    );
    assert_eq!(run["status"], "failed", "{run}");
    let said = run["failure"]["text"].as_str().unwrap();
    assert!(said.contains("took another way"), "{said}");
    assert_eq!(
        stub.count(move |r| nameless(r) && step(r) == "look at pears"),
        1,
        "nobody was asked in its place"
    );
    envelope::check_log(&app.log().await);
});

// As a version left it that did not record what nodes were called with.
on_both!(
    a_record_without_arguments_is_refused_by_node_and_place,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            |r| counting(r) && step(r) == "step 2",
            [text("never").never()],
        );
        stub.on_each(counting, |request| text(&format!("did {}", step(request))));
        let mut app = own::setup(medium, &stub).start().await;
        let path = begin(&app, "steps", json!(2)).await;
        stub.request(|r| counting(r) && step(r) == "step 2").await;
        app.kill();
        let on = if app.database().starts_with("postgres") {
            "on events"
        } else {
            ""
        };
        let older = r#"update events set payload = replace(payload, '"arguments":', '"then":')"#;
        stored::execute(
            app.database(),
            &format!("drop trigger events_stay {on}; {older}"),
        )
        .await;
        app.start_again().await;
        let run = ended(&app, &path).await;
        assert_eq!(
            (&run["status"], &run["failure"]["kind"]),
            (&json!("failed"), &json!("node")),
            "{run}"
        );
        let text = run["failure"]["text"].as_str().unwrap();
        assert!(
            text.contains("record of `step` at 1 is of the old form"),
            "{text}"
        );
        assert_eq!(
            asked(&stub)["step 2"],
            1,
            "nothing is asked on the strength of it"
        );
    }
);

/// Returns the recorded values, by place.
fn values(events: &[Value]) -> BTreeMap<String, Value> {
    let finished = with(events, &["node", "finished"]);
    let record = |event: &&Value| {
        (
            event["payload"]["place"].as_str().unwrap().to_owned(),
            event["payload"]["value"].clone(),
        )
    };
    let all: Vec<_> = finished.iter().map(record).collect();
    let by_place: BTreeMap<_, _> = all.iter().cloned().collect();
    assert_eq!(by_place.len(), all.len(), "a place has one record: {all:?}");
    by_place
}

on_both!(
    a_run_that_a_shutdown_cuts_off_goes_on_at_the_next_start,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            |r| counting(r) && step(r) == "step 2",
            [text("never").never()],
        );
        stub.on_each(counting, |request| text(&format!("did {}", step(request))));
        let setup = own::setup(medium, &stub).env("THINKD_RUNTIME__GRACE_MS", 50);
        let mut app = setup.start().await;
        let path = begin(&app, "steps", json!(2)).await;
        stub.request(|r| counting(r) && step(r) == "step 2").await;
        assert!(app.stop().await.success());
        app.start_again().await;
        let run = ended(&app, &path).await;
        assert_eq!(
            (&run["status"], &run["output"]),
            (&json!("done"), &json!(["did step 1", "did step 2"])),
            "{run}"
        );
        let log = app.log().await;
        assert_eq!(
            with(&log, &["node", "failed"]).len(),
            0,
            "leaving is no failure: {}",
            story(&log)
        );
        assert_eq!(asked(&stub)["step 1"], 1);
    }
);

on_both!(a_run_whose_pipeline_is_gone_fails_and_says_so, |medium| {
    let stub = Stub::start().await;
    stub.on(counting, text("never").never());
    let mut app = own::setup(medium, &stub).start().await;
    let path = begin(&app, "steps", json!(2)).await;
    stub.request(counting).await;
    app.kill();
    app.set_program(kit::program().into(), &[]);
    app.start_again().await;
    let run = ended(&app, &path).await;
    assert_eq!(run["status"], "failed");
    assert_eq!(
        run["failure"]["text"],
        "there is no pipeline steps any more"
    );
});

// Several servers on one database: Postgres alone.
#[tokio::test]
async fn a_run_is_one_servers_until_that_dies_and_any_server_cancels_it() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let stub = Stub::start().await;
    let gate = Gate::new();
    let other = Gate::new();
    stub.script(
        |r| counting(r) && step(r) == "step 2",
        [text("never").never(), text("did step 2").held(&gate)],
    );
    stub.script(
        |r| counting(r) && step(r) == "step 3",
        [text("never").held(&other)],
    );
    stub.on_each(counting, |request| text(&format!("did {}", step(request))));
    let setup = own::setup(medium, &stub)
        .env("THINKD_TEST_RUNTIME__LEASE_MS", 600)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 100);
    let mut app = setup.start().await;
    let second = app.beside().await;
    let path = begin(&app, "steps", json!(3)).await;
    stub.request(|r| counting(r) && step(r) == "step 2").await;
    // The other one looks for work all the time, and leaves this one alone, for more than two leases.
    tokio::time::sleep(ms(1500)).await;
    assert_eq!(stub.count(counting), 2, "{:?}", stub.requests());
    app.kill();
    stub.nth(1, |r| counting(r) && step(r) == "step 2").await;
    gate.open();
    stub.request(|r| counting(r) && step(r) == "step 3").await;
    assert_eq!(asked(&stub)["step 1"], 1);
    // The first one is back: it does not have the run, and cancels it all the same.
    app.start_again().await;
    app.post(&format!("{path}/cancel"), json!({}))
        .await
        .expect(202);
    let run = ended(&second, &path).await;
    assert_eq!(run["status"], "cancelled", "{run}");
    let events: Vec<Value> = events_of(&second, &run).await;
    assert_eq!(
        with(&events, &["run", "ended"]).len(),
        1,
        "{}",
        story(&events)
    );
    envelope::check_log(&second.log().await);
}

#[tokio::test]
async fn a_run_is_recorded_by_a_server_with_its_own_pipelines_only() {
    // Control for the trick of this suite: the stock program has no such pipeline.
    let stub = stub().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    app.post("/pipelines/steps", json!({ "input": 1 }))
        .await
        .expect_problem(404, "not-found");
}

// A run that ends its server each time must not do so for ever.
#[tokio::test]
async fn a_run_that_is_always_cut_off_is_given_up() {
    let stub = Stub::start().await;
    stub.on(counting, text("never").never());
    let mut app = own::setup(Medium::sqlite(), &stub).start().await;
    let path = begin(&app, "steps", json!(1)).await;
    for life in 0..17 {
        stub.nth(life, counting).await;
        app.restart().await;
    }
    let run = ended(&app, &path).await;
    assert_eq!(
        (&run["status"], &run["failure"]["kind"]),
        (&json!("failed"), &json!("budget")),
        "{run}"
    );
    assert!(
        run["failure"]["text"]
            .as_str()
            .unwrap()
            .contains("16 times"),
        "{run}"
    );
    assert_eq!(stub.count(counting), 17);
}
