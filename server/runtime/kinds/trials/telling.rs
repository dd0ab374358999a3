//! Tells threads when a statement falls that came from their events, or that these returned: once for each fall and thread, and once more
//! when the statement is held again. Events that name a statement after its fall are answered once as well. The position in the log that
//! it goes by is stored when the trials rest, so that a crash loses and repeats nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::json;

use super::bench::Bench;
use super::settling::APPEND_MAX;
use crate::event::correction::{Correction, EVENTS_MAX, TEXT_MAX};
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::recalled;
use crate::event::fact::statement::{Said, StatementFact, Trials};
use crate::event::statement::{Status, cut};
use crate::log::appended::{Append, Appended};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::statements::StatementRow;
use crate::log::query::{Order, Query, Show};
use crate::mind::turn_writer::Lost;
use crate::runtime::ground::Waker;
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::id::{self, Seq, Space, ThreadId};

/// Words on statements, and events that name some, that are read at a time.
const PAGE: u32 = 500;
/// Most events that returned a statement that are looked at, the newest.
const RECALLS_MAX: usize = 2000;

/// The events of threads that a statement came from, or that returned it; the threads in the order in which they are told: those of its sources first,
/// then those that recalled it last.
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
        let newest = self.of.get(thread).map(|all| {
            all.iter()
                .rev()
                .take(EVENTS_MAX)
                .copied()
                .collect::<Vec<Seq>>()
        });
        newest.unwrap_or_default().into_iter().rev().collect()
    }
}

/// What a statement was.
#[derive(Debug, Clone, Copy)]
struct Past {
    last: Status,
    was_held: bool,
    has_fallen: bool,
}

impl Past {
    fn of(all: impl Iterator<Item = Status>) -> Self {
        all.fold(
            Self {
                last: Status::Proposed,
                was_held: false,
                has_fallen: false,
            },
            Self::and,
        )
    }

    /// And this then.
    fn and(self, status: Status) -> Self {
        let (was_held, has_fallen) = (
            self.was_held || status.is_held(),
            self.has_fallen || status.has_fallen(),
        );
        Self {
            last: status,
            was_held,
            has_fallen,
        }
    }
}

/// What a statement is since an event, and whether it was held before.
struct Turned {
    row: StatementRow,
    status: Status,
    since: Seq,
    was_held: bool,
}

impl Turned {
    fn correction(&self, of: Vec<Seq>) -> Correction {
        let Self {
            row,
            status,
            since,
            was_held,
        } = self;
        let (status, since, was_held) = (*status, *since, *was_held);
        Correction {
            statement: row.id.clone(),
            says: cut(&row.text, TEXT_MAX),
            status,
            since,
            was_held,
            of,
        }
    }

    /// That not all threads are told, in the thread of the trials.
    fn not_all(&self) -> Draft {
        let Self {
            row, status, since, ..
        } = self;
        let text = format!(
            "the statement {} is {} since event {since}, and of the recalls that returned it only the newest {RECALLS_MAX} were looked at: threads \
             that recalled it before these alone are not told",
            row.id,
            status.as_str()
        );
        let detail = json!({ "statement": row.id, "since": since, "limit": RECALLS_MAX });
        let failure = Failure::new(FailureKind::Budget, text).with(detail);
        let id = id::about(&format!("{} since {since} not told to all", row.id));
        Draft::failure(&ThreadId::of_trials(), None, &Who::Trial, &failure).with_id(id)
    }
}

impl super::Trials {
    /// A recall that was under way while a statement fell is stored behind the fall, and the trials may have told of that by then. After a crash a start
    /// finds it (`renewing.rs`).
    pub(super) fn look_for_late(&self, space: &Space, event: &Event) {
        let ids: Vec<String> = recalled::returned(&event.fact())
            .into_iter()
            .map(str::to_owned)
            .collect();
        if ids.is_empty() {
            return;
        }
        let (store, waker, space) = (self.store.clone(), self.waker.clone(), space.clone());
        self.mind.beside.spawn(async move {
            if let Err(error) = wake_if_fallen(&*store, &waker, &space, ids).await {
                tracing::warn!(%space, %error, "it was not looked whether a recall returned what is not held any more; a start looks again");
            }
        });
    }
}

