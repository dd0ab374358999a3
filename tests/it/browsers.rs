//! Habits of browsers, shells and proxies in front of a server: preflights, byte order marks, ids
//! that frontends draw, buffering.

use axum::http::Method;
use serde_json::{Value, json};

use kit::*;

/// An id that `crypto.randomUUID()` returned.
const UUID: &str = "3f2c1b9e-1d2c-4e5f-8a9b-0c1d2e3f4a5b";
/// U+FEFF in UTF-8.
const MARK: &str = "\u{feff}";

/// The methods that a page of another origin may use at an address.
async fn allowed(app: &App, path: &str, wanted: &str) -> Vec<String> {
    let preflight = app
        .request("OPTIONS", path)
        .header("origin", "https://app.example")
        .header("access-control-request-method", wanted)
        .header("access-control-request-headers", "authorization");
    let answer = http::send(preflight).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    let origin = answer.header("access-control-allow-origin");
    assert_eq!(origin, "https://app.example");
    let methods = answer.header("access-control-allow-methods");
    methods.split(',').map(|it| it.trim().to_owned()).collect()
}

async fn for_pages() -> App {
    let stub = Stub::start().await;
    Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_HOSTS", r#"["https://app.example"]"#)
        .env("THINKD_TOKEN", "secret")
        .start_bare()
        .await
}

#[tokio::test]
async fn a_page_may_use_every_method_that_the_contract_has() {
    let app = for_pages().await;
    let document = http::send(app.request("GET", "/openapi.json")).await.body;
    let mut checked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let address = path.replace("{thread}", "main").replace(['{', '}'], "");
        for (method, _) in item.as_object().unwrap() {
            let method = method.to_uppercase();
            if Method::from_bytes(method.as_bytes()).is_err() || method == "PARAMETERS" {
                continue;
            }
            let methods = allowed(&app, &address, &method).await;
            assert!(methods.contains(&method), "{method} {path}: {methods:?}");
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked} operations");
    // No more than there is: the routes are asked.
    assert_eq!(
        allowed(&app, "/settings", "PUT").await,
        ["GET", "HEAD", "PUT"]
    );
    assert_eq!(allowed(&app, "/livez", "DELETE").await, ["GET", "HEAD"]);
    // A page reads that nothing is there, too.
    assert_eq!(allowed(&app, "/nothing", "DELETE").await, ["DELETE"]);
}

#[tokio::test]
async fn an_answer_that_streams_asks_proxies_not_to_hold_it_back() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let stream = app.request("GET", "/events/stream").send().await.unwrap();
    let header = |name: &str| stream.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("x-accel-buffering"), "no");
    assert_eq!(header("cache-control"), "no-store, no-transform");
}

