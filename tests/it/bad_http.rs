//! Answers of HTTP to bad requests: each row a request, with the problem it gets.
//! After all of them nothing was stored, and the server is well.

use base64::Engine as _;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use kit::*;

/// Addresses that are refused, with the problem, and a word that its detail has to name.
fn addresses() -> Vec<(String, u16, &'static str, &'static str)> {
    let mut rows: Vec<(String, u16, &str, &str)> = Vec::new();
    let mut bad = |query: &str, names: &'static str| {
        rows.push((format!("/events?{query}"), 400, "invalid-parameter", names));
    };
    // E 65
    for limit in [
        "0",
        "-1",
        "501",
        "abc",
        "1e2",
        "",
        "1_0",
        "1.0",
        "+5",
        "%2B5",
        "99999999999999999999",
    ] {
        bad(&format!("limit={limit}"), "limit");
    }
    // E 66
    bad("limit=1&limit=2", "limit");
    bad("thread=a&thread=b", "thread");
    for unknown in ["foo=1", "tags[]=input", "Limit=5", "=5", "before_ts%20=x"] {
        bad(unknown, "");
    }
    // E 67
    for moment in [
        "yesterday",
        "2026-11-21T04:25:00",
        "2026-02-30T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "1700000000",
        "",
        "2026-11-21",
    ] {
        bad(&format!("since={moment}"), "since");
        bad(&format!("before_ts={moment}"), "before_ts");
    }
    for seq in ["-1", "1.5", "abc", ""] {
        bad(&format!("after={seq}"), "after");
        bad(&format!("before={seq}"), "before");
    }
    bad("before=9007199254740992", "before");
    bad("order=up", "order");
    bad("order=DESC", "order");
    bad("source=User", "source");
    bad("modality=video", "modality");
    bad("subtree=1&thread=main", "subtree");
    // E 68
    for broken in ["q=%zz", "q=%ff", "q=%f", "q=%", "%e2%28=1"] {
        bad(broken, "");
    }
    // E 76
    bad("q=", "q");
    bad("q=%20", "q");
    bad(&format!("q={}", "x".repeat(1025)), "q");
    rows.push(("/events?q=a%00b".into(), 400, "nul-not-allowed", ""));
    rows.push(("/events?limit%00=5".into(), 400, "nul-not-allowed", ""));
    rows.push(("/events?thread=Main".into(), 400, "invalid-id", ""));
    rows.push((
        format!("/events?thread={}", "a.".repeat(200)),
        400,
        "invalid-id",
        "",
    ));
    // A cursor that none can be, and one beyond the log's end, at every door that takes one.
    for door in [
        "/events?",
        "/events?order=asc&tags=input&",
        "/events/stream?",
    ] {
        for seq in [
            "9007199254740992",
            "9223372036854775808",
            "99999999999999999999999",
        ] {
            rows.push((format!("{door}after={seq}"), 400, "invalid-cursor", ""));
        }
        rows.push((
            format!("{door}after=9007199254740991"),
            409,
            "cursor-ahead",
            "",
        ));
    }
    rows.push((
        format!("/events?q={}", "x".repeat(9 << 10)),
        414,
        "uri-too-long",
        "",
    ));
    rows.push((format!("/{}", "x".repeat(9 << 10)), 414, "uri-too-long", ""));
    // D 61
    for cursor in ["", "x", "!!", "AAAAAAAAAAAAAAAAAAAAAAAA", "eyJzZXEiOjF9"] {
        rows.push((
            format!("/events?cursor={cursor}"),
            400,
            "invalid-cursor",
            "",
        ));
        rows.push((
            format!("/threads?cursor={cursor}"),
            400,
            "invalid-cursor",
            "",
        ));
        rows.push((format!("/state?cursor={cursor}"), 400, "invalid-cursor", ""));
        rows.push((
            format!("/submodules?cursor={cursor}"),
            400,
            "invalid-cursor",
            "",
        ));
    }
    for (path, names) in [
        ("/messages?n=0", "n"),
        ("/messages?n=501", "n"),
        ("/messages?before=abc", "before"),
        ("/messages?before=-1", "before"),
        ("/messages?limit=5", "limit"),
        ("/threads?limit=0", "limit"),
        ("/threads?q=x", "q"),
        ("/threads/main?x=1", "x"),
        ("/submodules?limit=501", "limit"),
        ("/state?limit=x", "limit"),
        ("/state?q=", "q"),
        ("/events/stream?limit=5", "limit"),
        ("/events/stream?order=asc", "order"),
        ("/events/stream?after=x", "after"),
    ] {
        rows.push((path.into(), 400, "invalid-parameter", names));
    }
    // D 55, E 69: ids, and paths that climb.
    for (path, status, slug) in [
        ("/events/x", 400, "invalid-id"),
        (
            "/events/0193b6c27c2e7aaa80000123456789ab",
            400,
            "invalid-id",
        ),
        (
            "/events/%7B0193b6c2-7c2e-7aaa-8000-0123456789ab%7D",
            400,
            "invalid-id",
        ),
        (
            "/events/0193b6c2-7c2e-7aaa-8000-0123456789ab",
            404,
            "not-found",
        ),
        (
            "/events/00000000-0000-0000-0000-000000000000",
            404,
            "not-found",
        ),
        ("/prompt-views/x", 400, "invalid-id"),
        (
            "/prompt-views/0193b6c2-7c2e-7aaa-8000-0123456789ab",
            404,
            "not-found",
        ),
        ("/threads/..%2f..%2fetc", 400, "invalid-id"),
        ("/threads/Main", 400, "invalid-id"),
        ("/threads/a%00b", 400, "invalid-id"),
        ("/threads/%ff", 400, "invalid-parameter"),
        ("/threads/nobody", 404, "not-found"),
        ("/blobs/x", 400, "invalid-id"),
        ("/blobs/..%2f..%2fetc%2fpasswd", 400, "invalid-id"),
        (
            "/blobs/0000000000000000000000000000000000000000000000000000000000000000",
            404,
            "not-found",
        ),
        ("/state/nothing", 404, "not-found"),
        ("/state/a%00b", 400, "nul-not-allowed"),
        ("/events/stream?after=9007199254740991", 409, "cursor-ahead"),
        ("/nowhere", 404, "not-found"),
        ("/docs/../etc/passwd", 404, "not-found"),
        ("/approvals/nobody", 400, "invalid-id"),
        ("/questions/nobody", 400, "invalid-id"),
        ("/approvals/a%00b", 400, "invalid-id"),
        ("/world-model/nobody", 400, "invalid-id"),
        ("/frameworks/nobody", 400, "invalid-id"),
    ] {
        rows.push((path.into(), status, slug, ""));
    }
    rows
}

