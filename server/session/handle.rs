//! A session is a principal in its space, and all that a door of the edge sees. Each method names
//! the right that it needs, then asks the store or the runtime. This file has the opening of a
//! session, its rights and its errors; the files beside it have its acts.

use std::sync::Arc;

use super::right::{Right, may};
use crate::kinds::Kinds;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_runtime::handle::Runtime;
use thinkd_runtime::refused::Refused;
use thinkd_tasks::share::{Places, Work, cores};
use thinkd_words::id::Space;
use thinkd_words::principal::Principal;

/// The result of an act.
pub type Acted<T> = Result<T, Error>;

/// Why an act was refused. Nothing was stored.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The session's role does not have the right.
    #[error("{}", .0.denial())]
    Forbidden(Right),
    /// The runtime or the store refused it.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Refused(Refused::Store(error))
    }
}

/// Opens sessions; cheap to clone.
#[derive(Clone)]
pub struct Sessions {
    runtime: Runtime,
    kinds: Kinds,
    /// Places for following the log and reading pages of it, which spaces share.
    pages: Places,
}

/// The acts of one principal; cheap to clone.
#[derive(Clone)]
pub struct Session {
    sessions: Sessions,
    principal: Principal,
}

impl Sessions {
    /// Sessions on a runtime and its kinds of work; a space has at most `share` of the places for reading pages.
    pub fn new(runtime: Runtime, kinds: Kinds, share: f64) -> Self {
        Self {
            runtime,
            kinds,
            // A page is work for a processor: more at a time would not be read sooner.
            pages: Places::new("pages", cores(), share),
        }
    }

    /// Opens the session of a principal.
    pub fn open(&self, principal: Principal) -> Session {
        Session {
            sessions: self.clone(),
            principal,
        }
    }

    /// Checks that the database answers. Needs no right.
    pub async fn ping(&self) -> Result<(), Error> {
        Ok(self.runtime.store().ping().await?)
    }
}

impl Session {
    /// Returns the principal.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The space it is in.
    pub fn space(&self) -> &Space {
        &self.principal.space
    }

    /// Returns the name of the user, if one was given.
    pub fn user(&self) -> Option<&str> {
        self.principal.user.as_deref()
    }

    /// Sets the name of the user.
    pub fn set_user(&mut self, user: String) {
        self.principal.user = Some(user);
    }

    /// Returns true if it has a right.
    pub fn may(&self, right: Right) -> bool {
        may(self.principal.role, right)
    }

    /// Refuses a principal that does not have a right.
    pub fn require(&self, right: Right) -> Result<(), Error> {
        if self.may(right) {
            Ok(())
        } else {
            Err(Error::Forbidden(right))
        }
    }

    /// Work for the client, polled when its space may have a processor.
    pub fn share<F: Future>(&self, work: F) -> Work<F> {
        self.sessions.runtime.processors().of(self.space(), work)
    }

    /// Gives a new space its first submodules, once; to be called before anything else is done in it.
    pub async fn open_space(&self) -> Result<(), Error> {
        Ok(self.sessions.runtime.open(self.space()).await?)
    }

    /// The author of an act: the user, or the role of a client without a name.
    pub(super) fn author(&self) -> &str {
        self.user().unwrap_or(self.principal.role.as_str())
    }

    /// The log and the space that the session reads in it.
    pub(super) fn reading(&self) -> Result<(&Arc<dyn Store>, &Space), Error> {
        Ok((self.store(Right::Read)?, self.space()))
    }

    /// The runtime and the space that the session acts in, with a right.
    pub(super) fn acting(&self, right: Right) -> Result<(&Runtime, &Space), Error> {
        Ok((self.runtime(right)?, self.space()))
    }

    /// Returns the store, if the principal has the right: there is no other way to it.
    pub(super) fn store(&self, right: Right) -> Result<&Arc<dyn Store>, Error> {
        self.runtime(right).map(Runtime::store)
    }

    /// Returns the runtime, if the principal has the right: there is no other way to it.
    pub(super) fn runtime(&self, right: Right) -> Result<&Runtime, Error> {
        self.require(right)?;
        Ok(&self.sessions.runtime)
    }

    /// Returns the kinds of work, if the principal has the right: there is no other way to them.
    pub(super) fn kinds(&self, right: Right) -> Result<&Kinds, Error> {
        self.require(right)?;
        Ok(&self.sessions.kinds)
    }

    /// Places for reading pages.
    pub(super) fn pages(&self) -> &Places {
        &self.sessions.pages
    }

    /// Returns the store, for the notes that the server itself makes about a session.
    pub(super) fn own_store(&self) -> &Arc<dyn Store> {
        self.sessions.runtime.store()
    }
}
