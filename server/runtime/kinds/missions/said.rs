//! What models say of missions and tasks, as they may say it, and what of that is used: it is data, shortened, counted and held against the tasks that
//! there are. Who asks them is `missions/asking.rs`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use super::board::{Board, TaskNow};
use crate::event::mission::{
    ANSWER_MAX, Check, NAME_MAX, NewTask, RUBRIC, Route, TEXT_MAX, TaskId, Value, circle, sameness,
};
use crate::event::statement::cut;
pub(super) use crate::tools::catalogue::mission_plan::Plan as Decompose;

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

/// How a task will be done, as far as it can be used.
#[derive(Debug, Clone, PartialEq, serde::Serialize, Deserialize)]
pub(super) struct Considered {
    pub split: bool,
    pub split_why: String,
    pub question: Option<String>,
    pub routes: Vec<Route>,
    pub check: Check,
}

/// Something that was not done, and why.
pub(super) type Refusal = (TaskId, String, String);

/// A chance as a model says it, and what was wrong with it, if something was.
fn estimate(said: &Json) -> (f64, Option<String>) {
    match said.as_f64() {
        Some(chance) if (0.0..=1.0).contains(&chance) => (chance, None),
        Some(chance) => (
            chance.clamp(0.0, 1.0),
            Some(format!("{chance} is no chance from 0 to 1")),
        ),
        None => (
            0.0,
            Some(format!("{} is no number", cut(&said.to_string(), 60))),
        ),
    }
}

impl Consider {
    /// What can be used of it: at most `most` routes, no two alike; a chance that is none is 0 or the nearest that is one.
    pub fn read(self, task: TaskId, most: usize) -> (Considered, Vec<Refusal>) {
        let (mut routes, mut refused) = (Vec::<Route>::new(), Vec::new());
        let mut chance = |name: &str, said: &Json| {
            let (chance, wrong) = estimate(said);
            refused.extend(wrong.map(|wrong| (task, format!("the estimate of {name}"), wrong)));
            chance
        };
        let ways: Vec<(Way, f64)> = self
            .routes
            .into_iter()
            .map(|way| {
                let chance = chance(&cut(&way.name, NAME_MAX), &way.estimate);
                (way, chance)
            })
            .collect();
        let split = self
            .split
            .then(|| chance("splitting", &self.split_estimate));
        for (way, estimate) in ways {
            let (name, how) = (cut(&way.name, NAME_MAX), cut(&way.how, TEXT_MAX));
            let route = Route {
                name,
                how,
                estimate,
                splits: false,
                learned: None,
            };
            let of = format!("the route {}", route.name);
            if route.name.is_empty() && route.how.is_empty() {
                refused.push((task, "a route".to_owned(), "it says nothing".to_owned()));
            } else if routes
                .iter()
                .any(|known| sameness(&known.how) == sameness(&route.how))
            {
                refused.push((task, of, "another route goes the same way".to_owned()));
            } else if routes.len() >= most {
                refused.push((
                    task,
                    of,
                    format!("a task has at most {most} routes (mission.routes)"),
                ));
            } else {
                routes.push(route);
            }
        }
        if routes.is_empty() {
            routes.push(as_a_whole());
        }
        let splitting = |estimate| Route {
            name: "split".into(),
            how: self.split_why.clone(),
            estimate,
            splits: true,
            learned: None,
        };
        routes.extend(split.map(splitting));
        let rubric = Some(cut(&self.rubric, TEXT_MAX))
            .filter(|it| !it.is_empty())
            .unwrap_or_else(|| RUBRIC.to_owned());
        let text = |text: Option<String>| {
            // A program that is cut is another one.
            text.filter(|it| !it.trim().is_empty() && it.chars().count() <= TEXT_MAX)
        };
        let check = match (self.check, text(self.program), text(self.query)) {
            (Checking::Program, Some(code), _) => Check::Program { code, rubric },
            (Checking::Knowledge, _, Some(query)) => Check::Knowledge { query, rubric },
            (Checking::Agreement, ..) => Check::Agreement { rubric },
            _ => Check::Rubric { rubric },
        };
        let question = self
            .question
            .map(|it| cut(&it, TEXT_MAX))
            .filter(|it| !it.is_empty());
        (
            Considered {
                split: self.split,
                split_why: cut(&self.split_why, TEXT_MAX),
                question,
                routes,
                check,
            },
            refused,
        )
    }
}

fn as_a_whole() -> Route {
    let (name, how) = ("as a whole".into(), "Do the task as it stands.".into());
    Route {
        name,
        how,
        estimate: 0.5,
        splits: false,
        learned: None,
    }
}

impl Considered {
    /// Returns whether agreement of tries decides, each made without the others.
    pub fn is_agreed(&self) -> bool {
        matches!(self.check, Check::Agreement { .. })
    }

    /// Where the model says nothing that can be used.
    pub fn of_nobody(why: &str) -> Self {
        Self {
            split: false,
            split_why: why.to_owned(),
            question: None,
            routes: vec![as_a_whole()],
            check: Check::Rubric {
                rubric: RUBRIC.to_owned(),
            },
        }
    }

