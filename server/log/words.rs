//! Words of a text, as full-text search sees them: one tokenizer in front of both databases, so that both find the same.
//! Compatibility forms and case are folded (NFKC, full case folding: `ﬁ` is `fi`, `STRASSE` is `straße`); accents count
//! (`schon` is not `schön`). Scripts that write no spaces are cut into pairs and single characters.

use std::collections::BTreeSet;

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

/// Longer words are known by their first characters.
const WORD_MAX: usize = 64;
/// Bytes of one text that are indexed; a tsvector holds 1 MiB, and Han text grows to three times its size.
const TEXT_MAX: usize = 256 << 10;
/// Words of a query that count.
const ASKED_MAX: usize = 32;

/// The words under which a text is found, each once, in order.
pub fn tokens(text: &str) -> BTreeSet<String> {
    let folded = fold(text);
    let mut words = BTreeSet::new();
    for piece in pieces(head(&folded)) {
        match piece {
            Piece::Word(word) => {
                words.insert(cut(word));
            }
            Piece::Run(run) => words.extend(pairs(run).chain(singles(run))),
        }
    }
    words
}

/// The words a query asks for, each once. None: it finds nothing.
pub fn asked(query: &str) -> Vec<String> {
    let folded = fold(query);
    let mut words = Vec::new();
    for piece in pieces(&folded) {
        match piece {
            Piece::Word(word) => words.push(cut(word)),
            Piece::Run(run) if run.chars().nth(1).is_none() => words.push(run.to_owned()),
            Piece::Run(run) => words.extend(pairs(run)),
        }
    }
    let mut seen = BTreeSet::new();
    words.retain(|word| seen.insert(word.clone()));
    words.truncate(ASKED_MAX);
    words
}

/// The words of a text in order, each as often as it stands there; of a script without spaces the pairs, or the one character that there is.
pub fn sequence(text: &str) -> Vec<String> {
    let folded = fold(text);
    let mut words = Vec::new();
    for piece in pieces(head(&folded)) {
        match piece {
            Piece::Word(word) => words.push(cut(word)),
            Piece::Run(run) if run.chars().nth(1).is_none() => words.push(run.to_owned()),
            Piece::Run(run) => words.extend(pairs(run)),
        }
    }
    words
}

/// The same, of a script without spaces the single characters: so a name is found wherever it stands.
pub fn atoms(text: &str) -> Vec<String> {
    let folded = fold(text);
    let mut words = Vec::new();
    for piece in pieces(head(&folded)) {
        match piece {
            Piece::Word(word) => words.push(cut(word)),
            Piece::Run(run) => words.extend(singles(run)),
        }
    }
    words
}

/// Whether the text has all words of the query, in any order.
pub fn matches(query: &str, text: &str) -> bool {
    let asked = asked(query);
    let words = tokens(text);
    !asked.is_empty() && asked.iter().all(|word| words.contains(word))
}

enum Piece<'a> {
    /// Letters, digits and marks between anything else.
    Word(&'a str),
    /// Characters of a script without spaces.
    Run(&'a str),
}

#[derive(PartialEq, Clone, Copy)]
enum Class {
    Between,
    Word,
    Run,
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_MAX)]
}

fn fold(text: &str) -> String {
    if text.is_ascii() {
        // All that folding does to these.
        return text.to_ascii_lowercase();
    }
    // Folding can undo the normal form and the other way round; twice is stable (Unicode 3.13, D145–D147).
    text.nfkc()
        .default_case_fold()
        .nfkc()
        .default_case_fold()
        .nfkc()
        .collect()
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        if c.is_ascii_alphanumeric() {
            Class::Word
        } else {
            Class::Between
        }
    } else if is_unspaced(c) {
        Class::Run
    } else if c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c) {
        Class::Word
    } else {
        Class::Between
    }
}

/// Scripts written without spaces: Thai to Khmer, kana, Bopomofo, Han.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30FF}' | '\u{3105}'..='\u{312F}' | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

fn pieces(folded: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = folded;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c| class(c) == Class::Between);
        let kind = class(rest.chars().next()?);
        let end = rest.find(|c| class(c) != kind).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(if kind == Class::Run {
            Piece::Run(piece)
        } else {
            Piece::Word(piece)
        })
    })
}

fn cut(word: &str) -> String {
    let end = word
        .char_indices()
        .nth(WORD_MAX)
        .map_or(word.len(), |(end, _)| end);
    word[..end].to_owned()
}

fn singles(run: &str) -> impl Iterator<Item = String> {
    run.chars().map(String::from)
}

fn pairs(run: &str) -> impl Iterator<Item = String> {
    run.chars()
        .zip(run.chars().skip(1))
        .map(|(a, b)| String::from_iter([a, b]))
}
