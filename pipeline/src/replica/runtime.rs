//! The deployment of all replicas of a manager: by name, together, or for one block of code.

use std::future::Future;
use std::sync::Arc;

use crate::replica::backend::Backend;
use crate::replica::error::ReplicaError;
use crate::replica::manager::{Config, Manager};
use crate::replica::pool::{Declared, Pool};

impl Manager {
    /// The replicas registered here, by their full names.
    pub fn replicas(&'static self) -> Vec<&'static Pool> {
        let declared = inventory::iter::<Declared>
            .into_iter()
            .map(|declared| (declared.0)());
        let mut mine = declared
            .filter(|pool| std::ptr::eq(pool.manager(), self))
            .collect::<Vec<_>>();
        mine.sort_by_key(|pool| pool.spec().name);
        mine
    }

    /// A replica by its full path, or by its short name if no other has it.
    pub fn find(&'static self, name: &str) -> Result<&'static Pool, ReplicaError> {
        let all = self.replicas();
        let mut found = all.clone();
        found.retain(|pool| pool.spec().name == name);
        if found.is_empty() {
            found.extend(all.iter().filter(|pool| pool.spec().short_name() == name));
        }
        match found.as_slice() {
            [] => Err(ReplicaError::Unknown {
                name: name.to_owned(),
                known: names(&all),
            }),
            [one] => Ok(one),
            several => Err(ReplicaError::Ambiguous {
                name: name.to_owned(),
                candidates: names(several),
            }),
        }
    }

    /// Makes the instances of every replica registered here, from the arguments that each
    /// remembers.
    pub async fn deploy_all(&'static self) -> Result<(), ReplicaError> {
        for pool in self.replicas() {
            pool.deploy_remembered().await?;
        }
        Ok(())
    }

    /// Ends all instances. One that cannot be ended does not keep the others; the first such failure is returned.
    pub async fn shutdown_all(&'static self) -> Result<(), ReplicaError> {
        let mut result = Ok(());
        for pool in self.replicas() {
            result = result.and(pool.shutdown().await);
        }
        result
    }

    /// Runs `work` with every replica of this manager deployed by `config`. Ends them all when it
    /// is over: by a result, an error, a panic or because it is dropped. Then the former backend
    /// is back. See [`runtime`].
    pub async fn runtime<F: Future>(
        &'static self,
        config: Config,
        work: F,
    ) -> Result<F::Output, ReplicaError> {
        let block = Block::open(self, config.open()?)?;
        self.deploy_all().await?;
        let output = work.await;
        block.close().await;
        Ok(output)
    }
}

fn names(pools: &[&Pool]) -> Vec<String> {
    pools
        .iter()
        .map(|pool| pool.spec().name.to_owned())
        .collect()
}

/// Runs `work` with every replica of the standard manager deployed first and shut down always.
///
/// A manager has one such block at a time; a second one is refused. Earlier deployments are shut
/// down first, so that within the block all replicas are where `config` puts them.
///
/// ```standalone_crate
/// use unhurried::{Config, Context, Replica, ReplicaError, node, replica, runtime};
///
/// struct Greeter;
///
/// #[replica(n = 2)]
/// impl Greeter {
///     pub fn new() -> Self {
///         Greeter
///     }
///
///     pub fn greet(&self, name: String) -> String {
///         format!("Hello {name}")
///     }
/// }
///
/// #[node]
/// async fn welcome(name: String) -> Result<String, ReplicaError> {
///     Greeter::get().await?.greet(name).await
/// }
///
/// let config = Config::default(); // or `Config::new("grpc").option("url", …)`: nothing else changes
/// let told = unhurried::block_on(runtime(config, async { welcome(Context::new("Ada".to_owned())).await }));
/// assert_eq!(told.unwrap().unwrap().unwrap(), "Hello Ada");
/// ```
pub async fn runtime<F: Future>(config: Config, work: F) -> Result<F::Output, ReplicaError> {
    Manager::standard().runtime(config, work).await
}

/// An open `runtime` block. However it ends, its instances end and the backend is that of before.
struct Block {
    manager: &'static Manager,
    before: Option<Arc<dyn Backend>>,
}

impl Block {
    fn open(manager: &'static Manager, backend: Arc<dyn Backend>) -> Result<Self, ReplicaError> {
        let before = manager.state.with(|state| {
            if std::mem::replace(&mut state.block_is_open, true) {
                return Err(ReplicaError::BlockIsOpen);
            }
            Ok(state.backend.replace(backend))
        })?;
        let block = Block { manager, before };
        block.abandon();
        Ok(block)
    }

    async fn close(self) {
        // A server that is gone has no instances either; the work is done and its result counts.
        if let Err(error) = self.manager.shutdown_all().await {
            tracing::warn!(%error, "a replica could not be shut down");
        }
    }

    /// Without waiting: local instances end here, others on a task of their own, or before the pool is deployed again.
    /// A replica that is being deployed finds itself forgotten when it is done, and is deployed anew by the backend there
    /// is by then.
    fn abandon(&self) {
        for pool in self.manager.replicas() {
            if let (true, Ok(handle)) = (pool.forget(), tokio::runtime::Handle::try_current()) {
                handle.spawn(pool.end_forgotten());
            }
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // In this order: whoever deploys from here on does so outside of the block, and no other block is hit.
        let before = self.before.take();
        self.manager.state.with(|state| state.backend = before);
        self.abandon();
        self.manager.state.with(|state| state.block_is_open = false);
    }
}
