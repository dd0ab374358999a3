//! Answers of a journal are values that this very call gave before; where that cannot be, the error
//! names the call, the place and the cause.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unhurried::{
    Call, Context, FileStore, Hook, Journal, JournalError, JournalStore, MemoryStore, Next,
    NodeExecutionError, Outcome, Record, Run, node,
};

type Answer<T> = Result<T, NodeExecutionError>;

fn why(failure: &NodeExecutionError) -> &JournalError {
    failure
        .cause()
        .downcast_ref()
        .unwrap_or_else(|| panic!("not the journal's: {failure}"))
}

/// Time that each topic takes.
#[derive(Clone, Default)]
struct Times(Arc<HashMap<&'static str, u64>>);

#[node(ignore(times))]
async fn classify(topic: String, times: Times) -> String {
    tokio::time::sleep(Duration::from_millis(times.0[&*topic])).await;
    "fruit".to_owned()
}

#[node(ignore(times))]
async fn think(kind: String, topic: String, times: Times) -> String {
    tokio::time::sleep(Duration::from_millis(times.0[&*topic])).await;
    format!("thoughts on {topic}, a {kind}")
}

/// Decides on a partial result.
async fn ponder(topic: &'static str, times: Times) -> Answer<String> {
    let kind = classify(Context::new(topic.to_owned()), times.clone()).await?;
    if kind != "fruit" {
        return Ok("nothing".to_owned());
    }
    tokio::time::sleep(Duration::from_millis(times.0[topic])).await; // not a node's: it takes its time each time
    let thoughts = think(Context::new(kind), topic, times).await?;
    Ok(format!("{topic}: {thoughts}"))
}

fn times(apples: u64, pears: u64) -> Times {
    Times(Arc::new([("apples", apples), ("pears", pears)].into()))
}

/// Keeps so many records, then holds on to the next for ever.
struct Cut(MemoryStore, AtomicUsize);

#[unhurried::async_trait]
impl JournalStore for Cut {
    async fn find(&self, run: &str, place: &str) -> io::Result<Option<Record>> {
        self.0.find(run, place).await
    }

    async fn keep(&self, run: &str, record: Record) -> io::Result<()> {
        if self
            .1
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
            .is_err()
        {
            std::future::pending::<()>().await;
        }
        self.0.keep(run, record).await
    }

    async fn forget(&self, run: &str) -> io::Result<()> {
        self.0.forget(run).await
    }
}

#[tokio::test(start_paused = true)]
async fn named_branches_get_their_own_after_a_cut_and_with_other_timing() {
    let both = async |store: Cut, times: Times| {
        let run = Run::new("fruit").hook(Journal::new(store));
        let flows = async {
            let apples = Run::branch("apples", ponder("apples", times.clone()));
            tokio::join!(apples, Run::branch("pears", ponder("pears", times.clone())))
        };
        tokio::time::timeout(Duration::from_secs(1), run.scope(flows)).await
    };
    for kept in 0..4 {
        let store = MemoryStore::default();
        both(Cut(store.clone(), kept.into()), times(1, 5))
            .await
            .unwrap_err();
        let (apples, pears) = both(Cut(store, 9.into()), times(5, 1)).await.unwrap();
        assert_eq!(
            apples.unwrap(),
            "apples: thoughts on apples, a fruit",
            "{kept} kept"
        );
        assert_eq!(
            pears.unwrap(),
            "pears: thoughts on pears, a fruit",
            "{kept} kept"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn flows_without_names_get_their_own_or_are_refused() {
    let both = async |store: Cut, times: Times| {
        let run = Run::new("fruit").hook(Journal::new(store));
        let flows = async {
            tokio::join!(
                ponder("apples", times.clone()),
                ponder("pears", times.clone())
            )
        };
        tokio::time::timeout(Duration::from_secs(1), run.scope(flows)).await
    };
    for kept in 0..4 {
        let store = MemoryStore::default();
        let _ = both(Cut(store.clone(), kept.into()), times(1, 5)).await;
        let (apples, pears) = both(Cut(store, 9.into()), times(5, 1)).await.unwrap();
        for (topic, thoughts) in [("apples", apples), ("pears", pears)] {
            match thoughts {
                Ok(thoughts) => assert_eq!(
                    thoughts,
                    format!("{topic}: thoughts on {topic}, a fruit"),
                    "{kept} kept"
                ),
                Err(refused) => {
                    let why = why(&refused);
                    assert!(
                        matches!(why, JournalError::NoName { .. } | JournalError::Stopped(_)),
                        "{refused}"
                    );
                }
            }
        }
    }
    // And is told so before anything was cut off: with the place, the node, and what to do.
    let (_, pears) = both(Cut(MemoryStore::default(), 9.into()), times(1, 5))
        .await
        .unwrap();
    let said = pears.unwrap_err().to_string();
    assert!(
        said.contains("`classify`") && said.contains("place is 2") && said.contains("Run::branch"),
        "{said}"
    );
}

/// Fails, or never ends, or gives its input.
#[node(ignore(how))]
async fn attempt(what: String, how: &str) -> Result<String, String> {
    match how {
        "fails" => Err("no luck".to_owned()),
        "hangs" => std::future::pending().await,
        more => Ok(format!("{what}{more}")),
    }
}

/// Two flows without names, of which the one calls when the other has long ended: no flow reads
/// while another one calls.
async fn one_after_the_other(
    store: &MemoryStore,
    first: (&str, &'static str),
    second: (&str, &'static str),
) -> Answer<String> {
    let run = Run::new("fruit").hook(Journal::new(store.clone()));
    let flows = async {
        let first = tokio::time::timeout(
            Duration::from_millis(1),
            attempt(Context::new(first.0.to_owned()), first.1),
        );
        let second = async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            attempt(Context::new(second.0.to_owned()), second.1).await
        };
        let (first, second) = tokio::join!(first, second);
        // What was to come first is given, if it was.
        first.unwrap_or_else(|_| second.clone()).or(second)
    };
    run.scope(flows).await
}

#[tokio::test(start_paused = true)]
async fn flows_without_names_are_refused_by_what_was_called_in_vain_too() {
    for in_vain in ["fails", "hangs"] {
        let store = MemoryStore::default();
        let pears = one_after_the_other(&store, ("apples", in_vain), ("pears", " and juice")).await;
        assert_eq!(pears.unwrap(), "pears and juice");
        // Pears come first now: what was given for them is at another place.
        let pears = one_after_the_other(&store, ("pears", " and tea"), ("apples", in_vain)).await;
        let refused = pears.unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("at 1 `attempt` is recorded with another `what`"),
            "{in_vain}: {refused}"
        );
        // Control: who takes the same way goes on, and may have more luck.
        let apples =
            one_after_the_other(&store, ("apples", " and wine"), ("pears", " and tea")).await;
        assert_eq!(apples.unwrap(), "apples and wine");
    }
}

static ASKED: AtomicUsize = AtomicUsize::new(0);

#[node]
async fn ask(question: String, patience: u32) -> String {
    ASKED.fetch_add(1, Ordering::SeqCst);
    format!("{question} {patience}, that is the question")
}

#[tokio::test]
async fn the_same_id_with_another_input_is_refused_and_says_what_differs() {
    let store = MemoryStore::default();
    let run = async |id: &'static str, question: &str, patience: u32| {
        let question = Context::new(question.to_owned());
        Run::new(id)
            .hook(Journal::new(store.clone()))
            .scope(async { ask(question, patience).await })
            .await
    };
    assert_eq!(
        run("r", "why", 3).await.unwrap(),
        "why 3, that is the question"
    );
    assert_eq!(
        run("r", "why", 3).await.unwrap(),
        "why 3, that is the question"
    );
    assert_eq!(ASKED.load(Ordering::SeqCst), 1);
    let refused = run("r", "how", 3).await.unwrap_err();
    assert_eq!(refused.node(), "ask");
    assert!(
        refused
            .to_string()
            .contains("at 1 `ask` is recorded with another `question`;"),
        "{refused}"
    );
    let refused = run("r", "how", 4).await.unwrap_err();
    let JournalError::OtherArguments {
        place,
        node,
        arguments,
    } = why(&refused)
    else {
        panic!("{refused}")
    };
    assert_eq!(
        (&**place, &**node, &arguments[..]),
        (
            "1",
            "ask",
            &["patience".to_owned(), "question".to_owned()][..]
        )
    );
    assert_eq!(
        run("other", "how", 4).await.unwrap(),
        "how 4, that is the question"
    );
    store.forget("r").await.unwrap();
    assert_eq!(
        run("r", "how", 4).await.unwrap(),
        "how 4, that is the question"
    );
}

#[node(transient)]
async fn clock(now: u64) -> u64 {
    now
}

#[node]
async fn plan(now: u64, of: Vec<u64>) -> u64 {
    now + of.iter().sum::<u64>()
}

#[tokio::test]
async fn a_context_as_an_argument_counts_by_its_value() {
    let store = MemoryStore::default();
    let run = async |now: u64| {
        let run = Run::new("r").hook(Journal::new(store.clone()));
        run.scope(async { plan(clock(Context::new(now)), vec![1, 2]).await })
            .await
    };
    assert_eq!(run(7).await.unwrap(), 10);
    assert_eq!(
        run(7).await.unwrap(),
        10,
        "the same value, whatever it came from"
    );
    let refused = run(8).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("at 2 `plan` is recorded with another `now`;"),
        "{refused}"
    );
}

/// Keys in another order in every map.
#[node]
async fn sum(of: HashMap<String, HashMap<u64, u64>>) -> u64 {
    of.values().flat_map(HashMap::values).sum()
}

#[tokio::test]
async fn equal_arguments_are_equal_however_their_keys_are_ordered() {
    let store = MemoryStore::default();
    for _ in 0..5 {
        let inner = || (0..40_u64).map(|n| (n, n)).collect::<HashMap<_, _>>();
        let of = (0..40)
            .map(|n| (n.to_string(), inner()))
            .collect::<HashMap<_, _>>();
        let run = Run::new("r").hook(Journal::new(store.clone()));
        assert_eq!(
            run.scope(async { sum(Context::new(of)).await })
                .await
                .unwrap(),
            40 * 780
        );
    }
}

#[derive(Clone)]
struct Connection;

#[node]
async fn over(connection: Connection, n: i64) -> i64 {
    let Connection = connection;
    n
}

#[node(ignore(_connection))]
async fn without(_connection: Connection, n: i64) -> i64 {
    n
}

#[derive(Clone)]
struct Opaque(i64);

#[node]
impl Opaque {
    async fn plus(&self, n: i64) -> i64 {
        self.0 + n
    }
}

#[derive(Clone)]
struct Seen(i64);

#[node(name = "Seen.plus", ignore(self))]
impl Seen {
    async fn plus(&self, n: i64) -> i64 {
        self.0 + n
    }
}

#[derive(Clone, Serialize)]
struct Told(i64);

#[node]
impl Told {
    async fn plus(&self, n: i64) -> i64 {
        self.0 + n
    }
}

#[tokio::test]
async fn an_argument_that_is_not_data_fails_the_node_unless_it_is_left_out() {
    let store = MemoryStore::default();
    let run = async |id: &'static str, made: &dyn Fn() -> Context<i64>| {
        let run = Run::new(id).hook(Journal::new(store.clone()));
        run.scope(async { made().await }).await
    };
    let refused = run("a", &|| over(Connection, Context::new(1)))
        .await
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("its argument `connection` is not data"),
        "{refused}"
    );
    assert!(
        refused.to_string().contains("#[node(ignore(connection))]"),
        "{refused}"
    );
    assert_eq!(
        run("b", &|| without(Connection, Context::new(1)))
            .await
            .unwrap(),
        1
    );
    let refused = run("b", &|| without(Connection, Context::new(2)))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("another `n`"),
        "the rest counts: {refused}"
    );
    // The settings of a node object are arguments.
    let refused = run("c", &|| Opaque(1).plus(Context::new(1)))
        .await
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("its argument `self` is not data"),
        "{refused}"
    );
    assert_eq!(
        run("d", &|| Seen(1).plus(Context::new(1))).await.unwrap(),
        2
    );
    assert_eq!(
        run("d", &|| Seen(5).plus(Context::new(1))).await.unwrap(),
        2
    );
    assert_eq!(
        run("e", &|| Told(1).plus(Context::new(1))).await.unwrap(),
        2
    );
    let refused = run("e", &|| Told(2).plus(Context::new(1)))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("another `self`"), "{refused}");
}

