//! Broadcast: every rank gets the buffer of the root.
//!
//! ```text
//! cargo run -p necklace-examples --example broadcast
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().ranks(4).run(|mut comm| {
        let rank = comm.rank();
        let root = comm.size() - 1;
        let mut settings = if rank == root { [0.5, 1.5, 2.5] } else { [0.0; 3] };
        comm.broadcast(&mut settings, root)?;
        assert_eq!(settings.map(f64::to_bits), [0.5, 1.5, 2.5].map(f64::to_bits));
        Ok::<_, necklace::Error>(format!("rank {rank} has {settings:?} from rank {root}"))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
