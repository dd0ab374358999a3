//! The projection of threads: the one pure fold from events to changes of thread rows, live and in `thinkd rebuild`. A family of facts says
//! whether it changes more than every event does (`changes_thread`), and what is said here. `log/projections/` has the other tables.

use serde_json::json;

use crate::event::envelope::{Event, TurnOutcome, Visibility};
use crate::event::fact::Fact;
use crate::event::fact::calls::{CallOutcome, Record};
use crate::event::fact::corrected::Corrected;
use crate::event::fact::run::{RunFact, RunNews, Slot};
use crate::event::fact::set::{self, Set};
use crate::event::fact::statement::Trials;
use crate::event::fact::summary::Summaries;
use crate::event::fact::task::{TaskFact, TaskNews};
use crate::event::fact::told::{News, Told};
use crate::event::fact::turn;
use crate::event::fact::withdrawn::Withdrawn;
use crate::event::process::{Waiting, Waking};
use crate::event::summary::{Held, Made};
use crate::event::unshown::Back;
use crate::event::worked::Sign;
use crate::log::change::{Spent, ThreadChange};
use crate::log::status::Status;
use crate::log::thread_state::{Adopted, Waits};
use crate::words::id::{Seq, ThreadId};

/// What an event, which says this fact, does to its thread's row.
pub fn project(event: &Event, fact: &Fact<'_>) -> ThreadChange {
    let mut thread = counted(event, fact);
    if fact.changes_thread() {
        change(event, fact, &mut thread);
    }
    thread
}

/// What every event counts for.
fn counted(event: &Event, fact: &Fact<'_>) -> ThreadChange {
    let (visibility, own) = (event.visibility(), &event.thread);
    let mut thread = ThreadChange {
        woken: event.wakes().then_some(event.seq),
        visible: u64::from(visibility >= Visibility::Submodule),
        heard: u64::from(visibility >= Visibility::Heard),
        from_outside: fact.is_from_outside(),
        from_others: fact.is_from_others(own),
        self_messages: u32::from(fact.is_from_itself(own)),
        ..ThreadChange::default()
    };
    thread.state.waking = fact.waking();
    // A mission that waits for people goes on when they do not want a task any more.
    if matches!(
        fact,
        Fact::Task(TaskFact {
            what: TaskNews::Over { .. },
            ..
        })
    ) && own.is_of_mission()
    {
        thread.state.waking = Some(Waking {
            by: None,
            outside: true,
            ends_any_wait: true,
        });
    }
    thread.state.work = Sign::of(fact).filter(|_| own.is_of_mission());
    thread.state.points = fact.points();
    thread
}

fn change(event: &Event, fact: &Fact<'_>, thread: &mut ThreadChange) {
    match fact {
        Fact::TurnStarted(started) => turn_started(started, thread),
        Fact::TurnEnded(ended) => turn_ended(ended, thread),
        Fact::Told(told) => hear(told, &event.thread, thread),
        Fact::Result(result) => thread.state.sends = u32::try_from(result.sent).unwrap_or(u32::MAX),
        // What a server or a trial asks no message answers.
        Fact::Question(asked) if !asked.is_of_the_mind() => {}
        Fact::Question(asked) => thread.state.question = Some((asked.question.to_owned(), true)),
        Fact::Answer(answer) => thread.state.question = Some((answer.question.to_owned(), false)),
        Fact::Input(input) => {
            thread.state.question = input.answers.map(|id| (id.to_owned(), false))
        }
        Fact::Withdrawn(Withdrawn {
            from, input, turns, ..
        }) => {
            thread.state.withdrawn = Some(Back {
                from: *from,
                input: *input,
                turns: *turns,
            })
        }
        Fact::Failure(failed) => thread.state.left_out = failed.left_out(),
        Fact::Run(run) => self::run(run, event, thread),
        Fact::Call(record) => call(record, thread),
        Fact::Set(set) => self::set(set, thread),
        // Trials have no mailbox: what is due wakes them, and rest moves them on.
        Fact::Trials(Trials::Due) => thread.woken = Some(event.seq),
        Fact::Trials(Trials::Rested { handled, told }) => {
            (thread.handled, thread.state.told) = (Some(*handled), *told)
        }
        Fact::Corrected(Corrected(correction)) => {
            thread.state.correction = Some(correction.clone())
        }
        Fact::Summaries(Summaries::Rested(handled)) => thread.handled = Some(*handled),
        Fact::Summaries(Summaries::Due { .. }) => thread.woken = Some(event.seq),
        Fact::Summary(summary) => {
            let held = Held {
                seq: event.seq,
                covers: summary.covers.clone(),
            };
            thread.state.summary = Some(Made {
                held,
                joins: summary.joins.clone(),
            });
        }
        _ => {}
    }
}

