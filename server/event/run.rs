//! Events of pipelines: a run begins, its nodes start and end, it ends. All of modality `state`, failures aside: no model
//! is shown them. What a run is made of stands in `pipelines/registry.rs`.

use serde_json::{Value, json};
use uuid::Uuid;

use super::draft::{Draft, tags};
use super::envelope::{Event, Modality, Payload, Source, tag};
use crate::words::failure::{Failure, Who};
use crate::words::id::{Name, ThreadId};

/// Which run of which pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunKey {
    /// The run's id, and that of the event it begins with.
    pub id: Uuid,
    /// The pipeline's name.
    pub pipeline: Name,
}

/// A value in a payload: itself, or the blob that has it as JSON, where it is too large for an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    /// The value.
    Here(Value),
    /// Where it is.
    Blob {
        /// SHA-256 of its JSON text.
        sha256: String,
        /// The length of that.
        bytes: u64,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RunOutcome {
    /// With an output.
    Done(Held),
    /// With a failure.
    Failed(Failure),
    /// Somebody cancelled it.
    Cancelled,
}

impl RunOutcome {
    /// `done`, `failed` or `cancelled`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Held {
    /// The value of a payload's member, or of `<member>_blob`.
    pub fn of(payload: &Payload, member: &str) -> Option<Self> {
        let blob = payload.get(&format!("{member}_blob"));
        let sha256 = blob.and_then(|blob| blob.get("blob")).and_then(Value::as_str).map(str::to_owned);
        let bytes = blob.and_then(|blob| blob.get("bytes")).and_then(Value::as_u64);
        match sha256.zip(bytes) {
            Some((sha256, bytes)) => Some(Self::Blob { sha256, bytes }),
            None => payload.get(member).cloned().map(Self::Here),
        }
    }
}

impl RunKey {
    /// The run's own thread.
    pub fn thread(&self) -> ThreadId {
        ThreadId::of_run(self.id)
    }

    /// Who fails when it fails.
    pub fn who(&self) -> Who {
        Who::Pipeline(self.pipeline.clone())
    }

    /// The run that begins with this event.
    pub fn begun_by(event: &Event) -> Option<Self> {
        let begins = event.has(tag::RUN) && event.has(tag::STARTED);
        let pipeline = event.tag_value("pipeline:").filter(|_| begins)?;
        Some(Self { id: event.event_id, pipeline: Name::parse(pipeline).ok()? })
    }

    /// It begins. The event has the run's id.
    pub fn started(&self, input: Held, user: Option<&str>) -> Draft {
        let draft = self.draft(Source::User, [tag::RUN, tag::STARTED], format!("{} started", self.pipeline));
        let draft = draft.held("input", input).with_id(self.id);
        match user {
            Some(user) => draft.payload("user", user),
            None => draft,
        }
    }

    /// It is taken up again, for the so-manieth time.
    pub fn resumed(&self, time: u64) -> Draft {
        let text = format!("{} goes on where it was ({time})", self.pipeline);
        self.draft(Source::Internal, [tag::RUN, tag::RESUMED], text)
    }

    /// Somebody wants it to end.
    pub fn cancel(&self, user: Option<&str>) -> Draft {
        let draft = self.draft(Source::User, [tag::RUN, tag::CANCEL], format!("{} is to be cancelled", self.pipeline));
        match user {
            Some(user) => draft.payload("user", user),
            None => draft,
        }
    }

    /// It ends; a failure is an event of its own before that.
    pub fn ended(&self, outcome: RunOutcome) -> Vec<Draft> {
        let word = outcome.as_str();
        let text = format!("{} ended: {word}", self.pipeline);
        let ended = self.draft(Source::Internal, [tag::RUN, tag::ENDED], text).tagged([word]).payload("outcome", word);
        match outcome {
            RunOutcome::Done(output) => vec![ended.held("output", output)],
            RunOutcome::Cancelled => vec![ended],
            RunOutcome::Failed(failure) => {
                let said = Draft::failure(&self.thread(), None, &self.who(), &failure);
                let (kind, text) = (failure.kind.to_string(), failure.text);
                let failure =
                    json!({ "kind": kind, "text": text, "retryable": failure.retryable, "detail": failure.detail });
                vec![said.payload("run", self.id.to_string()), ended.payload("failure", failure)]
            }
        }
    }

    /// A node's body begins.
    pub fn node_started(&self, node: &str, place: &str) -> Draft {
        let draft = self.draft(Source::Internal, [tag::NODE, tag::STARTED], format!("{node} started"));
        draft.payload("node", node).payload("place", place)
    }

    /// A node has its value; `arguments` and `version` are what a record is compared by.
    pub fn node_recorded(&self, node: &str, place: &str, arguments: Value, version: u32, value: Held) -> Draft {
        self.node_finished(node, place).payload("arguments", arguments).payload("version", version).held("value", value)
    }

    /// A node that asked not to be recorded has its value.
    pub fn node_passed(&self, node: &str, place: &str) -> Draft {
        self.node_finished(node, place).payload("transient", true)
    }

    fn node_finished(&self, node: &str, place: &str) -> Draft {
        let draft = self.draft(Source::Internal, [tag::NODE, tag::FINISHED], format!("{node} finished"));
        draft.payload("node", node).payload("place", place)
    }

    /// A node came to no value, and the run went on: which call had the place.
    pub fn node_abandoned(&self, node: &str, place: &str, arguments: Value, version: u32) -> Draft {
        let draft = self.draft(Source::Internal, [tag::NODE, tag::ABANDONED], format!("{node} abandoned"));
        let draft = draft.payload("node", node).payload("place", place);
        draft.payload("arguments", arguments).payload("version", version)
    }

    /// A node failed.
    pub fn node_failed(&self, node: &str, place: &str, failure: &Failure) -> Draft {
        let draft = Draft::failure(&self.thread(), None, &self.who(), failure).tagged([tag::NODE, tag::FAILED]);
        draft.payload("run", self.id.to_string()).payload("node", node).payload("place", place)
    }

    fn draft(&self, source: Source, what: [&str; 2], text: String) -> Draft {
        let tags = tags([what[0], what[1], &format!("pipeline:{}", self.pipeline)]);
        let payload = json!({ "text": text, "run": self.id, "pipeline": self.pipeline });
        Draft::new(&self.thread(), source, Modality::State, tags, payload)
    }
}

impl Draft {
    fn held(self, member: &str, held: Held) -> Self {
        match held {
            Held::Here(value) => self.payload(member, value),
            Held::Blob { sha256, bytes } => {
                let blob = json!({ "blob": sha256, "mime": "application/json", "bytes": bytes });
                self.payload(&format!("{member}_blob"), blob)
            }
        }
    }
}
