//! Problems: the input of algorithms.

use std::sync::Arc;

use super::{BuildError, Hosts, Placement};
use crate::collective::{Collective, Custom};
use crate::hash::Map;
use crate::ids::{Node, Rank};
use crate::topology::{Embedding, Topology};

/// The input of an algorithm: a network, a placement of ranks, a collective, whether contributions
/// may be combined in any order, and which ranks share a host, if that is known.
#[derive(Clone, Debug)]
pub struct Problem {
    topology: Arc<dyn Topology>,
    placement: Placement,
    collective: Collective,
    commutative: bool,
    hosts: Option<Hosts>,
    /// The placement of ranks on the guest of an embedded network.
    on_guest: Option<Placement>,
}

impl Problem {
    /// Returns the problem with rank i on node i, for every node, or for every node of the guest of
    /// an [embedded](crate::topology::Embedded) network. Reductions may combine in any order.
    ///
    /// # Errors
    ///
    /// [`BuildError::Rank`] if the root is out of range.
    pub fn new(topology: Arc<dyn Topology>, collective: Collective) -> Result<Self, BuildError> {
        let placement = Placement::of(&*topology)?;
        Self::placed(topology, placement, collective)
    }

    /// Returns the problem with this placement. Reductions may combine in any order.
    ///
    /// # Errors
    ///
    /// [`BuildError::Rank`] if the root is out of range; [`BuildError::Ranks`] if there are more
    /// ranks than nodes, or none; [`BuildError::Placement`] if a rank's node is out of range;
    /// [`BuildError::Factors`] if the [factors](Topology::factors) of the network have another
    /// number of nodes.
    pub fn placed(
        topology: Arc<dyn Topology>,
        placement: Placement,
        collective: Collective,
    ) -> Result<Self, BuildError> {
        placement.check(&*topology)?;
        check_factors(&*topology)?;
        let ranks = placement.ranks();
        if let Some(rank) = collective.root().filter(|root| root.index() >= ranks) {
            return Err(BuildError::Rank { rank, ranks });
        }
        let on_guest = topology.embedding().and_then(|embedding| placed_on_guest(embedding, &placement));
        Ok(Self { topology, placement, collective, commutative: true, hosts: None, on_guest })
    }

    /// Returns the same problem on the guest of an [embedded](crate::topology::Embedded) network.
    /// `None` for other networks, and if a rank is on a node that no node of the guest is on.
    #[must_use]
    pub fn on_guest(&self) -> Option<Self> {
        let topology = Arc::clone(self.topology.embedding()?.guest());
        Some(Self { topology, placement: self.on_guest.clone()?, on_guest: None, ..self.clone() })
    }

    /// Requires that contributions are combined in rank order.
    #[must_use]
    pub fn ordered(self) -> Self {
        Self { commutative: false, ..self }
    }

    /// Sets which ranks share a host. Unknown unless set.
    ///
    /// # Errors
    ///
    /// [`BuildError::Hosts`] if they are those of another number of ranks.
    pub fn on_hosts(self, hosts: Hosts) -> Result<Self, BuildError> {
        hosts.check(self.ranks())?;
        Ok(Self { hosts: Some(hosts), ..self })
    }

    /// Returns the network.
    #[must_use]
    pub fn topology(&self) -> &Arc<dyn Topology> {
        &self.topology
    }

    /// Returns the placement.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Returns the collective.
    #[must_use]
    pub fn collective(&self) -> &Collective {
        &self.collective
    }

    /// Returns whether contributions may be combined in any order.
    #[must_use]
    pub fn commutative(&self) -> bool {
        self.commutative
    }

    /// Returns which ranks share a host, if that is known.
    #[must_use]
    pub fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref()
    }

    /// Returns whether two problems are equal, on one and the same network in memory.
    pub(crate) fn is_same_in_memory(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.topology, &other.topology) && self.is_same_besides_network(other)
    }

    /// Returns whether two problems are equal but perhaps for their networks.
    pub(crate) fn is_same_besides_network(&self, other: &Self) -> bool {
        self.collective == other.collective
            && self.placement == other.placement
            && self.commutative == other.commutative
            && self.hosts == other.hosts
    }

    /// Returns whether blocks have bytes. Those of a barrier have none.
    pub(crate) fn has_bytes(&self) -> bool {
        self.collective.has_bytes()
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.placement.ranks()
    }

    /// Returns the maximum number of rounds of a schedule for this problem: 2^20, and two for each
    /// rank.
    ///
    /// Rings take up to two rounds for each rank, and pipelines one for each chunk, so that useful
    /// schedules stay far below. The limit is for shares that never end: reading one up to here
    /// takes about a second, and a plan of that many rounds about 256 MiB.
    #[must_use]
    pub fn max_rounds(&self) -> usize {
        const ANY: usize = 1 << 20;
        self.ranks().saturating_mul(2).saturating_add(ANY)
    }

    /// Returns all ranks, in order.
    pub fn all(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.ranks()).map(Rank::new)
    }
}

/// Fails for a custom collective of more than [`Custom::MOST_BLOCKS`] blocks.
pub(crate) fn listable(what: String, blocks: u128) -> Result<(), BuildError> {
    let limit = Custom::MOST_BLOCKS;
    if blocks > limit.into() { Err(BuildError::Blocks { what, found: blocks, limit }) } else { Ok(()) }
}

/// Returns the nodes of the guest that ranks are on.
fn placed_on_guest(embedding: &Embedding, placement: &Placement) -> Option<Placement> {
    let guest_nodes = embedding.nodes().iter().enumerate();
    let on: Map<usize> = guest_nodes.map(|(guest_node, node)| (node.index() as u64, guest_node)).collect();
    let nodes = (0..placement.ranks()).map(|rank| {
        let node = placement.node(Rank::new(rank));
        on.get(&(node.index() as u64)).copied().map(Node::new)
    });
    Placement::new(nodes.collect::<Option<Vec<Node>>>()?, embedding.guest().nodes()).ok()
}

/// Fails if a network is the product of factors that have another number of nodes.
fn check_factors(topology: &dyn Topology) -> Result<(), BuildError> {
    let Some(factors) = topology.factors() else { return Ok(()) };
    let nodes = topology.nodes();
    let product = factors.iter().try_fold(1_usize, |product, factor| product.checked_mul(factor.extent()));
    if product == Some(nodes) {
        return Ok(());
    }
    let extents = factors.iter().map(|factor| factor.extent()).collect();
    Err(BuildError::Factors { topology: topology.text(), extents, nodes })
}
