//! Fourier transform of an array of three dimensions, divided into pencils.
//!
//! The ranks form a process grid of two axes, and each has a pencil of the array: all of one axis,
//! and its range of the two others. It transforms along the axis that it has whole. Then the ranks
//! of a row of the grid exchange parts of their pencils, so that each has another axis whole, and
//! after that the ranks of a column. The axis that is whole is always the last, so that a line of
//! it is contiguous. The exchanges cut and turn the pencils, and nothing is packed.
//!
//! ```text
//!            axes of a pencil    whole   exchanged along
//!   start    x / R, y / C, z       z     a row of the R x C grid
//!   then     z / C, x / R, y       y     a column
//!   end      y / R, z / C, x       x
//! ```
//!
//! The inverse transform goes the way back. Both are compared with a transform on one rank. Extents
//! need not be multiples of R and C: the first ranks have an element more.
//!
//! ```text
//! cargo run --release -p necklace-examples --example pencil -- --extents 30x20x12 --ranks 6
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::process::ExitCode;

use lexopt::{Parser, ValueExt};
use necklace::communicator::Cartesian;
use necklace::topology::Grid;
use necklace::{Communicator, Error as Failed, Strided};
use necklace_examples::{Program, Ranks, squarest_torus};
use num_complex::Complex64;
use rustfft::{FftDirection, FftPlanner};

const USAGE: &str = "usage: pencil [--extents XxYxZ] [--ranks P] [--topology T] [--algorithm A]
  --extents XxYxZ  extents of the array (default: 10x9x14); at most 2^24 elements
  --ranks P        number of ranks (default: that of the launcher, the environment or the network, else 6)
  --topology T     the network (default: that of the environment, else the squarest torus of the ranks)
  --algorithm A    a name as `necklace plan --list` shows for alltoall (default: direct)";

struct Arguments {
    extents: [usize; 3],
}

impl Default for Arguments {
    fn default() -> Self {
        Self { extents: [10, 9, 14] }
    }
}

fn main() -> ExitCode {
    necklace_examples::main::<Arguments>()
}

impl Program for Arguments {
    const USAGE: &str = USAGE;

    fn set(&mut self, name: &str, parser: &mut Parser) -> Result<bool, lexopt::Error> {
        if name != "extents" {
            return Ok(false);
        }
        let text = parser.value()?.string()?;
        let extents = text.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>().unwrap_or_default();
        self.extents = extents.try_into().map_err(|_| format!("{text} is not three numbers, as in 10x9x14"))?;
        Ok(true)
    }

    fn check(&self, _: &Ranks) -> Result<(), String> {
        let elements = self.extents.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
        match elements {
            Some(1..=0x100_0000) => Ok(()),
            _ => Err(format!("--extents {:?}: the array may have 1 to 2^24 elements", self.extents)),
        }
    }

    fn run(self, ranks: &Ranks) -> Result<(), Box<dyn Error>> {
        let launch = ranks.launch(6, squarest_torus).choose("alltoallv", ranks.algorithm_or("direct"));
        for report in ranks.run(launch, |comm| compare(comm, self.extents))? {
            println!("{report}");
        }
        Ok(())
    }
}

/// The array of a rank, and how it turns.
struct Pencils {
    /// The communicators of this rank's row and column of the process grid.
    lines: [Cartesian; 2],
    /// The extents of the pencil at the start, between the exchanges and at the end.
    shapes: [[usize; 3]; 3],
    /// The parts of the pencils before and after each exchange, for each rank of the line.
    turns: [[Vec<Strided>; 2]; 2],
}

impl Pencils {
    fn new(comm: &mut Communicator, [x, y, z]: [usize; 3]) -> Result<Self, Failed> {
        let mut grid = comm.on_grid(Grid::balanced(comm.size(), 2).expect("a rank"))?;
        let lines = [grid.axis(1)?, grid.axis(0)?];
        let [in_row, in_column] = lines.each_ref().map(|line| move |extent| line.range_of(extent).len());
        let shapes = [[in_column(x), in_row(y), z], [in_row(z), in_column(x), y], [in_column(y), in_row(z), x]];
        let turns = [0, 1].map(|i| {
            let [from, into] = [i, i + 1].map(|at| Strided::slabs(&shapes[at], 2, lines[i].size()).expect("an axis"));
            // Received in the order of sending: the last axis becomes the first.
            [from.into_iter().map(|slab| slab.in_order(&[2, 0, 1]).expect("three axes")).collect(), into]
        });
        Ok(Self { lines, shapes, turns })
    }

