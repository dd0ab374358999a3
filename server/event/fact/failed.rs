//! The facts of failures: in a thread, at a node of a pipeline, and of a client.

use std::borrow::Cow;

use serde_json::{Value, json};
use thinkd_facts::Fact;

use super::family::{Byline, Declared, Family, Piece, Plain, Role};
use crate::draft::{Draft, tags};
use crate::envelope::{Modality, Source, Visibility, tag};
use crate::raw::Raw;
use crate::spec::{Spec, TURN_MAYBE, spec};
use crate::unshown::LeftOut;
use thinkd_words::failure::{By, Failure, Who};
use thinkd_words::id::ThreadId;

/// A failure's own words, wherever it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem<'a> {
    /// The sort of failure.
    pub kind: &'a str,
    /// The words on the failure: its cause, and the way to mend it.
    pub text: &'a str,
    /// True if the same thing may succeed later.
    pub retryable: bool,
    /// Further facts.
    pub detail: Cow<'a, Value>,
}

/// A failure, in the thread it concerns.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed<'a> {
    /// The one that failed.
    pub who: By<'a>,
    /// The words of the failure.
    pub problem: Problem<'a>,
    /// The turn, if there was one.
    pub turn: Option<u64>,
    /// True if a model's text could not be read.
    pub is_unreadable: bool,
    /// Of a submodule, after the turn's deadline.
    pub is_late: bool,
    /// Of a submodule, when it heard the decision.
    pub is_follow_up: bool,
    /// The run of a pipeline that it ends, or of which a node failed.
    pub run: Option<&'a str>,
    /// The node that failed, and its place.
    pub node: Option<(&'a str, &'a str)>,
}

/// A client's frame was refused, or a client was lost.
#[derive(Debug, Clone, Copy, PartialEq, Fact)]
#[fact(name = "client-failure", tags("debug", "failure", "client"), source = System, modality = Text,
       visibility = Debug, role = Aside)]
pub struct ClientFailed<'a> {
    /// The sentence about it.
    #[fact(or_default)]
    pub text: &'a str,
    /// Timeout, model, tool, interpreter, budget, outcome_unknown, cancelled, node, store, internal or client.
    #[fact(read = "client")]
    pub kind: &'a str,
    /// The same thing may succeed later.
    #[fact(read = false)]
    pub retryable: bool,
    /// Further facts, such as `key`: the setting that limits it; or `left_out`: the stretches
    /// of the thread that a provider refused, by seq, and `kinds`: the kinds of media that
    /// `model` takes none of.
    #[fact(read = raw.get("detail").unwrap_or(&Value::Null))]
    pub detail: &'a Value,
}

impl<'a> From<&'a Failure> for Problem<'a> {
    fn from(failure: &'a Failure) -> Self {
        let Failure {
            kind,
            text,
            retryable,
            detail,
        } = failure;
        Self {
            kind: kind.as_str(),
            text,
            retryable: *retryable,
            detail: Cow::Borrowed(detail),
        }
    }
}

impl<'a> Problem<'a> {
    /// As the result of a tool call has it.
    pub(super) fn of_result(raw: Raw<'a>) -> Self {
        let problem = raw.get("problem");
        let member = |key: &str| problem.and_then(|problem| problem.get(key));
        Self {
            kind: raw.said("kind"),
            text: raw.said("text"),
            retryable: member("retryable")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            detail: member("detail").map_or(Cow::Owned(Value::Null), Cow::Borrowed),
        }
    }

    /// As a member of a payload.
    pub fn to_value(&self) -> Value {
        json!({ "kind": self.kind, "text": self.text, "retryable": self.retryable, "detail": &*self.detail })
    }
}

impl<'a> Failed<'a> {
    /// Returns the failure as one of this module, with nothing else known of it.
    pub(super) fn of(who: By<'a>, failure: &'a Failure) -> Self {
        let problem = failure.into();
        let turn = None;
        let run = None;
        let node = None;
        Self {
            who,
            problem,
            turn,
            is_unreadable: false,
            is_late: false,
            is_follow_up: false,
            run,
            node,
        }
    }

