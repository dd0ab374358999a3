//! The view of a space by itself: after any puts and removals, in any order, it finds the same; and
//! it is bounded for every graph.

use std::time::Instant;

use proptest::prelude::*;
use thinkd::event::entity::Names;
use thinkd::event::method::contradict;
use thinkd::event::statement::{Status, Triple, Valid};
use thinkd::log::projections::statements::StatementRow;
use thinkd::recall::held::Held;
use thinkd::recall::view::View;
use thinkd::words::id::ThreadId;
use thinkd::words::time::Timestamp;

/// A statement that relates two names.
fn statement(number: i64, [subject, relation, object]: [&str; 3]) -> Held {
    let [subject, relation, object] = [subject, relation, object].map(str::to_owned);
    Held {
        id: format!("id-{number}"),
        number,
        changed: number,
        text: format!("{subject} {relation} {object}."),
        triple: Some(Triple {
            subject,
            relation,
            object,
            single: false,
        }),
        valid_from: None,
        valid_to: None,
        status: Status::Surviving,
        label: Default::default(),
        reflection_only: false,
        said_by: None,
    }
}

const NAMES: [&str; 8] = [
    "Alma",
    "Bergen",
    "Cadiz",
    "Odd Lien",
    "東京",
    "Ruth Ng",
    "the harbour",
    "Éva",
];
const RELATIONS: [&str; 4] = ["lives in", "knows", "was built by", "は"];

fn of(number: i64, (from, relation, to): (usize, usize, usize)) -> Held {
    statement(number, [NAMES[from], RELATIONS[relation], NAMES[to]])
}

