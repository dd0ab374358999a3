//! The frequency of words in their language: a common word says little. A fixed list has the
//! commonest forms of each of 42 languages. It is derived from wordfreq 3.1.1 by Robyn Speer, and
//! both are under CC BY-SA 4.0.

use std::cmp::Reverse;

use super::forms::is_number;

/// Lines `form frequencies`, sorted by form. A frequency is the letter of a language and a character:
/// `0` is one in a million words, and each character after it 1.26 times as many (a tenth of a power of
/// ten). A character of a script without spaces has its share of all characters, and stands once more
/// behind a bar where it is one of a thousand words of its language alone.
const LIST: &str = include_str!("background.txt");
/// The languages, in the order of their letters: `A` to `Z`, then `a` and so on.
pub const LANGUAGES: [&str; 42] = [
    "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fil", "fr", "he",
    "hi", "hu", "id", "is", "it", "ja", "ko", "lt", "lv", "mk", "ms", "nb", "nl", "pl", "pt", "ro",
    "ru", "sh", "sk", "sl", "sv", "ta", "tr", "uk", "ur", "vi", "zh",
];
/// The share of a word that is not in the list.
const RARE: f32 = 1e-6;

/// One of the languages.
pub type Language = usize;

/// Frequency of a form in the languages that have it in the list.
#[derive(Debug, Clone, Copy)]
pub struct Common {
    frequencies: &'static [u8],
    /// So many forms share the frequency that the list has of one: numbers of as many digits.
    among: f32,
}

impl Common {
    /// Looks a form up.
    pub fn of(form: &str) -> Self {
        let digits = form.len();
        if digits < 2 || !is_number(form) {
            return Self {
                frequencies: listed(form).unwrap_or_default(),
                among: 1.0,
            };
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
        let among = 9.0 * 10_f32.powi(digits as i32 - 1);
        let frequencies = listed(&"0".repeat(digits)).unwrap_or_default();
        Self { frequencies, among }
    }

    /// The languages that have it, each with its frequency: 0 is one in a million words.
    fn each(self) -> impl Iterator<Item = (Language, u8)> {
        let frequencies = self.frequencies.chunks_exact(2);
        frequencies.map(|of| (language(of[0]), of[1].saturating_sub(b'0')))
    }

    /// Its frequency in a language, if that has it.
    pub fn frequency(self, language: Language) -> Option<u8> {
        let (_, frequency) = self.each().find(|(of, _)| *of == language)?;
        Some(frequency)
    }

    /// The share of the running words of a language that it is.
    pub fn share(self, language: Language) -> f32 {
        let tenths = self.frequency(language).map_or(0.0, f32::from);
        (RARE * 10_f32.powf(tenths / 10.0) / self.among).max(RARE)
    }
}

/// The language of a letter of the list.
fn language(letter: u8) -> Language {
    usize::from(match letter {
        b'a'.. => letter - b'a' + 26,
        _ => letter.saturating_sub(b'A'),
    })
}

/// Returns whether a character of a script without spaces is often a word alone.
pub fn stands_alone(character: &str, language: Language) -> bool {
    let word = Common::of(&format!("|{character}"));
    word.frequency(language).is_some()
}

/// Fit of running words to each language: the frequencies there, summed.
#[derive(Debug, Clone)]
pub struct Fit([i64; LANGUAGES.len()]);

impl Default for Fit {
    fn default() -> Self {
        Self([0; LANGUAGES.len()])
    }
}

impl Fit {
    /// Takes a word in that stands so often in a text; a negative number lets it go.
    pub fn add(&mut self, word: Common, count: i64) {
        for (language, frequency) in word.each() {
            self.0[language] += i64::from(frequency) * count;
        }
    }

    /// Returns the language that a question fits best, beside texts of so many words: these count like
    /// one word of it, so that a single word is of the language of the space, and a sentence of its own.
    pub fn language(&self, texts: &Self, words: i64) -> Language {
        let fit = |language: &Language| self.0[*language] * words.max(1) + texts.0[*language];
        let best = (0..LANGUAGES.len()).max_by_key(|it| (fit(it), Reverse(*it)));
        best.unwrap_or_default()
    }
}

/// Finds a form by halves; no index of the list is kept.
fn listed(form: &str) -> Option<&'static [u8]> {
    let mut from = 0;
    let mut to = LIST.len();
    while from < to {
        let middle = LIST.floor_char_boundary(usize::midpoint(from, to));
        let begin = LIST[..middle].rfind('\n').map_or(0, |at| at + 1).max(from);
        let end = LIST[begin..].find('\n').map_or(LIST.len(), |at| begin + at);
        let (listed, frequencies) = LIST[begin..end].rsplit_once(' ')?;
        match listed.cmp(form) {
            std::cmp::Ordering::Equal => return Some(frequencies.as_bytes()),
            std::cmp::Ordering::Less => from = end + 1,
            std::cmp::Ordering::Greater => to = begin.saturating_sub(1).max(from),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::form;

    fn of(code: &str) -> Language {
        LANGUAGES.iter().position(|it| *it == code).unwrap()
    }

    fn fit(text: &str) -> Fit {
        let mut fit = Fit::default();
        for word in text.split(' ') {
            fit.add(Common::of(&form(word)), 1);
        }
        fit
    }

    // Found by halves, a line that is out of order is never found.
    #[test]
    fn each_form_of_the_list_is_found_with_its_frequencies() {
        for line in LIST.lines() {
            let (form_of, of) = line.rsplit_once(' ').unwrap();
            assert_eq!(listed(form_of), Some(of.as_bytes()), "{line}");
            assert_eq!(form(form_of), form_of);
            assert!(
                Common::of(form_of)
                    .each()
                    .all(|(it, _)| it < LANGUAGES.len())
            );
        }
        for unknown in ["", " ", "zzzz", "\u{10FFFF}", "thequick"] {
            assert_eq!(listed(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn a_word_is_as_common_as_in_its_language() {
        let share = |word: &str, language: &str| Common::of(&form(word)).share(of(language));
        assert!(share("the", "en") > 0.01 && share("tungsten", "en") <= RARE);
        // It is "was" in German.
        assert!(share("war", "de") > 10.0 * share("war", "en"));
        // One of ninety numbers of two digits.
        assert!(share("47", "en") < share("4", "en") && share("47", "en") > 10.0 * RARE);
    }

    #[test]
    fn the_texts_of_a_space_tell_the_language_of_a_single_word_and_a_sentence_its_own() {
        let german = fit("wo ist der schlüssel und wann war das");
        let language = |question: &str| LANGUAGES[fit(question).language(&german, 8)];
        assert_eq!(language("war"), "de");
        assert_eq!(
            language("where is the key to the car and when was that"),
            "en"
        );
        let nothing = Fit::default();
        assert_eq!(
            LANGUAGES[fit("where is the car").language(&nothing, 0)],
            "en"
        );
    }
}
