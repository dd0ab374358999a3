//! A hook that opens a tracing span around every node.

use async_trait::async_trait;
use tracing::Instrument;

use crate::run::{Call, Hook, Next};
use crate::value::Outcome;

/// Puts a span `node` (fields `name`, `run`, `place`) around every node, and says in it how it ended and how long it took.
///
/// ```
/// use unhurried::{Run, Spans};
///
/// let run = Run::new("order-17").hook(Spans);
/// # drop(run);
/// ```
pub struct Spans;

#[async_trait]
impl Hook for Spans {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        let span = tracing::info_span!(
            "node",
            name = call.node(),
            run = call.run(),
            place = call.place()
        );
        async {
            let started = std::time::Instant::now();
            let outcome = next.run().await;
            let took_us = started.elapsed().as_micros() as u64;
            match &outcome {
                Ok(_) => tracing::debug!(took_us, "done"),
                Err(cause) => tracing::warn!(took_us, cause = %cause, "failed"),
            }
            outcome
        }
        .instrument(span)
        .await
    }
}
