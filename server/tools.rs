//! The tools there are, one file each, and who has which. What a tool is stands in `tool.rs`.

use std::sync::Arc;

use crate::prompt::Prompts;
use crate::tool::{Tool, Toolbox};

pub mod ask;
pub mod clear_context;
pub mod contacts;
pub mod do_nothing;
pub mod fan_out;
pub mod plan;
pub mod query_events;
pub mod reply;
pub mod send;
pub mod set_timer;
pub mod spawn_thread;
pub mod state;
pub mod step;
pub mod terminate;
pub mod think;
pub mod wait;
pub mod watch;

/// What a conversation does not have unless configured: it would lock out whoever talks with it.
const NOT_IN_CONVERSATIONS: [&str; 1] = ["terminate"];

/// The tools that a conversation's decision may have.
pub fn conversation(prompts: &Prompts) -> Toolbox {
    let about = |name: &str| prompts.tool(name);
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(reply::Reply { about: about("reply") }),
        Arc::new(think::Think { about: about("think") }),
        Arc::new(ask::Ask { about: about("ask") }),
        Arc::new(do_nothing::DoNothing { about: about("do_nothing") }),
    ];
    tools.extend(looking(prompts));
    tools.extend(among_threads(prompts));
    Toolbox::new(tools)
}

/// Those of them that it has if nothing is configured.
pub fn usual(toolbox: Toolbox) -> Toolbox {
    toolbox.without(&NOT_IN_CONVERSATIONS)
}

/// The tools of a process: there are no voices to be asked, unless it has some.
pub fn process(prompts: &Prompts) -> Toolbox {
    conversation(prompts)
}

/// The tools of a process that goes in sub-steps: one for each thing that a step is made of.
pub fn substeps(prompts: &Prompts) -> Toolbox {
    let about = |name: &str| prompts.tool(name);
    let kept = ["think", "do_nothing", "wait"];
    let step: Vec<Arc<dyn Tool>> = vec![
        Arc::new(wait::SetWait { about: about("set_wait") }),
        Arc::new(step::Note { about: about("note") }),
        Arc::new(step::Focus { about: about("focus") }),
        Arc::new(step::SendsDone { about: about("sends_done") }),
        Arc::new(step::ContactsDone { about: about("contacts_done") }),
    ];
    process(prompts).without(&kept).and(step)
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

fn among_threads(prompts: &Prompts) -> Vec<Arc<dyn Tool>> {
    let about = |name: &str| prompts.tool(name);
    vec![
        Arc::new(send::Send { about: about("send") }),
        Arc::new(contacts::Connect { about: about("connect") }),
        Arc::new(contacts::Disconnect { about: about("disconnect") }),
        Arc::new(contacts::ViewContacts { about: about("view_contacts") }),
        Arc::new(wait::Wait { about: about("wait") }),
        Arc::new(spawn_thread::SpawnThread { about: about("spawn_thread") }),
        Arc::new(clear_context::ClearContext { about: about("clear_context") }),
        Arc::new(set_timer::SetTimer { about: about("set_timer") }),
        Arc::new(plan::Plan { about: about("plan") }),
        Arc::new(watch::SetWatch { about: about("watch") }),
        Arc::new(watch::CloseWatch { about: about("close_watch") }),
        Arc::new(fan_out::FanOut { about: about("fan_out") }),
        Arc::new(fan_out::Sequence { about: about("sequence") }),
        Arc::new(terminate::Terminate { about: about("terminate") }),
    ]
}
