//! Tells threads when a statement falls that came from their events, or that these returned: once
//! for each fall and thread, and once more when the statement is held again. Events that name a
//! statement after its fall are answered once as well. The position in the log that it goes by is
//! stored when the trials rest, so that a crash loses and repeats nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::json;

use super::Trials;
use super::bench::Bench;
use super::journal::{APPEND_MAX, Journal, PAGE, Stored};
use crate::event::correction::{Correction, EVENTS_MAX, TEXT_MAX};
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::recalled;
use crate::event::fact::statement::{Said, StatementFact};
use crate::event::statement::{Status, cut};
use crate::log::projections::statements::StatementRow;
use crate::log::query::{Order, Query, Show};
use crate::mind::turn_writer::Lost;
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::id::{self, Seq, Space, ThreadId};

/// Most events that returned a statement that are looked at, the newest.
const RECALLS_MAX: usize = 2000;

/// The events of threads that a statement came from, or that returned it; the threads in the order
/// in which they are told: those of its sources first, then those that recalled it last.
#[derive(Default)]
struct Concerned {
    threads: Vec<ThreadId>,
    of: BTreeMap<ThreadId, BTreeSet<Seq>>,
    /// More events returned it than were looked at.
    is_cut: bool,
}

impl Concerned {
    fn take(&mut self, thread: ThreadId, seq: Seq) {
        if !self.of.contains_key(&thread) {
            self.threads.push(thread.clone());
        }
        self.of.entry(thread).or_default().insert(seq);
    }

    /// The newest events of a thread, in order.
    fn newest(&self, thread: &ThreadId) -> Vec<Seq> {
        let all = self.of.get(thread).into_iter().flatten().copied();
        let mut newest: Vec<Seq> = all.rev().take(EVENTS_MAX).collect();
        newest.reverse();
        newest
    }
}

/// Returns the status of a statement since an event, to be told in the threads that it concerns.
fn turned(row: &StatementRow, status: Status, since: Seq, was_held: bool) -> Correction {
    Correction {
        statement: row.id.clone(),
        says: cut(&row.text, TEXT_MAX),
        status,
        since,
        was_held,
        of: Vec::new(),
    }
}

/// Returns the failure that not all threads are told, in the thread of the trials.
fn not_all(turned: &Correction) -> Draft {
    let Correction {
        statement,
        since,
        status,
        ..
    } = turned;
    let status = status.as_str();
    let text = format!(
        "the statement {statement} is {status} since event {since}, and of the recalls that returned it only the newest {RECALLS_MAX} were looked at: threads \
         that recalled it before these alone are not told"
    );
    let detail = json!({ "statement": statement, "since": since, "limit": RECALLS_MAX });
    let failure = Failure::new(FailureKind::Budget, text).with(detail);
    let id = id::about(&format!("{statement} since {since} not told to all"));
    Draft::failure(&ThreadId::of_trials(), None, &Who::Trial, &failure).with_id(id)
}

impl Trials {
    /// A recall that was under way while a statement fell is stored behind the fall, and the trials
    /// may have told of that by then. After a crash a start finds it (`renewing.rs`).
    pub(super) fn look_for_late(&self, space: &Space, event: &Event) {
        let fact = event.fact();
        let ids = recalled::returned(&fact).into_iter().map(str::to_owned);
        let ids: Vec<String> = ids.collect();
        if ids.is_empty() {
            return;
        }
        let (ground, space) = (self.ground.clone(), space.clone());
        self.ground.mind.beside.spawn(async move {
            let journal = Journal {
                store: &ground.store,
                space: &space,
                waker: &ground.waker,
            };
            let woken = match has_fallen(journal, ids).await {
                Ok(true) => journal.wake().await,
                looked => looked.map(drop),
            };
            if let Err(error) = woken {
                tracing::warn!(%space, %error, "it was not looked whether a recall returned what is not held any more; a start looks again");
            }
        });
    }
}

