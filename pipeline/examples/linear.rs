//! One step after the other: `generate(rerank(retrieve(x)))`.
//!
//!     cargo run -p unhurried --example linear
#![allow(missing_docs, clippy::print_stdout, reason = "an example")]

use unhurried::{Context, NodeExecutionError, node};

#[derive(Clone, Default)]
pub struct State {
    pub query: String,
    pub documents: Vec<String>,
    pub answer: String,
}

#[node]
async fn retrieve(state: State) -> State {
    let documents = ["an old", "a new"]
        .map(|age| format!("{age} text on {}", state.query))
        .to_vec();
    State { documents, ..state }
}

#[node]
async fn rerank(mut state: State) -> State {
    state.documents.sort();
    state
}

#[node]
async fn generate(state: State) -> State {
    State {
        answer: format!("According to {}: yes.", state.documents[0]),
        ..state
    }
}

pub fn rag(state: Context<State>) -> Context<State> {
    generate(rerank(retrieve(state)))
}

fn main() -> Result<(), NodeExecutionError> {
    let question = State {
        query: "laziness".to_owned(),
        ..State::default()
    };
    let state = rag(Context::new(question));
    println!("to be run: {:?}", state.pending());
    println!("{}", state.blocking_data()?.answer);
    Ok(())
}