on_sqlite!(
    t4_16_addresses_that_are_wrong_are_refused_by_name,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        app.tell("hello").await;
        let before = app.public_log().await;
        for (path, status, slug, names) in addresses() {
            let shown: String = path.chars().take(120).collect();
            let answer = raw(
                &app,
                &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
            )
            .await;
            assert_eq!(
                (answer.status, answer.slug.as_str()),
                (status, slug),
                "{shown}: {}",
                answer.text
            );
            assert!(
                answer.text.contains(names),
                "{shown} does not name {names}: {}",
                answer.text
            );
        }
        assert_eq!(app.public_log().await, before);
    }
);

// E 76: what looks like a query language is words.
on_sqlite!(words_that_look_like_a_query_language_are_words, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    app.tell("hello").await;
    for nothing in ["\"", "*", "'", "\\", "(", "…", "\u{301}", "🏽"] {
        for path in ["/events", "/state", "/events/stream"] {
            let answer = http::send(app.request("GET", path).query(&[("q", nothing)])).await;
            let problem = answer.expect_problem(400, "invalid-parameter");
            let why = problem["detail"].as_str().unwrap_or_default();
            assert!(
                why.contains("no letter, no digit, no emoji"),
                "{path}: {problem}"
            );
        }
    }
    for words in [
        "NEAR(",
        "a OR",
        "a AND NOT b",
        "-x",
        "col:val",
        "^a",
        "🌍",
        "%25",
        "; drop table",
        "a&b|c!d:*",
    ] {
        let answer = http::send(app.request("GET", "/events").query(&[("q", words)])).await;
        assert_eq!(answer.status, 200, "{words}: {}", answer.text);
        let answer = http::send(app.request("GET", "/state").query(&[("q", words)])).await;
        assert_eq!(answer.status, 200, "{words}: {}", answer.text);
    }
    assert_eq!(
        app.get("/events?q=hello").await.expect(200)["items"]
            .as_array()
            .map(Vec::is_empty),
        Some(false)
    );
});

