//! The complete binary tree.

use super::text::{Named, SyntaxFault, TextCursor, TopologyRow};
use super::{Graph, Neighbours, Part, SizeError, Topology, as_set};
use crate::ids::{MAX_NODES, Node};

pub(super) const ROW: TopologyRow =
    TopologyRow { name: "binary-tree", syntax: &["binary-tree:L"], example: "binary-tree:3", read };

fn read(cursor: &mut TextCursor<'_>) -> Result<Named, SyntaxFault> {
    let levels = cursor.number("a number of levels", 1, BinaryTree::MAX_LEVELS)?;
    cursor.end("the end")?;
    Named::network(BinaryTree::new(levels))
}

/// The complete binary tree of L levels: 2^L - 1 nodes, numbered level by level from the root, 0.
/// The children of node i are 2i + 1 and 2i + 2.
///
/// A tree stores the number of levels alone. Methods take time in proportion to it.
///
/// ```
/// use necklace::Node;
/// use necklace::topology::{BinaryTree, Topology};
///
/// let tree = BinaryTree::new(3).expect("7 nodes");
/// assert_eq!(tree.route(Node::new(3), Node::new(2)), [3, 1, 0, 2].map(Node::new));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BinaryTree {
    levels: usize,
}

impl BinaryTree {
    /// The largest number of levels: 2^31 - 1 nodes.
    pub(crate) const MAX_LEVELS: usize = (MAX_NODES as u64 + 1).ilog2() as usize;

    /// Returns the tree of this many levels.
    ///
    /// # Errors
    ///
    /// [`SizeError`] for no levels or more than 31.
    pub fn new(levels: usize) -> Result<Self, SizeError> {
        SizeError::check("the number of levels", levels, 1, Self::MAX_LEVELS)?;
        Ok(Self { levels })
    }

    /// Returns the number of levels.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.levels
    }
}

/// Returns the parent of a node that is not the root.
fn parent(node: usize) -> usize {
    (node - 1) / 2
}

/// Returns the nodes from one up to the first common ancestor with the other, and those from the
/// other up to below it.
fn up(mut from: usize, mut to: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut rising, mut falling) = (vec![from], vec![]);
    while from != to {
        // The higher number is not nearer to the root.
        if from > to {
            from = parent(from);
            rising.push(from);
        } else {
            falling.push(to);
            to = parent(to);
        }
    }
    (rising, falling)
}

impl Topology for BinaryTree {
    fn nodes(&self) -> usize {
        ((1_u64 << self.levels) - 1) as usize
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        let node = node.index();
        let above = node.checked_sub(1).map(|below| below / 2);
        let below = [2 * node + 1, 2 * node + 2].into_iter().filter(|&child| child < self.nodes());
        above.into_iter().chain(below).map(Node::new).collect()
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        let (rising, falling) = up(from.index(), to.index());
        rising.len() + falling.len() - 1
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        let (rising, falling) = up(from.index(), to.index());
        rising.into_iter().chain(falling.into_iter().rev()).map(Node::new).collect()
    }

    fn text(&self) -> String {
        format!("{}:{}", ROW.name, self.levels)
    }

    /// Connected parts are [`Graph`]s.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        as_set(nodes, self.nodes())?;
        Graph::induced(self, nodes)
    }

    fn adjacent(&self, from: Node, to: Node) -> bool {
        let (low, high) = (from.min(to).index(), from.max(to).index());
        low < high && high < self.nodes() && parent(high) == low
    }

    fn channels(&self) -> usize {
        2 * (self.nodes() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_pass_the_first_common_ancestor() {
        let tree = BinaryTree::new(4).unwrap();
        let route =
            |from, to| tree.route(Node::new(from), Node::new(to)).into_iter().map(Node::index).collect::<Vec<_>>();
        assert_eq!(route(7, 10), [7, 3, 1, 4, 10]);
        assert_eq!(route(0, 14), [0, 2, 6, 14]);
        assert_eq!(route(14, 0), [14, 6, 2, 0]);
        assert_eq!(route(5, 5), [5]);
    }

    #[test]
    fn levels_out_of_range_are_refused() {
        for refused in [0, 32] {
            let error = BinaryTree::new(refused).unwrap_err().to_string();
            assert_eq!(error, format!("the number of levels is {refused}; expected 1 to 31"));
        }
        let largest = BinaryTree::new(31).unwrap();
        assert_eq!(largest.nodes(), MAX_NODES);
        assert_eq!(largest.distance(Node::new(MAX_NODES - 1), Node::new(MAX_NODES / 2)), 60);
    }
}
