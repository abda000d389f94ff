//! Errors of building a schedule.

use super::Mismatch;
use crate::ids::{Node, Rank};
use crate::quote::{debug_as_text, quoted, shown};

/// The reason why a schedule cannot be built.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The topology text is invalid.
    #[error(transparent)]
    Topology(#[from] crate::topology::ParseError),
    /// The number of ranks does not fit the topology.
    #[error(
        "{ranks} ranks do not fit {} ({nodes} nodes); use {nodes} ranks, or a topology of {ranks} nodes, such as \
         complete:{ranks}",
        shown(topology)
    )]
    #[non_exhaustive]
    Ranks {
        /// The number of ranks.
        ranks: usize,
        /// The topology.
        topology: String,
        /// The number of nodes.
        nodes: usize,
    },
    /// A rank is out of range.
    #[error("rank {rank} is out of range: there are {ranks} ranks, 0 to {}", ranks - 1)]
    #[non_exhaustive]
    Rank {
        /// The rank.
        rank: Rank,
        /// The number of ranks.
        ranks: usize,
    },
    /// An array cannot be distributed over this number of ranks.
    #[error(
        "an array of 2^{bits} elements cannot be divided among {ranks} ranks; expected a power of two, at most 2^{bits}"
    )]
    #[non_exhaustive]
    Array {
        /// The base-2 logarithm of the number of elements.
        bits: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// A placement is invalid: two ranks share a node, or a node is out of range.
    #[error("rank {rank} cannot be placed on node {node}: {}", match other {
        Some(other) => format!("rank {other} is on this node"),
        None => format!("the topology has {nodes} nodes"),
    })]
    #[non_exhaustive]
    Placement {
        /// The rank.
        rank: Rank,
        /// The rank's node.
        node: Node,
        /// The number of nodes.
        nodes: usize,
        /// The other rank on this node, if any.
        other: Option<Rank>,
    },
    /// The factors of a topology have another number of nodes than the topology.
    #[error("the factors of {} have extents {extents:?}; expected {nodes} nodes in all", shown(topology))]
    #[non_exhaustive]
    Factors {
        /// The text of the topology.
        topology: String,
        /// The extents of the factors.
        extents: Vec<usize>,
        /// The number of nodes.
        nodes: usize,
    },
    /// The partition by hosts is one of another number of ranks.
    #[error("hosts are given for {found} ranks; expected {ranks}")]
    #[non_exhaustive]
    Hosts {
        /// The number of ranks whose hosts are given.
        found: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// The ranks hold too many blocks to list.
    #[error("{what}: all ranks together hold {found} blocks; at most {limit} can be listed")]
    #[non_exhaustive]
    Blocks {
        /// The schedule that needs them.
        what: String,
        /// The number found.
        found: u128,
        /// The largest number allowed.
        limit: u64,
    },
    /// There is no algorithm of this name for the collective.
    #[error("unknown algorithm {} for {collective}; expected one of {}", quoted(name), known.join(", "))]
    #[non_exhaustive]
    Unknown {
        /// The name.
        name: String,
        /// The collective.
        collective: String,
        /// The names of the algorithms for the collective.
        known: Vec<String>,
    },
    /// The text after the colon of an algorithm's name is not a parameter with an accepted value.
    #[error("{algorithm}: found {}, expected {expected}", quoted(found))]
    #[non_exhaustive]
    Parameters {
        /// The algorithm.
        algorithm: String,
        /// The invalid text.
        found: String,
        /// A description of what is accepted.
        expected: String,
    },
    /// The algorithm does not fit the problem.
    #[error("{algorithm} does not fit {collective} on {}: {needs}", shown(topology))]
    #[non_exhaustive]
    Unfit {
        /// The algorithm.
        algorithm: String,
        /// The collective.
        collective: String,
        /// The topology.
        topology: String,
        /// The requirements of the algorithm, and what it found.
        needs: String,
    },
    /// The algorithm is native: the backend's library executes it without a schedule.
    #[error("{algorithm} has no schedule for {collective} on {}: the backend's library executes it", shown(topology))]
    #[non_exhaustive]
    Unscheduled {
        /// The algorithm.
        algorithm: String,
        /// The collective.
        collective: String,
        /// The topology.
        topology: String,
    },
    /// A rank's share has more rounds than a schedule may have, such as a share that never ends.
    #[error("{algorithm}: rank {rank} has more than {limit} rounds, the maximum of a schedule")]
    #[non_exhaustive]
    Rounds {
        /// The algorithm.
        algorithm: String,
        /// The rank.
        rank: Rank,
        /// The [maximum number](super::Problem::max_rounds) of rounds.
        limit: usize,
    },
    /// The shares of two ranks do not match: a bug of the algorithm.
    #[error(
        "{algorithm}, round {round}: the send of rank {} to rank {} and the receive there do not match",
        mismatch.source, mismatch.destination
    )]
    #[non_exhaustive]
    Disagree {
        /// The algorithm.
        algorithm: String,
        /// The round.
        round: usize,
        /// The two ends of the transfer.
        mismatch: Box<Mismatch>,
    },
}

debug_as_text!(BuildError);
