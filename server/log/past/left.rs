//! The kinds of things that stay with a thread when it is forked, so that its fork can be told.

use std::collections::BTreeSet;

use crate::error::StoreError;
use crate::kernel::Store;
use crate::projections::requests::RequestRow;
use crate::projections::timers::TimerRow;
use crate::query::{Order, Query, Show};
use crate::thread_row::ThreadRow;
use thinkd_event::condition::RequestState;
use thinkd_event::envelope::{Event, tag};
use thinkd_event::fact::set::Change;
use thinkd_event::fact::told::News;
use thinkd_event::fact::{Fact, client};
use thinkd_event::timer::Purpose;
use thinkd_words::id::{Seq, Space};

/// Events that are read, the newest.
const NEWEST: u32 = 64;

/// The kinds of things that stay with the thread that is forked.
const LEFT: [&str; 7] = [
    "timers",
    "watches",
    "gatherings",
    "questions",
    "approvals",
    "subthreads",
    "calls of the client",
];
/// The place of the calls of a client among these.
const CLIENT: usize = 6;
/// Tags of events that begin or end one of these.
const TOLD: [&str; 9] = [
    "set:timer",
    "timer",
    "set:watch",
    "set:gather",
    tag::QUESTION,
    tag::ANSWER,
    tag::APPROVAL,
    "thread-spawned",
    tag::THREAD_ENDED,
];

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// Returns the kinds of things that a thread has now, and that would stay with it.
    pub(super) async fn left_now(
        &self,
        space: &Space,
        row: &ThreadRow,
    ) -> Result<Vec<&'static str>, StoreError> {
        let timers = self.timers(space, &row.thread..=&row.thread).await?;
        let is_its = |it: &TimerRow| matches!(Purpose::of(&it.name), Purpose::Own(_));
        let requests = self.requests_of(space, &row.thread).await?;
        let is_question = |it: &RequestRow| it.state == RequestState::Question;
        let is_approval = |it: &RequestRow| !is_question(it) && it.state != RequestState::Client;
        let state = &row.state;
        let has = [
            timers.iter().any(is_its),
            !state.watches.is_empty(),
            !state.gathers.is_empty(),
            requests.iter().any(is_question),
            requests.iter().any(is_approval),
            state.subthreads > 0,
            requests.iter().any(|it| it.state == RequestState::Client),
        ];
        let kinds = LEFT.into_iter().zip(has).filter(|(_, has)| *has);
        Ok(kinds.map(|(kind, _)| kind).collect())
    }

    /// Returns the kinds of things that were open in a thread at a seq, as far as the newest events
    /// about them tell.
    pub(super) async fn left_by(
        &self,
        space: &Space,
        row: &ThreadRow,
        at: Seq,
    ) -> Result<Vec<&'static str>, StoreError> {
        let told = Query {
            thread: Some(row.thread.clone()),
            tags: TOLD.map(str::to_owned).into(),
            before: Some(at + 1),
            show: Show::All,
            limit: NEWEST,
            ..Query::default()
        };
        let mut open = BTreeSet::new();
        for event in self.events(space, &told).await?.iter().rev() {
            match told_of(&event.fact()) {
                Some((place, key, true)) => drop(open.insert((place, key))),
                Some((place, key, false)) => drop(open.remove(&(place, key))),
                None => {}
            }
        }
        if self.has_client_call(space, row, at).await? {
            open.insert((CLIENT, String::new()));
        }
        let kinds = (0..).zip(LEFT);
        let is_open = |place: usize| open.iter().any(|(of, _)| *of == place);
        let kinds = kinds.filter(|(place, _)| is_open(*place));
        Ok(kinds.map(|(_, kind)| kind).collect())
    }

    /// Returns true if a call of a client had no result in a thread at a seq. All calls of a turn
    /// get theirs at once, so that the newest tells.
    async fn has_client_call(
        &self,
        space: &Space,
        row: &ThreadRow,
        at: Seq,
    ) -> Result<bool, StoreError> {
        let calls = Query {
            thread: Some(row.thread.clone()),
            tags: vec![client::CALL.to_owned()],
            before: Some(at + 1),
            show: Show::All,
            limit: 1,
            ..Query::default()
        };
        let asked = self.events(space, &calls).await?.pop();
        let Some((seq, Fact::ClientCall(call))) = asked.as_ref().map(|it| (it.seq, it.fact()))
        else {
            return Ok(false);
        };
        let results = Query {
            tags: [tag::RESULT, &format!("tool:{}", call.tool)]
                .map(str::to_owned)
                .into(),
            all_tags: true,
            after: Some(seq),
            order: Order::Ascending,
            limit: NEWEST,
            ..calls
        };
        let results = self.events(space, &results).await?;
        let is_its = |it: &Event| it.fact().call_id() == Some(call.call_id);
        Ok(!results.iter().any(is_its))
    }
}

/// Returns true if an event may begin or end one of these.
pub(super) fn tells(event: &Event) -> bool {
    let tags = TOLD.iter().chain(&[client::CALL, tag::RESULT]);
    tags.into_iter().any(|tag| event.has(tag))
}

/// Returns the place in [`LEFT`] of something that an event begins or ends, its key, and whether it
/// begins.
fn told_of(fact: &Fact<'_>) -> Option<(usize, String, bool)> {
    let (place, key, begins) = match fact {
        Fact::Set(set) => match &set.change {
            Change::Timer(timer) => match Purpose::of(set.key) {
                Purpose::Own(_) => (0, set.key, timer.is_some()),
                _ => return None,
            },
            Change::Watch(watch) => (1, set.key, watch.is_some()),
            Change::Gather(gather) => (2, set.key, gather.is_some()),
            _ => return None,
        },
        Fact::Question(asked) if asked.is_of_the_mind() => (3, asked.question, true),
        Fact::Answer(answer) => (3, answer.question, false),
        Fact::ApprovalPending(pending) => (4, pending.approval, true),
        Fact::ApprovalVerdict(verdict) => (4, verdict.approval, false),
        Fact::Told(told) => match told.news {
            News::Timer { timer, .. } => (0, timer, false),
            News::Spawned { child, .. } => (5, child, true),
            News::Ended { thread, .. } => (5, thread, false),
            _ => return None,
        },
        _ => return None,
    };
    Some((place, key.to_owned(), begins))
}
