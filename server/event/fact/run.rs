//! The facts of pipeline runs: a run begins and ends, its nodes start and end. All but failures are
//! of modality `state`, so that no model is shown them. `pipelines/host.rs` has the means of a run,
//! `pipelines/ledger.rs` its events.
//! Long because a family of facts is one file: its types, how each is written and read, and the
//! answers to readers.

use serde_json::{Value, json};
use thinkd_facts::{Fact, Members};
use uuid::Uuid;

use super::failed::Failed;
use super::family::Family;
use crate::draft::Draft;
use crate::outcome::{Counts, Outcome};
use crate::raw::Raw;
use thinkd_words::failure::{Failure, Who};
use thinkd_words::id::{Name, Seq, ThreadId};
use thinkd_words::text::counted;

/// A run of a pipeline: the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunKey {
    /// The run's id, and that of the event it begins with.
    pub id: Uuid,
    /// The pipeline's name.
    pub pipeline: Name,
    /// The thread that has its events.
    pub thread: ThreadId,
}

/// A value in a payload: itself, or the blob that has it as JSON, where it is too large for an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    /// The value.
    Here(Value),
    /// The blob that has it.
    Blob {
        /// SHA-256 of its JSON text.
        sha256: String,
        /// The length of that.
        bytes: u64,
    },
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunOutcome {
    /// With an output.
    Done(Held),
    /// With a failure.
    Failed(Failure),
    /// A cancel ended it.
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

/// A run says this of itself.
#[derive(Debug, Clone, Copy, PartialEq, Fact)]
#[fact(tags("run", "<kind>", "pipeline:<name>" = pipeline), text_of = pipeline,
       visibility = State, role = Decision, changes_thread = true, label = "state")]
pub struct RunFact<'a> {
    /// The run.
    #[fact(or_default)]
    pub run: &'a str,
    /// Its pipeline.
    #[fact(from_tag = "pipeline:")]
    pub pipeline: &'a str,
    /// The news of it.
    #[fact(kinds)]
    pub what: RunNews<'a>,
}

/// See `RunFact`.
#[derive(Debug, Clone, Copy, PartialEq, Fact)]
pub enum RunNews<'a> {
    /// A run of a pipeline begins, in a thread of its own; the event has the run's id.
    #[fact(name = "run-started", tags("started"), source = User, text = format!("{of} started"))]
    Started {
        /// Its input.
        #[fact(kind = "unknown", read = Slot::of(raw, "input"), put = draft.slot("input", input),
               also = ("input_blob?", "object", "the blob that has a large input"))]
        input: Option<Slot<'a>>,
        /// The user, when known.
        user: Option<&'a str>,
        /// The event from outside that it goes back to.
        root: Option<Seq>,
    },
    /// A run is taken up again where it was.
    #[fact(name = "run-resumed", tags("resumed"),
           text = format!("{of} goes on where it was (taken up again {})", counted(*time, "time")))]
    Resumed {
        /// For the so-manieth time.
        #[fact(tag = "", read = time_in(raw.said("text")))]
        time: u64,
    },
    /// A user wants a run to end.
    #[fact(name = "run-cancel", tags("cancel"), source = User, text = format!("{of} is to be cancelled"))]
    Cancel {
        /// The user, when known.
        user: Option<&'a str>,
    },
    /// A user wants a mission to rest: nothing is done for it until a user wants it to go on.
    #[fact(name = "run-paused", tags("paused"), source = User, text = format!("{of} is to rest"))]
    Paused {
        /// The user, when known.
        user: Option<&'a str>,
    },
    /// All that a mission could do waits for people: nothing is done for it until they have said something.
    #[fact(name = "run-parked", tags("parked"), text = format!("{of} waits for people"))]
    Parked,
    /// A user wants a mission that rests to go on.
    #[fact(name = "run-continued", tags("continued"), source = User, text = format!("{of} is to go on"))]
    Continued {
        /// The user, when known.
        user: Option<&'a str>,
    },
    /// A run has ended, and its thread with it.
    #[fact(name = "run-ended", tags("ended", "done|failed|cancelled" = outcome),
           text = format!("{of} ended: {outcome}"))]
    Ended {
        /// The outcome.
        #[fact(or_default, kind = "\"done\" | \"failed\" | \"cancelled\"")]
        outcome: &'a str,
        /// The output.
        #[fact(kind = "unknown", read = Slot::of(raw, "output"), put = draft.slot("output", output),
               also = ("output_blob?", "object", "the blob that has a large output"))]
        output: Option<Slot<'a>>,
        /// Why it failed: kind, text, retryable, detail.
        #[fact(kind = "object",
               also = ("came_to?", "\"complete\" | \"partial\" | \"failed\" | \"stopped\"", "the outcome, its tasks counted"))]
        failure: Option<&'a Value>,
        /// Of a mission: how many of its tasks are solved, failed, left.
        #[fact(json, put = draft.came_to(outcome, tasks))]
        tasks: Option<Counts>,
    },
}

