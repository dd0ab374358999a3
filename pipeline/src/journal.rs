//! The journal of a run records the value of each node by its place in the run, and answers for the
//! node the next time.
//!
//! The journal is a hook. Where it keeps its records is a trait, with a store in memory here and one in a [`file`].

pub(crate) mod file;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value as Json;

use crate::error::Cause;
use crate::record::{JournalError, Record};
use crate::run::{Birth, Call, Hook, Next, Scope};
use crate::sync::Mutex;
use crate::value::{Outcome, Output};

/// Records every node of a run; recorded nodes are not run again.
///
/// A run is found by its id, a node by its [place](Call::place), so a run that was cut off and is started again takes up
/// where it was: recorded nodes answer at once, the rest run. A node that was cut off in the middle runs again. So does one
/// that failed; when the run went on after that, it is recorded which call it was, and it has to be the same the next time.
///
/// ```
/// use unhurried::{Context, Journal, MemoryStore, Run, node};
///
/// #[node]
/// async fn roll(sides: u64) -> u64 {
///     std::process::id() as u64 % sides + std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() as u64
/// }
///
/// let store = MemoryStore::default();
/// let play = |sides| Run::new("game-1").hook(Journal::new(store.clone())).scope(async move { roll(Context::new(sides)).await });
/// let first = unhurried::block_on(play(6)).unwrap().unwrap();
/// let again = unhurried::block_on(play(6)).unwrap().unwrap();
/// assert_eq!(first, again);
///
/// let other = unhurried::block_on(play(20)).unwrap().unwrap_err();
/// assert!(other.to_string().contains("at 1 `roll` is recorded with another `sides`"));
/// ```
///
/// # A value is the right one, or there is none
///
/// A record names its node and the [version](Call::version) of it, and has a hash of each
/// [argument](Call::arguments): a context's is its value, so that a change upstream is seen
/// downstream. Where a node is called that is not the one recorded at its place, it fails and names
/// the difference.
///
/// Values and arguments are therefore data: `Serialize` and `Deserialize`, `Serialize` alone for
/// arguments. A node of which one is not fails under a journal, unless it is `#[node(transient)]`
/// (then it is run each time) or the argument is left out by `#[node(ignore(…))]`. Equal values
/// must be equal as data: a `HashSet` is in another order in each process, so take a `BTreeSet`.
///
/// Places count the calls of one flow of control. Contexts that were made beforehand may be read side by side; *flows* side
/// by side, that call nodes as they go, have names: [`Run::branch`](crate::Run::branch), [`Run::spawn`](crate::Run::spawn). Of flows without names a call that is
/// made while another flow reads fails and says so, on the first run already. Not seen are flows without names that never
/// read at the same time: where they make equal calls, each may get the other's value. Nor is it seen that a context was made
/// and never read.
///
/// The journal counts on the same way in each run. So a clock or a random number that decides on
/// the way belongs into a node.
pub struct Journal<S>(S);

/// A store of records. When [`keep`](Self::keep) or [`forget`](Self::forget) returns, the change
/// must survive.
#[async_trait]
pub trait JournalStore: Send + Sync {
    /// The record of this place in this run.
    async fn find(&self, run: &str, place: &str) -> io::Result<Option<Record>>;

    /// Keeps a record, in place of the one that this place has, if any; an [abandoned](Record::abandoned) one only where there is none.
    async fn keep(&self, run: &str, record: Record) -> io::Result<()>;

    /// Removes all records of a run, if there are any: its id is free.
    async fn forget(&self, run: &str) -> io::Result<()>;
}

/// A call that can be recorded.
struct Entry<'a> {
    call: &'a Call,
    birth: &'a Birth,
    /// The record to be kept of it when it is abandoned.
    record: Record,
}

impl<'a> Entry<'a> {
    fn of(call: &'a Call) -> Result<Self, JournalError> {
        let (Some(place), Some(birth)) = (call.place(), call.birth()) else {
            return Err(JournalError::OutsideTheRun);
        };
        let place = place.to_owned();
        let node = call.node().to_owned();
        if birth.raced {
            return Err(JournalError::NoName { place, node });
        }
        if !call.is_data() {
            return Err(JournalError::NotData);
        }
        let record = Record {
            place,
            node,
            arguments: Some(call.arguments()?),
            version: call.version(),
            value: Json::Null,
            abandoned: true,
        };
        Ok(Entry {
            call,
            birth,
            record,
        })
    }

    fn unfit(&self, source: serde_json::Error) -> JournalError {
        JournalError::Data {
            place: self.record.place.clone(),
            source,
        }
    }

    fn value(&self, data: Json) -> Result<Output, JournalError> {
        let output = self.call.decode(data).ok_or(JournalError::NotData)?;
        output.map_err(|source| self.unfit(source))
    }

