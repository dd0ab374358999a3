//! The identity of a mind: its mission, its task and its mood are in every call of its models. A
//! mood moves slowly and is in the log before it is used. A mind reflects by itself where that is
//! switched on.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::sync::Arc;

use serde_json::{Value, json};

use kit::app::ran;
use kit::*;

/// Returns the part of a request about the mood: the rest of its last message, and the word.
fn mood_of(request: &Request) -> (String, String) {
    let text = request.messages().last().unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned();
    let (before, last) = text
        .rsplit_once("Your mood: ")
        .unwrap_or_else(|| panic!("no mood: {text}"));
    let word = last
        .strip_suffix(".)")
        .unwrap_or_else(|| panic!("the mood is not last of all: {text}"));
    (before.to_owned(), word.to_owned())
}

fn system(request: &Request) -> String {
    request.messages()[0]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn set(app: &App, settings: Value) {
    http::send(
        app.request("PUT", "/settings")
            .json(&json!({ "settings": settings })),
    )
    .await
    .expect(200);
}

/// The moods that the ends of turns left, in order, in thousandths.
async fn moods(app: &App) -> Vec<i64> {
    let log = app.public_log().await;
    with(&log, &["turn", "ended"])
        .iter()
        .filter_map(|event| event["payload"]["mood"]["sum"].as_i64())
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

// D1.70, D1.71, T1.44.
on_sqlite!(
    d1_71_every_call_of_a_mind_says_who_it_is_and_its_task_and_mood_last,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, reply("hi"));
        let app = Setup::new(medium, &stub).voices(&["critic"]).start().await;
        set(&app, json!({ "mission": "Keep the garden\n#1 alive." })).await;
        let title = format!("watering {}", "é".repeat(300));
        let thread = app.conversation(json!({ "title": title })).await;
        app.say_in(&thread, "look").await;
        stub.some(3, any).await;
        // What follows up hears of the mood that the turn has left.
        for request in stub
            .requests()
            .into_iter()
            .filter(|request| !request.is_follow_up())
        {
            let text = request.messages().last().unwrap()["content"]
                .as_str()
                .unwrap()
                .to_owned();
            let said = system(&request);
            assert!(
                said.ends_with("Your mission: Keep the garden\\u000a#1 alive."),
                "in one line: {said}"
            );
            let (before, word) = mood_of(&request);
            assert_eq!(word, "composed", "nothing has happened yet");
            let tail = before
                .rsplit_once("\n\n(")
                .map(|(_, task)| task.to_owned())
                .unwrap();
            assert!(
                tail.starts_with("Your task: watering éé") && tail.trim_end().ends_with("…."),
                "{tail}"
            );
            let last = text.len() - text.rfind("\n\n(").unwrap();
            assert!(last <= 200, "{last} bytes");
        }
        let own = app.get(&format!("/self?thread={thread}")).await.expect(200);
        assert_eq!(
            (&own["mission"], &own["task"]),
            (&json!("Keep the garden\n#1 alive."), &json!(title))
        );
        let main = app.get("/self").await.expect(200);
        assert_eq!(
            (&main["thread"], &main["task"], &main["mood"]),
            (&json!("main"), &Value::Null, &json!("composed"))
        );
        app.get("/self?thread=nobody")
            .await
            .expect_problem(404, "not-found");
        // What was sent can be made again, byte for byte, whatever the mood is since.
        app.say_in(&thread, "and look again").await;
        let log = app.log().await;
        for call in with(&log, &["debug"])
            .iter()
            .filter(|event| event["payload"]["request_sha256"].is_string())
        {
            let view = app
                .get(&format!(
                    "/prompt-views/{}",
                    call["event_id"].as_str().unwrap()
                ))
                .await
                .expect(200);
            assert_eq!(view["exact"], true, "{view}");
        }
    }
);

// The slot among the prompts is empty as it comes; what fills it is told to every model of a mind, and to no instrument.
on_sqlite!(
    d1_75_what_fills_the_slot_for_theory_of_mind_is_told_behind_who_it_is,
    |medium| {
        let stub = Stub::start().await;
        stub.on(decision, reply("hi"));
        let minds = "Who asks twice was not understood the first time.";
        let setup = Setup::new(medium, &stub)
            .voices(&["critic"])
            .env("THINKD_PROMPTS", "prompts");
        let app = setup
            .file("prompts/theory_of_mind.md", &format!("{minds}\n"))
            .start()
            .await;
        set(&app, json!({ "mission": "Keep the garden alive." })).await;
        app.tell("look").await;
        stub.some(2, any).await;
        for request in stub.requests() {
            let said = system(&request);
            assert!(
                said.ends_with(&format!("Your mission: Keep the garden alive.\n\n{minds}")),
                "{said}"
            );
        }
        let log = app.log().await;
        for call in with(&log, &["debug"])
            .iter()
            .filter(|event| event["payload"]["request_sha256"].is_string())
        {
            let view = app
                .get(&format!(
                    "/prompt-views/{}",
                    call["event_id"].as_str().unwrap()
                ))
                .await
                .expect(200);
            assert_eq!(view["exact"], true, "{view}");
        }
    }
);

