//! The tools there are, one file each. What a tool is stands in `tool.rs`.

use std::sync::Arc;

use crate::prompt::Prompts;
use crate::tool::{Tool, Toolbox};

pub mod ask;
pub mod do_nothing;
pub mod query_events;
pub mod reply;
pub mod state;
pub mod think;

/// The tools of a conversation's decision.
pub fn conversation(prompts: &Prompts) -> Toolbox {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(reply::Reply { about: prompts.tool("reply") }),
        Arc::new(think::Think { about: prompts.tool("think") }),
        Arc::new(ask::Ask { about: prompts.tool("ask") }),
        Arc::new(do_nothing::DoNothing { about: prompts.tool("do_nothing") }),
    ];
    tools.extend(looking(prompts));
    Toolbox::new(tools)
}

/// The tools of a submodule.
pub fn submodule(prompts: &Prompts) -> Toolbox {
    Toolbox::new(looking(prompts))
}

fn looking(prompts: &Prompts) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(query_events::QueryEvents { about: prompts.tool("query_events") }),
        Arc::new(state::Get { about: prompts.tool("state_get") }),
        Arc::new(state::Put { about: prompts.tool("state_put") }),
        Arc::new(state::Search { about: prompts.tool("state_search") }),
        Arc::new(state::Delete { about: prompts.tool("state_delete") }),
    ]
}
