//! Transposes a matrix whose rows are distributed over the ranks, of any size and over any number
//! of ranks.
//!
//! Each rank has some rows of the matrix and gets some rows of the transpose. Rows are distributed
//! evenly; if there are more ranks than rows, some ranks have none. A single `alltoallw` does it:
//! each rank sends parts of its rows straight from the matrix, and receives them column by column.
//! Neither side packs data.
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
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lexopt::{Parser, ValueExt};
use necklace::{Communicator, Error as Failed, Strided};
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

/// Returns the indices of `rank` if `count` items are distributed evenly over `ranks`.
fn share(count: usize, ranks: usize, rank: usize) -> Range<usize> {
    let first = |rank: usize| (count as u128 * rank as u128 / ranks as u128) as usize;
    first(rank)..first(rank + 1)
}

fn transpose(mut comm: Communicator, rows: usize, columns: usize) -> Result<Report, Box<dyn Error>> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (own_rows, own_columns) = (share(rows, ranks, rank), share(columns, ranks, rank));
    // Each entry is its row-major index.
    let matrix: Vec<u64> = (own_rows.start * columns..own_rows.end * columns).map(|entry| entry as u64).collect();

    let start = Instant::now();
    let transposed = exchange(&mut comm, &matrix, rows, columns)?;
    let report = Report { rank, network: comm.topology().text(), own_rows, own_columns, time: start.elapsed() };

    for (index, &entry) in transposed.iter().enumerate() {
        let (row, column) = (report.own_columns.start + index / rows, index % rows);
        let wanted = (column * columns + row) as u64;
        if entry != wanted {
            return Err(
                format!("rank {rank}: row {row}, column {column} of the transpose is {entry}, not {wanted}").into()
            );
        }
    }
    Ok(report)
}

/// Returns this rank's rows of the transpose, given its rows of the matrix.
fn exchange(comm: &mut Communicator, matrix: &[u64], rows: usize, columns: usize) -> Result<Vec<u64>, Failed> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (height, width) = (share(rows, ranks, rank).len(), share(columns, ranks, rank).len());
    let mut transposed = vec![u64::MAX; width * rows];
    let (from, into): (Vec<_>, Vec<_>) = (0..ranks)
        .map(|peer| {
            let (its_rows, its_columns) = (share(rows, ranks, peer), share(columns, ranks, peer));
            let part = Strided::matrix(its_columns.start, height, its_columns.len(), columns);
            // Received in the order of sending: by rows of the matrix, which are columns of the
            // transpose.
            let place = Strided::matrix(its_rows.start, width, its_rows.len(), rows).transposed();
            (part, place)
        })
        .unzip();
    comm.alltoallw(matrix, &from, &mut transposed, &into)?;
    Ok(transposed)
}

/// The result of a rank.
struct Report {
    rank: usize,
    network: String,
    own_rows: Range<usize>,
    own_columns: Range<usize>,
    time: Duration,
}

impl Report {
    fn print(&self) {
        let Self { rank, network, own_rows, own_columns, time } = self;
        println!("{network}, rank {rank}: had rows {own_rows:?}, got columns {own_columns:?} as rows, in {time:.1?}");
    }
}
