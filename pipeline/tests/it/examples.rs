//! The six patterns, as the examples have them, from async and from blocking code.

use unhurried::{Config, Context, block_on, runtime};

#[allow(dead_code)]
#[path = "../../examples/conditional.rs"]
mod conditional;
#[allow(dead_code)]
#[path = "../../examples/fan_out.rs"]
mod fan_out;
#[allow(dead_code)]
#[path = "../../examples/linear.rs"]
mod linear;
#[allow(dead_code)]
#[path = "../../examples/map_reduce.rs"]
mod map_reduce;
#[allow(dead_code)]
#[path = "../../examples/replica.rs"]
mod replica;
#[allow(dead_code)]
#[path = "../../examples/self_correcting.rs"]
mod self_correcting;

#[test]
fn d2_50_d2_55_linear() {
    let question = || {
        Context::new(linear::State {
            query: "laziness".to_owned(),
            ..Default::default()
        })
    };
    assert_eq!(
        linear::rag(question()).pending(),
        ["retrieve", "rerank", "generate"]
    );
    let blocking = linear::rag(question()).blocking_data().unwrap().answer;
    let awaited = block_on(async { linear::rag(question()).await.unwrap().answer }).unwrap();
    assert_eq!(
        (blocking.as_str(), awaited.as_str()),
        (
            "According to a new text on laziness: yes.",
            blocking.as_str()
        )
    );
}

async fn conditionally(found: usize) -> (String, bool) {
    let answer = conditional::maybe_rerank(Context::new(found))
        .await
        .unwrap();
    let reranked = answer
        .graph()
        .nodes
        .iter()
        .any(|node| node.name == "rerank");
    (answer.await.unwrap(), reranked)
}

#[tokio::test]
async fn d2_51_d2_55_conditional() {
    assert_eq!(
        conditionally(3).await,
        ("from document 2".to_owned(), false)
    );
    assert_eq!(conditionally(5).await, ("from document 0".to_owned(), true));
}

#[test]
fn d2_51_d2_55_conditional_blocking() {
    assert_eq!(
        block_on(conditionally(4)).unwrap(),
        ("from document 0".to_owned(), true)
    );
}

async fn corrected() -> [(String, usize); 2] {
    let topic = || Context::new("Hello".to_owned());
    let by_hand = self_correcting::refine_until_good(topic()).await.unwrap();
    let helped = self_correcting::refine_ten_times_at_most(topic())
        .await
        .unwrap();
    let nodes = [
        by_hand.graph().nodes.len() - 1,
        helped.graph().nodes.len() - 1,
    ];
    [
        (by_hand.await.unwrap().text, nodes[0]),
        (helped.await.unwrap().text, nodes[1]),
    ]
}

#[tokio::test]
async fn d2_52_d2_55_self_correcting() {
    assert_eq!(
        corrected().await,
        [("Hello!!!".to_owned(), 7), ("Hello!!!".to_owned(), 7)]
    );
}

#[test]
fn d2_52_d2_55_self_correcting_blocking() {
    assert_eq!(block_on(corrected()).unwrap()[0].0, "Hello!!!");
}

#[test]
fn d2_53_d2_55_fan_out() {
    let review = || fan_out::review(Context::new("trees".to_owned()));
    let expected = "a summary of a page on trees, and a critique of a page on trees";
    assert_eq!(review().blocking_data().unwrap(), expected);
    assert_eq!(
        block_on(async { review().await.unwrap() }).unwrap(),
        expected
    );
    assert_eq!(review().graph().edges.len(), 5);
}

#[tokio::test]
async fn map_over_many_and_reduce() {
    assert_eq!(
        map_reduce::report(&["trees", "rivers", "hills"])
            .await
            .unwrap(),
        "trees, rivers, hills"
    );
    let failure = map_reduce::report(&["trees", "broken"]).await.unwrap_err();
    assert_eq!(
        (failure.node(), failure.cause().to_string().as_str()),
        ("fetch", "no such page")
    );
    let rest = map_reduce::report_of_the_rest(&["trees", "broken", "hills"])
        .await
        .unwrap();
    assert_eq!(rest, ("trees, hills".to_owned(), 1));
}

/// In one test: the standard manager has one block at a time.
#[test]
fn d2_54_d2_55_replica() {
    let replies = || runtime(Config::default(), replica::ask_three_times("Tea"));
    let async_replies = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(replies())
        .unwrap()
        .unwrap();
    let blocking_replies = block_on(replies()).unwrap().unwrap().unwrap();
    for replies in [async_replies, blocking_replies] {
        let calls = replies
            .iter()
            .map(|reply| reply.split("call ").nth(1).unwrap()[..1].to_owned())
            .collect::<Vec<_>>();
        assert_eq!(calls, ["1", "1", "2"]);
        assert!(replies[0].starts_with("Tea? Done"));
    }
}
