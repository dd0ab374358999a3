//! The contracts lie compressed (zlib) in the binary, because they are seldom asked for and would be a hundredth of it.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;

/// The hardest of the compressor's levels.
const LEVEL: u8 = 10;

/// A text, compressed: always the same bytes.
pub fn packed(text: &str) -> Vec<u8> {
    compress_to_vec_zlib(text.as_bytes(), LEVEL)
}

/// Returns the text of these compressed bytes; empty where they are none, which the tests rule out
/// for the committed files.
pub fn unpacked(bytes: &[u8]) -> String {
    decompress_to_vec_zlib(bytes)
        .ok()
        .and_then(|text| String::from_utf8(text).ok())
        .unwrap_or_default()
}
