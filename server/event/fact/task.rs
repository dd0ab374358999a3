//! The facts of tasks: what a mission does with each of them, step by step. What is said before a task begins stands in the thread of its mission,
//! what is said while it is worked on in the task's own. All are of modality `state`, so that no model is shown them as entries; the table
//! `tasks` is made of them.
//! Long because a family of facts is one file: its kinds, their documents, and an example of each.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::Kind;
use super::family::{Family, Role};
use crate::event::draft::{Draft, tags};
use crate::event::envelope::{Modality, Source, Visibility};
use crate::event::mission::{Check, Figures, NewTask, Route, TaskId, TaskStatus, Value};
use crate::event::raw::Raw;
use crate::event::spec::{Member, Spec, TEXT};
use crate::words::id::ThreadId;

/// The first tag.
pub const TAG: &str = "task";

/// What is said of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskFact {
    /// The task.
    pub task: TaskId,
    /// What.
    pub what: TaskNews,
}

/// See `TaskFact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum TaskNews {
    /// There is one more.
    Made(NewTask),
    /// Work on it begins.
    Began {
        /// A task that it requires and that failed.
        behind: Option<TaskId>,
    },
    /// Whether it is to be split.
    Split {
        /// Whether it is.
        needed: bool,
        /// Why.
        why: String,
    },
    /// What the user would have to say.
    Asked {
        /// The question; none: nothing.
        question: Option<String>,
    },
    /// How it may be done.
    Routes {
        /// As they were listed.
        routes: Vec<Route>,
    },
    /// How its answer will be checked.
    Checked {
        /// How.
        check: Check,
    },
    /// It was tried.
    Tried {
        /// By which route.
        route: String,
        /// `low` or `high`.
        tier: String,
        /// The answer; none: it came to none.
        answer: Option<String>,
        /// What was thought on the way, or why there is no answer.
        why: String,
    },
    /// Its answer was checked.
    Judged {
        /// `program`, `knowledge` or `rubric`.
        by: String,
        /// Whether it will do.
        passes: bool,
        /// Why.
        why: String,
    },
    /// Whether the high tier is asked once more.
    Retry {
        /// Whether it is.
        made: bool,
        /// The figures that decided it.
        figures: Figures,
    },
    /// Something that a model wanted was not done.
    Refused {
        /// What.
        of: String,
        /// Why.
        why: String,
    },
    /// It requires these from now on, and is this.
    Changed {
        /// What is to be done before it.
        requires: Vec<TaskId>,
        /// What is to be done.
        description: String,
        /// Why.
        why: String,
    },
    /// It is over.
    Over {
        /// `closed`, or that it failed.
        status: TaskStatus,
        /// The answer that passed its check.
        answer: Option<String>,
        /// Why it failed.
        reason: Option<String>,
    },
}

const TASK: Member = ("task", "number", "the task: 3 is `t3`");
const WHY: Member = ("why", "string", "why");

macro_rules! specs {
    ($($spec:ident $word:literal: $about:literal [$($member:expr),*],)*) => {$(
        pub(super) const $spec: Spec = Spec {
            name: concat!("task-", $word),
            about: $about,
            tags: &["task", $word, "task:<id>"],
            members: &[TEXT, TASK $(, $member)*],
            open: false,
        };
    )*};
}
specs! {
    MADE "made": "A mission has one more task." [
        ("name", "string", "its name"),
        ("description", "string", "what is to be done"),
        ("value", "\"low\" | \"medium\" | \"high\"", "what it may cost"),
        ("parent", "number | null", "the task that was split into it and others"),
        ("requires", "number[]", "the tasks that have to end before it begins"),
        ("brought_by", "string[]", "names of tasks and thoughts that brought to it, as the planner says"),
        ("rank", "number", "its place among its siblings: the lowest goes first")
    ],
    BEGAN "began": "Work on a task begins, in a thread of its own." [("behind", "number | null", "a task that it requires and that failed")],
    SPLIT "split": "Whether a task is to be split." [("needed", "boolean", "whether it is"), WHY],
    ASKED "asked": "What the user would have to say for a task." [("question", "string | null", "the question")],
    ROUTES "routes": "How a task may be done, with the chance that it works." [("routes", "object[]", "name, how, estimate, splits")],
    CHECKED "checked": "How the answer of a task will be checked: said before there is one." [("check", "object", "by, and code, query or rubric")],
    TRIED "tried": "A task was tried by a route." [
        ("route", "string", "the route"),
        ("tier", "\"low\" | \"high\"", "the tier that was asked"),
        ("answer", "string | null", "the answer"),
        ("why", "string", "what was thought on the way, or why there is no answer")
    ],
    JUDGED "judged": "The answer of a task was checked." [
        ("by", "\"program\" | \"knowledge\" | \"rubric\"", "what decided it"),
        ("passes", "boolean", "whether the answer will do"),
        WHY
    ],
    RETRY "retry": "Whether a task is tried once more by the high tier, and the figures that decide it." [
        ("made", "boolean", "whether it is"),
        ("figures", "object", "calls_left, tasks_left")
    ],
    REFUSED "refused": "Something that a model wanted of a task was not done." [("of", "string", "what"), WHY],
    CHANGED "changed": "A task is another from now on: what it requires, what is to be done." [
        ("requires", "number[]", "the tasks that have to end before it begins"),
        ("description", "string", "what is to be done"),
        WHY
    ],
    OVER "over": "A task is over, and its thread with it." [
        ("status", "\"closed\" | \"failed_with_current_available_instruments\"", "how"),
        ("answer", "string | null", "the answer that passed its check"),
        ("reason", "string | null", "why it failed")
    ],
}

