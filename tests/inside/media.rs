//! Images and sounds: stored once, shown to models, served safely.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use base64::Engine;
use proptest::prelude::{ProptestConfig, any as anything, prop, prop_assert, proptest};
use serde_json::json;
use sha2::{Digest, Sha256};

use kit::media::{PNG, WAV};
use kit::*;

fn bytes(base64: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD
        .decode(base64)
        .unwrap()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

// D4.05
on_sqlite!(
    d4_05_words_images_sounds_and_states_are_stored_and_returned_as_what_they_are,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
        let body = json!({
            "text": "what is this?", "images": [{ "data": PNG, "mimeType": "image/png" }], "audio": [{ "data": WAV, "mimeType": "audio/wav" }],
        });
        app.post("/threads/main/messages?wait=15", body)
            .await
            .expect(200);
        for (modality, mime, data) in [("image", "image/png", PNG), ("audio", "audio/wav", WAV)] {
            let found = app
                .get(&format!("/events?modality={modality}"))
                .await
                .expect(200)["items"]
                .clone();
            assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
            let payload = &found[0]["payload"];
            let data = bytes(data);
            assert_eq!(
                (&payload["mime"], &payload["bytes"], &payload["blob"]),
                (&json!(mime), &json!(data.len()), &json!(hash(&data)))
            );
            let blob = app
                .request("GET", &format!("/blobs/{}", hash(&data)))
                .send()
                .await
                .unwrap();
            assert_eq!(blob.headers()["content-type"], mime);
            assert_eq!(blob.headers()["x-content-type-options"], "nosniff");
            assert!(
                blob.headers()
                    .get("content-security-policy")
                    .is_some_and(|policy| policy.to_str().unwrap().contains("sandbox"))
            );
            assert_eq!(blob.bytes().await.unwrap(), data);
        }
        assert!(!with(&app.public_log().await, &["turn"]).is_empty());
        assert!(
            with(&app.public_log().await, &["turn"])
                .iter()
                .all(|event| event["modality"] == "state")
        );
        // Models are shown the media themselves.
        for asked in [stub.request(decision).await, stub.request(voice("a")).await] {
            let body = asked.body.to_string();
            assert!(
                body.contains(&format!("data:image/png;base64,{PNG}")),
                "no image: {body}"
            );
            assert!(
                body.contains("input_audio") && body.contains(WAV),
                "no sound: {body}"
            );
        }
    }
);

on_sqlite!(a_blob_uploaded_before_can_be_named_in_a_message, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let data = bytes(PNG);
    let upload = || {
        app.request("POST", "/blobs")
            .header("content-type", "image/png")
            .body(data.clone())
    };
    let stored = http::send(upload()).await;
    assert!(
        stored.status == 201 || stored.status == 200,
        "{}",
        stored.text
    );
    assert!(stored.text.contains(&hash(&data)), "{}", stored.text);
    assert!(
        http::send(upload()).await.status < 300,
        "the same bytes again change nothing"
    );
    let body = json!({ "images": [{ "blob": hash(&data) }] });
    app.post("/threads/main/messages?wait=15", body)
        .await
        .expect(200);
    let log = app.public_log().await;
    let event = one(&log, &["input"]);
    assert_eq!(
        (&event["modality"], &event["payload"]["blob"]),
        (&json!("image"), &json!(hash(&data)))
    );
    let unknown = json!({ "images": [{ "blob": "0".repeat(64) }] });
    let refused = app.post("/threads/main/messages", unknown).await;
    assert!((400..500).contains(&refused.status), "{}", refused.text);
    app.get(&format!("/blobs/{}", "0".repeat(64)))
        .await
        .expect_problem(404, "not-found");
});

on_sqlite!(
    media_that_are_none_are_refused_and_nothing_is_stored,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        for images in [
            json!([{ "data": "not base64!", "mimeType": "image/png" }]),
            json!([{ "data": "", "mimeType": "image/png" }]),
            json!([{ "data": PNG, "mimeType": "text/html" }]),
            json!([{ "data": PNG, "mimeType": "" }]),
        ] {
            let answer = socket
                .ask(json!({ "text": "look", "images": images }))
                .await;
            assert_eq!(answer["type"], "problem", "{images}: {answer}");
        }
        assert!(with(&app.public_log().await, &["input"]).is_empty());
        assert_eq!(said(&socket.chat("still here").await), "ok: still here");
    }
);

/// Returns a chunk of a PNG with a checksum of zeros, which is not checked here.
fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    [&(data.len() as u32).to_be_bytes()[..], kind, data, &[0; 4]].concat()
}

/// A chunk of a WebP.
fn piece(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    [
        &kind[..],
        &(data.len() as u32).to_le_bytes(),
        data,
        &vec![0; data.len() % 2],
    ]
    .concat()
}

fn png(chunks: &[Vec<u8>]) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunks.concat()].concat()
}

