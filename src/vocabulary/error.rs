//! Why a schedule cannot be built.

use super::Mismatch;
use crate::ids::{Node, Rank};
use crate::quote::{quoted, shown};

/// A schedule cannot be built for what is asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A topology text is not one.
    #[error(transparent)]
    Topology(#[from] crate::topology::ParseError),
    /// The number of ranks does not suit the topology.
    #[error(
        "{ranks} ranks on {}, which has {nodes} nodes; use {nodes} ranks, or a topology of {ranks} nodes, as by \
         NECKLACE_TOPOLOGY=complete:{ranks}",
        shown(topology)
    )]
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
    /// An array cannot lie on so many ranks.
    #[error(
        "an array of 2^{bits} elements on {ranks} ranks: the ranks must be a power of two, and no more than the elements"
    )]
    Array {
        /// The base-2 logarithm of how many elements there are.
        bits: usize,
        /// How many ranks there are.
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
    /// What ranks hold is too much to be listed block by block.
    #[error("{what}: all ranks together hold {found} blocks, at most {limit} are listed")]
    Blocks {
        /// What they are of.
        what: String,
        /// How many there are.
        found: u128,
        /// How many there may be.
        limit: u64,
    },
    /// No algorithm of that name.
    #[error("no algorithm {} for {collective}; there are: {}", quoted(name), known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// What it was asked for.
        collective: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// What stands behind the colon of an algorithm's name is no parameter of it, or no value of
    /// that.
    #[error("{algorithm}: found {}, expected {expected}", quoted(found))]
    Parameters {
        /// The algorithm.
        algorithm: String,
        /// What is wrong.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// The algorithm is not made for this.
    #[error("{algorithm} does not fit {collective} on {}: {needs}", shown(topology))]
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
    /// The schedule that was chosen, or that the chosen algorithm makes, is wrong.
    #[error("{algorithm} is wrong for {collective} on {}: {violations}", shown(topology))]
    Wrong {
        /// The algorithm.
        algorithm: String,
        /// The collective.
        collective: String,
        /// The topology.
        topology: String,
        /// How many [violations](crate::schedule::Violations) there are, and the first of them.
        violations: Box<str>,
    },
    /// The algorithm does this without a schedule of ours.
    #[error("{algorithm} has no schedule for {collective} on {}: the backend does it in its own way", shown(topology))]
    Unscheduled {
        /// The algorithm.
        algorithm: String,
        /// The collective.
        collective: String,
        /// The topology.
        topology: String,
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