fn turn_started(started: &turn::Started<'_>, thread: &mut ThreadChange) {
    thread.turn = Some(started.turn);
    thread.status = Some(Status::Thinking);
    thread.state.root = started.root;
    thread.state.begins = Some(started.batch.last().copied().unwrap_or(0));
}

fn turn_ended(ended: &turn::Ended, thread: &mut ThreadChange) {
    thread.status = Some(Status::Idle);
    // An interrupted turn leaves its batch in the mailbox.
    if ended.outcome != Some(TurnOutcome::Interrupted) {
        thread.handled = ended.handled;
    }
    thread.state.failed = match ended.outcome {
        Some(TurnOutcome::Failed) => Some("its last turn failed".to_owned()),
        Some(TurnOutcome::Cancelled) => Some("its last turn was cancelled".to_owned()),
        Some(TurnOutcome::Done | TurnOutcome::Interrupted) | None => None,
    };
    thread.state.waits = waits(ended.wait.clone(), ended.seen.or(thread.handled));
    thread.state.mood = ended.mood;
}

/// From when on the thread waits for whom, if an event says so.
fn waits(waiting: Option<Waiting>, seen: Option<Seq>) -> Option<Waits> {
    Some(Waits {
        waiting: waiting?,
        seen: seen.unwrap_or(0),
    })
}

fn call(record: &Record<'_>, thread: &mut ThreadChange) {
    // One that a budget refused was not made.
    if record.outcome() == Some(CallOutcome::Refused) {
        return;
    }
    (thread.model_calls, thread.tokens) = (1, record.tokens());
    let roots = [record.root(), record.cause()];
    thread.spent = Some((roots, Spent::call(record.tokens())));
}

/// What the core told the thread.
fn hear(told: &Told<'_>, own: &ThreadId, thread: &mut ThreadChange) {
    let is_child =
        |id: &str| ThreadId::parse(id).ok().and_then(|id| id.parent()).as_ref() == Some(own);
    match &told.news {
        News::Spawned { .. } => {
            thread.state.subthreads = 1;
            // Its end wakes the thread again: without a count that could go on for ever. What people make is from outside.
            thread.state.sends = u32::from(told.turn.is_some());
            thread.spent = one_thread(told.root);
        }
        News::Ended {
            thread: id,
            counted,
            was_archived,
            ..
        } => {
            thread.state.subthreads = -i32::from(is_child(id) && !was_archived);
            thread.state.part = counted.part.clone();
        }
        News::Archived { thread: id } => thread.state.subthreads = -i32::from(is_child(id)),
        News::Stuck { counted, .. } => thread.state.part = counted.part.clone(),
        News::Resumed { thread: id } => thread.state.subthreads = i32::from(is_child(id)),
        News::Cleared { kept } => thread.state.keep = *kept,
        News::Timer { .. }
        | News::TimerSet { .. }
        | News::PlanComplete { .. }
        | News::WatchRaised { .. }
        | News::WatchSet { .. }
        | News::WatchClosed { .. }
        | News::Gathered { .. }
        | News::Error { .. } => {}
    }
}

/// One more thread, of those that go back to an event.
fn one_thread(root: Option<Seq>) -> Option<([Option<Seq>; 2], Spent)> {
    root.map(|root| ([Some(root), None], Spent::threads(1)))
}

