//! The batch of a turn: the waiting events of the mailbox, the event from outside they go back to,
//! and the turn's beginning or resumption.

use super::Turns;
use crate::ground::Ground;
use crate::mailbox::each_after;
use thinkd_event::condition::{Condition, RequestState};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::client::Offered;
use thinkd_event::fact::turn::Started;
use thinkd_event::timer::Purpose;
use thinkd_log::error::StoreError;
use thinkd_log::query::Show;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::Turn;
use thinkd_mind::turn::granted::Granted;
use thinkd_mind::turn::options::TurnOptions;
use thinkd_mind::turn::step::Step;
use thinkd_thread::history;
use thinkd_thread::settings::Settings;
use thinkd_tools::toolbox::client::offered;
use thinkd_words::id::{Name, Seq, Space};

/// Returns the beginning of a turn. In sub-steps it has the state of the step, with nothing
/// decided; a turn that ends a wait ends its time limit, too.
pub(super) fn opening(
    row: &ThreadRow,
    (settings, options): (&Settings, &TurnOptions),
    number: u64,
    batch: &[Seq],
    submodules: &[Name],
) -> Draft {
    let step = settings
        .substeps
        .then(|| serde_json::to_value(Step::default()).unwrap_or_default());
    let waiting = row.state.waiting.as_ref();
    let limit = waiting.and_then(|waiting| waiting.until);
    let waited = limit.map(|_| Purpose::Wait.to_string());
    let deadline_ms = (!submodules.is_empty()).then_some(options.submodule_timeout_ms);
    let submodules = submodules.iter().map(Name::as_str).collect();
    let batch = batch.to_vec();
    let started = Started {
        turn: number,
        batch: batch.clone(),
        submodules,
        step: step.as_ref(),
        waited: waited.as_deref(),
        root: None,
        deadline_ms,
    };
    // Whoever takes one of them back before this is stored was first.
    Fact::TurnStarted(started)
        .encode(&row.thread)
        .only_if(Condition::Wait(batch))
}

/// Returns the event from outside that a batch goes back to: the last one, in the batch or behind
/// its events. Without any, the event that wakes the thread is as good as from outside.
pub(super) fn root(row: &ThreadRow, batch: &[Event]) -> Option<Seq> {
    let own = row.state.root;
    batch
        .iter()
        .filter_map(|event| event.root().or(own))
        .max()
        .or(own)
        .or_else(|| Some(batch.last()?.seq))
}

/// Returns whether nothing has drawn on a root yet: it is in this batch, and no turn went back to
/// it that left its mailbox as it was. As long as an event waits, turns go back to it or to later
/// ones.
pub(super) fn is_unused(row: &ThreadRow, root: Option<Seq>, batch: &[Seq]) -> bool {
    root > row.state.root && root.is_some_and(|root| batch.contains(&root))
}

/// The subject of a turn.
#[derive(Default)]
pub(super) struct Batch {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// The event that cancels it before it has begun.
    pub cancel: Option<Event>,
    /// More waits than a view can show, or than a cancel leaves.
    pub is_cut: bool,
}

impl Turns {
    /// Returns the turn that was begun and not ended, as far as it came, and the tools that a client
    /// offered with its batch; cancelled, if its thread has ended.
    pub(super) async fn open_turn(
        &self,
        space: &Space,
        row: &ThreadRow,
        settings: &Settings,
    ) -> Result<Option<(Turn, Option<Offered>)>, StoreError> {
        if row.status != Status::Thinking && !row.is_cut_off() {
            return Ok(None);
        }
        let Ground {
            store,
            mind,
            options,
            ..
        } = &self.ground;
        let mut turn: Option<Turn> = None;
        let mut granted = Vec::new();
        let mut thoughts = Vec::new();
        let mut offers = Vec::new();
        // Cancels between the messages and the beginning of their turn.
        let mut cancels = Vec::new();
        let number = row.turn;
        each_after(&**store, space, row, Show::All, |event| {
            granted.extend(Granted::by(&event));
            thoughts.extend(event.is_thought().then_some(event.seq));
            offers.extend(offered(&event).map(|it| (event.seq, it)));
            match &mut turn {
                Some(turn) => turn.apply(&event),
                None => {
                    cancels.extend(event.cancels(number).then_some(event.seq));
                    let begun = Turn::begun_by(&event, &options.turn, &options.budget);
                    let begun = begun
                        .filter(|turn| turn.number() == number)
                        .map(|turn| turn.for_thread(settings));
                    turn = begun.map(|turn| turn.recalling(mind.recalling.is_on()));
                }
            }
            true
        })
        .await?;
        let Some(mut turn) = turn else {
            return Ok(None);
        };
        let is_cancelled = |first| cancels.iter().any(|seq| seq > first);
        if row.is_cut_off() || turn.batch().first().is_some_and(is_cancelled) {
            turn.cancel();
        }
        granted.retain(|it| turn.batch().contains(&it.verdict));
        let of_thought = turn.batch().first().is_some_and(|it| thoughts.contains(it));
        offers.retain(|(seq, _)| turn.batch().contains(seq) || turn.joined().contains(seq));
        let turn = turn
            .of_thought(of_thought)
            .granting(self.not_run(space, row, granted).await?);
        Ok(Some((turn, offers.pop().map(|(_, offered)| offered))))
    }

