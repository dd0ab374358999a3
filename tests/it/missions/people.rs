//! Acts of people on missions that run, and the start of a mission by a conversation.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::collections::BTreeSet;

use serde_json::json;
use thinkd_words::time::Timestamp;

use super::*;

// D1.21, T1.09: both sides, a circle is refused by name, and what has begun stays as it was begun.
on_sqlite!(t1_09_a_task_is_changed_before_it_begins, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(
        node("decompose"),
        tasks(&[("a", &[]), ("b", &[]), ("c", &[])]),
    );
    stub.on(about("solve", "a"), solved("did a").held(&gate));
    otherwise(&stub);
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_MISSION__WIDTH", 1)
        .start()
        .await;
    let mission = begin(&app, "three things", json!({})).await;
    stub.request(about("solve", "a")).await;
    let path = |task: &str| format!("/threads/{mission}/tasks/{task}");
    let changed = json!({ "name": "bee", "description": "do b otherwise", "tasks_required": ["t3", "t3"], "rank": 9 });
    let b = app.patch(&path("t2"), changed).await.expect(200);
    assert_eq!(
        (&b["tasks_required"], &b["rank"], &b["name"]),
        (&json!(["t3"]), &json!(9), &json!("bee"))
    );
    assert_eq!(
        app.get(&path("t3")).await.expect(200)["tasks_depending"],
        json!(["t2"]),
        "each counts once"
    );
    let circle = app
        .patch(&path("t3"), json!({ "tasks_required": ["t2"] }))
        .await
        .expect_problem(422, "unprocessable");
    assert!(
        circle["detail"].as_str().unwrap().contains("t3 → t2 → t3"),
        "{circle}"
    );
    app.patch(&path("t3"), json!({ "tasks_required": ["t9"] }))
        .await
        .expect_problem(422, "unprocessable");
    app.patch(&path("t3"), json!({ "tasks_required": ["9"] }))
        .await
        .expect_problem(400, "invalid-id");
    app.patch(&path("t3"), json!({ "name": " " }))
        .await
        .expect_problem(400, "empty-input");
    app.patch(&path("t9"), json!({ "rank": 1 }))
        .await
        .expect_problem(404, "not-found");
    let begun = app
        .patch(&path("t1"), json!({ "description": "do nothing" }))
        .await
        .expect_problem(409, "already-settled");
    assert!(
        begun["detail"].as_str().unwrap().contains("t1 has begun"),
        "{begun}"
    );
    gate.open();
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let order: Vec<Value> = stub
        .all(node("solve"))
        .iter()
        .map(|it| task_of(it)["name"].clone())
        .collect();
    assert_eq!(order, ["a", "c", "bee"]);
    assert!(
        stub.request(about("solve", "bee"))
            .await
            .says("do b otherwise")
    );
    app.patch(&path("t2"), json!({ "rank": 1 }))
        .await
        .expect_problem(409, "already-settled");
    rows_are_what_the_log_says(&mut app).await;
});

