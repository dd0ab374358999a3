//! The facts that a thread receives from inside: a message of a thread, and the feedback of the core.
//! Long because a family of facts is one file: its types, how each is written and read, what readers ask of it, examples.

use serde_json::{Value, json};
use thinkd_facts::Fact;

use super::family::{Byline, Declared, Family, Piece, Plain, Role};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::envelope::{Visibility, tag};
use crate::event::gather::GatherPart;
use crate::event::process::{Element, Ending, ErrorCode, Feedback};
use crate::event::raw::Raw;
use crate::event::spec::Spec;
use crate::words::id::{Name, Seq, ThreadId};
use crate::words::time::Timestamp;

mod specs;

/// A message from one thread to another, or to itself.
///
/// Who it is from is decided by the core alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Fact)]
#[fact(name = "message", tags("message", "from:<thread>" = from), modality = Text,
       visibility = Heard, role = Decision, wakes = true)]
pub struct Message<'a> {
    /// The thread that wrote it.
    pub from: &'a str,
    /// The words.
    #[fact(or_default)]
    pub text: &'a str,
    /// The event from outside that it goes back to.
    pub root: Option<Seq>,
}

/// What the core tells a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Told<'a> {
    /// What.
    pub news: News<'a>,
    /// The turn that it came of, if one did.
    pub turn: Option<u64>,
    /// The tool call that it came of.
    pub call_id: Option<&'a str>,
    /// The event from outside that it goes back to.
    pub root: Option<Seq>,
    /// It wakes nobody.
    pub is_silent: bool,
    /// It ends whatever wait the thread is in, and wakes it.
    pub ends_any_wait: bool,
}

/// How a thread that is gathered with others came to its end or its halt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counted {
    /// Which of which gathering it is.
    pub part: Option<GatherPart>,
    /// The text leaves what it came to for later.
    pub is_brief: bool,
}

/// See `Feedback`, whose variants these are, with what each says.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "the members stand in `told/specs.rs`, each with what it is"
)]
pub enum News<'a> {
    Spawned {
        child: &'a str,
        parent: &'a str,
        contact: Option<&'a str>,
    },
    Ended {
        thread: &'a str,
        status: &'a str,
        reason: &'a str,
        last: &'a str,
        counted: Counted,
        was_archived: bool,
    },
    Stuck {
        thread: &'a str,
        reason: &'a str,
        counted: Counted,
    },
    Archived {
        thread: &'a str,
    },
    Resumed {
        thread: &'a str,
    },
    Cleared {
        kept: Option<u64>,
    },
    TimerSet {
        timer: &'a str,
        due: &'a str,
        note: &'a str,
    },
    Timer {
        timer: &'a str,
        due: &'a str,
        note: &'a str,
    },
    PlanComplete {
        condition: &'a str,
    },
    WatchRaised {
        watch: &'a str,
        kind: &'a str,
        seq: Option<Seq>,
        note: &'a str,
    },
    WatchSet {
        watch: &'a str,
        kind: &'a str,
        from: Option<&'a str>,
        note: &'a str,
    },
    WatchClosed {
        watch: &'a str,
        was_raised: bool,
    },
    Gathered {
        gathering: &'a str,
        report: [&'a Value; 4],
        lines: &'a str,
        results: &'a Value,
    },
    Error {
        given: &'a str,
        code: &'a str,
        message: &'a str,
    },
}

impl News<'_> {
    /// What kind of news it is.
    pub const fn what(&self) -> Feedback {
        match self {
            Self::Spawned { .. } => Feedback::Spawned,
            Self::Ended { .. } => Feedback::Ended,
            Self::Stuck { .. } => Feedback::Stuck,
            Self::Archived { .. } => Feedback::Archived,
            Self::Resumed { .. } => Feedback::Resumed,
            Self::Cleared { .. } => Feedback::Cleared,
            Self::TimerSet { .. } => Feedback::TimerSet,
            Self::Timer { .. } => Feedback::Timer,
            Self::PlanComplete { .. } => Feedback::PlanComplete,
            Self::WatchRaised { .. } => Feedback::WatchRaised,
            Self::WatchSet { .. } => Feedback::WatchSet,
            Self::WatchClosed { .. } => Feedback::WatchClosed,
            Self::Gathered { .. } => Feedback::Gathered,
            Self::Error { .. } => Feedback::Error,
        }
    }

    /// Whether news of this kind wake the thread.
    const fn is_waking(&self) -> bool {
        matches!(
            self,
            Self::Ended { .. } | Self::Stuck { .. } | Self::Timer { .. }
        )
    }
}

