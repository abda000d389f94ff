//! Executes the stages of a transform, and the exchanges between them.

use std::mem;
use std::ops::Range;

use necklace::Communicator;
use necklace::communicator::PortionedRedistribution;
use num_complex::Complex;
use rustfft::FftPlanner;

use crate::error::CallError;
use crate::float::root;
use crate::layout::{Stage, Work};
use crate::lines::{Across, Lines, PortionWork, Shape, Space};
use crate::{Distribution, FftError, Float};

/// The maximum number of messages that a rank sends in all portions of an exchange.
const MOST_MESSAGES: usize = 1 << 14;
/// The maximum number of portions of an exchange. A transform has up to four plans for each, and a
/// communicator remembers 1024 agreements on calls of a backend's library.
const MOST_PORTIONS: usize = 256;

/// The planned stages of a transform on one rank.
pub(crate) struct Pipeline<T: Float> {
    stages: Vec<Local<T>>,
    /// The exchange after each stage but the last.
    exchanges: Vec<PortionedRedistribution<Complex<T>>>,
    pub(crate) space: Space<T>,
    /// The memory of a portion, and of another one while that is under way if they overlap.
    memory: [Vec<Complex<T>>; 2],
    overlaps: bool,
}

/// How arrays are divided into portions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortionOptions {
    /// The size of each.
    pub(crate) bytes: usize,
    /// Whether one is transformed while another is moved.
    pub(crate) overlap: bool,
}

/// A stage on one rank.
struct Local<T> {
    /// The lengths of the array when it arrives and when it leaves, forward.
    lengths: [usize; 2],
    steps: Vec<Step<T>>,
    /// The last transform, if it leaves its lines contiguous, in another buffer.
    contiguous: Option<Lines<T>>,
    /// The extents before, along, and after the axis that is divided into portions.
    along: [usize; 3],
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

/// What is done with an array before the first stage, and after it on the way back.
pub(crate) type End<'a, T> = &'a mut dyn FnMut(&mut [Complex<T>], Option<Range<usize>>, &mut Space<T>);

impl<T: Float> Pipeline<T> {
    /// Plans stages, one or more. Collective.
    #[track_caller]
    pub(crate) fn new(
        comm: &mut Communicator,
        stages: &[Stage],
        divided: PortionOptions,
        planner: &mut FftPlanner<T>,
    ) -> Result<Self, CallError> {
        for part in stages.iter().flat_map(|stage| [&stage.entry, &stage.exit]) {
            FftError::check_memory(part, size_of::<Complex<T>>())?;
        }
        let mut space = Space::new();
        let mut locals: Vec<Local<T>> =
            stages.iter().map(|stage| Local::new(stage, comm.rank(), planner, &mut space)).collect();
        // The factor is applied where each element is written for the last time, forward: if the last lines
        // become contiguous, there.
        let ends_contiguous = locals.iter().any(|local| local.contiguous.is_some());
        let steps = locals.iter_mut().flat_map(|local| &mut local.steps).rev();
        let mut scales = steps.filter_map(|step| if let Step::Lines(_, scales) = step { Some(scales) } else { None });
        scales.next().into_iter().for_each(|scales| *scales = !ends_contiguous);
        let mut exchanges = Vec::new();
        for (stage, next) in stages.iter().zip(&stages[1..]) {
            let (axis, portions) = (stage.along.unwrap_or(0), portion_count::<T>(stage, divided.bytes, comm.size()));
            exchanges.push(comm.redistribute_portions_init(&stage.exit, &next.entry, axis, portions)?);
        }
        let needs_memory = |(stage, exchange): &(&Local<T>, &PortionedRedistribution<_>)| {
            exchange.portions() > 1 && (divided.overlap || !stage.has_contiguous_portions())
        };
        let apart = locals.iter().zip(&exchanges).filter(needs_memory);
        let lengths =
            apart.flat_map(|(_, exchange)| (0..exchange.portions()).map(|portion| exchange.portion_len(portion)));
        let longest = lengths.max().unwrap_or(0);
        let memory =
            [longest, if divided.overlap { longest } else { 0 }].map(|length| vec![Complex::default(); length]);
        Ok(Self { stages: locals, exchanges, space, memory, overlaps: divided.overlap })
    }

