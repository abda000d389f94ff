//! Times started calls with computation meanwhile, as IMB-NBC does.
//!
//! ```text
//! cargo bench -p necklace-benches --bench overlap -- --backend tcp --ranks 2 --calls 20 --bytes 8,1048576
//! ```
//!
//! Prints `backend,collective,ranks,bytes,blocking_us,pure_us,compute_us,both_us`: medians over the
//! calls, of the slowest rank. `benches/peers/overlap` runs it beside MPI.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use lexopt::{Arg, Parser, ValueExt};
use necklace::communicator::Request;
use necklace::launch::Launch;
use necklace::op::{Max, Sum};
use necklace::{Communicator, Error, JobError};

struct Arguments {
    /// `threads`, `tcp`, or `launcher`: that of the launcher which starts the ranks.
    backend: String,
    ranks: usize,
    calls: usize,
    bytes: Vec<usize>,
}

impl Arguments {
    fn read(mut given: Parser) -> Result<Self, lexopt::Error> {
        // Without arguments, as by `cargo bench`, run a short trial.
        let mut read = Self { backend: "threads".into(), ranks: 2, calls: 5, bytes: vec![8, 1 << 16] };
        while let Some(argument) = given.next()? {
            match argument {
                Arg::Long("backend") => read.backend = given.value()?.string()?,
                Arg::Long("ranks") => read.ranks = given.value()?.parse()?,
                Arg::Long("calls") => read.calls = given.value()?.parse()?,
                Arg::Long("bytes") => {
                    let sizes = given.value()?.string()?;
                    read.bytes = sizes.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| sizes)?;
                }
                // From cargo.
                Arg::Long("bench") => {}
                other => return Err(other.unexpected()),
            }
        }
        Ok(read)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::read(Parser::from_env()) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("overlap: {error}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("overlap: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), JobError> {
    let Arguments { backend, ranks, .. } = arguments;
    let launch = match backend.as_str() {
        "threads" => Launch::threads().ranks(*ranks),
        "tcp" => Launch::processes(*ranks),
        _ => Launch::from_env(),
    };
    for lines in launch.run(|mut comm| time(&mut comm, arguments))? {
        print!("{}", lines.unwrap());
    }
    Ok(())
}

/// A call: one that blocks, and a request for it.
type Call = (&'static str, fn(&mut Communicator, &mut (Vec<f64>, Vec<f64>)) -> Result<(), Error>);

const CALLS: [Call; 3] = [
    ("alltoall", |comm, (send, receive)| comm.alltoall(send, receive)),
    ("allreduce", |comm, (send, receive)| comm.allreduce(send, receive, Sum)),
    ("broadcast", |comm, (_, receive)| comm.broadcast(receive, 0)),
];

/// Returns the lines of rank 0.
fn time(comm: &mut Communicator, Arguments { backend, calls, bytes, .. }: &Arguments) -> Result<String, Error> {
    let pace = pace();
    let mut lines = String::new();
    for &bytes in bytes {
        for (collective, call) in CALLS {
            let elements = bytes / 8 * if collective == "alltoall" { comm.size() } else { 1 };
            let mut buffers = (vec![0.0; elements], vec![0.0; elements]);
            let blocking = median(comm, *calls, |comm| call(comm, &mut buffers))?;
            let mut request = comm.request(buffers, call)?;
            let pure = median(comm, *calls, |_| started(&mut request, 0.0))?;
            let began = Instant::now();
            steps(pure * pace);
            let computed = began.elapsed().as_secs_f64() * 1e6;
            let both = median(comm, *calls, |_| started(&mut request, pure * pace))?;
            if comm.rank() == 0 {
                let ranks = comm.size();
                lines += &format!(
                    "{backend},{collective},{ranks},{bytes},{blocking:.1},{pure:.1},{computed:.1},{both:.1}\n"
                );
            }
        }
    }
    Ok(lines)
}

/// Starts a call, computes, and waits.
fn started(request: &mut Request<(Vec<f64>, Vec<f64>)>, count: f64) -> Result<(), Error> {
    request.start()?;
    steps(count);
    request.wait()
}

/// Returns the median in microseconds, of the slowest rank.
fn median(
    comm: &mut Communicator,
    calls: usize,
    mut call: impl FnMut(&mut Communicator) -> Result<(), Error>,
) -> Result<f64, Error> {
    let mut times = Vec::with_capacity(calls);
    for turn in 0..calls + 2 {
        comm.barrier()?;
        let began = Instant::now();
        call(comm)?;
        if turn >= 2 {
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
    }
    times.sort_by(f64::total_cmp);
    comm.allreduce_one(times[calls / 2], Max)
}

/// Computes without memory.
fn steps(count: f64) {
    let mut value = 1.0;
    for _ in 0..count as u64 {
        value = black_box(value * 1.000_000_1 + 1e-9);
    }
    black_box(value);
}

/// Returns the steps of the computation in a microsecond.
fn pace() -> f64 {
    const COUNT: f64 = 1e6;
    let best = (0..20).map(|_| {
        let began = Instant::now();
        steps(COUNT);
        began.elapsed().as_secs_f64() * 1e6
    });
    COUNT / best.fold(f64::INFINITY, f64::min)
}
