//! The settings of a space: read, changed by an event each, never lost to a change by another
//! client.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use futures_util::future::join_all;
use serde_json::{Value, json};

use kit::app::ran;
use kit::*;

async fn put(app: &App, body: Value) -> Reply {
    http::send(app.request("PUT", "/settings").json(&body)).await
}

async fn settings(app: &App) -> Value {
    app.get("/settings").await.expect(200)
}

/// Every change of a setting in the log, the oldest first.
async fn changes(app: &App) -> Vec<Value> {
    with(&app.public_log().await, &["state", "set:setting"])
        .into_iter()
        .cloned()
        .collect()
}

async fn rows_are_what_the_log_says(app: &mut App) {
    assert!(app.stop().await.success());
    let (code, said) = ran(
        &app.folder(),
        &[("DATABASE_URL", app.database())],
        &["rebuild", "--check"],
    )
    .await;
    assert!(
        code == Some(0) && said.contains("everything was what the log says"),
        "{said}"
    );
}

on_sqlite!(a_setting_is_an_event_and_lasts, |medium| {
    let stub = Stub::start().await;
    let mut app = App::start(medium, &stub).await;
    let all = |away: bool| json!({ "user_away": away, "mission": "", "reflection_s": null, "time_zone": "UTC" });
    assert_eq!(
        settings(&app).await,
        json!({ "settings": all(false), "changes": {}, "seq": 0 })
    );
    let set = put(&app, json!({ "settings": { "user_away": true } }))
        .await
        .expect(200);
    let [event] = &changes(&app).await[..] else {
        panic!("one event a key")
    };
    assert_eq!(
        (&event["payload"]["key"], &event["thread"]),
        (&json!("user_away"), &json!("main"))
    );
    assert_eq!(
        event["payload"]["change"],
        json!({ "value": true, "by": null })
    );
    assert_eq!((&set["settings"], &set["seq"]), (&all(true), &event["seq"]));
    assert_eq!(
        set["changes"]["user_away"],
        json!({ "seq": event["seq"], "by": null, "at": event["ts"] })
    );
    assert_eq!(settings(&app).await, set);
    app.restart().await;
    assert_eq!(settings(&app).await, set, "it lasts");
    let back = put(
        &app,
        json!({ "settings": { "user_away": false }, "expected_seq": set["seq"] }),
    )
    .await
    .expect(200);
    assert_eq!(back["settings"], all(false));
    let by_ann = app
        .request("PUT", "/settings")
        .header("authorization", "ann:none");
    let back = http::send(by_ann.json(&json!({ "settings": { "user_away": false } })))
        .await
        .expect(200);
    assert_eq!(back["changes"]["user_away"]["by"], "ann");
    assert!(back["seq"].as_i64() > set["seq"].as_i64(), "{back}");
    assert_eq!(changes(&app).await.len(), 3);
    rows_are_what_the_log_says(&mut app).await;
    app.start_again().await;
    assert_eq!(settings(&app).await, back);
});

on_sqlite!(of_those_who_change_what_they_know_one_wins, |medium| {
    let stub = Stub::start().await;
    let mut app = App::start(medium, &stub).await;
    let mut seq = json!(0);
    for round in 0..8 {
        let change = |at: usize| json!({ "settings": { "user_away": at.is_multiple_of(2) }, "expected_seq": seq });
        let answers = join_all((0..6).map(|at| put(&app, change(at)))).await;
        let won: Vec<&Reply> = answers
            .iter()
            .filter(|answer| answer.status == 200)
            .collect();
        let [winner] = won[..] else {
            panic!("{} of 6 won round {round}", won.len())
        };
        let now = settings(&app).await;
        assert_eq!(
            now["settings"], winner.body["settings"],
            "what is acknowledged stays"
        );
        for lost in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!(
                (lost.status, lost.slug()),
                (409, "settings-changed"),
                "{}",
                lost.text
            );
            let detail = lost.body["detail"].as_str().unwrap();
            assert!(
                detail.contains(&format!("event {} changed", now["seq"])),
                "it says the seq of now: {detail}"
            );
        }
        seq = now["seq"].clone();
    }
    assert_eq!(changes(&app).await.len(), 8, "what lost left nothing");
    // The control: without an expectation the last one wins, and none is refused.
    let answers =
        join_all((0..6).map(|_| put(&app, json!({ "settings": { "user_away": true } })))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    // Nothing is changed, and what is expected is not so: the caller hears of it all the same.
    put(&app, json!({ "settings": {}, "expected_seq": seq }))
        .await
        .expect_problem(409, "settings-changed");
    rows_are_what_the_log_says(&mut app).await;
});

