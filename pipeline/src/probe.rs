//! Probes tell the attributes about a type of which they see only the name: whether it is a `Result`, data, a context.
//!
//! Method resolution prefers a method of the type itself to one of a trait, and that to one that needs one reference more.
//! So the compiler takes the first answer that fits, without a bound on the type.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::data;
use crate::value::{Codec, Kind, Output, Value};

/// The returned value of a function, as a `Result`. [`Probe`] tells a `Result` from other types.
pub trait Returned<const FALLIBLE: bool> {
    /// The type of its success.
    type Value;
    /// The type of its error.
    type Error;

    /// The returned value.
    fn result(self) -> Result<Self::Value, Self::Error>;
}

impl<T, E> Returned<true> for Result<T, E> {
    type Value = T;
    type Error = E;

    fn result(self) -> Result<T, E> {
        self
    }
}

impl<T> Returned<false> for T {
    type Value = T;
    type Error = Infallible;

    fn result(self) -> Result<T, Infallible> {
        Ok(self)
    }
}

/// Finds out about a type, without a bound on it. The members for a `Result` here come before those
/// that [`Infallibly`] has for all types. `(&Probe::<T>::new()).kind()` has a codec if the type can
/// be recorded: the first of two methods that fits is called.
pub struct Probe<T: ?Sized>(PhantomData<T>);

impl<T, E> Probe<Result<T, E>> {
    /// True: the type is a `Result`, under any name.
    pub const FALLIBLE: bool = true;

    /// The same for types that are not known yet.
    pub fn fallible(&self) -> AliasOfResult {
        AliasOfResult
    }
}

/// The answers for any other type.
pub trait Infallibly {
    /// No.
    const FALLIBLE: bool = false;

    /// No.
    fn fallible(&self) -> PlainValue {
        PlainValue
    }
}

impl<T: ?Sized> Infallibly for Probe<T> {}

/// A `Result` by another name.
pub struct AliasOfResult;

/// No `Result`.
pub struct PlainValue;

/// The types that [`written_out`] takes.
#[diagnostic::on_unimplemented(
    message = "this type is a `Result` by another name, and depends on a type parameter of the node",
    label = "write `Result<…, …>` out in the node's signature: only then is an `Err` a failure of the node"
)]
pub trait WrittenOut {}

impl WrittenOut for PlainValue {}

/// Refuses an alias of `Result` that the attribute could not see through.
pub fn written_out(_: &impl WrittenOut) {}

impl<T: ?Sized> Probe<T> {
    /// A probe of `T`.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Probe(PhantomData)
    }
}

/// The type is data.
pub trait Recordable {
    /// With a codec.
    fn kind(&self) -> Kind;
}

impl<T: Value + Serialize + DeserializeOwned> Recordable for Probe<T> {
    fn kind(&self) -> Kind {
        let encode = |output: &Output| data::of(&*output.clone().shared::<T>());
        Kind::of::<T>(Some(Codec {
            encode,
            decode: |data| serde_json::from_value::<T>(data).map(Output::new),
        }))
    }
}

/// The type is not data.
pub trait Unrecordable {
    /// Without a codec.
    fn kind(&self) -> Kind;
}

// Wider than `Value`, that of a value that is none the compiler says only that.
impl<T: Send + Sync + 'static> Unrecordable for &Probe<T> {
    fn kind(&self) -> Kind {
        Kind::of::<T>(None)
    }
}

/// The argument is data.
pub trait Written<T> {
    /// As data.
    fn data(&self, value: &T) -> Option<serde_json::Result<serde_json::Value>>;
}

impl<T: Serialize> Written<T> for Probe<T> {
    fn data(&self, value: &T) -> Option<serde_json::Result<serde_json::Value>> {
        Some(data::of(value))
    }
}

/// The argument is not data.
pub trait Unwritten<T> {
    /// None.
    fn data(&self, value: &T) -> Option<serde_json::Result<serde_json::Value>>;
}

impl<T> Unwritten<T> for &Probe<T> {
    fn data(&self, _: &T) -> Option<serde_json::Result<serde_json::Value>> {
        None
    }
}

/// Nothing pending within.
pub struct NoContext;

/// A pending context, or a value that holds one.
pub struct PendingContext;

macro_rules! pending {
    ($(<$($parameter:ident),+> $held:ty;)*) => { $(
        impl<$($parameter),+> Probe<$held> {
            /// The type is, or holds, a pending context.
            pub fn pending(&self) -> PendingContext {
                PendingContext
            }
        }
    )* };
}

// A pointer is `Unpin` whatever it points to, so `Value` does not keep these out.
pending! {
    <T> Context<T>;
    <T> Box<Context<T>>;
    <T> Arc<Context<T>>;
    <T> Box<[Context<T>]>;
    <T> Arc<[Context<T>]>;
    <T> Box<Vec<Context<T>>>;
    <T> Arc<Vec<Context<T>>>;
    <T> Vec<Box<Context<T>>>;
    <T> Vec<Arc<Context<T>>>;
    <T> Option<Box<Context<T>>>;
    <T> Option<Arc<Context<T>>>;
    <K, T> HashMap<K, Arc<Context<T>>>;
    <K, T> BTreeMap<K, Arc<Context<T>>>;
}

/// Any other type.
pub trait NotPending {
    /// No context, as far as its name says.
    fn pending(&self) -> NoContext {
        NoContext
    }
}

impl<T: ?Sized> NotPending for Probe<T> {}

/// The type is `Unpin`, as all are that hold no context by value.
pub trait Movable {
    /// No context by value.
    fn pinned(&self) -> NoContext;
}

impl<T: Unpin + ?Sized> Movable for Probe<T> {
    fn pinned(&self) -> NoContext {
        NoContext
    }
}

/// The type is not.
pub trait Immovable {
    /// A context by value, somewhere within.
    fn pinned(&self) -> PendingContext;
}

impl<T: ?Sized> Immovable for &Probe<T> {
    fn pinned(&self) -> PendingContext {
        PendingContext
    }
}
