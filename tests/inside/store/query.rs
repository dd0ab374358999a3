//! Reading the log: every condition against the same question asked in memory.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use thinkd::event::draft::Draft;
use thinkd::event::envelope::{Event, Modality, Source};
use thinkd::log::kernel::Store;
use thinkd::log::query::{Order, Query, Show};
use thinkd::words::id::{INTEGER_MAX, Space};
use thinkd::words::time::Timestamp;

use super::{append, draft, input, log, media, open, space, thread};

async fn seqs(store: &Arc<dyn Store>, query: Query) -> Vec<i64> {
    store
        .events(&space(), &query)
        .await
        .unwrap()
        .iter()
        .map(|event| event.seq)
        .collect()
}

/// The naive store: all events, filtered one by one.
fn naive(events: &[Event], query: &Query) -> Vec<i64> {
    let mut found: Vec<i64> = events
        .iter()
        .filter(|event| query.matches(event))
        .map(|event| event.seq)
        .collect();
    if query.order == Order::Descending {
        found.reverse();
    }
    found.truncate(query.limit as usize);
    found
}

/// The filter itself, written once more and independently of the store: tags, text and visibility
/// are the parts that can go wrong.
#[test]
fn the_filter_in_memory_means_what_the_contract_says() {
    let event = |tags: &[&str], modality| Event {
        event_id: uuid::Uuid::nil(),
        ts: Timestamp::from_micros(50),
        source: Source::User,
        modality,
        payload: [("text".to_owned(), json!("Grüße aus Wien"))]
            .into_iter()
            .collect(),
        meta: thinkd::event::envelope::Meta {
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        },
        thread: thread("main.research"),
        seq: 5,
    };
    let matches = |query: Query, event: &Event| query.matches(event);
    let plain = event(&["Input", "x"], Modality::Text);
    let hidden = event(&["response", "debug"], Modality::Text);
    let tags = |tags: &[&str]| Query {
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..Query::default()
    };
    // T4.18, T4.20
    assert!(matches(tags(&["nothing", "iNPUT"]), &plain) && !matches(tags(&["nothing"]), &plain));
    assert!(matches(tags(&["", "  "]), &plain), "blanks are ignored");
    assert!(
        !matches(tags(&["response"]), &hidden) && matches(tags(&["response", "DEBUG"]), &hidden)
    );
    assert!(!matches(Query::default(), &hidden));
    assert!(matches(
        Query {
            show: Show::All,
            ..Query::default()
        },
        &hidden
    ));
    // D4.25, T4.26
    let at = |micros| Some(Timestamp::from_micros(micros));
    assert!(
        matches(
            Query {
                since: at(50),
                ..Query::default()
            },
            &plain
        ),
        "since is inclusive"
    );
    assert!(!matches(
        Query {
            since: at(51),
            ..Query::default()
        },
        &plain
    ));
    assert!(
        !matches(
            Query {
                before_ts: at(50),
                ..Query::default()
            },
            &plain
        ),
        "before is not"
    );
    let below = |root: &str, subtree| Query {
        thread: Some(thread(root)),
        subtree,
        ..Query::default()
    };
    assert!(matches(below("main", true), &plain) && !matches(below("main", false), &plain));
    assert!(!matches(below("mai", true), &plain));
    let text = |text: &str| Query {
        text: Some(text.into()),
        ..Query::default()
    };
    assert!(
        matches(text("WIEN grüsse"), &plain)
            && !matches(text("Wien Graz"), &plain)
            && !matches(text("?"), &plain)
    );
}

const THREADS: [&str; 5] = ["main", "main.a", "main.a.b", "main-a", "other"];
const TAGS: [&str; 6] = [
    "input",
    "Response",
    "debug",
    "submodule:critic",
    "decision",
    "ü",
];
const WORDS: [&str; 5] = ["tea", "Straße", "日本語", "café", "x_y"];
const SOURCES: [Source; 4] = [Source::User, Source::Tool, Source::System, Source::Internal];
const MODALITIES: [Modality; 4] = [
    Modality::Text,
    Modality::Image,
    Modality::Audio,
    Modality::State,
];

fn any_draft() -> impl Strategy<Value = Draft> {
    let tags = proptest::sample::subsequence(TAGS.to_vec(), 0..4);
    let words = proptest::sample::subsequence(WORDS.to_vec(), 0..4);
    (0..THREADS.len(), 0..4usize, 0..8usize, tags, words).prop_map(
        |(at, source, modality, tags, words)| Draft {
            source: SOURCES[source],
            // Text is the most common.
            modality: *MODALITIES.get(modality).unwrap_or(&Modality::Text),
            ..draft(THREADS[at], &words.join(" "), &tags)
        },
    )
}

