//! The facts of pipeline runs: a run begins and ends, its nodes start and end. All but failures are of modality `state`, so that no model is
//! shown them. `pipelines/registry.rs` says what a run is made of.
//! Long because a family of facts is one file: its types, how each is written and read, what readers ask of it, examples.

use serde::Deserialize as _;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Kind;
use super::failed::Failed;
use super::family::{Family, Role};
use crate::event::draft::{Draft, tags};
use crate::event::envelope::{Modality, Source, Visibility, tag};
use crate::event::outcome::{Counts, Outcome};
use crate::event::raw::Raw;
use crate::event::spec::{Member, ROOT, Spec, TEXT};
use crate::words::failure::{Failure, Who};
use crate::words::id::{Name, Seq, ThreadId};
use crate::words::text::counted;

/// Which run of which pipeline.
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

/// What a run says of itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunFact<'a> {
    /// The run.
    pub run: &'a str,
    /// Its pipeline.
    pub pipeline: &'a str,
    /// What.
    pub what: RunNews<'a>,
}

/// See `RunFact`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunNews<'a> {
    /// It begins.
    Started {
        /// Its input.
        input: Option<Slot<'a>>,
        /// Who started it, when known.
        user: Option<&'a str>,
        /// The event from outside that the turn goes back to which started it.
        root: Option<Seq>,
    },
    /// It is taken up again.
    Resumed {
        /// For the so-manieth time.
        time: u64,
    },
    /// Somebody wants it to end.
    Cancel {
        /// Who, when known.
        user: Option<&'a str>,
    },
    /// Somebody wants it to rest.
    Paused {
        /// Who, when known.
        user: Option<&'a str>,
    },
    /// All of it waits for people.
    Parked,
    /// Somebody wants it to go on.
    Continued {
        /// Who, when known.
        user: Option<&'a str>,
    },
    /// It has ended.
    Ended {
        /// `done`, `failed` or `cancelled`.
        outcome: &'a str,
        /// What came of it.
        output: Option<Slot<'a>>,
        /// Why it failed.
        failure: Option<&'a Value>,
        /// Of a mission: its tasks, counted.
        tasks: Option<Counts>,
    },
}

/// What a node of a run says of itself. That it failed is a failure (`fact/failed.rs`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeFact<'a> {
    /// The run.
    pub run: &'a str,
    /// Its pipeline.
    pub pipeline: &'a str,
    /// The node.
    pub node: &'a str,
    /// Its place in the run.
    pub place: &'a str,
    /// What.
    pub what: NodeNews<'a>,
}

/// See `NodeFact`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeNews<'a> {
    /// Its body begins.
    Started {
        /// The places whose values flow into it; none in logs from before that was known.
        needs: Option<&'a Value>,
        /// How many more there are.
        more: u64,
    },
    /// It has its value.
    Recorded {
        /// What its record is compared by; none in logs from before that.
        call: NodeCall<'a>,
        /// The value.
        value: Option<Slot<'a>>,
    },
    /// It has a value that is not recorded.
    Passed,
    /// It came to no value, and the run went on.
    Abandoned {
        /// Which call had the place.
        call: NodeCall<'a>,
    },
}

/// What the record of a node is compared by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeCall<'a> {
    /// A hash of each argument.
    pub arguments: Option<&'a Value>,
    /// The node's version.
    pub version: Option<u64>,
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
        let sha256 = blob
            .and_then(|blob| blob.get("blob"))
            .and_then(Value::as_str);
        let bytes = blob
            .and_then(|blob| blob.get("bytes"))
            .and_then(Value::as_u64);
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

/// The second tags of what is said of rest.
const PAUSE: &str = "paused";
const PARK: &str = "parked";
const CONTINUE: &str = "continued";

const RUN: Member = ("run", "string", "the run");
const PIPELINE: Member = ("pipeline", "string", "its pipeline");
const NODE_NAME: Member = ("node", "string", "the node");
const PLACE: Member = ("place", "string", "its place in the run");
const USER: Member = ("user?", "string", "who, when known");
const ARGUMENTS: Member = ("arguments?", "unknown", "a hash of each argument");
const VERSION: Member = ("version?", "number", "the node's version");

