//! What the documents say of messages and of each kind of news.

use crate::event::process::Feedback;
use crate::event::spec::{CALL_MAYBE, Member, ROOT, Spec, TEXT, TURN_MAYBE};

const ID: Member = ("id", "string", "which");
const FROM: Member = ("from", "string", "the thread that it is about");
const REASON: Member = ("reason", "string", "why");
const NOTE: Member = ("content?", "string", "what it is for");
const DUE: Member = ("due", "string", "when");
const PART: Member = (
    "gather?",
    "object",
    "which part of what gathering: id, index, ok, text",
);

const fn told(
    name: &'static str,
    about: &'static str,
    tags: &'static [&'static str],
    members: &'static [Member],
) -> Spec {
    Spec {
        name,
        about,
        tags,
        members,
        open: false,
    }
}

pub(in crate::event) const MESSAGE: Spec = told(
    "message",
    "A message from one thread to another, or to itself.",
    &["message", "from:<thread>"],
    &[TEXT, ("from", "string", "the thread that wrote it"), ROOT],
);
const SPAWNED: Spec = told(
    "thread-spawned",
    "A subthread was created.",
    &["thread", "thread-spawned"],
    &[
        TEXT,
        ("assigned_id", "string", "the subthread"),
        ("parent_id", "string", "this thread"),
        ("contact", "string | null", "what this thread calls it"),
        TURN_MAYBE,
        CALL_MAYBE,
        ROOT,
    ],
);
const ENDED: Spec = told(
    "thread-ended",
    "A subthread or contact has ended. Wakes, unless it is gathered with others.",
    &[
        "thread",
        "thread-ended",
        "from:<thread>?",
        "part?",
        "overrules?",
    ],
    &[
        TEXT,
        ID,
        ("status", "string", "done, failed or stopped"),
        REASON,
        FROM,
        ("content?", "string", "the last it said"),
        PART,
        ("archived?", "boolean", "it had been put aside"),
        TURN_MAYBE,
        ROOT,
    ],
);
const STUCK: Spec = told(
    "thread-stuck",
    "A thread that this one depends on cannot go on. Wakes, unless it is gathered with others.",
    &[
        "thread",
        "thread-stuck",
        "from:<thread>",
        "part?",
        "overrules?",
    ],
    &[TEXT, ID, REASON, FROM, PART, ROOT],
);
const ARCHIVED: Spec = told(
    "thread-archived",
    "A subthread that had nothing to do was put aside.",
    &["thread", "thread-archived"],
    &[TEXT, ID, TURN_MAYBE],
);
const RESUMED: Spec = told(
    "thread-resumed",
    "A subthread that was put aside is at work again.",
    &["thread", "thread-resumed"],
    &[TEXT, ID, TURN_MAYBE],
);
const CLEARED: Spec = told(
    "context-cleared",
    "Earlier events are no longer shown to the thread.",
    &["thread", "context-cleared"],
    &[
        TEXT,
        ("kept_messages", "number", "how many are still shown"),
        TURN_MAYBE,
        CALL_MAYBE,
    ],
);
const TIMER_SET: Spec = told(
    "timer-set",
    "A timer was set.",
    &["thread", "timer-set"],
    &[TEXT, ID, DUE, NOTE, TURN_MAYBE, CALL_MAYBE],
);
const TIMER: Spec = told(
    "timer",
    "A timer is due, or the time of a wait or a gathering is up. Wakes.",
    &["thread", "timer", "overrules?"],
    &[TEXT, ID, DUE, NOTE, ("timer", "string", "its name"), ROOT],
);
const PLAN_COMPLETE: Spec = told(
    "plan-complete",
    "The thread's plan is complete.",
    &["thread", "plan-complete"],
    &[
        TEXT,
        ("condition", "string", "what was to be reached"),
        TURN_MAYBE,
    ],
);
const WATCH_RAISED: Spec = told(
    "watch-raised",
    "What the thread watches for has come.",
    &["thread", "watch-raised"],
    &[
        TEXT,
        ID,
        ("kind", "string", "the tag"),
        ("seq", "number", "the event that has come"),
        NOTE,
        TURN_MAYBE,
    ],
);
const WATCH_SET: Spec = told(
    "watch-set",
    "A watch is registered.",
    &["thread", "watch-set"],
    &[
        TEXT,
        ID,
        ("kind", "string", "the tag"),
        ("from", "string | null", "only from this thread"),
        NOTE,
        TURN_MAYBE,
        CALL_MAYBE,
    ],
);
const WATCH_CLOSED: Spec = told(
    "watch-closed",
    "A watch is closed.",
    &["thread", "watch-closed"],
    &[
        TEXT,
        ID,
        ("raised", "boolean", "its event had come"),
        TURN_MAYBE,
        CALL_MAYBE,
    ],
);
const GATHERED: Spec = told(
    "gathered",
    "All that was sent out together has come back, or its time is up.",
    &["thread", "gathered"],
    &[
        TEXT,
        ID,
        ("total", "number", "how many there were"),
        ("successful", "number", "how many came back well"),
        ("missing", "number", "how many did not come back"),
        (
            "failed_step",
            "number | null",
            "in a sequence: the step that failed, from 1",
        ),
        ("content?", "string", "the results, a line each"),
        ("results", "object[]", "the results: index, ok, text"),
        TURN_MAYBE,
    ],
);
const ERROR: Spec = told(
    "thread-error",
    "Something the thread tried failed. Wakes where it ends a wait.",
    &["thread", "system-thread-error", "overrules?"],
    &[
        TEXT,
        ("unknown_id", "string", "what the caller wrote"),
        (
            "code",
            "string",
            "unknown_thread, invalid_label, depth_limit, …",
        ),
        ("message", "string", "what to do"),
        TURN_MAYBE,
        ROOT,
    ],
);

impl Feedback {
    pub(in crate::event) const fn spec(self) -> &'static Spec {
        match self {
            Self::Spawned => &SPAWNED,
            Self::Ended => &ENDED,
            Self::Stuck => &STUCK,
            Self::Archived => &ARCHIVED,
            Self::Resumed => &RESUMED,
            Self::Cleared => &CLEARED,
            Self::TimerSet => &TIMER_SET,
            Self::Timer => &TIMER,
            Self::PlanComplete => &PLAN_COMPLETE,
            Self::WatchRaised => &WATCH_RAISED,
            Self::WatchSet => &WATCH_SET,
            Self::WatchClosed => &WATCH_CLOSED,
            Self::Gathered => &GATHERED,
            Self::Error => &ERROR,
        }
    }
}
