//! The unit that schedules move.

mod volume;

pub use volume::Volume;

use std::fmt;

use crate::ids::Rank;

/// What one source owes one destination, or some consecutive chunks of it.
///
/// A block is written `[source, destination]`, or `[source, destination, first, of, count]` for
/// `count` chunks from number `first` on, of the `of` equal parts that the block is cut into. The
/// source is -1 where everybody contributes, the destination -1 where everybody shall have it;
/// numbers below -1 name temporaries of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    source: i32,
    destination: i32,
    first: u32,
    count: u32,
    of: u32,
}

impl Block {
    /// What all contribute to and all shall have: `[-1, -1]`.
    pub const RESULT: Self = Self::raw(-1, -1);

    /// From one rank to one rank.
    #[must_use]
    pub const fn new(source: Rank, destination: Rank) -> Self {
        Self::raw(source.index() as i32, destination.index() as i32)
    }

    /// From one rank to everybody: `[source, -1]`.
    #[must_use]
    pub const fn from(source: Rank) -> Self {
        Self::raw(source.index() as i32, -1)
    }

    /// From everybody to one rank: `[-1, destination]`.
    #[must_use]
    pub const fn result(destination: Rank) -> Self {
        Self::raw(-1, destination.index() as i32)
    }

    /// The `number`-th temporary of a schedule: `[-2 - number, 0]`. Each rank has its own under
    /// that name.
    #[must_use]
    pub const fn temporary(number: u16) -> Self {
        Self::raw(-2 - number as i32, 0)
    }

    /// By its two numbers.
    #[must_use]
    pub const fn raw(source: i32, destination: i32) -> Self {
        Self { source, destination, first: 0, count: 1, of: 1 }
    }

    /// `count` chunks from `first` on, where the whole is cut into `of`. `None` unless `1 <= count`
    /// and `first + count <= of`.
    #[must_use]
    pub fn chunks(self, first: u32, of: u32, count: u32) -> Option<Self> {
        let fits = count >= 1 && first.checked_add(count).is_some_and(|end| end <= of);
        fits.then_some(Self { first, count, of, ..self })
    }

    /// The source's number, negative where it is no rank.
    #[must_use]
    pub const fn source(self) -> i32 {
        self.source
    }

    /// The destination's number, negative where it is no rank.
    #[must_use]
    pub const fn destination(self) -> i32 {
        self.destination
    }

    /// The number of its first chunk.
    #[must_use]
    pub const fn first(self) -> u32 {
        self.first
    }

    /// How many chunks it is.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// How many chunks the whole is cut into; 1 if it is not.
    #[must_use]
    pub const fn of(self) -> u32 {
        self.of
    }

    /// The block that it is chunks of.
    #[must_use]
    pub const fn whole(self) -> Self {
        Self::raw(self.source, self.destination)
    }

    /// Its chunks, one by one.
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
