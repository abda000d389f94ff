//! What a network is.

use std::fmt::Debug;
use std::sync::Arc;

use super::list::Neighbours;
use crate::ids::Node;

/// A sub-network, and the numbers in there of the nodes that it was asked of, in their order.
pub type Part = (Arc<dyn Topology>, Vec<Node>);

/// One dimension of a product network: what the nodes are that differ in this coordinate only.
///
/// Two nodes have one link between them in each kind, and three of a ring are complete: such
/// factors are equal networks though not equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Factor {
    /// So many in a row: neighbours' coordinates differ by 1.
    Line(usize),
    /// So many in a circle: the last is the first's neighbour too.
    Ring(usize),
    /// So many, all neighbours of each other.
    Complete(usize),
}

impl Factor {
    /// How many coordinates there are.
    #[must_use]
    pub fn extent(self) -> usize {
        match self {
            Self::Line(extent) | Self::Ring(extent) | Self::Complete(extent) => extent,
        }
    }

    /// Whether there is a link between two coordinates below the extent.
    #[must_use]
    pub fn adjacent(self, x: usize, y: usize) -> bool {
        match self {
            Self::Line(_) => x.abs_diff(y) == 1,
            Self::Ring(extent) => x.abs_diff(y) == 1 || extent > 2 && x.abs_diff(y) + 1 == extent,
            Self::Complete(_) => x != y,
        }
    }

    /// Whether all coordinates are neighbours of each other, whatever the kind.
    #[must_use]
    pub fn is_complete(self) -> bool {
        match self {
            Self::Line(extent) => extent <= 2,
            Self::Ring(extent) => extent <= 3,
            Self::Complete(_) => true,
        }
    }
}

/// A connected network of nodes `0..nodes()` and directed channels; every link is two channels, one
/// each way.
///
/// # For callers
///
/// Methods that take a node may answer anything for one that is not below [`nodes`](Self::nodes),
/// but neither panic nor loop for ever. All methods but [`edges`](Self::edges),
/// [`channels`](Self::channels), [`factors`](Self::factors) and [`part`](Self::part) are cheap
/// enough to be called for each transfer of a schedule; none blocks.
///
/// References, boxes and [`Arc`]s of a topology are topologies too.
///
/// # For implementors
///
/// - `neighbours(u)` is in ascending order, without `u` and without repetition, and `v` is among
///   those of `u` exactly if `u` is among those of `v`.
/// - `distance` is the number of channels on a shortest path, 0 from a node to itself.
/// - `route(u, v)` is a path along neighbours, both ends included, of `distance(u, v)` channels,
///   and always the same.
/// - The network is connected, and `1 <= nodes() <= MAX_NODES`
///   ([`MAX_NODES`](crate::ids::MAX_NODES)).
/// - `part` answers `None` rather than something that is not exactly the links between the given
///   nodes.
/// - `text` is not empty; it starts like one of the table above only if [`parse`](super::parse())
///   gives the same network back.
/// - Methods must not depend on anything but their arguments and the value itself: ranks compute
///   routes separately and rely on agreeing.
///
/// [`conformance::run_all`](super::conformance::run_all) checks all of it.
pub trait Topology: Send + Sync + Debug {
    /// How many nodes there are: at least one.
    fn nodes(&self) -> usize;

    /// The nodes that a channel leads to from `node`, in ascending order.
    fn neighbours(&self, node: Node) -> Neighbours;

    /// Channels on a shortest path.
    fn distance(&self, from: Node, to: Node) -> usize;

    /// The default way: a shortest path, both ends included (so `[from]` alone where they are
    /// equal).
    fn route(&self, from: Node, to: Node) -> Vec<Node>;

    /// Topology text, such as `torus:4x4`. For types of this crate, [`parse`](super::parse()) gives
    /// an equal topology back (a graph excepted, whose text names the file it came from, if any).
    fn text(&self) -> String;

    /// The d of a binary cube: there are 2^d nodes, and those whose numbers differ in one bit are
    /// neighbours (perhaps among others). `None` where that is not so, or not known.
    fn cube(&self) -> Option<u32> {
        None
    }

    /// The dimensions of a product, as [`Factor`]s from first to last: nodes have a coordinate in
    /// each and are numbered row-major, the last dimension fastest; two nodes are linked exactly if
    /// they differ in one coordinate only and their coordinates in this dimension are linked in its
    /// factor. Default routes correct the last dimension first, then the one before it, and so on;
    /// round a ring they go up where both ways are equally long. `None` where that is not so, or
    /// not known.
    fn factors(&self) -> Option<Vec<Factor>> {
        None
    }

    /// What `nodes` (distinct, in any order) are among themselves, if that is a network of a known
    /// kind: the sub-network and, for each of the given nodes, its number in there. A row of a
    /// torus is a ring. `None` where the sub-network is of no such kind or not connected, and where
    /// `nodes` are none, repeat one, or include one out of range.
    ///
    /// [`Graph::induced`](super::Graph::induced) is an answer that is right for every topology. The
    /// default is `None`.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        let _ = nodes;
        None
    }

    /// Whether a channel leads from one to the other.
    fn adjacent(&self, from: Node, to: Node) -> bool {
        from.index() < self.nodes() && self.neighbours(from).binary_search(&to).is_ok()
    }

    /// The links, each once, as `(u, v)` with `u < v`, in ascending order.
    fn edges(&self) -> Vec<(Node, Node)> {
        let nodes = (0..self.nodes()).map(Node::new);
        nodes.flat_map(|u| self.neighbours(u).into_iter().filter(move |&v| u < v).map(move |v| (u, v))).collect()
    }

    /// How many directed channels there are.
    fn channels(&self) -> usize {
        (0..self.nodes()).map(|u| self.neighbours(Node::new(u)).len()).sum()
    }
}

/// Whether two networks are the same: their texts alone may not say what they are.
pub(crate) fn same(one: &Arc<dyn Topology>, other: &Arc<dyn Topology>) -> bool {
    Arc::ptr_eq(one, other) || one.text() == other.text() && one.edges() == other.edges()
}

/// Whether two networks have the same nodes and links, whatever they are called and whatever their
/// default routes are.
pub(crate) fn same_links(one: &Arc<dyn Topology>, other: &Arc<dyn Topology>) -> bool {
    Arc::ptr_eq(one, other) || one.nodes() == other.nodes() && one.edges() == other.edges()
}

/// The nodes in ascending order, if they are a set: at least one, none twice, all below `count`.
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
