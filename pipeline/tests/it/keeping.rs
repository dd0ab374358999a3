//! The time for which a value is kept: as long as a reader can ask for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use unhurried::{Context, NodeState, all, at_once, node, outcomes};

/// Number of values alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn make(&self, n: usize) -> Value {
        self.0.fetch_add(1, Ordering::SeqCst);
        Value {
            n,
            alive: self.clone(),
        }
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// A value that is counted while it is there.
struct Value {
    n: usize,
    alive: Alive,
}

impl Clone for Value {
    fn clone(&self) -> Self {
        self.alive.make(self.n)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.alive.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[node]
async fn next(value: &Value) -> Value {
    value.alive.make(value.n + 1)
}

#[node]
async fn count(values: &[Value]) -> usize {
    values.len()
}

#[node]
async fn number(value: &Value) -> usize {
    value.n
}

#[tokio::test]
async fn a_loop_keeps_the_value_it_is_at_and_none_before() {
    let alive = Alive::default();
    let mut most = 0;
    let mut context = Context::new(alive.make(0));
    for _ in 0..2_000 {
        context = next(context);
        let _ = context.run().await.unwrap();
        most = most.max(alive.count());
    }
    assert_eq!((context.data().await.unwrap().n, most), (2_000, 1));
}

#[tokio::test]
async fn one_read_of_a_long_chain_keeps_no_value_that_is_used_up() {
    let alive = Alive::default();
    let most = Arc::new(AtomicUsize::new(0));
    let seen = most.clone();
    let counting = unhurried::wrap("counting", move |value: Arc<Value>| {
        seen.fetch_max(value.alive.count(), Ordering::SeqCst);
        let made = Arc::new(value.alive.make(value.n + 1));
        async move { Ok::<_, String>(made) }
    });
    let chain = (0..2_000).fold(Context::new(Arc::new(alive.make(0))), |value, _| {
        counting.call(value)
    });
    assert_eq!(chain.data().await.unwrap().n, 2_000);
    assert!(
        most.load(Ordering::SeqCst) <= 3,
        "{} at once",
        most.load(Ordering::SeqCst)
    );
}

#[tokio::test]
async fn a_value_stays_while_a_context_of_it_does() {
    let alive = Alive::default();
    let first = next(Context::new(alive.make(0)));
    let second = next(&first);
    let pending = next(&first);
    let _ = second.run().await.unwrap();
    assert_eq!(
        alive.count(),
        2,
        "the first one has a context, and a node that needs it"
    );
    drop(first);
    assert_eq!(pending.data().await.unwrap().n, 2);
    assert_eq!(alive.count(), 2, "the two that were asked for");
    drop((second, pending));
    assert_eq!(alive.count(), 0);
}

#[tokio::test]
async fn a_done_node_lets_go_of_its_plain_arguments_too() {
    let alive = Alive::default();
    #[node]
    async fn add(n: usize, value: Value) -> usize {
        n + value.n
    }
    let sum = add(Context::new(1), alive.make(2));
    assert_eq!(alive.count(), 1);
    assert_eq!((sum.data().await.unwrap(), alive.count()), (3, 0));
}

#[tokio::test]
async fn a_fan_in_lets_go_of_its_branches() {
    let alive = Alive::default();
    let root = Context::new(alive.make(0));
    let branches = || (0..100).map(|_| next(&root)).collect::<Vec<_>>();
    for counted in [
        count(branches()),
        count(all(branches())),
        count(at_once(3).all(branches())),
    ] {
        assert_eq!(
            (counted.data().await.unwrap(), alive.count()),
            (100, 1),
            "only the root has a context"
        );
    }
    let found = outcomes((0..100).map(|_| number(next(&root))));
    let _ = found.run().await.unwrap();
    assert_eq!(alive.count(), 1);
}

#[node]
async fn fails(_value: &Value) -> Result<Value, String> {
    Err("no".to_owned())
}

#[tokio::test]
async fn what_failed_keeps_what_it_needs_for_another_try() {
    let alive = Alive::default();
    let failing = next(fails(next(Context::new(alive.make(0)))));
    for _ in 0..2 {
        failing.run().await.unwrap_err();
        assert_eq!(
            (alive.count(), failing.pending()),
            (1, vec!["fails".to_owned(), "next".to_owned()])
        );
    }
}

/// The origin of contexts that are still there, without the values.
#[tokio::test]
async fn the_graph_of_what_is_done_shows_where_it_came_from() {
    let alive = Alive::default();
    let first = next(Context::new(alive.make(0)));
    let both = all([next(&first), next(&first)]);
    let _ = both.run().await.unwrap();
    drop(first);
    assert_eq!(alive.count(), 2);
    let graph = number(next(Context::new(alive.make(0)))).graph();
    assert_eq!(
        graph
            .nodes
            .iter()
            .filter(|node| node.state == NodeState::Pending)
            .count(),
        2
    );
    let graph = both.graph();
    let names = graph
        .nodes
        .iter()
        .map(|node| (node.name.as_str(), node.state))
        .collect::<Vec<_>>();
    let done = NodeState::Done;
    assert_eq!(
        names,
        [
            ("value", NodeState::Given),
            ("next", done),
            ("next", done),
            ("next", done),
            ("all", done)
        ]
    );
    assert_eq!(graph.edges, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)]);
}

#[tokio::test]
async fn the_graph_of_a_long_loop_is_that_of_its_end() {
    let mut context = Context::new(0_usize);
    #[node]
    async fn add_one(n: usize) -> usize {
        n + 1
    }
    let mut most = 0;
    for round in 0..5_000 {
        context = add_one(context);
        let _ = context.run().await.unwrap();
        if round % 100 == 0 {
            most = most.max(context.graph().nodes.len());
        }
    }
    assert!((100..=1_002).contains(&most), "{most}");
}
