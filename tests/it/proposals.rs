//! Proposals of a mind to have other submodules: the text for a person, the effect of the person's
//! verdict, and the state without one.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_words::id::{Name, Space, ThreadId};

use kit::*;

const TOOL: &str = "propose_submodule";
const REMOVAL: &str = "propose_submodule_removal";

fn whole(name: &str, prompt: &str) -> Answer {
    call(
        TOOL,
        json!({ "name": name, "prompt": prompt, "diff": null }),
    )
}

fn diff(name: &str, diff: &str) -> Answer {
    call(TOOL, json!({ "name": name, "prompt": null, "diff": diff }))
}

/// Has this proposed in `main`, and the turn end. Returns the newest approval that then waits.
async fn propose(app: &App, stub: &Stub, proposal: Answer) -> Value {
    stub.script(at("main"), [proposal, reply("I have proposed it.")]);
    assert_eq!(
        said(&app.tell("Do you need another voice?").await[0]),
        "I have proposed it."
    );
    let open = app.pages("/approvals?").await;
    open.last()
        .unwrap_or_else(|| panic!("nothing waits"))
        .clone()
}

async fn verdict(app: &App, approval: &Value, verdict: Value) -> Reply {
    app.post(
        &format!("/approvals/{}", approval["approval_id"].as_str().unwrap()),
        verdict,
    )
    .await
}

async fn approve(app: &App, approval: &Value) {
    verdict(app, approval, json!({ "verdict": "approve" }))
        .await
        .expect(200);
}

/// The result of the call behind an approval, once its turn is over.
async fn result(app: &App, approval: &Value) -> Value {
    app.until_some("the result of a proposal", async || {
        let log = app.public_log().await;
        let found = with(&log, &["result"])
            .into_iter()
            .find(|it| it["payload"]["call_id"] == approval["call_id"]);
        let is_over = |result: &Value| {
            let ended = with(&log, &["turn", "ended"]);
            ended.last().is_some_and(|ended| seq(ended) > seq(result))
        };
        found.filter(|found| is_over(found)).cloned()
    })
    .await
}

/// The prompts by name.
async fn submodules(app: &App) -> Value {
    let rows = app.pages("/submodules?").await;
    rows.into_iter()
        .map(|row| {
            (
                row["name"].as_str().unwrap().to_owned(),
                row["prompt"].clone(),
            )
        })
        .collect()
}

fn changes(log: &[Value]) -> Vec<(&str, &Value)> {
    let sets = with(log, &["set:submodule"]).into_iter();
    sets.map(|set| {
        (
            set["payload"]["key"].as_str().unwrap(),
            &set["payload"]["change"],
        )
    })
    .collect()
}

fn reason(result: &Value) -> &str {
    assert!(has(result, "failure"), "{result}");
    result["payload"]["problem"]["detail"]["reason"]
        .as_str()
        .unwrap_or_default()
}

// T4.53: it waits, and is no voice yet; a person approves; it is one from the next turn on; and the log says who approved.
on_sqlite!(
    t4_53_a_proposed_voice_speaks_from_the_turn_after_its_approval_on,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).start().await;
        let prompt = "You are the voice owl.\nDoubt it.";
        let approval = propose(&app, &stub, whole("owl", prompt)).await;
        let shown = "--- /dev/null\n+++ submodules/owl\n@@ -0,0 +1,2 @@\n+You are the voice owl.\n+Doubt it.\n";
        assert_eq!(
            (&approval["tool"], &approval["diff"]),
            (&json!(TOOL), &json!(shown))
        );
        app.tell("Are you sure?").await;
        assert_eq!(
            (submodules(&app).await, stub.count(voice("owl"))),
            (json!({}), 0),
            "it is active before anybody approved"
        );
        let log = app.public_log().await;
        assert!(
            with(&log, &["result", &format!("tool:{TOOL}")]).is_empty(),
            "{}",
            story(&log)
        );
        let id = approval["approval_id"].as_str().unwrap();
        let body = json!({ "verdict": "approve", "reason": "we need doubt" });
        let by_ann = app
            .request("POST", &format!("/approvals/{id}"))
            .header("authorization", "ann:none")
            .json(&body);
        assert!(by_ann.send().await.unwrap().status().is_success());
        assert_eq!(
            result(&app, &approval).await["payload"]["output"],
            json!({ "created": "owl" })
        );
        assert_eq!(
            (submodules(&app).await, stub.count(voice("owl"))),
            (json!({ "owl": prompt }), 0)
        );
        app.tell("And now?").await;
        assert!(stub.request(voice("owl")).await.says("Doubt it."));
        let log = app.public_log().await;
        in_order(
            &log,
            &[
                &["approval", "pending"],
                &["approval", "granted"],
                &["set:submodule"],
                &["result", "tool:propose_submodule"],
            ],
        );
        let granted = &one(&log, &["approval", "granted"])["payload"];
        assert_eq!(
            (&granted["by"], &granted["reason"]),
            (&json!("ann"), &json!("we need doubt"))
        );
        assert_eq!(changes(&log), [("owl", &json!({ "prompt": prompt }))]);
    }
);

