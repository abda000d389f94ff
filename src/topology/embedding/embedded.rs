//! A host that algorithms take for its guest.

use std::sync::Arc;

use super::EmbeddingError;
use crate::hash::Map;
use crate::ids::Node;
use crate::topology::{Embedding, Factor, Neighbours, Part, Topology};

/// The host of an [`Embedding`], as a network on which [algorithms](crate::algorithm) work as on
/// the guest: the text `GUEST@HOST` or `GUEST@HOST:NAME`.
///
/// Nodes, channels, routes and distances are those of the host. Ranks are the nodes of the guest:
/// unless placed otherwise, rank i is on the node of node i. An algorithm of the
/// [registry](crate::algorithm::registry()) makes its schedule for the guest; its messages then
/// take the paths of the guest's links, so that the schedule is verified, priced, simulated and
/// drawn on the channels of the host. [`OnGuest`](crate::algorithm::OnGuest) wraps an algorithm of
/// your own for that.
///
/// ```
/// use necklace::algorithm::find;
/// use necklace::collective::Collective;
/// use necklace::schedule::{Problem, verify_shares};
/// use necklace::topology::parse;
///
/// let torus = parse("torus:4x4@how:16,3,1")?;
/// let problem = Problem::new(torus, Collective::Alltoall)?;
/// let exchange = find(&Collective::Alltoall, "torus-exchange")?;
/// let proof = verify_shares(exchange.shares(&problem)?)?;
/// assert_eq!((proof.startups, proof.max_transfers_on_a_channel), (4, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Embedded {
    embedding: Embedding,
}

impl Embedded {
    /// Returns the host of an embedding as a topology.
    ///
    /// # Errors
    ///
    /// [`EmbeddingError::Shared`] if two nodes of the guest are on one node of the host.
    pub fn new(embedding: Embedding) -> Result<Self, EmbeddingError> {
        let mut on: Map<Node> = Map::default();
        for (first, &node) in embedding.nodes().iter().enumerate() {
            if let Some(other) = on.insert(node.index() as u64, Node::new(first)) {
                return Err(EmbeddingError::Shared { first: other, second: Node::new(first), node });
            }
        }
        Ok(Self { embedding })
    }

    fn host(&self) -> &Arc<dyn Topology> {
        self.embedding.host()
    }
}

impl Topology for Embedded {
    fn nodes(&self) -> usize {
        self.host().nodes()
    }

    fn neighbours(&self, node: Node) -> Neighbours {
        self.host().neighbours(node)
    }

    fn distance(&self, from: Node, to: Node) -> usize {
        self.host().distance(from, to)
    }

    fn route(&self, from: Node, to: Node) -> Vec<Node> {
        self.host().route(from, to)
    }

    fn text(&self) -> String {
        self.embedding.text()
    }

    fn cube(&self) -> Option<u32> {
        self.host().cube()
    }

    fn factors(&self) -> Option<Vec<Factor>> {
        self.host().factors()
    }

    /// Parts are those of the host.
    fn part(&self, nodes: &[Node]) -> Option<Part> {
        self.host().part(nodes)
    }

    fn adjacent(&self, from: Node, to: Node) -> bool {
        self.host().adjacent(from, to)
    }

    fn edges(&self) -> Vec<(Node, Node)> {
        self.host().edges()
    }

    fn channels(&self) -> usize {
        self.host().channels()
    }

    fn embedding(&self) -> Option<&Embedding> {
        Some(&self.embedding)
    }
}