fn ihdr(width: u32, height: u32) -> Vec<u8> {
    chunk(
        b"IHDR",
        &[
            &width.to_be_bytes()[..],
            &height.to_be_bytes(),
            &[8, 6, 0, 0, 0],
        ]
        .concat(),
    )
}

fn gif(width: u32, height: u32, rest: &[u8]) -> Vec<u8> {
    [
        &b"GIF89a"[..],
        &width.to_le_bytes()[..2],
        &height.to_le_bytes()[..2],
        &[0; 3],
        rest,
    ]
    .concat()
}

/// A frame of a GIF, without its pixels.
fn frame(left: u32, width: u32, height: u32) -> Vec<u8> {
    let number = |number: u32| number.to_le_bytes()[..2].to_vec();
    [
        vec![0x2c],
        number(left),
        number(0),
        number(width),
        number(height),
        vec![0, 8, 0],
    ]
    .concat()
}

/// Returns the marker that begins a JPEG's picture, with its size.
fn sof(width: u32, height: u32) -> Vec<u8> {
    [
        &b"\xff\xc2\0\x11\x08"[..],
        &height.to_be_bytes()[2..],
        &width.to_be_bytes()[2..],
        &[3; 10],
    ]
    .concat()
}

fn jpeg(segments: &[&[u8]]) -> Vec<u8> {
    [b"\xff\xd8", segments.concat().as_slice(), b"\xff\xda"].concat()
}

const APP: &[u8] = b"\xff\xe0\0\x04ab";

fn webp(pieces: &[Vec<u8>]) -> Vec<u8> {
    [b"RIFF\0\0\0\0WEBP".to_vec(), pieces.concat()].concat()
}

fn canvas(width: u32, height: u32) -> Vec<u8> {
    piece(
        b"VP8X",
        &[
            &[0; 4][..],
            &(width - 1).to_le_bytes()[..3],
            &(height - 1).to_le_bytes()[..3],
        ]
        .concat(),
    )
}

fn vp8l(width: u32, height: u32) -> Vec<u8> {
    piece(
        b"VP8L",
        &[
            &[0x2f][..],
            &((width - 1) | (height - 1) << 14).to_le_bytes(),
        ]
        .concat(),
    )
}

fn vp8(width: u32, height: u32) -> Vec<u8> {
    let sides = [&width.to_le_bytes()[..2], &height.to_le_bytes()[..2]].concat();
    piece(b"VP8 ", &[&[0, 0, 0, 0x9d, 1, 0x2a][..], &sides].concat())
}

/// The beginning of an image that says it is so large, of each kind.
fn claims(width: u32, height: u32) -> Vec<(&'static str, Vec<u8>)> {
    let mut all = vec![
        ("image/png", png(&[ihdr(width, height)])),
        ("image/gif", gif(width, height, &[])),
        ("image/jpeg", jpeg(&[APP, &sof(width, height)])),
        ("image/webp", webp(&[canvas(width, height)])),
    ];
    if width < 1 << 14 {
        all.push(("image/webp", webp(&[vp8l(width, height)])));
        all.push(("image/webp", webp(&[vp8(width, height)])));
    }
    all
}

/// Returns images that state their size where decoders look for it, and not where a reader of one
/// place only looks.
fn hides(width: u32, height: u32) -> Vec<(&'static str, Vec<u8>)> {
    let one = sof(1, 1);
    let sof = sof(width, height);
    let mut all = vec![
        ("image/jpeg", jpeg(&[APP, b"stray", &sof])),
        ("image/jpeg", jpeg(&[b"\xff\xff\xff", &sof])),
        ("image/jpeg", jpeg(&[APP, b"\xff\0\xff\xff\0", &sof])),
        ("image/jpeg", jpeg(&[b"\xff\x01\xff\xd0", APP, &sof])),
        ("image/jpeg", jpeg(&[&one, &sof])),
        ("image/jpeg", jpeg(&[b"\xff\xe1\0\x15", &one, &sof])),
        ("image/gif", gif(1, 1, &frame(0, width, height))),
        ("image/gif", gif(0, 0, &frame(0, width, height))),
        (
            "image/gif",
            gif(
                1,
                1,
                &[
                    &[0x21, 0xfe, 2, 0x2c, 0, 0][..],
                    &[7, 7],
                    &frame(0, 1, 1),
                    &frame(9, width, height),
                ]
                .concat(),
            ),
        ),
        (
            "image/png",
            png(&[chunk(b"tEXt", &[0; 40]), ihdr(width, height)]),
        ),
        ("image/png", png(&[ihdr(1, 1), ihdr(width, height)])),
    ];
    if width < 1 << 14 {
        all.push((
            "image/webp",
            webp(&[canvas(1, 1), piece(b"ICCP", b"odd"), vp8l(width, height)]),
        ));
        all.push(("image/webp", webp(&[canvas(1, 1), vp8(width, height)])));
        let frame = [&[0; 16][..], &vp8l(width, height)].concat();
        all.push(("image/webp", webp(&[canvas(1, 1), piece(b"ANMF", &frame)])));
    }
    all
}

