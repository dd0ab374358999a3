//! Hints (pieces of a reply, status) stand among the events at the place of their making: never
//! before an event stored earlier.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use thinkd::log::feed::Feed;
use thinkd::log::hint::{Delta, Hint};
use thinkd::log::query::Query;
use thinkd::session::follow::{Follow, Seen};
use thinkd::session::pieces::Pieces;
use thinkd::tasks::share::Places;
use thinkd::words::id::{Space, ThreadId};
use uuid::Uuid;

use kit::*;

fn delta(text: &str) -> Hint {
    Hint::Delta(Delta {
        thread: ThreadId::default(),
        event_id: Uuid::nil(),
        at: 0,
        text: text.to_owned(),
    })
}

/// Returns the next `n` things that a follower sees, each an event's text, or `piece` and a hint's
/// text.
async fn sees(follow: &mut Follow, n: usize) -> Vec<String> {
    let mut seen = Vec::new();
    while seen.len() < n {
        match within("something to see", follow.next()).await.unwrap() {
            Seen::Events { events, .. } => seen.extend(
                events
                    .iter()
                    .map(|told| told.event().unwrap().text().to_owned()),
            ),
            Seen::Hint(hint) => match &*hint {
                Hint::Delta(delta) => seen.push(format!("piece {}", delta.text)),
                other => panic!("{other:?}"),
            },
            Seen::CaughtUp => {}
        }
    }
    seen
}

// A reader that was elsewhere while both came sees them in the order in which they were made.
on_sqlite!(
    a_piece_of_a_reply_comes_after_what_was_stored_before_it_and_before_what_was_stored_later,
    |medium| {
        let store = stored::open(&medium).await;
        let space = Space::default();
        let pages = Places::new("pages", 2, 1.0);
        let append = async |text: &str| {
            stored::append(&store, stored::draft("main", text, &["submodule:owl"])).await
        };
        append("long ago").await;
        let main = Query {
            thread: Some(ThreadId::default()),
            ..Query::default()
        };
        for (filter, after) in [
            (Query::default(), None),
            (main.clone(), None),
            (main, Some(0)),
        ] {
            let head = store.head(&space).await.unwrap().seq;
            let (mut follow, _) = Follow::start(&store, &pages, &space, filter, after)
                .await
                .unwrap();
            if after.is_some() {
                sees(&mut follow, usize::try_from(head).unwrap()).await;
            }
            store.feed().hint(&space, 0, delta("before all"));
            append("one").await;
            append("two").await;
            // The reply is being made by one who has read both, and one more that this server has yet to hear of.
            store.feed().hint(&space, head + 3, delta("of the reply"));
            store.feed().hint(&space, head + 3, delta("of its rest"));
            let early = sees(&mut follow, 3).await;
            assert_eq!(early, ["piece before all", "one", "two"]);
            append("three").await;
            append("the reply").await;
            let late = sees(&mut follow, 4).await;
            assert_eq!(
                late,
                [
                    "three",
                    "piece of the reply",
                    "piece of its rest",
                    "the reply"
                ]
            );
        }
        store.close().await;
    }
);

// The voices have spoken when the decision begins: whoever follows has seen them before the first piece of its reply.
on_sqlite!(
    no_piece_of_a_reply_overtakes_a_thought_or_comes_behind_its_reply,
    |medium| {
        // The built-in model answers at once, in pieces.
        let setup = Setup::offline(medium).voices(&["critic", "memory", "understanding", "warmth"]);
        let app = setup.env("THINKD_TURN__FOLLOW_UP", false).start().await;
        let mut socket = app.socket().await;
        let mut pieces = 0;
        let mut thoughts = 0;
        let mut replies = BTreeSet::new();
        for turn in 0..300 {
            socket.say(&format!("What of message {turn}, Ada?")).await;
            let mut replying = None;
            loop {
                let frame = socket.next().await.unwrap();
                let event = &frame["event"];
                if frame["type"] == "delta" {
                    pieces += 1;
                    let id = frame["event_id"].as_str().unwrap();
                    assert!(
                        !replies.contains(id),
                        "turn {turn}: a piece behind its reply"
                    );
                    replying = Some(id.to_owned());
                } else if tags(event).iter().any(|tag| tag.starts_with("submodule:")) {
                    thoughts += 1;
                    assert_eq!(
                        replying, None,
                        "turn {turn}: a piece of the reply came before {event}"
                    );
                } else if has(event, "response") {
                    replies.insert(event["event_id"].as_str().unwrap().to_owned());
                } else if has(event, "turn") && has(event, "ended") {
                    break;
                }
            }
        }
        assert!(
            pieces >= 300 && thoughts >= 300,
            "{pieces} pieces, {thoughts} thoughts"
        );
    }
);

