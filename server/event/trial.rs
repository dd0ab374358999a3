//! A trial is a fold over the events of its statement: `apply` takes one in, `next` says the next
//! step, `judged` the verdict. Pure; `memory/trying.rs` reads instruments and appends,
//! `event/method.rs` compares statements with each other.

use std::collections::BTreeSet;

use thinkd_facts::Fact;

use super::envelope::Source;
use super::method::{chosen, ends};
use super::statement::{
    Answer, Claim, Derived, Instrument, Judged, Later, Outcome, Prediction, Reading, Status,
    Triple, Valid,
};
use thinkd_words::time::Timestamp;

mod verdict;

/// Longest time until a trial is taken up again that something broke, in microseconds, unless that of a first trial in vain is longer.
const BROKEN_MAX: i64 = 3_600_000_000;

/// The rules of trials: the configuration, and the instruments that there are now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The instruments that can be used for this statement now.
    pub available: BTreeSet<Instrument>,
    /// A verdict on a prediction is two equal readings out of at most three. A statement that an experiment has carried has one yes already.
    pub two_of_three: bool,
    /// True if a statement that survived on reflection alone is not held.
    pub require_experiment: bool,
    /// The number of tries of a statement before it is left alone.
    pub tries: u64,
    /// The time between a trial in vain and the next one, in microseconds; four times as long after
    /// each.
    pub retry_micros: i64,
}

impl Rules {
    /// Returns the time between so many trials in vain and the next one, in microseconds.
    fn pause(&self, vain: u64) -> i64 {
        let shift = u32::try_from(vain.saturating_sub(1).min(10)).unwrap_or(10);
        self.retry_micros
            .saturating_mul(4_i64.saturating_pow(shift))
    }
}

/// The sum of the events of a statement.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trial {
    /// The claim.
    pub claim: Option<Claim>,
    /// Its derivation.
    pub derived: Option<Derived>,
    /// The readings of the trial under way, behind those by which earlier ones refuted it.
    pub readings: Vec<Reading>,
    /// The number of readings that are of earlier trials.
    earlier: usize,
    /// The instrument of the yes with which the list of a statement begins that was held before it was refuted.
    stood: Option<Instrument>,
    /// The last word on it.
    pub judged: Option<Judged>,
    /// True if it is tested again for its age and use.
    pub is_retest: bool,
    /// The places of the predictions, from 0, of which people said that they do not know, since something new was said for it.
    pub unknown: BTreeSet<usize>,
}

/// Something that was said of a statement.
#[derive(Debug, Clone, PartialEq, Fact)]
pub enum News {
    /// Something is claimed: it is to be tried before it is held to be so.
    #[fact(name = "statement-claimed", tags("claimed"), text = claim.text)]
    Claimed(
        /// Text; source: by, seqs, quote, word: it counts as the person's own; premises: the statements it is derived from; root: the event
        /// from outside that a turn goes back to which claims it.
        #[fact(name = "claim", bound = claim, json)]
        Claim,
    ),
    /// The consequences of a claim, and the way in which each prediction is to be tested.
    #[fact(name = "statement-derived", tags("derived"), text = derived.said())]
    Derived(
        /// Triple, valid, predictions, rejected: those that were not taken, and why.
        #[fact(name = "derived", bound = derived, json)]
        Derived,
    ),
    /// An instrument said whether a prediction is so, or could not.
    #[fact(name = "statement-read", tags("read", "yes|no|none|asked" = reading.answer.as_str()),
           text = reading.said())]
    Read(
        /// Prediction (from 0), instrument, choice, answer, note, quote, source, later, until, broke.
        #[fact(name = "reading", bound = reading, json)]
        Reading,
    ),
    /// The outcome of a statement, by a trial or without one. One that was refused, or joined to
    /// another, is gone.
    #[fact(name = "statement-judged",
           tags("judged",
                "proposed|surviving|contested|untested|falsified|ended|retracted|refused|joined" = judged.outcome.as_str(),
                "retest?" = judged.retest > 0),
           source = judged.by.as_ref().map_or(Source::Internal, |_| Source::User),
           text = format!("{}: {}", judged.outcome.as_str(), judged.reason))]
    Judged(
        /// Outcome, reason, valid, carried, survived, tries, breaks, reopened, due, others, by,
        /// tried, available, testable, retest: calls at
        /// most.
        #[fact(name = "judged", bound = judged, json)]
        Judged,
    ),
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Derive the consequences of the claim.
    Derive,
    /// Read an instrument: this reading begins.
    Read(Reading),
    /// Nothing before an answer, or this time.
    Wait(Timestamp),
    /// A person did not answer in time.
    Expired {
        /// About this prediction.
        prediction: usize,
    },
    /// The trial is over.
    Judge(Found),
}

