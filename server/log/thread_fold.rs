//! The projection of threads: the one pure fold from events to the rows of threads, live and in
//! `thinkd rebuild`. A family of facts says whether it changes more than every event does
//! (`changes_thread`), and the change is here. `log/projections/` has the other tables.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::change::{Applied, Spent};
use crate::fork::Fork;
use crate::status::Status;
use crate::thread_row::ThreadRow;
use crate::thread_state::{Adopted, Position, ThreadState};
use thinkd_event::envelope::{Event, TurnOutcome, Visibility};
use thinkd_event::fact::Fact;
use thinkd_event::fact::calls::{CallOutcome, Record};
use thinkd_event::fact::corrected::Corrected;
use thinkd_event::fact::run::{RunFact, RunNews, Slot};
use thinkd_event::fact::set::{self, Set};
use thinkd_event::fact::statement::Trials;
use thinkd_event::fact::summary::Summaries;
use thinkd_event::fact::task::{TaskFact, TaskNews};
use thinkd_event::fact::told::{News, Told};
use thinkd_event::fact::turn;
use thinkd_event::fact::withdrawn::Withdrawn;
use thinkd_event::fork::Forked;
use thinkd_event::gather::GatherPart;
use thinkd_event::process::{Waiting, Waking};
use thinkd_event::summary::{self, Held, Made};
use thinkd_event::unshown::Back;
use thinkd_event::worked::Sign;
use thinkd_words::id::{Seq, ThreadId};

/// Ends any wait of a thread.
const ANY_WAIT: Waking = Waking {
    by: None,
    outside: false,
    ends_any_wait: true,
};

impl ThreadRow {
    /// Applies an event of the thread, which says this fact; returns its other effects. `Rows` takes
    /// the seq and the time of the event.
    pub fn apply(&mut self, event: &Event, fact: &Fact<'_>) -> Applied {
        let visibility = event.visibility();
        let own = &event.thread;
        if event.wakes() {
            self.woken = event.seq;
        }
        if fact.is_from_outside() {
            self.state.sends = 0;
        }
        if fact.is_from_outside() || fact.is_from_others(own) {
            self.self_messages = 0;
        }
        self.self_messages += u32::from(fact.is_from_itself(own));
        let mut applied = Applied::default();
        if fact.changes_thread() {
            self.change(event, fact, &mut applied);
        }
        self.visible += u64::from(visibility >= Visibility::Submodule);
        self.heard += u64::from(visibility >= Visibility::Heard);
        self.state.points = self.state.points.saturating_add(fact.points());
        let handled = self.handled;
        for inputs in [&mut self.state.withdrawn, &mut self.state.had] {
            inputs.retain(|(_, input)| *input > handled);
        }
        if let Some(sign) = Sign::of(fact).filter(|_| own.is_of_mission()) {
            let worked = self.state.worked.get_or_insert_default();
            worked.take(sign, event.ts);
        }
        // A mission that waits for people goes on when they do not want a task any more.
        if matches!(
            fact,
            Fact::Task(TaskFact {
                what: TaskNews::Over { .. },
                ..
            })
        ) && own.is_of_mission()
        {
            self.wake(&ANY_WAIT);
        }
        if let Some(waking) = fact.waking() {
            self.wake(&waking);
        }
        applied
    }

    fn change(&mut self, event: &Event, fact: &Fact<'_>, applied: &mut Applied) {
        let seq = event.seq;
        match fact {
            Fact::TurnStarted(started) => self.turn_started(started),
            Fact::TurnSteered(steered) => self.state.steered.extend(&steered.inputs),
            Fact::TurnEnded(ended) => self.turn_ended(ended),
            Fact::Told(told) => self.hear(told, event, applied),
            Fact::Result(result) => {
                self.state.sends += u32::try_from(result.sent).unwrap_or(u32::MAX);
            }
            // What a server or a trial asks no message answers.
            Fact::Question(asked) if !asked.is_of_the_mind() => {}
            Fact::Question(asked) => {
                self.close_question(asked.question);
                self.state.questions.push(asked.question.to_owned());
            }
            Fact::Answer(answer) => self.close_question(answer.question),
            Fact::Input(input) => input.answers.iter().for_each(|id| self.close_question(id)),
            Fact::Withdrawn(withdrawn) => self.take_back(withdrawn),
            Fact::Failure(failed) => {
                let left_out = failed.left_out();
                left_out
                    .iter()
                    .for_each(|it| self.state.unshown.leave_out(it));
            }
            Fact::Run(run) => self.run(run, event, applied),
            Fact::Call(record) => self.call(record, applied),
            Fact::Set(set) => self.set(set, seq, applied),
            // Trials have no mailbox: what is due wakes them, and rest moves them on.
            Fact::Trials(Trials::Due) | Fact::Summaries(Summaries::Due { .. }) => self.woken = seq,
            Fact::Trials(Trials::Rested { handled, told }) => {
                self.handled = *handled;
                self.state.told = told.or(self.state.told);
            }
            Fact::Corrected(Corrected(correction)) => {
                correction.take_into(&mut self.state.corrections);
            }
            Fact::Summaries(Summaries::Rested(handled)) => self.handled = *handled,
            Fact::Summary(summary) => {
                let held = Held {
                    seq,
                    covers: summary.covers.clone(),
                };
                let joins = summary.joins.clone();
                let cleared = self.state.cleared.unwrap_or_default().visible;
                summary::take(&mut self.state.summaries, &Made { held, joins }, cleared);
            }
            _ => {}
        }
    }

