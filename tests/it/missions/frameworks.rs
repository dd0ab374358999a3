//! Missions use frameworks, report the outcomes, and make a framework of a task that nothing
//! solved.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

const PURPOSE: &str = "ordering talks so that none of them clash";

/// One task that is like the purpose.
fn ordering(stub: &Stub) {
    stub.on(
        node("decompose"),
        tasks(&[("ordering the talks so that none clash", &[])]),
    );
}

fn applied(answer: &str) -> Answer {
    call(
        "apply",
        json!({ "thought": "as it says", "framework": null, "input": null, "answer": answer }),
    )
}

fn runs(number: i64, input: &Value) -> Answer {
    call(
        "apply",
        json!({ "thought": "run it", "framework": number, "input": input.to_string(), "answer": null }),
    )
}

/// A framework as a model writes it.
fn written(kind: &str, more: Value) -> Answer {
    let mut written = json!({
        "kind": kind, "why": "such tasks come again", "name": "order", "purpose": PURPOSE, "knowledge": [], "code": null, "input": null,
        "parameters": [],
    });
    written
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    call("framework", written)
}

fn knows(knowledge: &str) -> Answer {
    written("text", json!({ "knowledge": [knowledge] }))
}

async fn create(app: &App, more: Value) -> String {
    let mut new = json!({ "name": "order", "purpose": PURPOSE });
    new.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    app.post("/frameworks", new).await.expect(201)["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// After this the next like task is done with the framework.
pub(super) async fn failed_without(app: &App, id: &str) {
    let came = json!({ "with": false, "worked": false, "task": "the talks of yesterday" });
    app.post(&format!("/frameworks/{id}/outcomes"), came)
        .await
        .expect(200);
}

pub(super) async fn framework(app: &App, id: &str) -> Value {
    app.get(&format!("/frameworks/{id}")).await.expect(200)
}

async fn one_mission(app: &App, more: Value) -> (String, Value) {
    let mission = begin(app, "Plan a day of talks.", more).await;
    let thread = ended(app, &mission).await;
    (mission, thread)
}

// D1.62, D1.76: its text is in the prompt of the next like task, before its routes are tried; the one after that is done without it, to compare.
on_sqlite!(
    d1_62_a_like_task_is_done_with_the_framework_and_the_next_one_without,
    |medium| {
        let stub = Stub::start().await;
        ordering(&stub);
        stub.on(node("apply"), applied("longest first"));
        otherwise(&stub);
        let mut app = App::start(medium, &stub).await;
        let id = create(
            &app,
            json!({ "knowledge": ["Begin with the longest talk."] }),
        )
        .await;
        create(
            &app,
            json!({ "name": "letters", "purpose": "translating letters of lawyers into Spanish" }),
        )
        .await;
        failed_without(&app, &id).await;
        let (mission, _) = one_mission(&app, json!({})).await;
        let asked = stub.request(node("apply")).await;
        let told = told(&asked, "Frameworks: ");
        assert_eq!(
            told.as_array().unwrap().len(),
            1,
            "only what the task is like: {told}"
        );
        assert!(
            told[0]["text"]
                .as_str()
                .unwrap()
                .contains("- Begin with the longest talk."),
            "{told}"
        );
        assert_eq!(
            stub.count(node("solve")),
            0,
            "it is tried before routes are"
        );
        assert_eq!(list(&app, &mission).await[0]["answer"], "longest first");
        let with_it =
            json!({ "with": { "tried": 1, "worked": 1 }, "without": { "tried": 1, "worked": 0 } });
        assert_eq!(framework(&app, &id).await["tally"], with_it);
        one_mission(&app, json!({})).await;
        assert_eq!(
            (stub.count(node("apply")), stub.count(node("solve"))),
            (1, 1),
            "the second is the other side"
        );
        let both =
            json!({ "with": { "tried": 1, "worked": 1 }, "without": { "tried": 2, "worked": 1 } });
        assert_eq!(framework(&app, &id).await["tally"], both);
        let log = app.log().await;
        let chosen = with(&log, &["framework", "chosen"]);
        let ways: Vec<&Value> = chosen.iter().map(|it| &it["payload"]["with"]).collect();
        assert_eq!(ways, [&json!(true), &json!(false)]);
        assert!(
            said(chosen[0]).contains("like the task by")
                && said(chosen[0]).contains("on probation"),
            "{}",
            chosen[0]
        );
        assert_eq!(chosen[0]["thread"], json!(format!("{mission}.t1")));
        let outcomes: Vec<&Value> = with(&log, &["framework", "outcome"])
            .into_iter()
            .filter(|it| it["thread"] != "main")
            .collect();
        assert_eq!(outcomes.len(), 2);
        envelope::check_log(&log);
        rows_are_what_the_log_says(&mut app).await;
    }
);

// Like tasks that are done at the same time are compared as if they came one after the other.
on_sqlite!(
    like_tasks_side_by_side_are_chosen_for_as_one_after_the_other,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        let days: Vec<String> = (1..=6)
            .map(|day| format!("ordering talks of day {day} so that none of them clash"))
            .collect();
        let all: Vec<(&str, &[i64])> = days
            .iter()
            .map(|day| (day.as_str(), &[] as &[i64]))
            .collect();
        stub.on(node("decompose"), tasks(&all));
        stub.on(node("apply"), applied("longest first").held(&gate));
        stub.on(node("solve"), solved("shortest first").held(&gate));
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_MISSION__WIDTH", 6)
            .start()
            .await;
        let id = create(
            &app,
            json!({ "knowledge": ["Begin with the longest talk."] }),
        )
        .await;
        let mission = begin(&app, "Plan six days of talks.", json!({})).await;
        stub.some(6, |request: &Request| {
            node("apply")(request) || node("solve")(request)
        })
        .await;
        let uses = (stub.count(node("apply")), stub.count(node("solve")));
        assert_eq!(uses, (2, 4), "one of three is done with it");
        gate.open();
        ended(&app, &mission).await;
        let both =
            json!({ "with": { "tried": 2, "worked": 2 }, "without": { "tried": 4, "worked": 4 } });
        assert_eq!(framework(&app, &id).await["tally"], both);
        // What is not under way any more is counted by what came of it.
        let log = app.log().await;
        let last = with(&log, &["framework", "chosen"])
            .into_iter()
            .last()
            .unwrap();
        assert!(said(last).contains("under way are"), "{last}");
        one_mission(&app, json!({})).await;
        let log = app.log().await;
        let after = with(&log, &["framework", "chosen"]);
        assert!(
            after.len() > 6 && !said(after[6]).contains("with it 0 of 0"),
            "{after:#?}"
        );
    }
);

// At most two in one prompt, the likest; what came of the task is told of both.
on_sqlite!(two_frameworks_at_most_are_in_one_prompt, |medium| {
    let stub = Stub::start().await;
    ordering(&stub);
    stub.on(node("apply"), applied("longest first"));
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let mut ids = Vec::new();
    for name in ["one", "two", "three"] {
        let id = create(
            &app,
            json!({ "name": name, "knowledge": [format!("Know {name}.")] }),
        )
        .await;
        failed_without(&app, &id).await;
        ids.push(id);
    }
    one_mission(&app, json!({})).await;
    let asked = stub.request(node("apply")).await;
    assert_eq!(told(&asked, "Frameworks: ").as_array().unwrap().len(), 2);
    let mut used = 0;
    for id in &ids {
        used += framework(&app, id).await["tally"]["with"]["worked"]
            .as_i64()
            .unwrap();
    }
    assert_eq!(used, 2);
});

// D1.63: a stored program is run, with what the model gives it, and what it comes to is the answer; an error is told, and asked for again.
on_sqlite!(d1_63_the_program_of_a_framework_is_run, |medium| {
    let stub = Stub::start().await;
    ordering(&stub);
    stub.script(
        node("apply"),
        [runs(1, &json!({})), runs(1, &json!({ "talks": [3, 9, 5] }))],
    );
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TOOLS__CODE__ENABLED", true)
        .start()
        .await;
    let code = "input.talks.sort((a, b) => b - a).join(' ')";
    let recipe =
        json!({ "kind": "program", "language": "javascript", "code": code, "guideline": "" });
    let id = create(&app, json!({ "recipe": recipe })).await;
    failed_without(&app, &id).await;
    let (mission, _) = one_mission(&app, json!({})).await;
    assert_eq!(list(&app, &mission).await[0]["answer"], "9 5 3");
    let again = stub.nth(1, node("apply")).await;
    assert!(
        told(&again, "Earlier tries: ")
            .to_string()
            .contains("TypeError"),
        "{again:?}"
    );
    assert!(
        told(&again, "Frameworks: ")[0]["text"]
            .as_str()
            .unwrap()
            .contains(code)
    );
    assert_eq!(
        framework(&app, &id).await["tally"]["with"],
        json!({ "tried": 1, "worked": 1 })
    );
});

// D1.67: the steps of an external tool are in the prompt of the next like task, in their order.
on_sqlite!(d1_67_the_steps_of_a_tool_are_told_in_order, |medium| {
    let stub = Stub::start().await;
    ordering(&stub);
    stub.on(node("apply"), applied("as the calendar says"));
    otherwise(&stub);
    let app = App::start(medium, &stub).await;
    let recipe = json!({ "kind": "external_tool", "tool": "calendar", "steps": ["open the day", "drag the talks"] });
    let id = create(&app, json!({ "recipe": recipe })).await;
    failed_without(&app, &id).await;
    one_mission(&app, json!({})).await;
    let asked = stub.request(node("apply")).await;
    let text = told(&asked, "Frameworks: ")[0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        text.contains("With the tool calendar:\n1. open the day\n2. drag the talks"),
        "{text}"
    );
});

// D1.58, D1.61, T1.34: normal try, verdict, high try, verdict, framework; the third try has it, and the next like tasks compare it.
on_sqlite!(
    t1_34_what_the_high_tier_cannot_do_either_becomes_a_framework,
    |medium| {
        let stub = Stub::start().await;
        ordering(&stub);
        stub.on(node("framework"), knows("Begin with the longest talk."));
        stub.on(node("apply"), applied("longest first"));
        stub.on_each(node("judge"), |request| {
            judged(request.says("longest first"), "two of them clash")
        });
        otherwise(&stub);
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_MODEL_HIGH", "stub-high")
            .start()
            .await;
        let (mission, thread) = one_mission(&app, json!({ "value": "high" })).await;
        assert_eq!(thread["status"], "done");
        assert_eq!(list(&app, &mission).await[0]["status"], "closed");
        let story = story_of(&app, &mission).await;
        let tail: Vec<&str> = story
            .iter()
            .map(|line| line.strip_prefix("t1 ").unwrap())
            .skip_while(|it| *it != "tried")
            .collect();
        let high = [
            "tried",
            "judged",
            "retry",
            "tried",
            "judged",
            "framework",
            "built",
            "tried",
            "judged",
            "over",
        ];
        assert_eq!(tail, high);
        let made = stub.request(node("framework")).await;
        assert_eq!(made.model(), "stub-high");
        assert!(
            told(&made, "Tries: ")
                .to_string()
                .matches("two of them clash")
                .count()
                == 2,
            "{made:?}"
        );
        let third = stub.request(node("apply")).await;
        assert!(
            third.says("Begin with the longest talk.") && third.model() == "stub-high",
            "{third:?}"
        );
        let frameworks = app.get("/frameworks").await.expect(200)["items"].clone();
        let [made] = &frameworks.as_array().unwrap()[..] else {
            panic!("{frameworks}")
        };
        assert_eq!(
            (&made["by"], &made["standing"]),
            (&json!(format!("{mission}.t1")), &json!("probation"))
        );
        assert_eq!(
            made["tally"]["with"]["tried"], 0,
            "what it did for the task that it was made for is no comparison"
        );
        let log = app.log().await;
        let built = one(&log, &["task", "built"]);
        assert_eq!(built["payload"]["framework"], made["id"]);
        let decided = one(&log, &["task", "framework"]);
        assert_eq!(decided["payload"]["made"], true);
        // The next like task: without it, and it is told so.
        let (_, _) = one_mission(&app, json!({ "value": "medium" })).await;
        let chosen = app.log().await;
        assert_eq!(
            one(&chosen, &["framework", "chosen"])["payload"]["with"],
            false
        );
        envelope::check_log(&chosen);
        rows_are_what_the_log_says(&mut app).await;
    }
);

// D1.64, T1.35: two programs fail, the third runs; the prompts have the errors, and what is kept is the one that runs.
on_sqlite!(
    d1_64_a_program_of_a_framework_is_mended_from_its_errors,
    |medium| {
        let stub = Stub::start().await;
        ordering(&stub);
        let program = |code: &str| {
            written(
                "program",
                json!({ "code": code, "input": "{\"talks\":[3,9,5]}" }),
            )
        };
        let works = "input.talks.sort((a, b) => b - a).join(' ')";
        stub.script(
            node("framework"),
            [program("boom("), program("missing.name"), program(works)],
        );
        stub.on(node("apply"), runs(1, &json!({ "talks": [4, 6] })));
        stub.on_each(node("judge"), |request| {
            judged(request.says("6 4"), "it is not sorted")
        });
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TOOLS__CODE__ENABLED", true)
            .start()
            .await;
        let (mission, _) = one_mission(&app, json!({ "value": "high" })).await;
        assert_eq!(list(&app, &mission).await[0]["answer"], "6 4");
        let calls = stub.all(node("framework"));
        assert_eq!(calls.len(), 3);
        let broken = |at: usize| told(&calls[at], "Programs that did not run: ").to_string();
        assert_eq!(broken(0), "[]");
        assert!(
            broken(1).contains("boom(") && broken(1).contains("SyntaxError"),
            "{}",
            broken(1)
        );
        assert!(
            broken(2).contains("missing.name") && broken(2).contains("ReferenceError"),
            "{}",
            broken(2)
        );
        let kept = app.get("/frameworks").await.expect(200)["items"][0]["recipe"].clone();
        assert!(kept["code"].as_str().unwrap().ends_with(works), "{kept}");
    }
);

// Programs that never run, or loop, lead to no framework: three at most, and it is said.
on_sqlite!(programs_that_never_run_make_no_framework, |medium| {
    let stub = Stub::start().await;
    ordering(&stub);
    stub.on(
        node("framework"),
        written(
            "program",
            json!({ "code": "while (true) {}", "input": "{}" }),
        ),
    );
    stub.on(node("judge"), judged(false, "no"));
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TOOLS__CODE__ENABLED", true)
        .env("THINKD_TEST_TOOLS__CODE__TIME_MS", 200)
        .env("THINKD_TEST_MISSION__DEPTH", 1)
        .start()
        .await;
    let (_, thread) = one_mission(&app, json!({ "value": "high" })).await;
    assert_eq!(thread["status"], "done");
    assert_eq!(stub.count(node("framework")), 3);
    assert_eq!(app.get("/frameworks").await.expect(200)["items"], json!([]));
    let log = app.log().await;
    let refused = with(&log, &["task", "refused"]);
    assert!(
        refused
            .iter()
            .any(|it| said(it).contains("none of its 3 programs ran")),
        "{refused:#?}"
    );
    assert!(with(&log, &["task", "built"]).is_empty());
});

// D1.65, T1.37: three values with a known best one; it is kept, with a guideline, and used where nobody says otherwise.
on_sqlite!(
    t1_37_parameters_are_tuned_and_the_best_is_kept_with_a_guideline,
    |medium| {
        let stub = Stub::start().await;
        ordering(&stub);
        let code = "({ answer: `gap ${parameters.gap} for ${input.day}`, score: -Math.abs(parameters.gap - 15) })";
        let sets = [r#"{"gap":5}"#, r#"{"gap":15}"#, r#"{"gap":60}"#];
        let more = json!({ "code": code, "input": "{\"day\":\"Monday\"}", "parameters": sets });
        stub.on(node("framework"), written("program", more));
        stub.on(
            node("guideline"),
            call(
                "guideline",
                json!({ "guideline": "A quarter of an hour, less on short days." }),
            ),
        );
        stub.script(
            node("apply"),
            [
                runs(1, &json!({ "day": "Tuesday" })),
                runs(1, &json!({ "day": "Friday", "parameters": { "gap": 10 } })),
            ],
        );
        stub.on_each(node("judge"), |request| {
            judged(request.says("gap"), "they clash")
        });
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TOOLS__CODE__ENABLED", true)
            .start()
            .await;
        let (mission, _) = one_mission(&app, json!({ "value": "high" })).await;
        assert_eq!(
            list(&app, &mission).await[0]["answer"],
            "gap 15 for Tuesday"
        );
        let log = app.log().await;
        let tuned = one(&log, &["task", "tuned"]);
        let scores: Vec<i64> = tuned["payload"]["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["score"].as_f64().unwrap() as i64)
            .collect();
        assert_eq!(
            (scores, &tuned["payload"]["best"]),
            (vec![-10, 0, -45], &json!(1))
        );
        let runs = stub.request(node("guideline")).await;
        assert!(
            runs.says("gap 60 for Monday") && runs.says(r#"Kept: {"gap":15}"#),
            "{runs:?}"
        );
        let kept = app.get("/frameworks").await.expect(200)["items"][0].clone();
        assert_eq!(
            kept["recipe"]["guideline"],
            "A quarter of an hour, less on short days."
        );
        assert!(
            kept["recipe"]["code"]
                .as_str()
                .unwrap()
                .contains(r#"{"gap":15}"#),
            "{kept}"
        );
        // A like task may have others.
        failed_without(&app, kept["id"].as_str().unwrap()).await;
        let (mission, _) = one_mission(&app, json!({})).await;
        assert_eq!(list(&app, &mission).await[0]["answer"], "gap 10 for Friday");
    }
);

// One set that is no JSON, or too long, costs that set and not the framework.
#[tokio::test]
async fn a_set_of_parameters_that_cannot_be_read_costs_that_set_alone() {
    let stub = Stub::start().await;
    ordering(&stub);
    let long = json!({ "gap": "x".repeat(600) }).to_string();
    let sets = [r#"{"gap":5}"#, "gap: 15", r#"{"gap":15}"#, "[60]", &long];
    let more = json!({ "code": "({ answer: `gap ${parameters.gap}`, score: parameters.gap })", "input": "{}", "parameters": sets });
    stub.on(node("framework"), written("program", more));
    stub.on(
        node("guideline"),
        call("guideline", json!({ "guideline": "More is better." })),
    );
    stub.on(node("apply"), runs(1, &json!({})));
    stub.on_each(node("judge"), |request| {
        judged(request.says("gap"), "they clash")
    });
    otherwise(&stub);
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TOOLS__CODE__ENABLED", true)
        .start()
        .await;
    let (mission, _) = one_mission(&app, json!({ "value": "high" })).await;
    assert_eq!(list(&app, &mission).await[0]["answer"], "gap 15");
    assert_eq!(stub.count(node("framework")), 1, "nothing is asked again");
    let log = app.log().await;
    let tuned = one(&log, &["task", "tuned"]);
    assert_eq!(tuned["payload"]["runs"].as_array().unwrap().len(), 2);
    let refused: Vec<&str> = with(&log, &["task", "refused"])
        .into_iter()
        .filter_map(|it| it["payload"]["of"].as_str())
        .filter(|of| of.contains("parameters"))
        .collect();
    assert_eq!(
        refused,
        [2, 4, 5].map(|at| format!("the set of parameters {at}"))
    );
}

// The check of the task comes before what a program says of itself.
on_sqlite!(
    parameters_that_pass_the_check_are_better_than_others,
    |medium| {
        let stub = Stub::start().await;
        ordering(&stub);
        let mut way = ways(&[("straight", 0.9)]);
        (way["check"], way["program"]) = (json!("program"), json!("input.answer === 'gap 5'"));
        stub.on(node("consider"), call("consider", way));
        let more = json!({
            "code": "({ answer: `gap ${parameters.gap}`, score: parameters.gap })", "input": "{}", "parameters": [r#"{"gap":60}"#, r#"{"gap":5}"#],
        });
        stub.on(node("framework"), written("program", more));
        stub.on(
            node("guideline"),
            call("guideline", json!({ "guideline": "Short ones." })),
        );
        stub.on(node("apply"), runs(1, &json!({})));
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TOOLS__CODE__ENABLED", true)
            .start()
            .await;
        let (mission, _) = one_mission(&app, json!({ "value": "high" })).await;
        assert_eq!(list(&app, &mission).await[0]["answer"], "gap 5");
        assert_eq!(stub.count(node("judge")), 0);
    }
);

// D1.18, D1.19, D1.20: only a task of the value high makes a framework; one of the value low uses none. Each refusal is recorded.
on_sqlite!(
    d1_19_a_framework_is_made_only_by_what_is_worth_it,
    |medium| {
        let stub = Stub::start().await;
        ordering(&stub);
        stub.on(node("judge"), judged(false, "no"));
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MISSION__DEPTH", 1)
            .start()
            .await;
        let id = create(&app, json!({})).await;
        for value in ["medium", "low"] {
            let (mission, _) = one_mission(&app, json!({ "value": value })).await;
            let events = app
                .pages(&format!("/events?order=asc&thread={mission}&subtree=true&"))
                .await;
            let refused: Vec<&str> = with(&events, &["task", "refused"])
                .into_iter()
                .map(said)
                .collect();
            let makes = format!("to make a framework: its value is {value}");
            assert!(refused.iter().any(|it| it.contains(&makes)), "{refused:?}");
            let uses = refused
                .iter()
                .any(|it| it.contains("the framework order: its value is low"));
            assert_eq!(uses, value == "low", "{refused:?}");
            assert_eq!(
                with(&events, &["framework", "chosen"]).len(),
                usize::from(value != "low")
            );
        }
        assert_eq!(stub.count(node("framework")) + stub.count(node("apply")), 0);
        assert_eq!(
            framework(&app, &id).await["tally"]["without"],
            json!({ "tried": 1, "worked": 0 })
        );
    }
);

// D1.59: the figures decide; what is left for others is not spent on a framework, and a framework never replaces the retry.
on_sqlite!(
    d1_59_with_an_exhausted_budget_no_framework_is_made,
    |medium| {
        let stub = Stub::start().await;
        ordering(&stub);
        stub.on(node("judge"), judged(false, "no"));
        stub.on(node("framework"), knows("never asked for"));
        otherwise(&stub);
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MISSION__DEPTH", 1)
            .start()
            .await;
        // Decompose, consider, two tries and two verdicts; one call is left. Then without the retry.
        for (calls, left) in [(7, 1), (6, 2)] {
            let more = json!({ "value": "high", "budget": { "model_calls": calls } });
            let (mission, _) = one_mission(&app, more).await;
            let events = app
                .pages(&format!("/events?order=asc&thread={mission}&subtree=true&"))
                .await;
            let decided = &one(&events, &["task", "framework"])["payload"];
            assert_eq!(
                (&decided["made"], &decided["figures"]["calls_left"]),
                (&json!(false), &json!(left))
            );
        }
        assert_eq!(stub.count(node("framework")), 0);
    }
);

// The rule allows it, and the model may only decline.
on_sqlite!(a_model_may_decline_a_framework, |medium| {
    let stub = Stub::start().await;
    ordering(&stub);
    stub.script(
        node("framework"),
        [
            call("framework", json!({ "kind": "poem" })),
            written("none", json!({})),
        ],
    );
    stub.on(node("judge"), judged(false, "no"));
    otherwise(&stub);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TEST_MISSION__DEPTH", 1)
        .start()
        .await;
    one_mission(&app, json!({ "value": "high" })).await;
    // T1.07: a kind that is none is refused, and asked for once more.
    let nudged = stub.nth(1, node("framework")).await;
    assert!(nudged.says("could not be used"), "{nudged:?}");
    assert_eq!(app.get("/frameworks").await.expect(200)["items"], json!([]));
    let log = app.log().await;
    let refused = with(&log, &["task", "refused"]);
    assert!(
        refused
            .iter()
            .any(|it| said(it).contains("the model declines: such tasks come again")),
        "{refused:#?}"
    );
});

// One that never works is unusable within five uses, and is not looked at any more.
on_sqlite!(
    a_framework_that_never_works_is_unusable_within_five_uses,
    |medium| {
        let stub = Stub::start().await;
        ordering(&stub);
        stub.on(node("apply"), applied("nonsense"));
        stub.on_each(node("judge"), |request| {
            judged(!request.says("nonsense"), "nonsense")
        });
        otherwise(&stub);
        let app = App::start(medium, &stub).await;
        let id = create(&app, json!({ "knowledge": ["Guess."] })).await;
        let mut missions = 0;
        while framework(&app, &id).await["standing"] == "probation" {
            missions += 1;
            assert!(missions < 20, "{}", framework(&app, &id).await);
            let (_, thread) = one_mission(&app, json!({})).await;
            assert_eq!(thread["status"], "done", "its routes do it");
        }
        assert_eq!(framework(&app, &id).await["standing"], "unusable");
        let uses = stub.count(node("apply"));
        assert!(uses <= 5, "{uses} uses");
        one_mission(&app, json!({})).await;
        assert_eq!(stub.count(node("apply")), uses);
    }
);
