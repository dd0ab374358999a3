//! The rules of the method that compare: the instruments that test a prediction, the predictions
//! that can be used. Also the statements that say the same, contradict, lose their ground, or hold
//! at a time. Pure; how one trial goes is in `event/trial.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::entity::{Names, normal};
use super::evidence::computes;
use super::statement::{
    Claimant, Instrument, Judged, Later, PREDICTIONS_MAX, Prediction, Status, Triple, Valid, folded,
};
use thinkd_words::time::Timestamp;

/// Returns the instrument for a prediction: an experiment where one can say something, and none
/// that has carried the statement where another one can; after a trial in vain the next one.
/// Reflection where there is no experiment.
pub fn chosen(
    prediction: &Prediction,
    available: &BTreeSet<Instrument>,
    carried: &[Instrument],
    tries: u64,
) -> (Instrument, String) {
    let is_there = |it: &Instrument| available.contains(it) && can(*it, prediction);
    let mut from: Vec<Instrument> = Instrument::ALL.into_iter().filter(is_there).collect();
    if from.iter().any(|it| !carried.contains(it)) {
        from.retain(|it| !carried.contains(it));
    }
    if from.is_empty() {
        let choice =
            "no experiment can say anything of it here: reflection looks for a counterexample";
        return (Instrument::Reflection, choice.into());
    }
    let instrument = from[usize::try_from(tries).unwrap_or(usize::MAX) % from.len()];
    let name = instrument.as_str();
    let which = match tries {
        0 => format!(", and {name} is the first that can say it"),
        tries => format!("; after {tries} in vain it is {name}"),
    };
    let choice = format!("an experiment comes before reflection{which}");
    (instrument, choice)
}

/// Returns whether an instrument can say something of a prediction; reflection always does, and is
/// asked last.
pub fn can(instrument: Instrument, prediction: &Prediction) -> bool {
    match instrument {
        Instrument::Knowledge => prediction.search.is_some(),
        Instrument::Code => prediction.code.is_some(),
        Instrument::User => prediction.question.is_some(),
        Instrument::Reflection => false,
    }
}

/// Returns whether a statement waits for an instrument to come: nothing but reflection carries it
/// or refuted it, or nothing has decided it, and it is not tried any more. `reopenings`: how often
/// one that was refuted is tried again.
pub fn waits_for_an_instrument(
    status: Status,
    judged: &Judged,
    due: Option<Timestamp>,
    reopenings: u64,
) -> bool {
    let had_none = |of: &Vec<Instrument>| !of.iter().any(|it| judged.available.contains(it));
    let is_open = match status {
        Status::Proposed => true,
        Status::Falsified => {
            judged.testable.as_ref().is_some_and(had_none) && judged.reopened < reopenings
        }
        status => status.is_held() && judged.carried == [Instrument::Reflection],
    };
    is_open && due.is_none()
}

/// Returns the instruments beside reflection that can say something of predictions.
pub fn testable(predictions: &[Prediction]) -> Vec<Instrument> {
    let says = |it: &Instrument| predictions.iter().any(|of| can(*it, of));
    Instrument::ALL.into_iter().filter(says).collect()
}

/// Returns the first of these that there was not when a statement was tried last, and that can say
/// something of it. `testable`: those that can.
pub fn new_for(
    judged: &Judged,
    testable: &[Instrument],
    available: &BTreeSet<Instrument>,
) -> Option<Instrument> {
    let is_new = |it: &Instrument| !judged.available.contains(it) && testable.contains(it);
    available.iter().copied().find(is_new)
}

/// Returns true if a user that may answer did not claim it: a claimant is no instrument for the
/// claim.
pub fn may_answer(claimed: &[Claimant], user: Option<&str>) -> bool {
    claimed.iter().all(|by| match (by, user) {
        (Claimant::Mind, _) => true,
        (Claimant::User { name: Some(name) }, Some(user)) => name != user,
        // Of two without a name nobody knows whether they are two.
        (Claimant::User { .. }, _) => false,
    })
}

/// Returns the predictions that can be used, and why the others cannot. `valid`: the time at which
/// they are said to hold; `known`: triples that are held, with their time. A merge of names refuses
/// none: it may be undone, and a refusal stays.
pub fn usable(
    statement: &str,
    predictions: Vec<(Prediction, Option<Triple>)>,
    valid: Valid,
    known: &[(Triple, Valid)],
) -> (Vec<Prediction>, Vec<String>) {
    let (mut taken, mut rejected): (Vec<Prediction>, Vec<String>) = (Vec::new(), Vec::new());
    for (mut prediction, triple) in predictions {
        if prediction.code.take_if(|code| !computes(code)).is_some() {
            let text = &prediction.text;
            rejected.push(format!(
                "the code of \"{text}\": its value is the same whatever is so"
            ));
        }
        match why_useless(statement, (&prediction, triple), (valid, known), &taken) {
            None => taken.push(prediction),
            Some(why) => rejected.push(format!("\"{}\": {why}", prediction.text)),
        }
    }
    (taken, rejected)
}