impl TaskNews {
    fn word(&self) -> &'static str {
        match self {
            Self::Made(_) => "made",
            Self::Began { .. } => "began",
            Self::Split { .. } => "split",
            Self::Asked { .. } => "asked",
            Self::Routes { .. } => "routes",
            Self::Checked { .. } => "checked",
            Self::Tried { .. } => "tried",
            Self::Judged { .. } => "judged",
            Self::Retry { .. } => "retry",
            Self::Refused { .. } => "refused",
            Self::Changed { .. } => "changed",
            Self::Over { .. } => "over",
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Made(_) => Kind::TaskMade,
            Self::Began { .. } => Kind::TaskBegan,
            Self::Split { .. } => Kind::TaskSplit,
            Self::Asked { .. } => Kind::TaskAsked,
            Self::Routes { .. } => Kind::TaskRoutes,
            Self::Checked { .. } => Kind::TaskChecked,
            Self::Tried { .. } => Kind::TaskTried,
            Self::Judged { .. } => Kind::TaskJudged,
            Self::Retry { .. } => Kind::TaskRetry,
            Self::Refused { .. } => Kind::TaskRefused,
            Self::Changed { .. } => Kind::TaskChanged,
            Self::Over { .. } => Kind::TaskOver,
        }
    }

    /// What it is called, and what it says, of the task with this id. Its text is both, so that it is found by either.
    pub fn words(&self, task: TaskId) -> (String, String) {
        match self {
            Self::Made(new) => (format!("{task} {}", new.name), new.description.clone()),
            Self::Began { behind: None } => (format!("{task} begins"), String::new()),
            Self::Began { behind: Some(failed) } => (format!("{task} begins behind {failed}"), "it failed".to_owned()),
            Self::Split { needed: true, why } => (format!("{task} is to be split"), why.clone()),
            Self::Split { needed: false, why } => (format!("{task} is not to be split"), why.clone()),
            Self::Asked { question: Some(question) } => (format!("{task} asks the user"), question.clone()),
            Self::Asked { question: None } => (format!("{task} asks the user nothing"), String::new()),
            Self::Routes { routes } => {
                let each = routes.iter().map(|it| format!("{} ({}): {}", it.name, it.estimate, it.how));
                (format!("{task} has {} routes", routes.len()), each.collect::<Vec<_>>().join("\n"))
            }
            Self::Checked { check } => (format!("{task} will be checked"), check.rubric().to_owned()),
            Self::Tried { route, tier, answer: Some(answer), why } => {
                (format!("{task} tried {route} ({tier})"), format!("{answer}\n{why}").trim_end().to_owned())
            }
            Self::Tried { route, tier, answer: None, why } => {
                (format!("{task} tried {route} ({tier}) without an answer"), why.clone())
            }
            Self::Judged { by, passes, why } => {
                (format!("{task} {} ({by})", if *passes { "passes" } else { "does not pass" }), why.clone())
            }
            Self::Retry { made, figures: Figures { calls_left, tasks_left } } => {
                let is = if *made { "is" } else { "is not" };
                let figures = format!("{calls_left} calls and {tasks_left} tasks are left");
                (format!("{task} {is} tried again by the high tier"), figures)
            }
            Self::Refused { of, why } => (format!("{task} was refused {of}"), why.clone()),
            Self::Changed { description, why, .. } => (format!("{task} is changed"), format!("{why}\n{description}")),
            Self::Over { status: TaskStatus::Closed, answer, .. } => {
                (format!("{task} is closed"), answer.clone().unwrap_or_default())
            }
            Self::Over { reason, .. } => (format!("{task} failed"), reason.clone().unwrap_or_default()),
        }
    }

    /// Whether somebody thought it while the task was worked on.
    pub const fn is_thought(&self) -> bool {
        match self {
            Self::Split { .. }
            | Self::Routes { .. }
            | Self::Checked { .. }
            | Self::Tried { .. }
            | Self::Judged { .. }
            | Self::Refused { .. } => true,
            Self::Asked { question } => question.is_some(),
            Self::Made(_) | Self::Began { .. } | Self::Retry { .. } | Self::Changed { .. } | Self::Over { .. } => false,
        }
    }
}

