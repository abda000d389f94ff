//! What constructions need to know of a network: its dimensions, and how far links reach.

use crate::topology::{Factor, Grid, Topology};

/// The dimensions of a host. Nodes are numbered row-major, the last dimension fastest.
pub(super) struct HostShape {
    /// The grid that numbers the nodes. Dimensions of extent 1 are left out, unless all are.
    pub(super) grid: Grid,
    /// For each dimension, up to which difference all coordinates are linked.
    pub(super) reach: Vec<usize>,
}

impl HostShape {
    pub(super) fn of(host: &dyn Topology) -> Option<Self> {
        let dimensions = host.factors()?.into_iter().map(|factor| (factor.extent(), reach(factor)));
        let mut long: Vec<(usize, usize)> = dimensions.filter(|(extent, _)| *extent > 1).collect();
        if long.is_empty() {
            long.push((1, 1));
        }
        let (extents, reach): (Vec<usize>, Vec<usize>) = long.into_iter().unzip();
        Some(Self { grid: Grid::mesh(&extents).ok()?, reach })
    }
}

fn reach(factor: Factor) -> usize {
    match factor {
        _ if factor.is_complete() => factor.extent().saturating_sub(1).max(1),
        Factor::Windows { window, .. } => window,
        _ => 1,
    }
}

/// The dimensions of a guest that is a mesh or a torus, or a mixture of both.
pub(super) struct GuestGrid {
    pub(super) grid: Grid,
    /// For each dimension, whether it is a ring.
    pub(super) wraps: Vec<bool>,
}

impl GuestGrid {
    pub(super) fn of(guest: &dyn Topology) -> Option<Self> {
        let factors = guest.factors()?;
        let wraps = |factor: &Factor| match *factor {
            Factor::Line(_) => Some(false),
            Factor::Ring(extent) => Some(extent > 2),
            // A complete network of up to three nodes is a line or a ring.
            Factor::Complete(extent) => (extent <= 3).then_some(extent == 3),
            Factor::Windows { .. } => None,
        };
        let wraps = factors.iter().map(wraps).collect::<Option<Vec<bool>>>()?;
        let extents: Vec<usize> = factors.iter().map(|factor| factor.extent()).collect();
        Some(Self { grid: Grid::mesh(&extents).ok()?, wraps })
    }

    /// Returns the number of nodes of a ring.
    pub(super) fn ring(&self) -> Option<usize> {
        let long = || self.grid.extents().iter().zip(&self.wraps).filter(|(extent, _)| **extent > 1);
        let (&extent, &wraps) = long().next()?;
        (long().count() == 1 && wraps).then_some(extent)
    }
}

/// Returns the dimensions of a guest that is a hypercube, and no more than that.
pub(super) fn cube(guest: &dyn Topology) -> Option<u32> {
    let dimensions = guest.cube()?;
    (guest.channels() == guest.nodes() * dimensions as usize).then_some(dimensions)
}
