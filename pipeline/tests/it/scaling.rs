//! Pools that change while they are used: limits, scaling, blocks, panics, and messages that are too large.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use unhurried::{
    Backend, Config, Data, Eventually, Instance, Manager, Replica, ReplicaError, ReplicaServer,
    Spec, register_backend, replica,
};

use crate::grpc::{at, server};

static BUILT: Manager = Manager::new();
static BUILDS: AtomicUsize = AtomicUsize::new(0);

struct Many;

#[replica(n = 2, manager = &BUILT)]
impl Many {
    pub fn new() -> Result<Self, String> {
        // A test that fails should not take the machine with it.
        if BUILDS.fetch_add(1, Ordering::SeqCst) > 20_000 {
            Err("without end".to_owned())
        } else {
            Ok(Many)
        }
    }

    pub fn there(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn more_instances_than_a_manager_holds_are_refused_before_one_is_built() {
    Many::scale(1000).await.unwrap();
    for n in [1001, usize::MAX] {
        let refused = Many::scale(n).await.unwrap_err();
        assert_eq!(
            refused,
            ReplicaError::TooMany {
                replica: "it::scaling::Many".to_owned(),
                n,
                limit: 1000
            }
        );
        assert!(
            refused
                .to_string()
                .ends_with("the limit is 1000, see `instances_max`"),
            "{refused}"
        );
    }
    assert_eq!(
        (Many::pool().deployed(), BUILDS.load(Ordering::SeqCst)),
        (1000, 1000)
    );
    assert!(Many::get().await.unwrap().there().await.unwrap());
}

static SMALL: Manager = Manager::new().instances_max(3);

struct Few;

#[replica(n = 3, manager = &SMALL)]
impl Few {
    pub fn new() -> Self {
        Few
    }
}

#[tokio::test]
async fn a_managers_limit_is_a_setting() {
    Few::deploy(()).await.unwrap();
    assert!(matches!(
        Few::scale(4).await,
        Err(ReplicaError::TooMany { n: 4, limit: 3, .. })
    ));
}

static FAR: Manager = Manager::new();
static ALIVE: AtomicUsize = AtomicUsize::new(0);

/// In a server of this process: its live instances can be counted here.
struct Worker(usize);

impl Drop for Worker {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

#[replica(n = 2, manager = &FAR)]
impl Worker {
    pub fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Worker(NUMBER.fetch_add(1, Ordering::SeqCst))
    }

    pub async fn number(&self, ms: u64) -> usize {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.0
    }
}

/// The pool of a type is one for the whole process; a test that deploys it has it alone.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Waits for something that happens soon, on another task; longer than any machine needs for it, however busy it is.
async fn soon(what: impl Fn() -> bool) -> bool {
    for _ in 0..3000 {
        if what() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_while_a_remote_pool_is_scaled() {
    let _alone = ALONE.lock().await;
    let address = server(ReplicaServer::of(&FAR)).await;
    let story = async {
        let over = Arc::new(AtomicBool::new(false));
        let callers = (0..32).map(|i| {
            let over = over.clone();
            tokio::spawn(async move {
                let mut calls = 0;
                let mut failures = HashSet::new();
                while !over.load(Ordering::SeqCst) {
                    let worker = Worker::get().await.unwrap();
                    tokio::task::yield_now().await; // between having it and calling it a pool may change
                    calls += 1;
                    failures.extend(
                        worker
                            .number(i % 4)
                            .await
                            .err()
                            .map(|error| error.to_string()),
                    );
                }
                (calls, failures)
            })
        });
        let callers = callers.collect::<Vec<_>>();
        for n in (0..60).map(|i| [8, 1, 5, 2, 7, 3][i % 6]) {
            Worker::scale(n).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        over.store(true, Ordering::SeqCst);
        let mut all = 0;
        for caller in callers {
            let (calls, failures) = caller.await.unwrap();
            assert_eq!(failures, HashSet::new());
            all += calls;
        }
        println!("{all} calls by 32 callers, 60 times scaled");
        assert_eq!(Worker::pool().deployed(), 3);
        assert!(
            soon(|| ALIVE.load(Ordering::SeqCst) == 3).await,
            "what was scaled away ended: {ALIVE:?}"
        );
    };
    FAR.runtime(at(&address), story).await.unwrap();
    assert!(soon(|| ALIVE.load(Ordering::SeqCst) == 0).await);
}

#[tokio::test]
async fn an_instance_elsewhere_that_was_scaled_away_serves_who_holds_it_and_ends_with_that() {
    let _alone = ALONE.lock().await;
    let address = server(ReplicaServer::of(&FAR)).await;
    let story = async {
        let first = Worker::get().await.unwrap();
        let second = Worker::get().await.unwrap();
        let one = first.number(0).await.unwrap();
        let two = second.number(0).await.unwrap();
        assert_ne!(one, two);
        Worker::scale(1).await.unwrap();
        assert_eq!(second.number(0).await, Ok(two), "the same, not another");
        for _ in 0..3 {
            assert_eq!(
                Worker::get().await.unwrap().number(0).await,
                Ok(one),
                "nobody else gets it"
            );
        }
        Worker::scale(2).await.unwrap();
        let new = [
            Worker::get().await.unwrap().number(0).await,
            Worker::get().await.unwrap().number(0).await,
        ];
        assert!(!new.contains(&Ok(two)), "{new:?}");
        assert_eq!(
            (second.number(0).await, ALIVE.load(Ordering::SeqCst)),
            (Ok(two), 3)
        );
        drop(second);
        assert!(
            soon(|| ALIVE.load(Ordering::SeqCst) == 2).await,
            "{ALIVE:?}"
        );
        assert_eq!(first.number(0).await, Ok(one));
    };
    FAR.runtime(at(&address), story).await.unwrap();
    assert!(soon(|| ALIVE.load(Ordering::SeqCst) == 0).await);
}

static HALL: Manager = Manager::new();
static LET_IN: Semaphore = Semaphore::const_new(2);
static KNOCKED: Semaphore = Semaphore::const_new(0);
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// In a server of this process, built when it is let in.
struct Guest;

impl Drop for Guest {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

#[replica(n = 2, manager = &HALL)]
impl Guest {
    pub async fn new() -> Self {
        KNOCKED.add_permits(1);
        LET_IN.acquire().await.unwrap().forget();
        INSIDE.fetch_add(1, Ordering::SeqCst);
        Guest
    }
}

#[tokio::test]
async fn an_instance_elsewhere_that_is_let_go_of_while_others_are_built_ends() {
    let address = server(ReplicaServer::of(&HALL)).await;
    let story = async {
        let _first = Guest::get().await.unwrap();
        let second = Guest::get().await.unwrap();
        Guest::scale(1).await.unwrap();
        let letting_go = async {
            KNOCKED.acquire_many(3).await.unwrap().forget(); // the server knows of three, and builds the third
            drop(second);
            LET_IN.add_permits(1);
        };
        let (scaled, ()) = tokio::join!(Guest::scale(2), letting_go);
        scaled.unwrap();
        assert!(
            soon(|| INSIDE.load(Ordering::SeqCst) == 2).await,
            "{INSIDE:?}"
        );
    };
    HALL.runtime(at(&address), story).await.unwrap();
}

/// Instances by hand, without a pool and its limit.
async fn by_hand(
    config: Config,
    spec: &'static Spec,
    n: usize,
) -> Result<Vec<Arc<dyn Instance>>, ReplicaError> {
    config
        .open()?
        .scale(spec, &Data::of(&()).unwrap(), Vec::new(), n)
        .await
}

#[tokio::test]
async fn a_server_refuses_any_number_it_cannot_hold() {
    let address = server(ReplicaServer::of(&FAR).instances_max(4)).await;
    let _one = by_hand(at(&address), Worker::pool().spec(), 1)
        .await
        .unwrap();
    for n in [4, 5, 1 << 40, usize::MAX - 1, usize::MAX] {
        let refused = by_hand(at(&address), Worker::pool().spec(), n)
            .await
            .err()
            .unwrap();
        assert!(
            matches!(&refused, ReplicaError::TooMany { limit: 4, .. }),
            "{n}: {refused}"
        );
    }
}

static DOOR: Semaphore = Semaphore::const_new(0);
static SLOW: Manager = Manager::new();

struct Slow;

#[replica(n = 3, manager = &SLOW)]
impl Slow {
    pub async fn new() -> Self {
        DOOR.acquire().await.unwrap().forget();
        Slow
    }
}

#[tokio::test]
async fn clients_that_ask_at_once_never_have_more_than_the_limit_together() {
    let address = server(ReplicaServer::of(&SLOW).instances_max(4)).await;
    let spec = Slow::pool().spec();
    // Both are there before either has built one.
    let both = async {
        tokio::join!(
            by_hand(at(&address), spec, 3),
            by_hand(at(&address), spec, 3)
        )
    };
    let open = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        DOOR.add_permits(100);
    };
    let ((a, b), ()) = tokio::join!(both, open);
    let (built, refused): (Vec<_>, Vec<_>) = [a, b].into_iter().partition(Result::is_ok);
    assert_eq!((built.len(), refused.len()), (1, 1));
    let refused = refused.into_iter().next().unwrap().err().unwrap();
    assert!(
        matches!(&refused, ReplicaError::TooMany { n: 3, limit: 4, .. }),
        "{refused}"
    );
    // What was refused took nothing: there is room for one more, and for no second one.
    let one = by_hand(at(&address), spec, 1).await.unwrap();
    assert!(by_hand(at(&address), spec, 1).await.is_err());
    drop(one);
}

/// A backend that builds when it is told to, and says how often it was told to end.
struct Gated;

static GATE: Semaphore = Semaphore::const_new(0);
static ASKED: Semaphore = Semaphore::const_new(0);
static ENDED: AtomicUsize = AtomicUsize::new(0);

struct Hidden;

impl Instance for Hidden {
    fn call(self: Arc<Self>, _: String, arguments: Data) -> Eventually<Data> {
        Box::pin(async move { Ok(arguments) })
    }
}

#[async_trait]
impl Backend for Gated {
    async fn scale(
        &self,
        _: &'static Spec,
        _: &Data,
        _: Vec<Arc<dyn Instance>>,
        n: usize,
    ) -> Result<Vec<Arc<dyn Instance>>, ReplicaError> {
        ASKED.add_permits(1);
        GATE.acquire().await.unwrap().forget();
        Ok((0..n)
            .map(|_| Arc::new(Hidden) as Arc<dyn Instance>)
            .collect())
    }

    async fn shutdown(&self, _: &'static Spec) -> Result<(), ReplicaError> {
        ENDED.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

static GATED: Manager = Manager::new();

struct Place;

#[replica(manager = &GATED)]
impl Place {
    pub fn new() -> Self {
        Place
    }
}

async fn place_is_here() -> bool {
    Place::get().await.unwrap().local().is_some()
}

/// One story: a manager has one block at a time.
#[tokio::test]
async fn a_block_that_begins_or_ends_during_a_deployment_keeps_its_backend_to_itself() {
    register_backend("gated", |_| Ok(Arc::new(Gated)));

    GATED.configure(Config::new("gated")).unwrap();
    let deploying = tokio::spawn(place_is_here());
    ASKED.acquire().await.unwrap().forget();
    let block = GATED.runtime(Config::default(), async {
        (place_is_here().await, deploying.await.unwrap())
    });
    let open = async {
        tokio::task::yield_now().await; // the block has begun
        GATE.add_permits(1);
    };
    let (inside, ()) = tokio::join!(block, open);
    assert_eq!(
        inside.unwrap(),
        (true, true),
        "in the block all is where the block says"
    );
    assert!(
        ENDED.load(Ordering::SeqCst) > 0,
        "and what was built for nobody ended"
    );

    GATED.configure(Config::default()).unwrap();
    GATE.add_permits(1);
    let (send, begun) = tokio::sync::oneshot::channel();
    let block = tokio::spawn(GATED.runtime(Config::new("gated"), async move {
        Place::shutdown().await.unwrap();
        send.send(tokio::spawn(place_is_here())).unwrap();
        std::future::pending::<()>().await
    }));
    let late = begun.await.unwrap();
    ASKED.acquire_many(2).await.unwrap().forget(); // the block's own, and that of the task
    let ended = ENDED.load(Ordering::SeqCst);
    block.abort();
    assert!(block.await.unwrap_err().is_cancelled());
    GATE.add_permits(1);
    assert!(
        late.await.unwrap() && place_is_here().await,
        "after the block all is where it was before"
    );
    assert!(ENDED.load(Ordering::SeqCst) > ended);
}

static PANICS: Manager = Manager::new();

struct Fragile;

#[replica(manager = &PANICS)]
impl Fragile {
    pub fn new(whole: bool) -> Self {
        assert!(whole, "born broken");
        Fragile
    }

    pub fn now(&self, _: &str) {
        panic!("out of glue")
    }

    pub async fn later(&self) -> Result<(), String> {
        tokio::task::yield_now().await;
        panic!("out of tape")
    }

    pub fn fine(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_panic_in_a_method_or_a_constructor_is_an_error_here_as_it_is_elsewhere() {
    let told = |result: Result<(), ReplicaError>| result.unwrap_err().to_string();
    for config in [
        Config::default(),
        at(&server(ReplicaServer::of(&PANICS)).await),
    ] {
        PANICS.configure(config).unwrap();
        let born = told(Fragile::deploy(false).await);
        assert_eq!(
            born,
            "`it::scaling::Fragile::new` failed: panicked: born broken"
        );
        Fragile::deploy(true).await.unwrap();
        let fragile = Fragile::get().await.unwrap();
        assert_eq!(
            told(fragile.now("x").await),
            "`it::scaling::Fragile::now` failed: panicked: out of glue"
        );
        assert_eq!(
            told(fragile.later().await),
            "`it::scaling::Fragile::later` failed: panicked: out of tape"
        );
        let by_name = told(fragile.call("now", &["x"]).await);
        assert_eq!(
            by_name,
            "`it::scaling::Fragile::now` failed: panicked: out of glue"
        );
        assert_eq!(fragile.fine().await, Ok(true), "and the next call works");
        Fragile::shutdown().await.unwrap();
    }
}

static LETTERS: Manager = Manager::new();

struct Letters;

#[replica(manager = &LETTERS)]
impl Letters {
    pub fn new() -> Self {
        Letters
    }

    pub fn length(&self, text: String) -> usize {
        text.len()
    }

    pub fn of_length(&self, n: usize) -> String {
        "x".repeat(n)
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_says_so_and_names_the_limit() {
    let narrow = server(ReplicaServer::of(&LETTERS).message_bytes_max(1000)).await;
    let wide = server(ReplicaServer::of(&LETTERS)).await;
    for (config, side) in [
        (at(&narrow), "server"),
        (at(&wide).option("message_bytes_max", 1000), "client"),
    ] {
        LETTERS.configure(config).unwrap();
        let letters = Letters::get().await.unwrap();
        assert_eq!(letters.length("x".repeat(500)).await, Ok(500));
        let call = letters.length("x".repeat(1000)).await.unwrap_err();
        let answer = letters.of_length(1000).await.unwrap_err();
        for (told, method) in [(call, "length"), (answer, "of_length")] {
            let text = told.to_string();
            assert!(
                matches!(&told, ReplicaError::TooLarge { method: of, .. } if of == method),
                "{side}: {text}"
            );
            assert!(
                text.starts_with("a message of `it::scaling::Letters::"),
                "{side}: {text}"
            );
            assert!(
                text.contains("1000") && text.contains("message_bytes_max"),
                "{side}: {text}"
            );
        }
        assert_eq!(
            letters.of_length(500).await.unwrap().len(),
            500,
            "and the next call works"
        );
        Letters::shutdown().await.unwrap();
    }
}

/// A type as they are common in requests, which serde reads through a buffer of its own.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text { text: String },
    Blob { name: String, data: Vec<u8> },
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum Loose {
    Text(String),
    Bytes(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Everything {
    parts: Vec<Part>,
    loose: Vec<Loose>,
    by_key: BTreeMap<(u8, i64), Option<[u8; 3]>>,
    wide: (i128, u128),
    floats: [f64; 3],
    small: f32,
    result: Result<(), String>,
    #[serde(flatten)]
    more: BTreeMap<String, serde_json::Value>,
}

static POST: Manager = Manager::new();

struct Post;

#[replica(manager = &POST)]
impl Post {
    pub fn new() -> Self {
        Post
    }

    pub fn reversed(&self, mut bytes: Vec<u8>, _name: &str) -> Vec<u8> {
        bytes.reverse();
        bytes
    }

    pub fn sum(&self, bytes: &[u8]) -> u64 {
        bytes.iter().copied().map(u64::from).sum()
    }

    pub fn echo(&self, all: Everything) -> Everything {
        all
    }
}

#[tokio::test]
async fn bytes_travel_as_bytes_and_all_other_data_as_it_is() {
    // A call of a megabyte fits into little more than one.
    let address = server(ReplicaServer::of(&POST).message_bytes_max(1_001_000)).await;
    POST.configure(at(&address).option("message_bytes_max", 1_001_000))
        .unwrap();
    let post = Post::get().await.unwrap();
    let bytes = (0..1_000_000).map(|i| (i % 251) as u8).collect::<Vec<_>>();
    let mut reversed = post.reversed(bytes.clone(), "a").await.unwrap();
    reversed.reverse();
    assert!(reversed == bytes);
    assert_eq!(
        post.sum(&bytes).await,
        Ok(bytes.iter().copied().map(u64::from).sum())
    );
    let by_name: Vec<u8> = post.call("reversed", &(&bytes, "b")).await.unwrap();
    assert_eq!(by_name[0], bytes[999_999]);

    let all = Everything {
        parts: vec![
            Part::Text {
                text: "ü".to_owned(),
            },
            Part::Blob {
                name: "a".to_owned(),
                data: vec![0, 255, 7],
            },
            Part::Blob {
                name: "b".to_owned(),
                data: vec![],
            },
        ],
        loose: vec![
            Loose::Bytes(b"these are bytes, though they could be a text".to_vec()),
            Loose::Text("x".to_owned()),
        ],
        by_key: BTreeMap::from([((1, -5), Some([1, 2, 255])), ((255, i64::MIN), None)]),
        wide: (i128::MIN, u128::MAX),
        floats: [f64::INFINITY, 0.1, -0.0],
        small: 0.1,
        result: Err("no".to_owned()),
        more: BTreeMap::from([(
            "extra".to_owned(),
            serde_json::json!([1, {"deep": [null, 2.5, "s"]}]),
        )]),
    };
    assert_eq!(post.echo(all.clone()).await, Ok(all));
    Post::shutdown().await.unwrap();
}

#[test]
fn data_that_is_broken_is_an_error_and_nothing_else() {
    let whole = Data::of(&("text", vec![1_u8; 300], [(1, 2.5)], Some(u64::MAX))).unwrap();
    type Whole = (String, Vec<u8>, Vec<(i32, f64)>, Option<u64>);
    assert!(whole.read::<Whole>().is_ok());
    assert!(
        whole
            .read::<(String, Vec<u8>)>()
            .unwrap_err()
            .to_string()
            .contains("4 values, and only 2")
    );
    assert!(whole.read::<(String, String)>().is_err());
    let mut deep = serde_json::json!(1);
    for _ in 0..200 {
        deep = serde_json::json!([deep]);
    }
    assert!(
        Data::of(&deep)
            .unwrap()
            .read::<serde_json::Value>()
            .unwrap_err()
            .to_string()
            .contains("128 deep")
    );
}
