//! The servers on a database: a row each. It is written by the statement that a server looks for waiting threads with, and only where something
//! has changed or too much time has passed.

use sqlx::{AssertSqlSafe, Row as _};

use super::{Postgres, micros, sql};
use crate::error::StoreError;
use crate::presence::{Doing, Server};
use thinkd_words::id::Space;
use thinkd_words::time::Timestamp;

/// Says that this server is there. A row that is there and says the same is not touched: nothing is
/// written.
const HERE: &str = "here as (insert into servers (id, name, version, state, threads, leases, lost_us, since) \
     select $1, $2, $3, $4, $5, $6, $7, 'epoch'::timestamptz + $9 * interval '1 microsecond' \
     where not exists (select 1 from servers s where s.id = $1 and s.state = $4 \
     and (s.threads = 0) = ($5 = 0) and s.seen > clock_timestamp() - $8 * interval '1 microsecond') \
     on conflict (id) do update set seen = clock_timestamp(), state = excluded.state, threads = excluded.threads, \
     leases = excluded.leases, lost_us = excluded.lost_us), \
     forgotten as (delete from servers where seen < clock_timestamp() - interval '1 day')";

impl Postgres {
    /// The spaces that have threads with something in their mailbox; and this server is there.
    pub(super) async fn spaces_waiting_here(&self) -> Result<Vec<Space>, StoreError> {
        let said = self.here.says();
        let text = format!("with recursive {HERE}, {}", sql::SPACES_WAITING);
        let query = sqlx::query_scalar(AssertSqlSafe(text))
            .bind(&self.here.id)
            .bind(&self.here.name)
            .bind(env!("CARGO_PKG_VERSION"))
            .bind(said.doing.as_str())
            .bind(sql::stored(said.threads))
            .bind(sql::stored(said.leases))
            .bind(micros(said.lost()))
            .bind(micros(said.again()))
            .bind(self.here.since.micros());
        let text: Vec<String> = sql::read!(self, None, query, fetch_all)?;
        Ok(sql::readable(text.into_iter().map(sql::space)))
    }

    /// The other servers by when they started, and this one as it is now.
    pub(super) async fn known_servers(&self) -> Result<Vec<Server>, StoreError> {
        let text = "select id, name, version, state, threads, leases, (extract(epoch from since) * 1000000)::bigint as since, \
             (extract(epoch from seen) * 1000000)::bigint as seen, \
             seen < clock_timestamp() - lost_us * interval '1 microsecond' as lost \
             from servers where id <> $1 order by since, id limit 1000";
        let rows = sql::read!(self, None, sqlx::query(text).bind(&self.here.id), fetch_all)?;
        let server = |row: &sqlx::postgres::PgRow| -> Result<Server, sqlx::Error> {
            let count = |name: &str| {
                row.try_get::<i64, _>(name)
                    .map(|count| u64::try_from(count).unwrap_or(0))
            };
            let lost: bool = row.try_get("lost")?;
            Ok(Server {
                id: row.try_get("id")?,
                name: row.try_get("name")?,
                version: row.try_get("version")?,
                since: Timestamp::from_micros(row.try_get("since")?),
                seen: Timestamp::from_micros(row.try_get("seen")?),
                state: if lost {
                    "lost".to_owned()
                } else {
                    row.try_get("state")?
                },
                threads: count("threads")?,
                leases: count("leases")?,
                is_this: false,
            })
        };
        let others = rows.iter().map(server).collect::<Result<Vec<_>, _>>()?;
        Ok(others.into_iter().chain([self.here.server()]).collect())
    }

    /// This server is not there any more, if it says so.
    pub(super) async fn leave(&self) -> Result<(), StoreError> {
        if self.here.says().doing != Doing::Gone {
            return Ok(());
        }
        let query = sqlx::query("delete from servers where id = $1").bind(&self.here.id);
        sql::read!(self, None, query, execute).map(|_| ())
    }
}
