//! Missions that wait for people: for a verdict on their plan, for an answer. Meanwhile nothing is held for them.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::*;
use kit::command::{out, thinkd};

/// Waits until nothing is done for a mission any more because it waits for people.
async fn rests(app: &App, mission: &str) -> Value {
    app.until_some("the rest of the mission", async || {
        let thread = app.get(&format!("/threads/{mission}")).await.expect(200);
        (thread["status"] == "waiting").then_some(thread)
    })
    .await
}

fn asks(question: &str) -> Answer {
    let mut way = ways(&[("straight", 0.9)]);
    way["question"] = json!(question);
    call("consider", way)
}

/// The only open request of this list.
async fn open(app: &App, list: &str, mission: &str) -> Value {
    let open = app.pages(&format!("/{list}?thread={mission}&")).await;
    assert_eq!(open.len(), 1, "{open:?}");
    open[0].clone()
}

async fn answer(app: &App, question: &Value, text: &str) {
    let id = question["question_id"].as_str().unwrap();
    let answered = app
        .post(&format!("/questions/{id}"), json!({ "text": text }))
        .await;
    assert!(answered.status < 300, "{}", answered.text);
}

async fn decide(app: &App, approval: &Value, verdict: Value) -> Reply {
    app.post(
        &format!("/approvals/{}", approval["approval_id"].as_str().unwrap()),
        verdict,
    )
    .await
}

async fn tagged(app: &App, mission: &str, tags: &[&str]) -> usize {
    let events = app
        .pages(&format!("/events?order=asc&thread={mission}&"))
        .await;
    with(&events, tags).len()
}

// With a place for one mission, another is done while the first one waits: it holds neither that nor its lease.
on_sqlite!(a_mission_that_waits_for_an_answer_holds_nothing, |medium| {
    let stub = Stub::start().await;
    stub.on_each(node("consider"), |request| {
        match request.says("book a room") && !request.says("the blue one") {
            true => asks("Which room?"),
            false => considered(&[("straight", 0.9)]),
        }
    });
    otherwise(&stub);
    let mut app = Setup::new(medium, &stub)
        .env("THINKD_TEST_MISSION__AT_ONCE", 1)
        .env("THINKD_TEST_RUNTIME__SCAN_MS", 60_000)
        .start()
        .await;
    let first = begin(&app, "book a room", json!({ "value": "high" })).await;
    rests(&app, &first).await;
    let second = begin(&app, "count to three", json!({})).await;
    assert_eq!(ended(&app, &second).await["status"], "done");
    // Nor does a start take it up.
    let calls = stub.count(of_missions);
    app.restart().await;
    let third = begin(&app, "count to four", json!({})).await;
    assert_eq!(ended(&app, &third).await["status"], "done");
    assert_eq!(rests(&app, &first).await["mission"]["rests"], "people");
    assert_eq!(
        tagged(&app, &first, &["run", "resumed"]).await,
        0,
        "it was not worked on"
    );
    answer(&app, &open(&app, "questions", &first).await, "the blue one").await;
    assert_eq!(ended(&app, &first).await["status"], "done");
    // Of the third five; of the first a second look, a try, a verdict, the answer.
    assert_eq!(stub.count(of_missions) - calls, 5 + 4);
    assert_eq!(tagged(&app, &first, &["run", "parked"]).await, 1);
    envelope::check_log(&app.log().await);
    rows_are_what_the_log_says(&mut app).await;
});

