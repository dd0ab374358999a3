//! A person's word. A statement of a person about themselves is held on it, without a trial; another one that a mind is told to
//! keep is recalled with it, and not held. Pure; `tools/word.rs` tells a word that counts.

use std::borrow::Cow;

use super::statement::{Claimant, Instrument, Source, Status, folded, spaced};

/// The person of a space in which no person has a name.
pub const NAMELESS: &str = "the user";

/// The beginnings of a statement about that person.
const NAMELESS_SUBJECTS: [&str; 2] = [NAMELESS, "user"];

/// Words by which a name goes on: "Ann de Boer", "Bob the builder".
const PARTICLES: [&str; 24] = [
    "af", "al", "av", "bin", "da", "de", "del", "della", "den", "der", "di", "dos", "du", "el",
    "ibn", "la", "le", "of", "ten", "ter", "the", "van", "von", "zu",
];

impl Claimant {
    /// Returns the person as a mark names them.
    pub fn shown(&self) -> &str {
        match self {
            Self::User { name: Some(name) } => name,
            Self::User { name: None } | Self::Mind => NAMELESS,
        }
    }

    /// Returns true if it is a person.
    pub fn is_person(&self) -> bool {
        matches!(self, Self::User { .. })
    }
}

/// Returns true if a statement is about its claimant, or a thing of theirs: it begins with their name. A person without a name
/// is `The user`, or "I" and "my" where the statement is their own words (`said`).
pub fn is_of_self(text: &str, by: &Claimant, said: bool) -> bool {
    match by {
        Claimant::Mind => false,
        Claimant::User { name: Some(name) } => begins_with(text, name),
        Claimant::User { name: None } => {
            let first = folded(text.split_whitespace().next().unwrap_or_default());
            let first = first.split(['\'', '’']).next().unwrap_or_default();
            said && matches!(first, "i" | "my")
                || NAMELESS_SUBJECTS.iter().any(|name| begins_with(text, name))
        }
    }
}

/// Returns true if a text begins with a name and says something of it. A name that goes on is another one: "Clara Meyer" is
/// not "Clara".
fn begins_with(text: &str, name: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let count = name.split_whitespace().count();
    let Some((head, rest)) = words.split_at_checked(count).filter(|_| count > 0) else {
        return false;
    };
    let head = folded(&head.join(" "));
    let name = folded(name);
    let goes_on = |next: &&str| {
        next.starts_with(|c: char| c.is_uppercase() || c.is_ascii_punctuation())
            || PARTICLES.contains(next)
    };
    match (head.strip_prefix(&name), rest.first()) {
        (Some(""), Some(next)) => !goes_on(next),
        (Some("'s" | "’s" | "'" | "’"), Some(_)) => true,
        _ => false,
    }
}

/// Returns the person that gave the word on which a statement is recalled: it is held and no
/// instrument carries it, or nothing has tested it yet. `carried`: the instruments that carry it.
pub fn word_of<'a>(
    status: Status,
    carried: &[Instrument],
    sources: &'a [Source],
) -> Option<&'a Claimant> {
    let is_on_word = match status {
        Status::Proposed => true,
        status => status.is_held() && carried.is_empty(),
    };
    let of = |is: fn(&&Source) -> bool| sources.iter().find(is).filter(|_| is_on_word);
    // A program of before keeps no mark when it adds a source.
    let source =
        of(|it| it.word).or_else(|| of(|it| it.by.is_person()).filter(|_| status.is_held()));
    source.map(|it| &it.by)
}

/// Returns the mark of a statement that is recalled on a person's word.
pub fn mark(status: Status, said_by: &str) -> String {
    let not_tested = if status.is_held() { "" } else { ", not tested" };
    format!("said by {}{not_tested}", spaced(said_by))
}

/// Returns the meaning of a status, for readers. `said_by`: the person that gave the word for it.
pub fn label(status: Status, reflection_only: bool, said_by: Option<&str>) -> Cow<'static, str> {
    let base = match (status, said_by) {
        (Status::Proposed | Status::Surviving, Some(by)) => return mark(status, by).into(),
        (Status::Contested, Some(by)) => {
            return format!("{}, and another one contradicts it", mark(status, by)).into();
        }
        (Status::Proposed, None) => "a claim that has not come through a trial",
        (Status::Surviving, None) => "a hypothesis that no test has refuted so far",
        (Status::Contested, None) => {
            "a hypothesis that no test has refuted so far, and that another one contradicts"
        }
        (Status::Untested, _) => "a hypothesis whose ground was withdrawn since it was tested",
        (Status::Falsified, _) => "a hypothesis that a test has refuted",
        (Status::Ended, _) => "a hypothesis of what was so, and is not any more",
        (Status::Retracted, _) => "a statement that somebody has withdrawn",
    };
    match reflection_only && status.is_held() {
        true => format!("{base}; reflection only").into(),
        false => base.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Claimant {
        Claimant::User {
            name: Some(name.into()),
        }
    }

    #[test]
    fn a_statement_is_of_whoever_it_begins_with() {
        let clara = named("clara");
        for own in [
            "Clara is allergic to peanuts.",
            "clara's sister lives in Bergen.",
            "CLARA’s dog is called Rex.",
        ] {
            assert!(is_of_self(own, &clara, false), "{own}");
        }
        for other in [
            "Clara.",
            "Clara, the library opens at ten.",
            "Claras Schwester lebt in Bergen.",
            "Clara Meyer is a thief.",
            "Clara-Marie is ill.",
            "Clara de Boer is a thief.",
            "Clara (Lee) is a thief.",
            "Clara \"Red\" Lee is a thief.",
            "Clara the baker is rich.",
            "The wifi password is under the clock.",
            "The user is allergic to peanuts.",
            "I am allergic to peanuts.",
            "Bob says that Clara is ill.",
            "",
        ] {
            assert!(!is_of_self(other, &clara, true), "{other}");
        }
        assert!(is_of_self(
            "Clara Meyer is ill.",
            &named("Clara  Meyer"),
            false
        ));
        assert!(!is_of_self("Clara is ill.", &Claimant::Mind, true));
        assert!(!is_of_self("is ill", &named(""), true));
    }

    #[test]
    fn a_person_without_a_name_is_the_user() {
        let user = Claimant::User { name: None };
        for own in ["The user is a nurse.", "User's dog is called Rex."] {
            assert!(is_of_self(own, &user, false), "{own}");
        }
        for said in ["I'm a nurse.", "My dog is called Rex.", "I am a nurse."] {
            assert!(is_of_self(said, &user, true), "{said}");
            assert!(!is_of_self(said, &user, false), "the mind's own: {said}");
        }
        assert!(!is_of_self("Users are many.", &user, true));
    }

    #[test]
    fn what_an_instrument_carries_is_nobodys_word() {
        let source = |by, word| Source {
            by,
            seqs: Vec::new(),
            quote: None,
            word,
        };
        let sources = [source(Claimant::Mind, false), source(named("clara"), true)];
        let word = |status, carried: &[Instrument]| word_of(status, carried, &sources);
        assert_eq!(word(Status::Surviving, &[]), Some(&named("clara")));
        assert_eq!(word(Status::Proposed, &[]), Some(&named("clara")));
        assert_eq!(word(Status::Surviving, &[Instrument::Code]), None);
        assert_eq!(word(Status::Ended, &[]), None);
        let plain = [source(named("bob"), false)];
        assert_eq!(word_of(Status::Proposed, &[], &plain), None);
        assert_eq!(
            label(Status::Proposed, false, Some("bob")),
            "said by bob, not tested"
        );
    }
}
