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
        let message = self.inner.receive().await?;
        Some(veiled(message, &self.veil))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// The message without the secrets. An answer that is none without them cannot be used.
fn veiled(message: RxJsonRpcMessage<RoleClient>, veil: &Veil) -> RxJsonRpcMessage<RoleClient> {
    let Ok(mut value) = to_value(&message) else {
        return message;
    };
    let mut is_changed = false;
    for member in ["params", "result", "error"] {
        if let Some(words) = value.get_mut(member) {
            is_changed |= veil.over_value(words);
        }
    }
    if !is_changed {
        return message;
    }
    let id = value.get("id").cloned().and_then(|id| from_value(id).ok());
    match (from_value(value), id) {
        (Ok(message), _) => message,
        (Err(_), Some(id)) => unusable(id),
        (Err(_), None) => message,
    }
}
