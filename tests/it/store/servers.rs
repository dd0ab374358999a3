//! Several servers on one Postgres: one log, one holder of a lease, commits that reach everybody's followers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use thinkd::store::feed::{Follower, Tail};
use thinkd::store::{Append, Appended, Order, Query, Show, Store};

use super::{append, draft, input, log, open, space, thread};
use crate::support::{Medium, within};

/// Two stores on one database, as two servers have them.
async fn two() -> Option<(Medium, Arc<dyn Store>, Arc<dyn Store>)> {
    let medium = Medium::postgres().await?;
    let (a, b) = (open(&medium).await, open(&medium).await);
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
                    seen.extend(store.events(&space(), &query).await.unwrap().iter().map(|event| event.seq));
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

/// Everybody's followers see everything once, in order, whoever appends.
#[tokio::test(flavor = "multi_thread")]
async fn followers_of_every_server_see_every_commit() {
    let Some((_medium, a, b)) = two().await else { return };
    append(&a, vec![draft("main", "before anybody follows", &[])]).await;
    let (mut on_a, mut on_b) = (a.feed().follow(&space(), None), b.feed().follow(&space(), None));
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
    assert_eq!(log(&a, &space()).await.len() as i64, last, "no gaps, no doubles");
    a.close().await;
    b.close().await;
}

/// A lease counts on every server; its holder's death lets another one take it.
#[tokio::test]
async fn a_lease_counts_on_every_server() {
    let Some((_medium, a, b)) = two().await else { return };
    append(&a, vec![input("main", "hi")]).await;
    let main = thread("main");
    let short = Duration::from_millis(300);
    let old = a.lease(&space(), &main, short).await.unwrap().unwrap();
    assert!(b.lease(&space(), &main, short).await.unwrap().is_none());
    assert_eq!(b.waiting(10).await.unwrap(), [], "somebody is at it");
    let new = within("the lease to run out", async {
        loop {
            if let Some(fence) = b.lease(&space(), &main, Duration::from_secs(60)).await.unwrap() {
                return fence;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(new.number > old.number);
    let stale = Append { fence: Some(old.clone()), ..Append::free(&space(), vec![draft("main", "late", &[])]) };
    assert!(matches!(a.append(stale).await.unwrap(), Appended::Stale));
    assert_eq!(a.renew(&[old], short).await.unwrap().len(), 1);
    b.release(&new).await.unwrap();
    assert_eq!(a.waiting(10).await.unwrap().len(), 1);
    a.close().await;
    b.close().await;
}

/// The same event sent to two servers at once is stored once.
#[tokio::test(flavor = "multi_thread")]
async fn retries_on_another_server_are_duplicates() {
    let Some((_medium, a, b)) = two().await else { return };
    let sends: Vec<_> = (0..120)
        .map(|n: u128| {
            let store = if n.is_multiple_of(2) { a.clone() } else { b.clone() };
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
    let Some(medium) = Medium::postgres().await else { return };
    let (a, b) = tokio::join!(open(&medium), open(&medium));
    assert_eq!(a.head(&space()).await.unwrap(), b.head(&space()).await.unwrap(), "one epoch");
    let here = space();
    for n in 0..5 {
        append(if n % 2 == 0 { &a } else { &b }, vec![draft("main", "word", &[]); 10]).await;
        let query = Query { text: Some("word".into()), limit: 100, ..Query::default() };
        let (on_a, on_b) = tokio::join!(a.events(&here, &query), b.events(&here, &query));
        assert_eq!(on_a.unwrap().len(), 10 * (n + 1));
        assert_eq!(on_b.unwrap().len(), 10 * (n + 1));
    }
    a.close().await;
    b.close().await;
}
