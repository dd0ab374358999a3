//! Finds the request that the words of a server answer, as far as they tell, also where they are no message of the protocol.

use rmcp::model::{CustomResult, RequestId, ServerJsonRpcMessage, ServerResult};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

#[derive(Deserialize)]
struct Head {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
}

/// Returns the request that these words answer (none: any request), if they are an answer by their
/// form.
pub fn answered(words: &str) -> Option<Option<RequestId>> {
    let Head { id, method } = serde_json::from_str(words).ok()?;
    method.is_none().then_some(id)
}

/// Returns the request that these words name as an answer does, although they are no message: no
/// other answer to it will come.
pub fn misspoken(words: &str) -> Option<RequestId> {
    let id = answered(words)??;
    serde_json::from_str::<ServerJsonRpcMessage>(words)
        .is_err()
        .then_some(id)
}

/// Returns an answer that cannot be used: it is the result of no request.
pub fn unusable(id: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::response(ServerResult::CustomResult(CustomResult(Value::Null)), id)
}

/// Returns true for ids that are the same, also as text: some servers answer to the words of a
/// number.
pub fn is_same(one: &RequestId, other: &RequestId) -> bool {
    one == other || one.to_string() == other.to_string()
}
