//! Building a pipeline: the result of a call, its name, and the view of it before anything runs.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use unhurried::{Context, NodeState, node, wrap};

static RAN: AtomicUsize = AtomicUsize::new(0);

#[node]
async fn counted(n: i64) -> i64 {
    RAN.fetch_add(1, Ordering::SeqCst);
    n + 1
}

#[node]
async fn add_one(n: i64) -> i64 {
    n + 1
}

#[node]
async fn double(n: i64) -> i64 {
    n * 2
}

#[node]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[node(name = "twice as much")]
async fn renamed(n: i64) -> i64 {
    n * 2
}

// D2.18, T2.13, D2.32: a call without a context and a pending context returned do not compile, which the `compile_fail`
// examples of `node` and `Value` show; what the compiler says then stands beside `HasContext` and `Value`.
// D2.13: the bodies above are over plain values. D2.14: a call gives a pending context at once, which knows its parents.
#[tokio::test]
async fn d2_03_d2_04_d2_14_d2_15_building_runs_nothing_and_reading_runs_what_is_needed() {
    let mut context = Context::new(0);
    for _ in 0..5 {
        context = counted(context);
    }
    assert_eq!(context.pending_count(), 5);
    assert_eq!(RAN.load(Ordering::SeqCst), 0);
    assert_eq!(context.data().await.unwrap(), 5);
    assert_eq!(context.data().await.unwrap(), 5);
    assert_eq!(RAN.load(Ordering::SeqCst), 5);
}

#[test]
fn t2_18_d2_06_pending_names_are_read_without_running() {
    let context = double(add_one(Context::new(5)));
    assert_eq!(context.pending(), ["add_one", "double"]);
    assert_eq!(
        format!("{context:?}"),
        r#"Context { node: "double", pending: ["add_one", "double"] }"#
    );
    assert!(context.is_pending());
    assert_eq!(context.blocking_data().unwrap(), 12);
    assert_eq!(
        format!("{context:?}"),
        r#"Context { node: "double", pending: [] }"#
    );
}

#[test]
fn t2_09_names_are_the_functions_or_as_given() {
    assert_eq!(double(Context::new(1)).name(), "double");
    assert_eq!(renamed(Context::new(1)).name(), "twice as much");
    let wrapped = wrap("on wrapping", |n: i64| async move { Ok::<_, String>(n) });
    assert_eq!(wrapped.call(Context::new(1)).name(), "on wrapping");
}

#[test]
fn t2_10_a_root_is_not_pending_and_a_call_is() {
    let root = Context::new(1);
    assert!(!root.is_pending());
    assert!(add_one(&root).is_pending());
    assert_eq!((root.name(), root.pending_count()), ("value", 0));
}

#[tokio::test]
async fn t2_19_d2_16_two_roots_are_two_parents() {
    let sum = add(Context::new(10), Context::new(20));
    let graph = sum.graph();
    assert_eq!(graph.edges, [(0, 2), (1, 2)]);
    assert_eq!(
        graph
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .collect::<Vec<_>>(),
        ["value", "value", "add"]
    );
    assert_eq!(sum.await.unwrap(), 30);
}

#[test]
fn d2_09_the_graph_matches_the_calls_and_is_exported() {
    let base = add_one(Context::new(1));
    base.blocking_data().unwrap();
    let context = add(double(&base), &base);
    let graph = context.graph();
    assert_eq!(graph.edges, [(0, 1), (1, 2), (2, 3), (1, 3)]);
    let states = graph
        .nodes
        .iter()
        .map(|node| node.state)
        .collect::<Vec<_>>();
    assert_eq!(
        states,
        [
            NodeState::Given,
            NodeState::Done,
            NodeState::Pending,
            NodeState::Pending
        ]
    );
    assert_eq!(
        graph.to_json()["nodes"][2],
        serde_json::json!({"id": 2, "name": "double", "state": "pending"})
    );
    assert!(
        graph
            .to_dot()
            .contains("2 [label=\"double\", style=dashed];")
    );
    assert!(graph.to_dot().contains("1 -> 3;"));
    assert!(graph.to_mermaid().contains("3([\"add\"])"));
    assert_eq!(context.pending_count(), 2, "drawing it runs nothing");
}

