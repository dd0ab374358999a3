//! Images and sounds from outside: their first bytes must look like their declared type.
//! Nothing is decoded here beyond base64 and the size in an image's header (`media/size.rs`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::frame::Media;
use super::problem::{Problem, Slug};
use size::size;
use thinkd_event::draft::Part;
use thinkd_event::envelope::Modality;
use thinkd_log::blob::Blob;
use thinkd_session::handle::Session;

mod size;

/// The type that bytes look like, among those that are taken.
pub fn sniff(bytes: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, mark: &[u8]| bytes.get(offset..).unwrap_or_default().starts_with(mark);
    Some(match () {
        () if at(0, b"\x89PNG\r\n\x1a\n") => "image/png",
        () if at(0, b"\xff\xd8\xff") => "image/jpeg",
        () if at(0, b"GIF87a") || at(0, b"GIF89a") => "image/gif",
        () if at(0, b"RIFF") && at(8, b"WEBP") => "image/webp",
        () if at(0, b"RIFF") && at(8, b"WAVE") => "audio/wav",
        () if at(0, b"ID3") || matches!(bytes, [0xff, second, ..] if second & 0xe6 == 0xe2) => {
            "audio/mpeg"
        }
        () if at(0, b"OggS") => "audio/ogg",
        () if at(0, b"fLaC") => "audio/flac",
        () if at(0, b"\x1a\x45\xdf\xa3") => "audio/webm",
        () if at(4, b"ftyp") => "audio/mp4",
        () => return None,
    })
}

/// The one name of a type that goes by several.
fn canonical(mime: &str) -> Option<&'static str> {
    let essence = mime.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    Some(match essence.as_str() {
        "image/png" => "image/png",
        "image/jpeg" | "image/jpg" => "image/jpeg",
        "image/gif" => "image/gif",
        "image/webp" => "image/webp",
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav",
        "audio/mpeg" | "audio/mp3" => "audio/mpeg",
        "audio/ogg" | "audio/opus" => "audio/ogg",
        "audio/flac" | "audio/x-flac" => "audio/flac",
        "audio/webm" => "audio/webm",
        "audio/mp4" | "audio/m4a" | "audio/x-m4a" | "audio/aac" => "audio/mp4",
        _ => return None,
    })
}

/// Returns the type of a blob: the declared one, when its bytes look like that; the one they look
/// like, when none is declared. An image is refused if its header claims more than `pixels`, or
/// does not say how many it has.
pub fn check(
    declared: Option<&str>,
    bytes: &[u8],
    pointer: &str,
    pixels: u64,
) -> Result<&'static str, Problem> {
    let mime = known(declared, bytes, pointer)?;
    if !mime.starts_with("image/") {
        return Ok(mime);
    }
    let Some((width, height)) = size(mime, bytes) else {
        let detail = format!(
            "this {mime} does not say how large it is: its header is cut off or broken; send the file whole, as a program for \
             images writes it"
        );
        return Err(Problem::at(Slug::InvalidMedia, pointer, detail));
    };
    if u64::from(width) * u64::from(height) > pixels {
        metrics::counter!("thinkd_limit_total", "limit" => "image_pixels").increment(1);
        let detail =
            format!("an image has at most {pixels} pixels; this one says it is {width} × {height}");
        return Err(Problem::at(Slug::InvalidMedia, pointer, detail));
    }
    Ok(mime)
}

fn known(declared: Option<&str>, bytes: &[u8], pointer: &str) -> Result<&'static str, Problem> {
    let known = "png, jpeg, gif and webp images; wav, mp3, ogg, flac, webm and mp4 audio";
    let unknown = |detail| Problem::at(Slug::UnsupportedMediaType, pointer, detail);
    let declared = declared.map(|mime| {
        canonical(mime).ok_or_else(|| {
            let mime: String = mime.chars().take(60).collect();
            unknown(format!("{mime:?} is not taken; taken are {known}"))
        })
    });
    match (sniff(bytes), declared.transpose()?) {
        (Some(found), None) => Ok(found),
        (Some(found), Some(declared)) if found == declared => Ok(found),
        (None, None) => Err(unknown(format!("taken are {known}"))),
        (_, Some(declared)) => {
            let detail = format!("these bytes are no {declared}");
            Err(Problem::at(Slug::InvalidMedia, pointer, detail))
        }
    }
}

/// Returns true if the text is a blob's id.
pub fn is_sha256(text: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 64 && text.bytes().all(is_digit)
}

/// Media of an input as parts of it: data are stored as a blob, a blob is looked up.
pub async fn part(
    session: &Session,
    media: Media,
    is: Modality,
    at: &str,
    pixels: u64,
) -> Result<Part, Problem> {
    let (blob, mime, bytes) = match (media.data, media.blob) {
        (Some(data), None) => {
            let Ok(bytes) = STANDARD.decode(data) else {
                let at = format!("{at}/data");
                return Err(Problem::at(Slug::InvalidMedia, at, "this is not base64"));
            };
            let mime = check(media.mime_type.as_deref(), &bytes, at, pixels)?;
            must_be(is, mime, at)?;
            let size = bytes.len() as u64;
            let blob = Blob {
                mime: mime.to_owned(),
                bytes: Bytes::from(bytes),
            };
            (session.put_blob(blob).await?, mime.to_owned(), size)
        }
        (None, Some(hash)) => {
            let known = match is_sha256(&hash) {
                true => session.blob(&hash).await?,
                false => None,
            };
            let Some(blob) = known else {
                let detail = "there is no such blob; upload it with POST /blobs first";
                return Err(Problem::at(Slug::NotFound, format!("{at}/blob"), detail));
            };
            must_be(is, &blob.mime, at)?;
            let declared = media.mime_type.as_deref();
            if declared.is_some_and(|mime| canonical(mime) != canonical(&blob.mime)) {
                let detail = format!("the blob is {}", blob.mime);
                let at = format!("{at}/mimeType");
                return Err(Problem::at(Slug::InvalidMedia, at, detail));
            }
            (hash, blob.mime, blob.bytes.len() as u64)
        }
        _ => {
            let detail = "give either data or blob";
            return Err(Problem::at(Slug::InvalidFrame, at, detail));
        }
    };
    Ok(Part::Media {
        modality: is,
        blob,
        mime,
        bytes,
    })
}

fn must_be(is: Modality, mime: &str, at: &str) -> Result<(), Problem> {
    if mime.split('/').next() == Some(is.as_str()) {
        return Ok(());
    }
    let detail = format!("{mime} is no {is}");
    Err(Problem::at(Slug::InvalidMedia, at, detail))
}
