//! The layers around tools: each wraps a tool and is one. Every tool has the same limits around it, of time and of the size of its
//! output; around those that wait for a person stands the gate (`gate.rs`).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::gate::Gate;
use super::supplies::Supplies;
use super::tool::{CallSite, Output, Spec, Tool};
use thinkd_log::blob::Blob;
use thinkd_log::kernel::Store;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::Space;

/// The tool inside of all layers.
pub fn layered(tool: Arc<dyn Tool>, supplies: &Supplies) -> Arc<dyn Tool> {
    let Supplies {
        store,
        approvals,
        limits,
        ..
    } = supplies;
    // Of one that has its own limit, this is for what it does not see to.
    let time = tool
        .spec()
        .time
        .map_or(limits.time, |own| own + Duration::from_secs(1));
    let runs = Arc::new(Limited {
        tool: tool.clone(),
        time,
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

/// Lets a call run for so long at most; being late is a failure of the tool. Keeps the words of a
/// tool small enough for an event: of more only the beginning, and where the whole is.
struct Limited {
    tool: Arc<dyn Tool>,
    time: Duration,
    store: Arc<dyn Store>,
    bytes: usize,
}

#[async_trait]
impl Tool for Limited {
    fn spec(&self) -> &Spec {
        self.tool.spec()
    }

    async fn call(&self, arguments: Value, site: &CallSite) -> Result<Output, Failure> {
        let Ok(outcome) = timeout(self.time, self.tool.call(arguments, site)).await else {
            let name = self.spec().name();
            let ms = self.time.as_millis();
            let text = format!("{name} did not finish within {ms} ms");
            return Err(Failure::new(FailureKind::Timeout, text).retryable());
        };
        let mut output = outcome?;
        if output.failure.is_none()
            && let Some(value) = output.value.take()
        {
            output.value = Some(bounded(&*self.store, &site.space, value, self.bytes).await);
        }
        Ok(output)
    }
}

/// Returns the output of a tool, small enough for an event: of one with more than `most` bytes the
/// beginning, and the blob that has the whole.
pub async fn bounded(store: &dyn Store, space: &Space, value: Value, most: usize) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= most {
        return value;
    }
    let begin = text[..text.floor_char_boundary(most)].to_owned();
    let bytes = text.len();
    let blob = Blob {
        mime: "text/plain; charset=utf-8".to_owned(),
        bytes: text.into(),
    };
    match store.put_blob(space, blob).await {
        Ok(sha256) => json!({ "truncated": begin, "blob": sha256, "bytes": bytes }),
        Err(error) => json!({ "truncated": begin, "bytes": bytes, "lost": error.to_string() }),
    }
}
