//! Rows and events that this server knows already, or reads for many callers that ask at the same
//! time.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sqlx::postgres::PgConnection;

use super::{Postgres, read_rows};
use crate::error::StoreError;
use crate::query::Query;
use crate::sql;
use crate::table::{Row, Table};
use crate::thread_row::ThreadRow;
use thinkd_event::envelope::Event;
use thinkd_words::id::{Space, ThreadId};

impl Postgres {
    pub async fn known_thread(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<Option<ThreadRow>, StoreError> {
        let read = async |keys: Vec<(Space, ThreadId)>| {
            // Of many spaces at once, each by its key: nobody's search stands in the way.
            let mut reader = self.reader(None).await?;
            let rows = read_threads(reader.connection(), &keys).await;
            match &rows {
                Err(StoreError::Unavailable(_)) => reader.spoiled(),
                _ => reader.done(),
            }
            let mut found: HashMap<(String, String), Result<ThreadRow, StoreError>> =
                HashMap::new();
            for row in rows? {
                let key = (row.space.clone(), row.thread.clone());
                let row = sql::placed_thread(row);
                row.iter()
                    .for_each(|(key, row)| self.cache.met_thread(key, row));
                found.insert(key, row.map(|(_, row)| row));
            }
            let key = |(space, thread): &(Space, ThreadId)| (space.to_string(), thread.to_string());
            let row = |it| found.get(&key(it)).cloned().transpose();
            Ok(keys.iter().map(row).collect())
        };
        self.threads
            .load((space.clone(), thread.clone()), read)
            .await
    }

    /// Returns the events of a query from the cache. As long as the thread ends where it did, the
    /// events that this server has written are all there are. Of the events before that end, they
    /// are all there will ever be.
    pub async fn known_events(
        &self,
        space: &Space,
        query: &Query,
    ) -> Result<Option<Vec<Event>>, StoreError> {
        let (Some(thread), Some((events, head))) = (&query.thread, self.cache.events(space, query))
        else {
            return Ok(None);
        };
        if query.before.is_some_and(|before| before <= head + 1) {
            return Ok(Some(events));
        }
        let row = self.known_thread(space, thread).await?;
        Ok(row.filter(|row| row.head == head).map(|_| events))
    }

    pub async fn known_rows(
        &self,
        table: &'static Table,
        space: &Space,
    ) -> Result<Arc<[Row]>, StoreError> {
        let read = async |keys: Vec<(&'static Table, Space)>| {
            let mut found: HashMap<(&str, String), Vec<Row>> = HashMap::new();
            let tables: BTreeSet<&'static Table> = keys.iter().map(|(table, _)| *table).collect();
            for table in tables {
                let its = keys.iter().filter(|(of, _)| *of == table);
                let spaces: BTreeSet<&str> = its.map(|(_, space)| space.as_str()).collect();
                let columns = table.list("");
                let order = table.key_list();
                let text = format!(
                    "select {columns} from {} where space = any($1) order by {order}",
                    table.name
                );
                let query = sqlx::query(sqlx::AssertSqlSafe(text)).bind(Vec::from_iter(spaces));
                let rows = sql::read!(self, None, query, fetch_all)?;
                for row in read_rows(&rows, &table.columns().collect::<Vec<_>>())? {
                    let key = (table.name, row.text("space")?.to_owned());
                    found.entry(key).or_default().push(row);
                }
            }
            let rows = |(table, space): &(&'static Table, Space)| {
                let rows = found.get(&(table.name, space.to_string())).cloned();
                Ok(rows.unwrap_or_default().into())
            };
            Ok(keys.iter().map(rows).collect())
        };
        self.rows.load((table, space.clone()), read).await
    }
}

/// Returns the rows of those threads that have one.
pub async fn read_threads(
    connection: &mut PgConnection,
    ids: &[(Space, ThreadId)],
) -> Result<Vec<sql::ThreadColumns>, StoreError> {
    let (spaces, threads) = keys(ids);
    let text = concat!(
        "select t.space, ",
        sql::thread_columns!(),
        " from unnest($1::text[], $2::text[]) k (space_key, thread_key)",
        " join threads t on t.space = k.space_key and t.thread = k.thread_key"
    );
    let query = sqlx::query_as(text).bind(spaces).bind(threads);
    Ok(query.fetch_all(connection).await?)
}

/// The keys of threads as two columns.
pub fn keys(ids: &[(Space, ThreadId)]) -> (Vec<&str>, Vec<&str>) {
    let keys = ids.iter();
    keys.map(|(space, thread)| (space.as_str(), thread.as_str()))
        .unzip()
}
