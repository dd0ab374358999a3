//! A decision on an earlier value: rerank only if there are documents to choose from.
//!
//!     cargo run -p unhurried --example conditional
#![allow(missing_docs, clippy::print_stdout, reason = "an example")]

use unhurried::{Context, NodeExecutionError, node};

#[node]
async fn retrieve(documents: usize) -> Vec<String> {
    (0..documents)
        .rev()
        .map(|i| format!("document {i}"))
        .collect()
}

#[node]
async fn rerank(mut documents: Vec<String>) -> Vec<String> {
    documents.sort();
    documents
}

#[node]
async fn generate(documents: &[String]) -> Result<String, String> {
    documents
        .first()
        .map(|first| format!("from {first}"))
        .ok_or("no document".to_owned())
}

pub async fn maybe_rerank(
    documents: Context<usize>,
) -> Result<Context<String>, NodeExecutionError> {
    let mut documents = retrieve(documents);
    if documents.data().await?.len() > 3 {
        documents = rerank(documents);
    }
    Ok(generate(documents))
}

#[tokio::main]
async fn main() -> Result<(), NodeExecutionError> {
    for found in [3, 5] {
        println!(
            "{found} found, answered {}",
            maybe_rerank(Context::new(found)).await?.await?
        );
    }
    Ok(())
}
