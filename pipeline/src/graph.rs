//! The graph of nodes behind a context, for people and programs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;

use crate::node::Node;
use crate::past::Past;
use crate::walk::{Walk, Walked};

/// The nodes beneath a context, parents first, and the flow of values between them.
///
/// Of done nodes only names are kept, and of a long loop only those of its end.
///
/// ```
/// use unhurried::{Context, node};
///
/// #[node]
/// async fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let sum = add(Context::new(1), Context::new(2));
/// assert_eq!(sum.graph().to_mermaid(), "flowchart TD\n    0[\"value\"]\n    1[\"value\"]\n    2([\"add\"])\n    0 --> 2\n    1 --> 2\n");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Graph {
    /// Parents before children; the context itself is last.
    pub nodes: Vec<GraphNode>,
    /// From parent to child, by `id`, in the order of the child's arguments.
    pub edges: Vec<(usize, usize)>,
}

/// One node of a [`Graph`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GraphNode {
    /// Its place in [`Graph::nodes`].
    pub id: usize,
    /// The node's name; `value` for one that was given.
    pub name: String,
    /// Progress of the node.
    pub state: NodeState,
}

/// Progress of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeState {
    /// Given by the caller; there is nothing to run.
    Given,
    /// Not run yet, or failed.
    Pending,
    /// Someone waits for it right now.
    Running,
    /// Its value is there.
    Done,
}

impl Graph {
    pub(crate) fn of(target: &Arc<Node>) -> Self {
        // What a node was made of is looked at once: the next moment it may be done.
        let found = RefCell::new(HashMap::new());
        let before = |seen: &Seen, parents: &mut Vec<Seen>| {
            seen.parents(parents);
            found.borrow_mut().insert(
                seen.key(),
                parents.iter().map(Seen::key).collect::<Vec<_>>(),
            );
            true
        };
        let Walk { order, places } = Walk::of(&[Seen::Node(target.clone())], before);
        let parents = found.into_inner();
        let edges = |(id, seen): (usize, &Seen)| {
            parents[&seen.key()].iter().map(move |parent| (*parent, id))
        };
        Graph {
            nodes: order
                .iter()
                .enumerate()
                .map(|(id, seen)| seen.drawn(id))
                .collect(),
            edges: order
                .iter()
                .enumerate()
                .flat_map(edges)
                .map(|(parent, id)| (places[&parent], id))
                .collect(),
        }
    }

    /// As JSON: `{"nodes": [{"id", "name", "state"}], "edges": [[from, to]]}`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "nodes": self.nodes, "edges": self.edges })
    }

    /// In the language of Graphviz.
    pub fn to_dot(&self) -> String {
        let mut dot = "digraph pipeline {\n".to_owned();
        for GraphNode { id, name, state } in &self.nodes {
            let style = if *state == NodeState::Pending {
                ", style=dashed"
            } else {
                ""
            };
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(dot, "    {id} [label=\"{name}\"{style}];"); // writing to a String cannot fail
        }
        for (from, to) in &self.edges {
            let _ = writeln!(dot, "    {from} -> {to};");
        }
        dot + "}\n"
    }

    /// Returns the graph in the language of Mermaid. Given values have corners, computed ones are
    /// round.
    pub fn to_mermaid(&self) -> String {
        let mut mermaid = "flowchart TD\n".to_owned();
        for GraphNode { id, name, state } in &self.nodes {
            let (open, close) = if *state == NodeState::Given {
                ("[", "]")
            } else {
                ("([", "])")
            };
            let name = name.replace('#', "#35;").replace('"', "#quot;");
            let _ = writeln!(mermaid, "    {id}{open}\"{name}\"{close}");
        }
        for (from, to) in &self.edges {
            let _ = writeln!(mermaid, "    {from} --> {to}");
        }
        mermaid
    }
}

/// A node, or the memory of one.
#[derive(Clone)]
enum Seen {
    Node(Arc<Node>),
    Past(Arc<Past>),
}

impl Walked for Seen {
    fn key(&self) -> usize {
        std::ptr::from_ref(self.past()).addr()
    }
}

impl Seen {
    fn past(&self) -> &Past {
        match self {
            Seen::Node(node) => &node.past,
            Seen::Past(past) => past,
        }
    }

    fn parents(&self, parents: &mut Vec<Seen>) {
        if let Seen::Node(node) = self
            && node.parents(|parent| parents.push(Seen::Node(parent.clone())))
        {
            return;
        }
        parents.extend(self.past().made_of().iter().cloned().map(Seen::Past));
    }

    fn drawn(&self, id: usize) -> GraphNode {
        GraphNode {
            id,
            name: self.past().name.to_string(),
            state: self.state(),
        }
    }

    fn state(&self) -> NodeState {
        match self {
            seen if seen.past().is_given => NodeState::Given,
            Seen::Node(node) if !node.is_pending() => NodeState::Done,
            Seen::Node(node) if node.once.is_running() => NodeState::Running,
            Seen::Past(past) if past.is_made() => NodeState::Done,
            _ => NodeState::Pending,
        }
    }
}
