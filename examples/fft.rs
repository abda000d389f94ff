//! Finds the solar cycle in 265 years of sunspots, by a distributed Fourier transform on a
//! torus.
//!
//! The monthly series, with its mean removed and padded with zeros, has 4096 = 64 x 64 values. It
//! is transformed in four steps: transform the columns, multiply by twiddle factors, transpose by
//! an alltoall, transform again. The 64 columns are distributed over the ranks. The result is
//! compared with a transform on one rank. If the number of ranks does not divide 64, the last ranks
//! have fewer columns or none, padded with zeros, so that all blocks have one size.
//!
//! This example writes the steps out, because it shows the alltoall and its proof. A program would use
//! the package `necklace-fft`, which has this transform for any length.
//!
//! ```text
//! cargo run --release --example fft -- --ranks 16 --topology torus:4x4 --algorithm torus-exchange
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::f64::consts::TAU;
use std::process::ExitCode;

use necklace::Communicator;
use necklace::collective::Collective;
use necklace::error::{ArgumentError, BuildError};
use necklace_examples::{Program, Ranks, squarest_torus};
use num_complex::Complex64;
use rustfft::algorithm::Radix4;
use rustfft::{Fft, FftDirection};

/// Side of the matrix. The length of the transform is its square.
const SIDE: usize = 64;
const LENGTH: usize = SIDE * SIDE;

const USAGE: &str = "usage: fft [--ranks N] [--topology T] [--algorithm A]
  --ranks N       number of ranks (default: that of the launcher, the environment or the network, else 16)
  --topology T    the network (default: that of the environment, else the squarest torus of the ranks)
  --algorithm A   a name as `necklace plan --list` shows for alltoall, or auto (default: torus-exchange, or auto
                  if that does not fit the network)";

#[derive(Default)]
struct Sunspots;

fn main() -> ExitCode {
    necklace_examples::main::<Sunspots>()
}

impl Program for Sunspots {
    const USAGE: &str = USAGE;

    fn run(self, ranks: &Ranks) -> Result<(), Box<dyn Error>> {
        let series = sunspots()?;
        let launch = ranks.launch(16, squarest_torus).choose("alltoall", ranks.algorithm_or("auto"));
        let reports = ranks.run(launch, |mut comm| {
            ranks.prefer(&mut comm, "torus-exchange")?;
            spectrum(comm, &series)
        })?;
        // Only rank 0 has a report.
        for report in reports.into_iter().flatten() {
            report.print_and_check(&series)?;
        }
        Ok(())
    }
}

/// Returns the series with its mean removed, padded with zeros.
fn sunspots() -> Result<Vec<Complex64>, Box<dyn Error>> {
    let text = include_str!("../testdata/sunspots-monthly.csv");
    let number =
        |line: &str| line.split(',').nth(1).ok_or("no second column")?.parse::<f64>().map_err(|e| e.to_string());
    let months = text.lines().skip(1).map(number).collect::<Result<Vec<_>, _>>()?;
    let mean = months.iter().sum::<f64>() / months.len() as f64;
    let mut series: Vec<Complex64> = months.iter().map(|&spots| Complex64::new(spots - mean, 0.0)).collect();
    series.resize(LENGTH, Complex64::default());
    Ok(series)
}

/// The report of rank 0.
struct Report {
    ranks: usize,
    schedule: String,
    proof: String,
    spectrum: Vec<Complex64>,
}

