//! The balanced spanning tree and subgraph of the generalized hypercube, and the tree on windows.

use super::necklaces::Necklaces;
use super::tree::SpanningTree;
use crate::ids::Node;
use crate::topology::{Factor, Topology};

/// The balanced spanning subgraph BSG of the generalized hypercube GH(k, n): n (k - 1) trees of
/// shortest paths, one for each channel of the root.
///
/// Tree i contains a node v other than the root if i is D(v) modulo P(v), its displacement and
/// period. So it has one node of each necklace, and each node is in n (k - 1) / P(v) trees: in one,
/// unless its necklace is degenerate. If the block of a node is cut into as many parts, every
/// channel of the root carries (N - 1) / (n (k - 1)) blocks, not rounded. The trees are rotations
/// of each other.
///
/// Source: Q. Wang's dissertation, 1999, definition 10.10. It calls the trees spanning, and lets i
/// be at most n (k - 1). With D(v) = i mod P(v), as printed, they span the nodes together, and i is
/// less than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalancedSubgraph {
    necklaces: Necklaces,
    root: Node,
}

impl BalancedSubgraph {
    /// Returns the subgraph from a root. `None` if the root is not a node of the necklaces.
    #[must_use]
    pub fn new(necklaces: Necklaces, root: Node) -> Option<Self> {
        (root.index() < necklaces.nodes()).then_some(Self { necklaces, root })
    }

    /// Returns the number of trees, n (k - 1).
    #[must_use]
    pub fn trees(self) -> usize {
        self.necklaces.rotations()
    }

    /// Returns whether a tree contains a node other than the root, which is in all of them.
    #[must_use]
    pub fn contains(self, tree: usize, node: Node) -> bool {
        let address = self.necklaces.relative(node, self.root);
        let (period, displacement) = (self.necklaces.period(address), self.necklaces.displacement(address));
        address.index() == 0 || tree < self.trees() && tree % period == displacement
    }

    /// Returns the node above a node in a tree. `None` for the root, and for a node that the tree
    /// does not [contain](Self::contains).
    #[must_use]
    pub fn parent(self, tree: usize, node: Node) -> Option<Node> {
        let address = self.necklaces.relative(node, self.root);
        let place = self.necklaces.cleared(address.index(), tree).filter(|_| self.contains(tree, node))?;
        let parent = self.necklaces.with_digit(address.index(), place, 0);
        Some(self.necklaces.translated(Node::new(parent), self.root))
    }
}

/// Returns the balanced spanning tree BST from a root, of a product of equal rows: of complete
/// networks, as in the generalized hypercube, of windows, lines or rings. `None` for other
/// networks, networks of one node, and a root that does not exist.
///
/// On the generalized hypercube GH(k, n), the parent of a node v lacks one of its digits: the first
/// that is not 0, cyclically to the left of place n - 1 - D(v), with D(v) its
/// [displacement](Necklaces::displacement). So the tree has shortest paths, and node v is in the
/// subtree of the channel of the root that D(v) stands for. From another root, all nodes are
/// translated: digits are added modulo k.
///
/// | k | n | largest subtree | smallest | (N - 1) / (n (k - 1)) |
/// |---|---|---|---|---|
/// | 5 | 2 | 3 | 3 | 3 |
/// | 7 | 2 | 4 | 4 | 4 |
/// | 8 | 2 | 5 | 4 | 4.5 |
/// | 3 | 3 | 5 | 4 | 4.3 |
/// | 5 | 3 | 11 | 10 | 10.3 |
/// | 2 | 6 | 13 | 9 | 10.5 |
/// | 2 | 8 | 35 | 30 | 31.9 |
///
/// Subtree i has a node of each necklace whose period exceeds i. So the largest has as many nodes
/// as there are necklaces but that of node 0, and sizes differ by the number of degenerate
/// necklaces, whose period is less than n (k - 1): in two dimensions by 1 at most.
///
/// # On windows
///
/// In HOW(k, w, n), a channel that does not exist becomes a path of jumps, the longest first. The
/// nodes between keep their places in the tree, wherever these are, and the node at the end goes
/// below the last of them. So all paths are shortest in this network too. But subtrees are not
/// balanced any more: all nodes beyond a window are below its end. One-to-all personalised
/// communication does not take time in proportion to p / (n w), which the source expects: see the
/// table of [`spanning_trees`](super). Rows of lines and rings have such trees too. Figure 10.2,
/// with the nodes shaded whose parent is another than in GH(5, 2):
///
#[cfg_attr(doc, doc = include_str!("../../../doc/spanning-tree-how-5-3-2.svg"))]
///
/// Source: Q. Wang's dissertation, 1999, definition 10.9 and chapter 10.
///
/// ```
/// use necklace::Node;
/// use necklace::algorithm::spanning_trees::balanced;
/// use necklace::topology::parse;
///
/// let tree = balanced(&*parse("ghc:5,2")?, Node::new(0)).unwrap();
/// assert_eq!((tree.height(), tree.subtrees()), (2, vec![3; 8]));
/// let tree = balanced(&*parse("how:5,3,2")?, Node::new(0)).unwrap();
/// // 04 is below 03.
/// assert_eq!((tree.height(), tree.parent(Node::new(4))), (4, Some(Node::new(3))));
/// # Ok::<(), necklace::topology::ParseError>(())
/// ```
#[must_use]
pub fn balanced(topology: &dyn Topology, root: Node) -> Option<SpanningTree> {
    Some(RowsFromRoot::new(&topology.factors()?, root.index())?.tree())
}

