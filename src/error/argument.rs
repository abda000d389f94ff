//! Mistakes of the caller.

use std::sync::Arc;

use crate::permutation::BitMapError;
use crate::plan::PlanError;
use crate::quote::{quoted, shown};
use crate::schedule::Violations;
use crate::vocabulary::BuildError;

/// Mistake in the arguments of a call, found before anything moves.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// There is no schedule for the call.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A permutation is not a valid map of address bits.
    #[error(transparent)]
    Map(#[from] BitMapError),
    /// The schedule cannot be compiled for these sizes.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A buffer or a list does not have the length that the call needs.
    #[error("the {what} has {found} elements, it must have {expected}")]
    Length {
        /// The buffer or list.
        what: &'static str,
        /// The expected length.
        expected: String,
        /// Its length in elements.
        found: usize,
    },
    /// The root is not a rank of the communicator.
    #[error("root {root} is out of range: there are {ranks} ranks, 0 to {}", ranks - 1)]
    Root {
        /// The root.
        root: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// There is no collective of that name.
    #[error("no collective {}; there are: {}", quoted(name), known.join(", "))]
    Collective {
        /// The name.
        name: String,
        /// The names of all collectives.
        known: Vec<&'static str>,
    },
    /// The collective has no buffers of equal blocks.
    #[error("a custom collective has no buffers of equal blocks")]
    Custom,
    /// A predefined operation is of another type than the elements.
    #[error(
        "operation {op} on {element} cannot be predefined on {number}: its elements have {} bytes at multiples of {}, such \
         numbers {} at multiples of {}",
        found.0, found.1, expected.0, expected.1
    )]
    Operation {
        /// The operation.
        op: String,
        /// The type of the elements.
        element: &'static str,
        /// The type of numbers that the operation is predefined on.
        number: String,
        /// Size and alignment of the elements.
        found: (usize, usize),
        /// Size and alignment of the numbers.
        expected: (usize, usize),
    },
    /// A persistent plan is executed on a communicator that did not make it.
    #[error("a plan made by {made} is executed on {used}")]
    Persistent {
        /// The communicator that made it.
        made: String,
        /// The communicator that it is executed on.
        used: String,
    },
    /// A block cannot be where it is said to be.
    #[error("{side} block {block}: {why}")]
    Block {
        /// `send` or `receive`.
        side: &'static str,
        /// The block's number: the rank that it goes to or comes from.
        block: usize,
        /// The reason.
        why: String,
    },
    /// Two elements are received into one.
    #[error("{}", match blocks {
        (i, j) if i == j => format!("{side} block {i} has element {element} twice"),
        (i, j) => format!("{side} blocks {i} and {j} overlap, at element {element}"),
    })]
    Overlap {
        /// `send` or `receive`.
        side: &'static str,
        /// The two blocks, which may be one.
        blocks: (usize, usize),
        /// The first element that both have.
        element: usize,
    },
    /// Strided blocks interlock in too many pieces to find out whether they overlap.
    #[error(
        "{side} blocks interlock in {pieces} pieces at different distances: with more than {most}, overlaps are not searched for"
    )]
    Interlocked {
        /// `send` or `receive`.
        side: &'static str,
        /// The number of pieces.
        pieces: u64,
        /// The maximum.
        most: u64,
    },
    /// The block of a rank for itself has two lengths.
    #[error("rank {rank} sends itself {sent} elements but awaits {awaited}")]
    Itself {
        /// The rank.
        rank: usize,
        /// The elements that it sends.
        sent: usize,
        /// The elements that it awaits.
        awaited: usize,
    },
    /// A buffer is not a part of a distributed array.
    #[error(
        "a send buffer of {found} elements cannot be {part} elements of an array of 2^{bits} on {ranks} ranks, nor a multiple"
    )]
    Part {
        /// Its length in elements.
        found: usize,
        /// The elements of a rank's part.
        part: usize,
        /// The base-2 logarithm of the elements of the array.
        bits: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// A permutation cuts a rank's part into too many pieces.
    #[error(
        "permute {map}: the {elements} elements of a rank are {pieces} pieces of memory, of which a plan lists {most} at most; \
         larger elements and fewer of them, or more ranks, make fewer pieces"
    )]
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
    /// A plan needs more memory than there is.
    #[error("{call}: {bytes} bytes of scratch are needed, and cannot be had")]
    Memory {
        /// Description of the call.
        call: Arc<str>,
        /// The number of bytes.
        bytes: u64,
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
        /// What is wrong.
        #[source]
        violations: Arc<Violations>,
    },
}
