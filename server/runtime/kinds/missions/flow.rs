//! The mission as a pipeline: decompose; work off what may begin; for each task ask how, try route by route, best first, check each answer; and
//! answer from all of it. What a step does is in `missions/planning.rs` and `missions/steps.rs`. Every step is a node whose value the journal of the run keeps, and each task is a flow
//! of its own, so that a mission that was cut off goes on wherever each of its tasks was.

use futures_util::future::{BoxFuture, FutureExt as _};
use unhurried::{Context, NodeExecutionError, Run};

use super::agreeing::{agree, agrees};
use super::approving::{Approved, adopt, approve, propose};
use super::asking::Came;
use super::claiming::claim_facts;
use super::desk::Desk;
use super::making::{learn, make};
use super::planning::{ask_user, consider, decompose, replan};
use super::reporting::report;
use super::said::Considered;
use super::solving::{Tried, Verdict, solve};
use super::steps::{Ended, begin, check, end, retry};
use super::using::{Framed, look_up, tell, with_frameworks};
use crate::event::mission::{Expected, Ladder, Plan, Route, Step, TaskId, Value};
use crate::tasks::under_way::UnderWay;
use crate::words::failure::{Failure, FailureKind};

type Place = tokio::sync::OwnedSemaphorePermit;
type Done<T> = Result<T, NodeExecutionError>;

/// What a mission comes to.
pub(super) enum Outcome {
    Answer(String),
    /// A budget is used up, there is no model to ask, or a person does not want it done as it was planned.
    Failed(Failure),
}

/// The mission, and what it comes to.
pub(super) async fn mission(desk: Desk) -> Done<Outcome> {
    let _at_work = desk.rest().at_work();
    let planned = match desk.wanted().plan {
        Plan::Go => decompose(Context::new(None), desk.clone()).await?,
        Plan::Ask => match propose(Context::new(()), desk.clone()).await? {
            Came::To(plan) => match approve(Context::new(plan), desk.clone()).await? {
                Approved::Plan(plan) => adopt(Context::new(plan), desk.clone()).await?,
                Approved::Rejected(why) => {
                    return Ok(Outcome::Failed(Failure::new(FailureKind::Tool, why)));
                }
            },
            Came::ToNothing(why) => Came::ToNothing(why),
            Came::Spent(why) => Came::Spent(why),
        },
    };
    if let Came::To(_) | Came::ToNothing(_) = desk.noting(planned) {
        work_off(desk.clone(), None).await?;
    }
    if desk.spent().is_none()
        && let Some(answer) = report(&desk).await?
    {
        return Ok(Outcome::Answer(answer));
    }
    let unsaid = || Failure::new(FailureKind::Budget, "a budget of the mission is used up");
    Ok(Outcome::Failed(
        desk.spent().cloned().unwrap_or_else(unsaid),
    ))
}

