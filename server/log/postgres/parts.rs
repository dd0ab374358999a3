//! A part of a commit's statement writes the rows of one table to which the same is done; their columns go as arrays. The statement around
//! the parts is in `bulk.rs`.

use std::collections::BTreeMap;

use sqlx::Arguments as _;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;

use super::vector;
use crate::table::{Cell, Column, Key, Kind, Row, Table, or_update};

/// A change of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Deed {
    Put,
    /// Some columns of rows that are there.
    Alter,
    Remove,
}

/// Rows of a table to which the same is done.
pub(super) struct Part {
    table: &'static Table,
    deed: Deed,
    columns: Vec<&'static Column>,
    /// Their cells in the order of the columns.
    rows: Vec<Vec<Cell>>,
    /// The words under which each is found, where a table that is searched by words is put into.
    words: Option<Vec<String>>,
}

impl Part {
    /// All of these rows, in as few parts as there can be. The same rows make the same parts.
    pub fn of<'a>(rows: impl IntoIterator<Item = (&'a Key, &'a Option<Row>)>) -> Vec<Self> {
        let mut parts: BTreeMap<(&'static Table, Deed, Vec<&'static str>), Self> = BTreeMap::new();
        for ((table, key), row) in rows {
            let (deed, columns): (_, Vec<_>) = match row {
                None => (Deed::Remove, table.key.iter().collect()),
                Some(row) if table.is_whole(row) => (Deed::Put, table.columns().collect()),
                Some(row) => {
                    let known = table.columns().filter(|column| row.has(column.name));
                    (Deed::Alter, known.collect())
                }
            };
            let names = columns.iter().map(|column| column.name).collect();
            let part = parts.entry((table, deed, names)).or_insert_with(|| {
                let words = (deed == Deed::Put && table.words.is_some()).then(Vec::new);
                Self {
                    table,
                    deed,
                    columns,
                    rows: Vec::new(),
                    words,
                }
            });
            let Some(row) = row else {
                part.rows.push(key.clone());
                continue;
            };
            part.rows.push(row.cells(part.columns.iter().copied()));
            if let (Some(words), Some(of)) = (&mut part.words, &table.words) {
                words.push(vector(&(of.of)(row)));
            }
        }
        parts.into_values().collect()
    }

    /// Returns the text of a statement with its first argument numbered `first`. `only_if`: a
    /// `where` on which all of it depends, or nothing.
    pub fn text(&self, first: usize, only_if: &str) -> String {
        let Self { table, columns, .. } = self;
        let kinds = columns.iter().map(|column| match column.kind {
            Kind::Text => "text",
            Kind::Integer | Kind::IntegerOrNull => "bigint",
        });
        let kinds = kinds.chain(self.words.as_ref().map(|_| "text"));
        let arrays = kinds.zip(first..);
        let arrays = Vec::from_iter(arrays.map(|(kind, at)| format!("${at}::{kind}[]")));
        let mut names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let mut values: Vec<String> = names.iter().map(|name| format!("v.{name}")).collect();
        if self.words.is_some() {
            names.push("words");
            values.push("v.words::tsvector".to_owned());
        }
        let arrays = arrays.join(", ");
        let all = names.join(", ");
        let rows = format!("(select * from unnest({arrays}){only_if}) v ({all})");
        let name = table.name;
        let key = table.key.iter().map(|column| column.name);
        let is_key = |name: &str| table.key.iter().any(|column| column.name == name);
        let rest = names.iter().filter(|name| !is_key(name));
        let is_its = || {
            let is_its = key.clone().map(|name| format!("t.{name} = v.{name}"));
            Vec::from_iter(is_its).join(" and ")
        };
        match self.deed {
            Deed::Put => {
                let set = Vec::from_iter(rest.map(|name| format!("{name} = excluded.{name}")));
                let values = values.join(", ");
                let key = table.key_list();
                let set = or_update(&set.join(", "));
                format!(
                    "insert into {name} ({all}) select {values} from {rows} on conflict ({key}) {set}"
                )
            }
            Deed::Alter => {
                let set: Vec<String> = rest.map(|name| format!("{name} = v.{name}")).collect();
                let set = set.join(", ");
                let is_its = is_its();
                format!("update {name} t set {set} from {rows} where {is_its}")
            }
            Deed::Remove => format!("delete from {name} t using {rows} where {}", is_its()),
        }
    }

    /// Adds its arguments. Fails where a column has a cell of another kind.
    pub fn add(&self, arguments: &mut PgArguments) -> Result<(), BoxDynError> {
        for (at, column) in self.columns.iter().enumerate() {
            let cells = self.rows.iter().map(|row| &row[at]);
            if column.kind == Kind::Text {
                arguments.add(cells.map(text).collect::<Result<Vec<_>, _>>()?)?;
            } else {
                arguments.add(cells.map(number).collect::<Result<Vec<_>, _>>()?)?;
            }
        }
        self.words
            .as_ref()
            .map_or(Ok(()), |words| arguments.add(words))
    }
}

fn text(cell: &Cell) -> Result<&str, String> {
    match cell {
        Cell::Text(text) => Ok(text),
        other => Err(format!("{other:?} for a column of texts")),
    }
}

fn number(cell: &Cell) -> Result<Option<i64>, String> {
    match cell {
        Cell::Integer(number) => Ok(Some(*number)),
        Cell::Null => Ok(None),
        Cell::Text(text) => Err(format!("{text:?} for a column of numbers")),
    }
}
