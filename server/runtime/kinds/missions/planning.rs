//! The steps that plan: what parts a mission or a task has, how a task may be done, what becomes of one behind a failed one. Nodes of the pipeline in
//! `missions/flow.rs`, as those of `missions/steps.rs` are.

use serde_json::json;
use unhurried::node;

use super::asking::{Ask, Came};
use super::board::{Said, TaskNow};
use super::desk::Desk;
use super::said::{Consider, Considered, Decompose, Replan};
use super::steps::quoted;
use crate::event::draft::Draft;
use crate::event::mission::{NewTask, TEXT_MAX, TaskId, TaskStatus, Value};
use crate::event::statement::cut;
use crate::event::task::TaskNews;
use crate::model::provider::Tier;

/// The parts of the mission, or of a task. Nothing comes of it where there is no room for them.
#[node]
pub(super) async fn decompose(parent: Option<TaskId>, desk: Desk) -> Came<Vec<TaskId>> {
    let (depth, most) = (desk.options().depth, desk.options().tasks as usize);
    let (level, count) = {
        let board = desk.board();
        (
            parent
                .and_then(|task| board.get(task))
                .map_or(0, |now| now.level),
            board.len(),
        )
    };
    let no_room = match () {
        () if level >= depth => Some(format!(
            "tasks are split {depth} deep at most (mission.depth)"
        )),
        () if count >= most => Some(format!(
            "a mission has at most {most} tasks (mission.tasks)"
        )),
        () => None,
    };
    if let Some(why) = no_room {
        desk.refuse(
            parent,
            parent.map(|task| (task, "to split".to_owned(), why.clone())),
        );
        return Came::ToNothing(why);
    }
    match desk.parts(parent).await {
        Came::To(said) => desk.made_of(parent, said),
        Came::Spent(why) => Came::Spent(why),
        Came::ToNothing(why) if parent.is_some() => {
            Came::ToNothing(format!("it was not split: {why}"))
        }
        // A mission may be one task.
        Came::ToNothing(why) => Came::To(desk.one_task(&why)),
    }
}

/// Whether a task can do without one that failed, once.
#[node]
pub(super) async fn replan(task: TaskId, failed: TaskId, desk: Desk) -> Came<()> {
    let prompts = desk.client().prompts();
    let values = vec![
        ("mission".to_owned(), quoted(&desk.wanted().mission)),
        ("task".to_owned(), desk.described(task)),
        ("failed".to_owned(), desk.described(failed)),
    ];
    let (system, tail) = (&prompts.mission_replan, &prompts.mission_behind);
    let ask = Ask {
        node: "replan",
        tool: "replan",
        task: Some(task),
        tier: Tier::Low,
        system,
        tail,
        values,
    };
    let why = {
        let board = desk.board();
        let reason = board
            .get(failed)
            .and_then(|now| now.reason.clone())
            .unwrap_or_default();
        format!("it requires {failed}, which failed: {reason}")
    };
    let said = match desk.ask::<Replan>(ask, |_| Ok(())).await {
        Came::To(said) if said.possible => said,
        Came::To(_) | Came::ToNothing(_) => return Came::ToNothing(why),
        Came::Spent(why) => return Came::Spent(why),
    };
    let changed = {
        let mut board = desk.board();
        let over = TaskStatus::FailedWithCurrentAvailableInstruments;
        let requires: Vec<TaskId> = board
            .get(task)
            .map(|now| now.requires.clone())
            .unwrap_or_default();
        let stays = |it: &TaskId| board.get(*it).is_some_and(|now| now.status != over);
        let requires: Vec<TaskId> = requires.into_iter().filter(stays).collect();
        let description = said
            .description
            .map(|it| cut(&it, TEXT_MAX))
            .filter(|it| !it.is_empty());
        board.get_mut(task).map(|now| {
            now.requires.clone_from(&requires);
            now.description = description.unwrap_or_else(|| now.description.clone());
            now.changed(format!("{why}; {}", said.why))
        })
    };
    desk.say(task, changed);
    Came::To(())
}

/// Asks the user what a task cannot be done without, and waits for the answer, or until nobody waits any more: none.
#[node]
pub(super) async fn ask_user(task: TaskId, question: String, desk: Desk) -> Said {
    Said {
        answer: desk.ask_people(task, &question).await,
        question,
    }
}

/// Whether a task is to be split, what the user would have to say, by which routes it may be done, and how its answer will be checked: one call, four events.
#[node]
pub(super) async fn consider(task: TaskId, said: Option<Said>, desk: Desk) -> Came<Considered> {
    desk.refresh(task).await;
    let was_asked = said.is_some();
    let exact = !was_asked && desk.board().get(task).is_some_and(|now| now.exact);
    let prompts = desk.client().prompts();
    let values = vec![
        ("mission".to_owned(), quoted(&desk.wanted().mission)),
        ("task".to_owned(), desk.described(task)),
        ("said".to_owned(), json!(said).to_string()),
    ];
    let (system, tail) = (&prompts.mission_consider, &prompts.mission_task);
    let ask = Ask {
        node: "consider",
        tool: "consider",
        task: Some(task),
        tier: Tier::Low,
        system,
        tail,
        values,
    };
    let asked = if exact {
        None
    } else {
        Some(desk.ask::<Consider>(ask, |_| Ok(())).await)
    };
    let considered = match asked {
        None => {
            // Nobody was asked, and a look for frameworks follows.
            desk.joins_next(task);
            Considered::of_exact()
        }
        Some(Came::To(said)) => {
            let (mut considered, refused) = said.read(task, desk.options().routes as usize);
            {
                let records = desk.records();
                considered
                    .routes
                    .iter_mut()
                    .for_each(|it| it.learned = records.learned(it.kind(), it.estimate));
            }
            desk.refuse(Some(task), refused);
            if considered.question.is_some()
                && let Some(why) = desk.why_not_asked(task, was_asked).await
            {
                considered.question = None;
                desk.refuse(
                    Some(task),
                    [(task, "a question to the user".to_owned(), why)],
                );
            }
            considered
        }
        Some(Came::ToNothing(why)) => Considered::of_nobody(&why),
        Some(Came::Spent(why)) => return Came::Spent(why),
    };
    let Considered {
        split: needed,
        split_why,
        question,
        routes,
        check,
    } = considered.clone();
    desk.say(
        task,
        [
            TaskNews::Split {
                needed,
                why: split_why,
            },
            TaskNews::Asked { question },
            TaskNews::Routes { routes },
            TaskNews::Checked { check },
        ],
    );
    Came::To(considered)
}