// D 61: a cursor belongs to its query.
on_sqlite!(a_cursor_belongs_to_its_query, |medium| {
    let stub = Stub::start().await;
    let app = App::start(medium, &stub).await;
    app.tell("hello").await;
    let next = |page: serde_json::Value| page["next"].as_str().map(str::to_owned).unwrap();
    let cursor = next(app.get("/events?limit=1&order=asc").await.expect(200));
    app.get(&format!("/events?limit=2&order=asc&cursor={cursor}"))
        .await
        .expect(200);
    for other in [
        "order=desc",
        "order=asc&tags=input",
        "order=asc&thread=main",
        "order=asc&q=hello",
        "",
    ] {
        let refused = app.get(&format!("/events?{other}&cursor={cursor}")).await;
        let refused = refused.expect_problem(400, "invalid-cursor");
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains("belongs to another query"), "{detail}");
    }
    let refused = app.get("/events?cursor=abc").await;
    let refused = refused.expect_problem(400, "invalid-cursor");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("this one is not"), "{detail}");
    let mut edited = cursor.clone();
    let last = edited.pop().unwrap();
    edited.push(if last == 'A' { 'B' } else { 'A' });
    app.get(&format!("/events?order=asc&cursor={edited}"))
        .await
        .expect_problem(400, "invalid-cursor");
    let short = &cursor[..cursor.len() - 2];
    app.get(&format!("/events?order=asc&cursor={short}"))
        .await
        .expect_problem(400, "invalid-cursor");
});

struct Plain {
    status: u16,
    slug: String,
    text: String,
}

/// Sends bytes on a connection of their own and reads to its end.
async fn raw(app: &App, request: &str) -> Plain {
    let mut stream = within("a connection", TcpStream::connect(&app.address))
        .await
        .unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    // A reset after the answer is how a server refuses to read on; what came before it counts.
    let _ = within("the answer", stream.read_to_end(&mut bytes)).await;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    let slug = text
        .split("/problems/")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default()
        .to_owned();
    Plain { status, slug, text }
}

