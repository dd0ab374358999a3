//! The board has the tasks of one mission as they are now, in memory: the tasks that may begin
//! next, and the state of each. The rows say the same; nothing stands here that they do not have.
//! The flows of a mission share it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value as Json, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use thinkd_event::agreement::Pool;
use thinkd_event::fact::task::{TaskFact, TaskNews};
use thinkd_event::mission::{NewTask, TaskId, TaskStatus, Value};
use thinkd_event::outcome::Counts;
use thinkd_log::projections::tasks::TaskRow;
use thinkd_recall::choices::Chosen;
use thinkd_tasks::lock::lock;

/// A task as the board has it.
#[derive(Debug)]
pub(super) struct TaskNow {
    pub new: NewTask,
    /// Number of tasks above it, plus one.
    pub level: u64,
    pub status: TaskStatus,
    pub answer: Option<String>,
    pub reason: Option<String>,
    /// The frameworks that were chosen for it and that it has not begun to use; none: nothing was
    /// chosen in this life.
    pub chosen: Option<Vec<Chosen>>,
    /// Taken to be begun in this life.
    taken: bool,
    /// People have skipped it.
    skipped: bool,
}

impl TaskNow {
    /// Returns the news of a task that the mission itself has changed.
    pub fn changed(&self, why: String) -> TaskNews {
        TaskNews::Changed {
            name: self.new.name.clone(),
            description: self.new.description.clone(),
            requires: self.new.requires.clone(),
            rank: self.new.rank,
            why,
            by: None,
        }
    }

    /// Returns the words of a task.
    pub fn described(&self) -> Json {
        json!({ "name": self.new.name, "description": self.new.description })
    }

