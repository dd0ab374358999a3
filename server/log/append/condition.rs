//! Checks the conditions of drafts against the rows: as they were before the transaction, and as it has changed them so far. Pure; the
//! databases read the rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::projections::{
    frameworks, merges, pins, requests, schedules, settings, statements, submodules, tasks, timers,
};
use crate::rows::Rows;
use crate::seen::Seen;
use crate::select::Select;
use crate::status::Status;
use crate::table::{Key, Row};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_words::id::Space;

/// The reads that the conditions of drafts need: none, nearly always. Threads' rows are read
/// anyway.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Rows of projections.
    pub rows: Vec<Select>,
    /// The spaces of which the threads that have not ended are counted.
    pub threads: BTreeSet<Space>,
}

/// The rows and counts that were read.
#[derive(Debug, Default)]
pub(crate) struct Before {
    /// Rows of projections.
    pub rows: BTreeMap<Key, Row>,
    /// The number of threads that have not ended, by space.
    pub threads: BTreeMap<Space, u64>,
}

impl Asked {
    pub(super) fn of<'a>(drafts: impl Iterator<Item = (&'a Space, &'a Draft)>) -> Self {
        let mut asked = Self::default();
        let mut timers_due = BTreeMap::new();
        let mut schedules_due = BTreeMap::new();
        let mut waiting = BTreeMap::new();
        let mut to_come: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        let conditions =
            drafts.flat_map(|(space, draft)| draft.conditions.iter().map(move |it| (space, it)));
        for (space, condition) in conditions {
            match condition {
                Condition::TimerStands { due, .. } => widen(&mut timers_due, space, *due),
                Condition::ScheduleStands { due: Some(due), .. } => {
                    widen(&mut schedules_due, space, *due);
                }
                Condition::ScheduleStands { name, .. } => asked.ask(schedules::named(space, name)),
                Condition::NewSchedule { .. } => asked.ask(schedules::names(space)),
                Condition::NewSubmodule { .. }
                | Condition::HasSubmodule(_)
                | Condition::PromptIs { .. }
                | Condition::FollowUpIs { .. } => asked.ask(submodules::all(space)),
                Condition::Request { id, .. } => asked.ask(requests::of_id(space, id)),
                Condition::TaskToCome { mission, task, .. }
                | Condition::TaskAt { mission, task, .. } => {
                    to_come.entry((space, mission)).or_default().insert(*task);
                }
                Condition::StatementAt { id, .. } => asked.ask(statements::of_id(space, id)),
                Condition::FirstSaying(text) => asked.ask(statements::saying_so(space, text)),
                Condition::FrameworkAt { id, .. } => asked.ask(frameworks::of_id(space, id)),
                Condition::FewerFrameworks(_) => asked.ask(frameworks::ids(space)),
                Condition::FewerWaiting(most) => widen(&mut waiting, space, *most),
                Condition::NoneHeldSince { seq, .. } => {
                    asked.ask(statements::grounds::changed_behind(space, *seq));
                }
                Condition::NoneMergedSince(seq) => asked.ask(merges::changed_behind(space, *seq)),
                Condition::PinAt { tool, .. } => asked.ask(pins::of_tool(space, tool)),
                Condition::SettingsAt(_) => asked.ask(settings::all(space)),
                Condition::FewerThreads(_) => {
                    asked.threads.insert(space.clone());
                }
                Condition::NewThread
                | Condition::NotEnded
                | Condition::EndsWith(_)
                | Condition::Wait(_)
                | Condition::AtRestAfter(_)
                | Condition::FewerSubthreads(_) => {}
            }
        }
        for (space, due) in timers_due {
            asked.ask(timers::due_until(space, due));
        }
        for (space, due) in schedules_due {
            asked.ask(schedules::due_until(space, due));
        }
        for (space, most) in waiting {
            asked.ask(statements::waiting(space, most));
        }
        for ((space, mission), ids) in to_come {
            asked.ask(tasks::of_ids(space, mission, &ids));
        }
        asked
    }

    /// Reads these rows as well, once however many ask for them.
    fn ask(&mut self, select: Select) {
        if !self.rows.contains(&select) {
            self.rows.push(select);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.threads.is_empty()
    }
}

