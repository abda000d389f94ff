//! Errors in the arguments of a call.

use std::sync::Arc;

use crate::array::ArrayError;
use crate::permutation::BitMapError;
use crate::plan::{BlockFault, PlanError};
use crate::quote::{debug_as_text, quoted, shown};
use crate::schedule::Violations;
use crate::topology::SizeError;
use crate::vocabulary::BuildError;

/// The state of a [request](crate::communicator::Request) in which a method cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestFault {
    /// No call has been started since the last wait.
    #[error("the request has not been started since the last wait; start it first")]
    NotStarted,
    /// A call is under way, or the program has not waited for it.
    #[error("a call of the request is under way; wait for it first")]
    UnderWay,
    /// The closure has panicked in an earlier call, with the buffers.
    #[error("the closure of the request has panicked, and its buffers are lost; make a new request")]
    Panicked,
    /// The communicator that made the request has been dropped.
    #[error("the communicator of the request has been dropped; start the request while the communicator lives")]
    Dropped,
}

/// Error in the arguments of a call, found before anything moves.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// There is no schedule for the call.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A topology cannot have these sizes.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// The map of address bits is invalid.
    #[error(transparent)]
    Map(#[from] BitMapError),
    /// The array cannot be distributed or redistributed in this way.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// The schedule cannot be compiled for these sizes.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A buffer or a list does not have the length that the call needs.
    #[error("the {what} has {found} elements; expected {expected}")]
    #[non_exhaustive]
    Length {
        /// The buffer or list, such as `send buffer`.
        what: &'static str,
        /// The expected length in elements.
        expected: String,
        /// The length that was found, in elements.
        found: usize,
    },
    /// The root is not a rank of the communicator.
    #[error("root {root} is out of range; with {ranks} ranks, expected 0 to {}", ranks - 1)]
    #[non_exhaustive]
    Root {
        /// The root.
        root: usize,
        /// The number of ranks in the communicator.
        ranks: usize,
    },
    /// The root does not pass the buffer that only the root has.
    #[error("rank {root} is the root and passes no {what}; expected `Some`")]
    #[non_exhaustive]
    RootBuffer {
        /// The root.
        root: usize,
        /// `send buffer` or `receive buffer`.
        what: &'static str,
    },
    /// The communicator does not know which ranks share a host.
    #[error("this backend does not tell which ranks share a host; split by a colour of your own for each host")]
    Hosts,
    /// Unknown collective.
    #[error("unknown collective {}; expected one of {}", quoted(name), known.join(", "))]
    #[non_exhaustive]
    Collective {
        /// The name that was given.
        name: String,
        /// The names of all collectives.
        known: Vec<&'static str>,
    },
    /// A custom collective does not say where its blocks lie in one buffer.
    #[error("a custom collective cannot be in place; expected two buffers, or any other collective")]
    Custom,
    /// An operation claims to be predefined on numbers that the elements cannot hold.
    #[error(
        "operation {op} on {element} cannot be predefined on {number}: an element has size {} and alignment {}; expected \
         size {} and alignment {} or more",
        found.0, found.1, expected.0, expected.1
    )]
    #[non_exhaustive]
    Operation {
        /// The operation.
        op: String,
        /// The type of the elements.
        element: &'static str,
        /// The type of numbers that the operation is predefined on.
        number: String,
        /// Size and alignment of an element, in bytes.
        found: (usize, usize),
        /// Size and alignment of a number, in bytes.
        expected: (usize, usize),
    },
    /// A persistent plan or a neighbourhood is used on a communicator that did not make it.
    #[error("this plan or neighbourhood belongs to {made}, but is used on {used}; use the communicator that made it")]
    #[non_exhaustive]
    Persistent {
        /// The communicator that made it.
        made: String,
        /// The communicator on which it was to execute.
        used: String,
    },
    /// A request is not in the state that the method needs.
    #[error(transparent)]
    Request(#[from] RequestFault),
    /// A rank is not a member of the communicator.
    #[error("rank {rank} is out of range; with {ranks} ranks, expected 0 to {}", ranks - 1)]
    #[non_exhaustive]
    Peer {
        /// The rank.
        rank: usize,
        /// The number of ranks in the communicator.
        ranks: usize,
    },
    /// An array has no halo of that width for a process grid.
    #[error(
        "no halo of width {width} fits an array of extents {extents:?} on a grid of {axes} axes; expected an extent for each axis, \
         at least three times the width"
    )]
    #[non_exhaustive]
    Halo {
        /// The extents of the array.
        extents: Vec<usize>,
        /// The number of axes of the grid.
        axes: usize,
        /// The width of the halo.
        width: usize,
    },
    /// Axes are not those of a process grid.
    #[error(
        "invalid axes {axes:?} of a grid with {dimensions} axes; expected at least one axis, each below {dimensions} and given once"
    )]
    #[non_exhaustive]
    Axes {
        /// The axes.
        axes: Vec<usize>,
        /// The number of axes of the grid.
        dimensions: usize,
    },
    /// A persistent plan cannot be planned in place.
    #[error("{call} cannot be in place: {reason}")]
    #[non_exhaustive]
    NotInPlace {
        /// Describes the call.
        call: Arc<str>,
        /// The reason, with the expected form.
        reason: String,
    },
    /// A block is invalid: it lies outside its buffer, or names an element twice.
    #[error("{side} block {block}: {fault}")]
    #[non_exhaustive]
    Block {
        /// `send` or `receive`.
        side: &'static str,
        /// The block's number: the rank that it goes to or comes from.
        block: usize,
        /// The reason.
        fault: BlockFault,
    },
    /// Blocks that must be disjoint overlap.
    #[error("{}; blocks to {side} must be disjoint", match blocks {
        (i, j) if i == j => format!("{side} block {i} has element {element} twice"),
        (i, j) => format!("{side} blocks {i} and {j} overlap at element {element}"),
    })]
    #[non_exhaustive]
    Overlap {
        /// `send` or `receive`.
        side: &'static str,
        /// The numbers of the two blocks, which are equal for one block.
        blocks: (usize, usize),
        /// The first element of the buffer that both have.
        element: usize,
    },
    /// Strided blocks interlock in too many pieces to check whether they overlap.
    #[error(
        "{side} blocks interlock in {pieces} pieces at different distances; at most {most} can be checked for overlaps, so \
         use fewer or longer pieces"
    )]
    #[non_exhaustive]
    Interlocked {
        /// `send` or `receive`.
        side: &'static str,
        /// The number of pieces.
        pieces: u64,
        /// The maximum.
        most: u64,
    },
    /// A rank's block for itself has two lengths.
    #[error("rank {rank} sends itself {sent} and expects {expected} elements; both counts must be equal")]
    #[non_exhaustive]
    SelfBlock {
        /// The rank.
        rank: usize,
        /// The elements that it sends.
        sent: usize,
        /// The elements that it expects from itself.
        expected: usize,
    },
    /// A buffer does not hold a part of a distributed array.
    #[error(
        "the send buffer has {found} elements; expected a multiple of {part}, a rank's part of an array of 2^{bits} elements \
         on {ranks} ranks"
    )]
    #[non_exhaustive]
    Part {
        /// The length of the buffer in elements.
        found: usize,
        /// The elements of a rank's part.
        part: usize,
        /// The base-2 logarithm of the elements of the array.
        bits: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// A permutation divides a rank's part into too many pieces of memory.
    #[error(
        "permute {map}: the {elements} elements of a rank form {pieces} pieces of memory, but a plan lists at most {most}; use \
         fewer and larger elements, or more ranks"
    )]
    #[non_exhaustive]
    Pieces {
        /// The map.
        map: String,
        /// The elements of a rank.
        elements: u64,
        /// The number of pieces.
        pieces: u64,
        /// The maximum.
        most: u64,
    },
    /// The scratch buffer of a plan or the vector of a result cannot be allocated.
    #[error("{call}: cannot allocate {bytes} bytes of memory; use smaller blocks or another algorithm")]
    #[non_exhaustive]
    Memory {
        /// Description of the call.
        call: Arc<str>,
        /// The size of the buffer in bytes.
        bytes: u64,
    },
    /// The chosen schedule, or the schedule of the chosen algorithm, violates a rule.
    #[error("{algorithm} is not a valid schedule of {collective} on {}: {violations}", shown(topology))]
    #[non_exhaustive]
    InvalidSchedule {
        /// The algorithm.
        algorithm: String,
        /// The collective.
        collective: String,
        /// The topology.
        topology: String,
        /// The violations.
        #[source]
        violations: Arc<Violations>,
    },
}

debug_as_text!(ArgumentError);

impl ArgumentError {
    /// Makes the error for a buffer or a list of a wrong length, for a library whose calls have
    /// arguments of their own. See [`Error::of_argument`](super::Error::of_argument).
    #[must_use]
    pub fn length(what: &'static str, expected: impl Into<String>, found: usize) -> Self {
        Self::Length { what, expected: expected.into(), found }
    }
}
