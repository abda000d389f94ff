//! Finds pieces of a portrait in it, and softens it by a kernel: correlation and convolution by
//! distributed Fourier transforms of real numbers.
//!
//! The product of two spectra is the spectrum of the convolution; with one of them conjugated, of the
//! correlation. [`Convolution`] transforms a kernel once and then any number of arrays. The spectra
//! stay where the exchange leaves them ([`Fft::transposed`]): the product does not need their order,
//! and half of the exchanges are saved. The pieces are searched at every fourth row and column. Points
//! of the softened portrait are compared with the definition.
//!
//! ```text
//! cargo run --release --example convolution -- --ranks 4
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::process::ExitCode;

use necklace::Communicator;
use necklace::array::Distribution;
use necklace_examples::{Program, Ranks, squarest_torus};
use necklace_fft::{Fft, RealTransform};
use necklace_image::{Picture, worse};
use num_complex::Complex64;

const USAGE: &str = "usage: convolution [--ranks N] [--topology T] [--algorithm A]
  --ranks N       number of ranks (default: that of the launcher, the environment or the network, else 4)
  --topology T    the network (default: that of the environment, else the squarest torus of the ranks)
  --algorithm A   a name as `necklace plan --list` shows for alltoall (default: direct)";

/// The side of the pieces that are searched for, and of the kernel.
const SIDE: usize = 16;
/// Where the pieces are cut out.
const PIECES: [[usize; 2]; 3] = [[96, 200], [232, 260], [400, 132]];

fn main() -> ExitCode {
    necklace_examples::main::<Convolve>()
}

#[derive(Default)]
struct Convolve;

impl Program for Convolve {
    const USAGE: &str = USAGE;

    fn run(self, ranks: &Ranks) -> Result<(), Box<dyn Error>> {
        let picture = Picture::portrait()?;
        let launch = ranks.launch(4, squarest_torus).choose("alltoallv", ranks.algorithm_or("direct"));
        // Only rank 0 has a report.
        for line in ranks.run(launch, |comm| report(comm, &picture))?.into_iter().flatten().flatten() {
            println!("{line}");
        }
        Ok(())
    }
}

/// The convolution of arrays with a kernel, both periodic.
struct Convolution {
    transform: RealTransform<f64>,
    kernel: Vec<Complex64>,
    spectrum: Vec<Complex64>,
}

impl Convolution {
    /// Plans the convolution with a kernel, which is given by its value at each index. Collective.
    fn new(
        comm: &mut Communicator,
        extents: &[usize],
        kernel: impl Fn(&[usize]) -> f64,
    ) -> Result<Self, Box<dyn Error>> {
        let rank = comm.rank();
        let mut transform = Fft::new(extents).transposed().real(comm)?;
        let mut values: Vec<f64> = transform.input().elements(rank).map(|(_, at)| kernel(&at)).collect();
        let spectrum = vec![Complex64::default(); transform.output().local_len(rank)];
        let mut kernel = spectrum.clone();
        transform.forward(&mut values, &mut kernel)?;
        Ok(Self { transform, kernel, spectrum })
    }

    /// Returns how arrays are divided.
    fn distribution(&self) -> &Distribution {
        self.transform.input()
    }

    /// Convolves this rank's part of an array: element x becomes the sum of array[x - y] kernel[y].
    fn filter(&mut self, array: &mut [f64]) -> Result<(), necklace_fft::Error> {
        self.multiply(array, |kernel| kernel)
    }

    /// Correlates this rank's part of an array: element x becomes the sum of array[x + y] kernel[y].
    fn correlate(&mut self, array: &mut [f64]) -> Result<(), necklace_fft::Error> {
        self.multiply(array, |kernel| kernel.conj())
    }

    fn multiply(&mut self, array: &mut [f64], factor: fn(Complex64) -> Complex64) -> Result<(), necklace_fft::Error> {
        let Self { transform, kernel, spectrum } = self;
        transform.forward(array, spectrum)?;
        spectrum.iter_mut().zip(kernel).for_each(|(value, kernel)| *value *= factor(*kernel));
        transform.inverse(spectrum, array)
    }
}

