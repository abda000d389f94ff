//! Executes the stages of a transform, and the exchanges between them.

use necklace::Communicator;
use necklace::communicator::Redistribution;
use num_complex::Complex;
use rustfft::FftPlanner;

use crate::float::root;
use crate::layout::{Stage, Work};
use crate::lines::{Lines, Shape, Space};
use crate::{Distribution, Error, Float};

/// The planned stages of a transform on one rank.
pub(crate) struct Pipeline<T: Float> {
    stages: Vec<Local<T>>,
    /// The exchange before each stage but the first: a plan, and whether it goes back.
    exchanges: Vec<(usize, bool)>,
    plans: Vec<Redistribution<Complex<T>>>,
    pub(crate) space: Space<T>,
}

/// A stage on one rank.
struct Local<T> {
    /// The lengths of the array when it arrives and when it leaves, forward.
    lengths: [usize; 2],
    steps: Vec<Step<T>>,
}

enum Step<T> {
    /// With whether the factor is applied here.
    Lines(Lines<T>, bool),
    /// A root of unity for each index, and the elements at each.
    Twiddle(Vec<Complex<T>>, usize),
}

/// The direction of an execution, and its factor.
#[derive(Clone, Copy)]
pub(crate) struct Run<T> {
    pub(crate) inverse: bool,
    pub(crate) factor: T,
}

impl<T: Float> Pipeline<T> {
    /// Plans stages. Collective.
    pub(crate) fn new(
        comm: &mut Communicator,
        stages: &[Stage],
        planner: &mut FftPlanner<T>,
    ) -> Result<Self, Error> {
        let mut space = Space::new();
        let mut locals: Vec<Local<T>> =
            stages.iter().map(|stage| Local::new(stage, comm.rank(), planner, &mut space)).collect();
        // The factor is applied where each element is written for the last time, forward.
        let steps = locals.iter_mut().flat_map(|local| &mut local.steps).rev();
        let mut scales = steps.filter_map(|step| if let Step::Lines(_, scales) = step { Some(scales) } else { None });
        scales.next().into_iter().for_each(|scales| *scales = true);
        let mut planned: Vec<[&Distribution; 2]> = Vec::new();
        let mut plans = Vec::new();
        let mut exchanges = Vec::new();
        for pair in stages.windows(2) {
            let [before, after] = [&pair[0].exit, &pair[1].entry];
            let known = planned.iter().position(|plan| *plan == [before, after] || *plan == [after, before]);
            let plan = match known {
                Some(plan) => plan,
                None => {
                    plans.push(comm.redistribute_init(before, after)?);
                    planned.push([before, after]);
                    plans.len() - 1
                }
            };
            exchanges.push((plan, planned[plan] != [before, after]));
        }
        Ok(Self { stages: locals, exchanges, plans, space })
    }

    /// Returns the lengths that the stages need in a direction, in the order of the execution.
    pub(crate) fn needs(&self, inverse: bool) -> Vec<usize> {
        let mut needs: Vec<usize> = self.stages.iter().map(|stage| stage.lengths[0].max(stage.lengths[1])).collect();
        if inverse {
            needs.reverse();
        }
        needs
    }

    /// Returns the length of the array before the first stage or after the last one, forward.
    pub(crate) fn length(&self, after: bool) -> usize {
        match after {
            false => self.stages.first().map_or(0, |stage| stage.lengths[0]),
            true => self.stages.last().map_or(0, |stage| stage.lengths[1]),
        }
    }

    /// Executes the stages. The array is at the beginning of the route's first buffer. Afterwards it
    /// is at the beginning of its last one.
    #[track_caller]
    pub(crate) fn run(
        &mut self,
        Run { inverse, factor }: Run<T>,
        route: &[usize],
        buffers: &mut [&mut [Complex<T>]; 4],
    ) -> Result<(), Error> {
        let Self { stages, exchanges, plans, space } = self;
        let count = stages.len();
        let [arrives, leaves] = if inverse { [1, 0] } else { [0, 1] };
        for turn in 0..count {
            let stage = &stages[if inverse { count - 1 - turn } else { turn }];
            if turn > 0 {
                let before = &stages[if inverse { count - turn } else { turn - 1 }];
                let (plan, back) = exchanges[if inverse { count - 1 - turn } else { turn - 1 }];
                let places = [route[turn - 1], route[turn]];
                let [from, to] = buffers.get_disjoint_mut(places).expect("an exchange between two buffers");
                let (from, to) = (&from[..before.lengths[leaves]], &mut to[..stage.lengths[arrives]]);
                match back != inverse {
                    false => plans[plan].execute(from, to)?,
                    true => plans[plan].execute_back(from, to)?,
                }
            }
            stage.run(Run { inverse, factor }, buffers[route[turn]], space);
        }
        Ok(())
    }

    /// Copies the array from one buffer to another, unless they are the same.
    pub(crate) fn copy(places: [usize; 2], length: usize, buffers: &mut [&mut [Complex<T>]; 4]) {
        if let Ok([from, to]) = buffers.get_disjoint_mut(places) {
            to[..length].copy_from_slice(&from[..length]);
        }
    }
}

impl<T: Float> Local<T> {
    fn new(stage: &Stage, rank: usize, planner: &mut FftPlanner<T>, space: &mut Space<T>) -> Self {
        let Stage { entry, exit, work } = stage;
        let mut extents = entry.local_shape(rank);
        let mut step = |work: &Work| match *work {
            Work::Lines { axis, modes } => {
                let lines = Lines::new(shape(entry, &extents, axis, modes), planner, space);
                extents[axis] = modes;
                Step::Lines(lines, false)
            }
            Work::Twiddle => Step::Twiddle(roots(entry, rank), entry.batch()),
        };
        let steps = work.iter().map(&mut step).collect();
        Self { lengths: [entry.local_len(rank), exit.local_len(rank)], steps }
    }

    fn run(&self, Run { inverse, factor }: Run<T>, data: &mut [Complex<T>], space: &mut Space<T>) {
        let mut step = |step: &Step<T>| match step {
            Step::Lines(lines, scales) => {
                lines.run(data, inverse, if *scales { factor } else { T::one() }, space);
            }
            Step::Twiddle(roots, batch) => {
                for (values, root) in data.chunks_mut(*batch).zip(roots) {
                    let root = if inverse { root.conj() } else { *root };
                    values.iter_mut().for_each(|value| *value = *value * root);
                }
            }
        };
        match inverse {
            false => self.steps.iter().for_each(&mut step),
            true => self.steps.iter().rev().for_each(&mut step),
        }
    }
}

/// Returns a part with these extents as seen along an axis. Parts lie in memory row by row.
pub(crate) fn shape(distribution: &Distribution, extents: &[usize], axis: usize, modes: usize) -> Shape {
    Shape {
        outer: extents[..axis].iter().product(),
        length: extents[axis],
        modes,
        inner: extents[axis + 1..].iter().product::<usize>() * distribution.batch(),
    }
}

/// Returns the root of unity of the product of the two indices for each index of a rank's part.
fn roots<T: Float>(matrix: &Distribution, rank: usize) -> Vec<Complex<T>> {
    let points = matrix.shape().iter().product();
    let indices = [0, 1].map(|axis| matrix.indices(rank, axis));
    let [rows, columns] = indices;
    rows.flat_map(|row| columns.clone().map(move |column| root(row as u128 * column as u128, points))).collect()
}
