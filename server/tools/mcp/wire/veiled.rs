//! The transport with its server's secrets taken out of all messages, before anything reads them: what a server quotes of a key is stored nowhere.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{from_value, to_value};

use super::whose::unusable;
use crate::words::veil::Veil;

/// See the module.
pub struct Veiled<T> {
    inner: T,
    veil: Arc<Veil>,
}

impl<T> Veiled<T> {
    /// Over this transport.
    pub fn new(inner: T, veil: Arc<Veil>) -> Self {
        Self { inner, veil }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Veiled<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            if self.veil.is_empty() {
                return Some(message);
            }
            if let Some(message) = veiled(message, &self.veil) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Returns the message without the secrets. An answer that is none without them cannot be used; any other message is left out.
fn veiled(
    message: RxJsonRpcMessage<RoleClient>,
    veil: &Veil,
) -> Option<RxJsonRpcMessage<RoleClient>> {
    let mut value = to_value(&message).ok()?;
    let mut is_changed = false;
    for member in ["params", "result", "error"] {
        if let Some(words) = value.get_mut(member) {
            is_changed |= veil.over_value(words);
        }
    }
    if !is_changed {
        return Some(message);
    }
    let id = value.get("id").cloned().and_then(|id| from_value(id).ok());
    from_value(value).ok().or_else(|| id.map(unusable))
}
