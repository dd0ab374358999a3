//! Calls that a turn leaves behind: begun, and without a result. Each gets one before the turn ends, however it ends: a model that
//! sees a call and nothing after it makes it again.

use super::round;
use super::{Halt, Turn};
use crate::action::effect_begun;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::TurnOutcome;
use thinkd_event::fact::calls::Call;
use thinkd_tools::tool::Effect;
use thinkd_tools::toolbox::Toolbox;
use thinkd_words::failure::{Who, cut_off};
use thinkd_words::id::ThreadId;

impl Turn {
    /// Ends it as cancelled, if it has not ended.
    pub fn cancel(&mut self) {
        self.halt(Halt::Cancelled);
    }

    /// Says that calls were begun and have no result.
    pub fn leaves_calls(&self) -> bool {
        self.left().next().is_some()
    }

    fn left(&self) -> impl Iterator<Item = &round::Call> {
        let calls = self.rounds.iter().flat_map(|round| &round.calls);
        calls.filter(|call| call.pending.begun && !call.done)
    }

    /// The results of the calls that were begun and come to nothing any more, for this reason: a clause, such as that of `why`.
    pub fn cut_off(&self, thread: &ThreadId, tools: &Toolbox, why: &str) -> Vec<Draft> {
        let result = |left: &round::Call| {
            let tool = &left.pending.tool;
            let is_outside = effect_begun(tool, tools) == Effect::Outside;
            let call = Call {
                turn: self.number,
                by: &Who::Decision,
                tool,
                call_id: &left.pending.call_id,
            };
            Draft::result_failed(thread, &call, &cut_off(why, tool, is_outside), 0)
        };
        self.left().map(result).collect()
    }
}

/// The reason for which a turn that ends so leaves calls behind.
pub const fn why(outcome: TurnOutcome) -> &'static str {
    match outcome {
        TurnOutcome::Cancelled => "the turn was cancelled",
        TurnOutcome::Interrupted => "newer input interrupted the turn",
        TurnOutcome::Failed => "the turn failed",
        TurnOutcome::Done => "the turn ended",
    }
}
