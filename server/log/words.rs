//! Words of a text, as full-text search sees them: one tokenizer in front of both databases, so
//! that both find the same. Texts and queries are folded alike (`words/fold.rs`). Scripts that
//! write no spaces, and Hangul, which writes particles onto the noun, are cut into pairs and single
//! characters. A picture (an emoji, an arrow, a flag) is a word of its own.

use std::collections::BTreeSet;

use fold::fold;
use unicode_normalization::char::is_combining_mark;

mod fold;

/// The version of the words that are stored of a text, to find it by. Another one has the indexes
/// made anew.
pub const VERSION: i64 = 3;
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
            Piece::Whole(word) => drop(words.insert(cut(word))),
            Piece::Run(run) => words.extend(pairs(run).chain(singles(run))),
        }
    }
    words
}

/// The words a query asks for, each once. None: there is nothing in it that can be looked for.
pub fn asked(query: &str) -> Vec<String> {
    let folded = fold(query);
    let mut words = Vec::new();
    for piece in pieces(&folded) {
        match piece {
            Piece::Whole(word) => words.push(cut(word)),
            Piece::Run(run) if run.chars().nth(1).is_none() => words.push(run.to_owned()),
            Piece::Run(run) => words.extend(pairs(run)),
        }
    }
    let mut seen = BTreeSet::new();
    words.retain(|word| seen.insert(word.clone()));
    words.truncate(ASKED_MAX);
    words
}

/// The words of a text in order, each as often as it stands there; a run of a script without spaces
/// is one.
pub fn sequence(text: &str) -> Vec<String> {
    let folded = fold(text);
    let words = pieces(head(&folded)).map(|piece| match piece {
        Piece::Whole(word) => cut(word),
        Piece::Run(run) => run.to_owned(),
    });
    words.collect()
}

/// The same, of a script without spaces the single characters: so a name is found wherever it stands.
pub fn atoms(text: &str) -> Vec<String> {
    let folded = fold(text);
    let mut words = Vec::new();
    for piece in pieces(head(&folded)) {
        match piece {
            Piece::Whole(word) => words.push(cut(word)),
            Piece::Run(run) => words.extend(singles(run)),
        }
    }
    words
}

/// Returns true if the text has all words of the query, in any order.
pub fn matches(query: &str, text: &str) -> bool {
    let asked = asked(query);
    let words = tokens(text);
    !asked.is_empty() && asked.iter().all(|word| words.contains(word))
}

enum Piece<'a> {
    /// Letters, digits and marks between anything else; or one picture.
    Whole(&'a str),
    /// Characters of a script without spaces.
    Run(&'a str),
}

#[derive(PartialEq, Clone, Copy)]
enum Class {
    Between,
    Word,
    Run,
    Picture,
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_MAX)]
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
    } else if is_picture(c) {
        Class::Picture
    } else if c.is_alphanumeric() || is_combining_mark(c) {
        Class::Word
    } else {
        Class::Between
    }
}

/// Scripts written without spaces: Thai to Khmer, kana, Bopomofo, Han, those of Java and Bali. And
/// Hangul, whole and in parts.
pub fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{1950}'..='\u{19DF}' | '\u{1A20}'..='\u{1AAF}' | '\u{1B00}'..='\u{1B7F}'
        | '\u{A980}'..='\u{A9FF}' | '\u{AA00}'..='\u{AADF}'
        | '\u{1100}'..='\u{11FF}' | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30FF}' | '\u{3105}'..='\u{312F}' | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Symbols that are looked for: pictographs, arrows, shapes, dingbats. Folding has dropped skin tones,
/// selectors and joiners, so that a picture is found in all its forms.
fn is_picture(c: char) -> bool {
    matches!(c,
        '\u{A9}' | '\u{AE}' | '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{23FF}' | '\u{25A0}'..='\u{27BF}'
        | '\u{2900}'..='\u{297F}' | '\u{2B00}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}'
        | '\u{1F000}'..='\u{1FAFF}')
}

/// Half of a flag: two of them are a country's letters.
fn is_flag(c: char) -> bool {
    matches!(c, '\u{1F1E6}'..='\u{1F1FF}')
}

fn pieces(folded: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = folded;
    std::iter::from_fn(move || {
        // Marks without a letter are no word.
        let is_between = |c| class(c) == Class::Between || is_combining_mark(c) && !is_unspaced(c);
        rest = rest.trim_start_matches(is_between);
        let kind = class(rest.chars().next()?);
        let end = match kind {
            Class::Picture => picture(rest),
            _ => rest.find(|c| class(c) != kind).unwrap_or(rest.len()),
        };
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(match kind {
            Class::Run => Piece::Run(piece),
            _ => Piece::Whole(piece),
        })
    })
}

/// The end of the picture with which a text begins: a flag has two characters.
fn picture(text: &str) -> usize {
    let mut all = text.chars();
    let first = all.next().map_or(0, char::len_utf8);
    match (text.chars().next(), all.next()) {
        (Some(a), Some(b)) if is_flag(a) && is_flag(b) => first + b.len_utf8(),
        _ => first,
    }
}

fn cut(word: &str) -> String {
    let end = word.char_indices().nth(WORD_MAX);
    word[..end.map_or(word.len(), |(end, _)| end)].to_owned()
}

/// The characters of a run, each alone.
pub fn singles(run: &str) -> impl Iterator<Item = String> {
    run.chars().map(String::from)
}

/// The pairs of neighbours in a run.
pub fn pairs(run: &str) -> impl Iterator<Item = String> {
    run.chars()
        .zip(run.chars().skip(1))
        .map(|(a, b)| String::from_iter([a, b]))
}
