//! Replicas in another process: over the network, through failures, apart from other clients.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, oneshot};
use unhurried::{
    Config, Context, Data, Instance, Manager, Replica, ReplicaError, ReplicaServer, node, replica,
};

static REMOTE: Manager = Manager::new();

/// The pool of a type is one for the whole process; a test that deploys it has it alone.
static ALONE: Mutex<()> = Mutex::const_new(());

struct Calculator {
    multiplier: i64,
    calls: AtomicUsize,
}

#[replica(n = 2, manager = &REMOTE)]
impl Calculator {
    pub fn new(multiplier: i64) -> Result<Self, String> {
        if multiplier == 0 {
            Err("by zero".to_owned())
        } else {
            Ok(Calculator {
                multiplier,
                calls: AtomicUsize::new(0),
            })
        }
    }

    pub async fn multiply(&self, n: i64) -> i64 {
        n * self.multiplier
    }

    pub fn count(&self) -> usize {
        self.calls.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub fn process(&self) -> u32 {
        std::process::id()
    }

    pub fn fail(&self, why: &str) -> Result<(), String> {
        Err(why.to_owned())
    }

    pub fn panic(&self) {
        panic!("out of numbers")
    }

    pub async fn sleep(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    pub fn echo(&self, text: String, list: Vec<Option<f64>>) -> (String, Vec<Option<f64>>) {
        (text, list)
    }
}

#[node]
async fn multiply(n: i64) -> Result<i64, ReplicaError> {
    Calculator::get().await?.multiply(n).await
}

/// Not a test: the code of the other process, which is this program again. It ends with its
/// standard input.
#[tokio::test]
async fn other_process() {
    let Ok(address) = std::env::var("PIPELINE_TEST_SERVER") else {
        return;
    };
    let server = ReplicaServer::of(&REMOTE).bind(&address).await.unwrap();
    println!("\nlistening {}", server.address());
    let (stop, stopped) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::stdin().lines().count();
        drop(stop);
    });
    server.serve(async { drop(stopped.await) }).await.unwrap();
}

/// A server in a process of its own.
struct Other {
    process: Child,
    _stdin: ChildStdin,
    address: String,
}

impl Other {
    fn start(address: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "grpc::other_process", "--nocapture"])
            .env("PIPELINE_TEST_SERVER", address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap);
        let address = lines
            .find_map(|line| line.strip_prefix("listening ").map(str::to_owned))
            .unwrap();
        std::thread::spawn(move || lines.count()); // what it prints goes somewhere
        let _stdin = process.stdin.take().unwrap();
        Other {
            process,
            _stdin,
            address,
        }
    }

    fn config(&self) -> Config {
        Config::new("grpc").option("url", format!("http://{}", self.address))
    }

    fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.address.clone()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn t2_51_t2_53_d2_12_d2_47_d2_49_the_same_pipeline_over_the_network() {
    let _alone = ALONE.lock().await;
    let other = Other::start("127.0.0.1:0");
    Calculator::remember(3).unwrap();
    let pipeline = async || {
        let here = Calculator::get().await.unwrap().process().await.unwrap() == std::process::id();
        (multiply(Context::new(10)).await.unwrap(), here)
    };
    assert_eq!(
        REMOTE.runtime(Config::default(), pipeline()).await.unwrap(),
        (30, true)
    );
    assert_eq!(
        REMOTE.runtime(other.config(), pipeline()).await.unwrap(),
        (30, false)
    );

    let told = REMOTE.runtime(other.config(), async {
        let calculator = Calculator::get().await.unwrap();
        assert!(calculator.local().is_none());
        let failed = calculator.fail("not today").await.unwrap_err();
        assert_eq!(
            failed.to_string(),
            "`it::grpc::Calculator::fail` failed: not today"
        );
        let panicked = calculator.panic().await.unwrap_err();
        assert_eq!(
            panicked.to_string(),
            "`it::grpc::Calculator::panic` failed: panicked: out of numbers"
        );
        let echoed = calculator
            .echo("ü \" \n".to_owned(), vec![Some(0.1), None])
            .await
            .unwrap();
        assert_eq!(echoed, ("ü \" \n".to_owned(), vec![Some(0.1), None]));
        let unknown = calculator.call::<()>("divide", &[1]).await.unwrap_err();
        assert!(
            unknown
                .to_string()
                .contains("no method `divide`; it has: multiply, count"),
            "{unknown}"
        );
        assert_eq!(
            calculator.call::<()>("_x", &[1]).await,
            Err(ReplicaError::Private("_x".to_owned()))
        );
        let shape = calculator
            .call::<i64>("multiply", &["ten"])
            .await
            .unwrap_err();
        assert!(
            matches!(&shape, ReplicaError::Arguments { method, .. } if method == "multiply"),
            "{shape}"
        );
        calculator.multiply(7).await.unwrap()
    });
    assert_eq!(told.await.unwrap(), 21, "and the next call works");
}

