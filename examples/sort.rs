//! Sample sort: numbers that are spread over the ranks, sorted by ranges, one for each rank.
//!
//! ```text
//! cargo run -p necklace-examples --example sort
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;
use necklace::op::Sum;
use necklace::{Communicator, Error};

/// Sorts the numbers of all ranks: returns those of this rank's range, in order.
fn sort(comm: &mut Communicator, mut numbers: Vec<u64>) -> Result<Vec<u64>, Error> {
    let size = comm.size();
    numbers.sort_unstable();
    // A sample of each rank's numbers at regular distances, and of these the bounds of the ranges.
    let sample: Vec<u64> = (0..size).map(|i| numbers[i * numbers.len() / size]).collect();
    let mut samples = comm.allgather_vec(&sample)?;
    samples.sort_unstable();
    let bound = |range: usize| samples[range * size];
    let begin = |range: usize| if range == 0 { 0 } else { numbers.partition_point(|number| *number < bound(range)) };
    let end = |range: usize| if range + 1 == size { numbers.len() } else { begin(range + 1) };
    let counts: Vec<usize> = (0..size).map(|range| end(range) - begin(range)).collect();
    let (mut sorted, _) = comm.alltoallv_vec(&numbers, &counts)?;
    sorted.sort_unstable();
    Ok(sorted)
}

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().ranks(4).run(|mut comm| {
        let rank = comm.rank();
        // As many numbers as the rank likes, in no order.
        let numbers: Vec<u64> =
            (1..).map(|i: u64| (i * (7919 + rank as u64)) % 10_007).take(500 + 100 * rank).collect();
        let (before, sum) = (numbers.len(), numbers.iter().sum::<u64>());
        let sorted = sort(&mut comm, numbers)?;
        let of_all = comm.allreduce_vec(&[before as u64, sum], Sum)?;
        let sorted_sum = [sorted.len() as u64, sorted.iter().sum()];
        assert_eq!(comm.allreduce_vec(&sorted_sum, Sum)?, of_all);
        // The greatest number of the ranks before is not above the least of this one.
        let (first, last) = (sorted.first().copied().unwrap_or(0), sorted.last().copied().unwrap_or(0));
        let before = comm.exscan_one(last, necklace::op::Max)?.unwrap_or(0);
        assert!(sorted.is_sorted() && (sorted.is_empty() || before <= first));
        Ok::<_, Error>(format!("rank {rank}: {} numbers, from {first} to {last}", sorted.len()))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