// As long as another task is worked on, it is; both questions of a mission are answered in any order.
on_sqlite!(a_mission_rests_when_all_of_it_waits, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(
        node("decompose"),
        tasks(&[("a", &[]), ("b", &[]), ("c", &[])]),
    );
    for task in ["a", "b"] {
        stub.script(about("consider", task), [asks(&format!("What of {task}?"))]);
    }
    stub.on(about("solve", "c"), solved("did c").held(&gate));
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let mission = begin(&app, "three things", json!({ "value": "high" })).await;
    stub.request(about("solve", "c")).await;
    let both = app.until_some("both questions", async || {
        let open = app.pages(&format!("/questions?thread={mission}&")).await;
        (open.len() == 2).then_some(open)
    });
    let both = both.await;
    assert_ne!(
        app.get(&format!("/threads/{mission}")).await.expect(200)["status"],
        "waiting"
    );
    gate.open();
    rests(&app, &mission).await;
    assert_eq!(named(&list(&app, &mission).await, "c")["status"], "closed");
    let of = |task: &str| {
        both.iter()
            .find(|it| it["text"] == format!("What of {task}?"))
            .unwrap()
    };
    answer(&app, of("b"), "second").await;
    stub.request(|request: &Request| about("solve", "b")(request))
        .await;
    rests(&app, &mission).await;
    answer(&app, of("a"), "first").await;
    assert_eq!(ended(&app, &mission).await["status"], "done");
    assert_eq!(stub.count(node("consider")), 5, "nothing is asked twice");
    assert_eq!(tagged(&app, &mission, &["run", "parked"]).await, 2);
});

// What people say to a mission is no new input: whatever the policy for that is, nothing that is under way is cut off.
on_sqlite!(an_answer_interrupts_no_mission, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(node("decompose"), tasks(&[("a", &[]), ("b", &[])]));
    stub.script(about("consider", "a"), [asks("What of a?")]);
    stub.on(about("solve", "b"), solved("did b").held(&gate));
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TURN__POLICY", "interrupt")
        .start()
        .await;
    let mission = begin(&app, "two things", json!({ "value": "high" })).await;
    stub.request(about("solve", "b")).await;
    let question = app.until_some("the question", async || {
        if let [question] = &app.pages(&format!("/questions?thread={mission}&")).await[..] {
            return Some(question.clone());
        }
        None
    });
    answer(&app, &question.await, "the blue one").await;
    // It goes on with what it was told, beside the task that is under way.
    stub.request(about("judge", "a")).await;
    gate.open();
    assert_eq!(ended(&app, &mission).await["status"], "done");
    assert_eq!(stub.count(about("solve", "b")), 1);
    assert_eq!(
        tagged(&app, &mission, &["run", "resumed"]).await,
        0,
        "it was never left"
    );
});

// Somebody wants it to rest: an answer does not end that, and is used when it goes on.
on_sqlite!(
    an_answer_does_not_wake_a_mission_that_is_to_rest,
    |medium| {
        let stub = Stub::start().await;
        stub.script(node("consider"), [asks("Which room?")]);
        otherwise(&stub);
        let mut app = App::start(medium, &stub).await;
        let mission = begin(&app, "book a room", json!({ "value": "high" })).await;
        rests(&app, &mission).await;
        let question = open(&app, "questions", &mission).await;
        app.post(&format!("/threads/{mission}/pause"), json!({}))
            .await
            .expect(200);
        answer(&app, &question, "the blue one").await;
        assert_eq!(
            app.get(&format!("/threads/{mission}")).await.expect(200)["status"],
            "waiting"
        );
        assert_eq!(stub.count(node("consider")), 1);
        app.post(&format!("/threads/{mission}/resume"), json!({}))
            .await
            .expect(200);
        assert_eq!(ended(&app, &mission).await["status"], "done");
        assert!(stub.nth(1, node("consider")).await.says("the blue one"));
        rows_are_what_the_log_says(&mut app).await;
    }
);

