//! The client over HTTP, which takes as the answer to a request only a message that answers that
//! request. The library ends the stream of an answer behind the first answer, also to another
//! request, and would lose the right one behind it. It opens the stream of news only where there is
//! a session.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, OnceLock};

use futures_util::{StreamExt as _, stream};
use http::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use tokio::sync::Notify;

use super::super::meter::Messages;
use super::trouble::status;
use super::whose::{answered, is_same, misspoken, unusable};
use thinkd_words::digits::readable;

/// Stands for the session of a server that has none and says that its list of tools may change. No header can be that, and it goes nowhere.
const NO_SESSION: &str = "\n";

type Headers = HashMap<HeaderName, HeaderValue>;
type Outcome<T> = Result<T, StreamableHttpError<reqwest::Error>>;

/// See the module.
#[derive(Debug, Clone)]
pub struct Matched {
    /// The client below.
    pub inner: reqwest::Client,
    /// The count of messages, to which answers to other requests and reopened streams add.
    pub messages: Messages,
    /// The place that the server sent on to.
    pub elsewhere: Elsewhere,
    /// Notified of an error without a request id: the server may have lost the session.
    pub doubted: Arc<Notify>,
}

/// The place that a server sent on to.
pub type Elsewhere = Arc<OnceLock<String>>;

impl Matched {
    /// Returns the error with the place that the server sends on to, which the library leaves out.
    fn placed(
        &self,
        error: StreamableHttpError<reqwest::Error>,
    ) -> StreamableHttpError<reqwest::Error> {
        match (status(&error), self.elsewhere.get()) {
            (Some(status @ 300..=399), Some(place)) => {
                let text = format!(
                    "HTTP {status}: it sends on to {place}, and is not followed: write that address as its url"
                );
                StreamableHttpError::UnexpectedServerResponse(text.into())
            }
            _ => error,
        }
    }

    /// Returns the stream without the answers to other requests. They count as messages do, or they
    /// could come without end. An answer that is no message becomes one that cannot be used. So
    /// does the end of the stream, unless it may go on where it ended. A stream that breaks off is
    /// left to the library.
    fn own(&self, stream: BoxedSseResponse, id: RequestId) -> BoxedSseResponse {
        let messages = self.messages.clone();
        let events = stream
            .map(|event| (event, false))
            .chain(stream::once(ready((Ok(Default::default()), true))));
        let passed = events.scan(false, move |may_go_on, (mut event, is_end)| {
            let mut is_foreign = false;
            if let Ok(event) = &mut event {
                *may_go_on |= event.id.is_some();
                // A number that no message has, or half a character, would cost the whole answer.
                event.data = event.data.take().map(|it| readable(&it).into_owned());
                let data = event.data.as_deref().unwrap_or_default();
                is_foreign =
                    answered(data).is_some_and(|of| of.is_none_or(|of| !is_same(&of, &id)));
                if is_end || (!is_foreign && misspoken(data).is_some()) {
                    event.data = serde_json::to_string(&unusable(id.clone())).ok();
                }
            }
            let is_over = (is_end && *may_go_on) || (is_foreign && messages.is_over());
            ready((!is_over).then(|| (!is_foreign).then_some(event)))
        });
        passed.filter_map(ready).boxed()
    }
}

