//! Frames with bytes that are no text, which the files of habits cannot hold.

use super::Frame;

const CHUNK: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";

fn read(body: &[u8], size: usize) -> (String, Frame) {
    let mut frame = Frame::default();
    let mut events = Vec::new();
    for part in body.chunks(size) {
        events.extend(frame.take(part));
    }
    events.extend(frame.finish());
    (String::from_utf8(events).unwrap(), frame)
}

fn gzip(text: &str) -> Vec<u8> {
    let mut body = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3];
    body.extend(b"a name\0");
    body.extend(miniz_oxide::deflate::compress_to_vec(text.as_bytes(), 6));
    body.extend([0; 8]);
    body
}

#[test]
fn gzip_is_unpacked_in_parts_of_any_size() {
    for size in [1, 7, 1000] {
        let (events, frame) = read(&gzip(&format!("{CHUNK}data: [DONE]\n\n")), size);
        assert_eq!(events, format!("{CHUNK}data: [DONE]\n\n"));
        assert!(frame.is_done() && !frame.is_plain() && !frame.is_binary());
    }
}

#[test]
fn other_bytes_are_told_and_never_quoted() {
    let cut = &gzip(CHUNK)[..24];
    for body in [cut, &[0x28, 0xb5, 0x2f, 0xfd, 4, 0, 1], &[0x1f, 0x8b]] {
        let (events, frame) = read(body, 3);
        assert_eq!((events.as_str(), frame.is_binary()), ("", true));
    }
}

#[test]
fn lines_end_with_either_or_both() {
    for end in ["\n", "\r", "\r\n"] {
        for size in [1, 2, 1000] {
            let (events, _) = read(CHUNK.replace('\n', end).as_bytes(), size);
            assert_eq!(events, CHUNK, "{end:?} in parts of {size}");
        }
    }
}
