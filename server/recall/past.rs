//! Recall of another time: what was held as of an event, or is held to have been so at a time, in a view that is made for the question and not kept.

use std::collections::HashMap;

use tokio::time::timeout;

use super::finder::{Error, Found, PAGE, PAST_MAX, PAST_WAIT, Question, Recall, apart};
use super::held::Held;
use super::meant::Meant;
use super::shelf::Room;
use super::view::View;
use crate::event::entity::Names;
use crate::event::method::current;
use crate::event::statement::{Instrument, Status, folded};
use crate::event::word::word_of;
use crate::log::projections::standings::Standing;
use crate::log::projections::statements::{Asked, StatementRow};
use crate::words::id::{Seq, Space};
use crate::words::time::Timestamp;

/// Bytes that a statement takes while it is looked up what it was then, roughly.
const STANDING_BYTES: usize = 200;

impl Recall {
    /// The same of another time. It has places of its own: it takes long, and those who ask about now do not wait for it.
    pub(super) async fn recall_past(
        &self,
        space: &Space,
        question: &Question,
    ) -> Result<Found, Error> {
        let _place = timeout(PAST_WAIT, self.pasts.take(space))
            .await
            .map_err(|_| Error::Busy)?;
        let mut room = self.shelf.room(space);
        let mut view = self.past(space, question, &mut room).await?;
        let (text, limit) = (question.text.clone(), question.limit);
        let meant = match &self.meaning {
            Some(meaning) => meaning.of_past(&mut view, &text).await,
            None => Meant::default(),
        };
        self.has_room(&mut room, view.bytes())?;
        let without = meant.without.clone();
        let hits = apart(move || view.find_meant(&text, &meant, limit)).await?;
        Ok(self.cut(hits, question, without))
    }

    fn has_room(&self, room: &mut Room, bytes: usize) -> Result<(), Error> {
        if room.holds(bytes) {
            Ok(())
        } else {
            Err(Error::TooLarge {
                most: self.shelf.most(),
            })
        }
    }

    /// What was held then, or of that time.
    async fn past(
        &self,
        space: &Space,
        question: &Question,
        room: &mut Room,
    ) -> Result<View, Error> {
        let standings = match question.as_of {
            Some(as_of) => Some(self.standings(space, as_of, room).await?),
            None => None,
        };
        let looked_up = standings
            .as_ref()
            .map_or(0, |standings| standings.len() * STANDING_BYTES);
        let (mut held, mut bytes, mut after) = (Vec::new(), 0, 0);
        loop {
            let asked = Asked {
                after,
                limit: PAGE,
                ..Asked::default()
            };
            let rows = self.store.statements(space, &asked).await?;
            let (full, last) = (
                rows.len() == PAGE as usize,
                rows.last().map(|row| row.number),
            );
            let more: Vec<Held> = rows
                .into_iter()
                .filter_map(|row| then(row, question, standings.as_ref()))
                .collect();
            bytes += more.iter().map(Held::bytes).sum::<usize>();
            held.extend(more);
            after = last.unwrap_or(after);
            if held.len() > PAST_MAX {
                return Err(Error::TooMuchPast);
            }
            self.has_room(room, looked_up + bytes)?;
            if !full {
                break;
            }
        }
        drop(standings);
        let mut view = if self.meaning.is_some() {
            View::by_model()
        } else {
            View::default()
        };
        let names = self.store.names(space, question.as_of).await?;
        let mut left = newest(held, question.at, &names);
        view.set_names(names);
        // A part at a time: it is counted while it grows.
        while !left.is_empty() {
            let rest = left.split_off(left.len().min(PAGE as usize));
            bytes = rest.iter().map(Held::bytes).sum();
            (view, left) = apart(move || {
                left.into_iter().for_each(|held| view.put(held));
                (view, rest)
            })
            .await?;
            self.has_room(room, view.bytes() + bytes)?;
        }
        Ok(view)
    }

    /// What each statement was as of an event.
    async fn standings(
        &self,
        space: &Space,
        as_of: Seq,
        room: &mut Room,
    ) -> Result<HashMap<String, Standing>, Error> {
        let (mut standings, mut after) = (HashMap::new(), 0);
        loop {
            let page = self.store.standings(space, (after, as_of), PAGE).await?;
            let full = page.len() == PAGE as usize;
            for (seq, id, standing) in page {
                after = seq;
                standings.insert(id, standing);
            }
            if standings.len() > PAST_MAX {
                return Err(Error::TooMuchPast);
            }
            self.has_room(room, standings.len() * STANDING_BYTES)?;
            if !full {
                return Ok(standings);
            }
        }
    }
}

/// A statement as it was then, if it was held, and of that time.
fn then(
    mut row: StatementRow,
    question: &Question,
    standings: Option<&HashMap<String, Standing>>,
) -> Option<Held> {
    let mut carried = None;
    if let Some(standings) = standings {
        let standing = standings.get(&row.id)?;
        (row.status, row.valid) = (standing.status, standing.valid);
        carried = Some(&standing.carried);
    }
    let is_held = match question.at {
        // What has ended was so.
        Some(at) => (row.status.is_held() || row.status == Status::Ended) && row.valid.is_at(at),
        None => row.status.is_held(),
    };
    let then = carried.map(|carried| {
        let said_by = word_of(row.status, carried, &row.sources).map(|by| by.shown().to_owned());
        (*carried == [Instrument::Reflection], said_by)
    });
    is_held.then(|| {
        let mut held = Held::of(row);
        if let Some(then) = then {
            (held.reflection_only, held.said_by) = then;
        }
        held
    })
}

/// Of several values of one subject and a relation that has one at a time, the one that began last.
fn newest(held: Vec<Held>, at: Option<Timestamp>, names: &Names) -> Vec<Held> {
    let Some(at) = at else { return held };
    let mut values: HashMap<(String, String), Vec<Held>> = HashMap::new();
    let mut all = Vec::new();
    for held in held {
        match &held.triple {
            Some(triple) if triple.single => {
                let key = (names.resolve(&triple.subject), folded(&triple.relation));
                values.entry(key).or_default().push(held);
            }
            _ => all.push(held),
        }
    }
    all.extend(
        values
            .into_values()
            .flat_map(|values| current(values, |held| (true, held.valid), at)),
    );
    all
}
