//! What a schedule is for: the network, who sits where, the collective; and what it promises.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::bounds::Bounds;
use crate::collective::Collective;
use crate::error::BuildError;
use crate::ids::{Node, Rank};
use crate::topology::Topology;

/// How many transfers a rank may have in one round.
///
/// | model | sends | receives |
/// |---|---|---|
/// | `one` | one | one |
/// | `one-send` | one | any (Wang's model-1) |
/// | `same-value` | any, over distinct first channels, all of the same blocks | any (his model-2) |
/// | `all` | one transfer a channel | one transfer a channel (his model-3, Johnsson-Ho) |
/// | `unlimited` | any | any: transfers share channels, the network queues them |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ports {
    /// One send and one receive.
    One,
    /// One send, receives free.
    OneSend,
    /// Sends of the same blocks over distinct channels, receives free.
    SameValue,
    /// One transfer a channel.
    All,
    /// No limit.
    Unlimited,
}

impl Ports {
    /// All of them.
    pub const EVERY: [Self; 5] = [Self::One, Self::OneSend, Self::SameValue, Self::All, Self::Unlimited];

    /// Whether whatever keeps to this model keeps to the other, on any network.
    #[must_use]
    pub fn implies(self, other: Self) -> bool {
        let stricter = |ports| match ports {
            Self::One => 0,
            Self::OneSend => 1,
            Self::SameValue => 2,
            Self::All | Self::Unlimited => 3,
        };
        self == other || other == Self::Unlimited || other != Self::All && stricter(self) < stricter(other)
    }

    /// The name that users type and that JSON carries.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::OneSend => "one-send",
            Self::SameValue => "same-value",
            Self::All => "all",
            Self::Unlimited => "unlimited",
        }
    }

    /// The model of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|ports| ports.name() == name)
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which node each rank sits on: distinct nodes, one a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// `None` for the identity.
    table: Option<Arc<Table>>,
    ranks: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct Table {
    node: Vec<Node>,
    rank: std::collections::HashMap<Node, Rank>,
}

impl Placement {
    /// Rank i on node i.
    #[must_use]
    pub fn identity(ranks: usize) -> Self {
        Self { table: None, ranks }
    }

    /// Rank i on the i-th of these nodes.
    ///
    /// # Errors
    ///
    /// [`BuildError::Placement`] where two ranks share a node or a node is not below `nodes`.
    pub fn new(node: Vec<Node>, nodes: usize) -> Result<Self, BuildError> {
        let mut rank = std::collections::HashMap::with_capacity(node.len());
        for (i, &n) in node.iter().enumerate() {
            let fault = |other| BuildError::Placement { rank: Rank::new(i), node: n, nodes, other };
            if n.index() >= nodes {
                return Err(fault(None));
            }
            if let Some(other) = rank.insert(n, Rank::new(i)) {
                return Err(fault(Some(other)));
            }
        }
        let ranks = node.len();
        if node.iter().enumerate().all(|(i, n)| n.index() == i) {
            return Ok(Self::identity(ranks));
        }
        Ok(Self { table: Some(Arc::new(Table { node, rank })), ranks })
    }

    /// How many ranks there are.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The node that a rank sits on.
    #[must_use]
    pub fn node(&self, rank: Rank) -> Node {
        let table = self.table.as_ref().and_then(|table| table.node.get(rank.index()));
        table.copied().unwrap_or(Node::new(rank.index()))
    }

    /// The rank that sits on a node, if any.
    #[must_use]
    pub fn rank(&self, node: Node) -> Option<Rank> {
        match &self.table {
            None => (node.index() < self.ranks).then(|| Rank::new(node.index())),
            Some(table) => table.rank.get(&node).copied(),
        }
    }

    /// That there are ranks, and that all sit on nodes of this network.
    pub(crate) fn check(&self, topology: &dyn Topology) -> Result<(), BuildError> {
        let (ranks, nodes) = (self.ranks, topology.nodes());
        if ranks == 0 || ranks > nodes {
            return Err(BuildError::Ranks { ranks, topology: topology.text(), nodes });
        }
        let mut placed = self.table.iter().flat_map(|table| table.node.iter().enumerate());
        match placed.find(|(_, node)| node.index() >= nodes) {
            Some((rank, &node)) => Err(BuildError::Placement { rank: Rank::new(rank), node, nodes, other: None }),
            None => Ok(()),
        }
    }

    /// Whether rank i sits on node i.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.table.is_none()
    }
}

/// What is to be scheduled: a collective of ranks that sit on the nodes of a network.
#[derive(Clone, Debug)]
pub struct Problem {
    topology: Arc<dyn Topology>,
    placement: Placement,
    collective: Collective,
    commutative: bool,
    native: bool,
    /// Searching a network takes long: once for the problem and all its copies.
    bounds: Arc<OnceLock<Bounds>>,
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
    /// [`BuildError::Rank`] where the root is not a rank; [`BuildError::Ranks`] where there are more ranks than nodes,
    /// or none; [`BuildError::Placement`] where one sits on no node.
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
        Ok(Self { topology, placement, collective, commutative: true, native: false, bounds: Arc::default() })
    }

    /// The same, where contributions must be combined in rank order.
    #[must_use]
    pub fn ordered(self) -> Self {
        Self { commutative: false, ..self }
    }

    /// The same over a backend that has collectives [of its own](crate::transport::native), or over one that has none.
    #[must_use]
    pub fn over_native(self, native: bool) -> Self {
        Self { native, ..self }
    }

    /// What no schedule for it can do without: [`Bounds::of`], found when it is first asked for, and kept.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        self.bounds.get_or_init(|| Bounds::of(self))
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

    /// Whether the backend has collectives of its own. Not so unless [said](Self::over_native).
    #[must_use]
    pub fn native(&self) -> bool {
        self.native
    }

    /// Whether blocks have bytes: those of a barrier have none.
    pub(crate) fn has_bytes(&self) -> bool {
        !matches!(self.collective, Collective::Barrier)
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

/// What a schedule is of, and what it promises; all but its rounds.
#[derive(Clone, Debug)]
pub struct Outline {
    /// What it schedules.
    pub problem: Problem,
    /// The name of the algorithm, with its parameters, or whatever its author calls it.
    pub algorithm: String,
    /// The port model that it keeps to.
    pub ports: Ports,
    /// Whether it promises that no channel carries two transfers in one round.
    pub contention_free: bool,
    /// The names of its phases.
    pub phases: Vec<String>,
}
