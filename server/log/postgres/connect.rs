//! Connections to Postgres: how each is set up, why one is refused, how the tables are brought up to date.

use std::str::FromStr as _;

use sqlx::ConnectOptions as _;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::time::timeout;

use super::ACQUIRE;
use super::session::{LIMITS, has_pooler, have_their_own, lacking, settle};
use crate::error::{StoreError, within};
use crate::sql;
use thinkd_words::secret;

/// Reads the address of a database, and adds the settings that each connection has.
pub(crate) fn options(url: &str) -> Result<PgConnectOptions, StoreError> {
    Ok(read(url)?.options(LIMITS))
}

/// Reads the address of a pooler, through which no settings are sent: `session::has_pooler`.
pub(super) fn pooler_options(url: &str) -> Result<PgConnectOptions, StoreError> {
    let options = read(url)?;
    match options.get_options() {
        None => Ok(options),
        Some(_) => Err(StoreError::Broken(
            "beside database_direct the address of a pooler has no options; take them out of \
             DATABASE_URL and PGOPTIONS"
                .into(),
        )),
    }
}

fn read(url: &str) -> Result<PgConnectOptions, StoreError> {
    let wrong = |why: &str| Err(StoreError::Broken(format!("the database URL: {why}")));
    if !secret::is_url(url) {
        return wrong(
            "it cannot be read; in a user or password write @ / ? # % as %40 %2F %3F %23 %25",
        );
    }
    if secret::address(url).is_some_and(|address| address.contains(',')) {
        return wrong("it names several hosts; name one address that leads to the primary");
    }
    if url.split(['?', '&']).any(|it| it == "sslrootcert=system") {
        return wrong("sslrootcert=system is read by libpq alone; name a file of certificates");
    }
    let options = match PgConnectOptions::from_str(url) {
        Ok(options) => options,
        Err(error) => return wrong(&error.to_string()),
    };
    // The brackets of an IPv6 address are the URL's.
    let host = options
        .get_host()
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    Ok(options
        .host(&host)
        .application_name("thinkd")
        .statement_cache_capacity(256)
        .disable_statement_logging())
}

/// Why there is no connection.
pub struct Refused {
    /// The error that is told of it.
    pub error: StoreError,
    /// Postgres takes no more of them.
    pub is_full: bool,
    /// True if Postgres may come up in a moment.
    pub is_passing: bool,
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self {
            error,
            is_full: false,
            is_passing: false,
        }
    }
}

/// Connects for the first time. A pooler that hands out connections by transaction is refused before
/// anything is set on them: others would find it there.
pub(crate) async fn connect_first(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    let opened = async || opened(options).await.map_err(|refused| refused.error);
    let mut connection = opened().await?;
    let result = async {
        if !lacking(&mut connection, options).await?.is_empty() {
            have_their_own(&mut connection, &mut opened().await?).await?;
        }
        Ok(())
    };
    let result = within(ACQUIRE, result).await;
    result.map_err(|error| placed(options, &error, ""))?;
    settled(&mut connection, options).await?;
    Ok(connection)
}

/// Connects, or returns the error with the remedy.
pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    try_connect(options).await.map_err(|refused| refused.error)
}

/// Connects, or returns the kind of refusal.
pub async fn try_connect(options: &PgConnectOptions) -> Result<PgConnection, Refused> {
    let mut connection = opened(options).await?;
    settled(&mut connection, options).await?;
    Ok(connection)
}

async fn settled(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
) -> Result<(), StoreError> {
    let settled = within(ACQUIRE, settle(connection, options)).await;
    settled.map_err(|error| placed(options, &error, ""))
}

async fn opened(options: &PgConnectOptions) -> Result<PgConnection, Refused> {
    const REACH: &str = "; see that it runs there and can be reached";
    const SPENT: &str = "; see that the pooler runs, reaches Postgres, and has connections left \
         (PgBouncer: default_pool_size)";
    const CLOSED: &str =
        "; the address answers, but not as Postgres does: see that one runs behind it";
    match timeout(ACQUIRE, options.connect()).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => {
            let code = error.as_database_error().and_then(|cause| cause.code());
            let is_full = code.as_deref() == Some("53300");
            let is_starting = code.as_deref() == Some("57P03");
            let is_away = matches!(&error, sqlx::Error::Io(cause) if cause.kind() == std::io::ErrorKind::ConnectionRefused);
            let advice = match error {
                sqlx::Error::Io(_) => REACH,
                sqlx::Error::Tls(_) => {
                    "; see whether it speaks TLS, and what sslmode in its URL asks for"
                }
                // A proxy without a server behind it closes at once.
                sqlx::Error::Protocol(_) => CLOSED,
                _ if code.as_deref() == Some("08P01") => of_pooler(&error.to_string()),
                _ => "",
            };
            let error = placed(options, &error.into(), advice);
            Err(Refused {
                error,
                is_full,
                is_passing: is_starting || is_away,
            })
        }
        Err(_) => {
            let late = StoreError::Unavailable(format!("no answer within {} s", ACQUIRE.as_secs()));
            let advice = if has_pooler(options) { SPENT } else { REACH };
            Err(placed(options, &late, advice).into())
        }
    }
}