    /// Exchanges pencils along a line: from its layout `from` to the other.
    fn turn(&mut self, line: usize, from: usize, array: &[Complex64]) -> Result<Vec<Complex64>, Failed> {
        let mut turned = vec![Complex64::default(); self.shapes[line + 1 - from].iter().product()];
        self.lines[line].alltoallw(array, &self.turns[line][from], &mut turned, &self.turns[line][1 - from])?;
        Ok(turned)
    }

    fn forward(&mut self, mut array: Vec<Complex64>) -> Result<Vec<Complex64>, Failed> {
        transform(&mut array, self.shapes[0][2], FftDirection::Forward);
        for line in [0, 1] {
            array = self.turn(line, 0, &array)?;
            transform(&mut array, self.shapes[line + 1][2], FftDirection::Forward);
        }
        Ok(array)
    }

    /// The inverse, times the number of elements.
    fn inverse(&mut self, mut array: Vec<Complex64>) -> Result<Vec<Complex64>, Failed> {
        transform(&mut array, self.shapes[2][2], FftDirection::Inverse);
        for line in [1, 0] {
            array = self.turn(line, 1, &array)?;
            transform(&mut array, self.shapes[line][2], FftDirection::Inverse);
        }
        Ok(array)
    }
}

/// Transforms each line of `length` elements.
fn transform(array: &mut [Complex64], length: usize, direction: FftDirection) {
    if !array.is_empty() {
        FftPlanner::new().plan_fft(length, direction).process(array);
    }
}

/// An array with a different value at each index, the last axis fastest.
fn value([i, j, k]: [usize; 3]) -> Complex64 {
    Complex64::new((3 * i + 5 * j + 7 * k) as f64 % 11.0 - 5.0, ((i + 1) * (j + 2) * (k + 3)) as f64 % 13.0)
}

/// Returns the transform of the whole array, one axis after the other, on one rank.
fn reference([x, y, z]: [usize; 3]) -> Vec<Complex64> {
    let mut array: Vec<Complex64> = (0..x * y * z).map(|at| value([at / (y * z), at / z % y, at % z])).collect();
    for (length, distance) in [(x, y * z), (y, z), (z, 1)] {
        for start in (0..array.len()).filter(|at| at / distance % length == 0) {
            let mut line: Vec<Complex64> = (0..length).map(|i| array[start + i * distance]).collect();
            transform(&mut line, length, FftDirection::Forward);
            line.iter().enumerate().for_each(|(i, &value)| array[start + i * distance] = value);
        }
    }
    array
}

/// Transforms there and back, and compares both with what they should be.
fn compare(mut comm: Communicator, extents: [usize; 3]) -> Result<String, Box<dyn Error>> {
    let [x, y, z] = extents;
    let mut pencils = Pencils::new(&mut comm, extents)?;
    let [row, column] = &pencils.lines;
    let (of_x, of_y) = (column.range_of(x), row.range_of(y));
    let (of_turned_y, of_turned_z) = (column.range_of(y), row.range_of(z));

    let at_start = |i: usize| of_y.clone().flat_map(move |j| (0..z).map(move |k| value([i, j, k])));
    let array: Vec<Complex64> = of_x.clone().flat_map(at_start).collect();
    let transformed = pencils.forward(array.clone())?;
    let restored = pencils.inverse(transformed.clone())?;

    let whole = reference(extents);
    let at_end = |j: usize| of_turned_z.clone().flat_map(move |k| (0..x).map(move |i| (i * y + j) * z + k));
    let wanted = of_turned_y.clone().flat_map(at_end).map(|at| whole[at]);
    let largest = whole.iter().map(|value| value.norm()).fold(0.0, f64::max);
    let elements = whole.len() as f64;
    let errors = transformed.iter().zip(wanted).map(|(found, wanted)| (found - wanted).norm() / largest);
    let back = restored.iter().zip(&array).map(|(found, wanted)| (found / elements - wanted).norm());
    let greatest = errors.chain(back).fold(0.0, |greatest: f64, error| greatest.max(error));
    // `f64::max` would ignore NaN.
    if greatest > 1e-12 || restored.iter().any(|value| !value.is_finite()) {
        return Err(format!("rank {}: the error {greatest:e} is more than rounding", comm.rank()).into());
    }
    Ok(format!(
        "rank {}: had x {of_x:?}, y {of_y:?}; transformed, y {of_turned_y:?}, z {of_turned_z:?}; error {greatest:.0e}",
        comm.rank()
    ))
}
