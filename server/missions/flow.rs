//! The mission as a pipeline: decompose, work off the tasks that may begin, and answer from all of
//! them. For each task a model proposes routes; they are tried best first, and each answer is
//! checked. The steps are in `missions/planning.rs` and `missions/steps.rs`. Every step is a node
//! with a value in the journal of the run, and each task is a flow of its own. A mission that was
//! cut off therefore goes on at the place of each of its tasks.

use futures_util::future::{BoxFuture, FutureExt as _};
use unhurried::{Context, Run};

use super::agreeing::{agree, agrees};
use super::approving::{Approved, adopt, approve, propose};
use super::asking::Came;
use super::claiming::claim_facts;
use super::desk::{Desk, Done};
use super::making::{learn, make};
use super::planning::{ask_user, consider, decompose, replan};
use super::reporting::report;
use super::said::Considered;
use super::solving::{Tried, Verdict, solve};
use super::steps::{Ended, begin, check, end, retry};
use super::using::{Framed, choices, look_up, tell, with_frameworks};
use thinkd_event::mission::{Expected, Plan, Route, Step, TaskId, Value, ladder};
use thinkd_tasks::under_way::UnderWay;
use thinkd_words::failure::{Failure, FailureKind};

type Place = tokio::sync::OwnedSemaphorePermit;

/// Does a mission. Returns its answer, or why there is none: a budget is used up, there is no model
/// to ask, or a person does not want it done as it was planned.
pub(super) async fn mission(desk: Desk) -> Done<Result<String, Failure>> {
    let _at_work = desk.rest.at_work();
    let planned = match desk.wanted.plan {
        Plan::Go => decompose(Context::new(None), desk.clone()).await?,
        Plan::Ask => match propose(Context::new(()), desk.clone()).await? {
            Came::To(plan) => match approve(Context::new(plan), desk.clone()).await? {
                // What a person approved is done, and nothing else.
                Approved::Plan(plan) => match adopt(Context::new(plan), desk.clone()).await? {
                    Came::ToNothing(why) => return Ok(Err(Failure::new(FailureKind::Tool, why))),
                    adopted => adopted,
                },
                Approved::Rejected(why) => return Ok(Err(Failure::new(FailureKind::Tool, why))),
            },
            Came::ToNothing(why) => Came::ToNothing(why),
            Came::Spent(why) => Came::Spent(why),
        },
    };
    if let Came::To(_) | Came::ToNothing(_) = planned.noted(&desk.asker) {
        work_off(desk.clone(), None).await?;
    }
    if !desk.asker.is_spent()
        && let Some(answer) = report(&desk).await?
    {
        return Ok(Ok(answer));
    }
    let unsaid = || Failure::new(FailureKind::Budget, "a budget of the mission is used up");
    Ok(Err(desk.asker.spent.get().cloned().unwrap_or_else(unsaid)))
}