fn any_query() -> impl Strategy<Value = Query> {
    let maybe = proptest::option::weighted::<std::ops::Range<i64>>;
    let tags = proptest::collection::vec(
        prop_oneof![
            Just("INPUT"),
            Just("response"),
            Just("debug"),
            Just("Ü"),
            Just("no")
        ],
        0..3,
    );
    let text = proptest::option::weighted(
        0.3,
        prop_oneof![
            Just("tea"),
            Just("STRASSE tea"),
            Just("本"),
            Just("日本"),
            Just("cafe"),
            Just("y")
        ],
    );
    let show = prop_oneof![
        Just(Show::All),
        Just(Show::Public),
        Just(Show::Visible),
        Just(Show::Heard)
    ];
    let times = (
        maybe(0.3, 0..90),
        maybe(0.3, 0..90),
        maybe(0.3, 0..90),
        maybe(0.3, 0..90),
    );
    let tags = (tags, any::<bool>());
    let kinds = (
        proptest::option::of(0..THREADS.len()),
        any::<bool>(),
        maybe(0.3, 0..4),
        maybe(0.3, 0..4),
    );
    (kinds, tags, text, times, show, any::<bool>(), 1..40u32).prop_map(
        |(
            (at, subtree, source, modality),
            (tags, all_tags),
            text,
            (since, before_ts, after, before),
            show,
            ascending,
            limit,
        )| {
            Query {
                thread: at.map(|at| thread(THREADS[at])),
                subtree,
                tags: tags.into_iter().map(str::to_owned).collect(),
                all_tags,
                source: source.map(|n| SOURCES[n as usize]),
                modality: modality.map(|n| MODALITIES[n as usize]),
                text: text.map(str::to_owned),
                // Positions for now; the test puts the times of the events there in their place.
                since: since.map(Timestamp::from_micros),
                before_ts: before_ts.map(Timestamp::from_micros),
                after,
                before,
                show,
                order: if ascending {
                    Order::Ascending
                } else {
                    Order::Descending
                },
                limit,
            }
        },
    )
}

/// D4.24, D4.25, T4.17, T4.18, T4.20: to any question, the store answers as the naive one does.
#[tokio::test(flavor = "multi_thread")]
async fn every_question_is_answered_as_in_memory() {
    for medium in media().await {
        let store = open(&medium).await;
        let mut runner = TestRunner::new(Config {
            failure_persistence: None,
            ..Config::default()
        });
        let drafts = proptest::collection::vec(any_draft(), 70)
            .new_tree(&mut runner)
            .unwrap()
            .current();
        // Some share a commit and a time, some do not.
        for group in drafts.chunks(7) {
            append(&store, group.to_vec()).await;
        }
        let elsewhere =
            thinkd::log::appended::Append::free(&Space::parse("other").unwrap(), drafts.clone());
        store.append(elsewhere).await.unwrap();
        let events = log(&store, &space()).await;
        let handle = tokio::runtime::Handle::current();
        let ask = |mut query: Query| {
            let time = |at: Timestamp| {
                let last = events.last().unwrap().ts.micros() + 1;
                events
                    .get(at.micros() as usize)
                    .map_or(Timestamp::from_micros(last), |event| event.ts)
            };
            query.since = query.since.map(time);
            query.before_ts = query.before_ts.map(time);
            let found =
                tokio::task::block_in_place(|| handle.block_on(seqs(&store, query.clone())));
            prop_assert_eq!(found, naive(&events, &query), "{:?}", query);
            Ok(())
        };
        let result = TestRunner::new(Config {
            cases: 400,
            failure_persistence: None,
            ..Config::default()
        })
        .run(&any_query(), ask);
        assert!(result.is_ok(), "{}: {}", medium.url(), result.unwrap_err());
        store.close().await;
    }
}

/// Events that have just been appended are among the results, though the index trails the log.
#[tokio::test]
async fn the_end_of_the_log_is_read_before_it_is_indexed() {
    for medium in media().await {
        let store = open(&medium).await;
        let mut runner = TestRunner::new(Config {
            failure_persistence: None,
            ..Config::default()
        });
        let mut events = Vec::new();
        for _ in 0..120 {
            let drafts = proptest::collection::vec(any_draft(), 1..4)
                .new_tree(&mut runner)
                .unwrap()
                .current();
            events.extend(
                append(&store, drafts)
                    .await
                    .into_iter()
                    .map(|placed| placed.shown.event.clone()),
            );
            let any = any_query().new_tree(&mut runner).unwrap().current();
            // Tags, words and rare kinds wait for the index.
            let query = Query {
                tags: Vec::new(),
                text: None,
                modality: None,
                source: any.source.filter(|source| *source == Source::Internal),
                since: events.get(events.len() / 3).map(|event| event.ts),
                before_ts: None,
                ..any
            };
            assert_eq!(
                seqs(&store, query.clone()).await,
                naive(&events, &query),
                "{query:?}"
            );
        }
        store.close().await;
    }
}

