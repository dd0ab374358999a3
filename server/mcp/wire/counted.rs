//! The transport over HTTP with its messages counted, and without secrets. It ends where there are too many, and it ends for certain.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::worker::{Worker, WorkerTransport};

use super::super::meter::Messages;
use super::veiled::veiled;
use thinkd_words::veil::Veil;

/// See the module.
pub struct Counted<W: Worker> {
    /// The transport below.
    pub inner: WorkerTransport<W>,
    /// The count of messages that come.
    pub messages: Messages,
    /// The secrets that are taken out.
    pub veil: Arc<Veil>,
}

impl<W: Worker<Role = RoleClient>> Transport<RoleClient> for Counted<W> {
    type Error = W::Error;

    fn name() -> Cow<'static, str> {
        WorkerTransport::<W>::name()
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
            if self.messages.is_over() {
                return None;
            }
            if let Some(message) = veiled(message, &self.veil) {
                return Some(message);
            }
        }
    }

    /// Reads the messages that still come until the worker has ended. A worker that waits for room
    /// in the full queue of its messages does not see that it is cancelled. A caller that waited
    /// for its end alone would wait for ever, with all calls that are under way.
    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.cancel_token().cancel();
        while self.inner.receive().await.is_some() {}
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use rmcp::transport::worker::{WorkerContext, WorkerQuitReason};
    use serde_json::json;
    use tokio::sync::mpsc;
    use tokio::time::timeout;

    use super::*;

    /// A server that says more and more; it reports each message that found room, and sees that it is cancelled between two of them.
    struct Flood(mpsc::Sender<()>);

    impl Worker for Flood {
        type Error = io::Error;
        type Role = RoleClient;

        fn err_closed() -> io::Error {
            io::Error::other("closed")
        }

        fn err_join(error: tokio::task::JoinError) -> io::Error {
            io::Error::other(error)
        }

        async fn run(
            self,
            mut context: WorkerContext<Self>,
        ) -> Result<(), WorkerQuitReason<io::Error>> {
            let params = json!({ "level": "info", "data": "x" });
            let message =
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
            while !context.cancellation_token.is_cancelled() {
                context
                    .send_to_handler(serde_json::from_value(message.clone()).unwrap())
                    .await?;
                let _ = self.0.try_send(());
            }
            Err(WorkerQuitReason::Cancelled)
        }
    }

    async fn full() -> WorkerTransport<Flood> {
        let (sent, mut sending) = mpsc::channel(1000);
        let flood = Flood(sent);
        let room = flood.config().channel_buffer_capacity;
        let transport = WorkerTransport::spawn(flood);
        for _ in 0..room {
            sending.recv().await.unwrap();
        }
        transport
    }

    #[tokio::test]
    async fn t1_03_a_flood_is_closed_while_the_queue_is_full() {
        let mut counted = Counted {
            inner: full().await,
            messages: Messages::new(),
            veil: Arc::default(),
        };
        timeout(Duration::from_secs(10), counted.close())
            .await
            .expect("it ends")
            .unwrap();
    }

    // The control: the library's own close waits for a worker that waits for room.
    #[tokio::test]
    async fn the_queue_is_full_so_the_library_alone_would_wait_for_ever() {
        let mut transport = full().await;
        assert!(
            timeout(Duration::from_millis(100), transport.close())
                .await
                .is_err(),
            "nothing to cure: use the library's"
        );
    }
}
