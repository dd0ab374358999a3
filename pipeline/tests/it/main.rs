//! The promises of the library, by their ids.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod asking;
mod blocking;
mod building;
mod cache;
mod compiling;
mod cuts;
mod examples;
mod failing;
mod fan_in;
mod grpc;
mod hooks;
mod journal;
mod keeping;
mod limits;
mod model;
mod once;
mod pieces;
mod replicas;
mod results;
mod scaling;
mod sharing;

/// `once.rs` takes its lock from here: the model checker's, see `once`.
mod sync {
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
            change(&mut self.0.lock().expect("no test panics under the lock"))
        }
    }
}
