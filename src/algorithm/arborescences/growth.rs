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
use crate::hash::Map;

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
    let others = (0..neighbours.len()).filter(|&node| node != root);
    others.fold(bound, |trees, node| Flow::units(&Forest::new(neighbours, root, trees), node))
}

/// Trees that grow.
struct Growth<'a> {
    forest: Forest<'a>,
    /// Whether a flow is computed for each arc.
    careful: bool,
    /// By node: pairs of a neighbour's place and a tree that may not take the arc from there.
    refused: Vec<Vec<(usize, usize)>>,
}

impl<'a> Growth<'a> {
    fn new(neighbours: &'a [Vec<usize>], root: usize, trees: usize, careful: bool) -> Self {
        Self { forest: Forest::new(neighbours, root, trees), careful, refused: vec![vec![]; neighbours.len()] }
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
                if self.careful && !Flow::is_full(&self.forest, node) {
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

/// A flow to a node over free arcs, of at most one unit from each tree that does not contain it.
struct Flow<'a> {
    forest: &'a Forest<'a>,
    node: usize,
    /// By tree: the node at which its unit starts, or [`NONE`].
    starts: Vec<usize>,
    /// Whether an arc carries a unit, by its head and the place of the neighbour at its tail.
    carries: Map<bool>,
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

impl<'a> Flow<'a> {
    /// Returns the number of units of the largest flow.
    fn units(forest: &'a Forest<'a>, node: usize) -> usize {
        let missing = forest.missing(node);
        let mut flow = Self { forest, node, starts: vec![NONE; forest.trees()], carries: Map::default() };
        (0..missing.len()).take_while(|_| flow.augment(&missing)).count()
    }

    /// Returns whether all trees that do not contain the node have a unit.
    fn is_full(forest: &'a Forest<'a>, node: usize) -> bool {
        Self::units(forest, node) == forest.missing(node).len()
    }

    fn carries(&self, head: usize, place: usize) -> bool {
        self.carries.get(&key(head, place)).copied().unwrap_or(false)
    }

    /// Adds a unit, if possible. The search goes backwards from the target.
    fn augment(&mut self, missing: &[usize]) -> bool {
        let forest = self.forest;
        let mut steps: Map<Step> = Map::default();
        steps.insert(self.node as u64, Step::Target);
        // By tree: the first node found at which its unit could start.
        let mut found = vec![NONE; forest.trees()];
        let mut queue = vec![self.node];
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            for &tree in missing {
                if found[tree] != NONE || !forest.contains(tree, at) {
                    continue;
                }
                found[tree] = at;
                let start = self.starts[tree];
                if start == NONE {
                    self.starts[tree] = at;
                    self.push(at, &steps, &found);
                    return true;
                }
                steps.entry(start as u64).or_insert_with(|| {
                    queue.push(start);
                    Step::Start { tree }
                });
            }
            for (place, &from) in forest.neighbours[at].iter().enumerate() {
                if steps.contains_key(&(from as u64)) {
                    continue;
                }
                let back = forest.place(from, at);
                let step = if forest.owners[at][place] == NONE && !self.carries(at, place) {
                    Step::Along { head: at, place }
                } else if self.carries(from, back) {
                    Step::Against { tail: at, place: back }
                } else {
                    continue;
                };
                steps.insert(from as u64, step);
                queue.push(from);
            }
        }
        false
    }

    /// Sends a unit from a node to the target.
    fn push(&mut self, mut at: usize, steps: &Map<Step>, found: &[usize]) {
        while let Some(step) = steps.get(&(at as u64)) {
            at = match *step {
                Step::Target => return,
                Step::Along { head, place } => {
                    self.carries.insert(key(head, place), true);
                    head
                }
                Step::Against { tail, place } => {
                    self.carries.insert(key(at, place), false);
                    tail
                }
                Step::Start { tree } => {
                    self.starts[tree] = found[tree];
                    found[tree]
                }
            }
        }
    }
}

fn key(head: usize, place: usize) -> u64 {
    (head as u64) << 32 | place as u64
}
