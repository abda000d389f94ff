//! The rounds in which the hops of trees are taken, each after the one that it continues.

use std::cmp::Reverse;

use super::group::Step;

/// The last step to an address in the tree of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) step: Step,
    pub(super) part: usize,
    pub(super) to: usize,
    pub(super) from: usize,
}

/// Returns the hops over the busiest step of each round, added up.
pub(super) fn transmission(rounds: &[Vec<Hop>], steps: usize) -> usize {
    rounds.iter().map(|hops| loads(hops, steps).into_iter().max().unwrap_or(0)).sum()
}

/// Returns the number of hops over each step.
pub(super) fn loads(hops: &[Hop], steps: usize) -> Vec<usize> {
    let mut loads = vec![0; steps];
    hops.iter().for_each(|hop| loads[hop.step.index] += 1);
    loads
}

/// How many hops a round takes over a step.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// As many as are ready over each step that has any left, so that all carry the same, but not
    /// more than the busiest step has left for each round, rounded up.
    Alike,
    /// As many as the busiest step has left for each round, rounded down.
    Even,
    /// As many as are ready over each step that has any left. This may take fewer rounds.
    Eager,
}

/// Hops that wait for their rounds.
pub(super) struct Waiting<'a> {
    pub(super) hops: &'a [Hop],
    /// The hops that continue each one.
    pub(super) below: &'a [Vec<usize>],
    /// The most hops below each one, one after the other.
    pub(super) height: &'a [usize],
    pub(super) steps: usize,
}

impl Waiting<'_> {
    /// Divides hops among rounds, at the first pace at which the hops over the busiest step of each
    /// round add up to the least, or else at the best.
    pub(super) fn in_fewest_blocks(&self, roots: &[usize], rounds: usize) -> Vec<Vec<Hop>> {
        let least = (self.hops.len() - roots.len()).div_ceil(self.steps.max(1));
        let mut best: Option<(usize, Vec<Vec<Hop>>)> = None;
        for pace in [Pace::Alike, Pace::Even, Pace::Eager] {
            let found = self.in_rounds(roots.to_vec(), rounds, pace);
            let blocks = transmission(&found, self.steps);
            if best.as_ref().is_none_or(|(fewest, _)| blocks < *fewest) {
                best = Some((blocks, found));
            }
            if blocks <= least {
                break;
            }
        }
        best.map_or(vec![], |(_, rounds)| rounds)
    }

    /// Divides hops among rounds, each after the one that it continues.
    ///
    /// A round takes what later rounds could not: hops with as many below them as there are rounds
    /// left. It fills all steps up to the same number, which the pace decides, with the hops that
    /// have the most below them.
    fn in_rounds(&self, roots: Vec<usize>, rounds: usize, pace: Pace) -> Vec<Vec<Hop>> {
        let Self { hops, below, height, steps } = *self;
        let mut left = vec![0_usize; steps];
        below.iter().flatten().for_each(|&entry| left[hops[entry].step.index] += 1);
        let mut ready: Vec<Vec<usize>> = vec![vec![]; steps];
        let mut arrived = roots;
        let mut all = vec![];
        for round in 0..rounds.max(hops.len()) {
            for entry in std::mem::take(&mut arrived) {
                for &next in &below[entry] {
                    ready[hops[next].step.index].push(next);
                }
            }
            if left.iter().all(|left| *left == 0) {
                break;
            }
            let rest = rounds.saturating_sub(round).max(1);
            for waiting in &mut ready {
                waiting.sort_by_key(|&entry| Reverse((height[entry], Reverse(entry))));
            }
            let urgent = ready.iter().map(|waiting| waiting.iter().filter(|&&entry| height[entry] + 1 >= rest).count());
            let busiest = left.iter().copied().max().unwrap_or(0);
            let alike = ready.iter().zip(&left).filter(|(_, left)| **left > 0).map(|(waiting, _)| waiting.len()).min();
            let alike = alike.unwrap_or(0).max(1);
            let paced = match pace {
                Pace::Alike => alike.min(busiest.div_ceil(rest)),
                Pace::Even => (busiest / rest).max(1),
                Pace::Eager => alike,
            };
            let most = urgent.max().unwrap_or(0).max(paced);
            let mut taken = vec![];
            for (step, waiting) in ready.iter_mut().enumerate() {
                let count = most.min(waiting.len());
                left[step] -= count;
                arrived.extend(&waiting[..count]);
                taken.extend(waiting.drain(..count).map(|entry| hops[entry]));
            }
            all.push(taken);
        }
        all
    }
}
