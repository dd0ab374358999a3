//! Several servers on one Postgres: one log, one holder of a lease, followers that hear of every commit. How they commit is in `commits.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use thinkd::log::appended::{Append, Appended};
use thinkd::log::feed::{Follower, Tail};
use thinkd::log::kernel::Store;
use thinkd::log::query::{Order, Query, Show};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::time::timeout;

use super::commits::waiting;
use super::{append, draft, input, log, open, space, thread};
use kit::{Medium, polled_some, stored, within};

/// Two stores on one database, as two servers have them.
pub(super) async fn two() -> Option<(Medium, Arc<dyn Store>, Arc<dyn Store>)> {
    let medium = Medium::postgres().await?;
    let a = open(&medium).await;
    let b = open(&medium).await;
    Some((medium, a, b))
}

/// Reads as a socket does: from the tail, and from the store where the tail begins later.
async fn read_to(store: &Arc<dyn Store>, follower: &mut Follower, last: i64) -> Vec<i64> {
    let mut seen: Vec<i64> = Vec::new();
    within("everything that was committed", async {
        loop {
            let after = seen.last().copied().unwrap_or(0);
            match follower.after(after, 100) {
                Tail::Events(events) => seen.extend(events.iter().map(|shown| shown.event.seq)),
                Tail::Behind => {
                    let query = Query {
                        after: Some(after),
                        show: Show::All,
                        order: Order::Ascending,
                        limit: 100,
                        ..Query::default()
                    };
                    seen.extend(
                        store
                            .events(&space(), &query)
                            .await
                            .unwrap()
                            .iter()
                            .map(|event| event.seq),
                    );
                }
            }
            if seen.last() == Some(&last) {
                return;
            }
            if seen.last().copied().unwrap_or(0) == after {
                follower.changed().await;
            }
        }
    })
    .await;
    seen
}

/// Everybody's followers see everything once, in order, with appends by any server.
#[tokio::test(flavor = "multi_thread")]
async fn followers_of_every_server_see_every_commit() {
    let Some((_medium, a, b)) = two().await else {
        return;
    };
    append(&a, vec![draft("main", "before anybody follows", &[])]).await;
    let mut on_a = a.feed().follow(&space(), None);
    let mut on_b = b.feed().follow(&space(), None);
    let writers = [a.clone(), b.clone(), b.clone()].map(|store| {
        tokio::spawn(async move {
            for n in 0..40 {
                append(&store, vec![draft("main", "x", &[]); 1 + n % 3]).await;
            }
        })
    });
    let last = 1 + 3 * (0..40).map(|n| 1 + n % 3).sum::<i64>();
    let (seen_a, seen_b) = tokio::join!(read_to(&a, &mut on_a, last), read_to(&b, &mut on_b, last));
    for writer in writers {
        writer.await.unwrap();
    }
    let all: Vec<i64> = (1..=last).collect();
    assert_eq!(seen_a, all);
    assert_eq!(seen_b, all);
    assert_eq!(
        log(&a, &space()).await.len() as i64,
        last,
        "no gaps, no doubles"
    );
    a.close().await;
    b.close().await;
}

