//! The trait of topologies.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use super::embedding::Measures;
use super::list::Neighbours;
use crate::hash::Map;
use crate::ids::Node;

/// A sub-network, as [`Topology::part`] returns it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Part {
    /// The sub-network.
    pub topology: Arc<dyn Topology>,
    /// The number in the sub-network of each node that was asked for, in their order.
    pub numbers: Vec<Node>,
}

impl Part {
    /// Returns the sub-network, with the number in it of each node that was asked for.
    #[must_use]
    pub fn new(topology: Arc<dyn Topology>, numbers: Vec<Node>) -> Self {
        Self { topology, numbers }
    }
}

/// One dimension of a product network: the network of the nodes that differ in this coordinate
/// alone.
///
/// Different factors may be equal networks: two nodes have one link between them in every kind, and
/// a ring of three is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Factor {
    /// A line of this many nodes: coordinates that differ by 1 are linked.
    Line(usize),
    /// A ring of this many nodes: a line with a link between its ends.
    Ring(usize),
    /// A complete network of this many nodes: all coordinates are linked with each other.
    Complete(usize),
    /// Overlapping windows: coordinates that differ by at most `window` are linked, counted round
    /// the ends if it `wraps`.
    Windows {
        /// The number of coordinates.
        extent: usize,
        /// The longest difference with a link, at least 1.
        window: usize,
        /// Whether windows wrap round.
        wraps: bool,
    },
}

impl Factor {
    /// Returns the number of coordinates.
    #[must_use]
    pub fn extent(self) -> usize {
        match self {
            Self::Line(extent) | Self::Ring(extent) | Self::Complete(extent) => extent,
            Self::Windows { extent, .. } => extent,
        }
    }

    /// Returns whether two coordinates below the extent are linked.
    #[must_use]
    pub fn adjacent(self, x: usize, y: usize) -> bool {
        match self {
            Self::Line(_) => x.abs_diff(y) == 1,
            Self::Ring(extent) => x.abs_diff(y) == 1 || extent > 2 && x.abs_diff(y) + 1 == extent,
            Self::Complete(_) => x != y,
            Self::Windows { .. } => self.distance(x, y) == 1,
        }
    }

    /// Returns the number of channels between two coordinates below the extent.
    #[must_use]
    pub fn distance(self, x: usize, y: usize) -> usize {
        let apart = x.abs_diff(y);
        let round = apart.min(self.extent().saturating_sub(apart));
        match self {
            Self::Line(_) => apart,
            Self::Ring(_) => round,
            Self::Complete(_) => usize::from(apart > 0),
            Self::Windows { window, wraps, .. } => if wraps { round } else { apart }.div_ceil(window.max(1)),
        }
    }

    /// Returns whether all coordinates are linked with each other, whatever the kind.
    #[must_use]
    pub fn is_complete(self) -> bool {
        match self {
            Self::Line(extent) => extent <= 2,
            Self::Ring(extent) => extent <= 3,
            Self::Complete(_) => true,
            Self::Windows { extent, window, wraps: false } => extent <= window + 1,
            Self::Windows { extent, window, wraps: true } => extent / 2 <= window,
        }
    }
}

