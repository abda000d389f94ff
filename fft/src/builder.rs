//! The options of a transform, and its planning.

use necklace::Communicator;
use necklace::array::Split;
use necklace::topology::Grid;
use num_complex::Complex;
use realfft::RealFftPlanner;
use rustfft::FftPlanner;

use crate::error::CallError;
use crate::float::nearest;
use crate::layout::Layout;
use crate::one_axis::{self, OneAxis};
use crate::pipeline::{Pipeline, PortionOptions, across, shape};
use crate::real::Ends;
use crate::real_lines::{RealLines, frequencies};
use crate::{Distribution, Error, FftError, Float, Norm, RealTransform, Transform};

/// The default size of a portion, in bytes.
const PORTION: usize = 1 << 21;

/// The options of a transform.
///
/// Every rank of the communicator passes the same options, which the ranks compare before anything
/// else.
///
/// ```
/// use necklace::topology::Grid;
/// use necklace_fft::{Fft, Norm};
///
/// // Real numbers on 2 x 3 ranks, as pencils; the last axis is left alone.
/// let shapes = necklace::local::run(6, |mut comm| {
///     let transform = Fft::new(&[12, 10, 7])
///         .axes(&[0, 1])
///         .grid(&Grid::mesh(&[2, 3]).unwrap())
///         .norm(Norm::Unitary)
///         .real::<f32>(&mut comm)?;
///     Ok::<_, necklace_fft::Error>((transform.input().shape().to_vec(), transform.output().shape().to_vec()))
/// })?;
/// assert_eq!(shapes[0].as_ref().unwrap(), &(vec![12, 10, 7], vec![12, 6, 7]));
/// # Ok::<(), necklace::JobError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fft {
    extents: Vec<usize>,
    axes: Option<Vec<usize>>,
    grid: Option<Grid>,
    batch: usize,
    norm: Norm,
    modes: Option<Vec<usize>>,
    transposed: bool,
    cyclic: bool,
    portions: PortionOptions,
}

impl Fft {
    /// Returns the options of a transform along all axes of an array.
    ///
    /// An array of one axis that is divided is a matrix of A x B, A the largest divisor that is at
    /// most the square root. Each rank has some of its A rows, so at most A ranks have elements: one
    /// if the extent is prime. The spectrum, unless transposed, is divided into other ranges, by the
    /// B rows of a matrix of B x A: see [`Transform::output`]. Such a transform keeps all
    /// frequencies, and treats real numbers as complex ones. The plan stores as many twiddle factors
    /// as a rank has elements.
    #[must_use]
    pub fn new(extents: &[usize]) -> Self {
        Self {
            extents: extents.to_vec(),
            axes: None,
            grid: None,
            batch: 1,
            norm: Norm::default(),
            modes: None,
            transposed: false,
            cyclic: false,
            portions: PortionOptions { bytes: PORTION, overlap: false },
        }
    }

    /// Transforms these axes only. A real transform halves the last one of the list.
    #[must_use]
    pub fn axes(mut self, axes: &[usize]) -> Self {
        self.axes = Some(axes.to_vec());
        self
    }

    /// Divides the array over this process grid: slabs with one axis of several nodes, pencils with
    /// two, and so on. Its nodes are the ranks, numbered row-major. Its axes of several nodes divide,
    /// in their order, the axes that are not transformed, and then the transformed ones except the last,
    /// which is whole. One axis alone is divided over a grid with one axis of several nodes; a grid with
    /// several such axes is an [`FftError::OneAxis`].
    ///
    /// Unless set, it is slabs along the longest axis that is not transformed, if no rank has over a
    /// quarter more than the mean. Otherwise [`grid_for`](Communicator::grid_for) chooses it by price,
    /// as if each axis had no more points than frequencies that are kept.
    #[must_use]
    pub fn grid(mut self, grid: &Grid) -> Self {
        self.grid = Some(grid.clone());
        self
    }

