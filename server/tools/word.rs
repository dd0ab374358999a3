//! A person's word: the people that have one, and the events of a claim that rests on it. The rule is in `event/word.rs`.

use std::collections::BTreeSet;

use serde_json::Value;
use uuid::Uuid;

use thinkd_event::condition::{Condition, Room};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Event, Source as From, tag};
use thinkd_event::fact::statement;
use thinkd_event::statement::{
    Claim, Claimant, Judged, Outcome, SOURCES_MAX, Source, Status, Valid, folded,
};
use thinkd_event::trial::News;
use thinkd_event::word;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::statements::StatementRow;
use thinkd_log::query::{Query, Show};
use thinkd_recall::background::{Common, Fit};
use thinkd_recall::forms::forms;
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::time::Timestamp;

/// The newest words of people in a space among which a name is looked for.
const SPOKEN: u32 = 500;
/// Statements of the same text that are looked at.
const SAME: u32 = 64;

/// The newest readings of a statement that are looked at for an experiment's.
const READINGS: u32 = 100;

/// The least share of a word in its language that tells nothing by itself, such as "is" and "has".
const USUAL: f32 = 5e-4;
/// Letters by which persons of a verb differ, and the least that stays of a word without them.
const ENDINGS: [char; 8] = ['a', 'e', 'i', 'o', 'u', 's', 'n', 't'];
const STEM_MIN: usize = 3;
/// Words that deny, of the languages that are spoken most.
const DENIALS: &str = include_str!("denials.txt");
/// The same of languages without spaces.
const UNSPACED_DENIALS: [&str; 8] = ["不", "没", "沒", "ない", "ません", "なかった", "無い", "未"];

/// A claim that is held on a person's word.
pub struct Held {
    /// The statement.
    pub id: String,
    /// The events that say so.
    pub drafts: Vec<Draft>,
}

/// Returns the person of a message, or of an answer to a question; none for a verdict, which has words of the mind.
pub fn person(event: &Event) -> Option<Claimant> {
    let mut keys = [(tag::INPUT, "user"), (tag::ANSWER, "by")].into_iter();
    let (_, key) = keys.find(|(tag, _)| event.source == From::User && event.has(tag))?;
    let name = event.payload.get(key).and_then(Value::as_str);
    Some(Claimant::User {
        name: name.map(str::to_owned),
    })
}

/// Returns true if a claimant's word counts: it is a person with a name, or a person of a space without names. People without
/// names cannot be told apart from the others of a space.
pub async fn counts(store: &dyn Store, space: &Space, by: &Claimant) -> Result<bool, StoreError> {
    let is_named = |by| matches!(by, Claimant::User { name: Some(_) });
    if !by.is_person() || is_named(by.clone()) {
        return Ok(by.is_person());
    }
    let query = Query {
        tags: [tag::INPUT, tag::ANSWER].map(str::to_owned).into(),
        source: Some(From::User),
        show: Show::All,
        limit: SPOKEN,
        ..Query::default()
    };
    let spoken = store.events(space, &query).await?;
    Ok(!spoken.iter().filter_map(person).any(is_named))
}

