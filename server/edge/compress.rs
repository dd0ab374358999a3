//! Answers in JSON go compressed (gzip) to clients that ask for it. Streams, blobs and content that
//! is compressed already go as they are.

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use crc::{CRC_32_ISO_HDLC, Crc};
use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, compress_to_output, create_comp_flags_from_zip_params,
};

/// Shorter answers fit into a packet or two anyhow.
const LEAST: u64 = 1 << 10;
/// Of ten; beyond it a tenth of the bytes costs half as much time again.
const LEVEL: i32 = 6;
/// Bytes that are compressed before others have their turn.
const STEP: usize = 64 << 10;
/// The head of gzip's form: no name, no time, no system (RFC 1952).
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// Nothing before and after the data, and the largest window.
const RAW: i32 = -15;

static CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Passes a request on, and compresses the response where it may.
pub async fn compress(request: Request, next: Next) -> Response {
    let wanted = takes_gzip(request.headers());
    let mut response = next.run(request).await;
    if !is_fit(&response) {
        return response;
    }
    // Caches keep an answer for those who ask alike.
    let vary = HeaderValue::from_name(header::ACCEPT_ENCODING);
    response.headers_mut().append(header::VARY, vary);
    if !wanted {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(text) = to_bytes(body, usize::MAX).await else {
        // Its length was known: it is there as a whole, and cannot break off.
        return Response::from_parts(parts, Body::empty());
    };
    let headers = &mut parts.headers;
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    if let Some(tag) = headers.get(header::ETAG).and_then(weak) {
        headers.insert(header::ETAG, tag);
    }
    Response::from_parts(parts, Body::from(gzip(&text).await))
}

/// True for an answer that is JSON as a whole, not short, and may be changed on its way.
fn is_fit(response: &Response) -> bool {
    let headers = response.headers();
    let says = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let kind = says(header::CONTENT_TYPE).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    let is_json = essence == "application/json" || essence.ends_with("+json");
    let is_fixed = says(header::CACHE_CONTROL).is_some_and(|it| it.contains("no-transform"));
    // A blob is a file, whatever it holds.
    let is_file = headers.contains_key(header::CONTENT_DISPOSITION);
    let is_encoded = headers.contains_key(header::CONTENT_ENCODING);
    let is_long = response.body().size_hint().exact() >= Some(LEAST);
    is_json && is_long && !(is_fixed || is_file || is_encoded)
}

/// True where a client takes gzip, and likes nothing better (RFC 9110, 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let mut gzip = None;
    let mut any = None;
    let mut plain = None;
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    for item in texts.flat_map(|text| text.split(',')) {
        let mut parts = item.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
        });
        // A weight that is none asks for nothing.
        let weight = weight.map_or(1.0, |text| text.parse().unwrap_or(0.0));
        match coding.as_str() {
            "gzip" | "x-gzip" => gzip = Some(weight),
            "identity" => plain = Some(weight),
            "*" => any = Some(weight),
            _ => {}
        }
    }
    let gzip: f32 = gzip.or(any).unwrap_or(0.0);
    gzip > 0.0 && plain.is_none_or(|plain| plain <= gzip)
}

/// The tag of the same content in other bytes.
fn weak(tag: &HeaderValue) -> Option<HeaderValue> {
    let text = tag.to_str().ok()?;
    if text.starts_with("W/") {
        return None;
    }
    HeaderValue::from_str(&format!("W/{text}")).ok()
}

/// The bytes in gzip's form. Others have their turn in between: a page of a log is long.
async fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(text.len() / 6 + 64);
    packed.extend(HEAD);
    let flags = create_comp_flags_from_zip_params(LEVEL, RAW, 0);
    let mut compressor = Box::new(CompressorOxide::new(flags));
    let mut checksum = CHECKSUM.digest();
    let mut put = |compressor: &mut CompressorOxide, piece: &[u8], flush| {
        compress_to_output(compressor, piece, flush, |bytes| {
            packed.extend_from_slice(bytes);
            true
        });
    };
    for piece in text.chunks(STEP) {
        checksum.update(piece);
        put(&mut compressor, piece, TDEFLFlush::None);
        tokio::task::yield_now().await;
    }
    put(&mut compressor, &[], TDEFLFlush::Finish);
    packed.extend(checksum.finalize().to_le_bytes());
    // Its length in 32 bits, as the form has it.
    packed.extend((text.len() as u32).to_le_bytes());
    packed
}
