//! The words of a server about all its tools together (`instructions`). They are checked, pinned
//! and withheld as its words about a single tool are.

use serde_json::{Value, json};

use super::offer::{DESCRIPTION_MAX, Offer, beginning};
use thinkd_tools::server_names::PREFIX;
use thinkd_words::text::{canonical, sha256};
use thinkd_words::unseen::first_unseen;

/// Returns the name by which a space knows the words of a server about its tools. No tool has that
/// name.
pub fn name(server: &str) -> String {
    format!("{PREFIX}{server}")
}

/// Returns the words of a server, as an offer of no tool. None: it has no words.
pub fn offer(server: &str, said: &str) -> Option<Offer> {
    let said = said.trim();
    if said.is_empty() {
        return None;
    }
    let wrong = if said.len() > DESCRIPTION_MAX {
        Some(format!("it has more than {DESCRIPTION_MAX} bytes"))
    } else {
        first_unseen(said).map(|name| format!("it has a character that people do not see ({name})"))
    };
    Some(Offer {
        name: name(server),
        original: String::new(),
        description: beginning(said, DESCRIPTION_MAX),
        schema: Value::Null,
        is_repeatable: false,
        only_reads: false,
        waits: false,
        sha256: sha256(canonical(&json!([server, said])).as_bytes()),
        sha256_marked: None,
        wrong,
    })
}