    /// Returns the result of a task in the form that models are told.
    pub fn shown(&self) -> Json {
        let id = self.new.task.to_string();
        let mut shown = json!({ "id": id, "name": self.new.name, "status": self.status });
        for (key, value) in [("answer", &self.answer), ("reason", &self.reason)] {
            if let Some(value) = value {
                shown[key] = value.as_str().into();
            }
        }
        shown
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Board {
    // In boxes: the nodes of the map are half empty, and tasks are large beside their numbers.
    tasks: BTreeMap<TaskId, Box<TaskNow>>,
}

impl Board {
    /// Returns a board as the rows say.
    pub fn of(rows: Vec<TaskRow>) -> Self {
        let mut board = Self::default();
        for row in rows {
            let task = row.new.task;
            board.add(row.new);
            if let Some(now) = board.get_mut(task) {
                (now.status, now.answer, now.reason) = (row.status, row.answer, row.reason);
            }
        }
        board
    }

    /// Takes in one more.
    pub fn add(&mut self, new: NewTask) {
        let parent = new.parent.and_then(|parent| self.tasks.get(&parent));
        let level = parent.map_or(1, |parent| parent.level + 1);
        let now = TaskNow {
            // Nobody asks the board for it.
            new: NewTask {
                brought_by: Vec::new(),
                ..new
            },
            level,
            status: TaskStatus::Open,
            answer: None,
            reason: None,
            chosen: None,
            taken: false,
            skipped: false,
        };
        self.tasks.insert(now.new.task, Box::new(now));
    }

    /// Returns a task.
    pub fn get(&self, task: TaskId) -> Option<&TaskNow> {
        self.tasks.get(&task).map(|now| &**now)
    }

    /// Returns the same, to change it.
    pub fn get_mut(&mut self, task: TaskId) -> Option<&mut TaskNow> {
        self.tasks.get_mut(&task).map(|now| &mut **now)
    }

    /// Returns the same, as long as it has not begun.
    fn open(&mut self, task: TaskId) -> Option<&mut TaskNow> {
        let now = self.get_mut(task);
        now.filter(|now| now.status == TaskStatus::Open)
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the number that the next one gets.
    pub fn next_number(&self) -> u64 {
        let last = self.tasks.last_key_value();
        last.map_or(1, |(last, _)| last.0 + 1)
    }

    /// Returns all of them, in the order in which they were made.
    pub fn all(&self) -> impl Iterator<Item = (TaskId, &TaskNow)> {
        self.tasks.iter().map(|(task, now)| (*task, &**now))
    }

    /// Returns how many have not ended.
    pub fn left(&self) -> u64 {
        self.count(|status| !status.is_over())
    }

    /// Returns how many have not begun, and how many are under way.
    pub fn to_come(&self) -> (u64, u64) {
        let begun = self.count(|status| status == TaskStatus::InProgress);
        (self.left() - begun, begun)
    }

    fn count(&self, is_counted: impl Fn(TaskStatus) -> bool) -> u64 {
        self.all().filter(|(_, now)| is_counted(now.status)).count() as u64
    }

    /// Work on a task begins.
    pub fn begin(&mut self, task: TaskId) {
        if let Some(now) = self.open(task) {
            now.status = TaskStatus::InProgress;
        }
    }

    /// A task has ended: with an answer, or with the reason why there is none.
    pub fn end(&mut self, task: TaskId, answer: Option<String>, reason: Option<String>) {
        if let Some(now) = self.get_mut(task) {
            now.status = TaskStatus::ended(answer.is_some());
            (now.answer, now.reason) = (answer, reason);
        }
    }

    /// Returns the parts of a task, or of the mission.
    pub fn parts(&self, parent: Option<TaskId>) -> impl Iterator<Item = (TaskId, &TaskNow)> {
        self.all().filter(move |(_, now)| now.new.parent == parent)
    }

    /// Returns the tasks of the mission, counted.
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

    /// Returns a task and those above it, nearest first.
    pub fn ancestors(&self, task: Option<TaskId>) -> impl Iterator<Item = &NewTask> {
        let known = |task: TaskId| self.get(task).map(|now| &now.new);
        std::iter::successors(task.and_then(known), move |new| new.parent.and_then(known))
    }

    /// Takes the next part that may begin: all that it requires is over. The lowest rank goes
    /// first, and of equals the one that was made first.
    pub fn take_next(&mut self, parent: Option<TaskId>) -> Option<TaskId> {
        // Its own parts, of one that was split before a crash, are worked off by itself.
        let is_done = |of: TaskId, required: &TaskId| {
            let is_done = |it: &TaskNow| it.status.is_over() || it.new.parent == Some(of);
            self.get(*required).is_none_or(is_done)
        };
        let is_ready = |(task, now): &(TaskId, &TaskNow)| {
            let waits = !now.taken && !now.status.is_over();
            waits && now.new.requires.iter().all(|it| is_done(*task, it))
        };
        let ready = self.parts(parent).filter(is_ready);
        let (next, _) = ready.min_by_key(|(task, now)| (now.new.rank, *task))?;
        self.get_mut(next)?.taken = true;
        Some(next)
    }

    /// Takes one in place of one that was taken before, and could not begin: people may have
    /// changed meanwhile which is next.
    pub fn take_instead(&mut self, taken: TaskId) -> Option<TaskId> {
        let now = self.get_mut(taken)?;
        now.taken = false;
        let parent = now.new.parent;
        self.take_next(parent)
    }

    /// Takes over a change of a task by people. A task that has begun stays as it was begun.
    pub fn change(&mut self, task: TaskId, changed: TaskNews) {
        if let TaskNews::Changed {
            name,
            description,
            requires,
            rank,
            ..
        } = changed
            && let Some(now) = self.open(task)
        {
            now.new.name = name;
            now.new.description = description;
            now.new.requires = requires;
            now.new.rank = rank;
        }
    }

    /// People do not want a task any more, nor its parts. It may have an answer that came too late
    /// to be stored.
    pub fn skip(&mut self, task: TaskId, reason: &str) {
        let Some(now) = self.get_mut(task) else {
            return;
        };
        now.skipped = true;
        self.end(task, None, Some(reason.to_owned()));
        let parts = self.parts(Some(task));
        let left = parts.filter(|(_, part)| !part.status.is_over());
        for part in left.map(|(part, _)| part).collect::<Vec<_>>() {
            self.skip(part, reason);
        }
    }

    /// Returns whether people do not want a task any more.
    pub fn is_skipped(&self, task: TaskId) -> bool {
        self.get(task).is_some_and(|now| now.skipped)
    }

    /// Returns the first task that this one requires, and that failed.
    pub fn failed_before(&self, task: TaskId) -> Option<TaskId> {
        let mut requires = self.get(task)?.new.requires.iter().copied();
        let failed = TaskStatus::FailedWithCurrentAvailableInstruments;
        requires.find(|it| self.get(*it).is_some_and(|before| before.status == failed))
    }
}

/// The board as the flows of a mission share it, the changes that people make to it, and the places
/// to work at.
pub(super) struct Tasks {
    // A plain mutex: held for a look or a change, never across an await.
    board: Mutex<Board>,
    /// Number of changes by people since the mission was taken up.
    edits: watch::Sender<u64>,
    /// As many as tasks may be worked on at a time.
    places: Arc<Semaphore>,
}

impl Tasks {
    pub fn new(board: Board, width: u32) -> Self {
        Self {
            board: Mutex::new(board),
            edits: watch::Sender::new(0),
            places: Arc::new(Semaphore::new(width as usize)),
        }
    }

    pub fn board(&self) -> MutexGuard<'_, Board> {
        lock(&self.board)
    }

    /// Returns the result of `look` on a task, if there is one of this number.
    pub fn of<T>(&self, task: TaskId, look: impl FnOnce(&TaskNow) -> T) -> Option<T> {
        self.board().get(task).map(look)
    }

    /// Returns the worth of a task.
    pub fn value(&self, task: TaskId) -> Value {
        self.of(task, |now| now.new.value).unwrap_or(Value::Low)
    }

    /// Returns the pool from which a task under way takes its tries, if so many calls are left.
    pub fn pool(&self, calls: u64) -> Pool {
        let (open, begun) = self.board().to_come();
        Pool {
            calls,
            open,
            begun: begun.saturating_sub(1),
        }
    }

    /// Returns the description of a task for the model that works on it, with the results of the
    /// tasks it requires and with its parts.
    pub fn described(&self, task: TaskId) -> String {
        let board = self.board();
        board.get(task).map_or_else(String::new, |now| {
            let before = now.new.requires.iter();
            let before = before.filter_map(|it| Some(board.get(*it)?.shown()));
            let mut described = now.described();
            described["id"] = task.to_string().into();
            described["before"] = before.collect();
            described.to_string()
        })
    }

    /// Takes in people's changes of a task.
    pub fn hear(&self, TaskFact { task, what }: TaskFact) {
        match what {
            TaskNews::Changed { .. } => self.board().change(task, what),
            TaskNews::Over { reason, .. } => {
                self.board().skip(task, &reason.unwrap_or_default());
            }
            _ => return,
        }
        self.edits.send_modify(|edits| *edits += 1);
    }

    /// Waits until people do not want a task any more.
    pub async fn skipped(&self, task: TaskId) {
        let mut edits = self.edits.subscribe();
        while !self.board().is_skipped(task) {
            if edits.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits for a place to work at. One that is given back lets another task begin.
    pub async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        self.places.clone().acquire_owned().await.ok()
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

    /// D1.28, T1.15: in any order of the model's list.
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
        let mut changed = board.get(TaskId(1)).unwrap().changed("by hand".into());
        if let TaskNews::Changed { requires, .. } = &mut changed {
            requires.push(TaskId(2));
        }
        board.change(TaskId(1), changed);
        assert_eq!(board.take_instead(TaskId(1)), Some(TaskId(2)));
        board.skip(TaskId(3), "skipped");
        assert_eq!(
            board.take_instead(TaskId(3)),
            None,
            "1 waits for 2, and 3 is over"
        );
    }
}
