//! The reason why a server did not fulfil a request, and whether the line to it is lost with that.
//! An answer with a status concerns one request alone, but 400, 401 and 502 to 504 put the line in
//! doubt.

use std::error::Error;
use std::fmt;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;

use thinkd_words::veil::Veil;

/// Longest words of a server in an error.
pub const SAID_MAX: usize = 2000;

/// The reason why a server did not fulfil a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The server was not asked: there is no way to it.
    Unreached(String),
    /// The server was lost before it answered.
    Lost(String),
    /// The server answered that it does not do that.
    Refused(String),
    /// The answer cannot be used, or has no end.
    Unusable(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreached(why) | Self::Lost(why) | Self::Unusable(why) => f.write_str(why),
            Self::Refused(why) => write!(f, "it refuses: {why}"),
        }
    }
}

/// The state of the line to a server, as far as trouble with one request tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The trouble says nothing of the line.
    Yes,
    /// The line is in doubt.
    Doubted,
    /// The line has to be made anew.
    No,
}

/// Returns the trouble of an error, without the server's secrets, and whether the line holds.
pub fn judged(error: &ServiceError, veil: &Veil) -> (Trouble, Holds) {
    let said = |error: &dyn Error| bounded(&veil.over(&causes(error)));
    let why = said(error);
    match error {
        ServiceError::McpError(error) => {
            let said = bounded(&veil.over(&error.message));
            (Trouble::Refused(said), Holds::Yes)
        }
        ServiceError::TransportSend(sent) => {
            match sent
                .error
                .downcast_ref::<StreamableHttpError<reqwest::Error>>()
            {
                Some(error) => of_http(error, bounded(&veil.over(&plain(error)))),
                None => (Trouble::Lost(said(&*sent.error)), Holds::Doubted),
            }
        }
        // Of all of the line, or of one answer that broke off: others may go on.
        ServiceError::TransportClosed => (Trouble::Lost(why), Holds::Doubted),
        _ => (Trouble::Unusable(why), Holds::Yes),
    }
}

fn of_http(error: &StreamableHttpError<reqwest::Error>, why: String) -> (Trouble, Holds) {
    match (error, status(error)) {
        (StreamableHttpError::SessionExpired, _) => (Trouble::Lost(why), Holds::No),
        (StreamableHttpError::Client(error), _) if error.is_connect() => {
            (Trouble::Unreached(why), Holds::Doubted)
        }
        // By what these mean it was not done. Who refuses the key may take that which stands in the file by now.
        (_, Some(401)) => (Trouble::Refused(why), Holds::Doubted),
        (_, Some(403 | 429)) => (Trouble::Refused(why), Holds::Yes),
        // Older server libraries report an unknown session as 400; a gateway reports a missing server as 502 to 504.
        (_, Some(400 | 502..=504)) => (Trouble::Unusable(why), Holds::Doubted),
        (
            StreamableHttpError::HttpStatus(_)
            | StreamableHttpError::UnexpectedServerResponse(_)
            | StreamableHttpError::UnexpectedContentType(_)
            | StreamableHttpError::ResponseBodyTooLarge { .. },
            _,
        ) => (Trouble::Unusable(why), Holds::Yes),
        _ => (Trouble::Lost(why), Holds::Doubted),
    }
}

/// Returns why a server could not be connected.
pub fn unconnected(error: &ClientInitializeError) -> String {
    let sent = match error {
        ClientInitializeError::TransportError { error, .. } => error,
        ClientInitializeError::JsonRpcError(error) => {
            return format!("it refuses to be connected: {}", error.message);
        }
        ClientInitializeError::ConnectionClosed(_) => {
            return "it ended the connection before it answered".to_owned();
        }
        other => return causes(other),
    };
    let error = sent
        .error
        .downcast_ref::<StreamableHttpError<reqwest::Error>>();
    match error.map(|error| (plain(error), status(error))) {
        Some((why, Some(404 | 405))) => format!(
            "{why}: no MCP over streamable HTTP is served at its url; a server that has only SSE, the way before that, is not \
             supported"
        ),
        Some((why, _)) => why,
        None => causes(&*sent.error),
    }
}

