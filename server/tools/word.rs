//! A person's word: the people that have one, and the events of a claim that rests on it. The rule is in `event/word.rs`.

use serde_json::Value;
use uuid::Uuid;

use crate::event::draft::Draft;
use crate::event::envelope::{Event, Source as From, tag};
use crate::event::statement::{
    Claim, Claimant, Judged, Outcome, SOURCES_MAX, Source, Status, Valid, folded,
};
use crate::event::trial::News;
use crate::event::word;
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::statements::StatementRow;
use crate::log::query::{Query, Show};
use crate::words::id::{Space, ThreadId};
use crate::words::time::Timestamp;

/// The newest words of people in a space among which a name is looked for.
const SPOKEN: u32 = 500;
/// Statements of the same text that are looked at.
const SAME: u32 = 64;

/// A claim that is held on a person's word.
pub struct Held {
    /// The statement.
    pub id: String,
    /// The events that say so.
    pub drafts: Vec<Draft>,
}

/// Returns the person of a message, or of an answer to a question; none for a verdict, which has words of the mind.
pub fn person(event: &Event) -> Option<Claimant> {
    let key = [(tag::INPUT, "user"), (tag::ANSWER, "by")]
        .into_iter()
        .find(|(tag, _)| event.source == From::User && event.has(tag))?
        .1;
    let name = event.payload.get(key).and_then(Value::as_str);
    Some(Claimant::User {
        name: name.map(str::to_owned),
    })
}

/// Returns true if a claimant's word counts: it is a person with a name, or a person of a space without names. People without
/// names cannot be told apart from the others of a space.
pub async fn counts(store: &dyn Store, space: &Space, by: &Claimant) -> Result<bool, StoreError> {
    match by {
        Claimant::Mind => return Ok(false),
        Claimant::User { name: Some(_) } => return Ok(true),
        Claimant::User { name: None } => {}
    }
    let query = Query {
        tags: [tag::INPUT, tag::ANSWER].map(str::to_owned).into(),
        source: Some(From::User),
        show: Show::All,
        limit: SPOKEN,
        ..Query::default()
    };
    let spoken = store.events(space, &query).await?;
    let is_named = |by| matches!(by, Claimant::User { name: Some(_) });
    Ok(!spoken.iter().filter_map(person).any(is_named))
}

/// Returns the events of a person's word about themselves: it is held in the append that claims it. None: the same was refuted,
/// withdrawn or has lost its ground, and is claimed like anything else.
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
    let judged = Judged::of(
        Outcome::Is(Status::Surviving),
        word::mark(Status::Surviving, by),
        Valid::default(),
    );
    let Some(same) = same else {
        let [claimed, _] = Draft::claimed(thread, id, claim.clone());
        let id = id.to_string();
        let held = Draft::statement(thread, &id, News::Judged(judged));
        let drafts = vec![claimed, held];
        return Ok(Some(Held { id, drafts }));
    };
    let is_open = same.status == Status::Proposed || is_taken_back(&same, &claim.source);
    if !is_open && !same.status.is_held() {
        return Ok(None);
    }
    let sourced = sourced(&same, &claim.source);
    let word = is_open.then(|| {
        let reopened = same.judged.as_ref().map_or(0, |judged| judged.reopened);
        let judged = Judged { reopened, ..judged };
        Draft::statement(&same.thread, &same.id, News::Judged(judged))
    });
    let mut drafts: Vec<Draft> = sourced.into_iter().chain(word).collect();
    if let Some(first) = drafts.first_mut() {
        first.conditions.push(same.stands());
    }
    let id = same.id;
    Ok(Some(Held { id, drafts }))
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
    let own = rows.into_iter().find(|row| row.word() == Some(by));
    let Some(row) = own.filter(|_| with.source.word) else {
        let text = "nothing of these words is held, or recalled, on this person's word alone";
        return Ok(Err(text.to_owned()));
    };
    if is_same(&row.text, &with.text) {
        return Ok(Err("it says the same".to_owned()));
    }
    if row.status == Status::Contested {
        return Ok(Err(
            "another one contradicts it: an operator withdraws it".to_owned()
        ));
    }
    let to = row.valid.to.map_or(now, |to| to.min(now));
    let valid = Valid {
        to: Some(to),
        ..row.valid
    };
    let reason = format!("{} says since: {}", by.shown(), with.text);
    let judged = Judged::of(Outcome::Is(Status::Ended), reason, valid);
    Ok(Ok(row.becomes(judged)))
}

/// Returns true if two texts are one statement.
pub fn is_same(one: &str, other: &str) -> bool {
    folded(one) == folded(other)
}

/// Returns true if the same person has withdrawn what they say again.
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
