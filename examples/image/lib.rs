//! Two-dimensional Fourier transform of a matrix whose rows are distributed over the ranks.
//!
//! The ranks transform rows, exchange rows for columns, transform the columns, and exchange back,
//! so that the result has the layout of the matrix. Between the two exchanges, a rank has a
//! *strip*: its columns, in groups of sixteen.
//!
//! ```text
//!  rank 0  0 0 0 0 0 0 0 0            0 0 0 0 | 1 1 1 1
//!          0 0 0 0 0 0 0 0            0 0 0 0 | 1 1 1 1      each rank has strips of
//!          ---------------   ──────►  0 0 0 0 | 1 1 1 1      whole columns
//!  rank 1  1 1 1 1 1 1 1 1   ◄──────  0 0 0 0 | 1 1 1 1
//!          1 1 1 1 1 1 1 1            0 0 0 0 | 1 1 1 1
//! ```
//!
//! Each exchange is an `alltoallw`, straight between rows and columns, without packing. Exchanges
//! proceed in parts, while the data is in the cache: a few rows are transformed and sent, then
//! sixteen columns are transformed and sent. The matrix is therefore read from memory once for its
//! rows and once for its columns. The shortest piece is sixteen elements, which is four cache
//! lines.

use std::ops::Range;
use std::sync::Arc;

use necklace::error::ArgumentError;
use necklace::{Communicator, Error, Persistent, Strided};
use num_complex::Complex64;
use rustfft::{Fft, FftDirection, FftPlanner};

/// Number of columns in a group of a strip.
const WIDTH: usize = 16;
/// Number of elements in a band of rows, which fits in the second-level cache.
const BAND: usize = 1 << 15;

/// Returns the indices of `rank` if `count` items are distributed evenly over `ranks`.
#[must_use]
pub fn share(count: usize, ranks: usize, rank: usize) -> Range<usize> {
    let first = |rank: usize| (count as u128 * rank as u128 / ranks as u128) as usize;
    first(rank)..first(rank + 1)
}

/// A planned transform of one size. Executing it allocates nothing.
pub struct Transform {
    rows: usize,
    columns: usize,
    /// Numbers of rows and columns of this rank.
    own_rows: usize,
    own_columns: usize,
    /// Number of rows that are sent at a time.
    height: usize,
    forward: Lines,
    inverse: Lines,
    to_columns: Parts,
    to_rows: Parts,
    /// The rows that have just been transformed.
    band: Vec<Complex64>,
    /// The groups of the strip. A row of a group has `WIDTH` elements, some of which the last group
    /// may not use.
    strip: Vec<Complex64>,
    /// One group, column by column. The distance `pitch` avoids cache conflicts between columns.
    lines: Vec<Complex64>,
    pitch: usize,
    scratch: Vec<Complex64>,
}

/// Transforms of single rows and columns.
struct Lines {
    row: Arc<dyn Fft<f64>>,
    column: Arc<dyn Fft<f64>>,
}

/// An exchange in parts: equal ones, in which every rank has its full share, then perhaps a smaller
/// one.
struct Parts {
    /// The number of executions of each plan. Later parts lie at higher offsets of the buffers.
    plans: Vec<(usize, Persistent<Complex64>)>,
}

impl Parts {
    /// Splits evenly distributed items into parts of `size`. `plan` plans a part from the number of
    /// items of each rank.
    fn new(
        counts: &[usize],
        size: usize,
        mut plan: impl FnMut(&[usize]) -> Result<Persistent<Complex64>, Error>,
    ) -> Result<Self, Error> {
        let full = counts.iter().min().map_or(0, |least| least / size);
        let rest: Vec<usize> = counts.iter().map(|count| count - full * size).collect();
        let mut plans = Vec::new();
        for (times, counts) in [(full, vec![size; counts.len()]), (1, rest)] {
            // Plan only parts that occur, because others might not fit in the buffers.
            if times > 0 && counts.iter().any(|&count| count > 0) {
                plans.push((times, plan(&counts)?));
            }
        }
        Ok(Self { plans })
    }

