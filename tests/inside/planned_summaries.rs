//! A view's parts are disjoint and cover the range that it names, for any log, and any summaries
//! and clearings of it. Through the client of the model and a store, without a server.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use thinkd::event::draft::{Draft, InputKind, Part, When};
use thinkd::event::envelope::Event;
use thinkd::event::fact::set::Change;
use thinkd::event::fact::summary::Summary;
use thinkd::event::fact::told::News;
use thinkd::log::appended::{Append, Appended};
use thinkd::log::kernel::Store;
use thinkd::log::query::{Order, Query, Show};
use thinkd::mind::call::{ModelClient, PromptView, Scope, Summing, TurnPlace};
use thinkd::model::prompt::Prompts;
use thinkd::model::scripted::Scripted;
use thinkd::thread::history::{BYTES_MIN, Block, Options};
use thinkd::thread::quota::Purse;
use thinkd::words::id::{Name, Seq, Space, ThreadId, fresh};

use kit::Medium;
use kit::stored::open;

#[derive(Debug, Clone)]
enum Step {
    /// Events come: the kind and the length of each.
    Events(Vec<(u8, usize)>),
    /// So many summaries are made, if they are due.
    Sum(usize),
    /// The view is cleared but for the newest so many.
    Clear(u64),
}

#[derive(Debug, Clone)]
struct Case {
    steps: Vec<Step>,
    bytes: usize,
    decision: u64,
    block: u64,
    window: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let length = prop_oneof![8 => 0..80usize, 3 => 200..900usize, 1 => 2000..9000usize];
    let step = prop_oneof![
        5 => prop::collection::vec((0..4u8, length), 1..50).prop_map(Step::Events),
        4 => (1..12usize).prop_map(Step::Sum),
        1 => (0..30u64).prop_map(Step::Clear),
    ];
    let bytes = prop_oneof![BYTES_MIN..12_000, Just(256 << 10)];
    (
        prop::collection::vec(step, 1..16),
        bytes,
        1..40u64,
        1..40u64,
        prop::bool::weighted(0.1),
    )
        .prop_map(|(steps, bytes, decision, block, window)| Case {
            steps,
            bytes,
            decision,
            block,
            window,
        })
}

fn draft(kind: u8, length: usize) -> Draft {
    let thread = ThreadId::default();
    let text = "ab\nc é #7 [x] "
        .chars()
        .cycle()
        .take(length.max(1))
        .collect::<String>();
    match kind {
        0 => Draft::input(
            &thread,
            InputKind::Message,
            vec![Part::Text(text)],
            None,
            fresh(),
        )
        .remove(0),
        1 => Draft::submodule_said(
            &thread,
            1,
            &Name::parse("critic").unwrap(),
            When::InTime,
            &text,
        ),
        2 => Draft::reply(&thread, 1, "c1.0", &text, false),
        // Seen by no model.
        _ => Draft::set(&thread, "doctor", Change::Doctor(&json!(text))),
    }
}

struct Bench {
    store: Arc<dyn Store>,
    client: ModelClient,
    place: TurnPlace,
    /// The part of each event that summaries of events read: characters from and to.
    read: Vec<(Seq, u64, Option<u64>)>,
}

impl Bench {
    async fn append(&self, drafts: Vec<Draft>) -> Vec<Event> {
        match self
            .store
            .append(Append::free(&self.place.space, drafts))
            .await
            .unwrap()
        {
            Appended::Stored(placed) => placed
                .iter()
                .map(|placed| placed.shown.event.clone())
                .collect(),
            Appended::Stale => panic!("an append without a lease cannot be stale"),
        }
    }

    /// Makes one summary. False: there is nothing to be made.
    async fn sum_up(&mut self, target: u64, bytes: usize) -> bool {
        let row = self
            .store
            .thread(&self.place.space, &self.place.thread)
            .await
            .unwrap()
            .unwrap();
        let Some(summing) = self
            .client
            .summing(&self.place, &row, target)
            .await
            .unwrap()
        else {
            return false;
        };
        let Summing {
            view,
            covers,
            joins,
            ..
        } = &summing;
        let written = text(view);
        assert!(
            written.len() <= bytes / 4 + 600,
            "{} bytes of {bytes}",
            written.len()
        );
        if joins.is_empty() {
            let last = view.entries.len() - 1;
            for (at, entry) in view.entries.iter().enumerate() {
                let from = if at == 0 { covers.skip } else { 0 };
                let to = covers.upto.filter(|_| at == last);
                self.read.push((entry.seq, from, to));
            }
        }
        let summary = Summary {
            text: "s",
            covers: covers.clone(),
            joins: joins.clone(),
            call: fresh(),
        };
        let made = self.append(vec![summary.encode(&self.place.thread)]).await;
        let row = self
            .store
            .thread(&self.place.space, &self.place.thread)
            .await
            .unwrap()
            .unwrap();
        assert!(
            row.state
                .summaries
                .iter()
                .any(|held| held.seq == made[0].seq),
            "it stands for what it covers"
        );
        true
    }
}

fn text(view: &PromptView) -> String {
    let text = |block: &Block| match block {
        Block::Text(text) => text.clone(),
        Block::Blob { .. } => String::new(),
    };
    view.blocks.iter().map(text).collect()
}