/// A node of a run says this of itself. That it failed is a failure (`fact/failed.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Fact)]
#[fact(tags("node", "<kind>", "pipeline:<name>" = pipeline), plain,
       visibility = State, role = Decision, label = "state", text_of = node)]
pub struct NodeFact<'a> {
    /// The run.
    #[fact(or_default)]
    pub run: &'a str,
    /// Its pipeline.
    #[fact(from_tag = "pipeline:")]
    pub pipeline: &'a str,
    /// The node.
    #[fact(or_default)]
    pub node: &'a str,
    /// Its place in the run.
    #[fact(or_default)]
    pub place: &'a str,
    /// The news of it.
    #[fact(kinds)]
    pub what: NodeNews<'a>,
}

/// See `NodeFact`.
#[derive(Debug, Clone, Copy, PartialEq, Fact)]
pub enum NodeNews<'a> {
    /// The body of a node begins.
    #[fact(name = "node-started", tags("started"), text = format!("{of} started"))]
    Started {
        /// The places of the nodes with values that flow into it; without it none is known.
        #[fact(kind = "string[]")]
        needs: Option<&'a Value>,
        /// The number of further such nodes.
        #[fact(name = "needs_more", optional)]
        more: u64,
    },
    /// A node has a value that is not recorded.
    #[fact(name = "node-finished", tags("finished"), text = format!("{of} finished"), hidden,
           when = raw.get("transient").is_some(), put = draft.payload("transient", true))]
    Passed,
    /// A node has its value: this is the record that a run which is taken up again answers from.
    #[fact(name = "node-finished", tags("finished"), text = format!("{of} finished"),
           tail = [("transient?", "boolean", "the value is not recorded")])]
    Recorded {
        /// The call, which the record is compared by; none in logs from before that.
        #[fact(flat)]
        call: NodeCall<'a>,
        /// The value.
        #[fact(kind = "unknown", read = Slot::of(raw, "value"), put = draft.slot("value", value),
               also = ("value_blob?", "object", "the blob that has a large value"))]
        value: Option<Slot<'a>>,
    },
    /// A node came to no value, and its run went on.
    #[fact(name = "node-abandoned", tags("abandoned"), text = format!("{of} abandoned"))]
    Abandoned {
        /// The call that had the place.
        #[fact(flat)]
        call: NodeCall<'a>,
    },
}

/// The call that the record of a node is compared by.
#[derive(Debug, Clone, Copy, PartialEq, Members)]
pub struct NodeCall<'a> {
    /// A hash of each argument.
    pub arguments: Option<&'a Value>,
    /// The node's version.
    pub version: Option<u64>,
}

impl<'a> NodeCall<'a> {
    fn of(arguments: &'a Value, version: u32) -> Self {
        Self {
            arguments: Some(arguments),
            version: Some(version.into()),
        }
    }
}