    /// Returns the plans of the parts, with their numbers.
    fn each(
        &mut self,
        mut part: impl FnMut(usize, &mut Persistent<Complex64>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut number = 0;
        for (times, plan) in &mut self.plans {
            for _ in 0..*times {
                part(number, plan)?;
                number += 1;
            }
        }
        Ok(())
    }
}

impl Transform {
    /// Plans the transform of a matrix whose rows are distributed by [`share`].
    pub fn new(comm: &mut Communicator, rows: usize, columns: usize) -> Result<Self, Error> {
        let (rank, ranks) = (comm.rank(), comm.size());
        let row = |rank| share(rows, ranks, rank);
        let column = |rank| share(columns, ranks, rank);
        let (own_rows, own_columns) = (row(rank).len(), column(rank).len());
        let height = (BAND / columns.max(1)).max(1);

        // Each row of a band is cut at the groups of each rank, and sent to its place in the strip.
        let heights: Vec<usize> = (0..ranks).map(|rank| row(rank).len()).collect();
        let to_columns = Parts::new(&heights, height, |heights| {
            let from = |to: usize| {
                let (first, groups, left) = (column(to).start, column(to).len() / WIDTH, column(to).len() % WIDTH);
                let group = |at, width| Strided::matrix(at, heights[rank], width, columns);
                [group(first, WIDTH).repeated(groups, WIDTH), group(first + groups * WIDTH, left)]
            };
            let into = |from: usize| {
                let (first, groups, left) = (row(from).start, own_columns / WIDTH, own_columns % WIDTH);
                let group = |index, width| Strided::matrix((index * rows + first) * WIDTH, heights[from], width, WIDTH);
                [group(0, WIDTH).repeated(groups, rows * WIDTH), group(groups, left)]
            };
            let (from, into): (Vec<_>, Vec<_>) = (0..ranks).map(|peer| (from(peer), into(peer))).unzip();
            comm.alltoallw_init(&from, &into)
        })?;

        // A group returns to `WIDTH` columns of all ranks' rows.
        let widths: Vec<usize> = (0..ranks).map(|rank| column(rank).len()).collect();
        let to_rows = Parts::new(&widths, WIDTH, |widths| {
            let from = |to: usize| Strided::matrix(row(to).start * WIDTH, row(to).len(), widths[rank], WIDTH);
            let into = |from: usize| Strided::matrix(column(from).start, own_rows, widths[from], columns);
            let (from, into): (Vec<_>, Vec<_>) = (0..ranks).map(|peer| (from(peer), into(peer))).unzip();
            comm.alltoallw_init(&from, &into)
        })?;

        let mut planner = FftPlanner::new();
        let mut lines =
            |direction| Lines { row: planner.plan_fft(columns, direction), column: planner.plan_fft(rows, direction) };
        let (forward, inverse) = (lines(FftDirection::Forward), lines(FftDirection::Inverse));
        let scratch = [&forward, &inverse]
            .into_iter()
            .flat_map(|lines| [lines.row.get_outofplace_scratch_len(), lines.column.get_inplace_scratch_len()]);
        let zeros = |elements| vec![Complex64::default(); elements];
        let pitch = rows + WIDTH;
        Ok(Self {
            rows,
            columns,
            own_rows,
            own_columns,
            height,
            to_columns,
            to_rows,
            band: zeros(height * columns),
            strip: zeros(own_columns.div_ceil(WIDTH) * rows * WIDTH),
            lines: zeros(WIDTH * pitch),
            pitch,
            scratch: zeros(scratch.max().unwrap_or(0)),
            forward,
            inverse,
        })
    }

    /// Transforms this rank's rows in place.
    #[track_caller]
    pub fn forward(&mut self, comm: &mut Communicator, matrix: &mut [Complex64]) -> Result<(), Error> {
        self.run(comm, matrix, false)
    }