    /// Returns the lengths that the stages need in a direction, in the order of the execution: two, if
    /// the lines of a stage become contiguous.
    pub(crate) fn needs(&self, inverse: bool) -> Vec<usize> {
        let of_stage = |stage: &Local<T>| match (stage.lengths, &stage.contiguous) {
            ([before, after], Some(_)) => vec![before, after],
            ([before, after], None) => vec![before.max(after)],
        };
        let mut needs: Vec<usize> = self.stages.iter().flat_map(of_stage).collect();
        if inverse {
            needs.reverse();
        }
        needs
    }

    /// Returns the number of exchanges.
    pub(crate) fn exchanges(&self) -> usize {
        self.exchanges.len()
    }

    /// Returns the length of the array before the first stage or after the last one, forward.
    pub(crate) fn length(&self, after: bool) -> usize {
        match after {
            false => self.stages.first().map_or(0, |stage| stage.lengths[0]),
            true => self.stages.last().map_or(0, |stage| stage.lengths[1]),
        }
    }

    /// Fails all exchanges of this rank, on all ranks that take part in them.
    pub(crate) fn abort(&mut self, reason: &str) {
        self.exchanges.iter_mut().for_each(|exchange| exchange.communicator_mut().abort(reason));
    }

    /// Executes the stages. The array is at the beginning of the route's first buffer. Afterwards it
    /// is at the beginning of its last one. If an exchange fails, aborts all others, so that the ranks of
    /// those do not wait for this one.
    ///
    /// `end` is called on the array before the first stage, and after it on the way back. Or on a
    /// portion of it, with its indices: then the array itself is elsewhere.
    #[track_caller]
    pub(crate) fn run(
        &mut self,
        run: Run<T>,
        route: &[usize],
        buffers: &mut [&mut [Complex<T>]; 4],
        end: Option<End<'_, T>>,
    ) -> Result<(), CallError> {
        let done = self.run_stages(run, route, buffers, end);
        done.inspect_err(|error| self.abort(&format!("an exchange of the transform failed: {error}")))
    }

