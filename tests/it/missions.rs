//! Missions: a wish becomes tasks, each is done by its best route first, each answer is checked,
//! and the mission is answered from all of them. The model is scripted; without a rule a task is
//! one rubric and one route, its answer is `did <name>`, and every answer passes.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::app::rows_are_what_the_log_says;
use kit::*;

mod agreement;
mod bad_input;
mod budgets;
mod crash;
mod estimates;
mod examples;
mod facts;
mod frameworks;
mod outcome;
mod outside;
mod people;
mod routes;
mod tasks;
mod terminal;
mod waiting;
mod windows;

/// Requests of this step of a mission.
fn node(name: &str) -> impl Fn(&Request) -> bool + Send + Clone + use<> {
    let module = format!("mission:{name}");
    move |request| request.module == module
}

/// Requests of this step about the task of this name.
fn about(name: &str, task: &str) -> impl Fn(&Request) -> bool + Send + Clone + use<> {
    let node = node(name);
    let task = task.to_owned();
    move |request| node(request) && task_of(request)["name"] == json!(task)
}

fn of_missions(request: &Request) -> bool {
    request.module.starts_with("mission:")
}

/// Returns the JSON behind a word of a request's last message; null where it is absent or
/// unreadable.
fn told(request: &Request, word: &str) -> Value {
    let last = request.last();
    let line = last.lines().find_map(|line| line.trim().strip_prefix(word));
    line.and_then(|line| serde_json::from_str(line.trim()).ok())
        .unwrap_or_default()
}

fn task_of(request: &Request) -> Value {
    match told(request, "Task: ") {
        Value::Null => told(request, "Task to be split: "),
        task => task,
    }
}

/// Tasks by name, and the numbers of those that each requires.
fn tasks(list: &[(&str, &[i64])]) -> Answer {
    let task = |(name, requires): &(&str, &[i64])| json!({ "name": name, "description": format!("do {name}"), "requires": requires, "value": null, "brought_by": [] });
    call(
        "decompose",
        json!({ "tasks": list.iter().map(task).collect::<Vec<_>>() }),
    )
}

/// Returns routes with estimates, and a rubric, for a task.
fn ways(routes: &[(&str, f64)]) -> Value {
    let routes: Vec<Value> = routes
        .iter()
        .map(|(name, estimate)| json!({ "name": name, "how": format!("go {name}"), "estimate": estimate }))
        .collect();
    json!({
        "split": false, "split_why": "it is small", "split_estimate": 0, "question": null, "routes": routes,
        "check": "rubric", "program": null, "query": null, "rubric": "it says what was done",
    })
}

fn considered(routes: &[(&str, f64)]) -> Answer {
    call("consider", ways(routes))
}

fn solved(answer: &str) -> Answer {
    call(
        "solve",
        json!({ "thought": "it is so", "answer": answer, "program": null }),
    )
}

fn judged(passes: bool, why: &str) -> Answer {
    call("judge", json!({ "passes": passes, "why": why }))
}

fn answered(answer: &str) -> Answer {
    call("answer", json!({ "answer": answer }))
}

/// Scripts the answers for missions where no rule says otherwise.
fn otherwise(stub: &Stub) {
    stub.on_each(node("decompose"), |_| tasks(&[("whole", &[])]));
    stub.on(node("consider"), considered(&[("straight", 0.9)]));
    stub.on_each(node("solve"), |request| {
        solved(&format!(
            "did {}",
            task_of(request)["name"].as_str().unwrap_or("?")
        ))
    });
    stub.on(node("judge"), judged(true, "nothing is missing"));
    stub.on(
        node("replan"),
        call(
            "replan",
            json!({ "possible": false, "description": null, "why": "it needs it" }),
        ),
    );
    stub.on(node("answer"), answered("the answer to the mission"));
}

