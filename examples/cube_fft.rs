//! Fourier transform on a hypercube: local transforms of eight points, with exchanges within
//! three-dimensional sub-cubes between them (Johnsson & Ho, TR-16-92, section 1).
//!
//! With 512 ranks, each rank has eight of the 4096 points. The points are distributed cyclically,
//! so that the first local transforms have the stride that they need. Each exchange moves the next
//! three bits of the points' numbers from the number of the rank to the place within a rank. The
//! result has its digits in another order (with 512 ranks, reversed). A last permutation sorts it.
//! The result is compared with rustfft on one rank.
//!
//! With `--async`, each rank is a task that awaits its exchanges. They are the same calls over the
//! same schedules; while they are under way, the executor could run other tasks.
//!
//! This example is about permutations on a cube. The package `necklace-fft` has transforms of any
//! length on any network.
//!
//! ```text
//! cargo run --release --example cube_fft -- --ranks 512
//! cargo run --release --example cube_fft -- --ranks 64 --async
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::f64::consts::TAU;
use std::mem::{swap, take};
use std::process::ExitCode;

use lexopt::Parser;
use necklace::Communicator;
use necklace::permutation::{BitMap, BitMapError};
use necklace_examples::{Program, Ranks, cube};
use num_complex::Complex64;
use pollster::block_on;
use rustfft::algorithm::Radix4;
use rustfft::{Fft, FftDirection};

/// Number of digits, in base 8, of a point's number.
const DIGITS: usize = 4;
const LENGTH: usize = 1 << (3 * DIGITS);

const USAGE: &str = "usage: cube_fft [--ranks N] [--topology T] [--async]
  --ranks N       number of ranks: 1, 8, 64 or 512 (default: that of the launcher, the environment or the network, else 512)
  --topology T    the network (default: that of the environment, else the hypercube of the ranks)
  --async         await the exchanges instead of blocking";

#[derive(Default)]
struct CubeFft {
    awaits: bool,
}

fn main() -> ExitCode {
    necklace_examples::main::<CubeFft>()
}

impl Program for CubeFft {
    const USAGE: &str = USAGE;

    // This example chooses its exchanges itself.
    const RANKS: &[&str] = &["ranks", "topology"];

    fn set(&mut self, name: &str, _: &mut Parser) -> Result<bool, lexopt::Error> {
        self.awaits |= name == "async";
        Ok(name == "async")
    }

    fn check(&self, ranks: &Ranks) -> Result<(), String> {
        ranks.ranks.map_or(Ok(()), |ranks| digits(ranks).map(|_| ()))
    }

    fn run(self, ranks: &Ranks) -> Result<(), Box<dyn Error>> {
        // Only rank 0 has a report.
        let rank = move |comm| block_on(transform(comm, self.awaits));
        for report in ranks.run(ranks.launch(512, cube), rank)?.into_iter().flatten() {
            report.print_and_check()?;
        }
        Ok(())
    }
}

/// Returns the number of digits that the rank's number holds.
fn digits(ranks: usize) -> Result<usize, String> {
    (0..DIGITS).find(|&digits| ranks == 1 << (3 * digits)).ok_or_else(|| {
        format!("{ranks} ranks: use 1, 8, 64 or 512, so that each of the {DIGITS} digits is within a rank or spread over ranks")
    })
}

/// Returns the signal: two tones and a step.
fn signal(point: usize) -> Complex64 {
    let tone =
        |cycles: usize, size: f64| Complex64::from_polar(size, TAU * (cycles * point % LENGTH) as f64 / LENGTH as f64);
    tone(5, 1.0) + tone(1000, 0.5) + if point < LENGTH / 3 { 0.25 } else { 0.0 }
}

/// The report of rank 0.
struct Report {
    ranks: usize,
    moves: Vec<String>,
    spectrum: Vec<Complex64>,
}

/// The place of each digit of the points' numbers within the address. The lowest digits of an
/// address are the place within a rank.
struct Layout {
    digits: [usize; DIGITS],
    places: usize,
}

impl Layout {
    /// Returns the layout of points that are distributed cyclically over 8^`of_ranks` ranks.
    fn cyclic(of_ranks: usize) -> Self {
        let places = DIGITS - of_ranks;
        let digit = |at: usize| if at < places { of_ranks + at } else { at - places };
        Self { digits: std::array::from_fn(digit), places }
    }

    /// Returns the number of the point at an address.
    fn point(&self, address: usize) -> usize {
        self.digits.iter().enumerate().map(|(at, digit)| (address >> (3 * at) & 7) << (3 * digit)).sum()
    }

    /// Returns the place of a digit.
    fn of(&self, digit: usize) -> usize {
        self.digits.iter().position(|at| *at == digit).unwrap_or_default()
    }

