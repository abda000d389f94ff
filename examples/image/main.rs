//! Blurs a portrait by a low-pass filter, with a distributed two-dimensional Fourier transform.
//!
//! Each rank has some rows of the picture. The ranks transform them by [`necklace_fft`], damp
//! frequencies above the cutoff, and transform back. The example checks the transform against one on
//! a single rank, its energy (Parseval), and that the inverse alone restores the picture.
//!
//! ```text
//! cargo run --release --example image -- --ranks 4 --cutoff 12 --out low-pass.png
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::{Parser, ValueExt};
use necklace::Communicator;
use necklace::op::{Max, Sum};
use necklace_examples::{Program, Ranks, squarest_torus};
use necklace_fft::Fft;
use necklace_image::{Picture, difference, gather, on_one_rank, worse};
use num_complex::Complex64;

const USAGE: &str = "usage: image [--ranks N] [--topology T] [--algorithm A] [--cutoff C] [--out FILE]
  --ranks N       number of ranks (default: that of the launcher, the environment or the network, else 4)
  --topology T    the network (default: that of the environment, else the squarest torus of the ranks)
  --algorithm A   a name as `necklace plan --list` shows for alltoall (default: direct)
  --cutoff C      waves in the picture's width that are damped to exp(-1/2), more than 0 (default: 16)
  --out FILE      where the picture is written (default: image-low-pass.png in the directory for temporary files)";

struct Arguments {
    cutoff: f64,
    out: PathBuf,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { cutoff: 16.0, out: std::env::temp_dir().join("image-low-pass.png") }
    }
}

fn main() -> ExitCode {
    necklace_examples::main::<Arguments>()
}

impl Program for Arguments {
    const USAGE: &str = USAGE;

    fn set(&mut self, name: &str, parser: &mut Parser) -> Result<bool, lexopt::Error> {
        match name {
            "cutoff" => self.cutoff = parser.value()?.parse()?,
            "out" => self.out = parser.value()?.into(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check(&self, _: &Ranks) -> Result<(), String> {
        if self.cutoff.is_nan() || self.cutoff <= 0.0 {
            return Err(format!("--cutoff: found {}, expected a number greater than 0", self.cutoff));
        }
        Ok(())
    }

    fn run(self, ranks: &Ranks) -> Result<(), Box<dyn Error>> {
        let Self { cutoff, out } = self;
        let picture = Picture::portrait()?;
        let launch = ranks.launch(4, squarest_torus).choose("alltoallv", ranks.algorithm_or("direct"));
        let reports = ranks.run(launch, |comm| low_pass(comm, &picture, cutoff))?;
        // Only rank 0 has a report.
        for report in reports.into_iter().flatten() {
            report.check(&picture, cutoff)?;
            picture.with(&report.damped).encode(&out)?;
            println!("The picture without its details: {}", out.display());
        }
        Ok(())
    }
}

/// The result, on rank 0.
struct Report {
    ranks: usize,
    network: String,
    /// The whole spectrum.
    spectrum: Vec<Complex64>,
    /// The energy of the picture and of its spectrum.
    energy: [f64; 2],
    /// The largest difference between the restored and the original picture.
    returned: f64,
    /// The blurred picture.
    damped: Vec<Complex64>,
}

fn low_pass(mut comm: Communicator, picture: &Picture, cutoff: f64) -> Result<Option<Report>, Box<dyn Error>> {
    let mut transform = Fft::new(&picture.extents()).complex(&mut comm)?;
    // The spectrum is divided in the same way.
    let rows = transform.input().clone();
    let grey: Vec<f64> = rows.elements(comm.rank()).map(|(_, at)| picture.at(&at)).collect();
    let mut matrix: Vec<Complex64> = grey.iter().map(|&value| value.into()).collect();

    let energy_of = |matrix: &[Complex64]| matrix.iter().map(Complex64::norm_sqr).sum::<f64>();
    let mut energies = [energy_of(&matrix), 0.0];
    transform.forward(&mut matrix)?;
    energies[1] = energy_of(&matrix) / (picture.width * picture.height) as f64;
    let mut energy = [0.0; 2];
    comm.allreduce(&energies, &mut energy, Sum)?;
    let spectrum = gather(&mut comm, &matrix, &rows)?;

    let mut back = matrix.clone();
    transform.inverse(&mut back)?;
    let differences = back.iter().zip(grey).map(|(found, wanted)| (found - wanted).norm());
    let mut returned = [0.0];
    comm.allreduce(&[differences.fold(0.0, worse)], &mut returned, Max)?;

    for (value, (_, at)) in matrix.iter_mut().zip(rows.elements(comm.rank())) {
        *value *= damping(at[0], at[1], picture, cutoff);
    }
    transform.inverse(&mut matrix)?;
    let damped = gather(&mut comm, &matrix, &rows)?;
    let (ranks, network) = (comm.size(), comm.topology().text());
    let report = || Report { ranks, network, spectrum, energy, returned: returned[0], damped };
    Ok((comm.rank() == 0).then(report))
}

/// Returns the factor for a frequency. Indices above half of the width are negative frequencies.
fn damping(row: usize, column: usize, picture: &Picture, cutoff: f64) -> f64 {
    let waves = |index: usize, all: usize| index.min(all - index) as f64;
    let waves = waves(row, picture.height).hypot(waves(column, picture.width));
    (-0.5 * (waves / cutoff).powi(2)).exp()
}

impl Report {
    fn check(&self, picture: &Picture, cutoff: f64) -> Result<(), Box<dyn Error>> {
        let Picture { width, height, .. } = picture;
        let mut reference: Vec<Complex64> = picture.grey.iter().map(|&value| f64::from(value).into()).collect();
        on_one_rank(&mut reference, *width, false);
        let largest = reference.iter().map(|value| value.norm()).fold(0.0, f64::max);
        let spectrum = difference(&self.spectrum, &reference);
        for (index, value) in reference.iter_mut().enumerate() {
            *value *= damping(index / width, index % width, picture, cutoff) / (width * height) as f64;
        }
        on_one_rank(&mut reference, *width, true);
        let damped = difference(&self.damped, &reference);
        let [before, after] = self.energy;

        println!("Fourier transform of {height} x {width} points on {} ranks, {}", self.ranks, self.network);
        println!("Largest difference from rustfft on one rank: {spectrum:.1e} (largest value {largest:.1e})");
        println!("Energy: {before:.6e} in the picture, {after:.6e} in the spectrum (Parseval)");
        println!("Largest difference of the inverse from the picture: {:.1e} of 255", self.returned);
        println!("Largest difference after a low-pass of {cutoff} waves: {damped:.1e} of 255");
        for (what, error, limit) in [
            ("the transform is not that of one rank", spectrum, 1e-12 * largest),
            ("the transform does not keep the energy", (before - after).abs(), 1e-12 * before),
            ("the inverse does not give the picture back", self.returned, 1e-10),
            ("the low-pass is not that of one rank", damped, 1e-10),
        ] {
            if error.is_nan() || error > limit {
                return Err(format!("{what}: off by {error:e}, at most {limit:e} is rounding").into());
            }
        }
        Ok(())
    }
}
