//! The past of a thread at the end of any of its turns: as its row and contacts were then. Later
//! events change nothing about it, nor does the way in which the store finds it.

use serde_json::json;
use thinkd::event::correction::Correction;
use thinkd::event::draft::{Draft, When};
use thinkd::event::envelope::{Event, TurnOutcome};
use thinkd::event::fact::Fact;
use thinkd::event::fact::set::Change;
use thinkd::event::fact::summary::Summary;
use thinkd::event::fact::told::{News, Told};
use thinkd::event::fact::turn::{self, Started};
use thinkd::event::fact::withdrawn::Withdrawn;
use thinkd::event::mood::Mood;
use thinkd::event::statement::Status;
use thinkd::event::summary::Covers;
use thinkd::event::unshown::LeftOut;
use thinkd::log::projections::contacts::ContactRow;
use thinkd::log::query::Order;
use thinkd::log::thread_row::ThreadRow;
use thinkd::log::thread_state::ThreadState;
use thinkd::words::failure::{Failure, FailureKind, Who};
use thinkd::words::id::{Name, Seq};

use super::*;
use kit::stored::append;

/// Numbers that are the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }
}

/// A thread at the end of a turn.
#[derive(Debug, PartialEq)]
struct There {
    thread: ThreadId,
    end: Seq,
    turn: u64,
    seen: (u64, u64),
    state: ThreadState,
    contacts: Vec<ContactRow>,
    events: Vec<Seq>,
}

async fn row(store: &Arc<dyn Store>, thread: &ThreadId) -> ThreadRow {
    store.thread(&space(), thread).await.unwrap().unwrap()
}

async fn events(store: &Arc<dyn Store>, thread: &ThreadId) -> Vec<Event> {
    let all = Query {
        thread: Some(thread.clone()),
        show: Show::All,
        order: Order::Ascending,
        limit: 100_000,
        ..Query::default()
    };
    store.events(&space(), &all).await.unwrap()
}

/// Something that may happen in a thread.
fn happens(numbers: &mut Numbers, row: &ThreadRow) -> Draft {
    let thread = &row.thread;
    let id = row.thread.as_str();
    let head = row.head;
    let number = numbers.below(5);
    let name = |kind: &str| Name::parse(&format!("{kind}{number}")).unwrap();
    let told = |news| {
        Fact::Told(Told {
            news,
            turn: Some(row.turn),
            call_id: None,
            root: None,
            is_silent: true,
            ends_any_wait: false,
        })
        .encode(thread)
    };
    match numbers.below(18) {
        0..=3 => input(id, "something said"),
        4 | 5 => draft(id, "something thought", &["decision"]),
        6 => draft(id, "a remark", &["submodule:critic"]),
        7 => draft(id, "a record", &["debug", "call:decision"]),
        8 => Draft::tools_opened(thread, &[name("tool").as_str()]),
        9 => Draft::contact(thread, &name("friend"), thread, &format!("of {head}")),
        10 => Draft::set(thread, name("friend").as_str(), Change::Contact(None)),
        11 => Draft::set(
            thread,
            "plan",
            Change::Plan(&json!({ "condition": number })),
        ),
        12 if number < 2 => told(News::Cleared {
            kept: Some(numbers.below(4)),
        }),
        13 => Draft::corrected(
            thread,
            Correction {
                statement: format!("statement {number}"),
                says: "It rains.".into(),
                status: if head % 2 == 0 {
                    Status::Falsified
                } else {
                    Status::Surviving
                },
                since: head,
                was_held: true,
                of: vec![head],
            },
        ),
        14 => Fact::Withdrawn(Withdrawn {
            from: head,
            input: head,
            user: None,
            turns: Some((row.turn, row.turn)),
        })
        .encode(thread),
        15 => {
            let left_out = LeftOut {
                model: format!("model {number}"),
                refused: vec![(head, head)],
                kinds: vec!["image".into()],
            };
            let failure = Failure::new(FailureKind::Model, "refused");
            let failure = failure.with(left_out.to_detail("media"));
            Draft::failure(thread, Some(row.turn), &Who::Core, &failure)
        }
        16 => {
            let last = row.state.summaries.last().map(|it| &it.covers);
            let position = last.map_or(0, |it| it.position + it.events);
            let covers = Covers {
                from: last.map_or(1, |it| it.to + 1),
                to: head,
                skip: 0,
                upto: None,
                position,
                events: 1,
                level: 0,
            };
            let call = thinkd::words::id::fresh();
            Fact::Summary(Summary {
                text: "in short",
                covers,
                joins: Vec::new(),
                call,
            })
            .encode(thread)
        }
        _ => draft(id, "late", &["submodule:critic"]).when(When::Late),
    }
}

