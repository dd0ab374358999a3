//! Reading from code that is not async.

use std::future::Future;
use std::sync::OnceLock;

use tokio::runtime::{Handle, Runtime, RuntimeFlavor};

use crate::error::Refusal;

/// Runs a future to its end from code that is not async.
///
/// | called from | |
/// | --- | --- |
/// | a thread without a runtime | runs on a runtime of this library, started once and kept |
/// | a multi-threaded runtime | works: the other threads take over what this one had to do |
/// | a current-thread runtime | [`Refusal::WouldDeadlock`], which names the async form |
///
/// ```
/// use pipeline::Context;
///
/// let pipeline = async { Context::new(20).data().await };
/// assert_eq!(pipeline::block_on(pipeline).unwrap().unwrap(), 20);
/// ```
pub fn block_on<F: Future>(future: F) -> Result<F::Output, Refusal> {
    match Handle::try_current() {
        Err(_) => Ok(own_runtime()?.block_on(future)),
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            Ok(tokio::task::block_in_place(|| handle.block_on(future)))
        }
        Ok(_) => Err(Refusal::WouldDeadlock),
    }
}

/// Kept for the life of the process: connections to replicas live on it from one call to the next.
fn own_runtime() -> Result<&'static Runtime, Refusal> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let start = || tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("pipeline").build().ok();
    RUNTIME.get_or_init(start).as_ref().ok_or(Refusal::NoRuntime)
}
