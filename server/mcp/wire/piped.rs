//! The transport to a program: messages by line, without secrets. A line that is no message is
//! logged. It stands for an unusable answer to the call that it names, or is counted if it names
//! none.

use std::io;
use std::sync::Arc;

use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::Empty;
use tokio::process::{ChildStdin, ChildStdout};

use super::super::child::Said;
use super::super::meter::{Garbled, Lines};
use super::veiled::veiled;
use super::whose::{misspoken, unusable};
use thinkd_words::digits::readable;
use thinkd_words::veil::Veil;

/// See the module.
pub struct Piped {
    /// The lines that the program writes.
    pub output: Lines<ChildStdout>,
    /// The writer of the library. Its reader would pass over a line that is no message, even if the
    /// line names a call.
    pub input: AsyncRwTransport<RoleClient, Empty, ChildStdin>,
    /// The count of lines that are no messages.
    pub garbled: Garbled,
    /// The log of these lines.
    pub said: Said,
    /// The secrets that are taken out.
    pub veil: Arc<Veil>,
}

impl Piped {
    /// Returns the message of a line, if the line is one or stands for one.
    fn message(&mut self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        let text = std::str::from_utf8(line)
            .unwrap_or("no letters")
            .trim_start_matches('\u{feff}')
            .trim();
        if text.is_empty() {
            return None;
        }
        // A number that no message has, or half a character, would cost the whole answer.
        let text = readable(text);
        serde_json::from_str(&text).ok().or_else(|| {
            self.said.line(line);
            let odd = misspoken(&text).map(unusable);
            if odd.is_none() {
                self.garbled.add();
            }
            odd
        })
    }
}

impl Transport<RoleClient> for Piped {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.input.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.output.next().await?;
            let message = self.message(&line);
            if let Some(message) = message.and_then(|it| veiled(it, &self.veil)) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.input.close().await
    }
}