    /// Returns the granted calls that have no result yet: an interrupted turn leaves its batch to
    /// the next.
    pub(super) async fn not_run(
        &self,
        space: &Space,
        row: &ThreadRow,
        mut granted: Vec<Granted>,
    ) -> Result<Vec<Granted>, StoreError> {
        if granted.is_empty() {
            return Ok(granted);
        }
        let rows = self.ground.store.requests_of(space, &row.thread).await?;
        granted.retain_mut(|granted| {
            let state = rows
                .iter()
                .find(|row| row.id == granted.grant.approval)
                .map(|row| row.state);
            granted.started = state == Some(RequestState::Started);
            granted.started || state == Some(RequestState::Granted)
        });
        Ok(granted)
    }

    /// Returns the waiting events of the mailbox: all that wake, with the parts that came with
    /// them. Where they are more than a view can show, it has the oldest; the rest waits for the
    /// next turn. It also has the cancel of the turn about to begin, if another server stored one.
    pub(super) async fn batch(
        &self,
        space: &Space,
        row: &ThreadRow,
        turn: u64,
    ) -> Result<Batch, StoreError> {
        let client = &self.ground.mind.client;
        let batch_bytes = client.batch_bytes((space, &row.thread));
        let key = (space.clone(), row.thread.clone());
        let cancelled_at = self.ground.running.cancelled_at(&key);
        let mut batch = Batch::default();
        // What lies between them is shown, too.
        let mut shown = 0;
        let mut least = 0;
        // So many of them are inputs with all of their parts, and fit.
        let mut whole = 0;
        let show = match self.ground.store.is_shared() {
            true => Show::Public,
            false => Show::Visible,
        };
        each_after(&*self.ground.store, space, row, show, |event| {
            // Messages behind a cancel are of the next turn; a cancel before all of them is of none.
            let is_cancel = event.cancels(turn);
            let is_behind = is_cancel || cancelled_at.is_some_and(|head| event.seq > head);
            if is_behind && batch.events.iter().any(Event::wakes) {
                batch.is_cut = true;
                batch.cancel = is_cancel.then_some(event);
                return false;
            }
            if is_cancel {
                return true;
            }
            let is_input = event.fact().is_root();
            let is_new =
                (event.wakes() || is_input || event.part().is_some()) && !row.is_settled(event.seq);
            if !batch.is_cut && (is_new || !batch.events.is_empty()) {
                if event.is_visible() {
                    shown += 1;
                    least += client.least(&event);
                }
                let fits = shown <= history::BATCH_MAX && least <= batch_bytes;
                let ends = is_new && (event.wakes() || !is_input);
                batch.events.extend(is_new.then_some(event));
                whole = if fits && ends {
                    batch.events.len()
                } else {
                    whole
                };
                batch.is_cut = !fits && (whole > 0 || ends);
            }
            // A cancel may stand behind it.
            !batch.is_cut || show == Show::Public
        })
        .await?;
        if batch.is_cut && whole > 0 {
            batch.events.truncate(whole);
        }
        // What belongs to something that is still to come waits for it.
        while batch
            .events
            .last()
            .is_some_and(|event: &Event| !event.wakes() && event.seq > row.woken)
        {
            batch.events.pop();
        }
        Ok(batch)
    }
}
