//! The steps of a mission: each asks a model or decides by a rule, records the result, and is a
//! node of the pipeline in `missions/flow.rs`. A decision that depends on more than its arguments
//! and the values of earlier steps is made in here, so that the journal has it.

use serde::{Deserialize, Serialize};
use serde_json::json;
use unhurried::node;

use super::asking::{Ask, Came, JUDGE, ask};
use super::checking::{Decided, decided, judged};
use super::desk::Desk;
use super::journal;
use super::said::Judge;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::Thread;
use thinkd_event::fact::task::TaskNews;
use thinkd_event::mission::{Check, Expected, TEXT_MAX, TaskId};
use thinkd_event::statement::cut;
use thinkd_thread::settings::{Kind, Settings};

/// The end of a task.
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
    let behind = desk.tasks.board().failed_before(task);
    let settings = Settings {
        title: desk.tasks.of(task, |now| now.new.name.clone()),
        kind: Kind::Mission,
        ..Settings::default()
    };
    let change = Thread {
        settings: Some(&json!(settings)),
        ..Thread::default()
    };
    let thread = desk.journal.thread(Some(task));
    let began = Draft::task(&thread, task, TaskNews::Began { behind });
    let began = began.only_if(desk.journal.to_come(task));
    desk.journal
        .beside(Some(task), [Draft::set_thread(&thread, change), began]);
    desk.tasks.board().begin(task);
    behind
}

/// Returns whether a task is tried once more by the high tier: a rule over figures.
#[node]
pub(super) async fn retry(task: TaskId, desk: Desk) -> bool {
    let figures = desk.figures();
    let made = figures.allow_retry();
    desk.journal.say(task, TaskNews::Retry { made, figures });
    made
}

/// Returns whether an answer will do: by the check that was chosen before there was one, or where
/// that decides nothing, by a model that sees task and answer only.
#[node]
pub(super) async fn check(
    task: TaskId,
    check: Check,
    expected: Option<Expected>,
    answer: String,
    desk: Desk,
) -> Came<()> {
    let verdict = match decided(&desk, &check, &answer).await {
        Ok(verdict) => verdict,
        Err(undecided) => {
            let described = desk.tasks.of(task, |now| now.described().to_string());
            let question = Ask::of(JUDGE, task)
                .with("task", described.unwrap_or_default())
                .quoted("rubric", check.rubric())
                .quoted("answer", &answer);
            let (passes, mut why) = match ask::<Judge>(&desk, question, |_| Ok(())).await {
                Came::To(Judge { passes, why }) => (passes, cut(&why, TEXT_MAX)),
                Came::ToNothing(why) => (false, format!("nobody judged it: {why}")),
                Came::Spent(why) => return Came::Spent(why),
            };
            if !undecided.is_empty() {
                why = format!("{why} ({undecided})");
            }
            Decided::by("rubric", passes, why)
        }
    };
    judged(&desk, task, verdict, expected)
}

/// A task is over, and its thread with it.
#[node]
pub(super) async fn end(task: TaskId, ended: Ended, desk: Desk) {
    let Ended { answer, reason } = ended;
    let [over, thread] = journal::over(&desk.journal.mission, task, answer.clone(), reason.clone());
    let over = over.only_if(desk.journal.to_come(task));
    desk.journal.beside(Some(task), [over, thread]);
    desk.tasks.board().end(task, answer, reason);
}
