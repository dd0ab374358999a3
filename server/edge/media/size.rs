//! The size that an image states, read as decoders read it: bytes that they pass over are passed
//! over. Of several sizes the largest counts, for a decoder may make room for that. Nothing is
//! decoded.

type Size = (u32, u32);

/// Width and height of an image of this type; `None` where its header is cut off, broken, or says nothing.
pub fn size(mime: &str, bytes: &[u8]) -> Option<Size> {
    let (width, height) = match mime {
        "image/png" => png(bytes),
        "image/jpeg" => jpeg(bytes),
        "image/gif" => gif(bytes),
        "image/webp" => webp(bytes),
        _ => None,
    }?;
    (width > 0 && height > 0).then_some((width, height))
}

fn big(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let mut bytes = bytes.get(at..at.checked_add(count)?)?.iter();
    bytes.try_fold(0, |all, byte| Some(all << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let mut bytes = bytes.get(at..at.checked_add(count)?)?.iter().rev();
    bytes.try_fold(0, |all, byte| Some(all << 8 | u32::from(*byte)))
}

/// Returns the position `count` bytes behind `at`.
fn behind(at: usize, count: u32) -> Option<usize> {
    at.checked_add(usize::try_from(count).ok()?)
}

fn larger(one: Option<Size>, other: Option<Size>) -> Option<Size> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.max(other.0), one.1.max(other.1))),
        _ => one.or(other),
    }
}

/// Goes from chunk to chunk up to the pixels.
fn png(bytes: &[u8]) -> Option<Size> {
    let mut at = 8;
    let mut size = None;
    while let (Some(length), Some(kind)) = (big(bytes, at, 4), bytes.get(at + 4..at + 8)) {
        match kind {
            b"IHDR" => size = larger(size, big(bytes, at + 8, 4).zip(big(bytes, at + 12, 4))),
            b"IDAT" | b"IEND" => break,
            _ => {}
        }
        // Its length, its kind, its checksum.
        at = behind(at + 12, length)?;
    }
    size
}

/// Goes from marker to marker up to the pixels.
fn jpeg(bytes: &[u8]) -> Option<Size> {
    let mut at = 2;
    let mut size = None;
    loop {
        let marker = marker(bytes, &mut at);
        match marker {
            None | Some(0xd9 | 0xda) => return size,
            Some(0x00 | 0x01 | 0xd0..=0xd8) => continue,
            Some(0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf) => {
                size = larger(size, big(bytes, at + 5, 2).zip(big(bytes, at + 3, 2)));
            }
            Some(_) => {}
        }
        let Some(length) = big(bytes, at, 2) else {
            return size;
        };
        at += length.max(2) as usize;
    }
}

/// Returns the next marker. Skips other bytes before it, and bytes that fill up.
fn marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    *at += bytes.get(*at..)?.iter().position(|byte| *byte == 0xff)?;
    *at += bytes.get(*at..)?.iter().position(|byte| *byte != 0xff)?;
    *at += 1;
    bytes.get(*at - 1).copied()
}

/// The screen, and every frame on it, for some make it as large as its frames.
fn gif(bytes: &[u8]) -> Option<Size> {
    let colours = |flags: u8| {
        if flags & 0x80 == 0 {
            0
        } else {
            3 << ((flags & 7) + 1)
        }
    };
    let number = |at: usize| little(bytes, at, 2);
    let mut size = number(6).zip(number(8));
    let mut at = 13 + colours(*bytes.get(10)?);
    loop {
        match bytes.get(at) {
            None | Some(0x3b) => return size,
            Some(0x2c) => {
                let frame = |corner: usize, side: usize| Some(number(corner)? + number(side)?);
                size = larger(size, frame(at + 1, at + 5).zip(frame(at + 3, at + 7)));
                let Some(flags) = bytes.get(at + 9) else {
                    return size;
                };
                at = past_blocks(bytes, at + 11 + colours(*flags));
            }
            Some(0x21) => at = past_blocks(bytes, at + 2),
            Some(_) => at += 1,
        }
    }
}

/// Behind blocks that each say how long they are, the last of which is empty.
fn past_blocks(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at) {
            None | Some(0) => return at + 1,
            Some(length) => at += 1 + usize::from(*length),
        }
    }
}

/// The canvas, and every picture on it, for some do not compare them.
fn webp(bytes: &[u8]) -> Option<Size> {
    let more = |at: usize| Some(little(bytes, at, 3)? + 1);
    let mut at = 12;
    let mut size = None;
    while let (Some(kind), Some(length)) = (bytes.get(at..at + 4), little(bytes, at + 4, 4)) {
        let body = at + 8;
        let one = match kind {
            b"VP8X" => more(body + 4).zip(more(body + 7)),
            b"VP8L" if bytes.get(body) == Some(&0x2f) => little(bytes, body + 1, 4)
                .map(|bits| ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)),
            b"VP8 " if bytes.get(body + 3..body + 6) == Some(b"\x9d\x01\x2a") => {
                let side = |at: usize| Some(little(bytes, at, 2)? & 0x3fff);
                side(body + 6).zip(side(body + 8))
            }
            b"ANMF" => more(body + 6).zip(more(body + 9)),
            _ => None,
        };
        size = larger(size, one);
        // What is in a frame comes after the frame's head. Chunks begin at even places.
        at = if kind == b"ANMF" {
            body + 16
        } else {
            behind(body, length)?.checked_add((length & 1) as usize)?
        };
    }
    size
}