// Two who change tasks at the same time close no circle between them, and neither loses what the other said.
on_sqlite!(
    tasks_that_are_changed_at_once_close_no_circle_and_keep_each_change,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(
            node("decompose"),
            tasks(&[("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])]),
        );
        stub.on(about("solve", "a"), solved("did a").held(&gate));
        otherwise(&stub);
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_MISSION__WIDTH", 1)
            .start()
            .await;
        let mission = begin(&app, "four things", json!({})).await;
        stub.request(about("solve", "a")).await;
        let path = |task: &str| format!("/threads/{mission}/tasks/{task}");
        let requires = async |task: &str, of: Value| {
            let path = path(task);
            app.patch(&path, json!({ "tasks_required": of }))
                .await
                .status
        };
        for _ in 0..8 {
            let (b, c, d) = tokio::join!(
                requires("t2", json!(["t3"])),
                requires("t3", json!(["t4"])),
                requires("t4", json!(["t2"]))
            );
            let mut said = [b, c, d];
            said.sort_unstable();
            assert_eq!(
                said,
                [200, 200, 422],
                "of three that close a circle one is refused"
            );
            for task in ["t2", "t3", "t4"] {
                assert_eq!(requires(task, json!([])).await, 200);
            }
            let b = path("t2");
            let (name, rank) = tokio::join!(
                app.patch(&b, json!({ "name": "bee" })),
                app.patch(&b, json!({ "rank": 7 }))
            );
            assert_eq!((name.status, rank.status), (200, 200));
            let b = app.get(&path("t2")).await.expect(200);
            assert_eq!((&b["name"], &b["rank"]), (&json!("bee"), &json!(7)), "{b}");
            app.patch(&path("t2"), json!({ "name": "b", "rank": 2 }))
                .await
                .expect(200);
        }
        gate.open();
        assert_eq!(ended(&app, &mission).await["status"], "done");
        assert!(
            list(&app, &mission)
                .await
                .iter()
                .all(|task| task["status"] == "closed"),
            "none is left"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

// A skipped task is over, what is under way for it is stopped, and what requires it is planned anew.
on_sqlite!(a_task_is_skipped_before_and_while_it_is_done, |medium| {
    let stub = Stub::start().await;
    stub.on(
        node("decompose"),
        tasks(&[("a", &[]), ("b", &[]), ("c", &[1])]),
    );
    stub.on(about("solve", "a"), text("never").never());
    otherwise(&stub);
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_MISSION__WIDTH", 1)
        .start()
        .await;
    let mission = begin(&app, "three things", json!({})).await;
    let asked = stub.request(about("solve", "a")).await;
    let path = |task: &str| format!("/threads/{mission}/tasks/{task}");
    for task in ["t2", "t1"] {
        let skipped = app.delete(&path(task)).await.expect(200);
        assert_eq!(
            skipped["status"],
            "failed_with_current_available_instruments"
        );
        assert_eq!(skipped["reason"], "skipped");
        app.delete(&path(task))
            .await
            .expect_problem(409, "already-settled");
    }
    asked.closed().await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    assert_eq!(stub.count(about("consider", "b")), 0);
    let tasks = list(&app, &mission).await;
    assert!(
        named(&tasks, "c")["reason"]
            .as_str()
            .unwrap()
            .contains("requires t1, which failed: skipped"),
        "{tasks:#?}"
    );
    let last = stub.request(node("answer")).await;
    assert!(last.says("skipped"), "{last:?}");
    rows_are_what_the_log_says(&mut app).await;
});

// Whoever is told that a task is skipped finds it skipped, however near it is to its beginning or its end; nothing of it goes on.
on_sqlite!(
    a_task_that_was_skipped_stays_so_whatever_it_comes_to_meanwhile,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(node("decompose"), |request| {
            let is_part = request.says("Task to be split");
            tasks(if is_part {
                &[("x", &[]), ("y", &[])]
            } else {
                &[("a", &[]), ("b", &[1]), ("c", &[2]), ("d", &[3])]
            })
        });
        let mut splits = ways(&[("straight", 0.1)]);
        (splits["split"], splits["split_estimate"]) = (json!(true), json!(0.9));
        stub.on(about("consider", "c"), call("consider", splits));
        stub.on(
            node("replan"),
            call(
                "replan",
                json!({ "possible": true, "description": null, "why": "it can" }),
            ),
        );
        otherwise(&stub);
        let mut app = App::start(medium, &stub).await;
        let mut skipped_in_all = 0;
        for round in 0..12 {
            let mission = begin(&app, &format!("four things, {round}"), json!({})).await;
            let mut skipped = Vec::new();
            while !["done", "failed"].contains(
                &app.get(&format!("/threads/{mission}")).await.expect(200)["status"]
                    .as_str()
                    .unwrap(),
            ) {
                let tasks = list(&app, &mission).await;
                let to_come = tasks
                    .iter()
                    .filter(|it| it["status"] == "open" || it["status"] == "in_progress");
                // One of those that come first, another one in each round.
                let Some(task) = to_come
                    .take(2)
                    .nth(round % 2)
                    .and_then(|it| it["id"].as_str())
                else {
                    continue;
                };
                if app
                    .delete(&format!("/threads/{mission}/tasks/{task}"))
                    .await
                    .status
                    == 200
                {
                    skipped.push(task.to_owned());
                }
            }
            for task in list(&app, &mission).await {
                let id = task["id"].as_str().unwrap();
                assert_ne!(task["status"], "open", "{task}");
                assert_ne!(task["status"], "in_progress", "{task}");
                if skipped.iter().any(|it| it == id) {
                    assert_eq!(task["reason"], "skipped", "{task}");
                }
                if let Some(thread) = task["thread"].as_str() {
                    let thread = app.get(&format!("/threads/{thread}")).await;
                    assert!(
                        thread.status == 404
                            || ["done", "failed"]
                                .contains(&thread.expect(200)["status"].as_str().unwrap()),
                        "{task}"
                    );
                }
            }
            skipped_in_all += skipped.len();
        }
        assert!(skipped_in_all > 12, "control: {skipped_in_all}");
        let log = app.log().await;
        let ends = with(&log, &["task", "over"]);
        let of = |it: &Value| {
            format!(
                "{:?} {}",
                it["thread"].as_str().unwrap().split('.').nth(1),
                it["payload"]["task"]
            )
        };
        let tasks: BTreeSet<String> = ends.iter().copied().map(of).collect();
        assert_eq!(tasks.len(), ends.len(), "each task ends once");
        rows_are_what_the_log_says(&mut app).await;
    }
);

// What waits for a place at which to be worked on has not begun: it can be told to wait for others.
on_sqlite!(
    t1_09_a_task_that_waits_for_its_place_is_changed_like_any_other,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on_each(node("decompose"), |request| {
            tasks(if request.says("Task to be split") {
                &[("x", &[]), ("y", &[]), ("z", &[])]
            } else {
                &[("a", &[]), ("b", &[])]
            })
        });
        let mut splits = ways(&[("straight", 0.1)]);
        (splits["split"], splits["split_estimate"]) = (json!(true), json!(0.9));
        stub.on(about("consider", "a"), call("consider", splits));
        stub.on(about("solve", "b"), solved("did b").held(&gate));
        stub.script(about("solve", "x"), [solved("did x").held(&gate)]);
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_MISSION__WIDTH", 2)
            .start()
            .await;
        let mission = begin(&app, "two things", json!({})).await;
        stub.request(about("solve", "b")).await;
        stub.request(about("solve", "x")).await;
        let parts = list(&app, &mission).await;
        let y = named(&parts, "y");
        let z = named(&parts, "z");
        assert_eq!(y["status"], "open", "both places are taken");
        let path = format!("/threads/{mission}/tasks/{}", y["id"].as_str().unwrap());
        app.patch(&path, json!({ "tasks_required": [z["id"]] }))
            .await
            .expect(200);
        gate.open();
        assert_eq!(ended(&app, &mission).await["status"], "done");
        let solved: Vec<Value> = stub
            .all(node("solve"))
            .iter()
            .map(|it| task_of(it)["name"].clone())
            .collect();
        let place = |name: &str| solved.iter().position(|it| it == name).unwrap();
        assert!(place("z") < place("y"), "{solved:?}");
    }
);

/// Returns the milliseconds of work on a mission, by its events alone: the sum over each span of
/// work between its first and last event.
async fn worked_on(app: &App, mission: &str) -> u64 {
    let events = app
        .pages(&format!("/events?order=asc&debug=true&thread={mission}&"))
        .await;
    let mut worked = 0;
    let mut span = None::<(i64, i64)>;
    for event in &events {
        let is = |tag: &str| tags(event).contains(&tag);
        let rests = is("run") && (is("paused") || is("parked"));
        if rests || (is("run") && is("resumed")) {
            worked += span.take().map_or(0, |(since, last)| last - since);
        }
        let beside = is("run") && (is("started") || is("cancel") || is("continued"));
        if !rests && !beside {
            let at = Timestamp::parse(event["ts"].as_str().unwrap())
                .unwrap()
                .micros();
            span = Some((span.map_or(at, |(since, _)| since), at));
        }
    }
    worked += span.map_or(0, |(since, last)| last - since);
    u64::try_from(worked / 1000).unwrap()
}

on_sqlite!(a_mission_rests_and_goes_on, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(node("solve"), [solved("did a").held(&gate)]);
    otherwise(&stub);
    let mut app = App::start(medium, &stub).await;
    let mission = begin(&app, "one thing", json!({})).await;
    let asked = stub.request(node("solve")).await;
    let paused = app
        .post(&format!("/threads/{mission}/pause"), json!({}))
        .await
        .expect(200);
    assert_eq!(
        (&paused["status"], &paused["mission"]["rests"]),
        (&json!("waiting"), &json!("paused"))
    );
    let worked = paused["budget"]["time_ms"].as_u64().unwrap();
    assert!(
        worked <= paused["mission"]["budget"]["time_ms"].as_u64().unwrap(),
        "{paused}"
    );
    // What is under way is left; nothing is asked, not after a restart either.
    asked.closed().await;
    app.restart().await;
    let resting = app.get(&format!("/threads/{mission}")).await.expect(200);
    assert_eq!(
        (&resting["status"], &resting["budget"]["time_ms"]),
        (&json!("waiting"), &json!(worked)),
        "rest is no work"
    );
    assert_eq!(stub.count(node("solve")), 1);
    app.post(&format!("/threads/{mission}/resume"), json!({}))
        .await
        .expect(200);
    let done = ended(&app, &mission).await;
    assert_eq!(
        (&done["status"], &done["mission"]["rests"]),
        (&json!("done"), &json!(null))
    );
    assert_eq!(
        done["budget"]["time_ms"],
        worked_on(&app, &mission).await,
        "as its events say"
    );
    let listed = app.pages("/threads?kind=mission&").await;
    let listed = listed
        .iter()
        .find(|it| it["id"] == mission.as_str())
        .unwrap();
    assert_eq!(listed["budget"]["time_ms"], done["budget"]["time_ms"]);
    assert_eq!(
        stub.count(node("solve")),
        2,
        "what was cut off is asked again, and nothing else"
    );
    assert_eq!(
        stub.count(node("decompose")) + stub.count(node("consider")),
        2
    );
    app.post(&format!("/threads/{mission}/pause"), json!({}))
        .await
        .expect_problem(409, "already-settled");
    app.post("/threads/main/pause", json!({}))
        .await
        .expect_problem(404, "not-found");
});

on_sqlite!(a_mission_that_rests_can_be_cancelled, |medium| {
    let stub = Stub::start().await;
    stub.on(node("decompose"), text("never").never());
    let app = App::start(medium, &stub).await;
    let mission = begin(&app, "one thing", json!({})).await;
    stub.request(node("decompose")).await;
    app.post(&format!("/threads/{mission}/pause"), json!({}))
        .await
        .expect(200);
    app.post(&format!("/threads/{mission}/cancel"), json!({}))
        .await
        .expect(200);
    assert_eq!(ended(&app, &mission).await["status"], "stopped");
});

// The decision begins a mission by a tool; its answer comes back as a message, which it replies to.
on_sqlite!(
    a_conversation_begins_a_mission_and_is_told_its_answer,
    |medium| {
        let stub = Stub::start().await;
        let begins = call(
            "start_mission",
            json!({ "mission": "Plan five talks.", "value": "low" }),
        );
        stub.script(decision, [begins, reply("I am on it.")]);
        stub.on(
            |request| decision(request) && request.says("the answer to the mission"),
            reply("it is planned"),
        );
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TOOLS__CONVERSATION", "reply,start_mission")
            .start()
            .await;
        let mut socket = app.socket().await;
        socket.say("plan five talks, please").await;
        assert_eq!(said(&socket.response().await), "I am on it.");
        socket
            .event("the reply to the answer", |event| {
                has(event, "response") && said(event) == "it is planned"
            })
            .await;
        let log = app.log().await;
        let message = one(&log, &["message"]);
        assert_eq!(
            (said(message), message["thread"].as_str()),
            ("the answer to the mission", Some("main"))
        );
        let mission = one(&log, &["run", "started"])["thread"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(has(message, &format!("from:{mission}")), "{message}");
        assert_eq!(
            app.get(&format!("/threads/{mission}")).await.expect(200)["mission"]["value"],
            "low"
        );
        envelope::check_log(&log);
    }
);

// D1.18, D1.30: a task of the value high asks over the queue of questions; the answer is in its next prompt.
on_sqlite!(d1_30_a_task_of_high_value_asks_the_user, |medium| {
    let stub = Stub::start().await;
    let asks = |room: &str| {
        let mut way = ways(&[("straight", 0.9)]);
        way["question"] = json!(room);
        call("consider", way)
    };
    stub.script(
        node("consider"),
        [
            asks("Which room?"),
            considered(&[("as the user says", 0.9)]),
        ],
    );
    otherwise(&stub);
    let mut app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    let mission = begin(&app, "book a room", json!({ "value": "high" })).await;
    let question = socket.tagged("question").await;
    assert_eq!(
        (said(&question), question["thread"].as_str()),
        ("Which room?", Some(mission.as_str()))
    );
    // A crash asks no second time.
    app.restart().await;
    let id = question["payload"]["question_id"].as_str().unwrap();
    let open = app.get("/questions").await.expect(200);
    assert_eq!(open["items"].as_array().unwrap().len(), 1, "{open}");
    let answered = app
        .post(
            &format!("/questions/{id}"),
            json!({ "text": "the blue one" }),
        )
        .await;
    assert!(answered.status < 300, "{}", answered.text);
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let again = stub.nth(1, node("consider")).await;
    assert_eq!(
        told(&again, "What the user said of it: "),
        json!({ "question": "Which room?", "answer": "the blue one" })
    );
    assert_eq!(stub.count(node("consider")), 2);
    let tasks = list(&app, &mission).await;
    assert_eq!(tasks[0]["routes"][0]["name"], "as the user says");
    envelope::check_log(&app.log().await);
});

// D1.60, T1.28: while people are away nobody is asked; a question that nobody answers in time is done without.
on_sqlite!(
    t1_28_a_task_does_without_people_who_are_away_or_late,
    |medium| {
        let stub = Stub::start().await;
        let mut way = ways(&[("straight", 0.9)]);
        way["question"] = json!("Which room?");
        stub.on(node("consider"), call("consider", way));
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MISSION__QUESTION_MS", 300)
            .start()
            .await;
        app.request("PUT", "/settings")
            .json(&json!({ "settings": { "user_away": true } }))
            .send()
            .await
            .unwrap();
        let mission = begin(&app, "book a room", json!({ "value": "high" })).await;
        assert_eq!(ended(&app, &mission).await["status"], "done");
        let log = app.log().await;
        assert!(with(&log, &["question", "user"]).is_empty());
        assert!(said(one(&log, &["task", "refused"])).contains("user_away"));
        app.request("PUT", "/settings")
            .json(&json!({ "settings": { "user_away": false } }))
            .send()
            .await
            .unwrap();
        let mission = begin(&app, "book a room", json!({ "value": "high" })).await;
        assert_eq!(ended(&app, &mission).await["status"], "done");
        let log = app.log().await;
        assert_eq!(with(&log, &["question", "user"]).len(), 1);
        let late = stub.all(node("consider")).into_iter().next_back().unwrap();
        assert_eq!(
            told(&late, "What the user said of it: ")["answer"],
            Value::Null
        );
        assert!(
            with(&log, &["task", "refused"])
                .iter()
                .any(|it| said(it).contains("asked once"))
        );
    }
);
