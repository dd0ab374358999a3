//! Pieces of a value that is still being made: a reader has them, from the first to the last.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use unhurried::{Context, NodeExecutionError, Piece, Pieces, Run, Stats, node, say};

const TOKENS: [&str; 3] = ["lazy", " is", " good"];

/// Says a token for every permit, so that a test decides when.
#[node]
async fn answer(_question: String, gate: Arc<Semaphore>) -> Result<String, String> {
    let mut text = String::new();
    for token in TOKENS {
        gate.acquire()
            .await
            .map_err(|error| error.to_string())?
            .forget();
        say(token.to_owned());
        text += token;
    }
    Ok(text)
}

fn asked() -> (Context<String>, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    (answer(Context::new("what?".to_owned()), gate.clone()), gate)
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(10), future)
        .await
        .expect("it comes soon")
}

async fn rest(mut pieces: Pieces<String>) -> Vec<Piece<String>> {
    let mut seen = Vec::new();
    while let Some(piece) = soon(pieces.next()).await {
        seen.push(piece);
    }
    seen
}

fn tokens() -> Vec<Piece<String>> {
    TOKENS.map(|token| Piece::Next(token.to_owned())).to_vec()
}

#[tokio::test]
async fn pieces_come_while_the_value_is_pending() {
    let (answer, gate) = asked();
    let mut pieces = answer.pieces::<String>();
    assert!(
        timeout(Duration::from_millis(10), pieces.next())
            .await
            .is_err(),
        "looking runs nothing"
    );
    let read = tokio::spawn(answer.clone().into_future());
    for token in TOKENS {
        gate.add_permits(1);
        assert!(answer.is_pending());
        assert_eq!(
            soon(pieces.next()).await,
            Some(Piece::Next(token.to_owned()))
        );
    }
    assert_eq!(soon(pieces.next()).await, None);
    assert_eq!(read.await.unwrap().unwrap(), "lazy is good");
    assert_eq!(
        rest(answer.pieces()).await,
        [],
        "the value is there: look at it"
    );
}

#[tokio::test]
async fn everyone_who_looks_has_all_of_them_also_who_comes_late() {
    let (answer, gate) = asked();
    let mut early = answer.pieces::<String>();
    let other = tokio::spawn(rest(answer.pieces()));
    let read = tokio::spawn(answer.clone().into_future());
    gate.add_permits(2);
    for _ in 0..2 {
        soon(early.next()).await.unwrap();
    }
    let late = tokio::spawn(rest(answer.pieces()));
    gate.add_permits(1);
    assert_eq!(
        (late.await.unwrap(), other.await.unwrap()),
        (tokens(), tokens())
    );
    assert_eq!(
        (rest(early).await, read.await.unwrap().unwrap()),
        (tokens()[2..].to_vec(), "lazy is good".to_owned())
    );
}

#[node(retry = 1)]
async fn stammers(_n: u64, tries: Arc<AtomicUsize>) -> Result<u64, String> {
    say("a".to_owned());
    tokio::task::yield_now().await;
    if tries.fetch_add(1, Ordering::SeqCst) == 0 {
        return Err("again".to_owned());
    }
    say("b".to_owned());
    Ok(1)
}

#[tokio::test]
async fn another_try_says_that_it_begins_again() {
    let context = stammers(Context::new(1), Arc::default());
    let (seen, read) = tokio::join!(rest(context.pieces()), context.data());
    assert_eq!(read.unwrap(), 1);
    // Whoever looks between two tries may miss the first one, and misses nothing.
    let a = Piece::Next("a".to_owned());
    let b = Piece::Next("b".to_owned());
    assert!(
        seen == [a.clone(), Piece::Again, a.clone(), b.clone()] || seen == [a, b],
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_failure_and_a_read_that_is_given_up_end_the_pieces_and_the_next_read_has_them_again() {
    let (answer, gate) = asked();
    let look = tokio::spawn(rest(answer.pieces()));
    tokio::task::yield_now().await;
    gate.add_permits(1);
    assert!(
        timeout(Duration::from_millis(10), answer.data())
            .await
            .is_err()
    );
    assert_eq!(look.await.unwrap(), tokens()[..1]);
    let next = tokio::spawn(rest(answer.pieces()));
    tokio::task::yield_now().await;
    gate.add_permits(3);
    assert_eq!(answer.data().await.unwrap(), "lazy is good");
    assert_eq!(next.await.unwrap(), tokens());

    let (answer, gate) = asked();
    let look = tokio::spawn(rest(answer.pieces()));
    gate.close();
    answer.data().await.unwrap_err();
    assert_eq!(look.await.unwrap(), []);
}

#[node]
async fn outer(n: u64) -> Result<u64, NodeExecutionError> {
    say(1_u64);
    let inner = stammers(Context::new(n), Arc::new(AtomicUsize::new(1)));
    let inner = inner.await?;
    say("not a number".to_owned());
    say(2_u64);
    Ok(inner)
}

#[tokio::test]
async fn a_piece_is_of_the_body_that_says_it_and_of_its_own_type() {
    let run = Run::new("r").hook(Stats::default());
    let (numbers, read) = run
        .scope(async {
            let context = outer(Context::new(1));
            let mut pieces = context.pieces::<u64>();
            let numbers = async {
                let mut seen = Vec::new();
                while let Some(piece) = soon(pieces.next()).await {
                    seen.push(piece);
                }
                seen
            };
            tokio::join!(numbers, context.data())
        })
        .await;
    assert_eq!(
        (numbers, read.unwrap()),
        (vec![Piece::Next(1), Piece::Next(2)], 1)
    );
    say("nobody can look");
}
