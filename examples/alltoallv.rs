//! Alltoallv: every rank sends a block of any length to every rank.
//!
//! ```text
//! cargo run -p necklace-examples --example alltoallv
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().ranks(4).run(|mut comm| {
        let (rank, size) = (comm.rank(), comm.size());
        // Rank i sends i numbers to every rank, all from displacement 0.
        let send = vec![rank; rank];
        let (send_counts, send_displacements) = (vec![rank; size], vec![0; size]);
        // It receives j numbers from rank j, as consecutive blocks.
        let counts: Vec<usize> = (0..size).collect();
        let mut receive = vec![0; counts.iter().sum()];
        comm.alltoallv(&send, (&send_counts, &send_displacements), &mut receive, &counts)?;
        assert!(receive.iter().copied().eq((0..size).flat_map(|from| vec![from; from])));
        Ok::<_, necklace::Error>(format!("rank {rank} sent {send:?} to every rank and received {receive:?}"))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