    /// Undoes [`forward`](Self::forward).
    #[track_caller]
    pub fn inverse(&mut self, comm: &mut Communicator, matrix: &mut [Complex64]) -> Result<(), Error> {
        self.run(comm, matrix, true)
    }

    #[track_caller]
    fn run(&mut self, comm: &mut Communicator, matrix: &mut [Complex64], inverse: bool) -> Result<(), Error> {
        let Self { rows, columns, own_rows, own_columns, height, pitch, .. } = *self;
        let Self { to_columns, to_rows, band, strip, lines, scratch, .. } = self;
        let transforms = if inverse { &self.inverse } else { &self.forward };
        let factor = if inverse { 1.0 / (rows as f64 * columns as f64) } else { 1.0 };
        if matrix.len() != own_rows * columns {
            let expected = format!("{own_rows} rows of {columns}");
            let length = ArgumentError::length("matrix", expected, matrix.len());
            return Err(Error::of_argument("Transform", length));
        }

        to_columns.each(|part, plan| {
            let first = part * height;
            let part_rows = height.min(own_rows - first);
            if part_rows > 0 {
                // The matrix is no longer needed, so it receives the result.
                let rows = &mut matrix[first * columns..][..part_rows * columns];
                transforms.row.process_outofplace_with_scratch(rows, &mut band[..part_rows * columns], scratch);
            }
            plan.execute(comm, band, from(strip, first * WIDTH))
        })?;

        to_rows.each(|part, plan| {
            let width = WIDTH.min(own_columns - part * WIDTH);
            let group = from(strip, part * rows * WIDTH);
            if width > 0 {
                let group = &mut group[..rows * WIDTH];
                for (i, row) in group.chunks_exact(WIDTH).enumerate() {
                    for (j, value) in row[..width].iter().enumerate() {
                        lines[j * pitch + i] = *value;
                    }
                }
                for line in lines.chunks_exact_mut(pitch).take(width) {
                    transforms.column.process_with_scratch(&mut line[..rows], scratch);
                }
                for (i, row) in group.chunks_exact_mut(WIDTH).enumerate() {
                    for (j, value) in row[..width].iter_mut().enumerate() {
                        *value = lines[j * pitch + i] * factor;
                    }
                }
            }
            plan.execute(comm, group, from(matrix, part * WIDTH))
        })
    }
}

/// Returns the slice from an offset, empty if the offset is past the end.
fn from(all: &mut [Complex64], at: usize) -> &mut [Complex64] {
    let at = at.min(all.len());
    &mut all[at..]
}

/// Transforms a whole matrix on one rank: all rows, then all columns. Does not scale the inverse.
pub fn on_one_rank(matrix: &mut [Complex64], width: usize, inverse: bool) {
    let height = matrix.len() / width;
    let mut planner = FftPlanner::new();
    let mut plan = |len| if inverse { planner.plan_fft_inverse(len) } else { planner.plan_fft_forward(len) };
    let (row, column) = (plan(width), plan(height));
    row.process(matrix);
    for j in 0..width {
        let mut line: Vec<Complex64> = (0..height).map(|i| matrix[i * width + j]).collect();
        column.process(&mut line);
        line.into_iter().enumerate().for_each(|(i, value)| matrix[i * width + j] = value);
    }
}

/// Returns the largest difference between elements; infinity if the lengths differ.
#[must_use]
pub fn difference(found: &[Complex64], wanted: &[Complex64]) -> f64 {
    if found.len() != wanted.len() {
        return f64::INFINITY;
    }
    found.iter().zip(wanted).map(|(found, wanted)| (found - wanted).norm()).fold(0.0, worse)
}

/// Returns the larger error, with NaN as the largest. (`f64::max` would ignore NaN.)
#[must_use]
pub fn worse(one: f64, other: f64) -> f64 {
    if other.is_nan() || other > one { other } else { one }
}
