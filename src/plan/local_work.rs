//! The work of a rank between two rounds: copies and combinations within its buffers.

use std::ops::Range;

use super::reduction::Reduction;
use super::runs::{Place, tiles};
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
        Local::Copy { into, from } => copy_runs(into, from, buffers),
        Local::Merge { into, left, right } => merge(into, left, right, buffers, reduction?),
    }
}

/// Copies runs to others of the same length in all, which do not overlap them. Returns `None` if one
/// is out of bounds.
pub(crate) fn copy_runs(into: &[Run], from: &[Run], buffers: &mut Buffers<'_>) -> Option<()> {
    // Most copies have one piece.
    if let ([into], [from]) = (into, from)
        && into.count == 1
        && from.count == 1
    {
        return copy_piece(into, from, buffers);
    }
    let mut done = Some(());
    tiles([into, from], |rows| {
        if done.is_some() {
            done = copy_rows(rows, buffers);
        }
    });
    done
}

/// Copies one piece.
#[inline]
fn copy_piece(into: &Run, from: &Run, buffers: &mut Buffers<'_>) -> Option<()> {
    match sides(into.buffer, from.buffer, buffers)? {
        Sides::Two(target, source) => target.get_mut(range(into))?.copy_from_slice(source.get(range(from))?),
        Sides::One(buffer) => copy_within(buffer, range(from), range(into))?,
    }
    Some(())
}

/// Copies rows, which differ only in their offsets: the first piece of each, then the second.
fn copy_rows(rows: &[[Run; 2]], buffers: &mut Buffers<'_>) -> Option<()> {
    let [into, from] = rows.first()?;
    match sides(into.buffer, from.buffer, buffers)? {
        // The usual lengths of an element are known to the compiler, so that no piece is a call.
        Sides::Two(target, source) => match into.len {
            1 => copy_pieces::<1>(rows, target, source),
            2 => copy_pieces::<2>(rows, target, source),
            4 => copy_pieces::<4>(rows, target, source),
            8 => copy_pieces::<8>(rows, target, source),
            16 => copy_pieces::<16>(rows, target, source),
            _ => each_piece(rows, |to, at| {
                target.get_mut(to..to + into.len as usize)?.copy_from_slice(source.get(at..at + into.len as usize)?);
                Some(())
            }),
        },
        Sides::One(buffer) => {
            each_piece(rows, |to, at| copy_within(buffer, at..at + into.len as usize, to..to + into.len as usize))
        }
    }
}

/// Copies pieces of a length that the compiler knows.
fn copy_pieces<const LEN: usize>(rows: &[[Run; 2]], target: &mut [u8], source: &[u8]) -> Option<()> {
    each_piece(rows, |to, at| {
        *target.get_mut(to..)?.first_chunk_mut::<LEN>()? = *source.get(at..)?.first_chunk::<LEN>()?;
        Some(())
    })
}

/// Calls `each` with the places of all pieces, in the order of the pieces of a row.
#[inline]
fn each_piece(rows: &[[Run; 2]], mut each: impl FnMut(usize, usize) -> Option<()>) -> Option<()> {
    let [into, from] = rows.first()?;
    for i in 0..into.count {
        for [to, at] in rows {
            each((to.offset + i * into.stride) as usize, (at.offset + i * from.stride) as usize)?;
        }
    }
    Some(())
}

/// The memory of a copy.
enum Sides<'a> {
    /// The target and the source.
    Two(&'a mut [u8], &'a [u8]),
    /// Both are in one buffer.
    One(&'a mut [u8]),
}

fn sides<'a>(into: Buffer, from: Buffer, buffers: &'a mut Buffers<'_>) -> Option<Sides<'a>> {
    let Buffers { input, output, scratch } = buffers;
    Some(match (into, from) {
        (Buffer::Input, _) => return None,
        (Buffer::Output, Buffer::Input) => Sides::Two(output, input),
        (Buffer::Output, Buffer::Scratch) => Sides::Two(output, scratch),
        (Buffer::Scratch, Buffer::Input) => Sides::Two(scratch, input),
        (Buffer::Scratch, Buffer::Output) => Sides::Two(scratch, output),
        (Buffer::Output, Buffer::Output) => Sides::One(output),
        (Buffer::Scratch, Buffer::Scratch) => Sides::One(scratch),
    })
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
