//! One tenant must not keep another out: seats, connections, uploads and rates at the door. B is
//! served, no matter how much A takes. Each test has a control that shows B's results without the
//! limit.
//! Every `on_both!` is two `#[tokio::test]`s, one a database.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use thinkd::event::draft::Draft;
use thinkd::log::appended::Append;
use thinkd::log::options::Options;
use thinkd::log::query::Query;
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::session::follow::{Follow, Seen};
use thinkd::tasks::share::Places;
use thinkd::words::id::{Space, ThreadId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use kit::media::PNG;
use kit::*;

const A: &str = "Bearer the-key-of-tenant-a";
const B: &str = "Bearer the-key-of-tenant-b";
const ADMIN: &str = "Bearer the-key-of-the-admin";
const KEYS: &str = "[[keys]]\nkey = \"the-key-of-tenant-a\"\nspace = \"a\"\n\
    [[keys]]\nkey = \"the-key-of-tenant-b\"\nspace = \"b\"\n\
    [[keys]]\nkey = \"the-key-of-the-admin\"\nspace = \"c\"\nrole = \"admin\"\n";

/// A server of two tenants and an admin.
async fn shared(medium: Medium, stub: &Stub, settings: &[(&str, &str)]) -> App {
    let setup = settings
        .iter()
        .fold(Setup::new(medium, stub), |setup, (name, value)| {
            setup.env(name, value)
        });
    setup.file("thinkd.toml", KEYS).start_bare().await
}

fn request(app: &App, key: &str, method: &str, path: &str) -> reqwest::RequestBuilder {
    app.request(method, path).header("authorization", key)
}

/// A stream, or the problem that says why there is none.
async fn stream(app: &App, key: &str) -> Result<reqwest::Response, String> {
    let answer = within(
        "a stream's head",
        request(app, key, "GET", "/events/stream").send(),
    )
    .await
    .unwrap();
    if answer.status() == 200 {
        Ok(answer)
    } else {
        Err(answer.text().await.unwrap())
    }
}

/// As many streams as this key can get, and why there is no other one.
async fn streams(app: &App, key: &str, most: usize) -> (Vec<reqwest::Response>, String) {
    let mut held = Vec::new();
    while held.len() < most {
        match stream(app, key).await {
            Ok(open) => held.push(open),
            Err(problem) => return (held, problem),
        }
    }
    (held, String::new())
}

fn socket_url(app: &App) -> String {
    format!("ws://{}/ws", app.address)
}

/// B as a person has it: a socket that says hello and takes a message, and a stream.
async fn is_served(app: &App, key: &str) {
    let mut socket = Socket::connect_with(&socket_url(app), &[("authorization", key)]).await;
    socket.of_type("hello").await;
    assert_eq!(socket.say("is anybody there?").await["type"], "ack");
    stream(app, key)
        .await
        .unwrap_or_else(|problem| panic!("no stream: {problem}"));
}

#[tokio::test]
async fn who_takes_all_the_streams_it_can_leaves_sockets_and_streams_to_others() {
    let stub = Stub::start().await;
    let app = shared(Medium::sqlite(), &stub, &[("THINKD_LIMITS__SOCKETS", "8")]).await;
    let (held, problem) = streams(&app, A, 20).await;
    assert_eq!(held.len(), 6, "three quarters of eight");
    for named in [
        "too-many-requests",
        "limits.sockets",
        "of them at most",
        "8",
        "6",
    ] {
        assert!(problem.contains(named), "{named} is not in {problem}");
    }
    is_served(&app, B).await;
    // A seat that is given back is there again.
    drop(held);
    within("the free seats", async {
        while streams(&app, A, 6).await.0.len() < 6 {}
    })
    .await;
}

#[tokio::test]
async fn control_without_a_share_one_tenant_has_all_seats() {
    let stub = Stub::start().await;
    let settings = [
        ("THINKD_LIMITS__SOCKETS", "8"),
        ("THINKD_TEST_LIMITS__SPACE_SHARE", "1"),
    ];
    let app = shared(Medium::sqlite(), &stub, &settings).await;
    let (held, _) = streams(&app, A, 20).await;
    assert_eq!(held.len(), 8);
    assert!(stream(&app, B).await.is_err(), "all are taken");
}

#[tokio::test]
async fn streams_count_for_their_key_as_sockets_do() {
    let stub = Stub::start().await;
    let app = shared(
        Medium::sqlite(),
        &stub,
        &[("THINKD_LIMITS__SOCKETS_PER_KEY", "3")],
    )
    .await;
    let mut socket = Socket::connect_with(&socket_url(&app), &[("authorization", A)]).await;
    socket.of_type("hello").await;
    let (held, problem) = streams(&app, A, 20).await;
    assert_eq!(held.len(), 2, "beside a socket");
    assert!(problem.contains("limits.sockets_per_key"), "{problem}");
    is_served(&app, B).await;
    socket.close().await;
    within("the free seat", async {
        while stream(&app, A).await.is_err() {}
    })
    .await;
}

#[tokio::test]
async fn where_one_space_is_all_there_is_it_has_all_seats() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub)
        .env("THINKD_LIMITS__SOCKETS", 8)
        .start_bare()
        .await;
    assert_eq!(streams(&app, "", 20).await.0.len(), 8);
}