    /// Of a task whose plan says all: one step, tried until tries agree.
    pub fn of_exact() -> Self {
        let another = Route {
            name: "another way".into(),
            how: "Do the task by another way than the first that comes to mind.".into(),
            ..as_a_whole()
        };
        Self {
            routes: vec![as_a_whole(), another],
            check: Check::Agreement {
                rubric: RUBRIC.to_owned(),
            },
            ..Self::of_nobody("the plan says that it is one step")
        }
    }
}

impl Decompose {
    /// The tasks that are made of it, at most `room`, and what was refused, by name. The first gets the number `from`.
    pub(super) fn read(
        self,
        board: &Board,
        parent: Option<TaskId>,
        (from, room): (u64, usize),
        most: Value,
    ) -> (Vec<NewTask>, Vec<Refusal>) {
        let about = parent.unwrap_or(TaskId(0));
        let (mut made, mut refused) = (Vec::<NewTask>::new(), Vec::<Refusal>::new());
        let mut numbers = BTreeMap::new();
        let count = self.tasks.len();
        let mut wishes = Vec::new();
        let known = |(task, now): (TaskId, &TaskNow)| {
            ((sameness(&now.name), sameness(&now.description)), task)
        };
        let ancestors: HashMap<_, _> = board.ancestors(parent).map(known).collect();
        let mut twins = HashMap::new();
        for (place, part) in self.tasks.into_iter().enumerate() {
            let (name, description) = (cut(&part.name, NAME_MAX), cut(&part.description, TEXT_MAX));
            let name = if name.is_empty() {
                cut(&description, 60)
            } else {
                name
            };
            let of = format!("the task {name:?}");
            let words = (sameness(&name), sameness(&description));
            if description.is_empty() {
                refused.push((about, of, "it does not say what is to be done".into()));
            } else if let Some(ancestor) = ancestors.get(&words) {
                refused.push((
                    about,
                    of,
                    format!("it is the same as {ancestor}, which it would be a part of"),
                ));
            } else if let Some(twin) = twins.get(&words) {
                refused.push((about, of, format!("it is the same as {twin}")));
            } else if made.len() >= room {
                let why = format!(
                    "a mission has room for {room} more tasks (mission.tasks), and {count} are wanted"
                );
                refused.push((about, "what follows in the list".into(), why));
                break;
            } else {
                let task = TaskId(from + made.len() as u64);
                twins.insert(words, task);
                numbers.insert(place as i64 + 1, task);
                let value = part
                    .value
                    .as_deref()
                    .and_then(Value::parse)
                    .unwrap_or(most)
                    .min(most);
                let brought = part
                    .brought_by
                    .iter()
                    .take(BROUGHT_MAX)
                    .map(|it| cut(it, NAME_MAX));
                let brought_by = brought.filter(|it| !it.is_empty()).collect();
                let (rank, requires) = (made.len() as u64 + 1, Vec::new());
                let exact = part.exact == Some(true);
                made.push(NewTask {
                    task,
                    name,
                    description,
                    value,
                    parent,
                    requires,
                    brought_by,
                    rank,
                    exact,
                });
                wishes.push((task, part.requires));
            }
        }
        require(&mut made, &numbers, wishes, &mut refused);
        (made, refused)
    }
}

/// Writes down what requires what; what closes a circle or is not in the list is refused.
fn require(
    made: &mut [NewTask],
    numbers: &BTreeMap<i64, TaskId>,
    wishes: Vec<(TaskId, Vec<i64>)>,
    refused: &mut Vec<Refusal>,
) {
    let mut requires: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
    // Nothing closes a circle through a task that none requires so far.
    let mut required_by_some = BTreeSet::new();
    for (task, wanted) in wishes {
        for number in wanted {
            let of = format!("to require number {number}");
            let Some(required) = numbers.get(&number).copied() else {
                refused.push((task, of, "no task of the list has that number".into()));
                continue;
            };
            if requires
                .get(&task)
                .is_some_and(|known| known.contains(&required))
            {
                continue;
            }
            let may_close = required == task || required_by_some.contains(&task);
            match may_close
                .then(|| circle(&requires, task, required))
                .flatten()
            {
                Some(way) => {
                    let way = way
                        .iter()
                        .map(TaskId::to_string)
                        .collect::<Vec<_>>()
                        .join(" → ");
                    refused.push((
                        task,
                        format!("to require {required}"),
                        format!("it would close a circle: {way}"),
                    ));
                }
                None => {
                    required_by_some.insert(required);
                    requires.entry(task).or_default().push(required);
                }
            }
        }
    }
    for task in made {
        task.requires = requires.remove(&task.task).unwrap_or_default();
    }
}

impl Solve {
    /// The answer, if there is one.
    pub fn answer(&self) -> Option<String> {
        self.answer
            .as_deref()
            .map(|it| cut(it, ANSWER_MAX))
            .filter(|it| !it.is_empty())
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
        said.read(&Board::default(), None, (1, room), Value::Medium)
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
            refused[0].2.contains("mission.tasks") && refused[0].2.contains("10000"),
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
