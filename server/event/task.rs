//! What is said of a task of a mission, step by step, and how that reads. How it is written into events is `fact/task.rs`. Pure.

use serde::{Deserialize, Serialize};

use super::mission::{Check, Expected, Figures, NewTask, Route, TaskId, TaskStatus};
use super::tuning::Tuning;
use crate::words::text::counted;

/// Something that is said of a task.
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
    /// A tool of another server was called for it.
    Used(ToolStep),
    /// Its answer was checked.
    Judged {
        /// `program`, `knowledge` or `rubric`.
        by: String,
        /// Whether it will do.
        passes: bool,
        /// Why.
        why: String,
        /// What was expected of the try; none: it was one of several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<Expected>,
    },
    /// Whether the high tier is asked once more.
    Retry {
        /// Whether it is.
        made: bool,
        /// The figures that decided it.
        figures: Figures,
    },
    /// Whether a framework is made for it.
    Framework {
        /// Whether it is.
        made: bool,
        /// The figures that decided it.
        figures: Figures,
    },
    /// The program of the framework that is made for it was run with several values of its parameters.
    Tuned {
        /// What each came to, in the order in which they were tried.
        runs: Vec<Tuning>,
        /// The place of the best of them, from 0.
        best: u64,
    },
    /// A framework was made for it.
    Built {
        /// Its id.
        framework: String,
        /// Its name.
        name: String,
        /// The word of its kind.
        kind: String,
    },
    /// Something that a model wanted was not done.
    Refused {
        /// What.
        of: String,
        /// Why.
        why: String,
    },
    /// It is this from now on.
    Changed {
        /// Its name.
        name: String,
        /// What is to be done.
        description: String,
        /// What is to be done before it.
        requires: Vec<TaskId>,
        /// Its place among its siblings.
        rank: u64,
        /// Why.
        why: String,
        /// Who did it; none: the mission itself.
        by: Option<String>,
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

/// A call of a tool for a task, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStep {
    /// The tool, as it is called here.
    pub tool: String,
    /// Its arguments, as JSON.
    pub arguments: String,
    /// Whether it worked.
    pub worked: bool,
    /// What it came to, shortened, or why it failed.
    pub came: String,
}

/// What is left of a mission.
fn left(figures: &Figures) -> String {
    let calls = counted(figures.calls_left, "call");
    format!(
        "left are {calls} and {}",
        counted(figures.tasks_left, "task")
    )
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

    /// What it is called, and what it says, of the task with this id. Its text is both, so that it is found by either.
    pub fn words(&self, task: TaskId) -> (String, String) {
        let lines = |lines: Vec<String>| lines.join("\n");
        let (name, content): (String, &str) = match self {
            Self::Made(new) => (format!("{task} {}", new.name), &new.description),
            Self::Began { behind: None } => (format!("{task} begins"), ""),
            Self::Began { behind: Some(it) } => (format!("{task} begins behind {it}"), "it failed"),
            Self::Split { needed, why } => {
                let is = if *needed { "is" } else { "is not" };
                (format!("{task} {is} to be split"), why)
            }
            Self::Asked { question } => match question {
                Some(question) => (format!("{task} asks the user"), question),
                None => (format!("{task} asks the user nothing"), ""),
            },
            Self::Routes { routes } => {
                let count = counted(routes.len() as u64, "route");
                let each = |it: &Route| format!("{} ({}): {}", it.name, it.estimate, it.how);
                let each = lines(routes.iter().map(each).collect());
                return (format!("{task} has {count}"), each);
            }
            Self::Checked { check } => (format!("{task} will be checked"), check.rubric()),
            Self::Tried {
                route,
                tier,
                answer,
                why,
            } => {
                let tried = format!("{task} tried {route} ({tier})");
                match answer {
                    Some(answer) => {
                        return (tried, format!("{answer}\n{why}").trim_end().to_owned());
                    }
                    None => (format!("{tried} without an answer"), why),
                }
            }
            Self::Used(step) => {
                let in_vain = if step.worked { "" } else { " in vain" };
                let said = format!("{}\n{}", step.arguments, step.came);
                return (format!("{task} called {}{in_vain}", step.tool), said);
            }
            Self::Judged {
                by, passes, why, ..
            } => {
                let passes = if *passes { "passes" } else { "does not pass" };
                (format!("{task} {passes} ({by})"), why)
            }
            Self::Retry { made, figures } => {
                let is = if *made { "is" } else { "is not" };
                let name = format!("{task} {is} tried again by the high tier");
                return (name, left(figures));
            }
            Self::Framework { made, figures } => {
                let gets = if *made { "gets a" } else { "gets no" };
                return (format!("{task} {gets} framework"), left(figures));
            }
            Self::Tuned { runs, best } => {
                let count = counted(runs.len() as u64, "set");
                let each = (0..).zip(runs).map(|(at, run)| run.words(at == *best));
                let name = format!("{task} tried {count} of parameters");
                return (name, lines(each.collect()));
            }
            Self::Built {
                framework,
                name,
                kind,
            } => {
                let name = format!("{task} has led to the framework {name}");
                return (name, format!("{framework}, of the kind {kind}"));
            }
            Self::Refused { of, why } if task.0 == 0 => {
                (format!("the mission was refused {of}"), why)
            }
            Self::Refused { of, why } => (format!("{task} was refused {of}"), why),
            Self::Changed {
                description, why, ..
            } => {
                return (
                    format!("{task} is changed"),
                    format!("{why}\n{description}"),
                );
            }
            Self::Over {
                status,
                answer,
                reason,
            } => match status {
                TaskStatus::Closed => (
                    format!("{task} is closed"),
                    answer.as_deref().unwrap_or_default(),
                ),
                _ => (
                    format!("{task} failed"),
                    reason.as_deref().unwrap_or_default(),
                ),
            },
        };
        (name, content.to_owned())
    }

    /// Whether somebody thought it while the task was worked on.
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