/// A turn begins and ends.
async fn turn(store: &Arc<dyn Store>, thread: &ThreadId, numbers: &mut Numbers) {
    let before = row(store, thread).await;
    let started = Started {
        turn: before.turn + 1,
        batch: vec![before.head],
        ..Started::default()
    };
    append(store, Fact::TurnStarted(started).encode(thread)).await;
    for _ in 0..numbers.below(3) {
        append(store, draft(thread.as_str(), "thought", &["decision"])).await;
    }
    let now = row(store, thread).await;
    let points = now.state.points + 1;
    let mood = Mood {
        sum: i64::try_from(numbers.below(200)).unwrap(),
        walk: 0,
        facts: 0,
        seen: points,
    };
    let ended = turn::Ended {
        turn: now.turn,
        outcome: Some(TurnOutcome::Done),
        handled: Some(before.head),
        wait: None,
        seen: None,
        // One that says nothing of it leaves it as it is.
        mood: (numbers.below(4) > 0).then_some(mood),
    };
    append(store, Fact::TurnEnded(ended).encode(thread)).await;
}

/// Returns the thread as it is, at the end of its last turn.
async fn there(store: &Arc<dyn Store>, thread: &ThreadId) -> There {
    let row = row(store, thread).await;
    There {
        end: row.head,
        turn: row.turn,
        seen: (row.visible, row.heard),
        contacts: sorted(store.contacts(&space(), thread).await.unwrap()),
        events: events(store, thread)
            .await
            .iter()
            .map(|it| it.seq)
            .collect(),
        state: ThreadState {
            points: row.state.mood.map_or(0, |mood| mood.seen),
            ..row.state.inherited()
        },
        thread: row.thread,
    }
}

fn sorted(mut contacts: Vec<ContactRow>) -> Vec<ContactRow> {
    contacts.sort_by(|one, other| one.name.cmp(&other.name));
    contacts
}

/// Forks a thread at its end; the fork.
async fn fork(store: &Arc<dyn Store>, thread: &ThreadId, number: usize) -> ThreadId {
    let row = row(store, thread).await;
    let past = store.past(&space(), &row, row.head, None).await.unwrap();
    let fork = ThreadId::parse(&format!("fork-{number}")).unwrap();
    let mut drafts = vec![Draft::forked(&fork, &row.settings, past.forked)];
    let contact = |it: &ContactRow| Draft::contact(&fork, &it.name, &it.target, &it.description);
    drafts.extend(past.contacts.iter().map(contact));
    store.append(Append::free(&space(), drafts)).await.unwrap();
    fork
}

#[tokio::test]
async fn the_past_of_a_thread_is_as_it_was_at_the_end_of_each_turn() {
    for medium in media().await {
        for seed in 0..4 {
            let store = opened(&medium, Options::default(), ThreadRow::apply).await;
            let mut numbers = Numbers(seed);
            let first = ThreadId::parse(&format!("thread-{seed}")).unwrap();
            append(
                &store,
                Draft::created(&first, &json!({ "title": "a talk" })),
            )
            .await;
            let mut threads = vec![first];
            let mut known = Vec::<There>::new();
            for number in 0..24 {
                let thread = threads[numbers.below(threads.len() as u64) as usize].clone();
                for _ in 0..numbers.below(12) {
                    let happened = happens(&mut numbers, &row(&store, &thread).await);
                    append(&store, happened).await;
                    append(&store, input("elsewhere", "other")).await;
                }
                turn(&store, &thread, &mut numbers).await;
                known.push(there(&store, &thread).await);
                if numbers.below(3) == 0 {
                    let number = seed as usize * 100 + number;
                    threads.push(fork(&store, &thread, number).await);
                }
            }
            for was in &known {
                for thread in &threads {
                    // The same from the thread itself, and from each fork that has it in its past.
                    let row = row(&store, thread).await;
                    let all = events(&store, thread).await;
                    let mut ends = all.iter().filter(|it| it.seq == was.end);
                    if ends.next().is_none() {
                        continue;
                    }
                    let past = store.past(&space(), &row, was.end, None).await.unwrap();
                    let forked = past.forked;
                    let events = all.iter().map(|it| it.seq);
                    let is = There {
                        thread: forked.from,
                        end: forked.at,
                        turn: forked.turn,
                        seen: (forked.visible, forked.heard),
                        state: serde_json::from_value(forked.state).unwrap(),
                        contacts: sorted(past.contacts),
                        events: events.take_while(|seq| *seq <= was.end).collect(),
                    };
                    let of = format!("{thread}, seed {seed}, on {}", medium.url());
                    assert_eq!(is, *was, "{of}");
                }
            }
            store.close().await;
            if medium.disk().is_some() {
                break;
            }
        }
    }
}
