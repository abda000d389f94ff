//! The work of a rank between two rounds: copies and combinations within its buffers.

use std::ops::Range;

use super::reduction::Reduction;
use super::runs::{Place, side_by_side};
use super::{Buffer, Buffers, Run};

/// Work within the rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Local {
    /// Copies `from` to `into`, which has the same length and does not overlap it.
    Copy { into: Place, from: Place },
    /// Stores `left` combined with `right` in `into`. All are one piece of the same length. `into`
    /// equals `left` or `right`, or overlaps neither.
    Merge { into: Run, left: Run, right: Run },
}

impl Local {
    /// Returns both as one, if the second continues the first.
    pub(super) fn followed_by(&self, next: &Self) -> Option<Self> {
        let one = |a: &Run, b: &Run| {
            let meets = a.count == 1 && b.count == 1 && a.buffer == b.buffer && a.offset + a.len == b.offset;
            meets.then(|| Run::new(a.buffer, a.offset, a.len + b.len))
        };
        let place = |a: &Place, b: &Place| match (&a[..], &b[..]) {
            ([a], [b]) => one(a, b).map(Place::from),
            _ => None,
        };
        match (self, next) {
            (Self::Copy { into, from }, Self::Copy { into: next, from: after }) => {
                Some(Self::Copy { into: place(into, next)?, from: place(from, after)? })
            }
            (Self::Merge { into, left, right }, Self::Merge { into: next, left: first, right: second }) => {
                Some(Self::Merge { into: one(into, next)?, left: one(left, first)?, right: one(right, second)? })
            }
            _ => None,
        }
    }

    pub(super) fn is_merge(&self) -> bool {
        matches!(self, Self::Merge { .. })
    }

    /// Returns the bytes on the heap.
    pub(super) fn spilled(&self) -> usize {
        match self {
            Self::Copy { into, from } => into.heap_bytes() + from.heap_bytes(),
            Self::Merge { .. } => 0,
        }
    }
}

/// Does one piece of local work. Returns `None` if it needs a reduction and none is given, or if a
/// run is out of bounds, which compiling excludes.
pub(super) fn work(local: &Local, buffers: &mut Buffers<'_>, reduction: Option<&dyn Reduction>) -> Option<()> {
    match local {
        Local::Copy { into, from } => {
            // Most copies have one piece.
            if let ([into], [from]) = (&into[..], &from[..])
                && into.count == 1
                && from.count == 1
            {
                return copy(into, from, buffers);
            }
            side_by_side([into, from]).try_for_each(|[into, from]| copy(&into, &from, buffers))
        }
        Local::Merge { into, left, right } => merge(into, left, right, buffers, reduction?),
    }
}

/// Copies one piece.
#[inline]
fn copy(into: &Run, from: &Run, buffers: &mut Buffers<'_>) -> Option<()> {
    let Buffers { input, output, scratch } = buffers;
    let (to, from_range) = (range(into), range(from));
    let (target, source): (&mut [u8], &[u8]) = match (into.buffer, from.buffer) {
        (Buffer::Input, _) => return None,
        (Buffer::Output, Buffer::Input) => (output, input),
        (Buffer::Output, Buffer::Scratch) => (output, scratch),
        (Buffer::Scratch, Buffer::Input) => (scratch, input),
        (Buffer::Scratch, Buffer::Output) => (scratch, output),
        (Buffer::Output, Buffer::Output) => return copy_within(output, from_range, to),
        (Buffer::Scratch, Buffer::Scratch) => return copy_within(scratch, from_range, to),
    };
    target.get_mut(to)?.copy_from_slice(source.get(from_range)?);
    Some(())
}

fn copy_within(buffer: &mut [u8], from: Range<usize>, to: Range<usize>) -> Option<()> {
    let fits = from.end <= buffer.len() && to.end <= buffer.len();
    fits.then(|| buffer.copy_within(from, to.start))
}

/// Combines one piece.
fn merge(into: &Run, left: &Run, right: &Run, buffers: &mut Buffers<'_>, reduction: &dyn Reduction) -> Option<()> {
    let (target, output, scratch): (&mut [u8], &[u8], &[u8]) = match into.buffer {
        Buffer::Input => return None,
        Buffer::Output => (&mut *buffers.output, &[], &*buffers.scratch),
        Buffer::Scratch => (&mut *buffers.scratch, &*buffers.output, &[]),
    };
    let range_into = range(into);
    let (before, rest) = target.split_at_mut_checked(range_into.start)?;
    let (target, after) = rest.split_at_mut_checked(range_into.len())?;
    let source = |run: &Run| -> Option<&[u8]> {
        let at = range(run);
        match run.buffer {
            Buffer::Input => buffers.input.get(at),
            buffer if buffer == into.buffer && at.end <= range_into.start => before.get(at),
            buffer if buffer == into.buffer => {
                after.get(at.start.checked_sub(range_into.end)?..at.end.checked_sub(range_into.end)?)
            }
            Buffer::Output => output.get(at),
            Buffer::Scratch => scratch.get(at),
        }
    };
    if left == into {
        reduction.append(target, source(right)?);
    } else if right == into {
        reduction.prepend(target, source(left)?);
    } else {
        reduction.merge(target, source(left)?, source(right)?);
    }
    Some(())
}

fn range(run: &Run) -> Range<usize> {
    run.offset as usize..(run.offset + run.len) as usize
}
