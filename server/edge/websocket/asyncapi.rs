//! The socket's contract as an AsyncAPI document, from the server's side, made from the frames that the server uses.
//! Its examples are read by the same code that reads clients' frames (`tests/inside/contracts.rs`).
#![cfg_attr(
    not(debug_assertions),
    allow(
        dead_code,
        unused_imports,
        reason = "what users get has the document, not what writes it"
    )
)]

use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::outgoing;
#[cfg(not(debug_assertions))]
use crate::packed::unpacked;
use crate::{ack, frame};
use thinkd_log::hint;

/// One type of frame.
struct FrameKind {
    /// The value of `type`.
    kind: &'static str,
    schema: Value,
    examples: Vec<Value>,
    /// The types of the server's answers, for frames of clients.
    answers: &'static [&'static str],
}

type Schemas = Vec<(String, RefOr<Schema>)>;

/// A type of frame; the schemas it refers to are added to `schemas`.
fn kind<T: ToSchema + PartialSchema>(
    schemas: &mut Schemas,
    kind: &'static str,
    answers: &'static [&'static str],
    examples: &Value,
) -> FrameKind {
    T::schemas(schemas);
    let examples = examples[kind].as_array().cloned().unwrap_or_default();
    let typed = |(at, mut example): (usize, Value)| {
        // The first message shows that it may go without.
        if kind != "message" || at > 0 {
            example["type"] = kind.into();
        }
        example
    };
    FrameKind {
        kind,
        schema: to_value(&T::schema()),
        examples: examples.into_iter().enumerate().map(typed).collect(),
        answers,
    }
}

fn to_value(schema: &RefOr<Schema>) -> Value {
    serde_json::to_value(schema).unwrap_or_default()
}

const TAKEN: &[&str] = &["ack", "problem"];
const UUID: &str = "0193b6c2-7c2e-7aaa-8000-0123456789ab";
const EPOCH: &str = "6f6f2c8a-3c1e-4a9f-9d3f-2b1a0c9d8e7f";

