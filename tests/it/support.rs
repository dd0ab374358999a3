//! What the tests share: a scripted model server, the real binary on a database of its own, clients for its socket and its HTTP.
//! Everything waits for events, never for time to pass, and gives up after `PATIENCE` with a sentence that says what was awaited.
#![allow(dead_code, unused_imports, unused_macros, reason = "a tool box: not every tool is in use at every time")]

use std::future::Future;
use std::time::Duration;

pub mod db;
pub mod watchdog;

pub use db::Medium;

/// How long anything may take before a test calls it missing. Long: the machine may be busy. Nothing that passes waits for it.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The future's value, or a panic that says what did not come.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come within {PATIENCE:?}"),
    }
}

/// Milliseconds, shortly.
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Two tests, one a database: `on_both!(d4_37_what_is_promised, |medium| { …async code with `medium: Medium`… });`
/// makes `d4_37_what_is_promised::sqlite` and `…::postgres`.
macro_rules! on_both {
    ($name:ident, |$medium:ident| $body:block) => {
        mod $name {
            #[allow(unused_imports, reason = "whatever the file uses")]
            use super::*;

            async fn run($medium: $crate::support::Medium) $body

            #[tokio::test]
            async fn sqlite() {
                run($crate::support::Medium::sqlite()).await;
            }

            #[tokio::test]
            async fn postgres() {
                if let Some(medium) = $crate::support::Medium::postgres().await {
                    run(medium).await;
                }
            }
        }
    };
}
pub(crate) use on_both;
