//! The connection that writes: the backend of the store's one writer, on SQLite.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use tokio::time::timeout;
use uuid::Uuid;

use super::file::Names;
use super::uploads::{self, Upload, Uploads};
use super::{bulk, json, read_asked, sql, stored};
use crate::append::{Asked, Backend, Before, Found, Plan, Wanted};
use crate::error::StoreError;
use crate::fence::Fence;
use crate::head::Position;
use crate::leases::Leases;
use crate::thread_row::ThreadRow;
use crate::write_cache::WriteCache;
use thinkd_event::envelope::Event;
use thinkd_words::id::{Space, ThreadId};

/// Bytes of blobs after which the journal is copied into the file: a little of it between two commits, for the commit that comes with
/// sixteen megabytes keeps everybody waiting for 40 ms.
const COPIED: usize = 1 << 20;

/// Longest time for work under way to end.
const ROLLBACK: Duration = Duration::from_secs(1);

/// Set when the disk did not confirm a write: the content of the disk is unknown then, and a second
/// question may be answered wrongly. Also set when a file is not any more where it was opened: the
/// next start would not find its writes. Nothing more is appended until the process starts anew.
#[derive(Clone, Default)]
pub(super) struct Broken(Arc<OnceLock<String>>);

impl Broken {
    pub fn check(&self) -> Result<(), StoreError> {
        match self.0.get() {
            None => Ok(()),
            Some(why) => Err(StoreError::Broken(why.clone())),
        }
    }

    /// SQLITE_IOERR_FSYNC and SQLITE_IOERR_DIR_FSYNC.
    pub fn note(&self, error: &sqlx::Error) {
        let code = error.as_database_error().and_then(|cause| cause.code());
        if matches!(code.as_deref(), Some("1034" | "1290")) {
            self.set(format!(
                "the disk did not confirm a write ({error}); check it and start anew"
            ));
        }
    }

    fn set(&self, why: String) {
        if self.0.set(why.clone()).is_ok() {
            tracing::error!(why, "nothing more is appended");
        }
    }
}

/// The one connection that writes, so its last writes need not be read again.
pub(super) struct Log {
    pub connection: SqliteConnection,
    pub broken: Broken,
    /// The files it was opened as.
    pub names: Names,
    pub leases: Arc<Leases>,
    pub cache: WriteCache,
    /// The blobs to be written beside the appends, and those of them that are being written.
    pub uploads: Uploads,
    pub writing: Vec<Upload>,
    /// Bytes of blobs in the journal.
    pub beside: usize,
}

impl Log {
    /// Checks that present writes are kept, and found again.
    fn sound(&self) -> Result<(), StoreError> {
        if let Err(why) = self.names.check() {
            self.broken.set(why);
        }
        self.broken.check()
    }

    async fn run(&mut self, text: &'static str) -> Result<(), StoreError> {
        let result = sqlx::query(text).execute(&mut self.connection).await;
        result.inspect_err(|error| self.broken.note(error))?;
        Ok(())
    }

    async fn heads(
        &mut self,
        spaces: &BTreeSet<Space>,
    ) -> Result<BTreeMap<Space, Position>, StoreError> {
        let text = "select seq, ts from events where space = $1 order by seq desc limit 1";
        let mut heads = BTreeMap::new();
        for space in spaces {
            let mut head = self.cache.head(space);
            if head.is_none() {
                let query = sqlx::query_as(text).bind(space.as_str());
                let row = query.fetch_optional(&mut self.connection).await?;
                head = row.map(Position::stored);
            }
            heads.extend(head.map(|head| (space.clone(), head)));
        }
        Ok(heads)
    }

    async fn events(&mut self, ids: &[(Space, Uuid)]) -> Result<Vec<(Space, Event)>, StoreError> {
        let keys: Vec<(&str, String)> = ids
            .iter()
            .map(|(space, id)| (space.as_str(), id.simple().to_string()))
            .collect();
        // `cross join` fixes the order: one look-up a key.
        let text = concat!(
            "select e.space, ",
            sql::event_columns!(),
            " from json_each($1) k cross join events e where e.space = k.value ->> 0 and e.event_id = unhex(k.value ->> 1)"
        );
        let rows: Vec<sql::PlacedColumns> = sqlx::query_as(text)
            .bind(json(&keys)?)
            .fetch_all(&mut self.connection)
            .await?;
        rows.into_iter().map(sql::placed_event).collect()
    }