/// A run is a thread with one turn. It has no mailbox: its beginning wakes it, its end is the thread's.
fn run(run: &RunFact<'_>, event: &Event, thread: &mut ThreadChange) {
    let seq = event.seq;
    match &run.what {
        RunNews::Started { input, root, .. } => {
            thread.woken = Some(seq);
            thread.spent = one_thread(*root);
            thread.settings = Some(match input {
                Some(Slot::Here(wanted)) if event.thread.is_of_mission() => {
                    json!({ "kind": "mission", "wanted": wanted })
                }
                _ => json!({ "pipeline": run.pipeline }),
            });
        }
        RunNews::Ended {
            outcome,
            failure,
            tasks,
            ..
        } => {
            thread.handled = Some(seq);
            let why = failure.and_then(|failure| failure["text"].as_str());
            thread.state.reason = why.map(str::to_owned);
            thread.state.tasks = *tasks;
            thread.status = Some(match *outcome {
                "done" => Status::Done,
                "failed" => Status::Failed,
                _ => Status::Stopped,
            });
        }
        // What rests is no work for anybody; what is to end goes on to its end.
        RunNews::Paused { .. } => {
            (thread.status, thread.state.paused) = (Some(Status::Waiting), Some(true))
        }
        RunNews::Parked => thread.status = Some(Status::Waiting),
        RunNews::Continued { .. } | RunNews::Cancel { .. } => {
            (thread.status, thread.state.paused) = (Some(Status::Idle), Some(false));
        }
        RunNews::Resumed { .. } => {}
    }
}

fn set(set: &Set<'_>, thread: &mut ThreadChange) {
    let Set {
        key, change, root, ..
    } = set;
    let state = &mut thread.state;
    match change {
        set::Change::Thread(change) => {
            thread.status = change.status.and_then(Status::parse);
            thread.settings = change.settings.cloned();
            state.root = *root;
            state.reason = change.reason.map(str::to_owned);
            state.archived = change.archived;
            let by = |parent: Option<&str>| parent.and_then(|id| ThreadId::parse(id).ok());
            state.adopted = change.parent.map(|parent| Adopted { by: by(parent) });
            thread.unreadable = change.status.is_some() && thread.status.is_none();
        }
        set::Change::Wait(wait) => state.waits = waits(wait.waiting.clone(), wait.seen),
        set::Change::Plan(plan) => state.plan = Some((*plan).clone()),
        set::Change::Watch(watch) => state.watch = Some(((*key).to_owned(), watch.clone())),
        set::Change::Gather(gather) => state.gather = Some(((*key).to_owned(), gather.clone())),
        set::Change::Tools(open) => state.open = Some(open.clone()),
        // These have tables of their own: `log/projections/`.
        set::Change::Contact(_)
        | set::Change::Timer(_)
        | set::Change::Submodule(_)
        | set::Change::Entry(_)
        | set::Change::Setting(_)
        | set::Change::Schedule(_)
        | set::Change::Framework(_)
        | set::Change::Pin(_) => {}
        // What has rows, in a form of a newer build: a row stays as it is. What only readers look at has none.
        set::Change::Unreadable { kind, .. } => thread.unreadable = *kind != set::Kind::Wait,
        set::Change::Step(_) | set::Change::Doctor(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::event::fact::examples;

    // A family that says it changes a thread, and of which nothing is said here, or the other way round, is found.
    #[test]
    fn what_a_family_says_of_threads_is_what_is_done_to_them() {
        let mut families: BTreeMap<String, (bool, bool)> = BTreeMap::new();
        for draft in examples() {
            let event = draft.preview();
            let (fact, mut thread) = (event.fact(), counted(&event, &event.fact()));
            let before = thread.clone();
            change(&event, &fact, &mut thread);
            let family = format!("{fact:?}")
                .split('(')
                .next()
                .unwrap_or_default()
                .to_owned();
            let (says, does) = families.entry(family).or_default();
            *says |= fact.changes_thread();
            *does |= thread != before;
        }
        assert!(families.len() > 15, "{families:?}");
        let wrong: Vec<_> = families
            .iter()
            .filter(|(_, (says, does))| says != does)
            .collect();
        assert!(wrong.is_empty(), "says, does: {wrong:?}");
    }
}
