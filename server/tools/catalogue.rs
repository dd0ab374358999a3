//! The tools there are, one file each, and who has which. What a tool is stands in `tools/tool.rs`.

use std::sync::Arc;

use super::tool::{Tool, Toolbox, described};
use super::{
    ask, clear_context, contacts, do_nothing, fan_out, more_tools, plan, query_events, reply, send, set_timer,
    spawn_thread, state, step, terminate, think, wait, watch,
};
use crate::model::prompt::Prompts;
use crate::words::id::Name;

/// What a conversation does not have unless configured: it would lock out whoever talks with it.
const NOT_IN_CONVERSATIONS: [&str; 1] = ["terminate"];

/// What is seldom needed: `more_tools` opens it, unless it is configured who has which.
const RARE: [&str; 9] = [
    "connect",
    "disconnect",
    "view_contacts",
    "clear_context",
    "set_timer",
    "plan",
    "watch",
    "close_watch",
    "sequence",
];

/// What is seldom needed in a conversation, too: it waits without being told.
const RARE_IN_CONVERSATIONS: [&str; 1] = ["wait"];

/// The tools that a conversation's decision may have.
pub fn conversation(prompts: &Prompts) -> Toolbox {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        described::<reply::Reply>(prompts),
        described::<think::Think>(prompts),
        described::<ask::Ask>(prompts),
        described::<do_nothing::DoNothing>(prompts),
    ];
    tools.extend(looking(prompts));
    tools.extend(among_threads(prompts));
    Toolbox::new(tools)
}

/// Those that it has: these, all of which it is told of, or the usual ones.
pub fn of_conversations(prompts: &Prompts, names: Option<&[Name]>) -> Toolbox {
    let all = conversation(prompts);
    match names {
        Some(_) => all.only(names),
        None => {
            let rare = [&RARE[..], &RARE_IN_CONVERSATIONS].concat();
            more_tools::behind(all.without(&NOT_IN_CONVERSATIONS), &rare, prompts)
        }
    }
}

/// The tools that a process may have: there are no voices to be asked, unless it has some.
pub fn process(prompts: &Prompts) -> Toolbox {
    conversation(prompts)
}

/// Those that it has: these, all of which it is told of, or the usual ones.
pub fn of_processes(prompts: &Prompts, names: Option<&[Name]>) -> Toolbox {
    let all = process(prompts);
    if names.is_some() { all.only(names) } else { more_tools::behind(all, &RARE, prompts) }
}

/// The tools of a process that goes in sub-steps: one for each thing that a step is made of. It is told of all, for each answer is
/// asked for one of them.
pub fn substeps(prompts: &Prompts) -> Toolbox {
    let replaced = ["think", "do_nothing", "wait"];
    let step: Vec<Arc<dyn Tool>> = vec![
        described::<wait::SetWait>(prompts),
        described::<step::Note>(prompts),
        described::<step::Focus>(prompts),
        described::<step::SendsDone>(prompts),
        described::<step::ContactsDone>(prompts),
    ];
    process(prompts).without(&replaced).and(step)
}

/// The tools of a submodule.
pub fn submodule(prompts: &Prompts) -> Toolbox {
    Toolbox::new(looking(prompts))
}

fn looking(prompts: &Prompts) -> Vec<Arc<dyn Tool>> {
    vec![
        described::<query_events::QueryEvents>(prompts),
        described::<state::Get>(prompts),
        described::<state::Put>(prompts),
        described::<state::Search>(prompts),
        described::<state::Delete>(prompts),
    ]
}

fn among_threads(prompts: &Prompts) -> Vec<Arc<dyn Tool>> {
    vec![
        described::<send::Send>(prompts),
        described::<contacts::Connect>(prompts),
        described::<contacts::Disconnect>(prompts),
        described::<contacts::ViewContacts>(prompts),
        described::<wait::Wait>(prompts),
        described::<spawn_thread::SpawnThread>(prompts),
        described::<clear_context::ClearContext>(prompts),
        described::<set_timer::SetTimer>(prompts),
        described::<plan::Plan>(prompts),
        described::<watch::SetWatch>(prompts),
        described::<watch::CloseWatch>(prompts),
        described::<fan_out::FanOut>(prompts),
        described::<fan_out::Sequence>(prompts),
        described::<terminate::Terminate>(prompts),
    ]
}
