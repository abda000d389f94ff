//! Blocks: the unit of data in schedules.

mod volume;

pub use volume::Volume;
pub(crate) use volume::gcd;

use std::fmt;

use crate::ids::Rank;

/// The data from one source to one destination, or consecutive chunks of it.
///
/// A block is written `[source, destination]`. `[source, destination, first, of, count]` is `count`
/// chunks, from index `first`, of a block cut into `of` equal chunks. The source is -1 if all ranks
/// contribute; the destination is -1 if all ranks get the block. Numbers below -1 name temporaries
/// of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    source: i32,
    destination: i32,
    first: u32,
    count: u32,
    of: u32,
}

impl Block {
    /// The result that all ranks contribute to and all ranks get: `[-1, -1]`.
    pub const RESULT: Self = Self::raw(-1, -1);

    /// Returns the block from one rank to another.
    #[must_use]
    pub const fn new(source: Rank, destination: Rank) -> Self {
        Self::raw(source.index() as i32, destination.index() as i32)
    }

    /// Returns the block from one rank to all ranks: `[source, -1]`.
    #[must_use]
    pub const fn from(source: Rank) -> Self {
        Self::raw(source.index() as i32, -1)
    }

    /// Returns the result that all ranks contribute to and one rank gets: `[-1, destination]`.
    #[must_use]
    pub const fn result(destination: Rank) -> Self {
        Self::raw(-1, destination.index() as i32)
    }

    /// Returns temporary `number` of a schedule: `[-2 - number, 0]`. Each rank has its own block of
    /// that name.
    ///
    /// A schedule also works for results of different lengths if a temporary that it sends to a
    /// rank with such a result is named by it: [`raw(-2, rank)`](Self::raw) is as long as the
    /// result of that rank.
    #[must_use]
    pub const fn temporary(number: u16) -> Self {
        Self::raw(-2 - number as i32, 0)
    }

    /// Returns the block with these two numbers.
    #[must_use]
    pub const fn raw(source: i32, destination: i32) -> Self {
        Self { source, destination, first: 0, count: 1, of: 1 }
    }

    /// Returns `count` chunks from index `first`, of this block cut into `of` chunks. `None` unless
    /// `1 <= count` and `first + count <= of`.
    #[must_use]
    pub fn chunks(self, first: u32, of: u32, count: u32) -> Option<Self> {
        let fits = count >= 1 && first.checked_add(count).is_some_and(|end| end <= of);
        fits.then_some(Self { first, count, of, ..self })
    }

    /// Returns the number of the source, negative if it is not a rank.
    #[must_use]
    pub const fn source(self) -> i32 {
        self.source
    }

    /// Returns the number of the destination, negative if it is not a rank.
    #[must_use]
    pub const fn destination(self) -> i32 {
        self.destination
    }

    /// Returns the index of the first chunk.
    #[must_use]
    pub const fn first(self) -> u32 {
        self.first
    }

    /// Returns the number of chunks.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// Returns the number of chunks that the whole block is cut into, or 1.
    #[must_use]
    pub const fn of(self) -> u32 {
        self.of
    }

    /// Returns the whole block.
    #[must_use]
    pub const fn whole(self) -> Self {
        Self::raw(self.source, self.destination)
    }

    /// Returns the chunks, one by one.
    pub(crate) fn units(self) -> impl DoubleEndedIterator<Item = Self> {
        (self.first..self.first + self.count).map(move |first| Self { first, count: 1, ..self })
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, first, count, of } = self;
        match (of, count) {
            (1, _) => write!(f, "[{source}, {destination}]"),
            (_, 1) => write!(f, "[{source}, {destination}, {first}, {of}]"),
            _ => write!(f, "[{source}, {destination}, {first}, {of}, {count}]"),
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_stay_inside_their_block() {
        let whole = Block::new(Rank::new(3), Rank::new(5));
        assert_eq!(whole.chunks(1, 4, 3).map(|b| b.to_string()).as_deref(), Some("[3, 5, 1, 4, 3]"));
        for (first, of, count) in [(0, 4, 0), (2, 4, 3), (4, 4, 1), (u32::MAX, u32::MAX, 1), (0, 0, 0)] {
            assert_eq!(whole.chunks(first, of, count), None);
        }
    }

    #[test]
    fn units_cover_the_chunks_in_order() {
        let some = Block::RESULT.chunks(2, 6, 3).unwrap();
        assert_eq!(some.units().map(Block::first).collect::<Vec<_>>(), [2, 3, 4]);
        assert!(some.units().all(|u| u.count() == 1 && u.of() == 6 && u.whole() == Block::RESULT));
    }
}
