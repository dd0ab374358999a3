//! A session reads the summaries of the turns of a thread, from the newest on.

use std::collections::BTreeMap;

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_log::query::{Order, Query, Show};
use thinkd_thread::turns::TurnSummary;
use thinkd_words::id::{INTEGER_MAX, Seq, ThreadId};

/// Events read at a time, and for one answer at most; of one turn there are more only where its budget was set so.
const PAGE: u32 = 500;
const EVENTS_MAX: usize = 10_000;
/// Turns that are read again, because the late words of a voice stand among the next turns.
const LATER: u64 = 2;

/// The place at which a page of turns goes on: below a turn, and before an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnsAt {
    /// Only turns with a smaller number.
    pub turn: u64,
    /// Only events with a smaller seq.
    pub before: Seq,
}

/// Some turns, the newest first, and where the next ones are.
pub struct Turns {
    /// By number.
    pub turns: Vec<(u64, TurnSummary)>,
    /// None: there are no more.
    pub next: Option<TurnsAt>,
}

impl Session {
    /// The newest turns of a thread, or those before a place: at most `limit`, and fewer where they have very many events.
    pub async fn turns(
        &self,
        thread: &ThreadId,
        at: Option<TurnsAt>,
        limit: usize,
    ) -> Acted<Turns> {
        let store = self.store(Right::Read)?;
        let mut turns: BTreeMap<u64, TurnSummary> = BTreeMap::new();
        let mut before = at.map(|at| at.before);
        let mut read = 0;
        let mut whole = 0;
        loop {
            let query = Query {
                thread: Some(thread.clone()),
                before,
                show: Show::All,
                order: Order::Descending,
                limit: PAGE,
                ..Query::default()
            };
            let page = store.events(self.space(), &query).await?;
            for event in &page {
                let asked = |number: &u64| at.is_none_or(|at| *number < at.turn);
                let Some(number) = event.turn().filter(asked) else {
                    continue;
                };
                let turn = turns.entry(number).or_default();
                turn.take(event);
                whole += usize::from(turn.started.is_some_and(|(seq, _)| seq == event.seq));
            }
            read += page.len();
            before = page.last().map(|event| event.seq);
            let is_end = page.len() < PAGE as usize;
            if is_end || whole > limit || (read >= EVENTS_MAX && whole > 0) {
                return Ok(cut(turns, limit, is_end));
            }
        }
    }
}

/// The turns that were read whole, the newest first.
fn cut(turns: BTreeMap<u64, TurnSummary>, limit: usize, is_end: bool) -> Turns {
    let whole = turns.into_iter().rev();
    let whole: Vec<_> = whole.filter(|(_, turn)| turn.started.is_some()).collect();
    let is_more = whole.len() > limit || !is_end;
    let taken: Vec<_> = whole.into_iter().take(limit).collect();
    let at = |(last, _): &(u64, TurnSummary)| {
        // What is said late of the next turn may stand behind the first events of the turns after it.
        let is_behind = |(number, _): &&(u64, TurnSummary)| *number >= last + LATER;
        let behind = taken.iter().rev().find(is_behind).or(taken.first());
        let before = behind.and_then(|(_, turn)| match behind == taken.first() {
            true => turn.last,
            false => turn.started,
        });
        TurnsAt {
            turn: *last,
            before: before.map_or(INTEGER_MAX, |(seq, _)| seq),
        }
    };
    let next = taken.last().filter(|_| is_more).map(at);
    Turns { turns: taken, next }
}
