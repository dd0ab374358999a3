//! The steps of a mission: each asks a model or decides by a rule, says what came of it, and is a node of the pipeline in `missions/flow.rs`. What depends on
//! anything but its arguments and the values of steps before is decided in here, so that the journal has it.

use runner::request::Language;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use unhurried::{Context, NodeExecutionError, node};

use super::asking::{Ask, Came};
use super::checking::Decided;
use super::closing;
use super::desk::Desk;
use super::said::{Judge, Report, Solve};
use crate::event::agreement::Pool;
use crate::event::draft::Draft;
use crate::event::fact::set::Thread;
use crate::event::mission::{ANSWER_MAX, Check, Expected, Figures, Route, Step, TEXT_MAX, TaskId};
use crate::event::statement::cut;
use crate::event::task::TaskNews;
use crate::model::provider::Tier;
use crate::thread::settings::{Kind, Settings};

/// So often is an answer asked for, one whose program ends in an error or that has to be looked up first: of the ordinary model, and of the high tier.
pub(super) const PROGRAMS: usize = 3;
const PROGRAMS_HIGH: usize = 6;

/// An answer and the route that led to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tried {
    pub route: String,
    pub answer: String,
}

/// A try that came to nothing, for those that come after it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Verdict {
    pub route: String,
    pub answer: Option<String>,
    pub why: String,
}

impl Verdict {
    pub fn nothing(route: &str, why: String) -> Self {
        Self { route: route.to_owned(), answer: None, why }
    }
}

/// How a task ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ended {
    answer: Option<String>,
    reason: Option<String>,
}

impl Ended {
    pub fn closed(answer: String) -> Self {
        Self { answer: Some(answer), reason: None }
    }

    pub fn failed(reason: String) -> Self {
        Self { answer: None, reason: Some(cut(&reason, TEXT_MAX)) }
    }
}

/// A task begins, in a thread of its own. Returns one that it requires and that failed.
#[node]
pub(super) async fn begin(task: TaskId, desk: Desk) -> Option<TaskId> {
    let (behind, name) = {
        let mut board = desk.board();
        let behind = board.failed_before(task);
        let now = board.get_mut(task);
        (behind, now.map(|now| (now.status, now.name.clone())))
    };
    let (thread, _) = desk.seat(Some(task));
    let title = name.map(|(_, name)| name);
    let settings = Settings { title, kind: Kind::Mission, ..Settings::default() };
    desk.beside(
        Some(task),
        [Draft::set_thread(&thread, Thread { settings: Some(&json!(settings)), ..Thread::default() })],
    );
    desk.say(task, [TaskNews::Began { behind }]);
    desk.board().begin(task);
    behind
}

/// Whether a task is tried once more by the high tier: a rule over figures.
#[node]
pub(super) async fn retry(task: TaskId, desk: Desk) -> bool {
    let figures = desk.figures();
    let made = figures.allow_retry();
    desk.say(task, [TaskNews::Retry { made, figures }]);
    made
}

/// Tries a task by one step. A program in an answer is run, its value is the answer; one that ends in an error is asked for again, with the error. Words
/// to search the knowledge base for are answered with what it finds.
pub(super) async fn solve(
    desk: &Desk,
    task: TaskId,
    step: Step,
    routes: &[Route],
    wrong: &[Verdict],
) -> Result<Came<Tried>, NodeExecutionError> {
    let mut notes: Vec<Json> = wrong.iter().map(|it| json!(it)).collect();
    let known = notes.len();
    let most = if matches!(step, Step::High(_)) { PROGRAMS_HIGH } else { PROGRAMS };
    loop {
        let is_last = notes.len() - known + 1 >= most;
        let solved = solve_once(Context::new(task), step, routes.to_vec(), notes.clone(), is_last, desk.clone());
        match solved.await? {
            Came::To(Solved::Answer(tried)) => return Ok(Came::To(tried)),
            Came::To(Solved::Again(note)) => notes.push(note),
            Came::ToNothing(why) => return Ok(Came::ToNothing(why)),
            Came::Spent(why) => return Ok(Came::Spent(why)),
        }
    }
}

