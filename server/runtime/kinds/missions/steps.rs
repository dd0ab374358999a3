//! The steps of a mission: each asks a model or decides by a rule, says what came of it, and is a node of the pipeline in `missions/flow.rs`. What depends on
//! anything but its arguments and the values of steps before is decided in here, so that the journal has it.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use unhurried::node;

use super::asking::{Ask, Came};
use super::checking::Decided;
use super::closing;
use super::desk::Desk;
use super::said::Judge;
use crate::event::agreement::Pool;
use crate::event::draft::Draft;
use crate::event::fact::set::Thread;
use crate::event::mission::{Check, Expected, Figures, TEXT_MAX, TaskId};
use crate::event::statement::cut;
use crate::event::task::TaskNews;
use crate::model::provider::Tier;
use crate::thread::settings::{Kind, Settings};

/// How a task ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ended {
    answer: Option<String>,
    reason: Option<String>,
}

impl Ended {
    pub fn closed(answer: String) -> Self {
        Self {
            answer: Some(answer),
            reason: None,
        }
    }

    pub fn failed(reason: String) -> Self {
        Self {
            answer: None,
            reason: Some(cut(&reason, TEXT_MAX)),
        }
    }
}

/// A task begins, in a thread of its own. Returns one that it requires and that failed.
#[node]
pub(super) async fn begin(task: TaskId, desk: Desk) -> Option<TaskId> {
    let (behind, name) = {
        let mut board = desk.board();
        let behind = board.failed_before(task);
        let now = board.get_mut(task);
        (behind, now.map(|now| (now.status, now.name.clone())))
    };
    let (thread, _) = desk.seat(Some(task));
    let title = name.map(|(_, name)| name);
    let settings = Settings {
        title,
        kind: Kind::Mission,
        ..Settings::default()
    };
    desk.beside(
        Some(task),
        [Draft::set_thread(
            &thread,
            Thread {
                settings: Some(&json!(settings)),
                ..Thread::default()
            },
        )],
    );
    desk.beside(
        Some(task),
        [Draft::task(&thread, task, TaskNews::Began { behind }).only_if(desk.to_come(task))],
    );
    desk.board().begin(task);
    behind
}

/// Whether a task is tried once more by the high tier: a rule over figures.
#[node]
pub(super) async fn retry(task: TaskId, desk: Desk) -> bool {
    let figures = desk.figures();
    let made = figures.allow_retry();
    desk.say(task, [TaskNews::Retry { made, figures }]);
    made
}

/// Whether an answer will do: by the check that was chosen before there was one, or where that decides nothing, by a model that sees task and answer only.
#[node]
pub(super) async fn check(
    task: TaskId,
    check: Check,
    expected: Option<Expected>,
    answer: String,
    desk: Desk,
) -> Came<()> {
    let Decided { by, passes, why } = match desk.decided(&check, &answer).await {
        Ok(decided) => decided,
        Err(undecided) => {
            let (system, tail) = (
                &desk.client().prompts().mission_judge,
                &desk.client().prompts().mission_verdict,
            );
            let values = vec![
                ("task".to_owned(), desk.bare(task)),
                ("rubric".to_owned(), quoted(check.rubric())),
                ("answer".to_owned(), quoted(&answer)),
            ];
            let ask = Ask {
                node: "judge",
                tool: "judge",
                task: Some(task),
                tier: Tier::Low,
                system,
                tail,
                values,
            };
            let (passes, why) = match desk.ask::<Judge>(ask, |_| Ok(())).await {
                Came::To(Judge { passes, why }) => (passes, cut(&why, TEXT_MAX)),
                Came::ToNothing(why) => (false, format!("nobody judged it: {why}")),
                Came::Spent(why) => return Came::Spent(why),
            };
            let why = if undecided.is_empty() {
                why
            } else {
                format!("{why} ({undecided})")
            };
            Decided {
                by: "rubric",
                passes,
                why,
            }
        }
    };
    if let Some(expected) = &expected {
        desk.records().note(expected, passes);
    }
    desk.say(
        task,
        [TaskNews::Judged {
            by: by.to_owned(),
            passes,
            why: why.clone(),
            expected,
        }],
    );
    if !passes {
        return Came::ToNothing(why);
    }
    // The task ends.
    desk.joins_next(task);
    Came::To(())
}

/// A task is over, and its thread with it.
#[node]
pub(super) async fn end(task: TaskId, ended: Ended, desk: Desk) {
    let [over, thread] = closing::over(
        desk.mission_thread(),
        task,
        ended.answer.clone(),
        ended.reason.clone(),
    );
    desk.beside(Some(task), [over.only_if(desk.to_come(task)), thread]);
    desk.board().end(task, ended.answer, ended.reason);
}

/// Others' words as one JSON string: nothing in them can end it.
pub(super) fn quoted(text: &str) -> String {
    json!(text).to_string()
}

pub(super) fn word(tier: Tier) -> String {
    if tier == Tier::High { "high" } else { "low" }.to_owned()
}

impl Desk {
    /// What the mission has left.
    pub fn figures(&self) -> Figures {
        Figures {
            calls_left: self.calls_left(),
            tasks_left: self.board().left(),
        }
    }

    /// What a task that is under way takes its tries from.
    pub fn pool(&self) -> Pool {
        let (open, begun) = self.board().to_come();
        Pool {
            calls: self.calls_left(),
            open,
            begun: begun.saturating_sub(1),
        }
    }

    fn calls_left(&self) -> u64 {
        self.purse().calls_left().unwrap_or(u64::MAX >> 12)
    }

    /// A task as those are told of it who work on it: with what was done before, and with its parts.
    pub fn described(&self, task: TaskId) -> String {
        let board = self.board();
        let Some(now) = board.get(task) else {
            return String::new();
        };
        let before = now
            .requires
            .iter()
            .filter_map(|it| Some(closing::shown(*it, board.get(*it)?)));
        let before: Vec<Json> = before.collect();
        json!({ "id": task.to_string(), "name": now.name, "description": now.description, "before": before })
            .to_string()
    }

    /// A task as who judges its answer is told of it.
    fn bare(&self, task: TaskId) -> String {
        let board = self.board();
        board.get(task).map_or_else(String::new, |now| {
            json!({ "name": now.name, "description": now.description }).to_string()
        })
    }

    /// Says that a try came to no answer.
    pub fn no_answer<T>(&self, task: TaskId, route: &str, tier: Tier, why: String) -> Came<T> {
        let (route, tier) = (route.to_owned(), word(tier));
        self.say(
            task,
            [TaskNews::Tried {
                route,
                tier,
                answer: None,
                why: cut(&why, TEXT_MAX),
            }],
        );
        Came::ToNothing(why)
    }
}
