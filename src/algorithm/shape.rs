//! Requirements of algorithms on networks and numbers of ranks.

use crate::topology::Factor;
use crate::vocabulary::Problem;

/// Returns the unmet requirement if the number of ranks is not a power of two.
pub(super) fn no_power_of_two(problem: &Problem) -> Option<String> {
    let ranks = problem.ranks();
    (!ranks.is_power_of_two()).then(|| format!("it needs a number of ranks that is a power of two; there are {ranks}"))
}

/// Returns the unmet requirement if contributions must be combined in rank order and go around
/// rings of more than two ranks, which combine them in circular order.
pub(super) fn no_free_order(problem: &Problem, longest: usize) -> Option<String> {
    let needs = || format!("it needs an operation that commutes, since it combines around rings of {longest} ranks");
    (!problem.commutative() && longest > 2).then(needs)
}

/// Returns whether the network is complete.
pub(super) fn is_complete(problem: &Problem) -> bool {
    let nodes = problem.topology().nodes();
    problem.topology().channels() == nodes.saturating_mul(nodes - 1)
}

/// Returns whether ranks whose numbers differ in one bit are neighbours.
pub(super) fn is_cube(problem: &Problem) -> bool {
    problem.placement().is_identity() && problem.topology().cube().is_some_and(|d| problem.ranks() == 1 << d)
}

/// Returns the extents of a product of complete networks if all are powers of two and rank i sits
/// on node i. There, exclusive or with a number changes each coordinate separately, and each
/// changed coordinate is one hop.
pub(super) fn cube_digits(problem: &Problem) -> Option<Vec<usize>> {
    let all = problem.placement().is_identity() && problem.ranks() == problem.topology().nodes();
    let digit =
        |factor: &Factor| (factor.is_complete() && factor.extent().is_power_of_two()).then_some(factor.extent());
    problem.topology().factors().filter(|_| all)?.iter().map(digit).collect()
}

/// Returns the number of doublings that reach `ranks`: the base-2 logarithm, rounded up.
pub(super) fn doublings(ranks: usize) -> u32 {
    ranks.next_power_of_two().trailing_zeros()
}