/// Returns the events of a person's word about themselves: it is held in the append that claims it. None: an experiment has
/// refuted the same, it was withdrawn, or has lost its ground, and is claimed like anything else.
pub async fn held(
    store: &dyn Store,
    (space, thread): (&Space, &ThreadId),
    id: Uuid,
    claim: &Claim,
) -> Result<Option<Held>, StoreError> {
    let by = claim.source.by.shown();
    let same = store.statements_saying(space, &claim.text, SAME).await?;
    // The same words about another time are another statement.
    let same = same.into_iter().find(|row| row.status != Status::Ended);
    let mark = word::mark(Status::Surviving, by);
    let judged = Judged::of(Outcome::Is(Status::Surviving), mark, Valid::default());
    let Some(same) = same else {
        let [claimed, _] = Draft::claimed(thread, id, claim.clone());
        let claimed = claimed.only_if(Condition::FirstSaying(claim.text.clone()));
        let id = id.to_string();
        let held = Draft::statement(thread, &id, News::Judged(judged));
        let drafts = vec![claimed, held];
        return Ok(Some(Held { id, drafts }));
    };
    let is_open = match same.status {
        Status::Proposed => true,
        // Reflection knows less of a person than they do.
        Status::Falsified => !is_refuted_by_experiment(store, space, &same.id).await?,
        _ => is_taken_back(&same, &claim.source),
    };
    if !is_open && !same.status.is_held() {
        return Ok(None);
    }
    let mut drafts = Vec::from_iter(sourced(&same, &claim.source));
    if is_open {
        let reopened = same.judged.as_ref().map_or(0, |judged| judged.reopened);
        let judged = Judged { reopened, ..judged };
        let word = News::Judged(judged);
        drafts.push(Draft::statement(&same.thread, &same.id, word));
    }
    if let Some(first) = drafts.first_mut() {
        first.conditions.push(same.stands());
    }
    let id = same.id;
    Ok(Some(Held { id, drafts }))
}

/// Returns the events of a claim that waits for its trial, where at most `most` of a space wait;
/// none: there is no room for it.
pub async fn waiting(
    store: &dyn Store,
    (space, thread): (&Space, &ThreadId),
    (id, claim): (Uuid, Claim),
    most: u32,
) -> Result<Option<Vec<Draft>>, StoreError> {
    let room = store.room_for_claim(space, most).await?;
    let mut drafts = Draft::claimed(thread, id, claim);
    if room == Room::Scarce {
        drafts[0].conditions.push(Condition::FewerWaiting(most));
    }
    Ok((room != Room::None).then(|| drafts.into()))
}

/// Returns the word that ends an earlier statement of the same person, by its id or its text; or the reason why nothing ends.
pub async fn replaced(
    store: &dyn Store,
    space: &Space,
    (what, with): (&str, &Claim),
    now: Timestamp,
) -> Result<Result<Draft, String>, StoreError> {
    let by = &with.source.by;
    let rows = match Uuid::try_parse(what) {
        Ok(id) => Vec::from_iter(store.statement(space, &id.to_string()).await?),
        Err(_) => store.statements_saying(space, what, SAME).await?,
    };
    let own = rows.into_iter().find(|row| row.is_word_of(by));
    let Some(row) = own.filter(|_| with.source.word) else {
        let text = "nothing of these words is held, or recalled, on this person's word alone";
        return Ok(Err(text.to_owned()));
    };
    if is_same(&row.text, &with.text) {
        return Ok(Err("it says the same".to_owned()));
    }
    if row.status == Status::Contested {
        let text = "another one contradicts it: an operator withdraws it";
        return Ok(Err(text.to_owned()));
    }
    let others = row.sources.iter().filter(|it| it.by != *by);
    let others: Vec<Source> = others.cloned().collect();
    if others.iter().any(|it| it.word) {
        // It stays the word of those who said it, too.
        let left = Draft::statement_sourced(&row.thread, &row.id, others);
        return Ok(Ok(left.only_if(row.stands())));
    }
    let mut valid = row.valid;
    valid.to = Some(valid.to.map_or(now, |to| to.min(now)));
    let reason = format!("{} says since: {}", by.shown(), with.text);
    let judged = Judged::of(Outcome::Is(Status::Ended), reason, valid);
    Ok(Ok(row.becomes(judged)))
}

/// Returns true if a message says all of a statement about the person `name`: each word of it that tells something, in some form,
/// those of the name aside. "I like tea" says "Clara likes tea." and not "Clara likes gin." nor "Clara does not like tea."
pub fn says_all(message: &str, statement: &str, name: &str) -> bool {
    let [said, told, named] = [message, statement, name].map(forms);
    let mut fit = Fit::default();
    said.iter().for_each(|it| fit.add(Common::of(it), 1));
    let language = fit.language(&Fit::default(), 0);
    let said: BTreeSet<&str> = said.iter().map(|it| stem(it)).collect();
    let tells = |it: &&String| !named.contains(*it) && Common::of(it).share(language) < USUAL;
    let mut telling = told.iter().filter(tells).peekable();
    // Words that stand in each message say nothing of a person.
    denies(message) == denies(statement)
        && telling.peek().is_some()
        && telling.all(|it| said.contains(stem(it)))
}

