//! Frameworks of a space: created, changed and removed by an event each, found by the text of a
//! task, and used only while they are better.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use futures_util::future::join_all;
use serde_json::{Value, json};
use thinkd_event::framework::Standing;

use kit::app::ran;
use kit::planted_frameworks::{Worth, came, points};
use kit::*;

const PURPOSE: &str = "scheduling appointments so that none of them collide";

async fn made(app: &App, name: &str, purpose: &str) -> Value {
    app.post("/frameworks", json!({ "name": name, "purpose": purpose }))
        .await
        .expect(201)
}

fn path(of: &Value) -> String {
    format!("/frameworks/{}", of["id"].as_str().unwrap())
}

async fn outcome(app: &App, of: &Value, with: bool, worked: bool) -> Value {
    let came = json!({ "with": with, "worked": worked, "task": "the week of Ann" });
    app.post(&format!("{}/outcomes", path(of)), came)
        .await
        .expect(200)
}

/// The frameworks that a task is like.
async fn for_task(app: &App, task: &str) -> Vec<Value> {
    let task = task.replace(' ', "+");
    app.get(&format!("/frameworks?task={task}"))
        .await
        .expect(200)["items"]
        .as_array()
        .unwrap()
        .clone()
}

fn names(of: &[Value]) -> Vec<&str> {
    of.iter().map(|it| it["name"].as_str().unwrap()).collect()
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
    app.start_again().await;
}

on_sqlite!(
    t1_06_a_framework_is_created_renamed_taught_untaught_read_by_one_field_and_rendered,
    |medium| {
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        let new = json!({ "name": "weeks", "purpose": PURPOSE, "knowledge": ["Begin with the fewest free times."] });
        let framework = app.post("/frameworks", new).await.expect(201);
        assert_eq!(
            (&framework["standing"], &framework["recipe"]),
            (&json!("probation"), &json!({ "kind": "text" }))
        );
        let at = path(&framework);
        let renamed = app
            .patch(&at, json!({ "name": "calendars" }))
            .await
            .expect(200);
        assert_eq!(
            (&renamed["name"], &renamed["purpose"]),
            (&json!("calendars"), &json!(PURPOSE))
        );
        let both = [
            "Begin with the fewest free times.",
            "Leave an hour for lunch.",
        ];
        let taught = app
            .patch(&at, json!({ "knowledge": both }))
            .await
            .expect(200);
        assert!(
            taught["rendered"]
                .as_str()
                .unwrap()
                .contains("- Leave an hour for lunch.\n"),
            "{taught}"
        );
        let untaught = app
            .patch(&at, json!({ "knowledge": both[..1] }))
            .await
            .expect(200);
        assert!(!untaught.to_string().contains("lunch"), "{untaught}");
        let field = app.get(&format!("{at}?fields=knowledge")).await.expect(200);
        assert_eq!(
            field,
            json!({ "knowledge": both[..1] }),
            "only that, as a list"
        );
        app.get(&format!("{at}?fields=knowledge,nothing"))
            .await
            .expect_problem(400, "invalid-parameter");
        let program = json!({ "kind": "program", "language": "javascript", "code": "input.sort()", "guideline": "" });
        let programmed = app
            .patch(&at, json!({ "recipe": program }))
            .await
            .expect(200);
        assert!(
            programmed["rendered"]
                .as_str()
                .unwrap()
                .contains("A program in javascript:\ninput.sort()"),
            "{programmed}"
        );
        let tool =
            json!({ "kind": "external_tool", "tool": "calendar", "steps": ["open it", "look"] });
        app.post(
            "/frameworks",
            json!({ "name": "tool", "purpose": "looking up days", "recipe": tool }),
        )
        .await
        .expect(201);
        let listed = app
            .get("/frameworks?kind=program&fields=name")
            .await
            .expect(200);
        assert_eq!(listed["items"], json!([{ "name": "calendars" }]));
        let pages = app.pages("/frameworks?").await;
        assert_eq!(
            names(&pages),
            ["calendars", "tool"],
            "in the order in which they were created"
        );
        let changes: Vec<Value> = with(&app.public_log().await, &["state", "set:framework"])
            .into_iter()
            .cloned()
            .collect();
        assert_eq!(changes.len(), 6, "each change is an event");
        assert_eq!(changes[4]["payload"]["key"], framework["id"]);
        let before = app.get(&at).await.expect(200);
        rows_are_what_the_log_says(&mut app).await;
        assert_eq!(app.get(&at).await.expect(200), before, "it lasts");
        app.delete(&at).await.expect(204);
        app.get(&at).await.expect_problem(404, "not-found");
        app.patch(&at, json!({ "name": "more" }))
            .await
            .expect_problem(404, "not-found");
        app.delete(&at).await.expect_problem(404, "not-found");
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    of_those_who_change_the_framework_that_they_know_one_wins,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let framework = made(&app, "weeks", PURPOSE).await;
        let change =
            |at: usize| json!({ "name": format!("by {at}"), "expected_seq": framework["seq"] });
        let answers =
            join_all((0..6).map(async |at| app.patch(&path(&framework), change(at)).await)).await;
        let won: Vec<&Reply> = answers
            .iter()
            .filter(|answer| answer.status == 200)
            .collect();
        let [winner] = won[..] else {
            panic!("{} of 6 won", won.len())
        };
        let now = app.get(&path(&framework)).await.expect(200);
        assert_eq!(
            now["name"], winner.body["name"],
            "what is acknowledged stays"
        );
        for lost in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!(
                (lost.status, lost.slug()),
                (409, "framework-changed"),
                "{}",
                lost.text
            );
        }
        let old = format!("{}?expected_seq={}", path(&framework), framework["seq"]);
        app.delete(&old)
            .await
            .expect_problem(409, "framework-changed");
        // Without it the last one wins, and outcomes that are told at once are all counted.
        join_all((0..8).map(async |at| outcome(&app, &framework, at % 2 == 0, true).await)).await;
        let tally = &app.get(&path(&framework)).await.expect(200)["tally"];
        assert_eq!(
            *tally,
            json!({ "with": { "tried": 4, "worked": 4 }, "without": { "tried": 4, "worked": 4 } })
        );
    }
);

