//! Calls of tools for a task on the way to its answer: tools of other servers that only read. A
//! call that a crash cut off may be made again. A call with a result is recorded with it, and is
//! not made again.

use serde_json::{Value as Json, json};

use super::desk::Desk;
use thinkd_event::fact::task::{TaskNews, ToolStep};
use thinkd_event::mission::{NAME_MAX, TaskId};
use thinkd_event::statement::cut;
use thinkd_tools::tool::{CallSite, SoFar, Tool};
use thinkd_words::failure::{Failure, Who};
use thinkd_words::id::Name;
use thinkd_words::time;

/// Most calls of tools in one try of a task.
const STEPS_MAX: usize = 8;
/// Most characters that are read of a tool's result, and of its arguments.
const SAID_MAX: usize = 4000;
/// Most bytes of the descriptions of all tools in a prompt.
const TOLD_MAX: usize = 24_000;

/// Returns whether a note about a try is of a call that was wanted, made or not.
pub(super) fn is_step(note: &Json) -> bool {
    note.get("tool").is_some()
}

/// Returns the calls among the notes of a try that came to something.
pub(super) fn steps(notes: &[Json]) -> Vec<ToolStep> {
    let read = |note: &Json| serde_json::from_value::<ToolStep>(note.clone()).ok();
    let made = notes.iter().filter(|note| is_step(note));
    made.filter_map(read).filter(|step| step.worked).collect()
}

/// Returns whether tasks are done with a tool: it only reads, and waits for no approval.
fn is_offered(tool: &dyn Tool) -> bool {
    let spec = tool.spec();
    spec.only_reads && !spec.always_gated && spec.gated.is_none()
}

/// Returns the tools with which tasks are done now, as models are told of them: a list, as JSON.
pub(super) async fn tools_told(desk: &Desk) -> Json {
    let shelf = &desk.ground.mind.tools.mission;
    desk.journal.found(shelf.prepare(&desk.space).await).await;
    let toolbox = shelf.now(&desk.space);
    let names = toolbox.names().into_iter();
    let offered = names.filter_map(|name| toolbox.get(name));
    let offered = offered.filter(|it| is_offered(&***it));
    let mut told = Vec::new();
    let mut bytes = 0;
    let mut left_out = 0;
    let said = toolbox.said_of(offered.clone().map(|tool| tool.spec().name()));
    if !said.is_empty() && said.len() <= TOLD_MAX {
        bytes += said.len();
        told.push(json!(said));
    }
    for tool in offered {
        let spec = &tool.spec().told;
        let parameters: Json = serde_json::from_str(spec.parameters.as_str()).unwrap_or_default();
        let one =
            json!({ "name": spec.name, "description": spec.description, "parameters": parameters });
        let length = one.to_string().len();
        if bytes + length > TOLD_MAX {
            left_out += 1;
            continue;
        }
        bytes += length;
        told.push(one);
    }
    if left_out > 0 {
        let more = format!("{left_out} more are left out: there is room for {TOLD_MAX} bytes");
        told.push(json!(more));
    }
    json!(told)
}

/// Calls a tool for a task, behind the steps among these notes. Returns the result as a note. The
/// error: the try has wanted too many.
pub(super) async fn call_tool(
    desk: &Desk,
    task: TaskId,
    (name, arguments): (String, Option<String>),
    notes: &[Json],
) -> Result<Json, String> {
    let made = notes.iter().filter(|note| is_step(note)).count();
    if made > STEPS_MAX {
        let why = format!("it goes on calling tools, and says no answer by {STEPS_MAX} steps");
        return Err(why);
    }
    let name = cut(&name.replace('\0', ""), NAME_MAX);
    let called = if made == STEPS_MAX {
        let why = format!("a try takes {STEPS_MAX} steps at most: answer by what they came to");
        Err(why)
    } else {
        let call_id = format!("{task}.{}", made + 1);
        called(desk, task, (&name, call_id), arguments).await
    };
    Ok(match called {
        Ok(step) => {
            desk.journal.say(task, TaskNews::Used(step.clone()));
            json!(step)
        }
        Err(why) => {
            let why = cut(&why, SAID_MAX);
            desk.journal
                .refuse(Some(task), format!("to call {name}"), why.as_str());
            json!({ "tool": name, "why": why })
        }
    })
}

/// Makes one call. The error says why it was not made.
async fn called(
    desk: &Desk,
    task: TaskId,
    (name, call_id): (&str, String),
    arguments: Option<String>,
) -> Result<ToolStep, String> {
    let toolbox = desk.ground.mind.tools.mission.now(&desk.space);
    let tool = toolbox.get(name).filter(|tool| is_offered(&***tool));
    let tool = tool.ok_or("no such tool is offered to tasks: those are that only read")?;
    let text = arguments.map_or_else(|| "{}".to_owned(), |text| text.replace('\0', ""));
    if text.chars().count() > SAID_MAX {
        return Err(format!("`arguments` has at most {SAID_MAX} characters"));
    }
    let arguments: Json =
        serde_json::from_str(&text).map_err(|error| format!("`arguments` is no JSON: {error}"))?;
    tool.check(&arguments).map_err(|wrong| wrong.text)?;
    let site = CallSite {
        space: desk.space.clone(),
        thread: desk.journal.thread(Some(task)),
        turn: 1,
        by: Who::Mission(Name::parse("solve").map_err(|error| error.to_string())?),
        call_id,
        now: time::now(),
        so_far: SoFar {
            purse: desk.asker.purse.clone(),
            ..SoFar::default()
        },
        grant: None,
    };
    let came = tool.call(arguments.clone(), &site).await;
    let came = came.and_then(|output| match output.failure {
        Some(failure) => Err(failure),
        None => Ok(output.value.unwrap_or_default()),
    });
    Ok(ToolStep {
        tool: name.to_owned(),
        arguments: arguments.to_string(),
        worked: came.is_ok(),
        came: read(came),
    })
}

/// Returns the part of a tool's result that is read: its words, shortened.
fn read(came: Result<Json, Failure>) -> String {
    let text = match came {
        Ok(Json::String(text)) => text,
        // Of what had no room in an event there is the beginning.
        Ok(value) => match value.get("truncated").and_then(Json::as_str) {
            Some(beginning) => beginning.to_owned(),
            None => value.to_string(),
        },
        Err(failure) => failure.text,
    };
    let text = text.replace('\0', "");
    match text.trim().char_indices().nth(SAID_MAX) {
        Some(_) => format!("{}… (there is more)", cut(&text, SAID_MAX)),
        None => text.trim().to_owned(),
    }
}
