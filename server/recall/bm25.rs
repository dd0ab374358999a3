//! The words leg of a recall: BM25 (Robertson and Zaragoza 2009) over an inverted index. A word
//! weighs by how rare it is among the statements and in its language together
//! (`recall/background.rs`). So words that a question shares with a statement by chance say little
//! in a space of any size. Pure.

use std::collections::{HashMap, HashSet};

use super::background::{Common, Fit, Language};
use super::cut::cut;
use super::forms::{form, forms, is_unspaced, words};

/// BM25's `k1` (saturation of mentions) and `b` (penalty of long texts): the values of the literature.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.75;
/// Most words of a question that count.
pub const ASKED_MAX: usize = 128;
/// A word is as common in its language as passages of so many words are that have it.
const PASSAGE: f32 = 100.0;
/// So many texts without any word of the question are counted beside those that are held: a few
/// texts do not tell which words are common. Chosen by the curve in `bench/README.md`.
const IMAGINED: f32 = 1000.0;
/// The least weight that a text and a question share where one answers the other, over the root of the
/// question's weight. Chosen by the curve in `bench/README.md`.
const ANSWERS: f32 = 1.85;
/// Bytes of a posting and of the room of a word, by which memory is counted.
const POSTING: usize = size_of::<Posting>();
const WORD: usize = 120;

/// One text in the list of a word.
#[derive(Debug, Clone, Copy)]
struct Posting {
    doc: u32,
    count: u32,
}

/// A word of the texts.
#[derive(Debug)]
struct Listed {
    common: Common,
    texts: Vec<Posting>,
}

/// See the module. Texts are known by a number that the caller gives them.
#[derive(Debug, Default)]
pub struct Index {
    /// By the forms of words.
    words: HashMap<Box<str>, Listed>,
    /// By the number of the text; none: there is no such text.
    lengths: Vec<Option<u32>>,
    texts: usize,
    total: i64,
    /// Fit of all texts to each language.
    fit: Fit,
    bytes: usize,
}

/// Returns whether a form is a character of a script without spaces: it stands beside the pairs that it
/// is in, and is no further word of the text.
fn is_beside(form: &str) -> bool {
    is_unspaced(form) && form.chars().nth(1).is_none()
}

impl Index {
    /// Takes a text in by the forms of its words.
    pub fn put(&mut self, doc: u32, words: &[String]) {
        for (word, count) in counted(words) {
            if !self.words.contains_key(word) {
                self.bytes += WORD + word.len();
                let common = Common::of(word);
                let texts = Vec::new();
                self.words.insert(word.into(), Listed { common, texts });
            }
            let Some(listed) = self.words.get_mut(word) else {
                continue;
            };
            let at = listed.texts.partition_point(|posting| posting.doc < doc);
            listed.texts.insert(at, Posting { doc, count });
            self.bytes += POSTING;
            if !is_beside(word) {
                self.fit.add(listed.common, count.into());
            }
        }
        let length = words.iter().filter(|word| !is_beside(word)).count();
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        if self.lengths.len() <= doc as usize {
            self.lengths.resize(doc as usize + 1, None);
        }
        self.lengths[doc as usize] = Some(length);
        self.texts += 1;
        self.total += i64::from(length);
    }

    /// Lets a text go, with these forms of its words.
    pub fn remove(&mut self, doc: u32, words: &[String]) {
        for (word, count) in counted(words) {
            let Some(listed) = self.words.get_mut(word) else {
                continue;
            };
            let texts = &listed.texts;
            if let Ok(at) = texts.binary_search_by_key(&doc, |posting| posting.doc) {
                listed.texts.remove(at);
                self.bytes -= POSTING;
                if !is_beside(word) {
                    self.fit.add(listed.common, -i64::from(count));
                }
            }
            if listed.texts.is_empty() {
                self.words.remove(word);
                self.bytes -= WORD + word.len();
            }
        }
        if let Some(length) = self.lengths.get_mut(doc as usize).and_then(Option::take) {
            self.texts -= 1;
            self.total -= i64::from(length);
        }
    }

    /// Memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reads a question, in the language that it and the texts fit best.
    pub fn asked(&self, question: &str) -> Asked {
        let mut fit = Fit::default();
        let forms = forms(question);
        forms.iter().for_each(|form| fit.add(Common::of(form), 1));
        Asked::of(question, fit.language(&self.fit, self.total))
    }

