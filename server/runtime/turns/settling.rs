//! Additions to the beginning of a turn, besides its batch: watches that are raised, gatherings
//! that are complete, the next step of a sequence.

use serde_json::Value;

use super::Turns;
use super::batch::Batch;
use crate::ground::Ground;
use crate::mailbox::each_after;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::Change;
use thinkd_event::fact::told::News;
use thinkd_event::gather::Gather;
use thinkd_event::timer::Purpose;
use thinkd_log::error::StoreError;
use thinkd_log::query::Show;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::dismissed;
use thinkd_thread::quota::Purse;
use thinkd_tools::tool::{CallSite, SoFar};
use thinkd_words::failure::{Failure, Who};
use thinkd_words::id::{Seq, Space};
use thinkd_words::time;

/// See the module.
#[derive(Default)]
pub(super) struct Settled {
    /// The events that go with the turn's beginning.
    pub drafts: Vec<Draft>,
    /// There is something to think about, for a model: not only a step that has made room for the next.
    pub news: bool,
}

impl Turns {
    /// Returns the events that this batch brings with it, and whether a model has to think about
    /// it.
    pub(super) async fn settle(
        &self,
        space: &Space,
        row: &ThreadRow,
        turn: u64,
        batch: &Batch,
    ) -> Result<Settled, StoreError> {
        let Ground {
            store,
            quotas,
            spawner,
            ..
        } = &self.ground;
        // A thread that is looked at for what it gathers alone goes on waiting.
        let awaited = |event: &Event| {
            let waking = event.waking();
            waking.is_some_and(|it| {
                row.state
                    .waiting
                    .as_ref()
                    .is_none_or(|waiting| waiting.admits(&it))
            })
        };
        let Batch {
            events: batch,
            is_cut,
            ..
        } = batch;
        let mut settled = Settled {
            news: batch.iter().any(awaited),
            ..Settled::default()
        };
        // What a view has no room for is looked at for what ends the wait, and for what a sequence goes on by: nobody would look again.
        let mut parts = Vec::new();
        if *is_cut && (!settled.news || row.state.gathers.values().any(Gather::is_sequence)) {
            let news = &mut settled.news;
            each_after(&**store, space, row, Show::Visible, |event| {
                *news |= awaited(&event);
                parts.extend(event.part().is_some().then_some(event));
                true
            })
            .await?;
        }
        let parts = if parts.is_empty() { batch } else { &parts };
        raise(row, turn, batch, &mut settled.drafts);
        let mut spawning = None;
        for (id, gather) in &row.state.gathers {
            let is_overdue = is_overdue(id, batch);
            if gather.is_complete() || is_overdue {
                settled.news = true;
                settled.drafts.extend(gathered(row, turn, id, gather));
                if is_overdue {
                    let rest = dismissed(store, space, &row.thread, id, time::now()).await?;
                    settled.drafts.extend(rest);
                }
            } else if gather.is_sequence() && parts_of(id, parts).next().is_some() {
                let root = root_of(row, id, parts);
                let purse = quotas.open(space, &row.thread, root, false);
                purse.read().await?;
                let site = site_of_core(space, row, turn, id, purse);
                let spawning = match &mut spawning {
                    Some(spawning) => spawning,
                    None => spawning.insert(spawner.begin(&site).await.map_err(unread)?),
                };
                let begun = spawning.next_step(&site, id, gather).await;
                match begun.map_err(unread)? {
                    Ok(drafts) => {
                        let drafts = drafts.into_iter().map(|draft| draft.rooted(root));
                        settled.drafts.extend(drafts);
                    }
                    Err(refusal) => {
                        settled.news = true;
                        settled.drafts.extend(refusal.drafts);
                        let failure = refusal
                            .failure
                            .map(|it| Draft::failure(&row.thread, Some(turn), &Who::Core, &it));
                        settled.drafts.extend(failure);
                        settled.drafts.extend(gathered(row, turn, id, gather));
                    }
                }
            }
        }
        Ok(settled)
    }
}

/// The core itself goes on with a gathering, drawing on this.
fn site_of_core(space: &Space, row: &ThreadRow, turn: u64, id: &str, purse: Purse) -> CallSite {
    CallSite {
        space: space.clone(),
        thread: row.thread.clone(),
        turn,
        by: Who::Core,
        call_id: id.to_owned(),
        now: time::now(),
        so_far: SoFar {
            purse,
            ..SoFar::default()
        },
        grant: None,
    }
}

fn unread(failure: Failure) -> StoreError {
    StoreError::Unavailable(failure.text)
}

/// Tells the thread once of each watch with an event that has come, and marks the watch, so that
/// the reminder stays.
fn raise(row: &ThreadRow, turn: u64, batch: &[Event], drafts: &mut Vec<Draft>) {
    for (id, watch) in row.state.watches.iter().filter(|(_, watch)| !watch.raised) {
        let Some(event) = batch.iter().find(|event| watch.matches(event)) else {
            continue;
        };
        let attributes = [
            ("id", Value::from(id.as_str())),
            ("kind", watch.kind.as_str().into()),
            ("seq", event.seq.into()),
        ];
        drafts.push(Draft::feedback(
            &row.thread,
            Some(turn),
            "watch-raised",
            &attributes,
            &watch.note,
        ));
        let raised = Change::Watch(Some(watch.clone().raised()));
        drafts.push(Draft::set(&row.thread, id, raised));
    }
}

/// The time for a gathering is up.
fn is_overdue(id: &str, batch: &[Event]) -> bool {
    let of_it = Purpose::Gathering(id);
    let is_it =
        |news: &News<'_>| matches!(news, News::Timer { timer, .. } if Purpose::of(timer) == of_it);
    batch
        .iter()
        .any(|event| matches!(event.fact(), Fact::Told(told) if is_it(&told.news)))
}

fn parts_of<'a>(id: &'a str, batch: &'a [Event]) -> impl Iterator<Item = &'a Event> {
    batch
        .iter()
        .filter(move |event| event.part().is_some_and(|part| part.id == id))
}

/// Returns the event from outside that the next step goes back to: that of the step before,
/// regardless of other events in the mailbox.
fn root_of(row: &ThreadRow, id: &str, batch: &[Event]) -> Option<Seq> {
    parts_of(id, batch)
        .filter_map(Event::root)
        .max()
        .or(row.state.root)
}

/// All that came back, told at once; there is nothing more to wait for.
fn gathered(row: &ThreadRow, turn: u64, id: &str, gather: &Gather) -> [Draft; 3] {
    let mut attributes = vec![("id", Value::from(id))];
    attributes.extend(gather.report());
    let told = Draft::feedback(
        &row.thread,
        Some(turn),
        "gathered",
        &attributes,
        &gather.lines(),
    );
    [
        told.with("results", gather.results()),
        Draft::set(&row.thread, id, Change::Gather(None)),
        Draft::set(
            &row.thread,
            &Purpose::Gathering(id).to_string(),
            Change::Timer(None),
        ),
    ]
}