/// Returns the hits of a view, as far as a caller can see.
fn found(view: &View, question: &str) -> Vec<(String, f64, Vec<String>, Vec<String>)> {
    let hits = view.find(question, 10);
    hits.into_iter()
        .map(|hit| (hit.held.id, hit.score, hit.why.path, hit.same))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_came_and_went_leaves_no_trace(
        edges in prop::collection::vec((0..8usize, 0..4usize, 0..8usize), 1..40),
        gone in prop::collection::vec(any::<bool>(), 40),
        order in any::<u64>(),
        asked in (0..8usize, 0..4usize),
    ) {
        let all: Vec<Held> = edges.iter().zip(1..).map(|(edge, number)| of(number, *edge)).collect();
        let stays = |held: &&Held| !gone[usize::try_from(held.number).unwrap() - 1];
        let mut fresh = View::default();
        all.iter().filter(stays).for_each(|held| fresh.put(held.clone()));
        // The same statements in another order, between others that are withdrawn, some of them twice.
        let mut worn = View::default();
        let mut shuffled: Vec<&Held> = all.iter().collect();
        shuffled.sort_by_key(|held| (held.number as u64).wrapping_mul(order | 1).rotate_left(17));
        shuffled.iter().for_each(|held| worn.put((*held).clone()));
        shuffled.iter().rev().for_each(|held| worn.put((*held).clone()));
        all.iter().filter(|held| !stays(held)).for_each(|held| worn.remove(&held.id));
        let question = format!("{} {}?", NAMES[asked.0], RELATIONS[asked.1]);
        prop_assert_eq!(found(&fresh, &question), found(&worn, &question));
        prop_assert_eq!((fresh.len(), fresh.bytes()), (worn.len(), worn.bytes()));
        all.iter().for_each(|held| worn.remove(&held.id));
        prop_assert_eq!((worn.len(), worn.bytes()), (0, 0));
    }

    // What contradicts a hit is what cannot hold beside it, by structure alone; a few are shown, all are counted.
    #[test]
    fn what_contradicts_a_hit_is_found_by_structure(
        all in prop::collection::vec((0..2usize, 0..2usize, 0..6usize, any::<bool>(), prop::option::of(0..9i64), prop::option::of(0..9i64)), 1..30),
        gone in prop::collection::vec(any::<bool>(), 30),
    ) {
        let time = |at: i64| Timestamp::from_micros(at);
        let mut view = View::default();
        let mut held = Vec::new();
        for ((subject, relation, object, single, from, to), number) in all.into_iter().zip(1..) {
            let mut it = of(number, (subject, relation, object));
            it.triple.as_mut().unwrap().single = single;
            (it.status, it.valid_from, it.valid_to) = (Status::Contested, from.map(time), to.map(time));
            view.put(it.clone());
            held.push(it);
        }
        held.iter().filter(|it| gone[it.number as usize - 1]).for_each(|it| view.remove(&it.id));
        held.retain(|it| !gone[it.number as usize - 1]);
        for hit in view.find(&format!("{} {}?", NAMES[0], RELATIONS[0]), 50) {
            let own = (hit.held.triple.as_ref().unwrap(), &hit.held.valid());
            let cannot = |it: &&Held| contradict(own, (it.triple.as_ref().unwrap(), &it.valid()), &Names::default());
            let expected: Vec<i64> = held.iter().filter(cannot).map(|it| it.number).collect();
            prop_assert_eq!(hit.contested_by_count, expected.len());
            let shown: Vec<i64> = hit.contested_by.iter().map(|it| it.number).collect();
            prop_assert_eq!(&shown[..], &expected[..expected.len().min(8)]);
        }
    }

    #[test]
    fn names_that_were_one_for_a_while_leave_no_trace(
        edges in prop::collection::vec((0..8usize, 0..4usize, 0..8usize), 1..40),
        merges in prop::collection::vec((0..8usize, 0..8usize, any::<bool>()), 0..12),
        asked in (0..8usize, 0..4usize),
    ) {
        let all: Vec<Held> = edges.iter().zip(1..).map(|(edge, number)| of(number, *edge)).collect();
        let question = format!("{} {}?", NAMES[asked.0], RELATIONS[asked.1]);
        let mut worn = View::default();
        let mut plain = View::default();
        let mut standing: Vec<Vec<String>> = Vec::new();
        let names = |standing: &[Vec<String>]| Names::of(standing.iter().map(Vec::as_slice));
        // Merged and un-merged between the statements; some come twice, some go.
        for (at, held) in all.iter().enumerate() {
            worn.put(held.clone());
            plain.put(held.clone());
            if let Some((one, other, stays)) = merges.get(at) {
                standing.push(vec![NAMES[*one].to_owned(), NAMES[*other].to_owned()]);
                worn.set_names(names(&standing));
                if !stays {
                    standing.remove(0);
                    worn.set_names(names(&standing));
                }
            }
            if at % 5 == 4 {
                worn.remove(&all[at - 2].id);
                plain.remove(&all[at - 2].id);
            }
        }
        let mut fresh = View::default();
        fresh.set_names(names(&standing));
        all.iter().filter(|held| plain.doc_of(&held.id).is_some()).for_each(|held| fresh.put(held.clone()));
        prop_assert_eq!(found(&fresh, &question), found(&worn, &question));
        prop_assert_eq!(fresh.bytes(), worn.bytes());
        worn.set_names(Names::default());
        prop_assert_eq!(found(&plain, &question), found(&worn, &question));
        prop_assert_eq!(plain.bytes(), worn.bytes());
    }

    #[test]
    fn whatever_is_asked_is_answered(question in "\\PC{0,200}") {
        let mut view = View::default();
        (1..30).for_each(|number| view.put(of(number, (number as usize % 8, number as usize % 4, number as usize % 7))));
        let hits = view.find(&question, 5);
        prop_assert!(hits.len() <= 5 && hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
    }
}

#[test]
fn a_name_with_a_hundred_thousand_neighbours_stays_bounded() {
    let mut view = View::default();
    for number in 0..100_000 {
        view.put(statement(
            number,
            ["Earth", "has", &format!("stone {number}")],
        ));
    }
    view.put(statement(100_000, ["stone 77", "lies in", "Narvik"]));
    let begun = Instant::now();
    let hits = view.find("Where on Earth is stone 77?", 5);
    assert!(
        hits.iter().any(|hit| hit.held.text.contains("Narvik")),
        "{hits:?}"
    );
    let node = view.graph().named("earth").unwrap();
    let (around, whole) = view.graph().around(node, 4, 50);
    assert_eq!((around.len(), whole), (50, false));
    let way = view
        .graph()
        .ways(&[node], 4)
        .to(&[view.graph().named("Narvik").unwrap()]);
    assert!(
        way.0.is_some_and(|way| way.len() == 2) || !way.1,
        "found, or said to be cut off"
    );
    // Generous: the program is not optimised here, and the machine may be busy.
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

#[test]
fn a_row_that_comes_after_a_newer_one_is_passed_over() {
    let row = |changed, status| StatementRow {
        id: "id-1".into(),
        number: 1,
        thread: ThreadId::default(),
        text: "Alma lives in Bergen.".into(),
        triple: None,
        valid: Valid::default(),
        status,
        judged: None,
        due: None,
        tested: None,
        premises: Vec::new(),
        sources: Vec::new(),
        claimed: Timestamp::from_micros(0),
        changed,
    };
    let mut view = View::default();
    view.take(row(5, Status::Surviving));
    assert_eq!(view.len(), 1);
    view.take(row(9, Status::Falsified));
    view.take(row(5, Status::Surviving));
    assert_eq!((view.len(), view.changed), (0, 9));
}

#[test]
fn what_reflection_alone_carried_stands_below_what_was_tested() {
    let mut view = View::default();
    view.put(Held {
        reflection_only: true,
        ..statement(1, ["Alma", "lives in", "Bergen"])
    });
    view.put(statement(2, ["Alma", "lives near", "Bergen"]));
    let order: Vec<_> = view
        .find("who lives in Bergen", 5)
        .into_iter()
        .map(|hit| hit.held.number)
        .collect();
    assert_eq!(order, [2, 1]);
}

#[test]
fn those_that_say_the_same_are_one_hit_and_those_that_differ_are_not() {
    let mut view = View::default();
    view.put(statement(1, ["Alma", "lives in", "Bergen"]));
    view.put(statement(2, ["alma", "LIVES IN", "bergen."]));
    view.put(statement(3, ["Alma", "lives in", "Cadiz"]));
    view.put(Held {
        valid_from: Timestamp::parse("2020-01-01T00:00:00Z"),
        ..statement(4, ["Alma", "lives in", "Bergen"])
    });
    let hits = view.find("where lives Alma", 9);
    let mut shown: Vec<_> = hits
        .iter()
        .map(|hit| (hit.held.number, hit.same.clone()))
        .collect();
    shown.sort();
    assert_eq!(
        shown,
        [(1, vec!["id-2".to_owned()]), (3, vec![]), (4, vec![])]
    );
}