    #[track_caller]
    fn run_stages(
        &mut self,
        run: Run<T>,
        mut route: &[usize],
        buffers: &mut [&mut [Complex<T>]; 4],
        end: Option<End<'_, T>>,
    ) -> Result<(), CallError> {
        let Self { stages, exchanges, space, memory, overlaps } = self;
        let Some((last, others)) = stages.split_last() else { return Ok(()) };
        let [one, other] = memory;
        let mut worker = Worker { run, end, space, memory: [one, other], overlaps: *overlaps };
        if run.inverse {
            if last.contiguous.is_some() {
                worker.move_lines(last, pair(buffers, route, 0));
                route = &route[1..];
            }
            worker.work(last, others.is_empty(), buffers[route[0]], None);
        }
        for hop in 0..others.len() {
            let at = if run.inverse { others.len() - 1 - hop } else { hop };
            let [from, to] = pair(buffers, route, hop);
            let (array, next) = if run.inverse { (to, from) } else { (from, to) };
            let next = &mut next[..stages[at + 1].lengths[0]];
            worker.exchange(&stages[at], at == 0, &mut exchanges[at], array, next)?;
        }
        if !run.inverse {
            worker.work(last, others.is_empty(), buffers[route[others.len()]], None);
            if last.contiguous.is_some() {
                worker.move_lines(last, pair(buffers, route, others.len()));
            }
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

/// An execution of the stages.
struct Worker<'a, 'e, T: Float> {
    run: Run<T>,
    end: Option<End<'e, T>>,
    space: &'a mut Space<T>,
    memory: [&'a mut [Complex<T>]; 2],
    overlaps: bool,
}

impl<T: Float> Worker<'_, '_, T> {
    /// Executes a stage and the exchange after it, portion by portion; on the way back the exchange and
    /// then the stage. The array is in `array` at the stage, and in `next` on the other side of the
    /// exchange.
    #[track_caller]
    fn exchange(
        &mut self,
        stage: &Local<T>,
        is_first: bool,
        exchange: &mut PortionedRedistribution<Complex<T>>,
        array: &mut [Complex<T>],
        next: &mut [Complex<T>],
    ) -> Result<(), CallError> {
        let inverse = self.run.inverse;
        if exchange.portions() == 1 {
            let length = stage.lengths[1];
            if inverse {
                exchange.execute_back(0, next, &mut array[..length])?;
                self.work(stage, is_first, array, None);
            } else {
                self.work(stage, is_first, array, None);
                exchange.execute(0, &array[..length], next)?;
            }
            return Ok(());
        }
        let is_elsewhere = is_first && self.end.is_some();
        let [memory, other] = mem::take(&mut self.memory);
        if self.overlaps {
            let buffers = [&mut *memory, &mut *other];
            let work = |indices: Range<usize>, portion: &mut [Complex<T>]| {
                let whole = Some(&mut *array).filter(|_| !is_elsewhere);
                self.work(stage, is_first, portion, Some(PortionWork { indices, whole }));
            };
            match inverse {
                false => exchange.execute_overlapped(buffers, next, work)?,
                true => exchange.execute_back_overlapped(next, buffers, work)?,
            }
            self.memory = [memory, other];
            return Ok(());
        }
        for number in 0..exchange.portions() {
            let (indices, length) = (exchange.positions(number), exchange.portion_len(number));
            let (portion, whole) = match stage.slice(&indices) {
                Some(slice) => (&mut array[slice], None),
                None => (&mut memory[..length], Some(&mut *array).filter(|_| !is_elsewhere)),
            };
            if inverse {
                exchange.execute_back(number, next, portion)?;
                self.work(stage, is_first, portion, Some(PortionWork { indices, whole }));
            } else {
                self.work(stage, is_first, portion, Some(PortionWork { indices, whole }));
                exchange.execute(number, portion, next)?;
            }
        }
        self.memory = [memory, other];
        Ok(())
    }

    /// Executes a stage on an array or a portion of it. Before the first one, or after it on the way
    /// back, comes the end.
    fn work(
        &mut self,
        stage: &Local<T>,
        is_first: bool,
        data: &mut [Complex<T>],
        portion: Option<PortionWork<'_, Complex<T>>>,
    ) {
        let Self { run, end, space, .. } = self;
        let mut end = end.as_mut().filter(|_| is_first);
        let some = portion.as_ref().map(|portion| portion.indices.clone());
        if let Some(end) = end.as_mut().filter(|_| !run.inverse) {
            end(data, some.clone(), space);
        }
        stage.run(*run, data, portion, space);
        if let Some(end) = end.filter(|_| run.inverse) {
            end(data, some, space);
        }
    }

    /// Executes the transform whose lines become contiguous, from one buffer to another.
    fn move_lines(&mut self, stage: &Local<T>, [from, to]: [&mut [Complex<T>]; 2]) {
        if let Some(lines) = &stage.contiguous {
            lines.run_contiguous(from, to, self.run.inverse, self.run.factor, self.space);
        }
    }
}

impl<T: Float> Local<T> {
    fn new(stage: &Stage, rank: usize, planner: &mut FftPlanner<T>, space: &mut Space<T>) -> Self {
        let Stage { entry, exit, work, along, .. } = stage;
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
        let mut steps: Vec<Step<T>> = work.iter().map(&mut step).collect();
        let last = if stage.ends_contiguous { steps.pop() } else { None };
        let contiguous = last.and_then(|step| if let Step::Lines(lines, _) = step { Some(lines) } else { None });
        let Shape { outer, length, inner, .. } = shape(exit, &extents, along.unwrap_or(0), 0);
        Self {
            lengths: [entry.local_len(rank), exit.local_len(rank)],
            steps,
            contiguous,
            along: [outer, length, inner],
        }
    }

    /// Returns whether portions are contiguous in the whole array.
    fn has_contiguous_portions(&self) -> bool {
        self.along[0] == 1
    }

    /// Returns the place of a portion in the whole array, if it is contiguous there.
    fn slice(&self, indices: &Range<usize>) -> Option<Range<usize>> {
        let inner = self.along[2];
        self.has_contiguous_portions().then(|| indices.start * inner..indices.end * inner)
    }

    /// Calls the function for each contiguous piece of a portion, at these indices of its axis, and for
    /// its place in the whole array.
    fn copy(
        &self,
        indices: &Range<usize>,
        portion: &mut [Complex<T>],
        mut copy: impl FnMut(&mut [Complex<T>], Range<usize>),
    ) {
        let [outer, extent, inner] = self.along;
        let each = indices.len() * inner;
        for (at, piece) in portion.chunks_exact_mut(each.max(1)).take(outer).enumerate() {
            let first = (at * extent + indices.start) * inner;
            copy(piece, first..first + each);
        }
    }

    /// Works on the array at the beginning of `data`: the whole one, or a portion along the axis along
    /// which it is sent in portions. With the whole one beside, the portion is taken from there, or put
    /// back there.
    fn run(
        &self,
        Run { inverse, factor }: Run<T>,
        data: &mut [Complex<T>],
        mut portion: Option<PortionWork<'_, Complex<T>>>,
        space: &mut Space<T>,
    ) {
        let (mut forth, mut back) = (self.steps.iter(), self.steps.iter().rev());
        let steps: &mut dyn Iterator<Item = &Step<T>> = if inverse { &mut back } else { &mut forth };
        let reaches = matches!(self.steps.first(), Some(Step::Lines(lines, _)) if lines.reaches_whole());
        if let Some(PortionWork { indices, whole: Some(whole) }) = portion.as_ref().filter(|_| !inverse && !reaches) {
            self.copy(indices, data, |piece, place| piece.copy_from_slice(&whole[place]));
        }
        for (at, step) in steps.enumerate() {
            let is_first = at == if inverse { self.steps.len() - 1 } else { 0 };
            let portion = portion.as_mut().map(|PortionWork { indices, whole }| PortionWork {
                indices: indices.clone(),
                whole: whole.as_deref_mut().filter(|_| is_first && reaches),
            });
            match step {
                Step::Lines(lines, scales) => {
                    let factor = if *scales { factor } else { T::one() };
                    lines.run(data, inverse, factor, portion, space);
                }
                Step::Twiddle(roots, batch) => {
                    for (values, root) in data.chunks_mut(*batch).zip(roots) {
                        let root = if inverse { root.conj() } else { *root };
                        values.iter_mut().for_each(|value| *value = *value * root);
                    }
                }
            }
        }
        if let Some(PortionWork { indices, whole: Some(whole) }) = portion.filter(|_| inverse && !reaches) {
            self.copy(&indices, data, |piece, place| whole[place].copy_from_slice(piece));
        }
    }
}

/// Returns the buffers that an array is moved between, from one place of a route to the next.
fn pair<'a, C>(buffers: &'a mut [&mut [C]; 4], route: &[usize], at: usize) -> [&'a mut [C]; 2] {
    let [from, to] = buffers.get_disjoint_mut([route[at], route[at + 1]]).expect("a move between two buffers");
    [from, to]
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
fn portion_count<T>(stage: &Stage, portion: usize, ranks: usize) -> usize {
    let Stage { entry, exit, along, .. } = stage;
    let Some(along) = along.filter(|_| entry == exit) else { return 1 };
    let bytes = entry.local_len(0).saturating_mul(size_of::<Complex<T>>());
    let most = entry.local_shape(0)[along].min(MOST_MESSAGES / ranks).clamp(1, MOST_PORTIONS);
    bytes.div_ceil(portion.max(1)).clamp(1, most)
}

/// Returns the root of unity of the product of the two indices for each index of a rank's part.
fn roots<T: Float>(matrix: &Distribution, rank: usize) -> Vec<Complex<T>> {
    let points = matrix.shape().iter().product();
    let indices = [0, 1].map(|axis| matrix.indices(rank, axis));
    let [rows, columns] = indices;
    rows.flat_map(|row| columns.clone().map(move |column| root(row as u128 * column as u128, points))).collect()
}
