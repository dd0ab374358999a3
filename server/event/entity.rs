//! Entities: which names are one. A name is compared by its normal form; other names are one with it where a merge says so: an operator's, or that of a
//! statement that survived and says nothing else. How alike two names look decides nothing. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thinkd_facts::Members;
use unicode_normalization::UnicodeNormalization as _;

use super::statement::{Judged, NAME_MAX, Outcome, Status, Triple, folded, spaced};

/// Most names of one merge.
pub const NAMES_MAX: usize = 32;
/// The relations, folded, that say of two names that they are one. No other one does: `is` joins the sky to blue, `is called` a dog to each Rex, `is short
/// for` every Bob to Robert, `is identical to` one copy to the next.
pub const IDENTITY: [&str; 13] = [
    "a.k.a",
    "aka",
    "alias of",
    "also called",
    "also known as",
    "is also called",
    "is also known as",
    "is an alias for",
    "is an alias of",
    "is another name for",
    "is another name of",
    "is the same as",
    "is the same person as",
];
/// Words that stand for a name, and are none.
const PRONOUNS: [&str; 16] = [
    "i", "me", "you", "he", "him", "she", "her", "it", "we", "us", "they", "them", "this", "that",
    "who", "somebody",
];
/// Quotes that open, and below each the one that closes.
const OPENING: &str = "\"'“„„«‘「『";
const CLOSING: &str = "\"'”“”»’」』";
/// Most words of a name.
const WORDS_MAX: usize = 8;

/// Names that are one from some event on. By the first of them the entity is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Members)]
pub struct Merge {
    /// The names, as they were said.
    #[fact(json, kind = "string[]")]
    pub names: Vec<String>,
    /// Why.
    pub reason: String,
    /// The operator that did it; null: a rule.
    #[fact(or_null)]
    #[serde(default)]
    pub by: Option<String>,
    /// The statement that says so; when it falls, the merge is undone.
    #[fact(or_null)]
    #[serde(default)]
    pub statement: Option<String>,
}

/// A merge that does not stand any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Members)]
pub struct Unmerge {
    /// The event that made it.
    pub merge: String,
    /// The names, as they were said.
    #[fact(json, kind = "string[]")]
    pub names: Vec<String>,
    /// Why.
    pub reason: String,
    /// The operator that did it; null: a rule.
    #[fact(or_null)]
    #[serde(default)]
    pub by: Option<String>,
}

/// A name as it is compared: folded, without quotes around it, and without the article of a common noun. "the library" is "library"; "The Hague" keeps
/// its article, as a capital on both words says that it belongs to the name. It is made of a name as it was said, not of a normal form.
pub fn normal(name: &str) -> String {
    let text: String = name.nfkc().map(plain).collect();
    let spaced = spaced(&text);
    let bare = without_quotes(spaced.trim_end_matches([',', ';', ':']).trim());
    let normal = folded(without_article(bare));
    if normal.is_empty() {
        folded(name)
    } else {
        normal
    }
}

/// One hyphen and one apostrophe for all that look so.
fn plain(letter: char) -> char {
    match letter {
        '\u{2010}'..='\u{2013}' => '-',
        '\u{2019}' | '\u{02bc}' => '\'',
        other => other,
    }
}

fn without_quotes(text: &str) -> &str {
    let within =
        |(open, close): (char, char)| text.strip_prefix(open)?.strip_suffix(close).map(str::trim);
    let mut quotes = OPENING.chars().zip(CLOSING.chars());
    quotes
        .find_map(within)
        .filter(|within| !within.is_empty())
        .unwrap_or(text)
}

fn without_article(text: &str) -> &str {
    let is_common = |article: &str, rest: &str| {
        article == "the"
            || article.eq_ignore_ascii_case("the") && rest.starts_with(char::is_lowercase)
    };
    match text.split_once(' ') {
        Some((article, rest)) if is_common(article, rest) => rest,
        _ => text,
    }
}

/// Returns true if a text is a name, and no description or pronoun: at least half of its words begin with no small letter, or have a digit or a capital within.
pub fn is_name(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_proper = |word: &&&str| {
        let first = word.chars().find(|letter| letter.is_alphanumeric());
        first.is_some_and(|first| !first.is_lowercase())
            || word.contains(|letter: char| letter.is_uppercase() || letter.is_numeric())
    };
    let proper = words.iter().filter(is_proper).count();
    let is_clause = text.contains(['\n', ';', '?', '"']) || text.chars().count() > NAME_MAX;
    (1..=WORDS_MAX).contains(&words.len())
        && proper * 2 >= words.len()
        && !is_clause
        && !PRONOUNS.contains(&folded(text).as_str())
}

