//! Times the two-dimensional transform of the example `image`. Prints one number per line, in
//! milliseconds.
//!
//! ```text
//! cargo bench -p necklace-benches --bench transform -- --size 2048 --ranks 4 --calls 20
//! ```
//!
//! `benches/peers/transform` runs it beside FFTW's.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::process::ExitCode;
use std::time::Instant;

use lexopt::{Arg, Parser, ValueExt};
use necklace::local;
use necklace_image::{Transform, share};
use num_complex::Complex64;

struct Arguments {
    size: usize,
    ranks: usize,
    calls: usize,
}

impl Arguments {
    fn read(mut given: Parser) -> Result<Self, lexopt::Error> {
        // Without arguments, as by `cargo bench`, run a short trial.
        let mut read = Self { size: 2048, ranks: 2, calls: 5 };
        while let Some(argument) = given.next()? {
            match argument {
                Arg::Long("size") => read.size = given.value()?.parse()?,
                Arg::Long("ranks") => read.ranks = given.value()?.parse()?,
                Arg::Long("calls") => read.calls = given.value()?.parse()?,
                // From cargo.
                Arg::Long("bench") => {}
                other => return Err(other.unexpected()),
            }
        }
        Ok(read)
    }
}

fn main() -> ExitCode {
    match Arguments::read(Parser::from_env()) {
        Ok(arguments) => time(&arguments),
        Err(error) => {
            eprintln!("transform: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn time(&Arguments { size, ranks, calls }: &Arguments) {
    let times = local::run(ranks, |mut comm| {
        let mut transform = Transform::new(&mut comm, size, size).unwrap();
        let rows = share(size, ranks, comm.rank());
        let value = |index: usize| Complex64::new((index % 1009) as f64 / 1009.0, (index % 2003) as f64 / 2003.0);
        let original: Vec<Complex64> = (rows.start * size..rows.end * size).map(value).collect();
        let mut matrix = original.clone();
        transform.forward(&mut comm, &mut matrix).unwrap();
        transform.inverse(&mut comm, &mut matrix).unwrap();
        let right = matrix.iter().zip(&original).all(|(a, b)| (a - b).norm() < 1e-12);
        assert!(right, "the inverse does not give the matrix back");
        let mut times = Vec::with_capacity(calls);
        for _ in 0..calls {
            matrix.copy_from_slice(&original);
            comm.barrier().unwrap();
            let start = Instant::now();
            transform.forward(&mut comm, &mut matrix).unwrap();
            comm.barrier().unwrap();
            times.push(start.elapsed());
        }
        times
    });
    for time in &times.unwrap()[0] {
        println!("{:.3}", time.as_secs_f64() * 1e3);
    }
}