    /// Transforms several arrays at once, whose elements at the same index are next to each other in
    /// memory.
    #[must_use]
    pub fn batch(mut self, elements: usize) -> Self {
        self.batch = elements;
        self
    }

    /// Chooses the factors, [`Norm::Inverse`] unless set.
    #[must_use]
    pub fn norm(mut self, norm: Norm) -> Self {
        self.norm = norm;
        self
    }

    /// Keeps this number of frequencies of each axis, those of the smallest absolute value, in their
    /// order: of five, 0, 1, 2, -2, -1. The inverse sets the others to zero. For an axis that is not
    /// transformed, pass its extent. Of M modes along the axis that a real transform halves,
    /// M / 2 + 1 are kept.
    ///
    /// With 3 M / 2 points and M modes, the product of two arrays has no aliases among the modes (the
    /// 3/2 rule), if M is odd or the mode at M / 2 is zero. Of an even number of modes, that one stands
    /// for both signs: forward adds the two, the inverse gives each one half. [`Norm`] counts points.
    ///
    /// One axis that is divided keeps all its frequencies: fewer are an [`FftError::OneAxis`].
    #[must_use]
    pub fn modes(mut self, modes: &[usize]) -> Self {
        self.modes = Some(modes.to_vec());
        self
    }

    /// Leaves the spectrum as the last exchange divides it, which saves the exchanges back: half of
    /// them, or one of three for one axis. [`Transform::output`] says how.
    ///
    /// After an odd number of exchanges, as of slabs, the axis that is transformed last is then the
    /// fastest in memory ([`Distribution::order`]), unless there is a batch. Find elements by
    /// [`Distribution::local_index`] or [`Distribution::elements`].
    ///
    /// A complex array of one axis that is divided becomes a matrix of A x B, A the largest divisor
    /// that is at most the square root: frequency k + l A is at (k, l). Has no effect on a real array
    /// of one axis, on one rank, or on a [cyclic](Self::cyclic) transform.
    #[must_use]
    pub fn transposed(mut self) -> Self {
        self.transposed = true;
        self
    }

    /// Divides an array of one axis cyclically, before and after. The square of the number of ranks must
    /// divide its extent; otherwise planning fails with [`FftError::Cyclic`]. It takes one exchange,
    /// where ranges take three.
    ///
    /// Source: Koopman & Bisseling, "Minimizing communication in the multidimensional FFT", SIAM
    /// Journal on Scientific Computing 45, 2023.
    #[must_use]
    pub fn cyclic(mut self) -> Self {
        self.cyclic = true;
        self
    }

    /// Works on this number of bytes at a time, and sends them before the next ones, 2 MiB unless
    /// set. Smaller portions fit in a faster cache; larger ones take fewer messages. A rank plans at
    /// most 256 portions of an exchange, and at most 16384 / P for P ranks of the communicator.
    /// Portions that are not contiguous in the array have a buffer of their own.
    ///
    /// Over MPI, one portion (`usize::MAX`) is faster in natural order on some machines.
    ///
    /// An exchange is in one portion if nothing has been transformed since the one before, or
    /// frequencies have been left out (except by a real transform, along the axis that it halves); so
    /// are all exchanges of an array of one axis.
    #[must_use]
    pub fn portion(mut self, bytes: usize) -> Self {
        self.portions.bytes = bytes;
        self
    }

    /// Transforms a [portion](Self::portion) while the one before is sent, and on the way back while the
    /// next one is received. Off unless set.
    ///
    /// Another thread sends and receives. Over TCP at 1 and 4 Gbit/s, with a core for each of two ranks,
    /// that saves 1 to 3 % of the time of a transform. A transform then allocates for each exchange,
    /// and keeps memory for two portions.
    #[must_use]
    pub fn overlap(mut self) -> Self {
        self.portions.overlap = true;
        self
    }

