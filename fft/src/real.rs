//! Transforms of real numbers.

use std::{fmt, mem};

use num_complex::Complex;

use crate::error::CallError;
use crate::float::nearest;
use crate::pipeline::{End, Pipeline, Run};
use crate::real_lines::RealLines;
use crate::route::{DATA, RESULT, Route};
use crate::{Distribution, Error, FftError, Float};

/// A planned transform of real numbers on one rank. Made by [`Fft::real`](crate::Fft::real).
///
/// The array is divided as [`input`](Self::input) says, and its spectrum as
/// [`output`](Self::output) says. The methods are collective: all ranks of the communicator call
/// the same one. The first call in each direction allocates; later ones do not, unless portions
/// [overlap](crate::Fft::overlap).
pub struct RealTransform<T: Float> {
    pipeline: Pipeline<T>,
    ends: [Distribution; 2],
    /// The lengths of this rank's parts.
    lengths: [usize; 2],
    factors: [T; 2],
    kind: Ends<T>,
    /// The routes from real numbers and back to them.
    routes: [Route; 2],
    scratch: Vec<Complex<T>>,
}

/// The conversion between the real array and the complex stages.
pub(crate) enum Ends<T> {
    /// By the transform of the last axis.
    Lines(Box<RealLines<T>>),
    /// Without a transform. Each rank keeps the first `kept` elements of its part of the spectrum.
    /// `single` are the positions of the frequencies that are their own conjugates.
    Complex { kept: usize, single: Vec<usize> },
}

impl<T: Float> Ends<T> {
    /// The ends of an array of one axis that is transformed as a complex one.
    pub(crate) fn complex(half: &Distribution, points: usize, rank: usize) -> Self {
        let itself = |frequency: &usize| {
            (2 * frequency).is_multiple_of(points.max(1)) && half.owner(&[*frequency]) == Some(rank)
        };
        let places = [0, points / 2].into_iter().filter(itself).filter_map(|frequency| half.local_index(&[frequency]));
        let mut single: Vec<usize> = places.flat_map(|place| place..place + half.batch()).collect();
        single.sort_unstable();
        single.dedup();
        Self::Complex { kept: half.local_len(rank), single }
    }
}

impl<T: Float> RealTransform<T> {
    pub(crate) fn new(pipeline: Pipeline<T>, ends: [Distribution; 2], factors: [T; 2], kind: Ends<T>) -> Self {
        let (array, spectrum) = (pipeline.length(false), pipeline.length(true));
        let (array, spectrum) = match &kind {
            Ends::Lines(lines) => (lines.points(), spectrum),
            Ends::Complex { kept, .. } => (array, *kept),
        };
        let routes = [
            Route::new(&pipeline.needs(false), 0, Some((RESULT, spectrum))),
            Route::new(&pipeline.needs(true), spectrum, None),
        ];
        Self { pipeline, ends, lengths: [array, spectrum], factors, kind, routes, scratch: Vec::new() }
    }

    /// Returns how the array of real numbers is divided.
    #[must_use]
    pub fn input(&self) -> &Distribution {
        &self.ends[0]
    }

    /// Returns how the spectrum is divided.
    #[must_use]
    pub fn output(&self) -> &Distribution {
        &self.ends[1]
    }

    /// Returns the number of exchanges of an execution.
    #[must_use]
    pub fn exchanges(&self) -> usize {
        self.pipeline.exchanges()
    }

    /// Returns the length of the scratch memory, in complex elements.
    #[must_use]
    pub fn scratch_len(&self) -> usize {
        self.routes.iter().map(|route| route.scratch[0] + route.scratch[1]).max().unwrap_or(0)
    }

    /// Transforms the array into its spectrum, by the formula of
    /// [`Transform::forward`](crate::Transform::forward). Along the axis that is halved, index k is
    /// frequency k. The contents of the array are lost.
    ///
    /// # Errors
    ///
    /// [`FftError::Length`] unless the buffers have the lengths of this rank's parts
    /// ([`Distribution::local_len`]); otherwise [`Error::Exchange`].
    #[track_caller]
    pub fn forward(&mut self, array: &mut [T], spectrum: &mut [Complex<T>]) -> Result<(), Error> {
        self.with_own_scratch(false, array, spectrum).map_err(CallError::of("forward"))
    }

    /// Transforms the spectrum back into the array. The contents of the spectrum are lost.
    ///
    /// Frequencies that are their own conjugates, such as the first, are taken as real.
    ///
    /// # Errors
    ///
    /// Those of [`forward`](Self::forward).
    #[track_caller]
    pub fn inverse(&mut self, spectrum: &mut [Complex<T>], array: &mut [T]) -> Result<(), Error> {
        self.with_own_scratch(true, array, spectrum).map_err(CallError::of("inverse"))
    }

