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
    /// Returns the length of the array with all points.
    pub(crate) fn points(&self) -> usize {
        self.outer * self.length * self.inner
    }

    /// Calls the function for each group of at most `most` lines: with the outer position, the first
    /// inner one, and the number of lines. An array that grows is taken from its end, so that one
    /// buffer can have both.
    fn groups(&self, most: usize, grows: bool, mut group: impl FnMut(usize, usize, usize)) {
        let mut slice = |slice: usize| {
            for first in (0..self.inner).step_by(most) {
                group(slice, first, most.min(self.inner - first));
            }
        };
        match grows {
            true => (0..self.outer).rev().for_each(&mut slice),
            false => (0..self.outer).for_each(&mut slice),
        }
    }
}

/// Another axis, along which an array is divided into portions. Outer or inner positions, on its side
/// of the lines' axis, are an array of `slices` x `extent` x `each`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Across {
    pub(crate) is_outer: bool,
    pub(crate) slices: usize,
    pub(crate) extent: usize,
    pub(crate) each: usize,
}

impl Across {
    /// Returns a portion with this number of indices as an array of its own.
    pub(crate) fn portion(self, shape: Shape, indices: usize) -> Shape {
        let positions = self.slices * indices * self.each;
        match self.is_outer {
            true => Shape { outer: positions, ..shape },
            false => Shape { inner: positions, ..shape },
        }
    }

    /// Returns the position, on the side of this axis, of a position within the portion at some indices.
    pub(crate) fn position(self, within: usize, indices: &Range<usize>) -> usize {
        let (slice, rest) = (within / (indices.len() * self.each), within % (indices.len() * self.each));
        (slice * self.extent + indices.start) * self.each + rest
    }
}

