//! Gather and scatter: the root gets a block from every rank, then sends one to every rank.
//!
//! ```text
//! cargo run -p necklace-examples --example gather
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().ranks(4).run(|mut comm| {
        let (rank, size) = (comm.rank(), comm.size());
        // Only the root has a buffer for all blocks.
        let mut all = if rank == 0 { vec![0; size] } else { vec![] };
        comm.gather(&[10 * rank], (rank == 0).then_some(&mut all[..]), 0)?;
        assert!(all.iter().enumerate().all(|(from, &number)| number == 10 * from));
        // The root sends them back in reverse order.
        let reversed: Vec<usize> = all.iter().rev().copied().collect();
        let mut mine = [0];
        comm.scatter((rank == 0).then_some(&reversed[..]), &mut mine, 0)?;
        assert_eq!(mine, [10 * (size - 1 - rank)]);
        Ok::<_, necklace::Error>(format!("rank {rank} gathered {all:?} and has {} from the scatter", mine[0]))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