    /// Plans the transform of complex numbers. Collective.
    ///
    /// # Errors
    ///
    /// [`Error::Transform`] if an option does not fit the array or the ranks, [`Error::Array`] if
    /// the array cannot be divided, [`Error::Exchange`] as
    /// [`redistribute_init`](Communicator::redistribute_init), and if ranks pass different options or
    /// types of numbers. Then the communicator has failed, also on a rank that gets another error
    /// because its axes or modes are invalid.
    #[track_caller]
    pub fn complex<T: Float>(&self, comm: &mut Communicator) -> Result<Transform<T>, Error> {
        self.planned_complex(comm).map_err(CallError::of("complex"))
    }

    #[track_caller]
    fn planned_complex<T: Float>(&self, comm: &mut Communicator) -> Result<Transform<T>, CallError> {
        self.compare(comm, "complex", size_of::<T>())?;
        let planner = &mut FftPlanner::new();
        if self.is_one_divided_axis(comm)? {
            let OneAxis { input, output, stages } = self.one_axis::<T>(comm, !self.transposed)?;
            return Ok(Transform::new(
                Pipeline::new(comm, &stages, self.portions, planner)?,
                [input, output],
                self.factors(),
            ));
        }
        let exchanged = |modes: &[usize], _: usize| modes.to_vec();
        let checked = self.checked(comm, size_of::<Complex<T>>(), exchanged)?;
        let stages =
            checked.layout(self.extents.clone(), checked.modes.clone(), self.batch).stages(!self.transposed)?;
        let ends = [&stages[0].entry, &stages[stages.len() - 1].exit].map(Distribution::clone);
        Ok(Transform::new(Pipeline::new(comm, &stages, self.portions, planner)?, ends, self.factors()))
    }

    /// Plans the transform of real numbers: of the last axis, or the last one that
    /// [`axes`](Self::axes) lists, n / 2 + 1 of the frequencies are kept, and the others are their
    /// conjugates. Collective.
    ///
    /// A real array of one axis that is divided among ranks is transformed as a complex one.
    ///
    /// # Errors
    ///
    /// Those of [`complex`](Self::complex).
    #[track_caller]
    pub fn real<T: Float>(&self, comm: &mut Communicator) -> Result<RealTransform<T>, Error> {
        self.planned_real(comm).map_err(CallError::of("real"))
    }

    #[track_caller]
    fn planned_real<T: Float>(&self, comm: &mut Communicator) -> Result<RealTransform<T>, CallError> {
        self.compare(comm, "real", size_of::<T>())?;
        let planner = &mut FftPlanner::new();
        if self.is_one_divided_axis(comm)? {
            let OneAxis { input, output, stages } = self.one_axis::<T>(comm, true)?;
            let half = one_axis::half(&output, frequencies(self.extents[0]), self.batch)?;
            let pipeline = Pipeline::new(comm, &stages, self.portions, planner)?;
            let ends = Ends::complex(&half, self.extents[0], comm.rank());
            return Ok(RealTransform::new(pipeline, [input, half], self.factors(), ends));
        }
        let exchanged = |modes: &[usize], last: usize| {
            let mut exchanged = modes.to_vec();
            exchanged[last] = frequencies(modes[last]);
            exchanged
        };
        let mut checked = self.checked(comm, size_of::<Complex<T>>(), exchanged)?;
        let axis = checked.axes.pop().expect("an axis to transform");
        let (mut extents, mut modes) = (self.extents.clone(), checked.modes.clone());
        let input = checked.layout(extents.clone(), modes.clone(), self.batch);
        let input = input.distribution(&extents, &input.splits)?;
        FftError::check_memory(&input, size_of::<T>())?;
        extents[axis] = frequencies(modes[axis]);
        modes[axis] = extents[axis];
        let stages = checked.layout(extents, modes, self.batch).stages(!self.transposed)?;
        let mut pipeline = Pipeline::new(comm, &stages, self.portions, planner)?;
        let seen = shape(&input, &input.local_shape(comm.rank()), axis, checked.modes[axis]);
        let across = stages[0].along.map(|along| across(&input, &input.local_shape(comm.rank()), axis, along));
        let lines = RealLines::new(seen, across, &mut RealFftPlanner::new(), &mut pipeline.space);
        let output = stages[stages.len() - 1].exit.clone();
        Ok(RealTransform::new(pipeline, [input, output], self.factors(), Ends::Lines(Box::new(lines))))
    }

