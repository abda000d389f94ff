//! An alltoall over MPI beside the same without this crate: `native` beside the library's own function, `direct` over our
//! messages beside the same exchange in bare MPI. All in one process, sample by sample in turn, so that what disturbs one
//! disturbs all; in an order that changes, so that none is always the one that finds what a certain other leaves behind. (They
//! are five, a prime: each step goes round all of them.)
//!
//! ```text
//! MPICC=mpicc.openmpi cargo bench --features mpi --bench mpi --no-run    # says where the program is
//! mpirun -n 2 PROGRAM [--bytes 8,1024,65536] [--rounds 200] [--csv FILE]
//! ```
//!
//! Each line has the medians in microseconds, and the medians of the ratios within a round, with the range in which eight of ten
//! lie. `again` is the library's function a second time: its ratio is noise.
#![allow(clippy::print_stdout, missing_docs)]

mod bare;

use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs};

use ::mpi::traits::{AsRaw, Communicator as _};
use necklace::Communicator;
use necklace::topology::Complete;
use necklace::transport::mpi::Join;

use crate::bare::Bare;

/// Each of what is measured, and what it is called.
const SYSTEMS: [(System, &str); 5] = [
    (System::Library, "mpi alltoall"),
    (System::Library, "again"),
    (System::Native, "native"),
    (System::Exchange, "mpi exchange"),
    (System::Direct, "direct"),
];

#[derive(Clone, Copy)]
enum System {
    /// The library's own function.
    Library,
    Native,
    /// What `direct` does, in bare MPI.
    Exchange,
    Direct,
}

/// About as long a sample takes, in microseconds.
const SAMPLE: f64 = 200.0;

struct Arguments {
    bytes: Vec<usize>,
    rounds: usize,
    csv: Option<String>,
}

impl Arguments {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut read = Self { bytes: vec![8, 64, 1024, 8192, 65_536, 1 << 20], rounds: 200, csv: None };
        let mut given = env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(name) = given.next() {
            let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--bytes" => read.bytes = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
                "--rounds" => read.rounds = value.parse()?,
                "--csv" => read.csv = Some(value),
                _ => return Err(format!("no argument {name:?}; there are --bytes, --rounds and --csv").into()),
            }
        }
        Ok(read)
    }
}

/// The same exchange five times over.
struct Systems {
    bare: Bare,
    native: Communicator,
    direct: Communicator,
    send: Vec<u8>,
    receive: Vec<u8>,
}

impl Systems {
    fn call(&mut self, system: System) -> Result<(), necklace::Error> {
        let Self { bare, native, direct, send, receive } = self;
        match system {
            System::Library => bare.alltoall(send, receive),
            System::Native => native.alltoall(send, receive)?,
            System::Exchange => bare.exchange(send, receive),
            System::Direct => direct.alltoall(send, receive)?,
        }
        Ok(())
    }

    /// So many calls; how long one takes, in microseconds.
    fn sample(&mut self, system: System, calls: u64) -> Result<f64, necklace::Error> {
        let begin = Instant::now();
        (0..calls).try_for_each(|_| self.call(system))?;
        Ok(begin.elapsed().as_secs_f64() * 1e6 / calls as f64)
    }

    /// Samples of each system, by round.
    fn rounds(&mut self, rounds: usize) -> Result<Vec<[f64; SYSTEMS.len()]>, necklace::Error> {
        let mut calls = [0; SYSTEMS.len()];
        for ((system, _), calls) in SYSTEMS.iter().zip(&mut calls) {
            let warm = (0..4).map(|_| self.sample(*system, 10)).collect::<Result<Vec<_>, _>>()?;
            let shortest = warm.into_iter().fold(f64::INFINITY, f64::min);
            *calls = self.bare.agree((SAMPLE / shortest.max(0.01)).clamp(1.0, 2000.0) as u64);
        }
        let mut all = Vec::with_capacity(rounds);
        for round in 0..rounds {
            let mut times = [0.0; SYSTEMS.len()];
            let step = 1 + round / SYSTEMS.len() % (SYSTEMS.len() - 1);
            for turn in 0..SYSTEMS.len() {
                let at = (round + turn * step) % SYSTEMS.len();
                times[at] = self.sample(SYSTEMS[at].0, calls[at])?;
            }
            all.push(times);
        }
        Ok(all)
    }
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
    let communicator = |algorithm: &str| -> Result<Communicator, Box<dyn Error>> {
        let topology = Arc::new(Complete::new(ranks).ok_or("too many ranks")?);
        let mut comm = Communicator::new(Join::from_communicator(&world)?.endpoint()?, topology)?;
        comm.choose("alltoall", algorithm)?;
        Ok(comm)
    };
    let mut systems = Systems {
        bare: Bare::new(world.as_raw(), rank, ranks),
        native: communicator("native")?,
        direct: communicator("direct")?,
        send: Vec::new(),
        receive: Vec::new(),
    };
    let mut csv = "system,transport,collective,algorithm,ranks,block_bytes,median_us,min_us,p90_us\n".to_owned();
    if rank == 0 {
        let library = ::mpi::environment::library_version().unwrap_or_default();
        println!("{}, {ranks} ranks, medians of {} rounds, us", library.lines().next().unwrap_or(""), arguments.rounds);
        println!(
            "{:>8}  {}  {:>19}  {:>19}  {:>19}",
            "bytes",
            SYSTEMS.map(|(_, name)| format!("{name:>12}")).join("  "),
            "again/mpi",
            "native/mpi",
            "direct/exchange"
        );
    }
    for &bytes in &arguments.bytes {
        (systems.send, systems.receive) = (vec![1; bytes * ranks], vec![0; bytes * ranks]);
        let rounds = systems.rounds(arguments.rounds)?;
        if rank > 0 {
            continue;
        }
        let of = |system: usize| rounds.iter().map(move |round| round[system]);
        let ratio = |one: usize, other: usize| {
            let [low, median, high] =
                [0.1, 0.5, 0.9].map(|part| quantile(rounds.iter().map(|round| round[one] / round[other]), part));
            format!("{median:.3} ({low:.2}-{high:.2})")
        };
        let times: Vec<String> = (0..SYSTEMS.len()).map(|system| format!("{:12.2}", median(of(system)))).collect();
        let ratios = [ratio(1, 0), ratio(2, 0), ratio(4, 3)].map(|ratio| format!("{ratio:>19}"));
        println!("{bytes:8}  {}  {}", times.join("  "), ratios.join("  "));
        for (system, (what, name)) in SYSTEMS.iter().enumerate() {
            let (system_name, algorithm) = match what {
                System::Native | System::Direct => ("necklace", *name),
                System::Library | System::Exchange => ("mpi", *name),
            };
            let (median, least) = (median(of(system)), of(system).fold(f64::INFINITY, f64::min));
            let most = quantile(of(system), 0.9);
            writeln!(csv, "{system_name},mpi,alltoall,{algorithm},{ranks},{bytes},{median:.4},{least:.4},{most:.4}")?;
        }
    }
    if let Some(file) = arguments.csv.filter(|_| rank == 0) {
        fs::write(file, csv)?;
    }
    Ok(())
}
