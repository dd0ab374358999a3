//! Missions as values: their goal, their tasks, the routes by which one is tried, and the rules for
//! that. Pure: the words of a model become these types in `missions/said.rs`, events are made of
//! them in `fact/task.rs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thinkd_facts::Members;
use utoipa::ToSchema;

use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::spelling::words;

/// Most characters of a mission.
pub const MISSION_MAX: usize = 16_000;
/// Most characters of a task's name.
pub const NAME_MAX: usize = 200;
/// Most characters of a task's description, a rubric, a program.
pub const TEXT_MAX: usize = 8_000;
/// Most characters of a task's answer.
pub const ANSWER_MAX: usize = 16_000;
/// Most bytes of the answer to a mission that is put together from parts.
pub const REPORT_MAX: usize = 60_000;

/// The requirements of an answer where no others are given.
pub const RUBRIC: &str =
    "The answer does what the task asks for, completely, and nothing in it is wrong.";

words! {
    /// The cost that a mission or a task may have: a task is never worth more than its mission.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, ToSchema,
    )]
    #[serde(rename_all = "lowercase")]
    pub enum Value {
        /// Only the ordinary model is asked.
        Low = "low",
        /// The high tier may be asked, too.
        #[default]
        Medium = "medium",
        /// As well, and the user may be asked.
        High = "high",
    }
}

/// When the tasks of a mission begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// As soon as there are any.
    #[default]
    Go,
    /// When a person has approved which they are.
    Ask,
}

impl Plan {
    /// Returns true if it is the usual one.
    pub fn is_go(&self) -> bool {
        *self == Self::Go
    }
}

/// The most that a mission may use up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Limits)]
pub struct MissionBudget {
    /// Model calls.
    pub model_calls: u64,
    /// Tokens, in and out, as far as providers say.
    pub tokens: u64,
    /// Milliseconds of work.
    pub time_ms: u64,
}

/// The most that a mission may use up.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CreateBudget)]
pub struct BudgetWanted {
    /// Model calls.
    #[schema(minimum = 1)]
    pub model_calls: Option<u64>,
    /// Tokens, in and out.
    #[schema(minimum = 1)]
    pub tokens: Option<u64>,
    /// Milliseconds of work.
    #[schema(minimum = 1)]
    pub time_ms: Option<u64>,
}

impl MissionBudget {
    /// Returns the same, or less of it where less is wanted.
    pub fn within(self, wanted: BudgetWanted) -> Self {
        let least = |most: u64, wanted: Option<u64>| wanted.map_or(most, |it| it.min(most));
        Self {
            model_calls: least(self.model_calls, wanted.model_calls),
            tokens: least(self.tokens, wanted.tokens),
            time_ms: least(self.time_ms, wanted.time_ms),
        }
    }
}

/// A mission to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// The goal, in the words of the one that wants it.
    pub mission: String,
    /// Its value.
    pub value: Value,
    /// Its budget.
    pub budget: MissionBudget,
    /// When its tasks begin.
    #[serde(default, skip_serializing_if = "Plan::is_go")]
    pub plan: Plan,
    /// The thread that began it, and is told the answer; none: people did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<ThreadId>,
    /// The event from outside that this goes back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Seq>,
}

/// The number of a task in its mission; ids are written `t1`, `t2`, … in the order in which tasks were made.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct TaskId(pub u64);

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "t{}", self.0)
    }
}

impl TaskId {
    /// Reads the text that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.strip_prefix('t')?;
        let is_plain = !number.starts_with(['0', '+']);
        number.parse().ok().filter(|_| is_plain).map(Self)
    }
}

/// A task to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Members)]
pub struct NewTask {
    /// Its number.
    #[fact(tag = "", read = TaskId(raw.count("task")?))]
    pub task: TaskId,
    /// Its name.
    pub name: String,
    /// The work to be done.
    pub description: String,
    /// The cost that it may have.
    #[fact(json, kind = "\"low\" | \"medium\" | \"high\"")]
    pub value: Value,
    /// The task that was split into it and others.
    #[fact(json, or_null, kind = "number | null")]
    pub parent: Option<TaskId>,
    /// The tasks that have to end before it begins.
    #[fact(json, kind = "number[]")]
    pub requires: Vec<TaskId>,
    /// Names of tasks and thoughts that brought to it, as the planner says.
    #[fact(json, kind = "string[]")]
    pub brought_by: Vec<String>,
    /// Its place among its siblings: the lowest goes first.
    pub rank: u64,
    /// True if it is one step with a short answer: it is tried, without being considered, until
    /// tries agree.
    #[fact(optional)]
    pub exact: bool,
}