/// Equal rows, and a root: what leads from it to the other nodes, in each tree of the subgraph.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowsFromRoot {
    necklaces: Necklaces,
    row: Factor,
    root: usize,
}

impl RowsFromRoot {
    /// Returns `None` if the rows are not equal, or have one node, or the root does not exist.
    pub(super) fn new(rows: &[Factor], root: usize) -> Option<Self> {
        let row = *rows.first().filter(|first| rows.iter().all(|row| row == *first))?;
        let necklaces = Necklaces::new(row.extent(), rows.len())?;
        (root < necklaces.nodes()).then_some(Self { necklaces, row, root })
    }

    pub(super) fn necklaces(&self) -> Necklaces {
        self.necklaces
    }

    pub(super) fn root(&self) -> usize {
        self.root
    }

    /// Returns the address of a node, seen from the root.
    fn address(&self, node: usize) -> Node {
        self.necklaces.relative(Node::new(node), Node::new(self.root))
    }

    /// Returns the node before another one on its path from the root in a tree of the subgraph, with
    /// the longest jumps first along a row. That of the root is the root.
    pub(super) fn above(&self, node: usize, tree: usize) -> usize {
        let Some(place) = self.necklaces.cleared(self.address(node).index(), tree) else { return node };
        let [from, to] = [self.root, node].map(|node| self.necklaces.digit(node, place));
        self.necklaces.with_digit(node, place, last_stop(self.row, from, to))
    }

    /// Returns the balanced spanning tree: the path of each node is that of the first tree of the
    /// subgraph that contains it.
    pub(super) fn tree(&self) -> SpanningTree {
        let above = |node| self.above(node, self.necklaces.displacement(self.address(node)));
        SpanningTree::new(self.root, (0..self.necklaces.nodes()).map(above).collect())
    }
}

/// Returns the coordinate before the last on the path along a row with the longest jumps first.
fn last_stop(row: Factor, from: usize, to: usize) -> usize {
    let extent = row.extent();
    let (window, wraps) = match row {
        Factor::Complete(_) => return from,
        Factor::Line(_) => (1, false),
        Factor::Ring(_) => (1, true),
        Factor::Windows { window, wraps, .. } => (window.max(1), wraps),
    };
    let (length, is_up) = (from.abs_diff(to), from < to);
    let round = extent - length;
    let (length, is_up) = if wraps && round < length { (round, !is_up) } else { (length, is_up) };
    let jump = length.saturating_sub(1) % window + 1;
    (if is_up { to + extent - jump } else { to + jump }) % extent
}