/// The result of readings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Every prediction has a yes.
    Survives,
    /// This prediction has a no.
    Falsified(usize),
    /// The statement was so, and is not any more.
    Ended(usize, Later),
    /// Some predictions have no answer.
    Undecided,
    /// Some predictions have no answer because something broke on the way.
    Broken,
}

/// Returns the verdict on a prediction: a yes where more readings say yes than no. Reflection's count only where no experiment
/// has read; none: nothing has.
pub fn count(answers: &[(Instrument, bool)]) -> Option<bool> {
    let is_tested = answers.iter().any(|(by, _)| by.is_experiment());
    let counted = answers
        .iter()
        .filter(|(by, _)| by.is_experiment() || !is_tested);
    let votes = counted.map(|(_, is_yes)| if *is_yes { 1 } else { -1 });
    (!answers.is_empty()).then(|| votes.sum::<i32>() > 0)
}

impl Trial {
    /// The fold.
    pub fn apply(&mut self, news: News) {
        match news {
            News::Claimed(claim) => self.claim = Some(claim),
            News::Derived(derived) => self.derived = Some(derived),
            News::Read(reading) => {
                // An answer takes the place of its question.
                let is_asked = |it: &Reading| {
                    it.answer == Answer::Asked
                        && (it.prediction, it.instrument)
                            == (reading.prediction, reading.instrument)
                };
                self.readings.retain(|it| !is_asked(it));
                self.unknown
                    .extend(reading.is_unknown_to_people().then_some(reading.prediction));
                self.readings.push(reading);
            }
            News::Judged(judged) => {
                let is_same = judged.outcome == Outcome::Is(self.status());
                let goes_on = judged.tries + judged.breaks > 0 && judged.tried && is_same;
                let is_held = |outcome| matches!(outcome, Outcome::Is(status) if status.is_held());
                // A word from elsewhere on what is held, as that another one contradicts it, ends no trial of it.
                let is_aside = !judged.tried && self.status().is_held() && is_held(judged.outcome);
                // Of a trial that broke nothing is read again but what broke.
                let says = |it: &Reading| match it.answer {
                    Answer::Yes | Answer::No => true,
                    Answer::None => judged.breaks > 0 && !it.broke,
                    Answer::Asked => false,
                };
                // What is tested again is read anew.
                self.is_retest =
                    judged.retest > 0 || is_aside && self.is_retest && judged.due.is_some();
                // Whatever is claimed again meets the no's of its earlier trials.
                let is_refuted = judged.outcome == Outcome::Is(Status::Falsified);
                let is_open = matches!(self.status(), Status::Proposed | Status::Falsified);
                let is_word = is_open && !judged.tried && is_same;
                let goes_on_with = goes_on || is_word || is_refuted;
                let kept =
                    |it: &Reading| judged.retest == 0 && (is_aside || goes_on_with && says(it));
                self.readings.retain(kept);
                if !goes_on && !is_aside {
                    self.earlier = self.readings.len() * usize::from(is_refuted || is_word);
                }
                let stood = self.carried().first().copied().or(self.stood);
                self.stood = stood.filter(|_| is_refuted);
                self.judged = Some(judged);
            }
        }
    }

    /// A source claims it, too, or with other words: people may know of that.
    pub fn sourced(&mut self) {
        self.unknown.clear();
    }

    /// Returns the status of the statement now.
    pub fn status(&self) -> Status {
        match self.judged.as_ref().map(|judged| judged.outcome) {
            Some(Outcome::Is(status)) => status,
            _ => Status::Proposed,
        }
    }

