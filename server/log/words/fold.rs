//! Folding makes one form of all that a person may type for the same word: no case, no compatibility
//! forms, no marks that are read and not typed, one digit for each value. Pure.
//!
//! Accents of Latin letters count (`schon` is not `schön`): they make other words.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::is_unspaced;

/// The form in which texts and queries are compared.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        // All that folding does to these.
        return text.to_ascii_lowercase();
    }
    // Folding can undo the normal form and the other way round; twice is stable (Unicode 3.13,
    // D145–D147). Taken apart, so that each mark stands alone.
    let parts = text
        .nfkc()
        .default_case_fold()
        .nfkc()
        .default_case_fold()
        .nfkd();
    let mut before = None;
    parts
        .filter_map(|c| {
            let typed = typed(c, before)?;
            if !is_combining_mark(typed) {
                before = Some(typed);
            }
            Some(typed)
        })
        .nfc()
        .collect()
}

/// The character as people type it after this letter; none: they do not type it.
fn typed(c: char, before: Option<char>) -> Option<char> {
    match c {
        '\u{0}'..='\u{7f}' => Some(c),
        // It ends a word, and in scripts without spaces it says where one may end.
        '\u{200B}' => (!before.is_some_and(is_unspaced)).then_some(' '),
        _ if is_ignorable(c) || is_read_only(c) => None,
        // The dot of `İ`; of all others it is part of the letter.
        '\u{307}' if before == Some('i') => None,
        '\u{300}'..='\u{36F}' if before.is_some_and(|letter| is_unaccented(letter, c)) => None,
        _ => Some(same(c)),
    }
}

/// Unicode's Default_Ignorable_Code_Point: joiners, directions, selectors, soft hyphens.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// Marks that are read and not typed: vowels, cantillation and hamzas of Arabic (with the tatweel,
/// which draws a word longer), Hebrew and Syriac; the nukta of Devanagari; strokes through a letter;
/// frames around it; skin tones.
fn is_read_only(c: char) -> bool {
    matches!(c,
        '\u{591}'..='\u{5BD}' | '\u{5BF}' | '\u{5C1}'..='\u{5C2}' | '\u{5C4}'..='\u{5C5}' | '\u{5C7}'
        | '\u{610}'..='\u{61A}' | '\u{640}' | '\u{64B}'..='\u{65F}' | '\u{670}'
        | '\u{6D6}'..='\u{6DC}' | '\u{6DF}'..='\u{6E4}' | '\u{6E7}'..='\u{6E8}' | '\u{6EA}'..='\u{6ED}'
        | '\u{8CA}'..='\u{8E1}' | '\u{8E3}'..='\u{8FF}' | '\u{FB1E}' | '\u{711}' | '\u{730}'..='\u{74A}'
        | '\u{93C}' | '\u{332}'..='\u{338}' | '\u{20DD}'..='\u{20E0}' | '\u{20E2}'..='\u{20E4}'
        | '\u{1F3FB}'..='\u{1F3FF}')
}

/// True for a letter that is written with and without this accent: Greek ones, which capitals drop; the
/// stress of Cyrillic vowels, and the dots of `ё`.
fn is_unaccented(letter: char, accent: char) -> bool {
    match letter {
        '\u{370}'..='\u{3FF}' => true,
        'е' if accent == '\u{308}' => true,
        'а' | 'е' | 'и' | 'о' | 'у' | 'ы' | 'э' | 'ю' | 'я' | 'і' | 'ѣ' => {
            matches!(accent, '\u{300}' | '\u{301}')
        }
        _ => false,
    }
}

/// One of the letters that people and keyboards write for one another.
fn same(c: char) -> char {
    match c {
        // `I` in small letters, in Turkish.
        'ı' => 'i',
        // Alef wasla; alef maksura, and the Persian yeh; the Persian kaf; teh marbuta.
        '\u{671}' => '\u{627}',
        '\u{649}' | '\u{6CC}' => '\u{64A}',
        '\u{6A9}' => '\u{643}',
        '\u{629}' => '\u{647}',
        // Candrabindu, and anusvara.
        '\u{901}' => '\u{902}',
        _ => digit(c).unwrap_or(c),
    }
}

/// The ASCII digit of the same value.
fn digit(c: char) -> Option<char> {
    // The zeros of Arabic (two), Devanagari, Bengali, Gurmukhi, Gujarati, Tamil, Telugu, Kannada,
    // Malayalam, Thai, Lao, Tibetan, Myanmar, Khmer.
    const ZEROS: [u32; 15] = [
        0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20,
        0x1040, 0x17E0,
    ];
    let value = ZEROS
        .iter()
        .find_map(|zero| u32::from(c).checked_sub(*zero).filter(|value| *value < 10))?;
    char::from_digit(value, 10)
}
