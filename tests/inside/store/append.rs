//! Appending: order, gaps, ids, groups, leases.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use thinkd::event::draft::Draft;
use thinkd::log::appended::{Append, Appended};
use thinkd::log::error::StoreError;
use thinkd::log::feed::Tail;
use thinkd::log::fence::{Fence, Leased};
use thinkd::log::kernel::Store;
use thinkd::log::query::{Order, Query, Show};
use thinkd::words::id::Space;

use super::{append, append_one, draft, id, input, log, media, open, space, thread};
use kit::{ms, polled_some, within};

const TTL: Duration = Duration::from_secs(30);

/// D4.14, D4.16, D4.17: order is seq; ids are UUIDs; times never decrease, however many events share one.
#[tokio::test]
async fn d4_14_an_append_keeps_its_order_and_is_stamped() {
    for medium in media().await {
        let store = open(&medium).await;
        let drafts: Vec<Draft> = (0..600)
            .map(|n| draft("main", &n.to_string(), &[]))
            .collect();
        let placed = append(&store, drafts).await;
        assert!(placed.iter().all(|placed| !placed.duplicate));
        let events = log(&store, &space()).await;
        assert_eq!(events.len(), 600);
        for (n, event) in events.iter().enumerate() {
            assert_eq!(
                (event.seq, event.text()),
                (n as i64 + 1, n.to_string().as_str())
            );
            assert_eq!(
                *event, placed[n].shown.event,
                "what is read is what was answered"
            );
            assert_eq!(
                serde_json::to_string(event).unwrap().as_str(),
                &*placed[n].shown.json
            );
        }
        assert!(
            events.windows(2).all(|pair| pair[0].ts <= pair[1].ts),
            "D4.17: ts never decreases"
        );
        assert_eq!(
            events
                .iter()
                .map(|event| event.event_id)
                .collect::<BTreeSet<_>>()
                .len(),
            600,
            "D4.16"
        );
        store.close().await;
    }
}

/// D4.16: valid and unique over 10,000 events, from many writers at once.
#[tokio::test]
async fn d4_16_ids_are_unique_over_10_000_events() {
    for medium in media().await {
        let store = open(&medium).await;
        let writers = (0..10).map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for n in 0..10 {
                    append(
                        &store,
                        vec![draft("main", &format!("{writer} {n}"), &[]); 100],
                    )
                    .await;
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        let events = log(&store, &space()).await;
        assert_eq!(events.len(), 10_000);
        assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq));
        assert_eq!(
            events
                .iter()
                .map(|event| event.event_id)
                .collect::<BTreeSet<_>>()
                .len(),
            10_000
        );
        store.close().await;
    }
}

/// A reader that asks "after my last seq" while many append sees everything once, in order. The control shows that the
/// check can fail: a cursor over event ids, which are drawn before the commit, misses some.
#[tokio::test(flavor = "multi_thread")]
async fn d4_14_a_polling_reader_misses_nothing() {
    for medium in media().await {
        let store = open(&medium).await;
        let done = Arc::new(AtomicBool::new(false));
        let reader = tokio::spawn(poll(store.clone(), done.clone()));
        let writers: Vec<_> = (0..16)
            .map(|writer| tokio::spawn(write(store.clone(), writer)))
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        done.store(true, Ordering::SeqCst);
        let (seen, by_id) = reader.await.unwrap();
        let all = log(&store, &space()).await;
        assert_eq!(all.len(), 16 * 60);
        assert!(
            all.iter().zip(1..).all(|(event, seq)| event.seq == seq),
            "no gaps"
        );
        assert_eq!(
            seen,
            (1..=all.len() as i64).collect::<Vec<_>>(),
            "each once, in order"
        );
        assert!(
            by_id < all.len(),
            "the control: a cursor over ids should have missed some of {}",
            all.len()
        );
        store.close().await;
    }
}

async fn write(store: Arc<dyn Store>, writer: usize) {
    for n in 0..60 {
        // Ids are drawn in advance, as clients draw theirs: uneven times put them in another order.
        let early = thinkd::words::id::fresh();
        tokio::time::sleep(Duration::from_micros((writer * 137 + n * 71) as u64 % 3000)).await;
        append_one(&store, draft("main", "x", &[]).with_id(early)).await;
    }
}

