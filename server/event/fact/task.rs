//! The facts of tasks: the steps that a mission takes with each of them. The facts before a task
//! begins stand in the thread of its mission, those of the work on it in the task's own. All are of
//! modality `state`, so that no model is shown them as entries; the table `tasks` is made of them.

use serde::{Deserialize, Serialize};
use thinkd_facts::{Fact, Members};

use super::family::Family;
use crate::draft::Draft;
use crate::mission::{Check, Expected, Figures, NewTask, Route, TaskId, TaskStatus};
use crate::tuning::Tuning;
use thinkd_words::id::ThreadId;
use thinkd_words::text::counted;

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

/// Something that is said of a task.
#[derive(Debug, Clone, PartialEq, Fact)]
pub enum TaskNews {
    /// A mission has one more task.
    #[fact(name = "task-made", tags("made"))]
    Made(#[fact(flat)] NewTask),
    /// Work on a task begins, in a thread of its own.
    #[fact(name = "task-began", tags("began"))]
    Began {
        /// A task that it requires and that failed.
        #[fact(json, or_null, kind = "number | null")]
        behind: Option<TaskId>,
    },
    /// A task is to be split, or is not.
    #[fact(name = "task-split", tags("split"))]
    Split {
        /// True if it is.
        needed: bool,
        /// Why.
        why: String,
    },
    /// The information that the user would have to give for a task.
    #[fact(name = "task-asked", tags("asked"))]
    Asked {
        /// The question.
        #[fact(or_null)]
        question: Option<String>,
    },
    /// The routes by which a task may be done, each with the chance that it works.
    #[fact(name = "task-routes", tags("routes"))]
    Routes {
        /// Name, how, estimate, splits, and the chance as learned, if it was.
        #[fact(json, kind = "object[]")]
        routes: Vec<Route>,
    },
    /// The check that the answer of a task will go through: said before there is an answer.
    #[fact(name = "task-checked", tags("checked"))]
    Checked {
        /// By, and code, query or rubric.
        #[fact(json)]
        check: Check,
    },
    /// A task was tried by a route.
    #[fact(name = "task-tried", tags("tried"))]
    Tried {
        /// The route.
        route: String,
        /// The tier that was asked.
        #[fact(kind = "\"low\" | \"high\"")]
        tier: String,
        /// The answer.
        #[fact(or_null)]
        answer: Option<String>,
        /// The thoughts on the way, or why there is no answer.
        why: String,
    },
    /// A tool of another server was called for a task.
    #[fact(name = "task-used", tags("used"))]
    Used(#[fact(flat)] ToolStep),
    /// The answer of a task was checked.
    #[fact(name = "task-judged", tags("judged"))]
    Judged {
        /// The kind of check that decided it.
        #[fact(kind = "\"program\" | \"knowledge\" | \"agreement\" | \"rubric\"")]
        by: String,
        /// True if the answer will do.
        passes: bool,
        /// Why.
        why: String,
        /// The expectation of the try: the kind of its route (`whole`, `split`, `high`, `framework`
        /// and its id), the chance as the model said and as learned.
        #[fact(json)]
        expected: Option<Expected>,
    },
    /// A task is tried once more by the high tier, or is not, with the figures that decide it.
    #[fact(name = "task-retry", tags("retry"))]
    Retry {
        /// True if it is.
        made: bool,
        /// calls_left, tasks_left
        #[fact(json)]
        figures: Figures,
    },
    /// A framework is made for a task that the high tier could not do either, or none is made, with
    /// the figures that decide it.
    #[fact(name = "task-framework", tags("framework"))]
    Framework {
        /// True if it is.
        made: bool,
        /// calls_left, tasks_left
        #[fact(json)]
        figures: Figures,
    },
    /// The program of a framework that is made for a task was run with several values of its parameters.
    #[fact(name = "task-tuned", tags("tuned"))]
    Tuned {
        /// Parameters, answer, score, passes; in the order in which they were tried.
        #[fact(json, kind = "object[]")]
        runs: Vec<Tuning>,
        /// The place of the best of them, from 0.
        best: u64,
    },
    /// A framework was made for a task.
    #[fact(name = "task-built", tags("built"))]
    Built {
        /// Its id.
        framework: String,
        /// Its name.
        name: String,
        /// The kind of its recipe.
        kind: String,
    },
    /// Something that a model wanted of a task was not done.
    #[fact(name = "task-refused", tags("refused"))]
    Refused {
        /// The wish that was refused.
        of: String,
        /// Why.
        why: String,
    },
    /// A task is another from now on: its work, its requirements, its place among its siblings.
    #[fact(name = "task-changed", tags("changed"))]
    Changed {
        /// Its name.
        name: String,
        /// The work to be done.
        description: String,
        /// The tasks that have to end before it begins.
        #[fact(json, kind = "number[]")]
        requires: Vec<TaskId>,
        /// Its place among its siblings: the lowest goes first.
        rank: u64,
        /// Why.
        why: String,
        /// The person that did it; null: the mission itself.
        #[fact(or_null)]
        by: Option<String>,
    },
    /// A task is over, and its thread with it.
    #[fact(name = "task-over", tags("over"))]
    Over {
        /// The status that it ended with.
        #[fact(
            json,
            kind = "\"closed\" | \"failed_with_current_available_instruments\""
        )]
        status: TaskStatus,
        /// The answer that passed its check.
        #[fact(or_null)]
        answer: Option<String>,
        /// Why it failed.
        #[fact(or_null)]
        reason: Option<String>,
    },
}

