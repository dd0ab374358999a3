//! Recall: the memory that is relevant to a question.

pub mod audit;
pub mod background;
mod bm25;
pub mod choices;
mod cut;
pub mod filling;
pub mod finder;
pub mod forms;
pub mod frameworks;
pub mod fusion;
pub mod graph;
pub mod held;
pub mod meaning;
mod measuring;
pub mod memories;
pub mod options;
mod pagerank;
mod past;
mod rivals;
mod shelf;
pub mod shown;
pub mod uses;
pub mod vectors;
pub mod view;