    fn recorded(&self, output: &Output) -> Result<Record, JournalError> {
        let data = self.call.encode(output).ok_or(JournalError::NotData)?;
        let value = data.map_err(|source| self.unfit(source))?;
        // What could not be read again fails now, not when the run is taken up.
        self.value(value.clone())?;
        Ok(Record {
            value,
            abandoned: false,
            ..self.record.clone()
        })
    }
}

impl<S: JournalStore> Journal<S> {
    /// A journal that keeps its records here.
    pub fn new(store: S) -> Self {
        Journal(store)
    }

    async fn answer(&self, entry: &Entry<'_>) -> Result<Option<Output>, JournalError> {
        let record = self.0.find(entry.call.run(), &entry.record.place).await?;
        goes_on(entry.birth)?;
        let Some(record) = record else {
            return Ok(None);
        };
        record.check(&entry.record)?;
        if record.abandoned {
            Ok(None)
        } else {
            entry.value(record.value).map(Some)
        }
    }

    async fn record(&self, entry: &Entry<'_>, output: &Output) -> Result<(), JournalError> {
        goes_on(entry.birth)?;
        let record = entry.recorded(output)?;
        self.keep_abandoned(entry).await?;
        Ok(self.0.keep(entry.call.run(), record).await?)
    }

    /// Keeps which calls had ended in vain before this one was made: they are on the way to it.
    async fn keep_abandoned(&self, entry: &Entry<'_>) -> Result<(), JournalError> {
        let abandoned = &entry.birth.scope.abandoned;
        let run = entry.call.run();
        if abandoned.is_empty() {
            return Ok(());
        }
        let _writing = abandoned.writing.lock().await;
        abandoned.forget(&entry.record.place);
        for record in abandoned.before(entry.birth.number) {
            // Nobody may have waited for what was found: it is never written over.
            match self.0.find(run, &record.place).await? {
                Some(found) => found.check(&record)?,
                None => self.0.keep(run, record.clone()).await?,
            }
            abandoned.forget(&record.place);
        }
        Ok(())
    }
}

/// Fails once a call of the run was refused: those after it may be at the places of others.
fn goes_on(birth: &Birth) -> Result<(), JournalError> {
    match birth.scope.run.astray.get() {
        Some(why) => Err(JournalError::Stopped(why.clone())),
        None => Ok(()),
    }
}

#[async_trait]
impl<S: JournalStore> Hook for Journal<S> {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        if call.is_transient() {
            return next.run().await;
        }
        let refused = |error| refused(call, error);
        let entry = Entry::of(call).map_err(refused)?;
        let under_way = UnderWay::begin(entry.birth, &entry.record);
        if let Some(recorded) = self.answer(&entry).await.map_err(refused)? {
            under_way.end();
            return Ok(recorded);
        }
        let output = next.run().await?;
        self.record(&entry, &output).await.map_err(refused)?;
        under_way.end();
        Ok(output)
    }
}

fn refused(call: &Call, error: JournalError) -> Cause {
    let error = Arc::new(error);
    if let Some(birth) = call.birth().filter(|_| error.is_another_way()) {
        let _ = birth.scope.run.astray.set(error.clone()); // the first one counts
    }
    error
}

/// A call under way; abandoned when this is dropped, unless it was told that it came to its end.
struct UnderWay<'a> {
    scope: &'a Scope,
    record: Option<&'a Record>,
}

impl<'a> UnderWay<'a> {
    /// Begins a call. `record` is kept of it when it is abandoned.
    fn begin(birth: &'a Birth, record: &'a Record) -> Self {
        Self {
            scope: &birth.scope,
            record: Some(record),
        }
    }

    fn end(mut self) {
        self.record = None;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            self.scope
                .abandoned
                .add(self.scope.next_number(), record.clone());
        }
    }
}

/// By run, by place.
type Records = HashMap<String, HashMap<String, Record>>;

/// Keeps a record. An abandoned call never takes the place of a value: its writer may have been
/// dropped, and the value come first.
fn put(records: &mut Records, run: String, record: Record) {
    let of_run = records.entry(run).or_default();
    if !record.abandoned || !of_run.contains_key(&record.place) {
        of_run.insert(record.place.clone(), record);
    }
}

fn found(records: &Records, run: &str, place: &str) -> Option<Record> {
    records.get(run)?.get(place).cloned()
}

/// Records in memory: for tests, and for runs that are tried again within one process. Clones share them.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Records>>);

#[async_trait]
impl JournalStore for MemoryStore {
    async fn find(&self, run: &str, place: &str) -> io::Result<Option<Record>> {
        Ok(self.0.with(|records| found(records, run, place)))
    }

    async fn keep(&self, run: &str, record: Record) -> io::Result<()> {
        self.0.with(|records| put(records, run.to_owned(), record));
        Ok(())
    }

    async fn forget(&self, run: &str) -> io::Result<()> {
        self.0.with(|records| records.remove(run));
        Ok(())
    }
}
