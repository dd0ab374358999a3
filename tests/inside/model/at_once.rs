//! Calls at a time: a queue in front of a model, by a configured limit or one that a busy server teaches.

use futures_util::FutureExt as _;
use thinkd::model::provider::Pieces;
use thinkd::words::id::Space;

use super::*;
use kit::{Gate, text};

fn model(stub: &Stub, at_once: Option<u32>) -> OpenAi {
    OpenAi::new(Options {
        at_once,
        ..options(&stub.url())
    })
    .unwrap()
}

fn asked(model: &OpenAi, space: &str, module: Who) -> Pieces {
    let request = Request {
        space: Space::parse(space).unwrap(),
        module,
        ..request("hello")
    };
    model.ask(model.prepare(&request))
}

async fn end(mut pieces: Pieces) -> Result<Answer, Failure> {
    while let Some(piece) = pieces.next().await {
        if let Piece::End(answer) = piece? {
            return Ok(answer);
        }
    }
    panic!("no end")
}

fn voice() -> Who {
    Who::Submodule(Name::parse("owl").unwrap())
}

// One that waits and goes leaves its place in the queue to the next; the time of a call begins when it is sent.
#[tokio::test]
async fn calls_wait_for_a_place_and_their_time_begins_with_it() {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(any, text("hi").held(&gate));
    let model = OpenAi::new(Options {
        at_once: Some(1),
        timeout_ms: 3_000,
        ..options(&stub.url())
    })
    .unwrap();
    let first = tokio::spawn(end(asked(&model, "a", voice())));
    stub.nth(0, any).await;
    let mut gone = asked(&model, "a", voice());
    assert!(gone.next().now_or_never().is_none(), "it waits");
    let mut second = Box::pin(end(asked(&model, "a", voice())));
    assert!((&mut second).now_or_never().is_none());
    drop(gone);
    // Half of the time of a call, which has not begun.
    tokio::time::sleep(ms(1_500)).await;
    assert_eq!(stub.requests().len(), 1);
    gate.open();
    assert_eq!(
        within("the first", first).await.unwrap().unwrap().text,
        "hi"
    );
    assert_eq!(within("the second", second).await.unwrap().text, "hi");
    assert_eq!(stub.requests().len(), 2, "who has gone was not sent");
}

// The spaces take turns, and in a space the decision goes first.
#[tokio::test]
async fn spaces_take_turns_and_decisions_go_first() {
    let stub = Stub::start().await;
    let gate = Gate::new();
    stub.on(any, text("hi").held(&gate));
    let model = model(&stub, Some(1));
    let first = tokio::spawn(end(asked(&model, "a", voice())));
    stub.nth(0, any).await;
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut calls = Vec::new();
    for (name, space, module) in [
        ("a1", "a", voice()),
        ("a2", "a", voice()),
        ("a0", "a", Who::Decision),
        ("b1", "b", voice()),
    ] {
        let mut call = Box::pin(end(asked(&model, space, module)));
        let order = order.clone();
        assert!((&mut call).now_or_never().is_none());
        calls.push(tokio::spawn(async move {
            call.await.unwrap();
            order.lock().unwrap().push(name);
        }));
    }
    gate.open();
    within("all", futures_util::future::join_all(calls)).await;
    first.await.unwrap().unwrap();
    assert_eq!(*order.lock().unwrap(), ["a0", "b1", "a1", "a2"]);
}
