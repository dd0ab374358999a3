//! A session reads the world model, claims statements for it, and withdraws statements from it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::handle::{Acted, Session};
use super::right::Right;
use super::statement::Statement;
use thinkd_event::entity::{Names, normal};
use thinkd_event::envelope::Event;
use thinkd_event::evidence::speaks_of;
use thinkd_event::method::{Value, current};
use thinkd_event::statement::{
    AGAINST_MAX, Claim, Claimant, Judged, Outcome, Source, Status, Triple, folded,
};
use thinkd_event::word::is_of_self;
use thinkd_log::projections::statements::{Asked, StatementRow};
use thinkd_log::words;
use thinkd_memory::settling::retract;
use thinkd_runtime::refused::Refused;
use thinkd_tools::quote::checked;
use thinkd_tools::word::counts;
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::time::Timestamp;

/// Statements that are looked at at once, and the most looks for one page: others stand between
/// those that are asked for.
const SCAN: u32 = 500;
const SCANS_MAX: usize = 20;
/// Most statements about the same that are searched for contradictions to one.
const RIVALS: u32 = 1000;

/// A selection of statements.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Of this status.
    pub status: Option<Status>,
    /// About this, or with this as their object.
    pub entity: Option<String>,
    /// Of this relation.
    pub relation: Option<String>,
    /// With these words.
    pub text: Option<String>,
    /// Valid at this time, as far as they are held.
    pub at: Option<Timestamp>,
    /// As they were when this event was the last one.
    pub as_of: Option<Seq>,
}

/// The words that a claim rests on.
#[derive(Debug, Clone)]
pub struct Quote {
    /// The words.
    pub words: String,
    /// The event in which they stand; none: they are not checked.
    pub seq: Option<Seq>,
}

impl Session {
    /// Claims something: it is tried, beside everything else, or held on its claimant's word. Returns its id and its status.
    /// Refused as unprocessable where the words of the quote do not stand in its event.
    pub async fn claim(
        &self,
        text: String,
        thread: &ThreadId,
        quote: Option<Quote>,
        premises: Vec<String>,
    ) -> Acted<(String, Status)> {
        let trials = &self.kinds(Right::Speak)?.trials;
        let (store, space) = self.reading()?;
        if !thread.is_main() && store.thread(space, thread).await?.is_none() {
            return Err(Refused::NotFound(format!("thread {thread}")).into());
        }
        for id in &premises {
            if store.statement(space, id).await?.is_none() {
                return Err(Refused::NotFound(format!("statement {id}")).into());
            }
        }
        let seqs = self.quoted(&text, quote.as_ref()).await?;
        let by = self.claimant();
        let word = premises.is_empty()
            && is_of_self(&text, &by, true)
            && counts(&**store, space, &by).await?;
        let source = Source {
            by,
            seqs,
            quote: quote.map(|quote| quote.words),
            word,
        };
        let claim = Claim {
            text,
            source,
            premises,
            root: None,
        };
        Ok(trials.claim(space, thread, claim).await?)
    }

    /// Returns the events that a quote rests on; none where it is not checked.
    async fn quoted(&self, text: &str, quote: Option<&Quote>) -> Acted<Vec<Seq>> {
        let (store, space) = self.reading()?;
        let Some(Quote {
            words,
            seq: Some(seq),
        }) = quote
        else {
            return Ok(Vec::new());
        };
        if !speaks_of(words, &[text], None) {
            let why =
                "the quote says nothing of the statement: copy the words that do, or leave it out";
            return Err(Refused::Unprocessable(why.to_owned()).into());
        }
        let found = checked(&**store, space, words, *seq).await?;
        let refused = || {
            let why = format!(
                "the quote does not stand in event {seq}, as a person or a tool said it: copy it letter by letter, or \
                 leave out seq"
            );
            Refused::Unprocessable(why).into()
        };
        found.ok_or_else(refused)
    }

    fn claimant(&self) -> Claimant {
        let name = self.user().map(str::to_owned);
        Claimant::User { name }
    }

