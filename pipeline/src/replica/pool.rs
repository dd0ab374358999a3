//! The instances of one replica: deployed at most once at a time, handed out in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde_json::value::to_raw_value;

use crate::replica::backend::{Backend, Data, Eventually, Instance};
use crate::replica::error::ReplicaError;
use crate::replica::manager::Manager;
use crate::sync::Mutex;

/// What a declaration says of a replica.
pub struct Spec {
    /// The full path of the type.
    pub name: &'static str,
    /// How many instances it shall have.
    pub n: usize,
    /// Which of them a caller gets.
    pub pick: Pick,
    /// What can be called.
    pub methods: &'static [&'static str],
    /// Builds an instance from the arguments of its constructor, as data, and calls its initialiser.
    pub construct: fn(Data) -> Eventually<Arc<dyn Instance>>,
}

/// Which instance a caller gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// One after the other.
    RoundRobin,
    /// The one that the fewest callers hold; of these the first.
    LeastBusy,
}

impl Spec {
    /// The type's own name, without the path.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit("::").next().unwrap_or(self.name)
    }
}

/// The handle of a replica: `deploy`, `shutdown`, `scale`, `get`. Made by `#[replica]`, one for each.
pub struct Pool {
    spec: Spec,
    manager: fn() -> &'static Manager,
    deployed: Mutex<Deployed>,
    /// Held by whoever deploys, scales or shuts down; whoever needs the outcome waits for it.
    change: tokio::sync::Mutex<()>,
    turn: AtomicUsize,
}

#[derive(Default)]
struct Deployed {
    /// Of the constructor; kept over a shutdown.
    arguments: Option<Data>,
    instances: Vec<Arc<dyn Instance>>,
    /// Where they live; they are ended there, whatever is configured by then.
    backend: Option<Arc<dyn Backend>>,
}

/// How a declaration is found without a list of declarations.
#[doc(hidden)]
pub struct Declared(pub fn() -> &'static Pool);

inventory::collect!(Declared);

impl Pool {
    #[doc(hidden)]
    pub const fn new(spec: Spec, manager: fn() -> &'static Manager) -> Self {
        Pool {
            spec,
            manager,
            deployed: Mutex::new(Deployed { arguments: None, instances: Vec::new(), backend: None }),
            change: tokio::sync::Mutex::const_new(()),
            turn: AtomicUsize::new(0),
        }
    }

    /// What the declaration says.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The manager it is registered with.
    pub fn manager(&self) -> &'static Manager {
        (self.manager)()
    }

    /// How many instances there are now.
    pub fn deployed(&self) -> usize {
        self.deployed.with(|deployed| deployed.instances.len())
    }

    /// Remembers what instances are to be built from. Changes nothing that is deployed.
    pub fn remember(&self, arguments: &impl Serialize) -> Result<(), ReplicaError> {
        let data = to_raw_value(arguments).map_err(|error| self.bad_arguments(error))?;
        self.deployed.with(|deployed| deployed.arguments = Some(data));
        Ok(())
    }

    /// Makes the instances from these arguments, and remembers them. If they are there already, nothing changes.
    pub async fn deploy(&'static self, arguments: &impl Serialize) -> Result<(), ReplicaError> {
        let _change = self.change.lock().await;
        if self.deployed() > 0 {
            return Ok(());
        }
        self.remember(arguments)?;
        self.bring_to(self.spec.n).await
    }

    /// Makes the instances, if they are not there, from what is remembered.
    pub async fn deploy_remembered(&'static self) -> Result<(), ReplicaError> {
        let _change = self.change.lock().await;
        if self.deployed() > 0 { Ok(()) } else { self.bring_to(self.spec.n).await }
    }

    /// Makes more instances, or ends the last ones. The others keep their state.
    pub async fn scale(&'static self, n: usize) -> Result<(), ReplicaError> {
        if n == 0 {
            return Err(ReplicaError::NoInstances(self.spec.name.to_owned()));
        }
        let _change = self.change.lock().await;
        self.bring_to(n).await
    }

    /// Ends all instances; their arguments stay remembered. Each is dropped when the last call of it is over.
    pub async fn shutdown(&'static self) -> Result<(), ReplicaError> {
        let _change = self.change.lock().await;
        match self.forget() {
            Some(backend) => backend.shutdown(&self.spec).await,
            None => Ok(()),
        }
    }

    /// An instance; deploys first, if nobody did.
    pub async fn get(&'static self) -> Result<Arc<dyn Instance>, ReplicaError> {
        loop {
            if let Some(instance) = self.pick() {
                return Ok(instance);
            }
            // Again in the rare case that someone shuts down in between.
            self.deploy_remembered().await?;
        }
    }

    fn pick(&self) -> Option<Arc<dyn Instance>> {
        self.deployed.with(|deployed| match self.spec.pick {
            _ if deployed.instances.is_empty() => None,
            Pick::RoundRobin => {
                let turn = self.turn.fetch_add(1, Ordering::Relaxed);
                deployed.instances.get(turn % deployed.instances.len()).cloned()
            }
            // Who holds an instance holds a reference: nothing else needs to be counted.
            Pick::LeastBusy => deployed.instances.iter().min_by_key(|instance| Arc::strong_count(instance)).cloned(),
        })
    }

    /// Forgets the instances at once, and says where they are to be ended.
    pub(crate) fn forget(&self) -> Option<Arc<dyn Backend>> {
        self.turn.store(0, Ordering::Relaxed);
        let (instances, backend) =
            self.deployed.with(|deployed| (std::mem::take(&mut deployed.instances), deployed.backend.take()));
        drop(instances); // not under the lock: their cleanup is not ours
        backend
    }

    async fn bring_to(&'static self, n: usize) -> Result<(), ReplicaError> {
        let (arguments, existing, backend) = self.deployed.with(|deployed| {
            if deployed.instances.is_empty() {
                deployed.backend = None;
            }
            // Noted before it is asked: whoever is cancelled here must still find where to shut down.
            let backend = deployed.backend.get_or_insert_with(|| self.manager().backend());
            let backend = backend.clone();
            (deployed.arguments.clone(), deployed.instances.clone(), backend)
        });
        let arguments = match arguments {
            Some(arguments) => arguments,
            // A constructor without parameters reads nothing out of this; another says what it lacks.
            None => to_raw_value(&()).map_err(|error| self.bad_arguments(error))?,
        };
        let built = backend.scale(&self.spec, &arguments, existing, n).await;
        let instances = built.map_err(|error| self.without_arguments(error))?;
        let ended = self.deployed.with(|deployed| std::mem::replace(&mut deployed.instances, instances));
        drop(ended);
        Ok(())
    }

    /// Arguments that nobody gave cannot be wrong; they are missing.
    fn without_arguments(&self, error: ReplicaError) -> ReplicaError {
        let none_given = self.deployed.with(|deployed| deployed.arguments.is_none());
        match error {
            ReplicaError::Arguments { replica, method, .. } if none_given && method == "new" => {
                ReplicaError::NoArguments(replica)
            }
            error => error,
        }
    }

    fn bad_arguments(&self, error: serde_json::Error) -> ReplicaError {
        let replica = self.spec.name.to_owned();
        ReplicaError::Arguments { replica, method: "new".to_owned(), text: error.to_string() }
    }
}
