//! Allgather: every rank gets the block of every rank.
//!
//! ```text
//! cargo run -p necklace-examples --example allgather
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().ranks(4).run(|mut comm| {
        let rank = comm.rank();
        let block = [rank, rank * rank];
        let mut all = vec![0; block.len() * comm.size()];
        comm.allgather(&block, &mut all)?;
        assert!(all.chunks(2).enumerate().all(|(from, block)| block == [from, from * from]));
        Ok::<_, necklace::Error>(format!("rank {rank} gave {block:?} and has {all:?}"))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
