//! The rules of the method by themselves: properties over any readings, times and derivations.

use std::collections::BTreeSet;

use proptest::prelude::*;
use thinkd_event::method::{self, Link};
use thinkd_event::statement::{
    Answer, Claim, Claimant, Derived, Instrument, Judged, Later, Outcome, Prediction, Reading,
    Source, Status, Triple, Valid,
};
use thinkd_event::trial::{Found, News, Rules, Step, Trial, count};
use thinkd_words::time::Timestamp;

fn at(time: i64) -> Timestamp {
    Timestamp::from_micros(time)
}

fn rules(two_of_three: bool) -> Rules {
    let available = [Instrument::Reflection].into();
    Rules {
        available,
        two_of_three,
        require_experiment: false,
        tries: 3,
        retry_micros: 1000,
    }
}

fn predicted(at: usize) -> Prediction {
    Prediction {
        text: format!("p{at}"),
        fails_if: "not".into(),
        search: None,
        code: None,
        question: None,
        instrument: Instrument::Reflection,
        reason: String::new(),
    }
}

fn triple(subject: &str, object: &str) -> Triple {
    Triple {
        subject: subject.into(),
        relation: "is at".into(),
        object: object.into(),
        single: true,
    }
}

fn begun(predictions: usize) -> Trial {
    let mut trial = Trial::default();
    let source = Source {
        by: Claimant::Mind,
        seqs: Vec::new(),
        quote: None,
        word: false,
    };
    trial.apply(News::Claimed(Claim {
        text: "it is so".into(),
        source,
        premises: Vec::new(),
        root: None,
    }));
    let predictions = (0..predictions).map(predicted).collect();
    let valid = Valid::default();
    trial.apply(News::Derived(Derived {
        triple: Some(triple("a", "b")),
        valid,
        predictions,
        rejected: Vec::new(),
    }));
    trial
}

/// Sets the means by which its predictions can be tested: search, code, question.
fn mean(trial: &mut Trial, means: &[[bool; 3]]) {
    let predictions = &mut trial.derived.as_mut().unwrap().predictions;
    for (prediction, [search, code, question]) in predictions.iter_mut().zip(means) {
        prediction.search = search.then(|| "a".to_owned());
        prediction.code = code.then(|| "1".to_owned());
        prediction.question = question.then(|| "is it?".to_owned());
    }
}

/// Returns those of the experiments that are there, and reflection.
fn with(there: &[bool]) -> BTreeSet<Instrument> {
    let all = Instrument::ALL
        .into_iter()
        .zip(there)
        .filter(|(_, is_there)| **is_there)
        .map(|(it, _)| it);
    all.chain([Instrument::Reflection]).collect()
}

fn reading(prediction: usize, instrument: Instrument, answer: Answer) -> Reading {
    Reading {
        prediction,
        instrument,
        choice: String::new(),
        answer,
        note: "so".into(),
        quote: None,
        source: None,
        later: None,
        until: None,
        broke: false,
    }
}

/// Reads as the trial asks, with the answers as they come, until it is over; and how many readings that took.
fn run(
    trial: &mut Trial,
    rules: &Rules,
    answers: &mut impl Iterator<Item = Answer>,
) -> (Found, Vec<(usize, Answer)>) {
    let mut read = Vec::new();
    loop {
        match trial.next(rules, at(0)) {
            Step::Read(Reading {
                prediction,
                instrument,
                ..
            }) => {
                let answer = answers.next().unwrap();
                read.push((prediction, answer));
                trial.apply(News::Read(reading(prediction, instrument, answer)));
            }
            Step::Judge(found) => return (found, read),
            other => panic!("{other:?}"),
        }
    }
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![Just(Answer::Yes), Just(Answer::No), Just(Answer::None)]
}

/// The readings of a prediction, and its verdict.
type Row = (Vec<(Instrument, bool)>, Option<bool>);

