//! The turn about an input of a conversation, and the words that a client had of it.

use super::reply::told;
use crate::problem::Problem;
use thinkd_event::envelope::{Event, TurnOutcome, tag};
use thinkd_event::fact::Fact;
use thinkd_log::query::{Order, Query, Show};
use thinkd_session::handle::Session;
use thinkd_words::id::Seq;

/// Events of a turn, or turns, that are looked at.
const PAGE: u32 = 100;

/// A turn about an input.
pub struct Turn {
    /// Its outcome; none: it runs.
    pub outcome: Option<TurnOutcome>,
    /// Its last event so far.
    pub last: Seq,
    /// The words that a client was told.
    pub answer: String,
}

impl Turn {
    /// True if a client that has this text had it from this turn. A client that hung up has a
    /// part; before the text may stand comments, as the client shows them.
    pub fn is_answered(&self, text: &str) -> bool {
        let (text, answer) = (text.trim(), self.answer.trim());
        let is_whole = text == answer || (!answer.is_empty() && text.ends_with(answer));
        // Of a turn that said nothing a client has nothing.
        let is_part = answer.starts_with(text) || (!answer.is_empty() && text.starts_with(answer));
        is_whole || (self.is_cut() && is_part)
    }

    /// True if it was stopped or failed: a client may have words of its own in the place of its
    /// answer, such as "stopped" or the answer of another model.
    pub const fn is_cut(&self) -> bool {
        matches!(
            self.outcome,
            Some(TurnOutcome::Cancelled | TurnOutcome::Failed)
        )
    }
}

/// Returns the last turn about an input; none: it has not begun.
pub async fn turn_about(session: &Session, input: &Event) -> Result<Option<Turn>, Problem> {
    let query = Query {
        thread: Some(input.thread.clone()),
        tags: [
            tag::STARTED,
            tag::ENDED,
            tag::STEERED,
            tag::RESPONSE,
            "question",
            "pending",
        ]
        .map(str::to_owned)
        .into(),
        after: Some(input.seq),
        show: Show::All,
        order: Order::Ascending,
        limit: PAGE,
        ..Query::default()
    };
    let (mut number, mut found) = (None, None::<Turn>);
    for event in session.events(&query).await? {
        match event.fact() {
            Fact::TurnStarted(started) if started.batch.contains(&input.seq) => {
                number = Some(started.turn);
                found = Some(Turn {
                    outcome: None,
                    last: event.seq,
                    answer: String::new(),
                });
            }
            Fact::TurnSteered(steered) if steered.has(input.seq) => {
                number = Some(steered.turn);
                found = Some(Turn {
                    outcome: None,
                    last: event.seq,
                    answer: String::new(),
                });
            }
            Fact::TurnEnded(ended) if Some(ended.turn) == number => {
                if let Some(turn) = &mut found {
                    turn.outcome = ended.outcome;
                    turn.last = event.seq;
                }
                if ended.outcome != Some(TurnOutcome::Interrupted) {
                    break;
                }
            }
            _ => {
                let text = number.and_then(|number| told(&event, number));
                if let (Some(turn), Some(text)) = (&mut found, text) {
                    if !turn.answer.is_empty() {
                        turn.answer.push_str("\n\n");
                    }
                    turn.answer.push_str(&text);
                }
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_hung_up_has_a_part_of_the_answer_and_no_other_text() {
        let turn = |outcome, answer: &str| Turn {
            outcome: Some(outcome),
            last: 1,
            answer: answer.into(),
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
}
