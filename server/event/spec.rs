//! A spec describes a kind of fact: its tags and the members of its payload. Each family has one for each kind. The catalogue
//! (`event/catalogue.rs`) writes the documents from specs, and the tests check every event of their logs against them.

use serde_json::Value;

use super::raw::Raw;

/// One kind of fact.
#[derive(Debug)]
pub struct Spec {
    /// Its name in the documents.
    pub name: &'static str,
    /// What it says, in a sentence.
    pub about: &'static str,
    /// Its tags, in order: a word, words with `|` between them, `<what>` for anything, `?` at the end where it may be missing, `*` where it
    /// may be there any number of times.
    pub tags: &'static [&'static str],
    /// The members of its payload.
    pub members: &'static [Member],
    /// Any other member may be there, too.
    pub open: bool,
}

/// A member of a payload: its name (with `?` where it may be missing), its type as TypeScript writes it, and what it is.
pub type Member = (&'static str, &'static str, &'static str);

/// `text` of every fact that has one.
pub(super) const TEXT: Member = ("text", "string", "the same for people and models");
/// The turn that produced it.
pub(super) const TURN: Member = ("turn", "number", "the turn");
/// The turn, of what may come outside of turns, too.
pub(super) const TURN_MAYBE: Member = ("turn?", "number", "the turn, if a turn produced it");
/// The call that made it.
pub(super) const CALL_MAYBE: Member = ("call_id?", "string", "the tool call that made it");
/// Its root.
pub(super) const ROOT: Member = (
    "root?",
    "number",
    "the event from outside that it goes back to",
);

impl Spec {
    /// What of an event is not as the documents say; empty when all is.
    pub fn faults(&self, raw: Raw<'_>) -> Vec<String> {
        let mut faults = Vec::new();
        if !fits_tags(self.tags, raw.tags) {
            faults.push(format!(
                "{}: the tags are {:?}, not {:?}",
                self.name, raw.tags, self.tags
            ));
        }
        for (key, kind, _) in self.members {
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

/// Whether the tags are these, in their order.
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

/// Whether a value is of a type, as TypeScript writes those that are used here.
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