    /// Swaps a digit of the rank's number with the lowest digit of the place within a rank.
    fn exchange(&mut self, at: usize) -> Result<BitMap, BitMapError> {
        self.digits.swap(0, at);
        let bits = |at: usize| [3 * at, 3 * at + 1, 3 * at + 2];
        BitMap::axis_exchange(3 * DIGITS, &bits(at), &bits(0))
    }

    /// Returns the permutation to the order of the spectrum: digit t of a point becomes digit 3 - t
    /// of a frequency.
    fn in_order(&self) -> Result<BitMap, BitMapError> {
        let to: Vec<usize> = (0..3 * DIGITS).map(|bit| 3 * (DIGITS - 1 - self.digits[bit / 3]) + bit % 3).collect();
        BitMap::moving(&to)
    }
}

/// Permutes values, in a call that blocks or is awaited. `arrived` becomes their new place.
async fn permute(
    comm: &mut Communicator,
    map: BitMap,
    values: &mut Vec<Complex64>,
    arrived: &mut Vec<Complex64>,
    awaits: bool,
) -> Result<String, necklace::Error> {
    let report = if awaits {
        // The call owns its buffers until it is over, and then gives them back.
        let buffers = (take(values), take(arrived));
        let (buffers, report) =
            comm.start(buffers, move |comm, (values, arrived)| comm.permute(&map, values, arrived)).await;
        (*values, *arrived) = buffers;
        report?
    } else {
        comm.permute(&map, values, arrived)?
    };
    swap(values, arrived);
    Ok(report.to_string())
}

/// Transforms the signal. Rank 0 returns the whole spectrum.
async fn transform(mut comm: Communicator, awaits: bool) -> Result<Option<Report>, Box<dyn Error>> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let mut layout = Layout::cyclic(digits(ranks)?);
    let each = LENGTH / ranks;
    let addresses = rank * each..(rank + 1) * each;
    let mut values: Vec<Complex64> = addresses.clone().map(|address| signal(layout.point(address))).collect();
    let mut arrived = vec![Complex64::default(); each];
    let mut moves = Vec::new();
    // On one host, `auto` would prefer direct messages. This example uses the channels of the
    // hypercube.
    comm.choose("permute", "exchange")?;

    let eight = Radix4::new(8, FftDirection::Forward);
    for digit in (0..DIGITS).rev() {
        let at = layout.of(digit);
        if at >= layout.places {
            let report = permute(&mut comm, layout.exchange(at)?, &mut values, &mut arrived, awaits).await?;
            moves.push(format!("digit {digit} from the ranks' numbers to their places, {report}"));
        }
        let stride = 1 << (3 * layout.of(digit));
        for first in (0..each).filter(|place| (place / stride).is_multiple_of(8)) {
            let mut points: [Complex64; 8] = std::array::from_fn(|i| values[first + i * stride]);
            eight.process(&mut points);
            // The lower digits still belong to points. Their twiddle factors depend on the
            // frequency digits so far.
            let rest = layout.point(addresses.start + first) % (1 << (3 * digit));
            let turn = |frequency: usize| -TAU * (frequency * rest) as f64 / (8_usize << (3 * digit)) as f64;
            for (frequency, point) in points.iter().enumerate() {
                values[first + frequency * stride] = point * Complex64::from_polar(1.0, turn(frequency));
            }
        }
    }
    let report = permute(&mut comm, layout.in_order()?, &mut values, &mut arrived, awaits).await?;
    moves.push(format!("into order, {report}"));

    let mut spectrum = vec![Complex64::default(); LENGTH];
    comm.allgather(&values, &mut spectrum)?;
    Ok((rank == 0).then_some(Report { ranks, moves, spectrum }))
}

impl Report {
    fn print_and_check(&self) -> Result<(), Box<dyn Error>> {
        let Self { ranks, moves, spectrum } = self;
        println!("Fourier transform of {LENGTH} points on {ranks} ranks, by transforms of 8 points");
        moves.iter().for_each(|line| println!("  {line}"));
        let mut reference: Vec<Complex64> = (0..LENGTH).map(signal).collect();
        Radix4::new(LENGTH, FftDirection::Forward).process(&mut reference);
        let largest = reference.iter().map(|value| value.norm()).fold(0.0, f64::max);
        let difference = spectrum.iter().zip(&reference).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        println!("Largest difference from rustfft on one rank: {difference:.1e} (largest value {largest:.1e})");
        // `f64::max` would ignore NaN.
        if difference > 1e-12 * largest || !spectrum.iter().all(|value| value.is_finite()) {
            return Err(format!("the difference {difference:e} is more than rounding").into());
        }
        Ok(())
    }
}