#[test]
fn t2_51_from_blocking_code() {
    unhurried::block_on(async {
        let _alone = ALONE.lock().await;
        let other = Other::start("127.0.0.1:0");
        Calculator::remember(4).unwrap();
        let product = REMOTE.runtime(other.config(), async {
            multiply(Context::new(10)).await.unwrap()
        });
        assert_eq!(product.await.unwrap(), 40);
    })
    .unwrap();
}

#[tokio::test]
async fn a_server_that_dies_is_an_error_and_one_that_returns_is_deployed_to_again() {
    let _alone = ALONE.lock().await;
    let other = Other::start("127.0.0.1:0");
    Calculator::remember(3).unwrap();
    let config = other.config();
    let story = async {
        let calculator = Calculator::get().await.unwrap();
        assert_eq!(
            (
                calculator.count().await.unwrap(),
                calculator.count().await.unwrap()
            ),
            (1, 2)
        );

        let address = other.kill();
        let begun = Instant::now();
        let gone = calculator.multiply(1).await.unwrap_err();
        assert!(matches!(&gone, ReplicaError::Unreachable { .. }), "{gone}");
        let failure = multiply(Context::new(1)).await.unwrap_err();
        assert_eq!(failure.node(), "multiply");
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{:?}",
            begun.elapsed()
        );

        let _returned = Other::start(&address);
        assert_eq!(
            calculator.multiply(2).await.unwrap(),
            6,
            "with the arguments it had"
        );
        assert_eq!(calculator.count().await.unwrap(), 1, "and a new state");
        let all = futures_util::future::join_all((0..20).map(|_| calculator.count())).await;
        assert_eq!(all.into_iter().map(Result::unwrap).max(), Some(21));
    };
    REMOTE.runtime(config, story).await.unwrap();
}

#[tokio::test]
async fn t2_59_scaling_a_pool_elsewhere_keeps_what_stays() {
    let _alone = ALONE.lock().await;
    let other = Other::start("127.0.0.1:0");
    Calculator::remember(3).unwrap();
    let counts = async |calls: usize| {
        let mut counts = Vec::new();
        for _ in 0..calls {
            counts.push(Calculator::get().await.unwrap().count().await.unwrap());
        }
        counts
    };
    let story = async {
        assert_eq!(counts(4).await, [1, 1, 2, 2]);
        Calculator::scale(3).await.unwrap();
        let mut next = counts(3).await;
        next.sort();
        assert_eq!(next, [1, 3, 3]);
        Calculator::scale(1).await.unwrap();
        assert_eq!(counts(2).await, [4, 5]);
    };
    REMOTE.runtime(other.config(), story).await.unwrap();
}

/// Starts a server in this process, for tests that do not need another one.
pub(crate) async fn server(server: ReplicaServer) -> String {
    let server = server.bind("127.0.0.1:0").await.unwrap();
    let address = server.address().to_string();
    tokio::spawn(server.serve(std::future::pending()));
    address
}

pub(crate) fn at(address: &str) -> Config {
    Config::new("grpc").option("url", format!("http://{address}"))
}