/// The rows of the table of truth.
fn table_of_truth() -> Vec<Row> {
    let page = std::fs::read_to_string(format!("{}/docs/memory.md", kit::ROOT)).unwrap();
    let (_, table) = page.split_once("| readings so far | verdict |").unwrap();
    let lines = table.lines().skip(2);
    let rows = lines.map_while(|line| {
        line.strip_prefix("| ")?
            .strip_suffix(" |")?
            .split_once(" | ")
    });
    let answer = |said: &str| {
        let (by, answer) = said.trim().split_once(' ')?;
        let is_it = |it: &Instrument| it.as_str() == by;
        Some((Instrument::ALL.into_iter().find(is_it)?, answer == "yes"))
    };
    rows.map(|(readings, verdict)| {
        let readings = readings.split(',').filter_map(answer).collect();
        (
            readings,
            ["no", "yes"]
                .iter()
                .position(|it| verdict.starts_with(it))
                .map(|at| at == 1),
        )
    })
    .collect()
}

#[test]
fn d1_43_the_table_of_truth_in_the_docs_is_how_readings_are_counted() {
    let rows = table_of_truth();
    assert!(rows.len() >= 8, "{rows:?}");
    for (readings, verdict) in rows {
        assert_eq!(count(&readings), verdict, "{readings:?}");
    }
}

