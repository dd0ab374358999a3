//! The facts of entities: names are one from now on, or are not any more. Both are of modality `state`, so that no model is shown them.

use serde::Deserialize as _;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Kind;
use super::family::{Family, Role};
use crate::event::draft::{Draft, tags};
use crate::event::entity::{Merge, Unmerge};
use crate::event::envelope::{Modality, Source as From, Visibility};
use crate::event::raw::Raw;
use crate::event::spec::{Member, Spec, TEXT};
use crate::words::id::ThreadId;

/// The first tag.
pub const TAG: &str = "entity";

/// What is said of names.
#[derive(Debug, Clone, PartialEq)]
pub enum EntityFact {
    /// They are one.
    Merged(Merge),
    /// A merge does not stand any more.
    Unmerged(Unmerge),
}

const NAMES: Member = ("names", "string[]", "the names, as they were said");
const REASON: Member = ("reason", "string", "why");
const BY: Member = ("by", "string | null", "who did it; null: a rule");

pub(super) const MERGED: Spec = Spec {
    name: "entity-merged",
    about: "Names are one: by an operator, or because a statement that says so has survived. What was said keeps the names that it was said with.",
    tags: &["entity", "merged", "statement:<id>?"],
    members: &[
        TEXT,
        NAMES,
        REASON,
        BY,
        (
            "statement",
            "string | null",
            "the statement that says so; when it falls, the merge is undone",
        ),
    ],
    open: false,
};
pub(super) const UNMERGED: Spec = Spec {
    name: "entity-unmerged",
    about: "A merge does not stand any more: its names are one only where another one says so.",
    tags: &["entity", "unmerged"],
    members: &[
        TEXT,
        ("merge", "string", "the event that made it"),
        NAMES,
        REASON,
        BY,
    ],
    open: false,
};

impl EntityFact {
    pub(super) fn decode(raw: Raw<'_>) -> Option<Self> {
        let of = Value::Object(raw.payload.clone());
        match raw.tags.get(1)?.as_str() {
            "merged" => Merge::deserialize(of).ok().map(Self::Merged),
            "unmerged" => Unmerge::deserialize(of).ok().map(Self::Unmerged),
            _ => None,
        }
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let source = |by: &Option<String>| {
            if by.is_some() {
                From::User
            } else {
                From::Internal
            }
        };
        match self {
            Self::Merged(Merge {
                names,
                reason,
                by,
                statement,
            }) => {
                let text = format!("{} are one: {reason}", names.join(" and "));
                let tagged = statement
                    .as_ref()
                    .map(|id| format!("{}:{id}", super::statement::TAG));
                let from = source(&by);
                let payload = json!({ "text": text, "names": names, "reason": reason, "by": by, "statement": statement });
                Draft::new(
                    thread,
                    from,
                    Modality::State,
                    tags([TAG, "merged"]),
                    payload,
                )
                .tagged(tagged)
            }
            Self::Unmerged(Unmerge {
                merge,
                names,
                reason,
                by,
            }) => {
                let text = format!(
                    "{} are not one by this any more: {reason}",
                    names.join(" and ")
                );
                let from = source(&by);
                let payload = json!({ "text": text, "merge": merge, "names": names, "reason": reason, "by": by });
                Draft::new(
                    thread,
                    from,
                    Modality::State,
                    tags([TAG, "unmerged"]),
                    payload,
                )
            }
        }
    }
}

impl<'a> Family<'a> for EntityFact {
    fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Merged(_) => Kind::EntityMerged,
            Self::Unmerged(_) => Kind::EntityUnmerged,
        })
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Aside
    }

    fn changes_thread(&self) -> bool {
        false
    }

    fn label(&self) -> Option<String> {
        Some("world model".into())
    }
}

impl Draft {
    /// Names are one. The id of the event is that of the merge.
    pub fn merged(thread: &ThreadId, id: Uuid, merge: Merge) -> Self {
        EntityFact::Merged(merge).encode(thread).with_id(id)
    }

    /// A merge does not stand any more.
    pub fn unmerged(thread: &ThreadId, unmerge: Unmerge) -> Self {
        EntityFact::Unmerged(unmerge).encode(thread)
    }
}

/// One of each, for the documents and the tests.
pub(super) fn examples(thread: &ThreadId) -> Vec<Draft> {
    let names = || vec!["Alma Reyes".to_owned(), "Alma Reyes Soto".to_owned()];
    let by = Some("ann".to_owned());
    let statement = Some("0193b6c2-7c2e-7aaa-8000-0123456789ab".to_owned());
    let reason = "Alma Reyes is also called Alma Reyes Soto".to_owned();
    let of_rule = Merge {
        names: names(),
        reason,
        by: None,
        statement,
    };
    let of_operator = Merge {
        names: names(),
        reason: "one person, says the register".into(),
        by: by.clone(),
        statement: None,
    };
    let merge = "0193b6c2-7c2e-7aaa-8000-0123456789ac".to_owned();
    let undone = Unmerge {
        merge,
        names: names(),
        reason: "two people, says the register".into(),
        by,
    };
    [of_rule, of_operator]
        .map(EntityFact::Merged)
        .into_iter()
        .chain([EntityFact::Unmerged(undone)])
        .map(|fact| fact.encode(thread))
        .collect()
}