impl<'a> Told<'a> {
    /// News outside of any turn.
    pub(super) const fn of(news: News<'a>) -> Self {
        Self {
            news,
            turn: None,
            call_id: None,
            root: None,
            is_silent: false,
            ends_any_wait: false,
        }
    }

    pub(super) fn specs() -> Vec<Spec> {
        specs::specs()
    }

    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let what = Feedback::parse(raw.tags.get(1)?)?;
        Some(Self {
            news: news(raw, what),
            turn: raw.turn(),
            call_id: raw.text("call_id"),
            root: raw.seq("root"),
            is_silent: raw.has(tag::PART),
            ends_any_wait: raw.has(tag::OVERRULES),
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            news,
            turn,
            call_id,
            root,
            is_silent,
            ends_any_wait,
        } = self;
        news.encode(thread, turn)
            .tagged(is_silent.then_some(tag::PART))
            .tagged(ends_any_wait.then_some(tag::OVERRULES))
            .payload_some("call_id", call_id)
            .payload_some("root", root)
    }
}

fn news(raw: Raw<'_>, what: Feedback) -> News<'_> {
    let said = |key: &str| raw.said(key);
    let (id, note) = (said("id"), said("content"));
    let counted = || Counted {
        part: raw.json("gather"),
        is_brief: !said("text").contains(" reason=\""),
    };
    match what {
        Feedback::Spawned => News::Spawned {
            child: said("assigned_id"),
            parent: said("parent_id"),
            contact: raw.text("contact"),
        },
        Feedback::Ended => News::Ended {
            thread: id,
            status: said("status"),
            reason: said("reason"),
            last: note,
            counted: counted(),
            was_archived: raw.get("archived").is_some(),
        },
        Feedback::Stuck => News::Stuck {
            thread: id,
            reason: said("reason"),
            counted: counted(),
        },
        Feedback::Archived => News::Archived { thread: id },
        Feedback::Resumed => News::Resumed { thread: id },
        Feedback::Cleared => News::Cleared {
            kept: raw.count("kept_messages"),
        },
        Feedback::TimerSet => News::TimerSet {
            timer: id,
            due: said("due"),
            note,
        },
        Feedback::Timer => News::Timer {
            timer: raw.text("timer").unwrap_or(id),
            due: said("due"),
            note,
        },
        Feedback::PlanComplete => News::PlanComplete {
            condition: said("condition"),
        },
        Feedback::WatchRaised => News::WatchRaised {
            watch: id,
            kind: said("kind"),
            seq: raw.seq("seq"),
            note,
        },
        Feedback::WatchSet => News::WatchSet {
            watch: id,
            kind: said("kind"),
            from: raw.text("from"),
            note,
        },
        Feedback::WatchClosed => News::WatchClosed {
            watch: id,
            was_raised: raw.is("raised"),
        },
        Feedback::Gathered => {
            let member = |key: &str| raw.get(key).unwrap_or(&Value::Null);
            let report = REPORT.map(member);
            News::Gathered {
                gathering: id,
                report,
                lines: note,
                results: member("results"),
            }
        }
        Feedback::Error => News::Error {
            given: said("unknown_id"),
            code: said("code"),
            message: said("message"),
        },
    }
}

/// What is told of a gathering before its results.
const REPORT: [&str; 4] = ["total", "successful", "missing", "failed_step"];

impl News<'_> {
    fn encode(self, thread: &ThreadId, turn: Option<u64>) -> Draft {
        let what = self.what();
        let tell = |attributes: &[(&str, Value)], text: &str| {
            Draft::feedback(thread, turn, what, attributes, text)
        };
        match self {
            Self::Spawned {
                child,
                parent,
                contact,
            } => tell(
                &[
                    ("assigned_id", child.into()),
                    ("parent_id", parent.into()),
                    ("contact", contact.into()),
                ],
                "",
            ),
            Self::Ended {
                thread: id,
                status,
                reason,
                last,
                counted,
                was_archived,
            } => {
                let attributes = [
                    ("id", id.into()),
                    ("status", status.into()),
                    ("reason", reason.into()),
                ];
                // A thread that ends with its reason and nothing else has said that once.
                let said = if last == reason { "" } else { last };
                let draft = tell(&attributes, said)
                    .payload("from", id)
                    .tagged([format!("from:{id}")]);
                let draft = draft.payload_some("content", (!last.is_empty()).then_some(last));
                let draft = counted.add_to(draft, what, &attributes[..2]);
                draft.payload_some("archived", was_archived.then_some(true))
            }
            Self::Stuck {
                thread: id,
                reason,
                counted,
            } => {
                let attributes = [("id", id.into()), ("reason", reason.into())];
                let draft = tell(&attributes, "")
                    .payload("from", id)
                    .tagged([format!("from:{id}")]);
                counted.add_to(draft, what, &attributes[..1])
            }
            Self::Archived { thread: id } | Self::Resumed { thread: id } => {
                tell(&[("id", id.into())], "")
            }
            Self::Cleared { kept } => tell(&[("kept_messages", kept.into())], ""),
            Self::TimerSet { timer, due, note } => {
                tell(&[("id", timer.into()), ("due", due.into())], note)
            }
            Self::Timer { timer, due, note } => {
                tell(&[("id", timer.into()), ("due", due.into())], note).payload("timer", timer)
            }
            Self::PlanComplete { condition } => tell(&[("condition", condition.into())], ""),
            Self::WatchRaised {
                watch,
                kind,
                seq,
                note,
            } => tell(
                &[
                    ("id", watch.into()),
                    ("kind", kind.into()),
                    ("seq", seq.into()),
                ],
                note,
            ),
            Self::WatchSet {
                watch,
                kind,
                from,
                note,
            } => tell(
                &[
                    ("id", watch.into()),
                    ("kind", kind.into()),
                    ("from", from.into()),
                ],
                note,
            ),
            Self::WatchClosed { watch, was_raised } => {
                tell(&[("id", watch.into()), ("raised", was_raised.into())], "")
            }
            Self::Gathered {
                gathering,
                report,
                lines,
                results,
            } => {
                let mut attributes = vec![("id", gathering.into())];
                attributes.extend(REPORT.into_iter().zip(report.into_iter().cloned()));
                tell(&attributes, lines).payload("results", results.clone())
            }
            Self::Error {
                given,
                code,
                message,
            } => tell(
                &[
                    ("unknown_id", given.into()),
                    ("code", code.into()),
                    ("message", message.into()),
                ],
                "",
            ),
        }
    }
}