pub(super) const STARTED: Spec = Spec {
    name: "run-started",
    about: "A run of a pipeline begins, in a thread of its own; the event has the run's id.",
    tags: &["run", "started", "pipeline:<name>"],
    members: &[
        TEXT,
        RUN,
        PIPELINE,
        ("input?", "unknown", "its input"),
        ("input_blob?", "object", "the blob that has a large input"),
        USER,
        ROOT,
    ],
    open: false,
};
pub(super) const RESUMED: Spec = Spec {
    name: "run-resumed",
    about: "A run is taken up again where it was.",
    tags: &["run", "resumed", "pipeline:<name>"],
    members: &[TEXT, RUN, PIPELINE],
    open: false,
};
pub(super) const CANCEL: Spec = Spec {
    name: "run-cancel",
    about: "Somebody wants a run to end.",
    tags: &["run", "cancel", "pipeline:<name>"],
    members: &[TEXT, RUN, PIPELINE, USER],
    open: false,
};
pub(super) const PAUSED: Spec = Spec {
    name: "run-paused",
    about: "Somebody wants a mission to rest: nothing is done for it until somebody wants it to go on.",
    tags: &["run", "paused", "pipeline:<name>"],
    members: &[TEXT, RUN, PIPELINE, USER],
    open: false,
};
pub(super) const PARKED: Spec = Spec {
    name: "run-parked",
    about: "All that a mission could do waits for people: nothing is done for it until they have said something.",
    tags: &["run", "parked", "pipeline:<name>"],
    members: &[TEXT, RUN, PIPELINE],
    open: false,
};
pub(super) const CONTINUED: Spec = Spec {
    name: "run-continued",
    about: "Somebody wants a mission that rests to go on.",
    tags: &["run", "continued", "pipeline:<name>"],
    members: &[TEXT, RUN, PIPELINE, USER],
    open: false,
};
pub(super) const ENDED: Spec = Spec {
    name: "run-ended",
    about: "A run has ended, and its thread with it.",
    tags: &["run", "ended", "pipeline:<name>", "done|failed|cancelled"],
    members: &[
        TEXT,
        RUN,
        PIPELINE,
        ("outcome", "\"done\" | \"failed\" | \"cancelled\"", "how"),
        ("output?", "unknown", "what came of it"),
        ("output_blob?", "object", "the blob that has a large output"),
        (
            "failure?",
            "object",
            "why it failed: kind, text, retryable, detail",
        ),
        (
            "came_to?",
            "\"complete\" | \"partial\" | \"failed\" | \"stopped\"",
            "the outcome, its tasks counted",
        ),
        (
            "tasks?",
            "object",
            "of a mission: how many of its tasks are solved, failed, left",
        ),
    ],
    open: false,
};
pub(super) const NODE_STARTED: Spec = Spec {
    name: "node-started",
    about: "The body of a node begins.",
    tags: &["node", "started", "pipeline:<name>"],
    members: &[
        TEXT,
        RUN,
        PIPELINE,
        NODE_NAME,
        PLACE,
        (
            "needs?",
            "string[]",
            "the places of the nodes whose values flow into it; without it none is known",
        ),
        ("needs_more?", "number", "how many more there are"),
    ],
    open: false,
};
pub(super) const NODE_FINISHED: Spec = Spec {
    name: "node-finished",
    about: "A node has its value: this is the record that a run which is taken up again answers from.",
    tags: &["node", "finished", "pipeline:<name>"],
    members: &[
        TEXT,
        RUN,
        PIPELINE,
        NODE_NAME,
        PLACE,
        ARGUMENTS,
        VERSION,
        ("value?", "unknown", "the value"),
        ("value_blob?", "object", "the blob that has a large value"),
        ("transient?", "boolean", "the value is not recorded"),
    ],
    open: false,
};
pub(super) const NODE_ABANDONED: Spec = Spec {
    name: "node-abandoned",
    about: "A node came to no value, and its run went on.",
    tags: &["node", "abandoned", "pipeline:<name>"],
    members: &[TEXT, RUN, PIPELINE, NODE_NAME, PLACE, ARGUMENTS, VERSION],
    open: false,
};