/// Returns the seqs that a cursor over seq sees, and the number of events that a cursor over ids
/// would have seen.
async fn poll(store: Arc<dyn Store>, done: Arc<AtomicBool>) -> (Vec<i64>, usize) {
    let mut seen = Vec::new();
    let mut greatest = None;
    let mut by_id = 0;
    loop {
        let last_round = done.load(Ordering::SeqCst);
        let query = Query {
            after: seen.last().copied(),
            show: Show::All,
            order: Order::Ascending,
            limit: 500,
            ..Query::default()
        };
        let page = store.events(&space(), &query).await.unwrap();
        let floor = greatest;
        for event in &page {
            seen.push(event.seq);
            by_id += usize::from(Some(event.event_id) > floor);
            greatest = greatest.max(Some(event.event_id));
        }
        if last_round && page.is_empty() {
            return (seen, by_id);
        }
    }
}

/// The same id again is the first one's event; the rest of the append is stored.
#[tokio::test]
async fn the_same_event_again_is_a_duplicate() {
    for medium in media().await {
        let store = open(&medium).await;
        let first = append_one(&store, input("main", "hi").with_id(id(7).unwrap())).await;
        let both = vec![
            draft("main", "before", &[]),
            input("main", "hi").with_id(id(7).unwrap()),
        ];
        let placed = append(&store, both).await;
        assert_eq!(
            placed
                .iter()
                .map(|placed| placed.duplicate)
                .collect::<Vec<_>>(),
            [false, true]
        );
        assert_eq!(placed[1].shown.event, first);
        assert_eq!(
            serde_json::to_string(&first).unwrap().as_str(),
            &*placed[1].shown.json
        );
        assert_eq!(
            store.head(&space()).await.unwrap().seq,
            2,
            "a duplicate takes no seq"
        );
        // Within one append, too; and in another space the id is free.
        let twice = append(
            &store,
            vec![draft("main", "t", &[]).with_id(id(8).unwrap()); 2],
        )
        .await;
        assert!(!twice[0].duplicate && twice[1].duplicate);
        let elsewhere = Append::free(
            &Space::parse("other").unwrap(),
            vec![input("main", "ho").with_id(id(7).unwrap())],
        );
        let Appended::Stored(placed) = store.append(elsewhere).await.unwrap() else {
            panic!("stale")
        };
        assert_eq!((placed[0].duplicate, placed[0].shown.event.seq), (false, 1));
        store.close().await;
    }
}

/// The same id with other content stores nothing of that append, and disturbs no other.
#[tokio::test]
async fn the_same_id_with_other_content_is_a_conflict() {
    for medium in media().await {
        let store = open(&medium).await;
        let known = id(7).unwrap();
        append_one(&store, input("main", "hi").with_id(known)).await;
        let others = [
            input("main", "ho"),
            input("other", "hi"),
            Draft {
                source: thinkd::event::envelope::Source::System,
                ..input("main", "hi")
            },
            Draft {
                modality: thinkd::event::envelope::Modality::Image,
                ..input("main", "hi")
            },
            Draft {
                tags: vec!["input".into()],
                ..input("main", "hi")
            },
        ];
        for other in others {
            let drafts = vec![draft("main", "with it", &[]), other.with_id(known)];
            let refused = store
                .append(Append::free(&space(), drafts))
                .await
                .unwrap_err();
            assert!(
                matches!(refused, StoreError::Conflict(id) if id == known),
                "{refused}"
            );
        }
        assert_eq!(
            store.head(&space()).await.unwrap().seq,
            1,
            "nothing was stored"
        );
        let within = vec![
            draft("main", "a", &[]).with_id(id(9).unwrap()),
            draft("main", "b", &[]).with_id(id(9).unwrap()),
        ];
        assert!(matches!(
            store.append(Append::free(&space(), within)).await,
            Err(StoreError::Conflict(_))
        ));
        store.close().await;
    }
}

