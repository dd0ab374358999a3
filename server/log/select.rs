//! A question to the table of a projection, as a value: conditions on columns, an order, a limit. One SQL text is made of it for
//! both databases; a store in memory answers it by looking at its rows.

use std::collections::BTreeSet;

use super::table::{Cell, Column, Row, Table};
use thinkd_words::id::Space;

/// The comparison of a cell to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Is {
    /// The same.
    Equal,
    /// The same or greater.
    AtLeast,
    /// The same or less.
    AtMost,
    /// Greater.
    After,
    /// One of several.
    OneOf,
}

impl Is {
    const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::After => ">",
            Self::OneOf => "in",
        }
    }

    fn holds(self, cell: &Cell, value: &Cell) -> bool {
        // As in SQL: what is compared with nothing is not so.
        if *cell == Cell::Null || *value == Cell::Null {
            return false;
        }
        match self {
            Self::Equal | Self::OneOf => cell == value,
            Self::AtLeast => cell >= value,
            Self::AtMost => cell <= value,
            Self::After => cell > value,
        }
    }
}

/// See the module. All conditions are to be met.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Select {
    table: &'static Table,
    space: Option<Space>,
    /// The columns that are read; none: all.
    read: &'static [&'static str],
    /// True if every combination of these is wanted once.
    once: bool,
    conditions: Vec<(&'static str, Is, Vec<Cell>)>,
    order: &'static [&'static str],
    by_key: bool,
    limit: Option<u32>,
    /// Rows that are passed over.
    skip: u32,
}

impl Select {
    /// The rows of a space.
    pub fn of(table: &'static Table, space: &Space) -> Self {
        let mut all = Self::of_all_spaces(table);
        all.space = Some(space.clone());
        all.equal("space", space)
    }

    /// Returns true if it asks for rows of this table in this space.
    pub fn is_of(&self, table: &Table, space: &Space) -> bool {
        self.table == table && self.space.as_ref() == Some(space)
    }

    /// All rows of a space, by key.
    pub fn all(table: &'static Table, space: &Space) -> Self {
        Self {
            by_key: true,
            ..Self::of(table, space)
        }
    }

    /// The rows of all spaces together.
    pub fn of_all_spaces(table: &'static Table) -> Self {
        Self {
            table,
            space: None,
            read: &[],
            once: false,
            conditions: Vec::new(),
            order: &[],
            by_key: false,
            limit: None,
            skip: 0,
        }
    }

    /// Keeps the rows where a column is this.
    pub fn equal(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.with(column, Is::Equal, vec![value.into()])
    }

    /// Keeps the rows where a column is this or more.
    pub fn at_least(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.with(column, Is::AtLeast, vec![value.into()])
    }

    /// Keeps the rows where a column is this or less.
    pub fn at_most(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.with(column, Is::AtMost, vec![value.into()])
    }

    /// Keeps the rows where a column is more than this.
    pub fn after(self, column: &'static str, value: impl Into<Cell>) -> Self {
        self.with(column, Is::After, vec![value.into()])
    }

    /// Keeps the rows where a column is one of these. The list is filled up with its last to a
    /// power of two: few texts, as below.
    pub fn one_of(self, column: &'static str, values: impl IntoIterator<Item = Cell>) -> Self {
        let mut values: Vec<Cell> = values.into_iter().collect();
        let last = values.last().cloned().unwrap_or(Cell::Null);
        values.resize(values.len().next_power_of_two(), last);
        self.with(column, Is::OneOf, values)
    }

    /// Adds a condition. A value that cannot be stored is asked for as it was stored instead.
    fn with(mut self, column: &'static str, is: Is, values: Vec<Cell>) -> Self {
        let values = values.into_iter().map(Cell::clean).collect();
        self.conditions.push((column, is, values));
        self
    }

