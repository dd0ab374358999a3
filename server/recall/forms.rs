//! The forms by which words are compared in a recall: inflected words of one stem have one form, in
//! any language, without a guess at the language. Pure.
//!
//! `Fridays`, `friday` → `friday`; `Brücke`, `Brucken` → `bruck`; `Łódź`, `lodz` → `lodz`.
//! A word is its first letters, without accents and without endings such as `e`, `n` and `s`: cut-off words
//! find as much as stemmers of one language do (McNamee and Mayfield 2004). Letters and digits stand apart,
//! and digits count together with the word before them, too: `RX7`, `RX-7` and `RX 7` → `rx`, `7`, `rx7`.

use unicode_normalization::UnicodeNormalization as _;

use thinkd_log::words::{pairs, sequence, singles};

/// Letters of a word that count. Chosen by the curve in `bench/README.md`.
const LETTERS: usize = 7;
/// Letters that end inflected words: plurals and cases of Latin scripts, vowels of Cyrillic ones.
const ENDINGS: &str = "ensаеиоуыюяь";
/// Accents of Latin, Greek and Cyrillic letters; marks of other scripts are vowels.
const ACCENTS: std::ops::RangeInclusive<char> = '\u{300}'..='\u{36F}';
/// A word keeps so many letters.
const LEAST: usize = 3;

/// The forms of a text's words, in order, each as often as it stands there; of a script without spaces
/// the pairs of neighbours, or the one character that there is.
pub fn forms(text: &str) -> Vec<String> {
    let is_run = |word: &str| is_unspaced(word) && word.chars().nth(1).is_some();
    let words = words(text).into_iter();
    let forms = words.flat_map(|word| match is_run(&word) {
        true => pairs(&word).collect(),
        false => vec![form(&word)],
    });
    forms.collect()
}

/// The characters of a text's words of a script without spaces.
pub fn characters(text: &str) -> Vec<String> {
    let runs = sequence(text).into_iter().filter(|word| is_unspaced(word));
    runs.flat_map(|run| singles(&run).collect::<Vec<_>>())
        .collect()
}

/// The words of a text in order, and its codes; a run of a script without spaces is one.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in sequence(text) {
        for part in parts(&word) {
            let before = words.last().filter(|_| is_number(part));
            let code = before
                .filter(|before| is_letters(before))
                .map(|before| format!("{}{part}", form(before)));
            words.push(part.to_owned());
            words.extend(code);
        }
    }
    words
}

/// The form of a word.
pub(super) fn form(word: &str) -> String {
    if !is_letters(word) {
        return word.to_owned();
    }
    let letters = word.nfd().filter(|c| !ACCENTS.contains(c));
    let mut form: Vec<char> = letters.flat_map(plain).take(LETTERS).collect();
    while form.len() > LEAST && form.last().is_some_and(|last| ENDINGS.contains(*last)) {
        form.pop();
    }
    form.into_iter().collect()
}

/// The letters that people type for one that has no accent to leave out.
fn plain(letter: char) -> impl Iterator<Item = char> {
    let (one, other) = match letter {
        'ł' => ('l', None),
        'ø' => ('o', None),
        'đ' | 'ð' => ('d', None),
        'æ' => ('a', Some('e')),
        'œ' => ('o', Some('e')),
        'þ' => ('t', Some('h')),
        _ => (letter, None),
    };
    std::iter::once(one).chain(other)
}

/// Returns whether a word is of a script without spaces.
pub fn is_unspaced(word: &str) -> bool {
    let first = word.chars().next();
    first.is_some_and(thinkd_log::words::is_unspaced)
}

/// Returns whether a word is digits and nothing else.
pub(super) fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_letters(word: &str) -> bool {
    word.chars().all(char::is_alphabetic) && !is_unspaced(word)
}

/// The parts of a word that are digits, and those between them.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    word.as_bytes()
        .chunk_by(|one, other| one.is_ascii_digit() == other.is_ascii_digit())
        .filter_map(|part| str::from_utf8(part).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_without_an_accent_to_leave_out_are_typed_plainly() {
        for (written, typed) in [
            ("Łódź", "Lodz"),
            ("Søren", "Soren"),
            ("Ærø", "Aero"),
            ("Œuvre", "oeuvre"),
            ("Đorđe", "Dorde"),
            ("Straße", "STRASSE"),
            ("Þór", "Thor"),
        ] {
            assert_eq!(forms(written), forms(typed), "{written}");
        }
    }

    #[test]
    fn a_code_is_one_however_its_parts_are_set_apart() {
        for code in ["RX7", "RX-7", "RX 7", "rx_7", "Rx/7"] {
            assert_eq!(forms(code), ["rx", "7", "rx7"], "{code}");
        }
        assert_eq!(forms("7 RX"), ["7", "rx"]);
        assert_eq!(forms("24i"), ["24", "i"]);
        assert_eq!(forms("第3会議室"), ["第", "3", "会議", "議室"]);
    }
}
