//! Two branches over one ancestor, run at the same time; the ancestor once.
//!
//!     cargo run -p unhurried --example fan_out
#![allow(missing_docs, clippy::print_stdout, reason = "an example")]

use std::time::{Duration, Instant};

use unhurried::{Context, NodeExecutionError, Run, Stats, node};

#[node]
async fn fetch(topic: String) -> String {
    format!("a page on {topic}")
}

#[node]
async fn summarize(page: &str) -> String {
    tokio::time::sleep(Duration::from_millis(100)).await; // a model would think
    format!("a summary of {page}")
}

#[node]
async fn criticize(page: &str) -> String {
    tokio::time::sleep(Duration::from_millis(100)).await;
    format!("a critique of {page}")
}

#[node]
async fn merge(left: String, right: String) -> String {
    format!("{left}, and {right}")
}

pub fn review(topic: Context<String>) -> Context<String> {
    let page = fetch(topic);
    merge(summarize(&page), criticize(&page))
}

#[tokio::main]
async fn main() -> Result<(), NodeExecutionError> {
    let stats = Stats::default();
    let begun = Instant::now();
    let run = Run::new("example").hook(stats.clone());
    let (text, graph) = run
        .scope(async {
            let review = review(Context::new("trees".to_owned()));
            review
                .data()
                .await
                .map(|text| (text, review.graph().to_mermaid()))
        })
        .await?;
    println!("{text}\n\n{graph}");
    println!(
        "fetched {} time(s), in {} ms",
        stats.node("fetch").executions,
        begun.elapsed().as_millis()
    );
    Ok(())
}
