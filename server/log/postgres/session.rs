//! The settings of a session, on which the safety of the log rests: sent with each connection, read
//! back, and set again where something between drops them. A pooler by session keeps them then; one
//! by transaction is refused.

use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::sql;
use crate::log::error::StoreError;

const BY_TRANSACTION: &str = "a pooler between thinkd and Postgres hands out connections by transaction, \
     and thinkd needs sessions of its own: let it pool by session (PgBouncer: pool_mode = session), \
     or name Postgres itself in DATABASE_URL";

/// Every statement and every lock has its limit, in ms. And every plan is the one that its statement was written for: joins go row by row
/// from the few to their keys, pages are read in the order of an index. What Postgres would plan otherwise depends on statistics,
/// which a log that grows quickly does not have yet; a plan made while it was short stays when it is long.
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
    let all = options
        .get_options()
        .unwrap_or_default()
        .replace("\\ ", "\0");
    let settings = all.split(' ').filter_map(|it| it.split_once('='));
    // The last one counts.
    let settings: std::collections::BTreeMap<&str, &str> = settings.collect();
    let is_ours = |name: &&str| LIMITS.iter().any(|(limit, _)| limit == name);
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

/// Returns whether a pooler stands between: it dropped what was sent with the connection, and
/// `settle` set it in its place.
pub(super) async fn is_pooled(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let text = "select exists (select from pg_settings \
         where name = 'statement_timeout' and source = 'session')";
    let query = sqlx::query_scalar(text).fetch_one(connection);
    query.await.map_err(error)
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
    match backends[0] == backends[1] {
        true => Err(StoreError::Broken(BY_TRANSACTION.to_owned())),
        false => Ok(()),
    }
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
