//! Streaming: the pieces of a value that is still being computed, such as tokens. The body says them, readers receive them.

use std::marker::PhantomData;

use tokio::sync::watch;

use crate::flow::Here;
use crate::value::{Output, Value};

/// The pieces of a value said until now. They belong to the recipe: when the value is there, they
/// go.
#[derive(Default)]
pub(crate) struct Said {
    /// Number of the try; none has begun at 0.
    attempt: usize,
    is_over: bool,
    pieces: Vec<Output>,
}

pub(crate) type Saying = watch::Sender<Said>;

/// Says a piece of the value that the node's body around is making, to [readers of
/// pieces](crate::Context::pieces), if there are any. Outside of a body, and where the body's code
/// runs on a task of its own, nothing is said.
///
/// A piece is of any type. It is gone when the value is there: lasting parts belong into the value.
///
/// ```
/// use unhurried::{Context, Piece, node, say};
///
/// #[node]
/// async fn answer(question: String) -> String {
///     let mut text = String::new();
///     for token in ["Because", " it", " is."] {
///         say(token.to_owned());
///         text += token;
///     }
///     text
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), unhurried::NodeExecutionError> {
/// let answer = answer(Context::new("why?".to_owned()));
/// let mut pieces = answer.pieces::<String>();
/// let look = async {
///     let mut seen = String::new();
///     while let Some(piece) = pieces.next().await {
///         match piece {
///             Piece::Next(token) => seen += &token,
///             Piece::Again => seen.clear(),
///         }
///     }
///     seen
/// };
/// let (seen, value) = tokio::join!(look, answer.data());
/// assert_eq!(seen, value?);
/// # Ok(())
/// # }
/// ```
pub fn say<P: Value>(piece: P) {
    if let Some(node) = Here::now().node {
        node.say(Output::new(piece));
    }
}

/// Adds a piece of the try under way.
pub(crate) fn add(saying: &Saying, piece: Output) {
    saying.send_modify(|said| {
        said.attempt = said.attempt.max(1);
        said.pieces.push(piece);
    });
}

/// A try begins: pieces of an earlier one do not count.
pub(crate) fn begin(saying: &Saying) {
    saying.send_modify(|said| {
        said.attempt += 1;
        said.is_over = false;
        said.pieces.clear();
    });
}

/// The computation is over without a value.
pub(crate) fn end(saying: &Saying) {
    saying.send_modify(|said| {
        said.attempt = said.attempt.max(1);
        said.is_over = true;
    });
}

/// A piece of a value, or that it begins anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<P> {
    /// The next piece.
    Next(P),
    /// The try of these pieces has failed, and another one has begun: forget them.
    Again,
}

/// The pieces of one value, from the first to the last, whenever one began to look. From
/// [`Context::pieces`](crate::Context::pieces).
pub struct Pieces<P> {
    /// None: the value is there already.
    said: Option<watch::Receiver<Said>>,
    attempt: usize,
    seen: usize,
    piece: PhantomData<fn() -> P>,
}

impl<P: Value> Pieces<P> {
    pub(crate) fn of(saying: Option<Saying>) -> Self {
        let said = saying.map(|saying| saying.subscribe());
        // What was over before is not looked for, but what comes next.
        let attempt = said.as_ref().map_or(0, |said| {
            let said = said.borrow();
            if said.is_over {
                said.attempt + 1
            } else {
                said.attempt.max(1)
            }
        });
        Pieces {
            said,
            attempt,
            seen: 0,
            piece: PhantomData,
        }
    }

    /// Returns the next piece of this type, as soon as it is said; none when the value is there, or
    /// its computation has failed or was given up. Looking runs nothing: a reader must read the
    /// value meanwhile.
    pub async fn next(&mut self) -> Option<Piece<P>> {
        loop {
            let attempt = self.attempt;
            let seen = self.seen;
            let is_new =
                |said: &Said| said.attempt == attempt && (said.pieces.len() > seen || said.is_over);
            let said = self
                .said
                .as_mut()?
                .wait_for(|said| said.attempt > attempt || is_new(said))
                .await
                .ok()?;
            if said.attempt > attempt {
                (self.attempt, self.seen) = (said.attempt, 0);
                if seen > 0 {
                    return Some(Piece::Again);
                }
                continue;
            }
            let piece = said.pieces.get(seen)?.get::<P>().cloned();
            self.seen += 1;
            if let Some(piece) = piece {
                return Some(Piece::Next(piece));
            }
        }
    }
}
