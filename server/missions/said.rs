//! Models' answers on missions and tasks, in the shape they have to have, and their usable part.
//! They are data, shortened, counted and held against the tasks that there are.
//! `missions/asking.rs` asks for them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::board::Board;
use super::journal::Refusal;
use thinkd_event::mission::{
    Check, NAME_MAX, NewTask, RUBRIC, Route, TEXT_MAX, TaskId, Value, circle, sameness, shown_way,
};
use thinkd_event::statement::cut;
pub(super) use thinkd_tools::catalogue::mission_plan::Plan as Decompose;

/// Most names that brought to a task.
const BROUGHT_MAX: usize = 16;

/// How a task is to be done.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Consider {
    split: bool,
    split_why: String,
    /// The chance that it works to split.
    #[schemars(with = "f64")]
    split_estimate: Json,
    question: Option<String>,
    routes: Vec<Way>,
    check: Checking,
    program: Option<String>,
    query: Option<String>,
    rubric: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Way {
    name: String,
    how: String,
    #[schemars(with = "f64")]
    estimate: Json,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Checking {
    Program,
    Knowledge,
    Agreement,
    Rubric,
}

/// An answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Solve {
    pub thought: String,
    pub answer: Option<String>,
    pub program: Option<String>,
    pub search: Option<String>,
    /// A tool that is to be called first.
    pub tool: Option<String>,
    /// Its arguments, as JSON.
    pub arguments: Option<String>,
    /// What it rests on, of which nothing was told.
    #[serde(default)]
    pub facts: Vec<String>,
}

/// A verdict.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Judge {
    pub passes: bool,
    pub why: String,
}

/// A task without one that failed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Replan {
    pub possible: bool,
    pub description: Option<String>,
    pub why: String,
}

/// The answer to the mission.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Report {
    pub answer: String,
}

/// The plan of a task, as far as it can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Considered {
    pub split: bool,
    pub split_why: String,
    pub question: Option<String>,
    pub routes: Vec<Route>,
    pub check: Check,
}

/// A question to the user and its answer; no answer: none came in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Said {
    pub question: String,
    pub answer: Option<String>,
}

/// Returns a text, shortened, if it says something.
pub(super) fn some(text: &str, most: usize) -> Option<String> {
    Some(cut(text, most)).filter(|text| !text.is_empty())
}

/// Says of a text that it is empty, if it is.
pub(super) fn filled(what: &str, text: &str) -> Result<(), String> {
    match text.trim() {
        "" => Err(format!("{what} is empty")),
        _ => Ok(()),
    }
}

/// Returns a chance as a model gives it, and the error in it, if there is one.
fn estimate(said: &Json) -> (f64, Option<String>) {
    match said.as_f64() {
        Some(chance) if (0.0..=1.0).contains(&chance) => (chance, None),
        Some(chance) => {
            let wrong = format!("{chance} is no chance from 0 to 1");
            (chance.clamp(0.0, 1.0), Some(wrong))
        }
        None => {
            let wrong = format!("{} is no number", cut(&said.to_string(), 60));
            (0.0, Some(wrong))
        }
    }
}

impl Consider {
    /// Returns the usable part of it: at most `most` routes, no two alike; a chance that is none is
    /// 0 or the nearest that is one.
    pub fn read(self, task: TaskId, most: usize) -> (Considered, Vec<Refusal>) {
        let mut routes = Vec::<Route>::new();
        let mut refused = Vec::new();
        let mut chance = |name: &str, said: &Json| {
            let (chance, wrong) = estimate(said);
            refused.extend(wrong.map(|wrong| (task, format!("the estimate of {name}"), wrong)));
            chance
        };
        let read = |way: &Way| {
            let name = cut(&way.name, NAME_MAX);
            let how = cut(&way.how, TEXT_MAX);
            let estimate = chance(&name, &way.estimate);
            Route::whole(name, how, estimate)
        };
        let listed: Vec<Route> = self.routes.iter().map(read).collect();
        let split = self.split.then(|| {
            let estimate = chance("splitting", &self.split_estimate);
            Route {
                splits: true,
                ..Route::whole("split", self.split_why.as_str(), estimate)
            }
        });
        for route in listed {
            let of = format!("the route {}", route.name);
            let is_same = |known: &Route| sameness(&known.how) == sameness(&route.how);
            let (of, why) = if route.name.is_empty() && route.how.is_empty() {
                ("a route".to_owned(), "it says nothing".to_owned())
            } else if routes.iter().any(is_same) {
                (of, "another route goes the same way".to_owned())
            } else if routes.len() >= most {
                let why = format!("a task has at most {most} routes");
                (of, why)
            } else {
                routes.push(route);
                continue;
            };
            refused.push((task, of, why));
        }
        if routes.is_empty() {
            routes.push(as_a_whole());
        }
        routes.extend(split);
        // A program that is cut is another one.
        let fits = |it: &String| !it.trim().is_empty() && it.chars().count() <= TEXT_MAX;
        let rubric = some(&self.rubric, TEXT_MAX).unwrap_or_else(|| RUBRIC.to_owned());
        let program = self.program.filter(fits);
        let query = self.query.filter(fits);
        let check = match (self.check, program, query) {
            (Checking::Program, Some(code), _) => Check::Program { code, rubric },
            (Checking::Knowledge, _, Some(query)) => Check::Knowledge { query, rubric },
            (Checking::Agreement, ..) => Check::Agreement { rubric },
            _ => Check::Rubric { rubric },
        };
        let considered = Considered {
            split: self.split,
            split_why: cut(&self.split_why, TEXT_MAX),
            question: self.question.and_then(|it| some(&it, TEXT_MAX)),
            routes,
            check,
        };
        (considered, refused)
    }
}

