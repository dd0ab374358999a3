//! From a model's text in the thinking language to tool calls.

/// What a text came to.
#[derive(Debug, Default)]
pub struct Reading {
    /// Tool calls in the order of the text.
    pub calls: Vec<crate::model::ToolCall>,
    /// What could not be read.
    pub unreadable: Vec<String>,
    /// Free text was around.
    pub words: bool,
}

/// Reads.
pub fn read(_: &str, _: &str) -> Reading {
    Reading::default()
}
