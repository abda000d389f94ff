//! How an array is divided at each stage of a transform.

use necklace::array::{ArrayError, Distribution, Split};
use necklace::topology::Grid;

/// What the ranks have between two exchanges, and what each does with its part.
pub(crate) struct Stage {
    /// The array when it arrives.
    pub(crate) entry: Distribution,
    /// The array when it leaves. It has other extents if frequencies are left out.
    pub(crate) exit: Distribution,
    pub(crate) work: Vec<Work>,
}

impl Stage {
    /// A stage in which nothing is done.
    pub(crate) fn idle(distribution: Distribution) -> Self {
        Self { entry: distribution.clone(), exit: distribution, work: Vec::new() }
    }
}

/// What a rank does with its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Transforms the lines along an axis, which is whole.
    Lines { axis: usize, modes: usize },
    /// Multiplies each element by the root of unity of the product of its two indices.
    Twiddle,
}

/// An array of several axes, or of one that is whole: which axes are transformed, and where the
/// grid's axes are at first.
pub(crate) struct Layout<'a> {
    pub(crate) extents: Vec<usize>,
    /// The number of frequencies that are kept of each axis.
    pub(crate) modes: Vec<usize>,
    /// The axes that are transformed, the first one last.
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

    /// Returns the stages of the transform: at each, all axes that are whole are transformed. Between
    /// them, the axis that is next becomes whole in place of one that is done.
    ///
    /// In `natural` order the array goes back to where it came from.
    pub(crate) fn stages(&self, natural: bool) -> Result<Vec<Stage>, ArrayError> {
        let (mut extents, mut splits, mut pending) = (self.extents.clone(), self.splits.clone(), self.axes.clone());
        let mut stages = Vec::new();
        let mut passed = Vec::new();
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
            stages.push(Stage { entry, exit: self.distribution(&extents, &splits)?, work });
            let Some(&next) = pending.last() else { break };
            passed.push(splits.clone());
            // Of the axes after it, the first one leaves the longest rows.
            let done = |axis: &usize| splits[*axis] == Split::Whole && !pending.contains(axis);
            let after = (next + 1..extents.len()).find(done).or_else(|| (0..next).rev().find(done));
            splits.swap(next, after.expect("an axis that is whole, and that has been transformed or is not to be"));
        }
        if natural {
            for splits in passed.iter().rev() {
                stages.push(Stage::idle(self.distribution(&extents, splits)?));
            }
        }
        Ok(stages)
    }
}
