//! Runs: strided pieces of a buffer, with functions that cut and merge them.

use std::ops::Deref;

use smallvec::{SmallVec, smallvec};

use super::Buffer;

/// A run: `count` pieces of `len` bytes, whose starts are `stride` bytes apart, the first at
/// `offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The buffer.
    pub buffer: Buffer,
    /// Offset of the first piece in bytes.
    pub offset: u64,
    /// Bytes of a piece.
    pub len: u64,
    /// Bytes from the start of one piece to the start of the next. Has no meaning if `count` is 1.
    pub stride: u64,
    /// Number of pieces.
    pub count: u64,
}

impl Run {
    /// Returns a run of one piece.
    #[must_use]
    pub const fn new(buffer: Buffer, offset: u64, len: u64) -> Self {
        Self { buffer, offset, len, stride: len, count: 1 }
    }

    /// Returns the bytes of all pieces together.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.len.saturating_mul(self.count)
    }

    /// Returns the offset and the length of each piece, in order.
    pub fn pieces(self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.count).map(move |i| (self.offset + i * self.stride, self.len))
    }

    /// Returns whether the run contains a byte. Pieces must not overlap.
    pub(super) fn has(&self, at: u64) -> bool {
        let Some(from) = at.checked_sub(self.offset) else { return false };
        if self.count < 2 {
            return self.count == 1 && from < self.len;
        }
        from.checked_div(self.stride).is_some_and(|piece| piece < self.count) && from % self.stride < self.len
    }

    /// Returns one past the last byte. `None` if the run is empty, its pieces overlap, or the end
    /// exceeds `u64`.
    pub(crate) fn end(&self) -> Option<u64> {
        if self.len == 0 || self.count > 1 && self.stride < self.len {
            return None;
        }
        let last = self.stride.checked_mul(self.count.checked_sub(1)?)?;
        self.len.checked_mul(self.count)?;
        self.offset.checked_add(last)?.checked_add(self.len)
    }
}

/// A run that is read or written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) run: Run,
    pub(super) write: bool,
}

/// The bytes of a block in memory: runs in order, in most plans a single one.
///
/// Dereferences to its runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(SmallVec<[Run; 1]>);

impl Place {
    /// Returns a place without runs: that of an empty block.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Returns the runs by value.
    pub(super) fn into_runs(self) -> SmallVec<[Run; 1]> {
        self.0
    }

    /// Returns the bytes that it takes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        if self.0.spilled() { self.0.capacity() * size_of::<Run>() } else { 0 }
    }
}

impl Deref for Place {
    type Target = [Run];

    #[inline]
    fn deref(&self) -> &[Run] {
        &self.0
    }
}

impl From<Run> for Place {
    fn from(run: Run) -> Self {
        Self(smallvec![run])
    }
}

impl From<Vec<Run>> for Place {
    fn from(runs: Vec<Run>) -> Self {
        Self(SmallVec::from_vec(runs))
    }
}

impl FromIterator<Run> for Place {
    fn from_iter<I: IntoIterator<Item = Run>>(runs: I) -> Self {
        Self(runs.into_iter().collect())
    }
}

impl Extend<Run> for Place {
    fn extend<I: IntoIterator<Item = Run>>(&mut self, runs: I) {
        self.0.extend(runs);
    }
}

