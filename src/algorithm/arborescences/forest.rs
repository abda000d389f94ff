//! Trees under construction.

/// The number that stands for no node and no tree.
pub(super) const NONE: usize = usize::MAX;

/// Trees from one root, which need not contain all nodes yet. No arc is in two trees.
#[derive(Clone, Debug)]
pub(super) struct Forest<'a> {
    /// By node: the nodes at the other ends of its links, in ascending order.
    pub(super) neighbours: &'a [Vec<usize>],
    pub(super) root: usize,
    /// By tree and node: the node above it, or [`NONE`].
    pub(super) parents: Vec<Vec<usize>>,
    /// By tree and node: the number of arcs from the root, or [`NONE`] if the tree does not contain
    /// the node.
    pub(super) depths: Vec<Vec<usize>>,
    /// By node and place of a neighbour: the tree with the arc from there, or [`NONE`].
    pub(super) owners: Vec<Vec<usize>>,
    /// By tree: the number of its nodes.
    pub(super) sizes: Vec<usize>,
}

impl<'a> Forest<'a> {
    /// Returns trees that contain the root alone.
    pub(super) fn new(neighbours: &'a [Vec<usize>], root: usize, trees: usize) -> Self {
        let nodes = neighbours.len();
        let mut depths = vec![vec![NONE; nodes]; trees];
        depths.iter_mut().for_each(|depths| depths[root] = 0);
        Self {
            neighbours,
            root,
            parents: vec![vec![NONE; nodes]; trees],
            depths,
            owners: neighbours.iter().map(|all| vec![NONE; all.len()]).collect(),
            sizes: vec![1; trees],
        }
    }

    pub(super) fn trees(&self) -> usize {
        self.parents.len()
    }

    /// Returns whether a tree contains a node.
    pub(super) fn contains(&self, tree: usize, node: usize) -> bool {
        self.depths[tree][node] != NONE
    }

    /// Returns the trees that do not contain a node.
    pub(super) fn missing(&self, node: usize) -> Vec<usize> {
        (0..self.trees()).filter(|&tree| !self.contains(tree, node)).collect()
    }

    /// Returns whether all trees contain all nodes.
    pub(super) fn is_complete(&self) -> bool {
        self.sizes.iter().all(|&size| size == self.neighbours.len())
    }

    /// Returns the number of arcs on the longest path from the root.
    pub(super) fn depth(&self) -> usize {
        self.depths.iter().flatten().copied().filter(|&depth| depth != NONE).max().unwrap_or(0)
    }

    /// Returns the place of a node among the neighbours of another one.
    pub(super) fn place(&self, node: usize, neighbour: usize) -> usize {
        self.neighbours[node].partition_point(|&other| other < neighbour)
    }

    /// Adds a node to a tree, by the arc from the neighbour at this place.
    pub(super) fn add(&mut self, tree: usize, node: usize, place: usize) {
        let parent = self.neighbours[node][place];
        self.parents[tree][node] = parent;
        self.depths[tree][node] = self.depths[tree][parent] + 1;
        self.owners[node][place] = tree;
        self.sizes[tree] += 1;
    }

    /// Removes a leaf from a tree.
    pub(super) fn remove(&mut self, tree: usize, node: usize, place: usize) {
        self.parents[tree][node] = NONE;
        self.depths[tree][node] = NONE;
        self.owners[node][place] = NONE;
        self.sizes[tree] -= 1;
    }
}