fn as_a_whole() -> Route {
    Route::whole("as a whole", "Do the task as it stands.", 0.5)
}

impl Considered {
    /// Returns whether agreement of tries decides, each made without the others.
    pub fn is_agreed(&self) -> bool {
        matches!(self.check, Check::Agreement { .. })
    }

    /// Returns how a task is done of which the model says nothing that can be used.
    pub fn of_nobody(why: &str) -> Self {
        let rubric = RUBRIC.to_owned();
        Self {
            split: false,
            split_why: why.to_owned(),
            question: None,
            routes: vec![as_a_whole()],
            check: Check::Rubric { rubric },
        }
    }

    /// Returns the way to do a task that the plan calls one step: by that step, tried until tries
    /// agree.
    pub fn of_exact() -> Self {
        let how = "Do the task by another way than the first that comes to mind.";
        let rubric = RUBRIC.to_owned();
        Self {
            routes: vec![as_a_whole(), Route::whole("another way", how, 0.5)],
            check: Check::Agreement { rubric },
            ..Self::of_nobody("the plan says that it is one step")
        }
    }
}

/// Bounds of the tasks that are made of a plan.
pub(super) struct Bounds {
    /// Most tasks.
    pub room: usize,
    /// Highest value of a task.
    pub value: Value,
}

/// Returns the tasks that are made of a plan, and the refusals, by name.
pub(super) fn tasks_of(
    plan: Decompose,
    board: &Board,
    parent: Option<TaskId>,
    bounds: Bounds,
) -> (Vec<NewTask>, Vec<Refusal>) {
    let room = bounds.room;
    let from = board.next_number();
    let about = parent.unwrap_or(TaskId(0));
    let mut made = Vec::<NewTask>::new();
    let mut refused = Vec::<Refusal>::new();
    let mut numbers = BTreeMap::new();
    let mut wishes = Vec::new();
    let count = plan.tasks.len();
    let words = |name: &str, description: &str| (sameness(name), sameness(description));
    let known = |new: &NewTask| (words(&new.name, &new.description), new.task);
    let ancestors: HashMap<_, _> = board.ancestors(parent).map(known).collect();
    let mut twins = HashMap::new();
    for (number, part) in (1..).zip(plan.tasks) {
        let description = cut(&part.description, TEXT_MAX);
        let name = some(&part.name, NAME_MAX).unwrap_or_else(|| cut(&description, 60));
        let of = format!("the task {name:?}");
        let words = words(&name, &description);
        let why = if description.is_empty() {
            "it does not say what is to be done".to_owned()
        } else if let Some(ancestor) = ancestors.get(&words) {
            format!("it is the same as {ancestor}, which it would be a part of")
        } else if let Some(twin) = twins.get(&words) {
            format!("it is the same as {twin}")
        } else if made.len() >= room {
            let why = format!("a mission has room for {room} more tasks, and {count} are wanted");
            refused.push((about, "what follows in the list".into(), why));
            break;
        } else {
            let task = TaskId(from + made.len() as u64);
            twins.insert(words, task);
            numbers.insert(number, task);
            wishes.push((task, part.requires));
            let value = part.value.as_deref().and_then(Value::parse);
            let brought = part.brought_by.iter().take(BROUGHT_MAX);
            made.push(NewTask {
                task,
                name,
                description,
                value: value.unwrap_or(bounds.value).min(bounds.value),
                parent,
                requires: Vec::new(),
                brought_by: brought.filter_map(|it| some(it, NAME_MAX)).collect(),
                rank: made.len() as u64 + 1,
                exact: part.exact == Some(true),
            });
            continue;
        };
        refused.push((about, of, why));
    }
    require(&mut made, &numbers, wishes, &mut refused);
    (made, refused)
}

