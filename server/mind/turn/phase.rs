//! The phase of a turn, computed from the events that the machine has folded, and the table from
//! phase to next step.

use std::fmt;

use serde_json::json;

use super::granted::Granted;
use super::options::PlainText;
use super::round::{Call, Limits, Pending, Round};
use super::{Halt, Turn};
use crate::decision::REPLY;
use crate::decision::arriving::salvaged;
use thinkd_event::envelope::TurnOutcome;
use thinkd_event::intent::Intent;
use thinkd_thread::settings::Language;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{Name, Seq};

/// The phase of a turn. A turn moves down this table and never up, but that `Deciding`, `Acting`
/// and `Answering` come anew with each round of the decision, and `Listening` with messages that
/// join:
///
/// | phase | the log has | next |
/// | --- | --- | --- |
/// | `Granted` | no answer of the decision; calls that people let run, without result | `Run`: run the first |
/// | `Recalling` | no answer of the decision; no recall yet, where one is due | `Recall`: recall |
/// | `Listening` | no answer of the decision, or messages that joined; submodules that have neither answered nor failed | `Listen`: ask them |
/// | `Deciding` | all that this round of the decision builds on | `Decide`: ask the decision |
/// | `Acting` | the round's answer, with calls without result | `Act`: run these calls |
/// | `Answering` | a question of the round without answer | `Answer`: ask that submodule |
/// | `Closing` | all that is to come, or a reason to stop | `GiveUp`: write down the reason; where it is written, or there is none, `End` |
/// | `Over` | `turn ended` | `Over`: nothing |
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// Calls are to be run that people let run.
    Granted {
        /// The calls, in the order of their verdicts.
        calls: Vec<Granted>,
    },
    /// A recall is due before any model thinks.
    Recalling,
    /// The decision waits for submodules.
    Listening {
        /// The submodules that are awaited.
        silent: Vec<Name>,
    },
    /// The decision is to be asked.
    Deciding {
        /// The round, from 0.
        round: u64,
        /// Its last answer was text that does nothing: only `reply` is open to it.
        repair: bool,
    },
    /// Tool calls are to be run.
    Acting {
        /// The round that made them.
        round: u64,
        /// The calls, in order.
        calls: Vec<Pending>,
    },
    /// A submodule is to answer a question of the decision.
    Answering {
        /// The round that asked.
        round: u64,
        /// The submodule.
        submodule: Name,
        /// The seq of the question.
        question: Seq,
    },
    /// The turn is to end.
    Closing {
        /// The outcome.
        outcome: TurnOutcome,
        /// Why, where the log does not say so yet: a limit is reached, or nothing usable came.
        failure: Option<Failure>,
    },
    /// The turn has ended so; none: with a word that this build does not know.
    Over(Option<TurnOutcome>),
}

/// The next step of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Run this call, which a person let run.
    Run(Granted),
    /// Recall the statements that are held and relevant to the batch.
    Recall,
    /// Ask these submodules, all at once.
    Listen(Vec<Name>),
    /// Have this submodule answer the question at this seq.
    Answer(Name, Seq),
    /// Run these tool calls, in order.
    Act(Vec<Pending>),
    /// Ask the decision.
    Decide {
        /// The round of the call, from 0.
        round: u64,
        /// Only `reply` is open to it.
        repair: bool,
    },
    /// A limit is reached or nothing usable came: say so and end.
    GiveUp(Failure),
    /// All is done: end.
    End(TurnOutcome),
    /// The turn has ended.
    Over,
}

impl From<Phase> for Next {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Granted { mut calls } => Self::Run(calls.remove(0)),
            Phase::Recalling => Self::Recall,
            Phase::Listening { silent } => Self::Listen(silent),
            Phase::Deciding { round, repair } => Self::Decide { round, repair },
            Phase::Acting { calls, .. } => Self::Act(calls),
            Phase::Answering {
                submodule,
                question,
                ..
            } => Self::Answer(submodule, question),
            Phase::Closing {
                failure: Some(failure),
                ..
            } => Self::GiveUp(failure),
            Phase::Closing {
                outcome,
                failure: None,
            } => Self::End(outcome),
            Phase::Over(_) => Self::Over,
        }
    }
}