proptest! {
    // D1.43, D1.44: a yes for every prediction survives, any no falsifies, all else is undecided; and no reading is taken in vain.
    #[test]
    fn verdicts_follow_from_readings(count in 1usize..=3, two in any::<bool>(), answers in prop::collection::vec(answer(), 9)) {
        let mut trial = begun(count);
        let rules = rules(two);
        let (found, read) = run(&mut trial, &rules, &mut answers.into_iter());
        let need = if two { 2 } else { 1 };
        let most = if two { 3 } else { 1 };
        let of = |prediction: usize, answer: Answer| read.iter().filter(|it| **it == (prediction, answer)).count();
        let refuted = (0..count).find(|it| of(*it, Answer::No) >= need);
        let carried = (0..count).all(|it| of(it, Answer::Yes) >= need);
        match found {
            Found::Falsified(at) => prop_assert_eq!(Some(at), refuted),
            Found::Survives => prop_assert!(carried && refuted.is_none()),
            Found::Undecided => prop_assert!(!carried && refuted.is_none()),
            Found::Ended(..) | Found::Broken => prop_assert!(false, "nothing later was read, and nothing broke"),
        }
        for it in 0..count {
            let readings = read.iter().filter(|(prediction, _)| *prediction == it).count();
            prop_assert!(readings <= most);
            prop_assert!(refuted.is_none_or(|refuted| it <= refuted) || readings == 0, "what comes behind a no is not needed");
        }
        let judged = trial.judged(&found, &rules, at(5));
        let expected = match found {
            Found::Survives => Status::Surviving,
            Found::Falsified(_) => Status::Falsified,
            _ => Status::Proposed,
        };
        prop_assert_eq!(judged.outcome, Outcome::Is(expected));
        prop_assert_eq!(judged.due.is_some(), expected == Status::Proposed, "only what is undecided is tried again");
    }

    // D1.43: one count, in whatever order: more yes than no, and nothing that reflection says beside an experiment.
    #[test]
    fn d1_43_the_verdict_is_one_count_whatever_the_order(said in prop::collection::vec((0usize..4, any::<bool>()), 0..12)) {
        let readings: Vec<(Instrument, bool)> = said.iter().map(|(at, is_yes)| (Instrument::ALL[*at], *is_yes)).collect();
        let of = |is_yes: bool, experiments: bool| {
            readings.iter().filter(|(by, it)| *it == is_yes && (*by != Instrument::Reflection) == experiments).count()
        };
        let is_tested = of(true, true) + of(false, true) > 0;
        let expected = (!readings.is_empty()).then(|| of(true, is_tested) > of(false, is_tested));
        prop_assert_eq!(count(&readings), expected);
        let mut reversed = readings;
        reversed.reverse();
        prop_assert_eq!(count(&reversed), expected);
    }

    // D1.43: a lie that is said again and again meets the no's of before: it survives where all readings of each prediction, over all
    // its trials, say yes more often than no.
    #[test]
    fn d1_43_what_was_refuted_meets_its_old_readings_when_it_is_claimed_again(
        predictions in 1usize..=3,
        two in any::<bool>(),
        answers in prop::collection::vec(any::<bool>(), 90),
    ) {
        let mut trial = begun(predictions);
        let mut rules = rules(two);
        mean(&mut trial, &[[true, false, false]; 3]);
        rules.available.insert(Instrument::Knowledge);
        let mut answers = answers.into_iter().map(|is_yes| if is_yes { Answer::Yes } else { Answer::No });
        let mut all = Vec::new();
        for _ in 0..4 {
            let before = all.len();
            let (found, read) = run(&mut trial, &rules, &mut answers);
            all.extend(read);
            let of = |at: usize, answer: Answer| all.iter().filter(|it| **it == (at, answer)).count();
            let is_carried = (0..predictions).all(|at| of(at, Answer::Yes) > of(at, Answer::No));
            prop_assert_eq!(found == Found::Survives, is_carried, "{:?}", all);
            let most = predictions * if two { 3 } else { 1 };
            prop_assert!(all.len() - before <= most);
            let judged = trial.judged(&found, &rules, at(1));
            let due = Some(at(2));
            trial.apply(News::Judged(judged.clone()));
            if is_carried {
                break;
            }
            trial.apply(News::Judged(Judged { tried: false, due, ..judged }));
        }
    }

    // A reading without an answer refutes nothing again, and a statement that fell keeps the yes that had carried it.
    #[test]
    fn a_reopened_trial_without_an_answer_goes_on_later(two in any::<bool>(), broke in any::<bool>()) {
        let mut trial = begun(1);
        let mut rules = rules(two);
        mean(&mut trial, &[[true, true, false]]);
        rules.available = BTreeSet::from([Instrument::Knowledge]);
        let (found, _) = run(&mut trial, &rules, &mut std::iter::repeat(Answer::No));
        prop_assert_eq!(&found, &Found::Falsified(0));
        let refuted = trial.judged(&found, &rules, at(1));
        trial.apply(News::Judged(refuted.clone()));
        trial.apply(News::Judged(Judged { tried: false, due: Some(at(2)), ..refuted }));
        while let Step::Read(Reading { prediction, instrument, .. }) = trial.next(&rules, at(2)) {
            trial.apply(News::Read(Reading { broke, ..reading(prediction, instrument, Answer::None) }));
        }
        let step = trial.next(&rules, at(2));
        let found = if broke { Found::Broken } else { Found::Undecided };
        prop_assert_eq!(&step, &Step::Judge(found.clone()));
        let judged = trial.judged(&found, &rules, at(3));
        prop_assert_eq!(judged.outcome, Outcome::Is(Status::Falsified));
        prop_assert!(judged.due.is_some());
    }

    #[test]
    fn what_fell_keeps_the_yes_that_had_carried_it(answer in any::<bool>()) {
        let mut trial = begun(1);
        let mut rules = rules(false);
        mean(&mut trial, &[[true, true, false]]);
        rules.available = BTreeSet::from([Instrument::Knowledge]);
        let (found, _) = run(&mut trial, &rules, &mut std::iter::repeat(Answer::Yes));
        trial.apply(News::Judged(trial.judged(&found, &rules, at(1))));
        rules.available = BTreeSet::from([Instrument::Code]);
        let (found, _) = run(&mut trial, &rules, &mut std::iter::repeat(Answer::No));
        prop_assert_eq!(&found, &Found::Falsified(0), "one yes, one no");
        let refuted = trial.judged(&found, &rules, at(2));
        trial.apply(News::Judged(refuted.clone()));
        trial.apply(News::Judged(Judged { tried: false, due: Some(at(3)), ..refuted }));
        let said = if answer { Answer::Yes } else { Answer::No };
        let (found, _) = run(&mut trial, &rules, &mut std::iter::repeat(said));
        prop_assert_eq!(found == Found::Survives, answer, "two yes, one no");
    }

    // What is held falls only by another instrument than those that carried it.
    #[test]
    fn what_is_held_does_not_fall_by_what_carried_it(count in 1usize..=3, answers in prop::collection::vec(answer(), 9)) {
        let mut trial = begun(count);
        let rules = rules(false);
        let (found, _) = run(&mut trial, &rules, &mut std::iter::repeat(Answer::Yes));
        let survived = trial.judged(&found, &rules, at(1));
        trial.apply(News::Judged(survived));
        prop_assert_eq!(trial.status(), Status::Surviving);
        let (found, read) = run(&mut trial, &rules, &mut answers.into_iter());
        prop_assert!(!matches!(found, Found::Falsified(_)), "{read:?}");
        let judged = trial.judged(&found, &rules, at(2));
        prop_assert_eq!(judged.outcome, Outcome::Is(Status::Surviving));
        // The control: another instrument refutes it.
        trial.apply(News::Judged(judged));
        trial.readings.clear();
        trial.apply(News::Read(reading(0, Instrument::Code, Answer::No)));
        prop_assert_eq!(trial.next(&rules, at(3)), Step::Judge(Found::Falsified(0)));
    }

    // What an experiment has carried has one yes of the three: another one refutes it with two, and carries it on with one.
    #[test]
    fn what_was_carried_is_one_reading_of_three_when_it_is_tested_again(count in 1usize..=3, by_reflection in any::<bool>(), answers in prop::collection::vec(answer(), 9)) {
        let mut trial = begun(count);
        let mut rules = rules(true);
        for prediction in &mut trial.derived.as_mut().unwrap().predictions {
            (prediction.search, prediction.code) = (Some("a".into()), Some("1".into()));
        }
        rules.available = if by_reflection { BTreeSet::new() } else { BTreeSet::from([Instrument::Knowledge]) };
        let (found, _) = run(&mut trial, &rules, &mut std::iter::repeat(Answer::Yes));
        trial.apply(News::Judged(trial.judged(&found, &rules, at(1))));
        prop_assert_eq!(trial.status(), Status::Surviving);
        rules.available = BTreeSet::from([Instrument::Code]);
        let (found, read) = run(&mut trial, &rules, &mut answers.into_iter());
        // The control: what reflection carried is tested as if for the first time.
        let (need, most) = if by_reflection { (2, 3) } else { (1, 2) };
        let of = |prediction: usize, answer: Answer| read.iter().filter(|it| **it == (prediction, answer)).count();
        let refuted = (0..count).find(|it| of(*it, Answer::No) >= 2);
        let carried = (0..count).all(|it| of(it, Answer::Yes) >= need);
        match found {
            Found::Falsified(at) => prop_assert_eq!(Some(at), refuted),
            Found::Survives => prop_assert!(carried && refuted.is_none(), "{read:?}"),
            Found::Undecided => prop_assert!(!carried && refuted.is_none(), "{read:?}"),
            Found::Ended(..) | Found::Broken => prop_assert!(false, "nothing later was read, and nothing broke"),
        }
        for it in 0..count {
            prop_assert!(read.iter().filter(|(prediction, _)| *prediction == it).count() <= most, "{read:?}");
        }
    }

    // Reflection decides only what no experiment could: it does not outvote one that is gone before it has read twice.
    #[test]
    fn d1_42_reflection_reads_nothing_that_an_experiment_has_answered(
        means in prop::collection::vec(any::<[bool; 3]>(), 1..=3),
        steps in prop::collection::vec((any::<[bool; 3]>(), answer()), 60),
    ) {
        let mut trial = begun(means.len());
        mean(&mut trial, &means);
        for (there, answer) in steps {
            let rules = Rules { available: with(&there), ..rules(true) };
            match trial.next(&rules, at(3)) {
                Step::Read(Reading { instrument, prediction, .. }) => {
                    let is_answer = |it: &Reading| it.prediction == prediction && it.instrument != Instrument::Reflection && it.answer != Answer::None;
                    let answered = trial.readings.iter().any(is_answer);
                    prop_assert!(instrument != Instrument::Reflection || !answered, "{:?}", trial.readings);
                    trial.apply(News::Read(reading(prediction, instrument, answer)));
                }
                Step::Judge(found) => {
                    let judged = trial.judged(&found, &rules, at(4));
                    if judged.due.is_none() {
                        return Ok(());
                    }
                    trial.apply(News::Judged(judged));
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }

    // What is held is read by experiments that have not carried it, and by nothing else, whatever instruments there are at each step and however the
    // configuration changes meanwhile; by these alone it falls or survives once more, and else it stays what it was within its tries.
    #[test]
    fn what_is_held_is_tested_again_by_another_experiment_or_stays_as_it_was(
        means in prop::collection::vec(any::<[bool; 3]>(), 1..=3),
        first in any::<[bool; 4]>(),
        later in prop::collection::vec((any::<[bool; 3]>(), any::<bool>(), answer()), 60),
        is_retest in any::<bool>(),
    ) {
        let mut trial = begun(means.len());
        mean(&mut trial, &means);
        let begin = Rules { available: with(&first[..3]), ..rules(first[3]) };
        let (found, _) = run(&mut trial, &begin, &mut std::iter::repeat(Answer::Yes));
        let survived = trial.judged(&found, &begin, at(1));
        let carried = survived.carried.clone();
        trial.apply(News::Judged(survived.clone()));
        // The word that has it tested again.
        let due = Some(at(2));
        let retest = u64::from(is_retest);
        trial.apply(News::Judged(Judged { tried: false, due, retest, ..survived.clone() }));
        let mut steps = later.into_iter();
        let mut left = 0;
        let mut by = Vec::new();
        loop {
            let Some((there, two, answer)) = steps.next() else { prop_assert!(false, "it goes on and on"); break };
            let rules = Rules { available: with(&there), ..rules(two) };
            match trial.next(&rules, at(3)) {
                Step::Read(Reading { instrument, prediction, .. }) => {
                    prop_assert!(instrument != Instrument::Reflection && !carried.contains(&instrument), "{instrument:?} of {carried:?}");
                    by.push(answer);
                    trial.apply(News::Read(Reading { quote: Some("so".into()), ..reading(prediction, instrument, answer) }));
                }
                Step::Judge(found) => {
                    let judged = trial.judged(&found, &rules, at(4));
                    let is_said = |answer| by.contains(&answer);
                    match judged.outcome {
                        Outcome::Is(Status::Falsified) => prop_assert!(is_said(Answer::No)),
                        Outcome::Is(Status::Surviving) if found == Found::Survives => prop_assert!(is_said(Answer::Yes)),
                        outcome => prop_assert_eq!((outcome, &judged.carried), (Outcome::Is(Status::Surviving), &carried)),
                    }
                    left += 1;
                    prop_assert!(left <= rules.tries);
                    if found != Found::Undecided || judged.due.is_none() {
                        break;
                    }
                    trial.apply(News::Judged(judged));
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }

    // No's that decide end a statement where one of them, at least, says what came later; in whatever order they are read.
    #[test]
    fn a_no_that_says_what_came_later_ends_it_beside_one_that_does_not(said in prop::collection::vec(0usize..3, 3), two in any::<bool>()) {
        let mut trial = begun(1);
        let rules = rules(two);
        let mut no_later = Vec::new();
        for it in said {
            if !matches!(trial.next(&rules, at(9)), Step::Read { .. }) {
                break;
            }
            let later = (it == 2).then(|| Later { object: "C".into(), from: Some(at(5)) });
            let answer = if it == 0 { Answer::Yes } else { Answer::No };
            no_later.extend((it > 0).then_some(later.clone()));
            let quote = Some("it moved to C".to_owned());
            trial.apply(News::Read(Reading { later, quote, ..reading(0, Instrument::Reflection, answer) }));
        }
        let Step::Judge(found) = trial.next(&rules, at(9)) else { panic!("it is over") };
        let is_refuted = no_later.len() >= if two { 2 } else { 1 };
        let is_ended = no_later.iter().any(Option::is_some);
        prop_assert_eq!(matches!(found, Found::Falsified(_)), is_refuted && !is_ended, "{:?}", found);
        prop_assert_eq!(matches!(found, Found::Ended(..)), is_refuted && is_ended, "{:?}", found);
        let valid = trial.judged(&found, &rules, at(9)).valid;
        prop_assert_eq!(valid.to, (is_refuted && is_ended).then(|| at(5)));
    }

    // The trial is its events: cut anywhere and folded anew it goes on the same.
    #[test]
    fn a_trial_cut_anywhere_goes_on_the_same(count in 1usize..=3, two in any::<bool>(), answers in prop::collection::vec(answer(), 9)) {
        let mut whole = begun(count);
        let rules = rules(two);
        let mut news = Vec::new();
        let mut answers = answers.into_iter();
        while let Step::Read(Reading { prediction, instrument, .. }) = whole.next(&rules, at(0)) {
            let read = News::Read(reading(prediction, instrument, answers.next().unwrap()));
            news.push(read.clone());
            whole.apply(read);
        }
        for cut in 0..=news.len() {
            let mut again = begun(count);
            news[..cut].iter().cloned().for_each(|it| again.apply(it));
            let expected = news.get(cut).map(|it| match it {
                News::Read(reading) => (reading.prediction, reading.instrument),
                _ => unreachable!(),
            });
            match again.next(&rules, at(0)) {
                Step::Read(Reading { prediction, instrument, .. }) => prop_assert_eq!(expected, Some((prediction, instrument))),
                step => prop_assert_eq!((expected, step), (None, whole.next(&rules, at(0)))),
            }
        }
    }

    // The same verdicts in any order of arrival give the same answers about any time.
    #[test]
    fn the_current_value_does_not_depend_on_the_order_of_arrival(
        spans in prop::collection::vec((prop::option::of(0i64..20), prop::option::of(0i64..20), any::<bool>()), 1..8),
        order in any::<prop::sample::Index>(),
        time in 0i64..20,
    ) {
        let rows: Vec<(usize, bool, Valid)> = spans
            .iter()
            .enumerate()
            .map(|(id, (from, to, single))| (id, *single, Valid { from: from.map(at), to: to.map(at) }))
            .collect();
        let mut other = rows.clone();
        other.rotate_left(order.index(rows.len()));
        let ids = |rows| {
            let current = method::current(rows, |row: &(usize, bool, Valid)| (row.1, row.2), at(time));
            current.into_iter().map(|row| row.0).collect::<BTreeSet<_>>()
        };
        prop_assert_eq!(ids(rows), ids(other));
    }

    // What is held and derived from what is withdrawn loses its ground to any depth, whatever stands between; nothing else does, and circles end.
    #[test]
    fn ground_is_lost_to_any_depth(edges in prop::collection::vec((0usize..12, 0usize..12), 0..30), held in prop::collection::vec(any::<bool>(), 12)) {
        let links: Vec<Link> = (0..12)
            .map(|id| {
                let premises = edges.iter().filter(|(_, to)| *to == id).map(|(from, _)| from.to_string()).collect();
                Link { id: id.to_string(), premises, is_held: held[id] }
            })
            .collect();
        let mut reached = BTreeSet::from([0usize]);
        while edges.iter().any(|(from, to)| reached.contains(from) && reached.insert(*to)) {}
        reached.retain(|id| *id != 0 && held[*id]);
        let shaken: BTreeSet<usize> = method::shaken("0", &links).iter().map(|id| id.parse().unwrap()).collect();
        prop_assert_eq!(shaken, reached);
    }

    // A retraction that is cut off anywhere is found again from what is left, and nothing is held on what fell already: where nothing is derived from
    // itself, whatever was claimed first.
    #[test]
    fn ground_that_is_lost_in_part_is_lost_whole_when_it_is_said_again(edges in prop::collection::vec((0usize..12, 0usize..12), 0..30), order in Just((1usize..12).collect::<Vec<_>>()).prop_shuffle(), cut in any::<prop::sample::Index>()) {
        // Their ids say nothing of what is derived from what.
        let name = |at: usize| if at == 0 { "0".to_owned() } else { order[at - 1].to_string() };
        let mut links: Vec<Link> = (0..12)
            .map(|id| {
                let premises = edges.iter().filter(|(from, to)| *to == id && from < to).map(|(from, _)| name(*from));
                Link { id: name(id), premises: premises.collect(), is_held: true }
            })
            .collect();
        links.sort_by(|one, other| one.id.cmp(&other.id));
        let whole = method::shaken("0", &links);
        let done = cut.index(whole.len() + 1);
        for link in &mut links {
            link.is_held = !whole[..done].contains(&link.id);
        }
        for link in links.iter().filter(|link| link.is_held && link.id != "0") {
            prop_assert!(link.premises.iter().all(|it| !whole[..done].contains(it)), "{link:?} stands on {:?}", &whole[..done]);
        }
        prop_assert_eq!(method::shaken("0", &links), &whole[done..]);
    }

    // A prediction is known to be false exactly where something held says otherwise of the same, at a time of the claim, and has one value at a time.
    #[test]
    fn predictions_are_held_against_what_is_held_of_their_time(
        held in prop::collection::vec((0usize..2, 0usize..3, any::<bool>(), prop::option::of(0i64..6), prop::option::of(0i64..6)), 0..5),
        object in 0usize..3,
        single in any::<bool>(),
        from in prop::option::of(0i64..6),
        to in prop::option::of(0i64..6),
    ) {
        let valid = Valid { from: from.map(at), to: to.map(at) };
        let named = |subject: usize, object: usize, single| Triple { single, ..triple(&format!("s{subject}"), &format!("o{object}")) };
        let known: Vec<(Triple, Valid)> = held
            .iter()
            .map(|(subject, object, single, from, to)| (named(*subject, *object, *single), Valid { from: from.map(at), to: to.map(at) }))
            .collect();
        let is_false = known.iter().any(|(it, time)| it.subject == "s0" && it.single && it.object != format!("o{object}") && time.overlaps(&valid));
        let (taken, rejected) = method::usable("it is so", vec![(predicted(0), Some(named(0, object, single)))], valid, &known);
        prop_assert_eq!((taken.is_empty(), rejected.len()), (is_false, usize::from(is_false)));
    }

    // Two times overlap exactly where some moment is in both.
    #[test]
    fn times_overlap_where_a_moment_is_in_both(a in prop::option::of(0i64..6), b in prop::option::of(0i64..6), c in prop::option::of(0i64..6), d in prop::option::of(0i64..6)) {
        let one = Valid { from: a.map(at), to: b.map(at) };
        let other = Valid { from: c.map(at), to: d.map(at) };
        let is_time = |valid: &Valid| valid.from.zip(valid.to).is_none_or(|(from, to)| from < to);
        prop_assume!(is_time(&one) && is_time(&other));
        let both = (-1..7).any(|time| one.is_at(at(time)) && other.is_at(at(time)));
        prop_assert_eq!(one.overlaps(&other), both);
        prop_assert_eq!(one.overlaps(&other), other.overlaps(&one));
    }
}

#[test]
fn only_a_later_value_in_the_words_of_the_source_ends_a_statement() {
    let later = |object: &str, from: Option<i64>| {
        Some(Later {
            object: object.into(),
            from: from.map(at),
        })
    };
    let cases = [
        ("moved to C", later("C", Some(9)), true),
        ("moved to C", later("C", None), true),
        ("moved to D", later("C", Some(9)), false),
        ("stays at B", later("b.", Some(9)), false),
        ("was at C", later("C", Some(1)), false),
        ("moved to C", None, false),
    ];
    for (quote, later, ends) in cases {
        let mut trial = begun(1);
        if let Some(derived) = &mut trial.derived {
            derived.valid.from = Some(at(5));
        }
        let quote = Some(quote.to_owned());
        let no = Reading {
            quote,
            later: later.clone(),
            ..reading(0, Instrument::Reflection, Answer::No)
        };
        trial.apply(News::Read(no.clone()));
        let Step::Judge(found) = trial.next(&rules(false), at(20)) else {
            panic!("it is over")
        };
        assert_eq!(matches!(found, Found::Ended(..)), ends, "{no:?}: {found:?}");
    }
}

#[test]
fn words_say_a_later_value_where_they_say_since_when() {
    let time = |text: &str| thinkd_event::statement::date(text);
    let cases = [
        ("since 2024 it is X", Some(("X", "2024"))),
        (
            "Since 2024-03, it has been the new hall.",
            Some(("the new hall", "2024-03")),
        ),
        ("it is X Y since 2024-03-01", Some(("X Y", "2024-03-01"))),
        ("X since 2024", Some(("X", "2024"))),
        ("since March it is X", None),
        ("since 2024", None),
        ("it is since 2024", None),
        ("since", None),
        ("it was locked", None),
        ("", None),
    ];
    for (words, said) in cases {
        let expected = said.map(|(object, from)| Later {
            object: object.into(),
            from: time(from),
        });
        assert_eq!(Later::said(words), expected, "{words}");
    }
}

#[test]
fn experiments_come_before_reflection_and_after_one_in_vain_the_next() {
    let mut prediction = predicted(0);
    (prediction.search, prediction.code) = (Some("x".into()), Some("true".into()));
    let all: BTreeSet<Instrument> = Instrument::ALL.into();
    let chosen = |available: &BTreeSet<Instrument>, carried: &[Instrument], tries| {
        method::chosen(&prediction, available, carried, tries).0
    };
    assert_eq!(chosen(&all, &[], 0), Instrument::Knowledge);
    assert_eq!(chosen(&all, &[], 1), Instrument::Code);
    assert_eq!(chosen(&all, &[], 2), Instrument::Knowledge);
    assert_eq!(
        chosen(&all, &[Instrument::Knowledge], 0),
        Instrument::Code,
        "another than the one that carried it"
    );
    assert_eq!(
        chosen(&[Instrument::User, Instrument::Reflection].into(), &[], 0),
        Instrument::Reflection
    );
    let users = |name: Option<&str>| {
        vec![Claimant::User {
            name: name.map(str::to_owned),
        }]
    };
    assert!(method::may_answer(&users(Some("ann")), Some("bob")));
    assert!(!method::may_answer(&users(Some("ann")), Some("ann")));
    assert!(
        !method::may_answer(&users(None), Some("bob"))
            && !method::may_answer(&users(Some("ann")), None)
    );
    assert!(method::may_answer(&[Claimant::Mind], None));
}

// A page that repeats the source of a claim with a few words more is no other witness; one that says more is.
#[test]
fn a_mirror_of_the_source_with_words_before_it_tests_nothing() {
    let said = ["The tower is at Kello, and it can be seen from afar on clear days."];
    let is_own =
        |text: &str| thinkd_event::evidence::is_own_source("https://else.where/", text, &said);
    assert!(is_own(said[0]));
    assert!(is_own(&format!("Copied: {}", said[0])));
    assert!(is_own("it can be seen from afar on clear days"));
    let other = "Of all sights of the coast this one is the oldest, writes the guide of 1911, and sailors agree.";
    assert!(!is_own(&format!("{other} {}", said[0])));
    assert!(!is_own("The tower stands at Kello."));
}
