//! Use of frameworks: the ones a task is like, a try with those, and the outcome that they are told
//! when the task is over. Nodes of the pipeline in `missions/flow.rs`. `missions/making.rs` makes
//! frameworks.

use runner::request::Language;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use unhurried::{Context, node};

use super::asking::{APPLY, Ask, Came, ask};
use super::calling::tools_told;
use super::desk::{Desk, Done};
use super::solving::{Called, PROGRAMS, Said, Solved, Tried, Verdict, until_answered};
use thinkd_event::estimate::learned;
use thinkd_event::fact::framework::{FrameworkFact, Said as Chose};
use thinkd_event::framework::{Framework, Outcome, Recipe, Tries};
use thinkd_event::mission::{Expected, Route, TEXT_MAX, TaskId, Value};
use thinkd_event::statement::cut;
use thinkd_model::provider::Tier;
use thinkd_recall::choices::Chosen;
use thinkd_recall::finder::Error;
use thinkd_recall::frameworks::Likely;
use thinkd_runtime::frameworks::tell_outcome;
use thinkd_runtime::refused::Refused;
use thinkd_words::id;

/// Most characters of a framework in a prompt.
const SHOWN_MAX: usize = 24_000;

/// A framework that a task is like, as it was when the task was compared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Framed {
    id: String,
    name: String,
    /// True: the task is done with it; else it is done without it, to compare.
    pub with: bool,
    text: String,
    program: Option<Program>,
    /// The results of earlier tries with it.
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
    /// Returns a framework with the results of earlier tries with it.
    pub fn new(id: String, framework: Framework, with: bool, came: Tries) -> Self {
        let text = cut(&framework.rendered(), SHOWN_MAX);
        let program = match framework.recipe {
            Recipe::Program { language, code, .. } => {
                // Of another language it is shown, and not run.
                let language = serde_json::from_value(json!(language.to_lowercase())).ok();
                language.map(|language| Program { language, code })
            }
            Recipe::Text | Recipe::ExternalTool { .. } => None,
        };
        Self {
            id,
            name: framework.name,
            with,
            text,
            program,
            came,
        }
    }

    /// Returns the expectation of a try with it, of a task that may be done by these routes. It is
    /// a model's estimate of the best of them, moved towards the results of earlier tries with it.
    pub fn expected(&self, routes: &[Route]) -> Expected {
        let whole = routes.iter().filter(|it| !it.splits);
        let said = whole.map(|it| it.estimate).fold(0.0, f64::max);
        Expected {
            kind: kind(&self.id),
            said,
            learned: learned(self.came, said).unwrap_or(said),
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

/// Returns the frameworks that a task is like, and whether it is done with each. That is said of
/// each before the task is tried.
#[node]
pub(super) async fn look_up(task: TaskId, desk: Desk) -> Vec<Framed> {
    let Some(new) = desk.tasks.of(task, |now| now.new.clone()) else {
        return Vec::new();
    };
    let text = Framework::found_by(&new.name, &new.description);
    let found = frameworks_like(&desk, task, &text).await;
    let Some(first) = found.first() else {
        // Nothing was chosen: a try follows.
        desk.journal.joins_next(task);
        return Vec::new();
    };
    if new.value == Value::Low {
        let of = format!("the framework {}", first.row.framework.name);
        let why = "its value is low: it is done without frameworks";
        desk.journal.refuse(Some(task), of, why);
        return Vec::new();
    }
    let thread = desk.journal.thread(Some(task));
    let said = found.iter().map(|it| {
        let fact = FrameworkFact {
            framework: &it.row.id,
            with: it.chosen.with(),
            task: &new.name,
            what: Chose::Chosen { reason: &it.reason },
        };
        fact.encode(&thread)
    });
    desk.journal.beside(Some(task), said);
    let records = desk.records();
    let framed = found.into_iter().map(|Likely { row, chosen, .. }| {
        let came = records.tries(&kind(&row.id));
        let framed = Framed::new(row.id, row.framework, chosen.with(), came);
        (framed, chosen)
    });
    let (framed, chosen): (Vec<Framed>, Vec<Chosen>) = framed.unzip();
    if let Some(now) = desk.tasks.board().get_mut(task) {
        now.chosen = Some(chosen);
    }
    framed
}

/// Tries a task with frameworks. One of them that has a program is run with the model's input for
/// it; a run that ends in an error is asked for again. The steps of one with tools are made one by
/// one.
pub(super) async fn with_frameworks(
    desk: &Desk,
    task: TaskId,
    (frames, high): (&[Framed], bool),
    wrong: &[Verdict],
) -> Done<Came<Tried>> {
    let once = |notes, is_last| {
        let context = Context::new(task);
        let frames = frames.to_vec();
        apply(context, frames, high, notes, is_last, desk.clone())
    };
    until_answered(wrong, PROGRAMS, once).await
}

/// Makes one call with frameworks, and the run or the call of a tool that it asks for.
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
    let routes = frames.iter().map(|it| format!("the framework {}", it.name));
    let route = routes.collect::<Vec<_>>().join(" and ");
    let shown = |(at, it): (u64, &Framed)| json!({ "number": at, "text": it.text });
    let shown: Json = (1..).zip(&frames).map(shown).collect();
    let question = Ask::about(&desk, APPLY, task)
        .by(tier)
        .with("frameworks", shown)
        .with("tools", tools_told(&desk).await)
        .with("so_far", json!(notes));
    let called = Called::of(task, &route, tier);
    let fits = |said: &Apply| said.fits(&frames).map(drop);
    let said = match ask::<Apply>(&desk, question, fits).await {
        Came::To(said) => said,
        Came::ToNothing(why) => return called.no_answer(&desk, why),
        Came::Spent(why) => return Came::Spent(why),
    };
    let program = said.fits(&frames).ok().flatten();
    let is_program = program.is_some();
    let spoken = Said {
        program,
        answer: said.answer,
        tool: said.tool.map(|tool| (tool, said.arguments)),
        search: None,
        thought: said.thought,
        facts: said.facts,
    };
    let mut why = match called.solved(&desk, spoken, &notes).await {
        Ok(solved) => return Came::To(solved),
        Err(why) => why,
    };
    if is_program && let Some(input) = &said.input {
        why = format!("{why} (input: {})", cut(input, TEXT_MAX));
    }
    match called.no_answer(&desk, why.clone()) {
        Came::ToNothing(_) if is_program && !is_last => {
            Came::To(Solved::Again(json!(Verdict::of(&route, None, why))))
        }
        nothing => nothing,
    }
}

impl Apply {
    /// Returns the program that is to be run, and its input; none: no program is.
    fn fits(&self, frames: &[Framed]) -> Result<Option<(Language, String, Json)>, String> {
        let Some(number) = self.framework else {
            return Ok(None);
        };
        let Some((_, framed)) = (1..).zip(frames).find(|(at, _)| *at == number) else {
            let count = frames.len();
            return Err(format!(
                "there is no framework {number} among the {count} above"
            ));
        };
        let Some(Program { language, code }) = framed.program.clone() else {
            return Ok(None);
        };
        let input = read_input(self.input.as_deref())?;
        Ok(Some((language, code, input)))
    }
}

/// Returns the `input` of a program: an object, so that there is room for its parameters.
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

/// Tells the outcome of a task with the frameworks that it is like, and without those that it was
/// not done with: whether its first try passed the check.
#[node]
pub(super) async fn tell(task: TaskId, frames: Vec<Framed>, worked: bool, desk: Desk) {
    let thread = desk.journal.thread(Some(task));
    let name = desk.tasks.of(task, |now| now.new.name.clone());
    for Framed { id, with, .. } in frames {
        let event = id::about(&format!("what came of {thread} for the framework {id}"));
        let came = Outcome {
            thread: thread.clone(),
            task: name.clone().unwrap_or_default(),
            with,
            worked,
        };
        let store = &*desk.ground.store;
        match tell_outcome(store, &desk.space, &id, (&came, event)).await {
            // One that is gone needs nothing told.
            Ok(_) | Err(Refused::NotFound(_)) => {}
            Err(Refused::Store(error)) => return desk.journal.found(Err(error)).await,
            Err(refused) => {
                let of = format!("to tell what came of the framework {id}");
                desk.journal.refuse(Some(task), of, refused.to_string());
            }
        }
    }
    // The task ends.
    desk.journal.joins_next(task);
}

/// Returns the frameworks that a task is like which says this.
pub(super) async fn frameworks_like(desk: &Desk, task: TaskId, text: &str) -> Vec<Likely> {
    match desk.ground.recall.frameworks_for(&desk.space, text).await {
        Ok(found) => found,
        Err(Error::Store(error)) => desk.journal.found(Err(error)).await,
        Err(error) => {
            desk.journal
                .refuse(Some(task), "to look for frameworks", error.to_string());
            Vec::new()
        }
    }
}

/// Returns with which frameworks a task is done and without which, as long as this is kept: others
/// choose beside it.
pub(super) fn choices(desk: &Desk, task: TaskId, frames: &[Framed]) -> Vec<Chosen> {
    let choices = &desk.ground.recall.choices;
    let goes_on = |it: &Framed| choices.goes_on(&desk.space, &it.id, it.with);
    let mut board = desk.tasks.board();
    let chosen = board.get_mut(task).and_then(|now| now.chosen.take());
    // Behind a restart there are only the words of the log.
    chosen.unwrap_or_else(|| frames.iter().map(goes_on).collect())
}