/// Begins a mission: its thread.
async fn begin(app: &App, mission: &str, mut more: Value) -> String {
    more["kind"] = json!("mission");
    more["mission"] = json!(mission);
    let thread = app.post("/threads", more).await.expect(201);
    assert_eq!(
        (&thread["kind"], &thread["parent"]),
        (&json!("mission"), &Value::Null),
        "{thread}"
    );
    thread["id"].as_str().unwrap().to_owned()
}

/// Waits until a mission has ended: its thread as it is then.
async fn ended(app: &App, mission: &str) -> Value {
    let done = app.until_some("the end of the mission", async || {
        let thread = app.get(&format!("/threads/{mission}")).await.expect(200);
        ["done", "failed", "stopped"]
            .contains(&thread["status"].as_str().unwrap())
            .then_some(thread)
    });
    done.await
}

async fn list(app: &App, mission: &str) -> Vec<Value> {
    app.pages(&format!("/threads/{mission}/tasks?")).await
}

/// The task of this name.
fn named<'a>(tasks: &'a [Value], name: &str) -> &'a Value {
    tasks
        .iter()
        .find(|task| task["name"] == name)
        .unwrap_or_else(|| panic!("no task {name} in {tasks:#?}"))
}

/// Returns the events of a mission and its tasks, as one line an event: `t2 judged`.
async fn story_of(app: &App, mission: &str) -> Vec<String> {
    let events = app
        .pages(&format!(
            "/events?order=asc&thread={mission}&subtree=true&tags=task&"
        ))
        .await;
    events
        .iter()
        .map(|event| format!("t{} {}", event["payload"]["task"], tags(event)[1]))
        .collect()
}

/// The answers that people saw of a mission.
async fn replies(app: &App, mission: &str) -> Vec<String> {
    let events = app
        .pages(&format!(
            "/events?order=asc&thread={mission}&tags=response&"
        ))
        .await;
    events.iter().map(|event| said(event).to_owned()).collect()
}

