//! The HTTP contract as an OpenAPI document: the resources' descriptions of themselves, and the
//! parts that are the same for all of them.

use std::sync::OnceLock;

use serde_json::{Map, Value};
use utoipa::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Content, Header, ObjectBuilder, PathItem, Ref, RefOr, Response, ResponseBuilder, Server, Type,
};

use super::{OPEN, RESOURCES, bounds};
#[cfg(not(debug_assertions))]
use crate::packed::unpacked;
use crate::problem::{Pointed, Problem};

/// The description of a client's credential.
const BEARER: &str = "A key of the server, or, where the server trusts an issuer of tokens, a JWT that the issuer signed: with `iss`, `aud` and `exp`, \
and the claims that name user, space and role.";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "thinkd",
        description = "A server for agents that think in the open. The log, over HTTP; the WebSocket is in /asyncapi.yaml."
    ),
    components(schemas(Problem, Pointed))
)]
struct Document;

/// The description of the addresses of features.
static ADDED: OnceLock<utoipa::openapi::OpenApi> = OnceLock::new();

/// Adds the addresses of features to the document, before it is asked for. Only the first call
/// counts.
pub fn add(document: utoipa::openapi::OpenApi) {
    let _ = ADDED.set(document);
}

/// Returns the document of the kernel.
pub fn value() -> Value {
    let resources = || RESOURCES.iter().chain([&OPEN]);
    let mut document = Document::openapi();
    resources().for_each(|resource| document.merge((resource.document)()));
    let mut value = described(document);
    resources().for_each(|resource| (resource.bounds)(&mut value));
    value
}

/// Returns the document with the addresses of features.
fn with_features(mut document: Value) -> Value {
    let Some(added) = ADDED.get() else {
        return document;
    };
    let more = described(added.clone());
    for (place, within) in [
        ("paths", ""),
        ("schemas", "/components"),
        ("responses", "/components"),
    ] {
        let more = more.pointer(&format!("{within}/{place}"));
        let all = document.pointer_mut(within).and_then(Value::as_object_mut);
        let (Some(Value::Object(more)), Some(all)) = (more, all) else {
            continue;
        };
        let all = (all.entry(place)).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(all) = all {
            all.extend(more.clone());
        }
    }
    document
}

/// Adds the parts that are the same for all operations.
fn described(mut document: utoipa::openapi::OpenApi) -> Value {
    if let Some(components) = &mut document.components {
        let mut bearer = Http::new(HttpAuthScheme::Bearer);
        bearer.description = Some(BEARER.to_owned());
        let key = SecurityScheme::Http(bearer);
        components.security_schemes.insert("key".into(), key.into());
    }
    // The folder of the document itself, whatever path a proxy puts before it.
    document.servers = Some(vec![Server::new(".")]);
    document.security = Some(vec![SecurityRequirement::new("key", [""; 0])]);
    for item in document.paths.paths.values_mut() {
        operations(item).for_each(add_problem);
    }
    // Made of maps with string keys: this cannot fail.
    let mut value = serde_json::to_value(document).unwrap_or_default();
    bounds::of_parameters(&mut value);
    value
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem {
        get,
        put,
        post,
        patch,
        delete,
        ..
    } = item;
    [get, put, post, patch, delete].into_iter().flatten()
}

/// Every request can meet a problem, and one with a key that there are too many.
fn add_problem(operation: &mut Operation) {
    let responses = &mut operation.responses.responses;
    responses.insert("default".into(), RefOr::T(problem("a problem").build()));
    if operation.security.is_none() {
        let seconds = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .description(Some("seconds after which to try again"));
        let too_many = problem(
            "too many a second (five times `limits.frames_per_second`) or at a time; the problem names the limit",
        );
        let too_many: Response = too_many
            .header("Retry-After", Header::new(seconds.build()))
            .build();
        responses.insert("429".into(), RefOr::T(too_many));
    }
}

fn problem(description: &str) -> ResponseBuilder {
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    ResponseBuilder::new()
        .description(description)
        .content("application/problem+json", content)
}

/// Returns the document with the addresses of features, as JSON text.
pub fn document() -> String {
    text(&with_features(contract()))
}

/// Returns the document of the kernel, always the same: from the types where it is written, and as
/// it is committed in the programs that users get. Of them it would be a twentieth, for a text that
/// the tests hold to be the same.
#[cfg(not(debug_assertions))]
pub fn contract() -> Value {
    let committed = unpacked(include_bytes!("../docs/openapi.min.json.z"));
    serde_json::from_str(&committed).unwrap_or_default()
}

/// The same, from the types.
#[cfg(debug_assertions)]
pub fn contract() -> Value {
    value()
}

fn text(document: &Value) -> String {
    // Made of maps with string keys: this cannot fail.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