/// Transforms the series. Rank 0 returns the whole spectrum.
fn spectrum(mut comm: Communicator, series: &[Complex64]) -> Result<Option<Report>, Box<dyn Error>> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let each = SIDE.div_ceil(ranks);
    let transform = Radix4::new(SIDE, FftDirection::Forward);

    // As a matrix x[SIDE i + j], this rank has the columns j from `rank * each` on. It transforms
    // each column over i.
    let of_rank = |rank: usize| (rank * each).min(SIDE)..((rank + 1) * each).min(SIDE);
    let mut columns = vec![Complex64::default(); each * SIDE];
    for (column, j) in columns.chunks_exact_mut(SIDE).zip(of_rank(rank)) {
        column.iter_mut().enumerate().for_each(|(i, value)| *value = series[SIDE * i + j]);
    }
    transform.process(&mut columns);

    // Multiply by the twiddle factors and fill the blocks: row k of the transformed matrix goes to
    // its new rank.
    let mut send = vec![Complex64::default(); ranks * each * each];
    for (to, block) in send.chunks_exact_mut(each * each).enumerate() {
        for (part, k) in block.chunks_exact_mut(each).zip(of_rank(to)) {
            for (column, j) in of_rank(rank).enumerate() {
                let twiddle = Complex64::from_polar(1.0, -TAU * (j * k) as f64 / LENGTH as f64);
                part[column] = columns[column * SIDE + k] * twiddle;
            }
        }
    }
    let mut receive = vec![Complex64::default(); send.len()];
    comm.alltoall(&send, &mut receive)?;

    // The block of each rank has the part of its columns in this rank's rows.
    let mut rows = vec![Complex64::default(); each * SIDE];
    for (from, block) in receive.chunks_exact(each * each).enumerate() {
        let its = of_rank(from);
        for (row, part) in block.chunks_exact(each).enumerate() {
            rows[row * SIDE..][its.clone()].copy_from_slice(&part[..its.len()]);
        }
    }
    transform.process(&mut rows);

    // X[k + SIDE l] is element l of row k.
    let mut gathered = vec![Complex64::default(); ranks * rows.len()];
    comm.allgather(&rows, &mut gathered)?;
    if rank != 0 {
        return Ok(None);
    }
    let block_bytes = each * each * size_of::<Complex64>();
    let spectrum = (0..LENGTH).map(|index| gathered[(index % SIDE) * SIDE + index / SIDE]).collect();
    let schedule = comm.explain(&Collective::Alltoall, block_bytes)?.to_string();
    let proof = match comm.prove(&Collective::Alltoall, block_bytes) {
        Ok(proof) => format!("Proved: every block is delivered, nothing is sent that is not held\n{proof}"),
        // The backend's own library may execute the call (`native`).
        Err(error) => match error.argument() {
            Some(ArgumentError::Build(BuildError::Unscheduled { .. })) => format!("Not proved: {error}"),
            _ => return Err(error.into()),
        },
    };
    Ok(Some(Report { ranks, schedule, proof, spectrum }))
}

impl Report {
    fn print_and_check(&self, series: &[Complex64]) -> Result<(), Box<dyn Error>> {
        let Self { ranks, schedule, proof, spectrum } = self;
        let half = 1..LENGTH / 2;
        let peak = half.max_by(|&a, &b| spectrum[a].norm().total_cmp(&spectrum[b].norm())).unwrap_or_default();
        let years = LENGTH as f64 / peak as f64 / 12.0;

        let mut reference = series.to_vec();
        Radix4::new(LENGTH, FftDirection::Forward).process(&mut reference);
        let largest = reference.iter().map(|value| value.norm()).fold(0.0, f64::max);
        let difference = spectrum.iter().zip(&reference).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);

        println!("Fourier transform of 265 years of sunspots, padded to {LENGTH} months, on {ranks} ranks");
        println!("\nThe schedule that ran: {schedule}");
        println!("\n{proof}");
        println!("\nThe solar cycle: peak at index {peak} of {LENGTH} months, a period of {years:.1} years");
        println!("Largest difference from rustfft on one rank: {difference:.1e} (largest value {largest:.1e})");
        if peak != 31 {
            return Err(format!("the peak is at {peak}, expected 31").into());
        }
        // `f64::max` would ignore NaN.
        if difference > 1e-12 * largest || !spectrum.iter().all(|value| value.is_finite()) {
            return Err(format!("the difference {difference:e} is more than rounding").into());
        }
        Ok(())
    }
}