#[node]
async fn half(n: f64) -> Option<f64> {
    Some(n / 2.0)
}

#[tokio::test]
async fn no_float_is_lost_on_the_way_neither_as_a_value_nor_as_an_argument() {
    let store = MemoryStore::default();
    let run = async |id: &'static str, n: f64| {
        let run = Run::new(id).hook(Journal::new(store.clone()));
        run.scope(async { half(Context::new(n)).await }).await
    };
    assert_eq!(run("a", 3.0).await.unwrap(), Some(1.5));
    assert_eq!(
        run("a", -0.0).await.unwrap_err().node(),
        "half",
        "another input"
    );
    for odd in [f64::NAN, f64::INFINITY] {
        let refused = run("b", odd).await.unwrap_err();
        assert!(
            refused.to_string().contains("its argument `n`"),
            "as JSON both are null: {refused}"
        );
    }
    let infinite = Run::new("c").hook(Journal::new(store.clone()));
    let refused = infinite
        .scope(async { divided(Context::new(1), 0).await })
        .await
        .unwrap_err();
    assert!(
        matches!(why(&refused), JournalError::Data { .. }),
        "{refused}"
    );
}

/// Counts how often it is looked through.
#[derive(Clone, Deserialize)]
struct Page {
    text: String,
    #[serde(skip)]
    walks: Arc<AtomicUsize>,
}

