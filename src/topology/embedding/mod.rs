//! Embeddings: a guest network that is mapped into a host network.
//!
//! An [`Embedding`] gives each node of the guest a node of the host, and each link of the guest a
//! path in the host. An [`Embedded`] is the host as a topology that algorithms take for the guest.

mod constructions;
mod cube;
mod embedded;
mod error;
mod grid;
mod measures;
mod measuring;
mod search;
mod shape;
mod snake;
mod tree;

use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, OnceLock};

pub use embedded::Embedded;
pub use error::EmbeddingError;
pub use measures::Measures;
use measuring::link;

use super::text::is_network;
use super::{Embedding, Topology};
use crate::hash::Map;
use crate::ids::Node;

impl Embedding {
    /// The most nodes of a guest.
    pub const MOST_NODES: usize = 1 << 14;
    /// The most directed channels of a guest.
    pub const MOST_CHANNELS: usize = 1 << 19;
    /// The most nodes of a host.
    pub const MOST_HOST_NODES: usize = 1 << 18;
    /// The most directed channels of a host.
    pub const MOST_HOST_CHANNELS: usize = 1 << 23;

    /// Returns the embedding that puts node i of the guest on `nodes[i]`. Several nodes may share a
    /// node of the host.
    ///
    /// # Errors
    ///
    /// [`EmbeddingError::Guest`] for a guest of more than [`MOST_NODES`](Self::MOST_NODES) nodes or
    /// [`MOST_CHANNELS`](Self::MOST_CHANNELS) channels; [`EmbeddingError::Host`] for a host of more
    /// than [`MOST_HOST_NODES`](Self::MOST_HOST_NODES) nodes or
    /// [`MOST_HOST_CHANNELS`](Self::MOST_HOST_CHANNELS) channels; [`EmbeddingError::Length`] unless
    /// there is a node for each node of the guest; [`EmbeddingError::Node`] if one is not a node of
    /// the host.
    pub fn new(
        guest: Arc<dyn Topology>,
        host: Arc<dyn Topology>,
        nodes: impl Into<Arc<[Node]>>,
    ) -> Result<Self, EmbeddingError> {
        let nodes = nodes.into();
        EmbeddingError::check_sizes(&*guest, &*host)?;
        if nodes.len() != guest.nodes() {
            return Err(EmbeddingError::Length { found: nodes.len(), guest: guest.text(), expected: guest.nodes() });
        }
        if let Some(place) = nodes.iter().position(|node| node.index() >= host.nodes()) {
            let (host, count) = (host.text(), host.nodes());
            return Err(EmbeddingError::Node { guest_node: Node::new(place), node: nodes[place], host, count });
        }
        let (paths, measures) = (Arc::default(), OnceLock::new());
        Ok(Self { guest, host, nodes, paths, name: None, is_best: false, measures })
    }

    /// Returns an embedding by its name, such as `fold` or `search:7`, where 7 is the seed.
    ///
    /// | name | guest | host |
    /// |---|---|---|
    /// | `straight` | of one dimension or more | of one dimension, or of as many as the guest |
    /// | `fold` | torus, `how-wrap:P,W,N` | of one dimension, or of as many as the guest |
    /// | `fold` | ring | of two dimensions or more, a hypercube |
    /// | `express` | ring of 4 nodes or more | `how:P,W,1`, `how-wrap:P,W,1`, with W of 3 or more |
    /// | `diagonals` | mesh of two dimensions | of one dimension |
    /// | `snake` | ring, line | of two dimensions or more, a hypercube |
    /// | `gray` | mesh, torus | hypercube |
    /// | `gray` | hypercube | of any number of dimensions, with rings of four nodes |
    /// | `natural` | hypercube | of any number of dimensions |
    /// | `inorder` | binary tree | of one dimension |
    /// | `blocks` | binary tree, hypercube of odd dimension | of two dimensions |
    /// | `identity` | any | any: node i is on node i |
    /// | `search` | any | any: by simulated annealing |
    ///
    /// A network of one dimension or more is a line, ring, mesh, torus, complete network, generalized
    /// hypercube or network of overlapping windows. A name is also unknown where the rows or blocks of
    /// the guest are longer than those of the host.
    ///
    /// The source of those that are not Gray codes, identity or search is Q. Wang, dissertation,
    /// 1999, chapters 3 and 4; their files say where they differ from it.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new); [`EmbeddingError::Unfit`] if the guest has more nodes than the
    /// host; [`EmbeddingError::Unknown`] for an unknown name, or one that is for other networks.
    pub fn named(guest: Arc<dyn Topology>, host: Arc<dyn Topology>, name: &str) -> Result<Self, EmbeddingError> {
        constructions::named(guest, host, name)
    }

    /// Returns the best of the constructions for a guest and a host: the one of the least dilation,
    /// of these the least congestion, of these the shortest paths in all.
    ///
    /// If these exceed the [lower bound](Measures::at_least) of dilation, and the guest has at most 1024
    /// nodes or none is better than `identity`, it also [searches](Self::search), and returns the
    /// embedding that the search finds if its dilation is smaller.
    ///
    /// # Errors
    ///
    /// As [`named`](Self::named).
    pub fn best(guest: Arc<dyn Topology>, host: Arc<dyn Topology>) -> Result<Self, EmbeddingError> {
        Ok(Self { is_best: true, ..constructions::best(guest, host)? })
    }

