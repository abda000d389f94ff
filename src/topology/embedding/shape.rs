//! What constructions need to know of a network: its dimensions, and how far links reach.

use crate::topology::{Factor, Grid, Topology};

/// The dimensions of a host. Nodes are numbered row-major, the last dimension fastest.
pub(super) struct HostShape {
    /// The grid that numbers the nodes. Dimensions of extent 1 are left out, unless all are.
    pub(super) grid: Grid,
    /// For each dimension, up to which difference all coordinates are linked.
    pub(super) reach: Vec<usize>,
    /// For each dimension, whether its first and its last coordinate are linked.
    pub(super) wraps: Vec<bool>,
}

impl HostShape {
    pub(super) fn of(host: &dyn Topology) -> Option<Self> {
        let mut long: Vec<Factor> = host.factors()?.into_iter().filter(|factor| factor.extent() > 1).collect();
        if long.is_empty() {
            long.push(Factor::Line(1));
        }
        let extents: Vec<usize> = long.iter().map(|factor| factor.extent()).collect();
        let wraps = long.iter().map(|factor| factor.adjacent(0, factor.extent() - 1)).collect();
        Some(Self { grid: Grid::mesh(&extents).ok()?, reach: long.into_iter().map(reach).collect(), wraps })
    }
}

fn reach(factor: Factor) -> usize {
    match factor {
        _ if factor.is_complete() => factor.extent().saturating_sub(1).max(1),
        Factor::Windows { window, .. } => window,
        _ => 1,
    }
}

/// The dimensions of a guest.
pub(super) struct GuestGrid {
    pub(super) grid: Grid,
    /// For each dimension, whether it is a ring.
    pub(super) wraps: Vec<bool>,
}

impl GuestGrid {
    /// Returns the dimensions of a guest that is a mesh or a torus, or a mixture of both.
    pub(super) fn of(guest: &dyn Topology) -> Option<Self> {
        let is_grid = |factor: &Factor| match *factor {
            Factor::Line(_) | Factor::Ring(_) => true,
            // A complete network of up to three nodes is a line or a ring.
            Factor::Complete(extent) => extent <= 3,
            Factor::Windows { .. } => false,
        };
        Self::of_any(guest).filter(|_| guest.factors().is_some_and(|factors| factors.iter().all(is_grid)))
    }

    /// Returns the dimensions of a guest that has any.
    pub(super) fn of_any(guest: &dyn Topology) -> Option<Self> {
        let factors = guest.factors()?;
        let wraps = factors.iter().map(|factor| match *factor {
            Factor::Line(_) => false,
            Factor::Ring(extent) => extent > 2,
            Factor::Complete(extent) => extent == 3,
            Factor::Windows { wraps, .. } => wraps && !factor.is_complete(),
        });
        let extents: Vec<usize> = factors.iter().map(|factor| factor.extent()).collect();
        Some(Self { grid: Grid::mesh(&extents).ok()?, wraps: wraps.collect() })
    }

    /// Returns the number of nodes of a ring.
    pub(super) fn ring(&self) -> Option<usize> {
        self.row().and_then(|(extent, wraps)| wraps.then_some(extent))
    }

    /// Returns the number of nodes of a line.
    pub(super) fn line(&self) -> Option<usize> {
        self.row().and_then(|(extent, wraps)| (!wraps).then_some(extent))
    }

    /// Returns the extent of the only dimension that is longer than 1, and whether it is a ring.
    fn row(&self) -> Option<(usize, bool)> {
        let long = || self.grid.extents().iter().zip(&self.wraps).filter(|(extent, _)| **extent > 1);
        let (&extent, &wraps) = long().next()?;
        (long().count() == 1).then_some((extent, wraps))
    }
}

/// Returns the dimensions of a guest that is a hypercube, and no more than that.
pub(super) fn cube(guest: &dyn Topology) -> Option<u32> {
    let dimensions = guest.cube()?;
    (guest.channels() == guest.nodes() * dimensions as usize).then_some(dimensions)
}