impl TaskFact {
    pub(super) fn decode(raw: Raw<'_>) -> Option<Self> {
        let mut payload = raw.payload.clone();
        payload.insert("what".to_owned(), raw.tags.get(1)?.as_str().into());
        let what = serde_json::from_value(Json::Object(payload)).ok()?;
        Some(Self { task: TaskId(raw.count("task")?), what })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self { task, what } = self;
        let named = tags([TAG, what.word(), &format!("{TAG}:{task}")]);
        // Made of maps with string keys and of finite numbers: this cannot fail.
        let mut payload = serde_json::to_value(&what).unwrap_or_default();
        if let Some(members) = payload.as_object_mut() {
            members.remove("what");
            members.insert("task".to_owned(), task.0.into());
            let (name, content) = what.words(task);
            let text = if content.is_empty() { name } else { format!("{name}: {content}") };
            members.insert("text".to_owned(), text.into());
        }
        Draft::new(thread, Source::Internal, Modality::State, named, payload)
    }
}

impl<'a> Family<'a> for TaskFact {
    fn kind(&self) -> Option<Kind> {
        Some(self.what.kind())
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Aside
    }

    fn changes_thread(&self) -> bool {
        false
    }

    fn label(&self) -> Option<String> {
        Some(format!("task {}", self.task))
    }
}

impl Draft {
    /// Something is said of a task of a mission, in this thread.
    pub fn task(thread: &ThreadId, task: TaskId, what: TaskNews) -> Self {
        TaskFact { task, what }.encode(thread)
    }
}

/// One of each, for the documents and the tests.
pub(super) fn examples() -> Vec<Draft> {
    let mission = ThreadId::of_mission(uuid::Uuid::from_u128(0x0193_b6c2_7c2e_7aaa_8000_0123_4567_89ab));
    let own = mission.of_task(TaskId(2));
    let made = TaskNews::Made(NewTask {
        task: TaskId(2),
        name: "order the talks".into(),
        description: "Put the five talks into an order without a clash.".into(),
        value: Value::Medium,
        parent: None,
        requires: vec![TaskId(1)],
        brought_by: vec!["list the talks".into()],
        rank: 2,
    });
    let route =
        |name: &str, how: &str, estimate, splits| Route { name: name.into(), how: how.into(), estimate, splits };
    let routes = vec![
        route("by hand", "Try the longest talk first.", 0.6, false),
        route("day by day", "Split by day.", 0.4, true),
    ];
    let check = Check::Program { code: "input.answer.includes('09:00')".into(), rubric: "No two talks clash.".into() };
    let figures = Figures { calls_left: 480, tasks_left: 2 };
    let news = [
        TaskNews::Began { behind: None },
        TaskNews::Split { needed: false, why: "Five talks are few.".into() },
        TaskNews::Asked { question: None },
        TaskNews::Routes { routes },
        TaskNews::Checked { check },
        TaskNews::Tried {
            route: "by hand".into(),
            tier: "low".into(),
            answer: Some("09:00 owls, 10:00 mice".into()),
            why: "The owls come first.".into(),
        },
        TaskNews::Judged { by: "program".into(), passes: true, why: "the value of the program is true".into() },
        TaskNews::Retry { made: true, figures },
        TaskNews::Refused { of: "a question to the user".into(), why: "its value is medium: it may not ask".into() },
        TaskNews::Changed {
            requires: Vec::new(),
            description: "Put the talks that are known into an order.".into(),
            why: "t1 failed".into(),
        },
        TaskNews::Over { status: TaskStatus::Closed, answer: Some("09:00 owls, 10:00 mice".into()), reason: None },
        TaskNews::Over {
            status: TaskStatus::FailedWithCurrentAvailableInstruments,
            answer: None,
            reason: Some("no answer passed its check".into()),
        },
    ];
    let of_task = news.into_iter().map(|what| Draft::task(&own, TaskId(2), what));
    std::iter::once(Draft::task(&mission, TaskId(2), made)).chain(of_task).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for draft in examples() {
            let event = draft.preview();
            let super::super::Fact::Task(fact) = event.fact() else { panic!("{draft:?}") };
            assert_eq!(fact.encode(&draft.thread), draft);
        }
    }
}