impl Serialize for Page {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.walks.fetch_add(1, Ordering::SeqCst);
        [(&self.text, Some(1.5_f32))].serialize(serializer)
    }
}

#[node]
async fn words(page: Page) -> usize {
    page.text.split(' ').count()
}

#[tokio::test]
async fn a_large_value_is_looked_through_once_on_its_way_into_the_journal() {
    let page = Page {
        text: "one two".to_owned(),
        walks: Arc::default(),
    };
    let run = Run::new("r").hook(Journal::new(MemoryStore::default()));
    assert_eq!(
        run.scope(async { words(Context::new(page.clone())).await })
            .await
            .unwrap(),
        2
    );
    assert_eq!(page.walks.load(Ordering::SeqCst), 1);
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct New(f32);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pair(u8, f64);

/// Every place in which a float may be.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Float {
    Alone(f64),
    Pair(i8, f64),
    Field { said: String, f: f64 },
    Seq(Vec<f64>),
    Tuple((bool, char, f64)),
    Map(BTreeMap<i64, Option<f64>>),
    Struct(New, Pair),
}

fn floats(f: f64) -> [Float; 7] {
    [
        Float::Alone(f),
        Float::Pair(-1, f),
        Float::Field {
            said: "so".to_owned(),
            f,
        },
        Float::Seq(vec![0.1, f]),
        Float::Tuple((true, 'x', f)),
        Float::Map([(-7, None), (8, Some(f))].into()),
        Float::Struct(New(f as f32), Pair(1, 0.1)),
    ]
}