/// A follower of one thread is told of all of it, at any time of coming. Another server stores
/// events around it that nothing here listens for.
#[tokio::test(flavor = "multi_thread")]
async fn followers_of_a_thread_miss_nothing_among_what_nobody_follows() {
    let Some((_medium, a, b)) = two().await else {
        return;
    };
    append(&a, vec![draft("main", "x", &[])]).await;
    let first = b.feed().follow(&space(), Some(&thread("first")));
    let writer = tokio::spawn({
        let a = a.clone();
        async move {
            for n in 0..200 {
                append(
                    &a,
                    vec![draft(["x", "y", "y.z", "z"][n % 4], "x", &[]); 1 + n % 2],
                )
                .await;
            }
            append(&a, vec![draft("y", "last", &[])]).await[0]
                .shown
                .event
                .seq
        }
    });
    let mut followers = Vec::new();
    while !writer.is_finished() {
        let follower = b.feed().follow(&space(), Some(&thread("y")));
        followers.push((follower, b.head(&space()).await.unwrap().seq));
        // The pace of those who come: all along while the writer writes.
        tokio::time::sleep(Duration::from_millis(5)).await;
        // None of them, now and then: then nobody listens for the thread.
        if followers.len() % 7 == 0 {
            followers.clear();
        }
    }
    let last = writer.await.unwrap();
    followers.push((b.feed().follow(&space(), Some(&thread("y"))), 1));
    let of_y = log(&a, &space())
        .await
        .into_iter()
        .filter(|event| event.thread.is_within(&thread("y")));
    let of_y = Vec::from_iter(of_y.map(|event| event.seq));
    for (mut follower, since) in followers {
        let mut seen = vec![since];
        within("everything of the thread", async {
            while seen.last() != Some(&last) {
                let after = *seen.last().unwrap();
                match follower.after(after, 100) {
                    Tail::Events(events) if events.is_empty() => follower.changed().await,
                    Tail::Events(events) => seen.extend(events.iter().map(|shown| shown.event.seq)),
                    // Its tail begins later: it would read so far.
                    Tail::Behind => seen.push(*of_y.iter().find(|seq| **seq > after).unwrap()),
                }
            }
        })
        .await;
        assert_eq!(seen[1..], of_y[of_y.partition_point(|seq| *seq <= since)..]);
    }
    drop(first);
    a.close().await;
    b.close().await;
}

/// A lease counts on every server; its holder's death lets another one take it.
#[tokio::test]
async fn a_lease_counts_on_every_server() {
    let Some((_medium, a, b)) = two().await else {
        return;
    };
    append(&a, vec![input("main", "hi")]).await;
    let main = thread("main");
    let short = Duration::from_millis(300);
    let old = a
        .lease(&space(), &main, short)
        .await
        .unwrap()
        .unwrap()
        .fence;
    assert!(b.lease(&space(), &main, short).await.unwrap().is_none());
    assert_eq!(b.waiting(10).await.unwrap(), [], "somebody is at it");
    let new = polled_some("the lease to run out", async || {
        let leased = b
            .lease(&space(), &main, Duration::from_secs(60))
            .await
            .unwrap();
        leased.map(|leased| leased.fence)
    })
    .await;
    assert_ne!(new.number, old.number);
    let stale = Append {
        fence: Some(old.clone()),
        ..Append::free(&space(), vec![draft("main", "late", &[])])
    };
    assert!(matches!(a.append(stale).await.unwrap(), Appended::Stale));
    assert_eq!(a.renew(&[old], short).await.unwrap().len(), 1);
    b.release(&new).await.unwrap();
    assert_eq!(a.waiting(10).await.unwrap().len(), 1);
    a.close().await;
    b.close().await;
}

/// The runner of a turn is shown a thread as its server knows it: with all its events that this
/// server has written or read, by any writer. It costs no question to the database for data that
/// cannot have changed.
#[tokio::test]
async fn a_server_knows_all_of_a_thread_that_it_has_read() {
    let Some((_medium, a, b)) = two().await else {
        return;
    };
    let main = thread("main");
    let lately = async |store: &Arc<dyn Store>| {
        store
            .thread_lately(&space(), &main)
            .await
            .unwrap()
            .unwrap()
            .head
    };
    let texts = async |upto: i64| {
        let query = Query {
            thread: Some(main.clone()),
            before: Some(upto + 1),
            limit: 10,
            ..Query::default()
        };
        let events = a.events(&space(), &query).await.unwrap();
        Vec::from_iter(
            events
                .iter()
                .rev()
                .map(|event| event.payload["text"].as_str().unwrap().to_owned()),
        )
    };
    append(&a, vec![draft("main", "one", &[])]).await;
    append(&a, vec![draft("main", "two", &[])]).await;
    assert_eq!(
        (lately(&a).await, texts(2).await),
        (2, vec!["one".to_owned(), "two".to_owned()])
    );

    append(&b, vec![draft("main", "three", &[])]).await;
    assert_eq!(
        a.thread(&space(), &main).await.unwrap().unwrap().head,
        3,
        "as the database has it"
    );
    assert_eq!(lately(&a).await, 3, "what was read is known");
    assert_eq!(texts(3).await, ["one", "two", "three"]);
    assert_eq!(
        texts(2).await,
        ["one", "two"],
        "what lay before has not changed"
    );

    append(&b, vec![draft("main", "four", &[])]).await;
    append(&a, vec![draft("main", "five", &[])]).await;
    assert_eq!(
        lately(&a).await,
        5,
        "what was written is known, and what it stands behind"
    );
    assert_eq!(texts(5).await, ["one", "two", "three", "four", "five"]);
    a.close().await;
    b.close().await;
}

