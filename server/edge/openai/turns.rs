//! The turn about an input of a conversation, and the words that a client had of it.

use super::reply::{told, waits};
use crate::problem::Problem;
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_event::fact::Fact;
use thinkd_event::fact::withdrawn::Withdrawn;
use thinkd_log::query::{Order, Query};
use thinkd_session::handle::Session;
use thinkd_words::id::Seq;

/// Events of a turn, or turns, that are looked at, and most such pages.
const PAGE: u32 = 100;
const PAGES_MAX: usize = 40;

/// A turn about an input, or several: the client ran calls in between.
pub struct Turn {
    /// The outcome of the last; none: it runs. Of an input that was taken back: cancelled.
    pub outcome: Option<TurnOutcome>,
    /// True if the input was taken back: no turn has had it.
    pub is_taken_back: bool,
    /// The last event so far.
    pub last: Seq,
    /// The words that a client was told.
    pub answer: String,
    /// The lengths of the answer where the client was to run calls.
    stops: Vec<usize>,
    /// The words on these calls for clients that did not offer them.
    waits: Vec<String>,
}

/// The turns that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The one about the input.
    Turn,
    /// All, up to the end of the exchange.
    Exchange,
}

impl Turn {
    /// One without an end, and without words, that begins here.
    const fn at(last: Seq) -> Self {
        Self {
            outcome: None,
            is_taken_back: false,
            last,
            answer: String::new(),
            stops: Vec::new(),
            waits: Vec::new(),
        }
    }

    /// True if a client that has this text had it from this turn. A client that hung up has a
    /// part; before the text may stand comments, as the client shows them. One that ran calls may
    /// keep the words before them, or behind them, alone.
    pub fn is_answered(&self, text: &str) -> bool {
        let mut text = text.trim();
        let answer = self.answer.trim();
        for words in self.waits.iter().rev() {
            text = text.strip_suffix(words.as_str()).unwrap_or(text).trim();
        }
        let is_whole = text == answer || (!answer.is_empty() && text.ends_with(answer));
        // Of a turn that said nothing a client has nothing.
        let is_part = answer.starts_with(text) || (!answer.is_empty() && text.starts_with(answer));
        let is_piece = |at: &usize| {
            let (before, behind) = self.answer.split_at(*at);
            text == before.trim() || text == behind.trim()
        };
        is_whole || (self.is_cut() && is_part) || self.stops.iter().any(is_piece)
    }

    /// True if it was stopped or failed: a client may have words of its own in the place of its
    /// answer, such as "stopped" or the answer of another model.
    pub const fn is_cut(&self) -> bool {
        let outcome = self.outcome;
        let is_cut = matches!(outcome, Some(TurnOutcome::Cancelled | TurnOutcome::Failed));
        is_cut && !self.is_taken_back
    }
}

/// Turns as far as they were read.
struct Reading {
    /// The events of which one begins the next turn.
    begins: Vec<Seq>,
    /// The turn that is read.
    number: Option<u64>,
    /// True if the client is to run calls of it.
    calls: bool,
    /// The last turn with such calls: its results come again where the turn about them was cut off.
    caller: Option<u64>,
    found: Option<Turn>,
}

impl Reading {
    fn begin(&mut self, turn: u64, at: Seq) {
        (self.number, self.calls) = (Some(turn), false);
        let found = self.found.get_or_insert_with(|| Turn::at(at));
        (found.outcome, found.last) = (None, at);
        // Words that were cut off are said again.
        if let Some(stop) = found.stops.last() {
            found.answer.truncate(*stop);
        }
    }

