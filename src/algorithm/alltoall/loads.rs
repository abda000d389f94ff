//! What default routes do to the channels of products of lines, rings and complete networks, where every node has a rank
//! and every block goes straight to its destination.
//!
//! Default routes correct the last dimension first. So where a block is moved along dimension d, its later coordinates are
//! the destination's, its earlier ones the source's: of all N^2 blocks, every line along d is given the same.

use crate::schedule::{Problem, Volume};
use crate::topology::{Axis, Kind, routed_axes};

/// The product that the problem's network is, if its default routes are known to be such, and every node has a rank.
fn product(problem: &Problem) -> Option<Vec<Axis>> {
    let topology = problem.topology();
    routed_axes(&**topology).filter(|_| problem.ranks() == topology.nodes())
}

/// What the busiest channel carries when all blocks go at once.
pub(super) fn at_once(problem: &Problem) -> Option<Volume> {
    let nodes = problem.ranks() as u128;
    let load = |axis: &Axis| {
        let extent = u128::from(axis.extent);
        let of_a_line = match axis.kind {
            Kind::Line => extent * extent / 4,
            // Blocks that have half a ring to go all go up, so this is more than the average.
            Kind::Ring => (extent / 2) * (extent / 2 + 1) / 2,
            Kind::Complete => 1,
        };
        Volume::ratio(of_a_line * nodes, extent)
    };
    Some(product(problem)?.iter().map(load).max().unwrap_or_default())
}

/// The longest distance between two nodes.
pub(super) fn diameter(problem: &Problem) -> Option<u64> {
    Some(product(problem)?.into_iter().map(Axis::diameter).sum())
}

/// The sums, over all rotations of the ranks but the identity, of what the busiest channel carries and of the longest
/// route. Each takes time in proportion to the nodes, so large networks have none.
pub(super) fn rotations(problem: &Problem) -> Option<(u64, u64)> {
    const MAX: usize = 1 << 20;
    let axes = product(problem).filter(|_| problem.placement().is_identity() && problem.ranks() <= MAX)?;
    Some((1..problem.ranks() as u64).map(|shift| rotation(&axes, shift)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1)))
}

/// A rotation adds `shift` to the number of each node, digit by digit with a carry. All nodes of a line along a dimension
/// have the same later coordinates, so the same carry: along it they are all rotated alike, by a digit or one more.
fn rotation(axes: &[Axis], mut shift: u64) -> (u64, u64) {
    let (mut load, mut carry_possible) = (0, false);
    // The longest way so far, without and with a carry into the next dimension.
    let mut hops = [Some(0), None];
    for axis in axes.iter().rev() {
        let (extent, digit) = (axis.extent, shift % axis.extent);
        shift /= extent;
        let mut next: [Option<u64>; 2] = [None, None];
        for (carry, longest) in hops.into_iter().enumerate() {
            let (Some(longest), by) = (longest, digit + carry as u64) else { continue };
            let (up, down) = match axis.kind {
                Kind::Line => (by, extent - by),
                Kind::Ring => (by.min(extent - by), by.min(extent - by)),
                Kind::Complete => (u64::from(by % extent != 0), u64::from(by % extent != 0)),
            };
            if by < extent {
                next[0] = next[0].max(Some(longest + up));
            }
            if by > 0 {
                next[1] = next[1].max(Some(longest + down));
            }
        }
        for by in [digit, digit + 1].into_iter().take(1 + usize::from(carry_possible)) {
            let of_a_line = by.min(extent - by);
            load = load.max(if axis.kind == Kind::Complete { of_a_line.min(1) } else { of_a_line });
        }
        carry_possible |= digit > 0;
        hops = next;
    }
    (load, hops.into_iter().flatten().max().unwrap_or(0))
}
