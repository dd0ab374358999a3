//! What is said of a task of a mission, step by step, and how that reads. How it is written into events is `fact/task.rs`. Pure.

use serde::{Deserialize, Serialize};
use thinkd_facts::{Fact, Members};

use super::mission::{Check, Expected, Figures, NewTask, Route, TaskId, TaskStatus};
use super::tuning::Tuning;
use crate::words::text::counted;

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
    /// Whether a task is to be split.
    #[fact(name = "task-split", tags("split"))]
    Split {
        /// Whether it is.
        needed: bool,
        /// Why.
        why: String,
    },
    /// What the user would have to say for a task.
    #[fact(name = "task-asked", tags("asked"))]
    Asked {
        /// The question.
        #[fact(or_null)]
        question: Option<String>,
    },
    /// How a task may be done, with the chance that it works.
    #[fact(name = "task-routes", tags("routes"))]
    Routes {
        /// Name, how, estimate, splits, and the chance as learned, if it was.
        #[fact(json, kind = "object[]")]
        routes: Vec<Route>,
    },
    /// How the answer of a task will be checked: said before there is one.
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
        /// What was thought on the way, or why there is no answer.
        why: String,
    },
    /// A tool of another server was called for a task.
    #[fact(name = "task-used", tags("used"))]
    Used(#[fact(flat)] ToolStep),
    /// The answer of a task was checked.
    #[fact(name = "task-judged", tags("judged"))]
    Judged {
        /// What decided it.
        #[fact(kind = "\"program\" | \"knowledge\" | \"agreement\" | \"rubric\"")]
        by: String,
        /// Whether the answer will do.
        passes: bool,
        /// Why.
        why: String,
        /// What was expected of the try: the kind of its route (`whole`, `split`, `high`,
        /// `framework` and its id), the chance as the model said and as learned.
        #[fact(json)]
        expected: Option<Expected>,
    },
    /// Whether a task is tried once more by the high tier, and the figures that decide it.
    #[fact(name = "task-retry", tags("retry"))]
    Retry {
        /// Whether it is.
        made: bool,
        /// calls_left, tasks_left
        #[fact(json)]
        figures: Figures,
    },
    /// Whether a framework is made for a task that the high tier could not do either, and the figures that decide it.
    #[fact(name = "task-framework", tags("framework"))]
    Framework {
        /// Whether it is.
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
        /// What.
        of: String,
        /// Why.
        why: String,
    },
    /// A task is another from now on: what is to be done, what it requires, its place among its siblings.
    #[fact(name = "task-changed", tags("changed"))]
    Changed {
        /// Its name.
        name: String,
        /// What is to be done.
        description: String,
        /// The tasks that have to end before it begins.
        #[fact(json, kind = "number[]")]
        requires: Vec<TaskId>,
        /// Its place among its siblings: the lowest goes first.
        rank: u64,
        /// Why.
        why: String,
        /// Who did it; null: the mission itself.
        #[fact(or_null)]
        by: Option<String>,
    },
    /// A task is over, and its thread with it.
    #[fact(name = "task-over", tags("over"))]
    Over {
        /// How.
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

/// A call of a tool for a task, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Members)]
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
