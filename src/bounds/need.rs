//! What a collective must carry, whatever the network.

use crate::block::Volume;
use crate::collective::Collective;

/// What a collective of more than one rank must carry.
pub(super) struct Need<'c> {
    collective: &'c Collective,
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

impl<'c> Need<'c> {
    pub(super) fn new(collective: &'c Collective, ranks: u64) -> Self {
        Self { collective, ranks }
    }

    /// What the busiest port must pass.
    pub(super) fn port(&self) -> Volume {
        let others = Volume::from(self.ranks - 1);
        match self.collective {
            Collective::Alltoall | Collective::Allgather | Collective::ReduceScatter | Collective::Barrier => others,
            Collective::Scatter { .. } | Collective::Gather { .. } => others,
            // Of each part of the block, N - 1 messages bring contributions together before the first rank has the
            // result, and N - 1 tell the others.
            Collective::Allreduce => {
                Volume::ratio(2 * u128::from(self.ranks - 1), self.ranks.into()).max(Volume::from(1))
            }
            Collective::Custom(_) => Volume::ZERO,
            _ => Volume::from(1),
        }
    }

    /// How far.
    pub(super) fn far(&self) -> Far {
        let others = u128::from(self.ranks - 1);
        match self.collective {
            Collective::Alltoall => Far::Pairs,
            Collective::Scatter { .. } | Collective::Gather { .. } => Far::Root,
            Collective::Allgather | Collective::ReduceScatter | Collective::Barrier => {
                Far::Blocks(others * u128::from(self.ranks))
            }
            Collective::Allreduce => Far::Blocks(2 * others),
            Collective::Custom(_) => Far::Blocks(0),
            _ => Far::Blocks(others),
        }
    }

    /// What must cross from a set with `inside` ranks to the others, or back: the more of both.
    pub(super) fn across(&self, inside: u64, root_inside: bool) -> u128 {
        let outside = self.ranks.saturating_sub(inside);
        if inside == 0 || outside == 0 {
            return 0;
        }
        match self.collective {
            Collective::Alltoall => u128::from(inside) * u128::from(outside),
            Collective::Scatter { .. } | Collective::Gather { .. } => {
                u128::from(if root_inside { outside } else { inside })
            }
            Collective::Allgather | Collective::ReduceScatter | Collective::Barrier => inside.max(outside).into(),
            Collective::Custom(_) => 0,
            _ => 1,
        }
    }

    /// From where to all others the news must reach, or from all others to there. `None` for from everywhere.
    pub(super) fn centre(&self) -> Option<usize> {
        match self.collective {
            Collective::Scan | Collective::Exscan => Some(0),
            other => other.root().map(|root| root.index()),
        }
    }
}
