//! An index of vectors by pgvector: a table for each space and maker, with a graph of neighbours (HNSW). A table's name is made of hashes, so that it can
//! stand in a text of SQL. What is found is what the rows of statements say is held, whatever the index has; all of it can be made again.

use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use super::{Postgres, sql};
use crate::log::error::StoreError;
use crate::log::kernel::VectorIndex;
use crate::log::vectors::{Entry, Hash, IndexOf, Maker, Search};

/// For connections that search: how many neighbours are looked at for each search, and that it goes on where rows of statements leave too few.
/// To a Postgres without pgvector these are names that mean nothing.
pub(super) const SETTINGS: [(&str, &str); 2] = [
    ("hnsw.ef_search", "400"),
    ("hnsw.iterative_scan", "relaxed_order"),
];
/// The oldest version that goes on searching.
const OLDEST: (u32, u32) = (0, 8);
/// Most numbers of a vector that it indexes.
const DIMENSIONS_MAX: u32 = 4000;
/// Entries that are looked through at once for what is not held any more.
const TIDIED: i64 = 2000;
/// Whoever makes tables waits for who else does ("near").
const LOCK: i64 = 0x6e65_6172;

/// What helps a role that may not make the extension.
const LET_IT: &str = "let a superuser run `create extension vector` in this database once";
/// What helps where there is none to make.
const INSTALL_IT: &str = "install it beside Postgres (Debian: postgresql-VERSION-pgvector; the image pgvector/pgvector has it)";
/// The version that is there, the one that can be made, and whether this role may make it.
const LOOK: &str = "select (select extversion from pg_extension where extname = 'vector'), \
     (select default_version::text from pg_available_extensions where name = 'vector'), \
     (select rolsuper from pg_roles where rolname = current_user) or \
     (has_database_privilege(current_database(), 'create') and exists (select 1 from pg_available_extensions a \
     join pg_available_extension_versions v on v.name = a.name and v.version = a.default_version and v.trusted where a.name = 'vector'))";

#[async_trait]
impl VectorIndex for Postgres {
    async fn open_index(&self, of: &IndexOf) -> Result<Result<String, String>, StoreError> {
        let dimensions = of.maker.dimensions;
        if dimensions > DIMENSIONS_MAX {
            return Ok(Err(format!(
                "pgvector indexes vectors of {DIMENSIONS_MAX} numbers at most, and these have {dimensions}"
            )));
        }
        let version = match self.pgvector().await? {
            Ok(version) => version,
            Err(why) => return Ok(Err(why)),
        };
        let table = of.table();
        let text = format!(
            "select pg_advisory_xact_lock({LOCK}); create table if not exists {table} \
             (statement text primary key, sha256 bytea not null, parts halfvec({dimensions}) not null); \
             create index if not exists {table}_hnsw on {table} using hnsw (parts halfvec_cosine_ops)"
        );
        sql::read!(self, None, sqlx::raw_sql(AssertSqlSafe(text)), execute)?;
        Ok(Ok(format!("pgvector {version}")))
    }

    async fn look_for_index(&self) -> Result<Result<String, String>, StoreError> {
        let (installed, at_hand, may): (Option<String>, Option<String>, bool) =
            sql::read!(self, None, sqlx::query_as(LOOK), fetch_one)?;
        Ok(match (installed, at_hand) {
            (Some(version), _) => new_enough(version).map(|version| format!("pgvector {version}")),
            (None, Some(version)) if may => new_enough(version)
                .map(|version| format!("pgvector {version}, which is made when it is needed")),
            (None, Some(_)) => Err(format!("this role may not make pgvector; {LET_IT}")),
            (None, None) => Err(format!("this Postgres has no pgvector; {INSTALL_IT}")),
        })
    }

    async fn indexed(
        &self,
        of: &IndexOf,
        statements: &[(String, Hash)],
    ) -> Result<Vec<String>, StoreError> {
        let (statements, hashes): (Vec<&str>, Vec<&[u8]>) = statements
            .iter()
            .map(|(id, hash)| (id.as_str(), hash.as_slice()))
            .unzip();
        let text = format!(
            "select n.statement from unnest($1::text[], $2::bytea[]) a (statement, sha256) \
             join {} n on n.statement = a.statement and n.sha256 = a.sha256",
            of.table()
        );
        let query = sqlx::query_scalar(AssertSqlSafe(text))
            .bind(statements)
            .bind(hashes);
        sql::read!(self, Some(&of.space), query, fetch_all)
    }

    async fn index_vectors(&self, of: &IndexOf, mut entries: Vec<Entry>) -> Result<(), StoreError> {
        // Of two servers that index the same, both lock in the same order.
        entries.sort_unstable_by(|one, other| one.statement.cmp(&other.statement));
        let parts: Vec<String> = entries.iter().map(|entry| literal(&entry.parts)).collect();
        let (statements, hashes): (Vec<String>, Vec<Vec<u8>>) = entries
            .into_iter()
            .map(|entry| (entry.statement, entry.hash.to_vec()))
            .unzip();
        let text = format!(
            "insert into {table} as n (statement, sha256, parts) \
             select v.statement, v.sha256, v.parts::halfvec({dimensions}) \
             from unnest($1::text[], $2::bytea[], $3::text[]) v (statement, sha256, parts) \
             on conflict (statement) do update set sha256 = excluded.sha256, parts = excluded.parts \
             where n.sha256 <> excluded.sha256",
            table = of.table(),
            dimensions = of.maker.dimensions
        );
        let query = sqlx::query(AssertSqlSafe(text))
            .bind(statements)
            .bind(hashes)
            .bind(parts);
        sql::read!(self, Some(&of.space), query, execute).map(|_| ())
    }

