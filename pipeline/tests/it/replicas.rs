//! Replicas in this process: declaration, handles, managers, the runtime block, further backends, statistics.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use unhurried::{
    Backend, Config, Context, Data, Eventually, Instance, Manager, NodeExecutionError, Replica,
    ReplicaError, Run, Spec, Stats, node, register_backend, replica,
};

/// Instances alive, by the type that counts them.
struct Alive(&'static AtomicUsize);

impl Alive {
    fn one(counter: &'static AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Alive(counter)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

static TOOLS: Manager = Manager::new();
static ADDERS: AtomicUsize = AtomicUsize::new(0);

struct Adder {
    amount: i64,
    calls: AtomicUsize,
    _alive: Alive,
}

#[replica(n = 2, manager = &TOOLS)]
impl Adder {
    pub fn new(amount: i64) -> Self {
        Adder {
            amount,
            calls: AtomicUsize::new(0),
            _alive: Alive::one(&ADDERS),
        }
    }

    pub async fn add(&self, n: i64) -> i64 {
        self.calls.fetch_add(1, Ordering::SeqCst);
        n + self.amount
    }

    /// Returns the number of this call of the instance.
    pub fn count(&self) -> usize {
        self.calls.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub fn join(&self, words: &[String], by: &str) -> Result<String, String> {
        if words.is_empty() {
            Err("no words".to_owned())
        } else {
            Ok(words.join(by))
        }
    }
}

#[node]
async fn add_one(n: i64) -> i64 {
    n + 1
}

#[node]
async fn by_replica(n: i64) -> Result<i64, ReplicaError> {
    Adder::get().await?.add(n).await
}

/// One story, for the instances of a type are everybody's: declared (D2.40), of a manager (D2.36), deployed (D2.37), got (D2.39), shut
/// down (D2.38). D2.46: nothing is configured, so they are local: `local()` is the
/// instance itself, in this process, and no network is used.
#[tokio::test]
async fn t2_41_t2_42_t2_43_d2_35_to_d2_41_the_life_of_a_replica() {
    let pool = TOOLS.find("Adder").unwrap();
    assert_eq!(
        (pool.spec().name, pool.spec().n),
        ("it::replicas::Adder", 2)
    );
    assert!(
        Manager::standard().find("Adder").is_err(),
        "another manager's"
    );
    assert_eq!(ADDERS.load(Ordering::SeqCst), 0, "declaring builds nothing");
    assert_eq!(
        Adder::get().await.err(),
        Some(ReplicaError::NoArguments("it::replicas::Adder".to_owned()))
    );

    Adder::deploy(5).await.unwrap();
    assert_eq!((pool.deployed(), ADDERS.load(Ordering::SeqCst)), (2, 2));
    Adder::deploy(7).await.unwrap();
    let a = Adder::get().await.unwrap();
    let b = Adder::get().await.unwrap();
    assert_eq!(
        (a.local().unwrap().amount, b.local().unwrap().amount),
        (5, 5),
        "deployed is deployed"
    );
    for expected in [1, 1, 2, 2, 3, 3] {
        assert_eq!(
            Adder::get().await.unwrap().count().await.unwrap(),
            expected,
            "A, B, A, B, …"
        );
    }
    assert_eq!(
        a.join(&["x".to_owned(), "y".to_owned()], "-")
            .await
            .unwrap(),
        "x-y"
    );
    assert_eq!(
        a.join(&[], "-").await.unwrap_err().to_string(),
        "`it::replicas::Adder::join` failed: no words"
    );
    assert_eq!(by_replica(add_one(Context::new(3))).await.unwrap(), 9);

    drop((a, b));
    Adder::shutdown().await.unwrap();
    assert_eq!(
        (pool.deployed(), ADDERS.load(Ordering::SeqCst)),
        (0, 0),
        "and their cleanup ran"
    );
    assert_eq!(
        by_replica(add_one(Context::new(3))).await.unwrap(),
        9,
        "with what it remembered"
    );
    Adder::shutdown().await.unwrap();
    Adder::deploy(7).await.unwrap();
    assert_eq!(by_replica(Context::new(1)).await.unwrap(), 8);

    TOOLS.deploy_all().await.unwrap();
    assert_eq!(pool.deployed(), 2);
    TOOLS.shutdown_all().await.unwrap();
    assert_eq!(ADDERS.load(Ordering::SeqCst), 0);
}

static CALLING: Manager = Manager::new();

struct Echo;

#[replica(manager = &CALLING)]
impl Echo {
    pub fn new() -> Self {
        Echo
    }

    pub fn echo(&self, value: serde_json::Value, times: usize) -> Vec<serde_json::Value> {
        vec![value; times]
    }

    pub fn nothing(&self) {}

    fn _private(&self) {}
}

#[tokio::test]
async fn t2_57_d2_48_calls_by_name_know_what_there_is() {
    let echo = Echo::get().await.unwrap();
    echo.local().unwrap()._private();
    let value = serde_json::json!({"a": [1, 2.5, null, "ü"]});
    let echoed: Vec<serde_json::Value> = echo.call("echo", &(&value, 2)).await.unwrap();
    assert_eq!(echoed, [value.clone(), value]);
    let () = echo.call("nothing", &[(); 0]).await.unwrap();
    assert_eq!(
        echo.call::<()>("_private", &[(); 0]).await,
        Err(ReplicaError::Private("_private".to_owned()))
    );
    let unknown = echo.call::<()>("shout", &[(); 0]).await.unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "`it::replicas::Echo` has no method `shout`; it has: echo, nothing"
    );
    let shape = echo.call::<()>("echo", &("x", "y")).await.unwrap_err();
    assert!(
        matches!(&shape, ReplicaError::Arguments { method, .. } if method == "echo"),
        "{shape}"
    );
    let answer = echo.call::<i64>("echo", &("x", 1)).await.unwrap_err();
    assert!(matches!(answer, ReplicaError::Answer { .. }));
}

mod elsewhere {
    pub struct Twin;

    #[unhurried::replica(manager = &super::CALLING)]
    impl Twin {
        pub fn new() -> Self {
            Twin
        }
    }
}

struct Twin;

#[replica(manager = &CALLING)]
impl Twin {
    pub fn new() -> Self {
        Twin
    }
}

#[test]
fn names_are_full_paths_and_ambiguous_short_ones_are_errors() {
    let ambiguous = CALLING.find("Twin").err().unwrap();
    let candidates = vec![
        "it::replicas::Twin".to_owned(),
        "it::replicas::elsewhere::Twin".to_owned(),
    ];
    assert_eq!(
        ambiguous,
        ReplicaError::Ambiguous {
            name: "Twin".to_owned(),
            candidates
        }
    );
    assert_eq!(
        CALLING
            .find("it::replicas::Twin")
            .unwrap()
            .spec()
            .short_name(),
        "Twin"
    );
    let unknown = CALLING.find("Triplet").err().unwrap().to_string();
    assert!(
        unknown.contains("no replica is named `Triplet`; there are: it::replicas::Echo"),
        "{unknown}"
    );
}

static BLOCK: Manager = Manager::new();
static PINGS: AtomicUsize = AtomicUsize::new(0);

struct Ping(#[allow(dead_code)] Alive);

#[replica(n = 2, manager = &BLOCK)]
impl Ping {
    pub fn new() -> Self {
        Ping(Alive::one(&PINGS))
    }

    pub fn ping(&self) -> bool {
        true
    }
}

#[node]
async fn ping(_n: ()) -> Result<bool, ReplicaError> {
    assert_eq!(
        PINGS.load(Ordering::SeqCst),
        2,
        "all are there before the first node"
    );
    Ping::get().await?.ping().await
}

#[node]
async fn outer(n: ()) -> Result<bool, NodeExecutionError> {
    ping(Context::new(n)).await
}

fn pings() -> usize {
    PINGS.load(Ordering::SeqCst)
}

/// One story: a manager has one block at a time. D2.43, D2.44: all is there for the first node, and gone afterwards.
#[tokio::test]
async fn t2_44_d2_42_to_d2_45_the_runtime_block_has_everything_inside_and_nothing_after() {
    assert!(
        BLOCK
            .runtime(Config::default(), async { outer(Context::new(())).await })
            .await
            .unwrap()
            .unwrap()
    );
    assert_eq!(pings(), 0);

    let failed = BLOCK
        .runtime(Config::default(), async { Err::<(), _>(pings()) })
        .await
        .unwrap();
    assert_eq!((failed, pings()), (Err(2), 0), "after an error");

    let endless = BLOCK.runtime(Config::default(), std::future::pending::<()>());
    assert!(
        tokio::time::timeout(std::time::Duration::from_millis(20), endless)
            .await
            .is_err()
    );
    assert_eq!(pings(), 0, "after a cancellation");

    let panicked = tokio::spawn(BLOCK.runtime(Config::default(), async { panic!("in the block") }));
    assert!(panicked.await.unwrap_err().is_panic());
    assert_eq!(pings(), 0, "after a panic");

    let nested = BLOCK.runtime(Config::default(), async {
        let second = BLOCK.runtime(Config::default(), async {}).await;
        (second, pings())
    });
    assert_eq!(nested.await.unwrap(), (Err(ReplicaError::BlockIsOpen), 2));

    assert!(
        Ping::get().await.unwrap().ping().await.unwrap(),
        "outside: a deployment of its own"
    );
    assert_eq!(pings(), 2);
    BLOCK.runtime(Config::default(), async {}).await.unwrap();
    assert_eq!(pings(), 0, "nothing of before is left");

    let unknown = BLOCK
        .runtime(Config::new("carrier pigeon"), async {})
        .await
        .unwrap_err();
    assert!(
        unknown
            .to_string()
            .starts_with("there is no backend `carrier pigeon`; there are: "),
        "{unknown}"
    );
    assert!(unknown.to_string().contains("local"), "{unknown}");
    let options = BLOCK
        .runtime(Config::default().option("url", "x"), async {})
        .await
        .unwrap_err();
    assert_eq!(
        options.to_string(),
        "the options of backend `local`: it has none, and was given url"
    );
}

static WARM: Manager = Manager::new();
static WARMED: AtomicUsize = AtomicUsize::new(0);

struct Warm {
    value: i64,
}

#[replica(n = 2, manager = &WARM)]
impl Warm {
    pub async fn new(value: i64, _name: String) -> Result<Self, String> {
        if value < 0 {
            Err("too cold".to_owned())
        } else {
            Ok(Warm { value })
        }
    }

    #[init]
    fn double(&mut self) {
        WARMED.fetch_add(1, Ordering::SeqCst);
        self.value *= 2;
    }

    pub fn value(&self) -> i64 {
        self.value
    }
}

#[tokio::test]
async fn t2_45_the_initialiser_is_called_once_per_instance_and_a_constructor_may_fail() {
    let failed = Warm::deploy((-1, "x".to_owned())).await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "`it::replicas::Warm::new` failed: too cold"
    );
    Warm::deploy((10, "x".to_owned())).await.unwrap();
    assert_eq!(WARMED.load(Ordering::SeqCst), 2);
    for _ in 0..2 {
        assert_eq!(Warm::get().await.unwrap().value().await.unwrap(), 20);
    }
}

static SCALED: Manager = Manager::new();

struct Counter(AtomicUsize);

#[replica(n = 2, manager = &SCALED)]
impl Counter {
    pub fn new() -> Self {
        Counter(AtomicUsize::new(0))
    }

    pub fn count(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

async fn counts(calls: usize) -> Vec<usize> {
    let mut counts = Vec::new();
    for _ in 0..calls {
        counts.push(Counter::get().await.unwrap().count().await.unwrap());
    }
    counts
}

#[tokio::test]
async fn t2_59_scaling_keeps_what_stays() {
    assert_eq!(counts(4).await, [1, 1, 2, 2]);
    Counter::scale(3).await.unwrap();
    let mut next = counts(3).await;
    next.sort();
    assert_eq!(
        next,
        [1, 3, 3],
        "the new one is in the rotation, the others go on"
    );
    Counter::scale(1).await.unwrap();
    assert_eq!(counts(2).await, [4, 5], "the first stays, with its count");
    assert_eq!(
        Counter::scale(0).await,
        Err(ReplicaError::NoInstances(
            "it::replicas::Counter".to_owned()
        ))
    );
}

static BUSY: Manager = Manager::new();

struct Desk;

#[replica(n = 2, least_busy, manager = &BUSY)]
impl Desk {
    pub fn new() -> Self {
        Desk
    }
}

#[tokio::test]
async fn the_least_busy_is_the_one_fewest_hold() {
    let same = |a: &DeskProxy, b: &DeskProxy| std::ptr::eq(a.local().unwrap(), b.local().unwrap());
    let first = Desk::get().await.unwrap();
    let second = Desk::get().await.unwrap();
    assert!(!same(&first, &second));
    drop(first);
    for _ in 0..3 {
        assert!(
            !same(&Desk::get().await.unwrap(), &second),
            "the one that is free again, and again"
        );
    }
}

/// A backend of this test: instances that write down their calls, in front of local ones.
struct Told;

static TOLD: AtomicUsize = AtomicUsize::new(0);

struct Telling(Arc<dyn Instance>);

impl Instance for Telling {
    fn call(self: Arc<Self>, method: String, arguments: Data) -> Eventually<Data> {
        TOLD.fetch_add(1, Ordering::SeqCst);
        self.0.clone().call(method, arguments)
    }
}

#[async_trait]
impl Backend for Told {
    async fn scale(
        &self,
        spec: &'static Spec,
        arguments: &Data,
        mut existing: Vec<Arc<dyn Instance>>,
        n: usize,
    ) -> Result<Vec<Arc<dyn Instance>>, ReplicaError> {
        existing.truncate(n);
        while existing.len() < n {
            existing.push(Arc::new(Telling(
                (spec.construct)(arguments.clone()).await?,
            )));
        }
        Ok(existing)
    }

    async fn shutdown(&self, _: &'static Spec) -> Result<(), ReplicaError> {
        Ok(())
    }
}

static ANYWHERE: Manager = Manager::new();

struct Shout;

#[replica(n = 2, manager = &ANYWHERE)]
impl Shout {
    pub fn new() -> Self {
        Shout
    }

    pub fn shout(&self, text: &str) -> String {
        text.to_uppercase()
    }
}

#[node]
async fn shout(text: String) -> Result<String, ReplicaError> {
    Shout::get().await?.shout(&text).await
}

#[tokio::test]
async fn d2_57_d2_12_d2_49_another_backend_is_a_name_in_the_configuration() {
    register_backend("told", |_| Ok(Arc::new(Told)));
    for (backend, told) in [("local", 0), ("told", 1)] {
        let said = ANYWHERE.runtime(Config::new(backend), async {
            shout(Context::new("hey".to_owned())).await
        });
        assert_eq!(said.await.unwrap().unwrap(), "HEY");
        assert_eq!(TOLD.load(Ordering::SeqCst), told);
    }
    assert!(
        Shout::get().await.unwrap().local().is_some(),
        "afterwards the backend is what it was"
    );
}

static STATS: Manager = Manager::new();

macro_rules! service {
    ($name:ident) => {
        struct $name;

        #[replica(manager = &STATS)]
        impl $name {
            pub fn new() -> Self {
                $name
            }

            pub fn call_it(&self) {}
        }
    };
}

service!(Search);
service!(Model);
service!(Memory);
service!(Clock);

/// Calls a replica some times.
async fn times<R: Replica>(n: usize, call: impl AsyncFn(R::Proxy)) {
    for _ in 0..n {
        call(R::get().await.unwrap()).await;
    }
}

#[node]
async fn searches(n: usize) -> usize {
    for _ in 0..n {
        Search::get().await.unwrap().call_it().await.unwrap();
    }
    Model::get().await.unwrap().call_it().await.unwrap();
    n
}

#[node]
async fn remembers(n: usize) -> usize {
    Memory::get().await.unwrap().call_it().await.unwrap();
    n
}

#[node]
async fn thinks(n: usize) -> usize {
    n
}

#[tokio::test]
async fn t2_60_t2_61_statistics_know_which_node_calls_which_replica_how_often() {
    let stats = Stats::default();
    for n in [3, 5] {
        let run = Run::new("r").hook(stats.clone());
        run.scope(async {
            thinks(remembers(searches(Context::new(n)))).await.unwrap();
            times::<Clock>(1, async |clock| clock.call_it().await.unwrap()).await;
        })
        .await;
    }
    let full = |name: &str| format!("it::replicas::{name}");
    let dependencies = stats.dependencies();
    assert_eq!(dependencies["searches"], [full("Model"), full("Search")]);
    assert_eq!(
        (
            dependencies["remembers"].as_slice(),
            dependencies["thinks"].len()
        ),
        ([full("Memory")].as_slice(), 0)
    );
    let searches = stats.node("searches");
    assert_eq!(
        (
            searches.average_calls(&full("Search")),
            searches.replica_calls[&full("Search")]
        ),
        (4.0, 8)
    );
    assert_eq!(stats.external_calls()[&full("Clock")], 2);
}
