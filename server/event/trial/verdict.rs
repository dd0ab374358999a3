//! The verdict of a trial, as an event says it: the word on the statement, with its reason.

use std::collections::BTreeSet;

use super::{BROKEN_MAX, Found, Rules, Trial};
use crate::method::testable;
use crate::statement::{Answer, Instrument, Judged, Later, Outcome, Reading, Status, Valid};
use thinkd_words::time::Timestamp;

impl Trial {
    /// Returns the verdict of the trial, as an event says it.
    pub fn judged(&self, found: &Found, rules: &Rules, now: Timestamp) -> Judged {
        let before = self.judged.as_ref();
        let (tries, breaks) = before.map_or((0, 0), |judged| (judged.tries, judged.breaks));
        let derived = self.derived.as_ref();
        let base = Judged {
            survived: before.map_or(0, |judged| judged.survived),
            reopened: before.map_or(0, |judged| judged.reopened),
            // What is held and nothing could read was not tested.
            tried: !self.status().is_held() || !self.readings.is_empty(),
            available: self.had(rules),
            testable: derived.map(|derived| testable(&derived.predictions)),
            ..Judged::of(Outcome::Is(self.status()), String::new(), self.valid())
        };
        match found {
            Found::Survives => self.survived(base, rules),
            Found::Falsified(at) => Judged {
                outcome: Outcome::Is(Status::Falsified),
                reason: self.because(*at, None),
                ..base
            },
            Found::Ended(at, later) => {
                // What it said itself of its end stands: no later value moves that on.
                let to = later.from.unwrap_or(now);
                let valid = Valid {
                    to: Some(base.valid.to.map_or(to, |said| said.min(to))),
                    ..base.valid
                };
                let reason = format!(
                    "{} (since: {})",
                    self.because(*at, Some(later)),
                    later.object
                );
                Judged {
                    outcome: Outcome::Is(Status::Ended),
                    reason,
                    valid,
                    ..base
                }
            }
            Found::Undecided => {
                let tries = tries + 1;
                let pause = (tries < rules.tries).then(|| rules.pause(tries));
                self.left_open(Judged { tries, ..base }, pause, now)
            }
            Found::Broken => {
                let breaks = breaks + 1;
                let most = rules.retry_micros.max(BROKEN_MAX);
                let pause = Some(rules.pause(breaks).min(most));
                let base = Judged {
                    tries,
                    breaks,
                    ..base
                };
                self.left_open(base, pause, now)
            }
        }
    }

    /// The instruments beside reflection that there were: those that were read may be busy by now.
    fn had(&self, rules: &Rules) -> Vec<Instrument> {
        let mut had = rules.available.clone();
        had.extend(self.readings.iter().map(|it| it.instrument));
        had.extend((!self.unknown.is_empty()).then_some(Instrument::User));
        had.remove(&Instrument::Reflection);
        had.into_iter().collect()
    }

    /// A trial without an outcome leaves a statement as it was. `pause`: the microseconds until the
    /// next one.
    fn left_open(&self, base: Judged, pause: Option<i64>, now: Timestamp) -> Judged {
        let pause = pause.filter(|_| !self.is_retest);
        Judged {
            reason: self.undecided(),
            carried: self.carried().to_vec(),
            due: pause.map(|pause| now.after(pause)),
            ..base
        }
    }

    fn survived(&self, base: Judged, rules: &Rules) -> Judged {
        let derived = self.derived.as_ref();
        let count = derived.map_or(0, |derived| derived.predictions.len());
        let standing = (0..count).filter(|at| self.stands(*at)).count();
        let said = (0..count).flat_map(|at| self.said(at));
        let yes = said.filter(|it| it.answer == Answer::Yes);
        let mut carried: BTreeSet<Instrument> = yes.map(|it| it.instrument).collect();
        carried.extend(self.carried().iter().filter(|_| standing > 0));
        let carried: Vec<Instrument> = carried.into_iter().collect();
        if rules.require_experiment && carried == [Instrument::Reflection] {
            let reason = "it survived on reflection alone, and an experiment is required".into();
            let outcome = match self.status() {
                Status::Falsified => Status::Falsified,
                _ => Status::Proposed,
            };
            return Judged {
                outcome: Outcome::Is(outcome),
                reason,
                ..base
            };
        }
        let reason = match (count, standing) {
            (1, _) => "its prediction was not refuted".to_owned(),
            (count, 0) => format!("none of its {count} predictions was refuted"),
            (count, standing) => format!(
                "none of its {count} predictions was refuted; {standing} could be tested by nothing that has not carried it, and stands"
            ),
        };
        Judged {
            outcome: Outcome::Is(Status::Surviving),
            reason,
            carried,
            survived: base.survived + 1,
            ..base
        }
    }

    fn because(&self, prediction: usize, later: Option<&Later>) -> String {
        let derived = self.derived.as_ref();
        let of = derived.and_then(|derived| derived.predictions.get(prediction));
        let text = of.map_or("", |of| of.text.as_str());
        let is_it = |it: &&Reading| {
            it.answer == Answer::No && (later.is_none() || it.later.as_ref() == later)
        };
        let reading = self.said(prediction).filter(is_it).last();
        let by = reading.map_or("nobody", |it| it.instrument.as_str());
        let note = reading.map_or("", |it| it.note.as_str());
        let number = prediction + 1;
        format!("prediction {number}, \"{text}\", was refuted by {by}: {note}")
    }

    fn undecided(&self) -> String {
        let own = self.readings.iter().skip(self.earlier);
        let reading = own
            .rev()
            .find(|it| matches!(it.answer, Answer::None | Answer::No));
        match reading {
            Some(it) => {
                let number = it.prediction + 1;
                let note = &it.note;
                format!("prediction {number} has no answer: {note}")
            }
            None if self.status() == Status::Falsified => {
                "nothing is there now that can test it again".into()
            }
            None if self.status().is_held() => {
                "nothing is there now that can test it and has not carried it".into()
            }
            None if !self.unknown.is_empty() => {
                "people do not know, and no other experiment can say anything of it".into()
            }
            None => "some predictions have no answer".into(),
        }
    }
}
