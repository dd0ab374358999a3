//! Tells threads when a statement falls that came from their events, or that these returned: once
//! for each fall and thread, and once more when the statement is held again. Events that name a
//! statement after its fall are answered once as well. The position in the log that it goes by is
//! stored when the trials rest, so that a crash loses and repeats nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::json;

use super::bench::Bench;
use super::journal::{APPEND_MAX, Journal, PAGE, Stored};
use thinkd_event::correction::{Correction, EVENTS_MAX, TEXT_MAX};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::recalled;
use thinkd_event::fact::statement::{Said, StatementFact};
use thinkd_event::statement::{Status, cut};
use thinkd_log::projections::statements::StatementRow;
use thinkd_log::query::{Order, Query, Show};
use thinkd_mind::turn_writer::Lost;
use thinkd_runtime::ground::Ground;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{self, Seq, Space, ThreadId};

/// Most events that returned a statement that are looked at, the newest.
const RECALLS_MAX: usize = 2000;

/// The status of a statement, the event since which it has it, and true if it was held before.
type Standing = (Status, Seq, bool);

/// Returns the failure that not all threads are told, in the thread of the trials.
fn not_all(statement: &str, (status, since, _): Standing) -> Draft {
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

/// A recall that was under way while a statement fell is stored behind the fall, and the trials may
/// have told of that by then. After a crash a start finds it (`has_something_to_tell`).
pub(super) fn look_for_late(ground: &Ground, space: &Space, event: &Event) {
    let fact = event.fact();
    let ids = recalled::returned(&fact).into_iter().map(str::to_owned);
    let ids: Vec<String> = ids.collect();
    if ids.is_empty() {
        return;
    }
    let on = ground.clone();
    let space = space.clone();
    ground.mind.beside.spawn(async move {
        let journal = Journal {
            ground: &on,
            space: &space,
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

/// Returns true if a fallen statement was named since threads were told last: a crash may have cut
/// off the news.
pub(super) async fn has_something_to_tell(journal: Journal<'_>) -> Stored<bool> {
    let thread = ThreadId::of_trials();
    let Some(row) = journal.store().thread(journal.space, &thread).await? else {
        return Ok(false);
    };
    let after = row.state.told.unwrap_or(row.handled);
    let named = named_lately(journal, (after, Seq::MAX - 1)).await?;
    has_fallen(journal, named.into_keys()).await
}

/// Tells of all that fell, or is held again, behind a position. Returns up to where all is told.
pub(super) async fn tell(bench: &Bench<'_>, mut after: Seq) -> Result<Seq, Lost> {
    let store = bench.journal.store();
    let space = bench.journal.space;
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
            write_new(bench, corrections(bench.journal, &id, past, now).await?).await?;
            past.push(standing.status);
            after = seq;
        }
        if is_last {
            return Ok(after);
        }
    }
}

/// Does the same, and tells of statements that had fallen already when they were claimed or
/// recalled behind `named`. Returns up to where both are told.
pub(super) async fn tell_late(bench: &Bench<'_>, after: Seq, named: Seq) -> Result<Seq, Lost> {
    let journal = bench.journal;
    let upto = journal.store().head(journal.space).await?.seq;
    tell(bench, after).await?;
    for (id, seq) in named_lately(journal, (named, upto)).await? {
        write_new(bench, late_corrections(journal, &id, seq).await?).await?;
    }
    Ok(upto)
}

/// Appends the drafts with an id that the log does not have: a crash cut off the news behind them.
async fn write_new(bench: &Bench<'_>, drafts: Vec<Draft>) -> Result<(), Lost> {
    let store = bench.journal.store();
    let space = bench.journal.space;
    let mut new = Vec::new();
    for draft in drafts {
        let stored = match draft.event_id {
            Some(id) => store.event(space, id).await?,
            None => None,
        };
        new.extend(stored.is_none().then_some(draft));
    }
    for part in new.chunks(APPEND_MAX) {
        bench.writer.write(part.to_vec()).await?;
    }
    Ok(())
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
    let turn = (status, since, past.iter().any(|it| it.is_held()));
    let told = |thread: &ThreadId, known: &[Correction], news: Correction| {
        let knows = known.iter().any(|it| it.statement == news.statement);
        (fell || knows).then(|| Draft::corrected(thread, news))
    };
    let (mut drafts, is_cut) = told_to_all(journal, &row, turn, told).await?;
    drafts.extend((fell && is_cut).then(|| not_all(id, turn)));
    Ok(drafts)
}

/// Returns the further corrections of a statement that the event at `named` named: it had fallen by
/// then. They go to the threads that were not told of it.
async fn late_corrections(journal: Journal<'_>, id: &str, named: Seq) -> Stored<Vec<Draft>> {
    let row = journal.statement(id).await?;
    let Some(row) = row.filter(|row| row.status.has_fallen()) else {
        return Ok(Vec::new());
    };
    let stood = journal.store().stood(journal.space, id, Seq::MAX).await?;
    let fallen = stood.iter().rev().take_while(|(_, it)| it.has_fallen());
    // What was named before was told with the fall.
    let Some((since, status)) = fallen.last().copied().filter(|(since, _)| *since < named) else {
        return Ok(Vec::new());
    };
    let turn = (status, since, stood.iter().any(|(_, it)| it.is_held()));
    let told = |thread: &ThreadId, known: &[Correction], news: Correction| {
        let is_it = |it: &&Correction| it.statement == news.statement && it.since == since;
        let is_new = known.iter().find(is_it).is_none_or(|it| it.of != news.of);
        let is_news = news.of.last() > Some(&since) && is_new;
        is_news.then(|| Draft::corrected_further(thread, news))
    };
    Ok(told_to_all(journal, &row, turn, told).await?.0)
}

/// Returns the news of a statement in the threads that it concerns and that have not ended; and
/// whether more events returned it than were looked at. `told`: the word in a thread that knows of
/// some corrections, if there is one.
async fn told_to_all(
    journal: Journal<'_>,
    row: &StatementRow,
    (status, since, was_held): Standing,
    told: impl Fn(&ThreadId, &[Correction], Correction) -> Option<Draft>,
) -> Stored<(Vec<Draft>, bool)> {
    let (concerned, is_cut) = concerned(journal, row).await?;
    let mut of: BTreeMap<&ThreadId, BTreeSet<Seq>> = BTreeMap::new();
    for (thread, seq) in &concerned {
        of.entry(thread).or_default().insert(*seq);
    }
    let mut drafts = Vec::new();
    for (thread, _) in &concerned {
        // Each is told once, of the newest of its events.
        let Some(mut seqs) = of.remove(thread) else {
            continue;
        };
        while seqs.len() > EVENTS_MAX {
            seqs.pop_first();
        }
        let there = journal.store().thread(journal.space, thread).await?;
        if let Some(there) = there.filter(|it| !it.status.is_final()) {
            let news = Correction {
                statement: row.id.clone(),
                says: cut(&row.text, TEXT_MAX),
                status,
                since,
                was_held,
                of: seqs.into_iter().collect(),
            };
            drafts.extend(told(thread, &there.state.corrections, news));
        }
    }
    Ok((drafts, is_cut))
}

/// Returns the events that a statement came from, or that returned it, each with its thread, in the
/// order in which threads are told: those of its sources first, then those that recalled it last.
/// And whether more events returned it than were looked at.
async fn concerned(
    journal: Journal<'_>,
    row: &StatementRow,
) -> Stored<(Vec<(ThreadId, Seq)>, bool)> {
    let mut concerned = Vec::new();
    let seqs = row.sources.iter().flat_map(|source| &source.seqs);
    for seq in seqs.copied().collect::<BTreeSet<Seq>>() {
        let event = journal.at(seq).await?;
        concerned.extend(event.map(|event| (event.thread, seq)));
    }
    let query = Query {
        tags: vec![format!("{}{}", recalled::OF, row.id)],
        ..Query::default()
    };
    let mut recalls = Vec::new();
    let take = |event: Event| {
        recalls.push((event.thread, event.seq));
        recalls.len() <= RECALLS_MAX
    };
    journal.each(query, take).await?;
    let is_cut = recalls.len() > RECALLS_MAX;
    recalls.truncate(RECALLS_MAX);
    concerned.extend(recalls);
    let mut in_forks = Vec::new();
    let mut has_forks = BTreeMap::new();
    for (thread, seq) in &concerned {
        let store = journal.store();
        let space = journal.space;
        if !has_forks.contains_key(thread) {
            let forks = store.forks(space, thread, 1).await?;
            has_forks.insert(thread, !forks.is_empty());
        }
        // They have these events in their past.
        if has_forks.get(thread) == Some(&true) {
            let forks = store.forks_with(space, thread, *seq).await?;
            in_forks.extend(forks.into_iter().map(|fork| (fork, *seq)));
        }
    }
    concerned.extend(in_forks);
    Ok((concerned, is_cut))
}

/// Returns the statements that recalls returned, or that got another source, behind a position and
/// up to another, each with the last event that did it.
async fn named_lately(
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
async fn has_fallen(journal: Journal<'_>, ids: impl IntoIterator<Item = String>) -> Stored<bool> {
    for id in ids {
        let row = journal.statement(&id).await?;
        if row.is_some_and(|row| row.status.has_fallen()) {
            return Ok(true);
        }
    }
    Ok(false)
}
