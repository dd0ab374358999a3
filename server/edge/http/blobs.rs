//! `/blobs`: media by the hash of their bytes.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::needs::{Needs, Read, Speak};
use super::params::NoParams;
use super::path::{Path, Sha256};
use super::{body, made, plain_encoding};
use crate::context::Edge;
use crate::media;
use crate::problem::{Problem, Slug};
use thinkd_log::blob::Blob;

resource! {
    /// See the module.
    RESOURCE tagged "blobs": "Media";
    "/blobs" => post(upload);
    "/blobs/{sha256}" => get(one);
}

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
    _: NoParams,
    request: Request,
) -> Result<Response, Problem> {
    plain_encoding(request.headers())?;
    let declared = request.headers().get(header::CONTENT_TYPE);
    let declared = declared.and_then(|kind| kind.to_str().ok());
    let declared = declared.filter(|kind| *kind != "application/octet-stream");
    let declared = declared.map(str::to_owned);
    let _place = edge.uploads.take(session.space()).await;
    let limits = &edge.limits;
    let within = limits.body_ms.saturating_mul(10);
    let bytes = body(request, limits.blob_bytes, within, limits.body_ms).await?;
    if bytes.is_empty() {
        return Err(Problem::new(Slug::EmptyInput, "the body is empty"));
    }
    let mime = media::check(declared.as_deref(), &bytes, "", edge.limits.image_pixels)?.to_owned();
    let size = bytes.len() as u64;
    let new = Blob {
        mime: mime.clone(),
        bytes,
    };
    let blob = session.put_blob(new).await?;
    let place = format!("/blobs/{blob}");
    let stored = StoredBlob {
        blob,
        mime,
        bytes: size,
    };
    Ok(made(StatusCode::CREATED, place, stored))
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
    let blob = blob.ok_or_else(|| Problem::not_found("there is no such blob"))?;
    let fixed = HeaderValue::from_static;
    let kind = HeaderValue::from_str(&blob.mime);
    let kind = kind.unwrap_or(fixed("application/octet-stream"));
    let policy = fixed("sandbox; default-src 'none'");
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_DISPOSITION, fixed("attachment")),
        (header::CONTENT_SECURITY_POLICY, policy),
        (
            header::CACHE_CONTROL,
            fixed("private, max-age=31536000, immutable"),
        ),
    ];
    Ok((headers, Body::from(blob.bytes)).into_response())
}
