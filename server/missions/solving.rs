//! Tries of a task: one call after the other, each a node of the pipeline in `missions/flow.rs`,
//! until there is an answer or none will come. A program is run, words to search for are looked up,
//! tools are called. `missions/steps.rs` decides whether an answer will do.

use runner::request::Language;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use unhurried::{Context, node};

use super::asking::{Ask, Came, SOLVE, ask};
use super::calling::{call_tool, is_step, steps, tools_told};
use super::checking::{looked_up, ran};
use super::desk::{Desk, Done};
use super::said::{Considered, Solve, some};
use thinkd_event::fact::task::{TaskNews, ToolStep};
use thinkd_event::mission::{ANSWER_MAX, Route, Step, TEXT_MAX, TaskId, sameness};
use thinkd_event::statement::cut;
use thinkd_model::provider::Tier;

/// Most requests for one answer where its program ends in an error, or where words have to be
/// looked up first: of the ordinary model, and of the high tier.
pub(super) const PROGRAMS: usize = 3;
const PROGRAMS_HIGH: usize = 6;

/// Instruction for the answer of a task that was split.
const JOIN: &str = "The task was split: put its answer together from those of its parts.";

/// An answer and the route that led to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tried {
    pub route: String,
    pub answer: String,
    /// The facts that it claims of the world.
    #[serde(default)]
    pub facts: Vec<String>,
    /// The calls of tools that led to it: each is recorded where it was made.
    #[serde(skip)]
    pub steps: Vec<ToolStep>,
}

/// A try that came to nothing, for those that come after it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Verdict {
    pub route: String,
    pub answer: Option<String>,
    pub why: String,
}

impl Verdict {
    pub fn of(route: &str, answer: Option<String>, why: impl Into<String>) -> Self {
        let route = route.to_owned();
        let why = why.into();
        Self { route, answer, why }
    }

    /// Returns whether it came to this answer.
    pub fn is_answered(&self, answer: &str) -> bool {
        let same = |own: &String| sameness(own) == sameness(answer);
        self.answer.as_ref().is_some_and(same)
    }
}

impl Considered {
    /// Returns the tries that another one is told of.
    pub fn told<'a>(&self, wrong: &'a [Verdict]) -> &'a [Verdict] {
        if self.is_agreed() { &[] } else { wrong }
    }
}

/// Tries a task by one step. A program in an answer is run, and its value is the answer. One that
/// ends in an error is asked for again, with the error. Words to search the knowledge base for are
/// answered with the passages found, calls of tools with their results.
pub(super) async fn solve(
    desk: &Desk,
    task: TaskId,
    step: Step,
    (how, wrong): (&Considered, &[Verdict]),
) -> Done<Came<Tried>> {
    let is_high = matches!(step, Step::High(_));
    let most = if is_high { PROGRAMS_HIGH } else { PROGRAMS };
    // No two tries that have to agree are asked for in the same words.
    let step = (step, how.is_agreed().then_some(wrong.len() + 1));
    let once = |notes, is_last| {
        let context = Context::new(task);
        let routes = how.routes.clone();
        solve_once(context, step, routes, notes, is_last, desk.clone())
    };
    until_answered(how.told(wrong), most, once).await
}

/// Asks for an answer, each time with the results of the times before and whether it is the last
/// one, until there is one or none will come. Calls of tools are not counted here: they have a
/// limit of their own.
pub(super) async fn until_answered(
    wrong: &[Verdict],
    most: usize,
    once: impl Fn(Vec<Json>, bool) -> Context<Came<Solved>>,
) -> Done<Came<Tried>> {
    let mut notes: Vec<Json> = wrong.iter().map(|it| json!(it)).collect();
    let known = notes.len();
    loop {
        let times = notes[known..].iter().filter(|note| !is_step(note)).count() + 1;
        return Ok(match once(notes.clone(), times >= most).await? {
            Came::To(Solved::Again(note)) => {
                notes.push(note);
                continue;
            }
            Came::To(Solved::Answer(tried)) => Came::To(Tried {
                steps: steps(&notes[known..]),
                ..tried
            }),
            Came::ToNothing(why) => Came::ToNothing(why),
            Came::Spent(why) => Came::Spent(why),
        });
    }
}

/// The result of one call for an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Solved {
    Answer(Tried),
    /// None yet: it is asked for again, with this.
    Again(Json),
}

