//! What is called for a task on the way to its answer: tools of other servers, those that only read. A call that a crash cut off may be made again; one that
//! came to something is recorded, with that, and is not.

use serde_json::{Value as Json, json};

use super::desk::Desk;
use crate::event::mission::{NAME_MAX, TaskId};
use crate::event::statement::cut;
use crate::event::task::{TaskNews, ToolStep};
use crate::tools::tool::{CallSite, SoFar, Tool};
use crate::words::failure::{Failure, Who};
use crate::words::id::Name;
use crate::words::time;

/// Most calls of tools in one try of a task.
const STEPS_MAX: usize = 8;
/// Most characters that are read of what a tool says, and of its arguments.
const SAID_MAX: usize = 4000;
/// Most bytes of what models are told of all tools.
const TOLD_MAX: usize = 24_000;

/// Whether a note about a try is of a call that was wanted, made or not.
pub(super) fn is_step(note: &Json) -> bool {
    note.get("tool").is_some()
}

/// The calls among the notes of a try that came to something.
pub(super) fn steps(notes: &[Json]) -> Vec<ToolStep> {
    let made = notes
        .iter()
        .filter(|note| is_step(note))
        .filter_map(|note| serde_json::from_value(note.clone()).ok());
    made.filter(|step: &ToolStep| step.worked).collect()
}

/// Whether tasks are done with a tool: it only reads, and waits for nobody.
fn is_offered(tool: &dyn Tool) -> bool {
    let spec = tool.spec();
    spec.only_reads && !spec.always_gated && spec.gated.is_none()
}

impl Desk {
    /// The tools with which tasks are done now, as models are told of them: a list, as JSON.
    pub async fn tools_told(&self) -> String {
        if let Err(error) = self.tools().prepare(self.space()).await {
            return self.lose(error).await;
        }
        let toolbox = self.tools().now(self.space());
        let offered = toolbox
            .names()
            .into_iter()
            .filter_map(|name| toolbox.get(name))
            .filter(|it| is_offered(&***it));
        let (mut told, mut bytes, mut left_out) = (Vec::new(), 0, 0);
        let names = offered.clone().map(|tool| tool.spec().name());
        let said = toolbox.said_of(names);
        if !said.is_empty() && said.len() <= TOLD_MAX {
            bytes += said.len();
            told.push(json!(said));
        }
        for tool in offered {
            let spec = &tool.spec().told;
            let parameters: Json =
                serde_json::from_str(spec.parameters.as_str()).unwrap_or_default();
            let one = json!({ "name": spec.name, "description": spec.description, "parameters": parameters });
            let length = one.to_string().len();
            if bytes + length > TOLD_MAX {
                left_out += 1;
                continue;
            }
            bytes += length;
            told.push(one);
        }
        if left_out > 0 {
            told.push(json!(format!(
                "{left_out} more are left out: there is room for {TOLD_MAX} bytes"
            )));
        }
        json!(told).to_string()
    }

    /// Calls a tool for a task, behind the steps among these notes: what came of it, as a note. The error: the try has wanted too many.
    pub async fn call_tool(
        &self,
        task: TaskId,
        name: &str,
        arguments: Option<&str>,
        notes: &[Json],
    ) -> Result<Json, String> {
        let made = notes.iter().filter(|note| is_step(note)).count();
        if made > STEPS_MAX {
            return Err(format!(
                "it goes on calling tools, and says no answer by {STEPS_MAX} steps"
            ));
        }
        let name = cut(&name.replace('\0', ""), NAME_MAX);
        let called = match made == STEPS_MAX {
            true => Err(format!(
                "a try takes {STEPS_MAX} steps at most: answer by what they came to"
            )),
            false => self.called(task, &name, arguments, made + 1).await,
        };
        match called {
            Ok(step) => {
                self.say(task, [TaskNews::Used(step.clone())]);
                Ok(json!(step))
            }
            Err(why) => {
                let why = cut(&why, SAID_MAX);
                self.refuse(Some(task), [(task, format!("to call {name}"), why.clone())]);
                Ok(json!({ "tool": name, "why": why }))
            }
        }
    }

    /// One call. The error says why it was not made.
    async fn called(
        &self,
        task: TaskId,
        name: &str,
        arguments: Option<&str>,
        at: usize,
    ) -> Result<ToolStep, String> {
        let toolbox = self.tools().now(self.space());
        let tool = toolbox.get(name).filter(|tool| is_offered(&***tool));
        let tool = tool.ok_or("no such tool is offered to tasks: those are that only read")?;
        let text = arguments
            .map(|text| text.replace('\0', ""))
            .unwrap_or_else(|| "{}".to_owned());
        if text.chars().count() > SAID_MAX {
            return Err(format!("`arguments` has at most {SAID_MAX} characters"));
        }
        let arguments: Json = serde_json::from_str(&text)
            .map_err(|error| format!("`arguments` is no JSON: {error}"))?;
        tool.check(&arguments).map_err(|wrong| wrong.text)?;
        let (thread, _) = self.seat(Some(task));
        let site = CallSite {
            space: self.space().clone(),
            thread,
            turn: 1,
            by: Who::Mission(Name::parse("solve").map_err(|error| error.to_string())?),
            call_id: format!("{task}.{at}"),
            now: time::now(),
            so_far: SoFar {
                purse: self.purse().clone(),
                ..SoFar::default()
            },
            grant: None,
        };
        let came = match tool.call(arguments.clone(), &site).await {
            Ok(output) => output
                .failure
                .map_or_else(|| Ok(output.value.unwrap_or_default()), Err),
            Err(failure) => Err(failure),
        };
        let (worked, came) = (came.is_ok(), read(came));
        Ok(ToolStep {
            tool: name.to_owned(),
            arguments: arguments.to_string(),
            worked,
            came,
        })
    }
}

/// What is read of what a tool came to: its words, shortened.
fn read(came: Result<Json, Failure>) -> String {
    let text = match came {
        Ok(Json::String(text)) => text,
        // Of what had no room in an event there is the beginning.
        Ok(Json::Object(members)) if members.get("truncated").is_some_and(Json::is_string) => {
            members["truncated"].as_str().unwrap_or_default().to_owned()
        }
        Ok(value) => value.to_string(),
        Err(failure) => failure.text,
    };
    let text = text.replace('\0', "");
    match text.trim().char_indices().nth(SAID_MAX) {
        Some(_) => format!("{}… (there is more)", cut(&text, SAID_MAX)),
        None => text.trim().to_owned(),
    }
}
