//! What the checks ask: of small networks everything, of large ones a sample that is the same in
//! every run.

use std::collections::HashSet;

use crate::ids::Node;
use crate::topology::Topology;

/// All of them.
pub(super) fn nodes(topology: &dyn Topology) -> impl DoubleEndedIterator<Item = Node> {
    (0..topology.nodes()).map(Node::new)
}

/// Channels on a shortest path from a node to each, where there is one.
pub(super) fn breadth_first(topology: &dyn Topology, from: Node) -> Vec<Option<usize>> {
    let mut hops = vec![None; topology.nodes()];
    hops[from.index()] = Some(0);
    let mut ring = vec![from];
    for distance in 1.. {
        let mut next = Vec::new();
        for node in ring {
            for other in topology.neighbours(node) {
                if let Some(unreached @ None) = hops.get_mut(other.index()) {
                    *unreached = Some(distance);
                    next.push(other);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        ring = next;
    }
    hops
}

/// All nodes of a small network; of a large one, some from everywhere in it.
pub(super) fn sample(topology: &dyn Topology) -> Vec<Node> {
    const SMALL: usize = 128;
    const SOME: usize = 48;
    let count = topology.nodes();
    if count <= SMALL {
        return nodes(topology).collect();
    }
    let mut scatter = Scatter(1);
    let mut sample: Vec<Node> = [0, 1, count - 1].map(Node::new).to_vec();
    while sample.len() < SOME {
        let node = scatter.below(count);
        if !sample.contains(&node) {
            sample.push(node);
        }
    }
    sample.sort_unstable();
    sample
}

/// All pairs of these.
pub(super) fn pairs(topology: &dyn Topology) -> Vec<(Node, Node)> {
    let sample = sample(topology);
    sample.iter().flat_map(|&from| sample.iter().map(move |&to| (from, to))).collect()
}

/// Sets of nodes to take parts of: not empty, in range, without repetition, in no particular order.
pub(super) fn sets(topology: &dyn Topology) -> Vec<Vec<Node>> {
    const LARGEST: usize = 64;
    let count = topology.nodes();
    let sample = sample(topology);
    let mut sets: Vec<Vec<Node>> = vec![nodes(topology).collect(), nodes(topology).rev().collect()];
    for &node in &sample {
        sets.push(vec![node]);
        sets.push([node].into_iter().chain(topology.neighbours(node)).take(LARGEST).collect());
        sets.push(topology.route(sample[0], node));
        sets.push(topology.route(node, sample[sample.len() / 2]));
    }
    // Runs of numbers, every so many: in grids and cubes, lines, planes and boxes.
    for width in [1, 2, 3, 4, 6, 8] {
        for stride in [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, count] {
            for start in [0, stride / 2, count / 2] {
                let runs = (start..count).step_by(stride).flat_map(|first| first..(first + width).min(count));
                sets.push(runs.take(LARGEST).map(Node::new).collect());
            }
        }
    }
    let mut scatter = Scatter(2);
    for size in 2..LARGEST.min(count) {
        let mut set: Vec<Node> = (0..size).map(|_| scatter.below(count)).collect();
        sets.push(set.clone());
        // A walk, which is connected, unlike most that are scattered.
        for i in 1..size {
            let others = topology.neighbours(set[i - 1]);
            set[i] = others.get(scatter.below(others.len().max(1)).index()).copied().unwrap_or(set[i - 1]);
        }
        sets.push(set);
    }
    for set in &mut sets {
        // Keep the order, since numbers must follow it; drop what no network has.
        let mut seen = HashSet::new();
        set.retain(|node| node.index() < count && seen.insert(*node));
    }
    sets.retain(|set| !set.is_empty());
    sets
}

/// Numbers without a pattern, the same in every run (Marsaglia's xorshift64).
struct Scatter(u64);

impl Scatter {
    /// A node below `count`, which is not 0.
    fn below(&mut self, count: usize) -> Node {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Node::new(usize::try_from(self.0 >> 32).unwrap_or_default() % count)
    }
}
