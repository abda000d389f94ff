//! Permute: transposes a matrix that is distributed over a hypercube, by a permutation of address
//! bits.
//!
//! ```text
//! cargo run -p necklace-examples --example permute
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;
use necklace::permutation::BitMap;

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().topology("hypercube:2").run(|mut comm| {
        let rank = comm.rank();
        // A 4 x 4 matrix with one row per rank. Two bits of an address are the row, two the column.
        let row: Vec<usize> = (0..4).map(|column| 10 * rank + column).collect();
        let mut column = vec![0; 4];
        let cost = comm.permute(&BitMap::transpose(2, 2)?, &row, &mut column)?;
        assert!(column.iter().enumerate().all(|(from, &element)| element == 10 * from + rank));
        Ok::<_, necklace::Error>(format!(
            "rank {rank} had row {row:?} and has column {column:?} (rounds: {})",
            cost.rounds
        ))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