/// Makes one call for an answer.
#[node]
pub(super) async fn solve_once(
    task: TaskId,
    (step, attempt): (Step, Option<usize>),
    routes: Vec<Route>,
    notes: Vec<Json>,
    is_last: bool,
    desk: Desk,
) -> Came<Solved> {
    let (route, tier) = match step {
        Step::Whole(at) => (routes.get(at), Tier::Low),
        Step::High(at) => (routes.get(at), Tier::High),
        Step::Split => (None, Tier::Low),
    };
    let (name, how) = match route {
        Some(route) => (route.name.as_str(), route.how.as_str()),
        None => ("split", JOIN),
    };
    let mut shown = json!({ "name": name, "how": how });
    if let Some(attempt) = attempt {
        shown["attempt"] = attempt.into();
    }
    let question = Ask::about(&desk, SOLVE, task)
        .by(tier)
        .with("route", shown)
        .with("tools", tools_told(&desk).await)
        .with("so_far", json!(notes));
    let called = Called::of(task, name, tier);
    let said = match ask::<Solve>(&desk, question, |_| Ok(())).await {
        Came::To(said) => said,
        Came::ToNothing(why) => return called.no_answer(&desk, why),
        Came::Spent(why) => return Came::Spent(why),
    };
    let program = said.program.filter(|code| !code.trim().is_empty());
    let runs = program.clone();
    let said = Said {
        program: runs.map(|code| (Language::JavaScript, code, Json::Null)),
        answer: said.answer,
        tool: said.tool.map(|tool| (tool, said.arguments)),
        search: said.search.map(|words| (words, is_last)),
        thought: said.thought,
        facts: said.facts,
    };
    match (called.solved(&desk, said, &notes).await, program) {
        (Ok(solved), _) => Came::To(solved),
        (Err(why), Some(program)) if !is_last => {
            called.say(&desk, None, why.clone());
            Came::To(Solved::Again(
                json!({ "route": name, "program": program, "why": why }),
            ))
        }
        (Err(why), _) => called.no_answer(&desk, why),
    }
}

/// A model's answer on the way to the answer of a task, from any form. The first member that is
/// there counts.
pub(super) struct Said {
    /// The program to run, with the value that it finds as `input`.
    pub program: Option<(Language, String, Json)>,
    pub answer: Option<String>,
    /// A tool and its arguments, as JSON.
    pub tool: Option<(String, Option<String>)>,
    /// The words to look up, and whether there is no time for that.
    pub search: Option<(String, bool)>,
    pub thought: String,
    pub facts: Vec<String>,
}

/// A call for an answer: of which task, by which route, of which tier.
pub(super) struct Called<'a> {
    task: TaskId,
    route: &'a str,
    tier: Tier,
}

impl<'a> Called<'a> {
    pub fn of(task: TaskId, route: &'a str, tier: Tier) -> Self {
        Self { task, route, tier }
    }

    /// Records the result of the try: an answer and the thought that led to it, or why there is
    /// none.
    pub fn say(&self, desk: &Desk, answer: Option<String>, why: String) {
        let is_high = self.tier == Tier::High;
        let tried = TaskNews::Tried {
            route: self.route.to_owned(),
            tier: if is_high { "high" } else { "low" }.to_owned(),
            answer,
            why,
        };
        desk.journal.say(self.task, tried);
    }

    /// Says that the try came to no answer.
    pub fn no_answer<T>(&self, desk: &Desk, why: String) -> Came<T> {
        self.say(desk, None, cut(&why, TEXT_MAX));
        Came::ToNothing(why)
    }

    /// Returns the result of a model's answer: the answer, which is recorded, or the note with
    /// which it is asked again. The error says why there is neither.
    pub async fn solved(&self, desk: &Desk, said: Said, notes: &[Json]) -> Result<Solved, String> {
        let some = |text: &str| some(text, ANSWER_MAX);
        let answer = if let Some((language, code, input)) = said.program {
            run(desk, language, &code, input).await?.answer
        } else if let Some(answer) = said.answer.as_deref().and_then(some) {
            answer
        } else if let Some((name, with)) = said.tool
            && let Some(name) = some(&name)
        {
            let came = call_tool(desk, self.task, (name, with), notes).await;
            return came.map(Solved::Again);
        } else if let Some((words, is_late)) = said.search
            && let Some(words) = some(&words)
        {
            if is_late {
                return Err("it goes on searching, and says no answer".into());
            }
            let words = cut(&words, TEXT_MAX);
            let found = looked_up(desk, &words).await;
            return Ok(Solved::Again(json!({ "searched": words, "found": found })));
        } else {
            return Err("it says that there is no answer".into());
        };
        self.say(desk, Some(answer.clone()), cut(&said.thought, TEXT_MAX));
        Ok(Solved::Answer(Tried {
            route: self.route.to_owned(),
            answer,
            facts: said.facts,
            steps: Vec::new(),
        }))
    }
}

/// The result of a program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Computed {
    pub answer: String,
    /// The score of it, where the program gives one.
    pub score: Option<f64>,
}

/// Returns the result of a program: the answer in its value and the score of that, where it gives
/// one; else the text that it printed, or its value.
pub(super) async fn run(
    desk: &Desk,
    language: Language,
    code: &str,
    input: Json,
) -> Result<Computed, String> {
    let ran = ran(desk, language, code, input).await?;
    let value = ran
        .outcome
        .map_err(|thrown| format!("the program ended in an error: {}", thrown.message))?;
    let score = value.get("score").and_then(Json::as_f64);
    let (printed, value) = match value.get("answer") {
        Some(answer) => (String::new(), answer),
        None => (cut(&ran.printed, ANSWER_MAX), &value),
    };
    let value = match value {
        Json::String(text) => cut(text, ANSWER_MAX),
        Json::Null => String::new(),
        value => cut(&value.to_string(), ANSWER_MAX),
    };
    let answer = if printed.is_empty() { value } else { printed };
    if answer.is_empty() {
        return Err("the program came to nothing: it printed nothing and has no value".to_owned());
    }
    Ok(Computed { answer, score })
}
