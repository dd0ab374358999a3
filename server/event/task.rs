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
fn left(calls: u64, tasks: u64) -> String {
    format!(
        "left are {} and {}",
        counted(calls, "call"),
        counted(tasks, "task")
    )
}

impl TaskNews {
    /// What it is called, and what it says, of the task with this id. Its text is both, so that it is found by either.
    pub fn words(&self, task: TaskId) -> (String, String) {
        match self {
            Self::Made(new) => (format!("{task} {}", new.name), new.description.clone()),
            Self::Began { behind: None } => (format!("{task} begins"), String::new()),
            Self::Began {
                behind: Some(failed),
            } => (
                format!("{task} begins behind {failed}"),
                "it failed".to_owned(),
            ),
            Self::Split { needed: true, why } => (format!("{task} is to be split"), why.clone()),
            Self::Split { needed: false, why } => {
                (format!("{task} is not to be split"), why.clone())
            }
            Self::Asked {
                question: Some(question),
            } => (format!("{task} asks the user"), question.clone()),
            Self::Asked { question: None } => {
                (format!("{task} asks the user nothing"), String::new())
            }
            Self::Routes { routes } => {
                let each = routes
                    .iter()
                    .map(|it| format!("{} ({}): {}", it.name, it.estimate, it.how));
                (
                    format!("{task} has {}", counted(routes.len() as u64, "route")),
                    each.collect::<Vec<_>>().join("\n"),
                )
            }
            Self::Checked { check } => {
                (format!("{task} will be checked"), check.rubric().to_owned())
            }
            Self::Tried {
                route,
                tier,
                answer: Some(answer),
                why,
            } => (
                format!("{task} tried {route} ({tier})"),
                format!("{answer}\n{why}").trim_end().to_owned(),
            ),
            Self::Tried {
                route,
                tier,
                answer: None,
                why,
            } => (
                format!("{task} tried {route} ({tier}) without an answer"),
                why.clone(),
            ),
            Self::Used(ToolStep {
                tool,
                arguments,
                worked,
                came,
            }) => {
                let in_vain = if *worked { "" } else { " in vain" };
                (
                    format!("{task} called {tool}{in_vain}"),
                    format!("{arguments}\n{came}"),
                )
            }
            Self::Judged {
                by, passes, why, ..
            } => (
                format!(
                    "{task} {} ({by})",
                    if *passes { "passes" } else { "does not pass" }
                ),
                why.clone(),
            ),
            Self::Retry {
                made,
                figures:
                    Figures {
                        calls_left,
                        tasks_left,
                    },
            } => {
                let is = if *made { "is" } else { "is not" };
                (
                    format!("{task} {is} tried again by the high tier"),
                    left(*calls_left, *tasks_left),
                )
            }
            Self::Framework {
                made,
                figures:
                    Figures {
                        calls_left,
                        tasks_left,
                    },
            } => {
                let gets = if *made { "gets a" } else { "gets no" };
                (
                    format!("{task} {gets} framework"),
                    left(*calls_left, *tasks_left),
                )
            }
            Self::Tuned { runs, best } => {
                let best = usize::try_from(*best).unwrap_or(usize::MAX);
                let each = runs.iter().enumerate().map(
                    |(
                        at,
                        Tuning {
                            parameters,
                            answer,
                            score,
                            passes,
                        },
                    )| {
                        let is_best = if at == best { " (the best)" } else { "" };
                        let score =
                            score.map_or_else(String::new, |score| format!(", score {score}"));
                        let passes = passes.map_or("", |passes| {
                            if passes {
                                ", passes"
                            } else {
                                ", does not pass"
                            }
                        });
                        format!(
                            "{parameters}{is_best}: {}{score}{passes}",
                            answer.as_deref().unwrap_or("no answer")
                        )
                    },
                );
                (
                    format!(
                        "{task} tried {} of parameters",
                        counted(runs.len() as u64, "set")
                    ),
                    each.collect::<Vec<_>>().join("\n"),
                )
            }
            Self::Built {
                framework,
                name,
                kind,
            } => (
                format!("{task} has led to the framework {name}"),
                format!("{framework}, of the kind {kind}"),
            ),
            Self::Refused { of, why } => {
                let who = if task.0 == 0 {
                    "the mission".to_owned()
                } else {
                    task.to_string()
                };
                (format!("{who} was refused {of}"), why.clone())
            }
            Self::Changed {
                description, why, ..
            } => (
                format!("{task} is changed"),
                format!("{why}\n{description}"),
            ),
            Self::Over {
                status: TaskStatus::Closed,
                answer,
                ..
            } => (
                format!("{task} is closed"),
                answer.clone().unwrap_or_default(),
            ),
            Self::Over { reason, .. } => {
                (format!("{task} failed"), reason.clone().unwrap_or_default())
            }
        }
    }

    /// Whether somebody thought it while the task was worked on.
    pub const fn is_thought(&self) -> bool {
        match self {
            Self::Split { .. }
            | Self::Routes { .. }
            | Self::Checked { .. }
            | Self::Tried { .. }
            | Self::Used(_)
            | Self::Judged { .. }
            | Self::Tuned { .. }
            | Self::Built { .. }
            | Self::Refused { .. } => true,
            Self::Asked { question } => question.is_some(),
            Self::Made(_)
            | Self::Began { .. }
            | Self::Retry { .. }
            | Self::Framework { .. }
            | Self::Changed { .. }
            | Self::Over { .. } => false,
        }
    }
}
