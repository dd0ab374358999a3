//! Keys that are replaced while the server runs, and the fate of clients that came in by them.

use std::process::Command;

use super::*;

fn entry(key: &str, role: &str) -> String {
    format!("[[keys]]\nkey = \"{key}\"\nspace = \"ours\"\nrole = \"{role}\"\n")
}

async fn socket_of(app: &App, key: &str) -> Socket {
    let shown = format!("Bearer {key}");
    let mut socket = Socket::connect_with(
        &app.url("/ws").replace("http", "ws"),
        &[("authorization", &shown)],
    )
    .await;
    socket.of_type("hello").await;
    socket
}

async fn stream_of(app: &App, key: &str) -> reqwest::Response {
    let stream = app
        .request("GET", "/events/stream")
        .bearer_auth(key)
        .send()
        .await
        .unwrap();
    assert_eq!(stream.status(), 200);
    stream
}

/// Waits until a stream ends.
async fn ends(mut stream: reqwest::Response) {
    within("the end of a stream", async {
        while let Ok(Some(_)) = stream.chunk().await {}
    })
    .await;
}

fn write(app: &App, name: &str, text: &str) {
    std::fs::write(app.folder().join(name), text).unwrap();
}

/// The gauge that says whether the keys in force are older than the files.
async fn stale(app: &App, admin: &str) -> bool {
    ask(app, admin, "GET", "/metrics", None)
        .await
        .text
        .contains("thinkd_keys_stale 1")
}

/// Waits until a key is let in, or is not.
async fn until(app: &App, key: &str, status: u16) {
    polled(&format!("{status} for {key}"), async || {
        ask(app, key, "GET", "/metadata", None).await.status == status
    })
    .await;
}

// A key that is taken out of the configuration is worth nothing any more, and whoever came in by it goes within two seconds. The
// others stay: they are the control.
on_both!(who_came_in_by_a_key_that_is_removed_goes, |medium| {
    let stub = Stub::start().await;
    let both = entry("the-key-that-stays", "operator") + &entry("the-key-that-goes", "operator");
    let setup = Setup::new(medium, &stub).file("thinkd.toml", &both);
    let app = setup.start_bare().await;
    let mut stays = socket_of(&app, "the-key-that-stays").await;
    let mut goes = socket_of(&app, "the-key-that-goes").await;
    let streamed = stream_of(&app, "the-key-that-stays").await;
    let stream = stream_of(&app, "the-key-that-goes").await;
    stays
        .subscribe(json!({ "type": "subscribe", "after": 0 }))
        .await;
    write(
        &app,
        "thinkd.toml",
        &(entry("the-key-that-stays", "operator") + &entry("the-key-that-comes", "viewer")),
    );
    assert_eq!(goes.closed().await, Some(4401));
    ends(stream).await;
    until(&app, "the-key-that-goes", 401).await;
    until(&app, "the-key-that-comes", 200).await;
    stays
        .send(json!({ "type": "message", "text": "still here" }))
        .await;
    stays.tagged("input").await;
    drop(streamed);
});

// Files of keys are followed, too; a signal has them read at once. What another role or space becomes of a key closes its sockets.
on_both!(
    files_of_keys_are_read_again_and_a_changed_role_counts,
    |medium| {
        let stub = Stub::start().await;
        let admin = entry("the-key-of-the-admin", "admin");
        let setup = Setup::new(medium, &stub)
            .file("thinkd.toml", &admin)
            .file("more.toml", &entry("a-changing-key", "operator"));
        let app = setup
            .env("THINKD_KEYS_FILE", "more.toml")
            .start_bare()
            .await;
        let mut socket = socket_of(&app, "a-changing-key").await;
        write(&app, "more.toml", &entry("a-changing-key", "viewer"));
        hang_up(&app);
        assert_eq!(socket.closed().await, Some(4401));
        let refused = ask(
            &app,
            "a-changing-key",
            "POST",
            "/submodules",
            Some(json!({ "name": "x", "prompt": "x" })),
        )
        .await;
        refused.expect_problem(403, "forbidden");
        // Its role is what it says now: it reads.
        let mut socket = socket_of(&app, "a-changing-key").await;
        socket
            .subscribe(json!({ "type": "subscribe", "after": 0 }))
            .await;
        // One that cannot be read changes nothing, and the operator is told; mended, it counts again.
        for broken in [
            "[[keys]]\nkey = \"a-changing-key\"\nrole = \"king\"\n",
            "[[keys",
            "[[keys]]\nkey = \"the-key-of-the-admin\"\n",
        ] {
            write(&app, "more.toml", broken);
            polled("the operator is told", async || {
                stale(&app, "the-key-of-the-admin").await
            })
            .await;
            until(&app, "a-changing-key", 200).await;
            write(&app, "more.toml", &entry("a-changing-key", "viewer"));
            hang_up(&app);
            polled("it is mended", async || {
                !stale(&app, "the-key-of-the-admin").await
            })
            .await;
        }
        app.until_says("more.toml").await;
        assert!(!app.output().contains("a-changing-key"), "{}", app.output());
        // The same socket all along.
        let pong = socket.ask(json!({ "type": "ping" })).await;
        assert_eq!(pong["type"], "ack", "{pong}");
        std::fs::remove_file(app.folder().join("more.toml")).unwrap();
        hang_up(&app);
        polled("a file that is gone is told", async || {
            stale(&app, "the-key-of-the-admin").await
        })
        .await;
        until(&app, "a-changing-key", 200).await;
    }
);

