//! Common loops over contexts, as ordinary functions.

use crate::context::Context;
use crate::error::{NodeExecutionError, Refusal};
use crate::value::Value;

/// Applies `step` until `done` says so of the value, at most `at_most` times.
///
/// ```
/// use unhurried::{Context, node, repeat_until};
///
/// #[node]
/// async fn refine(quality: f64) -> f64 {
///     quality + 0.2
/// }
///
/// let good = unhurried::block_on(repeat_until(Context::new(0.3), refine, |quality| *quality >= 0.85, 10));
/// assert!(good.unwrap().unwrap().blocking_data().unwrap() >= 0.85);
/// ```
pub async fn repeat_until<T: Value>(
    start: Context<T>,
    step: impl Fn(Context<T>) -> Context<T>,
    done: impl Fn(&T) -> bool,
    at_most: usize,
) -> Result<Context<T>, NodeExecutionError> {
    let mut context = start;
    for _ in 0..at_most {
        if done(&context.data().await?) {
            return Ok(context);
        }
        context = step(context);
    }
    if done(&context.data().await?) {
        return Ok(context);
    }
    let refusal = Refusal::LimitReached(at_most);
    Err(NodeExecutionError::refused("repeat_until", refusal))
}
