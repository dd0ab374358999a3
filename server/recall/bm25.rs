//! The words leg of a recall: an inverted index over statements, and BM25 as the share of what is asked that a statement says. Pure.

use std::collections::{HashMap, HashSet};

use crate::log::words::{is_between, sequence};

/// How soon another mention of a word adds nothing, and how much a long text is held against it.
const SATURATION: f32 = 0.9;
const LENGTH: f32 = 0.4;
/// Most words of a question that count.
pub const ASKED_MAX: usize = 128;
/// So many characters has a word that is not a short one: in most languages short words are the common ones.
const LONG: f32 = 7.0;
/// What a word counts that no text has and that looks like no name: most of these are words that only questions have.
const UNKNOWN: f32 = 0.5;
/// What a part of a name counts in a text that does not have the whole name: it may be about a namesake.
const PART: f32 = 0.3;
/// What a text has of a name that it names.
const MOST: f32 = 2.0 / 3.0;
/// Texts are counted among so many at least: where there are fewer, the rest is imagined. Of one text alone nobody could say which of its words are
/// common, and the words that only questions have would outweigh all that it says.
const FEW: usize = 20;
/// The share of imagined texts that have a word of so many letters, from one on: short words are the common ones. Longer ones, and those of scripts in
/// which length says nothing, stand in none.
const COMMON: [f32; 8] = [0.7, 0.7, 0.7, 0.25, 0.1, 0.05, 0.05, 0.02];
/// Bytes of a posting and of the room of a word, by which memory is counted.
const POSTING: usize = size_of::<Posting>();
const WORD: usize = 96;

/// One text in the list of a word.
#[derive(Debug, Clone, Copy)]
struct Posting {
    doc: u32,
    count: u32,
}

/// See the module. Texts are known by a number that the caller gives them.
#[derive(Debug)]
pub struct Index {
    words: HashMap<Box<str>, Vec<Posting>>,
    /// By the number of the text; none: there is no such text.
    lengths: Vec<Option<u32>>,
    texts: usize,
    /// As many texts it stands for at least.
    least: usize,
    total: u64,
    bytes: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self::standing_for(FEW)
    }
}

impl Index {
    /// An empty one that stands for so many texts at least: where it has fewer, the rest is imagined.
    pub fn standing_for(least: usize) -> Self {
        let (words, lengths) = (HashMap::new(), Vec::new());
        Self {
            words,
            lengths,
            texts: 0,
            least,
            total: 0,
            bytes: 0,
        }
    }

    /// Takes a text in by its words.
    pub fn put(&mut self, doc: u32, words: &[String]) {
        for (word, count) in counted(words) {
            if !self.words.contains_key(word) {
                self.bytes += WORD + word.len();
                self.words.insert(word.into(), Vec::new());
            }
            let Some(list) = self.words.get_mut(word) else {
                continue;
            };
            let at = list.partition_point(|posting| posting.doc < doc);
            list.insert(at, Posting { doc, count });
            self.bytes += POSTING;
        }
        let length = u32::try_from(words.len()).unwrap_or(u32::MAX);
        if self.lengths.len() <= doc as usize {
            self.lengths.resize(doc as usize + 1, None);
        }
        self.lengths[doc as usize] = Some(length);
        self.texts += 1;
        self.total += u64::from(length);
    }

    /// Lets a text go, which has these words.
    pub fn remove(&mut self, doc: u32, words: &[String]) {
        for word in counted(words).into_keys() {
            let Some(list) = self.words.get_mut(word) else {
                continue;
            };
            if let Ok(at) = list.binary_search_by_key(&doc, |posting| posting.doc) {
                list.remove(at);
                self.bytes -= POSTING;
            }
            if list.is_empty() {
                self.words.remove(word);
                self.bytes -= WORD + word.len();
            }
        }
        if let Some(length) = self.lengths.get_mut(doc as usize).and_then(Option::take) {
            self.texts -= 1;
            self.total -= u64::from(length);
        }
    }