    /// Withdraws a statement without a trial. Members withdraw their own word.
    pub async fn retract(&self, id: &str, reason: String) -> Acted<Statement> {
        let trials = &self.kinds(Right::Speak)?.trials;
        let (store, space) = self.reading()?;
        let own = self.claimant();
        let is_own =
            |row: &StatementRow| row.is_word_of_none_but(&own) && is_of_self(&row.text, &own, true);
        if store
            .statement(space, id)
            .await?
            .is_some_and(|row| !is_own(&row))
        {
            self.require(Right::Shape)?;
        }
        let row = retract(trials.journal(space), id, &reason, self.author()).await?;
        Ok(Statement::alone(row))
    }

    /// Returns one statement, and its events.
    pub async fn statement(&self, id: &str) -> Acted<Option<(Statement, Vec<Event>)>> {
        let (store, space) = self.reading()?;
        let Some(row) = store.statement(space, id).await? else {
            return Ok(None);
        };
        let trials = &self.kinds(Right::Read)?.trials;
        let events = trials.journal(space).story(id).await?;
        let mut statement = Statement::alone(row);
        self.contest([&mut statement], None).await?;
        Ok(Some((statement, events)))
    }

    /// Returns the verdict on a claim that was refused or joined to another.
    pub async fn fate(&self, id: &str) -> Acted<Option<Judged>> {
        let trials = &self.kinds(Right::Read)?.trials;
        let judged = trials.journal(self.space()).folded(id).await?.judged;
        Ok(judged.filter(|judged| matches!(judged.outcome, Outcome::Refused | Outcome::Joined)))
    }

    /// Puts into contested statements the ids of those that contradict them, as they were when this
    /// event was the last one. Contradictions are found by structure, once for all statements about
    /// the same.
    pub(super) async fn contest(
        &self,
        all: impl IntoIterator<Item = &mut Statement>,
        as_of: Option<Seq>,
    ) -> Acted<()> {
        let contested = |it: &&mut Statement| it.status == Status::Contested;
        let all: Vec<&mut Statement> = all.into_iter().filter(contested).collect();
        let names = self.names(!all.is_empty(), as_of).await?;
        let mut known: HashMap<(String, String, bool), Vec<(String, Value)>> = HashMap::new();
        for one in all {
            let Some(triple) = &one.triple else { continue };
            let subject = names.resolve(&triple.subject);
            let relation = folded(&triple.relation);
            let others = match known.entry((subject, relation, triple.single)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(self.held_about(triple, as_of, &names).await?),
            };
            let own = Value::of(triple, one.valid());
            let against = |it: &&(String, Value)| it.0 != one.id && own.contradicts(&it.1, &names);
            let mut against = others.iter().filter(against).map(|(id, _)| id);
            let first: Vec<String> = against.by_ref().take(AGAINST_MAX).cloned().collect();
            one.contested_by_count = first.len() + against.count();
            one.contested_by = first;
        }
        Ok(())
    }

    /// Returns the names that are one, if they are needed.
    pub(super) async fn names(&self, is_needed: bool, as_of: Option<Seq>) -> Acted<Names> {
        let (store, space) = self.reading()?;
        match is_needed {
            true => Ok(store.names(space, as_of).await?),
            false => Ok(Names::default()),
        }
    }

    /// Returns statements that may contradict a triple and are held now, or were at `as_of`.
    async fn held_about(
        &self,
        triple: &Triple,
        as_of: Option<Seq>,
        names: &Names,
    ) -> Acted<Vec<(String, Value)>> {
        let (store, space) = self.reading()?;
        let asked = Asked {
            single: (!triple.single).then_some(true),
            status: as_of.is_none().then_some(Status::Contested),
            limit: RIVALS,
            ..Asked::default()
        };
        let mut rows = Vec::new();
        let mut held = Vec::new();
        for asked in asked.about(triple, names) {
            rows.extend(store.statements(space, &asked).await?);
        }
        rows.sort_by_key(|row| row.number);
        rows.truncate(RIVALS as usize);
        for row in rows {
            let then = self.then(row, as_of).await?;
            let then = then.filter(|it| it.status.is_held());
            held.extend(then.and_then(|it| {
                let value = Value::of(it.triple.as_ref()?, it.valid());
                Some((it.id, value))
            }));
        }
        Ok(held)
    }