// What a few bytes claim, a reader may have to make room for.
on_sqlite!(
    an_image_that_claims_to_be_too_large_is_refused_at_every_door,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        let upload = async |mime: &str, bytes: &[u8]| {
            http::send(
                app.request("POST", "/blobs")
                    .header("content-type", mime)
                    .body(bytes.to_vec()),
            )
            .await
        };
        let mut told = 0;
        let large = |make: fn(u32, u32) -> _| {
            Vec::from_iter([make(50_000, 50_000), make(16_383, 16_383)].concat())
        };
        for (mime, bytes) in [large(claims), large(hides)].concat() {
            let refused = upload(mime, &bytes)
                .await
                .expect_problem(400, "invalid-media");
            assert!(
                refused["detail"].as_str().unwrap().contains("pixels"),
                "{mime}: {refused}"
            );
            let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
            let answer = socket.ask(json!({ "images": [{ "data": data }] })).await;
            assert_eq!(
                answer["problem"]["errors"][0]["pointer"], "/images/0",
                "{mime}: {answer}"
            );
            told += 1;
        }
        assert_eq!(told, 10 + 25);
        // Control: as large as photographs are.
        for (mime, bytes) in [claims(9_000, 9_000), hides(9_000, 9_000)].concat() {
            upload(mime, &bytes).await.expect(201);
        }
    }
);

// An image that does not say how large it is may be of any size.
on_sqlite!(
    an_image_that_does_not_say_how_large_it_is_is_refused_at_every_door,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        let mut socket = app.socket().await;
        let cut = claims(300, 200).into_iter().map(|(mime, bytes)| {
            let before_its_end = if mime == "image/gif" {
                9
            } else if mime == "image/jpeg" {
                16
            } else {
                20
            };
            (mime, bytes[..before_its_end].to_vec())
        });
        let none = [
            (
                "image/png",
                png(&[chunk(b"IDAT", &[0; 40]), ihdr(300, 200)]),
            ),
            ("image/png", png(&[])),
            ("image/jpeg", jpeg(&[APP])),
            ("image/jpeg", [jpeg(&[APP]), sof(300, 200)].concat()),
            ("image/jpeg", jpeg(&[&sof(300, 0)])),
            ("image/gif", gif(0, 0, &[])),
            ("image/webp", webp(&[piece(b"VP9 ", &[1; 20])])),
            ("image/webp", webp(&[piece(b"VP8 ", &[1; 20])])),
        ];
        for (mime, bytes) in cut.chain(none) {
            let refused = http::send(
                app.request("POST", "/blobs")
                    .header("content-type", mime)
                    .body(bytes.clone()),
            )
            .await;
            let refused = refused.expect_problem(400, "invalid-media");
            assert!(
                refused["detail"].as_str().unwrap().contains("how large"),
                "{mime} {bytes:?}: {refused}"
            );
            let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
            let answer = socket.ask(json!({ "images": [{ "data": data }] })).await;
            assert_eq!(
                answer["problem"]["errors"][0]["pointer"], "/images/0",
                "{mime}: {answer}"
            );
        }
        assert!(with(&app.public_log().await, &["input"]).is_empty());
    }
);

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    /// Any bytes, cut off or changed anywhere, are taken or refused.
    #[test]
    fn no_image_is_too_broken_to_be_refused(
        which in anything::<prop::sample::Index>(), cut in anything::<prop::sample::Index>(),
        changes in prop::collection::vec((anything::<prop::sample::Index>(), anything::<u8>()), 0..6), more in prop::collection::vec(anything::<u8>(), 0..40),
    ) {
        let all = [claims(9_000, 9_000), hides(9_000, 9_000)].concat();
        let (_, mut bytes) = all[which.index(all.len())].clone();
        bytes.truncate(cut.index(bytes.len() + 1));
        bytes.extend(more);
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        if let Err(problem) = thinkd::edge::media::check(None, &bytes, "/x", 100) {
            prop_assert!(problem.errors.iter().all(|error| error.pointer == "/x"), "{:?}", problem);
        }
    }
}

// A blob is to be saved, not opened in the server's own name.
on_sqlite!(a_blob_is_served_as_a_file_to_be_saved, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let (mime, bytes) = claims(2, 2).remove(0);
    let stored = http::send(
        app.request("POST", "/blobs")
            .header("content-type", mime)
            .body(bytes),
    )
    .await
    .expect(201);
    let blob = app
        .get(&format!("/blobs/{}", stored["blob"].as_str().unwrap()))
        .await;
    assert_eq!(
        (blob.status, blob.header("content-disposition")),
        (200, "attachment")
    );
    assert_eq!(blob.header("x-content-type-options"), "nosniff");
});
