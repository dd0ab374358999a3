//! The graph of a space's statements: names, and the statements that connect them. Pure. How a recall spreads over it is in `recall/pagerank.rs`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use thinkd_event::entity::normal;
use thinkd_log::words::atoms;
use thinkd_words::id::Seq;

/// Words of a name by which it is found in a question.
const NAME_WORDS: usize = 16;
/// Words of a question in which names are looked for.
const ASKED_WORDS: usize = 1024;
/// Most statements that are looked at for a way from one name to another.
const STEPS_MAX: usize = 50_000;
/// Bytes of an edge, of a name, and of a statement, by which memory is counted.
const EDGE: usize = size_of::<Edge>() + 4;
const NAME: usize = 160;

/// A name of the graph.
pub type Node = u32;
/// A statement, by the number that its view gives it.
pub type Doc = u32;
/// A statement of a name, in the order in which they were claimed.
type Edge = (Seq, Doc);

/// See the module.
#[derive(Debug, Default)]
pub struct Graph {
    names: HashMap<Box<str>, Node>,
    edges: Vec<Vec<Edge>>,
    keys: Vec<Box<str>>,
    /// From other names of an entity, as they are compared, to the one by which it stands here.
    aliases: HashMap<Box<str>, Box<str>>,
    /// By the number of the statement.
    ends: Vec<Box<[Node]>>,
    free: Vec<Node>,
    bytes: usize,
}

/// A name as it is compared: its words, folded.
fn key(name: &str) -> Option<String> {
    let mut words = atoms(name);
    words.truncate(NAME_WORDS);
    (!words.is_empty()).then(|| words.join(" "))
}

impl Graph {
    /// Takes in a statement that connects these names.
    pub fn put(&mut self, doc: Doc, number: Seq, names: &[impl AsRef<str>]) {
        let mut ends: Vec<Node> = Vec::with_capacity(names.len());
        for name in names.iter().filter_map(|name| key(name.as_ref())) {
            let node = self.node(name);
            if ends.contains(&node) {
                continue;
            }
            ends.push(node);
            let edges = &mut self.edges[node as usize];
            let at = edges.partition_point(|edge| *edge < (number, doc));
            edges.insert(at, (number, doc));
            self.bytes += EDGE;
        }
        if self.ends.len() <= doc as usize {
            self.ends.resize(doc as usize + 1, Box::default());
        }
        self.ends[doc as usize] = ends.into();
    }

    /// Lets a statement go.
    pub fn remove(&mut self, doc: Doc, number: Seq) {
        let ends = self.ends.get_mut(doc as usize).map(std::mem::take);
        for node in ends.unwrap_or_default() {
            let edges = &mut self.edges[node as usize];
            if let Ok(at) = edges.binary_search(&(number, doc)) {
                edges.remove(at);
                self.bytes -= EDGE;
            }
            if edges.is_empty() {
                let key = std::mem::take(&mut self.keys[node as usize]);
                self.bytes -= NAME + 2 * key.len();
                self.names.remove(&key);
                self.free.push(node);
            }
        }
    }

    fn node(&mut self, key: String) -> Node {
        if let Some(node) = self.names.get(key.as_str()) {
            return *node;
        }
        self.bytes += NAME + 2 * key.len();
        let node = self.free.pop().unwrap_or_else(|| {
            self.edges.push(Vec::new());
            self.keys.push(Box::default());
            Node::try_from(self.edges.len() - 1).unwrap_or(Node::MAX)
        });
        self.keys[node as usize] = key.as_str().into();
        self.names.insert(key.into(), node);
        node
    }

    /// Memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The node of a name.
    pub fn named(&self, name: &str) -> Option<Node> {
        let keys = [key(name), key(&normal(name))];
        keys.iter().flatten().find_map(|key| self.of_key(key))
    }

    /// Returns the node of a key; none: the key is no name here. A name that statements have is its
    /// own node. Only a key that no statement has is looked up among the other names.
    fn of_key(&self, key: &str) -> Option<Node> {
        let node = self
            .names
            .get(key)
            .or_else(|| self.names.get(self.aliases.get(key)?));
        node.copied()
    }

    /// Sets the other names: the first of each pair is another name of the second, which stands
    /// here.
    pub fn set_aliases(&mut self, aliases: impl Iterator<Item = (String, String)>) {
        let both =
            aliases.filter_map(|(alias, name)| Some((key(&alias)?.into(), key(&name)?.into())));
        self.aliases = both.filter(|(alias, name)| alias != name).collect();
    }

