//! The facts of tasks: what a mission does with each of them, step by step. What is said before a task begins stands in the thread of its mission,
//! what is said while it is worked on in the task's own. All are of modality `state`, so that no model is shown them as entries; the table
//! `tasks` is made of them.

use thinkd_facts::Fact;

use super::family::Family;
use crate::event::draft::Draft;
use crate::event::mission::{Check, Expected, Figures, NewTask, Route, TaskId};
use crate::event::task::{TaskNews, ToolStep};
use crate::event::tuning::Tuning;
use crate::words::id::ThreadId;

/// The first tag.
pub const TAG: &str = "task";

/// The tags of verdicts.
pub const VERDICT: [&str; 2] = [TAG, "judged"];

/// Something is said of a task.
#[derive(Debug, Clone, PartialEq, Fact)]
#[fact(tags("task", "<kind>", "task:<id>" = task), visibility = State, role = Aside, text = self.text())]
pub struct TaskFact {
    /// The task: 3 is `t3`.
    #[fact(json, kind = "number")]
    pub task: TaskId,
    /// The news of it.
    #[fact(kinds)]
    pub what: TaskNews,
}

impl TaskFact {
    fn text(&self) -> String {
        match self.what.words(self.task) {
            (name, content) if content.is_empty() => name,
            (name, content) => format!("{name}: {content}"),
        }
    }
}

impl Family<'_> for TaskFact {
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
        requires: vec![TaskId(1)],
        brought_by: vec!["list the talks".into()],
        rank: 2,
        ..NewTask::default()
    });
    let by_day = Route {
        splits: true,
        ..Route::whole("day by day", "Split by day.", 0.4)
    };
    let by_hand = Route::whole("by hand", "Try the longest talk first.", 0.6);
    let routes = vec![by_hand, by_day];
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
        TaskNews::over(Some("09:00 owls, 10:00 mice".into()), None),
        TaskNews::over(None, Some("no answer passed its check".into())),
    ];
    let mut all = vec![Draft::task(&mission, TaskId(2), made)];
    all.extend(news.map(|what| Draft::task(&own, TaskId(2), what)));
    all
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
