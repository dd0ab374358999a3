//! After a change of the model for vectors: the vectors of all that is held, in all spaces, are made with the model that is configured now, and those of
//! others are let go. What is stored already is not made again, so that whoever was cut off goes on where they were.

use super::meaning::{Meaning, Why, hash};
use crate::event::statement::Status;
use crate::log::projections::statements::Asked;
use crate::log::vectors::{Hash, Maker, PAGE, VectorChange};
use crate::words::id::Space;

/// What was done in a space.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Made {
    /// Statements that were looked at.
    pub statements: u64,
    /// Vectors that were made for them.
    pub made: u64,
    /// Statements that the model has no vector for, or that are more than may have one.
    pub without: u64,
    /// Why some have none, if there are more than may have one.
    pub why: Option<Why>,
}

impl Meaning {
    /// See the module. `tell` hears of each step; returns whose vectors there are now.
    pub async fn reembed(&self, mut tell: impl FnMut(&Space, &Made, bool)) -> Result<Maker, Why> {
        // Those of the same model with other dimensions are what this is to cure.
        let scale = self.measured(false).await?;
        for space in self
            .store
            .spaces_with_statements()
            .await
            .map_err(|error| error.to_string())?
        {
            let mut made = Made::default();
            for status in [Status::Surviving, Status::Contested] {
                let mut after = 0;
                loop {
                    let asked = Asked {
                        status: Some(status),
                        after,
                        limit: PAGE as u32,
                        ..Asked::default()
                    };
                    let rows = self
                        .store
                        .statements(&space, &asked)
                        .await
                        .map_err(|error| error.to_string())?;
                    let Some(last) = rows.last() else { break };
                    after = last.number;
                    made.statements += rows.len() as u64;
                    let room =
                        usize::try_from(made.statements - made.without).unwrap_or(usize::MAX);
                    let (scanned, beyond) = rows.split_at(
                        rows.len()
                            .saturating_sub(room.saturating_sub(self.options.exact)),
                    );
                    if !beyond.is_empty() {
                        made.why = Some(self.too_many());
                    }
                    let texts: Vec<String> = scanned
                        .iter()
                        .map(|row| self.as_statement(&row.text))
                        .collect();
                    let hashes: Vec<Hash> = texts.iter().map(|text| hash(text)).collect();
                    let known = self.stored(&scale, &hashes).await?.len() as u64;
                    let vectors = self
                        .vectors(&scale, &texts)
                        .await?
                        .into_iter()
                        .flatten()
                        .count() as u64;
                    made.made += vectors.saturating_sub(known);
                    made.without += rows.len() as u64 - vectors;
                    tell(&space, &made, false);
                }
            }
            tell(&space, &made, true);
        }
        let maker = self.maker(&scale);
        self.store
            .change_vectors(VectorChange::KeepOnly(maker.clone()))
            .await
            .map_err(|error| error.to_string())?;
        Ok(maker)
    }
}
