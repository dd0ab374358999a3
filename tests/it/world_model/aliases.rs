//! The rules for names that are one, by themselves: on 2,000 planted pairs of names, and on any
//! merges and un-merges. Half of the pairs are one, and half only look so.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use thinkd_event::entity::{Names, identity, is_name, normal};
use thinkd_event::statement::{Instrument, Judged, Outcome, Status, Triple, Valid};
use thinkd_words::time::Timestamp;

use kit::planted::Dice;

/// Pairs of each kind, of 1000.
type Kinds<'a> = [(&'a str, usize)];

/// Names that are one. Nothing says so of the last two kinds.
const ONE: &Kinds = &[
    ("capitals and spaces", 140),
    ("another Unicode form", 90),
    ("quotes and full stops", 90),
    ("the article of a common noun", 140),
    ("a statement that survives", 460),
    ("no accents", 40),
    ("initials", 40),
];
/// Names that are two. Of the last two kinds we get it wrong: a statement that survives though it is false, and names that only a capital tells apart.
const TWO: &Kinds = &[
    ("one letter off", 260),
    ("a longer name", 140),
    ("another first name", 120),
    ("initials of another", 90),
    ("another generation", 90),
    ("another number", 90),
    ("the article of a name", 60),
    ("a statement that fell or was never tested", 80),
    ("a statement of something else", 64),
    ("a false statement that survives", 3),
    ("only a capital", 3),
];

struct Pair {
    kind: &'static str,
    names: [String; 2],
    is_one: bool,
    /// The statement about both: the relation, its status, the instrument that carried it, and
    /// whether it has an end.
    said: Option<(&'static str, Status, Instrument, bool)>,
}

const SYLLABLES: [&str; 24] = [
    "ka", "ro", "mi", "ten", "bal", "dor", "vi", "sel", "nu", "par", "gre", "lo", "than", "mer",
    "isk", "ola", "fen", "tri", "zu", "har", "é", "ño", "ü", "å",
];
const THINGS: [&str; 6] = [
    "library",
    "harbour",
    "old bridge",
    "market hall",
    "tram",
    "river",
];

fn word(dice: &mut Dice) -> String {
    let word: String = (0..2 + dice.below(2))
        .map(|_| *dice.of(&SYLLABLES))
        .collect();
    let first = word.chars().next().unwrap();
    first.to_uppercase().to_string() + &word[first.len_utf8()..]
}

fn person(dice: &mut Dice) -> String {
    format!("{} {}", word(dice), word(dice))
}

/// A text with a letter of it replaced.
fn one_off(dice: &mut Dice, name: &str) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    let at = letters.len() - 1 - dice.below(3);
    letters[at] = if letters[at] == 'z' { 'x' } else { 'z' };
    letters.into_iter().collect()
}

fn decomposed(name: &str) -> String {
    use unicode_normalization::UnicodeNormalization as _;
    name.nfd().collect()
}

fn without_accents(name: &str) -> String {
    decomposed(name)
        .chars()
        .filter(|letter| !('\u{300}'..='\u{36f}').contains(letter))
        .collect()
}

fn pair(dice: &mut Dice, kind: &'static str, is_one: bool) -> Pair {
    let name = person(dice);
    let town = word(dice);
    let (first, last) = name.split_once(' ').unwrap();
    let thing = *dice.of(&THINGS);
    let survives = Status::Surviving;
    let number = 2 + dice.below(7);
    let other = match kind {
        "capitals and spaces" => dice
            .of(&[
                name.to_uppercase(),
                name.to_lowercase(),
                name.replace(' ', "  "),
            ])
            .clone(),
        "another Unicode form" => format!("{} Ño", decomposed(&name)),
        "quotes and full stops" => dice
            .of(&[
                format!("\u{201c}{name}\u{201d}"),
                format!("{name}."),
                format!("'{name}'"),
            ])
            .clone(),
        "the article of a common noun" => format!("{} {thing} of {town}", dice.of(&["the", "The"])),
        "no accents" => without_accents(&format!("{name} Ño")),
        "initials" | "initials of another" => format!("{}. {last}", first.chars().next().unwrap()),
        "one letter off" => one_off(dice, &name),
        "a longer name" => dice
            .of(&[
                format!("{name} op Zoom"),
                format!("New {name}"),
                format!("{name} {town}"),
            ])
            .clone(),
        "another first name" => format!("{} {last}", word(dice)),
        "another generation" => dice
            .of(&[
                format!("{name} Jr."),
                format!("{name} II"),
                format!("{name} the Elder"),
            ])
            .clone(),
        "another number" => format!("{town} {}", number + 1),
        "the article of a name" => format!("The {town}"),
        "only a capital" => town.to_lowercase(),
        "a statement of something else" if dice.below(2) == 0 => format!("the mayor of {town}"),
        _ => person(dice),
    };
    let this = match kind {
        "another Unicode form" | "no accents" => format!("{name} Ño"),
        "the article of a common noun" => format!("{thing} of {town}"),
        "another number" => format!("{town} {number}"),
        "the article of a name" | "only a capital" => town,
        _ => name,
    };
    let identity = *dice.of(&[
        "is also called",
        "is also known as",
        "is an alias of",
        "is the same person as",
    ]);
    let said = match kind {
        "a statement that survives" | "a false statement that survives" => Some((
            identity,
            survives,
            *dice.of(&[Instrument::Knowledge, Instrument::Code, Instrument::User]),
            false,
        )),
        "a statement that fell or was never tested" => Some(match dice.below(6) {
            0 => (identity, Status::Proposed, Instrument::Knowledge, false),
            1 => (identity, Status::Contested, Instrument::Knowledge, false),
            2 => (identity, Status::Untested, Instrument::Knowledge, false),
            3 => (identity, survives, Instrument::Reflection, false),
            4 => (identity, survives, Instrument::Knowledge, true),
            _ => (identity, Status::Falsified, Instrument::Knowledge, false),
        }),
        "a statement of something else" if other.starts_with("the") => {
            Some((identity, survives, Instrument::Knowledge, false))
        }
        "a statement of something else" => {
            let relation = *dice.of(&[
                "is",
                "is called",
                "is like",
                "is short for",
                "knows",
                "is married to",
            ]);
            Some((relation, survives, Instrument::Knowledge, false))
        }
        _ => None,
    };
    Pair {
        kind,
        names: [this, other],
        is_one,
        said,
    }
}

