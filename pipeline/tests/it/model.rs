//! Random graphs, fan-ins of every form among them, against a naive reference executor: same results, each node once, failures
//! named. `PIPELINE_MODEL_CASES` says how many cases.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use unhurried::{Context, NodeExecutionError, all, at_once, block_on, node};

/// A node by its parents, which come before it, and how it takes them; whether it fails; whether it gives way while it runs.
#[derive(Debug, Clone)]
struct Plan {
    parents: Vec<(Takes, Vec<usize>)>,
    fails: Vec<bool>,
    yields: Vec<bool>,
    reads: Vec<usize>,
}

/// The form in which a node takes its parents.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Takes {
    /// The first two, as two arguments.
    Two,
    /// All, as one argument.
    Many,
    /// All, gathered before by `all`, or by `at_once(n).all`.
    All(Option<usize>),
    /// The outcomes of all of them, so many at once.
    Outcomes(usize),
}

fn takes() -> impl Strategy<Value = Takes> {
    prop_oneof![
        4 => Just(Takes::Two),
        1 => Just(Takes::Many),
        1 => prop::option::of(1usize..4).prop_map(Takes::All),
        1 => (1usize..4).prop_map(Takes::Outcomes),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    (1usize..24).prop_flat_map(|n| {
        let parents = (0..n)
            .map(|i| (takes(), prop::collection::vec(0..=i, 2..6)))
            .collect::<Vec<_>>();
        let fails = prop::collection::vec(prop::bool::weighted(0.08), n);
        let yields = prop::collection::vec(any::<bool>(), n);
        let reads = prop::collection::vec(0..n, 1..6);
        (parents, fails, yields, reads).prop_map(|(parents, fails, yields, reads)| Plan {
            parents: parents.into_iter().map(taken).collect(),
            fails,
            yields,
            reads,
        })
    })
}

fn taken((takes, mut parents): (Takes, Vec<usize>)) -> (Takes, Vec<usize>) {
    if takes == Takes::Two {
        parents.truncate(2);
    }
    (takes, parents)
}

type Ran = Arc<Mutex<Vec<usize>>>;

#[node]
async fn mix(a: u64, b: u64, i: usize, fails: bool, yields: bool, ran: Ran) -> Result<u64, String> {
    step(&[a, b], i, fails, yields, ran).await
}

#[node(name = "mix")]
async fn mix_many(
    values: &[u64],
    i: usize,
    fails: bool,
    yields: bool,
    ran: Ran,
) -> Result<u64, String> {
    step(values, i, fails, yields, ran).await
}

#[node(name = "mix")]
async fn mix_outcomes(
    outcomes: Vec<Result<u64, NodeExecutionError>>,
    i: usize,
    fails: bool,
    yields: bool,
    ran: Ran,
) -> Result<u64, String> {
    let values = outcomes
        .into_iter()
        .map(|outcome| outcome.unwrap_or(FAILED))
        .collect::<Vec<_>>();
    step(&values, i, fails, yields, ran).await
}

/// The value that stands for a parent that failed.
const FAILED: u64 = 13;

async fn step(
    values: &[u64],
    i: usize,
    fails: bool,
    yields: bool,
    ran: Ran,
) -> Result<u64, String> {
    if yields {
        tokio::task::yield_now().await;
    }
    ran.lock().unwrap().push(i);
    if fails {
        Err(i.to_string())
    } else {
        Ok(combine(values, i))
    }
}

fn combine(values: &[u64], i: usize) -> u64 {
    values
        .iter()
        .chain([&(i as u64)])
        .fold(7, |sum, value| sum.wrapping_mul(31).wrapping_add(*value))
}

/// Place 0 is the root; node `i` has place `i + 1`.
fn build(plan: &Plan, ran: &Ran) -> Vec<Context<u64>> {
    let mut contexts = vec![Context::new(1)];
    for (i, (takes, parents)) in plan.parents.iter().enumerate() {
        let fails = plan.fails[i];
        let yields = plan.yields[i];
        let ran = ran.clone();
        let parents = parents
            .iter()
            .map(|parent| contexts[*parent].clone())
            .collect::<Vec<_>>();
        contexts.push(match takes {
            Takes::Two => mix(&parents[0], &parents[1], i, fails, yields, ran),
            Takes::Many => mix_many(parents, i, fails, yields, ran),
            Takes::All(None) => mix_many(all(parents), i, fails, yields, ran),
            Takes::All(Some(n)) => mix_many(at_once(*n).all(parents), i, fails, yields, ran),
            Takes::Outcomes(n) => {
                mix_outcomes(at_once(*n).outcomes(parents), i, fails, yields, ran)
            }
        });
    }
    contexts
}

/// One after the other, by definition.
fn reference(plan: &Plan) -> Vec<Result<u64, BTreeSet<usize>>> {
    let mut values: Vec<Result<u64, BTreeSet<usize>>> = vec![Ok(1)];
    for (i, (takes, parents)) in plan.parents.iter().enumerate() {
        let given = parents.iter().map(|parent| values[*parent].clone());
        let culprits = given
            .clone()
            .filter_map(Result::err)
            .flatten()
            .collect::<BTreeSet<_>>();
        values.push(match takes {
            Takes::Outcomes(_) if plan.fails[i] => Err(BTreeSet::from([i])),
            Takes::Outcomes(_) => Ok(combine(
                &given
                    .map(|value| value.unwrap_or(FAILED))
                    .collect::<Vec<_>>(),
                i,
            )),
            _ if !culprits.is_empty() => Err(culprits),
            _ if plan.fails[i] => Err(BTreeSet::from([i])),
            _ => Ok(combine(
                &given
                    .map(|value| value.unwrap_or(FAILED))
                    .collect::<Vec<_>>(),
                i,
            )),
        });
    }
    values
}

fn beneath(plan: &Plan, place: usize, found: &mut BTreeSet<usize>) {
    if place > 0 && found.insert(place - 1) {
        plan.parents[place - 1]
            .1
            .iter()
            .for_each(|parent| beneath(plan, *parent, found));
    }
}

#[allow(clippy::print_stdout, reason = "how many there were is asked for")]
fn cases() -> u32 {
    let cases = std::env::var("PIPELINE_MODEL_CASES")
        .map_or(2000, |cases| cases.parse().expect("a number"));
    println!("{cases} graphs");
    cases
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

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
        // A failed node may run once per read, for each is a new attempt, and a fan-in that reads for itself is a reader, too.
        let readers = plan.parents.iter().any(|(takes, _)| matches!(takes, Takes::All(Some(_)) | Takes::Outcomes(_)));
        for i in 0..plan.parents.len() {
            let times = ran.iter().filter(|other| **other == i).count();
            // Any other at most once, and only if needed.
            let at_most = if plan.fails[i] { plan.reads.len() } else { 1 };
            prop_assert!(times <= at_most || plan.fails[i] && readers);
            prop_assert!(times == 0 || needed.contains(&i));
            for parent in plan.parents[i].1.iter().filter(|parent| expected[**parent].is_ok()) {
                if let (Some(at), Some(parent)) = (ran.iter().position(|j| *j == i), parent.checked_sub(1)) {
                    prop_assert!(ran.iter().position(|j| *j == parent).is_some_and(|p| p < at));
                }
            }
        }
    }
}
