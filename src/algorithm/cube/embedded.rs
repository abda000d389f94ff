//! Checks that ranks sit on cubes.

use crate::ids::Rank;
use crate::topology::Topology;
use crate::vocabulary::Placement;

/// Returns two ranks whose numbers differ in one of these bits and that are not on neighbouring
/// nodes, if there are any.
pub(crate) fn apart(topology: &dyn Topology, placement: &Placement, bits: &[usize]) -> Option<(Rank, Rank)> {
    let all_are = topology.cube().is_some() && placement.is_identity();
    let pairs = (0..if all_are { 0 } else { placement.ranks() })
        .flat_map(|low| bits.iter().map(move |bit| (low, low ^ (1 << bit))));
    let ranks = pairs.filter(|(low, high)| low < high).map(|(low, high)| (Rank::new(low), Rank::new(high)));
    ranks.into_iter().find(|&(low, high)| topology.distance(placement.node(low), placement.node(high)) != 1)
}

/// Returns whether the network is a cube without further links, with rank i on node i.
/// [`Topology::cube`] allows further links.
pub(crate) fn is_cube(topology: &dyn Topology, placement: &Placement) -> bool {
    let by_two = || topology.factors().is_some_and(|factors| factors.iter().all(|factor| factor.extent() == 2));
    placement.is_identity() && placement.ranks() == topology.nodes() && by_two()
}

/// Returns whether ranks that agree in all bits except these sit on cubes: neighbours if they
/// differ in one of them, no neighbours if in two.
pub(crate) fn are_cubes(topology: &dyn Topology, placement: &Placement, bits: &[usize]) -> bool {
    if is_cube(topology, placement) {
        return true;
    }
    let pair = |i: usize| bits[i + 1..].iter().map(move |high| 1_usize << bits[i] | 1 << high);
    let neighbours = |low: usize, high: usize| {
        topology.distance(placement.node(Rank::new(low)), placement.node(Rank::new(high))) == 1
    };
    let denser = |rank: usize| (0..bits.len()).flat_map(pair).any(|both| neighbours(rank, rank ^ both));
    apart(topology, placement, bits).is_none() && !(0..placement.ranks()).any(denser)
}