    /// Checks that all ranks plan the same transform. Collective.
    ///
    /// If this rank's axes or modes are invalid, returns that error in place of the disagreement.
    #[track_caller]
    fn compare(&self, comm: &mut Communicator, kind: &str, bytes: usize) -> Result<(), CallError> {
        let Self { extents, axes, grid, batch, norm, modes, transposed, cyclic, portions } = self;
        let PortionOptions { bytes: portion, overlap } = portions;
        let axes = axes.clone().unwrap_or_else(|| (0..extents.len()).collect());
        let (modes, grid) = (modes.as_ref().unwrap_or(extents), grid.as_ref().map(Grid::extents));
        let agreed = comm.compare(&format!(
            "{kind} transform of {extents:?} points along {axes:?}, numbers of {bytes} bytes, modes {modes:?}, \
             grid {grid:?}, batch {batch}, norm {norm:?}, transposed {transposed}, cyclic {cyclic}, portion {portion}, \
             overlap {overlap}"
        ));
        self.checked_modes(&self.checked_axes()?)?;
        Ok(agreed?)
    }

    /// Returns the factors forward and inverse.
    fn factors<T: Float>(&self) -> [T; 2] {
        let axes = self.axes.clone().unwrap_or_else(|| (0..self.extents.len()).collect());
        let points: f64 = axes.iter().map(|&axis| self.extents[axis].max(1) as f64).product();
        [false, true].map(|inverse| nearest::<T>(self.norm.factor(points, inverse)))
    }

    /// Returns whether the array has one axis, which is divided.
    fn is_one_divided_axis(&self, comm: &Communicator) -> Result<bool, FftError> {
        let ranks = comm.size();
        if self.cyclic && (self.extents.len() != 1 || !self.extents[0].is_multiple_of(ranks * ranks)) {
            return Err(FftError::Cyclic { extents: self.extents.clone(), ranks });
        }
        Ok(self.extents.len() == 1 && ranks > 1)
    }

    fn one_axis<T: Float>(&self, comm: &Communicator, natural: bool) -> Result<OneAxis, CallError> {
        let (points, ranks) = (self.extents[0], comm.size());
        self.checked_axes()?;
        let modes = self.checked_modes(&[0])?;
        let grid = self.grid.as_ref().map_or(&[][..], Grid::extents);
        let several = grid.iter().filter(|&&extent| extent > 1).count();
        let found = grid.iter().product();
        if self.grid.is_some() && found != ranks {
            return Err(FftError::Grid { found, ranks }.into());
        }
        for (what, is_set) in
            [("a grid with several divided axes", several > 1), ("fewer modes than points", modes[0] != points)]
        {
            if is_set {
                return Err(FftError::OneAxis { what, ranks }.into());
            }
        }
        // Check sizes first: finding the divisors of a huge number takes long.
        let ranges = Distribution::slabs(&[points], 0, ranks)?.batched(self.batch)?;
        FftError::check_memory(&ranges, size_of::<Complex<T>>())?;
        Ok(match self.cyclic {
            true => one_axis::cyclic(points, ranks, self.batch)?,
            false => one_axis::four_steps(points, ranks, self.batch, natural)?,
        })
    }

    /// Returns the transformed axes, in the order of the options.
    fn checked_axes(&self) -> Result<Vec<usize>, FftError> {
        let axes = self.extents.len();
        let chosen = self.axes.clone().unwrap_or_else(|| (0..axes).collect());
        if chosen.is_empty() {
            return Err(FftError::NoAxes);
        }
        for (at, &axis) in chosen.iter().enumerate() {
            if axis >= axes {
                return Err(FftError::Axis { axis, axes });
            }
            if chosen[..at].contains(&axis) {
                return Err(FftError::AxisTwice { axis });
            }
        }
        Ok(chosen)
    }

