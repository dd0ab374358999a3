//! Counts what models are asked, what becomes of it, how long it takes and what it costs. Changes nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::{Stream, StreamExt as _};
use metrics::{counter, histogram};

use super::{Answer, Model, Piece, Pieces, Prepared, Request};
use crate::failure::{Failure, FailureKind, Who};

/// Calls, by `module_kind` and `outcome` (`done`, `failed`, `timeout`, `cancelled`).
pub const CALLS: &str = "thinkd_model_calls_total";
/// Seconds from asking to the end of the answer, by `module_kind`.
pub const SECONDS: &str = "thinkd_model_call_seconds";
/// Tokens, by `direction` (`input`, `output`; `cached` ones are among the input).
pub const TOKENS: &str = "thinkd_model_tokens_total";

/// The same model, counted.
pub fn metered(model: Arc<dyn Model>) -> Arc<dyn Model> {
    Arc::new(Metered(model))
}

struct Metered(Arc<dyn Model>);

impl Model for Metered {
    fn prepare(&self, request: &Request) -> Prepared {
        self.0.prepare(request)
    }

    fn ask(&self, prepared: Prepared) -> Pieces {
        let module_kind = module_kind(&prepared.module);
        Counted { pieces: self.0.ask(prepared), module_kind, since: Instant::now(), outcome: "cancelled" }.boxed()
    }

    fn name(&self) -> String {
        self.0.name()
    }
}

/// The sort of module: names would be a label without limit.
fn module_kind(module: &Who) -> &'static str {
    match module {
        Who::Decision => "decision",
        Who::Submodule(_) => "submodule",
        Who::Tool(_) => "tool",
        Who::Pipeline(_) => "pipeline",
        Who::Core => "core",
    }
}

/// Pieces that are counted when they end, or are dropped before.
struct Counted {
    pieces: Pieces,
    module_kind: &'static str,
    since: Instant,
    outcome: &'static str,
}

impl Stream for Counted {
    type Item = Result<Piece, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.pieces.poll_next_unpin(context);
        match &next {
            Poll::Ready(Some(Ok(Piece::End(answer)))) => {
                self.outcome = "done";
                count_tokens(answer);
            }
            Poll::Ready(Some(Err(failure))) if failure.kind == FailureKind::Timeout => self.outcome = "timeout",
            Poll::Ready(Some(Err(_))) => self.outcome = "failed",
            _ => {}
        }
        next
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        counter!(CALLS, "module_kind" => self.module_kind, "outcome" => self.outcome).increment(1);
        histogram!(SECONDS, "module_kind" => self.module_kind).record(self.since.elapsed().as_secs_f64());
    }
}

fn count_tokens(answer: &Answer) {
    let usage = answer.usage;
    let counts = [("input", usage.input_tokens), ("output", usage.output_tokens), ("cached", usage.cached_tokens)];
    for (direction, tokens) in counts {
        counter!(TOKENS, "direction" => direction).increment(tokens);
    }
}
