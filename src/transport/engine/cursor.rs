//! A position in the runs of a message.
#![allow(unsafe_code)]

use crate::plan::{Buffer, Run};
use crate::transport::bases::Bases;

/// A position in the runs of a message. It holds no pointer, so it may outlive the round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageCursor {
    run: usize,
    piece: u64,
    /// The offset within the piece.
    at: u64,
}

/// Returns the length, distance and number of a run's pieces. Adjacent pieces count as one.
fn pieces(run: &Run) -> (u64, u64, u64) {
    let whole = run.count == 1 || run.stride == run.len;
    if whole { (run.bytes(), 0, 1) } else { (run.len, run.stride, run.count) }
}

/// Returns whether the pieces of a message are so small that gathering them is cheaper than listing
/// them.
pub(crate) fn is_scattered(runs: &[Run], bytes: u64) -> bool {
    /// Measured: below this length, an entry in a list of pieces costs more than a copy.
    const SMALL: u64 = 512;
    runs.iter().map(|run| pieces(run).2).fold(0, u64::saturating_add) > 1 + bytes / SMALL
}

impl MessageCursor {
    /// Returns the address and the length of the rest of the current piece; `None` at the end.
    ///
    /// # Safety
    ///
    /// Every run must lie inside its buffer, which begins where `bases` says.
    #[inline]
    pub(crate) unsafe fn piece(&self, runs: &[Run], bases: &Bases) -> Option<(*mut u8, usize)> {
        let run = runs.get(self.run)?;
        let (len, stride, _) = pieces(run);
        let offset = run.offset + self.piece * stride + self.at;
        // SAFETY: the position is inside a piece of the run, and the run lies inside its buffer.
        Some((unsafe { bases.at(run.buffer, offset as usize) }, (len - self.at) as usize))
    }

    /// Advances within the current piece.
    #[inline]
    fn step(&mut self, runs: &[Run], bytes: usize) {
        let Some(run) = runs.get(self.run) else { return };
        let (len, _, count) = pieces(run);
        self.at += bytes as u64;
        if self.at == len {
            (self.piece, self.at) = (self.piece + 1, 0);
            if self.piece == count {
                (self.run, self.piece) = (self.run + 1, 0);
            }
        }
    }

    /// Fills `into` with the next pieces, of at most `limit` bytes in all, each converted by
    /// `slice`. Returns the number of pieces and of bytes.
    ///
    /// # Safety
    ///
    /// As for [`piece`](Self::piece). `slice` must be allowed to access the memory that it gets.
    pub(crate) unsafe fn slices<S>(
        mut self,
        (runs, bases): (&[Run], &Bases),
        limit: usize,
        into: &mut [S],
        slice: impl Fn(*mut u8, usize) -> S,
    ) -> (usize, usize) {
        let mut bytes = 0;
        for (i, into) in into.iter_mut().enumerate() {
            if bytes == limit {
                return (i, bytes);
            }
            // SAFETY: the caller promises it.
            let Some((from, len)) = (unsafe { self.piece(runs, bases) }) else { return (i, bytes) };
            let len = len.min(limit - bytes);
            *into = slice(from, len);
            self.step(runs, len);
            bytes += len;
        }
        (into.len(), bytes)
    }

    /// Advances by `bytes`, which must not exceed what is left.
    pub(crate) fn advance(&mut self, runs: &[Run], mut bytes: usize) {
        while bytes > 0 {
            let Some(run) = runs.get(self.run) else { return };
            let here = bytes.min((pieces(run).0 - self.at) as usize);
            self.step(runs, here);
            bytes -= here;
        }
    }

    /// Appends the next `bytes` bytes, or as many as are left, to `into`.
    ///
    /// # Safety
    ///
    /// As for [`piece`](Self::piece). Meanwhile nothing may write to this memory.
    pub(crate) unsafe fn take(&mut self, runs: &[Run], bases: &Bases, mut bytes: usize, into: &mut Vec<u8>) {
        // SAFETY: the caller promises it.
        while bytes > 0
            && let Some((from, len)) = unsafe { self.piece(runs, bases) }
        {
            let len = len.min(bytes);
            // SAFETY: the piece has at least `len` bytes.
            into.extend_from_slice(unsafe { std::slice::from_raw_parts(from, len) });
            self.step(runs, len);
            bytes -= len;
        }
    }

    /// Copies `from` to the next bytes of the runs, and ignores what exceeds them.
    ///
    /// # Safety
    ///
    /// As for [`piece`](Self::piece). No run may be in the input, and nothing else may access this
    /// memory.
    pub(crate) unsafe fn put(&mut self, runs: &[Run], bases: &Bases, mut from: &[u8]) {
        debug_assert!(runs.iter().all(|run| run.buffer != Buffer::Input));
        // SAFETY: the caller promises it.
        while !from.is_empty()
            && let Some((into, len)) = unsafe { self.piece(runs, bases) }
        {
            let (here, rest) = from.split_at(len.min(from.len()));
            // SAFETY: the piece has at least `here.len()` bytes, and `from` is another buffer.
            unsafe { std::ptr::copy_nonoverlapping(here.as_ptr(), into, here.len()) };
            self.step(runs, here.len());
            from = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_copied_in_parts_of_any_length() {
        let runs = [
            Run { buffer: Buffer::Output, offset: 1, len: 2, stride: 4, count: 3 },
            Run::new(Buffer::Output, 20, 5),
            Run { buffer: Buffer::Output, offset: 12, len: 2, stride: 2, count: 2 },
        ];
        let places: [usize; 15] = [1, 2, 5, 6, 9, 10, 20, 21, 22, 23, 24, 12, 13, 14, 15];
        for step in 1..=16 {
            let (mut from, mut to): (Vec<u8>, Vec<u8>) = ((0..30).collect(), vec![99; 30]);
            let bases = |output: &mut Vec<u8>| Bases {
                input: std::ptr::null(),
                output: output.as_mut_ptr(),
                scratch: std::ptr::null_mut(),
            };
            let (here, there) = (bases(&mut from), bases(&mut to));
            let (mut reading, mut writing, mut walking) =
                (MessageCursor::default(), MessageCursor::default(), MessageCursor::default());
            let mut named = Vec::new();
            for _ in 0..15_usize.div_ceil(step) {
                let mut part = Vec::new();
                let mut slices = [(0, 0); 2];
                // SAFETY: the runs lie inside 30 bytes, and the test owns both buffers.
                let (count, bytes) = unsafe {
                    reading.take(&runs, &here, step, &mut part);
                    writing.put(&runs, &there, &part);
                    walking
                        .slices((&runs, &here), step, &mut slices, |at, len| (at as usize - here.output as usize, len))
                };
                walking.advance(&runs, part.len());
                named.extend(slices[..count].iter().flat_map(|(at, len)| *at..at + len));
                assert!(bytes == part.len() || count == 2);
            }
            assert!(step > 2 || named == places);
            let expected: Vec<u8> = (0..30).map(|at| if places.contains(&at) { at as u8 } else { 99 }).collect();
            assert_eq!(to, expected);
        }
    }

    #[test]
    fn only_many_short_pieces_are_scattered() {
        let strided = |len, count| Run { buffer: Buffer::Output, offset: 0, len, stride: 2 * len, count };
        assert!(
            !is_scattered(&[strided(1024, 8)], 8192) && !is_scattered(&[], 0) && !is_scattered(&[strided(4, 1)], 4)
        );
        assert!(
            is_scattered(&[strided(4, 1000)], 4000) && !is_scattered(&[Run { stride: 4, ..strided(4, 1000) }], 4000)
        );
    }
}
