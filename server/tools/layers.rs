//! The layers around tools: each wraps a tool and is one. Every tool has the same layers, from the inside out: a time limit, then a limit of the
//! size of its output; around those that wait for a person stands the gate (`gate.rs`).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::gate::Gate;
use super::supplies::Supplies;
use super::tool::{CallSite, Output, Spec, Tool};
use crate::log::blob::Blob;
use crate::log::kernel::Store;
use crate::words::failure::{Failure, FailureKind};
use crate::words::id::Space;

/// The tool inside of all layers.
pub fn layered(tool: Arc<dyn Tool>, supplies: &Supplies) -> Arc<dyn Tool> {
    let Supplies {
        store,
        approvals,
        limits,
        ..
    } = supplies;
    // Of one that has its own limit, this is for what it does not see to.
    let limit = tool
        .spec()
        .time
        .map_or(limits.time, |own| own + Duration::from_secs(1));
    let runs = Arc::new(TimeLimit {
        tool: tool.clone(),
        limit,
    });
    let runs = Arc::new(SizeLimit {
        tool: runs,
        store: store.clone(),
        bytes: limits.output_bytes,
    });
    let spec = tool.spec();
    let is_marked = [Some(spec.name()), spec.alias.as_deref()]
        .into_iter()
        .flatten()
        .any(|name| approvals.marks(name));
    if spec.always_gated || is_marked {
        return Arc::new(Gate::new(tool, runs, approvals.clone(), store.clone()));
    }
    runs
}

/// Lets a call run for so long at most; being late is a failure of the tool.
struct TimeLimit {
    tool: Arc<dyn Tool>,
    limit: Duration,
}

#[async_trait]
impl Tool for TimeLimit {
    fn spec(&self) -> &Spec {
        self.tool.spec()
    }

    async fn call(&self, arguments: Value, site: &CallSite) -> Result<Output, Failure> {
        match tokio::time::timeout(self.limit, self.tool.call(arguments, site)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let text = format!(
                    "{} did not finish within {} ms",
                    self.spec().name(),
                    self.limit.as_millis()
                );
                Err(Failure::new(FailureKind::Timeout, text).retryable())
            }
        }
    }
}

/// Keeps what a tool says small enough for an event: of more only the beginning, and where the whole is.
struct SizeLimit {
    tool: Arc<dyn Tool>,
    store: Arc<dyn Store>,
    bytes: usize,
}

#[async_trait]
impl Tool for SizeLimit {
    fn spec(&self) -> &Spec {
        self.tool.spec()
    }

    async fn call(&self, arguments: Value, site: &CallSite) -> Result<Output, Failure> {
        let output = self.tool.call(arguments, site).await?;
        Ok(match output.value {
            Some(value) if output.failure.is_none() => Output {
                value: Some(self.bounded(value, &site.space).await),
                ..output
            },
            value => Output { value, ..output },
        })
    }
}

impl SizeLimit {
    async fn bounded(&self, value: Value, space: &Space) -> Value {
        let text = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if text.len() <= self.bytes {
            return value;
        }
        let end = (0..=self.bytes)
            .rev()
            .find(|end| text.is_char_boundary(*end))
            .unwrap_or(0);
        let begin = text[..end].to_owned();
        let (bytes, mime) = (text.len(), "text/plain; charset=utf-8".to_owned());
        match self
            .store
            .put_blob(
                space,
                Blob {
                    mime,
                    bytes: text.into(),
                },
            )
            .await
        {
            Ok(sha256) => json!({ "truncated": begin, "blob": sha256, "bytes": bytes }),
            Err(error) => json!({ "truncated": begin, "bytes": bytes, "lost": error.to_string() }),
        }
    }
}
