//! How a mission asks people: a request is put before them once, also over crashes, and whoever waits for it is known to wait.

use std::time::Duration;

use uuid::Uuid;

use super::desk::Desk;
use crate::event::condition::{Condition, RequestState};
use crate::event::draft::Draft;
use crate::event::envelope::{Event, tag};
use crate::event::fact::Fact;
use crate::event::fact::question::{Answered, Question};
use crate::event::mission::{TEXT_MAX, TaskId};
use crate::event::statement::cut;
use crate::log::query::Query;
use crate::tools::approval::after;
use crate::words::id::{self, ThreadId};
use crate::words::time;

/// Answers that are looked at: as many as there are open at a time.
const ANSWERS_MAX: u32 = 500;

/// The id of what is asked for a task.
pub(super) fn question_id(mission: &ThreadId, task: TaskId) -> Uuid {
    id::about(&format!("the question of {task} in {mission}"))
}

impl Desk {
    /// Asks people, and waits until one has answered, or nobody may any more.
    pub async fn ask_people(&self, task: TaskId, question: &str) -> Option<String> {
        let mission = &self.0.row.thread;
        let id = question_id(mission, task);
        let text = id.to_string();
        let asked = Question {
            question: &text,
            turn: 1,
            call_id: &format!("{task}.question"),
            text: question,
            choices: Vec::new(),
            schema: None,
            who: Vec::new(),
            expires: &after(
                time::now(),
                Duration::from_millis(self.0.options.question_ms),
            )
            .to_string(),
            server: None,
            trial: None,
        };
        let asked = Fact::Question(asked).encode(mission).with_id(id);
        let stands = vec![
            Condition::Request {
                id: text.clone(),
                state: RequestState::Question,
            },
            Condition::TaskToCome {
                mission: mission.clone(),
                task,
                open: false,
            },
        ];
        let answer = |event: &Event| match event.fact() {
            Fact::Answer(answer) if answer.question == text => {
                let is_given = matches!(answer.what, Answered::Given { .. });
                Some(is_given.then(|| cut(answer.text, TEXT_MAX)))
            }
            _ => None,
        };
        self.ask_for(id, asked, stands, tag::ANSWER, answer).await
    }

    /// Puts a request before people by the event with this id, and waits until one with this tag settles it. A request that was made before a crash is
    /// made no second time. `stands`: what is so as long as it is not settled.
    pub async fn ask_for<T>(
        &self,
        id: Uuid,
        asked: Draft,
        stands: Vec<Condition>,
        settled_by: &str,
        settled: impl Fn(&Event) -> Option<T>,
    ) -> T {
        let (store, space, mission) = (self.0.client.store(), &self.0.space, &self.0.row.thread);
        let mut follower = store.feed().follow(space, Some(mission));
        match store.event(space, id).await {
            Ok(Some(_)) => {}
            Ok(None) => self.0.ledger.write(asked).await,
            Err(error) => return self.lose(error).await,
        }
        // Who looks for what is due, and for people who went meanwhile, is told as of any other request.
        match store.event(space, id).await {
            Ok(event) => event
                .iter()
                .for_each(|event| self.0.waker.on_stored()(space, event)),
            Err(error) => return self.lose(error).await,
        }
        loop {
            let (thread, tags) = (Some(mission.clone()), vec![settled_by.to_owned()]);
            let query = Query {
                thread,
                tags,
                limit: ANSWERS_MAX,
                ..Query::default()
            };
            match store.events(space, &query).await {
                Ok(events) => {
                    if let Some(settled) = events.iter().find_map(&settled) {
                        return settled;
                    }
                }
                Err(error) => return self.lose(error).await,
            }
            let _waits = self.rest().waits_for_people(id, stands.clone());
            follower.changed().await;
        }
    }
}
