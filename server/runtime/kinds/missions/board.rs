//! The board has the tasks of one mission as they are now, in memory: which of them may begin next, and what is known of each. The rows say the same;
//! nothing stands here that they do not have. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::event::mission::{Check, NewTask, TaskId, TaskStatus, Value};
use crate::event::outcome::Counts;
use crate::log::projections::tasks::TaskRow;

/// A task as the board has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TaskNow {
    pub name: String,
    pub description: String,
    pub value: Value,
    pub parent: Option<TaskId>,
    pub requires: Vec<TaskId>,
    pub rank: u64,
    /// It is tried without being considered.
    pub exact: bool,
    /// How many tasks it is below, and one more.
    pub level: u64,
    pub status: TaskStatus,
    pub answer: Option<String>,
    pub reason: Option<String>,
    /// What the user was asked for it, in this life.
    pub said: Option<Said>,
}

/// What came of a question to the user; no answer: nobody gave one in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Said {
    pub question: String,
    pub answer: Option<String>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Board {
    // In boxes: the nodes of the map are half empty, and tasks are large beside their numbers.
    tasks: BTreeMap<TaskId, Box<TaskNow>>,
    /// Those that were not begun in this life, by what they are parts of.
    waiting: BTreeMap<Option<TaskId>, BTreeSet<(u64, TaskId)>>,
    /// Those that people do not want any more.
    skipped: BTreeSet<TaskId>,
    /// How many are over, and how many are under way.
    over: u64,
    begun: u64,
}

impl Board {
    /// As the rows say.
    pub fn of(rows: Vec<TaskRow>) -> Self {
        let mut board = Self::default();
        for row in rows {
            let TaskRow {
                task,
                name,
                description,
                value,
                parent,
                requires,
                rank,
                ..
            } = row;
            let (exact, brought_by) = (
                matches!(row.check, Some(Check::Agreement { .. })),
                Vec::new(),
            );
            let new = NewTask {
                task,
                name,
                description,
                value,
                parent,
                requires,
                brought_by,
                rank,
                exact,
            };
            board.add(new);
            if let Some(now) = board.tasks.get_mut(&task) {
                (now.status, now.answer, now.reason) = (row.status, row.answer, row.reason);
            }
            board.begun += u64::from(row.status == TaskStatus::InProgress);
            if row.status.is_over() {
                board.over += 1;
                board
                    .waiting
                    .entry(parent)
                    .or_default()
                    .remove(&(rank, task));
            }
        }
        board
    }

    /// One more.
    pub fn add(&mut self, new: NewTask) {
        let NewTask {
            task,
            name,
            description,
            value,
            parent,
            requires,
            rank,
            exact,
            ..
        } = new;
        let level = parent
            .and_then(|parent| self.tasks.get(&parent))
            .map_or(1, |parent| parent.level + 1);
        self.waiting.entry(parent).or_default().insert((rank, task));
        let (status, answer, reason) = (TaskStatus::Open, None, None);
        let said = None;
        let now = TaskNow {
            name,
            description,
            value,
            parent,
            requires,
            rank,
            exact,
            level,
            status,
            answer,
            reason,
            said,
        };
        self.tasks.insert(task, Box::new(now));
    }

