//! The volume that a collective must carry on any network.

use crate::block::Volume;
use crate::collective::{Collective, Traffic};
use crate::ids::Rank;

/// The volume that a collective of more than one rank must carry.
pub(super) struct Need {
    traffic: Traffic,
    centre: Option<usize>,
    ranks: u64,
}

/// The pairs of ranks whose distances are summed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Distances {
    /// One block from each rank to each other rank.
    Pairs,
    /// One block between the root and each other rank.
    Root,
    /// This number of blocks, each over at least one channel.
    Blocks(u128),
}

impl Need {
    pub(super) fn new(collective: &Collective, ranks: u64) -> Self {
        Self { traffic: collective.traffic(), centre: collective.centre().map(|rank| rank.index()), ranks }
    }

    /// Returns the volume through the busiest port.
    pub(super) fn port(&self) -> Volume {
        match self.traffic {
            Traffic::Pairs | Traffic::Root | Traffic::All => Volume::from(self.ranks - 1),
            Traffic::Tree => Volume::from(1),
            // Each part of the block takes N - 1 messages to combine the contributions on a first
            // rank, and N - 1 messages to distribute the result.
            Traffic::TreeTwice => Volume::ratio(2 * u128::from(self.ranks - 1), self.ranks.into()).max(Volume::from(1)),
            Traffic::Unknown => Volume::ZERO,
        }
    }

    /// Returns the volume that the busiest rank receives. `gathers` says whether all blocks go to
    /// one rank. Otherwise all ranks send as much, so that one receives at least as much too.
    pub(super) fn received(&self, gathers: bool) -> Volume {
        match self.traffic {
            Traffic::Root if !gathers => Volume::from(1),
            _ => self.port(),
        }
    }

    /// Returns the volume that the busiest rank combines.
    pub(super) fn combined(&self, collective: &Collective) -> Volume {
        let last = Rank::new(self.ranks as usize - 1);
        let result = collective.result(self.ranks as usize, collective.root().unwrap_or(last));
        // One contribution is there already.
        let combined = result.map_or(0, |(_, contributors)| contributors.len().saturating_sub(1)) as u128;
        match self.traffic {
            Traffic::All => Volume::ratio(combined, 1),
            _ => Volume::ratio(combined, self.ranks.into()),
        }
    }

    /// Returns the distances to sum.
    pub(super) fn distances(&self) -> Distances {
        let others = u128::from(self.ranks - 1);
        match self.traffic {
            Traffic::Pairs => Distances::Pairs,
            Traffic::Root => Distances::Root,
            Traffic::All => Distances::Blocks(others * u128::from(self.ranks)),
            Traffic::Tree => Distances::Blocks(others),
            Traffic::TreeTwice => Distances::Blocks(2 * others),
            Traffic::Unknown => Distances::Blocks(0),
        }
    }

    /// Returns the volume that must cross from a set of `inside` ranks to the others or back,
    /// whichever is larger.
    pub(super) fn across(&self, inside: u64, root_inside: bool) -> u128 {
        let outside = self.ranks.saturating_sub(inside);
        if inside == 0 || outside == 0 {
            return 0;
        }
        match self.traffic {
            Traffic::Pairs => u128::from(inside) * u128::from(outside),
            Traffic::Root => u128::from(if root_inside { outside } else { inside }),
            Traffic::All => inside.max(outside).into(),
            Traffic::Tree | Traffic::TreeTwice => 1,
            Traffic::Unknown => 0,
        }
    }

    /// Returns the rank from which, or to which, all blocks go. `None` if every rank has blocks for
    /// the others.
    pub(super) fn centre(&self) -> Option<usize> {
        self.centre
    }
}