on_sqlite!(
    mistakes_in_settings_are_named_together_and_change_nothing,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let before = settings(&app).await;
        let wrong = json!({ "settings": { "mood/2": 1, "user_away": "yes", "volume": 3 }, "expected_seq": -1, "more": 1 });
        let problem = put(&app, wrong).await;
        let mut found: Vec<&str> = problem.body["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|error| error["pointer"].as_str().unwrap())
            .collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                "/expected_seq",
                "/more",
                "/settings/mood~12",
                "/settings/user_away",
                "/settings/volume"
            ],
            "{}",
            problem.text
        );
        assert_eq!(problem.status, 400);
        let unknown = put(
            &app,
            json!({ "settings": { "user_away": true, "volume": 3 } }),
        )
        .await;
        let unknown = unknown.expect_problem(400, "unknown-member");
        assert!(
            unknown["detail"].as_str().unwrap().contains("user_away"),
            "it says which there are: {unknown}"
        );
        for (body, slug) in [
            (json!({}), "invalid-frame"),
            (json!({ "settings": null }), "invalid-frame"),
            (
                json!({ "settings": { "user_away": null } }),
                "invalid-frame",
            ),
            (
                json!({ "settings": { "user_away": true }, "expected_seq": "1" }),
                "invalid-frame",
            ),
            (json!({ "user_away": true }), "unknown-member"),
        ] {
            let problem = put(&app, body.clone()).await;
            assert_eq!(
                (problem.status, problem.slug()),
                (400, slug),
                "{body}: {}",
                problem.text
            );
        }
        assert_eq!(
            (settings(&app).await, changes(&app).await.len()),
            (before, 0)
        );
    }
);

on_sqlite!(
    settings_are_of_a_space_and_changed_by_its_operators,
    |medium| {
        let stub = Stub::start().await;
        let key = |space: &str, role: &str| format!("key-of-{space}-{role}");
        let entry = |space: &str, role: &str| {
            format!(
                "[[keys]]\nkey = \"{}\"\nspace = \"{space}\"\nrole = \"{role}\"\n",
                key(space, role)
            )
        };
        let file = entry("ours", "viewer")
            + &entry("ours", "member")
            + &entry("ours", "operator")
            + &entry("theirs", "viewer");
        let app = Setup::new(medium, &stub)
            .file("thinkd.toml", &file)
            .start_bare()
            .await;
        let ask = async |method: &str, space: &str, role: &str| {
            let request = app
                .request(method, "/settings")
                .bearer_auth(key(space, role));
            http::send(match method {
                "PUT" => request.json(&json!({ "settings": { "user_away": true } })),
                _ => request,
            })
            .await
        };
        for role in ["viewer", "member"] {
            ask("PUT", "ours", role)
                .await
                .expect_problem(403, "forbidden");
            assert_eq!(
                ask("GET", "ours", role).await.expect(200)["settings"]["user_away"],
                false
            );
        }
        ask("PUT", "ours", "operator").await.expect(200);
        assert_eq!(
            ask("GET", "ours", "viewer").await.expect(200)["settings"]["user_away"],
            true
        );
        let theirs = ask("GET", "theirs", "viewer").await.expect(200);
        assert_eq!(
            theirs,
            json!({ "settings": { "user_away": false, "mission": "", "reflection_s": null, "time_zone": "UTC" }, "changes": {}, "seq": 0 }),
            "another space's are others"
        );
    }
);
