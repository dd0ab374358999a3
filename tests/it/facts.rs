//! The contents of events: every kind is read as it was written and is in the documents. Kinds and
//! fields that this build does not know stay as they are.

use serde_json::{Value, json};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Event, Visibility};
use thinkd_event::fact::set::{Change, Set};
use thinkd_event::fact::{Fact, Kind, Role, examples};
use thinkd_event::raw::Raw;
use thinkd_words::id::ThreadId;

use kit::facts;

#[test]
fn every_kind_of_fact_has_an_example() {
    let examples = examples();
    for kind in Kind::all() {
        let name = kind.spec().name;
        assert!(
            examples
                .iter()
                .any(|draft| draft.fact().kind() == Some(kind)),
            "{name} has no example"
        );
    }
    assert!(Kind::all().len() > 50, "{}", Kind::all().len());
}

#[test]
fn every_example_is_read_as_it_was_written_and_written_as_it_was_read() {
    for draft in examples() {
        let again = draft.fact().encode(&draft.thread);
        assert_eq!((&again.tags, &again.payload), (&draft.tags, &draft.payload));
        assert_eq!(
            (again.source, again.modality),
            (draft.source, draft.modality),
            "{:?}",
            draft.tags
        );
        assert_eq!(again.fact(), draft.fact());
    }
}

#[test]
fn every_example_is_as_the_documents_say() {
    for draft in examples() {
        let kind = draft
            .fact()
            .kind()
            .unwrap_or_else(|| panic!("{:?} is of no kind", draft.tags));
        assert_eq!(kind.spec().faults(Raw::from(&draft)), Vec::<String>::new());
    }
}

// The store goes by tags, so that it keeps and shows what it does not know.
#[test]
fn who_sees_a_fact_and_whether_it_wakes_are_what_the_store_reads_from_its_tags() {
    for draft in examples() {
        let event = draft.preview();
        assert_eq!(
            draft.fact().visibility(),
            event.visibility(),
            "{:?}",
            draft.tags
        );
        assert_eq!(draft.fact().wakes(), event.wakes(), "{:?}", draft.tags);
    }
}

// A submodule is heard by no other one, and what it does is not the decision's: the two answers of a family go together.
#[test]
fn what_a_submodule_does_is_its_own_and_no_other_submodule_sees_it() {
    for draft in examples() {
        let fact = draft.fact();
        assert_eq!(
            fact.visibility() == Visibility::Submodule,
            fact.submodule().is_some(),
            "{:?}",
            draft.tags
        );
        let is_own = fact.role() == Role::Submodule;
        assert!(!is_own || fact.submodule().is_some(), "{:?}", draft.tags);
        let is_decisions = fact.role() == Role::Decision;
        assert!(
            !is_decisions || fact.visibility() != Visibility::Submodule,
            "{:?}",
            draft.tags
        );
    }
}

#[test]
fn what_a_newer_build_wrote_is_kept_as_it_is_and_is_no_removal() {
    let main = ThreadId::default();
    let changes = [
        Draft::changed(&main, "submodule", "a", json!({ "prompts": [] })),
        Draft::changed(&main, "contact", "a", json!({ "threads": ["b"] })),
        Draft::changed(&main, "timer", "a", json!("soon")),
        Draft::changed(&main, "entry", "a", json!({ "content": 1 })),
        Draft::changed(&main, "tools", "open", Value::Null),
    ];
    for draft in changes {
        let fact = draft.fact();
        assert!(
            matches!(
                fact,
                Fact::Set(Set {
                    change: Change::Unreadable { .. },
                    ..
                })
            ),
            "{fact:?}"
        );
        assert_eq!(fact.kind(), None);
        assert_eq!(fact.clone().encode(&main).payload, draft.payload);
    }
    let wordless = Draft::changed(&main, "hologram", "a", json!({}));
    let thought = Draft::thought(&main, 1, "hm");
    let unheard = [
        wordless,
        Draft {
            tags: vec!["hologram".into()],
            ..thought.clone()
        },
        Draft {
            tags: vec!["decision".into(), "hologram".into()],
            ..thought.clone()
        },
        Draft {
            tags: Vec::new(),
            ..thought
        },
    ];
    for draft in unheard {
        let fact = draft.fact();
        assert!(matches!(fact, Fact::Unknown(_)), "{fact:?}");
        assert_eq!(fact.visibility(), draft.preview().visibility());
        assert_eq!(fact.encode(&main), draft);
    }
}

// The check that every test's events go through, itself: it goes red.
#[test]
fn an_event_that_is_of_no_kind_or_not_as_described_is_found() {
    let event = |draft: &Draft| {
        serde_json::to_value(Event {
            seq: 7,
            ..draft.preview()
        })
        .unwrap()
    };
    for draft in examples() {
        assert_eq!(facts::faults(&event(&draft)), Vec::<String>::new());
    }
    let good = Draft::thought(&ThreadId::default(), 1, "hm");
    for (draft, says) in [
        (
            Draft {
                tags: vec!["hologram".into()],
                ..good.clone()
            },
            "no kind",
        ),
        (
            good.clone().with("colour", "red"),
            "`colour` is not said to be there",
        ),
        (good.clone().with("turn", "one"), "no kind"),
        (good.clone().with("call_id", 7), "`call_id` is no string"),
        (
            Draft {
                tags: vec!["decision".into(), "thought".into(), "late".into()],
                ..good
            },
            "the tags are",
        ),
    ] {
        let faults = facts::faults(&event(&draft));
        assert!(
            faults.iter().any(|fault| fault.contains(says)),
            "{says}: {faults:?}"
        );
    }
}

#[test]
fn the_document_of_a_failure_names_everybody_who_can_fail() {
    let page = include_str!("../../docs/events.md");
    let section = page
        .split("\n## failure\n")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .unwrap();
    for who in [
        "decision",
        "submodule:<name>",
        "tool:<name>",
        "pipeline:<name>",
        "trial",
        "summary",
        "core",
    ] {
        assert!(thinkd_words::failure::By::parse(who).is_some(), "{who}");
        let tags = section
            .lines()
            .find(|line| line.starts_with("Tags "))
            .unwrap();
        let known: Vec<&str> = tags.split('`').flat_map(|part| part.split('|')).collect();
        assert!(known.contains(&who), "{who}: {tags}");
    }
}
