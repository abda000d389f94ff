//! Transforms of all lines along one axis of an array in memory.

use std::ops::Range;
use std::sync::Arc;

use num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use crate::Float;
use crate::float::nearest;

/// The least and the most lines that are gathered at once, if they are not contiguous: enough for
/// whole cache lines.
const WIDTH: [usize; 2] = [16, 64];
/// The size of the buffer for gathered lines in bytes, unless the least lines are longer. The lines
/// stay in the cache while they are transformed.
const GATHERED: usize = 1 << 20;
/// The number of points that are gathered at once of each line.
const TILE: usize = 4;
/// The bytes of contiguous lines that are transformed and then multiplied, while they are in the
/// cache.
const BAND: usize = 1 << 18;

/// An array seen along one of its axes: `outer` x `length` x `inner` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) outer: usize,
    /// The number of points of a line.
    pub(crate) length: usize,
    /// The number of frequencies that are kept.
    pub(crate) modes: usize,
    pub(crate) inner: usize,
}

impl Shape {
    /// Returns all lines.
    pub(crate) fn whole(&self) -> Window {
        Window { outer: 0..self.outer, inner: 0..self.inner }
    }

    /// Returns the length of the array with all points.
    pub(crate) fn points(&self) -> usize {
        self.outer * self.length * self.inner
    }

    /// Calls the function for each group of at most `most` lines of a window: the first line's place
    /// in the array of `rows[0]` rows before and of `rows[1]` after, and the number of lines. An array
    /// that grows is taken from its end, so that one buffer can have both.
    fn groups(&self, window: Window, most: usize, rows: [usize; 2], mut group: impl FnMut([usize; 2], usize)) {
        let Window { outer, inner } = window;
        let mut slice = |slice: usize| {
            for first in inner.clone().step_by(most) {
                let place = rows.map(|rows| slice * rows * self.inner + first);
                group(place, most.min(inner.end - first));
            }
        };
        match rows[0] < rows[1] {
            true => outer.rev().for_each(&mut slice),
            false => outer.for_each(&mut slice),
        }
    }
}

/// The lines at these outer and inner positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) outer: Range<usize>,
    pub(crate) inner: Range<usize>,
}

/// Another axis, along which some lines can be chosen. Outer or inner positions, on its side of the
/// lines' axis, are an array of `slices` x `extent` x `each`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Across {
    pub(crate) is_outer: bool,
    pub(crate) slices: usize,
    pub(crate) extent: usize,
    pub(crate) each: usize,
}

impl Across {
    /// Returns the windows of the lines at these indices of the axis.
    pub(crate) fn windows(self, shape: Shape, range: Range<usize>) -> impl Iterator<Item = Window> {
        let Self { is_outer, slices, extent, each } = self;
        (0..slices).map(move |slice| {
            let [start, end] = [range.start, range.end].map(|index| (slice * extent + index) * each);
            match is_outer {
                true => Window { outer: start..end, inner: 0..shape.inner },
                false => Window { outer: 0..shape.outer, inner: start..end },
            }
        })
    }
}

/// The memory that lines are gathered in, and that of rustfft.
pub(crate) struct Space<T> {
    pub(crate) lines: Vec<Complex<T>>,
    pub(crate) scratch: Vec<Complex<T>>,
}

impl<T: Float> Space<T> {
    pub(crate) fn new() -> Self {
        Self { lines: Vec::new(), scratch: Vec::new() }
    }

    /// Makes it as large as a number of gathered lines of a length and a scratch need.
    pub(crate) fn grow(&mut self, lines: usize, length: usize, scratch: usize) {
        let longer = |buffer: &mut Vec<Complex<T>>, length| buffer.resize(buffer.len().max(length), Complex::default());
        longer(&mut self.lines, lines * pitch::<Complex<T>>(length));
        longer(&mut self.scratch, scratch);
    }
}

/// Returns the distance of gathered lines: an odd number of cache lines, which keeps them from the
/// same places of a cache.
fn pitch<C>(length: usize) -> usize {
    let each = (64 / size_of::<C>()).max(1);
    (length.div_ceil(each) | 1) * each
}

/// The transforms of all lines along an axis, in place.
pub(crate) struct Lines<T> {
    shape: Shape,
    across: Option<Across>,
    /// The number of lines that are gathered at once.
    width: usize,
    forward: Arc<dyn Fft<T>>,
    inverse: Arc<dyn Fft<T>>,
}

impl<T: Float> Lines<T> {
    pub(crate) fn new(shape: Shape, across: Option<Across>, planner: &mut FftPlanner<T>, space: &mut Space<T>) -> Self {
        // A rank without lines plans none.
        let length = if shape.points() == 0 { 0 } else { shape.length };
        let (forward, inverse) = (planner.plan_fft_forward(length), planner.plan_fft_inverse(length));
        let fitting = GATHERED / size_of::<Complex<T>>() / pitch::<Complex<T>>(length);
        let width = fitting.clamp(WIDTH[0], WIDTH[1]);
        let gathered = if shape.inner == 1 && shape.modes == shape.length { 0 } else { width.min(shape.inner) };
        space.grow(gathered, length, forward.get_inplace_scratch_len().max(inverse.get_inplace_scratch_len()));
        Self { shape, across, width, forward, inverse }
    }

