//! The facts of tasks: what a mission does with each of them, step by step. What is said before a task begins stands in the thread of its mission,
//! what is said while it is worked on in the task's own. All are of modality `state`, so that no model is shown them as entries; the table
//! `tasks` is made of them.
//! Long because a family of facts is one file: its kinds, their documents, and an example of each.

use serde_json::Value as Json;

use super::Kind;
use super::family::{Family, Role};
use crate::event::draft::{Draft, tags};
use crate::event::envelope::{Modality, Source, Visibility};
use crate::event::mission::{Check, Expected, Figures, NewTask, Route, TaskId, TaskStatus, Value};
use crate::event::raw::Raw;
use crate::event::spec::{Member, Spec, TEXT};
use crate::event::task::{TaskNews, ToolStep};
use crate::event::tuning::Tuning;
use crate::words::id::ThreadId;

/// The first tag.
pub const TAG: &str = "task";

/// The tags of verdicts.
pub const VERDICT: [&str; 2] = [TAG, "judged"];

/// What is said of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskFact {
    /// The task.
    pub task: TaskId,
    /// What.
    pub what: TaskNews,
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
        ("rank", "number", "its place among its siblings: the lowest goes first"),
        ("exact?", "boolean", "it is one step with a short answer: it is tried, without being considered, until tries agree")
    ],
    BEGAN "began": "Work on a task begins, in a thread of its own." [("behind", "number | null", "a task that it requires and that failed")],
    SPLIT "split": "Whether a task is to be split." [("needed", "boolean", "whether it is"), WHY],
    ASKED "asked": "What the user would have to say for a task." [("question", "string | null", "the question")],
    ROUTES "routes": "How a task may be done, with the chance that it works." [("routes", "object[]", "name, how, estimate, splits, and the chance as learned, if it was")],
    CHECKED "checked": "How the answer of a task will be checked: said before there is one." [("check", "object", "by, and code, query or rubric")],
    TRIED "tried": "A task was tried by a route." [
        ("route", "string", "the route"),
        ("tier", "\"low\" | \"high\"", "the tier that was asked"),
        ("answer", "string | null", "the answer"),
        ("why", "string", "what was thought on the way, or why there is no answer")
    ],
    USED "used": "A tool of another server was called for a task." [
        ("tool", "string", "the tool, as it is called here"),
        ("arguments", "string", "its arguments, as JSON"),
        ("worked", "boolean", "whether it worked"),
        ("came", "string", "what it came to, shortened, or why it failed")
    ],
    JUDGED "judged": "The answer of a task was checked." [
        ("by", "\"program\" | \"knowledge\" | \"agreement\" | \"rubric\"", "what decided it"),
        ("passes", "boolean", "whether the answer will do"),
        WHY,
        ("expected?", "object", "what was expected of the try: the kind of its route (`whole`, `split`, `high`, `framework` and its id), the chance as the model said and as learned")
    ],
    RETRY "retry": "Whether a task is tried once more by the high tier, and the figures that decide it." [
        ("made", "boolean", "whether it is"),
        ("figures", "object", "calls_left, tasks_left")
    ],
    FRAMEWORK "framework": "Whether a framework is made for a task that the high tier could not do either, and the figures that decide it." [
        ("made", "boolean", "whether it is"),
        ("figures", "object", "calls_left, tasks_left")
    ],
    TUNED "tuned": "The program of a framework that is made for a task was run with several values of its parameters." [
        ("runs", "object[]", "parameters, answer, score, passes; in the order in which they were tried"),
        ("best", "number", "the place of the best of them, from 0")
    ],
    BUILT "built": "A framework was made for a task." [
        ("framework", "string", "its id"),
        ("name", "string", "its name"),
        ("kind", "string", "the kind of its recipe")
    ],
    REFUSED "refused": "Something that a model wanted of a task was not done." [("of", "string", "what"), WHY],
    CHANGED "changed": "A task is another from now on: what is to be done, what it requires, its place among its siblings." [
        ("name", "string", "its name"),
        ("description", "string", "what is to be done"),
        ("requires", "number[]", "the tasks that have to end before it begins"),
        ("rank", "number", "its place among its siblings: the lowest goes first"),
        WHY,
        ("by", "string | null", "who did it; null: the mission itself")
    ],
    OVER "over": "A task is over, and its thread with it." [
        ("status", "\"closed\" | \"failed_with_current_available_instruments\"", "how"),
        ("answer", "string | null", "the answer that passed its check"),
        ("reason", "string | null", "why it failed")
    ],
}

fn word(news: &TaskNews) -> &'static str {
    match news {
        TaskNews::Made(_) => "made",
        TaskNews::Began { .. } => "began",
        TaskNews::Split { .. } => "split",
        TaskNews::Asked { .. } => "asked",
        TaskNews::Routes { .. } => "routes",
        TaskNews::Checked { .. } => "checked",
        TaskNews::Tried { .. } => "tried",
        TaskNews::Used(_) => "used",
        TaskNews::Judged { .. } => "judged",
        TaskNews::Retry { .. } => "retry",
        TaskNews::Framework { .. } => "framework",
        TaskNews::Tuned { .. } => "tuned",
        TaskNews::Built { .. } => "built",
        TaskNews::Refused { .. } => "refused",
        TaskNews::Changed { .. } => "changed",
        TaskNews::Over { .. } => "over",
    }
}