impl Bench<'_> {
    /// Tells of all that fell, or is held again, behind a position. Returns up to where all is
    /// told.
    pub async fn tell(&self, mut after: Seq) -> Result<Seq, Lost> {
        let Journal { store, space, .. } = self.journal;
        // Of a statement with many words those before are read once.
        let mut pasts: HashMap<String, Vec<Status>> = HashMap::new();
        loop {
            let page = store.standings(space, (after, Seq::MAX), PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            for (seq, id, standing) in page {
                if !pasts.contains_key(&id) {
                    let stood = store.stood(space, &id, seq).await?;
                    let stood = stood.into_iter().map(|(_, status)| status);
                    pasts.insert(id.clone(), stood.collect());
                }
                let past = pasts.entry(id.clone()).or_default();
                let now = (standing.status, seq);
                self.write_parts(corrections(self.journal, &id, past, now).await?)
                    .await?;
                past.push(standing.status);
                after = seq;
            }
            if is_last {
                return Ok(after);
            }
        }
    }

    /// The same, and of what had fallen already when somebody claimed it, or when a recall that was
    /// under way returned it, behind `named`. Returns up to where both are told.
    pub async fn tell_late(&self, after: Seq, named: Seq) -> Result<Seq, Lost> {
        let Journal { store, space, .. } = self.journal;
        let upto = store.head(space).await?.seq;
        self.tell(after).await?;
        for (id, seq) in named_lately(self.journal, (named, upto)).await? {
            self.write_parts(late_corrections(self.journal, &id, seq).await?)
                .await?;
        }
        Ok(upto)
    }

    async fn write_parts(&self, drafts: Vec<Draft>) -> Result<(), Lost> {
        for part in drafts.chunks(APPEND_MAX) {
            self.writer.write(part.to_vec()).await?;
        }
        Ok(())
    }
}

/// Returns the corrections that follow from a word on a statement: it fell by it, or is held again.
async fn corrections(
    journal: Journal<'_>,
    id: &str,
    past: &[Status],
    (status, since): (Status, Seq),
) -> Stored<Vec<Draft>> {
    let last = past.last().copied().unwrap_or(Status::Proposed);
    let fell = status.has_fallen() && !last.has_fallen();
    let had_fallen = past.iter().any(|it| it.has_fallen());
    let is_again = status.is_held() && !last.is_held() && had_fallen;
    if !fell && !is_again {
        return Ok(Vec::new());
    }
    let Some(row) = journal.statement(id).await? else {
        return Ok(Vec::new());
    };
    let turned = turned(&row, status, since, past.iter().any(|it| it.is_held()));
    let told = |thread: &ThreadId, known: &[Correction], news: Correction| {
        let knows = known.iter().any(|it| it.statement == news.statement);
        (fell || knows).then(|| Draft::corrected(thread, news))
    };
    let (mut drafts, is_cut) = told_to_all(journal, &row, &turned, told).await?;
    drafts.extend((fell && is_cut).then(|| not_all(&turned)));
    not_stored(journal, drafts).await
}

/// Returns the further corrections of a statement that the event at `named` named: it had fallen by
/// then. They go to the threads that were not told of it.
async fn late_corrections(journal: Journal<'_>, id: &str, named: Seq) -> Stored<Vec<Draft>> {
    let row = journal.statement(id).await?;
    let Some(row) = row.filter(|row| row.status.has_fallen()) else {
        return Ok(Vec::new());
    };
    let stood = journal.store.stood(journal.space, id, Seq::MAX).await?;
    let fallen = stood.iter().rev().take_while(|(_, it)| it.has_fallen());
    // What was named before was told with the fall.
    let Some((since, status)) = fallen.last().copied().filter(|(since, _)| *since < named) else {
        return Ok(Vec::new());
    };
    let turned = turned(
        &row,
        status,
        since,
        stood.iter().any(|(_, it)| it.is_held()),
    );
    let told = |thread: &ThreadId, known: &[Correction], news: Correction| {
        let is_it = |it: &&Correction| it.statement == news.statement && it.since == since;
        let is_new = known.iter().find(is_it).is_none_or(|it| it.of != news.of);
        let is_news = news.of.last() > Some(&since) && is_new;
        is_news.then(|| Draft::corrected_further(thread, news))
    };
    let (drafts, _) = told_to_all(journal, &row, &turned, told).await?;
    not_stored(journal, drafts).await
}

