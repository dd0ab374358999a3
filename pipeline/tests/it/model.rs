//! Random graphs against a naive reference executor: same results, each node once, failures named.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use pipeline::{Context, block_on, node};
use proptest::prelude::*;

/// A node by its parents, which come before it; whether it fails; whether it gives way while it runs.
#[derive(Debug, Clone)]
struct Plan {
    parents: Vec<(usize, usize)>,
    fails: Vec<bool>,
    yields: Vec<bool>,
    reads: Vec<usize>,
}

fn plan() -> impl Strategy<Value = Plan> {
    (1usize..24).prop_flat_map(|n| {
        let parents = (0..n).map(|i| (0..=i, 0..=i)).collect::<Vec<_>>();
        let fails = prop::collection::vec(prop::bool::weighted(0.08), n);
        let yields = prop::collection::vec(any::<bool>(), n);
        let reads = prop::collection::vec(0..n, 1..6);
        (parents, fails, yields, reads).prop_map(|(parents, fails, yields, reads)| Plan {
            parents,
            fails,
            yields,
            reads,
        })
    })
}

type Ran = Arc<Mutex<Vec<usize>>>;

#[node]
async fn mix(a: u64, b: u64, i: usize, fails: bool, yields: bool, ran: Ran) -> Result<u64, String> {
    if yields {
        tokio::task::yield_now().await;
    }
    ran.lock().unwrap().push(i);
    if fails { Err(i.to_string()) } else { Ok(combine(a, b, i)) }
}

fn combine(a: u64, b: u64, i: usize) -> u64 {
    a.wrapping_mul(31).wrapping_add(b).wrapping_mul(31).wrapping_add(i as u64)
}

/// Place 0 is the root; node `i` has place `i + 1`.
fn build(plan: &Plan, ran: &Ran) -> Vec<Context<u64>> {
    let mut contexts = vec![Context::new(1)];
    for (i, (a, b)) in plan.parents.iter().enumerate() {
        let next = mix(&contexts[*a], &contexts[*b], i, plan.fails[i], plan.yields[i], ran.clone());
        contexts.push(next);
    }
    contexts
}

/// One after the other, by definition.
fn reference(plan: &Plan) -> Vec<Result<u64, BTreeSet<usize>>> {
    let mut values: Vec<Result<u64, BTreeSet<usize>>> = vec![Ok(1)];
    for (i, (a, b)) in plan.parents.iter().enumerate() {
        values.push(match (&values[*a], &values[*b]) {
            (Ok(_), Ok(_)) if plan.fails[i] => Err(BTreeSet::from([i])),
            (Ok(a), Ok(b)) => Ok(combine(*a, *b, i)),
            (a, b) => Err([a, b].into_iter().flat_map(|v| v.clone().err().unwrap_or_default()).collect()),
        });
    }
    values
}

fn beneath(plan: &Plan, place: usize, found: &mut BTreeSet<usize>) {
    if place > 0 && found.insert(place - 1) {
        let (a, b) = plan.parents[place - 1];
        beneath(plan, a, found);
        beneath(plan, b, found);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_graph_read_by_many_gives_what_a_naive_executor_gives(plan in plan()) {
        let ran = Ran::default();
        let contexts = build(&plan, &ran);
        let expected = reference(&plan);
        let results = block_on(async {
            let reads = plan.reads.iter().map(|i| tokio::spawn(contexts[i + 1].clone().into_future()));
            futures_util::future::join_all(reads.collect::<Vec<_>>()).await
        }).unwrap();

        for (i, result) in plan.reads.iter().zip(results) {
            match (result.unwrap(), &expected[i + 1]) {
                (Ok(value), Ok(expected)) => prop_assert_eq!(value, *expected),
                (Err(failure), Err(culprits)) => {
                    let culprit: usize = failure.cause().to_string().parse().unwrap();
                    prop_assert!(culprits.contains(&culprit), "{} is none of {:?}", culprit, culprits);
                    prop_assert_eq!(failure.node(), "mix");
                }
                (got, expected) => prop_assert!(false, "{:?} instead of {:?}", got, expected),
            }
        }

        let mut needed = BTreeSet::new();
        plan.reads.iter().for_each(|i| beneath(&plan, i + 1, &mut needed));
        let ran = ran.lock().unwrap().clone();
        for i in 0..plan.parents.len() {
            let times = ran.iter().filter(|other| **other == i).count();
            // A failed node may run once per read, for each is a new attempt; any other at most once, and only if needed.
            let at_most = if plan.fails[i] { plan.reads.len() } else { 1 };
            prop_assert!(times <= at_most);
            prop_assert!(times == 0 || needed.contains(&i));
            for parent in [plan.parents[i].0, plan.parents[i].1] {
                if let (Some(at), Some(parent)) = (ran.iter().position(|j| *j == i), parent.checked_sub(1)) {
                    prop_assert!(ran.iter().position(|j| *j == parent).is_some_and(|p| p < at));
                }
            }
        }
    }
}
