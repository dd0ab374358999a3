//! The facts that a thread receives from inside: a message of a thread, and the feedback of the
//! core.
//! Long because a family of facts is one file: its types, how each is written and read, and the
//! answers to readers.

use serde_json::{Value, json};
use thinkd_facts::Fact;

use super::family::{Byline, Declared, Family, Piece, Plain, Role};
use crate::condition::Condition;
use crate::draft::Draft;
use crate::envelope::{Modality, Source, Visibility, tag};
use crate::fork::Forked;
use crate::gather::GatherPart;
use crate::process::{Element, Ending, ErrorCode};
use crate::raw::Raw;
use crate::spec::{CALL_MAYBE, Flat, Head, Kinds, Member, ROOT, Spec, TEXT, TURN_MAYBE};
use thinkd_words::id::{Name, Seq, ThreadId};
use thinkd_words::time::Timestamp;

/// A message from one thread to another, or to itself.
///
/// The core alone decides the sender.
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

/// News of the core for a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Told<'a> {
    /// The news.
    pub news: News<'a>,
    /// The turn that it came of, if one did.
    pub turn: Option<u64>,
    /// The tool call that it came of.
    pub call_id: Option<&'a str>,
    /// The event from outside that it goes back to.
    pub root: Option<Seq>,
    /// True if it wakes no thread.
    pub is_silent: bool,
    /// True if it ends any wait of the thread, and wakes it.
    pub ends_any_wait: bool,
}

/// The end or halt of a thread that is gathered with others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counted {
    /// The part of a gathering that it is.
    pub part: Option<GatherPart>,
    /// True if the text leaves the thread's result for later.
    pub is_brief: bool,
}

impl Flat<'_> for Counted {
    fn members() -> Vec<Member> {
        let about = "which part of what gathering: id, index, ok, text";
        vec![("gather?", "object", about)]
    }

    fn read(raw: Raw<'_>) -> Option<Self> {
        Some(Self {
            part: raw.json("gather"),
            is_brief: !raw.said("text").contains(" reason=\""),
        })
    }

    fn write(self, draft: Draft) -> Draft {
        match self.part {
            Some(part) => draft.counted(&part),
            None => draft,
        }
    }
}

