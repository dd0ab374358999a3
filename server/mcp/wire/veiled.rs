//! The messages of a server with its secrets taken out, before anything reads them: a key that a
//! server quotes is stored nowhere.

use rmcp::service::{RoleClient, RxJsonRpcMessage};
use serde_json::{from_value, to_value};

use super::whose::unusable;
use thinkd_words::veil::Veil;

/// Returns the message without the secrets. An answer that is none without them cannot be used; any other message is left out.
pub fn veiled(
    message: RxJsonRpcMessage<RoleClient>,
    veil: &Veil,
) -> Option<RxJsonRpcMessage<RoleClient>> {
    if veil.is_empty() {
        return Some(message);
    }
    let mut value = to_value(&message).ok()?;
    let mut is_changed = false;
    for member in ["params", "result", "error"] {
        if let Some(words) = value.get_mut(member) {
            is_changed |= veil.over_value(words);
        }
    }
    if !is_changed {
        return Some(message);
    }
    let id = value.get("id").cloned().and_then(|id| from_value(id).ok());
    from_value(value).ok().or_else(|| id.map(unusable))
}
