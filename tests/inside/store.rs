//! The promises of a store, on every database and in memory: one suite. No test here knows its
//! database, except for the promises of only one of them.

mod append;
mod commits;
mod conditions;
mod index;
mod past;
mod plans;
mod query;
mod safety;
mod search;
mod servers;
mod tables;
mod vectors;

use std::sync::Arc;

use serde_json::json;
use thinkd::event::condition::Condition;
use thinkd::event::draft::Draft;
use thinkd::event::envelope::{Event, Source, Visibility, tag};
use thinkd::event::fact::Fact;
use thinkd::event::statement::{self, Claim, Claimant, Judged};
use thinkd::event::trial::News;
use thinkd::log::appended::{Append, Appended, Placed};
use thinkd::log::change::{Applied, Project, Spent};
use thinkd::log::kernel::Store;
use thinkd::log::options::Options;
use thinkd::log::query::{Order, Query, Show};
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::words::id::{Space, ThreadId};
use uuid::Uuid;

use kit::Medium;
use kit::pooler;
use kit::stored::{self, draft};

/// Applies an event of these tests to the row of its thread: enough to see every kind of change.
fn project(row: &mut ThreadRow, event: &Event, _: &Fact<'_>) -> Applied {
    // As if each input had led to one model call.
    let spent = Spent {
        calls: 1,
        tokens: 10,
        threads: 0,
    };
    if event.wakes() {
        row.woken = event.seq;
    }
    let handled = event.payload.get("handled");
    row.handled = handled
        .and_then(serde_json::Value::as_i64)
        .unwrap_or(row.handled);
    row.visible += u64::from(event.visibility() >= Visibility::Submodule);
    row.heard += u64::from(event.visibility() == Visibility::Heard);
    if event.is_from_outside() {
        row.self_messages = 0;
    }
    row.self_messages += u32::from(event.has(tag::THOUGHT));
    Applied {
        spent: event
            .is_from_outside()
            .then_some(([Some(event.seq), None], spent)),
        unreadable: false,
    }
}

async fn open(medium: &Medium) -> Arc<dyn Store> {
    opened(medium, Options::default(), project).await
}

async fn opened(medium: &Medium, options: Options, project: Project) -> Arc<dyn Store> {
    if let Some(disk) = medium.disk() {
        return store::memory(disk, &options, project).unwrap();
    }
    let Some(pooler) = medium.pooler() else {
        return store::open(medium.url(), options, project).await.unwrap();
    };
    let options = Options {
        direct: Some(medium.url().into()),
        ..options
    };
    match store::open(pooler, options.clone(), project).await {
        Ok(store) => store,
        Err(refusal) => {
            // The first time, its role lacks settings.
            let advised = pooler::advised(&refusal.to_string());
            assert!(!advised[0].is_empty(), "{refusal}");
            for statement in advised {
                stored::execute(medium.url(), &statement).await;
            }
            let anew = "select pg_terminate_backend(pid, 10000) from pg_stat_activity \
                 where datname = current_database() and pid <> pg_backend_pid()";
            stored::execute(medium.url(), anew).await;
            store::open(pooler, options, project).await.unwrap()
        }
    }
}

fn space() -> Space {
    Space::default()
}

fn thread(id: &str) -> ThreadId {
    ThreadId::parse(id).unwrap()
}

/// An event that wakes its thread.
fn input(id: &str, text: &str) -> Draft {
    Draft {
        source: Source::User,
        ..draft(id, text, &["input", "type:message"])
    }
}

/// An event that sets a state entry.
fn note(key: &str, content: &str, related: &[&str]) -> Draft {
    let change = json!({ "content": content, "related_keys": related, "owner": "decision" });
    Draft::changed(&ThreadId::default(), "entry", key, change)
}

/// A claim, where fewer than so many wait.
fn claimed(id: Uuid, text: &str, most: u32) -> Vec<Draft> {
    let source = statement::Source {
        by: Claimant::Mind,
        seqs: Vec::new(),
        quote: None,
        word: false,
    };
    let [claimed, standing] = Draft::claimed(
        &ThreadId::default(),
        id,
        Claim {
            text: text.to_owned(),
            source,
            premises: Vec::new(),
            root: None,
        },
    );
    vec![claimed.only_if(Condition::FewerWaiting(most)), standing]
}

/// The outcome of a statement's trial.
fn judged(id: Uuid, outcome: &str) -> Draft {
    let judged: Judged = serde_json::from_value(json!({
        "outcome": outcome, "reason": "planted", "valid": { "from": null, "to": null }, "carried": ["code"],
        "survived": 1, "tries": 0, "reopened": 0, "due": null, "others": [], "by": null, "tried": false,
    }))
    .unwrap();
    Draft::statement(&ThreadId::default(), &id.to_string(), News::Judged(judged))
}

async fn append(store: &Arc<dyn Store>, drafts: Vec<Draft>) -> Vec<Placed> {
    match store.append(Append::free(&space(), drafts)).await.unwrap() {
        Appended::Stored(placed) => placed,
        Appended::Stale => panic!("an append without a lease cannot be stale"),
    }
}

async fn append_one(store: &Arc<dyn Store>, draft: Draft) -> Event {
    append(store, vec![draft])
        .await
        .pop()
        .unwrap()
        .shown
        .event
        .clone()
}

/// The whole log, oldest first.
async fn log(store: &Arc<dyn Store>, space: &Space) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map(|event| event.seq);
        let query = Query {
            after,
            show: Show::All,
            order: Order::Ascending,
            limit: 500,
            ..Query::default()
        };
        let page = store.events(space, &query).await.unwrap();
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

fn id(number: u128) -> Option<Uuid> {
    Some(Uuid::from_u128(number))
}

/// An empty store of each kind: each database, and memory.
async fn media() -> Vec<Medium> {
    let mut all = databases().await;
    all.push(Medium::memory());
    all
}

/// An empty database of each kind.
async fn databases() -> Vec<Medium> {
    let mut all = Medium::each().await;
    all.extend(Medium::pooled().await);
    all
}