/// Extends the read of a space to the farthest bound that a condition asks for.
fn widen<'a, T: Ord>(all: &mut BTreeMap<&'a Space, T>, space: &'a Space, to: T) {
    match all.get_mut(space) {
        Some(known) if *known >= to => {}
        _ => drop(all.insert(space, to)),
    }
}

impl Before {
    /// The first of the draft's conditions that is not met.
    pub(super) fn unmet(&self, rows: &Rows, space: &Space, draft: &Draft) -> Option<Condition> {
        let mut conditions = draft.conditions.iter();
        let unmet = conditions.find(|it| !self.is_met(rows, space, draft, it));
        unmet.cloned()
    }

    fn is_met(&self, rows: &Rows, space: &Space, draft: &Draft, condition: &Condition) -> bool {
        let seen = Seen {
            before: &self.rows,
            now: &rows.single,
        };
        let row = || rows.threads.get(&(space.clone(), draft.thread.clone()));
        match condition {
            Condition::NewThread => row().is_none(),
            Condition::NotEnded => row().is_none_or(|row| !row.status.is_final()),
            Condition::EndsWith(seq) => row().is_some_and(|row| row.head == *seq),
            Condition::Wait(seqs) => {
                row().is_some_and(|row| seqs.iter().all(|seq| row.waits(*seq)))
            }
            Condition::AtRestAfter(turn) => {
                row().is_some_and(|row| row.turn == *turn && row.status != Status::Thinking)
            }
            Condition::FewerSubthreads(most) => {
                row().is_none_or(|row| u64::from(row.state.subthreads) < *most)
            }
            Condition::FewerThreads(most) => {
                let before = self.threads.get(space).copied().unwrap_or_default();
                row().is_some() || before + rows.begun(space) < *most + rows.ended(space)
            }
            Condition::TimerStands { name, due } => {
                timers::stands(seen, space, &draft.thread, name, *due)
            }
            Condition::ScheduleStands { name, changed, .. } => {
                schedules::stands(seen, space, name, *changed)
            }
            Condition::NewSchedule { name, most } => schedules::has_room(seen, space, name, *most),
            Condition::NewSubmodule { name, most } => {
                let names = submodules::names(seen, space);
                !names.contains(name.as_str()) && names.len() < *most
            }
            Condition::PromptIs { name, prompt } => {
                submodules::named(seen, space, name).is_some_and(|row| row.prompt == *prompt)
            }
            Condition::FollowUpIs { name, follow_up } => {
                submodules::named(seen, space, name).is_some_and(|row| row.follow_up == *follow_up)
            }
            Condition::Request { id, state } => requests::is_in(seen, space, id, *state),
            Condition::HasSubmodule(name) => submodules::names(seen, space).contains(name.as_str()),
            Condition::PinAt { tool, seq } => pins::last(seen, space, tool) == *seq,
            Condition::TaskToCome {
                mission,
                task,
                open,
            } => tasks::is_to_come(seen, space, mission, *task, *open),
            Condition::TaskAt {
                mission,
                task,
                updated,
            } => tasks::is_at(seen, space, mission, *task, *updated),
            Condition::StatementAt { id, changed } => statements::is_at(seen, space, id, *changed),
            Condition::FirstSaying(text) => statements::is_first(seen, space, text),
            Condition::FrameworkAt { id, changed } => frameworks::is_at(seen, space, id, *changed),
            Condition::FewerFrameworks(most) => frameworks::has_room(seen, space, *most),
            Condition::FewerWaiting(most) => statements::has_room(seen, space, *most),
            Condition::NoneHeldSince { seq, about } => {
                statements::grounds::is_quiet(seen, space, *seq, about.as_ref())
            }
            Condition::NoneMergedSince(seq) => merges::is_quiet(seen, space, *seq),
            Condition::SettingsAt(seq) => settings::last_change(seen, space) == *seq,
        }
    }
}