    /// Transforms as [`forward`](Self::forward), with the caller's scratch memory.
    ///
    /// # Errors
    ///
    /// Those of [`forward`](Self::forward), and [`FftError::Length`] unless the scratch memory has at
    /// least [`scratch_len`](Self::scratch_len) elements.
    #[track_caller]
    pub fn forward_with_scratch(
        &mut self,
        array: &mut [T],
        spectrum: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) -> Result<(), Error> {
        self.transform(array, spectrum, scratch).map_err(CallError::of("forward_with_scratch"))
    }

    #[track_caller]
    fn transform(
        &mut self,
        array: &mut [T],
        spectrum: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) -> Result<(), CallError> {
        self.check([array.len(), spectrum.len()], scratch.len())?;
        let Self { pipeline, factors: [factor, _], routes: [route, _], lengths: [_, length], kind, .. } = self;
        let Route { buffers: route, scratch: [first, second] } = route;
        let (first, rest) = scratch.split_at_mut(*first);
        let mut buffers = [&mut [][..], first, &mut rest[..*second], spectrum];
        let run = Run { inverse: false, factor: T::one() };
        let end: End<'_, T> = &mut |into, some, space| match kind {
            Ends::Lines(lines) => lines.forward(array, into, *factor, some, space),
            Ends::Complex { .. } => {
                into.iter_mut().zip(&*array).for_each(|(into, value)| *into = Complex::from(*value * *factor));
            }
        };
        pipeline.run(run, route, &mut buffers, Some(end))?;
        Pipeline::copy([route[route.len() - 1], RESULT], *length, &mut buffers);
        Ok(())
    }

    /// Transforms back as [`inverse`](Self::inverse), with the caller's scratch memory.
    ///
    /// # Errors
    ///
    /// Those of [`forward_with_scratch`](Self::forward_with_scratch).
    #[track_caller]
    pub fn inverse_with_scratch(
        &mut self,
        spectrum: &mut [Complex<T>],
        array: &mut [T],
        scratch: &mut [Complex<T>],
    ) -> Result<(), Error> {
        self.transform_back(array, spectrum, scratch).map_err(CallError::of("inverse_with_scratch"))
    }

    #[track_caller]
    fn transform_back(
        &mut self,
        array: &mut [T],
        spectrum: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) -> Result<(), CallError> {
        self.check([array.len(), spectrum.len()], scratch.len())?;
        let Self { pipeline, factors: [_, factor], routes: [_, route], lengths: [_, length], kind, .. } = self;
        let Route { buffers: route, scratch: [first, second] } = route;
        let (first, rest) = scratch.split_at_mut(*first);
        let mut buffers = [spectrum, first, &mut rest[..*second], &mut []];
        Pipeline::copy([DATA, route[0]], *length, &mut buffers);
        if let Ends::Complex { kept, single } = kind {
            // Count each frequency for its conjugate too; the result is the real part.
            let (half, rest) = buffers[route[0]][..pipeline.length(true)].split_at_mut(*kept);
            single.iter().for_each(|&place| half[place] = Complex::from(half[place].re * nearest::<T>(0.5)));
            half.iter_mut().for_each(|value| *value = value.scale(nearest::<T>(2.0)));
            rest.fill(Complex::default());
        }
        let run = Run { inverse: true, factor: T::one() };
        let end: End<'_, T> = &mut |from, some, space| match kind {
            Ends::Lines(lines) => lines.inverse(from, array, *factor, some, space),
            Ends::Complex { .. } => {
                array.iter_mut().zip(from).for_each(|(into, value)| *into = value.re * *factor);
            }
        };
        pipeline.run(run, route, &mut buffers, Some(end))
    }

    /// Fails the transform with a reason, as
    /// [`Transform::abort`](crate::Transform::abort).
    pub fn abort(&mut self, reason: &str) {
        self.pipeline.abort(reason);
    }

    fn check(&self, [array, spectrum]: [usize; 2], scratch: usize) -> Result<(), FftError> {
        FftError::check("buffer `array`", array, self.lengths[0])?;
        FftError::check("buffer `spectrum`", spectrum, self.lengths[1])?;
        FftError::check_least("buffer `scratch`", scratch, self.scratch_len())
    }

    #[track_caller]
    fn with_own_scratch(
        &mut self,
        inverse: bool,
        array: &mut [T],
        spectrum: &mut [Complex<T>],
    ) -> Result<(), CallError> {
        self.check([array.len(), spectrum.len()], self.scratch_len())?;
        let mut scratch = mem::take(&mut self.scratch);
        scratch.resize(self.scratch_len(), Complex::default());
        let done = match inverse {
            false => self.transform(array, spectrum, &mut scratch),
            true => self.transform_back(array, spectrum, &mut scratch),
        };
        self.scratch = scratch;
        done
    }
}

impl<T: Float> fmt::Debug for RealTransform<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [input, output] = &self.ends;
        f.debug_struct("RealTransform").field("input", input).field("output", output).finish_non_exhaustive()
    }
}