on_sqlite!(a_mind_says_what_it_thought, |medium| {
    let stub = Stub::start().await;
    stub.script(
        decision,
        [
            call("think", json!({ "thought": "roots need air" })),
            reply("done"),
        ],
    );
    let app = App::start(medium, &stub).await;
    app.tell("think about roots").await;
    let thoughts = app.get("/self").await.expect(200)["thoughts"].clone();
    assert_eq!(thoughts[0]["text"], "roots need air", "{thoughts}");
    assert!(thoughts[0]["seq"].as_i64().unwrap() > 1);
});

/// Returns the moods that turns of a mind lead to, and the requests to its models.
async fn lived(
    medium: Medium,
    env: &[(&str, &str)],
    turns: usize,
    answer: fn() -> Answer,
) -> (Vec<i64>, Vec<Arc<Request>>) {
    let stub = Stub::start().await;
    stub.on_each(decision, move |_| answer());
    let setup = Setup::new(medium, &stub);
    let mut app = env
        .iter()
        .fold(setup, |setup, (name, value)| setup.env(name, value))
        .start()
        .await;
    for _ in 0..turns {
        app.tell("go on").await;
    }
    let moods = moods(&app).await;
    rows_are_what_the_log_says(&mut app).await;
    (moods, stub.requests())
}

/// A medium of the same kind.
async fn another(of: &Medium) -> Medium {
    if of.is_postgres() {
        Medium::postgres().await.unwrap()
    } else {
        Medium::sqlite()
    }
}

on_sqlite!(
    t1_42_a_seed_decides_the_moods_and_none_moves_by_more_than_its_step,
    |medium| {
        let env = |seed| {
            [
                ("THINKD_TEST_MOOD__SEED", seed),
                ("THINKD_TEST_MOOD__DRIFT", "0.3"),
                ("THINKD_MOOD__STEP", "0.06"),
            ]
        };
        let hi: fn() -> Answer = || reply("hi");
        let second = another(&medium).await;
        let third = another(&medium).await;
        let (one, _) = lived(medium, &env("7"), 8, hi).await;
        let (same, _) = lived(second, &env("7"), 8, hi).await;
        let (other, _) = lived(third, &env("8"), 8, hi).await;
        assert_eq!(one.len(), 8, "each turn's end leaves one");
        assert_eq!(one, same, "the same seed");
        assert_ne!(one, other, "another seed");
        let steps = [0]
            .iter()
            .chain(&one)
            .zip(&one)
            .map(|(before, after)| (after - before).abs());
        assert!(steps.clone().all(|step| step <= 60), "mood.step: {one:?}");
        assert!(
            steps.filter(|step| *step > 0).count() > 3,
            "it moves: {one:?}"
        );
    }
);

on_sqlite!(
    d1_72_failures_and_successes_lead_to_different_moods,
    |medium| {
        let env = [
            ("THINKD_TEST_MOOD__SEED", "7"),
            ("THINKD_MOOD__STEP", "0.2"),
        ];
        let second = another(&medium).await;
        let (good, _) = lived(medium, &env, 5, || reply("hi")).await;
        let (bad, asked) = lived(second, &env, 5, || status(400)).await;
        assert!(
            bad.last() < good.last(),
            "failures {bad:?}, successes {good:?}"
        );
        assert!(
            bad[4] < -300 && good[4] > 0,
            "failures {bad:?}, successes {good:?}"
        );
        let words: Vec<String> = asked.iter().map(|request| mood_of(request).1).collect();
        assert_eq!(words[0], "composed");
        assert_ne!(
            words[1], "composed",
            "the failure of a turn is felt in the next one: {words:?}"
        );
    }
);

