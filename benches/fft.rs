//! Times a transform of `necklace-fft`. Prints the milliseconds that planning takes, the megabytes
//! that the plans of all ranks keep after the first transform, then the milliseconds of each other
//! transform, one a line.
//!
//! ```text
//! cargo bench -p necklace-benches --bench fft -- --shape 256x256x256 --ranks 4 --calls 20
//! ```
//!
//! Under `mpirun`, with the feature `mpi`, the ranks are those of MPI. `benches/peers/transforms.py`
//! runs it beside FFTW's and mpi4py-fft's.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::process::ExitCode;
use std::time::Instant;

use lexopt::{Arg, Parser, ValueExt};
use necklace::Communicator;
use necklace::launch::Launch;
use necklace::topology::Grid;
use necklace_fft::{Complex, Error, Fft, RealTransform, Transform};

#[derive(Clone)]
struct Arguments {
    shape: Vec<usize>,
    ranks: usize,
    calls: usize,
    real: bool,
    /// Leaves the spectrum where the last exchange puts it.
    transposed: bool,
    grid: Option<Vec<usize>>,
    /// The bytes of a portion.
    portion: Option<usize>,
    /// Transforms a portion while another one is moved.
    overlap: bool,
}

impl Arguments {
    fn read(mut given: Parser) -> Result<Self, lexopt::Error> {
        // Without arguments, as by `cargo bench`, run a short trial.
        let mut read = Self {
            shape: vec![64; 3],
            ranks: 2,
            calls: 3,
            real: false,
            transposed: false,
            grid: None,
            portion: None,
            overlap: false,
        };
        let extents = |parser: &mut Parser| -> Result<Vec<usize>, lexopt::Error> {
            let text = parser.value()?.string()?;
            text.split('x').map(|extent| extent.parse().map_err(|_| format!("{text}: not extents").into())).collect()
        };
        while let Some(argument) = given.next()? {
            match argument {
                Arg::Long("shape") => read.shape = extents(&mut given)?,
                Arg::Long("grid") => read.grid = Some(extents(&mut given)?),
                Arg::Long("portion") => read.portion = Some(given.value()?.parse()?),
                Arg::Long("ranks") => read.ranks = given.value()?.parse()?,
                Arg::Long("calls") => read.calls = given.value()?.parse()?,
                Arg::Long("real") => read.real = true,
                Arg::Long("transposed") => read.transposed = true,
                Arg::Long("overlap") => read.overlap = true,
                // From cargo.
                Arg::Long("bench") => {}
                other => return Err(other.unexpected()),
            }
        }
        Ok(read)
    }

    fn plan(&self) -> Fft {
        let fft = Fft::new(&self.shape);
        let fft = if self.transposed { fft.transposed() } else { fft };
        let fft = if self.overlap { fft.overlap() } else { fft };
        let fft = self.portion.map_or(fft.clone(), |portion| fft.portion(portion));
        match &self.grid {
            Some(grid) => fft.grid(&Grid::torus(grid).unwrap()),
            None => fft,
        }
    }
}

fn main() -> ExitCode {
    match Arguments::read(Parser::from_env()) {
        Ok(arguments) => {
            Launch::from_env().ranks(arguments.ranks).run(|comm| time(comm, &arguments)).unwrap();
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fft: {error}");
            ExitCode::from(2)
        }
    }
}

/// The planned transform, of either type of number, with its buffers.
enum Plan {
    Complex(Transform<f64>, Vec<Complex<f64>>),
    Real(RealTransform<f64>, Vec<f64>, Vec<Complex<f64>>),
}

impl Plan {
    fn new(comm: &mut Communicator, arguments: &Arguments) -> Result<Self, Error> {
        let rank = comm.rank();
        if arguments.real {
            let transform = arguments.plan().real(comm)?;
            let lengths = [transform.input(), transform.output()].map(|part| part.local_len(rank));
            return Ok(Self::Real(transform, vec![0.0; lengths[0]], vec![Complex::default(); lengths[1]]));
        }
        let transform: Transform<f64> = arguments.plan().complex(comm)?;
        let length = transform.len();
        Ok(Self::Complex(transform, vec![Complex::default(); length]))
    }

    fn fill(&mut self) {
        let number = |at: usize| (at % 1009) as f64 / 1009.0;
        match self {
            Self::Complex(_, data) => {
                data.iter_mut().enumerate().for_each(|(at, value)| *value = Complex::new(number(at), number(at + 7)));
            }
            Self::Real(_, data, _) => data.iter_mut().enumerate().for_each(|(at, value)| *value = number(at)),
        }
    }

    /// Returns the bytes of the program's own buffers.
    fn data_bytes(&self) -> usize {
        match self {
            Self::Complex(_, data) => size_of_val(&data[..]),
            Self::Real(_, data, spectrum) => size_of_val(&data[..]) + size_of_val(&spectrum[..]),
        }
    }

    fn forward(&mut self) {
        match self {
            Self::Complex(transform, data) => transform.forward(data).unwrap(),
            Self::Real(transform, data, spectrum) => transform.forward(data, spectrum).unwrap(),
        }
    }
}

fn time(mut comm: Communicator, arguments: &Arguments) {
    comm.barrier().unwrap();
    let before = resident();
    comm.barrier().unwrap();
    let start = Instant::now();
    let mut plan = Plan::new(&mut comm, arguments).unwrap();
    let planned = start.elapsed();
    let mut kept = 0.0;
    let mut times = Vec::with_capacity(arguments.calls);
    for call in 0..=arguments.calls {
        plan.fill();
        comm.barrier().unwrap();
        let start = Instant::now();
        plan.forward();
        comm.barrier().unwrap();
        // The first call touches the memory for the first time.
        match call {
            0 => kept = kept_by_all(&mut comm, before, plan.data_bytes()),
            _ => times.push(start.elapsed()),
        }
    }
    if comm.rank() == 0 {
        println!("{:.3}\n{kept:.1}", planned.as_secs_f64() * 1e3);
        times.iter().for_each(|time| println!("{:.3}", time.as_secs_f64() * 1e3));
    }
}

/// Returns the bytes of this process in memory, 0 where Linux does not say.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    1024 * kibibytes.unwrap_or(0)
}

/// Returns the megabytes that all processes have gained since `before`, besides their data.
fn kept_by_all(comm: &mut Communicator, before: usize, data: usize) -> f64 {
    let gained = resident() as f64 - before as f64;
    let processes = comm.allgather_vec(&[std::process::id()]).unwrap();
    let of_processes = comm.allgather_vec(&[gained]).unwrap();
    let data: f64 = comm.allgather_vec(&[data as f64]).unwrap().iter().sum();
    let first = |&rank: &usize| !processes[..rank].contains(&processes[rank]);
    let gained: f64 = (0..comm.size()).filter(first).map(|rank| of_processes[rank]).sum();
    (gained - data) / 1e6
}
