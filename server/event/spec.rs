//! A spec describes a kind of fact: its tags and the members of its payload. Each family has one for each kind, most of them written by
//! `#[derive(Fact)]` (`facts/`). The catalogue (`event/catalogue.rs`) writes the documents from specs, and the tests check every event of
//! their logs against them.

use serde_json::Value;

use super::draft::Draft;
use super::envelope::{Modality, Source};
use super::raw::Raw;
use thinkd_words::id::ThreadId;

/// One kind of fact.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Its name in the documents.
    pub name: &'static str,
    /// Its meaning, in a sentence.
    pub about: &'static str,
    /// Its tags, in order: a word, words with `|` between them, `<what>` for anything, `?` at the end where it may be missing, `*` where it
    /// may be there any number of times.
    pub tags: Vec<&'static str>,
    /// The members of its payload.
    pub members: Vec<Member>,
    /// Any other member may be there, too.
    pub open: bool,
}

/// A member of a payload: its name (with `?` where it may be missing), its type as TypeScript
/// writes it, and its meaning.
pub type Member = (&'static str, &'static str, &'static str);

/// The spec of a kind that is written and read by hand: its text, its name, its tags, and its members, each with its text.
macro_rules! spec {
    (
        $(#[doc = $about:literal])+ $name:literal, [$($tag:expr),* $(,)?];
        $($(#[doc = $means:literal])* $($key:literal => $kind:literal)? $($shared:ident)?,)*
    ) => {
        crate::spec::Spec {
            name: $name,
            about: concat!($($about),+).trim_ascii_start(),
            tags: vec![$($tag),*],
            members: vec![$(
                crate::spec::spec!(@ [$($means),*] $($key => $kind)? $($shared)?)
            ),*],
            open: false,
        }
    };
    (@ [] $shared:ident) => { $shared };
    (@ [$($means:literal),+] $key:literal => $kind:literal) => {
        ($key, $kind, concat!($($means),+).trim_ascii_start())
    };
}
pub(super) use spec;

/// `text` of every fact that has one.
pub const TEXT: Member = ("text", "string", "the same for people and models");
/// The turn that produced it.
pub(super) const TURN: Member = ("turn", "number", "the turn");
/// The turn, of events that may come outside of turns, too.
pub(super) const TURN_MAYBE: Member = ("turn?", "number", "the turn, if a turn produced it");
/// The call that made it.
pub(super) const CALL_MAYBE: Member = ("call_id?", "string", "the tool call that made it");
/// Its root.
pub(super) const ROOT: Member = (
    "root?",
    "number",
    "the event from outside that it goes back to",
);

/// A type that has several members of a payload.
pub trait Flat<'a>: Sized {
    /// As the documents name them.
    fn members() -> Vec<Member>;

    /// Reads them.
    fn read(raw: Raw<'a>) -> Option<Self>;

    /// Writes them.
    fn write(self, draft: Draft) -> Draft;
}

impl<'a, T: Flat<'a>> Flat<'a> for Option<T> {
    fn members() -> Vec<Member> {
        T::members()
    }

    fn read(raw: Raw<'a>) -> Option<Self> {
        Some(T::read(raw))
    }

    fn write(self, draft: Draft) -> Draft {
        match self {
            Some(it) => it.write(draft),
            None => draft,
        }
    }
}

/// An enum of kinds: each variant is one, named by the second tag.
pub trait Kinds<'a>: Sized {
    /// The specs, each with these tags (`<kind>` stands for its own) and members before its own.
    fn specs(tags: &[&'static str], shared: &[Member]) -> Vec<Spec>;

    /// Reads the variant and its members.
    fn read(raw: Raw<'a>) -> Option<Self>;

    /// Its name in the documents.
    fn kind(&self) -> &'static str;

    /// Returns the parts of its event beside members; `of` stands in its text.
    fn head(&self, of: &str) -> Head;

    /// Writes its members.
    fn write(self, draft: Draft) -> Draft;
}

/// The parts of an event beside members, as its kind decides.
pub struct Head {
    /// The tags of its own, the kind first.
    pub tags: Vec<String>,
    /// The source of the event.
    pub source: Source,
    /// The text.
    pub text: String,
}

impl Head {
    /// The draft of a fact of this one tag and those of its kind.
    pub fn draft(self, thread: &ThreadId, tag: &str) -> Draft {
        let tags = std::iter::once(tag.to_owned()).chain(self.tags).collect();
        Draft::empty(thread, self.source, Modality::State, tags).payload("text", self.text)
    }
}

/// A type that may be null.
pub fn or_null(kind: &str) -> &'static str {
    match kind {
        "number" => "number | null",
        _ => "string | null",
    }
}

/// The tags of a kind: the shared ones with the first of its own in its place, and the rest of its own behind them.
pub fn of_kind(shared: &[&'static str], own: &[&'static str]) -> Vec<&'static str> {
    let named = |tag: &&'static str| if *tag == "<kind>" { own[0] } else { *tag };
    shared
        .iter()
        .map(named)
        .chain(own[1..].iter().copied())
        .collect()
}

impl Spec {
    /// Returns the faults of an event by the documents; empty when it has none.
    pub fn faults(&self, raw: Raw<'_>) -> Vec<String> {
        let mut faults = Vec::new();
        if !fits_tags(&self.tags, raw.tags) {
            faults.push(format!(
                "{}: the tags are {:?}, not {:?}",
                self.name, raw.tags, self.tags
            ));
        }
        for (key, kind, _) in &self.members {
            let (name, may_miss) = optional(key);
            match raw.get(name) {
                Some(value) if !fits(kind, value) => {
                    faults.push(format!("{}: `{name}` is no {kind}: {value}", self.name));
                }
                None if !may_miss => faults.push(format!("{}: `{name}` is missing", self.name)),
                _ => {}
            }
        }
        let is_known = |name: &String| self.members.iter().any(|(key, ..)| optional(key).0 == name);
        let strangers = raw
            .payload
            .keys()
            .filter(|name| !self.open && !is_known(name));
        faults.extend(
            strangers.map(|name| format!("{}: `{name}` is not said to be there", self.name)),
        );
        faults
    }
}

/// A name of a tag or a member, and whether it may be missing.
pub(super) fn optional(name: &str) -> (&str, bool) {
    name.strip_suffix('?')
        .map_or((name, false), |name| (name, true))
}

/// Returns true if the tags are these, in their order.
fn fits_tags(patterns: &[&str], tags: &[String]) -> bool {
    let Some((pattern, rest)) = patterns.split_first() else {
        return tags.is_empty();
    };
    if let Some(pattern) = pattern.strip_suffix('*') {
        let many = tags.iter().take_while(|tag| fits_tag(pattern, tag)).count();
        return fits_tags(rest, &tags[many..]);
    }
    let (pattern, may_miss) = optional(pattern);
    let is_it = tags
        .first()
        .is_some_and(|tag| pattern.split('|').any(|word| fits_tag(word, tag)));
    (is_it && fits_tags(rest, &tags[1..])) || (may_miss && fits_tags(rest, tags))
}

fn fits_tag(pattern: &str, tag: &str) -> bool {
    match pattern.split_once('<') {
        None => pattern == tag,
        Some((begin, _)) => tag.len() > begin.len() && tag.starts_with(begin),
    }
}

/// Returns true if a value is of a type, as TypeScript writes those that are used here.
fn fits(kind: &str, value: &Value) -> bool {
    kind.split(" | ").any(|kind| match kind {
        "unknown" => true,
        "null" => value.is_null(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        list if list.ends_with("[]") => value
            .as_array()
            .is_some_and(|items| items.iter().all(|item| fits(&list[..list.len() - 2], item))),
        word => value.as_str() == Some(word.trim_matches('"')),
    })
}