impl<'a> RunFact<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let what = match raw.tags.get(1)?.as_str() {
            tag::STARTED => RunNews::Started {
                input: Slot::of(raw, "input"),
                user: raw.text("user"),
                root: raw.seq("root"),
            },
            tag::RESUMED => RunNews::Resumed {
                time: time_in(raw.said("text")),
            },
            tag::CANCEL => RunNews::Cancel {
                user: raw.text("user"),
            },
            PAUSE => RunNews::Paused {
                user: raw.text("user"),
            },
            PARK => RunNews::Parked,
            CONTINUE => RunNews::Continued {
                user: raw.text("user"),
            },
            tag::ENDED => RunNews::Ended {
                outcome: raw.said("outcome"),
                output: Slot::of(raw, "output"),
                failure: raw.get("failure"),
                tasks: raw
                    .get("tasks")
                    .and_then(|tasks| Counts::deserialize(tasks).ok()),
            },
            _ => return None,
        };
        Some(Self {
            run: raw.said("run"),
            pipeline: raw.value("pipeline:")?,
            what,
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            run,
            pipeline,
            what,
        } = self;
        let of_run =
            |source, word, text| draft(thread, source, [tag::RUN, word], (run, pipeline), text);
        match what {
            RunNews::Started { input, user, root } => {
                let draft = of_run(Source::User, tag::STARTED, format!("{pipeline} started"));
                let draft = draft.slot("input", input).payload_some("user", user);
                draft.payload_some("root", root)
            }
            RunNews::Resumed { time } => of_run(
                Source::Internal,
                tag::RESUMED,
                format!(
                    "{pipeline} goes on where it was (taken up again {})",
                    counted(time, "time")
                ),
            ),
            RunNews::Cancel { user } => {
                let draft = of_run(
                    Source::User,
                    tag::CANCEL,
                    format!("{pipeline} is to be cancelled"),
                );
                draft.payload_some("user", user)
            }
            RunNews::Paused { user } => {
                of_run(Source::User, PAUSE, format!("{pipeline} is to rest"))
                    .payload_some("user", user)
            }
            RunNews::Parked => of_run(
                Source::Internal,
                PARK,
                format!("{pipeline} waits for people"),
            ),
            RunNews::Continued { user } => {
                of_run(Source::User, CONTINUE, format!("{pipeline} is to go on"))
                    .payload_some("user", user)
            }
            RunNews::Ended {
                outcome,
                output,
                failure,
                tasks,
            } => {
                let draft = of_run(
                    Source::Internal,
                    tag::ENDED,
                    format!("{pipeline} ended: {outcome}"),
                );
                let draft = draft
                    .tagged([outcome])
                    .payload("outcome", outcome)
                    .payload("came_to", Outcome::of(outcome, tasks).as_str())
                    .payload_some("tasks", tasks.map(|tasks| json!(tasks)))
                    .slot("output", output);
                draft.payload_some("failure", failure.cloned())
            }
        }
    }

    /// Which run it is, if its names can be read.
    pub fn key(&self) -> Option<RunKey> {
        Some(RunKey::new(
            Uuid::parse_str(self.run).ok()?,
            Name::parse(self.pipeline).ok()?,
        ))
    }
}

/// How often a run was taken up again stands in its text alone.
fn time_in(text: &str) -> u64 {
    // Logs of before have the number alone between the brackets.
    let said = text.rsplit('(').next().unwrap_or_default();
    let number: String = said.chars().filter(char::is_ascii_digit).collect();
    number.parse().unwrap_or(0)
}

impl<'a> NodeFact<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let call = NodeCall {
            arguments: raw.get("arguments"),
            version: raw.count("version"),
        };
        let what = match raw.tags.get(1)?.as_str() {
            tag::STARTED => NodeNews::Started {
                needs: raw.get("needs"),
                more: raw.count("needs_more").unwrap_or_default(),
            },
            tag::FINISHED if raw.get("transient").is_some() => NodeNews::Passed,
            tag::FINISHED => NodeNews::Recorded {
                call,
                value: Slot::of(raw, "value"),
            },
            tag::ABANDONED => NodeNews::Abandoned { call },
            _ => return None,
        };
        let (run, pipeline) = (raw.said("run"), raw.value("pipeline:")?);
        Some(Self {
            run,
            pipeline,
            node: raw.said("node"),
            place: raw.said("place"),
            what,
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            run,
            pipeline,
            node,
            place,
            what,
        } = self;
        let of_node = |word: &'static str| {
            let draft = draft(
                thread,
                Source::Internal,
                [tag::NODE, word],
                (run, pipeline),
                format!("{node} {word}"),
            );
            draft.payload("node", node).payload("place", place)
        };
        match what {
            NodeNews::Started { needs, more } => {
                let more = (more > 0).then_some(more);
                of_node(tag::STARTED)
                    .payload_some("needs", needs.cloned())
                    .payload_some("needs_more", more)
            }
            NodeNews::Recorded { call, value } => {
                of_node(tag::FINISHED).call(call).slot("value", value)
            }
            NodeNews::Passed => of_node(tag::FINISHED).payload("transient", true),
            NodeNews::Abandoned { call } => of_node(tag::ABANDONED).call(call),
        }
    }
}

fn draft(
    thread: &ThreadId,
    source: Source,
    what: [&str; 2],
    of: (&str, &str),
    text: String,
) -> Draft {
    let (run, pipeline) = of;
    let tags = tags([what[0], what[1], &format!("pipeline:{pipeline}")]);
    let payload = json!({ "text": text, "run": run, "pipeline": pipeline });
    Draft::new(thread, source, Modality::State, tags, payload)
}

