//! Stored vectors: their writes wait for no flush of the disk, for a model makes again the vectors
//! that a crash loses.

use async_trait::async_trait;

use super::{Postgres, sql};
use crate::error::StoreError;
use crate::kernel::VectorStore;
use crate::vectors::{Hash, Maker, PAGE, Stored, VectorChange};

#[async_trait]
impl VectorStore for Postgres {
    async fn vectors(&self, of: &Maker, hashes: &[Hash]) -> Result<Stored, StoreError> {
        let keys: Vec<&[u8]> = hashes.iter().map(<[u8; 32]>::as_slice).collect();
        let text = "select v.sha256, v.bytes from vectors v \
             where v.model = $1 and v.dimensions = $2 and v.sha256 = any($3::bytea[])";
        let query = sqlx::query_as(text)
            .bind(&of.model)
            .bind(i64::from(of.dimensions))
            .bind(keys);
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
        match change {
            VectorChange::Put(maker, vectors) => self.put_vectors(&maker, vectors).await,
            VectorChange::KeepOnly(maker) => self.keep_only_vectors(&maker).await,
        }
    }
}

impl Postgres {
    async fn put_vectors(&self, maker: &Maker, mut vectors: Stored) -> Result<(), StoreError> {
        // Of two servers that store the same, both lock in the same order.
        vectors.sort_unstable();
        let vectors = vectors.into_iter();
        let vectors = vectors.map(|(hash, bytes)| (hash.to_vec(), bytes));
        let (hashes, bytes): (Vec<Vec<u8>>, Vec<Vec<u8>>) = vectors.unzip();
        let text = "with quickly as materialized (select set_config('synchronous_commit', 'off', true)) \
             insert into vectors (model, dimensions, sha256, bytes) select $1, $2, v.sha256, v.bytes \
             from quickly, unnest($3::bytea[], $4::bytea[]) v (sha256, bytes) on conflict do nothing";
        let query = sqlx::query(text)
            .bind(&maker.model)
            .bind(i64::from(maker.dimensions))
            .bind(hashes)
            .bind(bytes);
        sql::read!(self, None, query, execute).map(|_| ())
    }

    /// A page at a time, for one that takes too long is cut off.
    async fn keep_only_vectors(&self, maker: &Maker) -> Result<(), StoreError> {
        let text = "delete from vectors where (model, dimensions, sha256) in (select model, dimensions, sha256 \
             from vectors where model <> $1 or dimensions <> $2 limit $3)";
        loop {
            let query = sqlx::query(text)
                .bind(&maker.model)
                .bind(i64::from(maker.dimensions))
                .bind(PAGE as i64);
            if sql::read!(self, None, query, execute)?.rows_affected() == 0 {
                return Ok(());
            }
        }
    }
}