    /// Sorted by these columns.
    pub fn order_by(self, order: &'static [&'static str]) -> Self {
        Self { order, ..self }
    }

    /// Only these columns, and every combination once.
    pub fn distinct(self, read: &'static [&'static str]) -> Self {
        Self {
            once: true,
            ..self.only(read)
        }
    }

    /// Only these columns of every row: a database takes as long to hand over a column as a short text.
    pub fn only(self, read: &'static [&'static str]) -> Self {
        Self {
            read,
            once: false,
            ..self
        }
    }

    /// At most so many rows.
    pub fn first(self, limit: u32) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// The one behind so many rows: whether there are more than that is one row to read, however many there are.
    pub fn behind(self, skip: u32) -> Self {
        Self {
            skip,
            ..self.first(1)
        }
    }

    /// The table.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// Returns the space of the rows that are asked for; none: all of them.
    pub fn space(&self) -> Option<&Space> {
        self.space.as_ref()
    }

    /// The columns that are read, in order.
    pub fn columns(&self) -> Vec<&'static Column> {
        if self.read.is_empty() {
            return self.table.columns().collect();
        }
        let named = |name: &&str| self.table.columns().find(|column| column.name == *name);
        self.read.iter().filter_map(named).collect()
    }

    /// Returns true if the columns that are read have the key of each row. Every row is there once
    /// anyway then, and a database that does not look for that can read in the order of an index.
    fn has_key(&self) -> bool {
        let is_known = |column: &Column| column.name == "space" && self.space.is_some();
        let mut key = self.table.key.iter();
        key.all(|column| is_known(column) || self.read.contains(&column.name))
    }

    /// Returns the question in SQL. All questions have few texts, so that a database prepares few
    /// statements.
    pub fn sql(&self) -> String {
        let names: Vec<&str> = self.columns().iter().map(|column| column.name).collect();
        let is_distinct = self.once && !self.has_key();
        let distinct = if is_distinct { "distinct " } else { "" };
        let names = names.join(", ");
        let table = self.table.name;
        let mut text = format!("select {distinct}{names} from {table}");
        let mut next = 1;
        for (number, (column, is, values)) in self.conditions.iter().enumerate() {
            let word = if number == 0 { "where" } else { "and" };
            let places = (next..next + values.len()).map(|at| format!("${at}"));
            let mut places = Vec::from_iter(places).join(", ");
            if *is == Is::OneOf {
                places = format!("({places})");
            }
            text.push_str(&format!(" {word} {column} {} {places}", is.sign()));
            next += values.len();
        }
        if self.by_key {
            text.push_str(&format!(" order by {}", self.table.key_list()));
        } else if !self.order.is_empty() {
            text.push_str(&format!(" order by {}", self.order.join(", ")));
        }
        if self.limit.is_some() {
            // `+ 0`: SQLite prepares a statement whose limit is a bare parameter anew every time.
            text.push_str(&format!(" limit ${next} + 0"));
            if self.skip > 0 {
                text.push_str(&format!(" offset ${} + 0", next + 1));
            }
        }
        text
    }

    /// Its arguments, in order.
    pub fn arguments(&self) -> Vec<Cell> {
        let limit = self.limit.map(|limit| Cell::Integer(limit.into()));
        let skip = (self.skip > 0).then(|| Cell::Integer(self.skip.into()));
        let conditions = self.conditions.iter();
        let values = conditions.flat_map(|(_, _, values)| values.iter().cloned());
        values.chain(limit).chain(skip).collect()
    }

    /// Returns its answer among all rows of its table, which are sorted by their key.
    pub fn among<'a>(&self, rows: impl Iterator<Item = &'a Row>) -> Vec<Row> {
        let meets = |row: &&Row| {
            let holds = |(column, is, values): &(&str, Is, Vec<Cell>)| {
                let cell = row.cell(column);
                values.iter().any(|value| is.holds(cell, value))
            };
            self.conditions.iter().all(holds)
        };
        let mut found: Vec<&Row> = rows.filter(meets).collect();
        found.sort_by_cached_key(|row| {
            let cells = self.order.iter().map(|column| row.cell(column).clone());
            Vec::from_iter(cells)
        });
        let columns = self.columns();
        let read = |row: &Row| {
            let cells = columns
                .iter()
                .map(|it| (it.name, row.cell(it.name).clone()));
            cells.collect::<Row>()
        };
        let mut seen = BTreeSet::new();
        let is_new = |row: &Row| !self.once || seen.insert(row.clone());
        let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let found = found.into_iter().map(read).filter(is_new);
        found.skip(self.skip as usize).take(limit).collect()
    }
}
