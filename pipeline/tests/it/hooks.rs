//! Hooks: the calls they see, their own answers, statistics, spans, and the journal.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use unhurried::{
    Call, Context, FileStore, Hook, Journal, JournalError, JournalStore, MemoryStore, Next,
    NodeExecutionError, Outcome, Output, Refusal, Run, Spans, Stats, all, node,
};

#[node]
async fn add_one(n: i64) -> i64 {
    n + 1
}

#[node]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[node]
async fn fails(_n: i64) -> Result<i64, String> {
    Err("no".to_owned())
}

#[node]
async fn nested(n: i64) -> Result<i64, NodeExecutionError> {
    add_one(add_one(Context::new(n))).await
}

/// Writes down the calls that a hook sees.
#[derive(Clone, Default)]
struct Watch(Arc<Mutex<Vec<String>>>);

#[unhurried::async_trait]
impl Hook for Watch {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        let parents = call.parents().collect::<Vec<_>>().join("+");
        let place = call.place().unwrap_or("?").to_owned();
        self.0.lock().unwrap().push(format!(
            "{} {place} {}({parents}) started",
            call.run(),
            call.node()
        ));
        let outcome = next.run().await;
        let end = if outcome.is_ok() {
            "finished"
        } else {
            "failed"
        };
        self.0
            .lock()
            .unwrap()
            .push(format!("{place} {} {end}", call.node()));
        outcome
    }
}

impl Watch {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn d2_58_d2_60_a_hook_sees_start_and_end_of_each_node_with_the_run_and_the_place() {
    let watch = Watch::default();
    let run = Run::new("run-7").hook(watch.clone());
    let failure = run
        .scope(async { fails(nested(Context::new(1))).await })
        .await
        .unwrap_err();
    assert_eq!(failure.node(), "fails");
    let expected = [
        "run-7 1 nested(value) started",
        "run-7 1.1 add_one(value) started",
        "1.1 add_one finished",
        "run-7 1.2 add_one(add_one) started",
        "1.2 add_one finished",
        "1 nested finished",
        "run-7 2 fails(nested) started",
        "2 fails failed",
    ];
    assert_eq!(watch.lines(), expected);
}

/// Writes down which calls flow into each.
#[derive(Clone, Default)]
struct Flow(Arc<Mutex<Vec<String>>>);

#[unhurried::async_trait]
impl Hook for Flow {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        let needs = call.needs().collect::<Vec<_>>().join(" ");
        self.0
            .lock()
            .unwrap()
            .push(format!("{} needs {needs}", call.place().unwrap_or("?")));
        next.run().await
    }
}

impl Flow {
    fn sorted(&self) -> Vec<String> {
        let mut lines = self.0.lock().unwrap().clone();
        lines.sort();
        lines
    }
}

#[tokio::test]
async fn d2_60_a_hook_sees_which_calls_flow_into_a_call() {
    let flow = Flow::default();
    let sum = Run::new("r").hook(flow.clone()).scope(async {
        let one = add_one(Context::new(1));
        let twice = add(&one, &one);
        let half = twice.data().await? / 2;
        let branches = [
            add_one(twice.taken(half)),
            add_one(Context::new(half)),
            nested(&twice),
        ];
        all(branches).data().await
    });
    assert_eq!(sum.await.unwrap(), [3, 3, 6]);
    // A value twice is one need; what was given has none, whatever the code around went by; what was taken says where it is from.
    let expected = [
        "1 needs ",
        "2 needs 1",
        "3 needs 2",
        "4 needs ",
        "5 needs 2",
        "5.1 needs ",
        "5.2 needs 5.1",
        "6 needs 3 4 5",
    ];
    assert_eq!(flow.sorted(), expected);
}

#[tokio::test]
async fn what_another_run_computed_has_no_place_in_this_one() {
    let flow = Flow::default();
    let other = Run::new("other")
        .scope(async { add_one(Context::new(1)) })
        .await;
    let sum = Run::new("r")
        .hook(flow.clone())
        .scope(async { add(add_one(Context::new(1)), &other).await })
        .await;
    assert_eq!(
        (sum.unwrap(), flow.sorted()),
        (4, vec!["1 needs ".to_owned(), "2 needs 1".to_owned()])
    );
}

#[tokio::test]
async fn d2_56_two_runs_at_once_do_not_see_each_other() {
    let one = Watch::default();
    let two = Watch::default();
    let run = |id: &'static str, watch: &Watch, n: i64| {
        let run = Run::new(id).hook(watch.clone());
        run.scope(async move { nested(Context::new(n)).await })
    };
    let (a, b) = tokio::join!(run("one", &one, 1), run("two", &two, 10));
    assert_eq!((a.unwrap(), b.unwrap()), (3, 12));
    assert_eq!((one.lines().len(), two.lines().len()), (6, 6));
    assert!(one.lines().iter().all(|line| !line.starts_with("two")));
}

