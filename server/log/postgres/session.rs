//! The settings of a session, on which the safety of the log rests: sent with each connection, read
//! back, and set again where something between drops them. A pooler by session keeps them then; one
//! by transaction is refused, unless `database_direct` names Postgres beside it: its role has them.

use sqlx::postgres::{PgConnectOptions, PgConnection};

use crate::error::StoreError;

const BY_TRANSACTION: &str = "a pooler between thinkd and Postgres hands out connections by transaction, \
     and thinkd needs sessions of its own: let it pool by session (PgBouncer: pool_mode = session, \
     and server_reset_query = DISCARD ALL), name Postgres itself in DATABASE_URL, or name it in \
     DATABASE_DIRECT_URL beside the pooler";
const FORGETS_STATEMENTS: &str = "the pooler before Postgres does not keep prepared statements: let it pool \
     by session (PgBouncer: pool_mode = session), or use one that keeps them (PgBouncer from 1.21 on, \
     with max_prepared_statements = 256)";

/// Every statement and every lock has its limit, in ms. And every plan is the one that its
/// statement was written for: joins go row by row from the few to their keys. Pages are read in the
/// order of an index. Otherwise Postgres would plan by statistics, which a log that grows quickly
/// does not have yet. A plan made while it was short stays when it is long.
pub(super) const LIMITS: [(&str, &str); 11] = [
    ("statement_timeout", "30000"),
    ("lock_timeout", "10000"),
    ("idle_in_transaction_session_timeout", "60000"),
    ("synchronous_commit", "on"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_sort", "off"),
    // Or else Postgres plans nearly every statement anew for the arrays it is given, which takes longer than to carry it out.
    ("plan_cache_mode", "force_generic_plan"),
    // It would begin to compile what these make look dear.
    ("jit", "off"),
    // Whatever the database has as its own: a commit looks at rows again that others have changed meanwhile.
    ("default_transaction_isolation", "read committed"),
];

/// The settings that these options send: names, and values as `pg_settings` has them.
fn sent(options: &PgConnectOptions) -> (Vec<String>, Vec<String>) {
    let all = options.get_options().unwrap_or_default();
    let all = all.replace("\\ ", "\0");
    let settings = all.split(' ').filter_map(|it| it.split_once('='));
    // The last one counts.
    let settings: std::collections::BTreeMap<&str, &str> = settings.collect();
    let is_ours = |name: &&str| LIMITS.iter().any(|(limit, _)| limit == name);
    let settings = settings.into_iter().filter(|(name, _)| is_ours(name));
    settings
        .map(|(name, value)| (name.to_owned(), value.replace('\0', " ")))
        .unzip()
}

/// Ensures that a connection has the settings that its options send. Fails where it cannot have
/// them: a statement that was refused as too slow could be stored later.
pub(super) async fn settle(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<(), StoreError> {
    if has_pooler(options) {
        return has_settings(connection).await;
    }
    for (name, value) in lacking(connection, options).await? {
        let query = sqlx::query("select set_config($1, $2, false)")
            .bind(name)
            .bind(value);
        query.execute(&mut *connection).await.map_err(error)?;
    }
    let lacking = lacking(connection, options).await?;
    if lacking.is_empty() {
        return Ok(());
    }
    let lacking = lacking
        .into_iter()
        .map(|(name, value)| format!("{name} = {value}"));
    Err(StoreError::Broken(format!(
        "Postgres, or a pooler before it, does not keep settings that thinkd needs: {}",
        Vec::from_iter(lacking).join(", ")
    )))
}

/// The settings that options send and a connection does not have, with their values: something
/// between dropped them.
pub(super) async fn lacking(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<Vec<(String, String)>, StoreError> {
    let (names, values) = sent(options);
    let text = "select name, wanted from unnest($1::text[], $2::text[]) w (name, wanted) \
         join pg_settings s using (name) where s.setting <> wanted";
    let query = sqlx::query_as(text).bind(names).bind(values);
    query.fetch_all(connection).await.map_err(error)
}

/// Returns whether connections with these options go through a pooler that may share them between
/// transactions: nothing is set there, it would be another one's a moment later.
pub(super) fn has_pooler(options: &PgConnectOptions) -> bool {
    options.get_options().is_none()
}

/// Fails where the role lacks settings, and says how it gets them.
async fn has_settings(connection: &mut PgConnection) -> Result<(), StoreError> {
    let (names, values): (Vec<&str>, Vec<&str>) = LIMITS.into_iter().unzip();
    let text = "select format('alter role %I in database %I set %s = %L', \
         session_user, current_database(), name, wanted) \
         from unnest($1::text[], $2::text[]) w (name, wanted) \
         join pg_settings s using (name) where s.setting <> wanted";
    let query = sqlx::query_scalar(text).bind(names).bind(values);
    let lacking: Vec<String> = query.fetch_all(connection).await.map_err(pooler_error)?;
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(StoreError::Broken(format!(
            "a pooler drops the settings that thinkd sends, so its role must have them; run once, then \
             have the pooler connect anew: {}",
            lacking.join("; ")
        ))),
    }
}

/// Refuses a pooler that gives a prepared statement to another connection than the one that made it.
pub(super) async fn keeps_statements(
    one: &mut PgConnection,
    other: &mut PgConnection,
) -> Result<(), StoreError> {
    for _ in 0..2 {
        for connection in [&mut *one, &mut *other] {
            let query = sqlx::query("select pg_backend_pid()").execute(connection);
            query.await.map_err(pooler_error)?;
        }
    }
    Ok(())
}

/// Refuses a pooler that hands out connections by transaction: two of a server share a backend
/// there, while neither does anything.
pub(super) async fn have_their_own(
    one: &mut PgConnection,
    other: &mut PgConnection,
) -> Result<(), StoreError> {
    let mut backends = [0_i32; 2];
    for (backend, connection) in backends.iter_mut().zip([one, other]) {
        let query = sqlx::query_scalar("select pg_backend_pid()").fetch_one(connection);
        *backend = query.await.map_err(error)?;
    }
    if backends[0] == backends[1] {
        return Err(StoreError::Broken(BY_TRANSACTION.to_owned()));
    }
    tracing::info!("a pooler by session stands before Postgres: each connection sets its settings");
    Ok(())
}

/// An error of a connection that is new.
fn error(error: sqlx::Error) -> StoreError {
    of_statements(error, BY_TRANSACTION)
}

/// The same of one through a pooler beside `database_direct`.
fn pooler_error(error: sqlx::Error) -> StoreError {
    of_statements(error, FORGETS_STATEMENTS)
}

/// Statements that others have prepared, or that are not there, are those of a pooler by transaction.
fn of_statements(error: sqlx::Error, words: &str) -> StoreError {
    let code = error.as_database_error().and_then(|cause| cause.code());
    match code.as_deref() {
        Some("42P05" | "26000") => StoreError::Broken(words.to_owned()),
        _ => error.into(),
    }
}
