//! The list of `recall/background.rs`, made anew where `THINKD_WORDFREQ` names a file with lines
//! `language TAB word TAB share`: of wordfreq 3.1.1, the small list of each language, from 1e-6 on.

use std::collections::{BTreeMap, HashMap};

use thinkd::recall::background::LANGUAGES;
use thinkd::recall::forms::{characters, forms, is_unspaced};

/// Forms of each language, the commonest first: as many as a list of a megabyte has room for.
const OF_EACH: usize = 2500;
/// A form that stands once in so many words is listed.
const LEAST: f64 = 1e-6;
/// A character that is alone once in so many words is a word.
const ALONE: f64 = 1e-3;

/// The shares of a language: of its forms among words, of its characters among characters.
#[derive(Default)]
struct Shares {
    forms: HashMap<String, f64>,
    characters: HashMap<String, f64>,
    alone: Vec<(String, f64)>,
}

impl Shares {
    fn add(&mut self, word: &str, share: f64) {
        for form in forms(word).into_iter().filter(|form| !is_single(form)) {
            *self.forms.entry(form).or_default() += share;
        }
        if is_single(word) && share >= ALONE {
            self.alone.push((format!("|{word}"), share));
        }
        for character in characters(word) {
            *self.characters.entry(character).or_default() += share;
        }
    }

    /// The commonest forms; and the characters, where most words are written with those.
    fn listed(self) -> Vec<(String, f64)> {
        let mut forms = Vec::from_iter(self.forms);
        forms.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
        let unspaced = forms.iter().take(OF_EACH);
        let unspaced = unspaced.filter(|(form, _)| is_unspaced(form)).count();
        forms.truncate(OF_EACH);
        if unspaced > OF_EACH / 2 {
            let mut characters = Vec::from_iter(self.characters);
            characters.sort_by(|(a, _), (b, _)| a.cmp(b));
            let all: f64 = characters.iter().map(|(_, share)| share).sum();
            forms.extend(characters.into_iter().map(|(it, share)| (it, share / all)));
            forms.extend(self.alone);
        }
        forms.retain(|(_, share)| *share >= LEAST);
        forms
    }
}

fn is_single(form: &str) -> bool {
    is_unspaced(form) && form.chars().nth(1).is_none()
}

/// A frequency as the list has it.
fn written(language: usize, share: f64) -> String {
    let tenths = 60.0 + 10.0 * share.min(1.0).log10();
    let letter = (b'A'..=b'Z').chain(b'a'..).nth(language).unwrap();
    let frequency = b'0' + tenths.round().max(0.0) as u8;
    format!("{}{}", char::from(letter), char::from(frequency))
}

#[test]
fn the_list_of_common_words_is_made_from_frequencies() {
    let Ok(file) = std::env::var("THINKD_WORDFREQ") else {
        return println!("THINKD_WORDFREQ names no file of frequencies: the list was not made");
    };
    let mut languages: BTreeMap<usize, Shares> = BTreeMap::new();
    let text = std::fs::read_to_string(file).unwrap();
    for line in text.lines() {
        let [language, word, share] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let language = LANGUAGES.iter().position(|it| *it == language).unwrap();
        let shares = languages.entry(language).or_default();
        shares.add(word, share.parse().unwrap());
    }
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for (language, shares) in languages {
        for (form, share) in shares.listed() {
            *all.entry(form).or_default() += &written(language, share);
        }
    }
    let lines = all.iter().map(|(form, of)| format!("{form} {of}"));
    let made = lines.collect::<Vec<_>>().join("\n");
    let path = format!("{}/background.txt", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, &made).unwrap();
    println!("{} forms: {path}", all.len());
    let committed = format!("{}/server/recall/background.txt", kit::ROOT);
    let committed = std::fs::read_to_string(committed).unwrap();
    assert!(committed == made, "cp {path} server/recall/background.txt");
}