/// What came of one call for an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Solved {
    Answer(Tried),
    /// None yet: it is asked for again, with this.
    Again(Json),
}

/// One call for an answer.
#[node]
pub(super) async fn solve_once(
    task: TaskId,
    step: Step,
    routes: Vec<Route>,
    notes: Vec<Json>,
    is_last: bool,
    desk: Desk,
) -> Came<Solved> {
    let (route, tier) = match step {
        Step::Whole(at) => (routes.get(at), Tier::Low),
        Step::High(at) => (routes.get(at), Tier::High),
        Step::Alone { route, .. } => (routes.get(route), Tier::Low),
        Step::Split => (None, Tier::Low),
    };
    let attempt = if let Step::Alone { attempt, .. } = step { Some(attempt) } else { None };
    let name = route.map_or("split", |route| &route.name).to_owned();
    let how = route.map_or("The task was split: put its answer together from those of its parts.", |it| &it.how);
    let prompts = desk.client().prompts();
    let values = vec![
        ("mission".to_owned(), quoted(&desk.wanted().mission)),
        ("task".to_owned(), desk.described(task)),
        ("route".to_owned(), shown_route(&name, how, attempt)),
        ("so_far".to_owned(), json!(notes).to_string()),
    ];
    let (system, tail) = (&prompts.mission_solve, &prompts.mission_try);
    let ask = Ask { node: "solve", tool: "solve", task: Some(task), tier, system, tail, values };
    let said = match desk.ask::<Solve>(ask, |_| Ok(())).await {
        Came::To(said) => said,
        Came::ToNothing(why) => return desk.no_answer(task, &name, tier, why),
        Came::Spent(why) => return Came::Spent(why),
    };
    let some = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let (program, search) = (some(&said.program), some(&said.search));
    let answer = match (&program, said.answer(), search) {
        (Some(program), ..) => desk.run(Language::JavaScript, program, Json::Null).await.map(|it| it.answer),
        (None, Some(answer), _) => Ok(answer),
        (None, None, Some(words)) if !is_last => {
            let words = cut(&words, TEXT_MAX);
            return Came::To(Solved::Again(json!({ "searched": words, "found": desk.looked_up(&words).await })));
        }
        (None, None, Some(_)) => Err("it goes on searching, and says no answer".to_owned()),
        (None, None, None) => Err("it says that there is no answer".to_owned()),
    };
    match answer {
        Ok(answer) => {
            let (tier, why) = (word(tier), cut(&said.thought, TEXT_MAX));
            desk.say(task, [TaskNews::Tried { route: name.clone(), tier, answer: Some(answer.clone()), why }]);
            Came::To(Solved::Answer(Tried { route: name, answer }))
        }
        Err(why) if program.is_some() && !is_last => {
            let (of, tier, said) = (name.clone(), word(tier), why.clone());
            desk.say(task, [TaskNews::Tried { route: of, tier, answer: None, why: said }]);
            Came::To(Solved::Again(json!({ "route": name, "program": program, "why": why })))
        }
        Err(why) => desk.no_answer(task, &name, tier, why),
    }
}

/// Whether an answer will do: by the check that was chosen before there was one, or where that decides nothing, by a model that sees task and answer only.
#[node]
pub(super) async fn check(
    task: TaskId,
    check: Check,
    expected: Option<Expected>,
    answer: String,
    desk: Desk,
) -> Came<()> {
    let Decided { by, passes, why } = match desk.decided(&check, &answer).await {
        Ok(decided) => decided,
        Err(undecided) => {
            let (system, tail) = (&desk.client().prompts().mission_judge, &desk.client().prompts().mission_verdict);
            let values = vec![
                ("task".to_owned(), desk.bare(task)),
                ("rubric".to_owned(), quoted(check.rubric())),
                ("answer".to_owned(), quoted(&answer)),
            ];
            let ask = Ask { node: "judge", tool: "judge", task: Some(task), tier: Tier::Low, system, tail, values };
            let (passes, why) = match desk.ask::<Judge>(ask, |_| Ok(())).await {
                Came::To(Judge { passes, why }) => (passes, cut(&why, TEXT_MAX)),
                Came::ToNothing(why) => (false, format!("nobody judged it: {why}")),
                Came::Spent(why) => return Came::Spent(why),
            };
            let why = if undecided.is_empty() { why } else { format!("{why} ({undecided})") };
            Decided { by: "rubric", passes, why }
        }
    };
    if let Some(expected) = &expected {
        desk.records().note(expected, passes);
    }
    desk.say(task, [TaskNews::Judged { by: by.to_owned(), passes, why: why.clone(), expected }]);
    if passes { Came::To(()) } else { Came::ToNothing(why) }
}