impl Desk {
    /// Why the user is not asked for a task, if so.
    async fn why_not_asked(&self, task: TaskId, was_asked: bool) -> Option<String> {
        let value = self.board().get(task).map_or(Value::Low, |now| now.value);
        if value != Value::High {
            return Some(format!(
                "its value is {}: only a task of the value high asks the user",
                value.as_str()
            ));
        }
        if was_asked {
            return Some("it has asked once already".to_owned());
        }
        match self.client().store().is_user_away(self.space()).await {
            Ok(is_away) => {
                is_away.then(|| "people are away (user_away): it does without".to_owned())
            }
            Err(error) => self.lose(error).await,
        }
    }

    /// What a model says of the parts of the mission, or of a task.
    pub async fn parts(&self, parent: Option<TaskId>) -> Came<Decompose> {
        let prompts = self.client().prompts();
        let mut values = vec![("mission".to_owned(), quoted(&self.wanted().mission))];
        values.extend(parent.map(|task| ("task".to_owned(), self.described(task))));
        let tail = if parent.is_some() {
            &prompts.mission_split
        } else {
            &prompts.mission_wanted
        };
        let (node, tool, system) = ("decompose", "decompose", &prompts.mission_decompose);
        let ask = Ask {
            node,
            tool,
            task: parent,
            tier: Tier::Low,
            system,
            tail,
            values,
        };
        let some = |said: &Decompose| match said.tasks.is_empty() {
            true => Err(
                "the list of tasks is empty: where nothing is to be split, it has one task"
                    .to_owned(),
            ),
            false => Ok(()),
        };
        self.ask::<Decompose>(ask, some).await
    }

    /// Makes what can be made of such parts.
    pub fn made_of(&self, parent: Option<TaskId>, said: Decompose) -> Came<Vec<TaskId>> {
        let (made, refused) = {
            let board = self.board();
            let value = match parent {
                None => self.wanted().value,
                Some(task) => board.get(task).map_or(Value::Low, |now| now.value),
            };
            let room = (self.options().tasks as usize).saturating_sub(board.len());
            said.read(&board, parent, (board.next_number(), room), value)
        };
        self.refuse(parent, refused);
        match (made.is_empty(), parent) {
            (false, _) => Came::To(self.make(parent, made)),
            (true, Some(_)) => Came::ToNothing("none of its parts could be made".to_owned()),
            (true, None) => Came::To(self.one_task("none of its tasks could be made")),
        }
    }

    /// The mission as its only task.
    pub fn one_task(&self, why: &str) -> Vec<TaskId> {
        let mission = &self.wanted().mission;
        let whole = NewTask {
            task: TaskId(self.board().next_number()),
            name: "the mission".into(),
            description: mission.clone(),
            value: self.wanted().value,
            parent: None,
            requires: Vec::new(),
            brought_by: Vec::new(),
            rank: 1,
            exact: false,
        };
        self.refuse(
            None,
            [(
                TaskId(0),
                "a plan of several tasks".to_owned(),
                format!("{why}; the mission is one task"),
            )],
        );
        self.make(None, vec![whole])
    }

    /// Makes tasks; who was split into them requires them from now on.
    fn make(&self, parent: Option<TaskId>, made: Vec<NewTask>) -> Vec<TaskId> {
        let ids: Vec<TaskId> = made.iter().map(|new| new.task).collect();
        let (thread, mut board) = (self.mission_thread(), self.board());
        let mut drafts: Vec<Draft> = made
            .iter()
            .map(|new| Draft::task(thread, new.task, TaskNews::Made(new.clone())))
            .collect();
        made.into_iter().for_each(|new| board.add(new));
        if let Some(now) = parent.and_then(|parent| board.get_mut(parent)) {
            now.requires.extend(ids.iter().copied());
            let changed = now.changed("it was split".into());
            let changed = |parent| {
                Draft::task(&thread.of_task(parent), parent, changed).only_if(self.to_come(parent))
            };
            drafts.extend(parent.map(changed));
        }
        drop(board);
        self.beside(parent, drafts);
        ids
    }
}

impl TaskNow {
    /// What is said of a task that is another from now on, by the mission itself.
    fn changed(&self, why: String) -> TaskNews {
        let Self {
            name,
            description,
            requires,
            rank,
            ..
        } = self.clone();
        TaskNews::Changed {
            name,
            description,
            requires,
            rank,
            why,
            by: None,
        }
    }
}