    /// Returns the share of a question that each text says, by its number: 0 to 1. An array of all texts,
    /// since a common word stands in most of them. Nothing says a question that tells nothing.
    pub fn scores(&self, asked: &Asked) -> Vec<f32> {
        let mut found = vec![0.0_f32; self.lengths.len()];
        if !asked.tells() {
            return found;
        }
        let whole = self.whole(asked);
        let usual = self.usual();
        for word in &asked.words {
            let weight = self.weight(word) / whole;
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

    /// The weight of a question: the sum over its words.
    fn whole(&self, asked: &Asked) -> f32 {
        asked.words.iter().map(|word| self.weight(word)).sum()
    }

    fn list(&self, form: &str) -> &[Posting] {
        self.words.get(form).map_or(&[], |listed| &listed.texts)
    }

    /// The words of a question that a text has.
    pub fn matched(&self, doc: u32, asked: &Asked) -> Vec<String> {
        let has = |form: &str| self.list(form).binary_search_by_key(&doc, |it| it.doc);
        let words = asked.words.iter().filter(|word| has(&word.form).is_ok());
        words.map(|word| word.word.clone()).collect()
    }

    /// The weight of a word: the rarer in its language and in this space, the larger. Squared, since it
    /// counts in the question and in the text, as in cosines of tf–idf.
    #[expect(clippy::cast_precision_loss, reason = "counts of texts")]
    fn weight(&self, word: &Word) -> f32 {
        let here = self.list(&word.form).len() as f32 / (self.texts as f32 + IMAGINED);
        squared(word.by_chance + here)
    }

    /// The usual length of a text, in words.
    #[expect(clippy::cast_precision_loss, reason = "a count of words")]
    fn usual(&self) -> f32 {
        (self.total as f32 / self.texts.max(1) as f32).max(1.0)
    }

    /// Weight of a mention, 1 in a text of usual length.
    #[expect(clippy::cast_precision_loss, reason = "lengths of texts")]
    fn mention(&self, posting: &Posting, usual: f32) -> f32 {
        let length = self.lengths[posting.doc as usize].unwrap_or(0) as f32 / usual;
        let count = posting.count as f32;
        count * (SATURATION + 1.0) / (count + SATURATION * (1.0 - LENGTH + LENGTH * length))
    }
}

fn counted(words: &[String]) -> HashMap<&str, u32> {
    let mut counts = HashMap::new();
    for word in words {
        *counts.entry(word.as_str()).or_default() += 1;
    }
    counts
}

/// The weight of a word that such a share of texts have.
fn squared(share: f32) -> f32 {
    (1.0 + 1.0 / share).ln().powi(2)
}

/// A question as its words, each once.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    language: Language,
    words: Vec<Word>,
}

#[derive(Debug, Clone)]
struct Word {
    /// As it stands in the question, folded.
    word: String,
    form: String,
    /// The share of passages in its language that have it.
    by_chance: f32,
}

impl Word {
    fn of(word: String, language: Language) -> Self {
        let form = form(&word);
        let by_chance = -(-Common::of(&form).share(language) * PASSAGE).exp_m1();
        Self {
            word,
            form,
            by_chance,
        }
    }
}

impl Asked {
    /// Reads a question, or a name in it, in its language.
    fn of(question: &str, language: Language) -> Self {
        let words = words(question).into_iter();
        let words = words.flat_map(|word| match is_unspaced(&word) {
            true => cut(&word, language),
            false => vec![word],
        });
        let words = words.take(ASKED_MAX).map(|word| Word::of(word, language));
        let mut seen = HashSet::new();
        let words = words.filter(|word| seen.insert(word.form.clone()));
        Self {
            language,
            words: words.collect(),
        }
    }

    /// Returns true if a word of it tells of something. Words that stand in every sentence, as
    /// "what" and "I" in English, find nothing by themselves, in any number.
    pub fn tells(&self) -> bool {
        let least = ANSWERS * ANSWERS;
        let mut weights = self.words.iter().map(|it| squared(it.by_chance));
        weights.any(|weight| weight >= least)
    }

    /// Returns whether a name in it tells of something.
    pub fn tells_of(&self, name: &str) -> bool {
        Self::of(name, self.language).tells()
    }
}
