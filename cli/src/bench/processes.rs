//! Benchmarks of communication among processes over TCP: plain calls with all checks and cached
//! plans.
//!
//! Each round starts a job, as `necklace run` does. Its ranks run `necklace bench-rank`.

use std::process::ExitCode;

use clap::Args;
use necklace::collective::Collective;
use necklace::launch;
use necklace::machine::Machine;
use necklace_bare::pin;

use super::transfers::{Call, Sampling};
use super::{Benchmark, Name};
use crate::output::{Failure, print};
use crate::problem;
use crate::run::ranks_of_own;

/// The library among processes over TCP.
pub(super) struct Processes {
    pub(super) topology: String,
    pub(super) collective: Collective,
    pub(super) algorithm: String,
    pub(super) bytes: usize,
    pub(super) sampling: Sampling,
    pub(super) machine: Option<Machine>,
}

impl Benchmark for Processes {
    fn name(&self) -> Name {
        let Self { collective, algorithm, .. } = self;
        Name { system: "necklace", transport: "tcp", collective: collective.text(), algorithm: algorithm.clone() }
    }

    fn measure(&mut self) -> Result<Vec<f64>, Failure> {
        let Self { topology, collective, algorithm, bytes, sampling, machine } = self;
        let chosen = format!("{}={algorithm}", collective.name());
        sampling.keep(|sampling| {
            let rank = Rank {
                collective: collective.clone(),
                bytes: *bytes,
                calls: sampling.calls,
                samples: sampling.samples,
                barrier: sampling.barrier,
            };
            let printed = ranks_of_own(topology, &chosen, *machine, &rank.words())?;
            let times: Option<Vec<f64>> = printed.lines().map(|line| line.parse().ok()).collect();
            let times = times.filter(|times| times.len() == sampling.samples);
            times.ok_or_else(|| {
                Failure::Failed(format!(
                    "expected the times of {} samples from rank 0, found: {printed}",
                    sampling.samples
                ))
            })
        })
    }
}

/// The arguments of a rank.
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Rank {
    #[arg(long, value_parser = problem::collective)]
    collective: Collective,
    #[arg(long)]
    bytes: usize,
    #[arg(long)]
    calls: usize,
    #[arg(long)]
    samples: usize,
    #[arg(long)]
    barrier: bool,
}

impl Rank {
    /// Returns the command line of the rank.
    fn words(&self) -> Vec<String> {
        let Self { collective, bytes, calls, samples, barrier } = self;
        let numbers = [("--bytes", bytes), ("--calls", calls), ("--samples", samples)];
        let numbers = numbers.iter().flat_map(|(name, value)| [(*name).to_owned(), value.to_string()]);
        let words = ["bench-rank", "--collective", &collective.text()].map(str::to_owned);
        words.into_iter().chain(numbers).chain(barrier.then(|| "--barrier".to_owned())).collect()
    }

    /// Runs the rank. Rank 0 prints seconds per call, one line per sample.
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let Self { collective, bytes, calls, samples, barrier } = self;
        let call = Call(collective.clone());
        let sampling = Sampling { calls: *calls, samples: *samples, barrier: *barrier };
        let outcome = launch(|mut comm| {
            pin(comm.rank());
            Ok((comm.rank(), call.times(&mut comm, *bytes, sampling)?))
        });
        let ranks = outcome.and_then(|ranks| Ok(ranks.into_iter().collect::<Result<Vec<_>, necklace::Error>>()?));
        for (rank, times) in ranks.map_err(|error| Failure::of(&collective.text(), &error))? {
            if rank == 0 {
                print(&times.iter().map(|time| format!("{time:e}\n")).collect::<String>())?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches};

    use super::*;

    #[test]
    fn rank_arguments_round_trip() {
        for barrier in [false, true] {
            let rank = Rank { collective: Collective::Shift { by: 2 }, bytes: 1 << 40, calls: 3, samples: 7, barrier };
            let matches = Rank::augment_args(clap::Command::new("bench-rank")).get_matches_from(rank.words());
            assert_eq!(Rank::from_arg_matches(&matches).unwrap(), rank);
        }
    }
}