/// Returns the advice for an error of PgBouncer: all its errors have one code.
fn of_pooler(words: &str) -> &'static str {
    let has = |words_of: &str| words.contains(words_of);
    if has("startup parameter") {
        "; let the pooler ignore the parameters that it does not know (PgBouncer: \
         ignore_startup_parameters = extra_float_digits,options)"
    } else if has("authentication") || has("login rejected") || has("no such user") {
        "; its URL must name a role that the pooler lets in, with its password"
    } else if has("no such database") {
        "; name a database that the pooler knows in its URL"
    } else if has("max_client_conn") || has("no more connections") {
        "; raise the pooler's limit of clients (PgBouncer: max_client_conn)"
    } else if has("query_wait_timeout") {
        "; the pooler has no connection to Postgres left: raise its pool (PgBouncer: default_pool_size), \
         or have thinkd want fewer (runtime.connections)"
    } else {
        ""
    }
}

/// Returns the error with the place of its connection: server, database and role. A name that is
/// none is not shown, neither here nor in the words of Postgres: a mistyped address may have the
/// password in it.
pub fn placed(options: &PgConnectOptions, error: &StoreError, advice: &str) -> StoreError {
    let role = options.get_username();
    let database = options.get_database().unwrap_or(role);
    let server = match options.get_socket() {
        Some(socket) => format!("{}, port {}", socket.display(), options.get_port()),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    let is_name = |name: &str| {
        name.chars()
            .all(|c| c.is_alphanumeric() || "_-.".contains(c))
    };
    let mut hidden = vec![database, role];
    hidden.retain(|name| !is_name(name));
    hidden.extend(server.contains('@').then_some(&*server));
    error.clone().reworded(|why| {
        let text = format!("Postgres at {server}, database {database}, role {role}: {why}{advice}");
        hidden.iter().fold(text, |text, name| {
            text.replace(name, "(no plain name, so not shown)")
        })
    })
}

/// Brings the tables up to date. Of several servers that start together, one does; the others wait.
/// A role that may not change tables starts where they are.
pub(crate) async fn migrate(connection: &mut PgConnection) -> Result<(), StoreError> {
    if is_up_to_date(connection).await? {
        return Ok(());
    }
    // Indexes of a long log take their time.
    sqlx::raw_sql("set statement_timeout = 0; set lock_timeout = 0")
        .execute(&mut *connection)
        .await?;
    Ok(migrations().run(connection).await?)
}

/// Refuses a database that this program cannot run on; returns whether any migration is made.
pub(crate) async fn admit(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let text = "select to_regclass('_sqlx_migrations') is not null";
    let is_there: bool = sqlx::query_scalar(text).fetch_one(&mut *connection).await?;
    if !is_there {
        return Ok(false);
    }
    let made: Vec<(i64, String)> = sqlx::query_as(sql::MADE)
        .fetch_all(&mut *connection)
        .await?;
    sql::admit(&migrations(), &made)?;
    Ok(true)
}

/// Returns whether all migrations of this program are made.
async fn is_up_to_date(connection: &mut PgConnection) -> Result<bool, StoreError> {
    if !admit(connection).await? {
        return Ok(false);
    }
    let text = "select version, checksum from _sqlx_migrations where success";
    let made: Vec<(i64, Vec<u8>)> = sqlx::query_as(text).fetch_all(connection).await?;
    let is_made = |it: (i64, Vec<u8>)| made.contains(&it);
    let all = migrations();
    Ok(all
        .iter()
        .all(|it| is_made((it.version, it.checksum.to_vec()))))
}

fn migrations() -> Migrator {
    sql::migrations(|migration| migration.postgres)
}