// No change of a file opens a server to everybody; one that was open asks for a key as soon as there is one.
on_both!(
    a_server_is_closed_by_its_first_key_and_never_opened,
    |medium| {
        let stub = Stub::start().await;
        let app = Setup::new(medium, &stub)
            .file("thinkd.toml", "")
            .start_bare()
            .await;
        let mut socket = app.socket().await;
        // A change that brings no key closes nobody, and leaves nobody behind who came in before it.
        write(&app, "thinkd.toml", "[log]\nlevel = \"info\"\n");
        // Longer than the time after which a file is looked at again: of a change without an effect nothing tells.
        tokio::time::sleep(ms(1_500)).await;
        let pong = socket.ask(json!({ "type": "ping" })).await;
        assert_eq!(pong["type"], "ack", "{pong}");
        write(&app, "thinkd.toml", &entry("the-first-key", "admin"));
        assert_eq!(socket.closed().await, Some(4401));
        app.get("/events")
            .await
            .expect_problem(401, "unauthenticated");
        until(&app, "the-first-key", 200).await;
        write(&app, "thinkd.toml", "");
        hang_up(&app);
        polled("the operator is told", async || {
            stale(&app, "the-first-key").await
        })
        .await;
        app.get("/events")
            .await
            .expect_problem(401, "unauthenticated");
    }
);

// A configuration that is gone takes no key away, though the token alone would keep the server closed.
on_both!(a_configuration_that_is_gone_takes_no_key_away, |medium| {
    let stub = Stub::start().await;
    let setup =
        Setup::new(medium, &stub).file("thinkd.toml", &entry("the-key-of-the-admin", "admin"));
    let app = setup
        .env("THINKD_TOKEN", "the-token-of-this-server")
        .start_bare()
        .await;
    let mut socket = socket_of(&app, "the-key-of-the-admin").await;
    std::fs::remove_file(app.folder().join("thinkd.toml")).unwrap();
    for _ in 0..2 {
        hang_up(&app);
        polled("the operator is told", async || {
            stale(&app, "the-key-of-the-admin").await
        })
        .await;
    }
    let pong = socket.ask(json!({ "type": "ping" })).await;
    assert_eq!(pong["type"], "ack", "{pong}");
    write(&app, "thinkd.toml", &entry("the-key-that-comes", "admin"));
    assert_eq!(socket.closed().await, Some(4401));
    until(&app, "the-key-that-comes", 200).await;
});

// What `thinkd key new` prints is what the configuration takes: the hash admits the key, and the key is nowhere but with the client.
#[tokio::test]
async fn a_new_key_is_admitted_by_its_hash() {
    let printed = app::ran(
        &std::env::temp_dir(),
        &[],
        &["key", "new", "--space", "ours", "--role", "member"],
    )
    .await
    .1;
    let (head, lines) = printed.split_once("[[keys]]").unwrap();
    let word = |name: &str| {
        head.lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap()
            .trim()
            .to_owned()
    };
    let key = word("key ");
    let sha256 = word("sha256 ");
    assert!(
        !lines.contains(&key) && lines.contains(&sha256),
        "{printed}"
    );
    let other = app::ran(&std::env::temp_dir(), &[], &["key", "new"])
        .await
        .1;
    assert!(!other.contains(&key) && key.len() >= 43, "{other}");
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .file("thinkd.toml", &format!("[[keys]]{lines}"))
        .start_bare()
        .await;
    let own = ask(&app, &key, "GET", "/metadata", None).await.expect(200);
    assert_eq!(own["space"], "ours");
    ask(
        &app,
        &key,
        "POST",
        "/threads/main/messages",
        Some(json!({ "text": "hi" })),
    )
    .await
    .expect(202);
    ask(
        &app,
        &key,
        "POST",
        "/submodules",
        Some(json!({ "name": "x", "prompt": "x" })),
    )
    .await
    .expect(403);
    // The hash itself opens nothing.
    ask(&app, &sha256, "GET", "/metadata", None)
        .await
        .expect(401);
}

fn hang_up(app: &App) {
    // The shell's own: a bare machine has no other.
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -HUP {}", app.pid())])
        .status();
    assert!(sent.unwrap().success());
}

// A server that others can reach takes up no key that can be guessed, in whatever file it comes.
#[tokio::test]
async fn a_short_key_that_comes_later_is_not_taken_up_beyond_loopback() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .file("thinkd.toml", &entry("the-key-of-the-admin", "admin"))
        .env("THINKD_LISTEN", "0.0.0.0:0")
        .start_bare()
        .await;
    let short = entry("the-key-of-the-admin", "admin") + &entry("short", "viewer");
    write(&app, "thinkd.toml", &short);
    hang_up(&app);
    polled("the operator is told", async || {
        stale(&app, "the-key-of-the-admin").await
    })
    .await;
    until(&app, "short", 401).await;
    app.until_says("16 at least").await;
}
