//! Benchmarks alltoall or allreduce (a maximum of floats) over MPI, beside bare MPI. Compares
//! `native` with the library's own function, and one of our algorithms with `direct` in bare MPI or
//! with the library's function. All benchmarks run in one process, sample by sample in turn, so
//! that disturbances affect all alike. Their order changes, so that no benchmark always follows the
//! same other one.
//!
//! ```text
//! MPICC=mpicc.openmpi cargo bench -p necklace-benches --features mpi --bench mpi --no-run    # says where the program is
//! mpirun -n 2 PROGRAM [--collective alltoall] [--algorithm direct] [--bytes 8,1024,65536] [--rounds 200] [--csv FILE]
//! ```
//!
//! Each line has the medians in microseconds, and the medians of the ratios within a round, with
//! the range of the middle 80 %. `again` is the library's function a second time: its ratio shows
//! the noise. Bytes are those of a block, or of the numbers of a rank.
#![allow(clippy::print_stdout, missing_docs)]

mod bare;

use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use ::mpi::traits::{AsRaw, Communicator as _};
use bytemuck::{cast_slice, cast_slice_mut};
use lexopt::{Arg, Parser, ValueExt};
use necklace::Communicator;
use necklace::op::Max;
use necklace::topology::Complete;
use necklace::transport::mpi::MpiJoin;

use crate::bare::Bare;

#[derive(Clone, Copy, PartialEq, Eq)]
enum System {
    /// The library's own function.
    Library,
    /// The library's own function, a second time.
    Again,
    Native,
    /// The messages of `direct`, in bare MPI.
    Exchange,
    /// One of our algorithms.
    Ours,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Collective {
    Alltoall,
    Allreduce,
}

impl Collective {
    fn name(self) -> &'static str {
        match self {
            Self::Alltoall => "alltoall",
            Self::Allreduce => "allreduce",
        }
    }

    /// The collective to measure.
    fn systems(self) -> &'static [System] {
        match self {
            Self::Alltoall => &[System::Library, System::Again, System::Native, System::Exchange, System::Ours],
            Self::Allreduce => &[System::Library, System::Again, System::Native, System::Ours],
        }
    }
}

/// Target duration of a sample, in microseconds.
const SAMPLE: f64 = 200.0;

struct Arguments {
    collective: Collective,
    algorithm: Option<String>,
    bytes: Vec<usize>,
    rounds: usize,
    csv: Option<String>,
}