    async fn threads(
        &mut self,
        ids: &[(Space, ThreadId)],
    ) -> Result<BTreeMap<(Space, ThreadId), ThreadRow>, StoreError> {
        let mut threads = BTreeMap::new();
        let mut unknown = Vec::new();
        for key in ids {
            match self.cache.thread(key) {
                Some(row) => drop(threads.insert(key.clone(), row)),
                None => unknown.push(key),
            }
        }
        if unknown.is_empty() {
            return Ok(threads);
        }
        let text = concat!(
            "select t.space, ",
            sql::thread_columns!(),
            " from json_each($1) k cross join threads t where t.space = k.value ->> 0 and t.thread = k.value ->> 1"
        );
        let rows: Vec<sql::ThreadColumns> = sqlx::query_as(text)
            .bind(json(&unknown)?)
            .fetch_all(&mut self.connection)
            .await?;
        for row in rows {
            let (key, row) = sql::placed_thread(row)?;
            threads.insert(key, row);
        }
        Ok(threads)
    }
}

impl Backend for Log {
    async fn begin(&mut self, _: &BTreeSet<Space>) -> Result<(), StoreError> {
        // What is read needs no transaction, since nobody else writes; what is written has one (`put_alone`).
        self.sound()
    }

    async fn read(&mut self, wanted: &Wanted) -> Result<Found, StoreError> {
        Ok(Found {
            held: self.leases.begin(&wanted.fences),
            heads: self.heads(&wanted.spaces).await?,
            events: if wanted.ids.is_empty() {
                Vec::new()
            } else {
                self.events(&wanted.ids).await?
            },
            threads: self.threads(&wanted.threads).await?,
        })
    }

    async fn asked(&mut self, asked: &Asked) -> Result<Before, StoreError> {
        read_asked(&mut self.connection, asked).await
    }

    async fn write(&mut self, plan: &Plan) -> Result<(), StoreError> {
        let mut writes = plan.writes()?;
        // Where its log ends, a space's row does not say: it has to be there, no more.
        writes
            .heads
            .retain(|(space, _)| self.cache.head(space).is_none());
        self.cache
            .begins(plan.shown().map(|(space, shown)| (space, shown.event.seq)));
        bulk::put_alone(&mut self.connection, &writes, &plan.rows, &self.broken).await?;
        self.cache.take(plan);
        Ok(())
    }

    async fn rollback(&mut self, _: &StoreError) {
        self.cache.forget();
        // It fails where no transaction is open (SQLite ends one itself when the disk is full); then nothing is to be undone. Where
        // the disk does not answer it is not waited for: it is done, in its turn, before whatever is asked of the connection next.
        let _ = timeout(ROLLBACK, self.run("rollback")).await;
    }

    fn settled(&mut self, released: &[Fence]) {
        self.leases.settle(released);
    }

    fn aside(&mut self) -> Option<usize> {
        self.writing = self.uploads.next();
        (!self.writing.is_empty()).then(|| self.writing.iter().map(Upload::bytes).sum())
    }

    async fn write_aside(&mut self) -> Result<(), StoreError> {
        self.sound()?;
        self.run("begin immediate").await?;
        for upload in &mut self.writing {
            uploads::write(&mut self.connection, upload).await?;
        }
        self.run("commit").await?;
        self.beside += self.writing.iter().map(Upload::bytes).sum::<usize>();
        if self.beside >= COPIED {
            self.beside = 0;
            // It is stored already: what cannot be copied now stays in the journal.
            if let Err(error) = self.run("pragma wal_checkpoint(passive)").await {
                tracing::warn!(%error, "blobs were not copied from the log's journal into its file; a later commit does that");
            }
        }
        Ok(())
    }

    fn wrote_aside(&mut self, result: Result<(), StoreError>) -> bool {
        self.uploads
            .wrote(std::mem::take(&mut self.writing), &result)
    }

    async fn touch(&mut self, bytes: usize) -> Result<(), StoreError> {
        self.sound()?;
        // A count that nobody reads while the store is open; the same value again would not be written.
        let text = "update log set incarnation = incarnation + 1, probe = zeroblob($1)";
        let written = sqlx::query(text)
            .bind(stored(bytes as u64))
            .execute(&mut self.connection)
            .await;
        written.inspect_err(|error| self.broken.note(error))?;
        self.run("update log set probe = null").await
    }

    async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::warn!(%error, "the database was not closed in order; nothing is lost");
        }
    }
}