// What a turn may not do is not shown as it arrives either: nobody could make use of it.
on_sqlite!(no_piece_is_shown_of_a_reply_that_is_left_out, |medium| {
    const MADE: usize = 200;
    let stub = Stub::start().await;
    let many = (1..MADE).fold(reply("reply 0"), |answer, n| {
        answer.and("reply", json!({ "text": format!("reply {n}") }))
    });
    stub.script(decision, [many]);
    let app = Setup::new(medium, &stub)
        .env("THINKD_TURN__MAX_TOOL_CALLS", 3)
        .start()
        .await;
    let mut socket = app.socket().await;
    socket.say("go").await;
    socket.turn_ended().await;
    let of = |kind: &str| -> Vec<&Value> {
        socket
            .seen
            .iter()
            .filter(|frame| frame["type"] == kind)
            .collect()
    };
    let shown: BTreeSet<&str> = of("delta")
        .iter()
        .map(|frame| frame["event_id"].as_str().unwrap())
        .collect();
    assert_eq!(shown.len(), 3, "of {MADE} replies 3 are said");
    let told: Vec<&str> = of("delta_end")
        .iter()
        .map(|frame| frame["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["stored"; 3]);
    let said: Vec<String> = with(&app.public_log().await, &["response"])
        .into_iter()
        .map(|e| said(e).to_owned())
        .collect();
    assert_eq!(said, ["reply 0", "reply 1", "reply 2"]);
});

/// Asserts that the pieces a socket was sent make up the reply, each once, also for readers that join them without `at`.
fn has_all_pieces_once(socket: &Socket, response: &Value) {
    let mut joined = String::new();
    for piece in socket.seen.iter().filter(|frame| frame["type"] == "delta") {
        assert_eq!(piece["event_id"], response["event_id"]);
        assert_eq!(piece["at"], json!(joined.chars().count()), "{piece}");
        joined.push_str(piece["text"].as_str().unwrap());
    }
    assert_eq!(joined, said(response));
}

// A page that is reloaded in the middle of a reply shows all of it, and no page shows a piece twice.
on_sqlite!(
    a_page_reloaded_in_the_middle_of_a_reply_gets_its_beginning,
    |medium| {
        let words = "Grüße! A reply that is long enough for many pieces — 🌍 — and goes on.";
        let stub = Stub::start().await;
        let half = Gate::new();
        stub.on(decision, reply(words).paused(9, &half));
        let app = Setup::new(medium, &stub)
            .env("THINKD_MODELS__LOW__STREAM", true)
            .start()
            .await;
        let mut first = app.socket().await;
        first
            .subscribe(json!({ "type": "subscribe", "thread": "main" }))
            .await;
        first.say("speak").await;
        first.of_type("delta").await;
        let head = first.events().last().unwrap()["seq"].clone();
        let mut others = Vec::new();
        for frame in [
            json!({ "type": "subscribe", "thread": "main", "after": 0 }),
            json!({ "type": "subscribe", "thread": "main", "after": head }),
            json!({ "type": "subscribe", "thread": "main", "tags": ["response"] }),
            json!({ "type": "subscribe", "after": 0 }),
        ] {
            let mut reloaded = app.socket().await;
            reloaded.subscribe(frame.clone()).await;
            let beginning = reloaded.of_type("delta").await;
            assert_eq!(beginning["at"], 0, "{frame}");
            assert!(words.starts_with(beginning["text"].as_str().unwrap()));
            others.push(reloaded);
        }
        let mut elsewhere = app.socket().await;
        elsewhere
            .subscribe(json!({ "type": "subscribe", "thread": "main", "after": 0 }))
            .await;
        elsewhere.of_type("delta").await;
        elsewhere
            .subscribe(json!({ "type": "subscribe", "thread": "other", "after": 0 }))
            .await;
        elsewhere
            .subscribe(json!({ "type": "subscribe", "thread": "main", "after": 0 }))
            .await;
        first
            .subscribe(json!({ "type": "subscribe", "thread": "main", "after": 0 }))
            .await;
        others.extend([first, elsewhere]);
        half.open();
        let mut last = Value::Null;
        for socket in &mut others {
            last = socket.response().await;
            socket.of_type("delta_end").await;
            has_all_pieces_once(socket, &last);
        }
        let mut late = app.socket().await;
        let replayed = late.follow(0, json!({ "thread": "main" })).await;
        assert!(
            replayed
                .iter()
                .any(|event| event["event_id"] == last["event_id"])
        );
        assert!(
            late.seen.iter().all(|frame| frame["type"] != "delta"),
            "it is an event now"
        );
    }
);

/// The piece of a hint: its place, and its text.
fn piece(hint: Option<Arc<Hint>>) -> Option<(usize, String)> {
    match &*hint? {
        Hint::Delta(delta) => Some((delta.at, delta.text.clone())),
        other => panic!("{other:?}"),
    }
}

// Whoever reads too slowly loses hints: the next piece brings what is missing.
#[test]
fn a_lost_piece_comes_with_the_next_one_and_none_comes_twice() {
    let feed = Arc::new(Feed::default());
    let space = Space::default();
    let at = |at: usize, text: &str| {
        Hint::Delta(Delta {
            thread: ThreadId::default(),
            event_id: Uuid::nil(),
            at,
            text: text.to_owned(),
        })
    };
    let begun = feed.begin(&space, Uuid::nil());
    let mut sent = Pieces::new(feed.clone(), space.clone());
    let mut early = Pieces::new(feed.clone(), space.clone());
    let texts = ["Grü", "ße, ", "🌍", "!"];
    let mut pieces = Vec::new();
    let mut end = 0;
    for text in texts {
        let hint = at(end, text);
        end += text.chars().count();
        feed.hint(&space, 7, hint.clone());
        pieces.push(Arc::new(hint));
    }
    let [one, two, three, four] = &pieces[..] else {
        panic!("four pieces")
    };
    assert_eq!(piece(sent.unsent(one.clone())), Some((0, "Grü".into())));
    // The second was lost; all that is known comes with the third.
    assert_eq!(
        piece(sent.unsent(three.clone())),
        Some((3, "ße, 🌍!".into()))
    );
    assert_eq!(piece(sent.unsent(two.clone())), None);
    // Begun before the connection: shown when it subscribes, and not from its middle.
    assert_eq!(piece(early.unsent(three.clone())), None);
    early.subscribe();
    assert_eq!(piece(early.unsent(four.clone())), Some((0, texts.concat())));
    assert_eq!(piece(sent.unsent(four.clone())), None);
    let all = feed.begun(&space).remove(0);
    assert_eq!(
        (all.after, piece(Some(all.hint))),
        (7, Some((0, texts.concat())))
    );
    // Cut short, lost or finished: what is not streamed any more leaves nothing.
    drop(begun);
    assert!(feed.begun(&space).is_empty());
    // A reader that lost the beginning of a reply which is over sees no end without it: the event has all.
    let mut late = Pieces::new(feed, space);
    late.subscribe();
    assert_eq!(piece(late.unsent(four.clone())), None);
    assert_eq!(piece(late.unsent(one.clone())), Some((0, "Grü".into())));
    assert_eq!(piece(late.unsent(four.clone())), None);
    assert_eq!(piece(late.unsent(two.clone())), Some((3, "ße, ".into())));
}