/// The number in front of a word in all lines of this form.
fn counts(written: &str) -> u64 {
    let lines = written
        .lines()
        .filter(|line| line.starts_with('(') && line.contains("entries are left out"));
    lines
        .map(|line| {
            line[1..]
                .split(' ')
                .next()
                .unwrap()
                .parse::<u64>()
                .unwrap_or(0)
        })
        .sum()
}

async fn views_cover_what_they_say(case: Case) {
    let medium = Medium::sqlite();
    let thread = ThreadId::default();
    let space = Space::default();
    let store: Arc<dyn Store> = open(&medium).await;
    let prompts = Arc::new(Prompts::load(None).unwrap());
    let window_s = case.window.then_some(3600);
    let Case {
        bytes,
        decision,
        block,
        ..
    } = case;
    let options = Options {
        bytes,
        decision,
        block,
        window_s,
        summaries: true,
        ..Options::default()
    };
    let client = ModelClient::new(
        store.clone(),
        Arc::new(Scripted::queue([])),
        prompts.clone(),
        options,
    );
    let place = TurnPlace {
        space: space.clone(),
        thread: thread.clone(),
        turn: 1,
        purse: Purse::default(),
    };
    let mut bench = Bench {
        store: store.clone(),
        client,
        place,
        read: Vec::new(),
    };
    bench
        .append(vec![Draft::created(&thread, &json!({}))])
        .await;
    let mut cleared = 0;
    for step in &case.steps {
        match step {
            Step::Events(events) => {
                bench
                    .append(
                        events
                            .iter()
                            .map(|(kind, length)| draft(*kind, *length))
                            .collect(),
                    )
                    .await;
            }
            Step::Sum(count) => {
                let row = store.thread(&space, &thread).await.unwrap().unwrap();
                if let Some(due) = bench.client.to_sum_up(&bench.place, &row).await.unwrap() {
                    for _ in 0..*count {
                        if !bench.sum_up(due.target, bytes).await {
                            break;
                        }
                    }
                }
            }
            Step::Clear(keep) => {
                let before = store
                    .thread(&space, &thread)
                    .await
                    .unwrap()
                    .unwrap()
                    .visible;
                bench
                    .append(vec![Draft::news(
                        &thread,
                        1,
                        News::Cleared { kept: Some(*keep) },
                    )])
                    .await;
                cleared = before.saturating_sub(*keep).max(cleared);
            }
        }
        let scope = Scope {
            show: Show::Visible,
            until: None,
            about: None,
        };
        let view = bench.client.view(&bench.place, scope).await.unwrap();
        let query = Query {
            thread: Some(thread.clone()),
            show: Show::Visible,
            order: Order::Ascending,
            limit: 9999,
            ..Query::default()
        };
        let all: Vec<Seq> = store
            .events(&space, &query)
            .await
            .unwrap()
            .iter()
            .map(|event| event.seq)
            .collect();
        let written = text(&view);
        // Which events are summed up in this view, by how much of them.
        let row = store.thread(&space, &thread).await.unwrap().unwrap();
        let shown: Vec<Seq> = view.entries.iter().map(|entry| entry.seq).collect();
        let mut whole = vec![false; all.len()];
        let mut end = None;
        for summary in &view.summaries {
            let covers = &summary.covers;
            assert!(
                covers.position >= row.state.cleared.unwrap_or_default().visible,
                "{case:?}: {covers:?}"
            );
            assert!(
                shown.first().is_none_or(|first| covers.to < *first),
                "{case:?}: {covers:?} and {shown:?}"
            );
            assert_eq!(all[covers.position as usize], covers.from, "{case:?}");
            let last = covers.position + covers.events - 1;
            assert_eq!(all[last as usize], covers.to, "{case:?}");
            // They go on where the one before ends: none is twice there, and none is left out between them.
            assert!(
                end.is_none_or(|end| end == covers.begins()),
                "{case:?}: {end:?} {covers:?}"
            );
            (covers.position..covers.ends().position).for_each(|at| whole[at as usize] = true);
            end = Some(covers.ends());
        }
        // The beginning of the first one may be in a summary that has no room.
        if let Some(first) = view.summaries.first().filter(|first| first.covers.skip > 0) {
            whole[first.covers.position as usize] = false;
        }
        let missing = all
            .iter()
            .zip(&whole)
            .filter(|(seq, whole)| !**whole && !shown.contains(seq))
            .count() as u64;
        assert_eq!(counts(&written), missing, "{case:?}\n{written}");
        let voices = Scope {
            show: Show::Heard,
            until: None,
            about: None,
        };
        let heard = bench.client.view(&bench.place, voices).await.unwrap();
        assert!(
            heard.summaries.is_empty() && !text(&heard).contains("[summary]:"),
            "voices see no summaries"
        );
    }
    // No character was read twice by summaries of events, unless somebody cleared the view in the middle of one.
    if cleared == 0 {
        for (at, (seq, from, to)) in bench.read.iter().enumerate() {
            for (other, begin, end) in &bench.read[at + 1..] {
                let apart = seq != other
                    || to.is_some_and(|to| to <= *begin)
                    || end.is_some_and(|end| end <= *from);
                assert!(apart, "{case:?}: #{seq} {from}–{to:?} and {begin}–{end:?}");
            }
        }
    }
    store.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_a_view_shows_is_disjoint_and_covers_what_it_says(case in cases()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(views_cover_what_they_say(case));
    }
}