fn of_clients(s: &mut Schemas) -> Vec<FrameKind> {
    let png = json!({ "data": "iVBORw0KGgo=", "mimeType": "image/png" });
    let blob =
        json!({ "blob": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" });
    let examples = json!({
        "auth": [{ "token": "…" }],
        "message": [
            { "text": "hi" },
            { "id": "1", "thread": "main", "event_id": UUID, "text": "hi", "images": [png] },
        ],
        "sensory": [{ "text": "it rains" }, { "audio": [blob] }],
        "trigger": [{ "event": "daily_review", "payload": {}, "thread": "main" }],
        "subscribe": [
            { "after": 0 },
            { "id": "2", "thread": "main", "subtree": true, "tags": ["input", "response"], "after": 41, "epoch": EPOCH },
        ],
        "unsubscribe": [{}],
        "approve": [{ "approval": UUID, "arguments": {}, "reason": "looks right" }],
        "deny": [{ "approval": UUID, "reason": "not now" }],
        "respond": [{ "approval": UUID, "text": "Bob has left." }],
        "answer": [{ "question": UUID, "text": "the blue one" }],
        "fork": [
            { "of": "main", "at": 41 },
            { "id": "3", "of": "main", "instead_of": UUID, "message": { "text": "And in winter?" } },
        ],
        "cancel": [{ "thread": "main" }],
        "ping": [{}],
    });
    vec![
        kind::<frame::Authenticate>(s, "auth", &["ack", "hello"], &examples),
        kind::<frame::Said>(s, "message", TAKEN, &examples),
        kind::<frame::Said>(s, "sensory", TAKEN, &examples),
        kind::<frame::Trigger>(s, "trigger", TAKEN, &examples),
        kind::<frame::Subscribe>(s, "subscribe", &["ack", "caught_up", "problem"], &examples),
        kind::<frame::Unsubscribe>(s, "unsubscribe", TAKEN, &examples),
        kind::<frame::Approve>(s, "approve", TAKEN, &examples),
        kind::<frame::Deny>(s, "deny", TAKEN, &examples),
        kind::<frame::Respond>(s, "respond", TAKEN, &examples),
        kind::<frame::Answer>(s, "answer", TAKEN, &examples),
        kind::<frame::ForkThread>(s, "fork", &["forked", "problem"], &examples),
        kind::<frame::Cancel>(s, "cancel", TAKEN, &examples),
        kind::<frame::Ping>(s, "ping", &["ack", "pong"], &examples),
    ]
}

fn of_server(s: &mut Schemas) -> Vec<FrameKind> {
    let event = json!({
        "event_id": UUID, "ts": "2026-11-21T04:25:00.123456Z", "source": "user", "modality": "text",
        "payload": { "text": "hi" }, "meta": { "tags": ["input", "type:message"] }, "thread": "main", "seq": 121,
    });
    let problem = json!({
        "type": "/problems/empty-input", "title": "Nothing is said", "status": 400,
        "detail": "at least one of text, images and audio is needed",
    });
    let examples = json!({
        "hello": [{ "protocol": frame::PROTOCOL, "version": "0.1.0", "space": "default",
                    "role": "member", "epoch": EPOCH, "head": 120, "limits": { "frame_bytes": 8_388_608 } }],
        "event": [{ "event": event }, { "event": event, "replay": true }],
        "caught_up": [{ "id": "2", "after": 120 }],
        "ack": [{ "id": "1", "status": "started", "events": [{ "event_id": UUID, "thread": "main", "seq": 121 }] }],
        "forked": [{ "id": "3", "thread": "t-7f3a90c1b2de", "from": "main", "at": 41,
                     "events": [{ "event_id": UUID, "thread": "t-7f3a90c1b2de", "seq": 123 }] }],
        "delta": [{ "thread": "main", "event_id": UUID, "at": 0, "text": "Hel" }],
        "delta_end": [{ "thread": "main", "event_id": UUID, "outcome": "stored" }],
        "status": [{ "thread": "main", "status": "thinking", "queued": 0 }],
        "work": [
            { "thread": "main", "turn": 7, "phase": "started", "at": "2026-11-21T04:25:00.000000Z", "limit_ms": 20_000 },
            { "thread": "main", "turn": 7, "phase": "ended", "at": "2026-11-21T04:25:02.500000Z",
              "module": "submodule:critic", "purpose": "turn", "round": 0, "limit_ms": 120_000 },
        ],
        "problem": [{ "id": "1", "problem": problem }],
        "pong": [{ "after": 131 }],
        "expiring": [{ "at": "2026-11-21T05:25:00.000000Z" }],
        "response": [{ "role": "assistant", "user": "ada", "chat": ["hi"], "timestamp": 1_795_235_100 }],
    });
    vec![
        kind::<outgoing::Hello>(s, "hello", &[], &examples),
        kind::<outgoing::EventFrame>(s, "event", &[], &examples),
        kind::<outgoing::CaughtUp>(s, "caught_up", &[], &examples),
        kind::<ack::Ack>(s, "ack", &[], &examples),
        kind::<ack::Forked>(s, "forked", &[], &examples),
        kind::<hint::Delta>(s, "delta", &[], &examples),
        kind::<hint::DeltaEnd>(s, "delta_end", &[], &examples),
        kind::<outgoing::StatusFrame>(s, "status", &[], &examples),
        kind::<outgoing::WorkFrame>(s, "work", &[], &examples),
        kind::<outgoing::ProblemFrame>(s, "problem", &[], &examples),
        kind::<outgoing::Pong>(s, "pong", &[], &examples),
        kind::<outgoing::Expiring>(s, "expiring", &[], &examples),
        kind::<outgoing::Older>(s, "response", &[], &examples),
    ]
}

/// The schema of a whole frame: its members, its `type`, and for clients its `id`.
fn payload(frame: &FrameKind, of_client: bool) -> Value {
    let mut schema = frame.schema.clone();
    let Some(members) = schema.as_object_mut() else {
        return schema;
    };
    let properties = members.entry("properties").or_insert_with(|| json!({}));
    properties["type"] = json!({ "type": "string", "const": frame.kind });
    if of_client {
        properties["id"] =
            json!({ "type": "string", "maxLength": 255, "description": "echoed in the answer" });
    }
    // A client's frame without a type is a message.
    if frame.kind != "message"
        && let Some(required) = members
            .entry("required")
            .or_insert_with(|| json!([]))
            .as_array_mut()
    {
        required.insert(0, "type".into());
    }
    schema
}

fn message(frame: &FrameKind, of_client: bool) -> Value {
    let examples = frame.examples.iter();
    let examples: Vec<Value> = examples.map(|it| json!({ "payload": it })).collect();
    let summary = frame.schema["description"].clone();
    json!({
        "name": frame.kind, "title": frame.kind, "summary": summary, "contentType": "application/json",
        "payload": payload(frame, of_client), "examples": examples,
    })
}

fn reference(path: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/{path}/{name}") })
}

const ON_SOCKET: &str = "channels/socket/messages";

/// Returns the operation of the server on one type of frame.
fn operation(frame: &FrameKind) -> (String, Value) {
    let messages = json!([reference(ON_SOCKET, frame.kind)]);
    let channel = reference("channels", "socket");
    if frame.answers.is_empty() {
        let operation = json!({ "action": "send", "channel": channel, "messages": messages });
        return (format!("send_{}", frame.kind), operation);
    }
    let answers = frame.answers.iter();
    let answers: Vec<Value> = answers.map(|it| reference(ON_SOCKET, it)).collect();
    let reply = json!({ "channel": channel, "messages": answers });
    let operation =
        json!({ "action": "receive", "channel": channel, "messages": messages, "reply": reply });
    (format!("receive_{}", frame.kind), operation)
}

const DESCRIPTION: &str = "One text frame is one JSON object. Where keys are configured, a client authenticates by the header \
`Authorization: Bearer <key>`, by an `auth` frame, or by the plain text `<user>:<token>`, within 10 s; `hello` follows. Where the server trusts an issuer of tokens \
(JWT), one of them may stand in the place of a key: the connection ends with it, by 4401, an `expiring` frame says so before, and an `auth` \
frame with a later token of the same user, space and role lets it go on. Any frame \
of a client may carry an `id`, which its `ack` or `problem` repeats; a `subscribe` without one is answered by its `caught_up`. \
Without `subscribe` a connection follows the whole space live. \
Clients ignore frames of a type they do not know. After a `message`, `sensory` or `trigger` was refused as `unavailable`, those that \
stand behind it on the same connection are refused as `unavailable`, too, so that a sender's order stays: until that one comes again \
(the same `event_id`), or, from a client that does not send it again, until two seconds after it has answered the ping that is sent \
before the refusal; at once after that pong where the refused frame had no `event_id`. Close codes: 1001 going away (connect again), 1002 protocol, 1003 binary, \
1007 not UTF-8, 1009 too big, 4401 unauthenticated, 4403 forbidden, 4408 too late, 4429 too many connections.";

/// The document, as it is committed in the programs that users get (`http/openapi.rs` says why).
#[cfg(not(debug_assertions))]
pub fn value() -> Value {
    // It is what the same code wrote, and the tests hold it to be so.
    serde_json::from_str(&unpacked(include_bytes!("../docs/asyncapi.min.json.z")))
        .unwrap_or_default()
}

/// The document, from the types.
#[cfg(debug_assertions)]
pub fn value() -> Value {
    let mut schemas = Schemas::new();
    let clients = of_clients(&mut schemas);
    let server = of_server(&mut schemas);
    let frames = || {
        let of_server = server.iter().map(|frame| (frame, false));
        clients.iter().map(|frame| (frame, true)).chain(of_server)
    };
    let messages: Map<_, _> = frames()
        .map(|(frame, client)| (frame.kind.to_owned(), message(frame, client)))
        .collect();
    let on_socket: Map<_, _> = messages
        .keys()
        .map(|name| (name.clone(), reference("components/messages", name)))
        .collect();
    let operations: Map<_, _> = frames().map(|(frame, _)| operation(frame)).collect();
    let schemas = schemas.iter();
    let schemas: Map<_, _> = schemas
        .map(|(name, it)| (name.clone(), to_value(it)))
        .collect();
    json!({
        "asyncapi": "3.1.0",
        "info": {
            "title": "thinkd", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION,
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "defaultContentType": "application/json",
        "servers": { "local": {
            "host": "127.0.0.1:2953", "protocol": "ws",
            "security": [reference("components/securitySchemes", "key")],
        } },
        "channels": { "socket": {
            "address": "/ws", "messages": on_socket,
            "bindings": { "ws": { "method": "GET", "bindingVersion": "0.1.0" } },
        } },
        "operations": operations,
        "components": {
            "messages": messages,
            "schemas": schemas,
            "securitySchemes": { "key": {
                "type": "http", "scheme": "bearer", "description": "also as the first frame; needed where keys are configured",
            } },
        },
    })
}

/// The document as YAML text, as it is committed.
#[cfg(not(debug_assertions))]
pub fn document() -> String {
    unpacked(include_bytes!("../docs/asyncapi.yaml.z"))
}

/// The document as YAML text, always the same bytes.
#[cfg(debug_assertions)]
pub fn document() -> String {
    // Made of maps with string keys: this cannot fail.
    serde_yaml_ng::to_string(&value()).unwrap_or_default()
}