/// Returns what is told of a statement in the threads that it concerns and that have not ended; and
/// whether more events returned it than were looked at. `told`: the word in a thread that knows of
/// some corrections, if there is one.
async fn told_to_all(
    journal: Journal<'_>,
    row: &StatementRow,
    turned: &Correction,
    told: impl Fn(&ThreadId, &[Correction], Correction) -> Option<Draft>,
) -> Stored<(Vec<Draft>, bool)> {
    let concerned = concerned(journal, row).await?;
    let mut drafts = Vec::new();
    for thread in &concerned.threads {
        let there = journal.store.thread(journal.space, thread).await?;
        if let Some(there) = there.filter(|it| !it.status.is_final()) {
            let news = Correction {
                of: concerned.newest(thread),
                ..turned.clone()
            };
            drafts.extend(told(thread, &there.state.corrections, news));
        }
    }
    Ok((drafts, concerned.is_cut))
}

/// Returns the drafts whose id the log does not have: a crash cut off what was to be told behind
/// them.
async fn not_stored(journal: Journal<'_>, drafts: Vec<Draft>) -> Stored<Vec<Draft>> {
    let mut left = Vec::new();
    for draft in drafts {
        let is_stored = match draft.event_id {
            Some(id) => journal.store.event(journal.space, id).await?.is_some(),
            None => false,
        };
        left.extend((!is_stored).then_some(draft));
    }
    Ok(left)
}

/// Returns the threads that a statement came from, or that recalled it.
async fn concerned(journal: Journal<'_>, row: &StatementRow) -> Stored<Concerned> {
    let mut concerned = Concerned::default();
    let seqs = row.sources.iter().flat_map(|source| &source.seqs);
    for seq in seqs.copied().collect::<BTreeSet<Seq>>() {
        if let Some(event) = journal.at(seq).await? {
            concerned.take(event.thread, seq);
        }
    }
    let query = Query {
        tags: vec![format!("{}{}", recalled::OF, row.id)],
        ..Query::default()
    };
    let mut count = 0;
    let take = |event: Event| {
        concerned.is_cut = count == RECALLS_MAX;
        if !concerned.is_cut {
            concerned.take(event.thread, event.seq);
        }
        count += 1;
        !concerned.is_cut
    };
    journal.each(query, take).await?;
    Ok(concerned)
}

/// The statements that recalls returned, or that got another source, behind a position and up to
/// another, each with the last event that did it.
pub(super) async fn named_lately(
    journal: Journal<'_>,
    (after, upto): (Seq, Seq),
) -> Stored<BTreeMap<String, Seq>> {
    let query = Query {
        tags: vec!["tool:recall".into(), recalled::TAG.into(), "sourced".into()],
        after: Some(after),
        before: Some(upto + 1),
        show: Show::All,
        order: Order::Ascending,
        ..Query::default()
    };
    let mut named = BTreeMap::new();
    let take = |event: Event| {
        let ids = match event.fact() {
            Fact::Statement(StatementFact {
                statement,
                what: Said::Sourced(_),
            }) => vec![statement],
            fact => recalled::returned(&fact),
        };
        named.extend(ids.into_iter().map(|id| (id.to_owned(), event.seq)));
        true
    };
    journal.each(query, take).await?;
    Ok(named)
}

/// Returns true if one of these statements has fallen.
pub(super) async fn has_fallen(
    journal: Journal<'_>,
    ids: impl IntoIterator<Item = String>,
) -> Stored<bool> {
    for id in ids {
        let row = journal.statement(&id).await?;
        if row.is_some_and(|row| row.status.has_fallen()) {
            return Ok(true);
        }
    }
    Ok(false)
}
