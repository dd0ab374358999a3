//! The options of recall.

use std::time::Duration;

use thinkd_words::defaults::with_defaults;

with_defaults! {
    /// See the module.
    #[derive(Debug, Clone)]
    pub struct Options {
        /// Most bytes of the statements of all spaces that are kept in memory.
        pub bytes: usize = 512 << 20,
        /// The time without a recall in a space after which its statements go from memory.
        pub idle: Duration = Duration::from_secs(300),
        /// Most tokens of all hits, where the question does not say.
        pub tokens: u32 = 1500,
        /// The text that a model for vectors is sent before a question.
        pub question_prefix: String = String::new(),
        /// The text that it is sent before a statement.
        pub statement_prefix: String = String::new(),
        /// The time that a recall waits for it.
        pub wait: Duration = Duration::from_secs(2),
        /// Most vectors of a space that are kept in memory and scanned. Words and names alone find
        /// statements beyond them.
        pub exact: usize = 500_000,
    }
}