impl StreamableHttpClient for Matched {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<StreamableHttpPostResponse> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits)
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Outcome<StreamableHttpPostResponse> {
        let (id, is_first, is_ping) = match &message {
            JsonRpcMessage::Request(request) => (
                Some(request.id.clone()),
                matches!(request.request, ClientRequest::InitializeRequest(_)),
                matches!(request.request, ClientRequest::PingRequest(_)),
            ),
            _ => (None, false, false),
        };
        let session = real(session);
        let has_session = session.is_some();
        let posted = self
            .inner
            .post_message_with_response_limits(uri, message, session, token, headers, limits);
        let posted = posted.await.map_err(|error| self.placed(error))?;
        let posted = match (posted, id) {
            (StreamableHttpPostResponse::Sse(stream, session), Some(id)) => {
                StreamableHttpPostResponse::Sse(self.own(stream, id), session)
            }
            (StreamableHttpPostResponse::Json(message, session), Some(id)) => {
                // A restarted server often reports an unknown session as an error without a request id.
                if has_session && is_unread(&message, &id) {
                    if is_ping {
                        let text = "it does not know the session";
                        return Err(StreamableHttpError::UnexpectedServerResponse(text.into()));
                    }
                    self.doubted.notify_one();
                }
                StreamableHttpPostResponse::Json(answering(message, id)?, session)
            }
            (StreamableHttpPostResponse::Accepted, Some(_)) => {
                let text = "it was taken in without an answer (202 or 204), and none will come";
                return Err(StreamableHttpError::UnexpectedServerResponse(text.into()));
            }
            (other, _) => other,
        };
        if !is_first {
            return Ok(posted);
        }
        let (message, session) = posted.expect_initialized::<Self::Error>().await?;
        let session = session.or_else(|| has_news(&message).then(|| NO_SESSION.to_owned()));
        Ok(StreamableHttpPostResponse::Json(message, session))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<()> {
        match real(Some(session)) {
            Some(session) => {
                self.inner
                    .delete_session(uri, session, token, headers)
                    .await
            }
            None => Ok(()),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<BoxedSseResponse> {
        self.inner
            .get_stream(uri, real(session), last, token, headers)
            .await
            .map(lenient)
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Outcome<BoxedSseResponse> {
        // One that ends at once is opened again and again, as fast as the server wants.
        if self.messages.is_over() {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        self.inner
            .get_stream_with_max_sse_event_size(uri, real(session), last, token, headers, most)
            .await
            .map(lenient)
    }
}

/// Returns the events with their data as a reader takes it.
fn lenient(stream: BoxedSseResponse) -> BoxedSseResponse {
    let read = stream.map(|mut event| {
        if let Ok(event) = &mut event {
            event.data = event.data.take().map(|it| readable(&it).into_owned());
        }
        event
    });
    read.boxed()
}

/// Returns true for an error without the id of the request.
fn is_unread(message: &ServerJsonRpcMessage, id: &RequestId) -> bool {
    let of = |of: &RequestId| is_same(of, id);
    matches!(message, JsonRpcMessage::Error(error) if !error.id.as_ref().is_some_and(of))
}

/// Returns a message that is the whole answer to a request, if it answers that. An error without an
/// id can mean no other one.
fn answering(message: ServerJsonRpcMessage, id: RequestId) -> Outcome<ServerJsonRpcMessage> {
    match message {
        JsonRpcMessage::Error(error) if error.id.as_ref().is_none_or(|of| is_same(of, &id)) => {
            Ok(ServerJsonRpcMessage::error(error.error, Some(id)))
        }
        JsonRpcMessage::Response(response) if is_same(&response.id, &id) => {
            Ok(JsonRpcMessage::Response(response))
        }
        JsonRpcMessage::Error(error) => {
            let text = format!("it is no answer to this request: {}", error.error.message);
            Err(StreamableHttpError::UnexpectedServerResponse(text.into()))
        }
        _ => Err(StreamableHttpError::UnexpectedServerResponse(
            "it is no answer to this request".into(),
        )),
    }
}

/// Returns the session, if there is one.
fn real(session: Option<Arc<str>>) -> Option<Arc<str>> {
    session.filter(|session| **session != *NO_SESSION)
}

/// Returns true if the answer to the first request says that the list of tools may change.
fn has_news(first: &ServerJsonRpcMessage) -> bool {
    let JsonRpcMessage::Response(response) = first else {
        return false;
    };
    let ServerResult::InitializeResult(result) = &response.result else {
        return false;
    };
    result
        .capabilities
        .tools
        .as_ref()
        .and_then(|tools| tools.list_changed)
        == Some(true)
}
