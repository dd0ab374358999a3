//! Tables of projections: which columns they have, and their rows as values by column name. The
//! meaning of a row is known only to the file in `projections/` that it belongs to; databases,
//! rebuild and cache pass rows on without reading them.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::columns::{name, parse, space, thread_id, unreadable};
use super::error::StoreError;
use thinkd_words::id::{Name, Seq, Space, ThreadId};
use thinkd_words::time::Timestamp;

/// The tables of both databases that are no projections with a file of their own.
pub(super) const KERNEL: [&str; 11] = [
    "log",
    "spaces",
    "events",
    "threads",
    "mailboxes",
    "roots",
    "blobs",
    "marks",
    "event_words",
    "indexed",
    "vectors",
];

/// The kind of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A number.
    Integer,
    /// A number, or nothing.
    IntegerOrNull,
}

/// A column, as both databases have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
}

/// A column of texts.
pub const fn text(name: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Text,
    }
}

/// A column of numbers; times are in microseconds since 1970.
pub const fn integer(name: &'static str) -> Column {
    Column {
        name,
        kind: Kind::Integer,
    }
}

/// A column of numbers that may be null.
pub const fn integer_or_null(name: &'static str) -> Column {
    Column {
        name,
        kind: Kind::IntegerOrNull,
    }
}

/// The search of a table's rows by words.
#[derive(Debug)]
pub struct Words {
    /// SQLite: the full-text table, with the column `number` as its row ids. Postgres: a `tsvector`
    /// in the column `words`.
    pub table: &'static str,
    /// The words under which a row is found.
    pub of: fn(&Row) -> BTreeSet<String>,
}

/// A table of rows that are derived from the log, by the name that it has in both databases. Tables are compared by name.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The columns of its key, in order. The first is `space`.
    pub key: &'static [Column],
    /// Its other columns.
    pub rest: &'static [Column],
    /// The search of its rows by words, if there is one.
    pub words: Option<Words>,
}