// SECURITY: nobody approves orders that nobody sees.
on_sqlite!(
    a_proposed_prompt_with_characters_that_nobody_sees_is_refused,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).start().await;
        for hidden in ["\u{e0041}", "\u{200b}", "\u{2800}", "\u{202e}"] {
            let prompt = format!("Be kind.{hidden} End");
            stub.script(decision, [whole("owl", &prompt), reply("No.")]);
            app.tell("propose").await;
            let log = app.public_log().await;
            let result = *with(&log, &["result", "tool:propose_submodule"])
                .last()
                .unwrap();
            assert!(said(result).contains("(U+"), "{}", story(&log));
        }
        assert!(app.pages("/approvals?").await.is_empty());
    }
);

// D4.29: nothing changes, and both what was proposed and what was said of it are in the log.
on_sqlite!(
    d4_29_a_rejected_proposal_leaves_everything_as_it_was,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&["owl"]).start().await;
        let before = submodules(&app).await;
        for proposal in [
            whole("owl", "Say yes."),
            whole("cat", "Purr."),
            call(REMOVAL, json!({ "name": "owl" })),
        ] {
            let approval = propose(&app, &stub, proposal).await;
            verdict(
                &app,
                &approval,
                json!({ "verdict": "reject", "reason": "leave it" }),
            )
            .await
            .expect(200);
            let failed = result(&app, &approval).await;
            assert!(
                reason(&failed) == "denied" && said(&failed).contains("leave it"),
                "{failed}"
            );
        }
        let log = app.public_log().await;
        assert_eq!(
            (submodules(&app).await, changes(&log).len()),
            (before, 1),
            "{}",
            story(&log)
        );
        assert_eq!(
            with(&log, &["approval", "pending"]).len(),
            3,
            "{}",
            story(&log)
        );
        assert_eq!(
            with(&log, &["approval", "denied"]).len(),
            3,
            "{}",
            story(&log)
        );
        assert!(
            stub.request(|request| at("main")(request) && request.says("leave it"))
                .await
                .says("leave it")
        );
    }
);

// T4.54
on_sqlite!(t4_54_a_proposal_is_settled_once, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).start().await;
    let owl = propose(&app, &stub, whole("owl", "Doubt it.")).await;
    approve(&app, &owl).await;
    for again in ["approve", "reject"] {
        verdict(&app, &owl, json!({ "verdict": again }))
            .await
            .expect_problem(409, "already-settled");
    }
    result(&app, &owl).await;
    let cat = propose(&app, &stub, whole("cat", "Purr.")).await;
    verdict(&app, &cat, json!({ "verdict": "reject" }))
        .await
        .expect(200);
    verdict(&app, &cat, json!({ "verdict": "approve" }))
        .await
        .expect_problem(409, "already-settled");
    let unknown = json!({ "approval_id": "0193a1b2-5c3d-7e4f-8a9b-0c1d2e3f4a5b" });
    verdict(&app, &unknown, json!({ "verdict": "approve" }))
        .await
        .expect_problem(404, "not-found");
    result(&app, &cat).await;
    assert_eq!(
        changes(&app.public_log().await),
        [("owl", &json!({ "prompt": "Doubt it." }))]
    );
});