    async fn nearest(
        &self,
        of: &IndexOf,
        parts: &[i8],
        most: u32,
        search: Search,
    ) -> Result<Vec<(String, f64)>, StoreError> {
        // A sum is nothing that the index is made for.
        let exactly = if search == Search::Exact { " + 0" } else { "" };
        let text = format!(
            "select n.statement, n.parts <=> $2::text::halfvec({dimensions}) \
             from {table} n join statements s on s.space = $1 and s.id = n.statement \
             and s.status in ('surviving', 'contested') \
             order by (n.parts <=> $2::text::halfvec({dimensions})){exactly} limit $3",
            table = of.table(),
            dimensions = of.maker.dimensions
        );
        let query = sqlx::query_as(AssertSqlSafe(text));
        let query = query
            .bind(of.space.as_str())
            .bind(literal(parts))
            .bind(i64::from(most));
        sql::read!(self, Some(&of.space), query, fetch_all)
    }

    /// A page at a time, for one that takes too long is cut off.
    async fn tidy_index(&self, of: &IndexOf) -> Result<(), StoreError> {
        let table = of.table();
        let last = format!(
            "select max(statement) from (select statement from {table} where statement > $1 order by statement limit $2) p"
        );
        let delete = format!(
            "delete from {table} n where n.statement > $1 and n.statement <= $2 and not exists (select 1 from statements s \
             where s.space = $3 and s.id = n.statement and s.status in ('surviving', 'contested'))"
        );
        let mut after = String::new();
        loop {
            let query = sqlx::query_scalar(AssertSqlSafe(last.clone()))
                .bind(&after)
                .bind(TIDIED);
            let last: Option<String> = sql::read!(self, None, query, fetch_one)?;
            let Some(last) = last else { return Ok(()) };
            let query = sqlx::query(AssertSqlSafe(delete.clone()))
                .bind(&after)
                .bind(&last)
                .bind(of.space.as_str());
            sql::read!(self, None, query, execute)?;
            after = last;
        }
    }
}

impl Postgres {
    /// The version of pgvector, made ready where it may be; inside: why it is not there.
    async fn pgvector(&self) -> Result<Result<String, String>, StoreError> {
        const VERSION: &str = "select extversion from pg_extension where extname = 'vector'";
        let version =
            || async { sql::read!(self, None, sqlx::query_scalar(VERSION), fetch_optional) };
        let mut known: Option<String> = version().await?;
        if known.is_none() {
            let text = format!(
                "select pg_advisory_xact_lock({LOCK}); create extension if not exists vector"
            );
            match sql::ask!(self, None, sqlx::raw_sql(AssertSqlSafe(text)), execute)? {
                Ok(_) => known = version().await?,
                Err(error) => match refused(&error) {
                    Some(why) => return Ok(Err(why)),
                    None => return Err(sql::error(error)),
                },
            }
        }
        Ok(new_enough(known.unwrap_or_default()))
    }

    /// Lets the indexes go that have vectors of other makers.
    pub(super) async fn keep_only_indexes(&self, maker: &Maker) -> Result<(), StoreError> {
        let text = "select relname::text from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace \
             and starts_with(relname, 'vectors_near_') and not starts_with(relname, $1)";
        let query = sqlx::query_scalar(text).bind(IndexOf::prefix(maker));
        let others: Vec<String> = sql::read!(self, None, query, fetch_all)?;
        for other in others {
            let text = format!("drop table if exists {other}");
            sql::read!(self, None, sqlx::query(AssertSqlSafe(text)), execute)?;
        }
        Ok(())
    }
}

/// A version that goes on searching, else why it will not do.
fn new_enough(version: String) -> Result<String, String> {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    if (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= OLDEST {
        return Ok(version);
    }
    Err(format!(
        "Postgres has pgvector {version}, and {}.{} or later is needed",
        OLDEST.0, OLDEST.1
    ))
}

/// Why there is no pgvector, where it can be said.
fn refused(error: &sqlx::Error) -> Option<String> {
    let cause = error.as_database_error()?;
    let advice = match cause.code()?.as_ref() {
        "42501" => LET_IT,
        "58P01" | "0A000" => INSTALL_IT,
        _ => return None,
    };
    Some(format!(
        "this Postgres has no pgvector: {}; {advice}",
        cause.message()
    ))
}

/// As pgvector reads a vector.
fn literal(parts: &[i8]) -> String {
    let parts: Vec<String> = parts.iter().map(i8::to_string).collect();
    format!("[{}]", parts.join(","))
}
