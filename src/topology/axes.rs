//! The dimensions of product networks, for formulas.

use super::{Factor, Topology};

/// A dimension of a product network. Nodes are numbered row-major, the last dimension fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) extent: u64,
    pub(crate) kind: Kind,
}

/// The network of the nodes that differ in one dimension alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Line,
    /// At least three nodes. A ring of two is a line.
    Ring,
    Complete,
}

/// Returns the dimensions with more than one node, if the network is a product of lines, rings and
/// complete networks. Of windows, formulas know nothing.
pub(crate) fn axes(topology: &dyn Topology) -> Option<Vec<Axis>> {
    let factors = topology.factors()?;
    let axis = |factor: &Factor| {
        let kind = match factor {
            Factor::Line(_) => Kind::Line,
            Factor::Ring(extent) if *extent > 2 => Kind::Ring,
            Factor::Ring(_) => Kind::Line,
            Factor::Complete(_) => Kind::Complete,
            Factor::Windows { .. } => return None,
        };
        Some(Axis { extent: factor.extent() as u64, kind })
    };
    factors.iter().filter(|factor| factor.extent() > 1).map(axis).collect()
}

impl Axis {
    /// Returns the longest distance along the dimension.
    pub(crate) fn diameter(self) -> u64 {
        match self.kind {
            Kind::Line => self.extent - 1,
            Kind::Ring => self.extent / 2,
            Kind::Complete => 1,
        }
    }

    /// Returns the sum of the distances between all ordered pairs of coordinates.
    pub(crate) fn distances(self) -> u128 {
        let extent = u128::from(self.extent);
        match self.kind {
            Kind::Line => extent * (extent * extent - 1) / 3,
            Kind::Ring => extent * (extent * extent / 4),
            Kind::Complete => extent * (extent - 1),
        }
    }

    /// Returns the number of channels among the coordinates.
    pub(crate) fn channels(self) -> u128 {
        let extent = u128::from(self.extent);
        match self.kind {
            Kind::Line => 2 * (extent - 1),
            Kind::Ring => 2 * extent,
            Kind::Complete => extent * (extent - 1),
        }
    }
}
