//! The division of an array at each stage of a transform.

use necklace::array::{ArrayError, Distribution, Split};
use necklace::topology::Grid;

/// The array between two exchanges, and the work of each rank on its part.
pub(crate) struct Stage {
    /// The array when it arrives.
    pub(crate) entry: Distribution,
    /// The array when it leaves. It has other extents if frequencies are left out.
    pub(crate) exit: Distribution,
    pub(crate) work: Vec<Work>,
    /// The axis that is divided here and whole at the next stage. The array can be transformed and sent
    /// in portions along it.
    pub(crate) along: Option<usize>,
    /// Whether the last work leaves its lines contiguous, in another order of memory.
    pub(crate) ends_contiguous: bool,
}

impl Stage {
    /// A stage that does not change the extents.
    pub(crate) fn on(distribution: Distribution, work: Vec<Work>) -> Self {
        Self { entry: distribution.clone(), exit: distribution, work, along: None, ends_contiguous: false }
    }

    /// A stage in which nothing is done.
    pub(crate) fn idle(distribution: Distribution) -> Self {
        Self::on(distribution, Vec::new())
    }
}

/// The work of a rank on its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Transforms the lines along an axis, which is whole.
    Lines { axis: usize, modes: usize },
    /// Multiplies each element by the root of unity of the product of its two indices.
    Twiddle,
}

/// A transform of an array of several axes, or of one whole axis, with the initial splits.
pub(crate) struct Layout<'a> {
    pub(crate) extents: Vec<usize>,
    /// The number of frequencies that are kept of each axis.
    pub(crate) modes: Vec<usize>,
    /// The transformed axes. The last one is transformed first.
    pub(crate) axes: Vec<usize>,
    pub(crate) grid: &'a Grid,
    pub(crate) splits: Vec<Split>,
    pub(crate) batch: usize,
}

impl Layout<'_> {
    /// Returns the distribution of an array.
    pub(crate) fn distribution(&self, extents: &[usize], splits: &[Split]) -> Result<Distribution, ArrayError> {
        Distribution::new(extents, self.grid, splits)?.batched(self.batch)
    }

    /// Returns the stages of the transform. Each transforms all whole axes that are left. Between two
    /// stages, the next axis becomes whole, and a finished one is divided in its place.
    ///
    /// With `natural`, further stages undo these exchanges. Otherwise, after an odd number of them, the
    /// last lines become contiguous: a transform in place has the array in another buffer then, and
    /// moves it back as it transforms these.
    pub(crate) fn stages(&self, natural: bool) -> Result<Vec<Stage>, ArrayError> {
        let (mut extents, mut splits, mut pending) = (self.extents.clone(), self.splits.clone(), self.axes.clone());
        let mut stages = Vec::new();
        let mut swaps = Vec::new();
        loop {
            let entry = self.distribution(&extents, &splits)?;
            let mut work = Vec::new();
            while let Some(&axis) = pending.last()
                && splits[axis] == Split::Whole
            {
                pending.pop();
                extents[axis] = self.modes[axis];
                work.push(Work::Lines { axis, modes: self.modes[axis] });
            }
            let next = pending.last().copied();
            stages.push(Stage {
                entry,
                exit: self.distribution(&extents, &splits)?,
                work,
                along: next,
                ends_contiguous: false,
            });
            let Some(next) = next else { break };
            // Of the axes after it, the first one leaves the longest rows.
            let done = |axis: &usize| splits[*axis] == Split::Whole && !pending.contains(axis);
            let given_up = (next + 1..extents.len()).find(done).or_else(|| (0..next).rev().find(done));
            let given_up = given_up.expect("an axis that is whole, and that has been transformed or is not to be");
            splits.swap(next, given_up);
            swaps.push((next, given_up));
        }
        if natural {
            for &(next, given_up) in swaps.iter().rev() {
                if let Some(stage) = stages.last_mut().filter(|stage| !stage.work.is_empty()) {
                    stage.along = Some(given_up);
                }
                splits.swap(next, given_up);
                stages.push(Stage::idle(self.distribution(&extents, &splits)?));
            }
        }
        let last_axis = extents.len() - 1;
        let order = |axis: usize| (0..=last_axis).filter(|&other| other != axis).chain([axis]).collect::<Vec<_>>();
        // The elements of a batch are innermost, so their lines cannot be contiguous.
        if !natural
            && self.batch == 1
            && swaps.len() % 2 == 1
            && let Some(stage) = stages.last_mut()
            && let Some(&Work::Lines { axis, .. }) = stage.work.last()
            && axis < last_axis
        {
            stage.exit = stage.exit.clone().in_order(&order(axis))?;
            stage.ends_contiguous = true;
        }
        Ok(stages)
    }
}