    pub(super) fn specs() -> Vec<Spec> {
        // What all failures say of themselves.
        let of_client = ClientFailed::specs().swap_remove(0).members;
        let said = |spec: Spec| Spec {
            members: of_client.iter().copied().chain(spec.members).collect(),
            ..spec
        };
        vec![
            said(spec!(
                /// Something went wrong in the thread; the turn may go on.
                "failure", [
                    "failure",
                    "<kind>",
                    "decision|submodule:<name>|tool:<name>|pipeline:<name>|trial|summary|core",
                    "unreadable?",
                    "follow-up?",
                    "late?",
                ];
                TURN_MAYBE,
                /// the run of a pipeline that it ends
                "run?" => "string",
            )),
            said(spec!(
                /// A node of a pipeline failed.
                "node-failed", ["failure", "<kind>", "pipeline:<name>", "node", "failed"];
                /// the run
                "run" => "string",
                /// the node
                "node" => "string",
                /// its place in the run
                "place" => "string",
            )),
        ]
    }

    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let who = raw.tags.get(2).and_then(|tag| By::parse(tag))?;
        let node = || Some((raw.text("node")?, raw.text("place")?));
        Some(Self {
            who,
            problem: Problem {
                kind: raw.text("kind")?,
                text: raw.said("text"),
                retryable: raw.is("retryable"),
                detail: raw
                    .get("detail")
                    .map_or(Cow::Owned(Value::Null), Cow::Borrowed),
            },
            turn: raw.turn(),
            is_unreadable: raw.has(tag::UNREADABLE),
            is_late: raw.has(tag::LATE),
            is_follow_up: raw.has(tag::FOLLOW_UP),
            run: raw.text("run"),
            node: node().filter(|_| raw.has(tag::NODE)),
        })
    }

    /// The parts that a provider refused, and prompts leave out from now on.
    pub fn left_out(&self) -> Option<LeftOut> {
        LeftOut::of(&self.problem.detail).filter(|_| self.who == By::Core)
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self { problem, node, .. } = &self;
        let tags = tags([tag::FAILURE, problem.kind, &self.who.to_string()]);
        let payload = problem.to_value();
        let of_node = [tag::NODE, tag::FAILED].into_iter();
        Draft::new(thread, Source::System, Modality::Text, tags, payload)
            .tagged(self.is_unreadable.then_some(tag::UNREADABLE))
            .tagged(self.is_follow_up.then_some(tag::FOLLOW_UP))
            .tagged(self.is_late.then_some(tag::LATE))
            .tagged(of_node.filter(|_| node.is_some()))
            .payload_some("turn", self.turn)
            .payload_some("run", self.run)
            .payload_some("node", node.map(|(node, _)| node))
            .payload_some("place", node.map(|(_, place)| place))
    }
}

impl Declared for Failed<'_> {
    fn plain(&self) -> Plain {
        let kind = self.node.map_or("failure", |_| "node-failed");
        let visibility = match self.who.submodule() {
            Some(_) => Visibility::Submodule,
            None => Visibility::Heard,
        };
        let may_leave_out = self.problem.detail.get("left_out").is_some();
        let leaves_out = may_leave_out && self.left_out().is_some();
        Plain::new(kind, visibility, Role::Turn).changing_thread(leaves_out)
    }
}

impl<'a> Family<'a> for Failed<'a> {
    fn submodule(&self) -> Option<&'a str> {
        self.who.submodule()
    }

    fn is_failure(&self) -> bool {
        true
    }

    fn byline(&self, raw: Raw<'a>) -> Byline<'a> {
        match self.submodule() {
            Some(submodule) => vec![Piece::Word("failure voice "), Piece::Name(submodule.into())],
            None => named_by_tags(raw),
        }
    }

    fn label(&self) -> Option<String> {
        match self.who {
            By::Submodule(name) | By::Tool(name) => Some(name.to_owned()),
            By::Decision => Some("decision".to_owned()),
            By::Pipeline(_) | By::Trial | By::Summary | By::Mission(_) | By::Core => None,
        }
    }
}

impl<'a> Family<'a> for ClientFailed<'a> {
    fn byline(&self, raw: Raw<'a>) -> Byline<'a> {
        named_by_tags(raw)
    }
}

fn named_by_tags(raw: Raw<'_>) -> Byline<'_> {
    let tags = raw.tags.get(1..).unwrap_or_default().join(" ");
    vec![Piece::Word("failure "), Piece::Name(tags.into())]
}

impl Draft {
    /// A failure, in the thread it concerns.
    pub fn failure(thread: &ThreadId, turn: Option<u64>, who: &Who, failure: &Failure) -> Self {
        Failed {
            turn,
            ..Failed::of(who.by(), failure)
        }
        .encode(thread)
    }

    /// A client frame that was refused, or a client that was lost: for readers that look for it.
    pub fn client_failure(thread: &ThreadId, what: &str, detail: Value) -> Self {
        ClientFailed {
            text: what,
            kind: "client",
            retryable: false,
            detail: &detail,
        }
        .encode(thread)
    }
}