/// Instances by hand, without a pool: as many clients as one likes.
async fn deploy(config: Config, n: usize) -> Result<Vec<Arc<dyn Instance>>, ReplicaError> {
    config
        .open()?
        .scale(
            Calculator::pool().spec(),
            &Data::of(&3).unwrap(),
            Vec::new(),
            n,
        )
        .await
}

async fn ask<T: DeserializeOwned>(
    instance: &Arc<dyn Instance>,
    method: &str,
) -> Result<T, ReplicaError> {
    let answer: Data = instance
        .clone()
        .call(method.to_owned(), Data::of(&[(); 0]).unwrap())
        .await?;
    Ok(answer.read().unwrap())
}

#[tokio::test]
async fn two_clients_never_reset_each_others_instances() {
    let address = server(ReplicaServer::of(&REMOTE)).await;
    let one = deploy(at(&address), 1).await.unwrap();
    assert_eq!(ask::<usize>(&one[0], "count").await, Ok(1));
    let config = at(&address).open().unwrap();
    let spec = Calculator::pool().spec();
    let two = config
        .scale(spec, &Data::of(&5).unwrap(), Vec::new(), 2)
        .await
        .unwrap();
    assert_eq!(ask::<usize>(&two[0], "count").await, Ok(1));
    assert_eq!(ask::<usize>(&one[0], "count").await, Ok(2));
    config.shutdown(spec).await.unwrap();
    assert_eq!(
        ask::<usize>(&two[0], "count").await,
        Err(ReplicaError::NotDeployed(spec.name.to_owned()))
    );
    assert_eq!(ask::<usize>(&one[0], "count").await, Ok(3));
}

mod unregistered {
    pub static NOT_OFFERED: unhurried::Manager = unhurried::Manager::new();

    pub struct Stranger;

    #[unhurried::replica(manager = &NOT_OFFERED)]
    impl Stranger {
        pub fn new() -> Self {
            Stranger
        }
    }
}

#[tokio::test]
async fn t2_52_an_unknown_class_is_named() {
    let address = server(ReplicaServer::of(&REMOTE)).await;
    let stranger = unregistered::NOT_OFFERED
        .runtime(at(&address), async {})
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        stranger,
        "no replica is named `it::grpc::unregistered::Stranger`; there are: it::grpc::Calculator"
    );
}

#[tokio::test]
async fn a_constructor_that_fails_fails_the_deployment() {
    let address = server(ReplicaServer::of(&REMOTE)).await;
    let backend = at(&address).open().unwrap();
    let by_zero = backend
        .scale(
            Calculator::pool().spec(),
            &Data::of(&0).unwrap(),
            Vec::new(),
            1,
        )
        .await;
    assert_eq!(
        by_zero.err().unwrap().to_string(),
        "`it::grpc::Calculator::new` failed: by zero"
    );
    let shape = backend
        .scale(
            Calculator::pool().spec(),
            &Data::of("x").unwrap(),
            Vec::new(),
            1,
        )
        .await;
    assert!(
        matches!(shape.err().unwrap(), ReplicaError::Arguments { method, .. } if method == "new")
    );
}

#[tokio::test]
async fn limits_end_what_takes_too_long_and_what_is_too_much() {
    let address = server(ReplicaServer::of(&REMOTE).instances_max(4)).await;
    let slow = deploy(at(&address).option("call_ms", 200), 1)
        .await
        .unwrap();
    let begun = Instant::now();
    let answer = slow[0]
        .clone()
        .call("sleep".to_owned(), Data::of(&[60_000]).unwrap())
        .await;
    assert!(matches!(
        answer.unwrap_err(),
        ReplicaError::TimedOut { limit_ms: 200, .. }
    ));
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(
        ask::<usize>(&slow[0], "count").await,
        Ok(1),
        "and the next call works"
    );
    let many = deploy(at(&address), 4).await.err().unwrap();
    assert!(
        many.to_string()
            .ends_with("cannot have 4 instances: the limit is 4, see `instances_max`"),
        "{many}"
    );

    // Someone who accepts and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = at(&silent.local_addr().unwrap().to_string()).option("call_ms", 300);
    assert!(matches!(
        deploy(config, 1).await.err().unwrap(),
        ReplicaError::TimedOut { .. }
    ));
    // Nobody at all.
    let port = silent.local_addr().unwrap();
    drop(silent);
    assert!(matches!(
        deploy(at(&port.to_string()), 1).await.err().unwrap(),
        ReplicaError::Unreachable { .. }
    ));
}

