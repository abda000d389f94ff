//! What a schedule is for: the network, who sits where, the collective; and what it promises.

use std::sync::Arc;

use super::{BuildError, Placement};
use crate::collective::{Collective, Custom};
use crate::ids::Rank;
use crate::topology::Topology;

/// What is to be scheduled: a collective of ranks that sit on the nodes of a network.
#[derive(Clone, Debug)]
pub struct Problem {
    topology: Arc<dyn Topology>,
    placement: Placement,
    collective: Collective,
    commutative: bool,
}

impl Problem {
    /// A rank on every node, rank i on node i; reductions may combine in any order.
    ///
    /// # Errors
    ///
    /// [`BuildError::Rank`] where the root is not a rank.
    pub fn new(topology: Arc<dyn Topology>, collective: Collective) -> Result<Self, BuildError> {
        let placement = Placement::identity(topology.nodes());
        Self::placed(topology, placement, collective)
    }

    /// Ranks placed so.
    ///
    /// # Errors
    ///
    /// [`BuildError::Rank`] where the root is not a rank; [`BuildError::Ranks`] where there are
    /// more ranks than nodes, or none; [`BuildError::Placement`] where one sits on no node.
    pub fn placed(
        topology: Arc<dyn Topology>,
        placement: Placement,
        collective: Collective,
    ) -> Result<Self, BuildError> {
        placement.check(&*topology)?;
        let ranks = placement.ranks();
        if let Some(rank) = collective.root().filter(|root| root.index() >= ranks) {
            return Err(BuildError::Rank { rank, ranks });
        }
        Ok(Self { topology, placement, collective, commutative: true })
    }

    /// The same, where contributions must be combined in rank order.
    #[must_use]
    pub fn ordered(self) -> Self {
        Self { commutative: false, ..self }
    }

    /// The network.
    #[must_use]
    pub fn topology(&self) -> &Arc<dyn Topology> {
        &self.topology
    }

    /// Who sits where.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// What is to be done.
    #[must_use]
    pub fn collective(&self) -> &Collective {
        &self.collective
    }

    /// Whether contributions may be combined in any order.
    #[must_use]
    pub fn commutative(&self) -> bool {
        self.commutative
    }

    /// Whether blocks have bytes: those of a barrier have none.
    pub(crate) fn has_bytes(&self) -> bool {
        self.collective.has_bytes()
    }

    /// How many ranks there are.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.placement.ranks()
    }

    /// Every rank.
    pub fn all(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.ranks()).map(Rank::new)
    }
}

/// Refuses a custom collective of more blocks than are [listed](Custom::MOST_BLOCKS).
pub(crate) fn listable(what: String, blocks: u128) -> Result<(), BuildError> {
    let limit = Custom::MOST_BLOCKS;
    if blocks > limit.into() { Err(BuildError::Blocks { what, found: blocks, limit }) } else { Ok(()) }
}