/// The key of a row: its table, and the cells of the key's columns in order.
pub type Key = (&'static Table, Vec<Cell>);

impl Table {
    /// All columns, those of the key first.
    pub fn columns(&self) -> impl Iterator<Item = &'static Column> + use<> {
        self.key.iter().chain(self.rest)
    }

    /// The key of a row.
    pub fn key_of(&'static self, row: &Row) -> Key {
        (self, row.cells(self.key))
    }

    /// Returns the key of the row that a change in the log is about: the change's key is the last
    /// column.
    pub fn changed(&'static self, space: &Space, thread: &ThreadId, key: &str) -> Key {
        self.key_of(&self.keyed(space, thread, key).clean())
    }

    /// The cells of that key, as a row.
    pub fn keyed(&self, space: &Space, thread: &ThreadId, key: &str) -> Row {
        let cell = |column: &Column| match column.name {
            "space" => space.into(),
            "thread" => thread.into(),
            _ => key.into(),
        };
        let cells = self.key.iter().map(|column| (column.name, cell(column)));
        cells.collect()
    }

    /// Returns true if nothing of a row is missing: one that only is altered has some columns.
    pub fn is_whole(&self, row: &Row) -> bool {
        self.columns().all(|column| row.has(column.name))
    }

    /// Returns the statement that writes the cells that there are of a row, if the row is there:
    /// the text, and its arguments.
    pub(super) fn alter_text(&self, row: &Row) -> (String, Vec<Cell>) {
        let is_there = |column: &&Column| row.has(column.name);
        let changed = Vec::from_iter(self.rest.iter().filter(is_there));
        let set = assigned(changed.iter().copied(), 1, ", ");
        let is = assigned(self.key.iter(), changed.len() + 1, " and ");
        let text = format!("update {} set {set} where {is}", self.name);
        (text, row.cells(changed.into_iter().chain(self.key)))
    }

    fn names(columns: impl Iterator<Item = &'static Column>) -> Vec<&'static str> {
        columns.map(|column| column.name).collect()
    }

    /// All columns, as a `select` names them.
    pub(super) fn list(&self, prefix: &str) -> String {
        let columns = self.columns();
        let names = columns.map(|column| format!("{prefix}{}", column.name));
        Vec::from_iter(names).join(", ")
    }

    /// `space, name`: the key's columns.
    pub(super) fn key_list(&self) -> String {
        Self::names(self.key.iter()).join(", ")
    }

    /// Writes a row, whether it is there or not: the arguments are its cells in the order of the columns.
    pub(super) fn put_text(&self) -> String {
        let rest = Self::names(self.rest.iter());
        let names = Self::names(self.columns());
        let values: Vec<String> = (1..=names.len()).map(|at| format!("${at}")).collect();
        let set = rest.iter().map(|it| format!("{it} = excluded.{it}"));
        let set = Vec::from_iter(set);
        format!(
            "insert into {} ({}) values ({}) on conflict ({}) {}",
            self.name,
            names.join(", "),
            values.join(", "),
            self.key_list(),
            or_update(&set.join(", "))
        )
    }

    /// Removes a row: the arguments are its key.
    pub(super) fn remove_text(&self) -> String {
        let is = assigned(self.key.iter(), 1, " and ");
        format!("delete from {} where {is}", self.name)
    }
}

/// The end of an insert where the row is there: it gets these values, of which there may be none.
pub(super) fn or_update(set: &str) -> String {
    match set {
        "" => "do nothing".to_owned(),
        set => format!("do update set {set}"),
    }
}

/// Returns `space = $1, name = $2`: columns and their arguments.
fn assigned<'a>(columns: impl Iterator<Item = &'a Column>, from: usize, between: &str) -> String {
    let each = columns.zip(from..);
    let each = each.map(|(column, at)| format!("{} = ${at}", column.name));
    Vec::from_iter(each).join(between)
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Table {}

impl PartialOrd for Table {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Table {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}

/// A value in a table. Texts are ordered bytewise, as in both databases.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A number.
    Integer(i64),
    /// A text.
    Text(String),
}

impl Cell {
    /// A log may have been written by a server that took NUL; the columns of a row cannot hold it everywhere.
    #[must_use]
    pub fn clean(self) -> Self {
        match self {
            Self::Text(text) if text.contains('\0') => Self::Text(text.replace('\0', "\u{fffd}")),
            cell => cell,
        }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Integer(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&Space> for Cell {
    fn from(space: &Space) -> Self {
        space.as_str().into()
    }
}

impl From<&ThreadId> for Cell {
    fn from(thread: &ThreadId) -> Self {
        thread.as_str().into()
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<Option<i64>> for Cell {
    fn from(number: Option<i64>) -> Self {
        number.map_or(Self::Null, Self::Integer)
    }
}

/// A time is stored in microseconds since 1970.
impl From<Timestamp> for Cell {
    fn from(time: Timestamp) -> Self {
        Self::Integer(time.micros())
    }
}

/// A row, or some columns of it, by column name. Reading a cell fails with `StoreError::Broken` where something else is stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
// Sorted by name, each once: a list of this size is found in as soon as a tree is, and made sooner.
pub struct Row(Vec<(&'static str, Cell)>);

impl<const N: usize> From<[(&'static str, Cell); N]> for Row {
    fn from(cells: [(&'static str, Cell); N]) -> Self {
        cells.into_iter().collect()
    }
}

/// Of a column that is there twice, the last one counts.
impl FromIterator<(&'static str, Cell)> for Row {
    fn from_iter<I: IntoIterator<Item = (&'static str, Cell)>>(cells: I) -> Self {
        let cells = cells.into_iter();
        let mut row = Self(Vec::with_capacity(cells.size_hint().1.unwrap_or_default()));
        cells.for_each(|(column, cell)| row.set(column, cell));
        row
    }
}

/// Readers fail with [`StoreError::Broken`] where the row does not have the column, or another kind of value in it.
impl Row {
    /// Returns the cell of the column; `Null` where the row does not have it.
    pub fn cell(&self, column: &str) -> &Cell {
        self.at(column).map_or(&Cell::Null, |at| &self.0[at].1)
    }

    /// The cells of these columns, in their order.
    pub(super) fn cells<'a>(&self, columns: impl IntoIterator<Item = &'a Column>) -> Vec<Cell> {
        let columns = columns.into_iter();
        columns.map(|it| self.cell(it.name).clone()).collect()
    }

    /// Returns true if a cell of the column is known.
    pub fn has(&self, column: &str) -> bool {
        self.at(column).is_ok()
    }

    /// Returns the place of the column, or the place where it would be.
    fn at(&self, column: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(name, _)| (*name).cmp(column))
    }

    /// The row with these cells, too.
    #[must_use]
    pub fn with<const N: usize>(mut self, cells: [(&'static str, Cell); N]) -> Self {
        self.alter(cells.into());
        self
    }

    /// Takes over the cells that another one has.
    pub fn alter(&mut self, other: Self) {
        for (column, cell) in other.0 {
            self.set(column, cell);
        }
    }

    fn set(&mut self, column: &'static str, cell: Cell) {
        match self.at(column) {
            Ok(at) => self.0[at].1 = cell,
            Err(at) => self.0.insert(at, (column, cell)),
        }
    }

    /// The row without NUL in its texts.
    #[must_use]
    pub fn clean(self) -> Self {
        let cells = self.0.into_iter();
        cells.map(|(column, cell)| (column, cell.clean())).collect()
    }

    /// A text.
    pub fn text(&self, column: &str) -> Result<&str, StoreError> {
        match self.cell(column) {
            Cell::Text(text) => Ok(text),
            other => Err(unreadable(format_args!("{other:?} in the column {column}"))),
        }
    }

    /// A text, which leaves the row.
    pub fn take_text(&mut self, column: &str) -> Result<String, StoreError> {
        if let Ok(at) = self.at(column)
            && let Cell::Text(text) = &mut self.0[at].1
        {
            return Ok(std::mem::take(text));
        }
        self.text(column).map(str::to_owned)
    }

    /// A number.
    pub fn integer(&self, column: &str) -> Result<i64, StoreError> {
        match self.cell(column) {
            Cell::Integer(number) => Ok(*number),
            other => Err(unreadable(format_args!("{other:?} in the column {column}"))),
        }
    }

    /// A number, or null.
    pub fn integer_or_null(&self, column: &str) -> Result<Option<Seq>, StoreError> {
        if *self.cell(column) == Cell::Null {
            Ok(None)
        } else {
            self.integer(column).map(Some)
        }
    }

    /// A time.
    pub fn time(&self, column: &str) -> Result<Timestamp, StoreError> {
        self.integer(column).map(Timestamp::from_micros)
    }

    /// A name.
    pub fn name(&self, column: &str) -> Result<Name, StoreError> {
        self.text(column).and_then(name)
    }

    /// A space.
    pub fn space(&self, column: &str) -> Result<Space, StoreError> {
        self.text(column).and_then(space)
    }

    /// A thread's id.
    pub fn thread(&self, column: &str) -> Result<ThreadId, StoreError> {
        self.text(column).and_then(thread_id)
    }

    /// A text that is JSON.
    pub fn json<T: serde::de::DeserializeOwned>(&self, column: &str) -> Result<T, StoreError> {
        self.text(column).and_then(parse)
    }
}