/// A call of a tool for a task, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Members)]
pub struct ToolStep {
    /// The tool, as it is called here.
    pub tool: String,
    /// Its arguments, as JSON.
    pub arguments: String,
    /// True if it worked.
    pub worked: bool,
    /// The result, shortened, or why it failed.
    pub came: String,
}

fn lines(each: impl Iterator<Item = String>) -> String {
    Vec::from_iter(each).join("\n")
}

/// Returns the text on the calls and tasks that a mission has left.
fn left(figures: &Figures) -> String {
    let calls = counted(figures.calls_left, "call");
    let tasks = counted(figures.tasks_left, "task");
    format!("left are {calls} and {tasks}")
}

impl TaskNews {
    /// Returns that a task is over: closed with its answer, or failed.
    pub fn over(answer: Option<String>, reason: Option<String>) -> Self {
        Self::Over {
            status: TaskStatus::ended(answer.is_some()),
            answer,
            reason,
        }
    }

    /// Returns its name and its content, of the task with this id. Its text is both, so that it is
    /// found by either.
    pub fn words(&self, task: TaskId) -> (String, String) {
        let is = |so: bool| if so { "is" } else { "is not" };
        let who = match self {
            Self::Refused { .. } if task.0 == 0 => "the mission".to_owned(),
            _ => task.to_string(),
        };
        let (what, says) = match self {
            Self::Made(new) => (new.name.clone(), new.description.clone()),
            Self::Began { behind: None } => ("begins".to_owned(), String::new()),
            Self::Began { behind: Some(it) } => (format!("begins behind {it}"), "it failed".into()),
            Self::Split { needed, why } => (format!("{} to be split", is(*needed)), why.clone()),
            Self::Asked { question: None } => ("asks the user nothing".to_owned(), String::new()),
            Self::Asked { question: Some(it) } => ("asks the user".to_owned(), it.clone()),
            Self::Routes { routes } => {
                let each = |it: &Route| format!("{} ({}): {}", it.name, it.estimate, it.how);
                let count = counted(routes.len() as u64, "route");
                (format!("has {count}"), lines(routes.iter().map(each)))
            }
            Self::Checked { check } => ("will be checked".to_owned(), check.rubric().to_owned()),
            Self::Tried {
                route,
                tier,
                answer,
                why,
            } => {
                let tried = format!("tried {route} ({tier})");
                match answer {
                    Some(answer) => (tried, format!("{answer}\n{why}").trim_end().to_owned()),
                    None => (format!("{tried} without an answer"), why.clone()),
                }
            }
            Self::Used(step) => {
                let in_vain = if step.worked { "" } else { " in vain" };
                let says = format!("{}\n{}", step.arguments, step.came);
                (format!("called {}{in_vain}", step.tool), says)
            }
            Self::Judged {
                by, passes, why, ..
            } => {
                let passes = if *passes { "passes" } else { "does not pass" };
                (format!("{passes} ({by})"), why.clone())
            }
            Self::Retry { made, figures } => {
                let what = format!("{} tried again by the high tier", is(*made));
                (what, left(figures))
            }
            Self::Framework { made, figures } => {
                let one = if *made { "a" } else { "no" };
                (format!("gets {one} framework"), left(figures))
            }
            Self::Tuned { runs, best } => {
                let each = (0..).zip(runs).map(|(at, run)| run.words(at == *best));
                let count = counted(runs.len() as u64, "set");
                (format!("tried {count} of parameters"), lines(each))
            }
            Self::Built {
                framework,
                name,
                kind,
            } => {
                let says = format!("{framework}, of the kind {kind}");
                (format!("has led to the framework {name}"), says)
            }
            Self::Refused { of, why } => (format!("was refused {of}"), why.clone()),
            Self::Changed {
                description, why, ..
            } => ("is changed".to_owned(), format!("{why}\n{description}")),
            Self::Over {
                status,
                answer,
                reason,
            } => {
                let is_closed = *status == TaskStatus::Closed;
                let (what, says) = match is_closed {
                    true => ("is closed", answer),
                    false => ("failed", reason),
                };
                (what.to_owned(), says.clone().unwrap_or_default())
            }
        };
        (format!("{who} {what}"), says)
    }

    /// Returns true if it is a thought of the work on the task.
    pub const fn is_thought(&self) -> bool {
        match self {
            Self::Made(_)
            | Self::Began { .. }
            | Self::Retry { .. }
            | Self::Framework { .. }
            | Self::Changed { .. }
            | Self::Over { .. } => false,
            Self::Asked { question } => question.is_some(),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_written_is_read_back() {
        let mut read = 0;
        for draft in crate::fact::examples() {
            let event = draft.preview();
            if let crate::fact::Fact::Task(fact) = event.fact() {
                assert_eq!(fact.encode(&draft.thread), draft);
                read += 1;
            }
        }
        assert_eq!(read, 17);
    }
}
