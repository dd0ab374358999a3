//! Budgets limit the use by turns, threads and spaces. Every loop draws on one of them; the used
//! part is a sum over the log.

use serde::{Deserialize, Serialize};

use super::defaults::with_defaults;

with_defaults! {
    /// The budgets: `[budget]` in thinkd.toml.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Budget {
        /// Most model calls of one turn, besides the one with which each voice comments and follows up.
        pub model_calls: u64 = 32,
        /// Most tokens of one turn, in and out, as far as providers report them; absent: any number.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tokens: Option<u64> = None,
        /// Messages in a row that a thread may send itself, before something comes from outside or from another thread.
        pub self_messages: u64 = 32,
        /// Most names in a thread's id: `main.research` has two.
        pub depth: u64 = 8,
        /// Most subthreads right below one thread, by any maker; ended and archived ones do not
        /// count, nor those further below. For one more, an idle one is archived.
        pub subthreads: u64 = 32,
        /// Limits of the work that follows from one message, trigger or answer from outside, in
        /// however many threads.
        pub root: Root = Root::default(),
        /// Most model calls of one thread in its whole life; absent: any number.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub thread_model_calls: Option<u64> = None,
        /// Most tokens of one thread in its whole life; absent: any number.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub thread_tokens: Option<u64> = None,
        /// Most model calls of all threads of a space; absent: any number.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub space_model_calls: Option<u64> = None,
        /// Most tokens of all threads of a space; absent: any number.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub space_tokens: Option<u64> = None,
    }
    fixed {
        /// Messages that a thread may send to others, and subthreads it may make, before something comes from outside.
        pub sends: u64 = 1000,
        /// Most timers of one thread that are set.
        pub timers: u64 = 32,
        /// The shortest timer, limit of a wait, or interval of a schedule that a thread sets, in milliseconds: a thread that wakes itself by the clock does so no faster.
        pub timer_ms: u64 = 1000,
        /// Most schedules of one thread, for one more that it sets itself.
        pub schedules: u64 = 16,
        /// Most watches of one thread that are open.
        pub watches: u64 = 32,
        /// Most contacts of one thread.
        pub contacts: u64 = 256,
        /// Unreadable answers in a row after which the turn fails, and a process with it.
        pub unreadable: u64 = 3,
        /// The number of seconds a thread waits for another one, if it does not say.
        pub wait_s: u64 = 86_400,
    }
}

with_defaults! {
    /// `[budget.root]`: limits of the work that follows from one message, trigger or answer from
    /// outside, in however many threads.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Root {
        /// Most model calls.
        pub model_calls: u64 = 600,
        /// Most tokens, in and out, as far as providers report them.
        pub tokens: u64 = 4_000_000,
    }
    fixed {
        /// Most subthreads and missions that are begun.
        pub threads: u64 = 64,
    }
}
