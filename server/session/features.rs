//! A session appends the events of features, and reads the rows of their tables.

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_event::draft::Draft;
use thinkd_event::fact::Fact;
use thinkd_log::appended::Placed;
use thinkd_log::select::Select;
use thinkd_log::table::{Row, Table};
use thinkd_runtime::refused::Refused;

impl Session {
    /// Appends events of a feature to threads of the space, all or none, for a principal that may
    /// speak. Returns after the commit. An event that the kernel knows is refused: each act of the
    /// kernel has a method and a right of its own.
    pub async fn append(&self, drafts: Vec<Draft>) -> Acted<Vec<Placed>> {
        let (runtime, space) = self.acting(Right::Speak)?;
        let is_known = |draft: &Draft| !matches!(draft.fact(), Fact::Unknown(_)) || draft.wakes();
        if let Some(draft) = drafts.iter().find(|draft| is_known(draft)) {
            let tags = draft.tags.join(", ");
            let text = format!("an event with the tags {tags} is the kernel's, not a feature's");
            return Err(Refused::Unprocessable(text).into());
        }
        runtime.open(space).await?;
        Ok(runtime.append_free(space, drafts).await?)
    }

    /// Returns the rows of the space in a feature's table that `asked` asks for.
    pub async fn rows(
        &self,
        table: &'static Table,
        asked: impl FnOnce(Select) -> Select,
    ) -> Acted<Vec<Row>> {
        let (store, space) = self.reading()?;
        let select = asked(Select::of(table, space));
        if !select.is_of(table, space) {
            let text = format!("rows of {} are asked for in this space only", table.name);
            return Err(Refused::Unprocessable(text).into());
        }
        Ok(store.select(select).await?)
    }
}