#[tokio::test]
async fn a_node_called_in_a_run_belongs_to_it_wherever_it_is_read() {
    let watch = Watch::default();
    let context = Run::new("r")
        .hook(watch.clone())
        .scope(async { add_one(Context::new(1)) })
        .await;
    assert_eq!(
        tokio::spawn(context.into_future()).await.unwrap().unwrap(),
        2
    );
    assert_eq!(watch.lines().len(), 2);
    let outside = add_one(Context::new(1));
    Run::new("r")
        .hook(watch.clone())
        .scope(async { outside.data().await.unwrap() })
        .await;
    assert_eq!(
        watch.lines()[2],
        "r ? add_one(value) started",
        "and one that was not is seen all the same"
    );
}

/// Answers for one node.
struct Instead(&'static str, Output);

#[unhurried::async_trait]
impl Hook for Instead {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        if call.node() == self.0 {
            Ok(self.1.clone())
        } else {
            next.run().await
        }
    }
}

#[tokio::test]
async fn t2_63_a_hook_may_answer_instead_of_the_body() {
    let run = |output| {
        Run::new("r")
            .hook(Instead("fails", output))
            .scope(async { add_one(fails(Context::new(1))).await })
    };
    assert_eq!(run(Output::new(41_i64)).await.unwrap(), 42);
    let wrong = run(Output::new("41")).await.unwrap_err();
    assert_eq!(wrong.cause().downcast_ref(), Some(&Refusal::WrongAnswer));
}

struct Panics;

#[unhurried::async_trait]
impl Hook for Panics {
    async fn around(&self, call: &Call, _: Next<'_>) -> Outcome {
        panic!("at {}", call.node())
    }
}

#[tokio::test]
async fn a_panic_in_a_hook_is_an_error_of_the_node_too() {
    let failure = Run::new("r")
        .hook(Panics)
        .scope(async { add_one(Context::new(1)).await })
        .await
        .unwrap_err();
    assert_eq!(
        failure.cause().downcast_ref(),
        Some(&Refusal::Panicked("at add_one".to_owned()))
    );
}