impl<'a> IntoIterator for &'a Place {
    type Item = &'a Run;
    type IntoIter = std::slice::Iter<'a, Run>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Cuts a place into consecutive parts of the given lengths.
pub(super) fn cut(place: &[Run], lengths: impl IntoIterator<Item = u64>) -> Vec<Place> {
    let (mut runs, mut used) = (place.iter(), 0);
    let mut run = runs.next();
    let part = |mut wanted: u64| {
        let mut part = Place::new();
        while let Some(&whole) = run.filter(|_| wanted > 0) {
            let taken = wanted.min(whole.bytes() - used);
            part.extend(slice(whole, used, used + taken));
            (wanted, used) = (wanted - taken, used + taken);
            if used == whole.bytes() {
                (run, used) = (runs.next(), 0);
            }
        }
        part
    };
    lengths.into_iter().map(part).collect()
}

/// Returns the bytes `from..to` of the bytes of a run.
fn slice(run: Run, from: u64, to: u64) -> SmallVec<[Run; 1]> {
    if from >= to {
        return smallvec![];
    }
    if run.count == 1 {
        return smallvec![Run::new(run.buffer, run.offset + from, to - from)];
    }
    let mut parts = SmallVec::new();
    let mut at = from;
    while at < to {
        let (piece, skip) = (at / run.len, at % run.len);
        let whole = (to - at) / run.len;
        let start = run.offset + piece * run.stride + skip;
        if skip == 0 && whole > 0 {
            parts.push(normal(Run { offset: start, count: whole, ..run }));
            at += whole * run.len;
        } else {
            let len = (run.len - skip).min(to - at);
            parts.push(Run::new(run.buffer, start, len));
            at += len;
        }
    }
    parts
}

fn normal(run: Run) -> Run {
    if run.count == 1 { Run::new(run.buffer, run.offset, run.len) } else { run }
}

/// Merges runs, keeping the order of the bytes: first adjacent pieces into one piece, then pieces
/// of equal length at equal distances into one run.
pub(super) fn joined(runs: impl IntoIterator<Item = Run>) -> Vec<Run> {
    let mut pieces: Vec<Run> = Vec::new();
    for run in runs.into_iter().filter(|run| run.bytes() > 0) {
        match pieces.last_mut() {
            Some(last)
                if last.count == 1
                    && run.count == 1
                    && last.buffer == run.buffer
                    && last.offset + last.len == run.offset =>
            {
                *last = Run::new(last.buffer, last.offset, last.len + run.len);
            }
            _ => pieces.push(run),
        }
    }
    let mut strided: Vec<Run> = Vec::with_capacity(pieces.len().min(16));
    for run in pieces {
        match strided.last_mut().and_then(|last| continued(last, &run).map(|longer| (last, longer))) {
            Some((last, longer)) => *last = longer,
            None => strided.push(run),
        }
    }
    strided
}

/// Returns two runs as one, if the second continues the first.
fn continued(first: &Run, second: &Run) -> Option<Run> {
    if first.buffer != second.buffer || first.len != second.len {
        return None;
    }
    let distance = second.offset.checked_sub(first.offset)?;
    let stride = match (first.count, second.count) {
        (1, 1) => distance,
        (1, _) => second.stride,
        _ => first.stride,
    };
    let fits = stride >= first.len
        && first.count.checked_mul(stride) == Some(distance)
        && (second.count == 1 || second.stride == stride);
    fits.then_some(Run { stride, count: first.count + second.count, ..*first })
}

/// Returns the pieces of several places in parallel, up to the end of the shortest place: each item
/// is a run of equally many pieces of equal length in each of them.
pub(super) fn side_by_side<const N: usize>(places: [&[Run]; N]) -> impl Iterator<Item = [Run; N]> {
    let mut cursors = places.map(|runs| Cursor { runs, piece: 0, used: 0 });
    std::iter::from_fn(move || {
        let mut found = [Run::new(Buffer::Scratch, 0, 0); N];
        let mut len = u64::MAX;
        for (found, cursor) in found.iter_mut().zip(&mut cursors) {
            *found = cursor.rest()?;
            len = len.min(found.len);
        }
        let count = found.iter().map(|rest| if rest.len == len { rest.count } else { rest.len / len });
        let count = count.min().unwrap_or(0);
        for (found, cursor) in found.iter_mut().zip(&mut cursors) {
            let stride = if found.len == len && count > 1 { found.stride } else { len };
            cursor.advance(found.len, len, count);
            *found = Run { len, stride, count, ..*found };
        }
        Some(found)
    })
}

/// The longest piece that is copied as a part of a tile, in bytes: a cache line.
const SHORT: u64 = 64;

/// The maximum number of rows in a tile.
const ROWS: usize = 8;

/// Calls `each` with tiles of two places of equal length in parallel: up to eight rows of short
/// pieces, which differ only in their offsets, or one row of any pieces. A row is a run in each place.
///
/// To copy the first pieces of all rows of a tile, then the second ones and so on, uses whole cache
/// lines where the rows of one place are neighbours and the pieces of the other: where a matrix is
/// transposed.
pub(crate) fn tiles(places: [&[Run]; 2], mut each: impl FnMut(&[[Run; 2]])) {
    let mut rows = side_by_side(places);
    let mut next = rows.next();
    while let Some(first) = next {
        let mut tile = [first; ROWS];
        let mut filled = 1;
        let is_short = first[0].len <= SHORT && first[0].count > 1;
        let alike = |row: &[Run; 2]| (0..2).all(|i| Run { offset: first[i].offset, ..row[i] } == first[i]);
        next = rows.next();
        while let Some(row) = next.filter(|row| is_short && filled < ROWS && alike(row)) {
            tile[filled] = row;
            filled += 1;
            next = rows.next();
        }
        each(&tile[..filled]);
    }
}

/// A position in a place: a byte of a piece of the first run.
struct Cursor<'a> {
    runs: &'a [Run],
    piece: u64,
    used: u64,
}

impl Cursor<'_> {
    /// Returns the rest of the current run, or of its current piece if that has been begun.
    #[inline]
    fn rest(&mut self) -> Option<Run> {
        loop {
            let run = whole(self.runs.first()?);
            if self.piece < run.count && run.len > 0 {
                let (offset, left) = (run.offset + self.piece * run.stride, run.count - self.piece);
                return Some(match self.used {
                    0 => Run { offset, count: left, ..run },
                    used => Run::new(run.buffer, offset + used, run.len - used),
                });
            }
            (self.runs, self.piece) = (&self.runs[1..], 0);
        }
    }

    /// Advances by `count` pieces of `len` bytes, where pieces had `rest` bytes left.
    #[inline]
    fn advance(&mut self, rest: u64, len: u64, count: u64) {
        if rest == len {
            (self.piece, self.used) = (self.piece + count, 0);
        } else {
            self.used += len * count;
            if len * count == rest {
                (self.piece, self.used) = (self.piece + 1, 0);
            }
        }
    }
}