#[node]
async fn same(float: Float) -> Float {
    float
}

#[tokio::test]
async fn no_float_is_lost_wherever_in_a_value_it_is() {
    for (finite, infinite) in floats(0.7).into_iter().zip(floats(f64::INFINITY)) {
        let store = MemoryStore::default();
        let run = |float: Float| {
            let run = Run::new("r").hook(Journal::new(store.clone()));
            run.scope(async move { same(Context::new(float)).await })
        };
        let refused = run(infinite).await.unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("JSON has no form for the float inf"),
            "{refused}"
        );
        run(finite.clone()).await.unwrap();
        let record = store.find("r", "1").await.unwrap().unwrap();
        assert_eq!(record.value, serde_json::to_value(&finite).unwrap());
    }
}

#[node]
async fn divided(a: i32, b: i32) -> Option<f64> {
    Some(f64::from(a) / f64::from(b))
}

mod first {
    #[unhurried::node]
    pub async fn greet(name: String) -> String {
        format!("Good day, {name}")
    }
}

mod second {
    #[unhurried::node(version = 2)]
    pub async fn greet(name: String) -> String {
        format!("Hello {name}")
    }
}

#[tokio::test]
async fn a_value_of_another_version_of_the_body_is_refused() {
    let store = MemoryStore::default();
    let run = || Run::new("r").hook(Journal::new(store.clone()));
    let name = || Context::new("Ada".to_owned());
    assert_eq!(
        run()
            .scope(async { first::greet(name()).await })
            .await
            .unwrap(),
        "Good day, Ada"
    );
    let refused = run()
        .scope(async { second::greet(name()).await })
        .await
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("at 1 `greet` is recorded in version 1, and now it is of version 2"),
        "{refused}"
    );
    store.forget("r").await.unwrap();
    assert_eq!(
        run()
            .scope(async { second::greet(name()).await })
            .await
            .unwrap(),
        "Hello Ada"
    );
    assert!(
        run()
            .scope(async { first::greet(name()).await })
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_record_of_the_old_form_is_refused_by_name_and_only_that_run() {
    let folder = Folder::new("old");
    let path = folder.0.join("journal");
    std::fs::write(
        &path,
        "{\"run\":\"r\",\"place\":\"1\",\"node\":\"greet\",\"value\":\"Hi\"}\n",
    )
    .unwrap();
    let store = FileStore::open(&path).unwrap();
    let run = async |id: &'static str| {
        let run = Run::new(id).hook(Journal::new(store.clone()));
        run.scope(async { first::greet(Context::new("Ada".to_owned())).await })
            .await
    };
    let refused = run("r").await.unwrap_err();
    let JournalError::OldForm { place, node } = why(&refused) else {
        panic!("{refused}")
    };
    assert_eq!((&**place, &**node), ("1", "greet"));
    assert!(run("other").await.is_ok());
    store.forget("r").await.unwrap();
    assert_eq!(run("r").await.unwrap(), "Good day, Ada");
}

