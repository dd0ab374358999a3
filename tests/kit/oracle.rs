//! An oracle over the logs of all tests: in every log that a server leaves behind, each action of a turn that has ended has exactly one
//! result. It reads the log from the database itself, when the server is gone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sqlx::{Connection, PgConnection, SqliteConnection};

/// A call: space, thread, id.
type Call = (String, String, String);

/// The calls of a log.
#[derive(Default)]
pub struct Calls {
    /// The turn in which each was begun.
    begun: BTreeMap<Call, i64>,
    /// The number of results of each.
    results: BTreeMap<Call, usize>,
    /// Calls that came to another event of theirs: a thread was made, a timer set, a person asked.
    told: BTreeSet<Call>,
    /// The turns that have ended: space, thread, number.
    ended: BTreeSet<(String, String, i64)>,
}

impl Calls {
    /// Takes in an event.
    pub fn take(&mut self, space: &str, thread: &str, tags: &[String], payload: &Value) {
        let has = |tag: &str| tags.iter().any(|it| it == tag);
        let turn = payload["turn"].as_i64().unwrap_or_default();
        if has("turn") && has("ended") {
            self.ended.insert((space.into(), thread.into(), turn));
        }
        let Some(id) = payload["call_id"].as_str() else {
            return;
        };
        let call: Call = (space.into(), thread.into(), id.into());
        if has("action") {
            self.begun.insert(call, turn);
        } else if has("result") {
            *self.results.entry(call).or_default() += 1;
        } else {
            self.told.insert(call);
        }
    }

    /// The number of actions of turns that have ended.
    pub fn over(&self) -> usize {
        self.begun
            .iter()
            .filter(|(call, turn)| self.is_over(call, **turn))
            .count()
    }

    /// The number of actions of turns that have not ended.
    pub fn open(&self) -> usize {
        self.begun.len() - self.over()
    }

    fn is_over(&self, (space, thread, _): &Call, turn: i64) -> bool {
        self.ended.contains(&(space.clone(), thread.clone(), turn))
    }

    /// The actions without exactly one result.
    pub fn faults(&self) -> Vec<String> {
        let fault = |(call, turn): (&Call, &i64)| {
            let (_, thread, id) = call;
            match self.results.get(call).copied().unwrap_or_default() {
                1 => None,
                0 if !self.is_over(call, *turn) || self.told.contains(call) => None,
                count => Some(format!(
                    "{id} of turn {turn} in {thread} has {count} results"
                )),
            }
        };
        self.begun.iter().filter_map(fault).collect()
    }
}

/// The calls in the log at this URL; none: there is no log that can be read.
pub async fn calls(url: &str) -> Option<Calls> {
    // A test plants copies of events in a modality that this build does not know.
    let text = "select space, thread, tags, payload from events where modality <> 'hologram' order by space, seq";
    let rows: Vec<(String, String, String, String)> = if url.starts_with("postgres") {
        let mut connection = PgConnection::connect(url).await.ok()?;
        sqlx::query_as(text).fetch_all(&mut connection).await.ok()?
    } else {
        let mut connection = SqliteConnection::connect(&format!("{url}?mode=ro"))
            .await
            .ok()?;
        sqlx::query_as(text).fetch_all(&mut connection).await.ok()?
    };
    let mut calls = Calls::default();
    for (space, thread, tags, payload) in rows {
        // A test may have damaged it.
        let tags: Vec<String> = serde_json::from_str(&tags).ok()?;
        calls.take(
            &space,
            &thread,
            &tags,
            &serde_json::from_str(&payload).ok()?,
        );
    }
    Some(calls)
}

/// Fails if the log at this URL has an action without exactly one result. For callers that cannot
/// wait.
pub fn check(url: &str) {
    let url = url.to_owned();
    let read = std::thread::spawn(move || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(calls(&url))
    });
    let faults = read.join().ok().flatten().map(|calls| calls.faults());
    let faults = faults.unwrap_or_default();
    assert!(faults.is_empty(), "each action has one result: {faults:#?}");
}