/// The same event sent to two servers at once is stored once.
#[tokio::test(flavor = "multi_thread")]
async fn retries_on_another_server_are_duplicates() {
    let Some((_medium, a, b)) = two().await else {
        return;
    };
    let sends: Vec<_> = (0..120)
        .map(|n: u128| {
            let store = if n.is_multiple_of(2) {
                a.clone()
            } else {
                b.clone()
            };
            let draft = input("main", "x").with_id(uuid::Uuid::from_u128(1 + n / 4));
            tokio::spawn(async move { append(&store, vec![draft]).await[0].shown.event.seq })
        })
        .collect();
    let mut seqs = BTreeSet::new();
    for send in sends {
        seqs.insert(send.await.unwrap());
    }
    assert_eq!(seqs, (1..=30).collect());
    a.close().await;
    b.close().await;
}

/// Both index; the words of both are found, and servers that start together agree on the tables.
#[tokio::test(flavor = "multi_thread")]
async fn servers_may_start_together_and_index_together() {
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    let (a, b) = tokio::join!(open(&medium), open(&medium));
    assert_eq!(
        a.head(&space()).await.unwrap(),
        b.head(&space()).await.unwrap(),
        "one epoch"
    );
    let here = space();
    for n in 0..5 {
        append(
            if n % 2 == 0 { &a } else { &b },
            vec![draft("main", "word", &[]); 10],
        )
        .await;
        let query = Query {
            text: Some("word".into()),
            limit: 100,
            ..Query::default()
        };
        let (on_a, on_b) = tokio::join!(a.events(&here, &query), b.events(&here, &query));
        assert_eq!(on_a.unwrap().len(), 10 * (n + 1));
        assert_eq!(on_b.unwrap().len(), 10 * (n + 1));
    }
    a.close().await;
    b.close().await;
}

/// A server that waits for a lease until its holder's last commit is over reads the contents of
/// that commit.
#[tokio::test(flavor = "multi_thread")]
async fn the_row_that_comes_with_a_lease_is_as_the_last_holder_left_it() {
    let Some((medium, a, b)) = two().await else {
        return;
    };
    append(&a, vec![input("main", "x")]).await;
    let main = thread("main");
    let fence = a
        .lease(&space(), &main, Duration::from_secs(60))
        .await
        .unwrap()
        .unwrap()
        .fence;
    let mut raw = PgConnection::connect(medium.url()).await.unwrap();
    let mut looking = PgConnection::connect(medium.url()).await.unwrap();
    // As the holder ends its turn, slowly.
    let ends = "begin; update leases set number = 0, until = '-infinity'; update threads set handled = woken";
    sqlx::raw_sql(ends).execute(&mut raw).await.unwrap();
    let waits = tokio::spawn({
        let b = b.clone();
        let main = main.clone();
        async move {
            b.lease(&space(), &main, Duration::from_secs(60))
                .await
                .unwrap()
                .unwrap()
        }
    });
    within("the other one to wait", waiting(&mut looking, 1)).await;
    sqlx::raw_sql("commit").execute(&mut raw).await.unwrap();
    let leased = waits.await.unwrap();
    assert_ne!(leased.fence.number, fence.number);
    let row = leased.row.unwrap().unwrap();
    assert_eq!(
        (row.woken, row.handled),
        (1, 1),
        "nothing is left to be done"
    );
    assert!(
        b.lease(&space(), &thread("new"), Duration::from_secs(60))
            .await
            .unwrap()
            .unwrap()
            .row
            .unwrap()
            .is_none()
    );
    a.close().await;
    b.close().await;
}