    /// Takes in an event. Returns false behind the end of the last turn.
    fn take(&mut self, event: &Event, until: Until) -> bool {
        match event.fact() {
            Fact::TurnStarted(started)
                if started.batch.iter().any(|seq| self.begins.contains(seq)) =>
            {
                self.begin(started.turn, event.seq);
            }
            // Words said before the message joined are no answer to it.
            Fact::TurnSteered(steered) if self.begins.iter().any(|seq| steered.has(*seq)) => {
                self.begin(steered.turn, event.seq);
            }
            Fact::TurnEnded(ended) if Some(ended.turn) == self.number => {
                if let Some(turn) = &mut self.found {
                    turn.outcome = ended.outcome;
                    turn.last = event.seq;
                    if self.calls {
                        self.caller = self.number;
                        turn.stops.push(turn.answer.len());
                    }
                }
                let is_done = ended.outcome == Some(TurnOutcome::Done);
                let is_cut = self.caller.is_some() && !is_done;
                let goes_on = (self.calls || is_cut) && until == Until::Exchange;
                return ended.outcome == Some(TurnOutcome::Interrupted) || goes_on;
            }
            Fact::Withdrawn(Withdrawn { input, .. }) if self.begins.contains(&input) => {
                self.found = Some(Turn {
                    outcome: Some(TurnOutcome::Cancelled),
                    is_taken_back: true,
                    ..Turn::at(event.seq)
                });
                return false;
            }
            Fact::ClientCall(call) if Some(call.turn) == self.number => {
                self.calls = true;
                if let Some(turn) = &mut self.found {
                    turn.waits.push(waits(&call));
                }
            }
            Fact::ClientResults(results) => {
                let of_turn = Some(results.of_turn);
                let is_own = of_turn == self.number || of_turn == self.caller;
                self.begins.extend(is_own.then_some(event.seq));
            }
            _ => {
                let text = self.number.and_then(|number| told(event, number));
                if let (Some(turn), Some(text)) = (&mut self.found, text) {
                    if !turn.answer.is_empty() {
                        turn.answer.push_str("\n\n");
                    }
                    turn.answer.push_str(&text);
                }
            }
        }
        true
    }
}

/// Returns the last turn about an input, or about the results of calls; none: it has not begun.
pub async fn turn_about(
    session: &Session,
    input: &Event,
    until: Until,
) -> Result<Option<Turn>, Problem> {
    // Without tags: the end of the log is read as it is, and a turn just over from memory.
    let mut query = Query {
        thread: Some(input.thread.clone()),
        after: Some(input.seq),
        order: Order::Ascending,
        limit: PAGE,
        ..Query::default()
    };
    let mut reading = Reading {
        begins: vec![input.seq],
        number: None,
        calls: false,
        caller: None,
        found: None,
    };
    for _ in 0..PAGES_MAX {
        let page = session.events(&query).await?;
        if !page.iter().all(|event| reading.take(event, until)) || page.len() < PAGE as usize {
            break;
        }
        query.after = page.last().map(|event| event.seq);
    }
    Ok(reading.found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_hung_up_has_a_part_of_the_answer_and_no_other_text() {
        let turn = |outcome, answer: &str| Turn {
            outcome: Some(outcome),
            answer: answer.into(),
            ..Turn::at(1)
        };
        let cut = turn(TurnOutcome::Cancelled, "The sea is wide");
        assert!(cut.is_answered("The sea") && cut.is_answered("The sea is wide and"));
        assert!(!cut.is_answered("A hill"));
        let silent = turn(TurnOutcome::Cancelled, "");
        assert!(silent.is_answered("") && !silent.is_answered("A hill"));
        let whole = turn(TurnOutcome::Done, "The sea is wide");
        assert!(whole.is_answered("(a comment)\nThe sea is wide\n"));
        assert!(!whole.is_answered("The sea"));
    }

    #[test]
    fn a_client_that_ran_calls_may_keep_the_words_around_them_alone() {
        let turn = Turn {
            outcome: Some(TurnOutcome::Done),
            answer: "Let me look.\n\nIt snows.".into(),
            stops: vec![12],
            waits: vec!["`weather` waits".into()],
            ..Turn::at(1)
        };
        assert!(turn.is_answered("Let me look.\n\n`weather` waits"));
        for text in ["Let me look.", "It snows.", "Let me look.\n\nIt snows."] {
            assert!(turn.is_answered(text), "{text}");
        }
        assert!(!turn.is_answered("") && !turn.is_answered("It rains."));
    }
}
