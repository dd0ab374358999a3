//! Fan-in: many contexts as one, with results by index.
//!
//! A fan-in is a node with the contexts as its parents, in their order. The index of a branch is
//! the index of its context; [`gather`] knows it for an argument, [`Branches`] for a fan-in that
//! reads for itself.

use std::ops::Range;
use std::sync::Arc;

use crate::context::{Argument, Call, Context, Given, Pending};
use crate::error::NodeExecutionError;
use crate::executor::{Branch, Branches, Gather};
use crate::node::Parents;
use crate::value::{Kind, Output, Value};

/// All of these, by index: the form of "map over N and reduce".
///
/// Reading it runs the branches side by side. The first failure is its failure; branches that completed are kept, and the
/// next read runs the others. A node with a `Vec<T>` or `&[T]` takes a `Vec<Context<T>>` as well, without this function.
/// [`at_once`] limits how much runs, [`outcomes`] has every error.
///
/// ```
/// use unhurried::{Context, all, node};
///
/// #[node]
/// async fn count(page: String) -> usize {
///     page.split_whitespace().count()
/// }
///
/// #[node]
/// async fn sum(counts: &[usize]) -> usize {
///     counts.iter().sum()
/// }
///
/// let pages = ["one", "one two", "one two three"].map(|page| Context::new(page.to_owned()));
/// let counts = pages.map(count); // map
/// assert_eq!(sum(counts.clone()).blocking_data().unwrap(), 6); // and reduce
/// assert_eq!(all(counts).blocking_data().unwrap(), [1, 2, 3]);
/// ```
#[must_use = "a context does nothing until it is read"]
pub fn all<T: Value>(contexts: impl IntoIterator<Item = Context<T>>) -> Context<Vec<T>> {
    let mut call = Call::new("all");
    let values = many(contexts, &mut call);
    call.pending(
        Kind::of::<Vec<T>>(None).transient(),
        values,
        |values, parents| {
            let all = values.value(parents);
            Box::pin(async move { Ok(Output::new(Arc::unwrap_or_clone(all))) })
        },
        |_, _, into| into.add("contexts", None),
    )
}

/// Returns the outcome of each of these, by index: its value, or its failure. One that fails stops
/// no other.
///
/// A failure is part of this value, and like every value it is kept; to run a failed branch again,
/// read the branch. A journal keeps no failures: a run that is taken up again tries such a branch
/// anew. To make a failure final the branch returns it as a value: an `Option`, for one.
///
/// ```
/// use unhurried::{Context, node, outcomes};
///
/// #[node]
/// async fn parse(text: String) -> Result<i64, std::num::ParseIntError> {
///     text.parse()
/// }
///
/// let parsed = ["1", "two", "3"].map(|text| parse(Context::new(text.to_owned())));
/// let outcomes = outcomes(parsed).blocking_data().unwrap();
/// assert_eq!((outcomes[0].as_ref().unwrap(), outcomes[2].as_ref().unwrap()), (&1, &3));
/// assert_eq!(outcomes[1].as_ref().unwrap_err().to_string(), "node `parse` failed: invalid digit found in string");
/// ```
#[must_use = "a context does nothing until it is read"]
pub fn outcomes<T: Value>(
    contexts: impl IntoIterator<Item = Context<T>>,
) -> Context<Vec<Result<T, NodeExecutionError>>> {
    AtOnce(usize::MAX).outcomes(contexts)
}

/// A fan-in that runs at most `n` nodes of its branches at the same time (none is taken for one).
///
/// A branch is ended before the next one is begun. Reads in the body of a node count as that node;
/// a fan-in with a limit of its own counts as one. The limit is this fan-in's: reads from elsewhere
/// are not held up by it.
///
/// ```
/// use unhurried::{Context, at_once, node};
///
/// #[node]
/// async fn fetch(page: u32) -> String {
///     format!("page {page}") // politely: two at a time
/// }
///
/// let pages = at_once(2).all((1..=5).map(|page| fetch(Context::new(page))));
/// assert_eq!(pages.blocking_data().unwrap()[4], "page 5");
/// ```
pub fn at_once(n: usize) -> AtOnce {
    AtOnce(n.max(1))
}

/// Most nodes that a fan-in may run at the same time. See [`at_once`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtOnce(usize);

impl AtOnce {
    /// [`all`] of these, so many at once.
    #[must_use = "a context does nothing until it is read"]
    pub fn all<T: Value>(self, contexts: impl IntoIterator<Item = Context<T>>) -> Context<Vec<T>> {
        self.read("all", contexts, false, |results| {
            let values = values::<T>(results).collect::<Result<Vec<T>, _>>();
            values.map(Output::new)
        })
    }

    /// [`outcomes`] of these, so many at once.
    #[must_use = "a context does nothing until it is read"]
    pub fn outcomes<T: Value>(
        self,
        contexts: impl IntoIterator<Item = Context<T>>,
    ) -> Context<Vec<Result<T, NodeExecutionError>>> {
        self.read("outcomes", contexts, true, |results| {
            Ok(Output::new(values::<T>(results).collect::<Vec<_>>()))
        })
    }

    fn read<T: Value, U: Value>(
        self,
        name: &'static str,
        contexts: impl IntoIterator<Item = Context<T>>,
        to_the_end: bool,
        gather: Gather,
    ) -> Context<U> {
        let mut call = Call::new(name);
        let _ = many(contexts, &mut call);
        let branches = Branches {
            at_once: self.0,
            to_the_end,
            gather,
        };
        call.pending_by(Kind::of::<U>(None).transient(), branches)
    }
}

/// Outcomes of branches, each with its type again.
fn values<T: Value>(results: Vec<Branch>) -> impl Iterator<Item = Result<T, NodeExecutionError>> {
    results.into_iter().map(|result| result.map(Output::value))
}

/// Takes contexts as parents of a call, in their order.
fn many<T: Value>(
    contexts: impl IntoIterator<Item = Context<T>>,
    call: &mut Call,
) -> Given<Vec<T>> {
    let first = call.parents.len();
    call.parents
        .extend(contexts.into_iter().map(|context| context.node));
    Given::Parents(first..call.parents.len(), gather)
}

/// The values of these parents: the one of branch `i` at `i`.
fn gather<T: Value>(parents: &Parents, places: Range<usize>) -> Vec<T> {
    places.map(|place| parents.value(place).value()).collect()
}

impl<T: Value> Argument<Vec<T>> for Vec<Context<T>> {
    type Kind = Pending;

    fn give(self, call: &mut Call) -> Given<Vec<T>> {
        many(self, call)
    }
}

impl<T: Value, const N: usize> Argument<Vec<T>> for [Context<T>; N] {
    type Kind = Pending;

    fn give(self, call: &mut Call) -> Given<Vec<T>> {
        many(self, call)
    }
}

impl<T: Value> Argument<Vec<T>> for &Vec<Context<T>> {
    type Kind = Pending;

    fn give(self, call: &mut Call) -> Given<Vec<T>> {
        many(self.iter().cloned(), call)
    }
}

impl<T: Value> Argument<Vec<T>> for &[Context<T>] {
    type Kind = Pending;

    fn give(self, call: &mut Call) -> Given<Vec<T>> {
        many(self.iter().cloned(), call)
    }
}
