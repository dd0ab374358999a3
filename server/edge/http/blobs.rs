//! `/blobs`: media by the hash of their bytes.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use super::needs::{Needs, Read, Speak};
use super::params::{NoParams, Params};
use super::path::{Path, Sha256};
use super::{Resource, body, plain_encoding};
use crate::edge::context::Edge;
use crate::edge::media;
use crate::edge::problem::{Problem, Slug};
use crate::log::blob::Blob;

#[derive(OpenApi)]
#[openapi(paths(upload, one),
    tags((name = "blobs", description = "Media")))]
struct Document;

/// See the module.
pub const RESOURCE: Resource = Resource {
    routes: || {
        Router::new()
            .route("/blobs", post(upload))
            .route("/blobs/{sha256}", get(one))
    },
    document: Document::openapi,
    bounds: |_| {},
};

/// A stored blob.
#[derive(Debug, Serialize, ToSchema)]
pub struct StoredBlob {
    /// The SHA-256 of its bytes, 64 hex digits.
    pub blob: String,
    /// Its media type.
    #[schema(example = "image/png")]
    pub mime: String,
    /// Its size.
    pub bytes: u64,
}

/// Stores an image or a sound.
#[utoipa::path(post, path = "/blobs", operation_id = "upload_blob", tag = "blobs",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "an image or a sound, as its type or as octets"),
    responses((status = 201, body = StoredBlob)))]
pub async fn upload(
    State(edge): State<Arc<Edge>>,
    session: Needs<Speak>,
    params: Params,
    request: Request,
) -> Result<Response, Problem> {
    params.end()?;
    plain_encoding(request.headers())?;
    let declared = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let declared = declared
        .filter(|kind| *kind != "application/octet-stream")
        .map(str::to_owned);
    let _place = edge.uploads.take(session.space()).await;
    let bytes = body(
        request,
        edge.limits.blob_bytes,
        edge.limits.body_ms.saturating_mul(10),
        edge.limits.body_ms,
    )
    .await?;
    if bytes.is_empty() {
        return Err(Problem::new(Slug::EmptyInput, "the body is empty"));
    }
    let mime = media::check(declared.as_deref(), &bytes, "", edge.limits.image_pixels)?.to_owned();
    let size = bytes.len() as u64;
    let blob = session
        .put_blob(Blob {
            mime: mime.clone(),
            bytes,
        })
        .await?;
    let place = format!("/blobs/{blob}");
    let stored = axum::Json(StoredBlob {
        blob,
        mime,
        bytes: size,
    });
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], stored).into_response())
}

/// One blob. A browser is told to run nothing of it and to take it for nothing else.
#[utoipa::path(get, path = "/blobs/{sha256}", operation_id = "get_blob", tag = "blobs",
    params(("sha256" = String, Path, description = "64 hex digits")),
    responses((status = 200, description = "the bytes, as their own type; a value of a pipeline as JSON",
        content((Vec<u8> = "application/octet-stream"), (serde_json::Value = "application/json")))))]
pub async fn one(
    session: Needs<Read>,
    Path(Sha256(sha256)): Path<Sha256>,
    _: NoParams,
) -> Result<Response, Problem> {
    let blob = session.blob(&sha256).await?;
    let blob = blob.ok_or_else(|| Problem::new(Slug::NotFound, "there is no such blob"))?;
    let mut response = Response::new(Body::from(blob.bytes));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_str(&blob.mime)
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(
        header::CONTENT_DISPOSITION,
        HeaderValue::from_static("attachment"),
    );
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox; default-src 'none'"),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, max-age=31536000, immutable"),
    );
    Ok(response)
}