/// A value in a payload, borrowed: see `Held`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Slot<'a> {
    /// The value.
    Here(&'a Value),
    /// The blob that has it.
    Blob {
        /// SHA-256 of its JSON text.
        sha256: &'a str,
        /// The length of that.
        bytes: u64,
    },
}

impl<'a> Slot<'a> {
    fn of(raw: Raw<'a>, member: &str) -> Option<Self> {
        let blob = raw.get(&format!("{member}_blob"));
        let of = |key: &str| blob.and_then(|blob| blob.get(key));
        let sha256 = of("blob").and_then(Value::as_str);
        let bytes = of("bytes").and_then(Value::as_u64);
        match sha256.zip(bytes) {
            Some((sha256, bytes)) => Some(Self::Blob { sha256, bytes }),
            None => raw.get(member).map(Self::Here),
        }
    }

    /// The same, for keeping.
    pub fn to_held(self) -> Held {
        match self {
            Self::Here(value) => Held::Here(value.clone()),
            Self::Blob { sha256, bytes } => Held::Blob {
                sha256: sha256.to_owned(),
                bytes,
            },
        }
    }
}

impl<'a> From<&'a Held> for Slot<'a> {
    fn from(held: &'a Held) -> Self {
        match held {
            Held::Here(value) => Self::Here(value),
            Held::Blob { sha256, bytes } => Self::Blob {
                sha256,
                bytes: *bytes,
            },
        }
    }
}

impl RunFact<'_> {
    /// Returns the key of the run, if its names can be read.
    pub fn key(&self) -> Option<RunKey> {
        Some(RunKey::new(
            Uuid::parse_str(self.run).ok()?,
            Name::parse(self.pipeline).ok()?,
        ))
    }
}

/// Returns how often a run was taken up again, which stands in its text alone.
fn time_in(text: &str) -> u64 {
    // Logs of before have the number alone between the brackets.
    let said = text.rsplit('(').next().unwrap_or_default();
    let number: String = said.chars().filter(char::is_ascii_digit).collect();
    number.parse().unwrap_or(0)
}

impl<'a> Family<'a> for RunFact<'a> {
    fn has_root(&self) -> bool {
        matches!(self.what, RunNews::Started { .. })
    }
}

impl RunKey {
    /// A run of a registered pipeline, which has a thread of its own.
    pub fn new(id: Uuid, pipeline: Name) -> Self {
        Self {
            id,
            pipeline,
            thread: ThreadId::of_run(id),
        }
    }

    /// The run that a mission is: its steps are told of as those of a pipeline of this name.
    pub fn of_mission(id: Uuid) -> Self {
        Self {
            id,
            pipeline: Name::of_mission(),
            thread: ThreadId::of_mission(id),
        }
    }

    /// The run's own thread.
    pub fn thread(&self) -> ThreadId {
        self.thread.clone()
    }

    /// Returns the one that fails when the run fails.
    pub fn who(&self) -> Who {
        Who::Pipeline(self.pipeline.clone())
    }

    fn fact(&self, what: RunNews<'_>) -> Draft {
        let run = self.id.to_string();
        RunFact {
            run: &run,
            pipeline: self.pipeline.as_str(),
            what,
        }
        .encode(&self.thread())
    }

    fn node(&self, node: &str, place: &str, what: NodeNews<'_>) -> Draft {
        let run = self.id.to_string();
        NodeFact {
            run: &run,
            pipeline: self.pipeline.as_str(),
            node,
            place,
            what,
        }
        .encode(&self.thread())
    }

    /// The run begins. The event has the run's id.
    pub fn started(&self, input: &Held, user: Option<&str>) -> Draft {
        self.fact(RunNews::Started {
            input: Some(input.into()),
            user,
            root: None,
        })
        .with_id(self.id)
    }

    /// The run is taken up again, for the so-manieth time.
    pub fn resumed(&self, time: u64) -> Draft {
        self.fact(RunNews::Resumed { time })
    }

