//! Stored vectors, over a connection of their own: their writes wait for no flush of the disk, for
//! a model makes again the vectors that a crash loses.

use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnection, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};

use super::{Sqlite, json, sql};
use crate::error::StoreError;
use crate::kernel::VectorStore;
use crate::vectors::{Hash, Maker, PAGE, Stored, VectorChange};

/// The connection, opened when something is written first.
#[derive(Default)]
pub(super) struct Writing(tokio::sync::Mutex<Option<SqliteConnection>>);

impl Writing {
    pub async fn close(&self) {
        if let Some(connection) = self.0.lock().await.take()
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "the connection for vectors was not closed in order; nothing is lost");
        }
    }
}

#[async_trait]
impl VectorStore for Sqlite {
    async fn vectors(&self, of: &Maker, hashes: &[Hash]) -> Result<Stored, StoreError> {
        let hex = |hash: &Hash| hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let keys: Vec<String> = hashes.iter().map(hex).collect();
        let text = "select v.sha256, v.bytes from json_each($1) k cross join vectors v \
             where v.model = $2 and v.dimensions = $3 and v.sha256 = unhex(k.value)";
        let query = sqlx::query_as(text)
            .bind(json(&keys)?)
            .bind(&of.model)
            .bind(of.dimensions);
        let rows: Vec<(Vec<u8>, Vec<u8>)> = sql::read!(self, None, query, fetch_all)?;
        sql::hashed_rows(rows)
    }

    async fn other_dimensions(&self, of: &Maker) -> Result<Option<u32>, StoreError> {
        let query = sqlx::query_scalar(sql::OTHER_DIMENSIONS)
            .bind(&of.model)
            .bind(i64::from(of.dimensions));
        sql::dimensions(sql::read!(self, None, query, fetch_optional)?)
    }

    async fn change_vectors(&self, change: VectorChange) -> Result<(), StoreError> {
        self.broken.check()?;
        let mut writing = self.vectors.0.lock().await;
        let connection = match &mut *writing {
            Some(connection) => connection,
            none => {
                let options = self.options.clone().synchronous(SqliteSynchronous::Normal);
                none.insert(options.connect().await.map_err(sql::error)?)
            }
        };
        let changed = match change {
            VectorChange::Put(maker, vectors) => put(connection, &maker, vectors).await,
            VectorChange::KeepOnly(maker) => keep_only(connection, &maker).await,
        };
        changed
            .inspect_err(|error| self.broken.note(error))
            .map_err(sql::error)
    }
}

async fn put(
    connection: &mut SqliteConnection,
    maker: &Maker,
    vectors: Stored,
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with("begin immediate").await?;
    for (hash, bytes) in vectors {
        let text = "insert into vectors (model, dimensions, sha256, bytes) values ($1, $2, $3, $4) on conflict do nothing";
        let insert = sqlx::query(text).bind(&maker.model).bind(maker.dimensions);
        let insert = insert.bind(hash.to_vec()).bind(bytes);
        insert.execute(&mut *transaction).await?;
    }
    transaction.commit().await
}

/// A page at a time, for appends wait meanwhile.
async fn keep_only(connection: &mut SqliteConnection, maker: &Maker) -> Result<(), sqlx::Error> {
    let text = "delete from vectors where (model, dimensions, sha256) in (select model, dimensions, sha256 from vectors \
         where model <> $1 or dimensions <> $2 limit $3)";
    loop {
        let delete = sqlx::query(text)
            .bind(&maker.model)
            .bind(maker.dimensions)
            .bind(PAGE as i64);
        if delete.execute(&mut *connection).await?.rows_affected() == 0 {
            return Ok(());
        }
    }
}