fn kind(news: &TaskNews) -> Kind {
    match news {
        TaskNews::Made(_) => Kind::TaskMade,
        TaskNews::Began { .. } => Kind::TaskBegan,
        TaskNews::Split { .. } => Kind::TaskSplit,
        TaskNews::Asked { .. } => Kind::TaskAsked,
        TaskNews::Routes { .. } => Kind::TaskRoutes,
        TaskNews::Checked { .. } => Kind::TaskChecked,
        TaskNews::Tried { .. } => Kind::TaskTried,
        TaskNews::Used(_) => Kind::TaskUsed,
        TaskNews::Judged { .. } => Kind::TaskJudged,
        TaskNews::Retry { .. } => Kind::TaskRetry,
        TaskNews::Framework { .. } => Kind::TaskFramework,
        TaskNews::Tuned { .. } => Kind::TaskTuned,
        TaskNews::Built { .. } => Kind::TaskBuilt,
        TaskNews::Refused { .. } => Kind::TaskRefused,
        TaskNews::Changed { .. } => Kind::TaskChanged,
        TaskNews::Over { .. } => Kind::TaskOver,
    }
}

impl TaskFact {
    pub(super) fn decode(raw: Raw<'_>) -> Option<Self> {
        let mut payload = raw.payload.clone();
        payload.insert("what".to_owned(), raw.tags.get(1)?.as_str().into());
        let what = serde_json::from_value(Json::Object(payload)).ok()?;
        Some(Self {
            task: TaskId(raw.count("task")?),
            what,
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self { task, what } = self;
        let named = tags([TAG, word(&what), &format!("{TAG}:{task}")]);
        // Made of maps with string keys and of finite numbers: this cannot fail.
        let mut payload = serde_json::to_value(&what).unwrap_or_default();
        if let Some(members) = payload.as_object_mut() {
            members.remove("what");
            members.insert("task".to_owned(), task.0.into());
            let (name, content) = what.words(task);
            let text = if content.is_empty() {
                name
            } else {
                format!("{name}: {content}")
            };
            members.insert("text".to_owned(), text.into());
        }
        Draft::new(thread, Source::Internal, Modality::State, named, payload)
    }
}

impl<'a> Family<'a> for TaskFact {
    fn kind(&self) -> Option<Kind> {
        Some(kind(&self.what))
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
    let mission = ThreadId::of_mission(uuid::Uuid::from_u128(
        0x0193_b6c2_7c2e_7aaa_8000_0123_4567_89ab,
    ));
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
        exact: false,
    });
    let route = |name: &str, how: &str, estimate, splits| Route {
        name: name.into(),
        how: how.into(),
        estimate,
        splits,
        learned: None,
    };
    let routes = vec![
        route("by hand", "Try the longest talk first.", 0.6, false),
        route("day by day", "Split by day.", 0.4, true),
    ];
    let check = Check::Program {
        code: "input.answer.includes('09:00')".into(),
        rubric: "No two talks clash.".into(),
    };
    let figures = Figures {
        calls_left: 480,
        tasks_left: 2,
    };
    let tuning = |parameters: &str, score| Tuning {
        parameters: parameters.into(),
        answer: Some("09:00 owls, 10:00 mice".into()),
        score: Some(score),
        passes: Some(true),
    };
    let news = [
        TaskNews::Began { behind: None },
        TaskNews::Split {
            needed: false,
            why: "Five talks are few.".into(),
        },
        TaskNews::Asked { question: None },
        TaskNews::Routes { routes },
        TaskNews::Checked { check },
        TaskNews::Tried {
            route: "by hand".into(),
            tier: "low".into(),
            answer: Some("09:00 owls, 10:00 mice".into()),
            why: "The owls come first.".into(),
        },
        TaskNews::Used(ToolStep {
            tool: "mcp__calendar__free".into(),
            arguments: r#"{"day":"Monday"}"#.into(),
            worked: true,
            came: "from 9 to 17 h".into(),
        }),
        TaskNews::Judged {
            by: "program".into(),
            passes: true,
            why: "the value of the program is true".into(),
            expected: Some(Expected {
                kind: "whole".into(),
                said: 0.6,
                learned: 0.55,
            }),
        },
        TaskNews::Retry {
            made: true,
            figures,
        },
        TaskNews::Framework {
            made: true,
            figures,
        },
        TaskNews::Tuned {
            runs: vec![tuning("{\"step\":15}", 2.0), tuning("{\"step\":30}", 3.0)],
            best: 1,
        },
        TaskNews::Built {
            framework: "0193a1b2-5c3d-7e4f-8a9b-0c1d2e3f4a5b".into(),
            name: "orders without a clash".into(),
            kind: "program".into(),
        },
        TaskNews::Refused {
            of: "a question to the user".into(),
            why: "its value is medium: it may not ask".into(),
        },
        TaskNews::Changed {
            name: "order the talks".into(),
            description: "Put the talks that are known into an order.".into(),
            requires: Vec::new(),
            rank: 2,
            why: "t1 failed".into(),
            by: None,
        },
        TaskNews::Over {
            status: TaskStatus::Closed,
            answer: Some("09:00 owls, 10:00 mice".into()),
            reason: None,
        },
        TaskNews::Over {
            status: TaskStatus::FailedWithCurrentAvailableInstruments,
            answer: None,
            reason: Some("no answer passed its check".into()),
        },
    ];
    let of_task = news
        .into_iter()
        .map(|what| Draft::task(&own, TaskId(2), what));
    std::iter::once(Draft::task(&mission, TaskId(2), made))
        .chain(of_task)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for draft in examples() {
            let event = draft.preview();
            let super::super::Fact::Task(fact) = event.fact() else {
                panic!("{draft:?}")
            };
            assert_eq!(fact.encode(&draft.thread), draft);
        }
    }
}
