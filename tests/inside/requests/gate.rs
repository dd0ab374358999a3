//! The gate itself, called as a turn calls it: the binding of a grant, and the calls that are never
//! put before a person.

use thinkd::tools::approval::{EXPIRY_MAX, Grant, after};

use super::*;

impl Bench {
    fn site(&self, call_id: &str, grant: Option<Grant>) -> CallSite {
        CallSite {
            space: Space::default(),
            thread: thread("a"),
            turn: 2,
            by: Who::Decision,
            call_id: call_id.to_owned(),
            now: now(),
            so_far: SoFar::default(),
            grant,
        }
    }

    async fn calls(
        &self,
        tool: &str,
        arguments: Value,
        site: &CallSite,
    ) -> Result<Output, Failure> {
        self.tools
            .conversation
            .now(&Space::default())
            .get(tool)
            .unwrap()
            .call(arguments, site)
            .await
    }

    fn grant_of(&self, tool: &str, arguments: &Value) -> Grant {
        Grant {
            approval: id::fresh().to_string(),
            call_id: "c1.0.0".to_owned(),
            tool: tool.to_owned(),
            arguments_sha256: hash_of(arguments),
            tool_version: version_of(
                self.tools
                    .conversation
                    .now(&Space::default())
                    .get(tool)
                    .unwrap()
                    .spec(),
            ),
        }
    }
}

fn reason(called: &Result<Output, Failure>) -> &str {
    let failure = called.as_ref().expect_err("it ran");
    failure.detail["reason"].as_str().unwrap_or_default()
}

/// Returns true if a call was parked: its only event says so.
fn is_parked(called: &Result<Output, Failure>) -> bool {
    let drafts = &called.as_ref().unwrap().drafts;
    matches!(&drafts[..], [only] if matches!(only.fact(), Fact::ApprovalPending(_)))
}

#[tokio::test]
async fn a_grant_is_for_one_call_with_these_arguments_of_this_tool() {
    let medium = Medium::sqlite();
    let bench = Bench::on(&medium).await;
    let grant = bench.grant_of(TOOL, &arguments());
    let arguments = arguments();
    let other = json!({ "key": "k", "content": "another", "related_keys": [] });
    let wrong = [
        ("not_granted", other, "c1.0.0", grant.clone()),
        ("not_granted", arguments.clone(), "c1.0.1", grant.clone()),
        (
            "not_granted",
            arguments.clone(),
            "c1.0.0",
            Grant {
                tool: "state_delete".to_owned(),
                ..grant.clone()
            },
        ),
        (
            "tool_changed",
            arguments.clone(),
            "c1.0.0",
            Grant {
                tool_version: "0".repeat(64),
                ..grant.clone()
            },
        ),
    ];
    for (why, arguments, call_id, grant) in wrong {
        let called = bench
            .calls(
                TOOL,
                arguments.clone(),
                &bench.site(call_id, Some(grant.clone())),
            )
            .await;
        assert_eq!(reason(&called), why, "{arguments} {call_id} {grant:?}");
    }
    // The control: with nothing changed it runs, whatever the order of the members.
    let turned = json!({ "related_keys": [], "content": "c", "key": "k" });
    let called = bench
        .calls(TOOL, turned, &bench.site("c1.0.0", Some(grant)))
        .await;
    assert!(!is_parked(&called) && called.unwrap().value.is_some());
    assert!(
        is_parked(
            &bench
                .calls(TOOL, arguments, &bench.site("c1.0.0", None))
                .await
        ),
        "without a grant it waits"
    );
    bench.store.close().await;
}

#[tokio::test]
async fn what_a_person_is_shown_is_what_is_hashed_and_stored() {
    let medium = Medium::sqlite();
    let bench = Bench::on(&medium).await;
    let hostile = json!({ "key": "k", "content": "c\u{0}d", "related_keys": [] });
    let called = bench
        .calls(TOOL, hostile, &bench.site("c1.0.0", None))
        .await
        .unwrap();
    let Fact::ApprovalPending(pending) = called.drafts[0].fact() else {
        panic!("{called:?}")
    };
    assert!(
        !pending.arguments.to_string().contains("\\u0000"),
        "{}",
        pending.arguments
    );
    assert_eq!(pending.arguments_sha256, hash_of(pending.arguments));
    bench.store.close().await;
}

// A time beyond all calendars is none that a timer could have.
#[test]
fn nothing_waits_for_more_than_a_year() {
    let begin = Timestamp::from_micros(0);
    assert_eq!(after(begin, Duration::MAX), after(begin, EXPIRY_MAX));
    assert_eq!(after(begin, EXPIRY_MAX).micros(), 365 * 24 * 3_600_000_000);
}

#[tokio::test]
async fn nobody_but_the_decision_proposes() {
    let medium = Medium::sqlite();
    let bench = Bench::on(&medium).await;
    let site = CallSite {
        by: Who::Submodule(id::Name::parse("owl").unwrap()),
        ..bench.site("c1.0.0", None)
    };
    assert_eq!(
        reason(&bench.calls(TOOL, arguments(), &site).await),
        "needs_approval"
    );
    bench.store.close().await;
}

// Where it cannot be looked up how much is open, or whether anybody is there, no person is asked.
#[tokio::test]
async fn what_cannot_be_looked_up_is_not_asked() {
    let ask = json!({ "question": "Which?", "choices": null, "schema": null, "who": null, "expires_s": null });
    for (table, tool, arguments) in [
        ("requests", TOOL, arguments()),
        ("settings", "ask_user", ask),
    ] {
        for is_there in [true, false] {
            let medium = Medium::sqlite();
            let bench = Bench::on(&medium).await;
            if !is_there {
                stored::execute(medium.url(), &format!("drop table {table}")).await;
            }
            let called = bench
                .calls(tool, arguments.clone(), &bench.site("c1.0.0", None))
                .await;
            assert_eq!(called.is_ok(), is_there, "{tool} with {table}: {called:?}");
            bench.store.close().await;
        }
    }
}

// Between the look at a prompt and its change lies the append, which has to look once more.
#[tokio::test]
async fn a_change_of_submodules_is_appended_only_to_what_it_goes_by() {
    let medium = Medium::sqlite();
    let bench = Bench::on(&medium).await;
    let owl = id::Name::parse("owl").unwrap();
    let whole = json!({ "name": "owl", "prompt": "Doubt it.", "diff": null });
    let conditions = async |tool: &str, arguments: &Value| {
        let site = bench.site("c1.0.0", Some(bench.grant_of(tool, arguments)));
        let called = bench.calls(tool, arguments.clone(), &site).await.unwrap();
        assert_eq!(called.drafts.len(), 1, "{called:?}");
        called.drafts[0].conditions.clone()
    };
    let most = bench.ground.options.tool_limits.submodules as usize;
    let new = Condition::NewSubmodule {
        name: owl.clone(),
        most,
    };
    assert_eq!(conditions("propose_submodule", &whole).await, [new]);
    let prompt = "Believe it.".to_owned();
    bench
        .append(vec![Draft::changed(
            &ThreadId::default(),
            "submodule",
            "owl",
            json!({ "prompt": prompt }),
        )])
        .await;
    let is = Condition::PromptIs {
        name: owl.clone(),
        prompt,
    };
    let stays = Condition::FollowUpIs {
        name: owl,
        follow_up: true,
    };
    let changed = conditions("propose_submodule", &whole).await;
    assert_eq!(changed, [is.clone(), stays]);
    assert_eq!(
        conditions("propose_submodule_removal", &json!({ "name": "owl" })).await,
        [is]
    );
    bench.store.close().await;
}
