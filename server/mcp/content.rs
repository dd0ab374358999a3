//! The answer of a server as the output of a tool: words and JSON as they are, pictures and sounds
//! as blobs, all of it bounded.

use std::collections::HashMap;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode::Indifferent;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Value, json};

use super::wire::{Answer, Part, Pointer};
use forms::one_form;
use thinkd_event::draft::{DEPTH_MAX, is_within_depth};
use thinkd_log::blob::Blob;
use thinkd_log::kernel::Store;
use thinkd_tools::tool::Output;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::Space;

mod forms;

/// Most parts of an answer.
const PARTS_MAX: usize = 256;
/// Most pictures and sounds of an answer.
const MEDIA_MAX: usize = 16;
/// Longest words of a failure, in characters.
const FAILURE_MAX: usize = 4000;
/// The kinds of media that keep the kind that the server names: a browser would run none of them.
const KINDS: [&str; 9] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "audio/wav",
    "audio/mpeg",
    "audio/ogg",
    "audio/webm",
    "application/pdf",
];

/// Base64 with or without padding at its end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Returns the answer to a call as output, in the words of its server. Fails if the answer is an
/// error, or if a blob cannot be stored.
pub async fn output(
    tool: &str,
    answer: Answer,
    store: &dyn Store,
    space: &Space,
) -> Result<Output, Failure> {
    let Answer {
        mut parts,
        structured,
        is_error,
    } = answer;
    let left_out = parts.len().saturating_sub(PARTS_MAX);
    parts.truncate(PARTS_MAX);
    let mut found = Found::default();
    for part in parts {
        found.take(part, store, space).await?;
    }
    let structured = structured.map(|value| found.without_bytes(shallow(value)));
    if is_error {
        let said = found.words(structured.as_ref());
        let said: String = said.chars().take(FAILURE_MAX).collect();
        let text = format!("{tool} failed: {said}");
        return Err(Failure::new(FailureKind::Tool, text));
    }
    Ok(Output::value(found.value(structured, left_out)))
}

/// The parts found in an answer, by kind.
#[derive(Default)]
struct Found {
    texts: Vec<String>,
    media: Vec<Value>,
    /// The hash of each stored blob, by its base64.
    hashes: HashMap<String, Value>,
    links: Vec<Pointer>,
}

/// Fewest characters of base64 that are looked for in the JSON of an answer.
const TWICE_MIN: usize = 8;

impl Found {
    async fn take(&mut self, part: Part, store: &dyn Store, space: &Space) -> Result<(), Failure> {
        match part {
            Part::Text(text) => self.texts.push(text),
            Part::Link(link) => self.links.push(link),
            Part::Media { .. } if self.media.len() >= MEDIA_MAX => {
                let text =
                    format!("(a picture or sound is left out: an answer may have {MEDIA_MAX})");
                self.texts.push(text);
            }
            Part::Media { mime, data } => match bytes_of(&data) {
                None => {
                    let text = format!("({mime:?} that is not base64 is left out)");
                    self.texts.push(text);
                }
                Some(bytes) => {
                    let kept = kept(&mime, bytes, store, space).await?;
                    if data.len() >= TWICE_MIN {
                        self.hashes.insert(data, kept["blob"].clone());
                    }
                    self.media.push(kept);
                }
            },
        }
        Ok(())
    }

    /// Replaces the base64 of stored media in the JSON by the hash of the blob: some servers send media twice.
    fn without_bytes(&self, value: Value) -> Value {
        match value {
            Value::String(text) => {
                let address = text.rsplit_once(";base64,");
                let data = address.map_or(&*text, |(_, data)| data);
                let hash = self.hashes.get(data).cloned();
                hash.unwrap_or(Value::String(text))
            }
            Value::Array(list) => list.into_iter().map(|it| self.without_bytes(it)).collect(),
            Value::Object(members) => members
                .into_iter()
                .map(|(name, it)| (name, self.without_bytes(it)))
                .collect(),
            other => other,
        }
    }

    fn words(&self, structured: Option<&Value>) -> String {
        match structured {
            Some(value) if self.texts.is_empty() => value.to_string(),
            _ => self.texts.join("\n"),
        }
    }

    /// Returns the output: words alone as a text, JSON alone as JSON, and otherwise an object of
    /// the parts.
    fn value(self, structured: Option<Value>, left_out: usize) -> Value {
        let (texts, structured) = one_form(self.texts, structured);
        let text = texts.join("\n");
        if self.media.is_empty() && self.links.is_empty() && left_out == 0 {
            match structured {
                None => return text.into(),
                Some(value) if texts.is_empty() => return value,
                Some(_) => {}
            }
        }
        let some = |list: Vec<Value>| (!list.is_empty()).then(|| Value::from(list));
        let links = self.links.into_iter().map(|link| json!(link)).collect();
        let members = [
            ("text", (!text.is_empty()).then(|| text.into())),
            ("structured", structured),
            ("media", some(self.media)),
            ("links", some(links)),
            ("left_out", (left_out > 0).then(|| left_out.into())),
        ];
        let members = members.into_iter();
        let members = members.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(members.collect())
    }
}

/// Returns the bytes of base64, which may be broken into lines, or use the alphabet of URLs. None:
/// it is no base64.
fn bytes_of(data: &str) -> Option<Vec<u8>> {
    let letter = |letter: u8| match letter {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    };
    let letters = data.bytes().filter(|letter| !letter.is_ascii_whitespace());
    BASE64.decode(letters.map(letter).collect::<Vec<u8>>()).ok()
}

/// Stores media, and returns the hash of the blob, its kind and its length in bytes.
async fn kept(
    mime: &str,
    bytes: Vec<u8>,
    store: &dyn Store,
    space: &Space,
) -> Result<Value, Failure> {
    let given = mime.split(';').next().unwrap_or_default();
    let given = given.trim().to_ascii_lowercase();
    let mime = KINDS.into_iter().find(|kind| *kind == given);
    let mime = mime.unwrap_or("application/octet-stream");
    let length = bytes.len();
    let blob = Blob {
        mime: mime.to_owned(),
        bytes: bytes.into(),
    };
    let lost = |error| {
        let text = format!("a picture or sound could not be stored: {error}");
        Failure::new(FailureKind::Store, text)
    };
    let sha256 = store.put_blob(space, blob).await.map_err(lost)?;
    Ok(json!({ "blob": sha256, "mime": mime, "bytes": length }))
}

/// Returns JSON that may be stored: a value that is nested too deep becomes its text.
fn shallow(value: Value) -> Value {
    match is_within_depth(&value, DEPTH_MAX - 8) {
        true => value,
        false => value.to_string().into(),
    }
}
