//! Copies from one rank's runs to another's. Both name the same number of bytes, cut differently.

use std::ops::Range;

use smallvec::SmallVec;

use crate::plan::{Buffer, Piece, Run, tiles};
use crate::transport::bases::Bases;

impl Bases {
    /// Returns where a run begins.
    ///
    /// # Safety
    ///
    /// The run lies inside its buffer.
    #[inline]
    unsafe fn run(&self, run: &Run) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { self.at(run.buffer, run.offset as usize) }
    }

    /// Copies a short piece to `to`.
    ///
    /// # Safety
    ///
    /// The piece lies inside its buffer, and there is room for it at `to`, outside of the buffers.
    /// Until this returns no other thread writes the piece, or accesses the memory at `to`.
    #[inline]
    pub(super) unsafe fn read(&self, piece: &Piece, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { copy_few(self.at(piece.buffer, piece.offset), to, piece.bytes) }
    }

    /// Copies a short piece from `from` to its place.
    ///
    /// # Safety
    ///
    /// As for [`read`](Self::read), with source and destination exchanged.
    #[inline]
    pub(super) unsafe fn write(&self, piece: &Piece, from: *const u8) {
        // SAFETY: as the caller promises.
        unsafe { copy_few(from, self.at(piece.buffer, piece.offset), piece.bytes) }
    }
}

/// Longest single `memcpy`, so that others see a copying rank make progress.
const LONGEST: usize = 4 << 20;

/// Copies the bytes of `from`, runs of one rank's buffers, to `to`, runs of another's. Calls
/// `moving` each time about 4 MiB are copied and more may follow.
///
/// # Safety
///
/// Every run lies inside its buffer, both sides have the same number of bytes, and no `to` run is
/// in the input. Until this returns no other thread writes what is read, or reads or writes what is
/// written.
#[inline]
pub(super) unsafe fn copy(from: (&[Run], Bases), to: (&[Run], Bases), mut moving: impl FnMut()) {
    if let ([from_run], [to_run]) = (from.0, to.0)
        && from_run.count == 1
        && to_run.count == 1
        && from_run.len as usize <= LONGEST
    {
        // SAFETY: as below. There is one piece on each side, and both have the same length.
        unsafe {
            let (source, target) = (from.1.run(from_run), to.1.run(to_run));
            std::ptr::copy_nonoverlapping(source, target, from_run.len as usize);
        }
        return;
    }
    let mut since = 0;
    tiles([to.0, from.0], |rows| {
        let [target, source] = rows[0];
        // SAFETY: the runs lie inside their buffers, and pieces of both sides are equally long. The
        // receiver's buffers are exclusively its own, so the two do not overlap, and no other
        // thread accesses them (the caller's promise).
        let place = |[target, source]: &[Run; 2]| unsafe { (from.1.run(source), to.1.run(target)) };
        let places: SmallVec<[_; 8]> = rows.iter().map(place).collect();
        let strides = (source.stride as usize, target.stride as usize);
        let (len, count) = (source.len as usize, source.count as usize);
        let at_once = (LONGEST / len / rows.len()).max(1);
        for first in (0..count).step_by(at_once) {
            let some = first..count.min(first + at_once);
            since += len.min(LONGEST) * some.len() * rows.len();
            // SAFETY: as above.
            unsafe {
                match len {
                    1 => copy_pieces::<u8>(&places, strides, some),
                    2 => copy_pieces::<u16>(&places, strides, some),
                    4 => copy_pieces::<u32>(&places, strides, some),
                    8 => copy_pieces::<u64>(&places, strides, some),
                    16 => copy_pieces::<[u64; 2]>(&places, strides, some),
                    _ => each_piece(&places, strides, some, |(mut source, mut target)| {
                        let mut left = len;
                        while left > LONGEST {
                            std::ptr::copy_nonoverlapping(source, target, LONGEST);
                            (source, target, left) = (source.add(LONGEST), target.add(LONGEST), left - LONGEST);
                            moving();
                        }
                        std::ptr::copy_nonoverlapping(source, target, left);
                    }),
                }
            }
            if since > LONGEST {
                since = 0;
                moving();
            }
        }
    });
}

/// Copies pieces that have the length of a `T`.
///
/// # Safety
///
/// As for [`each_piece`], whose places have room for a `T`.
#[inline]
unsafe fn copy_pieces<T: Copy>(rows: &[(*mut u8, *mut u8)], strides: (usize, usize), some: Range<usize>) {
    let copy = |(source, target): (*mut u8, *mut u8)| {
        // SAFETY: as the caller promises.
        unsafe { target.cast::<T>().write_unaligned(source.cast::<T>().read_unaligned()) };
    };
    // SAFETY: as the caller promises.
    unsafe { each_piece(rows, strides, some, copy) };
}

/// Calls `copy` with source and target of some pieces of rows: the first of each row, then the
/// second of each, and so on.
///
/// # Safety
///
/// Each row has these pieces, that many bytes apart, inside its buffers.
#[inline]
unsafe fn each_piece(
    rows: &[(*mut u8, *mut u8)],
    strides: (usize, usize),
    some: Range<usize>,
    mut copy: impl FnMut((*mut u8, *mut u8)),
) {
    for i in some {
        for (source, target) in rows {
            // SAFETY: as the caller promises.
            unsafe { copy((source.add(i * strides.0), target.add(i * strides.1))) };
        }
    }
}

