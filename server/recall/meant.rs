//! A question with its vectors, and the reason where it has none.

use super::vectors::Vector;

/// A question as recall takes it.
#[derive(Default)]
pub struct Meant {
    /// Its vector, if there is one.
    pub vector: Option<Vector>,
    /// Why vectors say nothing, or not of all statements.
    pub without: Option<String>,
}