/// Writes down the requirements of the tasks. One that closes a circle, or that names no task of
/// the list, is refused.
fn require(
    made: &mut [NewTask],
    numbers: &BTreeMap<i64, TaskId>,
    wishes: Vec<(TaskId, Vec<i64>)>,
    refused: &mut Vec<Refusal>,
) {
    let mut requires: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
    // Nothing closes a circle through a task that none requires so far.
    let mut required_by_some = BTreeSet::new();
    let wishes = wishes.into_iter();
    for (task, number) in wishes.flat_map(|(task, all)| all.into_iter().map(move |it| (task, it))) {
        let Some(required) = numbers.get(&number).copied() else {
            let of = format!("to require number {number}");
            refused.push((task, of, "no task of the list has that number".into()));
            continue;
        };
        let known = requires.entry(task).or_default();
        if known.contains(&required) {
            continue;
        }
        let may_close = required == task || required_by_some.contains(&task);
        if may_close && let Some(way) = circle(&requires, task, required) {
            let why = format!("it would close a circle: {}", shown_way(&way));
            refused.push((task, format!("to require {required}"), why));
            continue;
        }
        required_by_some.insert(required);
        requires.entry(task).or_default().push(required);
    }
    for task in made {
        task.requires = requires.remove(&task.task).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn considered(routes: Json, split_estimate: Json) -> (Considered, Vec<Refusal>) {
        let said = json!({
            "split": true, "split_why": "it is long", "split_estimate": split_estimate, "question": null, "routes": routes,
            "check": "program", "program": " ", "query": null, "rubric": "",
        });
        serde_json::from_value::<Consider>(said)
            .unwrap()
            .read(TaskId(1), 3)
    }

    /// Scores that are negative, above one, missing or words.
    #[test]
    fn estimates_that_are_none_are_bounded_and_named() {
        let routes = json!([
            { "name": "a", "how": "1", "estimate": -1 }, { "name": "b", "how": "2", "estimate": 7.5 },
            { "name": "c", "how": "3", "estimate": "likely" }, { "name": "d", "how": "4", "estimate": 0.5 },
            { "name": "e", "how": " 1 ", "estimate": 0.5 },
        ]);
        let (considered, refused) = considered(routes, json!(null));
        let estimates: Vec<f64> = considered.routes.iter().map(|it| it.estimate).collect();
        assert_eq!(
            estimates,
            [0.0, 1.0, 0.0, 0.0],
            "three routes, and to split"
        );
        assert!(considered.routes[3].splits);
        let named: Vec<&str> = refused.iter().map(|it| it.1.as_str()).collect();
        let of = |name: &str| format!("the estimate of {name}");
        assert_eq!(
            named,
            [
                &of("a"),
                &of("b"),
                &of("c"),
                &of("splitting"),
                "the route d",
                "the route e"
            ]
        );
        assert_eq!(
            considered.check.rubric(),
            RUBRIC,
            "a program that is none is no check"
        );
        assert!(matches!(considered.check, Check::Rubric { .. }));
    }

    fn parts(list: Json, room: usize) -> (Vec<NewTask>, Vec<Refusal>) {
        let said: Decompose = serde_json::from_value(json!({ "tasks": list })).unwrap();
        let bounds = Bounds {
            room,
            value: Value::Medium,
        };
        tasks_of(said, &Board::default(), None, bounds)
    }

    fn part(name: &str, requires: &[i64]) -> Json {
        json!({ "name": name, "description": format!("do {name}"), "requires": requires, "value": "high", "brought_by": [] })
    }

    #[test]
    fn circles_and_strangers_are_refused_by_name() {
        let (made, refused) = parts(
            json!([
                part("a", &[1, 2]),
                part("b", &[3, 9]),
                part("c", &[1]),
                part("d", &[])
            ]),
            9,
        );
        let requires: Vec<Vec<u64>> = made
            .iter()
            .map(|it| it.requires.iter().map(|it| it.0).collect())
            .collect();
        assert_eq!(
            requires,
            [vec![2], vec![3], vec![], vec![]],
            "what comes first in the list counts"
        );
        assert!(
            made.iter().all(|it| it.value == Value::Medium),
            "no task is above its mission"
        );
        let why: Vec<String> = refused
            .iter()
            .map(|(task, of, why)| format!("{task} {of}: {why}"))
            .collect();
        assert_eq!(
            why,
            [
                "t1 to require t1: it would close a circle: t1 → t1",
                "t2 to require number 9: no task of the list has that number",
                "t3 to require t1: it would close a circle: t3 → t1 → t2 → t3",
            ]
        );
    }

    #[test]
    fn ten_thousand_tasks_are_as_many_as_there_is_room_for() {
        let (made, refused) = parts(
            (0..10_000).map(|n| part(&n.to_string(), &[])).collect(),
            100,
        );
        assert_eq!((made.len(), refused.len()), (100, 1));
        assert!(
            refused[0].2.contains("a mission has room") && refused[0].2.contains("10000"),
            "{refused:?}"
        );
    }

    #[test]
    fn twins_are_refused() {
        let twin = json!({ "name": " x ", "description": "DO  X", "requires": [], "value": null, "brought_by": [] });
        let (made, refused) = parts(
            json!([part("x", &[]), twin, { "name": "", "description": " ", "requires": [], "value": null, "brought_by": [] }]),
            9,
        );
        assert_eq!(made.len(), 1);
        assert_eq!(refused.len(), 2, "{refused:?}");
    }
}
