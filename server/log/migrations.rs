//! Migrations: SQL that brings a database up to date, in pairs of the same number and name (`migrations/sqlite`,
//! `migrations/postgres`). Those of the kernel are listed here; a projection that came later brings its own.

/// The first number of features: those below are the kernel's.
pub const OF_FEATURES: i64 = 9000;

/// One step, for each database.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its number and name, as its files are called.
    pub file: &'static str,
    /// Its SQL for SQLite.
    pub sqlite: &'static str,
    /// Its SQL for Postgres.
    pub postgres: &'static str,
}

impl Migration {
    /// Its place in the order.
    pub(super) fn number(&self) -> i64 {
        Self::number_of(self.file)
    }

    /// Returns the number in the name of a file; 0 where there is none.
    pub(super) fn number_of(file: &str) -> i64 {
        let number = file.split('_').next();
        number.and_then(|it| it.parse().ok()).unwrap_or_default()
    }

    /// Returns its name, for people.
    pub(super) fn name(&self) -> String {
        self.file.split('_').skip(1).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the last migration that a program must have to run on the tables that the one of this
/// name left: `… needs 0037`.
pub(super) fn needed(name: &str) -> Option<i64> {
    let (before, number) = name.rsplit_once(' ')?;
    before.ends_with(" needs").then(|| number.parse().ok())?
}

/// The pair of files with a name.
macro_rules! migration {
    ($file:literal) => {
        $crate::migrations::Migration {
            file: $file,
            sqlite: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../migrations/sqlite/",
                $file,
                ".sql"
            )),
            postgres: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../migrations/postgres/",
                $file,
                ".sql"
            )),
        }
    };
}
pub(super) use migration;

/// The migrations of the kernel, and of the projections that were there before projections brought
/// theirs.
pub(super) const KERNEL: [Migration; 17] = [
    migration!("0001_first_light"),
    migration!("0002_search_at_once"),
    migration!("0003_threads_are_processes"),
    migration!("0004_fewer_pages_a_commit"),
    migration!("0005_an_index_of_its_own"),
    migration!("0006_who_waits_for_whom"),
    migration!("0007_events_by_id_first"),
    migration!("0008_a_probe_as_large_as_a_message"),
    migration!("0009_who_draws_on_what"),
    migration!("0010_no_space_slows_another"),
    migration!("0011_fewer_trips"),
    migration!("0020_vectors"),
    migration!("0030_servers"),
    migration!("0032_words_of_a_version"),
    migration!("0036_cut_off_turns"),
    migration!("0037_names_compare_bytewise"),
    migration!("0039_counts_read_the_index_alone"),
    // Next to go on Postgres: the tables `vectors_near_…` and the extension `vector`. The release
    // before still writes them, and a later one than this drops them.
];