/// Returns true if a relation says of two names that they are one; a name has as many of these as there are other names.
pub fn is_identity(relation: &str) -> bool {
    IDENTITY.contains(&folded(relation).as_str())
}

/// The two names that a statement merges, while it stands: it says of two names that they are one, has no end, and something beside reflection carried it, as
/// a model that finds two names alike is no ground to take them for one.
pub fn identity<'a>(triple: &'a Triple, judged: &Judged) -> Option<[&'a str; 2]> {
    let names = [triple.subject.as_str(), triple.object.as_str()];
    let says_so = is_identity(&triple.relation) && names.iter().all(|name| is_name(name));
    let stands = judged.outcome == Outcome::Is(Status::Surviving)
        && judged.valid.to.is_none()
        && judged.is_tested();
    (says_so && stands && normal(names[0]) != normal(names[1])).then_some(names)
}

/// Names that are one: from the normal form of a merged name to those of all names of its entity, by the first of which that is
/// called. Without any merge a name is one with its other spellings (`normal`) alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names(HashMap<String, Arc<[String]>>);

impl Names {
    /// Returns the names of the merges that stand, the oldest first. These alone decide, in
    /// whichever order merges were made and unmade.
    pub fn of<'a>(merges: impl IntoIterator<Item = &'a [String]>) -> Self {
        let mut entities: Vec<Vec<String>> = Vec::new();
        let mut at: HashMap<String, usize> = HashMap::new();
        for merge in merges {
            let forms: Vec<String> = merge.iter().map(|name| normal(name)).collect();
            let found: BTreeSet<usize> =
                forms.iter().filter_map(|it| at.get(it).copied()).collect();
            // The oldest takes the others in.
            let into = found.first().copied().unwrap_or(entities.len());
            if into == entities.len() {
                entities.push(Vec::new());
            }
            let mut others = Vec::new();
            for other in found.into_iter().skip(1) {
                others.append(&mut entities[other]);
            }
            for form in others.into_iter().chain(forms) {
                if at.insert(form.clone(), into) != Some(into) {
                    entities[into].push(form);
                }
            }
        }
        let mut of = HashMap::new();
        for forms in entities.into_iter().filter(|forms| !forms.is_empty()) {
            let forms: Arc<[String]> = forms.into();
            of.extend(forms.iter().map(|form| (form.clone(), forms.clone())));
        }
        Self(of)
    }

    /// The normal form by which the entity of a name is called.
    pub fn resolve(&self, name: &str) -> String {
        self.entity(&normal(name)).to_owned()
    }

    /// The same, by the normal form of one of its names.
    pub fn entity<'a>(&'a self, form: &'a str) -> &'a str {
        self.0.get(form).map_or(form, |forms| forms[0].as_str())
    }

    /// Returns true if two names are one.
    pub fn is_one(&self, one: &str, other: &str) -> bool {
        self.resolve(one) == self.resolve(other)
    }

    /// The normal forms of all names of an entity, by one of its names.
    pub fn forms(&self, name: &str) -> BTreeSet<String> {
        self.forms_of(&normal(name))
    }

    /// The same for a name in a query, which may be in small letters, with its article or not.
    pub fn asked(&self, name: &str) -> BTreeSet<String> {
        [normal(name), folded(name)]
            .iter()
            .flat_map(|form| self.forms_of(form))
            .collect()
    }

    /// The same, by the normal form of one of its names.
    pub fn forms_of(&self, form: &str) -> BTreeSet<String> {
        match self.0.get(form) {
            Some(forms) => forms.iter().cloned().collect(),
            None => [form.to_owned()].into(),
        }
    }

    /// Every merged name's normal form, and that of its entity.
    pub fn all(&self) -> BTreeMap<&str, &str> {
        let all = self.0.iter();
        all.map(|(form, forms)| (form.as_str(), forms[0].as_str()))
            .collect()
    }

    /// The normal forms that mean something else by other names than by these.
    pub fn changed(&self, other: &Self) -> Vec<String> {
        let mut forms: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        forms.retain(|form| self.entity(form) != other.entity(form));
        forms.into_iter().cloned().collect()
    }

    /// Memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        let of_one =
            |(form, forms): (&String, &Arc<[String]>)| 2 * form.len() + forms[0].len() + 128;
        self.0.iter().map(of_one).sum()
    }
}