/// For logs and people: the phase and how far it is.
impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted { calls } => {
                let tools = list(calls.iter().map(|call| call.grant.tool.as_str()));
                write!(f, "running what was granted: {tools}")
            }
            Self::Recalling => f.write_str("recalling"),
            Self::Listening { silent } => {
                write!(f, "listening for {}", list(silent.iter().map(Name::as_str)))
            }
            Self::Deciding { round, repair } => {
                let what = if *repair { ": a repair" } else { "" };
                write!(f, "deciding, round {round}{what}")
            }
            Self::Acting { round, calls } => {
                let tools = list(calls.iter().map(|call| call.tool.as_str()));
                write!(f, "acting, round {round}: {tools}")
            }
            Self::Answering {
                round, submodule, ..
            } => write!(f, "answering, round {round}: {submodule}"),
            Self::Closing { outcome, .. } => write!(f, "closing: {outcome}"),
            Self::Over(Some(outcome)) => write!(f, "over: {outcome}"),
            Self::Over(None) => f.write_str("over"),
        }
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

impl Turn {
    /// Returns the next step now: see the table of `Phase`.
    pub fn next(&self) -> Next {
        self.phase().into()
    }

    /// Returns the phase of the turn.
    pub fn phase(&self) -> Phase {
        match &self.halt {
            Some(Halt::Over(outcome)) => return Phase::Over(*outcome),
            Some(Halt::Cancelled) => return closing(TurnOutcome::Cancelled),
            Some(Halt::Failed(_)) => return closing(TurnOutcome::Failed),
            None => {}
        }
        match self.rounds.split_last() {
            None => self.before_rounds(),
            Some((last, earlier)) => self.after_round(last, earlier.len() as u64),
        }
    }

    fn before_rounds(&self) -> Phase {
        if !self.granted.is_empty() {
            return Phase::Granted {
                calls: self.granted.clone(),
            };
        }
        if self.recalls {
            return Phase::Recalling;
        }
        let silent = self.silent();
        match silent.is_empty() {
            true => self.deciding(false),
            false => Phase::Listening { silent },
        }
    }

    /// The submodules that have neither answered nor failed.
    fn silent(&self) -> Vec<Name> {
        let is_silent = |name: &&Name| self.progress.get(*name).is_none_or(|it| !it.is_done);
        self.submodules.iter().filter(is_silent).cloned().collect()
    }

    fn after_round(&self, last: &Round, round: u64) -> Phase {
        let calls = last.pending();
        if !calls.is_empty() {
            return Phase::Acting { round, calls };
        }
        if let Some((submodule, question)) = self.questions.first() {
            return Phase::Answering {
                round,
                submodule: submodule.clone(),
                question: *question,
            };
        }
        // The client has its part to do: the results begin the next turn, in which the decision
        // sees all that this round brings back.
        if last.waits() {
            return closing(TurnOutcome::Done);
        }
        // It says and does once more what it has said and done: nothing new comes of it.
        let earlier = &self.rounds[..self.rounds.len() - 1];
        if last.replies() && earlier.iter().any(|round| round.is_like(last)) {
            return closing(TurnOutcome::Done);
        }
        let ends = |intent: &Intent| matches!(intent, Intent::Terminate { .. });
        let has_ended = self.intents.iter().any(ends);
        if (last.unreadable || last.is_unread()) && !has_ended {
            let limit = self.limits.unreadable;
            return match self.unreadable_in_a_row() >= limit {
                true => giving_up(unreadable_answers(limit)),
                false => self.deciding(false),
            };
        }
        let is_done = match &self.step {
            Some(step) => has_ended || step.is_complete(),
            None if last.calls.is_empty() && !self.process => return self.after_words(last),
            None => !last.calls.iter().any(|call| call.back),
        };
        match is_done {
            true => closing(TurnOutcome::Done),
            false => self.deciding(false),
        }
    }

    /// After an answer of a conversation that did nothing. Words that are an answer are a call of `reply` by now.
    fn after_words(&self, last: &Round) -> Phase {
        let plain_text = self.limits.plain_text;
        let has_replied = !self.replies.is_empty();
        if plain_text == PlainText::Reply && has_replied {
            return closing(TurnOutcome::Done);
        }
        if self.repairs == 0 && plain_text != PlainText::Refuse {
            return self.deciding(true);
        }
        giving_up(mute(plain_text, self.language, last.text.is_some()))
    }

    /// Returns true if the decision is asked for the last time in a turn with no answer for its
    /// user yet.
    pub(super) fn is_last_round(&self) -> bool {
        let made = self.rounds.len() as u64;
        let is_last_round = made.saturating_sub(self.repairs) + 1 >= self.limits.rounds;
        let is_last_call = self.model_calls + 1 >= self.limits.model_calls;
        made > 0 && (is_last_round || is_last_call) && self.owes_reply()
    }

