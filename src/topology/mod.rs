//! Networks: nodes, the channels between them, and the way from one to another.
//!
//! A [`Topology`] is pure: it does no I/O, and two calls with the same arguments give the same answer, on every rank.
//!
//! | text | type | nodes |
//! |---|---|---|
//! | `line:N`, `ring:N`, `mesh:AxB[xC..]`, `torus:AxB[xC..]` | [`Grid`] | product of the extents |
//! | `hypercube:D` | [`Hypercube`] | 2^D |
//! | `complete:N` | [`Complete`] | N |
//! | `graph:@FILE` | [`Graph`] | 1 + the largest number in the edge list |
//!
//! [`parse`] reads the text, [`Topology::text`] writes it. To bring a network of your own, implement [`Topology`] and
//! run [`conformance::run_all`] on it.

mod grid;
mod parse;

pub use grid::{Coordinates, Grid};
pub use parse::ParseError;

use std::fmt::Debug;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::ids::Node;

/// The neighbours of a node: few, in ascending order.
pub type Neighbours = SmallVec<[Node; 8]>;

/// A connected network of nodes `0..nodes()` and directed channels; every link is two channels, one each way.
///
/// # For callers
///
/// Methods that take a node may answer anything for one that is not below [`nodes`](Self::nodes), but neither panic
/// nor loop for ever. All methods are cheap enough to be called for each transfer of a schedule; none blocks.
///
/// # For implementors
///
/// - `neighbours(u)` is in ascending order, without `u` and without repetition, and `v` is among those of `u` exactly
///   if `u` is among those of `v`.
/// - `distance` is the number of channels on a shortest path, 0 from a node to itself.
/// - `route(u, v)` is a path along neighbours, both ends included, of `distance(u, v)` channels, and always the same.
/// - The network is connected, and `1 <= nodes() <= MAX_NODES`.
/// - Methods must not depend on anything but their arguments and the value itself: ranks compute routes separately
///   and rely on agreeing.
///
/// [`conformance::run_all`] checks all of it.
pub trait Topology: Send + Sync + Debug {
    /// How many nodes there are: at least one.
    fn nodes(&self) -> usize;

    /// The nodes that a channel leads to from `node`, in ascending order.
    fn neighbours(&self, node: Node) -> Neighbours;

    /// Channels on a shortest path.
    fn distance(&self, from: Node, to: Node) -> usize;

    /// The default way: a shortest path, both ends included (so `[from]` alone where they are equal).
    fn route(&self, from: Node, to: Node) -> Vec<Node>;

    /// Topology text, such as `torus:4x4`. For types of this crate, [`parse`] gives an equal topology back (a graph
    /// excepted, whose text names the file it came from, if any).
    fn text(&self) -> String;

    /// Itself as a grid, for algorithms that need lines, rings, meshes or tori. `None` for everything else.
    fn as_grid(&self) -> Option<&Grid> {
        None
    }

    /// The d of a binary cube: there are 2^d nodes, and those whose numbers differ in one bit are neighbours (perhaps
    /// among others). `None` where that is not so, or not known.
    fn cube(&self) -> Option<u32> {
        None
    }

    /// What `nodes` (distinct, in any order) are among themselves, if that is a network of a known kind: the sub-network
    /// and, for each of the given nodes, its number in there. A row of a torus is a ring. `None` where the sub-network
    /// is of no such kind or not connected.
    fn part(&self, nodes: &[Node]) -> Option<(Arc<dyn Topology>, Vec<Node>)> {
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
