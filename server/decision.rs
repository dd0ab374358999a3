//! The decision's one model call: what it is shown, and its reply shown to readers while it still arrives.
//! What the answer leads to is the turn's business.

use std::collections::BTreeMap;
use std::sync::Arc;

use arriving::Arriving;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::call::{Caller, Ended, Look, Place, Question, Ready, Until};
use crate::failure::Who;
use crate::history::positions;
use crate::id::{self, Seq};
use crate::model::{Piece, Tier, ToolChoice};
use crate::store::feed::{DeltaOutcome, Hint};
use crate::store::{self, Show, Store};
use crate::tool::Toolbox;

pub mod arriving;

/// The tool that speaks to the user.
pub const REPLY: &str = "reply";

/// What a decision goes by.
pub struct Deciding {
    /// Who asks the model.
    pub caller: Arc<Caller>,
    /// The decision's tools.
    pub tools: Toolbox,
    /// Where.
    pub place: Place,
    /// What it is about.
    pub batch: Vec<Seq>,
    /// Which call of the turn, from 0.
    pub round: u64,
    /// Its last answer was words without a tool call: only `reply` is open to it.
    pub repair: bool,
    /// What this thread's decision is told besides.
    pub prompt: Option<String>,
    /// How good a model it gets.
    pub tier: Tier,
    /// When it must have answered.
    pub until: Until,
    /// Ends it.
    pub stop: CancellationToken,
}

/// What readers have been shown of replies that still arrive.
#[derive(Default)]
pub struct Streamed(BTreeMap<usize, Streaming>);

struct Streaming {
    event_id: Uuid,
    arriving: Arriving,
    sent: String,
    scalars: usize,
}

impl Streamed {
    /// The id that the reply made by the answer's call `index` was promised under.
    pub fn event_id(&self, index: usize) -> Option<Uuid> {
        self.0.get(&index).map(|streaming| streaming.event_id)
    }

    /// Replies of which something was shown: call index, id, text so far.
    pub fn begun(&self) -> impl Iterator<Item = (usize, Uuid, &str)> {
        self.0.iter().filter(|(_, s)| !s.sent.is_empty()).map(|(index, s)| (*index, s.event_id, s.sent.as_str()))
    }

    /// Tells readers what became of what they were shown, by id.
    pub fn end(&mut self, store: &dyn Store, place: &Place, outcome: impl Fn(Uuid) -> DeltaOutcome) {
        for streaming in std::mem::take(&mut self.0).into_values().filter(|s| !s.sent.is_empty()) {
            let (thread, event_id) = (place.thread.clone(), streaming.event_id);
            store.feed().hint(&place.space, Hint::DeltaEnd { thread, event_id, outcome: outcome(event_id) });
        }
    }

    /// Takes in a piece of the answer; what it adds to a reply is passed on.
    fn take(&mut self, piece: &Piece, place: &Place, store: &dyn Store) {
        let Piece::Call { index, name, arguments } = piece else { return };
        if name.as_deref() == Some(REPLY) {
            let begun =
                || Streaming { event_id: id::fresh(), arriving: Arriving::default(), sent: String::new(), scalars: 0 };
            self.0.entry(*index).or_insert_with(begun);
        }
        let Some(streaming) = self.0.get_mut(index) else { return };
        let text = streaming.arriving.push(arguments);
        if !text.is_empty() {
            let at = streaming.scalars;
            streaming.scalars += text.chars().count();
            streaming.sent.push_str(&text);
            let (thread, event_id) = (place.thread.clone(), streaming.event_id);
            store.feed().hint(&place.space, Hint::Delta { thread, event_id, at, text });
        }
    }
}

/// Asks the decision, with the log as it is now.
pub async fn decide(deciding: &Deciding, streamed: &mut Streamed) -> Result<(Ready, Ended), store::Error> {
    let Deciding { caller, place, until, stop, .. } = deciding;
    let look = caller.look(place, Show::Visible).await?;
    let ready = caller.prepare(place, &look, &question(deciding, &look)).await?;
    let store = caller.store().clone();
    let ended = caller.ask(&ready, *until, stop, |piece| streamed.take(piece, place, store.as_ref())).await;
    Ok((ready, ended))
}

fn question(deciding: &Deciding, look: &Look) -> Question {
    let prompts = deciding.caller.prompts();
    let last = deciding.batch.last().copied().unwrap_or(0);
    let later = look.entries.iter().filter(|entry| entry.seq > last && entry.wakes);
    let later: Vec<Seq> = later.map(|entry| entry.seq).collect();
    let meanwhile = match later.as_slice() {
        [] => String::new(),
        seqs => prompts.decision_meanwhile.fill(&[("seqs", &positions(seqs))]),
    };
    Question {
        who: Who::Decision,
        purpose: if deciding.repair { "repair" } else { "decide" },
        round: deciding.round,
        system: prompts.decision.source(),
        tail: if deciding.repair { prompts.decision_repair.clone() } else { prompts.decision_turn.clone() },
        values: vec![("batch".to_owned(), positions(&deciding.batch)), ("meanwhile".to_owned(), meanwhile)],
        prompt: deciding.prompt.clone(),
        own: Vec::new(),
        tools: deciding.tools.specs(),
        choice: if deciding.repair { ToolChoice::Only(REPLY.to_owned()) } else { ToolChoice::Auto },
        tier: deciding.tier,
    }
}