/// Returns why a prediction cannot be used beside those that were taken.
fn why_useless(
    statement: &str,
    (prediction, triple): (&Prediction, Option<Triple>),
    (valid, known): (Valid, &[(Triple, Valid)]),
    taken: &[Prediction],
) -> Option<String> {
    let text = folded(&prediction.text);
    let fails_if = prediction.fails_if.trim();
    // Whether its relation has one object at a time, says what is held, not who predicts.
    let predicted = triple.map(|triple| Triple {
        single: false,
        ..triple
    });
    let against = || {
        let one = (predicted.as_ref()?, &valid);
        let is_against =
            |(held, of): &&(Triple, Valid)| contradict(one, (held, of), &Names::default());
        known.iter().find(is_against)
    };
    let why = if text.is_empty() {
        "it says nothing"
    } else if text == folded(statement) {
        "it is the statement again"
    } else if fails_if.is_empty() || folded(fails_if) == text {
        "nothing could refute it"
    } else if taken.iter().any(|it| folded(&it.text) == text) {
        "it is another prediction again"
    } else if let Some((held, _)) = against() {
        let subject = &held.subject;
        let relation = &held.relation;
        let object = &held.object;
        return Some(format!(
            "it is known to be false: {subject} {relation} {object} is held"
        ));
    } else if taken.len() == PREDICTIONS_MAX {
        return Some(format!("there are {PREDICTIONS_MAX} already"));
    } else {
        return None;
    };
    Some(why.to_owned())
}

/// Returns true if two triples say the same of the same, by the names that they were said with:
/// joined ones stay so when names are one no more.
pub fn is_same(one: &Triple, other: &Triple) -> bool {
    is_same_by(one, other, &Names::default())
}

/// Returns whether two triples say the same of the same. `names`: which are one.
pub fn is_same_by(one: &Triple, other: &Triple, names: &Names) -> bool {
    is_about_the_same(one, other, names) && names.is_one(&one.object, &other.object)
}

fn is_about_the_same(one: &Triple, other: &Triple, names: &Names) -> bool {
    folded(&one.relation) == folded(&other.relation) && names.is_one(&one.subject, &other.subject)
}

/// Returns whether two statements cannot both hold, by their structure alone. `names`: which are
/// one.
pub fn contradict(one: (&Triple, &Valid), other: (&Triple, &Valid), names: &Names) -> bool {
    let is_against = || Value::of(one.0, *one.1).contradicts(&Value::of(other.0, *other.1), names);
    is_about_the_same(one.0, other.0, names) && is_against()
}

/// The value that a statement gives a subject and a relation, ready to be compared with those of
/// others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    object: String,
    single: bool,
    valid: Valid,
}

impl Value {
    /// Returns that of a triple at a time.
    pub fn of(triple: &Triple, valid: Valid) -> Self {
        Self {
            object: normal(&triple.object),
            single: triple.single,
            valid,
        }
    }

    /// Returns whether both cannot hold. They are about the same subject and relation. `names`:
    /// which are one.
    pub fn contradicts(&self, other: &Self, names: &Names) -> bool {
        (self.single || other.single)
            && self.valid.overlaps(&other.valid)
            && names.entity(&self.object) != names.entity(&other.object)
    }
}

/// Returns whether a later value ends a statement instead of refuting it: one of the same subject
/// and relation, in the words of the source, that begins after the statement did.
pub fn ends(triple: Option<&Triple>, valid: Valid, later: &Later, quote: Option<&str>) -> bool {
    let Some(triple) = triple.filter(|triple| triple.single) else {
        return false;
    };
    let object = folded(&later.object);
    let is_quoted = quote.is_some_and(|quote| folded(quote).contains(&object));
    let is_later = match (valid.from, later.from) {
        (Some(from), Some(since)) => since > from,
        _ => true,
    };
    is_quoted && is_later && !object.is_empty() && object != folded(&triple.object)
}

/// A statement and the ones it is derived from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its id.
    pub id: String,
    /// The statements that it is derived from.
    pub premises: Vec<String>,
    /// True if it is held.
    pub is_held: bool,
}

/// Returns the statements that lose their ground with one: held and derived from it, at any depth,
/// with any statements between, each once. Those derived from one of them stand before it: where
/// the work is cut off, nothing is held on a statement that fell, and the rest is found again.
pub fn shaken(withdrawn: &str, links: &[Link]) -> Vec<String> {
    let mut of: BTreeMap<&str, Vec<&Link>> = BTreeMap::new();
    for link in links {
        for premise in &link.premises {
            of.entry(premise).or_default().push(link);
        }
    }
    let next = |id: &str, at: usize| of.get(id).and_then(|links| links.get(at)).copied();
    let mut seen = BTreeSet::from([withdrawn]);
    let mut shaken = Vec::new();
    // The way down, with how many of its branches have been taken at each step.
    let mut way: Vec<(&str, usize, bool)> = vec![(withdrawn, 0, false)];
    while let Some((id, taken, is_held)) = way.last_mut() {
        *taken += 1;
        match next(id, *taken - 1) {
            Some(link) if seen.insert(&link.id) => way.push((&link.id, 0, link.is_held)),
            Some(_) => {}
            None => {
                shaken.extend(is_held.then(|| (*id).to_owned()));
                way.pop();
            }
        }
    }
    shaken
}

/// Returns the statements that give the value of a subject and a relation at a time, of those that
/// are held and about both. Of a single-valued relation these are the ones that began last, in
/// whichever order they came. More than one: they contradict each other.
pub fn current<T>(held: Vec<T>, of: impl Fn(&T) -> (bool, Valid), at: Timestamp) -> Vec<T> {
    let mut valid: Vec<T> = held.into_iter().filter(|it| of(it).1.is_at(at)).collect();
    let is_single = valid.iter().any(|it| of(it).0);
    let last = valid.iter().map(|it| of(it).1.from).max().flatten();
    valid.retain(|it| !is_single || of(it).1.from == last);
    valid
}
