//! Layouts: the places of a collective's blocks in the user's buffers.

use std::collections::HashMap;

use super::runs::joined;
use super::{Buffer, Place, PlanError, Run, Strided};
use crate::block::Block;

/// The lengths of blocks, in elements.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Lengths {
    /// All blocks have this length.
    Equal(u64),
    /// Each block has its own length. Blocks that are not in the map are empty.
    Each(HashMap<Block, u64>),
}

impl Lengths {
    /// Returns the number of elements of a whole block.
    pub(crate) fn of(&self, block: Block) -> u64 {
        match self {
            Self::Equal(elements) => *elements,
            Self::Each(table) => table.get(&block.whole()).copied().unwrap_or(0),
        }
    }
}

/// The places of one rank's blocks, at the beginning and at the end, in bytes. A block may be in
/// several pieces, and strided.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Layout {
    /// Bytes of an element. Blocks are cut into chunks at element boundaries.
    pub element: u64,
    /// Lengths of the blocks that the rank holds or forwards.
    pub lengths: Lengths,
    /// The blocks that the rank starts with: in the input, or in place in the output.
    pub before: Vec<(Block, Place)>,
    /// The blocks that the rank must end with: in the output, without overlap.
    pub after: Vec<(Block, Place)>,
    /// The length of the input in bytes.
    pub input: u64,
    /// The length of the output in bytes.
    pub output: u64,
}

/// The strided blocks of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StridedBlocks<'a> {
    pub(crate) names: &'a [Block],
    /// The parts of each block, one after the other.
    pub(crate) blocks: &'a [&'a [Strided]],
    /// The length of the buffer in elements.
    pub(crate) elements: usize,
}

impl Layout {
    /// The maximum number of runs of all blocks of a [`strided`](Self::strided) layout. A plan
    /// takes some 200 bytes for each run, so that more would exceed the memory of most machines.
    pub(crate) const MOST_RUNS: u64 = 1 << 24;

    /// Returns a layout without blocks and with empty buffers, for elements of `element` bytes.
    ///
    /// Add the blocks with [`with_input`](Self::with_input) and [`with_output`](Self::with_output).
    #[must_use]
    pub fn new(element: u64, lengths: Lengths) -> Self {
        Self { element, lengths, before: vec![], after: vec![], input: 0, output: 0 }
    }

    /// Sets the blocks that the rank starts with and the length of the input in bytes.
    #[must_use]
    pub fn with_input(self, before: Vec<(Block, Place)>, input: u64) -> Self {
        Self { before, input, ..self }
    }

    /// Sets the blocks that the rank must end with and the length of the output in bytes.
    #[must_use]
    pub fn with_output(self, after: Vec<(Block, Place)>, output: u64) -> Self {
        Self { after, output, ..self }
    }