impl Bench<'_> {
    /// Tells of all that fell, or is held again, behind a position. Returns up to where all is told.
    pub async fn tell(&self, mut after: Seq) -> Result<Seq, Lost> {
        let (store, space) = (self.store(), &self.fence.space);
        // Of a statement with many words those before are read once.
        let mut pasts: HashMap<String, Past> = HashMap::new();
        loop {
            let page = store.standings(space, (after, Seq::MAX), PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            for (seq, id, standing) in page {
                let past = match pasts.get(&id) {
                    Some(past) => *past,
                    None => Past::of(
                        store
                            .stood(space, &id, seq)
                            .await?
                            .into_iter()
                            .map(|(_, it)| it),
                    ),
                };
                let drafts = self.corrections(&id, past, standing.status, seq).await?;
                self.write_parts(drafts).await?;
                pasts.insert(id, past.and(standing.status));
                after = seq;
            }
            if is_last {
                return Ok(after);
            }
        }
    }

    /// The same, and of what had fallen already when somebody claimed it, or when a recall that was under way returned it, behind `named`. Returns up
    /// to where both are told.
    pub async fn tell_late(&self, after: Seq, named: Seq) -> Result<Seq, Lost> {
        let (store, space) = (self.store(), &self.fence.space);
        let upto = store.head(space).await?.seq;
        self.tell(after).await?;
        for (id, seq) in named_lately(store, space, (named, upto)).await? {
            let drafts = self.late_corrections(&id, seq).await?;
            self.write_parts(drafts).await?;
        }
        Ok(upto)
    }

    async fn write_parts(&self, drafts: Vec<Draft>) -> Result<(), Lost> {
        for part in drafts.chunks(APPEND_MAX) {
            self.writer.write(part.to_vec()).await?;
        }
        Ok(())
    }

    /// What is to be told of a word on a statement: that it fell by it, or is held again.
    async fn corrections(
        &self,
        id: &str,
        past: Past,
        status: Status,
        since: Seq,
    ) -> Result<Vec<Draft>, StoreError> {
        let (store, space) = (self.store(), &self.fence.space);
        let fell = status.has_fallen() && !past.last.has_fallen();
        let is_again = status.is_held() && !past.last.is_held() && past.has_fallen;
        let row = if fell || is_again {
            store.statement(space, id).await?
        } else {
            None
        };
        let Some(row) = row else {
            return Ok(Vec::new());
        };
        let concerned = self.concerned(&row).await?;
        let turned = Turned {
            row,
            status,
            since,
            was_held: past.was_held,
        };
        let mut drafts = Vec::new();
        for thread in &concerned.threads {
            let Some(there) = store
                .thread(space, thread)
                .await?
                .filter(|it| !it.status.is_final())
            else {
                continue;
            };
            let knows = there
                .state
                .corrections
                .iter()
                .any(|it| it.statement == turned.row.id);
            let draft = Draft::corrected(thread, turned.correction(concerned.newest(thread)));
            drafts.extend((fell || knows).then_some(draft));
        }
        drafts.extend((fell && concerned.is_cut).then(|| turned.not_all()));
        self.not_stored(drafts).await
    }

    /// What is to be told of a statement that the event at `named` named: that it had fallen by then, in the threads that were not told of it.
    async fn late_corrections(&self, id: &str, named: Seq) -> Result<Vec<Draft>, StoreError> {
        let (store, space) = (self.store(), &self.fence.space);
        let Some(row) = store
            .statement(space, id)
            .await?
            .filter(|row| row.status.has_fallen())
        else {
            return Ok(Vec::new());
        };
        let stood = store.stood(space, id, Seq::MAX).await?;
        let fallen = stood
            .iter()
            .rev()
            .take_while(|(_, it)| it.has_fallen())
            .last();
        // What was named before was told with the fall.
        let Some((since, status)) = fallen.copied().filter(|(since, _)| *since < named) else {
            return Ok(Vec::new());
        };
        let concerned = self.concerned(&row).await?;
        let turned = Turned {
            row,
            status,
            since,
            was_held: stood.iter().any(|(_, it)| it.is_held()),
        };
        let mut drafts = Vec::new();
        for thread in &concerned.threads {
            let Some(there) = store
                .thread(space, thread)
                .await?
                .filter(|it| !it.status.is_final())
            else {
                continue;
            };
            let known = there
                .state
                .corrections
                .iter()
                .find(|it| it.statement == turned.row.id && it.since == since);
            let of = concerned.newest(thread);
            let is_news = of.last() > Some(&since) && known.is_none_or(|known| known.of != of);
            drafts.extend(is_news.then(|| Draft::corrected_further(thread, turned.correction(of))));
        }
        self.not_stored(drafts).await
    }

    /// Those whose id the log does not have: a crash cut off what was to be told behind them.
    async fn not_stored(&self, drafts: Vec<Draft>) -> Result<Vec<Draft>, StoreError> {
        let mut left = Vec::new();
        for draft in drafts {
            let is_stored = match draft.event_id {
                Some(id) => self.store().event(&self.fence.space, id).await?.is_some(),
                None => false,
            };
            left.extend((!is_stored).then_some(draft));
        }
        Ok(left)
    }

    /// Where a statement came from, and what returned it.
    async fn concerned(&self, row: &StatementRow) -> Result<Concerned, StoreError> {
        let (store, space) = (self.store(), &self.fence.space);
        let mut concerned = Concerned::default();
        let seqs: BTreeSet<Seq> = row
            .sources
            .iter()
            .flat_map(|source| source.seqs.iter().copied())
            .collect();
        for seq in seqs {
            let (after, before) = (Some(seq - 1), Some(seq + 1));
            let query = Query {
                after,
                before,
                show: Show::All,
                order: Order::Ascending,
                limit: 1,
                ..Query::default()
            };
            let events = store.events(space, &query).await?;
            events
                .into_iter()
                .for_each(|event| concerned.take(event.thread, seq));
        }
        let (mut count, mut before) = (0, None);
        loop {
            let tags = vec![format!("{}{}", recalled::OF, row.id)];
            let query = Query {
                tags,
                before,
                order: Order::Descending,
                limit: PAGE,
                ..Query::default()
            };
            let page = store.events(space, &query).await?;
            let is_last = page.len() < PAGE as usize;
            for event in page {
                if count == RECALLS_MAX {
                    concerned.is_cut = true;
                    return Ok(concerned);
                }
                (count, before) = (count + 1, Some(event.seq));
                concerned.take(event.thread, event.seq);
            }
            if is_last {
                return Ok(concerned);
            }
        }
    }
}

