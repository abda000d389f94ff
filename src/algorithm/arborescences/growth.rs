//! Trees that grow from the root, all at once, level by level.
//!
//! Partial trees can be completed exactly if every set of nodes without the root is entered by at
//! least as many free arcs as there are trees without a node in it (Edmonds). As flows: each node
//! can receive one unit from each tree that does not contain it, over free arcs of capacity 1,
//! where a unit starts at any node of its tree.
//!
//! An arc that a tree takes enters only sets that contain the arc's head, so the flow to that node
//! alone tells whether the condition still holds. A tree that may not take an arc may never take
//! it: the set that would be left with too few arcs stays short of arcs.

use super::forest::{Forest, NONE};

/// Returns complete trees, as many as there can be.
pub(super) fn grow(neighbours: &[Vec<usize>], root: usize) -> Forest<'_> {
    let bound = neighbours.iter().map(Vec::len).min().unwrap_or(0).max(1);
    let grown = Growth::new(neighbours, root, bound, false).run();
    if grown.is_complete() {
        return grown;
    }
    let trees = most_trees(neighbours, root, bound);
    if trees < bound {
        let grown = Growth::new(neighbours, root, trees, false).run();
        if grown.is_complete() {
            return grown;
        }
    }
    Growth::new(neighbours, root, trees, true).run()
}

/// Returns the number of trees that there can be, which is at most `bound`: the least flow from the
/// root to any node.
fn most_trees(neighbours: &[Vec<usize>], root: usize, bound: usize) -> usize {
    let mut forest = Forest::new(neighbours, root, bound);
    let mut flow = Flow::new(neighbours, bound);
    for node in (0..neighbours.len()).filter(|&node| node != root) {
        let units = flow.units(&forest, node);
        if units < forest.trees() {
            forest = Forest::new(neighbours, root, units);
        }
    }
    forest.trees()
}

/// Trees that grow.
struct Growth<'a> {
    forest: Forest<'a>,
    /// Computes a flow for each arc, if there is one.
    flow: Option<Flow>,
    /// By node: pairs of a neighbour's place and a tree that may not take the arc from there.
    refused: Vec<Vec<(usize, usize)>>,
}

impl<'a> Growth<'a> {
    fn new(neighbours: &'a [Vec<usize>], root: usize, trees: usize, careful: bool) -> Self {
        Self {
            forest: Forest::new(neighbours, root, trees),
            flow: careful.then(|| Flow::new(neighbours, trees)),
            refused: vec![vec![]; neighbours.len()],
        }
    }

    /// Adds levels until the trees are complete or get stuck.
    fn run(mut self) -> Forest<'a> {
        let (nodes, root) = (self.forest.neighbours.len(), self.forest.root);
        let mut grows = true;
        for level in 1.. {
            if !grows || self.forest.is_complete() {
                break;
            }
            grows = false;
            for node in (0..nodes).filter(|&node| node != root) {
                grows |= self.extend(node, level);
            }
        }
        self.forest
    }

    /// Adds a node, below nodes of earlier levels, to as many trees as possible. The smallest trees
    /// choose first, so the root's arcs are dealt out evenly. Returns whether there were any.
    fn extend(&mut self, node: usize, level: usize) -> bool {
        let mut missing = self.forest.missing(node);
        let before = missing.len();
        missing.sort_by_key(|&tree| self.forest.sizes[tree]);
        loop {
            let trees = Matching::of(self, node, level, &missing).trees;
            let mut is_final = true;
            for (place, tree) in trees.into_iter().enumerate().filter(|(_, tree)| *tree != NONE) {
                self.forest.add(tree, node, place);
                if self.flow.as_mut().is_some_and(|flow| !flow.is_full(&self.forest, node)) {
                    self.forest.remove(tree, node, place);
                    self.refused[node].push((place, tree));
                    is_final = false;
                } else {
                    missing.retain(|&other| other != tree);
                }
            }
            if is_final {
                return missing.len() < before;
            }
        }
    }
}

/// The choice of arcs to one node.
struct Matching<'a> {
    growth: &'a Growth<'a>,
    node: usize,
    level: usize,
    /// By a neighbour's place: the tree that gets the arc from there, or [`NONE`].
    trees: Vec<usize>,
}

impl<'a> Matching<'a> {
    /// Returns a choice for as many trees as possible.
    fn of(growth: &'a Growth<'a>, node: usize, level: usize, missing: &[usize]) -> Self {
        let arcs = growth.forest.neighbours[node].len();
        let mut matching = Self { growth, node, level, trees: vec![NONE; arcs] };
        for &tree in missing {
            matching.augment(tree, &mut vec![false; arcs]);
        }
        matching
    }

