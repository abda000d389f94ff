//! The links of a network between the ranks on its nodes.

use crate::ids::Rank;
use crate::vocabulary::Problem;

/// Returns the ranks on the neighbours of each rank's node, if every node has a rank.
pub(super) fn neighbours(problem: &Problem) -> Option<Vec<Vec<usize>>> {
    let (topology, placement) = (problem.topology(), problem.placement());
    let of = |rank: Rank| {
        let mut ranks = vec![];
        for node in topology.neighbours(placement.node(rank)) {
            ranks.push(placement.rank(node)?.index());
        }
        Some(ranks)
    };
    let all = || problem.all().map(of).collect();
    (problem.ranks() == topology.nodes()).then(all).flatten()
}

/// Returns whether the first node reaches all nodes.
pub(super) fn is_connected(neighbours: &[Vec<usize>]) -> bool {
    let mut reached = vec![false; neighbours.len()];
    let mut queue = vec![0];
    while let Some(node) = queue.pop() {
        if let Some(reached) = reached.get_mut(node).filter(|reached| !**reached) {
            *reached = true;
            queue.extend(&neighbours[node]);
        }
    }
    reached.iter().all(|reached| *reached)
}
