//! Answers of a socket to bad frames: bytes on a plain TCP connection, each row with its outcome.
//! After every row the server is well: the next connection is served, and nothing but `debug` was stored.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use kit::*;

/// A connection without any library that would keep it from doing wrong.
struct Raw {
    stream: TcpStream,
    read: Vec<u8>,
}

/// An answer to a handshake.
#[derive(Debug)]
struct Head {
    status: u16,
    text: String,
}

/// A frame of the server.
#[derive(Debug, PartialEq)]
enum Got {
    Text(Value),
    Pong(Vec<u8>),
    Ping,
    Close(Option<u16>),
    End,
}

const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

impl Raw {
    async fn connect(app: &App) -> Self {
        let stream = within("a connection", TcpStream::connect(&app.address))
            .await
            .unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            read: Vec::new(),
        }
    }

    /// A connection after its handshake.
    async fn socket(app: &App) -> Self {
        let mut raw = Self::connect(app).await;
        raw.send(format!("GET /ws HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}\r\n").as_bytes())
            .await;
        assert_eq!(raw.head().await.status, 101);
        raw
    }

    async fn send(&mut self, bytes: &[u8]) {
        // The server may have closed already: what it said before is what counts.
        let _ = self.stream.write_all(bytes).await;
    }

    /// Reads more; false at the end.
    async fn more(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let read = within("bytes or the end", self.stream.read(&mut bytes))
            .await
            .unwrap_or(0);
        self.read.extend_from_slice(&bytes[..read]);
        read > 0
    }

    async fn head(&mut self) -> Head {
        loop {
            if let Some(end) = self.read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let text = String::from_utf8_lossy(&self.read.drain(..end + 4).collect::<Vec<_>>())
                    .to_lowercase();
                let status = text
                    .split(' ')
                    .nth(1)
                    .and_then(|status| status.parse().ok())
                    .unwrap_or(0);
                return Head { status, text };
            }
            if !self.more().await {
                return Head {
                    status: 0,
                    text: String::new(),
                };
            }
        }
    }

    async fn next(&mut self) -> Got {
        loop {
            if let Some(got) = self.take_frame() {
                return got;
            }
            if !self.more().await {
                return Got::End;
            }
        }
    }

    fn take_frame(&mut self) -> Option<Got> {
        let (&first, &second) = (self.read.first()?, self.read.get(1)?);
        let (start, length) = match second {
            126 => (
                4,
                usize::from(u16::from_be_bytes(self.read.get(2..4)?.try_into().unwrap())),
            ),
            127 => (
                10,
                u64::from_be_bytes(self.read.get(2..10)?.try_into().unwrap()) as usize,
            ),
            length => (2, usize::from(length)),
        };
        let payload = self.read.get(start..start + length)?.to_vec();
        self.read.drain(..start + length);
        Some(match first & 15 {
            1 => Got::Text(serde_json::from_slice(&payload).unwrap()),
            8 => Got::Close(
                payload
                    .get(..2)
                    .map(|code| u16::from_be_bytes(code.try_into().unwrap())),
            ),
            9 => Got::Ping,
            10 => Got::Pong(payload),
            other => panic!("the server sent a frame of opcode {other}"),
        })
    }

    /// Reads until the close frame (or the bare end).
    async fn closed(&mut self) -> Got {
        loop {
            if let end @ (Got::Close(_) | Got::End) = self.next().await {
                return end;
            }
        }
    }

    /// Reads until a text frame of a type.
    async fn of_type(&mut self, kind: &str) -> Value {
        loop {
            match self.next().await {
                Got::Text(frame) if frame["type"] == kind => return frame,
                end @ (Got::Close(_) | Got::End) => {
                    panic!("{end:?} came instead of a frame of type {kind}")
                }
                _ => {}
            }
        }
    }

    async fn is_alive(&mut self) -> bool {
        self.send(&text(r#"{"type":"ping"}"#)).await;
        self.of_type("pong").await["after"].is_i64()
    }
}

/// A frame with these first bits and this payload, masked as clients have to.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = header(first, payload.len() as u64);
    bytes.extend([1, 2, 3, 4]);
    bytes.extend(
        payload
            .iter()
            .zip([1, 2, 3, 4].iter().cycle())
            .map(|(byte, mask)| byte ^ mask),
    );
    bytes
}

