//! Recall of another time: of statements that were held as of an event, or are held to have been so
//! at a time. The view is made for the question and not kept.

use std::collections::HashMap;

use tokio::time::timeout;

use super::finder::{Error, Found, PAGE, PAST_MAX, PAST_WAIT, Question, Recall, apart};
use super::held::Held;
use super::meaning::Meant;
use super::shelf::Room;
use super::view::View;
use thinkd_event::entity::Names;
use thinkd_event::method::current;
use thinkd_event::statement::{Status, folded};
use thinkd_log::projections::standings::Standing;
use thinkd_log::projections::statements::{Asked, StatementRow};
use thinkd_words::id::{Seq, Space};
use thinkd_words::time::Timestamp;

/// Bytes that a statement takes while its standing of then is looked up, roughly.
const STANDING_BYTES: usize = 200;

impl Recall {
    /// Returns the same of another time. This recall has places of its own: it takes long, and
    /// questions about now do not wait for it.
    pub(super) async fn recall_past(
        &self,
        space: &Space,
        question: &Question,
    ) -> Result<Found, Error> {
        let place = timeout(PAST_WAIT, self.pasts.take(space)).await;
        let _place = place.map_err(|_| Error::Busy)?;
        let mut room = self.shelf.room(space);
        let mut view = self.past(space, question, &mut room).await?;
        let text = question.text.clone();
        let limit = question.limit;
        let meant = match &self.meaning {
            Some(meaning) => meaning.of_past(&mut view, &text).await,
            None => Meant::default(),
        };
        room.hold(view.bytes())?;
        let tokens = self.room_of(question);
        apart(move || {
            let hits = view.find_meant(&text, meant.vector.as_ref(), limit);
            Found::cut(hits, tokens, meant.without)
        })
        .await
    }

    /// Returns a view of the statements that were held then, or are held of that time.
    async fn past(
        &self,
        space: &Space,
        question: &Question,
        room: &mut Room<'_>,
    ) -> Result<View, Error> {
        let standings = self.standings(space, question.as_of, room).await?;
        let looked_up = standings.as_ref().map_or(0, HashMap::len) * STANDING_BYTES;
        let mut held = Vec::new();
        let mut bytes = 0;
        let mut asked = Asked {
            limit: PAGE,
            ..Asked::default()
        };
        loop {
            let rows = self.store.statements(space, &asked).await?;
            let is_full = rows.len() == PAGE as usize;
            asked.after = rows.last().map_or(asked.after, |row| row.number);
            for row in rows {
                let then = then(row, question, standings.as_ref());
                bytes += then.as_ref().map_or(0, Held::bytes);
                held.extend(then);
            }
            if held.len() > PAST_MAX {
                return Err(Error::TooMuchPast);
            }
            room.hold(looked_up + bytes)?;
            if !is_full {
                break;
            }
        }
        drop(standings);
        let mut view = match self.meaning {
            Some(_) => View::by_model(),
            None => View::default(),
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
            room.hold(view.bytes() + bytes)?;
        }
        Ok(view)
    }

    /// Returns the standing of each statement as of an event; none: the question names no event.
    async fn standings(
        &self,
        space: &Space,
        as_of: Option<Seq>,
        room: &mut Room<'_>,
    ) -> Result<Option<HashMap<String, Standing>>, Error> {
        let Some(as_of) = as_of else {
            return Ok(None);
        };
        let mut standings = HashMap::new();
        let mut after = 0;
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
            room.hold(standings.len() * STANDING_BYTES)?;
            if !full {
                return Ok(Some(standings));
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
    if let Some(standings) = standings {
        let standing = standings.get(&row.id)?;
        (row.status, row.valid) = (standing.status, standing.valid);
        if let Some(judged) = &mut row.judged {
            judged.carried.clone_from(&standing.carried);
        }
    }
    let is_held = match question.at {
        // What has ended was so.
        Some(at) => (row.status.is_held() || row.status == Status::Ended) && row.valid.is_at(at),
        None => row.status.is_held(),
    };
    is_held.then(|| Held::of(row))
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
    let values = values.into_values();
    all.extend(values.flat_map(|values| current(values, |held| (true, held.valid()), at)));
    all
}
