//! Plans and executions. An execution is a state machine that does a plan's local work and returns
//! its rounds.

use std::ops::Range;

use super::folds::{self, Fold};
use super::local_work::{Local, work};
use super::reduction::Reduction;
use super::{Buffers, Program, Run};

/// One rank's share of a schedule as byte ranges, made once and executed many times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    program: Program,
    steps: Vec<PlanStep>,
    locals: Vec<Local>,
    /// For each round, the first pieces of local work after it that a transport may do in the
    /// round.
    folds: Vec<Box<[Fold]>>,
}

/// A step of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlanStep {
    /// The driver moves the program's round of this index.
    Round(usize),
    /// The execution does these pieces of local work.
    Local(Range<usize>),
}

impl Plan {
    /// Makes a plan. `last_reads` says of each piece of local work whether it is the last to read
    /// its left and right operand.
    pub(super) fn new(program: Program, steps: Vec<PlanStep>, locals: Vec<Local>, last_reads: &[[bool; 2]]) -> Self {
        let mut folds = vec![Box::default(); program.rounds().len()];
        for pair in steps.windows(2) {
            if let [PlanStep::Round(round), PlanStep::Local(range)] = pair {
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
        self.program.footprint() + self.steps.len() * size_of::<PlanStep>() + locals + folds
    }
}

/// An execution of a plan. [`advance`](Self::advance) does the local work that is due and returns
/// the next round, which the driver moves by a transport before it calls again. An execution does
/// no I/O.
#[derive(Clone, Debug)]
pub struct Execution<'p> {
    plan: &'p Plan,
    next: usize,
    /// The number of pieces of the next local work that the transport has done.
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
                PlanStep::Round(index) => return Some(*index),
                PlanStep::Local(range) => {
                    for local in self.plan.locals[range.clone()].iter().skip(std::mem::take(&mut self.done)) {
                        let done = work(local, buffers, reduction);
                        debug_assert!(done.is_some() || local.is_merge() && reduction.is_none(), "{local:?}");
                    }
                }
            }
        }
    }
}