/// Many clients send the same thing at once, several times: stored once, one seq for all.
#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_retries_stores_each_event_once() {
    for medium in media().await {
        let store = open(&medium).await;
        let sends = (0..200).map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let draft = input("main", &(n % 40).to_string()).with_id(id(1 + n % 40).unwrap());
                (n % 40, append(&store, vec![draft]).await[0].shown.event.seq)
            })
        });
        let mut answers = BTreeSet::new();
        for send in sends.collect::<Vec<_>>() {
            answers.insert(send.await.unwrap());
        }
        assert_eq!(answers.len(), 40, "one seq for each id");
        assert_eq!(log(&store, &space()).await.len(), 40);
        store.close().await;
    }
}

/// A text that the database refuses spoils no other append.
#[tokio::test(flavor = "multi_thread")]
async fn one_bad_append_does_not_spoil_its_group() {
    for medium in media().await {
        let store = open(&medium).await;
        let appends = (0..40).map(|n| {
            let store = store.clone();
            // NUL is refused at the edge for both databases; only Postgres refuses it here.
            let text = if n % 10 == 0 {
                "a\0b".to_owned()
            } else {
                n.to_string()
            };
            tokio::spawn(async move {
                store
                    .append(Append::free(&space(), vec![draft("main", &text, &["a\0"])]))
                    .await
            })
        });
        for append in appends.collect::<Vec<_>>() {
            // Either is right; what must not be is a store that stands still.
            let _ = append.await.unwrap();
        }
        let good = append_one(&store, draft("main", "after", &[])).await;
        let events = log(&store, &space()).await;
        assert_eq!(events.last(), Some(&good));
        assert!(
            events.iter().zip(1..).all(|(event, seq)| event.seq == seq),
            "no gaps after failed groups"
        );
        store.close().await;
    }
}

#[tokio::test]
async fn an_append_under_a_lost_lease_is_dropped() {
    for medium in media().await {
        let store = open(&medium).await;
        let main = thread("main");
        let old = store
            .lease(&space(), &main, ms(30))
            .await
            .unwrap()
            .unwrap()
            .fence;
        let under = |fence: &Fence, release| Append {
            fence: Some(fence.clone()),
            release,
            ..Append::free(&space(), vec![draft("main", "x", &[])])
        };
        assert!(matches!(
            store.append(under(&old, false)).await.unwrap(),
            Appended::Stored(_)
        ));
        assert!(
            store
                .lease(&space(), &thread("other"), TTL)
                .await
                .unwrap()
                .is_some(),
            "another thread is free"
        );
        let new = polled_some("the lease to run out", async || {
            let leased = store.lease(&space(), &main, TTL).await.unwrap();
            leased.map(|leased| leased.fence)
        })
        .await;
        assert_ne!(new.number, old.number);
        assert!(
            store.lease(&space(), &main, TTL).await.unwrap().is_none(),
            "taken"
        );
        assert!(matches!(
            store.append(under(&old, false)).await.unwrap(),
            Appended::Stale
        ));
        assert_eq!(
            store.renew(&[old.clone(), new.clone()], TTL).await.unwrap(),
            std::slice::from_ref(&old)
        );
        store.release(&old).await.unwrap();
        assert!(
            matches!(
                store.append(under(&new, true)).await.unwrap(),
                Appended::Stored(_)
            ),
            "still the holder's"
        );
        assert!(
            matches!(
                store.append(under(&new, false)).await.unwrap(),
                Appended::Stale
            ),
            "given back with the commit"
        );
        let next = store
            .lease(&space(), &main, TTL)
            .await
            .unwrap()
            .unwrap()
            .fence;
        assert!(
            ![old.number, new.number].contains(&next.number),
            "numbers are given once"
        );
        assert_eq!(store.head(&space()).await.unwrap().seq, 2);
        store.close().await;
    }
}

/// However often a lease changes hands, no event of an older holder stands behind one of a newer holder.
#[tokio::test(flavor = "multi_thread")]
async fn leases_fence_their_appends_under_take_overs() {
    for medium in media().await {
        let store = open(&medium).await;
        let held = Arc::new(AtomicUsize::new(0));
        let holders: Vec<_> = (0..4)
            .map(|_| tokio::spawn(hold(store.clone(), held.clone())))
            .collect();
        for holder in holders {
            within("a lease that changes hands", holder).await.unwrap();
        }
        let mut numbers: Vec<i64> = log(&store, &space())
            .await
            .iter()
            .map(|event| event.payload["number"].as_i64().unwrap())
            .collect();
        numbers.dedup();
        let holders = numbers.iter().collect::<BTreeSet<_>>().len();
        assert_eq!(
            holders,
            numbers.len(),
            "an older holder's event behind a newer one's"
        );
        assert!(
            holders >= HOLDERS,
            "the lease should have changed hands: {numbers:?}"
        );
        store.close().await;
    }
}