impl Counted {
    fn add_to(self, draft: Draft, what: Feedback, attributes: &[(&str, Value)]) -> Draft {
        let draft = match self.is_brief {
            true => draft.payload(
                "text",
                Element {
                    name: what.as_str(),
                    attributes,
                    text: "",
                }
                .to_string(),
            ),
            false => draft,
        };
        draft.payload_some(
            "gather",
            self.part
                .map(|part| serde_json::to_value(part).unwrap_or_default()),
        )
    }
}

impl<'a> Family<'a> for Message<'a> {
    fn by(&self) -> Option<&'a str> {
        Some(self.from)
    }

    fn is_from_others(&self, own: &ThreadId) -> bool {
        self.from != own.as_str()
    }

    fn is_from_itself(&self, own: &ThreadId) -> bool {
        self.from == own.as_str()
    }

    fn has_root(&self) -> bool {
        true
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        vec![Piece::Word("message from "), Piece::Name(self.from.into())]
    }
}

impl Declared for Told<'_> {
    fn plain(&self) -> Plain {
        let kind = match self.news.what() {
            Feedback::Error => "thread-error",
            what => what.as_str(),
        };
        let wakes = !self.is_silent && (self.ends_any_wait || self.news.is_waking());
        Plain::new(kind, Visibility::Heard, Role::Decision)
            .waking(wakes)
            .changing_thread(true)
    }
}