/// The statements that recalls returned, or that got another source, behind a position and up to another, each with the last event that did it.
pub(super) async fn named_lately(
    store: &dyn Store,
    space: &Space,
    (mut after, upto): (Seq, Seq),
) -> Result<BTreeMap<String, Seq>, StoreError> {
    let mut named = BTreeMap::new();
    loop {
        let query = Query {
            tags: vec!["tool:recall".into(), recalled::TAG.into(), "sourced".into()],
            after: Some(after),
            before: Some(upto + 1),
            show: Show::All,
            order: Order::Ascending,
            limit: PAGE,
            ..Query::default()
        };
        let page = store.events(space, &query).await?;
        for event in &page {
            let ids = match event.fact() {
                Fact::Statement(StatementFact {
                    statement,
                    what: Said::Sourced(_),
                }) => vec![statement],
                fact => recalled::returned(&fact),
            };
            named.extend(ids.into_iter().map(|id| (id.to_owned(), event.seq)));
        }
        match page.last() {
            Some(last) if page.len() == PAGE as usize => after = last.seq,
            _ => return Ok(named),
        }
    }
}

/// Whether one of these statements has fallen.
pub(super) async fn has_fallen(
    store: &dyn Store,
    space: &Space,
    ids: impl IntoIterator<Item = String>,
) -> Result<bool, StoreError> {
    for id in ids {
        if store
            .statement(space, &id)
            .await?
            .is_some_and(|row| row.status.has_fallen())
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Wakes the trials where one of some statements has fallen.
async fn wake_if_fallen(
    store: &dyn Store,
    waker: &Waker,
    space: &Space,
    ids: Vec<String>,
) -> Result<(), StoreError> {
    if !has_fallen(store, space, ids).await? {
        return Ok(());
    }
    if let Appended::Stored(placed) = store
        .append(Append::free(space, vec![Draft::trials(Trials::Due)]))
        .await?
    {
        let on_stored = waker.on_stored();
        placed
            .iter()
            .for_each(|placed| on_stored(space, &placed.shown.event));
    }
    Ok(())
}