// A lone framework is found, too: nothing else says which of its words are common.
on_sqlite!(
    d1_76_a_matching_task_gets_the_framework_and_the_reason,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        made(&app, "appointments", PURPOSE).await;
        let alone = for_task(
            &app,
            "schedule the appointments of Ann so that none collide",
        )
        .await;
        assert_eq!(names(&alone), ["appointments"]);
        assert_eq!(
            for_task(&app, "what is the capital of France").await,
            Vec::<Value>::new(),
            "nothing is like it"
        );
        assert_eq!(
            for_task(&app, "translate the letter of the lawyer into Spanish").await,
            Vec::<Value>::new()
        );
        made(
            &app,
            "correspondence",
            "translating letters of lawyers into Spanish",
        )
        .await;
        made(
            &app,
            "weeks",
            "scheduling the appointments of a whole week without gaps",
        )
        .await;
        made(
            &app,
            "trains",
            "scheduling trains on one track so that none collide",
        )
        .await;
        let found = for_task(
            &app,
            "schedule the appointments of Ann so that none collide",
        )
        .await;
        assert_eq!(found.len(), 2, "at most two: {found:?}");
        assert_eq!(
            found[0]["name"], "appointments",
            "the likest first: {found:?}"
        );
        let choice = &found[0]["choice"];
        assert_eq!(
            choice["with"],
            json!(false),
            "nobody has tried it: the first task is solved without it"
        );
        let reason = choice["reason"].as_str().unwrap();
        assert!(
            reason.contains("like the task by") && reason.contains("on probation"),
            "{reason}"
        );
        let found = for_task(&app, "translate the letter of the lawyer into Spanish").await;
        assert_eq!(names(&found), ["correspondence"]);
        // The purpose is what it is found by, as it stands now.
        let patch = json!({ "purpose": "watering plants on a balcony" });
        app.patch(&path(&found[0]), patch).await.expect(200);
        assert_eq!(
            for_task(&app, "translate the letter of the lawyer into Spanish").await,
            Vec::<Value>::new()
        );
        assert_eq!(
            names(&for_task(&app, "water the plants on the balcony").await),
            ["correspondence"]
        );
        app.delete(&path(&found[0])).await.expect(204);
        assert_eq!(
            for_task(&app, "water the plants on the balcony").await,
            Vec::<Value>::new()
        );
    }
);