impl<'a> Family<'a> for Told<'a> {
    fn ends_any_wait(&self) -> bool {
        self.ends_any_wait
    }

    fn call_id(&self) -> Option<&'a str> {
        self.call_id
    }

    fn by(&self) -> Option<&'a str> {
        match self.news {
            News::Ended { thread, .. } | News::Stuck { thread, .. } => Some(thread),
            _ => None,
        }
    }

    fn is_from_outside(&self) -> bool {
        matches!(self.news, News::Timer { .. })
    }

    fn is_from_others(&self, _own: &ThreadId) -> bool {
        self.by().is_some()
    }

    fn is_from_itself(&self, _own: &ThreadId) -> bool {
        self.ends_any_wait && !self.is_from_outside()
    }

    fn has_root(&self) -> bool {
        matches!(
            self.news,
            News::Spawned { .. } | News::Ended { .. } | News::Stuck { .. }
        )
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        vec![Piece::Word("system")]
    }
}

impl Draft {
    /// A message from one thread to another (or the same). Who it is from is decided by the core alone.
    pub fn message(to: &ThreadId, from: &ThreadId, text: &str) -> Self {
        Message {
            from: from.as_str(),
            text,
            root: None,
        }
        .encode(to)
    }

    /// The core tells a thread, in its turn, what came of what it did.
    pub fn news(thread: &ThreadId, turn: u64, news: News<'_>) -> Self {
        Told {
            turn: Some(turn),
            ..Told::of(news)
        }
        .encode(thread)
    }

    /// A primitive failed: with what the caller wrote, a code, and what to do.
    pub fn thread_error(
        thread: &ThreadId,
        turn: Option<u64>,
        given: &str,
        code: ErrorCode,
        message: &str,
    ) -> Self {
        let news = News::Error {
            given,
            code: code.as_str(),
            message,
        };
        Told {
            turn,
            ..Told::of(news)
        }
        .encode(thread)
    }

    /// A subthread was created; told in its parent.
    pub fn spawned(
        parent: &ThreadId,
        turn: Option<u64>,
        child: &ThreadId,
        contact: Option<&Name>,
    ) -> Self {
        let contact = contact.map(Name::as_str);
        let news = News::Spawned {
            child: child.as_str(),
            parent: parent.as_str(),
            contact,
        };
        // It would live on below one that nobody ends any more.
        Told {
            turn,
            ..Told::of(news)
        }
        .encode(parent)
        .only_if(Condition::NotEnded)
    }

    /// A thread has ended; told to one who knew it. Wakes.
    pub fn ended(to: &ThreadId, ending: &Ending<'_>) -> Self {
        let Ending {
            thread,
            status,
            reason,
            last,
        } = *ending;
        let counted = Counted::default();
        let news = News::Ended {
            thread: thread.as_str(),
            status,
            reason,
            last,
            counted,
            was_archived: false,
        };
        Told::of(news).encode(to)
    }

    /// A thread cannot go on; told to one who depends on it. Wakes.
    pub fn stuck(to: &ThreadId, thread: &ThreadId, reason: &str) -> Self {
        let news = News::Stuck {
            thread: thread.as_str(),
            reason,
            counted: Counted::default(),
        };
        Told::of(news).encode(to)
    }

    /// A subthread that had nothing to do was put aside: told in its parent.
    pub(super) fn told_archived(parent: &ThreadId, turn: u64, thread: &ThreadId) -> Self {
        Self::news(
            parent,
            turn,
            News::Archived {
                thread: thread.as_str(),
            },
        )
    }

    /// A subthread that was put aside is at work again: told in its parent.
    pub(super) fn told_resumed(parent: &ThreadId, thread: &ThreadId) -> Self {
        Told::of(News::Resumed {
            thread: thread.as_str(),
        })
        .encode(parent)
    }

    /// A timer is due. Wakes. It ends the timer, so that of several servers one fires it.
    pub fn timer(thread: &ThreadId, timer: &str, note: &str, due: Timestamp) -> Self {
        let draft = Told::of(News::Timer {
            timer,
            due: &due.to_string(),
            note,
        })
        .encode(thread);
        draft.only_if(Condition::TimerStands {
            name: timer.to_owned(),
            due,
        })
    }

