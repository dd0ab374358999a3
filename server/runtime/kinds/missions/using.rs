//! How a task uses frameworks: which of them it is like, a try with those, and what is told of them when the task is over. Nodes of the pipeline in
//! `missions/flow.rs`. How a framework is made is `missions/making.rs`.

use runner::request::{Language, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use unhurried::{Context, NodeExecutionError, node};

use super::asking::{Ask, Came};
use super::checking::stopped;
use super::desk::Desk;
use super::solving::{PROGRAMS, Solved, Tried, Verdict, until_answered};
use super::steps::{quoted, word};
use crate::event::draft::Draft;
use crate::event::estimate::learned;
use crate::event::framework::{Framework, Outcome, Recipe, Tries};
use crate::event::mission::{ANSWER_MAX, Expected, Route, TEXT_MAX, TaskId, Value};
use crate::event::statement::cut;
use crate::event::task::TaskNews;
use crate::model::provider::Tier;
use crate::recall::choices::Chosen;
use crate::recall::finder::Error;
use crate::recall::frameworks::Likely;
use crate::runtime::framework_acts::tell_outcome;
use crate::runtime::refused::Refused;
use crate::words::id;

/// Most characters of a framework in a prompt.
const SHOWN_MAX: usize = 24_000;

/// A framework that a task is like, as it was when the task was compared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Framed {
    id: String,
    name: String,
    /// Whether the task is done with it; else it is done without it, to compare.
    pub with: bool,
    text: String,
    program: Option<Program>,
    /// What came of earlier tries with it.
    #[serde(default)]
    came: Tries,
}

/// A program that can be run.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Program {
    language: Language,
    code: String,
}

impl Framed {
    pub fn new(id: String, framework: &Framework, with: bool) -> Self {
        let program = match &framework.recipe {
            Recipe::Program { language, code, .. } => {
                // Of another language it is shown, and not run.
                let language = serde_json::from_value(json!(language.to_lowercase())).ok();
                language.map(|language| Program {
                    language,
                    code: code.clone(),
                })
            }
            Recipe::Text | Recipe::ExternalTool { .. } => None,
        };
        let (name, text) = (
            framework.name.clone(),
            cut(&framework.rendered(), SHOWN_MAX),
        );
        Self {
            id,
            name,
            with,
            text,
            program,
            came: Tries::default(),
        }
    }

    /// What is expected of a try with it, of a task that may be done by these routes: what a model says of the best of them, moved towards what came of
    /// earlier tries with it.
    pub fn expected(&self, routes: &[Route]) -> Expected {
        let said = routes
            .iter()
            .filter(|it| !it.splits)
            .map(|it| it.estimate)
            .fold(0.0, f64::max);
        let learned = learned(self.came, said).unwrap_or(said);
        Expected {
            kind: kind(&self.id),
            said,
            learned,
        }
    }
}

/// Tries with a framework as a kind of route.
fn kind(id: &str) -> String {
    format!("framework {id}")
}

/// An answer with frameworks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Apply {
    thought: String,
    /// The number of the one whose program is to be run.
    framework: Option<i64>,
    /// What its program finds as `input`, as JSON.
    input: Option<String>,
    /// A tool that is to be called first.
    tool: Option<String>,
    /// Its arguments, as JSON.
    arguments: Option<String>,
    answer: Option<String>,
    /// What it rests on, of which nothing was told.
    #[serde(default)]
    facts: Vec<String>,
}

/// What a program came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Computed {
    pub answer: String,
    /// How good it is, where the program says so.
    pub score: Option<f64>,
}

/// The frameworks that a task is like, and whether it is done with each. That is said of each before the task is tried.
#[node]
pub(super) async fn look_up(task: TaskId, desk: Desk) -> Vec<Framed> {
    let (name, text, value) = {
        let board = desk.board();
        let Some(now) = board.get(task) else {
            return Vec::new();
        };
        (
            now.name.clone(),
            Framework::found_by(&now.name, &now.description),
            now.value,
        )
    };
    let found = desk.frameworks_like(task, &text).await;
    if found.is_empty() {
        // Nothing was chosen: a try follows.
        desk.joins_next(task);
        return Vec::new();
    }
    if value == Value::Low {
        let not_used = found
            .first()
            .map(|it| (task, format!("the framework {}", it.row.framework.name)));
        let why = "its value is low: it is done without frameworks";
        desk.refuse(
            Some(task),
            not_used.map(|(task, of)| (task, of, why.to_owned())),
        );
        return Vec::new();
    }
    let (thread, _) = desk.seat(Some(task));
    desk.beside(
        Some(task),
        found.iter().map(|it| {
            Draft::framework_chosen(&thread, &it.row.id, it.chosen.with(), &name, &it.reason)
        }),
    );
    let (mut framed, mut chosen) = (Vec::new(), Vec::new());
    for Likely {
        row,
        chosen: choice,
        ..
    } in found
    {
        let came = desk.records().tries(&kind(&row.id));
        framed.push(Framed {
            came,
            ..Framed::new(row.id, &row.framework, choice.with())
        });
        chosen.push(choice);
    }
    desk.chose(task, chosen);
    framed
}