    fn set_status(&mut self, status: Status) {
        // What has ended stays ended, whatever its last turn still writes.
        if !self.status.is_final() {
            self.status = status;
        }
        if status.is_final() {
            self.state.watches.clear();
            self.state.gathers.clear();
        } else if status != Status::Thinking {
            // The end of a thread is not the end of its turn.
            self.state.taken = 0;
        }
    }

    /// Waits from now on. All of its mailbox up to `seen` was looked at: none of it ends the wait.
    fn wait(&mut self, waiting: Waiting, seen: Option<Seq>) {
        if self.status.is_final() {
            return;
        }
        self.state.waiting = Some(waiting);
        // What came meanwhile may be what it waits for: then it is looked at first, and not by this row.
        self.status = if self.woken <= seen.unwrap_or(0) {
            Status::Waiting
        } else {
            Status::Idle
        };
    }

    /// Ends its wait, if this wakes it.
    fn wake(&mut self, waking: &Waking) {
        let admits = |waiting: &Waiting| waiting.admits(waking);
        if self.status == Status::Waiting
            && !self.state.paused
            && self.state.waiting.as_ref().is_none_or(admits)
        {
            self.status = Status::Idle;
        }
    }

    fn turn_started(&mut self, started: &turn::Started<'_>) {
        self.turn = started.turn;
        self.set_status(Status::Thinking);
        self.state.root = started.root.or(self.state.root);
        self.state.waiting = None;
        self.state.taken = started.batch.last().copied().unwrap_or(0);
        self.state.failed = None;
    }

    fn turn_ended(&mut self, ended: &turn::Ended) {
        self.set_status(Status::Idle);
        // An interrupted turn leaves its batch in the mailbox, with all that joined it.
        let is_handled = ended.outcome != Some(TurnOutcome::Interrupted);
        let steered = std::mem::take(&mut self.state.steered);
        self.state.had.extend(steered.iter().filter(|_| is_handled));
        let handled = ended.handled.filter(|_| is_handled);
        self.handled = handled.unwrap_or(self.handled);
        let failed = match ended.outcome {
            Some(TurnOutcome::Failed) => Some("its last turn failed"),
            Some(TurnOutcome::Cancelled) => Some("its last turn was cancelled"),
            Some(TurnOutcome::Done | TurnOutcome::Interrupted) | None => None,
        };
        if let Some(failed) = failed {
            self.state.failed = Some(failed.to_owned());
        }
        self.state.mood = ended.mood.or(self.state.mood);
        if let Some(waiting) = &ended.wait {
            self.wait(waiting.clone(), ended.seen.or(handled));
        }
    }

    fn close_question(&mut self, id: &str) {
        self.state.questions.retain(|it| it != id);
    }

    fn take_back(&mut self, withdrawn: &Withdrawn<'_>) {
        let from = withdrawn.from;
        let input = withdrawn.input;
        let state = &mut self.state;
        state.withdrawn.push((from, input));
        state.unshown.take_back(Back {
            from,
            input,
            turns: withdrawn.turns,
        });
        // They are made anew, without it.
        let begins = |held: &Held| held.covers.to >= from;
        let kept = state.summaries.iter().position(begins);
        state.summaries.truncate(kept.unwrap_or(usize::MAX));
    }

