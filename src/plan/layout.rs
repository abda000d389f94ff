//! Where the blocks of a collective lie in the user's buffers.

use std::collections::HashMap;

use super::{Buffer, PlanError, Run};
use crate::ids::Rank;
use crate::schedule::Block;

/// How long blocks are, in elements.
#[derive(Clone, Debug)]
pub enum Lengths {
    /// All alike.
    Equal(u64),
    /// Each its own; blocks that are not named are empty.
    Each(HashMap<Block, u64>),
}

impl Lengths {
    /// The elements of a whole block.
    #[must_use]
    pub fn of(&self, block: Block) -> u64 {
        match self {
            Self::Equal(elements) => *elements,
            Self::Each(table) => table.get(&block.whole()).copied().unwrap_or(0),
        }
    }
}

/// Where one rank's blocks lie, before and after; in bytes. A block may be strided.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Bytes of an element. Blocks are cut into chunks between elements.
    pub element: u64,
    /// How long the blocks are that the rank holds or passes on.
    pub lengths: Lengths,
    /// Where the blocks lie that it starts with: in the input, or in place in the output.
    pub before: Vec<(Block, Run)>,
    /// Where the blocks that it shall have go, all in the output, none overlapping another.
    pub after: Vec<(Block, Run)>,
    /// The length of the input in bytes.
    pub input: u64,
    /// The length of the output in bytes.
    pub output: u64,
}

impl Layout {
    /// Blocks of `elements` elements, one after the other: those of `before` in the input (or, in place, in the output,
    /// each where that block or, for alltoall, the block that comes back in its stead will lie), those of `after` in the
    /// output.
    ///
    /// # Errors
    ///
    /// [`PlanError::Overflow`] where a buffer would be longer than 2^63 bytes.
    pub fn consecutive(element: usize, elements: usize, before: &[Block], after: &[Block]) -> Result<Self, PlanError> {
        let overflow = |blocks: usize| PlanError::Overflow { blocks, elements, element };
        let block = (element as u64).checked_mul(elements as u64).ok_or(overflow(1))?;
        let total = |blocks: usize| {
            let bytes = block.checked_mul(blocks as u64).filter(|&bytes| i64::try_from(bytes).is_ok());
            bytes.ok_or(overflow(blocks))
        };
        let (input, output) = (total(before.len())?, total(after.len())?);
        let place = |buffer, blocks: &[Block]| {
            let at = |(i, &b): (usize, &Block)| (b, Run::new(buffer, i as u64 * block, block));
            blocks.iter().enumerate().map(at).collect()
        };
        Ok(Self {
            element: element as u64,
            lengths: Lengths::Equal(elements as u64),
            before: place(Buffer::Input, before),
            after: place(Buffer::Output, after),
            input,
            output,
        })
    }

    /// The same with everything in the output: a block that is also wanted starts where it will end; others start where
    /// `instead` says, by the wanted block whose place they take.
    #[must_use]
    pub fn in_place(mut self, instead: impl Fn(Block) -> Block) -> Self {
        let places: HashMap<Block, Run> = self.after.iter().copied().collect();
        for (block, run) in &mut self.before {
            if let Some(&place) = places.get(block).or_else(|| places.get(&instead(*block))) {
                *run = place;
            }
        }
        self.input = 0;
        self
    }

    /// Alltoall of blocks of different lengths at different places: `counts[j]` elements at `displacements[j]`.
    ///
    /// # Errors
    ///
    /// [`PlanError::Overflow`] where a place is past 2^63 bytes.
    pub fn varying(rank: Rank, element: usize, send: &Places<'_>, receive: &Places<'_>) -> Result<Self, PlanError> {
        let run = |buffer, places: &Places<'_>, i: usize| {
            let (elements, at) = (places.counts[i], places.displacements[i]);
            let bytes = |n: usize| (n as u64).checked_mul(element as u64).filter(|&n| i64::try_from(n).is_ok());
            let run = bytes(at).zip(bytes(elements)).map(|(at, len)| Run::new(buffer, at, len));
            run.ok_or(PlanError::Overflow { blocks: 1, elements: elements.max(at), element })
        };
        let (mut before, mut after, mut table) = (vec![], vec![], HashMap::new());
        for i in 0..send.counts.len().min(receive.counts.len()) {
            let (out, back) = (Block::new(rank, Rank::new(i)), Block::new(Rank::new(i), rank));
            before.push((out, run(Buffer::Input, send, i)?));
            after.push((back, run(Buffer::Output, receive, i)?));
            table.insert(back, receive.counts[i] as u64);
            table.insert(out, send.counts[i] as u64);
        }
        let length = |places: &Places<'_>| places.length as u64 * element as u64;
        Ok(Self {
            element: element as u64,
            lengths: Lengths::Each(table),
            before,
            after,
            input: length(send),
            output: length(receive),
        })
    }
}

/// Counts and displacements of a `v` collective, in elements of a buffer of `length` elements.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Elements for, or from, each rank.
    pub counts: &'a [usize],
    /// Where each begins.
    pub displacements: &'a [usize],
    /// Elements of the buffer.
    pub length: usize,
}
