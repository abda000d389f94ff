//! Scan: rank i gets the combined contributions of ranks 0 to i. Here: the offset of each rank's
//! part of a file.
//!
//! ```text
//! cargo run -p necklace-examples --example scan
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;
use necklace::op::Sum;

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().ranks(4).run(|mut comm| {
        let rank = comm.rank();
        let length = 100 + 10 * rank;
        let mut end = [0];
        comm.scan(&[length], &mut end, Sum)?;
        let begin = end[0] - length;
        assert_eq!(begin, (0..rank).map(|before| 100 + 10 * before).sum::<usize>());
        Ok::<_, necklace::Error>(format!("rank {rank} writes {length} bytes from {begin} on"))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