/// A mapping of a guest network into a host network: each node of the guest is on a node of the
/// host, and each link of the guest takes a path of the host, both ways.
///
/// Unless [another path](Self::with_path) is given, the path of a link is the host's route from its
/// end with the lower number.
///
/// Source: Q. Wang, *A New-Generation Class of Parallel Architectures and Their Performance
/// Evaluation*, dissertation, New Jersey Institute of Technology, 1999, chapter 3 (definitions).
///
/// # Cost
///
/// The map takes 4 bytes a node of the guest. Measures are computed when they are first asked for,
/// in time in proportion to the paths of all links.
///
/// ```
/// use necklace::topology::{Embedding, parse};
///
/// let [ring, how] = ["ring:16", "how:16,2,1"].map(|text| parse(text).unwrap());
/// let embedding = Embedding::named(ring, how, "fold")?;
/// assert_eq!(embedding.measures().to_string(), "load 1, dilation 1, congestion 1, expansion 1");
/// # Ok::<(), necklace::topology::EmbeddingError>(())
/// ```
#[derive(Clone)]
pub struct Embedding {
    pub(super) guest: Arc<dyn Topology>,
    pub(super) host: Arc<dyn Topology>,
    pub(super) nodes: Arc<[Node]>,
    /// The paths that were given, by the pair of ends, the lower first. They start at the lower.
    pub(super) paths: Arc<Map<Vec<Node>>>,
    /// The text of the embedding, if it has a name.
    pub(super) name: Option<String>,
    /// Whether it is the one that a text without a name gives.
    pub(super) is_best: bool,
    pub(super) measures: OnceLock<Measures>,
}

/// A connected network of nodes `0..nodes()` and directed channels. Every link is two channels, one
/// in each direction.
///
/// # For callers
///
/// For a node that is not below [`nodes`](Self::nodes), methods return an unspecified value; they
/// neither panic nor loop forever. No method blocks. All methods are cheap enough to be called for
/// each transfer of a schedule, except [`edges`](Self::edges), [`channels`](Self::channels),
/// [`factors`](Self::factors) and [`part`](Self::part).
///
/// References, boxes and [`Arc`]s of a topology are topologies too.
///
/// # For implementors
///
/// - `neighbours(u)` is in ascending order, without `u` and without repetition. It contains `v`
///   exactly if `neighbours(v)` contains `u`.
/// - `distance` is the number of channels on a shortest path, 0 from a node to itself.
/// - `route(u, v)` is a path along neighbours, both ends included, of `distance(u, v)` channels.
/// - The network is connected, and `1 <= nodes() <= MAX_NODES`
///   ([`MAX_NODES`](crate::ids::MAX_NODES)).
/// - `part` returns `None` unless the sub-network has exactly the links between the given nodes.
/// - `text` is not empty. It starts like a [built-in text](super) only if
///   [`parse`](super::parse()) returns the same network.
/// - Methods depend on nothing but their arguments and the value itself: ranks compute routes
///   separately and rely on equal results.
///
/// [`conformance::run_all`](super::conformance::run_all) checks all of this.
pub trait Topology: Send + Sync + Debug {
    /// Returns the number of nodes, at least one.
    fn nodes(&self) -> usize;

    /// Returns the nodes to which a channel leads from `node`, in ascending order.
    fn neighbours(&self, node: Node) -> Neighbours;

    /// Returns the number of channels on a shortest path.
    fn distance(&self, from: Node, to: Node) -> usize;

    /// Returns the default route: a shortest path, both ends included. From a node to itself it is
    /// `[from]`.
    fn route(&self, from: Node, to: Node) -> Vec<Node>;

    /// Returns the topology text, such as `torus:4x4`. For the types of this crate,
    /// [`parse`](super::parse()) returns an equal topology, except for a graph: its text names the
    /// file that it came from, if any.
    fn text(&self) -> String;

    /// Returns d if the network contains a binary cube: it has 2^d nodes, and nodes whose numbers
    /// differ in one bit are neighbours. It may have more links. `None`, the default, if it does
    /// not, or if that is unknown.
    fn cube(&self) -> Option<u32> {
        None
    }

    /// Returns the factors of a product network, from the first dimension to the last. `None`, the
    /// default, if the network is not a product, or if that is unknown.
    ///
    /// Nodes have a coordinate in each dimension and are numbered row-major, the last dimension
    /// fastest. Two nodes are linked exactly if they differ in one coordinate alone and the factor
    /// of that dimension links the two values. Default routes correct the last dimension first,
    /// then the one before it, and so on; round a ring they go up if both directions are equally
    /// long, and in windows they jump as far as possible first.
    fn factors(&self) -> Option<Vec<Factor>> {
        None
    }

