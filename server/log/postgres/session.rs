//! The settings of a session, on which the safety of the log rests: sent with each connection, read
//! back, and set again where something between drops them. A pooler by session keeps them then; one
//! by transaction is refused.

use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::connect::connect;
use super::sql;
use crate::log::error::StoreError;

const BY_TRANSACTION: &str = "a pooler between thinkd and Postgres hands out connections by transaction, \
     and thinkd needs sessions of its own: let it pool by session (PgBouncer: pool_mode = session), \
     or name Postgres itself in DATABASE_URL";

/// The settings that these options send: names, and values as `pg_settings` has them.
fn sent(options: &PgConnectOptions) -> (Vec<String>, Vec<String>) {
    let all = options
        .get_options()
        .unwrap_or_default()
        .replace("\\ ", "\0");
    let settings = all.split(' ').filter_map(|it| it.split_once('='));
    // The last one counts.
    let settings: std::collections::BTreeMap<&str, &str> = settings.collect();
    let is_ours = |name: &&str| {
        super::connect::LIMITS
            .iter()
            .any(|(limit, _)| limit == name)
    };
    let settings = settings.into_iter().filter(|(name, _)| is_ours(name));
    settings
        .map(|(name, value)| (name.to_owned(), value.replace('\0', " ")))
        .unzip()
}

/// Sees to it that a connection has the settings that its options send. Fails where it cannot have
/// them: what was refused as too slow could be stored later.
pub(super) async fn settle(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<(), StoreError> {
    let (names, values) = sent(options);
    let text = "select name, wanted from unnest($1::text[], $2::text[]) w (name, wanted) \
         join pg_settings s using (name) where s.setting <> wanted";
    let mut lacking: Vec<(String, String)> = Vec::new();
    for is_last in [false, true] {
        let query = sqlx::query_as(text).bind(&names).bind(&values);
        lacking = query.fetch_all(&mut *connection).await.map_err(error)?;
        if lacking.is_empty() || is_last {
            break;
        }
        for (name, value) in &lacking {
            let query = sqlx::query("select set_config($1, $2, false)")
                .bind(name)
                .bind(value);
            query.execute(&mut *connection).await.map_err(error)?;
        }
    }
    if lacking.is_empty() {
        return Ok(());
    }
    let lacking = Vec::from_iter(
        lacking
            .iter()
            .map(|(name, value)| format!("{name} = {value}")),
    );
    Err(StoreError::Broken(format!(
        "Postgres, or a pooler before it, does not keep settings that thinkd needs: {}",
        lacking.join(", ")
    )))
}

/// Refuses a pooler that hands out connections by transaction: `connection` and another one share a
/// backend there. Asked of the first connection of a server, whose settings are settled.
pub(super) async fn is_own(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<(), StoreError> {
    // What was sent with the connection has another source: then nothing drops it on the way.
    let text = "select pg_backend_pid(), exists (select from pg_settings \
         where name = 'statement_timeout' and source = 'session')";
    let (own, is_pooled): (i32, bool) = sqlx::query_as(text)
        .fetch_one(connection)
        .await
        .map_err(error)?;
    if !is_pooled {
        return Ok(());
    }
    let mut other = connect(options).await?;
    let backend: i32 = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut other)
        .await
        .map_err(error)?;
    if backend == own {
        return Err(StoreError::Broken(BY_TRANSACTION.to_owned()));
    }
    tracing::info!(
        "a pooler by session stands before Postgres: its settings are set by each connection"
    );
    Ok(())
}

/// An error of a connection that is new. Statements that others have prepared, or that are not there,
/// are those of a pooler by transaction.
fn error(error: sqlx::Error) -> StoreError {
    let code = error.as_database_error().and_then(|cause| cause.code());
    match code.as_deref() {
        Some("42P05" | "26000") => StoreError::Broken(BY_TRANSACTION.to_owned()),
        _ => sql::error(error),
    }
}