/// The pairs of a seed, in some order.
fn planted(seed: u64) -> Vec<Pair> {
    let mut dice = Dice::new(seed);
    let mut pairs = Vec::new();
    for (kinds, is_one) in [(ONE, true), (TWO, false)] {
        for (kind, count) in kinds {
            pairs.extend((0..*count).map(|_| pair(&mut dice, kind, is_one)));
        }
    }
    pairs.sort_by_cached_key(|_| dice.below(1 << 30));
    pairs
}

fn judged(status: Status, carried: Instrument, has_end: bool) -> Judged {
    Judged {
        outcome: Outcome::Is(status),
        reason: String::new(),
        valid: Valid {
            from: None,
            to: has_end.then(|| Timestamp::from_micros(0)),
        },
        carried: vec![carried],
        survived: 1,
        tries: 0,
        breaks: 0,
        reopened: 0,
        due: None,
        others: Vec::new(),
        by: None,
        tried: true,
        available: Vec::new(),
        testable: None,
        retest: 0,
    }
}

/// Returns the merges by all statements about the pairs, in one space: a wrong merge of one pair
/// can reach others.
fn names_of(pairs: &[Pair]) -> Names {
    let merges: Vec<Vec<String>> = pairs
        .iter()
        .filter_map(|pair| {
            let (relation, status, carried, has_end) = pair.said?;
            let [subject, object] = pair.names.clone();
            let triple = Triple {
                subject,
                relation: relation.to_owned(),
                object,
                single: false,
            };
            Some(
                identity(&triple, &judged(status, carried, has_end))?
                    .map(str::to_owned)
                    .to_vec(),
            )
        })
        .collect();
    Names::of(merges.iter().map(Vec::as_slice))
}

/// Returns precision and recall of a rule, and the number of its errors by kind.
fn measured(
    pairs: &[Pair],
    rule: impl Fn(&Pair) -> bool,
) -> (f64, f64, BTreeMap<&'static str, usize>) {
    let mut right = 0;
    let mut wrong = 0;
    let mut missed = 0;
    let mut errors = BTreeMap::new();
    for pair in pairs {
        match (rule(pair), pair.is_one) {
            (true, true) => right += 1,
            (true, false) => wrong += 1,
            (false, true) => missed += 1,
            (false, false) => continue,
        }
        if rule(pair) != pair.is_one {
            *errors.entry(pair.kind).or_default() += 1;
        }
    }
    let share = |of: u32, rest: u32| f64::from(of) / f64::from(of + rest);
    (share(right, wrong), share(right, missed), errors)
}

/// Returns the number of letters by which two names differ.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (to, with) in other.iter().enumerate() {
            let cost = (row[to] + 1)
                .min(row[to + 1] + 1)
                .min(before + usize::from(letter != with));
            before = std::mem::replace(&mut row[to + 1], cost);
        }
    }
    row[other.len()]
}