#[tokio::test]
async fn sockets_of_nobody_keep_nobody_out() {
    let stub = Stub::start().await;
    let app = shared(Medium::sqlite(), &stub, &[("THINKD_LIMITS__SOCKETS", "4")]).await;
    let mut nobody = Vec::new();
    for _ in 0..8 {
        nobody.push(Socket::connect(&socket_url(&app)).await);
    }
    is_served(&app, B).await;
    // Who says later who it is has a seat like any other from then on.
    let mut late = nobody.pop().unwrap();
    late.send(json!({ "type": "auth", "token": "the-key-of-tenant-a" }))
        .await;
    late.of_type("hello").await;
}

#[tokio::test]
async fn of_those_who_do_not_say_who_they_are_the_oldest_go_first() {
    let stub = Stub::start().await;
    let app = shared(
        Medium::sqlite(),
        &stub,
        &[("THINKD_TEST_LIMITS__UNAUTHENTICATED", "4")],
    )
    .await;
    let mut first = Socket::connect(&socket_url(&app)).await;
    let mut idle = TcpStream::connect(&app.address).await.unwrap();
    let mut others = Vec::new();
    for _ in 0..4 {
        others.push(TcpStream::connect(&app.address).await.unwrap());
    }
    assert_eq!(first.closed().await, Some(4429), "{:?}", first.seen);
    assert_eq!(
        within("the end of an idle connection", idle.read(&mut [0; 8]))
            .await
            .unwrap_or(0),
        0
    );
    is_served(&app, B).await;
    // Who has said it stays, however many come.
    let mut known = Socket::connect_with(&socket_url(&app), &[("authorization", A)]).await;
    known.of_type("hello").await;
    for _ in 0..8 {
        others.push(TcpStream::connect(&app.address).await.unwrap());
    }
    known.say("still here").await;
}

/// Returns a request with a body that never ends: it is under way for as long as the connection
/// lives.
async fn under_way(app: &App, key: &str, path: &str) -> TcpStream {
    let mut stream = within("a connection", TcpStream::connect(&app.address))
        .await
        .unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn the_connections_of_one_tenant_leave_some_to_others() {
    let stub = Stub::start().await;
    let app = shared(Medium::sqlite(), &stub, &[("THINKD_LIMITS__SOCKETS", "1")]).await;
    let mut held = Vec::new();
    for _ in 0..1100 {
        held.push(under_way(&app, A, "/threads/main/messages").await);
    }
    // The last ones are told which limit it is.
    let mut refused = held.pop().unwrap();
    let mut answer = [0; 1024];
    let read = within("an answer", refused.read(&mut answer))
        .await
        .unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(
        answer.starts_with("HTTP/1.1 429") && answer.contains("has room for"),
        "{answer}"
    );
    let begin = Instant::now();
    request(&app, B, "GET", "/state")
        .send()
        .await
        .unwrap()
        .error_for_status()
        .unwrap();
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "it took {:?}",
        begin.elapsed()
    );
}