#[test]
fn a_value_that_was_taken_from_another_shows_where_it_is_from() {
    let base = add_one(Context::new(1));
    let part = base.taken(base.blocking_data().unwrap() - 1);
    assert_eq!(
        (part.is_pending(), part.name(), part.pending_count()),
        (false, "value", 0)
    );
    let graph = double(&part).graph();
    let nodes = graph
        .nodes
        .iter()
        .map(|node| (node.name.as_str(), node.state))
        .collect::<Vec<_>>();
    let given = NodeState::Given;
    let done = NodeState::Done;
    let pending = NodeState::Pending;
    assert_eq!(
        nodes,
        [
            ("value", given),
            ("add_one", done),
            ("value", given),
            ("double", pending)
        ]
    );
    assert_eq!(graph.edges, [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(double(part).blocking_data().unwrap(), 2);
}

#[test]
fn a_context_given_twice_is_two_edges_and_one_execution() {
    let one = add_one(Context::new(0));
    let two = add(&one, &one);
    assert_eq!(two.graph().edges, [(0, 1), (1, 2), (1, 2)]);
    assert_eq!(two.blocking_data().unwrap(), 2);
}

#[node]
async fn times(n: i64, factor: i64) -> i64 {
    n * factor
}

#[node]
async fn above(score: f64, threshold: f64) -> bool {
    score > threshold
}

#[node]
async fn tell(name: &str, (greeting, mark): (String, char)) -> String {
    format!("{greeting} {name}{mark}")
}

#[test]
fn t2_20_t2_21_d2_17_plain_arguments_pass_through() {
    assert_eq!(times(Context::new(5), 3).blocking_data().unwrap(), 15);
    assert_eq!(times(5, Context::new(3)).blocking_data().unwrap(), 15);
    assert!(above(Context::new(0.7), 0.5).blocking_data().unwrap());
    assert!(!above(Context::new(0.7), 0.9).blocking_data().unwrap());
    let told = tell("Ada", Context::new(("Hello".to_owned(), '!')));
    assert_eq!(told.blocking_data().unwrap(), "Hello Ada!");
    let told = tell(Context::new("Ada".to_owned()), ("Hello".to_owned(), '!'));
    assert_eq!(told.blocking_data().unwrap(), "Hello Ada!");
}

#[node]
async fn first<T: Clone + Send + Sync + Unpin + 'static>(list: Vec<T>) -> Result<T, String> {
    list.into_iter().next().ok_or_else(|| "empty".to_owned())
}

#[test]
fn nodes_may_be_generic() {
    assert_eq!(
        first(Context::new(vec!['a', 'b'])).blocking_data().unwrap(),
        'a'
    );
    assert_eq!(first(Context::new(vec![1])).blocking_data().unwrap(), 1);
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Adder {
    amount: i64,
}

impl Default for Adder {
    fn default() -> Self {
        Adder { amount: 10 }
    }
}

#[node]
impl Adder {
    async fn to(&self, n: i64) -> i64 {
        n + self.amount
    }
}

#[test]
fn t2_23_node_objects_have_settings_chain_and_mix() {
    let ten = Adder::default();
    let five = Adder { amount: 5 };
    assert_eq!(ten.to(Context::new(1)).blocking_data().unwrap(), 11);
    assert_eq!(
        five.to(ten.to(Context::new(0))).blocking_data().unwrap(),
        15
    );
    assert_eq!(
        five.to(five.to(five.to(Context::new(1))))
            .blocking_data()
            .unwrap(),
        16
    );
    let one = Adder { amount: 1 };
    assert_eq!(
        one.to(one.to(one.to(Context::new(0))))
            .blocking_data()
            .unwrap(),
        3
    );
    assert_eq!(
        double(five.to(add_one(Context::new(10))))
            .blocking_data()
            .unwrap(),
        32
    );
    assert_eq!(five.to(Context::new(1)).name(), "Adder");
}

#[test]
fn t2_24_node_objects_are_equal_and_hash_by_their_settings() {
    let distinct = HashSet::from([
        Adder { amount: 1 },
        Adder { amount: 1 },
        Adder { amount: 2 },
    ]);
    assert_eq!(distinct.len(), 2);
}

#[test]
fn t2_25_a_node_object_is_written_as_its_name_and_its_settings() {
    let written = unhurried::describe(&Adder { amount: 3 }).unwrap();
    assert_eq!(
        written,
        serde_json::json!({"type": "Adder", "settings": {"amount": 3}})
    );
}

#[derive(Debug, Clone, PartialEq)]
struct State {
    value: i64,
    name: String,
}

#[node]
async fn rename(mut state: State, suffix: String) -> State {
    state.name.push_str(&suffix);
    state.value += 3;
    state
}

#[test]
fn t2_27_a_struct_is_threaded_through() {
    let start = Context::new(State {
        value: 10,
        name: "start".to_owned(),
    });
    let end = rename(rename(rename(&start, "_a"), "_b"), "_c");
    assert_eq!(
        end.blocking_data().unwrap(),
        State {
            value: 19,
            name: "start_a_b_c".to_owned()
        }
    );
    assert_eq!(start.blocking_data().unwrap().value, 10);
}

#[node]
async fn with(map: BTreeMap<String, i64>, key: String, value: i64) -> BTreeMap<String, i64> {
    map.into_iter().chain([(key, value)]).collect()
}

#[node]
async fn nothing(_: ()) {}

#[node]
async fn longer(list: &[u8], by: u8) -> Vec<u8> {
    list.iter().copied().chain([by]).collect()
}

#[test]
fn t2_26_d2_11_any_plain_value_is_data() {
    let map = with(with(Context::new(BTreeMap::new()), "a", 1), "b", 2);
    assert_eq!(
        map.blocking_data().unwrap(),
        BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)])
    );
    nothing(Context::new(())).blocking_data().unwrap();
    assert_eq!(
        longer(longer(Context::new(vec![]), 1), 2)
            .blocking_data()
            .unwrap(),
        [1, 2]
    );
    assert_eq!(
        add_one(Context::new(0)).blocking_data().unwrap(),
        1,
        "T2.03: zero is not missing"
    );
}

#[test]
fn t2_28_t2_29_t2_30_d2_19_composing_functions_composes_nodes() {
    let part = |n: Context<i64>| double(add_one(n));
    let all = |n: Context<i64>| {
        let n = part(n);
        times(&n, &n)
    };
    let squared = all(Context::new(2));
    assert_eq!(squared.pending(), ["add_one", "double", "times"]);
    assert_eq!(squared.blocking_data().unwrap(), 36);
    assert_eq!(
        (
            part(Context::new(5)).blocking_data().unwrap(),
            part(Context::new(10)).blocking_data().unwrap()
        ),
        (12, 22)
    );
    let squared_if_above = |n: i64, limit: i64| {
        let n = part(Context::new(n));
        if n.blocking_data().unwrap() > limit {
            times(&n, &n)
        } else {
            n
        }
    };
    assert_eq!(squared_if_above(5, 10).blocking_data().unwrap(), 144);
    assert_eq!(squared_if_above(2, 10).blocking_data().unwrap(), 6);
}