    /// Returns a layout of consecutive blocks of `elements` elements of `element` bytes: `before`
    /// in the input, `after` in the output.
    ///
    /// # Errors
    ///
    /// [`PlanError::Overflow`] if a buffer would be longer than 2^63 bytes.
    pub fn consecutive(element: usize, elements: usize, before: &[Block], after: &[Block]) -> Result<Self, PlanError> {
        let overflow = |blocks: usize| PlanError::Overflow { blocks, elements, element };
        let block = (element as u64).checked_mul(elements as u64).ok_or(overflow(1))?;
        let total = |blocks: usize| {
            let bytes = block.checked_mul(blocks as u64).filter(|&bytes| i64::try_from(bytes).is_ok());
            bytes.ok_or(overflow(blocks))
        };
        let (input, output) = (total(before.len())?, total(after.len())?);
        let place = |buffer, blocks: &[Block]| {
            let at = |(i, &b): (usize, &Block)| (b, Place::from(Run::new(buffer, i as u64 * block, block)));
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

    /// Returns a layout of blocks of `length` elements, each element at a listed index: `before` in
    /// an input of `total` elements, `after` in an output of the same length. An element has at
    /// least one byte.
    ///
    /// # Errors
    ///
    /// [`PlanError::Overflow`] if a buffer would be longer than 2^63 bytes.
    pub(crate) fn scattered(
        element: usize,
        (length, total): (u64, u64),
        before: Vec<(Block, Vec<u64>)>,
        after: Vec<(Block, Vec<u64>)>,
    ) -> Result<Self, PlanError> {
        let bytes = total.checked_mul(element as u64).filter(|&bytes| i64::try_from(bytes).is_ok());
        let overflow =
            PlanError::Overflow { blocks: 1, elements: usize::try_from(total).unwrap_or(usize::MAX), element };
        let bytes = bytes.ok_or(overflow)?;
        let element = element as u64;
        let place = |buffer, blocks: Vec<(Block, Vec<u64>)>| {
            let runs =
                move |places: Vec<u64>| joined(places.into_iter().map(|at| Run::new(buffer, at * element, element)));
            blocks.into_iter().map(|(block, places)| (block, Place::from(runs(places)))).collect()
        };
        Ok(Self {
            element,
            lengths: Lengths::Equal(length),
            before: place(Buffer::Input, before),
            after: place(Buffer::Output, after),
            input: bytes,
            output: bytes,
        })
    }

    /// Returns the same layout with blocks of no bytes.
    #[must_use]
    pub(crate) fn emptied(self) -> Self {
        let empty = |blocks: Vec<(Block, Place)>| blocks.into_iter().map(|(block, _)| (block, Place::new())).collect();
        let (before, after) = (empty(self.before), empty(self.after));
        Self { lengths: Lengths::Equal(0), before, after, input: 0, output: 0, ..self }
    }

    /// Returns the same layout in place, with all blocks in the output. A block that the rank also
    /// ends with starts in its final place; any other block starts in the place of the block that
    /// `instead` returns for it.
    #[must_use]
    pub fn in_place(mut self, instead: impl Fn(Block) -> Block) -> Self {
        let places: HashMap<Block, &Place> = self.after.iter().map(|(block, place)| (*block, place)).collect();
        for (block, place) in &mut self.before {
            if let Some(&there) = places.get(block).or_else(|| places.get(&instead(*block))) {
                place.clone_from(there);
            }
        }
        self.input = 0;
        self
    }

    /// Returns the same layout in place, for a rank that starts with more blocks than it ends with:
    /// they start in the output, as they lay in the input. What the rank ends with is stored from
    /// the start of the output. If `stays` is set, a block that it also starts with stays where it
    /// is.
    #[must_use]
    pub(crate) fn in_place_of_input(mut self, stays: bool) -> Self {
        let moved = |place: &Place| place.iter().map(|run| Run { buffer: Buffer::Output, ..*run }).collect();
        for (_, place) in &mut self.before {
            *place = moved(place);
        }
        let places: HashMap<Block, &Place> = self.before.iter().map(|(block, place)| (*block, place)).collect();
        for (block, place) in self.after.iter_mut().filter(|_| stays) {
            if let Some(&there) = places.get(block) {
                place.clone_from(there);
            }
        }
        (self.output, self.input) = (self.input, 0);
        self
    }

    /// Returns a layout of strided blocks: the rank starts with the blocks of `before`, and ends
    /// with those of `after`, each the elements that its description names, one part after the
    /// other. Elements have `element` bytes. If `from` is the output, the rank starts with blocks
    /// of that.
    ///
    /// [`lengths`](Self::lengths) has these blocks only. The caller adds the blocks that the rank
    /// forwards.
    ///
    /// # Errors
    ///
    /// [`PlanError::Overflow`] if a buffer or the end of a block exceeds 2^63 bytes;
    /// [`PlanError::Runs`] if the blocks have more than [`MOST_RUNS`](Self::MOST_RUNS) runs
    /// together.
    pub(crate) fn strided(
        element: usize,
        (from, before): (Buffer, StridedBlocks<'_>),
        after: StridedBlocks<'_>,
    ) -> Result<Self, PlanError> {
        let overflow = |elements: usize| PlanError::Overflow { blocks: 1, elements, element };
        let bytes = |elements: usize| {
            let bytes = (elements as u64).checked_mul(element as u64);
            bytes.filter(|&bytes| i64::try_from(bytes).is_ok()).ok_or(overflow(elements))
        };
        let (mut table, mut runs) = (HashMap::new(), 0_u64);
        let mut place = |block: Block, buffer, parts: &[Strided]| {
            let mut elements = 0_u64;
            let mut place = Place::new();
            for part in parts {
                bytes(part.end().ok_or(overflow(usize::MAX))?)?;
                // Each is below 2^63, and so is the sum over the blocks of a buffer.
                elements = elements.saturating_add(part.elements().ok_or(overflow(usize::MAX))? as u64);
                // Checked before any run is listed: a short description can stand for more runs
                // than memory holds.
                runs = runs.saturating_add(part.runs());
                if runs > Self::MOST_RUNS {
                    return Err(PlanError::Runs {
                        block,
                        part: part.clone(),
                        runs: part.runs(),
                        most: Self::MOST_RUNS,
                    });
                }
                place.extend(part.place(buffer, element as u64).into_runs());
            }
            table.insert(block, elements);
            Ok((block, place))
        };
        let mut places = |side: &StridedBlocks<'_>, buffer| {
            let all = side.names.iter().zip(side.blocks);
            all.map(|(&block, parts)| place(block, buffer, parts)).collect::<Result<Vec<_>, PlanError>>()
        };
        let (first, last) = (places(&before, from)?, places(&after, Buffer::Output)?);
        let (input, output) = (bytes(before.elements)?, bytes(after.elements)?);
        let input = if from == Buffer::Input { input } else { 0 };
        Ok(Self { element: element as u64, lengths: Lengths::Each(table), before: first, after: last, input, output })
    }
}