#[tokio::test]
async fn uploads_that_do_not_come_on_leave_places_to_others() {
    use base64::Engine;
    let png = base64::engine::general_purpose::STANDARD
        .decode(PNG)
        .unwrap();
    let stub = Stub::start().await;
    let upload = async |app: &App| {
        let sent = http::send(
            request(app, B, "POST", "/blobs")
                .header("content-type", "image/png")
                .body(png.clone()),
        );
        tokio::time::timeout(Duration::from_secs(2), sent)
            .await
            .map(|reply| reply.expect(201))
            .is_ok()
    };
    for (share, is_let) in [("0.75", true), ("1", false)] {
        let app = shared(
            Medium::sqlite(),
            &stub,
            &[("THINKD_TEST_LIMITS__SPACE_SHARE", share)],
        )
        .await;
        let mut held = Vec::new();
        for _ in 0..12 {
            held.push(under_way(&app, A, "/blobs").await);
        }
        // They are there when a request behind them is.
        within("places taken", async {
            let taken = format!(
                "thinkd_places_taken{{of=\"uploads\"}} {}",
                if is_let { 6 } else { 8 }
            );
            while !http::send(request(&app, ADMIN, "GET", "/metrics"))
                .await
                .text
                .contains(&taken)
            {}
        })
        .await;
        assert_eq!(upload(&app).await, is_let, "with a share of {share}");
    }
}

on_both!(
    requests_of_one_key_above_its_rate_are_slowed_then_refused_and_cost_others_nothing,
    |medium| {
        let stub = Stub::start().await;
        let app = shared(
            medium,
            &stub,
            &[("THINKD_TEST_LIMITS__REQUESTS_PER_SECOND", "20")],
        )
        .await;
        let ask = |key: &'static str| http::send(request(&app, key, "GET", "/state"));
        // Control: what is within the rate is neither slowed nor refused.
        ask(B).await.expect(200);
        let begin = Instant::now();
        let flood = join_all((0..120).map(|_| ask(A)));
        let other = async { join_all((0..10).map(|_| ask(B))).await };
        let (flood, other) = tokio::join!(flood, other);
        assert!(other.iter().all(|reply| reply.status == 200), "{other:?}");
        let (taken, refused): (Vec<_>, Vec<_>) =
            flood.iter().partition(|reply| reply.status == 200);
        // A burst of a second, those of the second after it, and what became due while they were sent.
        let most = 40 + 20 * usize::try_from(begin.elapsed().as_secs() + 1).unwrap();
        assert!(
            (40..=most).contains(&taken.len()),
            "{} were taken",
            taken.len()
        );
        assert!(!refused.is_empty());
        for reply in &refused {
            assert_eq!(
                (reply.status, reply.slug(), reply.header("retry-after")),
                (429, "too-many-requests", "1")
            );
            assert!(reply.text.contains("requests a second"), "{}", reply.text);
        }
        let metrics = http::send(request(&app, ADMIN, "GET", "/metrics"))
            .await
            .text;
        assert!(
            metrics.contains("thinkd_limit_total{limit=\"requests_per_second\"}"),
            "{metrics}"
        );
        // After the time that was named there is room again.
        tokio::time::sleep(ms(1000)).await;
        ask(A).await.expect(200);
    }
);

on_both!(
    who_is_slowed_is_answered_later_and_loses_nothing,
    |medium| {
        let stub = Stub::start().await;
        let app = shared(
            medium,
            &stub,
            &[("THINKD_TEST_LIMITS__REQUESTS_PER_SECOND", "20")],
        )
        .await;
        let post = |n: usize| {
            let message = json!({ "text": format!("message {n}") });
            http::send(request(&app, A, "POST", &format!("/threads/t{n}/messages")).json(&message))
        };
        let begin = Instant::now();
        let replies = join_all((0..34).map(post)).await;
        assert!(
            replies.iter().all(|reply| reply.status == 202),
            "{replies:?}"
        );
        assert!(
            begin.elapsed() >= ms(500),
            "34 requests at 20 a second took {:?}",
            begin.elapsed()
        );
    }
);

/// A log of so many events of three kilobytes in the space of A.
async fn filled(medium: &Medium, events: i64) {
    let store = store::open(medium.url(), Options::default(), ThreadRow::apply)
        .await
        .unwrap();
    let space = Space::parse("a").unwrap();
    let words = "words ".repeat(500);
    for _ in 0..events / 100 {
        let drafts = (0..100)
            .map(|n| Draft::reply(&ThreadId::default(), 1, &format!("c{n}"), &words, false))
            .collect();
        store.append(Append::free(&space, drafts)).await.unwrap();
    }
    store.close().await;
}

/// Milliseconds that the server has been on a processor.
fn cpu_ms(app: &App) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", app.pid())).unwrap();
    // Behind the name: state, …, utime and stime in hundredths of a second.
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .skip(11)
        .take(2);
    fields.map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum()
}

