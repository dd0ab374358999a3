//! The values of the kernel's tables, column by column, the same for both databases.

use sqlx::encode::Encode;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgHasArrayType;
use sqlx::{Arguments, Postgres, Sqlite, Type};

use crate::change::Spent;
use crate::columns::stored;
use crate::table::Cell;
use crate::thread_row::ThreadRow;
use crate::writes::EventRow;
use thinkd_words::id::{Seq, Space, ThreadId};

/// A value that both databases take.
pub(crate) trait Value<'a>:
    Encode<'a, Sqlite> + Type<Sqlite> + Encode<'a, Postgres> + Type<Postgres> + PgHasArrayType
{
}

impl<'a, V> Value<'a> for V where
    V: Encode<'a, Sqlite> + Type<Sqlite> + Encode<'a, Postgres> + Type<Postgres> + PgHasArrayType
{
}

/// Rows on their way into a database, column by column.
pub(crate) trait Values<'a, T: 'a> {
    /// Adds the next column: the value of each row.
    fn add<V: Value<'a>>(&mut self, of: impl Fn(&'a T) -> V) -> Result<(), BoxDynError>;
}

/// Adds a cell to the arguments of a statement.
pub(crate) fn add_cell<'q, A: Arguments>(arguments: &mut A, cell: Cell) -> Result<(), BoxDynError>
where
    Option<i64>: Encode<'q, A::Database> + Type<A::Database>,
    i64: Encode<'q, A::Database> + Type<A::Database>,
    String: Encode<'q, A::Database> + Type<A::Database>,
{
    match cell {
        Cell::Null => arguments.add(None::<i64>),
        Cell::Integer(number) => arguments.add(number),
        Cell::Text(text) => arguments.add(text),
    }
}

pub(crate) fn events<'a, 'e: 'a>(
    rows: &mut impl Values<'a, EventRow<'e>>,
) -> Result<(), BoxDynError> {
    rows.add(|row| row.space.as_str())?;
    rows.add(|row| row.event.seq)?;
    rows.add(|row| row.event.event_id)?;
    rows.add(|row| row.event.ts.micros())?;
    rows.add(|row| row.event.thread.as_str())?;
    rows.add(|row| row.event.source.as_str())?;
    rows.add(|row| row.event.modality.as_str())?;
    rows.add(|row| row.payload)?;
    rows.add(|row| row.tags.as_str())?;
    rows.add(|row| row.event.visibility() as i16)
}

pub(crate) fn mailboxes<'a, 'm: 'a>(
    rows: &mut impl Values<'a, (&'m Space, &'m ThreadId, Seq)>,
) -> Result<(), BoxDynError> {
    rows.add(|(space, ..)| space.as_str())?;
    rows.add(|(_, thread, _)| thread.as_str())?;
    rows.add(|(.., seq)| *seq)
}

pub(crate) fn threads<'a, 't: 'a>(
    rows: &mut impl Values<'a, (&'t Space, &'t ThreadRow)>,
) -> Result<(), BoxDynError> {
    rows.add(|(space, _)| space.as_str())?;
    rows.add(|(_, row)| row.thread.as_str())?;
    rows.add(|(_, row)| row.settings.to_string())?;
    rows.add(|(_, row)| row.status.as_str())?;
    rows.add(|(_, row)| row.head)?;
    rows.add(|(_, row)| row.woken)?;
    rows.add(|(_, row)| row.handled)?;
    rows.add(|(_, row)| stored(row.turn))?;
    rows.add(|(_, row)| stored(row.visible))?;
    rows.add(|(_, row)| stored(row.heard))?;
    rows.add(|(_, row)| i64::from(row.self_messages))?;
    rows.add(|(_, row)| stored(row.model_calls))?;
    rows.add(|(_, row)| stored(row.tokens))?;
    rows.add(|(_, row)| row.state.to_column())?;
    rows.add(|(_, row)| row.created.micros())?;
    rows.add(|(_, row)| row.updated.micros())?;
    rows.add(|(_, row)| row.awaits().map(ThreadId::as_str))
}

pub(crate) fn roots<'a, 'r: 'a>(
    rows: &mut impl Values<'a, (&'r Space, Seq, Spent)>,
) -> Result<(), BoxDynError> {
    rows.add(|(space, ..)| space.as_str())?;
    rows.add(|(_, root, _)| *root)?;
    rows.add(|(.., spent)| stored(spent.calls))?;
    rows.add(|(.., spent)| stored(spent.tokens))?;
    rows.add(|(.., spent)| stored(spent.threads))
}