#[tokio::test]
async fn a_byte_order_mark_before_json_is_passed_over_at_every_door() {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let app = App::start(Medium::sqlite(), &stub).await;
    let sent = |method: &str, path: &str, body: &str| {
        let request = app.request(method, path);
        let request = request.header("content-type", "application/json; charset=utf-8");
        http::send(request.body(format!("{MARK}{body}")))
    };
    let path = "/threads/main/messages?wait=20";
    let said = sent("POST", path, r#"{"text":"hi"}"#).await.expect(200);
    assert_eq!(said["responses"][0]["payload"]["text"], "hello");
    sent("POST", "/threads", r#"{"label":"marked"}"#)
        .await
        .expect(201);
    sent("PUT", "/settings", r#"{"settings":{"user_away":true}}"#)
        .await
        .expect(200);
    // Only one, and only at the beginning.
    for wrong in [format!("{MARK}{{}}"), format!("{{{MARK}}}")] {
        let refused = sent("POST", "/threads/main/messages", &wrong).await;
        refused.expect_problem(400, "malformed-json");
    }
    let mut socket = app.socket().await;
    socket
        .send_text(&format!(r#"{MARK}{{"type":"ping","id":"p"}}"#))
        .await;
    socket.of_type("pong").await;
}

on_both!(a_thread_may_be_called_by_a_uuid, |medium| {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let app = App::start(medium, &stub).await;
    let hi = || json!({ "text": "hi" });
    let path = format!("/threads/{UUID}/messages?wait=20");
    let said = app.post(&path, hi()).await.expect(200);
    assert_eq!(said["responses"][0]["thread"], UUID);
    // Below another one, and below itself.
    for thread in [format!("main.{UUID}"), format!("{UUID}.{UUID}")] {
        app.post("/threads/main/messages", hi()).await.expect(202);
        let path = format!("/threads/{thread}/messages?wait=20");
        let said = app.post(&path, hi()).await.expect(200);
        assert_eq!(said["responses"][0]["thread"], thread.as_str());
        assert_eq!(
            app.get(&format!("/threads/{thread}")).await.expect(200)["id"],
            thread
        );
        let found = app
            .get(&format!("/events?thread={thread}&tags=response"))
            .await;
        assert_eq!(found.expect(200)["items"].as_array().unwrap().len(), 1);
    }
    // A label is one part of an id.
    let fresh = UUID.replace('3', "7");
    let made = app
        .post("/threads", json!({ "label": fresh }))
        .await
        .expect(201);
    assert_eq!(made["id"], fresh.as_str());
    let again = app
        .post("/threads", json!({ "label": fresh }))
        .await
        .expect(201);
    assert_eq!(again["id"], format!("{}-2", &fresh[..28]));
    let mut socket = app.socket().await;
    let ack = socket.say_in(UUID, "and here").await;
    assert_eq!(ack["events"][0]["thread"], UUID, "{ack}");
    // One more is none.
    let refused = app.post(&format!("/threads/{UUID}0/messages"), hi()).await;
    let problem = refused.expect_problem(400, "invalid-id");
    assert!(problem.to_string().contains("1 to 36"), "{problem}");
});

on_both!(a_tool_names_a_subthread_by_a_uuid, |medium| {
    let stub = Stub::start().await;
    let spawn = json!({ "label": UUID, "prompt": null, "payload": "begin" });
    let send = json!({ "to": [&UUID[..32]], "text": "more" });
    let asleep = || call("wait", json!({ "from": null, "timeout_s": null }));
    stub.script(
        at("p"),
        [
            call("spawn_thread", spawn),
            call("send", send).and("wait", json!({ "from": null, "timeout_s": null })),
        ],
    );
    stub.on(Request::is_decision, asleep());
    let app = App::start(medium, &stub).await;
    app.process("p", json!({})).await;
    let mut socket = app.socket().await;
    app.say_in("p", "go").await;
    let child = format!("p.{UUID}");
    let of_child = |event: &Value| event["thread"] == child.as_str();
    let heard = socket.event("the second message", |event| {
        of_child(event) && said(event) == "more"
    });
    heard.await;
});

#[tokio::test]
async fn the_doctor_says_that_no_proxy_is_used() {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let proxy = "http://me:canary@127.0.0.1:9";
    let setup = Setup::new(Medium::sqlite(), &stub).env("HTTPS_PROXY", proxy);
    let env: Vec<(&str, &str)> = setup.environment().collect();
    let (_, said) = app::ran(setup.folder(), &env, &["doctor"]).await;
    let line = said.lines().find(|line| line.contains("HTTPS_PROXY"));
    let line = line.unwrap_or_else(|| panic!("nothing of a proxy: {said}"));
    assert!(
        line.starts_with("ok") && line.contains("docs/models.md"),
        "{line}"
    );
    assert!(!said.contains("canary"), "{said}");
    let none: Vec<_> = env
        .iter()
        .copied()
        .filter(|(name, _)| *name != "HTTPS_PROXY")
        .collect();
    let (_, said) = app::ran(setup.folder(), &none, &["doctor"]).await;
    assert!(!said.to_lowercase().contains("proxy"), "{said}");
}

/// An answer as it came, and the text that it stands for.
async fn asked(app: &App, method: &str, path: &str, takes: &str) -> (Reply, Vec<u8>, String) {
    let request = app.request(method, path).header("accept-encoding", takes);
    let (client, request) = request.build_split();
    let response = within("an answer", client.execute(request.unwrap()))
        .await
        .unwrap();
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let bytes = response.bytes().await.unwrap().to_vec();
    let text = match bytes.strip_prefix(&[0x1f, 0x8b, 8, 0]) {
        Some(packed) => {
            let raw = &packed[6..packed.len() - 8];
            let text = miniz_oxide::inflate::decompress_to_vec(raw).unwrap();
            let (sum, length) = packed[packed.len() - 8..].split_at(4);
            let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&text);
            assert_eq!(crc.to_le_bytes(), sum);
            assert_eq!((text.len() as u32).to_le_bytes(), length);
            String::from_utf8(text).unwrap()
        }
        None => String::from_utf8_lossy(&bytes).into_owned(),
    };
    let body = serde_json::from_str(&text).unwrap_or_default();
    let reply = Reply {
        status,
        headers,
        text: text.clone(),
        body,
    };
    (reply, bytes, text)
}

#[tokio::test]
async fn json_goes_compressed_to_those_who_ask_for_it() {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let app = App::start(Medium::sqlite(), &stub).await;
    for number in 0..20 {
        app.say_in(
            "main",
            &format!("message {number}: {}", "the same words ".repeat(40)),
        )
        .await;
    }
    app.tell("the last one").await;
    let path = "/events?limit=500&debug=true";
    let (plain, bytes, whole) = asked(&app, "GET", path, "identity").await;
    assert_eq!((plain.status, plain.header("content-encoding")), (200, ""));
    assert!(
        plain
            .header("vary")
            .to_lowercase()
            .contains("accept-encoding"),
        "{:?}",
        plain.headers
    );
    for takes in [
        "gzip",
        "deflate, gzip;q=0.5",
        "*",
        "br;q=1.0, x-gzip",
        "GZIP; q=0.001",
    ] {
        let (packed, fewer, text) = asked(&app, "GET", path, takes).await;
        assert_eq!(
            (packed.status, packed.header("content-encoding")),
            (200, "gzip"),
            "{takes}"
        );
        assert_eq!(text, whole, "{takes}");
        assert!(
            fewer.len() * 4 < bytes.len(),
            "{} of {}",
            fewer.len(),
            bytes.len()
        );
        assert!(
            packed
                .header("vary")
                .to_lowercase()
                .contains("accept-encoding")
        );
        assert_eq!(packed.header("content-length"), fewer.len().to_string());
    }
    for takes in [
        "",
        "br",
        "gzip;q=0",
        "*;q=0",
        "gzip;q=0.2, identity;q=0.9",
        "*, gzip;q=0.0",
    ] {
        let (reply, _, text) = asked(&app, "GET", path, takes).await;
        assert_eq!(
            (reply.header("content-encoding"), text),
            ("", whole.clone()),
            "{takes}"
        );
    }
    // A HEAD says what a GET would.
    let (head, nothing, _) = asked(&app, "HEAD", path, "gzip").await;
    let (get, bytes, _) = asked(&app, "GET", path, "gzip").await;
    assert!(nothing.is_empty());
    for name in ["content-encoding", "content-length", "content-type"] {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
    assert_eq!(get.header("content-length"), bytes.len().to_string());
    // Long problems and contracts, too; short answers not.
    for (path, encoding) in [
        ("/openapi.json", "gzip"),
        ("/prompt-views/nothing", ""),
        ("/settings", ""),
        ("/livez", ""),
    ] {
        let (reply, ..) = asked(&app, "GET", path, "gzip").await;
        assert_eq!(reply.header("content-encoding"), encoding, "{path}");
    }
    // A blob is what it is.
    let png = [
        &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0"[..],
        &[0; 4000],
    ]
    .concat();
    let upload = app
        .request("POST", "/blobs")
        .header("content-type", "image/png")
        .body(png.clone());
    let blob = http::send(upload).await.expect(201)["blob"]
        .as_str()
        .unwrap()
        .to_owned();
    let (reply, bytes, _) = asked(&app, "GET", &format!("/blobs/{blob}"), "gzip").await;
    assert_eq!((reply.header("content-encoding"), bytes), ("", png));
}

#[tokio::test]
async fn a_stream_is_not_held_back_to_be_compressed() {
    let stub = Stub::start().await;
    stub.on(any, reply("hello"));
    let app = App::start(Medium::sqlite(), &stub).await;
    let request = app
        .request("GET", "/events/stream")
        .header("accept-encoding", "gzip");
    let mut stream = request.send().await.unwrap();
    assert!(stream.headers().get("content-encoding").is_none());
    let begin = std::time::Instant::now();
    app.say_in("main", "hi").await;
    let first = within("the first event", stream.chunk())
        .await
        .unwrap()
        .unwrap();
    let text = String::from_utf8(first.to_vec()).unwrap();
    assert!(
        text.starts_with("id: ") && text.contains(r#""text":"hi""#),
        "{text}"
    );
    // Far below the pause after which a comment would push it on.
    assert!(begin.elapsed() < ms(5000), "{:?}", begin.elapsed());
}
