//! A node that calls a replica: in this process, or in another by configuration alone.
//!
//!     cargo run -p unhurried --example replica
//!     cargo run -p unhurried --example replica -- serve
//!     cargo run -p unhurried --example replica -- '{"backend": "grpc", "url": "http://127.0.0.1:7433"}'
#![allow(missing_docs, clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};

use unhurried::{
    Config, Context, Manager, NodeExecutionError, Replica, ReplicaError, ReplicaServer, node,
    replica, runtime,
};

pub struct Tooling {
    calls: AtomicUsize,
}

#[replica(n = 2)]
impl Tooling {
    pub fn new() -> Self {
        Tooling {
            calls: AtomicUsize::new(0),
        }
    }

    /// Answers, and says which call of this instance it was.
    pub async fn invoke(&self, prompt: &str) -> String {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        format!(
            "{prompt}? Done (call {call}, process {})",
            std::process::id()
        )
    }
}

#[node]
async fn call_tool(prompt: String) -> Result<String, ReplicaError> {
    Tooling::get().await?.invoke(&prompt).await
}

pub async fn ask_three_times(prompt: &str) -> Result<Vec<String>, NodeExecutionError> {
    let mut replies = Vec::new();
    for _ in 0..3 {
        replies.push(call_tool(Context::new(prompt.to_owned())).await?);
    }
    Ok(replies)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("serve") {
        let server = ReplicaServer::of(Manager::standard())
            .bind("127.0.0.1:7433")
            .await?;
        println!("serving on {}", server.address());
        return Ok(server.serve(std::future::pending()).await?);
    }
    let config = argument.map_or(Ok(Config::default()), |text| serde_json::from_str(&text))?;
    for reply in runtime(config, ask_three_times("Tea")).await?? {
        println!("{reply}");
    }
    Ok(())
}
