//! What can go wrong: building a schedule, verifying it, running it.

use crate::ids::{Node, Rank};
use crate::schedule::Mismatch;

/// A schedule cannot be built for what is asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A topology text is not one.
    #[error(transparent)]
    Topology(#[from] crate::topology::ParseError),
    /// The number of ranks does not suit the topology.
    #[error("{ranks} ranks on {topology}, which has {nodes} nodes")]
    Ranks {
        /// How many ranks there are.
        ranks: usize,
        /// The topology.
        topology: String,
        /// How many nodes it has.
        nodes: usize,
    },
    /// A rank is not one of the communicator.
    #[error("rank {rank} is out of range: there are {ranks} ranks, 0 to {}", ranks - 1)]
    Rank {
        /// The rank.
        rank: Rank,
        /// How many there are.
        ranks: usize,
    },
    /// A placement puts a rank where it cannot sit.
    #[error("rank {rank} cannot sit on node {node}: {}", match other {
        Some(other) => format!("rank {other} sits there"),
        None => format!("there are {nodes} nodes"),
    })]
    Placement {
        /// The rank.
        rank: Rank,
        /// The node it is put on.
        node: Node,
        /// How many nodes there are.
        nodes: usize,
        /// Who sits there already.
        other: Option<Rank>,
    },
    /// No algorithm of that name.
    #[error("no algorithm {name:?} for {collective}; there are: {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// What it was asked for.
        collective: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The algorithm has no such parameters.
    #[error("{name} takes no parameters, found {parameters:?}")]
    Parameters {
        /// The algorithm.
        name: String,
        /// What stands behind the colon.
        parameters: String,
    },
    /// The algorithm is not made for this.
    #[error("{algorithm} does not fit {collective} on {topology}: {needs}")]
    Unfit {
        /// The algorithm.
        algorithm: String,
        /// The collective.
        collective: String,
        /// The topology.
        topology: String,
        /// What it would need, and what it found.
        needs: String,
    },
    /// The ranks' shares of a schedule do not fit together: a bug of the algorithm.
    #[error("{algorithm}, round {round}: what {} sends to {} is not what the other awaits", mismatch.source, mismatch.destination)]
    Disagree {
        /// The algorithm.
        algorithm: String,
        /// The round.
        round: usize,
        /// The two ends.
        mismatch: Box<Mismatch>,
    },
}
