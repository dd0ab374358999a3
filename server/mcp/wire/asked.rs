//! The requests of servers to us while they work, and the call that each of them is about. A
//! question to a person (elicitation) goes to the asker of that call. Sampling, in which a model
//! speaks for a server, is refused, as is every request that is not named here.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    CancelledNotificationParam, ClientCapabilities, ClientConfig, ClientRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorData,
    Implementation, ProgressNotificationParam, ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{
    InboundStreamOrigin, NotificationContext, Peer, PeerRequestOptions, RequestContext, RoleClient,
    ServiceError,
};
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::CancellationToken;

use super::super::asking::{Asked, Asker, Reply};

/// The requests that run over a connection. They tell the call that a question is about.
#[derive(Debug, Default)]
pub struct Running(Mutex<HashMap<RequestId, Call>>);

/// A request that runs.
#[derive(Debug, Clone)]
struct Call {
    /// Cancelled when the request has ended in any way.
    ended: CancellationToken,
    /// The asker of people for the call. None: the request is no call of a tool.
    asker: Option<Arc<Asker>>,
    /// The token by which the server tells of its progress.
    token: Option<ProgressToken>,
}

impl Running {
    /// Sends a request and waits for its answer. A request that is dropped before that tells the
    /// server that no caller waits any more.
    pub async fn send(
        &self,
        peer: &Peer<RoleClient>,
        request: ClientRequest,
        asker: Option<Arc<Asker>>,
    ) -> Result<ServerResult, ServiceError> {
        let mut call = Call {
            ended: CancellationToken::new(),
            asker,
            token: None,
        };
        let _ended = call.ended.clone().drop_guard();
        // Held until the request is known: a server may ask before this goes on.
        let mut running = self.0.lock().await;
        let handle = peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await?;
        running.retain(|_, call| !call.ended.is_cancelled());
        call.token = Some(handle.progress_token.clone());
        running.insert(handle.id.clone(), call);
        drop(running);
        let mut left = Left(Some((peer.clone(), handle.id.clone())));
        let result = handle.await_response().await;
        left.0 = None;
        result
    }

    /// Notifies the call with this progress token that it goes on.
    async fn goes_on(&self, token: &ProgressToken) {
        let running = self.0.lock().await;
        let mut calls = running.values();
        let call = calls.find(|call| call.token.as_ref() == Some(token));
        if let Some(asker) = call.and_then(|call| call.asker.as_ref()) {
            asker.progress.notify_one();
        }
    }

    /// Waits until nothing runs.
    pub async fn all_ended(&self) {
        loop {
            let running = self.0.lock().await;
            let next = running
                .values()
                .map(|call| call.ended.clone())
                .find(|ended| !ended.is_cancelled());
            drop(running);
            let Some(ended) = next else { return };
            ended.cancelled().await;
        }
    }

    /// Returns the call that a server asks about: the one that its stream belongs to. If the stream
    /// cannot tell, returns the call that runs, if it is the only one. Programs have one stream for
    /// all, and some servers ask beside the streams.
    async fn of(&self, origin: Option<&InboundStreamOrigin>) -> Option<Call> {
        let mut running = self.0.lock().await;
        running.retain(|_, call| !call.ended.is_cancelled());
        match origin {
            Some(InboundStreamOrigin::OutboundRequest(id)) => running.get(id).cloned(),
            _ if running.len() == 1 => running.values().next().cloned(),
            _ => None,
        }
    }
}

/// A request that was left before its answer came: its server is told.
struct Left(Option<(Peer<RoleClient>, RequestId)>);

impl Drop for Left {
    fn drop(&mut self) {
        let Some((peer, id)) = self.0.take() else {
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        // It ends with the connection at the latest.
        runtime.spawn(async move {
            let _ = peer
                .notify_cancelled(CancelledNotificationParam::new(Some(id), None))
                .await;
        });
    }
}

/// Answers the requests of a server to us.
pub struct Handler {
    /// Notified when the server says that its list of tools is another one.
    pub changed: Arc<Notify>,
    /// The requests that run.
    pub running: Arc<Running>,
    /// The name of the server.
    pub server: String,
}

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let call = self
            .running
            .of(context.extensions.get::<InboundStreamOrigin>())
            .await;
        let Some(Call {
            ended,
            asker: Some(asker),
            ..
        }) = call
        else {
            tracing::warn!(
                server = self.server,
                "a server of tools asks for something from a person, and whose call that is about cannot be told: it is declined"
            );
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let over = async {
            tokio::select! {
                () = ended.cancelled() => {}
                () = context.ct.cancelled() => {}
            }
        };
        Ok(match asker.ask(form(asked), over).await {
            Reply::Given(content) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            Reply::Declined => ElicitResult::new(ElicitationAction::Decline),
            Reply::Nobody => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.running.goes_on(&progress.progress_token).await;
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let about = Implementation::new("thinkd", env!("CARGO_PKG_VERSION"));
        let mut can = ClientCapabilities::default();
        // Without a mode it is forms.
        can.elicitation = Some(ElicitationCapability::default());
        ClientConfig::new(can, about)
    }
}

/// Returns the form to be filled in. None: the server asks for something else, which no person is
/// asked for.
fn form(asked: ElicitRequestParams) -> Option<Asked> {
    match asked {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => Some(Asked {
            message,
            schema: serde_json::to_value(requested_schema).ok()?,
        }),
        _ => None,
    }
}
