//! The steps that plan: the parts of a mission or a task, the routes of a task, and the change of a
//! task that requires a failed one. Nodes of the pipeline in `missions/flow.rs`, as those of
//! `missions/steps.rs` are.

use serde_json::json;
use unhurried::node;

use super::asking::{Ask, CONSIDER, Came, DECOMPOSE, REPLAN, SPLIT, ask};
use super::desk::Desk;
use super::people::ask_people;
use super::said::{Bounds, Consider, Considered, Decompose, Replan, Said, some, tasks_of};
use thinkd_event::draft::Draft;
use thinkd_event::fact::task::TaskNews;
use thinkd_event::mission::{NewTask, TEXT_MAX, TaskId, TaskStatus, Value};

/// Makes the parts of the mission, or of a task. Nothing comes of it where there is no room for
/// them.
#[node]
pub(super) async fn decompose(parent: Option<TaskId>, desk: Desk) -> Came<Vec<TaskId>> {
    let depth = desk.options().depth;
    let most = desk.options().tasks;
    let level = parent.and_then(|task| desk.tasks.of(task, |now| now.level));
    let has_no_room = |why: String| {
        if parent.is_some() {
            desk.journal.refuse(parent, "to split", why.as_str());
        }
        Came::ToNothing(why)
    };
    if level.unwrap_or(0) >= depth {
        let why = format!("tasks are split {depth} deep at most");
        return has_no_room(why);
    }
    if room(&desk) == 0 {
        let why = format!("a mission has at most {most} tasks");
        return has_no_room(why);
    }
    let made = match parts(&desk, parent).await {
        Came::To(said) => made_of(&desk, parent, said),
        Came::Spent(why) => return Came::Spent(why),
        Came::ToNothing(why) => Came::ToNothing(why),
    };
    match made {
        Came::ToNothing(why) if parent.is_some() => {
            Came::ToNothing(format!("it was not split: {why}"))
        }
        // A mission may be one task.
        Came::ToNothing(why) => Came::To(one_task(&desk, &why)),
        made => made,
    }
}

/// Returns whether a task can do without one that failed, once.
#[node]
pub(super) async fn replan(task: TaskId, failed: TaskId, desk: Desk) -> Came<()> {
    let question = Ask::about(&desk, REPLAN, task).with("failed", desk.tasks.described(failed));
    let reason = desk.tasks.of(failed, |now| now.reason.clone()).flatten();
    let reason = reason.unwrap_or_default();
    let why = format!("it requires {failed}, which failed: {reason}");
    let said = match ask::<Replan>(&desk, question, |_| Ok(())).await {
        Came::To(said) if said.possible => said,
        Came::To(_) | Came::ToNothing(_) => return Came::ToNothing(why),
        Came::Spent(why) => return Came::Spent(why),
    };
    let mut board = desk.tasks.board();
    let over = TaskStatus::FailedWithCurrentAvailableInstruments;
    let stays = |it: &TaskId| board.get(*it).is_some_and(|now| now.status != over);
    let requires = board.get(task).map(|now| now.new.requires.clone());
    let requires = requires.into_iter().flatten().filter(stays).collect();
    if let Some(now) = board.get_mut(task) {
        now.new.requires = requires;
        if let Some(description) = said.description.and_then(|it| some(&it, TEXT_MAX)) {
            now.new.description = description;
        }
        let changed = now.changed(format!("{why}; {}", said.why));
        desk.journal.say(task, changed);
    }
    Came::To(())
}

/// Asks the user for the words that a task cannot be done without, and waits for the answer; none:
/// the question ended without one.
#[node]
pub(super) async fn ask_user(task: TaskId, question: String, desk: Desk) -> Said {
    let answer = ask_people(&desk, task, &question).await;
    Said { question, answer }
}

/// Returns the plan of a task: whether it is split, the question to the user, the routes by which
/// it may be done, and the check of its answer. One call, four events.
#[node]
pub(super) async fn consider(task: TaskId, said: Option<Said>, desk: Desk) -> Came<Considered> {
    refresh(&desk, task).await;
    let was_asked = said.is_some();
    let exact = !was_asked && desk.tasks.of(task, |now| now.new.exact) == Some(true);
    let considered = if exact {
        // Nobody was asked, and a look for frameworks follows.
        desk.journal.joins_next(task);
        Considered::of_exact()
    } else {
        let question = Ask::about(&desk, CONSIDER, task).with("said", json!(said));
        match ask::<Consider>(&desk, question, |_| Ok(())).await {
            Came::To(said) => usable(&desk, task, said, was_asked).await,
            Came::ToNothing(why) => Considered::of_nobody(&why),
            Came::Spent(why) => return Came::Spent(why),
        }
    };
    let Considered {
        split: needed,
        split_why: why,
        question,
        routes,
        check,
    } = considered.clone();
    for news in [
        TaskNews::Split { needed, why },
        TaskNews::Asked { question },
        TaskNews::Routes { routes },
        TaskNews::Checked { check },
    ] {
        desk.journal.say(task, news);
    }
    Came::To(considered)
}

