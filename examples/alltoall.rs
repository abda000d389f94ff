//! Alltoall: every rank sends a block to every rank.
//!
//! ```text
//! cargo run -p necklace-examples --example alltoall
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;

fn main() -> Result<(), necklace::JobError> {
    // Four ranks on a ring: threads, or processes under a launcher.
    let lines = Launch::from_env().ranks(4).topology_for(|ranks| format!("ring:{ranks}")).run(|mut comm| {
        let (rank, size) = (comm.rank(), comm.size());
        // Block j goes to rank j. Here a block is one number.
        let send: Vec<usize> = (0..size).map(|to| 10 * rank + to).collect();
        let mut receive = vec![0; size];
        comm.alltoall(&send, &mut receive)?;
        // Block i came from rank i.
        assert!(receive.iter().enumerate().all(|(from, &number)| number == 10 * from + rank));
        Ok::<_, necklace::Error>(format!("rank {rank} sent {send:?} and received {receive:?}"))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