// `cargo test aliases -- --nocapture` prints the figures.
#[test]
fn d1_of_2000_planted_pairs_the_names_that_are_one_are_found_and_near_names_are_not() {
    for seed in 1..=3 {
        let pairs = planted(seed);
        assert_eq!(pairs.len(), 2000);
        let names = names_of(&pairs);
        let is_one = |pair: &Pair| names.is_one(&pair.names[0], &pair.names[1]);
        let (precision, recall, errors) = measured(&pairs, is_one);
        println!("seed {seed}: precision {precision:.4}, recall {recall:.4}, wrong: {errors:?}");
        assert!(
            precision >= 0.99 && recall >= 0.9,
            "precision {precision}, recall {recall}: {errors:?}"
        );
        // The control: who merges what looks alike, however strictly, merges what is two, or hardly anything.
        for most in 1..=4 {
            let alike = |pair: &Pair| {
                let [one, other] = [&pair.names[0], &pair.names[1]].map(|name| normal(name));
                distance(&one, &other) <= most
            };
            let (precision, recall, _) = measured(&pairs, alike);
            println!("  by at most {most} letters: precision {precision:.4}, recall {recall:.4}");
            assert!(precision < 0.99, "the pairs are too easy");
        }
        // And who takes every survivor of any relation for an identity, or every claim of one.
        let said = |pair: &Pair| pair.said.is_some() || is_one(pair);
        assert!(measured(&pairs, said).0 < 0.99);
    }
}

#[test]
fn near_names_stay_apart_and_spellings_do_not() {
    let none = Names::default();
    for (one, other) in [
        ("Alma Reyes", "Alma Reyez"),
        ("Bergen", "Bergen op Zoom"),
        ("J. Smith", "John Smith"),
        ("John Smith", "Jane Smith"),
        ("The Sun", "Sun"),
        ("The Hague", "Hague"),
        ("C++", "C"),
        ("-5", "5"),
        ("Dr. Reyes", "Reyes"),
        ("Apple Inc.", "Apple"),
        ("Ana", "Aña"),
        ("東京", "京都"),
    ] {
        assert!(!none.is_one(one, other), "{one} and {other}");
    }
    for (one, other) in [
        ("the library", "Library"),
        ("The library", "library"),
        ("O\u{2019}Hara", "O'Hara"),
        ("Jean\u{2010}Luc", "jean-luc"),
        ("\u{201e}Alma\u{201c}", "Alma"),
        ("Ａｌｍａ", "alma"),
        ("Straße", "STRASSE"),
        ("Alma,", "Alma"),
    ] {
        assert!(none.is_one(one, other), "{one} and {other}");
    }
    for name in [
        "Alma Reyes",
        "van Gogh",
        "Duke of York",
        "iPhone",
        "東京",
        "R2D2",
        "الما",
    ] {
        assert!(is_name(name), "{name}");
    }
    for no_name in [
        "",
        " ",
        "the library",
        "mayor of Bergen",
        "I",
        "She",
        "blue",
        "Who knows? Alma",
        "A b c d e f g h I J",
    ] {
        assert!(!is_name(no_name), "{no_name}");
    }
}

const NAMES: [&str; 7] = [
    "Alma",
    "Bergen",
    "the harbour",
    "Odd Lien",
    "東京",
    "C++",
    "C",
];

fn merge(of: &BTreeSet<usize>) -> Vec<String> {
    of.iter().map(|at| NAMES[*at].to_owned()).collect()
}

proptest! {
    #[test]
    fn only_what_stands_decides_which_names_are_one(
        merges in prop::collection::vec(prop::collection::btree_set(0..NAMES.len(), 2..4), 0..8),
        order in any::<u64>(),
    ) {
        let all: Vec<Vec<String>> = merges.iter().map(merge).collect();
        let names = Names::of(all.iter().map(Vec::as_slice));
        // Reached by merges, in any number of steps.
        for (from, name) in NAMES.iter().enumerate() {
            let mut reached = BTreeSet::from([from]);
            for _ in 0..merges.len() {
                let met = merges.iter().filter(|merge| !merge.is_disjoint(&reached)).flatten().copied();
                let met: Vec<usize> = met.collect();
                reached.extend(met);
            }
            for (to, other) in NAMES.iter().enumerate() {
                prop_assert_eq!(names.is_one(name, other), reached.contains(&to));
            }
            let forms: BTreeSet<String> = reached.iter().map(|at| normal(NAMES[*at])).collect();
            prop_assert_eq!(names.forms(name), forms);
        }
        // In another order the same names are one, whatever they are called.
        let mut shuffled = all.clone();
        shuffled.sort_by_key(|merge| merge.concat().bytes().fold(order, |all, byte| all.wrapping_mul(31).wrapping_add(byte.into())));
        let again = Names::of(shuffled.iter().map(Vec::as_slice));
        for one in NAMES {
            prop_assert_eq!(names.forms(one), again.forms(one));
        }
    }

    #[test]
    fn a_normal_form_is_never_empty_and_says_no_more_than_the_name(name in "\\PC{1,40}") {
        let normal = normal(&name);
        prop_assert_eq!(normal.is_empty(), thinkd_event::statement::folded(&name).is_empty());
        prop_assert!(normal.chars().count() <= name.chars().count() * 18, "{normal}");
    }
}
