//! Threads: settings, derived state, quotas, the views that a model reads.

pub mod history;
pub mod new_thread;
pub mod quota;
pub mod settings;
pub mod tokens;
pub mod turns;
pub mod usage;
