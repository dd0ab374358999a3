//! The options of recall.

use std::time::Duration;

/// See the module.
#[derive(Debug, Clone)]
pub struct Options {
    /// Most bytes of the statements of all spaces that are kept in memory.
    pub bytes: usize,
    /// What nobody recalls in for so long goes from memory.
    pub idle: Duration,
    /// Most tokens of all hits, where the question does not say.
    pub tokens: u32,
    /// What a model for vectors is sent before a question.
    pub question_prefix: String,
    /// What it is sent before a statement.
    pub statement_prefix: String,
    /// How long a recall waits for it.
    pub wait: Duration,
    /// Most vectors of a space that are kept in memory and scanned. Words and names alone find
    /// statements beyond them.
    pub exact: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bytes: 512 << 20,
            idle: Duration::from_secs(300),
            tokens: 1500,
            question_prefix: String::new(),
            statement_prefix: String::new(),
            wait: Duration::from_secs(2),
            exact: 500_000,
        }
    }
}
