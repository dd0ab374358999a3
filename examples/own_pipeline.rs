//! thinkd with a pipeline of one's own: `curl -d '{"input":"hello"}' -H content-type:application/json
//! 'localhost:2953/pipelines/shout?wait=5'`.

use thinkd::pipelines::host::Host;
use thinkd::pipelines::registry;
use thinkd::tools::catalogue;
use unhurried::{Context, NodeExecutionError, node};

#[node]
async fn louder(text: String) -> String {
    text.to_uppercase()
}

/// Pending when it returns: the server reads it, and each node is an event.
async fn shout(text: Context<String>, _: Host) -> Result<Context<String>, NodeExecutionError> {
    Ok(louder(text))
}

fn main() -> std::process::ExitCode {
    let pipelines = registry::built_in().with("shout", "Says it louder.", shout);
    thinkd::program::command::run(pipelines, catalogue::built_in())
}
