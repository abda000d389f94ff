//! Blocks of different lengths as MPI describes them: by counts, offsets and datatypes.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use mpi::ffi;

use super::datatype::Datatype;
use super::error::MpiError;
use crate::collective::Collective;
use crate::ids::Rank;
use crate::plan::Run;
use crate::transport::native::blocks::piece;
use crate::transport::native::{Blocks, Varying};

/// The arguments of a call with blocks of different lengths for MPI.
#[derive(Debug)]
pub(super) struct BlockArguments {
    /// The call for which they were made.
    pub(super) of: Varying,
    pub(super) layout: BlockLayouts,
}

#[derive(Debug)]
pub(super) enum BlockLayouts {
    /// Blocks with a datatype each.
    Typed { send: TypedBlocks, receive: TypedBlocks },
    /// Blocks of elements of one datatype.
    Counted { element: Datatype, send: CountedBlocks, receive: CountedBlocks },
}

/// Counts, offsets in bytes and datatypes of the blocks to or from each rank.
#[derive(Debug)]
pub(super) struct TypedBlocks {
    pub(super) counts: Vec<c_int>,
    pub(super) offsets: Vec<c_int>,
    pub(super) types: Vec<ffi::MPI_Datatype>,
    /// Owns the datatypes.
    _owned: Vec<Datatype>,
}

/// Counts and offsets, in elements, of the blocks in a buffer.
#[derive(Debug)]
pub(super) struct CountedBlocks {
    pub(super) counts: Vec<c_int>,
    /// `None` if an offset has more than 31 bits.
    pub(super) offsets: Option<Vec<c_int>>,
}

impl BlockLayouts {
    pub(super) fn new(of: &Varying, (rank, ranks): (Rank, usize)) -> Result<Self, MpiError> {
        if of.collective == Collective::Alltoall || of.long {
            let own = own_block(of, rank).map(|_| rank);
            let others = |block: fn(&Varying, Rank) -> &[Run]| {
                let of_rank = move |rank| if Some(rank) == own { &[][..] } else { block(of, rank) };
                TypedBlocks::new((0..ranks).map(Rank::new).map(of_rank))
            };
            return Ok(Self::Typed { send: others(Varying::to)?, receive: others(Varying::from)? });
        }
        // The same on all ranks: libraries choose algorithms by the size of this datatype.
        let element = match of.element {
            0 | 1 => Datatype::byte(),
            bytes => Datatype::byte().repeated(bytes, 1)?.committed()?,
        };
        let counted = |blocks| CountedBlocks::new(blocks, of.element.max(1));
        Ok(Self::Counted { element, send: counted(&of.send)?, receive: counted(&of.receive)? })
    }
}

impl CountedBlocks {
    fn new(blocks: &Blocks, element: u64) -> Result<Self, MpiError> {
        let pieces = || (0..blocks.ranks()).map(|rank| blocks.piece(Rank::new(rank)).unwrap_or_default());
        let elements = |bytes: u64| c_int::try_from(bytes / element);
        let counts = pieces().map(|(_, length)| elements(length)).collect::<Result<_, _>>();
        let offsets = pieces().map(|(offset, _)| elements(offset)).collect::<Result<_, _>>().ok();
        Ok(Self { counts: counts.map_err(|_| uncountable())?, offsets })
    }

    pub(super) fn offsets(&self) -> Result<&[c_int], MpiError> {
        self.offsets.as_deref().ok_or_else(uncountable)
    }

    /// Returns the address and the length of the only block in a buffer, or of none.
    pub(super) fn only(&self, buffer: *const c_void, blocks: &Blocks) -> (*const c_void, c_int) {
        let (offset, _) = blocks.piece(Rank::default()).unwrap_or_default();
        (buffer.wrapping_byte_add(offset as usize), self.counts.first().copied().unwrap_or(0))
    }

    /// Returns the offsets of the blocks if they lie one after the other, and their end. All
    /// lengths together are not [`long`](Varying::long).
    pub(super) fn consecutive(&self) -> (Vec<c_int>, usize) {
        let mut end = 0;
        let place = |count: &c_int| {
            let at = end;
            end += count;
            at
        };
        (self.counts.iter().map(place).collect(), end as usize)
    }
}

impl TypedBlocks {
    fn new<'a>(blocks: impl Iterator<Item = &'a [Run]>) -> Result<Self, MpiError> {
        let mut layout = Self { counts: Vec::new(), offsets: Vec::new(), types: Vec::new(), _owned: Vec::new() };
        for runs in blocks {
            let plain = piece(runs).map(|(offset, length)| (c_int::try_from(offset), c_int::try_from(length)));
            let (offset, count, of) = match plain {
                Some((Ok(offset), Ok(length))) => (offset, length, Datatype::byte()),
                _ => (0, 1, Datatype::runs(runs)?),
            };
            layout.offsets.push(offset);
            layout.counts.push(count);
            layout.types.push(of.handle);
            layout._owned.push(of);
        }
        Ok(layout)
    }
}

/// Returns where the block that a rank has for itself belongs and where it lies, if it is copied
/// without MPI: in an alltoall that is not in place, with equal lengths.
///
/// Libraries pack and unpack a block that is not contiguous, even this one: by Open MPI 4.1, that
/// took 5 to 25 % of an exchange of a matrix between two ranks.
pub(super) fn own_block(of: &Varying, rank: Rank) -> Option<[&[Run]; 2]> {
    let [into, from] = [of.from(rank), of.to(rank)];
    let bytes = |runs: &[Run]| runs.iter().map(Run::bytes).sum::<u64>();
    (of.collective == Collective::Alltoall && !of.in_place && bytes(into) == bytes(from)).then_some([into, from])
}

/// Makes the error for lengths that MPI cannot count, which callers exclude.
pub(super) fn uncountable() -> MpiError {
    MpiError::Refused { call: "MPI", description: "a length exceeds 31 bits".to_owned() }
}

/// Returns the part of a buffer from its first to its last block.
pub(super) fn span(blocks: &Blocks) -> Range<usize> {
    let all = (0..blocks.ranks()).flat_map(|rank| blocks.of(Rank::new(rank)));
    all.map(|run| run.offset as usize).min().unwrap_or(0)..blocks.end() as usize
}

/// Copies consecutive blocks to their places.
pub(super) fn scatter_pieces(mut all: &[u8], blocks: &Blocks, output: &mut [u8]) {
    for (offset, length) in (0..blocks.ranks()).filter_map(|rank| blocks.piece(Rank::new(rank))) {
        let (offset, length) = (offset as usize, length as usize);
        if let (Some(place), Some((block, rest))) =
            (output.get_mut(offset..offset + length), all.split_at_checked(length))
        {
            place.copy_from_slice(block);
            all = rest;
        }
    }
}