/// Writes down the place of every node.
#[derive(Clone, Default)]
struct Places(Arc<Mutex<Vec<String>>>);

#[unhurried::async_trait]
impl Hook for Places {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        self.0
            .lock()
            .unwrap()
            .push(format!("{} {}", call.place().unwrap_or("?"), call.node()));
        next.run().await
    }
}

impl Places {
    fn sorted(&self) -> Vec<String> {
        let mut places = std::mem::take(&mut *self.0.lock().unwrap());
        places.sort();
        places
    }
}

#[node]
async fn add_one(n: i64) -> i64 {
    n + 1
}

#[node]
async fn inside(n: i64) -> Answer<i64> {
    Run::branch("in", async { add_one(add_one(Context::new(n))).await }).await
}

#[tokio::test]
async fn a_branch_counts_its_calls_by_itself_wherever_it_is() {
    let places = Places::default();
    let run = || Run::new("r").hook(places.clone());
    run()
        .scope(async {
            let first = add_one(Context::new(0));
            let one = Run::branch(1, async { inside(Context::new(0)).await });
            let odd = Run::branch("a/b.c~%", async { add_one(Context::new(0)).await });
            let last = add_one(Context::new(0));
            let spawned = Run::spawn("far", async {
                Run::branch("x", async { add_one(Context::new(0)).await }).await
            });
            let _ = (
                last.await.unwrap(),
                odd.await.unwrap(),
                one.await.unwrap(),
                first.await.unwrap(),
            );
            spawned.await.unwrap().unwrap();
            for _ in 0..2 {
                Run::branch("round", async { add_one(Context::new(0)).await })
                    .await
                    .unwrap();
            }
        })
        .await;
    let expected = [
        "/1.1 inside",
        "/1.1/in.1 add_one",
        "/1.1/in.2 add_one",
        "/a%2Fb%2Ec%7E%25.1 add_one",
        "/far/x.1 add_one",
        "/round.1 add_one",
        "/round~2.1 add_one",
        "1 add_one",
        "2 add_one",
    ];
    assert_eq!(places.sorted(), expected);
    assert_eq!(
        Run::branch("none", async { add_one(Context::new(1)).await })
            .await
            .unwrap(),
        2,
        "outside of any run"
    );
    assert_eq!(
        Run::spawn("none", async { add_one(Context::new(1)).await })
            .await
            .unwrap()
            .unwrap(),
        2
    );
    assert_eq!(places.sorted(), [""; 0]);
}