/// Returns the usable part of a model's answer on a task, with chances as learned.
async fn usable(desk: &Desk, task: TaskId, said: Consider, was_asked: bool) -> Considered {
    let (mut considered, refused) = said.read(task, desk.options().routes as usize);
    for it in &mut considered.routes {
        it.learned = desk.records().learned(it.kind(), it.estimate);
    }
    desk.journal.refuse_all(Some(task), refused);
    if considered.question.is_some()
        && let Some(why) = why_not_asked(desk, task, was_asked).await
    {
        considered.question = None;
        desk.journal
            .refuse(Some(task), "a question to the user", why);
    }
    considered
}

/// Takes over a task as its row is by now: people may have changed it up to when work on it began.
async fn refresh(desk: &Desk, task: TaskId) {
    let store = &desk.ground.store;
    let mission = &desk.journal.mission;
    let before = task.0.checked_sub(1).map(TaskId);
    let rows = store.tasks(&desk.space, mission, before, Some(1)).await;
    let row = desk.journal.found(rows).await.pop();
    if let (Some(row), Some(now)) = (row, desk.tasks.board().get_mut(task))
        && row.new.task == task
    {
        let new = row.new;
        (now.new.name, now.new.description) = (new.name, new.description);
        now.new.requires = new.requires;
    }
}

/// Returns why the user is not asked for a task, if so.
async fn why_not_asked(desk: &Desk, task: TaskId, was_asked: bool) -> Option<String> {
    let value = desk.tasks.value(task);
    if value != Value::High {
        let value = value.as_str();
        let why = format!("its value is {value}: only a task of the value high asks the user");
        return Some(why);
    }
    if was_asked {
        return Some("it has asked once already".to_owned());
    }
    let is_away = desk.ground.store.is_user_away(&desk.space).await;
    let is_away = desk.journal.found(is_away).await;
    is_away.then(|| "people are away (user_away): it does without".to_owned())
}

/// Returns a model's list of the parts of the mission, or of a task.
pub(super) async fn parts(desk: &Desk, parent: Option<TaskId>) -> Came<Decompose> {
    let form = parent.map_or(DECOMPOSE, |_| SPLIT);
    let question = Ask::about(desk, form, parent);
    let room = room(desk);
    let fits = |said: &Decompose| match said.tasks.len() {
        0 => Err(
            "the list of tasks is empty: where nothing is to be split, it has one task".to_owned(),
        ),
        // A mission that left some out would be called complete without them.
        count if count > room => Err(format!(
            "the list has {count} tasks, and there is room for {room}: make fewer, larger ones"
        )),
        _ => Ok(()),
    };
    ask::<Decompose>(desk, question, fits).await
}

/// Returns how many more tasks a mission may have.
fn room(desk: &Desk) -> usize {
    let made = desk.tasks.board().len();
    (desk.options().tasks as usize).saturating_sub(made)
}

/// Makes the tasks of such parts, as far as they are valid.
pub(super) fn made_of(desk: &Desk, parent: Option<TaskId>, said: Decompose) -> Came<Vec<TaskId>> {
    let value = parent.map_or(desk.wanted.value, |task| desk.tasks.value(task));
    let room = room(desk);
    let bounds = Bounds { room, value };
    let (made, refused) = tasks_of(said, &desk.tasks.board(), parent, bounds);
    desk.journal.refuse_all(parent, refused);
    if made.is_empty() {
        return Came::ToNothing("none of these tasks can be made".to_owned());
    }
    Came::To(make(desk, parent, made))
}

/// Makes the mission its only task.
pub(super) fn one_task(desk: &Desk, why: &str) -> Vec<TaskId> {
    let whole = NewTask {
        task: TaskId(desk.tasks.board().next_number()),
        name: "the mission".into(),
        description: desk.wanted.mission.clone(),
        value: desk.wanted.value,
        rank: 1,
        ..NewTask::default()
    };
    is_one_task(desk, why);
    make(desk, None, vec![whole])
}

/// Says that the mission is one task.
pub(super) fn is_one_task(desk: &Desk, why: &str) {
    let why = format!("{why}; the mission is one task");
    desk.journal.refuse(None, "a plan of several tasks", why);
}

/// Makes tasks; the task that was split into them requires them from now on.
fn make(desk: &Desk, parent: Option<TaskId>, made: Vec<NewTask>) -> Vec<TaskId> {
    let journal = &desk.journal;
    let mut board = desk.tasks.board();
    let ids: Vec<TaskId> = made.iter().map(|new| new.task).collect();
    let new = |new: &NewTask| Draft::task(&journal.mission, new.task, TaskNews::Made(new.clone()));
    let mut drafts: Vec<Draft> = made.iter().map(new).collect();
    made.into_iter().for_each(|new| board.add(new));
    if let Some(task) = parent
        && let Some(now) = board.get_mut(task)
    {
        now.new.requires.extend(&ids);
        let changed = now.changed("it was split".into());
        let changed = Draft::task(&journal.thread(parent), task, changed);
        drafts.push(changed.only_if(journal.to_come(task)));
    }
    drop(board);
    journal.beside(parent, drafts);
    ids
}