// T4.68: proposed as a diff, shown as a diff, and applied.
on_sqlite!(t4_68_a_diff_that_is_approved_changes_the_prompt, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).start().await;
    let prompt = "You are the voice owl.\nDoubt it.\nBe brief.";
    app.post("/submodules", json!({ "name": "owl", "prompt": prompt }))
        .await
        .expect(201);
    // As models write them: no names of files, no line break at the end.
    let written = "@@ -2,2 +2,2 @@\n-Doubt it.\n+Doubt it twice.\n Be brief.";
    let approval = propose(&app, &stub, diff("owl", written)).await;
    let shown = approval["diff"].as_str().unwrap();
    assert!(
        shown.contains("\n-Doubt it.\n+Doubt it twice.\n")
            && shown.contains("+++ submodules/owl\n"),
        "{shown}"
    );
    // What somebody else changes elsewhere in the prompt stays.
    let other = "You are the voice owl, who is old.\nDoubt it.\nBe brief.";
    app.patch("/submodules/owl", json!({ "prompt": other }))
        .await
        .expect(200);
    approve(&app, &approval).await;
    assert_eq!(
        result(&app, &approval).await["payload"]["output"],
        json!({ "changed": "owl" })
    );
    let now = "You are the voice owl, who is old.\nDoubt it twice.\nBe brief.";
    assert_eq!(submodules(&app).await, json!({ "owl": now }));
    app.tell("And now?").await;
    assert!(
        stub.request(|request| voice("owl")(request) && request.says("Doubt it twice."))
            .await
            .is_voice()
    );
});

// T4.68: applied (failed) with the reason, and the prompt is unchanged.
on_sqlite!(
    t4_68_a_diff_that_does_not_fit_any_more_changes_nothing_and_says_why,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).start().await;
        app.post(
            "/submodules",
            json!({ "name": "owl", "prompt": "Doubt it.\nBe brief." }),
        )
        .await
        .expect(201);
        let approval = propose(
            &app,
            &stub,
            diff("owl", "@@ -1 +1 @@\n-Doubt it.\n+Doubt it twice.\n"),
        )
        .await;
        app.patch("/submodules/owl", json!({ "prompt": "Believe it." }))
            .await
            .expect(200);
        approve(&app, &approval).await;
        let failed = result(&app, &approval).await;
        assert_eq!(reason(&failed), "does_not_fit");
        assert!(
            said(&failed).contains("does not fit the text as it is now"),
            "{failed}"
        );
        let log = app.public_log().await;
        assert_eq!(
            (submodules(&app).await, changes(&log).len()),
            (json!({ "owl": "Believe it." }), 2),
            "{}",
            story(&log)
        );
        in_order(
            &log,
            &[
                &["approval", "pending"],
                &["approval", "granted"],
                &["result", "tool:propose_submodule"],
            ],
        );
        let told = stub
            .request(|request| at("main")(request) && request.says("does not fit the text"))
            .await;
        assert!(told.is_decision());
    }
);

// Who approves is shown a change from one prompt to another. If the first is not there any more, that is not what was approved.
on_sqlite!(
    what_was_changed_since_it_was_proposed_is_not_overruled,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&["owl"]).start().await;
        let owl = propose(&app, &stub, whole("owl", "Say yes.")).await;
        let cat = propose(&app, &stub, whole("cat", "Purr.")).await;
        let dog = propose(&app, &stub, whole("dog", "Bark.")).await;
        let gone = propose(&app, &stub, call(REMOVAL, json!({ "name": "owl" }))).await;
        app.patch("/submodules/owl", json!({ "prompt": "An operator's." }))
            .await
            .expect(200);
        app.post(
            "/submodules",
            json!({ "name": "cat", "prompt": "An operator's." }),
        )
        .await
        .expect(201);
        for approval in [&owl, &cat, &gone] {
            approve(&app, approval).await;
            assert_eq!(
                reason(&result(&app, approval).await),
                "changed_since",
                "{approval}"
            );
        }
        approve(&app, &dog).await;
        assert_eq!(
            result(&app, &dog).await["payload"]["output"],
            json!({ "created": "dog" }),
            "control: nobody changed it"
        );
        let theirs = json!({ "cat": "An operator's.", "dog": "Bark.", "owl": "An operator's." });
        assert_eq!(submodules(&app).await, theirs);
    }
);

