//! Images and sounds: stored once, shown to models, served safely.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use base64::Engine;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::boundary::{PNG, WAV};
use crate::support::*;

fn bytes(base64: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(base64).unwrap()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

// D4.05
on_both!(d4_05_words_images_sounds_and_states_are_stored_and_returned_as_what_they_are, |medium| {
    let stub = Stub::start().await;
    let app = Setup::new(medium, &stub).voices(&["a"]).start().await;
    let body = json!({
        "text": "what is this?", "images": [{ "data": PNG, "mimeType": "image/png" }], "audio": [{ "data": WAV, "mimeType": "audio/wav" }],
    });
    app.post("/threads/main/messages?wait=20", body).await.expect(200);
    for (modality, mime, data) in [("image", "image/png", PNG), ("audio", "audio/wav", WAV)] {
        let found = app.get(&format!("/events?modality={modality}")).await.expect(200)["items"].clone();
        assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
        let payload = &found[0]["payload"];
        let data = bytes(data);
        assert_eq!(
            (&payload["mime"], &payload["bytes"], &payload["blob"]),
            (&json!(mime), &json!(data.len()), &json!(hash(&data)))
        );
        let blob = app.request("GET", &format!("/blobs/{}", hash(&data))).send().await.unwrap();
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
    assert!(with(&app.public_log().await, &["turn"]).iter().all(|event| event["modality"] == "state"));
    // Models are shown the media themselves.
    for asked in [stub.request(decision).await, stub.request(voice("a")).await] {
        let body = asked.body.to_string();
        assert!(body.contains(&format!("data:image/png;base64,{PNG}")), "no image: {body}");
        assert!(body.contains("input_audio") && body.contains(WAV), "no sound: {body}");
    }
});

on_both!(a_blob_uploaded_before_can_be_named_in_a_message, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let data = bytes(PNG);
    let upload = || app.request("POST", "/blobs").header("content-type", "image/png").body(data.clone());
    let stored = http::send(upload()).await;
    assert!(stored.status == 201 || stored.status == 200, "{}", stored.text);
    assert!(stored.text.contains(&hash(&data)), "{}", stored.text);
    assert!(http::send(upload()).await.status < 300, "the same bytes again change nothing");
    let body = json!({ "images": [{ "blob": hash(&data) }] });
    app.post("/threads/main/messages?wait=20", body).await.expect(200);
    let log = app.public_log().await;
    let event = one(&log, &["input"]);
    assert_eq!((&event["modality"], &event["payload"]["blob"]), (&json!("image"), &json!(hash(&data))));
    let unknown = json!({ "images": [{ "blob": "0".repeat(64) }] });
    let refused = app.post("/threads/main/messages", unknown).await;
    assert!((400..500).contains(&refused.status), "{}", refused.text);
    app.get(&format!("/blobs/{}", "0".repeat(64))).await.expect_problem(404, "not-found");
});

on_both!(media_that_are_none_are_refused_and_nothing_is_stored, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    for images in [
        json!([{ "data": "not base64!", "mimeType": "image/png" }]),
        json!([{ "data": "", "mimeType": "image/png" }]),
        json!([{ "data": PNG, "mimeType": "text/html" }]),
        json!([{ "data": PNG, "mimeType": "" }]),
    ] {
        let answer = socket.ask(json!({ "text": "look", "images": images })).await;
        assert_eq!(answer["type"], "problem", "{images}: {answer}");
    }
    assert!(with(&app.public_log().await, &["input"]).is_empty());
    assert_eq!(said(&socket.chat("still here").await), "ok: still here");
});

/// The beginning of an image that says it is so large, of each kind.
fn claims(width: u32, height: u32) -> Vec<(&'static str, Vec<u8>)> {
    let (w, h) = (width.to_be_bytes(), height.to_be_bytes());
    let (lw, lh) = (width.to_le_bytes(), height.to_le_bytes());
    let (less_w, less_h) = ((width - 1).to_le_bytes(), (height - 1).to_le_bytes());
    let webp = |kind: &[u8], rest: Vec<u8>| [&b"RIFF\0\0\0\0WEBP"[..], kind, b"\0\0\0\0", &rest].concat();
    let mut all = vec![
        ("image/png", [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &w, &h, &[8, 6, 0, 0, 0]].concat()),
        ("image/gif", [&b"GIF89a"[..], &lw[..2], &lh[..2], &[0; 3]].concat()),
        // After a segment to be passed over, and padding.
        ("image/jpeg", [&b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc0\0\x11\x08"[..], &h[2..], &w[2..], &[3; 12]].concat()),
        ("image/webp", webp(b"VP8X", [&[0; 4][..], &less_w[..3], &less_h[..3]].concat())),
    ];
    if width < 1 << 14 {
        let bits = (width - 1) | (height - 1) << 14;
        all.push(("image/webp", webp(b"VP8L", [&[0x2f][..], &bits.to_le_bytes()].concat())));
        all.push(("image/webp", webp(b"VP8 ", [&[0, 0, 0, 0x9d, 1, 0x2a][..], &lw[..2], &lh[..2]].concat())));
    }
    all
}

// What a few bytes claim, a reader may have to make room for.
on_both!(an_image_that_claims_to_be_too_large_is_refused_at_every_door, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let mut socket = app.socket().await;
    let upload = async |mime: &str, bytes: &[u8]| {
        http::send(app.request("POST", "/blobs").header("content-type", mime).body(bytes.to_vec())).await
    };
    let mut told = 0;
    for (mime, bytes) in [claims(50_000, 50_000), claims(16_383, 16_383)].concat() {
        let refused = upload(mime, &bytes).await.expect_problem(400, "invalid-media");
        assert!(refused["detail"].as_str().unwrap().contains("pixels"), "{mime}: {refused}");
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        let answer = socket.ask(json!({ "images": [{ "data": data }] })).await;
        assert_eq!(answer["problem"]["errors"][0]["pointer"], "/images/0", "{mime}: {answer}");
        told += 1;
    }
    assert_eq!(told, 10);
    // Control: as large as photographs are.
    for (mime, bytes) in claims(9_000, 9_000) {
        upload(mime, &bytes).await.expect(201);
    }
});

// A blob is to be saved, not opened in the server's own name.
on_both!(a_blob_is_served_as_a_file_to_be_saved, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    let (mime, bytes) = claims(2, 2).remove(0);
    let stored = http::send(app.request("POST", "/blobs").header("content-type", mime).body(bytes)).await.expect(201);
    let blob = app.get(&format!("/blobs/{}", stored["blob"].as_str().unwrap())).await;
    assert_eq!((blob.status, blob.header("content-disposition")), (200, "attachment"));
    assert_eq!(blob.header("x-content-type-options"), "nosniff");
});
