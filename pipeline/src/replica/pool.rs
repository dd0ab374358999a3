//! The pool of one replica's instances: deployed at most once at a time, handed out in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use crate::replica::backend::{Backend, Instance, Pick, Spec, packed};
use crate::replica::data::Data;
use crate::replica::error::ReplicaError;
use crate::replica::manager::Manager;
use crate::sync::Mutex;

/// The handle of a replica: `deploy`, `shutdown`, `scale`, `get`. Made by `#[replica]`, one for each.
pub struct Pool {
    spec: Spec,
    manager: fn() -> &'static Manager,
    deployed: Mutex<Deployed>,
    /// Held while a task deploys, scales or shuts down; others that need the outcome wait for it.
    change: tokio::sync::Mutex<()>,
    turn: AtomicUsize,
}

#[derive(Default)]
struct Deployed {
    /// Of the constructor; kept over a shutdown.
    arguments: Option<Data>,
    instances: Vec<Arc<dyn Instance>>,
    /// The backend of the instances; they are ended there, under any later configuration. None,
    /// too, while they are forgotten.
    backend: Option<Arc<dyn Backend>>,
    /// Backends with instances still to be ended that this pool has forgotten.
    forgotten: Vec<Arc<dyn Backend>>,
}

/// An entry by which a declaration is found without a list of declarations.
#[doc(hidden)]
pub struct Declared(pub fn() -> &'static Pool);

inventory::collect!(Declared);

impl Pool {
    #[doc(hidden)]
    pub const fn new(spec: Spec, manager: fn() -> &'static Manager) -> Self {
        Pool {
            spec,
            manager,
            deployed: Mutex::new(Deployed {
                arguments: None,
                instances: Vec::new(),
                backend: None,
                forgotten: Vec::new(),
            }),
            change: tokio::sync::Mutex::const_new(()),
            turn: AtomicUsize::new(0),
        }
    }

    /// Returns the declaration.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The manager it is registered with.
    pub fn manager(&self) -> &'static Manager {
        (self.manager)()
    }

    /// Returns the number of instances now.
    pub fn deployed(&self) -> usize {
        self.deployed.with(|deployed| deployed.instances.len())
    }

    /// Remembers the arguments from which instances are built. Changes nothing that is deployed.
    pub fn remember(&self, arguments: &impl Serialize) -> Result<(), ReplicaError> {
        let data = packed(self.spec.name, "new", arguments)?;
        self.deployed
            .with(|deployed| deployed.arguments = Some(data));
        Ok(())
    }

    /// Makes the instances from these arguments, and remembers them. If they are there already, nothing changes.
    pub async fn deploy(&'static self, arguments: &impl Serialize) -> Result<(), ReplicaError> {
        let data = packed(self.spec.name, "new", arguments)?;
        self.deploy_data(Some(data)).await
    }

    /// Makes the instances, if they are not there, from the remembered arguments.
    pub async fn deploy_remembered(&'static self) -> Result<(), ReplicaError> {
        self.deploy_data(None).await
    }

    /// Makes the instances, if they are not there, from these arguments, or from the remembered
    /// ones.
    pub(crate) async fn deploy_data(
        &'static self,
        arguments: Option<Data>,
    ) -> Result<(), ReplicaError> {
        let _change = self.change.lock().await;
        if self.deployed() > 0 {
            return Ok(());
        }
        if arguments.is_some() {
            self.deployed
                .with(|deployed| deployed.arguments = arguments);
        }
        self.bring_to(self.spec.n).await
    }

    /// Makes more instances, or ends the last ones. The others keep their state. One that is scaled
    /// away is handed out no more from then on, and ends when the last caller lets go of it.
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
        self.forget();
        self.end().await
    }

    /// Returns an instance; deploys first, if there is none.
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
                deployed
                    .instances
                    .get(turn % deployed.instances.len())
                    .cloned()
            }
            // Who holds an instance holds a reference: nothing else needs to be counted.
            Pick::LeastBusy => deployed
                .instances
                .iter()
                .min_by_key(|instance| Arc::strong_count(instance))
                .cloned(),
        })
    }

    /// Forgets the instances at once. Returns true if their backends still have to end some: the
    /// next change of this pool does so first.
    pub(crate) fn forget(&self) -> bool {
        self.turn.store(0, Ordering::Relaxed);
        let (instances, ending) = self.deployed.with(|deployed| {
            deployed.forgotten.extend(deployed.backend.take());
            (
                std::mem::take(&mut deployed.instances),
                !deployed.forgotten.is_empty(),
            )
        });
        drop(instances); // not under the lock: their cleanup is not ours
        ending
    }

    /// Ends the forgotten instances.
    pub(crate) async fn end_forgotten(&'static self) {
        let _change = self.change.lock().await;
        self.end_or_say().await;
    }

    async fn end_or_say(&'static self) {
        if let Err(error) = self.end().await {
            tracing::warn!(%error, "a replica could not be shut down");
        }
    }

    /// Ends the forgotten instances. The caller must hold `change`: a late end must not meet a
    /// deployment made there since.
    async fn end(&'static self) -> Result<(), ReplicaError> {
        let mut result = Ok(());
        // Taken out of the list when it is done: whoever is cancelled here leaves it to the next.
        while let Some(backend) = self
            .deployed
            .with(|deployed| deployed.forgotten.first().cloned())
        {
            result = result.and(backend.shutdown(&self.spec).await);
            self.deployed.with(|deployed| {
                deployed
                    .forgotten
                    .retain(|other| !Arc::ptr_eq(other, &backend))
            });
        }
        result
    }

    async fn bring_to(&'static self, n: usize) -> Result<(), ReplicaError> {
        let limit = self.manager().limit();
        if n > limit {
            return Err(ReplicaError::TooMany {
                replica: self.spec.name.to_owned(),
                n,
                limit,
            });
        }
        while !self.try_bring_to(n).await? {}
        Ok(())
    }

    /// Brings the replica to `n` instances. Returns false if they were forgotten while they were
    /// built, and their backend with them.
    async fn try_bring_to(&'static self, n: usize) -> Result<bool, ReplicaError> {
        self.deployed.with(|deployed| {
            // Begun by a backend that is not configured any more, and never finished.
            let elsewhere =
                |begun: &mut Arc<dyn Backend>| !Arc::ptr_eq(begun, &self.manager().backend());
            if deployed.instances.is_empty() {
                deployed
                    .forgotten
                    .extend(deployed.backend.take_if(elsewhere));
            }
        });
        self.end_or_say().await;
        let (arguments, existing, backend) = self.deployed.with(|deployed| {
            // Noted before it is asked: whoever is cancelled here must still find where to shut down. And looked up under
            // this lock: a block that begins replaces the backend first, and then has this pool forget what it notes.
            let backend = deployed
                .backend
                .get_or_insert_with(|| self.manager().backend())
                .clone();
            let existing = deployed.instances.clone();
            deployed.instances.truncate(n); // `existing` has them still; but nobody is handed one that is about to end
            (deployed.arguments.clone(), existing, backend)
        });
        let arguments = match arguments {
            Some(arguments) => arguments,
            // A constructor without parameters reads nothing out of this; another says what it lacks.
            None => packed(self.spec.name, "new", &())?,
        };
        let built = backend.scale(&self.spec, &arguments, existing, n).await;
        let instances = built.map_err(|error| self.without_arguments(error))?;
        let replaced = self.deployed.with(|deployed| match deployed.backend {
            Some(_) => Ok(std::mem::replace(&mut deployed.instances, instances)),
            None => {
                deployed.forgotten.push(backend);
                Err(instances)
            }
        });
        Ok(replaced.is_ok()) // dropped here: not under the lock, their cleanup is not ours
    }

    /// Turns an error about missing arguments into one that calls them missing, not wrong.
    fn without_arguments(&self, error: ReplicaError) -> ReplicaError {
        let none_given = self.deployed.with(|deployed| deployed.arguments.is_none());
        match error {
            ReplicaError::Arguments {
                replica, method, ..
            } if none_given && method == "new" => ReplicaError::NoArguments(replica),
            error => error,
        }
    }
}