    fn call(&mut self, record: &Record<'_>, applied: &mut Applied) {
        // One that a budget refused was not made.
        if record.outcome() == Some(CallOutcome::Refused) {
            return;
        }
        self.model_calls += 1;
        self.tokens += record.tokens();
        let roots = [record.root(), record.cause()];
        applied.spent = Some((roots, Spent::call(record.tokens())));
    }

    /// Applies news that the core told the thread.
    fn hear(&mut self, told: &Told<'_>, event: &Event, applied: &mut Applied) {
        let is_child = |id: &str| {
            let parent = ThreadId::parse(id).ok().and_then(|id| id.parent());
            parent.as_ref() == Some(&event.thread)
        };
        match &told.news {
            News::Spawned { .. } => {
                self.count_subthreads(1);
                // Its end wakes the thread again: without a count that could go on for ever. What people make is from outside.
                self.state.sends += u32::from(told.turn.is_some());
                applied.spent = one_thread(told.root);
            }
            News::Ended {
                thread: id,
                counted,
                was_archived,
                ..
            } => {
                self.count_subthreads(-i32::from(is_child(id) && !was_archived));
                self.gather(counted.part.as_ref(), event.seq);
            }
            News::Archived { thread: id } => self.count_subthreads(-i32::from(is_child(id))),
            News::Stuck { counted, .. } => self.gather(counted.part.as_ref(), event.seq),
            News::Resumed { thread: id } => self.count_subthreads(i32::from(is_child(id))),
            News::Cleared { kept } => kept.iter().for_each(|kept| self.clear(*kept)),
            News::Forked { .. }
            | News::Timer { .. }
            | News::TimerSet { .. }
            | News::PlanComplete { .. }
            | News::WatchRaised { .. }
            | News::WatchSet { .. }
            | News::WatchClosed { .. }
            | News::Gathered { .. }
            | News::Error { .. } => {}
        }
    }

    fn count_subthreads(&mut self, more: i32) {
        self.state.subthreads = self.state.subthreads.saturating_add_signed(more);
    }

    /// Applies a part of a gathering. Only the thread looks after answers that have come back, for
    /// whomever it waits.
    fn gather(&mut self, part: Option<&GatherPart>, seq: Seq) {
        let Some(part) = part else { return };
        let gather = self.state.gathers.get_mut(&part.id);
        if gather.is_some_and(|gather| gather.take(part)) {
            self.woken = seq;
            self.wake(&ANY_WAIT);
        }
    }

    /// Shows only so many of the newest events from now on.
    fn clear(&mut self, kept: u64) {
        let visible = self.visible.saturating_sub(kept);
        let heard = self.heard.saturating_sub(kept);
        self.state.cleared = Some(Position { visible, heard });
        summary::clear(&mut self.state.summaries, visible);
    }

    /// A run is a thread with one turn. It has no mailbox: its beginning wakes it, its end is the thread's.
    fn run(&mut self, run: &RunFact<'_>, event: &Event, applied: &mut Applied) {
        let seq = event.seq;
        match &run.what {
            RunNews::Started { input, root, .. } => {
                self.woken = seq;
                applied.spent = one_thread(*root);
                self.settings = match input {
                    Some(Slot::Here(wanted)) if event.thread.is_of_mission() => {
                        json!({ "kind": "mission", "wanted": wanted })
                    }
                    _ => json!({ "pipeline": run.pipeline }),
                };
            }
            RunNews::Ended {
                outcome,
                failure,
                tasks,
                ..
            } => {
                self.handled = seq;
                if let Some(why) = failure.and_then(|failure| failure["text"].as_str()) {
                    self.state.reason = Some(why.to_owned());
                }
                self.state.tasks = tasks.or(self.state.tasks);
                self.set_status(match *outcome {
                    "done" => Status::Done,
                    "failed" => Status::Failed,
                    _ => Status::Stopped,
                });
            }
            // What rests is no work for anybody; what is to end goes on to its end.
            RunNews::Paused { .. } => {
                self.state.paused = true;
                self.set_status(Status::Waiting);
            }
            RunNews::Parked => self.set_status(Status::Waiting),
            RunNews::Continued { .. } | RunNews::Cancel { .. } => {
                self.state.paused = false;
                self.set_status(Status::Idle);
            }
            RunNews::Resumed { .. } => {}
        }
    }

