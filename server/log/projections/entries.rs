//! Entries of the internal state: notes that a module keeps for itself, found by key or by words.

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Projection, set_of};
use crate::error::StoreError;
use crate::kernel::Store;
use crate::migrations::migration;
use crate::select::Select;
use crate::shown::json;
use crate::table::{Row, Table, Words, integer, text};
use crate::words;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set;
use thinkd_words::id::{Seq, Space};
use thinkd_words::time::Timestamp;

/// One entry of the internal state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRow {
    /// Its key.
    pub key: String,
    /// Its text.
    pub content: String,
    /// Keys it is related to.
    pub related_keys: Vec<String>,
    /// The module that wrote it last (`decision`, `submodule:<name>`).
    pub owner: String,
    /// When it was last written.
    pub updated: Timestamp,
    /// The event that wrote it last.
    pub seq: Seq,
}

/// Most entries that are looked at for one word of a search.
const CANDIDATES: u32 = 200;
/// Words of a search that count.
const WORDS: usize = 8;

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: Some(set::Kind::Entry),
    migrations: &[migration!("0029_notes_know_their_event")],
    fold,
};

static TABLE: Table = Table {
    name: "entries",
    key: &[text("space"), text("key")],
    rest: &[
        text("content"),
        text("related_keys"),
        text("owner"),
        integer("updated"),
        integer("seq"),
    ],
    words: Some(Words {
        table: "entry_words",
        of: words_of_row,
    }),
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let (key, set::Change::Entry(note)) = set_of(fact)? else {
        return None;
    };
    let key = TABLE.keyed(space, &event.thread, key);
    let Some(note) = note else {
        return Some(Change::Remove(key));
    };
    // Before they are written as JSON, which hides a NUL.
    let clean = |key: &String| key.replace('\0', "\u{fffd}");
    let Ok(related_keys) = json(&note.related_keys.iter().map(clean).collect::<Vec<_>>()) else {
        return Some(Change::Unreadable);
    };
    Some(Change::Put(key.with([
        ("content", note.content.clone().into()),
        ("related_keys", related_keys.into()),
        ("owner", note.owner.clone().into()),
        ("updated", event.ts.into()),
        ("seq", event.seq.into()),
    ])))
}

fn read(row: &Row) -> Result<EntryRow, StoreError> {
    Ok(EntryRow {
        key: row.text("key")?.to_owned(),
        content: row.text("content")?.to_owned(),
        related_keys: row.json("related_keys")?,
        owner: row.text("owner")?.to_owned(),
        updated: row.time("updated")?,
        seq: row.integer("seq")?,
    })
}

fn words_of_row(row: &Row) -> BTreeSet<String> {
    read(row).map(|entry| words_of(&entry)).unwrap_or_default()
}

/// The words under which an entry is found.
fn words_of(entry: &EntryRow) -> BTreeSet<String> {
    let related = entry.related_keys.join("\n");
    words::tokens(&format!("{}\n{}\n{related}", entry.key, entry.content))
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// One state entry.
    pub async fn entry(&self, space: &Space, key: &str) -> Result<Option<EntryRow>, StoreError> {
        let of_key = Select::of(&TABLE, space).equal("key", key);
        self.read_first(of_key, read).await
    }

    /// State entries by key, those after `after`, at most `limit`.
    pub async fn entries(
        &self,
        space: &Space,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<EntryRow>, StoreError> {
        let all = Select::of(&TABLE, space);
        // The empty text is a key, too: it comes first, but not after itself.
        let asked = match after {
            Some(after) => all.after("key", after),
            None => all,
        };
        let page = asked.order_by(&["key"]).first(limit);
        self.read(page, read).await
    }

    /// State entries that have any of the words (in key, content or related keys), best first, at most `limit`.
    pub async fn search_entries(
        &self,
        space: &Space,
        words: &str,
        limit: u32,
    ) -> Result<Vec<EntryRow>, StoreError> {
        let mut words = words::asked(words);
        words.truncate(WORDS);
        let with = async |words: &[String]| {
            let rows = self.rows_with(&TABLE, space, words, CANDIDATES).await?;
            rows.iter()
                .map(|row| read(row).map(|entry| (entry.key.clone(), entry)))
                .collect::<Result<Vec<_>, StoreError>>()
        };
        let mut found = BTreeMap::new();
        let mut asked = Vec::new();
        if words.len() > 1 {
            // Those with all the words are among the candidates, however common each word is.
            found.extend(with(&words).await?);
        }
        for word in words {
            let entries = with(std::slice::from_ref(&word)).await?;
            asked.push((word, entries.len()));
            found.extend(entries);
        }
        Ok(ranked(found.into_values().collect(), &asked, limit))
    }
}

/// The entries by how many of the words they have, rare words counting more; newest first among equals.
/// `frequencies`: how many candidates each word brought.
fn ranked(candidates: Vec<EntryRow>, frequencies: &[(String, usize)], limit: u32) -> Vec<EntryRow> {
    let scored = candidates.into_iter();
    let scored = scored.map(|entry| (score(&entry, frequencies), entry));
    let mut scored: Vec<(f64, EntryRow)> = scored.collect();
    scored.sort_by(|(a, left), (b, right)| {
        b.total_cmp(a)
            .then(right.updated.cmp(&left.updated))
            .then(left.key.cmp(&right.key))
    });
    let best = scored.into_iter().take(limit as usize);
    best.map(|(_, entry)| entry).collect()
}

fn score(entry: &EntryRow, frequencies: &[(String, usize)]) -> f64 {
    let names = words::tokens(&entry.key);
    let all = words_of(entry);
    let weight = |(word, found): &(String, usize)| match (names.contains(word), all.contains(word))
    {
        (true, _) => 2.0 * rarity(*found),
        (false, true) => rarity(*found),
        (false, false) => 0.0,
    };
    frequencies.iter().map(weight).sum()
}

fn rarity(found: usize) -> f64 {
    1.0 + (1.0 + f64::from(CANDIDATES) / found.max(1) as f64).ln()
}
