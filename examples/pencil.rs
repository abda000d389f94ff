//! Fourier transform of an array of three dimensions, divided into pencils.
//!
//! The ranks form a process grid of two axes, and each has a pencil of the array: all of one axis,
//! and its range of the two others. It transforms along the axis that it has whole. Then the array
//! is redistributed, so that each rank has another axis whole: the ranks of a row of the grid
//! exchange parts of their pencils, and after that the ranks of a column. The axis that is whole is
//! always the fastest in memory, so that a line of it is contiguous. Nothing is packed.
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
//! This example shows redistributions. The package `necklace-fft` has this transform for any number of
//! dimensions, and faster, because it works on what is in the cache.
//!
//! ```text
//! cargo run --release -p necklace-examples --example pencil -- --extents 30x20x12 --ranks 6
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::process::ExitCode;

use lexopt::{Parser, ValueExt};
use necklace::array::{Distribution, Split};
use necklace::communicator::Redistribution;
use necklace::topology::Grid;
use necklace::{Communicator, Error as Failed};
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

/// The transform: the pencils of the array at the start, between the exchanges and at the end, and
/// the plans that turn each into the next one.
struct Pencils {
    stages: [Distribution; 3],
    turns: [Redistribution<Complex64>; 2],
}

impl Pencils {
    fn new(comm: &mut Communicator, extents: [usize; 3]) -> Result<Self, Box<dyn Error>> {
        let grid = Grid::balanced(comm.size(), 2)?;
        let (rows, columns, whole) = (Split::Block(0), Split::Block(1), Split::Whole);
        let pencils = |splits: [Split; 3], order: [usize; 3]| {
            Distribution::new(&extents, &grid, &splits).and_then(|pencils| pencils.in_order(&order))
        };
        let stages = [
            pencils([rows, columns, whole], [0, 1, 2])?,
            pencils([rows, whole, columns], [2, 0, 1])?,
            pencils([whole, rows, columns], [1, 2, 0])?,
        ];
        let turns = [comm.redistribute_init(&stages[0], &stages[1])?, comm.redistribute_init(&stages[1], &stages[2])?];
        Ok(Self { stages, turns })
    }

    /// Returns the length of a line of a stage: the extent of the axis that is whole.
    fn line(&self, stage: usize) -> usize {
        self.stages[stage].shape()[2 - stage]
    }

    fn forward(&mut self, rank: usize, mut array: Vec<Complex64>) -> Result<Vec<Complex64>, Failed> {
        transform(&mut array, self.line(0), FftDirection::Forward);
        for turn in [0, 1] {
            let mut turned = vec![Complex64::default(); self.stages[turn + 1].local_len(rank)];
            self.turns[turn].execute(&array, &mut turned)?;
            transform(&mut turned, self.line(turn + 1), FftDirection::Forward);
            array = turned;
        }
        Ok(array)
    }

    /// The inverse, times the number of elements.
    fn inverse(&mut self, rank: usize, mut array: Vec<Complex64>) -> Result<Vec<Complex64>, Failed> {
        transform(&mut array, self.line(2), FftDirection::Inverse);
        for turn in [1, 0] {
            let mut turned = vec![Complex64::default(); self.stages[turn].local_len(rank)];
            self.turns[turn].execute_back(&array, &mut turned)?;
            transform(&mut turned, self.line(turn), FftDirection::Inverse);
            array = turned;
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
    let rank = comm.rank();
    let mut pencils = Pencils::new(&mut comm, extents)?;
    let [start, _, end] = pencils.stages.clone();
    let array: Vec<Complex64> = start.elements(rank).map(|(_, at)| value([at[0], at[1], at[2]])).collect();
    let transformed = pencils.forward(rank, array.clone())?;
    let restored = pencils.inverse(rank, transformed.clone())?;

    let whole = reference(extents);
    let [_, y, z] = extents;
    let wanted = end.elements(rank).map(|(_, at)| whole[(at[0] * y + at[1]) * z + at[2]]);
    let largest = whole.iter().map(|value| value.norm()).fold(0.0, f64::max);
    let elements = whole.len() as f64;
    let errors = transformed.iter().zip(wanted).map(|(found, wanted)| (found - wanted).norm() / largest);
    let back = restored.iter().zip(&array).map(|(found, wanted)| (found / elements - wanted).norm());
    let greatest = errors.chain(back).fold(0.0, |greatest: f64, error| greatest.max(error));
    // `f64::max` would ignore NaN.
    if greatest > 1e-12 || restored.iter().any(|value| !value.is_finite()) {
        return Err(format!("rank {rank}: the error {greatest:e} is more than rounding").into());
    }
    let range = |pencils: &Distribution, axis| pencils.range(rank, axis).unwrap_or_default();
    Ok(format!(
        "rank {rank}: had x {:?}, y {:?}; transformed, y {:?}, z {:?}; error {greatest:.0e}",
        range(&start, 0),
        range(&start, 1),
        range(&end, 1),
        range(&end, 2),
    ))
}