/// Copies a piece of one rank's buffers to a piece of another's of the same length. Calls `moving`
/// between copies of at most 4 MiB.
///
/// # Safety
///
/// As for [`copy`].
#[inline]
pub(super) unsafe fn copy_piece(from: (&Piece, Bases), to: (&Piece, Bases), mut moving: impl FnMut()) {
    // SAFETY: both pieces begin inside their buffers, or at their ends.
    let (mut source, mut target) =
        unsafe { (from.1.at(from.0.buffer, from.0.offset), to.1.at(to.0.buffer, to.0.offset)) };
    let mut left = to.0.bytes;
    loop {
        let bytes = left.min(LONGEST);
        // SAFETY: this many bytes are left on both sides, inside the buffers. The receiver's
        // buffers are exclusively its own.
        unsafe {
            std::ptr::copy_nonoverlapping(source, target, bytes);
            (source, target) = (source.add(bytes), target.add(bytes));
        }
        left -= bytes;
        if left == 0 {
            return;
        }
        moving();
    }
}

/// Copies like `memcpy`, for lengths at which the call of `memcpy` takes longer than the copy.
///
/// # Safety
///
/// As for `memcpy`.
#[inline]
unsafe fn copy_few(from: *const u8, to: *mut u8, bytes: usize) {
    /// Copies the first bytes and the last, which may overlap.
    #[inline]
    unsafe fn ends<T>(from: *const u8, to: *mut u8, bytes: usize) {
        let last = bytes - size_of::<T>();
        // SAFETY: there are at least as many bytes as a `T` has, and at most twice as many.
        unsafe {
            let ends = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
            to.cast::<T>().write_unaligned(ends.0);
            to.add(last).cast::<T>().write_unaligned(ends.1);
        }
    }
    // SAFETY: as the caller promises.
    unsafe {
        match bytes {
            4..8 => ends::<u32>(from, to, bytes),
            8..=16 => ends::<u64>(from, to, bytes),
            17..=32 => ends::<[u64; 2]>(from, to, bytes),
            _ => std::ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// Copies the bytes of `from` to `bytes` contiguous bytes at `to`.
///
/// # Safety
///
/// As for [`copy`], and the runs have `bytes` bytes.
#[inline]
pub(super) unsafe fn gather(from: (&[Run], Bases), to: *mut u8, bytes: u64) {
    if let [run] = from.0
        && run.count == 1
    {
        // SAFETY: there is one piece on each side, and both have the same length.
        unsafe { std::ptr::copy_nonoverlapping(from.1.run(run), to, run.len as usize) };
    } else if bytes > 0 {
        let whole = [Run::new(Buffer::Scratch, 0, bytes)];
        // SAFETY: as the caller promises.
        unsafe { copy(from, (&whole, Bases { scratch: to, ..from.1 }), || ()) };
    }
}

/// Copies `bytes` contiguous bytes at `from` to the runs of `to`.
///
/// # Safety
///
/// As for [`copy`], and the runs have `bytes` bytes.
#[inline]
pub(super) unsafe fn scatter(from: *const u8, bytes: u64, to: (&[Run], Bases)) {
    if let [run] = to.0
        && run.count == 1
    {
        // SAFETY: there is one piece on each side, and both have the same length.
        unsafe { std::ptr::copy_nonoverlapping(from, to.1.run(run), run.len as usize) };
    } else if bytes > 0 {
        let whole = [Run::new(Buffer::Input, 0, bytes)];
        // SAFETY: as the caller promises.
        unsafe { copy((&whole, Bases { input: from, ..to.1 }), to, || ()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bases(input: &[u8], output: &mut [u8]) -> Bases {
        Bases { input: input.as_ptr(), output: output.as_mut_ptr(), scratch: std::ptr::null_mut() }
    }

    fn strided(buffer: Buffer, offset: u64, len: u64, stride: u64, count: u64) -> Run {
        Run { buffer, offset, len, stride, count }
    }

    #[test]
    fn copy_between_differently_cut_runs_keeps_the_bytes() {
        let input: Vec<u8> = (0..24).collect();
        let (mut none, mut output) = ([0; 0], vec![99; 16]);
        let from =
            [strided(Buffer::Input, 0, 3, 5, 3), strided(Buffer::Input, 4, 0, 9, 2), Run::new(Buffer::Input, 20, 1)];
        let to =
            [strided(Buffer::Output, 1, 2, 4, 4), strided(Buffer::Output, 0, 1, 1, 1), Run::new(Buffer::Output, 4, 1)];
        // SAFETY: ten bytes on both sides, inside the buffers, of which the second is this
        // test's only.
        unsafe { copy((&from, bases(&input, &mut none)), (&to, bases(&[], &mut output)), || ()) };
        assert_eq!(output, [12, 0, 1, 99, 20, 2, 5, 99, 99, 6, 7, 99, 99, 10, 11, 99]);
    }

    #[test]
    fn long_copy_reports_progress() {
        let input = vec![1; 2 * LONGEST + 1];
        let (mut none, mut output, mut moves) = ([0; 0], vec![0; input.len()], 0);
        let run = |buffer| [Run::new(buffer, 0, input.len() as u64)];
        let (from, to) = (run(Buffer::Input), run(Buffer::Output));
        // SAFETY: as many bytes on both sides, all of the buffers, of which the second is this
        // test's only.
        unsafe { copy((&from, bases(&input, &mut none)), (&to, bases(&[], &mut output)), || moves += 1) };
        assert_eq!((output == input, moves), (true, 2));
    }
}
