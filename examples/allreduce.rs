//! Allreduce: every rank gets the combined contributions of all ranks.
//!
//! ```text
//! cargo run -p necklace-examples --example allreduce
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;
use necklace::op::{Sum, by};

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().ranks(4).run(|mut comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let mut sum = [0];
        comm.allreduce(&[rank], &mut sum, Sum)?;
        assert_eq!(sum, [size * (size - 1) / 2]);
        // A user-defined operation on a user-defined element: the maximum and its rank.
        let greatest = by("greatest", |left: [usize; 2], right| if right[0] > left[0] { right } else { left });
        let mut found = [[0; 2]];
        comm.allreduce(&[[7 * rank % 5, rank]], &mut found, greatest)?;
        let [value, at] = found[0];
        Ok::<_, necklace::Error>(format!(
            "rank {rank}: the ranks' sum is {}; the greatest is {value}, of rank {at}",
            sum[0]
        ))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
