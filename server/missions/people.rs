//! Questions of a mission to people, and the changes that people make to its tasks. A request is
//! put before them once, also over crashes, and each flow that waits for it is counted as waiting.

use std::convert::Infallible;
use std::time::Duration;

use uuid::Uuid;

use super::desk::Desk;
use thinkd_event::condition::{Condition, RequestState};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Event, tag};
use thinkd_event::fact::Fact;
use thinkd_event::fact::question::{Answered, Question};
use thinkd_event::mission::{TEXT_MAX, TaskId};
use thinkd_event::statement::cut;
use thinkd_log::error::Stored;
use thinkd_log::feed::{Follower, Tail};
use thinkd_log::query::{Query, Show};
use thinkd_log::thread_row::ThreadRow;
use thinkd_runtime::mailbox::each_after;
use thinkd_tools::approval::after;
use thinkd_words::id::{self, Seq, ThreadId};
use thinkd_words::time;

/// Answers that are looked at: as many as there are open at a time.
const ANSWERS_MAX: u32 = 500;
/// Number of events that are read at a time to hear changes by people.
const HEARD_AT_ONCE: u32 = 100;
/// Pause before the next read when the log cannot be read.
const REST: Duration = Duration::from_secs(1);

/// Returns the id of the question of a task.
pub(super) fn question_id(mission: &ThreadId, task: TaskId) -> Uuid {
    id::about(&format!("the question of {task} in {mission}"))
}

/// Asks people, and waits for an answer, or until none can come any more.
pub(super) async fn ask_people(desk: &Desk, task: TaskId, question: &str) -> Option<String> {
    let mission = &desk.journal.mission;
    let id = question_id(mission, task);
    let text = id.to_string();
    let patience = Duration::from_millis(desk.options().question_ms);
    let asked = Question {
        question: &text,
        turn: 1,
        call_id: &format!("{task}.question"),
        text: question,
        expires: &after(time::now(), patience).to_string(),
        ..Question::default()
    };
    let asked = Fact::Question(asked).encode(mission).with_id(id);
    let waits = Condition::Request {
        id: text.clone(),
        state: RequestState::Question,
    };
    let stands = vec![waits, desk.journal.to_come(task)];
    let answer = |event: &Event| match event.fact() {
        Fact::Answer(answer) if answer.question == text => {
            let is_given = matches!(answer.what, Answered::Given { .. });
            Some(is_given.then(|| cut(answer.text, TEXT_MAX)))
        }
        _ => None,
    };
    ask_for(desk, (id, asked), (stands, tag::ANSWER), answer).await
}

/// Puts a request before people by the event with this id, and waits until one with this tag
/// settles it. A request that was made before a crash is made no second time. `stands`: the
/// conditions that hold as long as it is not settled.
pub(super) async fn ask_for<T>(
    desk: &Desk,
    (id, asked): (Uuid, Draft),
    (stands, settled_by): (Vec<Condition>, &str),
    settled: impl Fn(&Event) -> Option<T>,
) -> T {
    let store = &desk.ground.store;
    let space = &desk.space;
    let journal = &desk.journal;
    let mut follower = store.feed().follow(space, Some(&journal.mission));
    let known = journal.found(store.event(space, id).await).await;
    if known.is_none() {
        journal.ledger.write(asked).await;
    }
    // Who looks for what is due, and for people who went meanwhile, is told as of any other
    // request.
    if let Some(event) = journal.found(store.event(space, id).await).await {
        desk.ground.waker.on_stored()(space, &event);
    }
    let query = Query {
        thread: Some(journal.mission.clone()),
        tags: vec![settled_by.to_owned()],
        limit: ANSWERS_MAX,
        ..Query::default()
    };
    loop {
        let events = journal.found(store.events(space, &query).await).await;
        if let Some(settled) = events.iter().find_map(&settled) {
            return settled;
        }
        let _waits = desk.rest.waits_for_people(id, stands.clone());
        follower.changed().await;
    }
}

/// Hears people's changes of the tasks of a mission while it is worked on: from the feed, and from
/// the log where the feed does not go back far enough.
pub(super) async fn follow(desk: &Desk, mut follower: Follower, mut seen: Seq) -> Infallible {
    loop {
        match follower.after(seen, HEARD_AT_ONCE as usize) {
            Tail::Events(events) if events.is_empty() => follower.changed().await,
            Tail::Events(events) => {
                for shown in events {
                    seen = shown.event.seq;
                    hear(desk, &shown.event);
                }
            }
            Tail::Behind => match hear_behind(desk, seen).await {
                Ok(heard) => seen = heard,
                Err(error) => {
                    tracing::warn!(%error, mission = %desk.journal.mission, "what people say of its tasks cannot be read; it is tried again");
                    tokio::time::sleep(REST).await;
                }
            },
        }
    }
}

/// Hears the same of the events after `seen`, as the log has them now. Returns the position up to
/// which they were read.
async fn hear_behind(desk: &Desk, seen: Seq) -> Stored<Seq> {
    let store = &*desk.ground.store;
    let space = &desk.space;
    let head = store.head(space).await?.seq;
    let row = ThreadRow {
        handled: seen,
        head,
        ..desk.row.clone()
    };
    each_after(store, space, &row, Show::Public, |event| {
        hear(desk, &event);
        true
    })
    .await
}

fn hear(desk: &Desk, event: &Event) {
    // What is said while a task is worked on stands in a thread of its own.
    if event.thread == desk.journal.mission
        && let Fact::Task(said) = event.fact()
    {
        desk.tasks.hear(said);
    }
}
