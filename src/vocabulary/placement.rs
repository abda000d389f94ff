//! Which node each rank sits on.

use std::sync::Arc;

use super::BuildError;
use crate::ids::{Node, Rank};
use crate::topology::Topology;

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
