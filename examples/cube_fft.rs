//! A Fourier transform on a cube: local transforms of eight points, with exchanges within sub-cubes of three dimensions between
//! them (Johnsson & Ho, TR-16-92, section 1).
//!
//! Of the 4096 points a rank of 512 has eight, dealt to the ranks in turn, so that those of a rank are as far apart as the first
//! transforms want them. Each exchange brings the next three bits of the points' numbers from the ranks' numbers into the places
//! within a rank. The result comes out with its digits in another order (from 512 ranks reversed); one more permutation puts
//! it in order. It is compared with rustfft on one rank.
//!
//! ```text
//! cargo run --release --example cube_fft -- --ranks 512
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::f64::consts::TAU;
use std::process::ExitCode;

use lexopt::Parser;
use necklace::Communicator;
use necklace::permutation::{BitMap, BitMapError};
use necklace_examples::{Program, Ranks, cube};
use num_complex::Complex64;
use rustfft::algorithm::Radix4;
use rustfft::{Fft, FftDirection};

/// The points are numbers of so many digits of base 8.
const DIGITS: usize = 4;
const LENGTH: usize = 1 << (3 * DIGITS);

const USAGE: &str = "usage: cube_fft [--ranks N] [--topology T]
  --ranks N       1, 8, 64 or 512 ranks; 512 unless given here, by the environment or by the network
  --topology T    the network; the hypercube of the ranks unless given here or by the environment";

#[derive(Default)]
struct Arguments {
    ranks: Ranks,
}

fn main() -> ExitCode {
    necklace_examples::main::<Arguments>()
}

impl Program for Arguments {
    const USAGE: &str = USAGE;

    fn set(&mut self, name: &str, parser: &mut Parser) -> Result<bool, lexopt::Error> {
        // Which exchanges there are is this example's own.
        if name == "algorithm" { Ok(false) } else { self.ranks.set(name, parser) }
    }

    fn check(&self) -> Result<(), String> {
        self.ranks.ranks.map_or(Ok(()), |ranks| digits(ranks).map(|_| ()))
    }

    fn run(self) -> Result<(), Box<dyn Error>> {
        let launch = self.ranks.launch(512, cube);
        let outcomes = launch.run(|comm| transform(comm).map_err(|error| error.to_string()))?;
        for report in outcomes.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
            report.print_and_check()?;
        }
        Ok(())
    }
}

/// How many digits are spread over so many ranks.
fn digits(ranks: usize) -> Result<usize, String> {
    (0..DIGITS).find(|&digits| ranks == 1 << (3 * digits)).ok_or_else(|| {
        format!("{ranks} ranks: they must be 1, 8, 64 or 512, so that each of the {DIGITS} digits is within a rank or spread over ranks")
    })
}

/// Two tones and a step.
fn signal(point: usize) -> Complex64 {
    let tone =
        |cycles: usize, size: f64| Complex64::from_polar(size, TAU * (cycles * point % LENGTH) as f64 / LENGTH as f64);
    tone(5, 1.0) + tone(1000, 0.5) + if point < LENGTH / 3 { 0.25 } else { 0.0 }
}

/// What rank 0 tells.
struct Report {
    ranks: usize,
    moves: Vec<String>,
    spectrum: Vec<Complex64>,
}

/// Where the digits of the points' numbers are: by digit of the address, of which the lowest are the places within a rank.
struct Layout {
    digits: [usize; DIGITS],
    places: usize,
}

impl Layout {
    /// Points dealt to 8^`of_ranks` ranks in turn.
    fn cyclic(of_ranks: usize) -> Self {
        let places = DIGITS - of_ranks;
        let digit = |at: usize| if at < places { of_ranks + at } else { at - places };
        Self { digits: std::array::from_fn(digit), places }
    }

    /// The number of the point at an address.
    fn point(&self, address: usize) -> usize {
        self.digits.iter().enumerate().map(|(at, digit)| (address >> (3 * at) & 7) << (3 * digit)).sum()
    }

    /// Where a digit is.
    fn of(&self, digit: usize) -> usize {
        self.digits.iter().position(|at| *at == digit).unwrap_or_default()
    }

    /// A digit of the ranks changes places with the lowest one of a rank's.
    fn exchange(&mut self, at: usize) -> Result<BitMap, BitMapError> {
        self.digits.swap(0, at);
        let bits = |at: usize| [3 * at, 3 * at + 1, 3 * at + 2];
        BitMap::axis_exchange(3 * DIGITS, &bits(at), &bits(0))
    }

    /// From here to the order of the spectrum: what was digit t of a point is digit 3 - t of a frequency.
    fn in_order(&self) -> Result<BitMap, BitMapError> {
        let to: Vec<usize> = (0..3 * DIGITS).map(|bit| 3 * (DIGITS - 1 - self.digits[bit / 3]) + bit % 3).collect();
        BitMap::moving(&to)
    }
}

/// Transforms the signal; rank 0 returns the whole spectrum.
fn transform(mut comm: Communicator) -> Result<Option<Report>, Box<dyn Error>> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let mut layout = Layout::cyclic(digits(ranks)?);
    let each = LENGTH / ranks;
    let addresses = rank * each..(rank + 1) * each;
    let mut values: Vec<Complex64> = addresses.clone().map(|address| signal(layout.point(address))).collect();
    let mut arrived = vec![Complex64::default(); each];
    let mut moves = Vec::new();
    // Threads, and processes of one host, would rather go straight: here the channels of a cube are used, where there is one.
    comm.choose("permute", "exchange")?;
    let mut moved = |what: String, map: &BitMap, values: &mut Vec<Complex64>| -> Result<(), necklace::Error> {
        let report = comm.permute(map, values, &mut arrived)?;
        std::mem::swap(values, &mut arrived);
        moves.push(format!("{what}, {report}"));
        Ok(())
    };

    let eight = Radix4::new(8, FftDirection::Forward);
    for digit in (0..DIGITS).rev() {
        let at = layout.of(digit);
        if at >= layout.places {
            moved(
                format!("digit {digit} from the ranks' numbers to their places"),
                &layout.exchange(at)?,
                &mut values,
            )?;
        }
        let stride = 1 << (3 * layout.of(digit));
        for first in (0..each).filter(|place| (place / stride).is_multiple_of(8)) {
            let mut points: [Complex64; 8] = std::array::from_fn(|i| values[first + i * stride]);
            eight.process(&mut points);
            // The digits below are still those of the points, and are transformed with the frequency that is known now.
            let rest = layout.point(addresses.start + first) % (1 << (3 * digit));
            let turn = |frequency: usize| -TAU * (frequency * rest) as f64 / (8_usize << (3 * digit)) as f64;
            for (frequency, point) in points.iter().enumerate() {
                values[first + frequency * stride] = point * Complex64::from_polar(1.0, turn(frequency));
            }
        }
    }
    moved("into order".to_owned(), &layout.in_order()?, &mut values)?;

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
        // `f64::max` forgets what is not a number.
        if difference > 1e-12 * largest || !spectrum.iter().all(|value| value.is_finite()) {
            return Err(format!("the difference {difference:e} is more than rounding").into());
        }
        Ok(())
    }
}
