//! The words on a database's error, for the person that reads it: its own, and the remedy where
//! that is known.

/// The words of an error. Not sqlx's: on Postgres those end with a line of Postgres' own source.
pub(crate) fn words(error: &sqlx::Error) -> String {
    let Some(cause) = error.as_database_error() else {
        return error.to_string();
    };
    let code = cause.code().unwrap_or_default();
    // SQLite's codes are shorter, and its words say nothing that is not needed.
    if code.len() < 5 {
        return cause.to_string();
    }
    match advice(&code, cause.message()) {
        Some(advice) => format!("{}; {advice}", cause.message()),
        None => cause.message().to_owned(),
    }
}

const RESTORE: &str =
    "restore a backup into an empty database, or stop all servers and start them on one";

/// Tables are missing.
pub(crate) fn missing(tables: &str) -> String {
    format!("tables are missing: {tables}; {RESTORE}")
}

/// By the code of Postgres, and its words where it has one code for several troubles.
fn advice(code: &str, said: &str) -> Option<&'static str> {
    Some(match code {
        "3D000" => "make it (`createdb NAME`), or name another one with DATABASE_URL",
        "28000" | "28P01" => {
            "DATABASE_URL must name a role that there is, with its password, and the server's pg_hba.conf must let it in (where that \
             wants TLS: ?sslmode=require)"
        }
        "42501" if said.contains(" for schema ") => {
            "the role must be allowed to make tables there: make it the database's owner (`alter database NAME owner to ROLE`), or \
             `grant all on schema public to ROLE`; or let the owner run `thinkd migrate` first"
        }
        "42501" => {
            "let the owner of the tables run `thinkd migrate`, and then \
             `grant select, insert, update, delete on all tables in schema public to ROLE`"
        }
        "25006" => {
            "the server must be one that takes writes: name the primary, not a standby, in DATABASE_URL, and see that \
             default_transaction_read_only is off"
        }
        "53300" => {
            "raise the limit (max_connections of the server, or `alter role ROLE connection limit N`), stop what else uses it, or let \
             thinkd have fewer connections (runtime.connections)"
        }
        "42P01" | "3F000" => RESTORE,
        "53100" => "make room on the disk of Postgres",
        "57P03" => "it starts or stops just now; try again in a moment",
        _ => return None,
    })
}