/// Does the tasks of a mission, or the parts of a task: those side by side that may begin, each in
/// a flow of its own.
fn work_off(desk: Desk, parent: Option<TaskId>) -> BoxFuture<'static, Done<()>> {
    let work = async move {
        let _waits = desk.rest.waits_for_others();
        let mut flows = UnderWay::default();
        loop {
            while flows.len() < desk.options().width as usize && !desk.asker.is_spent() {
                let Some(taken) = desk.tasks.board().take_next(parent) else {
                    break;
                };
                let at_work = desk.rest.at_work();
                let desk = desk.clone();
                flows.push(async move {
                    let _at_work = at_work;
                    let place = desk.tasks.place().await;
                    let Some(task) = desk.tasks.board().take_instead(taken) else {
                        return Ok(());
                    };
                    tokio::select! {
                        () = desk.tasks.skipped(task) => Ok(()),
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

/// Does one task up to its end.
async fn work_on(desk: Desk, task: TaskId, mut place: Option<Place>) -> Done<()> {
    let on = || Context::new(task);
    if let Some(failed) = begin(on(), desk.clone()).await? {
        let possible = replan(on(), failed, desk.clone()).await?;
        match possible.noted(&desk.asker) {
            Came::To(()) => {}
            Came::ToNothing(why) => return end(on(), Ended::failed(why), desk.clone()).await,
            Came::Spent(_) => return Ok(()),
        }
    }
    let mut considered = consider(on(), None, desk.clone()).await?;
    if let Came::To(Considered {
        question: Some(question),
        ..
    }) = &considered
    {
        // Who waits for people leaves its place to others.
        drop(place.take());
        let said = ask_user(on(), question.clone(), desk.clone()).await?;
        place = desk.tasks.place().await;
        considered = consider(on(), Some(said), desk.clone()).await?;
    }
    let Came::To(how) = considered.noted(&desk.asker) else {
        return Ok(());
    };
    let frames = look_up(on(), desk.clone()).await?;
    let _chosen = choices(&desk, task, &frames);
    let mut way = Way {
        desk: &desk,
        task,
        how: &how,
        place,
        wrong: Vec::new(),
    };
    let Some((ended, at_once)) = way.go(&frames).await? else {
        return Ok(());
    };
    if !frames.is_empty() {
        tell(on(), frames, at_once, desk.clone()).await?;
    }
    end(on(), ended, desk.clone()).await
}

/// The result of a try.
enum Next {
    /// An answer that passed its check, and whether it was the first one, by which frameworks are
    /// compared.
    Answer(String, bool),
    /// The next step is tried.
    On,
    /// Nothing is begun any more.
    Stop,
}

/// The way of a task: its plan, its place, and the tries that failed.
struct Way<'a> {
    desk: &'a Desk,
    task: TaskId,
    how: &'a Considered,
    place: Option<Place>,
    wrong: Vec<Verdict>,
}

impl Way<'_> {
    /// Tries the task until an answer passes its check: with the frameworks that it is like, by
    /// tries that agree, by each step of its ladder. Returns how it ended, and whether its first
    /// try passed; none: nothing is begun any more.
    async fn go(&mut self, frames: &[Framed]) -> Done<Option<(Ended, bool)>> {
        let is_low = self.desk.tasks.value(self.task) == Value::Low;
        let known = frames.iter().filter(|it| it.with).cloned();
        let mut next = self.with(known.collect(), false).await?;
        if self.how.is_agreed() && matches!(next, Next::On) {
            next = self.agreed().await?;
        }
        for step in ladder(&self.how.routes, !is_low) {
            if let Next::On = next {
                next = self.step(step).await?;
            }
        }
        match next {
            Next::Answer(answer, at_once) => Ok(Some((Ended::closed(answer), at_once))),
            Next::Stop => Ok(None),
            Next::On if self.desk.asker.is_spent() => Ok(None),
            Next::On => {
                if is_low {
                    self.make(false).await?;
                }
                Ok(Some((Ended::failed(self.why_failed()), false)))
            }
        }
    }

    /// Takes one step of the ladder.
    async fn step(&mut self, step: Step) -> Done<Next> {
        let desk = self.desk;
        let task = self.task;
        if desk.asker.is_spent() {
            return Ok(Next::Stop);
        }
        match step {
            // It was tried before, until tries agree.
            Step::Whole(_) if self.how.is_agreed() => Ok(Next::On),
            Step::Whole(_) => self.by(step).await,
            Step::High(_) => {
                let again = retry(Context::new(task), desk.clone()).await?;
                if again && let next @ (Next::Answer(..) | Next::Stop) = self.by(step).await? {
                    return Ok(next);
                }
                let made = self.make(again).await?;
                self.with(made.into_iter().collect(), true).await
            }
            Step::Split => {
                let split = decompose(Context::new(Some(task)), desk.clone()).await?;
                match split.noted(&desk.asker) {
                    Came::To(_) => {}
                    // Where it is split is said why not; that is no try.
                    Came::ToNothing(_) => return Ok(Next::On),
                    Came::Spent(_) => return Ok(Next::Stop),
                }
                // Who waits for its parts leaves its place to them.
                drop(self.place.take());
                work_off(desk.clone(), Some(task)).await?;
                if desk.asker.is_spent() {
                    return Ok(Next::Stop);
                }
                self.place = desk.tasks.place().await;
                self.by(step).await
            }
        }
    }

    /// Returns why the task failed.
    fn why_failed(&self) -> String {
        let answered = self.wrong.iter().rfind(|it| it.answer.is_some());
        let last = answered.or(self.wrong.last());
        let last = last.map_or("there was nothing to try", |last| &last.why);
        let tries = match self.wrong.len() {
            1 => "1 try".to_owned(),
            tries => format!("{tries} tries"),
        };
        format!("no answer passed its check by {tries}: {last}")
    }

    /// Tries the task until tries that know nothing of each other agree.
    async fn agreed(&mut self) -> Done<Next> {
        let first = self.wrong.first().cloned();
        let agreed = agree(self.task, self.how, &mut self.wrong, self.desk).await?;
        let Came::To(answer) = agreed.noted(&self.desk.asker) else {
            return Ok(Next::On);
        };
        let at_once = first.is_none_or(|first| first.is_answered(&answer));
        Ok(Next::Answer(answer, at_once))
    }

    /// Tries the task by one step.
    async fn by(&mut self, step: Step) -> Done<Next> {
        let desk = self.desk;
        let how = self.how;
        // What one says has to be said by another.
        let times = if how.is_agreed() { 2 } else { 1 };
        for _ in 0..times {
            let tried = solve(desk, self.task, step, (how, &self.wrong)).await?;
            let next = self.judged(expected(&how.routes, step), tried).await?;
            if let Next::Answer(..) = next {
                return Ok(next);
            }
            if desk.asker.is_spent() {
                return Ok(Next::Stop);
            }
        }
        Ok(Next::On)
    }

    /// Tries the task with frameworks, if there are any: those that it is like, by the ordinary
    /// model, or the one that was made for it, by the high tier.
    async fn with(&mut self, frames: Vec<Framed>, made: bool) -> Done<Next> {
        let Some(first) = frames.first() else {
            return Ok(Next::On);
        };
        let told = self.how.told(&self.wrong);
        let tried = with_frameworks(self.desk, self.task, (&frames, made), told).await?;
        self.judged(Some(first.expected(&self.how.routes)), tried)
            .await
    }

    /// Makes a framework for the task. `redone`: the high tier was asked, too.
    async fn make(&self, redone: bool) -> Done<Option<Framed>> {
        make(self.desk, self.task, redone, (&self.how.check, &self.wrong)).await
    }

    /// Returns the answer of a try, if it passes the check; else `wrong` has the verdict, or
    /// nothing is begun any more.
    async fn judged(&mut self, expected: Option<Expected>, tried: Came<Tried>) -> Done<Next> {
        let desk = self.desk;
        let task = self.task;
        let tried = match tried.noted(&desk.asker) {
            Came::To(tried) => tried,
            Came::ToNothing(why) => {
                self.wrong.push(Verdict::of("", None, why));
                return Ok(Next::On);
            }
            Came::Spent(_) => return Ok(Next::On),
        };
        claim_facts(desk, task, &tried).await?;
        let context = Context::new(task);
        let answer = tried.answer;
        let checked = if self.how.is_agreed() {
            let others = self.wrong.iter().filter_map(|it| it.answer.clone());
            let others = Vec::from_iter(others);
            agrees(context, answer.clone(), others, expected, desk.clone()).await?
        } else {
            let by = self.how.check.clone();
            check(context, by, expected, answer.clone(), desk.clone()).await?
        };
        match checked.noted(&desk.asker) {
            Came::To(()) => {
                learn(desk, task, &tried.steps).await?;
                return Ok(Next::Answer(answer, self.wrong.is_empty()));
            }
            Came::ToNothing(why) => {
                let verdict = Verdict::of(&tried.route, Some(answer), why);
                self.wrong.push(verdict);
            }
            Came::Spent(_) => {}
        }
        Ok(Next::On)
    }
}

/// Returns the expectation of a step. For the task once it is split it is that of the splitting
/// route; without such a route there is none.
fn expected(routes: &[Route], step: Step) -> Option<Expected> {
    let route = match step {
        Step::Whole(at) | Step::High(at) => routes.get(at),
        Step::Split => routes.iter().find(|route| route.splits),
    };
    Some(route?.expected(matches!(step, Step::High(_))))
}