fn header(first: u8, length: u64) -> Vec<u8> {
    let mut bytes = vec![first];
    match length {
        0..=125 => bytes.push(128 | length as u8),
        126..=65535 => {
            bytes.push(128 | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
        _ => {
            bytes.push(128 | 127);
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes
}

/// A text in so many fragments of this size, without its last.
fn fragments(count: usize, size: usize) -> Vec<u8> {
    let piece = vec![b'a'; size];
    let more = (1..count).map(|_| frame(0, &piece));
    std::iter::once(frame(TEXT, &piece))
        .chain(more)
        .collect::<Vec<_>>()
        .concat()
}

/// The beginning of a frame that announces so many bytes.
fn announced(length: u64) -> Vec<u8> {
    [header(FIN | TEXT, length), vec![1, 2, 3, 4]].concat()
}

const FIN: u8 = 128;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;

fn text(text: &str) -> Vec<u8> {
    frame(FIN | TEXT, text.as_bytes())
}

fn close(code: u16, reason: &[u8]) -> Vec<u8> {
    frame(FIN | CLOSE, &[&code.to_be_bytes(), reason].concat())
}

async fn server(settings: &[(&str, &str)]) -> (Stub, App) {
    let stub = Stub::start().await;
    let setup = settings.iter().fold(
        Setup::new(Medium::sqlite(), &stub),
        |setup, (name, value)| setup.env(name, value),
    );
    let app = setup.start_bare().await;
    (stub, app)
}

#[tokio::test]
async fn handshakes() {
    let (_stub, app) = server(&[]).await;
    let get = |path: &str, headers: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
    };
    let without = |line: &str| UPGRADE.replace(line, "");
    let with = |line: &str| format!("{UPGRADE}{line}");
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let rows: Vec<(&str, String, u16, &str)> = vec![
        (
            "as it should be",
            get("/ws", UPGRADE),
            101,
            "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=",
        ),
        ("at /", get("/", UPGRADE), 101, "upgrade: websocket"),
        ("a page at /", get("/", ""), 303, "location: console/"),
        ("1 plain GET", get("/ws", ""), 426, "upgrade: websocket"),
        (
            "2 POST with upgrade headers",
            get("/ws", UPGRADE).replacen("GET", "POST", 1),
            405,
            "allow: get",
        ),
        (
            "3 no key",
            get("/ws", &without(key)),
            400,
            "application/problem+json",
        ),
        (
            "4 version 12",
            get("/ws", &UPGRADE.replace("13", "12")),
            426,
            "sec-websocket-version: 13",
        ),
        (
            "4 no version",
            get("/ws", &without("Sec-WebSocket-Version: 13\r\n")),
            426,
            "sec-websocket-version: 13",
        ),
        (
            "5 key is no base64",
            get("/ws", &UPGRADE.replace("dGhl", "!!!!")),
            400,
            "application/problem+json",
        ),
        (
            "5 key of 15 bytes",
            get(
                "/ws",
                &UPGRADE.replace("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j"),
            ),
            400,
            "",
        ),
        ("5 two keys", get("/ws", &with(key)), 400, ""),
        (
            "6 a foreign origin",
            get("/ws", &with("Origin: http://evil.test\r\n")),
            403,
            "application/problem+json",
        ),
        (
            "6 a foreign origin that begins well",
            get("/ws", &with("Origin: http://localhost.evil.test\r\n")),
            403,
            "",
        ),
        (
            "6 a foreign origin with a name in it",
            get("/ws", &with("Origin: http://localhost@evil.test\r\n")),
            403,
            "",
        ),
        (
            "6 a foreign origin on HTTP",
            get("/events", "Origin: http://evil.test\r\n"),
            403,
            "",
        ),
        (
            "6 another scheme",
            get("/ws", &with("Origin: file://localhost\r\n")),
            403,
            "",
        ),
        (
            "an origin of this machine, another port",
            get("/ws", &with("Origin: http://localhost:5173\r\n")),
            101,
            "",
        ),
        (
            "7 origin null",
            get("/ws", &with("Origin: null\r\n")),
            403,
            "",
        ),
        (
            "7 two origins",
            get(
                "/ws",
                &with("Origin: http://localhost\r\nOrigin: http://localhost\r\n"),
            ),
            403,
            "",
        ),
        (
            "8 a foreign host",
            get("/ws", UPGRADE).replace("Host: localhost", "Host: evil.test"),
            421,
            "application/problem+json",
        ),
        (
            "8 a foreign host with a port",
            get("/ws", UPGRADE).replace("Host: localhost", "Host: evil.test:2953"),
            421,
            "",
        ),
        (
            "8 a host with a user",
            get("/ws", UPGRADE).replace("Host: localhost", "Host: localhost@evil.test"),
            421,
            "",
        ),
        (
            "8 an empty host",
            get("/ws", UPGRADE).replace("Host: localhost", "Host:"),
            421,
            "",
        ),
        (
            "8 no host",
            get("/ws", UPGRADE).replace("Host: localhost\r\n", ""),
            400,
            "",
        ),
        (
            "8 two hosts",
            get("/ws", &with("Host: localhost\r\n")),
            400,
            "",
        ),
        (
            "8 another host in the address",
            get("http://evil.test/ws", UPGRADE),
            421,
            "",
        ),
        (
            "a loopback address",
            get("/ws", UPGRADE).replace("Host: localhost", "Host: 127.0.0.1:9"),
            101,
            "",
        ),
        (
            "a loopback address, IPv6",
            get("/ws", UPGRADE).replace("Host: localhost", "Host: [::1]:2953"),
            101,
            "",
        ),
        (
            "12 our subprotocol among others",
            get("/ws", &with("Sec-WebSocket-Protocol: chat, thinkd.v1\r\n")),
            101,
            "sec-websocket-protocol: thinkd.v1",
        ),
        (
            "12 other subprotocols",
            get("/ws", &with("Sec-WebSocket-Protocol: chat\r\n")),
            101,
            "!sec-websocket-protocol",
        ),
        (
            "13 deflate offered",
            get(
                "/ws",
                &with("Sec-WebSocket-Extensions: permessage-deflate\r\n"),
            ),
            101,
            "!sec-websocket-extensions",
        ),
        (
            "14 headers of 17 KiB",
            get(
                "/ws",
                &with(&format!("X-Much: {}\r\n", "x".repeat(17 << 10))),
            ),
            431,
            "",
        ),
        (
            "14 a hundred and one headers",
            get("/ws", &"X: y\r\n".repeat(101)),
            431,
            "",
        ),
        ("no HTTP at all", "\u{16}\u{3}\u{1}\r\n\r\n".into(), 400, ""),
    ];
    for (name, request, status, expected) in rows {
        let mut raw = Raw::connect(&app).await;
        raw.send(request.as_bytes()).await;
        let head = raw.head().await;
        assert_eq!(head.status, status, "{name}: {}", head.text);
        match expected.strip_prefix('!') {
            Some(absent) => assert!(!head.text.contains(absent), "{name}: {}", head.text),
            None => assert!(head.text.contains(expected), "{name}: {}", head.text),
        }
    }
}

#[tokio::test]
async fn headers_that_do_not_come_are_not_waited_for() {
    let (_stub, app) = server(&[("THINKD_TEST_LIMITS__HEADER_MS", "200")]).await;
    for half in ["", "GET /ws HTTP/1.1\r\nHost: loc"] {
        let mut raw = Raw::connect(&app).await;
        raw.send(half.as_bytes()).await;
        while raw.more().await {}
    }
    assert!(Raw::socket(&app).await.is_alive().await);
}

#[tokio::test]
async fn frames_that_break_the_protocol_get_their_close_code() {
    let (_stub, app) = server(&[]).await;
    let unmasked = vec![FIN | TEXT, 2, b'{', b'}'];
    let rows: Vec<(&str, Vec<u8>, u16)> = vec![
        ("16 unmasked", unmasked, 1002),
        ("17 a reserved bit", frame(FIN | 64 | TEXT, b"{}"), 1002),
        ("17 opcode 3", frame(FIN | 3, b"{}"), 1002),
        ("17 opcode 11", frame(FIN | 11, b""), 1002),
        ("18 a ping of 126 bytes", frame(FIN | PING, &[0; 126]), 1002),
        ("18 a fragmented ping", frame(PING, b"a"), 1002),
        ("19 a continuation of nothing", frame(FIN, b"a"), 1002),
        (
            "19 a text inside a fragmented one",
            [frame(TEXT, b"{"), frame(FIN | TEXT, b"}")].concat(),
            1002,
        ),
        ("20 not UTF-8", frame(FIN | TEXT, b"\xff\xfe"), 1007),
        (
            "20 a surrogate",
            frame(FIN | TEXT, b"\"\xed\xa0\x80\""),
            1007,
        ),
        (
            "20 an overlong form",
            frame(FIN | TEXT, b"\"\xc0\xaf\""),
            1007,
        ),
        (
            "20 half a character at the end",
            [frame(TEXT, b"\"\xf0\x9f"), frame(FIN, b"\"")].concat(),
            1007,
        ),
        ("22 17 MiB announced", announced(17 << 20), 1009),
        ("22 2^62 announced", announced(1 << 62), 1009),
        ("22 2^63 announced", announced(1 << 63), 1009),
        ("23 9 MiB in fragments", fragments(9, 1 << 20), 1009),
        (
            "25 a close payload of 1 byte",
            frame(FIN | CLOSE, b"a"),
            1002,
        ),
        ("26 close code 999", close(999, b""), 1002),
        ("26 close code 1005", close(1005, b""), 1002),
        ("26 close code 1006", close(1006, b""), 1002),
        ("26 close code 2999", close(2999, b""), 1002),
        (
            "27 a close reason that is not UTF-8",
            close(1000, b"\xff"),
            1007,
        ),
        ("29 close 1000", close(1000, b"bye"), 1000),
        ("29 close 4000", close(4000, b""), 4000),
        (
            "28 data after the close frame",
            [close(1000, b""), text("{}")].concat(),
            1000,
        ),
        ("30 binary", frame(FIN | BINARY, b"{}"), 1003),
    ];
    for (name, bytes, code) in rows {
        let mut raw = Raw::socket(&app).await;
        raw.of_type("hello").await;
        raw.send(&bytes).await;
        assert_eq!(raw.closed().await, Got::Close(Some(code)), "{name}");
        if let Some(answer) = (code != 1000 && code != 4000).then(|| close(code, b"")) {
            raw.send(&answer).await;
        }
        while raw.more().await {}
    }
    let mut raw = Raw::socket(&app).await;
    raw.send(&frame(FIN | CLOSE, b"")).await;
    assert_eq!(raw.closed().await, Got::Close(None), "29 an empty close");
    assert!(Raw::socket(&app).await.is_alive().await);
}

#[tokio::test]
async fn frames_that_are_only_unusual_are_taken() {
    let (_stub, app) = server(&[]).await;
    let mut raw = Raw::socket(&app).await;
    // 21: a character split over two fragments, with a ping between them.
    let said = r#"{"id":"split","text":"🌍"}"#.as_bytes();
    let middle = said.len() - 4;
    let parts = [
        frame(TEXT, &said[..middle]),
        frame(FIN | PING, &[7; 125]),
        frame(FIN, &said[middle..]),
    ];
    raw.send(&parts.concat()).await;
    let mut pong = None;
    let mut ack = None;
    while pong.is_none() || ack.is_none() {
        match raw.next().await {
            Got::Pong(payload) => pong = Some(payload),
            Got::Text(frame) if frame["type"] == "ack" => ack = Some(frame),
            end @ (Got::Close(_) | Got::End) => panic!("{end:?}"),
            _ => {}
        }
    }
    assert_eq!(pong, Some(vec![7; 125]));
    let id = ack.unwrap()["events"][0]["event_id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(said_in(&app, &id).await, "🌍");
    // A frame of many small pieces, byte by byte; a pong nobody asked for.
    raw.send(&frame(FIN | 10, b"unasked")).await;
    for byte in text(r#"{"type":"ping"}"#) {
        raw.send(&[byte]).await;
    }
    raw.of_type("pong").await;
    // 33: a command and the end of the connection at once: it is stored or it is not, and sending it again settles it.
    let frame =
        json!({ "event_id": "0193b6c2-7c2e-7aaa-8000-0123456789ab", "text": "at the last moment" })
            .to_string();
    let mut leaving = Raw::socket(&app).await;
    leaving.send(&text(&frame)).await;
    drop(leaving);
    raw.send(&text(&frame)).await;
    let ack = raw.of_type("ack").await;
    assert!(
        ack["status"] != "ok" && ack["events"][0]["seq"].is_i64(),
        "{ack}"
    );
}

async fn said_in(app: &App, id: &str) -> String {
    said(&app.event(id).await).to_owned()
}

/// Returns rows of frames that are refused and leave the connection alive: the frame, the problem,
/// and its place.
fn refused() -> Vec<(String, &'static str, &'static str)> {
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let message = |member: &str| format!(r#"{{"text":"x",{member}}}"#);
    let trigger =
        |payload: &str| format!(r#"{{"type":"trigger","event":"t","payload":{payload}}}"#);
    let many = |count: usize| format!("[{}]", vec!["0"; count].join(","));
    let long = "a".repeat((64 << 10) + 1);
    let media = |item: &str| format!(r#"{{"images":[{item}]}}"#);
    let mut rows: Vec<(String, &str, &str)> = Vec::new();
    // C 34, 38: not JSON.
    for text in [
        "",
        "   ",
        "{",
        "}",
        "NaN",
        "Infinity",
        "{\"text\":\"x\"}x",
        "\u{feff}\u{feff}{\"text\":\"x\"}",
        "{\"text\":\"x\",}",
        "// hello\n{}",
        "{'text':'x'}",
        "{\"text\":\"\\ud800\"}",
        "{\"text\":1e400}",
        "{\"text\":01}",
        "{\"text\":\"a\nb\"}",
        "{text:\"x\"}",
        "\u{1}",
    ] {
        rows.push((text.into(), "malformed-json", ""));
    }
    // C 40: JSON, but no object.
    for text in ["[]", "[{\"text\":\"hi\"}]", "\"text\"", "null", "1", "true"] {
        rows.push((text.into(), "invalid-frame", ""));
    }
    let mut row = |text: String, slug, pointer| rows.push((text, slug, pointer));
    // C 35: too deep. The object of the frame and the payload are two levels themselves.
    row(
        trigger(&format!(r#"{{"a":{}}}"#, deep(63))),
        "invalid-frame",
        "*",
    );
    row(
        trigger(&format!(r#"{{"a":{}}}"#, deep(100_000))),
        "invalid-frame",
        "*",
    );
    row(deep(65), "invalid-frame", "*");
    // C 36: a member twice.
    row(
        r#"{"text":"a","text":"b"}"#.into(),
        "invalid-frame",
        "/text",
    );
    row(
        r#"{"type":"cancel","type":"ping"}"#.into(),
        "invalid-frame",
        "/type",
    );
    row(
        trigger(r#"{"a":{"b":1,"b":2}}"#),
        "invalid-frame",
        "/payload/a/b",
    );
    // C 37: numbers that not everybody keeps.
    row(
        trigger(r#"{"n":9007199254740993}"#),
        "invalid-frame",
        "/payload/n",
    );
    row(
        trigger(r#"{"n":18446744073709551616}"#),
        "invalid-frame",
        "/payload/n",
    );
    row(
        trigger(r#"{"n":-9007199254740993}"#),
        "invalid-frame",
        "/payload/n",
    );
    // C 39: NUL, in a value, in a name, anywhere.
    row(r#"{"text":"a\u0000b"}"#.into(), "nul-not-allowed", "/text");
    row(
        trigger(r#"{"a":["\u0000"]}"#),
        "nul-not-allowed",
        "/payload/a/0",
    );
    row(trigger(r#"{"a\u0000":1}"#), "nul-not-allowed", "/payload");
    // C 41: types nobody knows.
    for kind in [
        "dance",
        "Message",
        "event",
        "hello",
        "",
        "auth ",
        "message\u{202e}",
    ] {
        row(
            json!({ "type": kind, "text": "x" }).to_string(),
            "unknown-type",
            "/type",
        );
    }
    row(r#"{"type":5,"text":"x"}"#.into(), "invalid-frame", "/type");
    row(
        r#"{"type":null,"text":"x"}"#.into(),
        "invalid-frame",
        "/type",
    );
    // C 42, 45: missing members, wrong types.
    row(r#"{"text":5}"#.into(), "invalid-frame", "/text");
    row(r#"{"text":["x"]}"#.into(), "invalid-frame", "/text");
    row(message(r#""thread":5"#), "invalid-frame", "/thread");
    row(message(r#""images":{}"#), "invalid-frame", "/images");
    row(message(r#""images":["x"]"#), "invalid-frame", "/images/0");
    row(
        message(r#""images":[{"data":5}]"#),
        "invalid-frame",
        "/images/0/data",
    );
    row(r#"{"type":"trigger"}"#.into(), "invalid-frame", "/event");
    row(
        r#"{"type":"trigger","event":"t","payload":[]}"#.into(),
        "invalid-frame",
        "/payload",
    );
    row(trigger(r#"{"text":5}"#), "invalid-frame", "/payload/text");
    row(
        r#"{"type":"subscribe","subtree":"yes"}"#.into(),
        "invalid-frame",
        "/subtree",
    );
    row(
        r#"{"type":"subscribe","tags":"input"}"#.into(),
        "invalid-frame",
        "/tags",
    );
    row(
        r#"{"type":"subscribe","tags":[1]}"#.into(),
        "invalid-frame",
        "/tags/0",
    );
    row(r#"{"type":"approve"}"#.into(), "invalid-frame", "/approval");
    for number in [
        "1e400",
        "0.100000000000000005551115123126",
        "18446744073709551616",
    ] {
        let frame =
            format!(r#"{{"type":"approve","approval":"a","arguments":{{"n":[{number}]}}}}"#);
        row(frame, "invalid-frame", "/arguments");
    }
    row(
        r#"{"type":"answer","question":"q"}"#.into(),
        "invalid-frame",
        "/text",
    );
    row(r#"{"type":"auth"}"#.into(), "invalid-frame", "/token");
    // C 43, 44: members nobody knows, among them those that only the server sets.
    for member in [
        "seq", "ts", "source", "space", "tenant", "modality", "meta", "payload", "mood", "user",
    ] {
        row(
            json!({ "text": "x", member: "y" }).to_string(),
            "unknown-member",
            "*",
        );
    }
    row(
        message(r#""images":[{"data":"","url":"http://x"}]"#),
        "unknown-member",
        "/images/0/url",
    );
    for kind in ["ping", "cancel", "subscribe", "unsubscribe"] {
        row(
            json!({ "type": kind, "extra": 1 }).to_string(),
            "unknown-member",
            "/extra",
        );
    }
    // C 46: too long, too many.
    row(
        json!({ "text": long }).to_string(),
        "text-too-large",
        "/text",
    );
    row(
        trigger(&json!({ "note": long }).to_string()),
        "text-too-large",
        "/payload/note",
    );
    row(
        trigger(&json!({ long.clone(): 1 }).to_string()),
        "text-too-large",
        "/payload",
    );
    row(
        trigger(&format!(r#"{{"a":{}}}"#, many(1001))),
        "invalid-frame",
        "/payload/a",
    );
    row(
        message(&format!(r#""images":{}"#, many(1001))),
        "invalid-frame",
        "/images",
    );
    // C 47: nothing said.
    for text in [
        r#"{}"#,
        r#"{"text":""}"#,
        r#"{"text":" \t\n\u3000"}"#,
        r#"{"type":"sensory","images":[]}"#,
        r#"{"text":null}"#,
    ] {
        row(text.into(), "empty-input", "");
    }
    // C 48: names are names.
    for name in [
        "",
        "Bad Name",
        "Ünï",
        "x".repeat(33).as_str(),
        "a.b",
        "nöne\u{202e}",
    ] {
        row(
            json!({ "type": "trigger", "event": name }).to_string(),
            "invalid-id",
            "/event",
        );
    }
    // C 50: ids of frames.
    row(
        message(&format!(r#""id":"{}""#, "i".repeat(300))),
        "invalid-frame",
        "/id",
    );
    row(message(r#""id":5"#), "invalid-frame", "/id");
    // D 51, 55: ids.
    for id in [
        "",
        "0",
        "../x",
        "{0193b6c2-7c2e-7aaa-8000-0123456789ab}",
        "0193b6c27c2e7aaa80000123456789ab",
        "0193b6c2-7c2e-7aaa-8000-0123456789ag",
    ] {
        row(
            json!({ "text": "x", "event_id": id }).to_string(),
            "invalid-id",
            "/event_id",
        );
    }
    let endless = "a.".repeat(200);
    for thread in [
        "",
        "Main",
        "a..b",
        ".a",
        "a.",
        "a b",
        "a/b",
        "../x",
        "ä",
        "x".repeat(37).as_str(),
        endless.as_str(),
    ] {
        row(
            json!({ "text": "x", "thread": thread }).to_string(),
            "invalid-id",
            "/thread",
        );
        row(
            json!({ "type": "subscribe", "thread": thread }).to_string(),
            "invalid-id",
            "/thread",
        );
        row(
            json!({ "type": "cancel", "thread": thread }).to_string(),
            "invalid-id",
            "/thread",
        );
    }
    // D 56: what is not there.
    row(
        json!({ "text": "x", "thread": "nobody.child" }).to_string(),
        "not-found",
        "",
    );
    row(
        json!({ "type": "approve", "approval": "none" }).to_string(),
        "not-found",
        "",
    );
    row(
        json!({ "type": "deny", "approval": "none" }).to_string(),
        "not-found",
        "",
    );
    row(
        json!({ "type": "answer", "question": "none", "text": "x" }).to_string(),
        "not-found",
        "",
    );
    // D 57, 58, 59: cursors.
    for after in ["-1", "1.5", "\"7\"", "[]", "true"] {
        row(
            format!(r#"{{"type":"subscribe","after":{after}}}"#),
            "invalid-cursor",
            "/after",
        );
    }
    row(
        r#"{"type":"subscribe","after":9223372036854775808}"#.into(),
        "invalid-cursor",
        "/after",
    );
    row(
        r#"{"type":"subscribe","after":9007199254740992}"#.into(),
        "invalid-cursor",
        "/after",
    );
    row(
        r#"{"type":"subscribe","after":9007199254740991}"#.into(),
        "cursor-ahead",
        "/after",
    );
    row(
        json!({ "type": "subscribe", "after": 0, "epoch": "x" }).to_string(),
        "invalid-id",
        "/epoch",
    );
    let epoch = "00000000-0000-7000-8000-000000000000";
    row(
        json!({ "type": "subscribe", "after": 0, "epoch": epoch }).to_string(),
        "epoch-changed",
        "/epoch",
    );
    // Media.
    row(media(r#"{}"#), "invalid-frame", "/images/0");
    row(
        media(r#"{"data":"iVBORw0KGgo=","blob":"x"}"#),
        "invalid-frame",
        "/images/0",
    );
    row(
        media(r#"{"data":"not base64!"}"#),
        "invalid-media",
        "/images/0/data",
    );
    row(
        media(r#"{"data":"","mimeType":"image/png"}"#),
        "invalid-media",
        "/images/0",
    );
    row(
        media(r#"{"data":"PHN2Zz4=","mimeType":"image/png"}"#),
        "invalid-media",
        "/images/0",
    );
    row(
        media(r#"{"data":"PHN2Zz4=","mimeType":"image/svg+xml"}"#),
        "unsupported-media-type",
        "/images/0",
    );
    row(
        media(r#"{"data":"PHN2Zz4="}"#),
        "unsupported-media-type",
        "/images/0",
    );
    row(
        media(r#"{"data":"iVBORw0KGgo=","mimeType":"audio/wav"}"#),
        "invalid-media",
        "/images/0",
    );
    row(
        media(r#"{"data":"UklGRiQAAABXQVZF","mimeType":"audio/wav"}"#),
        "invalid-media",
        "/images/0",
    );
    row(media(r#"{"blob":"x"}"#), "not-found", "/images/0/blob");
    row(
        media(&json!({ "blob": "0".repeat(64) }).to_string()),
        "not-found",
        "/images/0/blob",
    );
    row(
        r#"{"audio":[{"data":"iVBORw0KGgo="}]}"#.into(),
        "invalid-media",
        "/audio/0",
    );
    rows
}

// T4.08 D4.57: every refusal says what is wrong and where; the connection lives; nothing is stored.
on_sqlite!(
    d4_57_t4_08_refused_frames_name_what_is_wrong_and_store_nothing,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub)
            .env("THINKD_LIMITS__FRAMES_PER_SECOND", 100_000)
            .start()
            .await;
        let before = app.public_log().await;
        let mut socket = app.socket().await;
        // What the server stores by itself for a new space is not what this is about.
        socket.send(json!({ "type": "ping" })).await;
        socket.of_type("pong").await;
        for (sent, slug, pointer) in refused() {
            let shown: String = sent.chars().take(120).collect();
            socket.send_text(&sent).await;
            let problem = socket.problem().await;
            assert_eq!(
                problem["type"],
                format!("/problems/{slug}"),
                "{shown}: {problem}"
            );
            assert!(
                problem["title"].is_string() && problem["status"].is_u64(),
                "{shown}: {problem}"
            );
            assert!(
                problem["detail"]
                    .as_str()
                    .is_some_and(|detail| detail.len() > 8),
                "{shown}: {problem}"
            );
            match pointer {
                "*" => assert!(
                    problem["errors"][0]["pointer"].is_string(),
                    "{shown}: {problem}"
                ),
                "" => {}
                pointer => assert_eq!(
                    problem["errors"][0]["pointer"], pointer,
                    "{shown}: {problem}"
                ),
            }
        }
        assert_eq!(app.public_log().await, before, "something was stored");
        assert!(stub.requests().is_empty(), "a turn began");
        // The log says that frames were refused, to readers who ask, and not once a frame.
        let log = app.log().await;
        let refusals = with(&log, &["debug", "failure", "client"]);
        assert!(
            !refusals.is_empty() && refusals.len() < refused().len() / 2,
            "{} events",
            refusals.len()
        );
        assert!(
            refusals.iter().all(
                |event| said(event).contains("refused") && event["payload"]["kind"] == "client"
            )
        );
        assert_eq!(said(&socket.chat("still here").await), "ok: still here");
    }
);

#[tokio::test]
async fn an_id_is_echoed_even_where_the_rest_cannot_be_read() {
    let (_stub, app) = server(&[]).await;
    let mut socket = app.socket().await;
    for frame in [
        json!({ "type": "dance" }),
        json!({ "text": 5 }),
        json!({ "text": "x", "mood": 1 }),
        json!({ "text": "" }),
    ] {
        let answer = socket.ask(frame.clone()).await;
        assert_eq!(answer["type"], "problem", "{frame}: {answer}");
    }
}

// C 48: what is only unusual is kept byte for byte.
on_sqlite!(unusual_text_is_kept_byte_for_byte, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    for text in [
        "👩‍👩‍👧‍👦 e\u{301}\u{308}",
        "\u{202e}abc\u{202c}",
        "\u{fffe}\u{ffff}\u{10ffff}",
        "\u{1b}[31mred\u{7}",
        "'; drop table event; --",
        "%s %n {} $1",
    ] {
        let ack = socket.ask(json!({ "text": text })).await;
        let id = ack["events"][0]["event_id"]
            .as_str()
            .unwrap_or_else(|| panic!("{text:?}: {ack}"));
        assert_eq!(said(&app.event(id).await), text);
    }
    let longest = "x".repeat(64 << 10);
    let ack = socket
        .ask(json!({ "text": longest, "thread": "long" }))
        .await;
    assert_eq!(ack["type"], "ack", "{}", &ack.to_string()[..200]);
    // Anything that is no type of ours may be a number up to 2^53 - 1, and 62 deep.
    let deep = (0..60).fold(json!(9_007_199_254_740_991_i64), |inner, _| json!([inner]));
    let ack = socket
        .ask(json!({ "type": "trigger", "event": "t", "payload": { "a": deep }, "thread": "deep" }))
        .await;
    assert_eq!(ack["type"], "ack", "{ack}");
});

#[tokio::test]
async fn who_does_not_authenticate_is_closed_in_time_and_cannot_send_much() {
    let (_stub, app) = {
        let stub = Stub::start().await;
        let setup = Setup::new(Medium::sqlite(), &stub)
            .env("THINKD_TOKEN", "secret")
            .env("THINKD_TEST_LIMITS__AUTH_MS", 300);
        let app = setup.start_bare().await;
        (stub, app)
    };
    let mut silent = Raw::socket(&app).await;
    assert_eq!(
        silent.closed().await,
        Got::Close(Some(4408)),
        "9 no credential in time"
    );
    let rows: Vec<(&str, Vec<u8>, u16)> = vec![
        (
            "10 a wrong token",
            text(r#"{"type":"auth","token":"wrong"}"#),
            4401,
        ),
        ("a message first", text(r#"{"text":"hi"}"#), 4401),
        ("a ping frame first", text(r#"{"type":"ping"}"#), 4401),
        ("no name", text(":secret"), 4401),
        ("binary", frame(FIN | BINARY, b"ada:secret"), 1003),
        ("not UTF-8", frame(FIN | TEXT, b"\xff"), 1007),
        (
            "64 KiB and more",
            frame(FIN | TEXT, &vec![b'a'; 80 << 10]),
            1009,
        ),
        ("64 KiB and more in pieces", fragments(80, 1 << 10), 1009),
        ("17 MiB announced", announced(17 << 20), 1009),
    ];
    for (name, bytes, code) in rows {
        let mut raw = Raw::socket(&app).await;
        raw.send(&bytes).await;
        assert_eq!(raw.closed().await, Got::Close(Some(code)), "{name}");
    }
    // Once in, a frame may be large: the text in it is too long, the frame is not.
    let mut raw = Raw::socket(&app).await;
    raw.send(&text("ada:secret")).await;
    raw.of_type("hello").await;
    raw.send(&text(&json!({ "text": "x".repeat(100 << 10) }).to_string()))
        .await;
    assert_eq!(
        raw.of_type("problem").await["problem"]["type"],
        "/problems/text-too-large"
    );
    // Both in one write: what follows the credentials is not lost.
    let mut raw = Raw::socket(&app).await;
    raw.send(
        &[
            text(r#"{"type":"auth","token":"secret"}"#),
            text(r#"{"type":"ping"}"#),
        ]
        .concat(),
    )
    .await;
    raw.of_type("pong").await;
}

#[tokio::test]
async fn who_does_not_answer_pings_is_closed() {
    let (_stub, app) = server(&[("THINKD_TEST_LIMITS__PING_MS", "60")]).await;
    let mut raw = Raw::socket(&app).await;
    let mut pings = 0;
    let end = loop {
        match raw.next().await {
            Got::Ping => pings += 1,
            end @ (Got::Close(_) | Got::End) => break end,
            _ => {}
        }
    };
    assert_eq!((pings, end), (3, Got::Close(Some(4408))));
    // Half a frame, then silence: 24.
    let mut raw = Raw::socket(&app).await;
    raw.send(&text(r#"{"type":"ping"}"#)[..5]).await;
    assert_eq!(raw.closed().await, Got::Close(Some(4408)));
    // Who answers stays.
    let mut raw = Raw::socket(&app).await;
    for _ in 0..8 {
        while raw.next().await != Got::Ping {}
        raw.send(&frame(FIN | 10, b"")).await;
    }
    assert!(raw.is_alive().await);
}

// D4.57: a client that is lost is in the log, for those who look for it.
#[tokio::test]
async fn d4_57_a_client_that_is_lost_leaves_a_debug_event() {
    let (_stub, app) = server(&[]).await;
    let mut raw = Raw::socket(&app).await;
    raw.of_type("hello").await;
    let mut other = app.socket().await;
    other
        .ask(json!({ "type": "subscribe", "tags": ["client"] }))
        .await;
    let hidden = other.quiet(ms(50), |frame| frame["type"] == "event");
    drop(raw);
    hidden.await;
    other
        .ask(json!({ "type": "subscribe", "tags": ["debug"], "after": 0 }))
        .await;
    let lost = other
        .event("a lost client", |event| {
            has(event, "client") && said(event).contains("lost")
        })
        .await;
    assert_eq!(
        (&lost["source"], has(&lost, "failure")),
        (&json!("system"), true),
        "{lost}"
    );
}

#[tokio::test]
async fn a_flood_is_read_more_slowly_and_loses_nothing() {
    let (_stub, app) = server(&[("THINKD_LIMITS__FRAMES_PER_SECOND", "50")]).await;
    let mut raw = Raw::socket(&app).await;
    raw.of_type("hello").await;
    let begin = std::time::Instant::now();
    let ping = text(r#"{"type":"ping"}"#);
    raw.send(&ping.repeat(100)).await;
    for _ in 0..100 {
        raw.of_type("pong").await;
    }
    assert!(
        begin.elapsed() >= ms(800),
        "100 frames at 50 a second took {:?}",
        begin.elapsed()
    );
}

#[tokio::test]
async fn sockets_are_counted_by_key_and_in_all() {
    let stub = Stub::start().await;
    let setup = Setup::new(Medium::sqlite(), &stub).env("THINKD_TOKEN", "secret");
    let app = setup
        .env("THINKD_LIMITS__SOCKETS_PER_KEY", 2)
        .env("THINKD_LIMITS__SOCKETS", 4)
        .start_bare()
        .await;
    let enter = async || {
        let mut raw = Raw::socket(&app).await;
        raw.send(&text("ada:secret")).await;
        raw
    };
    let mut first = enter().await;
    let mut second = enter().await;
    first.of_type("hello").await;
    second.of_type("hello").await;
    assert_eq!(
        enter().await.closed().await,
        Got::Close(Some(4429)),
        "the third one of the key"
    );
    let with_header = format!(
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n{UPGRADE}\r\n"
    );
    let mut raw = Raw::connect(&app).await;
    raw.send(with_header.as_bytes()).await;
    let head = raw.head().await;
    assert!(
        head.status == 429 && head.text.contains("retry-after"),
        "{head:?}"
    );
    // A seat is free again when its client has gone.
    second.send(&close(1000, b"")).await;
    second.closed().await;
    within("the free seat", async {
        while {
            let mut raw = enter().await;
            !matches!(raw.next().await, Got::Text(_))
        } {}
    })
    .await;
}

// Who is slowed is told so, once: otherwise it looks as if the server were slow.
on_sqlite!(a_flood_is_told_once_why_it_is_answered_later, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub)
        .env("THINKD_LIMITS__FRAMES_PER_SECOND", 20)
        .start_bare()
        .await;
    let problems = async |frames: usize| {
        let mut raw = Raw::socket(&app).await;
        raw.of_type("hello").await;
        raw.send(&text(r#"{"type":"ping"}"#).repeat(frames)).await;
        let mut pongs = 0;
        let mut problems = Vec::new();
        while pongs < frames {
            match raw.next().await {
                Got::Text(frame) if frame["type"] == "pong" => pongs += 1,
                Got::Text(frame) if frame["type"] == "problem" => problems.push(frame),
                end @ (Got::Close(_) | Got::End) => panic!("{end:?} after {pongs} pongs"),
                _ => {}
            }
        }
        problems
    };
    // Control: who sends as many as are allowed is told nothing.
    assert_eq!(problems(15).await, Vec::<Value>::new());
    let told = problems(60).await;
    assert_eq!(told.len(), 1, "{told:?}");
    let problem = &told[0]["problem"];
    let detail = problem["detail"].as_str().unwrap();
    assert_eq!(
        (problem["type"].as_str(), told[0].get("id")),
        (Some("/problems/too-many-requests"), None),
        "{told:?}"
    );
    assert!(
        detail.contains("limits.frames_per_second") && detail.contains("20"),
        "{detail}"
    );
    assert_eq!(problems(60).await.len(), 1, "and every connection once");
});

// Who connects while the server goes gets an answer: a connection closed without a word looks like a crash.
#[tokio::test]
async fn who_comes_while_the_server_goes_is_told_to_come_again() {
    let (_stub, app) = server(&[]).await;
    // A body that does not come keeps the server from going at once.
    let mut slow = Raw::connect(&app).await;
    let begun = "POST /threads/main/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    slow.send(begun.as_bytes()).await;
    let mut open = Raw::socket(&app).await;
    open.of_type("hello").await;
    app.terminate();
    assert_eq!(open.closed().await, Got::Close(Some(1001)));
    for path in ["/ws", "/"] {
        let mut raw = Raw::connect(&app).await;
        raw.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}\r\n").as_bytes())
            .await;
        let head = raw.head().await;
        assert!(
            head.status == 503 && head.text.contains("retry-after:"),
            "{path}: {head:?}"
        );
    }
    let mut raw = Raw::connect(&app).await;
    raw.send(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    let head = raw.head().await;
    assert!(
        head.status == 503 && head.text.contains("retry-after:"),
        "{head:?}"
    );
}
