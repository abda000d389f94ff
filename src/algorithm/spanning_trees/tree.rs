//! Rooted trees that span the nodes of a network.

use crate::ids::Node;

/// A tree from a root to all nodes of a network, along its channels.
///
/// Methods return an unspecified value for a node that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanningTree {
    root: usize,
    /// By node. The root is its own.
    parents: Vec<usize>,
    depths: Vec<usize>,
    /// The number of nodes from each node on, itself included.
    sizes: Vec<usize>,
    /// The place of each node in an order in which a node is followed by all nodes below it.
    places: Vec<usize>,
}

impl SpanningTree {
    /// Returns the tree with these parents. That of the root is the root, and so becomes that of
    /// nodes from which parents do not lead to it.
    pub(super) fn new(root: usize, mut parents: Vec<usize>) -> Self {
        let nodes = parents.len();
        let mut depths = vec![usize::MAX; nodes];
        if let Some(depth) = depths.get_mut(root) {
            (*depth, parents[root]) = (0, root);
        }
        for node in 0..nodes {
            let (mut at, mut path) = (node, vec![]);
            while depths[at] == usize::MAX {
                path.push(at);
                // A cycle, or a path that leaves the network.
                if path.len() > nodes || parents[at] >= nodes {
                    parents[at] = root;
                    (at, path) = (node, vec![]);
                    continue;
                }
                at = parents[at];
            }
            for below in path.into_iter().rev() {
                depths[below] = depths[parents[below]] + 1;
            }
        }
        let mut order: Vec<usize> = (0..nodes).collect();
        order.sort_by_key(|&node| depths[node]);
        let mut sizes = vec![1; nodes];
        for &node in order.iter().rev().filter(|&&node| node != root) {
            sizes[parents[node]] += sizes[node];
        }
        // The first free place below each node.
        let (mut places, mut free) = (vec![0; nodes], vec![1; nodes]);
        for &node in order.iter().filter(|&&node| node != root) {
            let parent = parents[node];
            places[node] = free[parent];
            free[parent] += sizes[node];
            free[node] = places[node] + 1;
        }
        Self { root, parents, depths, sizes, places }
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.parents.len()
    }

    /// Returns the root.
    #[must_use]
    pub fn root(&self) -> Node {
        Node::new(self.root)
    }

    /// Returns the node above a node. `None` for the root.
    #[must_use]
    pub fn parent(&self, node: Node) -> Option<Node> {
        self.parents.get(node.index()).copied().filter(|_| node.index() != self.root).map(Node::new)
    }

    /// Returns the number of channels from the root.
    #[must_use]
    pub fn depth(&self, node: Node) -> usize {
        self.depths.get(node.index()).copied().unwrap_or_default()
    }

    /// Returns the number of channels from the root to the farthest node.
    #[must_use]
    pub fn height(&self) -> usize {
        self.depths.iter().copied().max().unwrap_or_default()
    }

    /// Returns the nodes below a node, in ascending order.
    #[must_use]
    pub fn children(&self, node: Node) -> Vec<Node> {
        (0..self.nodes()).map(Node::new).filter(|&below| self.parent(below) == Some(node)).collect()
    }

    /// Returns the number of nodes of the tree from a node on, itself included.
    #[must_use]
    pub fn size(&self, node: Node) -> usize {
        self.sizes.get(node.index()).copied().unwrap_or_default()
    }

    /// Returns the number of nodes that each channel of the root leads to, in the order of the
    /// [children](Self::children) of the root.
    #[must_use]
    pub fn subtrees(&self) -> Vec<usize> {
        self.children(self.root()).into_iter().map(|child| self.size(child)).collect()
    }

    /// Returns the depth of an existing node.
    pub(super) fn depth_of(&self, node: usize) -> usize {
        self.depths[node]
    }

    /// Returns the node above an existing node. That of the root is the root.
    pub(super) fn above(&self, node: usize) -> usize {
        self.parents[node]
    }

    /// Returns the child of the root that a node is, or is below.
    pub(super) fn first(&self, node: usize) -> usize {
        self.towards(self.root, node)
    }

    /// Returns the child of a node above another one on the path to that.
    pub(super) fn towards(&self, above: usize, node: usize) -> usize {
        let mut at = node;
        while self.parents[at] != above && self.parents[at] != at {
            at = self.parents[at];
        }
        at
    }

    /// Returns whether one node is another, or above it.
    pub(super) fn is_above(&self, above: usize, node: usize) -> bool {
        (self.places[above]..self.places[above] + self.sizes[above]).contains(&self.places[node])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_and_sizes_follow_from_the_parents() {
        let tree = SpanningTree::new(2, vec![2, 0, 9, 0, 2, 1]);
        let of = |of: &dyn Fn(Node) -> usize| (0..6).map(|node| of(Node::new(node))).collect::<Vec<_>>();
        assert_eq!(of(&|node| tree.depth(node)), [1, 2, 0, 2, 1, 3]);
        assert_eq!(of(&|node| tree.size(node)), [4, 2, 6, 1, 1, 1]);
        assert_eq!((tree.subtrees(), tree.height()), (vec![4, 1], 3));
        assert_eq!(tree.parent(Node::new(2)), None);
        let above = |node: usize| (0..6).filter(|&above| tree.is_above(above, node)).collect::<Vec<_>>();
        assert_eq!([above(5), above(3), above(4), above(2)], [vec![0, 1, 2, 5], vec![0, 2, 3], vec![2, 4], vec![2]]);
    }

    #[test]
    fn circles_are_cut() {
        let tree = SpanningTree::new(0, vec![0, 2, 3, 1, 7, 4]);
        assert!((0..6).all(|node| tree.depth(Node::new(node)) < 6) && tree.size(Node::new(0)) == 6);
    }
}
