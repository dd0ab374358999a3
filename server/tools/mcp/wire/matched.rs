//! The client over HTTP, which takes for the answer of a request only what answers that request. The library ends the stream of an answer behind the first
//! that comes, whose ever it is, and the right one would be lost behind it.

use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;

use futures_util::StreamExt as _;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::meter::Messages;

type Headers = HashMap<HeaderName, HeaderValue>;
type Outcome<T> = Result<T, StreamableHttpError<reqwest::Error>>;

/// See the module.
#[derive(Debug, Clone)]
pub struct Matched {
    inner: reqwest::Client,
    messages: Messages,
}

impl Matched {
    /// Over this client; what answers nobody is counted here.
    pub fn new(inner: reqwest::Client, messages: Messages) -> Self {
        Self { inner, messages }
    }

    /// The stream without the answers to other requests. They count as messages do, or they could come without end.
    fn own(&self, stream: BoxedSseResponse, id: RequestId) -> BoxedSseResponse {
        let messages = self.messages.clone();
        let passed = stream.scan((), move |(), event| {
            let data = event.as_ref().ok().and_then(|event| event.data.as_deref());
            let is_foreign = data.is_some_and(|data| is_of_another(data, &id));
            ready(if is_foreign && messages.is_over() { None } else { Some((!is_foreign).then_some(event)) })
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
        self.post_message_with_response_limits(uri, message, session, token, headers, limits).await
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
        let id = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let posted = self.inner.post_message_with_response_limits(uri, message, session, token, headers, limits);
        Ok(match (posted.await?, id) {
            (StreamableHttpPostResponse::Sse(stream, session), Some(id)) => {
                StreamableHttpPostResponse::Sse(self.own(stream, id), session)
            }
            (StreamableHttpPostResponse::Json(message, session), Some(id)) => {
                StreamableHttpPostResponse::Json(answering(message, id)?, session)
            }
            (StreamableHttpPostResponse::Accepted, Some(_)) => {
                let text = "it was taken in without an answer (202 or 204), and none will come";
                return Err(StreamableHttpError::UnexpectedServerResponse(text.into()));
            }
            (other, _) => other,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<()> {
        self.inner.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Outcome<BoxedSseResponse> {
        self.inner.get_stream(uri, session, last, token, headers).await
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
        self.inner.get_stream_with_max_sse_event_size(uri, session, last, token, headers, most).await
    }
}

/// A message that is the whole answer to a request, if it answers that: an error without an id can mean no other one.
fn answering(message: ServerJsonRpcMessage, id: RequestId) -> Outcome<ServerJsonRpcMessage> {
    match message {
        JsonRpcMessage::Error(error) if error.id.as_ref().is_none_or(|of| is_same(of, &id)) => {
            Ok(ServerJsonRpcMessage::error(error.error, Some(id)))
        }
        JsonRpcMessage::Response(response) if is_same(&response.id, &id) => Ok(JsonRpcMessage::Response(response)),
        JsonRpcMessage::Error(error) => {
            let text = format!("it is no answer to this request: {}", error.error.message);
            Err(StreamableHttpError::UnexpectedServerResponse(text.into()))
        }
        _ => Err(StreamableHttpError::UnexpectedServerResponse("it is no answer to this request".into())),
    }
}

/// Whether these are the words of an answer, and to another request.
fn is_of_another(data: &str, id: &RequestId) -> bool {
    #[derive(Deserialize)]
    struct Head {
        id: Option<RequestId>,
        method: Option<IgnoredAny>,
    }
    // What cannot be read is passed over by the library.
    let head = serde_json::from_str::<Head>(data);
    head.is_ok_and(|Head { id: of, method }| method.is_none() && of.is_none_or(|of| !is_same(&of, id)))
}

/// Some servers answer to the words of a number.
fn is_same(one: &RequestId, other: &RequestId) -> bool {
    one == other || one.to_string() == other.to_string()
}