    /// Statements in the order in which they were claimed, from behind a position; and where the next ones would begin, if there may be any.
    pub async fn statements(
        &self,
        wanted: &Wanted,
        after: Seq,
        limit: usize,
    ) -> Acted<(Vec<Statement>, Option<Seq>)> {
        let names = self.names(wanted.entity.is_some(), wanted.as_of).await?;
        let (mut found, next) = match (wanted.at, &wanted.entity, &wanted.relation) {
            (Some(at), Some(entity), Some(_)) => {
                let (found, _) = self.found(wanted, 0, usize::MAX, &names).await?;
                (values(found, entity, at, &names), None)
            }
            _ => self.found(wanted, after, limit, &names).await?,
        };
        self.contest(&mut found, wanted.as_of).await?;
        Ok((found, next))
    }

    async fn found(
        &self,
        wanted: &Wanted,
        mut after: Seq,
        limit: usize,
        names: &Names,
    ) -> Acted<(Vec<Statement>, Option<Seq>)> {
        let mut found = Vec::new();
        for _ in 0..SCANS_MAX {
            let rows = self.scanned(wanted, after, names).await?;
            let full = rows.len() >= SCAN as usize;
            for row in rows {
                after = row.number;
                let then = self.then(row, wanted.as_of).await?;
                found.extend(then.filter(|it| is_wanted(it, wanted)));
                if found.len() == limit {
                    return Ok((found, Some(after)));
                }
            }
            if !full {
                return Ok((found, None));
            }
        }
        Ok((found, Some(after)))
    }

    /// Statements that may be wanted, as they are now.
    async fn scanned(
        &self,
        wanted: &Wanted,
        after: Seq,
        names: &Names,
    ) -> Acted<Vec<StatementRow>> {
        let (store, space) = self.reading()?;
        let asked = Asked {
            // What was of another status then may be of this one now, and the other way round.
            status: wanted.status.filter(|_| wanted.as_of.is_none()),
            relation: wanted.relation.clone(),
            after,
            limit: SCAN,
            ..Asked::default()
        };
        let Some(entity) = &wanted.entity else {
            return Ok(store.statements(space, &asked).await?);
        };
        let mut rows = Vec::new();
        for form in names.asked(entity) {
            let mut subject = asked.clone();
            let mut object = asked.clone();
            subject.subject = Some(form.clone());
            object.object = Some(form);
            rows.extend(store.statements(space, &subject).await?);
            rows.extend(store.statements(space, &object).await?);
        }
        rows.sort_by_key(|row| row.number);
        rows.dedup_by(|one, other| one.id == other.id);
        // Of lists that are cut only what all reach is whole.
        rows.truncate(SCAN as usize);
        Ok(rows)
    }

    /// A statement as it was then; none: it had not been claimed.
    async fn then(&self, row: StatementRow, as_of: Option<Seq>) -> Acted<Option<Statement>> {
        let Some(as_of) = as_of.filter(|as_of| row.changed > *as_of) else {
            return Ok(Some(Statement::alone(row)));
        };
        let (store, space) = self.reading()?;
        let standing = store.standing(space, &row.id, as_of).await?;
        Ok(standing.map(|standing| Statement::then(row, standing)))
    }
}

/// The values that something has of a relation at a time: of a single-valued relation the newest.
fn values(found: Vec<Statement>, entity: &str, at: Timestamp, names: &Names) -> Vec<Statement> {
    let forms = names.asked(entity);
    let is_about = |it: &Triple| forms.contains(&normal(&it.subject));
    let is_single = |it: &Statement| it.triple.as_ref().is_some_and(|it| it.single);
    // What it is the object of is another question.
    let (subjects, objects): (Vec<_>, Vec<_>) =
        (found.into_iter()).partition(|it| it.triple.as_ref().is_some_and(is_about));
    let mut values = current(subjects, |it| (is_single(it), it.valid()), at);
    values.extend(objects);
    values.sort_by_key(|it| it.seq);
    values
}

/// Returns true if a statement, as it was then, is wanted. A statement that has ended was so at its
/// time.
fn is_wanted(it: &Statement, wanted: &Wanted) -> bool {
    let was_so = it.status.is_held() || it.status == Status::Ended;
    wanted.status.is_none_or(|status| it.status == status)
        && wanted.at.is_none_or(|at| was_so && it.valid().is_at(at))
        && (wanted.text.as_ref()).is_none_or(|text| words::matches(text, &it.text))
}
