//! Trials that are run again because an instrument came, and the bounds of trials: claims that
//! wait, calls in an hour, appends of a retraction.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use super::*;

const NOT_THERE_YET: (&str, bool) = ("THINKD_TOOLS__CODE__ENABLED", false);

/// Returns the statement and the text of each event that judges, in order.
fn words_of(log: &[Value]) -> Vec<(&str, &str)> {
    let judged = with(log, &["statement", "judged"]);
    judged
        .iter()
        .map(|it| (it["payload"]["statement"].as_str().unwrap(), said(it)))
        .collect()
}

on_sqlite!(
    d1_42_what_only_reflection_tested_is_tried_again_once_code_is_there,
    |medium| {
        let stub = agreeable().await;
        stub.on(
            deriving_from("No code can say it."),
            derives(None, &["one sees it"]),
        );
        stub.on(
            deriving_from("1 is 2."),
            testable("they are equal", &[("code", "1 === 2")]),
        );
        stub.on(
            deriving_from("It cannot be worked out."),
            testable("it is so", &[("code", "['perhaps'].at(0)")]),
        );
        stub.on(
            deriving,
            testable("it can be worked out", &[("code", "1 + 1 === 2")]),
        );
        let setup = Setup::new(medium, &stub).env(NOT_THERE_YET.0, NOT_THERE_YET.1);
        let mut app = setup.env("THINKD_TEST_MEMORY__TRIES", 1).start().await;
        let mut ids = Vec::new();
        for at in 0..20 {
            ids.push(tried(&app, &format!("Sum {at}."), "surviving").await);
        }
        let wrong = tried(&app, "1 is 2.", "surviving").await;
        let vain = tried(&app, "It cannot be worked out.", "surviving").await;
        let other = tried(&app, "No code can say it.", "surviving").await;
        let reflected = stub.count(reflecting);
        let derived = stub.count(deriving);
        app.set_env(NOT_THERE_YET.0, true);
        app.restart().await;
        for id in &ids {
            // The word that it is tried again, and that it survived.
            judged(&app, id, 2, "surviving").await;
            let it = statement(&app, id).await;
            assert_eq!(
                (&it["tested_by"], &it["reflection_only"]),
                (&json!(["code"]), &json!(false)),
                "{it}"
            );
        }
        judged(&app, &wrong, 0, "falsified").await;
        // What the new instrument says nothing of is held as it was.
        let reason = said(&judged(&app, &vain, 2, "surviving").await).to_owned();
        assert!(reason.contains("neither true nor false"), "{reason}");
        assert_eq!(statement(&app, &vain).await["reflection_only"], true);
        assert_eq!(stub.count(deriving), derived, "nothing is derived again");
        assert_eq!(
            stub.count(reflecting),
            reflected,
            "an experiment reads, not reflection"
        );
        assert_eq!(
            steps(&story_of(&app, &other).await),
            ["claimed", "derived", "read yes", "judged surviving"]
        );
        let log = app.public_log().await;
        // What can test it is in the verdict: nobody has to read the whole trial to look for it.
        let tag = format!("statement:{vain}");
        assert_eq!(
            with(&log, &["judged", &tag])[0]["payload"]["judged"]["testable"],
            json!(["code"])
        );
        // Never many at a time.
        let mut open = 0_i32;
        let mut most = 0;
        for (_, text) in words_of(&log)
            .into_iter()
            .skip_while(|(_, text)| !text.contains("can test it now"))
        {
            open += if text.contains("can test it now") {
                1
            } else {
                -1
            };
            most = most.max(open);
        }
        // Once for an instrument.
        let words = words_of(&log).len();
        app.restart().await;
        tried(&app, "Sum 20.", "surviving").await;
        let more = words_of(&app.public_log().await).len() - words;
        assert!(
            (1..=8).contains(&most) && more == 1,
            "{most} at a time, and {more} words more"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    what_reflection_refuted_is_tried_again_by_an_instrument_that_was_not_there_and_once,
    |medium| {
        let stub = Stub::start().await;
        stub.on(reflecting, reflects("refuted", "a counterexample"));
        stub.on(
            deriving_from("One and one are two."),
            testable("they are", &[("code", "1 + 1 === 2")]),
        );
        stub.on(
            deriving_from("One and one are three."),
            testable("they are", &[("code", "1 + 1 === 3")]),
        );
        stub.on(deriving, derives(None, &["something follows"]));
        let mut app = Setup::new(medium, &stub)
            .env(NOT_THERE_YET.0, NOT_THERE_YET.1)
            .start()
            .await;
        let right = tried(&app, "One and one are two.", "falsified").await;
        let wrong = tried(&app, "One and one are three.", "falsified").await;
        let other = tried(&app, "Nobody knows.", "falsified").await;
        app.set_env(NOT_THERE_YET.0, true);
        app.restart().await;
        judged(&app, &right, 0, "surviving").await;
        judged(&app, &wrong, 2, "falsified").await;
        assert_eq!(statement(&app, &right).await["tested_by"], json!(["code"]));
        // Code has had its say: nothing but another quote brings it back, and what code cannot test has no new instrument.
        for text in ["One and one are three.", "Nobody knows."] {
            tried(&app, text, "joined").await;
        }
        app.restart().await;
        tried(&app, "Somebody else.", "falsified").await;
        let tried = [
            "claimed",
            "derived",
            "read no",
            "judged falsified",
            "judged falsified",
            "read no",
            "judged falsified",
        ];
        assert_eq!(steps(&story_of(&app, &wrong).await), tried);
        assert_eq!(steps(&story_of(&app, &other).await), tried[..4]);
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_43_a_lie_said_again_with_new_quotes_meets_the_no_of_before,
    |medium| {
        let stub = Stub::start().await;
        stub.on(deriving, derives(None, &["something follows"]));
        let no = || reflects("refuted", "a counterexample");
        stub.script(reflecting, [no(), holds(), holds(), no()]);
        let mut app = App::start(medium, &stub).await;
        let claim = async |quote: &str, nth: usize, word: &str, id: Option<&str>| {
            let body = json!({ "statement": "The tower has no stairs.", "quote": quote });
            let said = app.post("/world-model", body).await.expect(202);
            let own = said["id"].as_str().unwrap().to_owned();
            judged(&app, id.unwrap_or(&own), nth, word).await;
            own
        };
        let id = claim("no stairs", 0, "falsified", None).await;
        // A yes beside the no: as many no as yes is a no. The words between have it tried again.
        claim("never any stairs", 2, "falsified", Some(&id)).await;
        let reason = statement(&app, &id).await["reason"].clone();
        assert!(
            reason.as_str().unwrap().contains("a counterexample"),
            "{reason}"
        );
        // Two beside it: the no was the error.
        claim("there are no stairs", 0, "surviving", Some(&id)).await;
        assert_eq!(stub.count(reflecting), 3);
        let shown = statement(&app, &id).await;
        let readings = shown["predictions"][0]["readings"]
            .as_array()
            .unwrap()
            .len();
        assert_eq!(readings, 3, "{shown}");
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    what_was_refuted_is_tried_again_when_it_is_claimed_and_another_instrument_is_there,
    |medium| {
        let stub = Stub::start().await;
        stub.on(reflecting, reflects("refuted", "a counterexample"));
        let by = [("code", "1 + 1 === 3"), ("question", "Are they?")];
        stub.on(deriving, testable("they are", &by));
        let app = Setup::new(medium, &stub).start().await;
        let claim_as = async |name: &str| {
            let body = json!({ "statement": "One and one are three." });
            let request = app
                .request("POST", "/world-model")
                .header("authorization", format!("{name}:none"));
            http::send(request.json(&body)).await.expect(202)["id"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let away = async |is: bool| {
            let body = json!({ "settings": { "user_away": is } });
            http::send(app.request("PUT", "/settings").json(&body))
                .await
                .expect(200);
        };
        away(true).await;
        let id = claim_as("ann").await;
        judged(&app, &id, 0, "falsified").await;
        // Nothing new: it is left.
        let again = claim_as("ann").await;
        judged(&app, &again, 0, "joined").await;
        assert_eq!(statement(&app, &id).await["due_at"], Value::Null);
        // Now there are people.
        away(false).await;
        let again = claim_as("ann").await;
        judged(&app, &again, 0, "joined").await;
        // It is they who are asked, not what has had its say.
        let asked = app
            .until_some("a question", async || {
                if let Some(open) = app.pages("/questions?").await.pop() {
                    return Some(open["question_id"].as_str().unwrap().to_owned());
                }
                None
            })
            .await;
        let request = app
            .request("POST", &format!("/questions/{asked}"))
            .header("authorization", "bob:none");
        http::send(request.json(&json!({ "text": "yes" })))
            .await
            .expect(204);
        // Theirs is one yes beside the no of code, and as many no as yes is a no.
        judged(&app, &id, 2, "falsified").await;
        let it = statement(&app, &id).await;
        let readings = it["predictions"][0]["readings"].as_array().unwrap();
        let said: Vec<&str> = readings
            .iter()
            .map(|it| it["answer"].as_str().unwrap())
            .collect();
        assert_eq!(said, ["no", "asked", "yes"], "{it}");
    }
);

on_sqlite!(
    as_of_an_event_it_is_said_what_had_tested_a_statement_then_and_what_contradicted_it,
    |medium| {
        let stub = agreeable().await;
        let edge = |place: &'static str, code: Option<&str>| {
            let mut of = derived(
                Some(["Vesna", "is at", place]),
                true,
                &[&format!("Vesna is met at {place}")],
            );
            of["predictions"][0]["code"] = json!(code);
            call("derive", of)
        };
        stub.on(
            deriving_from("Vesna is at B."),
            edge("B", Some("1 + 1 === 2")),
        );
        stub.on(deriving_from("Vesna is at C."), edge("C", None));
        stub.on(deriving_from("Vesna is at D."), edge("D", None));
        let setup = Setup::new(medium, &stub).env(NOT_THERE_YET.0, NOT_THERE_YET.1);
        let mut app = setup.start().await;
        let one = tried(&app, "Vesna is at B.", "surviving").await;
        let two = tried(&app, "Vesna is at C.", "contested").await;
        let then = seq(&judged(&app, &two, 0, "contested").await);
        app.set_env(NOT_THERE_YET.0, true);
        app.restart().await;
        app.until("the trial by code", async || {
            statement(&app, &one).await["tested_by"] == json!(["code"])
        })
        .await;
        // What contradicts it now is another one.
        tried(&app, "Vesna is at D.", "contested").await;
        app.post(
            &format!("/world-model/{two}/retract"),
            json!({ "reason": "a slip" }),
        )
        .await
        .expect(200);
        let item = async |path: String| {
            let items = app.get(&path).await.expect(200)["items"]
                .as_array()
                .unwrap()
                .clone();
            items.into_iter().find(|item| item["id"] == one).unwrap()
        };
        for path in ["/recall?q=where+is+Vesna&as_of=", "/world-model?as_of="] {
            let it = item(format!("{path}{then}")).await;
            let against = it["contested_by"][0]
                .get("id")
                .unwrap_or(&it["contested_by"][0])
                .clone();
            assert_eq!(
                (&it["status"], &it["reflection_only"]),
                (&json!("contested"), &json!(true)),
                "{path}: {it}"
            );
            assert_eq!(
                (against, &it["contested_by_count"]),
                (json!(two), &json!(1)),
                "{path}: {it}"
            );
            assert!(
                it["label"].as_str().unwrap().ends_with("reflection only"),
                "{path}: {it}"
            );
        }
        // The control: now it is tested, and another one contradicts it.
        let it = item("/recall?q=where+is+Vesna".into()).await;
        assert_eq!(
            (&it["reflection_only"], &it["contested_by"][0]["text"]),
            (&json!(false), &json!("Vesna is at D.")),
            "{it}"
        );
        rows_are_what_the_log_says(&mut app).await;
    }
);

on_sqlite!(
    d1_42_what_waits_for_an_experiment_is_tried_again_once_there_is_one,
    |medium| {
        let stub = agreeable().await;
        stub.on(
            deriving,
            testable("it can be worked out", &[("code", "1 + 1 === 2")]),
        );
        let setup = Setup::new(medium, &stub).env(NOT_THERE_YET.0, NOT_THERE_YET.1);
        let mut app = setup
            .env("THINKD_TEST_MEMORY__REQUIRE_EXPERIMENT", true)
            .start()
            .await;
        let id = tried(&app, "The sum is two.", "proposed").await;
        app.set_env(NOT_THERE_YET.0, true);
        app.restart().await;
        judged(&app, &id, 0, "surviving").await;
        assert_eq!(statement(&app, &id).await["tested_by"], json!(["code"]));
        assert_eq!(stub.count(reflecting), 1);
    }
);

on_sqlite!(
    claims_that_wait_are_bounded_and_the_next_one_is_refused_by_name,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(deriving, derives(None, &["something follows"]).held(&gate));
        stub.on(reflecting, holds());
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__WAITING", 2)
            .env("THINKD_TOOLS__CONVERSATION", "reply,remember")
            .start()
            .await;
        let ids = [claim(&app, "One.").await, claim(&app, "Two.").await];
        let refused = app
            .post("/world-model", json!({ "statement": "Three." }))
            .await
            .expect_problem(422, "unprocessable");
        assert!(
            refused["detail"]
                .as_str()
                .unwrap()
                .contains("wait for their trial"),
            "{refused}"
        );
        stub.script(
            decision,
            [
                call(
                    "remember",
                    json!({ "statement": "Three.", "quote": null, "derived_from": null }),
                ),
                reply("No."),
            ],
        );
        app.tell("remember three").await;
        let log = app.public_log().await;
        assert!(
            said(one(&log, &["result", "tool:remember", "failure"]))
                .contains("wait for their trial")
        );
        gate.open();
        for id in &ids {
            judged(&app, id, 0, "surviving").await;
        }
        tried(&app, "Three.", "surviving").await;
    }
);

on_sqlite!(
    claims_at_once_do_not_pass_the_limit_of_those_that_wait,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.on(deriving, derives(None, &["something follows"]).held(&gate));
        stub.on(reflecting, holds());
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__WAITING", 3)
            .start()
            .await;
        let claims = (0..12).map(|at| {
            app.post(
                "/world-model",
                json!({ "statement": format!("Number {at}.") }),
            )
        });
        let replies = futures_util::future::join_all(claims).await;
        let (taken, refused): (Vec<_>, Vec<_>) =
            replies.into_iter().partition(|reply| reply.status == 202);
        assert_eq!((taken.len(), refused.len()), (3, 9));
        for reply in refused {
            let problem = reply.expect_problem(422, "unprocessable");
            assert!(
                problem["detail"]
                    .as_str()
                    .unwrap()
                    .contains("wait for their trial"),
                "{problem}"
            );
        }
        gate.open();
        for id in taken.iter().map(|reply| reply.body["id"].as_str().unwrap()) {
            judged(&app, id, 0, "surviving").await;
        }
        tried(&app, "There is room again.", "surviving").await;
    }
);

// Of one step, and of several minds at once.
on_sqlite!(
    claims_of_minds_at_once_do_not_pass_the_limit_of_those_that_wait,
    |medium| {
        let stub = Stub::start().await;
        let minds = ["a", "b", "c", "d"];
        let gate = Gate::new();
        let trials = Gate::new();
        stub.on(
            deriving,
            derives(None, &["something follows"]).held(&trials),
        );
        let remember = |mind: &str, at: usize| json!({ "statement": format!("Number {at} of {mind}."), "quote": null, "derived_from": null });
        for mind in minds {
            let claims = (1..4).fold(call("remember", remember(mind, 0)), |all, at| {
                all.and("remember", remember(mind, at))
            });
            stub.script(at(mind), [claims.held(&gate), reply("Done.")]);
        }
        let app = Setup::new(medium, &stub)
            .env("THINKD_TEST_MEMORY__WAITING", 3)
            .env("THINKD_TOOLS__CONVERSATION", "reply,remember")
            .start()
            .await;
        let told = futures_util::future::join_all(
            minds.map(|mind| app.tell_in(mind, "remember four things")),
        );
        let open = async {
            stub.some(minds.len(), decision).await;
            gate.open();
        };
        tokio::join!(told, open);
        let log = app.log().await;
        assert_eq!(with(&log, &["statement", "claimed"]).len(), 3);
        let refused = with(&log, &["result", "tool:remember", "failure"]);
        assert_eq!(refused.len(), 13, "each beyond is answered");
        assert!(
            refused
                .iter()
                .all(|it| said(it).contains("wait for their trial")),
            "{refused:?}"
        );
        assert_eq!(
            stub.count(decision),
            2 * minds.len(),
            "no model is asked again"
        );
    }
);

on_sqlite!(
    trials_make_so_many_calls_in_an_hour_and_conversations_go_on,
    |medium| {
        let stub = agreeable().await;
        stub.on(deriving, derives(None, &["something follows"]));
        stub.on(decision, reply("Good day."));
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_MEMORY__CALLS_PER_HOUR", 3)
            .env("THINKD_TEST_MEMORY__TRIALS_AT_ONCE", 1)
            .start()
            .await;
        let first = tried(&app, "One.", "surviving").await;
        let rested = async |app: &App, times: usize| {
            app.until("rest", async || {
                with(&app.public_log().await, &["trials", "rested"]).len() >= times
            })
            .await
        };
        // A claim that comes before the trials rest is part of the same run, which rests once.
        rested(&app, 1).await;
        let second = claim(&app, "Two.").await;
        rested(&app, 2).await;
        assert_eq!(stub.count(trial), 3, "derived, and not read");
        // That it waits, and until when, is an event.
        let log = app.public_log().await;
        let spent = one(&log, &["trials", "spent"]);
        assert!(said(spent).contains("memory.calls_per_hour"), "{spent}");
        assert!(
            spent["payload"]["until"].as_str().unwrap() > spent["ts"].as_str().unwrap(),
            "{spent}"
        );
        assert_eq!(
            steps(&story_of(&app, &second).await),
            ["claimed", "derived"]
        );
        assert_eq!(
            said(&app.tell("hello").await[0]),
            "Good day.",
            "the budget is that of trials alone"
        );
        // It is counted by the log.
        app.restart().await;
        let third = claim(&app, "Three.").await;
        rested(&app, 3).await;
        assert_eq!(stub.count(trial), 3);
        assert_eq!(
            with(&app.public_log().await, &["trials", "spent"]).len(),
            1,
            "once an hour"
        );
        let it = statement(&app, &third).await;
        assert_eq!(
            (
                &it["status"],
                statement(&app, &first).await["status"].clone()
            ),
            (&json!("proposed"), json!("surviving"))
        );
        // What is left is there, and goes on when there are calls.
        app.set_env("THINKD_MEMORY__CALLS_PER_HOUR", 100);
        app.restart().await;
        let fourth = claim(&app, "Four.").await;
        for id in [&second, &third, &fourth] {
            judged(&app, id, 0, "surviving").await;
        }
        assert_eq!(stub.count(deriving), 4);
    }
);

on_sqlite!(
    a_claim_that_is_no_statement_says_what_became_of_it,
    |medium| {
        let stub = agreeable().await;
        let mut no_claim = derived(None, false, &[]);
        (no_claim["is_claim"], no_claim["why"]) = (json!(false), json!("it is an order"));
        stub.on(deriving_from("Fetch the paper."), call("derive", no_claim));
        stub.on(deriving, derives(None, &["something follows"]));
        let app = App::start(medium, &stub).await;
        let why = async |id: &str| {
            let problem = app
                .get(&format!("/world-model/{id}"))
                .await
                .expect_problem(404, "not-found");
            problem["detail"].as_str().unwrap().to_owned()
        };
        let refused = tried(&app, "Fetch the paper.", "refused").await;
        let said = why(&refused).await;
        assert!(
            said.contains("was refused") && said.contains("it is an order"),
            "{said}"
        );
        let first = tried(&app, "It is so.", "surviving").await;
        let joined = tried(&app, "it is so", "joined").await;
        let said = why(&joined).await;
        assert!(said.contains(&format!("what {first} says")), "{said}");
        assert!(
            why("0193a1b2-5c3d-7e4f-8a9b-0c1d2e3f4a5b")
                .await
                .contains("never was")
        );
    }
);

on_sqlite!(
    a_large_retraction_that_is_cut_off_leaves_nothing_behind_once_it_is_repeated,
    |medium| {
        let stub = agreeable().await;
        stub.on(deriving, derives(None, &["something follows"]));
        let mut app = Setup::new(medium, &stub)
            .env("THINKD_MEMORY__CALLS_PER_HOUR", 100_000)
            .start()
            .await;
        let ground = tried(&app, "The ground.", "surviving").await;
        // More than one append has: a chain, each on the one before, and each on the ground.
        let mut ids = vec![ground.clone()];
        for at in 0..520 {
            let from = if at % 2 == 0 {
                ids.last().unwrap()
            } else {
                &ground
            };
            let body = json!({ "statement": format!("Step {at}."), "derived_from": [from] });
            let id = app.post("/world-model", body).await.expect(202)["id"]
                .as_str()
                .unwrap()
                .to_owned();
            ids.push(id);
        }
        // A few at a time: no wait is longer than one may be.
        for many in (50..ids.len()).step_by(50).chain([ids.len()]) {
            app.until("the next trials", async || {
                // Reading them costs as much as their trials: seldom.
                held(&app, "status=surviving&limit=500").await.len() >= many
            })
            .await;
        }
        let path = format!("/world-model/{ground}/retract");
        let request = app
            .request("POST", &path)
            .json(&json!({ "reason": "a slip" }));
        let retracting = tokio::spawn(request.send());
        app.until("the first part", async || {
            !with(&app.public_log().await, &["judged", "untested"]).is_empty()
                || retracting.is_finished()
        })
        .await;
        app.restart().await;
        // Cut off or not: said again, it is whole.
        let again = app.post(&path, json!({ "reason": "a slip" })).await;
        assert!([200, 409].contains(&again.status), "{}", again.text);
        assert_eq!(held(&app, "status=untested&limit=500").await.len(), 520);
        let log = app.public_log().await;
        assert_eq!(with(&log, &["judged", "untested"]).len(), 520, "each once");
        assert_eq!(with(&log, &["judged", "retracted"]).len(), 1);
    }
);
