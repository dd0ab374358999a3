//! Cursors of lists: where the next page begins, bound to the question that the page was of.
//! They are opaque to clients; one that was changed, or belongs to another question, is refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::edge::problem::{Problem, Slug};

const SUM: usize = 12;

fn sum(question: &str, at: &str) -> [u8; SUM] {
    let digest = Sha256::new()
        .chain_update(question)
        .chain_update([0])
        .chain_update(at)
        .finalize();
    std::array::from_fn(|index| digest[index])
}

/// The cursor of what follows `at` in the answer to `question`.
pub fn write(question: &str, at: &str) -> String {
    let mut bytes = sum(question, at).to_vec();
    bytes.extend_from_slice(at.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Where a cursor stands.
pub fn read(question: &str, cursor: &str) -> Result<String, Problem> {
    let at = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| {
        let (given, at) = bytes.split_at_checked(SUM)?;
        let at = std::str::from_utf8(at).ok()?;
        (given == sum(question, at)).then(|| at.to_owned())
    });
    at.ok_or_else(|| {
        Problem::new(
            Slug::InvalidCursor,
            "this cursor is none of this query; use `next` of its last page",
        )
    })
}