// D1.74, T1.43: in two turns that are the same but for what is in their log, nothing differs but the mood.
on_sqlite!(
    d1_74_two_calls_that_are_otherwise_the_same_differ_in_their_mood,
    |medium| {
        let fast = [
            ("THINKD_TEST_MOOD__DRIFT", "1"),
            ("THINKD_MOOD__STEP", "1"),
            ("THINKD_TEST_MOOD__SEED", "3"),
        ];
        let (moods, requests) = lived(medium, &fast, 3, || reply("hi")).await;
        let rest = |request: &Request| {
            let (before, _) = mood_of(request);
            let end = before.rfind("To be decided now").unwrap();
            let place = |c: char| if c.is_ascii_digit() { '0' } else { c };
            let asked: String = before[end..].chars().map(place).collect();
            (
                system(request),
                request.body["tools"].clone(),
                asked.replace("00", "0"),
            )
        };
        assert_eq!(rest(&requests[0]), rest(&requests[1]));
        let words: Vec<String> = requests.iter().map(|request| mood_of(request).1).collect();
        assert!(
            words[0] != words[1] && words[1] != words[2],
            "{words:?} {moods:?}"
        );
    }
);

on_sqlite!(without_moods_nothing_is_said_of_them, |medium| {
    let (moods, requests) = lived(medium, &[("THINKD_MOOD__STEP", "0")], 2, || reply("hi")).await;
    assert_eq!(moods, Vec::<i64>::new());
    assert!(
        requests
            .iter()
            .all(|request| !request.says("Your mood") && !request.says("Who you are"))
    );
});

#[tokio::test]
async fn a_mood_that_cannot_be_refuses_to_start() {
    let setup = Setup::offline(Medium::sqlite());
    for step in ["-0.1", "1.5"] {
        let (code, said) = ran(setup.folder(), &[("THINKD_MOOD__STEP", step)], &[]).await;
        assert!(code == Some(2) && said.contains("mood."), "{step}: {said}");
    }
}

// D1.68, D1.69.
on_sqlite!(
    d1_68_a_mind_reflects_at_the_pace_that_is_set_and_its_new_facts_are_tried,
    |medium| {
        let stub = Stub::start().await;
        let reflects = |request: &Request| {
            request.is_decision() && request.says("Nobody has asked for anything: reflect")
        };
        let claims = call(
            "remember",
            json!({ "statement": "Roots need air.", "quote": null, "derived_from": null }),
        );
        let thinks = || call("think", json!({ "thought": "What did I learn?" }));
        stub.script(
            reflects,
            [
                claims,
                thinks(),
                call("do_nothing", json!({ "reason": "thought" })),
                thinks(),
            ],
        );
        stub.on(
            reflects,
            call("do_nothing", json!({ "reason": "nothing to add" })),
        );
        let setup = Setup::new(medium, &stub).env("THINKD_TEST_LIMITS__SCHEDULE_INTERVAL_MS", 20);
        let app = setup
            .env(
                "THINKD_TOOLS__CONVERSATION",
                "reply,remember,think,do_nothing",
            )
            .start()
            .await;
        app.get("/schedules/reflection")
            .await
            .expect_problem(404, "not-found");
        assert_eq!(stub.count(reflects), 0, "off by default");
        set(&app, json!({ "reflection_s": 0.2 })).await;
        let schedule = app.get("/schedules/reflection").await.expect(200);
        assert_eq!(
            (&schedule["thread"], &schedule["when"]["seconds"]),
            (&json!("reflection"), &json!(0.2))
        );
        let log = app
            .until_some("two thoughts and a claim", async || {
                let log = app.public_log().await;
                let thoughts = with(&log, &["thought"]).len();
                let claims = with(&log, &["statement", "claimed"]).len();
                (thoughts >= 2 && claims > 0).then_some(log)
            })
            .await;
        let claimed = with(&log, &["statement", "claimed"])[0];
        assert_eq!(
            claimed["payload"]["statement"].as_str().map(|_| ()),
            Some(()),
            "it is tried like any claim: {claimed}"
        );
        let held = app.get("/world-model?status=surviving").await.expect(200);
        let is_held = held["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["text"] == "Roots need air.");
        let judged = with(&app.public_log().await, &["statement", "judged"]).len();
        assert!(!is_held || judged > 0, "nothing is held without a trial");
        set(&app, json!({ "reflection_s": null })).await;
        app.get("/schedules/reflection")
            .await
            .expect_problem(404, "not-found");
        http::send(
            app.request("PUT", "/settings")
                .json(&json!({ "settings": { "reflection_s": 0.001 } })),
        )
        .await
        .expect_problem(422, "unprocessable");
    }
);