/// Tries a task with frameworks. One of them that has a program is run with what the model gives it; a run that ends in an error is asked for again. The
/// steps of one with tools are made one by one.
pub(super) async fn with_frameworks(
    desk: &Desk,
    task: TaskId,
    frames: &[Framed],
    high: bool,
    wrong: &[Verdict],
) -> Result<Came<Tried>, NodeExecutionError> {
    let once = |notes, is_last| {
        apply(
            Context::new(task),
            frames.to_vec(),
            high,
            notes,
            is_last,
            desk.clone(),
        )
    };
    until_answered(wrong, PROGRAMS, once).await
}

/// One call with frameworks, and the run or the call of a tool that it asks for.
#[node]
pub(super) async fn apply(
    task: TaskId,
    frames: Vec<Framed>,
    high: bool,
    notes: Vec<Json>,
    is_last: bool,
    desk: Desk,
) -> Came<Solved> {
    let tier = if high { Tier::High } else { Tier::Low };
    let route = frames
        .iter()
        .map(|it| format!("the framework {}", it.name))
        .collect::<Vec<_>>()
        .join(" and ");
    let shown: Vec<Json> = (1..)
        .zip(&frames)
        .map(|(at, it)| json!({ "number": at, "text": it.text }))
        .collect();
    let prompts = desk.client().prompts();
    let values = vec![
        ("mission".to_owned(), quoted(&desk.wanted().mission)),
        ("task".to_owned(), desk.described(task)),
        ("frameworks".to_owned(), json!(shown).to_string()),
        ("tools".to_owned(), desk.tools_told().await),
        ("so_far".to_owned(), json!(notes).to_string()),
    ];
    let (system, tail) = (&prompts.mission_apply, &prompts.mission_known);
    let ask = Ask {
        node: "apply",
        tool: "apply",
        task: Some(task),
        tier,
        system,
        tail,
        values,
    };
    let said = match desk
        .ask::<Apply>(ask, |said| said.fits(&frames).map(drop))
        .await
    {
        Came::To(said) => said,
        Came::ToNothing(why) => return desk.no_answer(task, &route, tier, why),
        Came::Spent(why) => return Came::Spent(why),
    };
    let runs = said.fits(&frames).ok().flatten();
    let is_program = runs.is_some();
    let some = |text: &Option<String>| {
        text.as_deref()
            .map(|it| cut(it, ANSWER_MAX))
            .filter(|it| !it.is_empty())
    };
    let answer = match (runs, some(&said.answer), some(&said.tool)) {
        (Some((program, input)), ..) => desk
            .run(program.language, &program.code, input)
            .await
            .map(|it| it.answer),
        (None, Some(answer), _) => Ok(answer),
        (None, None, Some(tool)) => match desk
            .call_tool(task, &tool, said.arguments.as_deref(), &notes)
            .await
        {
            Ok(note) => return Came::To(Solved::Again(note)),
            Err(why) => Err(why),
        },
        (None, None, None) => Err("it says that there is no answer".to_owned()),
    };
    match answer {
        Ok(answer) => {
            let (tier, why) = (word(tier), cut(&said.thought, TEXT_MAX));
            desk.say(
                task,
                [TaskNews::Tried {
                    route: route.clone(),
                    tier,
                    answer: Some(answer.clone()),
                    why,
                }],
            );
            Came::To(Solved::Answer(Tried {
                route,
                answer,
                facts: said.facts,
                steps: Vec::new(),
            }))
        }
        Err(why) if !is_program => desk.no_answer(task, &route, tier, why),
        Err(why) => {
            let why = match &said.input {
                Some(input) => format!("{why} (input: {})", cut(input, TEXT_MAX)),
                None => why,
            };
            match desk.no_answer(task, &route, tier, why.clone()) {
                nothing if is_last => nothing,
                _ => Came::To(Solved::Again(json!(Verdict::nothing(&route, why)))),
            }
        }
    }
}

