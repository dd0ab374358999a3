//! The list of `recall/background.rs`, made anew where `THINKD_WORDFREQ` names a file with lines
//! `language TAB word TAB share`: of wordfreq 3.1.1, the small list of each language, from 1e-6 on.

use std::collections::{BTreeMap, HashMap};

use thinkd::recall::forms::{forms, is_unspaced};

/// Forms of each language, the commonest first.
const OF_EACH: usize = 1000;
/// A form that stands once in so many words is listed.
const LEAST: f64 = 1e-6;

#[test]
fn the_list_of_common_words_is_made_from_frequencies() {
    let Ok(file) = std::env::var("THINKD_WORDFREQ") else {
        return println!("THINKD_WORDFREQ names no file of frequencies: the list was not made");
    };
    let mut languages: BTreeMap<&str, HashMap<String, f64>> = BTreeMap::new();
    let mut characters: HashMap<&str, f64> = HashMap::new();
    let text = std::fs::read_to_string(file).unwrap();
    for line in text.lines() {
        let [language, word, share] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let share: f64 = share.parse().unwrap();
        let of = languages.entry(language).or_default();
        for form in forms(word) {
            *of.entry(form).or_default() += share;
        }
        // Of a script without spaces each character counts, too: the list has a share of characters.
        for c in word.chars().filter(|_| is_unspaced(word)) {
            *characters.entry(language).or_default() += share;
            *of.entry(c.to_string()).or_default() += share;
        }
    }
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    for (language, forms) in languages {
        let mut forms = Vec::from_iter(forms);
        let characters = characters.get(language).copied().unwrap_or(1.0);
        let is_single = |form: &str| is_unspaced(form) && form.chars().nth(1).is_none();
        forms
            .iter_mut()
            .filter(|(form, _)| is_single(form))
            .for_each(|(_, share)| *share /= characters);
        forms.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
        let (single, more): (Vec<_>, Vec<_>) =
            forms.into_iter().partition(|(form, _)| is_single(form));
        let kept = more.into_iter().take(OF_EACH).chain(single);
        for (form, share) in kept.filter(|(_, share)| *share >= LEAST) {
            let known = all.entry(form).or_default();
            *known = known.max(share);
        }
    }
    let level = |share: f64| (-10.0 * share.min(1.0).log10()).round();
    let lines: Vec<String> = all
        .iter()
        .map(|(form, share)| format!("{form} {}", level(*share)))
        .collect();
    let path = format!("{}/background.txt", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, lines.join("\n")).unwrap();
    println!("{} forms: {path}", lines.len());
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/server/recall/background.txt");
    let committed = std::fs::read_to_string(committed).unwrap();
    assert!(
        committed == lines.join("\n"),
        "cp {path} server/recall/background.txt"
    );
}
