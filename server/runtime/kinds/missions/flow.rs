//! The mission as a pipeline: decompose; work off what may begin; for each task ask how, try route by route, best first, check each answer; and
//! answer from all of it. What a step does is in `missions/planning.rs` and `missions/steps.rs`. Every step is a node whose value the journal of the run keeps, and each task is a flow
//! of its own, so that a mission that was cut off goes on wherever each of its tasks was.

use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::FuturesUnordered;
use unhurried::{Context, NodeExecutionError, Run};

use super::agreeing::agree;
use super::asking::Came;
use super::desk::Desk;
use super::planning::{ask_user, consider, decompose, replan};
use super::steps::{Ended, Tried, Verdict, answer, begin, check, end, retry, solve};
use crate::event::estimate::Expected;
use crate::event::mission::{Check, Ladder, Route, Step, TaskId, Value};

type Done<T> = Result<T, NodeExecutionError>;

/// The mission, and its answer; none: a budget was used up.
pub(super) async fn mission(desk: Desk) -> Done<Option<String>> {
    let planned = decompose(Context::new(None), desk.clone()).await?;
    if let Came::To(_) | Came::ToNothing(_) = desk.noting(planned) {
        work_off(desk.clone(), None).await?;
    }
    match desk.spent() {
        Some(_) => Ok(None),
        None => Ok(match desk.noting(answer(Context::new(()), desk.clone()).await?) {
            Came::To(answer) | Came::ToNothing(answer) => Some(answer),
            Came::Spent(_) => None,
        }),
    }
}

/// Does the tasks of a mission, or the parts of a task: those side by side that may begin, each in a flow of its own.
fn work_off(desk: Desk, parent: Option<TaskId>) -> BoxFuture<'static, Done<()>> {
    let work = async move {
        let mut flows = FuturesUnordered::new();
        loop {
            while flows.len() < desk.options().width as usize && desk.spent().is_none() {
                let Some(task) = desk.board().take_next(parent) else { break };
                let (work, skipped) = (Run::branch(task, work_on(desk.clone(), task)), desk.clone());
                flows.push(async move {
                    tokio::select! {
                        () = skipped.skipped(task) => Ok(()),
                        done = work => done,
                    }
                });
            }
            match flows.next().await {
                Some(done) => done?,
                None => return Ok(()),
            }
        }
    };
    work.boxed()
}

/// Does one task, whatever it takes.
async fn work_on(desk: Desk, task: TaskId) -> Done<()> {
    let mut place = desk.place().await;
    if let Some(failed) = begin(Context::new(task), desk.clone()).await? {
        let possible = replan(Context::new(task), failed, desk.clone()).await?;
        match desk.noting(possible) {
            Came::To(()) => {}
            Came::ToNothing(why) => return finish(&desk, task, Ended::failed(why)).await,
            Came::Spent(_) => return Ok(()),
        }
    }
    let Came::To(mut considered) = desk.noting(consider(Context::new(task), None, desk.clone()).await?) else {
        return Ok(());
    };
    if let Some(question) = considered.question.take() {
        // Who waits for people leaves its place to others.
        drop(place.take());
        let said = ask_user(Context::new(task), question, desk.clone()).await?;
        if let Some(now) = desk.board().get_mut(task) {
            now.said = Some(said.clone());
        }
        place = desk.place().await;
        let Came::To(again) = desk.noting(consider(Context::new(task), Some(said), desk.clone()).await?) else {
            return Ok(());
        };
        considered = again;
    }
    let mut wrong: Vec<Verdict> = Vec::new();
    let by_agreement = matches!(considered.check, Check::Agreement { .. });
    if by_agreement {
        match desk.noting(agree(task, &considered, &mut wrong, &desk).await?) {
            Came::To(answer) => return finish(&desk, task, Ended::closed(answer)).await,
            Came::ToNothing(_) => {}
            Came::Spent(_) => return Ok(()),
        }
    }
    for step in Ladder::of(&considered.routes, desk.value(task) != Value::Low) {
        if by_agreement && matches!(step, Step::Whole(_)) {
            continue;
        }
        if let Step::High(_) = step
            && !retry(Context::new(task), desk.clone()).await?
        {
            continue;
        }
        if step == Step::Split {
            match desk.noting(decompose(Context::new(Some(task)), desk.clone()).await?) {
                Came::To(_) => {}
                Came::ToNothing(why) => {
                    wrong.push(Verdict::nothing("split", why));
                    continue;
                }
                Came::Spent(_) => return Ok(()),
            }
            // Who waits for its parts leaves its place to them.
            drop(place.take());
            work_off(desk.clone(), Some(task)).await?;
            if desk.spent().is_some() {
                return Ok(());
            }
            place = desk.place().await;
        }
        let tried = solve(Context::new(task), step, considered.routes.clone(), wrong.clone(), desk.clone()).await?;
        let Tried { route, answer } = match desk.noting(tried) {
            Came::To(tried) => tried,
            Came::ToNothing(why) => {
                wrong.push(Verdict::nothing("", why));
                continue;
            }
            Came::Spent(_) => return Ok(()),
        };
        let (by, expected) = (considered.check.clone(), expected(&considered.routes, step));
        match desk.noting(check(Context::new(task), by, expected, answer.clone(), desk.clone()).await?) {
            Came::To(()) => return finish(&desk, task, Ended::closed(answer)).await,
            Came::ToNothing(why) => wrong.push(Verdict { route, answer: Some(answer), why }),
            Came::Spent(_) => return Ok(()),
        }
    }
    let judged = wrong.iter().rfind(|it| it.answer.is_some()).or(wrong.last());
    let last = judged.map_or_else(|| "there was nothing to try".to_owned(), |last| last.why.clone());
    finish(&desk, task, Ended::failed(format!("no answer passed its check by {} tries: {last}", wrong.len()))).await
}

/// What is expected of a step: of the task once it is split, where that was no route, nothing.
fn expected(routes: &[Route], step: Step) -> Option<Expected> {
    match step {
        Step::Whole(at) | Step::Alone { route: at, .. } => routes.get(at).map(|route| route.expected(false)),
        Step::High(at) => routes.get(at).map(|route| route.expected(true)),
        Step::Split => routes.iter().find(|route| route.splits).map(|route| route.expected(false)),
    }
}

async fn finish(desk: &Desk, task: TaskId, ended: Ended) -> Done<()> {
    end(Context::new(task), ended, desk.clone()).await
}

impl Desk {
    /// The same; that a budget is used up is noted.
    fn noting<T>(&self, came: Came<T>) -> Came<T> {
        if let Came::Spent(why) = &came {
            self.is_spent(why.clone());
        }
        came
    }

    fn value(&self, task: TaskId) -> Value {
        self.board().get(task).map_or(Value::Low, |now| now.value)
    }
}
