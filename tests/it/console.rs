//! The console: its files as they are served, to whom, and with which headers. The behaviour of the
//! page is tested by a browser (`console/e2e`).

use std::path::{Path, PathBuf};

use kit::*;

fn dist() -> PathBuf {
    Path::new(kit::ROOT).join("console/dist")
}

/// The files of a folder, by their names below it.
fn files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => names.extend(
                files(&entry.path())
                    .into_iter()
                    .map(|below| format!("{name}/{below}")),
            ),
            false => names.push(name),
        }
    }
    names
}

async fn asked(
    app: &App,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, reqwest::header::HeaderMap, Vec<u8>) {
    let request = headers
        .iter()
        .fold(app.request(method, path), |request, (name, value)| {
            request.header(*name, *value)
        });
    let response = within("an answer", request.send()).await.unwrap();
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    (status, headers, response.bytes().await.unwrap().to_vec())
}

fn header<'a>(headers: &'a reqwest::header::HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

/// Returns a server that refuses every client without a key.
async fn locked() -> App {
    let stub = Stub::start().await;
    Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_TOKEN", "the-token-of-this-server")
        .start_bare()
        .await
}

// Without credentials, byte for byte, with a policy under which nothing from elsewhere runs; asked for again, it is not sent again.
#[tokio::test]
async fn every_file_of_the_console_is_served_without_credentials_and_under_a_strict_policy() {
    let app = locked().await;
    let names = files(&dist());
    assert!(
        names.iter().any(|name| name == "index.html"),
        "there is no page among {names:?}"
    );
    for name in names {
        let path = format!("/console/{}", if name == "index.html" { "" } else { &name });
        let (status, headers, bytes) = asked(&app, "GET", &path, &[]).await;
        let bytes = if header(&headers, "content-encoding") == "gzip" {
            unpacked(&bytes)
        } else {
            bytes
        };
        assert_eq!(
            (status, bytes == std::fs::read(dist().join(&name)).unwrap()),
            (200, true),
            "{path}"
        );
        let policy = header(&headers, "content-security-policy");
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(
            !policy.contains("unsafe") && !policy.contains("http"),
            "{path}: {policy}"
        );
        for (expected, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-cache"),
        ] {
            assert_eq!(header(&headers, expected), value, "{path}");
        }
        assert_ne!(
            header(&headers, "content-type"),
            "application/octet-stream",
            "{path}"
        );

        let tag = header(&headers, "etag").to_owned();
        let (status, again, bytes) = asked(
            &app,
            "GET",
            &path,
            &[("if-none-match", &format!("\"other\", W/{tag}"))],
        )
        .await;
        assert_eq!(
            (status, bytes.len(), header(&again, "etag")),
            (304, 0, tag.as_str()),
            "{path}"
        );
        let (status, head, bytes) = asked(&app, "HEAD", &path, &[]).await;
        assert_eq!(
            (status, bytes.len(), header(&head, "etag")),
            (200, 0, tag.as_str()),
            "{path}"
        );
    }
}

// What gets shorter is kept and sent compressed alone: every browser unpacks it.
#[tokio::test]
async fn the_console_is_sent_compressed() {
    let app = locked().await;
    for (name, encoding) in [
        ("index.html", "gzip"),
        ("assets/ibm-plex-mono-latin-400-normal.woff2", ""),
        ("assets/index.js", "gzip"),
        ("assets/style.css", "gzip"),
    ] {
        let (status, headers, _) = asked(
            &app,
            "GET",
            &format!("/console/{name}"),
            &[("accept-encoding", "gzip")],
        )
        .await;
        assert_eq!(
            (status, header(&headers, "content-encoding")),
            (200, encoding),
            "{name}"
        );
    }
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut child = std::process::Command::new("gzip")
        .args(["-dc"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_owned();
    let writing = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    output.stdout
}

#[tokio::test]
async fn nothing_but_the_consoles_own_files_is_served_below_it() {
    let app = locked().await;
    let names = [
        "nothing.js",
        "../server/edge/console.rs",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "assets",
        "assets/",
        "assets/../index.html",
        "index.html/",
        "/index.html",
        "..\\index.html",
        "%00",
        "index.html%00.js",
        ".git/config",
    ];
    for name in names {
        // As it stands here: a library would tidy the path up.
        let head = format!(
            "GET /console/{name} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            app.address
        );
        let answer = raw_answer(&app.address, &head).await;
        let status: u16 = answer
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0);
        assert!(status == 404 || status == 400, "{name}: {answer}");
        assert!(
            answer.contains("application/problem+json"),
            "{name}: {answer}"
        );
    }
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(
            asked(&app, method, "/console/", &[]).await.0,
            405,
            "{method}"
        );
    }
    assert_eq!(
        leads_to(&app, "/console").await.as_deref(),
        Some("console/")
    );
}