impl<'a> Family<'a> for RunFact<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(match self.what {
            RunNews::Started { .. } => Kind::RunStarted,
            RunNews::Resumed { .. } => Kind::RunResumed,
            RunNews::Cancel { .. } => Kind::RunCancel,
            RunNews::Paused { .. } => Kind::RunPaused,
            RunNews::Parked => Kind::RunParked,
            RunNews::Continued { .. } => Kind::RunContinued,
            RunNews::Ended { .. } => Kind::RunEnded,
        })
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Decision
    }

    fn changes_thread(&self) -> bool {
        true
    }

    fn has_root(&self) -> bool {
        matches!(self.what, RunNews::Started { .. })
    }

    fn label(&self) -> Option<String> {
        Some("state".to_owned())
    }
}

impl<'a> Family<'a> for NodeFact<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(match self.what {
            NodeNews::Started { .. } => Kind::NodeStarted,
            NodeNews::Recorded { .. } | NodeNews::Passed => Kind::NodeFinished,
            NodeNews::Abandoned { .. } => Kind::NodeAbandoned,
        })
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Decision
    }

    fn changes_thread(&self) -> bool {
        false
    }

    fn label(&self) -> Option<String> {
        Some("state".to_owned())
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

    /// Who fails when it fails.
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

    /// It begins. The event has the run's id.
    pub fn started(&self, input: &Held, user: Option<&str>) -> Draft {
        self.fact(RunNews::Started {
            input: Some(input.into()),
            user,
            root: None,
        })
        .with_id(self.id)
    }

    /// It is taken up again, for the so-manieth time.
    pub fn resumed(&self, time: u64) -> Draft {
        self.fact(RunNews::Resumed { time })
    }

    /// Somebody wants it to end.
    pub fn cancel(&self, user: Option<&str>) -> Draft {
        self.fact(RunNews::Cancel { user })
    }

    /// Somebody wants it to rest.
    pub fn paused(&self, user: Option<&str>) -> Draft {
        self.fact(RunNews::Paused { user })
    }

    /// All of it waits for people.
    pub fn parked(&self) -> Draft {
        self.fact(RunNews::Parked)
    }

    /// Somebody wants it to go on.
    pub fn continued(&self, user: Option<&str>) -> Draft {
        self.fact(RunNews::Continued { user })
    }

    /// It ends, a mission with these counts of its tasks; a failure is an event of its own before that.
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
                let (who, run) = (self.who(), self.id.to_string());
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

    /// A node has its value; `arguments` and `version` are what a record is compared by.
    pub fn node_recorded(
        &self,
        node: &str,
        place: &str,
        arguments: &Value,
        version: u32,
        value: &Held,
    ) -> Draft {
        let call = NodeCall {
            arguments: Some(arguments),
            version: Some(version.into()),
        };
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
        let call = NodeCall {
            arguments: Some(arguments),
            version: Some(version.into()),
        };
        self.node(node, place, NodeNews::Abandoned { call })
    }

    /// A node failed.
    pub fn node_failed(&self, node: &str, place: &str, failure: &Failure) -> Draft {
        let (who, run) = (self.who(), self.id.to_string());
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

    fn call(self, call: NodeCall<'_>) -> Self {
        self.payload_some("arguments", call.arguments.cloned())
            .payload_some("version", call.version)
    }
}

/// One of each, for the documents and the tests.
pub(super) fn examples(failure: &Failure) -> Vec<Draft> {
    let Ok(pipeline) = Name::parse("summary") else {
        return Vec::new();
    };
    let run = RunKey::new(
        Uuid::from_u128(0x0193_b6c2_7c2e_7aaa_8000_0123_4567_89ab),
        pipeline,
    );
    let (held, arguments) = (Held::Here(json!({ "thread": "main" })), json!(["2c26b46b"]));
    let blob = Held::Blob {
        sha256: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae".into(),
        bytes: 90_000,
    };
    let tasks = Counts {
        solved: 2,
        failed: 1,
        left: 0,
    };
    let mut drafts = vec![
        run.started(&held, Some("ada")),
        run.resumed(2),
        run.cancel(None),
    ];
    drafts.extend([run.paused(Some("ada")), run.continued(None), run.parked()]);
    drafts.extend(run.ended(&RunOutcome::Done(held.clone()), Some(tasks)));
    drafts.extend(run.ended(&RunOutcome::Failed(failure.clone()), None));
    drafts.extend(run.ended(&RunOutcome::Cancelled, None));
    drafts.extend([
        run.node_started("digest", "2", &["1".to_owned()], 0),
        run.node_recorded("digest", "2", &arguments, 1, &held),
        run.node_recorded("read", "1", &arguments, 1, &blob),
        run.node_passed("join", "3"),
        run.node_abandoned("digest", "2", &arguments, 1),
        run.node_failed("digest", "2", failure),
    ]);
    drafts
}
