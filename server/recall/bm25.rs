//! The words leg of a recall: BM25 (Robertson and Zaragoza 2009) over an inverted index. A word weighs
//! by how rare it is among the statements and in its language together (`recall/background.rs`), so
//! that what a question shares with a statement by chance says little in a space of any size. Pure.

use std::collections::{HashMap, HashSet};

use super::background::share;
use super::forms::{form, is_unspaced};
use crate::log::words::sequence;

/// BM25's `k1` (saturation of mentions) and `b` (penalty of long texts): the values of the literature.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.75;
/// Most words of a question that count.
pub const ASKED_MAX: usize = 128;
/// So many texts without any word of the question are counted beside those that are held: of a few
/// texts nobody can say which words are common. Chosen by the curve in `bench/README.md`.
const IMAGINED: f32 = 3000.0;
/// The least weight that a text and a question share where one answers the other, over the root of the
/// question's weight. Chosen by the curve in `bench/README.md`.
const ANSWERS: f32 = 2.3;
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
#[derive(Debug, Default)]
pub struct Index {
    /// By the forms of words.
    words: HashMap<Box<str>, Vec<Posting>>,
    /// By the number of the text; none: there is no such text.
    lengths: Vec<Option<u32>>,
    texts: usize,
    total: u64,
    bytes: usize,
}

impl Index {
    /// Takes a text in by the forms of its words.
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
        // Characters of a script without spaces stand beside the pairs that they are in.
        let is_beside = |word: &&String| is_unspaced(word) && word.chars().nth(1).is_none();
        let length = words.iter().filter(|word| !is_beside(word)).count();
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        if self.lengths.len() <= doc as usize {
            self.lengths.resize(doc as usize + 1, None);
        }
        self.lengths[doc as usize] = Some(length);
        self.texts += 1;
        self.total += u64::from(length);
    }

    /// Lets a text go, whose words have these forms.
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

    /// Returns the share of a question that each text says, by its number: 0 to 1. An array of all texts,
    /// since a common word stands in most of them.
    pub fn scores(&self, asked: &Asked) -> Vec<f32> {
        let (mut found, whole) = (vec![0.0_f32; self.lengths.len()], self.whole(asked));
        let usual = self.usual();
        for word in &asked.words {
            let weight = self.weight(&word.form) / whole;
            for posting in self.list(&word.form) {
                found[posting.doc as usize] += weight * self.mention(posting, usual);
            }
        }
        found.iter_mut().for_each(|score| *score = score.min(1.0));
        found
    }

    /// Returns the least share of a question that answers it: more than unrelated questions share with
    /// some text by chance. It falls with the root of the question's weight, and is half at most: so a
    /// name that all texts have is found.
    pub fn relevant(&self, asked: &Asked) -> f32 {
        (ANSWERS / self.whole(asked).sqrt()).min(0.5)
    }

    /// Returns how rare a text is in its language, summed over its words.
    pub fn rarity(&self, of: &Asked) -> f32 {
        let rare = |word: &Word| (1.0 + 1.0 / self.by_chance(&word.form)).ln().powi(2);
        of.words.iter().map(rare).sum()
    }

    /// Returns the least rarity of a name that a question tells of: that of what answers it, or of its usual word. "I" is
    /// below, though statements may be about an "I".
    #[expect(clippy::cast_precision_loss, reason = "a count of words")]
    pub fn least_rarity(&self, asked: &Asked) -> f32 {
        let all = self.rarity(asked);
        (all / asked.words.len().max(1) as f32).min(ANSWERS * all.sqrt())
    }

    /// The weight of a question: the sum over its words.
    fn whole(&self, asked: &Asked) -> f32 {
        asked.words.iter().map(|word| self.weight(&word.form)).sum()
    }

    fn list(&self, form: &str) -> &[Posting] {
        self.words.get(form).map_or(&[], Vec::as_slice)
    }

    /// The words of a question that a text has.
    pub fn matched(&self, doc: u32, asked: &Asked) -> Vec<String> {
        let has = |word: &&Word| {
            self.list(&word.form)
                .binary_search_by_key(&doc, |posting| posting.doc)
                .is_ok()
        };
        asked
            .words
            .iter()
            .filter(has)
            .map(|word| word.word.clone())
            .collect()
    }

    /// The weight of a word: the rarer in its language and in this space, the larger. Squared, since it
    /// counts in the question and in the text, as in cosines of tf–idf.
    #[expect(clippy::cast_precision_loss, reason = "counts of texts")]
    fn weight(&self, form: &str) -> f32 {
        let by_chance = self.by_chance(form);
        let here = self.list(form).len() as f32 / (self.texts as f32 + IMAGINED);
        (1.0 + 1.0 / (by_chance + here)).ln().powi(2)
    }

    /// The share of texts of usual length that have a word by chance.
    fn by_chance(&self, form: &str) -> f32 {
        -(-share(form) * self.usual()).exp_m1()
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

fn counted(words: &[String]) -> HashMap<&str, u32> {
    let mut counts = HashMap::new();
    words
        .iter()
        .for_each(|word| *counts.entry(word.as_str()).or_default() += 1);
    counts
}

/// A question as its words, each once.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    words: Vec<Word>,
}

#[derive(Debug, Clone)]
struct Word {
    /// As it stands in the question, folded.
    word: String,
    form: String,
}

impl Asked {
    /// Reads a question.
    pub fn of(question: &str) -> Self {
        let mut seen = HashSet::new();
        let words = sequence(question).into_iter().take(ASKED_MAX);
        let words = words.map(|word| Word {
            form: form(&word),
            word,
        });
        Self {
            words: words
                .filter(|word| seen.insert(word.form.clone()))
                .collect(),
        }
    }
}
