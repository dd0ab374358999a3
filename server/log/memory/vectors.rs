//! Vectors, beside the log.

use async_trait::async_trait;

use super::Memory;
use crate::error::StoreError;
use crate::kernel::VectorStore;
use crate::vectors::{Hash, Maker, Stored, VectorChange};

#[async_trait]
impl VectorStore for Memory {
    async fn vectors(&self, of: &Maker, hashes: &[Hash]) -> Result<Stored, StoreError> {
        let stored = self.stored()?;
        let known = |hash: &Hash| Some((*hash, stored.vectors.get(&(of.clone(), *hash))?.clone()));
        Ok(hashes.iter().filter_map(known).collect())
    }

    async fn other_dimensions(&self, of: &Maker) -> Result<Option<u32>, StoreError> {
        let stored = self.stored()?;
        let mut makers = stored.vectors.keys().map(|(maker, _)| maker);
        let other = makers.find(|it| it.model == of.model && *it != of);
        Ok(other.map(|maker| maker.dimensions))
    }

    async fn change_vectors(&self, change: VectorChange) -> Result<(), StoreError> {
        let mut stored = self.stored()?;
        match change {
            VectorChange::Put(maker, vectors) => vectors.into_iter().for_each(|(hash, bytes)| {
                stored.vectors.entry((maker.clone(), hash)).or_insert(bytes);
            }),
            VectorChange::KeepOnly(maker) => stored.vectors.retain(|(of, _), _| *of == maker),
        }
        Ok(())
    }
}
