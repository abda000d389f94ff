//! Random exchanges that make complete trees shallower.
//!
//! At a node, a tree takes a free arc, or the arc of another tree, which gets the one that it had.
//! That is possible unless one of the arcs comes from below the node. The cost of a node grows with
//! its depth, by a factor of 2 for each arc, so moving a deep branch up is worth moving a shallow
//! one down. An exchange may also cost something; what it may cost becomes less and less.

use super::forest::{Forest, NONE};
use crate::numbers::Numbers;

/// The number of batches of exchanges that are tried, and the most exchanges of a batch. A smaller
/// network tries one for each node and tree.
const BATCHES: usize = 100;
const BATCH: usize = 1 << 13;

/// The cost of a node at the floor, and the largest cost, as powers of two.
const AT_FLOOR: usize = 16;
const LARGEST: usize = 40;

/// The floor is the lower bound of the depth, but at most so far above the deepest node.
const BELOW_FLOOR: usize = 20;

/// What an exchange may cost is halved so often.
const HALVINGS: usize = 8;

/// Makes trees shallower, until they have the depth `least` or all exchanges have been tried.
pub(super) fn anneal(forest: Forest<'_>, least: usize) -> Forest<'_> {
    let batch = (forest.neighbours.len() * forest.trees()).min(BATCH);
    let (mut best, mut depth) = (forest.clone(), forest.depth());
    let mut state = Annealing { forest, floor: 0, numbers: Numbers::new(1), moves: <[Move; 2]>::default() };
    let mut now = depth;
    for number in 0..BATCHES {
        if depth <= least {
            break;
        }
        state.floor = least.max(now.saturating_sub(BELOW_FLOOR));
        let scale = 1 << (AT_FLOOR - number * HALVINGS / BATCHES);
        (0..batch).for_each(|_| state.exchange(scale));
        now = state.forest.depth();
        if now < depth {
            (best, depth) = (state.forest.clone(), now);
        }
    }
    best
}

struct Annealing<'a> {
    forest: Forest<'a>,
    floor: usize,
    numbers: Numbers,
    moves: [Move; 2],
}

impl Annealing<'_> {
    /// Tries an exchange at a random node. One that costs c is made with the probability
    /// 2^-(c / scale), c / scale rounded up.
    fn exchange(&mut self, scale: i64) {
        let Self { forest, floor, numbers, moves: [first, second] } = self;
        let (node, tree) = (numbers.below(forest.neighbours.len()), numbers.below(forest.trees()));
        let place = numbers.below(forest.neighbours[node].len());
        let (parent, other) = (forest.neighbours[node][place], forest.owners[node][place]);
        if node == forest.root || other == tree {
            return;
        }
        let given = forest.parents[tree][node];
        let is_cycle = |tree, parent| is_below(forest, tree, parent, node);
        if is_cycle(tree, parent) || other != NONE && is_cycle(other, given) {
            return;
        }
        let mut cost = first.set(forest, tree, node, parent, *floor);
        if other != NONE {
            cost += second.set(forest, other, node, given, *floor);
        }
        if cost > i64::from(numbers.next().leading_zeros()) * scale {
            return;
        }
        let back = forest.place(node, given);
        (forest.owners[node][place], forest.owners[node][back]) = (tree, other);
        first.make(forest);
        if other != NONE {
            second.make(forest);
        }
    }
}

/// A branch that gets another parent.
#[derive(Default)]
struct Move {
    tree: usize,
    parent: usize,
    /// The nodes of the branch, its top first.
    branch: Vec<usize>,
    /// The depths of the top, before and after.
    depths: (usize, usize),
}

impl Move {
    /// Finds the branch, and returns what moving it costs.
    fn set(&mut self, forest: &Forest<'_>, tree: usize, node: usize, parent: usize, floor: usize) -> i64 {
        let (parents, depths) = (&forest.parents[tree], &forest.depths[tree]);
        (self.tree, self.parent, self.depths) = (tree, parent, (depths[node], depths[parent] + 1));
        self.branch.clear();
        self.branch.push(node);
        let mut next = 0;
        while let Some(&at) = self.branch.get(next) {
            next += 1;
            self.branch.extend(forest.neighbours[at].iter().filter(|&&child| parents[child] == at));
        }
        let cost = |depth: usize| 1_i64 << (depth + AT_FLOOR).saturating_sub(floor).min(LARGEST);
        self.branch.iter().map(|&at| cost(self.moved(depths[at])) - cost(depths[at])).sum()
    }

    /// Returns the new depth of a node of the branch.
    fn moved(&self, depth: usize) -> usize {
        depth + self.depths.1 - self.depths.0
    }

    fn make(&self, forest: &mut Forest<'_>) {
        for &at in &self.branch {
            forest.depths[self.tree][at] = self.moved(forest.depths[self.tree][at]);
        }
        forest.parents[self.tree][self.branch[0]] = self.parent;
    }
}

/// Returns whether a node is below another one in a tree, or is that node.
fn is_below(forest: &Forest<'_>, tree: usize, mut node: usize, other: usize) -> bool {
    while forest.depths[tree][node] > forest.depths[tree][other] {
        node = forest.parents[tree][node];
    }
    node == other
}
