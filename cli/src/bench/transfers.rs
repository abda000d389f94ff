//! Benchmarks of communication: plain calls with all checks and cached plans; among threads, also
//! the bare exchanges.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use necklace::Communicator;
use necklace::Rank;
use necklace::algorithm::{find, registry};
use necklace::collective::Collective;
use necklace::error::{ArgumentError, Error};
use necklace::launch::Launch;
use necklace::machine::Machine;
use necklace::op::{Max, Sum};
use necklace::topology::Topology;
use necklace_bare::{Kind, members, pin};

#[cfg(unix)]
use super::processes::Processes;
use super::{Backend, Benchmark, Cell, Name};
use crate::output::Failure;
use crate::problem::problem;

/// How calls are measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) backend: Backend,
    /// See [`Sampling::barrier`].
    pub(super) barrier: bool,
    /// Whether alltoall among threads is also measured by the bare exchanges, which have no barrier.
    pub(super) bare: bool,
    /// The machine of processes, in place of that of the environment.
    pub(super) machine: Option<Machine>,
}

/// Returns the benchmarks of a cell: the bare exchanges, if they are wanted, and the algorithms
/// that fit.
pub(super) fn benchmarks(
    cell: &Cell,
    collective: &Collective,
    algorithms: &[String],
    Setting { backend, barrier, bare, machine }: Setting,
) -> Result<Vec<Box<dyn Benchmark>>, Failure> {
    let Cell { topology, bytes } = cell;
    let ranks = topology.ranks();
    let sampling = Sampling { barrier, ..Sampling::default() };
    let mut all: Vec<Box<dyn Benchmark>> = Vec::new();
    if bare && collective.name() == Bare::COLLECTIVE && backend == Backend::Local {
        for kind in Kind::ALL {
            all.push(Box::new(Bare { kind, ranks, bytes: *bytes, sampling }));
        }
    }
    for algorithm in fitting(topology, collective, algorithms)? {
        let (topology, collective) = (Arc::clone(topology), collective.clone());
        all.push(match backend {
            Backend::Local => {
                Box::new(Threads { topology, call: Call(collective), algorithm, bytes: *bytes, sampling })
            }
            #[cfg(unix)]
            Backend::Tcp => {
                let topology = topology.text();
                Box::new(Processes { topology, collective, algorithm, bytes: *bytes, sampling, machine })
            }
        });
    }
    Ok(all)
}

/// Returns the named algorithms that fit the network. Fails if a name is unknown.
pub(super) fn fitting(
    topology: &Arc<dyn Topology>,
    collective: &Collective,
    names: &[String],
) -> Result<Vec<String>, Failure> {
    let problem = problem(Arc::clone(topology), collective.clone(), false)?;
    let mut fitting = Vec::new();
    for name in names {
        let fits = if name == "auto" {
            registry().iter().any(|algorithm| algorithm.fits(&problem).is_ok())
        } else {
            find(collective, name)?.fits(&problem).is_ok()
        };
        fitting.extend(fits.then(|| name.clone()));
    }
    Ok(fitting)
}

/// The number of calls in a sample and of samples in a round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sampling {
    pub(super) calls: usize,
    pub(super) samples: usize,
    /// Whether a barrier, which is not timed, stands before each call, so that calls do not
    /// overlap.
    pub(super) barrier: bool,
}

impl Sampling {
    /// Target duration of a sample and of a round, in seconds.
    const SAMPLE: f64 = 0.4e-3;
    const ROUND: f64 = 40e-3;
    /// Number of calls before the first sample.
    const WARM: usize = 5;

    /// Returns the numbers for calls that take `call` seconds.
    fn of(self, call: f64) -> Self {
        let call = call.max(1e-9);
        let calls = (Self::SAMPLE / call).clamp(2.0, 20_000.0) as usize;
        let samples = (Self::ROUND / (call * calls as f64)).clamp(5.0, 1000.0) as usize;
        Self { calls, samples, ..self }
    }

    /// Returns the numbers for the first round, which estimates the duration of a call.
    fn trial(self) -> Self {
        Self { calls: 20, samples: 3, ..self }
    }

