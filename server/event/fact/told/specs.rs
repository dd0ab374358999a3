//! What the documents say of each kind of news.

use crate::event::spec::{CALL_MAYBE, Member, ROOT, Spec, TEXT, TURN_MAYBE, spec};

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

/// The specs of all news, in the order of `Feedback`.
pub(super) fn specs() -> Vec<Spec> {
    vec![
        spec!(
            /// A subthread was created.
            "thread-spawned", ["thread", "thread-spawned"];
            TEXT,
            /// the subthread
            "assigned_id" => "string",
            /// this thread
            "parent_id" => "string",
            /// what this thread calls it
            "contact" => "string | null",
            TURN_MAYBE, CALL_MAYBE, ROOT,
        ),
        spec!(
            /// A subthread or contact has ended. Wakes, unless it is gathered with others.
            "thread-ended", ["thread", "thread-ended", "from:<thread>?", "part?", "overrules?"];
            TEXT, ID,
            /// done, failed or stopped
            "status" => "string",
            REASON, FROM,
            /// the last it said
            "content?" => "string",
            PART,
            /// it had been put aside
            "archived?" => "boolean",
            TURN_MAYBE, ROOT,
        ),
        spec!(
            /// A thread that this one depends on cannot go on. Wakes, unless it is gathered with others.
            "thread-stuck", ["thread", "thread-stuck", "from:<thread>", "part?", "overrules?"];
            TEXT, ID, REASON, FROM, PART, ROOT,
        ),
        spec!(
            /// A subthread that had nothing to do was put aside.
            "thread-archived", ["thread", "thread-archived"];
            TEXT, ID, TURN_MAYBE,
        ),
        spec!(
            /// A subthread that was put aside is at work again.
            "thread-resumed", ["thread", "thread-resumed"];
            TEXT, ID, TURN_MAYBE,
        ),
        spec!(
            /// Earlier events are no longer shown to the thread.
            "context-cleared", ["thread", "context-cleared"];
            TEXT,
            /// how many are still shown
            "kept_messages" => "number",
            TURN_MAYBE, CALL_MAYBE,
        ),
        spec!(
            /// A timer was set.
            "timer-set", ["thread", "timer-set"];
            TEXT, ID, DUE, NOTE, TURN_MAYBE, CALL_MAYBE,
        ),
        spec!(
            /// A timer is due, or the time of a wait or a gathering is up. Wakes.
            "timer", ["thread", "timer", "overrules?"];
            TEXT, ID, DUE, NOTE,
            /// its name
            "timer" => "string",
            ROOT,
        ),
        spec!(
            /// The thread's plan is complete.
            "plan-complete", ["thread", "plan-complete"];
            TEXT,
            /// what was to be reached
            "condition" => "string",
            TURN_MAYBE,
        ),
        spec!(
            /// What the thread watches for has come.
            "watch-raised", ["thread", "watch-raised"];
            TEXT, ID,
            /// the tag
            "kind" => "string",
            /// the event that has come
            "seq" => "number",
            NOTE, TURN_MAYBE,
        ),
        spec!(
            /// A watch is registered.
            "watch-set", ["thread", "watch-set"];
            TEXT, ID,
            /// the tag
            "kind" => "string",
            /// only from this thread
            "from" => "string | null",
            NOTE, TURN_MAYBE, CALL_MAYBE,
        ),
        spec!(
            /// A watch is closed.
            "watch-closed", ["thread", "watch-closed"];
            TEXT, ID,
            /// its event had come
            "raised" => "boolean",
            TURN_MAYBE, CALL_MAYBE,
        ),
        spec!(
            /// All that was sent out together has come back, or its time is up.
            "gathered", ["thread", "gathered"];
            TEXT, ID,
            /// how many there were
            "total" => "number",
            /// how many came back well
            "successful" => "number",
            /// how many did not come back
            "missing" => "number",
            /// in a sequence: the step that failed, from 1
            "failed_step" => "number | null",
            /// the results, a line each
            "content?" => "string",
            /// the results: index, ok, text
            "results" => "object[]",
            TURN_MAYBE,
        ),
        spec!(
            /// Something the thread tried failed. Wakes where it ends a wait.
            "thread-error", ["thread", "system-thread-error", "overrules?"];
            TEXT,
            /// what the caller wrote
            "unknown_id" => "string",
            /// unknown_thread, invalid_label, depth_limit, …
            "code" => "string",
            /// what to do
            "message" => "string",
            TURN_MAYBE, ROOT,
        ),
    ]
}
