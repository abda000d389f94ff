//! A program that starts its ranks itself, as processes that communicate over TCP.
//!
//! ```text
//! cargo run -p necklace-examples --features tcp --example processes
//! ```
#![allow(clippy::print_stdout)]

use std::process;

use necklace::launch::Launch;

fn main() -> Result<(), necklace::JobError> {
    // This process is rank 0. The three others run this program too, from the beginning to here.
    let lines = Launch::processes(4).run(|mut comm| {
        let processes = comm.allgather_vec(&[process::id()])?;
        let before = &processes[..comm.rank()];
        let here = if before.contains(&process::id()) { "with others" } else { "on its own" };
        Ok::<_, necklace::Error>(format!("rank {} of {}: process {}, {here}", comm.rank(), comm.size(), process::id()))
    })?;
    // Each process has one result, its own.
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
