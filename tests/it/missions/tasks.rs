//! Tasks: their fields, and the conditions of their start.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

// D1.14, D1.15, D1.16: only an open task whose requirements are closed begins; one that is in progress or closed does not begin again.
on_sqlite!(
    d1_14_a_task_begins_once_when_what_it_requires_is_closed,
    |medium| {
        let stub = Stub::start().await;
        let a = Gate::new();
        let c = Gate::new();
        stub.on(
            node("decompose"),
            tasks(&[("a", &[]), ("b", &[1]), ("c", &[])]),
        );
        stub.on(about("solve", "a"), solved("did a").held(&a));
        stub.on(about("solve", "c"), solved("did c").held(&c));
        otherwise(&stub);
        let app = App::start(medium, &stub).await;
        let mission = begin(&app, "three things", json!({})).await;
        stub.request(about("solve", "a")).await;
        stub.request(about("solve", "c")).await;
        let statuses = async || -> Vec<Value> {
            list(&app, &mission)
                .await
                .iter()
                .map(|it| it["status"].clone())
                .collect()
        };
        assert_eq!(statuses().await, ["in_progress", "open", "in_progress"]);
        c.open();
        app.until("the end of c", async || statuses().await[2] == "closed")
            .await;
        assert_eq!(
            statuses().await,
            ["in_progress", "open", "closed"],
            "there is room for b, and a is not closed"
        );
        a.open();
        assert_eq!(ended(&app, &mission).await["status"], "done");
        for name in ["a", "b", "c"] {
            assert_eq!(
                (
                    stub.count(about("consider", name)),
                    stub.count(about("solve", name))
                ),
                (1, 1),
                "{name}"
            );
        }
    }
);

// D1.10, D1.13, D1.22: tasks and thoughts are JSON with these fields, a task by itself is the one in the list, and what brought to it is what the planner says.
on_sqlite!(
    d1_10_tasks_and_thoughts_are_json_with_their_fields,
    |medium| {
        let stub = Stub::start().await;
        let task = json!({
            "name": "owls \"first\"", "description": "order \u{2028} them", "requires": [], "value": null,
            "brought_by": ["the wish", "t0 thought"],
        });
        stub.on(
            node("decompose"),
            call("decompose", json!({ "tasks": [task] })),
        );
        otherwise(&stub);
        let app = App::start(medium, &stub).await;
        let mission = begin(&app, "one thing", json!({})).await;
        ended(&app, &mission).await;
        let listed = list(&app, &mission).await.swap_remove(0);
        let mut one = app
            .get(&format!("/threads/{mission}/tasks/t1"))
            .await
            .expect(200);
        assert!(
            one.as_object_mut()
                .unwrap()
                .remove("stream_of_consciousness")
                .is_some()
        );
        assert_eq!(one, listed);
        assert_eq!(
            (&one["name"], &one["description"]),
            (&json!("owls \"first\""), &json!("order \u{2028} them"))
        );
        assert_eq!(
            one["tasks_and_thoughts_that_brought_to_it"],
            json!(["the wish", "t0 thought"])
        );
        let thoughts = app.pages(&format!("/threads/{mission}/thoughts?")).await;
        for thought in &thoughts {
            let members: Vec<&String> = thought.as_object().unwrap().keys().collect();
            assert_eq!(
                members,
                ["at", "content", "id", "name", "task"],
                "{thought}"
            );
        }
        assert!(!thoughts.is_empty());
    }
);

// T1.08: a task that is not there is not found, and leaving it out changes nothing.
on_sqlite!(t1_08_a_task_that_is_not_there_is_not_found, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(node("solve"), solved("done").held(&gate));
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let mission = begin(&app, "one thing", json!({})).await;
    stub.request(node("solve")).await;
    let path = format!("/threads/{mission}/tasks/t9");
    let before = list(&app, &mission).await;
    app.get(&path).await.expect_problem(404, "not-found");
    app.delete(&path).await.expect_problem(404, "not-found");
    assert_eq!(list(&app, &mission).await, before);
    gate.open();
    assert_eq!(ended(&app, &mission).await["status"], "done");
});
