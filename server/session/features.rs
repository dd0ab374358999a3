//! A session appends the events of features, and reads the rows of their tables.

use super::handle::{Error, Session};
use super::right::Right;
use thinkd_event::draft::Draft;
use thinkd_log::appended::Placed;
use thinkd_log::select::Select;
use thinkd_log::table::{Row, Table};

impl Session {
    /// Appends events of a feature to threads of the space, all or none, for a principal with this
    /// right. Returns after the commit. Their first tag is the feature's name: the kernel gives no
    /// other meaning to them.
    pub async fn append(&self, right: Right, drafts: Vec<Draft>) -> Result<Vec<Placed>, Error> {
        let (runtime, space) = self.acting(right)?;
        runtime.open(space).await?;
        Ok(runtime.append_free(space, drafts).await?)
    }

    /// Returns the rows of the space in a feature's table that `asked` asks for.
    pub async fn rows(
        &self,
        table: &'static Table,
        asked: impl FnOnce(Select) -> Select,
    ) -> Result<Vec<Row>, Error> {
        let (store, space) = self.reading()?;
        Ok(store.select(asked(Select::of(table, space))).await?)
    }
}