#[tokio::test]
async fn two_flows_of_one_name_at_the_same_time_are_refused() {
    let run = || Run::new("r").hook(Journal::new(MemoryStore::default()));
    let flow = || Run::branch("twin", async { add_one(Context::new(0)).await });
    let (one, other) = run().scope(async { tokio::join!(flow(), flow()) }).await;
    assert_eq!(one.unwrap(), 1);
    assert!(matches!(
        why(&other.unwrap_err()),
        JournalError::NoName { .. }
    ));
    let (one, other) = run().scope(async { (flow().await, flow().await) }).await;
    assert_eq!(
        (one.unwrap(), other.unwrap()),
        (1, 1),
        "control: one after the other"
    );
}

#[tokio::test]
async fn contexts_that_were_made_beforehand_need_no_names() {
    let store = MemoryStore::default();
    for _ in 0..2 {
        let run = Run::new("r").hook(Journal::new(store.clone()));
        let found = run.scope(async {
            let parts = (0..8).map(|n| add_one(Context::new(n))).collect::<Vec<_>>();
            let parts = futures_util::future::try_join_all(parts.iter().map(Context::data)).await?;
            plan(
                Context::new(0),
                parts.iter().map(|n| *n as u64).collect::<Vec<_>>(),
            )
            .await
        });
        assert_eq!(found.await.unwrap(), 36);
    }
}

#[tokio::test]
async fn a_node_in_a_spawned_task_belongs_to_the_run_of_its_argument_and_has_no_place() {
    let places = Places::default();
    let store = MemoryStore::default();
    let (computed, given, value) = Run::new("r")
        .hook(places.clone())
        .scope(async {
            let made = add_one(Context::new(1));
            let computed = tokio::spawn(async { add_one(made).await }).await.unwrap();
            let given = Context::new(1);
            let given = tokio::spawn(async { add_one(given).await }).await.unwrap();
            (
                computed,
                given,
                tokio::spawn(async { add_one(Context::new(1)).await })
                    .await
                    .unwrap(),
            )
        })
        .await;
    assert_eq!(
        (computed.unwrap(), given.unwrap(), value.unwrap()),
        (3, 2, 2)
    );
    assert_eq!(
        places.sorted(),
        ["1 add_one", "? add_one", "? add_one"],
        "and the last one no hook has seen"
    );
    // A journal has no record of such a call, and says so.
    let run = || Run::new("r").hook(Journal::new(store.clone()));
    let stray = run().scope(async {
        let made = add_one(Context::new(1));
        tokio::spawn(async { add_one(made).await }).await.unwrap()
    });
    let refused = stray.await.unwrap_err();
    assert!(
        matches!(why(&refused), JournalError::OutsideTheRun),
        "{refused}"
    );
    let carried = run().scope(async {
        let made = add_one(Context::new(1));
        Run::spawn("task", async { add_one(made).await })
            .await
            .unwrap()
    });
    assert_eq!(carried.await.unwrap(), 3);
    assert_eq!(
        store.find("r", "/task.1").await.unwrap().unwrap().value,
        serde_json::json!(3)
    );
}

#[tokio::test]
async fn a_spawned_branch_stops_when_nobody_waits_for_it() {
    let held = Arc::new(());
    let dropped = Arc::new(());
    let flow = |held: Arc<()>| async move {
        std::future::pending::<()>().await;
        drop(held);
    };
    let waited = Run::spawn("waited", flow(held.clone()));
    drop(Run::spawn("dropped", flow(dropped.clone())));
    while Arc::strong_count(&dropped) > 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(Arc::strong_count(&held), 2, "control");
    drop(waited);
    assert!(Run::spawn("panics", async { panic!("no") }).await.is_err());
}

