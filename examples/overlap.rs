//! A call is made while the program computes: each step is exchanged during the next one.
//!
//! ```text
//! cargo run -p necklace-examples --example overlap
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;

/// Computes the blocks of a step, one for each rank.
fn compute(step: usize, rank: usize, size: usize) -> Vec<usize> {
    (0..size).map(|to| 100 * step + 10 * rank + to).collect()
}

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().ranks(4).run(|mut comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let buffers = (vec![0; size], vec![0; size]);
        let mut exchange = comm.request(buffers, |comm, (send, receive)| comm.alltoall(send, receive))?;
        let mut ready = compute(0, rank, size);
        for step in 0..100 {
            std::mem::swap(&mut exchange.buffers()?.0, &mut ready);
            exchange.start()?;
            // The exchange is under way meanwhile.
            ready = compute(step + 1, rank, size);
            exchange.wait()?;
            let wanted: Vec<usize> = (0..size).map(|from| 100 * step + 10 * from + rank).collect();
            assert_eq!(exchange.buffers()?.1, wanted);
        }
        Ok::<_, necklace::Error>(format!("rank {rank} exchanged 100 steps, each while it computed the next"))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