    /// Returns the statement as an edge of a graph, if it is one.
    pub fn triple(&self) -> Option<&Triple> {
        self.derived.as_ref()?.triple.as_ref()
    }

    /// When it is said to hold.
    pub fn valid(&self) -> Valid {
        let derived = self.derived.as_ref().map(|derived| derived.valid);
        let judged = self.judged.as_ref().map(|judged| judged.valid);
        judged.or(derived).unwrap_or_default()
    }

    /// The instruments that carried it so far.
    fn carried(&self) -> &[Instrument] {
        match &self.judged {
            Some(judged) if self.status().is_held() => &judged.carried,
            _ => &[],
        }
    }

    /// The instruments that had their say: those that carried it, and of a refuted one those that
    /// there were.
    fn spoken(&self) -> &[Instrument] {
        match &self.judged {
            Some(judged) if self.status() == Status::Falsified => &judged.available,
            _ => self.carried(),
        }
    }

    /// The readings of a prediction that count. An instrument other than those that carried it has
    /// to test it: the same one may only have erred this time.
    fn said(&self, prediction: usize) -> impl Iterator<Item = &Reading> {
        let of = self
            .readings
            .iter()
            .filter(move |it| it.prediction == prediction);
        let said = of.filter(|it| it.answer != Answer::Asked && !it.is_unanswered());
        said.filter(|it| !self.carried().contains(&it.instrument))
    }

    /// The instrument of the yes with which lists begin: the one that carried the statement until its last verdict, or still does.
    fn before(&self) -> Option<Instrument> {
        self.carried().first().copied().or(self.stood)
    }

    /// The answers on a prediction over all its trials. A held statement begins anew, with one yes
    /// for the verdict so far.
    fn answers(&self, prediction: usize) -> Vec<(Instrument, bool)> {
        let before = self.before().map(|it| (it, true));
        let said = self.said(prediction).filter_map(|it| match it.answer {
            Answer::Yes => Some((it.instrument, true)),
            Answer::No => Some((it.instrument, false)),
            Answer::None | Answer::Asked => None,
        });
        before.into_iter().chain(said).collect()
    }

    /// Returns the answer of a prediction's readings; none: another reading is needed. A trial
    /// stops reading where the rest cannot change the count.
    fn answer(&self, (at, prediction): (usize, &Prediction), rules: &Rules) -> Option<Answer> {
        let answers = self.answers(at);
        let said = self.said(at).count();
        let earlier = self.readings.iter().take(self.earlier);
        let earlier = earlier.filter(|it| it.prediction == at).count();
        let own = said - earlier;
        let told = answers.len() - usize::from(self.before().is_some()) - earlier;
        // An experiment's verdict so far is one of the three.
        let is_tested = self.carried().first().is_some_and(|it| it.is_experiment());
        let most = match rules.two_of_three {
            true => 3 - usize::from(is_tested),
            false => 1,
        };
        if earlier > 0 && told == 0 {
            // A yes of before stays; what else is tried again has an answer of its own, or none.
            let is_settled = self.status() == Status::Falsified || !rules.two_of_three;
            return match count(&answers) == Some(true) && is_settled {
                true => Some(Answer::Yes),
                false => (own >= most).then_some(Answer::None),
            };
        }
        let chosen = self.choice((at, prediction), rules);
        let next = chosen.map_or(Instrument::Knowledge, |(instrument, _)| instrument);
        let with = |is_yes| {
            let left = std::iter::repeat_n((next, is_yes), most.saturating_sub(told));
            count(&answers.iter().copied().chain(left).collect::<Vec<_>>())
        };
        match (with(true), with(false)) {
            (Some(true), Some(true)) => Some(Answer::Yes),
            (Some(false), Some(false)) => Some(Answer::No),
            _ => (own >= most).then_some(Answer::None),
        }
    }

