//! Transposes a matrix whose rows are distributed over the ranks, of any size and over any number
//! of ranks.
//!
//! Each rank has some rows of the matrix and gets some rows of the transpose, that is, some columns
//! of the matrix, each of them consecutive in memory. One call takes the array from one distribution
//! to the other. Each rank sends parts of its rows straight from the matrix, and receives them column
//! by column. Neither side packs data.
//!
//! ```text
//!   rows of the matrix            rows of the transpose
//!   rank 0   0  1  2  3           rank 0   0  4 |  8
//!            4  5  6  7                    1  5 |  9
//!           ------------   ────►          ----------
//!   rank 1   8  9 10 11           rank 1   2  6 | 10
//!                                          3  7 | 11
//! ```
//!
//! ```text
//! cargo run --release --example transpose -- --rows 1000 --columns 700 --ranks 6 --algorithm ring
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lexopt::{Parser, ValueExt};
use necklace::Communicator;
use necklace::array::Distribution;
use necklace_examples::{Program, Ranks, squarest_torus};

const USAGE: &str = "usage: transpose [--rows M] [--columns N] [--ranks P] [--topology T] [--algorithm A]
  --rows M        rows of the matrix, may be 0 (default: 1021)
  --columns N     columns of the matrix, may be 0 (default: 763); M x N is at most 2^28
  --ranks P       number of ranks (default: that of the launcher, the environment or the network, else 6)
  --topology T    the network (default: that of the environment, else the squarest torus of the ranks)
  --algorithm A   a name as `necklace plan --list` shows for alltoall (default: direct)";

struct Arguments {
    rows: usize,
    columns: usize,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { rows: 1021, columns: 763 }
    }
}

fn main() -> ExitCode {
    necklace_examples::main::<Arguments>()
}

impl Program for Arguments {
    const USAGE: &str = USAGE;

    fn set(&mut self, name: &str, parser: &mut Parser) -> Result<bool, lexopt::Error> {
        match name {
            "rows" => self.rows = parser.value()?.parse()?,
            "columns" => self.columns = parser.value()?.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check(&self, _: &Ranks) -> Result<(), String> {
        let Self { rows, columns } = self;
        if rows.checked_mul(*columns).is_none_or(|entries| entries > 1 << 28) {
            return Err(format!("--rows {rows} --columns {columns}: the matrix may have at most 2^28 entries"));
        }
        Ok(())
    }

    fn run(self, ranks: &Ranks) -> Result<(), Box<dyn Error>> {
        let Self { rows, columns } = self;
        let launch = ranks.launch(6, squarest_torus).choose("alltoallv", ranks.algorithm_or("direct"));
        for report in ranks.run(launch, |comm| transpose(comm, rows, columns))? {
            report.print();
        }
        println!("Every entry of the {rows} x {columns} matrix that came here is where it belongs in its transpose.");
        Ok(())
    }
}

fn transpose(mut comm: Communicator, rows: usize, columns: usize) -> Result<Report, Box<dyn Error>> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let shape = [rows, columns];
    let by_rows = Distribution::slabs(&shape, 0, ranks)?;
    let by_columns = Distribution::slabs(&shape, 1, ranks)?.in_order(&[1, 0])?;
    // Each entry is its row-major index.
    let number = |at: &[usize]| (at[0] * columns + at[1]) as u64;
    let matrix: Vec<u64> = by_rows.elements(rank).map(|(_, at)| number(&at)).collect();
    let mut transposed = vec![u64::MAX; by_columns.local_len(rank)];

    let start = Instant::now();
    comm.redistribute(&by_rows, &matrix, &by_columns, &mut transposed)?;
    let time = start.elapsed();

    for (place, at) in by_columns.elements(rank) {
        let (found, wanted) = (transposed[place], number(&at));
        if found != wanted {
            let [column, row] = [at[0], at[1]];
            let what = format!("rank {rank}: row {row}, column {column} of the transpose is {found}, not {wanted}");
            return Err(what.into());
        }
    }
    let (own_rows, own_columns) = (by_rows.local_shape(rank)[0], by_columns.local_shape(rank)[1]);
    Ok(Report { rank, network: comm.topology().text(), own_rows, own_columns, time })
}

/// The result of a rank.
struct Report {
    rank: usize,
    network: String,
    own_rows: usize,
    own_columns: usize,
    time: Duration,
}

impl Report {
    fn print(&self) {
        let Self { rank, network, own_rows, own_columns, time } = self;
        println!("{network}, rank {rank}: had {own_rows} rows, got {own_columns} columns as rows, in {time:.1?}");
    }
}