    /// Searches an embedding with short paths by simulated annealing. The same arguments give the
    /// same embedding.
    ///
    /// Tries up to 2^25 / d exchanges of two nodes, where d is the largest degree of the guest, which
    /// takes about half a second, or half as many in a host of more than 1024 nodes, which takes
    /// seconds. [`Measures::at_least`] says how much better an embedding may be.
    ///
    /// # Errors
    ///
    /// As [`named`](Self::named).
    pub fn search(guest: Arc<dyn Topology>, host: Arc<dyn Topology>, seed: u64) -> Result<Self, EmbeddingError> {
        constructions::searched(guest, host, seed)
    }

    /// Sets the path of the link from one node of the guest to another: nodes of the host, both
    /// ends included. The way back is the same path. The embedding loses its name.
    ///
    /// # Errors
    ///
    /// [`EmbeddingError::Path`] if there is no such link, or the nodes are not a path along
    /// channels of the host between the nodes of its ends, without repetition.
    pub fn with_path(self, from: Node, to: Node, mut path: Vec<Node>) -> Result<Self, EmbeddingError> {
        let ends = self.guest.adjacent(from, to).then(|| (self.node(from), self.node(to)));
        let along = path.windows(2).all(|hop| self.host.adjacent(hop[0], hop[1]));
        let mut distinct = path.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if !along || distinct.len() != path.len() || path.first().copied().zip(path.last().copied()) != ends {
            return Err(EmbeddingError::Path { from, to, guest: self.guest.text(), host: self.host.text() });
        }
        if to < from {
            path.reverse();
        }
        let mut paths = Arc::unwrap_or_clone(self.paths);
        paths.insert(link(from, to), path);
        Ok(Self { paths: Arc::new(paths), name: None, is_best: false, measures: OnceLock::new(), ..self })
    }

    /// Returns the guest.
    #[must_use]
    pub fn guest(&self) -> &Arc<dyn Topology> {
        &self.guest
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &Arc<dyn Topology> {
        &self.host
    }

    /// Returns the name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the host's node of each node of the guest.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the host's node of a node of the guest, or that node itself if it is out of range.
    #[must_use]
    pub fn node(&self, guest_node: Node) -> Node {
        self.nodes.get(guest_node.index()).copied().unwrap_or(guest_node)
    }

    /// Returns a node of the guest that is on a node of the host, if any. Takes time in proportion
    /// to the nodes of the guest.
    #[must_use]
    pub fn guest_node(&self, node: Node) -> Option<Node> {
        self.nodes.iter().position(|&on| on == node).map(Node::new)
    }

    /// Returns the path of a link of the guest, in the host: both ends included. For nodes without
    /// a link, it is the host's route between their nodes, or the way back of the opposite one.
    #[must_use]
    pub fn path(&self, from: Node, to: Node) -> Vec<Node> {
        let (low, high) = (from.min(to), from.max(to));
        let given = self.paths.get(&link(low, high)).cloned();
        let mut path = given.unwrap_or_else(|| self.host.route(self.node(low), self.node(high)));
        if to < from {
            path.reverse();
        }
        path
    }

    /// Returns the path in the host of a path along links of the guest: the paths of its links, one
    /// after the other, without the loops that they make.
    #[must_use]
    pub fn carry(&self, route: &[Node]) -> Vec<Node> {
        if let [from, to] = route {
            return self.path(*from, *to);
        }
        let mut carried: Vec<Node> = route.first().map(|&node| self.node(node)).into_iter().collect();
        let key = |node: Node| node.index() as u64;
        let mut places: Map<usize> = carried.iter().map(|&node| (key(node), 0)).collect();
        for hop in route.windows(2) {
            for node in self.path(hop[0], hop[1]).into_iter().skip(1) {
                match places.entry(key(node)) {
                    // The path has come back: what it took in between is a loop.
                    Entry::Occupied(place) => {
                        let end = *place.get() + 1;
                        carried.drain(end..).for_each(|left| {
                            places.remove(&key(left));
                        });
                    }
                    Entry::Vacant(place) => {
                        place.insert(carried.len());
                        carried.push(node);
                    }
                }
            }
        }
        carried
    }

    /// Returns load, dilation, congestion and expansion.
    #[must_use]
    pub fn measures(&self) -> &Measures {
        self.measures.get_or_init(|| Measures::of(self))
    }

    /// Returns the text `GUEST@HOST:NAME`. A host that is read from a file has no name after it,
    /// since all that follows is the name of the file. Writes an embedding that no text gives as
    /// `embedded GUEST@HOST`.
    pub(super) fn text(&self) -> String {
        let (guest, host) = (self.guest.text(), self.host.text());
        let is_in_a_file = host.starts_with("graph:@");
        match &self.name {
            Some(name) if is_network(&guest) && is_network(&host) => format!("{guest}@{host}:{name}"),
            _ if is_network(&guest) && is_in_a_file && self.is_best => format!("{guest}@{host}"),
            _ => format!("embedded {guest}@{host}"),
        }
    }
}

impl fmt::Debug for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}