    /// The names that stand in a question, each with its words there; of names within each other the longest.
    pub fn names_in(&self, question: &str) -> Vec<(Node, String)> {
        let mut words = atoms(question);
        words.truncate(ASKED_WORDS);
        let mut found = Vec::<(Node, String)>::new();
        let mut at = 0;
        while at < words.len() {
            let longest = NAME_WORDS.min(words.len() - at);
            let name = (1..=longest).rev().find_map(|count| {
                let name = words[at..at + count].join(" ");
                Some((self.of_key(&name)?, name, count))
            });
            let Some((node, name, count)) = name else {
                at += 1;
                continue;
            };
            at += count;
            if !found.iter().any(|(known, _)| *known == node) {
                found.push((node, name));
            }
        }
        found
    }

    /// A name as it is compared.
    pub fn key_of(&self, node: Node) -> &str {
        &self.keys[node as usize]
    }

    /// The statements of a name, in the order in which they were claimed.
    pub fn of_name(&self, node: Node) -> impl ExactSizeIterator<Item = Doc> + use<'_> {
        self.edges[node as usize].iter().map(|(_, doc)| *doc)
    }

    /// The names that a statement connects.
    pub fn ends(&self, doc: Doc) -> &[Node] {
        self.ends.get(doc as usize).map_or(&[], |ends| ends)
    }

    /// The statements within so many steps of a name, the nearest first and at most so many; and whether that are all.
    pub fn around(&self, from: Node, depth: usize, limit: usize) -> (Vec<Doc>, bool) {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut ways = self.ways(&[from], depth);
        for doc in &mut ways {
            if !seen.insert(doc) {
                continue;
            }
            if found.len() == limit {
                return (found, false);
            }
            found.push(doc);
        }
        (found, ways.is_whole())
    }

    /// The ways from some names, of at most so many statements.
    pub fn ways(&self, from: &[Node], most: usize) -> Ways<'_> {
        let came = (0..).zip(from).map(|(order, node)| (*node, (None, order)));
        Ways {
            graph: self,
            most,
            came: came.collect(),
            next: from.iter().map(|node| (*node, 0)).collect(),
            at: 0,
            looked: 0,
        }
    }
}

/// The shortest ways from some names, found as far as they are asked for: one look through the graph serves all hits of a question.
/// As an iterator, the statements that it comes by.
pub struct Ways<'a> {
    graph: &'a Graph,
    most: usize,
    /// The step by which a name was reached, and its place in the order of arrival.
    came: HashMap<Node, (Option<(Node, Doc)>, usize)>,
    /// Names with statements that are to be looked at, and the number of steps to them.
    next: VecDeque<(Node, usize)>,
    /// The statements of the first of them that were looked at.
    at: usize,
    looked: usize,
}

impl Iterator for Ways<'_> {
    type Item = Doc;

    fn next(&mut self) -> Option<Doc> {
        let (node, steps, doc) = loop {
            let (node, steps) = *self.next.front()?;
            let edges = &self.graph.edges[node as usize];
            let edge = edges.get(self.at).filter(|_| steps < self.most);
            if let Some((_, doc)) = edge {
                break (node, steps, *doc);
            }
            self.next.pop_front();
            self.at = 0;
        };
        self.looked += 1;
        if !self.is_whole() {
            return None;
        }
        self.at += 1;
        for end in self.graph.ends(doc) {
            let order = self.came.len();
            if let Entry::Vacant(entry) = self.came.entry(*end) {
                entry.insert((Some((node, doc)), order));
                self.next.push_back((*end, steps + 1));
            }
        }
        Some(doc)
    }
}

impl Ways<'_> {
    /// Returns false once there was more than may be looked at.
    fn is_whole(&self) -> bool {
        self.looked <= STEPS_MAX
    }

    /// The shortest way to one of these names, as the statements along it: none where there is none of that length, or none was found in the
    /// statements that are looked at (then the second is false).
    pub fn to(&mut self, to: &[Node]) -> (Option<Vec<Doc>>, bool) {
        loop {
            let came = to
                .iter()
                .filter_map(|node| Some((self.came.get(node)?.1, *node)));
            if let Some((_, node)) = came.min() {
                return (Some(self.back(node)), true);
            }
            let graph = self.graph;
            if !self.any(|doc| graph.ends(doc).iter().any(|end| to.contains(end))) {
                return (None, self.is_whole());
            }
        }
    }

    /// The statements along the way to a name.
    fn back(&self, to: Node) -> Vec<Doc> {
        let mut way = Vec::new();
        let mut at = to;
        while let Some((Some((before, doc)), _)) = self.came.get(&at) {
            way.push(*doc);
            at = *before;
        }
        way.reverse();
        way
    }
}
