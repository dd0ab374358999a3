//! A log with a damaged file: the pages needed for a start are checked before anything is served,
//! the rest later.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use kit::*;

const PAGE: usize = 4096;

/// Makes a log of some turns in one file, and returns the number, table and kind of each of its
/// pages.
async fn log_file(stub: &Stub) -> (App, Vec<(usize, String, String)>) {
    let mut app = Setup::new(Medium::sqlite(), stub)
        .voices(&["a"])
        .start()
        .await;
    for n in 0..12 {
        // Some longer than a page.
        app.tell(&format!("{n} {}", "word ".repeat(n * 300))).await;
    }
    app.request("POST", "/blobs")
        .header("content-type", "image/png")
        .body(png())
        .send()
        .await
        .unwrap();
    assert!(app.stop().await.success());
    let mut connection = SqliteConnection::connect(app.database()).await.unwrap();
    let pages: Vec<(i64, String, String)> =
        sqlx::query_as("select pageno, name, pagetype from dbstat order by pageno")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    connection.close().await.unwrap();
    let pages = pages
        .into_iter()
        .map(|(number, name, kind)| (usize::try_from(number).unwrap(), name, kind))
        .collect();
    (app, pages)
}

/// An image of more than a page.
fn png() -> Vec<u8> {
    use base64::Engine as _;
    let mut bytes = base64::engine::general_purpose::STANDARD
        .decode(kit::media::PNG)
        .unwrap();
    bytes.extend(noise(1, 3 * PAGE));
    bytes
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

fn damage(file: &Path, whole: &[u8], page: usize) {
    let mut bytes = whole.to_vec();
    bytes[(page - 1) * PAGE..page * PAGE].copy_from_slice(&noise(page as u64, PAGE));
    std::fs::write(file, bytes).unwrap();
}

/// A few pages of each table and kind, and all of the log's own up to some number.
fn sample(pages: &[(usize, String, String)]) -> Vec<(usize, String, String)> {
    let mut taken: BTreeMap<(String, String), usize> = BTreeMap::new();
    let most = |name: &str| if name == "events" { 6 } else { 1 };
    let chosen = |(_, name, kind): &&(usize, String, String)| {
        let count = taken.entry((name.clone(), kind.clone())).or_default();
        *count += 1;
        *count <= most(name)
    };
    pages.iter().filter(chosen).cloned().collect()
}

/// Header, schema and the end of the log are looked at before anything is served: the program ends and names the page.
#[tokio::test]
async fn a_log_with_a_page_of_noise_is_not_served_and_the_page_is_named() {
    let stub = Stub::start().await;
    let (app, pages) = log_file(&stub).await;
    let file = app.folder().join("thinkd.db");
    let whole = std::fs::read(&file).unwrap();
    let needed: Vec<_> = sample(&pages)
        .into_iter()
        .filter(|(_, name, _)| name == "events" || name == "sqlite_schema")
        .collect();
    assert!(needed.len() > 5, "{pages:?}");
    for (page, name, kind) in needed {
        damage(&file, &whole, page);
        let url = app.database().to_owned();
        let ended = tokio::task::spawn_blocking(move || {
            let mut command = std::process::Command::new(kit::program());
            command
                .env_clear()
                .env("DATABASE_URL", url)
                .env("THINKD_LISTEN", "127.0.0.1:0")
                .stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            watchdog::watch(child.id());
            (child.id(), child.wait_with_output().unwrap())
        });
        let (id, ended) = within(
            &format!("the end of a server whose page {page} ({name}, {kind}) is noise"),
            ended,
        )
        .await
        .unwrap();
        watchdog::forget(id);
        let said = String::from_utf8_lossy(&ended.stderr).to_lowercase();
        assert_eq!(ended.status.code(), Some(1), "{page} {name} {kind}: {said}");
        // A page of an event's long text is named by the page that leads to it.
        let named = if kind == "overflow" {
            "page ".to_owned()
        } else {
            format!("page {page}")
        };
        assert!(
            said.contains(&named) && said.contains("thinkd.db"),
            "{page} {name} {kind}: {said}"
        );
    }
}

/// The rest of the file is checked while the server works, and each fault is reported.
#[tokio::test]
async fn a_page_of_noise_elsewhere_is_found_while_the_server_works() {
    let stub = Stub::start().await;
    let (mut app, pages) = log_file(&stub).await;
    let file = app.folder().join("thinkd.db");
    let whole = std::fs::read(&file).unwrap();
    let before = thinkd_words::time::now();
    app.start_again().await;
    faults(&app, |count| count == 0).await;
    let checked = app.get("/readyz?full=true").await.expect(200)["checked"].clone();
    let at = thinkd_words::time::Timestamp::parse(checked["at"].as_str().unwrap()).unwrap();
    assert!(before <= at && at <= thinkd_words::time::now(), "{checked}");
    assert_eq!(checked["pages"], whole.len() / PAGE, "{checked}");
    assert_eq!(
        (checked["events"].as_u64().unwrap() > 12, &checked["faults"]),
        (true, &json!([])),
        "{checked}"
    );
    assert!(app.stop().await.success());
    let needed = ["events_id", "contacts", "entries", "blobs", "mailboxes"];
    let rest = sample(&pages)
        .into_iter()
        .filter(|(_, name, _)| needed.contains(&name.as_str()));
    let mut seen = 0;
    for (page, name, kind) in rest {
        app.kill();
        for left in ["thinkd.db-wal", "thinkd.db-shm"] {
            let _ = std::fs::remove_file(app.folder().join(left));
        }
        damage(&file, &whole, page);
        app.start_again().await;
        faults(&app, |count| count > 0).await;
        app.until_says("the log is damaged").await;
        let full = app.get("/readyz?full=true").await.expect(200);
        assert!(
            !full["checked"]["faults"].as_array().unwrap().is_empty(),
            "{page} {name} {kind}: {full}"
        );
        seen += 1;
    }
    assert!(seen > 3, "{pages:?}");
}

/// Waits until the server has looked through its file and found so many faults.
async fn faults(app: &App, expected: impl Fn(u64) -> bool) {
    polled("a look through the whole file", async || {
        let metrics = app.get("/metrics").await.text;
        let found = metrics
            .lines()
            .find_map(|line| line.strip_prefix("thinkd_log_faults ")?.parse().ok());
        found.is_some_and(&expected)
    })
    .await;
}