/// The core tells these. Each member is an attribute of the element in the text, but for those in `BESIDE`.
#[derive(Debug, Clone, PartialEq, Fact)]
#[fact(element = element)]
pub enum News<'a> {
    /// A subthread was created.
    #[fact(name = "thread-spawned", tags("thread-spawned"), tail = [TURN_MAYBE, CALL_MAYBE, ROOT])]
    Spawned {
        /// The subthread.
        #[fact(name = "assigned_id", or_default)]
        child: &'a str,
        /// This thread.
        #[fact(name = "parent_id", or_default)]
        parent: &'a str,
        /// The name that this thread calls it by.
        #[fact(or_null)]
        contact: Option<&'a str>,
    },
    /// A subthread or contact has ended. Wakes, unless it is gathered with others.
    #[fact(name = "thread-ended", tail = [TURN_MAYBE, ROOT], text = self.ending(),
           tags("thread-ended", "from:<thread>?" = [thread], "part?", "overrules?"))]
    Ended {
        /// The subthread or contact.
        #[fact(name = "id", or_default, put = draft.payload("id", thread).payload("from", thread))]
        thread: &'a str,
        /// Done, failed or stopped.
        #[fact(or_default)]
        status: &'a str,
        /// Why.
        #[fact(or_default, also = ("from", "string", "the thread that it is about"))]
        reason: &'a str,
        /// The last it said.
        #[fact(name = "content", optional)]
        last: &'a str,
        /// Of one that is gathered with others.
        #[fact(flat)]
        counted: Counted,
        /// True if it had been put aside.
        #[fact(name = "archived", optional, read = raw.get("archived").is_some())]
        was_archived: bool,
    },
    /// A thread that this one depends on cannot go on. Wakes, unless it is gathered with others.
    #[fact(name = "thread-stuck", tail = [ROOT], text = self.ending(),
           tags("thread-stuck", "from:<thread>" = thread, "part?", "overrules?"))]
    Stuck {
        /// The thread.
        #[fact(name = "id", or_default, put = draft.payload("id", thread).payload("from", thread))]
        thread: &'a str,
        /// Why.
        #[fact(or_default, also = ("from", "string", "the thread that it is about"))]
        reason: &'a str,
        /// Of one that is gathered with others.
        #[fact(flat)]
        counted: Counted,
    },
    /// A subthread that had nothing to do was put aside.
    #[fact(name = "thread-archived", tags("thread-archived"), tail = [TURN_MAYBE])]
    Archived {
        /// The subthread.
        #[fact(name = "id", or_default)]
        thread: &'a str,
    },
    /// A subthread that was put aside is at work again.
    #[fact(name = "thread-resumed", tags("thread-resumed"), tail = [TURN_MAYBE])]
    Resumed {
        /// The subthread.
        #[fact(name = "id", or_default)]
        thread: &'a str,
    },
    /// The thread is a fork, and things that its past tells of stay with the other thread.
    #[fact(name = "thread-forked", tags("thread-forked"))]
    Forked {
        /// The thread that was forked.
        #[fact(or_default)]
        from: &'a str,
        /// The event up to which the past of the two is one.
        #[fact(or_null, kind = "number")]
        at: Option<Seq>,
        /// The things that stay with it.
        #[fact(name = "content", optional)]
        left: &'a str,
    },
    /// Earlier events are no longer shown to the thread.
    #[fact(name = "context-cleared", tags("context-cleared"), tail = [TURN_MAYBE, CALL_MAYBE])]
    Cleared {
        /// The number of events that are still shown.
        #[fact(name = "kept_messages", or_null, kind = "number")]
        kept: Option<u64>,
    },
    /// A timer was set.
    #[fact(name = "timer-set", tags("timer-set"), tail = [TURN_MAYBE, CALL_MAYBE])]
    TimerSet {
        /// The timer.
        #[fact(name = "id", or_default)]
        timer: &'a str,
        /// When.
        #[fact(or_default)]
        due: &'a str,
        /// Its purpose.
        #[fact(name = "content", optional)]
        note: &'a str,
    },
    /// A timer is due, or the time of a wait or a gathering is up. Wakes.
    #[fact(name = "timer", tags("timer", "overrules?"), tail = [ROOT])]
    Timer {
        /// The timer.
        #[fact(name = "id", read = raw.text("timer").unwrap_or(raw.said("id")),
               put = draft.payload("id", timer).payload("timer", timer))]
        timer: &'a str,
        /// When.
        #[fact(or_default)]
        due: &'a str,
        /// Its purpose.
        #[fact(name = "content", optional, also = ("timer", "string", "its name"))]
        note: &'a str,
    },
    /// The thread's plan is complete.
    #[fact(name = "plan-complete", tags("plan-complete"), tail = [TURN_MAYBE])]
    PlanComplete {
        /// The condition that was to be reached.
        #[fact(or_default)]
        condition: &'a str,
    },
    /// The event that the thread watches for has come.
    #[fact(name = "watch-raised", tags("watch-raised"), tail = [TURN_MAYBE])]
    WatchRaised {
        /// The watch.
        #[fact(name = "id", or_default)]
        watch: &'a str,
        /// The tag.
        #[fact(or_default)]
        kind: &'a str,
        /// The event that has come.
        #[fact(or_null, kind = "number")]
        seq: Option<Seq>,
        /// Its purpose.
        #[fact(name = "content", optional)]
        note: &'a str,
    },
    /// A watch is registered.
    #[fact(name = "watch-set", tags("watch-set"), tail = [TURN_MAYBE, CALL_MAYBE])]
    WatchSet {
        /// The watch.
        #[fact(name = "id", or_default)]
        watch: &'a str,
        /// The tag.
        #[fact(or_default)]
        kind: &'a str,
        /// Only from this thread.
        #[fact(or_null)]
        from: Option<&'a str>,
        /// Its purpose.
        #[fact(name = "content", optional)]
        note: &'a str,
    },
    /// A watch is closed.
    #[fact(name = "watch-closed", tags("watch-closed"), tail = [TURN_MAYBE, CALL_MAYBE])]
    WatchClosed {
        /// The watch.
        #[fact(name = "id", or_default)]
        watch: &'a str,
        /// Its event had come.
        #[fact(name = "raised", or_default)]
        was_raised: bool,
    },
    /// All that was sent out together has come back, or its time is up.
    #[fact(name = "gathered", tags("gathered"), tail = [TURN_MAYBE])]
    Gathered {
        /// The gathering.
        #[fact(name = "id", or_default)]
        gathering: &'a str,
        /// The number of its parts.
        #[fact(or_null, kind = "number")]
        total: Option<&'a Value>,
        /// The number of parts that came back well.
        #[fact(or_null, kind = "number")]
        successful: Option<&'a Value>,
        /// The number of parts that did not come back.
        #[fact(or_null, kind = "number")]
        missing: Option<&'a Value>,
        /// In a sequence: the step that failed, from 1.
        #[fact(or_null, kind = "number | null")]
        failed_step: Option<&'a Value>,
        /// The results, a line each.
        #[fact(name = "content", optional)]
        lines: &'a str,
        /// The results: index, ok, text.
        #[fact(kind = "object[]", read = raw.get("results").unwrap_or(&Value::Null))]
        results: &'a Value,
    },
    /// Something the thread tried failed. Wakes where it ends a wait.
    #[fact(name = "thread-error", tags("system-thread-error", "overrules?"), tail = [TURN_MAYBE, ROOT])]
    Error {
        /// The words of the caller.
        #[fact(name = "unknown_id", or_default)]
        given: &'a str,
        /// unknown_thread, invalid_label, depth_limit, ….
        #[fact(or_default)]
        code: &'a str,
        /// The fault, and the remedy where there is one.
        #[fact(or_default)]
        message: &'a str,
    },
}

/// Members that are no attributes of the element; the content is its text.
const BESIDE: [&str; 3] = ["content", "archived", "results"];