/// Returns an error over HTTP in words for people.
fn plain(error: &StreamableHttpError<reqwest::Error>) -> String {
    let text = match error {
        StreamableHttpError::Client(error) => return causes(error),
        StreamableHttpError::UnexpectedContentType(kind) => {
            let kind = kind.as_deref().unwrap_or("no type");
            return format!(
                "its answer is of the type {kind}, which is neither JSON nor a stream of events"
            );
        }
        other => causes(other),
    };
    // The first two bytes of gzip, as far as they are letters.
    if text.contains('\u{1f}') || text.contains("\\u{1f}") {
        return "its answer is compressed (gzip), which was not asked for: switch that off at it, or at what stands before it"
            .to_owned();
    }
    let text = text.trim_start_matches("unexpected server response: ");
    text.trim_end_matches([' ', ':', ',']).to_owned()
}

/// Returns the status of an answer that is an error. The library has several forms of it, one of
/// which is text.
pub fn status(error: &StreamableHttpError<reqwest::Error>) -> Option<u16> {
    match error {
        StreamableHttpError::HttpStatus(error) => Some(error.status),
        StreamableHttpError::AuthRequired(_) => Some(401),
        StreamableHttpError::InsufficientScope(_) => Some(403),
        StreamableHttpError::UnexpectedServerResponse(text) => {
            text.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
        }
        _ => None,
    }
}

/// Returns an error with its causes: the library names them apart.
pub fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Returns a bounded part of the words of others in an error.
pub fn bounded(text: &str) -> String {
    text.chars().take(SAID_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use rmcp::model::ErrorData;
    use rmcp::transport::DynamicTransportError;
    use rmcp::transport::streamable_http_client::{AuthRequiredError, HttpStatusError};

    use super::*;

    fn judged(error: &ServiceError) -> (Trouble, Holds) {
        super::judged(error, &Veil::default())
    }

    /// Returns the error that the library makes of one of the transport over HTTP.
    fn sent(error: StreamableHttpError<reqwest::Error>) -> ServiceError {
        ServiceError::TransportSend(DynamicTransportError::from_parts(
            "http",
            TypeId::of::<()>(),
            Box::new(error),
        ))
    }

    fn said(status: u16) -> ServiceError {
        sent(StreamableHttpError::UnexpectedServerResponse(
            format!("HTTP {status} Somehow: <html>").into(),
        ))
    }

    #[test]
    fn an_answer_of_whatever_status_is_that_of_one_request() {
        let refused =
            |error: &ServiceError| matches!(judged(error), (Trouble::Refused(_), Holds::Yes));
        let unusable =
            |error: &ServiceError| matches!(judged(error), (Trouble::Unusable(_), Holds::Yes));
        assert!([403, 429].into_iter().all(|status| refused(&said(status))));
        assert!(
            [307, 405, 500, 501]
                .into_iter()
                .all(|status| unusable(&said(status)))
        );
        assert!(refused(&sent(HttpStatusError::new(429, None).into())));
        assert!(unusable(&sent(HttpStatusError::new(500, None).into())));
        assert!(refused(&ServiceError::McpError(ErrorData::internal_error(
            "no", None
        ))));
        assert!(unusable(&ServiceError::UnexpectedResponse));
    }

    #[tokio::test]
    async fn who_cannot_be_reached_was_not_asked() {
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .build()
            .unwrap();
        let error = client
            .post("http://127.0.0.1:9/mcp")
            .send()
            .await
            .unwrap_err();
        let judged = judged(&sent(StreamableHttpError::Client(error)));
        assert!(
            matches!(judged, (Trouble::Unreached(_), Holds::Doubted)),
            "{judged:?}"
        );
    }

    #[test]
    fn what_may_be_more_than_one_request_is_looked_into() {
        for status in [400, 502, 503, 504] {
            assert!(
                matches!(
                    judged(&said(status)),
                    (Trouble::Unusable(_), Holds::Doubted)
                ),
                "{status}"
            );
        }
        let challenge = AuthRequiredError::new("Bearer".into());
        for error in [
            said(401),
            sent(StreamableHttpError::AuthRequired(challenge)),
        ] {
            assert!(
                matches!(judged(&error), (Trouble::Refused(_), Holds::Doubted)),
                "{error}"
            );
        }
        assert!(matches!(
            judged(&ServiceError::TransportClosed),
            (Trouble::Lost(_), Holds::Doubted)
        ));
        let gone = sent(StreamableHttpError::SessionExpired);
        assert!(matches!(judged(&gone), (Trouble::Lost(_), Holds::No)));
    }
}