// D1.08, D1.11, D1.27, D1.28, D1.36, D1.38, D1.39, T1.15, T1.45: the whole way, over the socket.
on_sqlite!(
    d1_27_a_mission_is_decomposed_done_checked_and_answered,
    |medium| {
        let stub = Stub::start().await;
        stub.on(
            node("decompose"),
            tasks(&[
                ("order the talks", &[2]),
                ("list the talks", &[]),
                ("book a room", &[]),
            ]),
        );
        otherwise(&stub);
        let mut app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        let mission = begin(&app, "Plan a day of five talks.", json!({})).await;
        let reply = socket.response().await;
        assert_eq!(
            (said(&reply), reply["thread"].as_str()),
            ("the answer to the mission", Some(mission.as_str()))
        );
        let thread = ended(&app, &mission).await;
        assert_eq!(thread["status"], "done");
        assert_eq!(
            thread["mission"]["mission"], "Plan a day of five talks.",
            "verbatim"
        );
        assert_eq!(thread["mission"]["value"], "medium");
        // The first call decomposes, and has the mission; the last one has every task with its answer.
        let calls = stub.all(of_missions);
        assert_eq!(calls[0].module, "mission:decompose");
        assert!(calls[0].says("Plan a day of five talks."), "{:?}", calls[0]);
        let last = calls.last().unwrap();
        assert_eq!(last.module, "mission:answer");
        for name in ["order the talks", "list the talks", "book a room"] {
            assert!(
                last.says(name) && last.says(&format!("did {name}")),
                "{last:?}"
            );
        }
        // D1.71, T1.44: each says who it is, the mission, and last its task and mood; the judge is told of none of it.
        for call in &calls {
            let is_told = call.says("Your mission: Plan a day of five talks.")
                && call.says("Your mood: composed.)");
            assert_eq!(is_told, call.module != "mission:judge", "{call:?}");
        }
        let begun = calls
            .iter()
            .find(|r| about("solve", "book a room")(r))
            .unwrap();
        assert!(
            begun.says("(Your task: book a room. Your mood"),
            "{begun:?}"
        );
        // What requires comes after, whatever the order of the list.
        let solved: Vec<Value> = calls
            .iter()
            .filter(|r| node("solve")(r))
            .map(|r| task_of(r)["name"].clone())
            .collect();
        let place = |name: &str| solved.iter().position(|it| it == name).unwrap();
        assert!(
            place("list the talks") < place("order the talks"),
            "{solved:?}"
        );
        let order = calls
            .iter()
            .find(|r| about("solve", "order the talks")(r))
            .unwrap();
        assert!(
            order.says("did list the talks"),
            "it has the answer that it requires: {order:?}"
        );
        // The judge sees task and answer, not how that came about.
        let judge = stub.request(about("judge", "book a room")).await;
        assert!(
            judge.says("did book a room") && judge.says("it says what was done"),
            "{judge:?}"
        );
        assert!(
            !judge.says("it is so") && !judge.says("Plan a day"),
            "{judge:?}"
        );
        let tasks = list(&app, &mission).await;
        let ids: Vec<&str> = tasks.iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["t1", "t2", "t3"]);
        assert!(
            tasks.iter().all(|it| it["status"] == "closed"),
            "{tasks:#?}"
        );
        let order = named(&tasks, "order the talks");
        let listing = named(&tasks, "list the talks");
        assert_eq!(
            (&order["tasks_required"], &listing["tasks_depending"]),
            (&json!(["t2"]), &json!(["t1"]))
        );
        assert_eq!(listing["answer"], "did list the talks");
        // Each has a thread of its own, which has ended and can be read.
        let own = listing["thread"].as_str().unwrap();
        assert_eq!(
            app.get(&format!("/threads/{own}")).await.expect(200)["status"],
            "done"
        );
        // D1.23: all that was thought for it, and nothing of another.
        let one = app
            .get(&format!("/threads/{mission}/tasks/t2"))
            .await
            .expect(200);
        let stream = one["stream_of_consciousness"].as_str().unwrap();
        assert!(
            stream.contains("did list the talks") && !stream.contains("book"),
            "{stream}"
        );
        // D1.09, D1.37: all of it in one call.
        let memory = app
            .get(&format!("/threads/{mission}/memory"))
            .await
            .expect(200);
        assert_eq!(memory["tasks"].as_array().unwrap().len(), 3);
        assert!(
            memory["thoughts"]
                .as_array()
                .unwrap()
                .iter()
                .any(|it| it["content"].as_str().unwrap().contains("did book a room"))
        );
        assert_eq!(memory["statements"], json!([]), "nothing is held");
        let story = story_of(&app, &mission).await;
        let of_two: Vec<&str> = story
            .iter()
            .filter_map(|line| line.strip_prefix("t2 "))
            .collect();
        assert_eq!(
            of_two,
            [
                "made", "began", "split", "asked", "routes", "checked", "tried", "judged", "over"
            ]
        );
        assert_eq!(replies(&app, &mission).await, ["the answer to the mission"]);
        envelope::check_log(&app.log().await);
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D1.77: side by side, each with its own thoughts, and no more than the width.
on_sqlite!(d1_77_tasks_run_side_by_side_up_to_the_width, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(
        node("decompose"),
        tasks(&[("a", &[]), ("b", &[]), ("c", &[])]),
    );
    stub.on(node("solve"), solved("done").held(&gate));
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_MISSION__WIDTH", 2)
        .start()
        .await;
    let mission = begin(&app, "three things", json!({})).await;
    stub.some(2, node("solve")).await;
    let tasks = list(&app, &mission).await;
    let statuses: Vec<&str> = tasks
        .iter()
        .map(|it| it["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["in_progress", "in_progress", "open"]);
    assert_eq!(stub.count(about("consider", "c")), 0, "no more than two");
    assert_eq!(
        tasks[2]["thread"],
        Value::Null,
        "a thread is made when work begins"
    );
    gate.open();
    assert_eq!(ended(&app, &mission).await["status"], "done");
    // D1.24.
    let thoughts = app.pages(&format!("/threads/{mission}/thoughts?")).await;
    assert!(
        thoughts.is_sorted_by_key(|it| it["id"].as_i64()),
        "ids only go up"
    );
    let of = |task: &str| thoughts.iter().filter(|it| it["task"] == task).count();
    assert!(
        of("t1") > 0 && of("t1") == of("t2") && of("t2") == of("t3"),
        "{thoughts:#?}"
    );
});

// D1.25, D1.26, T1.46: a thought is found by its name.
on_sqlite!(d1_25_a_thought_is_found_by_its_name, |medium| {
    let stub = Stub::start().await;
    stub.on(node("consider"), considered(&[("sideways", 0.5)]));
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let mission = begin(&app, "one thing", json!({})).await;
    ended(&app, &mission).await;
    let found = app
        .get(&format!("/threads/{mission}/thoughts?q=tried+sideways"))
        .await
        .expect(200);
    let found = found["items"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["name"], "t1 tried sideways (low)");
    assert!(
        !found[0]["content"].as_str().unwrap().contains("sideways"),
        "{found:#?}"
    );
});

on_sqlite!(a_mission_takes_only_what_a_mission_has, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    for (body, slug) in [
        (json!({ "kind": "mission" }), "empty-input"),
        (
            json!({ "kind": "mission", "mission": " \n" }),
            "empty-input",
        ),
        (
            json!({ "kind": "mission", "mission": "x".repeat(16_001) }),
            "text-too-large",
        ),
        (
            json!({ "kind": "mission", "mission": "x", "label": "y" }),
            "unprocessable",
        ),
        (
            json!({ "kind": "mission", "mission": "x", "contacts": [] }),
            "unprocessable",
        ),
        (
            json!({ "kind": "mission", "mission": "x", "budget": { "model_calls": 0 } }),
            "unprocessable",
        ),
        (
            json!({ "kind": "conversation", "mission": "x" }),
            "unprocessable",
        ),
        (json!({ "value": "high" }), "unprocessable"),
    ] {
        let answer = app.post("/threads", body.clone()).await;
        assert!(
            (400..500).contains(&answer.status),
            "{body}: {}",
            answer.text
        );
        assert_eq!(answer.slug(), slug, "{body}: {}", answer.text);
    }
    for body in [
        json!({ "kind": "mission", "mission": "x", "value": "huge" }),
        json!({ "kind": "mission", "mission": 3 }),
    ] {
        assert_eq!(app.post("/threads", body).await.status, 400);
    }
    app.get("/threads/main/tasks")
        .await
        .expect_problem(404, "not-found");
    assert_eq!(stub.count(of_missions), 0);
});

on_sqlite!(
    a_mission_takes_no_messages_and_has_no_subthreads_but_its_tasks,
    |medium| {
        let stub = Stub::start().await;
        stub.on(node("decompose"), text("never").never());
        let app = App::start(medium, &stub).await;
        let mission = begin(&app, "wait", json!({})).await;
        for thread in [mission.clone(), format!("{mission}.t1")] {
            let answer = app
                .post(
                    &format!("/threads/{thread}/messages"),
                    json!({ "text": "hi" }),
                )
                .await;
            assert_eq!(answer.slug(), "unprocessable", "{}", answer.text);
        }
        let below = app
            .post("/threads", json!({ "label": "x", "parent": mission }))
            .await;
        assert!((400..500).contains(&below.status), "{}", below.text);
        let cancelled = app
            .post(&format!("/threads/{mission}/cancel"), json!({}))
            .await
            .expect(200);
        assert_eq!(cancelled["cancelled"], true);
        assert_eq!(ended(&app, &mission).await["status"], "stopped");
    }
);
