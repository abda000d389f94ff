//! Executes the stages of a transform, and the exchanges between them.

use std::ops::Range;

use necklace::Communicator;
use necklace::communicator::Redistribution;
use num_complex::Complex;
use rustfft::FftPlanner;

use crate::float::root;
use crate::layout::{Stage, Work};
use crate::lines::{Across, Lines, Shape, Space};
use crate::{Distribution, Error, FftError, Float};

/// The maximum number of messages that a rank sends in all portions of an exchange.
const MOST_MESSAGES: usize = 1 << 14;

/// The planned stages of a transform on one rank.
pub(crate) struct Pipeline<T: Float> {
    stages: Vec<Local<T>>,
    /// The exchange after each stage but the last.
    exchanges: Vec<Redistribution<Complex<T>>>,
    pub(crate) space: Space<T>,
}

/// A stage on one rank.
struct Local<T> {
    /// The lengths of the array when it arrives and when it leaves, forward.
    lengths: [usize; 2],
    steps: Vec<Step<T>>,
}

enum Step<T> {
    /// The transform of lines, and whether the factor is applied with it.
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
    /// Plans stages, one or more. Collective.
    #[track_caller]
    pub(crate) fn new(
        comm: &mut Communicator,
        stages: &[Stage],
        portion: usize,
        planner: &mut FftPlanner<T>,
    ) -> Result<Self, Error> {
        for part in stages.iter().flat_map(|stage| [&stage.entry, &stage.exit]) {
            FftError::check_memory(part, size_of::<Complex<T>>())?;
        }
        let mut space = Space::new();
        let mut locals: Vec<Local<T>> =
            stages.iter().map(|stage| Local::new(stage, comm.rank(), planner, &mut space)).collect();
        // The factor is applied where each element is written for the last time, forward.
        let steps = locals.iter_mut().flat_map(|local| &mut local.steps).rev();
        let mut scales = steps.filter_map(|step| if let Step::Lines(_, scales) = step { Some(scales) } else { None });
        scales.next().into_iter().for_each(|scales| *scales = true);
        let mut exchanges = Vec::new();
        for (stage, next) in stages.iter().zip(&stages[1..]) {
            let (axis, portions) = (stage.along.unwrap_or(0), portions::<T>(stage, portion, comm.size()));
            exchanges.push(comm.redistribute_portions_init(&stage.exit, &next.entry, axis, portions)?);
        }
        Ok(Self { stages: locals, exchanges, space })
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
    ///
    /// `end` is called on the array, or on a portion of it, before the first stage, and after it on the
    /// way back.
    #[track_caller]
    pub(crate) fn run(
        &mut self,
        Run { inverse, factor }: Run<T>,
        route: &[usize],
        buffers: &mut [&mut [Complex<T>]; 4],
        mut end: impl FnMut(&mut [Complex<T>], Option<Range<usize>>, &mut Space<T>),
    ) -> Result<(), Error> {
        let Self { stages, exchanges, space } = self;
        let count = stages.len();
        let run = Run { inverse, factor };
        let mut work = |at: usize, data: &mut [Complex<T>], some: Option<Range<usize>>| {
            if at == 0 && !inverse {
                end(data, some.clone(), space);
            }
            stages[at].run(run, data, some.clone(), space);
            if at == 0 && inverse {
                end(data, some, space);
            }
        };
        if inverse {
            work(count - 1, buffers[route[0]], None);
        }
        for turn in 1..count {
            let at = if inverse { count - 1 - turn } else { turn - 1 };
            let (stage, next, exchange) = (&stages[at], &stages[at + 1], &mut exchanges[at]);
            let places = [route[turn - 1], route[turn]];
            let [from, to] = buffers.get_disjoint_mut(places).expect("an exchange between two buffers");
            for portion in 0..exchange.portions() {
                let some = (exchange.portions() > 1).then(|| exchange.portion(portion));
                if inverse {
                    let (from, into) = (&from[..next.lengths[0]], &mut to[..stage.lengths[1]]);
                    exchange.execute_back_portion(portion, from, into)?;
                    work(at, to, some);
                } else {
                    work(at, from, some);
                    let (from, into) = (&from[..stage.lengths[1]], &mut to[..next.lengths[0]]);
                    exchange.execute_portion(portion, from, into)?;
                }
            }
        }
        if !inverse {
            work(count - 1, buffers[route[count - 1]], None);
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
        let Stage { entry, exit, work, along } = stage;
        let mut extents = entry.local_shape(rank);
        let mut step = |work: &Work| match *work {
            Work::Lines { axis, modes } => {
                let across = along.filter(|&along| along != axis).map(|along| across(entry, &extents, axis, along));
                let lines = Lines::new(shape(entry, &extents, axis, modes), across, planner, space);
                extents[axis] = modes;
                Step::Lines(lines, false)
            }
            Work::Twiddle => Step::Twiddle(roots(entry, rank), entry.batch()),
        };
        let steps = work.iter().map(&mut step).collect();
        Self { lengths: [entry.local_len(rank), exit.local_len(rank)], steps }
    }

    /// Works on the array at the beginning of `data`, or on some indices of the axis along which it is
    /// sent in portions.
    fn run(
        &self,
        Run { inverse, factor }: Run<T>,
        data: &mut [Complex<T>],
        some: Option<Range<usize>>,
        space: &mut Space<T>,
    ) {
        let mut step = |step: &Step<T>| match step {
            Step::Lines(lines, scales) => {
                let factor = if *scales { factor } else { T::one() };
                lines.run(data, inverse, factor, some.clone(), space);
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

/// Returns another axis of a part, as seen from that of the lines.
pub(crate) fn across(distribution: &Distribution, extents: &[usize], axis: usize, along: usize) -> Across {
    let is_outer = along < axis;
    let product = |range: Range<usize>| extents[range].iter().product::<usize>();
    let (slices, each) = match is_outer {
        true => (product(0..along), product(along + 1..axis)),
        false => (product(axis + 1..along), product(along + 1..extents.len()) * distribution.batch()),
    };
    Across { is_outer, slices, extent: extents[along], each }
}

/// Returns in how many portions the array of a stage is worked on and sent. All ranks have the same
/// number, which the part of rank 0, the largest, decides.
fn portions<T>(stage: &Stage, portion: usize, ranks: usize) -> usize {
    let Stage { entry, exit, along, .. } = stage;
    let Some(along) = along.filter(|_| entry == exit) else { return 1 };
    let bytes = entry.local_len(0).saturating_mul(size_of::<Complex<T>>());
    let most = entry.local_shape(0)[along].min(MOST_MESSAGES / ranks).max(1);
    bytes.div_ceil(portion.max(1)).clamp(1, most)
}

/// Returns the root of unity of the product of the two indices for each index of a rank's part.
fn roots<T: Float>(matrix: &Distribution, rank: usize) -> Vec<Complex<T>> {
    let points = matrix.shape().iter().product();
    let indices = [0, 1].map(|axis| matrix.indices(rank, axis));
    let [rows, columns] = indices;
    rows.flat_map(|row| columns.clone().map(move |column| root(row as u128 * column as u128, points))).collect()
}
