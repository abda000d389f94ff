//! Plans and executions. An execution is a state machine that does a plan's local work and returns
//! its rounds.

use std::ops::Range;

use super::folds::{self, Fold};
use super::runs::{Place, side_by_side};
use super::{Buffer, Buffers, Program, Run};

/// One rank's share of a schedule as byte ranges, made once and executed many times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    program: Program,
    steps: Vec<Step>,
    locals: Vec<Local>,
    /// For each round, the first pieces of local work after it that a transport may do in the
    /// round.
    folds: Vec<Box<[Fold]>>,
}

/// A step of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The driver moves the program's round of this index.
    Round(usize),
    /// The execution does these pieces of local work.
    Local(Range<usize>),
}

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

    fn is_merge(&self) -> bool {
        matches!(self, Self::Merge { .. })
    }

    /// Returns the bytes on the heap.
    fn spilled(&self) -> usize {
        match self {
            Self::Copy { into, from } => into.heap_bytes() + from.heap_bytes(),
            Self::Merge { .. } => 0,
        }
    }
}

impl Plan {
    /// Makes a plan. `last_reads` says of each piece of local work whether it is the last to read
    /// its left and right operand.
    pub(super) fn new(program: Program, steps: Vec<Step>, locals: Vec<Local>, last_reads: &[[bool; 2]]) -> Self {
        let mut folds = vec![Box::default(); program.rounds().len()];
        for pair in steps.windows(2) {
            if let [Step::Round(round), Step::Local(range)] = pair {
                folds[*round] = folds::find(&program, *round, &locals[range.clone()], &last_reads[range.clone()]);
            }
        }
        Self { program, steps, locals, folds }
    }

    /// Returns the rounds.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the bytes that an execution copies within this rank. Blocks that are sent from the
    /// user's input, or received in the user's output, are not copied.
    #[must_use]
    pub fn copied(&self) -> u64 {
        let bytes = |local: &Local| match local {
            Local::Copy { into, .. } => into.iter().map(Run::bytes).sum(),
            Local::Merge { .. } => 0,
        };
        self.locals.iter().map(bytes).sum()
    }

    /// Returns the combinations that a transport may do in a round, by the round's index.
    #[inline]
    pub(crate) fn folds(&self, round: usize) -> &[Fold] {
        self.folds.get(round).map_or(&[], |folds| folds)
    }

    /// Returns whether the buffers are as long as the plan needs.
    #[inline]
    pub(crate) fn fits(&self, buffers: &Buffers<'_>) -> bool {
        self.program.sizes().fit(buffers)
    }

    /// Returns the bytes of memory that the plan takes, without its scratch buffer.
    #[must_use]
    pub(crate) fn footprint(&self) -> usize {
        let locals = self.locals.iter().map(|local| size_of::<Local>() + local.spilled()).sum::<usize>();
        let folds = self.folds.iter().map(|folds| size_of_val(folds) + size_of_val(&**folds)).sum::<usize>();
        self.program.footprint() + self.steps.len() * size_of::<Step>() + locals + folds
    }
}

/// The operation of a reduction, on bytes. Slices are whole elements, aligned as the buffers are.
pub trait Reduction: Sync {
    /// Stores `left` combined with `right` in `into`. All have the same length.
    fn merge(&self, into: &mut [u8], left: &[u8], right: &[u8]);

    /// Replaces `into` by `left` combined with `into`.
    fn prepend(&self, into: &mut [u8], left: &[u8]);

    /// Replaces `into` by `into` combined with `right`.
    fn append(&self, into: &mut [u8], right: &[u8]);

    /// Finishes results of that many contributions, when all are combined. Does nothing unless
    /// overridden.
    fn finish(&self, into: &mut [u8], contributions: usize) {
        let _ = (into, contributions);
    }

    /// Returns whether contributions may be combined in any order. `false` unless overridden.
    fn is_commutative(&self) -> bool {
        false
    }
}

/// An execution of a plan. [`advance`](Self::advance) does the local work that is due and returns
/// the next round, which the driver moves by a transport before it calls again. An execution does
/// no I/O.
#[derive(Clone, Debug)]
pub struct Execution<'p> {
    plan: &'p Plan,
    next: usize,
    /// How many pieces of the next local work the transport has done.
    done: usize,
}

impl<'p> Execution<'p> {
    /// Starts an execution.
    #[must_use]
    pub fn new(plan: &'p Plan) -> Self {
        Self { plan, next: 0, done: 0 }
    }

    /// Tells that the transport has done the [combinations](Plan::folds) of the round returned
    /// last.
    #[inline]
    pub(crate) fn combined(&mut self, folds: usize) {
        self.done = folds;
    }

    /// Does the local work after the last round, which must be done, and returns the index of the
    /// next round in the [program](Plan::program). Returns `None` at the end.
    ///
    /// The buffers must have the [sizes](Program::sizes) of the program; otherwise it does nothing
    /// and returns `None`. If the schedule combines contributions, a reduction is needed; without
    /// one nothing is combined.
    pub fn advance(&mut self, buffers: &mut Buffers<'_>, reduction: Option<&dyn Reduction>) -> Option<usize> {
        if !self.plan.fits(buffers) {
            return None;
        }
        loop {
            let step = self.plan.steps.get(self.next)?;
            self.next += 1;
            match step {
                Step::Round(index) => return Some(*index),
                Step::Local(range) => {
                    for local in self.plan.locals[range.clone()].iter().skip(std::mem::take(&mut self.done)) {
                        let done = work(local, buffers, reduction);
                        debug_assert!(done.is_some() || local.is_merge() && reduction.is_none(), "{local:?}");
                    }
                }
            }
        }
    }
}

/// Does one piece of local work. Returns `None` if it needs a reduction and there is none, or if a
/// run is out of bounds, which compiling excludes.
fn work(local: &Local, buffers: &mut Buffers<'_>, reduction: Option<&dyn Reduction>) -> Option<()> {
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
