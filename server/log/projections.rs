//! Projections with a table of their own, a file each: the meaning of its rows, the changes of
//! events to them, and the questions to them. Appends, rebuild, restore, the look for missing
//! tables and the cache go over the list here, and name none of them. A new one is a file, which
//! names its migrations, a line here, and a migration for each database. Those of features are
//! added once, when the program starts. The change of an event to its thread's row is in
//! `log/thread_fold.rs`.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::columns::readable;
use super::error::StoreError;
use super::kernel::Store;
use super::migrations::{self, Migration};
use super::select::Select;
use super::table::{self, Cell, Row, Table};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set;
use thinkd_words::id::Space;

pub mod contacts;
mod due;
pub mod entries;
pub mod forks;
pub mod frameworks;
pub mod merges;
pub mod pins;
pub mod requests;
pub mod schedules;
pub mod settings;
pub mod standings;
pub mod statements;
pub mod submodules;
pub mod tasks;
pub mod timers;

/// The projections of the kernel.
static KERNEL: [&Projection; 14] = [
    &contacts::PROJECTION,
    &entries::PROJECTION,
    &forks::PROJECTION,
    &frameworks::PROJECTION,
    &merges::PROJECTION,
    &pins::PROJECTION,
    &requests::PROJECTION,
    &schedules::PROJECTION,
    &settings::PROJECTION,
    &standings::PROJECTION,
    &statements::PROJECTION,
    &submodules::PROJECTION,
    &tasks::PROJECTION,
    &timers::PROJECTION,
];

/// Every one of them, once they are asked for: the fold of a log is one for the whole program.
static ALL: OnceLock<Vec<&'static Projection>> = OnceLock::new();

/// Returns every one of them.
pub fn all() -> impl Iterator<Item = &'static Projection> {
    ALL.get_or_init(|| KERNEL.to_vec()).iter().copied()
}

/// Tables beside those of projections that one of the databases has.
const OTHERS: [&str; 6] = [
    "leases",
    "servers",
    "uploads",
    "blob_parts",
    "entry_words",
    "_sqlx_migrations",
];

/// Adds those of features, before a store is opened. An error where two have the same table or the
/// same number of a migration, where a number is the kernel's, or where a store is open already.
pub fn add(more: &[&'static Projection]) -> Result<(), String> {
    let mut taken: BTreeSet<&str> = table::KERNEL.into_iter().chain(OTHERS).collect();
    taken.extend(KERNEL.iter().map(|projection| projection.table.name));
    let mut numbers: BTreeSet<i64> = BTreeSet::new();
    for Projection {
        table, migrations, ..
    } in more
    {
        let words = table.words.as_ref().map(|words| words.table);
        for name in std::iter::once(table.name).chain(words) {
            if !taken.insert(name) {
                return Err(format!("the name of the table {name:?} is taken"));
            }
        }
        if table.key.first().is_none_or(|first| first.name != "space") {
            let name = table.name;
            return Err(format!("the key of the table {name:?} begins with `space`"));
        }
        for Migration { file, .. } in *migrations {
            let number = Migration::number_of(file);
            if number < migrations::OF_FEATURES || !numbers.insert(number) {
                return Err(format!(
                    "the migration {file:?} needs a number of its own from {} on",
                    migrations::OF_FEATURES
                ));
            }
        }
    }
    let added = [&KERNEL, more].concat();
    let there = ALL.get_or_init(|| added.clone());
    let names = |all: &[&Projection]| Vec::from_iter(all.iter().map(|it| it.table.name));
    match names(there) == names(&added) {
        true => Ok(()),
        false => Err("tables are added before a store is opened".to_owned()),
    }
}

/// A table, and how events change it.
#[derive(Debug)]
pub struct Projection {
    /// The table.
    pub table: &'static Table,
    /// The kind of change (`set:<kind>`) that sets its rows: where one cannot be read, the row stays as it is. None: other facts set them.
    pub kind: Option<set::Kind>,
    /// The migrations that make its table, and change it; none where the kernel's migrations did.
    pub migrations: &'static [Migration],
    /// The change of an event to its rows. Pure; none for nearly all events.
    pub fold: fn(&Space, &Event, &Fact<'_>) -> Option<Change>,
}

/// The change of an event to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The row is this now, there before or not.
    Put(Row),
    /// Of the row with this key, if it is there, these columns are this now. Not for tables that are searched by words.
    Alter(Row),
    /// The row with this key is gone, if it was there.
    Remove(Row),
    /// Something that this build cannot read: the row stays as it is.
    Unreadable,
}

impl Change {
    /// The row with this key is this now, or gone.
    fn set<const N: usize>(key: Row, rest: Option<[(&'static str, Cell); N]>) -> Self {
        match rest {
            Some(rest) => Self::Put(key.with(rest)),
            None => Self::Remove(key),
        }
    }

    /// The row, or else that the one with this key is gone.
    pub fn to(row: Option<Row>, key: Row) -> Self {
        row.map_or(Self::Remove(key), Self::Put)
    }
}

/// Returns the key and the change of a fact that sets something.
fn set_of<'f, 'e>(fact: &'f Fact<'e>) -> Option<(&'e str, &'f set::Change<'e>)> {
    match fact {
        Fact::Set(set) => Some((set.key, &set.change)),
        _ => None,
    }
}

/// A reader of rows.
type Read<T> = fn(&Row) -> Result<T, StoreError>;

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// Returns all rows; one that cannot be read is an error.
    async fn read<T>(&self, select: Select, read: Read<T>) -> Result<Vec<T>, StoreError> {
        self.select(select).await?.iter().map(read).collect()
    }

    /// Returns the first row.
    async fn read_first<T>(&self, select: Select, read: Read<T>) -> Result<Option<T>, StoreError> {
        self.select(select).await?.first().map(read).transpose()
    }

    /// Returns the rows that can be read.
    async fn read_some<T>(&self, select: Select, read: Read<T>) -> Result<Vec<T>, StoreError> {
        Ok(readable(self.select(select).await?.iter().map(read)))
    }
}

/// Returns the projection with the rows that a kind of change sets.
pub fn of_kind(kind: &str) -> Option<&'static Projection> {
    all().find(|projection| projection.kind.is_some_and(|known| known.as_str() == kind))
}