    /// Makes the calls of one rank in a round, one after the other. Returns seconds per call, one
    /// value per sample.
    fn pass(self, mut call: impl FnMut()) -> Vec<f64> {
        (0..Self::WARM).for_each(|_| call());
        let mut times = Vec::with_capacity(self.samples);
        let mut before = Instant::now();
        for _ in 0..self.samples {
            (0..self.calls).for_each(|_| call());
            let now = Instant::now();
            times.push(now.duration_since(before).as_secs_f64() / self.calls as f64);
            before = now;
        }
        times
    }

    /// Makes the calls of one rank in a round. Each returns the time that counts, in seconds.
    /// Returns seconds per call, one value per sample.
    fn pass_timed(self, mut call: impl FnMut() -> f64) -> Vec<f64> {
        (0..Self::WARM).for_each(|_| _ = call());
        let mut sample = |_| (0..self.calls).map(|_| call()).sum::<f64>() / self.calls as f64;
        (0..self.samples).map(&mut sample).collect()
    }

    /// Runs a round. Before the first one, runs a trial that sets the numbers.
    pub(super) fn keep(
        &mut self,
        mut round: impl FnMut(Self) -> Result<Vec<f64>, Failure>,
    ) -> Result<Vec<f64>, Failure> {
        if self.calls == 0 {
            let least = round(self.trial())?.into_iter().fold(f64::INFINITY, f64::min);
            *self = self.of(least);
        }
        round(*self)
    }
}

/// A buffer that begins at a page boundary, so that small buffers share no cache line by chance.
struct Memory {
    bytes: Vec<u8>,
    begin: usize,
    len: usize,
}

impl Memory {
    const PAGE: usize = 4096;

    fn new(len: usize, fill: u8) -> Self {
        let bytes = vec![fill; len + 2 * Self::PAGE];
        let begin = bytes.as_ptr().align_offset(Self::PAGE).min(Self::PAGE);
        Self { bytes, begin, len }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[self.begin..self.begin + self.len]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..self.begin + self.len]
    }
}

/// An alltoall of `necklace-bare`, for comparison.
struct Bare {
    kind: Kind,
    ranks: usize,
    bytes: usize,
    sampling: Sampling,
}

impl Bare {
    const COLLECTIVE: &str = "alltoall";
}

impl Benchmark for Bare {
    fn name(&self) -> Name {
        Name {
            system: "bare",
            transport: "threads",
            collective: Self::COLLECTIVE.into(),
            algorithm: self.kind.name().into(),
        }
    }

    fn is_reference(&self) -> bool {
        true
    }

