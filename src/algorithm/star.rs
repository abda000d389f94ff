//! The round in which the root exchanges a message with each other rank.
//!
//! On products of lines, rings and complete networks with a rank on every node, default routes
//! correct the last dimension first. So of the messages from the root, those along dimension d have
//! the root's earlier coordinates and their destination's later ones: a line along d carries as
//! many for each of its nodes as there are earlier coordinates. To the root it is the other way
//! round: as many as there are later coordinates.

use super::loads::{Pattern, product, with_loads};
use super::{Claims, is_complete};
use crate::block::Volume;
use crate::topology::{Axis, Kind};
use crate::vocabulary::Problem;

/// The direction of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    FromRoot,
    ToRoot,
}

/// Returns the claims of a round in which the root sends a block to each other rank.
pub(super) fn claims_from_root(problem: &Problem) -> Claims {
    let others = problem.ranks() as u64 - 1;
    let received = Volume::from(others.min(1));
    let sent = Volume::from(others);
    Claims { received: Some(received), messages: Some(others), volume: Some(sent), ..claims(problem, Way::FromRoot, 1) }
}

/// Returns the claims of a round in which each other rank sends the root one of `parts` parts of a
/// block.
pub(super) fn claims_to_root(problem: &Problem, parts: u64) -> Claims {
    claims(problem, Way::ToRoot, parts)
}

/// Returns the claims of a round in which no rank but the root sends or receives two messages.
fn claims(problem: &Problem, way: Way, parts: u64) -> Claims {
    let others = problem.ranks() as u64 - 1;
    let (rounds, size) = (others.min(1), Volume::new(1, parts));
    let claims = Claims {
        transmission: Some(size * rounds),
        port_transmission: Some(size * others),
        handled: Some(others + rounds),
        volume: Some(size * rounds),
        ..Claims::of_single_blocks(rounds, is_complete(problem))
    };
    with_loads(claims, Pattern::star(problem, way).map(|pattern| (0..rounds).map(move |_| (pattern, size))))
}

impl Pattern {
    fn star(problem: &Problem, way: Way) -> Option<Self> {
        if is_complete(problem) {
            return Some(Self { load: 1, hops: 1 });
        }
        let root = problem.collective().root().unwrap_or_default();
        if let Some(axes) = product(problem) {
            return Some(in_product(&axes, problem.placement().node(root).index() as u64, way));
        }
        let others = problem.all().filter(|&rank| rank != root).map(|rank| rank.index());
        let message = |other| if way == Way::FromRoot { (root.index(), other) } else { (other, root.index()) };
        Self::of(problem, others.map(message))
    }
}

/// Returns the load of messages between a node and each other one, by default routes.
fn in_product(axes: &[Axis], node: u64, way: Way) -> Pattern {
    let nodes: u64 = axes.iter().map(|axis| axis.extent).product();
    let (mut pattern, mut later) = (Pattern { load: 0, hops: 0 }, 1);
    for axis in axes.iter().rev() {
        let coordinate = node / later % axis.extent;
        let earlier = nodes / later / axis.extent;
        // The most nodes on one side, and the farthest.
        let (side, hops) = match axis.kind {
            Kind::Line => {
                let side = coordinate.max(axis.extent - 1 - coordinate);
                (side, side)
            }
            // The node half a ring away is reached upwards, like those before it.
            Kind::Ring => (axis.extent / 2, axis.extent / 2),
            Kind::Complete => (1, 1),
        };
        pattern.load = pattern.load.max(side * if way == Way::FromRoot { earlier } else { later });
        pattern.hops += hops;
        later *= axis.extent;
    }
    pattern
}