// Skipping the task that asked ends the wait, and the question with it; cancelling ends the mission.
on_sqlite!(a_wait_ends_with_its_task_and_with_its_mission, |medium| {
    let stub = Stub::start().await;
    stub.on(node("consider"), asks("Which room?"));
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let mission = begin(&app, "book a room", json!({ "value": "high" })).await;
    rests(&app, &mission).await;
    app.delete(&format!("/threads/{mission}/tasks/t1"))
        .await
        .expect(200);
    assert_eq!(ended(&app, &mission).await["status"], "done");
    assert!(stub.request(node("answer")).await.says("skipped"));
    assert_eq!(app.pages("/questions?").await, Vec::<Value>::new());
    let mission = begin(&app, "book a room", json!({ "value": "high" })).await;
    rests(&app, &mission).await;
    app.post(&format!("/threads/{mission}/cancel"), json!({}))
        .await
        .expect(200);
    assert_eq!(ended(&app, &mission).await["status"], "stopped");
});

/// Begins a mission with a plan that waits; returns its thread, and the approval of the plan.
async fn planned(app: &App) -> (String, Value) {
    let mission = begin(app, "Plan a day of talks.", json!({ "plan": "ask" })).await;
    rests(app, &mission).await;
    let approval = open(app, "approvals", &mission).await;
    (mission, approval)
}

// The plan goes to a person before any task is made; a crash asks no second time; approved, it is done.
on_sqlite!(a_plan_that_is_approved_is_done, |medium| {
    let stub = Stub::start().await;
    stub.on(node("decompose"), tasks(&[("list", &[]), ("order", &[1])]));
    otherwise(&stub);
    let mut app = App::start(medium, &stub).await;
    let (mission, approval) = planned(&app).await;
    assert_eq!(
        app.get(&format!("/threads/{mission}")).await.expect(200)["mission"]["plan"],
        "ask"
    );
    assert_eq!(approval["tool"], "mission_plan");
    let names: Vec<&Value> = approval["arguments"]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, [&json!("list"), &json!("order")]);
    assert_eq!(list(&app, &mission).await, Vec::<Value>::new());
    app.restart().await;
    assert_eq!(
        open(&app, "approvals", &mission).await["approval_id"],
        approval["approval_id"]
    );
    decide(
        &app,
        &approval,
        json!({ "verdict": "approve", "reason": "go on" }),
    )
    .await
    .expect(200);
    assert_eq!(ended(&app, &mission).await["status"], "done");
    assert_eq!(
        named(&list(&app, &mission).await, "order")["tasks_required"],
        json!(["t1"])
    );
    assert_eq!(stub.count(node("decompose")), 1);
    let log = app.log().await;
    let result = one(&log, &["result", "tool:mission_plan"]);
    assert_eq!(
        (
            &result["payload"]["output"],
            &result["payload"]["approval_id"]
        ),
        (&json!({ "tasks": 2 }), &approval["approval_id"])
    );
    assert_eq!(
        decide(&app, &approval, json!({ "verdict": "reject" }))
            .await
            .slug(),
        "already-settled"
    );
    envelope::check_log(&log);
    rows_are_what_the_log_says(&mut app).await;
});

// What a person makes of the plan counts, where it is one.
on_sqlite!(a_plan_that_is_edited_is_done_as_it_was_edited, |medium| {
    let stub = Stub::start().await;
    stub.on(
        node("decompose"),
        tasks(&[("list", &[]), ("order", &[1]), ("print", &[2])]),
    );
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let (mission, approval) = planned(&app).await;
    let wrong = decide(
        &app,
        &approval,
        json!({ "verdict": "edit", "arguments": { "tasks": "none" } }),
    )
    .await;
    assert!((400..500).contains(&wrong.status), "{}", wrong.text);
    let mut plan = approval["arguments"].clone();
    let tasks = plan["tasks"].as_array_mut().unwrap();
    tasks.truncate(2);
    tasks[1]["description"] = json!("order them by hand");
    decide(
        &app,
        &approval,
        json!({ "verdict": "edit", "arguments": plan }),
    )
    .await
    .expect(200);
    assert_eq!(ended(&app, &mission).await["status"], "done");
    let tasks = list(&app, &mission).await;
    assert_eq!(tasks.len(), 2);
    assert_eq!(named(&tasks, "order")["description"], "order them by hand");
});