/// T4.17, T4.21: the newest 50, newest first, without debug; a thousand debug events between hide nothing.
#[tokio::test]
async fn t4_17_t4_21_debug_events_hide_nothing() {
    for medium in media().await {
        let store = open(&medium).await;
        for n in 0..20 {
            append(&store, vec![input("main", &n.to_string())]).await;
            append(&store, vec![draft("main", "detail", &["debug"]); 50]).await;
        }
        for (query, what) in [
            (
                Query {
                    limit: 20,
                    ..Query::default()
                },
                "public",
            ),
            (
                Query {
                    limit: 20,
                    thread: Some(thread("main")),
                    show: Show::Heard,
                    ..Query::default()
                },
                "heard",
            ),
            (
                Query {
                    limit: 20,
                    thread: Some(thread("main")),
                    show: Show::Visible,
                    ..Query::default()
                },
                "visible",
            ),
        ] {
            let found = store.events(&space(), &query).await.unwrap();
            let texts: Vec<&str> = found.iter().map(Event::text).collect();
            assert_eq!(
                texts,
                (0..20).rev().map(|n| n.to_string()).collect::<Vec<_>>(),
                "{what}"
            );
        }
        let debug = Query {
            tags: vec!["Debug".into()],
            limit: 500,
            ..Query::default()
        };
        assert_eq!(seqs(&store, debug).await.len(), 500);
        store.close().await;
    }
}

/// A page that is only passed on is, byte for byte, its events as JSON.
#[tokio::test]
async fn a_page_as_json_is_the_page_as_events() {
    for medium in media().await {
        let store = open(&medium).await;
        let odd = json!({
            "z": 1, "a": [1e300, 0.1, -0.0, 12345678901234567890u64, null, true], "ü\u{1}\"\\": "  \u{2028}ﬁ\n/", "": {"b": {}, "a": []},
        });
        for n in 0..3 {
            let mut odd = draft("main.below", "Grüße", &["Tag \"quoted\"", "turn:1"]);
            odd.payload.insert("odd".into(), json!([n, null]));
            append(&store, vec![input("main", "hi"), odd]).await;
        }
        let mut with = draft("main", "x", &["debug"]);
        with.payload
            .extend(odd.as_object().cloned().unwrap_or_default());
        append(&store, vec![with]).await;
        for query in [
            Query {
                show: Show::All,
                limit: 50,
                ..Query::default()
            },
            Query {
                limit: 2,
                ..Query::default()
            },
        ] {
            let events = store.events(&space(), &query).await.unwrap();
            let written = store.written(&space(), &query).await.unwrap();
            assert!(!events.is_empty());
            let written: Vec<_> = written
                .iter()
                .map(|event| (event.seq, event.json.as_ref().unwrap().get().to_owned()))
                .collect();
            let expected: Vec<_> = events
                .iter()
                .map(|event| (event.seq, serde_json::to_string(event).unwrap()))
                .collect();
            assert_eq!(written, expected);
        }
        store.close().await;
    }
}

/// Recent writes are answered from memory, as far as it reaches: the same as from the log, with any
/// writers in between.
#[tokio::test]
async fn what_is_remembered_is_what_is_stored() {
    for medium in media().await {
        let store = open(&medium).await;
        for n in 0..1_300 {
            let often = draft(
                "often",
                &n.to_string(),
                if n % 3 == 0 {
                    &["debug"]
                } else {
                    &["submodule:x"]
                },
            );
            let now_and_then = (n % 40 == 0)
                .then(|| input("seldom", &"long ".repeat(if n == 400 { 40_000 } else { 1 })));
            let once = input(&format!("once-{n}"), "hi");
            let drafts = if n % 5 == 0 {
                vec![once, often]
            } else {
                vec![once]
            };
            append(&store, drafts.into_iter().chain(now_and_then).collect()).await;
        }
        let all = log(&store, &space()).await;
        let last = all.last().map_or(0, |event| event.seq);
        for name in ["often", "seldom", "once-0", "once-900", "once-1299"] {
            for (show, order) in [
                (Show::Visible, Order::Ascending),
                (Show::Heard, Order::Descending),
            ] {
                for (after, limit) in [
                    (None, 500),
                    (None, 5),
                    (Some(last - 40), 500),
                    (Some(last - 900), 500),
                ] {
                    let query = Query {
                        thread: Some(thread(name)),
                        show,
                        order,
                        after,
                        limit,
                        ..Query::default()
                    };
                    assert_eq!(
                        seqs(&store, query.clone()).await,
                        naive(&all, &query),
                        "{query:?}"
                    );
                }
            }
        }
        store.close().await;
    }
}

