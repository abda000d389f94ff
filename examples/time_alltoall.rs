//! Times an alltoall with a given block size and algorithm, over the backend that the environment
//! selects.
//!
//! The ranks are threads, or processes under a launcher, by the same code. Every rank fills its
//! blocks with bytes that depend on source and destination, and checks the received ones. The time
//! of a call is that of its slowest rank. A barrier precedes each call.
//!
//! ```text
//! cargo run --release --example time_alltoall -- --topology torus:4x4 --algorithm torus-exchange --bytes 1024
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use lexopt::{Parser, ValueExt};
use necklace::collective::Collective;
use necklace::{Communicator, Error as Failed, op};
use necklace_examples::{Program, Ranks, squarest_torus};

const USAGE: &str = "usage: time_alltoall [--bytes B] [--calls K] [--algorithm A] [--topology T] [--ranks N]
  --bytes B       length of a block in bytes, may be 0 (default: 1024)
  --calls K       number of timed calls, at least 1 (default: 20)
  --algorithm A   a name as `necklace plan --list` shows, or auto (default: auto)
  --topology T    the network (default: that of the environment, else the squarest torus of the ranks)
  --ranks N       number of ranks (default: that of the launcher, the environment or the network, else 4)";

struct Arguments {
    bytes: usize,
    calls: usize,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { bytes: 1024, calls: 20 }
    }
}

fn main() -> ExitCode {
    necklace_examples::main::<Arguments>()
}

impl Program for Arguments {
    const USAGE: &str = USAGE;

    fn set(&mut self, name: &str, parser: &mut Parser) -> Result<bool, lexopt::Error> {
        match name {
            "bytes" => self.bytes = parser.value()?.parse()?,
            "calls" => self.calls = parser.value()?.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn check(&self, _: &Ranks) -> Result<(), String> {
        if self.calls == 0 {
            return Err("--calls: found 0, expected at least 1".to_owned());
        }
        Ok(())
    }

    fn run(self, ranks: &Ranks) -> Result<(), Box<dyn Error>> {
        let launch = ranks.launch(4, squarest_torus).choose("alltoall", ranks.algorithm_or("auto"));
        // Only rank 0 has a report.
        for report in ranks.run(launch, |comm| time(comm, &self))?.into_iter().flatten() {
            println!("{report}");
        }
        Ok(())
    }
}

/// Times the calls. Returns the report on rank 0.
fn time(mut comm: Communicator, &Arguments { bytes, calls }: &Arguments) -> Result<Option<String>, Box<dyn Error>> {
    let (rank, size) = (comm.rank(), comm.size());
    let send: Vec<u8> = (0..size).flat_map(|to| block(rank, to, bytes)).collect();
    let expected: Vec<u8> = (0..size).flat_map(|from| block(from, rank, bytes)).collect();
    let mut receive = vec![0; expected.len()];
    let mut times = Vec::with_capacity(calls);
    // The first call builds the plan, and is not counted.
    for call in 0..=calls {
        receive.fill(!0);
        let time = slowest(&mut comm, |comm| comm.alltoall(&send, &mut receive))?;
        if let Some(wrong) = receive.iter().zip(&expected).position(|(found, expected)| found != expected) {
            return Err(format!("rank {rank}, call {call}: byte {wrong} of {} is wrong", receive.len()).into());
        }
        if call > 0 {
            times.push(time);
        }
    }
    times.sort_by(f64::total_cmp);
    let algorithm = comm.explain(&Collective::Alltoall, bytes)?.algorithm.name();
    let (network, median, least, most) = (comm.topology().text(), times[calls / 2], times[0], times[calls - 1]);
    let report = format!(
        "{size} ranks on {network}, blocks of {bytes} bytes by {algorithm}: {median:.1} us a call in the median of {calls} \
         ({least:.1} to {most:.1}); every byte is where it belongs"
    );
    Ok((rank == 0).then_some(report))
}

/// Returns the microseconds that a call takes on the slowest rank.
fn slowest(comm: &mut Communicator, call: impl FnOnce(&mut Communicator) -> Result<(), Failed>) -> Result<f64, Failed> {
    comm.barrier()?;
    let start = Instant::now();
    call(comm)?;
    let mut time = [0.0];
    comm.allreduce(&[start.elapsed().as_secs_f64() * 1e6], &mut time, op::Max)?;
    Ok(time[0])
}

/// Returns the block from `from` to `to`.
fn block(from: usize, to: usize, bytes: usize) -> impl Iterator<Item = u8> {
    (0..bytes).map(move |i| (7 * from + 13 * to + i) as u8)
}
