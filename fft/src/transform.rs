//! Transforms of complex numbers.

use std::{fmt, mem};

use num_complex::Complex;

use crate::error::CallError;
use crate::pipeline::{Pipeline, Run};
use crate::route::{DATA, RESULT, Route};
use crate::{Distribution, Error, FftError, Float};

/// A planned transform of complex numbers on one rank. Made by
/// [`Fft::complex`](crate::Fft::complex).
///
/// The array is divided as [`input`](Self::input) says before it is transformed, and as
/// [`output`](Self::output) says afterwards. The methods are collective: all ranks of the
/// communicator call the same one. The first call in each direction allocates; later ones do not,
/// unless portions [overlap](crate::Fft::overlap).
pub struct Transform<T: Float> {
    pipeline: Pipeline<T>,
    ends: [Distribution; 2],
    factors: [T; 2],
    /// The routes within one buffer and from one to another, each forward and inverse.
    routes: [[Route; 2]; 2],
    scratch: Vec<Complex<T>>,
}

impl<T: Float> Transform<T> {
    pub(crate) fn new(pipeline: Pipeline<T>, ends: [Distribution; 2], factors: [T; 2]) -> Self {
        let lengths = [pipeline.length(false), pipeline.length(true)];
        let longer = lengths[0].max(lengths[1]);
        let within = |inverse| Route::new(&pipeline.needs(inverse), longer, Some((DATA, longer)));
        let across = |inverse: bool| {
            let [before, after] = if inverse { [lengths[1], lengths[0]] } else { lengths };
            Route::new(&pipeline.needs(inverse), before, Some((RESULT, after)))
        };
        let routes = [[within(false), within(true)], [across(false), across(true)]];
        Self { pipeline, ends, factors, routes, scratch: Vec::new() }
    }

    /// Returns how the array is divided before it is transformed.
    #[must_use]
    pub fn input(&self) -> &Distribution {
        &self.ends[0]
    }

    /// Returns how the spectrum is divided, and lies in memory.
    #[must_use]
    pub fn output(&self) -> &Distribution {
        &self.ends[1]
    }

    /// Returns the number of exchanges of an execution.
    #[must_use]
    pub fn exchanges(&self) -> usize {
        self.pipeline.exchanges()
    }