/// The same when it has nothing left to do.
async fn quiet_cpu_ms(app: &App) -> u64 {
    let mut last = cpu_ms(app);
    loop {
        // A time in which little is computed: the use of a processor is a sum over time.
        tokio::time::sleep(ms(300)).await;
        let now = cpu_ms(app);
        if now - last <= 10 {
            return now;
        }
        last = now;
    }
}

on_both!(
    who_reads_nothing_of_a_long_log_costs_no_more_than_what_it_was_given,
    |medium| {
        const EVENTS: i64 = 1000;
        filled(&medium, EVENTS).await;
        let stub = Stub::start().await;
        let app = shared(medium, &stub, &[]).await;
        let before = quiet_cpu_ms(&app).await;
        let mut readers = Vec::new();
        for _ in 0..30 {
            let mut stream = TcpStream::connect(&app.address).await.unwrap();
            let head = format!(
                "GET /events/stream?after=0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: {A}\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            readers.push(stream);
        }
        // Meanwhile B is caught up, and is heard.
        let mut socket = Socket::connect_with(&socket_url(&app), &[("authorization", B)]).await;
        socket.of_type("hello").await;
        socket.say("is anybody there?").await;
        assert!(!socket.follow(0, json!({})).await.is_empty());
        let stalled = quiet_cpu_ms(&app).await - before;
        // Control: they are given all of it as soon as they take it, in order and without a gap.
        let last = format!("id: {EVENTS}@");
        for (n, reader) in readers.iter_mut().enumerate() {
            let mut read = String::new();
            within("the whole log", async {
                let mut bytes = vec![0; 64 << 10];
                while !read.contains(&last) {
                    let count = reader.read(&mut bytes).await.unwrap();
                    assert_ne!(count, 0, "the stream ended");
                    let begin = read.len().saturating_sub(last.len());
                    read.push_str(&String::from_utf8_lossy(&bytes[..count]));
                    if n > 0 {
                        drop(read.drain(..begin));
                    }
                }
            })
            .await;
            if n == 0 {
                let ids = read.lines().filter_map(|line| {
                    line.strip_prefix("id: ")?
                        .split('@')
                        .next()?
                        .parse::<i64>()
                        .ok()
                });
                assert!(ids.eq(1..=EVENTS));
            }
        }
        let all = quiet_cpu_ms(&app).await - before;
        assert!(
            stalled * 3 < all,
            "{stalled} ms for those who read nothing, {all} ms for all of it"
        );
    }
);

/// The texts of the first page of a log that a follower reads from its beginning.
async fn first_page(follow: &mut Follow) -> usize {
    match within("a page", follow.next()).await.unwrap() {
        Seen::Events { events, .. } => events.len(),
        _ => panic!("no events"),
    }
}

on_both!(
    those_who_catch_up_in_one_space_leave_places_to_those_of_another,
    |medium| {
        let store = store::open(medium.url(), Options::default(), ThreadRow::apply)
            .await
            .unwrap();
        let a = Space::parse("a").unwrap();
        let b = Space::parse("b").unwrap();
        for space in [&a, &b] {
            let draft = Draft::reply(&ThreadId::default(), 1, "c0", "words", false);
            store
                .append(Append::free(space, vec![draft]))
                .await
                .unwrap();
        }
        // Control: with as many places and no share, B waits for whoever has them.
        for (places, share, is_kept_waiting) in [(2, 0.75, false), (2, 1.0, true)] {
            let pages = Places::new("pages", places, share);
            let mut held: Vec<_> = std::iter::from_fn(|| pages.try_take(&a)).collect();
            let start = async |space: &Space| {
                Follow::start(&store, &pages, space, Query::default(), Some(0))
                    .await
                    .unwrap()
                    .0
            };
            let mut of_a = start(&a).await;
            let mut of_b = start(&b).await;
            assert!(
                tokio::time::timeout(ms(50), of_a.next()).await.is_err(),
                "there are places for A left"
            );
            let waits =
                tokio::time::timeout(ms(if is_kept_waiting { 50 } else { 20_000 }), of_b.next())
                    .await
                    .is_err();
            assert_eq!(
                waits, is_kept_waiting,
                "of {places} places with a share of {share}"
            );
            held.clear();
            assert_eq!(first_page(&mut of_a).await, 1);
            if is_kept_waiting {
                assert_eq!(first_page(&mut of_b).await, 1);
            }
        }
        store.close().await;
    }
);
