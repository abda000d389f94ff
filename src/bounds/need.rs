//! What a collective must carry, whatever the network.

use crate::block::Volume;
use crate::collective::{Collective, Traffic};

/// What a collective of more than one rank must carry.
pub(super) struct Need {
    traffic: Traffic,
    centre: Option<usize>,
    ranks: u64,
}

/// How far blocks must go, summed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Far {
    /// A block from each rank to each other.
    Pairs,
    /// A block between the root and each other rank.
    Root,
    /// This many blocks over at least a channel.
    Blocks(u128),
}

impl Need {
    pub(super) fn new(collective: &Collective, ranks: u64) -> Self {
        Self { traffic: collective.traffic(), centre: collective.centre().map(|rank| rank.index()), ranks }
    }

    /// What the busiest port must pass.
    pub(super) fn port(&self) -> Volume {
        match self.traffic {
            Traffic::Pairs | Traffic::Root | Traffic::All => Volume::from(self.ranks - 1),
            Traffic::Tree => Volume::from(1),
            // Of each part of the block, N - 1 messages bring contributions together before the first rank has the
            // result, and N - 1 tell the others.
            Traffic::TreeTwice => Volume::ratio(2 * u128::from(self.ranks - 1), self.ranks.into()).max(Volume::from(1)),
            Traffic::Unknown => Volume::ZERO,
        }
    }

    /// How far.
    pub(super) fn far(&self) -> Far {
        let others = u128::from(self.ranks - 1);
        match self.traffic {
            Traffic::Pairs => Far::Pairs,
            Traffic::Root => Far::Root,
            Traffic::All => Far::Blocks(others * u128::from(self.ranks)),
            Traffic::Tree => Far::Blocks(others),
            Traffic::TreeTwice => Far::Blocks(2 * others),
            Traffic::Unknown => Far::Blocks(0),
        }
    }

    /// What must cross from a set with `inside` ranks to the others, or back: the more of both.
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

    /// From where to all others the news must reach, or from all others to there. `None` for from everywhere.
    pub(super) fn centre(&self) -> Option<usize> {
        self.centre
    }
}
