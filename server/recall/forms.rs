//! The forms by which words are compared in a recall: inflected words of one stem have one form, in
//! any language, without a guess at the language. Pure.
//!
//! `Fridays`, `friday` → `friday`; `Brücke`, `Brucken` → `bruck`; `wifi-passwords` → `wifi`, `passwor`.
//! A word is its first letters, without accents and without endings such as `e`, `n` and `s`: cut-off words
//! find as much as stemmers of one language do (McNamee and Mayfield 2004). Codes and numbers stay whole.

use unicode_normalization::UnicodeNormalization as _;

use crate::log::words::sequence;

/// Letters of a word that count. Chosen by the curve in `bench/README.md`.
const LETTERS: usize = 7;
/// Letters that end inflected words: plurals and cases of Latin scripts, vowels of Cyrillic ones.
const ENDINGS: &str = "ensаеиоуыюяь";
/// Accents of Latin, Greek and Cyrillic letters; marks of other scripts are vowels.
const ACCENTS: std::ops::RangeInclusive<char> = '\u{300}'..='\u{36F}';
/// A word keeps so many letters.
const LEAST: usize = 3;

/// The forms of a text's words, in order, each as often as it stands there.
pub fn forms(text: &str) -> Vec<String> {
    sequence(text).iter().map(|word| form(word)).collect()
}

/// The form of a word as `sequence` has it.
pub(super) fn form(word: &str) -> String {
    if !word.chars().all(char::is_alphabetic) || is_unspaced(word) {
        return word.to_owned();
    }
    let letters = word.nfd().filter(|c| !ACCENTS.contains(c));
    let mut form: Vec<char> = letters.take(LETTERS).collect();
    while form.len() > LEAST && form.last().is_some_and(|last| ENDINGS.contains(*last)) {
        form.pop();
    }
    form.into_iter().collect()
}

/// Returns whether a word is of a script without spaces, where `sequence` makes pairs.
pub fn is_unspaced(word: &str) -> bool {
    word.chars()
        .next()
        .is_some_and(crate::log::words::is_unspaced)
}
