//! The indices of an axis that a rank has, and those that two ranks share, in closed form.

use std::ops::Range;

use smallvec::SmallVec;

use crate::plan::even_range;

/// Indices of an axis: blocks of `block` indices whose starts are `period` apart, the first at
/// `first`, as far as they lie from `begin` to below `end`. A range is one block, with a period that
/// is never reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexSet {
    first: usize,
    block: usize,
    period: usize,
    begin: usize,
    end: usize,
}

/// Indices that two ranks share: those from `start` on, by the count and the distance of each
/// dimension, the last fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) dimensions: SmallVec<[(usize, usize); 3]>,
}

impl IndexSet {
    pub(super) fn range(range: Range<usize>) -> Self {
        Self { first: range.start, block: range.len(), period: usize::MAX, begin: 0, end: range.end }
    }

    /// Deals the blocks of an axis of `extent` indices to `of` coordinates in turn, and returns the
    /// indices of one coordinate.
    pub(super) fn dealt(block: usize, coordinate: usize, of: usize, extent: usize) -> Self {
        let (first, period) = (block.saturating_mul(coordinate), block.saturating_mul(of));
        match () {
            () if of == 1 => Self::range(0..extent),
            () if first >= extent => Self::range(0..0),
            () if first.saturating_add(period) >= extent => Self::range(first..first.saturating_add(block).min(extent)),
            () => Self { first, block, period, begin: 0, end: extent },
        }
    }

    /// Returns the number of indices, of a set that is not cut off.
    pub(super) fn count(&self) -> usize {
        let span = self.end.saturating_sub(self.first);
        span / self.period * self.block + (span % self.period).min(self.block)
    }

    /// Returns the indices if they are consecutive.
    pub(super) fn as_range(&self) -> Option<Range<usize>> {
        (self.period == usize::MAX).then(|| self.first..self.first + self.block)
    }

    /// Returns the position of an index that it has.
    pub(super) fn position(&self, index: usize) -> usize {
        let from = index - self.first;
        from / self.period * self.block + from % self.period
    }

    /// Returns the index at a position, less than the count.
    pub(super) fn index(&self, position: usize) -> usize {
        self.first + position / self.block * self.period + position % self.block
    }

    /// Divides the indices into portions of whole blocks, as even as can be, and returns the positions
    /// of those of one. A range is divided anywhere.
    pub(super) fn portion(&self, portion: usize, portions: usize) -> Range<usize> {
        if self.as_range().is_some() {
            return even_range(self.block, portions, portion);
        }
        let count = self.count();
        let blocks = even_range(count.div_ceil(self.block), portions, portion);
        (blocks.start * self.block).min(count)..(blocks.end * self.block).min(count)
    }

    /// Returns the indices at the positions of a portion.
    pub(super) fn at(&self, positions: Range<usize>) -> Self {
        match self.as_range() {
            _ if positions.is_empty() => Self::range(0..0),
            Some(range) => Self::range(range.start + positions.start..range.start + positions.end),
            None => Self { begin: self.index(positions.start), end: self.index(positions.end - 1) + 1, ..*self },
        }
    }

    /// Returns the indices that two sets of an axis share. The list depends on nothing else, so
    /// both ranks have the same.
    pub(super) fn shared(&self, other: &Self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let (begin, end) = (self.begin.max(other.begin), self.end.min(other.end));
        if self.count() == 0 || other.count() == 0 || begin >= end {
            return pieces;
        }
        let (coarse, fine) = if self.period < other.period { (other, self) } else { (self, other) };
        let repeat = common_multiple(coarse.period, fine.period);
        // What lies between multiples of the common period repeats.
        let first = begin.div_ceil(repeat);
        let times = (end / repeat).saturating_sub(first);
        if times < 2 {
            coarse.within(fine, begin..end, &mut pieces);
            return pieces;
        }
        coarse.within(fine, first * repeat..(first + 1) * repeat, &mut pieces);
        pieces.iter_mut().for_each(|piece| piece.dimensions.insert(0, (times, repeat)));
        coarse.within(fine, begin..first * repeat, &mut pieces);
        coarse.within(fine, (first + times) * repeat..end, &mut pieces);
        pieces
    }

    /// Adds the indices in a window that `fine` shares with the blocks of this set.
    fn within(&self, fine: &Self, window: Range<usize>, pieces: &mut Vec<Piece>) {
        let skipped = window.start.saturating_sub(self.first) / self.period;
        let starts = (skipped..).map_while(|i: usize| self.first.checked_add(i.checked_mul(self.period)?));
        for start in starts.take_while(|&start| start < window.end) {
            let range = start.max(window.start)..start.saturating_add(self.block).min(window.end);
            if !range.is_empty() {
                fine.inside(range, pieces);
            }
        }
    }

