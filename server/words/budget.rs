//! Budgets limit what turns, threads and spaces use. Every loop draws on one of them; what is used is a sum over the log.

use serde::{Deserialize, Serialize};

/// `[budget]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Model calls a turn, besides the one with which each voice comments and follows up.
    pub model_calls: u64,
    /// Tokens a turn, in and out, as far as providers say how many; absent: as many as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Messages in a row that a thread may send itself, before something comes from outside or from another thread.
    pub self_messages: u64,
    /// Messages that a thread may send to others, and subthreads it may make, before something comes from outside.
    pub sends: u64,
    /// Most names in a thread id: `main.research` has two.
    pub depth: u64,
    /// Subthreads of one thread that have not ended.
    pub subthreads: u64,
    /// Timers of one thread that are set.
    pub timers: u64,
    /// The shortest timer, or limit of a wait, in milliseconds: a thread that wakes itself by the clock does so no faster.
    pub timer_ms: u64,
    /// Watches of one thread that are open.
    pub watches: u64,
    /// Contacts of one thread.
    pub contacts: u64,
    /// Unreadable answers in a row after which the turn fails, and with it a process.
    pub unreadable: u64,
    /// Seconds that a thread waits for another one, if it does not say how long.
    pub wait_s: u64,
    /// What one event from outside may use: in its thread, in the threads made because of it and in those they wrote to.
    pub root: Root,
    /// Model calls of a thread in all its life; absent: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_model_calls: Option<u64>,
    /// Tokens of a thread in all its life; absent: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_tokens: Option<u64>,
    /// Model calls of all threads of a space; absent: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space_model_calls: Option<u64>,
    /// Tokens of all threads of a space; absent: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space_tokens: Option<u64>,
}

/// `[budget.root]`: limits what follows from one message, trigger or answer from outside, in however many threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Root {
    /// Model calls.
    pub model_calls: u64,
    /// Tokens, in and out, as far as providers say how many.
    pub tokens: u64,
    /// Subthreads that are made.
    pub threads: u64,
}

impl Default for Root {
    fn default() -> Self {
        Self { model_calls: 600, tokens: 4_000_000, threads: 64 }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            model_calls: 32,
            tokens: None,
            self_messages: 32,
            sends: 1000,
            depth: 8,
            subthreads: 32,
            timers: 32,
            timer_ms: 1000,
            watches: 32,
            contacts: 256,
            unreadable: 3,
            wait_s: 86_400,
            root: Root::default(),
            thread_model_calls: None,
            thread_tokens: None,
            space_model_calls: None,
            space_tokens: None,
        }
    }
}
