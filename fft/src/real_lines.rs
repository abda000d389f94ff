//! Transforms of all real lines along one axis of an array in memory.

use std::ops::Range;
use std::sync::Arc;

use num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

use crate::Float;
use crate::float::nearest;
use crate::lines::{Across, Shape, Space};

/// The transforms of all real lines along an axis, from one array into another: of `length` real
/// numbers into `length / 2 + 1` frequencies, of which `modes / 2 + 1` are kept.
pub(crate) struct RealLines<T> {
    shape: Shape,
    across: Option<Across>,
    forward: Arc<dyn RealToComplex<T>>,
    inverse: Arc<dyn ComplexToReal<T>>,
    /// A line of numbers.
    line: Vec<T>,
    /// Its frequencies.
    half: Vec<Complex<T>>,
}

/// Returns the number of frequencies of a number of points.
pub(crate) fn frequencies(points: usize) -> usize {
    if points == 0 { 0 } else { points / 2 + 1 }
}

impl<T: Float> RealLines<T> {
    pub(crate) fn new(
        shape: Shape,
        across: Option<Across>,
        planner: &mut RealFftPlanner<T>,
        space: &mut Space<T>,
    ) -> Self {
        // A rank without lines plans none.
        let length = if shape.points() == 0 { 0 } else { shape.length };
        let (forward, inverse) = (planner.plan_fft_forward(length), planner.plan_fft_inverse(length));
        space.grow(0, 0, forward.get_scratch_len().max(inverse.get_scratch_len()));
        let (line, half) = (vec![T::zero(); length], vec![Complex::default(); frequencies(length)]);
        Self { shape, across, forward, inverse, line, half }
    }

    /// Returns the length of the array of real numbers.
    pub(crate) fn points(&self) -> usize {
        self.shape.points()
    }

    /// Transforms real numbers, which are used as memory, and multiplies by a factor: all lines, or
    /// into a portion those at some indices of the other axis.
    pub(crate) fn forward(
        &mut self,
        from: &mut [T],
        to: &mut [Complex<T>],
        factor: T,
        some: Option<Range<usize>>,
        space: &mut Space<T>,
    ) {
        let Shape { length, modes, inner, .. } = self.shape;
        let kept = frequencies(modes);
        self.for_each_line(some, |Self { line, half, forward, .. }, place, within| {
            let from = &mut from[place.outer * length * inner..];
            let to = &mut to[within.outer * kept * within.inner..];
            if inner == 1 && modes == length {
                let (line, to) = (&mut from[..length], &mut to[..kept]);
                forward.process_with_scratch(line, to, &mut space.scratch).expect("lengths that were planned");
                if factor != T::one() {
                    to.iter_mut().for_each(|value| *value = value.scale(factor));
                }
                return;
            }
            line.iter_mut().enumerate().for_each(|(row, value)| *value = from[row * inner + place.column]);
            forward.process_with_scratch(line, half, &mut space.scratch).expect("lengths that were planned");
            if halved(modes, length) {
                half[modes / 2] = Complex::new(nearest::<T>(2.0) * half[modes / 2].re, T::zero());
            }
            for (row, value) in half[..kept].iter().enumerate() {
                to[row * within.inner + within.column] = value.scale(factor);
            }
        });
    }

    /// Transforms frequencies back, and multiplies by a factor: all lines, or from a portion those at
    /// some indices of the other axis. Ignores the imaginary parts of the first frequency and of that
    /// at half the extent.
    pub(crate) fn inverse(
        &mut self,
        from: &[Complex<T>],
        to: &mut [T],
        factor: T,
        some: Option<Range<usize>>,
        space: &mut Space<T>,
    ) {
        let Shape { length, modes, inner, .. } = self.shape;
        let kept = frequencies(modes);
        self.for_each_line(some, |Self { line, half, inverse, .. }, place, within| {
            let from = &from[within.outer * kept * within.inner..];
            let to = &mut to[place.outer * length * inner..];
            let (known, rest) = half.split_at_mut(kept);
            known.iter_mut().enumerate().for_each(|(row, value)| *value = from[row * within.inner + within.column]);
            rest.fill(Complex::default());
            if halved(modes, length) {
                half[modes / 2] = Complex::new(half[modes / 2].re * nearest::<T>(0.5), T::zero());
            }
            half[0].im = T::zero();
            if length.is_multiple_of(2) {
                half[length / 2].im = T::zero();
            }
            inverse.process_with_scratch(half, line, &mut space.scratch).expect("lengths that were planned");
            for (row, value) in line.iter().enumerate() {
                to[row * inner + place.column] = *value * factor;
            }
        });
    }

    /// Calls the function for each line, with its place in the whole array and in the portion.
    fn for_each_line(&mut self, some: Option<Range<usize>>, mut each: impl FnMut(&mut Self, Place, Place)) {
        let Self { shape, across, .. } = *self;
        let some = across.zip(some);
        let within = some.as_ref().map_or(shape, |(across, range)| across.portion(shape, range.len()));
        if within.points() == 0 {
            return;
        }
        let position = |is_outer: bool, position: usize| match &some {
            Some((across, range)) if across.is_outer == is_outer => across.position(position, range),
            _ => position,
        };
        for outer in 0..within.outer {
            for column in 0..within.inner {
                let place = Place { outer: position(true, outer), column: position(false, column), inner: shape.inner };
                each(self, place, Place { outer, column, inner: within.inner });
            }
        }
    }
}

/// The place of a line in an array.
struct Place {
    outer: usize,
    column: usize,
    /// The distance of rows.
    inner: usize,
}

/// Whether the last frequency that is kept stands for two.
fn halved(modes: usize, length: usize) -> bool {
    modes < length && modes.is_multiple_of(2)
}
