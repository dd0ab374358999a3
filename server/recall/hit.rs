//! What a question found: a statement, and why. How hits are found is in `recall/view.rs`, how they are shown in `recall/shown.rs`.

use super::fusion::Scores;
use super::held::Held;

/// A statement that a question found, and why.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The statement.
    pub held: Held,
    /// What all legs say, in thousandths.
    pub score: i64,
    /// What each leg says.
    pub scores: Scores,
    /// The words of the question that it has.
    pub words: Vec<String>,
    /// The names in the question that it is about.
    pub names: Vec<String>,
    /// The statements by which one comes to it from a name in the question, this one last; empty: there is no such way.
    pub way: Vec<String>,
    /// Others that say the same.
    pub same: Vec<String>,
    /// What contradicts it and is held, too: the first few.
    pub against: Vec<Held>,
    /// How many there are.
    pub against_count: usize,
}
