//! A proposed prompt of a submodule over its past turns: the pipeline `trial`.

use serde_json::{Value, json};

use super::{begin, ended, events_of, perform};
use kit::*;

const OLD: &str = "You are the owl. Say what is wise.";
const NEW: &str = "You are the owl. Say what is wise, in one word.";

/// Asked as the owl is, for a trial.
fn trying(request: &Request) -> bool {
    request.module == "submodule:owl" && request.says(NEW)
}

fn owl(request: &Request) -> bool {
    request.voice() == "owl" && request.is_comment() && !request.says(NEW)
}

/// A mind with an owl that has spoken in three turns and passed in the second.
async fn told(medium: Medium, stub: &Stub) -> App {
    stub.script(owl, [text("hoo 1"), text("PASS"), text("hoo 3")]);
    let app = App::start(medium, stub).await;
    app.post("/submodules", json!({ "name": "owl", "prompt": OLD }))
        .await
        .expect(201);
    for n in 1..=3 {
        app.tell(&format!("question {n}")).await;
    }
    app
}

on_sqlite!(
    a_proposed_prompt_is_tried_over_past_turns_beside_what_was_said_then,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(trying, |request| {
            // The newest message is what the turn was about.
            let n = (1..=3)
                .rev()
                .find(|n| request.says(&format!("question {n}")))
                .unwrap();
            text(&if n == 1 {
                "PASS".to_owned()
            } else {
                format!("wise {n}")
            })
        });
        let app = told(medium, &stub).await;
        let run = perform(
            &app,
            "trial",
            json!({ "submodule": "owl", "prompt": NEW, "turns": 3 }),
        )
        .await;
        assert_eq!(run["status"], "done", "{run}");
        let said: Vec<Value> = run["output"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                json!([
                    one["thread"],
                    one["turn"],
                    one["then"],
                    one["now"],
                    one["failure"]
                ])
            })
            .collect();
        let expected = [
            json!(["main", 3, "hoo 3", "wise 3", null]),
            json!(["main", 2, null, "wise 2", null]),
            json!(["main", 1, "hoo 1", null, null]),
        ];
        assert_eq!(said, expected, "{run}");
        // It was shown what the owl was shown then, with one prompt in the place of the other, and is asked of the same model.
        let asked = stub.all(trying);
        for then in stub.all(owl) {
            let text = then.text().replace(OLD, NEW);
            let model = &then.body["model"];
            let same = asked
                .iter()
                .filter(|now| now.text() == text && now.body["model"] == *model);
            assert_eq!(same.count(), 1, "{then:?}");
        }
        // Each call has its record, from which it is made again byte for byte.
        let records = app
            .pages("/events?tags=debug&tags=call:pipeline:trial&")
            .await;
        let records: Vec<&Value> = records
            .iter()
            .filter(|event| event["thread"] == run["thread"])
            .collect();
        assert_eq!(records.len(), 3);
        for record in records {
            let view = app
                .get(&format!(
                    "/prompt-views/{}",
                    record["event_id"].as_str().unwrap()
                ))
                .await
                .expect(200);
            assert_eq!(view["exact"], true, "{view}");
        }
        // Nobody hears of it, and the prompt is as it was.
        app.tell("question 4").await;
        let next = stub.all(|request| request.is_decision()).pop().unwrap();
        assert!(!next.says("wise 3"), "{next:?}");
        let voices = app.pages("/submodules?").await;
        assert!(
            voices
                .iter()
                .any(|voice| voice["name"] == "owl" && voice["prompt"] == OLD),
            "{voices:?}"
        );
        envelope::check_log(&app.log().await);
    }
);

on_sqlite!(
    a_trial_that_was_killed_repeats_no_answer_that_is_recorded,
    |medium| {
        let stub = Stub::start().await;
        stub.script(
            |r| trying(r) && !r.says("question 2"),
            [text("never").never()],
        );
        stub.on_each(trying, |_| text("wise"));
        let mut app = told(medium, &stub).await;
        let path = begin(
            &app,
            "trial",
            json!({ "submodule": "owl", "prompt": NEW, "turns": 3 }),
        )
        .await;
        app.until("two answers, while the third is made", async || {
            // The turns themselves are recorded, too.
            app.pages("/events?tags=finished&").await.len() >= 3
        })
        .await;
        app.restart().await;
        let run = ended(&app, &path).await;
        assert!(
            run["output"]
                .as_array()
                .unwrap()
                .iter()
                .all(|one| one["now"] == "wise"),
            "{run}"
        );
        assert_eq!(
            stub.count(trying),
            4,
            "one was asked twice: {}",
            story(&events_of(&app, &run).await)
        );
    }
);

#[tokio::test]
async fn a_trial_of_nothing_says_so_and_an_answer_that_fails_stands_among_the_others() {
    let stub = Stub::start().await;
    let app = told(Medium::sqlite(), &stub).await;
    let run = perform(
        &app,
        "trial",
        json!({ "submodule": "raven", "prompt": NEW }),
    )
    .await;
    assert_eq!(run["status"], "failed", "{run}");
    assert!(
        run["failure"]["text"]
            .as_str()
            .unwrap()
            .contains("the submodule raven were about nothing new"),
        "{run}"
    );
    assert_eq!(stub.count(trying), 0);
    stub.on(|r| trying(r) && r.says("question 3"), status(400));
    stub.on_each(trying, |_| text("wise"));
    let run = perform(
        &app,
        "trial",
        json!({ "submodule": "owl", "prompt": NEW, "turns": 2 }),
    )
    .await;
    assert_eq!(
        (&run["output"][1]["now"], &run["output"][1]["failure"]),
        (&json!("wise"), &Value::Null),
        "{run}"
    );
    assert!(
        run["output"][0]["failure"]
            .as_str()
            .unwrap()
            .contains("ask"),
        "{run}"
    );
}