    /// Memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How much of what is asked each text says, by its number: 0 to 1. It is 1 where a text of usual length has every word once, and 0 where it says
    /// nothing of it. The measure is the question, not the best text: what says little of it has a low score even where nothing says more.
    ///
    /// An array of all texts, since a common word stands in most of them.
    pub fn scores(&self, asked: &Asked) -> Vec<f32> {
        let (mut found, mut whole) = (vec![0.0_f32; self.lengths.len()], 0.0);
        for unit in self.units(asked) {
            match unit.words.as_slice() {
                [word] => whole += self.each(word, unit.is_name, |doc, score| found[doc] += score),
                words => whole += self.add_name(words, unit.is_name, &mut found),
            }
        }
        // Of what has no words nothing says anything.
        if whole > 0.0 {
            found
                .iter_mut()
                .for_each(|score| *score = (*score / whole).min(1.0));
        }
        found
    }

    /// Tells what a word says for each text that has it, and returns what it counts.
    fn each(&self, word: &str, is_name: bool, mut tell: impl FnMut(usize, f32)) -> f32 {
        let list = self.list(word);
        let weight = self.weight(word, list.len(), is_name);
        let usual = self.usual();
        list.iter()
            .for_each(|posting| tell(posting.doc as usize, weight * self.mention(posting, usual)));
        weight
    }

    /// The same for several words that are one name: a text that does not have them all has a part of it.
    fn add_name(&self, words: &[String], is_name: bool, found: &mut [f32]) -> f32 {
        let mut parts = HashMap::<usize, (f32, usize)>::new();
        let mut whole = 0.0;
        for word in words {
            whole += self.each(word, is_name, |doc, score| {
                let part = parts.entry(doc).or_default();
                *part = (part.0 + score, part.1 + 1);
            });
        }
        for (doc, (score, count)) in parts {
            found[doc] += if count == words.len() {
                score
            } else {
                PART * score
            };
        }
        whole
    }

    /// Whether a question names something of which no text has a word.
    pub fn names_unknown(&self, asked: &Asked) -> bool {
        let is_unknown =
            |unit: &Unit| unit.is_name && unit.words.iter().all(|word| self.list(word).is_empty());
        self.units(asked).iter().any(is_unknown)
    }

    /// Whether a question names something that no text names, though some may have a word of it.
    pub fn names_nobody(&self, asked: &Asked) -> bool {
        self.units(asked)
            .iter()
            .any(|unit| unit.is_name && !self.is_known(&unit.words))
    }

    /// Whether some text has most of a name, by what its words tell: one that has a common part of it, or half, names somebody else.
    fn is_known(&self, name: &[String]) -> bool {
        if let [word] = name {
            return !self.list(word).is_empty();
        }
        let (mut has, mut whole) = (vec![0.0_f32; self.lengths.len()], 0.0);
        for word in name {
            let list = self.list(word);
            let weight = self.weight(word, list.len(), true);
            whole += weight;
            list.iter()
                .for_each(|posting| has[posting.doc as usize] += weight);
        }
        has.into_iter().any(|part| part >= MOST * whole)
    }

    /// The units of a question, each word once. A word at the beginning that nobody knows is no part of a name: it is written large there anyway.
    fn units(&self, asked: &Asked) -> Vec<Unit> {
        let (mut seen, mut units) = (HashSet::new(), Vec::new());
        for (at, unit) in asked.units.iter().enumerate() {
            let mut unit = unit.clone();
            if at == 0
                && unit.is_name
                && unit
                    .words
                    .first()
                    .is_some_and(|word| self.list(word).is_empty())
            {
                let word = unit.words.remove(0);
                units.push(Unit {
                    is_name: false,
                    words: vec![word],
                });
            }
            unit.words.retain(|word| seen.insert(word.clone()));
            units.push(unit);
        }
        units.retain(|unit| !unit.words.is_empty());
        units
    }