/// D4.14: events of one time page exactly, by seq; nothing twice, nothing left out.
#[tokio::test]
async fn d4_14_equal_timestamps_page_exactly() {
    for medium in media().await {
        let store = open(&medium).await;
        append(
            &store,
            (0..95)
                .map(|n| draft("main", &n.to_string(), &["t"]))
                .collect(),
        )
        .await;
        let all = log(&store, &space()).await;
        assert!(
            all.windows(2).any(|pair| pair[0].ts == pair[1].ts),
            "one commit, one time"
        );
        for order in [Order::Descending, Order::Ascending] {
            let mut seen: Vec<i64> = Vec::new();
            loop {
                let mut query = Query {
                    tags: vec!["t".into()],
                    order,
                    limit: 10,
                    ..Query::default()
                };
                match order {
                    Order::Descending => query.before = seen.last().copied(),
                    Order::Ascending => query.after = seen.last().copied(),
                }
                let page = seqs(&store, query).await;
                if page.is_empty() {
                    break;
                }
                seen.extend(page);
            }
            seen.sort_unstable();
            assert_eq!(seen, (1..=95).collect::<Vec<_>>());
        }
        // T4.26: since an event's own time has that event; strictly before it has not.
        let at = all[40].ts;
        let since = Query {
            since: Some(at),
            limit: 500,
            order: Order::Ascending,
            ..Query::default()
        };
        assert_eq!(
            seqs(&store, since).await,
            all.iter()
                .filter(|e| e.ts >= at)
                .map(|e| e.seq)
                .collect::<Vec<_>>()
        );
        let before = Query {
            before_ts: Some(at),
            limit: 500,
            order: Order::Ascending,
            ..Query::default()
        };
        assert_eq!(
            seqs(&store, before).await,
            all.iter()
                .filter(|e| e.ts < at)
                .map(|e| e.seq)
                .collect::<Vec<_>>()
        );
        store.close().await;
    }
}

/// Nothing is stored, nothing is found, nothing fails: unknown spaces, threads, ids; positions out of range.
#[tokio::test]
async fn what_is_not_there_is_not_found() {
    for medium in media().await {
        let store = open(&medium).await;
        let nowhere = Space::parse("nowhere").unwrap();
        assert_eq!(store.head(&nowhere).await.unwrap().seq, 0);
        let mut queries = vec![Query::default()];
        queries.extend(
            ["x", "\"", "*", "a OR", "NEAR(a b)", "-", "'"].map(|text| Query {
                text: Some(text.into()),
                ..Query::default()
            }),
        );
        queries.push(Query {
            after: Some(INTEGER_MAX),
            ..Query::default()
        });
        queries.push(Query {
            before: Some(-1),
            after: Some(i64::MIN),
            ..Query::default()
        });
        queries.push(Query {
            since: Some(Timestamp::from_micros(i64::MAX)),
            before_ts: Some(Timestamp::from_micros(i64::MIN)),
            ..Query::default()
        });
        for query in queries {
            assert_eq!(
                store.events(&nowhere, &query).await.unwrap(),
                [],
                "{query:?}"
            );
            append(&store, vec![draft("main", "hello there", &[])]).await;
            let empty = query.text.is_some() || query.after.is_some() || query.since.is_some();
            let found = store
                .events(
                    &space(),
                    &Query {
                        limit: 1,
                        ..query.clone()
                    },
                )
                .await
                .unwrap();
            assert_eq!(found.is_empty(), empty, "{query:?}");
        }
        assert!(
            store
                .event(&space(), uuid::Uuid::nil())
                .await
                .unwrap()
                .is_none()
        );
        assert!(
            store
                .thread(&space(), &thread("nowhere"))
                .await
                .unwrap()
                .is_none()
        );
        assert!(
            store
                .blob(&space(), &"0".repeat(64))
                .await
                .unwrap()
                .is_none()
        );
        store.close().await;
    }
}
