//! A layer around models that counts calls, outcomes, durations and tokens. It changes nothing.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::{Stream, StreamExt as _};
use metrics::{counter, histogram};
use parking_lot::Mutex;

use super::provider::{Answer, AskedModel, Model, Piece, Pieces, Prepared, Request, Tier};
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::Name;

/// Calls, by `module_kind` and `outcome` (`done`, `failed`, `timeout`, `cancelled`).
pub const CALLS: &str = "thinkd_model_calls_total";
/// Seconds from asking to the end of the answer, by `module_kind`.
pub const SECONDS: &str = "thinkd_model_call_seconds";
/// Tokens, by `direction` (`input`, `output`; `cached` ones are among the input).
pub const TOKENS: &str = "thinkd_model_tokens_total";

/// Calls of a submodule, by `submodule` and `outcome`; and its tokens, by `submodule` and `direction`.
pub const SUBMODULE_CALLS: &str = "thinkd_submodule_calls_total";
/// See `SUBMODULE_CALLS`.
pub const SUBMODULE_TOKENS: &str = "thinkd_submodule_tokens_total";

/// Names of submodules that are labels of metrics: those that speak first after the start. Clients make names, and a label
/// for every one that was ever made would have no end.
const LABELS_MAX: usize = 256;

/// The label of a submodule: its name, or `other` when there are too many.
pub fn label(name: &Name) -> String {
    // A plain mutex: held for a look-up.
    static KNOWN: Mutex<BTreeSet<Name>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock();
    if !known.contains(name) {
        if known.len() >= LABELS_MAX {
            return "other".to_owned();
        }
        known.insert(name.clone());
    }
    name.to_string()
}

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
        let submodule = match &prepared.module {
            Who::Submodule(name) => Some(label(name)),
            _ => None,
        };
        Counted {
            pieces: self.0.ask(prepared),
            module_kind,
            submodule,
            since: Instant::now(),
            outcome: "cancelled",
        }
        .boxed()
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn asked(&self, module: &Who, tier: Tier) -> String {
        self.0.asked(module, tier)
    }

    fn known(&self) -> Vec<AskedModel> {
        self.0.known()
    }
}

/// The sort of module: names would be a label without limit.
fn module_kind(module: &Who) -> &'static str {
    match module {
        Who::Decision => "decision",
        Who::Submodule(_) => "submodule",
        Who::Tool(_) => "tool",
        Who::Pipeline(_) => "pipeline",
        Who::Trial => "trial",
        Who::Summary => "summary",
        Who::Mission(_) => "mission",
        Who::Core => "core",
    }
}

/// Pieces that are counted when they end, or are dropped before.
struct Counted {
    pieces: Pieces,
    module_kind: &'static str,
    submodule: Option<String>,
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
                count_tokens(answer, self.submodule.as_ref());
            }
            Poll::Ready(Some(Err(failure))) if failure.kind == FailureKind::Timeout => {
                self.outcome = "timeout"
            }
            Poll::Ready(Some(Err(_))) => self.outcome = "failed",
            _ => {}
        }
        next
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        counter!(CALLS, "module_kind" => self.module_kind, "outcome" => self.outcome).increment(1);
        if let Some(submodule) = self.submodule.take() {
            counter!(SUBMODULE_CALLS, "submodule" => submodule, "outcome" => self.outcome)
                .increment(1);
        }
        histogram!(SECONDS, "module_kind" => self.module_kind)
            .record(self.since.elapsed().as_secs_f64());
    }
}

fn count_tokens(answer: &Answer, submodule: Option<&String>) {
    let usage = answer.usage;
    let counts = [
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("cached", usage.cached_tokens),
    ];
    for (direction, tokens) in counts {
        counter!(TOKENS, "direction" => direction).increment(tokens);
        if let Some(submodule) = submodule {
            counter!(SUBMODULE_TOKENS, "submodule" => submodule.clone(), "direction" => direction)
                .increment(tokens);
        }
    }
}