fn report(mut comm: Communicator, picture: &Picture) -> Result<Option<Vec<String>>, Box<dyn Error>> {
    let extents = picture.extents();
    let rank = comm.rank();
    let mut lines = vec![format!("{} x {} points on {} ranks", extents[0], extents[1], comm.size())];

    for piece in PIECES {
        // Without its mean, a piece does not match what is only bright.
        let points = || (0..SIDE * SIDE).map(|i| [piece[0] + i / SIDE, piece[1] + i % SIDE]);
        let mean = points().map(|at| picture.at(&at)).sum::<f64>() / (SIDE * SIDE) as f64;
        let length = points().map(|at| (picture.at(&at) - mean).powi(2)).sum::<f64>();
        let kernel = |at: &[usize]| match at[0] < SIDE && at[1] < SIDE {
            true => picture.at(&[piece[0] + at[0], piece[1] + at[1]]) - mean,
            false => 0.0,
        };
        let mut correlation = Convolution::new(&mut comm, &extents, kernel)?;
        let part = correlation.distribution().clone();
        let mut values: Vec<f64> = part.elements(rank).map(|(_, at)| picture.at(&at)).collect();
        correlation.correlate(&mut values)?;

        // Where the piece lies, its product with the picture is that with itself.
        let there = part.elements(rank).zip(&values).filter(|((_, at), _)| at[..] == piece);
        let error = there.map(|(_, value)| (value - length).abs()).fold(0.0, worse);
        if error.is_nan() || error > 1e-9 * length {
            return Err(format!("the correlation of the piece at {piece:?} is off by {error:e}").into());
        }
        // The product does not say how bright a place is: divide by the length of the picture there.
        let norm = |at: &[usize]| {
            let points = (0..SIDE * SIDE).map(|i| picture.at(&[at[0] + i / SIDE, at[1] + i % SIDE]));
            let (sum, squares) =
                points.fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
            (squares - sum * sum / (SIDE * SIDE) as f64).sqrt()
        };
        let inside = |at: &[usize]| at.iter().zip(extents).all(|(&at, extent)| at + SIDE <= extent && at % 4 == 0);
        let places = part.elements(rank).zip(&values).filter(|((_, at), _)| inside(at));
        let scores = places.map(|((_, at), value)| (value / norm(&at).max(1.0), at[0], at[1]));
        let best = scores.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::MIN, 0, 0));
        let mut all = vec![[0.0; 3]; comm.size()];
        comm.allgather(&[[best.0, best.1 as f64, best.2 as f64]], &mut all)?;
        let best = all.into_iter().max_by(|a, b| a[0].total_cmp(&b[0])).unwrap_or_default();
        lines.push(format!("The piece cut out at {piece:?} is found at [{}, {}]", best[1], best[2]));
        if [best[1] as usize, best[2] as usize] != piece {
            return Err(format!("the piece at {piece:?} is found at {:?}", &best[1..]).into());
        }
    }

    // A kernel whose sum is 1, and some points by the definition.
    let kernel = |at: &[usize]| if at[0] < SIDE && at[1] < SIDE { 1.0 / (SIDE * SIDE) as f64 } else { 0.0 };
    let mut softened = Convolution::new(&mut comm, &extents, kernel)?;
    let part = softened.distribution().clone();
    let mut values: Vec<f64> = part.elements(rank).map(|(_, at)| picture.at(&at)).collect();
    softened.filter(&mut values)?;
    let mut largest = 0.0;
    for ((_, at), value) in part.elements(rank).zip(&values).step_by(997) {
        let point =
            |i: usize| [(at[0] + extents[0] - i / SIDE) % extents[0], (at[1] + extents[1] - i % SIDE) % extents[1]];
        let wanted = (0..SIDE * SIDE).map(|i| picture.at(&point(i))).sum::<f64>() / (SIDE * SIDE) as f64;
        largest = worse(largest, (value - wanted).abs());
    }
    if largest.is_nan() || largest > 1e-9 {
        return Err(format!("the softened picture is off by {largest:e}").into());
    }
    lines.push(format!("Softened by {SIDE} x {SIDE} points; largest difference from the definition: {largest:.0e}"));
    Ok((rank == 0).then_some(lines))
}