    fn measure(&mut self) -> Result<Vec<f64>, Failure> {
        let Self { kind, ranks, bytes, ref mut sampling } = *self;
        sampling.keep(|sampling| {
            let first = Mutex::new(Vec::new());
            let started = thread::scope(|scope| -> std::io::Result<()> {
                for mut member in members(kind, ranks, bytes) {
                    let first = &first;
                    let body = move || {
                        pin(member.rank());
                        let (send, mut receive) = (Memory::new(bytes * ranks, 1), Memory::new(bytes * ranks, 2));
                        let times = sampling.pass(|| member.alltoall(send.bytes(), receive.bytes_mut()));
                        if member.rank() == 0 {
                            *first.lock().unwrap_or_else(PoisonError::into_inner) = times;
                        }
                    };
                    thread::Builder::new().name(kind.name().into()).spawn_scoped(scope, body)?;
                }
                Ok(())
            });
            started.map_err(|error| Failure::of("a thread", &error))?;
            Ok(first.into_inner().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

/// A collective that can be measured, with root 0. Reductions add doubles if a block consists of
/// them, and take the largest of bytes otherwise.
#[derive(Clone)]
pub(super) struct Call(pub(super) Collective);

impl Call {
    /// Makes the calls of one rank on blocks of `bytes`. Returns seconds per call, one value per
    /// sample: those of the rank that took the longest. A rank that does not wait for the others
    /// can begin calls sooner than they are done.
    pub(super) fn times(&self, comm: &mut Communicator, bytes: usize, sampling: Sampling) -> Result<Vec<f64>, Error> {
        let (size, rank) = (comm.size(), Rank::new(comm.rank()));
        let bytes = if self.0.has_bytes() { bytes } else { 0 };
        let length = |blocks: usize| {
            let what = || {
                ArgumentError::length("block", format!("at most {} for {blocks} blocks", usize::MAX / blocks), bytes)
            };
            bytes.checked_mul(blocks).ok_or_else(|| Error::of_argument("bench", what()))
        };
        let (before, after) = (self.0.before(size, rank), self.0.after(size, rank));
        let (send, mut receive) = (Memory::new(length(before.len())?, 0), Memory::new(length(after.len())?, 0));
        let root = Rank::new(0);
        // Blocks that stay where they are, as those of a broadcast, have one buffer in MPI too.
        let stays = !self.0.is_reduction() && self.0.before(size, root) == self.0.after(size, root);
        let doubles = bytes.is_multiple_of(size_of::<f64>());
        let mut call = |comm: &mut Communicator| {
            if stays {
                return comm.perform_in_place(&self.0, receive.bytes_mut(), Max);
            }
            match (
                doubles,
                necklace::bytemuck::try_cast_slice::<u8, f64>(send.bytes()),
                necklace::bytemuck::try_cast_slice_mut(receive.bytes_mut()),
            ) {
                (true, Ok(send), Ok(receive)) => comm.perform(&self.0, send, receive, Sum),
                _ => comm.perform(&self.0, send.bytes(), receive.bytes_mut(), Max),
            }
        };
        let mut outcome = Ok(());
        let mut times = if sampling.barrier {
            sampling.pass_timed(|| {
                if outcome.is_ok() {
                    outcome = comm.barrier();
                }
                let before = Instant::now();
                if outcome.is_ok() {
                    outcome = call(comm);
                }
                before.elapsed().as_secs_f64()
            })
        } else {
            sampling.pass(|| {
                if outcome.is_ok() {
                    outcome = call(comm);
                }
            })
        };
        outcome?;
        comm.allreduce_in_place(&mut times, Max)?;
        Ok(times)
    }
}

/// The library among threads.
struct Threads {
    topology: Arc<dyn Topology>,
    call: Call,
    algorithm: String,
    bytes: usize,
    sampling: Sampling,
}

impl Benchmark for Threads {
    fn name(&self) -> Name {
        let Self { call: Call(collective), algorithm, .. } = self;
        Name { system: "necklace", transport: "threads", collective: collective.text(), algorithm: algorithm.clone() }
    }

    fn measure(&mut self) -> Result<Vec<f64>, Failure> {
        let Self { topology, call, algorithm, bytes, sampling } = self;
        sampling.keep(|sampling| {
            let job = Launch::threads().topology(Arc::clone(topology)).choose(call.0.name(), algorithm.as_str());
            let run = |mut comm: Communicator| {
                pin(comm.rank());
                call.times(&mut comm, *bytes, sampling)
            };
            let times = job.run(run).and_then(|all| Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?));
            let what = format!("{} by {algorithm}", call.0);
            let times = times.map_err(|error| Failure::of(&what, &error))?;
            Ok(times.into_iter().next().unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn sample_size_follows_the_duration_of_a_call() {
        let short = Sampling::default().of(100e-9);
        assert_eq!((short.calls, short.samples), (4000, 100));
        let long = Sampling::default().of(10e-3);
        assert_eq!((long.calls, long.samples), (2, 5));
        assert!(Sampling::default().of(0.0).calls > 0);
    }

    #[test]
    fn sampling_makes_every_call() {
        let mut calls = 0;
        let sampling = Sampling { calls: 3, samples: 4, barrier: false };
        let times = sampling.pass(|| {
            calls += 1;
            thread::sleep(Duration::from_micros(10));
        });
        assert_eq!((calls, times.len()), (3 * 4 + Sampling::WARM, 4));
        assert!(times.iter().all(|time| *time >= 10e-6));
    }

    #[test]
    fn a_sample_is_the_mean_of_the_times_that_count() {
        let mut calls = 0;
        let times = Sampling { calls: 2, samples: 2, barrier: true }.pass_timed(|| {
            calls += 1;
            calls as f64
        });
        let first = Sampling::WARM as f64 + 1.0;
        assert_eq!(times, [first + 0.5, first + 2.5]);
    }
}
