//! Calls that a client runs itself: all calls of a turn end together, in one append with the event
//! that begins the next turn. The client ends them by its results, or by its next words; else
//! their time ends them. Of several at once the append accepts the first.

use uuid::Uuid;

use super::Requests;
use crate::append::append_told;
use crate::refused::Refused;
use thinkd_event::condition::{Condition, RequestState};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::client::{ClientCall, ClientResults, RESULTS};
use thinkd_event::request::{FromClient, Given, Parked, Settled};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::requests::RequestRow;
use thinkd_log::query::{Order, Query};
use thinkd_tools::layers::bounded;
use thinkd_words::id::{Seq, Space, ThreadId};

/// Calls of a client's words that are looked up: those of one turn end together.
const LOOKED_UP: usize = 16;
/// Results in a thread behind a call that are looked through.
const PAGE: u32 = 100;
/// Why a call has no result that a client left out.
const LEFT_OUT: &str = "the client went on without it";
/// Why a call has no result that a client went away from.
const MOVED_ON: &str = "the client said something else";

/// A call that a client was asked to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The id of the event that asked.
    pub request: Uuid,
    /// The thread.
    pub thread: ThreadId,
    /// The seq of the event.
    pub seq: Seq,
    /// The turn that made the call.
    pub turn: u64,
    /// True if it has no result yet.
    pub is_open: bool,
}

/// The calls of a turn that wait for the client.
async fn waiting(
    store: &dyn Store,
    space: &Space,
    thread: &ThreadId,
    turn: u64,
) -> Result<Vec<Parked>, StoreError> {
    let rows = store.requests_of(space, thread).await?;
    let parked = |row: &RequestRow| Parked::of(&row.id, &row.asked());
    let calls = rows.iter().filter(|row| row.state == RequestState::Client);
    let calls = calls.filter_map(parked);
    Ok(calls.filter(|call| call.turn == turn).collect())
}

/// Returns the results of these calls: those that the client gave, and for the others the failure
/// that it gave none.
async fn results(
    (store, space, most): (&dyn Store, &Space, usize),
    thread: &ThreadId,
    calls: &[Parked],
    (given, why): (&[Given], &str),
) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for call in calls {
        let output = given.iter().find(|given| given.request == call.id);
        let output = match output {
            Some(given) => Some(bounded(store, space, given.output.clone(), most).await),
            None => None,
        };
        let how = match &output {
            Some(value) => Settled::Answered {
                by: None,
                text: "",
                value: Some(value),
            },
            None => Settled::Denied {
                by: None,
                reason: why,
            },
        };
        drafts.extend(call.settled(thread, how));
    }
    drafts
}

/// Returns the results with which words of a client end its calls that wait in a thread.
pub async fn ended_by_words(
    (store, space, most): (&dyn Store, &Space, usize),
    thread: &ThreadId,
    from: &FromClient,
) -> Result<Vec<Draft>, StoreError> {
    for id in from.calls.iter().take(LOOKED_UP) {
        let row = store.request(space, id).await?;
        let row = row.filter(|row| row.state == RequestState::Client && row.thread == *thread);
        let call = row.and_then(|row| Parked::of(id, &row.asked()));
        if let Some(call) = call.filter(|call| call.client.as_ref() == Some(&from.client)) {
            let calls = waiting(store, space, thread, call.turn).await?;
            let given = (from.given.as_slice(), MOVED_ON);
            return Ok(results((store, space, most), thread, &calls, given).await);
        }
    }
    Ok(Vec::new())
}

/// Returns the events with which the time of a turn's calls ends; none: no call waits.
pub async fn ended_by_time(
    store: &dyn Store,
    space: &Space,
    thread: &ThreadId,
    turn: u64,
) -> Result<Vec<Draft>, StoreError> {
    let calls = waiting(store, space, thread, turn).await?;
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    let mut drafts: Vec<Draft> = Vec::new();
    for call in &calls {
        drafts.extend(call.settled(thread, Settled::Expired));
    }
    let ended = ClientResults {
        of_turn: turn,
        requests: calls.iter().map(|call| call.id.as_str()).collect(),
        is_expired: true,
        user: None,
        tools: None,
        client: None,
        request: None,
    };
    drafts.push(Fact::ClientResults(ended).encode(thread));
    Ok(drafts)
}

