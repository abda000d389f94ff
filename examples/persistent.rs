//! A persistent plan is built once and executed many times, on any buffers of the same lengths.
//!
//! ```text
//! cargo run -p necklace-examples --example persistent
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().ranks(4).run(|mut comm| {
        let (rank, size) = (comm.rank(), comm.size());
        // An alltoall with blocks of one number. Executing the plan allocates nothing.
        let mut exchange = comm.alltoall_init(1)?;
        let (mut here, mut there) = (vec![rank; size], vec![0; size]);
        for _ in 0..1000 {
            exchange.execute(&mut comm, &here, &mut there)?;
            exchange.execute(&mut comm, &there, &mut here)?;
        }
        // The second exchange returns every block to its source.
        assert_eq!(here, vec![rank; size]);
        Ok::<_, necklace::Error>(format!("rank {rank} executed 2000 times: {}", exchange.description()))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
