//! Split: rows and columns of a torus become communicators of their own.
//!
//! ```text
//! cargo run -p necklace-examples --example split
//! ```
#![allow(clippy::print_stdout)]

use necklace::launch::Launch;
use necklace::op::Sum;

fn main() -> Result<(), necklace::JobError> {
    let lines = Launch::from_env().topology("torus:3x4").run(|mut comm| {
        let rank = comm.rank();
        // Ranks of one colour form a communicator. A rank that joins none calls `split_undefined`.
        let mut row = comm.split(rank as u32 / 4, 0)?;
        let mut column = comm.split(rank as u32 % 4, 0)?;
        let (mut of_row, mut of_column) = ([0], [0]);
        row.allreduce(&[rank], &mut of_row, Sum)?;
        column.allreduce(&[rank], &mut of_column, Sum)?;
        // A new communicator has the network of its ranks: a row of the torus is a ring.
        let (row, column) = (row.topology().text(), column.topology().text());
        assert!(comm.topology().text() != "torus:3x4" || (&row[..], &column[..]) == ("ring:4", "ring:3"));
        let ([of_row], [of_column]) = (of_row, of_column);
        Ok::<_, necklace::Error>(format!(
            "rank {rank}: its row ({row}) sums to {of_row}, its column ({column}) to {of_column}"
        ))
    })?;
    for line in lines {
        println!("{}", line?);
    }
    Ok(())
}