/// A change of a task; an absent member stays as it is.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EditTask)]
pub struct TaskEdit {
    /// Its name.
    pub name: Option<String>,
    /// The work to be done.
    #[schema(example = "Order the talks, the longest first.")]
    pub description: Option<String>,
    /// The ids of the tasks beside it that have to end before it begins.
    pub tasks_required: Option<Vec<String>>,
    /// Its place among its siblings: the lowest goes first.
    #[schema(minimum = 0, maximum = 1_000_000)]
    pub rank: Option<u64>,
}

words! {
    /// The status of a task.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum TaskStatus {
        /// Ready to begin as soon as the tasks that it requires have ended.
        Open = "open",
        /// Under way.
        InProgress = "in_progress",
        /// Answered, and the answer passed its check.
        Closed = "closed",
        /// Everything that is allowed was tried.
        FailedWithCurrentAvailableInstruments = "failed_with_current_available_instruments",
    }
}

impl TaskStatus {
    /// Returns the status of a task that has ended, with an answer or without one.
    pub const fn ended(is_answered: bool) -> Self {
        match is_answered {
            true => Self::Closed,
            false => Self::FailedWithCurrentAvailableInstruments,
        }
    }

    /// Returns true if no more work is done for it.
    pub const fn is_over(self) -> bool {
        matches!(
            self,
            Self::Closed | Self::FailedWithCurrentAvailableInstruments
        )
    }
}

/// A way to do a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Its name.
    pub name: String,
    /// The way it goes.
    pub how: String,
    /// The chance that it works, from 0 to 1, as the model estimates it.
    pub estimate: f64,
    /// True if it splits the task instead of doing it as a whole.
    pub splits: bool,
    /// The same chance, as learned from the outcomes of earlier routes of its kind; none: there
    /// were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<f64>,
}

impl Route {
    /// Returns a way to do a task as a whole, of which nothing was learned.
    pub fn whole(name: impl Into<String>, how: impl Into<String>, estimate: f64) -> Self {
        Self {
            name: name.into(),
            how: how.into(),
            estimate,
            splits: false,
            learned: None,
        }
    }

    /// The kind of route that this is.
    pub const fn kind(&self) -> &'static str {
        if self.splits { "split" } else { "whole" }
    }

    /// The chance that it works: as learned, or else as the model says.
    pub fn chance(&self) -> f64 {
        self.learned.unwrap_or(self.estimate)
    }

    /// Returns the estimate for a try of it, by the high tier or the ordinary model.
    pub fn expected(&self, high: bool) -> Expected {
        Expected {
            kind: if high { "high" } else { self.kind() }.to_owned(),
            said: self.estimate,
            learned: self.chance(),
        }
    }
}

/// The estimate for a try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// The kind of its route: `whole`, `split`, `high`; `framework` and its id, where it was made with one.
    pub kind: String,
    /// The chance, as the model said.
    pub said: f64,
    /// The chance, as learned from the outcomes of earlier ones; as the model said where there were
    /// none.
    pub learned: f64,
}

/// The way in which an answer is checked. Chosen before there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum Check {
    /// A program with a value that is true where the answer will do.
    Program {
        /// JavaScript; `input.answer` is the answer.
        code: String,
        /// The rubric of a model where the program decides nothing.
        rubric: String,
    },
    /// The knowledge base: the answer has to stand in its findings.
    Knowledge {
        /// The query.
        query: String,
        /// The rubric of a model where nothing is found.
        rubric: String,
    },
    /// Tries that know nothing of each other: two have to come to the same answer (`event/agreement.rs`).
    Agreement {
        /// The rubric of answers.
        rubric: String,
    },
    /// A model, which sees task and answer and nothing else.
    Rubric {
        /// The rubric of the model.
        rubric: String,
    },
}

impl Check {
    /// Returns the rubric of a model.
    pub fn rubric(&self) -> &str {
        match self {
            Self::Program { rubric, .. }
            | Self::Knowledge { rubric, .. }
            | Self::Agreement { rubric }
            | Self::Rubric { rubric } => rubric,
        }
    }
}

/// The next attempt at a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// This one of its routes, as a whole, by the ordinary model.
    Whole(usize),
    /// To split it.
    Split,
    /// The best whole route once more, by the high tier.
    High(usize),
}

/// Returns in which order a task is tried: routes by falling chance, as they were listed where these are equal; the high tier, if the task is worth it; split,
/// if that was no route. Every step is taken once.
pub fn ladder(routes: &[Route], is_worth_high: bool) -> Vec<Step> {
    let mut order: Vec<usize> = (0..routes.len()).collect();
    order.sort_by(|a, b| routes[*b].chance().total_cmp(&routes[*a].chance()));
    let mut steps = Vec::new();
    for route in &order {
        let step = match routes[*route].splits {
            true => Step::Split,
            false => Step::Whole(*route),
        };
        // Two ways to split are one: the parts are asked for when it is tried.
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    let best = order.iter().find(|route| !routes[**route].splits);
    steps.extend(best.filter(|_| is_worth_high).map(|best| Step::High(*best)));
    if !steps.contains(&Step::Split) {
        steps.push(Step::Split);
    }
    steps
}

/// The figures by which it is decided whether the high tier is asked once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// The number of model calls that the mission has left.
    pub calls_left: u64,
    /// The number of its tasks that have not ended, this one included.
    pub tasks_left: u64,
}

