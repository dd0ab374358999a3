//! The items of a request's input, read.

use crate::openai::request::{Piece, ToolResult};

/// An item of the input, read.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// Instructions.
    System(Vec<Piece>),
    /// A message of the user.
    User(Vec<Piece>),
    /// An answer, in the client's words.
    Answer(String),
    /// An answer by the id of its item, and the place of that.
    Reference(String, String),
    /// A call that the client ran, by its id, and its words.
    Call(String, Option<String>),
    /// The result of such a call.
    Result(ToolResult),
}