impl Arguments {
    fn read() -> Result<Self, Box<dyn Error>> {
        let bytes = vec![8, 64, 1024, 8192, 65_536, 1 << 20];
        let mut read = Self { collective: Collective::Alltoall, algorithm: None, bytes, rounds: 200, csv: None };
        let mut given = Parser::from_env();
        while let Some(argument) = given.next()? {
            match argument {
                Arg::Long("collective") => {
                    let value = given.value()?.string()?;
                    read.collective = [Collective::Alltoall, Collective::Allreduce]
                        .into_iter()
                        .find(|collective| collective.name() == value)
                        .ok_or_else(|| format!("--collective {value:?} is neither alltoall nor allreduce"))?;
                }
                Arg::Long("algorithm") => read.algorithm = Some(given.value()?.string()?),
                Arg::Long("bytes") => {
                    read.bytes = given.value()?.string()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
                }
                Arg::Long("rounds") => read.rounds = given.value()?.parse()?,
                Arg::Long("csv") => read.csv = Some(given.value()?.string()?),
                // From cargo.
                Arg::Long("bench") => {}
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(read)
    }
}

/// The systems that are compared, and their buffers.
struct Systems {
    collective: Collective,
    bare: Bare,
    native: Communicator,
    ours: Communicator,
    send: Vec<f64>,
    receive: Vec<f64>,
}

impl Systems {
    fn call(&mut self, system: System) -> Result<(), necklace::Error> {
        let Self { collective, bare, native, ours, send, receive } = self;
        let comm = match system {
            System::Native => native,
            System::Library | System::Again | System::Exchange | System::Ours => ours,
        };
        match (collective, system) {
            (Collective::Alltoall, System::Library | System::Again) => {
                bare.alltoall(cast_slice(send), cast_slice_mut(receive))
            }
            (_, System::Exchange) => bare.exchange(cast_slice(send), cast_slice_mut(receive)),
            (Collective::Alltoall, _) => comm.alltoall::<u8>(cast_slice(send), cast_slice_mut(receive))?,
            (Collective::Allreduce, System::Library | System::Again) => bare.maximum(send, receive),
            (Collective::Allreduce, _) => comm.allreduce(send, receive, Max)?,
        }
        Ok(())
    }

    /// Makes a number of calls. Returns the time of one, in microseconds.
    fn sample(&mut self, system: System, calls: u64) -> Result<f64, necklace::Error> {
        let begin = Instant::now();
        (0..calls).try_for_each(|_| self.call(system))?;
        Ok(begin.elapsed().as_secs_f64() * 1e6 / calls as f64)
    }

    /// Returns the samples of each system, by round.
    fn rounds(&mut self, rounds: usize) -> Result<Vec<Vec<f64>>, necklace::Error> {
        let systems = self.collective.systems();
        let mut calls = Vec::new();
        for &system in systems {
            let warm = (0..4).map(|_| self.sample(system, 10)).collect::<Result<Vec<_>, _>>()?;
            let shortest = warm.into_iter().fold(f64::INFINITY, f64::min);
            calls.push(self.bare.agree((SAMPLE / shortest.max(0.01)).clamp(1.0, 2000.0) as u64));
        }
        // Each of these steps visits all systems.
        let steps: Vec<usize> = (1..systems.len()).filter(|step| gcd(*step, systems.len()) == 1).collect();
        let mut all = Vec::with_capacity(rounds);
        for round in 0..rounds {
            let mut times = vec![0.0; systems.len()];
            let step = steps[round / systems.len() % steps.len()];
            for turn in 0..systems.len() {
                let at = (round + turn * step) % systems.len();
                times[at] = self.sample(systems[at], calls[at])?;
            }
            all.push(times);
        }
        Ok(all)
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

fn quantile(values: impl Iterator<Item = f64>, part: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get((values.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mpi: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read()?;
    let (universe, _) = ::mpi::initialize_with_threading(::mpi::Threading::Multiple).ok_or("MPI is there already")?;
    let world = universe.world();
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let collective = arguments.collective;
    let communicator = |algorithm: &str| -> Result<Communicator, Box<dyn Error>> {
        let topology = Arc::new(Complete::new(ranks)?);
        let mut comm = Communicator::new(MpiJoin::from_communicator(&world)?.endpoint()?, topology)?;
        comm.choose(collective.name(), algorithm)?;
        Ok(comm)
    };
    let usual = if collective == Collective::Alltoall { "direct" } else { "recursive-doubling" };
    let algorithm = arguments.algorithm.as_deref().unwrap_or(usual);
    let mut systems = Systems {
        collective,
        bare: Bare::new(world.as_raw(), rank, ranks),
        native: communicator("native")?,
        ours: communicator(algorithm)?,
        send: Vec::new(),
        receive: Vec::new(),
    };
    let name = |system: &System| match system {
        System::Library => "mpi",
        System::Again => "again",
        System::Native => "native",
        System::Exchange => "exchange",
        System::Ours => algorithm,
    };
    let all = collective.systems();
    let at = |system: System| all.iter().position(|other| *other == system);
    // The library's function, unless bare MPI has the same messages.
    let beside = at(System::Exchange).unwrap_or(0);
    let ratios = [(System::Again, 0), (System::Native, 0), (System::Ours, beside)];
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record([
        "system",
        "transport",
        "collective",
        "algorithm",
        "ranks",
        "block_bytes",
        "median_us",
        "min_us",
        "p90_us",
    ])?;
    if rank == 0 {
        let library = ::mpi::environment::library_version().unwrap_or_default();
        let (library, what) = (library.lines().next().unwrap_or(""), collective.name());
        println!("{library}, {ranks} ranks, {what}, medians of {} rounds, us", arguments.rounds);
        let names: Vec<String> = all.iter().map(|system| format!("{:>12}", name(system))).collect();
        let of = ratios.map(|(one, other)| format!("{:>24}", format!("{}/{}", name(&one), name(&all[other]))));
        println!("{:>8}  {}  {}", "bytes", names.join("  "), of.join("  "));
    }
    for &bytes in &arguments.bytes {
        let blocks = if collective == Collective::Alltoall { ranks } else { 1 };
        let numbers = (bytes * blocks).div_ceil(size_of::<f64>());
        if numbers * size_of::<f64>() != bytes * blocks {
            return Err(format!("--bytes {bytes}: {blocks} blocks of that are no whole number of floats").into());
        }
        (systems.send, systems.receive) = (vec![1.0; numbers], vec![0.0; numbers]);
        let rounds = systems.rounds(arguments.rounds)?;
        if rank > 0 {
            continue;
        }
        let of = |system: usize| rounds.iter().map(move |round| round[system]);
        let ratio = |(one, other): (System, usize)| {
            let one = at(one).unwrap_or(0);
            let [low, median, high] =
                [0.1, 0.5, 0.9].map(|part| quantile(rounds.iter().map(|round| round[one] / round[other]), part));
            format!("{:>24}", format!("{median:.3} ({low:.2}-{high:.2})"))
        };
        let times: Vec<String> = (0..all.len()).map(|system| format!("{:12.2}", median(of(system)))).collect();
        println!("{bytes:8}  {}  {}", times.join("  "), ratios.map(ratio).join("  "));
        for (at, system) in all.iter().enumerate() {
            let whose = if matches!(system, System::Native | System::Ours) { "necklace" } else { "mpi" };
            let (median, least) = (median(of(at)), of(at).fold(f64::INFINITY, f64::min));
            let (most, what, algorithm) = (quantile(of(at), 0.9), collective.name(), name(system));
            let sizes = [ranks, bytes].map(|size| size.to_string());
            let times = [median, least, most].map(|time| format!("{time:.4}"));
            csv.write_record(
                [whose, "mpi", what, algorithm].into_iter().chain(sizes.iter().chain(&times).map(String::as_str)),
            )?;
        }
    }
    if let Some(file) = arguments.csv.filter(|_| rank == 0) {
        fs::write(file, csv.into_inner()?)?;
    }
    Ok(())
}