    /// Returns the step to take now.
    pub fn next(&self, rules: &Rules, now: Timestamp) -> Step {
        let Some(derived) = &self.derived else {
            return Step::Derive;
        };
        let mut is_carried = false;
        let mut is_open = false;
        for (at, prediction) in derived.predictions.iter().enumerate() {
            match self.answer((at, prediction), rules) {
                Some(Answer::Yes) => is_carried = true,
                Some(Answer::No) => return Step::Judge(self.refuted(at)),
                Some(Answer::None | Answer::Asked) => is_open = true,
                None => {
                    let is_asked =
                        |it: &&Reading| it.prediction == at && it.answer == Answer::Asked;
                    let asked = self.readings.iter().find(is_asked);
                    match asked.and_then(|it| it.until) {
                        Some(until) if until <= now => return Step::Expired { prediction: at },
                        Some(until) => return Step::Wait(until),
                        None => {}
                    }
                    if let Some((instrument, choice)) = self.choice((at, prediction), rules) {
                        return Step::Read(Reading::begun(at, instrument, choice));
                    }
                    is_open |= !self.stands(at);
                }
            }
        }
        Step::Judge(match self.readings.iter().any(|it| it.broke) {
            _ if is_carried && !is_open => Found::Survives,
            true => Found::Broken,
            false => Found::Undecided,
        })
    }

    /// Returns the instrument that reads a prediction now, and why; none: there is none that may. A
    /// held statement is read by experiments that have not carried it and by nothing else,
    /// whichever there were when its test was begun. Reflection decides only where no experiment
    /// could. Where people do not know, it knows no better, and a prediction that an experiment has
    /// answered waits for an experiment, though that is gone for now.
    fn choice(
        &self,
        (at, prediction): (usize, &Prediction),
        rules: &Rules,
    ) -> Option<(Instrument, String)> {
        let judged = self.judged.as_ref();
        let vain = judged.map_or(0, |judged| judged.tries + judged.breaks);
        let chosen = chosen(prediction, &self.available(at, rules), self.spoken(), vain);
        let is_reflection = chosen.0 == Instrument::Reflection;
        let is_barred = match self.status().is_held() {
            true => is_reflection || self.carried().contains(&chosen.0),
            false => {
                is_reflection && (self.unknown.contains(&at) || self.is_answered_by_experiment(at))
            }
        };
        (!is_barred).then_some(chosen)
    }

    fn is_answered_by_experiment(&self, prediction: usize) -> bool {
        let mut said = self
            .said(prediction)
            .filter(|it| it.instrument.is_experiment());
        said.any(|it| matches!(it.answer, Answer::Yes | Answer::No))
    }

    /// Returns true if an instrument that has not carried it can test the held statement now.
    pub fn has_another(&self, rules: &Rules) -> bool {
        let predictions = self.derived.iter().flat_map(|it| &it.predictions);
        let mut all = predictions.enumerate();
        all.any(|of| self.choice(of, rules).is_some())
    }

    /// Returns true if the carrying instruments are the only ones with a say on a prediction:
    /// nothing else has read it.
    fn stands(&self, prediction: usize) -> bool {
        let is_read = |it: &Reading| it.prediction == prediction;
        !self.carried().is_empty() && !self.readings.iter().any(is_read)
    }

    /// Returns the instruments for a prediction. People that did not answer are not asked again in
    /// the same trial. People that do not know are not asked before they may have learned.
    fn available(&self, prediction: usize, rules: &Rules) -> BTreeSet<Instrument> {
        let is_unanswered = |it: &Reading| it.prediction == prediction && it.is_unanswered();
        let mut available = rules.available.clone();
        if self.unknown.contains(&prediction) || self.readings.iter().any(is_unanswered) {
            available.remove(&Instrument::User);
        }
        available
    }

    /// No's refute a statement, unless one of them says that another value has come since: it knows more than those that say nothing of it.
    fn refuted(&self, prediction: usize) -> Found {
        let later = |it: &Reading| {
            let later = it.later.clone()?;
            let quote = it.quote.as_deref();
            ends(self.triple(), self.valid(), &later, quote).then_some(later)
        };
        let mut no = self.said(prediction).filter(|it| it.answer == Answer::No);
        match no.find_map(later) {
            Some(later) => Found::Ended(prediction, later),
            None => Found::Falsified(prediction),
        }
    }
}
