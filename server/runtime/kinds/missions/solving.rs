//! How a task is tried: one call after the other, each a node of the pipeline in `missions/flow.rs`, until there is an answer or none will come. A program is
//! run, words to search for are looked up, tools are called. Whether an answer will do is in `missions/steps.rs`.

use runner::request::Language;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use unhurried::{Context, NodeExecutionError, node};

use super::asking::{Ask, Came};
use super::calling::{is_step, steps};
use super::desk::Desk;
use super::said::{Considered, Solve};
use super::steps::{quoted, word};
use crate::event::mission::{Route, Step, TEXT_MAX, TaskId, sameness};
use crate::event::statement::cut;
use crate::event::task::{TaskNews, ToolStep};
use crate::model::provider::Tier;

/// So often is an answer asked for, one whose program ends in an error or that has to be looked up first: of the ordinary model, and of the high tier.
pub(super) const PROGRAMS: usize = 3;
const PROGRAMS_HIGH: usize = 6;

/// An answer and the route that led to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tried {
    pub route: String,
    pub answer: String,
    /// What it claims of the world.
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
    pub fn nothing(route: &str, why: String) -> Self {
        Self {
            route: route.to_owned(),
            answer: None,
            why,
        }
    }

    /// Whether it came to this answer.
    pub fn is_answered(&self, answer: &str) -> bool {
        let same = |own: &String| sameness(own) == sameness(answer);
        self.answer.as_ref().is_some_and(same)
    }
}

impl Considered {
    /// The tries that another one is told of.
    pub fn told<'a>(&self, wrong: &'a [Verdict]) -> &'a [Verdict] {
        if self.is_agreed() { &[] } else { wrong }
    }
}

/// Tries a task by one step. A program in an answer is run, its value is the answer; one that ends in an error is asked for again, with the error. Words
/// to search the knowledge base for are answered with what it finds, calls of tools with what they come to.
pub(super) async fn solve(
    desk: &Desk,
    task: TaskId,
    step: Step,
    how: &Considered,
    wrong: &[Verdict],
) -> Result<Came<Tried>, NodeExecutionError> {
    let most = if matches!(step, Step::High(_)) {
        PROGRAMS_HIGH
    } else {
        PROGRAMS
    };
    // No two tries that have to agree are asked for in the same words.
    let attempt = how.is_agreed().then_some(wrong.len() + 1);
    let once = |notes, is_last| {
        solve_once(
            Context::new(task),
            (step, attempt),
            how.routes.clone(),
            notes,
            is_last,
            desk.clone(),
        )
    };
    until_answered(how.told(wrong), most, once).await
}

/// Asks for an answer, each time with what came of the times before and whether it is the last one, until there is one or none will come. Calls of tools are
/// not counted here: they have a limit of their own.
pub(super) async fn until_answered(
    wrong: &[Verdict],
    most: usize,
    once: impl Fn(Vec<Json>, bool) -> Context<Came<Solved>>,
) -> Result<Came<Tried>, NodeExecutionError> {
    let mut notes: Vec<Json> = wrong.iter().map(|it| json!(it)).collect();
    let known = notes.len();
    loop {
        let times = notes[known..].iter().filter(|note| !is_step(note)).count() + 1;
        match once(notes.clone(), times >= most).await? {
            Came::To(Solved::Answer(tried)) => {
                return Ok(Came::To(Tried {
                    steps: steps(&notes[known..]),
                    ..tried
                }));
            }
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
    let name = route.map_or("split", |route| &route.name).to_owned();
    let how = route.map_or(
        "The task was split: put its answer together from those of its parts.",
        |it| &it.how,
    );
    let prompts = desk.client().prompts();
    let values = vec![
        ("mission".to_owned(), quoted(&desk.wanted().mission)),
        ("task".to_owned(), desk.described(task)),
        ("route".to_owned(), shown_route(&name, how, attempt)),
        ("tools".to_owned(), desk.tools_told().await),
        ("so_far".to_owned(), json!(notes).to_string()),
    ];
    let (system, tail) = (&prompts.mission_solve, &prompts.mission_try);
    let ask = Ask {
        node: "solve",
        tool: "solve",
        task: Some(task),
        tier,
        system,
        tail,
        values,
    };
    let said = match desk.ask::<Solve>(ask, |_| Ok(())).await {
        Came::To(said) => said,
        Came::ToNothing(why) => return desk.no_answer(task, &name, tier, why),
        Came::Spent(why) => return Came::Spent(why),
    };
    let some = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let (program, tool, search) = (some(&said.program), some(&said.tool), some(&said.search));
    let answer = match (&program, said.answer(), tool, search) {
        (Some(program), ..) => desk
            .run(Language::JavaScript, program, Json::Null)
            .await
            .map(|it| it.answer),
        (None, Some(answer), ..) => Ok(answer),
        (None, None, Some(tool), _) => match desk
            .call_tool(task, &tool, said.arguments.as_deref(), &notes)
            .await
        {
            Ok(note) => return Came::To(Solved::Again(note)),
            Err(why) => Err(why),
        },
        (None, None, None, Some(words)) if !is_last => {
            let words = cut(&words, TEXT_MAX);
            return Came::To(Solved::Again(
                json!({ "searched": words, "found": desk.looked_up(&words).await }),
            ));
        }
        (None, None, None, Some(_)) => Err("it goes on searching, and says no answer".to_owned()),
        (None, None, None, None) => Err("it says that there is no answer".to_owned()),
    };
    match answer {
        Ok(answer) => {
            let (tier, why) = (word(tier), cut(&said.thought, TEXT_MAX));
            desk.say(
                task,
                [TaskNews::Tried {
                    route: name.clone(),
                    tier,
                    answer: Some(answer.clone()),
                    why,
                }],
            );
            Came::To(Solved::Answer(Tried {
                route: name,
                answer,
                facts: said.facts,
                steps: Vec::new(),
            }))
        }
        Err(why) if program.is_some() && !is_last => {
            let (of, tier, said) = (name.clone(), word(tier), why.clone());
            desk.say(
                task,
                [TaskNews::Tried {
                    route: of,
                    tier,
                    answer: None,
                    why: said,
                }],
            );
            Came::To(Solved::Again(
                json!({ "route": name, "program": program, "why": why }),
            ))
        }
        Err(why) => desk.no_answer(task, &name, tier, why),
    }
}

fn shown_route(name: &str, how: &str, attempt: Option<usize>) -> String {
    let mut shown = json!({ "name": name, "how": how });
    if let Some(attempt) = attempt {
        shown["attempt"] = attempt.into();
    }
    shown.to_string()
}
