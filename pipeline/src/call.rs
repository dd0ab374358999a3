//! Makes nodes of functions: the calls that `#[node]` expands to, and [`wrap`] for a function or
//! closure.

use std::borrow::Cow;
use std::error::Error;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::context::{Argument, Call, Context, HasContext};
use crate::data::Gathering;
use crate::flow;
use crate::node::{Function, Node, Parents, Recipe};
use crate::once::Once;
use crate::past::{Few, Past};
use crate::value::{Kind, Outcome, Output, Value};

impl Call {
    /// A call of the node of this name.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Call {
            name: name.into(),
            parents: Few::new(),
        }
    }

    /// Returns the pending value of this call: `run` computes it from the `given` arguments and the
    /// parents; `gather` turns the same arguments into data.
    pub fn pending<T: Value, G: Send + Sync + 'static>(
        self,
        kind: Kind,
        given: G,
        run: impl Fn(&G, &Parents) -> BoxFuture<'static, Outcome> + Send + Sync + 'static,
        gather: impl Fn(&G, &Parents, &mut Gathering) + Send + Sync + 'static,
    ) -> Context<T> {
        self.pending_by(kind, Closures { given, run, gather })
    }

    pub(crate) fn pending_by<T: Value>(
        self,
        kind: Kind,
        function: impl Function + 'static,
    ) -> Context<T> {
        Context::of(Arc::new(Node {
            past: Past::of(self.name, false),
            kind: Some(kind),
            birth: flow::birth(
                self.parents
                    .iter()
                    .filter_map(|parent| parent.birth.as_ref()),
            ),
            once: Once::pending(Arc::new(Recipe {
                parents: Parents(self.parents),
                saying: OnceLock::new(),
                function,
            })),
        }))
    }
}

/// The function of a node as the attribute writes it.
struct Closures<G, R, A> {
    given: G,
    run: R,
    gather: A,
}

impl<G, R, A> Function for Closures<G, R, A>
where
    G: Send + Sync,
    R: Fn(&G, &Parents) -> BoxFuture<'static, Outcome> + Send + Sync,
    A: Fn(&G, &Parents, &mut Gathering) + Send + Sync,
{
    fn reads(&self) -> bool {
        false
    }

    fn run(&self, parents: &Parents) -> BoxFuture<'static, Outcome> {
        (self.run)(&self.given, parents)
    }

    fn gather(&self, parents: &Parents, into: &mut Gathering) {
        (self.gather)(&self.given, parents, into);
    }
}

/// Value of a node's body, on its way out.
pub fn outcome<T: Value, E: Into<Box<dyn Error + Send + Sync>>>(result: Result<T, E>) -> Outcome {
    result
        .map(Output::new)
        .map_err(|error| Arc::from(error.into()))
}

/// A function made a node, under a name. See [`wrap`].
pub struct Wrapped<F, A> {
    name: Cow<'static, str>,
    function: Arc<F>,
    argument: PhantomData<fn(A)>,
}

/// Makes a node of a function or closure, under a name of its own. The function returns a `Result`; journals do not record
/// its value.
///
/// ```
/// use unhurried::{Context, wrap};
///
/// let bonus = 3;
/// let add_bonus = wrap("add bonus", move |n: i64| async move { Ok::<_, String>(n + bonus) });
///
/// let sum = add_bonus.call(add_bonus.call(Context::new(1)));
/// assert_eq!(sum.pending(), ["add bonus", "add bonus"]);
/// assert_eq!(sum.blocking_data().unwrap(), 7);
/// ```
pub fn wrap<F, A, R, T, E>(name: impl Into<Cow<'static, str>>, function: F) -> Wrapped<F, A>
where
    F: Fn(A) -> R + Send + Sync + 'static,
    R: Future<Output = Result<T, E>> + Send + 'static,
{
    Wrapped {
        name: name.into(),
        function: Arc::new(function),
        argument: PhantomData,
    }
}

impl<F, A: Value> Wrapped<F, A> {
    /// Calls the node and returns a pending value at once.
    #[must_use = "a context does nothing until it is read"]
    pub fn call<R, T, E, G>(&self, argument: G) -> Context<T>
    where
        F: Fn(A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Value,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
        G: Argument<A>,
        (G::Kind, ()): HasContext,
    {
        let mut call = Call::new(self.name.clone());
        let given = (self.function.clone(), argument.give(&mut call));
        call.pending(
            Kind::of::<T>(None).transient(),
            given,
            |(function, argument), parents| {
                let argument = Arc::unwrap_or_clone(argument.value(parents));
                let function = function.clone();
                Box::pin(async move { outcome(function(argument).await) })
            },
            // The type is not known to be data where a closure is wrapped.
            |_, _, into| into.add("argument", None),
        )
    }
}

/// A node object as data: the name of its type and its settings, nothing else.
pub fn describe<T: Serialize>(object: &T) -> serde_json::Result<serde_json::Value> {
    let name = std::any::type_name::<T>().rsplit("::").next();
    Ok(serde_json::json!({ "type": name, "settings": serde_json::to_value(object)? }))
}
