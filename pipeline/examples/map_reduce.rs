//! Map over many and reduce: every page by itself, three at a time, and one answer from all of them.
//!
//!     cargo run -p unhurried --example map_reduce
#![allow(missing_docs, clippy::print_stdout, reason = "an example")]

use unhurried::{Context, NodeExecutionError, at_once, node};

#[node]
async fn fetch(address: String) -> Result<String, String> {
    match address.as_str() {
        "broken" => Err("no such page".to_owned()),
        address => Ok(format!("all about {address}")),
    }
}

#[node]
async fn summarize(page: &str) -> String {
    tokio::time::sleep(std::time::Duration::from_millis(50)).await; // a model would think
    page.replace("all about ", "")
}

#[node]
async fn merge(summaries: &[String]) -> String {
    summaries.join(", ")
}

/// The first page that fails fails it.
pub fn report(addresses: &[&str]) -> Context<String> {
    let summaries = addresses
        .iter()
        .map(|address| summarize(fetch(Context::new(address.to_string()))));
    merge(at_once(3).all(summaries))
}

/// Returns the merged summaries of the pages that were fetched, and the number of those that
/// failed.
pub async fn report_of_the_rest(addresses: &[&str]) -> Result<(String, usize), NodeExecutionError> {
    let summaries = addresses
        .iter()
        .map(|address| summarize(fetch(Context::new(address.to_string()))));
    let (found, failed): (Vec<_>, Vec<_>) = at_once(3)
        .outcomes(summaries)
        .await?
        .into_iter()
        .partition(|outcome| outcome.is_ok());
    let found = found.into_iter().flatten().collect::<Vec<_>>();
    Ok((merge(Context::new(found)).await?, failed.len()))
}

#[tokio::main]
async fn main() -> Result<(), NodeExecutionError> {
    println!("{}", report(&["trees", "rivers", "hills", "roads"]).await?);
    if let Err(failure) = report(&["trees", "broken"]).await {
        println!("{failure}");
    }
    println!(
        "{:?}",
        report_of_the_rest(&["trees", "broken", "hills"]).await?
    );
    Ok(())
}