on_sqlite!(a_removal_that_is_approved_silences_the_voice, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .voices(&["cat", "owl"])
        .env("THINKD_TURN__FOLLOW_UP", false)
        .start()
        .await;
    let approval = propose(&app, &stub, call(REMOVAL, json!({ "name": "owl" }))).await;
    let shown = "--- submodules/owl\n+++ /dev/null\n@@ -1 +0,0 @@\n-You are the voice owl. Say what owl has to say.\n";
    assert_eq!(approval["diff"], shown);
    approve(&app, &approval).await;
    assert_eq!(
        result(&app, &approval).await["payload"]["output"],
        json!({ "removed": "owl" })
    );
    assert_eq!(
        submodules(&app)
            .await
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["cat"]
    );
    let owl = stub.count(voice("owl"));
    let cat = stub.count(voice("cat"));
    app.tell("And now?").await;
    assert_eq!(
        (stub.count(voice("owl")), stub.count(voice("cat"))),
        (owl, cat + 1)
    );
});

// T4.54: what runs is what the person wrote; what was proposed stays in the log beside it.
on_sqlite!(
    a_person_can_approve_another_prompt_than_the_proposed_one,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).start().await;
        let approval = propose(&app, &stub, whole("owl", "Doubt it.")).await;
        let edit = |arguments: Value| json!({ "verdict": "edit", "arguments": arguments });
        for wrong in [
            json!({ "name": "owl", "prompt": " ", "diff": null }),
            json!({ "name": "Not a name", "prompt": "x", "diff": null }),
            json!({ "name": "owl", "prompt": "x", "diff": "@@ -1 +1 @@" }),
            json!({ "name": "owl", "prompt": null, "diff": null }),
            json!({ "name": "owl", "prompt": "x", "diff": null, "more": 1 }),
        ] {
            verdict(&app, &approval, edit(wrong))
                .await
                .expect_problem(422, "invalid-arguments");
        }
        assert_eq!(app.pages("/approvals?").await.len(), 1, "it is still open");
        let arguments = json!({ "name": "owl", "prompt": "Doubt it, but kindly.", "diff": null });
        verdict(&app, &approval, edit(arguments.clone()))
            .await
            .expect(200);
        assert_eq!(
            result(&app, &approval).await["payload"]["output"],
            json!({ "created": "owl" })
        );
        assert_eq!(
            submodules(&app).await,
            json!({ "owl": "Doubt it, but kindly." })
        );
        let log = app.public_log().await;
        let pending = one(&log, &["approval", "pending"]);
        let granted = one(&log, &["approval", "granted"]);
        assert_eq!(pending["payload"]["arguments"]["prompt"], "Doubt it.");
        assert_eq!(
            (
                &granted["payload"]["arguments"],
                &granted["payload"]["edited"]
            ),
            (&arguments, &json!(true))
        );
    }
);

on_sqlite!(a_voice_cannot_propose, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .voices(&["owl"])
        .env("THINKD_TURN__FOLLOW_UP", false)
        .start()
        .await;
    stub.script(
        voice("owl"),
        [
            whole("cat", "Purr."),
            call(REMOVAL, json!({ "name": "owl" })),
            text("I tried."),
        ],
    );
    app.tell("Do you need another voice?").await;
    let log = app.public_log().await;
    for tool in [TOOL, REMOVAL] {
        assert!(
            has(one(&log, &["result", &format!("tool:{tool}")]), "failure"),
            "{}",
            story(&log)
        );
    }
    assert!(with(&log, &["approval"]).is_empty(), "{}", story(&log));
    assert_eq!(
        (app.pages("/approvals?").await.len(), changes(&log).len()),
        (0, 1),
        "{}",
        story(&log)
    );
});

