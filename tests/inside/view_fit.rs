//! A view takes no more than its limit, for any log: all events that it is about are there, and the
//! newest.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use thinkd::event::draft::{Draft, InputKind, Part, When};
use thinkd::event::envelope::{Event, Visibility};
use thinkd::event::fact::calls::Call;
use thinkd::log::appended::{Append, Appended};
use thinkd::log::kernel::Store;
use thinkd::log::query::Show;
use thinkd::mind::call::{ModelClient, PromptView, Scope, TurnPlace};
use thinkd::model::prompt::Prompts;
use thinkd::model::scripted::Scripted;
use thinkd::thread::history::{BATCH_PART, BYTES_MIN, Block, Options, least};
use thinkd::thread::quota::Purse;
use thinkd::words::failure::Who;
use thinkd::words::id::{Name, Seq, Space, ThreadId, fresh};

use kit::Medium;
use kit::stored::open;

/// The line that names the events left out.
const LINE: usize = 256;

#[derive(Debug, Clone)]
struct Case {
    /// The kind and the length of each event.
    events: Vec<(u8, usize)>,
    bytes: usize,
    /// The beginning of the batch, among all events.
    begin: prop::sample::Index,
    /// The part of the waiting events that is in the batch, of all that there is room for.
    part: prop::sample::Index,
    process: bool,
    heard: bool,
    hides: bool,
    window: Option<u64>,
}

fn cases() -> impl Strategy<Value = Case> {
    let length = prop_oneof![4 => 0..80usize, 3 => 200..600usize, 2 => 1000..6000usize, 1 => 20_000..70_000usize];
    let events = prop::collection::vec((0..8u8, length), 1..140);
    let bytes = prop_oneof![BYTES_MIN..8_000, BYTES_MIN..70_000];
    (
        events,
        bytes,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<[bool; 3]>(),
        any::<Option<bool>>(),
    )
        .prop_map(
            |(events, bytes, begin, part, [process, heard, hides], window)| {
                let window = window.map(|open| if open { 3600 } else { 0 });
                Case {
                    events,
                    bytes,
                    begin,
                    part,
                    process,
                    heard,
                    hides,
                    window,
                }
            },
        )
}

fn draft(kind: u8, length: usize) -> Draft {
    let thread = ThreadId::default();
    let text = "ab\nc <&> "
        .chars()
        .cycle()
        .take(length.max(1))
        .collect::<String>();
    let call = Call {
        turn: 1,
        by: &Who::Decision,
        tool: "think",
        call_id: "c1.0",
    };
    match kind {
        0 | 1 => {
            let user = "u".repeat(length % 200 + 1);
            Draft::input(
                &thread,
                InputKind::Message,
                vec![Part::Text(text)],
                Some(&user),
                fresh(),
            )
            .remove(0)
        }
        2 => Draft::message(&thread, &ThreadId::parse("main.a").unwrap(), &text),
        3 => Draft::submodule_said(
            &thread,
            1,
            &Name::parse("critic").unwrap(),
            When::InTime,
            &text,
        ),
        4 => Draft::reply(&thread, 1, "c1.0", &text, false),
        5 => Draft::action(
            &thread,
            1,
            &Who::Decision,
            "think",
            "c1.0",
            &json!({ "thought": text }),
        ),
        6 => Draft::result(&thread, &call, text.into(), 1),
        _ => {
            let parts = length % 40;
            let part = |index: usize| json!({ "index": index, "ok": index.is_multiple_of(2), "text": text[..length / 40].to_owned() });
            let results: Vec<Value> = (0..parts).map(part).collect();
            Draft::feedback(&thread, Some(1), "gathered", &[("id", "g".into())], &text)
                .with("results", results)
        }
    }
}

fn text(view: &PromptView) -> String {
    let text = |block: &Block| match block {
        Block::Text(text) => text.clone(),
        Block::Blob { .. } => String::new(),
    };
    view.blocks.iter().map(text).collect()
}

/// The batch as a turn takes it: the oldest that wakes, as far as there is room.
fn batch(events: &[Event], case: &Case, options: &Options, prompts: &Prompts) -> Vec<Seq> {
    let waking: Vec<usize> = (0..events.len()).filter(|at| events[*at].wakes()).collect();
    if waking.is_empty() {
        return Vec::new();
    }
    let first = waking[case.begin.index(waking.len())];
    let fits = |last: &usize| {
        let sum: usize = events[first..=(*last).max(first)]
            .iter()
            .map(|event| least(event, options, prompts))
            .sum();
        *last == first || *last > first && sum <= options.bytes / BATCH_PART
    };
    let most: Vec<usize> = waking.into_iter().filter(fits).collect();
    most[..=case.part.index(most.len())]
        .iter()
        .map(|at| events[*at].seq)
        .collect()
}

