//! A handler's client: the session of a request, and the right that the operation needs. It stands before all else that a handler takes,
//! so that nothing of a request is read or judged for a client without the right. A bare `Session` cannot be taken.

use std::marker::PhantomData;
use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::request;

use crate::problem::{Problem, Slug};
use thinkd_session::handle::Session;
use thinkd_session::right::Right;

/// The session of a client that has the right.
pub struct Needs<R>(Session, PhantomData<R>);

/// A right as a type.
pub trait Needed {
    /// The right.
    const RIGHT: Right;
}

macro_rules! needed {
    ($($right:ident),*) => {$(
        #[doc = concat!("`Right::", stringify!($right), "`")]
        pub struct $right;
        impl Needed for $right {
            const RIGHT: Right = Right::$right;
        }
    )*};
}
needed!(Read, Speak, Shape, Judge, Oversee);

impl<R> Deref for Needs<R> {
    type Target = Session;
    fn deref(&self) -> &Session {
        &self.0
    }
}

impl<R: Needed, S: Sync> FromRequestParts<S> for Needs<R> {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut request::Parts, _: &S) -> Result<Self, Problem> {
        // As `authenticate` put it into the request.
        let session = parts.extensions.get::<Session>().cloned();
        let session = session
            .ok_or_else(|| Problem::new(Slug::Unauthenticated, "credentials are missing"))?;
        session.require(R::RIGHT)?;
        Ok(Self(session, PhantomData))
    }
}
