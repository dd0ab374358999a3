//! A model of a provider's prompt cache: how much of a sequence of prompts it can serve. The bench uses it, too.

use std::collections::BTreeSet;

/// Returns the number of leading bytes that two texts share.
fn common(a: &[u8], b: &[u8]) -> usize {
    let mut low = 0;
    let mut high = a.len().min(b.len());
    // Whole-slice comparisons are fast, also unoptimised.
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if a[low..middle] == b[low..middle] {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// Bytes that repeat the beginning of an earlier text, and bytes in all.
pub fn repeated(texts: &[String]) -> (usize, usize) {
    let mut sent: BTreeSet<&[u8]> = BTreeSet::new();
    let mut again = 0;
    let mut all = 0;
    for text in texts {
        let text = text.as_bytes();
        // The longest common beginning is with a neighbour in byte order.
        let neighbours = [sent.range(..=text).next_back(), sent.range(text..).next()];
        again += neighbours
            .into_iter()
            .flatten()
            .map(|other| common(text, other))
            .max()
            .unwrap_or_default();
        all += text.len();
        sent.insert(text);
    }
    (again, all)
}
