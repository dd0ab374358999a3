//! What a context was made of, for people and programs to look at.

use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;

use crate::node::{Node, Walk};

/// The nodes beneath a context, parents first, and which value goes where.
///
/// ```
/// use pipeline::{Context, node};
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
pub struct Graph {
    /// Parents before children; the context itself is last.
    pub nodes: Vec<GraphNode>,
    /// From parent to child, by `id`, in the order of the child's arguments.
    pub edges: Vec<(usize, usize)>,
}

/// One node of a [`Graph`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphNode {
    /// Its place in [`Graph::nodes`].
    pub id: usize,
    /// The node's name; `value` for one that was given.
    pub name: String,
    /// How far it is.
    pub state: NodeState,
}

/// How far a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
        let Walk { order, places } = Walk::of(std::slice::from_ref(target), |node| &node.parents, |_| true);
        let nodes = order.iter().enumerate();
        Graph {
            nodes: nodes.clone().map(|(id, node)| GraphNode::of(id, node)).collect(),
            edges: nodes
                .flat_map(|(id, node)| node.parents.iter().map(move |parent| (Arc::as_ptr(parent), id)))
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
            let style = if *state == NodeState::Pending { ", style=dashed" } else { "" };
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(dot, "    {id} [label=\"{name}\"{style}];"); // writing to a String cannot fail
        }
        for (from, to) in &self.edges {
            let _ = writeln!(dot, "    {from} -> {to};");
        }
        dot + "}\n"
    }

    /// In the language of Mermaid. What was given has corners, what is computed is round.
    pub fn to_mermaid(&self) -> String {
        let mut mermaid = "flowchart TD\n".to_owned();
        for GraphNode { id, name, state } in &self.nodes {
            let (open, close) = if *state == NodeState::Given { ("[", "]") } else { ("([", "])") };
            let name = name.replace('#', "#35;").replace('"', "#quot;");
            let _ = writeln!(mermaid, "    {id}{open}\"{name}\"{close}");
        }
        for (from, to) in &self.edges {
            let _ = writeln!(mermaid, "    {from} --> {to}");
        }
        mermaid
    }
}

impl GraphNode {
    fn of(id: usize, node: &Node) -> Self {
        GraphNode { id, name: node.name.to_string(), state: NodeState::of(node) }
    }
}

impl NodeState {
    fn of(node: &Node) -> Self {
        match () {
            () if node.work.is_none() => NodeState::Given,
            () if !node.is_pending() => NodeState::Done,
            () if node.once.is_running() => NodeState::Running,
            () => NodeState::Pending,
        }
    }
}
