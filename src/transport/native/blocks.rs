//! The places of the blocks of a native call.

use crate::ids::Rank;
use crate::plan::{Place, Run};

/// The places of one member's blocks in a buffer: the blocks for all members, or from all members,
/// its own block for itself included; or one block, as that of rank 0. A block is a list of runs,
/// whose bytes follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    places: Vec<Place>,
    end: u64,
}

impl Blocks {
    /// Creates blocks from their places, by rank.
    ///
    /// Returns `None` if a run has no bytes, its pieces overlap, or it ends beyond 2^63 - 1 bytes.
    #[must_use]
    pub fn new(places: Vec<Place>) -> Option<Self> {
        let mut ends = places.iter().flatten().map(|run| run.end().filter(|end| i64::try_from(*end).is_ok()));
        let end = ends.try_fold(0, |most, end| Some(end?.max(most)))?;
        Some(Self { places, end })
    }

    /// Returns the number of ranks that have a block here.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.places.len()
    }

    /// Returns the runs of the block for or from a rank. An empty or missing block has none.
    #[must_use]
    pub fn of(&self, rank: Rank) -> &[Run] {
        self.places.get(rank.index()).map_or(&[], |place| place)
    }

    /// Returns the offset and the length of the block for or from a rank, if it is contiguous. An
    /// empty block has offset 0.
    #[must_use]
    pub fn piece(&self, rank: Rank) -> Option<(u64, u64)> {
        piece(self.of(rank))
    }

    /// Returns the length that the buffer must have, in bytes.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the bytes of all blocks together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.places.iter().flatten().map(Run::bytes).sum()
    }

    /// Returns the memory that the lists take, in bytes.
    pub(crate) fn footprint(&self) -> usize {
        self.places.iter().map(|place| size_of_val(place) + size_of_val(&place[..])).sum()
    }

    pub(super) fn are_contiguous(&self) -> bool {
        self.places.iter().all(|place| piece(place).is_some())
    }
}

/// Returns the offset and the length of a block, if it is contiguous.
pub(in crate::transport) fn piece(runs: &[Run]) -> Option<(u64, u64)> {
    match runs {
        [] => Some((0, 0)),
        [run] if run.count == 1 => Some((run.offset, run.len)),
        _ => None,
    }
}