    fn checked_modes(&self, transformed: &[usize]) -> Result<Vec<usize>, FftError> {
        let axes = self.extents.len();
        let modes = self.modes.clone().unwrap_or_else(|| self.extents.clone());
        if modes.len() != axes {
            return Err(FftError::Modes { found: modes.len(), axes });
        }
        for (axis, (&extent, &found)) in self.extents.iter().zip(&modes).enumerate() {
            let transformed = transformed.contains(&axis);
            if found != extent && (!transformed || !(1..=extent).contains(&found)) {
                return Err(FftError::ModesOfAxis { axis, extent, found, transformed });
            }
        }
        Ok(modes)
    }

    /// Checks the options and chooses a grid unless there is one, for elements of `element` bytes.
    /// `exchanged` returns the extents to price, from the modes and the axis that is transformed first.
    fn checked(
        &self,
        comm: &Communicator,
        element: usize,
        exchanged: impl FnOnce(&[usize], usize) -> Vec<usize>,
    ) -> Result<Checked, CallError> {
        let axes = self.checked_axes()?;
        let modes = self.checked_modes(&axes)?;
        // The axes that are divided first: those that are not transformed, then from the first one.
        let mut divisible: Vec<usize> = (0..self.extents.len()).filter(|axis| !axes.contains(axis)).collect();
        let ranks = comm.size();
        // Slabs along an axis that is not transformed need no exchange. A rank may have a quarter more
        // than the mean.
        let longest = (0..divisible.len()).rev().max_by_key(|&at| self.extents[divisible[at]]);
        let is_even = |extent: usize| extent.div_ceil(ranks) as u128 * ranks as u128 * 4 <= extent as u128 * 5;
        let apart = longest.filter(|&at| self.grid.is_none() && is_even(self.extents[divisible[at]]));
        if let Some(at) = apart {
            divisible[..=at].rotate_right(1);
        }
        divisible.extend(&axes[..axes.len() - 1]);
        let of_slabs = || Grid::line(ranks).expect("the ranks of a communicator are the nodes of a line");
        let grid = match &self.grid {
            Some(grid) => grid.clone(),
            None if apart.is_some() => of_slabs(),
            None => {
                let exchanged = exchanged(&modes, axes[axes.len() - 1]);
                let choice = comm.grid_for(&exchanged, &axes, self.batch.saturating_mul(element));
                // An array that is too large is refused when it is divided.
                choice.map_or_else(|_| of_slabs(), |choice| choice.grid)
            }
        };
        let found = grid.extents().iter().product();
        if found != ranks {
            return Err(FftError::Grid { found, ranks }.into());
        }
        let several: Vec<usize> = (0..grid.extents().len()).filter(|&over| grid.extents()[over] > 1).collect();
        if several.len() > divisible.len() {
            return Err(FftError::GridAxes { found: several.len(), axes: self.extents.len() }.into());
        }
        let mut splits = vec![Split::Whole; self.extents.len()];
        for (&over, &axis) in several.iter().zip(&divisible) {
            splits[axis] = Split::Block(over);
        }
        Ok(Checked { axes, modes, grid, splits })
    }
}

/// The options after they have been checked.
struct Checked {
    /// The transformed axes. The last one is transformed first.
    axes: Vec<usize>,
    modes: Vec<usize>,
    grid: Grid,
    splits: Vec<Split>,
}

impl Checked {
    fn layout(&self, extents: Vec<usize>, modes: Vec<usize>, batch: usize) -> Layout<'_> {
        let (axes, splits) = (self.axes.clone(), self.splits.clone());
        Layout { extents, modes, axes, grid: &self.grid, splits, batch }
    }
}