    /// True for a conversation that takes words for an answer, and has said nothing yet.
    fn owes_reply(&self) -> bool {
        !self.process && self.limits.plain_text == PlainText::Reply && self.replies.is_empty()
    }

    /// The last words for the user that were lost, and true if they were cut off: the words of an answer without calls, unless calls
    /// came after it, or a reply as far as its arguments can be read.
    pub(super) fn unheard(&self) -> Option<(String, bool)> {
        if !self.owes_reply() {
            return None;
        }
        let mut has_acted = false;
        self.rounds.iter().rev().find_map(|round| {
            if round.calls.is_empty() {
                // Words before calls were thinking.
                let are_words = !round.unreadable && !has_acted;
                return Some((round.text.clone().filter(|_| are_words)?, false));
            }
            has_acted = true;
            let replies = round.calls.iter().filter(|call| call.pending.tool == REPLY);
            let salvaged = |call: &Call| salvaged(call.pending.arguments.as_str()?);
            Some((replies.rev().find_map(salvaged)?, true))
        })
    }

    fn unreadable_in_a_row(&self) -> u64 {
        let all = self.rounds.iter().rev();
        all.take_while(|round| round.is_unread()).count() as u64
    }

    /// The decision is asked once more, unless a limit is reached.
    fn deciding(&self, repair: bool) -> Phase {
        let Limits {
            rounds,
            tool_calls,
            model_calls,
            tokens,
            ..
        } = self.limits;
        let spent = |what: &str, limit: u64, key: &str| {
            let text = format!("the turn has used up its {limit} {what} ({key}) and ends here");
            let failure = Failure::new(FailureKind::Budget, text);
            giving_up(failure.with(json!({ "limit": limit, "key": key })))
        };
        let made = self.rounds.len() as u64;
        if self.model_calls >= model_calls {
            spent("model calls", model_calls, "budget.model_calls")
        } else if let Some(tokens) = tokens.filter(|tokens| self.tokens >= *tokens) {
            spent("tokens", tokens, "budget.tokens")
        } else if made.saturating_sub(self.repairs) >= rounds {
            spent("rounds of the decision", rounds, "turn.max_rounds")
        } else if self.tool_calls >= tool_calls && made > 0 {
            spent("tool calls", tool_calls, "turn.max_tool_calls")
        } else {
            let silent = match self.was_joined_at(made) {
                true => self.silent(),
                false => Vec::new(),
            };
            match silent.is_empty() {
                true => Phase::Deciding {
                    round: made,
                    repair,
                },
                false => Phase::Listening { silent },
            }
        }
    }
}

const fn closing(outcome: TurnOutcome) -> Phase {
    Phase::Closing {
        outcome,
        failure: None,
    }
}

fn giving_up(failure: Failure) -> Phase {
    Phase::Closing {
        outcome: TurnOutcome::Failed,
        failure: Some(failure),
    }
}

fn unreadable_answers(limit: u64) -> Failure {
    let key = "budget.unreadable";
    let text = format!(
        "{limit} answers in a row could not be read ({key}); what was wrong stands before this"
    );
    let failure = Failure::new(FailureKind::Interpreter, text);
    failure.with(json!({ "limit": limit, "key": key }))
}

/// Returns the failure with which a conversation gives up after a decision that did nothing. The
/// advice names nothing that is set already.
fn mute(plain_text: PlainText, language: Language, said: bool) -> Failure {
    let often = match plain_text {
        PlainText::Refuse => "",
        PlainText::Reply | PlainText::AskAgain => ", twice",
    };
    let text = match (said, plain_text) {
        (true, PlainText::Reply) => {
            "the decision answered in words, which are its answer only where it has the tool reply \
                                     (tools.conversation)"
                .to_owned()
        }
        (false, _) => format!(
            "the decision answered with neither words nor a tool call{often}. See what its server logs of the call; \
             `thinkd doctor` asks the model once"
        ),
        (true, PlainText::AskAgain | PlainText::Refuse) => {
            let elements = match language {
                Language::Tools => {
                    ", or turn.language = \"auto\", by which it can act by elements in its words"
                }
                Language::Auto | Language::Xml => "",
            };
            format!(
                "the decision answered in words without a tool call{often}; nobody received them. Set turn.plain_text = \
                 \"reply\" to have such words be the answer{elements}"
            )
        }
    };
    Failure::new(FailureKind::Interpreter, text)
}