    fn list(&self, word: &str) -> &[Posting] {
        self.words.get(word).map_or(&[], Vec::as_slice)
    }

    /// The words of a question that a text has.
    pub fn matched(&self, doc: u32, asked: &Asked) -> Vec<String> {
        let has = |word: &&String| {
            self.list(word)
                .binary_search_by_key(&doc, |posting| posting.doc)
                .is_ok()
        };
        let mut words: Vec<String> = asked
            .units
            .iter()
            .flat_map(|unit| &unit.words)
            .filter(has)
            .cloned()
            .collect();
        let mut seen = HashSet::new();
        words.retain(|word| seen.insert(word.clone()));
        words
    }

    /// What a word tells: the rarer it is, the more. What no text has may be a name that nothing is known of, or a word that only questions have.
    #[expect(clippy::cast_precision_loss, reason = "counts of texts and characters")]
    fn weight(&self, word: &str, texts: usize, is_name: bool) -> f32 {
        let imagined = self.least.saturating_sub(self.texts) as f32;
        let common = if is_name || !word.is_ascii() {
            0.0
        } else {
            share(word)
        };
        let (all, known) = (
            self.texts as f32 + imagined,
            imagined.mul_add(common, texts as f32),
        );
        let weight = (1.0 + (all - known + 0.5) / (known + 0.5)).ln();
        match texts == 0 && !is_name {
            true if word.is_ascii() => {
                // What is imagined of it counts its length already.
                let (part, long) = (imagined / all, (word.len() as f32 / LONG).min(1.0));
                weight * UNKNOWN * part.mul_add(1.0 - long, long)
            }
            true => weight * UNKNOWN,
            false => weight,
        }
    }

    /// The usual length of a text, in words.
    #[expect(clippy::cast_precision_loss, reason = "a count of words")]
    fn usual(&self) -> f32 {
        (self.total as f32 / self.texts.max(1) as f32).max(1.0)
    }

    /// What a mention counts, 1 in a text of usual length.
    #[expect(clippy::cast_precision_loss, reason = "lengths of texts")]
    fn mention(&self, posting: &Posting, usual: f32) -> f32 {
        let length = self.lengths[posting.doc as usize].unwrap_or(0) as f32 / usual;
        let count = posting.count as f32;
        count * (SATURATION + 1.0) / (count + SATURATION * (1.0 - LENGTH + LENGTH * length))
    }
}

/// The share of imagined texts that have a word.
fn share(word: &str) -> f32 {
    COMMON
        .get(word.len().saturating_sub(1))
        .copied()
        .unwrap_or(0.0)
}

fn counted(words: &[String]) -> HashMap<&str, u32> {
    let mut counts = HashMap::new();
    words
        .iter()
        .for_each(|word| *counts.entry(word.as_str()).or_default() += 1);
    counts
}

/// A question as its words: those of a name belong together.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    units: Vec<Unit>,
}

/// Words that are one thing.
#[derive(Debug, Clone)]
struct Unit {
    is_name: bool,
    words: Vec<String>,
}

impl Asked {
    /// Reads a question. What is written large, where a script has that, is taken for a name, and with what follows it for one.
    pub fn of(question: &str) -> Self {
        let (mut units, mut count): (Vec<Unit>, usize) = (Vec::new(), 0);
        for piece in question.split(is_between).filter(|piece| !piece.is_empty()) {
            let words = sequence(piece);
            count += words.len();
            if count > ASKED_MAX {
                break;
            }
            let is_name = piece.chars().next().is_some_and(char::is_uppercase);
            match units.last_mut() {
                Some(last) if last.is_name && is_name => last.words.extend(words),
                _ if is_name => units.push(Unit { is_name, words }),
                _ => units.extend(words.into_iter().map(|word| Unit {
                    is_name,
                    words: vec![word],
                })),
            }
        }
        Self { units }
    }
}
