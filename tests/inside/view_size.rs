//! A view has a size: it holds the newest that fits, all events that its turn is about, and begins
//! where it began before.

use proptest::prelude::*;
use serde_json::{Value, json};
use thinkd::event::draft::{Draft, InputKind, Part};
use thinkd::event::envelope::Event;
use thinkd::model::prompt::Prompts;
use thinkd::thread::history::{Block, Lengths, begin, least, transcript};
use thinkd::words::id::{ThreadId, fresh};

use kit::views::{all_exact, size, too_long};
use kit::*;

fn write(event: &Event, entry_bytes: usize) -> String {
    let lengths = Lengths {
        event_chars: 4000,
        entry_bytes,
    };
    let blocks = transcript(
        std::slice::from_ref(event),
        0,
        4,
        lengths,
        &Prompts::load(None).unwrap(),
    );
    blocks
        .into_iter()
        .map(|block| {
            if let Block::Text(text) = block {
                text
            } else {
                String::new()
            }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_view_holds_what_fits_and_all_of_its_batch(
        sizes in prop::collection::vec(1usize..400, 0..200), position in 0u64..500, block in 1u64..130, bytes in 1usize..20_000, batch in 0usize..30,
    ) {
        let kept = sizes.len().saturating_sub(batch);
        let at = begin(&sizes, position, block, bytes, kept);
        prop_assert!(at <= kept);
        let sum = |from: usize| sizes[from..].iter().sum::<usize>();
        prop_assert!(at == kept || sum(at) <= bytes, "{} of {bytes}", sum(at));
        // No less than half of what may be is shown, where there is so much.
        prop_assert!(at == 0 || sum(at - 1) > bytes / 2, "{} of {bytes}", sum(at - 1));
    }

    #[test]
    fn a_view_that_is_full_begins_where_it_began_for_long(sizes in prop::collection::vec(1usize..1000, 300..600), block in 1u64..130) {
        let bytes = 20_000;
        let begins: Vec<usize> = (1..=sizes.len()).map(|n| begin(&sizes[..n], 0, block, bytes, n)).collect();
        prop_assert!(begins.is_sorted(), "what was left out comes back: {:?}", begins);
        let moves = begins.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // Half a view comes and goes between two moves, or a quarter where the places are uneven.
        let turned_over = sizes.iter().sum::<usize>() / (bytes / 8);
        prop_assert!(moves <= turned_over, "{moves} moves, {turned_over} quarters of a half");
    }
}

#[test]
fn an_entry_of_any_kind_that_is_too_long_is_shortened_with_a_mark() {
    let thread = ThreadId::default();
    let long = "x y".repeat(5000);
    let child = ThreadId::parse("main.a").unwrap();
    let said = Draft::input(
        &thread,
        InputKind::Message,
        vec![Part::Text(long.clone())],
        None,
        fresh(),
    )
    .remove(0);
    let results = json!([{ "index": 0, "ok": true, "text": long }, { "index": 1, "ok": false, "text": format!("end {long}") }]);
    let lines = format!("0: {long}\n1: failed: end {long}");
    let gathered = Draft::feedback(&thread, Some(1), "gathered", &[("id", "g".into())], &lines);
    let drafts = [
        said,
        Draft::message(&thread, &child, &long),
        Draft::reply(&thread, 1, "c", &long, false),
        Draft::thought(&thread, 1, &"\n".repeat(9000)),
        Draft::feedback(
            &thread,
            None,
            "thread-ended",
            &[("id", "main.a".into())],
            &long,
        ),
        gathered.with("results", results),
    ];
    for draft in drafts {
        let event = Event {
            seq: 7,
            ..draft.preview()
        };
        let written = write(&event, 3000);
        assert!(
            written.len() < 3400 && written.contains("#7 in the log has all of it"),
            "{}",
            &written[..200]
        );
        assert!(!write(&event, 200_000).contains("shortened"), "the control");
        if draft.has("gathered") {
            assert!(
                written.contains("1: failed: end x yx y"),
                "every part is there: {written}"
            );
        }
    }
    // As short as can be, none is longer than it was: a mark takes room, too.
    let options = thinkd::thread::history::Options::default();
    let prompts = Prompts::load(None).unwrap();
    for length in 0..600 {
        let event = Event {
            seq: 7,
            ..Draft::message(&thread, &child, &"x".repeat(length)).preview()
        };
        assert!(
            least(&event, &options, &prompts) <= write(&event, 3000).len().min(256 + 200),
            "{length}"
        );
    }
}

// A model of 128k tokens, and people who write long messages: nobody is left without an answer, and nothing of a batch is left out.
on_sqlite!(twelve_long_messages_leave_no_conversation_mute, |medium| {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.script(decision, [reply("first").held(&gate)]);
    stub.on(|request| request.text().len() > 400_000, too_long());
    stub.on(decision, reply("heard"));
    stub.on(kit::any, text("hm"));
    let app = Setup::new(medium, &stub).voices(&["critic"]).start().await;
    app.say_in("main", "begin").await;
    stub.request(decision).await;
    let mut batch = Vec::new();
    for n in 0..12 {
        let ack = app
            .say_in(
                "main",
                &format!("message {n} {}", "words and more ".repeat(4000)),
            )
            .await;
        batch.push(seq(&ack["events"][0]));
    }
    gate.open();
    let asked = stub.nth(1, decision).await;
    assert_eq!(asked.batch(), batch, "{:?}", asked.batch());
    for request in [
        &asked,
        &stub.request(|r| r.is_comment() && r.batch() == batch).await,
    ] {
        assert!(
            size(&request.last()) <= 262_144 + 4096,
            "{}",
            size(&request.last())
        );
        assert!(
            batch.iter().all(|seq| request.seqs().contains(seq)),
            "{:?} of {batch:?}",
            request.seqs()
        );
        assert!(
            (0..12).all(|n| request.says(&format!("message {n} words"))),
            "each is there, shortened"
        );
    }
    for n in 0..3 {
        assert!(
            !app.tell(&format!("short {n}")).await.is_empty(),
            "short {n}"
        );
    }
    assert_eq!(with(&app.log().await, &["failure"]), Vec::<&Value>::new());
    all_exact(&app).await;
});

on_sqlite!(
    more_messages_than_a_view_usually_holds_are_all_shown_when_they_are_new,
    |medium| {
        let stub = Stub::start().await;
        let gate = Gate::new();
        stub.script(decision, [reply("first").held(&gate)]);
        stub.on(decision, reply("heard"));
        let setup = Setup::new(medium, &stub)
            .env("THINKD_HISTORY__DECISION", 5)
            .env("THINKD_HISTORY__BLOCK", 4);
        let app = setup.start().await;
        app.say_in("main", "begin").await;
        stub.request(decision).await;
        for n in 0..30 {
            app.say_in("main", &format!("number {n}")).await;
        }
        gate.open();
        let asked = stub.nth(1, decision).await;
        assert_eq!(asked.batch().len(), 30);
        assert!(
            asked.batch().iter().all(|seq| asked.seqs().contains(seq)),
            "{asked:?}"
        );
        app.tell("and then").await;
        all_exact(&app).await;
    }
);

// A provider that takes less than is configured: asked once more with half, which the log says, for voices and decision.
on_sqlite!(
    a_request_refused_for_its_length_is_made_again_with_half,
    |medium| {
        let stub = Stub::start().await;
        stub.on(|request| request.text().len() > 30_000, too_long());
        stub.on(decision, reply("heard"));
        stub.on(kit::any, text("hm"));
        let app = Setup::new(medium, &stub)
            .voices(&["critic"])
            .env("THINKD_HISTORY__BYTES", 40_000)
            .start()
            .await;
        for n in 0..8 {
            assert_eq!(
                app.tell(&format!("message {n} {}", "words ".repeat(800)))
                    .await
                    .len(),
                1,
                "message {n}"
            );
        }
        let log = app.log().await;
        let told = with(&log, &["failure", "model", "core"]);
        assert!(
            !told.is_empty()
                && told
                    .iter()
                    .all(|event| said(event).contains("more than its model takes")),
            "{}",
            story(&log)
        );
        for who in ["decision", "submodule:critic"] {
            assert!(
                told.iter()
                    .any(|event| event["payload"]["detail"]["module"] == who),
                "{who}: {told:?}"
            );
        }
        assert_eq!(
            with(&log, &["failure"]).len(),
            told.len(),
            "nothing else failed"
        );
        // A request is never sent again unchanged, and the smallest is the last.
        stub.clear();
        stub.on(kit::any, too_long());
        assert!(app.tell("never").await.is_empty());
        let failed = app.log().await;
        let calls = with(&failed, &["call:decision"]);
        // A remark on the message before may be the last of the log.
        let turn = calls.last().unwrap()["payload"]["turn"].clone();
        let sizes: Vec<u64> = calls
            .into_iter()
            .filter(|call| call["payload"]["turn"] == turn)
            .map(|call| {
                assert_eq!(call["payload"]["outcome"], "failed", "{call}");
                call["payload"]["view"]["bytes"].as_u64().unwrap()
            })
            .collect();
        assert!(
            (2..=6).contains(&sizes.len()) && sizes.is_sorted_by(|one, next| one > next),
            "{sizes:?}"
        );
        stub.clear();
        stub.on(decision, reply("heard"));
        stub.on(kit::any, text("hm"));
        all_exact(&app).await;
    }
);

// What came back is told once, with the rest of what came back.
on_sqlite!(
    a_gathered_result_stands_once_in_its_parents_view,
    |medium| {
        let stub = Stub::start().await;
        let fan_out = json!({ "items": ["item a", "item b"], "prompt": null, "gather": true, "timeout_s": null });
        stub.script(
            at("main"),
            [
                call("fan_out", fan_out),
                reply("Sent out."),
                reply("All back."),
            ],
        );
        stub.on(
            |r| r.thread.starts_with("main.") && r.says("item a"),
            call("terminate", json!({ "reason": "the answer is FORTY-TWO" })),
        );
        stub.on(
            |r| r.thread.starts_with("main.") && r.says("item b"),
            reply("it is SEVEN").and("terminate", json!({ "reason": "found" })),
        );
        let app = Setup::new(medium, &stub).start().await;
        let mut socket = app.socket().await;
        app.say_in("main", "go").await;
        socket
            .event("the end of it", |e| {
                e["thread"] == "main" && said(e) == "All back."
            })
            .await;
        let view = stub.nth(2, at("main")).await.last();
        for result in ["FORTY-TWO", "it is SEVEN"] {
            assert_eq!(view.matches(result).count(), 1, "{result}: {view}");
        }
        let log = app.public_log().await;
        let ended = with(&log, &["thread-ended", "part"]);
        assert!(
            ended
                .iter()
                .any(|event| event["payload"]["content"] == "it is SEVEN"),
            "clients read it there: {ended:?}"
        );
    }
);
