//! Media as they are stored.

/// A blob to be stored, or as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The media type.
    pub mime: String,
    /// The bytes.
    pub bytes: bytes::Bytes,
}