on_sqlite!(
    d1_60_a_framework_is_compared_and_used_only_while_it_is_better,
    |medium| {
        let stub = Stub::start().await;
        let mut app = App::start(medium, &stub).await;
        let task = "schedule the appointments of Ann so that none collide";
        let framework = made(&app, "appointments", PURPOSE).await;
        // What the server says of each like task, followed to the letter: with it they work, without it they do not.
        let follow = async |app: &App, works_with: bool| {
            let mut uses = 0;
            for _ in 0..40 {
                let found = for_task(app, task).await;
                let Some(found) = found.first() else { break };
                let with = found["choice"]["with"] == json!(true);
                uses += u32::from(with);
                outcome(app, found, with, with == works_with).await;
            }
            (uses, app.get(&path(&framework)).await.expect(200))
        };
        let (uses, now) = follow(&app, true).await;
        assert_eq!(now["standing"], "used", "{now}");
        assert!(uses > 20, "it is used for most tasks: {uses} of 40");
        // Another recipe is another hypothesis.
        let changed = app
            .patch(&path(&framework), json!({ "knowledge": ["Guess."] }))
            .await
            .expect(200);
        assert_eq!(
            (&changed["standing"], &changed["tally"]["with"]["tried"]),
            (&json!("probation"), &json!(0))
        );
        let (uses, now) = follow(&app, false).await;
        assert_eq!(now["standing"], "unusable", "it has never worked: {now}");
        assert!(uses <= 5, "unusable within 5 uses: {uses}");
        assert_eq!(
            for_task(&app, task).await,
            Vec::<Value>::new(),
            "it is not used any more"
        );
        let told = app.public_log().await;
        let told = with(&told, &["framework", "outcome"]);
        assert_eq!(
            told.last().unwrap()["payload"]["tally"],
            now["tally"],
            "each outcome is an event with the sum so far"
        );
        rows_are_what_the_log_says(&mut app).await;
        assert_eq!(
            app.get(&path(&framework)).await.expect(200),
            now,
            "the sums are those of the log"
        );
    }
);

on_sqlite!(hostile_frameworks_are_refused_by_name, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_LIMITS__FRAMEWORKS", 2)
        .start()
        .await;
    let refused = async |body: Value, slug: &str| {
        app.post("/frameworks", body)
            .await
            .expect_problem(400, slug)
    };
    refused(json!({ "name": " ", "purpose": "p" }), "empty-input").await;
    refused(
        json!({ "name": "n".repeat(201), "purpose": "p" }),
        "text-too-large",
    )
    .await;
    refused(
        json!({ "name": "n", "purpose": "p".repeat(2001) }),
        "text-too-large",
    )
    .await;
    refused(
        json!({ "name": "n", "purpose": "p", "knowledge": vec!["k"; 65] }),
        "invalid-frame",
    )
    .await;
    refused(
        json!({ "name": "n", "purpose": "p", "recipe": { "kind": "poem" } }),
        "invalid-frame",
    )
    .await;
    refused(
        json!({ "name": "n", "purpose": "p", "recipe": { "kind": "program", "language": "javascript" } }),
        "invalid-frame",
    )
    .await;
    refused(
        json!({ "name": "n", "purpose": "p", "tally": {} }),
        "unknown-member",
    )
    .await;
    app.get("/frameworks?kind=poem")
        .await
        .expect_problem(400, "invalid-parameter");
    app.get("/frameworks?task=")
        .await
        .expect_problem(400, "invalid-parameter");
    let all = join_all((0..5).map(async |at| made_or_refused(&app, at).await)).await;
    assert_eq!(
        all.iter().filter(|status| **status == 201).count(),
        2,
        "limits.frameworks, also at once: {all:?}"
    );
    assert_eq!(
        all.iter().filter(|status| **status == 422).count(),
        3,
        "{all:?}"
    );
});

async fn made_or_refused(app: &App, at: usize) -> u16 {
    app.post(
        "/frameworks",
        json!({ "name": format!("{at}"), "purpose": PURPOSE }),
    )
    .await
    .status
}

/// 40 planted ones, half of them bad, over 2,000 tasks: those that never work are unusable within 5 uses, those that cost 20 points are used no more than 30
/// times, all together never cost more than a point, and the good ones gain.
#[test]
fn d1_60_planted_frameworks_are_found_out_and_the_good_ones_gain() {
    for seed in 1..=7 {
        let it = came(seed);
        let of = |worth| {
            it.planted
                .iter()
                .filter(move |planted| planted.worth == worth)
        };
        assert!(
            of(Worth::Never).all(|it| it.uses <= 5 && it.tally.standing() == Standing::Unusable),
            "seed {seed}"
        );
        assert!(of(Worth::Costs).all(|it| it.uses <= 30), "seed {seed}");
        assert!(
            points(it.lowest) >= -1.0,
            "seed {seed}: {} points",
            points(it.lowest)
        );
        assert!(
            points(it.good) > 2.0 && it.all > 0,
            "seed {seed}: {} points of good ones",
            points(it.good)
        );
    }
}
