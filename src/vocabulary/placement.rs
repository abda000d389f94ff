//! Placements of ranks on nodes.

use std::sync::Arc;

use super::BuildError;
use crate::ids::{MAX_NODES, Node, Rank};
use crate::topology::Topology;

/// The node of each rank. Nodes are distinct.
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
    /// Places rank i on node i.
    #[must_use]
    pub fn identity(ranks: usize) -> Self {
        Self { table: None, ranks }
    }

    /// Returns the placement of the ranks of a network, unless they are placed otherwise: rank i is
    /// on node i, or on the node of node i of the guest of an [embedded](crate::topology::Embedded)
    /// network.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn of(topology: &dyn Topology) -> Result<Self, BuildError> {
        match topology.embedding() {
            Some(embedding) => Self::new(embedding.nodes().to_vec(), topology.nodes()),
            None => Ok(Self::identity(topology.nodes())),
        }
    }

    /// Places rank i on `node[i]`, in a network of `nodes` nodes.
    ///
    /// # Errors
    ///
    /// [`BuildError::Placement`] if two ranks share a node or a node is not below `nodes`.
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

    /// Returns the number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Returns the node of a rank.
    #[must_use]
    pub fn node(&self, rank: Rank) -> Node {
        let table = self.table.as_ref().and_then(|table| table.node.get(rank.index()));
        table.copied().unwrap_or(Node::new(rank.index()))
    }

    /// Returns the rank on a node, if any.
    #[must_use]
    pub fn rank(&self, node: Node) -> Option<Rank> {
        match &self.table {
            None => (node.index() < self.ranks).then(|| Rank::new(node.index())),
            Some(table) => table.rank.get(&node).copied(),
        }
    }

    /// Checks that there are ranks, and that their nodes exist in a network.
    pub(crate) fn check(&self, topology: &dyn Topology) -> Result<(), BuildError> {
        let (ranks, nodes) = (self.ranks, topology.nodes());
        if ranks == 0 || ranks > nodes.min(MAX_NODES) {
            return Err(BuildError::Ranks { ranks, topology: topology.text(), nodes });
        }
        let mut placed = self.table.iter().flat_map(|table| table.node.iter().enumerate());
        match placed.find(|(_, node)| node.index() >= nodes) {
            Some((rank, &node)) => Err(BuildError::Placement { rank: Rank::new(rank), node, nodes, other: None }),
            None => Ok(()),
        }
    }

    /// Returns whether rank i sits on node i, for all i.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.table.is_none()
    }
}