    /// Chooses an arc for a tree. Other trees may get other arcs for it.
    fn augment(&mut self, tree: usize, seen: &mut [bool]) -> bool {
        for place in 0..self.trees.len() {
            if seen[place] || !self.may_take(tree, place) {
                continue;
            }
            seen[place] = true;
            let other = self.trees[place];
            if other == NONE || self.augment(other, seen) {
                self.trees[place] = tree;
                return true;
            }
        }
        false
    }

    fn may_take(&self, tree: usize, place: usize) -> bool {
        let Growth { forest, refused, .. } = self.growth;
        forest.owners[self.node][place] == NONE
            && forest.depths[tree][forest.neighbours[self.node][place]] < self.level
            && !refused[self.node].contains(&(place, tree))
    }
}

/// The first step of a path from a node to the target, on which one more unit can flow.
#[derive(Clone, Copy)]
enum Step {
    Target,
    /// Over a free arc.
    Along {
        head: usize,
        place: usize,
    },
    /// Against the unit that an arc to the node carries.
    Against {
        tail: usize,
        place: usize,
    },
    /// The unit of this tree, which starts at the node, starts elsewhere.
    Start {
        tree: usize,
    },
}

/// Flows to a node over free arcs, of at most one unit from each tree that does not contain it. The
/// memory is that of the flow before.
struct Flow {
    /// By tree: the node at which its unit starts, or [`NONE`].
    starts: Vec<usize>,
    /// By head and place of the neighbour at the tail: whether the arc carries a unit.
    carries: Vec<Vec<bool>>,
    /// The arcs that have carried one.
    carried: Vec<(usize, usize)>,
    /// By node that a search has found: the step from there.
    steps: Vec<Option<Step>>,
    /// The nodes that a search has found.
    queue: Vec<usize>,
    /// By tree: the first node found at which its unit could start, or [`NONE`].
    found: Vec<usize>,
}

impl Flow {
    fn new(neighbours: &[Vec<usize>], trees: usize) -> Self {
        Self {
            starts: vec![NONE; trees],
            carries: neighbours.iter().map(|all| vec![false; all.len()]).collect(),
            carried: vec![],
            steps: vec![None; neighbours.len()],
            queue: vec![],
            found: vec![NONE; trees],
        }
    }

    /// Returns the number of units of the largest flow.
    fn units(&mut self, forest: &Forest<'_>, node: usize) -> usize {
        let missing = forest.missing(node);
        self.starts.fill(NONE);
        let units = (0..missing.len()).take_while(|_| self.augment(forest, node, &missing)).count();
        for (head, place) in self.carried.drain(..) {
            self.carries[head][place] = false;
        }
        units
    }

    /// Returns whether all trees that do not contain the node have a unit.
    fn is_full(&mut self, forest: &Forest<'_>, node: usize) -> bool {
        self.units(forest, node) == forest.missing(node).len()
    }

    /// Adds a unit, if possible.
    fn augment(&mut self, forest: &Forest<'_>, node: usize, missing: &[usize]) -> bool {
        self.find(node, Step::Target);
        let start = self.search(forest, missing);
        if let Some(start) = start {
            self.push(start);
        }
        for node in self.queue.drain(..) {
            self.steps[node] = None;
        }
        self.found.fill(NONE);
        start.is_some()
    }

    fn find(&mut self, node: usize, step: Step) {
        if self.steps[node].is_none() {
            self.steps[node] = Some(step);
            self.queue.push(node);
        }
    }

    /// Searches backwards from the target, and returns the node at which one more unit starts.
    fn search(&mut self, forest: &Forest<'_>, missing: &[usize]) -> Option<usize> {
        let mut next = 0;
        while let Some(&at) = self.queue.get(next) {
            next += 1;
            for &tree in missing {
                if self.found[tree] != NONE || !forest.contains(tree, at) {
                    continue;
                }
                self.found[tree] = at;
                let start = self.starts[tree];
                if start == NONE {
                    self.starts[tree] = at;
                    return Some(at);
                }
                self.find(start, Step::Start { tree });
            }
            for (place, &from) in forest.neighbours[at].iter().enumerate() {
                if self.steps[from].is_some() {
                    continue;
                }
                if forest.owners[at][place] == NONE && !self.carries[at][place] {
                    self.find(from, Step::Along { head: at, place });
                    continue;
                }
                let back = forest.place(from, at);
                if self.carries[from][back] {
                    self.find(from, Step::Against { tail: at, place: back });
                }
            }
        }
        None
    }

    /// Sends a unit from a node to the target.
    fn push(&mut self, mut at: usize) {
        while let Some(step) = self.steps[at] {
            at = match step {
                Step::Target => return,
                Step::Along { head, place } => {
                    self.carries[head][place] = true;
                    self.carried.push((head, place));
                    head
                }
                Step::Against { tail, place } => {
                    self.carries[at][place] = false;
                    tail
                }
                Step::Start { tree } => {
                    self.starts[tree] = self.found[tree];
                    self.found[tree]
                }
            }
        }
    }
}