impl Apply {
    /// The program that is to be run, and its input; none: no program is.
    fn fits<'a>(&self, frames: &'a [Framed]) -> Result<Option<(&'a Program, Json)>, String> {
        let Some(number) = self.framework else {
            return Ok(None);
        };
        let at = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1));
        let framed = at.and_then(|at| frames.get(at));
        let framed = framed.ok_or_else(|| {
            format!(
                "there is no framework {number} among the {} above",
                frames.len()
            )
        })?;
        let Some(program) = &framed.program else {
            return Ok(None);
        };
        Ok(Some((program, read_input(self.input.as_deref())?)))
    }
}

/// What a program finds as `input`: an object, so that there is room for its parameters.
pub(super) fn read_input(input: Option<&str>) -> Result<Json, String> {
    let Some(text) = input.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(json!({}));
    };
    match serde_json::from_str::<Json>(text) {
        Ok(input @ Json::Object(_)) => Ok(input),
        Ok(_) => Err("`input` is not an object".to_owned()),
        Err(error) => Err(format!("`input` is no JSON: {error}")),
    }
}

/// Tells what came of a task with the frameworks that it is like, and without those that it was not done with: whether its first try passed the check.
#[node]
pub(super) async fn tell(task: TaskId, frames: Vec<Framed>, worked: bool, desk: Desk) {
    let (thread, _) = desk.seat(Some(task));
    let name = desk
        .board()
        .get(task)
        .map_or_else(String::new, |now| now.name.clone());
    for Framed { id, with, .. } in frames {
        let came = Outcome {
            thread: thread.clone(),
            task: name.clone(),
            with,
            worked,
        };
        let event = id::about(&format!("what came of {thread} for the framework {id}"));
        match tell_outcome(&**desk.client().store(), desk.space(), &id, &came, event).await {
            // One that is gone needs nothing told.
            Ok(_) | Err(Refused::NotFound(_)) => {}
            Err(Refused::Store(error)) => return desk.lose(error).await,
            Err(refused) => {
                let of = format!("to tell what came of the framework {id}");
                desk.refuse(Some(task), [(task, of, refused.to_string())]);
            }
        }
    }
    // The task ends.
    desk.joins_next(task);
}

impl Desk {
    /// The frameworks that a task is like which says this.
    pub async fn frameworks_like(&self, task: TaskId, text: &str) -> Vec<Likely> {
        match self.recall().frameworks_for(self.space(), text).await {
            Ok(found) => found,
            Err(Error::Store(error)) => self.lose(error).await,
            Err(error) => {
                self.refuse(
                    Some(task),
                    [(task, "to look for frameworks".to_owned(), error.to_string())],
                );
                Vec::new()
            }
        }
    }

    /// With which frameworks a task is done and without which, as long as this is kept: others choose beside it.
    pub fn choices(&self, task: TaskId, frames: &[Framed]) -> Vec<Chosen> {
        let goes_on = |it: &Framed| self.recall().choices.goes_on(self.space(), &it.id, it.with);
        // Behind a restart there are only the words of the log.
        self.chosen(task)
            .unwrap_or_else(|| frames.iter().map(goes_on).collect())
    }

    /// What a program comes to: the answer in its value and how good that is, where it says so; else what it printed, or its value.
    pub async fn run(
        &self,
        language: Language,
        code: &str,
        input: Json,
    ) -> Result<Computed, String> {
        if !self.code().is_enabled() {
            return Err("programs are not run here (tools.code.enabled)".to_owned());
        }
        let request = Request {
            language,
            code: code.to_owned(),
            input,
        };
        let ran = self
            .code()
            .run(self.space(), request)
            .await
            .map_err(|error| stopped(&error))?;
        let value = ran
            .outcome
            .map_err(|thrown| format!("the program ended in an error: {}", thrown.message))?;
        let score = value.get("score").and_then(Json::as_f64);
        let (printed, value) = match value.get("answer") {
            Some(answer) => (String::new(), answer.clone()),
            None => (cut(&ran.printed, ANSWER_MAX), value),
        };
        let value = match value {
            Json::String(text) => text,
            Json::Null => String::new(),
            value => value.to_string(),
        };
        let answer = if printed.is_empty() {
            cut(&value, ANSWER_MAX)
        } else {
            printed
        };
        match answer.is_empty() {
            true => {
                Err("the program came to nothing: it printed nothing and has no value".to_owned())
            }
            false => Ok(Computed { answer, score }),
        }
    }
}
