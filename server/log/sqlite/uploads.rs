//! Blobs on their way into the file. One connection writes, and a commit takes as long as it is
//! large: so a large blob is written in parts, between the commits of appends, spaces in turn. It
//! is there when its row is, which comes with its last part. One that is cut off before leaves
//! parts that belong to nothing, and a row in `uploads` that says so.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use sqlx::sqlite::SqliteConnection;
use sqlx::{query, query_as, query_scalar};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{put_blob, sql, stored};
use crate::blob::Blob;
use crate::error::StoreError;
use thinkd_words::id::Space;

/// Most bytes of one transaction: as long as this takes, appends wait.
const PART: usize = 256 << 10;

/// The blobs to be stored, spaces in turn. Cheap to clone: many put in, the writer alone takes out.
#[derive(Clone, Default)]
pub(super) struct Uploads(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    spaces: HashMap<Space, VecDeque<Upload>>,
    /// The spaces that have some; the first is served next.
    round: VecDeque<Space>,
}

/// A blob on its way, under its hash.
pub(super) struct Upload {
    space: Space,
    sha256: String,
    blob: Blob,
    /// The name of its parts.
    id: Uuid,
    /// Bytes that are written.
    written: usize,
    /// True if it was refused with others: it is tried alone.
    alone: bool,
    /// True if the outcome of the last transaction is unknown: it is tried once more, and finds the
    /// parts that there are.
    again: bool,
    /// True if it cannot be stored, or no caller waits for it any more: its parts are to be
    /// removed.
    failed: bool,
    answer: Option<oneshot::Sender<Result<(), StoreError>>>,
}

impl Upload {
    fn is_large(&self) -> bool {
        self.blob.bytes.len() > PART
    }

    fn answered(&mut self, result: Result<(), StoreError>) {
        // The caller may be gone; a blob that is stored stays stored.
        let _ = self.answer.take().map(|answer| answer.send(result));
    }

    fn is_single(&self) -> bool {
        self.alone || self.is_large()
    }

    fn is_awaited(&self) -> bool {
        self.answer
            .as_ref()
            .is_some_and(|answer| !answer.is_closed())
    }

    /// Returns the number of its bytes that the next transaction writes.
    pub fn bytes(&self) -> usize {
        self.rest().len()
    }

    fn rest(&self) -> &[u8] {
        let rest = &self.blob.bytes[self.written..];
        &rest[..rest.len().min(PART)]
    }
}

impl State {
    /// The next space's first one, if it fits.
    fn pop(&mut self, fits: impl Fn(&Upload) -> bool) -> Option<Upload> {
        let queue = self.spaces.get_mut(self.round.front()?)?;
        let upload = queue.pop_front_if(|upload| fits(upload))?;
        let is_empty = queue.is_empty();
        let space = self.round.pop_front()?;
        if is_empty {
            self.spaces.remove(&space);
        } else {
            self.round.push_back(space);
        }
        Some(upload)
    }
}

impl Uploads {
    /// Puts a blob in line; returns the receiver of its result.
    pub fn put(
        &self,
        space: &Space,
        sha256: String,
        blob: Blob,
    ) -> oneshot::Receiver<Result<(), StoreError>> {
        let (answer, answered) = oneshot::channel();
        let id = thinkd_words::id::fresh();
        let answer = Some(answer);
        self.back(
            Upload {
                space: space.clone(),
                sha256,
                blob,
                id,
                written: 0,
                alone: false,
                again: false,
                failed: false,
                answer,
            },
            false,
        );
        answered
    }

    /// Puts one in line: behind the others of its space, or, if it has been begun, before them.
    fn back(&self, upload: Upload, begun: bool) {
        let mut state = self.0.lock();
        let space = upload.space.clone();
        let queue = state.spaces.entry(space.clone()).or_default();
        let is_first = queue.is_empty();
        if begun {
            queue.push_front(upload)
        } else {
            queue.push_back(upload)
        }
        if is_first {
            state.round.push_back(space);
        }
    }

    /// Returns the blobs that one transaction is to write: a part of a large one, or small ones.
    pub fn next(&self) -> Vec<Upload> {
        let mut state = self.0.lock();
        let mut batch = Vec::<Upload>::new();
        let mut bytes = 0;
        while bytes < PART && batch.first().is_none_or(|first| !first.is_single()) {
            let fits = |upload: &Upload| batch.is_empty() || !upload.is_single();
            let Some(mut upload) = state.pop(fits) else {
                break;
            };
            if !upload.is_awaited() {
                if upload.written == 0 {
                    continue;
                }
                upload.failed = true;
            }
            bytes += upload.blob.bytes.len();
            batch.push(upload);
        }
        batch
    }

    /// Takes the result of a transaction; returns true if there is more to write.
    pub fn wrote(&self, batch: Vec<Upload>, result: &Result<(), StoreError>) -> bool {
        let is_single = batch.len() == 1;
        for mut upload in batch {
            match result {
                Ok(()) if !upload.is_large() || upload.failed => upload.answered(Ok(())),
                Ok(()) => {
                    upload.again = false;
                    upload.written += upload.rest().len();
                    if upload.written == upload.blob.bytes.len() {
                        upload.answered(Ok(()));
                    } else {
                        self.back(upload, true);
                    }
                }
                // One of them is refused, perhaps: the others are not to suffer for it.
                Err(StoreError::Broken(_)) if !is_single => {
                    upload.alone = true;
                    self.back(upload, true);
                }
                Err(StoreError::Unavailable(_)) if !std::mem::replace(&mut upload.again, true) => {
                    self.back(upload, true)
                }
                Err(error) => {
                    upload.answered(Err(error.clone()));
                    if upload.written > 0 && !std::mem::replace(&mut upload.failed, true) {
                        self.back(upload, true);
                    }
                }
            }
        }
        !self.0.lock().round.is_empty()
    }
}

