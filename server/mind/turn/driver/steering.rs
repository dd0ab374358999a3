//! Messages that join a running turn: before each round of its decision the mailbox is looked
//! through for them, and the turn takes them in by an event of its own.

use super::{Driver, Mail};
use crate::call::TurnPlace;
use crate::turn_writer::Lost;
use thinkd_event::condition::Condition;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::client::Offered;
use thinkd_event::fact::turn::Steered;
use thinkd_log::error::StoreError;
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::thread_row::ThreadRow;
use thinkd_tools::toolbox::client::{ClientTools, offered};
use thinkd_words::failure::Who;
use thinkd_words::id::Seq;

/// Events that are read at a time, and most such pages for one round.
const PAGE: u32 = 500;
const PAGES_MAX: usize = 20;
/// So often messages are looked for again that were taken back meanwhile.
const TRIES: usize = 3;

/// Messages that join the turn.
#[derive(Debug, Clone, Default)]
struct Joining {
    /// The first and the last part of each.
    inputs: Vec<(Seq, Seq)>,
    /// The first part of the one that is read.
    first: Option<Seq>,
    /// The mailbox begins behind this when the turn ends.
    up_to: Seq,
    mail: Mail,
    /// Bytes of a view that they take at least, and may take.
    bytes: usize,
    most: usize,
    /// The rest joins before the next round.
    is_full: bool,
    /// The tools that the newest of them offers.
    offered: Option<Offered>,
}

impl Joining {
    /// Takes an event of the mailbox, which takes so many bytes of a view.
    fn take(&mut self, event: &Event, bytes: usize, row: &ThreadRow) {
        if self.is_full {
            return;
        }
        let steers = matches!(event.fact(), Fact::Input(input) if input.steers());
        if steers && !row.is_steered(event.seq) {
            self.bytes += bytes;
        }
        if !event.wakes() && event.part().is_none() {
            if steers {
                self.first.get_or_insert(event.seq);
            }
            return;
        }
        let first = self.first.take().unwrap_or(event.seq);
        if !row.is_withdrawn(event.seq) && !row.is_steered(event.seq) {
            if !steers {
                self.mail.is_parted = true;
                self.mail.looked = event.seq;
                return;
            }
            if self.bytes > self.most && !self.inputs.is_empty() {
                self.is_full = true;
                return;
            }
            self.inputs.push((first, event.seq));
            self.offered = offered(event).or(self.offered.take());
        }
        self.mail.looked = event.seq;
        if !self.mail.is_parted {
            self.up_to = self.up_to.max(event.seq);
        }
    }
}

impl Driver {
    /// Takes in the messages that are to join the turn before this round of its decision, once a
    /// round. Returns whether there are any.
    pub(super) async fn take_in(&mut self, round: u64) -> Result<bool, Lost> {
        if self.turn.was_joined_at(round) {
            return Ok(false);
        }
        for _ in 1..TRIES {
            match self.take_in_now(round).await {
                // One was taken back meanwhile.
                Err(Lost::Withdrawn) => {}
                taken => return taken,
            }
        }
        self.take_in_now(round).await
    }

    async fn take_in_now(&mut self, round: u64) -> Result<bool, Lost> {
        let joining = self.joining().await?;
        let inputs = joining.inputs;
        let mail = joining.mail;
        let offered = joining.offered.filter(|_| !self.settings.is_process());
        if inputs.is_empty() {
            self.mail = mail;
            return Ok(false);
        }
        let waiting = inputs.iter().map(|(_, input)| *input).collect();
        let steered = Steered {
            turn: self.turn.number(),
            round,
            inputs,
            handled: joining.up_to,
        };
        let draft = Fact::TurnSteered(steered).encode(&self.place.thread);
        // Whoever takes one of them back before this is stored was first.
        let draft = draft.only_if(Condition::Wait(waiting));
        self.write(vec![draft]).await?;
        self.mail = mail;
        if let Some(offered) = offered {
            self.takes_tools(offered, round).await?;
        }
        Ok(true)
    }

    /// Offers the decision the tools of a client that joined, in the place of those before.
    async fn takes_tools(&mut self, offered: Offered, round: u64) -> Result<(), Lost> {
        match ClientTools::read(&**self.store(), &self.place.space, offered).await? {
            Ok(tools) => (self.client, self.offered_at) = (Some(tools), round),
            Err(failure) => drop(self.write(vec![self.failure(&Who::Core, &failure)]).await?),
        }
        Ok(())
    }

    /// Returns the messages that join the turn now.
    async fn joining(&self) -> Result<Joining, StoreError> {
        let store = self.store();
        let client = &self.mind.client;
        let TurnPlace { space, thread, .. } = &self.place;
        let mut joining = Joining {
            up_to: self.turn.up_to(),
            mail: self.mail,
            most: client.batch_bytes((space, thread)),
            ..Joining::default()
        };
        joining.mail.looked = joining.mail.looked.max(self.turn.last_of_batch());
        let row = match store.is_shared() && self.writer.has_begun().await {
            // Other servers have stored messages since the batch was read.
            true => store.thread(space, thread).await?,
            false => store.thread_lately(space, thread).await?,
        };
        let Some(row) = row.filter(|row| row.woken > joining.mail.looked) else {
            return Ok(joining);
        };
        let mut after = joining.mail.looked;
        for _ in 0..PAGES_MAX {
            let query = Query {
                thread: Some(thread.clone()),
                after: Some(after),
                before: Some(row.head + 1),
                show: Show::Visible,
                order: Order::Ascending,
                limit: PAGE,
                ..Query::default()
            };
            let events = store.events(space, &query).await?;
            for event in &events {
                joining.take(event, client.least(event), &row);
                after = event.seq;
            }
            if events.len() < PAGE as usize || joining.is_full {
                break;
            }
        }
        if !joining.is_full {
            joining.mail.looked = joining.first.map_or(after, |first| first - 1);
        }
        Ok(joining)
    }
}