async fn raw_answer(address: &str, request: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    within("an answer", stream.read_to_end(&mut bytes))
        .await
        .unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the target of an address's redirect (status 303), or `None` where the header `location`
/// is absent. Panics on any other status.
async fn leads_to(app: &App, path: &str) -> Option<String> {
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        app.address
    );
    let answer = raw_answer(&app.address, &head).await;
    let mut lines = answer.split("\r\n");
    assert!(
        lines.next().is_some_and(|line| line.contains(" 303 ")),
        "{path}: {answer}"
    );
    lines
        .find_map(|line| line.strip_prefix("location: "))
        .map(str::to_owned)
}

// People come to the page, sockets to the socket.
#[tokio::test]
async fn the_root_leads_people_to_the_console_and_stays_a_socket() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    assert_eq!(leads_to(&app, "/").await.as_deref(), Some("console/"));
    let mut socket = Socket::connect(&format!("ws://{}/", app.address)).await;
    assert_eq!(socket.next().await.unwrap()["type"], "hello");
}

/// Returns addresses in the text of a page, a style or a script: those that it loads and links to.
fn addresses(kind: &str, text: &str) -> Vec<String> {
    let marks: &[(&str, char)] = match kind {
        "text/html; charset=utf-8" => &[("href=\"", '"'), ("src=\"", '"')],
        "text/css; charset=utf-8" => &[("url(", ')')],
        "text/javascript; charset=utf-8" => &[
            ("from\"", '"'),
            ("import(\"", '"'),
            ("import(`", '`'),
            ("load('", '\''),
        ],
        _ => &[],
    };
    let found = marks.iter().flat_map(|(mark, end)| {
        text.split(mark)
            .skip(1)
            .filter_map(|rest| rest.split(*end).next())
    });
    found
        .map(|it| it.trim_matches(['"', '\'']))
        .filter(|it| !it.starts_with("data:") && !it.starts_with('#') && !it.contains("${"))
        .map(str::to_owned)
        .collect()
}

// A proxy puts a path before the server: from its root one comes to the console and to the documents, and what they load is below that path.
#[tokio::test]
async fn the_console_and_the_documents_are_found_below_any_path() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let base = reqwest::Url::parse("https://example.org/some/path/").unwrap();
    let page = |path: &str| base.join(path).unwrap();
    let mut next = vec![
        base.clone(),
        page("console"),
        page("docs"),
        page("docs/asyncapi"),
    ];
    let mut seen = Vec::<String>::new();
    while let Some(url) = next.pop() {
        let Some(path) = url.as_str().strip_prefix(base.as_str()) else {
            panic!("{url} is outside of {base}");
        };
        let path = path.split('#').next().unwrap_or_default().to_owned();
        if seen.contains(&path) {
            continue;
        }
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let client = client.build().unwrap();
        let answer = client
            .get(app.url(&format!("/{path}")))
            .send()
            .await
            .unwrap();
        // A script is relative to itself where it imports, and to its page where it asks.
        let from = match path.as_str() {
            "docs/assets/openapi.js" => page("docs"),
            "docs/assets/asyncapi.js" => page("docs/asyncapi"),
            _ => url.clone(),
        };
        seen.push(path);
        if answer.status().is_redirection() {
            next.push(from.join(header(answer.headers(), "location")).unwrap());
            continue;
        }
        assert_eq!(answer.status(), 200, "{url}");
        let kind = header(answer.headers(), "content-type").to_owned();
        let is_packed = header(answer.headers(), "content-encoding") == "gzip";
        let bytes = answer.bytes().await.unwrap();
        let bytes = if is_packed {
            unpacked(&bytes)
        } else {
            bytes.to_vec()
        };
        let text = String::from_utf8_lossy(&bytes);
        next.extend(
            addresses(&kind, &text)
                .iter()
                .map(|it| from.join(it).unwrap()),
        );
    }
    for wanted in [
        "console/",
        "console/assets/index.js",
        "console/assets/Log.js",
        "console/icon.svg",
        "docs/assets/page.css",
        "docs/assets/contract.js",
        "docs/assets/asyncapi.json",
        "openapi.json",
        "asyncapi.yaml",
    ] {
        assert!(
            seen.iter().any(|path| path == wanted),
            "{wanted} is not among {seen:?}"
        );
    }
    let document = app.get("/openapi.json").await.expect(200);
    let server = document["servers"][0]["url"].as_str().unwrap();
    assert_eq!(page("openapi.json").join(server).unwrap(), base);
}
