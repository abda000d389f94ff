//! What networks and numbers of ranks algorithms ask for.

use crate::topology::Factor;
use crate::vocabulary::Problem;

/// What an algorithm for powers of two of ranks lacks elsewhere.
pub(super) fn no_power_of_two(problem: &Problem) -> Option<String> {
    let ranks = problem.ranks();
    (!ranks.is_power_of_two()).then(|| format!("it needs a power of two of ranks, there are {ranks}"))
}

/// Whether messages between any two ranks have channels of their own.
pub(super) fn is_complete(problem: &Problem) -> bool {
    let nodes = problem.topology().nodes();
    problem.topology().channels() == nodes.saturating_mul(nodes - 1)
}

/// Whether ranks whose numbers differ in one bit are neighbours.
pub(super) fn is_cube(problem: &Problem) -> bool {
    problem.placement().is_identity() && problem.topology().cube().is_some_and(|d| problem.ranks() == 1 << d)
}

/// The extents of a product of complete networks, all powers of two, with rank i on node i.
/// Exclusive or with a number changes each coordinate by itself there, and a changed coordinate is
/// one hop.
pub(super) fn cube_digits(problem: &Problem) -> Option<Vec<usize>> {
    let all = problem.placement().is_identity() && problem.ranks() == problem.topology().nodes();
    let digit =
        |factor: &Factor| (factor.is_complete() && factor.extent().is_power_of_two()).then_some(factor.extent());
    problem.topology().factors().filter(|_| all)?.iter().map(digit).collect()
}

/// The rounds of doubling that reach all of `ranks`: the base-2 logarithm, rounded up.
pub(super) fn doublings(ranks: usize) -> u32 {
    ranks.next_power_of_two().trailing_zeros()
}