#[tokio::test]
async fn a_client_that_was_silent_too_long_gets_new_instances() {
    let address = server(ReplicaServer::of(&REMOTE).silent_for(Duration::from_millis(50))).await;
    let instances = deploy(at(&address), 1).await.unwrap();
    assert_eq!(ask::<usize>(&instances[0], "count").await, Ok(1));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(ask::<usize>(&instances[0], "count").await, Ok(1));
}

#[tokio::test]
async fn a_token_is_asked_for_and_needed_beyond_this_machine() {
    let address = server(ReplicaServer::of(&REMOTE).token("sesame")).await;
    for wrong in [
        at(&address),
        at(&address).option("token", "sesamf"),
        at(&address).option("token", "sesame "),
    ] {
        assert!(matches!(
            deploy(wrong, 1).await.err().unwrap(),
            ReplicaError::Refused(_)
        ));
    }
    let config = at(&address).option("token", "sesame");
    assert!(!format!("{config:?}").contains("sesame"));
    assert_eq!(
        ask::<usize>(&deploy(config, 1).await.unwrap()[0], "count").await,
        Ok(1)
    );
    for server in [
        ReplicaServer::of(&REMOTE),
        ReplicaServer::of(&REMOTE).token("fifteen-letters"),
    ] {
        let open = server.bind("0.0.0.0:0").await.err().unwrap().to_string();
        assert!(open.contains("set a token of 16"), "{open}");
    }
    let long = ReplicaServer::of(&REMOTE).token("sixteen--letters");
    assert!(long.bind("0.0.0.0:0").await.is_ok());
}

#[tokio::test]
async fn tls_with_an_authority_of_ones_own() {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["replicas.test".to_owned()]).unwrap();
    let ca = std::env::temp_dir().join(format!("pipeline-ca-{}.pem", std::process::id()));
    std::fs::write(&ca, cert.pem()).unwrap();
    let address =
        server(ReplicaServer::of(&REMOTE).tls(cert.pem(), signing_key.serialize_pem())).await;
    let config = Config::new("grpc")
        .option("url", format!("https://{address}"))
        .option("ca_file", ca.to_str().unwrap())
        .option("domain", "replicas.test");
    assert_eq!(
        ask::<usize>(&deploy(config.clone(), 1).await.unwrap()[0], "count").await,
        Ok(1)
    );
    let other_name = deploy(config.option("domain", "elsewhere.test"), 1)
        .await
        .err()
        .unwrap();
    assert!(
        matches!(other_name, ReplicaError::Unreachable { .. }),
        "{other_name}"
    );
    let plain = deploy(at(&address).option("call_ms", 2000), 1)
        .await
        .err()
        .unwrap();
    assert!(
        matches!(
            plain,
            ReplicaError::Unreachable { .. } | ReplicaError::TimedOut { .. }
        ),
        "{plain}"
    );
    std::fs::remove_file(ca).unwrap();
}

#[test]
fn options_that_are_not_understood_are_named() {
    let refused = |config: Config| config.open().err().unwrap().to_string();
    assert!(refused(Config::new("grpc")).contains("missing field `url`"));
    assert!(refused(at("127.0.0.1:1").option("tokn", "x")).contains("unknown field `tokn`"));
    assert!(refused(at("127.0.0.1:1").option("ca_file", "/nowhere.pem")).contains("/nowhere.pem"));
    assert!(refused(Config::new("ray")).contains("there are: grpc, local"));
}