    /// Transforms the lines of the array at the beginning of `data` and multiplies them by a factor:
    /// all of them, or those at some indices of the other axis.
    pub(crate) fn run(
        &self,
        data: &mut [Complex<T>],
        inverse: bool,
        factor: T,
        some: Option<Range<usize>>,
        space: &mut Space<T>,
    ) {
        match self.across.zip(some) {
            Some((across, range)) => across
                .windows(self.shape, range)
                .for_each(|window| self.run_window(data, inverse, factor, window, space)),
            None => self.run_window(data, inverse, factor, self.shape.whole(), space),
        }
    }

    fn run_window(&self, data: &mut [Complex<T>], inverse: bool, factor: T, window: Window, space: &mut Space<T>) {
        let Shape { length, modes, inner, .. } = self.shape;
        if self.shape.points() == 0 || window.outer.is_empty() || window.inner.is_empty() {
            return;
        }
        let fft = if inverse { &self.inverse } else { &self.forward };
        let Space { lines, scratch } = space;
        if inner == 1 && modes == length {
            let band = (BAND / size_of::<Complex<T>>() / length).max(1) * length;
            for band in data[window.outer.start * length..window.outer.end * length].chunks_mut(band) {
                fft.process_with_scratch(band, scratch);
                if factor != T::one() {
                    band.iter_mut().for_each(|value| *value = value.scale(factor));
                }
            }
            return;
        }
        let pitch = pitch::<Complex<T>>(length);
        let rows = if inverse { [modes, length] } else { [length, modes] };
        self.shape.groups(window, self.width, rows, |[from, to], width| {
            match inverse {
                true => self.spread(&data[from..], lines, width),
                false => gather(&data[from..], lines, [length, width, inner]),
            }
            for line in lines.chunks_exact_mut(pitch).take(width) {
                fft.process_with_scratch(&mut line[..length], scratch);
            }
            match inverse {
                true => scatter(lines, &mut data[to..], [length, width, inner], factor),
                false => self.keep(lines, &mut data[to..], width, factor),
            }
        });
    }

    /// Gathers the frequencies that are kept, with zeros for the others. The one at half of the
    /// extent stands for two, as long as there are more.
    fn spread(&self, from: &[Complex<T>], lines: &mut [Complex<T>], width: usize) {
        let Shape { length, modes, inner, .. } = self.shape;
        if modes == length {
            return gather(from, lines, [length, width, inner]);
        }
        let (positive, pitch) = (modes.div_ceil(2), pitch::<Complex<T>>(length));
        for (column, line) in lines.chunks_exact_mut(pitch).take(width).enumerate() {
            let kept = |row: usize| from[row * inner + column];
            line[..length].fill(Complex::default());
            (0..positive).for_each(|row| line[row] = kept(row));
            (positive..modes).for_each(|row| line[length - modes + row] = kept(row));
            if modes.is_multiple_of(2) {
                let half = kept(positive).scale(nearest::<T>(0.5));
                line[positive] = half;
                line[length - positive] = half;
            }
        }
    }

    /// The opposite of [`spread`](Self::spread).
    fn keep(&self, lines: &[Complex<T>], to: &mut [Complex<T>], width: usize, factor: T) {
        let Shape { length, modes, inner, .. } = self.shape;
        if modes == length {
            return scatter(lines, to, [length, width, inner], factor);
        }
        let (positive, pitch) = (modes.div_ceil(2), pitch::<Complex<T>>(length));
        for (column, line) in lines.chunks_exact(pitch).take(width).enumerate() {
            let mut keep = |row: usize, value: Complex<T>| to[row * inner + column] = value.scale(factor);
            (0..positive).for_each(|row| keep(row, line[row]));
            (positive..modes).for_each(|row| keep(row, line[length - modes + row]));
            if modes.is_multiple_of(2) {
                keep(positive, line[positive] + line[length - positive]);
            }
        }
    }
}

/// Copies columns of rows that are `inner` apart into lines. The extents are those of a line, of
/// the group, and of a row.
fn gather<C: Copy>(from: &[C], lines: &mut [C], [length, width, inner]: [usize; 3]) {
    let pitch = pitch::<C>(length);
    let whole = length - length % TILE;
    for first in (0..whole).step_by(TILE) {
        let row = |row: usize| &from[(first + row) * inner..][..width];
        let rows: [&[C]; TILE] = [row(0), row(1), row(2), row(3)];
        for (column, line) in lines.chunks_exact_mut(pitch).take(width).enumerate() {
            let tile = &mut line[first..first + TILE];
            for (value, row) in tile.iter_mut().zip(rows) {
                *value = row[column];
            }
        }
    }
    for row in whole..length {
        let values = &from[row * inner..][..width];
        for (line, value) in lines.chunks_exact_mut(pitch).zip(values) {
            line[row] = *value;
        }
    }
}

/// The opposite of [`gather`], times a factor.
fn scatter<T: Float>(lines: &[Complex<T>], to: &mut [Complex<T>], [length, width, inner]: [usize; 3], factor: T) {
    let pitch = pitch::<Complex<T>>(length);
    for (row, values) in to.chunks_mut(inner).take(length).enumerate() {
        for (line, value) in lines.chunks_exact(pitch).zip(&mut values[..width]) {
            *value = line[row].scale(factor);
        }
    }
}