async fn views_are_as_promised(case: Case) {
    let medium = Medium::sqlite();
    let thread = ThreadId::default();
    let space = Space::default();
    let store: Arc<dyn Store> = open(&medium).await;
    let prompts = Arc::new(Prompts::load(None).unwrap());
    let options = Options {
        bytes: case.bytes,
        window_s: case.window,
        ..Options::default()
    };
    let kind = if case.process {
        json!({ "kind": "process" })
    } else {
        json!({})
    };
    let mut drafts = vec![Draft::created(&thread, &kind)];
    drafts.extend(
        case.events
            .iter()
            .map(|(kind, length)| draft(*kind, *length)),
    );
    let stored = match store.append(Append::free(&space, drafts)).await.unwrap() {
        Appended::Stored(placed) => placed,
        Appended::Stale => panic!("an append without a lease cannot be stale"),
    };
    let events: Vec<Event> = stored[1..]
        .iter()
        .map(|placed| placed.shown.event.clone())
        .collect();
    let batch = batch(&events, &case, &options, &prompts);
    let client = ModelClient::new(
        store.clone(),
        Arc::new(Scripted::queue([])),
        prompts.clone(),
        options,
    );
    let show = if case.heard {
        Show::Heard
    } else {
        Show::Visible
    };
    let until = batch.last().copied().filter(|_| case.hides);
    let scope = Scope {
        show,
        until,
        about: Scope::about(&batch),
    };
    let place = TurnPlace {
        space,
        thread,
        turn: 1,
        purse: Purse::default(),
    };
    let whole = client.view(&place, scope).await.unwrap();
    let half = client
        .smaller_view(&place, &whole, case.bytes / 2)
        .await
        .unwrap();
    let is_seen = |event: &Event| {
        let hidden =
            until.is_some_and(|until| event.wakes() && !event.has("thought") && event.seq > until);
        !hidden
            && (event.visibility() == Visibility::Heard
                || !case.heard && event.visibility() == Visibility::Submodule)
    };
    for (view, bytes) in [(&whole, case.bytes), (&half, case.bytes / 2)] {
        let written = text(view);
        let shows = |seq: Seq| {
            written.starts_with(&format!("#{seq} [")) || written.contains(&format!("\n#{seq} ["))
        };
        assert!(
            written.len() <= bytes + LINE,
            "{} of {bytes}: {case:?}",
            written.len()
        );
        let seqs: Vec<Seq> = view.entries.iter().map(|entry| entry.seq).collect();
        assert!(
            seqs.is_sorted() && seqs.iter().all(|seq| shows(*seq)),
            "{seqs:?}"
        );
        let (first, last) = scope.about.unwrap_or((Seq::MAX, Seq::MAX));
        let about = events
            .iter()
            .filter(|event| is_seen(event) && (first..=last).contains(&event.seq));
        about.for_each(|event| {
            assert!(
                shows(event.seq),
                "#{} is of {batch:?}: {case:?}\n{written}",
                event.seq
            )
        });
        if let Some(newest) = events
            .iter()
            .rfind(|event| is_seen(event) && event.seq > first)
        {
            assert!(
                shows(newest.seq),
                "#{} is the newest: {case:?}\n{written}",
                newest.seq
            );
        }
        let left_out = events
            .iter()
            .filter(|event| is_seen(event) && !shows(event.seq))
            .count();
        assert_eq!(
            left_out > 0,
            written.contains("entries are left out"),
            "{left_out}: {case:?}\n{written}"
        );
        assert!(
            !events
                .iter()
                .any(|event| shows(event.seq) && !is_seen(event)),
            "{case:?}\n{written}"
        );
        // Where there is room for all of it nothing of what came since is left out.
        let size: usize = events
            .iter()
            .filter(|event| is_seen(event) && event.seq >= first)
            .map(|it| it.text().len() * 5 + 900)
            .sum();
        let since = events
            .iter()
            .filter(|event| is_seen(event) && event.seq >= first);
        assert!(
            size > bytes || since.clone().all(|event| shows(event.seq)),
            "{case:?}\n{written}"
        );
    }
    store.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_view_holds_all_of_its_batch_and_the_newest_in_what_it_may_take(case in cases()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(views_are_as_promised(case));
    }
}
