//! An append of the runtime itself, and its immediate consequences.

use thinkd_event::draft::Draft;
use thinkd_log::appended::{Append, Appended, Placed};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_mind::turn::driver::OnStored;
use thinkd_words::id::Space;

/// Appends events that need no lease, and tells of each that is stored.
pub async fn append_told(
    store: &dyn Store,
    on_stored: &OnStored,
    space: &Space,
    drafts: Vec<Draft>,
) -> Result<Vec<Placed>, StoreError> {
    let Appended::Stored(placed) = store.append(Append::free(space, drafts)).await? else {
        return Ok(Vec::new());
    };
    for placed in &placed {
        on_stored(space, &placed.shown.event);
    }
    Ok(placed)
}
