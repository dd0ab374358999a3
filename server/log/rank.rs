//! Which of some state entries answer a search best. Pure: the databases bring candidates, so both give the same answer.

use std::collections::BTreeSet;

use super::store::Entry;
use super::words;

/// Most entries that are looked at for one word of a search.
pub(super) const CANDIDATES: i64 = 200;
/// Words of a search for entries that count.
pub(super) const ENTRY_WORDS: usize = 8;

/// The entries by how many of the words they have, rare words counting more; newest first among equals.
/// `frequencies`: how many candidates each word brought.
pub(super) fn ranked(candidates: Vec<Entry>, asked: &[(String, usize)], limit: u32) -> Vec<Entry> {
    let mut scored: Vec<(f64, Entry)> = candidates.into_iter().map(|entry| (score(&entry, asked), entry)).collect();
    scored.sort_by(|(a, left), (b, right)| {
        b.total_cmp(a).then(right.updated.cmp(&left.updated)).then(left.key.cmp(&right.key))
    });
    scored.into_iter().take(limit as usize).map(|(_, entry)| entry).collect()
}

fn score(entry: &Entry, asked: &[(String, usize)]) -> f64 {
    let names = words::of(&entry.key);
    let all = entry_words(&entry.key, &entry.content, &entry.related_keys);
    let weight = |(word, found): &(String, usize)| match (names.contains(word), all.contains(word)) {
        (true, _) => 2.0 * rarity(*found),
        (false, true) => rarity(*found),
        (false, false) => 0.0,
    };
    asked.iter().map(weight).sum()
}

fn rarity(found: usize) -> f64 {
    1.0 + (1.0 + CANDIDATES as f64 / found.max(1) as f64).ln()
}

/// The words under which an entry is found.
pub(super) fn entry_words(key: &str, content: &str, related_keys: &[String]) -> BTreeSet<String> {
    words::of(&format!("{key}\n{content}\n{}", related_keys.join("\n")))
}