// What could not be applied anyway is refused at once: no person is asked about it, and the model reads why.
on_sqlite!(
    a_proposal_that_cannot_be_is_not_put_before_a_person,
    |medium| {
        let stub = Stub::start().await;
        let setup = Setup::new(medium, &stub)
            .env("THINKD_LIMITS__SUBMODULES", 2)
            .env("THINKD_LIMITS__TEXT_BYTES", 2000);
        let app = setup.voices(&["owl", "cat"]).start().await;
        let prompt = submodules(&app).await["owl"].clone();
        let long = "long ".repeat(500);
        let wrong = [
            (
                json!({ "name": "Owl!", "prompt": "x", "diff": null }),
                "1 to 32",
            ),
            (
                json!({ "name": "owl", "prompt": " \n", "diff": null }),
                "cannot be empty",
            ),
            (
                json!({ "name": "owl", "prompt": "x", "diff": "x" }),
                "either prompt or diff",
            ),
            (
                json!({ "name": "owl", "prompt": null, "diff": null }),
                "either prompt or diff",
            ),
            (
                json!({ "name": "owl", "prompt": prompt, "diff": null }),
                "is that already",
            ),
            (
                json!({ "name": "owl", "prompt": long, "diff": null }),
                "limits.text_bytes",
            ),
            (
                json!({ "name": "dog", "prompt": "Bark.", "diff": null }),
                "limits.submodules",
            ),
            (
                json!({ "name": "dog", "prompt": null, "diff": "@@ -1 +1 @@\n-a\n+b\n" }),
                "give its whole prompt",
            ),
            (
                json!({ "name": "owl", "prompt": null, "diff": "@@ -1 +1 @@\n-a\n+b\n" }),
                "does not fit",
            ),
            (
                json!({ "name": "owl", "prompt": null, "diff": "say yes" }),
                "no hunk",
            ),
            (
                json!({ "name": "owl", "prompt": null, "diff": format!("@@ -1 +0,0 @@\n-{}\n", prompt.as_str().unwrap()) }),
                "leaves nothing",
            ),
        ];
        let all = wrong.iter().fold(text(""), |calls, (arguments, _)| {
            calls.and(TOOL, arguments.clone())
        });
        stub.script(
            decision,
            [all.and(REMOVAL, json!({ "name": "dog" })), reply("I see.")],
        );
        app.tell("Do you need another voice?").await;
        let log = app.public_log().await;
        let results = with(&log, &["result", &format!("tool:{TOOL}"), "failure"]);
        for (result, (arguments, why)) in results.iter().zip(&wrong) {
            assert!(said(result).contains(why), "{arguments}: {}", said(result));
        }
        assert_eq!(results.len(), wrong.len(), "{}", story(&log));
        assert!(
            said(one(&log, &["result", &format!("tool:{REMOVAL}")]))
                .contains("there is no submodule dog")
        );
        assert!(
            with(&log, &["approval"]).is_empty() && app.pages("/approvals?").await.is_empty(),
            "{}",
            story(&log)
        );
    }
);

// Room that was there when it was proposed may be taken by what was approved before.
on_sqlite!(
    approved_proposals_keep_within_the_limit_of_submodules,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub)
            .env("THINKD_LIMITS__SUBMODULES", 1)
            .start()
            .await;
        let owl = propose(&app, &stub, whole("owl", "Doubt it.")).await;
        let cat = propose(&app, &stub, whole("cat", "Purr.")).await;
        approve(&app, &owl).await;
        approve(&app, &cat).await;
        assert_eq!(
            result(&app, &owl).await["payload"]["output"],
            json!({ "created": "owl" })
        );
        let failed = result(&app, &cat).await;
        assert!(
            has(&failed, "failure") && said(&failed).contains("limits.submodules"),
            "{failed}"
        );
        assert_eq!(submodules(&app).await, json!({ "owl": "Doubt it." }));
    }
);

// What stands between the look at a prompt and its change: the append.
#[tokio::test]
async fn a_change_is_stored_only_while_the_prompt_is_what_it_goes_by() {
    for medium in Medium::each().await {
        let store = stored::open(&medium).await;
        let space = Space::default();
        let thread = ThreadId::default();
        let name = Name::parse("owl").unwrap();
        let set = async |prompt: &str, by: Option<&str>| {
            let draft = Draft::changed(&thread, "submodule", "owl", json!({ "prompt": prompt }));
            let is = |prompt: &str| Condition::PromptIs {
                name: name.clone(),
                prompt: prompt.to_owned(),
            };
            let draft = by
                .into_iter()
                .fold(draft, |draft, prompt| draft.only_if(is(prompt)));
            store.append(Append::free(&space, vec![draft])).await
        };
        assert!(
            matches!(set("two", Some("one")).await, Err(StoreError::Unmet(_))),
            "there is none"
        );
        set("one", None).await.unwrap();
        set("two", Some("one")).await.unwrap();
        assert!(matches!(
            set("three", Some("one")).await,
            Err(StoreError::Unmet(Condition::PromptIs { .. }))
        ));
        assert_eq!(store.submodules(&space).await.unwrap()[0].prompt, "two");
        store.close().await;
    }
}
