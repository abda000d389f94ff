//! The error of [`compile()`](super::compile()).

use super::{ProgramError, Run, Strided};
use crate::block::Block;
use crate::quote::debug_as_text;

/// The reason why a share cannot be compiled.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A buffer would have 2^63 bytes or more.
    #[error("{blocks} blocks of {elements} elements of {element} bytes are 2^63 bytes or more")]
    #[non_exhaustive]
    Overflow {
        /// The number of blocks.
        blocks: usize,
        /// Elements of a block.
        elements: usize,
        /// Bytes of an element.
        element: usize,
    },
    /// The blocks that the rank holds and forwards have 2^63 bytes or more.
    #[error("the blocks that the rank holds and forwards are 2^63 bytes or more together")]
    Bytes,
    /// A local step reads and writes different numbers of chunks.
    #[error("a local step reads {from} and writes {into}, which have different numbers of chunks")]
    #[non_exhaustive]
    Step {
        /// The block that is read.
        from: Block,
        /// The block that is written.
        into: Block,
    },
    /// The schedule has more than 2^32 rounds or runs.
    #[error("the schedule has more than 2^32 rounds or runs")]
    Rounds,
    /// The schedule uses a block that the rank does not hold.
    #[error("round {round} needs block {block}, which is not held")]
    #[non_exhaustive]
    Missing {
        /// The block.
        block: Block,
        /// The round; one past the last round for a block that the rank must hold at the end.
        round: usize,
    },
    /// The schedule cuts a block into different numbers of chunks.
    #[error("block {block} is cut into {one} and into {other} chunks")]
    #[non_exhaustive]
    Cut {
        /// The block.
        block: Block,
        /// The first number of chunks.
        one: u32,
        /// Another number of chunks.
        other: u32,
    },
    /// The layout puts a block past the end of its buffer, or a received block outside the output.
    #[error(
        "block {block} cannot lie at {run:?}: input and output have {input} and {output} bytes, received blocks must lie in the output"
    )]
    #[non_exhaustive]
    Place {
        /// The block.
        block: Block,
        /// Its place.
        run: Run,
        /// Bytes of the input.
        input: u64,
        /// Bytes of the output.
        output: u64,
    },
    /// The strided blocks have too many runs.
    #[error(
        "block {block}: {part} are {runs} runs, at most {} are allowed for all blocks together; put the dimension of \
         adjacent elements last, and the longest of the others before it",
        most
    )]
    #[non_exhaustive]
    Runs {
        /// The block at which the limit is exceeded.
        block: Block,
        /// The part of the block.
        part: Strided,
        /// The runs of this part.
        runs: u64,
        /// The maximum for all blocks together.
        most: u64,
    },
    /// The layout puts two received blocks in one place.
    #[error("two received blocks share byte {offset} of the output")]
    #[non_exhaustive]
    Shared {
        /// The first shared byte.
        offset: u64,
    },
    /// The place of a block has the wrong length, or a local step combines blocks of different
    /// lengths.
    #[error("block {block} has {expected} bytes, but its place or source has {found}")]
    #[non_exhaustive]
    Length {
        /// The block.
        block: Block,
        /// Bytes of the block.
        expected: u64,
        /// Bytes of the place, or of the other block.
        found: u64,
    },
    /// The byte ranges are inconsistent. This is a bug of the compiler.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

debug_as_text!(PlanError);