/// A portion of an array.
pub(crate) struct PortionWork<'a, C> {
    /// The indices of the axis that is divided.
    pub(crate) indices: Range<usize>,
    /// The whole array, from which lines are taken, and to which the inverse returns them.
    pub(crate) whole: Option<&'a mut [C]>,
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
        let ways = [&forward, &inverse].into_iter();
        let scratch = ways.flat_map(|fft| [fft.get_inplace_scratch_len(), fft.get_outofplace_scratch_len()]).max();
        space.grow(width.min(shape.inner), length, scratch.unwrap_or(0));
        Self { shape, across, width, forward, inverse }
    }

    /// Whether it can take the lines of a portion from the whole array, and put them back there: they
    /// are gathered, and a group of lines lies together there too.
    pub(crate) fn reaches_whole(&self) -> bool {
        let Shape { length, modes, inner, .. } = self.shape;
        let is_together = |across: Across| across.is_outer || across.slices == 1;
        !(inner == 1 && modes == length) && self.across.is_some_and(is_together)
    }

    /// Transforms the lines of the array at the beginning of `data` and multiplies them by a factor.
    /// The array is the whole one, or a portion with a number of indices of the other axis.
    pub(crate) fn run(
        &self,
        data: &mut [Complex<T>],
        inverse: bool,
        factor: T,
        portion: Option<PortionWork<'_, Complex<T>>>,
        space: &mut Space<T>,
    ) {
        let mut portion = self.across.zip(portion);
        let shape = match &portion {
            Some((across, portion)) => across.portion(self.shape, portion.indices.len()),
            None => self.shape,
        };
        let Shape { length, modes, inner, .. } = shape;
        if shape.points() == 0 {
            return;
        }
        let fft = if inverse { &self.inverse } else { &self.forward };
        let Space { lines, scratch } = space;
        let is_apart = portion.as_ref().is_some_and(|(_, portion)| portion.whole.is_some());
        if inner == 1 && modes == length && !is_apart {
            let band = (BAND / size_of::<Complex<T>>() / length).max(1) * length;
            for band in data[..shape.points()].chunks_mut(band) {
                fft.process_with_scratch(band, scratch);
                if factor != T::one() {
                    band.iter_mut().for_each(|value| *value = value.scale(factor));
                }
            }
            return;
        }
        let pitch = pitch::<Complex<T>>(length);
        let rows = if inverse { [modes, length] } else { [length, modes] };
        shape.groups(self.width, rows[0] < rows[1], |outer, first, width| {
            let [from, to] = rows.map(|rows| outer * rows * inner + first);
            let mut whole = portion.as_mut().and_then(|(across, PortionWork { indices, whole })| {
                let whole = whole.as_deref_mut()?;
                let at = |is_outer, at| if across.is_outer == is_outer { across.position(at, indices) } else { at };
                Some(&mut whole[at(true, outer) * length * self.shape.inner + at(false, first)..])
            });
            let keeps_some = modes < length;
            match &whole {
                _ if inverse && keeps_some => {
                    for (column, line) in lines.chunks_exact_mut(pitch).take(width).enumerate() {
                        self.spread(&data[from + column..], &mut line[..length], inner);
                    }
                }
                Some(whole) if !inverse => gather(whole, lines, [length, width, self.shape.inner]),
                _ => gather(&data[from..], lines, [length, width, inner]),
            }
            for line in lines.chunks_exact_mut(pitch).take(width) {
                fft.process_with_scratch(&mut line[..length], scratch);
                if keeps_some && !inverse && factor != T::one() {
                    line.iter_mut().for_each(|value| *value = value.scale(factor));
                }
            }
            match &mut whole {
                _ if !inverse && keeps_some => {
                    for (column, line) in lines.chunks_exact(pitch).take(width).enumerate() {
                        self.keep(&line[..length], &mut data[to + column..], inner);
                    }
                }
                Some(whole) if inverse => scatter(lines, whole, [length, width, self.shape.inner], factor),
                _ => scatter(lines, &mut data[to..], [length, width, inner], factor),
            }
        });
    }

    /// Transforms the lines of one array into another, in which they are contiguous, in the same order,
    /// and multiplies them by a factor. The inverse brings them back from there. Uses the first array
    /// as memory.
    pub(crate) fn run_contiguous(
        &self,
        from: &mut [Complex<T>],
        to: &mut [Complex<T>],
        inverse: bool,
        factor: T,
        space: &mut Space<T>,
    ) {
        let Shape { length, modes, inner, .. } = self.shape;
        if self.shape.points() == 0 {
            return;
        }
        let fft = if inverse { &self.inverse } else { &self.forward };
        let Space { lines, scratch } = space;
        let pitch = pitch::<Complex<T>>(length);
        self.shape.groups(self.width, false, |outer, first, width| {
            let place = outer * length * inner + first;
            let group = (outer * inner + first) * modes..(outer * inner + first + width) * modes;
            if !inverse {
                gather(&from[place..], lines, [length, width, inner]);
            }
            let contiguous = if inverse { &mut from[group] } else { &mut to[group] };
            for (line, other) in lines.chunks_exact_mut(pitch).zip(contiguous.chunks_exact_mut(modes)) {
                let line = &mut line[..length];
                match (inverse, modes == length) {
                    (false, true) => fft.process_outofplace_with_scratch(line, other, scratch),
                    (true, true) => fft.process_outofplace_with_scratch(other, line, scratch),
                    (false, false) => {
                        fft.process_with_scratch(line, scratch);
                        self.keep(line, other, 1);
                    }
                    (true, false) => {
                        self.spread(other, line, 1);
                        fft.process_with_scratch(line, scratch);
                    }
                }
                if !inverse && factor != T::one() {
                    other.iter_mut().for_each(|value| *value = value.scale(factor));
                }
            }
            if inverse {
                scatter(lines, &mut to[place..], [length, width, inner], factor);
            }
        });
    }

    /// Takes the frequencies of a line that are kept, which are `distance` apart, with zeros for the
    /// others. The one at half of the extent stands for two, as long as there are more.
    fn spread(&self, from: &[Complex<T>], line: &mut [Complex<T>], distance: usize) {
        let Shape { length, modes, .. } = self.shape;
        let positive = modes.div_ceil(2);
        let kept = |row: usize| from[row * distance];
        line.fill(Complex::default());
        (0..positive).for_each(|row| line[row] = kept(row));
        (positive..modes).for_each(|row| line[length - modes + row] = kept(row));
        if modes.is_multiple_of(2) {
            let half = kept(positive).scale(nearest::<T>(0.5));
            line[positive] = half;
            line[length - positive] = half;
        }
    }

    /// The opposite of [`spread`](Self::spread).
    fn keep(&self, line: &[Complex<T>], to: &mut [Complex<T>], distance: usize) {
        let Shape { length, modes, .. } = self.shape;
        let positive = modes.div_ceil(2);
        (0..positive).for_each(|row| to[row * distance] = line[row]);
        (positive..modes).for_each(|row| to[row * distance] = line[length - modes + row]);
        if modes.is_multiple_of(2) {
            to[positive * distance] = line[positive] + line[length - positive];
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
