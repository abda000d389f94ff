//! Reduce-scatter: rank i gets the combined i-th blocks of all ranks.
//!
//! ```text
//! cargo run -p necklace-examples --example reduce_scatter
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;
use necklace::op::Sum;

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().ranks(4).run(|mut comm| {
        let (rank, size) = (comm.rank(), comm.size());
        // A gradient with two numbers per rank. Each rank gets the sum of its two.
        let gradient: Vec<usize> = (0..2 * size).map(|i| i + rank).collect();
        let mut sum = [0; 2];
        comm.reduce_scatter(&gradient, &mut sum, Sum)?;
        let of_ranks: usize = (0..size).sum();
        assert_eq!(sum, [2 * rank, 2 * rank + 1].map(|i| size * i + of_ranks));
        Ok::<_, necklace::Error>(format!("rank {rank} gave {gradient:?} and keeps {sum:?}"))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
