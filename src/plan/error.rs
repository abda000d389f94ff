//! Why a share cannot be compiled.

use super::{ProgramError, Run, Strided};
use crate::block::Block;

/// A share cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A buffer would be too long.
    #[error("{blocks} blocks of {elements} elements of {element} bytes are more than 2^63 bytes")]
    Overflow {
        /// How many blocks.
        blocks: usize,
        /// Elements a block.
        elements: usize,
        /// Bytes an element.
        element: usize,
    },
    /// What the rank holds and passes on is too much to count.
    #[error("the blocks that the rank holds and passes on are more than 2^63 bytes together")]
    Bytes,
    /// A local step is of blocks of different numbers of chunks.
    #[error("a local step makes {into} of {from}: they have different numbers of chunks")]
    Step {
        /// What it reads.
        from: Block,
        /// What it writes.
        into: Block,
    },
    /// The schedule has more than 2^32 rounds or runs.
    #[error("the schedule has more than 2^32 rounds or runs")]
    Rounds,
    /// The schedule uses a block that the rank does not hold.
    #[error("round {round} needs block {block}, which is not held")]
    Missing {
        /// Which block.
        block: Block,
        /// In which round; one past the last for what is wanted in the end.
        round: usize,
    },
    /// The schedule cuts a block into different numbers of chunks.
    #[error("block {block} is cut into {one} and into {other} chunks")]
    Cut {
        /// Which block.
        block: Block,
        /// One number.
        one: u32,
        /// Another.
        other: u32,
    },
    /// The layout puts a block where it cannot be: past the end of its buffer, or what is wanted not into the output.
    #[error(
        "block {block} cannot lie at {run:?}: input and output have {input} and {output} bytes, what is wanted lies in the output"
    )]
    Place {
        /// Which block.
        block: Block,
        /// Where.
        run: Run,
        /// Bytes of the input.
        input: u64,
        /// Bytes of the output.
        output: u64,
    },
    /// The blocks are in too many places to list.
    #[error(
        "block {block}: {part} are {runs} runs of pieces of one length at one distance, and all blocks may be {} together; \
         with the dimension of neighbours last, and the longest of the others before it, they are fewest",
        most
    )]
    Runs {
        /// With which block there are too many.
        block: Block,
        /// With which part of it.
        part: Strided,
        /// How many runs that is.
        runs: u64,
        /// How many all blocks may have together.
        most: u64,
    },
    /// The layout wants two blocks in one place.
    #[error("two of the blocks that are wanted share byte {offset} of the output")]
    Shared {
        /// The first byte of both.
        offset: u64,
    },
    /// The layout gives a block a place of another length, or a local step makes it of one of another length.
    #[error("block {block} has {expected} bytes, what is put there {found}")]
    Length {
        /// Which block.
        block: Block,
        /// Its bytes.
        expected: u64,
        /// Those of its place.
        found: u64,
    },
    /// The byte ranges are inconsistent: a bug of this pass.
    #[error(transparent)]
    Program(#[from] ProgramError),
}