/// A folder that is gone in the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("pipeline-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn record(place: usize) -> Record {
    let call = serde_json::json!({ "place": place.to_string(), "node": "n", "arguments": {}, "value": "x".repeat(100) });
    serde_json::from_value(call).unwrap()
}

#[tokio::test]
async fn a_call_that_came_to_nothing_never_takes_the_place_of_a_value() {
    let folder = Folder::new("abandoned");
    let path = folder.0.join("journal");
    let abandoned = Record {
        value: serde_json::Value::Null,
        abandoned: true,
        ..record(1)
    };
    let store = FileStore::open(&path).unwrap();
    for of_run in [abandoned.clone(), record(1), abandoned.clone()] {
        store.keep("r", of_run).await.unwrap();
    }
    assert_eq!(store.find("r", "1").await.unwrap(), Some(record(1)));
    drop(store);
    assert_eq!(
        FileStore::open(&path)
            .unwrap()
            .find("r", "1")
            .await
            .unwrap(),
        Some(record(1))
    );
    let memory = MemoryStore::default();
    for of_run in [record(1), abandoned] {
        memory.keep("r", of_run).await.unwrap();
    }
    assert_eq!(memory.find("r", "1").await.unwrap(), Some(record(1)));
}

#[tokio::test]
async fn a_file_forgets_a_run_for_good_and_becomes_smaller() {
    let folder = Folder::new("forget");
    let path = folder.0.join("journal");
    let lines = || std::fs::read_to_string(&path).unwrap().lines().count();
    let store = FileStore::open(&path).unwrap();
    let kept = async |store: &FileStore| {
        let mut kept = BTreeMap::new();
        for run in ["a", "b", "c"] {
            for place in 0..100 {
                let found = store.find(run, &place.to_string()).await.unwrap();
                *kept.entry(run).or_insert(0) +=
                    usize::from(found.is_some_and(|found| found == record(place)));
            }
        }
        (kept["a"], kept["b"], kept["c"])
    };
    for (run, records) in [("a", 10), ("b", 100), ("c", 20)] {
        for place in 0..records {
            store.keep(run, record(place)).await.unwrap();
        }
    }
    assert_eq!((kept(&store).await, lines()), ((10, 100, 20), 130));
    store.forget("a").await.unwrap();
    assert_eq!(
        (kept(&store).await, lines()),
        ((0, 100, 20), 131),
        "one line says so, as long as most of it is of use"
    );
    drop(store);
    let store = FileStore::open(&path).unwrap();
    assert_eq!(kept(&store).await, (0, 100, 20));
    store.forget("b").await.unwrap();
    assert_eq!(
        (kept(&store).await, lines()),
        ((0, 0, 20), 20),
        "written anew"
    );
    store.keep("b", record(7)).await.unwrap();
    assert!(FileStore::open(&path).is_err(), "still locked");
    drop(store);
    let store = FileStore::open(&path).unwrap();
    assert_eq!(
        (kept(&store).await, lines()),
        ((0, 1, 20), 21),
        "what came after is in the new file"
    );
    store.forget("b").await.unwrap();
    store.forget("b").await.unwrap();
    store.forget("never").await.unwrap();
    store.forget("c").await.unwrap();
    assert_eq!((kept(&store).await, lines()), ((0, 0, 0), 0));
}

#[tokio::test]
async fn what_a_compaction_left_half_done_does_no_harm() {
    let folder = Folder::new("half");
    let path = folder.0.join("journal");
    let store = FileStore::open(&path).unwrap();
    store.keep("a", record(1)).await.unwrap();
    drop(store);
    std::fs::write(folder.0.join("journal.new"), "{\"run\":\"a\",\"pl").unwrap();
    let store = FileStore::open(&path).unwrap();
    assert_eq!(store.find("a", "1").await.unwrap(), Some(record(1)));
    store.forget("a").await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
}
