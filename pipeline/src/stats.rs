//! A hook that counts how often nodes ran, how long they took and which replicas they called.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::run::{Call, Hook, Next};
use crate::sync::Mutex;
use crate::value::Outcome;

/// Counts. Clones share the counts: install one, keep the other.
#[derive(Clone, Default)]
pub struct Stats(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    nodes: BTreeMap<String, NodeStats>,
    external: BTreeMap<String, u64>,
}

/// Counts of the nodes of one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStats {
    /// Number of runs of such a node.
    pub executions: u64,
    /// Number of these that failed.
    pub failures: u64,
    /// Their time together.
    pub total: Duration,
    /// Number of calls they made of each replica.
    pub replica_calls: BTreeMap<String, u64>,
}

impl NodeStats {
    /// Calls of this replica per execution.
    pub fn average_calls(&self, replica: &str) -> f64 {
        let calls = self.replica_calls.get(replica).copied().unwrap_or(0);
        match self.executions {
            0 => 0.0,
            executions => calls as f64 / executions as f64,
        }
    }
}

impl Stats {
    /// The nodes of this name.
    pub fn node(&self, name: &str) -> NodeStats {
        self.0
            .with(|counts| counts.nodes.get(name).cloned().unwrap_or_default())
    }

    /// All nodes, by name.
    pub fn nodes(&self) -> BTreeMap<String, NodeStats> {
        self.0.with(|counts| counts.nodes.clone())
    }

    /// Returns the replicas that each node called: its dependencies.
    pub fn dependencies(&self) -> BTreeMap<String, Vec<String>> {
        let replicas = |node: NodeStats| node.replica_calls.into_keys().collect();
        self.nodes()
            .into_iter()
            .map(|(name, node)| (name, replicas(node)))
            .collect()
    }

    /// Calls of each replica from outside of any node.
    pub fn external_calls(&self) -> BTreeMap<String, u64> {
        self.0.with(|counts| counts.external.clone())
    }

    /// Forgets everything.
    pub fn reset(&self) {
        self.0.with(|counts| *counts = Counts::default());
    }

    fn change(&self, node: &str, change: impl FnOnce(&mut NodeStats)) {
        self.0
            .with(|counts| change(counts.nodes.entry(node.to_owned()).or_default()));
    }
}

#[async_trait]
impl Hook for Stats {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        let started = Instant::now();
        let outcome = next.run().await;
        self.change(call.node(), |node| {
            node.executions += 1;
            node.failures += u64::from(outcome.is_err());
            node.total += started.elapsed();
        });
        outcome
    }

    fn replica_called(&self, replica: &str, _: &str, node: Option<&str>) {
        match node {
            Some(node) => self.change(node, |node| {
                *node.replica_calls.entry(replica.to_owned()).or_default() += 1
            }),
            None => self
                .0
                .with(|counts| *counts.external.entry(replica.to_owned()).or_default() += 1),
        }
    }
}