    fn set(&mut self, set: &Set<'_>, seq: Seq, applied: &mut Applied) {
        let state = &mut self.state;
        match &set.change {
            set::Change::Thread(change) => {
                if let Some(forked) = &change.forked {
                    self.fork(forked, seq, applied);
                }
                self.set_thread(change, set.root, applied);
            }
            set::Change::Wait(wait) => {
                if let Some(waiting) = &wait.waiting {
                    self.wait(waiting.clone(), wait.seen);
                }
            }
            set::Change::Plan(plan) => {
                state.plan = Some((*plan).clone()).filter(|it| !it.is_null())
            }
            set::Change::Watch(watch) => set_member(&mut state.watches, set.key, watch.as_ref()),
            set::Change::Gather(gather) => set_member(&mut state.gathers, set.key, gather.as_ref()),
            set::Change::Tools(open) => {
                for name in open {
                    if !state.open.contains(name) {
                        state.open.push(name.clone());
                    }
                }
            }
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
            set::Change::Unreadable { kind, .. } => applied.unreadable = *kind != set::Kind::Wait,
            set::Change::Step(_) | set::Change::Doctor(_) => {}
        }
    }

    /// Begins with the past of another thread. All that waited there has been handled.
    fn fork(&mut self, forked: &Forked, seq: Seq, applied: &mut Applied) {
        let state = match &forked.state {
            Value::Null => Ok(ThreadState::default()),
            state => ThreadState::deserialize(state),
        };
        applied.unreadable |= state.is_err();
        self.state = state.unwrap_or_default().inherited();
        self.state.fork = Some(Box::new(Fork {
            from: forked.from.clone(),
            at: forked.at,
            begins: seq,
            ranges: forked.ranges.clone(),
        }));
        (self.turn, self.handled) = (forked.turn, forked.at);
        (self.visible, self.heard) = (forked.visible, forked.heard);
    }

    fn set_thread(&mut self, change: &set::Thread<'_>, root: Option<Seq>, applied: &mut Applied) {
        let status = change.status.and_then(Status::parse);
        applied.unreadable |= change.status.is_some() && status.is_none();
        if let Some(status) = status {
            self.set_status(status);
        }
        if let Some(settings) = change.settings {
            self.settings = settings.clone();
        }
        if let (Some(title), Some(settings)) = (change.title, self.settings.as_object_mut()) {
            settings.insert("title".into(), title.into());
        }
        let state = &mut self.state;
        state.root = root.or(state.root);
        if let Some(reason) = change.reason {
            state.reason = Some(reason.to_owned());
        }
        state.archived = change.archived.unwrap_or(state.archived);
        if let Some(parent) = change.parent {
            let by = parent.and_then(|id| ThreadId::parse(id).ok());
            state.adopted = Some(Adopted { by });
        }
    }
}

/// One more thread, of those that go back to an event.
fn one_thread(root: Option<Seq>) -> Option<([Option<Seq>; 2], Spent)> {
    root.map(|root| ([Some(root), None], Spent::threads(1)))
}

fn set_member<T: Clone>(members: &mut BTreeMap<String, T>, id: &str, to: Option<&T>) {
    match to {
        Some(value) => drop(members.insert(id.to_owned(), value.clone())),
        None => drop(members.remove(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkd_event::fact::examples;

    /// Returns a row in which a fact finds something to change.
    fn row(fact: &Fact<'_>) -> ThreadRow {
        let mut row = ThreadRow::default();
        row.state.subthreads = 9;
        let question = match fact {
            Fact::Answer(answer) => Some(answer.question),
            Fact::Input(input) => input.answers,
            _ => None,
        };
        row.state.questions = question.map(str::to_owned).into_iter().collect();
        row
    }

    // A family that says it changes a thread, and of which nothing is said here, or the other way round, is found.
    #[test]
    fn what_a_family_says_of_threads_is_what_is_done_to_them() {
        let mut families: BTreeMap<String, (bool, bool)> = BTreeMap::new();
        for draft in examples() {
            let event = Event {
                seq: 7,
                ..draft.preview()
            };
            let fact = event.fact();
            let mut changed = row(&fact);
            let mut applied = Applied::default();
            changed.change(&event, &fact, &mut applied);
            let family = format!("{fact:?}")
                .split('(')
                .next()
                .unwrap_or_default()
                .to_owned();
            let (says, does) = families.entry(family).or_default();
            *says |= fact.changes_thread();
            *does |= changed != row(&fact) || applied != Applied::default();
        }
        assert!(families.len() > 15, "{families:?}");
        let wrong: Vec<_> = families
            .iter()
            .filter(|(_, (says, does))| says != does)
            .collect();
        assert!(wrong.is_empty(), "says, does: {wrong:?}");
    }
}
