//! The nodes, pairs and sets that the checks use: all of a small network; of a large one, a sample
//! that is the same in every run.

use std::collections::HashSet;

use crate::ids::Node;
use crate::numbers::Numbers;
use crate::topology::Topology;

/// Returns all nodes.
pub(super) fn nodes(topology: &dyn Topology) -> impl DoubleEndedIterator<Item = Node> {
    (0..topology.nodes()).map(Node::new)
}

/// Returns the length of a shortest path from a node to each node, if there is a path.
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

/// Returns all nodes of a small network, or a sample of a large one.
pub(super) fn sample(topology: &dyn Topology) -> Vec<Node> {
    const SMALL: usize = 128;
    const SOME: usize = 48;
    let count = topology.nodes();
    if count <= SMALL {
        return nodes(topology).collect();
    }
    let mut numbers = Numbers::new(1);
    let mut sample: Vec<Node> = [0, 1, count - 1].map(Node::new).to_vec();
    while sample.len() < SOME {
        let node = Node::new(numbers.below(count));
        if !sample.contains(&node) {
            sample.push(node);
        }
    }
    sample.sort_unstable();
    sample
}

/// Returns all pairs of the sample.
pub(super) fn pairs(topology: &dyn Topology) -> Vec<(Node, Node)> {
    let sample = sample(topology);
    sample.iter().flat_map(|&from| sample.iter().map(move |&to| (from, to))).collect()
}

/// Returns sets of nodes for [`Topology::part`]: not empty, in range, without repetition, in any
/// order.
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
    // Equidistant runs of numbers: in grids and cubes these are lines, planes and boxes.
    for width in [1, 2, 3, 4, 6, 8] {
        for stride in [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, count] {
            for start in [0, stride / 2, count / 2] {
                let runs = (start..count).step_by(stride).flat_map(|first| first..(first + width).min(count));
                sets.push(runs.take(LARGEST).map(Node::new).collect());
            }
        }
    }
    let mut numbers = Numbers::new(3);
    for size in 2..LARGEST.min(count) {
        let mut set: Vec<Node> = (0..size).map(|_| Node::new(numbers.below(count))).collect();
        sets.push(set.clone());
        // A walk, which is connected, unlike most random sets.
        for i in 1..size {
            let others = topology.neighbours(set[i - 1]);
            set[i] = others.get(numbers.below(others.len().max(1))).copied().unwrap_or(set[i - 1]);
        }
        sets.push(set);
    }
    for set in &mut sets {
        // Keep the order, since numbers must follow it; drop repeated nodes and nodes out of range.
        let mut seen = HashSet::new();
        set.retain(|node| node.index() < count && seen.insert(*node));
    }
    sets.retain(|set| !set.is_empty());
    sets
}