/// Returns a run whose adjacent pieces are one.
#[inline]
fn whole(run: &Run) -> Run {
    if run.count > 1 && run.stride == run.len { Run::new(run.buffer, run.offset, run.bytes()) } else { *run }
}

#[cfg(test)]
mod tests {
    use super::super::Buffer::{Input, Output, Scratch};
    use super::*;
    use quickcheck::quickcheck;

    fn bytes(runs: &[Run]) -> Vec<(super::super::Buffer, u64)> {
        runs.iter().flat_map(|r| r.pieces().flat_map(|(at, len)| (at..at + len).map(|b| (r.buffer, b)))).collect()
    }

    fn some_runs(seed: &[(u8, u8, u8, u8)]) -> Vec<Run> {
        let run = |&(offset, len, gap, count): &(u8, u8, u8, u8)| {
            let (len, gap) = (u64::from(len % 5), u64::from(gap % 4));
            let buffer = if offset % 2 == 0 { Input } else { Output };
            Run { buffer, offset: offset.into(), len, stride: len + gap, count: u64::from(count % 4) + 1 }
        };
        seed.iter().map(run).collect()
    }

    quickcheck! {
        fn joining_keeps_the_bytes_in_order(seed: Vec<(u8, u8, u8, u8)>) -> bool {
            let runs = some_runs(&seed);
            let fewer = joined(runs.clone());
            bytes(&fewer) == bytes(&runs) && fewer.len() <= runs.len()
        }

        fn cutting_keeps_the_bytes_in_order(seed: Vec<(u8, u8, u8, u8)>, lengths: Vec<u8>) -> bool {
            let place = some_runs(&seed);
            let all = bytes(&place);
            let mut rest = &all[..];
            cut(&place, lengths.iter().map(|&len| len.into())).iter().zip(&lengths).all(|(part, &len)| {
                let (wanted, after) = rest.split_at(rest.len().min(len.into()));
                rest = after;
                bytes(part) == wanted
            })
        }

        fn side_by_side_pairs_equal_positions(a: Vec<(u8, u8, u8, u8)>, b: Vec<(u8, u8, u8, u8)>) -> bool {
            let (a, b) = (some_runs(&a), some_runs(&b));
            let pairs: Vec<_> = bytes(&a).into_iter().zip(bytes(&b)).collect();
            let found = side_by_side([&a, &b]);
            let paired = found.flat_map(|[x, y]| bytes(&[x]).into_iter().zip(bytes(&[y]))).collect::<Vec<_>>();
            paired == pairs
        }

        fn tiles_are_rows_side_by_side(len: u8, extents: (u8, u8), gaps: (u8, u8), after: Vec<(u8, u8, u8, u8)>) -> bool {
            // A matrix that is transposed, and other runs.
            let (len, rows, columns) = (u64::from(len % 5) + 1, u64::from(extents.0 % 20), u64::from(extents.1 % 9));
            let (width, height) = (columns + u64::from(gaps.0 % 3), rows + u64::from(gaps.1 % 3));
            let column = |j| Run { buffer: Input, offset: j * len, len, stride: width * len, count: rows };
            let row = |j| Run::new(Output, j * height * len, rows * len);
            let [from, into] = [(0..columns).map(column).collect(), (0..columns).map(row).collect::<Vec<_>>()];
            let [from, into] = [from, into].map(|runs: Vec<Run>| [runs, some_runs(&after)].concat());
            let (mut all, mut alike) = (Vec::new(), true);
            tiles([&into, &from], |tile| {
                alike &= tile.len() <= ROWS;
                alike &= tile.iter().all(|row| (0..2).all(|i| Run { offset: tile[0][i].offset, ..row[i] } == tile[0][i]));
                all.extend_from_slice(tile);
            });
            alike && all == side_by_side([&into, &from]).collect::<Vec<_>>()
        }
    }

    #[test]
    fn adjacent_pieces_and_equal_distances_are_merged() {
        let column = (0..8).map(|row| Run::new(Input, row * 64 + 8, 8));
        assert_eq!(joined(column), [Run { buffer: Input, offset: 8, len: 8, stride: 64, count: 8 }]);
        let adjacent = (0..8).map(|i| Run::new(Scratch, i * 8, 8));
        assert_eq!(joined(adjacent), [Run::new(Scratch, 0, 64)]);
        let blocks = (0..4).flat_map(|row| [Run::new(Input, row * 32, 4), Run::new(Input, row * 32 + 4, 4)]);
        assert_eq!(joined(blocks), [Run { buffer: Input, offset: 0, len: 8, stride: 32, count: 4 }]);
    }
}
