//! Bodies that are packed without a request for it. Pure.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// Most bytes of a body that was packed.
const MOST: usize = 16 << 20;

/// The first bytes of a body in gzip.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The body inside of gzip. None: it is cut off, too large or damaged.
pub(super) fn unpacked(body: &[u8]) -> Option<Vec<u8>> {
    const HEAD: usize = 10;
    let flags = *body.get(3)?;
    let mut rest = body.get(HEAD..)?;
    if flags & 4 != 0 {
        let (length, more) = rest.split_first_chunk::<2>()?;
        rest = more.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    // A name, and a remark.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & 2 != 0 {
        rest = rest.get(2..)?;
    }
    decompress_to_vec_with_limit(rest, MOST).ok()
}

/// True if bytes are no text at all.
pub(super) fn is_binary(body: &[u8]) -> bool {
    let begin = &body[..body.len().min(256)];
    begin
        .iter()
        .any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace() && *byte != 0x1b)
}