/// Returns the text of news for models.
fn element(name: &str, members: &[(&str, Value)]) -> String {
    let is_attribute = |(key, _): &&(&str, Value)| !BESIDE.contains(key);
    let attributes: Vec<_> = members.iter().filter(is_attribute).cloned().collect();
    let content = members.iter().find(|(key, _)| *key == "content");
    let text = content.and_then(|(_, text)| text.as_str());
    Element {
        name,
        attributes: &attributes,
        text: text.unwrap_or_default(),
    }
    .to_string()
}

impl News<'_> {
    /// Returns the text of an end or a halt for models. A brief one leaves out why, and the last
    /// words.
    fn ending(&self) -> String {
        let mut members = Vec::new();
        let (name, counted) = match self {
            Self::Ended {
                thread,
                status,
                reason,
                last,
                counted,
                ..
            } => {
                members.extend([("id", json!(thread)), ("status", json!(status))]);
                // A thread that ends with its reason and nothing else has said that once.
                let said = if last == reason { "" } else { last };
                members.extend([("reason", json!(reason)), ("content", json!(said))]);
                (tag::THREAD_ENDED, counted)
            }
            Self::Stuck {
                thread,
                reason,
                counted,
            } => {
                members.extend([("id", json!(thread)), ("reason", json!(reason))]);
                (tag::THREAD_STUCK, counted)
            }
            _ => return String::new(),
        };
        members.retain(|(key, _)| !counted.is_brief || !["reason", "content"].contains(key));
        element(name, &members)
    }

    /// Returns true if news of this kind wake the thread.
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

    fn in_turn(self, turn: Option<u64>) -> Self {
        Self { turn, ..self }
    }

    pub(super) fn specs() -> Vec<Spec> {
        News::specs(&[tag::THREAD, "<kind>"], &[TEXT])
    }

    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        Some(Self {
            news: News::read(raw)?,
            turn: raw.turn(),
            call_id: raw.text("call_id"),
            root: raw.seq("root"),
            is_silent: raw.has(tag::PART),
            ends_any_wait: raw.has(tag::OVERRULES),
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Head { tags, text, .. } = self.news.head("");
        let tags = std::iter::once(tag::THREAD.to_owned()).chain(tags);
        let tags = tags
            .chain(self.is_silent.then(|| tag::PART.to_owned()))
            .chain(self.ends_any_wait.then(|| tag::OVERRULES.to_owned()));
        let draft = Draft::empty(thread, Source::System, Modality::Text, tags.collect());
        self.news
            .write(draft.payload("text", text))
            .payload_some("turn", self.turn)
            .payload_some("call_id", self.call_id)
            .payload_some("root", self.root)
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
        let wakes = !self.is_silent && (self.ends_any_wait || self.news.is_waking());
        Plain::new(self.news.kind(), Visibility::Heard, Role::Decision)
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
    /// A message from one thread to another (or the same). The core alone decides the sender.
    pub fn message(to: &ThreadId, from: &ThreadId, text: &str) -> Self {
        Message {
            from: from.as_str(),
            text,
            root: None,
        }
        .encode(to)
    }

    /// The core tells a thread, in its turn, the results of its acts.
    pub fn news(thread: &ThreadId, turn: u64, news: News<'_>) -> Self {
        Told::of(news).in_turn(Some(turn)).encode(thread)
    }

    /// A primitive failed: with the caller's words, a code, and the way to mend it.
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
        Told::of(news).in_turn(turn).encode(thread)
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
        Told::of(news)
            .in_turn(turn)
            .encode(parent)
            .only_if(Condition::NotEnded)
    }

    /// A thread has ended; told to one that knew it. Wakes.
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

    /// A thread cannot go on; told to one that depends on it. Wakes.
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
        let thread = thread.as_str();
        Self::news(parent, turn, News::Archived { thread })
    }

    /// A fork is told the kinds of things that stay with the other thread.
    pub fn told_forked(thread: &ThreadId, forked: &Forked) -> Self {
        let kinds = forked.left.join(", ");
        let left = format!("left with the other thread, and not yours any more: {kinds}");
        let from = forked.from.as_str();
        let at = Some(forked.at);
        let left = left.as_str();
        Told::of(News::Forked { from, at, left }).encode(thread)
    }

    /// A subthread that was put aside is at work again: told in its parent.
    pub(super) fn told_resumed(parent: &ThreadId, thread: &ThreadId) -> Self {
        let thread = thread.as_str();
        Told::of(News::Resumed { thread }).encode(parent)
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

    /// The same with a text that leaves the result of the thread for later: it is told with those
    /// of the others.
    #[must_use]
    pub fn brief(self) -> Self {
        let text = Told::decode(Raw::from(&self)).and_then(|mut told| match &mut told.news {
            News::Ended { counted, .. } | News::Stuck { counted, .. } => {
                counted.is_brief = true;
                Some(told.news.ending())
            }
            _ => None,
        });
        self.payload_some("text", text)
    }

    /// The same, without waking a thread.
    #[must_use]
    pub fn silent(self) -> Self {
        self.tagged([tag::PART])
    }

    /// The same, ending any wait of the thread.
    #[must_use]
    pub fn overruling(self) -> Self {
        self.tagged([tag::OVERRULES])
    }
}