    /// Adds the indices that lie in a range: the rest of a block, whole blocks, the beginning of a
    /// block.
    fn inside(&self, range: Range<usize>, pieces: &mut Vec<Piece>) {
        let end = range.end.min(self.end);
        let mut push = |start: usize, times: usize, length: usize| {
            pieces.push(Piece { start, dimensions: SmallVec::from_slice(&[(times, self.period), (length, 1)]) });
        };
        let behind = range.start.saturating_sub(self.first);
        let mut at = self.first + behind / self.period * self.period;
        if at < range.start {
            let rest = at.saturating_add(self.block).min(end);
            if rest > range.start {
                push(range.start, 1, rest - range.start);
            }
            at = at.saturating_add(self.period);
        }
        if let Some(last) = end.checked_sub(self.block).filter(|&last| at <= last) {
            let times = (last - at) / self.period + 1;
            push(at, times, self.block);
            at = at.saturating_add(times.saturating_mul(self.period));
        }
        if at < end {
            push(at, 1, end - at);
        }
    }
}

/// Returns the least common multiple, `usize::MAX` if that is exceeded.
fn common_multiple(a: usize, b: usize) -> usize {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).saturating_mul(b)
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;

    fn some((kind, block, coordinate, of): (bool, u8, u8, u8), extent: usize) -> IndexSet {
        let of = usize::from(of % 6) + 1;
        let coordinate = usize::from(coordinate) % of;
        if kind {
            return IndexSet::dealt(usize::from(block % 5) + 1, coordinate, of, extent);
        }
        let ends = [usize::from(block) % (extent + 1), coordinate * extent / of];
        IndexSet::range(ends[0].min(ends[1])..ends[0].max(ends[1]))
    }

    fn has(part: &IndexSet, index: usize) -> bool {
        (part.begin..part.end).contains(&index)
            && index.checked_sub(part.first).is_some_and(|from| from % part.period < part.block)
    }

    fn indices(piece: &Piece) -> Vec<usize> {
        let step = |all: Vec<usize>, &(count, distance): &(usize, usize)| {
            all.iter().flat_map(|&at| (0..count).map(move |i| at + i * distance)).collect()
        };
        piece.dimensions.iter().fold(vec![piece.start], step)
    }

    quickcheck! {
        fn sets_number_their_indices(kind: (bool, u8, u8, u8), extent: u8) -> bool {
            let extent = usize::from(extent);
            let part = some(kind, extent);
            let all: Vec<usize> = (0..extent).filter(|&index| has(&part, index)).collect();
            part.count() == all.len()
                && part.as_range().is_none_or(|range| range.eq(all.iter().copied()))
                && all.iter().enumerate().all(|(i, &index)| part.position(index) == i && part.index(i) == index)
        }

        fn portions_are_even_and_have_each_index_once(kind: (bool, u8, u8, u8), extent: u8, portions: u8) -> bool {
            let (extent, portions) = (usize::from(extent), usize::from(portions % 7) + 1);
            let part = some(kind, extent);
            let positions: Vec<Range<usize>> = (0..portions).map(|portion| part.portion(portion, portions)).collect();
            let blocks = |range: &Range<usize>| range.len().div_ceil(if part.as_range().is_some() { 1 } else { part.block });
            let (least, most) = (positions.iter().map(blocks).min(), positions.iter().map(blocks).max());
            let found = positions.iter().flat_map(|range| {
                let portion = part.at(range.clone());
                (0..extent).filter(move |&index| has(&portion, index))
            });
            found.eq((0..extent).filter(|&index| has(&part, index)))
                && positions.iter().all(|range| range.start <= range.end && range.end <= part.count())
                && most.unwrap() - least.unwrap() <= 1
        }

        fn shared_indices_are_those_of_both(
            a: (bool, u8, u8, u8),
            b: (bool, u8, u8, u8),
            extent: u8,
            portions: (u8, u8)
        ) -> bool {
            let extent = usize::from(extent);
            let (a, b) = (some(a, extent), some(b, extent));
            let of = usize::from(portions.0 % 5) + 1;
            let a = a.at(a.portion(usize::from(portions.1) % of, of));
            let mut found: Vec<usize> = a.shared(&b).iter().flat_map(indices).collect();
            found.sort_unstable();
            found.into_iter().eq((0..extent).filter(|&index| has(&a, index) && has(&b, index)))
        }
    }

    #[test]
    fn long_axes_share_few_pieces() {
        let extent = 1 << 40;
        let (cyclic, block) = (IndexSet::dealt(1, 3, 64, extent), IndexSet::range(1 << 30..1 << 31));
        assert_eq!(cyclic.shared(&block).len(), 1);
        let other = IndexSet::dealt(3, 5, 48, extent);
        assert!(cyclic.shared(&other).len() <= 12, "{:?}", cyclic.shared(&other));
        assert_eq!(IndexSet::dealt(usize::MAX / 2, 1, 3, usize::MAX / 2 + 9).count(), 9);
    }
}
