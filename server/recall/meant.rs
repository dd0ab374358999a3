//! A question with its vectors, and the reason where it has none.

use std::collections::HashMap;

use super::vectors::Vector;

/// A question as recall takes it.
#[derive(Default)]
pub struct Meant {
    /// Its vector, if there is one.
    pub vector: Option<Vector>,
    /// Vectors of statements that are not in memory, by their ids: of those that it may be near to. None: nobody knows.
    pub beyond: Option<HashMap<String, Vector>>,
    /// Why vectors say nothing, or not of all statements.
    pub without: Option<String>,
}

impl Meant {
    /// By the built-in vectors.
    pub fn built_in(text: &str) -> Self {
        Self {
            vector: Vector::built_in(text),
            ..Self::default()
        }
    }
}