    /// Returns the embedding by which algorithms take this network for the guest: see
    /// [`Embedded`](super::Embedded). `None`, the default, for all other networks.
    ///
    /// The host has the nodes, channels and routes of this network.
    fn embedding(&self) -> Option<&Embedding> {
        None
    }

    /// Returns the number of ranks, unless they are placed otherwise: one on each node, or on each
    /// node of the guest.
    fn ranks(&self) -> usize {
        self.embedding().map_or_else(|| self.nodes(), |embedding| embedding.guest().nodes())
    }

    /// Returns the sub-network of `nodes`, and the number in it of each of them. A row of a torus
    /// is a ring.
    ///
    /// The nodes may be in any order. `None` if the sub-network is of no known kind or not
    /// connected, or if `nodes` is empty, repeats a node or has one out of range.
    ///
    /// By default this is `None`. [`Graph::induced`](super::Graph::induced) is correct for every
    /// topology.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        let _ = nodes;
        None
    }

    /// Returns whether a channel leads from one node to the other.
    fn adjacent(&self, from: Node, to: Node) -> bool {
        from.index() < self.nodes() && self.neighbours(from).binary_search(&to).is_ok()
    }

    /// Returns the links in ascending order, each once, as `(u, v)` with `u < v`.
    fn edges(&self) -> Vec<(Node, Node)> {
        let nodes = (0..self.nodes()).map(Node::new);
        nodes.flat_map(|u| self.neighbours(u).into_iter().filter(move |&v| u < v).map(move |v| (u, v))).collect()
    }

    /// Returns the number of directed channels.
    fn channels(&self) -> usize {
        (0..self.nodes()).map(|u| self.neighbours(Node::new(u)).len()).sum()
    }
}

/// Returns whether two networks are equal. Texts alone do not tell, so links are compared too.
pub(crate) fn same(one: &Arc<dyn Topology>, other: &Arc<dyn Topology>) -> bool {
    Arc::ptr_eq(one, other) || one.text() == other.text() && one.edges() == other.edges()
}

/// Returns whether two networks have the same nodes and links. Texts and default routes may differ.
pub(crate) fn same_links(one: &Arc<dyn Topology>, other: &Arc<dyn Topology>) -> bool {
    Arc::ptr_eq(one, other) || one.nodes() == other.nodes() && one.edges() == other.edges()
}

/// Sorts nodes. `None` if there are none, one is repeated, or one is not below `count`.
pub(super) fn as_set(nodes: &[Node], count: usize) -> Option<Vec<Node>> {
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    let distinct = sorted.windows(2).all(|pair| pair[0] != pair[1]);
    (distinct && sorted.last()?.index() < count).then_some(sorted)
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<T: Topology + ?Sized> Topology for $pointer {
            fn nodes(&self) -> usize {
                (**self).nodes()
            }

            fn neighbours(&self, node: Node) -> Neighbours {
                (**self).neighbours(node)
            }

            fn distance(&self, from: Node, to: Node) -> usize {
                (**self).distance(from, to)
            }

            fn route(&self, from: Node, to: Node) -> Vec<Node> {
                (**self).route(from, to)
            }

            fn text(&self) -> String {
                (**self).text()
            }

            fn cube(&self) -> Option<u32> {
                (**self).cube()
            }

            fn factors(&self) -> Option<Vec<Factor>> {
                (**self).factors()
            }

            fn embedding(&self) -> Option<&Embedding> {
                (**self).embedding()
            }

            fn ranks(&self) -> usize {
                (**self).ranks()
            }

            fn part(&self, nodes: &[Node]) -> Option<Part> {
                (**self).part(nodes)
            }

            fn adjacent(&self, from: Node, to: Node) -> bool {
                (**self).adjacent(from, to)
            }

            fn edges(&self) -> Vec<(Node, Node)> {
                (**self).edges()
            }

            fn channels(&self) -> usize {
                (**self).channels()
            }
        }
    )*};
}

forward!(&T, Box<T>, Arc<T>);