    /// A task.
    pub fn get(&self, task: TaskId) -> Option<&TaskNow> {
        self.tasks.get(&task).map(|now| &**now)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, task: TaskId) -> Option<&mut TaskNow> {
        self.tasks.get_mut(&task).map(|now| &mut **now)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// The number that the next one gets.
    pub fn next_number(&self) -> u64 {
        self.tasks
            .last_key_value()
            .map_or(1, |(last, _)| last.0 + 1)
    }

    /// All of them, in the order in which they were made.
    pub fn all(&self) -> impl Iterator<Item = (TaskId, &TaskNow)> {
        self.tasks.iter().map(|(task, now)| (*task, &**now))
    }

    /// How many have not ended.
    pub fn left(&self) -> u64 {
        self.tasks.len() as u64 - self.over
    }

    /// How many have not begun, and how many are under way.
    pub fn to_come(&self) -> (u64, u64) {
        (self.left() - self.begun, self.begun)
    }

    /// Work on a task begins.
    pub fn begin(&mut self, task: TaskId) {
        let Some(now) = self
            .tasks
            .get_mut(&task)
            .filter(|now| now.status == TaskStatus::Open)
        else {
            return;
        };
        now.status = TaskStatus::InProgress;
        self.begun += 1;
    }

    /// A task has ended: with an answer, or with the reason why there is none.
    pub fn end(&mut self, task: TaskId, answer: Option<String>, reason: Option<String>) {
        let Some(now) = self.tasks.get_mut(&task) else {
            return;
        };
        let failed = TaskStatus::FailedWithCurrentAvailableInstruments;
        self.over += u64::from(!now.status.is_over());
        self.begun -= u64::from(now.status == TaskStatus::InProgress);
        now.status = if answer.is_some() {
            TaskStatus::Closed
        } else {
            failed
        };
        (now.answer, now.reason) = (answer, reason);
    }

    /// Those that have not ended.
    pub fn unfinished(&self) -> impl Iterator<Item = (TaskId, &TaskNow)> {
        self.all().filter(|(_, now)| !now.status.is_over())
    }

    /// The parts of a task, or of the mission.
    pub fn parts(&self, parent: Option<TaskId>) -> impl Iterator<Item = (TaskId, &TaskNow)> {
        self.all().filter(move |(_, now)| now.parent == parent)
    }

    /// The tasks of the mission, counted.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (_, now) in self.parts(None) {
            match now.status {
                TaskStatus::Closed => counts.solved += 1,
                TaskStatus::FailedWithCurrentAvailableInstruments => counts.failed += 1,
                TaskStatus::Open | TaskStatus::InProgress => counts.left += 1,
            }
        }
        counts
    }

    /// A task and those above it, nearest first.
    pub fn ancestors(&self, task: Option<TaskId>) -> impl Iterator<Item = (TaskId, &TaskNow)> {
        let first = task.and_then(|task| Some((task, self.get(task)?)));
        std::iter::successors(first, |(_, now)| {
            now.parent
                .and_then(|parent| Some((parent, self.get(parent)?)))
        })
    }

    /// Takes the next part that may begin: all that it requires is over. The lowest rank goes first, and of equals the one that was made first.
    pub fn take_next(&mut self, parent: Option<TaskId>) -> Option<TaskId> {
        let tasks = &self.tasks;
        let is_over = |task: &TaskId| tasks.get(task).is_none_or(|now| now.status.is_over());
        let is_ready = |task: &TaskId| {
            let now = tasks.get(task)?;
            // Its own parts, of one that was split before a crash, are worked off by itself.
            let is_part =
                |it: &&TaskId| tasks.get(it).is_some_and(|part| part.parent == Some(*task));
            Some(now.requires.iter().filter(|it| !is_part(it)).all(is_over))
        };
        let waiting = self.waiting.get_mut(&parent)?;
        let next = waiting
            .iter()
            .find(|(_, task)| is_ready(task) == Some(true))
            .copied()?;
        waiting.remove(&next);
        Some(next.1)
    }

    /// The same in place of one that was taken before, and could not begin: people may have changed meanwhile which is next.
    pub fn take_instead(&mut self, taken: TaskId) -> Option<TaskId> {
        let now = self.tasks.get(&taken)?;
        let (parent, rank) = (now.parent, now.rank);
        if !now.status.is_over() {
            self.waiting
                .entry(parent)
                .or_default()
                .insert((rank, taken));
        }
        self.take_next(parent)
    }

    /// People have made another one of a task. What has begun stays as it was begun.
    pub fn change(
        &mut self,
        task: TaskId,
        name: &str,
        description: &str,
        requires: &[TaskId],
        rank: u64,
    ) {
        let Some(now) = self
            .tasks
            .get_mut(&task)
            .filter(|now| now.status == TaskStatus::Open)
        else {
            return;
        };
        let (parent, before) = (now.parent, now.rank);
        (now.name, now.description, now.requires, now.rank) = (
            name.to_owned(),
            description.to_owned(),
            requires.to_vec(),
            rank,
        );
        let waiting = self.waiting.entry(parent).or_default();
        if waiting.remove(&(before, task)) {
            waiting.insert((rank, task));
        }
    }

    /// People do not want a task any more, nor its parts. It may have an answer that came too late to be stored.
    pub fn skip(&mut self, task: TaskId, reason: &str) {
        let Some(now) = self.tasks.get(&task) else {
            return;
        };
        let (parent, rank) = (now.parent, now.rank);
        self.end(task, None, Some(reason.to_owned()));
        self.waiting
            .entry(parent)
            .or_default()
            .remove(&(rank, task));
        self.skipped.insert(task);
        let parts = self
            .parts(Some(task))
            .filter(|(_, part)| !part.status.is_over());
        for part in parts.map(|(part, _)| part).collect::<Vec<_>>() {
            self.skip(part, reason);
        }
    }

    /// Whether people do not want a task any more.
    pub fn is_skipped(&self, task: TaskId) -> bool {
        self.skipped.contains(&task)
    }

    /// The first task that this one requires, and that failed.
    pub fn failed_before(&self, task: TaskId) -> Option<TaskId> {
        let failed = TaskStatus::FailedWithCurrentAvailableInstruments;
        let now = self.get(task)?;
        now.requires
            .iter()
            .find(|it| self.get(**it).is_some_and(|before| before.status == failed))
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(tasks: &[(u64, Option<u64>, &[u64], u64)]) -> Board {
        let mut board = Board::default();
        for (task, parent, requires, rank) in tasks {
            board.add(NewTask {
                task: TaskId(*task),
                name: format!("n{task}"),
                description: format!("d{task}"),
                value: Value::Medium,
                parent: parent.map(TaskId),
                requires: requires.iter().copied().map(TaskId).collect(),
                brought_by: Vec::new(),
                rank: *rank,
                exact: false,
            });
        }
        board
    }

    /// D1.28, T1.15: whatever order the model lists them in.
    #[test]
    fn a_task_is_taken_when_what_it_requires_is_over() {
        let mut board = board(&[
            (1, None, &[2], 1),
            (2, None, &[], 2),
            (3, None, &[], 3),
            (4, Some(3), &[], 1),
        ]);
        assert_eq!(board.take_next(None), Some(TaskId(2)));
        assert_eq!(
            board.take_next(None),
            Some(TaskId(3)),
            "a rank below, and free"
        );
        assert_eq!(board.take_next(None), None, "1 waits for 2");
        board.begin(TaskId(2));
        assert_eq!((board.left(), board.to_come()), (4, (3, 1)));
        board.end(TaskId(2), None, Some("it is wrong".into()));
        assert_eq!((board.left(), board.to_come()), (3, (3, 0)));
        assert_eq!(board.take_next(None), Some(TaskId(1)));
        assert_eq!(board.failed_before(TaskId(1)), Some(TaskId(2)));
        assert_eq!(board.take_next(Some(TaskId(3))), Some(TaskId(4)));
        assert_eq!(board.get(TaskId(4)).unwrap().level, 2);
        assert_eq!(board.next_number(), 5);
    }

    #[test]
    fn what_was_skipped_is_over_with_its_parts_whatever_came_of_it_meanwhile() {
        let mut board = board(&[
            (1, None, &[], 1),
            (2, Some(1), &[], 1),
            (3, Some(2), &[], 1),
            (4, None, &[], 2),
        ]);
        assert_eq!(board.take_next(None), Some(TaskId(1)));
        board.begin(TaskId(1));
        board.end(TaskId(1), Some("too late".into()), None);
        board.skip(TaskId(1), "skipped");
        let of = |task| {
            board
                .get(TaskId(task))
                .map(|now| (now.status.is_over(), now.answer.clone(), now.reason.clone()))
        };
        for task in [1, 2, 3] {
            assert_eq!(
                of(task),
                Some((true, None, Some("skipped".into()))),
                "t{task}"
            );
        }
        assert_eq!((board.left(), board.to_come()), (1, (1, 0)));
        assert_eq!(
            (board.take_next(Some(TaskId(1))), board.take_next(None)),
            (None, Some(TaskId(4)))
        );
    }

    #[test]
    fn what_waits_for_its_place_is_taken_as_people_have_changed_it() {
        let mut board = board(&[(1, None, &[], 1), (2, None, &[], 2), (3, None, &[], 3)]);
        assert_eq!(board.take_next(None), Some(TaskId(1)));
        board.change(TaskId(1), "n1", "d1", &[TaskId(2)], 1);
        assert_eq!(board.take_instead(TaskId(1)), Some(TaskId(2)));
        board.skip(TaskId(3), "skipped");
        assert_eq!(
            board.take_instead(TaskId(3)),
            None,
            "1 waits for 2, and 3 is over"
        );
    }
}