/// The end of the log that the index does not have is as long as it may be, however many servers append to it in turns.
#[tokio::test]
async fn an_index_far_behind_is_waited_for_at_every_server() {
    let Some((medium, one, other)) = two().await else {
        return;
    };
    append(&one, vec![draft("main", "first", &["rare"])]).await;
    let tagged = Query {
        tags: vec!["rare".into()],
        limit: 1,
        ..Query::default()
    };
    one.events(&space(), &tagged).await.unwrap();
    let mut connection = PgConnection::connect(medium.url()).await.unwrap();
    sqlx::raw_sql("begin; lock table indexed in exclusive mode")
        .execute(&mut connection)
        .await
        .unwrap();
    let mut stored = 1;
    let mut held = None;
    'full: while stored < 10_000 {
        for store in [&one, &other] {
            let mut next = Box::pin(append(store, vec![draft("main", "more", &[]); 200]));
            match timeout(Duration::from_secs(2), &mut next).await {
                Ok(_) => stored += 200,
                Err(_) => {
                    held = Some(next);
                    break 'full;
                }
            }
        }
    }
    assert!(
        (2_000..=2_800).contains(&stored),
        "{stored} events before one server was held"
    );
    connection.close().await.unwrap();
    within("the append that was held", held.expect("an append is held")).await;
    assert_eq!(one.events(&space(), &tagged).await.unwrap().len(), 1);
    for store in [one, other] {
        store.close().await;
    }
}

/// Passes connections on to the Postgres of a database, each after this time; the URL.
async fn slow_to_connect(medium: &Medium, pause: Duration) -> String {
    let options: PgConnectOptions = medium.url().parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "postgres://thinkd@{}/{}",
        listener.local_addr().unwrap(),
        options.get_database().unwrap()
    );
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let socket = options
                .get_socket()
                .map(|folder| folder.join(format!(".s.PGSQL.{}", options.get_port())));
            let address = (options.get_host().to_owned(), options.get_port());
            tokio::spawn(async move {
                // A slow network.
                tokio::time::sleep(pause).await;
                match socket {
                    Some(path) => {
                        let mut server = UnixStream::connect(path).await.unwrap();
                        copy_bidirectional(&mut client, &mut server).await
                    }
                    None => {
                        let mut server = TcpStream::connect(address).await.unwrap();
                        copy_bidirectional(&mut client, &mut server).await
                    }
                }
            });
        }
    });
    url
}

/// A Postgres that is slow to connect, as one on a busy machine is. The first connection that comes
/// back serves all waiting callers, for opening one for each would take longer than anybody waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_at_a_cold_start_waits_for_one_connection_and_not_for_several() {
    const PAUSE: Duration = Duration::from_millis(900);
    let Some(medium) = Medium::postgres().await else {
        return;
    };
    open(&medium).await.close().await;
    let store = stored::open_at(&slow_to_connect(&medium, PAUSE).await).await;
    let begun = std::time::Instant::now();
    let crowd = (0..6).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.room_for_claim(&space(), 10).await })
    });
    for read in crowd.collect::<Vec<_>>() {
        read.await
            .unwrap()
            .expect("nobody is told that all connections are busy");
    }
    assert!(
        begun.elapsed() > PAUSE / 2,
        "control: no connection was open before"
    );
    store.close().await;
}