/// A task is over, and its thread with it.
#[node]
pub(super) async fn end(task: TaskId, ended: Ended, desk: Desk) {
    desk.beside(Some(task), closing::over(desk.mission_thread(), task, ended.answer.clone(), ended.reason.clone()));
    desk.board().end(task, ended.answer, ended.reason);
}

/// The answer to the mission, from all its tasks and their answers.
#[node]
pub(super) async fn answer(nothing: (), desk: Desk) -> Came<String> {
    let () = nothing;
    let tasks: Vec<Json> = desk.board().all().map(|(task, now)| closing::shown(task, now)).collect();
    let values =
        vec![("mission".to_owned(), quoted(&desk.wanted().mission)), ("tasks".to_owned(), json!(tasks).to_string())];
    let (system, tail) = (&desk.client().prompts().mission_answer, &desk.client().prompts().mission_tasks);
    let ask = Ask { node: "answer", tool: "answer", task: None, tier: Tier::Low, system, tail, values };
    let some = |said: &Report| match said.answer.trim().is_empty() {
        true => Err("the answer is empty".to_owned()),
        false => Ok(()),
    };
    match desk.ask::<Report>(ask, some).await {
        Came::To(said) => Came::To(cut(&said.answer, ANSWER_MAX)),
        Came::ToNothing(_) => Came::ToNothing(closing::what_there_is(&desk.board(), None)),
        Came::Spent(why) => Came::Spent(why),
    }
}

/// Others' words as one JSON string: nothing in them can end it.
pub(super) fn quoted(text: &str) -> String {
    json!(text).to_string()
}

fn shown_route(name: &str, how: &str, attempt: Option<usize>) -> String {
    let mut shown = json!({ "name": name, "how": how });
    if let Some(attempt) = attempt {
        shown["attempt"] = attempt.into();
    }
    shown.to_string()
}

pub(super) fn word(tier: Tier) -> String {
    if tier == Tier::High { "high" } else { "low" }.to_owned()
}

impl Desk {
    /// What the mission has left.
    pub fn figures(&self) -> Figures {
        Figures { calls_left: self.calls_left(), tasks_left: self.board().left() }
    }

    /// What a task that is under way takes its tries from.
    pub fn pool(&self) -> Pool {
        let (open, begun) = self.board().to_come();
        Pool { calls: self.calls_left(), open, begun: begun.saturating_sub(1) }
    }

    fn calls_left(&self) -> u64 {
        self.purse().calls_left().unwrap_or(u64::MAX >> 12)
    }

    /// A task as those are told of it who work on it: with what was done before, and with its parts.
    pub fn described(&self, task: TaskId) -> String {
        let board = self.board();
        let Some(now) = board.get(task) else { return String::new() };
        let before = now.requires.iter().filter_map(|it| Some(closing::shown(*it, board.get(*it)?)));
        let before: Vec<Json> = before.collect();
        json!({ "id": task.to_string(), "name": now.name, "description": now.description, "before": before })
            .to_string()
    }

    /// A task as who judges its answer is told of it.
    fn bare(&self, task: TaskId) -> String {
        let board = self.board();
        board
            .get(task)
            .map_or_else(String::new, |now| json!({ "name": now.name, "description": now.description }).to_string())
    }

    /// Says that a try came to no answer.
    pub fn no_answer<T>(&self, task: TaskId, route: &str, tier: Tier, why: String) -> Came<T> {
        let (route, tier) = (route.to_owned(), word(tier));
        self.say(task, [TaskNews::Tried { route, tier, answer: None, why: cut(&why, TEXT_MAX) }]);
        Came::ToNothing(why)
    }
}
