//! Copies from one rank's runs to another's. Both name the same number of bytes, cut differently.

use crate::plan::{Buffer, Piece, Run};
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
    let (mut from, mut to) = (PieceCursor::new(from.0, from.1), PieceCursor::new(to.0, to.1));
    let mut since = 0;
    // SAFETY: the runs lie inside their buffers, as the caller promises.
    while unsafe { from.refill() && to.refill() } {
        let bytes = from.left.min(to.left).min(LONGEST);
        // SAFETY: `bytes` are left in the current piece of both sides, each inside its buffer. The
        // receiver's buffers are exclusively its own, so the two do not overlap, and no other
        // thread accesses them (the caller's promise).
        unsafe {
            std::ptr::copy_nonoverlapping(from.at, to.at, bytes);
            from.advance(bytes);
            to.advance(bytes);
        }
        since += bytes;
        if since >= LONGEST {
            since = 0;
            moving();
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

/// Walks over the pieces of runs. Adjacent pieces of a run are taken as one.
struct PieceCursor<'a> {
    runs: std::slice::Iter<'a, Run>,
    bases: Bases,
    /// The next byte of the current piece.
    at: *mut u8,
    /// The number of bytes of the current piece that are left.
    left: usize,
    /// Of the current run: the length of a piece, the distance from the end of a piece to the start
    /// of the next, and how many more pieces there are.
    len: usize,
    gap: usize,
    more: u64,
}

impl<'a> PieceCursor<'a> {
    fn new(runs: &'a [Run], bases: Bases) -> Self {
        Self { runs: runs.iter(), bases, at: bases.output, left: 0, len: 0, gap: 0, more: 0 }
    }

    /// Goes to the next piece if the current one has no bytes left. Returns false at the end of the
    /// runs.
    ///
    /// # Safety
    ///
    /// Every run lies inside its buffer.
    #[inline]
    unsafe fn refill(&mut self) -> bool {
        while self.left == 0 {
            if self.more > 0 {
                self.more -= 1;
                self.left = self.len;
                // SAFETY: the run has one more piece, which starts inside its buffer.
                self.at = unsafe { self.at.add(self.gap) };
                continue;
            }
            let Some(run) = self.runs.next() else { return false };
            let pieces = if run.len == 0 { 0 } else { run.count };
            if pieces == 0 {
                continue;
            }
            // SAFETY: the run lies inside its buffer.
            self.at = unsafe { self.bases.run(run) };
            let whole = pieces == 1 || run.stride == run.len;
            self.left = if whole { run.bytes() } else { run.len } as usize;
            self.more = if whole { 0 } else { pieces - 1 };
            self.len = run.len as usize;
            self.gap = if whole { 0 } else { (run.stride - run.len) as usize };
        }
        true
    }

    /// Advances within the current piece.
    ///
    /// # Safety
    ///
    /// At least `bytes` bytes are left of the current piece.
    #[inline]
    unsafe fn advance(&mut self, bytes: usize) {
        // SAFETY: at most one past the end of the piece.
        self.at = unsafe { self.at.add(bytes) };
        self.left -= bytes;
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