    /// Returns the length of a buffer for a transform in place, in elements: that of the longer one
    /// of this rank's parts before and after.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.pipeline.length(false).max(self.pipeline.length(true))
    }

    /// Returns the length of the scratch memory, in elements.
    #[must_use]
    pub fn scratch_len(&self) -> usize {
        self.routes.iter().flatten().map(|route| route.scratch[0] + route.scratch[1]).max().unwrap_or(0)
    }

    /// Transforms the array at the beginning of the buffer, in place.
    ///
    /// Along an axis of n points, frequency k is the sum of the elements x_j times e^(-2πijk/n). Index
    /// k of M frequencies is frequency k, or k - M in the upper half. Of one axis that is divided,
    /// [`transposed`](crate::Fft::transposed) says the order.
    ///
    /// # Errors
    ///
    /// [`FftError::Length`] unless the buffer has at least [`len`](Self::len) elements; otherwise
    /// [`Error::Exchange`].
    #[track_caller]
    pub fn forward(&mut self, data: &mut [Complex<T>]) -> Result<(), Error> {
        self.with_own_scratch(false, data).map_err(CallError::of("forward"))
    }

    /// Transforms the spectrum at the beginning of the buffer back, in place.
    ///
    /// # Errors
    ///
    /// Those of [`forward`](Self::forward).
    #[track_caller]
    pub fn inverse(&mut self, data: &mut [Complex<T>]) -> Result<(), Error> {
        self.with_own_scratch(true, data).map_err(CallError::of("inverse"))
    }

    /// Transforms in place as [`forward`](Self::forward), with the caller's scratch memory.
    ///
    /// # Errors
    ///
    /// Those of [`forward`](Self::forward), and [`FftError::Length`] unless the scratch memory has at
    /// least [`scratch_len`](Self::scratch_len) elements.
    #[track_caller]
    pub fn forward_with_scratch(&mut self, data: &mut [Complex<T>], scratch: &mut [Complex<T>]) -> Result<(), Error> {
        self.in_place(false, data, scratch).map_err(CallError::of("forward_with_scratch"))
    }

    /// Transforms back in place as [`inverse`](Self::inverse), with the caller's scratch memory.
    ///
    /// # Errors
    ///
    /// Those of [`forward_with_scratch`](Self::forward_with_scratch).
    #[track_caller]
    pub fn inverse_with_scratch(&mut self, data: &mut [Complex<T>], scratch: &mut [Complex<T>]) -> Result<(), Error> {
        self.in_place(true, data, scratch).map_err(CallError::of("inverse_with_scratch"))
    }

    /// Transforms the array in one buffer into another. The contents of the first one are
    /// lost.
    ///
    /// # Errors
    ///
    /// [`FftError::Length`] unless the buffers have the lengths of this rank's parts
    /// ([`Distribution::local_len`]) and the scratch memory at least
    /// [`scratch_len`](Self::scratch_len) elements; otherwise [`Error::Exchange`].
    #[track_caller]
    pub fn forward_into(
        &mut self,
        array: &mut [Complex<T>],
        spectrum: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) -> Result<(), Error> {
        self.between_buffers(false, [array, spectrum], scratch).map_err(CallError::of("forward_into"))
    }

    /// Transforms the spectrum in one buffer back into another. The contents of the first one
    /// are lost.
    ///
    /// # Errors
    ///
    /// Those of [`forward_into`](Self::forward_into).
    #[track_caller]
    pub fn inverse_into(
        &mut self,
        spectrum: &mut [Complex<T>],
        array: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) -> Result<(), Error> {
        self.between_buffers(true, [spectrum, array], scratch).map_err(CallError::of("inverse_into"))
    }

    /// Fails the transform with a reason: on this rank in its next call, on those that exchange
    /// elements with it, directly or through others, in their current or next one.
    ///
    /// Use it for an error in the program, so that the others need not wait for a deadline. Local,
    /// as [`Communicator::abort`](necklace::Communicator::abort). Has no effect if there is no
    /// [exchange](Self::exchanges).
    pub fn abort(&mut self, reason: &str) {
        self.pipeline.abort(reason);
    }

    #[track_caller]
    fn with_own_scratch(&mut self, inverse: bool, data: &mut [Complex<T>]) -> Result<(), CallError> {
        FftError::check_least("buffer `data`", data.len(), self.len())?;
        let mut scratch = mem::take(&mut self.scratch);
        scratch.resize(self.scratch_len(), Complex::default());
        let done = self.in_place(inverse, data, &mut scratch);
        self.scratch = scratch;
        done
    }

    #[track_caller]
    fn in_place(
        &mut self,
        inverse: bool,
        data: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) -> Result<(), CallError> {
        let length = self.len();
        FftError::check_least("buffer `data`", data.len(), length)?;
        self.execute(inverse, 0, [&mut data[..length], &mut []], scratch)
    }

    #[track_caller]
    fn between_buffers(
        &mut self,
        inverse: bool,
        buffers: [&mut [Complex<T>]; 2],
        scratch: &mut [Complex<T>],
    ) -> Result<(), CallError> {
        let names = ["buffer `array`", "buffer `spectrum`"];
        for (number, buffer) in buffers.iter().enumerate() {
            let side = number ^ usize::from(inverse);
            FftError::check(names[side], buffer.len(), self.pipeline.length(side == 1))?;
        }
        self.execute(inverse, 1, buffers, scratch)
    }

    #[track_caller]
    fn execute(
        &mut self,
        inverse: bool,
        across: usize,
        [data, result]: [&mut [Complex<T>]; 2],
        scratch: &mut [Complex<T>],
    ) -> Result<(), CallError> {
        FftError::check_least("buffer `scratch`", scratch.len(), self.scratch_len())?;
        let Self { pipeline, factors, routes, .. } = self;
        let Route { buffers: route, scratch: [first, second] } = &routes[across][usize::from(inverse)];
        let (first, rest) = scratch.split_at_mut(*first);
        let mut buffers = [data, first, &mut rest[..*second], result];
        Pipeline::copy([DATA, route[0]], pipeline.length(inverse), &mut buffers);
        let run = Run { inverse, factor: factors[usize::from(inverse)] };
        pipeline.run(run, route, &mut buffers, None)?;
        let end = [DATA, RESULT][across];
        Pipeline::copy([route[route.len() - 1], end], pipeline.length(!inverse), &mut buffers);
        Ok(())
    }
}

impl<T: Float> fmt::Debug for Transform<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [input, output] = &self.ends;
        f.debug_struct("Transform").field("input", input).field("output", output).finish_non_exhaustive()
    }
}