#[tokio::test]
async fn bodies_that_are_wrong_are_refused_and_store_nothing() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TEST_LIMITS__BODY_MS", 300)
        .start()
        .await;
    let before = app.public_log().await;
    let post = |kind: &str, extra: &str, body: &str| {
        let length = body.len();
        format!(
            "POST /threads/main/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n{extra}Content-Length: {length}\r\n\r\n{body}"
        )
    };
    let json = "application/json";
    let two_mib = format!(r#"{{"text":"{}"}}"#, "x".repeat(2 << 20));
    let announced = "POST /threads/main/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let chunked = format!(
        "{announced}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        "1000\r\n".to_owned() + &"x".repeat(0x1000) + "\r\n"
    );
    let endless = format!(
        "{chunked}{}",
        ("1000\r\n".to_owned() + &"x".repeat(0x1000) + "\r\n").repeat(300)
    );
    let rows: Vec<(&str, String, u16, &str)> = vec![
        (
            "no type",
            post(json, "", "{}").replace("Content-Type: application/json\r\n", ""),
            415,
            "unsupported-media-type",
        ),
        (
            "71 text",
            post("text/plain", "", "{}"),
            415,
            "unsupported-media-type",
        ),
        (
            "71 a form",
            post("application/x-www-form-urlencoded", "", "text=x"),
            415,
            "unsupported-media-type",
        ),
        (
            "71 UTF-16",
            post("application/json; charset=utf-16", "", "{}"),
            415,
            "unsupported-media-type",
        ),
        (
            "71 compressed",
            post(json, "Content-Encoding: gzip\r\n", "{}"),
            415,
            "unsupported-media-type",
        ),
        (
            "UTF-8 said aloud",
            post("application/json; charset=UTF-8", "", "{}"),
            400,
            "empty-input",
        ),
        ("34 empty", post(json, "", ""), 400, "malformed-json"),
        (
            "34 half",
            post(json, "", r#"{"text":"#),
            400,
            "malformed-json",
        ),
        ("40 a list", post(json, "", "[]"), 400, "invalid-frame"),
        (
            "36 twice",
            post(json, "", r#"{"text":"a","text":"b"}"#),
            400,
            "invalid-frame",
        ),
        (
            "39 NUL",
            post(json, "", r#"{"text":"a\u0000"}"#),
            400,
            "nul-not-allowed",
        ),
        (
            "43 unknown member",
            post(json, "", r#"{"text":"a","mood":1}"#),
            400,
            "unknown-member",
        ),
        (
            "41 another type of frame",
            post(json, "", r#"{"type":"ping"}"#),
            400,
            "unknown-type",
        ),
        (
            "another thread",
            post(json, "", r#"{"text":"a","thread":"other"}"#),
            400,
            "invalid-frame",
        ),
        (
            "42 wrong type",
            post(json, "", r#"{"text":5}"#),
            400,
            "invalid-frame",
        ),
        (
            "46 too long",
            post(
                json,
                "",
                &json!({ "text": "x".repeat((64 << 10) + 1) }).to_string(),
            ),
            400,
            "text-too-large",
        ),
        (
            "72 2 MiB",
            format!(
                "{announced}Connection: close\r\nContent-Length: {}\r\n\r\n",
                two_mib.len()
            ),
            413,
            "too-large",
        ),
        ("72 chunks without end", endless, 413, "too-large"),
        (
            "73 a body that does not come",
            format!("{announced}Connection: close\r\nContent-Length: 100\r\n\r\n{{"),
            408,
            "request-timeout",
        ),
        (
            "73 a chunk that does not come",
            chunked,
            408,
            "request-timeout",
        ),
        (
            "74 two lengths",
            post(json, "Content-Length: 5\r\n", "{}"),
            400,
            "",
        ),
        (
            "74 length and chunks",
            post(json, "Transfer-Encoding: chunked\r\n", "{}"),
            400,
            "",
        ),
        (
            "a wait of no number",
            post(json, "", r#"{"text":"x"}"#).replace("messages ", "messages?wait=x "),
            400,
            "invalid-parameter",
        ),
        (
            "a negative wait",
            post(json, "", r#"{"text":"x"}"#).replace("messages ", "messages?wait=-1 "),
            400,
            "invalid-parameter",
        ),
        (
            "an endless wait",
            post(json, "", r#"{"text":"x"}"#).replace("messages ", "messages?wait=inf "),
            400,
            "invalid-parameter",
        ),
    ];
    for (name, request, status, slug) in rows {
        let answer = raw(&app, &request).await;
        let text: String = answer.text.chars().take(400).collect();
        assert_eq!(answer.status, status, "{name}: {text}");
        // What hyper refuses before there is a request has no body.
        assert!(slug.is_empty() || answer.slug == slug, "{name}: {text}");
    }
    let refused = app
        .post(
            "/threads/main/messages",
            json!({ "images": [{ "data": 5 }] }),
        )
        .await;
    assert_eq!(
        refused.expect_problem(400, "invalid-frame")["errors"][0]["pointer"],
        "/images/0/data"
    );
    assert_eq!(app.public_log().await, before, "something was stored");
    assert!(stub.requests().is_empty());
}

/// A blob may take long, but not stand still: it would keep a place from those that move.
#[tokio::test]
async fn a_blob_of_which_nothing_more_comes_is_given_up() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TEST_LIMITS__BODY_MS", 300)
        .start()
        .await;
    let head = "POST /blobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nConnection: close\r\n";
    let answer = raw(&app, &format!("{head}Content-Length: 1000\r\n\r\nab")).await;
    assert_eq!(
        (answer.status, answer.slug.as_str()),
        (408, "request-timeout")
    );
    assert!(
        answer
            .text
            .contains("nothing of the body arrived for 300 ms"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn other_resources_refuse_wrong_bodies() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&["critic"])
        .start()
        .await;
    let rows = [
        (
            "POST",
            "/threads",
            json!({ "label": "Bad Name" }),
            400,
            "invalid-id",
            "/label",
        ),
        (
            "POST",
            "/threads",
            json!({ "parent": "Bad" }),
            400,
            "invalid-id",
            "/parent",
        ),
        (
            "POST",
            "/threads",
            json!({ "parent": "nobody" }),
            404,
            "not-found",
            "",
        ),
        (
            "POST",
            "/threads",
            json!({ "kind": "dream" }),
            400,
            "invalid-frame",
            "/kind",
        ),
        (
            "POST",
            "/threads",
            json!({ "policy": "sometimes" }),
            400,
            "invalid-frame",
            "/policy",
        ),
        (
            "POST",
            "/threads",
            json!({ "tier": 5 }),
            400,
            "invalid-frame",
            "/tier",
        ),
        (
            "POST",
            "/threads",
            json!({ "submodules": "all" }),
            400,
            "invalid-frame",
            "/submodules",
        ),
        (
            "POST",
            "/threads",
            json!({ "submodules": ["nobody"] }),
            404,
            "not-found",
            "",
        ),
        (
            "POST",
            "/threads",
            json!({ "id": "mine" }),
            400,
            "unknown-member",
            "/id",
        ),
        // T4.56
        (
            "POST",
            "/submodules",
            json!({ "name": "critic", "prompt": "again" }),
            422,
            "unprocessable",
            "",
        ),
        (
            "POST",
            "/submodules",
            json!({ "name": "empty", "prompt": " " }),
            400,
            "empty-input",
            "/prompt",
        ),
        (
            "POST",
            "/submodules",
            json!({ "name": "Odd Name", "prompt": "x" }),
            400,
            "invalid-id",
            "/name",
        ),
        (
            "POST",
            "/submodules",
            json!({ "name": "x" }),
            400,
            "invalid-frame",
            "/prompt",
        ),
        (
            "POST",
            "/submodules",
            json!({ "prompt": "x" }),
            400,
            "invalid-frame",
            "/name",
        ),
        (
            "POST",
            "/submodules",
            json!({ "name": "x", "prompt": "x", "score": 1 }),
            400,
            "unknown-member",
            "/score",
        ),
        (
            "POST",
            "/submodules",
            json!({ "name": "x", "prompt": "x".repeat((64 << 10) + 1) }),
            400,
            "text-too-large",
            "/prompt",
        ),
        (
            "PATCH",
            "/submodules/critic",
            json!({}),
            400,
            "invalid-frame",
            "/prompt",
        ),
        (
            "PATCH",
            "/submodules/critic",
            json!({ "prompt": "" }),
            400,
            "empty-input",
            "/prompt",
        ),
        (
            "PATCH",
            "/submodules/critic",
            json!({ "name": "x", "prompt": "x" }),
            400,
            "unknown-member",
            "/name",
        ),
        (
            "PATCH",
            "/submodules/nobody",
            json!({ "prompt": "x" }),
            404,
            "not-found",
            "",
        ),
        (
            "DELETE",
            "/submodules/nobody",
            json!({}),
            404,
            "not-found",
            "",
        ),
        (
            "DELETE",
            "/submodules/Odd%20Name",
            json!({}),
            400,
            "invalid-id",
            "",
        ),
        (
            "POST",
            "/threads/nobody/cancel",
            json!({}),
            404,
            "not-found",
            "",
        ),
        (
            "POST",
            "/threads/nobody/end",
            json!({}),
            404,
            "not-found",
            "",
        ),
        (
            "POST",
            "/threads/nobody.child/messages",
            json!({ "text": "x" }),
            404,
            "not-found",
            "",
        ),
    ];
    for (method, path, body, status, slug, pointer) in rows {
        let answer = http::send(app.request(method, path).json(&body)).await;
        let problem = answer.clone().expect_problem(status, slug);
        if !pointer.is_empty() {
            assert_eq!(
                problem["errors"][0]["pointer"], pointer,
                "{method} {path} {body}: {problem}"
            );
        }
    }
    let voices = app.get("/submodules").await.expect(200);
    assert_eq!(
        voices["items"].as_array().map(Vec::len),
        Some(1),
        "{voices}"
    );
}

// E 75, T4.30: methods that are not possible say which are.
#[tokio::test]
async fn t4_30_methods_that_are_not_possible_say_which_are() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    for (method, path, allowed) in [
        ("PUT", "/events", "GET"),
        ("DELETE", "/events", "GET"),
        (
            "PATCH",
            "/events/0193b6c2-7c2e-7aaa-8000-0123456789ab",
            "GET",
        ),
        (
            "DELETE",
            "/events/0193b6c2-7c2e-7aaa-8000-0123456789ab",
            "GET",
        ),
        ("POST", "/events", "GET"),
        ("TRACE", "/events", "GET"),
        ("DELETE", "/threads/main", "GET"),
        ("PUT", "/state/x", "GET"),
        ("DELETE", "/state/x", "GET"),
        ("GET", "/threads/main/cancel", "POST"),
        ("GET", "/threads/main/messages", "POST"),
        ("PUT", "/submodules/x", "PATCH"),
        ("GET", "/blobs", "POST"),
        ("POST", "/livez", "GET"),
    ] {
        let answer = http::send(app.request(method, path)).await;
        assert!(
            answer.header("allow").contains(allowed),
            "{method} {path}: {:?}",
            answer.headers
        );
        answer.expect_problem(405, "method-not-allowed");
    }
}

// E 79 and its opposite.
#[tokio::test]
async fn pages_of_known_hosts_may_use_the_server_and_others_may_not() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_HOSTS", "front.example")
        .env("THINKD_TOKEN", "secret")
        .start_bare()
        .await;
    let preflight = |origin: &str| {
        let request = app
            .request("OPTIONS", "/threads/main/messages")
            .header("origin", origin);
        http::send(
            request
                .header("access-control-request-method", "POST")
                .header(
                    "access-control-request-headers",
                    "authorization,content-type",
                ),
        )
    };
    for origin in [
        "http://front.example",
        "https://front.example:8443",
        "http://localhost:5173",
        "http://127.0.0.1:3000",
    ] {
        let answer = preflight(origin).await;
        assert!(
            answer.status < 300,
            "{origin}: {} {}",
            answer.status,
            answer.text
        );
        assert_eq!(answer.header("access-control-allow-origin"), origin);
        assert!(
            answer
                .header("access-control-allow-headers")
                .contains("authorization"),
            "{origin}"
        );
        // A refusal can be read by the page, too.
        let refused = http::send(app.request("GET", "/events").header("origin", origin)).await;
        assert_eq!(
            (
                refused.status,
                refused.header("access-control-allow-origin")
            ),
            (401, origin)
        );
    }
    for origin in [
        "http://evil.example",
        "http://front.example.evil.example",
        "null",
        "http://",
        "front.example",
        "https://front.example@evil.example",
    ] {
        let answer = preflight(origin).await;
        assert_eq!(
            (answer.status, answer.header("access-control-allow-origin")),
            (403, ""),
            "{origin}"
        );
    }
    http::send(
        app.request("GET", "/console/")
            .header("host", "front.example:80"),
    )
    .await
    .expect(200);
    http::send(
        app.request("GET", "/console/")
            .header("host", "other.example"),
    )
    .await
    .expect_problem(421, "misdirected-request");
}

// E 80: blobs are what they say they are.
#[tokio::test]
async fn blobs_are_what_they_say_they_are() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_LIMITS__BLOB_BYTES", 1 << 20)
        .start()
        .await;
    let upload = |kind: &'static str, bytes: Vec<u8>| {
        http::send(
            app.request("POST", "/blobs")
                .header("content-type", kind)
                .body(bytes),
        )
    };
    let png = base64::engine::general_purpose::STANDARD
        .decode(kit::media::PNG)
        .unwrap();
    for (name, kind, bytes, status, slug) in [
        (
            "SVG as PNG",
            "image/png",
            b"<svg xmlns=''>".to_vec(),
            400,
            "invalid-media",
        ),
        (
            "HTML as PNG",
            "image/png",
            b"<html><script>".to_vec(),
            400,
            "invalid-media",
        ),
        (
            "a zip as PNG",
            "image/png",
            b"PK\x03\x04".to_vec(),
            400,
            "invalid-media",
        ),
        (
            "PNG as JPEG",
            "image/jpeg",
            png.clone(),
            400,
            "invalid-media",
        ),
        (
            "a PNG that is cut off",
            "image/png",
            png[..20].to_vec(),
            400,
            "invalid-media",
        ),
        (
            "SVG",
            "image/svg+xml",
            b"<svg/>".to_vec(),
            415,
            "unsupported-media-type",
        ),
        (
            "HTML",
            "text/html",
            b"<html>".to_vec(),
            415,
            "unsupported-media-type",
        ),
        (
            "anything",
            "application/octet-stream",
            b"anything".to_vec(),
            415,
            "unsupported-media-type",
        ),
        ("nothing", "image/png", Vec::new(), 400, "empty-input"),
        (
            "too much",
            "image/png",
            vec![0; (1 << 20) + 1],
            413,
            "too-large",
        ),
    ] {
        let answer = upload(kind, bytes).await;
        assert_eq!(
            (answer.status, answer.slug()),
            (status, slug),
            "{name}: {}",
            answer.text
        );
    }
    let stored = upload("application/octet-stream", png.clone())
        .await
        .expect(201);
    assert_eq!(
        (&stored["mime"], &stored["bytes"]),
        (&json!("image/png"), &json!(png.len()))
    );
    let blob = app
        .get(&format!("/blobs/{}", stored["blob"].as_str().unwrap()))
        .await;
    assert_eq!(
        (
            blob.header("content-type"),
            blob.header("x-content-type-options")
        ),
        ("image/png", "nosniff")
    );
    assert!(blob.header("content-security-policy").contains("sandbox"));
}

#[tokio::test]
async fn a_stream_is_resumed_by_its_last_id_and_refuses_what_is_none() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TEST_LIMITS__SSE_COMMENT_MS", 50)
        .start()
        .await;
    app.tell("hello").await;
    for (id, status, slug) in [
        ("x", 400, "invalid-cursor"),
        ("-1", 400, "invalid-cursor"),
        ("9007199254740991", 409, "cursor-ahead"),
    ] {
        let answer = http::send(
            app.request("GET", "/events/stream")
                .header("last-event-id", id),
        )
        .await;
        answer.expect_problem(status, slug);
    }
    let log = app.public_log().await;
    let after = seq(&log[log.len() / 2]);
    let mut answer = app
        .request("GET", "/events/stream")
        .header("last-event-id", after.to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    within("the events that were missed, and a comment", async {
        while !text.contains("\n: ") && !text.starts_with(": ") {
            text += &String::from_utf8_lossy(&answer.chunk().await.unwrap().unwrap());
        }
    })
    .await;
    let ids: Vec<i64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("id: ")?.split_once('@')?.0.parse().ok())
        .collect();
    let missed: Vec<i64> = log.iter().map(seq).filter(|seq| *seq > after).collect();
    assert_eq!(ids, missed, "{text}");
}

/// Internal words of thinkd or of a library, which mean nothing to the author of a body.
const INSIDE: &[&str] = &[
    "struct ",
    "enum ",
    "variant",
    "invalid type",
    "invalid value",
    "sequence",
    " map",
    "usize",
    "u32",
    "u64",
    "i64",
    "unit",
    "`",
];

fn speaks_plainly(text: &str, of: &str) {
    for word in INSIDE {
        assert!(
            !text.contains(word),
            "{of}: {word:?} means nothing to who reads {text:?}"
        );
    }
}

// Every kind of value in the place of every other: what is wrong is said in the words of JSON.
#[tokio::test]
async fn no_problem_speaks_of_types_of_ours() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&["critic"])
        .start()
        .await;
    let values = [
        json!(null),
        json!(true),
        json!(7),
        json!(-7),
        json!(1.5),
        json!("word"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({ "x": 1 }),
    ];
    let members = [
        (
            "POST",
            "/threads/main/messages",
            vec![
                "text", "event_id", "thread", "images", "audio", "type", "id",
            ],
            json!({}),
        ),
        (
            "POST",
            "/threads",
            vec![
                "label",
                "parent",
                "title",
                "kind",
                "prompt",
                "submodules",
                "policy",
                "tier",
                "contacts",
                "commit",
                "language",
                "substeps",
            ],
            json!({}),
        ),
        ("POST", "/submodules", vec!["name", "prompt"], json!({})),
        ("PATCH", "/submodules/critic", vec!["prompt"], json!({})),
        (
            "POST",
            "/pipelines/summary",
            vec!["input", "event_id"],
            json!({}),
        ),
        (
            "POST",
            "/pipelines/summary",
            vec!["thread", "after", "before"],
            json!({ "input": {} }),
        ),
    ];
    let mut refused = 0;
    for (method, path, names, around) in members {
        for name in names {
            for value in &values {
                let member = json!({ name: value });
                let body = if around["input"].is_object() {
                    json!({ "input": member })
                } else {
                    member
                };
                let answer = http::send(app.request(method, path).json(&body)).await;
                if answer.status == 400 {
                    refused += 1;
                    speaks_plainly(&answer.body.to_string(), &format!("{method} {path} {body}"));
                    assert!(!answer.body["detail"].as_str().unwrap().is_empty());
                }
            }
        }
    }
    assert!(refused > 100, "{refused}");
    // The socket says the same.
    let mut socket = app.socket().await;
    for frame in [
        json!({ "type": "subscribe", "subtree": 5 }),
        json!({ "type": "trigger", "event": "x", "payload": [] }),
        json!([]),
    ] {
        socket.send_text(&frame.to_string()).await;
        speaks_plainly(&socket.problem().await.to_string(), &frame.to_string());
    }
}

/// The pointers of a problem.
fn pointers(problem: &serde_json::Value) -> Vec<&str> {
    problem["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|error| error["pointer"].as_str())
        .collect()
}

// Who mends one place after the other asks as often as there are places: all of them are named at once, each for itself.
#[tokio::test]
async fn every_place_of_a_body_that_is_wrong_is_named() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .voices(&["critic"])
        .start()
        .await;
    let long = "x".repeat((64 << 10) + 1);
    let contact = json!({ "name": "Bad Name", "thread": "a..b", "description": 5 });
    let rows = [
        // What is long and right is not wrong because something else is, whichever is read first.
        (
            "/submodules",
            json!({ "mood": 1, "name": "new", "prompt": "x".repeat(2000), "zeal": 1 }),
            "unknown-member",
            vec!["/mood", "/zeal"],
        ),
        (
            "/threads",
            json!({ "submodules": ["critic", "Bad Name", "critic", "x y"] }),
            "invalid-id",
            vec!["/submodules/1", "/submodules/3"],
        ),
        (
            "/threads",
            json!({ "label": "Bad Name", "parent": "a..b", "title": "fine" }),
            "invalid-id",
            vec!["/label", "/parent"],
        ),
        (
            "/threads",
            json!({ "label": 5, "kind": "dream", "mood": 1, "parent": "Bad", "contacts": [{}, contact] }),
            "invalid-frame",
            vec![
                "/contacts/0/description",
                "/contacts/0/name",
                "/contacts/0/thread",
                "/contacts/1/description",
                "/contacts/1/name",
                "/contacts/1/thread",
                "/kind",
                "/label",
                "/mood",
                "/parent",
            ],
        ),
        (
            "/threads",
            json!({ "substeps": true, "title": 5 }),
            "invalid-frame",
            vec!["/substeps", "/title"],
        ),
        (
            "/submodules",
            json!({ "mood": 1, "score": 2 }),
            "unknown-member",
            vec!["/mood", "/name", "/prompt", "/score"],
        ),
        (
            "/submodules",
            json!({ "name": "Bad Name", "prompt": " " }),
            "invalid-id",
            vec!["/name", "/prompt"],
        ),
        (
            "/submodules",
            json!({ "name": "a\u{0}", "prompt": long }),
            "nul-not-allowed",
            vec!["/name", "/prompt"],
        ),
        (
            "/pipelines/summary",
            json!({ "input": { "thread": 5, "after": "x", "mood": 1 } }),
            "invalid-frame",
            vec!["/input/after", "/input/mood", "/input/thread"],
        ),
        (
            "/threads/main/messages",
            json!({ "thread": "Bad", "event_id": "x", "images": [{}, { "data": 5 }] }),
            "invalid-frame",
            vec!["/event_id", "/images/0", "/images/1/data", "/thread"],
        ),
        (
            "/threads/main/messages",
            json!({ "text": "x", "images": [{ "data": "!" }, { "blob": "x" }], "audio": [{ "data": "AAAA" }] }),
            "invalid-media",
            vec!["/audio/0", "/images/0/data", "/images/1/blob"],
        ),
        (
            "/threads/main/messages",
            json!({ "text": 5 }),
            "invalid-frame",
            vec!["/text"],
        ),
    ];
    for (path, body, slug, expected) in rows {
        let shown: String = body.to_string().chars().take(200).collect();
        let answer = app.post(path, body.clone()).await;
        let mut found: Vec<_> = pointers(&answer.body)
            .into_iter()
            .map(str::to_owned)
            .collect();
        found.sort();
        assert_eq!(found, expected, "{path} {shown}: {}", answer.text);
        assert!(
            [slug, "unknown-member", "invalid-id"]
                .iter()
                .any(|slug| answer.body["type"] == format!("/problems/{slug}")),
            "{shown}: {}",
            answer.text
        );
        for pointer in expected {
            assert!(
                answer.body["errors"].as_array().unwrap().len() == 1
                    || answer.body["detail"].as_str().unwrap().contains(pointer),
                "{}",
                answer.text
            );
        }
    }
    // The same in a frame.
    let mut socket = app.socket().await;
    let frame =
        json!({ "type": "subscribe", "thread": "Bad", "after": -1, "epoch": "x", "mood": 1 });
    socket.send_text(&frame.to_string()).await;
    let problem = socket.problem().await;
    let mut found = pointers(&problem);
    found.sort_unstable();
    assert_eq!(found, ["/after", "/epoch", "/mood", "/thread"], "{problem}");
    // There is an end to what is listed.
    let many = json!({ "submodules": vec!["Bad Name"; 1000] });
    let listed = app
        .post("/threads", many)
        .await
        .expect_problem(400, "invalid-id")["errors"]
        .as_array()
        .unwrap()
        .len();
    assert!((10..=100).contains(&listed), "{listed}");
}

// Every door reads it alike: all there is, is below everything.
on_sqlite!(
    subtree_without_a_thread_is_everything_at_every_door,
    |medium| {
        let stub = Stub::start().await;
        let app = App::start(medium, &stub).await;
        app.tell("hello").await;
        let all = app.get("/events?limit=500").await.expect(200);
        assert_eq!(
            app.get("/events?limit=500&subtree=true").await.expect(200)["items"],
            all["items"]
        );
        let head = all["items"][0]["seq"].as_i64().unwrap();
        let mut socket = app.socket().await;
        let ack = socket
            .ask(json!({ "type": "subscribe", "subtree": true, "after": 0 }))
            .await;
        assert_eq!(ack["type"], "ack", "{ack}");
        socket.of_type("caught_up").await;
        assert_eq!(socket.events().last().unwrap()["seq"].as_i64(), Some(head));
        let mut stream = app
            .request("GET", "/events/stream?subtree=true&after=0")
            .send()
            .await
            .unwrap();
        assert_eq!(stream.status(), 200);
        assert!(stream.chunk().await.unwrap().is_some());
    }
);
