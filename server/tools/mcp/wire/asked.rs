//! What servers ask of us while they work, and whose call that is about: a question to a person (elicitation) goes to the one who made the call.
//! That a model speaks for them (sampling) is refused, as all is that is not named here.

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

/// What runs over a connection, so that it is known whose call a question is about.
#[derive(Debug, Default)]
pub struct Running(Mutex<HashMap<RequestId, Call>>);

/// A request that runs.
#[derive(Debug, Clone)]
struct Call {
    /// Cancelled when it has ended, however it did.
    ended: CancellationToken,
    /// Who asks people for it; none: it is no call of a tool.
    asker: Option<Arc<Asker>>,
    /// The sign by which the server tells of its progress.
    token: Option<ProgressToken>,
}

impl Running {
    /// Sends a request and waits for its answer. Dropped before that, it tells the server that nobody waits any more.
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

    /// The call that a server tells the progress of goes on.
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

    /// The call that a server asks about: that on whose stream it asks. Where that cannot be told (programs have one stream for all, and some servers ask
    /// beside them), the only one that runs, if it is the only one.
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

/// Answers what a server asks of us.
pub struct Handler {
    /// Told when it says that its list of tools is another one.
    pub changed: Arc<Notify>,
    /// What runs.
    pub running: Arc<Running>,
    /// Its name.
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

/// A form to be filled in; none: something else, which nobody is asked for.
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