/// Returns the form of a word without the endings by which persons of a verb differ: `viv` of "vivo" and "vive".
fn stem(form: &str) -> &str {
    let mut stem = form;
    while stem.chars().nth(STEM_MIN).is_some() && stem.ends_with(ENDINGS) {
        let last = stem.chars().next_back().map_or(0, char::len_utf8);
        stem = &stem[..stem.len() - last];
    }
    stem
}

/// Returns true if a text denies something.
fn denies(text: &str) -> bool {
    let text = folded(text).replace('’', "'");
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| word.ends_with("n't") || DENIALS.lines().any(|it| it == word))
        || UNSPACED_DENIALS.iter().any(|it| text.contains(it))
}

/// Returns true if two texts are one statement.
pub fn is_same(one: &str, other: &str) -> bool {
    folded(one) == folded(other)
}

/// Returns true if an experiment has said no to a prediction of a statement, in any of its trials.
async fn is_refuted_by_experiment(
    store: &dyn Store,
    space: &Space,
    id: &str,
) -> Result<bool, StoreError> {
    let query = Query {
        tags: [format!("{}:{id}", statement::TAG), "no".to_owned()].into(),
        all_tags: true,
        limit: READINGS,
        ..Query::default()
    };
    let readings = store.events(space, &query).await?;
    let by_experiment = |event: Event| match event.fact().news() {
        Some((_, News::Read(reading))) => reading.instrument.is_experiment(),
        _ => false,
    };
    Ok(readings.into_iter().any(by_experiment))
}

/// Returns true if the same person has withdrawn the statement that they say again.
fn is_taken_back(row: &StatementRow, source: &Source) -> bool {
    let by = row.judged.as_ref().and_then(|judged| judged.by.as_ref());
    let is_own = matches!(&source.by, Claimant::User { name } if name.as_ref() == by);
    row.status == Status::Retracted && by.is_some() && is_own
}

/// Returns the event that puts the person's own source before those of others, if it is not there.
fn sourced(row: &StatementRow, source: &Source) -> Option<Draft> {
    let others = row.sources.iter().filter(|it| *it != source);
    let all = [source].into_iter().chain(others).take(SOURCES_MAX);
    let all: Vec<Source> = all.cloned().collect();
    (all != row.sources).then(|| Draft::statement_sourced(&row.thread, &row.id, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_it_says_in_the_third_person() {
        for (message, statement) in [
            ("I like tea", "Clara likes tea."),
            ("I'm allergic to peanuts!", "Clara is allergic to peanuts."),
            ("I don't smoke", "Clara does not smoke."),
            ("I use Emacs", "Clara uses Emacs."),
            ("I have a son", "Clara has a son."),
            ("Ich arbeite in Bonn.", "Clara arbeitet in Bonn."),
            ("Vivo en Oslo", "Clara vive en Oslo."),
            ("我对花生过敏", "Clara对花生过敏"),
        ] {
            assert!(
                says_all(message, statement, "clara"),
                "{message}: {statement}"
            );
        }
    }

    #[test]
    fn a_message_does_not_say_what_only_looks_like_it() {
        for (message, statement) in [
            ("I work as a prosecutor", "Clara works as a prostitute."),
            ("I was at a convention", "Clara was convicted."),
            ("I like tea", "Clara likes gin, is a spy and has HIV."),
            ("I am deaf", "Clara is dead."),
            ("I like tea", "Clara has it."),
            ("I don't smoke", "Clara smokes."),
            (
                "I am no longer allergic to milk",
                "Clara is allergic to milk.",
            ),
            ("I smoke", "Clara does not smoke."),
            ("Ich rauche nicht", "Clara raucht."),
            ("我不抽烟", "Clara抽烟"),
        ] {
            assert!(
                !says_all(message, statement, "clara"),
                "{message}: {statement}"
            );
        }
    }
}
