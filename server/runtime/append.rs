//! An append of the runtime itself, and what follows from it at once.

use crate::event::draft::Draft;
use crate::log::appended::{Append, Appended, Placed};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::mind::turn::driver::OnStored;
use crate::words::id::Space;

/// Appends events that need no lease, and tells of each that is stored.
pub(super) async fn append_told(
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
