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
    let lines = Launch::processes(4).topology("ring:4").run(|mut comm| {
        let mut processes = [0; 4];
        comm.allgather(&[process::id()], &mut processes)?;
        let place = processes.iter().position(|&other| other == process::id());
        assert_eq!(place, Some(comm.rank()), "each rank has a process of its own");
        Ok::<_, necklace::Error>(format!("rank {} of {} is process {}", comm.rank(), comm.size(), process::id()))
    })?;
    // Each process has one result, its own.
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