impl Figures {
    /// Returns true if the retry is made: the calls that it takes (a try and a verdict) leave as
    /// many for every other task, and the last answer.
    pub const fn allow_retry(self) -> bool {
        self.calls_left > self.tasks_left.saturating_mul(2)
    }

    /// Returns true if a framework is made for a task that was tried in vain: as with a retry, the
    /// calls that it takes leave enough for all others.
    pub const fn allow_framework(self) -> bool {
        let others = self.tasks_left.saturating_mul(2);
        self.calls_left > others.saturating_add(FRAMEWORK_CALLS - 2)
    }
}

/// So many calls a framework takes at most: it is written and repaired, its parameters are explained, the task is tried with it, and that is judged.
const FRAMEWORK_CALLS: u64 = 6;

/// Text as it is compared: case and white space do not make two tasks of one.
pub fn sameness(text: &str) -> String {
    let words = text.split_whitespace().map(str::to_lowercase);
    words.collect::<Vec<_>>().join(" ")
}

/// Returns a circle of tasks as it reads.
pub fn shown_way(way: &[TaskId]) -> String {
    let way: Vec<String> = way.iter().map(TaskId::to_string).collect();
    way.join(" → ")
}

/// Returns the tasks of the circle that a new requirement of one closes, in their order from that
/// task on; none: there is no circle.
pub fn circle(
    requires: &BTreeMap<TaskId, Vec<TaskId>>,
    task: TaskId,
    required: TaskId,
) -> Option<Vec<TaskId>> {
    // Each task that was reached, and from where.
    let mut reached = BTreeMap::from([(required, task)]);
    let mut next = vec![required];
    while let Some(last) = next.pop() {
        if last == task {
            let before = |at: &TaskId| reached.get(at).copied().filter(|at| *at != task);
            let mut way: Vec<TaskId> = std::iter::successors(Some(task), before).collect();
            way.push(task);
            way.reverse();
            return Some(way);
        }
        for further in requires.get(&last).into_iter().flatten() {
            if let std::collections::btree_map::Entry::Vacant(vacant) = reached.entry(*further) {
                vacant.insert(last);
                next.push(*further);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(estimate: f64, splits: bool) -> Route {
        Route {
            splits,
            ..Route::whole(estimate.to_string(), "", estimate)
        }
    }

    /// D1.32, D1.54, T1.16: by falling estimate, ties as listed; the high tier, then to split.
    #[test]
    fn a_ladder_goes_by_estimates_then_up_then_apart() {
        let steps = ladder;
        let three = [route(0.2, false), route(0.9, false), route(0.5, false)];
        let whole = [Step::Whole(1), Step::Whole(2), Step::Whole(0)];
        assert_eq!(
            steps(&three, true),
            [&whole[..], &[Step::High(1), Step::Split]].concat()
        );
        assert_eq!(steps(&three, false), [&whole[..], &[Step::Split]].concat());
        let ties = [
            route(0.5, false),
            route(0.5, true),
            route(0.5, false),
            route(0.1, true),
        ];
        assert_eq!(
            steps(&ties, true),
            [Step::Whole(0), Step::Split, Step::Whole(2), Step::High(0)]
        );
        assert_eq!(steps(&[], true), [Step::Split]);
    }

    /// D1.59: a framework takes more calls than a retry, so that it is refused before that is.
    #[test]
    fn a_framework_is_made_where_the_calls_that_it_takes_are_left_for_all() {
        let figures = |calls_left, tasks_left| Figures {
            calls_left,
            tasks_left,
        };
        assert!(figures(3, 1).allow_retry() && !figures(6, 1).allow_framework());
        assert!(figures(7, 1).allow_framework() && !figures(8, 2).allow_framework());
        assert!(!figures(u64::MAX, u64::MAX).allow_framework());
    }

    #[test]
    fn a_circle_is_named() {
        let [a, b, c] = [1, 2, 3].map(TaskId);
        let requires = BTreeMap::from([(a, vec![]), (b, vec![a]), (c, vec![b])]);
        assert_eq!(circle(&requires, a, a), Some(vec![a, a]), "itself");
        assert_eq!(circle(&requires, a, c), Some(vec![a, c, b, a]));
        assert_eq!(circle(&requires, c, a), None);
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        assert_eq!(TaskId::parse("t12"), Some(TaskId(12)));
        for wrong in ["12", "t", "t0", "t01", "t+1", "t-1", "T1", "t1 "] {
            assert_eq!(TaskId::parse(wrong), None, "{wrong}");
        }
    }
}
