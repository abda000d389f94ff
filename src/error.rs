//! What can go wrong: building a schedule, verifying it, running it.

use std::sync::Arc;

use crate::ids::{Node, Rank};
use crate::plan::PlanError;
use crate::quote::quoted;
pub use crate::quote::{Shown, shown};
use crate::schedule::Mismatch;
use crate::transport::{Failure, OpenError, rank_words};

/// A schedule cannot be built for what is asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A topology text is not one.
    #[error(transparent)]
    Topology(#[from] crate::topology::ParseError),
    /// Where the elements of an array should go is no map of address bits.
    #[error(transparent)]
    Map(#[from] crate::permutation::BitMapError),
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
    /// What stands behind the colon of an algorithm's name is no parameter of it, or no value of that.
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

/// A call on a communicator did not succeed.
///
/// Mistakes of the caller ([`Argument`](Self::Argument), [`Length`](Self::Length), [`Build`](Self::Build),
/// [`Plan`](Self::Plan), [`Memory`](Self::Memory), ..) are found before anything moves, concern this rank alone and
/// leave the communicator usable. [`Failed`](Self::Failed) is everybody's: each member gets an equal one, at its next
/// call if it had done its part, and the communicator refuses work from then on ([`Dead`](Self::Dead)).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no schedule for what is asked.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The schedule cannot be compiled for these sizes.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A context cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A buffer is not as long as the call needs.
    #[error("the {what} has {found} elements, it must have {expected}")]
    Length {
        /// Which buffer or list.
        what: &'static str,
        /// What would be right.
        expected: String,
        /// Its length in elements.
        found: usize,
    },
    /// A plan needs memory that there is not.
    #[error("{words}: {bytes} bytes of scratch are needed, and cannot be had")]
    Memory {
        /// The call in words.
        words: Arc<str>,
        /// How many bytes.
        bytes: u64,
    },
    /// An argument makes no sense.
    #[error("{0}")]
    Argument(String),
    /// The call failed, on every member. In words, ranks of a part of the job are named by their numbers in the job, too.
    #[error("{}: {}", rank_words(*rank, members), failure.named(members))]
    Failed {
        /// This rank, as the others in the failure by its number in the communicator.
        rank: Rank,
        /// What happened: the same on every member.
        failure: Box<Failure>,
        /// The members' ranks in the job; empty where each is the same there.
        members: Arc<[Rank]>,
    },
    /// The communicator failed in an earlier call.
    #[error(
        "{}: the communicator takes no more calls, it failed before: {}",
        rank_words(*rank, members),
        failure.named(members)
    )]
    Dead {
        /// This rank, as the others in the failure by its number in the communicator.
        rank: Rank,
        /// What happened then.
        failure: Box<Failure>,
        /// The members' ranks in the job; empty where each is the same there.
        members: Arc<[Rank]>,
    },
    /// A rank panicked, or could not be started.
    #[error("rank {rank} {how}")]
    Rank {
        /// Which.
        rank: Rank,
        /// `panicked: ...`, or why it could not be started.
        how: String,
    },
    /// The ranks of a job, which are processes, do not come together.
    #[cfg(feature = "tcp")]
    #[error(transparent)]
    Join(#[from] crate::transport::tcp::JoinError),
    /// This process has no place in a job over MPI.
    #[cfg(feature = "mpi")]
    #[error(transparent)]
    Mpi(#[from] crate::transport::mpi::MpiError),
    /// The environment asks for something that cannot be.
    #[error("{0}")]
    Environment(String),
}

/// Where a text is no JSON, line and column from 1 (both 0 where there is no place), and what is wrong there, without
/// saying the place again. A long value in it is shortened.
#[cfg(feature = "json")]
pub(crate) fn fault_in_json(error: &serde_json::Error) -> (usize, usize, String) {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let place = format!(" at line {line} column {column}");
    // Before the first character of a line, as where a text is empty, the column is 0.
    let reason = crate::quote::shortened(text.strip_suffix(&place).unwrap_or(&text)).into_owned();
    (line, column.max(line.min(1)), reason)
}

#[cfg(any(feature = "local", feature = "mpi", feature = "tcp"))]
impl From<crate::transport::Discord> for Error {
    fn from(crate::transport::Discord { failure, rank, members }: crate::transport::Discord) -> Self {
        Self::Failed { rank, failure: Box::new(failure), members: crate::transport::renumbered(&members) }
    }
}

impl From<crate::permutation::BitMapError> for Error {
    fn from(error: crate::permutation::BitMapError) -> Self {
        Self::Build(error.into())
    }
}