/// Writes one, or a part of it, in a transaction that is open.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    upload: &mut Upload,
) -> Result<(), StoreError> {
    if upload.is_large() {
        return Ok(part(connection, upload).await?);
    }
    put_blob(connection, &upload.space, &upload.sha256, &upload.blob).await
}

/// Writes the next part of a large blob; with the last one comes its row.
async fn part(connection: &mut SqliteConnection, upload: &mut Upload) -> Result<(), sqlx::Error> {
    let Upload {
        space,
        sha256,
        blob,
        id,
        written,
        ..
    } = &*upload;
    if upload.failed {
        return if is_whole(connection, upload).await? {
            Ok(())
        } else {
            forget(connection, *id).await
        };
    }
    if *written == 0 {
        let text = "select exists (select 1 from blobs where space = $1 and sha256 = $2)";
        if query_scalar(text)
            .bind(space.as_str())
            .bind(sha256)
            .fetch_one(&mut *connection)
            .await?
        {
            upload.written = blob.bytes.len();
            return Ok(());
        }
        let text = "insert into uploads (upload) values ($1) on conflict do nothing";
        query(text).bind(id).execute(&mut *connection).await?;
    }
    let rest = upload.rest();
    // It may be there, written by a transaction of which nobody heard that it was made.
    let insert = query(
        "insert into blob_parts (upload, number, bytes) values ($1, $2, $3) on conflict do nothing",
    );
    insert
        .bind(id)
        .bind(stored(*written as u64))
        .bind(rest)
        .execute(&mut *connection)
        .await?;
    if written + rest.len() < blob.bytes.len() {
        return Ok(());
    }
    let text = "insert into blobs (space, sha256, mime, bytes, upload) values ($1, $2, $3, x'', $4) on conflict do nothing";
    let row = query(text)
        .bind(space.as_str())
        .bind(sha256)
        .bind(&blob.mime)
        .bind(id)
        .execute(&mut *connection)
        .await?;
    if row.rows_affected() == 0 && !is_whole(connection, upload).await? {
        // Somebody else was faster with the same.
        return forget(connection, *id).await;
    }
    query("delete from uploads where upload = $1")
        .bind(id)
        .execute(connection)
        .await
        .map(|_| ())
}

/// Returns true if a blob is made of its parts: a transaction with an unknown outcome may have been
/// made.
async fn is_whole(connection: &mut SqliteConnection, upload: &Upload) -> Result<bool, sqlx::Error> {
    let text =
        "select exists (select 1 from blobs where space = $1 and sha256 = $2 and upload = $3)";
    query_scalar(text)
        .bind(upload.space.as_str())
        .bind(&upload.sha256)
        .bind(upload.id)
        .fetch_one(connection)
        .await
}

/// Removes the parts of an upload that did not become a blob.
async fn forget(connection: &mut SqliteConnection, id: Uuid) -> Result<(), sqlx::Error> {
    for text in [
        "delete from blob_parts where upload = $1",
        "delete from uploads where upload = $1",
    ] {
        query(text).bind(id).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Removes the uploads that a former life of this store did not finish.
pub(super) async fn clear(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let ids = query_scalar("select upload from uploads");
    for id in ids.fetch_all(&mut *connection).await? {
        forget(connection, id).await?;
    }
    Ok(())
}

/// A blob's type, the bytes in its row, and the name of its parts.
type Row = (String, Vec<u8>, Option<Uuid>);

/// A blob by its hash.
pub(super) async fn read(
    connection: &mut SqliteConnection,
    space: &Space,
    sha256: &str,
) -> Result<Option<Blob>, StoreError> {
    let text = "select mime, bytes, upload from blobs where space = $1 and sha256 = $2";
    let row: Result<Option<Row>, _> = query_as(text)
        .bind(space.as_str())
        .bind(sha256)
        .fetch_optional(&mut *connection)
        .await;
    let Some((mime, mut bytes, upload)) = row? else {
        return Ok(None);
    };
    if let Some(id) = upload {
        let text = "select bytes from blob_parts where upload = $1 order by number";
        let parts: Vec<Vec<u8>> = query_scalar(text).bind(id).fetch_all(connection).await?;
        bytes = parts.concat();
    }
    Ok(Some(Blob {
        mime,
        bytes: bytes.into(),
    }))
}

/// The next blob of all spaces after a key.
pub(crate) async fn read_blob(
    connection: &mut SqliteConnection,
    after: &(String, String),
) -> Result<Option<(Space, String, Blob)>, StoreError> {
    let text = "select space, sha256 from blobs where (space, sha256) > ($1, $2) order by space, sha256 limit 1";
    let key: Result<Option<(String, String)>, _> = query_as(text)
        .bind(&after.0)
        .bind(&after.1)
        .fetch_optional(&mut *connection)
        .await;
    let Some((space, sha256)) = key? else {
        return Ok(None);
    };
    let space = sql::space(space)?;
    Ok(read(connection, &space, &sha256)
        .await?
        .map(|blob| (space, sha256, blob)))
}