    /// The same, as one of several that its parent gathers.
    #[must_use]
    pub fn counted(self, part: &GatherPart) -> Self {
        self.payload("gather", serde_json::to_value(part).unwrap_or_default())
    }

    /// The same, of a thread that had been put aside before it ended.
    #[must_use]
    pub fn after_archiving(self) -> Self {
        self.payload("archived", true)
    }

    /// The same, whose text leaves what the thread came to for later: it is told with what the others did.
    #[must_use]
    pub fn brief(self) -> Self {
        let Some(told) = Told::decode(Raw::from(&self)) else {
            return self;
        };
        let what = told.news.what();
        let attributes: Vec<(&str, Value)> = match told.news {
            News::Ended { thread, status, .. } => {
                vec![("id", thread.into()), ("status", status.into())]
            }
            News::Stuck { thread, .. } => vec![("id", thread.into())],
            _ => return self,
        };
        let text = Element {
            name: what.as_str(),
            attributes: &attributes,
            text: "",
        }
        .to_string();
        self.payload("text", text)
    }

    /// The same, waking nobody.
    #[must_use]
    pub fn silent(self) -> Self {
        self.tagged([tag::PART])
    }

    /// The same, ending whatever wait the thread is in.
    #[must_use]
    pub fn overruling(self) -> Self {
        self.tagged([tag::OVERRULES])
    }
}

/// One of each, for the documents and the tests.
pub(super) fn examples(thread: &ThreadId, name: &Name, child: &ThreadId) -> Vec<Draft> {
    let (id, due) = (
        child.as_str(),
        Timestamp::from_micros(1_763_698_300_000_000),
    );
    let end = Ending {
        thread: child,
        status: "done",
        reason: "answered",
        last: "It costs 12.",
    };
    let part = GatherPart::of("g7-c7.0.0".into(), 1, true, "It costs 12.");
    let (one, none) = (Value::from(1), Value::Null);
    let results = json!([{ "index": 0, "ok": true, "text": "It costs 12." }]);
    let due_text = due.to_string();
    let told = |news, call_id| {
        Told {
            turn: Some(7),
            call_id,
            ..Told::of(news)
        }
        .encode(thread)
    };
    let (own, of_core) = (|news| told(news, Some("c7.0.0")), |news| told(news, None));
    let watch = "w7-c7.0.0";
    let ended = Draft::ended(thread, &end);
    vec![
        Draft::message(thread, child, "I have it."),
        Draft::spawned(thread, Some(7), child, Some(name)).of_call("c7.0.0"),
        ended.clone(),
        ended.counted(&part).brief().silent().after_archiving(),
        Draft::ended(thread, &Ending { last: "", ..end }),
        Draft::stuck(thread, child, "its last turn failed").overruling(),
        Draft::stuck(thread, child, "its last turn failed")
            .counted(&part)
            .brief()
            .silent(),
        of_core(News::Archived { thread: id }),
        Draft::told_resumed(thread, child),
        own(News::Cleared { kept: Some(12) }),
        own(News::TimerSet {
            timer: "t7-c7.0.0",
            due: &due_text,
            note: "ask again",
        }),
        Draft::timer(thread, "t7-c7.0.0", "ask again", due),
        Draft::timer(thread, "wait!", "nothing came from bob in time", due).overruling(),
        of_core(News::PlanComplete {
            condition: "the price is known",
        }),
        of_core(News::WatchRaised {
            watch,
            kind: "type:message",
            seq: Some(41),
            note: "answer at once",
        }),
        own(News::WatchSet {
            watch,
            kind: "type:message",
            from: None,
            note: "answer at once",
        }),
        own(News::WatchClosed {
            watch,
            was_raised: true,
        }),
        of_core(News::Gathered {
            gathering: "g7-c7.0.0",
            report: [&one, &one, &Value::from(0), &none],
            lines: "0: It costs 12.",
            results: &results,
        }),
        Draft::thread_error(
            thread,
            Some(7),
            "bob",
            ErrorCode::UnknownThread,
            "there is no contact bob",
        )
        .overruling(),
    ]
}