/// So many leases, one after the other, have something stored by them.
const HOLDERS: usize = 12;

/// Takes the lease for less time than it goes on appending, until so many were held.
async fn hold(store: Arc<dyn Store>, held: Arc<AtomicUsize>) {
    while held.load(Ordering::Relaxed) < HOLDERS {
        let fence = match store.lease(&space(), &thread("main"), ms(3)).await {
            Ok(Some(Leased { fence, .. })) => fence,
            // Another one has it, or four that ask without a pause have all connections.
            Ok(None) | Err(StoreError::Unavailable(_)) => {
                tokio::task::yield_now().await;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let mut has_stored = false;
        for _ in 0..6 {
            let mut draft = draft("main", "x", &[]);
            draft.payload.insert("number".into(), json!(fence.number));
            let append = Append {
                fence: Some(fence.clone()),
                ..Append::free(&space(), vec![draft])
            };
            has_stored |= matches!(store.append(append).await.unwrap(), Appended::Stored(_));
        }
        held.fetch_add(usize::from(has_stored), Ordering::Relaxed);
    }
}

/// An append with a caller that went away is stored or not, and the log stays whole.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_callers_undo_nothing() {
    for medium in media().await {
        let store = open(&medium).await;
        for n in 0..60 {
            let append = store.append(Append::free(&space(), vec![draft("main", "x", &[]); 3]));
            let _ = tokio::time::timeout(Duration::from_micros(n * 50), append).await;
        }
        append_one(&store, draft("main", "last", &[])).await;
        let events = log(&store, &space()).await;
        assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq));
        assert_eq!(events.len() % 3, 1, "appends are whole");
        store.close().await;
    }
}

/// Followers are told of every commit, in order, after it.
#[tokio::test(flavor = "multi_thread")]
async fn the_feed_tells_what_is_committed_in_order() {
    for medium in media().await {
        let store = open(&medium).await;
        let mut follower = store.feed().follow(&space(), None);
        let writers = (0..8).map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..20 {
                    append(&store, vec![draft("main", "x", &[]); 2]).await;
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        let mut next = 1;
        within("all events", async {
            while next <= 320 {
                follower.changed().await;
                let Tail::Events(events) = follower.after(next - 1, 1000) else {
                    panic!("behind")
                };
                for shown in events {
                    assert_eq!(shown.event.seq, next);
                    next += 1;
                }
            }
        })
        .await;
        for writer in writers {
            writer.await.unwrap();
        }
        store.close().await;
    }
}

/// A follower that is told of an event finds the thread's row as it left it, although the log is
/// searched all the time for missed events. A search finds a commit in the database before the
/// writer has said that it is made.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_told_of_an_event_finds_the_row_that_it_left() {
    // Fewer than a tail keeps: however late it is read, nothing lies behind it.
    const APPENDS: i64 = 1000;
    for medium in media().await {
        let store = open(&medium).await;
        let mut follower = store.feed().follow(&space(), None);
        let doubting = store.clone();
        let doubting = tokio::spawn(async move {
            loop {
                doubting.feed().doubt();
                // The pace of the doubts, which are not to take all of a processor.
                tokio::time::sleep(ms(1)).await;
            }
        });
        let appending = store.clone();
        let appending = tokio::spawn(async move {
            for n in 0..APPENDS {
                append_one(&appending, input("a", &format!("number {n}"))).await;
            }
        });
        let mut told = 0;
        while told < APPENDS {
            within("the next event", follower.changed()).await;
            let Tail::Events(events) = follower.after(told, 1000) else {
                panic!("behind")
            };
            told = events.last().map_or(told, |last| last.event.seq);
            let row = store.thread(&space(), &thread("a")).await.unwrap();
            assert!(
                row.is_some_and(|row| row.head >= told),
                "told of {told} before its row was known"
            );
        }
        appending.await.unwrap();
        doubting.abort();
        store.close().await;
    }
}