impl Requests {
    /// Returns a call that this client was asked to run.
    pub async fn client_call(
        &self,
        space: &Space,
        request: Uuid,
        client: &str,
    ) -> Result<Option<Asked>, StoreError> {
        let Some(event) = self.store.event(space, request).await? else {
            return Ok(None);
        };
        let turn = match event.fact() {
            Fact::ClientCall(ClientCall {
                turn, client: own, ..
            }) if own == client => turn,
            _ => return Ok(None),
        };
        let row = self.store.request(space, &request.to_string()).await?;
        Ok(Some(Asked {
            request,
            turn,
            is_open: row.is_some(),
            seq: event.seq,
            thread: event.thread,
        }))
    }

    /// Returns the event with which the calls of a turn ended, the newest one; none: they have no
    /// results, or came to nothing.
    pub async fn client_results(
        &self,
        space: &Space,
        call: &Asked,
    ) -> Result<Option<Event>, StoreError> {
        let behind = Query {
            thread: Some(call.thread.clone()),
            tags: vec![RESULTS.to_owned()],
            after: Some(call.seq),
            order: Order::Ascending,
            limit: PAGE,
            ..Query::default()
        };
        let request = call.request.to_string();
        let is_its = |event: &Event| match event.fact() {
            Fact::ClientResults(results) => results.requests.contains(&request.as_str()),
            _ => false,
        };
        let found = self.store.events(space, &behind).await?;
        Ok(found.into_iter().rev().find(is_its))
    }

    /// Ends the calls of a turn by the results of its client, which begin the next turn. Returns
    /// their event; none: they have ended already.
    pub async fn give(
        &self,
        space: &Space,
        call: &Asked,
        from: &FromClient,
        user: Option<&str>,
    ) -> Result<Option<Event>, Refused> {
        let store = &*self.store;
        let calls = waiting(store, space, &call.thread, call.turn).await?;
        if calls.is_empty() {
            return Ok(None);
        }
        let given = (from.given.as_slice(), LEFT_OUT);
        let ground = (store, space, self.output_bytes);
        let mut drafts = results(ground, &call.thread, &calls, given).await;
        let ids = calls.iter().map(|call| call.id.as_str()).collect();
        drafts.push(told(&call.thread, call.turn, ids, (from, user)));
        self.begin(space, &call.thread, drafts).await
    }

    /// Has the next turn made again that was about these results, where it was cut off. Of several
    /// at once one is made. Returns the event that begins it.
    pub async fn give_again(
        &self,
        space: &Space,
        results: &Event,
        from: &FromClient,
        user: Option<&str>,
    ) -> Result<Option<Event>, Refused> {
        let Fact::ClientResults(given) = results.fact() else {
            return Ok(None);
        };
        let id = Uuid::new_v5(&results.event_id, b"again");
        if let Some(event) = self.store.event(space, id).await? {
            return Ok(Some(event));
        }
        let ids = given.requests.clone();
        let again = told(&results.thread, given.of_turn, ids, (from, user)).with_id(id);
        match self.begin(space, &results.thread, vec![again]).await {
            Err(Refused::Store(StoreError::Conflict(_))) => Ok(self.store.event(space, id).await?),
            begun => begun,
        }
    }

    /// Stores results, and wakes the thread by the last of these events.
    async fn begin(
        &self,
        space: &Space,
        thread: &ThreadId,
        drafts: Vec<Draft>,
    ) -> Result<Option<Event>, Refused> {
        match append_told(&*self.store, &self.on_stored, space, drafts).await {
            Ok(placed) => Ok(placed.last().map(|placed| placed.shown.event.clone())),
            Err(StoreError::Unmet(Condition::NotEnded)) => {
                self.tidy(space, thread).await?;
                Err(Refused::Ended(thread.clone()))
            }
            Err(StoreError::Unmet(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives up the calls of a turn that came to no end that its client was told of.
    pub async fn give_up(
        &self,
        space: &Space,
        thread: &ThreadId,
        turn: u64,
    ) -> Result<(), StoreError> {
        let calls = waiting(&*self.store, space, thread, turn).await?;
        let reason = "its turn came to no answer";
        for call in calls {
            let withdrawn = call.settled(thread, Settled::Withdrawn { reason });
            self.unless_settled(space, withdrawn).await?;
        }
        Ok(())
    }
}

/// The event that says that calls have their results.
fn told(
    thread: &ThreadId,
    of_turn: u64,
    requests: Vec<&str>,
    (from, user): (&FromClient, Option<&str>),
) -> Draft {
    let offered = from.offered.as_ref();
    let results = ClientResults {
        of_turn,
        requests,
        is_expired: false,
        user,
        tools: offered.map(|it| it.tools.as_str()),
        client: offered.map(|it| it.client.as_str()),
        request: from.request.as_ref(),
    };
    let draft = Fact::ClientResults(results).encode(thread);
    draft.only_if(Condition::NotEnded)
}