#[tokio::test]
async fn hooks_stand_in_the_order_they_were_given_and_spans_are_one_of_them() {
    let outer = Stats::default();
    let inner = Stats::default();
    let run = Run::new("r")
        .hook(outer.clone())
        .hook(Instead("fails", Output::new(1_i64)))
        .hook(inner.clone())
        .hook(Spans);
    assert_eq!(
        run.scope(async { add_one(fails(Context::new(1))).await })
            .await
            .unwrap(),
        2
    );
    assert_eq!(
        (
            outer.node("fails").executions,
            inner.node("fails").executions
        ),
        (1, 0)
    );
    assert_eq!(
        (
            outer.node("add_one").executions,
            inner.node("add_one").executions
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn t2_62_statistics_count_and_are_reset() {
    let stats = Stats::default();
    let run = || Run::new("r").hook(stats.clone());
    run()
        .scope(async { nested(Context::new(1)).await })
        .await
        .unwrap();
    run()
        .scope(async { fails(Context::new(1)).await })
        .await
        .unwrap_err();
    assert_eq!(
        (
            stats.node("add_one").executions,
            stats.node("fails").failures
        ),
        (2, 1)
    );
    assert!(stats.node("nested").total >= stats.node("add_one").total);
    stats.reset();
    assert!(stats.nodes().is_empty() && stats.external_calls().is_empty());
}

#[node(ignore(counter))]
async fn counted(n: i64, counter: Counter) -> Result<i64, String> {
    let before = counter.0.fetch_add(1, Ordering::SeqCst);
    if counter.1.is_some_and(|limit| before >= limit) {
        Err("cut off".to_owned())
    } else {
        Ok(n + 1)
    }
}

/// Counts executions, and fails from a number of them on.
#[derive(Clone)]
struct Counter(Arc<AtomicUsize>, Option<usize>);

async fn five(
    store: impl JournalStore + 'static,
    counter: Counter,
) -> Result<i64, NodeExecutionError> {
    let pipeline = async {
        let mut n = Context::new(0);
        while n.data().await? < 5 {
            n = counted(n, counter.clone());
        }
        n.await
    };
    Run::new("five")
        .hook(Journal::new(store))
        .scope(pipeline)
        .await
}

#[tokio::test]
async fn a_run_started_again_does_not_repeat_what_is_recorded() {
    let store = MemoryStore::default();
    let cut_off = Arc::new(AtomicUsize::new(0));
    five(store.clone(), Counter(cut_off, Some(3)))
        .await
        .unwrap_err();
    let second = Arc::new(AtomicUsize::new(0));
    assert_eq!(
        five(store.clone(), Counter(second.clone(), None))
            .await
            .unwrap(),
        5
    );
    assert_eq!(second.load(Ordering::SeqCst), 2, "three were recorded");
    let third = Arc::new(AtomicUsize::new(0));
    assert_eq!(five(store, Counter(third.clone(), None)).await.unwrap(), 5);
    assert_eq!(third.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_journal_in_a_file_survives_a_torn_end_and_has_one_owner() {
    let folder = std::env::temp_dir().join(format!("pipeline-journal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("journal");
    let store = FileStore::open(&path).unwrap();
    five(store.clone(), Counter(Arc::default(), Some(3)))
        .await
        .unwrap_err();
    assert!(FileStore::open(&path).is_err(), "it is open already");
    drop(store);
    let mut text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 3);
    text.push_str(r#"{"run":"five","place":"4","no"#);
    std::fs::write(&path, text).unwrap();
    let counter = Arc::new(AtomicUsize::new(0));
    assert_eq!(
        five(
            FileStore::open(&path).unwrap(),
            Counter(counter.clone(), None)
        )
        .await
        .unwrap(),
        5
    );
    assert_eq!(counter.load(Ordering::SeqCst), 2);
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 5);
    std::fs::write(&path, "not a record\n").unwrap();
    let damaged = FileStore::open(&path).err().unwrap().to_string();
    assert!(damaged.contains("line 1"), "{damaged}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn branches_are_recorded_by_where_they_were_called_not_by_who_was_first() {
    let store = MemoryStore::default();
    let run = || {
        Run::new("r")
            .hook(Journal::new(store.clone()))
            .scope(async {
                let branches = (0..8).map(|n| nested(Context::new(n))).collect::<Vec<_>>();
                branches.into_iter().reduce(add).unwrap().await.unwrap()
            })
    };
    assert_eq!(run().await, 28 + 16);
    assert_eq!(store.find("r", "1").await.unwrap().unwrap().node, "nested");
    assert_eq!(
        store.find("r", "8.2").await.unwrap().unwrap().value,
        serde_json::json!(9)
    );
    assert_eq!(run().await, 28 + 16);
}

#[derive(Clone)]
struct NotData;

#[node]
async fn opaque(_n: i64) -> NotData {
    NotData
}

#[node(transient)]
async fn connect(_n: i64) -> NotData {
    NotData
}

#[node(ignore(_connection))]
async fn uses(_connection: NotData) -> i64 {
    1
}

#[tokio::test]
async fn a_journal_says_what_it_cannot_record() {
    let store = MemoryStore::default();
    let cause = async |pipeline: Context<i64>| pipeline.await.unwrap_err().cause().to_string();
    let run = || Run::new("r").hook(Journal::new(store.clone()));
    assert!(
        run()
            .scope(async { cause(uses(opaque(Context::new(1)))).await })
            .await
            .contains("#[node(transient)]")
    );
    assert_eq!(
        run()
            .scope(async { uses(connect(Context::new(1))).await })
            .await
            .unwrap(),
        1
    );
    let outside = add_one(Context::new(1));
    let refused = run().scope(async { outside.await }).await.unwrap_err();
    assert!(matches!(
        refused.cause().downcast_ref(),
        Some(JournalError::OutsideTheRun)
    ));
    let other = run()
        .scope(async { cause(add_one(add_one(Context::new(1)))).await })
        .await;
    assert_eq!(
        other,
        "the run took another way: at 2 `uses` is recorded, and now it is `add_one`"
    );
}

#[node]
async fn divided(a: f64, b: f64) -> f64 {
    a / b
}

#[tokio::test]
async fn a_journal_gives_back_every_float_as_it_was_and_refuses_what_is_none() {
    let folder = std::env::temp_dir().join(format!("pipeline-floats-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("journal");
    let quotients = async |store: FileStore| {
        let run = Run::new("floats").hook(Journal::new(store));
        run.scope(async {
            let mut found = Vec::new();
            for n in 1..2000 {
                found.push(
                    divided(
                        Context::new(f64::from(n) * 1e-7),
                        7e300 / f64::from(n % 13 + 1),
                    )
                    .await
                    .unwrap(),
                );
            }
            found
        })
        .await
    };
    let first: Vec<f64> = quotients(FileStore::open(&path).unwrap()).await;
    let replayed: Vec<f64> = quotients(FileStore::open(&path).unwrap()).await;
    let differ = first
        .iter()
        .zip(&replayed)
        .filter(|(a, b)| a.to_bits() != b.to_bits())
        .count();
    assert_eq!(differ, 0, "of {}", first.len());
    let run = Run::new("nan").hook(Journal::new(FileStore::open(&path).unwrap()));
    let refused = run
        .scope(async { divided(Context::new(0.0), 0.0).await })
        .await
        .unwrap_err();
    assert!(
        matches!(
            refused.cause().downcast_ref(),
            Some(JournalError::Data { .. })
        ),
        "{refused}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
