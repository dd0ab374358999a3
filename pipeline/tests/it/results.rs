//! Failures: a `Result`, under any name in a signature, and no type that only is called so.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use unhurried::{
    Context, Journal, Manager, MemoryStore, Replica, ReplicaError, Run, node, replica,
};

type ApiResult<T> = Result<T, String>;
type Verdict = ApiResult<i64>;

static ASKED: AtomicUsize = AtomicUsize::new(0);

/// The first time it fails.
#[node]
async fn ask(n: i64) -> ApiResult<i64> {
    if ASKED.fetch_add(1, Ordering::SeqCst) == 0 {
        Err("not now".to_owned())
    } else {
        Ok(n + 1)
    }
}

#[node]
async fn double(n: i64) -> i64 {
    n * 2
}

#[tokio::test]
async fn an_err_is_a_failure_and_is_not_recorded_though_the_signature_has_an_alias() {
    let store = MemoryStore::default();
    let run = async || {
        let run = Run::new("alias").hook(Journal::new(store.clone()));
        run.scope(async { double(ask(Context::new(1))).await })
            .await
    };
    assert_eq!(
        run().await.unwrap_err().to_string(),
        "node `ask` failed: not now"
    );
    assert_eq!(
        run().await.unwrap(),
        4,
        "it is asked again, and gives a plain value"
    );
    assert_eq!(
        (run().await.unwrap(), ASKED.load(Ordering::SeqCst)),
        (4, 2),
        "a success is recorded"
    );
}

#[node]
async fn judge(n: i64) -> Verdict {
    if n < 5 {
        Ok(n)
    } else {
        Err("too large".to_owned())
    }
}

#[node]
async fn read_it(text: String) -> std::fmt::Result {
    if text.is_empty() {
        Err(fmt::Error)
    } else {
        Ok(())
    }
}

#[node]
async fn first<T: Clone + Send + Sync + Unpin + 'static>(
    list: Vec<T>,
) -> std::result::Result<T, String> {
    list.into_iter().next().ok_or("empty".to_owned())
}

#[derive(Clone)]
struct Limit(i64);

#[node]
impl Limit {
    async fn check(&self, n: i64) -> Verdict {
        if n < self.0 {
            Ok(n)
        } else {
            Err(format!("not below {}", self.0))
        }
    }
}

/// Somebody's own type, which happens to have this name.
mod exam {
    use super::{Deserialize, Serialize};

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct Result {
        pub points: i64,
    }
}

#[node]
async fn mark(n: i64) -> exam::Result {
    exam::Result { points: n }
}

#[node]
async fn both(n: i64) -> Option<ApiResult<i64>> {
    Some(Err(n.to_string()))
}

#[tokio::test]
async fn the_type_decides_what_may_fail_and_not_its_name() {
    assert_eq!(double(judge(Context::new(2))).await.unwrap(), 4);
    assert_eq!(judge(Context::new(7)).await.unwrap_err().node(), "judge");
    let () = read_it(Context::new("x".to_owned())).await.unwrap();
    assert!(
        read_it(Context::new(String::new()))
            .await
            .unwrap_err()
            .cause()
            .is::<fmt::Error>()
    );
    assert!(first(Context::new(Vec::<i64>::new())).await.is_err());
    assert_eq!(
        Limit(3)
            .check(Context::new(3))
            .await
            .unwrap_err()
            .to_string(),
        "node `Limit` failed: not below 3"
    );
    assert_eq!(
        mark(Context::new(3)).await.unwrap(),
        exam::Result { points: 3 }
    );
    assert_eq!(
        both(Context::new(3)).await.unwrap(),
        Some(Err("3".to_owned())),
        "a `Result` within is a value"
    );
}

#[derive(Debug, PartialEq)]
struct TooLarge(i64);

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is too large", self.0)
    }
}

impl Error for TooLarge {}

type Checked<T> = Result<T, TooLarge>;

static CHECKS: Manager = Manager::new();

struct Checker(i64);

#[replica(manager = &CHECKS)]
impl Checker {
    pub fn new(limit: i64) -> Checked<Self> {
        if limit > 100 {
            Err(TooLarge(limit))
        } else {
            Ok(Checker(limit))
        }
    }

    pub async fn check(&self, n: i64) -> Checked<i64> {
        if n > self.0 { Err(TooLarge(n)) } else { Ok(n) }
    }

    pub fn verdict(&self, n: i64) -> Verdict {
        if n > self.0 {
            Err("no".to_owned())
        } else {
            Ok(n)
        }
    }

    pub fn mark(&self) -> exam::Result {
        exam::Result { points: self.0 }
    }
}

#[node]
async fn checked(n: i64) -> Result<i64, ReplicaError> {
    Checker::get().await?.check(n).await
}

fn own<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a TooLarge> {
    error.source()?.downcast_ref()
}

#[tokio::test]
async fn a_methods_result_is_one_under_any_name_and_its_own_error_survives_a_local_call() {
    let refused = Checker::deploy(101).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`it::results::Checker::new` failed: 101 is too large"
    );
    assert_eq!(own(&refused), Some(&TooLarge(101)));
    Checker::deploy(5).await.unwrap();
    let checker = Checker::get().await.unwrap();
    assert_eq!(
        (checker.check(3).await, checker.verdict(3).await),
        (Ok(3), Ok(3))
    );
    assert_eq!(checker.mark().await, Ok(exam::Result { points: 5 }));
    let failed = checker.check(7).await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "`it::results::Checker::check` failed: 7 is too large"
    );
    assert_eq!(own(&failed), Some(&TooLarge(7)));
    let by_name = checker.call::<i64>("check", &[8]).await.unwrap_err();
    assert_eq!(own(&by_name), Some(&TooLarge(8)));
    assert_eq!(
        checker
            .verdict(7)
            .await
            .unwrap_err()
            .source()
            .unwrap()
            .to_string(),
        "no"
    );
    // And out of a node: the failure of the node, of the method, and then its own.
    let failure = checked(Context::new(9)).await.unwrap_err();
    let method = failure.cause().downcast_ref::<ReplicaError>().unwrap();
    assert_eq!(own(method), Some(&TooLarge(9)));
    // It is data as it was: what travels is the text.
    let told: ReplicaError = serde_json::from_str(&serde_json::to_string(method).unwrap()).unwrap();
    assert_eq!((&told, own(&told)), (method, None));
}
