//! Times the two-dimensional transform of the example `image`. Prints one number per line, in
//! milliseconds.
//!
//! ```text
//! cargo bench -p necklace-benches --bench transform -- --size 2048 --ranks 4 --calls 20
//! ```
//!
//! `benches/peers/transform` runs it beside FFTW's.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use necklace::local;
use necklace_image::{Transform, share};
use num_complex::Complex64;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let number = |name: &str, default: usize| {
        let at = words.iter().position(|word| word == name);
        at.map_or(default, |at| words[at + 1].parse().unwrap())
    };
    // Without arguments, as by `cargo bench`, run a short trial.
    let (size, ranks, calls) = (number("--size", 2048), number("--ranks", 2), number("--calls", 5));
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