#[tokio::test]
async fn what_cannot_be_tried_is_refused_before_anything_runs() {
    let stub = Stub::start().await;
    let app = told(Medium::sqlite(), &stub).await;
    for (input, pointer, says) in [
        (
            json!({ "submodule": "owl", "prompt": NEW, "turns": 11 }),
            "/input/turns",
            "is not one of 1 to 10",
        ),
        (
            json!({ "submodule": "owl", "prompt": NEW, "turns": 0 }),
            "/input/turns",
            "is not one of 1 to 10",
        ),
        (
            json!({ "submodule": "owl", "prompt": " \n" }),
            "/input/prompt",
            "empty",
        ),
        (
            json!({ "submodule": "O w l", "prompt": NEW }),
            "/input/submodule",
            "is not valid",
        ),
    ] {
        let answer = app
            .post("/pipelines/trial?wait=15", json!({ "input": input }))
            .await;
        let problem = answer.expect(400);
        let wrong = &problem["errors"][0];
        assert_eq!(wrong["pointer"], pointer, "{problem}");
        assert!(
            wrong["detail"].as_str().unwrap().contains(says),
            "{problem}"
        );
    }
    assert_eq!(
        app.get("/pipelines/trial/runs").await.expect(200)["items"],
        json!([])
    );
    assert_eq!(stub.count(trying), 0);
}

on_sqlite!(
    a_view_of_which_something_is_gone_is_named_and_not_tried,
    |medium| {
        let stub = Stub::start().await;
        stub.on_each(trying, |_| text("wise"));
        let app = told(medium, &stub).await;
        stub.script(owl, [text("hoo 4")]);
        let image = json!({ "data": kit::media::PNG, "mimeType": "image/png" });
        app.post(
            "/threads/main/messages?wait=15",
            json!({ "text": "question 4", "images": [image] }),
        )
        .await
        .expect(200);
        let failures = async || {
            let run = perform(
                &app,
                "trial",
                json!({ "submodule": "owl", "prompt": NEW, "turns": 4 }),
            )
            .await;
            let failures = run["output"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["failure"].as_str().map(str::to_owned));
            failures.collect::<Vec<_>>()
        };
        assert_eq!(failures().await, [None, None, None, None]);
        assert_eq!(stub.count(trying), 4);
        // Only the newest saw the picture.
        stored::execute(app.database(), "delete from blobs where mime = 'image/png'").await;
        let [Some(gone), None, None, None] = &failures().await[..] else {
            panic!("{}", story(&app.log().await))
        };
        assert!(
            gone.contains("cannot be shown again: some of it is gone"),
            "{gone}"
        );
        assert_eq!(
            stub.count(trying),
            7,
            "nobody is asked about a view with holes"
        );
        // All were told the same words first.
        stored::execute(
            app.database(),
            "delete from blobs where mime like 'text/plain%'",
        )
        .await;
        assert!(
            failures()
                .await
                .iter()
                .flatten()
                .filter(|why| why.contains("some of it is gone"))
                .count()
                == 4
        );
        assert_eq!(stub.count(trying), 7);
    }
);

#[tokio::test]
async fn a_trial_asks_the_model_of_the_voice_and_says_that_it_had_failed_then() {
    let stub = Stub::start().await;
    stub.script(owl, [status(400), text("PASS")]);
    stub.on_each(trying, |_| text("wise"));
    let toml = "[models.modules.\"submodule:owl\"]\nmodel = \"special\"\n";
    let app = Setup::new(Medium::sqlite(), &stub)
        .file("thinkd.toml", toml)
        .start()
        .await;
    app.post("/submodules", json!({ "name": "owl", "prompt": OLD }))
        .await
        .expect(201);
    app.tell("question 1").await;
    app.tell("question 2").await;
    let run = perform(
        &app,
        "trial",
        json!({ "submodule": "owl", "prompt": NEW, "turns": 2 }),
    )
    .await;
    // The newest first: that it passed then is no failure.
    let said: Vec<Value> = run["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["turn"], one["then"], one["then_failed"], one["now"]]))
        .collect();
    assert_eq!(
        said,
        [
            json!([2, null, null, "wise"]),
            json!([1, null, true, "wise"])
        ],
        "{run}"
    );
    assert!(
        stub.all(trying)
            .iter()
            .all(|request| request.model() == "special"),
        "{:?}",
        stub.all(trying)
    );
    let records = app
        .pages("/events?tags=debug&tags=call:pipeline:trial&")
        .await;
    let record = records
        .iter()
        .find(|event| event["thread"] == run["thread"])
        .unwrap();
    let view = app
        .get(&format!(
            "/prompt-views/{}",
            record["event_id"].as_str().unwrap()
        ))
        .await
        .expect(200);
    assert_eq!(view["exact"], true, "{view}");
}