/// Does the tasks of a mission, or the parts of a task: those side by side that may begin, each in a flow of its own.
fn work_off(desk: Desk, parent: Option<TaskId>) -> BoxFuture<'static, Done<()>> {
    let work = async move {
        let _waits = desk.rest().waits_for_others();
        let mut flows = UnderWay::default();
        loop {
            while flows.len() < desk.options().width as usize && desk.spent().is_none() {
                let Some(taken) = desk.board().take_next(parent) else {
                    break;
                };
                let (at_work, desk) = (desk.rest().at_work(), desk.clone());
                flows.push(async move {
                    let _at_work = at_work;
                    let place = desk.place().await;
                    let Some(task) = desk.board().take_instead(taken) else {
                        return Ok(());
                    };
                    tokio::select! {
                        () = desk.skipped(task) => Ok(()),
                        done = Run::branch(task, work_on(desk.clone(), task, place)) => done,
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
async fn work_on(desk: Desk, task: TaskId, mut place: Option<Place>) -> Done<()> {
    if let Some(failed) = begin(Context::new(task), desk.clone()).await? {
        let possible = replan(Context::new(task), failed, desk.clone()).await?;
        match desk.noting(possible) {
            Came::To(()) => {}
            Came::ToNothing(why) => {
                return finish(&desk, task, &[], Ended::failed(why), false).await;
            }
            Came::Spent(_) => return Ok(()),
        }
    }
    let Came::To(mut considered) =
        desk.noting(consider(Context::new(task), None, desk.clone()).await?)
    else {
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
        let Came::To(again) =
            desk.noting(consider(Context::new(task), Some(said), desk.clone()).await?)
        else {
            return Ok(());
        };
        considered = again;
    }
    try_all(&desk, task, &considered, place).await
}

/// Tries a task until an answer passes its check: with the frameworks that it is like, by its routes, and with one that is made for it.
async fn try_all(
    desk: &Desk,
    task: TaskId,
    how: &Considered,
    mut place: Option<Place>,
) -> Done<()> {
    let frames = look_up(Context::new(task), desk.clone()).await?;
    let _chosen = desk.choices(task, &frames);
    let mut wrong: Vec<Verdict> = Vec::new();
    let used: Vec<Framed> = frames.iter().filter(|it| it.with).cloned().collect();
    if let Some(first) = used.first() {
        let expected = Some(first.expected(&how.routes));
        let tried = with_frameworks(desk, task, &used, false, &[]).await?;
        if let Some(answer) = judged(desk, task, how, (expected, tried), &mut wrong).await? {
            return finish(desk, task, &frames, Ended::closed(answer), true).await;
        }
    }
    if how.is_agreed() {
        let made = wrong.first().cloned();
        if let Came::To(answer) = desk.noting(agree(task, how, &mut wrong, desk).await?) {
            let at_once = made.is_none_or(|made| made.is_answered(&answer));
            return finish(desk, task, &frames, Ended::closed(answer), at_once).await;
        }
    }
    for step in Ladder::of(&how.routes, desk.value(task) != Value::Low) {
        if desk.spent().is_some() {
            return Ok(());
        }
        if how.is_agreed() && matches!(step, Step::Whole(_)) {
            continue;
        }
        if let Step::High(_) = step
            && !retry(Context::new(task), desk.clone()).await?
        {
            make(desk, task, false, &how.check, &wrong).await?;
            continue;
        }
        if step == Step::Split {
            match desk.noting(decompose(Context::new(Some(task)), desk.clone()).await?) {
                Came::To(_) => {}
                // Where it is split is said why not; that is no try.
                Came::ToNothing(_) => continue,
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
        // What one says has to be said by another.
        let times = if how.is_agreed() { 2 } else { 1 };
        for _ in 0..times {
            let at_once = wrong.is_empty();
            let tried = solve(desk, task, step, how, &wrong).await?;
            let tried = (expected(&how.routes, step), tried);
            if let Some(answer) = judged(desk, task, how, tried, &mut wrong).await? {
                return finish(desk, task, &frames, Ended::closed(answer), at_once).await;
            }
            if desk.spent().is_some() {
                return Ok(());
            }
        }
        if let Step::High(_) = step
            && let Some(made) = make(desk, task, true, &how.check, &wrong).await?
        {
            let expected = Some(made.expected(&how.routes));
            let told = how.told(&wrong);
            let tried = with_frameworks(desk, task, &[made], true, told).await?;
            if let Some(answer) = judged(desk, task, how, (expected, tried), &mut wrong).await? {
                return finish(desk, task, &frames, Ended::closed(answer), false).await;
            }
        }
    }
    if desk.spent().is_some() {
        return Ok(());
    }
    if desk.value(task) == Value::Low {
        make(desk, task, false, &how.check, &wrong).await?;
    }
    let judged = wrong
        .iter()
        .rfind(|it| it.answer.is_some())
        .or(wrong.last());
    let last = judged.map_or("there was nothing to try", |last| &last.why);
    let tries = match wrong.len() {
        1 => "1 try".to_owned(),
        tries => format!("{tries} tries"),
    };
    let why = format!("no answer passed its check by {tries}: {last}");
    finish(desk, task, &frames, Ended::failed(why), false).await
}

/// The answer of a try, if it passes the check; else `wrong` has the verdict, or nothing is begun any more.
async fn judged(
    desk: &Desk,
    task: TaskId,
    how: &Considered,
    (expected, tried): (Option<Expected>, Came<Tried>),
    wrong: &mut Vec<Verdict>,
) -> Done<Option<String>> {
    let tried = match desk.noting(tried) {
        Came::To(tried) => tried,
        Came::ToNothing(why) => {
            wrong.push(Verdict::nothing("", why));
            return Ok(None);
        }
        Came::Spent(_) => return Ok(None),
    };
    claim_facts(desk, task, &tried).await?;
    let Tried {
        route,
        answer,
        steps,
        ..
    } = tried;
    let (context, given, there) = (Context::new(task), answer.clone(), desk.clone());
    let checked = if how.is_agreed() {
        let others: Vec<String> = wrong.iter().filter_map(|it| it.answer.clone()).collect();
        agrees(context, given, others, expected, there).await?
    } else {
        check(context, how.check.clone(), expected, given, there).await?
    };
    match desk.noting(checked) {
        Came::To(()) => {
            learn(desk, task, &steps).await?;
            return Ok(Some(answer));
        }
        Came::ToNothing(why) => wrong.push(Verdict {
            route,
            answer: Some(answer),
            why,
        }),
        Came::Spent(_) => {}
    }
    Ok(None)
}

/// What is expected of a step: of the task once it is split, where that was no route, nothing.
fn expected(routes: &[Route], step: Step) -> Option<Expected> {
    match step {
        Step::Whole(at) => routes.get(at).map(|route| route.expected(false)),
        Step::High(at) => routes.get(at).map(|route| route.expected(true)),
        Step::Split => routes
            .iter()
            .find(|route| route.splits)
            .map(|route| route.expected(false)),
    }
}

/// Ends a task. `at_once`: its first try passed, which is what frameworks are compared by.
async fn finish(
    desk: &Desk,
    task: TaskId,
    frames: &[Framed],
    ended: Ended,
    at_once: bool,
) -> Done<()> {
    if !frames.is_empty() {
        tell(Context::new(task), frames.to_vec(), at_once, desk.clone()).await?;
    }
    end(Context::new(task), ended, desk.clone()).await
}

impl Desk {
    /// The same; that a budget is used up is noted.
    pub fn noting<T>(&self, came: Came<T>) -> Came<T> {
        if let Came::Spent(why) = &came {
            self.is_spent(Failure::new(FailureKind::Budget, why.clone()));
        }
        came
    }

    pub fn value(&self, task: TaskId) -> Value {
        self.board().get(task).map_or(Value::Low, |now| now.value)
    }
}