// Rejected, answered instead, or left alone until it expires: the mission ends with that reason, and nothing was done.
on_sqlite!(a_plan_that_is_not_approved_ends_its_mission, |medium| {
    let stub = Stub::start().await;
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_TOOLS__APPROVAL_MS", 1500)
        .start()
        .await;
    let verdicts = [
        (
            Some(json!({ "verdict": "reject", "reason": "too dear" })),
            "the plan was rejected by admin: too dear",
        ),
        (
            Some(json!({ "verdict": "respond", "text": "ask Ann" })),
            "the plan was not approved but answered by admin: ask Ann",
        ),
        (None, "the plan was not approved in time"),
    ];
    for (verdict, why) in verdicts {
        let (mission, approval) = planned(&app).await;
        if let Some(verdict) = verdict {
            decide(&app, &approval, verdict).await.expect(200);
        }
        assert_eq!(ended(&app, &mission).await["status"], "failed");
        let reply = &replies(&app, &mission).await[0];
        assert!(reply.contains(why), "{reply}");
        let events = app
            .pages(&format!("/events?order=asc&thread={mission}&"))
            .await;
        assert!(
            said(one(&events, &["failure", "pipeline:mission"])).contains(why),
            "{events:#?}"
        );
        assert_eq!(list(&app, &mission).await, Vec::<Value>::new());
    }
    assert_eq!(stub.count(node("decompose")), 3);
    assert_eq!(
        stub.count(of_missions),
        3,
        "nothing but the plans was paid for"
    );
    assert_eq!(app.pages("/approvals?").await, Vec::<Value>::new());
});

// A model that plans nothing: the mission as its only task is what is approved.
on_sqlite!(a_mission_without_a_plan_is_its_only_task, |medium| {
    let stub = Stub::start().await;
    stub.on(node("decompose"), text("I do not plan."));
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let (mission, approval) = planned(&app).await;
    assert_eq!(
        approval["arguments"]["tasks"][0]["description"],
        "Plan a day of talks."
    );
    decide(&app, &approval, json!({ "verdict": "approve" }))
        .await
        .expect(200);
    assert_eq!(ended(&app, &mission).await["status"], "done");
    assert_eq!(list(&app, &mission).await.len(), 1);
});

// In the terminal: the plan is shown with how it is approved, and then the tasks and the answer.
#[tokio::test]
async fn the_terminal_shows_a_plan_that_waits() {
    let stub = Stub::start().await;
    stub.on(node("decompose"), tasks(&[("list", &[]), ("order", &[1])]));
    otherwise(&stub);
    let app = App::start(Medium::sqlite(), &stub).await;
    let mut command = thinkd(&app, &["mission", "--plan", "ask", "Plan a day of talks."]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let asked = within("the question of the terminal", async {
        loop {
            let line = lines.next_line().await.unwrap().expect("it ended");
            if line.starts_with("? ") {
                return line;
            }
        }
    })
    .await;
    assert!(
        asked.contains("the plan of 2 tasks (list; order)"),
        "{asked}"
    );
    let approve: Vec<&str> = asked.split("thinkd ").nth(1).unwrap().split(' ').collect();
    let listed = out(&thinkd(&app, &["inbox"])
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap());
    assert!(
        listed.starts_with(&format!("{}  approval", approve[2])),
        "another name than in the inbox: {asked}{listed}"
    );
    let approved = thinkd(&app, &approve).stdin(Stdio::null()).output();
    let approved = within("the approval", approved).await.unwrap();
    assert!(approved.status.success(), "{}", out(&approved));
    let mut rest = Vec::new();
    within("the answer", async {
        while let Some(line) = lines.next_line().await.unwrap() {
            rest.push(line);
        }
    })
    .await;
    assert_eq!(rest.last().unwrap(), "the answer to the mission");
    assert!(
        rest.iter().any(|line| line.contains("t2 order: did order")),
        "{rest:?}"
    );
}