    /// The run is to end.
    pub fn cancel(&self, user: Option<&str>) -> Draft {
        self.fact(RunNews::Cancel { user })
    }

    /// The run is to rest.
    pub fn paused(&self, user: Option<&str>) -> Draft {
        self.fact(RunNews::Paused { user })
    }

    /// All of it waits for people.
    pub fn parked(&self) -> Draft {
        self.fact(RunNews::Parked)
    }

    /// The run is to go on.
    pub fn continued(&self, user: Option<&str>) -> Draft {
        self.fact(RunNews::Continued { user })
    }

    /// The run ends, a mission with these counts of its tasks; a failure is an event of its own
    /// before that.
    pub fn ended(&self, outcome: &RunOutcome, tasks: Option<Counts>) -> Vec<Draft> {
        let word = outcome.as_str();
        let ended = |output, failure| {
            self.fact(RunNews::Ended {
                outcome: word,
                output,
                failure,
                tasks,
            })
        };
        match outcome {
            RunOutcome::Done(output) => vec![ended(Some(output.into()), None)],
            RunOutcome::Cancelled => vec![ended(None, None)],
            RunOutcome::Failed(failure) => {
                let who = self.who();
                let run = self.id.to_string();
                let failed = Failed {
                    run: Some(&run),
                    ..Failed::of(who.by(), failure)
                };
                let value = failed.problem.to_value();
                vec![failed.encode(&self.thread()), ended(None, Some(&value))]
            }
        }
    }

    /// A node's body begins; the values of the places `needs`, and of so many `more`, flow into it.
    pub fn node_started(&self, node: &str, place: &str, needs: &[String], more: u64) -> Draft {
        let needs = (!needs.is_empty()).then(|| json!(needs));
        self.node(
            node,
            place,
            NodeNews::Started {
                needs: needs.as_ref(),
                more,
            },
        )
    }

    /// A node has its value; `arguments` and `version` are the members by which a record is
    /// compared.
    pub fn node_recorded(
        &self,
        node: &str,
        place: &str,
        arguments: &Value,
        version: u32,
        value: &Held,
    ) -> Draft {
        let call = NodeCall::of(arguments, version);
        self.node(
            node,
            place,
            NodeNews::Recorded {
                call,
                value: Some(value.into()),
            },
        )
    }

    /// A node that asked not to be recorded has its value.
    pub fn node_passed(&self, node: &str, place: &str) -> Draft {
        self.node(node, place, NodeNews::Passed)
    }

    /// A node came to no value, and the run went on: which call had the place.
    pub fn node_abandoned(
        &self,
        node: &str,
        place: &str,
        arguments: &Value,
        version: u32,
    ) -> Draft {
        let call = NodeCall::of(arguments, version);
        self.node(node, place, NodeNews::Abandoned { call })
    }

    /// A node failed.
    pub fn node_failed(&self, node: &str, place: &str, failure: &Failure) -> Draft {
        let who = self.who();
        let run = self.id.to_string();
        Failed {
            run: Some(&run),
            node: Some((node, place)),
            ..Failed::of(who.by(), failure)
        }
        .encode(&self.thread())
    }
}

impl Draft {
    fn slot(self, member: &str, slot: Option<Slot<'_>>) -> Self {
        match slot {
            None => self,
            Some(Slot::Here(value)) => self.payload(member, value.clone()),
            Some(Slot::Blob { sha256, bytes }) => {
                let blob = json!({ "blob": sha256, "mime": "application/json", "bytes": bytes });
                self.payload(&format!("{member}_blob"), blob)
            }
        }
    }

    fn came_to(self, outcome: &str, tasks: Option<Counts>) -> Self {
        self.payload("came_to", Outcome::of(outcome, tasks).as_str())
            .payload_some("tasks", tasks.map(|tasks| json!(tasks)))
    }
}
